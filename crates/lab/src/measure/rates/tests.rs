use super::*;

fn recorder(rows_per_interval: &[u64]) -> Recorder {
    let start = Instant::now();
    let mut recorder = Recorder::new(start).unwrap();
    for (i, rows) in rows_per_interval.iter().enumerate() {
        let end = start + INTERVAL * i as u32 + INTERVAL / 2;
        recorder.record_at(end - Duration::from_millis(i as u64), end, *rows);
    }
    recorder
}

#[test]
fn rates_are_taken_from_complete_intervals() {
    let r = recorder(&[100, 50, 100, 100, 1]);
    assert_eq!(r.rows(), 351);
    assert_eq!(r.interval_rate(1.0), Some(500.0));
    assert_eq!(r.interval_rate(50.0), Some(1000.0));
    assert!((r.rate() - 351.0 / 0.45).abs() < 1e-6);
    assert!((r.longest_ms() - 4.0).abs() < 0.01);
    assert_eq!(recorder(&[5]).interval_rate(50.0), None);
}

#[test]
fn an_interval_without_an_operation_counts_as_zero() {
    let start = Instant::now();
    let mut r = Recorder::new(start).unwrap();
    r.record_at(start, start + INTERVAL / 2, 10);
    r.record_at(start, start + INTERVAL * 5, 10);
    assert_eq!(r.interval_rate(1.0), Some(0.0));
}

#[test]
fn clients_add_up() {
    let start = Instant::now();
    let (mut a, mut b) = (Recorder::new(start).unwrap(), Recorder::new(start).unwrap());
    a.record_at(start, start + INTERVAL / 2, 10);
    b.record_at(start, start + INTERVAL / 2, 20);
    b.record_at(start, start + INTERVAL * 2, 20);
    a.merge(&b);
    assert_eq!((a.rows(), a.operations()), (50, 3));
    assert_eq!(a.elapsed(), INTERVAL * 2);
    assert_eq!(a.interval_rate(100.0), Some(300.0));
}

#[test]
fn last_tenth_against_the_first() {
    let falling: Vec<u64> = (0..200).map(|i| if i < 100 { 200 } else { 100 }).collect();
    let ratio = recorder(&falling).last_tenth_over_first().unwrap();
    assert!((ratio - 0.5).abs() < 0.05, "{ratio}");
    assert_eq!(recorder(&[10; 10]).last_tenth_over_first(), None);
}

#[test]
fn a_slow_fall_is_steady_and_a_dip_is_not() {
    let falling = |second: u64| 30_000 - 40 * second;
    let intervals = |of: &dyn Fn(u64) -> u64| {
        let mut rows: Vec<u64> = (0..300).flat_map(|s| vec![of(s) / 10; 10]).collect();
        rows.push(0);
        recorder(&rows)
    };
    let steady = intervals(&falling);
    assert!(steady.second_rate(1.0).unwrap() / steady.second_rate(50.0).unwrap() < 0.8);
    // At both ends the minute lies on one side of a second: the last is 6 percent below its median.
    assert!(steady.steadiness().unwrap() > 0.93);
    let dips = intervals(&|s| if s % 50 == 20 { falling(s) / 4 } else { falling(s) });
    let share = dips.steadiness().unwrap();
    assert!((0.2..0.3).contains(&share), "{share}");
    assert_eq!(recorder(&[5; 12]).steadiness(), None);
}
