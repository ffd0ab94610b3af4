//! Do regular expressions, sets and aggregates of texts give what PostgreSQL gives?
//!
//! Expressions and texts come by chance from a seed (`ONLAP_SEED`, `ONLAP_CASES`), so that groups, preferences and looks meet
//! in ways that no list of cases has. A PostgreSQL 15 runs beside the test.

#![allow(clippy::disallowed_methods, reason = "a test writes to psql from a thread")]

mod aggregates;
#[path = "../beside/call.rs"]
mod call;
mod expressions;
mod memory;
#[path = "../beside/oracle.rs"]
mod oracle;
#[path = "../common/session.rs"]
mod session;
mod sets;

use std::sync::Arc;

use onlap_kernels::{Cx, Datum, Types, signature};
use onlap_pg::catalog::Catalog;
use onlap_pg::value::Settings;
use onlap_pg::{Oid, Result, TypeRef};
use session::QUIET;

/// A call: the function, and the texts of its arguments, `None` for NULL, with their types.
#[derive(Clone, Debug)]
pub struct Case {
    /// The function.
    pub proc: u32,
    /// Arguments.
    pub args: Vec<(u32, Option<String>)>,
    /// The type of the result.
    pub result: u32,
    /// As PostgreSQL is asked.
    pub text: String,
}

/// A number for a test from the environment.
fn number(name: &str, otherwise: u64) -> u64 {
    std::env::var(name).ok().and_then(|text| text.parse().ok()).unwrap_or(otherwise)
}

/// Numbers by chance, from a seed (splitmix64).
struct Draw(u64);

impl Draw {
    /// A number below a bound.
    fn below(&mut self, bound: usize) -> usize {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        ((z ^ (z >> 31)) % bound as u64) as usize
    }

    /// One of some.
    fn one<'a>(&mut self, of: &[&'a str]) -> &'a str {
        of[self.below(of.len())]
    }
}

/// A literal of SQL.
fn quoted(text: &str) -> String {
    format!("'{}'", text.replace('\'', "''"))
}

/// The function of a signature.
fn function(catalog: &Catalog, name: &str) -> Oid {
    let found = catalog.procs().iter().find(|proc| signature(catalog, proc) == name);
    found.expect("it is a row of pg_proc").oid
}

/// What functions are called with.
struct World {
    catalog: Arc<Catalog>,
    settings: Settings,
}

impl World {
    fn new() -> World {
        World { catalog: Arc::new(Catalog::new()), settings: Settings::default() }
    }

    fn cx(&self) -> Cx<'_> {
        Cx { catalog: &self.catalog, settings: &self.settings, session: &QUIET }
    }

    fn types(&self, args: &[Oid], result: Oid) -> Types {
        Types {
            args: args.iter().map(|oid| TypeRef::new(*oid)).collect(),
            result: TypeRef::new(result),
            catalog: Arc::clone(&self.catalog),
        }
    }

    /// A value as its type's output function writes it.
    fn shown(&self, oid: Oid, value: &Datum<'_>) -> Result<String> {
        if value.is_null() {
            return Ok("NULL".into());
        }
        let mut text = String::new();
        onlap_kernels::output(&mut self.cx(), oid, value, &mut text)?;
        Ok(text)
    }
}
