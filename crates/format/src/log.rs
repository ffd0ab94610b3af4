//! How does a commit lie in the log?
//!
//! A log is a chain of files. Each begins with a header and goes on with records, back to back. A
//! file is preallocated, and may have been an older log file in its previous life, so that whatever
//! stands behind the last record is stale; nothing marks the end but a frame that does not check.
//!
//! # File header, [`HEADER_BYTES`] long
//! | offset | size | field |
//! |---|---|---|
//! | 0 | 8 | magic `ONLAPLOG` |
//! | 8 | 4 | format version |
//! | 12 | 4 | CRC-32C of bytes 16 to 64 |
//! | 16 | 8 | file number |
//! | 24 | 8 | end of the log before this file ([`LogPosition`]; 0: this file is the first) |
//! | 32 | 8 | position up to which the log was known durable when this file was begun |
//! | 40 | 8 | CSN of the last commit before this file |
//! | 48 | 8 | stamp of this file, a number that no other log file has; never 0 |
//! | 56 | 8 | stamp of the file before; 0 where that has none |
//!
//! Stamps tell a file from one of the same number that another database wrote, or an older copy of this one.
//! Versions 1 and 2 have none: their header ends with the CSN, after 48 bytes.
//!
//! # Record
//! | offset | size | field |
//! |---|---|---|
//! | 0 | 4 | CRC-32C of the record's own position (8 bytes) and of the frame from offset 4 on |
//! | 4 | 4 | length of the body |
//! | 8 | 4 | CRC-32C of the body |
//! | 12 | 1 | type: 1 commit, 2 relogged rows, 3 note, 4 commit with column changes |
//! | 13 | 1 | flags: bit 0, the group part is there |
//! | 14 | 2 | number of bases |
//! | 16 | 8 | CSN |
//! | 24 | 16 | group part: position up to which the log was durable when the group was written, and microseconds since 1970 |
//! | then | 12 each | bases: table id (4), id of the commit's first row in it (8) |
//! | then | | body |
//!
//! The client thread builds and checksums the body with relative ids ([`CommitBody`]); the leader,
//! in queue order, adds the frame, which is all that depends on the order of commits. The first
//! record of a group carries the group part, so a group is one write; the CSNs and times of the
//! group parts are the timeline.
//!
//! # Torn, or damaged?
//! A frame is bound to its position, file number included, so neither a stale record of the file's
//! previous life nor record bytes inside a user's value are ever taken for a record. The reader
//! stops at the first frame that does not check. That alone does not tell a torn tail from damage:
//! a valid record behind the hole does not either, since writes behind the last sync may land in any
//! order (in the modes `interval` and `os`, and of the group being synced). The rule is: if any
//! later valid record, the header of a later file, or the manifest, which names the newest file that was
//! begun ([`LogBegun`]), says that the log was durable beyond the hole, the bytes were lost after a successful sync, and that is corruption; otherwise the tail is cut
//! (I3). Simpler rules lost: "a valid later record means damage" refuses to open after ordinary
//! power loss, "cut at the first bad frame" silently drops acknowledged commits.
//!
//! After a recovery the log goes on in a *new* file whose header names the end of the log before it:
//! going on in the torn file could make stale frames behind the hole valid again.
//!
//! Pure functions on bytes; must not know of files, syncing or tables. Thread safety: plain data.

use onlap_base::{Csn, Error, ErrorKind, Result, RowId, TableId};

use crate::wire::Reader;

mod chain;
mod commit;
mod read;
mod relog;
mod replay;
mod rows;
#[cfg(test)]
mod tests;

pub use commit::{CommitBody, CommitTable, LoggedMark};
pub use read::{CommitRecord, CommitRecordTable, LogReader, Record, RecordBody};
pub use relog::{RelogBody, RelogMark, RelogTable};
pub use replay::{LogFile, ReplayEnd, Replayed, replay};

/// Version of the log's format; a newer one is refused. Version 1 has no column changes, version 2 no stamps.
pub const VERSION: u32 = 3;
/// Length of a log file's header; the first record follows.
pub const HEADER_BYTES: usize = 64;
/// The same in files without stamps.
const HEADER_BYTES_2: usize = 48;
/// Longest body of a record: a length of 4 bytes with room for alignment. A transaction whose body
/// would be longer spills into files instead.
pub const BODY_BYTES_MAX: usize = onlap_base::limits::LOG_RECORD_BYTES;
/// Longest log file: offsets take 32 bits of a [`LogPosition`].
pub const FILE_BYTES_MAX: u64 = u32::MAX as u64;

