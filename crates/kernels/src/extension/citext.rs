//! What do functions of citext give?
//!
//! A text in whose comparisons the case of letters does not count, which the collation C has for ASCII alone. Functions that the
//! extension defines by SQL call the kernels that this SQL would.

use std::borrow::Cow;
use std::cmp::Ordering;
use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::{Array as _, StringArray};
use onlap_pg::Result;

use crate::aggregate::AggregateEntry;
use crate::array::{Array, element};
use crate::series::{Rows, Series, SeriesEntry};
use crate::text::agg::{Compared, best};
use crate::text::compare::{bools, four, six};
use crate::{Col, Cx, Datum, Entry, Int4, Kernel, Make, Repr, Text, Types, each, two};

/// Functions with another name.
pub const SAME: &[(&str, &str)] = &[
    ("citext(bpchar)", "text(bpchar)"),
    ("citext(bool)", "text(bool)"),
    ("citext(inet)", "text(inet)"),
    ("texticlike(citext,citext)", "texticlike(text,text)"),
    ("texticlike(citext,text)", "texticlike(text,text)"),
    ("texticnlike(citext,citext)", "texticnlike(text,text)"),
    ("texticnlike(citext,text)", "texticnlike(text,text)"),
    ("texticregexeq(citext,citext)", "texticregexeq(text,text)"),
    ("texticregexeq(citext,text)", "texticregexeq(text,text)"),
    ("texticregexne(citext,citext)", "texticregexne(text,text)"),
    ("texticregexne(citext,text)", "texticregexne(text,text)"),
];

/// A text as it is compared.
struct Folded<'a>(&'a str);

impl Folded<'_> {
    fn bytes(&self) -> impl Iterator<Item = u8> + '_ {
        self.0.bytes().map(|byte| byte.to_ascii_lowercase())
    }
}

impl PartialEq for Folded<'_> {
    fn eq(&self, other: &Self) -> bool {
        self.0.eq_ignore_ascii_case(other.0)
    }
}

impl PartialOrd for Folded<'_> {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.bytes().cmp(other.bytes()))
    }
}

/// Comparisons.
pub const COMPARISONS: &[Entry] = six!(Text, Text, Folded; "citext_eq(citext,citext)" "citext_ne(citext,citext)"
        "citext_lt(citext,citext)" "citext_le(citext,citext)" "citext_gt(citext,citext)"
        "citext_ge(citext,citext)");

/// Comparisons in the order of patterns.
pub const PATTERNS: &[Entry] = four!(Text, Folded; "citext_pattern_lt(citext,citext)" "citext_pattern_le(citext,citext)"
        "citext_pattern_gt(citext,citext)" "citext_pattern_ge(citext,citext)");

/// Functions.
pub const ENTRIES: &[Entry] = &[
    ("citext_cmp(citext,citext)", |_| order()),
    ("citext_pattern_cmp(citext,citext)", |_| order()),
    ("citext_smaller(citext,citext)", |_| chosen(Ordering::Less)),
    ("citext_larger(citext,citext)", |_| chosen(Ordering::Greater)),
    ("regexp_match(citext,citext)", |types| through("regexp_match(text,text,text)", types, with_i)),
    ("regexp_match(citext,citext,text)", |types| {
        through("regexp_match(text,text,text)", types, |args| flagged(args, 2))
    }),
    ("regexp_replace(citext,citext,text)", |types| {
        through("regexp_replace(text,text,text,text)", types, with_i)
    }),
    ("regexp_replace(citext,citext,text,text)", |types| {
        through("regexp_replace(text,text,text,text)", types, |args| flagged(args, 3))
    }),
    ("regexp_split_to_array(citext,citext)", |types| {
        through("regexp_split_to_array(text,text,text)", types, with_i)
    }),
    ("regexp_split_to_array(citext,citext,text)", |types| {
        through("regexp_split_to_array(text,text,text)", types, |args| flagged(args, 2))
    }),
    ("strpos(citext,citext)", |types| through("strpos(text,text)", types, |args| folded(args, 2))),
    ("replace(citext,citext,citext)", |types| {
        through("regexp_replace(text,text,text,text)", types, |args| {
            let pattern = mapped(&args[1], |text| escaped(text).into());
            vec![args[0].clone(), pattern, args[2].clone(), constant("gi")]
        })
    }),
    ("split_part(citext,citext,int4)", split_part),
    ("translate(citext,citext,text)", translate),
];

/// Functions that give sets.
pub const SERIES: &[SeriesEntry] = &[
    ("regexp_matches(citext,citext)", |types| set("regexp_matches(text,text,text)", types)),
    ("regexp_matches(citext,citext,text)", |types| set("regexp_matches(text,text,text)", types)),
    ("regexp_split_to_table(citext,citext)", |types| {
        set("regexp_split_to_table(text,text,text)", types)
    }),
    ("regexp_split_to_table(citext,citext,text)", |types| {
        set("regexp_split_to_table(text,text,text)", types)
    }),
];

/// Aggregates.
pub const AGGREGATES: &[AggregateEntry] =
    &[("min(citext)", |_| best::<AnyCase, false>()), ("max(citext)", |_| best::<AnyCase, true>())];

/// How the kernel of a function of texts is made.
fn of_text(name: &str) -> Make {
    let all = crate::text::ENTRIES.iter().copied().flatten();
    let found = all.into_iter().find(|(known, _)| *known == name);
    found.unwrap_or_else(|| panic!("{name} is a kernel")).1
}

