//! How are texts of SQL taken out of a body?
//!
//! They are passed over word by word up to where they end, and read by SQL's grammar.

use std::sync::Arc;

use onlap_pg::ast::{self, Expr};
use onlap_pg::grammar::Kind as Token;

use super::body::{Query, Role, Sql};
use super::read::Reader;
use crate::error::{Result, SqlError, state};
use crate::parse::{self, Parsed};

/// What stands before an expression to make a query of it.
pub const EXPR: &str = "SELECT ";

impl Reader<'_> {
    /// A text of SQL that was read up to here: as it is carried out, and as messages show it.
    fn sql(&mut self, text: &str, shown: String, further: i64, role: Role) -> Result<Sql> {
        let all = parse::statements(text).map_err(|e| e.within_text(&shown, further))?;
        let Ok([parsed]) = <[Parsed; 1]>::try_from(all) else {
            return Err(self.words.unexpected());
        };
        no_past(&parsed)?;
        if role != Role::Statement && parsed.tree.into_of_first() {
            return Err(SqlError::new(state::SYNTAX, "syntax error at or near \"INTO\""));
        }
        self.sqls += 1;
        let is_plain = is_plain(&parsed);
        let (parsed, scope) = (Arc::new(parsed), self.scope);
        Ok(Sql { parsed, shown, further, role, is_plain, scope, number: self.sqls - 1 })
    }

    /// An expression.
    pub(super) fn expression(&mut self, shown: String) -> Result<Sql> {
        let text = format!("{EXPR}{shown}");
        self.sql(&text, shown, -(EXPR.len() as i64), Role::Expression)
    }

    /// A statement.
    pub(super) fn whole_statement(&mut self, text: String) -> Result<Sql> {
        self.sql(&text.clone(), text, 0, Role::Statement)
    }

    /// What is assigned by a statement that begins at a place.
    pub(super) fn assigned(&mut self, start: usize) -> Result<Sql> {
        let (from, to) = self.pass(&[";"], true)?;
        let text = format!("{EXPR}{}", self.words.text(from, to));
        let before = self.words.text(start, from).chars().count();
        let shown = self.words.text(start, to).to_string();
        self.sql(&text, shown, before as i64 - EXPR.len() as i64, Role::Assignment)
    }

    /// An expression up to a word or character, which is left.
    pub(super) fn expr_until(&mut self, end: &str) -> Result<Sql> {
        self.expr_to(&[end])
    }

    pub(super) fn expr_to(&mut self, ends: &[&str]) -> Result<Sql> {
        let (start, end) = self.pass(ends, true)?;
        let shown = self.words.text(start, end).to_string();
        self.expression(shown)
    }

    /// Passes words up to one of some ends outside of brackets; the places of what was passed.
    pub(super) fn pass(&mut self, ends: &[&str], is_expr: bool) -> Result<(usize, usize)> {
        let (start, first) = (self.words.start(), self.words.at());
        let mut open = 0_usize;
        loop {
            let kind = self.words.kind();
            let is_end = |end: &&str| match *end {
                ";" => kind == Token::Char(';'),
                "," => kind == Token::Char(','),
                ")" => kind == Token::Char(')'),
                "]" => kind == Token::Char(']'),
                ":" => kind == Token::Char(':'),
                ".." => kind == Token::DotDot,
                word => self.words.is(word),
            };
            if open == 0 && ends.iter().any(is_end) {
                break;
            }
            match kind {
                Token::Char('(' | '[') => open += 1,
                Token::Char(')' | ']') if open == 0 => {
                    return Err(SqlError::new(state::SYNTAX, "mismatched parentheses"));
                }
                Token::Char(')' | ']') => open -= 1,
                Token::Bad => return Err(self.words.unexpected()),
                Token::End | Token::Char(';') => return Err(self.missing(ends, open, is_expr)),
                _ => {}
            }
            self.words.advance();
        }
        if self.words.at() == first {
            let near = self.words.unexpected();
            let text = near.message().replacen("syntax error", "missing expression", 1);
            return Err(SqlError::new(state::SYNTAX, text));
        }
        Ok((start, self.words.last_end()))
    }

    fn missing(&self, ends: &[&str], open: usize, is_expr: bool) -> SqlError {
        if open > 0 {
            return SqlError::new(state::SYNTAX, "mismatched parentheses");
        }
        let end = ends.last().copied().unwrap_or(";");
        let end = match end {
            ";" => end.to_string(),
            word => word.to_uppercase(),
        };
        let what = if is_expr { "expression" } else { "statement" };
        SqlError::new(state::SYNTAX, format!("missing \"{end}\" at end of SQL {what}"))
    }

    /// A query of EXECUTE, behind the word: up to one of some ends.
    pub(super) fn dynamic(&mut self, ends: &[&str]) -> Result<Query> {
        let all: Vec<&str> = ends.iter().chain(["using"].iter()).copied().collect();
        let text = self.expr_to(&all)?;
        let mut values = Vec::new();
        if self.words.accept("using") {
            let ends: Vec<&str> = [","].iter().chain(ends).copied().collect();
            loop {
                values.push(self.expr_to(&ends)?);
                if !self.words.accept_char(',') {
                    break;
                }
            }
        }
        Ok(Query::Dynamic(text, values))
    }
}

/// A routine reads what there is now.
///
/// # Errors
/// `0A000`
pub fn no_past(parsed: &Parsed) -> Result<()> {
    match parsed.as_of {
        Some(_) => Err(SqlError::unsupported("AS OF in a routine")),
        None => Ok(()),
    }
}

/// Whether a text is one expression without a query in it.
pub fn is_plain(parsed: &Parsed) -> bool {
    let ast::Statement::Query(query) = parsed.statement() else { return false };
    let tree = &parsed.tree;
    let query = tree.query(*query);
    let ast::Body::Select(select) = &query.body else { return false };
    let alone = select.from.is_empty()
        && select.filter.is_none()
        && select.having.is_none()
        && select.group.is_empty()
        && select.windows.is_empty()
        && select.distinct.is_none()
        && query.with.is_none()
        && query.order.is_empty()
        && query.limit.is_none()
        && query.offset.is_none()
        && query.locks.is_empty();
    let [target] = &select.targets[..] else { return false };
    let plain = !matches!(tree.expr(target.value), Expr::Star(_)) && tree.queries() == 1;
    alone && plain
}
