//! What does a transaction do to one table, before anybody sees it?
//!
//! New rows in column form with provisional ids (`PROVISIONAL_BASE` + ordinal), marks on committed
//! rows, and the set of own rows that died again. Rows that die inside the transaction get no row
//! id: the buffer is compacted before it is handed to [`crate::commit`].
//!
//! Everything but the appending of rows is an event. Rows and events are counted, so a statement's
//! view, and a savepoint, is two numbers (n, m); going back to one undoes the events behind it.
//!
//! Reads through an index or a scan need the rows in order. For them the buffer is copied, once and
//! when first asked for, into a private memtable ([`Buffer::own_rows`]); transactions that only
//! write, or look rows up by key, never pay for it.
//!
//! Rows that memory has no room for leave it for files ([`super::spilled`]): `rows` then begins with a
//! later ordinal than 0.
//!
//! Thread safety: belongs to its transaction.

use std::collections::HashMap;
use std::ops::Range;
use std::sync::Arc;

use hashbrown::HashTable;
use onlap_base::{ColumnId, Csn, Error, ErrorKind, IndexId, PROVISIONAL_BASE, Result, RowId};
use onlap_format::changes::{ChangeBounds, LoggedChange};
use onlap_format::{Batch, Column, IndexSchema, TableSchema};
use roaring::RoaringTreemap;
use xxhash_rust::xxh3::xxh3_64;

use super::{MARK_BYTES, SPILLED_MARK_BYTES};
use crate::activity::Did;
use crate::changes;
use crate::commit::{PendingMark, TableWrite};
use crate::database::Table;
use crate::derive;
use crate::read::OwnRows;
use crate::rules::Checks;
use crate::rules::alter::judge_again;
use crate::spill::Spill;
use crate::table::{index_positions, key_def};
use crate::{unique, upgrade};
use onlap_memtable::{Mark, Memtable};

/// The changes to one table.
pub(super) struct Buffer {
    pub(super) table: Table,
    pub(super) schema: Arc<TableSchema>,
    /// Rows in memory, and the ordinal of the first of them; those before are spilled.
    pub(super) rows: Batch,
    pub(super) first: usize,
    pub(super) spill: Option<Spill>,
    /// Ordinals of own rows that died again.
    pub(super) dead: RoaringTreemap,
    /// Committed rows that die.
    pub(super) marked: RoaringTreemap,
    /// Which row, as a provisional id where it is an own one, the own row with this ordinal replaced:
    /// by the events in memory.
    pub(super) before: HashMap<u32, RowId>,
    /// Ordinals of own rows that have all unique keys of the committed row that they replace.
    pub(super) kept: RoaringTreemap,
    /// Events in memory, and how many are in files before them.
    pub(super) events: Vec<Event>,
    /// Column changes of committed rows, in order.
    pub(super) changes: Vec<LoggedChange>,
    /// What they may do to a row of a column, and their bytes.
    pub(super) change_bounds: Vec<(ColumnId, ChangeBounds)>,
    pub(super) change_bytes: usize,
    pub(super) first_event: usize,
    /// Ordinals of own rows that were written blindly; those of them that are dead say that their key
    /// is gone.
    pub(super) blind: RoaringTreemap,
    /// Own rows by the keys of unique indexes, as far as somebody asked.
    pub(super) keys: Vec<OwnKeys>,
    /// Every value of the serial column so far came from the counter.
    pub(super) counter_only: bool,
    /// Of the rows in memory.
    pub(super) bytes: usize,
    pub(super) own: Option<Mirror>,
    /// What was done so far, taken back or not.
    pub(super) did: Did,
    /// What judges rows of a private schema, once somebody asked.
    checks: Option<(Arc<TableSchema>, Option<Arc<Checks>>)>,
}

/// What happened to a row, in the order in which it did. A row that is replaced twice has a mark for
/// each time: the successor of its mark died itself, and has one.
#[derive(Clone, Copy, Debug)]
pub(super) enum Event {
    /// A committed row died.
    Marked { row: RowId, successor: Option<u32> },
    /// An own row died.
    Died { ordinal: u32, successor: Option<u32> },
}

