//! How does an answer reach Python?
//!
//! The first [`EAGER`] bytes are taken at once: an answer that is no longer is there, and may be read again and again.
//! What is longer comes as it is read, once, and its session and the transaction of its statement last until then.

use std::collections::VecDeque;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::mpsc::Receiver;

use arrow_array::{ArrayRef, RecordBatch, StructArray};
use arrow_schema::{ArrowError, Field, Schema, SchemaRef};
use onlap_base::Defect;
use onlap_sql::columnar::Shape;
use onlap_sql::{Columns, Fetched, Result, SqlError};
use parking_lot::Mutex;
use pyo3::prelude::*;
use pyo3::types::{PyCapsule, PyList, PyTuple};
use pyo3_arrow::ffi::{ArrayIterator, to_schema_pycapsule, to_stream_pycapsule};

use crate::convert;
use crate::core::Lease;
use crate::errors;
use crate::messages::Fields;
use crate::parameters::{Parameter, Parameters};
use crate::session::{fail, finish, portal_name};
use crate::worker::{State, Worker};

/// Bytes of an answer that are taken at once. Enough for what people look at, and little next to what a program that asks
/// for more has to have anyway.
const EAGER: usize = 16 << 20;

/// Rows and bytes that one hand-over of the session's thread gives: a hand-over costs as much as some thousand rows.
const GROUP_ROWS: usize = 1 << 16;
const GROUP_BYTES: usize = 4 << 20;

/// What a statement has given so far.
pub struct Begun {
    shape: Option<Arc<Shape>>,
    batches: VecDeque<RecordBatch>,
    /// There is no more.
    pub tag: Option<String>,
    notices: Vec<Fields>,
}

/// Runs a statement, until it has given this number of bytes. Ends with Sync where it gives no more.
///
/// # Errors
/// Those of the statement, after which its transaction has failed.
pub fn run(
    state: &mut State,
    portal: &str,
    sql: &str,
    parameters: &[Parameter],
    bytes: usize,
    alone: bool,
) -> Result<Begun> {
    let begun = begin(state, portal, sql, parameters, bytes);
    let ended = match &begun {
        Err(_) => {
            fail(state);
            return begun;
        }
        Ok(begun) if begun.tag.is_some() => {
            state.session.close_portal(portal);
            finish(state, alone)
        }
        Ok(_) => Ok(()),
    };
    let mut begun = begun?;
    begun.notices = state.client.take_notices();
    ended.map(|()| begun)
}

fn begin(
    state: &mut State,
    portal: &str,
    sql: &str,
    parameters: &[Parameter],
    bytes: usize,
) -> Result<Begun> {
    let State { session, client, .. } = state;
    let oids: Vec<u32> = parameters.iter().map(|(oid, _)| *oid).collect();
    session.parse("", sql, &oids)?;
    let values: Vec<Option<&[u8]>> =
        parameters.iter().map(|(_, text)| text.as_ref().map(|text| text.as_bytes())).collect();
    session.bind(portal, "", &[], &values, &[])?;
    let shape = session.shape(portal)?;
    let (mut batches, mut taken) = (VecDeque::new(), 0);
    let tag = loop {
        match session.fetch_columns(portal, shape.as_ref(), client)? {
            Fetched::Done(tag) => break Some(tag),
            Fetched::Rows(columns) => {
                taken += columns.bytes();
                batches.push_back(columns.batch()?);
            }
        }
        if taken > bytes {
            break None;
        }
    };
    Ok(Begun { shape, batches, tag, notices: Vec::new() })
}

/// Runs a statement in a transaction of its own.
pub fn alone(py: Python<'_>, lease: Lease, sql: String, parameters: Parameters) -> PyResult<Rows> {
    let (portal, worker) = (portal_name(), Arc::clone(lease.worker()));
    let name = portal.clone();
    let begun = worker.run(py, move |state| run(state, &name, &sql, &parameters.0, EAGER, true))?;
    let begun = begun.map_err(|e| errors::raised(py, &e))?;
    let lease = begun.tag.is_none().then_some(lease);
    Ok(Rows::new(begun, worker, portal, lease, true))
}

