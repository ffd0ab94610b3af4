//! What does a reader of a run hold of a file at a time?
//!
//! A block of an explicit file, or the whole of an affine file, which is resident. Both give entries
//! by position in (key, row id) order.

use std::ops::Range;
use std::sync::Arc;

use onlap_base::{Error, Result, RowId};
use onlap_format::affine::Affine;
use onlap_format::key::{ColumnStats, Entries, KeyDef, KeyForm, Packing};
use onlap_format::run_block::RunBlock;
use onlap_format::{Column, DataType, Physical, Vector};

use crate::cache::Loaded;
use crate::entry::{EntryBatch, EntryWants, compare_prefix};

/// A stretch of entries in memory.
#[derive(Clone)]
pub(super) enum Unit {
    Block(Arc<Loaded<RunBlock>>),
    Affine(Arc<AffineUnit>),
}

/// An affine file in memory.
pub(super) struct AffineUnit {
    affine: Affine,
    packing: Arc<Packing>,
}

/// Whether keys of this index can be pieces: one ascending integer, nothing included. Floats are
/// left out: 0 and -0 share a key.
pub(super) fn can_be_affine(def: &KeyDef, include: usize) -> bool {
    let [column] = &def.columns[..] else { return false };
    let float = matches!(column.ty, DataType::Float4 | DataType::Float8);
    include == 0 && !column.descending && !float && column.ty.physical() == Physical::Int
}

impl AffineUnit {
    /// Fails where the index cannot have affine files, or the file has no entries.
    pub fn new(affine: Affine, def: &KeyDef, include: usize) -> Result<AffineUnit> {
        let Some(last) = affine.len().checked_sub(1).filter(|_| can_be_affine(def, include)) else {
            return Err(Error::damaged("pieces without entries, or of an index without such"));
        };
        let (min, max) = (affine.entry(0).0, affine.entry(last).0);
        let keys = vec![min, min.saturating_add(1).min(max), max];
        let mut stats = ColumnStats::new(def.columns[0].ty);
        stats.observe(&Column { data: Vector::Int(keys), nulls: None }, 0..3);
        Ok(AffineUnit { affine, packing: Arc::new(Packing::fit(def, &[stats])) })
    }

    /// Of the keys that [`Unit::entries`] gives.
    pub fn packing(&self) -> &Arc<Packing> {
        &self.packing
    }

    fn lower_bound(&self, prefix: &[u8], after: bool) -> usize {
        let def = self.packing.def();
        let len = self.affine.len();
        let mut bound = [Column::new(Physical::Int)];
        let position = match def.decode_into(prefix, &mut bound) {
            Ok(()) if bound[0].is_null(0) => len,
            Ok(()) => {
                let Vector::Int(v) = &bound[0].data else { unreachable!("made as integers") };
                let first = if after { v[0].checked_add(1) } else { Some(v[0]) };
                first.map_or(len, |key| self.affine.lower_bound(key))
            }
            // A prefix that ends inside the column: compare as bytes.
            Err(_) => {
                let (mut low, mut high) = (0, len);
                while low < high {
                    let middle = low.midpoint(high);
                    let key = Column {
                        data: Vector::Int(vec![self.affine.entry(middle).0]),
                        nulls: None,
                    };
                    let mut bytes = Vec::new();
                    def.encode_row(&[&key], 0, &mut bytes);
                    let order = compare_prefix(&bytes, prefix);
                    if order.is_lt() || after && order.is_eq() {
                        low = middle + 1;
                    } else {
                        high = middle;
                    }
                }
                low
            }
        };
        position as usize
    }

    fn read(&self, range: Range<usize>, row_ids: &mut Vec<RowId>) -> Column {
        let mut keys = Vec::with_capacity(range.len());
        self.affine.entries(range.start as u64..range.end as u64, &mut keys, row_ids);
        Column { data: Vector::Int(keys), nulls: None }
    }
}

impl Unit {
    /// Number of entries.
    pub fn len(&self) -> usize {
        match self {
            Unit::Block(block) => block.len(),
            Unit::Affine(unit) => unit.affine.len() as usize,
        }
    }

    /// Position of the first entry whose key is at or above `prefix`; with `after`, above every key
    /// that begins with it.
    pub fn lower_bound(&self, prefix: &[u8], after: bool) -> Result<usize> {
        match self {
            Unit::Block(block) => block.lower_bound(&block.packing().bound(prefix, after)),
            Unit::Affine(unit) => Ok(unit.lower_bound(prefix, after)),
        }
    }

    /// Appends the row ids of entries `range`.
    pub fn row_ids(&self, range: Range<usize>, out: &mut Vec<RowId>) -> Result<()> {
        match self {
            Unit::Block(block) => block.row_ids(range, out),
            Unit::Affine(unit) => {
                unit.read(range, out);
                Ok(())
            }
        }
    }

    /// Appends the wanted parts of entries `range`.
    pub fn read(
        &self,
        range: Range<usize>,
        wants: &EntryWants,
        out: &mut EntryBatch,
    ) -> Result<()> {
        out.columns.rows += range.len();
        let (key_columns, include) = out.columns.columns.split_at_mut(wants.key_columns.len());
        match self {
            Unit::Block(block) => {
                block.include(range.clone(), &wants.include, include)?;
                let packing = block.packing();
                match (wants.keys, key_columns.is_empty()) {
                    (false, true) => block.row_ids(range, &mut out.row_ids),
                    (true, true) => {
                        block.key_bytes_and_row_ids(range, &mut out.keys, &mut out.row_ids)
                    }
                    (true, false) if packing.form() == KeyForm::Bytes => {
                        block.key_columns(range.clone(), &wants.key_columns, key_columns)?;
                        block.key_bytes_and_row_ids(range, &mut out.keys, &mut out.row_ids)
                    }
                    (keys_wanted, false) => {
                        // Decode once for everything.
                        let (mut keys, n) = (packing.new_keys(), range.len());
                        block.keys_and_row_ids(range, &mut keys, &mut out.row_ids)?;
                        if keys_wanted {
                            packing.all_key_bytes(&keys, 0..n, &mut out.keys)?;
                        }
                        packing.unpack_some(&keys, 0..n, &wants.key_columns, key_columns)
                    }
                }
            }
            Unit::Affine(unit) => {
                let n = range.len();
                let column = unit.read(range, &mut out.row_ids);
                key_columns.iter_mut().for_each(|c| c.extend_range(&column, 0..n));
                if wants.keys {
                    let mut key = Vec::new();
                    for i in 0..n {
                        key.clear();
                        unit.packing.def().encode_row(&[&column], i, &mut key);
                        out.keys.push(&key);
                    }
                }
                Ok(())
            }
        }
    }

    /// Appends entries `range` whole.
    pub fn entries(&self, range: Range<usize>, out: &mut Entries) -> Result<()> {
        match self {
            Unit::Block(block) => block.entries(range, out),
            Unit::Affine(unit) => {
                let n = range.len();
                let column = unit.read(range, &mut out.row_ids);
                out.include.rows += n;
                let fits = unit.packing.pack(&[&column], 0..n, &mut out.keys);
                assert!(fits, "the packing was fitted to the smallest and the largest key");
                Ok(())
            }
        }
    }
}
