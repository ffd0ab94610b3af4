//! What do the characters of an expression mean, one after the other?

use super::class;
use super::set::Set;
use super::tree::Place;
use super::{Flags, Syntax};

/// Why an expression is refused.
pub type Refusal = &'static str;

/// Escapes.
pub const ESCAPE: Refusal = "invalid escape \\ sequence";
/// Parentheses.
pub const PARENTHESES: Refusal = "parentheses () not balanced";
/// Quantifiers.
pub const QUANTIFIER: Refusal = "quantifier operand invalid";
/// References.
pub const REFERENCE: Refusal = "invalid backreference number";
const BRACES: Refusal = "braces {} not balanced";
const COUNTS: Refusal = "invalid repetition count(s)";
const OPTION: Refusal = "invalid embedded option";
const DIRECTOR: Refusal = "invalid regexp (reg version 0.8)";

/// The largest count of repetitions.
const MAX_COUNT: u32 = 255;

/// What comes next.
#[derive(Clone, Debug, PartialEq)]
pub enum Token {
    /// Nothing.
    End,
    /// `|`
    Or,
    /// `(`, of a group or not.
    Open { group: bool },
    /// `(?=` and its like.
    Look { ahead: bool, wanted: bool },
    /// `)`
    Close,
    /// `[`, behind which `bracket` reads on.
    Bracket,
    /// `*`, `+`, `?`
    Count { least: u32, most: Option<u32>, longer: bool },
    /// `{`, behind which [`Lexer::bounds`] reads on.
    Brace,
    /// A character of a set.
    Set(Set),
    /// One between others.
    Place(Place),
    /// A back reference.
    Reference(usize),
}

/// Bounds of a repetition: what it prefers is that of its operand if it is `None`.
pub struct Bounds {
    /// At least.
    pub least: u32,
    /// At most.
    pub most: Option<u32>,
    /// What it prefers.
    pub longer: Option<bool>,
}

/// What the last token was, as far as the next one depends on it.
#[derive(Clone, Copy, PartialEq)]
enum Last {
    Nothing,
    Open,
    Start,
    Other,
}

/// What is left of an expression.
pub struct Lexer {
    chars: Vec<char>,
    pub(super) at: usize,
    last: Last,
    /// Groups that were opened.
    pub groups: usize,
    /// With what is written at its beginning.
    pub flags: Flags,
}

impl Lexer {
    /// Reads what stands before an expression, too.
    pub fn new(pattern: &str, flags: Flags) -> Result<Lexer, Refusal> {
        let chars = pattern.chars().collect();
        let mut lexer = Lexer { chars, at: 0, last: Last::Nothing, groups: 0, flags };
        lexer.prefixes()?;
        Ok(lexer)
    }

    pub(super) fn rest(&self) -> &[char] {
        &self.chars[self.at..]
    }

    pub(super) fn peek(&self) -> Option<char> {
        self.chars.get(self.at).copied()
    }

    pub(super) fn take(&mut self) -> Option<char> {
        let c = self.peek();
        self.at += usize::from(c.is_some());
        c
    }

    pub(super) fn accept(&mut self, c: char) -> bool {
        let there = self.peek() == Some(c);
        self.at += usize::from(there);
        there
    }

    /// `***:`, `***=` and options in parentheses.
    fn prefixes(&mut self) -> Result<(), Refusal> {
        if self.flags.syntax == Syntax::Literal {
            return Ok(());
        }
        if let ['*', '*', '*', sign, ..] = self.rest() {
            match sign {
                '=' => self.flags.syntax = Syntax::Literal,
                ':' => self.flags.syntax = Syntax::Advanced,
                '?' => return Err(DIRECTOR),
                _ => return Err(QUANTIFIER),
            }
            self.at += 4;
        }
        let options = matches!(self.rest(), ['(', '?', c, ..] if c.is_ascii_alphabetic());
        if self.flags.syntax != Syntax::Advanced || !options {
            return Ok(());
        }
        self.at += 2;
        while let Some(c) = self.peek().filter(char::is_ascii_alphabetic) {
            self.at += 1;
            set_option(&mut self.flags, c).ok_or(OPTION)?;
        }
        if self.accept(')') { Ok(()) } else { Err(OPTION) }
    }

    /// Leaves out blanks and comments.
    fn skip(&mut self) {
        loop {
            let start = self.at;
            while self.peek().is_some_and(|c| matches!(c, ' ' | '\t'..='\r')) {
                self.at += 1;
            }
            if self.peek() == Some('#') {
                while self.peek().is_some_and(|c| c != '\n') {
                    self.at += 1;
                }
            }
            if self.at == start {
                return;
            }
        }
    }

