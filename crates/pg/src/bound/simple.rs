//! Through which views can rows be changed, and what does a statement mean that does so?
//!
//! A view over one table or view whose columns are columns of it: PostgreSQL's views that are updatable by themselves. The
//! statement becomes one about what the view reads ([`Bound::change_through`]): the view's columns become what they stand
//! for, its condition counts for the rows that are found, and WITH CHECK OPTION for those that are written.
//!
//! Knows nothing of who may do so. Pure.

use super::import::Import;
use super::{
    Bound, Check, CheckKind, EntryKind, Expr, ExprId, JoinTree, ModifyKind, Query, QueryId, Target,
};
use crate::ast::Name;
use crate::catalog::oids;
use crate::{Error, Result, TypeRef};

/// A view through which rows can be changed.
#[derive(Clone, Debug)]
pub struct Simple<'a> {
    bound: &'a Bound,
    query: &'a Query,
    /// The entry of what it reads.
    entry: usize,
    /// What its columns are.
    columns: Vec<ExprId>,
}

/// Expressions that are put in the place of a view's columns, at most: each view may double what the one above it has.
const MOST_PUT: usize = 10_000;

/// How a view is seen by the statement that goes through it.
#[derive(Clone, Debug)]
pub struct Seen<'a> {
    /// Its name.
    pub name: &'a Name,
    /// The names of its columns.
    pub columns: &'a [Name],
    /// The type of its rows.
    pub row: TypeRef,
    /// Whether rows that are written must be such that it shows them.
    pub checked: bool,
}

impl<'a> Simple<'a> {
    /// A view by its query.
    ///
    /// # Errors
    /// Why none changes rows through it, in PostgreSQL's words.
    pub fn of(bound: &'a Bound, query: QueryId) -> std::result::Result<Simple<'a>, &'static str> {
        let (query, columns) = unwrapped(bound, query);
        if let Some(why) = has_more(query) {
            return Err(why);
        }
        let none =
            "Views that do not select from a single table or view are not automatically updatable.";
        let [JoinTree::Entry(entry)] = query.from[..] else { return Err(none) };
        match &query.entries[entry - 1].kind {
            EntryKind::Relation { sample: Some(_), .. } => {
                return Err("Views containing TABLESAMPLE are not automatically updatable.");
            }
            EntryKind::Relation { .. } => {}
            _ => return Err(none),
        }
        Ok(Simple { bound, query, entry, columns })
    }

    /// How many expressions one of its columns is of; 0 is its whole row.
    fn size(&self, number: usize) -> usize {
        let mut size = 0;
        let ids = match number {
            0 => &self.columns[..],
            number => &self.columns[number - 1..number],
        };
        for id in ids {
            self.bound.visit(*id, 0, &mut |_, _| {
                size += 1;
                true
            });
        }
        size
    }

    /// Whether any of its columns can be written to, as all but DELETE need.
    ///
    /// # Errors
    /// None can, in PostgreSQL's words.
    pub fn has_columns(&self) -> std::result::Result<(), &'static str> {
        match (1..=self.columns.len()).any(|number| self.column(number).is_ok()) {
            true => Ok(()),
            false => Err("Views that have no updatable columns are not automatically updatable."),
        }
    }

    /// Its condition.
    pub fn filter(&self) -> Option<ExprId> {
        self.query.filter
    }

    /// The relation that it reads.
    pub fn reads(&self) -> &EntryKind {
        &self.query.entries[self.entry - 1].kind
    }

    /// The number of the column that one of its columns is.
    ///
    /// # Errors
    /// Why it cannot be written to.
    pub fn column(&self, number: usize) -> std::result::Result<usize, &'static str> {
        match self.bound.expr(self.columns[number - 1]) {
            Expr::Var { column, up: 0, .. } if *column > 0 => Ok(*column as usize),
            Expr::Var { column: 0, up: 0, .. } => {
                Err("View columns that return whole-row references are not updatable.")
            }
            Expr::Var { up: 0, .. } => {
                Err("View columns that refer to system columns are not updatable.")
            }
            _ => Err("View columns that are not columns of their base relation are not updatable."),
        }
    }
}

