//! CREATE SEQUENCE, and options of sequences.

use super::super::keyword::Keyword;
use super::super::parser::Parser;
use super::super::token::Kind;
use crate::Result;
use crate::ast::{CreateSequence, Lasting, SequenceOption, Statement};

impl Parser<'_> {
    /// CREATE SEQUENCE, behind these words.
    pub(super) fn create_sequence(&mut self, lasting: Lasting) -> Result<Statement> {
        let skip = self.if_not_exists()?;
        let place = self.place();
        let name = self.relation_name()?;
        let options = match self.at_sequence_option() || self.at_word(Keyword::No) {
            true => self.sequence_options()?,
            false => Vec::new(),
        };
        Ok(Statement::CreateSequence(Box::new(CreateSequence {
            lasting,
            skip,
            name,
            place,
            options,
        })))
    }

    /// Whether a word begins an option, with what follows it.
    pub(super) fn is_sequence_option(&self, word: Keyword, next: Kind) -> bool {
        use Keyword as K;
        match word {
            K::As | K::Cache | K::Cycle | K::Increment | K::Maxvalue | K::Minvalue => true,
            K::Owned | K::Sequence | K::Start | K::Restart | K::Logged | K::Unlogged => true,
            K::No => matches!(next, Kind::Word(K::Maxvalue | K::Minvalue | K::Cycle)),
            _ => false,
        }
    }

    pub(super) fn at_sequence_option(&self) -> bool {
        matches!(self.kind(), Kind::Word(word) if self.is_sequence_option(word, self.ahead(1)))
    }

    /// Options up to what is none, one at least.
    pub(super) fn sequence_options(&mut self) -> Result<Vec<SequenceOption>> {
        let mut options = vec![self.sequence_option()?];
        while self.at_sequence_option() {
            options.push(self.sequence_option()?);
        }
        if self.at_word(Keyword::No) {
            self.advance();
            return Err(self.unexpected());
        }
        Ok(options)
    }

    /// `(start 1 cache 2)`
    pub(super) fn sequence_options_in_parens(&mut self) -> Result<Vec<SequenceOption>> {
        self.expect_char('(')?;
        let options = self.sequence_options()?;
        self.expect_char(')')?;
        Ok(options)
    }

    pub(super) fn sequence_option(&mut self) -> Result<SequenceOption> {
        use Keyword as K;
        let Kind::Word(word) = self.kind() else { return Err(self.unexpected()) };
        let known = [
            K::As,
            K::Cache,
            K::Cycle,
            K::Increment,
            K::Maxvalue,
            K::Minvalue,
            K::No,
            K::Owned,
            K::Sequence,
            K::Start,
            K::Restart,
            K::Logged,
            K::Unlogged,
        ];
        if !known.contains(&word) {
            return Err(self.unexpected());
        }
        self.advance();
        Ok(match word {
            K::As => SequenceOption::Type(self.simple_type()?),
            K::Cache => SequenceOption::Cache(self.number()?),
            K::Cycle => SequenceOption::Cycle(true),
            K::Logged | K::Unlogged => SequenceOption::Logged(word == K::Logged),
            K::Increment => {
                self.accept_word(K::By);
                SequenceOption::Increment(self.number()?)
            }
            K::Maxvalue => SequenceOption::Max(Some(self.number()?)),
            K::Minvalue => SequenceOption::Min(Some(self.number()?)),
            K::No => {
                if self.accept_word(K::Maxvalue) {
                    SequenceOption::Max(None)
                } else if self.accept_word(K::Minvalue) {
                    SequenceOption::Min(None)
                } else {
                    self.expect_word(K::Cycle)?;
                    SequenceOption::Cycle(false)
                }
            }
            K::Owned => {
                self.expect_word(K::By)?;
                SequenceOption::OwnedBy(self.any_name()?)
            }
            K::Sequence => {
                self.expect_word(K::Name)?;
                SequenceOption::Name(self.any_name()?)
            }
            K::Start => {
                self.accept_with();
                SequenceOption::Start(self.number()?)
            }
            _ => {
                let with = self.accept_with();
                SequenceOption::Restart(match with || self.at_number() {
                    true => Some(self.number()?),
                    false => None,
                })
            }
        })
    }
}
