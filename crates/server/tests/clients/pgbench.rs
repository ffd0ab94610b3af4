//! pgbench 15: initialisation, the three protocols, and its balances after `kill -9`.

use std::time::{Duration, Instant};

use crate::support::server::Onlap;
use crate::support::{Address, are_there, run};

const NEEDED: [(&str, &str); 1] = [("pgbench", "apt-get install postgresql")];

fn pgbench(address: Address, arguments: &[&str]) -> String {
    let mut command = address.command("pgbench", "postgres");
    run(command.args(arguments).arg("postgres"))
}

/// The sums that every transaction keeps equal: of accounts, branches, tellers and the history.
fn balances(address: Address) -> Vec<i64> {
    let text = address.sql(
        "postgres",
        "select (select sum(abalance) from pgbench_accounts), \
         (select sum(bbalance) from pgbench_branches), \
         (select sum(tbalance) from pgbench_tellers), \
         (select coalesce(sum(delta), 0) from pgbench_history)",
    );
    text.split('|').map(|n| n.parse().expect("a number")).collect()
}

fn history(address: Address) -> u64 {
    let text = address.sql("postgres", "select count(*) from pgbench_history");
    text.parse().expect("a number")
}

fn assert_balanced(address: Address) {
    let sums = balances(address);
    assert!(sums.iter().all(|sum| *sum == sums[0]), "{sums:?}");
}

#[test]
fn all_protocols_and_scripts_run() {
    if !are_there(&NEEDED) {
        return;
    }
    let dir = tempfile::tempdir().expect("a temporary directory");
    let onlap = Onlap::start(dir.path());
    pgbench(onlap.address, &["-i", "-q", "-s", "1", "--foreign-keys"]);
    // A second time, over what is there, with rows made by the server and a table without room to spare.
    pgbench(onlap.address, &["-i", "-q", "-s", "1", "-I", "dtGvp", "-F", "90"]);
    assert_eq!(onlap.address.sql("postgres", "select count(*) from pgbench_accounts"), "100000");
    let mut expected = 0;
    for mode in ["simple", "extended", "prepared"] {
        for script in ["tpcb-like", "simple-update", "select-only"] {
            let arguments = ["-n", "-M", mode, "-b", script, "-c", "2", "-j", "2", "-t", "10"];
            let said = pgbench(onlap.address, &arguments);
            assert!(said.contains("actually processed: 20/20"), "{mode} {script}: {said}");
            expected += if script == "select-only" { 0 } else { 20 };
        }
    }
    assert_eq!(history(onlap.address), expected);
    // Only the first script writes to all three tables.
    let sums = balances(onlap.address);
    assert_eq!((sums[0], sums[1]), (sums[3], sums[2]));
}

#[test]
fn balances_agree_after_a_kill() {
    if !are_there(&NEEDED) {
        return;
    }
    let dir = tempfile::tempdir().expect("a temporary directory");
    let mut onlap = Onlap::start(dir.path());
    pgbench(onlap.address, &["-i", "-q", "-s", "1"]);
    for round in 0..2 {
        let before = history(onlap.address);
        let mut command = onlap.address.command("pgbench", "postgres");
        let mut load = command
            .args(["-n", "-M", "prepared", "-c", "2", "-j", "2", "-T", "600", "postgres"])
            .stdout(std::process::Stdio::null())
            .stderr(std::process::Stdio::null())
            .spawn()
            .expect("pgbench starts");
        let begun = Instant::now();
        while history(onlap.address) < before + 50 {
            assert!(begun.elapsed() < Duration::from_secs(120), "pgbench does nothing");
            assert!(load.try_wait().expect("ours").is_none(), "pgbench ended in round {round}");
        }
        let seen = history(onlap.address);
        onlap.kill();
        load.wait().expect("pgbench ends with its server");
        onlap = Onlap::start(dir.path());
        assert!(history(onlap.address) >= seen, "commits are gone");
        assert_balanced(onlap.address);
    }
    // What was recovered takes further work.
    pgbench(onlap.address, &["-n", "-t", "5"]);
    assert_balanced(onlap.address);
}
