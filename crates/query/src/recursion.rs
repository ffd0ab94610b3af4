//! How are the queries of WITH carried out, recursive ones above all?
//!
//! A query that is named once, or whose author said NOT MATERIALIZED, stands where it is named, unless it gives something
//! else each time. Any other runs once per run of the query that has the WITH, as far as its rows are asked for
//! ([`crate::shared`]). A recursive query gives the rows of its first part, then those of its second over the rows that came
//! last, until none come; UNION leaves out what was given before.
//!
//! Queries in expressions keep their answers by the outer values that they use ([`crate::apply`]). What a query of WITH uses
//! counts for every query in which it is named ([`Compiler::depend_on`]); and in a recursive query answers hold for a round.
//!
//! Thread safety: a stream belongs to one thread.

use std::collections::HashSet;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use arrow_array::{ArrayRef, RecordBatch};
use arrow_schema::{DataType, SchemaRef};
use datafusion_common::DataFusionError;
use datafusion_execution::memory_pool::{MemoryConsumer, MemoryReservation};
use datafusion_execution::{SendableRecordBatchStream, TaskContext};
use datafusion_physical_plan::execution_plan::reset_plan_states;
use datafusion_physical_plan::{ExecutionPlan, execute_stream};
use futures::StreamExt;
use onlap_pg::ast::SetKind;
use onlap_pg::bound::{Cte, CteKind, QueryId, SetNode};
use onlap_pg::{Oid, Result, TypeRef};
use parking_lot::Mutex;

use crate::build::Rel;
use crate::carried::Carried;
use crate::columns::schema_of;
use crate::compile::{Compiler, Frame, unsupported};
use crate::env::Env;
use crate::error::external;
use crate::keys::{key_bytes, keys};
use crate::layout::Var;
use crate::sets::kept;
use crate::shared::{Store, bytes_of, with_stores};
use crate::step::{Step, stream_of};
use crate::within::Told;

type Plan = Arc<dyn ExecutionPlan>;

/// Columns of queries around one: levels up, the column, its type.
pub type Outer = Vec<(u32, Var, TypeRef)>;

/// A query of WITH whose rows are kept.
#[derive(Clone)]
pub struct Shared {
    store: Arc<Store>,
    types: Vec<TypeRef>,
    outer: Outer,
}

/// The rows of the step before, in a recursive query.
#[derive(Clone)]
pub struct Working {
    rows: Arc<Mutex<Vec<RecordBatch>>>,
    /// How many steps there were, in all runs.
    round: Arc<AtomicU64>,
    types: Vec<TypeRef>,
    schema: SchemaRef,
}

