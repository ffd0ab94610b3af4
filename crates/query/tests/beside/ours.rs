//! What do our steps give?

use std::sync::Arc;

use arrow_array::RecordBatch;
use datafusion_execution::TaskContext;
use datafusion_physical_plan::collect;
use onlap_kernels::{Datum, Repr, Session, output, repr};
use onlap_pg::catalog::Catalog;
use onlap_pg::value::Settings;
use onlap_pg::{Error, Oid, Result, grammar};
use onlap_query::{Env, Output, compile, of_external};
use parking_lot::Mutex;
use tokio::runtime::Runtime;

use crate::Answer;
use crate::data::Data;

/// A session with memory that knows nothing else.
pub struct Quiet;

impl Session for Quiet {
    fn room(&self, _: usize) -> Result<()> {
        Ok(())
    }
    fn call(&self, function: Oid, _: &[Datum<'_>]) -> Result<Datum<'static>> {
        match function {
            745 | 746 => Ok(Datum::text("postgres")),
            861 => Ok(Datum::text("postgres")),
            1402 => Ok(Datum::text("public")),
            other => Err(Error::new("0A000", format!("function {other} asks the session"))),
        }
    }
    fn clock(&self) -> i64 {
        0
    }
    fn statement_began(&self) -> i64 {
        0
    }
    fn random(&self) -> u64 {
        7
    }
}

/// Carries statements out.
pub struct Ours {
    data: Data,
    catalog: Arc<Catalog>,
    runtime: Runtime,
}

impl Ours {
    pub fn new(data: Data) -> Ours {
        let runtime = tokio::runtime::Builder::new_multi_thread()
            .worker_threads(1)
            .thread_stack_size(8 << 20)
            .build()
            .expect("threads start");
        Ours { data, catalog: Arc::new(Catalog::new()), runtime }
    }

    pub fn answer(&self, statement: &str) -> Answer {
        match self.rows(statement) {
            Ok(answer) => answer,
            Err(e) => Answer::Refused(format!("{} {}", e.state, e.message)),
        }
    }

    /// The steps of a statement, which run with this.
    pub fn steps(&self, text: &str, context: &Arc<TaskContext>) -> Result<(Output, Arc<Env>)> {
        let parsed = grammar::parse(text)?;
        let statement = &parsed.statements[0];
        let (bound, query) =
            onlap_pg::bind::bind(&parsed, &statement.statement, &self.data, &self.catalog, &[])?;
        let env = Arc::new(Env {
            catalog: Arc::clone(&self.catalog),
            settings: Settings::default(),
            session: Arc::new(Quiet),
            params: Vec::new(),
            handle: self.runtime.handle().clone(),
            context: Mutex::new(Some(Arc::clone(context))),
            sets: Default::default(),
        });
        let output = self.within(|| compile(&bound, query, &self.data, &env, None))?;
        Ok((output, env))
    }

    /// What a plan gives, on this thread.
    pub fn collected(
        &self,
        output: &Output,
        context: Arc<TaskContext>,
    ) -> datafusion_common::Result<Vec<RecordBatch>> {
        self.runtime.block_on(collect(Arc::clone(&output.plan), context))
    }

    fn rows(&self, text: &str) -> Result<Answer> {
        let context = Arc::new(TaskContext::default());
        let (output, env) = self.steps(text, &context)?;
        let plan = Arc::clone(&output.plan);
        let batches = self.within(|| {
            self.runtime.block_on(async move {
                let task = tokio::spawn(collect(plan, context));
                task.await.expect("it does not panic")
            })
        });
        let batches = batches.map_err(|e| match of_external(&e) {
            Some(error) => error.clone(),
            None => Error::new("XX000", e.to_string()),
        })?;
        self.texts(&output.columns, &batches, &env)
    }

    fn within<T>(&self, f: impl FnOnce() -> T) -> T {
        let _entered = self.runtime.enter();
        f()
    }

    fn texts(
        &self,
        columns: &[onlap_query::OutputColumn],
        batches: &[RecordBatch],
        env: &Env,
    ) -> Result<Answer> {
        let mut cx = env.cx();
        let mut rows = Vec::new();
        for batch in batches {
            for row in 0..batch.num_rows() {
                let mut cells = Vec::new();
                for (n, column) in columns.iter().enumerate() {
                    let repr: Repr = repr(&self.catalog, column.ty.oid).expect("it has values");
                    cells.push(match Datum::at(batch.column(n), repr, row) {
                        Datum::Null => None,
                        value => {
                            let mut text = String::new();
                            output(&mut cx, column.ty.oid, &value, &mut text)?;
                            Some(text)
                        }
                    });
                }
                rows.push(cells);
            }
        }
        Ok(Answer::Rows(columns.iter().map(|c| c.ty.oid).collect(), rows))
    }
}
