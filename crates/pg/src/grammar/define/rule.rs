//! CREATE, ALTER and DROP RULE.

use super::super::keyword::Keyword;
use super::super::parser::Parser;
use super::super::token::Kind;
use super::object;
use crate::Result;
use crate::ast::{
    CreateRule, Object, Relation, RuleEvent, RuleState, Said, Span, Statement, TableChange,
};

impl Parser<'_> {
    /// CREATE RULE, at this word.
    pub(super) fn create_rule(&mut self, replace: bool) -> Result<Statement> {
        use Keyword as K;
        self.advance();
        let name = self.column_name()?;
        self.expect_word(K::As)?;
        self.expect_word(K::On)?;
        let event = match self.kind() {
            Kind::Word(K::Select) => RuleEvent::Select,
            Kind::Word(K::Insert) => RuleEvent::Insert,
            Kind::Word(K::Update) => RuleEvent::Update,
            Kind::Word(K::Delete) => RuleEvent::Delete,
            _ => return Err(self.unexpected()),
        };
        self.advance();
        self.expect_word(K::To)?;
        let place = self.place();
        let on = Relation { name: self.relation_name()?, only: false, alias: None, place };
        let filter = match self.accept_word(K::Where) {
            true => {
                let (expr, span) = self.spanned(Self::expr)?;
                Some(Said { expr, span })
            }
            false => None,
        };
        self.expect_word(K::Do)?;
        let instead = self.accept_word(K::Instead);
        if !instead {
            self.accept_word(K::Also);
        }
        let commands = self.rule_commands()?;
        let rule = CreateRule { replace, name, event, on, filter, instead, commands };
        object(Object::CreateRule(Box::new(rule)))
    }

    /// NOTHING, a command, or commands in parentheses.
    fn rule_commands(&mut self) -> Result<Vec<(Statement, Span)>> {
        if self.accept_word(Keyword::Nothing) {
            return Ok(Vec::new());
        }
        if !self.accept_char('(') {
            return Ok(vec![self.spanned(Self::rule_command)?]);
        }
        let mut commands = Vec::new();
        loop {
            while self.accept_char(';') {}
            if self.accept_char(')') {
                return Ok(commands);
            }
            commands.push(self.spanned(Self::rule_command)?);
            if !self.at_char(';') && !self.at_char(')') {
                return Err(self.unexpected());
            }
        }
    }

    fn rule_command(&mut self) -> Result<Statement> {
        if self.at_word(Keyword::Notify) {
            return self.notification(Keyword::Notify);
        }
        let with = self.with()?;
        if self.at_word(Keyword::Merge) {
            return Err(self.unexpected());
        }
        self.changes(with)
    }

    /// Whether ENABLE or DISABLE, at which it stands, is about a rule or a trigger.
    pub(super) fn at_rule_state(&self) -> bool {
        use Keyword as K;
        match self.ahead(1) {
            Kind::Word(K::Always | K::Replica) => self.at_word(K::Enable),
            next => matches!(next, Kind::Word(K::Rule | K::Trigger)),
        }
    }

    /// ENABLE and DISABLE RULE and TRIGGER.
    pub(super) fn rule_state(&mut self) -> Result<TableChange> {
        use Keyword as K;
        let enable = self.advance().kind == Kind::Word(K::Enable);
        let state = match () {
            () if !enable => RuleState::Disabled,
            () if self.accept_word(K::Always) => RuleState::Always,
            () if self.accept_word(K::Replica) => RuleState::Replica,
            () => RuleState::Enabled,
        };
        if self.accept_word(K::Trigger) {
            return self.trigger_state(state);
        }
        self.expect_word(K::Rule)?;
        Ok(TableChange::Rule(self.column_name()?, state))
    }

    /// ALTER RULE, at the second word.
    pub(super) fn alter_rule(&mut self) -> Result<Statement> {
        use Keyword as K;
        self.advance();
        let name = self.column_name()?;
        self.expect_word(K::On)?;
        let on = self.relation_name()?;
        self.expect_word(K::Rename)?;
        self.expect_word(K::To)?;
        object(Object::RenameRule(name, on, self.column_name()?))
    }

    /// DROP RULE, at the second word.
    pub(super) fn drop_rule(&mut self) -> Result<Statement> {
        self.advance();
        let skip = self.if_exists();
        let name = self.column_name()?;
        self.expect_word(Keyword::On)?;
        let on = self.any_name()?;
        object(Object::DropRule { skip, name, on, cascade: self.cascade() })
    }
}
