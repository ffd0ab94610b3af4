//! How do finished files get their bytes to and from the disk?
//!
//! Every file of this crate is written once from front to back in spans, made durable, and from then on only read
//! (I5): both with direct I/O, because the block cache is the only cache, and because what goes through the page
//! cache comes to the device as one lump with the sync, behind which the log and readers wait. Spans are as long as
//! [`crate::pace`] says. This module must not know what the bytes mean.
//!
//! Thread safety: a [`FileReader`] is shared freely, a [`FileWriter`] belongs to one thread.

use std::path::PathBuf;
use std::sync::Arc;

use onlap_base::names::FileKind;
use onlap_base::{Charge, Error, ErrorKind, FileId, PROVISIONAL_BASE, Part, Result, RowId};
use onlap_format::frame::{HEADER_BYTES, Kind, TRAILER_BYTES, check_header, parse_trailer};
use onlap_vfs::{ALIGN, Access, AlignedBuf, File, ReadBuf};

use crate::asked::{Asked, BlocksAsked};
use crate::cache::Loaded;
use crate::context::StorageContext;
use crate::written::Purpose;

#[cfg(test)]
mod tests;

/// Most bytes per write call: a fast device takes them in a millisecond, and they are a negligible part of the memory
/// budget.
pub const WRITE_CHUNK_BYTES: usize = 1 << 20;
const _: () = assert!(WRITE_CHUNK_BYTES.is_multiple_of(ALIGN), "chunks but the last are aligned");

/// Bytes read at once where a reader walks a file in order.
pub const READ_AHEAD_BYTES: usize = 256 << 10;

/// Bytes read at the end of a file when it is opened, in the hope that the footer is among them.
const TAIL_BYTES: u64 = 16 << 10;

/// Writes one new file from front to back. Dropped before [`FileWriter::finish`], it removes what it
/// wrote.
pub struct FileWriter {
    context: Arc<StorageContext>,
    id: FileId,
    name: String,
    path: PathBuf,
    file: Arc<dyn File>,
    purpose: Purpose,
    buffer: AlignedBuf,
    flushed: u64,
    finished: bool,
    _charge: Charge,
}

impl FileWriter {
    /// Creates a file under a new id; `kind` is the variant of [`FileKind`] that takes it.
    pub fn create(
        context: &Arc<StorageContext>,
        kind: fn(FileId) -> FileKind,
        purpose: Purpose,
    ) -> Result<FileWriter> {
        let id = context.new_file_id();
        let name = kind(id).name();
        let path = context.dir.join(&name);
        let file = context.fs.create(&path, Access::WriteDirect)?;
        Ok(FileWriter {
            context: context.clone(),
            id,
            name,
            path,
            file,
            purpose,
            buffer: AlignedBuf::new(WRITE_CHUNK_BYTES),
            flushed: 0,
            finished: false,
            _charge: context.memory.charge(Part::Background, WRITE_CHUNK_BYTES as u64),
        })
    }

    /// The file's id.
    pub fn id(&self) -> FileId {
        self.id
    }

    /// The file's name.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// What this file shares with the others.
    pub fn context(&self) -> &Arc<StorageContext> {
        &self.context
    }

    /// Where the next byte goes; the length so far.
    pub fn offset(&self) -> u64 {
        self.flushed + self.buffer.len() as u64
    }

    /// Appends bytes.
    pub fn write(&mut self, mut bytes: &[u8]) -> Result<()> {
        while bytes.len() >= self.buffer.room() {
            let (now, later) = bytes.split_at(self.buffer.room());
            self.buffer.extend(now);
            bytes = later;
            self.flush()?;
        }
        self.buffer.extend(bytes);
        debug_assert!(self.buffer.len() < WRITE_CHUNK_BYTES, "a full buffer is written");
        Ok(())
    }

    fn flush(&mut self) -> Result<()> {
        assert!(!self.finished, "a finished file is never modified (I5)");
        let pace = self.context.pace();
        let mut at = 0;
        while at < self.buffer.len() {
            let span = pace.span_bytes(self.purpose);
            assert!(span > 0 && span.is_multiple_of(ALIGN), "spans but the last are aligned");
            let bytes = &self.buffer[at..self.buffer.len().min(at + span)];
            pace.begin(self.purpose);
            let written = self.file.write_at(bytes, self.flushed);
            pace.end(self.purpose, bytes.len() as u64);
            written?;
            self.context.written.add(self.purpose, bytes.len() as u64);
            self.flushed += bytes.len() as u64;
            at += bytes.len();
        }
        self.buffer.clear();
        Ok(())
    }

