//! Which statements ran, how often, and how long did they take?
//!
//! Statements that differ in literals and parameters alone are one: a [`Fingerprint`] is a text without them, found once
//! per parsed text. [`Calls`] counts by fingerprint, role and database. Statements within routines are part of
//! those that called them; what failed is not counted, as in pg_stat_statements.
//!
//! Invariants: at most [`MOST`] statements are known, in parts that have a lock each; where a part is full the one with
//! the fewest calls goes. Texts have no literals, so that no value or password is kept.
//!
//! Thread safety: shared by all sessions; a part's lock is held for one look-up and some additions.

use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, AtomicU64, Ordering::Relaxed};

use hashbrown::HashMap;
use hashbrown::hash_map::Entry;
use onlap::{IndexId, ReadCounters};
use onlap_base::clock::{Clock, SystemClock};
use onlap_base::times::{self, BUCKETS};
use onlap_pg::grammar::{Keyword, Kind, Token, Tokens};
use parking_lot::Mutex;
use xxhash_rust::xxh3::xxh3_64;

#[cfg(test)]
mod tests;

/// Statements that are known: at most 1.6 KiB each, mostly text and histogram, so some 3 MiB.
const MOST: usize = 2048;
const PARTS: usize = 16;
/// Indexes that are remembered of a statement; the engine remembers as many of a call.
const INDEXES: usize = 8;
/// Bytes of a statement's text, as pg_stat_activity shows.
const TEXT_BYTES: usize = 1023;
/// Bytes of a text that are looked at: what differs behind is one statement.
const SCANNED_BYTES: usize = 4 << 10;

/// A statement without its literals.
#[derive(Debug, PartialEq, Eq)]
pub struct Fingerprint {
    /// The text as it came first, with `$n` for literals.
    pub text: Arc<str>,
    /// The same for all texts that are one statement.
    pub hash: u64,
    /// Whether the text is all of the statement, with numbers for its literals.
    pub whole: bool,
}

impl Fingerprint {
    /// That of the text of one statement.
    pub fn of(text: &str) -> Fingerprint {
        let is_cut = text.len() > SCANNED_BYTES;
        let text = &text[..text.floor_char_boundary(SCANNED_BYTES)];
        let tokens = Tokens::of(text);
        let mut writer = Writer {
            is_cut,
            tokens: &tokens,
            text: String::with_capacity(text.len().min(TEXT_BYTES)),
            hasher: DefaultHasher::new(),
            next: 1 + tokens.all.iter().filter_map(param).max().unwrap_or(0),
            end: None,
            is_full: false,
        };
        let mut at = 0;
        while at < tokens.all.len() {
            at += writer.write(at);
        }
        let whole = !is_cut && !writer.is_full;
        Fingerprint { hash: writer.hasher.finish(), text: writer.text.into(), whole }
    }
}

fn param(token: &Token) -> Option<i32> {
    match token.kind {
        Kind::Param(n) => Some(n),
        _ => None,
    }
}

fn is_value(token: &Token) -> bool {
    let literal = matches!(token.kind, Kind::Text | Kind::Bits | Kind::Hex | Kind::Number);
    literal || matches!(token.kind, Kind::Int(_) | Kind::Param(_))
}

/// What may stand in a list of values: words that are values are written out elsewhere.
fn is_listed(token: &Token) -> bool {
    use Keyword::{Default, False, Null, True};
    is_value(token) || matches!(token.word(), Some(Null | True | False | Default))
}

/// Where the first VALUES of a text ends: what comes before is what an INSERT of literals is told by.
pub fn values_end(text: &str) -> usize {
    let start = &text[..text.floor_char_boundary(SCANNED_BYTES)];
    let tokens = Tokens::of(start);
    let values = tokens.all.iter().find(|token| token.word() == Some(Keyword::Values));
    values.map_or(start.len(), |token| token.end as usize)
}

/// Writes a text anew, token by token.
struct Writer<'a> {
    tokens: &'a Tokens<'a>,
    is_cut: bool,
    text: String,
    hasher: DefaultHasher,
    /// The number that the next literal gets.
    next: i32,
    /// Where the last token ended in the text that came.
    end: Option<u32>,
    /// Whether a token did not fit: no other follows.
    is_full: bool,
}