/// Runs a statement in the transaction that is under way.
pub fn within(
    py: Python<'_>,
    worker: &Arc<Worker>,
    sql: String,
    parameters: Parameters,
) -> PyResult<Rows> {
    let portal = portal_name();
    let name = portal.clone();
    let begun =
        worker.run(py, move |state| run(state, &name, &sql, &parameters.0, EAGER, false))?;
    let begun = begun.map_err(|e| errors::raised(py, &e))?;
    Ok(Rows::new(begun, Arc::clone(worker), portal, None, false))
}

/// What an answer and those who read it share.
struct Answer {
    shape: Option<Arc<Shape>>,
    schema: SchemaRef,
    notices: Vec<Fields>,
    worker: Arc<Worker>,
    portal: String,
    alone: bool,
    inner: Mutex<Inner>,
}

struct Inner {
    /// Rows that are there: all, or those that were taken at once and not read yet.
    batches: VecDeque<RecordBatch>,
    /// Rows that came later and are not read yet.
    more: VecDeque<Columns>,
    /// Whether there were no more when the statement began.
    complete: bool,
    tag: Option<String>,
    /// A reader has begun with what comes once.
    taken: bool,
    lease: Option<Lease>,
    failure: Option<PyErr>,
    /// What was asked for already: outside of a transaction the session works while the caller does.
    next: Option<Receiver<Result<Group>>>,
}

/// Some batches, and the tag where there are no more.
struct Group {
    rows: VecDeque<Columns>,
    tag: Option<String>,
}

impl Answer {
    /// The next rows of a statement that goes on.
    fn fetch(&self) -> PyResult<Option<RecordBatch>> {
        {
            let mut inner = self.inner.lock();
            if let Some(batch) = inner.batches.pop_front() {
                return Ok(Some(batch));
            }
            if let Some(columns) = inner.more.pop_front() {
                drop(inner);
                return self.made(columns).map(Some);
            }
            if inner.failure.is_some() {
                return Err(errors::ended());
            }
            if inner.tag.is_some() {
                return Ok(None);
            }
        }
        let asked = self.inner.lock().next.take().or_else(|| self.ask());
        let fetched = asked.ok_or_else(errors::ended);
        let fetched = fetched.and_then(|asked| self.worker.await_anywhere(asked));
        let fetched = fetched.and_then(|fetched| fetched.map_err(|e| raised(&e)));
        match fetched {
            Ok(group) => {
                let mut inner = self.inner.lock();
                match group.tag {
                    Some(tag) => (inner.tag, inner.lease) = (Some(tag), None),
                    None if self.alone && inner.lease.is_some() => inner.next = self.ask(),
                    None => {}
                }
                inner.more.extend(group.rows);
                let next = inner.more.pop_front();
                drop(inner);
                next.map(|columns| self.made(columns)).transpose()
            }
            Err(e) => Err(self.failed(e)),
        }
    }

    /// Rows as Arrow has them, made by who reads them while the session finds the next ones.
    fn made(&self, columns: Columns) -> PyResult<RecordBatch> {
        let mut columns = Some(columns);
        let mut make = || {
            let columns = columns.take().expect("rows are made once");
            // Those who call this from C cannot be unwound.
            catch_unwind(AssertUnwindSafe(|| columns.batch()))
                .unwrap_or_else(|panic| Err(SqlError::of_defect(Defect::of_panic(panic))))
        };
        // Other threads of Python go on meanwhile.
        let made = Python::try_attach(|py| py.detach(&mut make));
        made.unwrap_or_else(make).map_err(|e| {
            let portal = self.portal.clone();
            if !self.alone {
                self.worker.post(move |state| {
                    // A portal ends with its transaction: another one is not to blame.
                    if matches!(state.session.shape(&portal), Ok(Some(_))) {
                        state.session.close_portal(&portal);
                        fail(state);
                    }
                });
            }
            self.failed(raised(&e))
        })
    }

