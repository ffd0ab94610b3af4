//! How is a subquery answered that the planner cannot turn into a join?
//!
//! Correlated subqueries that are no aggregate (`SELECT (SELECT name FROM u WHERE u.id = t.u) FROM t`),
//! and all of the system's tables, which join in ways the planner does not take apart. Such a subquery
//! becomes a function of the outer columns that it names: for each different row of these it is planned
//! and run with literals in their place. The planner's own way, a join, is better where it goes.

use std::collections::HashMap;
use std::fmt;
use std::hash::{Hash, Hasher};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use datafusion::arrow::array::{RecordBatch, new_empty_array};
use datafusion::arrow::datatypes::{DataType, Field, FieldRef};
use datafusion::common::tree_node::{Transformed, TreeNode, TreeNodeRecursion};
use datafusion::common::{DFSchema, Result, ScalarValue};
use datafusion::datasource::source_as_provider;
use datafusion::execution::{SessionState, TaskContext};
use datafusion::logical_expr::expr_rewriter::NamePreserver;
use datafusion::logical_expr::utils::merge_schema;
use datafusion::logical_expr::{
    ColumnarValue, Expr, LogicalPlan, LogicalPlanBuilder, ReturnFieldArgs, ScalarFunctionArgs,
    ScalarUDF, ScalarUDFImpl, Signature, TypeSignature, Volatility,
};
use datafusion::physical_plan::collect;
use tokio::runtime::Handle;

use super::scan::external;
use super::steps;
use crate::error::{SqlError, state};
use crate::scope::Scope;
use crate::system;

/// What running a subquery needs.
#[derive(Clone)]
pub struct Runner {
    /// The planner's state.
    pub state: SessionState,
    /// The threads that run queries.
    pub handle: Handle,
    /// The statement's transaction.
    pub scope: Arc<Scope>,
}

/// Which question a subquery answers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Question {
    Value,
    Exists,
    /// Whether a value, the first argument, is among its rows.
    Contains,
}

/// Whether a plan has a subquery that [`rewrite`] turns into a function.
pub fn is_needed(plan: &LogicalPlan) -> bool {
    let mut needed = false;
    let _ = plan.apply(|node| {
        node.apply_expressions(|expr| {
            expr.apply(|e| {
                needed |= subquery_of(e).is_some();
                Ok(if needed { TreeNodeRecursion::Stop } else { TreeNodeRecursion::Continue })
            })
        })
    });
    needed
}

/// A correlated subquery that the planner does not take apart.
fn subquery_of(expr: &Expr) -> Option<(Question, bool, &LogicalPlan)> {
    let (question, negated, subquery) = match expr {
        Expr::ScalarSubquery(subquery) => (Question::Value, false, subquery),
        Expr::Exists(exists) => (Question::Exists, exists.negated, &exists.subquery),
        Expr::InSubquery(within) => (Question::Contains, within.negated, &within.subquery),
        _ => return None,
    };
    let plan = subquery.subquery.as_ref();
    let correlated = !subquery.outer_ref_columns.is_empty();
    let own = (question == Question::Value && !is_aggregate(plan)) || is_beyond_joins(plan);
    (correlated && own).then_some((question, negated, plan))
}

fn is_aggregate(plan: &LogicalPlan) -> bool {
    match plan {
        LogicalPlan::Aggregate(aggregate) => aggregate.group_expr.is_empty(),
        LogicalPlan::Projection(_) | LogicalPlan::SubqueryAlias(_) | LogicalPlan::Sort(_) => {
            plan.inputs().first().is_some_and(|input| is_aggregate(input))
        }
        _ => false,
    }
}

