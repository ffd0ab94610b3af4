//! Which files make up the database, and how is a change of that set written down?
//!
//! The manifest is a file of edit records. The first record rebuilds a whole state, each further one
//! is one atomic change, its size proportional to the change. [`ManifestState::apply`] is the only
//! place where an edit means something; a snapshot is the list of edits that rebuilds the state, so
//! there is one codec.
//!
//! # File header, [`HEADER_BYTES`] long
//! | offset | size | field |
//! |---|---|---|
//! | 0 | 8 | magic `ONLAPMAN` |
//! | 8 | 4 | format version |
//! | 12 | 4 | CRC-32C of bytes 16 to 24 |
//! | 16 | 8 | number of the manifest file |
//!
//! # Record
//! | offset | size | field |
//! |---|---|---|
//! | 0 | 4 | CRC-32C of number and offset of the record (8 bytes each) and of bytes 4 to 12 |
//! | 4 | 4 | length of the body |
//! | 8 | 4 | CRC-32C of the body |
//! | 12 | | body: number of edits (varint), edits (see `codec`) |
//!
//! Every record is synced before the next is written, so a valid record behind a hole means damage,
//! and a hole without one is a torn tail, whose edit no client relied on (I3). Zeros behind the last
//! record are space allocated ahead.
//!
//! Must not know of files, syncing or open readers. Pure functions; thread safety: plain data.

use onlap_base::{Error, ErrorKind, Result};

use crate::wire::{self, Reader};

mod codec;
mod edit;
mod state;
#[cfg(test)]
mod tests;

pub use edit::{Adopted, Edit, MarkRunMeta, RunFileMeta, RunMeta, SegmentMeta, WrittenTotals};
pub use state::{IndexState, ManifestState, SequencePoint, SequenceState, TableState};

/// Version of the manifest's format; a newer one is refused. Version 2 does not say which log files were begun.
pub const VERSION: u32 = 3;
/// Length of the file's header; the first record follows.
pub const HEADER_BYTES: usize = 24;
/// Longest body of a record: a snapshot of 100,000 tables of 10 KB each.
pub const BODY_BYTES_MAX: usize = 1 << 30;

const MAGIC: &[u8; 8] = b"ONLAPMAN";
const FRAME_BYTES: usize = 12;

/// The first bytes of manifest file `number`.
///
/// ```
/// let bytes = onlap_format::manifest::encode_header(2);
/// assert_eq!(&bytes[..12], b"ONLAPMAN\x03\0\0\0");
/// assert_eq!(bytes[16], 2);
/// ```
pub fn encode_header(number: u64) -> [u8; HEADER_BYTES] {
    let mut out = [0; HEADER_BYTES];
    out[..8].copy_from_slice(MAGIC);
    out[8..12].copy_from_slice(&VERSION.to_le_bytes());
    out[16..].copy_from_slice(&number.to_le_bytes());
    let crc = crc32c::crc32c(&out[16..]);
    out[12..16].copy_from_slice(&crc.to_le_bytes());
    out
}

/// The record of some edits, to stand at `offset` of manifest file `number`.
///
/// ```
/// use onlap_format::manifest::{Edit, encode_record};
/// let record = encode_record(1, 24, &[Edit::LogOldest(300)]);
/// // The body: one edit, of kind 16, with the number 300.
/// assert_eq!(&record[12..], [1, 16, 0xAC, 0x02]);
/// ```
pub fn encode_record(number: u64, offset: u64, edits: &[Edit]) -> Vec<u8> {
    let mut out = vec![0; FRAME_BYTES];
    wire::put_varint(&mut out, edits.len() as u64);
    edits.iter().for_each(|e| codec::put_edit(&mut out, e));
    let len = out.len() - FRAME_BYTES;
    assert!(len <= BODY_BYTES_MAX, "limits on tables keep a manifest record below 1 GiB");
    let body_crc = crc32c::crc32c(&out[FRAME_BYTES..]);
    out[4..8].copy_from_slice(&(len as u32).to_le_bytes());
    out[8..12].copy_from_slice(&body_crc.to_le_bytes());
    let crc = frame_crc(number, offset, &out[4..FRAME_BYTES]);
    out[..4].copy_from_slice(&crc.to_le_bytes());
    out
}

fn frame_crc(number: u64, offset: u64, frame: &[u8]) -> u32 {
    let crc = crc32c::crc32c(&number.to_le_bytes());
    crc32c::crc32c_append(crc32c::crc32c_append(crc, &offset.to_le_bytes()), frame)
}

/// What a manifest file says.
#[derive(Clone, Debug, PartialEq)]
pub struct Loaded {
    /// The state after the last valid record.
    pub state: ManifestState,
    /// Offset behind the last valid record.
    pub end: u64,
    /// Offset behind the first record, the snapshot.
    pub snapshot_end: u64,
}

/// Reads the manifest file `number`, called `name` in errors.
pub fn load(name: &str, number: u64, bytes: &[u8]) -> Result<Loaded> {
    check_header(number, bytes).map_err(|e| e.at(name, 0))?;
    let mut state = ManifestState::default();
    let mut at = HEADER_BYTES;
    let mut snapshot_end = 0;
    while let Some(body) = body_at(number, at, bytes) {
        let start = (at + FRAME_BYTES) as u64;
        apply_body(&mut state, body).map_err(|e| e.at(name, start))?;
        at += FRAME_BYTES + body.len();
        if snapshot_end == 0 {
            snapshot_end = at as u64;
        }
    }
    let later = (at + 1..bytes.len()).any(|i| body_at(number, i, bytes).is_some());
    if snapshot_end == 0 || later {
        let text = "a manifest record does not match its checksum";
        return Err(Error::corruption(name, at as u64, text));
    }
    Ok(Loaded { state, end: at as u64, snapshot_end })
}

fn check_header(number: u64, bytes: &[u8]) -> Result<()> {
    let mut r = Reader::new(bytes);
    if r.take(8)? != MAGIC {
        return Err(Error::damaged("not a manifest"));
    }
    let version = r.u32()?;
    if version > VERSION {
        return Err(Error::new(
            ErrorKind::NewerFormat,
            format!(
                "manifest format {version} was written by a newer release; this one reads up to {VERSION}"
            ),
        ));
    }
    let crc = r.u32()?;
    if crc != crc32c::crc32c(&number.to_le_bytes()) || r.u64()? != number {
        return Err(r.error("the manifest's header does not match its checksum and number"));
    }
    Ok(())
}

/// The body of the record at `at`, if it checks.
fn body_at(number: u64, at: usize, bytes: &[u8]) -> Option<&[u8]> {
    let frame = bytes.get(at..at + FRAME_BYTES)?;
    let word = |i: usize| u32::from_le_bytes(frame[i..i + 4].try_into().expect("4 bytes"));
    // A body holds a count at least. Zeros allocated ahead must not be left to the checksums alone.
    if word(4) == 0 {
        return None;
    }
    let start = at + FRAME_BYTES;
    let body = bytes.get(start..start.checked_add(word(4) as usize)?)?;
    let whole =
        word(0) == frame_crc(number, at as u64, &frame[4..]) && word(8) == crc32c::crc32c(body);
    whole.then_some(body)
}

fn apply_body(state: &mut ManifestState, body: &[u8]) -> Result<()> {
    let mut r = Reader::new(body);
    let n = r.count(1)?;
    for _ in 0..n {
        let edit = codec::read_edit(&mut r)?;
        state.apply(&edit)?;
    }
    r.finish()
}
