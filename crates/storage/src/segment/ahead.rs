//! How do the blocks of a scan get into memory, many at a time and before they are asked for?
//!
//! Neighbouring blocks make a span, which is read at once. A task reads a span, checks, unpacks and
//! decodes ([`super::decoded`]) its blocks and leaves them for the scan, so that the device, this
//! work and the scan's own go on side by side. Blocks that are in the cache are not read, only
//! decoded. Tasks are few and short: a scan that is dropped leaves at most [`AHEAD_SPANS`] of
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

use super::decoded::{DecodeAhead, Decoded};
use super::{BlockRef, Segment};

/// Bytes of a span at most: a millisecond of a fast device, so that starting the task that reads it
/// is a small part of it.
pub(super) const SPAN_BYTES: usize = 1 << 20;

/// Spans under way: while the blocks of some are unpacked, the device works on the others. With the
/// current span a scan holds 5 MiB at most.
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

/// A block in memory, and its rows where a task has decoded them.
pub(super) struct Ready {
    pub(super) block: BlockRef,
    pub(super) decoded: Option<Decoded>,
}

impl Ready {
    /// A block that is still to be decoded.
    pub(super) fn plain(block: BlockRef) -> Ready {
        Ready { block, decoded: None }
    }
}

/// The blocks of a span in memory, each until it is taken.
#[derive(Default)]
pub(super) struct Span {
    first: usize,
    blocks: Vec<Option<Result<Ready>>>,
    _charge: Option<Charge>,
}

impl Span {
    /// A span of which block `number` was taken.
    pub(super) fn taken(number: usize) -> Span {
        Span { first: number, blocks: vec![None], _charge: None }
    }

    /// Reads the span; without room in the budget no more of it than block `first`.
    pub(super) fn read(segment: &Segment, plan: SpanPlan, first: usize) -> Result<Span> {
        let block = SpanPlan::of_block(segment, first);
        let charge = if plan.blocks == block.blocks { None } else { plan.try_charge(segment) };
        let plan = if charge.is_some() { plan } else { block };
        let bytes = segment.file.read(plan.offset, plan.bytes)?;
        let ready = |i| Some(unpack(segment, &plan, &bytes, i).map(Ready::plain));
        let blocks = plan.blocks.clone().map(ready).collect();
        Ok(Span { first: plan.blocks.start, blocks, _charge: charge })
    }

    /// The work of a task; gives up, and gives what it has by then, where it is not wanted any more
    /// or the budget has no room.
    fn prepare(
        segment: &Segment,
        plan: &SpanPlan,
        mut charge: Option<Charge>,
        decode: Option<&Arc<DecodeAhead>>,
        wanted: impl Fn() -> bool,
    ) -> Result<Span> {
        let numbers = || plan.blocks.clone().take_while(|_| wanted());
        let decoded = |number: usize, block: BlockRef| {
            let decoded = decode.and_then(|decode| decode.decode(segment, number, &block));
            Some(Ok(Ready { block, decoded }))
        };
        let mut blocks = Vec::with_capacity(plan.blocks.len());
        let cached: Option<Vec<BlockRef>> = numbers().map(|i| segment.cached(i)).collect();
        if let Some(cached) = cached {
            cached.iter().for_each(|_| segment.file.asked().hit());
            blocks.extend(numbers().zip(cached).map(|(i, block)| decoded(i, block)));
        } else {
            charge = charge.or_else(|| plan.try_charge(segment));
            if charge.is_some() && wanted() {
                let bytes = segment.file.read(plan.offset, plan.bytes)?;
                blocks.extend(numbers().map(|i| match unpack(segment, plan, &bytes, i) {
                    Ok(block) => decoded(i, block),
                    Err(e) => Some(Err(e)),
                }));
            }
        }
        Ok(Span { first: plan.blocks.start, blocks, _charge: charge })
    }

    /// Takes a block, if it is here.
    pub(super) fn take(&mut self, number: usize) -> Option<Result<Ready>> {
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
    /// Starts on a span whose first block is `cached` or not, if the budget has room for it.
    pub(super) fn start(
        segment: &Arc<Segment>,
        plan: SpanPlan,
        cached: bool,
        decode: Option<&Arc<DecodeAhead>>,
    ) -> Option<Coming> {
        // What is in the cache has its charge there.
        let charge = if cached { None } else { Some(plan.try_charge(segment)?) };
        let slot = Arc::new(Mutex::new(None));
        let numbers = plan.blocks.clone();
        let (of, to, decode) = (segment.clone(), slot.clone(), decode.cloned());
        let body = Box::new(move || {
            let wanted = || Arc::strong_count(&to) > 1;
            let span = Span::prepare(&of, &plan, charge, decode.as_ref(), wanted);
            *to.lock() = Some(span);
        });
        let task = segment.file.context().tasks.try_spawn("read-ahead", body)?;
        Some(Coming { numbers, slot, task })
    }

    /// Numbers of its blocks.
    pub(super) fn numbers(&self) -> Range<usize> {
        self.numbers.clone()
    }

    /// Whether the task has left the span.
    pub(super) fn is_there(&self) -> bool {
        self.slot.lock().is_some()
    }

    /// Waits until the span is there. A task that panicked leaves nothing.
    pub(super) fn wait(self) -> Result<Span> {
        // Whatever the outcome, the slot tells.
        let _ = self.task.join();
        let found = self.slot.lock().take();
        found.unwrap_or_else(|| Ok(Span::default()))
    }
}

impl Segment {
    /// Block `number`, if it is in the cache.
    pub(super) fn cached(&self, number: usize) -> Option<BlockRef> {
        self.file.context().cache.get(self.file.cache_id(), self.footer.blocks[number].offset)
    }
}

/// Block `number` of a span that was read: the one in the cache, if there is one.
fn unpack(segment: &Segment, plan: &SpanPlan, bytes: &ReadBuf, number: usize) -> Result<BlockRef> {
    if let Some(block) = segment.cached(number) {
        segment.file.asked().hit();
        return Ok(block);
    }
    let (entry, file) = (&segment.footer.blocks[number], &segment.file);
    let from = (entry.offset - plan.offset) as usize;
    let bytes = &bytes[from..from + entry.len as usize];
    file.asked().read();
    let (block, heap) = segment.parse(number, bytes).map_err(|e| file.place(e, entry.offset))?;
    Ok(file.context().cache.insert_if_room(file.cache_id(), entry.offset, block, heap))
}
