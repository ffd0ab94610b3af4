//! What does a stream in CSV format say?

use onlap::TableSchema;

use super::Decoder;
use super::ends::{Ends, Place};
use super::options::{Header, Options};
use super::sink::Sink;
use super::text::{LINE_MAX, check_header, extra};
use crate::error::{Result, SqlError, state};

/// Takes CSV apart.
pub struct Csv {
    delimiter: u8,
    quote: u8,
    escape: u8,
    null: Vec<u8>,
    header: Header,
    /// By column: whether nothing is NULL, and whether NULL may be quoted.
    forces: Vec<(bool, bool)>,
    /// The begin of a row whose end has not come.
    left: Vec<u8>,
    /// Bytes of it that are known to hold no end, and whether a quote is open there.
    seen: usize,
    open: bool,
    ended: bool,
    ends: Ends,
}

impl Csv {
    /// As the options say.
    pub fn new(options: &Options, schema: &TableSchema, columns: &[usize]) -> Csv {
        let force = |&at: &usize| {
            let name = &schema.columns[at].name;
            (options.force_not_null.has(name), options.force_null.has(name))
        };
        Csv {
            delimiter: options.delimiter,
            quote: options.quote,
            escape: options.escape,
            null: options.null.clone().into_bytes(),
            header: options.header,
            forces: columns.iter().map(force).collect(),
            left: Vec::new(),
            seen: 0,
            open: false,
            ended: false,
            ends: Ends::Unknown,
        }
    }

    /// Where the first row from `from` on ends, and where the next one begins; newlines in quotes do not end it. What was looked at
    /// is remembered for the next piece. Behind the `last` bytes come no others.
    fn row_end(&mut self, bytes: &[u8], from: usize, last: bool) -> Result<Option<(usize, usize)>> {
        let mut at = from.max(self.seen);
        while at < bytes.len() {
            let byte = bytes[at];
            if self.open && byte == self.escape && self.escape != self.quote {
                // What follows is a quote or another escape, or the escape means itself.
                match bytes.get(at + 1) {
                    None => break,
                    Some(next) if *next == self.quote || *next == self.escape => at += 1,
                    Some(_) => {}
                }
            } else if byte == self.quote {
                self.open = !self.open;
            } else if matches!(byte, b'\n' | b'\r') && !self.open {
                match self.ends.see(bytes, at, last, true)? {
                    Place::End(length) => {
                        self.seen = at + length;
                        return Ok(Some((at, at + length)));
                    }
                    Place::Open => break,
                }
            }
            at += 1;
        }
        self.seen = at;
        Ok(None)
    }

    /// Takes all rows that are whole; how many bytes they were.
    fn rows(&mut self, bytes: &[u8], last: bool, sink: &mut Sink<'_>) -> Result<usize> {
        let mut from = 0;
        while !self.ended {
            let before = self.ends;
            let end = self.row_end(bytes, from, last).inspect_err(|_| sink.next_line())?;
            let Some((end, next)) = end else { break };
            self.row(&bytes[from..end], before, sink)?;
            from = next;
        }
        self.seen = self.seen.saturating_sub(from);
        Ok(from)
    }

    /// Takes a row; before it lines ended so.
    fn row(&mut self, row: &[u8], before: Ends, sink: &mut Sink<'_>) -> Result<()> {
        // As PostgreSQL counts lines within a row, which knows of the first row only at its end how they end.
        let counted = if before == Ends::Newline { b'\n' } else { b'\r' };
        let inside = row.iter().filter(|b| **b == counted).count() as u64;
        sink.begin_line(1 + inside, row);
        if row == b"\\." {
            self.ended = true;
            sink.leave_line();
            return Ok(());
        }
        let header = std::mem::replace(&mut self.header, Header::Off);
        if header == Header::On {
            sink.leave_line();
            return Ok(());
        }
        if sink.width() == 0 && header == Header::Off {
            return extra(row, sink);
        }
        let mut names = Vec::new();
        let mut from = 0;
        let mut value = Vec::new();
        loop {
            let (to, quoted) = self.value(row, from, &mut value)?;
            if header == Header::Match {
                names.push(value.clone());
            } else if sink.is_complete() {
                let text = "extra data after last expected column";
                return Err(SqlError::new(state::BAD_COPY, text));
            } else {
                self.push(&value, quoted, names.len(), sink)?;
                names.push(Vec::new());
            }
            from = to + 1;
            if to >= row.len() {
                break;
            }
        }
        match header {
            Header::Match => check_header(&names, sink),
            _ if sink.is_complete() => sink.end_row(),
            _ => Err(sink.missing()),
        }
    }

    fn push(&self, value: &[u8], quoted: bool, at: usize, sink: &mut Sink<'_>) -> Result<()> {
        let (not_null, null) = self.forces[at];
        let is_null = value == self.null && if quoted { null } else { !not_null };
        match is_null {
            true => sink.null()?,
            false => sink.text(value)?,
        }
        Ok(())
    }

    /// Reads a value; where it ended, and whether any of it was quoted.
    fn value(&self, row: &[u8], from: usize, out: &mut Vec<u8>) -> Result<(usize, bool)> {
        out.clear();
        let (mut at, mut open, mut quoted) = (from, false, false);
        while at < row.len() {
            let byte = row[at];
            let next = row.get(at + 1).copied();
            let escapes =
                byte == self.escape && next.is_some_and(|n| n == self.quote || n == self.escape);
            if open && escapes {
                out.extend(next);
                at += 1;
            } else if byte == self.quote {
                open = !open;
                quoted = true;
            } else if byte == self.delimiter && !open {
                return Ok((at, quoted));
            } else {
                out.push(byte);
            }
            at += 1;
        }
        match open {
            true => Err(SqlError::new(state::BAD_COPY, "unterminated CSV quoted field")),
            false => Ok((at, quoted)),
        }
    }
}

impl Decoder for Csv {
    fn piece(&mut self, bytes: &[u8], sink: &mut Sink<'_>) -> Result<()> {
        let mut all = std::mem::take(&mut self.left);
        all.extend_from_slice(bytes);
        let taken = self.rows(&all, false, sink)?;
        all.drain(..taken);
        self.left = all;
        match self.left.len() > LINE_MAX {
            true => Err(SqlError::new("54000", "a row of the COPY data is too long")),
            false => Ok(()),
        }
    }

    fn end(&mut self, sink: &mut Sink<'_>) -> Result<()> {
        let rest = std::mem::take(&mut self.left);
        let taken = self.rows(&rest, true, sink)?;
        match &rest[taken..] {
            [] => Ok(()),
            _ if self.ended => Ok(()),
            last => self.row(last, self.ends, sink),
        }
    }
}
