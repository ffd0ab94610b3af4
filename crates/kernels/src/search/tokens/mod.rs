//! Which words, numbers, addresses and tags are in a text?
//!
//! As PostgreSQL's parser "default" finds them in collation C, where every character beyond ASCII is a letter. It is an
//! automaton ([`mod@rules`]) that tries: where a text may begin an address or a path, it notes where it is and goes on; if it is
//! none, it goes back and takes the next rule. A word with dashes is found as a whole and then again in its parts, and so is an
//! address with a path.
//!
//! Thread safety: belongs to one call.

mod rules;

use onlap_pg::{Result, worked};

use crate::json::form::too_deep;
use crate::text::regex::deeper;

use rules::{Rule, State, Test, Then, rules};

/// Kinds of tokens, by their number in PostgreSQL.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub(super) enum Kind {
    AsciiWord = 1,
    Word = 2,
    NumWord = 3,
    Email = 4,
    Url = 5,
    Host = 6,
    Scientific = 7,
    Version = 8,
    NumPart = 9,
    Part = 10,
    AsciiPart = 11,
    Blank = 12,
    Tag = 13,
    Protocol = 14,
    NumHyphenated = 15,
    AsciiHyphenated = 16,
    Hyphenated = 17,
    UrlPath = 18,
    File = 19,
    Decimal = 20,
    Signed = 21,
    Unsigned = 22,
    Entity = 23,
}

/// Where the automaton is.
#[derive(Clone, Copy, Debug)]
struct Place {
    at: usize,
    /// Bytes of the token so far.
    length: usize,
    state: State,
    /// The rule that is tried next, if it comes back here.
    rule: usize,
}

/// Finds tokens.
#[derive(Debug)]
pub(super) struct Tokens<'a> {
    text: &'a [u8],
    /// Where it may go back to.
    noted: Vec<Place>,
    now: Place,
    begin: usize,
    /// In a script or a style: all is between words.
    ignores: bool,
    /// A host ends where its path begins.
    wants_host: bool,
    /// How many tokens it is looked for within: a text may be one address within another.
    level: u32,
}

/// Tokens within each other; more of them are refused.
const LEVELS: u32 = 4096;
/// Steps between two questions whether the statement goes on.
const STEPS: usize = 1024;

