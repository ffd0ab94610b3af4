//! Where do the digits come from that a numeric of an answer shows?
//!
//! Plans calculate with decimals of one scale, which order and compare as they should, but do not know how
//! many digits PostgreSQL would print: those of a quotient depend on its operands. Columns of the answer
//! that are quotients, averages or calculated from them are therefore computed a second time, by
//! [`crate::functions::numerics`], beside what the plan needs for itself. A column is followed through
//! projections, sorts, filters, limits and names of subqueries to where it is calculated; where the way
//! ends earlier (DISTINCT, UNION, joins) the plan's own scale is shown.

use std::sync::Arc;

use datafusion::arrow::datatypes::DataType;
use datafusion::common::{Column, DFSchema, Result, ScalarValue};
use datafusion::logical_expr::expr::{AggregateFunction, Case, ScalarFunction, WindowFunction};
use datafusion::logical_expr::{
    AggregateUDF, BinaryExpr, Cast, Expr, ExprSchemable, LogicalPlan, LogicalPlanBuilder, Operator,
    WindowFunctionDefinition,
};

use crate::functions::numerics::Exact;
use crate::types::FREE_SCALE;

/// Aggregates that make an average.
pub struct Digits {
    /// `sum`
    pub sum: Arc<AggregateUDF>,
    /// `count`
    pub count: Arc<AggregateUDF>,
}

/// Names of columns that are added begin so; nothing else does.
const ADDED: &str = "onlap digits ";

/// Which column beside it has the digits of each column of a plan; `None` for those without.
type Beside = Vec<Option<Column>>;

impl Digits {
    /// The plan, with numerics that show PostgreSQL's digits.
    ///
    /// # Errors
    /// Columns that do not go together: a defect.
    pub fn show(&self, plan: LogicalPlan) -> Result<LogicalPlan> {
        let schema = Arc::clone(plan.schema());
        let decimal = schema.fields().iter().any(|field| field.data_type().is_decimal());
        if !decimal && !has_case(&plan) {
            return Ok(plan);
        }
        let mut added = 0;
        let (wider, beside) = self.carry(plan.clone(), &mut added)?;
        if beside.iter().all(Option::is_none) {
            return Ok(plan);
        }
        let columns = schema.iter().zip(beside).map(|((table, field), beside)| match beside {
            Some(column) => Expr::Column(column).alias_qualified(table.cloned(), field.name()),
            None => Expr::Column(Column::from((table, field))),
        });
        LogicalPlanBuilder::from(wider).project(columns.collect::<Vec<_>>())?.build()
    }

    /// The plan with columns added, and where they are.
    fn carry(&self, plan: LogicalPlan, added: &mut usize) -> Result<(LogicalPlan, Beside)> {
        let width = plan.schema().fields().len();
        let without = |plan| Ok((plan, vec![None; width]));
        match plan {
            LogicalPlan::Projection(projection) => {
                let (input, below) = self.carry(Arc::unwrap_or_clone(projection.input), added)?;
                let mut all = projection.expr.clone();
                let mut beside = Vec::with_capacity(width);
                for (expr, (table, field)) in projection.expr.iter().zip(projection.schema.iter()) {
                    let exact = match field.data_type().is_decimal() || is_case(expr) {
                        true => self.exact(expr, &input, &below)?,
                        false => None,
                    };
                    let name = exact.map(|exact| {
                        let name = next(added);
                        all.push(exact.alias_qualified(table.cloned(), name.clone()));
                        Column::new(table.cloned(), name)
                    });
                    beside.push(name);
                }
                let plan = LogicalPlanBuilder::from(input).project(all)?.build()?;
                Ok((plan, beside))
            }
            LogicalPlan::SubqueryAlias(alias) => {
                let (input, below) = self.carry(Arc::unwrap_or_clone(alias.input), added)?;
                let qualify = |column: Column| Column::new(Some(alias.alias.clone()), column.name);
                let beside = below.into_iter().map(|column| column.map(qualify)).collect();
                let plan = LogicalPlanBuilder::from(input).alias(alias.alias.clone())?.build()?;
                Ok((plan, beside))
            }
            LogicalPlan::Sort(_) | LogicalPlan::Limit(_) | LogicalPlan::Filter(_) => {
                let exprs = plan.expressions();
                let (input, beside) = self.carry(plan.inputs()[0].clone(), added)?;
                Ok((plan.with_new_exprs(exprs, vec![input])?, beside))
            }
            LogicalPlan::Aggregate(ref aggregate) => {
                let (mut all, mut averages) = (aggregate.aggr_expr.clone(), vec![None; width]);
                let first = width - aggregate.aggr_expr.len();
                for (i, expr) in aggregate.aggr_expr.iter().enumerate() {
                    if let Expr::AggregateFunction(f) = unaliased(expr)
                        && is_exact_average(f.func.name(), &f.params.args, aggregate.input.schema())
                    {
                        let of = |func: &Arc<AggregateUDF>, name: String| {
                            let (func, params) = (Arc::clone(func), f.params.clone());
                            Expr::AggregateFunction(AggregateFunction { func, params }).alias(name)
                        };
                        let (sum, count) = (next(added), next(added));
                        all.push(of(&self.sum, sum.clone()));
                        all.push(of(&self.count, count.clone()));
                        averages[first + i] = Some((sum, count));
                    }
                }
                if averages.iter().all(Option::is_none) {
                    return without(plan);
                }
                let (input, groups) = (Arc::clone(&aggregate.input), aggregate.group_expr.clone());
                let wider = LogicalPlanBuilder::from(Arc::unwrap_or_clone(input))
                    .aggregate(groups, all)?
                    .build()?;
                divide(&plan, wider, averages, &vec![None; width], added)
            }
            LogicalPlan::Window(ref window) => {
                let (mut all, mut averages) = (window.window_expr.clone(), vec![None; width]);
                let first = width - window.window_expr.len();
                for (i, expr) in window.window_expr.iter().enumerate() {
                    if let Expr::WindowFunction(f) = unaliased(expr)
                        && is_exact_average(f.fun.name(), &f.params.args, window.input.schema())
                    {
                        // The planner does not compute the same function twice, so one that is there is
                        // taken.
                        let mut of = |func: &Arc<AggregateUDF>| {
                            let fun = WindowFunctionDefinition::AggregateUDF(Arc::clone(func));
                            let params = f.params.clone();
                            let wanted = Expr::from(WindowFunction { fun, params });
                            match all.iter().find(|e| *unaliased(e) == wanted) {
                                Some(there) => there.schema_name().to_string(),
                                None => {
                                    let name = next(added);
                                    all.push(wanted.alias(name.clone()));
                                    name
                                }
                            }
                        };
                        averages[first + i] = Some((of(&self.sum), of(&self.count)));
                    }
                }
                let (input, mut below) = self.carry(window.input.as_ref().clone(), added)?;
                if averages.iter().all(Option::is_none) && below.iter().all(Option::is_none) {
                    return without(plan);
                }
                below.resize(width, None);
                let wider = LogicalPlanBuilder::from(input).window(all)?.build()?;
                divide(&plan, wider, averages, &below, added)
            }
            other => without(other),
        }
    }

