//! How do functions in FROM become rows?
//!
//! One that gives no set is a row. Several stand side by side, NULL where one has ended. What gives row values gives a
//! column per field. Arguments are calculated when the step starts: they may name what stands before in FROM.
//!
//! Thread safety: a stream belongs to one thread.

use std::sync::Arc;

use arrow_array::{ArrayRef, RecordBatch};
use arrow_schema::{DataType, SchemaRef};
use datafusion_execution::TaskContext;
use datafusion_physical_plan::ExecutionPlan;
use onlap_kernels::array::Record;
use onlap_kernels::series::Rows as Series;
use onlap_kernels::{Cx, Datum, Repr};
use onlap_pg::bound::{Expr, Function};
use onlap_pg::catalog::{Catalog, oids};
use onlap_pg::{Error, Oid, Result, TypeRef};

use crate::build::Rel;
use crate::columns::schema_of;
use crate::compile::Compiler;
use crate::env::Env;
use crate::error::external;
use crate::node::{Node, Rows, arrow};
use crate::series::{BATCH_BYTES, BATCH_ROWS, SetCall, advance};
use crate::step::{Step, stream_of};

type Plan = Arc<dyn ExecutionPlan>;

/// json_to_record, json_to_recordset, json_populate_record, json_populate_recordset, and those of jsonb.
const POPULATES: [Oid; 8] = [3204, 3205, 3960, 3961, 3490, 3491, 3209, 3475];

/// What a call is.
enum Source {
    /// One that gives a set.
    Set(SetCall),
    /// A value of this representation, once.
    One(Node, Repr),
}

/// A call in FROM.
struct Called {
    source: Source,
    /// Its columns.
    types: Vec<Oid>,
    reprs: Vec<Repr>,
    /// Whether a row is one row value whose fields are the columns.
    fields: bool,
}

/// Functions in FROM at work.
struct Scan {
    calls: Vec<Called>,
    ordinality: bool,
    env: Arc<Env>,
    schema: SchemaRef,
}

/// Sets that are being read.
struct Running {
    series: Vec<Option<Series>>,
    rows: i64,
}

impl Compiler<'_> {
    /// Functions in FROM.
    ///
    /// # Errors
    /// `0A000`: a function has no kernel.
    pub fn functions(&mut self, entry: usize, calls: &[Function], ordinality: bool) -> Result<Rel> {
        let bound = self.bound;
        let types = bound.query(self.frame().query).entries[entry - 1].types.clone();
        let before = std::mem::take(&mut self.frame().layout);
        let mut at = 0;
        let mut made = Vec::with_capacity(calls.len());
        for function in calls {
            let columns = &types[at..at + function.columns];
            at += function.columns;
            made.push(self.called(function, columns));
        }
        self.frame().layout = before;
        let calls = made.into_iter().collect::<Result<_>>()?;
        let arrows: Vec<DataType> =
            types.iter().map(|ty| self.arrow(ty.oid)).collect::<Result<_>>()?;
        let schema = schema_of(&arrows);
        let (env, out) = (Arc::clone(&self.env), Arc::clone(&schema));
        let work = Arc::new(Scan { calls, ordinality, env, schema: Arc::clone(&schema) });
        let run = move |_: Vec<Plan>, context: Arc<TaskContext>| {
            let work = Arc::clone(&work);
            let most = context.session_config().batch_size().min(BATCH_ROWS);
            let batches = futures::stream::try_unfold(None, move |running| {
                futures::future::ready(work.next(running, most).map_err(external))
            });
            Ok(stream_of(Arc::clone(&out), batches))
        };
        let plan = Step::make("Function Scan", "", Vec::new(), schema, Arc::new(run));
        Ok(Rel { plan, types })
    }

    fn called(&mut self, function: &Function, columns: &[TypeRef]) -> Result<Called> {
        let ty = self.bound.ty(function.call).oid;
        let is_row = ty == oids::RECORD || self.env.catalog.is_composite(ty);
        let (source, fields) = match self.populated(function)? {
            Some(call) => (Source::Set(call), true),
            None => match self.set_call(function.call)? {
                Some(call) => {
                    let fields = is_row && call.several.is_none();
                    (Source::Set(call), fields)
                }
                None => (Source::One(self.node(function.call)?, self.repr(ty)?), is_row),
            },
        };
        let types: Vec<Oid> = columns.iter().map(|ty| ty.oid).collect();
        let reprs = types.iter().map(|oid| self.repr(*oid)).collect::<Result<_>>()?;
        Ok(Called { source, types, reprs, fields })
    }
}

