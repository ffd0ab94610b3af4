//! From a statement's text to its tree, by PostgreSQL 15's grammar.
//!
//! ```
//! use onlap_pg::ast::{Expr, Statement};
//!
//! let tree = onlap_pg::grammar::parse("select 1 + 2 * 3")?;
//! assert_eq!(tree.statements.len(), 1);
//! assert!(matches!(tree.statements[0].statement, Statement::Query(_)));
//! let error = onlap_pg::grammar::parse("select 1 < 2 < 3").unwrap_err();
//! assert_eq!((error.message.as_str(), error.position), ("syntax error at or near \"<\"", Some(13)));
//! # Ok::<(), onlap_pg::Error>(())
//! ```
//!
//! [`scan`] makes tokens, the other rooms read them by recursive descent, each rule of PostgreSQL's grammar by a function
//! or a part of one. Errors point to the token that PostgreSQL's point to: the first one that no rule goes on with.
//! What is read: queries, statements that change rows, definitions of what is served and statements about sessions,
//! and the statements that are Onlap's own (`UPSERT INTO`, `CHECK TABLE`, `BACKUP TO`). Of others, as CREATE FUNCTION, the
//! first word alone is told ([`crate::ast::Statement::Other`]).

mod calls;
mod change;
mod copy;
mod cursor;
mod define;
mod escapes;
mod expr;
mod from;
mod grant;
mod keyword;
mod options;
mod parser;
mod primary;
mod query;
mod scan;
mod settings;
mod token;
mod types;
mod utility;
mod window;
mod xml;

pub use keyword::{Class, Keyword};
pub use scan::Tokens;
pub use token::{Kind, Token};

use crate::ast::{Statement, Tree, TypeName, Written};
use crate::{Error, Result};
use parser::Parser;

/// Reads the statements of a text.
///
/// # Errors
/// PostgreSQL's, with their places: `42601` for most, `54001` where more than five thousand brackets are within each
/// other, `54000` for a text of more than 1 GiB.
pub fn parse(text: &str) -> Result<Tree> {
    parse_tokens(&Tokens::of(text))
}

/// Reads the statements of a text that was scanned.
///
/// # Errors
/// As of [`parse`].
pub fn parse_tokens(tokens: &Tokens<'_>) -> Result<Tree> {
    if tokens.text.len() > 1 << 30 {
        return Err(Error::new("54000", "a statement is longer than 1 GiB"));
    }
    let mut parser = Parser::new(tokens);
    loop {
        while parser.accept_char(';') {}
        if parser.kind() == Kind::End {
            return Ok(parser.tree);
        }
        let start = parser.place();
        let statement = parser.statement()?;
        let end = parser.last_end();
        parser.tree.statements.push(Written { statement, start, end });
        if parser.kind() != Kind::End && !parser.at_char(';') {
            return Err(parser.unexpected());
        }
    }
}

/// Reads the name of a type, with its arguments and bounds, and nothing else.
///
/// # Errors
/// `42601`
pub fn type_name(text: &str) -> Result<(Tree, TypeName)> {
    let tokens = Tokens::of(text);
    let mut parser = Parser::new(&tokens);
    let name = parser.type_name()?;
    match parser.kind() {
        Kind::End => Ok((parser.tree, name)),
        _ => Err(parser.unexpected()),
    }
}

/// Words that statements begin with that are not read.
const OTHERS: &[Keyword] = &[Keyword::Import, Keyword::Load, Keyword::Security];

impl Parser<'_> {
    fn statement(&mut self) -> Result<Statement> {
        if let Kind::Word(word) = self.kind() {
            if OTHERS.contains(&word) {
                return self.other(word);
            }
            if let Some(statement) = self.defining(word)? {
                return Ok(statement);
            }
        }
        match self.backup()? {
            Some(statement) => Ok(statement),
            None => self.preparable(),
        }
    }

    /// A statement that is not read: all up to the next semicolon outside of brackets.
    pub(super) fn other(&mut self, word: Keyword) -> Result<Statement> {
        let mut open = 0_u32;
        // The body of a function: BEGIN ATOMIC … END, with CASE … END in it.
        let mut body = 0_u32;
        loop {
            match self.kind() {
                Kind::Word(Keyword::Begin) if self.ahead(1) == Kind::Word(Keyword::Atomic) => {
                    body += 1
                }
                Kind::Word(Keyword::Case) if body > 0 => body += 1,
                Kind::Word(Keyword::End) => body = body.saturating_sub(1),
                Kind::Bad => return Err(self.unexpected()),
                Kind::End => break,
                Kind::Char(';') if open + body == 0 => break,
                Kind::Char('(') => open += 1,
                Kind::Char(')') => open = open.saturating_sub(1),
                _ => {}
            }
            self.advance();
        }
        Ok(Statement::Other(word.word().into()))
    }
}
