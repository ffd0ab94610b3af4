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
use crate::key::{Entries, KeyBound, Packing};

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

    /// First entry that is not before the bound; [`RunBlock::len`] where all are.
    pub fn lower_bound(&self, bound: &KeyBound) -> Result<usize> {
        match (bound, &self.first) {
            (KeyBound::End, _) => Ok(self.len),
            (KeyBound::Word(t), Keys::Word(v)) => self.search(t, &v[0]),
            (KeyBound::Narrow(t), Keys::Narrow(v)) => self.search(t, &v[0]),
            (KeyBound::Wide4(t), Keys::Wide4(v)) => self.search(t, &v[0]),
            (KeyBound::Wide8(t), Keys::Wide8(v)) => self.search(t, &v[0]),
            (KeyBound::Bytes { prefix, after }, _) => self.search_bytes(prefix, *after),
            _ => panic!("a bound of another packing"),
        }
    }

    /// The first entry of a group.
    fn group_start(&self, numbers: &Rising, group: usize, groups: usize) -> usize {
        if group >= groups {
            return self.len;
        }
        numbers.lower_bound(&self.bytes, (group as u64).unbounded_shl(self.row_bits))
    }

    fn search<K: PackedKey>(&self, target: &K, first: &K) -> Result<usize> {
        let vary: K = each_form!(&self.vary, v => copy_key(&v[0]), _b => K::ZERO);
        let (pieces, heads, tails_at, numbers) = match &self.body {
            Body::Flat { pieces, heads, tails_at } => (pieces, heads, *tails_at, None),
            Body::Grouped { pieces, heads, tails_at, numbers } => {
                (pieces, heads, *tails_at, Some(numbers))
            }
            Body::Bytes { .. } => return Err(damaged(0, "a packed bound in a block of key bytes")),
        };
        // Keys differ from `first` in varying bits only, so the highest other bit in which the target
        // differs decides: it lies above or below all keys that share the bits before it.
        let (clamped, above) = clamp(target, first, &vary);
        let head = pieces.head_of(&clamped, if above { u64::MAX } else { 0 });
        let mut low = heads.lower_bound(&self.bytes, head);
        if above || pieces.tail_bits > 0 {
            let mut high = match head.checked_add(1) {
                Some(next) => heads.lower_bound(&self.bytes, next),
                None => heads.len(),
            };
            let mut key = Vec::with_capacity(1);
            while low < high {
                let middle = low.midpoint(high);
                key.clear();
                self.packed_keys(pieces, heads, tails_at, first, middle..middle + 1, &mut key);
                if key[0] < *target {
                    low = middle + 1;
                } else {
                    high = middle;
                }
            }
        }
        Ok(match numbers {
            None => low,
            Some(numbers) => self.group_start(numbers, low, heads.len()),
        })
    }

    fn search_bytes(&self, prefix: &[u8], after: bool) -> Result<usize> {
        if let Body::Bytes { keys, numbers } = &self.body {
            let group = keys.lower_bound(&self.bytes, prefix, after)?;
            return Ok(self.group_start(numbers, group, keys.len()));
        }
        let (mut low, mut high) = (0, self.len);
        let mut one = self.packing.new_keys();
        let mut key = Vec::new();
        while low < high {
            let middle = low.midpoint(high);
            one.clear();
            self.keys(middle..middle + 1, &mut one)?;
            key.clear();
            self.packing.key_bytes(&one, 0, &mut key)?;
            if crate::key::bound_is_before(&key, prefix, after) {
                low = middle + 1;
            } else {
                high = middle;
            }
        }
        Ok(low)
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

    fn packed_keys<K: PackedKey>(
        &self,
        pieces: &Pieces,
        heads: &Rising,
        tails_at: usize,
        first: &K,
        range: Range<usize>,
        out: &mut Vec<K>,
    ) {
        let vary: K = each_form!(&self.vary, v => copy_key(&v[0]), _b => K::ZERO);
        let mut shared = K::ZERO;
        for w in 0..K::BITS / 64 {
            shared.put64(w * 64, first.get64(w * 64) & !vary.get64(w * 64));
        }
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

    /// Appends entries `range` whole.
    pub fn entries(&self, range: Range<usize>, out: &mut Entries) -> Result<()> {
        self.keys(range.clone(), &mut out.keys)?;
        self.row_ids(range.clone(), &mut out.row_ids)?;
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

/// The target with the constant bits made those of the block, and whether it lies above all keys that
/// share its varying bits down to where it left them (its lower bits are then all ones).
fn clamp<K: PackedKey>(target: &K, first: &K, vary: &K) -> (K, bool) {
    let mut out = K::ZERO;
    let mut above = None;
    for w in (0..K::BITS / 64).rev() {
        let (t, f, v) = (target.get64(w * 64), first.get64(w * 64), vary.get64(w * 64));
        let word = match above {
            Some(true) => u64::MAX,
            Some(false) => 0,
            None => {
                let differ = (t ^ f) & !v;
                if differ == 0 {
                    t
                } else {
                    let bit = 63 - differ.leading_zeros();
                    let is_above = t >> bit & 1 == 1;
                    above = Some(is_above);
                    let low = (1u64 << bit) - 1;
                    if is_above { t | low } else { t & !low }
                }
            }
        };
        out.put64(w * 64, word);
    }
    (out, above == Some(true))
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
