//! Which statements does a text hold?
//!
//! PostgreSQL's grammar reads them (`onlap_pg::grammar`). `AS OF` is of no grammar of PostgreSQL's: it is taken out of the text
//! before, and blanks stand in its place, so that places stay what they are.
//!
//! How deep a statement is gets known from its tokens, before anything recurses (`crate::deep`).

use std::borrow::Cow;
use std::ops::Range;
use std::sync::{Arc, OnceLock};

use onlap_base::limits;
use onlap_pg::ast::{self, Execute, Statement, Utility};
use onlap_pg::grammar::{self, Keyword, Kind, Tokens};

use crate::calls::Fingerprint;
use crate::deep::{self, Depth};
use crate::error::{Result, SqlError, state};
use crate::query::sql_error;
use crate::secrets::without_passwords;
use crate::source::Source;

/// A statement of a text.
#[derive(Clone, Debug)]
pub struct Parsed {
    /// Its text, without a semicolon.
    pub text: String,
    /// What it is.
    pub body: Body,
    /// How deep its tree is.
    pub depth: Depth,
    /// The moment that `AS OF` names.
    pub as_of: Option<Moment>,
    /// Where it is said.
    said: Option<Range<usize>>,
    /// Its tree, with this statement alone.
    pub tree: Arc<ast::Tree>,
    /// Characters that were sent before its text.
    pub before: usize,
    /// What others are shown of it, once it has run.
    shown: OnceLock<Arc<str>>,
    /// What it is without its literals, once it has run.
    fingerprint: OnceLock<Arc<Fingerprint>>,
}

/// Bytes of a statement that pg_stat_activity shows, as PostgreSQL does without other settings: sessions that wait
/// keep them.
const SHOWN_BYTES: usize = 1023;

/// What others are shown of a text.
pub fn shown(text: &str) -> Arc<str> {
    without_passwords(&text[..text.floor_char_boundary(SHOWN_BYTES)]).into()
}

impl Parsed {
    /// What others are shown of it.
    pub fn shown(&self) -> &Arc<str> {
        self.shown.get_or_init(|| shown(&self.text))
    }

    /// Lets it stand for a statement of another text, which others are shown.
    pub fn stand_for(&mut self, of: &Parsed) {
        self.before = of.before;
        self.shown = OnceLock::from(Arc::clone(of.shown()));
    }

    /// What it is without its literals.
    pub fn fingerprint(&self) -> &Arc<Fingerprint> {
        self.fingerprint.get_or_init(|| Arc::new(Fingerprint::of(&self.text)))
    }

    /// What it says.
    pub fn statement(&self) -> &Statement {
        &self.tree.statements[0].statement
    }

    /// The text as PostgreSQL's grammar reads it. Places in it are those of the text.
    pub fn bindable(&self) -> Cow<'_, str> {
        let Some(said) = &self.said else { return self.text.as_str().into() };
        let mut text = self.text.clone();
        text.replace_range(said.clone(), &" ".repeat(said.len()));
        text.into()
    }

    /// The statement by PostgreSQL's grammar, with the text that was read.
    pub fn source<'a>(&'a self, text: &'a str) -> Source<'a> {
        Source { tree: &self.tree, text, written: &self.text, depth: self.depth }
    }

    /// Whether it is a query that locks its rows.
    pub fn is_locking(&self) -> bool {
        match self.statement() {
            Statement::Query(query) => !self.tree.query(*query).locks.is_empty(),
            _ => false,
        }
    }

    /// EXECUTE, if it is one.
    pub fn execute(&self) -> Option<&Execute> {
        match self.statement() {
            Statement::Utility(utility) => match &**utility {
                Utility::Execute(execute) => Some(execute),
                _ => None,
            },
            _ => None,
        }
    }

    /// Its first words, in capitals.
    pub fn words(&self) -> String {
        let start = self.tree.statements[0].start as usize;
        let words = self.text.get(start..).unwrap_or_default().split_whitespace();
        words.take(2).collect::<Vec<_>>().join(" ").to_uppercase()
    }
}