fn is_beyond_joins(plan: &LogicalPlan) -> bool {
    let mut found = false;
    let _ = plan.apply_with_subqueries(|node| {
        // A list of the outer query is none of the planner's joins either.
        found |= matches!(node, LogicalPlan::Unnest(_));
        if let LogicalPlan::TableScan(scan) = node
            && let Ok(provider) = source_as_provider(&scan.source)
        {
            found |= system::is_system(provider.as_ref());
        }
        Ok(if found { TreeNodeRecursion::Stop } else { TreeNodeRecursion::Continue })
    });
    found
}

/// Puts functions in the place of such subqueries.
///
/// # Errors
/// Expressions that do not go together: a defect.
pub fn rewrite(plan: LogicalPlan, runner: &Runner) -> Result<LogicalPlan> {
    let rewritten = plan.transform_up(|node| {
        let schema = merge_schema(&node.inputs());
        let names = NamePreserver::new(&node);
        node.map_expressions(|expr| {
            let name = names.save(&expr);
            let new = expr.transform_up(|e| function_of(e, &schema, runner))?;
            Ok(new.update_data(|e| name.restore(e)))
        })
    })?;
    Ok(rewritten.data)
}

fn function_of(expr: Expr, outer: &DFSchema, runner: &Runner) -> Result<Transformed<Expr>> {
    let Some((question, negated, plan)) = subquery_of(&expr) else {
        return Ok(Transformed::no(expr));
    };
    let plan = rewrite(plan.clone(), runner)?;
    let parameters = plan.all_out_ref_exprs();
    let mut arguments: Vec<Expr> = match &expr {
        Expr::InSubquery(within) => vec![(*within.expr).clone()],
        _ => Vec::new(),
    };
    // A column of a query further out stays what it is; that query's own turn comes.
    arguments.extend(parameters.iter().map(|parameter| match parameter {
        Expr::OuterReferenceColumn(_, column) if outer.has_column(column) => {
            Expr::Column(column.clone())
        }
        other => other.clone(),
    }));
    let plan = match question {
        Question::Exists => LogicalPlanBuilder::from(plan).limit(0, Some(1))?.build()?,
        _ => plan,
    };
    let returns = match question {
        Question::Value => plan.schema().field(0).as_ref().clone().with_nullable(true),
        _ => Field::new("subquery", DataType::Boolean, true),
    };
    let kinds = vec![TypeSignature::VariadicAny, TypeSignature::Nullary];
    static NEXT: AtomicU64 = AtomicU64::new(0);
    let function = PerRow {
        id: NEXT.fetch_add(1, Ordering::Relaxed),
        question,
        plan,
        parameters,
        runner: runner.clone(),
        returns: Arc::new(returns),
        signature: Signature::one_of(kinds, Volatility::Volatile),
    };
    let call = ScalarUDF::new_from_impl(function).call(arguments);
    Ok(Transformed::yes(if negated { Expr::Not(Box::new(call)) } else { call }))
}

struct PerRow {
    id: u64,
    question: Question,
    plan: LogicalPlan,
    /// Outer columns, in the order of the arguments.
    parameters: Vec<Expr>,
    runner: Runner,
    returns: FieldRef,
    signature: Signature,
}

impl fmt::Debug for PerRow {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "subquery {}", self.id)
    }
}
impl PartialEq for PerRow {
    fn eq(&self, other: &PerRow) -> bool {
        self.id == other.id
    }
}
impl Eq for PerRow {}
impl Hash for PerRow {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.id.hash(state);
    }
}