    /// The next token.
    pub fn next(&mut self) -> Result<Token, Refusal> {
        if self.flags.expanded && self.flags.syntax != Syntax::Literal {
            self.skip();
        }
        let token = match self.take() {
            None => Token::End,
            Some(c) => match self.flags.syntax {
                Syntax::Literal => self.plain(c),
                Syntax::Basic => self.basic(c)?,
                _ => self.extended(c)?,
            },
        };
        self.last = match token {
            Token::Open { .. } => Last::Open,
            Token::Place(Place::Start | Place::LineStart) => Last::Start,
            _ => Last::Other,
        };
        Ok(token)
    }

    fn plain(&self, c: char) -> Token {
        Token::Set(Set::one(u32::from(c), self.flags.any_case))
    }

    pub(super) fn is_advanced(&self) -> bool {
        self.flags.syntax == Syntax::Advanced
    }

    fn basic(&mut self, c: char) -> Result<Token, Refusal> {
        let first = matches!(self.last, Last::Nothing | Last::Open);
        Ok(match c {
            '*' if self.last == Last::Other => Token::Count { least: 0, most: None, longer: true },
            '[' | '.' => self.extended(c)?,
            '^' if first => self.extended(c)?,
            '$' if matches!(self.rest(), [] | ['\\', ')', ..]) => self.extended(c)?,
            '\\' => match self.take().ok_or(ESCAPE)? {
                '{' => Token::Brace,
                '(' => Token::Open { group: true },
                ')' => Token::Close,
                '<' => Token::Place(Place::WordStart),
                '>' => Token::Place(Place::WordEnd),
                c @ '1'..='9' => Token::Reference(c as usize - '0' as usize),
                c => self.plain(c),
            },
            c => self.plain(c),
        })
    }

    fn extended(&mut self, c: char) -> Result<Token, Refusal> {
        let lines = self.flags.anchors_at_lines;
        Ok(match c {
            '|' => Token::Or,
            '*' => self.count(0, None),
            '+' => self.count(1, None),
            '?' => self.count(0, Some(1)),
            '{' => {
                if self.flags.expanded {
                    self.skip();
                }
                match self.peek() {
                    Some('0'..='9') => Token::Brace,
                    _ => self.plain(c),
                }
            }
            '(' if self.is_advanced() && self.accept('?') => return self.parenthesis(),
            '(' => Token::Open { group: true },
            ')' => Token::Close,
            '[' => match self.rest() {
                ['[', ':', side @ ('<' | '>'), ':', ']', ']', ..] => {
                    let place = if *side == '<' { Place::WordStart } else { Place::WordEnd };
                    self.at += 6;
                    Token::Place(place)
                }
                _ => Token::Bracket,
            },
            '.' => {
                let none = if self.flags.stops_at_lines { vec![(10, 10)] } else { Vec::new() };
                Token::Set(Set::of(none).complement())
            }
            '^' => Token::Place(if lines { Place::LineStart } else { Place::Start }),
            '$' => Token::Place(if lines { Place::LineEnd } else { Place::End }),
            '\\' if self.is_advanced() => return self.escape(),
            '\\' => {
                let c = self.take().ok_or(ESCAPE)?;
                self.plain(c)
            }
            c => self.plain(c),
        })
    }

    fn count(&mut self, least: u32, most: Option<u32>) -> Token {
        let longer = !(self.is_advanced() && self.accept('?'));
        Token::Count { least, most, longer }
    }

    /// What stands behind `(?`.
    fn parenthesis(&mut self) -> Result<Token, Refusal> {
        Ok(match self.take() {
            Some(':') => Token::Open { group: false },
            Some('#') => {
                while self.take().is_some_and(|c| c != ')') {}
                self.next()?
            }
            Some('=') => Token::Look { ahead: true, wanted: true },
            Some('!') => Token::Look { ahead: true, wanted: false },
            Some('<') => match self.take() {
                Some('=') => Token::Look { ahead: false, wanted: true },
                Some('!') => Token::Look { ahead: false, wanted: false },
                _ => return Err(QUANTIFIER),
            },
            _ => return Err(QUANTIFIER),
        })
    }

    /// What stands behind a backslash.
    fn escape(&mut self) -> Result<Token, Refusal> {
        let c = self.take().ok_or(ESCAPE)?;
        if !c.is_ascii_alphanumeric() {
            return Ok(self.plain(c));
        }
        if let Some(set) = class::escaped(c) {
            return Ok(Token::Set(set));
        }
        Ok(match c {
            'A' => Token::Place(Place::Start),
            'Z' => Token::Place(Place::End),
            'm' => Token::Place(Place::WordStart),
            'M' => Token::Place(Place::WordEnd),
            'y' => Token::Place(Place::WordEdge),
            'Y' => Token::Place(Place::NoWordEdge),
            '1'..='9' => {
                let start = self.at;
                self.at -= 1;
                let number = self.digits(10, 1, 255)? as usize;
                // Several digits are a reference if there was such a group, else an octal number.
                if self.at == start || number <= self.groups {
                    return Ok(Token::Reference(number));
                }
                self.at = start;
                self.character('0')?
            }
            c => self.character(c)?,
        })
    }

