//! Which steps of a plan have a cheaper form here?
//!
//! Rules over physical plans, after the planner's own:
//!
//! * a hash join whose one side is small and whose other side is a table with an index over the joined
//!   columns becomes lookups ([`LookupJoinExec`]);
//! * an aggregation whose every value comes from one end of an index's group becomes a loose scan
//!   ([`GroupEndsExec`]);
//! * a sort with a limit over a table that has an index in that order becomes a scan of the index.

use std::any::Any;
use std::sync::Arc;

use datafusion::common::config::ConfigOptions;
use datafusion::common::tree_node::{Transformed, TreeNode};
use datafusion::common::{JoinSide, JoinType, NullEquality, Result};
use datafusion::physical_expr::PhysicalExpr;
use datafusion::physical_expr::expressions::Column;
use datafusion::physical_optimizer::PhysicalOptimizerRule;
use datafusion::physical_plan::aggregates::{AggregateExec, AggregateMode};
use datafusion::physical_plan::coalesce_partitions::CoalescePartitionsExec;
use datafusion::physical_plan::filter::FilterExec;
use datafusion::physical_plan::joins::HashJoinExec;
use datafusion::physical_plan::limit::{GlobalLimitExec, LocalLimitExec};
use datafusion::physical_plan::projection::ProjectionExec;
use datafusion::physical_plan::repartition::RepartitionExec;
use datafusion::physical_plan::sorts::sort::SortExec;
use datafusion::physical_plan::{ExecutionPlan, replace_children_if_necessary};
use onlap::{IndexSchema, KeyRange};

use super::access::Access;
use super::groups::GroupEndsExec;
use super::lookup::{Inner, LookupJoinExec};
use super::scan::{ScanExec, as_scan};

/// All rules of this module.
#[derive(Debug)]
pub struct Rules;

impl PhysicalOptimizerRule for Rules {
    fn optimize(
        &self,
        plan: Arc<dyn ExecutionPlan>,
        _: &ConfigOptions,
    ) -> Result<Arc<dyn ExecutionPlan>> {
        let rewritten = plan.transform_up(|plan| {
            let better = lookups(&plan)?;
            let better = better.or_else(|| group_ends(&plan)).or_else(|| index_order(&plan));
            Ok(match better {
                Some(better) => Transformed::yes(better),
                None => Transformed::no(plan),
            })
        })?;
        Ok(rewritten.data)
    }
    fn name(&self) -> &'static str {
        "indexes"
    }
    fn schema_check(&self) -> bool {
        true
    }
}

fn is<T: 'static>(plan: &Arc<dyn ExecutionPlan>) -> Option<&T> {
    (plan.as_ref() as &dyn Any).downcast_ref::<T>()
}

/// The plan without steps that only move rows between threads.
fn core(plan: &Arc<dyn ExecutionPlan>) -> &Arc<dyn ExecutionPlan> {
    let inner = match plan.children()[..] {
        [child]
            if is::<RepartitionExec>(plan).is_some()
                || is::<CoalescePartitionsExec>(plan).is_some()
                || plan.name() == "CoalesceBatchesExec"
                || plan.name() == "CooperativeExec" =>
        {
            child
        }
        _ => return plan,
    };
    core(inner)
}

/// About how many rows a plan gives; `None` where nothing tells.
fn estimate(plan: &Arc<dyn ExecutionPlan>) -> Option<u64> {
    let plan = core(plan);
    let below = || plan.children().first().and_then(|child| estimate(child));
    if let Some(scan) = as_scan(plan) {
        let rows = scan.table().table.approximate_rows();
        let rows = match scan.access() {
            Access::Table => rows,
            Access::Index { name, range, .. } => {
                let index = scan.table().schema.index_by_name(name);
                let whole = index
                    .is_some_and(|i| i.unique && format!("{range:?}").matches("Some").count() == 2);
                // No statistics of values yet: an index is used where it leaves out most rows.
                if whole { 1 + rows / 1000 } else { 1 + rows / 50 }
            }
        };
        return Some(scan.limit().map_or(rows, |limit| rows.min(limit as u64)));
    }
    if let Some(limit) = plan.fetch() {
        return Some(below().map_or(limit as u64, |rows| rows.min(limit as u64)));
    }
    if is::<FilterExec>(plan).is_some() {
        return below().map(|rows| 1 + rows / 5);
    }
    if let Some(aggregate) = is::<AggregateExec>(plan) {
        let grouped = !aggregate.group_expr().is_empty();
        return if grouped { below().map(|rows| 1 + rows / 10) } else { Some(1) };
    }
    if is::<GroupEndsExec>(plan).is_some() {
        return Some(100);
    }
    if is::<ProjectionExec>(plan).is_some()
        || is::<SortExec>(plan).is_some()
        || is::<GlobalLimitExec>(plan).is_some()
        || is::<LocalLimitExec>(plan).is_some()
        || is::<LookupJoinExec>(plan).is_some()
    {
        return below();
    }
    if matches!(plan.name(), "DataSourceExec" | "PlaceholderRowExec" | "EmptyExec") {
        return Some(100);
    }
    plan.children().into_iter().map(estimate).collect::<Option<Vec<_>>>()?.into_iter().max()
}