    /// Writes the rest and makes the bytes durable; returns id and length. The name becomes durable
    /// with [`StorageContext::sync_dir`].
    pub fn finish(mut self) -> Result<(FileId, u64)> {
        if !self.buffer.is_empty() {
            self.flush()?;
        }
        assert!(self.buffer.is_empty(), "every byte is in the file before it is synced");
        let pace = self.context.pace();
        pace.begin(self.purpose);
        let synced = self.file.sync_data();
        pace.end(self.purpose, 0);
        synced?;
        // The block cache is the only cache: what was just written must not fill the page cache.
        self.file.drop_cache();
        self.finished = true;
        Ok((self.id, self.flushed))
    }
}

impl Drop for FileWriter {
    fn drop(&mut self) {
        if !self.finished {
            // The file is not in the manifest; if it cannot be removed now, the next open does it.
            let _ = self.context.fs.remove(&self.path);
        }
    }
}

/// Reads a finished file.
pub struct FileReader {
    context: Arc<StorageContext>,
    id: FileId,
    cache_id: FileId,
    name: String,
    file: Arc<dyn File>,
    bytes: u64,
    /// Where blocks that are asked for are counted.
    asked: Arc<Asked>,
}

/// Set in the id under which blocks of an adopted file are cached, and of one that still belongs to
/// its transaction: cached blocks know their row ids, and a file is read with the one and then with
/// the other. Ids of files stay far below.
const ADOPTED_BIT: u64 = 1 << 62;
const PRIVATE_BIT: u64 = 1 << 63;
const _: () = assert!(ADOPTED_BIT & PRIVATE_BIT == 0);
const _: () = assert!(TAIL_BYTES as usize > HEADER_BYTES + TRAILER_BYTES, "a tail has the trailer");

impl FileReader {
    /// Opens a finished file.
    pub fn open(
        context: &Arc<StorageContext>,
        kind: fn(FileId) -> FileKind,
        id: FileId,
    ) -> Result<FileReader> {
        let name = kind(id).name();
        let path = context.dir.join(&name);
        let file = context.fs.open(&path, Access::ReadDirect).map_err(|e| match e.kind() {
            // The manifest names it.
            ErrorKind::NotFound => Error::corruption(&name, 0, "the file is missing"),
            _ => e,
        })?;
        let bytes = file.len()?;
        let (context, asked) = (context.clone(), Arc::default());
        Ok(FileReader { context, id, cache_id: id, name, file, bytes, asked })
    }

    /// A reader whose blocks are counted there.
    #[must_use]
    pub fn counted(mut self, asked: Arc<Asked>) -> FileReader {
        assert_eq!(self.asked.report(), BlocksAsked::default(), "a block is counted once");
        self.asked = asked;
        self
    }

    /// Where its blocks are counted.
    pub fn asked(&self) -> &Asked {
        &self.asked
    }

    /// A reader of a file whose row ids count from `base`.
    #[must_use]
    pub fn counting_from(mut self, base: RowId) -> FileReader {
        assert!(self.id.0 & (ADOPTED_BIT | PRIVATE_BIT) == 0, "ids of files stay below the bits");
        self.cache_id = match base {
            0 => self.id,
            PROVISIONAL_BASE.. => FileId(self.id.0 | PRIVATE_BIT),
            _ => FileId(self.id.0 | ADOPTED_BIT),
        };
        self
    }

    /// What this file shares with the others.
    pub fn context(&self) -> &Arc<StorageContext> {
        &self.context
    }

    /// The file's id.
    pub fn id(&self) -> FileId {
        self.id
    }

    /// What stands for the file in the block cache.
    pub fn cache_id(&self) -> FileId {
        self.cache_id
    }

    /// Bytes of the block cache that its blocks take now.
    pub fn cached_bytes(&self) -> u64 {
        self.context.cache.held(self.cache_id)
    }

    /// The file's name relative to the data directory.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The file's length.
    pub fn bytes(&self) -> u64 {
        self.bytes
    }

    /// Reads exactly `len` bytes. A range beyond the end is damage: only footers and headers name
    /// ranges.
    pub fn read(&self, offset: u64, len: usize) -> Result<ReadBuf> {
        match offset.checked_add(len as u64) {
            Some(end) if end <= self.bytes => self.file.read_at(offset, len),
            _ => Err(self.damaged(
                offset,
                format!("{len} bytes expected, but the file ends at {}", self.bytes),
            )),
        }
    }

