//! What do the catalogs say of tables above and below others?

use onlap::{IndexSchema, TableSchema};
use onlap_pg::print::Look;

use super::model::{Model, Relation};
use super::rows::Rows;
use crate::catalog::families::{Bound, Divided, Edge, Key, Strategy};
use crate::catalog::names::quote;
use crate::catalog::oids;
use crate::columns::Types;
use crate::query::Printed;
use crate::query::keys::in_parens;
use crate::row;
use crate::types::{PgType, oid};
use crate::view::View;

/// The rows of pg_inherits.
pub fn inherits(view: &View, model: &Model) -> Rows {
    let mut rows = Rows::of("inhrelid inhparent inhseqno inhdetachpending");
    let families = view.objects.families();
    for relation in &model.relations {
        if let Some(table) = relation.table()
            && let Some(kin) = families.kin(table.id)
        {
            for (n, parent) in kin.parents.iter().enumerate() {
                rows.push(row![relation.oid, oids::of_table(*parent), n + 1, false]);
            }
        }
        if let Some((_, index)) = relation.index()
            && let Some(above) = families.index_above(index.id)
        {
            rows.push(row![relation.oid, oids::of_index(above), 1, false]);
        }
    }
    rows
}

/// The rows of pg_partitioned_table.
pub fn partitioned(view: &View, model: &Model) -> Rows {
    let mut rows = Rows::of(
        "partrelid partstrat partnatts partdefid partattrs partclass partcollation partexprs",
    );
    let families = view.objects.families();
    for relation in &model.relations {
        let Some(table) = relation.table() else { continue };
        let Some(divided) = families.divided(table.id) else { continue };
        let strategy = match divided.strategy {
            Strategy::List => "l",
            Strategy::Range => "r",
            Strategy::Hash => "h",
        };
        let below = families.below(table.id).iter();
        let default = below.copied().find(|id| families.bound(*id) == Some(&Bound::Default));
        let types = key_types(view, table, divided);
        let number = |key: &Key| match key {
            Key::Column(id) => i64::from(id.0) + 1,
            Key::Expr(..) => 0,
        };
        let classes = types.iter().map(|ty| super::classes::operator_class(*ty));
        let all = Types::of(&view.objects, table);
        let collation = |(key, ty): (&Key, &PgType)| {
            let place = match key {
                Key::Column(id) => table.position(*id),
                Key::Expr(..) => None,
            };
            let of_type = || super::classes::collation_of(view, *ty);
            i64::from(place.map_or_else(of_type, |at| all.collation(at)))
        };
        let collations = divided.keys.iter().zip(&types).map(collation);
        let exprs: Vec<String> = divided
            .keys
            .iter()
            .filter_map(|key| match key {
                Key::Expr(sql, _) => Some(sql.clone()),
                Key::Column(_) => None,
            })
            .collect();
        rows.push(row![
            relation.oid,
            strategy,
            divided.keys.len(),
            default.map_or(0, oids::of_table),
            divided.keys.iter().map(number).collect::<Vec<i64>>(),
            classes.collect::<Vec<i64>>(),
            collations.collect::<Vec<i64>>(),
            (!exprs.is_empty()).then(|| exprs.join(", ")),
        ]);
    }
    rows
}

fn key_types(view: &View, table: &TableSchema, divided: &Divided) -> Vec<PgType> {
    let types = Types::of(&view.objects, table);
    let ty = |key: &Key| match key {
        Key::Expr(_, ty) => *ty,
        Key::Column(id) => table.position(*id).map_or(PgType::new(oid::TEXT), |at| types[at].pg),
    };
    divided.keys.iter().map(ty).collect()
}

/// A value of a bound, as a constant: whole numbers and decimals as they are, unless they begin with a sign.
pub fn literal(ty: PgType, text: &str) -> String {
    let is_digit = text.starts_with(|c: char| c.is_ascii_digit());
    match ty.oid {
        oid::BOOL => if matches!(text, "t" | "true") { "true" } else { "false" }.to_string(),
        oid::INT4 if is_digit => text.to_string(),
        oid::NUMERIC if is_digit && text.contains(['.', 'e', 'E']) => text.to_string(),
        _ => {
            let escape = if text.contains('\\') { "E" } else { "" };
            format!("{escape}'{}'", text.replace('\\', "\\\\").replace('\'', "''"))
        }
    }
}

