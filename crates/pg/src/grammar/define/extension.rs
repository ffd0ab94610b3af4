//! CREATE, ALTER and DROP EXTENSION.

use super::super::keyword::Keyword;
use super::super::parser::Parser;
use super::super::token::Kind;
use super::object;
use crate::ast::{
    AlterExtension, CreateExtension, DropExtension, ExtensionChange, Name, Object, Statement,
};
use crate::{Error, Result};

impl Parser<'_> {
    /// CREATE EXTENSION, at the second word.
    pub(super) fn create_extension(&mut self) -> Result<Statement> {
        use Keyword as K;
        self.advance();
        let skip = self.if_not_exists()?;
        let name = self.column_name()?;
        self.accept_with();
        let mut made = CreateExtension { skip, name, schema: None, version: None, cascade: false };
        loop {
            let place = self.place();
            let is_new = match self.kind() {
                Kind::Word(K::Schema) => {
                    self.advance();
                    made.schema.replace(self.column_name()?).is_none()
                }
                Kind::Word(K::Version) => {
                    self.advance();
                    made.version.replace(self.version()?).is_none()
                }
                Kind::Word(K::Cascade) => {
                    self.advance();
                    !std::mem::replace(&mut made.cascade, true)
                }
                _ => return object(Object::CreateExtension(made)),
            };
            if !is_new {
                return Err(Error::new("42601", "conflicting or redundant options").at(place));
            }
        }
    }

    /// A version: a name or a text.
    fn version(&mut self) -> Result<Name> {
        match self.kind() {
            Kind::Text => self.text(),
            _ => self.column_name(),
        }
    }

    /// ALTER EXTENSION, at the second word.
    pub(super) fn alter_extension(&mut self) -> Result<Statement> {
        use Keyword as K;
        self.advance();
        let name = self.column_name()?;
        let change = match self.kind() {
            Kind::Word(K::Update) => {
                self.advance();
                let to = self.accept_word(K::To);
                ExtensionChange::Update(if to { Some(self.version()?) } else { None })
            }
            Kind::Word(K::Set) => {
                self.advance();
                self.expect_word(K::Schema)?;
                ExtensionChange::Schema(self.column_name()?)
            }
            Kind::Word(K::Add | K::Drop) => return self.other(K::Alter),
            _ => return Err(self.unexpected()),
        };
        object(Object::AlterExtension(AlterExtension { name, change }))
    }

    /// DROP EXTENSION, at the second word.
    pub(super) fn drop_extension(&mut self) -> Result<Statement> {
        self.advance();
        let skip = self.if_exists();
        let names = self.column_names()?;
        object(Object::DropExtension(DropExtension { skip, names, cascade: self.cascade() }))
    }
}
