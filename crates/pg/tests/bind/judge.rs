//! Compares what both make of statements.
//!
//! What differs as is meant falls into a class of `known.tsv`, which says why, and how many statements of the files may be of it:
//! `xtask/ratchets.tsv` has the sum, which may only fall.

use std::collections::BTreeMap;

use onlap_pg::TypeRef;
use onlap_pg::bind::bind;
use onlap_pg::grammar::parse;
use onlap_testkit::described::{Describer, Description};
use onlap_testkit::postgres::Postgres;

use crate::schema::Mirror;
use crate::{ours, theirs};

/// How many differences are shown.
const SHOWN: usize = 60;

/// A server, and what its schema looks like.
pub struct Judge {
    mirror: Mirror,
    describer: Describer,
    _postgres: Postgres,
}

/// What came of a comparison, by what PostgreSQL said.
#[derive(Debug, Default)]
pub struct Found {
    pub accepted: usize,
    pub refused: usize,
    /// Of both, those that differ as is meant, by class.
    pub known: BTreeMap<&'static str, usize>,
    pub differing: usize,
}

/// What one of both makes of a statement.
#[derive(PartialEq)]
struct Answer {
    tree: String,
    columns: Vec<(u32, i32)>,
    parameters: Vec<u32>,
    /// SQLSTATE, message, hint, place.
    error: Option<[String; 4]>,
}

impl Judge {
    pub fn new(postgres: Postgres) -> Judge {
        let mirror = Mirror::new(&postgres);
        let describer = Describer::connect(postgres.port()).expect("it listens");
        Judge { mirror, describer, _postgres: postgres }
    }

    /// Compares all, and shows what differs.
    pub fn compare(&mut self, texts: &[String]) -> Found {
        let answers = self.describer.describe(texts).expect("it answers");
        let mut found = Found::default();
        for (text, answer) in texts.iter().zip(answers) {
            let theirs = theirs_of(&answer);
            let ours = self.ours(text);
            match &theirs.error {
                None => found.accepted += 1,
                Some(_) => found.refused += 1,
            }
            if ours == theirs {
                continue;
            }
            if let Some(class) = class_of(&ours, &theirs) {
                *found.known.entry(class).or_default() += 1;
                continue;
            }
            found.differing += 1;
            if found.differing <= SHOWN {
                println!("\n{text}\n{}", difference(&ours, &theirs));
            }
        }
        found
    }

    fn ours(&self, text: &str) -> Answer {
        let mut answer = Answer {
            tree: String::new(),
            columns: Vec::new(),
            parameters: Vec::new(),
            error: None,
        };
        let catalog = &self.mirror.catalog;
        let made = parse(text).and_then(|tree| {
            bind(&tree, &tree.statements[0].statement, &self.mirror, catalog, &[])
        });
        match made {
            Ok((bound, query)) => {
                answer.tree = ours::shown(&bound, query, catalog);
                let columns = bound.columns(query);
                // A client is told the types below domains.
                let base = |(_, ty): &(&str, TypeRef)| catalog.base(ty.oid, ty.modifier);
                answer.columns = columns.iter().map(base).collect();
                answer.parameters = bound.parameters.clone();
            }
            Err(error) => {
                let place = error.position.map(|at| text[..at as usize].chars().count() + 1);
                answer.error = Some([
                    error.state.to_string(),
                    error.message,
                    error.hint.unwrap_or_default().into(),
                    place.map(|at| at.to_string()).unwrap_or_default(),
                ]);
            }
        }
        answer
    }
}

fn theirs_of(answer: &Description) -> Answer {
    let error = answer.error.as_ref().map(|error| {
        [error.state.clone(), error.message.clone(), error.hint.clone(), error.position.clone()]
    });
    Answer {
        tree: if error.is_some() { String::new() } else { theirs::shown(&answer.tree) },
        columns: answer.columns.clone(),
        parameters: answer.parameters.clone(),
        error,
    }
}

/// Compares what was found of classes with what `known.tsv` says of one source of statements.
///
/// # Panics
/// There is more, or less, or a line has not its three parts.
pub fn check(known: &BTreeMap<&'static str, usize>, source: &str) {
    let noted: BTreeMap<&str, usize> = classes()
        .filter_map(|(class, count)| Some((class.strip_suffix(source)?.trim(), count)))
        .collect();
    assert_eq!(*known, noted, "known.tsv has the numbers {source}, which may only fall");
}

fn classes() -> impl Iterator<Item = (&'static str, usize)> {
    let lines = include_str!("known.tsv").lines().filter(|line| !line.starts_with('#'));
    let read = |line: &'static str| match line.split('\t').collect::<Vec<_>>()[..] {
        [class, count, _] => (class, count.parse().expect("a number")),
        _ => panic!("a line of three parts: {line}"),
    };
    lines.map(read)
}

/// The types whose literals are read when a statement is carried out, as errors name them.
const READ_LATER: [&str; 7] =
    ["date", "time", "timestamp", "interval", "json", "array literal", "enum mood"];

/// The class of a difference that is meant.
fn class_of(ours: &Answer, theirs: &Answer) -> Option<&'static str> {
    let into = |error: &[String; 4]| error[1] == "SELECT INTO is not supported";
    if ours.error.as_ref().is_some_and(into) {
        return Some("into");
    }
    let theirs = theirs.error.as_ref()?;
    let [state, message, ..] = theirs;
    let of_column = ["cannot insert into column \"", "cannot update column \""];
    match &ours.error {
        // Ours may be one that PostgreSQL has not come to.
        _ if matches!(&**state, "22007" | "22P02") => {
            let later = READ_LATER.iter().any(|name| message.contains(name));
            later.then_some("literals")
        }
        None if state == "0A000" => {
            let is_it = of_column.iter().any(|text| message.starts_with(text));
            (is_it && message.contains("\" of view \"")).then_some("views")
        }
        _ => None,
    }
}

fn difference(ours: &Answer, theirs: &Answer) -> String {
    if ours.error.is_some() || theirs.error.is_some() {
        return format!("  ours   {:?}\n  theirs {:?}", ours.error, theirs.error);
    }
    if ours.tree == theirs.tree {
        return format!(
            "  ours   {:?} {:?}\n  theirs {:?} {:?}",
            ours.columns, ours.parameters, theirs.columns, theirs.parameters
        );
    }
    let same = ours.tree.chars().zip(theirs.tree.chars()).take_while(|(a, b)| a == b).count();
    let part =
        |tree: &str| tree.chars().skip(same.saturating_sub(150)).take(400).collect::<String>();
    format!("  ours   …{}\n  theirs …{}", part(&ours.tree), part(&theirs.tree))
}