    /// There are no rows after this.
    fn failed(&self, e: PyErr) -> PyErr {
        // The lock is not held while the interpreter is waited for: who has that may want the lock.
        let kept = Python::try_attach(|py| e.clone_ref(py));
        let mut inner = self.inner.lock();
        inner.more.clear();
        (inner.next, inner.failure) = (None, kept);
        let lease = inner.lease.take();
        drop(inner);
        drop(lease);
        e
    }

    /// Asks for the next batches.
    fn ask(&self) -> Option<Receiver<Result<Group>>> {
        let (name, shape, alone) = (self.portal.clone(), self.shape.clone(), self.alone);
        self.worker.ask(move |state| fetch(state, &name, shape.as_ref(), alone))
    }
}

impl Drop for Answer {
    fn drop(&mut self) {
        // Outside of a transaction the lease ends it.
        if !self.alone && self.inner.get_mut().tag.is_none() {
            let portal = std::mem::take(&mut self.portal);
            self.worker.post(move |state| state.session.close_portal(&portal));
        }
    }
}

fn raised(e: &SqlError) -> PyErr {
    Python::try_attach(|py| errors::raised(py, e)).unwrap_or_else(errors::ended)
}

fn fetch(
    state: &mut State,
    portal: &str,
    shape: Option<&Arc<Shape>>,
    alone: bool,
) -> Result<Group> {
    let (mut rows, mut count, mut bytes) = (VecDeque::new(), 0, 0);
    loop {
        match state.session.fetch_columns(portal, shape, &mut state.client) {
            Ok(Fetched::Rows(columns)) => {
                (count, bytes) = (count + columns.rows(), bytes + columns.bytes());
                rows.push_back(columns);
                if count >= GROUP_ROWS || bytes >= GROUP_BYTES {
                    return Ok(Group { rows, tag: None });
                }
            }
            Ok(Fetched::Done(tag)) => {
                state.session.close_portal(portal);
                finish(state, alone)?;
                return Ok(Group { rows, tag: Some(tag) });
            }
            Err(e) => {
                // What is read after its transaction fails no other.
                if e.state() != "34000" {
                    fail(state);
                }
                return Err(e);
            }
        }
    }
}

/// Reads an answer from its first row.
struct Reader {
    answer: Arc<Answer>,
    /// Rows that stay where they are.
    all: Option<std::vec::IntoIter<RecordBatch>>,
}

impl Iterator for Reader {
    type Item = PyResult<RecordBatch>;

    fn next(&mut self) -> Option<PyResult<RecordBatch>> {
        match &mut self.all {
            Some(all) => all.next().map(Ok),
            None => self.answer.fetch().transpose(),
        }
    }
}

/// The rows of a statement.
#[pyclass(frozen, module = "onlap._onlap")]
pub struct Rows(Arc<Answer>);

impl Rows {
    fn new(
        begun: Begun,
        worker: Arc<Worker>,
        portal: String,
        lease: Option<Lease>,
        alone: bool,
    ) -> Rows {
        let schema = match (&begun.shape, begun.batches.front()) {
            (Some(shape), _) => Arc::clone(shape.schema()),
            (None, Some(batch)) => batch.schema(),
            (None, None) => Arc::new(Schema::empty()),
        };
        let inner = Inner {
            complete: begun.tag.is_some(),
            batches: begun.batches,
            more: VecDeque::new(),
            tag: begun.tag,
            taken: false,
            lease,
            failure: None,
            next: None,
        };
        Rows(Arc::new(Answer {
            shape: begun.shape,
            schema,
            notices: begun.notices,
            worker,
            portal,
            alone,
            inner: Mutex::new(inner),
        }))
    }

    fn reader(&self, py: Python<'_>) -> PyResult<Reader> {
        let mut inner = self.0.inner.lock();
        let all = inner.complete.then(|| Vec::from(inner.batches.clone()).into_iter());
        if all.is_none() && std::mem::replace(&mut inner.taken, true) {
            let text = "the rows of a long answer come once, and were read already";
            return Err(errors::new(py, "24000", text));
        }
        Ok(Reader { answer: Arc::clone(&self.0), all })
    }
}

