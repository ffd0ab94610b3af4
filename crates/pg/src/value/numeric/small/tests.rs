//! What is calculated with few digits is what is calculated with many.

use super::*;

/// Mantissas of all sizes with all scales, from a seed.
fn values() -> Vec<Small> {
    let mut state = 7_u64;
    let mut next = |bound: u64| {
        state =
            state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 33) % bound
    };
    let mut values = vec![];
    for _ in 0..400 {
        let digits = next(39) as u32;
        let random = u128::from(next(u64::MAX)) << 66
            | u128::from(next(u64::MAX)) << 33
            | u128::from(next(u64::MAX));
        let mantissa = (random % 10_u128.pow(digits)) as i128;
        let mantissa = if next(5) == 0 { mantissa / 10_000 * 10_000 } else { mantissa };
        let mantissa = if next(2) == 0 { mantissa } else { -mantissa };
        values.extend(Small::new(mantissa, next(37) as u8));
    }
    values
}

#[test]
fn results_are_those_of_any_digits() {
    let values = values();
    let mut same = 0;
    for a in &values {
        for b in &values {
            let (x, y) = (Numeric::from(*a), Numeric::from(*b));
            let zero = y.is_zero();
            let all = [
                (a.checked_add(*b), x.add(&y)),
                (a.checked_sub(*b), x.sub(&y)),
                (a.checked_mul(*b), x.mul(&y)),
                if zero { (None, x.add(&y)) } else { (a.checked_div(*b), x.div(&y)) },
                if zero { (None, x.add(&y)) } else { (a.checked_rem(*b), x.rem(&y)) },
                (a.round(b.scale()), x.round(i32::from(b.scale()))),
            ];
            for (fast, slow) in all {
                let Some(fast) = fast else { continue };
                same += 1;
                assert_eq!(
                    Numeric::from(fast).to_string(),
                    slow.expect("it fits").to_string(),
                    "{a:?} {b:?}"
                );
            }
            assert_eq!(a.cmp(b), x.cmp(&y), "{a:?} {b:?}");
        }
    }
    assert!(same > 300_000, "{same} results had few digits");
}

#[test]
fn forms_and_keys_are_those_of_any_digits() {
    for small in values() {
        let value = Numeric::from(small);
        let mut stored = Vec::new();
        value.store(&mut stored);
        let mut direct = Vec::new();
        small.store(&mut direct);
        assert_eq!(stored, direct, "{small:?} has one form");
        assert_eq!(Numeric::load(&stored).to_string(), value.to_string());
        let (mut key, mut of_stored) = (Vec::new(), Vec::new());
        value.key(&mut key);
        Numeric::key_of_stored(&stored, &mut of_stored);
        assert_eq!(key, of_stored, "{small:?}");
        if let Some(float) = small.to_float8() {
            assert_eq!(Ok(float), value.to_float8());
        }
    }
}

#[test]
fn what_has_many_digits_is_stored_too() {
    for text in [
        "NaN",
        "Infinity",
        "-Infinity",
        "1e40",
        "-1e-40",
        "0.0000000000000000000000000000000000000",
    ] {
        let value = Numeric::parse(text).expect("a numeric");
        let mut stored = Vec::new();
        value.store(&mut stored);
        assert!(Small::load(&stored).is_none(), "{text}");
        assert_eq!(Numeric::load(&stored).to_string(), value.to_string());
        let mut saved = Vec::new();
        value.save(&mut saved);
        saved.push(9);
        let (restored, rest) = Numeric::restore(&saved);
        assert_eq!((restored.to_string(), rest), (value.to_string(), &[9_u8][..]));
    }
}
