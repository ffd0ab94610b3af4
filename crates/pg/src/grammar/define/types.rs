//! CREATE and ALTER TYPE and DOMAIN: enums, composite types, domains.

use super::super::keyword::Keyword;
use super::super::parser::Parser;
use super::super::token::Kind;
use super::object;
use crate::Result;
use crate::ast::{
    AlterType, Attribute, AttributeChange, CreateComposite, CreateDomain, CreateEnum, Object, Path,
    Said, Statement, TypeChange,
};

impl Parser<'_> {
    /// CREATE TYPE.
    pub(super) fn create_type(&mut self) -> Result<Statement> {
        use Keyword as K;
        self.advance();
        let name = self.any_name()?;
        match (self.at_word(K::As), self.ahead(1)) {
            (true, Kind::Word(K::Enum)) => {
                self.advance();
                self.create_enum(name)
            }
            (true, Kind::Char('(')) => {
                self.advance();
                self.create_composite(name)
            }
            _ => self.other(K::Create),
        }
    }

    /// Labels, behind AS.
    fn create_enum(&mut self, name: Path) -> Result<Statement> {
        self.advance();
        self.expect_char('(')?;
        let mut labels = Vec::new();
        if !self.at_char(')') {
            labels.push(self.text()?);
            while self.accept_char(',') {
                labels.push(self.text()?);
            }
        }
        self.expect_char(')')?;
        object(Object::CreateEnum(CreateEnum { name, labels }))
    }

    /// Fields, behind AS.
    fn create_composite(&mut self, name: Path) -> Result<Statement> {
        self.expect_char('(')?;
        let mut fields = Vec::new();
        if !self.at_char(')') {
            fields.push(self.attribute(false)?);
            while self.accept_char(',') {
                fields.push(self.attribute(false)?);
            }
        }
        self.expect_char(')')?;
        object(Object::CreateComposite(CreateComposite { name, fields }))
    }

    /// A field; with TYPE before its type where it is altered.
    fn attribute(&mut self, altered: bool) -> Result<Attribute> {
        let name = self.column_name()?;
        if altered {
            self.accept_words(Keyword::Set, Keyword::Data);
            self.expect_word(Keyword::Type)?;
        }
        let ty = self.type_name()?;
        let collation = match self.accept_word(Keyword::Collate) {
            true => Some(self.any_name()?),
            false => None,
        };
        Ok(Attribute { name, ty, collation })
    }

    /// CREATE DOMAIN.
    pub(super) fn create_domain(&mut self) -> Result<Statement> {
        self.advance();
        let name = self.any_name()?;
        self.accept_word(Keyword::As);
        let ty = self.type_name()?;
        let rules = self.column_rules()?;
        object(Object::CreateDomain(CreateDomain { name, ty, rules }))
    }

    /// ALTER TYPE.
    pub(super) fn alter_type(&mut self) -> Result<Statement> {
        use Keyword as K;
        self.advance();
        let name = self.any_name()?;
        let change = match (self.kind(), self.ahead(1)) {
            (Kind::Word(K::Add), Kind::Word(K::Value)) => {
                self.advance();
                self.advance();
                let skip = self.if_not_exists()?;
                let label = self.text()?;
                let beside = match self.kind() {
                    Kind::Word(word @ (K::Before | K::After)) => {
                        self.advance();
                        Some((word == K::Before, self.text()?))
                    }
                    _ => None,
                };
                TypeChange::Add { skip, label, beside }
            }
            (Kind::Word(K::Rename), Kind::Word(K::Value)) => {
                self.advance();
                self.advance();
                let from = self.text()?;
                self.expect_word(K::To)?;
                TypeChange::RenameLabel(from, self.text()?)
            }
            (Kind::Word(K::Rename), Kind::Word(K::Attribute)) => {
                self.advance();
                self.advance();
                let from = self.column_name()?;
                self.expect_word(K::To)?;
                let to = self.column_name()?;
                self.cascade();
                TypeChange::RenameAttribute(from, to)
            }
            (Kind::Word(K::Add | K::Drop | K::Alter), Kind::Word(K::Attribute)) => {
                let mut changes = vec![self.attribute_change()?];
                while self.accept_char(',') {
                    changes.push(self.attribute_change()?);
                }
                TypeChange::Attributes(changes)
            }
            _ => match self.name_change()? {
                Some(change) => change,
                None => return self.other(K::Alter),
            },
        };
        object(Object::AlterType(AlterType { domain: false, name, change }))
    }

    /// ADD, DROP or ALTER ATTRIBUTE.
    fn attribute_change(&mut self) -> Result<AttributeChange> {
        use Keyword as K;
        let Kind::Word(word @ (K::Add | K::Drop | K::Alter)) = self.kind() else {
            return Err(self.unexpected());
        };
        self.advance();
        self.expect_word(K::Attribute)?;
        let change = match word {
            K::Add => AttributeChange::Add(self.attribute(false)?),
            K::Drop => {
                let skip = self.if_exists();
                AttributeChange::Drop(skip, self.column_name()?)
            }
            _ => AttributeChange::Type(self.attribute(true)?),
        };
        self.cascade();
        Ok(change)
    }

    /// RENAME TO, SET SCHEMA, OWNER TO, which all types have.
    fn name_change(&mut self) -> Result<Option<TypeChange>> {
        use Keyword as K;
        if self.accept_words(K::Rename, K::To) {
            return self.column_name().map(|name| Some(TypeChange::Rename(name)));
        }
        if self.accept_words(K::Set, K::Schema) {
            return self.column_name().map(|name| Some(TypeChange::Schema(name)));
        }
        if self.accept_words(K::Owner, K::To) {
            return self.role().map(|role| Some(TypeChange::Owner(role)));
        }
        Ok(None)
    }

    /// ALTER DOMAIN.
    pub(super) fn alter_domain(&mut self) -> Result<Statement> {
        self.advance();
        let name = self.any_name()?;
        let change = match self.name_change()? {
            Some(change) => change,
            None => self.domain_change()?,
        };
        object(Object::AlterType(AlterType { domain: true, name, change }))
    }

    fn domain_change(&mut self) -> Result<TypeChange> {
        use Keyword as K;
        let Kind::Word(word) = self.kind() else { return Err(self.unexpected()) };
        self.advance();
        Ok(match word {
            K::Set if self.accept_word(K::Default) => {
                let (expr, span) = self.spanned(Self::expr)?;
                TypeChange::Default(Some(Said { expr, span }))
            }
            K::Set | K::Drop if self.accept_word(K::Not) => {
                self.expect_word(K::Null)?;
                TypeChange::NotNull(word == K::Set)
            }
            K::Drop if self.accept_word(K::Default) => TypeChange::Default(None),
            K::Drop => {
                self.expect_word(K::Constraint)?;
                let skip = self.if_exists();
                let name = self.column_name()?;
                self.cascade();
                TypeChange::DropConstraint { skip, name }
            }
            K::Add => TypeChange::AddConstraint(Box::new(self.table_constraint()?)),
            K::Rename => {
                self.expect_word(K::Constraint)?;
                let from = self.column_name()?;
                self.expect_word(K::To)?;
                TypeChange::RenameConstraint(from, self.column_name()?)
            }
            K::Validate => {
                self.expect_word(K::Constraint)?;
                TypeChange::Validate(self.column_name()?)
            }
            _ => return Err(self.unexpected_before()),
        })
    }
}
