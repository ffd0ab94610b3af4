//! Which columns of which tables does a query read?
//!
//! Asked of the plan as it was bound, before anything is simplified: what the statement names counts, also
//! where the answer does not depend on it. A column is followed down to the scan that gives it; a
//! computed one has named its own columns where it was computed. Views are scans here: a statement reads
//! the view's columns, and the view's plan, which has needs of its own, is put in later ([`expand`]).

use std::collections::BTreeSet;
use std::sync::Arc;

use datafusion::common::tree_node::{Transformed, TreeNode, TreeNodeRecursion};
use datafusion::common::{Column, DataFusionError, Result, plan_datafusion_err};
use datafusion::datasource::source_as_provider;
use datafusion::logical_expr::{
    Distinct, Expr, JoinType, LogicalPlan, LogicalPlanBuilder, TableScan, TableSource,
};

use super::context::Known;
use super::provider::{EngineTable, ViewTable};
use crate::rights::{Action, Class, Key, Need};

/// What reading a relation's columns is, for rights.
#[derive(Clone, Debug)]
pub struct Reads {
    /// What the relation is.
    pub class: Class,
    /// Which.
    pub key: Key,
    /// Its name in messages.
    pub name: String,
    /// The number of each of its fields; 0 for what is no column.
    pub numbers: Vec<u32>,
    /// The role that reads it, where that is not the statement's.
    pub by: Option<u32>,
    /// Whether it needs something to read none of its columns. That a row is there is no secret to a
    /// statement that has it otherwise.
    pub rows: bool,
}

/// What a plan reads.
///
/// # Errors
/// A column that is not there: a defect.
pub fn collect(plan: &LogicalPlan, known: &Known) -> Result<Vec<Need>> {
    let mut is_lateral = false;
    plan.apply_with_subqueries(|node| {
        is_lateral |= matches!(node, LogicalPlan::Subquery(_));
        Ok(if is_lateral { TreeNodeRecursion::Stop } else { TreeNodeRecursion::Continue })
    })?;
    let mut collector = Collector { is_lateral, found: Vec::new() };
    collector.query(plan, &mut Vec::new(), known.own)?;
    let need = |(_, reads, columns): (_, Reads, BTreeSet<u32>)| Need {
        by: reads.by,
        columns: columns.into_iter().collect(),
        ..Need::new(Action::Read, reads.class, reads.key, reads.name)
    };
    let asks = |(_, reads, columns): &(_, Reads, BTreeSet<u32>)| reads.rows || !columns.is_empty();
    Ok(collector.found.into_iter().filter(asks).map(need).collect())
}

/// Puts the plans of views in the places where they are read.
///
/// # Errors
/// A plan that does not fit: a defect.
pub fn expand(plan: LogicalPlan) -> Result<LogicalPlan> {
    let expanded = plan.transform_up_with_subqueries(|node| {
        let LogicalPlan::TableScan(scan) = &node else { return Ok(Transformed::no(node)) };
        let provider = source_as_provider(&scan.source)?;
        let Some(view) = (provider.as_ref() as &dyn std::any::Any).downcast_ref::<ViewTable>()
        else {
            return Ok(Transformed::no(node));
        };
        let inner = LogicalPlanBuilder::from(view.plan().clone());
        Ok(Transformed::yes(inner.alias(scan.table_name.clone())?.build()?))
    })?;
    Ok(expanded.data)
}

fn missing(column: &Column) -> DataFusionError {
    plan_datafusion_err!("where column {column} comes from is not known")
}

struct Collector {
    /// Whether a join may have a side that names columns of the other.
    is_lateral: bool,
    /// Scans by their sources, what each is, and the numbers of the columns that are read.
    found: Vec<(Arc<dyn TableSource>, Reads, BTreeSet<u32>)>,
}

impl Collector {
    /// A query with those that it stands in: all columns that it gives are read, and all that it names, but for
    /// the last `own` ones, which the statement asks for itself and judges where it uses them.
    fn query(
        &mut self,
        plan: &LogicalPlan,
        outer: &mut Vec<LogicalPlan>,
        own: usize,
    ) -> Result<()> {
        (0..plan.schema().fields().len()).for_each(|at| self.follow(plan, at));
        self.node(plan, outer, own)
    }

    fn node(&mut self, plan: &LogicalPlan, outer: &mut Vec<LogicalPlan>, own: usize) -> Result<()> {
        if let LogicalPlan::TableScan(scan) = plan {
            self.scan(scan);
        }
        let named = plan.expressions();
        for expr in named.iter().take(named.len().saturating_sub(own)) {
            self.expression(plan, expr, outer)?;
        }
        let around = self.is_lateral && matches!(plan, LogicalPlan::Join(_));
        if around {
            outer.push(plan.clone());
        }
        plan.inputs().into_iter().try_for_each(|input| self.node(input, outer, 0))?;
        if around {
            outer.pop();
        }
        Ok(())
    }