impl Parsed {
    /// The command as PostgreSQL names it where it refuses one.
    pub fn command(&self) -> String {
        let start = self.tree.statements[0].start as usize;
        let words = self.text.get(start..).unwrap_or_default().split_whitespace();
        let left_out = [
            "OR",
            "REPLACE",
            "UNIQUE",
            "UNLOGGED",
            "RECURSIVE",
            "TEMP",
            "TEMPORARY",
            "LOCAL",
            "GLOBAL",
            "CONSTRAINT",
        ];
        let mut words =
            words.map(str::to_uppercase).filter(|word| !left_out.contains(&word.as_str()));
        let first = words.next().unwrap_or_default();
        let is_table_as = matches!(self.statement(), Statement::CreateTableAs(_));
        match &*first {
            "SELECT" | "WITH" if self.tree.into_of_first() => "SELECT INTO".to_owned(),
            "CREATE" | "ALTER" | "DROP" | "REFRESH" | "SECURITY" => {
                let what = words.next().unwrap_or_default();
                let more = match &*what {
                    "MATERIALIZED" | "DEFAULT" | "EVENT" | "FOREIGN" => words.next(),
                    "TABLE" if is_table_as => Some("AS".to_owned()),
                    _ => None,
                };
                let words = [Some(first), Some(what), more];
                words.into_iter().flatten().collect::<Vec<_>>().join(" ")
            }
            "TRUNCATE" => "TRUNCATE TABLE".to_owned(),
            "COPY" => "COPY FROM".to_owned(),
            _ => first,
        }
    }
}

/// What a statement is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Body {
    /// A query.
    Query,
    /// A change of rows, which a query may make in its WITH.
    Change,
    /// `UPSERT INTO`: an INSERT that replaces rows blindly.
    Upsert,
    /// Neither.
    Defined,
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

/// All statements of a text, empty ones left out.
///
/// # Errors
/// `42601` with the position; `54001`.
pub fn statements(sql: &str) -> Result<Vec<Parsed>> {
    let tokens = Tokens::of(sql);
    let moments = moments(&tokens);
    if moments.is_empty() {
        return read(sql, sql, &tokens, moments);
    }
    let mut text = sql.to_string();
    for (said, _) in &moments {
        text.replace_range(said.clone(), &" ".repeat(said.len()));
    }
    let tokens = Tokens::of(&text);
    read(sql, &text, &tokens, moments)
}

/// What is wrong with a text whose tokens end before it does.
pub fn unread(tokens: &Tokens<'_>) -> SqlError {
    match read(tokens.text, tokens.text, tokens, Vec::new()) {
        Err(e) => e,
        Ok(_) => match &tokens.error {
            Some(e) => sql_error(e, tokens.text),
            None => SqlError::new(state::SYNTAX, "syntax error"),
        },
    }
}

/// Names of a text that are longer than names are, whole, and what is left of them.
pub fn cut_names(sql: &str) -> Vec<(String, String)> {
    let is_part = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'$' | 0x80..);
    let is_long = |word: &[u8]| word.len() > limits::NAME_BYTES;
    // Most texts have no word so long, and are not taken apart for it.
    if !sql.as_bytes().split(|byte| !is_part(*byte)).any(is_long)
        && !sql.split('"').skip(1).any(|part| part.len() > limits::NAME_BYTES)
    {
        return Vec::new();
    }
    let tokens = Tokens::of(sql);
    let names = tokens.all.iter().filter(|token| token.kind == Kind::Name);
    let cut = |token: &grammar::Token| {
        let kept = tokens.value(*token);
        let written = &sql[token.start as usize..token.end as usize];
        let whole = match written.strip_prefix('"').and_then(|rest| rest.strip_suffix('"')) {
            Some(quoted) => quoted.replace("\"\"", "\""),
            None => written.to_ascii_lowercase(),
        };
        (whole.len() > limits::NAME_BYTES && whole.starts_with(kept))
            .then(|| (whole, kept.to_string()))
    };
    names.filter_map(cut).collect()
}

/// How deep a text is.
pub fn depth_of(sql: &str) -> Depth {
    let tokens = Tokens::of(sql);
    deep::measure(&tokens, 0, tokens.all.len())
}

