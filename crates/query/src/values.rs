//! How are the rows of VALUES made into batches?
//!
//! There may be as many as a text is long, so none takes kernels of its own where that can be avoided: rows of constants are
//! columns, and rows that differ in the values of literals alone are calculated together, by the nodes of the first one.
//! Other rows have nodes of their own.

use std::sync::Arc;

use arrow_array::{Array, ArrayRef, RecordBatch, new_null_array};
use arrow_schema::DataType;
use datafusion_execution::TaskContext;
use datafusion_physical_plan::ExecutionPlan;
use onlap_kernels::{Datum, Repr};
use onlap_pg::bound::{Expr, ExprId};
use onlap_pg::{Result, TypeRef};

use crate::build::Rel;
use crate::columns::schema_of;
use crate::compile::{Compiler, MORE_STACK, RED_ZONE};
use crate::env::Env;
use crate::error::external;
use crate::layout::Layout;
use crate::node::{Node, Rows, Spread, arrow};
use crate::step::{Step, stream_of};

/// Rows of VALUES in a batch.
const BATCH_ROWS: usize = 8192;
/// Fewer rows than this are not worth a look at what they have in common.
const ALIKE_ROWS: usize = 4;

impl Compiler<'_> {
    /// VALUES.
    pub fn values(&mut self, rows: &[Vec<ExprId>], types: &[TypeRef]) -> Result<Rel> {
        let before = std::mem::take(&mut self.frame().layout);
        let made = self.value_parts(rows, types);
        self.frame().layout = before;
        let parts = Arc::new(made?);
        let arrows: Vec<DataType> =
            types.iter().map(|ty| self.arrow(ty.oid)).collect::<Result<_>>()?;
        let schema = match arrows.is_empty() {
            true => schema_of(&[DataType::Boolean]),
            false => schema_of(&arrows),
        };
        let (env, out) = (Arc::clone(&self.env), Arc::clone(&schema));
        let run = move |_: Vec<Arc<dyn ExecutionPlan>>, _: Arc<TaskContext>| {
            let (env, schema) = (Arc::clone(&env), Arc::clone(&out));
            let parts = Arc::clone(&parts);
            let batches = (0..parts.len()).map(move |at| {
                let columns = parts[at].columns(&env).map_err(external)?;
                Ok(RecordBatch::try_new(Arc::clone(&schema), columns)?)
            });
            Ok(stream_of(Arc::clone(&out), futures::stream::iter(batches)))
        };
        Ok(Rel {
            plan: Step::make("Values", "", Vec::new(), schema, Arc::new(run)),
            types: types.to_vec(),
        })
    }

    /// The rows of VALUES: those of constants together, those that are alike, others by nodes.
    fn value_parts(&mut self, rows: &[Vec<ExprId>], types: &[TypeRef]) -> Result<Vec<ValuesPart>> {
        if types.is_empty() {
            let none = new_null_array(&DataType::Boolean, rows.len());
            return Ok(vec![ValuesPart::Columns(vec![none])]);
        }
        let reprs: Vec<Repr> = types.iter().map(|ty| self.repr(ty.oid)).collect::<Result<_>>()?;
        let mut parts = Parts { reprs, ..Parts::default() };
        let mut rest = rows;
        while let Some((row, others)) = rest.split_first() {
            let alike = self.alike_rows(rest);
            if alike >= ALIKE_ROWS {
                parts.end()?;
                parts.all.push(self.together(&rest[..alike])?);
                rest = &rest[alike..];
                continue;
            }
            let values: Result<Vec<_>> = row.iter().map(|id| self.constant_of(*id)).collect();
            match values?.into_iter().collect::<Option<Vec<_>>>() {
                Some(values) => parts.add_constants(values)?,
                None => {
                    parts.add_nodes(self.nodes(row)?)?;
                    let made = |id: &ExprId| self.calls_made(*id);
                    if self.frames.iter().any(|frame| frame.one_by_one) && row.iter().any(made) {
                        // INSERT writes it before the values of the next one are calculated.
                        parts.end_of_nodes();
                    }
                }
            }
            rest = others;
        }
        parts.end()?;
        Ok(parts.all)
    }

    /// How many of the first rows differ in the values of literals alone, and are not literals themselves; at least 1.
    fn alike_rows(&self, rows: &[Vec<ExprId>]) -> usize {
        let first = &rows[0];
        let is_literal = |id: &ExprId| matches!(self.bound.expr(*id), Expr::Literal(_));
        if first.iter().all(is_literal) {
            return 1;
        }
        let mut literals = Vec::new();
        let is_like = |row: &&Vec<ExprId>| {
            literals.clear();
            first.iter().zip(*row).all(|(one, other)| self.is_like(*one, *other, &mut literals))
        };
        rows.iter().take(BATCH_ROWS).take_while(is_like).count().max(1)
    }

    /// Whether two expressions of functions that always give the same differ in the values of literals alone; gathers the literals
    /// of the second.
    fn is_like(&self, one: ExprId, other: ExprId, literals: &mut Vec<ExprId>) -> bool {
        if self.bound.ty(one) != self.bound.ty(other) {
            return false;
        }
        let mut both = |one: &ExprId, other: &ExprId| {
            stacker::maybe_grow(RED_ZONE, MORE_STACK, || self.is_like(*one, *other, literals))
        };
        match (self.bound.expr(one), self.bound.expr(other)) {
            (Expr::Literal(_), Expr::Literal(_)) => {
                literals.push(other);
                true
            }
            (Expr::Call(a), Expr::Call(b)) => {
                a.proc == b.proc
                    && a.variadic == b.variadic
                    && self.is_immutable(a.proc)
                    && a.args.len() == b.args.len()
                    && a.args.iter().zip(&b.args).all(|(a, b)| a.0 == b.0 && both(&a.1, &b.1))
            }
            (Expr::Op(a), Expr::Op(b)) => {
                a.operator == b.operator
                    && self.is_immutable(a.proc)
                    && a.args.len() == b.args.len()
                    && a.args.iter().zip(&b.args).all(|(a, b)| both(a, b))
            }
            (Expr::Relabel(a), Expr::Relabel(b)) => both(a, b),
            _ => false,
        }
    }

    /// Rows that are alike: literals that differ are columns for the nodes of the first row.
    fn together(&mut self, rows: &[Vec<ExprId>]) -> Result<ValuesPart> {
        let mut literals: Vec<Vec<ExprId>> = Vec::with_capacity(rows.len());
        for row in rows {
            let mut own = Vec::with_capacity(literals.first().map_or(row.len(), Vec::len));
            for (one, other) in rows[0].iter().zip(row) {
                assert!(self.is_like(*one, *other, &mut own), "rows that are alike stay so");
            }
            literals.push(own);
        }
        let differs = self.differing(&literals);
        let mut columns: Vec<Vec<Datum<'static>>> =
            vec![Vec::with_capacity(rows.len()); differs.len()];
        let mut is_column = vec![false; literals[0].len()];
        differs.iter().for_each(|at| is_column[*at] = true);
        for (n, row) in literals.iter().enumerate() {
            let mut out = columns.iter_mut();
            for (at, id) in row.iter().enumerate() {
                let differs = is_column[at];
                // A literal of all rows is read once, in its turn: the first error is the one that is shown.
                if (n == 0 || differs)
                    && let Expr::Literal(literal) = self.bound.expr(*id)
                {
                    let value =
                        self.literal_value(literal, self.bound.ty(*id), self.bound.place(*id))?;
                    if differs {
                        out.next().expect("each that differs has a column").push(value);
                    }
                }
            }
        }
        let mut layout = Layout::default();
        let mut arrays = Vec::with_capacity(columns.len());
        for (at, values) in differs.iter().zip(&columns) {
            let ty = self.bound.ty(literals[0][*at]);
            arrays.push(Datum::column(self.repr(ty.oid)?, values.iter())?);
            layout.add_expr(literals[0][*at], ty);
        }
        let before = std::mem::replace(&mut self.frame().layout, layout);
        let nodes = self.nodes(&rows[0]);
        self.frame().layout = before;
        Ok(ValuesPart::Alike { nodes: nodes?, literals: arrays, rows: rows.len() })
    }

    /// The places of literals that are not the same in all rows, and of those that could be taken for one of them.
    fn differing(&self, literals: &[Vec<ExprId>]) -> Vec<usize> {
        let first = &literals[0];
        let is_one = |at: &usize| {
            let one = self.bound.expr(first[*at]);
            literals[1..].iter().any(|row| self.bound.expr(row[*at]) != one)
        };
        let differs: Vec<bool> = (0..first.len()).map(|at| is_one(&at)).collect();
        // What is the same in all rows is little: a length, a flag.
        let looks_like_one = |at: &usize| {
            differs[*at]
                || (0..first.len())
                    .any(|one| differs[one] && self.bound.same(first[one], first[*at]))
        };
        (0..first.len()).filter(looks_like_one).collect()
    }
}

