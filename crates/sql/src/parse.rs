//! Which statements does a text hold?
//!
//! Queries and changes of rows are read by sqlparser, in PostgreSQL's dialect, and by PostgreSQL's own grammar; what
//! sqlparser does not know is told apart here by the words of a statement: `UPSERT INTO`, `… AS OF …`, and forms of
//! PostgreSQL that it refuses. All other statements are read by PostgreSQL's grammar alone.
//!
//! How deep a statement is gets known from its tokens, before the parser recurses (`crate::deep`).

use std::borrow::Cow;
use std::ops::Range;
use std::sync::Arc;

use datafusion::sql::sqlparser::ast::{Statement, Value as AstValue};
use datafusion::sql::sqlparser::dialect::PostgreSqlDialect;
use datafusion::sql::sqlparser::parser::{Parser, ParserError};
use datafusion::sql::sqlparser::tokenizer::{Location, Token, TokenWithSpan, Tokenizer, Word};
use onlap_pg::ast;

use crate::deep::{self, Deep, Depth};
use crate::error::{Result, SqlError, state};
use crate::query::sql_error;
use crate::source::Source;

mod balance;
mod dialect;

/// A statement's tree.
pub type Tree = Deep<Statement>;

/// A statement of a text.
#[derive(Clone, Debug)]
pub struct Parsed {
    /// Its text, without a semicolon.
    pub text: String,
    /// What it says.
    pub body: Body,
    /// How deep its trees are.
    pub depth: Depth,
    /// The moment that `AS OF` names.
    pub as_of: Option<Moment>,
    /// Where it is said.
    said: Option<Range<usize>>,
    /// Its tree by PostgreSQL's grammar; none of what is no query and changes no rows, or is wrong.
    pub tree: Option<Arc<ast::Tree>>,
}

impl Parsed {
    /// The text as PostgreSQL's grammar reads it: AS OF is not of that grammar, and UPSERT is a word of our own, as long
    /// as INSERT. Places in it are those of the text.
    pub fn bindable(&self) -> Cow<'_, str> {
        let upsert = match &self.body {
            Body::Upsert(_) => self.text.to_ascii_uppercase().find("UPSERT"),
            _ => None,
        };
        if upsert.is_none() && self.said.is_none() {
            return self.text.as_str().into();
        }
        let mut text = self.text.clone();
        if let Some(begin) = upsert {
            text.replace_range(begin..begin + "UPSERT".len(), "INSERT");
        }
        if let Some(said) = &self.said {
            let blanks = " ".repeat(said.len());
            text.replace_range(said.clone(), &blanks);
        }
        text.into()
    }

    /// The statement by PostgreSQL's grammar, with the text that was read.
    pub fn source<'a>(&'a self, tree: &'a ast::Tree, text: &'a str) -> Source<'a> {
        Source { tree, text, written: &self.text, depth: self.depth }
    }

    fn with_tree(mut self) -> Parsed {
        let (Body::Sql(tree) | Body::Upsert(tree) | Body::Overriding(tree)) = &self.body else {
            return self;
        };
        let is_bound = matches!(
            **tree,
            Statement::Query(_)
                | Statement::Insert(_)
                | Statement::Update(_)
                | Statement::Delete(_)
        );
        self.tree = is_bound
            .then(|| onlap_pg::grammar::parse(&self.bindable()).ok())
            .flatten()
            .map(Arc::new);
        self
    }
}

/// What a statement says.
#[derive(Clone, Debug)]
pub enum Body {
    /// As sqlparser has it.
    Sql(Tree),
    /// `UPSERT INTO`: an INSERT that replaces rows blindly.
    Upsert(Tree),
    /// An INSERT that says whose values identity columns get.
    Overriding(Tree),
    /// Neither a query nor a change of rows: as PostgreSQL's grammar has it.
    Defined(Arc<ast::Tree>),
    /// A statement of PostgreSQL's that is not served.
    Other,
}

/// A moment of the past.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Moment {
    /// A commit's number.
    Commit(u64),
    /// A time, as text.
    Time(String),
}

/// First words of queries and of statements that change rows.
const OF_ROWS: &[&str] =
    &["SELECT", "INSERT", "UPDATE", "DELETE", "MERGE", "WITH", "VALUES", "TABLE", "UPSERT"];

