//! How does a statement that changes rows become steps?
//!
//! Its steps give what is written: of INSERT the values of each new row, of UPDATE and DELETE the id of each row that FROM
//! and WHERE find, with what its columns become. Writing is the caller's, who knows the table. What RETURNING and ON
//! CONFLICT calculate is calculated of rows as the caller has them then ([`RowExprs`]).

use std::sync::Arc;

use arrow_array::{ArrayRef, BooleanArray, RecordBatch, RecordBatchOptions};
use datafusion_physical_plan::ExecutionPlan;
use onlap_kernels::Datum;
use onlap_pg::ast::Overriding;
use onlap_pg::bound::{
    ActionKind, Bound, CheckKind, EntryKind, Expr, ExprId, Modify, ModifyKind, Query, QueryId,
    SubKind, Target,
};
use onlap_pg::catalog::oids;
use onlap_pg::{Result, TypeRef};

use crate::build::Rel;
use crate::carried::Carried;
use crate::columns::{column, schema_of};
use crate::compile::{Compiler, Frame, unsupported};
use crate::effects;
use crate::env::{COMMANDS, CTID, ENDED, Env, ROW_ID, TABLE_OID, Tables, VERSION};
use crate::layout::{Layout, PRESENT, Var};
use crate::node::{Node, Rows, arrow};
use crate::physical::Computed;

/// A statement's steps.
pub struct Change {
    /// The last of them. The first column of UPDATE and DELETE is the row's id, a bigint; of a view, they begin with all columns
    /// of its row as it was.
    pub plan: Arc<dyn ExecutionPlan>,
    /// The columns that are written, by number from 1, and their places in the rows of the steps; none for DEFAULT.
    pub written: Vec<(usize, Option<usize>)>,
    /// DEFAULT among rows of VALUES: the row from 0, and the number of the column.
    pub defaults: Vec<(usize, usize)>,
    /// RETURNING.
    pub returning: Option<RowExprs>,
    /// What ON CONFLICT DO UPDATE sets.
    pub update: Option<Update>,
    /// WITH CHECK OPTION of the views that it goes through, and policies.
    pub checks: Vec<Checks>,
    /// What MERGE does; the row's id is NULL where none matches.
    pub actions: Vec<Taken>,
}

/// What is asked of the same rows.
pub struct Checks {
    /// Of which.
    pub kind: CheckKind,
    /// Which of the statement's checks they are.
    pub which: Vec<usize>,
    /// A boolean each.
    pub exprs: RowExprs,
}

/// An action of MERGE.
pub struct Taken {
    /// What it does.
    pub kind: ActionKind,
    /// OVERRIDING.
    pub overriding: Option<Overriding>,
    /// The place of the boolean that says which rows take it. None takes two.
    pub takes: usize,
    /// The columns that are written, as of [`Change::written`]; values are there for the rows that take it.
    pub written: Vec<(usize, Option<usize>)>,
}

/// DO UPDATE. Its expressions are of the row that is there, with all its columns, and then of the one that was to come.
pub struct Update {
    /// The columns that are written, by number from 1, and which of the values; none for DEFAULT.
    pub written: Vec<(usize, Option<usize>)>,
    /// What they become.
    pub values: RowExprs,
    /// WHERE.
    pub filter: Option<RowExprs>,
}

/// Where a column of a row comes from that an expression is calculated of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Source {
    /// The rows of the steps have it, at this place.
    Found(usize),
    /// The table's row has it as it is then, in the column of this number, from 1.
    Row(usize),
    /// Of the row that was to be inserted, the column of this number.
    Excluded(usize),
    /// The OID of the table whose row it is then; the rows of the steps say at this place whose it was.
    Relation(Option<usize>),
    /// The row's version as it is then.
    Version,
    /// The transaction that has ended or locked the row, an xid; 0 if none has.
    Ended,
    /// The number of the transaction's command, a cid.
    Command,
}

/// Expressions of rows that are there.
pub struct RowExprs {
    exprs: Vec<Computed>,
    /// Whether they are calculated row by row.
    by_row: bool,
    sources: Vec<Source>,
    /// Where each source's column lies as the expressions know it.
    places: Vec<usize>,
}

impl RowExprs {
    /// The columns that a row needs to have.
    pub fn sources(&self) -> &[Source] {
        &self.sources
    }

