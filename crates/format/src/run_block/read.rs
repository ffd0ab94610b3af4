//! What does a block of index entries answer?
//!
//! The layout is in [`super`]. A parsed block keeps its bytes and the places of its sections; every
//! answer decodes what it needs. Immutable, safe to share.

use std::ops::Range;
use std::sync::Arc;

use onlap_base::{Error, Result, RowId};

use super::front::Front;
use super::pieces::Pieces;
use super::rising::{MINI, Rising, SLACK};
use super::{BYTES, ENTRIES_MAX, FLAT, GROUPED, HEADER, TRAILER, include};
use crate::batch::{Batch, BytesVec, Column};
use crate::key::keys::{KeyForm, Keys, PackedKey, each_form};
use crate::key::{Entries, Packing};

mod search;

/// A block of sorted index entries.
#[derive(Debug)]
pub struct RunBlock {
    bytes: Arc<[u8]>,
    packing: Arc<Packing>,
    len: usize,
    row_base: u64,
    row_bits: u32,
    /// What all keys share and what varies; one key each.
    first: Keys,
    vary: Keys,
    body: Body,
    /// Place and number of rows of each INCLUDE column.
    includes: Vec<Range<usize>>,
}

#[derive(Debug)]
enum Body {
    Flat { pieces: Pieces, heads: Rising, tails_at: usize },
    Grouped { pieces: Pieces, heads: Rising, tails_at: usize, numbers: Rising },
    Bytes { keys: Front, numbers: Rising },
}

fn damaged(at: usize, text: &str) -> Error {
    Error::corruption("", at as u64, text)
}

fn word(bytes: &[u8], at: usize) -> u64 {
    u64::from_le_bytes(bytes[at..at + 8].try_into().expect("the header's length was checked"))
}

fn half(bytes: &[u8], at: usize) -> usize {
    u32::from_le_bytes(bytes[at..at + 4].try_into().expect("the header's length was checked"))
        as usize
}

/// One key of the packing's form, least significant word first.
fn read_key(form: KeyForm, bytes: &[u8], at: usize) -> Keys {
    let mut keys = Keys::new(form);
    each_form!(&mut keys, v => v.push(read_packed(bytes, at)), _b => ());
    keys
}

fn read_packed<K: PackedKey>(bytes: &[u8], at: usize) -> K {
    let mut key = K::ZERO;
    for w in 0..K::BITS / 64 {
        key.put64(w * 64, word(bytes, at + 8 * w as usize));
    }
    key
}

impl RunBlock {
    /// Checks and opens a block of entries whose keys have this packing.
    ///
    /// # Errors
    /// `Corruption`, with the offset in the block.
    pub fn parse(bytes: Arc<[u8]>, packing: &Arc<Packing>) -> Result<RunBlock> {
        if bytes.len() < HEADER + TRAILER || bytes.len() > u32::MAX as usize {
            return Err(damaged(0, "a run block has an impossible length"));
        }
        let body_end = bytes.len() - 4;
        let (expected, found) = (half(&bytes, body_end), crc32c::crc32c(&bytes[..body_end]));
        if expected as u32 != found {
            let text = format!("run block checksum: expected {expected:08x}, found {found:08x}");
            return Err(damaged(0, &text));
        }
        let form = bytes[0];
        let words = match packing.form() {
            KeyForm::Word => 1,
            KeyForm::Narrow => 2,
            KeyForm::Wide4 => 4,
            KeyForm::Wide8 => 8,
            KeyForm::Bytes => 0,
        };
        let (len, row_bits) = (half(&bytes, 4), u32::from(bytes[2]));
        let wrong =
            usize::from(bytes[1]) != words || row_bits > 64 || (form == BYTES) != (words == 0);
        if wrong || len == 0 || len > ENTRIES_MAX || HEADER + 16 * words + TRAILER > bytes.len() {
            return Err(damaged(0, "a run block's header is impossible"));
        }
        let first = read_key(packing.form(), &bytes, HEADER);
        let vary = read_key(packing.form(), &bytes, HEADER + 8 * words);
        let at = HEADER + 16 * words;
        let mut block = RunBlock {
            row_base: word(&bytes, 16),
            packing: packing.clone(),
            len,
            row_bits,
            first,
            vary,
            body: Body::Bytes { keys: Front::none(), numbers: Rising::none() },
            includes: Vec::new(),
            bytes,
        };
        block.body = block.parse_body(form, at)?;
        block.includes = include::parse(&block.bytes[..body_end - SLACK], half(&block.bytes, 12))?;
        Ok(block)
    }

