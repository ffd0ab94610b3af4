//! How do texts, names, bytes and uuids compare?
//!
//! By their bytes, as collation C says; char(n) without the blanks at its end. Comparison is a loop over whole columns:
//! a row that is NULL is compared as well, and what came of it is masked.

use arrow_array::{Array, ArrayRef, BooleanArray};
use arrow_buffer::{BooleanBuffer, NullBuffer};
use onlap_pg::value::chars;

use crate::{Bytes, Char, Col, Entry, Kernel, Text, Ty, Uuid, each};

/// The NULLs of a result that is NULL where an argument is.
pub(super) fn nulls(args: &[Col], rows: usize) -> Option<NullBuffer> {
    let mut all = None;
    for col in args.iter().filter(|col| col.array.null_count() > 0) {
        let own = match col.is_const {
            true => Some(NullBuffer::new_null(rows)),
            false => col.array.nulls().cloned(),
        };
        all = NullBuffer::union(all.as_ref(), own.as_ref());
    }
    all
}

/// A comparison of two columns of any representation.
pub(crate) fn bools<A: Ty, B: Ty>(
    f: impl for<'x, 'y> Fn(A::Value<'x>, B::Value<'y>) -> bool + Send + Sync + 'static,
) -> Box<dyn Kernel> {
    each(move |args, rows, cx| {
        cx.go_on()?;
        let (left, right) = (A::column(&args[0].array), B::column(&args[1].array));
        let (a, b) = (usize::from(!args[0].is_const), usize::from(!args[1].is_const));
        let nulls = nulls(args, rows);
        let bits = match nulls.as_ref().is_some_and(|nulls| nulls.null_count() == rows) {
            true => BooleanBuffer::new_unset(rows),
            // What lies in the place of NULL is no value of the type.
            false => BooleanBuffer::collect_bool(rows, |row| {
                nulls.as_ref().is_none_or(|nulls| nulls.is_valid(row))
                    && f(A::get(&left, row * a), B::get(&right, row * b))
            }),
        };
        Ok(std::sync::Arc::new(BooleanArray::new(bits, nulls)) as ArrayRef)
    })
}

/// The six comparisons of values by a key of theirs.
macro_rules! six {
    ($a:ty, $b:ty, $key:expr; $eq:literal $ne:literal $lt:literal $le:literal $gt:literal $ge:literal) => {
        &[
            ($eq, |_| bools::<$a, $b>(|a, b| $key(a) == $key(b))),
            ($ne, |_| bools::<$a, $b>(|a, b| $key(a) != $key(b))),
            ($lt, |_| bools::<$a, $b>(|a, b| $key(a) < $key(b))),
            ($le, |_| bools::<$a, $b>(|a, b| $key(a) <= $key(b))),
            ($gt, |_| bools::<$a, $b>(|a, b| $key(a) > $key(b))),
            ($ge, |_| bools::<$a, $b>(|a, b| $key(a) >= $key(b))),
        ]
    };
}

pub(crate) use six;

/// The four orders by which an index of patterns is kept.
macro_rules! four {
    ($a:ty, $key:expr; $lt:literal $le:literal $gt:literal $ge:literal) => {
        &[
            ($lt, |_| bools::<$a, $a>(|a, b| $key(a) < $key(b))),
            ($le, |_| bools::<$a, $a>(|a, b| $key(a) <= $key(b))),
            ($gt, |_| bools::<$a, $a>(|a, b| $key(a) > $key(b))),
            ($ge, |_| bools::<$a, $a>(|a, b| $key(a) >= $key(b))),
        ]
    };
}

pub(crate) use four;

#[inline]
fn same<T>(value: T) -> T {
    value
}

/// text with text
pub const TEXTS: &[Entry] = six!(Text, Text, same; "texteq(text,text)" "textne(text,text)" "text_lt(text,text)"
        "text_le(text,text)" "text_gt(text,text)" "text_ge(text,text)");

/// text in the order of patterns
pub const TEXT_PATTERNS: &[Entry] = four!(Text, same; "text_pattern_lt(text,text)" "text_pattern_le(text,text)"
        "text_pattern_gt(text,text)" "text_pattern_ge(text,text)");

/// name with name
pub const NAMES: &[Entry] = six!(Text, Text, same; "nameeq(name,name)" "namene(name,name)" "namelt(name,name)"
        "namele(name,name)" "namegt(name,name)" "namege(name,name)");

/// name with text
pub const NAMES_AND_TEXTS: &[Entry] = six!(Text, Text, same; "nameeqtext(name,text)" "namenetext(name,text)" "namelttext(name,text)"
        "nameletext(name,text)" "namegttext(name,text)" "namegetext(name,text)");

/// text with name
pub const TEXTS_AND_NAMES: &[Entry] = six!(Text, Text, same; "texteqname(text,name)" "textnename(text,name)" "textltname(text,name)"
        "textlename(text,name)" "textgtname(text,name)" "textgename(text,name)");

/// char(n) with char(n)
pub const PADDED: &[Entry] = six!(Text, Text, chars::key; "bpchareq(bpchar,bpchar)" "bpcharne(bpchar,bpchar)"
        "bpcharlt(bpchar,bpchar)" "bpcharle(bpchar,bpchar)" "bpchargt(bpchar,bpchar)"
        "bpcharge(bpchar,bpchar)");

/// char(n) in the order of patterns
pub const PADDED_PATTERNS: &[Entry] = four!(Text, chars::key; "bpchar_pattern_lt(bpchar,bpchar)" "bpchar_pattern_le(bpchar,bpchar)"
        "bpchar_pattern_gt(bpchar,bpchar)" "bpchar_pattern_ge(bpchar,bpchar)");

/// "char" with "char"
pub const CHARS: &[Entry] = six!(Char, Char, same; "chareq(char,char)" "charne(char,char)" "charlt(char,char)"
        "charle(char,char)" "chargt(char,char)" "charge(char,char)");

/// bytea with bytea
pub const BYTES: &[Entry] = six!(Bytes, Bytes, same; "byteaeq(bytea,bytea)" "byteane(bytea,bytea)" "bytealt(bytea,bytea)"
        "byteale(bytea,bytea)" "byteagt(bytea,bytea)" "byteage(bytea,bytea)");

/// uuid with uuid
pub const UUIDS: &[Entry] = six!(Uuid, Uuid, same; "uuid_eq(uuid,uuid)" "uuid_ne(uuid,uuid)" "uuid_lt(uuid,uuid)"
        "uuid_le(uuid,uuid)" "uuid_gt(uuid,uuid)" "uuid_ge(uuid,uuid)");
