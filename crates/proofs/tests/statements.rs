//! Few statements of the rig of hostile statements, and its controls.

use onlap_proofs::statements::{ATTACK, Attack, attack};
use onlap_proofs::{Rig, STATEMENTS, control, prove, served};

/// As many as end in half a minute on a busy machine.
const FEW: Attack = Attack { statements: 60, ..ATTACK };

#[test]
fn a_server_outlives_hostile_statements() {
    if !served::can_run(false) {
        return;
    }
    let rig = Rig { run: |seed| attack(seed, &FEW), ..STATEMENTS };
    let counts = prove(rig, "hostile statements", FEW.statements);
    assert!(counts.of("answered") > 0 && counts.of("refused") > 0, "{counts}");
}

#[test]
fn a_death_is_found() {
    if !served::can_run(false) {
        return;
    }
    let killed = Attack { statements: 10, killed_at: Some(5), ..ATTACK };
    let found = control("a death", 1, |seed| attack(seed, &killed));
    assert!(found.contains("the server ended"), "{found}");
}

#[test]
fn too_much_memory_is_found() {
    if !served::can_run(false) {
        return;
    }
    let starved = Attack { statements: 10, most: 1 << 20, ..ATTACK };
    let found = control("memory", 1, |seed| attack(seed, &starved));
    assert!(found.contains("the server took"), "{found}");
}
