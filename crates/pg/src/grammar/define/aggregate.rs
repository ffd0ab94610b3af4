//! CREATE AGGREGATE, and definitions in parentheses.

use super::super::keyword::{Class, Keyword};
use super::super::parser::Parser;
use super::super::token::Kind;
use super::object;
use crate::ast::{
    CreateAggregate, DefinitionItem, DefinitionValue, Object, Parameter, ParameterMode, Signature,
    Statement,
};
use crate::{Error, Result};

impl Parser<'_> {
    /// CREATE AGGREGATE, at this word.
    pub(super) fn create_aggregate(&mut self, replace: bool) -> Result<Statement> {
        self.advance();
        let name = self.function_path()?;
        let is_old =
            self.at_char('(') && self.ahead(1) == Kind::Name && self.ahead(2) == Kind::Char('=');
        let (parameters, ordered) = match is_old {
            true => (None, false),
            false => {
                let (parameters, ordered) = self.aggregated()?;
                (Some(parameters), ordered)
            }
        };
        let items = self.definition()?;
        let create = CreateAggregate { replace, name, parameters, ordered, items };
        object(Object::CreateAggregate(Box::new(create)))
    }

    /// The parameters of an aggregate, `*` for none, and whether there is an ORDER BY among them.
    fn aggregated(&mut self) -> Result<(Vec<Parameter>, bool)> {
        let mut all = Vec::new();
        self.expect_char('(')?;
        if self.accept_char('*') {
            self.expect_char(')')?;
            return Ok((all, false));
        }
        let mut ordered = false;
        loop {
            if !ordered && self.at_word(Keyword::Order) {
                self.advance();
                self.expect_word(Keyword::By)?;
                ordered = true;
            }
            let place = self.place();
            let parameter = self.parameter(false)?;
            if !matches!(parameter.mode, ParameterMode::In | ParameterMode::Variadic) {
                let text = "aggregates cannot have output arguments";
                return Err(Error::new("0A000", text).at(place));
            }
            all.push(parameter);
            if !self.accept_char(',') && (ordered || !self.at_word(Keyword::Order)) {
                break;
            }
        }
        self.expect_char(')')?;
        Ok((all, ordered))
    }

    /// An aggregate with its parameters.
    pub(super) fn aggregate_signature(&mut self) -> Result<Signature> {
        let name = self.function_path()?;
        let (parameters, _) = self.aggregated()?;
        Ok(Signature { name, parameters: Some(parameters) })
    }

    /// `(name = value, …)`
    pub(super) fn definition(&mut self) -> Result<Vec<DefinitionItem>> {
        let mut items = Vec::new();
        self.expect_char('(')?;
        loop {
            let place = self.place();
            let name = self.label()?;
            let value = match self.accept_char('=') {
                true => Some(self.said_value()?),
                false => None,
            };
            items.push(DefinitionItem { name, value, place });
            if !self.accept_char(',') {
                break;
            }
        }
        self.expect_char(')')?;
        Ok(items)
    }

    fn said_value(&mut self) -> Result<DefinitionValue> {
        Ok(match self.kind() {
            Kind::Text => DefinitionValue::Word(self.text()?),
            Kind::Int(_) | Kind::Number => DefinitionValue::Number(self.number()?),
            Kind::Char('+' | '-') if matches!(self.ahead(1), Kind::Int(_) | Kind::Number) => {
                DefinitionValue::Number(self.number()?)
            }
            kind @ Kind::Word(_) if Parser::names(kind, &[Class::Reserved]) => {
                DefinitionValue::Word(self.label()?)
            }
            Kind::Word(Keyword::None) => DefinitionValue::Word(self.label()?),
            Kind::Name | Kind::Word(_)
                if !(self.at_word(Keyword::Operator) && self.ahead(1) == Kind::Char('(')) =>
            {
                DefinitionValue::Type(self.function_type()?)
            }
            _ => DefinitionValue::Operator(self.operator_path()?),
        })
    }
}
