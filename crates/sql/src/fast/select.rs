//! SELECT of columns of one table.
//!
//! Rows come from an index range in its order where that is the order asked for, and are sorted
//! otherwise. With FOR UPDATE they are locked first (`locking`).

use std::cmp::Ordering;
use std::sync::Arc;

use onlap::{LockWait, Row, RowBatch, RowLock, Rows, Scan, Value, convert};
use onlap_base::stop;
use onlap_pg::ast::{self, Expr, ExprId, Lock, LockStrength, Sort, SortOrder};

use super::conditions::{Conditions, Literal, Operand, Resolved, Rest};
use super::{SelectParts, Source, locking};
use crate::catalog::oids;
use crate::encoding::Form;
use crate::error::{Result, SqlError};
use crate::plan::access::{self, Bound, Choice};
use crate::rights::{Action, Need};
use crate::scope::Scope;
use crate::session::Parameter;
use crate::session::answer::{self, Answer, AnswerColumn, Chunk, Ready, RowsAnswer};
use crate::types::{PgType, oid};
use crate::view::View;

/// A bound SELECT.
#[derive(Debug)]
pub struct Select {
    /// The table.
    pub source: Source,
    /// WHERE.
    pub conditions: Conditions,
    /// Columns of the answer.
    pub columns: Arc<[AnswerColumn]>,
    /// What it does.
    pub needs: Vec<Need>,
    /// Types of parameters by number.
    pub parameters: Vec<(usize, PgType)>,
    /// Positions in the table of the answer's columns.
    pub(super) output: Vec<usize>,
    distinct: bool,
    pub(super) order: Vec<Order>,
    pub(super) limit: Option<Operand>,
    pub(super) offset: Option<Operand>,
    pub(super) lock: Option<(RowLock, LockWait)>,
}

/// A column of ORDER BY.
#[derive(Clone, Copy, Debug)]
pub(super) struct Order {
    pub(super) column: usize,
    pub(super) descending: bool,
}

/// A column of an answer that is one of a table.
pub fn answer_column(source: &Source, at: usize, name: Option<&str>) -> AnswerColumn {
    let column = &source.schema.columns[at];
    let ty = source.types[at];
    AnswerColumn {
        name: name.unwrap_or(&column.name).to_string(),
        ty: ty.pg,
        sent: ty.base,
        origin: (oids::of_table(source.schema.id), column.id.0 as i16 + 1),
        form: Form::of(ty.base.oid),
    }
}

/// Binds a SELECT; `None` for one that the planner is to do.
pub(super) fn bind(view: &View, parts: &SelectParts<'_>) -> Option<Select> {
    let source = Source::of(view, parts.from)?;
    let oid = oids::of_table(source.schema.id);
    if !parts.locks.is_empty() && view.judge.rights().materialized(oid).is_some() {
        return None;
    }
    let (mut output, mut columns) = (Vec::new(), Vec::new());
    for target in parts.targets {
        if matches!(parts.tree.expr(target.value), Expr::Star(of) if of.is_empty()) {
            for at in 0..source.schema.columns.len() {
                output.push(at);
                columns.push(answer_column(&source, at, None));
            }
            continue;
        }
        let at = source.column(parts.tree, target.value)?;
        output.push(at);
        columns.push(answer_column(&source, at, target.name.as_deref()));
    }
    if !output.iter().all(|at| source.types[*at].shows_natively()) {
        return None;
    }
    let conditions = Conditions::of(&source, parts.tree, parts.filter)?;
    let order = order_of(&source, parts, &columns, &output)?;
    let distinct = parts.distinct;
    let compared =
        order.iter().map(|o| o.column).chain(output.iter().copied().filter(|_| distinct));
    for at in compared {
        let ty = source.types[at];
        if !ty.is_own() && !ty.compares_natively() {
            return None;
        }
    }
    if distinct && !order.iter().all(|o| output.contains(&o.column)) {
        return None;
    }
    let (limit, offset) = (count_of(parts, parts.limit)?, count_of(parts, parts.offset)?);
    let lock = lock_of(parts.locks)?;
    if lock.is_some() && distinct {
        return None;
    }
    let mut parameters = conditions.parameters.clone();
    for operand in [&limit, &offset].into_iter().flatten() {
        if let Operand::Parameter(n) = operand {
            parameters.push((*n, PgType::new(oid::INT8)));
        }
    }
    let read = output.iter().copied().chain(order.iter().map(|o| o.column));
    let mut needs = vec![source.need(Action::Read, read.chain(conditions.columns()))];
    if lock.is_some() {
        needs.push(source.need(Action::Update, []));
    }
    Some(Select {
        needs,
        source,
        conditions,
        columns: columns.into(),
        parameters,
        output,
        distinct,
        order,
        limit,
        offset,
        lock,
    })
}

