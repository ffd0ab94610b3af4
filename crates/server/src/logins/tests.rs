//! Do wrong passwords cost time, and only that of their senders?

use super::*;

const SECOND: u64 = 1_000_000_000;
const HERE: Origin = Origin::V4(1);
const THERE: Origin = Origin::V4(2);

fn millis(logins: &Logins, role: &str, from: Origin, now_ns: u64) -> u128 {
    logins.wait(role, from, now_ns).as_millis()
}

#[test]
fn waits_double_up_to_the_limit() {
    let logins = Logins::new(Duration::from_secs(2));
    let mut now = SECOND;
    let mut waits = Vec::new();
    for _ in 0..8 {
        let wait = logins.wait("a", HERE, now);
        waits.push(wait.as_millis());
        now += nanos(wait);
        logins.failed("a", HERE, now);
    }
    assert_eq!(waits, [0, 50, 100, 200, 400, 800, 1600, 2000]);
    // Others are not concerned.
    assert_eq!((millis(&logins, "a", THERE, now), millis(&logins, "b", HERE, now)), (0, 0));
    // Many guesses at once queue, and a client that knows the password waits for the limit at most.
    assert!((0..100).all(|_| millis(&logins, "a", HERE, now) <= 2000));
    logins.succeeded("a", HERE);
    assert_eq!(millis(&logins, "a", HERE, now), 0);
}

#[test]
fn guesses_at_the_same_time_come_one_after_the_other() {
    let logins = Logins::new(Duration::from_secs(10));
    logins.failed("a", HERE, SECOND);
    let waits: Vec<u128> = (0..4).map(|_| millis(&logins, "a", HERE, SECOND)).collect();
    assert_eq!(waits, [50, 100, 150, 200]);
}

#[test]
fn failures_are_forgotten_and_the_table_is_bounded() {
    let logins = Logins::new(Duration::from_secs(2));
    for n in 0..3 * ENTRIES {
        logins.failed(&format!("role{n}"), HERE, SECOND + n as u64);
    }
    assert_eq!(logins.failures.lock().len(), ENTRIES);
    assert_eq!(millis(&logins, "role0", HERE, SECOND + 1), 0, "the oldest has gone");
    let later = SECOND + nanos(QUIET) + SECOND;
    logins.failed("other", HERE, later);
    assert_eq!(logins.failures.lock().len(), 1);
    let long = "ä".repeat(5000);
    logins.failed(&long, HERE, later);
    assert!(logins.failures.lock().keys().all(|(name, _)| name.len() <= NAME_BYTES));
    let none = Logins::new(Duration::ZERO);
    none.failed("a", HERE, SECOND);
    assert_eq!(millis(&none, "a", HERE, SECOND), 0);
}
