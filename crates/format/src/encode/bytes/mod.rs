//! How do byte strings become few bytes, each still found by itself?
//!
//! Six forms, of which the encoder picks the smallest it can foresee. With [`Effort::Fast`] only the
//! first three are tried.
//!
//! | form | what | bytes |
//! |---|---|---|
//! | 0 raw | anything | places ([`places`]), then the strings one after the other |
//! | 1 constant | all equal | length (varint), the string |
//! | 2 uuid | all canonical lower-case UUIDs | [128-bit stream](super::wide) of the numbers, top bit flipped |
//! | 3 dictionary | few distinct strings | number of strings (varint), the strings (form 0 or 4), integer stream of indexes |
//! | 4 letters | few distinct bytes, runs at an end | [`letters`] |
//! | 5 symbols | longer texts | [`symbols`] |
//!
//! ```
//! use onlap_format::BytesVec;
//! use onlap_format::encode::{Effort, bytes};
//! use onlap_format::wire::Reader;
//! let mut values = BytesVec::default();
//! [&b"ab"[..], b"c", b"def"].iter().for_each(|s| values.push(s));
//! let mut out = Vec::new();
//! bytes::encode(&values, 0..3, Effort::Fast, &mut out);
//! // raw; lengths of width 2 above 1 (zigzag 2): 1, 0, 2; six bytes
//! assert_eq!(out, [&[0, 2, 2, 0b10_00_01, 6][..], b"abcdef"].concat());
//! let view = bytes::BytesView::parse(&mut Reader::new(&out), 3)?;
//! let mut s = Vec::new();
//! view.get_into(2, &mut s);
//! assert_eq!(s, b"def");
//! # Ok::<(), onlap_base::Error>(())
//! ```

mod dictionary;
mod letters;
mod places;
mod symbols;

use std::ops::Range;

use onlap_base::{Error, Result};

use self::letters::LettersView;
use self::places::Places;
use self::symbols::{SymbolsView, Table};
use super::Effort;
use super::int::IntView;
use super::wide::{self, WideView};
use crate::batch::BytesVec;
use crate::convert::{order_uuid, uuid_of};
use crate::key::uuid_text;
use crate::wire::{self, Reader};

const RAW: u8 = 0;
const CONSTANT: u8 = 1;
const UUID: u8 = 2;
const DICTIONARY: u8 = 3;
const LETTERS: u8 = 4;
const SYMBOLS: u8 = 5;

/// Decoding this many strings in a row costs about as much as fetching one.
const BULK_SPAN: usize = 5;

/// What an encoder of one column learns from block to block.
#[derive(Debug, Default)]
pub struct Memory {
    table: Table,
}

/// Appends strings `range` as a stream. Form 5 takes a [`Memory`], see [`encode_with`].
pub fn encode(values: &BytesVec, range: Range<usize>, effort: Effort, out: &mut Vec<u8>) {
    encode_with(None, values, range, effort, out);
}

/// [`encode`] by an encoder that has seen, and will see, more strings of the same column.
pub fn encode_with(
    memory: Option<&mut Memory>,
    values: &BytesVec,
    range: Range<usize>,
    effort: Effort,
    out: &mut Vec<u8>,
) {
    let first = if range.is_empty() { &b""[..] } else { values.get(range.start) };
    if range.clone().all(|i| values.get(i) == first) {
        out.push(CONSTANT);
        wire::put_bytes(out, first);
        return;
    }
    if let Some(ids) = parse_uuids(values, range.clone()) {
        out.push(UUID);
        return wide::encode(&ids, effort, out);
    }
    if effort == Effort::Fast {
        return put_raw(values, range, out);
    }
    let raw = (values.offsets[range.end] - values.offsets[range.start]) as usize + range.len() / 2;
    let letters = letters::plan(values, range.clone()).filter(|plan| plan.size < raw);
    let size = letters.as_ref().map_or(raw, |plan| plan.size);
    if let Some(plan) = dictionary::plan(values, range.clone(), size) {
        out.push(DICTIONARY);
        wire::put_varint(out, plan.strings.len() as u64);
        put_plain(&plan.strings, 0..plan.strings.len(), out);
        return plan.put_indexes(out);
    }
    // Letters at half the size or less are hard to beat by symbols, and cheaper.
    if size > raw / 2
        && let Some(memory) = memory
        && memory.table.put_if_smaller(values, range.clone(), size, SYMBOLS, out)
    {
        return;
    }
    match letters {
        Some(plan) => {
            out.push(LETTERS);
            plan.put(out);
        }
        None => put_raw(values, range, out),
    }
}