/// A lookup costs about as much as so many rows of a scan.
const LOOKUP_ROWS: u64 = 20;

fn lookups(plan: &Arc<dyn ExecutionPlan>) -> Result<Option<Arc<dyn ExecutionPlan>>> {
    let Some(join) = is::<HashJoinExec>(plan) else { return Ok(None) };
    if join.filter().is_some()
        || join.null_equality() != NullEquality::NullEqualsNothing
        || join.fetch().is_some()
    {
        return Ok(None);
    }
    // The outer side's rows decide what is kept, so it has to be the one that the join keeps.
    let sides = match join.join_type() {
        JoinType::Inner => &[JoinSide::Left, JoinSide::Right][..],
        JoinType::Left | JoinType::LeftAnti => &[JoinSide::Left],
        JoinType::Right | JoinType::RightAnti => &[JoinSide::Right],
        // A semi join keeps one side's rows, which keys of the other find too.
        JoinType::LeftSemi => &[JoinSide::Left, JoinSide::Right],
        JoinType::RightSemi => &[JoinSide::Right, JoinSide::Left],
        _ => &[],
    };
    if matches!(join.join_type(), JoinType::LeftAnti | JoinType::RightAnti) && join.null_aware {
        return Ok(None);
    }
    for side in sides {
        let (outer, inner) = match side {
            JoinSide::Right => (join.right(), join.left()),
            _ => (join.left(), join.right()),
        };
        let on: Vec<_> = join
            .on()
            .iter()
            .map(|(l, r)| if *side == JoinSide::Right { (r, l) } else { (l, r) })
            .collect();
        let Some((found, keys)) = inner_side(inner, &on) else { continue };
        let all = found.table.table.approximate_rows();
        let small = estimate(outer).is_some_and(|rows| rows.saturating_mul(LOOKUP_ROWS) < all);
        if !small {
            continue;
        }
        let keys = keys.into_iter().map(|i| Arc::clone(on[i].0)).collect();
        let projection = join.projection.as_ref().map(|p| p.to_vec());
        let lookup = LookupJoinExec::new(
            Arc::clone(outer),
            *side,
            keys,
            found,
            *join.join_type(),
            projection,
            plan.schema(),
        );
        return Ok(Some(Arc::new(lookup)));
    }
    Ok(None)
}

/// A side that lookups can take the place of, and which join condition stands for each column of the
/// index.
fn inner_side(
    plan: &Arc<dyn ExecutionPlan>,
    on: &[(&Arc<dyn PhysicalExpr>, &Arc<dyn PhysicalExpr>)],
) -> Option<(Inner, Vec<usize>)> {
    let plan = core(plan);
    let (scan, filter) = match is::<FilterExec>(plan) {
        // A filter that also drops columns would shift those of the join.
        Some(filter) if filter.projection().is_none() => {
            (as_scan(core(filter.input()))?, Some(Arc::clone(filter.predicate())))
        }
        Some(_) => return None,
        None => (as_scan(plan)?, None),
    };
    let known = scan.table().schema.columns.len();
    // Bounds that the scan's index stood for are among the filters; a limit cannot be kept.
    if scan.limit().is_some() || scan.columns().iter().any(|c| *c >= known) {
        return None;
    }
    if *scan.access() != Access::Table && filter.is_none() {
        return None;
    }
    let position = |expr: &Arc<dyn PhysicalExpr>| {
        let column = (expr.as_ref() as &dyn Any).downcast_ref::<Column>()?;
        scan.columns().get(column.index()).copied()
    };
    let joined: Vec<Option<usize>> = on.iter().map(|(_, inner)| position(inner)).collect();
    let schema = &scan.table().schema;
    let fits = |index: &&IndexSchema| {
        let mut keys = Vec::new();
        for part in &index.key {
            let at = schema.position(part.column)?;
            match joined.iter().position(|j| *j == Some(at)) {
                Some(i) => keys.push(i),
                None => break,
            }
        }
        // Every condition has to be one of the key's.
        (keys.len() == on.len()).then_some(keys)
    };
    let mut indexes = schema.indexes.iter().filter(|index| index.ready);
    let (index, keys) = indexes.find_map(|index| Some((index, fits(&index)?)))?;
    let inner = Inner {
        table: scan.table().clone(),
        index: index.name.clone(),
        columns: scan.columns().to_vec(),
        filter,
        schema: scan.schema(),
    };
    Some((inner, keys))
}

/// Column of the table that an expression over a scan is.
fn table_column(scan: &ScanExec, expr: &Arc<dyn PhysicalExpr>) -> Option<usize> {
    let column = (expr.as_ref() as &dyn Any).downcast_ref::<Column>()?;
    let at = *scan.columns().get(column.index())?;
    (at < scan.table().schema.columns.len()).then_some(at)
}

