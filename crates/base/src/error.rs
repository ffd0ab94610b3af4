//! What went wrong, and what does the caller do next?
//!
//! One error type for every layer. The kind says what the caller can do: correct the input, try the
//! transaction again, free some space, reopen, or restore from a backup. The text says it in words.

use std::fmt;
use std::sync::Arc;

use crate::Defect;

/// Result of anything that can fail.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// What the caller does next.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum ErrorKind {
    // Correct the input.
    /// A value does not have its column's type.
    WrongType,
    /// A number, date or scale outside the type's range.
    OutOfRange,
    /// Text that its type refuses, such as invalid UTF-8 or JSON.
    InvalidText,
    /// A value, row or key above a documented limit, or above its column's declared length.
    TooLong,
    /// NULL in a column that refuses it.
    NotNull,
    /// A row for which a CHECK constraint is false.
    CheckViolation,
    /// A child row without its parent row, or a parent row that still has children.
    ForeignKeyViolation,
    /// A value for a column that the table's counter always fills.
    GeneratedAlways,
    /// A division by zero.
    DivisionByZero,
    /// A sequence that has come to its end.
    SequenceExhausted,
    /// An object that others depend on.
    InUse,
    /// A second row with the same key in a primary key or unique index.
    DuplicateKey,
    /// A row that conflicts with another by an exclusion constraint.
    Excluded,
    /// No table of that name.
    UnknownTable,
    /// No column of that name.
    UnknownColumn,
    /// No index of that name.
    UnknownIndex,
    /// No sequence of that name.
    UnknownSequence,
    /// No check or foreign key of that name.
    UnknownConstraint,
    /// A table, index or column of that name is there already.
    AlreadyExists,
    /// A change in a transaction that was begun read-only.
    ReadOnlyTransaction,
    /// Any other unusable argument.
    InvalidInput,
    /// A documented limit on counts (columns, indexes, tables, memory) was reached.
    LimitExceeded,
    /// Onlap does not do this (yet).
    Unsupported,

    // Try again.
    /// Another transaction changed the same row first; run the transaction again.
    Conflict,
    /// Transactions wait for each other and this one was chosen to end; run it again.
    Deadlock,
    /// A lock is held by another transaction and was not to be waited for any longer.
    LockNotAvailable,
    /// The snapshot was revoked, or lies below the horizon.
    SnapshotTooOld,
    /// The caller cancelled the work.
    Cancelled,

    // Free something, then go on.
    /// No space left; nothing of the statement landed.
    DiskFull,

    // Reopen.
    /// The handle was closed.
    Closed,
    /// The database refuses writes until reopened (rule I6).
    ReadOnly,
    /// Another process has the directory open.
    Locked,
    /// The operating system refused an operation.
    Io,

    // Restore, or use another release.
    /// Bytes on disk are not what was written.
    Corruption,
    /// Written by a newer release.
    NewerFormat,
    /// There is no database here.
    NotFound,
}

impl ErrorKind {
    /// The five-character SQLSTATE that PostgreSQL uses for this condition.
    pub fn sqlstate(self) -> &'static str {
        match self {
            ErrorKind::WrongType => "42804",
            ErrorKind::OutOfRange => "22003",
            ErrorKind::InvalidText => "22P02",
            ErrorKind::TooLong => "22001",
            ErrorKind::NotNull => "23502",
            ErrorKind::CheckViolation => "23514",
            ErrorKind::ForeignKeyViolation => "23503",
            ErrorKind::GeneratedAlways => "428C9",
            ErrorKind::DivisionByZero => "22012",
            ErrorKind::SequenceExhausted => "2200H",
            ErrorKind::InUse => "2BP01",
            ErrorKind::DuplicateKey => "23505",
            ErrorKind::Excluded => "23P01",
            ErrorKind::UnknownTable => "42P01",
            ErrorKind::UnknownColumn => "42703",
            ErrorKind::UnknownIndex => "42704",
            ErrorKind::UnknownSequence => "42P01",
            ErrorKind::UnknownConstraint => "42704",
            ErrorKind::AlreadyExists => "42P07",
            ErrorKind::InvalidInput => "22023",
            ErrorKind::LimitExceeded => "54000",
            ErrorKind::Unsupported => "0A000",
            ErrorKind::Conflict => "40001",
            ErrorKind::Deadlock => "40P01",
            ErrorKind::LockNotAvailable => "55P03",
            ErrorKind::ReadOnlyTransaction => "25006",
            ErrorKind::SnapshotTooOld => "72000",
            ErrorKind::Cancelled => "57014",
            ErrorKind::DiskFull => "53100",
            ErrorKind::Closed => "57P01",
            ErrorKind::ReadOnly => "25006",
            ErrorKind::Locked => "55006",
            ErrorKind::Io => "58030",
            ErrorKind::Corruption => "XX001",
            ErrorKind::NewerFormat => "XX000",
            ErrorKind::NotFound => "58P01",
        }
    }
}

/// Why an operation failed: a kind for programs, a sentence for people.
#[derive(Clone, PartialEq, Eq)]
pub struct Error(Box<Inner>);

#[derive(Clone, PartialEq, Eq)]
struct Inner {
    kind: ErrorKind,
    message: String,
    place: Option<Place>,
    subject: Option<Subject>,
    code: Option<&'static str>,
    detail: Option<String>,
    defect: Option<Arc<Defect>>,
}

