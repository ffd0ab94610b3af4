//! Constraints of columns and tables.

use super::super::keyword::Keyword;
use super::super::parser::Parser;
use super::super::token::Kind;
use crate::ast::{
    ColumnRule, Constraint, Exclusion, Judged, KeyAction, Match, Name, NamedRule, Path, References,
    Said, TableRule, When,
};
use crate::{Error, Result};

/// Which words on when a constraint is judged go with a kind of constraint.
#[derive(Clone, Copy)]
pub(super) struct Allowed {
    pub what: &'static str,
    pub deferrable: bool,
    pub not_valid: bool,
    pub no_inherit: bool,
}

const KEY: Allowed =
    Allowed { what: "UNIQUE", deferrable: true, not_valid: false, no_inherit: false };

impl Parser<'_> {
    /// What is said of a column behind its type.
    pub(super) fn column_rules(&mut self) -> Result<Vec<NamedRule>> {
        let mut rules = Vec::new();
        loop {
            let place = self.place();
            if self.accept_word(Keyword::Constraint) {
                let name = Some(self.column_name()?);
                let rule = self.column_rule()?.ok_or_else(|| self.unexpected())?;
                rules.push(NamedRule { name, rule, place });
                continue;
            }
            let rule = match self.when()? {
                Some(when) => ColumnRule::When(when),
                None if self.accept_word(Keyword::Collate) => ColumnRule::Collate(self.any_name()?),
                None => match self.column_rule()? {
                    Some(rule) => rule,
                    None => return Ok(rules),
                },
            };
            rules.push(NamedRule { name: None, rule, place });
        }
    }

    /// DEFERRABLE and its like, if it is there.
    fn when(&mut self) -> Result<Option<When>> {
        use Keyword as K;
        if self.accept_word(K::Deferrable) {
            return Ok(Some(When::Deferrable));
        }
        if self.accept_words(K::Not, K::Deferrable) {
            return Ok(Some(When::NotDeferrable));
        }
        if !self.accept_word(K::Initially) {
            return Ok(None);
        }
        if self.accept_word(K::Deferred) {
            return Ok(Some(When::Deferred));
        }
        self.expect_word(K::Immediate)?;
        Ok(Some(When::Immediate))
    }

    fn column_rule(&mut self) -> Result<Option<ColumnRule>> {
        use Keyword as K;
        let Kind::Word(word) = self.kind() else { return Ok(None) };
        let known = [
            K::Not,
            K::Null,
            K::Unique,
            K::Primary,
            K::Check,
            K::Default,
            K::Generated,
            K::References,
        ];
        if !known.contains(&word) {
            return Ok(None);
        }
        self.advance();
        Ok(Some(match word {
            K::Not => {
                self.expect_word(K::Null)?;
                ColumnRule::NotNull
            }
            K::Null => ColumnRule::Null,
            K::Unique => {
                let not_distinct = self.nulls_not_distinct()?;
                ColumnRule::Unique(not_distinct, self.key_storage()?)
            }
            K::Primary => {
                self.expect_word(K::Key)?;
                ColumnRule::Primary(self.key_storage()?)
            }
            K::Check => {
                let said = self.said_in_parens()?;
                let alone = self.accept_words(K::No, K::Inherit);
                ColumnRule::Check(said, alone)
            }
            K::Default => {
                let (expr, span) = self.spanned(Self::narrow_expr)?;
                ColumnRule::Default(Said { expr, span })
            }
            K::Generated => self.generated()?,
            _ => ColumnRule::References(Box::new(self.references()?)),
        }))
    }

    /// NULLS NOT DISTINCT (true) or NULLS DISTINCT, if it is there.
    pub(super) fn nulls_not_distinct(&mut self) -> Result<bool> {
        if !self.accept_word(Keyword::Nulls) {
            return Ok(false);
        }
        let not = self.accept_word(Keyword::Not);
        self.expect_word(Keyword::Distinct)?;
        Ok(not)
    }

    /// WITH and USING INDEX TABLESPACE of a key.
    fn key_storage(&mut self) -> Result<Vec<crate::ast::Setting>> {
        let settings = self.with_definition()?;
        if self.accept_word(Keyword::Using) {
            self.expect_word(Keyword::Index)?;
            self.expect_word(Keyword::Tablespace)?;
            self.column_name()?;
        }
        Ok(settings)
    }

    /// A foreign key, behind REFERENCES.
    fn references(&mut self) -> Result<References> {
        use Keyword as K;
        let place = self.place();
        let table = self.relation_name()?;
        let columns = self.names_if_parens()?;
        let at = self.place();
        let mut matching = None;
        if self.accept_word(K::Match) {
            matching = Some(if self.accept_word(K::Full) {
                Match::Full
            } else if self.accept_word(K::Partial) {
                return Err(Error::unserved("MATCH PARTIAL not yet implemented").at(at));
            } else {
                self.expect_word(K::Simple)?;
                Match::Simple
            });
        }
        let (mut on_delete, mut on_update) = (None, None);
        while self.at_word(K::On) {
            let place = self.place();
            let is_update = self.ahead(1) == Kind::Word(K::Update);
            let is_known = is_update || self.ahead(1) == Kind::Word(K::Delete);
            let said = if is_update { &on_update } else { &on_delete };
            if said.is_some() || on_delete.is_some() && on_update.is_some() {
                // Each comes once.
                if on_delete.is_some() != on_update.is_some() {
                    self.advance();
                }
                return Err(self.unexpected());
            }
            self.advance();
            if !is_known {
                return Err(self.unexpected());
            }
            self.advance();
            let action = self.key_action()?;
            if is_update {
                let word = match &action {
                    KeyAction::SetNull(columns) if !columns.is_empty() => Some("SET NULL"),
                    KeyAction::SetDefault(columns) if !columns.is_empty() => Some("SET DEFAULT"),
                    _ => None,
                };
                if let Some(word) = word {
                    let text = format!(
                        "a column list with {word} is only supported for ON DELETE actions"
                    );
                    return Err(Error::new("0A000", text).at(place));
                }
                on_update = Some(action);
            } else {
                on_delete = Some(action);
            }
        }
        let (on_delete, on_update) = (on_delete.unwrap_or_default(), on_update.unwrap_or_default());
        Ok(References { table, place, columns, matching, on_delete, on_update })
    }

    fn key_action(&mut self) -> Result<KeyAction> {
        use Keyword as K;
        if self.accept_word(K::No) {
            self.expect_word(K::Action)?;
            return Ok(KeyAction::Nothing);
        }
        if self.accept_word(K::Restrict) {
            return Ok(KeyAction::Restrict);
        }
        if self.accept_word(K::Cascade) {
            return Ok(KeyAction::Cascade);
        }
        self.expect_word(K::Set)?;
        if self.accept_word(K::Null) {
            return Ok(KeyAction::SetNull(self.names_if_parens()?));
        }
        self.expect_word(K::Default)?;
        Ok(KeyAction::SetDefault(self.names_if_parens()?))
    }

    /// Whether a constraint of a table comes next, and no column.
    pub(super) fn at_constraint(&self) -> bool {
        use Keyword as K;
        match self.kind() {
            Kind::Word(K::Constraint | K::Check | K::Unique | K::Primary | K::Foreign) => true,
            Kind::Word(K::Exclude) => {
                matches!(self.ahead(1), Kind::Char('(') | Kind::Word(K::Using))
            }
            _ => false,
        }
    }

    /// A constraint of a table.
    pub(super) fn table_constraint(&mut self) -> Result<Constraint> {
        use Keyword as K;
        let place = self.place();
        let name = match self.accept_word(K::Constraint) {
            true => Some(self.column_name()?),
            false => None,
        };
        let (rule, allowed) = match self.kind() {
            Kind::Word(K::Check) => {
                self.advance();
                let said = self.said_in_parens()?;
                let allowed =
                    Allowed { what: "CHECK", deferrable: false, not_valid: true, no_inherit: true };
                (TableRule::Check(said), allowed)
            }
            Kind::Word(K::Unique) => {
                self.advance();
                (self.unique()?, KEY)
            }
            Kind::Word(K::Primary) => {
                self.advance();
                self.expect_word(K::Key)?;
                (self.primary_key()?, Allowed { what: "PRIMARY KEY", ..KEY })
            }
            Kind::Word(K::Exclude) => {
                self.advance();
                let said = self.excluded()?;
                (TableRule::Exclude(Box::new(said)), Allowed { what: "EXCLUDE", ..KEY })
            }
            Kind::Word(K::Foreign) => {
                self.advance();
                self.expect_word(K::Key)?;
                let columns = self.names_in_parens()?;
                self.expect_word(K::References)?;
                let references = Box::new(self.references()?);
                let allowed = Allowed { what: "FOREIGN KEY", not_valid: true, ..KEY };
                (TableRule::Foreign(columns, references), allowed)
            }
            _ => return Err(self.unexpected()),
        };
        let judged = self.judged(allowed)?;
        Ok(Constraint { name, rule, judged, place })
    }

    fn index_of_key(&mut self) -> Result<Option<Name>> {
        if !self.accept_word(Keyword::Using) {
            return Ok(None);
        }
        self.expect_word(Keyword::Index)?;
        self.column_name().map(Some)
    }

    fn unique(&mut self) -> Result<TableRule> {
        if let Some(index) = self.index_of_key()? {
            return Ok(TableRule::UniqueIndex(index));
        }
        let not_distinct = self.nulls_not_distinct()?;
        let columns = self.names_in_parens()?;
        let include = self.included()?;
        Ok(TableRule::Unique(not_distinct, columns, include, self.key_storage()?))
    }

    fn primary_key(&mut self) -> Result<TableRule> {
        if let Some(index) = self.index_of_key()? {
            return Ok(TableRule::PrimaryIndex(index));
        }
        let columns = self.names_in_parens()?;
        let include = self.included()?;
        Ok(TableRule::Primary(columns, include, self.key_storage()?))
    }

    fn included(&mut self) -> Result<Vec<Name>> {
        match self.accept_word(Keyword::Include) {
            true => self.names_in_parens(),
            false => Ok(Vec::new()),
        }
    }

    /// An exclusion constraint, behind EXCLUDE.
    fn excluded(&mut self) -> Result<Exclusion> {
        use Keyword as K;
        let method = match self.accept_word(K::Using) {
            true => Some(self.column_name()?),
            false => None,
        };
        self.expect_char('(')?;
        let mut elements = Vec::new();
        loop {
            let element = self.index_element()?;
            self.expect_word(K::With)?;
            elements.push((element, self.operator_path()?));
            if !self.accept_char(',') {
                break;
            }
        }
        self.expect_char(')')?;
        let include = self.included()?;
        let settings = self.key_storage()?;
        let filter = match self.accept_word(K::Where) {
            true => Some(self.said_in_parens()?.expr),
            false => None,
        };
        Ok(Exclusion { method, elements, include, settings, filter })
    }

    /// An operator that is named, with OPERATOR and its schema or without.
    pub(super) fn operator_path(&mut self) -> Result<Path> {
        use Keyword as K;
        let parens = self.at_word(K::Operator) && self.ahead(1) == Kind::Char('(');
        if parens {
            self.advance();
            self.advance();
        }
        let mut path = Vec::new();
        while Parser::is_column_name(self.kind()) {
            path.push(self.column_name()?);
            self.expect_char('.')?;
        }
        path.push(self.sign()?);
        if parens {
            self.expect_char(')')?;
        }
        Ok(path.into())
    }

    /// What is said of when a constraint is judged.
    pub(super) fn judged(&mut self, allowed: Allowed) -> Result<Judged> {
        use Keyword as K;
        let mut judged = Judged::default();
        loop {
            let place = self.place();
            if let Some(when) = self.when()? {
                let (old, new) = match when {
                    When::Deferrable => (&mut judged.deferrable, true),
                    When::NotDeferrable => (&mut judged.deferrable, false),
                    When::Deferred => (&mut judged.deferred, true),
                    When::Immediate => (&mut judged.deferred, false),
                };
                let conflicts = old.is_some_and(|old| old != new);
                *old = Some(new);
                if judged.deferrable == Some(false) && judged.deferred == Some(true) {
                    let text = "constraint declared INITIALLY DEFERRED must be DEFERRABLE";
                    return Err(self.refuse(text, place));
                }
                if conflicts {
                    return Err(self.refuse("conflicting constraint properties", place));
                }
            } else if self.accept_word(K::Not) {
                self.expect_word(K::Valid)?;
                judged.not_valid = true;
            } else if self.accept_word(K::No) {
                self.expect_word(K::Inherit)?;
                judged.no_inherit = true;
            } else {
                break;
            }
        }
        let refused = |what: &str| {
            let text = format!("{} constraints cannot be marked {what}", allowed.what);
            Err(Error::new("0A000", text))
        };
        let deferrable = judged.deferrable == Some(true) || judged.deferred == Some(true);
        if deferrable && !allowed.deferrable {
            return refused("DEFERRABLE");
        }
        if judged.not_valid && !allowed.not_valid {
            return refused("NOT VALID");
        }
        if judged.no_inherit && !allowed.no_inherit {
            return refused("NO INHERIT");
        }
        Ok(judged)
    }

    /// What ALTER CONSTRAINT says.
    pub(super) fn altered_judgement(&mut self) -> Result<Judged> {
        self.judged(Allowed { what: "FOREIGN KEY", ..KEY })
    }
}
