//! Filters: no key is lost, few are made up.

use onlap_base::rng::Rng;

use super::Filter;

#[test]
fn keeps_its_keys_and_refuses_most_others() {
    let mut rng = Rng::new(1);
    for n in [0, 1, 10, 1000, 100_000] {
        let keys: Vec<u64> = (0..n).map(|_| rng.next_u64()).collect();
        let mut filter = Filter::with_keys(n);
        keys.iter().for_each(|k| filter.insert(*k));
        assert!(keys.iter().all(|k| filter.contains(*k)));
        let wrong = (0..100_000).filter(|_| filter.contains(rng.next_u64())).count();
        assert!(wrong < 250, "{wrong} of 100,000 for {n} keys");
    }
}

#[test]
fn damage_is_an_error() {
    let mut filter = Filter::with_keys(20);
    (0..20u64).for_each(|k| filter.insert(k << 40 | k));
    let mut bytes = Vec::new();
    filter.encode(&mut bytes);
    for i in 0..bytes.len() {
        let mut bad = bytes.clone();
        bad[i] ^= 1;
        assert!(Filter::parse(&bad).is_err());
        assert!(Filter::parse(&bytes[..i]).is_err());
    }
}
