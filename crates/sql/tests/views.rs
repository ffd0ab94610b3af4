//! Do views print as PostgreSQL prints them?
//!
//! Starts a private PostgreSQL 15 and makes the same views there and here; each text is compared, and each is a view again
//! that prints the same, as pg_dump needs it. Needs the Debian package postgresql.

#![allow(clippy::disallowed_methods, reason = "tests stand outside the simulation")]

#[path = "support/script.rs"]
mod script;
mod support;

use onlap_testkit::postgres::{self, Postgres};
use onlap_testkit::programs;
use support::{Fixture, Talk};

const SCHEMA: &str = include_str!("../testdata/views/schema.sql");
const QUERIES: &str = include_str!("../testdata/views/queries.sql");

/// Queries that do not print as PostgreSQL prints them, with what is different; the list may only shrink.
const DIFFERENT: &[(&str, &str)] = &[];

/// The forms of pg_get_viewdef, `$` being the view.
const FORMS: [&str; 3] = ["pg_get_viewdef($)", "pg_get_viewdef($, true)", "pg_get_viewdef($, 50)"];

/// Stands for a new line where texts have one.
const LINE: char = '¶';

fn asked(form: usize, view: &str) -> String {
    let form = FORMS[form].replace('$', &format!("'{view}'::regclass"));
    format!("replace({form}, E'\\n', '{LINE}')")
}

/// PostgreSQL prints a type behind the values of CYCLE, which its grammar does not read.
fn is_read(query: &str) -> bool {
    !query.contains(" TO 'Y' DEFAULT")
}

/// What PostgreSQL prints, a list for each query: the forms of a view, and of the view that its plain form makes.
fn theirs(postgres: &Postgres, queries: &[&str]) -> Vec<Vec<String>> {
    let mut script = format!("SET client_min_messages = warning;\n{SCHEMA}\n");
    for (at, query) in queries.iter().enumerate() {
        script += &format!("CREATE VIEW v{at} AS {query};\n");
        let forms: Vec<String> = (0..FORMS.len()).map(|n| asked(n, &format!("v{at}"))).collect();
        script += &format!("SELECT {};\n", forms.join(", "));
        let again = match is_read(query) {
            true => {
                script += &format!("SELECT pg_get_viewdef('v{at}'::regclass) AS text \\gset\n");
                script += &format!("CREATE VIEW again{at} AS :text\n");
                format!("again{at}")
            }
            false => format!("v{at}"),
        };
        script += &format!("SELECT {};\n", asked(0, &again));
    }
    let file = postgres.folder().join("script");
    std::fs::write(&file, script).expect("a script is written");
    let mut psql = postgres.psql();
    psql.args(["-q", "-A", "-t", "-F", "\u{1}", "-v", "ON_ERROR_STOP=1", "-f"]).arg(&file);
    let output = psql.output().expect("psql runs");
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(said.is_empty(), "{said}");
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    let lines: Vec<&str> = text.lines().collect();
    let columns = |pair: &[&str]| {
        let columns = pair.iter().flat_map(|line| line.split('\u{1}'));
        columns.map(str::to_string).collect()
    };
    lines.chunks(2).map(columns).collect()
}

fn printed(talk: &mut Talk, form: usize, view: &str) -> Result<String, String> {
    let outcome = talk.run(&format!("SELECT {}", asked(form, view)));
    match outcome.error {
        Some(error) => Err(format!("{error:?}")),
        None => Ok(outcome.rows[0][0].clone().unwrap_or_else(|| "NULL".into())),
    }
}

