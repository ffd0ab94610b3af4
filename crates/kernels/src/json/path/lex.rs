//! Which words and signs is a text of jsonpath made of?
//!
//! Thread safety: pure functions.

use onlap_pg::{Error, Result, worked};

/// A word or sign.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Token {
    /// A name that is not in quotes; it may be a key word.
    Name(String),
    /// What is in quotes.
    Text(String),
    /// `$name`
    Variable(String),
    /// A whole number.
    Int(String),
    /// Another number.
    Number(String),
    /// `$`
    Root,
    /// One of `&& || ! == != < <= > >= + - * / % ( ) [ ] { } . , ? @ : ** #`
    Sign(&'static str),
    End,
}

/// What stands in a text, each with where it begins and ends.
pub(super) fn tokens(text: &str) -> Result<Vec<(Token, usize, usize)>> {
    let mut lexer = Lexer { text, at: 0 };
    let mut out = Vec::new();
    loop {
        lexer.skip()?;
        let start = lexer.at;
        let token = lexer.token()?;
        let end = token == Token::End;
        worked(lexer.at - start + 8)?;
        out.push((token, start, lexer.at));
        if end {
            return Ok(out);
        }
    }
}

/// An error at a token.
pub(super) fn wrong(what: &str, token: &str) -> Error {
    let message = match token {
        "" => format!("{what} at end of jsonpath input"),
        token => format!("{what} at or near \"{token}\" of jsonpath input"),
    };
    Error::new("42601", message)
}

const SIGNS: [&str; 27] = [
    "&&", "||", "==", "!=", "<>", "<=", ">=", "**", "!", "<", ">", "+", "-", "*", "/", "%", "(",
    ")", "[", "]", "{", "}", ".", ",", "?", "@", ":",
];

struct Lexer<'a> {
    text: &'a str,
    at: usize,
}

/// What ends a name.
fn is_special(c: char) -> bool {
    matches!(
        c,
        '?' | '%'
            | '$'
            | '.'
            | '['
            | ']'
            | '{'
            | '}'
            | '('
            | ')'
            | '|'
            | '&'
            | '!'
            | '='
            | '<'
            | '>'
    ) || matches!(c, '@' | '#' | ',' | '*' | ':' | '-' | '+' | '/' | '"' | '\\')
        || is_blank(c)
}

fn is_blank(c: char) -> bool {
    matches!(c, ' ' | '\t' | '\n' | '\r' | '\u{c}')
}

