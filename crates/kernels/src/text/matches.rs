//! What do functions of regular expressions give that give arrays or sets, and which names is a qualified name made of?

use onlap_pg::{Error, Result};

use crate::array::Builder;
use crate::series::{Rows, Series, SeriesEntry};
use crate::text::patterns::{Known, Matches, Row, calls, options, options_of};
use crate::text::regex::{Flags, Span};
use crate::{Bool, Bytes, Cx, Datum, Entry, Repr, Text, two};

/// Functions.
pub const ENTRIES: &[Entry] = &[
    ("regexp_match(text,text)", |_| calls::<Bytes>(first)),
    ("regexp_match(text,text,text)", |_| calls::<Bytes>(first)),
    ("regexp_split_to_array(text,text)", |_| calls::<Bytes>(fields)),
    ("regexp_split_to_array(text,text,text)", |_| calls::<Bytes>(fields)),
    ("parse_ident(text,bool)", |_| two::<Text, Bool, Bytes>(|a, strict, _| names(a, strict))),
];

/// Functions that give sets.
pub const SERIES: &[SeriesEntry] = &[
    ("regexp_matches(text,text)", |_| sets(matches)),
    ("regexp_matches(text,text,text)", |_| sets(matches)),
    ("regexp_split_to_table(text,text)", |_| sets(table)),
    ("regexp_split_to_table(text,text,text)", |_| sets(table)),
];

/// What groups have of a match, or the whole where there are none.
fn parts(text: &str, found: &[Option<Span>]) -> Result<Vec<u8>> {
    let mut out = Builder::new(Repr::Text);
    for span in &found[usize::from(found.len() > 1)..] {
        out.push(&match span {
            Some((from, to)) => Datum::Text(text[*from..*to].into()),
            None => Datum::Null,
        })?;
    }
    Ok(out.finish())
}

fn first(row: &Row<'_>, known: &mut Known, cx: &Cx<'_>) -> Result<Option<Vec<u8>>> {
    let flags = options_of("regexp_match()", row.text_or(2, "")).map_err(|e| {
        match e.message.contains("global") {
            true => e.hint("Use the regexp_matches function instead."),
            false => e,
        }
    })?;
    let text = row.text(0);
    let found = known.get(row.text(1), flags, cx)?.find(text, 0, cx)?;
    found.map(|found| parts(text, &found)).transpose()
}

/// Where the fields of a text lie that an expression separates.
fn split(
    (text, pattern): (&str, &str),
    flags: Flags,
    known: &mut Known,
    cx: &Cx<'_>,
) -> Result<Vec<Span>> {
    let mut matches = Matches::between(text, known.get(pattern, flags, cx)?);
    let mut spans = Vec::new();
    let mut begin = 0;
    while let Some(found) = matches.next(cx)? {
        let (from, to) = found[0].expect("the whole is somewhere");
        keep(&mut spans, (begin, from), cx)?;
        begin = to;
    }
    keep(&mut spans, (begin, text.len()), cx)?;
    Ok(spans)
}

/// Adds to a list, whose memory is asked for where it grows.
fn keep<T>(list: &mut Vec<T>, value: T, cx: &Cx<'_>) -> Result<()> {
    if list.len() == list.capacity() {
        cx.room((list.len() * 2).max(4).saturating_mul(size_of::<T>()))?;
    }
    list.push(value);
    Ok(())
}

fn fields(row: &Row<'_>, known: &mut Known, cx: &Cx<'_>) -> Result<Option<Vec<u8>>> {
    let flags = options_of("regexp_split_to_array()", row.text_or(2, ""))?;
    let text = row.text(0);
    let mut out = Builder::new(Repr::Text);
    for (from, to) in split((text, row.text(1)), flags, known, cx)? {
        out.push(&Datum::Text(text[from..to].into()))?;
    }
    Ok(Some(out.finish()))
}

