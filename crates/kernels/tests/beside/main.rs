//! Does every kernel give what PostgreSQL gives?
//!
//! Each function that has a kernel is called with edge values of its arguments' types, by us and by a PostgreSQL 15 that runs
//! beside the test: all combinations where they are few, else some by chance. The answers, or SQLSTATE and message, must be
//! the same. `ONLAP_ONLY` names functions (`int4pl`, or a part of a signature); `ONLAP_SEED` and `ONLAP_CASES` make runs
//! different and longer.

#![allow(clippy::disallowed_methods, reason = "a test writes its own files")]

mod call;
mod oracle;
mod pools;
#[path = "../common/session.rs"]
mod session;

use onlap_pg::Oid;
use onlap_pg::catalog::{Catalog, Proc, ProcKind, Volatility};
use onlap_testkit::postgres::Postgres;

use call::Ours;

/// Calls of a function, unless `ONLAP_CASES` says otherwise.
const CASES: usize = 60;

/// A number for a test from the environment.
fn number(name: &str, otherwise: u64) -> u64 {
    std::env::var(name).ok().and_then(|text| text.parse().ok()).unwrap_or(otherwise)
}

/// A call: the function, and the texts of its arguments, `None` for NULL, with their types.
#[derive(Clone, Debug)]
pub struct Case {
    /// Its row of pg_proc.
    pub proc: u32,
    /// Types and texts of the arguments.
    pub args: Vec<(u32, Option<String>)>,
    /// The type of the result.
    pub result: u32,
    /// The call in SQL.
    pub text: String,
}

#[test]
fn kernels_give_what_postgresql_gives() {
    let postgres = Postgres::start();
    let catalog = Catalog::new();
    let (seed, cases) = (number("ONLAP_SEED", 1), number("ONLAP_CASES", CASES as u64) as usize);
    let only = std::env::var("ONLAP_ONLY").unwrap_or_default();
    let mut draw = pools::Draw::new(seed);
    let mut asked = Vec::new();
    let mut functions = 0;
    for proc in catalog.procs() {
        let signature = onlap_kernels::signature(&catalog, proc);
        if !is_comparable(proc) || !signature.contains(&only) {
            continue;
        }
        functions += 1;
        asked.extend(pools::cases(&catalog, proc, cases, &mut draw));
    }
    let theirs = oracle::answers(&postgres, &asked);
    let ours = Ours::new();
    let mut differ = Vec::new();
    for (case, theirs) in asked.iter().zip(&theirs) {
        let mine = ours.answer(case);
        if !oracle::same(&mine, theirs) {
            differ.push(format!("{}\n  ours   {mine}\n  theirs {theirs}", case.text));
        }
    }
    println!("{functions} functions, {} calls, {} differ (seed {seed})", asked.len(), differ.len());
    assert!(differ.is_empty(), "{}", differ[..differ.len().min(60)].join("\n"));
    assert!(!only.is_empty() || functions > 0, "kernels were compared");
}

/// Any enum: the types of a database, which are compared where there is one.
const ANYENUM: Oid = 3500;

/// Whether a function has a kernel and gives the same each time.
fn is_comparable(proc: &Proc) -> bool {
    proc.kind == ProcKind::Function
        && proc.volatility != Volatility::Volatile
        && !proc.retset
        && !proc.arguments.contains(&ANYENUM)
        && onlap_kernels::find(proc.oid).is_some()
}
