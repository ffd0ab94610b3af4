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
        let collations = types.iter().map(|ty| i64::from(super::classes::collation_of(view, *ty)));
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

/// A value of a bound, as a constant: numbers as they are, unless they begin with a sign.
pub fn literal(ty: PgType, text: &str) -> String {
    let plain =
        |text: &str| text.bytes().all(|b| b.is_ascii_digit() || b == b'.') && !text.is_empty();
    match ty.oid {
        oid::BOOL => if text == "t" || text == "true" { "true" } else { "false" }.to_string(),
        oid::INT2 | oid::INT4 | oid::INT8 | oid::OID | oid::FLOAT4 | oid::FLOAT8 | oid::NUMERIC
            if plain(text) =>
        {
            text.to_string()
        }
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
        Key::Expr(sql, _) => {
            let shown = printed.expression(table, None, sql, Look::PLAIN);
            let is_call = shown.ends_with(')') && !shown.starts_with('(');
            if is_call { shown } else { format!("({shown})") }
        }
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