/// Own rows, dead or not, by the keys of one unique index.
pub(super) struct OwnKeys {
    index: IndexId,
    /// The newest row in memory with a key, by the key's hash, half of which stands next to the row.
    newest: HashTable<(u32, u32)>,
    /// How many rows were looked at.
    rows: usize,
}

impl OwnKeys {
    /// Notes that a row is the newest with a key; `same` says whether another row has it.
    fn note(&mut self, key: &[u8], row: u32, same: impl Fn(u32) -> bool) {
        let hash = xxh3_64(key) as u32;
        match self.newest.find_mut(spread(hash), |e| e.0 == hash && same(e.1)) {
            Some(entry) => entry.1 = row,
            None => {
                self.newest.insert_unique(spread(hash), (hash, row), |e| spread(e.0));
            }
        }
    }

    fn find(&self, key: &[u8], same: impl Fn(u32) -> bool) -> Option<u32> {
        let hash = xxh3_64(key) as u32;
        self.newest.find(spread(hash), |e| e.0 == hash && same(e.1)).map(|e| e.1)
    }

    fn heap_bytes(&self) -> usize {
        // 8 bytes and a control byte per place, of which 7 in 8 may be used.
        self.newest.capacity() * 9 * 8 / 7
    }
}

/// A whole hash from the half that is kept.
fn spread(half: u32) -> u64 {
    u64::from(half).wrapping_mul(0x9E37_79B9_7F4A_7C15)
}

/// A copy of the buffer that can be read in order.
pub(super) struct Mirror {
    memtable: Arc<Memtable>,
    rows: usize,
    events: usize,
    changes: usize,
}

/// A row as a transaction sees it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Found {
    Committed(RowId),
    Own(usize),
}

impl Found {
    /// Its id, provisional for an own row.
    pub(super) fn row_id(self) -> RowId {
        match self {
            Found::Committed(row) => row,
            Found::Own(ordinal) => PROVISIONAL_BASE + ordinal as RowId,
        }
    }

    pub(super) fn of(row: RowId) -> Found {
        match row.checked_sub(PROVISIONAL_BASE) {
            Some(ordinal) => Found::Own(ordinal as usize),
            None => Found::Committed(row),
        }
    }
}

/// A place in the life of a buffer.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct BufferMark {
    pub(super) rows: usize,
    events: usize,
    changes: usize,
    bytes: usize,
    counter_only: bool,
    /// Rows of [`Did::changed`].
    changed: u64,
}

impl Buffer {
    /// `private`: the table's schema where the transaction has changed it.
    pub(super) fn new(table: Table, private: Option<Arc<TableSchema>>) -> Buffer {
        let schema = private.unwrap_or_else(|| table.state.schema());
        let rows = Batch::new(schema.all_columns().map(|c| c.ty.physical()));
        Buffer {
            table,
            schema,
            rows,
            first: 0,
            spill: None,
            dead: RoaringTreemap::new(),
            marked: RoaringTreemap::new(),
            before: HashMap::new(),
            kept: RoaringTreemap::new(),
            blind: RoaringTreemap::new(),
            events: Vec::new(),
            changes: Vec::new(),
            change_bounds: Vec::new(),
            change_bytes: 0,
            first_event: 0,
            keys: Vec::new(),
            counter_only: true,
            bytes: 0,
            own: None,
            did: Did::default(),
            checks: None,
        }
    }

    /// The checks of the schema.
    pub(super) fn checks(&mut self) -> Result<Option<Arc<Checks>>> {
        if Arc::ptr_eq(&self.schema, &self.table.state.view_now().schema) {
            return self.table.state.checks(&self.schema);
        }
        let known = self.checks.as_ref().filter(|(schema, _)| Arc::ptr_eq(schema, &self.schema));
        if let Some((_, checks)) = known {
            return Ok(checks.clone());
        }
        let checks = match self.schema.checks.is_empty() {
            true => None,
            false => Some(Arc::new(Checks::of(&self.schema)?)),
        };
        self.checks = Some((Arc::clone(&self.schema), checks.clone()));
        Ok(checks)
    }

