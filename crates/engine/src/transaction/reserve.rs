//! When is a unique key mine?
//!
//! A statement reserves the keys that it brings until the transaction ends: each by a lock of its own,
//! many together in bounded memory, or all at once where they rise above everything known. Then it looks for a row that has the key, in
//! the newest committed state and not in its snapshot. Such a row is no hindrance if this transaction
//! deletes it; if another one is about to, that one is waited for; otherwise the key is taken. Sources
//! whose keys end below are not looked into.
//!
//! The commit judges once more ([`crate::unique`]), for those that reserve nothing: single statements
//! that are committed at once.

use std::collections::HashSet;

use onlap_base::memory::Part;
use onlap_base::{Result, RowId, stop};
use onlap_format::{BytesVec, Column, IndexSchema};

use super::{STEPS, Transaction, may_wait, wait_context};
use crate::database::Table;
use crate::derive::has_entry;
use crate::index_build::NOT_YET;
use crate::locks::{LockWait, Locked, RowLock, Target};
use crate::options::Rule;
use crate::table::{index_positions, key_def};
use crate::unique;

/// What is known of a transaction's many keys takes at most this fraction of the memory of
/// transactions: the rows spill at three quarters.
const KEYS_SHARE: u64 = 3;

impl Transaction {
    /// Reserves the unique keys of own rows in memory from the `from`-th on.
    pub(super) fn reserve(&mut self, table: &Table, from: usize) -> Result<()> {
        if !self.shared.obeys(Rule::UniqueKeys) {
            return Ok(());
        }
        if !self.eager {
            // Others may have reserved what this one brings.
            if !table.state.locks.is_used() {
                return Ok(());
            }
            self.eager = true;
        }
        let schema = std::sync::Arc::clone(&self.buffer(table)?.schema);
        for index in schema.indexes.iter().filter(|i| i.unique) {
            self.reserve_in(table, index, from)?;
        }
        Ok(())
    }

    fn reserve_in(&mut self, table: &Table, index: &IndexSchema, from: usize) -> Result<()> {
        self.buffer(table)?;
        let at = self.tables.iter().position(|b| b.table.state.id == table.state.id);
        let buffer = &self.tables[at.expect("made above")];
        let to = buffer.rows.rows;
        let (positions, _) = index_positions(&buffer.schema, index);
        let serial = buffer.schema.serial();
        let counted = positions.len() == 1 && Some(positions[0]) == serial;
        if from == to || buffer.counter_only && counted && index.filter.is_none() {
            return Ok(());
        }
        let def = key_def(&buffer.schema, index);
        let columns: Vec<&Column> = positions.iter().map(|&p| &buffer.rows.columns[p]).collect();
        let rising = (from..to).len() == 1 || unique::rising_ints(&def, &columns, from..to);
        // Own blind rows reserved nothing, and may have the keys.
        let filter = buffer.schema.filter_position(index).map(|p| &buffer.rows.columns[p]);
        let rising = rising && buffer.blind.is_empty() && filter.is_none();
        if rising && index.since != NOT_YET && !columns.iter().any(|c| c.is_null(from)) {
            let (mut min, mut max) = (Vec::new(), Vec::new());
            def.encode_row(&columns, from, &mut min);
            def.encode_row(&columns, to - 1, &mut max);
            // Asked again behind the lock: who had it may have committed such a key in between.
            let is_above = || unique::is_above_all(&table.state, index.id, &min);
            if is_above()
                && self.locks.lock_interval(&table.state, index.id, &min, &max)
                && is_above()
            {
                return Ok(());
            }
        }
        let (mut keys, mut key, mut kept) = (BytesVec::default(), Vec::new(), HashSet::new());
        for row in from..to {
            if row % STEPS == 0 {
                stop::check()?;
            }
            let has_key = has_entry(filter, row) && !columns.iter().any(|c| c.is_null(row));
            if has_key && buffer.is_alive(buffer.first + row) {
                key.clear();
                def.encode_row(&columns, row, &mut key);
                if buffer.kept.contains((buffer.first + row) as u64) {
                    kept.insert(key.clone());
                }
                keys.push(&key);
            }
        }
        // Whoever reserves many does so in the same order.
        let mut order: Vec<u32> = (0..keys.len() as u32).collect();
        let get = |i: u32| keys.get(i as usize);
        order.sort_unstable_by(|&a, &b| get(a).cmp(get(b)));
        if let Some(pair) = order.windows(2).find(|pair| get(pair[0]) == get(pair[1])) {
            return Err(unique::duplicate(&self.buffer(table)?.schema, index, get(pair[0])));
        }
        // A lock on the row before keeps its key; one on the key as well would close a circle with those who
        // have the key and wait for the row.
        let mut brought = order.iter().map(|&i| get(i)).filter(|key| !kept.contains(*key));
        brought.try_for_each(|key| self.reserve_key(table, index, key, from))
    }

    /// Reserves a key of own rows in memory from the `from`-th on.
    fn reserve_key(
        &mut self,
        table: &Table,
        index: &IndexSchema,
        key: &[u8],
        from: usize,
    ) -> Result<()> {
        loop {
            self.lock_key(table, index, key)?;
            let buffer = self.buffer(table)?;
            if buffer.own_row_before(index, key, from)?.is_some() {
                return Err(unique::duplicate(&buffer.schema, index, key));
            }
            if buffer.has_ended(index, key, from) {
                return Ok(());
            }
            let Some(taken) = self.committed_with_key(table, index, key)? else { return Ok(()) };
            if table.state.locks.is_taken(taken, self.locks.id(), RowLock::KeyShare) {
                self.wait_for_row(table, taken)?;
                continue;
            }
            // Its end may have come between the two looks.
            if table.state.view_now().mark_of(taken)?.is_none() {
                return Err(unique::duplicate(&self.buffer(table)?.schema, index, key));
            }
        }
    }

    pub(super) fn lock_key(
        &mut self,
        table: &Table,
        index: &IndexSchema,
        key: &[u8],
    ) -> Result<Locked> {
        let shared = &self.shared;
        let go_on = may_wait(shared, &self.cancel);
        let context = wait_context(shared, &self.options, &go_on);
        // Next to others that are as large, and the rows themselves.
        let memory = &shared.storage.memory;
        let held = self.locks.heap_bytes() as u64;
        let room = held + memory.free(Part::Transactions) / 2;
        let room = room.min(memory.limit(Part::Transactions) / KEYS_SHARE) as usize;
        self.locks.reserve_key(&table.state, index.id, key, room, context)
    }

    /// Waits for a transaction that is about to delete a row. The lock on the key is kept, that on the row is
    /// not: the row is dead, or in the way for good.
    pub(super) fn wait_for_row(&mut self, table: &Table, row: RowId) -> Result<()> {
        self.wait_for_lock(table, row, RowLock::KeyShare)
    }

    /// Waits until a row could be locked in a mode.
    pub(super) fn wait_for_lock(&mut self, table: &Table, row: RowId, mode: RowLock) -> Result<()> {
        let shared = &self.shared;
        let go_on = may_wait(shared, &self.cancel);
        let context = wait_context(shared, &self.options, &go_on);
        let target = Target::Row(row);
        let held = self.locks.count_in(table.state.id);
        self.locks.lock(&table.state, target, mode, LockWait::Block, context)?;
        self.locks.give_back(&table.state, held, &shared.locks);
        Ok(())
    }
}
