//! What does a transaction of Python's do in its session?

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use onlap_sql::{Fetched, Result, SqlError};
use parking_lot::Mutex;
use pyo3::prelude::*;
use pyo3_arrow::input::AnyRecordBatch;

use crate::convert;
use crate::core::Lease;
use crate::errors;
use crate::messages::Batches;
use crate::parameters::Parameters;
use crate::rows::{self, Rows};
use crate::worker::{State, Worker};

/// Numbers portals, so that several may be open in one transaction.
static PORTALS: AtomicU64 = AtomicU64::new(1);

/// A name for a portal.
pub fn portal_name() -> String {
    format!("python {}", PORTALS.fetch_add(1, Ordering::Relaxed))
}

/// Ends what is under way in a session, so that it may have another user: the transaction of a statement commits, one
/// that was begun by name does not.
pub fn leave(state: &mut State) {
    let State { session, client, .. } = state;
    client.set_source(None);
    // What fails here fails because nothing was under way, or is gone anyway.
    let _ = match session.status() {
        b'I' => session.sync(client),
        _ => session.query("ROLLBACK", client),
    };
    client.take_tags();
    client.take_notices();
}

/// Ends what was done up to here as Sync does; in a transaction of its own, commits it.
///
/// # Errors
/// Those of the commit; the statement has begun a transaction.
pub fn finish(state: &mut State, alone: bool) -> Result<()> {
    state.session.sync(&mut state.client)?;
    if alone && state.session.status() != b'I' {
        leave(state);
        let text = "a transaction begins with Database.transaction()";
        return Err(SqlError::new("25001", text));
    }
    Ok(())
}

/// After an error: the transaction has failed.
pub fn fail(state: &mut State) {
    state.session.failed();
    // The error that is told is the first one.
    let _ = state.session.sync(&mut state.client);
}

/// A session in which a transaction is under way.
#[pyclass(frozen, module = "onlap._onlap")]
pub struct Session {
    lease: Mutex<Option<Lease>>,
    worker: Arc<Worker>,
}

impl Session {
    /// With a session of its own.
    pub fn new(lease: Lease) -> Session {
        Session { worker: Arc::clone(lease.worker()), lease: Mutex::new(Some(lease)) }
    }

    fn worker(&self, py: Python<'_>) -> PyResult<&Arc<Worker>> {
        match *self.lease.lock() {
            Some(_) => Ok(&self.worker),
            None => Err(errors::new(py, "25P01", "the transaction has ended")),
        }
    }
}

#[pymethods]
impl Session {
    /// Runs a statement in the transaction.
    fn run(&self, py: Python<'_>, sql: String, parameters: Parameters) -> PyResult<Rows> {
        rows::within(py, self.worker(py)?, sql, parameters)
    }

    /// Runs all statements of a text; their tags.
    fn script(&self, py: Python<'_>, sql: String) -> PyResult<Vec<String>> {
        let ran = self.worker(py)?.run(py, move |state| {
            let ran = state.session.query(&sql, &mut state.client);
            ran.map(|()| state.client.take_tags())
        })?;
        match ran.map_err(|e| errors::raised(py, &e))? {
            (_, Some(fields)) => Err(errors::of_fields(py, fields)),
            (tags, None) => Ok(tags),
        }
    }

    /// Runs a COPY FROM STDIN whose rows are Arrow's; how many there were.
    fn copy(&self, py: Python<'_>, sql: String, data: AnyRecordBatch) -> PyResult<u64> {
        let source = source(data)?;
        let worker = self.worker(py)?;
        let copied = worker.run(py, move |state| {
            state.client.set_source(Some(source));
            let copied = rows::run(state, "", &sql, &[], usize::MAX, false);
            state.client.set_source(None);
            copied
        })?;
        let tag = copied.map_err(|e| errors::raised(py, &e))?.tag.unwrap_or_default();
        Ok(tag.rsplit(' ').next().and_then(|rows| rows.parse().ok()).unwrap_or_default())
    }

    /// Runs a statement for each row of Arrow's data, whose values are its parameters; how many there were.
    fn each(&self, py: Python<'_>, sql: String, data: AnyRecordBatch) -> PyResult<u64> {
        let mut source = source(data)?;
        let ran = self.worker(py)?.run(py, move |state| {
            let ran = each(state, &sql, &mut source);
            match &ran {
                Ok(_) => finish(state, false).and(ran),
                Err(_) => {
                    fail(state);
                    ran
                }
            }
        })?;
        ran.map_err(|e| errors::raised(py, &e))
    }

    /// `I`, `T` or `E`: whether a transaction is under way, or has failed.
    fn status(&self, py: Python<'_>) -> PyResult<char> {
        self.worker(py)?.run(py, |state| char::from(state.session.status()))
    }

    /// Gives the session back; a transaction that is under way is rolled back.
    fn end(&self, py: Python<'_>) {
        let lease = self.lease.lock().take();
        py.detach(|| drop(lease));
    }
}

/// Arrow's data, batch by batch, in types that tables take.
fn source(data: AnyRecordBatch) -> PyResult<Batches> {
    let mut reader = data.into_reader()?;
    Ok(Box::new(move || {
        let batch = reader.next()?;
        Some(batch.and_then(|batch| convert::normal(&batch)).map_err(|e| e.to_string()))
    }))
}

fn each(state: &mut State, sql: &str, source: &mut Batches) -> Result<u64> {
    let mut rows = 0;
    state.session.parse("", sql, &[])?;
    while let Some(batch) = source() {
        let batch =
            batch.map_err(|why| SqlError::new("22P04", format!("the data failed: {why}")))?;
        for row in 0..batch.num_rows() {
            state.must_go_on()?;
            let text =
                |column: &arrow_array::ArrayRef| onlap_sql::columnar::input::text(column, row);
            let values =
                batch.columns().iter().map(text).collect::<Result<Vec<Option<String>>>>()?;
            let values: Vec<Option<&[u8]>> =
                values.iter().map(|value| value.as_ref().map(|text| text.as_bytes())).collect();
            state.session.bind("", "", &[], &values, &[])?;
            while let Fetched::Rows(_) = state.session.fetch_columns("", None, &mut state.client)? {
            }
            state.session.close_portal("");
        }
        rows += batch.num_rows() as u64;
    }
    Ok(rows)
}
