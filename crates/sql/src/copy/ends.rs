//! How do the lines of a COPY end?
//!
//! As the first of them does, which is what PostgreSQL goes by: by a newline, a carriage return, or both. What ends no line by
//! that is refused, since it may be either a value's own or a damaged end.

use crate::error::{Result, SqlError, state};

/// How lines end.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Ends {
    /// The first line has not ended.
    #[default]
    Unknown,
    /// `\n`
    Newline,
    /// `\r`
    Return,
    /// `\r\n`
    Both,
}

/// What a place in the data is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Place {
    /// A line's end of this many bytes.
    End(usize),
    /// What follows decides, and has not come.
    Open,
}

impl Ends {
    /// What the newline or carriage return at a place is; behind the `last` bytes come no others. `csv` says which words errors have.
    ///
    /// # Errors
    /// `22P04`: it ends no line.
    pub fn see(&mut self, bytes: &[u8], at: usize, last: bool, csv: bool) -> Result<Place> {
        if bytes[at] == b'\n' {
            return match self {
                Ends::Return | Ends::Both => Err(stray(csv, "newline", "\\n")),
                Ends::Unknown | Ends::Newline => {
                    *self = Ends::Newline;
                    Ok(Place::End(1))
                }
            };
        }
        let next = bytes.get(at + 1);
        match (*self, next) {
            (Ends::Newline, _) => Err(stray(csv, "carriage return", "\\r")),
            (Ends::Return, _) => Ok(Place::End(1)),
            (_, None) if !last => Ok(Place::Open),
            (_, Some(b'\n')) => {
                *self = Ends::Both;
                Ok(Place::End(2))
            }
            (Ends::Both, _) => Err(stray(csv, "carriage return", "\\r")),
            (Ends::Unknown, _) => {
                *self = Ends::Return;
                Ok(Place::End(1))
            }
        }
    }

    /// Whether the mark of the end is whole, of which the backslash is at a place and a point follows.
    ///
    /// # Errors
    /// `22P04`: other bytes follow, or the end of a line that is not one of this data.
    pub fn see_mark(self, bytes: &[u8], at: usize, last: bool) -> Result<Place> {
        let corrupt = || Err(bad("end-of-copy marker corrupt"));
        let other = || Err(bad("end-of-copy marker does not match previous newline style"));
        let is_end = |byte: u8| matches!(byte, b'\r' | b'\n');
        match (self, &bytes[at + 2..]) {
            (_, []) | (Ends::Both, [b'\r']) => {
                Ok(if last { Place::End(bytes.len() - at) } else { Place::Open })
            }
            (Ends::Both, [b'\r', b'\n', ..]) => Ok(Place::End(4)),
            (Ends::Both, [b'\r', byte, ..]) if !is_end(*byte) => corrupt(),
            (Ends::Both, [byte, ..]) if !is_end(*byte) => corrupt(),
            (Ends::Both, _) => other(),
            (_, [byte, ..]) if !is_end(*byte) => corrupt(),
            (Ends::Newline, [b'\r', ..]) | (Ends::Return, [b'\n', ..]) => other(),
            _ => Ok(Place::End(3)),
        }
    }
}

fn bad(text: impl Into<String>) -> SqlError {
    SqlError::new(state::BAD_COPY, text)
}

fn stray(csv: bool, what: &str, written: &str) -> SqlError {
    match csv {
        true => bad(format!("unquoted {what} found in data"))
            .hint(format!("Use quoted CSV field to represent {what}.")),
        false => bad(format!("literal {what} found in data"))
            .hint(format!("Use \"{written}\" to represent {what}.")),
    }
}
