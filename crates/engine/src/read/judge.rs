//! Has a row that nobody marked been replaced?
//!
//! Of a table with many pending rows ([`crate::blind`]) a short walk over an index does not resolve them
//! all: it asks of each entry that it would hand out whether a newer row has its primary key, which
//! every index of such a table holds. Only what is newer than the resolved rows is asked, memtables and
//! the newest runs, and mostly their hashes and filters answer. A walk that has asked about many
//! entries resolves the rest after all, and asks no more.
//!
//! Thread safety: belongs to one walk.

use std::sync::Arc;

use onlap_base::{IndexId, PROVISIONAL_BASE, Result, RowId};
use onlap_format::key::KeyDef;
use onlap_format::{Column, IndexSchema};
use onlap_storage::EntryBatch;

use super::ReadView;
use super::bounds::{Covered, covered};
use super::snapshot::Registration;
use crate::blind;
use crate::table::{TableState, TableView, index_positions, key_def};

/// Pending rows up to which everybody resolves them, which takes some milliseconds; a quarter of the
/// limit where that is less.
const FEW: u64 = 1024;

/// Of so many pending rows, one entry is judged before the rest is resolved: it costs about as much as a
/// row that is resolved.
const JUDGED: u64 = 8;

/// A view of a table some of whose rows may be pending.
#[derive(Clone)]
pub(crate) struct Unresolved {
    pub state: Arc<TableState>,
    pub pin: Arc<Registration>,
    /// Rows below were resolved before the view was loaded.
    pub since: RowId,
}

impl Unresolved {
    /// The view of a table at a snapshot, and what is to be judged of it.
    pub(super) fn view(
        state: &Arc<TableState>,
        pin: &Arc<Registration>,
    ) -> Result<(ReadView, Option<Unresolved>)> {
        let since = state.pending.resolved();
        let view = ReadView::of_keys(state, pin)?;
        let pending = since < view.count;
        let (state, pin) = (Arc::clone(state), Arc::clone(pin));
        Ok((view, pending.then_some(Unresolved { state, pin, since })))
    }

    /// The same view when everything is resolved.
    pub(super) fn resolve(&self, view: &ReadView) -> Result<ReadView> {
        let (own, tally) = (view.own.clone(), view.tally.clone());
        Ok(ReadView { own, tally, ..ReadView::new(&self.state, &self.pin)? })
    }
}

/// Judges entries of one index.
pub(super) struct Judge {
    of: Unresolved,
    primary: IndexId,
    def: KeyDef,
    /// Where the columns of the primary key are among those of the entries.
    places: Vec<usize>,
    /// Entries that are still worth asking about.
    left: u64,
}

impl Judge {
    /// How entries are to be read that are judged, given where `columns` come from and whether the walk
    /// may be long: `None` where it is better to resolve everything, or the index does not tell the
    /// primary key.
    pub(super) fn new(
        of: &Unresolved,
        view: &TableView,
        index: &IndexSchema,
        columns: &[usize],
        long: bool,
    ) -> Option<(Judge, Covered)> {
        of.state.pending.note_reader(of.pin.shared());
        let pending = of.state.pending.rows();
        let few = FEW.min(blind::limit(of.pin.shared(), &of.state) / 4);
        let primary = view.schema.primary().filter(|_| pending > few && !long)?;
        let (positions, _) = index_positions(&view.schema, primary);
        let all: Vec<usize> = columns.iter().chain(&positions).copied().collect();
        let mut found = covered(&view.schema, index, &all)?;
        let places = found.places.split_off(columns.len());
        let def = key_def(&view.schema, primary);
        let judge =
            Judge { of: of.clone(), primary: primary.id, def, places, left: pending / JUDGED };
        Some((judge, found))
    }

    /// Takes from `picks`, places of entries that have no mark (all where it is `None`), those that
    /// were replaced.
    pub(super) fn pick(
        &mut self,
        view: &ReadView,
        entries: &EntryBatch,
        picks: &mut Vec<u32>,
        probes: &mut u64,
    ) -> Result<()> {
        let columns: Vec<&Column> =
            self.places.iter().map(|&place| &entries.columns.columns[place]).collect();
        let mut key = Vec::new();
        let mut kept = 0;
        for at in 0..picks.len() {
            let i = picks[at] as usize;
            let row = entries.row_ids[i];
            let mut stays = true;
            if row < PROVISIONAL_BASE {
                key.clear();
                self.def.encode_row(&columns, i, &mut key);
                let newer = self.of.since.max(row + 1)..view.count;
                stays = view.view.carrier(self.primary, &key, newer, probes)?.is_none();
            }
            picks[kept] = picks[at];
            kept += usize::from(stays);
        }
        self.left = self.left.saturating_sub(picks.len() as u64);
        picks.truncate(kept);
        Ok(())
    }

    /// The view to go on with, without a judge, once enough was asked.
    pub(super) fn end(&self, view: &ReadView) -> Result<Option<ReadView>> {
        if self.left > 0 { Ok(None) } else { self.of.resolve(view).map(Some) }
    }
}
