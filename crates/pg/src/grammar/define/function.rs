//! CREATE, ALTER and DROP FUNCTION and PROCEDURE, and CALL.

use super::super::keyword::Keyword;
use super::super::parser::Parser;
use super::super::token::Kind;
use super::object;
use crate::ast::{
    AlterFunction, Body, CommentOn, CreateFunction, DropFunction, Expr, From, FunctionChange,
    FunctionItem, FunctionOption, GrantOn, NOWHERE, Name, Object, Parameter, ParameterMode, Path,
    Query, RoutineKind, Said, Select, SetStatement, Signature, Statement, Target, TypeName,
    Utility,
};
use crate::{Error, Result};

/// The kind that a word says.
fn kind_of(word: Kind) -> Option<RoutineKind> {
    match word {
        Kind::Word(Keyword::Function) => Some(RoutineKind::Function),
        Kind::Word(Keyword::Procedure) => Some(RoutineKind::Procedure),
        Kind::Word(Keyword::Routine) => Some(RoutineKind::Routine),
        Kind::Word(Keyword::Aggregate) => Some(RoutineKind::Aggregate),
        _ => None,
    }
}

/// What a word says alone.
fn one_word(word: Keyword) -> Option<FunctionOption> {
    Some(match word {
        Keyword::Immutable => FunctionOption::Volatility('i'),
        Keyword::Stable => FunctionOption::Volatility('s'),
        Keyword::Volatile => FunctionOption::Volatility('v'),
        Keyword::Strict => FunctionOption::Strict(true),
        Keyword::Leakproof => FunctionOption::Leakproof(true),
        _ => return None,
    })
}

