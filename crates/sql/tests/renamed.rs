//! What do statements that waited for a table, or that meet a table in use, say and do?
//!
//! Scripts of several sessions run here and in a private PostgreSQL 15 (a Debian package): what each statement answers, and
//! what waits, must be the same.

#![allow(clippy::disallowed_methods, reason = "tests stand outside the simulation")]

#[path = "support/actor.rs"]
mod actor;
#[path = "support/actors.rs"]
mod actors;
mod support;

use onlap_testkit::postgres::NEEDED;
use onlap_testkit::programs;
use onlap_testkit::simple::Outcome;

fn shown(outcome: &Outcome) -> String {
    let Outcome { tags, error, detail, hint, rows, notices, .. } = outcome;
    format!("{tags:?} {error:?} {detail:?} {hint:?} {rows:?} {notices:?}")
}

fn same(scripts: &str) {
    if programs::are_there(&NEEDED) {
        actors::compare(scripts, shown);
    }
}

#[test]
fn what_waited_looks_its_names_up_again() {
    same(include_str!("../testdata/renamed.sessions"));
}

#[test]
fn tables_are_locked_as_in_postgresql() {
    same(include_str!("../testdata/locked.sessions"));
}

#[test]
fn tables_in_use_are_left_alone_as_in_postgresql() {
    same(include_str!("../testdata/in_use.sessions"));
}

#[test]
fn kept_texts_mean_what_they_meant() {
    same(include_str!("../testdata/kept_names.sessions"));
}