/// All statements of a text, empty ones left out.
///
/// # Errors
/// `42601` with the position.
pub fn statements(sql: &str) -> Result<Vec<Parsed>> {
    let tokens = tokens_of(sql)?;
    let mut parsed = Vec::new();
    for part in tokens.split(|t| t.token == Token::SemiColon) {
        let words = || part.iter().filter(|t| !is_blank(&t.token));
        if words().next().is_none() {
            continue;
        }
        parsed.push(statement(sql, part)?);
    }
    Ok(parsed)
}

/// The one query of a text: a view's.
///
/// # Errors
/// `42601`.
pub fn one(sql: &str) -> Result<Tree> {
    match statements(sql)?.into_iter().next().map(|p| p.body) {
        Some(Body::Sql(statement)) => Ok(statement),
        _ => Err(SqlError::new(state::SYNTAX, "a query was expected")),
    }
}

/// One statement as sqlparser has it, whatever its words.
///
/// # Errors
/// `42601`.
pub fn by_parser(sql: &str) -> Result<Tree> {
    let mut tokens = tokens_of(sql)?;
    tokens.retain(|t| !is_blank(&t.token));
    let depth = deep::measure_parsed(&tokens);
    tree(sql, tokens, depth)
}

fn tokens_of(sql: &str) -> Result<Vec<TokenWithSpan>> {
    let tokens = Tokenizer::new(&PostgreSqlDialect {}, sql).tokenize_with_location();
    tokens.map_err(|e| SqlError::new(state::SYNTAX, e.to_string()))
}

/// A parser of tokens whose depth was measured, so that it need not be counted; `tokens` of them, about.
pub fn parser(tokens: usize) -> Parser<'static> {
    dialect::begin(tokens);
    Parser::new(&dialect::Statements).with_recursion_limit(usize::MAX / 2)
}

/// The one statement of these tokens, whose trees are so deep.
fn tree(sql: &str, tokens: Vec<TokenWithSpan>, depth: Depth) -> Result<Tree> {
    depth.check()?;
    deep::run(depth, || {
        let mut parser = parser(tokens.len()).with_tokens_with_locations(tokens);
        let statement = parser.parse_statement().map_err(|e| syntax(sql, &e))?;
        let mut tree = Tree::new(statement, depth);
        let next = parser.peek_token();
        if next.token != Token::EOF {
            let position = offset(sql, next.span.start.line, next.span.start.column);
            let text = format!("syntax error at or near \"{}\"", next.token);
            return Err(SqlError::new(state::SYNTAX, text).at(position));
        }
        balance::balance(&mut tree);
        Ok(tree)
    })
}

fn is_blank(token: &Token) -> bool {
    matches!(token, Token::Whitespace(_) | Token::EOF)
}

fn word(token: &Token) -> Option<&str> {
    match token {
        Token::Word(Word { value, quote_style: None, .. }) => Some(value),
        _ => None,
    }
}

fn statement(sql: &str, tokens: &[TokenWithSpan]) -> Result<Parsed> {
    let text = text_of(sql, tokens);
    let mut tokens: Vec<TokenWithSpan> =
        tokens.iter().filter(|t| !is_blank(&t.token)).cloned().collect();
    let depth = deep::measure_parsed(&tokens);
    let begins = |words: &[&str]| {
        words.iter().enumerate().all(|(i, expected)| {
            let found = tokens.get(i).and_then(|t| word(&t.token));
            found.is_some_and(|w| w.eq_ignore_ascii_case(expected))
        })
    };
    let of_rows = OF_ROWS.iter().any(|word| begins(&[word]))
        || tokens.first().is_some_and(|first| first.token == Token::LParen);
    if !of_rows {
        depth.check()?;
        return defined(sql, text, tokens, depth);
    }
    let (upsert, inserts) = (begins(&["UPSERT", "INTO"]), begins(&["INSERT"]));
    if upsert {
        tokens[0].token = Token::make_keyword("INSERT");
    }
    let overriding = inserts && take_overriding(&mut tokens);
    let start = tokens.first().map_or(0, |first| offset_of(sql, first.span.start));
    let (as_of, said) = match take_moment(sql, &mut tokens)? {
        Some((moment, said)) => (Some(moment), Some(said.start - start..said.end - start)),
        None => (None, None),
    };
    join_lock_modes(&mut tokens);
    let statement = tree(sql, tokens, depth)?;
    let body = match (upsert, overriding) {
        (true, _) => Body::Upsert(statement),
        (false, true) => Body::Overriding(statement),
        (false, false) => Body::Sql(statement),
    };
    Ok(Parsed { text, body, depth, as_of, said, tree: None }.with_tree())
}

