//! count, sum, min and max over one table, without GROUP BY.

use std::sync::Arc;

use onlap::{DataType, Numeric, RowBatch, Scan, Value, Vector, convert};
use onlap_pg::bound::{self, Expr, ExprId, Query};

use super::Source;
use super::conditions::{Conditions, Resolved, Rest};
use super::statement::Statement;
use crate::error::{Result, SqlError};
use crate::plan::access;
use crate::query::catalog;
use crate::scope::Scope;
use crate::session::Parameter;
use crate::session::answer::{Answer, AnswerColumn, Chunk, Ready, RowsAnswer};

/// A bound SELECT of aggregates.
#[derive(Debug)]
pub struct Aggregate {
    /// The table.
    pub source: Source,
    /// WHERE.
    pub conditions: Conditions,
    /// Columns of the answer.
    pub columns: Arc<[AnswerColumn]>,
    items: Vec<Item>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Item {
    CountAll,
    Count(usize),
    Sum(usize),
    Min(usize),
    Max(usize),
}

/// Matches a SELECT of aggregates; `None` for anything else.
pub(super) fn matched(of: &Statement<'_>, source: Source) -> Option<Aggregate> {
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
        offset: None,
        limit: None,
        ties: false,
        locks,
        set: None,
        has_aggregates: true,
        has_windows: false,
        has_sets: false,
        has_subqueries: false,
        depends_on_keys: _,
    } = of.query
    else {
        return None;
    };
    let is_plain = groups.is_empty()
        && sets.is_empty()
        && windows.is_empty()
        && distinct.is_empty()
        && order.is_empty()
        && locks.is_empty();
    if !is_plain || targets.iter().any(|target| target.hidden) {
        return None;
    }
    let items = targets.iter().map(|target| item_of(of, &source, target.value));
    let items = items.collect::<Option<Vec<Item>>>()?;
    let conditions = Conditions::of(of, &source)?;
    Some(Aggregate { source, conditions, columns: of.bound.returns()?, items })
}

fn item_of(of: &Statement<'_>, source: &Source, id: ExprId) -> Option<Item> {
    let Expr::Aggregate(call) = of.tree.expr(id) else { return None };
    let bound::Aggregate {
        proc,
        kind: _,
        types: _,
        direct,
        args,
        order,
        distinct,
        filter: None,
        star,
        variadic: false,
        up: 0,
    } = &**call
    else {
        return None;
    };
    if !direct.is_empty() || !order.is_empty() || !distinct.is_empty() {
        return None;
    }
    let name = &*catalog().proc(*proc)?.name;
    let column = match &args[..] {
        [] if *star && name == "count" => return Some(Item::CountAll),
        [arg] if !*star => of.compared(arg.value)?,
        _ => return None,
    };
    let ty = source.schema.columns.get(column)?.ty;
    if !source.types[column].is_native() && name != "count" {
        return None;
    }
    Some(match name {
        "count" => Item::Count(column),
        "sum" => match ty {
            DataType::Int2 | DataType::Int4 | DataType::Int8 | DataType::Numeric(Some(_)) => {
                Item::Sum(column)
            }
            _ => return None,
        },
        "min" | "max" => {
            match ty {
                DataType::Int2 | DataType::Int4 | DataType::Int8 | DataType::Numeric(_) => {}
                DataType::Date | DataType::Timestamp | DataType::Timestamptz => {}
                DataType::Text | DataType::Varchar(_) => {}
                _ => return None,
            }
            if name == "min" { Item::Min(column) } else { Item::Max(column) }
        }
        _ => return None,
    })
}

/// What has been seen of a column.
#[derive(Clone, Debug, Default)]
struct State {
    count: u64,
    sum: i128,
    best: Option<Value>,
}

impl Aggregate {
    /// Runs it; `None` where its values need the planner.
    pub fn run(&self, scope: &Arc<Scope>, values: &[Parameter]) -> Result<Option<Answer>> {
        let schema = &self.source.schema;
        let Some(resolved) = self.conditions.resolve(schema, values)? else { return Ok(None) };
        if scope.past().is_some() {
            return Ok(None);
        }
        let states = match self.by_entries(scope, &resolved)? {
            Some(states) => states,
            None => match self.scan(scope, &resolved)? {
                Some(states) => states,
                None => return Ok(None),
            },
        };
        let row = self.items.iter().zip(states).map(|(item, state)| self.value(*item, state));
        let row = row.collect::<Result<Vec<Value>>>()?;
        let source = Box::new(Ready::new(vec![Chunk::Rows(vec![row])]));
        Ok(Some(Answer::Rows(RowsAnswer::new(Arc::clone(&self.columns), source, "SELECT"))))
    }

