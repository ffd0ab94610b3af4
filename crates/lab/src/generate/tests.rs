use super::*;
use onlap::Value;

/// The value of a batch as rows have it, as far as generators make it.
fn value(batch: &Batch, column: usize, row: usize) -> Value {
    let c = &batch.columns[column];
    match &c.data {
        _ if c.is_null(row) => Value::Null,
        Vector::Int(v) if column == 1 && batch.columns.len() == 7 => Value::Timestamp(v[row]),
        Vector::Int(v) => Value::Int(v[row]),
        Vector::Bytes(v) => Value::Text(String::from_utf8(v.get(row).to_vec()).unwrap()),
        _ => panic!("generators make no other column"),
    }
}

#[test]
fn rows_and_batches_are_the_same() {
    for workload in [Workload::Ibench, Workload::Six, Workload::Keyed] {
        let (mut one, mut other) = (workload.generator(7, 3), workload.generator(7, 3));
        let mut rows = Vec::new();
        for n in [1, 64, 100] {
            let batch = one.batch(n, 12_345_678);
            other.rows(n, 12_345_678, &mut rows);
            assert_eq!((batch.rows, rows.len()), (n, n));
            for (i, row) in rows.iter().enumerate() {
                let from_batch: Row = (0..row.len()).map(|c| value(&batch, c, i)).collect();
                assert_eq!(*row, from_batch);
            }
        }
    }
}

#[test]
fn clients_differ_and_seeds_differ() {
    let batch = |seed, client| Workload::Ibench.generator(seed, client).batch(10, 0);
    assert_eq!(batch(1, 0), batch(1, 0));
    assert_ne!(batch(1, 0), batch(1, 1));
    assert_ne!(batch(1, 0), batch(2, 0));
}

#[test]
fn ibench_values_are_uniform_in_their_ranges() {
    let batch = Workload::Ibench.generator(1, 0).batch(100_000, 5_999_999);
    let ints = |column: usize| match &batch.columns[column].data {
        Vector::Int(v) => v.as_slice(),
        _ => panic!("an integer column"),
    };
    for (column, range) in [(2, CASH_REGISTERS), (3, CUSTOMERS), (4, PRODUCTS), (5, PRICES)] {
        let (range, values) = (i64::from(range), ints(column));
        assert!(values.iter().all(|v| (0..range).contains(v)));
        let mean = values.iter().sum::<i64>() as f64 / values.len() as f64;
        let middle = (range - 1) as f64 / 2.0;
        assert!((mean - middle).abs() < range as f64 * 0.01, "column {column}: mean {mean}");
    }
    assert!(ints(1).iter().all(|t| *t == 5_000_000), "one second's resolution");
    let Vector::Bytes(data) = &batch.columns[6].data else { panic!("a text column") };
    let bytes: usize = data.iter().map(<[u8]>::len).sum();
    assert!(data.iter().all(|d| (10..=20).contains(&d.len())));
    assert!((bytes as f64 / 100_000.0 - 15.0).abs() < 0.1);
    // The tail repeats one letter.
    assert!(data.iter().all(|d| d[d.len() * 3 / 8 + 1..].windows(2).all(|w| w[0] == w[1])));
}

#[test]
fn six_makes_version_4_uuids() {
    let batch = Workload::Six.generator(1, 0).batch(1_000, 0);
    for column in 1..=3 {
        let Vector::Bytes(texts) = &batch.columns[column].data else { panic!("a text column") };
        for text in texts.iter() {
            assert_eq!((text.len(), text[14]), (36, b'4'));
            assert!(b"89ab".contains(&text[19]));
            assert!([8, 13, 18, 23].iter().all(|i| text[*i] == b'-'));
        }
    }
}
