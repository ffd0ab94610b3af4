//! How do sealed rows lie in memory?
//!
//! A [`Chunk`] is an immutable batch with the row ids of its rows. Adoption and renumbering share the
//! columns, so that a row is copied at most twice between its append and the flush: into the open
//! piece, and when pieces are joined. A [`Pick`] names a row of a list of chunks in four bytes.
//!
//! Chunks know nothing of keys, marks or commits. Immutable, shared freely.

use std::ops::Range;
use std::sync::Arc;

use onlap_base::RowId;
use onlap_format::{Batch, BytesVec, Column, NullMask, Vector};

use super::lists::{PostingCells, Postings};

/// Most rows of a chunk: a [`Pick`] has 16 bits for the row.
pub(crate) const CHUNK_ROWS_MAX: usize = 1 << 16;

/// Most chunks that picks can name: the other 16 bits.
pub(crate) const CHUNKS_MAX: usize = 1 << 16;

/// A row of a list of chunks: chunk number in the upper, row number in the lower 16 bits, so that
/// picks of ordered chunks compare as row ids do.
pub(crate) type Pick = u32;

#[inline]
pub(crate) fn pick(chunk: usize, row: usize) -> Pick {
    debug_assert!(chunk < CHUNKS_MAX && row < CHUNK_ROWS_MAX);
    (chunk as u32) << 16 | row as u32
}

#[inline]
pub(crate) fn picked(pick: Pick) -> (usize, usize) {
    ((pick >> 16) as usize, (pick & 0xffff) as usize)
}

/// Ids of a chunk's rows, ascending.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum RowIds {
    /// Consecutive from here.
    Dense(RowId),
    /// Any, as after dead rows were dropped.
    List(Arc<[RowId]>),
}

impl RowIds {
    /// Ids that rise, dense where they allow it.
    fn of(ids: Vec<RowId>) -> RowIds {
        debug_assert!(ids.is_sorted() && !ids.is_empty());
        let dense = ids[ids.len() - 1] - ids[0] == ids.len() as u64 - 1;
        if dense { RowIds::Dense(ids[0]) } else { RowIds::List(ids.into()) }
    }
}

/// Sealed rows.
#[derive(Clone, Debug)]
pub(crate) struct Chunk {
    pub rows: Arc<Batch>,
    pub ids: RowIds,
    /// Of the rows, whatever their ids are.
    postings: Arc<PostingCells>,
}

impl Chunk {
    pub(crate) fn dense(rows: Batch, first: RowId) -> Chunk {
        debug_assert!(rows.rows <= CHUNK_ROWS_MAX);
        Chunk { rows: Arc::new(rows), ids: RowIds::Dense(first), postings: Arc::default() }
    }

    /// Rows with their ids, dense where the ids allow it.
    pub(crate) fn with_ids(rows: Batch, ids: Vec<RowId>) -> Chunk {
        debug_assert_eq!(rows.rows, ids.len());
        Chunk { rows: Arc::new(rows), ids: RowIds::of(ids), postings: Arc::default() }
    }

    /// The columns, and what was sorted of them, under other row ids.
    pub(crate) fn renumbered(&self, ids: Vec<RowId>) -> Chunk {
        debug_assert_eq!(self.len(), ids.len());
        Chunk { ids: RowIds::of(ids), ..self.clone() }
    }

    /// The entries of a column of lists, sorted now if no reader asked before.
    pub(crate) fn postings(&self, column: usize) -> Arc<Postings> {
        self.postings.get(&self.rows, column)
    }

    pub(crate) fn len(&self) -> usize {
        self.rows.rows
    }

    #[inline]
    pub(crate) fn row_id(&self, i: usize) -> RowId {
        match &self.ids {
            RowIds::Dense(first) => first + i as u64,
            RowIds::List(ids) => ids[i],
        }
    }

    pub(crate) fn first(&self) -> RowId {
        self.row_id(0)
    }

