//! pg_terminate_backend and pg_cancel_backend.

use crate::common::compared::{each, is_as_postgresql};
use crate::common::{config, start};

#[test]
fn pids_and_timeouts_are_judged_as_by_postgresql() {
    is_as_postgresql(|wire, said| {
        let mut heard = Vec::new();
        each(
            wire,
            &mut heard,
            &[
                "select pg_terminate_backend(2147483647)",
                "select pg_terminate_backend(-1)",
                "select pg_terminate_backend(2147483647, 10)",
                "select pg_terminate_backend(2147483647, -1)",
                "select pg_terminate_backend(pg_backend_pid(), -1)",
                "select pg_terminate_backend(2147483647, null)",
                "select pg_cancel_backend(2147483647)",
                "select pg_cancel_backend(-7)",
                "select pg_cancel_backend(null)",
                "set client_min_messages = error",
                "select pg_cancel_backend(2147483647)",
            ],
        );
        // Warnings come with the row, before or after it.
        for line in heard {
            let mut parts: Vec<&str> = line.split(", ").collect();
            parts.sort_unstable();
            said.push(parts.join(", "));
        }
    });
}

#[test]
fn who_ends_a_session_may_wait_for_its_end() {
    let running = start(config());
    let mut other = running.session();
    let pid = other.query("select pg_backend_pid()")[1].values()[0].clone();
    let mut wire = running.session();
    let answers = wire.query(&format!("select pg_terminate_backend({pid}, 20000)"));
    assert_eq!(answers[1].values(), ["t"]);
    let listed = format!("select count(*) from pg_stat_activity where pid = {pid}");
    assert_eq!(wire.query(&listed)[1].values(), ["0"]);
}

#[test]
fn what_a_session_hears_after_its_end_is_not_carried_out() {
    let running = start(config());
    let mut other = running.session();
    other.query("create table told (a int)");
    for _ in 0..40 {
        let mut wire = running.session();
        let pid = wire.query("select pg_backend_pid()")[1].values()[0].clone();
        other.query(&format!("select pg_terminate_backend({pid})"));
        wire.send(b'Q', b"insert into told values (1)\0");
        wire.expect_error("FATAL", "57P01");
    }
    assert_eq!(other.query("select count(*) from told")[1].values(), ["0"]);
}
