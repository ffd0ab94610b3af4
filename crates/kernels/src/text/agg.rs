//! Aggregates of texts and bytes.

use std::marker::PhantomData;

use arrow_array::ArrayRef;
use arrow_array::cast::AsArray;
use onlap_pg::value::chars;
use onlap_pg::{Error, Result};

use crate::adapt::Results;
use crate::aggregate::{Aggregate, AggregateEntry, State, fold};
use crate::misc::growth::enlarged;
use crate::text::bits;
use crate::{Bytes, Col, Cx, Text, Ty};

/// Aggregates.
pub const AGGREGATES: &[AggregateEntry] = &[
    ("string_agg(text,text)", |_| Box::new(Joined::<true>::default())),
    ("string_agg(bytea,bytea)", |_| Box::new(Joined::<false>::default())),
    ("min(text)", |_| best::<Plain, false>()),
    ("max(text)", |_| best::<Plain, true>()),
    ("min(bpchar)", |_| best::<Padded, false>()),
    ("max(bpchar)", |_| best::<Padded, true>()),
    ("bit_and(bit)", |_| bits::folded::<{ bits::AND }>()),
    ("bit_or(bit)", |_| bits::folded::<{ bits::OR }>()),
    ("bit_xor(bit)", |_| bits::folded::<{ bits::XOR }>()),
];

/// How texts are compared for the smallest and the largest.
pub(crate) trait Compared: Default + Send + 'static {
    /// Whether a text takes the place of the one that was largest so far, or smallest.
    fn replaces(new: &str, old: &str, max: bool) -> bool;
}

/// Byte by byte.
#[derive(Default)]
struct Plain;

/// Byte by byte without the blanks at the end: char(n).
#[derive(Default)]
struct Padded;

impl Compared for Plain {
    fn replaces(new: &str, old: &str, max: bool) -> bool {
        if max { new > old } else { new < old }
    }
}

impl Compared for Padded {
    fn replaces(new: &str, old: &str, max: bool) -> bool {
        Plain::replaces(chars::key(new), chars::key(old), max)
    }
}

/// The smallest or largest text so far, as it stood.
#[derive(Default)]
struct Best<C, const MAX: bool>(Option<String>, PhantomData<C>);

/// min or max of texts.
pub(crate) fn best<C: Compared, const MAX: bool>() -> Box<dyn Aggregate> {
    fold::<Best<C, MAX>, Text, Text>(
        |state, text, _| {
            state.take(text);
            Ok(())
        },
        |state, _| Ok(state.0.as_deref().map(Into::into)),
    )
}

impl<C: Compared, const MAX: bool> Best<C, MAX> {
    fn take(&mut self, text: &str) {
        if self.0.as_deref().is_none_or(|old| C::replaces(text, old, MAX)) {
            let kept = self.0.get_or_insert_default();
            kept.clear();
            kept.push_str(text);
        }
    }
}

impl<C: Compared, const MAX: bool> State for Best<C, MAX> {
    fn save(&self, out: &mut Vec<u8>) {
        out.push(u8::from(self.0.is_some()));
        out.extend_from_slice(self.0.as_deref().unwrap_or_default().as_bytes());
    }
    fn load(bytes: &[u8]) -> Self {
        let (has, text) = bytes.split_first().expect("a state was saved");
        let text = || String::from_utf8(text.into()).expect("a text was saved");
        Best((*has == 1).then(text), PhantomData)
    }
    fn merge(&mut self, other: Self) -> Result<()> {
        if let Some(text) = other.0 {
            self.take(&text);
        }
        Ok(())
    }
    fn size(&self) -> usize {
        self.0.as_ref().map_or(0, String::capacity)
    }
}

/// What is joined of a group: every value behind its delimiter, the first one too.
#[derive(Default)]
struct Group {
    /// Bytes of the first delimiter, which is not given; `None` before the first value.
    first: Option<u32>,
    bytes: Vec<u8>,
}

impl Group {
    fn add(&mut self, parts: [&[u8]; 2], cx: &Cx<'_>) -> Result<()> {
        let more = parts[0].len() + parts[1].len();
        enlarged(self.bytes.len(), more)?;
        let needed = self.bytes.len() + more;
        if needed > self.bytes.capacity() {
            let capacity = needed.max(self.bytes.capacity().saturating_mul(2));
            let capacity = capacity.min(onlap_pg::value::MAX_BYTES).max(needed);
            cx.room(capacity)?;
            self.bytes.reserve_exact(capacity - self.bytes.len());
        }
        self.bytes.extend_from_slice(parts[0]);
        self.bytes.extend_from_slice(parts[1]);
        Ok(())
    }