fn group_ends(plan: &Arc<dyn ExecutionPlan>) -> Option<Arc<dyn ExecutionPlan>> {
    let aggregate = is::<AggregateExec>(plan)?;
    let (scan, aggregates) = match aggregate.mode() {
        AggregateMode::Single | AggregateMode::SinglePartitioned => {
            (as_scan(core(aggregate.input()))?, aggregate)
        }
        AggregateMode::Final | AggregateMode::FinalPartitioned => {
            let partial = is::<AggregateExec>(core(aggregate.input()))?;
            (as_scan(core(partial.input()))?, partial)
        }
        _ => return None,
    };
    let groups = aggregates.group_expr();
    if groups.has_grouping_set()
        || groups.is_empty()
        || *scan.access() != Access::Table && !is_whole(scan.access())
        || scan.limit().is_some()
        || aggregates.filter_expr().iter().any(Option::is_some)
    {
        return None;
    }
    let schema = &scan.table().schema;
    let group: Vec<usize> =
        groups.expr().iter().map(|(e, _)| table_column(scan, e)).collect::<Option<_>>()?;
    for index in schema.indexes.iter().filter(|index| index.ready) {
        let key: Vec<usize> =
            index.key.iter().map(|k| schema.position(k.column)).collect::<Option<_>>()?;
        let prefix = group.len();
        if key.len() < prefix || !key[..prefix].iter().all(|c| group.contains(c)) {
            continue;
        }
        let Some((last, values)) = ends(scan, index, &key, prefix, aggregates) else { continue };
        let columns = group.iter().copied().chain(values).collect();
        let table = scan.table().clone();
        let ends =
            GroupEndsExec::new(table, index.name.clone(), prefix, last, columns, plan.schema());
        return Some(Arc::new(ends));
    }
    None
}

fn is_whole(access: &Access) -> bool {
    matches!(access, Access::Index { range, .. } if *range == KeyRange::all())
}

/// Which end of each group all aggregates are taken from, and the column of each.
fn ends(
    scan: &ScanExec,
    index: &IndexSchema,
    key: &[usize],
    prefix: usize,
    aggregate: &AggregateExec,
) -> Option<(bool, Vec<usize>)> {
    let schema = &scan.table().schema;
    let mut last = None;
    let mut columns = Vec::new();
    for function in aggregate.aggr_expr() {
        if function.is_distinct() {
            return None;
        }
        let arguments = function.expressions();
        let column = table_column(scan, arguments.first()?)?;
        let at_end = match function.fun().name() {
            "max" | "min" => {
                let next = *key.get(prefix)?;
                if next != column || schema.columns[column].nullable {
                    return None;
                }
                (function.fun().name() == "max") != index.key[prefix].descending
            }
            "first_value" => {
                let (mut reverse, mut place) = (None, prefix);
                for by in function.order_bys() {
                    let at = table_column(scan, &by.expr)?;
                    // Columns of the group have one value in it.
                    if key[..prefix].contains(&at) {
                        continue;
                    }
                    if *key.get(place)? != at || by.options.nulls_first != by.options.descending {
                        return None;
                    }
                    let turned = by.options.descending != index.key[place].descending;
                    if *reverse.get_or_insert(turned) != turned {
                        return None;
                    }
                    place += 1;
                }
                reverse?
            }
            _ => return None,
        };
        if *last.get_or_insert(at_end) != at_end {
            return None;
        }
        columns.push(column);
    }
    Some((last.unwrap_or(false), columns))
}

/// A sort for few rows, over a table that has an index in its order.
fn index_order(plan: &Arc<dyn ExecutionPlan>) -> Option<Arc<dyn ExecutionPlan>> {
    let sort = is::<SortExec>(plan)?;
    let limit = sort.fetch()?;
    let input = core(sort.input());
    let projection = is::<ProjectionExec>(input);
    let scan = as_scan(core(projection.map_or(input, |p| p.input())))?;
    if *scan.access() != Access::Table || scan.limit().is_some() {
        return None;
    }
    let schema = &scan.table().schema;
    for index in schema.indexes.iter().filter(|index| index.ready) {
        let mut reverse = None;
        let fits = sort.expr().iter().enumerate().all(|(i, by)| {
            let below = match projection {
                Some(projection) => {
                    let column = (by.expr.as_ref() as &dyn Any).downcast_ref::<Column>();
                    column.and_then(|c| projection.expr().get(c.index())).map(|e| &e.expr)
                }
                None => Some(&by.expr),
            };
            let at = below.and_then(|expr| table_column(scan, expr));
            let (Some(at), Some(part)) = (at, index.key.get(i)) else {
                return false;
            };
            let turned = by.options.descending != part.descending;
            schema.position(part.column) == Some(at)
                && by.options.nulls_first == by.options.descending
                && *reverse.get_or_insert(turned) == turned
        });
        if !fits {
            continue;
        }
        let access = Access::Index {
            name: index.name.clone(),
            range: KeyRange::all(),
            reverse: reverse.unwrap_or(false),
        };
        let columns = scan.columns().to_vec();
        let ordered = ScanExec::new(scan.table().clone(), access, columns, Some(limit)).ok()?;
        let ordered: Arc<dyn ExecutionPlan> = Arc::new(ordered);
        return match projection {
            Some(_) => replace_children_if_necessary(Arc::clone(input), vec![ordered]).ok(),
            None => Some(ordered),
        };
    }
    None
}
