//! Which names does the Tab key complete?
//!
//! Relations, their columns and indexes, as of the last change that this shell made; words of SQL; commands; and files where a command
//! wants one. The shell asks for names before it waits for a statement, and for at most [`NAMES_MOST`] of them.
//!
//! Names with control characters are left out: they would act on the terminal.

use rustyline::Context;
use rustyline::completion::{Completer, FilenameCompleter, Pair};
use rustyline::highlight::Highlighter;
use rustyline::hint::Hinter;
use rustyline::validate::Validator;

use super::client;
use super::input::Input;
use super::table::Table;
use super::{Shell, describe};

/// Names that are kept: of some 40 bytes, so a few MiB.
const NAMES_MOST: usize = 50_000;
/// Names that are offered for one word: no person reads more.
const OFFERED_MOST: usize = 1000;

/// Kinds, and names as SQL writes them.
const QUERY: &str = "SELECT kind, name FROM ( \
    SELECT 'r' AS kind, pg_catalog.quote_ident(c.relname) AS name FROM pg_catalog.pg_class c \
    JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace \
    WHERE c.relkind IN ('r', 'p', 'v', 'm', 'S', 'f') AND pg_catalog.pg_table_is_visible(c.oid) \
    AND n.nspname NOT IN ('pg_catalog', 'information_schema') \
    UNION SELECT CASE WHEN c.relkind IN ('i', 'I') THEN 'i' ELSE 'r' END, \
    pg_catalog.quote_ident(n.nspname) || '.' || pg_catalog.quote_ident(c.relname) \
    FROM pg_catalog.pg_class c JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace \
    WHERE n.nspname NOT IN ('information_schema', 'pg_toast') AND c.relkind <> 'c' \
    UNION SELECT 'c', pg_catalog.quote_ident(a.attname) FROM pg_catalog.pg_attribute a \
    JOIN pg_catalog.pg_class c ON c.oid = a.attrelid \
    JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace \
    WHERE n.nspname NOT IN ('pg_catalog', 'information_schema') AND a.attnum > 0 \
    AND NOT a.attisdropped AND c.relkind IN ('r', 'p', 'v', 'm', 'f') \
    UNION SELECT 'i', pg_catalog.quote_ident(c.relname) FROM pg_catalog.pg_class c \
    JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace \
    WHERE c.relkind IN ('i', 'I') AND n.nspname NOT IN ('pg_catalog', 'information_schema') \
    ) names ORDER BY 2 LIMIT 50000";

/// Views that no catalog lists.
const VIEWS: [&str; 18] = [
    "onlap_stat.commit_times",
    "onlap_stat.commits",
    "onlap_stat.debts",
    "onlap_stat.disk",
    "onlap_stat.goals",
    "onlap_stat.history",
    "onlap_stat.indexes",
    "onlap_stat.memory",
    "onlap_stat.merges",
    "onlap_stat.replication",
    "onlap_stat.runs",
    "onlap_stat.settings",
    "onlap_stat.stalls",
    "onlap_stat.statements",
    "onlap_stat.tables",
    "onlap_stat.waits",
    "onlap_stat.writes",
    "onlap.advise()",
];

/// Words that statements are made of.
const WORDS: &str = "ALTER ANALYZE AND AS ASC BACKUP BEGIN BETWEEN BY CASE CAST CHECK CLUSTER COLUMN COMMIT \
    CONFLICT CONSTRAINT COPY COUNT CREATE CROSS DATABASE DEFAULT DELETE DESC DISTINCT DO DROP ELSE END EXCEPT \
    EXISTS EXPLAIN FALSE FETCH FOREIGN FROM FULL FUNCTION GRANT GROUP HAVING ILIKE IN INCLUDE INDEX INNER \
    INSERT INTERSECT INTERVAL INTO INVISIBLE IS JOIN KEY LATERAL LEFT LIKE LIMIT NOT NOTHING NULL OFFSET ON \
    OR ORDER OUTER OVER PARTITION PRIMARY REFERENCES RETURNING REVOKE RIGHT ROLE ROLLBACK SAVEPOINT SCHEMA \
    SELECT SEQUENCE SET SHOW TABLE THEN TO TRUE TRUNCATE TYPE UNION UNIQUE UPDATE USING VACUUM VALUES VIEW \
    WHEN WHERE WITH";

