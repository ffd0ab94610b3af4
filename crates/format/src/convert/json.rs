//! Is a text JSON?
//!
//! RFC 8259, as PostgreSQL's `json` type checks it: any value at the top, duplicate keys and any
//! `\uXXXX` allowed, the text kept as it is. The validator keeps one byte per open bracket and does
//! not recurse, so deep nesting costs memory only up to [`DEPTH_MAX`].

/// Deepest nesting: readers that do recurse need some 100 bytes of stack per level.
pub const DEPTH_MAX: usize = 1024;

/// What may come next.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Expect {
    Value,
    /// A value, or the end of an empty array.
    FirstElement,
    /// A key, or the end of an empty object.
    FirstKey,
    Key,
    /// A comma or the closing bracket; at the top the end.
    After,
}

/// The byte at which the text stops being JSON; `Ok` where it is JSON to its end.
pub(super) fn validate(s: &[u8]) -> Result<(), usize> {
    let mut open: Vec<u8> = Vec::new();
    let mut expect = Expect::Value;
    let mut at = 0;
    loop {
        at = blanks(s, at);
        let Some(&c) = s.get(at) else {
            return if expect == Expect::After && open.is_empty() { Ok(()) } else { Err(at) };
        };
        expect = match (expect, c) {
            (Expect::After, b',') if open.last() == Some(&b'[') => {
                at += 1;
                Expect::Value
            }
            (Expect::After, b',') if open.last() == Some(&b'{') => {
                at += 1;
                Expect::Key
            }
            (Expect::After | Expect::FirstElement, b']') if open.last() == Some(&b'[') => {
                open.pop();
                at += 1;
                Expect::After
            }
            (Expect::After | Expect::FirstKey, b'}') if open.last() == Some(&b'{') => {
                open.pop();
                at += 1;
                Expect::After
            }
            (Expect::After, _) => return Err(at),
            (Expect::FirstKey | Expect::Key, b'"') => {
                at = blanks(s, string(s, at + 1)?);
                if s.get(at) != Some(&b':') {
                    return Err(at);
                }
                at += 1;
                Expect::Value
            }
            (Expect::FirstKey | Expect::Key, _) => return Err(at),
            (_, b'[' | b'{') if open.len() < DEPTH_MAX => {
                open.push(c);
                at += 1;
                if c == b'[' { Expect::FirstElement } else { Expect::FirstKey }
            }
            (_, _) => {
                at = scalar(s, at)?;
                Expect::After
            }
        };
    }
}

fn blanks(s: &[u8], mut at: usize) -> usize {
    while matches!(s.get(at), Some(b' ' | b'\t' | b'\n' | b'\r')) {
        at += 1;
    }
    at
}

fn scalar(s: &[u8], at: usize) -> Result<usize, usize> {
    let word = |word: &[u8]| if s[at..].starts_with(word) { Ok(at + word.len()) } else { Err(at) };
    match s[at] {
        b'"' => string(s, at + 1),
        b't' => word(b"true"),
        b'f' => word(b"false"),
        b'n' => word(b"null"),
        _ => number(s, at),
    }
}

/// From after the opening quote to after the closing one.
fn string(s: &[u8], mut at: usize) -> Result<usize, usize> {
    loop {
        match s.get(at).ok_or(at)? {
            b'"' => return Ok(at + 1),
            0..0x20 => return Err(at),
            b'\\' => match s.get(at + 1).ok_or(at)? {
                b'"' | b'\\' | b'/' | b'b' | b'f' | b'n' | b'r' | b't' => at += 2,
                b'u' => {
                    let hex = s.get(at + 2..at + 6).ok_or(at)?;
                    if !hex.iter().all(u8::is_ascii_hexdigit) {
                        return Err(at);
                    }
                    at += 6;
                }
                _ => return Err(at),
            },
            _ => at += 1,
        }
    }
}

fn number(s: &[u8], mut at: usize) -> Result<usize, usize> {
    let digits = |mut at: usize| {
        let first = at;
        while s.get(at).is_some_and(u8::is_ascii_digit) {
            at += 1;
        }
        if at > first { Ok(at) } else { Err(at) }
    };
    if s[at] == b'-' {
        at += 1;
    }
    at = if s.get(at) == Some(&b'0') { at + 1 } else { digits(at)? };
    if s.get(at) == Some(&b'.') {
        at = digits(at + 1)?;
    }
    if matches!(s.get(at), Some(b'e' | b'E')) {
        at += 1;
        if matches!(s.get(at), Some(b'+' | b'-')) {
            at += 1;
        }
        at = digits(at)?;
    }
    Ok(at)
}
