//! What if a table is called like a column of a table in a subquery?
//!
//! `a.id` in a subquery over a table with a column `a` means the outer `a`, in SQL; the planner would look
//! for a field of the column. So tables whose names are those of columns get other names, and with them
//! all that refers to them. Names of the answer's columns do not change by that.

use std::collections::BTreeSet;
use std::ops::ControlFlow;

use datafusion::sql::sqlparser::ast::{
    Expr, Ident, ObjectNamePart, Query, Select, SelectItem, SelectItemQualifiedWildcardKind,
    Statement, TableAlias, TableFactor, Visit, VisitMut, Visitor, VisitorMut,
};

use crate::catalog::names::{fold, parts};
use crate::view::{Relation, View};

/// Gives such tables of a query with subqueries other names.
pub(super) fn rewrite(view: &View, statement: &mut Statement) {
    let mut found = Found { view, queries: 0, names: BTreeSet::new(), columns: BTreeSet::new() };
    let _ = Visit::visit(statement, &mut found);
    let clashes: BTreeSet<String> = found.names.intersection(&found.columns).cloned().collect();
    if found.queries > 1 && !clashes.is_empty() {
        let _ = VisitMut::visit(statement, &mut Renaming(&clashes));
    }
}

/// What a table in FROM is called, if that can be changed.
fn called(factor: &TableFactor) -> Option<String> {
    match factor {
        TableFactor::Table { alias: Some(alias), .. }
        | TableFactor::Derived { alias: Some(alias), .. } => Some(fold(&alias.name)),
        TableFactor::Table { name, alias: None, args: None, .. } => parts(name).ok()?.pop(),
        _ => None,
    }
}

struct Found<'a> {
    view: &'a View,
    queries: usize,
    names: BTreeSet<String>,
    columns: BTreeSet<String>,
}

impl Visitor for Found<'_> {
    type Break = ();

    fn pre_visit_query(&mut self, _: &Query) -> ControlFlow<()> {
        self.queries += 1;
        ControlFlow::Continue(())
    }

    fn pre_visit_table_factor(&mut self, factor: &TableFactor) -> ControlFlow<()> {
        self.names.extend(called(factor));
        if let TableFactor::Table { name, args: None, .. } = factor
            && let Ok(parts) = parts(name)
            && let Ok(Some(Relation::Table(_, table))) = self.view.find(&parts)
        {
            self.columns.extend(table.schema().columns.iter().map(|c| c.name.clone()));
        }
        ControlFlow::Continue(())
    }
}

struct Renaming<'a>(&'a BTreeSet<String>);

impl Renaming<'_> {
    fn renamed(&self, name: &str) -> Option<Ident> {
        self.0.contains(name).then(|| Ident::with_quote('"', format!("{name} in from")))
    }
}

impl VisitorMut for Renaming<'_> {
    type Break = ();

    fn pre_visit_table_factor(&mut self, factor: &mut TableFactor) -> ControlFlow<()> {
        let Some(new) = called(factor).and_then(|name| self.renamed(&name)) else {
            return ControlFlow::Continue(());
        };
        if let TableFactor::Table { alias, .. } | TableFactor::Derived { alias, .. } = factor {
            match alias {
                Some(alias) => alias.name = new,
                None => {
                    let (columns, at) = (Vec::new(), None);
                    *alias = Some(TableAlias { explicit: true, name: new, columns, at });
                }
            }
        }
        ControlFlow::Continue(())
    }

    fn pre_visit_select(&mut self, select: &mut Select) -> ControlFlow<()> {
        for item in &mut select.projection {
            let SelectItem::QualifiedWildcard(SelectItemQualifiedWildcardKind::ObjectName(name), _) =
                item
            else {
                continue;
            };
            if let [ObjectNamePart::Identifier(ident)] = &mut name.0[..]
                && let Some(new) = self.renamed(&fold(ident))
            {
                *ident = new;
            }
        }
        ControlFlow::Continue(())
    }

    fn pre_visit_expr(&mut self, expr: &mut Expr) -> ControlFlow<()> {
        if let Expr::CompoundIdentifier(idents) = expr
            && let [.., table, _] = &mut idents[..]
            && let Some(new) = self.renamed(&fold(table))
        {
            *table = new;
            // A schema before it would name another table.
            idents.drain(..idents.len() - 2);
        }
        ControlFlow::Continue(())
    }
}
