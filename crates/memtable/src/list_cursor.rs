//! How does a reader walk an index that has several entries of a row, in memory?
//!
//! As by [`super::cursor`], with a source per chunk ([`super::lists`]). Rows of the open piece that no reader's copy has yet are
//! judged by a look through their lists, under the lock: keys of a list rise, so that it ends at the first above the
//! bounds. Rows may come several times, once for each of their keys within the bounds.
//!
//! The cursor holds everything it needs: rows appended later are not met. It belongs to one thread at a time.

use std::ops::Range;
use std::sync::Arc;

use onlap_base::{Result, RowId};
use onlap_format::{Batch, Column, Physical, Vector, entries, wire};
use onlap_storage::entry::{Direction, EntryBatch, EntryCursor, EntryWants, KeyBounds};

use super::Shared;
use super::chunk::Chunk;
use super::group::Group;
use super::lists::{ListBounds, ListMerge, ListSource, lists};
use super::rows::Groups;

/// Most entries handed out at once, whatever the caller asks for.
const BATCH_MAX: usize = 4096;

/// Entries of an index of lists of a memtable, in index order.
#[derive(Debug)]
pub struct ListCursor {
    shared: Arc<Shared>,
    index: usize,
    upto: RowId,
    wants: EntryWants,
    forms: Vec<Physical>,
    merge: ListMerge,
}

impl ListCursor {
    pub(super) fn open(
        shared: &Arc<Shared>,
        index: usize,
        bounds: &KeyBounds,
        direction: Direction,
        wants: &EntryWants,
        rows: Range<RowId>,
    ) -> ListCursor {
        let shape = &shared.shape.indexes[index];
        let column = shape.fields[0].column;
        let bounds = ListBounds::new(shape, bounds);
        let (groups, tail, rest) = snapshot(shared, column, &bounds, &rows);
        let groups = groups.iter().chain(&tail).skip_while(|g| g.end() <= rows.start);
        let groups = groups.take_while(|g| g.first() < rows.end);
        let chunks = groups.flat_map(|g| &g.chunks);
        let chunks = chunks.filter(|c| c.end() > rows.start && c.first() < rows.end);
        let mut sources: Vec<ListSource> =
            chunks.map(|c| ListSource::new(c, column, &bounds)).collect();
        sources.extend(rest.map(|chunk| ListSource::new(&chunk, 0, &bounds)));
        sources.retain(|source| !source.is_empty());
        ListCursor {
            shared: Arc::clone(shared),
            index,
            upto: rows.end,
            wants: wants.clone(),
            forms: vec![Physical::Bytes; wants.key_columns.len()],
            merge: ListMerge::new(sources, direction == Direction::Backward),
        }
    }
}

/// The groups, the shared copy of the open piece, and of its other rows the keys within bounds.
fn snapshot(
    shared: &Shared,
    column: usize,
    bounds: &ListBounds,
    range: &Range<RowId>,
) -> (Groups, Option<Arc<Group>>, Option<Chunk>) {
    let rows = shared.rows.read();
    let (tail, covered) = rows.tail(&shared.shape, shared.tuning.tail_rows);
    let len = range.end.saturating_sub(rows.open_first).min(rows.open.rows as u64) as usize;
    let first = covered.max(range.start.saturating_sub(rows.open_first) as usize);
    let open = lists(&rows.open.columns[column]);
    let mut found = Column::new(Physical::Bytes);
    let (mut list, mut ids) = (Vec::new(), Vec::new());
    for row in first..len {
        list.clear();
        let keys = entries::walk(open.get(row)).skip_while(|key| bounds.is_below(key));
        keys.take_while(|key| !bounds.is_above(key))
            .for_each(|key| wire::put_bytes(&mut list, key));
        if let (Vector::Bytes(found), false) = (&mut found.data, list.is_empty()) {
            found.push(&list);
            ids.push(rows.open_first + row as RowId);
        }
    }
    let rest = (!ids.is_empty()).then(|| {
        let rows = Batch { rows: ids.len(), columns: vec![found] };
        Chunk::with_ids(rows, ids)
    });
    (rows.groups.clone(), tail, rest)
}

impl EntryCursor for ListCursor {
    fn next(&mut self, max: usize, out: &mut EntryBatch) -> Result<bool> {
        out.reset(&self.forms);
        let max = max.min(BATCH_MAX);
        let mut columns = out.columns.columns.iter_mut();
        let mut keys: Option<&mut Column> = columns.next();
        let mut plain = Column::new(Physical::Bytes);
        while out.row_ids.len() < max
            && let Some((source, place)) = self.merge.next()
        {
            let source = &self.merge.sources[source];
            let row = source.row_id(place);
            if row >= self.upto {
                continue;
            }
            out.row_ids.push(row);
            let to = keys.as_deref_mut().unwrap_or(&mut plain);
            if let (Vector::Bytes(to), true) =
                (&mut to.data, self.wants.keys || !self.forms.is_empty())
            {
                to.push(source.key(place));
            }
        }
        if self.wants.keys {
            let from = keys.as_deref().unwrap_or(&plain);
            let def = &self.shared.shape.indexes[self.index].def;
            let mut key = Vec::new();
            for i in 0..out.row_ids.len() {
                key.clear();
                def.encode_row(&[from], i, &mut key);
                out.keys.push(&key);
            }
        }
        out.columns.rows = out.row_ids.len();
        Ok(!out.row_ids.is_empty())
    }

    fn about(&mut self) -> Result<u64> {
        Ok(self.merge.left() as u64)
    }
}
