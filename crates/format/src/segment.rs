//! What does a segment file say of its rows?
//!
//! A segment is a [header](crate::frame), [blocks](crate::block) in row order, among them the
//! [frames](crate::blob) of long values, each before the block that names it, and a footer: whose
//! rows they are, where the blocks lie, between which values each column of each block lies, and
//! which commit each row came with. The footer is all that stays in memory of an open segment; zones
//! and commit map stay encoded until asked. A finished segment is never modified (I5).
//!
//! The footer, in order:
//!
//! | bytes | what |
//! |---|---|
//! | varints | table id, schema version, first row id, end of the row ids less first, number of rows, `folded_csn` |
//! | varint, then per column | number of columns; id (varint), physical form (1 byte: 0 int, 1 wide, 2 numeric, 3 bytes) |
//! | varint | number of blocks |
//! | integer streams | per block: offset, length, first row id, rows |
//! | per column | zones: NULLs (integer stream), minima and maxima ([columns](crate::encode::column); a NULL minimum: no value, a NULL maximum: unbounded), preceded by their length (varint) |
//! | commit map | length (varint), entries (varint), integer streams: end row ids, CSNs |
//!
//! Version 1 has no blob frames; the footer is the same. The worked example of the bytes is the golden file `crates/format/tests/golden/segment-footer.bin`.

use onlap_base::{ColumnId, Csn, Error, Result, RowId, TableId};

use crate::batch::{Column, Vector};
use crate::encode::int::{self, IntView};
use crate::encode::{ColumnView, Effort, encode_column};
use crate::run::shifted;
use crate::types::Physical;
use crate::wire::{self, Reader};
use crate::zone::{Bounds, Zone, stored_form};

#[cfg(test)]
mod tests;

/// Version of segment files that this release writes.
pub const SEGMENT_VERSION: u16 = 2;
/// Most columns in a footer; tables have at most 1600.
const COLUMNS_MAX: usize = 4096;
/// Most blocks of a segment: 2^30 row ids of 64 rows per block.
const BLOCKS_MAX: usize = 1 << 24;
/// Most entries of a commit map: one per row of 2^30.
const COMMITS_MAX: usize = 1 << 30;

/// Where a block lies.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BlockEntry {
    /// Offset in the file.
    pub offset: u64,
    /// Bytes.
    pub len: u32,
    /// Number of rows.
    pub rows: u32,
    /// Id of its first row.
    pub first_row_id: RowId,
}

/// What a segment says of itself.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SegmentFooter {
    /// Whose rows these are.
    pub table: TableId,
    /// Schema version at the time of writing.
    pub schema_version: u32,
    /// Columns of every block, in this order.
    pub columns: Vec<(ColumnId, Physical)>,
    /// First row id of the range that the segment answers for.
    pub first_row_id: RowId,
    /// End of that range; ids in it without a row here are dead for every snapshot.
    pub end_row_id: RowId,
    /// Rows present.
    pub rows: u64,
    /// Column changes up to this commit are part of the values.
    pub folded_csn: Csn,
    /// Blocks in row order.
    pub blocks: Vec<BlockEntry>,
    /// Encoded zones of each column.
    zones: Vec<Vec<u8>>,
    /// Which commit each row came with.
    pub commits: CommitMap,
}

impl SegmentFooter {
    /// A footer from its parts; `zones` has one list per column with one zone per block.
    pub fn new(
        table: TableId,
        schema_version: u32,
        columns: Vec<(ColumnId, Physical)>,
        row_ids: std::ops::Range<RowId>,
        folded_csn: Csn,
        blocks: Vec<BlockEntry>,
        zones: &[Vec<Zone>],
        commits: CommitMap,
    ) -> SegmentFooter {
        assert_eq!(zones.len(), columns.len(), "one list of zones per column");
        assert!(zones.iter().all(|z| z.len() == blocks.len()), "one zone per block and column");
        let encoded = |(z, (_, form)): (&Vec<Zone>, &(ColumnId, Physical))| encode_zones(z, *form);
        SegmentFooter {
            table,
            schema_version,
            first_row_id: row_ids.start,
            end_row_id: row_ids.end,
            rows: blocks.iter().map(|b| u64::from(b.rows)).sum(),
            folded_csn,
            zones: zones.iter().zip(&columns).map(encoded).collect(),
            columns,
            blocks,
            commits,
        }
    }

