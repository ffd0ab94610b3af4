//! SELECT, VALUES, TABLE, set operations and the clauses around them.

use super::expr::{Context, Level, Side, ends_targets};
use super::keyword::Keyword;
use super::parser::Parser;
use super::token::Kind;
use crate::Result;
use crate::ast::{
    Body, Distinct, Expr, ExprId, From, GroupItem, Into, Literal, Lock, LockStrength, LockWait,
    NOWHERE, Query, QueryId, Relation, Select, Set, SetKind, Sort, SortOrder, Span, Target, With,
};

/// LIMIT and OFFSET on their way to a query.
#[derive(Default)]
struct Limits {
    limit: Option<ExprId>,
    offset: Option<ExprId>,
    ties: bool,
}

/// Whether a word makes more of a query that was in parentheses.
pub(super) fn goes_on_as_query(kind: Kind) -> bool {
    use Keyword as K;
    matches!(
        kind,
        Kind::Word(
            K::Union
                | K::Intersect
                | K::Except
                | K::Order
                | K::Limit
                | K::Offset
                | K::Fetch
                | K::For
        )
    )
}

impl Parser<'_> {
    /// Whether a query comes next, without parentheses.
    pub(super) fn begins_query(&self) -> bool {
        use Keyword as K;
        match self.kind() {
            Kind::Word(K::Select | K::Table | K::With) | Kind::WithBefore => true,
            // `values` may be a column.
            Kind::Word(K::Values) => self.ahead(1) == Kind::Char('('),
            _ => false,
        }
    }

    /// A query, in parentheses or not.
    pub(super) fn query(&mut self) -> Result<QueryId> {
        self.deeper(|p| {
            let with = p.with()?;
            p.query_with(with)
        })
    }

    /// A query behind its WITH.
    pub(super) fn query_with(&mut self, with: Option<With>) -> Result<QueryId> {
        let first = self.query_term()?;
        let query = self.query_from(first)?;
        if let Some(with) = with {
            if self.tree.query(query).with.is_some() {
                return Err(self.refuse("multiple WITH clauses not allowed", with.place));
            }
            self.tree.query_mut(query).with = Some(with);
        }
        Ok(query)
    }

    /// What follows the first part of a query.
    pub(super) fn query_from(&mut self, first: QueryId) -> Result<QueryId> {
        let query = self.set_operations(first, false)?;
        self.query_clauses(query)?;
        Ok(query)
    }

    /// UNION, INTERSECT and EXCEPT; only INTERSECT, which binds more, where `tight`.
    fn set_operations(&mut self, mut left: QueryId, tight: bool) -> Result<QueryId> {
        use Keyword as K;
        loop {
            let kind = match self.kind() {
                Kind::Word(K::Intersect) => SetKind::Intersect,
                Kind::Word(K::Union) if !tight => SetKind::Union,
                Kind::Word(K::Except) if !tight => SetKind::Except,
                _ => return Ok(left),
            };
            self.advance();
            let all = self.accept_word(K::All);
            if !all {
                self.accept_word(K::Distinct);
            }
            let mut right = self.query_term()?;
            if kind != SetKind::Intersect {
                right = self.set_operations(right, true)?;
            }
            left = self.new_query(Body::Set(Set { kind, all, left, right }));
        }
    }

    fn new_query(&mut self, body: Body) -> QueryId {
        let (with, order, locks) = (None, Vec::new(), Vec::new());
        self.tree.add_query(Query {
            with,
            body,
            order,
            limit: None,
            ties: false,
            offset: None,
            locks,
        })
    }

    /// SELECT, VALUES, TABLE, or a query in parentheses.
    fn query_term(&mut self) -> Result<QueryId> {
        use Keyword as K;
        match self.kind() {
            Kind::Char('(') => self.query_in_parens(),
            Kind::Word(K::Select) => self.select(),
            Kind::Word(K::Values) => {
                self.advance();
                let mut rows = vec![self.exprs_in_parens()?];
                while self.accept_char(',') {
                    rows.push(self.exprs_in_parens()?);
                }
                Ok(self.new_query(Body::Values(rows)))
            }
            Kind::Word(K::Table) => {
                self.advance();
                let relation = self.relation()?;
                let from = self.tree.add_from(From::Relation(relation));
                let value = self.add(Expr::Star([].into()), NOWHERE);
                let targets = vec![Target { value, name: None, place: NOWHERE }];
                let select = Select { targets, from: vec![from], ..Select::default() };
                Ok(self.new_query(Body::Select(Box::new(select))))
            }
            _ => Err(self.unexpected()),
        }
    }

    fn select(&mut self) -> Result<QueryId> {
        use Keyword as K;
        self.advance();
        let mut select = Select::default();
        if self.accept_word(K::Distinct) {
            select.distinct = Some(match self.accept_word(K::On) {
                true => Distinct::On(self.exprs_in_parens()?),
                false => Distinct::Rows,
            });
            select.targets = self.targets()?;
        } else {
            self.accept_word(K::All);
            if !ends_targets(self.kind()) || self.at_char(',') {
                select.targets = self.targets()?;
            }
        }
        if self.at_word(K::Into) {
            select.into = Some(self.into()?);
        }
        if self.accept_word(K::From) {
            select.from = self.froms()?;
        }
        if self.accept_word(K::Where) {
            select.filter = Some(self.expr()?);
        }
        if self.accept_word(K::Group) {
            self.expect_word(K::By)?;
            select.group_distinct = self.accept_word(K::Distinct);
            if !select.group_distinct {
                self.accept_word(K::All);
            }
            select.group = self.group_items()?;
        }
        if self.accept_word(K::Having) {
            select.having = Some(self.expr()?);
        }
        if self.accept_word(K::Window) {
            loop {
                let name = self.column_name()?;
                self.expect_word(K::As)?;
                let window = self.window()?;
                select.windows.push((name, window));
                if !self.accept_char(',') {
                    break;
                }
            }
        }
        Ok(self.new_query(Body::Select(Box::new(select))))
    }

    /// A list of targets.
    pub(super) fn targets(&mut self) -> Result<Vec<Target>> {
        let mut targets = vec![self.target()?];
        while self.accept_char(',') {
            targets.push(self.target()?);
        }
        Ok(targets)
    }

    fn target(&mut self) -> Result<Target> {
        let place = self.place();
        if self.accept_char('*') {
            let value = self.add(Expr::Star([].into()), place);
            return Ok(Target { value, name: None, place });
        }
        let value = self.target_expr()?;
        let name = if self.accept_word(Keyword::As) {
            Some(self.label()?)
        } else if Parser::is_bare_label(self.kind()) {
            let token = self.advance();
            Some(self.value(token))
        } else {
            None
        };
        Ok(Target { value, name, place })
    }

    /// INTO, and the table that it makes.
    fn into(&mut self) -> Result<Into> {
        use Keyword as K;
        let start = self.place();
        self.advance();
        let span = Span { start, end: start };
        let mut into = Into { name: [].into(), temporary: false, unlogged: false, place: 0, span };
        let is_name = |kind| Parser::is_column_name(kind) || kind == Kind::Word(K::Table);
        match self.kind() {
            Kind::Word(K::Temp | K::Temporary) if is_name(self.ahead(1)) => {
                self.advance();
                into.temporary = true;
            }
            Kind::Word(K::Local | K::Global)
                if matches!(self.ahead(1), Kind::Word(K::Temp | K::Temporary)) =>
            {
                self.advance();
                self.advance();
                into.temporary = true;
            }
            Kind::Word(K::Unlogged) if is_name(self.ahead(1)) => {
                self.advance();
                into.unlogged = true;
            }
            _ => {}
        }
        self.accept_word(K::Table);
        into.place = self.place();
        into.name = self.relation_name()?;
        into.span.end = self.last_end();
        Ok(into)
    }

    fn group_items(&mut self) -> Result<Vec<GroupItem>> {
        let mut items = vec![self.group_item()?];
        while self.accept_char(',') {
            items.push(self.group_item()?);
        }
        Ok(items)
    }

    fn group_item(&mut self) -> Result<GroupItem> {
        use Keyword as K;
        let place = self.place();
        let next = self.ahead(1);
        match (self.kind(), next) {
            (Kind::Char('('), Kind::Char(')')) => {
                self.advance();
                self.advance();
                Ok(GroupItem::Empty(place))
            }
            (Kind::Word(word @ (K::Rollup | K::Cube)), Kind::Char('(')) => {
                self.advance();
                let all = self.exprs_in_parens()?;
                Ok(match word {
                    K::Cube => GroupItem::Cube(all, place),
                    _ => GroupItem::Rollup(all, place),
                })
            }
            (Kind::Word(K::Grouping), Kind::Word(K::Sets)) => {
                self.advance();
                self.advance();
                self.deeper(|p| {
                    p.expect_char('(')?;
                    let items = p.group_items()?;
                    p.expect_char(')')?;
                    Ok(GroupItem::Sets(items, place))
                })
            }
            _ => self.expr().map(GroupItem::Expr),
        }
    }

    /// ORDER BY, if it is there.
    pub(super) fn order_by(&mut self) -> Result<Vec<Sort>> {
        if !self.accept_word(Keyword::Order) {
            return Ok(Vec::new());
        }
        self.expect_word(Keyword::By)?;
        let mut all = vec![self.sort()?];
        while self.accept_char(',') {
            all.push(self.sort()?);
        }
        Ok(all)
    }

    fn sort(&mut self) -> Result<Sort> {
        let value = self.expr()?;
        let order = if self.accept_word(Keyword::Using) {
            let place = self.place();
            let name = self.op_name()?;
            SortOrder::Using(Box::new(name), place)
        } else {
            self.direction()
        };
        Ok(Sort { value, order, nulls_first: self.nulls_order()? })
    }

    /// ASC or DESC.
    pub(super) fn direction(&mut self) -> SortOrder {
        if self.accept_word(Keyword::Asc) {
            SortOrder::Ascending
        } else if self.accept_word(Keyword::Desc) {
            SortOrder::Descending
        } else {
            SortOrder::Default
        }
    }

    /// NULLS FIRST or LAST.
    pub(super) fn nulls_order(&mut self) -> Result<Option<bool>> {
        if !self.accept(Kind::NullsBefore) {
            return Ok(None);
        }
        match self.accept_word(Keyword::First) {
            true => Ok(Some(true)),
            false => self.expect_word(Keyword::Last).map(|()| Some(false)),
        }
    }

    /// ORDER BY, LIMIT, OFFSET and FOR UPDATE, each at most once for a query.
    fn query_clauses(&mut self, query: QueryId) -> Result<()> {
        let place_of = |p: &Self, id: ExprId| p.leftmost(id);
        let order = self.order_by()?;
        if let Some(first) = order.first() {
            if !self.tree.query(query).order.is_empty() {
                let at = place_of(self, first.value);
                return Err(self.refuse("multiple ORDER BY clauses not allowed", at));
            }
            self.tree.query_mut(query).order = order;
        }
        let mut locks = self.locks()?;
        let limits = self.limits()?;
        if locks.is_none() && limits.is_some() {
            locks = self.locks()?;
        }
        self.tree.query_mut(query).locks.extend(locks.unwrap_or_default());
        let Some(limits) = limits else { return Ok(()) };
        let of = self.tree.query(query);
        let (had_limit, had_offset) = (of.limit.is_some(), of.offset.is_some());
        let unordered = of.order.is_empty();
        let skips = of.locks.iter().any(|lock| lock.wait == LockWait::Skip);
        if let (Some(offset), true) = (limits.offset, had_offset) {
            let at = place_of(self, offset);
            return Err(self.refuse("multiple OFFSET clauses not allowed", at));
        }
        if let (Some(limit), true) = (limits.limit, had_limit) {
            let at = place_of(self, limit);
            return Err(self.refuse("multiple LIMIT clauses not allowed", at));
        }
        if limits.ties && unordered {
            let text = "WITH TIES cannot be specified without ORDER BY clause";
            return Err(crate::Error::new("42601", text));
        }
        if limits.ties && skips {
            let text = "SKIP LOCKED and WITH TIES options cannot be used together";
            return Err(crate::Error::new("42601", text));
        }
        let of = self.tree.query_mut(query);
        of.limit = of.limit.or(limits.limit);
        of.offset = of.offset.or(limits.offset);
        of.ties |= limits.ties;
        Ok(())
    }

    /// Where an expression begins, as PostgreSQL counts it: at its operator's or its first operand's place.
    pub(super) fn leftmost(&self, id: ExprId) -> u32 {
        let mut id = id;
        let mut least = self.tree.raw_place(id);
        loop {
            let first = match self.tree.expr(id) {
                Expr::Op(_, Some(left), _)
                | Expr::OpArray(_, left, ..)
                | Expr::In(left, ..)
                | Expr::Like(_, _, left, ..)
                | Expr::Between { value: left, .. }
                | Expr::Distinct(left, ..)
                | Expr::Is(left, ..)
                | Expr::Cast(left, _)
                | Expr::Collate(left, _)
                | Expr::OpQuery(_, left, ..)
                | Expr::InQuery(left, _)
                | Expr::Steps(left, _) => *left,
                Expr::And(all) | Expr::Or(all) if !all.is_empty() => all[0],
                _ => return least,
            };
            least = least.min(self.tree.raw_place(first));
            id = first;
        }
    }

    fn limits(&mut self) -> Result<Option<Limits>> {
        use Keyword as K;
        let mut limits = Limits::default();
        for _ in 0..2 {
            match self.kind() {
                Kind::Word(K::Limit | K::Fetch) if limits.limit.is_none() => {
                    self.limit(&mut limits)?
                }
                Kind::Word(K::Offset) if limits.offset.is_none() => {
                    self.advance();
                    limits.offset = Some(self.offset()?);
                }
                _ => break,
            }
        }
        let some = limits.limit.is_some() || limits.offset.is_some();
        Ok(some.then_some(limits))
    }

    fn limit(&mut self, limits: &mut Limits) -> Result<()> {
        use Keyword as K;
        let token = self.advance();
        if token.kind == Kind::Word(K::Limit) {
            let place = self.place();
            limits.limit = Some(match self.accept_word(K::All) {
                true => self.add(Expr::Literal(Literal::Null), place),
                false => self.expr()?,
            });
            if self.accept_char(',') {
                self.expr()?;
                let text = "LIMIT #,# syntax is not supported";
                let hint = "Use separate LIMIT and OFFSET clauses.";
                return Err(self.refuse(text, token.start).hint(hint));
            }
            return Ok(());
        }
        if !self.accept_word(K::First) {
            self.expect_word(K::Next)?;
        }
        let is_row = |kind| matches!(kind, Kind::Word(K::Row | K::Rows));
        // `row` and `rows` may be columns; ONLY and WITH behind them tell.
        let alone = is_row(self.kind())
            && matches!(self.ahead(1), Kind::Word(K::Only | K::With) | Kind::WithBefore);
        limits.limit = Some(match alone {
            true => self.int_expr(1, NOWHERE),
            false => self.fetch_value()?,
        });
        if !is_row(self.kind()) {
            return Err(self.unexpected());
        }
        self.advance();
        if self.accept_word(K::Only) {
            return Ok(());
        }
        self.expect_word(K::With)?;
        self.expect_word(K::Ties)?;
        limits.ties = true;
        Ok(())
    }

    /// The number of FETCH: no operators but a number's sign.
    fn fetch_value(&mut self) -> Result<ExprId> {
        let place = self.place();
        let sign = match self.kind() {
            Kind::Char(sign @ ('+' | '-')) => sign,
            _ => return self.primary(false),
        };
        self.advance();
        if !matches!(self.kind(), Kind::Int(_) | Kind::Number) {
            return Err(self.unexpected());
        }
        let number = self.primary(false)?;
        Ok(match sign {
            '-' => self.negate(number, place),
            _ => self.op("+", None, number, place),
        })
    }

    /// The number of OFFSET: any expression, or one as of FETCH before ROW or ROWS.
    fn offset(&mut self) -> Result<ExprId> {
        use Keyword as K;
        let is_row = |kind| matches!(kind, Kind::Word(K::Row | K::Rows));
        let signed = matches!(self.kind(), Kind::Char('+' | '-'))
            && matches!(self.ahead(1), Kind::Int(_) | Kind::Number)
            && is_row(self.ahead(2));
        if signed {
            let value = self.fetch_value()?;
            self.advance();
            return Ok(value);
        }
        let prefixed = matches!(
            self.kind(),
            Kind::Char('+' | '-')
                | Kind::Op
                | Kind::Word(K::Not | K::Operator | K::Default | K::Unique)
                | Kind::NotBefore
        );
        if prefixed {
            return self.expr();
        }
        let value = self.primary(true)?;
        if is_row(self.kind()) {
            self.advance();
            return Ok(value);
        }
        self.rest(value, Level::All, Side::Left, Context::default())
    }

    /// FOR UPDATE and its like; none where nothing of it is there.
    fn locks(&mut self) -> Result<Option<Vec<Lock>>> {
        use Keyword as K;
        if !self.at_word(K::For) {
            return Ok(None);
        }
        if self.ahead(1) == Kind::Word(K::Read) {
            self.advance();
            self.advance();
            self.expect_word(K::Only)?;
            return Ok(Some(Vec::new()));
        }
        let mut locks = Vec::new();
        while self.accept_word(K::For) {
            let strength = if self.accept_word(K::Update) {
                LockStrength::Update
            } else if self.accept_word(K::Share) {
                LockStrength::Share
            } else if self.accept_word(K::No) {
                self.expect_word(K::Key)?;
                self.expect_word(K::Update)?;
                LockStrength::NoKeyUpdate
            } else {
                self.expect_word(K::Key)?;
                self.expect_word(K::Share)?;
                LockStrength::KeyShare
            };
            let mut of = Vec::new();
            if self.accept_word(K::Of) {
                loop {
                    let place = self.place();
                    let name = self.relation_name()?;
                    of.push(Relation { name, only: false, alias: None, place });
                    if !self.accept_char(',') {
                        break;
                    }
                }
            }
            let wait = if self.accept_word(K::Nowait) {
                LockWait::Error
            } else if self.accept_word(K::Skip) {
                self.expect_word(K::Locked)?;
                LockWait::Skip
            } else {
                LockWait::Block
            };
            locks.push(Lock { strength, of, wait });
        }
        Ok(Some(locks))
    }
}