/// Raw or letters, whichever is smaller.
fn put_plain(values: &BytesVec, range: Range<usize>, out: &mut Vec<u8>) {
    let raw = (values.offsets[range.end] - values.offsets[range.start]) as usize;
    match letters::plan(values, range.clone()) {
        Some(plan) if plan.size < raw => {
            out.push(LETTERS);
            plan.put(out);
        }
        _ => put_raw(values, range, out),
    }
}

fn put_raw(values: &BytesVec, range: Range<usize>, out: &mut Vec<u8>) {
    out.push(RAW);
    let offsets = &values.offsets[range.start..=range.end];
    let lengths: Vec<i64> = offsets.windows(2).map(|w| i64::from(w[1] - w[0])).collect();
    places::put(&lengths, out);
    out.extend_from_slice(&values.data[offsets[0] as usize..offsets[range.len()] as usize]);
}

/// Whether a string is a UUID as PostgreSQL prints it: 36 characters, lower case.
pub fn is_uuid_text(s: &[u8]) -> bool {
    uuid_text::parse(s).is_some()
}

/// The numbers, where all strings are canonical UUIDs.
fn parse_uuids(values: &BytesVec, range: Range<usize>) -> Option<Vec<i128>> {
    let bytes = values.offsets[range.end] - values.offsets[range.start];
    if bytes as usize != range.len() * uuid_text::LEN {
        return None;
    }
    range.map(|i| uuid_text::parse(values.get(i)).map(|id| order_uuid(id.to_be_bytes()))).collect()
}

/// Fails where `more` bytes would exceed what a byte vector addresses.
fn room_for(out: &BytesVec, more: usize) -> Result<()> {
    match u32::try_from(out.data.len().saturating_add(more)) {
        Ok(_) => Ok(()),
        Err(_) => Err(Error::damaged("strings of more than 4 GiB")),
    }
}

/// Appends where strings of these lengths end; their bytes are, or will be, in `data`.
fn append_ends(lengths: &[i64], out: &mut BytesVec) {
    let mut end = *out.offsets.last().expect("offsets begin with 0");
    out.offsets.extend(lengths.iter().map(|n| {
        end += *n as u32;
        end
    }));
}

/// Strings without reference to others.
#[derive(Clone, Copy, Debug)]
enum Plain<'a> {
    Raw { places: Places<'a>, data: &'a [u8] },
    Letters(LettersView<'a>),
}

