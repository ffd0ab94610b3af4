//! What does a client say?
//!
//! Messages of the PostgreSQL protocol (documentation of release 15, chapter 55.7) from the bytes of one
//! complete message, borrowed from them. An own reader and not pgwire's codec: that one copies every
//! string, takes text that is not UTF-8 for something else, and panics where a message ends too soon.
//!
//! Pure: knows neither sockets nor sessions. Nothing panics on any bytes (I8), and no count in a message
//! allocates more than the message has bytes.

use onlap_sql::{SqlError, state};

#[cfg(test)]
mod tests;

/// What failed, as the client learns it.
type Result<T> = std::result::Result<T, SqlError>;

/// A statement or a portal.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Target {
    /// A prepared statement.
    Statement,
    /// A portal.
    Portal,
}

/// A message after the start-up.
#[derive(Debug, PartialEq)]
pub enum Message<'a> {
    /// A simple query: statements as text.
    Query(&'a str),
    /// Prepare a statement.
    Parse {
        /// Its name; empty for the unnamed one.
        name: &'a str,
        /// Its text.
        sql: &'a str,
        /// OIDs of parameters' types as far as the client says, 0 for unknown.
        types: Vec<u32>,
    },
    /// Make a portal.
    Bind(Bind<'a>),
    /// Describe something.
    Describe(Target, &'a str),
    /// Run a portal, for at most so many rows; 0 for all.
    Execute(&'a str, usize),
    /// Forget something.
    Close(Target, &'a str),
    /// Send what was collected.
    Flush,
    /// End the implicit transaction, and say so.
    Sync,
    /// Data of a COPY.
    CopyData(&'a [u8]),
    /// End of a COPY's data.
    CopyDone,
    /// The client gave up its COPY, and says why.
    CopyFail(&'a str),
    /// Something of the exchange of passwords.
    Password(&'a [u8]),
    /// An old way to call functions, which is refused.
    FunctionCall,
    /// The client leaves.
    Terminate,
}

/// What a portal is made of.
#[derive(Debug, PartialEq)]
pub struct Bind<'a> {
    /// Its name; empty for the unnamed one.
    pub portal: &'a str,
    /// The statement's name.
    pub statement: &'a str,
    /// Formats of the values: none for text, one for all, or one each.
    pub formats: Vec<i16>,
    /// The values; `None` for NULL.
    pub values: Vec<Option<&'a [u8]>>,
    /// Formats of the answer's columns.
    pub result_formats: Vec<i16>,
}

/// Reads a message by its type and the bytes after the length.
///
/// # Errors
/// It is none (08P01), or has text that is not UTF-8 (22021).
pub fn message(kind: u8, body: &[u8]) -> Result<Message<'_>> {
    let mut r = Reader { rest: body };
    let message = match kind {
        b'Q' => Message::Query(r.string()?),
        b'P' => {
            let (name, sql) = (r.string()?, r.string()?);
            let types = r.list(4, |r| r.u32())?;
            Message::Parse { name, sql, types }
        }
        b'B' => Message::Bind(r.bind()?),
        b'D' => Message::Describe(r.target()?, r.string()?),
        // A negative limit means none, as for PostgreSQL.
        b'E' => Message::Execute(r.string()?, usize::try_from(r.u32()? as i32).unwrap_or(0)),
        b'C' => Message::Close(r.target()?, r.string()?),
        b'H' => Message::Flush,
        b'S' => Message::Sync,
        b'd' => Message::CopyData(r.all()),
        b'c' => Message::CopyDone,
        b'f' => Message::CopyFail(r.string()?),
        b'p' => Message::Password(r.all()),
        b'F' => {
            r.all();
            Message::FunctionCall
        }
        b'X' => Message::Terminate,
        other => return Err(violation(format!("invalid frontend message type {other}"))),
    };
    match r.rest {
        [] => Ok(message),
        _ => Err(violation("invalid message format")),
    }
}

/// A violation of the protocol.
pub fn violation(text: impl Into<String>) -> SqlError {
    SqlError::new(state::PROTOCOL, text)
}

/// Reads the body of one message from its begin to its end.
pub(crate) struct Reader<'a> {
    pub(crate) rest: &'a [u8],
}

impl<'a> Reader<'a> {
    fn take(&mut self, bytes: usize) -> Result<&'a [u8]> {
        let short = || violation("insufficient data left in message");
        let (taken, rest) = self.rest.split_at_checked(bytes).ok_or_else(short)?;
        self.rest = rest;
        Ok(taken)
    }
    fn all(&mut self) -> &'a [u8] {
        std::mem::take(&mut self.rest)
    }
    fn array<const N: usize>(&mut self) -> Result<[u8; N]> {
        Ok(self.take(N)?.try_into().expect("as many as asked for"))
    }
    fn u16(&mut self) -> Result<u16> {
        Ok(u16::from_be_bytes(self.array()?))
    }
    pub(crate) fn u32(&mut self) -> Result<u32> {
        Ok(u32::from_be_bytes(self.array()?))
    }
    /// Text up to a zero byte.
    pub(crate) fn string(&mut self) -> Result<&'a str> {
        let end = self.rest.iter().position(|b| *b == 0);
        let bytes = self.take(end.ok_or_else(|| violation("invalid string in message"))?)?;
        self.take(1)?;
        utf8(bytes)
    }
    /// As many things as a 16-bit count says, each of at least so many bytes.
    fn list<T>(
        &mut self,
        bytes: usize,
        mut read: impl FnMut(&mut Self) -> Result<T>,
    ) -> Result<Vec<T>> {
        let count = usize::from(self.u16()?);
        if count * bytes > self.rest.len() {
            return Err(violation("insufficient data left in message"));
        }
        let mut all = Vec::with_capacity(count);
        for _ in 0..count {
            all.push(read(self)?);
        }
        Ok(all)
    }
    fn target(&mut self) -> Result<Target> {
        match self.array()? {
            [b'S'] => Ok(Target::Statement),
            [b'P'] => Ok(Target::Portal),
            [other] => Err(violation(format!("invalid message subtype {other}"))),
        }
    }
    fn bind(&mut self) -> Result<Bind<'a>> {
        let (portal, statement) = (self.string()?, self.string()?);
        let format = |r: &mut Self| Ok(r.u16()? as i16);
        let formats = self.list(2, format)?;
        let values = self.list(4, |r| match r.u32()? as i32 {
            -1 => Ok(None),
            length => {
                let length = usize::try_from(length);
                let length = length.map_err(|_| violation("invalid length of a value"))?;
                r.take(length).map(Some)
            }
        })?;
        let result_formats = self.list(2, format)?;
        if formats.len() > 1 && formats.len() != values.len() {
            let (f, v) = (formats.len(), values.len());
            let text = format!("bind message has {f} parameter formats but {v} parameters");
            return Err(violation(text));
        }
        Ok(Bind { portal, statement, formats, values, result_formats })
    }
}

fn utf8(bytes: &[u8]) -> Result<&str> {
    std::str::from_utf8(bytes).map_err(|e| {
        let at = e.valid_up_to();
        let wrong = &bytes[at..bytes.len().min(at + e.error_len().unwrap_or(4))];
        let wrong: Vec<String> = wrong.iter().map(|b| format!("0x{b:02x}")).collect();
        let wrong = wrong.join(" ");
        SqlError::new("22021", format!("invalid byte sequence for encoding \"UTF8\": {wrong}"))
    })
}
