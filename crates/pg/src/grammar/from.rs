//! FROM: tables, calls, queries and joins.

use super::keyword::Keyword;
use super::parser::Parser;
use super::query::goes_on_as_query;
use super::token::Kind;
use crate::Result;
use crate::ast::{
    Alias, ColumnDef, From, FromId, FunctionItem, Join, JoinKind, Name, On, Path, QueryId,
    Relation, Sample, Using,
};

/// A name for an item of FROM, with names or definitions of its columns.
#[derive(Default)]
struct Named {
    alias: Option<Alias>,
    columns: Vec<ColumnDef>,
}

/// What parentheses in FROM are around.
enum Around {
    Query(QueryId),
    Join(FromId),
}

impl Parser<'_> {
    /// Items of FROM with commas between them.
    pub(super) fn froms(&mut self) -> Result<Vec<FromId>> {
        let mut items = vec![self.joined_item()?];
        while self.accept_char(',') {
            items.push(self.joined_item()?);
        }
        Ok(items)
    }

    /// An item of FROM with what is joined to it.
    pub(super) fn joined_item(&mut self) -> Result<FromId> {
        self.deeper(|p| {
            let first = p.item_alone()?;
            p.joins(first)
        })
    }

    /// What is joined to an item: all of it, or up to the ON or USING that belongs to a join outside.
    fn joins(&mut self, mut left: FromId) -> Result<FromId> {
        use Keyword as K;
        loop {
            let Kind::Word(word) = self.kind() else { return Ok(left) };
            let (kind, right, on) = match word {
                K::Cross => {
                    self.advance();
                    self.expect_word(K::Join)?;
                    (JoinKind::Inner, self.item_alone()?, On::Cross)
                }
                K::Natural => {
                    self.advance();
                    let kind = self.join_kind()?;
                    (kind, self.item_alone()?, On::Natural)
                }
                K::Join | K::Inner | K::Left | K::Right | K::Full => {
                    let kind = self.join_kind()?;
                    let right = self.deeper(|p| {
                        let first = p.item_alone()?;
                        p.joins(first)
                    })?;
                    (kind, right, self.join_condition()?)
                }
                _ => return Ok(left),
            };
            let join = Join { kind, left, right, on, alias: None };
            left = self.tree.add_from(From::Join(Box::new(join)));
        }
    }

    /// LEFT OUTER JOIN and its like.
    fn join_kind(&mut self) -> Result<JoinKind> {
        use Keyword as K;
        let kind = match self.kind() {
            Kind::Word(K::Left) => JoinKind::Left,
            Kind::Word(K::Right) => JoinKind::Right,
            Kind::Word(K::Full) => JoinKind::Full,
            Kind::Word(K::Inner) => {
                self.advance();
                self.expect_word(K::Join)?;
                return Ok(JoinKind::Inner);
            }
            _ => {
                self.expect_word(K::Join)?;
                return Ok(JoinKind::Inner);
            }
        };
        self.advance();
        self.accept_word(K::Outer);
        self.expect_word(K::Join)?;
        Ok(kind)
    }

    fn join_condition(&mut self) -> Result<On> {
        if self.accept_word(Keyword::On) {
            return Ok(On::Condition(self.expr()?));
        }
        self.expect_word(Keyword::Using)?;
        let columns = self.names_in_parens()?;
        let alias = match self.accept_word(Keyword::As) {
            true => Some(self.column_name()?),
            false => None,
        };
        Ok(On::Using(Using { columns, alias }))
    }

    /// An item of FROM without joins, but for those in parentheses.
    fn item_alone(&mut self) -> Result<FromId> {
        use Keyword as K;
        let lateral = self.accept_word(K::Lateral);
        match self.kind() {
            Kind::Char('(') if lateral => {
                let place = self.place();
                let query = self.query_in_parens()?;
                self.derived(query, true, place)
            }
            Kind::Char('(') => {
                let place = self.place();
                match self.item_in_parens()? {
                    Around::Query(query) => self.derived(query, false, place),
                    Around::Join(join) => self.named_join(join),
                }
            }
            Kind::Word(K::Rows) if self.ahead(1) == Kind::Word(K::From) => {
                self.advance();
                self.advance();
                self.rows_from(lateral)
            }
            Kind::Word(K::Xmltable) if self.ahead(1) == Kind::Char('(') => Err(self.no_xml()),
            Kind::Word(K::Only) if !lateral => self.table(),
            Kind::Word(word) => {
                let place = self.place();
                match self.special(word)? {
                    Some(call) => {
                        let calls = vec![FunctionItem { call, columns: Vec::new() }];
                        self.functions(lateral, false, calls)
                    }
                    None => self.table_or_call(lateral, place),
                }
            }
            _ => {
                let place = self.place();
                self.table_or_call(lateral, place)
            }
        }
    }

    /// A table, or a call of a function.
    fn table_or_call(&mut self, lateral: bool, place: u32) -> Result<FromId> {
        // A word that no table is called by, or LATERAL before it.
        let must_be_call = lateral || !Parser::is_column_name(self.kind());
        let is_call_name = Parser::is_call_name(self.kind());
        let name: Path = if is_call_name && self.ahead(1) == Kind::Char('(') {
            [self.call_name()?].into()
        } else if !Parser::is_column_name(self.kind()) && is_call_name {
            self.advance();
            return Err(self.unexpected());
        } else {
            self.qualified_name()?
        };
        let is_call = self.at_char('(') && (name.len() > 1 || is_call_name);
        if is_call {
            let call = self.call(name, place, false)?;
            let calls = vec![FunctionItem { call, columns: Vec::new() }];
            return self.functions(lateral, false, calls);
        }
        if must_be_call || self.at_char('(') {
            return Err(self.unexpected());
        }
        let name = self.checked_relation(name, place)?;
        self.accept_char('*');
        self.table_behind(Relation { name, only: false, alias: None, place })
    }

    fn table(&mut self) -> Result<FromId> {
        let relation = self.relation()?;
        self.table_behind(relation)
    }

    /// A table, `*` or ONLY with it.
    pub(super) fn relation(&mut self) -> Result<Relation> {
        let mut place = self.place();
        let only = self.accept_word(Keyword::Only);
        let parens = only && self.accept_char('(');
        if only {
            place = self.place();
        }
        let name = self.relation_name()?;
        if parens {
            self.expect_char(')')?;
        } else if !only {
            self.accept_char('*');
        }
        Ok(Relation { name, only, alias: None, place })
    }

    fn table_behind(&mut self, mut relation: Relation) -> Result<FromId> {
        relation.alias = self.alias()?;
        if !self.accept_word(Keyword::Tablesample) {
            return Ok(self.tree.add_from(From::Relation(relation)));
        }
        let place = self.place();
        let method = self.function_name()?;
        let args = self.exprs_in_parens()?;
        let mut repeatable = None;
        if self.accept_word(Keyword::Repeatable) {
            self.expect_char('(')?;
            repeatable = Some(self.expr()?);
            self.expect_char(')')?;
        }
        Ok(self.tree.add_from(From::Sample(relation, Sample { method, args, repeatable, place })))
    }

    /// A name, and names of columns, if they are there.
    fn alias(&mut self) -> Result<Option<Alias>> {
        if !self.accept_word(Keyword::As) && !Parser::is_column_name(self.kind()) {
            return Ok(None);
        }
        let name = self.column_name()?;
        let columns = match self.at_char('(') {
            true => self.names_in_parens()?,
            false => Vec::new(),
        };
        Ok(Some(Alias { name, columns }))
    }

    fn derived(&mut self, query: QueryId, lateral: bool, place: u32) -> Result<FromId> {
        let Some(alias) = self.alias()? else {
            let values = matches!(self.tree.query(query).body, crate::ast::Body::Values(_));
            let (what, example) = match values {
                true => ("VALUES", "VALUES ..."),
                false => ("subquery", "SELECT ..."),
            };
            return Err(self
                .refuse(format!("{what} in FROM must have an alias"), place)
                .hint(format!("For example, FROM ({example}) [AS] foo.")));
        };
        Ok(self.tree.add_from(From::Query { lateral, query, alias }))
    }

    fn named_join(&mut self, join: FromId) -> Result<FromId> {
        let Some(alias) = self.alias()? else { return Ok(join) };
        if let From::Join(join) = self.tree.item_mut(join) {
            join.alias = Some(alias);
        }
        Ok(join)
    }

    /// `(…)`: a query, or a join.
    fn item_in_parens(&mut self) -> Result<Around> {
        self.deeper(|p| {
            p.expect_char('(')?;
            if p.begins_query() {
                let query = p.query()?;
                p.expect_char(')')?;
                return Ok(Around::Query(query));
            }
            let first = if p.at_char('(') {
                let place = p.place();
                match p.item_in_parens()? {
                    Around::Query(query) if p.accept_char(')') => return Ok(Around::Query(query)),
                    Around::Query(query) if goes_on_as_query(p.kind()) => {
                        let query = p.query_from(query)?;
                        p.expect_char(')')?;
                        return Ok(Around::Query(query));
                    }
                    // Were it a table, its name or a join would follow.
                    Around::Query(_) if !p.goes_on_as_table() => return Err(p.unexpected()),
                    Around::Query(query) => p.derived(query, false, place)?,
                    // `((a join b))`
                    Around::Join(join) if p.accept_char(')') => return Ok(Around::Join(join)),
                    Around::Join(join) => p.named_join(join)?,
                }
            } else {
                p.item_alone()?
            };
            let join = p.joins(first)?;
            // A table alone has no parentheses.
            if join == first && !p.is_plain_join(join) {
                return Err(p.unexpected());
            }
            p.expect_char(')')?;
            Ok(Around::Join(join))
        })
    }

    /// Whether a name or a join follows an item.
    fn goes_on_as_table(&self) -> bool {
        use Keyword as K;
        match self.kind() {
            Kind::Word(K::As | K::Join | K::Cross | K::Left) => true,
            Kind::Word(K::Right | K::Full | K::Inner | K::Natural) => true,
            kind => Parser::is_column_name(kind),
        }
    }

    /// Whether an item is a join without a name, which may stand in further parentheses.
    fn is_plain_join(&self, item: FromId) -> bool {
        matches!(self.tree.from(item), From::Join(join) if join.alias.is_none())
    }

    fn rows_from(&mut self, lateral: bool) -> Result<FromId> {
        self.expect_char('(')?;
        let mut calls = Vec::new();
        loop {
            let call = self.windowless_call()?;
            let columns = match self.accept_word(Keyword::As) {
                true => self.column_defs()?,
                false => Vec::new(),
            };
            calls.push(FunctionItem { call, columns });
            if !self.accept_char(',') {
                break;
            }
        }
        self.expect_char(')')?;
        self.functions(lateral, true, calls)
    }

    /// A call without FILTER and OVER.
    pub(super) fn windowless_call(&mut self) -> Result<crate::ast::ExprId> {
        let place = self.place();
        if let Kind::Word(word) = self.kind()
            && let Some(call) = self.special(word)?
        {
            return Ok(call);
        }
        let name = self.function_name()?;
        self.call(name, place, false)
    }

    /// The name of a function where nothing else can stand.
    fn function_name(&mut self) -> Result<Path> {
        let kind = self.kind();
        if Parser::is_call_name(kind)
            && (self.ahead(1) == Kind::Char('(') || !Parser::is_column_name(kind))
        {
            return Ok([self.call_name()?].into());
        }
        let name = self.qualified_name()?;
        match name.len() == 1 && self.at_char('(') {
            true => Err(self.unexpected()),
            false => Ok(name),
        }
    }

    fn functions(
        &mut self,
        lateral: bool,
        rows_from: bool,
        calls: Vec<FunctionItem>,
    ) -> Result<FromId> {
        let ordinality =
            self.kind() == Kind::WithBefore && self.ahead(1) == Kind::Word(Keyword::Ordinality);
        if ordinality {
            self.advance();
            self.advance();
        }
        let Named { alias, columns } = self.function_alias()?;
        let item = From::Functions { lateral, rows_from, calls, ordinality, alias, columns };
        Ok(self.tree.add_from(item))
    }

    fn function_alias(&mut self) -> Result<Named> {
        let with_as = self.accept_word(Keyword::As);
        if with_as && self.at_char('(') {
            return Ok(Named { alias: None, columns: self.column_defs()? });
        }
        if !with_as && !Parser::is_column_name(self.kind()) {
            return Ok(Named::default());
        }
        let name = self.column_name()?;
        let mut alias = Alias { name, columns: Vec::new() };
        if !self.at_char('(') {
            return Ok(Named { alias: Some(alias), columns: Vec::new() });
        }
        if matches!(self.ahead(2), Kind::Char(',' | ')')) {
            alias.columns = self.names_in_parens()?;
            return Ok(Named { alias: Some(alias), columns: Vec::new() });
        }
        Ok(Named { alias: Some(alias), columns: self.column_defs()? })
    }

    /// `(a int, b text)`
    fn column_defs(&mut self) -> Result<Vec<ColumnDef>> {
        self.expect_char('(')?;
        let mut columns = Vec::new();
        loop {
            let place = self.place();
            let name: Name = self.column_name()?;
            let ty = self.type_name()?;
            let collate = self.place();
            let collation = match self.accept_word(Keyword::Collate) {
                true => Some((self.any_name()?, collate)),
                false => None,
            };
            columns.push(ColumnDef { name, ty, collation, place });
            if !self.accept_char(',') {
                break;
            }
        }
        self.expect_char(')')?;
        Ok(columns)
    }
}
