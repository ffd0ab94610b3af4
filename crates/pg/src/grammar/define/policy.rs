//! CREATE, ALTER and DROP POLICY.

use super::super::keyword::Keyword;
use super::super::parser::Parser;
use super::super::token::Kind;
use super::object;
use crate::ast::{
    AlterPolicy, CreatePolicy, Object, Policy, PolicyCommand, Relation, Role, Said, Statement,
};
use crate::{Error, Result};

impl Parser<'_> {
    /// CREATE POLICY, at the second word.
    pub(super) fn create_policy(&mut self) -> Result<Statement> {
        use Keyword as K;
        self.advance();
        let name = self.column_name()?;
        let on = self.policy_table()?;
        let mut permissive = true;
        if self.accept_word(K::As) {
            let place = self.place();
            let token = self.token();
            if token.kind != Kind::Name {
                return Err(self.unexpected());
            }
            let word = self.value(token);
            permissive = match &*word {
                "permissive" => true,
                "restrictive" => false,
                _ => {
                    let text = format!("unrecognized row security option \"{word}\"");
                    let hint = "Only PERMISSIVE or RESTRICTIVE policies are supported currently.";
                    return Err(Error::new("42601", text).hint(hint).at(place));
                }
            };
            self.advance();
        }
        let command = match self.accept_word(K::For) {
            true => self.policy_command()?,
            false => PolicyCommand::All,
        };
        let roles = self.policy_roles()?.unwrap_or_else(|| vec![Role::Public]);
        let (using, check) = self.policy_conditions()?;
        let made = CreatePolicy { name, on, permissive, command, roles, using, check };
        object(Object::Policy(Box::new(Policy::Create(made))))
    }

    fn policy_table(&mut self) -> Result<Relation> {
        self.expect_word(Keyword::On)?;
        let place = self.place();
        Ok(Relation { name: self.relation_name()?, only: false, alias: None, place })
    }

    fn policy_command(&mut self) -> Result<PolicyCommand> {
        use Keyword as K;
        let command = match self.kind() {
            Kind::Word(K::All) => PolicyCommand::All,
            Kind::Word(K::Select) => PolicyCommand::Select,
            Kind::Word(K::Insert) => PolicyCommand::Insert,
            Kind::Word(K::Update) => PolicyCommand::Update,
            Kind::Word(K::Delete) => PolicyCommand::Delete,
            _ => return Err(self.unexpected()),
        };
        self.advance();
        Ok(command)
    }

    fn policy_roles(&mut self) -> Result<Option<Vec<Role>>> {
        match self.accept_word(Keyword::To) {
            true => self.roles().map(Some),
            false => Ok(None),
        }
    }

    /// USING and WITH CHECK.
    fn policy_conditions(&mut self) -> Result<(Option<Said>, Option<Said>)> {
        use Keyword as K;
        let using = match self.accept_word(K::Using) {
            true => Some(self.policy_condition()?),
            false => None,
        };
        let check = match self.accept_word(K::With) {
            true => {
                self.expect_word(K::Check)?;
                Some(self.policy_condition()?)
            }
            false => None,
        };
        Ok((using, check))
    }

    fn policy_condition(&mut self) -> Result<Said> {
        self.expect_char('(')?;
        let (expr, span) = self.spanned(Self::expr)?;
        self.expect_char(')')?;
        Ok(Said { expr, span })
    }

    /// ALTER POLICY, at the second word.
    pub(super) fn alter_policy(&mut self) -> Result<Statement> {
        use Keyword as K;
        self.advance();
        let skip = self.if_exists();
        let name = self.column_name()?;
        let on = self.policy_table()?;
        if self.accept_word(K::Rename) {
            self.expect_word(K::To)?;
            if skip {
                return Err(Error::unserved("ALTER POLICY IF EXISTS is not supported"));
            }
            let to = self.column_name()?;
            return object(Object::Policy(Box::new(Policy::Rename(name, on.name, to))));
        }
        if skip {
            return Err(self.unexpected());
        }
        let roles = self.policy_roles()?;
        let (using, check) = self.policy_conditions()?;
        let made = AlterPolicy { name, on, roles, using, check };
        object(Object::Policy(Box::new(Policy::Alter(made))))
    }

    /// DROP POLICY, at the second word.
    pub(super) fn drop_policy(&mut self) -> Result<Statement> {
        self.advance();
        let skip = self.if_exists();
        let name = self.column_name()?;
        self.expect_word(Keyword::On)?;
        let on = self.any_name()?;
        // There is nothing that CASCADE would drop.
        self.cascade();
        object(Object::Policy(Box::new(Policy::Drop { skip, name, on })))
    }
}
