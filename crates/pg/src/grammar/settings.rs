//! SET, SHOW, RESET.

use super::keyword::Keyword;
use super::parser::Parser;
use super::token::Kind;
use super::types::FULL_RANGE;
use crate::ast::{
    Expr, ExprId, Isolation, Literal, Mode, Name, OptionValue, Reach, SetStatement, SetTo,
    Statement, Utility,
};
use crate::{Error, Result};

/// Of an interval whose fields and decimals are not said.
const NO_MODIFIER: i32 = -1;
/// Of one whose decimals are not.
const ANY_PRECISION: i32 = 0xffff;
/// Decimals of a second, at most.
const MOST_PRECISION: i32 = 6;

fn set_statement(set: SetStatement) -> Result<Statement> {
    Ok(Statement::Utility(Box::new(Utility::Set(set))))
}

impl Parser<'_> {
    /// SET.
    pub(super) fn set(&mut self) -> Result<Statement> {
        use Keyword as K;
        if self.ahead(1) == Kind::Word(K::Constraints) && !is_setting(self.ahead(2)) {
            return self.set_constraints();
        }
        self.advance();
        let mut reach = Reach::None;
        if !is_setting(self.ahead(1)) {
            if self.at_word(K::Local) {
                self.advance();
                reach = Reach::Local;
            } else if self.at_word(K::Session)
                && !matches!(self.ahead(1), Kind::Word(K::Characteristics | K::Authorization))
            {
                self.advance();
                reach = Reach::Session;
            } else if self.at_word(K::Session)
                && self.ahead(1) == Kind::Word(K::Characteristics)
                && is_setting(self.ahead(2))
            {
                // A setting that is called so.
                self.advance();
                reach = Reach::Session;
            }
        }
        self.set_rest(reach).and_then(set_statement)
    }

    /// What follows SET.
    fn set_rest(&mut self, reach: Reach) -> Result<SetStatement> {
        use Keyword as K;
        if is_setting(self.ahead(1)) {
            return self.set_generic(reach);
        }
        let next = self.ahead(1);
        match self.kind() {
            Kind::Word(K::Transaction) => {
                self.advance();
                if self.accept_word(K::Snapshot) {
                    return self.text().map(SetStatement::Snapshot);
                }
                self.modes(true).map(SetStatement::Transaction)
            }
            Kind::Word(K::Session) if next == Kind::Word(K::Characteristics) => {
                self.advance();
                self.advance();
                self.expect_word(K::As)?;
                self.expect_word(K::Transaction)?;
                self.modes(true).map(SetStatement::Characteristics)
            }
            Kind::Word(K::Session) if next == Kind::Word(K::Authorization) => {
                self.advance();
                self.advance();
                if self.accept_word(K::Default) {
                    return Ok(SetStatement::Authorization(reach, None));
                }
                Ok(SetStatement::Authorization(reach, Some(self.word_or_text()?)))
            }
            Kind::Word(K::Role) => {
                self.advance();
                let role = self.word_or_text()?;
                Ok(SetStatement::Role(reach, Some(role).filter(|role| &**role != "none")))
            }
            Kind::Word(K::Time) if next == Kind::Word(K::Zone) => {
                self.advance();
                self.advance();
                let to = self.zone()?;
                Ok(SetStatement::Setting(reach, "timezone".into(), to))
            }
            Kind::Word(K::Catalog) => {
                self.advance();
                let place = self.place();
                self.text()?;
                Err(Error::new("0A000", "current database cannot be changed").at(place))
            }
            Kind::Word(K::Schema) => {
                self.advance();
                let to = SetTo::Values(vec![OptionValue::Text(self.text()?)]);
                Ok(SetStatement::Setting(reach, "search_path".into(), to))
            }
            Kind::Word(K::Names) => {
                self.advance();
                let to = self.encoding()?;
                Ok(SetStatement::Setting(reach, "client_encoding".into(), to))
            }
            Kind::Word(K::Xml) => {
                self.advance();
                self.expect_word(K::Option)?;
                let to = if self.document_or_content()? { "document" } else { "content" };
                let to = SetTo::Values(vec![OptionValue::Text(to.into())]);
                Ok(SetStatement::Setting(reach, "xmloption".into(), to))
            }
            _ => self.set_generic(reach),
        }
    }

    /// The encoding that NAMES says, if it says one.
    fn encoding(&mut self) -> Result<SetTo> {
        if self.kind() == Kind::Text {
            return Ok(SetTo::Values(vec![OptionValue::Text(self.text()?)]));
        }
        self.accept_word(Keyword::Default);
        Ok(SetTo::Default)
    }

    /// `name = value` and its like.
    fn set_generic(&mut self, reach: Reach) -> Result<SetStatement> {
        use Keyword as K;
        let name = self.setting_name()?;
        if self.accept_word(K::From) {
            self.expect_word(K::Current)?;
            return Ok(SetStatement::Setting(reach, name, SetTo::Current));
        }
        if !self.accept_char('=') {
            self.expect_word(K::To)?;
        }
        if self.accept_word(K::Default) {
            return Ok(SetStatement::Setting(reach, name, SetTo::Default));
        }
        let mut values = vec![self.simple_value()?];
        while self.accept_char(',') {
            values.push(self.simple_value()?);
        }
        Ok(SetStatement::Setting(reach, name, SetTo::Values(values)))
    }

    /// A setting's name, with dots where it has some.
    pub(super) fn setting_name(&mut self) -> Result<Name> {
        let mut name = self.column_name()?;
        while self.accept_char('.') {
            name = format!("{name}.{}", self.column_name()?).into();
        }
        Ok(name)
    }

    /// What a time zone is set to.
    fn zone(&mut self) -> Result<SetTo> {
        use Keyword as K;
        let value = match self.kind() {
            Kind::Word(K::Default | K::Local) => {
                self.advance();
                return Ok(SetTo::Default);
            }
            Kind::Text => OptionValue::Text(self.text()?),
            Kind::Name => {
                let token = self.advance();
                OptionValue::Word(self.value(token))
            }
            Kind::Word(K::Interval) => {
                self.advance();
                if self.at_char('(') {
                    let precision = self.precision()?;
                    let modifier = FULL_RANGE << 16 | self.int_of(precision).min(MOST_PRECISION);
                    OptionValue::Interval(self.text()?, modifier)
                } else {
                    let text = self.text()?;
                    OptionValue::Interval(text, self.zone_interval()?)
                }
            }
            _ if self.at_number() => OptionValue::Number(self.number()?),
            _ => return Err(self.unexpected()),
        };
        Ok(SetTo::Values(vec![value]))
    }

    /// The modifier that the fields of a zone's interval give, which are hours and minutes alone.
    fn zone_interval(&mut self) -> Result<i32> {
        // Bits of the fields' mask.
        const HOUR_AND_MINUTE: i32 = 1 << 10 | 1 << 11;
        let place = self.place();
        let fields = self.interval_fields()?;
        let Some(mask) = fields.first().map(|id| self.int_of(*id)) else { return Ok(NO_MODIFIER) };
        if mask & !HOUR_AND_MINUTE != 0 {
            let text = "time zone interval must be HOUR or HOUR TO MINUTE";
            return Err(self.refuse(text, place));
        }
        Ok(mask << 16 | ANY_PRECISION)
    }

    fn int_of(&self, id: ExprId) -> i32 {
        match self.tree.expr(id) {
            Expr::Literal(Literal::Int(value)) => *value,
            _ => 0,
        }
    }

    fn set_constraints(&mut self) -> Result<Statement> {
        use Keyword as K;
        self.advance();
        self.advance();
        let names = match self.accept_word(K::All) {
            true => Vec::new(),
            false => self.relation_names()?,
        };
        let deferred = self.accept_word(K::Deferred);
        if !deferred {
            self.expect_word(K::Immediate)?;
        }
        set_statement(SetStatement::Constraints(names, deferred))
    }

    /// Modes of a transaction; `some`: one at least.
    pub(super) fn modes(&mut self, some: bool) -> Result<Vec<Mode>> {
        let mut modes = Vec::new();
        loop {
            match self.mode()? {
                Some(mode) => modes.push(mode),
                None if some && modes.is_empty() => return Err(self.unexpected()),
                None => return Ok(modes),
            }
            if self.accept_char(',') {
                match self.mode()? {
                    Some(mode) => modes.push(mode),
                    None => return Err(self.unexpected()),
                }
                while self.accept_char(',') {
                    match self.mode()? {
                        Some(mode) => modes.push(mode),
                        None => return Err(self.unexpected()),
                    }
                }
            }
        }
    }

    fn mode(&mut self) -> Result<Option<Mode>> {
        use Keyword as K;
        if self.accept_word(K::Isolation) {
            self.expect_word(K::Level)?;
            let level = if self.accept_word(K::Serializable) {
                Isolation::Serializable
            } else if self.accept_word(K::Repeatable) {
                self.expect_word(K::Read)?;
                Isolation::RepeatableRead
            } else {
                self.expect_word(K::Read)?;
                if self.accept_word(K::Uncommitted) {
                    Isolation::ReadUncommitted
                } else {
                    self.expect_word(K::Committed)?;
                    Isolation::ReadCommitted
                }
            };
            return Ok(Some(Mode::Isolation(level)));
        }
        if self.accept_word(K::Read) {
            let only = self.accept_word(K::Only);
            if !only {
                self.expect_word(K::Write)?;
            }
            return Ok(Some(Mode::ReadOnly(only)));
        }
        if self.accept_word(K::Deferrable) {
            return Ok(Some(Mode::Deferrable(true)));
        }
        if self.accept_word(K::Not) {
            self.expect_word(K::Deferrable)?;
            return Ok(Some(Mode::Deferrable(false)));
        }
        Ok(None)
    }

    /// The setting that SHOW or RESET names; none for ALL.
    fn named_setting(&mut self) -> Result<Option<Name>> {
        use Keyword as K;
        if self.accept_word(K::All) {
            return Ok(None);
        }
        if self.accept_words(K::Time, K::Zone) {
            return Ok(Some("timezone".into()));
        }
        if self.accept_words(K::Transaction, K::Isolation) {
            self.expect_word(K::Level)?;
            return Ok(Some("transaction_isolation".into()));
        }
        if self.accept_words(K::Session, K::Authorization) {
            return Ok(Some("session_authorization".into()));
        }
        self.setting_name().map(Some)
    }

    /// SHOW.
    pub(super) fn show(&mut self) -> Result<Statement> {
        self.advance();
        self.named_setting().map(SetStatement::Show).and_then(set_statement)
    }

    /// RESET.
    pub(super) fn reset(&mut self) -> Result<Statement> {
        self.advance();
        self.named_setting().map(SetStatement::Reset).and_then(set_statement)
    }

    /// SET or RESET of a role or a database.
    pub(super) fn set_or_reset(&mut self) -> Result<Box<SetStatement>> {
        if self.accept_word(Keyword::Reset) {
            return self.named_setting().map(SetStatement::Reset).map(Box::new);
        }
        self.expect_word(Keyword::Set)?;
        self.set_rest(Reach::None).map(Box::new)
    }
}

/// Whether what follows a word says that it is a setting's name.
fn is_setting(next: Kind) -> bool {
    matches!(next, Kind::Char('=' | '.') | Kind::Word(Keyword::To | Keyword::From))
}
