//! How is a query carried out within an expression?
//!
//! Once per distinct set of the outer values that it uses: the values are put into slots that its expressions read, the plan
//! is reset and run to its end, and what it gives is kept for later rows with the same values. That is right for every
//! subquery. `IN` and `= ANY` look their value up in a hash of what the query gave.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use arrow_array::{Array, ArrayRef, BooleanArray, RecordBatch, new_null_array};
use arrow_schema::DataType;
use datafusion_execution::TaskContext;
use datafusion_physical_plan::execution_plan::reset_plan_states;
use datafusion_physical_plan::{ExecutionPlan, execute_stream};
use futures::StreamExt;
use onlap_kernels::{Col, Repr};
use onlap_pg::{Error, Oid, Result};
use parking_lot::Mutex;

use crate::env::Env;
use crate::error::ours;
use crate::keys::{compare_keys, key_bytes, keys};
use crate::node::{Node, Rows, Slots, Spread, arrow, truth};
use crate::semi::Semi;

/// How a comparison with all rows of a query is meant.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Quantor {
    /// ANY
    Any,
    /// ALL
    All,
    /// With its one row.
    Row,
}

/// What a query is asked.
pub enum Ask {
    /// Whether it gives a row.
    Exists,
    /// Its one value.
    Value,
    /// A value of its one row, by place.
    Column(usize),
    /// Its values as an array: the type of its column, and whether that is an array itself.
    Array(Oid, bool),
    /// A test of its rows, whose columns begin at this position; where the test is equality, its left sides with
    /// their types.
    Test(Quantor, Box<Node>, usize, Option<Vec<(Node, Oid)>>),
}

/// A query in an expression.
pub struct SubQuery {
    /// What it is asked.
    pub ask: Ask,
    /// What it gives.
    pub results: Arc<Results>,
    /// The outer values that it uses.
    pub params: Vec<Node>,
    /// EXISTS by the keys of all rows, where that is possible.
    pub semi: Option<Semi>,
    /// The type of the answer.
    pub ty: DataType,
}

/// What a query gives for outer values. One without any may be asked in several places.
pub struct Results {
    plan: Arc<dyn ExecutionPlan>,
    slots: Slots,
    /// The representations of its columns.
    columns: Vec<Repr>,
    /// How many rows are looked at.
    most: usize,
    /// The types of its columns, where values are looked up in a hash of them.
    hashed: Option<Vec<Oid>>,
    /// Whether it may give something else each time, and is run for each row.
    volatile: bool,
    /// The rounds of recursive queries around it: in each it may give something else.
    rounds: Vec<Arc<AtomicU64>>,
    /// How often it was run.
    runs: AtomicU64,
    known: Mutex<Known>,
}

/// What the query gave for outer values.
#[derive(Default)]
struct Known {
    answers: HashMap<Vec<u8>, Arc<Given>>,
    bytes: usize,
    /// In which round, of all rounds around it.
    round: u64,
}

/// What a query gave.
pub struct Given {
    /// Its rows; for EXISTS and one value what matters of them.
    pub columns: Vec<ArrayRef>,
    rows: usize,
    /// The keys of its rows, and whether one has a NULL.
    hashed: Option<(HashSet<Vec<u8>>, bool)>,
}

/// What is kept for later rows; beyond that answers are forgotten.
const KEPT_BYTES: usize = 4 << 20;

impl SubQuery {
    /// What is calculated for the rows of the query around it.
    pub fn children(&self) -> Vec<&Node> {
        let mut children: Vec<&Node> = self.params.iter().collect();
        if let Ask::Test(_, test, _, hashed) = &self.ask {
            children.push(test);
            children.extend(hashed.iter().flatten().map(|(side, _)| side));
        }
        children.extend(self.semi.iter().flat_map(|semi| &semi.params));
        children
    }

    /// The answers for rows.
    pub fn eval(&self, rows: &Rows<'_>, env: &Env) -> Result<Col> {
        if let Some(found) = self.by_keys(rows, env)? {
            return Ok(found);
        }
        let mut params = Vec::with_capacity(self.params.len());
        for param in &self.params {
            params.push(param.eval(rows, env)?);
        }
        match &self.ask {
            Ask::Test(quantor, test, at, hashed) => {
                self.tested(&params, *quantor, test, *at, hashed.as_deref(), rows, env)
            }
            _ if !self.results.runs_for_each(&params) && params.iter().all(|p| p.is_const) => {
                if rows.count == 0 {
                    return Ok(Col::new(new_null_array(&self.ty, 0)));
                }
                let given = self.given(&params, 0, env)?;
                Ok(Col::constant(self.answer(&given, env)?))
            }
            _ => {
                let mut answers = Vec::with_capacity(rows.count);
                for row in 0..rows.count {
                    let given = self.given(&params, row, env)?;
                    answers.push(self.answer(&given, env)?);
                    if let Some(found) = self.by_keys(rows, env)? {
                        return Ok(found);
                    }
                }
                concat(&answers, &self.ty)
            }
        }
    }

