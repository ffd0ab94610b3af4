//! Do dates and times behave as PostgreSQL's in other zones and styles, as texts, in groups and as series?
//!
//! What needs more than the calls of `tests/beside`: settings of a session, a clock, modifiers, aggregates and sets.

#[path = "../beside"]
mod beside {
    pub mod pools;
}

mod groups;
mod oracle;
mod ours;
#[path = "../common/session.rs"]
mod session;
mod texts;

use onlap_kernels::{find, signature};
use onlap_pg::catalog::{Catalog, ProcKind, Volatility};
use onlap_testkit::postgres::Postgres;

use beside::pools;
use ours::Ours;

/// A call: the function, and the texts of its arguments, `None` for NULL, with their types.
#[derive(Clone, Debug)]
pub struct Case {
    /// The function.
    pub proc: u32,
    /// Types and texts of its arguments.
    pub args: Vec<(u32, Option<String>)>,
    /// The result's type.
    pub result: u32,
    /// The call in SQL.
    pub text: String,
}

/// Zone, DateStyle and IntervalStyle of sessions.
pub const SESSIONS: [[&str; 3]; 6] = [
    ["Europe/Berlin", "ISO, DMY", "postgres_verbose"],
    ["America/New_York", "SQL, MDY", "sql_standard"],
    ["Asia/Kathmandu", "German, DMY", "iso_8601"],
    ["Australia/Lord_Howe", "Postgres, DMY", "postgres"],
    ["America/St_Johns", "ISO, YMD", "postgres"],
    ["Pacific/Apia", "Postgres, MDY", "sql_standard"],
];

const TYPES: [u32; 6] = [1082, 1083, 1114, 1184, 1186, 1266];

/// A number for a test from the environment.
fn number(name: &str, otherwise: u64) -> u64 {
    std::env::var(name).ok().and_then(|text| text.parse().ok()).unwrap_or(otherwise)
}

/// Compares answers, which come with what was asked.
fn compare(asked: &[String], ours: &[String], theirs: &[String]) {
    assert_eq!(asked.len(), theirs.len(), "an answer to each question");
    let mut differ = Vec::new();
    for ((asked, ours), theirs) in asked.iter().zip(ours).zip(theirs) {
        if ours != theirs {
            differ.push(format!("{asked}\n  ours   {ours}\n  theirs {theirs}"));
        }
    }
    println!("{} answers, {} differ", asked.len(), differ.len());
    assert!(differ.is_empty(), "{}", differ[..differ.len().min(60)].join("\n"));
}

#[test]
fn functions_give_the_same_in_other_zones_and_styles() {
    let postgres = Postgres::start();
    let catalog = Catalog::new();
    let most = number("ONLAP_CASES", 25) as usize;
    let only = std::env::var("ONLAP_ONLY").unwrap_or_default();
    for (at, session) in SESSIONS.iter().enumerate() {
        let mut draw = pools::Draw::new(number("ONLAP_SEED", 1) + at as u64);
        let mut cases = Vec::new();
        for proc in catalog.procs() {
            let mut types = proc.arguments.iter().chain([&proc.result]);
            let fits = proc.kind == ProcKind::Function
                && !proc.retset
                && proc.volatility != Volatility::Volatile
                && types.any(|oid| TYPES.contains(oid))
                && find(proc.oid).is_some();
            if !fits || !signature(&catalog, proc).contains(&only) {
                continue;
            }
            cases.extend(pools::cases(&catalog, proc, most, &mut draw));
            // What asks the clock is asked, too: here both have one.
            if matches!(&*proc.name, "now" | "transaction_timestamp") {
                let text = format!("pg_catalog.{}()", proc.name);
                cases.push(Case { proc: proc.oid, args: vec![], result: proc.result, text });
            }
        }
        let asked: Vec<String> = cases.iter().map(|case| case.text.clone()).collect();
        let (now, theirs) = oracle::answers(&postgres, session, &asked);
        let ours = Ours::new(session, now);
        let answers: Vec<String> = cases.iter().map(|case| ours.call(case)).collect();
        println!("{session:?}");
        compare(&asked, &answers, &theirs);
    }
}