    /// The values for rows, of which the columns are given in the order of [`RowExprs::sources`].
    ///
    /// # Errors
    /// The first error that a row meets.
    pub fn of(&self, given: &[ArrayRef], count: usize) -> Result<RecordBatch> {
        let none: ArrayRef = Arc::new(BooleanArray::new_null(count));
        let width = self.places.iter().max().map_or(1, |most| most + 1);
        let mut columns = vec![none; width];
        for (column, at) in given.iter().zip(&self.places) {
            columns[*at] = Arc::clone(column);
        }
        let rows = Rows { columns: &columns, count };
        let made = match self.by_row && count > 1 {
            true => effects::row_by_row(&self.exprs.iter().collect::<Vec<_>>(), &rows)?,
            false => self.exprs.iter().map(|expr| expr.of(&rows)).collect::<Result<_>>()?,
        };
        let types: Vec<_> = self.exprs.iter().map(|expr| expr.ty.clone()).collect();
        let options = RecordBatchOptions::new().with_row_count(Some(count));
        RecordBatch::try_new_with_options(schema_of(&types), made, &options).map_err(arrow)
    }
}

/// A statement, or a part of it that changes rows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Whole {
    /// The statement.
    pub statement: QueryId,
    /// The statement itself, or one of its WITH.
    pub part: QueryId,
    /// Whether functions may change rows as they are written, or are called in the place of that, so that nothing of a row is known before.
    pub fired: bool,
    /// Whether a row is written before the values of the next one are calculated: functions may ask for it.
    pub one_by_one: bool,
}

/// The steps of INSERT, UPDATE or DELETE; `carried` is what the parts of the statement share, where its WITH changes rows.
///
/// # Errors
/// `0A000` for what has no kernel or no step; errors of constants.
///
/// # Panics
/// The part changes nothing.
pub fn compile_change(
    bound: &Bound,
    of: Whole,
    tables: &dyn Tables,
    env: &Arc<Env>,
    carried: Option<&Carried>,
) -> Result<Change> {
    let frames = vec![Frame::new(of.statement, None)];
    env.sets.get_or_init(|| effects::may_set(bound, &env.catalog));
    let mut compiler = Compiler { bound, env: Arc::clone(env), tables, carried, frames };
    if of.part != of.statement {
        compiler.frames.push(Frame::new(of.part, None));
    }
    compiler.frame().fired = of.fired;
    compiler.frame().one_by_one = of.one_by_one;
    compiler.change(of.part)
}

