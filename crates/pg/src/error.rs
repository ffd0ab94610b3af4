//! How does PostgreSQL say that a text means nothing?
//!
//! XX000 has two makers: [`Error::internal`] for what PostgreSQL itself says so, and [`Error::defect`] for mistakes of ours, of
//! which a client learns an id alone.

use std::fmt;
use std::sync::Arc;

use onlap_base::Defect;

/// The outcome of reading, resolving or calculating.
pub type Result<T> = std::result::Result<T, Error>;

/// Notes work within one value, in bytes, digits or elements, and asks whether the statement goes on when there was enough.
///
/// # Errors
/// `57014`.
#[inline]
pub fn worked(work: usize) -> Result<()> {
    match onlap_base::stop::worked(work) {
        Ok(()) => Ok(()),
        Err(why) => Err(Error::new("57014", why.to_string())),
    }
}

/// An error as PostgreSQL reports it to a client.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Error {
    /// SQLSTATE.
    pub state: &'static str,
    /// The message.
    pub message: String,
    /// More about it.
    pub detail: Option<String>,
    /// What may help.
    pub hint: Option<Box<str>>,
    /// What was under way.
    pub context: Option<Box<String>>,
    /// Where in the statement's text: an offset in bytes from 0.
    pub position: Option<u32>,
    /// Whether PostgreSQL would do it, and Onlap does not.
    pub unserved: bool,
    /// What it is about, for programs.
    pub about: Option<Box<About>>,
    /// What the log is to have of it, and the client not.
    pub defect: Option<Arc<Defect>>,
}

/// The type of a database that an error is about.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct About {
    /// Its schema.
    pub schema: String,
    /// Its name.
    pub datatype: String,
    /// The constraint that is violated.
    pub constraint: Option<String>,
}

impl Error {
    /// An error with nothing but a message.
    pub fn new(state: &'static str, message: impl Into<String>) -> Error {
        Error {
            state,
            message: message.into(),
            detail: None,
            hint: None,
            context: None,
            position: None,
            unserved: false,
            about: None,
            defect: None,
        }
    }

    /// `XX000` in PostgreSQL's own words: what it reports so, and a client may read.
    pub fn internal(message: impl Into<String>) -> Error {
        Error::new("XX000", message)
    }

    /// `XX000` for a mistake of ours. The text is for the log.
    #[track_caller]
    pub fn defect(text: impl Into<String>) -> Error {
        Error::of_defect(Defect::new(text))
    }

    /// The same of one that is known.
    pub fn of_defect(defect: Arc<Defect>) -> Error {
        Error { defect: Some(Arc::clone(&defect)), ..Error::internal(defect.sentence()) }
    }

    /// `0A000` for what PostgreSQL does and Onlap does not. What PostgreSQL itself refuses so is [`Error::new`].
    pub fn unserved(message: impl Into<String>) -> Error {
        Error { unserved: true, ..Error::new("0A000", message) }
    }

    /// With more about it.
    pub fn detail(mut self, text: impl Into<String>) -> Error {
        self.detail = Some(text.into());
        self
    }

    /// With what may help.
    pub fn hint(mut self, text: impl Into<String>) -> Error {
        self.hint = Some(text.into().into_boxed_str());
        self
    }

    /// With what was under way.
    pub fn context(mut self, text: impl Into<String>) -> Error {
        self.context = Some(Box::new(text.into()));
        self
    }

    /// About a type of a database.
    pub fn about(mut self, about: About) -> Error {
        self.about = Some(Box::new(about));
        self
    }

    /// At a place of the statement's text.
    pub fn at(mut self, position: u32) -> Error {
        self.position = Some(position);
        self
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} ({})", self.message, self.state)
    }
}

impl std::error::Error for Error {}
