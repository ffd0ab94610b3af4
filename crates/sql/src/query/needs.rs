//! Which columns of what does a query read?
//!
//! Asked of the bound tree: every column that the query names counts, also where the answer does not depend on it. A view is
//! read by the statement, and its query by the view's owner, which is asked for after it, as PostgreSQL does.

use onlap_pg::Oid;
use onlap_pg::bound::{Bound, Cte, EntryKind, Expr, Part, QueryId};

use super::schema::Names;
use super::tables::Known;
use super::views::Others;
use crate::catalog::aggregates::Aggregate;
use crate::catalog::extensions::{self, Created};
use crate::catalog::{Name, oids};
use crate::error::Result;
use crate::rights::{Action, Class, Key, Need, ask};
use crate::view::View;

/// What a query needs, by a role that is not the statement's if one is given. A query of WITH that nothing names reads
/// nothing, as in PostgreSQL, unless it changes rows.
pub fn of_query(
    bound: &Bound,
    query: QueryId,
    tables: &Known,
    others: &Others,
    by: Option<u32>,
) -> Vec<Need> {
    let (mut needs, mut inner) = (Vec::new(), Vec::new());
    let mut open = vec![query];
    let mut seen = Vec::new();
    while let Some(query) = open.pop() {
        if seen.contains(&query) {
            continue;
        }
        seen.push(query);
        for (n, entry) in bound.query(query).entries.iter().enumerate() {
            let EntryKind::Relation { oid, .. } = &entry.kind else { continue };
            let columns = columns(bound, query, n);
            if columns.is_empty() && is_written(bound, query, n) {
                continue;
            }
            if let Some(need) = of_relation(*oid, &columns, tables, others) {
                needs.push(Need { by, ..need });
            }
            let is_locked = bound.query(query).locks.iter().any(|lock| lock.entry == n + 1);
            if is_locked {
                needs.extend(locking(*oid, tables, others, by));
            }
            if let Some(view) = others.views.get(oid) {
                let new = view.needs.iter().filter(|need| !inner.contains(*need));
                let new: Vec<Need> = new.cloned().collect();
                inner.extend(new);
            }
        }
        // Queries within, wherever they are.
        let reads = |cte: &&Cte| cte.references == 0 && bound.query(cte.query).modify.is_none();
        let unnamed = bound.query(query).ctes.iter().filter(reads);
        seen.extend(unnamed.map(|cte| cte.query));
        let mut parts = bound.parts(query);
        while let Some(part) = parts.pop() {
            match part {
                Part::Query(inner) => open.push(inner),
                Part::Expr(id) => parts.extend(bound.expr(id).parts()),
            }
        }
    }
    needs.extend(inner);
    needs
}

/// What calls of functions need that the database made, and of those of extensions of whose rights something is kept.
pub fn of_functions(view: &View, bound: &Bound, query: QueryId) -> Vec<Need> {
    let functions = view.objects.functions();
    let has_extensions = extensions::all(view).next().is_some();
    let mut needs: Vec<Need> = Vec::new();
    if functions.is_empty() && !has_extensions {
        return needs;
    }
    let rights = view.judge.rights();
    bound.visit_part(Part::Query(query), 0, &mut |id, _| {
        let called = match bound.expr(id) {
            Expr::Call(call) => call.proc,
            Expr::Aggregate(call) => call.proc,
            Expr::WindowCall(call) => call.proc,
            Expr::Op(op) | Expr::Distinct(op) | Expr::NullIf(op) | Expr::ArrayOp(op, _) => {
                let operator = super::catalog().operator(op.operator);
                operator.filter(|_| has_extensions).map_or(0, |operator| operator.proc)
            }
            _ => return true,
        };
        if let Some(function) = functions.by_oid(called) {
            let name = function.name.name.as_str();
            needs.push(Need::new(Action::Call, function.class(), function.rights(), name));
            // As in PostgreSQL, the owner of an aggregate calls what it is made of.
            let owner = rights.owner(function.rights());
            let parts = function.aggregate.iter().flat_map(Aggregate::functions);
            for part in parts.filter_map(|oid| functions.by_oid(oid)) {
                let name = part.name.name.as_str();
                let need = Need::new(Action::Call, part.class(), part.rights(), name);
                needs.push(Need { by: Some(owner), ..need });
            }
        } else if extensions::is_member(called) {
            let key = extensions::proc_key(view, called);
            let is_asked = rights.entry(key).is_some() || called == oids::RESET_STATEMENTS;
            if is_asked && let Some((_, proc)) = extensions::of_proc(view, called) {
                needs.push(Need::new(Action::Call, Class::Function, key, &*proc.name));
            }
        }
        true
    });
    needs
}

/// Fails where a function is called that is in a schema which the role may not look in.
///
/// # Errors
/// `42501`
pub fn must_reach(view: &View, bound: &Bound, query: QueryId) -> Result<()> {
    schemas(view, bound, query).iter().try_for_each(|schema| view.must_look_in(schema))
}