    /// Puts the rows into the form of the table's schema of the moment.
    pub(super) fn upgrade(&mut self) -> Result<()> {
        if self.table.state.view_now().schema.version == self.schema.version {
            return Ok(());
        }
        let schema = self.table.state.schema();
        if self.spill.is_some() {
            let text = format!(
                "table {} changed its schema, and the transaction has rows of it in files; run it \
                 again",
                schema.name
            );
            return Err(Error::new(ErrorKind::Conflict, text));
        }
        if self.changes.iter().any(|c| !changes::is_free(&schema, c.column)) {
            // What this transaction did to the column stands in no index.
            return Err(changes::no_longer_free(&schema));
        }
        let calculator = &self.table.shared.calculator;
        let rows = upgrade::rows(calculator, &self.schema, &schema, &self.rows)?;
        let counts = |row| !self.dead.contains((self.first + row) as u64);
        judge_again(calculator, &self.schema, &schema, &rows, &counts)?;
        self.rows = rows;
        self.schema = schema;
        self.keys.clear();
        self.own = None;
        Ok(())
    }

    /// The same in the middle of a statement, which has looked at the columns.
    ///
    /// # Errors
    /// They are others by now.
    pub(super) fn follow(&mut self) -> Result<()> {
        let now = self.table.state.schema();
        if now.columns != self.schema.columns {
            let text = format!(
                "columns of table {} changed in the middle of a statement; run the transaction again",
                now.name
            );
            return Err(Error::new(ErrorKind::Conflict, text));
        }
        self.upgrade()
    }

    /// Before the table has columns of another form: rows in memory are spilled, from where they come
    /// back in the old form where this is undone.
    pub(super) fn make_room_for(&mut self, schema: &TableSchema) -> Result<()> {
        let forms = |s: &TableSchema| s.all_columns().map(|c| (c.id, c.ty)).collect::<Vec<_>>();
        if self.rows.rows > 0 && forms(&self.schema) != forms(schema) {
            let shared = Arc::clone(&self.table.shared);
            self.spill(&shared)?;
        }
        Ok(())
    }

    /// Takes another schema of the table. Rows in memory have its columns, or there are none.
    pub(super) fn reform(&mut self, schema: Arc<TableSchema>) {
        if *self.schema == *schema {
            return;
        }
        if self.rows.rows == 0 {
            self.rows = Batch::new(schema.all_columns().map(|c| c.ty.physical()));
        }
        debug_assert_eq!(self.rows.columns.len(), schema.width());
        if let Some(spill) = &mut self.spill {
            spill.reform(Arc::clone(&schema));
        }
        self.schema = schema;
        self.keys.clear();
        self.own = None;
    }

    /// Whether nothing was changed.
    pub(super) fn is_untouched(&self) -> bool {
        self.end() == 0 && self.events_end() == 0 && self.changes.is_empty()
    }

    /// Whether rows of a table with blind writes are to die or to change.
    pub(super) fn is_judged_after_blind(&self) -> bool {
        self.schema.blind && !(self.marked.is_empty() && self.changes.is_empty())
    }

    /// One behind the last ordinal.
    pub(super) fn end(&self) -> usize {
        self.first + self.rows.rows
    }

    /// Refuses keys above the limit of rows in memory: an index may have come after them.
    pub(super) fn check_key_lengths(&self) -> Result<()> {
        let checked = unique::check_key_lengths(&self.schema, &self.rows);
        if checked.is_ok() || self.dead.is_empty() {
            return checked;
        }
        let mut alive = (0..self.rows.rows).filter(|row| self.is_alive(self.first + row));
        let columns = &self.rows.columns;
        alive.try_for_each(|row| unique::check_key_length(&self.schema, columns, row, usize::MAX))
    }

    /// Number of events so far.
    pub(super) fn events_end(&self) -> usize {
        self.first_event + self.events.len()
    }

    /// Whether this transaction marked a committed row.
    pub(super) fn has_marked(&self, row: RowId) -> bool {
        self.marked.contains(row)
    }

    /// Whether an own row is there and alive.
    pub(super) fn is_alive(&self, ordinal: usize) -> bool {
        ordinal < self.end() && !self.dead.contains(ordinal as u64)
    }

    /// Those of own rows in a range of ordinals that stand in the place of own rows, ascending.
    pub(super) fn heirs(&self, rows: Range<usize>) -> Vec<usize> {
        let mut heirs = Vec::new();
        // Successors come in the order of events: those of a statement are the last.
        for event in self.events.iter().rev() {
            let (Event::Died { successor, .. } | Event::Marked { successor, .. }) = *event;
            let Some(row) = successor.map(|row| row as usize) else { continue };
            if row < rows.start {
                break;
            }
            if rows.contains(&row) && matches!(event, Event::Died { .. }) {
                heirs.push(row);
            }
        }
        heirs.sort_unstable();
        heirs
    }

