//! How does what was done to tables survive a clean stop?
//!
//! While a database is open, counters of its tables and indexes are in memory alone. Its close writes them to one file, the next
//! open reads that and removes it: after a crash there is none, and counting begins anew. Nothing relies on them, so a file that
//! cannot be read is one that is not there.
//!
//! | header, offset | bytes | what |
//! |---|---|---|
//! | 0 | 8 | `Onlapact` |
//! | 8 | 2 | format version |
//! | 10 | 2 | bytes of a record |
//! | 12 | 4 | number of records |
//!
//! | record, offset | bytes | what |
//! |---|---|---|
//! | 0 | 4 | 1 for a table, 2 for an index |
//! | 4 | 4 | its id |
//! | 8 | 8 each | [`VALUES`] numbers, in the order of `crates/engine/src/activity.rs`; of an index its reads, its entries, its blocks that were in memory and those that were read, and zeros |
//!
//! Behind the records stands the CRC-32C of all that is before it, in 4 bytes.
//!
//! ```
//! use onlap_format::activity::{self, Of, Record, VALUES};
//! let mut values = [0; VALUES];
//! values[0] = 7;
//! let record = Record { of: Of::Table(onlap_base::TableId(3)), values };
//! let file = activity::encode(&[record]);
//! assert_eq!(file[..16], *b"Onlapact\x01\0\x90\0\x01\0\0\0");
//! assert_eq!(file[16..32], [1, 0, 0, 0, 3, 0, 0, 0, 7, 0, 0, 0, 0, 0, 0, 0]);
//! assert_eq!(file.len(), 16 + 144 + 4);
//! assert_eq!(activity::decode(&file)?, [record]);
//! # Ok::<(), onlap_base::Error>(())
//! ```

use onlap_base::{Error, IndexId, Result, TableId};

/// The version that this release writes.
pub const VERSION: u16 = 1;
/// Numbers of a record.
pub const VALUES: usize = 17;
/// Bytes of a record.
pub const RECORD_BYTES: usize = 8 + 8 * VALUES;

const MAGIC: [u8; 8] = *b"Onlapact";
const HEADER_BYTES: usize = 16;
const SUM_BYTES: usize = 4;
const TABLE: u32 = 1;
const INDEX: u32 = 2;

const _: () = assert!(RECORD_BYTES <= u16::MAX as usize);

/// What a record is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Of {
    /// A table.
    Table(TableId),
    /// An index.
    Index(IndexId),
}

/// The counters of a table or of an index.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Record {
    /// Whose they are.
    pub of: Of,
    /// They.
    pub values: [u64; VALUES],
}

/// The length in bytes of a file of this number of records.
pub fn file_bytes(records: usize) -> u64 {
    (HEADER_BYTES + records * RECORD_BYTES + SUM_BYTES) as u64
}

/// The bytes of a file.
///
/// # Panics
/// There are 2^32 records or more: ids have 32 bits.
pub fn encode(records: &[Record]) -> Vec<u8> {
    let count = u32::try_from(records.len()).expect("as many as tables and indexes");
    let mut out = Vec::with_capacity(HEADER_BYTES + records.len() * RECORD_BYTES + SUM_BYTES);
    out.extend_from_slice(&MAGIC);
    out.extend_from_slice(&VERSION.to_le_bytes());
    out.extend_from_slice(&(RECORD_BYTES as u16).to_le_bytes());
    out.extend_from_slice(&count.to_le_bytes());
    for record in records {
        let (kind, id) = match record.of {
            Of::Table(id) => (TABLE, id.0),
            Of::Index(id) => (INDEX, id.0),
        };
        out.extend_from_slice(&kind.to_le_bytes());
        out.extend_from_slice(&id.to_le_bytes());
        record.values.iter().for_each(|value| out.extend_from_slice(&value.to_le_bytes()));
    }
    let sum = crc32c::crc32c(&out);
    out.extend_from_slice(&sum.to_le_bytes());
    assert_eq!(out.len() as u64, file_bytes(records.len()), "records have one size");
    out
}

/// The records of a file; none of one that a newer release wrote.
///
/// # Errors
/// It is damaged.
pub fn decode(file: &[u8]) -> Result<Vec<Record>> {
    let bad = |what: &str| Error::corruption("", 0, format!("a file of counters {what}"));
    let cut = file.len().checked_sub(SUM_BYTES).filter(|end| *end >= HEADER_BYTES);
    let (body, sum) = file.split_at(cut.ok_or_else(|| bad("without its header"))?);
    if body[..8] != MAGIC {
        return Err(bad("that does not begin as one"));
    }
    if crc32c::crc32c(body).to_le_bytes() != sum {
        return Err(bad("that is damaged"));
    }
    let (header, records) = body.split_at(HEADER_BYTES);
    let half = |at: usize| u16::from_le_bytes([header[at], header[at + 1]]);
    if half(8) > VERSION {
        return Ok(Vec::new());
    }
    let count = u32::from_le_bytes([header[12], header[13], header[14], header[15]]) as usize;
    let is_whole = records.len() % RECORD_BYTES == 0 && records.len() / RECORD_BYTES == count;
    if half(8) != VERSION || usize::from(half(10)) != RECORD_BYTES || !is_whole {
        return Err(bad("of an unknown form"));
    }
    records
        .chunks_exact(RECORD_BYTES)
        .map(|bytes| record(bytes).ok_or_else(|| bad("of an unknown kind")))
        .collect()
}

fn record(bytes: &[u8]) -> Option<Record> {
    let word = |at: usize| Some(u32::from_le_bytes(*bytes.get(at..)?.first_chunk()?));
    let of = match word(0)? {
        TABLE => Of::Table(TableId(word(4)?)),
        INDEX => Of::Index(IndexId(word(4)?)),
        _ => return None,
    };
    let mut values = [0; VALUES];
    for (value, bytes) in values.iter_mut().zip(bytes.get(8..)?.chunks_exact(8)) {
        *value = u64::from_le_bytes(bytes.try_into().ok()?);
    }
    Some(Record { of, values })
}