    /// Appends the footer's bytes.
    pub fn encode(&self, out: &mut Vec<u8>) {
        let range = self.end_row_id - self.first_row_id;
        for v in [
            u64::from(self.table.0),
            u64::from(self.schema_version),
            self.first_row_id,
            range,
            self.rows,
            self.folded_csn,
            self.columns.len() as u64,
        ] {
            wire::put_varint(out, v);
        }
        for (id, form) in &self.columns {
            wire::put_varint(out, u64::from(id.0));
            out.push(form_byte(*form));
        }
        wire::put_varint(out, self.blocks.len() as u64);
        let stream = |of: fn(&BlockEntry) -> i64| self.blocks.iter().map(of).collect::<Vec<_>>();
        int::encode(&stream(|b| b.offset as i64), Effort::Small, out);
        int::encode(&stream(|b| i64::from(b.len)), Effort::Small, out);
        int::encode(&stream(|b| b.first_row_id as i64), Effort::Small, out);
        int::encode(&stream(|b| i64::from(b.rows)), Effort::Small, out);
        self.zones.iter().for_each(|z| wire::put_bytes(out, z));
        self.commits.encode(out);
    }

    /// Parses a footer that fills all of `bytes`.
    pub fn parse(bytes: &[u8]) -> Result<SegmentFooter> {
        let mut r = Reader::new(bytes);
        let small = u32::MAX as usize;
        let table = TableId(r.varint_max(small, "a table id")? as u32);
        let schema_version = r.varint_max(small, "a schema version")? as u32;
        let first_row_id = r.varint()?;
        let end_row_id = r
            .varint()?
            .checked_add(first_row_id)
            .ok_or_else(|| Error::damaged("a segment's row ids run over"))?;
        let rows = r.varint()?;
        let folded_csn = r.varint()?;
        let count = r.varint_max(COLUMNS_MAX.min(r.remaining()), "the number of columns")?;
        let mut columns = Vec::with_capacity(count);
        for _ in 0..count {
            let id = ColumnId(r.varint_max(small, "a column id")? as u32);
            columns.push((id, parse_form(&mut r)?));
        }
        let blocks = parse_blocks(&mut r)?;
        let mut zones = Vec::with_capacity(count);
        for _ in 0..count {
            zones.push(r.bytes()?.to_vec());
        }
        let commits = CommitMap::parse(&mut r)?;
        r.finish()?;
        if blocks.iter().map(|b| u64::from(b.rows)).sum::<u64>() != rows {
            return Err(Error::damaged("a segment's blocks hold another number of rows"));
        }
        Ok(SegmentFooter {
            table,
            schema_version,
            columns,
            first_row_id,
            end_row_id,
            rows,
            folded_csn,
            blocks,
            zones,
            commits,
        })
    }

    /// Counts every row id from `base` on; all rows came with commit `csn`.
    ///
    /// # Errors
    /// `Corruption` where row ids leave 64 bits.
    pub fn shift(&mut self, base: RowId, csn: Csn) -> Result<()> {
        let rows = shifted(&(self.first_row_id..self.end_row_id), base)?;
        (self.first_row_id, self.end_row_id) = (rows.start, rows.end);
        for block in &mut self.blocks {
            let first = block.first_row_id.checked_add(base);
            block.first_row_id = first
                .filter(|row| row.checked_add(block.rows.into()).is_some())
                .ok_or_else(|| Error::damaged("a block's row ids run over"))?;
        }
        self.commits = CommitMap::new(&[(rows.end, csn)]);
        Ok(())
    }

    /// The block that has the row, if one does.
    pub fn block_of(&self, id: RowId) -> Option<usize> {
        // The next block begins after the row; the row may still be missing in its block.
        self.blocks.partition_point(|b| b.first_row_id <= id).checked_sub(1)
    }

    /// Position of a column in the blocks.
    pub fn position(&self, id: ColumnId) -> Option<usize> {
        self.columns.iter().position(|(c, _)| *c == id)
    }

