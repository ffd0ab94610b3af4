//! Which tables stand below others, and which rows do partitions have?
//!
//! To the engine all of them are tables of their own: what holds them together is kept in rows of the SQL catalog. A row by
//! the table's id says which tables it stands below, what of it came from them, and of a partition which rows it has; another
//! says by what a partitioned table divides its rows; a third that an index belongs to one of the table above.
//!
//! Thread safety: read only.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use onlap::{ColumnId, IndexId, TableId};
use parking_lot::Mutex;
use serde_json::{Value as Json, json};

use super::objects::{Kind, Object, Objects};
use crate::query::division::Division;
use crate::types::PgType;

/// What a table has from those above it.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Kin {
    /// The tables above, in the order in which they were named.
    pub parents: Vec<TableId>,
    /// Its columns that came from above.
    pub columns: BTreeMap<ColumnId, Inherited>,
    /// Its constraints that came from above, by name.
    pub rules: BTreeMap<String, Inherited>,
    /// Which rows it has, as a partition.
    pub bound: Option<Bound>,
}

/// How a column or a constraint came to a table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Inherited {
    /// From how many tables above.
    pub count: u32,
    /// Whether it was defined at the table, too.
    pub local: bool,
}

/// Which rows a partition has. Values are texts of the key's types, as they print without a session's settings.
#[derive(Clone, Debug, PartialEq)]
pub enum Bound {
    /// Those of no other partition.
    Default,
    /// Those with one of these values; `None` is NULL.
    List(Vec<Option<String>>),
    /// Those from here on, and before there.
    Range(Vec<Edge>, Vec<Edge>),
    /// Those whose hash leaves this remainder: modulus and remainder.
    Hash(u64, u64),
}

/// An end of a range, of one column.
#[derive(Clone, Debug, PartialEq)]
pub enum Edge {
    /// MINVALUE
    Min,
    /// A value.
    Value(String),
    /// MAXVALUE
    Max,
}

/// How rows are divided.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Strategy {
    /// BY LIST
    List,
    /// BY RANGE
    Range,
    /// BY HASH
    Hash,
}

impl Strategy {
    /// Its word in lower case.
    pub fn word(self) -> &'static str {
        match self {
            Strategy::List => "list",
            Strategy::Range => "range",
            Strategy::Hash => "hash",
        }
    }
}

/// What rows are divided by.
#[derive(Clone, Debug, PartialEq)]
pub enum Key {
    /// A column.
    Column(ColumnId),
    /// The text of an expression, and its type.
    Expr(String, PgType),
}

/// By what a table divides its rows.
#[derive(Clone, Debug, PartialEq)]
pub struct Divided {
    /// How.
    pub strategy: Strategy,
    /// By what.
    pub keys: Vec<Key>,
}

/// All of them.
#[derive(Debug, Default)]
pub struct Families {
    kin: HashMap<TableId, Kin>,
    below: HashMap<TableId, Vec<TableId>>,
    divided: HashMap<TableId, Divided>,
    indexes: HashMap<IndexId, IndexId>,
    /// What was made of the bounds of partitions, by the table above them.
    divisions: Mutex<HashMap<TableId, Arc<Division>>>,
}

impl Families {
    /// What the rows say; the name of one that no release wrote.
    pub fn of(objects: &Objects) -> Result<Families, String> {
        let mut made = Families::default();
        for (name, object) in objects.of_kind(Kind::Kin) {
            let kin = read_kin(object).zip(name.parse().ok().map(TableId));
            let (kin, table) = kin.ok_or_else(|| name.to_string())?;
            for parent in &kin.parents {
                made.below.entry(*parent).or_default().push(table);
            }
            made.kin.insert(table, kin);
        }
        made.below.values_mut().for_each(|below| below.sort_unstable_by_key(|table| table.0));
        for (name, object) in objects.of_kind(Kind::Divided) {
            let divided = read_divided(object).zip(name.parse().ok().map(TableId));
            let (divided, table) = divided.ok_or_else(|| name.to_string())?;
            made.divided.insert(table, divided);
        }
        for (name, object) in objects.of_kind(Kind::IndexKin) {
            let above = number(&object.body["parent"]).zip(name.parse().ok());
            let (above, index) = above.ok_or_else(|| name.to_string())?;
            made.indexes.insert(IndexId(index), IndexId(above));
        }
        Ok(made)
    }

