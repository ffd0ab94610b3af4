//! What does a session say besides rows, and where does it get the data of a COPY?
//!
//! Notices are kept for the caller, up to [`NOTICES`]; other messages are of no use in this process.

use onlap_sql::{Client, CopyData, Reply, Result, SqlError};

use crate::errors;

/// Notices that are kept of a statement: a loop that raises them would fill memory.
const NOTICES: usize = 100;

/// Record batches, or why there are no more.
pub type Batches =
    Box<dyn FnMut() -> Option<std::result::Result<arrow_array::RecordBatch, String>> + Send>;

/// Fields of a message, by their kind.
pub type Fields = Vec<(String, String)>;

/// A client without a wire.
#[derive(Default)]
pub struct Messages {
    reply: Reply,
    notices: Vec<Fields>,
    tags: Vec<String>,
    failure: Option<Fields>,
    source: Option<Batches>,
}

impl Messages {
    /// The data of the next COPY.
    pub fn set_source(&mut self, source: Option<Batches>) {
        self.source = source;
    }
    /// Notices since the last time.
    pub fn take_notices(&mut self) -> Vec<Fields> {
        self.read();
        std::mem::take(&mut self.notices)
    }
    /// Tags of statements since the last time, and the error that ended them.
    pub fn take_tags(&mut self) -> (Vec<String>, Option<Fields>) {
        self.read();
        (std::mem::take(&mut self.tags), self.failure.take())
    }

    /// Takes the messages apart that were collected.
    fn read(&mut self) {
        let bytes = std::mem::take(self.reply.bytes());
        let mut rest = &bytes[..];
        while let [kind, a, b, c, d, body @ ..] = rest {
            let length = u32::from_be_bytes([*a, *b, *c, *d]) as usize;
            let Some(length) = length.checked_sub(4).filter(|length| *length <= body.len()) else {
                break;
            };
            let (body, after) = body.split_at(length);
            rest = after;
            match kind {
                b'N' if self.notices.len() < NOTICES => self.notices.push(fields(body)),
                b'E' => self.failure = Some(fields(body)),
                b'C' => self.tags.push(text(body.strip_suffix(&[0]).unwrap_or(body))),
                _ => {}
            }
        }
    }
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

fn fields(body: &[u8]) -> Fields {
    let parts = body.split(|byte| *byte == 0).filter_map(|part| part.split_first());
    parts.map(|(kind, value)| (char::from(*kind).to_string(), text(value))).collect()
}

impl Client for Messages {
    fn reply(&mut self) -> &mut Reply {
        &mut self.reply
    }
    fn send(&mut self) -> Result<()> {
        self.read();
        Ok(())
    }
    fn note(&mut self, error: &SqlError) {
        // Others are told as exceptions, whose reader has the log.
        if error.as_defect().is_some() {
            errors::note(error);
        }
    }
    fn copy_data(&mut self) -> Result<CopyData> {
        let Some(source) = &mut self.source else {
            return Ok(CopyData::Failed("there are no data: use Table.insert".into()));
        };
        Ok(match source() {
            None => CopyData::Done,
            Some(Ok(batch)) => CopyData::Columns(batch),
            Some(Err(why)) => CopyData::Failed(why),
        })
    }
}