/// Which rule of which table was broken, for programs.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Subject {
    /// The table.
    pub table: String,
    /// The column that the rule is about, where it is about one.
    pub column: Option<String>,
    /// The index, check or foreign key.
    pub constraint: Option<String>,
    /// The columns of a key and their values, as texts; of an exclusion constraint with what is calculated for them instead,
    /// or nothing for a column of the table.
    pub key: Vec<(String, String)>,
    /// The columns of the row that breaks it with their values as texts, `None` for NULL; empty where no row is known.
    pub row: Vec<(String, Option<String>)>,
    /// The row that it conflicts with, in the same way.
    pub other_row: Vec<(String, Option<String>)>,
    /// The table at the other end of a foreign key.
    pub other: Option<OtherEnd>,
}

/// Which end of a foreign key a table is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum OtherEnd {
    /// The table that was to have the row; the subject is the child.
    Parent(String),
    /// The table that has rows with the key; the subject is the parent.
    Child(String),
    /// A part of the key is NULL where it has to be whole; the subject is the child.
    Part,
}

/// Where damage was found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Place {
    /// File name relative to the data directory.
    pub file: String,
    /// Byte offset in the file.
    pub offset: u64,
}

impl Error {
    /// An error of the given kind; the message says what to do where that is known.
    pub fn new(kind: ErrorKind, message: impl Into<String>) -> Error {
        let message = message.into();
        let (place, subject, code, detail, defect) = (None, None, None, None, None);
        Error(Box::new(Inner { kind, message, place, subject, code, detail, defect }))
    }

    /// A mistake of ours, of which the message tells the id alone: its words are for the log of who keeps one.
    pub fn of_defect(defect: Arc<Defect>) -> Error {
        let mut error = Error::new(ErrorKind::Io, defect.sentence()).with_code("XX000");
        error.0.defect = Some(defect);
        error
    }

    /// The mistake of ours that it is.
    pub fn as_defect(&self) -> Option<&Arc<Defect>> {
        self.0.defect.as_ref()
    }

    /// Damage at a byte offset of a file (rule I8). `file` may be empty where pure decoders do not
    /// know it; the reader that does adds it with [`Error::at`].
    pub fn corruption(file: impl Into<String>, offset: u64, message: impl Into<String>) -> Error {
        let place = Place { file: file.into(), offset };
        Error(Box::new(Inner {
            kind: ErrorKind::Corruption,
            message: message.into(),
            place: Some(place),
            subject: None,
            code: None,
            detail: None,
            defect: None,
        }))
    }

    /// Damage found by a pure decoder, which does not know the file; see [`Error::at`].
    pub fn damaged(message: impl Into<String>) -> Error {
        Error::new(ErrorKind::Corruption, message)
    }

    /// Names the file and adds `base` to the offset of an error found by a pure decoder.
    #[must_use]
    pub fn at(mut self, file: &str, base: u64) -> Error {
        if matches!(self.0.kind, ErrorKind::Corruption | ErrorKind::NewerFormat) {
            let place = self.0.place.get_or_insert(Place { file: String::new(), offset: 0 });
            if place.file.is_empty() {
                place.file = file.to_owned();
                place.offset += base;
            }
        }
        self
    }

    /// Says which rule was broken.
    #[must_use]
    pub fn about(mut self, subject: Subject) -> Error {
        self.0.subject = Some(subject);
        self
    }

    /// Gives it the SQLSTATE of who calculated for the engine, which the kind does not tell.
    #[must_use]
    pub fn with_code(mut self, code: &'static str) -> Error {
        self.0.code = Some(code);
        self
    }

    /// Says more of what went wrong with what was calculated for the engine.
    #[must_use]
    pub fn with_detail(mut self, detail: Option<String>) -> Error {
        self.0.detail = detail;
        self
    }

    /// What more there is to say.
    pub fn detail(&self) -> Option<&str> {
        self.0.detail.as_deref()
    }

    /// Its SQLSTATE.
    pub fn sqlstate(&self) -> &'static str {
        self.0.code.unwrap_or_else(|| self.0.kind.sqlstate())
    }

    /// What the caller does next.
    pub fn kind(&self) -> ErrorKind {
        self.0.kind
    }

    /// The sentence without the place.
    pub fn message(&self) -> &str {
        &self.0.message
    }

    /// The rule that was broken, where the error is about one.
    pub fn subject(&self) -> Option<&Subject> {
        self.0.subject.as_ref()
    }

    /// File and offset of damage.
    pub fn place(&self) -> Option<&Place> {
        self.0.place.as_ref()
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0.message)?;
        match &self.0.place {
            Some(p) if !p.file.is_empty() => write!(f, " (file {}, offset {})", p.file, p.offset),
            Some(p) => write!(f, " (offset {})", p.offset),
            None => Ok(()),
        }
    }
}

impl fmt::Debug for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?}: {}", self.0.kind, self)
    }
}

impl std::error::Error for Error {}

impl From<std::io::Error> for Error {
    fn from(e: std::io::Error) -> Error {
        let kind = match e.kind() {
            std::io::ErrorKind::StorageFull | std::io::ErrorKind::QuotaExceeded => {
                ErrorKind::DiskFull
            }
            _ => ErrorKind::Io,
        };
        Error::new(kind, e.to_string())
    }
}
