//! What does the server tell its operator?
//!
//! One line per event on standard error: time, level, who it is about, what happened. Values of users
//! never go into it but as part of statements that met a defect, or that took long, which the operator asked for.
//!
//! Thread safety: lines of several threads do not mix.

use std::fmt;
use std::io::Write as _;
use std::sync::Arc;
use std::sync::atomic::{AtomicU8, Ordering};

use chrono::{DateTime, SecondsFormat};
use onlap_base::clock::{Clock, SystemClock};
use onlap_sql::SqlError;

/// How much an event matters.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[repr(u8)]
pub enum Level {
    /// The server cannot do what it is there for.
    Error,
    /// Something that its operator should look at.
    Warn,
    /// Starts, stops, failed connections, slow statements.
    Info,
    /// Every connection.
    Debug,
}

impl Level {
    /// By its name in settings.
    pub fn parse(name: &str) -> Option<Level> {
        Some(match name {
            "error" => Level::Error,
            "warn" => Level::Warn,
            "info" => Level::Info,
            "debug" => Level::Debug,
            _ => return None,
        })
    }
    fn name(self) -> &'static str {
        match self {
            Level::Error => "ERROR",
            Level::Warn => "WARN",
            Level::Info => "INFO",
            Level::Debug => "DEBUG",
        }
    }
}

/// Where lines go.
type Sink = Arc<dyn Fn(&str) + Send + Sync>;

/// The server's log.
#[derive(Clone)]
pub struct Log {
    level: Arc<AtomicU8>,
    clock: Arc<dyn Clock>,
    sink: Sink,
}

impl Log {
    /// To standard error.
    pub fn stderr(level: Level) -> Log {
        Log::to(level, Arc::new(|line| drop(std::io::stderr().lock().write_all(line.as_bytes()))))
    }
    /// To whoever takes the lines, each of which ends in a line feed.
    pub fn to(level: Level, sink: Sink) -> Log {
        let level = Arc::new(AtomicU8::new(level as u8));
        Log { level, clock: Arc::new(SystemClock), sink }
    }
    /// Whether events of a level are written.
    pub fn is_on(&self, level: Level) -> bool {
        level as u8 <= self.level.load(Ordering::Relaxed)
    }
    /// Writes one event.
    pub fn event(&self, level: Level, text: impl fmt::Display) {
        if !self.is_on(level) {
            return;
        }
        let now = DateTime::from_timestamp_micros(self.clock.unix_us()).unwrap_or_default();
        let now = now.to_rfc3339_opts(SecondsFormat::Millis, true);
        // An event is one line, whatever a client put into it.
        let text = text.to_string().replace(['\n', '\r'], " ");
        (self.sink)(&format!("{now} {:<5} {text}\n", level.name()));
    }
    /// An error of a statement that is the operator's business too: a defect with all that is known of it, damage, failing
    /// or full disks.
    pub fn severe(&self, error: &SqlError) {
        let state = error.state();
        match error.as_defect() {
            Some(defect) => {
                if let Some(report) = defect.report() {
                    self.error(format_args!("{state} {report}"));
                }
            }
            None if state.starts_with("XX") || state.starts_with("58") || state == "53100" => {
                self.error(format_args!("{state} {error}"));
            }
            None => {}
        }
    }
    /// An event of level error.
    pub fn error(&self, text: impl fmt::Display) {
        self.event(Level::Error, text);
    }
    /// An event of level warn.
    pub fn warn(&self, text: impl fmt::Display) {
        self.event(Level::Warn, text);
    }
    /// An event of level info.
    pub fn info(&self, text: impl fmt::Display) {
        self.event(Level::Info, text);
    }
    /// An event of level debug.
    pub fn debug(&self, text: impl fmt::Display) {
        self.event(Level::Debug, text);
    }
}

impl fmt::Debug for Log {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Log").field("level", &self.level).finish_non_exhaustive()
    }
}
