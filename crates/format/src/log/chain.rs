//! Which log files make up the log?
//!
//! 1. What the manifest calls the newest file that was begun has to be there, with its stamp and all of its
//!    length. Everything before it was durable when the manifest said so.
//! 2. The last file with a header is the end of the chain; its header names the end of the log before it,
//!    hence the file before it, and that file's stamp, and so on.
//! 3. A file that a header leads to is missing, or was damaged, where anything says that the log was durable
//!    in it. Otherwise it was lost with its name or its header before anyone relied on it: the log ends before
//!    it then, and what follows is void.
//! 4. A file whose stamp is not the expected one belongs to another database or another time, and is an error.
//!    So is a chain that does not go through the file of step 1.
//!
//! Files behind the newest one that the manifest knows hold nothing that was acknowledged in the modes that sync
//! a file before it is used; in mode `os` the manifest learns of a file when the log is synced.
//!
//! Pure; must not know of files but by what it is given. Thread safety: plain data.

use onlap_base::names::FileKind;
use onlap_base::{Error, Result};

use super::replay::LogFile;
use super::{FileHeader, LogBegun, LogPosition};

/// A file of the chain.
pub(super) struct Link {
    pub(super) header: FileHeader,
    pub(super) name: String,
    /// Where the log goes on in the next file.
    pub(super) end: Option<u64>,
}

/// What is known before any record is read.
pub(super) struct Chain<'a> {
    /// Files that may be needed, rising.
    pub(super) files: &'a [LogFile],
    /// Theirs, where they have one.
    pub(super) headers: &'a [Option<FileHeader>],
    /// The oldest that is needed.
    pub(super) oldest: u64,
    /// What the manifest says of the newest.
    pub(super) begun: Option<LogBegun>,
}

impl Chain<'_> {
    /// How far headers and manifest say that the log was durable.
    pub(super) fn known(&self) -> LogPosition {
        let by_headers = self.headers.iter().flatten().map(|h| h.durable).max();
        let by_manifest = self.begun().map(|begun| LogPosition::new(begun.file, 0));
        by_headers.max(by_manifest).unwrap_or_default()
    }

    fn begun(&self) -> Option<LogBegun> {
        self.begun.filter(|begun| begun.file >= self.oldest)
    }

    /// The files of the log, oldest first: from the oldest that is needed on, if they were begun.
    pub(super) fn links(&self) -> Result<Vec<Link>> {
        self.check_newest()?;
        let mut last = self.files.len();
        while last > 0 {
            last -= 1;
            if self.headers[last].is_none() {
                continue;
            }
            match self.back_from(last)? {
                Ok(links) => {
                    self.check_passes(&links)?;
                    return Ok(links);
                }
                Err(lost) => last = lost,
            }
        }
        Ok(Vec::new())
    }

    /// Step 1.
    fn check_newest(&self) -> Result<()> {
        let Some(begun) = self.begun() else { return Ok(()) };
        let Ok(i) = self.find(begun.file) else { return Err(missing(begun.file, "the manifest")) };
        let LogFile { name, bytes, .. } = &self.files[i];
        if *bytes < begun.bytes {
            let text = format!("a log file of {bytes} bytes that had {}", begun.bytes);
            return Err(Error::corruption(name, *bytes, text));
        }
        match self.headers[i] {
            Some(header) if header.stamp == begun.stamp => Ok(()),
            Some(_) => Err(foreign(name, 48, "the manifest")),
            None => Err(without_header(name, "the manifest")),
        }
    }

    /// Step 4.
    fn check_passes(&self, links: &[Link]) -> Result<()> {
        match self.begun() {
            Some(begun) if links.iter().all(|link| link.header.file != begun.file) => {
                let end = links.last().expect("a chain has an end");
                Err(foreign(&end.name, 24, "the manifest"))
            }
            _ => Ok(()),
        }
    }

    /// The chain that ends with a file. Where it is broken by what was lost before anyone relied on it: the
    /// place in the list below which an earlier end is to be looked for.
    fn back_from(&self, last: usize) -> Result<std::result::Result<Vec<Link>, usize>> {
        let header = self.headers[last].expect("the caller looks for a header");
        let mut links = vec![Link { header, name: self.files[last].name.clone(), end: None }];
        let mut after = header;
        while after.previous_end.file() >= self.oldest {
            let previous = after.previous_end;
            let relied_on = self.known().file() >= previous.file();
            let source = &links[links.len() - 1].name;
            let i = match self.find(previous.file()) {
                Ok(i) => i,
                Err(_) if relied_on => return Err(missing(previous.file(), source)),
                Err(i) => return Ok(Err(i)),
            };
            let name = &self.files[i].name;
            let header = match self.headers[i] {
                Some(header) => header,
                None if relied_on => return Err(without_header(name, source)),
                None => return Ok(Err(i)),
            };
            if after.stamp != 0 && after.previous_stamp != header.stamp {
                // The one of the two is foreign that the manifest does not vouch for.
                let trusted = self.begun().is_some_and(|begun| after.file <= begun.file);
                return Err(if trusted {
                    foreign(name, 48, source)
                } else {
                    foreign(source, 56, name)
                });
            }
            if header.previous_end.file() >= header.file {
                let text = "a log file that names itself or a later one as the one before";
                return Err(Error::corruption(name, 24, text));
            }
            let end = Some(previous.offset());
            links.push(Link { header, name: name.clone(), end });
            after = header;
        }
        links.reverse();
        Ok(Ok(links))
    }

    fn find(&self, number: u64) -> std::result::Result<usize, usize> {
        self.files.binary_search_by_key(&number, |f| f.number)
    }
}

fn missing(number: u64, source: &str) -> Error {
    let name = FileKind::Log(number).name();
    let text = format!("a log file is missing that {source} names: commits of it would be lost");
    Error::corruption(name, 0, text)
}

fn without_header(name: &str, source: &str) -> Error {
    let text = format!("a log file that {source} names is empty or has lost its header");
    Error::corruption(name, 0, text)
}

fn foreign(name: &str, offset: u64, source: &str) -> Error {
    let text = format!(
        "a log file that does not go with {source}: it is of another database, or of another time"
    );
    Error::corruption(name, offset, text)
}