impl<'a> Tokens<'a> {
    pub(super) fn new(text: &'a str) -> Tokens<'a> {
        Tokens::of(text.as_bytes(), State::Base)
    }

    fn of(text: &'a [u8], state: State) -> Tokens<'a> {
        Tokens {
            text,
            noted: Vec::new(),
            now: Place { at: 0, length: 0, state, rule: 0 },
            begin: 0,
            ignores: false,
            wants_host: false,
            level: 0,
        }
    }

    /// The next token: its kind, and where it begins and ends; `None` at the end.
    ///
    /// # Errors
    /// `54001`, `57014`
    pub(super) fn next(&mut self) -> Result<Option<(Kind, usize, usize)>> {
        if self.now.at >= self.text.len() {
            return Ok(None);
        }
        self.begin = self.now.at;
        self.now.rule = 0;
        let mut steps = 0;
        loop {
            steps += 1;
            if steps == STEPS {
                worked(steps)?;
                steps = 0;
            }
            let (at, rule) = self.rule()?;
            self.special(rule.then);
            let found = match rule.then {
                Then::Found(kind, _)
                | Then::FoundForget(kind, _)
                | Then::FoundAlone(kind, _)
                | Then::FoundBack(kind, _) => {
                    let end = self.begin + self.now.length;
                    self.now.length = 0;
                    Some((kind, self.begin, end))
                }
                _ => None,
            };
            let moves = self.go(rule, at);
            if found.is_some() {
                worked(steps)?;
                return Ok(found);
            }
            if self.now.at >= self.text.len()
                && !matches!(rule.then, Then::Again(_) | Then::Anew(_))
            {
                return Ok(None);
            }
            if moves {
                let length = self.width();
                self.now.at += length;
                self.now.length += length;
            }
        }
    }

    /// The first rule that fits here, and its place.
    fn rule(&mut self) -> Result<(usize, &'static Rule)> {
        let all = rules(self.now.state);
        let first = std::mem::take(&mut self.now.rule);
        for (at, rule) in all.iter().enumerate().skip(first) {
            if self.fits(rule.test)? {
                return Ok((at, rule));
            }
        }
        unreachable!("the last rule of a state fits always")
    }

    /// Bytes of the character that is here; 0 at the end.
    fn width(&self) -> usize {
        match self.text.get(self.now.at) {
            None => 0,
            Some(0..0x80) => 1,
            Some(0x80..0xe0) => 2,
            Some(0xe0..0xf0) => 3,
            Some(0xf0..) => 4,
        }
    }

    fn fits(&mut self, test: Test) -> Result<bool> {
        let byte = self.text.get(self.now.at).copied();
        Ok(match test {
            Test::Always => true,
            Test::End => byte.is_none(),
            Test::Is(c) => byte == Some(c),
            Test::AsciiLetter => byte.is_some_and(|byte| byte.is_ascii_alphabetic()),
            Test::Letter => byte.is_some_and(|byte| byte.is_ascii_alphabetic() || byte >= 0x80),
            Test::Digit => byte.is_some_and(|byte| byte.is_ascii_digit()),
            Test::Hex => byte.is_some_and(|byte| byte.is_ascii_hexdigit()),
            Test::LetterOrDigit => is_of_word(byte),
            Test::Other => !is_of_word(byte),
            Test::Space => byte.is_some_and(super::words::is_space),
            Test::OfUrl => byte.is_some_and(is_of_url),
            Test::Ignored => self.ignores,
            Test::StopsHost => std::mem::take(&mut self.wants_host),
            Test::Host => self.takes(State::Base, &[Kind::Host], true)?,
            Test::UrlPath => self.takes(State::UrlPathFirst, &[Kind::UrlPath], false)?,
        })
    }

    /// Whether a token of some kinds begins here; it becomes part of this one.
    fn takes(&mut self, state: State, kinds: &[Kind], wants_host: bool) -> Result<bool> {
        if self.level >= LEVELS {
            return Err(too_deep());
        }
        let mut inner = Tokens::of(&self.text[self.now.at..], state);
        (inner.wants_host, inner.level) = (wants_host, self.level + 1);
        if state != State::Base {
            // Where it goes back to if it is none: no path begins there.
            inner.noted.push(Place { state: State::Nothing, ..inner.now });
        }
        let Some((kind, _, length)) = deeper(|| inner.next())? else { return Ok(false) };
        if !kinds.contains(&kind) {
            return Ok(false);
        }
        self.now.at += length;
        self.now.length += length;
        Ok(true)
    }

    /// What a rule does before it moves.
    fn special(&mut self, then: Then) {
        match then {
            Then::Tag(_) => {
                let token = &self.text[self.begin..][..self.now.length];
                let is = |name: &str| token.eq_ignore_ascii_case(name.as_bytes());
                if is("</script") || is("</style") {
                    self.ignores = false;
                } else if is("<script") || is("<style") {
                    self.ignores = true;
                }
            }
            Then::FoundBack(kind, _) => {
                self.wants_host |= kind == Kind::Url;
                self.now.at -= self.now.length;
            }
            Then::Anew(_) => {
                self.now.at -= self.now.length;
                self.now.length = 0;
            }
            _ => {}
        }
    }

    /// Goes where a rule says; whether a character is taken with it.
    fn go(&mut self, rule: &Rule, at: usize) -> bool {
        match rule.then {
            Then::Stay => true,
            Then::Go(state) | Then::Tag(state) => {
                self.now.state = state;
                true
            }
            Then::TagStay => true,
            Then::Again(state) | Then::Anew(state) => {
                self.now.state = state;
                false
            }
            Then::Try(state) => {
                self.noted.push(Place { rule: at + 1, ..self.now });
                self.now.state = state;
                true
            }
            Then::Forget(state) => {
                self.noted.pop();
                self.now.state = state;
                true
            }
            Then::Back => {
                self.now = self.noted.pop().expect("it was noted where this was tried");
                false
            }
            Then::Join => {
                let noted = self.noted.pop().expect("it was noted where this was tried");
                self.now.state = noted.state;
                // Rules before the one that noted it are not tried for the next character.
                self.now.rule = noted.rule;
                true
            }
            Then::Found(_, state) => {
                self.now.state = state;
                false
            }
            Then::FoundForget(_, state) => {
                self.noted.pop();
                self.now.state = state;
                false
            }
            Then::FoundAlone(_, state) | Then::FoundBack(_, state) => {
                self.noted.clear();
                self.now.state = state;
                false
            }
        }
    }
}

fn is_of_word(byte: Option<u8>) -> bool {
    byte.is_some_and(|byte| byte.is_ascii_alphanumeric() || byte >= 0x80)
}

/// What RFC 3986 has in addresses, and some more.
fn is_of_url(byte: u8) -> bool {
    let refused = matches!(byte, b'"' | b'<' | b'>' | b'\\' | b'^' | b'`' | b'{' | b'|' | b'}');
    byte.is_ascii_graphic() && !refused
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tokens(text: &str) -> Result<usize> {
        let (mut tokens, mut count) = (Tokens::new(text), 0);
        while tokens.next()?.is_some() {
            count += 1;
        }
        Ok(count)
    }

    #[test]
    #[allow(clippy::disallowed_methods, reason = "a thread with a small stack")]
    fn addresses_within_addresses_end() {
        // Each of them is looked at as the host of the one before.
        assert_eq!(tokens(&"a@1".repeat(100)).unwrap(), 201);
        let deep = std::thread::Builder::new().stack_size(256 << 10);
        let deep = deep.spawn(|| tokens(&"a@1".repeat(200_000))).expect("a thread");
        assert_eq!(deep.join().expect("no stack overflow").unwrap_err().state, "54001");
    }
}
