//! What all rules of the grammar share: the tokens ahead, names, depth and errors.

use super::keyword::{Class, Keyword};
use super::scan::{self, Tokens};
use super::token::{Kind, Token};
use crate::ast::{Expr, ExprId, Name, Path, Tree};
use crate::{Error, Result};

/// Rules within each other, as brackets, calls and queries are.
const MAX_DEPTH: u32 = 5000;
/// Stack left below which a rule runs on another.
const RED_ZONE: usize = 128 << 10;
/// Bytes of such a stack.
const MORE_STACK: usize = 2 << 20;

/// A text on its way to a tree.
pub(super) struct Parser<'a> {
    pub(super) tokens: &'a Tokens<'a>,
    at: usize,
    depth: u32,
    pub(super) tree: Tree,
}

impl<'a> Parser<'a> {
    pub(super) fn new(tokens: &'a Tokens<'a>) -> Parser<'a> {
        Parser { tokens, at: 0, depth: 0, tree: Tree::default() }
    }

    /// The token that comes next.
    pub(super) fn token(&self) -> Token {
        self.tokens.all[self.at]
    }

    /// What comes next.
    pub(super) fn kind(&self) -> Kind {
        self.token().kind
    }

    /// What comes after some more tokens.
    pub(super) fn ahead(&self, by: usize) -> Kind {
        self.tokens.all.get(self.at + by).map_or(Kind::End, |token| token.kind)
    }

    /// Where the next token begins.
    pub(super) fn place(&self) -> u32 {
        self.token().start
    }

    /// Where the last token ended.
    pub(super) fn last_end(&self) -> u32 {
        self.at.checked_sub(1).map_or(0, |at| self.tokens.all[at].end)
    }

    /// Passes a token, but neither the end nor what cannot be read.
    pub(super) fn advance(&mut self) -> Token {
        let token = self.token();
        if !matches!(token.kind, Kind::End | Kind::Bad) {
            self.at += 1;
        }
        token
    }

    /// Passes the next token where it is of a kind.
    pub(super) fn accept(&mut self, kind: Kind) -> bool {
        let is = self.kind() == kind;
        if is {
            self.advance();
        }
        is
    }

    pub(super) fn accept_char(&mut self, c: char) -> bool {
        self.accept(Kind::Char(c))
    }

    pub(super) fn accept_word(&mut self, word: Keyword) -> bool {
        self.accept(Kind::Word(word))
    }

    pub(super) fn at_word(&self, word: Keyword) -> bool {
        self.kind() == Kind::Word(word)
    }

    pub(super) fn at_char(&self, c: char) -> bool {
        self.kind() == Kind::Char(c)
    }

    /// # Errors
    /// Something else comes next.
    pub(super) fn expect_char(&mut self, c: char) -> Result<()> {
        if self.accept_char(c) { Ok(()) } else { Err(self.unexpected()) }
    }

    /// # Errors
    /// Something else comes next.
    pub(super) fn expect_word(&mut self, word: Keyword) -> Result<()> {
        if self.accept_word(word) { Ok(()) } else { Err(self.unexpected()) }
    }

    /// The error that the next token cannot stand where it does.
    pub(super) fn unexpected(&self) -> Error {
        self.unexpected_at(self.token())
    }

    /// The error that the token before cannot stand where it does.
    pub(super) fn unexpected_before(&self) -> Error {
        self.unexpected_at(self.tokens.all[self.at.saturating_sub(1)])
    }

    pub(super) fn unexpected_at(&self, token: Token) -> Error {
        match (token.kind, &self.tokens.error) {
            (Kind::Bad, Some(error)) => error.clone(),
            _ => self.yell("syntax error", token),
        }
    }

    /// An error of a token, worded as PostgreSQL's parser words it.
    pub(super) fn yell(&self, message: &str, token: Token) -> Error {
        scan::error(self.tokens.text, message, token.start as usize, token.end as usize)
    }

    /// A rule of the grammar that is checked behind it.
    pub(super) fn refuse(&self, message: impl std::convert::Into<String>, place: u32) -> Error {
        Error::new("42601", message).at(place)
    }

    /// Runs a rule within the one that runs.
    ///
    /// # Errors
    /// `54001`.
    pub(super) fn deeper<T>(&mut self, rule: impl FnOnce(&mut Self) -> Result<T>) -> Result<T> {
        if self.depth >= MAX_DEPTH {
            return Err(Error::new("54001", "stack depth limit exceeded").hint(format!(
                "A statement has at most {MAX_DEPTH} rules within each other: some 5,000 brackets, or 2,500 calls."
            )));
        }
        self.depth += 1;
        let made = stacker::maybe_grow(RED_ZONE, MORE_STACK, || rule(self));
        self.depth -= 1;
        made
    }

    pub(super) fn add(&mut self, expr: Expr, place: u32) -> ExprId {
        self.tree.add(expr, place)
    }

    /// The value of a token.
    pub(super) fn value(&self, token: Token) -> Name {
        match token.word() {
            Some(word) => word.word().into(),
            None => self.tokens.value(token).into(),
        }
    }

    /// Whether a token may be a name that these classes of keywords may be, too.
    pub(super) fn names(kind: Kind, classes: &[Class]) -> bool {
        match kind {
            Kind::Name => true,
            Kind::Word(word) => classes.contains(&word.class()),
            // `nulls first`: the word is free, but has been taken for the beginning of an order.
            _ => false,
        }
    }

    /// Whether a column, a table or their like may be called so.
    pub(super) fn is_column_name(kind: Kind) -> bool {
        Parser::names(kind, &[Class::Free, Class::Column])
    }

    /// Whether a function or type may be called so.
    pub(super) fn is_call_name(kind: Kind) -> bool {
        Parser::names(kind, &[Class::Free, Class::Call])
    }

    fn is_label(kind: Kind) -> bool {
        matches!(kind, Kind::Name | Kind::Word(_))
    }

    /// Whether a column may have this label without AS.
    pub(super) fn is_bare_label(kind: Kind) -> bool {
        match kind {
            Kind::Name => true,
            Kind::Word(word) => word.is_bare_label(),
            _ => false,
        }
    }

    fn take(&mut self, is: bool) -> Result<Name> {
        match is {
            true => {
                let token = self.advance();
                Ok(self.value(token))
            }
            false => Err(self.unexpected()),
        }
    }

    /// A column's, a table's or another object's name.
    pub(super) fn column_name(&mut self) -> Result<Name> {
        self.take(Parser::is_column_name(self.kind()))
    }

    /// A function's or a type's name.
    pub(super) fn call_name(&mut self) -> Result<Name> {
        self.take(Parser::is_call_name(self.kind()))
    }

    /// A name behind AS or a dot.
    pub(super) fn label(&mut self) -> Result<Name> {
        self.take(Parser::is_label(self.kind()))
    }

    /// Names with commas between them.
    pub(super) fn column_names(&mut self) -> Result<Vec<Name>> {
        let mut names = vec![self.column_name()?];
        while self.accept_char(',') {
            names.push(self.column_name()?);
        }
        Ok(names)
    }

    /// `(a, b)`
    pub(super) fn names_in_parens(&mut self) -> Result<Vec<Name>> {
        self.expect_char('(')?;
        let names = self.column_names()?;
        self.expect_char(')')?;
        Ok(names)
    }

    /// A name of one part or several, all of them names.
    pub(super) fn any_name(&mut self) -> Result<Path> {
        let mut parts = vec![self.column_name()?];
        while self.accept_char('.') {
            parts.push(self.label()?);
        }
        Ok(parts.into())
    }

    /// A function's name that is read as a column's path would be: brackets and `*` are refused once it has ended.
    pub(super) fn qualified_name(&mut self) -> Result<Path> {
        let first = self.column_name()?;
        self.further_parts(first)
    }

    /// The name of a table or its like: a database, a schema and the name at most.
    pub(super) fn relation_name(&mut self) -> Result<Path> {
        let place = self.place();
        let name = self.qualified_name()?;
        self.checked_relation(name, place)
    }

    /// The name, if a table may have as many parts.
    pub(super) fn checked_relation(&self, name: Path, place: u32) -> Result<Path> {
        match name.len() {
            0..=3 => Ok(name),
            _ => {
                let text = "improper qualified name (too many dotted names)";
                Err(self.refuse(format!("{text}: {}", name.join(".")), place))
            }
        }
    }

    /// The parts of a name behind its first.
    pub(super) fn further_parts(&mut self, first: Name) -> Result<Path> {
        let mut parts = vec![first];
        let mut is_name = true;
        loop {
            if self.at_char('.') {
                self.advance();
                match self.accept_char('*') {
                    true => is_name = false,
                    false => parts.push(self.label()?),
                }
            } else if self.at_char('[') {
                self.subscript()?;
                is_name = false;
            } else if is_name {
                return Ok(parts.into());
            } else {
                return Err(self.unexpected());
            }
        }
    }

    /// A number of 32 bits.
    pub(super) fn int(&mut self) -> Result<i32> {
        match self.kind() {
            Kind::Int(number) => {
                self.advance();
                Ok(number)
            }
            _ => Err(self.unexpected()),
        }
    }

    /// Expressions with commas between them.
    pub(super) fn exprs(&mut self) -> Result<Vec<ExprId>> {
        let mut all = vec![self.expr()?];
        while self.accept_char(',') {
            all.push(self.expr()?);
        }
        Ok(all)
    }

    /// `(a, b)` of expressions.
    pub(super) fn exprs_in_parens(&mut self) -> Result<Box<[ExprId]>> {
        self.expect_char('(')?;
        let all = self.exprs()?;
        self.expect_char(')')?;
        Ok(all.into())
    }
}