    /// The zones of the `k`-th column, one per block.
    pub fn zones(&self, k: usize) -> Result<Vec<Zone>> {
        parse_zones(&self.zones[k], self.columns[k].1, self.blocks.len())
    }

    /// Heap bytes in use.
    pub fn heap_bytes(&self) -> usize {
        self.columns.capacity() * size_of::<(ColumnId, Physical)>()
            + self.blocks.capacity() * size_of::<BlockEntry>()
            + self.zones.iter().map(|z| z.capacity() + size_of::<Vec<u8>>()).sum::<usize>()
            + self.commits.heap_bytes()
    }
}

fn form_byte(form: Physical) -> u8 {
    match form {
        Physical::Int => 0,
        Physical::Wide => 1,
        Physical::Numeric => 2,
        Physical::Bytes => 3,
    }
}

fn parse_form(r: &mut Reader<'_>) -> Result<Physical> {
    Ok(match r.u8()? {
        0 => Physical::Int,
        1 => Physical::Wide,
        2 => Physical::Numeric,
        3 => Physical::Bytes,
        form => return Err(r.damaged(format!("unknown physical form {form}"))),
    })
}

fn parse_blocks(r: &mut Reader<'_>) -> Result<Vec<BlockEntry>> {
    let count = r.varint_max(BLOCKS_MAX, "the number of blocks")?;
    let offsets = IntView::parse(r, count)?;
    let lens = IntView::parse(r, count)?;
    let first_row_ids = IntView::parse(r, count)?;
    let rows = IntView::parse(r, count)?;
    let u32_of =
        |v: i64| u32::try_from(v).map_err(|_| Error::damaged(format!("{v} in a block index")));
    let mut blocks = Vec::new();
    for i in 0..count {
        let entry = BlockEntry {
            offset: offsets.get(i) as u64,
            len: u32_of(lens.get(i))?,
            rows: u32_of(rows.get(i))?,
            first_row_id: first_row_ids.get(i) as RowId,
        };
        if blocks.last().is_some_and(|b: &BlockEntry| b.first_row_id >= entry.first_row_id) {
            return Err(Error::damaged("blocks are not in row order"));
        }
        blocks.push(entry);
    }
    Ok(blocks)
}

fn encode_zones(zones: &[Zone], form: Physical) -> Vec<u8> {
    let mut mins = Column::new(stored_form(form));
    let mut maxs = mins.clone();
    for zone in zones {
        push_bounds(&zone.bounds, &mut mins, &mut maxs);
    }
    let nulls: Vec<i64> = zones.iter().map(|z| i64::from(z.nulls)).collect();
    let mut out = Vec::new();
    int::encode(&nulls, Effort::Small, &mut out);
    encode_column(&mins, 0..zones.len(), Effort::Small, &mut out);
    encode_column(&maxs, 0..zones.len(), Effort::Small, &mut out);
    out
}

fn push_bounds(bounds: &Bounds, mins: &mut Column, maxs: &mut Column) {
    match (bounds, &mut mins.data, &mut maxs.data) {
        (Bounds::Empty, ..) => {
            mins.push_null();
            maxs.push_null();
            return;
        }
        (Bounds::Int(min, max), Vector::Int(a), Vector::Int(b)) => {
            a.push(*min);
            b.push(*max);
        }
        (Bounds::Wide(min, max), Vector::Wide(a), Vector::Wide(b)) => {
            a.push(*min);
            b.push(*max);
        }
        (Bounds::Bytes(min, max), Vector::Bytes(a), Vector::Bytes(b)) => {
            a.push(min);
            match max {
                Some(max) => b.push(max),
                None => {
                    mins.pushed();
                    maxs.push_null();
                    return;
                }
            }
        }
        _ => panic!("the zones of a column have its physical form"),
    }
    mins.pushed();
    maxs.pushed();
}

