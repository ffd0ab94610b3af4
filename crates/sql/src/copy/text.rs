//! What does a stream in text format say?

use memchr::{memchr2, memchr3};

use super::Decoder;
use super::ends::{Ends, Place};
use super::options::{Header, Options};
use super::sink::Sink;
use crate::error::{Result, SqlError, state};

/// A line longer than this is refused: no value may be so long.
pub const LINE_MAX: usize = 1 << 30;

/// Takes text format apart.
pub struct Text {
    delimiter: u8,
    null: Vec<u8>,
    header: Header,
    /// The begin of a line whose end has not come, and how many bytes of it are known to hold none.
    left: Vec<u8>,
    seen: usize,
    scratch: Vec<u8>,
    ends: Ends,
    ended: bool,
}

/// A line of the data.
enum Line {
    /// Where it ends, and where the next one begins.
    To(usize, usize),
    /// Where the text of the last one ends, which the mark of the end follows.
    Last(usize),
    /// Its end has not come.
    Open,
}

impl Text {
    /// As the options say.
    pub fn new(options: &Options) -> Text {
        Text {
            delimiter: options.delimiter,
            null: options.null.clone().into_bytes(),
            header: options.header,
            left: Vec::new(),
            seen: 0,
            scratch: Vec::new(),
            ends: Ends::Unknown,
            ended: false,
        }
    }

    /// Takes all lines that are whole; how many bytes they were. Behind the `last` bytes come no others.
    fn lines(&mut self, bytes: &[u8], last: bool, sink: &mut Sink<'_>) -> Result<usize> {
        let mut from = 0;
        while !self.ended {
            match self.next_line(bytes, from, last).inspect_err(|_| sink.next_line())? {
                Line::To(end, next) => {
                    self.line(&bytes[from..end], sink)?;
                    from = next;
                }
                Line::Last(end) => {
                    self.ended = true;
                    if end > from {
                        self.line(&bytes[from..end], sink)?;
                    }
                    from = bytes.len();
                }
                Line::Open => break,
            }
        }
        self.seen = self.seen.saturating_sub(from);
        Ok(from)
    }

    /// The line that begins at a place. A backslash takes away the meaning of what follows.
    fn next_line(&mut self, bytes: &[u8], from: usize, last: bool) -> Result<Line> {
        let mut at = from.max(self.seen);
        while let Some(next) = memchr3(b'\n', b'\r', b'\\', &bytes[at..]) {
            at += next;
            self.seen = at;
            let place = match (bytes[at], bytes.get(at + 1)) {
                (b'\\', None) => Place::Open,
                (b'\\', Some(b'.')) => match self.ends.see_mark(bytes, at, last)? {
                    Place::End(_) => return Ok(Line::Last(at)),
                    Place::Open => Place::Open,
                },
                (b'\\', Some(_)) => {
                    at += 2;
                    continue;
                }
                _ => self.ends.see(bytes, at, last, false)?,
            };
            return Ok(match place {
                Place::End(length) => {
                    self.seen = at + length;
                    Line::To(at, at + length)
                }
                Place::Open => Line::Open,
            });
        }
        self.seen = bytes.len();
        Ok(Line::Open)
    }

    fn line(&mut self, line: &[u8], sink: &mut Sink<'_>) -> Result<()> {
        sink.begin_line(1, line);
        match std::mem::replace(&mut self.header, Header::Off) {
            Header::Off => {}
            Header::On => {
                sink.leave_line();
                return Ok(());
            }
            Header::Match => {
                let names = line.split(|b| *b == self.delimiter);
                return check_header(&names.map(<[u8]>::to_vec).collect::<Vec<_>>(), sink);
            }
        }
        let mut from = 0;
        loop {
            if sink.is_complete() {
                return extra(line, sink);
            }
            let (to, escaped) = field_end(&line[from..], self.delimiter);
            let field = &line[from..from + to];
            if field == self.null {
                sink.null()?;
            } else if escaped {
                unescape(field, &mut self.scratch);
                sink.text(&self.scratch)?;
            } else {
                sink.text(field)?;
            }
            from += to + 1;
            if from > line.len() {
                break;
            }
        }
        if sink.is_complete() { sink.end_row() } else { Err(sink.missing()) }
    }
}

