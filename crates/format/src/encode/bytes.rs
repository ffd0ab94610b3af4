//! How do byte strings become few bytes?

use std::ops::Range;

use onlap_base::Result;

use super::Effort;
use super::int::{self, IntView};
use crate::batch::BytesVec;
use crate::wire::{self, Reader};

const RAW: u8 = 0;
const CONSTANT: u8 = 1;

/// Strings between two anchors.
const ANCHOR_ROWS: usize = 32;

/// Appends strings `range` as a stream.
pub fn encode(values: &BytesVec, range: Range<usize>, _effort: Effort, out: &mut Vec<u8>) {
    let first = if range.is_empty() { &b""[..] } else { values.get(range.start) };
    if range.clone().all(|i| values.get(i) == first) {
        out.push(CONSTANT);
        wire::put_bytes(out, first);
        return;
    }
    out.push(RAW);
    let offsets = &values.offsets[range.start..=range.end];
    put_lengths(offsets, out);
    let (from, to) = (offsets[0] as usize, offsets[offsets.len() - 1] as usize);
    out.extend_from_slice(&values.data[from..to]);
}

/// Appends the lengths between the offsets, and anchors to sum them up from.
fn put_lengths(offsets: &[u32], out: &mut Vec<u8>) {
    let lengths: Vec<i64> = offsets.windows(2).map(|w| i64::from(w[1] - w[0])).collect();
    int::encode(&lengths, Effort::Fast, out);
    if lengths.iter().any(|n| *n != lengths[0]) && lengths.len() > ANCHOR_ROWS {
        let anchors: Vec<i64> = offsets[..lengths.len()]
            .iter()
            .step_by(ANCHOR_ROWS)
            .skip(1)
            .map(|o| i64::from(o - offsets[0]))
            .collect();
        int::encode(&anchors, Effort::Fast, out);
    }
}

/// Whether a string is a UUID as PostgreSQL prints it: 36 characters, lower case.
pub fn is_uuid_text(s: &[u8]) -> bool {
    s.len() == 36
        && s.iter().enumerate().all(|(i, c)| match i {
            8 | 13 | 18 | 23 => *c == b'-',
            _ => matches!(c, b'0'..=b'9' | b'a'..=b'f'),
        })
}

/// Where each of many strings lies in the bytes behind them: lengths, and the start of every 32nd.
#[derive(Clone, Copy, Debug)]
struct Places<'a> {
    lengths: IntView<'a>,
    /// Start of strings 32, 64, …; absent where all lengths are equal.
    anchors: Option<IntView<'a>>,
    total: usize,
}

impl<'a> Places<'a> {
    fn parse(r: &mut Reader<'a>, len: usize) -> Result<Places<'a>> {
        let lengths = IntView::parse(r, len)?;
        let anchors = if lengths.constant().is_none() && len > ANCHOR_ROWS {
            Some(IntView::parse(r, (len - 1) / ANCHOR_ROWS)?)
        } else {
            None
        };
        let mut places = Places { lengths, anchors, total: 0 };
        if len > 0 {
            places.total = places.range(len - 1).end;
        }
        Ok(places)
    }

    #[inline]
    fn range(&self, i: usize) -> Range<usize> {
        if let Some(n) = self.lengths.constant() {
            let n = n as usize;
            let from = n.saturating_mul(i);
            return from..from.saturating_add(n);
        }
        let group = i / ANCHOR_ROWS;
        let mut from = match &self.anchors {
            Some(anchors) if group > 0 => anchors.get(group - 1) as usize,
            _ => 0,
        };
        for k in group * ANCHOR_ROWS..i {
            from = from.saturating_add(self.lengths.get(k) as usize);
        }
        from..from.saturating_add(self.lengths.get(i) as usize)
    }
}

#[derive(Clone, Copy, Debug)]
enum Form<'a> {
    Constant(&'a [u8]),
    Raw { places: Places<'a>, data: &'a [u8] },
}

/// An encoded stream, parsed.
#[derive(Clone, Copy, Debug)]
pub struct BytesView<'a> {
    len: usize,
    form: Form<'a>,
}

impl<'a> BytesView<'a> {
    /// Takes a stream of `len` strings off the reader. The caller has bounded `len`.
    pub fn parse(r: &mut Reader<'a>, len: usize) -> Result<BytesView<'a>> {
        let form = match r.u8()? {
            CONSTANT => Form::Constant(r.bytes()?),
            RAW => {
                let places = Places::parse(r, len)?;
                Form::Raw { places, data: r.take(places.total)? }
            }
            form => return Err(r.damaged(format!("unknown form {form} of a string stream"))),
        };
        Ok(BytesView { len, form })
    }

    /// Number of strings.
    pub fn len(&self) -> usize {
        self.len
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// Appends string `i` to a buffer.
    #[inline]
    pub fn get_into(&self, i: usize, out: &mut Vec<u8>) {
        match &self.form {
            Form::Constant(s) => out.extend_from_slice(s),
            Form::Raw { places, data } => {
                out.extend_from_slice(data.get(places.range(i)).unwrap_or(b""))
            }
        }
    }

    /// Appends the strings of a range.
    pub fn append_to(&self, range: Range<usize>, out: &mut BytesVec) {
        for i in range {
            self.push(i, out);
        }
    }

    /// Appends the strings of the given rows.
    pub fn append_selected(&self, rows: &[u32], out: &mut BytesVec) {
        for &i in rows {
            self.push(i as usize, out);
        }
    }

    fn push(&self, i: usize, out: &mut BytesVec) {
        self.get_into(i, &mut out.data);
        out.offsets.push(u32::try_from(out.data.len()).expect("byte vectors stay below 4 GiB"));
    }
}