    fn character(&mut self, c: char) -> Result<Token, Refusal> {
        let value = self.value(c)?;
        Ok(Token::Set(Set::one(value, self.flags.any_case)))
    }

    /// The character that a letter or digit behind a backslash means.
    pub(super) fn value(&mut self, c: char) -> Result<u32, Refusal> {
        Ok(match c {
            'a' => 7,
            'b' => 8,
            'B' => u32::from('\\'),
            'c' => u32::from(self.take().ok_or(ESCAPE)?) & 31,
            'e' => 27,
            'f' => 12,
            'n' => 10,
            'r' => 13,
            't' => 9,
            'v' => 11,
            'u' => self.digits(16, 4, 4)?,
            'U' => self.digits(16, 8, 8)?,
            'x' => self.digits(16, 1, 255)?,
            '0'..='9' => {
                self.at -= 1;
                let value = self.digits(8, 1, 3)?;
                if value <= 0xff {
                    return Ok(value);
                }
                // One digit less.
                self.at -= 1;
                value >> 3
            }
            _ => return Err(ESCAPE),
        })
    }

    fn digits(&mut self, radix: u32, least: usize, most: usize) -> Result<u32, Refusal> {
        let (mut value, mut count) = (0_u32, 0);
        while count < most
            && let Some(digit) = self.peek().and_then(|c| c.to_digit(radix))
        {
            value = value.saturating_mul(radix).saturating_add(digit);
            self.at += 1;
            count += 1;
        }
        if count < least || value > 0x7fff_fffe { Err(ESCAPE) } else { Ok(value) }
    }

    /// `m}`, `m,}` or `m,n}`.
    pub fn bounds(&mut self) -> Result<Bounds, Refusal> {
        let least = self.bound()?;
        let (mut most, mut prefers) = (Some(least), false);
        if self.bound_char()? == Some(',') {
            self.at += 1;
            prefers = true;
            let digit = self.bound_char()?.is_some_and(|c| c.is_ascii_digit());
            most = if digit { Some(self.bound()?) } else { None };
            if most.is_some_and(|most| most < least) {
                return Err(COUNTS);
            }
        }
        match self.bound_char()? {
            Some('\\') if self.flags.syntax == Syntax::Basic => {
                self.at += 1;
                if self.take() != Some('}') {
                    return Err(COUNTS);
                }
            }
            Some('}') if self.flags.syntax != Syntax::Basic => self.at += 1,
            _ => return Err(COUNTS),
        }
        let longer = !(self.is_advanced() && self.accept('?'));
        Ok(Bounds { least, most, longer: prefers.then_some(longer) })
    }

    /// What comes next within braces.
    fn bound_char(&mut self) -> Result<Option<char>, Refusal> {
        if self.flags.expanded {
            self.skip();
        }
        match self.peek() {
            None => Err(BRACES),
            c => Ok(c),
        }
    }

    fn bound(&mut self) -> Result<u32, Refusal> {
        let mut value = 0;
        let mut count = 0;
        while let Some(digit) = self.bound_char()?.and_then(|c| c.to_digit(10)) {
            value = value * 10 + digit;
            if value > MAX_COUNT {
                return Err(COUNTS);
            }
            self.at += 1;
            count += 1;
        }
        if count == 0 { Err(COUNTS) } else { Ok(value) }
    }
}

/// Sets an option by its letter; `None` if there is none of it.
pub fn set_option(flags: &mut Flags, letter: char) -> Option<()> {
    match letter {
        'b' => flags.syntax = Syntax::Basic,
        'e' => flags.syntax = Syntax::Extended,
        'q' => flags.syntax = Syntax::Literal,
        'c' => flags.any_case = false,
        'i' => flags.any_case = true,
        'm' | 'n' => (flags.stops_at_lines, flags.anchors_at_lines) = (true, true),
        'p' => (flags.stops_at_lines, flags.anchors_at_lines) = (true, false),
        's' => (flags.stops_at_lines, flags.anchors_at_lines) = (false, false),
        'w' => (flags.stops_at_lines, flags.anchors_at_lines) = (false, true),
        't' => flags.expanded = false,
        'x' => flags.expanded = true,
        _ => return None,
    }
    Some(())
}