impl Compiler<'_> {
    /// Looks at the queries of WITH before any is used.
    ///
    /// # Errors
    /// `0A000`: one changes rows, and there is none who carries it out.
    pub fn with_queries(&mut self, id: QueryId) -> Result<()> {
        let bound = self.bound;
        let changes = |cte: &Cte| bound.query(cte.query).modify.is_some();
        match self.carried.is_none() && bound.query(id).ctes.iter().any(changes) {
            true => Err(unsupported("a statement that changes rows in WITH")),
            false => Ok(()),
        }
    }

    /// A query whose queries of WITH run anew whenever it does.
    pub fn sealed(&mut self, rel: Rel) -> Rel {
        let shared = std::mem::take(&mut self.frame().shared);
        if shared.is_empty() {
            return rel;
        }
        let stores = shared.into_iter().map(|(_, shared)| shared.store).collect();
        Rel { plan: with_stores(rel.plan, stores), types: rel.types }
    }

    /// The rows of a query of WITH, and what it uses of the queries around the one that has the WITH. What its one
    /// reader tells it counts where it is carried out in the reader's place.
    ///
    /// # Errors
    /// `0A000` for what has no kernel or no step; errors of constants.
    pub fn cte_rows(&mut self, cte: &Cte, told: Told) -> Result<(Rel, Outer)> {
        if let Some(carried) = self.carried.filter(|_| self.frames.len() == 1) {
            return self.carried_rows(cte, carried);
        }
        let is_inline = match cte.kind {
            CteKind::Materialized => false,
            CteKind::Default => cte.references == 1,
            CteKind::Inline => true,
        };
        if is_inline && !cte.recursive && !self.is_query_volatile(cte.query) {
            return self.cte_query(cte, told);
        }
        let known = self.frame().shared.iter().find(|(name, _)| **name == *cte.name);
        let shared = match known {
            Some((_, shared)) => shared.clone(),
            None => {
                let (rel, outer) = self.cte_query(cte, Told::default())?;
                let shared = Shared { store: Store::new(rel.plan), types: rel.types, outer };
                self.frame().shared.push((cte.name.to_string(), shared.clone()));
                shared
            }
        };
        Ok((Rel { plan: shared.store.scan(), types: shared.types }, shared.outer))
    }

    /// The rows of a query of WITH that other parts of the statement may read as well.
    fn carried_rows(&mut self, cte: &Cte, carried: &Carried) -> Result<(Rel, Outer)> {
        if self.bound.query(cte.query).modify.is_some() {
            return Ok((self.given_rows(cte, carried)?, Outer::new()));
        }
        let known = carried.kept.lock().get(&cte.query).cloned();
        let shared = match known {
            Some(shared) => shared,
            None => {
                let (rel, outer) = self.cte_query(cte, Told::default())?;
                let shared = Shared { store: Store::new(rel.plan), types: rel.types, outer };
                carried.kept.lock().insert(cte.query, shared.clone());
                shared
            }
        };
        Ok((Rel { plan: shared.store.scan(), types: shared.types }, shared.outer))
    }

    fn cte_query(&mut self, cte: &Cte, told: Told) -> Result<(Rel, Outer)> {
        self.frames.push(Frame { told, ..Frame::new(cte.query, None) });
        let made = match cte.recursive {
            true => self.recursive(cte),
            false => self.query(cte.query),
        };
        let frame = self.frames.pop().expect("it was pushed");
        // Seen from the query that has the WITH, which is one level nearer.
        let outer = frame.outer.into_iter().map(|(levels, var, ty)| (levels - 1, var, ty));
        Ok((made?, outer.collect()))
    }

    /// Notes that the queries from here to the owner of a column use it.
    pub fn note_outer(&mut self, owner: usize, var: Var, ty: TypeRef) {
        for (n, frame) in self.frames.iter_mut().enumerate().skip(owner + 1) {
            let noted = ((n - owner) as u32, var, ty);
            if !frame.outer.contains(&noted) {
                frame.outer.push(noted);
            }
        }
    }

    /// Lets the queries that stand within another, down to here, use what a query of its WITH uses.
    pub fn depend_on(&mut self, definer: usize, outer: &[(u32, Var, TypeRef)]) {
        for (levels, var, ty) in outer {
            self.note_outer(definer - *levels as usize, *var, *ty);
        }
        let inner = (definer + 1..self.frames.len()).rev();
        let inner = inner.into_iter().find(|n| self.frames[*n].boundary.is_some());
        let Some(inner) = inner else { return };
        let boundary = self.frames[inner].boundary.as_mut().expect("it was looked for");
        for (levels, var, ty) in outer {
            let wanted = ((inner - definer) as u32 + levels, *var, *ty);
            if !boundary.wanted.iter().any(|known| (known.0, known.1) == (wanted.0, wanted.1)) {
                boundary.wanted.push(wanted);
            }
        }
    }

    /// The rounds of the recursive queries that are being made.
    pub fn rounds(&self) -> Vec<Arc<AtomicU64>> {
        let working = self.frames.iter().flat_map(|frame| &frame.working);
        working.map(|(_, working)| Arc::clone(&working.round)).collect()
    }

    /// The rows of the step before.
    pub fn working(&self, name: &str, definer: usize) -> Rel {
        let known = self.frames[definer].working.iter().rev().find(|(known, _)| known == name);
        let (_, working) = known.expect("the query is being made").clone();
        let out = Arc::clone(&working.schema);
        let rows = working.rows;
        let run = move |_: Vec<Plan>, _: Arc<TaskContext>| {
            let batches = futures::stream::iter(rows.lock().clone()).map(Ok);
            Ok(stream_of(Arc::clone(&out), batches))
        };
        let step = Step::make("WorkTable Scan", "", Vec::new(), working.schema, Arc::new(run));
        Rel { plan: step, types: working.types }
    }

    /// A recursive query, whose frame is the last.
    fn recursive(&mut self, cte: &Cte) -> Result<Rel> {
        let bound = self.bound;
        let query = bound.query(cte.query);
        self.with_queries(cte.query)?;
        let Some(SetNode::Both { kind: SetKind::Union, all, left, right, types, .. }) = &query.set
        else {
            unreachable!("the binder has looked at its form")
        };
        if types.is_empty() {
            return Err(unsupported("a recursive query without columns"));
        }
        let first = self.set_node(query, left)?;
        let first = self.as_types(first, types)?;
        let arrows: Vec<DataType> =
            types.iter().map(|ty| self.arrow(ty.oid)).collect::<Result<_>>()?;
        let schema = schema_of(&arrows);
        let working = Working {
            rows: Arc::default(),
            round: Arc::default(),
            types: types.clone(),
            schema: Arc::clone(&schema),
        };
        let definer = self.frames.len() - 2;
        self.frames[definer].working.push((cte.name.to_string(), working.clone()));
        let next = self.set_node(query, right);
        self.frames[definer].working.pop();
        let next = self.as_types(next?, types)?;
        let distinct = (!*all).then(|| types.iter().map(|ty| ty.oid).collect());
        let plan = self.rounds_of(first, next, working, distinct);
        Ok(self.sealed(Rel { plan, types: types.clone() }))
    }

    fn rounds_of(
        &self,
        first: Plan,
        next: Plan,
        working: Working,
        distinct: Option<Vec<Oid>>,
    ) -> Plan {
        let (schema, env) = (Arc::clone(&working.schema), Arc::clone(&self.env));
        let run = move |inputs: Vec<Plan>, context: Arc<TaskContext>| {
            let schema = Arc::clone(&working.schema);
            working.round.fetch_add(1, Ordering::Relaxed);
            let memory = MemoryConsumer::new("WITH RECURSIVE").register(context.memory_pool());
            let rounds = Rounds {
                stream: inputs[0].execute(0, Arc::clone(&context))?,
                next: Arc::clone(&inputs[1]),
                working: working.clone(),
                given: distinct.clone().map(|types| (types, HashSet::new())),
                came: Vec::new(),
                known_bytes: 0,
                memory,
                context,
                env: Arc::clone(&env),
            };
            let batches = futures::stream::unfold(Some(rounds), |rounds| async {
                let mut rounds = rounds?;
                match rounds.next_batch().await {
                    Ok(Some(batch)) => Some((Ok(batch), Some(rounds))),
                    Ok(None) => None,
                    Err(e) => Some((Err(e), None)),
                }
            });
            Ok(stream_of(schema, batches))
        };
        Step::make("Recursive Union", "", vec![first, next], schema, Arc::new(run))
    }
}