    /// What a table has from those above it.
    pub fn kin(&self, table: TableId) -> Option<&Kin> {
        self.kin.get(&table)
    }

    /// The tables right below one, in the order in which they were made.
    pub fn below(&self, table: TableId) -> &[TableId] {
        self.below.get(&table).map_or(&[], Vec::as_slice)
    }

    /// By what a table divides its rows; `None` of one that has rows itself.
    pub fn divided(&self, table: TableId) -> Option<&Divided> {
        self.divided.get(&table)
    }

    /// Which rows a table has as a partition.
    pub fn bound(&self, table: TableId) -> Option<&Bound> {
        self.kin.get(&table)?.bound.as_ref()
    }

    /// The partitioned table that a partition is of.
    pub fn above(&self, table: TableId) -> Option<TableId> {
        let kin = self.kin.get(&table).filter(|kin| kin.bound.is_some())?;
        kin.parents.first().copied()
    }

    /// Whether nothing is known of any table.
    pub fn is_empty(&self) -> bool {
        self.kin.is_empty() && self.divided.is_empty()
    }

    /// The tables below one, of all levels, each once: a level after the other.
    pub fn all_below(&self, table: TableId) -> Vec<TableId> {
        let mut all = vec![table];
        let mut at = 0;
        while at < all.len() {
            for below in self.below(all[at]) {
                if !all.contains(below) {
                    all.push(*below);
                }
            }
            at += 1;
        }
        all.remove(0);
        all
    }

    /// The tables above one, of all levels, each once.
    pub fn ancestors(&self, table: TableId) -> Vec<TableId> {
        let mut all = vec![table];
        let mut at = 0;
        while at < all.len() {
            for above in self.kin(all[at]).into_iter().flat_map(|kin| &kin.parents) {
                if !all.contains(above) {
                    all.push(*above);
                }
            }
            at += 1;
        }
        all.remove(0);
        all
    }

    /// The partitioned tables above a partition, the nearest first.
    pub fn all_above(&self, table: TableId) -> Vec<TableId> {
        std::iter::successors(self.above(table), |above| self.above(*above)).collect()
    }

    /// The index above that an index belongs to.
    pub fn index_above(&self, index: IndexId) -> Option<IndexId> {
        self.indexes.get(&index).copied()
    }

    /// Indexes with those above them.
    pub fn indexes(&self) -> impl Iterator<Item = (IndexId, IndexId)> + '_ {
        self.indexes.iter().map(|(index, above)| (*index, *above))
    }

    /// What was made of the bounds of a table's partitions, or what `make` makes now.
    ///
    /// # Errors
    /// Those of `make`.
    pub fn division<E>(
        &self,
        table: TableId,
        make: impl FnOnce() -> Result<Division, E>,
    ) -> Result<Arc<Division>, E> {
        if let Some(known) = self.divisions.lock().get(&table) {
            return Ok(Arc::clone(known));
        }
        let made = Arc::new(make()?);
        self.divisions.lock().insert(table, Arc::clone(&made));
        Ok(made)
    }
}

impl Kin {
    /// How a column came to the table.
    pub fn column(&self, column: ColumnId) -> Inherited {
        self.columns.get(&column).copied().unwrap_or(Inherited { count: 0, local: true })
    }

    /// How a constraint came to the table.
    pub fn rule(&self, name: &str) -> Inherited {
        self.rules.get(name).copied().unwrap_or(Inherited { count: 0, local: true })
    }

    /// As it is kept; nothing where there is nothing to keep.
    pub fn body(&self) -> Option<Json> {
        if *self == Kin::default() {
            return None;
        }
        let inherited = |one: &Inherited| json!([one.count, one.local]);
        let columns: serde_json::Map<String, Json> =
            self.columns.iter().map(|(id, one)| (id.0.to_string(), inherited(one))).collect();
        let rules: serde_json::Map<String, Json> =
            self.rules.iter().map(|(name, one)| (name.clone(), inherited(one))).collect();
        let parents: Vec<u32> = self.parents.iter().map(|table| table.0).collect();
        Some(json!({
            "parents": parents,
            "columns": columns,
            "rules": rules,
            "bound": self.bound.as_ref().map(Bound::body),
        }))
    }
}