/// What comes behind the last column. A row without columns is an empty line.
///
/// # Errors
/// `22P04`: something does.
pub(super) fn extra(line: &[u8], sink: &mut Sink<'_>) -> Result<()> {
    match (line.is_empty(), sink.width()) {
        (true, 0) => sink.end_row(),
        _ => Err(SqlError::new(state::BAD_COPY, "extra data after last expected column")),
    }
}

/// Bytes up to the end of the first value, and whether it has backslashes.
fn field_end(bytes: &[u8], delimiter: u8) -> (usize, bool) {
    let mut at = 0;
    let mut escaped = false;
    while let Some(next) = bytes.get(at..).and_then(|rest| memchr2(delimiter, b'\\', rest)) {
        at += next;
        if bytes[at] == delimiter {
            return (at, escaped);
        }
        escaped = true;
        at += 2;
    }
    (bytes.len(), escaped)
}

/// Takes the backslashes out of a value.
fn unescape(field: &[u8], out: &mut Vec<u8>) {
    out.clear();
    let mut at = 0;
    while at < field.len() {
        let byte = field[at];
        at += 1;
        if byte != b'\\' || at == field.len() {
            out.push(byte);
            continue;
        }
        let escape = field[at];
        at += 1;
        let digits = |from: usize, base: u32, most: usize| {
            let all = field[from..].iter().take(most);
            all.map_while(|b| char::from(*b).to_digit(base)).collect::<Vec<u32>>()
        };
        let number = |digits: &[u32], base: u32| digits.iter().fold(0, |n, d| n * base + d) as u8;
        match escape {
            b'b' => out.push(8),
            b'f' => out.push(12),
            b'n' => out.push(b'\n'),
            b'r' => out.push(b'\r'),
            b't' => out.push(b'\t'),
            b'v' => out.push(11),
            b'0'..=b'7' => {
                let found = digits(at - 1, 8, 3);
                out.push(number(&found, 8));
                at += found.len() - 1;
            }
            b'x' if !digits(at, 16, 2).is_empty() => {
                let found = digits(at, 16, 2);
                out.push(number(&found, 16));
                at += found.len();
            }
            other => out.push(other),
        }
    }
}

/// Compares a line of names with the columns.
pub fn check_header(names: &[Vec<u8>], sink: &mut Sink<'_>) -> Result<()> {
    if names.len() != sink.width() {
        let text = format!(
            "wrong number of fields in header line: got {}, expected {}",
            names.len(),
            sink.width()
        );
        return Err(SqlError::new(state::BAD_COPY, text));
    }
    for (i, name) in names.iter().enumerate() {
        if name != sink.column(i).as_bytes() {
            let text = format!(
                "column name mismatch in header line field {}: got \"{}\", expected \"{}\"",
                i + 1,
                String::from_utf8_lossy(name),
                sink.column(i)
            );
            return Err(SqlError::new(state::BAD_COPY, text));
        }
    }
    sink.leave_line();
    Ok(())
}

impl Decoder for Text {
    fn piece(&mut self, bytes: &[u8], sink: &mut Sink<'_>) -> Result<()> {
        if self.ended {
            return Ok(());
        }
        if self.left.is_empty() {
            let taken = self.lines(bytes, false, sink)?;
            self.left.extend_from_slice(&bytes[taken..]);
            return Ok(());
        }
        let mut all = std::mem::take(&mut self.left);
        all.extend_from_slice(bytes);
        let taken = self.lines(&all, false, sink)?;
        all.drain(..taken);
        self.left = all;
        match self.left.len() > LINE_MAX {
            true => Err(SqlError::new("54000", "a line of the COPY data is too long")),
            false => Ok(()),
        }
    }

    fn end(&mut self, sink: &mut Sink<'_>) -> Result<()> {
        let rest = std::mem::take(&mut self.left);
        let taken = self.lines(&rest, true, sink)?;
        match &rest[taken..] {
            [] => Ok(()),
            _ if self.ended => Ok(()),
            last => self.line(last, sink),
        }
    }
}
