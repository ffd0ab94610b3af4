//! What does a bound query look like as SQL?
//!
//! As PostgreSQL 15 prints it: `pg_get_viewdef` and its family give these texts, pg_dump writes them out, and a text that
//! is bound again means the same and prints the same.
//!
//! The text is made from the bound tree alone and never from what a user typed: columns are numbers there, so they go by the
//! names that they have now, and a conversion is a node, so it is shown where the meaning would be another one without it. What
//! the meaning does not say is noted while the query is bound ([`crate::bind::bind_to_print`]): whether a conversion was
//! written, by which join's name a column was called, and SEARCH and CYCLE as clauses. To go over the parse tree with
//! types next to it was the other way: it would have had to expand `*`, merge columns and find conversions a second time.
//!
//! * [`names`]: what entries and their columns are called, so that each name is clear where it stands.
//! * [`mod@query`], [`clauses`], [`from`]: clauses and line breaks.
//! * [`expr`], [`columns`], [`calls`], [`subqueries`], [`literal`]: expressions.
//! * [`parens`]: which parentheses the pretty form leaves out.
//!
//! Names of relations and values come from a [`Facts`]. Knows nothing of where views are kept. Pure; the text asks for
//! memory as it grows.

mod calls;
mod clauses;
mod columns;
mod expr;
mod from;
mod literal;
mod names;
mod parens;
mod query;
mod quote;
mod subqueries;
mod xml;

pub use quote::{name, text};

use crate::ast::Name;
use crate::bound::{Bound, ExprId, QueryId};
use crate::catalog::Catalog;
use crate::{Error, Oid, Result, TypeRef};
use names::Scope;

/// A relation as it is called now.
#[derive(Clone, Debug)]
pub struct Called {
    /// Its schema.
    pub schema: Name,
    /// Its name.
    pub name: Name,
    /// Whether the search path finds it by its name alone.
    pub visible: bool,
    /// The names of its columns by their numbers; none for one that is there no more.
    pub columns: Vec<Option<Name>>,
}

/// What a printer asks of the database.
pub trait Facts {
    /// What a relation is called.
    ///
    /// # Errors
    /// The transaction has ended.
    fn relation(&self, oid: Oid) -> Result<Option<Called>>;

    /// The names of the fields of a composite type.
    fn composite(&self, row: Oid) -> Option<Vec<Name>>;

    /// A value's text as its type prints it.
    ///
    /// # Errors
    /// It is none of the type.
    fn shown(&self, ty: TypeRef, text: &str) -> Result<String>;

    /// Asks for memory for more bytes, and whether the statement goes on.
    ///
    /// # Errors
    /// There is none left; the statement was cancelled.
    fn room(&self, bytes: usize) -> Result<()>;
}

/// How a text is to look.
#[derive(Clone, Copy, Debug)]
pub struct Look {
    /// Only parentheses that are needed.
    pub pretty: bool,
    /// The length behind which columns and items of FROM go on a new line; never where there is none.
    pub wrap: Option<usize>,
}

impl Look {
    /// The form that restores whatever operators mean: all parentheses, each column on a line of its own.
    pub const PLAIN: Look = Look { pretty: false, wrap: Some(0) };
    /// The form for reading.
    pub const PRETTY: Look = Look { pretty: true, wrap: Some(0) };
}

/// What is printed, and what answers questions about it.
#[derive(Clone, Copy)]
pub struct Source<'a> {
    /// The tree.
    pub bound: &'a Bound,
    /// Types, operators and functions.
    pub catalog: &'a Catalog,
    /// Names and values.
    pub facts: &'a dyn Facts,
}

/// A query, whose columns have these names.
///
/// # Errors
/// `0A000`: it changes rows; those of [`Facts`].
pub fn query(source: Source<'_>, query: QueryId, columns: &[Name], look: Look) -> Result<String> {
    let mut printer = Printer::new(source, look);
    printer.query(query, Some(columns), true)?;
    Ok(printer.out)
}

/// An expression over the one relation that a query reads, whose columns need no name before them.
///
/// # Errors
/// As of [`query()`].
pub fn expression(source: Source<'_>, within: QueryId, id: ExprId, look: Look) -> Result<String> {
    let mut printer = Printer::new(source, look);
    let scope = printer.scope(source.bound.query(within))?;
    printer.scopes.push(scope);
    printer.expr(id, false)?;
    Ok(printer.out)
}

/// An expression over rows that have names, such as OLD and NEW, which stand before all columns.
///
/// # Errors
/// As of [`query()`].
pub fn of_rows(source: Source<'_>, within: QueryId, id: ExprId, look: Look) -> Result<String> {
    let mut printer = Printer::new(source, look);
    let query = source.bound.query(within);
    let mut scope = printer.scope(query)?;
    scope.names = query.entries.iter().map(|of| Some(of.name.clone())).collect();
    printer.prefix = true;
    printer.indent = STEP;
    printer.scopes.push(scope);
    printer.expr(id, false)?;
    Ok(printer.out)
}

