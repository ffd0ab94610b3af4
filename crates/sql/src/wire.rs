//! What goes to the client?
//!
//! [`Reply`] collects messages of the PostgreSQL protocol as bytes and hands them on when asked, or when
//! they grow large: a prepared query is one write. Rows are encoded straight into it. [`Client`] is who
//! receives them, and who sends the data of a COPY.
//!
//! Must not know how bytes travel. Formats: PostgreSQL 15 documentation, chapter 55.7. Thread safety:
//! belongs to its session.

use arrow_array::RecordBatch;

use crate::encoding::{Encoding, Form};
use crate::error::{Result, SqlError};

/// Bytes after which a reply is handed on before it is complete.
const LARGE: usize = 64 << 10;

/// Where replies go, and COPY data comes from.
pub trait Client {
    /// Messages for the client.
    fn reply(&mut self) -> &mut Reply;
    /// Sends what was collected; blocks while the client does not read.
    ///
    /// # Errors
    /// The client is gone.
    fn send(&mut self) -> Result<()>;
    /// An error that is for the log: the client gets it, or a routine takes it. [`Client::error`] calls this.
    fn note(&mut self, _error: &SqlError) {}
    /// Collects the error of a statement, with its severity: ERROR, FATAL.
    fn error(&mut self, severity: &str, error: &SqlError) {
        self.note(error);
        self.reply().error(severity, error);
    }
    /// The next piece of COPY data, after a CopyInResponse was collected; sends that first.
    ///
    /// # Errors
    /// The client is gone, or sent something else.
    fn copy_data(&mut self) -> Result<CopyData>;
}

/// What a client sends during COPY FROM STDIN.
#[derive(Debug, PartialEq)]
pub enum CopyData {
    /// Rows as columns, one for each that the statement names: a client in this process may have them.
    Columns(RecordBatch),
    /// Some bytes, cut anywhere.
    Piece(Vec<u8>),
    /// That was all.
    Done,
    /// The client gave up, and says why.
    Failed(String),
}

/// Sends when much was collected.
pub fn send_if_large(client: &mut dyn Client) -> Result<()> {
    if client.reply().bytes.len() >= LARGE { client.send() } else { Ok(()) }
}

/// One column of an answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Field<'a> {
    /// Name.
    pub name: &'a str,
    /// Type's OID.
    pub oid: u32,
    /// Bytes of a value, negative where they vary.
    pub size: i16,
    /// Type modifier, -1 without.
    pub modifier: i32,
    /// OID of the table it is a column of, or 0, and the column's number there.
    pub origin: (u32, i16),
}

/// Messages for a client, as bytes.
#[derive(Debug, Default)]
pub struct Reply {
    bytes: Vec<u8>,
    encoding: Encoding,
    /// Whether notices are left out, and warnings.
    unwanted: (bool, bool),
}

impl Reply {
    /// None yet.
    pub fn new() -> Reply {
        Reply::default()
    }
    /// What was collected; the caller takes it.
    pub fn bytes(&mut self) -> &mut Vec<u8> {
        &mut self.bytes
    }

    /// How the client writes and reads texts.
    pub fn encoding(&self) -> Encoding {
        self.encoding
    }
    /// Texts are in this encoding from now on.
    pub fn set_encoding(&mut self, encoding: Encoding) {
        self.encoding = encoding;
    }

    /// One message: type and body.
    pub fn message(&mut self, kind: u8, body: impl FnOnce(&mut Vec<u8>)) {
        let at = self.begin(kind);
        body(&mut self.bytes);
        self.end(at);
    }
    fn begin(&mut self, kind: u8) -> usize {
        self.bytes.push(kind);
        self.bytes.extend_from_slice(&[0; 4]);
        self.bytes.len() - 4
    }
    fn end(&mut self, at: usize) {
        let length = (self.bytes.len() - at) as u32;
        self.bytes[at..at + 4].copy_from_slice(&length.to_be_bytes());
    }