const MAGIC: &[u8; 8] = b"ONLAPLOG";
const FRAME_BYTES: usize = 24;
const GROUP_BYTES: usize = 16;
const BASE_BYTES: usize = 12;
const TYPE_COMMIT: u8 = 1;
const TYPE_RELOG: u8 = 2;
const TYPE_NOTE: u8 = 3;
const TYPE_CHANGES: u8 = 4;
const FLAG_GROUP: u8 = 1;

/// A place in the log: file number and offset, in the order of the log.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct LogPosition(u64);

impl LogPosition {
    /// Before every log file; file numbers begin with 1.
    pub const START: LogPosition = LogPosition(0);

    /// An offset of a file. File numbers below 2^32 are derived, not limited: at a file of 1 MiB
    /// per number they last for 4 PiB of log.
    pub fn new(file: u64, offset: u64) -> LogPosition {
        let file = u32::try_from(file).expect("log file numbers stay below 2^32");
        let offset = u32::try_from(offset).expect("log files stay below 4 GiB");
        LogPosition(u64::from(file) << 32 | u64::from(offset))
    }
    /// The file's number.
    pub fn file(self) -> u64 {
        self.0 >> 32
    }
    /// The offset in the file.
    pub fn offset(self) -> u64 {
        self.0 & u64::from(u32::MAX)
    }
    /// The position `bytes` further on in the same file.
    #[must_use]
    pub fn forward(self, bytes: usize) -> LogPosition {
        LogPosition::new(self.file(), self.offset() + bytes as u64)
    }
    /// As stored.
    pub fn raw(self) -> u64 {
        self.0
    }
}

/// The first bytes of a log file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FileHeader {
    /// The file's number; must be the one in its name.
    pub file: u64,
    /// Where the log ends before this file; files and records between are void.
    pub previous_end: LogPosition,
    /// Position up to which the log was durable when this file was begun.
    pub durable: LogPosition,
    /// CSN of the last commit before this file.
    pub csn: Csn,
    /// A number that no other log file has; 0 in files of versions without stamps.
    pub stamp: u64,
    /// The stamp of the file before; 0 where that has none.
    pub previous_stamp: u64,
}

/// What the manifest says of the newest log file that was begun.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LogBegun {
    /// Its number.
    pub file: u64,
    /// The stamp in its header.
    pub stamp: u64,
    /// Its length, which a log file has from the beginning.
    pub bytes: u64,
}

impl FileHeader {
    /// The header's length: the offset of the first record.
    pub fn bytes(&self) -> usize {
        if self.stamp == 0 { HEADER_BYTES_2 } else { HEADER_BYTES }
    }

    /// The header's bytes.
    ///
    /// ```
    /// use onlap_format::log::{FileHeader, LogPosition};
    /// let header = FileHeader {
    ///     file: 7,
    ///     previous_end: LogPosition::new(6, 4096),
    ///     durable: LogPosition::new(6, 4096),
    ///     csn: 300,
    ///     stamp: 0xABCD,
    ///     previous_stamp: 0x1234,
    /// };
    /// let bytes = header.encode();
    /// assert_eq!(&bytes[..12], b"ONLAPLOG\x03\0\0\0");
    /// assert_eq!(&bytes[16..32], [7, 0, 0, 0, 0, 0, 0, 0, 0, 16, 0, 0, 6, 0, 0, 0]);
    /// assert_eq!(&bytes[48..58], [0xCD, 0xAB, 0, 0, 0, 0, 0, 0, 0x34, 0x12]);
    /// assert_eq!(FileHeader::parse(7, &bytes).unwrap(), Some(header));
    /// // The same bytes in a recycled file of another number are the header of a previous life.
    /// assert_eq!(FileHeader::parse(8, &bytes).unwrap(), None);
    /// ```
    pub fn encode(&self) -> [u8; HEADER_BYTES] {
        assert!(self.stamp != 0, "a stamp of 0 says that there is none");
        let mut out = [0; HEADER_BYTES];
        out[..8].copy_from_slice(MAGIC);
        out[8..12].copy_from_slice(&VERSION.to_le_bytes());
        out[16..24].copy_from_slice(&self.file.to_le_bytes());
        out[24..32].copy_from_slice(&self.previous_end.0.to_le_bytes());
        out[32..40].copy_from_slice(&self.durable.0.to_le_bytes());
        out[40..48].copy_from_slice(&self.csn.to_le_bytes());
        out[48..56].copy_from_slice(&self.stamp.to_le_bytes());
        out[56..64].copy_from_slice(&self.previous_stamp.to_le_bytes());
        let crc = crc32c::crc32c(&out[16..]);
        out[12..16].copy_from_slice(&crc.to_le_bytes());
        out
    }

