//! Which rows did blind ones replace?
//!
//! Keys of many rows are looked up in their order, so that those next to each other meet the same blocks
//! of the files, and marks are asked about once for all of them.

use std::ops::Range;

use onlap_base::{Csn, Error, Result, RowId};
use onlap_format::key::KeyDef;
use onlap_format::{Batch, BytesVec, Column};
use onlap_storage::version::InOrder;

use crate::read::{ReadCounters, ReadView};
use crate::table::{TableState, TableView, index_positions, key_def};
use onlap_memtable::Mark;

/// The marks of the rows that these (ascending) replaced, in row order.
pub(super) fn replaced(state: &TableState, rows: &[RowId]) -> Result<Vec<Mark>> {
    let view = state.view();
    let primary = view.schema.primary().cloned().ok_or_else(|| {
        Error::damaged(format!("table {} takes blind writes without a key", view.schema.name))
    })?;
    let (positions, _) = index_positions(&view.schema, &primary);
    let everything = ReadView {
        view: view.clone(),
        csn: Csn::MAX,
        count: RowId::MAX,
        own: None,
        tally: None,
        ledger: None,
    };
    let forms = positions.iter().map(|&p| view.schema.columns[p].ty.physical());
    let (mut columns, mut found) = (Batch::new(forms), Vec::with_capacity(rows.len()));
    everything.read_rows(
        rows,
        &positions,
        &mut columns,
        &mut found,
        &mut ReadCounters::default(),
    )?;
    let keys = Keys::of(&key_def(&view.schema, &primary), &columns);
    let mut older: Vec<(RowId, RowId)> = Vec::new();
    let mut kept = InOrder::default();
    for i in keys.in_order() {
        let row = found[i];
        let before = view.newest_in_order(&primary, keys.get(i), row, &mut kept)?;
        older.extend(before.map(|before| (before, row)));
    }
    older.sort_unstable();
    let ids: Vec<RowId> = older.iter().map(|o| o.0).collect();
    let mut lives = vec![true; ids.len()];
    view.drop_dead(&ids, Csn::MAX, &mut lives)?;
    let pairs = older.into_iter().zip(lives).filter(|(_, lives)| *lives).map(|(pair, _)| pair);
    let mut commits = CommitsOf { view: &view, last: (0..0, 0) };
    // In the order of the newer rows, whose commits are looked up once each.
    let mut pairs: Vec<(RowId, RowId)> = pairs.collect();
    pairs.sort_unstable_by_key(|(_, newer)| *newer);
    let mark = |(row, newer)| Ok(Mark { row, csn: commits.csn_of(newer)?, successor: None });
    let mut marks = pairs.into_iter().map(mark).collect::<Result<Vec<Mark>>>()?;
    marks.sort_unstable_by_key(|m| m.row);
    Ok(marks)
}

/// Commits of rows that rise.
struct CommitsOf<'a> {
    view: &'a TableView,
    last: (Range<RowId>, Csn),
}

impl CommitsOf<'_> {
    fn csn_of(&mut self, row: RowId) -> Result<Csn> {
        if self.last.0.contains(&row) {
            return Ok(self.last.1);
        }
        let csn = csn_of(self.view, row).ok_or_else(|| {
            let name = &self.view.schema.name;
            Error::damaged(format!("row {row} of table {name} belongs to no commit"))
        })?;
        let memtable = self.view.memtables_newest_first().find(|m| m.first_row() <= row);
        let end = match memtable {
            Some(memtable) => Some(memtable.end_at(csn)),
            None => self.view.version.segment_of(row).and_then(|s| {
                let end = s.segment.footer().commits.end_at(csn)?;
                Some(end.min(s.meta.rows.end))
            }),
        };
        self.last = (row..end.unwrap_or(row + 1), csn);
        Ok(csn)
    }
}

/// Key bytes of rows.
struct Keys {
    bytes: BytesVec,
}

impl Keys {
    fn of(def: &KeyDef, rows: &Batch) -> Keys {
        let columns: Vec<&Column> = rows.columns.iter().collect();
        let (mut bytes, mut key) = (BytesVec::default(), Vec::new());
        for row in 0..rows.rows {
            key.clear();
            def.encode_row(&columns, row, &mut key);
            bytes.push(&key);
        }
        Keys { bytes }
    }

    fn get(&self, i: usize) -> &[u8] {
        self.bytes.get(i)
    }

    /// Places of the keys in key order.
    fn in_order(&self) -> impl Iterator<Item = usize> {
        let head = |key: &[u8]| {
            let mut head = [0; 16];
            let n = key.len().min(16);
            head[..n].copy_from_slice(&key[..n]);
            u128::from_be_bytes(head)
        };
        let mut order: Vec<(u128, u32)> = self.bytes.iter().map(head).zip(0..).collect();
        order.sort_unstable_by(|a, b| {
            a.0.cmp(&b.0).then_with(|| self.get(a.1 as usize).cmp(self.get(b.1 as usize)))
        });
        order.into_iter().map(|(_, i)| i as usize)
    }
}

/// The commit that brought a row; `None` where compaction has taken its segment away.
pub(crate) fn csn_of(view: &TableView, row: RowId) -> Option<Csn> {
    match view.memtables_newest_first().find(|m| m.first_row() <= row) {
        Some(memtable) => memtable.csn_of(row),
        None => view.version.segment_of(row)?.segment.footer().commits.csn_of(row),
    }
}
