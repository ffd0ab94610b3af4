//! What do functions of regular expressions give?

use std::borrow::Cow;

use arrow_array::ArrayRef;
use arrow_array::cast::AsArray;
use arrow_array::types::Int32Type;
use onlap_pg::{Error, Result};

use crate::adapt::Results;
use crate::misc::growth::Growth;
use crate::text::regex::{Flags, Regex, Span, set_option};
use crate::text::similar::{character, translate};
use crate::{Bool, Col, Cx, Entry, Int4, Kernel, Text, Ty, each};

const INSENSITIVE: Flags = Flags { any_case: true, ..Flags::PLAIN };

/// Operators.
pub const OPERATORS: &[Entry] = &[
    ("textregexeq(text,text)", |_| tests::<false, true>()),
    ("textregexne(text,text)", |_| tests::<false, false>()),
    ("texticregexeq(text,text)", |_| tests::<true, true>()),
    ("texticregexne(text,text)", |_| tests::<true, false>()),
    ("nameregexeq(name,text)", |_| tests::<false, true>()),
    ("nameregexne(name,text)", |_| tests::<false, false>()),
    ("nameicregexeq(name,text)", |_| tests::<true, true>()),
    ("nameicregexne(name,text)", |_| tests::<true, false>()),
    ("bpcharregexeq(bpchar,text)", |_| tests::<false, true>()),
    ("bpcharregexne(bpchar,text)", |_| tests::<false, false>()),
    ("bpcharicregexeq(bpchar,text)", |_| tests::<true, true>()),
    ("bpcharicregexne(bpchar,text)", |_| tests::<true, false>()),
];

/// Functions.
pub const ENTRIES: &[Entry] = &[
    ("regexp_like(text,text)", |_| calls::<Bool>(like)),
    ("regexp_like(text,text,text)", |_| calls::<Bool>(like)),
    ("substring(text,text)", |_| calls::<Text>(substring)),
    ("substring(text,text,text)", |_| calls::<Text>(substring)),
    ("regexp_replace(text,text,text)", |_| calls::<Text>(replace)),
    ("regexp_replace(text,text,text,text)", |_| calls::<Text>(replace)),
    ("regexp_replace(text,text,text,int4)", |_| calls::<Text>(replace_from)),
    ("regexp_replace(text,text,text,int4,int4)", |_| calls::<Text>(replace_from)),
    ("regexp_replace(text,text,text,int4,int4,text)", |_| calls::<Text>(replace_from)),
    ("regexp_count(text,text)", |_| calls::<Int4>(count)),
    ("regexp_count(text,text,int4)", |_| calls::<Int4>(count)),
    ("regexp_count(text,text,int4,text)", |_| calls::<Int4>(count)),
    ("regexp_instr(text,text)", |_| calls::<Int4>(instr)),
    ("regexp_instr(text,text,int4)", |_| calls::<Int4>(instr)),
    ("regexp_instr(text,text,int4,int4)", |_| calls::<Int4>(instr)),
    ("regexp_instr(text,text,int4,int4,int4)", |_| calls::<Int4>(instr)),
    ("regexp_instr(text,text,int4,int4,int4,text)", |_| calls::<Int4>(instr)),
    ("regexp_instr(text,text,int4,int4,int4,text,int4)", |_| calls::<Int4>(instr)),
    ("regexp_substr(text,text)", |_| calls::<Text>(substr)),
    ("regexp_substr(text,text,int4)", |_| calls::<Text>(substr)),
    ("regexp_substr(text,text,int4,int4)", |_| calls::<Text>(substr)),
    ("regexp_substr(text,text,int4,int4,text)", |_| calls::<Text>(substr)),
    ("regexp_substr(text,text,int4,int4,text,int4)", |_| calls::<Text>(substr)),
];

/// Expressions that were read, the newest last.
#[derive(Default)]
pub(super) struct Known(Vec<(String, Flags, Regex)>);

impl Known {
    /// The most expressions that are kept, and the most bytes of them: columns of patterns mostly repeat a few.
    const MOST: usize = 16;
    const MOST_BYTES: usize = 32 << 20;