/// Rows of VALUES.
enum ValuesPart {
    /// As columns.
    Columns(Vec<ArrayRef>),
    /// By row and column.
    Nodes(Vec<Vec<Node>>),
    /// Alike: nodes by column, over the literals that differ.
    Alike { nodes: Vec<Node>, literals: Vec<ArrayRef>, rows: usize },
}

/// Parts as they are made.
#[derive(Default)]
struct Parts {
    reprs: Vec<Repr>,
    all: Vec<ValuesPart>,
    /// Constants that are not a part yet, by column.
    constants: Vec<Vec<Datum<'static>>>,
    /// Rows of nodes that are not a part yet; one of both is empty.
    nodes: Vec<Vec<Node>>,
}

impl Parts {
    fn add_constants(&mut self, row: Vec<Datum<'static>>) -> Result<()> {
        self.end_of_nodes();
        self.constants.resize(self.reprs.len(), Vec::new());
        self.constants.iter_mut().zip(row).for_each(|(column, one)| column.push(one));
        if self.constants[0].len() == BATCH_ROWS { self.end_of_constants() } else { Ok(()) }
    }

    fn add_nodes(&mut self, row: Vec<Node>) -> Result<()> {
        self.end_of_constants()?;
        self.nodes.push(row);
        if self.nodes.len() == BATCH_ROWS {
            self.end_of_nodes();
        }
        Ok(())
    }

