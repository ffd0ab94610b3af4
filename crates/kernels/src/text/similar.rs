//! Which regular expression is a pattern of SIMILAR TO?

use onlap_pg::{Error, Result};

use crate::{Cx, Entry, Null, Text, one, two};

/// Functions.
pub const ENTRIES: &[Entry] = &[
    ("similar_to_escape(text)", |_| one::<Text, Text>(|a, cx| translate(a, Some('\\'), cx))),
    ("similar_to_escape(text,text)", |_| {
        two::<Text, Text, Text>(|a, escape, cx| translate(a, character(escape)?, cx))
    }),
    ("similar_escape(text,text)", |_| {
        two::<Null<Text>, Null<Text>, Null<Text>>(|a, escape, cx| {
            let Some(pattern) = a else { return Ok(None) };
            let escape = escape.map_or(Ok(Some('\\')), character)?;
            translate(pattern, escape, cx).map(Some)
        })
    }),
];

/// The escape character; none if it is empty.
///
/// # Errors
/// `22025`: it is longer.
pub(super) fn character(escape: &str) -> Result<Option<char>> {
    let mut chars = escape.chars();
    match (chars.next(), chars.next()) {
        (c, None) => Ok(c),
        _ => Err(Error::new("22025", "invalid escape string")
            .hint("Escape string must be empty or one character.")),
    }
}

/// What stands between the parts that `substring(… similar …)` separates by an escaped quote: the first part as short as
/// may be, and a group of the second.
const SEPARATORS: [&str; 2] = ["){1,1}?(", "){1,1}(?:"];

/// The regular expression of a pattern.
///
/// # Errors
/// `2200C`: there are more than two separators; `54000`, `53200`.
pub(super) fn translate(pattern: &str, escape: Option<char>, cx: &Cx<'_>) -> Result<String> {
    cx.room(pattern.len().saturating_mul(3))?;
    let mut out = String::from("^(?:");
    let (mut escaped, mut in_brackets, mut quotes) = (false, false, 0);
    for c in pattern.chars() {
        cx.worked(1)?;
        if escaped {
            escaped = false;
            if c != '"' || in_brackets {
                out.extend(['\\', c]);
                continue;
            }
            let Some(separator) = SEPARATORS.get(quotes) else {
                let message = "SQL regular expression may not contain more than two escape-double-quote separators";
                return Err(Error::new("2200C", message));
            };
            out.push_str(separator);
            quotes += 1;
        } else if Some(c) == escape {
            escaped = true;
        } else if in_brackets {
            if c == '\\' {
                out.push('\\');
            }
            out.push(c);
            in_brackets = c != ']';
        } else {
            match c {
                '[' => {
                    out.push('[');
                    in_brackets = true;
                }
                '%' => out.push_str(".*"),
                '_' => out.push('.'),
                '(' => out.push_str("(?:"),
                '\\' | '.' | '^' | '$' => out.extend(['\\', c]),
                c => out.push(c),
            }
        }
    }
    out.push_str(")$");
    Ok(out)
}
