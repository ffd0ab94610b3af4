//! What may a rule say?

use onlap_pg::ast::{CreateRule, RuleEvent};
use onlap_pg::bind::Relation;
use onlap_pg::bound::{
    Bound, EntryKind, Expr, ModifyKind, NEW, OLD, Part, QueryId, Target, selected,
};
use onlap_pg::catalog::Catalog;
use onlap_pg::{Oid, TypeRef};

use super::Said;
use crate::catalog::bound;
use crate::error::{Result, SqlError};
use crate::query::{Names, needs};

impl Said {
    /// Fails where PostgreSQL refuses the rule, or Onlap cannot carry it out.
    ///
    /// # Errors
    /// `42P17`; `0A000`.
    pub(super) fn check(
        &self,
        create: &CreateRule,
        relation: &Relation,
        catalog: &Catalog,
    ) -> Result<()> {
        if let Some((tree, condition)) = &self.condition {
            check_columns(tree, Part::Expr(*condition))?;
        }
        for (tree, command) in &self.commands {
            check_columns(tree, Part::Query(*command))?;
            check_event(tree, *command, create.event)?;
            check_command(tree, *command)?;
        }
        let mut returns = false;
        for (tree, command) in &self.commands {
            let modify = tree.query(*command).modify.as_deref().expect("a command changes rows");
            if modify.returning.is_empty() {
                continue;
            }
            let refused = |text: &str| Err(SqlError::new("0A000", text));
            if std::mem::replace(&mut returns, true) {
                return refused("cannot have multiple RETURNING lists in a rule");
            }
            if create.filter.is_some() {
                return refused("RETURNING lists are not supported in conditional rules");
            }
            if !create.instead {
                return refused("RETURNING lists are not supported in non-INSTEAD rules");
            }
            check_returning(tree, &modify.returning, relation, catalog)?;
        }
        Ok(())
    }

    /// Notes which columns the rule names of each table.
    pub(super) fn note_columns(&self, names: &Names<'_>, uses: &mut [bound::Use], own: Oid) {
        let mut named: Vec<(Oid, u32)> = Vec::new();
        for (tree, command) in &self.commands {
            named.extend(needs::columns_named(names, tree, *command));
            rows_named(tree, Part::Query(*command), &mut |_, column| {
                named.extend(needs::column_of(names, own, column));
            });
        }
        if let Some((tree, condition)) = &self.condition {
            // Queries in it are bound with it, all in one tree.
            for query in tree.query_ids() {
                named.extend(needs::columns_named(names, tree, query));
            }
            rows_named(tree, Part::Expr(*condition), &mut |_, column| {
                named.extend(needs::column_of(names, own, column));
            });
        }
        for used in uses {
            let own = named.iter().filter(|(oid, _)| *oid == used.oid);
            used.reads = own.map(|(_, column)| *column).collect();
            used.reads.sort_unstable();
            used.reads.dedup();
        }
    }
}

/// Shows the columns of OLD and NEW that are named: the entry, and the column, which is 0 for the whole row.
fn rows_named(tree: &Bound, part: Part, see: &mut dyn FnMut(usize, i32)) {
    tree.visit_part(part, 0, &mut |id, inside| {
        if let Expr::Var { entry, column, up } = tree.expr(id)
            && *up == inside
        {
            see(*entry, *column);
        }
        true
    });
}

fn check_columns(tree: &Bound, part: Part) -> Result<()> {
    let mut system = false;
    rows_named(tree, part, &mut |_, column| system |= column < 0);
    match system {
        true => Err(SqlError::unsupported("system columns of OLD and NEW")),
        false => Ok(()),
    }
}

fn check_event(tree: &Bound, command: QueryId, event: RuleEvent) -> Result<()> {
    let mut named = [false; 2];
    rows_named(tree, Part::Query(command), &mut |entry, _| named[usize::from(entry == NEW)] = true);
    let text = match (event, named) {
        (RuleEvent::Insert, [true, _]) => "ON INSERT rule cannot use OLD",
        (RuleEvent::Delete, [_, true]) => "ON DELETE rule cannot use NEW",
        _ => return Ok(()),
    };
    Err(SqlError::new("42P17", text))
}

