//! How does PostgreSQL say that a text means nothing?

use std::fmt;

/// The outcome of reading, resolving or calculating.
pub type Result<T> = std::result::Result<T, Error>;

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
    pub hint: Option<String>,
    /// Where in the statement's text: an offset in bytes from 0.
    pub position: Option<u32>,
    /// Whether PostgreSQL would do it, and Onlap does not.
    pub unserved: bool,
}

impl Error {
    /// An error with nothing but a message.
    pub fn new(state: &'static str, message: impl Into<String>) -> Error {
        let (detail, hint, position) = (None, None, None);
        Error { state, message: message.into(), detail, hint, position, unserved: false }
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
        self.hint = Some(text.into());
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
