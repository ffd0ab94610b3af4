//! Which texts does a pattern of LIKE describe?
//!
//! `%` stands for any characters, `_` for one, and what comes behind a backslash for itself. ILIKE compares both in lower
//! case. A pattern that is the same for all rows is taken apart once: without `_` it is a list of texts that have to
//! come one after the other.

use arrow_array::{ArrayRef, builder::BooleanBuilder};
use onlap_pg::{Error, Result};

use crate::text::shape::lower;
use crate::{Bytes, Cx, Entry, Kernel, Text, Ty, each, two};

/// Functions.
pub const ENTRIES: &[Entry] = &[
    ("like(text,text)", |_| texts(false, true)),
    ("notlike(text,text)", |_| texts(false, false)),
    ("like(name,text)", |_| texts(false, true)),
    ("notlike(name,text)", |_| texts(false, false)),
    ("textlike(text,text)", |_| texts(false, true)),
    ("textnlike(text,text)", |_| texts(false, false)),
    ("namelike(name,text)", |_| texts(false, true)),
    ("namenlike(name,text)", |_| texts(false, false)),
    ("bpcharlike(bpchar,text)", |_| texts(false, true)),
    ("bpcharnlike(bpchar,text)", |_| texts(false, false)),
    ("texticlike(text,text)", |_| texts(true, true)),
    ("texticnlike(text,text)", |_| texts(true, false)),
    ("nameiclike(name,text)", |_| texts(true, true)),
    ("nameicnlike(name,text)", |_| texts(true, false)),
    ("bpchariclike(bpchar,text)", |_| texts(true, true)),
    ("bpcharicnlike(bpchar,text)", |_| texts(true, false)),
    ("like(bytea,bytea)", |_| bytes(true)),
    ("notlike(bytea,bytea)", |_| bytes(false)),
    ("bytealike(bytea,bytea)", |_| bytes(true)),
    ("byteanlike(bytea,bytea)", |_| bytes(false)),
    ("like_escape(text,text)", |_| two::<Text, Text, Text>(escape_text)),
    ("like_escape(bytea,bytea)", |_| two::<Bytes, Bytes, Bytes>(escape_bytes)),
];

fn texts(folded: bool, wanted: bool) -> Box<dyn Kernel> {
    each(move |args, rows, cx| {
        let (texts, patterns) = (Text::column(&args[0].array), Text::column(&args[1].array));
        let pieces = match args[1].is_const && !args[1].is_null(0) {
            true => Pieces::of(patterns.value(0), folded),
            false => None,
        };
        let mut out = BooleanBuilder::with_capacity(rows);
        for row in 0..rows {
            if row % 1024 == 0 {
                cx.go_on()?;
            }
            if args[0].is_null(row) || args[1].is_null(row) {
                out.append_null();
                continue;
            }
            let text = texts.value(args[0].at(row));
            let text = if folded { lower(text) } else { text.into() };
            let found = match &pieces {
                Some(pieces) => pieces.describe(&text),
                None => {
                    let pattern = patterns.value(args[1].at(row));
                    let pattern = if folded { lower(pattern) } else { pattern.into() };
                    matches(text.as_bytes(), pattern.as_bytes(), width, cx)?
                }
            };
            out.append_value(found == wanted);
        }
        Ok(std::sync::Arc::new(out.finish()) as ArrayRef)
    })
}

fn bytes(wanted: bool) -> Box<dyn Kernel> {
    match wanted {
        true => two::<Bytes, Bytes, crate::Bool>(|a, b, cx| matches(a, b, |_| 1, cx)),
        false => two::<Bytes, Bytes, crate::Bool>(|a, b, cx| Ok(!matches(a, b, |_| 1, cx)?)),
    }
}

/// The bytes of the character that begins with this one.
fn width(first: u8) -> usize {
    match first {
        ..0xc0 => 1,
        0xc0..0xe0 => 2,
        0xe0..0xf0 => 3,
        _ => 4,
    }
}

/// A pattern without `_`: the texts between its `%`.
struct Pieces {
    first: String,
    middle: Vec<String>,
    /// `None` if there is no `%`.
    last: Option<String>,
}

