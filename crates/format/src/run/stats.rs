//! What do runs know for planning queries?
//!
//! Counted while entries pass by in order, at a nanosecond or two each: per key prefix (the first
//! column, the first two, …) how many distinct values this file has, exactly, since equal prefixes
//! stand together; a sketch that joins such counts over files where values repeat; NULLs per column;
//! the smallest and the largest key. Quantiles are the fences. Estimates only: nothing is ever decided
//! by them but plans. Of cut keys every prefix counts as the kept part does, and NULLs are those of the first
//! column. Plain data, safe to share.
//!
//! | bytes | what |
//! |---|---|
//! | varints | entries; per key column: distinct prefixes, NULLs |
//! | per key column | 1 byte: 1 with a sketch; then the 512 registers of the sketch |
//! | varint, bytes | smallest key, then largest key: length, key bytes |

use std::ops::Range;

use onlap_base::Result;

use crate::filter::key_hash;
use crate::key::{KeyDef, Keys, Packing};
use crate::wire::{self, Reader};

const REGISTERS: usize = 512;
/// Sketches are kept while at most every 8th entry brings a new prefix: others are nearly all distinct,
/// so that their counts add up, and hashing each would cost more than the entry.
const SKETCH_SHARE: u64 = 8;
/// Below this many distinct prefixes a sketch is kept anyway.
const SKETCH_SMALL: u64 = 4096;

/// A HyperLogLog of key prefixes: distinct values of several files together within some 5 percent.
/// (P. Flajolet, É. Fusy, O. Gandouet, F. Meunier, 2007; linear counting for small numbers.)
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Sketch {
    registers: Box<[u8; REGISTERS]>,
}

impl Default for Sketch {
    fn default() -> Self {
        Sketch { registers: Box::new([0; REGISTERS]) }
    }
}

impl Sketch {
    /// Adds the hash ([`key_hash`]) of a value.
    pub fn insert(&mut self, hash: u64) {
        let register = &mut self.registers[(hash >> 55) as usize];
        *register = (*register).max((hash << 9 | 1 << 8).leading_zeros() as u8 + 1);
    }
    /// Adds what the other saw.
    pub fn merge(&mut self, other: &Sketch) {
        self.registers.iter_mut().zip(other.registers.iter()).for_each(|(a, b)| *a = (*a).max(*b));
    }
    /// How many distinct values were added, about.
    pub fn estimate(&self) -> f64 {
        let m = REGISTERS as f64;
        let sum: f64 = self.registers.iter().map(|r| 0.5f64.powi(i32::from(*r))).sum();
        let raw = 0.7213 / (1.0 + 1.079 / m) * m * m / sum;
        let empty = self.registers.iter().filter(|r| **r == 0).count() as f64;
        if raw <= 2.5 * m && empty > 0.0 { m * (m / empty).ln() } else { raw }
    }
}

/// Of the first columns of the key.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PrefixStats {
    /// Distinct values of the key's columns up to this one.
    pub distinct: u64,
    /// NULLs in this column.
    pub nulls: u64,
    /// Of the same values; `None` where most are distinct.
    pub sketch: Option<Sketch>,
}

/// Numbers of one run file, or of several together.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct KeyStats {
    /// Entries.
    pub entries: u64,
    /// One per key column.
    pub prefixes: Vec<PrefixStats>,
    /// Key bytes of the first entry; empty without entries.
    pub min: Vec<u8>,
    /// Key bytes of the last entry; empty without entries.
    pub max: Vec<u8>,
}

impl KeyStats {
    /// Of no entries.
    pub fn new(def: &KeyDef) -> KeyStats {
        let prefix = PrefixStats { sketch: Some(Sketch::default()), ..PrefixStats::default() };
        KeyStats { prefixes: vec![prefix; def.columns.len()], ..KeyStats::default() }
    }

