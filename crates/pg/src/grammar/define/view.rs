//! CREATE VIEW.

use super::super::keyword::Keyword;
use super::super::parser::Parser;
use crate::ast::{Checked, CreateView, Lasting, Statement};
use crate::{Error, Result};

impl Parser<'_> {
    /// CREATE VIEW, behind these words.
    pub(super) fn create_view(&mut self, replace: bool, lasting: Lasting) -> Result<Statement> {
        let place = self.place();
        let name = self.relation_name()?;
        let columns = self.names_if_parens()?;
        let settings = self.with_settings()?;
        self.expect_word(Keyword::As)?;
        let (query, span) = self.spanned(Self::query)?;
        let checked = self.check_option()?.map(|(checked, _)| checked);
        Ok(Statement::CreateView(Box::new(CreateView {
            replace,
            lasting,
            recursive: false,
            name,
            place,
            columns,
            settings,
            query,
            span,
            checked,
        })))
    }

    /// CREATE RECURSIVE VIEW, behind these words.
    pub(super) fn create_recursive_view(
        &mut self,
        replace: bool,
        lasting: Lasting,
    ) -> Result<Statement> {
        let place = self.place();
        let name = self.relation_name()?;
        let columns = self.names_in_parens()?;
        let settings = self.with_settings()?;
        self.expect_word(Keyword::As)?;
        let (query, span) = self.spanned(Self::query)?;
        if let Some((_, place)) = self.check_option()? {
            let text = "WITH CHECK OPTION not supported on recursive views";
            return Err(Error::new("0A000", text).at(place));
        }
        Ok(Statement::CreateView(Box::new(CreateView {
            replace,
            lasting,
            recursive: true,
            name,
            place,
            columns,
            settings,
            query,
            span,
            checked: None,
        })))
    }

    /// WITH CHECK OPTION and where it stands, if it is there.
    fn check_option(&mut self) -> Result<Option<(Checked, u32)>> {
        use Keyword as K;
        let place = self.place();
        if !self.accept_word(K::With) {
            return Ok(None);
        }
        let checked = match self.accept_word(K::Cascaded) || !self.accept_word(K::Local) {
            true => Checked::Cascaded,
            false => Checked::Local,
        };
        self.expect_word(K::Check)?;
        self.expect_word(K::Option)?;
        Ok(Some((checked, place)))
    }
}
