//! What do brackets mean?

use super::class;
use super::lex::{ESCAPE, Lexer, Refusal};
use super::set::{Set, other_case};

const BRACKETS: Refusal = "brackets [] not balanced";
const RANGE: Refusal = "invalid character range";
const CLASS: Refusal = "invalid character class";
const ELEMENT: Refusal = "invalid collating element";

impl Lexer {
    /// What stands behind `[`, up to its `]`.
    pub fn bracket(&mut self) -> Result<Set, Refusal> {
        let not = self.accept('^');
        let mut ranges = Vec::new();
        let start = self.at;
        loop {
            let first = self.at == start;
            let c = self.peek().ok_or(BRACKETS)?;
            if c == ']' && !first {
                self.at += 1;
                break;
            }
            self.part(first, &mut ranges)?;
        }
        if self.flags.any_case {
            let others: Vec<(u32, u32)> = (0..128)
                .filter(|c| ranges.iter().any(|(from, to)| (from..=to).contains(&c)))
                .filter_map(|c| other_case(c).map(|other| (other, other)))
                .collect();
            ranges.extend(others);
        }
        if !not {
            return Ok(Set::of(ranges));
        }
        if self.flags.stops_at_lines {
            ranges.push((10, 10));
        }
        Ok(Set::of(ranges).complement())
    }

    /// A character, a range or a class within brackets.
    fn part(&mut self, first: bool, ranges: &mut Vec<(u32, u32)>) -> Result<(), Refusal> {
        let from = match self.piece(first)? {
            Piece::One(c) => c,
            Piece::Many(set) => {
                ranges.extend(set);
                return Ok(());
            }
            Piece::Dash => return Err(RANGE),
        };
        let dash = self.peek() == Some('-') && !matches!(self.rest(), ['-', ']', ..]);
        if !dash {
            ranges.push((from, from));
            return Ok(());
        }
        self.at += 1;
        let to = match self.piece(false)? {
            Piece::One(c) => c,
            Piece::Dash => u32::from('-'),
            Piece::Many(_) => return Err(RANGE),
        };
        if from > to {
            return Err(RANGE);
        }
        ranges.push((from, to));
        Ok(())
    }

    fn piece(&mut self, first: bool) -> Result<Piece, Refusal> {
        let c = self.take().ok_or(BRACKETS)?;
        Ok(match c {
            '-' if !first && self.peek() != Some(']') => Piece::Dash,
            ']' if !first => return Err(RANGE),
            '\\' if self.is_advanced() => {
                let c = self.take().ok_or(ESCAPE)?;
                match class::escaped(c) {
                    Some(set) => Piece::Many(set.ranges().to_vec()),
                    None if c.is_ascii_alphanumeric() => Piece::One(self.value(c)?),
                    None => Piece::One(u32::from(c)),
                }
            }
            '[' => match self.peek().ok_or(BRACKETS)? {
                sign @ ('.' | '=' | ':') => {
                    self.at += 1;
                    self.name(sign)?
                }
                _ => Piece::One(u32::from(c)),
            },
            c => Piece::One(u32::from(c)),
        })
    }

    /// `[.name.]`, `[=name=]`, `[:name:]` behind its first two characters.
    fn name(&mut self, sign: char) -> Result<Piece, Refusal> {
        let mut name = String::new();
        while !matches!(self.rest(), [c, ']', ..] if *c == sign) {
            name.push(self.take().ok_or(BRACKETS)?);
        }
        self.at += 2;
        // What is not closed is refused before a name is looked up.
        if self.peek().is_none() {
            return Err(BRACKETS);
        }
        if sign == ':' {
            let set = class::named(&name, self.flags.any_case).ok_or(CLASS)?;
            return Ok(Piece::Many(set.to_vec()));
        }
        let c = class::element(&name).ok_or(ELEMENT)?;
        Ok(if sign == '.' { Piece::One(c) } else { Piece::Many(vec![(c, c)]) })
    }
}

/// What stands in brackets.
enum Piece {
    One(u32),
    Many(Vec<(u32, u32)>),
    Dash,
}