    /// The header of log file `file`. `None` when there is none: too short, zeros, torn, or of the
    /// file's previous life; a newer format is an error.
    pub fn parse(file: u64, bytes: &[u8]) -> Result<Option<FileHeader>> {
        if bytes.len() < HEADER_BYTES_2 || &bytes[..8] != MAGIC {
            return Ok(None);
        }
        let mut r = Reader::new(&bytes[8..]);
        let version = r.u32()?;
        if version > VERSION {
            return Err(Error::new(
                ErrorKind::NewerFormat,
                format!(
                    "log format {version} was written by a newer release; this one reads up to {VERSION}"
                ),
            ));
        }
        let stamped = version > 2;
        let len = if stamped { HEADER_BYTES } else { HEADER_BYTES_2 };
        let crc = r.u32()?;
        if bytes.len() < len || crc != crc32c::crc32c(&bytes[16..len]) || r.u64()? != file {
            return Ok(None);
        }
        let previous_end = LogPosition(r.u64()?);
        let durable = LogPosition(r.u64()?);
        let csn = r.u64()?;
        let (stamp, previous_stamp) = if stamped { (r.u64()?, r.u64()?) } else { (0, 0) };
        if stamped && stamp == 0 {
            return Ok(None);
        }
        Ok(Some(FileHeader { file, previous_end, durable, csn, stamp, previous_stamp }))
    }
}

/// What the first record of a group says of the log.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct GroupPart {
    /// Position up to which the log was durable when the group was written.
    pub durable: LogPosition,
    /// When the group was formed, in microseconds since 1970-01-01 UTC.
    pub unix_us: i64,
}

/// Everything of a frame but its checksums.
#[derive(Clone, Copy, Debug)]
struct Frame<'a> {
    kind: u8,
    csn: Csn,
    group: Option<GroupPart>,
    bases: &'a [(TableId, RowId)],
    body_crc: u32,
    body_len: usize,
}

/// Bytes of a record with this number of bases and of body bytes.
fn record_bytes(bases: usize, body: usize, group: bool) -> usize {
    FRAME_BYTES + if group { GROUP_BYTES } else { 0 } + bases * BASE_BYTES + body
}

/// Appends the frame that stands at position `at`; the body follows.
fn put_frame(out: &mut Vec<u8>, at: LogPosition, frame: &Frame<'_>) {
    assert!(frame.body_len <= BODY_BYTES_MAX, "a record's body has a limit that commits keep");
    let bases = u16::try_from(frame.bases.len()).expect("a record names less than 65536 tables");
    let start = out.len();
    out.extend_from_slice(&[0; 4]);
    out.extend_from_slice(&(frame.body_len as u32).to_le_bytes());
    out.extend_from_slice(&frame.body_crc.to_le_bytes());
    out.push(frame.kind);
    out.push(if frame.group.is_some() { FLAG_GROUP } else { 0 });
    out.extend_from_slice(&bases.to_le_bytes());
    out.extend_from_slice(&frame.csn.to_le_bytes());
    if let Some(group) = frame.group {
        out.extend_from_slice(&group.durable.0.to_le_bytes());
        out.extend_from_slice(&group.unix_us.to_le_bytes());
    }
    for (table, base) in frame.bases {
        out.extend_from_slice(&table.0.to_le_bytes());
        out.extend_from_slice(&base.to_le_bytes());
    }
    let crc = frame_crc(at, &out[start + 4..]);
    out[start..start + 4].copy_from_slice(&crc.to_le_bytes());
}

/// Checksum that binds a frame (without its first four bytes) to its position.
fn frame_crc(at: LogPosition, frame: &[u8]) -> u32 {
    crc32c::crc32c_append(crc32c::crc32c(&at.0.to_le_bytes()), frame)
}

/// Appends a note: a record without a body that tells how far the log is durable, written when the
/// log was synced and nothing follows soon (clean close, an idle interval).
pub fn put_note(out: &mut Vec<u8>, at: LogPosition, csn: Csn, group: GroupPart) {
    let frame = Frame {
        kind: TYPE_NOTE,
        csn,
        group: Some(group),
        bases: &[],
        body_crc: crc32c::crc32c(&[]),
        body_len: 0,
    };
    put_frame(out, at, &frame);
}