    /// The committed row in whose place an own row stands.
    pub(super) fn replaced(&mut self, ordinal: usize) -> Result<Option<RowId>> {
        let mut at = ordinal as u32;
        loop {
            let before = match (self.before.get(&at), &mut self.spill) {
                (Some(row), _) => Some(*row),
                (None, Some(spill)) => spill.row_before(at.into())?,
                (None, None) => None,
            };
            match before.map(Found::of) {
                Some(Found::Own(ordinal)) => at = ordinal as u32,
                Some(Found::Committed(row)) => return Ok(Some(row)),
                None => return Ok(None),
            }
        }
    }

    /// Memory in use.
    pub(super) fn heap_bytes(&self) -> usize {
        let events = self.events.len() * MARK_BYTES + self.first_event * SPILLED_MARK_BYTES;
        self.bytes
            + events
            + self.change_bytes
            + self.keys.iter().map(OwnKeys::heap_bytes).sum::<usize>()
            + self.own.as_ref().map_or(0, |own| own.memtable.heap_bytes())
    }

    pub(super) fn delete(&mut self, found: Found) {
        self.did.delete(1);
        self.end_row(found, None);
    }

    /// Replaces a row by own row `ordinal`; `keeps`: all unique keys are those of the row before.
    pub(super) fn succeed(&mut self, found: Found, ordinal: usize, keeps: bool) {
        let kept = match found {
            Found::Committed(_) => keeps,
            Found::Own(old) => keeps && self.kept.contains(old as u64),
        };
        if kept {
            self.kept.insert(ordinal as u64);
        }
        self.did.update(1);
        self.end_row(found, Some(ordinal as u32));
    }

    fn end_row(&mut self, found: Found, successor: Option<u32>) {
        if let Some(successor) = successor {
            self.before.insert(successor, found.row_id());
        }
        match found {
            Found::Committed(row) => {
                debug_assert!(row < PROVISIONAL_BASE);
                assert!(self.marked.insert(row), "a row is marked once (I1)");
                self.events.push(Event::Marked { row, successor });
            }
            Found::Own(ordinal) => {
                self.dead.insert(ordinal as u64);
                self.events.push(Event::Died { ordinal: ordinal as u32, successor });
            }
        }
    }

    /// Where the buffer is now.
    pub(super) fn mark(&self) -> BufferMark {
        BufferMark {
            rows: self.end(),
            events: self.events_end(),
            changes: self.changes.len(),
            bytes: self.bytes,
            counter_only: self.counter_only,
            changed: self.did.changed,
        }
    }

    /// Undoes what came after the mark.
    pub(super) fn rewind(&mut self, to: BufferMark) {
        self.undo(to);
        self.recall_rows(to);
    }

    /// The same except for spilled rows from after the mark that lie in one file with some from before it:
    /// of these [`Buffer::recall_rows`] reads back those that stay, in the schema of the mark.
    pub(super) fn undo(&mut self, to: BufferMark) {
        self.did.changed = to.changed;
        if to.events < self.first_event {
            self.recall_events(to.events);
        }
        for event in self.events.drain(to.events.saturating_sub(self.first_event)..) {
            let successor = match event {
                Event::Marked { row, successor } => {
                    self.marked.remove(row);
                    successor
                }
                Event::Died { ordinal, successor } => {
                    self.dead.remove(ordinal.into());
                    successor
                }
            };
            successor.map(|s| self.before.remove(&s));
        }
        self.cut_changes(to.changes);
        if to.rows < self.end() {
            self.rows.truncate(to.rows.saturating_sub(self.first));
            self.keys.clear();
            self.kept.remove_range(to.rows as u64..);
            self.blind.remove_range(to.rows as u64..);
        }
        if let Some(spill) = self.spill.as_mut().filter(|_| to.rows < self.first) {
            spill.cut(to.rows as RowId);
            self.first = spill.end() as usize;
        }
        self.bytes = match self.spill.is_some() {
            // Other rows may be in memory than at the mark.
            true => self.rows.heap_bytes(),
            false => to.bytes,
        };
        self.counter_only = to.counter_only;
        // Readers may still be on their way through the copy, so it is not cut but made anew.
        self.own = None;
    }