fn order_of(
    source: &Source,
    parts: &SelectParts<'_>,
    columns: &[AnswerColumn],
    output: &[usize],
) -> Option<Vec<Order>> {
    let item = |Sort { value, order, nulls_first }: &Sort| {
        let descending = match order {
            SortOrder::Default | SortOrder::Ascending => false,
            SortOrder::Descending => true,
            SortOrder::Using(..) => return None,
        };
        // PostgreSQL's default: NULL is the largest.
        if nulls_first.is_some_and(|first| first != descending) {
            return None;
        }
        let column = ordered_by(source, parts.tree, *value, columns, output)?;
        Some(Order { column, descending })
    };
    parts.order.iter().map(item).collect()
}

/// The column that an item of ORDER BY means: a name is a column of the answer first, a number the position of one.
fn ordered_by(
    source: &Source,
    tree: &ast::Tree,
    value: ExprId,
    columns: &[AnswerColumn],
    output: &[usize],
) -> Option<usize> {
    match tree.expr(value) {
        Expr::Literal(ast::Literal::Int(n)) => {
            output.get(usize::try_from(*n).ok()?.checked_sub(1)?).copied()
        }
        Expr::Column(path) if let [name] = &path[..] => {
            let named = columns.iter().zip(output).filter(|(column, _)| *column.name == **name);
            let mut named = named.map(|(_, at)| *at);
            match named.next() {
                // Other columns under one name are an error.
                Some(first) => named.all(|at| at == first).then_some(first),
                None => source.column(tree, value),
            }
        }
        _ => source.column(tree, value),
    }
}

/// What LIMIT or OFFSET says: all where it says NULL. The first `None`: it is the planner's.
fn count_of(parts: &SelectParts<'_>, value: Option<ExprId>) -> Option<Option<Operand>> {
    let Some(value) = value else { return Some(None) };
    let operand = Operand::of(parts.tree, value)?;
    Some(Some(operand).filter(|operand| !matches!(operand, Operand::Literal(Literal::Null))))
}

fn lock_of(locks: &[Lock]) -> Option<Option<(RowLock, LockWait)>> {
    match locks {
        [] => Some(None),
        [Lock { strength, of, wait }] if of.is_empty() => {
            let wait = match wait {
                ast::LockWait::Block => LockWait::Block,
                ast::LockWait::Error => LockWait::NoWait,
                ast::LockWait::Skip => LockWait::SkipLocked,
            };
            let mode = match strength {
                LockStrength::Update => RowLock::Update,
                LockStrength::NoKeyUpdate => RowLock::NoKeyUpdate,
                LockStrength::Share => RowLock::Share,
                LockStrength::KeyShare => RowLock::KeyShare,
            };
            Some(Some((mode, wait)))
        }
        _ => None,
    }
}

/// Rows that are sorted here take no more: what a session may hold beside the memory of queries.
pub(super) const SORT_BYTES: usize = 4 << 20;

/// Bytes that a row takes, with what its values have outside of themselves.
pub fn bytes_of(row: &Row) -> usize {
    let beside = |value: &Value| match value {
        Value::Text(text) => text.len(),
        Value::Bytes(bytes) => bytes.len(),
        _ => 0,
    };
    size_of::<Row>() + row.iter().map(|value| size_of::<Value>() + beside(value)).sum::<usize>()
}

/// Rows of one range, and what of them is still to be judged.
pub(super) struct Part {
    pub(super) rows: Rows,
    pub(super) rest: Vec<(usize, Rest)>,
}

/// What a run reads: columns of the table by position.
pub(super) struct Wanted {
    pub(super) columns: Vec<usize>,
}

impl Wanted {
    /// These columns, and those that conditions look at.
    pub(super) fn with_judged(mut columns: Vec<usize>, resolved: &Resolved) -> Wanted {
        columns.extend(resolved.rest.iter().map(Rest::column));
        columns.extend(resolved.alternatives.iter().flatten().map(|b| b.column));
        Wanted::each_once(&columns)
    }