    fn by_keys(&self, rows: &Rows<'_>, env: &Env) -> Result<Option<Col>> {
        self.semi.as_ref().map_or(Ok(None), |semi| semi.eval(&self.results, rows, env))
    }

    /// One value: what a row of the query around it finds.
    fn answer(&self, given: &Given, env: &Env) -> Result<ArrayRef> {
        Ok(match &self.ask {
            Ask::Exists => Arc::new(BooleanArray::from(vec![given.rows > 0])),
            Ask::Value | Ask::Column(_) if given.rows > 1 => {
                let text = "more than one row returned by a subquery used as an expression";
                return Err(Error::new("21000", text));
            }
            Ask::Value | Ask::Column(_) if given.rows == 0 => new_null_array(&self.ty, 1),
            Ask::Value => Arc::clone(&given.columns[0]),
            Ask::Column(at) => Arc::clone(&given.columns[*at]),
            Ask::Array(element, nested) => crate::containers::array_of_column(
                &given.columns[0],
                self.results.columns[0],
                *element,
                *nested,
                env,
            )?,
            Ask::Test(..) => unreachable!("tests are answered row by row"),
        })
    }

    /// What the query gives for the outer values of a row.
    fn given(&self, params: &[Col], row: usize, env: &Env) -> Result<Arc<Given>> {
        let values = params.iter().map(|p| p.array.slice(p.at(row), 1)).collect();
        self.results.given(values, env)
    }

    #[expect(clippy::too_many_arguments, reason = "the parts of one question")]
    fn tested(
        &self,
        params: &[Col],
        quantor: Quantor,
        test: &Node,
        at: usize,
        hashed: Option<&[(Node, Oid)]>,
        rows: &Rows<'_>,
        env: &Env,
    ) -> Result<Col> {
        if let Some(sides) = hashed {
            return self.looked_up(params, sides, rows, env);
        }
        let mut found = Vec::with_capacity(rows.count);
        for row in 0..rows.count {
            let given = self.given(params, row, env)?;
            if quantor == Quantor::Row && given.rows > 1 {
                let text = "more than one row returned by a subquery used as an expression";
                return Err(Error::new("21000", text));
            }
            let outer = |column: &ArrayRef| match column.len() > row {
                true => Col::constant(column.slice(row, 1)).spread(given.rows, env),
                false => Ok(Arc::clone(column)),
            };
            let used = test.columns();
            let mut columns = rows.columns.to_vec();
            for column in used.iter().filter(|column| **column < rows.columns.len()) {
                columns[*column] = outer(&rows.columns[*column])?;
            }
            let filler = || Arc::new(BooleanArray::new_null(given.rows)) as ArrayRef;
            columns.resize_with(at, filler);
            columns.extend(given.columns.iter().cloned());
            let holds = test.eval(&Rows { columns: &columns, count: given.rows }, env)?;
            let mut all = (0..given.rows).map(|row| truth(&holds, row));
            found.push(match quantor {
                Quantor::Any => any(all, true),
                Quantor::All => any(all, false),
                Quantor::Row => all.next_back().flatten(),
            });
        }
        Ok(Col::new(Arc::new(BooleanArray::from(found))))
    }

    fn looked_up(
        &self,
        params: &[Col],
        sides: &[(Node, Oid)],
        rows: &Rows<'_>,
        env: &Env,
    ) -> Result<Col> {
        let mut found = Vec::with_capacity(rows.count);
        let mut key = Vec::new();
        // What a value is looked up in may be empty; the value is not calculated then.
        let is_there = |side: &Node| matches!(side, Node::Column(_) | Node::Const(_));
        let same_for_all = params.is_empty() || params.iter().all(|param| param.is_const);
        let together = same_for_all && !self.results.runs_for_each(params);
        let together = together || sides.iter().all(|(side, _)| is_there(side));
        let mut whole = None;
        for row in 0..rows.count {
            let given = self.given(params, row, env)?;
            let (known, has_null) = given.hashed.as_ref().expect("it was hashed when it was run");
            if known.is_empty() && !has_null {
                found.push(Some(false));
                continue;
            }
            let (left, at) = match (&whole, together) {
                (Some(left), true) => (Arc::clone(left), row),
                (None, true) => (Arc::clone(whole.insert(left_keys(sides, rows, env)?)), row),
                (_, false) => (left_keys_of(sides, rows, row, env)?, 0),
            };
            found.push(if left.iter().any(|column| column.is_null(at)) {
                // A row of several columns may differ in the others; only the slow way knows.
                if sides.len() == 1 { None } else { self.slowly(&given, &left, at, env)? }
            } else {
                key.clear();
                left.iter().for_each(|column| key_bytes(column, at, &mut key));
                match known.contains(&key) {
                    true => Some(true),
                    false if !has_null => Some(false),
                    false if sides.len() == 1 => None,
                    false => self.slowly(&given, &left, at, env)?,
                }
            });
        }
        Ok(Col::new(Arc::new(BooleanArray::from(found))))
    }