    fn value(&self, item: Item, state: State) -> Result<Value> {
        let ty = |column: usize| self.source.schema.columns[column].ty;
        Ok(match item {
            Item::CountAll | Item::Count(_) => Value::Int(state.count as i64),
            Item::Min(_) | Item::Max(_) => state.best.unwrap_or(Value::Null),
            Item::Sum(_) if state.count == 0 => Value::Null,
            Item::Sum(column) => match ty(column) {
                DataType::Int2 | DataType::Int4 => {
                    let sum = i64::try_from(state.sum);
                    Value::Int(sum.map_err(|_| SqlError::new("22003", "bigint out of range"))?)
                }
                DataType::Numeric(Some((_, scale))) => {
                    Value::Numeric(Numeric { mantissa: state.sum, scale })
                }
                _ => Value::Numeric(Numeric { mantissa: state.sum, scale: 0 }),
            },
        })
    }

    /// What entries of an index tell without a look at each: counts, and ends of ranges.
    fn by_entries(&self, scope: &Scope, resolved: &Resolved) -> Result<Option<Vec<State>>> {
        let table = &self.source.table;
        let only_counts = self.items.iter().all(|item| *item == Item::CountAll);
        if only_counts && resolved.rest.is_empty() {
            let mut count = 0;
            for bounds in &resolved.alternatives {
                count += match access::best(&self.source.schema, bounds) {
                    None if bounds.is_empty() => scope.tx()?.count(table)?,
                    Some((index, choice)) if choice.used.len() == bounds.len() => {
                        scope.tx()?.index_count(table, &index.name, choice.range)?
                    }
                    _ => return Ok(None),
                };
            }
            let state = State { count, ..State::default() };
            return Ok(Some(vec![state; self.items.len()]));
        }
        let [bounds] = &resolved.alternatives[..] else { return Ok(None) };
        if !resolved.rest.is_empty() {
            return Ok(None);
        }
        let mut states = Vec::with_capacity(self.items.len());
        for item in &self.items {
            let (column, last) = match item {
                Item::Min(column) => (*column, false),
                Item::Max(column) => (*column, true),
                _ => return Ok(None),
            };
            let Some(best) = self.end(scope, bounds, column, last)? else { return Ok(None) };
            states.push(State { best: Some(best), ..State::default() });
        }
        Ok(Some(states))
    }

    /// The first or last value of a column that follows the columns with one value in an index.
    fn end(
        &self,
        scope: &Scope,
        bounds: &[access::Bound],
        column: usize,
        last: bool,
    ) -> Result<Option<Value>> {
        let schema = &self.source.schema;
        let id = schema.columns[column].id;
        for index in schema.indexes.iter().filter(|i| access::is_plain(schema, i)) {
            let choice = access::range_of(schema, index, bounds);
            let (equal, used, range) = match choice {
                Some(choice) => (choice.equal, choice.used.len(), choice.range),
                None => (0, 0, onlap::KeyRange::all()),
            };
            let follows = index.key.get(equal).is_some_and(|part| part.column == id);
            if used < bounds.len() || !follows {
                continue;
            }
            let descending = index.key[equal].descending;
            let name = &schema.columns[column].name;
            let mut scan = Scan::all().columns([name.clone()]);
            if last != descending {
                scan = scan.reverse();
            }
            // NULL is largest and does not count; there may be many, so that the range leaves them out.
            let range = match used > equal {
                true => range,
                false => self.without_null(index, equal, bounds),
            };
            let mut rows =
                scope.tx()?.index_scan(&self.source.table, &index.name, range, scan.limit(1))?;
            return Ok(Some(match rows.next() {
                Some(batch) => {
                    let batch = batch?;
                    if batch.is_empty() { Value::Null } else { batch.value(0, 0) }
                }
                None => Value::Null,
            }));
        }
        Ok(None)
    }

    /// The keys that begin with values of `equal` columns and have none that is NULL in the next.
    fn without_null(
        &self,
        index: &onlap::IndexSchema,
        equal: usize,
        bounds: &[access::Bound],
    ) -> onlap::KeyRange {
        let schema = &self.source.schema;
        let value = |i: usize| {
            let at = schema.position(index.key[i].column)?;
            bounds.iter().find(|b| b.column == at).map(|b| b.value.clone())
        };
        let key: Vec<Value> = (0..equal).filter_map(value).collect();
        let null: Vec<Value> = key.iter().cloned().chain([Value::Null]).collect();
        let range = match index.key[equal].descending {
            false => onlap::KeyRange::before(null),
            true => onlap::KeyRange::after(null),
        };
        if equal > 0 { range.and(onlap::KeyRange::eq(key)) } else { range }
    }

