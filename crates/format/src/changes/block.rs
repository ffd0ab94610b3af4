//! How do changes of one column lie in a file?
//!
//! A **change block** is a [block](crate::block) whose rows are changes, by row id and then by commit:
//! first row, number of rows, CSN, operation (0 set, 1 add), value in the column's form. Stretches of
//! two changes are disjoint or the same, so that the changes of a row stand together.
//!
//! ```
//! use onlap_format::Physical;
//! use onlap_format::changes::{Change, ChangeBlock, ChangeOp, Scalar, encode_change_block};
//! let set = ChangeOp::Set(Scalar::Int(5));
//! let changes = [Change { first: 10, len: 3, csn: 7, op: set }];
//! let mut bytes = Vec::new();
//! encode_change_block(Physical::Int, &changes, &mut bytes);
//! let block = ChangeBlock::parse(&bytes, Physical::Int).unwrap();
//! let mut found = Vec::new();
//! block.read(12..20, &mut found).unwrap();
//! assert_eq!(found, changes);
//! ```

use std::ops::Range;

use onlap_base::{ColumnId, Csn, Error, Result, RowId, limits};

use super::{Change, ChangeOp, Scalar};
use crate::batch::{Batch, Column, Vector};
use crate::block::{Block, BlockEncoder, RowIds};
use crate::encode::ColumnView;
use crate::types::Physical;

/// Changes of a block at most.
pub const CHANGES_PER_BLOCK: usize = 2048;
const _: () = assert!(CHANGES_PER_BLOCK <= limits::BLOCK_ROWS_MAX);

const COLUMNS: usize = 5;

/// Where a change block lies, and what it names.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ChangeBlockEntry {
    /// The column.
    pub column: ColumnId,
    /// Offset in the file.
    pub offset: u64,
    /// Bytes.
    pub len: u32,
    /// First row that is changed.
    pub first: RowId,
    /// One behind the last.
    pub end: RowId,
    /// Changes.
    pub count: u32,
}

/// Appends a block of changes, 1 to [`CHANGES_PER_BLOCK`] by row id and then by commit, of a column of
/// this form.
pub fn encode_change_block(form: Physical, changes: &[Change], out: &mut Vec<u8>) {
    let ints = |of: &dyn Fn(&Change) -> i64| Column {
        data: Vector::Int(changes.iter().map(of).collect()),
        nulls: None,
    };
    let mut values = Column::new(form);
    changes.iter().for_each(|c| c.op.scalar().push_to(&mut values));
    let columns = vec![
        ints(&|c| c.first as i64),
        ints(&|c| c.len as i64),
        ints(&|c| c.csn as i64),
        ints(&|c| i64::from(matches!(c.op, ChangeOp::Add(_)))),
        values,
    ];
    let batch = Batch { columns, rows: changes.len() };
    BlockEncoder::new(COLUMNS, false).encode(&batch, 0..changes.len(), RowIds::Dense(0), out);
}

/// A parsed block of changes.
#[derive(Debug)]
pub struct ChangeBlock {
    block: Block,
    form: Physical,
    /// Whether each change is of one row.
    single: bool,
    /// Whether all add, or none does.
    adds: Option<bool>,
}

/// The changes of a block, unpacked: one element each.
#[derive(Clone, Debug, Default)]
pub struct Unpacked {
    /// First rows.
    pub firsts: Vec<i64>,
    /// Numbers of rows; empty where each change is of one row.
    pub lens: Vec<i64>,
    /// Commits.
    pub csns: Vec<i64>,
    /// Whether the value is added; empty where `all_add` says it of all.
    pub adds: Vec<i64>,
    /// Whether all values are added, or none is.
    pub all_add: Option<bool>,
    /// Values.
    pub values: Option<Column>,
}

impl ChangeBlock {
    /// Checks and opens a block of changes of a column of this form.
    ///
    /// # Errors
    /// `Corruption`.
    pub fn parse(bytes: &[u8], form: Physical) -> Result<ChangeBlock> {
        let block = Block::parse(bytes)?;
        if block.columns() != COLUMNS || block.column(COLUMNS - 1)?.physical() != form {
            return Err(Error::damaged("a block of changes has other columns"));
        }
        let (firsts, lens) = (block.column(0)?, block.column(1)?);
        let (mut end, mut single) = (0, true);
        for i in 0..block.rows() {
            let (first, len) = (firsts.int(i), lens.int(i));
            let same = i > 0 && (first, len) == (firsts.int(i - 1), lens.int(i - 1));
            if len < 1 || first < end && !same || first.checked_add(len).is_none() {
                return Err(Error::damaged("changes are out of order"));
            }
            single &= len == 1;
            end = first + len;
        }
        let ops = block.column(3)?;
        let add = ops.int(0) != 0;
        let adds = (1..block.rows()).all(|i| (ops.int(i) != 0) == add).then_some(add);
        Ok(ChangeBlock { block, form, single, adds })
    }

    /// Number of changes, at least 1.
    #[allow(clippy::len_without_is_empty)]
    pub fn len(&self) -> usize {
        self.block.rows()
    }

    /// Heap bytes in use.
    pub fn heap_bytes(&self) -> usize {
        self.block.heap_bytes()
    }