    /// One above the last row id.
    pub(crate) fn end(&self) -> RowId {
        self.row_id(self.len() - 1) + 1
    }

    /// Position of the first row with this id or a larger one.
    pub(crate) fn lower_bound(&self, row: RowId) -> usize {
        match &self.ids {
            RowIds::Dense(first) => row.saturating_sub(*first).min(self.len() as u64) as usize,
            RowIds::List(ids) => ids.partition_point(|&id| id < row),
        }
    }

    /// Position of the row with this id.
    pub(crate) fn find(&self, row: RowId) -> Option<usize> {
        let at = self.lower_bound(row);
        (at < self.len() && self.row_id(at) == row).then_some(at)
    }

    /// A copy of the rows below `end`, of which there are some.
    pub(crate) fn cut(&self, end: RowId) -> Chunk {
        self.selected(0..self.lower_bound(end))
    }

    /// A copy of some rows, given by ascending places.
    pub(crate) fn selected(&self, places: impl IntoIterator<Item = usize>) -> Chunk {
        let picks: Vec<Pick> = places.into_iter().map(|i| pick(0, i)).collect();
        let mut rows = Batch::new(self.rows.columns.iter().map(|c| c.data.physical()));
        for (i, out) in rows.columns.iter_mut().enumerate() {
            gather(&[&self.rows], i, &picks, out);
        }
        rows.rows = picks.len();
        Chunk::with_ids(rows, picks.iter().map(|&p| self.row_id(picked(p).1)).collect())
    }

    /// Appends the ids of rows `range`.
    pub(crate) fn extend_ids(&self, range: Range<usize>, out: &mut Vec<RowId>) {
        match &self.ids {
            RowIds::Dense(first) => {
                out.extend(first + range.start as u64..first + range.end as u64);
            }
            RowIds::List(ids) => out.extend_from_slice(&ids[range]),
        }
    }

    pub(crate) fn heap_bytes(&self) -> usize {
        let ids = match &self.ids {
            RowIds::Dense(_) => 0,
            RowIds::List(ids) => ids.len() * size_of::<RowId>(),
        };
        self.rows.heap_bytes() + ids
    }
}

/// Appends the picked rows of one column of several batches.
pub(crate) fn gather(batches: &[&Batch], column: usize, picks: &[Pick], out: &mut Column) {
    let columns: Vec<&Column> = batches.iter().map(|b| &b.columns[column]).collect();
    gather_columns(&columns, picks, out);
}

/// How the columns of picked rows of chunks are copied.
pub(crate) struct Gather<'a> {
    chunks: &'a [&'a Chunk],
    picks: &'a [Pick],
    /// Whether rows of one chunk mostly follow one another, or are few: then each stretch of them looks
    /// its chunk's column up. Otherwise the columns of all chunks are listed first.
    by_stretch: bool,
}

/// Rows of a stretch, on average, from which on it pays to look its column up.
const STRETCH: usize = 4;
/// Rows of a short read, per chunk: for fewer, listing the columns costs more than looking each up.
const SHORT: usize = 8;

impl<'a> Gather<'a> {
    pub(crate) fn of(chunks: &'a [&'a Chunk], picks: &'a [Pick]) -> Gather<'a> {
        let by_stretch =
            picks.len() < chunks.len() * SHORT || stretches(picks).count() * STRETCH <= picks.len();
        Gather { chunks, picks, by_stretch }
    }