impl Pieces {
    /// `None` for a pattern with `_`, and for one whose last backslash escapes nothing.
    fn of(pattern: &str, folded: bool) -> Option<Pieces> {
        let pattern = if folded { lower(pattern) } else { pattern.into() };
        let mut pieces = vec![String::new()];
        let mut chars = pattern.chars();
        while let Some(c) = chars.next() {
            let c = match c {
                '_' => return None,
                '%' => {
                    pieces.push(String::new());
                    continue;
                }
                '\\' => chars.next()?,
                c => c,
            };
            pieces.last_mut().expect("there is a first one").push(c);
        }
        let last = if pieces.len() > 1 { pieces.pop() } else { None };
        let first = pieces.remove(0);
        pieces.retain(|piece| !piece.is_empty());
        Some(Pieces { first, middle: pieces, last })
    }

    fn describe(&self, text: &str) -> bool {
        let Some(last) = &self.last else { return text == self.first };
        let Some(mut rest) = text.strip_prefix(self.first.as_str()) else { return false };
        for piece in &self.middle {
            let Some(at) = rest.find(piece.as_str()) else { return false };
            rest = &rest[at + piece.len()..];
        }
        rest.ends_with(last.as_str())
    }
}

fn ends_with_escape() -> Error {
    Error::new("22025", "LIKE pattern must not end with escape character")
}

/// Whether a pattern describes a text. Behind a `%` it is tried at each character; the last `%` alone needs a second try,
/// because what an earlier one has found is as near to the beginning as it can be.
fn matches(text: &[u8], pattern: &[u8], width: impl Fn(u8) -> usize, cx: &Cx<'_>) -> Result<bool> {
    let (mut t, mut p) = (0, 0);
    // Where to try again: behind the last `%`, from this place of the text.
    let mut again: Option<(usize, usize)> = None;
    let mut steps = 0_u32;
    loop {
        steps = steps.wrapping_add(1);
        if steps.is_multiple_of(4096) {
            cx.go_on()?;
        }
        if t == text.len() {
            return Ok(pattern[p..].iter().all(|sign| *sign == b'%'));
        }
        let here = match pattern.get(p) {
            Some(b'%') => {
                p += 1;
                while let Some(sign @ (b'%' | b'_')) = pattern.get(p) {
                    if *sign == b'_' {
                        let Some(first) = text.get(t) else { return Ok(false) };
                        t += width(*first);
                    }
                    p += 1;
                }
                if p == pattern.len() {
                    return Ok(true);
                }
                if pattern[p..] == *b"\\" {
                    return Err(ends_with_escape());
                }
                again = Some((p, t));
                continue;
            }
            Some(b'_') => {
                t += width(text[t]);
                p += 1;
                continue;
            }
            Some(b'\\') => {
                p += 1;
                pattern.get(p).ok_or_else(ends_with_escape)?
            }
            Some(byte) => byte,
            None => &text[t],
        };
        if p < pattern.len() && *here == text[t] {
            (t, p) = (t + 1, p + 1);
            continue;
        }
        let Some((behind, tried)) = again else { return Ok(false) };
        let Some(first) = text.get(tried) else { return Ok(false) };
        t = tried + width(*first);
        p = behind;
        again = Some((behind, t));
    }
}

fn escape_text(pattern: &str, escape: &str, cx: &mut Cx<'_>) -> Result<String> {
    if escape.chars().count() > 1 {
        return Err(bad_escape());
    }
    let escaped = escape_units(pattern.chars(), escape.chars().next(), '\\', pattern.len(), cx)?;
    Ok(escaped.into_iter().collect())
}

fn escape_bytes(pattern: &[u8], escape: &[u8], cx: &mut Cx<'_>) -> Result<Vec<u8>> {
    if escape.len() > 1 {
        return Err(bad_escape());
    }
    let units = pattern.iter().copied();
    escape_units(units, escape.first().copied(), b'\\', pattern.len(), cx)
}

fn bad_escape() -> Error {
    Error::new("22025", "invalid escape string")
        .hint("Escape string must be empty or one character.")
}

/// A pattern with another escape character, written with backslashes.
fn escape_units<C: Copy + PartialEq>(
    pattern: impl Iterator<Item = C>,
    escape: Option<C>,
    backslash: C,
    length: usize,
    cx: &Cx<'_>,
) -> Result<Vec<C>> {
    cx.room(length.saturating_mul(2 * size_of::<C>()))?;
    if escape == Some(backslash) {
        return Ok(pattern.collect());
    }
    let mut out = Vec::with_capacity(length);
    let mut escaped = false;
    for c in pattern {
        cx.worked(1)?;
        if Some(c) == escape && !escaped {
            out.push(backslash);
            escaped = true;
            continue;
        }
        if c == backslash && !escaped {
            out.push(backslash);
        }
        out.push(c);
        escaped = false;
    }
    Ok(out)
}