#[pymethods]
impl Rows {
    /// What was done, as PostgreSQL says it; None while rows are to come.
    #[getter]
    fn tag(&self) -> Option<String> {
        self.0.inner.lock().tag.clone()
    }

    /// Whether all rows are there, to be read again and again.
    #[getter]
    fn complete(&self) -> bool {
        self.0.inner.lock().complete
    }

    /// Notices and warnings, as their fields by PostgreSQL's letters.
    #[getter]
    fn notices(&self) -> Vec<Fields> {
        self.0.notices.clone()
    }

    /// Names of the columns, and their types as PostgreSQL writes them.
    #[getter]
    fn columns(&self) -> Vec<(String, String)> {
        let ty = |field: &Field| field.metadata().get(onlap_sql::columnar::TYPE_KEY).cloned();
        let one = |field: &Arc<Field>| (field.name().clone(), ty(field).unwrap_or_default());
        self.0.schema.fields().iter().map(one).collect()
    }

    /// What ended the reading of rows, if anything did.
    #[getter]
    fn failure<'py>(&self, py: Python<'py>) -> Option<Bound<'py, PyAny>> {
        let inner = self.0.inner.lock();
        inner.failure.as_ref().map(|e| e.value(py).clone().into_any())
    }

    /// How many rows are there already.
    fn ready(&self) -> usize {
        self.0.inner.lock().batches.iter().map(RecordBatch::num_rows).sum()
    }

    /// The first of those that are there already, as tuples.
    fn head<'py>(&self, py: Python<'py>, rows: usize) -> PyResult<Vec<Bound<'py, PyTuple>>> {
        let batches = self.0.inner.lock().batches.clone();
        let (mut made, maker) = (Vec::new(), convert::Maker::new(py)?);
        for batch in batches {
            let left = rows - made.len();
            maker.tuples(&batch.slice(0, left.min(batch.num_rows())), |tuple| {
                made.push(tuple);
                Ok(())
            })?;
            if made.len() == rows {
                break;
            }
        }
        Ok(made)
    }

    /// All rows as tuples.
    fn fetchall<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyList>> {
        let (made, maker) = (PyList::empty(py), convert::Maker::new(py)?);
        for batch in self.reader(py)? {
            py.check_signals()?;
            maker.tuples(&batch?, |tuple| made.append(tuple))?;
        }
        Ok(made)
    }

    /// Ends the statement where rows are to come; they do not then.
    fn close(&self, py: Python<'_>) {
        let mut inner = self.0.inner.lock();
        if inner.complete || inner.tag.is_some() {
            return;
        }
        inner.batches.clear();
        inner.more.clear();
        (inner.taken, inner.tag) = (true, Some(String::new()));
        inner.next = None;
        let lease = inner.lease.take();
        drop(inner);
        let portal = self.0.portal.clone();
        self.0.worker.post(move |state| state.session.close_portal(&portal));
        py.detach(|| drop(lease));
    }

    fn __arrow_c_schema__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyCapsule>> {
        Ok(to_schema_pycapsule(py, self.0.schema.as_ref())?)
    }

    #[pyo3(signature = (requested_schema=None))]
    fn __arrow_c_stream__<'py>(
        &self,
        py: Python<'py>,
        requested_schema: Option<Bound<'py, PyCapsule>>,
    ) -> PyResult<Bound<'py, PyCapsule>> {
        let arrays = self.reader(py)?.map(|batch| match batch {
            Ok(batch) => Ok(Arc::new(StructArray::from(batch)) as ArrayRef),
            Err(e) => Err(ArrowError::ExternalError(Box::new(e))),
        });
        let field = Field::new_struct("", self.0.schema.fields().clone(), false);
        let stream = Box::new(ArrayIterator::new(arrays, Arc::new(field)));
        Ok(to_stream_pycapsule(py, stream, requested_schema)?)
    }
}
