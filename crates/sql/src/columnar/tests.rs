//! Do a program's columns become those of a table, value by value?

use std::sync::Arc;

use arrow_array::{
    Array, ArrayRef, BinaryArray, BooleanArray, Int32Array, Int64Array, LargeStringArray,
    RecordBatch, StringArray, StringViewArray,
};
use onlap::{Column, DataType, Value, convert};
use onlap_base::rng::Rng;

use super::input::{self, pieces, text};

/// The column as values.
fn values(ty: DataType, column: &Column) -> Vec<Value> {
    (0..column.len()).map(|row| convert::read_value(ty, column, row)).collect()
}

/// As [`values`], of the array, one by one.
fn wanted(ty: DataType, array: &dyn Array) -> Vec<Value> {
    let one = |row: usize| match text(array, row).expect("a known type") {
        None => Value::Null,
        Some(text) => convert::parse_text(ty, &text).expect("what was printed"),
    };
    (0..array.len()).map(one).collect()
}

#[test]
fn whole_columns_are_what_single_values_are() {
    let mut rng = Rng::new(25);
    for rows in [0, 1, 63, 64, 65, 200] {
        for nulls in [0_u64, 3, 1] {
            let mut none = |_| nulls > 0 && rng.below(nulls) == 0;
            let present: Vec<bool> = (0..rows + 7).map(|row| !none(row)).collect();
            let of = |row: usize| present[row].then_some(row);
            let all = 0..rows + 7;
            let numbers: Int64Array =
                all.clone().map(|row| of(row).map(|v| v as i64 - 9)).collect();
            let small: Int32Array = all.clone().map(|row| of(row).map(|v| v as i32 - 9)).collect();
            let flags: BooleanArray = all.clone().map(|row| of(row).map(|v| v % 3 == 0)).collect();
            let words: Vec<Option<String>> =
                all.clone().map(|row| of(row).map(|v| "ü".repeat(v % 5))).collect();
            let bytes: Vec<Option<Vec<u8>>> =
                all.map(|row| of(row).map(|v| vec![v as u8; v % 4])).collect();
            let cases: [(DataType, ArrayRef); 7] = [
                (DataType::Int8, Arc::new(numbers)),
                (DataType::Int4, Arc::new(small)),
                (DataType::Bool, Arc::new(flags)),
                (DataType::Text, Arc::new(StringArray::from(words.clone()))),
                (DataType::Text, Arc::new(LargeStringArray::from(words.clone()))),
                (DataType::Text, Arc::new(StringViewArray::from_iter(words))),
                (DataType::Bytea, Arc::new(BinaryArray::from_iter(bytes))),
            ];
            for (ty, array) in cases {
                // Slices begin anywhere in a byte of the mask.
                for from in [0, 1, 7] {
                    let slice = array.slice(from, rows);
                    let made =
                        input::whole(ty, &slice).unwrap().expect("one of those that go whole");
                    assert_eq!(values(ty, &made), wanted(ty, &slice), "{ty} {rows} {nulls} {from}");
                    assert_eq!(made.nulls.is_some(), slice.null_count() > 0);
                }
            }
        }
    }
}

#[test]
fn texts_under_nulls_are_forgotten() {
    use arrow_buffer::{NullBuffer, OffsetBuffer};
    let offsets = OffsetBuffer::<i32>::from_lengths([2, 3, 1]);
    let nulls = NullBuffer::from(vec![true, false, true]);
    let array = StringArray::new(offsets, b"ab...c".into(), Some(nulls));
    let made = input::whole(DataType::Text, &array).unwrap().unwrap();
    let onlap::Vector::Bytes(bytes) = &made.data else { panic!("texts are bytes") };
    // The engine wants nothing where NULL is.
    assert_eq!(bytes.iter().collect::<Vec<_>>(), [&b"ab"[..], b"", b"c"]);
}

