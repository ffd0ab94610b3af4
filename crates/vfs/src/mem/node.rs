//! What of one file survives?
//!
//! A file is its live bytes and its durable ones; which sectors differ is remembered, so that a sync
//! costs what was written since the last one. A sector that was written several times since keeps what
//! it was in between, too: the disk may have taken an earlier write and not the last one. Safe to share:
//! one lock per file.

use std::collections::{BTreeMap, BTreeSet};

use onlap_base::Rng;
use parking_lot::Mutex;

/// The smallest piece that a disk writes as a whole.
const SECTOR: u64 = 512;

/// A page, the piece in which the kernel writes back.
const PAGE: u64 = 4096;

/// Earlier contents of a sector that are remembered until the next sync.
const STALE: usize = 2;

/// How much of what was not synced survives.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Survival {
    /// The chance of each piece.
    pub share: f64,
    /// How large pieces are.
    pub grain: Grain,
}

/// The pieces in which bytes survive.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Grain {
    /// Of 512 bytes.
    Sector,
    /// Of 4096 bytes.
    Page,
    /// One or the other, file by file.
    Either,
}

/// The content behind a name.
#[derive(Debug, Default)]
pub(super) struct Node(Mutex<Content>);

#[derive(Debug, Default)]
struct Content {
    live: Vec<u8>,
    durable: Vec<u8>,
    /// Sectors that may differ between the two, by number, with what they were in between.
    changed: BTreeMap<u64, Vec<Vec<u8>>>,
}

impl Node {
    pub(super) fn len(&self) -> u64 {
        self.0.lock().live.len() as u64
    }

    /// The bytes from `offset`, fewer than `len` where the file ends.
    pub(super) fn read(&self, offset: u64, len: usize) -> Vec<u8> {
        let content = self.0.lock();
        let from = usize::try_from(offset).unwrap_or(usize::MAX).min(content.live.len());
        let to = from.saturating_add(len).min(content.live.len());
        content.live[from..to].to_vec()
    }

    pub(super) fn write(&self, bytes: &[u8], offset: u64) {
        let mut content = self.0.lock();
        let end = offset + bytes.len() as u64;
        if end > content.live.len() as u64 {
            content.resize(end);
        }
        content.remember(offset, end);
        content.live[offset as usize..end as usize].copy_from_slice(bytes);
        content.mark(offset, end);
    }

    pub(super) fn set_len(&self, len: u64) {
        self.0.lock().resize(len);
    }

    pub(super) fn sync(&self) {
        let mut content = self.0.lock();
        let Content { live, durable, changed } = &mut *content;
        durable.resize(live.len(), 0);
        for (sector, _) in std::mem::take(changed) {
            copy_sectors(live, durable, sector, 1);
        }
    }

    /// A sync failed: the kernel takes the sectors for written, though the disk never got them.
    pub(super) fn forget_changes(&self) {
        self.0.lock().changed.clear();
    }

    /// The file after power loss.
    pub(super) fn crash(&self, rng: &mut Rng, survival: Survival) -> Node {
        let content = self.0.lock();
        let mut after = content.durable.clone();
        // The length is the old one, the new one, or what an append had reached in between.
        if rng.chance(survival.share) {
            let (old, new) = (content.durable.len(), content.live.len());
            let len =
                if new > old && rng.chance(0.5) { old + rng.index(new - old + 1) } else { new };
            after.resize(len, 0);
        }
        let whole_pages = match survival.grain {
            Grain::Sector => false,
            Grain::Page => true,
            Grain::Either => rng.chance(0.5),
        };
        let sectors_of_piece = if whole_pages { PAGE / SECTOR } else { 1 };
        let pieces: BTreeSet<u64> = content.changed.keys().map(|s| s / sectors_of_piece).collect();
        for piece in pieces {
            if rng.chance(survival.share) {
                let first = piece * sectors_of_piece;
                copy_sectors(&content.live, &mut after, first, sectors_of_piece);
                if survival.share < 1.0 {
                    content.lay_stale(rng, &mut after, first..first + sectors_of_piece);
                }
            }
        }
        let changed = BTreeMap::new();
        Node(Mutex::new(Content { live: after.clone(), durable: after, changed }))
    }
}

impl Content {
    fn resize(&mut self, len: u64) {
        let old = self.live.len() as u64;
        self.live.resize(len as usize, 0);
        self.mark(old.min(len), old.max(len));
    }

    fn mark(&mut self, from: u64, to: u64) {
        if from < to {
            for sector in from / SECTOR..to.div_ceil(SECTOR) {
                self.changed.entry(sector).or_default();
            }
        }
    }

    /// Keeps what sectors are before they are written again.
    fn remember(&mut self, from: u64, to: u64) {
        let Content { live, changed, .. } = self;
        for (sector, before) in changed.range_mut(from / SECTOR..to.div_ceil(SECTOR)) {
            if before.len() < STALE {
                let start = ((sector * SECTOR) as usize).min(live.len());
                let end = (start + SECTOR as usize).min(live.len());
                before.push(live[start..end].to_vec());
            }
        }
    }

    /// Puts some of these sectors back to what they were between two writes.
    fn lay_stale(&self, rng: &mut Rng, after: &mut [u8], sectors: std::ops::Range<u64>) {
        for (sector, before) in self.changed.range(sectors) {
            if !before.is_empty() && rng.chance(0.25) {
                let stale = rng.pick(before);
                let start = ((sector * SECTOR) as usize).min(after.len());
                let end = (start + stale.len()).min(after.len());
                after[start..end].copy_from_slice(&stale[..end - start]);
            }
        }
    }
}

/// Copies `count` sectors from the one numbered `first`, as far as both sides reach.
fn copy_sectors(from: &[u8], to: &mut [u8], first: u64, count: u64) {
    let both = from.len().min(to.len());
    let start = ((first * SECTOR) as usize).min(both);
    let end = (((first + count) * SECTOR) as usize).min(both);
    to[start..end].copy_from_slice(&from[start..end]);
}
