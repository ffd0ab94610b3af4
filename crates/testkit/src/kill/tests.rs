use std::os::unix::process::ExitStatusExt;

use super::*;

#[test]
fn promises_come_back() {
    let dir = tempfile::tempdir().expect("a temporary directory can be made");
    let path = dir.path().join("expected");
    assert_eq!(Promise::read(&path).unwrap(), Promise::default());
    let mut expected = Expected::open(&path).unwrap();
    for number in 1..=3 {
        expected.ask(number).unwrap();
        expected.acknowledge(number).unwrap();
    }
    expected.ask(4).unwrap();
    let promise = Promise::read(&path).unwrap();
    assert_eq!(promise, Promise { acknowledged: 3, asked: 4 });
    assert!(promise.allows(3) && promise.allows(4));
    assert!(!promise.allows(2) && !promise.allows(5));
    // A line cut by the kill promises nothing, and does not spoil the next run's first line.
    std::fs::OpenOptions::new().append(true).open(&path).unwrap().write_all(b"ack 40").unwrap();
    assert_eq!(Promise::read(&path).unwrap(), promise);
    Expected::open(&path).unwrap().ask(5).unwrap();
    assert_eq!(Promise::read(&path).unwrap(), Promise { acknowledged: 3, asked: 5 });
}

#[test]
fn a_child_is_killed() {
    let mut command = Command::new("sleep");
    let status = run_and_kill(command.arg("60"), &mut Rng::new(1), Duration::from_millis(20));
    assert_eq!(status.expect("sleep(1) can be started").signal(), Some(9));
}