/// A set of texts, which does not come where an argument is NULL.
fn sets(f: fn(&[&str], &mut Cx<'_>) -> Result<Rows>) -> Box<dyn Series> {
    Box::new(move |args: &[Datum<'_>], cx: &mut Cx<'_>| -> Result<Rows> {
        let texts: Option<Vec<&str>> = args
            .iter()
            .map(|arg| match arg {
                Datum::Text(text) => Some(text.as_ref()),
                _ => None,
            })
            .collect();
        texts.map_or_else(|| Ok(Box::new(std::iter::empty()) as Rows), |texts| f(&texts, cx))
    })
}

fn option<'a>(args: &[&'a str]) -> &'a str {
    args.get(2).copied().unwrap_or("")
}

fn matches(args: &[&str], cx: &mut Cx<'_>) -> Result<Rows> {
    let (flags, all) = options(option(args))?;
    let text = args[0].to_owned();
    let mut known = Known::default();
    let mut matches = Matches::new(&text, known.get(args[1], flags, cx)?, 1, all);
    let mut found = Vec::new();
    while let Some(spans) = matches.next(cx)? {
        cx.room(size_of_val(spans.as_slice()))?;
        keep(&mut found, spans, cx)?;
    }
    let rows = found.into_iter();
    Ok(Box::new(rows.map(move |spans| Ok(vec![Datum::bytes(parts(&text, &spans)?)]))))
}

fn table(args: &[&str], cx: &mut Cx<'_>) -> Result<Rows> {
    let flags = options_of("regexp_split_to_table()", option(args))?;
    let text = args[0].to_owned();
    let spans = split((&text, args[1]), flags, &mut Known::default(), cx)?;
    let rows = spans.into_iter();
    Ok(Box::new(rows.map(move |(from, to)| Ok(vec![Datum::text(&text[from..to])]))))
}

/// The names of a qualified name; what follows them is refused if that is asked for.
fn names(text: &str, strict: bool) -> Result<Vec<u8>> {
    let refused = |detail: &str| {
        let e = Error::new("22023", format!("string is not a valid identifier: \"{text}\""));
        Err(if detail.is_empty() { e } else { e.detail(detail) })
    };
    let blank = |c: char| matches!(c, ' ' | '\t' | '\n' | '\r' | '\x0c');
    let mut out = Builder::new(Repr::Text);
    let mut rest = text.trim_start_matches(blank);
    let mut after_dot = false;
    loop {
        let name;
        if let Some(quoted) = rest.strip_prefix('"') {
            let Some((inner, behind)) = closed(quoted) else {
                return refused("String has unclosed double quotes.");
            };
            if inner.is_empty() {
                return refused("Quoted identifier must not be empty.");
            }
            (name, rest) = (inner.replace("\"\"", "\""), behind);
        } else {
            let within =
                |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '$') || c >= '\u{80}';
            let starts = |c: char| within(c) && !c.is_ascii_digit() && c != '$';
            let end = rest.find(|c| !within(c)).unwrap_or(rest.len());
            if !rest.starts_with(starts) {
                return match (rest.starts_with('.'), after_dot) {
                    (true, _) => refused("No valid identifier before \".\"."),
                    (_, true) => refused("No valid identifier after \".\"."),
                    _ => refused(""),
                };
            }
            (name, rest) = (rest[..end].to_ascii_lowercase(), &rest[end..]);
        }
        out.push(&Datum::text(name))?;
        rest = rest.trim_start_matches(blank);
        match rest.strip_prefix('.') {
            Some(behind) => rest = behind.trim_start_matches(blank),
            None if rest.is_empty() || !strict => return Ok(out.finish()),
            None => return refused(""),
        }
        after_dot = true;
    }
}

/// What stands before the quote that is not doubled, and behind it.
fn closed(text: &str) -> Option<(&str, &str)> {
    let mut at = 0;
    loop {
        at += text[at..].find('"')?;
        if !text[at + 1..].starts_with('"') {
            return Some((&text[..at], &text[at + 1..]));
        }
        at += 2;
    }
}