impl Compiler<'_> {
    fn change(&mut self, id: QueryId) -> Result<Change> {
        let bound = self.bound;
        let query = bound.query(id);
        let modify = query.modify.as_deref().expect("the statement changes rows");
        self.with_queries(id)?;
        let mut plan = self.from(id)?;
        if query.has_sets {
            plan = self.sets_in_targets(id, plan)?;
        }
        if self.frame().one_by_one {
            // A row is written before the values of the next one are calculated.
            plan = crate::filter::singly(plan);
        }
        let (plan, written) = self.written(&query.targets, plan)?;
        let (plan, actions) = self.actions(modify, plan)?;
        let mut kept = Vec::new();
        if modify.kind != ModifyKind::Insert {
            let columns = match self.changes_view(modify.entry)? {
                true => (1..=query.entries[modify.entry - 1].types.len() as i32).collect(),
                false => vec![ROW_ID],
            };
            let vars = &self.frame().layout.vars;
            kept.extend(columns.into_iter().map(|column| vars[&(modify.entry, column)]));
        }
        let mut keep = |at: usize| {
            kept.iter().position(|known| *known == at).unwrap_or_else(|| {
                kept.push(at);
                kept.len() - 1
            })
        };
        let placed = written.iter().map(|(number, at)| (*number, at.map(&mut keep))).collect();
        let actions = actions.into_iter().map(|action| Taken {
            takes: keep(action.takes),
            written: action.written.iter().map(|(n, at)| (*n, at.map(&mut keep))).collect(),
            ..action
        });
        let actions = actions.collect();
        if modify.kind == ModifyKind::Insert {
            self.frame().layout = self.written_layout(query, modify);
        }
        let returning = match (modify.returning.is_empty(), modify.kind) {
            (true, _) => None,
            (_, ModifyKind::Insert) => {
                Some(self.row_exprs(&modify.returning, modify, &mut |_| None)?)
            }
            _ => Some(self.row_exprs(&modify.returning, modify, &mut |at| Some(keep(at)))?),
        };
        let checks = self.checks(query, modify, &mut keep)?;
        // Steps without a column have no rows.
        if kept.is_empty() {
            kept.push(0);
        }
        let plan = self.project(plan, kept.into_iter().map(column).collect())?;
        let update = self.do_update(query, modify)?;
        let plan = self.sealed(Rel { plan, types: Vec::new() }).plan;
        let defaults = defaults_of(bound, query);
        Ok(Change { plan, written: placed, defaults, returning, update, checks, actions })
    }

    /// What is asked of rows that are written, by the rows of which it is asked.
    fn checks(
        &mut self,
        query: &Query,
        modify: &Modify,
        keep: &mut dyn FnMut(usize) -> usize,
    ) -> Result<Vec<Checks>> {
        let bool = TypeRef::new(oids::BOOL);
        let mut made: Vec<Checks> = Vec::new();
        for check in &modify.checks {
            let kind = check.kind;
            if made.iter().any(|known| known.kind == kind) {
                continue;
            }
            let own = modify.checks.iter().enumerate().filter(|(_, check)| check.kind == kind);
            let (which, values): (Vec<usize>, Vec<ExprId>) =
                own.map(|(at, check)| (at, check.value)).unzip();
            // MERGE has no row as it is written before it takes an action.
            let is_whole = modify.kind == ModifyKind::Merge
                && matches!(kind, CheckKind::Insert | CheckKind::Update);
            let before = is_whole.then(|| {
                let layout = self.written_layout(query, modify);
                std::mem::replace(&mut self.frame().layout, layout)
            });
            let nodes = values.into_iter().map(|value| Ok((self.node(value)?, bool)));
            let nodes = nodes.collect::<Result<Vec<_>>>();
            let exprs =
                nodes.and_then(|nodes| match is_whole || modify.kind == ModifyKind::Insert {
                    true => self.exprs_of(nodes, modify, &mut |_| None),
                    false => self.exprs_of(nodes, modify, &mut |at| Some(keep(at))),
                });
            if let Some(layout) = before {
                self.frame().layout = layout;
            }
            made.push(Checks { kind, which, exprs: exprs? });
        }
        Ok(made)
    }

    /// Calculates what is written, behind the columns that there are.
    fn written(
        &mut self,
        targets: &[Target],
        plan: Arc<dyn ExecutionPlan>,
    ) -> Result<(Arc<dyn ExecutionPlan>, Vec<(usize, Option<usize>)>)> {
        let (numbers, nodes) = self.values_of(targets)?;
        let (plan, at) = self.extend(plan, nodes)?;
        let place = |(number, value): (usize, Option<usize>)| (number, value.map(|n| at[n]));
        Ok((plan, numbers.into_iter().map(place).collect()))
    }

    /// Calculates which action of MERGE each row takes, and the values that it writes then.
    fn actions(
        &mut self,
        modify: &Modify,
        mut plan: Arc<dyn ExecutionPlan>,
    ) -> Result<(Arc<dyn ExecutionPlan>, Vec<Taken>)> {
        let bool = TypeRef::new(oids::BOOL);
        let (mut made, mut before): (Vec<Taken>, [Vec<usize>; 2]) =
            (Vec::new(), Default::default());
        for action in &modify.actions {
            let row = self.frame().layout.vars[&(modify.entry, ROW_ID)];
            let before = &mut before[usize::from(action.matched)];
            let found = Node::NullTest(Box::new(Node::Column(row)), action.matched);
            let mut all = vec![found.into_arm()];
            let free = |at: &usize| Node::Not(Box::new(Node::Column(*at))).into_arm();
            all.extend(before.iter().map(free));
            if let Some(condition) = action.condition {
                let mut conditions = Vec::new();
                self.conditions_in(condition, &mut conditions);
                all.push(self.conjunction(&conditions)?.into_arm());
            }
            let takes = Node::All(all);
            let (more, at) = self.extend(plan, vec![(takes, bool)])?;
            let takes = at[0];
            before.push(takes);
            let (numbers, nodes) = self.values_of(&action.set)?;
            let mut values = Vec::with_capacity(nodes.len());
            for (node, ty) in nodes {
                let none = self.constant(ty.oid, &Datum::Null)?.into_arm();
                let value = vec![(Node::Column(takes).into_arm(), node.into_arm())];
                values.push((Node::Case(value, Box::new(none), self.arrow(ty.oid)?), ty));
            }
            let (more, at) = self.extend(more, values)?;
            plan = more;
            let place = |(number, value): (usize, Option<usize>)| (number, value.map(|n| at[n]));
            made.push(Taken {
                kind: action.kind,
                overriding: action.overriding,
                takes,
                written: numbers.into_iter().map(place).collect(),
            });
        }
        Ok((plan, made))
    }

    /// The numbers of targets with which of the values they get, and the values.
    #[expect(clippy::type_complexity, reason = "two lists of pairs")]
    fn values_of(
        &mut self,
        targets: &[Target],
    ) -> Result<(Vec<(usize, Option<usize>)>, Vec<(Node, TypeRef)>)> {
        let bound = self.bound;
        let of_rows = targets.iter().filter(|target| target.hidden).map(|target| target.value);
        self.frame().row_queries = of_rows.collect();
        let (mut numbers, mut nodes) = (Vec::new(), Vec::new());
        let mut written: Vec<&Target> = targets.iter().filter(|target| !target.hidden).collect();
        // PostgreSQL calculates them in the order of the table's columns.
        written.sort_by_key(|target| target.number);
        for target in written {
            if matches!(bound.expr(target.value), Expr::Default) {
                numbers.push((target.number, None));
                continue;
            }
            numbers.push((target.number, Some(nodes.len())));
            nodes.push((self.node(target.value)?, bound.ty(target.value)));
        }
        Ok((numbers, nodes))
    }

    /// The columns of a row that was written, with those of the system.
    fn written_layout(&self, query: &Query, modify: &Modify) -> Layout {
        let mut layout = self.rows_layout(query, &[modify.entry]);
        add_system(&mut layout, modify.entry);
        layout
    }

    /// The columns of whole rows of entries, one entry's after the other's.
    fn rows_layout(&self, query: &Query, entries: &[usize]) -> Layout {
        let mut layout = Layout::default();
        for entry in entries {
            for (n, ty) in query.entries[entry - 1].types.iter().enumerate() {
                layout.add_var((*entry, n as i32 + 1), *ty);
            }
        }
        layout
    }

    /// Expressions of rows as they are written. `found` gives the place, in the rows of the steps, of a column that the layout
    /// has, unless rows of the steps have none.
    fn row_exprs(
        &mut self,
        targets: &[Target],
        modify: &Modify,
        found: &mut dyn FnMut(usize) -> Option<usize>,
    ) -> Result<RowExprs> {
        let bound = self.bound;
        let seen = targets.iter().filter(|target| !target.hidden).map(|target| target.value);
        let nodes = seen.map(|id| Ok((self.node(id)?, bound.ty(id)))).collect::<Result<_>>()?;
        self.exprs_of(nodes, modify, found)
    }

    fn exprs_of(
        &mut self,
        nodes: Vec<(Node, TypeRef)>,
        modify: &Modify,
        found: &mut dyn FnMut(usize) -> Option<usize>,
    ) -> Result<RowExprs> {
        let mut places: Vec<usize> = nodes.iter().flat_map(|(node, _)| node.columns()).collect();
        places.sort_unstable();
        places.dedup();
        let vars = &self.frame().layout.vars;
        let var_at = |at: usize| vars.iter().find(|(_, known)| **known == at).map(|(var, _)| *var);
        let vars: Vec<(usize, Option<Var>)> = places.iter().map(|at| (*at, var_at(*at))).collect();
        let (mut sources, mut known) = (Vec::new(), Vec::new());
        for (at, var) in vars {
            // What is no column is made within the expression.
            let Some((entry, number)) = var else { continue };
            if number < 0 && number != ROW_ID && entry == modify.entry {
                sources.push(of_system(number, modify.kind, found(at))?);
                known.push(at);
                continue;
            }
            let written = entry == modify.entry && number > 0;
            sources.push(match (written, found(at)) {
                (true, Some(_))
                    if matches!(modify.kind, ModifyKind::Delete | ModifyKind::Merge) =>
                {
                    Source::Found(found(at).expect("it was found"))
                }
                (true, None) => Source::Row(number as usize),
                (true, Some(place)) => self.updated(number as usize, place),
                (false, Some(place)) => Source::Found(place),
                (false, None) => Source::Excluded(number as usize),
            });
            known.push(at);
        }
        let mut exprs = Vec::with_capacity(nodes.len());
        for (node, ty) in nodes {
            let (node, env) = (Arc::new(node), Arc::clone(&self.env));
            exprs.push(Computed { node, env, ty: self.arrow(ty.oid)? });
        }
        let by_row = effects::by_row(exprs.iter().map(|expr| Some(&*expr.node)));
        Ok(RowExprs { by_row: by_row.contains(&true), exprs, sources, places: known })
    }

    /// A column of a row that UPDATE changes: what is written, if it is.
    fn updated(&self, number: usize, place: usize) -> Source {
        let frame = self.frames.last().expect("a query is being made");
        let query = self.bound.query(frame.query);
        let sets = |target: &Target| !target.hidden && target.number == number;
        // What says that there is a row is no column.
        let is_column = number as i32 != PRESENT;
        match is_column && frame.fired || query.targets.iter().any(sets) {
            true => Source::Row(number),
            false => Source::Found(place),
        }
    }

    fn do_update(&mut self, query: &Query, modify: &Modify) -> Result<Option<Update>> {
        let Some(conflict) = modify.conflict.as_ref().filter(|conflict| conflict.update) else {
            return Ok(None);
        };
        let mut layout = self.rows_layout(query, &[modify.entry, conflict.excluded]);
        add_system(&mut layout, modify.entry);
        self.frame().layout = layout;
        let (written, nodes) = self.values_of(&conflict.set)?;
        let values = self.exprs_of(nodes, modify, &mut |_| None)?;
        let filter = match conflict.filter {
            None => None,
            Some(id) => {
                let mut conditions = Vec::new();
                self.conditions_in(id, &mut conditions);
                let node = self.conjunction(&conditions)?;
                let node = vec![(node, TypeRef::new(oids::BOOL))];
                Some(self.exprs_of(node, modify, &mut |_| None)?)
            }
        };
        Ok(Some(Update { written, values, filter }))
    }

    /// A value of the row that a query gives to several columns.
    pub fn row_column(&mut self, number: usize, at: usize, ty: TypeRef) -> Result<Node> {
        let query: Option<ExprId> = self.frame().row_queries.get(number - 1).copied();
        let sub = match query.map(|id| self.bound.expr(id)) {
            Some(Expr::SubQuery(sub)) if matches!(sub.kind, SubKind::Several(_)) => sub,
            _ => return Err(unsupported("this assignment of several columns")),
        };
        self.asked_query(sub.query, crate::apply::Ask::Column(at - 1), ty)
    }
}

