//! What does a stream in binary format say?

use super::Decoder;
use super::sink::Sink;
use crate::error::{Result, SqlError, state};

/// What every stream begins with; flags and the length of an extension follow.
pub const SIGNATURE: &[u8; 11] = b"PGCOPY\n\xff\r\n\0";

/// Takes binary format apart.
#[derive(Default)]
pub struct Binary {
    left: Vec<u8>,
    /// Whether the header was read.
    begun: bool,
    ended: bool,
}

fn word(bytes: &[u8], at: usize) -> Option<i32> {
    let four = bytes.get(at..at + 4)?;
    Some(i32::from_be_bytes([four[0], four[1], four[2], four[3]]))
}

fn bad(text: &str) -> SqlError {
    SqlError::new(state::BAD_COPY, text)
}

impl Binary {
    /// Length of the header, once all of it is there.
    fn header(bytes: &[u8]) -> Result<Option<usize>> {
        let known = bytes.len().min(SIGNATURE.len());
        if bytes[..known] != SIGNATURE[..known] {
            return Err(bad("COPY file signature not recognized"));
        }
        let (Some(flags), Some(extension)) = (word(bytes, 11), word(bytes, 15)) else {
            return Ok(None);
        };
        if flags & (1 << 16) != 0 {
            return Err(bad("invalid COPY file header (WITH OIDS)"));
        }
        if flags as u32 >> 16 != 0 {
            return Err(bad("unrecognized critical flags in COPY file header"));
        }
        let extension = usize::try_from(extension).map_err(|_| bad("invalid COPY file header"))?;
        let length = 19 + extension;
        Ok((bytes.len() >= length).then_some(length))
    }

    /// Length of the first row, once all of it is there.
    fn row_length(bytes: &[u8], sink: &Sink<'_>) -> Result<Option<usize>> {
        let [a, b, ..] = bytes else { return Ok(None) };
        let count = i16::from_be_bytes([*a, *b]);
        if count == -1 {
            return Ok(Some(2));
        }
        if usize::try_from(count).ok() != Some(sink.width()) {
            let text = format!("row field count is {count}, expected {}", sink.width());
            return Err(bad(&text));
        }
        let mut at = 2;
        for _ in 0..count {
            let Some(length) = word(bytes, at) else { return Ok(None) };
            let length = match length {
                -1 => 0,
                length => usize::try_from(length).map_err(|_| bad("invalid field size"))?,
            };
            at += 4 + length;
        }
        Ok((bytes.len() >= at).then_some(at))
    }

    fn row(&mut self, row: &[u8], sink: &mut Sink<'_>) -> Result<()> {
        if row == (-1i16).to_be_bytes() {
            self.ended = true;
            return Ok(());
        }
        sink.line += 1;
        let mut at = 2;
        while at < row.len() {
            let length = word(row, at).and_then(|n| usize::try_from(n).ok());
            at += 4;
            match length {
                None => sink.null()?,
                Some(length) => {
                    sink.binary(&row[at..at + length])?;
                    at += length;
                }
            }
        }
        sink.end_row()
    }
}

impl Decoder for Binary {
    fn piece(&mut self, bytes: &[u8], sink: &mut Sink<'_>) -> Result<()> {
        let mut all = std::mem::take(&mut self.left);
        all.extend_from_slice(bytes);
        let mut from = 0;
        if !self.begun
            && let Some(length) = Binary::header(&all)?
        {
            self.begun = true;
            from = length;
        }
        while self.begun
            && !self.ended
            && let Some(length) = Binary::row_length(&all[from..], sink)?
        {
            self.row(&all[from..from + length], sink)?;
            from += length;
        }
        all.drain(..from);
        self.left = all;
        Ok(())
    }

    fn end(&mut self, _: &mut Sink<'_>) -> Result<()> {
        match (self.begun, self.left.is_empty() || self.ended) {
            (false, _) => Err(bad("COPY file signature not recognized")),
            (true, false) => Err(bad("unexpected EOF in COPY data")),
            (true, true) => Ok(()),
        }
    }
}