    /// RowDescription; `formats` as the client asked: none for text, one for all, or one each.
    pub fn row_description<'a>(
        &mut self,
        fields: impl ExactSizeIterator<Item = Field<'a>>,
        formats: &[i16],
    ) {
        let encoding = self.encoding;
        self.message(b'T', |out| {
            out.extend_from_slice(&(fields.len() as i16).to_be_bytes());
            for (i, field) in fields.enumerate() {
                push_string(out, &encoding.shown(field.name));
                out.extend_from_slice(&field.origin.0.to_be_bytes());
                out.extend_from_slice(&field.origin.1.to_be_bytes());
                out.extend_from_slice(&field.oid.to_be_bytes());
                out.extend_from_slice(&field.size.to_be_bytes());
                out.extend_from_slice(&field.modifier.to_be_bytes());
                out.extend_from_slice(&format_of(formats, i).to_be_bytes());
            }
        });
    }
    /// A DataRow, whose values are pushed with [`RowWriter`].
    pub fn data_row(&mut self, columns: usize) -> RowWriter<'_> {
        let at = self.begin(b'D');
        self.bytes.extend_from_slice(&(columns as i16).to_be_bytes());
        RowWriter { reply: self, at }
    }
    /// CommandComplete.
    pub fn complete(&mut self, tag: &str) {
        self.message(b'C', |out| push_string(out, tag.as_bytes()));
    }
    /// EmptyQueryResponse.
    pub fn empty(&mut self) {
        self.message(b'I', |_| ());
    }
    /// ErrorResponse of a severity: ERROR, FATAL.
    pub fn error(&mut self, severity: &str, error: &SqlError) {
        let encoding = self.encoding;
        self.message(b'E', |out| push_fields(out, severity, &error.fields(), encoding));
    }
    /// From now on the client gets what `client_min_messages` says.
    pub fn set_least(&mut self, level: &str) {
        self.unwanted = (matches!(level, "warning" | "error"), level == "error");
    }

    /// NoticeResponse of a severity: WARNING, NOTICE, INFO.
    pub fn notice(&mut self, severity: &str, error: &SqlError) {
        match severity {
            "NOTICE" if self.unwanted.0 => return,
            "WARNING" if self.unwanted.1 => return,
            _ => {}
        }
        let encoding = self.encoding;
        self.message(b'N', |out| push_fields(out, severity, &error.fields(), encoding));
    }
    /// ParameterStatus.
    pub fn parameter(&mut self, name: &str, value: &str) {
        if name == "client_encoding" {
            self.encoding = Encoding::named(value);
        }
        let encoding = self.encoding;
        self.message(b'S', |out| {
            push_string(out, name.as_bytes());
            push_string(out, &encoding.shown(value));
        });
    }
    /// ParameterDescription: OIDs of a statement's parameters.
    pub fn parameters(&mut self, oids: &[u32]) {
        self.message(b't', |out| {
            out.extend_from_slice(&(oids.len() as i16).to_be_bytes());
            oids.iter().for_each(|oid| out.extend_from_slice(&oid.to_be_bytes()));
        });
    }
    /// NotificationResponse: whose it is, the channel, and what is told.
    pub fn notification(&mut self, pid: i32, channel: &str, payload: &str) {
        let encoding = self.encoding;
        self.message(b'A', |out| {
            out.extend_from_slice(&pid.to_be_bytes());
            push_string(out, &encoding.shown(channel));
            push_string(out, &encoding.shown(payload));
        });
    }
    /// NoData.
    pub fn no_data(&mut self) {
        self.message(b'n', |_| ());
    }
    /// PortalSuspended.
    pub fn suspended(&mut self) {
        self.message(b's', |_| ());
    }
    /// ReadyForQuery: `I`, `T` or `E`.
    pub fn ready(&mut self, status: u8) {
        self.message(b'Z', |out| out.push(status));
    }
    /// CopyInResponse (`G`) or CopyOutResponse (`H`) of so many columns, all text or all binary.
    pub fn copy_response(&mut self, kind: u8, binary: bool, columns: usize) {
        self.message(kind, |out| {
            out.push(binary as u8);
            out.extend_from_slice(&(columns as i16).to_be_bytes());
            (0..columns).for_each(|_| out.extend_from_slice(&(binary as i16).to_be_bytes()));
        });
    }
    /// CopyData.
    pub fn copy_data(&mut self, data: &[u8]) {
        self.message(b'd', |out| out.extend_from_slice(data));
    }
    /// CopyDone.
    pub fn copy_done(&mut self) {
        self.message(b'c', |_| ());
    }
}

