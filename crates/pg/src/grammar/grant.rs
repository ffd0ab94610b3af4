//! GRANT, REVOKE, ALTER DEFAULT PRIVILEGES.

use super::define::object;
use super::keyword::Keyword;
use super::parser::Parser;
use super::token::Kind;
use crate::Result;
use crate::ast::{
    DefaultOn, DefaultPrivileges, Grant, GrantOn, GrantRole, Object, Privilege, Statement,
};

impl Parser<'_> {
    /// GRANT.
    pub(super) fn grant(&mut self) -> Result<Statement> {
        use Keyword as K;
        self.advance();
        let privileges = self.privileges()?;
        if self.at_word(K::To) && roles_only(&privileges) {
            self.advance();
            let members = self.roles()?;
            let admin = self.with_option(K::Admin)?;
            let grantor = self.granted_by()?;
            let columns = privileges.iter().any(|p| !p.columns.is_empty());
            let roles = privileges.into_iter().filter_map(|p| p.word).collect();
            let grant = GrantRole { grant: true, admin, roles, columns, members, grantor };
            return object(Object::GrantRole(grant));
        }
        self.expect_word(K::On)?;
        let on = self.grant_target()?;
        self.expect_word(K::To)?;
        let roles = self.grantees()?;
        let option = self.with_option(K::Grant)?;
        let grantor = self.granted_by()?;
        let grant = Grant { grant: true, option, privileges, on, roles, grantor, cascade: false };
        object(Object::Grant(grant))
    }

    /// REVOKE.
    pub(super) fn revoke(&mut self) -> Result<Statement> {
        use Keyword as K;
        self.advance();
        let admin = self.at_word(K::Admin) && self.ahead(1) == Kind::Word(K::Option);
        let option = self.at_word(K::Grant);
        if admin || option {
            self.advance();
            self.expect_word(K::Option)?;
            self.expect_word(K::For)?;
        }
        let privileges = self.privileges()?;
        if !option && self.at_word(K::From) && roles_only(&privileges) {
            self.advance();
            let members = self.roles()?;
            let grantor = self.granted_by()?;
            self.cascade();
            let columns = privileges.iter().any(|p| !p.columns.is_empty());
            let roles = privileges.into_iter().filter_map(|p| p.word).collect();
            return object(Object::GrantRole(GrantRole {
                grant: false,
                admin,
                roles,
                columns,
                members,
                grantor,
            }));
        }
        if admin {
            return Err(self.unexpected());
        }
        self.expect_word(K::On)?;
        let on = self.grant_target()?;
        self.expect_word(K::From)?;
        let roles = self.grantees()?;
        let grantor = self.granted_by()?;
        let cascade = self.cascade();
        object(Object::Grant(Grant {
            grant: false,
            option,
            privileges,
            on,
            roles,
            grantor,
            cascade,
        }))
    }

    /// WITH GRANT OPTION or WITH ADMIN OPTION, if it is there.
    fn with_option(&mut self, what: Keyword) -> Result<bool> {
        if !self.accept_word(Keyword::With) {
            return Ok(false);
        }
        self.expect_word(what)?;
        self.expect_word(Keyword::Option)?;
        Ok(true)
    }

    fn grantees(&mut self) -> Result<Vec<crate::ast::Role>> {
        let mut roles = Vec::new();
        loop {
            self.accept_word(Keyword::Group);
            roles.push(self.role()?);
            if !self.accept_char(',') {
                return Ok(roles);
            }
        }
    }

    fn privileges(&mut self) -> Result<Vec<Privilege>> {
        use Keyword as K;
        if self.accept_word(K::All) {
            self.accept_word(K::Privileges);
            return Ok(vec![Privilege { word: None, columns: self.names_if_parens()? }]);
        }
        let mut all = Vec::new();
        loop {
            let word = match self.kind() {
                Kind::Word(word @ (K::Select | K::References | K::Create)) => {
                    self.advance();
                    word.word().into()
                }
                Kind::Word(K::Alter) if self.ahead(1) == Kind::Word(K::System) => {
                    self.advance();
                    self.advance();
                    all.push(Privilege { word: Some("alter system".into()), columns: Vec::new() });
                    if !self.accept_char(',') {
                        return Ok(all);
                    }
                    continue;
                }
                _ => self.column_name()?,
            };
            all.push(Privilege { word: Some(word), columns: self.names_if_parens()? });
            if !self.accept_char(',') {
                return Ok(all);
            }
        }
    }

    /// What privileges are on, behind ON.
    fn grant_target(&mut self) -> Result<GrantOn> {
        use Keyword as K;
        let next = self.ahead(1);
        // A word that may be a table's name is one where no name follows it.
        let names = Parser::is_column_name(next);
        match self.kind() {
            Kind::Word(K::Table) => {
                self.advance();
                self.relation_names().map(GrantOn::Relations)
            }
            Kind::Word(K::All) => {
                self.advance();
                self.all_in_schema()
            }
            Kind::Word(K::Foreign) => {
                self.advance();
                if !self.accept_word(K::Server) {
                    self.expect_word(K::Data)?;
                    self.expect_word(K::Wrapper)?;
                }
                self.column_names().map(|_| GrantOn::Others)
            }
            Kind::Word(K::Sequence) if names => {
                self.advance();
                self.relation_names().map(GrantOn::Sequences)
            }
            Kind::Word(K::Schema) if names => {
                self.advance();
                self.column_names().map(GrantOn::Schemas)
            }
            Kind::Word(K::Database) if names => {
                self.advance();
                self.column_names().map(GrantOn::Databases)
            }
            Kind::Word(K::Language) if names => {
                self.advance();
                self.column_names().map(|_| GrantOn::Languages)
            }
            Kind::Word(K::Tablespace) if names => {
                self.advance();
                self.column_names().map(|_| GrantOn::Others)
            }
            Kind::Word(K::Parameter) if names => {
                self.advance();
                self.setting_name()?;
                while self.accept_char(',') {
                    self.setting_name()?;
                }
                Ok(GrantOn::Others)
            }
            Kind::Word(K::Type | K::Domain) if names => {
                self.advance();
                self.any_names().map(|_| GrantOn::Types)
            }
            Kind::Word(K::Large) if next == Kind::Word(K::Object) => {
                self.advance();
                self.advance();
                loop {
                    self.number()?;
                    if !self.accept_char(',') {
                        return Ok(GrantOn::Others);
                    }
                }
            }
            Kind::Word(K::Function | K::Procedure | K::Routine)
                if names || Parser::is_call_name(next) =>
            {
                self.granted_routines()
            }
            _ => self.relation_names().map(GrantOn::Relations),
        }
    }

    /// `ALL TABLES IN SCHEMA` and its like, behind ALL.
    fn all_in_schema(&mut self) -> Result<GrantOn> {
        use Keyword as K;
        let Kind::Word(word) = self.kind() else { return Err(self.unexpected()) };
        if !matches!(word, K::Tables | K::Sequences | K::Functions | K::Procedures | K::Routines) {
            return Err(self.unexpected());
        }
        self.advance();
        self.expect_word(K::In)?;
        self.expect_word(K::Schema)?;
        let schemas = self.column_names()?;
        Ok(match word {
            K::Tables => GrantOn::TablesIn(schemas),
            K::Sequences => GrantOn::SequencesIn(schemas),
            _ => GrantOn::FunctionsIn(schemas),
        })
    }

    /// ALTER DEFAULT PRIVILEGES, behind these words.
    pub(super) fn default_privileges(&mut self) -> Result<Statement> {
        use Keyword as K;
        let (mut of, mut schemas) = (Vec::new(), Vec::new());
        loop {
            if self.accept_word(K::For) {
                if !self.accept_word(K::Role) {
                    self.expect_word(K::User)?;
                }
                of = self.roles()?;
            } else if self.accept_word(K::In) {
                self.expect_word(K::Schema)?;
                schemas = self.column_names()?;
            } else {
                break;
            }
        }
        let grant = self.accept_word(K::Grant);
        let mut option = false;
        if !grant {
            self.expect_word(K::Revoke)?;
            option = self.accept_word(K::Grant);
            if option {
                self.expect_word(K::Option)?;
                self.expect_word(K::For)?;
            }
        }
        let privileges = self.privileges()?;
        self.expect_word(K::On)?;
        let on = match self.kind() {
            Kind::Word(K::Tables) => DefaultOn::Tables,
            Kind::Word(K::Sequences) => DefaultOn::Sequences,
            Kind::Word(K::Schemas) => DefaultOn::Schemas,
            Kind::Word(K::Functions | K::Routines) => DefaultOn::Functions,
            Kind::Word(K::Types) => DefaultOn::Types,
            _ => return Err(self.unexpected()),
        };
        self.advance();
        self.expect_word(if grant { K::To } else { K::From })?;
        let roles = self.grantees()?;
        let mut cascade = false;
        if grant {
            option = self.with_option(K::Grant)?;
        } else {
            cascade = self.cascade();
        }
        let grantor = None;
        let said = GrantOn::Others;
        let grant = Grant { grant, option, privileges, on: said, roles, grantor, cascade };
        object(Object::DefaultPrivileges(DefaultPrivileges { of, schemas, on, grant }))
    }
}

/// Whether words may be roles: words without columns.
fn roles_only(privileges: &[Privilege]) -> bool {
    privileges.iter().all(|p| p.word.is_some())
}
