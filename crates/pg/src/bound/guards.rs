//! What do policies ask of rows?
//!
//! Conditions of policies are bound each for itself, over the rows of their table. They come into a statement in two ways: as
//! guards of an entry ([`super::Entry::guards`]), which its rows must meet before anything else of the query sees them, and as
//! checks of rows that are written ([`super::Check`]).
//!
//! Knows nothing of which policies are there, nor of their roles. Pure.

use super::import::Import;
use super::{Bound, Check, CheckKind, Expr, ExprId, Literal, QueryId};
use crate::TypeRef;
use crate::ast::Name;
use crate::catalog::oids;

/// A condition of a policy: the only target of a query whose first entry has the rows of the table.
pub type Condition<'a> = (&'a Bound, QueryId);

/// What policies ask: one of the permissive ones, and each of the others. Without a permissive one there is no row.
#[derive(Clone, Debug, Default)]
pub struct Guards<'a> {
    /// Permissive ones.
    pub any: Vec<Condition<'a>>,
    /// Restrictive ones, by name.
    pub every: Vec<(Name, Condition<'a>)>,
}

impl Bound {
    /// Has an entry of a query, from 1, give rows alone that meet these.
    pub fn guard(&mut self, query: QueryId, entry: usize, guards: &Guards<'_>) {
        let mut all = Vec::new();
        if !guards.any.is_empty() {
            let every = guards.every.iter();
            all.extend(every.map(|(_, condition)| self.taken(query, entry, *condition)));
        }
        all.push(self.any_of(query, entry, &guards.any));
        for id in all {
            let known = &self.query(query).entries[entry - 1].guards;
            if !known.iter().any(|known| self.same(*known, id)) {
                self.query_mut(query).entries[entry - 1].guards.push(id);
            }
        }
    }

    /// Has rows that a query writes meet these.
    ///
    /// # Panics
    /// The query changes no rows.
    pub fn check_rows(
        &mut self,
        query: QueryId,
        (kind, table): (CheckKind, &Name),
        guards: &Guards<'_>,
    ) {
        let entry = self.query(query).modify.as_deref().expect("it changes rows").entry;
        let value = self.any_of(query, entry, &guards.any);
        let mut made = vec![Check { kind, relation: table.clone(), policy: None, value }];
        if !guards.any.is_empty() {
            for (policy, condition) in &guards.every {
                let value = self.taken(query, entry, *condition);
                let policy = Some(policy.clone());
                made.push(Check { kind, relation: table.clone(), policy, value });
            }
        }
        let modify = self.query_mut(query).modify.as_deref_mut().expect("it changes rows");
        modify.checks.extend(made);
    }

    /// Gives an entry of a query, from 1, another name.
    pub fn call_entry(&mut self, query: QueryId, entry: usize, name: &Name) {
        self.query_mut(query).entries[entry - 1].name = name.clone();
    }

    fn any_of(&mut self, query: QueryId, entry: usize, all: &[Condition<'_>]) -> ExprId {
        let bool = TypeRef::new(oids::BOOL);
        match all {
            [] => self.add(Expr::Literal(Literal::Bool(false)), bool, None),
            [one] => self.taken(query, entry, *one),
            all => {
                let all = all.iter().map(|one| self.taken(query, entry, *one)).collect();
                self.add(Expr::Or(all), bool, None)
            }
        }
    }

    fn taken(&mut self, query: QueryId, entry: usize, (tree, of): Condition<'_>) -> ExprId {
        let value = tree.query(of).targets[0].value;
        let asks = tree.has_queries(value);
        self.query_mut(query).has_subqueries |= asks;
        Import::new(tree, self, (1, entry), 0).expr(value, 0)
    }
}
