//! How do figures of the past lie in files?
//!
//! A database notes every ten seconds what it did since the note before, and how it stood: a [`Sample`]. Samples lie one after
//! the other in files of a fixed number of slots of a fixed size, so that a slot is found by its number and a damaged one
//! costs itself alone. Nothing relies on them: a slot that cannot be read is a sample that is not there, and a file of a newer
//! version is left alone.
//!
//! | header, offset | bytes | what |
//! |---|---|---|
//! | 0 | 8 | `Onlapsmp` |
//! | 8 | 2 | format version |
//! | 10 | 2 | bytes of a slot |
//! | 12 | 4 | CRC-32C of the first 12 bytes |
//!
//! | slot, offset | bytes | what |
//! |---|---|---|
//! | 0 | 4 | CRC-32C of the rest of the slot |
//! | 4 | 4 | 1 for a sample, 2 for a gap: a slot that was lost in a crash and is given up |
//! | 8 | 8 each | the sample's [`VALUES`] numbers, in the order of [`Sample::values`]; of a gap, zeros |
//!
//! ```
//! use onlap_format::samples::{self, Sample, Slot};
//! let mut file = samples::header();
//! assert_eq!(file[..12], *b"Onlapsmp\x01\0\x20\x01");
//! let sample = Sample { at_us: 7, commits: 2, ..Sample::default() };
//! samples::put(&Slot::Sample(sample), &mut file);
//! assert_eq!(file.len(), samples::HEADER_BYTES + samples::SLOT_BYTES);
//! assert_eq!(file[20..32], [1, 0, 0, 0, 7, 0, 0, 0, 0, 0, 0, 0]);
//! assert_eq!(samples::check_header(&file)?, true);
//! assert_eq!(samples::slots(&file).collect::<Vec<_>>(), [Some(Slot::Sample(sample))]);
//! file[24] = 8;
//! assert_eq!(samples::slots(&file).collect::<Vec<_>>(), [None]);
//! # Ok::<(), onlap_base::Error>(())
//! ```

use onlap_base::limits::{SAMPLES_BYTES, SAMPLES_KEPT};
use onlap_base::{Error, Result};

/// The version that this release writes.
pub const VERSION: u16 = 1;
/// Bytes of the header.
pub const HEADER_BYTES: usize = 16;
/// Numbers of a sample.
pub const VALUES: usize = 35;
/// Bytes of a slot.
pub const SLOT_BYTES: usize = 8 + 8 * VALUES;
/// Slots of a file.
pub const SLOTS: usize = 2880;
/// Files that are kept: three full ones are a day at ten seconds, and one is being filled.
pub const FILES: usize = 4;

/// What writers can be held back for: as many as [`Sample::stalled_us`] has.
pub const STALLS: usize = 5;
/// Parts of the memory budget.
pub const PARTS: usize = 6;
/// Kinds of bytes on disk.
pub const DISK: usize = 5;

const MAGIC: [u8; 8] = *b"Onlapsmp";
const SAMPLE: u32 = 1;
const GAP: u32 = 2;

const _: () = assert!((FILES - 1) * SLOTS >= SAMPLES_KEPT, "full files have a day");
const _: () = assert!(FILES * (HEADER_BYTES + SLOTS * SLOT_BYTES) <= SAMPLES_BYTES as usize);
const _: () = assert!(SLOT_BYTES <= u16::MAX as usize);

/// What a database did in a span of time, and how it stood at its end. Bytes are bytes, times what their names say.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Sample {
    /// The end of the span, in microseconds since 1970, as the machine's clock had it.
    pub at_us: i64,
    /// How long the span was.
    pub span_us: u64,
    /// Commits in it.
    pub commits: u64,
    /// Rows that came in.
    pub rows: u64,
    /// Statements that ended well.
    pub statements: u64,
    /// Index entries that were read.
    pub entries_read: u64,
    /// Rows that were decoded.
    pub rows_read: u64,
    /// Blocks that they were in.
    pub blocks_read: u64,
    /// Bytes written to all files.
    pub written: u64,
    /// What half of the commits did not exceed; 0 without commits, as the two below.
    pub p50_ns: u64,
    /// What all but one in a hundred did not exceed.
    pub p99_ns: u64,
    /// The longest.
    pub longest_ns: u64,
    /// How long writers were held back, by reason.
    pub stalled_us: [u64; STALLS],
    /// How often.
    pub stalls: u64,
    /// What merges owed.
    pub merge_debt: u64,
    /// And might owe.
    pub merge_debt_limit: u64,
    /// What open snapshots kept.
    pub snapshot_debt: u64,
    /// What histories kept.
    pub history_debt: u64,
    /// Memory in use, by part.
    pub memory: [u64; PARTS],
    /// The whole budget.
    pub memory_limit: u64,
    /// Bytes on disk: rows, indexes, marks, the log, what is kept for deletes.
    pub disk: [u64; DISK],
    /// Bytes written since the database was created.
    pub written_ever: u64,
}