#[test]
fn pieces_are_all_rows_in_their_order() {
    for rows in [0, 1, 1000, 70_000, 200_000] {
        let numbers: ArrayRef = Arc::new(Int64Array::from_iter_values(0..rows));
        let batch = RecordBatch::try_from_iter([("a", numbers)]).unwrap();
        let mut next = 0;
        for piece in pieces(&batch) {
            assert!((1..=1 << 16).contains(&piece.num_rows()));
            let column = piece.column(0).as_any().downcast_ref::<Int64Array>().unwrap();
            assert_eq!(column.value(0), next);
            next += piece.num_rows() as i64;
        }
        assert_eq!(next, rows);
    }
    let long: ArrayRef =
        Arc::new(StringArray::from_iter_values((0..4096).map(|_| "x".repeat(1 << 14))));
    let batch = RecordBatch::try_from_iter([("a", long)]).unwrap();
    assert_eq!(pieces(&batch).count(), 4);
}

#[test]
fn more_texts_than_arrow_has_places_for_are_refused() {
    use super::kept::must_fit;

    let mut column = Column::new(DataType::Text.physical());
    for _ in 0..4 {
        convert::push_value(DataType::Text, &Value::Text("x".repeat(25)), &mut column, "c")
            .unwrap();
    }
    let columns = [Column::new(DataType::Int8.physical()), column];
    assert!(must_fit(&columns, 100).is_ok());
    let refused = must_fit(&columns, 99).unwrap_err();
    assert_eq!(refused.sqlstate(), "54000");
}

#[test]
fn columns_that_are_handed_over_are_those_that_are_made() {
    use onlap_pg::catalog::Catalog;

    use super::kept::moved;
    use super::{Form, out};
    use crate::columns::ColumnType;
    use crate::types::PgType;

    let catalog = Catalog::new();
    let mut rng = Rng::new(26);
    for (ty, form, moves) in [
        (DataType::Int8, Form::Same, true),
        (DataType::Float8, Form::Same, true),
        (DataType::Timestamp, Form::Moment(false), true),
        (DataType::Timestamptz, Form::Moment(true), true),
        (DataType::Text, Form::Same, true),
        (DataType::Int4, Form::Same, false),
        (DataType::Date, Form::Date, false),
        (DataType::Bytea, Form::Same, false),
    ] {
        for rows in [0, 1, 64, 65, 200] {
            let mut column = Column::new(ty.physical());
            for row in 0..rows {
                let n = (rng.below(2000) as i64 - 1000) * 1_000_003;
                let value = match (ty, rng.below(4)) {
                    (_, 0) => Value::Null,
                    (DataType::Text, _) => Value::Text("üx".repeat(row % 5)),
                    (DataType::Bytea, _) => Value::Bytes(vec![row as u8; row % 3]),
                    (DataType::Float8, _) => Value::Float(n as f64 / 7.0),
                    (DataType::Timestamp | DataType::Timestamptz, 1) => Value::Timestamp(i64::MAX),
                    (DataType::Timestamp | DataType::Timestamptz, _) => Value::Timestamp(n),
                    (DataType::Date, _) => Value::Date(n as i32 % 9000),
                    _ => Value::Int(n % 1_000_000),
                };
                convert::push_value(ty, &value, &mut column, "c").unwrap();
            }
            let own = ColumnType::own(ty);
            let wanted = out::made_of(&catalog, PgType::of_engine(ty), &form, own, &column);
            match moved(own, &form, column.clone()) {
                Ok(array) => assert_eq!(&array, &wanted, "{ty}, {rows} rows"),
                Err(back) => assert_eq!(back, column),
            }
            assert_eq!(moved(own, &form, column).is_ok(), moves, "{ty}");
        }
    }
    // Bytes that are no text, which a damaged disk alone makes, are an empty one.
    let mut damaged = Column::new(DataType::Text.physical());
    for text in ["a", "bc", "d"] {
        convert::push_value(DataType::Text, &Value::Text(text.into()), &mut damaged, "c").unwrap();
    }
    let onlap::Vector::Bytes(bytes) = &mut damaged.data else { panic!("texts are bytes") };
    bytes.data[1] = 0xFF;
    let made = moved(ColumnType::own(DataType::Text), &Form::Same, damaged).unwrap();
    let texts: Vec<_> = made.as_any().downcast_ref::<StringArray>().unwrap().iter().collect();
    assert_eq!(texts, [Some("a"), Some(""), Some("d")]);
}