    /// An expression, read if it is not known.
    pub(super) fn get(&mut self, pattern: &str, flags: Flags, cx: &Cx<'_>) -> Result<&Regex> {
        let known = self.0.iter().rposition(|(text, with, _)| text == pattern && *with == flags);
        if let Some(at) = known {
            return Ok(&self.0[at].2);
        }
        let regex = Regex::new(pattern, flags)?;
        cx.room(regex.size())?;
        let bytes = |known: &Known| known.0.iter().map(|(.., regex)| regex.size()).sum::<usize>();
        while self.0.len() >= Known::MOST || bytes(self) > Known::MOST_BYTES {
            self.0.remove(0);
        }
        self.0.push((pattern.into(), flags, regex));
        Ok(&self.0.last().expect("it was added").2)
    }
}

/// The arguments of a row, none of which is NULL.
pub(super) struct Row<'a> {
    args: &'a [Col],
    row: usize,
}

impl Row<'_> {
    pub(super) fn text(&self, at: usize) -> &str {
        self.args[at].array.as_string::<i32>().value(self.args[at].at(self.row))
    }

    /// An argument that there may not be.
    pub(super) fn text_or<'b>(&'b self, at: usize, otherwise: &'b str) -> &'b str {
        if at < self.args.len() { self.text(at) } else { otherwise }
    }

    fn int_or(&self, at: usize, otherwise: i32) -> i32 {
        match self.args.get(at) {
            Some(col) => col.array.as_primitive::<Int32Type>().value(col.at(self.row)),
            None => otherwise,
        }
    }
}

type Call<R> = fn(&Row<'_>, &mut Known, &Cx<'_>) -> Result<Option<<R as Ty>::Owned>>;

/// A kernel that keeps the expressions it meets.
pub(super) fn calls<R: Ty>(f: Call<R>) -> Box<dyn Kernel> {
    each(move |args, rows, cx| -> Result<ArrayRef> {
        let mut known = Known::default();
        let mut out = Results::<R>::new(rows, cx);
        for row in 0..rows {
            if row % 1024 == 0 {
                cx.go_on()?;
            }
            let given = match args.iter().any(|arg| arg.is_null(row)) {
                true => None,
                false => f(&Row { args, row }, &mut known, cx)?,
            };
            match given {
                Some(value) => out.push(value, cx)?,
                None => out.push_null(),
            }
        }
        Ok(out.finish())
    })
}

fn tests<const ANY_CASE: bool, const WANTED: bool>() -> Box<dyn Kernel> {
    calls::<Bool>(|row, known, cx| {
        let flags = if ANY_CASE { INSENSITIVE } else { Flags::PLAIN };
        let regex = known.get(row.text(1), flags, cx)?;
        Ok(Some(regex.is_in(row.text(0), cx)? == WANTED))
    })
}

/// Reads options; the second is whether there is a `g`.
///
/// # Errors
/// `22023`
pub(super) fn options(letters: &str) -> Result<(Flags, bool)> {
    let mut flags = Flags::PLAIN;
    let mut all = false;
    for c in letters.chars() {
        // For PostgreSQL an `e` means basic ones here, too; in an expression it means extended ones.
        let c = if c == 'e' { 'b' } else { c };
        if c == 'g' {
            all = true;
        } else if set_option(&mut flags, c).is_none() {
            let message = format!("invalid regular expression option: \"{c}\"");
            return Err(Error::new("22023", message));
        }
    }
    Ok((flags, all))
}

/// Options of a function that has no use for `g`.
///
/// # Errors
/// `22023`
pub(super) fn options_of(function: &str, letters: &str) -> Result<Flags> {
    match options(letters)? {
        (_, true) => {
            let message = format!("{function} does not support the \"global\" option");
            Err(Error::new("22023", message))
        }
        (flags, false) => Ok(flags),
    }
}

fn invalid(name: &str, value: i32) -> Error {
    Error::new("22023", format!("invalid value for parameter \"{name}\": {value}"))
}

/// The offset of a character counted from 1; `None` behind the end.
fn offset(text: &str, start: i32) -> Option<usize> {
    let skipped = start as usize - 1;
    match text.char_indices().nth(skipped) {
        Some((at, _)) => Some(at),
        None if text.chars().count() == skipped => Some(text.len()),
        None => None,
    }
}

/// One character on; `None` at the end.
fn on(text: &str, at: usize) -> Option<usize> {
    text[at..].chars().next().map(|c| at + c.len_utf8())
}

