//! Compares what both make of statements.

use onlap_pg::TypeRef;
use onlap_pg::bind::bind;
use onlap_pg::grammar::parse;
use onlap_testkit::described::{Describer, Description};
use onlap_testkit::postgres::Postgres;

use crate::schema::Mirror;
use crate::{ours, theirs};

/// How many differences are shown.
const SHOWN: usize = 15;

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
    /// Of both, those that differ as is meant.
    pub known: usize,
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
            if is_known(&ours, &theirs) {
                found.known += 1;
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
                    error.hint.unwrap_or_default(),
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

/// Differences that are meant to be: literals of most types are read when a statement is carried out, collations are not
/// derived, rules of views are applied behind the binder, and some clauses are not bound.
fn is_known(ours: &Answer, theirs: &Answer) -> bool {
    match (&ours.error, &theirs.error) {
        (_, Some(error)) if error[0].starts_with("22") => true,
        (_, Some(error)) if matches!(&*error[0], "42P21" | "42P22") => true,
        (None, Some(error)) => error[1].contains(" of view "),
        (Some(error), _) => error[0] == "0A000" && error[1].ends_with(" is not supported"),
        _ => false,
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