/// The query that a view's author wrote, with its columns. A view whose columns were named is kept as a query around it.
fn unwrapped(bound: &Bound, id: QueryId) -> (&Query, Vec<ExprId>) {
    let query = bound.query(id);
    let columns = |query: &Query| -> Vec<ExprId> {
        query.targets.iter().filter(|target| !target.hidden).map(|target| target.value).collect()
    };
    let own = columns(query);
    let [JoinTree::Entry(1)] = query.from[..] else { return (query, own) };
    let EntryKind::Query(inner) = query.entries[0].kind else { return (query, own) };
    let renamed = query.entries[0].alias.as_ref().is_some_and(|(name, names)| {
        &**name == "v" && names.iter().enumerate().all(|(n, name)| **name == *format!("c{n}"))
    });
    let (within, inner) = (columns(bound.query(inner)), bound.query(inner));
    let in_order = |(n, id): (usize, &ExprId)| matches!(bound.expr(*id), Expr::Var { entry: 1, column, up: 0 } if *column as usize == n + 1);
    let plain = has_more(query).is_none() && query.filter.is_none();
    match renamed && plain && own.len() == within.len() && own.iter().enumerate().all(in_order) {
        true => (inner, within),
        false => (query, own),
    }
}

/// What a view has that keeps rows from being changed through it.
fn has_more(query: &Query) -> Option<&'static str> {
    Some(match () {
        () if !query.distinct.is_empty() => {
            "Views containing DISTINCT are not automatically updatable."
        }
        () if !query.groups.is_empty() || !query.sets.is_empty() => {
            "Views containing GROUP BY are not automatically updatable."
        }
        () if query.having.is_some() => "Views containing HAVING are not automatically updatable.",
        () if query.set.is_some() => {
            "Views containing UNION, INTERSECT, or EXCEPT are not automatically updatable."
        }
        () if !query.ctes.is_empty() => "Views containing WITH are not automatically updatable.",
        () if query.limit.is_some() || query.offset.is_some() => {
            "Views containing LIMIT or OFFSET are not automatically updatable."
        }
        () if query.has_aggregates => {
            "Views that return aggregate functions are not automatically updatable."
        }
        () if query.has_windows => {
            "Views that return window functions are not automatically updatable."
        }
        () if query.has_sets => {
            "Views that return set-returning functions are not automatically updatable."
        }
        () => return None,
    })
}

impl Bound {
    /// Makes a statement that changes rows of a view one that changes rows of what the view reads.
    ///
    /// # Errors
    /// `0A000`: a column that is written is none of it; `42601`: two of them are the same.
    ///
    /// # Panics
    /// The query changes no rows.
    pub fn change_through(
        &mut self,
        part: QueryId,
        view: &Simple<'_>,
        seen: &Seen<'_>,
    ) -> Result<()> {
        let mut modify = self.query_mut(part).modify.take().expect("the query changes rows");
        let mut targets = std::mem::take(&mut self.query_mut(part).targets);
        let verb = match modify.kind {
            ModifyKind::Insert => "insert into",
            _ => "update",
        };
        let made = write_through(&mut targets, view, seen, verb);
        let made = made.and_then(|()| match &mut modify.conflict {
            Some(conflict) => write_through(&mut conflict.set, view, seen, "update"),
            None => Ok(()),
        });
        let (entry, excluded) =
            (modify.entry, modify.conflict.as_ref().map_or(0, |conflict| conflict.excluded));
        let kind = modify.kind;
        let query = self.query_mut(part);
        (query.targets, query.modify) = (targets, Some(modify));
        made?;
        self.replace_columns(part, entry, view, seen)?;
        if excluded > 0 {
            self.replace_columns(part, excluded, view, seen)?;
        }
        self.take_condition(part, entry, kind, view, seen);
        for of in [entry, excluded] {
            self.take_entry(part, of, view);
        }
        Ok(())
    }

