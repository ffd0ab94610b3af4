//! What does a statement say, as PostgreSQL's grammar reads it?
//!
//! A [`Source`] is a statement's tree with its text: what is kept of a definition, as a CHECK or a view's query, is kept as
//! it was written.

use onlap_pg::ast::{self, Span, Tree};
use onlap_pg::grammar::{Kind as Token, Tokens};

use crate::catalog::frozen::Edit;
use crate::deep::Depth;
use crate::error::{Result, SqlError};

/// A statement with its text.
#[derive(Clone, Copy)]
pub struct Source<'a> {
    /// Its tree.
    pub tree: &'a Tree,
    /// The text that was read.
    pub text: &'a str,
    /// The same with what is Onlap's own, AS OF and UPSERT; places are the same.
    pub written: &'a str,
    /// How deep it is.
    pub depth: Depth,
}

impl<'a> Source<'a> {
    /// A part of the text.
    pub fn of(&self, span: Span) -> &'a str {
        span.of(self.text)
    }

    /// A part of the text alone, at its place: places in it are those of the statement.
    pub fn alone(&self, span: Span) -> String {
        let before = self.text.get(..span.start as usize).unwrap_or_default();
        let mut text = " ".repeat(before.chars().count());
        text.push_str(self.of(span));
        text
    }

    /// The edits of the text of a part alone, as those of the whole.
    pub fn edits_of(&self, span: Span, mut edits: Vec<Edit>) -> Vec<Edit> {
        let before = self.text.get(..span.start as usize).unwrap_or_default();
        let more = before.len() - before.chars().count();
        edits.iter_mut().for_each(|edit| (edit.0, edit.1) = (edit.0 + more, edit.1 + more));
        edits
    }

    /// An error of a part of what was written, which was read by itself: its place is one of the whole.
    pub fn within(&self, span: Span, error: SqlError) -> SqlError {
        let before = self.written.get(..span.start as usize).unwrap_or_default();
        error.after(before.chars().count())
    }

    /// An error at a place of the text.
    pub fn at(&self, error: SqlError, place: u32) -> SqlError {
        match self.text.get(..place as usize) {
            Some(before) => error.at(before.chars().count() + 1),
            None => error,
        }
    }
}

/// The parts of a name, or names of one part.
pub fn strings(names: &[ast::Name]) -> Vec<String> {
    names.iter().map(|name| name.to_string()).collect()
}

/// A role's name, or the word that stands for one.
pub fn role_word(role: &ast::Role) -> &str {
    match role {
        ast::Role::Named(name) => name,
        ast::Role::Current => "current_user",
        ast::Role::Session => "session_user",
        ast::Role::Public => "public",
    }
}

/// Fails where a text has a parameter, which has no value.
///
/// # Errors
/// `42P02`, at its place.
pub fn no_parameters(text: &str) -> Result<()> {
    let first = Tokens::of(text).all.iter().find_map(|token| match token.kind {
        Token::Param(number) => Some((number, token.start as usize)),
        _ => None,
    });
    let Some((number, start)) = first else { return Ok(()) };
    let before = text.get(..start).unwrap_or_default();
    let error = SqlError::new("42P02", format!("there is no parameter ${number}"));
    Err(error.at(before.chars().count() + 1))
}
