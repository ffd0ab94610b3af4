//! What does a person see while something takes long?
//!
//! One line on standard error that is written over: how much of a file has gone ([`Bar`]), or for how long a statement has run and what has
//! come of it ([`Waiting`]). Nothing where standard error is no terminal, and nothing of what is over within a second.
//!
//! The lines themselves are made by pure functions.

use std::io::{IsTerminal as _, Write as _};
use std::time::Duration;

use onlap_base::clock::{Clock as _, SystemClock};

/// What is over before is not told.
const SHOW_AFTER: Duration = Duration::from_secs(1);
/// How often the line is written anew.
const EVERY: Duration = Duration::from_millis(200);
/// Characters of the bar.
const WIDTH: u64 = 24;

/// A line of standard error that is written over.
struct Line {
    begun_ns: u64,
    shown_ns: u64,
    is_shown: bool,
    terminal: bool,
}

impl Line {
    fn new(terminal: bool) -> Line {
        let begun_ns = SystemClock.monotonic_ns();
        Line { begun_ns, shown_ns: begun_ns, is_shown: false, terminal }
    }

    /// Writes what `text` makes of the time since the beginning, where it is time to.
    fn tick(&mut self, text: impl FnOnce(Duration) -> String) {
        if !self.terminal {
            return;
        }
        let now = SystemClock.monotonic_ns();
        let since = |then: u64| Duration::from_nanos(now.saturating_sub(then));
        if since(self.begun_ns) < SHOW_AFTER || (self.is_shown && since(self.shown_ns) < EVERY) {
            return;
        }
        (self.shown_ns, self.is_shown) = (now, true);
        // Who cannot be shown it misses nothing else.
        let _ = write!(std::io::stderr().lock(), "\r\x1b[K{}", text(since(self.begun_ns)));
    }

    fn clear(&mut self) {
        if std::mem::take(&mut self.is_shown) {
            let _ = write!(std::io::stderr().lock(), "\r\x1b[K");
        }
    }
}

/// How much of a file has gone.
pub(super) struct Bar {
    line: Line,
    done: u64,
    whole: Option<u64>,
}

impl Bar {
    /// Nothing yet, of this number of bytes where that is known.
    pub(super) fn new(whole: Option<u64>) -> Bar {
        Bar { line: Line::new(std::io::stderr().is_terminal()), done: 0, whole }
    }

    /// More has gone.
    pub(super) fn add(&mut self, bytes: usize) {
        self.done += bytes as u64;
        let (done, whole) = (self.done, self.whole);
        self.line.tick(|time| bar(done, whole, time));
    }

    /// Takes the line away, for other lines.
    pub(super) fn clear(&mut self) {
        self.line.clear();
    }
}

impl Drop for Bar {
    fn drop(&mut self) {
        self.clear();
    }
}

/// A statement under way.
pub(super) struct Waiting {
    line: Line,
    rows: u64,
    bytes: u64,
}

impl Waiting {
    /// It begins.
    pub(super) fn new() -> Waiting {
        Waiting { line: Line::new(std::io::stderr().is_terminal()), rows: 0, bytes: 0 }
    }

    /// A row has come.
    pub(super) fn row(&mut self, bytes: usize) {
        self.rows += 1;
        self.bytes += bytes as u64;
    }

    /// Time has passed.
    pub(super) fn tick(&mut self) {
        let (rows, bytes) = (self.rows, self.bytes);
        self.line.tick(|time| waiting(time, rows, bytes));
    }

    /// Takes the line away, for other lines.
    pub(super) fn clear(&mut self) {
        self.line.clear();
    }
}

fn bar(done: u64, whole: Option<u64>, time: Duration) -> String {
    let rate = done as f64 / time.as_secs_f64().max(1e-3);
    let rate_shown = size(rate as u64);
    let Some(whole) = whole.filter(|whole| *whole > 0) else {
        return format!("{}  {rate_shown}/s  {} s", size(done), time.as_secs());
    };
    // A file may grow while it is read.
    let part = done.min(whole);
    let full = (u128::from(part) * u128::from(WIDTH) / u128::from(whole)) as usize;
    let percent = u128::from(part) * 100 / u128::from(whole);
    let left = ((whole - part) as f64 / rate.max(1.0)).ceil() as u64;
    format!(
        "[{}{}] {percent} %  {} of {}  {rate_shown}/s  {}",
        "#".repeat(full),
        ".".repeat(WIDTH as usize - full),
        size(part),
        size(whole),
        if part < whole { format!("{left} s left") } else { "the server finishes".to_string() },
    )
}

fn waiting(time: Duration, rows: u64, bytes: u64) -> String {
    let so_far = match rows {
        0 => String::new(),
        rows => format!(", {rows} rows, {}", size(bytes)),
    };
    format!("{} s{so_far}; Ctrl-C cancels", time.as_secs())
}

fn size(bytes: u64) -> String {
    let mut value = bytes as f64;
    for unit in ["B", "KiB", "MiB", "GiB"] {
        if value < 1024.0 {
            return if unit == "B" { format!("{bytes} B") } else { format!("{value:.1} {unit}") };
        }
        value /= 1024.0;
    }
    format!("{value:.1} TiB")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_say_how_far_it_is() {
        let seconds = Duration::from_secs;
        let half = bar(5 << 20, Some(10 << 20), seconds(5));
        assert_eq!(
            half,
            "[############............] 50 %  5.0 MiB of 10.0 MiB  1.0 MiB/s  5 s left"
        );
        let all = bar(11, Some(10), seconds(1));
        assert!(all.contains("] 100 %  10 B of 10 B") && all.ends_with("the server finishes"));
        assert_eq!(bar(2048, None, seconds(2)), "2.0 KiB  1.0 KiB/s  2 s");
        assert_eq!(bar(0, Some(0), Duration::ZERO), "0 B  0 B/s  0 s");
        assert!(bar(u64::MAX, Some(u64::MAX), seconds(1)).contains("100 %"));
        assert_eq!(waiting(seconds(3), 0, 0), "3 s; Ctrl-C cancels");
        assert_eq!(waiting(seconds(70), 12, 1 << 30), "70 s, 12 rows, 1.0 GiB; Ctrl-C cancels");
    }
}