    /// The own live row with a whole key (key bytes) of a unique index.
    pub(super) fn own_row(&mut self, index: &IndexSchema, key: &[u8]) -> Result<Option<usize>> {
        self.own_row_before(index, key, self.rows.rows)
    }

    /// The same among the spilled rows and the first `end` in memory, which are not fewer than in an
    /// earlier question.
    pub(super) fn own_row_before(
        &mut self,
        index: &IndexSchema,
        key: &[u8],
        end: usize,
    ) -> Result<Option<usize>> {
        if let Some(row) = self.row_in_memory(index, key, end) {
            return Ok(Some(self.first + row).filter(|o| !self.dead.contains(*o as u64)));
        }
        self.spilled_row(index.id, key)
    }

    pub(super) fn row_in_memory(
        &mut self,
        index: &IndexSchema,
        key: &[u8],
        end: usize,
    ) -> Option<usize> {
        if end == 0 {
            return None;
        }
        let at = match self.keys.iter().position(|k| k.index == index.id) {
            Some(at) => at,
            None => {
                self.keys.push(OwnKeys { index: index.id, newest: HashTable::new(), rows: 0 });
                self.keys.len() - 1
            }
        };
        let keys = &mut self.keys[at];
        debug_assert!(keys.rows <= end);
        let def = key_def(&self.schema, index);
        let (positions, _) = index_positions(&self.schema, index);
        let columns: Vec<&Column> = positions.iter().map(|&p| &self.rows.columns[p]).collect();
        let has = |key: &[u8], row: u32| {
            let mut other = Vec::with_capacity(key.len());
            def.encode_row(&columns, row as usize, &mut other);
            other == key
        };
        let mut bytes = Vec::new();
        let filter = self.schema.filter_position(index).map(|p| &self.rows.columns[p]);
        for row in keys.rows..end {
            if derive::has_entry(filter, row) && !columns.iter().any(|c| c.is_null(row)) {
                bytes.clear();
                def.encode_row(&columns, row, &mut bytes);
                keys.note(&bytes, row as u32, |other| has(&bytes, other));
            }
        }
        keys.rows = end;
        keys.find(key, |row| has(key, row)).map(|row| row as usize)
    }

    /// Rows and marks so far, for a reader that needs them in order; `hidden` are rows, ascending, that
    /// own blind ones replace.
    pub(super) fn own_rows(&mut self, hidden: Vec<RowId>) -> Result<Option<Arc<OwnRows>>> {
        self.own_rows_until(hidden, None)
    }

    /// The same as they were at a mark, if one is given.
    pub(super) fn own_rows_until(
        &mut self,
        hidden: Vec<RowId>,
        until: Option<BufferMark>,
    ) -> Result<Option<Arc<OwnRows>>> {
        if self.is_untouched() {
            return Ok(None);
        }
        let files = self.spill.as_mut().map(Spill::version).transpose()?;
        let mirror = self.own.get_or_insert_with(|| {
            let first = PROVISIONAL_BASE + self.first as RowId;
            let memtable = self.table.state.new_memtable(&self.schema, first);
            Mirror { memtable, rows: 0, events: 0, changes: 0 }
        });
        if mirror.rows < self.rows.rows {
            let mut new = Batch::new(self.schema.all_columns().map(|c| c.ty.physical()));
            new.extend_range(&self.rows, mirror.rows..self.rows.rows);
            mirror.memtable.append(&new, 1);
            mirror.rows = self.rows.rows;
        }
        let before = self.first_event + mirror.events;
        let marks = self.events[mirror.events..].iter().zip(before as Csn + 1..);
        mirror.memtable.mark_all(marks.map(|(event, csn)| {
            let row = match *event {
                Event::Marked { row, .. } => row,
                Event::Died { ordinal, .. } => PROVISIONAL_BASE + RowId::from(ordinal),
            };
            Mark { row, csn, successor: None }
        }));
        mirror.events = self.events.len();
        let new = self.changes[mirror.changes..].iter().zip(mirror.changes as Csn + 1..);
        new.for_each(|(change, number)| {
            mirror.memtable.change_all(number, std::slice::from_ref(change), &|_, _| true);
        });
        mirror.changes = self.changes.len();
        let rows = self.first + mirror.rows;
        let events = self.first_event + mirror.events;
        let until = until.unwrap_or(BufferMark {
            rows,
            events,
            changes: mirror.changes,
            ..BufferMark::default()
        });
        Ok(Some(Arc::new(OwnRows {
            memtable: Arc::clone(&mirror.memtable),
            files,
            end: PROVISIONAL_BASE + rows.min(until.rows) as RowId,
            marks: events.min(until.events) as Csn,
            hidden,
            decides: !self.blind.is_empty(),
            changes: mirror.changes.min(until.changes) as Csn,
        })))
    }