impl Bound {
    fn body(&self) -> Json {
        let edges = |edges: &[Edge]| -> Vec<Json> {
            let one = |edge: &Edge| match edge {
                Edge::Min => json!(false),
                Edge::Value(text) => json!(text),
                Edge::Max => json!(true),
            };
            edges.iter().map(one).collect()
        };
        match self {
            Bound::Default => json!("default"),
            Bound::List(values) => json!({ "in": values }),
            Bound::Range(from, to) => json!({ "from": edges(from), "to": edges(to) }),
            Bound::Hash(modulus, remainder) => {
                json!({ "modulus": modulus, "remainder": remainder })
            }
        }
    }
}

impl Divided {
    /// As it is kept.
    pub fn body(&self) -> Json {
        let key = |key: &Key| match key {
            Key::Column(id) => json!({ "column": id.0 }),
            Key::Expr(sql, ty) => json!({ "sql": sql, "oid": ty.oid, "modifier": ty.modifier }),
        };
        let keys: Vec<Json> = self.keys.iter().map(key).collect();
        json!({ "by": self.strategy.word(), "keys": keys })
    }
}

fn number(json: &Json) -> Option<u32> {
    u32::try_from(json.as_u64()?).ok()
}

fn read_inherited(json: &Json) -> Option<Inherited> {
    Some(Inherited { count: number(&json[0])?, local: json[1].as_bool()? })
}

fn read_kin(object: &Object) -> Option<Kin> {
    let body = &object.body;
    let mut kin = Kin::default();
    for parent in body["parents"].as_array()? {
        kin.parents.push(TableId(number(parent)?));
    }
    for (id, one) in body["columns"].as_object()? {
        kin.columns.insert(ColumnId(id.parse().ok()?), read_inherited(one)?);
    }
    for (name, one) in body["rules"].as_object()? {
        kin.rules.insert(name.clone(), read_inherited(one)?);
    }
    kin.bound = match &body["bound"] {
        Json::Null => None,
        bound => Some(read_bound(bound)?),
    };
    Some(kin)
}

fn read_bound(body: &Json) -> Option<Bound> {
    let edges = |edges: &Json| -> Option<Vec<Edge>> {
        let one = |edge: &Json| match edge {
            Json::Bool(false) => Some(Edge::Min),
            Json::Bool(true) => Some(Edge::Max),
            edge => Some(Edge::Value(edge.as_str()?.to_string())),
        };
        edges.as_array()?.iter().map(one).collect()
    };
    if body == "default" {
        return Some(Bound::Default);
    }
    if let Some(values) = body["in"].as_array() {
        let one = |value: &Json| match value {
            Json::Null => Some(None),
            value => Some(Some(value.as_str()?.to_string())),
        };
        return Some(Bound::List(values.iter().map(one).collect::<Option<_>>()?));
    }
    if let Some(modulus) = body["modulus"].as_u64() {
        let remainder = body["remainder"].as_u64()?;
        return (remainder < modulus).then_some(Bound::Hash(modulus, remainder));
    }
    Some(Bound::Range(edges(&body["from"])?, edges(&body["to"])?))
}

fn read_divided(object: &Object) -> Option<Divided> {
    let strategy = match object.body["by"].as_str()? {
        "list" => Strategy::List,
        "range" => Strategy::Range,
        "hash" => Strategy::Hash,
        _ => return None,
    };
    let key = |key: &Json| {
        if let Some(column) = number(&key["column"]) {
            return Some(Key::Column(ColumnId(column)));
        }
        let modifier = i32::try_from(key["modifier"].as_i64()?).ok()?;
        let ty = PgType { oid: number(&key["oid"])?, modifier };
        Some(Key::Expr(key["sql"].as_str()?.to_string(), ty))
    };
    let keys = object.body["keys"].as_array()?.iter().map(key).collect::<Option<Vec<Key>>>()?;
    (!keys.is_empty()).then_some(Divided { strategy, keys })
}