/// Commands that are no lists.
const COMMANDS: [&str; 16] = [
    "\\?",
    "\\advise",
    "\\conninfo",
    "\\copy",
    "\\echo",
    "\\help",
    "\\i",
    "\\ir",
    "\\ledger",
    "\\q",
    "\\quit",
    "\\sf",
    "\\sv",
    "\\timing",
    "\\x",
    "\\z",
];

/// What the Tab key knows.
#[derive(Debug, Default)]
pub(super) struct Names {
    /// Kinds (`r` relations, `c` columns, `i` indexes), and names.
    known: Vec<(char, String)>,
}

impl Names {
    /// With what a database has.
    fn of(rows: Vec<(char, String)>) -> Names {
        let views = VIEWS.iter().map(|view| ('r', (*view).to_string()));
        let harmless = |row: &(char, String)| !row.1.contains(char::is_control);
        Names { known: rows.into_iter().filter(harmless).take(NAMES_MOST).chain(views).collect() }
    }

    /// What a word may become, which begins at a place of a line.
    fn offers(&self, line: &str, start: usize) -> Vec<String> {
        let word = &line[start..];
        if start == 0 && word.starts_with('\\') {
            let lists = describe::commands().map(|name| format!("\\{name}"));
            let mut all: Vec<String> = COMMANDS.iter().map(|name| (*name).to_string()).collect();
            all.extend(lists);
            all.retain(|name| name.starts_with(word));
            all.sort_unstable();
            all.dedup();
            return all;
        }
        let folded = word.to_lowercase();
        let before = line[..start].trim_end().rsplit(char::is_whitespace).next().unwrap_or("");
        let kinds = wanted(line, before);
        let names = self.known.iter().filter(|(kind, name)| {
            kinds.contains(*kind) && name.len() > word.len() && begins(name, word, &folded)
        });
        let mut all: Vec<String> = names.map(|(_, name)| name.clone()).collect();
        if kinds.contains('w') && !word.is_empty() {
            let words = WORDS.split_whitespace().filter(|w| w.to_lowercase().starts_with(&folded));
            let is_small = word.chars().all(char::is_lowercase);
            all.extend(words.map(|w| if is_small { w.to_lowercase() } else { w.to_string() }));
        }
        all.sort_unstable();
        all.dedup();
        all.truncate(OFFERED_MOST);
        all
    }
}

/// Kinds of names that may follow a word of a line; `w` are words of SQL.
fn wanted(line: &str, before: &str) -> &'static str {
    match before.to_uppercase().as_str() {
        "FROM" | "JOIN" | "INTO" | "UPDATE" | "TABLE" | "ONLY" | "TRUNCATE" | "REFERENCES"
        | "COPY" | "VIEW" | "SEQUENCE" => "r",
        "INDEX" => "i",
        _ if line.starts_with('\\') => "ri",
        _ => "rcw",
    }
}

/// Whether a name begins with what was typed, with its quotes or without them.
fn begins(name: &str, word: &str, folded: &str) -> bool {
    let is_bare = !word.starts_with('"');
    name.starts_with(word)
        || name.starts_with(folded)
        || (is_bare && name.strip_prefix('"').is_some_and(|name| name.starts_with(word)))
}

/// Where the word begins that ends at the end of a text.
fn start_of_word(text: &str) -> usize {
    if text.matches('"').count() % 2 == 1 {
        return text.rfind('"').expect("there is one");
    }
    let ends = |c: char| c.is_whitespace() || "()[]{},;=<>+-/|:'".contains(c);
    text.rfind(ends).map_or(0, |at| at + text[at..].chars().next().map_or(1, char::len_utf8))
}

