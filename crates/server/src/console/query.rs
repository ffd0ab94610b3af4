//! What do statements of the page give?
//!
//! A request has some statements; each runs in a session of its own, in a transaction that only reads
//! ([`onlap_sql::Session::read`]), as the role that logged in. A session for each: what a statement may set in its
//! session counts for no other.
//!
//! Limits (I7): statements of a request, rows and bytes of its answer, a time for each statement and for all, queries
//! under way of all pages and of each role. Each takes a place of `max_connections`; an orderly end of the server
//! cancels it, and so does a client that closes its connection (`gone`).

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use onlap_base::Defect;
use onlap_base::clock::{Clock as _, SystemClock};
use onlap_sql::{Session, SessionInfo, SqlError};
use serde_json::{Value, json};

use super::collect::Collector;
use super::gone::Watch;
use super::sessions::Held;
use super::{Caller, FIRST_ROLE, refused};
use crate::http::answer::{Answer, Kind};
use crate::log::Log;
use crate::server::Shared;
use crate::turns::Turns;

/// Statements of a request.
const STATEMENTS: usize = 16;
/// Rows of an answer, where fewer are not asked for.
const ROWS: u64 = 10_000;
/// Bytes of an answer, as JSON: eight of them are a quarter of the least memory limit.
const ANSWER_BYTES: usize = 2 << 20;
/// How long a statement may take, and all of a request together.
const STATEMENT_TIME: Duration = Duration::from_secs(10);
const REQUEST_TIME: Duration = Duration::from_secs(20);
/// Requests that run statements at a time: of all, and of one role, so that none keeps the others out.
const AT_ONCE: usize = 8;
const AT_ONCE_EACH: usize = 4;

/// Requests that run statements, by role.
pub(super) type Queries = Turns<String>;

/// None yet.
pub(super) fn queries() -> Queries {
    Turns::new(AT_ONCE, AT_ONCE_EACH)
}

/// Who a session of the page is.
pub(super) fn info(role: &str, database: &str, caller: &Caller) -> SessionInfo {
    let settings = [
        ("application_name", "onlap console".to_string()),
        ("client_encoding", "UTF8".to_string()),
        ("DateStyle", "ISO, MDY".to_string()),
        ("IntervalStyle", "postgres".to_string()),
        ("default_transaction_read_only", "on".to_string()),
        ("statement_timeout", format!("{}ms", STATEMENT_TIME.as_millis())),
    ];
    SessionInfo {
        user: role.to_string(),
        database: database.to_string(),
        settings: settings.into_iter().map(|(name, value)| (name.to_string(), value)).collect(),
        peer: caller.peer.to_string(),
        ..SessionInfo::default()
    }
}

/// Runs the statements of a request.
pub(super) fn answer(shared: &Arc<Shared>, held: &Held, body: &Value, caller: &Caller) -> Answer {
    let empty = Vec::new();
    let statements = body["statements"].as_array().unwrap_or(&empty);
    if statements.is_empty() || statements.len() > STATEMENTS {
        return refused("400 Bad Request", "there are to be 1 to 16 statements");
    }
    let Some(_turn) = shared.console.queries.take(held.role.clone()) else {
        let busy = "too many statements of the console are under way: try again in a moment";
        return refused("503 Service Unavailable", busy).with("Retry-After", "1");
    };
    if shared.connections.is_stopping() {
        return refused("503 Service Unavailable", "the server is stopping");
    }
    let Ok(handle) = caller.handle.try_clone() else {
        return refused("503 Service Unavailable", "the server has no file descriptor left");
    };
    let guard = shared.connections.admit(handle);
    let _place = match shared.place(&held.role) {
        Ok(place) => place,
        Err(e) => return refused("503 Service Unavailable", &e.to_string()),
    };
    let end_ns = SystemClock.monotonic_ns() + REQUEST_TIME.as_nanos() as u64;
    let database = body["database"].as_str().unwrap_or(FIRST_ROLE);
    let watch = Watch::begin(shared, &guard.entry);
    let mut results = String::from("{\"results\":[");
    for (number, statement) in statements.iter().enumerate() {
        if number > 0 {
            results.push(',');
        }
        let room = ANSWER_BYTES.saturating_sub(results.len());
        let ran = match SystemClock.monotonic_ns() < end_ns {
            _ if watch.is_gone() => Ok(Err(SqlError::new("57014", "the client has gone"))),
            true => catch_unwind(AssertUnwindSafe(|| {
                let info = info(&held.role, database, caller);
                let mut session = Session::new(&shared.instance, info)?;
                guard.entry.set_session(session.key());
                run(&mut session, statement, room, &shared.log)
            })),
            false => Ok(Err(SqlError::new("57014", "the statements before it took too long"))),
        };
        let ran = ran.unwrap_or_else(|panic| {
            shared.connections.panics.fetch_add(1, Ordering::Relaxed);
            shared.log.error(format_args!("a statement of the console panicked"));
            Err(SqlError::of_defect(Defect::of_panic(panic)))
        });
        results.push_str(&ran.unwrap_or_else(|e| {
            shared.log.severe(&e);
            failed(&e)
        }));
    }
    results.push_str("]}");
    Answer::new("200 OK", Kind::Json, results)
}

/// Runs a statement; its answer as JSON.
fn run(
    session: &mut Session,
    statement: &Value,
    room: usize,
    log: &Log,
) -> Result<String, SqlError> {
    let malformed =
        || SqlError::new("08P01", "a statement is a text, rows, and values that are texts");
    let sql = statement["sql"].as_str().ok_or_else(malformed)?;
    let rows = statement["rows"].as_u64().unwrap_or(ROWS).clamp(1, ROWS) as usize;
    let none = Vec::new();
    let values = statement["values"].as_array().unwrap_or(&none);
    let value = |value: &Value| match value {
        Value::Null => Ok(None),
        Value::String(text) => Ok(Some(text.clone())),
        _ => Err(malformed()),
    };
    let values: Vec<_> = values.iter().map(value).collect::<Result<_, _>>()?;
    let values: Vec<_> = values.iter().map(|v| v.as_deref().map(str::as_bytes)).collect();
    let mut collector = Collector::new(room, log);
    let begun = SystemClock.monotonic_ns();
    let read = session.read(sql, &values, rows, &mut collector);
    let took_ms = SystemClock.monotonic_ns().saturating_sub(begun) as f64 / 1e6;
    match collector.is_full() {
        // What did not fit was not taken, and ended the statement.
        true => read.err().filter(|e| e.as_defect().is_some()).iter().for_each(|e| log.severe(e)),
        false => read?,
    }
    collector.finish(took_ms)
}

fn failed(e: &SqlError) -> String {
    let field = |kind: u8| e.fields().into_iter().find_map(|(k, text)| (k == kind).then_some(text));
    json!({
        "error": {
            "state": e.state(),
            "message": e.to_string(),
            "detail": field(b'D'),
            "hint": field(b'H'),
            "position": field(b'P'),
        }
    })
    .to_string()
}
