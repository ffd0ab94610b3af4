//! How do rows become JSON?
//!
//! A client of a session ([`onlap_sql::Client`]) that keeps columns, rows, notices and the tag of one statement as JSON.
//! Values are texts or null, as the protocol has them: numbers have more digits than a browser's. It takes rows up to
//! a number of bytes and is gone for the session then, which ends the statement.

use onlap_sql::{Client, CopyData, Reply, Result, SqlError};
use serde_json::{Value, json};

use crate::log::Log;

/// Notices that are kept.
const NOTICES: usize = 20;

/// What a statement gave.
pub(super) struct Collector<'a> {
    log: &'a Log,
    reply: Reply,
    room: usize,
    is_full: bool,
    /// Whether rows are left that were not asked for.
    is_cut: bool,
    columns: Vec<Value>,
    /// Rows, as JSON with commas between them.
    rows: String,
    count: u64,
    notices: Vec<String>,
    tag: String,
}

impl Collector<'_> {
    /// Takes that number of bytes. What only the log is told goes there.
    pub(super) fn new(room: usize, log: &Log) -> Collector<'_> {
        Collector {
            log,
            reply: Reply::new(),
            room,
            is_full: false,
            is_cut: false,
            columns: Vec::new(),
            rows: String::new(),
            count: 0,
            notices: Vec::new(),
            tag: String::new(),
        }
    }

    /// Whether there was no room for all.
    pub(super) fn is_full(&self) -> bool {
        self.is_full
    }

    /// The answer.
    ///
    /// # Errors
    /// The session sent what is no message.
    pub(super) fn finish(mut self, took_ms: f64) -> Result<String> {
        if !self.is_full {
            self.take()?;
        }
        let columns = Value::Array(self.columns);
        let notices = json!(self.notices);
        let (rows, tag) = (self.rows, Value::String(self.tag));
        let is_cut = self.is_cut || self.is_full;
        Ok(format!(
            "{{\"columns\":{columns},\"rows\":[{rows}],\"tag\":{tag},\"cut\":{is_cut},\
             \"notices\":{notices},\"ms\":{took_ms:.3}}}"
        ))
    }

    fn take(&mut self) -> Result<()> {
        let bytes = std::mem::take(self.reply.bytes());
        let mut rest = &bytes[..];
        while let Some((head, after)) = rest.split_first_chunk::<5>() {
            let length = u32::from_be_bytes([head[1], head[2], head[3], head[4]]) as usize;
            let body = length.checked_sub(4).and_then(|length| after.get(..length));
            let body = body.ok_or_else(broken)?;
            self.message(head[0], body).ok_or_else(broken)?;
            if self.is_full {
                return Err(SqlError::new("08006", "the answer has no more room"));
            }
            rest = &after[body.len()..];
        }
        Ok(())
    }

    /// Takes one message; `None` where it is cut short.
    fn message(&mut self, kind: u8, body: &[u8]) -> Option<()> {
        match kind {
            b'T' => self.description(body),
            b'D' => self.row(body),
            b'C' => {
                self.tag = text(body.split(|b| *b == 0).next()?);
                Some(())
            }
            b's' => {
                self.is_cut = true;
                Some(())
            }
            b'N' if self.notices.len() < NOTICES => {
                let fields = body.split(|b| *b == 0);
                let said = fields.filter_map(|field| field.split_first());
                let message = said.filter(|(kind, _)| **kind == b'M').map(|(_, told)| text(told));
                self.notices.extend(message.take(1));
                Some(())
            }
            _ => Some(()),
        }
    }

    fn description(&mut self, body: &[u8]) -> Option<()> {
        let (_, mut rest) = body.split_first_chunk::<2>()?;
        self.columns.clear();
        while !rest.is_empty() {
            let end = rest.iter().position(|b| *b == 0)?;
            let (name, after) = (&rest[..end], rest.get(end + 1..)?);
            // Table and column, type, its size and modifier, the format.
            let (fixed, next) = after.split_first_chunk::<18>()?;
            let oid = u32::from_be_bytes(fixed[6..10].try_into().ok()?);
            self.columns.push(json!({ "name": text(name), "type": oid }));
            rest = next;
        }
        Some(())
    }

    fn row(&mut self, body: &[u8]) -> Option<()> {
        if self.rows.len() + body.len() > self.room {
            self.is_full = true;
            return Some(());
        }
        let before = self.rows.len();
        let mut comma = if self.count > 0 { ",[" } else { "[" };
        let (_, mut rest) = body.split_first_chunk::<2>()?;
        while let Some((length, after)) = rest.split_first_chunk::<4>() {
            self.rows.push_str(comma);
            comma = ",";
            match usize::try_from(i32::from_be_bytes(*length)) {
                Ok(length) => {
                    let value = after.get(..length)?;
                    self.rows.push_str(&Value::String(text(value)).to_string());
                    rest = &after[length..];
                }
                Err(_) => {
                    self.rows.push_str("null");
                    rest = after;
                }
            }
        }
        if comma != "," {
            self.rows.push_str(comma);
        }
        self.rows.push(']');
        if self.rows.len() > self.room {
            self.rows.truncate(before);
            self.is_full = true;
            return Some(());
        }
        self.count += 1;
        Some(())
    }
}

impl Client for Collector<'_> {
    fn note(&mut self, error: &SqlError) {
        self.log.severe(error);
    }
    fn reply(&mut self) -> &mut Reply {
        &mut self.reply
    }
    fn send(&mut self) -> Result<()> {
        self.take()
    }
    fn copy_data(&mut self) -> Result<CopyData> {
        Err(SqlError::new("0A000", "the console sends no COPY data"))
    }
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

fn broken() -> SqlError {
    SqlError::defect("the session sent what is no message")
}