    /// Appends the changes of any of the rows, unclipped.
    pub fn read(&self, rows: Range<RowId>, out: &mut Vec<Change>) -> Result<()> {
        let (firsts, lens) = (self.block.column(0)?, self.block.column(1)?);
        let places = self.places(&firsts, rows)?;
        if places.is_empty() {
            return Ok(());
        }
        let (csns, ops) = (self.block.column(2)?, self.ops(places)?);
        for (i, op) in ops {
            let (first, len) = (firsts.int(i) as RowId, lens.int(i) as u64);
            out.push(Change { first, len, csn: csns.int(i) as Csn, op: op? });
        }
        Ok(())
    }

    /// Appends what happens to one row, in order: all of it, or what came after the first and not after the
    /// second of two commits.
    pub fn of_row(
        &self,
        row: RowId,
        between: Option<(Csn, Csn)>,
        out: &mut Vec<ChangeOp>,
    ) -> Result<()> {
        let places = self.places(&self.block.column(0)?, row..row + 1)?;
        if places.is_empty() {
            return Ok(());
        }
        let csns = between.map(|_| self.block.column(2)).transpose()?;
        for (i, op) in self.ops(places)? {
            let outside = |(after, upto): (Csn, Csn)| {
                let csn = csns.as_ref().map_or(0, |csns| csns.int(i) as Csn);
                csn <= after || csn > upto
            };
            if !between.is_some_and(outside) {
                out.push(op?);
            }
        }
        Ok(())
    }

    /// Where the changes of any of the rows are.
    fn places(&self, firsts: &ColumnView<'_>, rows: Range<RowId>) -> Result<Range<usize>> {
        let starts = firsts.ints().ok_or_else(|| Error::damaged("changes without row ids"))?;
        let mut i = starts.lower_bound(clamp(rows.start)).min(self.len());
        let mut end = i;
        if !self.single {
            let lens = self.block.column(1)?;
            // The stretch before the first that begins in the range may reach into it.
            while i > 0 && (firsts.int(i - 1) + lens.int(i - 1)) as RowId > rows.start {
                i -= 1;
            }
        }
        if rows.end == rows.start + 1 {
            while end < self.len() && firsts.int(end) as RowId == rows.start {
                end += 1;
            }
        } else {
            end = starts.lower_bound(clamp(rows.end)).min(self.len());
        }
        Ok(i..end.max(i))
    }

    /// Operations at places.
    fn ops(
        &self,
        places: Range<usize>,
    ) -> Result<impl Iterator<Item = (usize, Result<ChangeOp>)> + '_> {
        let values = self.block.column(COLUMNS - 1)?;
        let adds = match self.adds {
            Some(_) => None,
            None => Some(self.block.column(3)?),
        };
        let value = move |i: usize| match values.ints() {
            Some(_) if values.is_null(i) => Ok(Scalar::Null),
            Some(ints) => Ok(Scalar::Int(ints.get(i))),
            None => {
                let mut value = Column::new(self.form);
                self.block.append_selected(COLUMNS - 1, &[i as u32], &mut value)?;
                Ok(Scalar::of(&value, 0))
            }
        };
        Ok(places.map(move |i| {
            let adds = adds.as_ref().map_or(self.adds == Some(true), |adds| adds.int(i) != 0);
            (i, value(i).map(if adds { ChangeOp::Add } else { ChangeOp::Set }))
        }))
    }

    /// The rows of each change.
    pub fn stretches(&self) -> Result<impl Iterator<Item = Range<RowId>>> {
        let (firsts, lens) = (self.block.column(0)?, self.block.column(1)?);
        let stretch = move |i| {
            let first = firsts.int(i) as RowId;
            first..first + lens.int(i) as u64
        };
        Ok((0..self.len()).map(stretch))
    }

    /// Unpacks the whole block.
    pub fn unpack(&self) -> Result<Unpacked> {
        let mut out = Unpacked { all_add: self.adds, ..Unpacked::default() };
        let n = self.len();
        let mut values = Column::new(self.form);
        let lists = [&mut out.firsts, &mut out.lens, &mut out.csns, &mut out.adds];
        let known = [false, self.single, false, self.adds.is_some()];
        for (k, to) in lists.into_iter().enumerate().filter(|(k, _)| !known[*k]) {
            let view = self.block.column(k)?;
            match view.ints() {
                Some(ints) => ints.append_to(0..n, to),
                None => return Err(Error::damaged("a change without numbers")),
            }
        }
        self.block.column(COLUMNS - 1)?.append_to(0..n, &mut values)?;
        out.values = Some(values);
        Ok(out)
    }
}

impl Unpacked {
    /// How many rows change `i` is of.
    pub fn len_of(&self, i: usize) -> i64 {
        self.lens.get(i).copied().unwrap_or(1)
    }

    /// Whether the value of change `i` is added.
    pub fn is_add(&self, i: usize) -> bool {
        self.all_add.unwrap_or_else(|| self.adds[i] != 0)
    }
}

fn clamp(row: RowId) -> i64 {
    i64::try_from(row).unwrap_or(i64::MAX)
}
