//! What do functions give that take values of any types: concat, concat_ws, format?

use arrow_array::ArrayRef;
use arrow_array::cast::AsArray;
use onlap_pg::{Error, Oid, Result};

use crate::adapt::Results;
use crate::misc::growth::{Growth, enlarged};
use crate::text::quote;
use crate::{Col, Cx, Datum, Entry, Kernel, Text, Types, each, output, repr};

/// Functions.
pub const ENTRIES: &[Entry] = &[
    ("concat(any)", |types| kernel(types, |args, cx| concat(args, 0, "", cx).map(Some))),
    ("concat_ws(text,any)", |types| {
        kernel(types, |args, cx| match args.shown(0, cx)? {
            Some(separator) => concat(args, 1, &separator, cx).map(Some),
            None => Ok(None),
        })
    }),
    ("textanycat(text,anynonarray)", |types| kernel(types, join)),
    ("anytextcat(anynonarray,text)", |types| kernel(types, join)),
    ("format(text)", |types| kernel(types, format)),
    ("format(text,any)", |types| kernel(types, format)),
];

/// The arguments of one row.
pub(super) struct Args<'a> {
    cols: &'a [Col],
    types: &'a [Oid],
    row: usize,
}

impl Args<'_> {
    /// Bytes of an argument that is text, or 0.
    fn size(&self, at: usize) -> usize {
        let col = &self.cols[at];
        match col.array.as_string_opt::<i32>() {
            Some(texts) if !col.is_null(self.row) => texts.value(col.at(self.row)).len(),
            _ => 0,
        }
    }

    /// An argument that is a text; `None` for NULL.
    fn text(&self, at: usize) -> Option<&str> {
        let col = &self.cols[at];
        let texts = col.array.as_string::<i32>();
        (!col.is_null(self.row)).then(|| texts.value(col.at(self.row)))
    }

    /// An argument as its type's output function writes it; `None` for NULL.
    pub(super) fn shown(&self, at: usize, cx: &mut Cx<'_>) -> Result<Option<String>> {
        let (col, oid) = (&self.cols[at], self.types[at]);
        if col.is_null(self.row) {
            return Ok(None);
        }
        let Some(repr) = repr(cx.catalog, oid) else {
            let shown = cx.catalog.shown(oid);
            return Err(Error::unserved(format!("output of type {shown} is not supported")));
        };
        let mut out = String::new();
        output(cx, oid, &Datum::at(&*col.array, repr, col.at(self.row)), &mut out)?;
        Ok(Some(out))
    }

    /// An argument as a cast to text writes it.
    pub(super) fn cast(&self, at: usize, cx: &mut Cx<'_>) -> Result<Option<String>> {
        // xml has the same bits as text.
        if cx.catalog.base_type(self.types[at]) == 142 {
            return Ok(self.text(at).map(str::to_owned));
        }
        let shown = self.shown(at, cx)?;
        Ok(match cx.catalog.base_type(self.types[at]) {
            16 => shown.map(|text| if text == "t" { "true" } else { "false" }.into()),
            1042 => shown.map(|text| text.trim_end_matches(' ').into()),
            // Of an address all bits are said.
            869 => shown.map(|text| match (text.contains('/'), text.contains(':')) {
                (true, _) => text,
                (false, true) => text + "/128",
                (false, false) => text + "/32",
            }),
            _ => shown,
        })
    }
}

/// A kernel that is called for each row with its arguments, NULLs included.
pub(super) fn kernel(
    types: &Types,
    f: fn(&Args<'_>, &mut Cx<'_>) -> Result<Option<String>>,
) -> Box<dyn Kernel> {
    let types: Vec<Oid> = types.args.iter().map(|ty| ty.oid).collect();
    each(move |cols, rows, cx| -> Result<ArrayRef> {
        let mut out = Results::<Text>::new(rows, cx);
        for row in 0..rows {
            if row % 1024 == 0 {
                cx.go_on()?;
            }
            match f(&Args { cols, types: &types, row }, cx)? {
                Some(text) => out.push(text, cx)?,
                None => out.push_null(),
            }
        }
        Ok(out.finish())
    })
}

fn concat(args: &Args<'_>, from: usize, separator: &str, cx: &mut Cx<'_>) -> Result<String> {
    let (mut out, mut growth) = (String::new(), Growth::new());
    let mut first = true;
    // What is text already says how long it is before any of it is copied.
    let mut long = 0_usize;
    for more in (from..args.cols.len()).map(|at| args.size(at)) {
        enlarged(long, more)?;
        long += more;
    }
    for at in from..args.cols.len() {
        let Some(text) = args.shown(at, cx)? else { continue };
        let more = if first { 0 } else { separator.len() }.saturating_add(text.len());
        enlarged(out.len(), more)?;
        growth.value(cx, out.len() + more)?;
        cx.worked(text.len())?;
        if !first {
            out.push_str(separator);
        }
        out.push_str(&text);
        first = false;
    }
    Ok(out)
}

fn join(args: &Args<'_>, cx: &mut Cx<'_>) -> Result<Option<String>> {
    let (Some(a), Some(b)) = (args.cast(0, cx)?, args.cast(1, cx)?) else { return Ok(None) };
    cx.room(a.len().saturating_add(b.len()))?;
    Ok(Some(a + &b))
}