    fn given(&self) -> Option<&[u8]> {
        self.first.map(|first| &self.bytes[first as usize..])
    }
}

/// string_agg of texts or of bytes.
#[derive(Default)]
struct Joined<const TEXT: bool> {
    groups: Vec<Group>,
    /// Bytes that the groups have outside of themselves.
    outside: usize,
}

/// A row's bytes in a column of texts or bytes.
fn bytes_at<const TEXT: bool>(col: &Col, row: usize) -> Option<&[u8]> {
    if col.is_null(row) {
        return None;
    }
    Some(match TEXT {
        true => col.array.as_string::<i32>().value(col.at(row)).as_bytes(),
        false => col.array.as_binary::<i32>().value(col.at(row)),
    })
}

impl<const TEXT: bool> Joined<TEXT> {
    fn add(&mut self, group: usize, delimiter: &[u8], value: &[u8], cx: &Cx<'_>) -> Result<()> {
        let group = &mut self.groups[group];
        let before = group.bytes.capacity();
        group.add([delimiter, value], cx)?;
        group.first.get_or_insert(delimiter.len() as u32);
        self.outside += group.bytes.capacity() - before;
        Ok(())
    }
}

impl<const TEXT: bool> Aggregate for Joined<TEXT> {
    fn grow(&mut self, groups: usize) {
        self.groups.resize_with(groups.max(self.groups.len()), Group::default);
    }

    fn update(&mut self, args: &[Col], groups: &[usize], cx: &mut Cx<'_>) -> Result<()> {
        for (row, group) in groups.iter().enumerate() {
            if row % 1024 == 0 {
                cx.go_on()?;
            }
            if let Some(value) = bytes_at::<TEXT>(&args[0], row) {
                let delimiter = bytes_at::<TEXT>(&args[1], row).unwrap_or_default();
                self.add(*group, delimiter, value, cx)?;
            }
        }
        Ok(())
    }

    fn finish(&self, groups: usize, cx: &mut Cx<'_>) -> Result<ArrayRef> {
        cx.go_on()?;
        let given = self.groups[..groups].iter().map(Group::given);
        if TEXT {
            let mut out = Results::<Text>::new(groups, cx);
            for value in given {
                let Some(bytes) = value else {
                    out.push_null();
                    continue;
                };
                let text = String::from_utf8(bytes.into()).expect("texts joined are a text");
                out.push(text, cx)?;
            }
            return Ok(out.finish());
        }
        let mut out = Results::<Bytes>::new(groups, cx);
        for value in given {
            match value {
                Some(bytes) => out.push(bytes.into(), cx)?,
                None => out.push_null(),
            }
        }
        Ok(out.finish())
    }

    fn save(&self, groups: usize) -> ArrayRef {
        let mut out = Bytes::builder(groups);
        for group in &self.groups[..groups] {
            let mut bytes = Vec::new();
            if let Some(first) = group.first {
                bytes.extend(first.to_be_bytes());
                bytes.extend_from_slice(&group.bytes);
            }
            Bytes::push(&mut out, bytes).expect("states of a batch fit a column");
        }
        Bytes::finish(out)
    }

    fn merge(&mut self, saved: &ArrayRef, groups: &[usize], cx: &mut Cx<'_>) -> Result<()> {
        let saved = saved.as_binary::<i32>();
        for (row, group) in groups.iter().enumerate() {
            let state = saved.value(row);
            if state.is_empty() {
                continue;
            }
            let wrong = || Error::defect("a saved state of string_agg is cut off");
            let (first, bytes) = state.split_at_checked(4).ok_or_else(wrong)?;
            let first = u32::from_be_bytes(first.try_into().expect("four bytes")) as usize;
            let (delimiter, value) = bytes.split_at_checked(first).ok_or_else(wrong)?;
            self.add(*group, delimiter, value, cx)?;
        }
        Ok(())
    }

    fn forget(&mut self, groups: usize) {
        let gone: usize = self.groups.drain(..groups).map(|group| group.bytes.capacity()).sum();
        self.outside = self.outside.saturating_sub(gone);
    }

    fn size(&self) -> usize {
        self.groups.capacity() * size_of::<Group>() + self.outside
    }
}