/// A statement that is read by PostgreSQL's grammar alone.
fn defined(
    sql: &str,
    text: String,
    mut tokens: Vec<TokenWithSpan>,
    depth: Depth,
) -> Result<Parsed> {
    let start = tokens.first().map_or(0, |first| offset_of(sql, first.span.start));
    // Only what makes a relation of a query looks at the past itself: other statements hold one that does.
    let creates = tokens.first().and_then(|first| word(&first.token));
    let creates = creates.is_some_and(|word| word.eq_ignore_ascii_case("create"));
    let (as_of, said) = match take_moment(sql, &mut tokens)? {
        Some((moment, said)) => {
            (creates.then_some(moment), Some(said.start - start..said.end - start))
        }
        None => (None, None),
    };
    let mut parsed = Parsed { text, body: Body::Other, depth, as_of, said, tree: None };
    let tree = deep::run(depth, || onlap_pg::grammar::parse(&parsed.bindable()));
    let tree = tree.map_err(|mut e| {
        e.position = e.position.map(|place| place + start as u32);
        sql_error(&e, sql)
    })?;
    let is_served =
        matches!(&tree.statements[..], [one] if !matches!(one.statement, ast::Statement::Other(_)));
    if is_served {
        parsed.body = Body::Defined(Arc::new(tree));
    }
    Ok(parsed)
}

/// Takes `OVERRIDING SYSTEM | USER VALUE` out of an INSERT, which the parser does not know; whether it was there.
fn take_overriding(tokens: &mut Vec<TokenWithSpan>) -> bool {
    let is = |i: usize, expected: &str| {
        let found = tokens.get(i).and_then(|t| word(&t.token));
        found.is_some_and(|w| w.eq_ignore_ascii_case(expected))
    };
    let said = |at: &usize| {
        is(*at, "OVERRIDING") && (is(at + 1, "SYSTEM") || is(at + 1, "USER")) && is(at + 2, "VALUE")
    };
    let found = (0..tokens.len()).find(said);
    if let Some(at) = found {
        tokens.drain(at..at + 3);
    }
    found.is_some()
}

/// FOR NO KEY UPDATE and FOR KEY SHARE, which the parser does not know, become the stronger locks.
fn join_lock_modes(tokens: &mut Vec<TokenWithSpan>) {
    let is = |token: Option<&TokenWithSpan>, expected: &str| {
        let found = token.and_then(|t| word(&t.token));
        found.is_some_and(|w| w.eq_ignore_ascii_case(expected))
    };
    for (said, least) in
        [(&["FOR", "NO", "KEY", "UPDATE"][..], 3), (&["FOR", "KEY", "SHARE"][..], 2)]
    {
        let begins =
            |from: usize| said.iter().enumerate().all(|(i, w)| is(tokens.get(from + i), w));
        let found: Vec<usize> = (0..tokens.len()).filter(|from| begins(*from)).collect();
        for from in found.into_iter().rev() {
            tokens.drain(from + 1..from + least);
        }
    }
}

/// Takes `AS OF [COMMIT | TIMESTAMP] literal` out of a statement, and where it stood.
fn take_moment(
    sql: &str,
    tokens: &mut Vec<TokenWithSpan>,
) -> Result<Option<(Moment, Range<usize>)>> {
    let is = |i: usize, expected: &str, tokens: &[TokenWithSpan]| {
        let found = tokens.get(i).and_then(|t| word(&t.token));
        found.is_some_and(|w| w.eq_ignore_ascii_case(expected))
    };
    let at = (0..tokens.len()).find(|&i| is(i, "AS", tokens) && is(i + 1, "OF", tokens));
    let Some(at) = at else { return Ok(None) };
    let named = is(at + 2, "COMMIT", tokens) || is(at + 2, "TIMESTAMP", tokens);
    let literal = at + 2 + usize::from(named);
    let moment = match tokens.get(literal).map(|t| &t.token) {
        Some(Token::Number(n, _)) => n.parse().map(Moment::Commit).ok(),
        Some(Token::SingleQuotedString(text)) => Some(Moment::Time(text.clone())),
        _ => None,
    };
    let moment = moment.ok_or_else(|| {
        SqlError::new(state::SYNTAX, "AS OF needs the number of a commit or a time")
            .hint("Write AS OF 1234 or AS OF '2026-01-31 12:00'.")
    })?;
    let said = offset_of(sql, tokens[at].span.start)..offset_of(sql, tokens[literal].span.end);
    tokens.drain(at..=literal);
    Ok(Some((moment, said)))
}