/// A recursive query at work.
struct Rounds {
    /// The step that is running.
    stream: SendableRecordBatchStream,
    /// The steps behind the first.
    next: Plan,
    working: Working,
    /// The types of columns, and the keys of all rows that were given; none for UNION ALL.
    given: Option<(Vec<Oid>, HashSet<Vec<u8>>)>,
    /// What the running step has given.
    came: Vec<RecordBatch>,
    /// Bytes of the keys.
    known_bytes: usize,
    memory: MemoryReservation,
    context: Arc<TaskContext>,
    env: Arc<Env>,
}

impl Rounds {
    async fn next_batch(&mut self) -> datafusion_common::Result<Option<RecordBatch>> {
        loop {
            self.env.cx().go_on().map_err(external)?;
            while let Some(batch) = self.stream.next().await {
                let batch = self.new_rows(&batch?)?;
                if batch.num_rows() > 0 {
                    self.memory.try_grow(bytes_of(&batch)?)?;
                    self.came.push(batch.clone());
                    return Ok(Some(batch));
                }
                self.env.cx().go_on().map_err(external)?;
            }
            if self.came.is_empty() {
                self.working.rows.lock().clear();
                return Ok(None);
            }
            let came = std::mem::take(&mut self.came);
            let bytes = came.iter().map(bytes_of).sum::<datafusion_common::Result<usize>>()?;
            *self.working.rows.lock() = came;
            self.working.round.fetch_add(1, Ordering::Relaxed);
            self.memory.try_resize(self.known_bytes + bytes)?;
            let next = reset_plan_states(Arc::clone(&self.next))?;
            self.stream = execute_stream(next, Arc::clone(&self.context))?;
        }
    }

    /// The rows that were not given before; with UNION ALL all of them.
    fn new_rows(&mut self, batch: &RecordBatch) -> datafusion_common::Result<RecordBatch> {
        let batch = RecordBatch::try_new(
            Arc::clone(&self.working.schema),
            batch.columns()[..self.working.types.len()].to_vec(),
        );
        let batch = batch.map_err(DataFusionError::from)?;
        let Some((types, given)) = &mut self.given else { return Ok(batch) };
        let columns = types.iter().zip(batch.columns());
        let columns = columns.map(|(oid, column)| keys(&self.env, *oid, column));
        let columns: Vec<ArrayRef> = columns.collect::<Result<_>>().map_err(external)?;
        let mut keeps = Vec::with_capacity(batch.num_rows());
        let mut bytes = 0;
        for row in 0..batch.num_rows() {
            let mut key = Vec::new();
            columns.iter().for_each(|column| key_bytes(column, row, &mut key));
            let length = key.len();
            let is_new = given.insert(key);
            bytes += if is_new { length + KEY_BYTES } else { 0 };
            keeps.push(is_new);
        }
        self.known_bytes += bytes;
        self.memory.try_grow(bytes)?;
        kept(&batch, keeps).map_err(external)
    }
}

/// What a key takes in the set, without its bytes.
const KEY_BYTES: usize = 48;
