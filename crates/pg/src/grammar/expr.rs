//! Operators: which operand belongs to which, as PostgreSQL's precedences have it.
//!
//! An operand is read up to the first operator that binds less than the one it belongs to (Pratt, *Top Down Operator
//! Precedence*, 1973). PostgreSQL's grammar is made for a table-driven parser; that such a parser decides by the
//! token ahead alone, against the rule that it could end, is what [`Parser::rest`] does as well.

use super::keyword::Keyword;
use super::parser::Parser;
use super::primary::Paren;
use super::query::goes_on_as_query;
use super::token::{Kind, Token};
use super::types::system_name;
use crate::Result;
use crate::ast::{Arg, Call, Expr, ExprId, Is, Like, Literal, Name, OpName, XmlOp};

/// How much an operator binds; more binds first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Level {
    /// Nothing binds less.
    All,
    Or,
    And,
    Not,
    Is,
    Compare,
    /// BETWEEN, IN, LIKE and their like.
    Like,
    /// Operators without a level of their own.
    Op,
    Sum,
    Product,
    Power,
    At,
    Collate,
    Sign,
    Cast,
}

/// What a second operator of the same level does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Side {
    /// Takes all that is before it.
    Left,
    /// Takes the last operand.
    Right,
    /// Is an error.
    None,
}

/// Where an expression stands.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Context {
    /// Without the operators that are words, as between BETWEEN and AND.
    pub(super) narrow: bool,
    /// In a list of targets, where a word behind it may be a label.
    pub(super) target: bool,
    /// The first argument of `substring(text SIMILAR pattern ESCAPE c)`.
    pub(super) substring: bool,
}

