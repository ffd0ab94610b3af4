//! How do the blocks of a scan get into memory, many at a time and before they are asked for?
//!
//! Neighbouring blocks make a span, which is read at once. A task reads a span, checks and unpacks
//! its blocks and leaves them for the scan, so that the device, this work and the scan's own go on
//! side by side. Tasks are few and short: a scan that is dropped leaves at most [`AHEAD_SPANS`] of
//! them, which notice at the next block and end. A failed read is reported when the scan comes to
//! the span, a damaged block when it comes to the block: read-ahead changes when bytes are looked at
//! and never what a scan gives.
//!
//! Memory (I7): a span is charged to [`Part::Background`] for as long as it is read or its blocks
//! wait; without room there, nothing is read ahead and the scan reads block by block.

use std::ops::Range;
use std::sync::Arc;

use onlap_base::{Charge, Part, Result, TaskHandle};
use onlap_vfs::ReadBuf;
use parking_lot::Mutex;

use super::{BlockRef, Segment};

/// Bytes of a span at most: a millisecond of a fast device, so that starting the task that reads it
/// is a small part of it.
pub(super) const SPAN_BYTES: usize = 1 << 20;

/// Spans under way: while the blocks of some are unpacked, the device works on the others. With the
/// span at hand a scan holds 5 MiB at most.
pub(super) const AHEAD_SPANS: usize = 4;

/// Neighbouring blocks, and where they lie in the file.
pub(super) struct SpanPlan {
    pub(super) blocks: Range<usize>,
    pub(super) offset: u64,
    pub(super) bytes: usize,
}

impl SpanPlan {
    /// One block.
    pub(super) fn of_block(segment: &Segment, number: usize) -> SpanPlan {
        let entry = &segment.footer.blocks[number];
        SpanPlan { blocks: number..number + 1, offset: entry.offset, bytes: entry.len as usize }
    }

    fn try_charge(&self, segment: &Segment) -> Option<Charge> {
        segment.file.context().memory.try_charge(Part::Background, self.bytes as u64)
    }
}

/// The blocks of a span in memory, each until it is taken.
#[derive(Default)]
pub(super) struct Span {
    first: usize,
    blocks: Vec<Option<Result<BlockRef>>>,
    _charge: Option<Charge>,
}

impl Span {
    /// Reads the span; without room in the budget no more of it than block `first`.
    pub(super) fn read(segment: &Segment, plan: SpanPlan, first: usize) -> Result<Span> {
        let block = SpanPlan::of_block(segment, first);
        if plan.blocks == block.blocks {
            return Self::read_while(segment, &block, None, || true);
        }
        let charge = plan.try_charge(segment);
        let plan = if charge.is_some() { plan } else { block };
        Self::read_while(segment, &plan, charge, || true)
    }

    /// Reads the span; gives up, and gives what it has by then, where it is not wanted any more.
    fn read_while(
        segment: &Segment,
        plan: &SpanPlan,
        charge: Option<Charge>,
        wanted: impl Fn() -> bool,
    ) -> Result<Span> {
        let mut span = Span { first: plan.blocks.start, blocks: Vec::new(), _charge: charge };
        if wanted() {
            let bytes = segment.file.read(plan.offset, plan.bytes)?;
            let blocks = plan.blocks.clone().take_while(|_| wanted());
            span.blocks.extend(blocks.map(|i| Some(unpack(segment, plan, &bytes, i))));
        }
        Ok(span)
    }

    /// Takes a block, if it is here.
    pub(super) fn take(&mut self, number: usize) -> Option<Result<BlockRef>> {
        self.blocks.get_mut(number.checked_sub(self.first)?)?.take()
    }

    /// Numbers of the blocks that are or were here.
    pub(super) fn numbers(&self) -> Range<usize> {
        self.first..self.first + self.blocks.len()
    }
}

/// A span that a task is reading.
pub(super) struct Coming {
    numbers: Range<usize>,
    /// Where the task leaves it; lives as long as either side.
    slot: Arc<Mutex<Option<Result<Span>>>>,
    task: TaskHandle,
}

impl Coming {
    /// Starts reading a span, if the budget has room for it.
    pub(super) fn start(segment: &Arc<Segment>, plan: SpanPlan) -> Option<Coming> {
        let charge = plan.try_charge(segment)?;
        let slot = Arc::new(Mutex::new(None));
        let numbers = plan.blocks.clone();
        let (of, to) = (segment.clone(), slot.clone());
        let body = Box::new(move || {
            let wanted = || Arc::strong_count(&to) > 1;
            let span = Span::read_while(&of, &plan, Some(charge), wanted);
            *to.lock() = Some(span);
        });
        let task = segment.file.context().tasks.spawn("read-ahead", body);
        Some(Coming { numbers, slot, task })
    }

    /// Numbers of its blocks.
    pub(super) fn numbers(&self) -> Range<usize> {
        self.numbers.clone()
    }

    /// Waits until the span is there. A task that panicked leaves nothing.
    pub(super) fn wait(self) -> Result<Span> {
        // Whatever the outcome, the slot tells.
        let _ = self.task.join();
        let found = self.slot.lock().take();
        found.unwrap_or_else(|| Ok(Span::default()))
    }
}

/// Block `number` of a span that was read: the one in the cache, if there is one.
fn unpack(segment: &Segment, plan: &SpanPlan, bytes: &ReadBuf, number: usize) -> Result<BlockRef> {
    let (entry, file) = (&segment.footer.blocks[number], &segment.file);
    let cache = &file.context().cache;
    if let Some(block) = cache.get(file.id(), entry.offset) {
        return Ok(block);
    }
    let from = (entry.offset - plan.offset) as usize;
    let bytes = &bytes[from..from + entry.len as usize];
    let (block, heap) = segment.parse(number, bytes).map_err(|e| file.place(e, entry.offset))?;
    Ok(cache.insert_if_room(file.id(), entry.offset, block, heap))
}