    /// The same block, every row id `base` higher: of a file whose row ids count from there.
    #[must_use]
    pub fn shifted(mut self, base: RowId) -> RunBlock {
        self.row_base = self.row_base.wrapping_add(base);
        self
    }

    fn parse_body(&self, form: u8, at: usize) -> Result<Body> {
        let bytes = &self.bytes;
        let distinct = half(bytes, 8);
        let pieces = |row_bits| each_form!(&self.vary, v => Pieces::new(&v[0], row_bits), _b => Pieces::default());
        let room = bytes.len() - TRAILER;
        let tails = |pieces: &Pieces, heads: &Rising| {
            let end = heads.end() + pieces.tail_bytes(heads.len());
            if end <= room { Ok(end) } else { Err(damaged(at, "the tails of keys end early")) }
        };
        if form != FLAT && (distinct == 0 || distinct > self.len) {
            return Err(damaged(8, "a run block has an impossible number of keys"));
        }
        match form {
            FLAT => {
                let pieces = pieces(self.row_bits);
                let heads = Rising::parse(bytes, at, self.len)?;
                tails(&pieces, &heads)?;
                Ok(Body::Flat { pieces, tails_at: heads.end(), heads })
            }
            GROUPED => {
                let pieces = pieces(0);
                let heads = Rising::parse(bytes, at, distinct)?;
                let numbers = Rising::parse(bytes, tails(&pieces, &heads)?, self.len)?;
                Ok(Body::Grouped { pieces, tails_at: heads.end(), heads, numbers })
            }
            BYTES => {
                let keys = Front::parse(&bytes[..room], at, distinct)?;
                let numbers = Rising::parse(bytes, keys.end(), self.len)?;
                Ok(Body::Bytes { keys, numbers })
            }
            _ => Err(damaged(0, "a run block has an unknown form")),
        }
    }

    /// Number of entries, at least 1.
    #[allow(clippy::len_without_is_empty)]
    pub fn len(&self) -> usize {
        self.len
    }
    /// The packing of its keys.
    pub fn packing(&self) -> &Arc<Packing> {
        &self.packing
    }
    /// Heap bytes in use, for the cache's account.
    pub fn heap_bytes(&self) -> usize {
        let places = match &self.body {
            Body::Flat { heads, .. } => heads.heap_bytes(),
            Body::Grouped { heads, numbers, .. } => heads.heap_bytes() + numbers.heap_bytes(),
            Body::Bytes { numbers, .. } => numbers.heap_bytes(),
        };
        size_of::<RunBlock>() + self.bytes.len() + places + 2 * self.first.heap_bytes() + 256
    }

    fn group_of(&self, number: u64) -> usize {
        number.unbounded_shr(self.row_bits) as usize
    }

    fn row_mask(&self) -> u64 {
        1u64.unbounded_shl(self.row_bits).wrapping_sub(1)
    }

    /// Appends the row ids of entries `range`.
    pub fn row_ids(&self, range: Range<usize>, out: &mut Vec<RowId>) -> Result<()> {
        self.check(&range);
        let before = out.len();
        match &self.body {
            Body::Flat { pieces, heads, tails_at } => {
                let mut buffer = Vec::with_capacity(MINI);
                for part in minis(range) {
                    buffer.clear();
                    heads.decode(&self.bytes, part.clone(), &mut buffer);
                    let (at, first) = (*tails_at, part.start);
                    pieces.restore_rows(&self.bytes, at, first, &buffer, self.row_base, out);
                }
            }
            Body::Grouped { numbers, .. } | Body::Bytes { numbers, .. } => {
                numbers.decode(&self.bytes, range, out);
                let mask = self.row_mask();
                for row in &mut out[before..] {
                    *row = self.row_base.wrapping_add(*row & mask);
                }
            }
        }
        Ok(())
    }

    /// The first key without the bits that vary.
    fn shared_bits<K: PackedKey>(&self, first: &K) -> K {
        let vary: K = each_form!(&self.vary, v => copy_key(&v[0]), _b => K::ZERO);
        let mut shared = K::ZERO;
        for w in 0..K::BITS / 64 {
            shared.put64(w * 64, first.get64(w * 64) & !vary.get64(w * 64));
        }
        shared
    }

