//! COPY.

use super::keyword::Keyword;
use super::parser::Parser;
use super::token::Kind;
use super::utility::utility;
use crate::ast::{CopyOf, CopyRows, CopyWith, Name, OptionValue, Setting, Statement, Utility};
use crate::{Error, Result};

impl Parser<'_> {
    /// COPY.
    pub(super) fn copy(&mut self) -> Result<Statement> {
        use Keyword as K;
        self.advance();
        let mut options = Vec::new();
        if self.at_char('(') {
            self.advance();
            let (statement, span) = self.spanned(Self::preparable)?;
            self.expect_char(')')?;
            let place = self.place();
            self.expect_word(K::To)?;
            let with = self.copy_with()?;
            self.copy_options(&mut options)?;
            let with = self.with_of(with, Some(place))?;
            let of = CopyOf::Query(statement, span);
            let copy = CopyRows { of, from: false, with, options, filter: None };
            return utility(Utility::Copy(copy));
        }
        if self.at_word(K::Binary) {
            options.push(self.copy_word("format", "binary"));
        }
        let name = self.relation_name()?;
        let columns = self.names_if_parens()?;
        let from = self.accept_word(K::From);
        if !from {
            self.expect_word(K::To)?;
        }
        let with = self.copy_with()?;
        let mut delimiters = None;
        if self.at_word(K::Using) || self.at_word(K::Delimiters) {
            delimiters = Some(self.place());
            self.accept_word(K::Using);
            let place = self.place();
            self.expect_word(K::Delimiters)?;
            let value = Some(OptionValue::Text(self.text()?));
            options.push(Setting { space: None, name: "delimiter".into(), value, place });
        }
        self.copy_options(&mut options)?;
        let place = self.place();
        let filter = match self.accept_word(K::Where) {
            true => Some(self.expr()?),
            false => None,
        };
        let with = self.with_of(with, delimiters)?;
        if filter.is_some() && !from {
            return Err(self.refuse("WHERE clause not allowed with COPY TO", place));
        }
        let of = CopyOf::Table(name, columns);
        utility(Utility::Copy(CopyRows { of, from, with, options, filter }))
    }

    /// Passes a word that says a value of an option.
    fn copy_word(&mut self, name: &str, value: &str) -> Setting {
        let place = self.advance().start;
        let value = Some(OptionValue::Word(value.into()));
        Setting { space: None, name: name.into(), value, place }
    }

    /// Where COPY reads or writes; none for a program that is a word, which is refused at the statement's end.
    fn copy_with(&mut self) -> Result<Option<CopyWith>> {
        use Keyword as K;
        let program = self.accept_word(K::Program);
        if self.accept_word(K::Stdin) || self.accept_word(K::Stdout) {
            return Ok((!program).then_some(CopyWith::Client));
        }
        let name = self.text()?;
        Ok(Some(if program { CopyWith::Program(name) } else { CopyWith::File(name) }))
    }

    fn with_of(&self, with: Option<CopyWith>, place: Option<u32>) -> Result<CopyWith> {
        with.ok_or_else(|| {
            let error = Error::new("42601", "STDIN/STDOUT not allowed with PROGRAM");
            match place {
                Some(place) => error.at(place),
                None => error,
            }
        })
    }

    /// Options of either syntax.
    fn copy_options(&mut self, options: &mut Vec<Setting>) -> Result<()> {
        self.accept_with();
        if !self.at_char('(') {
            while let Some(option) = self.old_copy_option()? {
                options.push(option);
            }
            return Ok(());
        }
        self.advance();
        loop {
            let place = self.place();
            let name = self.label()?;
            let value = match self.kind() {
                Kind::Char(',' | ')') => None,
                Kind::Char('*') => {
                    self.advance();
                    Some(OptionValue::Star)
                }
                Kind::Char('(') => {
                    self.advance();
                    let mut names: Vec<Name> = Vec::new();
                    loop {
                        names.push(self.flag_or_text()?.text().into());
                        if !self.accept_char(',') {
                            break;
                        }
                    }
                    self.expect_char(')')?;
                    Some(OptionValue::List(names))
                }
                _ => Some(self.simple_value()?),
            };
            options.push(Setting { space: None, name, value, place });
            if !self.accept_char(',') {
                return self.expect_char(')');
            }
        }
    }

    /// An option of the syntax before PostgreSQL 9.0.
    fn old_copy_option(&mut self) -> Result<Option<Setting>> {
        use Keyword as K;
        let place = self.place();
        let (name, value) = match self.kind() {
            Kind::Word(K::Binary) => return Ok(Some(self.copy_word("format", "binary"))),
            Kind::Word(K::Csv) => return Ok(Some(self.copy_word("format", "csv"))),
            Kind::Word(K::Freeze) => return Ok(Some(self.copy_word("freeze", "true"))),
            Kind::Word(K::Header) => return Ok(Some(self.copy_word("header", "true"))),
            Kind::Word(word @ (K::Delimiter | K::Null | K::Quote | K::Escape)) => {
                self.advance();
                self.accept_word(K::As);
                (word.word(), OptionValue::Text(self.text()?))
            }
            Kind::Word(K::Encoding) => {
                self.advance();
                ("encoding", OptionValue::Text(self.text()?))
            }
            Kind::Word(K::Force) => {
                self.advance();
                let (name, star) = if self.accept_word(K::Quote) {
                    ("force_quote", true)
                } else if self.accept_word(K::Null) {
                    ("force_null", false)
                } else {
                    self.expect_word(K::Not)?;
                    self.expect_word(K::Null)?;
                    ("force_not_null", false)
                };
                let value = match star && self.accept_char('*') {
                    true => OptionValue::Star,
                    false => OptionValue::List(self.column_names()?),
                };
                (name, value)
            }
            _ => return Ok(None),
        };
        Ok(Some(Setting { space: None, name: name.into(), value: Some(value), place }))
    }
}