impl Parser<'_> {
    /// An expression.
    pub(super) fn expr(&mut self) -> Result<ExprId> {
        self.operand(Level::All, Side::Left, Context::default())
    }

    /// An expression without operators that are words.
    pub(super) fn narrow_expr(&mut self) -> Result<ExprId> {
        self.operand(Level::All, Side::Left, Context { narrow: true, ..Context::default() })
    }

    /// An expression of a list of targets.
    pub(super) fn target_expr(&mut self) -> Result<ExprId> {
        self.operand(Level::All, Side::Left, Context { target: true, ..Context::default() })
    }

    /// The operand of an operator.
    pub(super) fn operand(&mut self, level: Level, side: Side, within: Context) -> Result<ExprId> {
        self.deeper(|p| {
            let first = p.prefixed(within)?;
            p.rest(first, level, side, within)
        })
    }

    /// What follows an operand as long as it binds more than the operator that the operand belongs to.
    pub(super) fn rest(
        &mut self,
        mut left: ExprId,
        level: Level,
        side: Side,
        within: Context,
    ) -> Result<ExprId> {
        while let Some(next) = self.infix_level(within.narrow) {
            if next < level || next == level && side == Side::Left {
                break;
            }
            if next == level && side == Side::None {
                return Err(self.unexpected());
            }
            if level == Level::All
                && (within.target && self.is_label_ahead()
                    || within.substring && self.is_similar_ahead())
            {
                break;
            }
            left = self.infix(left, within.narrow)?;
        }
        Ok(left)
    }

    /// Whether the word ahead, an operator elsewhere, is the label of a target.
    fn is_label_ahead(&self) -> bool {
        Parser::is_bare_label(self.kind()) && ends_targets(self.ahead(1))
    }

    /// Whether SIMILAR comes without TO.
    fn is_similar_ahead(&self) -> bool {
        self.at_word(Keyword::Similar) && self.ahead(1) != Kind::Word(Keyword::To)
    }

    /// The level of the operator ahead, if there is one.
    fn infix_level(&self, narrow: bool) -> Option<Level> {
        use Keyword as K;
        let level = match self.kind() {
            Kind::Typecast => Level::Cast,
            Kind::Char('+' | '-') => Level::Sum,
            Kind::Char('*' | '/' | '%') => Level::Product,
            Kind::Char('^') => Level::Power,
            Kind::Char('<' | '>' | '=') => Level::Compare,
            Kind::LessEquals | Kind::GreaterEquals | Kind::NotEquals => Level::Compare,
            Kind::Op | Kind::Word(K::Operator) => Level::Op,
            Kind::Word(K::Is) => Level::Is,
            _ if narrow => return None,
            Kind::Word(word) => match word {
                K::Collate => Level::Collate,
                K::At => Level::At,
                K::Isnull | K::Notnull => Level::Is,
                K::And => Level::And,
                K::Or => Level::Or,
                K::Between | K::In | K::Like | K::Ilike | K::Similar => Level::Like,
                _ => return None,
            },
            Kind::NotBefore => Level::Like,
            _ => return None,
        };
        Some(level)
    }

    /// An operand with the operators before it.
    fn prefixed(&mut self, within: Context) -> Result<ExprId> {
        let token = self.token();
        let narrow = Context { narrow: within.narrow, ..Context::default() };
        match token.kind {
            Kind::Char('+') => {
                self.advance();
                let value = self.operand(Level::Sign, Side::Right, narrow)?;
                Ok(self.op("+", None, value, token.start))
            }
            Kind::Char('-') => {
                self.advance();
                let value = self.operand(Level::Sign, Side::Right, narrow)?;
                Ok(self.negate(value, token.start))
            }
            Kind::Op => {
                let name = self.op_name()?;
                let value = self.operand(Level::Op, Side::Left, narrow)?;
                Ok(self.add(Expr::Op(Box::new(name), None, value), token.start))
            }
            Kind::Word(Keyword::Operator) if self.ahead(1) == Kind::Char('(') => {
                let name = self.op_name()?;
                let value = self.operand(Level::Op, Side::Left, narrow)?;
                Ok(self.add(Expr::Op(Box::new(name), None, value), token.start))
            }
            Kind::Word(Keyword::Not) | Kind::NotBefore if !within.narrow => {
                self.advance();
                let value = self.operand(Level::Not, Side::Right, narrow)?;
                Ok(self.add(Expr::Not(value), token.start))
            }
            Kind::Word(Keyword::Default) if !within.narrow => {
                self.advance();
                Ok(self.add(Expr::Default, token.start))
            }
            Kind::Word(Keyword::Unique) if !within.narrow => self.unique_predicate(),
            _ => self.primary(!within.narrow),
        }
    }

    pub(super) fn op(
        &mut self,
        name: &str,
        left: Option<ExprId>,
        right: ExprId,
        place: u32,
    ) -> ExprId {
        let name = OpName { schema: [].into(), name: name.into() };
        self.add(Expr::Op(Box::new(name), left, right), place)
    }

    /// A number's sign is part of it, so that its type is that of the negative number.
    pub(super) fn negate(&mut self, value: ExprId, place: u32) -> ExprId {
        match self.tree.expr_mut(value) {
            Expr::Literal(Literal::Int(number)) => *number = number.wrapping_neg(),
            Expr::Literal(Literal::Number(text)) => {
                *text = match text.strip_prefix('-') {
                    Some(positive) => positive.into(),
                    None => format!("-{}", text.strip_prefix('+').unwrap_or(text)).into(),
                };
            }
            _ => return self.op("-", None, value, place),
        }
        self.tree.set_place(value, place);
        value
    }

    /// An operator by its sign or by `OPERATOR(…)`.
    pub(super) fn op_name(&mut self) -> Result<OpName> {
        if !self.accept_word(Keyword::Operator) {
            return Ok(OpName { schema: [].into(), name: self.sign()? });
        }
        self.expect_char('(')?;
        let mut schema: Vec<Name> = Vec::new();
        while Parser::is_column_name(self.kind()) {
            schema.push(self.column_name()?);
            self.expect_char('.')?;
        }
        let name = self.sign()?;
        self.expect_char(')')?;
        Ok(OpName { schema: schema.into(), name })
    }

    /// The sign of an operator.
    pub(super) fn sign(&mut self) -> Result<Name> {
        let name: Name = match self.kind() {
            Kind::Op => self.tokens.value(self.token()).into(),
            Kind::Char(c @ ('+' | '-' | '*' | '/' | '%' | '^' | '<' | '>' | '=')) => {
                c.to_string().into()
            }
            Kind::LessEquals => "<=".into(),
            Kind::GreaterEquals => ">=".into(),
            Kind::NotEquals => "<>".into(),
            _ => return Err(self.unexpected()),
        };
        self.advance();
        Ok(name)
    }

    /// An operator behind its first operand.
    fn infix(&mut self, left: ExprId, narrow: bool) -> Result<ExprId> {
        use Keyword as K;
        let token = self.token();
        match token.kind {
            Kind::Typecast => {
                self.advance();
                let ty = self.type_name()?;
                Ok(self.add(Expr::Cast(left, Box::new(ty)), token.start))
            }
            Kind::Word(K::Collate) => {
                self.advance();
                let name = self.any_name()?;
                Ok(self.add(Expr::Collate(left, name), token.start))
            }
            Kind::Word(K::At) => self.at_time_zone(left),
            Kind::Word(K::Isnull | K::Notnull) => {
                self.advance();
                let not = token.kind == Kind::Word(K::Notnull);
                Ok(self.add(Expr::Is(left, Is::Null, not), token.start))
            }
            Kind::Word(K::Is) => self.is(left, narrow),
            Kind::Word(K::And | K::Or) => self.and_or(left, token),
            Kind::Word(K::Between | K::In | K::Like | K::Ilike | K::Similar) | Kind::NotBefore => {
                self.like_or_in(left, token)
            }
            _ => self.binary(left, narrow),
        }
    }

    /// An operator with a sign.
    fn binary(&mut self, left: ExprId, narrow: bool) -> Result<ExprId> {
        let place = self.place();
        let level = self.infix_level(narrow).unwrap_or(Level::Op);
        let name = self.op_name()?;
        if !narrow && self.at_quantifier() {
            return self.quantified(name, left, place);
        }
        let side = if level == Level::Compare { Side::None } else { Side::Left };
        let right = self.operand(level, side, Context { narrow, ..Context::default() })?;
        Ok(self.add(Expr::Op(Box::new(name), Some(left), right), place))
    }

    fn at_quantifier(&self) -> bool {
        matches!(self.kind(), Kind::Word(Keyword::Any | Keyword::Some | Keyword::All))
    }

    /// ANY or ALL of an array or a query.
    fn quantified(&mut self, name: OpName, left: ExprId, place: u32) -> Result<ExprId> {
        let all = self.advance().kind == Kind::Word(Keyword::All);
        let name = Box::new(name);
        let expr = match self.paren(Some(1))? {
            Paren::Query(query) => Expr::OpQuery(name, left, query, all),
            Paren::Exprs(exprs) => Expr::OpArray(name, left, exprs[0], all),
        };
        Ok(self.add(expr, place))
    }

    fn at_time_zone(&mut self, left: ExprId) -> Result<ExprId> {
        let place = self.advance().start;
        self.expect_word(Keyword::Time)?;
        self.expect_word(Keyword::Zone)?;
        let zone = self.operand(Level::At, Side::Left, Context::default())?;
        Ok(self.system_call("timezone", vec![zone, left], place))
    }

    /// A call by a syntax of SQL's own.
    pub(super) fn system_call(&mut self, name: &str, args: Vec<ExprId>, place: u32) -> ExprId {
        let args = args.into_iter().map(|value| Arg { name: None, value, place }).collect();
        let call = Call { sql_syntax: true, ..plain_call(system_name(name), args) };
        self.add(Expr::Call(Box::new(call)), place)
    }

    fn and_or(&mut self, left: ExprId, token: Token) -> Result<ExprId> {
        self.advance();
        let is_and = token.kind == Kind::Word(Keyword::And);
        let level = if is_and { Level::And } else { Level::Or };
        let right = self.operand(level, Side::Left, Context::default())?;
        match self.tree.expr_mut(left) {
            Expr::And(all) if is_and => all.push(right),
            Expr::Or(all) if !is_and => all.push(right),
            _ => {
                let both = vec![left, right];
                let expr = if is_and { Expr::And(both) } else { Expr::Or(both) };
                return Ok(self.add(expr, token.start));
            }
        }
        Ok(left)
    }

    /// What is behind IS.
    fn is(&mut self, left: ExprId, narrow: bool) -> Result<ExprId> {
        use Keyword as K;
        let place = self.advance().start;
        let not = self.accept_word(K::Not);
        let Kind::Word(word) = self.kind() else { return Err(self.unexpected()) };
        if word == K::Distinct {
            self.advance();
            self.expect_word(K::From)?;
            let right =
                self.operand(Level::Is, Side::None, Context { narrow, ..Context::default() })?;
            return Ok(self.add(Expr::Distinct(left, right, not), place));
        }
        if word == K::Document {
            self.advance();
            let is = self.xml_of(XmlOp::IsDocument, vec![left], place);
            return Ok(if not { self.add(Expr::Not(is), place) } else { is });
        }
        if narrow {
            return Err(self.unexpected());
        }
        let what = match word {
            K::Null => Is::Null,
            K::True => Is::True,
            K::False => Is::False,
            K::Unknown => Is::Unknown,
            K::Normalized | K::Nfc | K::Nfd | K::Nfkc | K::Nfkd => {
                let mut args = vec![left];
                args.extend(self.normal_form()?);
                self.expect_word(K::Normalized)?;
                let call = self.system_call("is_normalized", args, place);
                return Ok(if not { self.add(Expr::Not(call), place) } else { call });
            }
            _ => return Err(self.unexpected()),
        };
        self.advance();
        Ok(self.add(Expr::Is(left, what, not), place))
    }

    /// NFC and its like, as a text.
    pub(super) fn normal_form(&mut self) -> Result<Option<ExprId>> {
        use Keyword as K;
        let place = self.place();
        let text = match self.kind() {
            Kind::Word(K::Nfc) => "NFC",
            Kind::Word(K::Nfd) => "NFD",
            Kind::Word(K::Nfkc) => "NFKC",
            Kind::Word(K::Nfkd) => "NFKD",
            _ => return Ok(None),
        };
        self.advance();
        Ok(Some(self.add(Expr::Literal(Literal::Text(text.into())), place)))
    }

    /// BETWEEN, IN, LIKE and their like, with NOT where the token is that.
    fn like_or_in(&mut self, left: ExprId, token: Token) -> Result<ExprId> {
        use Keyword as K;
        let not = token.kind == Kind::NotBefore;
        if not {
            self.advance();
        }
        let word = self.advance();
        match word.kind {
            Kind::Word(K::Between) => self.between(left, not, token.start),
            Kind::Word(K::In) => self.in_list(left, not, token.start),
            Kind::Word(K::Similar) => {
                self.expect_word(K::To)?;
                self.like(left, Like::Similar, not, token.start)
            }
            kind => {
                let like = if kind == Kind::Word(K::Like) { Like::Like } else { Like::Ilike };
                if self.at_quantifier() {
                    let name = match (like, not) {
                        (Like::Like, false) => "~~",
                        (Like::Like, true) => "!~~",
                        (_, false) => "~~*",
                        (_, true) => "!~~*",
                    };
                    let name = OpName { schema: [].into(), name: name.into() };
                    return self.quantified(name, left, token.start);
                }
                self.like(left, like, not, token.start)
            }
        }
    }

    fn like(&mut self, left: ExprId, like: Like, not: bool, place: u32) -> Result<ExprId> {
        let pattern = self.operand(Level::Like, Side::None, Context::default())?;
        let escape = match self.accept_word(Keyword::Escape) {
            true => Some(self.operand(Level::Like, Side::None, Context::default())?),
            false => None,
        };
        Ok(self.add(Expr::Like(like, not, left, pattern, escape), place))
    }

    fn between(&mut self, value: ExprId, not: bool, place: u32) -> Result<ExprId> {
        let symmetric = self.accept_word(Keyword::Symmetric);
        if !symmetric {
            self.accept_word(Keyword::Asymmetric);
        }
        let low = self.narrow_expr()?;
        self.expect_word(Keyword::And)?;
        let high = self.operand(Level::Like, Side::None, Context::default())?;
        Ok(self.add(Expr::Between { not, symmetric, value, low, high }, place))
    }

    fn in_list(&mut self, left: ExprId, not: bool, place: u32) -> Result<ExprId> {
        match self.paren(None)? {
            Paren::Query(query) => {
                let found = self.add(Expr::InQuery(left, query), place);
                Ok(if not { self.add(Expr::Not(found), place) } else { found })
            }
            Paren::Exprs(all) => Ok(self.add(Expr::In(left, all.into(), not), place)),
        }
    }

    fn unique_predicate(&mut self) -> Result<ExprId> {
        let place = self.advance().start;
        if self.accept_word(Keyword::Nulls) {
            self.accept_word(Keyword::Not);
            self.expect_word(Keyword::Distinct)?;
        }
        self.query_in_parens()?;
        let text = "UNIQUE predicate is not yet implemented";
        Err(crate::Error::new("0A000", text).at(place))
    }

    pub(super) fn no_xml(&self) -> crate::Error {
        crate::Error::unserved("XML is not supported").at(self.place())
    }
}

/// A call of nothing but a name and arguments.
pub(super) fn plain_call(name: crate::ast::Path, args: Vec<Arg>) -> Call {
    Call {
        name,
        args,
        variadic: false,
        distinct: false,
        star: false,
        order: Vec::new(),
        within_group: false,
        filter: None,
        over: None,
        sql_syntax: false,
    }
}

/// Whether a token ends a list of targets, or one of them.
pub(super) fn ends_targets(kind: Kind) -> bool {
    use Keyword as K;
    match kind {
        Kind::End | Kind::Bad | Kind::Char(',' | ')' | ';') => true,
        Kind::Word(
            K::From
            | K::Where
            | K::Group
            | K::Having
            | K::Window
            | K::Into
            | K::On
            | K::Returning
            | K::With,
        ) => true,
        kind => goes_on_as_query(kind),
    }
}