    /// Puts what the columns of a view stand for in the place of these columns.
    ///
    /// # Errors
    /// `54001`: views within views make much of it.
    fn replace_columns(
        &mut self,
        part: QueryId,
        entry: usize,
        view: &Simple<'_>,
        seen: &Seen<'_>,
    ) -> Result<()> {
        let mut found = Vec::new();
        self.visit_query(part, 0, &mut |id, inside| {
            if let Expr::Var { entry: of, column, up } = self.expr(id)
                && *up == inside
                && *of == entry
                && *column >= 0
            {
                found.push((id, *column as usize, inside));
            }
            true
        });
        let mut sizes: Vec<Option<usize>> = vec![None; view.columns.len() + 1];
        let mut all = 0_usize;
        for (_, column, _) in &found {
            let size = *sizes[*column].get_or_insert_with(|| view.size(*column));
            all = all.saturating_add(size);
        }
        if all > MOST_PUT {
            let text = "columns of views stand for too many expressions";
            return Err(Error::new("54001", text));
        }
        for (id, column, up) in found {
            let made = match column {
                0 => {
                    let all = view.columns.clone().into_iter();
                    let mut import = Import::new(view.bound, self, (view.entry, entry), up);
                    let all = all.map(|column| import.expr(column, 0)).collect();
                    self.set_type(id, seen.row);
                    Expr::Row(all, seen.columns.to_vec())
                }
                number => {
                    let mut import = Import::new(view.bound, self, (view.entry, entry), up);
                    let made = import.expr(view.columns[number - 1], 0);
                    // What it compares by comes with it.
                    self.note_like(made, id);
                    self.expr(made).clone()
                }
            };
            self.set_expr(id, made);
        }
        Ok(())
    }

    /// The view's condition: which rows are found, and which may be written.
    fn take_condition(
        &mut self,
        part: QueryId,
        entry: usize,
        kind: ModifyKind,
        view: &Simple<'_>,
        seen: &Seen<'_>,
    ) {
        let Some(filter) = view.query.filter else { return };
        let own = |bound: &mut Bound| {
            Import::new(view.bound, bound, (view.entry, entry), 0).expr(filter, 0)
        };
        if kind != ModifyKind::Insert {
            let more = own(self);
            let filter = match self.query(part).filter {
                None => more,
                Some(before) => {
                    self.add(Expr::And(vec![more, before]), TypeRef::new(oids::BOOL), None)
                }
            };
            self.query_mut(part).filter = Some(filter);
        }
        if seen.checked && kind != ModifyKind::Delete {
            let value = own(self);
            let (kind, relation) = (CheckKind::View, seen.name.clone());
            let check = Check { kind, relation, policy: None, value };
            // What the innermost view asks is asked first.
            self.query_mut(part).modify.as_mut().expect("it was put back").checks.insert(0, check);
        }
        self.query_mut(part).has_subqueries |= view.query.has_subqueries;
    }

    fn take_entry(&mut self, part: QueryId, entry: usize, view: &Simple<'_>) {
        let Some(at) = entry.checked_sub(1) else { return };
        let of = &view.query.entries[view.entry - 1];
        let own = &mut self.query_mut(part).entries[at];
        let excluded = matches!(own.kind, EntryKind::Relation { kind: b'c', .. });
        own.kind = of.kind.clone();
        if let (true, EntryKind::Relation { kind, .. }) = (excluded, &mut own.kind) {
            *kind = b'c';
        }
        (own.names, own.types) = (of.names.clone(), of.types.clone());
    }
}

/// The columns that are written become those of what the view reads.
fn write_through(
    targets: &mut [Target],
    view: &Simple<'_>,
    seen: &Seen<'_>,
    verb: &str,
) -> Result<()> {
    for at in 0..targets.len() {
        if targets[at].hidden {
            continue;
        }
        let number = targets[at].number;
        let name = seen.columns.get(number - 1).map_or("", |name| name);
        let column = view.column(number).map_err(|why| {
            let text = format!("cannot {verb} column \"{name}\" of view \"{}\"", seen.name);
            Error::new("0A000", text).detail(why)
        })?;
        targets[at].number = column;
        if targets[..at].iter().any(|other| !other.hidden && other.number == column) {
            let name = match view.reads() {
                EntryKind::Relation { own, .. } => own[column - 1].clone(),
                _ => name.into(),
            };
            let text = format!("multiple assignments to same column \"{name}\"");
            return Err(Error::new("42601", text));
        }
    }
    Ok(())
}

impl ModifyKind {
    /// How messages call it, done to a view; twice, and as the name of an event.
    pub fn words(self) -> (&'static str, &'static str, &'static str) {
        match self {
            ModifyKind::Insert => ("insert into", "inserting into", "INSERT"),
            ModifyKind::Update => ("update", "updating", "UPDATE"),
            ModifyKind::Delete => ("delete from", "deleting from", "DELETE"),
            ModifyKind::Merge => ("merge into", "merging into", "MERGE"),
        }
    }
}
