//! Which expressions of tables name what the database made?
//!
//! Indexes, generated columns and checks, of whose programs the trees tell. What functions that they call name by themselves counts
//! for DROP, other than in PostgreSQL: the programs carry it, and would calculate with what is no more. Thread safety: pure.

use std::collections::HashMap;
use std::sync::Arc;

use onlap::{Expr, TableSchema};
use onlap_pg::bound::Part;

use super::Object;
use super::uses::Edge;
use crate::catalog::oids;
use crate::formulas::{self, carried::is_made};
use crate::query::named_in;

/// What names something, by its OID.
#[derive(Default)]
pub struct Carried {
    users: HashMap<u32, Vec<(Object, u32)>>,
}

/// What a program names by itself of what the database made, by OIDs.
pub fn named(program: &str) -> Vec<u32> {
    let carries = formulas::program(program).is_ok_and(|program| !program.carried.is_empty());
    match formulas::made(program).ok().filter(|_| carries) {
        Some(made) => named_in(&made.tree.0, Part::Query(made.tree.1), &is_made),
        None => Vec::new(),
    }
}

/// The same with what functions that it calls name.
fn needed(program: &str) -> Vec<u32> {
    let mut all = named(program);
    if let Ok(program) = formulas::program(program) {
        for oid in program.carried.brought() {
            if !all.contains(&oid) {
                all.push(oid);
            }
        }
    }
    all
}

impl Carried {
    /// Of all tables.
    pub fn of(tables: impl Iterator<Item = Arc<TableSchema>>) -> Carried {
        let mut found = Carried::default();
        tables.for_each(|table| found.add(&table));
        found
    }

    fn add(&mut self, table: &TableSchema) {
        let order = oids::of_table(table.id);
        let mut note = |program: &str, object: &Object, order: u32| {
            for oid in needed(program) {
                let users = self.users.entry(oid).or_default();
                if users.iter().all(|(known, _)| known != object) {
                    users.push((object.clone(), order));
                }
            }
        };
        for index in &table.indexes {
            let ids = index.key.iter().map(|part| part.column).chain(index.filter);
            let object = Object::Index(table.id, index.name.clone());
            for derived in ids.filter_map(|id| table.derived(id)) {
                // It is younger than its table.
                note(&derived.program, &object, order + 1);
            }
        }
        for generated in &table.generated {
            note(&generated.program, &Object::Column(table.id, generated.column), order);
        }
        for check in &table.checks {
            if let Expr::Formula(program, _) = &check.expr {
                note(program, &Object::Constraint(table.id, check.name.clone()), order);
            }
        }
    }

    /// What names something.
    pub fn of_oid(&self, oid: u32) -> Vec<Edge> {
        let users = self.users.get(&oid).into_iter().flatten();
        users.map(|(object, order)| Edge::to(object.clone(), *order)).collect()
    }
}