    fn packed_keys<K: PackedKey>(
        &self,
        pieces: &Pieces,
        heads: &Rising,
        tails_at: usize,
        first: &K,
        range: Range<usize>,
        out: &mut Vec<K>,
    ) {
        let shared = self.shared_bits(first);
        let mut buffer = Vec::with_capacity(MINI.min(range.len()));
        out.reserve(range.len());
        for part in minis(range) {
            buffer.clear();
            heads.decode(&self.bytes, part.clone(), &mut buffer);
            let before = out.len();
            out.resize(before + part.len(), shared);
            pieces.restore(&self.bytes, tails_at, part.start, &buffer, &mut out[before..]);
        }
    }

    /// Appends the keys of entries `range`.
    pub fn keys(&self, range: Range<usize>, out: &mut Keys) -> Result<()> {
        self.check(&range);
        match (&self.first, out) {
            (Keys::Word(f), Keys::Word(v)) => self.fill(&f[0], range, v),
            (Keys::Narrow(f), Keys::Narrow(v)) => self.fill(&f[0], range, v),
            (Keys::Wide4(f), Keys::Wide4(v)) => self.fill(&f[0], range, v),
            (Keys::Wide8(f), Keys::Wide8(v)) => self.fill(&f[0], range, v),
            (_, Keys::Bytes(v)) => self.fill_bytes(range, v),
            _ => panic!("keys of another packing"),
        }
    }

    fn fill<K: PackedKey>(&self, first: &K, range: Range<usize>, out: &mut Vec<K>) -> Result<()> {
        match &self.body {
            Body::Flat { pieces, heads, tails_at } => {
                self.packed_keys(pieces, heads, *tails_at, first, range, out);
            }
            Body::Grouped { pieces, heads, tails_at, numbers } => {
                let mut groups = Vec::new();
                let span = self.groups(numbers, heads.len(), range, &mut groups)?;
                let (start, mut distinct) = (span.start, Vec::with_capacity(span.len()));
                self.packed_keys(pieces, heads, *tails_at, first, span, &mut distinct);
                out.extend(groups.iter().map(|g| distinct[*g as usize - start]));
            }
            Body::Bytes { .. } => return Err(damaged(0, "packed keys in a block of key bytes")),
        }
        Ok(())
    }

    /// The group of each entry of `range`, and the groups they span.
    fn groups(
        &self,
        numbers: &Rising,
        distinct: usize,
        range: Range<usize>,
        groups: &mut Vec<u64>,
    ) -> Result<Range<usize>> {
        numbers.decode(&self.bytes, range, groups);
        groups.iter_mut().for_each(|g| *g = self.group_of(*g) as u64);
        let (Some(&first), Some(&last)) = (groups.first(), groups.last()) else { return Ok(0..0) };
        if last as usize >= distinct || !groups.is_sorted() {
            return Err(damaged(0, "an entry belongs to no key"));
        }
        Ok(first as usize..last as usize + 1)
    }

    fn fill_bytes(&self, range: Range<usize>, out: &mut BytesVec) -> Result<()> {
        let Body::Bytes { keys, numbers } = &self.body else {
            return Err(damaged(0, "key bytes in a block of packed keys"));
        };
        let mut groups = Vec::new();
        let span = self.groups(numbers, keys.len(), range, &mut groups)?;
        let (start, mut distinct) = (span.start, BytesVec::default());
        keys.decode(&self.bytes, span.clone(), &mut distinct)?;
        if distinct.len() != span.len() {
            return Err(damaged(0, "a run block has too few keys"));
        }
        groups.iter().for_each(|g| out.push(distinct.get(*g as usize - start)));
        Ok(())
    }

    /// Appends the key bytes of entries `range`.
    pub fn key_bytes(&self, range: Range<usize>, out: &mut BytesVec) -> Result<()> {
        if self.packing.form() == KeyForm::Bytes {
            self.check(&range);
            return self.fill_bytes(range, out);
        }
        let mut keys = self.packing.new_keys();
        let rows = range.len();
        self.keys(range, &mut keys)?;
        self.packing.all_key_bytes(&keys, 0..rows, out)
    }

    /// Appends the values of some key columns (`which`, positions in the key) of entries `range`, each
    /// to the column at the same place of `columns`.
    pub fn key_columns(
        &self,
        range: Range<usize>,
        which: &[usize],
        columns: &mut [Column],
    ) -> Result<()> {
        let mut keys = self.packing.new_keys();
        let rows = range.len();
        self.keys(range, &mut keys)?;
        self.packing.unpack_some(&keys, 0..rows, which, columns)
    }

    /// Number of INCLUDE columns.
    pub fn include_columns(&self) -> usize {
        self.includes.len()
    }

