//! In which order do keys arrive at an index?
//!
//! The insert benchmark's "geek code": how many ascending and descending streams of keys there are,
//! and whether one of them runs along the right or the left end of what the index holds; `inf` where
//! no such order is to be seen (random keys, or more than 64 streams).
//!
//! An index calls the key that comes directly before or after the last key of a stream a
//! continuation. Knowing that exactly takes the whole index; [`Pattern`] keeps instead the ends of
//! at most [`STREAMS_MAX`] streams, the smallest and largest key, and a uniform sample of
//! [`SAMPLE_KEYS`] of all keys seen. As long as no more keys were seen than the sample holds, the
//! judgement is exact; beyond, a key between which and a stream's end only unsampled keys lie is
//! taken for a continuation, which is unlikely for each key of a random order and so cannot hide
//! one: the streams that the other keys begin are too many.
//!
//! Pure and deterministic: it must not know of tables, files or clocks. Memory is bounded by the
//! three constants below (I7). Not synchronised: the owner holds it behind its own lock, and may
//! show it only a part of the keys, in stretches of neighbours in arrival order.

use std::fmt;

#[cfg(test)]
mod tests;

/// Ends of streams that are remembered; more streams than this are `inf`.
pub const STREAMS_MAX: usize = 64;

/// Keys in the uniform sample: eight per stream, so that in a random order a key is taken for a
/// continuation about one time in eight and a window still holds thousands of streams.
pub const SAMPLE_KEYS: usize = 8 * STREAMS_MAX;

/// Keys in a window. A report is about the last complete window, so that what an index saw long ago
/// fades. The square of [`STREAMS_MAX`]: see [`Pattern::report`].
pub const WINDOW_KEYS: u64 = (STREAMS_MAX * STREAMS_MAX) as u64;

/// A stream with less than this share of its window's keys is a stray and not shown.
const STRAY_DIVISOR: u64 = 4 * STREAMS_MAX as u64;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Direction {
    Unknown,
    Ascending,
    Descending,
}

#[derive(Clone, Debug)]
struct Stream<K> {
    last: K,
    direction: Direction,
    /// Keys in the current window.
    keys: u64,
    /// When it last grew, for eviction.
    touched: u64,
}

/// The order in which keys arrive.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum InsertPattern {
    /// Nothing was inserted, or too little to say.
    Unknown,
    /// Keys arrive in streams.
    Streams {
        /// Ascending streams.
        ascending: u32,
        /// Descending streams.
        descending: u32,
        /// Whether an ascending stream runs along the right end of the index.
        right_end: bool,
        /// Whether a descending stream runs along the left end of the index.
        left_end: bool,
    },
    /// No order to be seen, or more than [`STREAMS_MAX`] streams.
    Random,
}

impl fmt::Display for InsertPattern {
    /// The geek code: `(nAsc:1, nRHS:1)`, zeros left out; `(inf)`; `()` where nothing is known.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            InsertPattern::Unknown => f.write_str("()"),
            InsertPattern::Random => f.write_str("(inf)"),
            InsertPattern::Streams { ascending, descending, right_end, left_end } => {
                let parts = [
                    ("nAsc", ascending),
                    ("nDesc", descending),
                    ("nRHS", u32::from(right_end)),
                    ("nLHS", u32::from(left_end)),
                ];
                let mut separator = "(";
                for (name, n) in parts.into_iter().filter(|(_, n)| *n > 0) {
                    write!(f, "{separator}{name}:{n}")?;
                    separator = ", ";
                }
                f.write_str(")")
            }
        }
    }
}

/// Watches keys arrive. `K` is ordered as the index is; equal keys count as rising, because entries
/// of equal keys are ordered by row id.
///
/// ```
/// use onlap_base::pattern::Pattern;
/// let mut pattern = Pattern::new();
/// (1..=9).for_each(|key| pattern.hold(key));
/// [10, 11, 12].iter().for_each(|key| pattern.observe(key));
/// assert_eq!(pattern.report().to_string(), "(nAsc:1, nRHS:1)");
/// ```
#[derive(Clone, Debug)]
pub struct Pattern<K> {
    /// By `last`, ascending: a stream that grows never passes another, see [`Pattern::neighbour`].
    streams: Vec<Stream<K>>,
    /// Sorted.
    sample: Vec<K>,
    ends: Option<(K, K)>,
    /// Keys ever seen.
    seen: u64,
    /// Keys and streams of the current window.
    window_keys: u64,
    window_streams: u64,
    last_window: Option<InsertPattern>,
    dice: u64,
}

impl<K: Ord + Clone> Default for Pattern<K> {
    fn default() -> Self {
        Pattern::new()
    }
}

impl<K: Ord + Clone> Pattern<K> {
    /// Of an empty index.
    pub fn new() -> Pattern<K> {
        Pattern {
            streams: Vec::new(),
            sample: Vec::new(),
            ends: None,
            seen: 0,
            window_keys: 0,
            window_streams: 0,
            last_window: None,
            dice: 0x9E37_79B9_7F4A_7C15,
        }
    }

    /// A key that the index held before anyone watched.
    pub fn hold(&mut self, key: K) {
        self.remember(&key);
    }

