//! Is a text well formed XML, and how does PostgreSQL write it?
//!
//! A value of xml is the text that was given, which was found to be well formed: a document, or content, which is what may
//! stand in an element. The reader is strict where PostgreSQL 15's library is, in namespaces as lax as it, and its limits of
//! depth and length are the same. It goes over the text once and keeps the names of open elements alone. It expands no
//! entity: a document that declares some is refused as not supported.
//!
//! Thread safety: pure functions.

mod classes;
mod declaration;
mod doctype;
mod names;
mod scan;

pub use declaration::{Declaration, Wrong, declaration, declare, print};
pub use names::{from_xml, to_xml};

use crate::{Error, Result};

/// What a text must be.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Shape {
    /// One element with what may stand around it.
    Document,
    /// What may stand in an element, or a document.
    #[default]
    Content,
}

/// Settings of a session.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Options {
    /// xmloption
    pub shape: Shape,
    /// Whether xmlbinary is hex.
    pub hex: bool,
}

/// What hears of bytes that were looked at, and may end the work.
pub type Worked<'w> = dyn FnMut(usize) -> Result<()> + 'w;

/// What ended the reading of a text.
#[derive(Clone, Debug)]
pub enum Stop {
    /// It is not well formed.
    Malformed(Error),
    /// Something else, which does not say that.
    Other(Error),
}

impl Stop {
    /// The error that it is.
    pub fn into_error(self) -> Error {
        match self {
            Stop::Malformed(error) | Stop::Other(error) => error,
        }
    }
}

/// Checks that a text is well formed.
///
/// # Errors
/// `2200M`, `2200N`: it is not; `0A000`: it declares entities or more; those of `worked`.
pub fn check(text: &str, shape: Shape, worked: &mut Worked<'_>) -> std::result::Result<(), Stop> {
    let (code, message) = match shape {
        Shape::Document => ("2200M", "invalid XML document"),
        Shape::Content => ("2200N", "invalid XML content"),
    };
    let begins = match shape {
        Shape::Document => 0,
        Shape::Content => match declaration(text) {
            Ok(read) => read.length,
            Err(wrong) => {
                let message = format!("{message}: invalid XML declaration");
                return Err(Stop::Malformed(Error::new(code, message).detail(wrong.words())));
            }
        },
    };
    let is_document = shape == Shape::Document || doctype::is_next(&text[begins..]);
    let (text, read) = match is_document {
        true => (text, scan::document(text, worked)),
        false => (&text[begins..], scan::content(&text[begins..], worked)),
    };
    read.map_err(|end| match end {
        scan::End::Fault(fault) => {
            Stop::Malformed(Error::new(code, message).detail(fault.detail(text)))
        }
        scan::End::Stopped(error) => Stop::Other(error),
    })
}

/// Whether a text is well formed.
///
/// # Errors
/// `0A000`; those of `worked`.
pub fn is_well_formed(text: &str, shape: Shape, worked: &mut Worked<'_>) -> Result<bool> {
    match check(text, shape, worked) {
        Ok(()) => Ok(true),
        Err(Stop::Malformed(_)) => Ok(false),
        Err(Stop::Other(error)) => Err(error),
    }
}