/// FOR VALUES of a partition, as it is written in a statement.
pub fn bound(view: &View, model: &Model, table: &TableSchema) -> Option<String> {
    let families = view.objects.families();
    let bound = families.bound(table.id)?;
    let above = families.above(table.id)?;
    let types = match (model.relation(oids::of_table(above)), families.divided(above)) {
        (Some(relation), Some(divided)) => {
            relation.table().map(|table| key_types(view, table, divided)).unwrap_or_default()
        }
        _ => Vec::new(),
    };
    let edges = |edges: &[Edge]| {
        let one = |(edge, ty): (&Edge, &PgType)| match edge {
            Edge::Min => "MINVALUE".to_string(),
            Edge::Max => "MAXVALUE".to_string(),
            Edge::Value(text) => literal(*ty, text),
        };
        edges.iter().zip(&types).map(one).collect::<Vec<_>>().join(", ")
    };
    Some(match bound {
        Bound::Default => "DEFAULT".to_string(),
        Bound::List(values) => {
            let ty = types.first().copied().unwrap_or(PgType::new(oid::TEXT));
            let one = |value: &Option<String>| match value {
                Some(text) => literal(ty, text),
                None => "NULL".to_string(),
            };
            let values: Vec<String> = values.iter().map(one).collect();
            format!("FOR VALUES IN ({})", values.join(", "))
        }
        Bound::Range(from, to) => {
            format!("FOR VALUES FROM ({}) TO ({})", edges(from), edges(to))
        }
        Bound::Hash(modulus, remainder) => {
            format!("FOR VALUES WITH (modulus {modulus}, remainder {remainder})")
        }
    })
}

/// Whether all partitions have an index that belongs to this one of their table.
pub fn is_valid(view: &View, model: &Model, table: &TableSchema, index: &IndexSchema) -> bool {
    let families = view.objects.families();
    if families.divided(table.id).is_none() {
        return true;
    }
    families.below(table.id).iter().all(|below| {
        let Some(below) = model.relation(oids::of_table(*below)).and_then(Relation::table) else {
            return false;
        };
        let mut own = below.indexes.iter();
        let own = own.find(|own| families.index_above(own.id) == Some(index.id));
        own.is_some_and(|own| is_valid(view, model, below, own))
    })
}

/// PARTITION BY of a table, as it is written in a statement.
pub fn key(view: &View, model: &Model, relation: &Relation) -> Option<String> {
    let printed = Printed::new(view, model);
    let table = relation.table()?;
    let divided = view.objects.families().divided(table.id)?;
    let key = |key: &Key| match key {
        Key::Column(id) => {
            table.position(*id).map_or_else(String::new, |at| quote(&table.columns[at].name))
        }
        Key::Expr(sql, _) => in_parens(printed.expression(table, None, sql, Look::PLAIN)),
    };
    let keys: Vec<String> = divided.keys.iter().map(key).collect();
    Some(format!("{} ({})", divided.strategy.word().to_uppercase(), keys.join(", ")))
}

/// A table or index of a partition tree with those above it, itself first; nothing for what is of none.
pub fn line(view: &View, model: &Model, oid: u32) -> Vec<u32> {
    let families = view.objects.families();
    let Some(relation) = model.relation(oid) else { return Vec::new() };
    let mut line = vec![oid];
    if let Some(table) = relation.table() {
        if families.divided(table.id).is_none() && families.bound(table.id).is_none() {
            return Vec::new();
        }
        line.extend(families.all_above(table.id).into_iter().map(oids::of_table));
        return line;
    }
    let Some((table, index)) = relation.index() else { return Vec::new() };
    let mut at = families.index_above(index.id);
    if at.is_none() && families.divided(table.id).is_none() {
        return Vec::new();
    }
    while let Some(above) = at {
        line.push(oids::of_index(above));
        at = families.index_above(above);
    }
    line
}