    /// The block at an offset: from the cache, or read, parsed by `parse` and put there. `parse`
    /// also says what the block takes on the heap.
    #[inline]
    pub fn block<T: Send + Sync + 'static>(
        &self,
        offset: u64,
        len: usize,
        parse: impl FnOnce(&[u8]) -> Result<(T, usize)>,
    ) -> Result<Arc<Loaded<T>>> {
        match self.context.cache.get(self.cache_id, offset) {
            Some(block) => {
                self.asked.hit();
                Ok(block)
            }
            None => self.load(offset, len, parse),
        }
    }

    #[cold]
    fn load<T: Send + Sync + 'static>(
        &self,
        offset: u64,
        len: usize,
        parse: impl FnOnce(&[u8]) -> Result<(T, usize)>,
    ) -> Result<Arc<Loaded<T>>> {
        self.asked.read();
        let bytes = self.read(offset, len)?;
        let (block, heap) = parse(&bytes).map_err(|e| self.place(e, offset))?;
        Ok(self.context.cache.insert(self.cache_id, offset, block, heap))
    }

    /// Checks header and trailer of the file and reads its footer; returns it and its offset.
    pub fn footer(&self, kind: Kind, newest: u16) -> Result<(ReadBuf, u64)> {
        let smallest = (HEADER_BYTES + TRAILER_BYTES) as u64;
        if self.bytes < smallest {
            return Err(self.damaged(0, format!("a file of {} bytes", self.bytes)));
        }
        let version = check_header(kind, newest, &self.read(0, HEADER_BYTES)?)
            .map_err(|e| self.place(e, 0))?;
        // Most footers fit what one read of a page brings.
        let tail_bytes = self.bytes.min(TAIL_BYTES) as usize;
        let tail_at = self.bytes - tail_bytes as u64;
        let tail = self.read(tail_at, tail_bytes)?;
        let end = self.bytes - TRAILER_BYTES as u64;
        let trailer = parse_trailer(kind, &tail[tail_bytes - TRAILER_BYTES..])
            .and_then(|t| t.check_header(version).map(|()| t))
            .map_err(|e| self.place(e, end))?;
        if trailer.offset.checked_add(trailer.len) != Some(end) {
            return Err(self.damaged(end, "the trailer names a footer that is not before it"));
        }
        let footer = if trailer.offset >= tail_at {
            let from = (trailer.offset - tail_at) as usize;
            ReadBuf::from(tail[from..tail_bytes - TRAILER_BYTES].to_vec())
        } else {
            self.read(trailer.offset, trailer.len as usize)?
        };
        trailer.check(&footer).map_err(|e| self.place(e, 0))?;
        Ok((footer, trailer.offset))
    }

    /// Names this file in an error of a pure decoder that was given bytes from `offset`.
    pub fn place(&self, error: Error, offset: u64) -> Error {
        error.at(&self.name, offset)
    }

    /// Damage in this file.
    pub fn damaged(&self, offset: u64, message: impl Into<String>) -> Error {
        Error::corruption(self.name.clone(), offset, message)
    }
}

/// Holds one span of a file that was read at once, for readers that walk many blocks. What it reads
/// does not go through the cache.
pub struct SpanReader {
    file: Arc<FileReader>,
    at: u64,
    span: ReadBuf,
}

impl SpanReader {
    /// A reader that holds nothing yet.
    pub fn new(file: Arc<FileReader>) -> SpanReader {
        SpanReader { file, at: 0, span: ReadBuf::default() }
    }

    /// Whether the range is in memory.
    pub fn holds(&self, offset: u64, len: usize) -> bool {
        offset >= self.at && offset + len as u64 <= self.at + self.span.len() as u64
    }

    /// Replaces what is in memory by this range.
    pub fn read(&mut self, offset: u64, len: usize) -> Result<()> {
        // Let go of the old span first: there is never more than one per reader.
        self.span = ReadBuf::default();
        self.span = self.file.read(offset, len)?;
        self.at = offset;
        Ok(())
    }

    /// A range that [`SpanReader::holds`].
    pub fn get(&self, offset: u64, len: usize) -> &[u8] {
        assert!(self.holds(offset, len), "the range was read");
        let from = (offset - self.at) as usize;
        &self.span[from..from + len]
    }
}
