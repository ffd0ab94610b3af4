//! How large is the filter of a file whose number of keys is not known yet?
//!
//! The first keys are kept as hashes; once there are enough to tell how many the file will have, the
//! filter is made for that many and the rest goes straight in. A file whose filter is full is closed.
//!
//! Thread safety: belongs to one writer.

use onlap_base::{Charge, Part};
use onlap_format::filter::Filter;

use crate::context::StorageContext;

/// Keys after which the number of keys of the whole file is estimated.
const FILTER_SAMPLE: usize = 1 << 14;

/// Collects the keys of one file.
pub(super) struct FilterBuilder {
    /// Hashes so far, until the filter is sized.
    sample: Vec<u64>,
    filter: Option<Filter>,
    keys: usize,
    capacity: usize,
    last: Option<u64>,
    charge: Charge,
}

impl FilterBuilder {
    pub fn new(context: &StorageContext) -> FilterBuilder {
        let charge = context.memory.charge(Part::Background, 8 * FILTER_SAMPLE as u64);
        FilterBuilder {
            sample: Vec::new(),
            filter: None,
            keys: 0,
            capacity: usize::MAX,
            last: None,
            charge,
        }
    }

    /// Adds a key; keys come in order, so equal ones are next to each other.
    pub fn insert(&mut self, hash: u64) {
        if self.last == Some(hash) {
            return;
        }
        self.last = Some(hash);
        self.keys += 1;
        match &mut self.filter {
            Some(filter) => filter.insert(hash),
            None => self.sample.push(hash),
        }
    }

    /// Once enough keys came, sizes the filter for those that a file of `file_bytes` will have,
    /// judged by the `bytes` so far with a tenth to spare, when at most `left` are still to come.
    pub fn fit(&mut self, bytes: u64, file_bytes: u64, left: u64) {
        if self.filter.is_some() || self.keys < FILTER_SAMPLE {
            return;
        }
        let keys = self.keys as u64;
        let by_bytes = keys * file_bytes.div_ceil(bytes.max(1)) / 10 * 11;
        let expected = by_bytes.max(keys).min(keys.saturating_add(left));
        self.size(usize::try_from(expected).expect("far below 2^64 keys per file"));
    }

    fn size(&mut self, keys: usize) {
        let mut filter = Filter::with_keys(keys);
        self.sample.drain(..).for_each(|hash| filter.insert(hash));
        self.sample.shrink_to_fit();
        self.charge.resize(filter.heap_bytes() as u64);
        self.filter = Some(filter);
        self.capacity = keys;
    }

    /// Whether more keys would make the filter say "maybe" too often.
    pub fn is_full(&self) -> bool {
        self.keys > self.capacity
    }

    pub fn finish(mut self) -> Filter {
        if self.filter.is_none() {
            self.size(self.keys);
        }
        self.filter.expect("just sized")
    }
}
