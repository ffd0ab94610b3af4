//! The words of a statement.

use super::keyword::Keyword;

/// What a token is. Its text is looked up by its place.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// A name that is no keyword, or that is quoted.
    Name,
    /// A keyword.
    Word(Keyword),
    /// NOT before BETWEEN, IN, LIKE, ILIKE or SIMILAR.
    NotBefore,
    /// NULLS before FIRST or LAST.
    NullsBefore,
    /// WITH before TIME or ORDINALITY.
    WithBefore,
    /// A literal text.
    Text,
    /// `B'…'`.
    Bits,
    /// `X'…'`.
    Hex,
    /// A whole number that fits 32 bits.
    Int(i32),
    /// Any other number.
    Number,
    /// `$n`.
    Param(i32),
    /// An operator that has no kind of its own.
    Op,
    /// `::`
    Typecast,
    /// `..`
    DotDot,
    /// `:=`
    ColonEquals,
    /// `=>`
    EqualsGreater,
    /// `<=`
    LessEquals,
    /// `>=`
    GreaterEquals,
    /// `<>`, `!=`
    NotEquals,
    /// A character that stands for itself.
    Char(char),
    /// What no token begins with; the error is the scanner's.
    Bad,
    /// The end.
    End,
}

/// A token.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Token {
    /// What it is.
    pub kind: Kind,
    /// Where it begins, in bytes.
    pub start: u32,
    /// Where it ends.
    pub end: u32,
    /// The place of its value among those of the scanner, where the text is not the value itself.
    pub(super) value: u32,
}

/// No value of its own.
pub(super) const NO_VALUE: u32 = u32::MAX;

impl Token {
    /// The keyword that it is.
    pub fn word(self) -> Option<Keyword> {
        match self.kind {
            Kind::Word(word) => Some(word),
            Kind::NotBefore => Some(Keyword::Not),
            Kind::NullsBefore => Some(Keyword::Nulls),
            Kind::WithBefore => Some(Keyword::With),
            _ => None,
        }
    }
}
