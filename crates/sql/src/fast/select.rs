//! SELECT of columns of one table.
//!
//! Rows come from an index range in its order where that is the order asked for, and are sorted
//! otherwise. With FOR UPDATE they are locked first (`locking`).

use std::cmp::Ordering;
use std::sync::Arc;

use onlap::{LockWait, Row, RowBatch, RowLock, Rows, Scan, Value, convert};
use onlap_base::stop;
use onlap_pg::ast::{self, LockStrength};
use onlap_pg::bound::{ExprId, Lock, Query, SortItem};

use super::conditions::{Conditions, Resolved, Rest, WholeKey};
use super::statement::Statement;
use super::values::Operand;
use super::{Source, locking};
use crate::error::{Result, SqlError};
use crate::plan::access::{self, Bound, Choice};
use crate::query::catalog;
use crate::scope::Scope;
use crate::session::Parameter;
use crate::session::answer::{self, Answer, AnswerColumn, Chunk, Ready, RowsAnswer};

/// A bound SELECT.
#[derive(Debug)]
pub struct Select {
    /// The table.
    pub source: Source,
    /// WHERE.
    pub conditions: Conditions,
    /// The key that they name, where that is all they do.
    pub(super) key: Option<WholeKey>,
    /// Columns of the answer.
    pub columns: Arc<[AnswerColumn]>,
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

/// Matches a SELECT; `None` for one that the planner is to do.
pub(super) fn matched(of: &Statement<'_>, source: Source) -> Option<Select> {
    let Query {
        ctes: _,
        recursive: _,
        changes_within: false,
        modify: None,
        entries: _,
        from: _,
        filter: _,
        targets,
        groups,
        groups_distinct: _,
        sets,
        having: None,
        windows,
        distinct,
        distinct_on: false,
        order,
        offset,
        limit,
        ties: false,
        locks,
        set: None,
        has_aggregates: false,
        has_windows: false,
        has_sets: false,
        has_subqueries: false,
        depends_on_keys: _,
    } = of.query
    else {
        return None;
    };
    if !groups.is_empty() || !sets.is_empty() || !windows.is_empty() {
        return None;
    }
    let shown = targets.iter().filter(|target| !target.hidden);
    let output = shown.map(|target| of.column(target.value)).collect::<Option<Vec<usize>>>()?;
    // Rows without columns are the planner's.
    if output.is_empty() || !output.iter().all(|at| source.types[*at].shows_natively()) {
        return None;
    }
    let conditions = Conditions::of(of, &source)?;
    let order = order.iter().map(|item| ordered_by(of, item)).collect::<Option<Vec<_>>>()?;
    let distinct = !distinct.is_empty();
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
    let count = |value: Option<ExprId>| match value {
        None => Some(None),
        Some(id) => of.operand(id).map(|operand| Some(operand).filter(|of| !of.is_null())),
    };
    let (limit, offset) = (count(*limit)?, count(*offset)?);
    let lock = lock_of(locks)?;
    if lock.is_some() && (distinct || of.is_materialized()) {
        return None;
    }
    let columns = of.bound.returns()?;
    let key = conditions.whole_key(&source.schema).filter(|_| lock.is_none());
    Some(Select { source, conditions, key, columns, output, distinct, order, limit, offset, lock })
}

/// The column of an item of ORDER BY; `None` where it is no column, or comes in another order than an index has.
fn ordered_by(of: &Statement<'_>, item: &SortItem) -> Option<Order> {
    let descending = match catalog().operator(item.less)?.name {
        "<" => false,
        ">" => true,
        _ => return None,
    };
    // PostgreSQL's default: NULL is the largest.
    if item.nulls_first != descending {
        return None;
    }
    let mut targets = of.query.targets.iter();
    let target = targets.find(|target| target.reference == item.reference)?;
    Some(Order { column: of.compared(target.value)?, descending })
}

fn lock_of(locks: &[Lock]) -> Option<Option<(RowLock, LockWait)>> {
    let [lock] = locks else { return locks.is_empty().then_some(None) };
    let wait = match lock.wait {
        ast::LockWait::Block => LockWait::Block,
        ast::LockWait::Error => LockWait::NoWait,
        ast::LockWait::Skip => LockWait::SkipLocked,
    };
    let mode = match lock.strength {
        LockStrength::Update => RowLock::Update,
        LockStrength::NoKeyUpdate => RowLock::NoKeyUpdate,
        LockStrength::Share => RowLock::Share,
        LockStrength::KeyShare => RowLock::KeyShare,
    };
    Some(Some((mode, wait)))
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
        if let Some(key) = self.key.as_ref().filter(|_| scope.past().is_none())
            && let Some(values_of_key) = key.values(values)?
        {
            let Some(counts) = self.counts(values)? else { return Ok(None) };
            return self.one_row(scope, &key.index, &values_of_key, counts);
        }
        let Some(resolved) = self.conditions.resolve(&self.source.schema, values)? else {
            return Ok(None);
        };
        let Some((offset, limit)) = self.counts(values)? else { return Ok(None) };
        let Some(plan) = self.plan(&resolved) else { return Ok(None) };
        if let Some((mode, wait)) = self.lock {
            if scope.tx()?.is_read_only() {
                // It is refused there, but for temporary tables.
                return Ok(None);
            }
            let Some(ids) = self.candidates(scope, &resolved, &plan)? else { return Ok(None) };
            let wanted = locking::Locking { mode, wait, limit, offset };
            return self.locked(scope, &resolved, ids, &wanted).map(Some);
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

    /// A single row by its whole key; `offset` rows are left out, and `limit` wanted at most.
    fn one_row(
        &self,
        scope: &Scope,
        index: &str,
        key: &[Value],
        (offset, limit): (usize, Option<usize>),
    ) -> Result<Option<Answer>> {
        let names: Vec<&str> =
            self.output.iter().map(|c| self.source.schema.columns[*c].name.as_str()).collect();
        let found = match limit == Some(0) || offset > 0 {
            true => None,
            false => scope.tx()?.get_by(&self.source.table, index, key, Some(&names))?,
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