/// The schemas of the functions that a query calls, in the order in which it does.
pub fn schemas(view: &View, bound: &Bound, query: QueryId) -> Vec<String> {
    let functions = view.objects.functions();
    let created: Vec<Created> = extensions::all(view).collect();
    let mut all: Vec<String> = Vec::new();
    if functions.is_empty() && created.is_empty() {
        return all;
    }
    bound.visit_part(Part::Query(query), 0, &mut |id, _| {
        let called = match bound.expr(id) {
            Expr::Call(call) => {
                // A conversion is found by its types, and not by the name of its function.
                let from = call.args.first().map_or(0, |arg| bound.ty(arg.1).oid);
                let cast = super::catalog().cast(from, bound.ty(id).oid);
                if cast.is_some_and(|cast| cast.function == call.proc) {
                    return true;
                }
                call.proc
            }
            Expr::Aggregate(call) => call.proc,
            Expr::WindowCall(call) => call.proc,
            _ => return true,
        };
        let made = functions.by_oid(called).map(|function| &function.name.schema);
        let of = || created.iter().find(|of| of.extension.has(called)).map(|of| &of.schema);
        if let Some(schema) = made.or_else(of).filter(|schema| !all.contains(schema)) {
            all.push(schema.clone());
        }
        true
    });
    all
}

/// Whether a query reads an entry whose rows it changes.
pub fn reads(bound: &Bound, query: QueryId, entry: usize) -> bool {
    !columns(bound, query, entry).is_empty()
}

/// Which columns of which relations a query names, and the queries within it: those that it reads and those that it writes.
pub fn columns_named(names: &Names<'_>, bound: &Bound, query: QueryId) -> Vec<(Oid, u32)> {
    let (known, others) = (names.found.known.borrow(), names.found.others.borrow());
    let needs = of_query(bound, query, &known, &others, Some(0));
    let own = needs.iter().filter(|need| need.by == Some(0));
    let mut all: Vec<(Oid, u32)> =
        own.flat_map(|need| need.columns.iter().map(|column| (need.key.oid, *column))).collect();
    drop((known, others));
    for query in bound.query_ids().map(|query| bound.query(query)) {
        let Some(modify) = query.modify.as_deref() else { continue };
        let EntryKind::Relation { oid, .. } = query.entries[modify.entry - 1].kind else {
            continue;
        };
        let set = modify.conflict.iter().flat_map(|conflict| &conflict.set);
        for target in query.targets.iter().chain(set).filter(|target| !target.hidden) {
            all.extend(column_of(names, oid, target.number as i32));
        }
    }
    all
}

/// A column of a relation as rights and dependencies count it: all of them for the whole row.
pub fn column_of(names: &Names<'_>, oid: Oid, column: i32) -> Vec<(Oid, u32)> {
    let known = names.found.known.borrow();
    let Some(schema) = known.schema(oid) else { return Vec::new() };
    let all = schema.columns.iter().enumerate();
    let named = all.filter(|(at, _)| column == 0 || *at as i32 + 1 == column);
    named.map(|(_, column)| (oid, column.id.0 + 1)).collect()
}

/// What locking rows of a relation needs: of a view, what its owner needs for the view's tables, too.
fn locking(oid: Oid, tables: &Known, others: &Others, by: Option<u32>) -> Vec<Need> {
    let update = |need: &Need| Need { action: Action::Update, columns: Vec::new(), ..need.clone() };
    let own = of_relation(oid, &[], tables, others).filter(|need| need.action == Action::Read);
    let own = own.map(|need| Need { by, ..update(&need) });
    let within = others.views.get(&oid).into_iter().flat_map(|view| &view.needs);
    let within = within.filter(|need| need.action == Action::Read).map(update);
    own.into_iter().chain(within).collect()
}

/// Whether rows of an entry are written, so that they are read only where a column is.
fn is_written(bound: &Bound, query: QueryId, entry: usize) -> bool {
    bound.query(query).modify.as_deref().is_some_and(|modify| {
        let excluded = modify.conflict.as_ref().is_some_and(|c| entry + 1 == c.excluded);
        entry + 1 == modify.entry || excluded
    })
}

/// The columns of an entry that a query names, by number; those of the system's are below 0.
fn columns(bound: &Bound, query: QueryId, entry: usize) -> Vec<i32> {
    let width = bound.query(query).entries[entry].types.len() as i32;
    let mut columns = Vec::new();
    bound.visit_query(query, 0, &mut |id, inside| {
        if let Expr::Var { entry: of, column, up } = bound.expr(id)
            && *up == inside
            && *of == entry + 1
        {
            match column {
                0 => columns.extend(1..=width),
                column => columns.push(*column),
            }
        }
        true
    });
    columns.sort_unstable();
    columns.dedup();
    columns
}

/// What reading columns of a relation needs; nothing for what all may read.
fn of_relation(oid: Oid, columns: &[i32], tables: &Known, others: &Others) -> Option<Need> {
    let is_of_system = columns.iter().any(|column| *column < 0);
    let columns = columns.iter().filter_map(|column| u32::try_from(*column).ok());
    if let Some(schema) = tables.schema(oid) {
        // A column that a view does not know is no column of the view's row.
        let numbers = columns.filter_map(|column| schema.columns.get(column as usize - 1));
        // A right on single columns is none on the system's: a row's version tells of all of them.
        let none = is_of_system.then_some(u32::MAX);
        let numbers = numbers.map(|column| column.id.0 + 1).chain(none).collect();
        return Some(ask::of_table(Action::Read, schema, numbers));
    }
    if let Some(view) = others.views.get(&oid) {
        let need = Need::new(Action::Read, Class::View, Key::of(oid), &*view.relation.name);
        return Some(need.columns(columns.collect()));
    }
    if let Some(sequence) = others.sequences.get(&oid) {
        let name = Name::of_engine(sequence).1.name;
        return Some(Need::new(Action::Read, Class::Sequence, Key::of(oid), name));
    }
    let definition = others.system.get(&oid)?;
    let (class, key) = crate::system::with_secrets(definition.schema, definition.name)?;
    Some(Need::new(Action::Read, class, key, definition.name).columns(columns.collect()))
}