/// What is different about a view.
fn compare(talk: &mut Talk, at: usize, query: &str, theirs: &[String]) -> Result<(), String> {
    let view = format!("v{at}");
    if let Some(error) = talk.run(&format!("CREATE VIEW {view} AS {query}")).error {
        return Err(format!("refused: {error:?}"));
    }
    let lines = |text: &str| text.replace(LINE, "\n");
    let same = |ours: &str, theirs: &str, what: &str| match ours == theirs {
        true => Ok(()),
        false => {
            let (ours, theirs) = (lines(ours), lines(theirs));
            Err(format!("{what}\n--- ours\n{ours}\n--- PostgreSQL's\n{theirs}"))
        }
    };
    for (form, what) in FORMS.iter().enumerate() {
        let ours = printed(talk, form, &view)?;
        same(&ours, &theirs[form], what)?;
        if !is_read(query) {
            continue;
        }
        let again = format!("again{at}_{form}");
        let text = lines(&ours);
        if let Some(error) = talk.run(&format!("CREATE VIEW {again} AS {text}")).error {
            return Err(format!("{what} is no view again: {error:?}\n{text}"));
        }
        // A cast of an array becomes one of its elements, in PostgreSQL, too; the pretty form has fewer parentheses.
        if form == 0 {
            same(&printed(talk, 0, &again)?, &theirs[FORMS.len()], "again")?;
        }
    }
    Ok(())
}

#[test]
fn views_print_as_postgresql_prints_them() {
    if !programs::are_there(&postgres::NEEDED) {
        return;
    }
    let queries: Vec<&str> = QUERIES.lines().filter(|line| !line.is_empty()).collect();
    let postgres = Postgres::start();
    let theirs = theirs(&postgres, &queries);
    assert_eq!(theirs.len(), queries.len());
    let fixture = Fixture::new(false);
    let mut talk = fixture.session();
    SCHEMA.split_inclusive(';').for_each(|statement| drop(talk.rows(statement)));
    let (mut different, mut same) = (Vec::new(), Vec::new());
    for (at, (query, theirs)) in queries.iter().zip(&theirs).enumerate() {
        let listed = DIFFERENT.iter().any(|(known, _)| known == query);
        match compare(&mut talk, at, query, theirs) {
            Err(how) if !listed => different.push(format!("{query}\n{how}")),
            Ok(()) if listed => same.push(*query),
            _ => {}
        }
    }
    assert!(different.is_empty(), "{} differ:\n{}", different.len(), different.join("\n\n"));
    assert!(same.is_empty(), "take these out of the list: {same:?}");
}

#[test]
fn texts_follow_new_names() {
    let fixture = Fixture::new(false);
    let mut talk = fixture.session();
    for statement in [
        "CREATE TABLE one (a int, b text)",
        "CREATE TABLE two (a int, c text)",
        "CREATE VIEW plain AS SELECT a, b FROM one WHERE a > 1",
        "CREATE VIEW called AS SELECT x.a, two.c FROM one x, two",
        "CREATE VIEW joined AS SELECT a, b, c FROM one JOIN two USING (a)",
        "CREATE VIEW above AS SELECT plain.b FROM plain",
        "ALTER TABLE one RENAME COLUMN a TO \"A\"",
        "ALTER TABLE one RENAME TO \"table\"",
        "ALTER VIEW plain RENAME TO flat",
    ] {
        talk.rows(statement);
    }
    let mut text =
        |view: &str| talk.rows(&format!("SELECT pg_get_viewdef('{view}', true)"))[0][0].clone();
    let flat = " SELECT \"table\".\"A\" AS a,\n    \"table\".b\n   FROM \"table\"\n  \
                WHERE \"table\".\"A\" > 1;";
    assert_eq!(text("flat").as_deref(), Some(flat));
    assert_eq!(text("above").as_deref(), Some(" SELECT flat.b\n   FROM flat;"));
    let joined = text("joined").expect("a text");
    assert!(joined.contains("FROM \"table\" \"table\"(a, b)\n     JOIN "), "{joined}");
    assert!(joined.ends_with("USING (a);"), "{joined}");
}

#[test]
fn views_have_options_as_in_postgresql() {
    if programs::are_there(&postgres::NEEDED) {
        script::same(include_str!("../testdata/view_options.sql"));
    }
}

#[test]
fn columns_that_views_calculate_compare_by_their_collations() {
    script::same(include_str!("../testdata/views/calculated.sql"));
}