impl Parser<'_> {
    /// Whether a word is that of a function, a procedure or an aggregate.
    pub(in super::super) fn at_routine(&self) -> bool {
        kind_of(self.kind()).is_some()
    }

    fn routine_kind(&mut self) -> Result<RoutineKind> {
        let kind = kind_of(self.kind()).ok_or_else(|| self.unexpected())?;
        self.advance();
        Ok(kind)
    }

    /// CREATE FUNCTION, at this word.
    pub(super) fn create_function(&mut self, replace: bool) -> Result<Statement> {
        use Keyword as K;
        let procedure = self.routine_kind()? == RoutineKind::Procedure;
        let name = self.function_path()?;
        let mut parameters = self.parameters(true)?;
        let (mut returns, mut table) = (None, false);
        if !procedure && self.accept_word(K::Returns) {
            if self.accept_word(K::Table) {
                table = true;
                self.expect_char('(')?;
                loop {
                    let name = Some(self.call_name()?);
                    let ty = self.function_type()?;
                    let mode = ParameterMode::Table;
                    parameters.push(Parameter { mode, name, ty, default: None });
                    if !self.accept_char(',') {
                        break;
                    }
                }
                self.expect_char(')')?;
            } else {
                returns = Some(self.function_type()?);
            }
        }
        let mut options = Vec::new();
        loop {
            let place = self.place();
            match self.function_option(true)? {
                Some(option) => options.push((option, place)),
                None => break,
            }
        }
        if self.at_word(K::Return) || self.at_word(K::Begin) {
            return Err(Error::unserved(
                "a body of a function that is no literal is not supported",
            ));
        }
        let create =
            CreateFunction { replace, procedure, name, parameters, returns, table, options };
        object(Object::CreateFunction(Box::new(create)))
    }

    /// The name of a function, with its schema where that is said.
    pub(super) fn function_path(&mut self) -> Result<Path> {
        if Parser::is_call_name(self.kind()) && self.ahead(1) != Kind::Char('.') {
            return Ok([self.call_name()?].into());
        }
        let name = self.any_name()?;
        // What no function is called by has no arguments.
        match name.len() == 1 && self.at_char('(') {
            true => Err(self.unexpected()),
            false => Ok(name),
        }
    }

    pub(super) fn function_type(&mut self) -> Result<TypeName> {
        let ty = self.type_name()?;
        match self.at_char('%') {
            true => Err(Error::unserved("%TYPE of a parameter is not supported")),
            false => Ok(ty),
        }
    }

    /// `(…)`
    fn parameters(&mut self, defaults: bool) -> Result<Vec<Parameter>> {
        let mut all = Vec::new();
        self.expect_char('(')?;
        if self.accept_char(')') {
            return Ok(all);
        }
        loop {
            all.push(self.parameter(defaults)?);
            if !self.accept_char(',') {
                break;
            }
        }
        self.expect_char(')')?;
        Ok(all)
    }

    fn parameter_mode(&mut self) -> Option<ParameterMode> {
        use Keyword as K;
        let mode = match self.kind() {
            Kind::Word(K::In) if self.ahead(1) == Kind::Word(K::Out) => {
                self.advance();
                ParameterMode::InOut
            }
            Kind::Word(K::In) => ParameterMode::In,
            Kind::Word(K::Out) => ParameterMode::Out,
            Kind::Word(K::Inout) => ParameterMode::InOut,
            Kind::Word(K::Variadic) => ParameterMode::Variadic,
            _ => return None,
        };
        self.advance();
        Some(mode)
    }

    /// A parameter: its mode, its name, its type and its default.
    pub(super) fn parameter(&mut self, defaults: bool) -> Result<Parameter> {
        use Keyword as K;
        let mut mode = self.parameter_mode();
        let behind = self.ahead(1);
        let two_words = matches!(
            (self.kind(), behind),
            (Kind::Word(K::Double), Kind::Word(K::Precision))
                | (Kind::Word(K::National), Kind::Word(K::Character | K::Char))
                | (
                    Kind::Word(K::Character | K::Char | K::Bit | K::Nchar | K::National),
                    Kind::Word(K::Varying)
                )
                | (Kind::Word(K::Time | K::Timestamp), Kind::Word(K::With | K::Without))
                | (Kind::Word(K::Interval), Kind::Word(_))
        );
        let ends =
            matches!(behind, Kind::Char(',' | ')' | '.' | '(' | '[' | '=' | '%') | Kind::End)
                || matches!(behind, Kind::Word(K::Default | K::Array))
                || matches!(behind, Kind::ColonEquals);
        let mut name = None;
        if Parser::is_call_name(self.kind()) && !ends && !two_words {
            name = Some(self.call_name()?);
            if mode.is_none() {
                mode = self.parameter_mode();
            }
        }
        let ty = self.function_type()?;
        let default = match defaults && (self.accept_word(K::Default) || self.accept_char('=')) {
            true => {
                let (expr, span) = self.spanned(Self::expr)?;
                Some(Said { expr, span })
            }
            false => None,
        };
        let mode = mode.unwrap_or(ParameterMode::In);
        Ok(Parameter { mode, name, ty, default })
    }

    /// A function with the types of its arguments, where they are said.
    pub(in super::super) fn signature(&mut self) -> Result<Signature> {
        let name = self.function_path()?;
        let parameters = if self.at_char('(') { Some(self.parameters(false)?) } else { None };
        Ok(Signature { name, parameters })
    }

    /// The same of a kind: an aggregate's are always said.
    fn signature_of(&mut self, kind: RoutineKind) -> Result<Signature> {
        match kind {
            RoutineKind::Aggregate => self.aggregate_signature(),
            _ => self.signature(),
        }
    }

    /// Several of them.
    fn signatures(&mut self, kind: RoutineKind) -> Result<Vec<Signature>> {
        let mut all = vec![self.signature_of(kind)?];
        while self.accept_char(',') {
            all.push(self.signature_of(kind)?);
        }
        Ok(all)
    }

    /// What one of several words says about a function.
    fn function_option(&mut self, new: bool) -> Result<Option<FunctionOption>> {
        use Keyword as K;
        let Kind::Word(word) = self.kind() else { return Ok(None) };
        if let Some(option) = one_word(word) {
            self.advance();
            return Ok(Some(option));
        }
        let option = match word {
            K::As | K::Language | K::Transform | K::Window if new => return self.new_option(word),
            K::Called | K::Returns => {
                self.advance();
                if word == K::Returns {
                    self.expect_word(K::Null)?;
                }
                self.expect_word(K::On)?;
                self.expect_word(K::Null)?;
                self.expect_word(K::Input)?;
                FunctionOption::Strict(word == K::Returns)
            }
            K::External | K::Security => {
                self.accept_word(K::External);
                self.expect_word(K::Security)?;
                let definer = self.accept_word(K::Definer);
                if !definer {
                    self.expect_word(K::Invoker)?;
                }
                FunctionOption::Definer(definer)
            }
            K::Not => {
                self.advance();
                self.expect_word(K::Leakproof)?;
                FunctionOption::Leakproof(false)
            }
            K::Parallel => {
                self.advance();
                FunctionOption::Parallel(self.column_name()?)
            }
            K::Cost => {
                self.advance();
                FunctionOption::Cost(self.number()?)
            }
            K::Rows => {
                self.advance();
                FunctionOption::Rows(self.number()?)
            }
            K::Support => return Err(Error::unserved("SUPPORT is not supported")),
            K::Set => FunctionOption::Set(self.setting(Self::set)?),
            K::Reset => match self.setting(Self::reset)? {
                SetStatement::Reset(name) => FunctionOption::Reset(name),
                _ => return Err(self.unexpected()),
            },
            _ => return Ok(None),
        };
        Ok(Some(option))
    }

    /// What only CREATE says.
    fn new_option(&mut self, word: Keyword) -> Result<Option<FunctionOption>> {
        self.advance();
        Ok(Some(match word {
            Keyword::As => {
                let mut parts = vec![self.text()?];
                if self.accept_char(',') {
                    parts.push(self.text()?);
                }
                FunctionOption::As(parts)
            }
            Keyword::Language if self.kind() == Kind::Text => {
                FunctionOption::Language(self.text()?)
            }
            Keyword::Language => FunctionOption::Language(self.label()?),
            Keyword::Window => FunctionOption::Other("WINDOW"),
            _ => return Err(Error::unserved("TRANSFORM is not supported")),
        }))
    }

    /// SET or RESET, as a rule reads it.
    fn setting(&mut self, rule: fn(&mut Self) -> Result<Statement>) -> Result<SetStatement> {
        let Statement::Utility(utility) = rule(self)? else { return Err(self.unexpected()) };
        match *utility {
            Utility::Set(set) => Ok(set),
            _ => Err(self.unexpected()),
        }
    }

    /// ALTER FUNCTION, at this word.
    pub(super) fn alter_function(&mut self) -> Result<Statement> {
        use Keyword as K;
        let kind = self.routine_kind()?;
        let signature = self.signature_of(kind)?;
        let is_aggregate = kind == RoutineKind::Aggregate;
        let change = match self.kind() {
            Kind::Word(K::Rename) => {
                self.advance();
                self.expect_word(K::To)?;
                FunctionChange::Rename(self.column_name()?)
            }
            Kind::Word(K::Owner) => {
                self.advance();
                self.expect_word(K::To)?;
                FunctionChange::Owner(self.role()?)
            }
            Kind::Word(K::Set) if self.ahead(1) == Kind::Word(K::Schema) => {
                self.advance();
                self.advance();
                FunctionChange::Schema(self.column_name()?)
            }
            _ if is_aggregate => return Err(self.unexpected()),
            Kind::Word(K::Depends | K::No) => {
                self.accept_word(K::No);
                self.expect_word(K::Depends)?;
                self.expect_word(K::On)?;
                self.expect_word(K::Extension)?;
                self.column_name()?;
                FunctionChange::Depends
            }
            _ => {
                let mut options = Vec::new();
                loop {
                    let place = self.place();
                    match self.function_option(false)? {
                        Some(option) => options.push((option, place)),
                        None if options.is_empty() => return Err(self.unexpected()),
                        None => break,
                    }
                }
                self.accept_word(K::Restrict);
                FunctionChange::Options(options)
            }
        };
        object(Object::AlterFunction(Box::new(AlterFunction { kind, signature, change })))
    }

    /// The function that a comment is on, at the word that says what it is.
    pub(super) fn commented_routine(&mut self) -> Result<CommentOn> {
        let kind = self.routine_kind()?;
        Ok(CommentOn::Function(kind, self.signature_of(kind)?))
    }

    /// What a privilege is on, at the same word.
    pub(in super::super) fn granted_routines(&mut self) -> Result<GrantOn> {
        let kind = self.routine_kind()?;
        Ok(GrantOn::Functions(kind, self.signatures(kind)?))
    }

    /// DROP FUNCTION, at this word.
    pub(super) fn drop_function(&mut self) -> Result<Statement> {
        let kind = self.routine_kind()?;
        let skip = self.if_exists();
        let all = self.signatures(kind)?;
        object(Object::DropFunction(DropFunction { kind, skip, all, cascade: self.cascade() }))
    }

    /// CALL.
    pub(in super::super) fn call_statement(&mut self) -> Result<Statement> {
        self.advance();
        let place = self.place();
        let name: Path = self.function_path()?;
        if !self.at_char('(') {
            return Err(self.unexpected());
        }
        let call = self.call(name, place, false)?;
        self.tree.procedure = Some(call);
        let star = self.add(Expr::Star([].into()), NOWHERE);
        let from = self.tree.add_from(From::Functions {
            lateral: false,
            rows_from: false,
            calls: vec![FunctionItem { call, columns: Vec::new() }],
            ordinality: false,
            alias: None,
            columns: Vec::new(),
        });
        let select = Select {
            distinct: None,
            targets: vec![Target { value: star, name: None, place: NOWHERE }],
            into: None,
            from: vec![from],
            filter: None,
            group: Vec::new(),
            group_distinct: false,
            having: None,
            windows: Vec::new(),
        };
        let query = Query {
            with: None,
            body: Body::Select(Box::new(select)),
            order: Vec::new(),
            limit: None,
            ties: false,
            offset: None,
            locks: Vec::new(),
        };
        Ok(Statement::Query(self.tree.add_query(query)))
    }

    /// The name of a trigger's argument: a literal, a number, or a word.
    pub(super) fn trigger_argument(&mut self) -> Result<Name> {
        match self.kind() {
            Kind::Text => self.text(),
            Kind::Int(_) | Kind::Number => self.number(),
            _ => self.label(),
        }
    }
}
