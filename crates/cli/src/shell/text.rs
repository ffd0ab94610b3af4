//! Where does a statement end?

/// The length of the first statement with its semicolon; `None` while it goes on. Semicolons in quotes,
/// dollar quotes, comments and parentheses do not count.
pub fn end_of_statement(text: &str) -> Option<usize> {
    let bytes = text.as_bytes();
    let (mut at, mut depth) = (0, 0usize);
    while at < bytes.len() {
        let rest = &bytes[at..];
        at += match rest {
            [b'-', b'-', ..] => line(rest),
            [b'/', b'*', ..] => comment(rest)?,
            [b'\'', ..] => quoted(rest, b'\'', is_escaped(&bytes[..at]))?,
            [b'"', ..] => quoted(rest, b'"', false)?,
            [b'$', ..] if !at.checked_sub(1).is_some_and(|i| is_word(bytes[i])) => dollar(rest)?,
            [b'(', ..] => {
                depth += 1;
                1
            }
            [b')', ..] => {
                depth = depth.saturating_sub(1);
                1
            }
            [b';', ..] if depth == 0 => return Some(at + 1),
            _ => 1,
        };
    }
    None
}

/// Whether there is nothing but space and comments.
pub fn is_blank(text: &str) -> bool {
    let mut rest = text.trim_start().as_bytes();
    loop {
        let length = match rest {
            [] => return true,
            [b'-', b'-', ..] => line(rest),
            [b'/', b'*', ..] => match comment(rest) {
                Some(length) => length,
                None => return false,
            },
            [b, ..] if b.is_ascii_whitespace() => 1,
            _ => return false,
        };
        rest = &rest[length..];
    }
}

fn is_word(b: u8) -> bool {
    b.is_ascii_alphanumeric() || b == b'_' || b >= 0x80
}

/// `E'` takes backslashes as escapes.
fn is_escaped(before: &[u8]) -> bool {
    match before {
        [.., before, b'E' | b'e'] => !is_word(*before),
        [b'E' | b'e'] => true,
        _ => false,
    }
}

fn line(rest: &[u8]) -> usize {
    rest.iter().position(|b| *b == b'\n').map_or(rest.len(), |i| i + 1)
}

/// Comments nest.
fn comment(rest: &[u8]) -> Option<usize> {
    let (mut at, mut depth) = (0, 0);
    loop {
        match rest.get(at..at + 2)? {
            b"/*" => (at, depth) = (at + 2, depth + 1),
            b"*/" => (at, depth) = (at + 2, depth - 1),
            _ => at += 1,
        }
        if depth == 0 {
            return Some(at);
        }
    }
}

fn quoted(rest: &[u8], quote: u8, escapes: bool) -> Option<usize> {
    let mut at = 1;
    loop {
        match *rest.get(at)? {
            b'\\' if escapes => at += 2,
            // A doubled quote begins the next part of the same text.
            b if b == quote => return Some(at + 1),
            _ => at += 1,
        }
    }
}

fn dollar(rest: &[u8]) -> Option<usize> {
    let word = rest[1..].iter().position(|b| !is_word(*b))?;
    let tag = &rest[..word + 2];
    if tag.last() != Some(&b'$') || rest[1].is_ascii_digit() {
        return Some(1);
    }
    let inside = &rest[tag.len()..];
    let end = inside.windows(tag.len()).position(|w| w == tag)?;
    Some(2 * tag.len() + end)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn statements_end_at_their_semicolon() {
        for whole in [
            "select 1;",
            "select ';' , \";\" ;",
            "select 'it''s;';",
            r"select E'\';', 'x\';",
            "/* ; /* ; */ ; */ -- ;\n select 1;",
            "do $$ begin; end $$;",
            "do $a$ ; $$ ; $a$;",
            "create rule r as (select 1; select 2);",
            "select $1;",
            "select a$b;",
        ] {
            assert_eq!(end_of_statement(whole), Some(whole.len()), "{whole}");
            assert_eq!(end_of_statement(&whole[..whole.len() - 1]), None, "{whole}");
        }
        assert_eq!(end_of_statement("select 1; select 2;"), Some(9));
        assert!(is_blank(" -- x\n /* y */ ") && !is_blank("-- x\n1") && !is_blank("/*"));
    }
}
