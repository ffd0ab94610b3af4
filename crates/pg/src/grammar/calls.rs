//! Calls: plain ones, and those that SQL has a syntax of its own for.

use super::expr::{Context, Level, Side, plain_call};
use super::keyword::Keyword;
use super::parser::Parser;
use super::token::Kind;
use super::types::{system_name, system_type};
use crate::Result;
use crate::ast::{Arg, Call, Expr, ExprId, Literal, NOWHERE, Name, Over, Path, SqlValue};

impl Parser<'_> {
    /// A call behind its name; with FILTER and OVER where `decorated`.
    pub(super) fn call(&mut self, name: Path, place: u32, decorated: bool) -> Result<ExprId> {
        self.deeper(|p| {
            let (mut call, plain) = p.application(name)?;
            if let (true, Some(order), Kind::Text) = (decorated, plain, p.kind()) {
                return p.typed_call(call, place, order);
            }
            if decorated {
                p.decorations(&mut call)?;
            }
            Ok(p.add(Expr::Call(Box::new(call)), place))
        })
    }

    /// `(…)` of a call; where there is nothing but arguments and an order, as modifiers of a type could be, the
    /// order's place.
    fn application(&mut self, name: Path) -> Result<(Call, Option<u32>)> {
        use Keyword as K;
        self.expect_char('(')?;
        let mut call = plain_call(name, Vec::new());
        if self.accept_char(')') {
            return Ok((call, None));
        }
        if self.accept_char('*') {
            self.expect_char(')')?;
            call.star = true;
            return Ok((call, None));
        }
        let all = self.accept_word(K::All);
        call.distinct = !all && self.accept_word(K::Distinct);
        let may_vary = !all && !call.distinct;
        loop {
            call.variadic = may_vary && self.accept_word(K::Variadic);
            let arg = self.arg()?;
            call.args.push(arg);
            if call.variadic || !self.accept_char(',') {
                break;
            }
        }
        let order = self.place();
        call.order = self.order_by()?;
        self.expect_char(')')?;
        let is_plain = may_vary && !call.variadic;
        Ok((call, is_plain.then_some(order)))
    }

    /// An argument, perhaps with its parameter's name.
    fn arg(&mut self) -> Result<Arg> {
        self.arg_at(Context::default())
    }

    fn arg_at(&mut self, within: Context) -> Result<Arg> {
        let begin = self.place();
        let is_named = matches!(self.ahead(1), Kind::ColonEquals | Kind::EqualsGreater);
        if !is_named || !Parser::is_call_name(self.kind()) {
            let value = self.operand(Level::All, Side::Left, within)?;
            return Ok(Arg { name: None, value, place: begin });
        }
        let name = Some(self.call_name()?);
        self.advance();
        Ok(Arg { name, value: self.expr()?, place: begin })
    }

    /// WITHIN GROUP, FILTER and OVER.
    fn decorations(&mut self, call: &mut Call) -> Result<()> {
        use Keyword as K;
        let place = self.place();
        if self.accept_word(K::Within) {
            self.expect_word(K::Group)?;
            self.expect_char('(')?;
            if !self.at_word(K::Order) {
                return Err(self.unexpected());
            }
            let order = self.order_by()?;
            self.expect_char(')')?;
            let clash = [
                (!call.order.is_empty(), "cannot use multiple ORDER BY clauses with WITHIN GROUP"),
                (call.distinct, "cannot use DISTINCT with WITHIN GROUP"),
                (call.variadic, "cannot use VARIADIC with WITHIN GROUP"),
            ];
            if let Some((_, text)) = clash.into_iter().find(|(is, _)| *is) {
                return Err(self.refuse(text, place));
            }
            call.order = order;
            call.within_group = true;
        }
        if self.accept_word(K::Filter) {
            self.expect_char('(')?;
            self.expect_word(K::Where)?;
            call.filter = Some(self.expr()?);
            self.expect_char(')')?;
        }
        if self.accept_word(K::Over) {
            let place = self.place();
            call.over = Some(match self.at_char('(') {
                true => Over::Window(Box::new(self.window()?)),
                false => Over::Named(self.column_name()?, place),
            });
        }
        Ok(())
    }

    /// What is written by a syntax of SQL's own, if the word begins that.
    pub(super) fn special(&mut self, word: Keyword) -> Result<Option<ExprId>> {
        use Keyword as K;
        let place = self.place();
        let parens = self.ahead(1) == Kind::Char('(');
        if let Some((value, precise)) = sql_value(word) {
            // current_schema() is a function, and could be a type.
            if word == K::CurrentSchema && (parens || self.ahead(1) == Kind::Text) {
                return Ok(None);
            }
            self.advance();
            let precision = match precise && self.at_char('(') {
                true => {
                    self.advance();
                    let precision = self.int()?;
                    self.expect_char(')')?;
                    Some(precision)
                }
                false => None,
            };
            return Ok(Some(self.add(Expr::SqlValue(value, precision), place)));
        }
        if word == K::Collation && self.ahead(1) == Kind::Word(K::For) {
            self.advance();
            self.advance();
            self.expect_char('(')?;
            let value = self.expr()?;
            self.expect_char(')')?;
            return Ok(Some(self.system_call("pg_collation_for", vec![value], place)));
        }
        let is_special = matches!(
            word,
            K::Cast
                | K::Extract
                | K::Normalize
                | K::Overlay
                | K::Position
                | K::Substring
                | K::Treat
                | K::Trim
                | K::Nullif
                | K::Coalesce
                | K::Greatest
                | K::Least
                | K::Xmlconcat
                | K::Xmlelement
                | K::Xmlexists
                | K::Xmlforest
                | K::Xmlparse
                | K::Xmlpi
                | K::Xmlroot
                | K::Xmlserialize
        );
        // CAST is reserved; the others may be columns.
        if !is_special || !parens && word != K::Cast {
            return Ok(None);
        }
        self.advance();
        self.deeper(|p| {
            p.expect_char('(')?;
            let expr = p.special_args(word, place)?;
            p.expect_char(')')?;
            Ok(Some(expr))
        })
    }

    fn special_args(&mut self, word: Keyword, place: u32) -> Result<ExprId> {
        use Keyword as K;
        match word {
            K::Cast | K::Treat => self.cast(word, place),
            K::Extract => self.extract(place),
            K::Normalize => {
                let mut args = vec![self.expr()?];
                if self.accept_char(',') {
                    let form = self.normal_form()?;
                    args.push(form.ok_or_else(|| self.unexpected())?);
                }
                Ok(self.system_call("normalize", args, place))
            }
            K::Overlay => self.overlay(place),
            K::Position => {
                let part = self.narrow_expr()?;
                self.expect_word(K::In)?;
                let whole = self.narrow_expr()?;
                Ok(self.system_call("position", vec![whole, part], place))
            }
            K::Substring => self.substring(place),
            K::Trim => self.trim(place),
            K::Nullif => {
                let left = self.expr()?;
                self.expect_char(',')?;
                let right = self.expr()?;
                Ok(self.add(Expr::NullIf(left, right), place))
            }
            K::Coalesce | K::Greatest | K::Least => {
                let all = self.exprs()?.into();
                let expr = match word {
                    K::Coalesce => Expr::Coalesce(all),
                    K::Greatest => Expr::Greatest(all),
                    _ => Expr::Least(all),
                };
                Ok(self.add(expr, place))
            }
            _ => self.xml(word, place),
        }
    }

    fn cast(&mut self, word: Keyword, place: u32) -> Result<ExprId> {
        let value = self.expr()?;
        self.expect_word(Keyword::As)?;
        let ty = self.type_name()?;
        if word == Keyword::Cast {
            return Ok(self.add(Expr::Cast(value, Box::new(ty)), place));
        }
        // TREAT calls the function of the type's name.
        let name = ty.name.last().cloned().unwrap_or_default();
        let args = vec![Arg { name: None, value, place }];
        let call = plain_call(system_name(&name), args);
        Ok(self.add(Expr::Call(Box::new(call)), place))
    }

    fn extract(&mut self, place: u32) -> Result<ExprId> {
        use Keyword as K;
        let token = self.token();
        let allowed = match token.kind {
            Kind::Name | Kind::Text => true,
            Kind::Word(word) => {
                matches!(word, K::Year | K::Month | K::Day | K::Hour | K::Minute | K::Second)
            }
            _ => false,
        };
        if !allowed {
            return Err(self.unexpected());
        }
        self.advance();
        let field = self.value(token);
        let field = self.add(Expr::Literal(Literal::Text(field)), token.start);
        self.expect_word(K::From)?;
        let value = self.expr()?;
        Ok(self.system_call("extract", vec![field, value], place))
    }

    /// The arguments of a function that may be called plainly as well, the first of which was read.
    fn plain_args(&mut self, name: &str, first: Arg, place: u32) -> Result<ExprId> {
        let mut args = vec![first];
        while self.accept_char(',') {
            let arg = self.arg()?;
            args.push(arg);
        }
        Ok(self.unqualified_call(name, args, place))
    }

    fn unqualified_call(&mut self, name: &str, args: Vec<Arg>, place: u32) -> ExprId {
        let parts: [Name; 1] = [name.into()];
        self.add(Expr::Call(Box::new(plain_call(parts.into(), args))), place)
    }

    fn overlay(&mut self, place: u32) -> Result<ExprId> {
        use Keyword as K;
        if self.at_char(')') {
            return Ok(self.unqualified_call("overlay", Vec::new(), place));
        }
        let first = self.arg()?;
        if first.name.is_some() || !self.at_word(K::Placing) {
            return self.plain_args("overlay", first, place);
        }
        self.advance();
        let mut args = vec![first.value, self.expr()?];
        self.expect_word(K::From)?;
        args.push(self.expr()?);
        if self.accept_word(K::For) {
            args.push(self.expr()?);
        }
        Ok(self.system_call("overlay", args, place))
    }

    fn substring(&mut self, place: u32) -> Result<ExprId> {
        use Keyword as K;
        if self.at_char(')') {
            return Ok(self.unqualified_call("substring", Vec::new(), place));
        }
        let first = self.arg_at(Context { substring: true, ..Context::default() })?;
        let word = match (self.kind(), &first.name) {
            (Kind::Word(word @ (K::From | K::For | K::Similar)), None) => word,
            _ => return self.plain_args("substring", first, place),
        };
        self.advance();
        let value = first.value;
        let second = self.expr()?;
        let args = match word {
            K::From if self.accept_word(K::For) => vec![value, second, self.expr()?],
            K::From => vec![value, second],
            K::For if self.accept_word(K::From) => vec![value, self.expr()?, second],
            K::For => {
                let one = self.int_expr(1, NOWHERE);
                let ty = Box::new(system_type("int4", [].into(), NOWHERE));
                vec![value, one, self.add(Expr::Cast(second, ty), NOWHERE)]
            }
            _ => {
                self.expect_word(K::Escape)?;
                vec![value, second, self.expr()?]
            }
        };
        Ok(self.system_call("substring", args, place))
    }

    fn trim(&mut self, place: u32) -> Result<ExprId> {
        use Keyword as K;
        let name = match self.kind() {
            Kind::Word(K::Both) => "btrim",
            Kind::Word(K::Leading) => "ltrim",
            Kind::Word(K::Trailing) => "rtrim",
            _ => "",
        };
        if !name.is_empty() {
            self.advance();
        }
        let name = if name.is_empty() { "btrim" } else { name };
        if self.accept_word(K::From) {
            let args = self.exprs()?;
            return Ok(self.system_call(name, args, place));
        }
        let mut args = vec![self.expr()?];
        if self.accept_word(K::From) {
            let what = args.remove(0);
            args = self.exprs()?;
            args.push(what);
        } else {
            while self.accept_char(',') {
                args.push(self.expr()?);
            }
        }
        Ok(self.system_call(name, args, place))
    }
}

/// The value that a word names, and whether a precision may follow.
fn sql_value(word: Keyword) -> Option<(SqlValue, bool)> {
    use Keyword as K;
    Some(match word {
        K::CurrentDate => (SqlValue::CurrentDate, false),
        K::CurrentTime => (SqlValue::CurrentTime, true),
        K::CurrentTimestamp => (SqlValue::CurrentTimestamp, true),
        K::Localtime => (SqlValue::LocalTime, true),
        K::Localtimestamp => (SqlValue::LocalTimestamp, true),
        K::CurrentRole => (SqlValue::CurrentRole, false),
        K::CurrentUser => (SqlValue::CurrentUser, false),
        K::SessionUser => (SqlValue::SessionUser, false),
        K::User => (SqlValue::User, false),
        K::CurrentCatalog => (SqlValue::CurrentCatalog, false),
        K::CurrentSchema => (SqlValue::CurrentSchema, false),
        _ => return None,
    })
}
