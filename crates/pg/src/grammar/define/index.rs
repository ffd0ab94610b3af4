//! CREATE INDEX.

use super::super::keyword::Keyword;
use super::super::parser::Parser;
use super::super::token::Kind;
use crate::Result;
use crate::ast::{CreateIndex, IndexElement, Statement};

impl Parser<'_> {
    /// CREATE INDEX, behind CREATE.
    pub(super) fn create_index(&mut self) -> Result<Statement> {
        use Keyword as K;
        let unique = self.accept_word(K::Unique);
        self.expect_word(K::Index)?;
        let concurrently = self.accept_word(K::Concurrently);
        let skip = self.if_not_exists()?;
        let name = match skip || !self.at_word(K::On) {
            true => Some(self.column_name()?),
            false => None,
        };
        self.expect_word(K::On)?;
        let table = self.relation()?;
        let method = match self.accept_word(K::Using) {
            true => Some(self.column_name()?),
            false => None,
        };
        let elements = self.index_elements()?;
        let include = match self.accept_word(K::Include) {
            true => self.index_elements()?,
            false => Vec::new(),
        };
        let nulls_not_distinct = self.nulls_not_distinct()?;
        let settings = self.with_settings()?;
        let tablespace = match self.accept_word(K::Tablespace) {
            true => Some(self.column_name()?),
            false => None,
        };
        let filter = match self.accept_word(K::Where) {
            true => Some(self.expr()?),
            false => None,
        };
        let invisible = self.accept_name("invisible");
        Ok(Statement::CreateIndex(Box::new(CreateIndex {
            unique,
            concurrently,
            skip,
            name,
            table,
            method,
            elements,
            include,
            nulls_not_distinct,
            settings,
            tablespace,
            filter,
            invisible,
        })))
    }

    /// Passes a word that is none of PostgreSQL's grammar.
    pub(super) fn accept_name(&mut self, name: &str) -> bool {
        let token = self.token();
        let is = token.kind == Kind::Name && *self.value(token) == *name;
        if is {
            self.advance();
        }
        is
    }

    fn index_elements(&mut self) -> Result<Vec<IndexElement>> {
        self.expect_char('(')?;
        let mut elements = vec![self.index_element()?];
        while self.accept_char(',') {
            elements.push(self.index_element()?);
        }
        self.expect_char(')')?;
        Ok(elements)
    }
}
