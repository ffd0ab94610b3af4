//! CREATE, ALTER and DROP: which statement is it?

mod aggregate;
mod alter;
mod constraint;
mod drop;
mod extension;
mod function;
mod index;
mod policy;
mod role;
mod rule;
mod sequence;
mod table;
mod trigger;
mod types;
mod view;

use super::keyword::Keyword;
use super::parser::Parser;
use super::token::Kind;
use crate::Result;
use crate::ast::{
    CreateSchema, Database, Lasting, Name, Object, ObjectChange, OptionValue, Statement,
};

/// What CREATE may make that is not read here.
const MADE: &[Keyword] = &[
    Keyword::Access,
    Keyword::Assertion,
    Keyword::Cast,
    Keyword::Collation,
    Keyword::Constraint,
    Keyword::Conversion,
    Keyword::Default,
    Keyword::Event,
    Keyword::Foreign,
    Keyword::Language,
    Keyword::Operator,
    Keyword::Procedural,
    Keyword::Publication,
    Keyword::Server,
    Keyword::Statistics,
    Keyword::Subscription,
    Keyword::Tablespace,
    Keyword::Text,
    Keyword::Transform,
    Keyword::Trusted,
];

/// What CREATE OR REPLACE may make that is not read here.
const REPLACED: &[Keyword] =
    &[Keyword::Language, Keyword::Procedural, Keyword::Transform, Keyword::Trusted];

/// What ALTER may change that is not read here.
const ALTERED: &[Keyword] = &[
    Keyword::Collation,
    Keyword::Conversion,
    Keyword::Event,
    Keyword::Foreign,
    Keyword::Language,
    Keyword::Large,
    Keyword::Operator,
    Keyword::Procedural,
    Keyword::Publication,
    Keyword::Server,
    Keyword::Statistics,
    Keyword::Subscription,
    Keyword::System,
    Keyword::Tablespace,
    Keyword::Text,
];

/// A statement about an object that is no relation.
pub(super) fn object(object: Object) -> Result<Statement> {
    Ok(Statement::Object(Box::new(object)))
}