fn text_of(sql: &str, tokens: &[TokenWithSpan]) -> String {
    let mut spans = tokens.iter().filter(|t| !is_blank(&t.token)).map(|t| t.span);
    let Some(first) = spans.next() else { return String::new() };
    let last = spans.next_back().unwrap_or(first);
    let from = byte_offset(sql, first.start.line, first.start.column);
    let to = byte_offset(sql, last.end.line, last.end.column);
    sql.get(from..to.max(from)).unwrap_or(sql).to_string()
}

fn offset_of(sql: &str, place: Location) -> usize {
    byte_offset(sql, place.line, place.column)
}

fn byte_offset(sql: &str, line: u64, column: u64) -> usize {
    let mut at = 0;
    for (i, text) in sql.split_inclusive('\n').enumerate() {
        if i as u64 + 1 == line {
            let skip = text.char_indices().nth(column.saturating_sub(1) as usize);
            return at + skip.map_or(text.len(), |(at, _)| at);
        }
        at += text.len();
    }
    sql.len()
}

/// Characters from 1, as clients count.
fn offset(sql: &str, line: u64, column: u64) -> usize {
    sql[..byte_offset(sql, line, column)].chars().count() + 1
}

fn syntax(sql: &str, e: &ParserError) -> SqlError {
    let text = match e {
        ParserError::TokenizerError(text) | ParserError::ParserError(text) => text.clone(),
        ParserError::RecursionLimitExceeded => return deep::too_deep(),
    };
    // The parser says where in its text: "… at Line: 1, Column: 8".
    let place = text.rsplit_once(" at Line: ").and_then(|(_, place)| {
        let (line, column) = place.split_once(", Column: ")?;
        Some((line.trim().parse().ok()?, column.trim().parse().ok()?))
    });
    let (message, _) = text.rsplit_once(" at Line: ").unwrap_or((&text, ""));
    let message = match message.split_once("found: ") {
        Some((_, "EOF")) => "syntax error at end of input".to_string(),
        Some((_, found)) => format!("syntax error at or near \"{found}\""),
        None => format!("syntax error: {message}"),
    };
    let error = SqlError::new(state::SYNTAX, message).detail(text.clone());
    match place {
        Some((line, column)) => error.at(offset(sql, line, column)),
        None => error,
    }
}

/// A literal's text, if it is one of text or number.
pub fn literal_text(value: &AstValue) -> Option<String> {
    match value {
        AstValue::Number(n, _) => Some(n.to_string()),
        AstValue::SingleQuotedString(s)
        | AstValue::EscapedStringLiteral(s)
        | AstValue::NationalStringLiteral(s) => Some(s.clone()),
        AstValue::DollarQuotedString(s) => Some(s.value.clone()),
        AstValue::Boolean(b) => Some(b.to_string()),
        _ => None,
    }
}

/// The parts of a name in a text, as `'s."T"'::regclass` has it.
pub fn identifiers(text: &str) -> Vec<String> {
    let mut parts = vec![String::new()];
    let mut quoted = false;
    let mut characters = text.trim().chars().peekable();
    while let Some(c) = characters.next() {
        let part = parts.last_mut().expect("there is one from the start");
        match c {
            '"' if quoted && characters.peek() == Some(&'"') => {
                characters.next();
                part.push('"');
            }
            '"' => quoted = !quoted,
            '.' if !quoted => parts.push(String::new()),
            c if quoted => part.push(c),
            c => part.extend(c.to_lowercase()),
        }
    }
    parts
}
