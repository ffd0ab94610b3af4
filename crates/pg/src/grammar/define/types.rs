//! CREATE and ALTER TYPE, as far as they are about enums.

use super::super::keyword::Keyword;
use super::super::parser::Parser;
use super::super::token::Kind;
use super::object;
use crate::Result;
use crate::ast::{AlterEnum, CreateEnum, EnumChange, Object, Statement};

impl Parser<'_> {
    /// CREATE TYPE.
    pub(super) fn create_type(&mut self) -> Result<Statement> {
        use Keyword as K;
        self.advance();
        let name = self.any_name()?;
        if !(self.at_word(K::As) && self.ahead(1) == Kind::Word(K::Enum)) {
            return self.other(K::Create);
        }
        self.advance();
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
                EnumChange::Add { skip, label, beside }
            }
            (Kind::Word(K::Rename), Kind::Word(K::Value)) => {
                self.advance();
                self.advance();
                let from = self.text()?;
                self.expect_word(K::To)?;
                EnumChange::RenameLabel(from, self.text()?)
            }
            (Kind::Word(K::Rename), Kind::Word(K::To)) => {
                self.advance();
                self.advance();
                EnumChange::Rename(self.column_name()?)
            }
            (Kind::Word(K::Set), Kind::Word(K::Schema)) => {
                self.advance();
                self.advance();
                EnumChange::Schema(self.column_name()?)
            }
            (Kind::Word(K::Owner), Kind::Word(K::To)) => {
                self.advance();
                self.advance();
                EnumChange::Owner(self.role()?)
            }
            _ => return self.other(K::Alter),
        };
        object(Object::AlterEnum(AlterEnum { name, change }))
    }
}