impl Parser<'_> {
    fn at_any(&self, words: &[Keyword]) -> bool {
        matches!(self.kind(), Kind::Word(word) if words.contains(&word))
    }

    /// CREATE.
    pub(super) fn create(&mut self) -> Result<Statement> {
        use Keyword as K;
        self.advance();
        let replace = self.accept_word(K::Or);
        if replace {
            self.expect_word(K::Replace)?;
            if self.at_any(REPLACED) {
                return self.other(K::Create);
            }
        }
        let lasting = self.lasting()?;
        let plain = !replace && lasting == Lasting::Permanent;
        match self.kind() {
            Kind::Word(K::View) => {
                self.advance();
                self.create_view(replace, lasting)
            }
            Kind::Word(K::Recursive) => {
                self.advance();
                self.expect_word(K::View)?;
                self.create_recursive_view(replace, lasting)
            }
            Kind::Word(K::Table) if !replace => {
                self.advance();
                self.create_table(lasting)
            }
            Kind::Word(K::Sequence) if !replace => {
                self.advance();
                self.create_sequence(lasting)
            }
            Kind::Word(K::Materialized) if !replace && lasting != Lasting::Temporary => {
                self.advance();
                self.expect_word(K::View)?;
                self.create_materialized(lasting)
            }
            Kind::Word(K::Unique | K::Index) if plain => self.create_index(),
            Kind::Word(K::Schema) if plain => {
                self.advance();
                self.create_schema()
            }
            Kind::Word(K::Database) if plain => self.create_database(),
            Kind::Word(K::User) if plain && self.ahead(1) == Kind::Word(K::Mapping) => {
                self.other(K::Create)
            }
            Kind::Word(word @ (K::Role | K::User | K::Group)) if plain => {
                self.advance();
                self.create_role(word == K::User)
            }
            Kind::Word(K::Type) if plain => self.create_type(),
            Kind::Word(K::Domain) if plain => self.create_domain(),
            Kind::Word(K::Rule) if lasting == Lasting::Permanent => self.create_rule(replace),
            Kind::Word(K::Function | K::Procedure) if lasting == Lasting::Permanent => {
                self.create_function(replace)
            }
            Kind::Word(K::Aggregate) if lasting == Lasting::Permanent => {
                self.create_aggregate(replace)
            }
            Kind::Word(K::Policy) if plain => self.create_policy(),
            Kind::Word(K::Extension) if plain => self.create_extension(),
            Kind::Word(K::Trigger) if lasting == Lasting::Permanent => self.create_trigger(replace),
            Kind::Word(K::Constraint)
                if lasting == Lasting::Permanent && self.ahead(1) == Kind::Word(K::Trigger) =>
            {
                self.create_trigger(replace)
            }
            _ if plain && self.at_any(MADE) => self.other(K::Create),
            _ => Err(self.unexpected()),
        }
    }

    /// TEMPORARY, UNLOGGED and their like.
    fn lasting(&mut self) -> Result<Lasting> {
        use Keyword as K;
        match self.kind() {
            Kind::Word(K::Temporary | K::Temp) => {
                self.advance();
                Ok(Lasting::Temporary)
            }
            Kind::Word(K::Local | K::Global) => {
                self.advance();
                match self.kind() {
                    Kind::Word(K::Temporary | K::Temp) => {
                        self.advance();
                        Ok(Lasting::Temporary)
                    }
                    _ => Err(self.unexpected()),
                }
            }
            Kind::Word(K::Unlogged) => {
                self.advance();
                Ok(Lasting::Unlogged)
            }
            _ => Ok(Lasting::Permanent),
        }
    }

    fn create_database(&mut self) -> Result<Statement> {
        self.advance();
        let name = self.column_name()?;
        let options = self.database_options()?;
        object(Object::CreateDatabase(Database { name, options }))
    }

    fn create_schema(&mut self) -> Result<Statement> {
        use Keyword as K;
        let skip = self.if_not_exists()?;
        let (mut name, mut owner) = (None, None);
        if !self.at_word(K::Authorization) {
            name = Some(self.column_name()?);
        }
        if self.accept_word(K::Authorization) {
            owner = Some(self.role()?);
        }
        let place = self.place();
        let mut elements = Vec::new();
        loop {
            match self.kind() {
                Kind::Word(K::Create) => {
                    let statement = self.create()?;
                    elements.push(statement);
                }
                Kind::Word(K::Grant) => {
                    let statement = self.grant()?;
                    elements.push(statement);
                }
                _ => break,
            }
        }
        if skip && !elements.is_empty() {
            let text = "CREATE SCHEMA IF NOT EXISTS cannot include schema elements";
            return Err(crate::Error::new("0A000", text).at(place));
        }
        object(Object::CreateSchema(CreateSchema { skip, name, owner, elements }))
    }

    /// Options of a database, up to the end.
    fn database_options(&mut self) -> Result<Vec<(Name, Option<OptionValue>)>> {
        use Keyword as K;
        self.accept_with();
        let mut options = Vec::new();
        loop {
            let name: Name = match self.kind() {
                Kind::Name => {
                    let token = self.advance();
                    self.value(token)
                }
                Kind::Word(K::Connection) => {
                    self.advance();
                    self.expect_word(K::Limit)?;
                    "connection_limit".into()
                }
                Kind::Word(
                    word @ (K::Encoding | K::Location | K::Owner | K::Tablespace | K::Template),
                ) => {
                    self.advance();
                    word.word().into()
                }
                _ => return Ok(options),
            };
            self.accept_char('=');
            let value = match self.kind() {
                Kind::Word(K::Default) => {
                    self.advance();
                    None
                }
                Kind::Int(_) | Kind::Char('+' | '-') => {
                    Some(OptionValue::Number(self.signed_int()?.to_string().into()))
                }
                _ => Some(self.flag_or_text()?),
            };
            options.push((name, value));
        }
    }

    /// ALTER.
    pub(super) fn alter(&mut self) -> Result<Statement> {
        use Keyword as K;
        self.advance();
        let next = self.ahead(1);
        match self.kind() {
            Kind::Word(K::Table | K::Index | K::Sequence | K::View | K::Materialized) => {
                self.alter_relation()
            }
            Kind::Word(K::Default) => {
                self.advance();
                self.expect_word(K::Privileges)?;
                self.default_privileges()
            }
            Kind::Word(K::Schema) => {
                self.advance();
                let name = self.column_name()?;
                let change = self.object_change()?;
                object(Object::AlterSchema(name, change))
            }
            Kind::Word(K::Database) => {
                self.advance();
                self.alter_database()
            }
            Kind::Word(K::User) if next == Kind::Word(K::Mapping) => self.other(K::Alter),
            Kind::Word(K::Group) => {
                self.advance();
                self.alter_group()
            }
            Kind::Word(K::Role | K::User) => {
                self.advance();
                self.alter_role()
            }
            Kind::Word(K::Type) => self.alter_type(),
            Kind::Word(K::Domain) => self.alter_domain(),
            Kind::Word(K::Rule) => self.alter_rule(),
            Kind::Word(K::Trigger) => self.alter_trigger(),
            Kind::Word(K::Policy) => self.alter_policy(),
            Kind::Word(K::Extension) => self.alter_extension(),
            _ if self.at_routine() => self.alter_function(),
            _ if self.at_any(ALTERED) => self.other(K::Alter),
            _ => Err(self.unexpected()),
        }
    }

    /// OWNER TO or RENAME TO.
    fn object_change(&mut self) -> Result<ObjectChange> {
        if self.accept_word(Keyword::Owner) {
            self.expect_word(Keyword::To)?;
            return self.role().map(ObjectChange::Owner);
        }
        self.expect_word(Keyword::Rename)?;
        self.expect_word(Keyword::To)?;
        self.column_name().map(ObjectChange::Rename)
    }

    fn alter_database(&mut self) -> Result<Statement> {
        use Keyword as K;
        let name = self.column_name()?;
        let change = match self.kind() {
            Kind::Word(K::Rename) => self.object_change()?,
            Kind::Word(K::Owner) if self.ahead(1) == Kind::Word(K::To) => self.object_change()?,
            Kind::Word(K::Refresh) => {
                self.advance();
                self.expect_word(K::Collation)?;
                self.expect_word(K::Version)?;
                ObjectChange::Other
            }
            Kind::Word(K::Set)
                if self.ahead(1) == Kind::Word(K::Tablespace)
                    && !matches!(self.ahead(2), Kind::Char('=' | '.') | Kind::Word(K::To)) =>
            {
                self.advance();
                self.advance();
                self.column_name()?;
                ObjectChange::Other
            }
            Kind::Word(K::Set | K::Reset) => ObjectChange::Settings(self.set_or_reset()?),
            _ => {
                self.database_options()?;
                ObjectChange::Other
            }
        };
        object(Object::AlterDatabase(name, change))
    }
}
