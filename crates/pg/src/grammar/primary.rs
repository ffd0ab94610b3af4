//! Expressions without operators: literals, columns, brackets, CASE.

use super::expr::{Context, Level, Side};
use super::keyword::Keyword;
use super::parser::Parser;
use super::query::goes_on_as_query;
use super::token::Kind;
use super::types::{named, system_type};
use crate::ast::{Arm, Expr, ExprId, Literal, NOWHERE, Path, QueryId, Step, TypeName};
use crate::{Error, Result};

/// What stands in parentheses.
pub(super) enum Paren {
    /// A query.
    Query(QueryId),
    /// Expressions, one at least.
    Exprs(Vec<ExprId>),
}

impl Parser<'_> {
    /// An expression without operators; OVERLAPS is one of two rows, where it is allowed.
    pub(super) fn primary(&mut self, overlaps: bool) -> Result<ExprId> {
        use Keyword as K;
        let token = self.token();
        let place = token.start;
        let literal = match token.kind {
            Kind::Int(number) => Literal::Int(number),
            Kind::Number => Literal::Number(self.value(token)),
            Kind::Text => Literal::Text(self.value(token)),
            Kind::Bits => Literal::Bits(self.value(token)),
            Kind::Hex => Literal::Hex(self.value(token)),
            Kind::Word(K::True) => Literal::Bool(true),
            Kind::Word(K::False) => Literal::Bool(false),
            Kind::Word(K::Null) => Literal::Null,
            Kind::Param(number) => {
                self.advance();
                let param = self.add(Expr::Param(number), place);
                return self.steps_behind(param, place);
            }
            Kind::Char('(') => return self.in_parens(overlaps),
            Kind::Name => return self.named(),
            Kind::Word(K::Case) => return self.deeper(Self::case),
            Kind::Word(K::Exists) if self.ahead(1) == Kind::Char('(') => {
                self.advance();
                let query = self.query_in_parens()?;
                return Ok(self.add(Expr::Exists(query), place));
            }
            Kind::Word(K::Array) => return self.array(),
            Kind::Word(K::Row) if self.ahead(1) == Kind::Char('(') => return self.row(overlaps),
            Kind::Word(K::Grouping) if self.ahead(1) == Kind::Char('(') => {
                self.advance();
                let all = self.exprs_in_parens()?;
                return Ok(self.add(Expr::Grouping(all), place));
            }
            Kind::Word(word) => return self.word(word),
            _ => return Err(self.unexpected()),
        };
        self.advance();
        Ok(self.add(Expr::Literal(literal), place))
    }

    /// What begins with a keyword.
    fn word(&mut self, word: Keyword) -> Result<ExprId> {
        if self.is_typed_literal(word) {
            return self.typed_literal();
        }
        match self.special(word)? {
            Some(expr) => Ok(expr),
            None => self.named(),
        }
    }

    /// Whether a word is a type before a literal.
    fn is_typed_literal(&self, word: Keyword) -> bool {
        use Keyword as K;
        let next = self.ahead(1);
        let plain = matches!(next, Kind::Text | Kind::Char('('));
        match word {
            K::Int | K::Integer | K::Smallint | K::Bigint | K::Real | K::Boolean => {
                next == Kind::Text
            }
            K::Float | K::Decimal | K::Dec | K::Numeric | K::Varchar | K::Interval => plain,
            K::Bit | K::Character | K::Char | K::Nchar => plain || next == Kind::Word(K::Varying),
            K::National => matches!(next, Kind::Word(K::Character | K::Char)),
            K::Double => next == Kind::Word(K::Precision),
            K::Time | K::Timestamp => {
                plain || matches!(next, Kind::WithBefore | Kind::Word(K::Without))
            }
            _ => false,
        }
    }

    /// A type that has a syntax of its own, and a text.
    fn typed_literal(&mut self) -> Result<ExprId> {
        let place = self.place();
        if !self.at_word(Keyword::Interval) {
            let ty = self.builtin_type(false)?.ok_or_else(|| self.unexpected())?;
            return self.text_of(ty);
        }
        self.advance();
        if self.at_char('(') {
            let precision = self.precision()?;
            let all = self.int_expr(0x7fff, NOWHERE);
            return self.text_of(system_type("interval", [all, precision].into(), place));
        }
        let text = self.text_literal()?;
        let modifiers = self.interval_fields()?;
        let ty = system_type("interval", modifiers, place);
        Ok(self.add(Expr::Cast(text, Box::new(ty)), NOWHERE))
    }

    fn text_literal(&mut self) -> Result<ExprId> {
        let token = self.token();
        if token.kind != Kind::Text {
            return Err(self.unexpected());
        }
        self.advance();
        let text = self.value(token);
        Ok(self.add(Expr::Literal(Literal::Text(text)), token.start))
    }

    fn text_of(&mut self, ty: TypeName) -> Result<ExprId> {
        let text = self.text_literal()?;
        Ok(self.add(Expr::Cast(text, Box::new(ty)), NOWHERE))
    }

    /// A column, a call, or a text of a type that is named.
    fn named(&mut self) -> Result<ExprId> {
        let token = self.token();
        let (place, next) = (token.start, self.ahead(1));
        if Parser::is_call_name(token.kind) {
            if next == Kind::Char('(') {
                let name = self.call_name()?;
                return self.call([name].into(), place, true);
            }
            if next == Kind::Text {
                let name = self.call_name()?;
                return self.text_of(named([name].into(), place));
            }
        }
        if !Parser::is_column_name(token.kind) {
            if Parser::is_call_name(token.kind) {
                // It would have to be a call.
                self.advance();
            }
            return Err(self.unexpected());
        }
        let first = self.column_name()?;
        let mut steps = self.steps()?;
        let fields = steps.iter().take_while(|s| matches!(s, Step::Field(_))).count();
        let ends_name = matches!(self.kind(), Kind::Char('(') | Kind::Text) && !steps.is_empty();
        let rest = steps.split_off(fields);
        let mut parts = vec![first];
        parts.extend(steps.into_iter().map(|step| match step {
            Step::Field(name) => name,
            _ => unreachable!("these are fields"),
        }));
        let parts: Path = parts.into();
        if ends_name {
            if !rest.is_empty() {
                return Err(self.unexpected());
            }
            return match self.at_char('(') {
                true => self.call(parts, place, true),
                false => self.text_of(named(parts, place)),
            };
        }
        match rest.as_slice() {
            [] => Ok(self.add(Expr::Column(parts), place)),
            [Step::Star] => Ok(self.add(Expr::Star(parts), place)),
            [Step::Star, ..] => Err(self.yell("improper use of \"*\"", self.token())),
            _ => {
                let column = self.add(Expr::Column(parts), place);
                self.with_steps(column, rest, place)
            }
        }
    }

    /// `.a`, `[1]` and their like.
    pub(super) fn steps(&mut self) -> Result<Vec<Step>> {
        let mut steps = Vec::new();
        loop {
            if self.accept_char('.') {
                steps.push(match self.accept_char('*') {
                    true => Step::Star,
                    false => Step::Field(self.label()?),
                });
            } else if self.at_char('[') {
                let step = self.subscript()?;
                steps.push(step);
            } else {
                return Ok(steps);
            }
        }
    }

    /// `[1]` or `[1:2]`
    pub(super) fn subscript(&mut self) -> Result<Step> {
        self.deeper(|p| {
            p.expect_char('[')?;
            let low = match p.at_char(':') {
                true => None,
                false => Some(p.expr()?),
            };
            if p.accept_char(':') {
                let high = match p.at_char(']') {
                    true => None,
                    false => Some(p.expr()?),
                };
                p.expect_char(']')?;
                return Ok(Step::Slice(low, high));
            }
            p.expect_char(']')?;
            low.map(Step::Index).ok_or_else(|| p.unexpected())
        })
    }

    /// Steps into a value, of which `*` may only be the last.
    pub(super) fn checked_steps(&mut self) -> Result<Vec<Step>> {
        let steps = self.steps()?;
        match steps.iter().rev().skip(1).any(|step| *step == Step::Star) {
            true => Err(self.yell("improper use of \"*\"", self.token())),
            false => Ok(steps),
        }
    }

    fn with_steps(&mut self, value: ExprId, steps: Vec<Step>, place: u32) -> Result<ExprId> {
        if steps.iter().rev().skip(1).any(|step| *step == Step::Star) {
            return Err(self.yell("improper use of \"*\"", self.token()));
        }
        Ok(self.add(Expr::Steps(value, steps.into()), place))
    }

    fn steps_behind(&mut self, value: ExprId, place: u32) -> Result<ExprId> {
        let steps = self.steps()?;
        match steps.is_empty() {
            true => Ok(value),
            false => self.with_steps(value, steps, place),
        }
    }

    /// `(…)` as an expression.
    fn in_parens(&mut self, overlaps: bool) -> Result<ExprId> {
        let place = self.place();
        let paren = self.paren(None)?;
        self.of_paren(paren, place, overlaps)
    }

    /// The expression that parentheses are, with what is behind them.
    fn of_paren(&mut self, paren: Paren, place: u32, overlaps: bool) -> Result<ExprId> {
        match paren {
            Paren::Query(query) => {
                let value = self.add(Expr::Query(query), place);
                self.steps_behind(value, place)
            }
            Paren::Exprs(all) if all.len() == 1 => {
                let inner = self.tree.raw_place(all[0]);
                self.steps_behind(all[0], inner)
            }
            Paren::Exprs(all) => self.row_of(all.into(), false, place, overlaps),
        }
    }

    /// Reads `(…)`: a query, in as many parentheses as there are around it, or expressions, no more than `most`.
    pub(super) fn paren(&mut self, most: Option<usize>) -> Result<Paren> {
        self.deeper(|p| {
            p.expect_char('(')?;
            if p.begins_query() {
                let query = p.query()?;
                p.expect_char(')')?;
                return Ok(Paren::Query(query));
            }
            let mut all = Vec::new();
            if p.at_char('(') {
                let place = p.place();
                let inner = p.paren(None)?;
                if let Paren::Query(query) = inner {
                    if p.accept_char(')') {
                        return Ok(Paren::Query(query));
                    }
                    if goes_on_as_query(p.kind()) {
                        let query = p.query_from(query)?;
                        p.expect_char(')')?;
                        return Ok(Paren::Query(query));
                    }
                }
                let first = p.of_paren(inner, place, true)?;
                all.push(p.rest(first, Level::All, Side::Left, Context::default())?);
            } else {
                all.push(p.expr()?);
            }
            while most.is_none_or(|most| all.len() < most) && p.accept_char(',') {
                all.push(p.expr()?);
            }
            p.expect_char(')')?;
            Ok(Paren::Exprs(all))
        })
    }

    /// A query in parentheses.
    pub(super) fn query_in_parens(&mut self) -> Result<QueryId> {
        self.deeper(|p| {
            p.expect_char('(')?;
            let query = match p.at_char('(') {
                true => {
                    let inner = p.query_in_parens()?;
                    match p.at_char(')') {
                        true => inner,
                        false => p.query_from(inner)?,
                    }
                }
                false => p.query()?,
            };
            p.expect_char(')')?;
            Ok(query)
        })
    }

    /// `ROW(…)`
    fn row(&mut self, overlaps: bool) -> Result<ExprId> {
        let place = self.advance().start;
        let all: Box<[ExprId]> = match self.ahead(1) == Kind::Char(')') {
            true => {
                self.advance();
                self.advance();
                [].into()
            }
            false => self.deeper(Self::exprs_in_parens)?,
        };
        self.row_of(all, true, place, overlaps)
    }

    fn row_of(
        &mut self,
        all: Box<[ExprId]>,
        explicit: bool,
        place: u32,
        overlaps: bool,
    ) -> Result<ExprId> {
        if !overlaps || !self.at_word(Keyword::Overlaps) {
            return Ok(self.add(Expr::Row(all, explicit), place));
        }
        let operator = self.advance().start;
        let second = self.place();
        let right: Box<[ExprId]> = match self.kind() {
            Kind::Word(Keyword::Row) => match self.row(false)? {
                id if matches!(self.tree.expr(id), Expr::Row(..)) => self.parts_of_row(id),
                _ => return Err(self.unexpected()),
            },
            Kind::Char('(') => self.deeper(|p| {
                p.expect_char('(')?;
                let all = p.exprs()?;
                if all.len() < 2 {
                    return Err(p.unexpected());
                }
                p.expect_char(')')?;
                Ok(all.into())
            })?,
            _ => return Err(self.unexpected()),
        };
        for (parts, side, at) in [(&all, "left", place), (&right, "right", second)] {
            if parts.len() != 2 {
                let text =
                    format!("wrong number of parameters on {side} side of OVERLAPS expression");
                return Err(self.refuse(text, at));
            }
        }
        let args = all.iter().chain(&right).copied().collect();
        Ok(self.system_call("overlaps", args, operator))
    }

    fn parts_of_row(&self, id: ExprId) -> Box<[ExprId]> {
        match self.tree.expr(id) {
            Expr::Row(all, _) => all.clone(),
            _ => [].into(),
        }
    }

    fn array(&mut self) -> Result<ExprId> {
        let place = self.advance().start;
        if self.at_char('(') {
            let query = self.query_in_parens()?;
            return Ok(self.add(Expr::ArrayQuery(query), place));
        }
        self.array_of(Some(place))
    }

    /// `[…]`, of expressions or of further brackets.
    fn array_of(&mut self, place: Option<u32>) -> Result<ExprId> {
        self.deeper(|p| {
            let place = place.unwrap_or(p.place());
            p.expect_char('[')?;
            let mut all = Vec::new();
            if !p.at_char(']') {
                let nested = p.at_char('[');
                loop {
                    all.push(if nested { p.array_of(None)? } else { p.expr()? });
                    if !p.accept_char(',') {
                        break;
                    }
                }
            }
            p.expect_char(']')?;
            Ok(p.add(Expr::Array(all.into()), place))
        })
    }

    fn case(&mut self) -> Result<ExprId> {
        use Keyword as K;
        let place = self.advance().start;
        let operand = match self.at_word(K::When) {
            true => None,
            false => Some(self.expr()?),
        };
        let mut arms = Vec::new();
        let mut when = self.place();
        self.expect_word(K::When)?;
        loop {
            let condition = self.expr()?;
            self.expect_word(K::Then)?;
            arms.push(Arm { condition, result: self.expr()?, place: when });
            when = self.place();
            if !self.accept_word(K::When) {
                break;
            }
        }
        let otherwise = match self.accept_word(K::Else) {
            true => Some(self.expr()?),
            false => None,
        };
        self.expect_word(K::End)?;
        Ok(self.add(Expr::Case(operand, arms.into(), otherwise), place))
    }

    /// A text with a type whose modifiers were read as a call's arguments.
    pub(super) fn typed_call(
        &mut self,
        call: crate::ast::Call,
        place: u32,
        order: u32,
    ) -> Result<ExprId> {
        if let Some(arg) = call.args.iter().find(|arg| arg.name.is_some()) {
            return Err(self.refuse("type modifier cannot have parameter name", arg.place));
        }
        if !call.order.is_empty() {
            return Err(Error::new("42601", "type modifier cannot have ORDER BY").at(order));
        }
        let modifiers = call.args.iter().map(|arg| arg.value).collect();
        self.text_of(TypeName { modifiers, ..named(call.name, place) })
    }
}