    /// An expression with its own digits; `None` where the plan's are right.
    fn exact(&self, expr: &Expr, input: &LogicalPlan, below: &Beside) -> Result<Option<Expr>> {
        let schema = input.schema();
        let number = |e: &Expr| -> Result<Expr> {
            Ok(self.exact(e, input, below)?.unwrap_or_else(|| call(Exact::Number, vec![e.clone()])))
        };
        let is_null = |e: &Expr| matches!(e, Expr::Literal(value, _) if value.is_null());
        let branch = |e: &Expr| -> Result<Expr> {
            match is_null(e) {
                true => Ok(Expr::Literal(ScalarValue::LargeUtf8(None), None)),
                false => number(e),
            }
        };
        let is_exact = |e: &Expr| {
            e.get_type(schema).is_ok_and(|ty| ty.is_decimal() || ty.is_integer()) || is_null(e)
        };
        Ok(match expr {
            Expr::Alias(alias) => self.exact(&alias.expr, input, below)?,
            Expr::Column(column) => {
                let at = schema.maybe_index_of_column(column);
                at.and_then(|at| below.get(at).cloned().flatten()).map(Expr::Column)
            }
            Expr::BinaryExpr(BinaryExpr { left, op, right })
                if is_exact(left) && is_exact(right) =>
            {
                let operation = match op {
                    Operator::Plus => Exact::Add,
                    Operator::Minus => Exact::Subtract,
                    Operator::Multiply => Exact::Multiply,
                    Operator::Divide => Exact::Divide,
                    Operator::Modulo => Exact::Remainder,
                    _ => return Ok(None),
                };
                // The dividend's cast is the planner's own affair.
                let left = match (op, &**left) {
                    (Operator::Divide, Expr::Cast(cast)) if is_dividend(cast) => &cast.expr,
                    _ => left,
                };
                // Each operand is gone through once: chains of operators are as deep as they are long.
                let (l, r) = (self.exact(left, input, below)?, self.exact(right, input, below)?);
                let known = operation == Exact::Divide || l.is_some() || r.is_some();
                known.then(|| {
                    let plain = |e: &Expr| call(Exact::Number, vec![e.clone()]);
                    let l = l.unwrap_or_else(|| plain(left));
                    call(operation, vec![l, r.unwrap_or_else(|| plain(right))])
                })
            }
            Expr::Negative(inner) => {
                let exact = self.exact(inner, input, below)?;
                exact.map(|e| call(Exact::Subtract, vec![integer(0), e]))
            }
            Expr::Cast(cast) => match cast.field.data_type() {
                DataType::Decimal128(38, scale) if *scale == FREE_SCALE as i8 => {
                    let text = matches!(&*cast.expr, Expr::Literal(value, _)
                        if matches!(value, ScalarValue::Utf8(Some(_))));
                    (text || is_exact(&cast.expr)).then(|| number(&cast.expr)).transpose()?
                }
                _ => None,
            },
            Expr::ScalarFunction(ScalarFunction { func, args }) if args.iter().all(is_exact) => {
                let operation = match (func.name(), args.len()) {
                    ("round", 1 | 2) => Exact::Round,
                    ("trunc", 1 | 2) => Exact::Truncate,
                    ("ceil", 1) => Exact::Ceil,
                    ("floor", 1) => Exact::Floor,
                    ("abs", 1) => Exact::Abs,
                    ("coalesce", _) => {
                        let args = args.iter().map(branch).collect::<Result<Vec<_>>>()?;
                        return Ok(Some(func.call(args)));
                    }
                    _ => return Ok(None),
                };
                let mut all = vec![number(&args[0])?];
                all.extend(args.get(1).cloned());
                Some(call(operation, all))
            }
            Expr::Case(case) => {
                let results = case.when_then_expr.iter().map(|(_, then)| then);
                let mut all = results.chain(&case.else_expr);
                let is_decimal = |e: &Expr| e.get_type(schema).is_ok_and(|ty| ty.is_decimal());
                if !all.clone().all(|e| is_exact(e)) || !all.any(|e| is_decimal(e)) {
                    return Ok(None);
                }
                let whens = case.when_then_expr.iter();
                let when_then_expr = whens
                    .map(|(when, then)| Ok((when.clone(), Box::new(branch(then)?))))
                    .collect::<Result<Vec<_>>>()?;
                let otherwise = case.else_expr.as_ref().map(|e| branch(e)).transpose()?;
                let else_expr = otherwise.map(Box::new);
                Some(Expr::Case(Case { expr: case.expr.clone(), when_then_expr, else_expr }))
            }
            Expr::ScalarSubquery(subquery) => {
                let inner = self.show(subquery.subquery.as_ref().clone())?;
                let changed = inner.schema().field(0).data_type() == &DataType::LargeUtf8;
                changed.then(|| {
                    let mut subquery = subquery.clone();
                    subquery.subquery = Arc::new(inner);
                    Expr::ScalarSubquery(subquery)
                })
            }
            _ => None,
        })
    }
}