    fn end(&mut self) -> Result<()> {
        self.end_of_nodes();
        self.end_of_constants()
    }

    fn end_of_nodes(&mut self) {
        if !self.nodes.is_empty() {
            self.all.push(ValuesPart::Nodes(std::mem::take(&mut self.nodes)));
        }
    }

    fn end_of_constants(&mut self) -> Result<()> {
        let columns = std::mem::take(&mut self.constants);
        if columns.is_empty() {
            return Ok(());
        }
        let made = columns.iter().zip(&self.reprs);
        let made = made.map(|(column, repr)| Datum::column(*repr, column.iter()));
        self.all.push(ValuesPart::Columns(made.collect::<Result<_>>()?));
        Ok(())
    }
}

impl ValuesPart {
    fn columns(&self, env: &Env) -> Result<Vec<ArrayRef>> {
        match self {
            ValuesPart::Columns(columns) => Ok(columns.clone()),
            ValuesPart::Alike { nodes, literals, rows } => {
                let all = Rows { columns: literals, count: *rows };
                let value = |node: &Node| node.eval(&all, env)?.spread(*rows, env);
                let made: Result<Vec<ArrayRef>> = nodes.iter().map(value).collect();
                made.map_err(|error| first_error(nodes, literals, *rows, env).unwrap_or(error))
            }
            ValuesPart::Nodes(rows) => {
                let one = Rows { columns: &[], count: 1 };
                let value = |node: &Node| Ok(node.eval(&one, env)?.array);
                let made = rows.iter().map(|row| row.iter().map(value).collect());
                let made = made.collect::<Result<Vec<Vec<ArrayRef>>>>()?;
                let column = |at: usize| {
                    let parts: Vec<&dyn Array> = made.iter().map(|row| &*row[at]).collect();
                    arrow_select::concat::concat(&parts).map_err(arrow)
                };
                (0..rows[0].len()).map(column).collect()
            }
        }
    }
}

/// The error that comes first where rows are calculated one after the other, as PostgreSQL does.
fn first_error(
    nodes: &[Node],
    literals: &[ArrayRef],
    rows: usize,
    env: &Env,
) -> Option<onlap_pg::Error> {
    (0..rows).find_map(|row| {
        let columns: Vec<ArrayRef> = literals.iter().map(|column| column.slice(row, 1)).collect();
        let one = Rows { columns: &columns, count: 1 };
        nodes.iter().find_map(|node| node.eval(&one, env).err())
    })
}