/// Reads statements; `text` is what was sent, without what it says of the past.
fn read(
    sql: &str,
    text: &str,
    tokens: &Tokens<'_>,
    moments: Vec<(Range<usize>, Moment)>,
) -> Result<Vec<Parsed>> {
    let mut deepest = Depth::default();
    let mut from = 0;
    for part in tokens.all.split(|token| token.kind == Kind::Char(';')) {
        let depth = deep::measure(tokens, from, from + part.len());
        depth.check()?;
        deepest = deepest.max(depth);
        from += part.len() + 1;
    }
    let tree = deep::run(deepest, || grammar::parse_tokens(tokens));
    let tree = tree.map_err(|e| failed(sql, tokens, &e))?;
    let all = parts(&tree, &moments);
    if let [(_, end)] = all[..] {
        let made = Making { sql, tokens, moments: &moments, from: 0, end, before: 0 };
        return Ok(vec![made.parsed(Arc::new(tree), deepest)]);
    }
    // Characters are counted from statement to statement: a text may have many.
    let (mut counted, mut before) = (0, 0);
    let each = all.into_iter().map(|(start, end)| {
        before += sql[counted..start].chars().count();
        counted = start;
        let depth = depth_of(&text[start..end]);
        let tree = deep::run(depth, || grammar::parse(&text[start..end]));
        let tree = tree.map_err(|e| sql_error(&e, &text[start..end]))?;
        let made = Making { sql, tokens, moments: &moments, from: start, end, before };
        Ok(made.parsed(Arc::new(tree), depth))
    });
    each.collect()
}

/// Where each statement begins and ends, with what it says of the past, which its tree does not know.
fn parts(tree: &ast::Tree, moments: &[(Range<usize>, Moment)]) -> Vec<(usize, usize)> {
    let starts = tree.statements.iter().map(|one| one.start as usize).skip(1);
    let part = |(one, next): (&ast::Written, usize)| {
        let at = moments.partition_point(|(said, _)| said.start < one.start as usize);
        let own = moments.get(at).filter(|(said, _)| said.start < next);
        let end = own.map_or(0, |(said, _)| said.end);
        (one.start as usize, end.max(one.end as usize))
    };
    tree.statements.iter().zip(starts.chain([usize::MAX])).map(part).collect()
}

/// An error of the grammar's, unless it comes of a moment that is none.
fn failed(sql: &str, tokens: &Tokens<'_>, error: &onlap_pg::Error) -> SqlError {
    let words = |pair: &[grammar::Token]| {
        pair[0].kind == Kind::Word(Keyword::As) && pair[1].kind == Kind::Word(Keyword::Of)
    };
    if error.state == state::SYNTAX && tokens.all.windows(2).any(words) {
        return SqlError::new(state::SYNTAX, "AS OF needs the number of a commit or a time")
            .hint("Write AS OF 1234 or AS OF '2026-01-31 12:00'.");
    }
    sql_error(error, sql)
}

/// A statement of a text.
struct Making<'a> {
    sql: &'a str,
    tokens: &'a Tokens<'a>,
    moments: &'a [(Range<usize>, Moment)],
    /// Where its text begins and ends.
    from: usize,
    end: usize,
    before: usize,
}

