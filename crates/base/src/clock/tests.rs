use super::*;

#[test]
fn the_machine_clock_goes_forward() {
    let clock = SystemClock;
    let first = clock.monotonic_ns();
    assert!(clock.monotonic_ns() >= first);
    let year_2020 = 1_577_836_800_000_000;
    assert!(clock.unix_us() > year_2020);
}

#[test]
fn a_manual_clock_moves_only_when_told() {
    let clock = ManualClock::new(1_000);
    assert_eq!((clock.unix_us(), clock.monotonic_ns()), (1_000, 0));
    clock.advance(Duration::from_nanos(1_500));
    assert_eq!((clock.unix_us(), clock.monotonic_ns()), (1_001, 1_500));
    clock.advance(Duration::from_secs(1));
    assert_eq!((clock.unix_us(), clock.monotonic_ns()), (1_001_001, 1_000_001_500));
}