fn is_case(expr: &Expr) -> bool {
    matches!(unaliased(expr), Expr::Case(_))
}

/// Whether a column of the answer is a CASE, whose type its first branch does not tell.
fn has_case(plan: &LogicalPlan) -> bool {
    match plan {
        LogicalPlan::Projection(projection) => projection.expr.iter().any(is_case),
        LogicalPlan::Sort(_) | LogicalPlan::Limit(_) => has_case(plan.inputs()[0]),
        _ => false,
    }
}

/// All columns of `plan`, those that `wider` has beside them from below, and quotients of its sums and
/// counts.
fn divide(
    plan: &LogicalPlan,
    wider: LogicalPlan,
    averages: Vec<Option<(String, String)>>,
    below: &Beside,
    added: &mut usize,
) -> Result<(LogicalPlan, Beside)> {
    let mut all: Vec<Expr> = plan.schema().columns().into_iter().map(Expr::Column).collect();
    all.extend(below.iter().flatten().cloned().map(Expr::Column));
    let column = |name: String| Expr::Column(Column::new_unqualified(name));
    let mut beside = Vec::with_capacity(averages.len());
    for (average, below) in averages.into_iter().zip(below) {
        let Some((sum, count)) = average else {
            beside.push(below.clone());
            continue;
        };
        beside.push(Some({
            let name = next(added);
            let count = Expr::Case(Case {
                expr: None,
                when_then_expr: vec![(
                    Box::new(column(count.clone()).not_eq(integer(0))),
                    Box::new(column(count)),
                )],
                else_expr: None,
            });
            all.push(call(Exact::Divide, vec![column(sum), count]).alias(name.clone()));
            Column::new_unqualified(name)
        }));
    }
    Ok((LogicalPlanBuilder::from(wider).project(all)?.build()?, beside))
}

fn next(added: &mut usize) -> String {
    *added += 1;
    format!("{ADDED}{added}")
}

fn call(exact: Exact, arguments: Vec<Expr>) -> Expr {
    exact.udf().call(arguments)
}

fn integer(v: i64) -> Expr {
    Expr::Literal(ScalarValue::Int64(Some(v)), None)
}

fn unaliased(expr: &Expr) -> &Expr {
    match expr {
        Expr::Alias(alias) => unaliased(&alias.expr),
        other => other,
    }
}

fn is_dividend(cast: &Cast) -> bool {
    cast.field.data_type() == &super::operators::DIVIDEND
}

/// Whether this is the average of integers or numerics.
fn is_exact_average(name: &str, arguments: &[Expr], schema: &DFSchema) -> bool {
    let [argument] = arguments else { return false };
    name == "avg" && argument.get_type(schema).is_ok_and(|ty| ty.is_decimal() || ty.is_integer())
}
