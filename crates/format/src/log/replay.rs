//! Which records of a chain of log files count?
//!
//! 1. Read the headers and find the chain (`chain`). Files that are not of it are void: a recovery cut them off,
//!    or they were prepared and not begun.
//! 2. Visit the records in order up to the first hole.
//! 3. A hole is a torn tail unless anything behind it says that the log was durable beyond it.

use onlap_base::{Csn, Result};

use super::chain::Chain;
use super::read::{damage, durable_behind};
use super::{FileHeader, HEADER_BYTES, LogBegun, LogPosition, LogReader, Record};

/// A log file that is there.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LogFile {
    /// Its number.
    pub number: u64,
    /// Its name, for errors.
    pub name: String,
    /// Its length.
    pub bytes: u64,
}

/// A record on its way to the caller.
#[derive(Debug, Default)]
pub struct Replayed {
    /// The record.
    pub record: Record,
    /// Position behind it.
    pub end: LogPosition,
}

/// What a replay found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ReplayEnd {
    /// Where the log ends; what the next file's header names.
    pub end: LogPosition,
    /// CSN of the last commit; of the last before the chain where it holds none.
    pub csn: Csn,
    /// Stamp of the file in which it ends; 0 where that has none.
    pub stamp: u64,
    /// Files of the chain that hold records before the end, oldest first.
    pub live: Vec<u64>,
    /// Files that hold nothing and can be removed or used again.
    pub void: Vec<u64>,
}

/// Visits every record of the log in order. What the visitor leaves of a record is memory for one of the next.
///
/// `files` are the log files that are there, rising; `oldest` is the number of the oldest one that
/// must be (a missing file is an error); those below it are void. `begun` is what the manifest says of the newest
/// one. `load` puts at most this number of bytes from
/// the front of a file in the place of what a buffer holds. The caller must make the files durable before it relies on what
/// it read: bytes that survived a crash of the process may not survive the next loss of power.
pub fn replay(
    files: &[LogFile],
    oldest: u64,
    begun: Option<LogBegun>,
    load: &mut dyn FnMut(u64, usize, &mut Vec<u8>) -> Result<()>,
    visit: &mut dyn FnMut(&mut Replayed) -> Result<()>,
) -> Result<ReplayEnd> {
    debug_assert!(files.is_sorted_by_key(|f| f.number));
    // Older files may be on the way to their next life: a power cut can keep the new header and lose
    // the new name.
    let needed = &files[files.partition_point(|f| f.number < oldest)..];
    let mut headers = Vec::with_capacity(needed.len());
    let mut bytes = Vec::new();
    for file in needed {
        load(file.number, HEADER_BYTES, &mut bytes)?;
        headers.push(FileHeader::parse(file.number, &bytes).map_err(|e| e.at(&file.name, 0))?);
    }
    let chain = Chain { files: needed, headers: &headers, oldest, begun };
    let known = chain.known();
    let chain = chain.links()?;
    let mut end =
        ReplayEnd { end: LogPosition::START, csn: 0, stamp: 0, live: vec![], void: vec![] };
    let mut replayed = Replayed::default();
    for (i, link) in chain.iter().enumerate() {
        load(link.header.file, usize::MAX, &mut bytes)?;
        let mut reader = LogReader::new(&link.name, &link.header, &bytes, link.end);
        end.live.push(link.header.file);
        end.stamp = link.header.stamp;
        while reader.read_into(&mut replayed.record)? {
            replayed.end = reader.position();
            visit(&mut replayed)?;
        }
        (end.end, end.csn) = (reader.position(), reader.csn());
        if known > end.end && (reader.is_torn() || link.end.is_none()) {
            return Err(damage(&link.name, end.end, known));
        }
        if reader.is_torn() {
            for later in &chain[i + 1..] {
                load(later.header.file, usize::MAX, &mut bytes)?;
                let start = LogPosition::new(later.header.file, 0);
                let durable = durable_behind(start, &bytes);
                if durable > end.end {
                    return Err(damage(&link.name, end.end, durable));
                }
            }
            break;
        }
    }
    // Files behind the end were never begun durably, unless their records know better: a header may be
    // damaged, too.
    for file in needed.iter().filter(|file| file.number > end.end.file()) {
        load(file.number, usize::MAX, &mut bytes)?;
        let durable = durable_behind(LogPosition::new(file.number, 0), &bytes);
        // Files before the oldest one were durable once, and are not needed any more.
        if durable > end.end.max(LogPosition::new(oldest, 0)) {
            return Err(damage(&file.name, end.end, durable));
        }
    }
    end.void = files.iter().map(|f| f.number).filter(|n| !end.live.contains(n)).collect();
    Ok(end)
}