impl ScalarUDFImpl for PerRow {
    fn name(&self) -> &str {
        "subquery"
    }
    fn signature(&self) -> &Signature {
        &self.signature
    }
    fn return_type(&self, _: &[DataType]) -> Result<DataType> {
        Ok(self.returns.data_type().clone())
    }
    fn return_field_from_args(&self, _: ReturnFieldArgs<'_>) -> Result<FieldRef> {
        Ok(Arc::clone(&self.returns))
    }
    fn invoke_with_args(&self, args: ScalarFunctionArgs) -> Result<ColumnarValue> {
        let n = args.number_rows;
        let columns: Vec<_> = args.args.iter().map(|a| a.to_array(n)).collect::<Result<_>>()?;
        let mut known: HashMap<Vec<ScalarValue>, ScalarValue> = HashMap::new();
        let mut answers = Vec::with_capacity(n);
        for row in 0..n {
            let values: Vec<ScalarValue> = columns
                .iter()
                .map(|c| ScalarValue::try_from_array(c, row))
                .collect::<Result<_>>()?;
            let answer = match known.get(&values) {
                Some(answer) => answer.clone(),
                None => {
                    let answer = self.answer(&values)?;
                    known.insert(values, answer.clone());
                    answer
                }
            };
            answers.push(answer);
        }
        Ok(ColumnarValue::Array(match answers.is_empty() {
            true => new_empty_array(self.returns.data_type()),
            false => ScalarValue::iter_to_array(answers)?,
        }))
    }
}

impl PerRow {
    fn answer(&self, values: &[ScalarValue]) -> Result<ScalarValue> {
        self.runner.scope.plan_goes_on().map_err(external)?;
        let (sought, values) = match self.question {
            Question::Contains => (values.first(), &values[1..]),
            _ => (None, values),
        };
        let batches = self.run(values)?;
        let rows: usize = batches.iter().map(RecordBatch::num_rows).sum();
        match self.question {
            Question::Exists => Ok(ScalarValue::Boolean(Some(rows > 0))),
            Question::Value if rows > 1 => Err(external(SqlError::new(
                state::CARDINALITY,
                "more than one row returned by a subquery used as an expression",
            ))),
            Question::Value => match batches.iter().find(|b| b.num_rows() > 0) {
                Some(batch) => ScalarValue::try_from_array(batch.column(0), 0),
                None => ScalarValue::try_from(self.returns.data_type()),
            },
            Question::Contains => contains(&batches, sought),
        }
    }

    fn run(&self, values: &[ScalarValue]) -> Result<Vec<RecordBatch>> {
        let plan = self.plan.clone().transform_up_with_subqueries(|node| {
            // A list of the outer query in FROM: with literals in it, it depends on nothing.
            let node = match node {
                LogicalPlan::Subquery(lateral) => Arc::unwrap_or_clone(lateral.subquery),
                node => node,
            };
            let names = NamePreserver::new(&node);
            node.map_expressions(|expr| {
                let name = names.save(&expr);
                let new = expr.transform_up(|e| {
                    let at = self.parameters.iter().position(|p| *p == e);
                    Ok(match at {
                        Some(at) => Transformed::yes(Expr::Literal(values[at].clone(), None)),
                        None => Transformed::no(e),
                    })
                })?;
                Ok(new.update_data(|e| name.restore(e)))
            })
        })?;
        let Runner { state, handle, scope } = &self.runner;
        let config = state.config().clone().with_extension(Arc::clone(scope));
        let context = Arc::new(TaskContext::from(state).with_session_config(config));
        tokio::task::block_in_place(|| {
            let steps = steps::of(state, handle, &plan.data)?;
            handle.block_on(collect(steps, context))
        })
    }
}

/// Whether a value is among the rows: NULL where that hangs on a NULL.
fn contains(batches: &[RecordBatch], sought: Option<&ScalarValue>) -> Result<ScalarValue> {
    let mut unknown = false;
    for batch in batches {
        for row in 0..batch.num_rows() {
            let value = ScalarValue::try_from_array(batch.column(0), row)?;
            let sought = sought.filter(|s| !s.is_null());
            match sought.filter(|_| !value.is_null()) {
                None => unknown = true,
                Some(sought) => {
                    if value.cast_to(&sought.data_type())? == *sought {
                        return Ok(ScalarValue::Boolean(Some(true)));
                    }
                }
            }
        }
    }
    Ok(ScalarValue::Boolean(if unknown { None } else { Some(false) }))
}