    /// These columns, each once.
    pub(super) fn each_once(columns: &[usize]) -> Wanted {
        let mut seen = Vec::with_capacity(columns.len());
        for column in columns {
            if !seen.contains(column) {
                seen.push(*column);
            }
        }
        Wanted { columns: seen }
    }

    pub(super) fn at(&self, column: usize) -> usize {
        self.columns.iter().position(|c| *c == column).expect("all columns in use are read")
    }
}

impl Select {
    /// Runs it; `None` where its values need the planner.
    pub fn run(&self, scope: &Arc<Scope>, values: &[Parameter]) -> Result<Option<Answer>> {
        let Some(resolved) = self.conditions.resolve(&self.source.schema, values)? else {
            return Ok(None);
        };
        let Some((offset, limit)) = self.counts(values)? else { return Ok(None) };
        let Some(plan) = self.plan(&resolved) else { return Ok(None) };
        if let Some((mode, wait)) = self.lock {
            let Some(ids) = self.candidates(scope, &resolved, &plan)? else { return Ok(None) };
            let wanted = locking::Locking { mode, wait, limit, offset };
            return self.locked(scope, &resolved, ids, &wanted).map(Some);
        }
        // A single row by its whole key.
        if let [(_, Some((index, choice)))] = &plan[..]
            && choice.is_one_row()
            && choice.used.len() == resolved.alternatives[0].len()
            && resolved.rest.is_empty()
            && scope.past().is_none()
        {
            return self.one_row(scope, index, &resolved.alternatives[0], choice, limit, offset);
        }
        let sorted = !self.order.is_empty() && !self.is_ordered(&plan);
        let wanted = self.wanted(&resolved, sorted);
        let simple = !sorted && !self.distinct;
        // Rows that no condition is left for are counted where they lie.
        let exact = resolved.rest.is_empty()
            && plan.iter().zip(&resolved.alternatives).all(|((_, choice), bounds)| {
                choice.as_ref().is_none_or(|(_, c)| c.used.len() == bounds.len())
            });
        let scan_limit = match (simple && exact, limit) {
            (true, Some(limit)) => Some(limit.saturating_add(offset)),
            _ => None,
        };
        let mut parts = Vec::with_capacity(plan.len());
        for ((reverse, choice), bounds) in plan.iter().zip(&resolved.alternatives) {
            parts.push(self.open(
                scope,
                choice.as_ref(),
                *reverse,
                bounds,
                &resolved,
                &wanted,
                scan_limit,
            )?);
        }
        parts.reverse();
        let outs: Arc<[usize]> = self.output.iter().map(|c| wanted.at(*c)).collect();
        let stream =
            Stream { scope: Arc::clone(scope), parts, outs: Arc::clone(&outs), offset, limit };
        let source: Box<dyn answer::Source> = match simple {
            true => Box::new(stream),
            false => match self.sort(stream, &wanted, offset, limit)? {
                Some(sorted) => Box::new(Ready::new(vec![sorted])),
                // The planner sorts on disk.
                None => return Ok(None),
            },
        };
        Ok(Some(Answer::Rows(RowsAnswer::new(Arc::clone(&self.columns), source, "SELECT"))))
    }

    /// How many rows are left out, and how many are wanted at most; `None` where a number is no whole one.
    pub(super) fn counts(&self, values: &[Parameter]) -> Result<Option<(usize, Option<usize>)>> {
        let clauses = [(&self.offset, "OFFSET", "2201X"), (&self.limit, "LIMIT", "2201W")];
        let mut counts = [None; 2];
        for (count, (operand, clause, state)) in counts.iter_mut().zip(clauses) {
            let Some(operand) = operand else { continue };
            *count = match operand.value(onlap::DataType::Int8, values)? {
                Some(Value::Int(n)) if n >= 0 => Some(n as usize),
                Some(Value::Int(_)) => {
                    return Err(SqlError::new(state, format!("{clause} must not be negative")));
                }
                Some(Value::Null) => None,
                _ => return Ok(None),
            };
        }
        let [offset, limit] = counts;
        Ok(Some((offset.unwrap_or(0), limit)))
    }