fn format(args: &Args<'_>, cx: &mut Cx<'_>) -> Result<Option<String>> {
    let Some(template) = args.shown(0, cx)? else { return Ok(None) };
    let mut reader = Reader { rest: &template, args, next: 1 };
    let mut out = String::new();
    while let Some((before, after)) = reader.rest.split_once('%') {
        cx.worked(before.len() + 1)?;
        out.push_str(before);
        reader.rest = after;
        reader.field(&mut out, cx)?;
        cx.room(out.len())?;
    }
    out.push_str(reader.rest);
    Ok(Some(out))
}

/// What is left of a template.
struct Reader<'a> {
    rest: &'a str,
    args: &'a Args<'a>,
    /// The argument that a field without a number takes.
    next: usize,
}

fn refused(text: impl Into<String>) -> Error {
    Error::new("22023", text)
}

fn unterminated() -> Error {
    refused("unterminated format() type specifier").hint("For a single \"%\" use \"%%\".")
}

impl Reader<'_> {
    /// `%[n$][-][width]kind` behind its `%`, where a width may be `*` or `*n$`.
    fn field(&mut self, out: &mut String, cx: &mut Cx<'_>) -> Result<()> {
        if self.accept('%') {
            out.push('%');
            return Ok(());
        }
        let mut number = self.number()?;
        let mut position = None;
        if number.is_some() && self.accept('$') {
            position = number.take();
            not_zero(position)?;
        }
        let (mut left, mut width) = (false, Some(number.unwrap_or(0)));
        if number.is_none() {
            while self.accept('-') {
                left = true;
            }
            (left, width) = self.width(left, cx)?;
        }
        let kind = self.rest.chars().next().ok_or_else(unterminated)?;
        if !matches!(kind, 's' | 'I' | 'L') {
            let text = format!("unrecognized format() type specifier \"{kind}\"");
            return Err(refused(text).hint("For a single \"%\" use \"%%\"."));
        }
        self.rest = &self.rest[1..];
        let at = self.argument(position)?;
        let text = match (kind, self.args.shown(at, cx)?) {
            ('I', None) => {
                let text = "null values cannot be formatted as an SQL identifier";
                return Err(Error::new("22004", text));
            }
            ('I', Some(text)) => quote::identifier(&text, cx)?,
            ('L', None) => "NULL".into(),
            ('L', Some(text)) => quote::literal(&text, cx)?,
            (_, text) => text.unwrap_or_default(),
        };
        let width = width.ok_or_else(|| Error::new("22003", "number is out of range"))?;
        let missing = width.saturating_sub(text.chars().count());
        let more = text.len().saturating_add(missing);
        enlarged(out.len(), more)?;
        cx.room(out.len() + more)?;
        cx.worked(text.len())?;
        if left {
            out.push_str(&text);
        }
        for _ in 0..missing {
            cx.worked(1)?;
            out.push(' ');
        }
        if !left {
            out.push_str(&text);
        }
        Ok(())
    }

    /// A width that stands behind the dashes; from an argument it may ask for the left side, too. `None` for one that
    /// has no positive number.
    fn width(&mut self, left: bool, cx: &mut Cx<'_>) -> Result<(bool, Option<usize>)> {
        if !self.accept('*') {
            return Ok((left, Some(self.number()?.unwrap_or(0))));
        }
        let number = self.number()?;
        if number.is_some() && !self.accept('$') {
            return Err(refused("width argument position must be ended by \"$\""));
        }
        not_zero(number)?;
        let at = self.argument(number)?;
        let text = self.args.shown(at, cx)?;
        let width = text.map_or(Ok(0), |text| onlap_pg::value::int::parse_int4(&text))?;
        let length = width.checked_abs().map(|width| width as usize);
        Ok((left || width < 0, length))
    }

    /// Digits; `None` where there are none.
    fn number(&mut self) -> Result<Option<usize>> {
        let end = self.rest.find(|c: char| !c.is_ascii_digit()).unwrap_or(self.rest.len());
        let (digits, rest) = self.rest.split_at(end);
        if digits.is_empty() {
            // A template may not end within a field.
            return if rest.is_empty() { Err(unterminated()) } else { Ok(None) };
        }
        let number: i32 =
            digits.parse().map_err(|_| Error::new("22003", "number is out of range"))?;
        self.rest = rest;
        if rest.is_empty() {
            return Err(unterminated());
        }
        Ok(Some(number as usize))
    }

    fn accept(&mut self, sign: char) -> bool {
        let rest = self.rest.strip_prefix(sign);
        self.rest = rest.unwrap_or(self.rest);
        rest.is_some()
    }

    /// The argument of this number, or the next one.
    fn argument(&mut self, number: Option<usize>) -> Result<usize> {
        let at = number.unwrap_or(self.next);
        if at >= self.args.cols.len() {
            return Err(refused("too few arguments for format()"));
        }
        self.next = at + 1;
        Ok(at)
    }
}

fn not_zero(number: Option<usize>) -> Result<()> {
    match number {
        Some(0) => Err(refused("format specifies argument 0, but arguments are numbered from 1")),
        _ => Ok(()),
    }
}