    /// Whether a row with NULLs is among the query's rows: unknown where all columns without NULL are equal.
    fn slowly(
        &self,
        given: &Given,
        left: &[ArrayRef],
        row: usize,
        env: &Env,
    ) -> Result<Option<bool>> {
        let Ask::Test(_, _, _, Some(sides)) = &self.ask else { return Ok(None) };
        let mut right = Vec::with_capacity(sides.len());
        for ((_, ty), column) in sides.iter().zip(&given.columns) {
            right.push(keys(env, *ty, column)?);
        }
        let may_be = (0..given.rows).any(|other| {
            left.iter().zip(&right).all(|(left, right)| {
                left.is_null(row)
                    || right.is_null(other)
                    || compare_keys(left, row, right, other).is_eq()
            })
        });
        Ok(if may_be { None } else { Some(false) })
    }
}

impl Results {
    /// A query whose outer values are put into slots.
    pub fn new(plan: Arc<dyn ExecutionPlan>, slots: Slots, columns: Vec<Repr>) -> Results {
        let (rounds, runs, known) = (Vec::new(), AtomicU64::new(0), Mutex::default());
        let (most, hashed, volatile) = (usize::MAX, None, false);
        Results { plan, slots, columns, most, hashed, volatile, rounds, runs, known }
    }

    /// How often the query was run.
    pub fn runs(&self) -> u64 {
        self.runs.load(Ordering::Relaxed)
    }

    /// Says whether it may give something else each time.
    pub fn volatile(mut self, volatile: bool) -> Results {
        self.volatile = volatile;
        self
    }

    /// Whether it may give something else each time.
    pub fn is_volatile(&self) -> bool {
        self.volatile
    }

    /// As in PostgreSQL: one that uses no outer values runs once, whatever it calls.
    fn runs_for_each<T>(&self, params: &[T]) -> bool {
        self.volatile && !params.is_empty()
    }

    /// Looks at no more rows than what is asked needs, and makes a hash of those in which values are looked up.
    pub fn for_ask(mut self, ask: &Ask, rounds: Vec<Arc<AtomicU64>>) -> Results {
        self.most = match ask {
            Ask::Exists => 1,
            Ask::Value | Ask::Test(Quantor::Row, ..) => 2,
            _ => usize::MAX,
        };
        self.hashed = match ask {
            Ask::Test(_, _, _, Some(sides)) => Some(sides.iter().map(|side| side.1).collect()),
            _ => None,
        };
        self.rounds = rounds;
        self
    }

    /// The representation of a column.
    pub fn column(&self, at: usize) -> Repr {
        self.columns[at]
    }

    /// What the query gives for outer values; it is run if that is not known.
    ///
    /// # Errors
    /// Those of the query; `53200`.
    pub fn given(&self, values: Vec<ArrayRef>, env: &Env) -> Result<Arc<Given>> {
        if self.runs_for_each(&values) {
            *self.slots.lock() = values;
            return Ok(Arc::new(self.run(env)?));
        }
        let mut key = Vec::new();
        for value in &values {
            raw_bytes(value, &mut key);
        }
        let round = self.rounds.iter().map(|round| round.load(Ordering::Relaxed)).sum();
        {
            let mut known = self.known.lock();
            if known.round != round {
                *known = Known { round, ..Known::default() };
            }
            if let Some(given) = known.answers.get(&key) {
                return Ok(Arc::clone(given));
            }
        }
        *self.slots.lock() = values;
        let given = Arc::new(self.run(env)?);
        let mut known = self.known.lock();
        let bytes = given.columns.iter().map(|c| c.get_array_memory_size()).sum::<usize>();
        let bytes = bytes + key.len() + 100;
        env.session.room(bytes)?;
        if known.bytes + bytes > KEPT_BYTES && known.bytes > 0 {
            *known = Known { round, ..Known::default() };
        }
        known.bytes += bytes;
        known.answers.insert(key, Arc::clone(&given));
        Ok(given)
    }