/// Writes the values of a row, each once, in order.
pub struct RowWriter<'a> {
    reply: &'a mut Reply,
    at: usize,
}

impl RowWriter<'_> {
    /// NULL.
    pub fn null(&mut self) {
        self.reply.bytes.extend_from_slice(&(-1i32).to_be_bytes());
    }
    /// A value of these bytes.
    #[inline]
    pub fn bytes(&mut self, value: &[u8]) {
        let out = &mut self.reply.bytes;
        out.extend_from_slice(&(value.len() as u32).to_be_bytes());
        out.extend_from_slice(value);
    }
    /// A value whose bytes `write` appends.
    pub fn value(&mut self, write: impl FnOnce(&mut Vec<u8>)) {
        let out = &mut self.reply.bytes;
        let at = out.len();
        out.extend_from_slice(&[0; 4]);
        write(out);
        let length = (out.len() - at - 4) as u32;
        out[at..at + 4].copy_from_slice(&length.to_be_bytes());
    }
    /// Ends the row; `form` says what each value has of texts, by its column.
    ///
    /// # Errors
    /// `22P05`: the client's encoding has not what a value has; there is no row then.
    pub fn finish(self, form: impl Fn(usize) -> Form) -> Result<()> {
        let RowWriter { reply, at } = self;
        if !reply.encoding.is_plain() {
            match in_encoding(&reply.bytes[at + 6..], reply.encoding, form) {
                Ok(values) => {
                    reply.bytes.truncate(at + 6);
                    reply.bytes.extend_from_slice(&values);
                }
                Err(e) => {
                    reply.bytes.truncate(at - 1);
                    return Err(e);
                }
            }
        }
        reply.end(at);
        Ok(())
    }
}

/// The values of a row, each behind its length, in another encoding.
fn in_encoding(
    mut values: &[u8],
    encoding: Encoding,
    form: impl Fn(usize) -> Form,
) -> Result<Vec<u8>> {
    let mut out = Vec::with_capacity(values.len());
    let mut column = 0;
    while let Some((length, rest)) = values.split_first_chunk::<4>() {
        let value = usize::try_from(i32::from_be_bytes(*length)).ok();
        let Some(value) = value.and_then(|length| rest.get(..length)) else {
            out.extend_from_slice(length);
            (values, column) = (rest, column + 1);
            continue;
        };
        let made = form(column).turned(value, |text| encoding.encoded(text))?;
        out.extend_from_slice(&(made.len() as u32).to_be_bytes());
        out.extend_from_slice(&made);
        (values, column) = (&rest[value.len()..], column + 1);
    }
    Ok(out)
}

/// The format of a column: 0 text, 1 binary.
pub fn format_of(formats: &[i16], column: usize) -> i16 {
    match formats {
        [] => 0,
        [one] => *one,
        each => each.get(column).copied().unwrap_or(0),
    }
}

fn push_string(out: &mut Vec<u8>, text: &[u8]) {
    // The protocol ends strings with a zero byte, so none may be inside.
    out.extend(text.iter().filter(|b| **b != 0));
    out.push(0);
}

fn push_fields(out: &mut Vec<u8>, severity: &str, fields: &[(u8, String)], encoding: Encoding) {
    for kind in [b'S', b'V'] {
        out.push(kind);
        push_string(out, severity.as_bytes());
    }
    for (kind, text) in fields {
        out.push(*kind);
        push_string(out, &encoding.shown(text));
    }
    out.push(0);
}
