//! What does an index run file say of its entries?
//!
//! A run is an ordered list of files. Each file is a [header](crate::frame), blocks
//! ([`crate::run_block`]), a [filter](crate::filter) on unique indexes, and a footer, which is all that
//! stays in memory of an open file. The footer holds one of three forms:
//!
//! * **explicit**: the packing of the keys, and one *fence* per block: key bytes that lie above every
//!   entry of the blocks before and not above the first of this one, cut off where they suffice; the
//!   block's first row id; its place. Keys may be *cut* ([`crate::key::cut_key`]), and the fences then are;
//! * **affine** ([`crate::affine`]): the entries themselves, no blocks;
//! * **fences-only**, for keys that do not fall as row ids rise: one fence per stretch of rows, the key
//!   bytes of its first row, uncut. Entries are read off the rows.
//!
//! Fences never name places in segments. Finished files are never modified (I5). Pure; safe to share.
//!
//! The footer, in order:
//!
//! | bytes | what |
//! |---|---|
//! | varints | table id, index id, schema version, first row id, end of the row ids less first |
//! | varints | offset and length of the filter; both 0 without |
//! | 1 | form: 0 explicit, 1 affine, 2 fences-only |
//! | varint, bytes | explicit: length of the packing, the packing |
//! | varint, streams | explicit and fences-only: number of fences; keys ([column](crate::encode::column), behind its length); row ids, offsets, lengths, entries ([integers](crate::encode::int)) |
//! | pieces | affine: as [`crate::affine`] writes them |
//! | stats | as [`stats`] writes them |
//!
//! The worked example of the bytes is the golden file `crates/format/tests/golden/run-footer.bin`.

use std::ops::Range;
use std::sync::Arc;

use onlap_base::{Error, IndexId, Result, RowId, TableId};

use crate::affine::Affine;
use crate::batch::{BytesVec, Column, Vector};
use crate::encode::int::{self, IntView};
use crate::encode::{ColumnView, Effort, encode_column};
use crate::key::{KeyDef, Packing, bound_is_before};
use crate::wire::{self, Reader};

pub mod stats;

#[cfg(test)]
mod tests;

pub use stats::{KeyStats, Sketch};

/// Version of run files that this release writes.
pub const RUN_VERSION: u16 = 3;
/// Rows between two fences of a fences-only run.
pub const STRETCH_ROWS: usize = 1024;
/// Most fences of a file: one per 64 rows of 2^30.
const FENCES_MAX: usize = 1 << 24;

/// Where the entries of a fence lie.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FenceEntry {
    /// Row id of the first entry.
    pub first_row: RowId,
    /// Offset of the block in the file; 0 in a fences-only run.
    pub offset: u64,
    /// Bytes of the block; 0 in a fences-only run.
    pub len: u32,
    /// Entries.
    pub entries: u32,
}

/// Keys between blocks.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Fences {
    /// Key bytes, whole or cut off; they do not fall.
    pub keys: BytesVec,
    /// One per fence.
    pub entries: Vec<FenceEntry>,
}