impl Compiler<'_> {
    /// A function that makes rows of json, by the fields that are defined for it.
    fn populated(&mut self, function: &Function) -> Result<Option<SetCall>> {
        let bound = self.bound;
        let Expr::Call(call) = bound.expr(function.call) else { return Ok(None) };
        if !POPULATES.contains(&call.proc) || function.defined.is_empty() {
            return Ok(None);
        }
        let name =
            self.env.catalog.proc(call.proc).expect("the resolver has found it").name.clone();
        let (args, types) = self.arguments(call)?;
        let reprs = types.iter().map(|ty| self.repr(ty.oid)).collect::<Result<_>>()?;
        let defined = function.defined.iter().map(|(name, ty)| (Box::from(&**name), *ty));
        let defined: Vec<(Box<str>, TypeRef)> = defined.collect();
        let start = move |args: &[Datum<'_>], cx: &mut Cx<'_>| -> Result<Series> {
            let rows = onlap_kernels::json::rows_of(cx, &name, args, &defined)?;
            Ok(Box::new(rows.into_iter().map(|row| Ok(vec![row]))))
        };
        Ok(Some(SetCall::new(Box::new(start), args, reprs)))
    }
}

impl Called {
    fn start(&self, env: &Env) -> Result<Series> {
        let none = Rows { columns: &[], count: 1 };
        match &self.source {
            Source::Set(call) => call.start(&call.values(&none, env)?, 0, env),
            Source::One(node, repr) => {
                let value = node.eval(&none, env)?;
                let value = Datum::at(&value.array, *repr, 0).into_owned();
                Ok(Box::new(std::iter::once(Ok(vec![value]))))
            }
        }
    }

    /// Fails unless a row has the columns that the query says.
    fn must_match(&self, record: &Record<'_>, catalog: &Catalog) -> Result<()> {
        let refuse = |detail: String| {
            let text = "function return row and query-specified return row do not match";
            Err(Error::new("42804", text).detail(detail))
        };
        let (given, wanted) = (record.len(), self.types.len());
        if given != wanted {
            let s = if given == 1 { "" } else { "s" };
            let detail =
                format!("Returned row contains {given} attribute{s}, but query expects {wanted}.");
            return refuse(detail);
        }
        let fits = |at: &usize| record.is_null(*at) || record.type_of(*at) == self.types[*at];
        match (0..wanted).find(|at| !fits(at)) {
            None => Ok(()),
            Some(at) => refuse(format!(
                "Returned type {} at ordinal position {}, but query expects {}.",
                catalog.shown(record.type_of(at)),
                at + 1,
                catalog.shown(self.types[at])
            )),
        }
    }

    /// The columns of a row.
    fn columns(
        &self,
        row: Option<Vec<Datum<'static>>>,
        catalog: &Catalog,
    ) -> Result<Vec<Datum<'static>>> {
        let Some(values) = row else { return Ok(vec![Datum::Null; self.types.len()]) };
        if !self.fields {
            return Ok(values);
        }
        let Some(Datum::Bytes(bytes)) = values.first() else {
            return Ok(vec![Datum::Null; self.types.len()]);
        };
        let record = Record::load(bytes);
        self.must_match(&record, catalog)?;
        let field = |(at, repr): (usize, &Repr)| record.get(at, *repr).into_owned();
        Ok(self.reprs.iter().enumerate().map(field).collect())
    }
}

impl Scan {
    /// The next rows, `most` of them at most.
    fn next(
        &self,
        running: Option<Running>,
        most: usize,
    ) -> Result<Option<(RecordBatch, Option<Running>)>> {
        self.env.cx().go_on()?;
        let mut running = match running {
            Some(running) => running,
            None => {
                let series = self.calls.iter().map(|call| call.start(&self.env).map(Some));
                Running { series: series.collect::<Result<_>>()?, rows: 0 }
            }
        };
        let width = self.schema.fields().len();
        let mut made: Vec<Vec<Datum<'static>>> = vec![Vec::new(); width];
        let (mut rows, mut bytes) = (0, 0);
        while rows < most && bytes < BATCH_BYTES {
            let row = advance(&mut running.series)?;
            if row.iter().all(Option::is_none) {
                break;
            }
            rows += 1;
            running.rows += 1;
            let mut out = made.iter_mut();
            for (values, call) in row.into_iter().zip(&self.calls) {
                for value in call.columns(values, &self.env.catalog)? {
                    bytes += value.size();
                    out.next().expect("a call has its columns").push(value);
                }
            }
            if self.ordinality {
                out.next().expect("the number is a column").push(Datum::Int8(running.rows));
            }
        }
        if rows == 0 {
            return Ok(None);
        }
        let reprs = self.calls.iter().flat_map(|call| &call.reprs).copied();
        let reprs = reprs.chain(self.ordinality.then_some(Repr::Int8));
        let columns: Vec<ArrayRef> = reprs
            .zip(&made)
            .map(|(repr, values)| Datum::column(repr, values.iter()))
            .collect::<Result<_>>()?;
        let batch = RecordBatch::try_new(Arc::clone(&self.schema), columns).map_err(arrow)?;
        Ok(Some((batch, Some(running))))
    }
}
