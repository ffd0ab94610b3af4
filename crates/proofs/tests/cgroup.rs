//! Does the server live in a small cgroup, and would the rig see it killed?

use onlap_proofs::cgroup::{SHORT, Setting, attempt};
use onlap_proofs::control;
use onlap_proofs::served::can_run;
use onlap_testkit::cgroup::Cgroup;

#[test]
fn a_server_in_a_cgroup_answers_and_lives() {
    if can_run(false) && Cgroup::can_be() {
        let counts = attempt(SHORT, 0).unwrap();
        assert!(counts.of("statements") >= 64, "{counts}");
    }
}

#[test]
fn a_kill_is_seen() {
    if can_run(false) && Cgroup::can_be() {
        // Less than the server is told that it has.
        let squeezed = Setting { squeezed: Some(72), ..SHORT };
        let finding = control("a cgroup that shrinks", 1, |seed| attempt(squeezed, seed));
        assert!(finding.contains("the kernel killed"), "{finding}");
    }
}