impl<'a> Lexer<'a> {
    fn rest(&self) -> &'a str {
        &self.text[self.at..]
    }

    /// Goes over white space and comments.
    fn skip(&mut self) -> Result<()> {
        loop {
            let before = self.at;
            let blank = self.rest().trim_start_matches(is_blank);
            self.at = self.text.len() - blank.len();
            worked(self.at - before)?;
            if !blank.starts_with("/*") {
                return Ok(());
            }
            match blank[2..].find("*/") {
                Some(length) => {
                    worked(length)?;
                    self.at += length + 4;
                }
                None => return Err(wrong("unexpected end of comment", "")),
            }
        }
    }

    fn token(&mut self) -> Result<Token> {
        let rest = self.rest();
        let Some(first) = rest.chars().next() else { return Ok(Token::End) };
        let second = rest[first.len_utf8()..].chars().next();
        match first {
            '"' => self.quoted().map(Token::Text),
            '$' => {
                self.at += 1;
                match second {
                    Some('"') => self.quoted().map(Token::Variable),
                    Some(c) if c == '\\' || !is_special(c) => self.name().map(Token::Variable),
                    _ => Ok(Token::Root),
                }
            }
            '0'..='9' => self.number(),
            '.' if second.is_some_and(|c| c.is_ascii_digit()) => self.number(),
            c if c == '\\' || !is_special(c) => self.name().map(Token::Name),
            _ => match SIGNS.iter().find(|sign| rest.starts_with(**sign)) {
                Some(sign) => {
                    self.at += sign.len();
                    Ok(Token::Sign(if *sign == "<>" { "!=" } else { sign }))
                }
                None => Err(wrong("syntax error", &rest[..first.len_utf8()])),
            },
        }
    }

    fn number(&mut self) -> Result<Token> {
        let rest = self.rest();
        let bytes = rest.as_bytes();
        let digits = |at: usize| bytes[at..].iter().take_while(|b| b.is_ascii_digit()).count();
        let whole = if bytes[0] == b'0' { 1 } else { digits(0) };
        let mut end = whole;
        let mut int = true;
        if bytes.get(end) == Some(&b'.') && (bytes.get(end + 1) != Some(&b'*') || whole == 0) {
            int = false;
            end += 1;
            end += digits(end);
        }
        if matches!(bytes.get(end), Some(b'e' | b'E')) {
            let sign = usize::from(matches!(bytes.get(end + 1), Some(b'+' | b'-')));
            let power = digits((end + 1 + sign).min(bytes.len()));
            if power > 0 {
                int = false;
                end += 1 + sign + power;
            }
        }
        let junk = rest[end..].chars().next().filter(|c| !is_special(*c));
        self.at += end;
        if let Some(junk) = junk {
            let shown = &rest[..end + junk.len_utf8()];
            return Err(wrong("trailing junk after numeric literal", shown));
        }
        let number = rest[..end].to_owned();
        Ok(if int { Token::Int(number) } else { Token::Number(number) })
    }

    fn name(&mut self) -> Result<String> {
        let mut out = String::new();
        while let Some(c) = self.rest().chars().next() {
            worked(1)?;
            if c == '\\' {
                out.push_str(&self.escape()?);
            } else if is_special(c) {
                break;
            } else {
                out.push(c);
                self.at += c.len_utf8();
            }
        }
        Ok(out)
    }

    fn quoted(&mut self) -> Result<String> {
        let mut out = String::new();
        self.at += 1;
        loop {
            worked(1)?;
            match self.rest().chars().next() {
                None => return Err(wrong("unexpected end of quoted string", "")),
                Some('"') => {
                    self.at += 1;
                    return Ok(out);
                }
                Some('\\') => out.push_str(&self.escape()?),
                Some(c) => {
                    out.push(c);
                    self.at += c.len_utf8();
                }
            }
        }
    }

    /// What a backslash and what follows it mean.
    fn escape(&mut self) -> Result<String> {
        let rest = &self.rest()[1..];
        let Some(c) = rest.chars().next() else {
            return Err(wrong("unexpected end after backslash", ""));
        };
        self.at += 1 + c.len_utf8();
        let plain = match c {
            'b' => '\u{8}',
            'f' => '\u{c}',
            'n' => '\n',
            'r' => '\r',
            't' => '\t',
            'v' => '\u{b}',
            'x' => {
                let code = rest.get(1..3).and_then(|digits| u32::from_str_radix(digits, 16).ok());
                let code =
                    code.ok_or_else(|| wrong("invalid hexadecimal character sequence", "\\x"))?;
                self.at += 2;
                return character(code).map(String::from);
            }
            'u' => return self.unicode(),
            other => other,
        };
        Ok(plain.to_string())
    }

    /// What follows `\u`.
    fn unicode(&mut self) -> Result<String> {
        let first = self.code()?;
        let code = match first {
            0xd800..=0xdbff => {
                let high = "Unicode low surrogate must follow a high surrogate.";
                let low = self.rest().strip_prefix("\\u").is_some();
                if !low {
                    return Err(surrogate(high));
                }
                self.at += 2;
                match self.code()? {
                    second @ 0xdc00..=0xdfff => {
                        0x10000 + ((first & 0x3ff) << 10) + (second & 0x3ff)
                    }
                    _ => return Err(surrogate(high)),
                }
            }
            0xdc00..=0xdfff => {
                return Err(surrogate("Unicode low surrogate must follow a high surrogate."));
            }
            code => code,
        };
        character(code).map(String::from)
    }

    /// Four digits, or up to six in braces.
    fn code(&mut self) -> Result<u32> {
        let rest = self.rest();
        let braced = rest.strip_prefix('{').and_then(|inner| {
            let end = inner.bytes().take(7).position(|byte| byte == b'}')?;
            Some(&inner[..end])
        });
        let (digits, length) = match braced {
            Some(digits) if !digits.is_empty() => (digits, digits.len() + 2),
            _ => (rest.get(..4).unwrap_or(""), 4),
        };
        let hexadecimal = !digits.is_empty() && digits.bytes().all(|b| b.is_ascii_hexdigit());
        let code = hexadecimal.then(|| u32::from_str_radix(digits, 16).ok()).flatten();
        let code = code.ok_or_else(|| wrong("invalid Unicode escape sequence", "\\u"))?;
        self.at += length;
        Ok(code)
    }
}

fn surrogate(detail: &str) -> Error {
    Error::new("22P02", "invalid input syntax for type jsonpath").detail(detail)
}

fn character(code: u32) -> Result<char> {
    if code == 0 {
        return Err(Error::new("22P05", "unsupported Unicode escape sequence")
            .detail("\\u0000 cannot be converted to text."));
    }
    char::from_u32(code).ok_or_else(|| wrong("invalid Unicode escape sequence", "\\u"))
}
