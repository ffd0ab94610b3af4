//! INSERT, UPDATE, DELETE, MERGE, and WITH, which may hold them.

use super::keyword::Keyword;
use super::parser::Parser;
use super::token::Kind;
use crate::Result;
use crate::ast::{
    Alias, Assigned, Column, Conflict, ConflictAction, ConflictTarget, Cte, CteBody, Cycle, Delete,
    Expr, ExprId, IndexElement, Insert, Merge, MergeAction, MergeWhen, Name, OpName, Overriding,
    Relation, Search, Setting, Statement, Target, Update, With,
};

impl Parser<'_> {
    /// WITH, if it is there.
    pub(super) fn with(&mut self) -> Result<Option<With>> {
        let place = self.place();
        if !self.accept(Kind::WithBefore) && !self.accept_word(Keyword::With) {
            return Ok(None);
        }
        // The word may be the name of what follows.
        let recursive = self.at_word(Keyword::Recursive)
            && !matches!(self.ahead(1), Kind::Char('(') | Kind::Word(Keyword::As));
        if recursive {
            self.advance();
        }
        let mut ctes = vec![self.cte()?];
        while self.accept_char(',') {
            ctes.push(self.cte()?);
        }
        Ok(Some(With { recursive, ctes, place }))
    }

    fn cte(&mut self) -> Result<Cte> {
        use Keyword as K;
        let place = self.place();
        let name = self.column_name()?;
        let columns = match self.at_char('(') {
            true => self.names_in_parens()?,
            false => Vec::new(),
        };
        self.expect_word(K::As)?;
        let materialized = if self.accept_word(K::Materialized) {
            Some(true)
        } else if self.accept_word(K::Not) {
            self.expect_word(K::Materialized)?;
            Some(false)
        } else {
            None
        };
        self.expect_char('(')?;
        let body = self.deeper(Self::cte_body)?;
        self.expect_char(')')?;
        let search = self.search()?;
        let cycle = self.cycle()?;
        Ok(Cte { name, columns, materialized, body, search, cycle, place })
    }

    fn cte_body(&mut self) -> Result<CteBody> {
        let with = self.with()?;
        match self.changes(with)? {
            Statement::Query(query) => Ok(CteBody::Query(query)),
            statement => Ok(CteBody::Statement(Box::new(statement))),
        }
    }

    /// A query or a statement that changes rows, behind its WITH.
    pub(super) fn changes(&mut self, with: Option<With>) -> Result<Statement> {
        use Keyword as K;
        match self.kind() {
            Kind::Word(K::Insert) => self.insert(with),
            Kind::Word(K::Update) => self.update(with),
            Kind::Word(K::Delete) => self.delete(with),
            Kind::Word(K::Merge) => self.merge(with),
            _ => self.query_with(with).map(Statement::Query),
        }
    }

    fn search(&mut self) -> Result<Option<Search>> {
        use Keyword as K;
        let place = self.place();
        if !self.accept_word(K::Search) {
            return Ok(None);
        }
        let breadth = self.accept_word(K::Breadth);
        if !breadth {
            self.expect_word(K::Depth)?;
        }
        self.expect_word(K::First)?;
        self.expect_word(K::By)?;
        let by = self.column_names()?;
        self.expect_word(K::Set)?;
        Ok(Some(Search { breadth, by, set: self.column_name()?, place }))
    }

    fn cycle(&mut self) -> Result<Option<Cycle>> {
        use Keyword as K;
        let place = self.place();
        if !self.accept_word(K::Cycle) {
            return Ok(None);
        }
        let columns = self.column_names()?;
        self.expect_word(K::Set)?;
        let mark = self.column_name()?;
        let values = match self.accept_word(K::To) {
            true => {
                let to = self.constant()?;
                self.expect_word(K::Default)?;
                Some((to, self.constant()?))
            }
            false => None,
        };
        self.expect_word(K::Using)?;
        Ok(Some(Cycle { columns, mark, values, path: self.column_name()?, place }))
    }

    /// A literal, perhaps with its type.
    fn constant(&mut self) -> Result<ExprId> {
        let expr = self.primary(false)?;
        let is_constant = match self.tree.expr(expr) {
            Expr::Literal(_) => true,
            Expr::Cast(inner, _) => matches!(self.tree.expr(*inner), Expr::Literal(_)),
            _ => false,
        };
        if is_constant { Ok(expr) } else { Err(self.unexpected()) }
    }

    /// The table that a statement changes, with the name that it goes by.
    fn changed_table(&mut self) -> Result<Relation> {
        let mut relation = self.relation()?;
        let named = match self.accept_word(Keyword::As) {
            true => true,
            // `update t set …`: the word begins the clause.
            false => Parser::is_column_name(self.kind()) && !self.at_word(Keyword::Set),
        };
        if named {
            let name = self.column_name()?;
            relation.alias = Some(Alias { name, columns: Vec::new() });
        }
        Ok(relation)
    }

    pub(super) fn insert(&mut self, with: Option<With>) -> Result<Statement> {
        use Keyword as K;
        self.advance();
        self.expect_word(K::Into)?;
        let place = self.place();
        let name = self.relation_name()?;
        let alias = match self.accept_word(K::As) {
            true => Some(Alias { name: self.column_name()?, columns: Vec::new() }),
            false => None,
        };
        let into = Relation { name, only: false, alias, place };
        let mut columns = Vec::new();
        let (mut overriding, mut source) = (None, None);
        if self.at_word(K::Default) {
            self.advance();
            self.expect_word(K::Values)?;
        } else {
            if self.at_char('(') && !self.is_query_in_parens() {
                columns = self.insert_columns()?;
            }
            overriding = self.overriding()?;
            source = Some(self.query()?);
        }
        let conflict = self.conflict()?;
        let returning = self.returning()?;
        let insert = Insert { with, into, columns, overriding, source, conflict, returning };
        Ok(Statement::Insert(Box::new(insert)))
    }

    /// Whether the parentheses ahead hold a query.
    fn is_query_in_parens(&self) -> bool {
        match self.ahead(1) {
            Kind::Char('(') | Kind::WithBefore => true,
            Kind::Word(Keyword::Select | Keyword::Table | Keyword::With) => true,
            Kind::Word(Keyword::Values) => self.ahead(2) == Kind::Char('('),
            _ => false,
        }
    }

    fn insert_columns(&mut self) -> Result<Vec<Column>> {
        self.expect_char('(')?;
        let columns = self.written_columns()?;
        self.expect_char(')')?;
        Ok(columns)
    }

    fn written_columns(&mut self) -> Result<Vec<Column>> {
        let mut columns = vec![self.written_column()?];
        while self.accept_char(',') {
            columns.push(self.written_column()?);
        }
        Ok(columns)
    }

    fn written_column(&mut self) -> Result<Column> {
        let place = self.place();
        let name = self.column_name()?;
        let steps = self.checked_steps()?.into();
        Ok(Column { name, steps, place })
    }

    fn overriding(&mut self) -> Result<Option<Overriding>> {
        if !self.accept_word(Keyword::Overriding) {
            return Ok(None);
        }
        let kind = match self.accept_word(Keyword::User) {
            true => Overriding::User,
            false => {
                self.expect_word(Keyword::System)?;
                Overriding::System
            }
        };
        self.expect_word(Keyword::Value)?;
        Ok(Some(kind))
    }

    fn conflict(&mut self) -> Result<Option<Conflict>> {
        use Keyword as K;
        let place = self.place();
        if !self.accept_word(K::On) {
            return Ok(None);
        }
        self.expect_word(K::Conflict)?;
        let target_place = self.place();
        let target = if self.accept_char('(') {
            let mut elements = vec![self.index_element()?];
            while self.accept_char(',') {
                elements.push(self.index_element()?);
            }
            self.expect_char(')')?;
            Some(ConflictTarget::Index(elements, self.filter()?))
        } else if self.accept_word(K::On) {
            self.expect_word(K::Constraint)?;
            Some(ConflictTarget::Constraint(self.column_name()?))
        } else {
            None
        };
        self.expect_word(K::Do)?;
        if self.accept_word(K::Nothing) {
            let action = ConflictAction::Nothing;
            return Ok(Some(Conflict { target, target_place, action, place }));
        }
        self.expect_word(K::Update)?;
        self.expect_word(K::Set)?;
        let set = self.assignments()?;
        let action = ConflictAction::Update(set, self.filter()?);
        Ok(Some(Conflict { target, target_place, action, place }))
    }

    /// WHERE, if it is there.
    pub(super) fn filter(&mut self) -> Result<Option<ExprId>> {
        match self.accept_word(Keyword::Where) {
            true => self.expr().map(Some),
            false => Ok(None),
        }
    }

    /// WHERE, or WHERE CURRENT OF a cursor.
    fn filter_or_cursor(&mut self) -> Result<Option<ExprId>> {
        use Keyword as K;
        let cursor = self.at_word(K::Where)
            && self.ahead(1) == Kind::Word(K::Current)
            && self.ahead(2) == Kind::Word(K::Of);
        if !cursor {
            return self.filter();
        }
        self.advance();
        let place = self.advance().start;
        self.advance();
        let name = self.column_name()?;
        Ok(Some(self.add(Expr::CurrentOf(name), place)))
    }

    /// A column or expression of an index.
    pub(super) fn index_element(&mut self) -> Result<IndexElement> {
        let (mut column, mut value) = (None, None);
        if self.accept_char('(') {
            value = Some(self.expr()?);
            self.expect_char(')')?;
        } else if Parser::is_column_name(self.kind())
            && !matches!(self.ahead(1), Kind::Char('(' | '.'))
        {
            column = Some(self.column_name()?);
        } else {
            value = Some(self.windowless_call()?);
        }
        let collation = match self.accept_word(Keyword::Collate) {
            true => Some(self.any_name()?),
            false => None,
        };
        let mut class = None;
        let mut class_options = Vec::new();
        if Parser::is_column_name(self.kind()) {
            class = Some(self.any_name()?);
            if self.at_char('(') {
                class_options = self.class_options()?;
            }
        }
        let order = self.direction();
        let nulls_first = self.nulls_order()?;
        Ok(IndexElement { column, value, collation, class, class_options, order, nulls_first })
    }

    /// `(a = b, c)`
    fn class_options(&mut self) -> Result<Vec<(OpName, Option<Name>)>> {
        let settings = self.settings()?;
        let option = |setting: Setting| {
            let name = OpName { schema: setting.space.into_iter().collect(), name: setting.name };
            (name, setting.value.map(|value| value.text().into()))
        };
        Ok(settings.into_iter().map(option).collect())
    }

    fn assignments(&mut self) -> Result<Vec<Assigned>> {
        let mut all = vec![self.assignment()?];
        while self.accept_char(',') {
            all.push(self.assignment()?);
        }
        Ok(all)
    }

    fn assignment(&mut self) -> Result<Assigned> {
        if self.at_char('(') {
            let columns = self.insert_columns()?;
            self.expect_char('=')?;
            return Ok(Assigned::Row(columns, self.expr()?));
        }
        let column = self.written_column()?;
        self.expect_char('=')?;
        Ok(Assigned::One(column, self.expr()?))
    }

    fn returning(&mut self) -> Result<Vec<Target>> {
        match self.accept_word(Keyword::Returning) {
            true => self.targets(),
            false => Ok(Vec::new()),
        }
    }

    fn update(&mut self, with: Option<With>) -> Result<Statement> {
        self.advance();
        let table = self.changed_table()?;
        self.expect_word(Keyword::Set)?;
        let set = self.assignments()?;
        let from = match self.accept_word(Keyword::From) {
            true => self.froms()?,
            false => Vec::new(),
        };
        let filter = self.filter_or_cursor()?;
        let returning = self.returning()?;
        Ok(Statement::Update(Box::new(Update { with, table, set, from, filter, returning })))
    }

    fn delete(&mut self, with: Option<With>) -> Result<Statement> {
        self.advance();
        self.expect_word(Keyword::From)?;
        let table = self.changed_table()?;
        let using = match self.accept_word(Keyword::Using) {
            true => self.froms()?,
            false => Vec::new(),
        };
        let filter = self.filter_or_cursor()?;
        let returning = self.returning()?;
        Ok(Statement::Delete(Box::new(Delete { with, table, using, filter, returning })))
    }

    fn merge(&mut self, with: Option<With>) -> Result<Statement> {
        use Keyword as K;
        self.advance();
        self.expect_word(K::Into)?;
        let into = self.changed_table()?;
        self.expect_word(K::Using)?;
        let source = self.joined_item()?;
        self.expect_word(K::On)?;
        let on = self.expr()?;
        let mut when = Vec::new();
        self.expect_word(K::When)?;
        loop {
            when.push(self.merge_when()?);
            if !self.accept_word(K::When) {
                break;
            }
        }
        Ok(Statement::Merge(Box::new(Merge { with, into, source, on, when })))
    }

    fn merge_when(&mut self) -> Result<MergeWhen> {
        use Keyword as K;
        let matched = !self.accept_word(K::Not);
        self.expect_word(K::Matched)?;
        let condition = match self.accept_word(K::And) {
            true => Some(self.expr()?),
            false => None,
        };
        self.expect_word(K::Then)?;
        let action = match self.kind() {
            Kind::Word(K::Do) => {
                self.advance();
                self.expect_word(K::Nothing)?;
                MergeAction::Nothing
            }
            Kind::Word(K::Delete) if matched => {
                self.advance();
                MergeAction::Delete
            }
            Kind::Word(K::Update) if matched => {
                self.advance();
                self.expect_word(K::Set)?;
                MergeAction::Update(self.assignments()?)
            }
            Kind::Word(K::Insert) if !matched => {
                self.advance();
                self.merge_insert()?
            }
            _ => return Err(self.unexpected()),
        };
        Ok(MergeWhen { matched, condition, action })
    }

    fn merge_insert(&mut self) -> Result<MergeAction> {
        use Keyword as K;
        if self.accept_word(K::Default) {
            self.expect_word(K::Values)?;
            return Ok(MergeAction::Insert(Vec::new(), None, None));
        }
        let columns = match self.at_char('(') {
            true => self.insert_columns()?,
            false => Vec::new(),
        };
        let overriding = self.overriding()?;
        self.expect_word(K::Values)?;
        let values = self.exprs_in_parens()?;
        Ok(MergeAction::Insert(columns, overriding, Some(values)))
    }
}