    /// Per alternative: whether its index is read backwards, and the index; `None` where the planner does
    /// better: a condition without an index.
    pub(super) fn plan(
        &self,
        resolved: &Resolved,
    ) -> Option<Vec<(bool, Option<(String, Choice)>)>> {
        let schema = &self.source.schema;
        let mut plan = Vec::with_capacity(resolved.alternatives.len());
        for bounds in &resolved.alternatives {
            let best = access::best(schema, bounds);
            plan.push(match best {
                Some((index, choice)) => {
                    let reverse = self.direction(index, choice.equal).unwrap_or(false);
                    (reverse, Some((index.name.clone(), choice)))
                }
                None if bounds.is_empty() && resolved.rest.is_empty() => match self.whole_table() {
                    // Only here are rows locked, so that there is no planner to do better.
                    None if self.lock.is_some() => (false, None),
                    found => found?,
                },
                None if self.lock.is_some() => (false, None),
                None => return None,
            });
        }
        Some(plan)
    }

    /// All rows: in the order of an index where few are wanted, otherwise as they lie.
    fn whole_table(&self) -> Option<(bool, Option<(String, Choice)>)> {
        if self.order.is_empty() {
            return Some((false, None));
        }
        self.limit.as_ref()?;
        let schema = &self.source.schema;
        let indexes = schema.indexes.iter().filter(|index| access::is_plain(schema, index));
        let mut fitting =
            indexes.filter_map(|index| Some((self.direction(index, 0)?, index.name.clone())));
        let (reverse, name) = fitting.next()?;
        let all = Choice { range: onlap::KeyRange::all(), ..Choice::default() };
        Some((reverse, Some((name, all))))
    }

    /// Whether an index gives the order, after `equal` columns that have one value, and whether
    /// backwards.
    fn direction(&self, index: &onlap::IndexSchema, equal: usize) -> Option<bool> {
        let schema = &self.source.schema;
        let position = |i: usize| schema.position(index.key[i].column);
        let fixed: Vec<usize> = (0..equal).filter_map(position).collect();
        let mut reverse = None;
        let mut at = equal;
        for order in &self.order {
            if fixed.contains(&order.column) {
                continue;
            }
            if at >= index.key.len() || position(at) != Some(order.column) {
                return None;
            }
            let turned = index.key[at].descending != order.descending;
            if *reverse.get_or_insert(turned) != turned {
                return None;
            }
            at += 1;
        }
        Some(reverse.unwrap_or(false))
    }

    pub(super) fn is_ordered(&self, plan: &[(bool, Option<(String, Choice)>)]) -> bool {
        match plan {
            [] => true,
            [(_, Some((name, choice)))] => {
                let index = self.source.schema.index_by_name(name);
                index.is_some_and(|index| self.direction(index, choice.equal).is_some())
            }
            _ => false,
        }
    }

    fn wanted(&self, resolved: &Resolved, sorted: bool) -> Wanted {
        let mut columns = self.output.clone();
        if sorted || self.distinct {
            columns.extend(self.order.iter().map(|o| o.column));
        }
        Wanted::with_judged(columns, resolved)
    }

    pub(super) fn open(
        &self,
        scope: &Scope,
        choice: Option<&(String, Choice)>,
        reverse: bool,
        bounds: &[Bound],
        resolved: &Resolved,
        wanted: &Wanted,
        limit: Option<usize>,
    ) -> Result<Part> {
        let schema = &self.source.schema;
        let used = choice.map_or(&[][..], |(_, c)| &c.used);
        let left = (0..bounds.len()).filter(|i| !used.contains(i));
        let left = left.map(|i| Rest::Bound(bounds[i].clone()));
        let rest: Vec<Rest> = left.chain(resolved.rest.iter().cloned()).collect();
        // A column that only a range needed is not read.
        let mut scan =
            Scan::all().columns(wanted.columns.iter().map(|c| schema.columns[*c].name.clone()));
        if let Some(limit) = limit {
            scan = scan.limit(limit);
        }
        if reverse {
            scan = scan.reverse();
        }
        let table = &self.source.table;
        let rows = match (choice, scope.past()) {
            (None, None) => scope.tx()?.scan(table, scan)?,
            (None, Some(past)) => past.scan(table, scan)?,
            (Some((name, choice)), None) => {
                scope.tx()?.index_scan(table, name, choice.range.clone(), scan)?
            }
            (Some((name, choice)), Some(past)) => {
                past.index_scan(table, name, choice.range.clone(), scan)?
            }
        };
        let rest = rest.into_iter().map(|r| (wanted.at(r.column()), r)).collect();
        Ok(Part { rows, rest })
    }