impl Writer<'_> {
    /// Writes what stands at a token; how many tokens that is.
    fn write(&mut self, at: usize) -> usize {
        let token = self.tokens.all[at];
        if matches!(token.kind, Kind::Bad | Kind::End) {
            return 1;
        }
        let lists =
            at > 0 && matches!(self.tokens.all[at - 1].word(), Some(Keyword::Values | Keyword::In));
        if lists && let Some(end) = self.lists(at) {
            // As many rows, or values, as there may be.
            self.put(token, "(...)", "(...)");
            self.end = Some(self.tokens.all[end - 1].end);
            return end - at;
        }
        let as_written = &self.tokens.text[token.start as usize..token.end as usize];
        match token.kind {
            Kind::Param(_) => self.put(token, as_written, "?"),
            _ if is_value(&token) => {
                let number = format!("${}", self.next);
                self.next += 1;
                self.put(token, &number, "?");
            }
            Kind::Word(_) => self.put(token, as_written, &as_written.to_ascii_lowercase()),
            Kind::Name => self.put(token, as_written, self.tokens.value(token)),
            _ => self.put(token, as_written, as_written),
        }
        1
    }

    /// The end of one or several lists of values that begin at a token, in parentheses and with commas between. They may
    /// go on where the text was cut.
    fn lists(&self, start: usize) -> Option<usize> {
        let all = &self.tokens.all;
        let cut = |at: usize| {
            // The last token is the end, or what was cut in two.
            (self.is_cut && at + 1 >= all.len()).then_some(all.len() - 1)
        };
        let is = |at: usize, c: char| all.get(at).is_some_and(|token| token.kind == Kind::Char(c));
        let mut at = start;
        loop {
            if !is(at, '(') {
                return cut(at);
            }
            at += 1;
            loop {
                // A sign belongs to its number.
                at += usize::from(is(at, '-') || is(at, '+'));
                if !all.get(at).is_some_and(is_listed) {
                    return cut(at);
                }
                at += 1;
                if !is(at, ',') {
                    break;
                }
                at += 1;
            }
            if !is(at, ')') {
                return cut(at);
            }
            at += 1;
            if !(is(at, ',') && is(at + 1, '(')) {
                return cut(at + 1).filter(|_| is(at, ',')).or(Some(at));
            }
            at += 1;
        }
    }

    fn put(&mut self, token: Token, shown: &str, hashed: &str) {
        hashed.hash(&mut self.hasher);
        let blank = self.end.is_some_and(|end| end < token.start);
        self.end = Some(token.end);
        self.is_full |= self.text.len() + shown.len() + usize::from(blank) > TEXT_BYTES;
        if !self.is_full {
            self.text.extend(blank.then_some(' '));
            self.text.push_str(shown);
        }
    }
}

/// Whose statement it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
struct Key {
    hash: u64,
    role: u32,
    database: u64,
}

/// What is known of a statement. Times are in nanoseconds.
#[derive(Clone, Debug)]
pub struct Called {
    /// Its text and number.
    pub fingerprint: Arc<Fingerprint>,
    /// The role that ran it.
    pub role: u32,
    /// The database where it ran.
    pub database: Arc<str>,
    /// How often it ran to its end.
    pub calls: u64,
    /// How many of them took the native way.
    pub native: u64,
    /// Rows that it gave or changed.
    pub rows: u64,
    /// All its time.
    pub total_ns: u64,
    /// The shortest.
    pub min_ns: u64,
    /// The longest.
    pub max_ns: u64,
    /// The sum of squares of what times differ from their mean.
    squares: f64,
    /// What it read.
    pub read: ReadCounters,
    /// Bytes that it put into temporary files.
    pub temp_bytes: u64,
    /// Indexes that it read, the first eight.
    pub indexes: Vec<IndexId>,
    /// A hash of the search path that it was called with, where that was always the same.
    pub path: Option<u64>,
    histogram: [u32; BUCKETS],
}

impl Called {
    fn new(fingerprint: &Arc<Fingerprint>, role: u32, database: &str) -> Called {
        Called {
            fingerprint: Arc::clone(fingerprint),
            role,
            database: database.into(),
            calls: 0,
            native: 0,
            rows: 0,
            total_ns: 0,
            min_ns: u64::MAX,
            max_ns: 0,
            squares: 0.0,
            read: ReadCounters::default(),
            temp_bytes: 0,
            indexes: Vec::new(),
            path: None,
            histogram: [0; BUCKETS],
        }
    }

    /// The mean of its times.
    pub fn mean_ns(&self) -> f64 {
        self.total_ns as f64 / self.calls.max(1) as f64
    }

    /// The standard deviation of its times, as of all that there are.
    pub fn deviation_ns(&self) -> f64 {
        (self.squares / self.calls.max(1) as f64).sqrt()
    }

    fn add(&mut self, call: &Call) {
        // Welford's way: sums of squares alone would lose what differs little.
        let before = call.ns as f64 - self.mean_ns();
        self.path = match self.calls {
            0 => Some(call.path),
            _ => self.path.filter(|path| *path == call.path),
        };
        self.calls += 1;
        self.total_ns += call.ns;
        let before = if self.calls == 1 { 0.0 } else { before };
        self.squares += before * (call.ns as f64 - self.mean_ns());
        self.native += u64::from(call.native);
        self.read.index_entries_read += call.read.index_entries_read;
        self.read.rows_read += call.read.rows_read;
        self.read.blocks_read += call.read.blocks_read;
        self.read.filter_probes += call.read.filter_probes;
        self.read.rechecks += call.read.rechecks;
        self.temp_bytes += call.temp_bytes;
        for index in &call.indexes {
            if self.indexes.len() < INDEXES && !self.indexes.contains(index) {
                self.indexes.push(*index);
            }
        }
        self.rows += call.rows;
        self.min_ns = self.min_ns.min(call.ns);
        self.max_ns = self.max_ns.max(call.ns);
        let bucket = &mut self.histogram[times::bucket(call.ns)];
        *bucket = bucket.saturating_add(1);
    }

