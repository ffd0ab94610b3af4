//! CREATE, ALTER and DROP TRIGGER.

use super::super::keyword::Keyword;
use super::super::parser::Parser;
use super::super::token::Kind;
use super::constraint::Allowed;
use super::object;
use crate::ast::{
    CreateTrigger, Object, Relation, RuleState, Said, Statement, TableChange, Transition,
    TriggerConstraint, TriggerEvent, TriggerTime,
};
use crate::{Error, Result};

impl Parser<'_> {
    /// CREATE TRIGGER, at this word or at CONSTRAINT.
    pub(super) fn create_trigger(&mut self, replace: bool) -> Result<Statement> {
        use Keyword as K;
        let constrains = self.accept_word(K::Constraint);
        self.advance();
        let name = self.column_name()?;
        let time = match self.kind() {
            _ if constrains && self.kind() != Kind::Word(K::After) => {
                return Err(self.unexpected());
            }
            Kind::Word(K::Before) => TriggerTime::Before,
            Kind::Word(K::After) => TriggerTime::After,
            Kind::Word(K::Instead) => TriggerTime::Instead,
            _ => return Err(self.unexpected()),
        };
        self.advance();
        if time == TriggerTime::Instead {
            self.expect_word(K::Of)?;
        }
        let events = self.trigger_events()?;
        self.expect_word(K::On)?;
        let place = self.place();
        let on = Relation { name: self.relation_name()?, only: false, alias: None, place };
        let constraint = if constrains { Some(self.trigger_constraint()?) } else { None };
        let transitions = if constrains { Vec::new() } else { self.transitions()? };
        let row = self.for_each(constrains)?;
        let when = match self.accept_word(K::When) {
            true => {
                self.expect_char('(')?;
                let (expr, span) = self.spanned(Self::expr)?;
                self.expect_char(')')?;
                Some(Said { expr, span })
            }
            false => None,
        };
        self.expect_word(K::Execute)?;
        if !self.accept_word(K::Function) {
            self.expect_word(K::Procedure)?;
        }
        let function = self.function_path()?;
        self.expect_char('(')?;
        let mut arguments = Vec::new();
        if !self.at_char(')') {
            arguments.push(self.trigger_argument()?);
            while self.accept_char(',') {
                arguments.push(self.trigger_argument()?);
            }
        }
        self.expect_char(')')?;
        let trigger = CreateTrigger {
            replace,
            name,
            time,
            events,
            on,
            constraint,
            transitions,
            row,
            when,
            function,
            arguments,
        };
        object(Object::CreateTrigger(Box::new(trigger)))
    }

    /// Whether a trigger is for each row, which one that is a constraint has to say.
    fn for_each(&mut self, constrains: bool) -> Result<bool> {
        use Keyword as K;
        if constrains {
            self.expect_word(K::For)?;
            self.accept_word(K::Each);
            return self.expect_word(K::Row).map(|()| true);
        }
        if !self.accept_word(K::For) {
            return Ok(false);
        }
        self.accept_word(K::Each);
        if self.accept_word(K::Row) {
            return Ok(true);
        }
        self.expect_word(K::Statement).map(|()| false)
    }

    /// FROM, and when a trigger that is a constraint is judged.
    fn trigger_constraint(&mut self) -> Result<TriggerConstraint> {
        let mut from = None;
        if self.accept_word(Keyword::From) {
            let place = self.place();
            from = Some(Relation { name: self.relation_name()?, only: false, alias: None, place });
        }
        let allowed =
            Allowed { what: "TRIGGER", deferrable: true, not_valid: false, no_inherit: false };
        let judged = self.judged(allowed)?;
        let deferred = judged.deferred == Some(true);
        Ok(TriggerConstraint {
            from,
            deferrable: judged.deferrable == Some(true) || deferred,
            deferred,
        })
    }

    /// REFERENCING, at this word.
    fn transitions(&mut self) -> Result<Vec<Transition>> {
        use Keyword as K;
        let mut all = Vec::new();
        if !self.accept_word(K::Referencing) {
            return Ok(all);
        }
        while all.is_empty() || matches!(self.kind(), Kind::Word(K::Old | K::New)) {
            let new = self.accept_word(K::New);
            if !new {
                self.expect_word(K::Old)?;
            }
            let table = self.accept_word(K::Table);
            if !table {
                self.expect_word(K::Row)?;
            }
            self.accept_word(K::As);
            all.push(Transition { new, table, name: self.column_name()? });
        }
        Ok(all)
    }

    fn trigger_events(&mut self) -> Result<Vec<TriggerEvent>> {
        use Keyword as K;
        let mut events: Vec<TriggerEvent> = Vec::new();
        loop {
            let token = self.token();
            let event = match self.kind() {
                Kind::Word(K::Insert) => TriggerEvent::Insert,
                Kind::Word(K::Delete) => TriggerEvent::Delete,
                Kind::Word(K::Truncate) => TriggerEvent::Truncate,
                Kind::Word(K::Update) => TriggerEvent::Update(Vec::new()),
                _ => return Err(self.unexpected()),
            };
            self.advance();
            let event = match event {
                TriggerEvent::Update(_) if self.accept_word(K::Of) => {
                    TriggerEvent::Update(self.column_names()?)
                }
                event => event,
            };
            let same = |other: &TriggerEvent| {
                std::mem::discriminant(other) == std::mem::discriminant(&event)
            };
            if events.iter().any(same) {
                return Err(self.yell("duplicate trigger events specified", token));
            }
            events.push(event);
            if !self.accept_word(K::Or) {
                return Ok(events);
            }
        }
    }

    /// ALTER TRIGGER, at this word.
    pub(super) fn alter_trigger(&mut self) -> Result<Statement> {
        use Keyword as K;
        self.advance();
        let name = self.column_name()?;
        self.expect_word(K::On)?;
        let on = self.relation_name()?;
        if self.accept_word(K::Rename) {
            self.expect_word(K::To)?;
            return object(Object::RenameTrigger(name, on, self.column_name()?));
        }
        Err(Error::unserved("ALTER TRIGGER ... DEPENDS ON EXTENSION is not supported"))
    }

    /// DROP TRIGGER, at this word.
    pub(super) fn drop_trigger(&mut self) -> Result<Statement> {
        self.advance();
        let skip = self.if_exists();
        let name = self.column_name()?;
        self.expect_word(Keyword::On)?;
        let on = self.any_name()?;
        object(Object::DropTrigger { skip, name, on, cascade: self.cascade() })
    }

    /// ENABLE and DISABLE TRIGGER, behind that word: a name, or all of them.
    pub(super) fn trigger_state(&mut self, state: RuleState) -> Result<TableChange> {
        use Keyword as K;
        let name = match self.kind() {
            Kind::Word(K::All | K::User) => {
                self.advance();
                None
            }
            _ => Some(self.column_name()?),
        };
        Ok(TableChange::Trigger(name, state))
    }
}
