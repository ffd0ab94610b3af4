//! How are values read that do not lie in their block?
//!
//! Blobs are read when their column is wanted, one frame after the other; frames that lie side by
//! side are read at once. A frame no larger than a block goes through the cache as blocks do. A larger
//! one is a single long value: it would cost the cache many blocks that are read again sooner, so it
//! is read each time.
//!
//! Memory (I7): what is read is charged to [`Part::Cache`] while it is in use: at most a span, or
//! one long value as it lies in the file and as it is.

use std::borrow::Cow;
use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;

use onlap_base::limits::BLOCK_BYTES;
use onlap_base::{Charge, Error, Part, Result};
use onlap_format::blob::{Blob, Blobs, FrameRef};
use onlap_format::block::Block;
use onlap_format::{BytesVec, Column, NullMask, Physical, Vector};
use onlap_vfs::ReadBuf;

use super::Segment;
use super::ahead::SPAN_BYTES;
use crate::cache::Loaded;

/// Which small frames stay in the cache.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Keep {
    /// All: a reader that fetches rows may come again.
    Always,
    /// Those that find room: scans leave the cache as it is.
    IfRoom,
}

/// The values of a frame in the cache.
type CachedFrame = Loaded<Box<[u8]>>;

/// Frames of one column of one block, in the order in which they are wanted.
struct Frames<'a> {
    segment: &'a Segment,
    /// The block, by number.
    number: usize,
    wanted: Vec<FrameRef>,
    keep: Keep,
    span: ReadBuf,
    span_at: u64,
    charge: Charge,
}

impl Segment {
    /// Appends the rows at these positions of a block's column that has blobs.
    pub(super) fn append_blobs(
        &self,
        number: usize,
        block: &Block,
        k: usize,
        blobs: &Blobs<'_>,
        positions: &[u32],
        keep: Keep,
        out: &mut Column,
    ) -> Result<()> {
        let mut inline = Column::new(Physical::Bytes);
        block.append_selected(k, positions, &mut inline).map_err(|e| self.place(number, e))?;
        let before = out.len();
        let (Vector::Bytes(short), Vector::Bytes(values)) = (&inline.data, &mut out.data) else {
            return Err(self.place(number, Error::damaged("blobs in a column of other values")));
        };
        let places: Vec<Option<Blob>> = positions.iter().map(|i| blobs.find(*i as usize)).collect();
        if let Err(e) = self.append_values(number, blobs, &places, short, keep, values) {
            values.truncate(before);
            return Err(e);
        }
        if inline.nulls.is_some() || out.nulls.is_some() {
            let mask = out.nulls.get_or_insert_with(|| NullMask::none(before));
            (0..positions.len()).for_each(|i| mask.push(inline.is_null(i)));
        }
        Ok(())
    }

    /// Appends the blobs at these places, and where there is none the short value.
    fn append_values(
        &self,
        number: usize,
        blobs: &Blobs<'_>,
        places: &[Option<Blob>],
        short: &BytesVec,
        keep: Keep,
        out: &mut BytesVec,
    ) -> Result<()> {
        let mut wanted: Vec<usize> = places.iter().flatten().map(|blob| blob.frame).collect();
        wanted.dedup();
        let mut frames = Frames {
            segment: self,
            number,
            wanted: wanted.iter().map(|frame| blobs.frame(*frame)).collect(),
            keep,
            span: ReadBuf::default(),
            span_at: 0,
            charge: self.file.context().memory.charge(Part::Cache, 0),
        };
        let mut at = 0;
        for (i, frame) in wanted.into_iter().enumerate() {
            frames.read(i, |bytes| {
                while let Some(place) = places.get(at) {
                    match place {
                        None => out.push(short.get(at)),
                        Some(blob) if blob.frame == frame => {
                            out.push(&bytes[blob.at..][..blob.len])
                        }
                        Some(_) => break,
                    }
                    at += 1;
                }
            })?;
        }
        (at..places.len()).for_each(|i| out.push(short.get(i)));
        Ok(())
    }
}

impl Frames<'_> {
    /// Hands on the values of the `i`-th wanted frame.
    fn read(&mut self, i: usize, values: impl FnOnce(&[u8])) -> Result<()> {
        let frame = self.wanted[i];
        if let Some(cached) = self.cached(&frame) {
            self.segment.file.asked().hit();
            values(&cached);
            return Ok(());
        }
        if !self.holds(&frame) {
            self.read_span(i)?;
        }
        let segment = self.segment;
        segment.file.asked().read();
        let from = (frame.offset - self.span_at) as usize;
        let bytes = &self.span[from..from + frame.len as usize];
        let opened = frame.open(bytes).map_err(|e| segment.file.place(e, frame.offset))?;
        if frame.values_len <= BLOCK_BYTES {
            let (cache, id) = (&segment.file.context().cache, segment.file.cache_id());
            let boxed = opened.into_owned().into_boxed_slice();
            let kept = match self.keep {
                Keep::Always => cache.insert(id, frame.offset, boxed, frame.values_len),
                Keep::IfRoom => cache.insert_if_room(id, frame.offset, boxed, frame.values_len),
            };
            segment.has_cached_blobs.store(true, Relaxed);
            values(&kept);
            return Ok(());
        }
        if let Cow::Owned(unpacked) = &opened {
            self.charge.resize((self.span.heap_bytes() + unpacked.capacity()) as u64);
        }
        values(&opened);
        Ok(())
    }

    fn cached(&self, frame: &FrameRef) -> Option<Arc<CachedFrame>> {
        let file = &self.segment.file;
        let may_be = frame.values_len <= BLOCK_BYTES;
        may_be.then(|| file.context().cache.get(file.cache_id(), frame.offset)).flatten()
    }

    fn holds(&self, frame: &FrameRef) -> bool {
        let end = self.span_at + self.span.len() as u64;
        frame.offset >= self.span_at && frame.offset + u64::from(frame.len) <= end
    }

    /// Reads the `i`-th wanted frame, and with it those wanted next that lie next to it.
    fn read_span(&mut self, i: usize) -> Result<()> {
        let end_of = |frame: &FrameRef| frame.offset + u64::from(frame.len);
        let first = &self.wanted[i];
        let limit = self.segment.footer_at;
        if first.offset > limit || end_of(first) > limit {
            let message = format!("a blob at {} lies outside of the file's part", first.offset);
            return Err(self.segment.place(self.number, Error::damaged(message)));
        }
        let (mut start, mut end) = (first.offset, end_of(first));
        for frame in &self.wanted[i + 1..] {
            let (from, to) = (start.min(frame.offset), end.max(end_of(frame)));
            let beside = frame.offset == end || end_of(frame) == start;
            let fits = to - from <= SPAN_BYTES as u64 && to <= limit;
            if !beside || !fits || self.cached(frame).is_some() {
                break;
            }
            (start, end) = (from, to);
        }
        // Let go of the old span first: there is never more than one.
        self.span = ReadBuf::default();
        self.charge.resize(end - start);
        self.span = self.segment.file.read(start, (end - start) as usize)?;
        self.charge.resize(self.span.heap_bytes() as u64);
        self.span_at = start;
        Ok(())
    }
}
