//! A zone never rules out a block that has a matching value.

use std::cmp::Ordering;

use onlap_base::rng::Rng;
use proptest::prelude::*;

use super::*;
use crate::convert::{compare_values, parse_text, read_value};

fn value(ty: DataType, rng: &mut Rng) -> Value {
    let text = |rng: &mut Rng| {
        let most = [4, 30][rng.index(2)];
        let n = rng.below(most);
        (0..n).map(|_| ["a", "b", "\u{10FFFF}"][rng.below(3) as usize]).collect::<String>()
    };
    match ty {
        _ if rng.below(8) == 0 => Value::Null,
        DataType::Int4 => Value::Int(rng.below(100) as i64 - 50),
        DataType::Float8 => {
            let special = [0.0, -0.0, f64::NAN, f64::INFINITY, -1.5, 2.5];
            Value::Float(special[rng.below(6) as usize])
        }
        DataType::Numeric(_) => {
            let mantissa = i128::from(rng.below(2000)) - 1000;
            let scale = [0, 1, 2][rng.below(3) as usize];
            let n = Numeric { mantissa, scale };
            Value::Numeric(match (rng.below(20), ty) {
                (0, _) => Numeric::NAN,
                (1, DataType::Numeric(None)) => Numeric::INFINITY,
                (2, DataType::Numeric(None)) => Numeric::NEGATIVE_INFINITY,
                _ => n,
            })
        }
        DataType::Uuid => Value::Uuid(u128::to_be_bytes(u128::from(rng.below(9)) << 120)),
        _ => Value::Text(text(rng)),
    }
}

proptest! {
    #[test]
    fn zones_hold_every_value(which in 0usize..6, seed: u64, rows in 1usize..20) {
        let ty = [
            DataType::Int4, DataType::Float8, DataType::Numeric(None),
            DataType::Numeric(Some((6, 2))), DataType::Uuid, DataType::Text,
        ][which];
        let rng = &mut Rng::new(seed);
        let mut column = Column::new(ty.physical());
        for _ in 0..rows {
            push_value(ty, &value(ty, rng), &mut column);
        }
        let zone = Zone::of(&column, 0..rows);
        for _ in 0..20 {
            let bound = |rng: &mut Rng| Some(value(ty, rng)).filter(|v| *v != Value::Null);
            let (lower, upper) = (bound(rng), bound(rng));
            let inside = |v: &Value| {
                *v != Value::Null
                    && lower.as_ref().is_none_or(|l| compare_values(ty, l, v) != Ordering::Greater)
                    && upper.as_ref().is_none_or(|u| compare_values(ty, v, u) != Ordering::Greater)
            };
            let found = (0..rows).any(|i| inside(&read_value(ty, &column, i)));
            let probe = ZoneProbe::new(ty, lower.as_ref(), upper.as_ref()).expect("typed bounds");
            prop_assert!(!found || probe.may_match(&zone), "{:?} {:?} {:?}", zone, lower, upper);
        }
    }
}

fn push_value(ty: DataType, value: &Value, column: &mut Column) {
    convert::push_value(ty, value, column, "c").expect("a value of the type");
}

#[test]
fn zones_rule_blocks_out() {
    let ty = DataType::Numeric(None);
    let mut column = Column::new(ty.physical());
    for s in ["10.5", "12.25", "-3"] {
        push_value(ty, &parse_text(ty, s).unwrap(), &mut column);
    }
    let zone = Zone::of(&column, 0..3);
    assert_eq!(zone.bounds, Bounds::Wide(-3, 13));
    let probe = |lower: i64, upper: i64| {
        ZoneProbe::new(ty, Some(&Value::Int(lower)), Some(&Value::Int(upper))).unwrap()
    };
    assert!(!probe(14, 20).may_match(&zone));
    assert!(!probe(-9, -4).may_match(&zone));
    assert!(probe(13, 20).may_match(&zone));
    let long = Zone::of(
        &{
            let mut texts = Column::new(DataType::Text.physical());
            push_value(DataType::Text, &Value::Text("m".repeat(40)), &mut texts);
            texts
        },
        0..1,
    );
    let above = Value::Text("n".into());
    assert!(!ZoneProbe::new(DataType::Text, Some(&above), None).unwrap().may_match(&long));
    let begins_alike = Value::Text("m".repeat(50));
    assert!(ZoneProbe::new(DataType::Text, Some(&begins_alike), None).unwrap().may_match(&long));
}
