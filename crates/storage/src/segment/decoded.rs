//! How do the tasks of a scan take decoding off its hands?
//!
//! A scan that says which columns it wants ([`DecodeAhead`]) gets blocks whose rows the read-ahead
//! has decoded already, and only exchanges buffers with them: the full ones for those that it is
//! done with, which go back to the tasks. The other blocks come as they are and the scan decodes
//! them itself. The share of the tasks grows a little each time when what they prepared was there
//! before the scan came to it, and is halved when the scan had to wait; so the work spreads over as
//! many cores as there are. (Tasks that decode everything finish at the same time and begin to read at
//! the same time: then either the device or the cores have nothing to do.) Where no buffer is free,
//! or the budget has no room for one, a task leaves a block to the scan, and so it does with one
//! that it cannot decode: the scan reports the damage.
//!
//! Memory (I7): at most [`BATCHES_MAX`] buffers per scan, each charged to [`Part::Background`] until
//! the scan and its tasks have ended.

use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

use onlap_base::{Charge, ColumnId, Memory, Part, Result};
use onlap_format::block::Block;
use onlap_format::{Batch, Physical};
use parking_lot::Mutex;

use super::Segment;
use super::blobs::Keep;

/// Decoded blocks that wait or are in use, at most. One of the usual 16 KiB becomes some 100 KiB.
const BATCHES_MAX: usize = 128;

/// Of this many blocks in a row tasks decode the first ones: from [`SHARE_MIN`] to all.
const SHARE_OF: usize = 32;
const SHARE_MIN: usize = 4;

/// A buffer that has grown larger than this, by large values, is not used again.
const BATCH_BYTES_MAX: usize = 1 << 20;

/// Which columns a scan wants, and the buffers that go round between it and its tasks.
pub struct DecodeAhead {
    columns: Vec<ColumnId>,
    forms: Vec<Physical>,
    buffers: Mutex<Buffers>,
    /// How many of [`SHARE_OF`] blocks tasks decode.
    share: AtomicUsize,
}

#[derive(Default)]
struct Buffers {
    free: Vec<Buffer>,
    /// Buffers that exist, free or not.
    count: usize,
}

struct Buffer {
    batch: Batch,
    charge: Charge,
}

/// The rows of a block, all of them; gives its buffer back when it is dropped.
pub(super) struct Decoded {
    /// `None` only while it is dropped.
    buffer: Option<Buffer>,
    home: Arc<DecodeAhead>,
}

impl DecodeAhead {
    /// For a scan of these columns.
    pub fn new(columns: &[(ColumnId, Physical)]) -> Arc<DecodeAhead> {
        let (columns, forms) = columns.iter().copied().unzip();
        let buffers = Mutex::default();
        let share = AtomicUsize::new(SHARE_OF / 4);
        Arc::new(DecodeAhead { columns, forms, buffers, share })
    }

    /// Whether there is anything to decode.
    pub(super) fn has_columns(&self) -> bool {
        !self.columns.is_empty()
    }

    /// The scan came to what a task prepares, and had to wait for it or not.
    pub(super) fn note(&self, waited: bool) {
        let share = self.share.load(Relaxed);
        let share = if waited { share / 2 } else { share + 1 };
        self.share.store(share.clamp(SHARE_MIN, SHARE_OF), Relaxed);
    }

    /// Decodes a block, if it is of the share that tasks take and there is room for its rows.
    pub(super) fn decode(
        self: &Arc<Self>,
        segment: &Segment,
        number: usize,
        block: &Block,
    ) -> Option<Decoded> {
        if number % SHARE_OF >= self.share.load(Relaxed) {
            return None;
        }
        // Long values take reads and memory of their own, which the scan takes one block at a time.
        let long = |id: &ColumnId| segment.footer.position(*id).and_then(|k| block.blobs(k));
        if self.columns.iter().any(|id| long(id).is_some()) {
            return None;
        }
        let memory = &segment.file.context().memory;
        let buffer = Some(self.buffer(memory)?);
        let mut decoded = Decoded { buffer, home: self.clone() };
        let Buffer { batch, charge } = decoded.buffer.as_mut()?;
        segment.append(number, block, 0..block.rows(), &self.columns, batch).ok()?;
        let bytes = batch.heap_bytes() as u64;
        if bytes > charge.bytes() {
            let Some(more) = memory.try_charge(Part::Background, bytes) else {
                *batch = self.empty();
                return None;
            };
            *charge = more;
        }
        Some(decoded)
    }

    fn empty(&self) -> Batch {
        Batch::new(self.forms.iter().copied())
    }

    fn buffer(&self, memory: &Arc<Memory>) -> Option<Buffer> {
        let mut buffers = self.buffers.lock();
        if let Some(buffer) = buffers.free.pop() {
            return Some(buffer);
        }
        // Half of the part is left to those who cannot do without.
        let room = memory.free(Part::Background) > memory.limit(Part::Background) / 2;
        if !room || buffers.count == BATCHES_MAX {
            return None;
        }
        buffers.count += 1;
        let charge = memory.charge(Part::Background, 0);
        Some(Buffer { batch: self.empty(), charge })
    }
}

impl Decoded {
    /// Appends rows `rows` to `out`; where that is all of them and `out` is empty, by exchange.
    pub(super) fn append(&mut self, rows: Range<usize>, out: &mut Batch) {
        let Some(Buffer { batch, .. }) = &mut self.buffer else { return };
        if out.rows == 0 && rows == (0..batch.rows) {
            std::mem::swap(batch, out);
        } else {
            out.extend_range(batch, rows);
        }
    }

    /// Appends the rows at these positions.
    pub(super) fn append_selected(&self, positions: &[u32], out: &mut Batch) {
        if let Some(Buffer { batch, .. }) = &self.buffer {
            out.extend_selected(batch, positions);
        }
    }
}

impl Drop for Decoded {
    fn drop(&mut self) {
        let Some(Buffer { mut batch, mut charge }) = self.buffer.take() else { return };
        batch.truncate(0);
        batch.columns.iter_mut().for_each(|c| c.nulls = None);
        if batch.heap_bytes() > BATCH_BYTES_MAX {
            batch = self.home.empty();
        }
        charge.resize(batch.heap_bytes() as u64);
        self.home.buffers.lock().free.push(Buffer { batch, charge });
    }
}

impl Segment {
    /// Appends rows `rows` of block `number`, columns `projection`; a column that the segment does
    /// not have reads as what it was added with.
    pub(super) fn append(
        &self,
        number: usize,
        block: &Block,
        rows: Range<usize>,
        projection: &[ColumnId],
        out: &mut Batch,
    ) -> Result<()> {
        for (id, to) in projection.iter().zip(&mut out.columns) {
            let Some(k) = self.footer.position(*id) else {
                self.append_missing(*id, rows.len(), to);
                continue;
            };
            if let Some(blobs) = block.blobs(k) {
                let all: Vec<u32> = rows.clone().map(|i| i as u32).collect();
                self.append_blobs(number, block, k, &blobs, &all, Keep::IfRoom, to)?;
                continue;
            }
            let appended = block.column(k).and_then(|view| view.append_to(rows.clone(), to));
            appended.map_err(|e| self.place(number, e))?;
        }
        out.rows += rows.len();
        Ok(())
    }
}