fn like(row: &Row<'_>, known: &mut Known, cx: &Cx<'_>) -> Result<Option<bool>> {
    let flags = options_of("regexp_like()", row.text_or(2, ""))?;
    known.get(row.text(1), flags, cx)?.is_in(row.text(0), cx).map(Some)
}

fn substring(row: &Row<'_>, known: &mut Known, cx: &Cx<'_>) -> Result<Option<String>> {
    let text = row.text(0);
    let pattern = match row.args.len() {
        2 => Cow::Borrowed(row.text(1)),
        // One of SIMILAR TO, with its escape character.
        _ => Cow::Owned(translate(row.text(1), character(row.text(2))?, cx)?),
    };
    let regex = known.get(&pattern, Flags::PLAIN, cx)?;
    let Some(found) = regex.find(text, 0, cx)? else { return Ok(None) };
    let span = found[usize::from(regex.groups() > 0)];
    Ok(span.map(|(from, to)| text[from..to].into()))
}

/// All matches, or the first one: what the whole and the groups have of each.
pub(super) struct Matches<'a> {
    text: &'a str,
    regex: &'a Regex,
    at: Option<usize>,
    all: bool,
    /// Leaves out what is empty at either end or behind another match.
    splits: bool,
    last_end: usize,
}

impl<'a> Matches<'a> {
    pub(super) fn new(text: &'a str, regex: &'a Regex, start: i32, all: bool) -> Matches<'a> {
        Matches { text, regex, at: offset(text, start), all, splits: false, last_end: 0 }
    }

    /// Those that fields lie between.
    pub(super) fn between(text: &'a str, regex: &'a Regex) -> Matches<'a> {
        Matches { text, regex, at: Some(0), all: true, splits: true, last_end: 0 }
    }

    pub(super) fn next(&mut self, cx: &Cx<'_>) -> Result<Option<Vec<Option<Span>>>> {
        while let Some(at) = self.at {
            let Some(found) = self.regex.find(self.text, at, cx)? else { break };
            let (from, to) = found[0].expect("the whole is somewhere");
            let counts = !self.splits || from < self.text.len() && to > self.last_end;
            self.last_end = to;
            self.at = match self.all {
                true if from < to => Some(to),
                true => on(self.text, to),
                false => None,
            };
            if counts {
                return Ok(Some(found));
            }
        }
        self.at = None;
        Ok(None)
    }
}

fn count(row: &Row<'_>, known: &mut Known, cx: &Cx<'_>) -> Result<Option<i32>> {
    let start = row.int_or(2, 1);
    if start <= 0 {
        return Err(invalid("start", start));
    }
    let flags = options_of("regexp_count()", row.text_or(3, ""))?;
    let regex = known.get(row.text(1), flags, cx)?;
    let mut matches = Matches::new(row.text(0), regex, start, true);
    let mut count = 0;
    while matches.next(cx)?.is_some() {
        count += 1;
    }
    Ok(Some(count))
}

/// What the nth match, or a group of it, has.
fn nth(
    (text, regex): (&str, &Regex),
    (start, n, group): (i32, i32, i32),
    cx: &Cx<'_>,
) -> Result<Option<Span>> {
    let mut matches = Matches::new(text, regex, start, true);
    for _ in 1..n {
        if matches.next(cx)?.is_none() {
            return Ok(None);
        }
    }
    let Some(found) = matches.next(cx)? else { return Ok(None) };
    // Without groups the whole stands for the first one.
    let group = if regex.groups() == 0 && group == 1 { 0 } else { group as usize };
    Ok(found.get(group).copied().flatten())
}

fn checked(start: i32, n: i32) -> Result<()> {
    match (start, n) {
        (..=0, _) => Err(invalid("start", start)),
        (_, ..=0) => Err(invalid("n", n)),
        _ => Ok(()),
    }
}

