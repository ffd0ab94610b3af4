//! What do the runs of an index tell of its keys, without a look at an entry?
//!
//! Numbers of footers joined over all files: sketches of distinct prefixes, NULLs, smallest and
//! largest key, quantiles from fences and pieces. Estimates, for plans and people: rows in memory are
//! not among them, entries of dead rows are until a merge meets them, and while a merge is under way
//! some entries of its inputs count twice. Nothing is read from disk.
//!
//! Thread safety: a pure function of a pinned version.

use onlap_base::Result;
use onlap_format::key::KeyDef;
use onlap_format::run::KeyStats;
use onlap_format::{Row, Value};
use onlap_storage::version::IndexVersion;

/// Quantiles cut the entries into this many parts of about the same size.
pub const QUANTILE_PARTS: u64 = 16;

/// Keys that a file is represented by: a file of a full run then errs by 1/64 of its entries.
const SAMPLES_PER_FILE: usize = 64;

/// Bytes by which a fence may have been cut off: those of the widest value of fixed width.
const CUT_MAX: usize = 17;

/// Estimates about the keys of an index.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct KeyEstimates {
    /// Entries in runs; those of dead rows count.
    pub entries: u64,
    /// Distinct values of the key's first column, of its first two, and so on: exact in a single
    /// file, within some 5 percent over several files in which values repeat, and an upper bound
    /// where nearly all of them are distinct.
    pub distinct: Vec<u64>,
    /// NULLs per key column.
    pub nulls: Vec<u64>,
    /// The first key in the order of the index; empty without entries. Where keys are cut
    /// ([`crate::KeysKept`]) a value near that of its first column alone.
    pub min: Row,
    /// The last key, likewise.
    pub max: Row,
    /// Values of the first key column, in the order of the index, at every 1/[`QUANTILE_PARTS`] of
    /// the entries, without both ends. Those that fences do not tell are left out.
    pub quantiles: Vec<Value>,
}

/// Joins the footers of an index's runs.
pub(super) fn key_estimates(index: &IndexVersion) -> Result<KeyEstimates> {
    let def = &index.shape.key;
    let mut joined = KeyStats::new(def);
    let mut samples = Vec::new();
    for entry in &index.runs {
        let trim = entry.run.trim().unwrap_or_default();
        for file in entry.run.files() {
            let mut of_file = file.stats().clone();
            if of_file.min[..] < *trim {
                of_file.min = trim.to_vec();
                of_file.max = of_file.max.max(trim.to_vec());
            }
            joined.merge(&of_file);
            file.samples(SAMPLES_PER_FILE, &mut samples)?;
        }
    }
    Ok(KeyEstimates {
        entries: joined.entries,
        distinct: joined.prefixes.iter().map(|p| p.distinct).collect(),
        nulls: joined.prefixes.iter().map(|p| p.nulls).collect(),
        min: end(index, &joined.min)?,
        max: end(index, &joined.max)?,
        quantiles: quantiles(def, samples),
    })
}

/// The first or the last key; of cut ones a value near that of the first column.
fn end(index: &IndexVersion, key: &[u8]) -> Result<Row> {
    let def = &index.shape.key;
    match def.decode(key) {
        Err(_) if index.runs.iter().any(|r| r.run.cut().is_some()) => {
            Ok(first_value(def, key).into_iter().collect())
        }
        whole => whole,
    }
}

/// Of weighted keys: each stands for so many entries from it on.
fn quantiles(def: &KeyDef, mut samples: Vec<(Vec<u8>, u64)>) -> Vec<Value> {
    samples.sort_unstable();
    let total: u64 = samples.iter().map(|s| s.1).sum();
    let mut found = Vec::new();
    let (mut part, mut passed) = (1, 0);
    for (key, entries) in &samples {
        passed += entries;
        let reached = |part: u64| u128::from(total) * u128::from(part) / u128::from(QUANTILE_PARTS);
        while part < QUANTILE_PARTS && reached(part) < u128::from(passed) {
            found.extend(first_value(def, key));
            part += 1;
        }
    }
    found
}

/// The value of the first column of key bytes that may be cut off: then a value near it, below.
fn first_value(def: &KeyDef, key: &[u8]) -> Option<Value> {
    let def = KeyDef::new(vec![def.columns[0]]);
    let lowest = if def.columns[0].descending { 0xff } else { 0 };
    let mut key = key.to_vec();
    for _ in 0..=CUT_MAX {
        let cell = &key[..def.column_len(0, &key)];
        if let Some(mut value) = def.decode(cell).ok().and_then(|mut values| values.pop()) {
            if let Value::Text(text) = &mut value {
                // The cut may go through a letter.
                text.truncate(text.trim_end_matches(char::REPLACEMENT_CHARACTER).len());
            }
            return Some(value);
        }
        key.push(lowest);
    }
    None
}

#[cfg(test)]
mod tests;
