//! CREATE and ALTER ROLE, USER and GROUP.

use super::super::keyword::Keyword;
use super::super::parser::Parser;
use super::super::token::Kind;
use super::object;
use crate::ast::{AlterRole, CreateRole, Name, Object, Role, RoleChange, RoleOption, Statement};
use crate::{Error, Result};

/// Attributes of a role that are there or not.
const FLAGS: &[&str] =
    &["superuser", "createrole", "replication", "createdb", "login", "bypassrls", "inherit"];

impl Parser<'_> {
    /// CREATE ROLE, behind these words.
    pub(super) fn create_role(&mut self, login: bool) -> Result<Statement> {
        let name = self.role_name()?;
        self.accept_with();
        let mut options = Vec::new();
        while let Some(option) = self.role_option(true)? {
            options.push(option);
        }
        object(Object::CreateRole(CreateRole { login, name, options }))
    }

    /// An attribute, if one is there; some only CREATE has.
    fn role_option(&mut self, create: bool) -> Result<Option<RoleOption>> {
        use Keyword as K;
        let place = self.place();
        let option = match self.kind() {
            Kind::Word(K::Password) => {
                self.advance();
                RoleOption::Password(match self.accept_word(K::Null) {
                    true => None,
                    false => Some(self.text()?),
                })
            }
            Kind::Word(K::Encrypted) => {
                self.advance();
                self.expect_word(K::Password)?;
                RoleOption::Password(Some(self.text()?))
            }
            Kind::Word(K::Unencrypted) => {
                self.advance();
                self.expect_word(K::Password)?;
                self.text()?;
                let text = "UNENCRYPTED PASSWORD is no longer supported";
                let hint = "Remove UNENCRYPTED to store the password in encrypted form instead.";
                return Err(Error::new("0A000", text).hint(hint).at(place));
            }
            Kind::Word(K::Inherit) => {
                self.advance();
                RoleOption::Flag("inherit", true)
            }
            Kind::Word(K::Connection) => {
                self.advance();
                self.expect_word(K::Limit)?;
                RoleOption::ConnectionLimit(self.signed_int()?)
            }
            Kind::Word(K::Valid) => {
                self.advance();
                self.expect_word(K::Until)?;
                RoleOption::ValidUntil(self.text()?)
            }
            Kind::Word(K::User) => {
                self.advance();
                RoleOption::Members(self.roles()?)
            }
            Kind::Name => self.role_flag()?,
            Kind::Word(K::Sysid) if create => {
                self.advance();
                self.int()?;
                RoleOption::Sysid
            }
            Kind::Word(K::Admin) if create => {
                self.advance();
                RoleOption::Admins(self.roles()?)
            }
            Kind::Word(K::Role) if create => {
                self.advance();
                RoleOption::Members(self.roles()?)
            }
            Kind::Word(K::In) if create => {
                self.advance();
                if !self.accept_word(K::Role) {
                    self.expect_word(K::Group)?;
                }
                RoleOption::In(self.roles()?)
            }
            _ => return Ok(None),
        };
        Ok(Some(option))
    }

    fn role_flag(&mut self) -> Result<RoleOption> {
        let token = self.advance();
        let word = self.value(token);
        let (flag, on) = match word.strip_prefix("no") {
            Some(rest) => (rest, false),
            None => (&*word, true),
        };
        let known = FLAGS.iter().find(|known| **known == flag);
        // INHERIT is a keyword.
        match known.filter(|known| !on || **known != "inherit") {
            Some(known) => Ok(RoleOption::Flag(known, on)),
            None => Err(self.refuse(format!("unrecognized role option \"{word}\""), token.start)),
        }
    }

    /// ALTER ROLE, behind these words.
    pub(super) fn alter_role(&mut self) -> Result<Statement> {
        use Keyword as K;
        if self.accept_word(K::All) {
            let database = self.in_database()?;
            let change = RoleChange::Settings(database, self.set_or_reset()?);
            return object(Object::AlterRole(AlterRole { role: None, change }));
        }
        let place = self.place();
        let role = Some(self.role()?);
        self.check_renamed(role.as_ref(), place)?;
        let change = match self.kind() {
            Kind::Word(K::Rename) => {
                self.advance();
                self.expect_word(K::To)?;
                RoleChange::Rename(self.role_name()?)
            }
            Kind::Word(K::In | K::Set | K::Reset) => {
                let database = self.in_database()?;
                RoleChange::Settings(database, self.set_or_reset()?)
            }
            _ => {
                self.accept_with();
                let mut options = Vec::new();
                while let Some(option) = self.role_option(false)? {
                    options.push(option);
                }
                RoleChange::Options(options)
            }
        };
        object(Object::AlterRole(AlterRole { role, change }))
    }

    /// Fails where a role that is to be renamed has no name.
    fn check_renamed(&self, role: Option<&Role>, place: u32) -> Result<()> {
        match role {
            Some(role) if self.at_word(Keyword::Rename) => self.named_role(role, place).map(|_| ()),
            _ => Ok(()),
        }
    }

    fn in_database(&mut self) -> Result<Option<Name>> {
        if !self.accept_word(Keyword::In) {
            return Ok(None);
        }
        self.expect_word(Keyword::Database)?;
        self.column_name().map(Some)
    }

    /// ALTER GROUP, behind these words.
    pub(super) fn alter_group(&mut self) -> Result<Statement> {
        use Keyword as K;
        let place = self.place();
        let role = Some(self.role()?);
        self.check_renamed(role.as_ref(), place)?;
        let change = if self.accept_word(K::Rename) {
            self.expect_word(K::To)?;
            RoleChange::Rename(self.role_name()?)
        } else {
            let add = self.accept_word(K::Add);
            if !add {
                self.expect_word(K::Drop)?;
            }
            self.expect_word(K::User)?;
            RoleChange::Members(add, self.roles()?)
        };
        object(Object::AlterRole(AlterRole { role, change }))
    }
}