    fn run(&self, env: &Env) -> Result<Given> {
        self.runs.fetch_add(1, Ordering::Relaxed);
        let batches = run(&self.plan, env, self.most)?;
        let rows = batches.iter().map(RecordBatch::num_rows).sum();
        let width = self.columns.len();
        let mut columns = Vec::with_capacity(width);
        for at in 0..width {
            let parts: Vec<&dyn Array> = batches.iter().map(|b| &**b.column(at)).collect();
            let column = match parts.is_empty() {
                true => new_null_array(&onlap_kernels::arrow_type(self.columns[at]), 0),
                false => arrow_select::concat::concat(&parts).map_err(arrow)?,
            };
            columns.push(column);
        }
        let hashed = match &self.hashed {
            Some(types) => Some(hash(types, &columns, rows, env)?),
            None => None,
        };
        Ok(Given { columns, rows, hashed })
    }
}

/// The keys of the values that rows look up.
fn left_keys(sides: &[(Node, Oid)], rows: &Rows<'_>, env: &Env) -> Result<Arc<Vec<ArrayRef>>> {
    let mut left = Vec::with_capacity(sides.len());
    for (side, ty) in sides {
        let array = side.eval(rows, env)?.spread(rows.count, env)?;
        left.push(keys(env, *ty, &array)?);
    }
    Ok(Arc::new(left))
}

/// The same of one row.
fn left_keys_of(
    sides: &[(Node, Oid)],
    rows: &Rows<'_>,
    row: usize,
    env: &Env,
) -> Result<Arc<Vec<ArrayRef>>> {
    let mut columns = rows.columns.to_vec();
    for used in sides.iter().flat_map(|(side, _)| side.columns()) {
        if let Some(column) = columns.get_mut(used).filter(|column| column.len() == rows.count) {
            *column = rows.columns[used].slice(row, 1);
        }
    }
    left_keys(sides, &Rows { columns: &columns, count: 1 }, env)
}

/// Whether one of some values is this one: NULL where none is and one is NULL. For `false` it is whether all are true.
fn any(values: impl Iterator<Item = Option<bool>>, wanted: bool) -> Option<bool> {
    let mut found = Some(!wanted);
    for value in values {
        match value {
            Some(value) if value == wanted => return Some(wanted),
            Some(_) => {}
            None => found = None,
        }
    }
    found
}

/// The keys of rows; whether a row has a NULL.
fn hash(
    types: &[Oid],
    columns: &[ArrayRef],
    rows: usize,
    env: &Env,
) -> Result<(HashSet<Vec<u8>>, bool)> {
    let mut keyed = Vec::with_capacity(columns.len());
    for (ty, column) in types.iter().zip(columns) {
        keyed.push(keys(env, *ty, column)?);
    }
    let mut found = HashSet::new();
    let mut has_null = false;
    for row in 0..rows {
        if keyed.iter().any(|column| column.is_null(row)) {
            has_null = true;
            continue;
        }
        let mut key = Vec::new();
        keyed.iter().for_each(|column| key_bytes(column, row, &mut key));
        env.session.room(key.len() + 64)?;
        found.insert(key);
    }
    Ok((found, has_null))
}

/// Values that are the same bits have the same bytes.
fn raw_bytes(value: &ArrayRef, out: &mut Vec<u8>) {
    match value.is_null(0) {
        true => out.push(0),
        false => {
            out.push(1);
            key_bytes(value, 0, out);
        }
    }
}

fn concat(values: &[ArrayRef], ty: &DataType) -> Result<Col> {
    let parts: Vec<&dyn Array> = values.iter().map(|value| &**value).collect();
    Ok(Col::new(match parts.is_empty() {
        true => new_null_array(ty, 0),
        false => arrow_select::concat::concat(&parts).map_err(arrow)?,
    }))
}

/// Runs a plan to its end, or until it has given `most` rows.
pub fn run(plan: &Arc<dyn ExecutionPlan>, env: &Env, most: usize) -> Result<Vec<RecordBatch>> {
    let context = env.context.lock().clone();
    let context: Arc<TaskContext> = context.expect("a plan runs with a context");
    let plan = reset_plan_states(Arc::clone(plan)).map_err(ours)?;
    tokio::task::block_in_place(|| {
        env.handle.block_on(async {
            let mut stream = execute_stream(plan, context).map_err(ours)?;
            let (mut batches, mut rows) = (Vec::new(), 0);
            while rows < most
                && let Some(batch) = stream.next().await
            {
                let batch = batch.map_err(ours)?;
                rows += batch.num_rows();
                env.session.room(batch.get_array_memory_size())?;
                batches.push(batch);
            }
            Ok(batches)
        })
    })
}