    fn one_row(
        &self,
        scope: &Scope,
        index: &str,
        bounds: &[Bound],
        choice: &Choice,
        limit: Option<usize>,
        offset: usize,
    ) -> Result<Option<Answer>> {
        let key: Vec<Value> = choice.used.iter().map(|i| bounds[*i].value.clone()).collect();
        let names: Vec<&str> =
            self.output.iter().map(|c| self.source.schema.columns[*c].name.as_str()).collect();
        let found = match limit == Some(0) || offset > 0 {
            true => None,
            false => scope.tx()?.get_by(&self.source.table, index, &key, Some(&names))?,
        };
        let source = Box::new(Ready::new(vec![Chunk::Rows(found.into_iter().collect())]));
        Ok(Some(Answer::Rows(RowsAnswer::new(Arc::clone(&self.columns), source, "SELECT"))))
    }

    /// The rows in their order; `None` where they are too many to be held.
    fn sort(
        &self,
        mut stream: Stream,
        wanted: &Wanted,
        offset: usize,
        limit: Option<usize>,
    ) -> Result<Option<Chunk>> {
        let all: Arc<[usize]> = (0..wanted.columns.len()).collect();
        stream.outs = all;
        (stream.offset, stream.limit) = (0, None);
        let (mut rows, mut bytes): (Vec<Row>, usize) = (Vec::new(), 0);
        while let Some(chunk) = answer::Source::next(&mut stream)? {
            let more = chunk.into_rows();
            bytes += more.iter().map(bytes_of).sum::<usize>();
            rows.extend(more);
            if bytes > SORT_BYTES {
                return Ok(None);
            }
        }
        let outs: Vec<usize> = self.output.iter().map(|c| wanted.at(*c)).collect();
        let order: Vec<(usize, bool)> =
            self.order.iter().map(|o| (wanted.at(o.column), o.descending)).collect();
        let ty = |at: usize| self.source.schema.columns[wanted.columns[at]].ty;
        let by_order = |a: &Row, b: &Row| {
            let each = order.iter().map(|&(at, descending)| {
                let order = convert::compare_values(ty(at), &a[at], &b[at]);
                if descending { order.reverse() } else { order }
            });
            each.fold(Ordering::Equal, Ordering::then)
        };
        let by_output = |a: &Row, b: &Row| {
            let each = outs.iter().map(|&at| convert::compare_values(ty(at), &a[at], &b[at]));
            each.fold(Ordering::Equal, Ordering::then)
        };
        match self.distinct {
            true => {
                rows.sort_by(|a, b| by_order(a, b).then_with(|| by_output(a, b)));
                rows.dedup_by(|a, b| by_output(a, b).is_eq());
            }
            false => rows.sort_by(by_order),
        }
        let rows = rows.into_iter().skip(offset).take(limit.unwrap_or(usize::MAX));
        let pick = |row: Row| outs.iter().map(|at| row[*at].clone()).collect();
        Ok(Some(Chunk::Rows(rows.map(pick).collect())))
    }
}

pub(super) fn holds(rest: &[(usize, Rest)], batch: &RowBatch, row: usize) -> bool {
    rest.iter().all(|(at, rest)| rest.holds(batch.types()[*at], &batch.value(row, *at)))
}

/// Batches of the engine as they come.
struct Stream {
    scope: Arc<Scope>,
    /// The last is read first.
    parts: Vec<Part>,
    outs: Arc<[usize]>,
    offset: usize,
    limit: Option<usize>,
}

impl answer::Source for Stream {
    fn next(&mut self) -> Result<Option<Chunk>> {
        if self.limit == Some(0) {
            return Ok(None);
        }
        while let Some(part) = self.parts.last_mut() {
            self.scope.go_on()?;
            let _stop = stop::within(self.scope.stop());
            let Some(batch) = part.rows.next() else {
                self.parts.pop();
                continue;
            };
            let batch = batch?;
            let chunk = match part.rest.is_empty() {
                true => Chunk::Engine(batch, Arc::clone(&self.outs)),
                false => {
                    let kept = (0..batch.len()).filter(|&i| holds(&part.rest, &batch, i));
                    let row = |i: usize| self.outs.iter().map(|at| batch.value(i, *at)).collect();
                    Chunk::Rows(kept.map(row).collect())
                }
            };
            let n = chunk.len();
            let from = self.offset.min(n);
            let to = self.limit.map_or(n, |limit| n.min(from.saturating_add(limit)));
            self.offset -= from;
            if let Some(limit) = &mut self.limit {
                *limit -= to - from;
            }
            if from < to {
                return Ok(Some(if to - from == n { chunk } else { chunk.slice(from, to) }));
            }
        }
        Ok(None)
    }
}
