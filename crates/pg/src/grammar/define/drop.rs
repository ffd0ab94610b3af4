//! DROP, TRUNCATE and COMMENT.

use super::super::keyword::Keyword;
use super::super::parser::Parser;
use super::super::token::Kind;
use super::object;
use crate::Result;
use crate::ast::{CommentOn, Drop, DropKind, Object, Path, Statement, Utility};

/// What DROP may drop that is not read here.
const DROPPED: &[Keyword] = &[
    Keyword::Access,
    Keyword::Cast,
    Keyword::Collation,
    Keyword::Conversion,
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
];

/// What COMMENT may be on that is not read here.
const COMMENTED: &[Keyword] = &[
    Keyword::Access,
    Keyword::Cast,
    Keyword::Collation,
    Keyword::Conversion,
    Keyword::Domain,
    Keyword::Event,
    Keyword::Foreign,
    Keyword::Language,
    Keyword::Large,
    Keyword::Operator,
    Keyword::Procedural,
    Keyword::Publication,
    Keyword::Rule,
    Keyword::Server,
    Keyword::Statistics,
    Keyword::Subscription,
    Keyword::Tablespace,
    Keyword::Text,
    Keyword::Transform,
    Keyword::Type,
];

impl Parser<'_> {
    /// DROP.
    pub(in super::super) fn drop(&mut self) -> Result<Statement> {
        use Keyword as K;
        self.advance();
        let kind = match self.kind() {
            Kind::Word(K::Table) => DropKind::Table,
            Kind::Word(K::Index) => DropKind::Index,
            Kind::Word(K::View) => DropKind::View,
            Kind::Word(K::Sequence) => DropKind::Sequence,
            Kind::Word(K::Schema) => DropKind::Schema,
            Kind::Word(K::Type) => DropKind::Type,
            Kind::Word(K::Domain) => DropKind::Domain,
            Kind::Word(K::Materialized) => {
                self.advance();
                if !self.at_word(K::View) {
                    return Err(self.unexpected());
                }
                DropKind::MaterializedView
            }
            Kind::Word(K::User) if self.ahead(1) == Kind::Word(K::Mapping) => {
                return self.other(K::Drop);
            }
            Kind::Word(K::Role | K::User | K::Group) => {
                self.advance();
                let skip = self.if_exists();
                return object(Object::DropRole(self.roles()?, skip));
            }
            Kind::Word(K::Database) => {
                self.advance();
                return self.drop_database();
            }
            Kind::Word(K::Rule) => return self.drop_rule(),
            Kind::Word(K::Trigger) => return self.drop_trigger(),
            Kind::Word(K::Policy) => return self.drop_policy(),
            Kind::Word(K::Extension) => return self.drop_extension(),
            _ if self.at_routine() => return self.drop_function(),
            Kind::Word(K::Owned) => {
                self.advance();
                self.expect_word(K::By)?;
                let roles = self.roles()?;
                return object(Object::DropOwned(roles, self.cascade()));
            }
            _ if self.at_any(DROPPED) => return self.other(K::Drop),
            _ => return Err(self.unexpected()),
        };
        self.advance();
        let concurrently = kind == DropKind::Index && self.accept_word(K::Concurrently);
        let skip = self.if_exists();
        let names: Vec<Path> = match kind {
            DropKind::Schema => {
                self.column_names()?.into_iter().map(|name| [name].into()).collect()
            }
            _ => self.any_names()?,
        };
        let cascade = self.cascade();
        object(Object::Drop(Drop { kind, concurrently, skip, names, cascade }))
    }

    fn drop_database(&mut self) -> Result<Statement> {
        use Keyword as K;
        let skip = self.if_exists();
        let name = self.column_name()?;
        let with = self.accept_word(K::With);
        if with || self.at_char('(') {
            self.expect_char('(')?;
            loop {
                self.expect_word(K::Force)?;
                if !self.accept_char(',') {
                    break;
                }
            }
            self.expect_char(')')?;
        }
        object(Object::DropDatabase(name, skip))
    }

    /// TRUNCATE.
    pub(in super::super) fn truncate(&mut self) -> Result<Statement> {
        use Keyword as K;
        self.advance();
        self.accept_word(K::Table);
        let tables = self.relations()?;
        let mut restart = false;
        if self.at_word(K::Restart) || self.at_word(K::Continue) {
            restart = self.advance().kind == Kind::Word(K::Restart);
            self.expect_word(K::Identity)?;
        }
        let cascade = self.cascade();
        Ok(Statement::Utility(Box::new(Utility::Truncate(tables, restart, cascade))))
    }

    /// Tables, `*` or ONLY with each.
    pub(in super::super) fn relations(&mut self) -> Result<Vec<crate::ast::Relation>> {
        let mut tables = vec![self.relation()?];
        while self.accept_char(',') {
            tables.push(self.relation()?);
        }
        Ok(tables)
    }

    /// COMMENT.
    pub(in super::super) fn comment(&mut self) -> Result<Statement> {
        use Keyword as K;
        self.advance();
        self.expect_word(K::On)?;
        let Kind::Word(word) = self.kind() else { return Err(self.unexpected()) };
        if COMMENTED.contains(&word) {
            return self.other(K::Comment);
        }
        if self.at_routine() {
            let on = self.commented_routine()?;
            return self.comment_is(on);
        }
        self.advance();
        let on = match word {
            K::Table | K::View | K::Index | K::Sequence => {
                CommentOn::Relation(word.word(), self.any_name()?)
            }
            K::Materialized => {
                self.expect_word(K::View)?;
                CommentOn::Relation("materialized view", self.any_name()?)
            }
            K::Column => CommentOn::Column(self.any_name()?),
            K::Constraint => {
                let name = self.column_name()?;
                self.expect_word(K::On)?;
                if self.at_word(K::Domain) && Parser::is_column_name(self.ahead(1)) {
                    return self.other(K::Comment);
                }
                CommentOn::Constraint(name, self.any_name()?)
            }
            K::Trigger => {
                let name = self.column_name()?;
                self.expect_word(K::On)?;
                CommentOn::Trigger(name, self.any_name()?)
            }
            K::Policy => {
                let name = self.column_name()?;
                self.expect_word(K::On)?;
                CommentOn::Policy(name, self.any_name()?)
            }
            K::Schema => CommentOn::Schema(self.column_name()?),
            K::Database => CommentOn::Database(self.column_name()?),
            K::Role => CommentOn::Role(self.column_name()?),
            K::Extension => CommentOn::Extension(self.column_name()?),
            _ => return Err(self.unexpected_before()),
        };
        self.comment_is(on)
    }

    /// What a comment says, from IS on.
    fn comment_is(&mut self, on: CommentOn) -> Result<Statement> {
        self.expect_word(Keyword::Is)?;
        let text = match self.accept_word(Keyword::Null) {
            true => None,
            false => Some(self.text()?),
        };
        object(Object::Comment(on, text))
    }
}