/// A relation of a partition tree.
pub struct Node {
    /// Its OID.
    pub oid: u32,
    /// That of the one above it; none of the first.
    pub above: Option<u32>,
    /// Whether it divides its rows no further.
    pub is_leaf: bool,
    /// How many levels it is below the first.
    pub level: i32,
}

/// A table or index with all partitions below it, a level after the other.
pub fn tree(view: &View, model: &Model, oid: u32) -> Vec<Node> {
    let families = view.objects.families();
    let line = line(view, model, oid);
    if line.is_empty() {
        return Vec::new();
    }
    let first = line.get(1).copied();
    let mut nodes = vec![Node { oid, above: first, is_leaf: true, level: 0 }];
    let mut at = 0;
    while at < nodes.len() {
        let (oid, level) = (nodes[at].oid, nodes[at].level + 1);
        let relation = model.relation(oid);
        let mut below: Vec<u32> = match relation.map(|of| (of.table(), of.index())) {
            Some((Some(table), _)) => {
                families.below(table.id).iter().map(|id| oids::of_table(*id)).collect()
            }
            Some((_, Some((_, index)))) => families
                .indexes()
                .filter(|(_, above)| *above == index.id)
                .map(|(index, _)| oids::of_index(index))
                .collect(),
            _ => Vec::new(),
        };
        below.sort_unstable();
        nodes[at].is_leaf = !relation.is_some_and(|relation| relation.divided);
        let nodes_below = below.into_iter();
        nodes.extend(nodes_below.map(|below| Node {
            oid: below,
            above: Some(oid),
            is_leaf: true,
            level,
        }));
        at += 1;
    }
    nodes
}

/// The condition that a partition's rows meet, in one text; none of what is no partition, or of one without a condition.
pub fn condition(view: &View, model: &Model, oid: u32) -> Option<String> {
    let table = model.relation(oid)?.table()?;
    let families = view.objects.families();
    let mut parts = Vec::new();
    let mut child = table.id;
    for above in families.all_above(table.id) {
        let of = model.relation(oids::of_table(above))?.table()?;
        let mut own = Level { view, model, above: of, parts: Vec::new() };
        own.of(child)?;
        parts.splice(0..0, own.parts);
        child = above;
    }
    (!parts.is_empty()).then(|| all_of(parts))
}

/// The conditions of one level.
struct Level<'a> {
    view: &'a View,
    model: &'a Model,
    above: &'a TableSchema,
    parts: Vec<String>,
}

impl Level<'_> {
    fn of(&mut self, child: onlap::TableId) -> Option<()> {
        let families = self.view.objects.families();
        let divided = families.divided(self.above.id)?;
        let printed = Printed::new(self.view, self.model);
        let key = |key: &Key| match key {
            Key::Column(id) => {
                self.above.position(*id).map(|at| quote(&self.above.columns[at].name))
            }
            Key::Expr(sql, _) => Some(printed.expression(self.above, None, sql, Look::PLAIN)),
        };
        let keys: Vec<String> = divided.keys.iter().map(key).collect::<Option<_>>()?;
        let types = key_types(self.view, self.above, divided);
        self.parts = match families.bound(child)? {
            Bound::Default => match divided.strategy {
                Strategy::List => self.all_others(&keys[0], types[0]),
                _ => return self.no_range(&keys, &types),
            },
            Bound::List(values) => one_of(&keys[0], types[0], values),
            Bound::Range(from, to) => range(&keys, &types, from, to),
            Bound::Hash(modulus, remainder) => vec![format!(
                "satisfies_hash_partition('{}'::oid, {modulus}, {remainder}, {})",
                oids::of_table(self.above.id),
                keys.join(", ")
            )],
        };
        Some(())
    }

    /// The bounds of the partitions beside the default one.
    fn others(&self) -> impl Iterator<Item = &Bound> {
        let families = self.view.objects.families();
        let below = families.below(self.above.id).iter();
        below.filter_map(|id| families.bound(*id)).filter(|bound| **bound != Bound::Default)
    }

    fn all_others(&self, key: &str, ty: PgType) -> Vec<String> {
        let mut all: Vec<Option<String>> = Vec::new();
        for bound in self.others() {
            if let Bound::List(values) = bound {
                all.extend(values.iter().cloned());
            }
        }
        match all.is_empty() {
            true => Vec::new(),
            false => vec![format!("(NOT {})", all_of(one_of(key, ty, &all)))],
        }
    }

    fn no_range(&mut self, keys: &[String], types: &[PgType]) -> Option<()> {
        let one = |bound: &Bound| match bound {
            Bound::Range(from, to) => Some(all_of(range_alone(keys, types, from, to))),
            _ => None,
        };
        let all: Vec<String> = self.others().filter_map(one).collect();
        let nulls: Vec<String> = keys.iter().map(|key| format!("({key} IS NOT NULL)")).collect();
        if all.is_empty() {
            return Some(());
        }
        let any = if all.len() == 1 { all[0].clone() } else { format!("({})", all.join(" OR ")) };
        self.parts = vec![format!("(NOT ({} AND {any}))", nulls.join(" AND "))];
        Some(())
    }
}