fn parse_zones(bytes: &[u8], form: Physical, blocks: usize) -> Result<Vec<Zone>> {
    let mut r = Reader::new(bytes);
    let nulls = IntView::parse(&mut r, blocks)?;
    let min_view = ColumnView::take(&mut r, blocks)?;
    let max_view = ColumnView::take(&mut r, blocks)?;
    r.finish()?;
    let (mut mins, mut maxs) = (Column::new(stored_form(form)), Column::new(stored_form(form)));
    min_view.append_to(0..blocks, &mut mins)?;
    max_view.append_to(0..blocks, &mut maxs)?;
    let bounds = |i: usize| match (&mins.data, &maxs.data) {
        _ if mins.is_null(i) => Bounds::Empty,
        (Vector::Int(a), Vector::Int(b)) => Bounds::Int(a[i], b[i]),
        (Vector::Wide(a), Vector::Wide(b)) => Bounds::Wide(a[i], b[i]),
        (Vector::Bytes(a), Vector::Bytes(b)) => {
            Bounds::Bytes(a.get(i).to_vec(), (!maxs.is_null(i)).then(|| b.get(i).to_vec()))
        }
        _ => unreachable!("zones are stored as integers or bytes"),
    };
    Ok((0..blocks).map(|i| Zone { nulls: nulls.get(i) as u32, bounds: bounds(i) }).collect())
}

/// Which commit each row came with: boundaries (end row id, CSN), both ascending, kept packed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CommitMap {
    entries: usize,
    /// Stream of end row ids, then of CSNs.
    bytes: Vec<u8>,
}

impl CommitMap {
    /// Rows below the first entry's row id came with its CSN, rows from there to the second's with
    /// the second's, and so on.
    pub fn new(entries: &[(RowId, Csn)]) -> CommitMap {
        assert!(entries.is_sorted(), "row ids grow in commit order (I2)");
        let mut bytes = Vec::new();
        let ends: Vec<i64> = entries.iter().map(|e| e.0 as i64).collect();
        let csns: Vec<i64> = entries.iter().map(|e| e.1 as i64).collect();
        int::encode(&ends, Effort::Small, &mut bytes);
        int::encode(&csns, Effort::Small, &mut bytes);
        CommitMap { entries: entries.len(), bytes }
    }

    fn encode(&self, out: &mut Vec<u8>) {
        wire::put_varint(out, self.entries as u64);
        wire::put_bytes(out, &self.bytes);
    }

    fn parse(r: &mut Reader<'_>) -> Result<CommitMap> {
        let entries = r.varint_max(COMMITS_MAX, "the number of commits")?;
        let bytes = r.bytes()?.to_vec();
        let mut inner = Reader::new(&bytes);
        IntView::parse(&mut inner, entries)?;
        IntView::parse(&mut inner, entries)?;
        inner.finish()?;
        Ok(CommitMap { entries, bytes })
    }

    fn views(&self) -> (IntView<'_>, IntView<'_>) {
        let mut r = Reader::new(&self.bytes);
        let mut next = || IntView::parse(&mut r, self.entries).expect("checked when made");
        (next(), next())
    }

    /// Number of boundaries.
    pub fn len(&self) -> usize {
        self.entries
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.entries == 0
    }

    /// The commit of a row; `None` behind the last boundary.
    pub fn csn_of(&self, row: RowId) -> Option<Csn> {
        let (ends, csns) = self.views();
        let i = ends.lower_bound(row as i64 + 1);
        (i < self.entries).then(|| csns.get(i) as Csn)
    }

    /// End of the rows of commits up to `csn`; `None` where no commit here is that old.
    pub fn end_at(&self, csn: Csn) -> Option<RowId> {
        let (ends, csns) = self.views();
        let next = i64::try_from(csn).ok().and_then(|c| c.checked_add(1));
        let i = next.map_or(self.entries, |next| csns.lower_bound(next));
        i.checked_sub(1).map(|i| ends.get(i) as RowId)
    }

    /// All boundaries in order.
    pub fn iter(&self) -> impl Iterator<Item = (RowId, Csn)> {
        let (ends, csns) = self.views();
        (0..self.entries).map(move |i| (ends.get(i) as RowId, csns.get(i) as Csn))
    }

    /// Heap bytes in use.
    pub fn heap_bytes(&self) -> usize {
        self.bytes.capacity()
    }
}