impl Fences {
    /// Number of fences.
    pub fn len(&self) -> usize {
        self.entries.len()
    }
    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }
    /// Adds a block whose first entry has key bytes `first`; `last` is the key of the entry before
    /// it, in this file.
    pub fn push(&mut self, last: Option<&[u8]>, first: &[u8], entry: FenceEntry) {
        self.keys.push(separator(last, first));
        self.entries.push(entry);
    }
    /// The block that holds the first entry not before the bound (see [`crate::key::KeyBound`]), or
    /// ends just before it. Entries on and after the bound lie in this block and the ones behind it.
    pub fn block_of(&self, prefix: &[u8], after: bool) -> usize {
        let (mut low, mut high) = (0, self.len());
        while low < high {
            let middle = low.midpoint(high);
            if bound_is_before(self.keys.get(middle), prefix, after) {
                low = middle + 1;
            } else {
                high = middle;
            }
        }
        low.saturating_sub(1)
    }
    /// Heap bytes in use.
    pub fn heap_bytes(&self) -> usize {
        self.keys.data.capacity()
            + self.keys.offsets.capacity() * 4
            + self.entries.capacity() * size_of::<FenceEntry>()
    }

    fn encode(&self, out: &mut Vec<u8>) {
        wire::put_varint(out, self.len() as u64);
        let column = Column { data: Vector::Bytes(self.keys.clone()), nulls: None };
        let mut keys = Vec::new();
        encode_column(&column, 0..self.len(), Effort::Small, &mut keys);
        wire::put_bytes(out, &keys);
        let stream = |of: fn(&FenceEntry) -> u64| {
            self.entries.iter().map(|e| of(e) as i64).collect::<Vec<_>>()
        };
        int::encode(&stream(|e| e.first_row), Effort::Small, out);
        int::encode(&stream(|e| e.offset), Effort::Small, out);
        int::encode(&stream(|e| u64::from(e.len)), Effort::Small, out);
        int::encode(&stream(|e| u64::from(e.entries)), Effort::Small, out);
    }

    fn read(r: &mut Reader<'_>) -> Result<Fences> {
        let count = r.varint_max(FENCES_MAX, "a number of fences")?;
        let mut column = Column { data: Vector::Bytes(BytesVec::default()), nulls: None };
        let keys = r.bytes()?;
        if keys.len() < count / 64 {
            return Err(r.damaged("more fences than bytes for them"));
        }
        ColumnView::parse(keys, count)?.append_to(0..count, &mut column)?;
        let streams = [
            IntView::parse(r, count)?,
            IntView::parse(r, count)?,
            IntView::parse(r, count)?,
            IntView::parse(r, count)?,
        ];
        let small = |v: i64| u32::try_from(v).map_err(|_| Error::damaged("an impossible block"));
        let mut entries = Vec::with_capacity(count);
        for i in 0..count {
            entries.push(FenceEntry {
                first_row: streams[0].get(i) as RowId,
                offset: streams[1].get(i) as u64,
                len: small(streams[2].get(i))?,
                entries: small(streams[3].get(i))?,
            });
        }
        let Vector::Bytes(keys) = column.data else {
            return Err(r.damaged("fences of another form"));
        };
        if !(1..count).all(|i| keys.get(i - 1) <= keys.get(i)) {
            return Err(r.damaged("fences are out of order"));
        }
        Ok(Fences { keys, entries })
    }
}

/// The shortest front of `first` that lies above `last`; all of `first` where they are equal or there
/// is no `last`.
pub fn separator<'a>(last: Option<&[u8]>, first: &'a [u8]) -> &'a [u8] {
    let Some(last) = last else { return first };
    let shared = last.iter().zip(first).take_while(|(a, b)| a == b).count();
    &first[..first.len().min(shared + 1)]
}

/// A range of row ids counted from `base`.
pub(crate) fn shifted(rows: &Range<RowId>, base: RowId) -> Result<Range<RowId>> {
    let end = rows.end.checked_add(base).ok_or_else(row_ids_run_over)?;
    Ok(rows.start.saturating_add(base)..end)
}

fn row_ids_run_over() -> Error {
    Error::damaged("row ids leave 64 bits")
}

/// How a file holds its entries.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum RunForm {
    /// In blocks.
    Explicit {
        /// Of the keys of all blocks.
        packing: Arc<Packing>,
        /// One per block.
        fences: Fences,
    },
    /// As pieces.
    Affine(Affine),
    /// As the rows themselves; one fence per stretch of rows.
    FencesOnly(Fences),
}