/// A value with its type, as a constant in a condition.
fn constant(ty: PgType, text: &str) -> String {
    let value = literal(ty, text);
    match value.ends_with('\'') {
        true => format!("{value}::{}", crate::types::names::format_type(ty)),
        false => value,
    }
}

/// The conditions of a key that is one of some values.
fn one_of(key: &str, ty: PgType, values: &[Option<String>]) -> Vec<String> {
    let null = values.contains(&None);
    let known: Vec<String> = values.iter().flatten().map(|text| constant(ty, text)).collect();
    let any = match &known[..] {
        [] => return vec![format!("({key} IS NULL)")],
        [one] => format!("({key} = {one})"),
        many => format!("({key} = ANY (ARRAY[{}]))", many.join(", ")),
    };
    match null {
        true => vec![format!("(({key} IS NULL) OR {any})")],
        false => vec![format!("({key} IS NOT NULL)"), any],
    }
}

/// Conditions that all hold, as one.
fn all_of(mut parts: Vec<String>) -> String {
    match parts.len() {
        1 => parts.remove(0),
        _ => format!("({})", parts.join(" AND ")),
    }
}

fn range(keys: &[String], types: &[PgType], from: &[Edge], to: &[Edge]) -> Vec<String> {
    let mut parts: Vec<String> = keys.iter().map(|key| format!("({key} IS NOT NULL)")).collect();
    parts.extend(range_alone(keys, types, from, to));
    parts
}

/// The conditions of a range, without those on NULL.
fn range_alone(keys: &[String], types: &[PgType], from: &[Edge], to: &[Edge]) -> Vec<String> {
    let mut parts = Vec::new();
    let mut first = 0;
    // Keys that are one value are said first.
    while first < keys.len() {
        match (&from[first], &to[first]) {
            (Edge::Value(a), Edge::Value(b)) if a == b => {
                parts.push(format!("({} = {})", keys[first], constant(types[first], a)));
                first += 1;
            }
            _ => break,
        }
    }
    for (edges, strict, or_equal) in [(from, ">", ">="), (to, "<", "<")] {
        let mut any = Vec::new();
        for last in first..keys.len() {
            let Edge::Value(text) = &edges[last] else {
                break;
            };
            let mut all: Vec<String> = (first..last)
                .filter_map(|at| match &edges[at] {
                    Edge::Value(text) => {
                        Some(format!("({} = {})", keys[at], constant(types[at], text)))
                    }
                    _ => None,
                })
                .collect();
            let is_last = last + 1 == keys.len();
            let next_open = !is_last && !matches!(edges[last + 1], Edge::Value(_));
            let open_in = next_open
                && match edges[last + 1] {
                    Edge::Min => strict == ">",
                    _ => strict == "<",
                };
            let operator = match (is_last, open_in) {
                (true, _) => or_equal,
                (false, true) if strict == ">" => ">=",
                (false, true) => "<=",
                _ => strict,
            };
            all.push(format!("({} {operator} {})", keys[last], constant(types[last], text)));
            any.push(if all.len() == 1 {
                all.remove(0)
            } else {
                format!("({})", all.join(" AND "))
            });
        }
        match any.len() {
            0 => {}
            1 => parts.push(any.remove(0)),
            _ => parts.push(format!("({})", any.join(" OR "))),
        }
    }
    parts
}