    /// The time that this share of the calls did not exceed, within a tenth.
    pub fn quantile_ns(&self, share: f64) -> u64 {
        let counts = self.histogram.iter().map(|n| u64::from(*n));
        let middle = times::quantile_ns(counts, share).unwrap_or(self.max_ns);
        middle.clamp(self.min_ns, self.max_ns)
    }
}

/// A statement that ran.
#[derive(Clone, Debug, Default)]
pub struct Call {
    /// Rows that it gave or changed.
    pub rows: u64,
    /// How long it took.
    pub ns: u64,
    /// Whether it took the native way.
    pub native: bool,
    /// What it read.
    pub read: ReadCounters,
    /// Bytes that it put into temporary files.
    pub temp_bytes: u64,
    /// Indexes that it read.
    pub indexes: Vec<IndexId>,
    /// A hash of the search path.
    pub path: u64,
}

/// Some of the statements.
#[derive(Debug, Default)]
struct Part {
    known: HashMap<Key, Called>,
    /// Calls so far, of those too that went.
    counted: u64,
}

/// Statements that ran.
#[derive(Debug)]
pub struct Calls {
    parts: [Mutex<Part>; PARTS],
    /// How many statements went because others came.
    gone: AtomicU64,
    /// When counting began, in microseconds since 1970-01-01 UTC.
    since_us: AtomicI64,
}

impl Default for Calls {
    fn default() -> Calls {
        Calls {
            parts: Default::default(),
            gone: AtomicU64::new(0),
            since_us: AtomicI64::new(SystemClock.unix_us()),
        }
    }
}

impl Calls {
    /// Counts a call.
    pub fn add(&self, fingerprint: &Arc<Fingerprint>, role: u32, database: &str, call: &Call) {
        let key = Key { hash: fingerprint.hash, role, database: xxh3_64(database.as_bytes()) };
        let mut part = self.parts[key.hash as usize % PARTS].lock();
        part.counted += 1;
        let known = &mut part.known;
        if known.len() >= MOST / PARTS && !known.contains_key(&key) {
            let least = known.iter().min_by_key(|(_, called)| called.calls).map(|(key, _)| *key);
            least.iter().for_each(|key| drop(known.remove(key)));
            self.gone.fetch_add(1, Relaxed);
        }
        match known.entry(key) {
            Entry::Occupied(known) => known.into_mut().add(call),
            Entry::Vacant(free) => {
                free.insert(Called::new(fingerprint, role, database)).add(call);
            }
        }
    }

    /// All that are known, those that took most time first.
    pub fn all(&self) -> Vec<Called> {
        let mut all = Vec::new();
        self.parts.iter().for_each(|part| all.extend(part.lock().known.values().cloned()));
        all.sort_by_key(|called| std::cmp::Reverse(called.total_ns));
        all
    }

    /// How many calls ended well since the start, whatever was forgotten since.
    pub fn counted(&self) -> u64 {
        self.parts.iter().map(|part| part.lock().counted).sum()
    }

    /// For each index the time in nanoseconds that half of the calls of statements that read by it did not exceed, within a
    /// tenth. A statement that read by several counts for each, and with all its calls.
    pub fn medians(&self) -> HashMap<IndexId, u64> {
        let mut all: HashMap<IndexId, [u64; BUCKETS]> = HashMap::new();
        for part in &self.parts {
            for called in part.lock().known.values() {
                for index in &called.indexes {
                    let counts = all.entry(*index).or_insert([0; BUCKETS]);
                    counts.iter_mut().zip(&called.histogram).for_each(|(n, m)| *n += u64::from(*m));
                }
            }
        }
        let median = |counts: [u64; BUCKETS]| times::quantile_ns(counts.into_iter(), 0.5);
        all.into_iter().filter_map(|(id, counts)| Some((id, median(counts)?))).collect()
    }

    /// Forgets statements.
    pub fn forget(&self, is_meant: impl Fn(&Called) -> bool) {
        self.parts.iter().for_each(|part| part.lock().known.retain(|_, called| !is_meant(called)));
    }

    /// Forgets all of them, and begins to count anew.
    pub fn begin_anew(&self) {
        self.forget(|_| true);
        self.gone.store(0, Relaxed);
        self.since_us.store(SystemClock.unix_us(), Relaxed);
    }

    /// How many went because others came, and since when that is counted, in microseconds since 1970-01-01 UTC.
    pub fn gone_since(&self) -> (u64, i64) {
        (self.gone.load(Relaxed), self.since_us.load(Relaxed))
    }
}
