//! Do queries give what PostgreSQL gives?
//!
//! Tables are made in a PostgreSQL 15 that runs beside the test, and their rows read into memory. Each statement of
//! `statements/*.sql` is carried out by both: names and types of columns, rows (in their order where the statement has
//! one), or SQLSTATE and message must be the same. `ONLAP_ONLY` names a part of a statement's text.

mod bounds;
mod data;
mod ours;
mod theirs;

use onlap_testkit::postgres::Postgres;

/// What a statement gives: columns with types, rows as texts; or SQLSTATE and message.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Answer {
    /// Types of columns, rows.
    Rows(Vec<u32>, Vec<Vec<Option<String>>>),
    /// What was refused.
    Refused(String),
}

const FILES: [(&str, &str); 9] = [
    ("basic", include_str!("statements/basic.sql")),
    ("sets", include_str!("statements/sets.sql")),
    ("functions", include_str!("statements/functions.sql")),
    ("lists", include_str!("statements/lists.sql")),
    ("with", include_str!("statements/with.sql")),
    ("windows", include_str!("statements/windows.sql")),
    ("grouped", include_str!("statements/grouped.sql")),
    ("ranks", include_str!("statements/ranks.sql")),
    ("collations", include_str!("statements/collations.sql")),
];

/// Whether the order of rows is that of the statement.
fn is_ordered(statement: &str) -> bool {
    statement.contains("-- ordered")
}

fn shown(answer: &Answer) -> String {
    match answer {
        Answer::Rows(types, rows) => {
            let row = |row: &Vec<Option<String>>| {
                let cells = row.iter().map(|cell| cell.as_deref().unwrap_or("NULL"));
                cells.collect::<Vec<_>>().join(" | ")
            };
            let rows: Vec<String> = rows.iter().take(8).map(row).collect();
            format!("{types:?}\n    {}", rows.join("\n    "))
        }
        Answer::Refused(text) => format!("! {text}"),
    }
}

#[test]
fn queries_give_what_postgresql_gives() {
    let postgres = Postgres::start();
    let data = data::Data::new(&postgres);
    let mut theirs = theirs::Theirs::new(&postgres);
    let ours = ours::Ours::new(data);
    let only = std::env::var("ONLAP_ONLY").unwrap_or_default();
    let (mut asked, mut differ) = (0, Vec::new());
    for (file, text) in FILES {
        let lines = text.lines().filter(|line| !line.trim().is_empty() && !line.starts_with("--"));
        for statement in lines.filter(|line| line.contains(&only)) {
            asked += 1;
            let (mut mine, mut other) = (ours.answer(statement), theirs.answer(statement));
            if !is_ordered(statement) {
                for answer in [&mut mine, &mut other] {
                    if let Answer::Rows(_, rows) = answer {
                        rows.sort();
                    }
                }
            }
            if mine != other {
                let (mine, other) = (shown(&mine), shown(&other));
                differ.push(format!("{file}: {statement}\n  ours   {mine}\n  theirs {other}"));
            }
        }
    }
    println!("{asked} statements, {} differ", differ.len());
    assert!(differ.is_empty(), "{}", differ.join("\n"));
}