    /// Appends some INCLUDE columns (`which`, positions among them) of entries `range`.
    pub fn include(
        &self,
        range: Range<usize>,
        which: &[usize],
        columns: &mut [Column],
    ) -> Result<()> {
        self.check(&range);
        for (&w, column) in which.iter().zip(columns) {
            let place = self.includes.get(w).cloned();
            let place = place.ok_or_else(|| damaged(12, "a run block lacks an INCLUDE column"))?;
            include::append(&self.bytes[place], self.len, range.clone(), column)?;
        }
        Ok(())
    }

    /// Appends keys and row ids of entries `range`, decoding what they share once.
    pub fn keys_and_row_ids(
        &self,
        range: Range<usize>,
        keys: &mut Keys,
        row_ids: &mut Vec<RowId>,
    ) -> Result<()> {
        self.check(&range);
        let Body::Flat { pieces, heads, tails_at } = &self.body else {
            self.keys(range.clone(), keys)?;
            return self.row_ids(range, row_ids);
        };
        let flat = (pieces, heads, *tails_at);
        match (&self.first, keys) {
            (Keys::Word(f), Keys::Word(v)) => self.both(flat, &f[0], range, v, row_ids),
            (Keys::Narrow(f), Keys::Narrow(v)) => self.both(flat, &f[0], range, v, row_ids),
            (Keys::Wide4(f), Keys::Wide4(v)) => self.both(flat, &f[0], range, v, row_ids),
            (Keys::Wide8(f), Keys::Wide8(v)) => self.both(flat, &f[0], range, v, row_ids),
            _ => panic!("keys of another packing"),
        }
        Ok(())
    }

    fn both<K: PackedKey>(
        &self,
        (pieces, heads, tails_at): (&Pieces, &Rising, usize),
        first: &K,
        range: Range<usize>,
        keys: &mut Vec<K>,
        rows: &mut Vec<RowId>,
    ) {
        let shared = self.shared_bits(first);
        let mut buffer = Vec::with_capacity(MINI.min(range.len()));
        keys.reserve(range.len());
        rows.reserve(range.len());
        for part in minis(range) {
            buffer.clear();
            heads.decode(&self.bytes, part.clone(), &mut buffer);
            let before = keys.len();
            keys.resize(before + part.len(), shared);
            pieces.restore(&self.bytes, tails_at, part.start, &buffer, &mut keys[before..]);
            pieces.restore_rows(&self.bytes, tails_at, part.start, &buffer, self.row_base, rows);
        }
    }

    /// Appends key bytes and row ids of entries `range`.
    pub fn key_bytes_and_row_ids(
        &self,
        range: Range<usize>,
        keys: &mut BytesVec,
        row_ids: &mut Vec<RowId>,
    ) -> Result<()> {
        if self.packing.form() == KeyForm::Bytes {
            self.check(&range);
            self.fill_bytes(range.clone(), keys)?;
            return self.row_ids(range, row_ids);
        }
        let mut packed = self.packing.new_keys();
        let n = range.len();
        self.keys_and_row_ids(range, &mut packed, row_ids)?;
        self.packing.all_key_bytes(&packed, 0..n, keys)
    }

    /// Appends entries `range` whole.
    pub fn entries(&self, range: Range<usize>, out: &mut Entries) -> Result<()> {
        if self.packing.form() == KeyForm::Bytes {
            self.keys(range.clone(), &mut out.keys)?;
            self.row_ids(range.clone(), &mut out.row_ids)?;
        } else {
            self.keys_and_row_ids(range.clone(), &mut out.keys, &mut out.row_ids)?;
        }
        let Batch { columns, rows } = &mut out.include;
        let all: Vec<usize> = (0..columns.len()).collect();
        *rows += range.len();
        self.include(range, &all, columns)
    }

    fn check(&self, range: &Range<usize>) {
        assert!(range.start <= range.end && range.end <= self.len, "entries of the block");
    }
}

/// A key as another width that is the same in truth: the caller matched the form.
fn copy_key<A: PackedKey, B: PackedKey>(a: &A) -> B {
    debug_assert_eq!(A::BITS, B::BITS);
    let mut b = B::ZERO;
    for w in 0..B::BITS.min(A::BITS) / 64 {
        b.put64(w * 64, a.get64(w * 64));
    }
    b
}

/// Parts of a range that each lie in one mini-block.
fn minis(range: Range<usize>) -> impl Iterator<Item = Range<usize>> {
    let mut at = range.start;
    std::iter::from_fn(move || {
        let start = at;
        at = range.end.min((start / MINI + 1) * MINI);
        (start < range.end).then_some(start..at)
    })
}
