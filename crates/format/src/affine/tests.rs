//! Pieces against the list of entries they stand for.

use onlap_base::rng::Rng;

use super::{Affine, AffineBuilder};

#[test]
fn equals_the_list_of_entries() {
    let mut rng = Rng::new(7);
    for _ in 0..200 {
        // Several writers, each with a stretch of keys, and a few keys written twice.
        let mut list = Vec::new();
        let (mut key, mut row) = (rng.range(-1000..1000), 0);
        for _ in 0..rng.index(30) {
            let n = 1 + rng.below(50);
            list.extend((0..n).map(|i| (key + i as i64, row + i)));
            key += n as i64 + rng.range(-3..20);
            row += n + rng.below(3);
        }
        list.sort_unstable();
        let mut builder = AffineBuilder::new(usize::MAX);
        assert!(list.iter().all(|(k, r)| builder.push(*k, *r)));
        let affine = builder.finish();
        let mut bytes = Vec::new();
        affine.encode(&mut bytes);
        assert_eq!(Affine::parse(&bytes).unwrap(), affine);
        let n = list.len() as u64;
        assert_eq!(affine.len(), n);
        for k in -1010..1100 {
            let linear = list.iter().position(|(key, _)| *key >= k).unwrap_or(list.len());
            assert_eq!(affine.lower_bound(k), linear as u64);
        }
        for (i, entry) in list.iter().enumerate() {
            assert_eq!(affine.entry(i as u64), *entry);
        }
        let (a, b) = (rng.below(n + 1), rng.below(n + 1));
        let (mut keys, mut rows) = (Vec::new(), Vec::new());
        affine.entries(a.min(b)..a.max(b), &mut keys, &mut rows);
        let got: Vec<_> = keys.into_iter().zip(rows).collect();
        assert_eq!(got, list[a.min(b) as usize..a.max(b) as usize]);
    }
}

#[test]
fn too_many_pieces_are_refused() {
    let mut builder = AffineBuilder::new(2);
    assert!(builder.push(1, 1) && builder.push(3, 2) && builder.push(4, 3));
    assert!(!builder.push(9, 9));
    assert_eq!(builder.finish().len(), 3);
}

#[test]
fn damage_never_panics() {
    let mut builder = AffineBuilder::new(100);
    for i in 0..50u64 {
        builder.push(i as i64 * 7, i * 3);
    }
    let affine = builder.finish();
    let mut bytes = Vec::new();
    affine.encode(&mut bytes);
    let mut rng = Rng::new(3);
    for _ in 0..20_000 {
        let mut bad = bytes.clone();
        bad[rng.index(bytes.len())] ^= 1 << rng.below(8);
        bad.truncate(rng.index(bytes.len() * 4));
        if let Ok(a) = Affine::parse(&bad)
            && !a.is_empty()
        {
            a.entry(a.lower_bound(100).min(a.len() - 1));
        }
    }
}
