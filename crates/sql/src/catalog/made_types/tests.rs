//! Are labels read as they were kept?

use super::*;

fn made(orders: &[f64]) -> Made {
    let label = |(at, order): (usize, &f64)| Label {
        text: format!("l{at}"),
        order: *order,
        oid: oids::of_object(20 + at as u32),
    };
    Made {
        oid: oids::of_object(7),
        array: oids::of_object(8),
        database: "postgres".into(),
        name: Name::new("public", "mood"),
        owner: 10,
        what: What::Enum(orders.iter().enumerate().map(label).collect()),
    }
}

/// As a database reads it after it was opened again.
fn read(body: &str) -> Option<Made> {
    let body = serde_json::from_str(body).expect("it is JSON");
    Made::read("mood", &Object { number: 7, body })
}

#[test]
fn places_are_read_as_they_were_written() {
    let mut orders = vec![1.0, 2.0];
    for _ in 0..40 {
        let last = orders.len() - 1;
        orders.insert(last, f64::midpoint(orders[last - 1], orders[last]));
    }
    let made = made(&orders);
    assert_eq!(read(&made.body().to_string()), Some(made));
}

#[test]
fn places_that_are_numbers_are_read_too() {
    let of = |a: &str, b: &str| {
        read(&format!(r#"{{"array":8,"owner":10,"labels":[["l0",{a},16500],["l1",{b},16501]]}}"#))
    };
    let orders = |made: Made| made.labels().iter().map(|label| label.order).collect::<Vec<f64>>();
    assert_eq!(of("1.5", "\"2.0\"").map(orders), Some(vec![1.5, 2.0]));
    for (a, b) in [("2.0", "1.0"), ("1.0", "1.0"), ("\"NaN\"", "1.0"), ("\"x\"", "1.0")] {
        assert_eq!(of(a, b), None, "{a} {b}");
    }
}

#[test]
fn domains_and_composite_types_are_read_as_they_were_written() {
    let check = Check { name: "c".into(), sql: "VALUE > 0".into(), oid: 16_500, valid: false };
    let domain = Domain {
        not_null: true,
        default: Some("7".into()),
        checks: vec![check],
        collation: Some(951),
        ..Domain::over(PgType { oid: 1700, modifier: 655_366 })
    };
    let fields = vec![("a".into(), PgType::new(23)), ("b c".into(), PgType::new(25))];
    let collations = [("b c".to_string(), 950)].into();
    let composite = Composite { relation: oids::of_object(9), fields, collations };
    for what in [What::Domain(domain), What::Composite(composite)] {
        let made = Made { what, ..made(&[]) };
        assert_eq!(read(&made.body().to_string()), Some(made));
    }
    assert_eq!(read(r#"{"array":8,"owner":10,"domain":{"base":23}}"#), None);
    assert_eq!(read(r#"{"array":8,"owner":10,"fields":[["a",23]],"relation":9}"#), None);
}
