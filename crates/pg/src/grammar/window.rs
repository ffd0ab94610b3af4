//! Windows and their frames.

use super::keyword::Keyword;
use super::parser::Parser;
use super::token::Kind;
use crate::ast::{Exclude, Frame, FrameEdge, FrameUnit, Window};
use crate::{Error, Result};

impl Parser<'_> {
    /// A window in parentheses.
    pub(super) fn window(&mut self) -> Result<Window> {
        self.deeper(Self::window_inside)
    }

    fn window_inside(&mut self) -> Result<Window> {
        use Keyword as K;
        let place = self.place();
        self.expect_char('(')?;
        let begins_clause =
            matches!(self.kind(), Kind::Word(K::Partition | K::Range | K::Rows | K::Groups));
        let base = match !begins_clause && Parser::is_column_name(self.kind()) {
            true => Some(self.column_name()?),
            false => None,
        };
        let mut partition = Vec::new();
        if self.accept_word(K::Partition) {
            self.expect_word(K::By)?;
            partition = self.exprs()?;
        }
        let order = self.order_by()?;
        let unit = match self.kind() {
            Kind::Word(K::Range) => Some(FrameUnit::Range),
            Kind::Word(K::Rows) => Some(FrameUnit::Rows),
            Kind::Word(K::Groups) => Some(FrameUnit::Groups),
            _ => None,
        };
        let frame = match unit {
            Some(unit) => {
                self.advance();
                Some(self.frame(unit)?)
            }
            None => None,
        };
        self.expect_char(')')?;
        Ok(Window { base, partition, order, frame, place })
    }

    fn frame(&mut self, unit: FrameUnit) -> Result<Frame> {
        use FrameEdge as E;
        let refused = |text: &str, place| Err(Error::new("42P20", text).at(place));
        if !self.at_word(Keyword::Between) || goes_on_with_column(self.ahead(1)) {
            let place = self.place();
            let from = self.frame_edge()?;
            match from {
                E::Last => return refused("frame start cannot be UNBOUNDED FOLLOWING", place),
                E::After(_) => {
                    let text = "frame starting from following row cannot end with current row";
                    return refused(text, place);
                }
                _ => {}
            }
            return Ok(Frame { unit, from, to: None, exclude: self.exclusion()? });
        }
        self.advance();
        if self.at_word(Keyword::Between) {
            // As a column it would have to be in quotes here.
            return Err(self.unexpected());
        }
        let first = self.place();
        let from = self.frame_edge()?;
        self.expect_word(Keyword::And)?;
        let second = self.place();
        let to = self.frame_edge()?;
        match (from, to) {
            (E::Last, _) => refused("frame start cannot be UNBOUNDED FOLLOWING", first),
            (_, E::First) => refused("frame end cannot be UNBOUNDED PRECEDING", second),
            (E::Current, E::Before(_)) => {
                refused("frame starting from current row cannot have preceding rows", second)
            }
            (E::After(_), E::Before(_) | E::Current) => {
                refused("frame starting from following row cannot have preceding rows", second)
            }
            _ => Ok(Frame { unit, from, to: Some(to), exclude: self.exclusion()? }),
        }
    }

    fn frame_edge(&mut self) -> Result<FrameEdge> {
        use Keyword as K;
        let next = self.ahead(1);
        let unbounded =
            self.at_word(K::Unbounded) && matches!(next, Kind::Word(K::Preceding | K::Following));
        if unbounded {
            self.advance();
            let before = self.advance().kind == Kind::Word(K::Preceding);
            return Ok(if before { FrameEdge::First } else { FrameEdge::Last });
        }
        if self.at_word(K::Current) && next == Kind::Word(K::Row) {
            self.advance();
            self.advance();
            return Ok(FrameEdge::Current);
        }
        let distance = self.expr()?;
        if self.accept_word(K::Preceding) {
            return Ok(FrameEdge::Before(distance));
        }
        self.expect_word(K::Following)?;
        Ok(FrameEdge::After(distance))
    }

    fn exclusion(&mut self) -> Result<Option<Exclude>> {
        use Keyword as K;
        if !self.accept_word(K::Exclude) {
            return Ok(None);
        }
        if self.accept_word(K::Current) {
            self.expect_word(K::Row)?;
            return Ok(Some(Exclude::Current));
        }
        if self.accept_word(K::Group) {
            return Ok(Some(Exclude::Group));
        }
        if self.accept_word(K::Ties) {
            return Ok(Some(Exclude::Ties));
        }
        self.expect_word(K::No)?;
        self.expect_word(K::Others)?;
        Ok(None)
    }
}

/// Whether BETWEEN before a token is a column: the token can begin no expression.
fn goes_on_with_column(next: Kind) -> bool {
    use Keyword as K;
    match next {
        Kind::Char('*' | '/' | '%' | '^' | '<' | '>' | '=' | '.' | '[') => true,
        Kind::LessEquals | Kind::GreaterEquals | Kind::NotEquals | Kind::Typecast => true,
        Kind::Word(word) => {
            matches!(word, K::And | K::Or | K::Is | K::Isnull | K::Notnull | K::Collate)
        }
        _ => false,
    }
}
