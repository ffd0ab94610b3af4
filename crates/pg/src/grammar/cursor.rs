//! Cursors, prepared statements, EXPLAIN.

use super::keyword::Keyword;
use super::parser::Parser;
use super::token::Kind;
use super::utility::utility;
use crate::Result;
use crate::ast::{
    Declare, Execute, Explain, Fetch, Prepare, Said, Setting, Statement, Utility, Way,
};

impl Parser<'_> {
    /// DECLARE.
    pub(super) fn declare(&mut self) -> Result<Statement> {
        use Keyword as K;
        self.advance();
        let name = self.column_name()?;
        let (mut binary, mut scroll, mut insensitive) = (false, None, None);
        loop {
            match self.kind() {
                Kind::Word(K::Binary) => binary = true,
                Kind::Word(K::Scroll) => scroll = Some(true),
                Kind::Word(K::Insensitive) => insensitive = Some(true),
                Kind::Word(K::Asensitive) => insensitive = Some(false),
                Kind::Word(K::No) => {
                    self.advance();
                    if !self.at_word(K::Scroll) {
                        return Err(self.unexpected());
                    }
                    scroll = Some(false);
                }
                _ => break,
            }
            self.advance();
        }
        self.expect_word(K::Cursor)?;
        let hold = self.accept_word(K::With);
        if hold || self.accept_word(K::Without) {
            self.expect_word(K::Hold)?;
        }
        self.expect_word(K::For)?;
        let (query, span) = self.spanned(Self::query)?;
        utility(Utility::Declare(Declare { name, binary, scroll, insensitive, hold, query, span }))
    }

    /// FETCH or MOVE.
    pub(super) fn fetch(&mut self) -> Result<Statement> {
        let moves = self.advance().kind == Kind::Word(Keyword::Move);
        let way = self.way()?;
        if way.is_some() {
            self.pass_from_or_in();
        }
        let way = match way {
            Some(way) => way,
            None => {
                self.pass_from_or_in();
                Way::Forward(1)
            }
        };
        let name = self.column_name()?;
        utility(Utility::Fetch(Fetch { moves, way, name }))
    }

    fn pass_from_or_in(&mut self) {
        if !self.accept_word(Keyword::From) {
            self.accept_word(Keyword::In);
        }
    }

    /// How far, if that is said; a word alone is the cursor's name.
    fn way(&mut self) -> Result<Option<Way>> {
        use Keyword as K;
        if self.at_number() {
            return Ok(Some(Way::Forward(self.signed_int()?.into())));
        }
        let Kind::Word(word) = self.kind() else { return Ok(None) };
        if word == K::All {
            self.advance();
            return Ok(Some(Way::ForwardAll));
        }
        if matches!(self.ahead(1), Kind::End | Kind::Char(';')) {
            return Ok(None);
        }
        let known = [
            K::Next,
            K::Prior,
            K::First,
            K::Last,
            K::Absolute,
            K::Relative,
            K::Forward,
            K::Backward,
        ];
        if !known.contains(&word) {
            return Ok(None);
        }
        self.advance();
        Ok(Some(match word {
            K::Next => Way::Forward(1),
            K::Prior => Way::Backward(1),
            K::First => Way::Absolute(1),
            K::Last => Way::Absolute(-1),
            K::Absolute => Way::Absolute(self.signed_int()?.into()),
            K::Relative => Way::Relative(self.signed_int()?.into()),
            K::Forward if self.accept_word(K::All) => Way::ForwardAll,
            K::Forward if self.at_number() => Way::Forward(self.signed_int()?.into()),
            K::Forward => Way::Forward(1),
            _ if self.accept_word(K::All) => Way::BackwardAll,
            _ if self.at_number() => Way::Backward(self.signed_int()?.into()),
            _ => Way::Backward(1),
        }))
    }

    /// CLOSE.
    pub(super) fn close(&mut self) -> Result<Statement> {
        self.advance();
        let name = match self.accept_word(Keyword::All) {
            true => None,
            false => Some(self.column_name()?),
        };
        utility(Utility::Close(name))
    }

    /// PREPARE, of a statement or of a transaction.
    pub(super) fn prepare(&mut self) -> Result<Statement> {
        use Keyword as K;
        self.advance();
        if self.at_word(K::Transaction) && self.ahead(1) == Kind::Text {
            self.advance();
            let id = self.text()?;
            return utility(Utility::Transaction(crate::ast::Transaction::Prepare(id)));
        }
        let name = self.column_name()?;
        let mut types = Vec::new();
        if self.accept_char('(') {
            types.push(self.type_name()?);
            while self.accept_char(',') {
                types.push(self.type_name()?);
            }
            self.expect_char(')')?;
        }
        self.expect_word(K::As)?;
        let (statement, span) = self.spanned(Self::preparable)?;
        utility(Utility::Prepare(Prepare { name, types, statement, span }))
    }

    /// A query or a statement that changes rows; UPSERT, which is Onlap's own, is read as INSERT.
    pub(super) fn preparable(&mut self) -> Result<Statement> {
        let token = self.token();
        let upsert = token.kind == Kind::Name
            && self.ahead(1) == Kind::Word(Keyword::Into)
            && &*self.value(token) == "upsert";
        if upsert {
            return self.insert(None);
        }
        let with = self.with()?;
        self.changes(with)
    }

    /// EXECUTE.
    pub(super) fn execute(&mut self) -> Result<Statement> {
        self.advance();
        let name = self.column_name()?;
        let mut values = Vec::new();
        if self.accept_char('(') {
            loop {
                let (expr, span) = self.spanned(Self::expr)?;
                values.push(Said { expr, span });
                if !self.accept_char(',') {
                    break;
                }
            }
            self.expect_char(')')?;
        }
        utility(Utility::Execute(Execute { name, values }))
    }

    /// DEALLOCATE.
    pub(super) fn deallocate(&mut self) -> Result<Statement> {
        use Keyword as K;
        self.advance();
        // The word may be the name.
        if self.at_word(K::Prepare) && !matches!(self.ahead(1), Kind::End | Kind::Char(';')) {
            self.advance();
        }
        let name = match self.accept_word(K::All) {
            true => None,
            false => Some(self.column_name()?),
        };
        utility(Utility::Deallocate(name))
    }

    /// EXPLAIN.
    pub(super) fn explain(&mut self) -> Result<Statement> {
        use Keyword as K;
        self.advance();
        let mut options: Vec<Setting> = Vec::new();
        if self.at_char('(') && !self.query_in_parens_ahead() {
            options = self.utility_options()?;
        } else {
            let option = self.plain_option("analyze");
            if self.accept_word(K::Analyze) || self.accept_word(K::Analyse) {
                options.push(option);
            }
            let option = self.plain_option("verbose");
            if self.accept_word(K::Verbose) {
                options.push(option);
            }
        }
        let (statement, span) = self.spanned(Self::explainable)?;
        utility(Utility::Explain(Explain { options, statement, span }))
    }

    /// Whether the parentheses ahead hold a query.
    fn query_in_parens_ahead(&self) -> bool {
        use Keyword as K;
        match self.ahead(1) {
            Kind::Char('(') | Kind::WithBefore => true,
            Kind::Word(K::Select | K::Table | K::With) => true,
            Kind::Word(K::Values) => self.ahead(2) == Kind::Char('('),
            _ => false,
        }
    }

    fn explainable(&mut self) -> Result<Statement> {
        use Keyword as K;
        match self.kind() {
            Kind::Word(K::Declare) => self.declare(),
            Kind::Word(K::Execute) => self.execute(),
            Kind::Word(K::Refresh) => {
                self.refresh()?;
                Ok(Statement::Other("refresh".into()))
            }
            Kind::Word(K::Create) => {
                let token = self.token();
                let makes_rows = matches!(
                    self.ahead(1),
                    Kind::Word(
                        K::Table
                            | K::Temp
                            | K::Temporary
                            | K::Local
                            | K::Global
                            | K::Unlogged
                            | K::Materialized
                    )
                );
                if !makes_rows {
                    self.advance();
                    return Err(self.unexpected());
                }
                match self.create()? {
                    made @ Statement::CreateTableAs(_) => Ok(made),
                    _ => Err(self.unexpected_at(token)),
                }
            }
            _ => self.preparable(),
        }
    }
}