impl Making<'_> {
    fn parsed(&self, tree: Arc<ast::Tree>, depth: Depth) -> Parsed {
        let at = self.moments.partition_point(|(said, _)| said.start < self.from);
        let moment = self.moments.get(at).filter(|(said, _)| said.end <= self.end).cloned();
        let said = moment.as_ref().map(|(said, _)| said.start - self.from..said.end - self.from);
        let start = tree.statements[0].start as usize + self.from;
        let at = self.tokens.all.partition_point(|token| (token.start as usize) < start);
        let first = self.tokens.all.get(at);
        let is_upsert = first.is_some_and(|first| {
            first.kind == Kind::Name && self.tokens.value(*first).eq_ignore_ascii_case("upsert")
        });
        let (body, looks) = match &tree.statements[0].statement {
            Statement::Query(query) if tree.into_of(*query).is_some() => (Body::Defined, true),
            Statement::Query(query) if tree.changes_within(*query) => (Body::Change, true),
            Statement::Query(_) => (Body::Query, true),
            Statement::Insert(_) if is_upsert => (Body::Upsert, true),
            Statement::Insert(_)
            | Statement::Update(_)
            | Statement::Delete(_)
            | Statement::Merge(_) => (Body::Change, true),
            Statement::Other(_) => (Body::Other, false),
            // Only what makes a relation of a query looks at the past itself: other statements hold one that does.
            _ => (Body::Defined, first.is_some_and(|t| t.kind == Kind::Word(Keyword::Create))),
        };
        Parsed {
            text: self.sql[self.from..self.end].to_string(),
            body,
            depth,
            as_of: moment.map(|(_, moment)| moment).filter(|_| looks),
            said,
            tree,
            before: self.before,
            shown: OnceLock::new(),
            fingerprint: OnceLock::new(),
        }
    }
}

/// Each `AS OF [COMMIT | TIMESTAMP] literal`, the first of a statement.
fn moments(tokens: &Tokens<'_>) -> Vec<(Range<usize>, Moment)> {
    let mut found = Vec::new();
    let mut is_first = true;
    for (at, token) in tokens.all.iter().enumerate() {
        if token.kind == Kind::Char(';') {
            is_first = true;
        }
        let kind = |by: usize| tokens.all.get(at + by).map_or(Kind::End, |token| token.kind);
        if !is_first || token.kind != Kind::Word(Keyword::As) || kind(1) != Kind::Word(Keyword::Of)
        {
            continue;
        }
        let named = matches!(kind(2), Kind::Word(Keyword::Commit | Keyword::Timestamp));
        let Some(literal) = tokens.all.get(at + 2 + usize::from(named)) else { continue };
        let moment = match literal.kind {
            Kind::Int(_) | Kind::Number => tokens.value(*literal).parse().ok().map(Moment::Commit),
            Kind::Text => Some(Moment::Time(tokens.value(*literal).to_string())),
            _ => None,
        };
        if let Some(moment) = moment {
            found.push((token.start as usize..literal.end as usize, moment));
            is_first = false;
        }
    }
    found
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

#[cfg(test)]
mod tests {
    use super::*;

    fn read(sql: &str) -> Vec<(String, Option<Moment>, Body)> {
        let all = statements(sql).expect("it is read");
        all.into_iter().map(|one| (one.text, one.as_of, one.body)).collect()
    }

    #[test]
    fn the_past_belongs_to_its_statement_wherever_it_is_said() {
        let text = "select 1 as of 3; delete from t as of commit 4;upsert into t values (1)";
        let all = read(text);
        let wanted = [
            ("select 1 as of 3", Some(Moment::Commit(3)), Body::Query),
            ("delete from t as of commit 4", Some(Moment::Commit(4)), Body::Change),
            ("upsert into t values (1)", None, Body::Upsert),
        ];
        assert_eq!(all.len(), wanted.len());
        for (one, (text, moment, body)) in all.iter().zip(&wanted) {
            assert_eq!((one.0.as_str(), &one.1, &one.2), (*text, moment, body));
        }
        let one = read("select a from t as of '2026-01-31' where a = 1");
        assert_eq!(one[0].1, Some(Moment::Time("2026-01-31".into())));
        // These are names.
        assert_eq!(read("select 1 as of, 2 from t as of")[0].1, None);
        let error = statements("select 1 from t as of now()").expect_err("no moment");
        assert_eq!(error.state(), state::SYNTAX);
    }

    #[test]
    fn places_count_what_was_sent_before() {
        let all = statements("  select 1; /* é */ select 2").expect("they are read");
        assert_eq!(all.iter().map(|one| one.before).collect::<Vec<_>>(), [2, 20]);
        assert_eq!(all[1].text, "select 2");
        assert_eq!(statements(" ; ; ").expect("nothing").len(), 0);
        let one = statements("  select 1").expect("it is read");
        assert_eq!((one[0].before, one[0].text.as_str()), (0, "  select 1"));
    }
}
