//! What are the files of a data directory called?
//!
//! Names are made and recognised here and nowhere else. Numbers are never reused (I5), so a name
//! means one content for ever. A name that is not exactly what [`FileKind::name`] would print is not
//! ours ([`FileKind::parse`] gives `None`): nothing found on disk panics (I8), and nothing foreign is
//! ever deleted.

use crate::ids::FileId;

/// Held locked by the process that has the directory open; contains its process id.
pub const LOCK: &str = "LOCK";

/// Names the manifest in force; replaced atomically by renaming over it.
pub const CURRENT: &str = "CURRENT";

/// Ending of a file that is being written under a name of its own and renamed when complete. Such a
/// file found at open is left over from a crash and removed.
pub const TEMPORARY: &str = ".tmp";

/// An empty log file, kept for deletes on a full disk.
pub const MARGIN_LOG: &str = "margin.log";

/// Room that is kept for flushes and merges on a full disk.
pub const MARGIN_ROOM: &str = "margin-room.log";

/// What was counted of tables, from a clean close to the next open.
pub const ACTIVITY: &str = "activity";

/// What a file in the data directory is, by its name.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum FileKind {
    /// [`LOCK`].
    Lock,
    /// [`CURRENT`].
    Current,
    /// `manifest-00000007`: the edit log of file sets.
    Manifest(u64),
    /// `00000007.log`: a file of the write-ahead log.
    Log(u64),
    /// `000000000007.seg`: rows.
    Segment(FileId),
    /// `000000000007.run`: index entries.
    Run(FileId),
    /// `000000000007.mrk`: marks of landed rows.
    Marks(FileId),
    /// `samples-00000007`: figures of the past.
    Samples(u64),
    /// [`ACTIVITY`].
    Activity,
    /// [`MARGIN_LOG`].
    MarginLog,
    /// [`MARGIN_ROOM`]; removed at open.
    MarginRoom,
    /// Anything that ends in [`TEMPORARY`].
    Temporary,
}

impl FileKind {
    /// The file name, without a directory.
    ///
    /// ```
    /// use onlap_base::{FileId, names::FileKind};
    /// assert_eq!(FileKind::Run(FileId(7)).name(), "000000000007.run");
    /// assert_eq!(FileKind::parse("000000000007.run"), Some(FileKind::Run(FileId(7))));
    /// ```
    ///
    /// # Panics
    /// For [`FileKind::Temporary`], whose name is its target's with [`TEMPORARY`] appended; see
    /// [`temporary`].
    pub fn name(self) -> String {
        match self {
            FileKind::Lock => LOCK.to_owned(),
            FileKind::Current => CURRENT.to_owned(),
            FileKind::Manifest(n) => format!("manifest-{n:08}"),
            FileKind::Log(n) => format!("{n:08}.log"),
            FileKind::Segment(id) => format!("{:012}.seg", id.0),
            FileKind::Run(id) => format!("{:012}.run", id.0),
            FileKind::Marks(id) => format!("{:012}.mrk", id.0),
            FileKind::Samples(n) => format!("samples-{n:08}"),
            FileKind::Activity => ACTIVITY.to_owned(),
            FileKind::MarginLog => MARGIN_LOG.to_owned(),
            FileKind::MarginRoom => MARGIN_ROOM.to_owned(),
            FileKind::Temporary => panic!("a temporary file is named after its target"),
        }
    }

    /// Recognises a name; `None` for a file that is not ours.
    pub fn parse(name: &str) -> Option<FileKind> {
        if name.len() > TEMPORARY.len() && name.ends_with(TEMPORARY) {
            return Some(FileKind::Temporary);
        }
        let kind = match name {
            LOCK => FileKind::Lock,
            CURRENT => FileKind::Current,
            ACTIVITY => FileKind::Activity,
            MARGIN_LOG => FileKind::MarginLog,
            MARGIN_ROOM => FileKind::MarginRoom,
            _ => match name.split_once('-') {
                Some(("manifest", number)) => FileKind::Manifest(digits(number)?),
                Some(("samples", number)) => FileKind::Samples(digits(number)?),
                Some(_) => return None,
                None => {
                    let (number, ending) = name.split_once('.')?;
                    let number = digits(number)?;
                    match ending {
                        "log" => FileKind::Log(number),
                        "seg" => FileKind::Segment(FileId(number)),
                        "run" => FileKind::Run(FileId(number)),
                        "mrk" => FileKind::Marks(FileId(number)),
                        _ => return None,
                    }
                }
            },
        };
        (kind.name() == name).then_some(kind)
    }

    /// The id of a segment, run or mark file.
    pub fn file_id(self) -> Option<FileId> {
        match self {
            FileKind::Segment(id) | FileKind::Run(id) | FileKind::Marks(id) => Some(id),
            _ => None,
        }
    }
}

/// The name under which `name` is written before it is renamed into place.
pub fn temporary(name: &str) -> String {
    format!("{name}{TEMPORARY}")
}

fn digits(text: &str) -> Option<u64> {
    let plain = !text.is_empty() && text.bytes().all(|b| b.is_ascii_digit());
    if plain { text.parse().ok() } else { None }
}

#[cfg(test)]
mod tests;