    /// Appends the picked rows of one column.
    pub(crate) fn column(&self, column: usize, out: &mut Column) {
        let column_of = |chunk: usize| &self.chunks[chunk].rows.columns[column];
        if !self.by_stretch {
            let columns: Vec<&Column> = (0..self.chunks.len()).map(column_of).collect();
            return gather_columns(&columns, self.picks, out);
        }
        let before = out.len();
        let stretches = stretches(self.picks).map(|(chunk, rows)| (column_of(chunk), rows));
        match &mut out.data {
            Vector::Int(out) => {
                out.reserve(self.picks.len());
                for (column, rows) in stretches.clone() {
                    let values = ints(column);
                    out.extend(rows.map(|row| values[row]));
                }
            }
            Vector::Wide(out) => {
                out.reserve(self.picks.len());
                for (column, rows) in stretches.clone() {
                    let values = wides(column);
                    out.extend(rows.map(|row| values[row]));
                }
            }
            Vector::Numeric(mantissas, scales) => {
                for (column, rows) in stretches.clone() {
                    let Vector::Numeric(m, s) = &column.data else { mixed() };
                    mantissas.extend(rows.clone().map(|row| m[row]));
                    scales.extend(rows.map(|row| s[row]));
                }
            }
            Vector::Bytes(out) => {
                for (column, rows) in stretches.clone() {
                    let values = texts(column);
                    out.extend(rows.map(|row| values.get(row)));
                }
            }
        }
        if out.nulls.is_some() || stretches.clone().any(|(column, _)| column.nulls.is_some()) {
            let mask = out.nulls.get_or_insert_with(|| NullMask::none(before));
            for (column, rows) in stretches {
                rows.for_each(|row| mask.push(column.is_null(row)));
            }
        }
    }
}

/// Neighbouring picks of one chunk: the chunk, and the rows.
fn stretches(
    picks: &[Pick],
) -> impl Iterator<Item = (usize, impl Iterator<Item = usize> + Clone)> + Clone {
    let of_one = picks.chunk_by(|&a, &b| picked(a).0 == picked(b).0);
    of_one.map(|picks| (picked(picks[0]).0, picks.iter().map(|&p| picked(p).1)))
}

/// Appends the picked rows of several columns of one form.
pub(crate) fn gather_columns(columns: &[&Column], picks: &[Pick], out: &mut Column) {
    let before = out.len();
    match &mut out.data {
        Vector::Int(out) => {
            let sources: Vec<&[i64]> = columns.iter().map(|c| ints(c)).collect();
            out.extend(picks.iter().map(|&p| at(&sources, p)));
        }
        Vector::Wide(out) => {
            let sources: Vec<&[i128]> = columns.iter().map(|c| wides(c)).collect();
            out.extend(picks.iter().map(|&p| at(&sources, p)));
        }
        Vector::Numeric(mantissas, scales) => {
            for &p in picks {
                let (chunk, row) = picked(p);
                let Vector::Numeric(m, s) = &columns[chunk].data else { mixed() };
                mantissas.push(m[row]);
                scales.push(s[row]);
            }
        }
        Vector::Bytes(out) => out.extend(picks.iter().map(|&p| {
            let (chunk, row) = picked(p);
            texts(columns[chunk]).get(row)
        })),
    }
    if out.nulls.is_some() || columns.iter().any(|c| c.nulls.is_some()) {
        let mask = out.nulls.get_or_insert_with(|| NullMask::none(before));
        for &p in picks {
            let (chunk, row) = picked(p);
            mask.push(columns[chunk].is_null(row));
        }
    }
}

#[inline]
fn at<T: Copy>(sources: &[&[T]], p: Pick) -> T {
    let (chunk, row) = picked(p);
    sources[chunk][row]
}

/// The numbers of an int column.
#[inline]
pub(crate) fn ints(column: &Column) -> &[i64] {
    let Vector::Int(v) = &column.data else { mixed() };
    v
}

/// The numbers of a wide column.
#[inline]
pub(crate) fn wides(column: &Column) -> &[i128] {
    let Vector::Wide(v) = &column.data else { mixed() };
    v
}

/// The strings of a bytes column.
#[inline]
fn texts(column: &Column) -> &BytesVec {
    let Vector::Bytes(v) = &column.data else { mixed() };
    v
}

#[cold]
fn mixed() -> ! {
    panic!("a column has the physical form of its type in every chunk")
}