fn instr(row: &Row<'_>, known: &mut Known, cx: &Cx<'_>) -> Result<Option<i32>> {
    let (start, n, end) = (row.int_or(2, 1), row.int_or(3, 1), row.int_or(4, 0));
    checked(start, n)?;
    if !matches!(end, 0 | 1) {
        return Err(invalid("endoption", end));
    }
    let group = row.int_or(6, 0);
    if group < 0 {
        return Err(invalid("subexpr", group));
    }
    let flags = options_of("regexp_instr()", row.text_or(5, ""))?;
    let text = row.text(0);
    let regex = known.get(row.text(1), flags, cx)?;
    let span = nth((text, regex), (start, n, group), cx)?;
    let at = span.map(|(from, to)| if end == 1 { to } else { from });
    Ok(Some(at.map_or(0, |at| text[..at].chars().count() as i32 + 1)))
}

fn substr(row: &Row<'_>, known: &mut Known, cx: &Cx<'_>) -> Result<Option<String>> {
    let (start, n, group) = (row.int_or(2, 1), row.int_or(3, 1), row.int_or(5, 0));
    checked(start, n)?;
    if group < 0 {
        return Err(invalid("subexpr", group));
    }
    let flags = options_of("regexp_substr()", row.text_or(4, ""))?;
    let text = row.text(0);
    let regex = known.get(row.text(1), flags, cx)?;
    let span = nth((text, regex), (start, n, group), cx)?;
    Ok(span.map(|(from, to)| text[from..to].into()))
}

fn replace(row: &Row<'_>, known: &mut Known, cx: &Cx<'_>) -> Result<Option<String>> {
    let letters = row.text_or(3, "");
    if letters.starts_with(|c: char| c.is_ascii_digit()) {
        let first = &letters[..1];
        let message = format!("invalid regular expression option: \"{first}\"");
        let hint = "If you meant to use regexp_replace() with a start parameter, cast the fourth \
                    argument to integer explicitly.";
        return Err(Error::new("22023", message).hint(hint));
    }
    let (flags, all) = options(letters)?;
    let regex = known.get(row.text(1), flags, cx)?;
    replaced(row.text(0), regex, row.text(2), 1, i32::from(!all), cx).map(Some)
}

fn replace_from(row: &Row<'_>, known: &mut Known, cx: &Cx<'_>) -> Result<Option<String>> {
    let start = row.int_or(3, 1);
    if start <= 0 {
        return Err(invalid("start", start));
    }
    let n = row.int_or(4, 1);
    if n < 0 {
        return Err(invalid("n", n));
    }
    let (flags, _) = options(row.text_or(5, ""))?;
    let regex = known.get(row.text(1), flags, cx)?;
    replaced(row.text(0), regex, row.text(2), start, n, cx).map(Some)
}

/// The text with its nth match replaced, or with all of them for 0.
fn replaced(
    text: &str,
    regex: &Regex,
    new: &str,
    start: i32,
    n: i32,
    cx: &Cx<'_>,
) -> Result<String> {
    let (mut out, mut growth) = (String::new(), Growth::new());
    let mut copied = 0;
    let mut at = offset(text, start);
    let mut count = 0;
    while let Some(from) = at {
        let Some(found) = regex.find(text, from, cx)? else { break };
        let (begin, end) = found[0].expect("the whole is somewhere");
        count += 1;
        at = if begin == end { on(text, end) } else { Some(end) };
        if n > 0 && count != n {
            continue;
        }
        out.push_str(&text[copied..begin]);
        put(&mut out, new, text, &found);
        growth.value(cx, out.len().saturating_add(text.len() - end))?;
        cx.worked(new.len())?;
        copied = end;
        if n > 0 {
            break;
        }
    }
    out.push_str(&text[copied..]);
    Ok(out)
}

/// Adds a replacement: `\1` to `\9` and `\&` are what groups and the whole have.
fn put(out: &mut String, new: &str, text: &str, found: &[Option<Span>]) {
    let mut rest = new;
    while let Some((before, after)) = rest.split_once('\\') {
        out.push_str(before);
        let group = match after.chars().next() {
            Some(c @ '1'..='9') => Some(c as usize - '0' as usize),
            Some('&') => Some(0),
            Some('\\') => {
                out.push('\\');
                rest = &after[1..];
                continue;
            }
            _ => None,
        };
        rest = after;
        match group {
            Some(group) => {
                if let Some((from, to)) = found.get(group).copied().flatten() {
                    out.push_str(&text[from..to]);
                }
                rest = &after[1..];
            }
            None => out.push('\\'),
        }
    }
    out.push_str(rest);
}