    /// Takes keys `range` into account; calls follow each other in key order.
    pub fn observe(&mut self, packing: &Packing, keys: &Keys, range: Range<usize>) -> Result<()> {
        if range.is_empty() {
            return Ok(());
        }
        let mut key = Vec::new();
        packing.key_bytes(keys, range.start, &mut key)?;
        if self.entries == 0 {
            self.min.clone_from(&key);
            self.changed(packing.def(), 0, &key);
        } else if packing.is_cut() {
            if self.max != key {
                self.changed(packing.def(), 0, &key);
            }
        } else if let Some(column) = packing.def().first_difference(&self.max, &key) {
            self.changed(packing.def(), column, &key);
        }
        self.entries += range.len() as u64;
        let mut nulls = vec![0; self.prefixes.len()];
        packing.count_nulls(keys, range.clone(), &mut nulls)?;
        self.prefixes.iter_mut().zip(nulls).for_each(|(p, n)| p.nulls += n);
        let (first, last) = (range.start, range.end - 1);
        packing.differences(keys, range, |i, column| {
            let prefix = &mut self.prefixes[column..];
            prefix.iter_mut().for_each(|p| p.distinct += 1);
            if prefix.iter().any(|p| p.sketch.is_some()) {
                key.clear();
                packing.key_bytes(keys, i, &mut key)?;
                self.sketch(packing.def(), column, &key, (i - first) as u64);
            }
            Ok(())
        })?;
        self.max.clear();
        packing.key_bytes(keys, last, &mut self.max)
    }

    /// A new value of all prefixes from `column` on.
    fn changed(&mut self, def: &KeyDef, column: usize, key: &[u8]) {
        self.prefixes[column..].iter_mut().for_each(|p| p.distinct += 1);
        self.sketch(def, column, key, 0);
    }

    /// Adds the prefixes of a key from `column` on to their sketches; `pending` entries of the present
    /// call came before it.
    fn sketch(&mut self, def: &KeyDef, column: usize, key: &[u8], pending: u64) {
        let limit = SKETCH_SMALL.max((self.entries + pending) / SKETCH_SHARE);
        let mut end = 0;
        for (c, prefix) in self.prefixes.iter_mut().enumerate() {
            end += def.column_len(c, &key[end..]);
            if c >= column && prefix.distinct > limit {
                prefix.sketch = None;
            } else if c >= column
                && let Some(sketch) = &mut prefix.sketch
            {
                sketch.insert(key_hash(&key[..end]));
            }
        }
    }

    /// Adds the numbers of another file of the same index.
    pub fn merge(&mut self, other: &KeyStats) {
        if other.entries == 0 {
            return;
        }
        if self.entries == 0 {
            *self = other.clone();
            return;
        }
        self.entries += other.entries;
        for (a, b) in self.prefixes.iter_mut().zip(&other.prefixes) {
            a.nulls += b.nulls;
            let (mine, theirs) = (a.distinct, b.distinct);
            a.distinct += theirs;
            a.sketch = match (a.sketch.take(), &b.sketch) {
                (Some(mut sketch), Some(other)) => {
                    sketch.merge(other);
                    // Between the larger part and the sum, whatever the sketch believes.
                    let estimate = sketch.estimate() as u64;
                    a.distinct = estimate.clamp(mine.max(theirs), mine + theirs);
                    Some(sketch)
                }
                _ => None,
            };
        }
        if other.min < self.min {
            self.min.clone_from(&other.min);
        }
        if other.max > self.max {
            self.max.clone_from(&other.max);
        }
    }

    /// Heap bytes in use.
    pub fn heap_bytes(&self) -> usize {
        let sketches = self.prefixes.iter().filter(|p| p.sketch.is_some()).count() * REGISTERS;
        sketches
            + self.prefixes.capacity() * size_of::<PrefixStats>()
            + self.min.capacity()
            + self.max.capacity()
    }

    /// Appends the bytes.
    pub fn encode(&self, out: &mut Vec<u8>) {
        wire::put_varint(out, self.entries);
        for prefix in &self.prefixes {
            wire::put_varint(out, prefix.distinct);
            wire::put_varint(out, prefix.nulls);
        }
        for prefix in &self.prefixes {
            out.push(u8::from(prefix.sketch.is_some()));
            if let Some(sketch) = &prefix.sketch {
                out.extend_from_slice(&sketch.registers[..]);
            }
        }
        wire::put_bytes(out, &self.min);
        wire::put_bytes(out, &self.max);
    }

    /// Reads the numbers of an index with key `def` off a reader.
    pub fn read(def: &KeyDef, r: &mut Reader<'_>) -> Result<KeyStats> {
        let mut stats = KeyStats { entries: r.varint()?, ..KeyStats::new(def) };
        for prefix in &mut stats.prefixes {
            (prefix.distinct, prefix.nulls) = (r.varint()?, r.varint()?);
        }
        for prefix in &mut stats.prefixes {
            prefix.sketch = if r.flag()? {
                Some(Sketch { registers: Box::new(r.array::<REGISTERS>()?) })
            } else {
                None
            };
        }
        stats.min = r.bytes()?.to_vec();
        stats.max = r.bytes()?.to_vec();
        Ok(stats)
    }
}