fn check_command(tree: &Bound, command: QueryId) -> Result<()> {
    let query = tree.query(command);
    let modify = query.modify.as_deref().expect("a command changes rows");
    let is_insert = modify.kind == ModifyKind::Insert;
    let inner = selected(tree, command);
    for of in [Some(command), inner].into_iter().flatten() {
        for cte in &tree.query(of).ctes {
            check_with(tree, cte.query, if of == command { 1 } else { 2 })?;
        }
    }
    if is_insert {
        // They are of the row that is written alone.
        let conflict = modify.conflict.iter();
        let set = conflict.clone().flat_map(|conflict| &conflict.set).map(|target| target.value);
        let filters = conflict.filter_map(|conflict| conflict.filter);
        let all = modify.returning.iter().map(|target| target.value).chain(set).chain(filters);
        for id in all {
            let mut found = None;
            tree.visit(id, 1, &mut |id, inside| {
                if let Expr::Var { entry, up, .. } = tree.expr(id)
                    && *up == inside
                {
                    found = Some(*entry);
                }
                true
            });
            if let Some(entry) = found {
                return Err(not_here(entry));
            }
        }
        let default = |id: &onlap_pg::bound::ExprId| matches!(tree.expr(*id), Expr::Default);
        let among = query.entries.iter().any(|entry| match &entry.kind {
            EntryKind::Values(rows) => rows.iter().flatten().any(default),
            _ => false,
        });
        if among {
            return Err(SqlError::unsupported("DEFAULT among several rows of VALUES of a rule"));
        }
    }
    match inner {
        Some(inner) => check_selected(tree, inner),
        None => Ok(()),
    }
}

fn not_here(entry: usize) -> SqlError {
    let name = if entry == OLD { "old" } else { "new" };
    let text = format!("invalid reference to FROM-clause entry for table \"{name}\"");
    let hint = format!(
        "There is an entry for table \"{name}\", but it cannot be referenced from this part of the \
         query."
    );
    SqlError::new("42P01", text).hint(hint)
}

/// A query of WITH, at its depth below the query around the command.
fn check_with(tree: &Bound, query: QueryId, within: u32) -> Result<()> {
    let mut found = None;
    tree.visit_part(Part::Query(query), within, &mut |id, inside| {
        if let Expr::Var { entry, up, .. } = tree.expr(id)
            && *up == inside
        {
            found.get_or_insert(*entry);
        }
        true
    });
    let Some(entry) = found else { return Ok(()) };
    let name = if entry == NEW { "NEW" } else { "OLD" };
    Err(SqlError::new("0A000", format!("cannot refer to {name} within WITH query")))
}

/// The query of INSERT … SELECT, to which what the statement reads is joined.
fn check_selected(tree: &Bound, inner: QueryId) -> Result<()> {
    let query = tree.query(inner);
    if query.set.is_some() {
        let mut named = false;
        tree.visit_part(Part::Query(inner), 1, &mut |id, inside| {
            named |= matches!(tree.expr(id), Expr::Var { up, .. } if *up == inside);
            !named
        });
        if named {
            let text = "UNION/INTERSECT/EXCEPT member statement cannot refer to other relations of \
                        same query level";
            return Err(SqlError::new("42P10", text));
        }
        let text = "conditional UNION/INTERSECT/EXCEPT statements are not implemented";
        return Err(SqlError::new("0A000", text));
    }
    let grouped = query.has_aggregates || !query.groups.is_empty() || !query.sets.is_empty();
    if !grouped {
        return Ok(());
    }
    let mut found = false;
    let values = query.targets.iter().map(|target| target.value).chain(query.having);
    for id in values {
        tree.visit(id, 2, &mut |id, inside| {
            found |= matches!(tree.expr(id), Expr::Var { up, .. } if *up == inside);
            !found
        });
    }
    match found {
        true => Err(SqlError::unsupported("OLD and NEW next to aggregates in a rule")),
        false => Ok(()),
    }
}

/// RETURNING must be like the rows of the table or view.
fn check_returning(
    tree: &Bound,
    returning: &[Target],
    relation: &Relation,
    catalog: &Catalog,
) -> Result<()> {
    let wrong = |text: String| SqlError::new("42P17", text);
    let values: Vec<TypeRef> =
        returning.iter().filter(|target| !target.hidden).map(|t| tree.ty(t.value)).collect();
    let columns: Vec<_> = relation.columns.iter().filter(|column| !column.dropped).collect();
    for (at, own) in values.iter().enumerate() {
        let Some(column) = columns.get(at) else {
            return Err(wrong("RETURNING list has too many entries".into()));
        };
        let sizes =
            own.modifier != column.ty.modifier && own.modifier != -1 && column.ty.modifier != -1;
        let what = match () {
            () if own.oid != column.ty.oid => "type",
            () if sizes => "size",
            () => continue,
        };
        let number = at + 1;
        let text = format!(
            "RETURNING list's entry {number} has different {what} from column \"{}\"",
            column.name
        );
        let shown = |ty: TypeRef| catalog.shown_with(ty);
        let detail = format!(
            "RETURNING list entry has type {}, but column has type {}.",
            shown(*own),
            shown(column.ty)
        );
        return Err(wrong(text).detail(detail));
    }
    match values.len() < columns.len() {
        true => Err(wrong("RETURNING list has too few entries".into())),
        false => Ok(()),
    }
}