impl<'a> Plain<'a> {
    #[inline]
    fn parse(form: u8, r: &mut Reader<'a>, len: usize) -> Result<Plain<'a>> {
        match form {
            RAW => {
                let places = Places::parse(r, len)?;
                Ok(Plain::Raw { places, data: r.take(places.total())? })
            }
            LETTERS => Ok(Plain::Letters(LettersView::parse(r, len)?)),
            form => Err(r.damaged(format!("unknown form {form} of a string stream"))),
        }
    }

    #[inline]
    fn get_into(&self, i: usize, out: &mut Vec<u8>) {
        match self {
            Plain::Raw { places, data } => {
                out.extend_from_slice(data.get(places.range(i)).unwrap_or(b""));
            }
            Plain::Letters(view) => view.get_into(i, out),
        }
    }

    fn append_to(&self, range: Range<usize>, out: &mut BytesVec) -> Result<()> {
        let (places, data) = match self {
            Plain::Letters(view) => return view.append_to(range, out),
            Plain::Raw { places, data } => (places, data),
        };
        let (start, lengths) = places
            .lengths(range)
            .ok_or_else(|| Error::damaged("strings reach past the end of their column"))?;
        let total = lengths.iter().sum::<i64>() as usize;
        room_for(out, total)?;
        out.data.extend_from_slice(&data[start..start + total]);
        append_ends(&lengths, out);
        Ok(())
    }
}

#[derive(Clone, Copy, Debug)]
enum Form<'a> {
    Plain(Plain<'a>),
    Constant(&'a [u8]),
    Uuid(WideView<'a>),
    Dictionary { count: usize, strings: Plain<'a>, indexes: IntView<'a> },
    Symbols(SymbolsView<'a>),
}

/// An encoded stream, parsed.
#[derive(Clone, Copy, Debug)]
pub struct BytesView<'a> {
    len: usize,
    form: Form<'a>,
}

impl<'a> BytesView<'a> {
    /// Takes a stream of `len` strings off the reader. The caller has bounded `len`.
    #[inline]
    pub fn parse(r: &mut Reader<'a>, len: usize) -> Result<BytesView<'a>> {
        let form = match r.u8()? {
            CONSTANT => Form::Constant(r.bytes()?),
            UUID => Form::Uuid(WideView::parse(r, len)?),
            DICTIONARY => {
                // At least as many rows as distinct strings, whose lengths may take no bytes.
                let count = r.varint_max(len, "the number of strings of a dictionary")?;
                let form = r.u8()?;
                let strings = Plain::parse(form, r, count)?;
                Form::Dictionary { count, strings, indexes: IntView::parse(r, len)? }
            }
            SYMBOLS => Form::Symbols(SymbolsView::parse(r, len)?),
            form => Form::Plain(Plain::parse(form, r, len)?),
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
            Form::Plain(plain) => plain.get_into(i, out),
            Form::Constant(s) => out.extend_from_slice(s),
            Form::Uuid(ids) => {
                let id = u128::from_be_bytes(uuid_of(ids.get(i)));
                out.extend_from_slice(&uuid_text::format(id));
            }
            Form::Dictionary { count, strings, indexes } => {
                let k = indexes.get(i) as usize;
                if k < *count {
                    strings.get_into(k, out);
                }
            }
            Form::Symbols(view) => view.get_into(i, out),
        }
    }

    /// Appends the strings of a range. Fails where damage makes them impossible; what was appended
    /// by then is undefined.
    pub fn append_to(&self, range: Range<usize>, out: &mut BytesVec) -> Result<()> {
        match &self.form {
            Form::Plain(plain) => plain.append_to(range, out),
            Form::Constant(s) => {
                room_for(out, s.len().saturating_mul(range.len()))?;
                range.for_each(|_| out.push(s));
                Ok(())
            }
            Form::Uuid(ids) => {
                let mut numbers = Vec::new();
                ids.append_to(range.clone(), &mut numbers);
                room_for(out, range.len().saturating_mul(uuid_text::LEN))?;
                for id in numbers {
                    out.push(&uuid_text::format(u128::from_be_bytes(uuid_of(id))));
                }
                Ok(())
            }
            Form::Dictionary { count, strings, indexes } => {
                let mut dictionary = BytesVec::default();
                strings.append_to(0..*count, &mut dictionary)?;
                let mut chosen = Vec::new();
                indexes.append_to(range, &mut chosen);
                for k in chosen {
                    let k = usize::try_from(k).ok().filter(|k| k < count).ok_or_else(|| {
                        Error::damaged(format!("string {k} of a dictionary of {count}"))
                    })?;
                    let s = dictionary.get(k);
                    room_for(out, s.len())?;
                    out.push(s);
                }
                Ok(())
            }
            Form::Symbols(view) => view.append_to(range, out),
        }
    }

    /// Appends the strings of the given rows. Where they lie close together all between the first
    /// and the last are decoded, which is several times cheaper per string than one by one.
    pub fn append_selected(&self, rows: &[u32], out: &mut BytesVec) -> Result<()> {
        let (Some(first), Some(last)) = (rows.iter().min(), rows.iter().max()) else {
            return Ok(());
        };
        let span = *first as usize..*last as usize + 1;
        if rows.len() > 4 && span.len() / rows.len() < BULK_SPAN {
            let mut all = BytesVec::default();
            self.append_to(span.clone(), &mut all)?;
            for &i in rows {
                let s = all.get(i as usize - span.start);
                room_for(out, s.len())?;
                out.push(s);
            }
            return Ok(());
        }
        for &i in rows {
            self.get_into(i as usize, &mut out.data);
            room_for(out, 0)?;
            out.offsets.push(out.data.len() as u32);
        }
        Ok(())
    }
}