    fn expression(
        &mut self,
        plan: &LogicalPlan,
        expr: &Expr,
        outer: &mut Vec<LogicalPlan>,
    ) -> Result<()> {
        expr.apply(|expr| {
            let subquery = match expr {
                Expr::Column(column) => {
                    self.column(plan, column)?;
                    None
                }
                Expr::OuterReferenceColumn(_, column) => {
                    let plans: Vec<LogicalPlan> = outer.iter().rev().cloned().collect();
                    let found = plans.iter().any(|plan| self.column(plan, column).is_ok());
                    found.then_some(()).ok_or_else(|| missing(column))?;
                    None
                }
                Expr::ScalarSubquery(subquery) => Some(subquery),
                Expr::InSubquery(within) => Some(&within.subquery),
                Expr::Exists(exists) => Some(&exists.subquery),
                Expr::SetComparison(comparison) => Some(&comparison.subquery),
                _ => None,
            };
            if let Some(subquery) = subquery {
                outer.push(plan.clone());
                self.query(&subquery.subquery, outer, 0)?;
                outer.pop();
            }
            Ok(TreeNodeRecursion::Continue)
        })?;
        Ok(())
    }

    /// Notes a column that an expression of a node names. One that is not found must not pass as read by nobody.
    fn column(&mut self, plan: &LogicalPlan, column: &Column) -> Result<()> {
        for input in plan.inputs() {
            if let Some(at) = input.schema().maybe_index_of_column(column) {
                self.follow(input, at);
                return Ok(());
            }
        }
        // Conditions that a scan was given itself.
        if let LogicalPlan::TableScan(_) = plan
            && let Some(at) = plan.schema().maybe_index_of_column(column)
        {
            self.follow(plan, at);
            return Ok(());
        }
        Err(missing(column))
    }

    /// Notes the column that a field of a plan comes from.
    fn follow(&mut self, plan: &LogicalPlan, at: usize) {
        match plan {
            LogicalPlan::TableScan(scan) => {
                let at = scan.projection.as_ref().map_or(at, |projection| projection[at]);
                let found = self.scan(scan);
                if let Some((_, reads, columns)) = found
                    && let Some(number) = reads.numbers.get(at).filter(|number| **number > 0)
                {
                    columns.insert(*number);
                }
            }
            // What these give was computed from what they name.
            LogicalPlan::Projection(_)
            | LogicalPlan::Aggregate(_)
            | LogicalPlan::Values(_)
            | LogicalPlan::EmptyRelation(_)
            | LogicalPlan::Distinct(Distinct::On(_)) => {}
            LogicalPlan::Window(window) => {
                if at < window.input.schema().fields().len() {
                    self.follow(&window.input, at);
                }
            }
            LogicalPlan::Join(join) => {
                let left = join.left.schema().fields().len();
                let right_only = matches!(
                    join.join_type,
                    JoinType::RightSemi | JoinType::RightAnti | JoinType::RightMark
                );
                if right_only {
                    if at < join.right.schema().fields().len() {
                        self.follow(&join.right, at);
                    }
                } else if at < left {
                    self.follow(&join.left, at);
                } else if at - left < join.right.schema().fields().len() {
                    self.follow(&join.right, at - left);
                }
            }
            other => {
                // Rows pass through: filters, sorts, limits, aliases, unions.
                for input in other.inputs() {
                    let width = input.schema().fields().len();
                    if width == other.schema().fields().len() {
                        self.follow(input, at);
                    } else {
                        (0..width).for_each(|at| self.follow(input, at));
                    }
                }
            }
        }
    }

    /// What is known of a scan; `None` for one that needs no rights.
    fn scan(
        &mut self,
        scan: &TableScan,
    ) -> Option<&mut (Arc<dyn TableSource>, Reads, BTreeSet<u32>)> {
        let known = self.found.iter().position(|(source, ..)| Arc::ptr_eq(source, &scan.source));
        let at = match known {
            Some(at) => at,
            None => {
                let reads = self.reads_of(scan)?;
                self.found.push((Arc::clone(&scan.source), reads, BTreeSet::new()));
                self.found.len() - 1
            }
        };
        self.found.get_mut(at)
    }

    fn reads_of(&self, scan: &TableScan) -> Option<Reads> {
        let provider = source_as_provider(&scan.source).ok()?;
        let provider = provider.as_ref() as &dyn std::any::Any;
        match provider.downcast_ref::<EngineTable>() {
            Some(table) => table.reads().cloned(),
            None => provider.downcast_ref::<ViewTable>()?.reads().cloned(),
        }
    }
}