    /// Leaves dead rows out and makes everything ready for the commit queue.
    pub(super) fn finish(mut self) -> Result<TableWrite> {
        debug_assert!(self.spill.is_none(), "files are adopted");
        let mut marks = self.marks();
        let keeps = |m: &PendingMark| m.successor.is_some_and(|s| self.kept.contains(s.into()));
        let keeps: Vec<bool> = marks.iter().map(keeps).collect();
        if !self.dead.is_empty() {
            self.compact(&mut marks);
        }
        let kept = marks.iter().zip(keeps).filter(|(_, keeps)| *keeps);
        let mut kept: Vec<(u32, RowId)> =
            kept.filter_map(|(m, _)| Some((m.successor?, m.row))).collect();
        kept.sort_unstable();
        let counter = self.schema.serial().filter(|_| self.counter_only);
        unique::check_key_lengths(&self.schema, &self.rows)?;
        let unique = match self.blind.is_empty() {
            true => unique::claims(&self.schema, &self.rows, counter)?,
            false => unique::blind_claims(&self.schema, &self.rows, &self.blind)?,
        };
        // What is left of the dead ones.
        let gone = self.dead.iter().map(|ordinal| ordinal as u32).collect();
        Ok(TableWrite {
            changes: self.joined_changes(),
            state: Arc::clone(&self.table.state),
            schema: self.schema,
            rows: self.rows,
            marks,
            unmarked_at: None,
            kept,
            unique,
            blind: self.blind,
            gone,
        })
    }

    /// Marks on committed rows, ascending, with the successors that live.
    fn marks(&self) -> Vec<PendingMark> {
        let mut heirs = HashMap::new();
        heirs.extend(self.events.iter().filter_map(|event| match *event {
            Event::Died { ordinal, successor } => Some((ordinal, successor)),
            Event::Marked { .. } => None,
        }));
        let living = |mut successor: Option<u32>| {
            while let Some(heir) = successor.and_then(|s| heirs.get(&s)) {
                successor = *heir;
            }
            successor
        };
        let mark = |event: &Event| match *event {
            Event::Marked { row, successor } => {
                Some(PendingMark { row, successor: living(successor) })
            }
            Event::Died { .. } => None,
        };
        let mut marks: Vec<PendingMark> = self.events.iter().filter_map(mark).collect();
        marks.sort_unstable_by_key(|m| m.row);
        marks
    }

    fn compact(&mut self, marks: &mut [PendingMark]) {
        let mut rows = Batch::new(self.schema.all_columns().map(|c| c.ty.physical()));
        let mut moved: HashMap<usize, usize> = HashMap::new();
        // Blind rows stay, dead or not: the table may have others with their keys.
        let stays = |o: u64| !self.dead.contains(o) || self.blind.contains(o);
        for old in (0..self.rows.rows).filter(|&o| stays(o as u64)) {
            moved.insert(old, rows.rows);
            rows.extend_range(&self.rows, old..old + 1);
        }
        let place = |o: u64| moved.get(&(o as usize)).map(|&at| at as u64);
        let blind = self.blind.iter().filter_map(place).collect();
        let gone = self.dead.iter().filter_map(place).collect();
        (self.blind, self.dead) = (blind, gone);
        for mark in marks {
            mark.successor = mark.successor.map(|s| moved[&(s as usize)] as u32);
            debug_assert!(mark.row < PROVISIONAL_BASE);
        }
        self.rows = rows;
    }
}
