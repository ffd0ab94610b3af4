//! How are numbers written and read by a template, as to_char and to_number do?
//!
//! A template is a list of patterns with text between them. `parse` reads it and counts its places (`Shape`); `write`
//! writes digits by it, `read` finds them; `values` makes the digits of a number. Symbols are those of locale C.

mod parse;
mod read;
mod roman;
mod values;
mod write;

pub use values::ENTRIES;

/// A pattern of a template.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Pattern {
    /// 9
    Nine,
    /// 0
    Zero,
    /// . and D
    Point,
    /// ,
    Comma,
    /// G
    Group,
    /// L
    Currency,
    /// MI
    Minus,
    /// PL
    Plus,
    /// SG
    Sign,
    /// RN and rn
    Roman { upper: bool },
    /// TH and th
    Ordinal { upper: bool },
    /// What changes how others are written, or nothing: B, C, FM, S, SP, PR, V, EEEE.
    Silent,
}

/// A part of a template.
#[derive(Clone, Copy, Debug)]
enum Part {
    Pattern(Pattern),
    Text(char),
}

/// Where S stands.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Anchor {
    /// There is none, or its sign is written by no digit.
    #[default]
    None,
    /// Before the digits.
    Before,
    /// Behind them.
    Behind,
}

/// What a template says as a whole.
#[derive(Clone, Debug, Default)]
struct Shape {
    /// Places before the point.
    before: i32,
    /// Places behind the point.
    behind: i32,
    /// The place of the first 0, from 1; 0 for none.
    first_zero: i32,
    /// The place of the last 0, from 1.
    last_zero: i32,
    /// Whether a 0 stands before the point.
    has_zero: bool,
    /// Whether there is a point.
    has_point: bool,
    /// FM
    fills: bool,
    /// B
    blank: bool,
    /// S
    signed: bool,
    anchor: Anchor,
    /// Places before S.
    before_sign: i32,
    /// MI or SG
    minus: bool,
    /// PL or SG
    plus: bool,
    /// PR
    brackets: bool,
    /// RN
    roman: bool,
    /// V
    shifts: bool,
    /// Places behind V.
    shift: i32,
    /// EEEE
    exponent: bool,
}
