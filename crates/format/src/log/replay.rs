//! Which records of a chain of log files count?
//!
//! 1. Read the headers. The last file with a header is the end of the chain; its header names the
//!    end of the log before it, hence the file before it, and so on. Files that no header leads to
//!    are void: a recovery cut them off, or they were prepared and not begun.
//!    A file that a header leads to and that is not there was lost with its name, if nothing says that the
//!    log was durable in it; the log ends before it then, and what follows is void. Otherwise it is missing.
//! 2. Visit the records in order up to the first hole.
//! 3. A hole is a torn tail unless anything behind it says that the log was durable beyond it.

use onlap_base::{Csn, Error, Result};

use super::read::{damage, durable_behind};
use super::{FileHeader, HEADER_BYTES, LogPosition, LogReader, Record};

/// A log file that is there.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LogFile {
    /// Its number.
    pub number: u64,
    /// Its name, for errors.
    pub name: String,
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
    /// Files of the chain that hold records before the end, oldest first.
    pub live: Vec<u64>,
    /// Files that hold nothing and can be removed or used again.
    pub void: Vec<u64>,
}

struct Link {
    header: FileHeader,
    name: String,
    end: Option<u64>,
}

/// Visits every record of the log in order. What the visitor leaves of a record is memory for one of the next.
///
/// `files` are the log files that are there, rising; `oldest` is the number of the oldest one that
/// must be (a missing file is an error); those below it are void. `load` puts at most so many bytes from
/// the front of a file in the place of what a buffer holds. The caller must make the files durable before it relies on what
/// it read: bytes that survived a crash of the process may not survive the next loss of power.
pub fn replay(
    files: &[LogFile],
    oldest: u64,
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
    let known = headers.iter().flatten().map(|h| h.durable).max().unwrap_or_default();
    let chain = chain(needed, &headers, oldest, known)?;
    let mut end = ReplayEnd { end: LogPosition::START, csn: 0, live: vec![], void: vec![] };
    let mut replayed = Replayed::default();
    for (i, link) in chain.iter().enumerate() {
        load(link.header.file, usize::MAX, &mut bytes)?;
        let mut reader = LogReader::new(&link.name, &link.header, &bytes, link.end);
        end.live.push(link.header.file);
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
        // Files before the oldest one were durable once, and nobody needs them any more.
        if durable > end.end.max(LogPosition::new(oldest, 0)) {
            return Err(damage(&file.name, end.end, durable));
        }
    }
    end.void = files.iter().map(|f| f.number).filter(|n| !end.live.contains(n)).collect();
    Ok(end)
}

/// The files that make up the log, oldest first: from the one numbered `oldest` on, if they were begun. The log
/// was durable up to `known`.
fn chain(
    files: &[LogFile],
    headers: &[Option<FileHeader>],
    oldest: u64,
    known: LogPosition,
) -> Result<Vec<Link>> {
    let mut last = files.len();
    'ends: while last > 0 {
        last -= 1;
        let Some(header) = headers[last] else { continue };
        let mut links = vec![Link { header, name: files[last].name.clone(), end: None }];
        let mut previous = header.previous_end;
        while previous.file() >= oldest {
            let found = files.binary_search_by_key(&previous.file(), |f| f.number);
            let i = match found {
                Ok(i) => i,
                Err(_) if known.file() >= previous.file() => {
                    let text = format!("log file {} is missing", previous.file());
                    return Err(Error::corruption(&links[links.len() - 1].name, 24, text));
                }
                Err(i) => {
                    last = i;
                    continue 'ends;
                }
            };
            let Some(header) = headers[i] else {
                // The file before was never begun durably: the log ends before that one.
                last = i;
                continue 'ends;
            };
            if header.previous_end.file() >= header.file {
                let text = "a log file that names itself or a later one as the one before";
                return Err(Error::corruption(&files[i].name, 24, text));
            }
            links.push(Link { header, name: files[i].name.clone(), end: Some(previous.offset()) });
            previous = header.previous_end;
        }
        links.reverse();
        return Ok(links);
    }
    Ok(Vec::new())
}