impl Sample {
    /// Its numbers, in the order in which they are written.
    pub fn values(&self) -> [u64; VALUES] {
        let mut values = [0; VALUES];
        let parts: [&[u64]; 7] = [
            &[
                self.at_us.cast_unsigned(),
                self.span_us,
                self.commits,
                self.rows,
                self.statements,
                self.entries_read,
                self.rows_read,
                self.blocks_read,
                self.written,
                self.p50_ns,
                self.p99_ns,
                self.longest_ns,
            ],
            &self.stalled_us,
            &[
                self.stalls,
                self.merge_debt,
                self.merge_debt_limit,
                self.snapshot_debt,
                self.history_debt,
            ],
            &self.memory,
            &[self.memory_limit],
            &self.disk,
            &[self.written_ever],
        ];
        let all = parts.into_iter().flatten().copied();
        values.iter_mut().zip(all).for_each(|(value, part)| *value = part);
        values
    }

    fn of(values: &[u64; VALUES]) -> Sample {
        let mut all = values.iter().copied();
        let mut next = || all.next().expect("there are as many as fields");
        Sample {
            at_us: next().cast_signed(),
            span_us: next(),
            commits: next(),
            rows: next(),
            statements: next(),
            entries_read: next(),
            rows_read: next(),
            blocks_read: next(),
            written: next(),
            p50_ns: next(),
            p99_ns: next(),
            longest_ns: next(),
            stalled_us: std::array::from_fn(|_| next()),
            stalls: next(),
            merge_debt: next(),
            merge_debt_limit: next(),
            snapshot_debt: next(),
            history_debt: next(),
            memory: std::array::from_fn(|_| next()),
            memory_limit: next(),
            disk: std::array::from_fn(|_| next()),
            written_ever: next(),
        }
    }
}

/// What a slot holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Slot {
    /// A sample.
    Sample(Sample),
    /// A sample was here and did not survive a crash.
    Gap,
}

/// The header of a file.
pub fn header() -> Vec<u8> {
    let mut header = MAGIC.to_vec();
    header.extend_from_slice(&VERSION.to_le_bytes());
    header.extend_from_slice(&(SLOT_BYTES as u16).to_le_bytes());
    let sum = crc32c::crc32c(&header);
    header.extend_from_slice(&sum.to_le_bytes());
    header
}

/// Whether a file that begins like this is one that this release reads; false for one of a newer release.
///
/// # Errors
/// It is damaged.
pub fn check_header(bytes: &[u8]) -> Result<bool> {
    let bad = |what: &str| Err(Error::corruption("", 0, format!("a file of samples {what}")));
    let Some(header) = bytes.get(..HEADER_BYTES) else { return bad("without its header") };
    if header[..8] != MAGIC {
        return bad("that does not begin as one");
    }
    if crc32c::crc32c(&header[..12]).to_le_bytes() != header[12..] {
        return bad("whose header is damaged");
    }
    let (version, slot) = (&header[8..10], &header[10..12]);
    let is_ours = version == VERSION.to_le_bytes() && slot == (SLOT_BYTES as u16).to_le_bytes();
    let newer = u16::from_le_bytes([version[0], version[1]]) > VERSION;
    match is_ours || newer {
        true => Ok(is_ours),
        false => bad("of an unknown form"),
    }
}

/// Where a slot begins in its file.
pub fn offset(slot: usize) -> u64 {
    (HEADER_BYTES + slot * SLOT_BYTES) as u64
}

/// Appends a slot.
pub fn put(slot: &Slot, out: &mut Vec<u8>) {
    let start = out.len();
    let (kind, values) = match slot {
        Slot::Sample(sample) => (SAMPLE, sample.values()),
        Slot::Gap => (GAP, [0; VALUES]),
    };
    out.extend_from_slice(&[0; 4]);
    out.extend_from_slice(&kind.to_le_bytes());
    values.iter().for_each(|value| out.extend_from_slice(&value.to_le_bytes()));
    let sum = crc32c::crc32c(&out[start + 4..]);
    out[start..start + 4].copy_from_slice(&sum.to_le_bytes());
    assert_eq!(out.len() - start, SLOT_BYTES, "slots have one size");
}

/// The slots of a file whose header was checked: `None` for one that cannot be read. A part of a slot at the end is none.
pub fn slots(file: &[u8]) -> impl Iterator<Item = Option<Slot>> + '_ {
    let slots = file.get(HEADER_BYTES..).unwrap_or_default();
    slots.chunks_exact(SLOT_BYTES).take(SLOTS).map(slot)
}

fn slot(bytes: &[u8]) -> Option<Slot> {
    let (sum, rest) = bytes.split_at(4);
    if crc32c::crc32c(rest).to_le_bytes() != sum {
        return None;
    }
    let (kind, rest) = rest.split_at(4);
    match u32::from_le_bytes(kind.try_into().ok()?) {
        GAP => Some(Slot::Gap),
        SAMPLE => {
            let mut values = [0; VALUES];
            for (value, bytes) in values.iter_mut().zip(rest.chunks_exact(8)) {
                *value = u64::from_le_bytes(bytes.try_into().ok()?);
            }
            Some(Slot::Sample(Sample::of(&values)))
        }
        _ => None,
    }
}