/// Whether a command wants a file where a text ends.
fn wants_file(text: &str) -> bool {
    let is_copied = text.starts_with("\\copy ") && {
        let lower = text.to_lowercase();
        lower.contains(" from ") || lower.contains(" to ")
    };
    is_copied || text.starts_with("\\i ") || text.starts_with("\\ir ")
}

impl Completer for Names {
    type Candidate = Pair;

    fn complete(
        &self,
        line: &str,
        at: usize,
        _: &Context<'_>,
    ) -> rustyline::Result<(usize, Vec<Pair>)> {
        let text = &line[..at];
        if wants_file(text) {
            return FilenameCompleter::new().complete_path(line, at);
        }
        let start = start_of_word(text);
        let pair = |name: String| Pair { display: name.clone(), replacement: name };
        Ok((start, self.offers(text, start).into_iter().map(pair).collect()))
    }
}

impl Highlighter for Names {}
impl Hinter for Names {
    type Hint = String;
}
impl Validator for Names {}
impl rustyline::Helper for Names {}

impl Shell {
    /// Asks for names that may have come since, where a person may want to complete some.
    pub(super) fn learn_names(&mut self, input: &mut Input) -> client::Result<()> {
        if !input.completes() || !self.names_are_old || self.client.status != b'I' {
            return Ok(());
        }
        self.names_are_old = false;
        self.client.query(QUERY)?;
        let mut rows = Vec::new();
        loop {
            let message = self.client.next()?;
            match message.kind {
                b'D' => {
                    let mut values = Table::values(&message.body).into_iter().flatten();
                    if let (Some(kind), Some(name)) = (values.next(), values.next()) {
                        rows.extend(kind.chars().next().map(|kind| (kind, name)));
                    }
                }
                // Without them nothing is completed, and nothing else is lost.
                b'Z' => break,
                _ => {}
            }
        }
        input.complete(Names::of(rows));
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn offers(line: &str) -> Vec<String> {
        let rows = [
            ('r', "flights"),
            ('r', "public.flights"),
            ('r', "\"Odd name\""),
            ('r', "bad\u{1b}[2Jname"),
            ('c', "flight_number"),
            ('i', "flights_pkey"),
        ];
        let names = Names::of(rows.map(|(kind, name)| (kind, name.to_string())).to_vec());
        names.offers(line, start_of_word(line))
    }

    #[test]
    fn what_fits_is_offered() {
        assert_eq!(offers("select * from fl"), ["flights"]);
        assert_eq!(offers("SELECT Fl"), ["flight_number", "flights"]);
        assert_eq!(offers("select max(flight_"), ["flight_number"]);
        assert_eq!(offers("select * from public."), ["public.flights"]);
        assert_eq!(offers("select * from \"Od"), ["\"Odd name\""]);
        assert_eq!(offers("select * from Odd"), ["\"Odd name\""]);
        assert_eq!(offers("drop index fl"), ["flights_pkey"]);
        assert_eq!(offers("\\d fl"), ["flights", "flights_pkey"]);
        assert_eq!(offers("\\led"), ["\\ledger"]);
        assert_eq!(offers("\\dt"), ["\\dt"]);
        assert_eq!(offers("sel"), ["select"]);
        assert_eq!(offers("SEL"), ["SELECT"]);
        assert_eq!(offers("select * from onlap_stat.ind"), ["onlap_stat.indexes"]);
        // What acts on the terminal is not shown there.
        assert!(offers("select * from b").is_empty());
        assert!(offers("").iter().all(|name| !name.contains('\u{1b}')));
    }

    #[test]
    fn files_are_completed_where_they_are_wanted() {
        assert!(wants_file("\\i ") && wants_file("\\copy t from da") && wants_file("\\copy t TO "));
        assert!(!wants_file("\\copy t") && !wants_file("select from "));
    }
}