/// Steps of the indentation.
const STEP: i32 = 8;
/// Of a JOIN below its FROM, and of columns below SELECT.
const STEP_IN: i32 = 4;
/// From here on the indentation grows slower.
const INDENT_MOST: i32 = 40;
/// Memory is asked for in such pieces.
const PIECE: usize = 16 << 10;
/// A rule runs on the stack if this is left of it, or on a new piece.
const RED_ZONE: usize = 128 << 10;
const MORE_STACK: usize = 2 << 20;

struct Printer<'a> {
    bound: &'a Bound,
    catalog: &'a Catalog,
    facts: &'a dyn Facts,
    look: Look,
    out: String,
    indent: i32,
    /// Whether columns have the name of their entry before them.
    prefix: bool,
    /// Queries that are being printed, the outermost first.
    scopes: Vec<Scope<'a>>,
    /// Bytes that were written, and those that were asked for.
    written: usize,
    asked: usize,
}

impl<'a> Printer<'a> {
    fn new(source: Source<'a>, look: Look) -> Printer<'a> {
        let Source { bound, catalog, facts } = source;
        Printer {
            bound,
            catalog,
            facts,
            look,
            out: String::new(),
            indent: 0,
            prefix: false,
            scopes: Vec::new(),
            written: 0,
            asked: 0,
        }
    }

    fn put(&mut self, text: &str) {
        self.out.push_str(text);
        self.written += text.len();
    }

    fn put_name(&mut self, text: &str) {
        self.put(&name(text));
    }

    fn put_type(&mut self, ty: TypeRef) {
        let shown = self.catalog.shown_with(ty);
        self.put("::");
        self.put(&shown);
    }

    /// Runs a rule with enough stack, once there is memory for what was written.
    fn deeper<T>(&mut self, rule: impl FnOnce(&mut Self) -> Result<T>) -> Result<T> {
        if self.written >= self.asked {
            let bytes = self.written - self.asked + PIECE;
            self.facts.room(bytes)?;
            self.asked += bytes;
        }
        stacker::maybe_grow(RED_ZONE, MORE_STACK, || rule(self))
    }

    /// A new line with a word, the indentation changed before and after it, and `more` blanks.
    fn line(&mut self, word: &str, before: i32, after: i32, more: i32) {
        self.indent += before;
        self.cut_blanks();
        let depth = match self.indent < INDENT_MOST {
            true => self.indent.max(0),
            false => (INDENT_MOST + (self.indent - INDENT_MOST) / (STEP / 2)) % INDENT_MOST,
        };
        self.out.push('\n');
        let blanks = (depth + more).max(0) as usize;
        self.out.extend(std::iter::repeat_n(' ', blanks));
        self.written += blanks;
        self.put(word);
        self.indent = (self.indent + after).max(0);
    }

    /// A clause's word.
    fn clause(&mut self, word: &str, more: i32) {
        self.line(word, -STEP, STEP, more);
    }

    fn cut_blanks(&mut self) {
        let kept = self.out.trim_end_matches(' ').len();
        self.out.truncate(kept);
    }

    /// What a rule writes, apart from the text.
    fn apart(&mut self, rule: impl FnOnce(&mut Self) -> Result<()>) -> Result<String> {
        let before = std::mem::take(&mut self.out);
        let made = rule(self);
        let text = std::mem::replace(&mut self.out, before);
        made.map(|()| text)
    }

    /// The length of the line that is being written, if a text follows on it.
    fn width_with(&self, text: &str) -> usize {
        let line = self.out.rfind('\n').map_or(0, |at| at + 1);
        self.out.len() - line + text.len()
    }

    /// Parentheses that the pretty form leaves out.
    fn plain_paren(&mut self, paren: &str) {
        if !self.look.pretty {
            self.put(paren);
        }
    }

    fn here(&self) -> &Scope<'a> {
        self.scopes.last().expect("a query is being printed")
    }

    /// Things with commas between them.
    fn list<T: Copy>(
        &mut self,
        all: &[T],
        mut one: impl FnMut(&mut Self, T) -> Result<()>,
    ) -> Result<()> {
        for (at, item) in all.iter().enumerate() {
            if at > 0 {
                self.put(", ");
            }
            one(self, *item)?;
        }
        Ok(())
    }

    fn names(&mut self, all: &[Name]) {
        for (at, name) in all.iter().enumerate() {
            if at > 0 {
                self.put(", ");
            }
            self.put_name(name);
        }
    }
}

/// What no view is made of.
fn unserved() -> Error {
    Error::unserved("printing this query is not supported yet")
}
