use super::*;

/// Keys are thousandths, because floats have no order of their own.
fn code(arriving: &[i64]) -> String {
    let mut pattern = Pattern::new();
    (1..=9).for_each(|k| pattern.hold(k * 1000));
    arriving.iter().for_each(|k| pattern.observe(k));
    pattern.report().to_string()
}

#[test]
fn the_published_examples() {
    let cases: [(&[i64], &str); 8] = [
        (&[1500, 6500, 1700, 8100, 0, 4500], "(inf)"),
        (&[10_000, 11_000, 12_000], "(nAsc:1, nRHS:1)"),
        (&[0, -1000, -2000], "(nDesc:1, nLHS:1)"),
        (&[10_000, 0, -1000, 11_000, 12_000, -2000], "(nAsc:1, nDesc:1, nRHS:1, nLHS:1)"),
        (&[8100, 8110, 8111], "(nAsc:1)"),
        (&[7900, 7890, 7889], "(nDesc:1)"),
        (&[8100, 7900, 8110, 7890], "(nAsc:1, nDesc:1)"),
        (&[8100, 6100, 8110, 6110], "(nAsc:2)"),
    ];
    for (keys, expected) in cases {
        assert_eq!(code(keys), expected, "{keys:?}");
    }
}

/// `streams` ascending streams far apart, fed in turn.
fn interleaved(streams: i64, rounds: i64) -> String {
    let mut pattern = Pattern::new();
    (0..=streams).for_each(|s| pattern.hold(s * 1_000_000 - 1));
    for round in 0..rounds {
        for stream in 0..streams {
            pattern.observe(&(stream * 1_000_000 + round));
        }
    }
    pattern.report().to_string()
}

#[test]
fn up_to_64_streams_are_counted_and_more_are_random() {
    assert_eq!(interleaved(1, 5_000), "(nAsc:1)");
    assert_eq!(interleaved(20, 5_000), "(nAsc:20)");
    assert_eq!(interleaved(64, 500), "(nAsc:64)");
    assert_eq!(interleaved(65, 500), "(inf)");
    assert_eq!(interleaved(5_000, 20), "(inf)");
}

#[test]
fn nothing_is_known_before_two_keys() {
    let mut pattern = Pattern::new();
    assert_eq!(pattern.report(), InsertPattern::Unknown);
    pattern.observe(&1);
    assert_eq!(pattern.report().to_string(), "()");
    pattern.observe(&2);
    assert_eq!(pattern.report().to_string(), "(nAsc:1, nRHS:1)");
}

#[test]
fn random_keys_are_random_at_every_length() {
    let mut pattern = Pattern::new();
    let mut state = 7u64;
    let mut mistaken = 0;
    for n in 0..100_000u64 {
        state =
            state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        pattern.observe(&(state >> 33));
        mistaken += u32::from(n > 100 && pattern.report() != InsertPattern::Random);
    }
    assert_eq!(mistaken, 0);
}

#[test]
fn equal_keys_rise_and_few_strays_do_not_hide_an_order() {
    let mut pattern = Pattern::new();
    for n in 0..20_000u64 {
        pattern.observe(&(n / 100));
    }
    assert_eq!(pattern.report().to_string(), "(nAsc:1, nRHS:1)");

    let mut pattern = Pattern::new();
    for n in 0..20_000u64 {
        let stray = n % 200 == 150;
        pattern.observe(&if stray { n.wrapping_mul(0x9E37_79B9_7F4A_7C15) % n } else { n });
    }
    assert_eq!(pattern.report().to_string(), "(nAsc:1, nRHS:1)");
}

#[test]
fn what_was_long_ago_fades() {
    let mut pattern = Pattern::new();
    (0..10_000u64).for_each(|n| pattern.observe(&n));
    (0..3 * WINDOW_KEYS).for_each(|n| pattern.observe(&(u64::MAX / 2 - n)));
    let report = pattern.report().to_string();
    assert!(report.starts_with("(nDesc:1"), "{report}");
}