/// The kernel of a function of texts, called with other arguments.
fn through(name: &str, types: &Types, change: fn(&[Col]) -> Vec<Col>) -> Box<dyn Kernel> {
    let inner = of_text(name)(types);
    each(move |args, rows, cx| {
        // No argument becomes more than twice as long.
        let bytes: usize = args.iter().map(|col| col.array.get_buffer_memory_size()).sum();
        cx.session.room(bytes.saturating_mul(2))?;
        inner.eval(&change(args), rows, cx)
    })
}

fn order() -> Box<dyn Kernel> {
    two::<Text, Text, Int4>(|a, b, _| Ok(Folded(a).bytes().cmp(Folded(b).bytes()) as i32))
}

/// A column of texts, each made of another one.
fn mapped(col: &Col, f: impl for<'a> Fn(&'a str) -> Cow<'a, str>) -> Col {
    let texts = col.array.as_string::<i32>().iter();
    let made: StringArray = texts.map(|text| text.map(&f)).collect();
    Col { array: Arc::new(made), is_const: col.is_const }
}

fn constant(text: &str) -> Col {
    Col::constant(Arc::new(StringArray::from(vec![text])))
}

/// The first arguments in small letters.
fn folded(args: &[Col], count: usize) -> Vec<Col> {
    let small = |col: &Col| mapped(col, |text| text.to_ascii_lowercase().into());
    args[..count].iter().map(small).chain(args[count..].iter().cloned()).collect()
}

/// The flag of case as the last argument.
fn with_i(args: &[Col]) -> Vec<Col> {
    args.iter().cloned().chain([constant("i")]).collect()
}

/// The flag of case among others, unless these say something of case.
fn with_case(flags: &str) -> String {
    if flags.contains('c') { flags.into() } else { format!("{flags}i") }
}

fn flagged(args: &[Col], at: usize) -> Vec<Col> {
    let mut args = args.to_vec();
    args[at] = mapped(&args[at], |flags| with_case(flags).into());
    args
}

/// An expression that means a text as it stands.
fn escaped(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        if !(c.is_ascii_alphanumeric() || c == '_') {
            out.push('\\');
        }
        out.push(c);
    }
    out
}

fn split_part(types: &Types) -> Box<dyn Kernel> {
    let inner = of_text("regexp_split_to_array(text,text,text)")(types);
    each(move |args, rows, cx| {
        let pattern = mapped(&args[1], |text| escaped(text).into());
        let fields = inner.eval(&[args[0].clone(), pattern, constant("i")], rows, cx)?;
        let part = |row: usize| match Datum::at(&fields, Repr::Bytes, row) {
            Datum::Bytes(bytes) if !args[2].is_null(row) => {
                let at = Datum::at(&args[2].array, Repr::Int4, args[2].at(row));
                let Datum::Int4(at) = at else { return Datum::Null };
                element(&Array::load(&bytes, Repr::Text), &[at]).into_owned()
            }
            _ => Datum::Null,
        };
        let parts: Vec<Datum<'static>> = (0..rows).map(part).collect();
        Datum::column(Repr::Text, parts.iter())
    })
}

fn translate(types: &Types) -> Box<dyn Kernel> {
    let inner = of_text("translate(text,text,text)")(types);
    each(move |args, rows, cx| {
        let [text, from, to] = args else { unreachable!("it has three arguments") };
        let small = mapped(from, |text| text.to_ascii_lowercase().into());
        let large = mapped(from, |text| text.to_ascii_uppercase().into());
        let first = inner.eval(&[text.clone(), small, to.clone()], rows, cx)?;
        inner.eval(&[Col::new(first), large, to.clone()], rows, cx)
    })
}

/// Of two texts the one that comes first or last; of equal ones the second.
fn chosen(wanted: Ordering) -> Box<dyn Kernel> {
    each(move |args, rows, cx| {
        cx.go_on()?;
        let value = |row: usize| {
            let at = |col: &Col| Datum::at(&col.array, Repr::Text, col.at(row)).into_owned();
            match (at(&args[0]), at(&args[1])) {
                (Datum::Text(a), Datum::Text(b)) => {
                    let is_first = Folded(&a).partial_cmp(&Folded(&b)) == Some(wanted);
                    Datum::Text(if is_first { a } else { b })
                }
                _ => Datum::Null,
            }
        };
        let all: Vec<Datum<'static>> = (0..rows).map(value).collect();
        Datum::column(Repr::Text, all.iter())
    })
}

/// A set of a function of texts, with the flag of case.
fn set(name: &'static str, types: &Types) -> Box<dyn Series> {
    let found = crate::text::SERIES.iter().find(|(known, _)| *known == name);
    let inner = found.unwrap_or_else(|| panic!("{name} is a series")).1(types);
    Box::new(move |args: &[Datum<'_>], cx: &mut Cx<'_>| -> Result<Rows> {
        let flags = match args.get(2) {
            None => Datum::text("i"),
            Some(Datum::Text(flags)) => Datum::text(with_case(flags)),
            Some(_) => Datum::Null,
        };
        let (text, pattern) = (args[0].clone().into_owned(), args[1].clone().into_owned());
        inner.start(&[text, pattern, flags], cx)
    })
}

/// Whatever their case; of equal ones the last.
#[derive(Default)]
struct AnyCase;

impl Compared for AnyCase {
    fn replaces(new: &str, old: &str, max: bool) -> bool {
        if max { Folded(new) >= Folded(old) } else { Folded(new) <= Folded(old) }
    }
}
