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

use onlap_base::memory::Part;
use onlap_base::{Result, RowId};
use onlap_format::{BytesVec, Column, IndexSchema};

use super::{Transaction, may_wait, wait_context};
use crate::database::Table;
use crate::index_build::NOT_YET;
use crate::locks::{LockWait, Locked, RowLock, Target};
use crate::options::Rule;
use crate::read::ReadCounters;
use crate::table::{index_positions, key_def};
use crate::unique;

/// What is known of a transaction's many keys takes no more than one part of so many of the memory of
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
        if from == to || buffer.counter_only && positions.len() == 1 && Some(positions[0]) == serial
        {
            return Ok(());
        }
        let def = key_def(&buffer.schema, index);
        let columns: Vec<&Column> = positions.iter().map(|&p| &buffer.rows.columns[p]).collect();
        let rising = (from..to).len() == 1 || unique::rising_ints(&def, &columns, from..to);
        // Own blind rows reserved nothing, and may have the keys.
        let rising = rising && buffer.blind.is_empty();
        if rising && index.since != NOT_YET && !columns.iter().any(|c| c.is_null(from)) {
            let (mut min, mut max) = (Vec::new(), Vec::new());
            def.encode_row(&columns, from, &mut min);
            def.encode_row(&columns, to - 1, &mut max);
            if unique::is_above_all(&table.state, index.id, &min)
                && self.locks.lock_interval(&table.state, index.id, &min, &max)
            {
                return Ok(());
            }
        }
        let (mut keys, mut key) = (BytesVec::default(), Vec::new());
        for row in from..to {
            if buffer.is_alive(buffer.first + row) && !columns.iter().any(|c| c.is_null(row)) {
                key.clear();
                def.encode_row(&columns, row, &mut key);
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
        order.iter().try_for_each(|&i| self.reserve_key(table, index, get(i), from))
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
            let taken = if index.since == NOT_YET {
                self.row_in_new_index(table, index.id, key)?
            } else {
                let mut cost = ReadCounters::default();
                let (view, probes) = (table.state.view(), &mut cost.filter_probes);
                let taken = unique::live_row(&view, index.id, key, RowId::MAX, probes);
                self.tally.add(&cost);
                taken?
            };
            let buffer = self.buffer(table)?;
            let Some(taken) = taken.filter(|r| !buffer.has_marked(*r)) else { return Ok(()) };
            let free_again = table.state.locks.is_taken(taken, self.locks.id(), RowLock::KeyShare)
                && self.wait_for_row(table, taken)? == Locked::Waited;
            if !free_again {
                return Err(unique::duplicate(&self.buffer(table)?.schema, index, key));
            }
        }
    }

    fn lock_key(&mut self, table: &Table, index: &IndexSchema, key: &[u8]) -> Result<Locked> {
        let shared = &self.shared;
        let go_on = may_wait(shared, &self.cancel);
        let context = wait_context(shared, &self.options, &go_on);
        // Beside others that are as large, and the rows themselves.
        let memory = &shared.storage.memory;
        let held = self.locks.heap_bytes() as u64;
        let room = held + memory.free(Part::Transactions) / 2;
        let room = room.min(memory.limit(Part::Transactions) / KEYS_SHARE) as usize;
        self.locks.reserve_key(&table.state, index.id, key, room, context)
    }

    /// Waits until nobody is about to delete a row.
    fn wait_for_row(&mut self, table: &Table, row: RowId) -> Result<Locked> {
        let shared = &self.shared;
        let go_on = may_wait(shared, &self.cancel);
        let context = wait_context(shared, &self.options, &go_on);
        let target = Target::Row(row);
        self.locks.lock(&table.state, target, RowLock::KeyShare, LockWait::Block, context)
    }
}
