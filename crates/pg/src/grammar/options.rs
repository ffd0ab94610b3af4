//! What statements that define or keep up share: options, literals, roles.

use super::keyword::{Class, Keyword};
use super::parser::Parser;
use super::token::Kind;
use crate::ast::{Name, OptionValue, Path, Role, Said, Setting, Span};
use crate::{Error, Result};

/// Words that may be a role's, a setting's value or an option's name.
const UNRESERVED: &[Class] = &[Class::Free, Class::Column, Class::Call];

impl Parser<'_> {
    /// A literal text.
    pub(super) fn text(&mut self) -> Result<Box<str>> {
        let token = self.token();
        match token.kind {
            Kind::Text => {
                self.advance();
                Ok(self.value(token))
            }
            _ => Err(self.unexpected()),
        }
    }

    /// A number with its sign.
    pub(super) fn number(&mut self) -> Result<Box<str>> {
        let sign = match self.kind() {
            Kind::Char(sign @ ('+' | '-')) => Some(sign),
            _ => None,
        };
        if sign.is_some() {
            self.advance();
        }
        let token = self.token();
        if !matches!(token.kind, Kind::Int(_) | Kind::Number) {
            return Err(self.unexpected());
        }
        self.advance();
        let digits = self.value(token);
        Ok(match sign {
            Some('-') => format!("-{digits}").into(),
            _ => digits,
        })
    }

    /// Whether a number with its sign comes next.
    pub(super) fn at_number(&self) -> bool {
        matches!(self.kind(), Kind::Int(_) | Kind::Number | Kind::Char('+' | '-'))
    }

    /// A whole number of 32 bits with its sign.
    pub(super) fn signed_int(&mut self) -> Result<i32> {
        if self.accept_char('-') {
            return Ok(-self.int()?);
        }
        self.accept_char('+');
        self.int()
    }

    /// Passes two words, if they come next.
    pub(super) fn accept_words(&mut self, first: Keyword, second: Keyword) -> bool {
        let both = self.at_word(first) && self.ahead(1) == Kind::Word(second);
        if both {
            self.advance();
            self.advance();
        }
        both
    }

    /// WITH where nothing but options can follow.
    pub(super) fn accept_with(&mut self) -> bool {
        self.accept_word(Keyword::With) || self.accept(Kind::WithBefore)
    }

    /// IF EXISTS.
    pub(super) fn if_exists(&mut self) -> bool {
        self.accept_words(Keyword::If, Keyword::Exists)
    }

    /// IF EXISTS where no name may follow.
    pub(super) fn if_exists_alone(&mut self) -> Result<bool> {
        if !self.accept_word(Keyword::If) {
            return Ok(false);
        }
        self.expect_word(Keyword::Exists)?;
        Ok(true)
    }

    /// IF NOT EXISTS.
    pub(super) fn if_not_exists(&mut self) -> Result<bool> {
        if !self.accept_words(Keyword::If, Keyword::Not) {
            return Ok(false);
        }
        self.expect_word(Keyword::Exists)?;
        Ok(true)
    }

    /// CASCADE or RESTRICT: whether it is the first.
    pub(super) fn cascade(&mut self) -> bool {
        let cascade = self.accept_word(Keyword::Cascade);
        if !cascade {
            self.accept_word(Keyword::Restrict);
        }
        cascade
    }

    /// Names of one or more parts with commas between.
    pub(super) fn any_names(&mut self) -> Result<Vec<Path>> {
        let mut names = vec![self.any_name()?];
        while self.accept_char(',') {
            names.push(self.any_name()?);
        }
        Ok(names)
    }

    /// Names of tables or their like with commas between.
    pub(super) fn relation_names(&mut self) -> Result<Vec<Path>> {
        let mut names = vec![self.relation_name()?];
        while self.accept_char(',') {
            names.push(self.relation_name()?);
        }
        Ok(names)
    }

    /// `(a, b)`, if it is there.
    pub(super) fn names_if_parens(&mut self) -> Result<Vec<Name>> {
        if self.at_char('(') { self.names_in_parens() } else { Ok(Vec::new()) }
    }

    /// What a rule reads, with the text that it was.
    pub(super) fn spanned<T>(
        &mut self,
        rule: impl FnOnce(&mut Self) -> Result<T>,
    ) -> Result<(T, Span)> {
        let start = self.place();
        let made = rule(self)?;
        Ok((made, Span { start, end: self.last_end() }))
    }

    /// `(expression)`, kept with its text.
    pub(super) fn said_in_parens(&mut self) -> Result<Said> {
        self.expect_char('(')?;
        let (expr, span) = self.spanned(Self::expr)?;
        self.expect_char(')')?;
        Ok(Said { expr, span })
    }

    /// A word that is not reserved.
    pub(super) fn word_name(&mut self) -> Result<Name> {
        if !Parser::names(self.kind(), UNRESERVED) {
            return Err(self.unexpected());
        }
        let token = self.advance();
        Ok(self.value(token))
    }

    /// A word that is not reserved, or a literal.
    pub(super) fn word_or_text(&mut self) -> Result<Name> {
        if self.kind() == Kind::Text { self.text() } else { self.word_name() }
    }

    /// TRUE, FALSE, ON, a word or a literal.
    pub(super) fn flag_or_text(&mut self) -> Result<OptionValue> {
        if self.kind() == Kind::Text {
            return self.text().map(OptionValue::Text);
        }
        if let Kind::Word(word @ (Keyword::True | Keyword::False | Keyword::On)) = self.kind() {
            self.advance();
            return Ok(OptionValue::Word(word.word().into()));
        }
        self.word_name().map(OptionValue::Word)
    }

    /// As [`Parser::flag_or_text`], or a number.
    pub(super) fn simple_value(&mut self) -> Result<OptionValue> {
        if self.at_number() { self.number().map(OptionValue::Number) } else { self.flag_or_text() }
    }

    /// A value of an option of storage: a type's name, a reserved word, an operator, a number or a literal.
    pub(super) fn definition_value(&mut self) -> Result<OptionValue> {
        let token = self.token();
        match token.kind {
            Kind::Text => return self.text().map(OptionValue::Text),
            Kind::Int(_) | Kind::Number => return self.number().map(OptionValue::Number),
            Kind::Char('+' | '-') if matches!(self.ahead(1), Kind::Int(_) | Kind::Number) => {
                return self.number().map(OptionValue::Number);
            }
            Kind::Word(word) if word.class() == Class::Reserved || word == Keyword::None => {
                self.advance();
                return Ok(OptionValue::Word(word.word().into()));
            }
            Kind::Op
            | Kind::LessEquals
            | Kind::GreaterEquals
            | Kind::NotEquals
            | Kind::Char('+' | '-' | '*' | '/' | '%' | '^' | '<' | '>' | '=')
            | Kind::Word(Keyword::Operator) => {
                let name = self.op_name()?;
                return Ok(OptionValue::Word(name.name));
            }
            _ => {}
        }
        let (_, span) = self.spanned(Self::type_name)?;
        let is_alone = span.end == token.end;
        let text = match is_alone {
            true => self.value(token),
            false => span.of(self.tokens.text).into(),
        };
        Ok(OptionValue::Word(text))
    }

    /// `(a = 1, toast.b)`: options of a table or an index; without `spaces` their names have one part.
    fn settings_of(&mut self, spaces: bool) -> Result<Vec<Setting>> {
        self.expect_char('(')?;
        let mut all = Vec::new();
        loop {
            let place = self.place();
            let mut name = self.label()?;
            let mut space = None;
            if spaces && self.accept_char('.') {
                space = Some(name);
                name = self.label()?;
            }
            let value = match self.accept_char('=') {
                true => Some(self.definition_value()?),
                false => None,
            };
            all.push(Setting { space, name, value, place });
            if !self.accept_char(',') {
                break;
            }
        }
        self.expect_char(')')?;
        Ok(all)
    }

    /// `(a = 1, toast.b)`
    pub(super) fn settings(&mut self) -> Result<Vec<Setting>> {
        self.settings_of(true)
    }

    /// `WITH (a = 1)`, if it is there.
    pub(super) fn with_settings(&mut self) -> Result<Vec<Setting>> {
        match self.accept_word(Keyword::With) {
            true => self.settings(),
            false => Ok(Vec::new()),
        }
    }

    /// `WITH (a = 1)` of a constraint, if it is there.
    pub(super) fn with_definition(&mut self) -> Result<Vec<Setting>> {
        match self.accept_word(Keyword::With) {
            true => self.settings_of(false),
            false => Ok(Vec::new()),
        }
    }

    /// `(analyze, format text)`: options of EXPLAIN, VACUUM and their like.
    pub(super) fn utility_options(&mut self) -> Result<Vec<Setting>> {
        self.expect_char('(')?;
        let mut all = Vec::new();
        loop {
            let place = self.place();
            let name = match self.kind() {
                Kind::Word(Keyword::Analyze | Keyword::Analyse) => {
                    self.advance();
                    "analyze".into()
                }
                _ => self.word_name()?,
            };
            let value = match self.kind() {
                Kind::Char(',' | ')') => None,
                _ => Some(self.simple_value()?),
            };
            all.push(Setting { space: None, name, value, place });
            if !self.accept_char(',') {
                break;
            }
        }
        self.expect_char(')')?;
        Ok(all)
    }

    /// An option that was written without parentheses.
    pub(super) fn plain_option(&mut self, name: &str) -> Setting {
        let place = self.place();
        Setting { space: None, name: name.into(), value: None, place }
    }

    /// A role.
    pub(super) fn role(&mut self) -> Result<Role> {
        let token = self.token();
        match token.kind {
            Kind::Word(Keyword::CurrentUser | Keyword::CurrentRole) => {
                self.advance();
                return Ok(Role::Current);
            }
            Kind::Word(Keyword::SessionUser) => {
                self.advance();
                return Ok(Role::Session);
            }
            _ => {}
        }
        let name = self.word_name()?;
        match &*name {
            "public" => Ok(Role::Public),
            "none" => Err(reserved(&name, token.start)),
            _ => Ok(Role::Named(name)),
        }
    }

    /// Roles with commas between.
    pub(super) fn roles(&mut self) -> Result<Vec<Role>> {
        let mut roles = vec![self.role()?];
        while self.accept_char(',') {
            roles.push(self.role()?);
        }
        Ok(roles)
    }

    /// The name of a role that is made or renamed.
    pub(super) fn role_name(&mut self) -> Result<Name> {
        let place = self.place();
        let role = self.role()?;
        self.named_role(&role, place)
    }

    /// A role's name; words that stand for roles are refused.
    pub(super) fn named_role(&self, role: &Role, place: u32) -> Result<Name> {
        let word = match role {
            Role::Named(name) => return Ok(name.clone()),
            Role::Public => return Err(reserved("public", place)),
            Role::Session => "SESSION_USER",
            Role::Current => match self.tokens.text.get(place as usize..self.last_end() as usize) {
                Some(text) if text.eq_ignore_ascii_case("current_role") => "CURRENT_ROLE",
                _ => "CURRENT_USER",
            },
        };
        let text = format!("{word} cannot be used as a role name here");
        Err(Error::new("42939", text).at(place))
    }

    /// GRANTED BY, if it is there.
    pub(super) fn granted_by(&mut self) -> Result<Option<Role>> {
        if !self.accept_word(Keyword::Granted) {
            return Ok(None);
        }
        self.expect_word(Keyword::By)?;
        self.role().map(Some)
    }
}

fn reserved(name: &str, place: u32) -> Error {
    Error::new("42939", format!("role name \"{name}\" is reserved")).at(place)
}