    /// Reads the rows of each range, or all of the table.
    fn scan(&self, scope: &Arc<Scope>, resolved: &Resolved) -> Result<Option<Vec<State>>> {
        let schema = &self.source.schema;
        let mut columns: Vec<usize> = Vec::new();
        let mut note = |column: usize| {
            if !columns.contains(&column) {
                columns.push(column);
            }
        };
        for item in &self.items {
            if let Item::Count(c) | Item::Sum(c) | Item::Min(c) | Item::Max(c) = item {
                note(*c);
            }
        }
        resolved.rest.iter().for_each(|r| note(r.column()));
        resolved.alternatives.iter().flatten().for_each(|b| note(b.column));
        let mut states = vec![State::default(); self.items.len()];
        for bounds in &resolved.alternatives {
            let best = access::best(schema, bounds);
            if best.is_none() && !(bounds.is_empty() && resolved.rest.is_empty()) {
                return Ok(None);
            }
            let used = best.as_ref().map_or(Vec::new(), |(_, choice)| choice.used.clone());
            let left = (0..bounds.len()).filter(|i| !used.contains(i));
            let rest: Vec<Rest> = left
                .map(|i| Rest::Bound(bounds[i].clone()))
                .chain(resolved.rest.iter().cloned())
                .collect();
            let scan = Scan::all().columns(columns.iter().map(|c| schema.columns[*c].name.clone()));
            let table = &self.source.table;
            let mut rows = match best {
                Some((index, choice)) => {
                    scope.tx()?.index_scan(table, &index.name, choice.range, scan)?
                }
                None => scope.tx()?.scan(table, scan)?,
            };
            let mut batch = match rows.next() {
                Some(batch) => batch?,
                None => continue,
            };
            loop {
                scope.go_on()?;
                self.add(&batch, &columns, &rest, &mut states);
                if !rows.next_into(&mut batch)? {
                    break;
                }
            }
        }
        Ok(Some(states))
    }

    fn add(&self, batch: &RowBatch, columns: &[usize], rest: &[Rest], states: &mut [State]) {
        let at = |column: usize| {
            columns.iter().position(|c| *c == column).expect("all columns in use are read")
        };
        let schema = &self.source.schema;
        let holds = |row: usize| {
            rest.iter().all(|r| {
                let column = r.column();
                r.holds(schema.columns[column].ty, &batch.value(row, at(column)))
            })
        };
        let kept: Option<Vec<usize>> =
            (!rest.is_empty()).then(|| (0..batch.len()).filter(|row| holds(*row)).collect());
        for (item, state) in self.items.iter().zip(states) {
            match item {
                Item::CountAll => {
                    state.count += kept.as_ref().map_or(batch.len(), Vec::len) as u64;
                }
                Item::Count(c) | Item::Sum(c) | Item::Min(c) | Item::Max(c) => {
                    let column = &batch.columns.columns[at(*c)];
                    let rows: &mut dyn Iterator<Item = usize> = match &kept {
                        Some(kept) => &mut kept.iter().copied(),
                        None => &mut (0..batch.len()),
                    };
                    match (item, &column.data) {
                        (Item::Sum(_), Vector::Int(v)) if kept.is_none() => {
                            // NULL slots hold 0.
                            state.sum += v.iter().map(|v| i128::from(*v)).sum::<i128>();
                            state.count += (v.len() - nulls(column)) as u64;
                        }
                        (Item::Sum(_), Vector::Int(v)) => {
                            for row in rows.filter(|row| !column.is_null(*row)) {
                                state.sum += i128::from(v[row]);
                                state.count += 1;
                            }
                        }
                        (Item::Sum(_), Vector::Wide(v)) => {
                            for row in rows.filter(|row| !column.is_null(*row)) {
                                state.sum = state.sum.saturating_add(v[row]);
                                state.count += 1;
                            }
                        }
                        (Item::Count(_), _) if kept.is_none() => {
                            state.count += (column.len() - nulls(column)) as u64;
                        }
                        (Item::Count(_), _) => {
                            state.count += rows.filter(|row| !column.is_null(*row)).count() as u64;
                        }
                        _ => {
                            let ty = schema.columns[*c].ty;
                            let max = matches!(item, Item::Max(_));
                            for row in rows.filter(|row| !column.is_null(*row)) {
                                let value = convert::read_value(ty, column, row);
                                let better = state.best.as_ref().is_none_or(|best| {
                                    let order = convert::compare_values(ty, &value, best);
                                    if max { order.is_gt() } else { order.is_lt() }
                                });
                                if better {
                                    state.best = Some(value);
                                }
                            }
                        }
                    }
                }
            }
        }
    }
}

fn nulls(column: &onlap::Column) -> usize {
    column.nulls.as_ref().map_or(0, onlap::NullMask::count)
}
