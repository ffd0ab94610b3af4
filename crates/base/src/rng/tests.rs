use super::*;

#[test]
fn splitmix_gives_the_published_numbers() {
    // First outputs for the seed 1234567, as printed by the authors' reference program.
    let mut state = 1234567;
    let got: Vec<u64> = (0..3).map(|_| splitmix(&mut state)).collect();
    assert_eq!(got, [6457827717110365317, 3203168211198807973, 9817491932198370423]);
}

#[test]
fn a_seed_decides_everything() {
    let draw = |seed| {
        let mut rng = Rng::new(seed);
        let mut bytes = [0u8; 13];
        rng.fill(&mut bytes);
        let mut order: Vec<u32> = (0..20).collect();
        rng.shuffle(&mut order);
        (bytes, order, rng.range(-5..5), rng.unit().to_bits(), rng.fork())
    };
    assert_eq!(draw(7), draw(7));
    assert_ne!(draw(7), draw(8));
}

#[test]
fn draws_stay_inside_and_cover_their_range() {
    let mut rng = Rng::new(1);
    let mut seen = [0u32; 7];
    for _ in 0..7_000 {
        seen[rng.below(7) as usize] += 1;
    }
    assert!(seen.iter().all(|&n| (800..1200).contains(&n)), "{seen:?}");
    for _ in 0..1000 {
        assert!((-3..4).contains(&rng.range(-3..4)));
        assert!((0.0..1.0).contains(&rng.unit()));
    }
    assert_eq!(rng.range(i64::MIN..i64::MIN + 1), i64::MIN);
    rng.range(i64::MIN..i64::MAX);
    assert!(!rng.chance(0.0));
    assert!(rng.chance(1.0));
}

#[test]
fn a_shuffle_keeps_every_element() {
    let mut items: Vec<u32> = (0..100).collect();
    Rng::new(3).shuffle(&mut items);
    assert_ne!(items, (0..100).collect::<Vec<_>>());
    items.sort_unstable();
    assert_eq!(items, (0..100).collect::<Vec<_>>());
}