    /// A key that arrives. Costs two binary searches.
    pub fn observe(&mut self, key: &K) {
        let at = self.streams.partition_point(|s| s.last <= *key);
        let below = at.checked_sub(1).and_then(|i| self.neighbour(i, key, Direction::Ascending));
        let above = self.neighbour(at, key, Direction::Descending);
        // Two streams that both could go on: the one that already has that direction, then the one
        // that grew last.
        let rank = |i: &usize| {
            let stream = &self.streams[*i];
            (stream.direction != Direction::Unknown, stream.touched)
        };
        let chosen = [below, above].into_iter().flatten().max_by_key(rank);
        match chosen {
            Some(i) => self.grow(i, key),
            None => self.begin(at, key),
        }
        self.window_keys += 1;
        self.remember(key);
        if self.window_keys == WINDOW_KEYS {
            self.last_window = Some(self.judge());
            self.window_keys = 0;
            self.window_streams = 0;
            // A stream that rested for a whole window has ended; the others count anew.
            self.streams.retain(|s| s.keys > 0);
            self.streams.iter_mut().for_each(|s| s.keys = 0);
        }
    }

    /// The pattern of the last complete window, or of the keys so far.
    ///
    /// `n` keys are in order when they form at most the square root of `n` streams. A random order
    /// forms about 0.4 `n`, also in a small index where every key is some stream's neighbour, so it
    /// is never mistaken for an order once seven keys have come; 64 streams are recognised when
    /// each of them has had 64 keys.
    pub fn report(&self) -> InsertPattern {
        match self.last_window {
            Some(pattern) => pattern,
            None => self.judge(),
        }
    }

    /// Keys seen, held ones included.
    pub fn seen(&self) -> u64 {
        self.seen
    }

    /// Stream `i`, if `key` may continue it in `direction`: no stream lies between by construction,
    /// and no sampled key does.
    fn neighbour(&self, i: usize, key: &K, direction: Direction) -> Option<usize> {
        let stream = self.streams.get(i)?;
        if stream.direction != Direction::Unknown && stream.direction != direction {
            return None;
        }
        let first_above = |k: &K| self.sample.partition_point(|s| s <= k);
        let (low, high) =
            if stream.last <= *key { (&stream.last, key) } else { (key, &stream.last) };
        // A sampled key equal to the upper bound is the bound itself (or its equal).
        let between = self.sample.get(first_above(low)).is_some_and(|s| s < high);
        (!between).then_some(i)
    }

    fn grow(&mut self, i: usize, key: &K) {
        let seen = self.seen;
        let stream = &mut self.streams[i];
        stream.direction =
            if *key >= stream.last { Direction::Ascending } else { Direction::Descending };
        stream.last = key.clone();
        stream.touched = seen;
        stream.keys += 1;
        // The first key of a stream in this window counts it; `begin` counts new ones.
        if stream.keys == 1 {
            self.window_streams += 1;
        }
    }

    fn begin(&mut self, at: usize, key: &K) {
        self.window_streams += 1;
        let stream = Stream {
            last: key.clone(),
            direction: Direction::Unknown,
            keys: 1,
            touched: self.seen,
        };
        self.streams.insert(at, stream);
        if self.streams.len() > STREAMS_MAX {
            let oldest = (0..self.streams.len())
                .min_by_key(|i| self.streams[*i].touched)
                .expect("a stream was just inserted");
            self.streams.remove(oldest);
        }
    }

    /// Keeps the ends, and the key with the probability that makes the sample uniform.
    fn remember(&mut self, key: &K) {
        match &mut self.ends {
            None => self.ends = Some((key.clone(), key.clone())),
            Some((min, _)) if key < min => *min = key.clone(),
            Some((_, max)) if key > max => *max = key.clone(),
            Some(_) => {}
        }
        self.seen += 1;
        if self.sample.len() == SAMPLE_KEYS {
            let slot = self.roll(self.seen);
            if slot >= SAMPLE_KEYS as u64 {
                return;
            }
            self.sample.remove(slot as usize);
        }
        let at = self.sample.partition_point(|s| s <= key);
        self.sample.insert(at, key.clone());
    }

    /// A number below `n` from a fixed sequence (splitmix64), so that reports replay.
    fn roll(&mut self, n: u64) -> u64 {
        self.dice = self.dice.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut z = self.dice;
        z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        ((u128::from(z ^ (z >> 31)) * u128::from(n)) >> 64) as u64
    }

    fn judge(&self) -> InsertPattern {
        if self.window_keys == 0 {
            return InsertPattern::Unknown;
        }
        let too_many = self.window_streams > STREAMS_MAX as u64;
        if too_many || self.window_streams * self.window_streams > self.window_keys {
            return InsertPattern::Random;
        }
        let least = (self.window_keys / STRAY_DIVISOR).max(1);
        let shown = |s: &&Stream<K>| s.keys >= least && s.direction != Direction::Unknown;
        let (mut ascending, mut descending) = (0, 0);
        let (mut right_end, mut left_end) = (false, false);
        for stream in self.streams.iter().filter(shown) {
            let end = |pick: fn(&(K, K)) -> &K| self.ends.as_ref().map(pick) == Some(&stream.last);
            match stream.direction {
                Direction::Ascending => {
                    ascending += 1;
                    right_end |= end(|e| &e.1);
                }
                _ => {
                    descending += 1;
                    left_end |= end(|e| &e.0);
                }
            }
        }
        match ascending + descending {
            0 => InsertPattern::Unknown,
            _ => InsertPattern::Streams { ascending, descending, right_end, left_end },
        }
    }
}