/// Adds the system's columns of a row that is not one of the steps'.
fn add_system(layout: &mut Layout, entry: usize) {
    let columns = [
        (TABLE_OID, oids::OID),
        (CTID, oids::TID),
        (VERSION, oids::XID),
        (ENDED, oids::XID),
        (COMMANDS[0], oids::CID),
        (COMMANDS[1], oids::CID),
    ];
    for (number, ty) in columns {
        layout.add_var((entry, number), TypeRef::new(ty));
    }
}

/// Where a column of the system's comes from of a row that is changed; `found` is its place in the rows of the steps, if these
/// have the row as it was.
fn of_system(number: i32, kind: ModifyKind, found: Option<usize>) -> Result<Source> {
    Ok(match (number, found) {
        (TABLE_OID, _) => Source::Relation(found),
        (ENDED, Some(_)) if kind == ModifyKind::Delete => Source::Ended,
        (ENDED, None) => Source::Ended,
        (VERSION, Some(place)) if matches!(kind, ModifyKind::Delete | ModifyKind::Merge) => {
            Source::Found(place)
        }
        (VERSION, _) => Source::Version,
        (CTID, Some(place)) if matches!(kind, ModifyKind::Delete | ModifyKind::Merge) => {
            Source::Found(place)
        }
        (CTID, _) => return Err(unsupported("ctid of a row that is written")),
        (_, Some(place)) => Source::Found(place),
        (_, None) => Source::Command,
    })
}

/// DEFAULT among the rows of VALUES.
fn defaults_of(bound: &Bound, query: &Query) -> Vec<(usize, usize)> {
    let rows = query.entries.iter().find_map(|entry| match &entry.kind {
        EntryKind::Values(rows) if entry.in_from => Some(rows),
        _ => None,
    });
    let is_insert = query.modify.as_ref().is_some_and(|m| m.kind == ModifyKind::Insert);
    let mut found = Vec::new();
    for (n, row) in rows.filter(|_| is_insert).into_iter().flatten().enumerate() {
        let defaults = row.iter().zip(query.targets.iter().filter(|target| !target.hidden));
        let defaults = defaults.filter(|(id, _)| matches!(bound.expr(**id), Expr::Default));
        found.extend(defaults.map(|(_, target)| (n, target.number)));
    }
    found
}