/// What a run file says of itself.
#[derive(Clone, Debug, PartialEq)]
pub struct RunFooter {
    /// Whose rows.
    pub table: TableId,
    /// Whose keys.
    pub index: IndexId,
    /// Schema version at the time of writing.
    pub schema_version: u32,
    /// Row ids that the run stands for.
    pub rows: Range<RowId>,
    /// Offset and length of the filter.
    pub filter: Option<(u64, u64)>,
    /// The entries, or where they are.
    pub form: RunForm,
    /// Numbers for planning.
    pub stats: KeyStats,
}

impl RunFooter {
    /// Number of entries.
    pub fn entries(&self) -> u64 {
        match &self.form {
            RunForm::Affine(a) => a.len(),
            RunForm::Explicit { fences, .. } | RunForm::FencesOnly(fences) => {
                fences.entries.iter().map(|e| u64::from(e.entries)).sum()
            }
        }
    }

    /// Heap bytes in use.
    pub fn heap_bytes(&self) -> usize {
        let form = match &self.form {
            RunForm::Affine(a) => a.heap_bytes(),
            RunForm::Explicit { fences, .. } | RunForm::FencesOnly(fences) => fences.heap_bytes(),
        };
        size_of::<RunFooter>() + form + self.stats.heap_bytes()
    }

    /// Counts every row id from `base` on.
    ///
    /// # Errors
    /// `Corruption` where row ids leave 64 bits.
    pub fn shift(&mut self, base: RowId) -> Result<()> {
        self.rows = shifted(&self.rows, base)?;
        match &mut self.form {
            RunForm::Affine(affine) => affine.shift(base),
            RunForm::Explicit { fences, .. } | RunForm::FencesOnly(fences) => {
                for entry in &mut fences.entries {
                    let first = entry.first_row.checked_add(base);
                    entry.first_row = first.ok_or_else(row_ids_run_over)?;
                }
                Ok(())
            }
        }
    }

    /// Appends the footer's bytes.
    pub fn encode(&self, out: &mut Vec<u8>) {
        let (filter_at, filter_len) = self.filter.unwrap_or((0, 0));
        for v in [
            u64::from(self.table.0),
            u64::from(self.index.0),
            u64::from(self.schema_version),
            self.rows.start,
            self.rows.end - self.rows.start,
            filter_at,
            filter_len,
        ] {
            wire::put_varint(out, v);
        }
        match &self.form {
            RunForm::Explicit { packing, fences } => {
                out.push(0);
                let mut bytes = Vec::new();
                packing.encode(&mut bytes);
                wire::put_bytes(out, &bytes);
                fences.encode(out);
            }
            RunForm::Affine(affine) => {
                out.push(1);
                affine.encode(out);
            }
            RunForm::FencesOnly(fences) => {
                out.push(2);
                fences.encode(out);
            }
        }
        self.stats.encode(out);
    }

    /// Parses a footer of an index with key `def` that fills all of `bytes`.
    ///
    /// # Errors
    /// `Corruption`.
    pub fn parse(def: &KeyDef, bytes: &[u8]) -> Result<RunFooter> {
        let mut r = Reader::new(bytes);
        let (table, index) = (TableId(r.varint32()?), IndexId(r.varint32()?));
        let schema_version = r.varint32()?;
        let (start, len) = (r.varint()?, r.varint()?);
        let end = start.checked_add(len).ok_or_else(|| r.damaged("row ids leave 64 bits"))?;
        let filter = (r.varint()?, r.varint()?);
        let form = match r.u8()? {
            0 => {
                let packing = Arc::new(Packing::decode(def, r.bytes()?)?);
                RunForm::Explicit { packing, fences: Fences::read(&mut r)? }
            }
            1 => RunForm::Affine(Affine::read(&mut r)?),
            2 => RunForm::FencesOnly(Fences::read(&mut r)?),
            _ => return Err(r.damaged("an unknown form of run")),
        };
        let stats = KeyStats::read(def, &mut r)?;
        r.finish()?;
        let filter = (filter.1 > 0).then_some(filter);
        Ok(RunFooter { table, index, schema_version, rows: start..end, filter, form, stats })
    }
}
