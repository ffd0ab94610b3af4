//! Values at the edge: what PostgreSQL takes and prints, what is refused and why, orders, batches.

use std::cmp::Ordering;

use onlap_base::{ColumnId, ErrorKind, TableId};
use proptest::prelude::*;

use super::*;
use crate::batch::{BytesVec, NullMask};
use crate::schema::ColumnSchema;

fn text_of(ty: DataType, s: &str) -> String {
    let value = parse_text(ty, s).unwrap_or_else(|e| panic!("{ty} {s:?}: {e}"));
    let mut column = Column::new(ty.physical());
    push_value(ty, &value, &mut column, "c").unwrap_or_else(|e| panic!("{ty} {s:?}: {e}"));
    let mut out = String::new();
    format_text(ty, &read_value(ty, &column, 0), &mut out);
    out
}

fn refusal(ty: DataType, s: &str) -> ErrorKind {
    parse_text(ty, s).expect_err("the text is refused").kind()
}

#[test]
fn plain_timestamps_are_what_any_text_of_them_is() {
    for text in [
        "2024-02-29 04:05:06",
        "2024-02-29T23:59:59.5",
        "0001-01-01 00:00:00.000001",
        "9999-12-31 23:59:59.999999",
        "1969-12-31 23:59:59.25",
    ] {
        let whole = parse_text(DataType::Timestamp, text).unwrap();
        assert_eq!(parse_plain_timestamp(text.as_bytes()).map(Value::Timestamp), Some(whole));
    }
    for text in [
        "2023-02-29 04:05:06",
        "0000-01-01 00:00:00",
        "2024-13-01 00:00:00",
        "2024-01-00 00:00:00",
        "2024-01-01 24:00:00",
        "2024-01-01 00:00:60",
        "2024-01-01 00:00:00.",
        "2024-01-01 00:00:00.1234567",
        "2024-01-01 00:00:00.12x",
        "2024-01-01 00:00:00+01",
        "2024-01-01 00:00:00 BC",
        "2024-01-01  0:00:00",
        "2024-01-01",
        "infinity",
        "2024-01-01 00:0:000",
    ] {
        assert_eq!(parse_plain_timestamp(text.as_bytes()), None, "{text}");
    }
}

#[test]
fn texts_print_as_postgresql_prints_them() {
    let money = DataType::Numeric(Some((10, 2)));
    for (ty, input, printed) in [
        (DataType::Bool, " TRUE ", "t"),
        (DataType::Bool, "of", "f"),
        (DataType::Int4, " -42 ", "-42"),
        (DataType::Int8, "9223372036854775807", "9223372036854775807"),
        (DataType::Float8, "1e15", "1e+15"),
        (DataType::Float8, "123456789012345", "123456789012345"),
        (DataType::Float8, "0.0001", "0.0001"),
        (DataType::Float8, "0.00001", "1e-05"),
        (DataType::Float8, "-0", "-0"),
        (DataType::Float8, "-inf", "-Infinity"),
        (DataType::Float8, "nan", "NaN"),
        (DataType::Float4, "1234567", "1.234567e+06"),
        (DataType::Float4, "0.1", "0.1"),
        (DataType::Numeric(None), "1.500", "1.500"),
        (DataType::Numeric(None), "-.5", "-0.5"),
        (DataType::Numeric(None), "12e3", "12000"),
        (DataType::Numeric(None), "1.5e-3", "0.0015"),
        (DataType::Numeric(None), "NaN", "NaN"),
        (DataType::Numeric(None), " +infinity", "Infinity"),
        (DataType::Numeric(None), "-INF", "-Infinity"),
        (money, "2.345", "2.35"),
        (money, "-2.345", "-2.35"),
        (money, "7", "7.00"),
        (money, "0.00499999999999999999999999999999999999999999999", "0.00"),
        (DataType::Varchar(3), "abc  ", "abc"),
        (DataType::Char(4), "ab", "ab  "),
        (DataType::Bytea, "\\x00fF", "\\x00ff"),
        (DataType::Bytea, "a\\\\b\\001", "\\x615c6201"),
        (
            DataType::Uuid,
            "{A0EEBC99-9c0b4ef8-bb6d6bb9bd380a11}",
            "a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11",
        ),
        (DataType::Date, "2024-02-29", "2024-02-29"),
        (DataType::Date, "19700101", "1970-01-01"),
        (DataType::Date, "0044-03-15 BC", "0044-03-15 BC"),
        (DataType::Date, "-infinity", "-infinity"),
        (DataType::Time, "4:05 PM", "16:05:00"),
        (DataType::Time, "24:00:00", "24:00:00"),
        (DataType::Time, "12:30:45.1234567", "12:30:45.123457"),
        (DataType::Timestamp, "2024-02-29 10:00:00.5+07", "2024-02-29 10:00:00.5"),
        (DataType::Timestamp, "1969-12-31 23:59:59.999999", "1969-12-31 23:59:59.999999"),
        (DataType::Timestamptz, "2024-01-01T00:00:00-05:30", "2024-01-01 05:30:00+00"),
        (DataType::Timestamptz, "2024-01-01", "2024-01-01 00:00:00+00"),
        (DataType::Timestamptz, "epoch", "1970-01-01 00:00:00+00"),
        (
            DataType::Json,
            " {\"a\": [1, -2.5e3, \"\\u00e9\", null]} ",
            " {\"a\": [1, -2.5e3, \"\\u00e9\", null]} ",
        ),
    ] {
        assert_eq!(text_of(ty, input), printed, "{ty} {input:?}");
    }
}

#[test]
fn texts_are_refused_with_the_right_kind() {
    use ErrorKind::{InvalidText, OutOfRange, TooLong};
    for (ty, input, kind) in [
        (DataType::Bool, "o", InvalidText),
        (DataType::Int2, "32768", OutOfRange),
        (DataType::Int8, "9223372036854775808", OutOfRange),
        (DataType::Int4, "1.5", InvalidText),
        (DataType::Int4, "", InvalidText),
        (DataType::Float8, "1e400", OutOfRange),
        (DataType::Float8, "1e-400", OutOfRange),
        (DataType::Float4, "1e39", OutOfRange),
        (DataType::Float8, "one", InvalidText),
        (DataType::Numeric(None), "1e39", OutOfRange),
        (DataType::Numeric(None), "1e-39", OutOfRange),
        (DataType::Numeric(None), "123456789012345678901234567890123456789", OutOfRange),
        (DataType::Numeric(None), "1e", InvalidText),
        (DataType::Numeric(None), ".", InvalidText),
        (DataType::Numeric(Some((3, 1))), "99.95", OutOfRange),
        (DataType::Numeric(Some((3, 1))), "-Infinity", OutOfRange),
        (DataType::Numeric(None), "Infinit", InvalidText),
        (DataType::Varchar(2), "abc", TooLong),
        (DataType::Text, "a\0b", InvalidText),
        (DataType::Bytea, "\\xabc", InvalidText),
        (DataType::Bytea, "a\\9", InvalidText),
        (DataType::Uuid, "a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a1", InvalidText),
        (DataType::Uuid, "a0eebc999c0b4ef8bb6d6bb9bd380a11-", InvalidText),
        (DataType::Date, "2023-02-29", OutOfRange),
        (DataType::Date, "2023-13-01", OutOfRange),
        (DataType::Date, "yesterday", InvalidText),
        (DataType::Time, "25:00:00", OutOfRange),
        (DataType::Time, "24:00:01", OutOfRange),
        (DataType::Time, "noon", InvalidText),
        (DataType::Timestamp, "2024-01-01 10", InvalidText),
        (DataType::Timestamp, "300000-01-01", OutOfRange),
        (DataType::Json, "{\"a\":}", InvalidText),
        (DataType::Json, "[1,]", InvalidText),
        (DataType::Json, "01", InvalidText),
        (DataType::Json, "\"\n\"", InvalidText),
        (DataType::Json, "", InvalidText),
        (DataType::Json, "{} {}", InvalidText),
    ] {
        assert_eq!(refusal(ty, input), kind, "{ty} {input:?}");
    }
    assert_eq!(refusal(DataType::Json, &"[".repeat(100_000)), InvalidText);
}

#[test]
fn days_count_from_1970() {
    for (text, days) in [
        ("1970-01-01", 0),
        ("1969-12-31", -1),
        ("2000-02-29", 11_016),
        ("2000-03-01", 11_017),
        ("1900-03-01", -25_508),
        ("0001-01-01", -719_162),
        ("0001-12-31 BC", -719_163),
        ("4714-11-24 BC", -2_440_588),
    ] {
        assert_eq!(parse_text(DataType::Date, text), Ok(Value::Date(days)), "{text}");
    }
}

#[test]
fn values_of_another_type_are_refused_and_leave_no_trace() {
    let mut column = Column::new(DataType::Int4.physical());
    for value in [Value::Text("1".into()), Value::Bool(true), Value::Float(1.0)] {
        let error = push_value(DataType::Int4, &value, &mut column, "n").expect_err("refused");
        assert_eq!(error.kind(), ErrorKind::WrongType);
    }
    let error = push_value(DataType::Int4, &Value::Int(1 << 31), &mut column, "n");
    assert_eq!(error.expect_err("refused").kind(), ErrorKind::OutOfRange);
    assert!(column.is_empty());
    push_value(DataType::Int4, &Value::Null, &mut column, "n").unwrap();
    assert!(column.is_null(0));
    let mut numeric = Column::new(DataType::Numeric(Some((38, 0))).physical());
    push_value(DataType::Numeric(Some((38, 0))), &Value::Int(5), &mut numeric, "n").unwrap();
    let long = Value::Text("x".repeat(VALUE_BYTES + 1));
    let mut texts = Column::new(DataType::Text.physical());
    let error = push_value(DataType::Text, &long, &mut texts, "t").expect_err("refused");
    assert_eq!(error.kind(), ErrorKind::TooLong);
}

#[test]
fn orders_are_postgresqls() {
    let number = |s: &str| parse_text(DataType::Numeric(None), s).unwrap();
    for (ty, a, b, order) in [
        (DataType::Float8, Value::Float(f64::NAN), Value::Float(f64::INFINITY), Ordering::Greater),
        (DataType::Float8, Value::Float(-0.0), Value::Float(0.0), Ordering::Equal),
        (DataType::Float8, Value::Float(-1.0), Value::Float(-2.0), Ordering::Greater),
        (DataType::Int4, Value::Null, Value::Int(i64::MAX), Ordering::Greater),
        (DataType::Numeric(None), number("1.0"), number("1.00"), Ordering::Equal),
        (
            DataType::Numeric(None),
            number("1e37"),
            number("0.00000000000000000000000001"),
            Ordering::Greater,
        ),
        (
            DataType::Numeric(None),
            number("-1e37"),
            number("0.00000000000000000000000001"),
            Ordering::Less,
        ),
        (DataType::Numeric(None), number("NaN"), number("1e37"), Ordering::Greater),
        (DataType::Numeric(None), number("NaN"), number("inf"), Ordering::Greater),
        (DataType::Numeric(None), number("inf"), number("1e37"), Ordering::Greater),
        (DataType::Numeric(None), number("inf"), number("inf"), Ordering::Equal),
        (DataType::Numeric(None), number("-inf"), number("-1e37"), Ordering::Less),
        (DataType::Char(5), Value::Text("a".into()), Value::Text("a   ".into()), Ordering::Equal),
        (DataType::Text, Value::Text("a".into()), Value::Text("a ".into()), Ordering::Less),
        (DataType::Text, Value::Text("é".into()), Value::Text("z".into()), Ordering::Greater),
    ] {
        assert_eq!(compare_values(ty, &a, &b), order, "{a:?} {b:?}");
        assert_eq!(compare_values(ty, &b, &a), order.reverse(), "{b:?} {a:?}");
    }
}

#[test]
fn infinities_are_calculated_as_postgresql_does() {
    let number = |s: &str| match parse_text(DataType::Numeric(None), s) {
        Ok(Value::Numeric(n)) => n,
        other => panic!("{s}: {other:?}"),
    };
    for (a, how, b, result) in [
        ("inf", '+', "2", "Infinity"),
        ("inf", '+', "-inf", "NaN"),
        ("-3", '+', "-inf", "-Infinity"),
        ("inf", '+', "NaN", "NaN"),
        ("inf", '-', "inf", "NaN"),
        ("inf", '-', "-inf", "Infinity"),
        ("3.0", '-', "inf", "-Infinity"),
        ("3.0", '-', "NaN", "NaN"),
        ("-inf", '*', "-2.0", "Infinity"),
        ("-inf", '*', "inf", "-Infinity"),
        ("inf", '*', "0", "NaN"),
        ("-3", '/', "inf", "0"),
        ("inf", '/', "-2.0", "-Infinity"),
        ("inf", '/', "-inf", "NaN"),
        ("-3", '%', "-inf", "-3"),
        ("inf", '%', "2", "NaN"),
        ("inf", '%', "inf", "NaN"),
        ("3", '%', "NaN", "NaN"),
    ] {
        let (x, y) = (number(a), number(b));
        let made = match how {
            '+' => x.checked_add(y),
            '-' => x.checked_sub(y),
            '*' => x.checked_mul(y),
            '/' => x.checked_div(y),
            _ => x.checked_rem(y),
        };
        let mut text = String::new();
        format_text(DataType::Numeric(None), &Value::Numeric(made.expect("a number")), &mut text);
        assert_eq!(text, result, "{a} {how} {b}");
    }
    assert_eq!(number("inf").checked_div(number("0")), None);
    assert_eq!(number("-inf").to_f64(), f64::NEG_INFINITY);
}

fn schema(ty: DataType, nullable: bool) -> TableSchema {
    let column = ColumnSchema::new(ColumnId(0), "c", ty, nullable);
    TableSchema {
        id: TableId(1),
        name: "t".into(),
        version: 1,
        columns: vec![column],
        next_column: 1,
        ..TableSchema::default()
    }
}

fn verdict(ty: DataType, column: Column) -> Option<ErrorKind> {
    let rows = column.len();
    let batch = Batch { columns: vec![column], rows };
    check_batch(&schema(ty, true), &batch).err().map(|e| e.kind())
}

#[test]
fn batches_are_checked_like_values() {
    let ints = |v: &[i64]| Column { data: Vector::Int(v.to_vec()), nulls: None };
    let numbers = |n: &[(i128, u8)]| {
        let (mantissas, scales) = n.iter().copied().unzip();
        Column { data: Vector::Numeric(mantissas, scales), nulls: None }
    };
    let strings = |s: &[&[u8]]| {
        let mut v = BytesVec::default();
        s.iter().for_each(|s| v.push(s));
        Column { data: Vector::Bytes(v), nulls: None }
    };
    use ErrorKind::{InvalidInput, InvalidText, OutOfRange, TooLong, WrongType};
    for (ty, column, expected) in [
        (DataType::Int2, ints(&[-32768, 32767]), None),
        (DataType::Int2, ints(&[0, 32768]), Some(OutOfRange)),
        (DataType::Bool, ints(&[2]), Some(OutOfRange)),
        (DataType::Time, ints(&[DAY_US + 1]), Some(OutOfRange)),
        (DataType::Float8, ints(&[order_f64(1.5), order_f64(f64::NAN)]), None),
        (DataType::Float8, ints(&[i64::MAX]), Some(OutOfRange)),
        (DataType::Float4, ints(&[order_f64(0.1)]), Some(OutOfRange)),
        (DataType::Numeric(None), numbers(&[(1, 254), (-1, 254), (0, 255)]), None),
        (DataType::Numeric(None), numbers(&[(2, 254)]), Some(OutOfRange)),
        (DataType::Numeric(None), numbers(&[(1, 253)]), Some(OutOfRange)),
        (DataType::Uuid, ints(&[1]), Some(WrongType)),
        (DataType::Text, strings(&[b"ok", b"\xff"]), Some(InvalidText)),
        (DataType::Text, strings(&[b"\xc3", b"\xa9"]), Some(InvalidText)),
        (DataType::Text, strings(&[b"a\0"]), Some(InvalidText)),
        (DataType::Bytea, strings(&[b"\xff\0"]), None),
        (DataType::Varchar(2), strings(&["éé".as_bytes()]), None),
        (DataType::Varchar(2), strings(&["ééé".as_bytes()]), Some(TooLong)),
        (DataType::Char(3), strings(&[b"ab "]), Some(TooLong)),
        (DataType::Json, strings(&[b"{}", b"{"]), Some(InvalidText)),
    ] {
        assert_eq!(verdict(ty, column), expected, "{ty}");
    }
    let mut nulls = NullMask::none(2);
    nulls.words[0] = 0b10;
    let with_nulls = |v: &[i64], nulls: &NullMask| Column {
        data: Vector::Int(v.to_vec()),
        nulls: Some(nulls.clone()),
    };
    assert_eq!(verdict(DataType::Int4, with_nulls(&[5, 0], &nulls)), None);
    assert_eq!(verdict(DataType::Int4, with_nulls(&[5, 6], &nulls)), Some(InvalidInput));
    assert_eq!(verdict(DataType::Int4, with_nulls(&[5], &nulls)), Some(InvalidInput));
    nulls.words[0] = 0b110;
    assert_eq!(verdict(DataType::Int4, with_nulls(&[5, 0], &nulls)), Some(InvalidInput));
    nulls.words[0] = 0b10;
    let batch = Batch { columns: vec![with_nulls(&[5, 0], &nulls)], rows: 2 };
    let error = check_batch(&schema(DataType::Int4, false), &batch).expect_err("refused");
    assert_eq!(error.kind(), ErrorKind::NotNull);
    let mut json = Column::new(DataType::Json.physical());
    json.push_null();
    assert_eq!(verdict(DataType::Json, json), None);
    let torn = BytesVec { offsets: vec![0, 4, 2], data: vec![b'x'; 2] };
    let torn = Column { data: Vector::Bytes(torn), nulls: None };
    assert_eq!(verdict(DataType::Text, torn), Some(InvalidInput));
}

proptest! {
    #[test]
    fn floats_keep_their_order_and_come_back(a: f64, b: f64) {
        prop_assert_eq!(order_f64(a).cmp(&order_f64(b)), a.total_cmp(&b));
        prop_assert_eq!(f64_of(order_f64(a)).to_bits(), a.to_bits());
    }

    #[test]
    fn uuids_keep_their_order_and_come_back(a: [u8; 16], b: [u8; 16]) {
        prop_assert_eq!(order_uuid(a).cmp(&order_uuid(b)), a.cmp(&b));
        prop_assert_eq!(uuid_of(order_uuid(a)), a);
    }

    #[test]
    fn what_is_printed_reads_back(
        int: i64, float: f64, single: f32, mantissa in -(10i128.pow(38) - 1)..10i128.pow(38),
        scale in 0u8..=38, bytes: Vec<u8>, uuid: [u8; 16], date: i32, time in 0..=DAY_US,
    ) {
        for (ty, value) in [
            (DataType::Int8, Value::Int(int)),
            (DataType::Float8, Value::Float(float)),
            (DataType::Float4, Value::Float(f64::from(single))),
            (DataType::Numeric(None), Value::Numeric(Numeric { mantissa, scale })),
            (DataType::Bytea, Value::Bytes(bytes)),
            (DataType::Uuid, Value::Uuid(uuid)),
            (DataType::Date, Value::Date(date)),
            (DataType::Time, Value::Time(time)),
            (DataType::Timestamp, Value::Timestamp(int)),
            (DataType::Timestamptz, Value::Timestamp(int)),
        ] {
            let mut text = String::new();
            format_text(ty, &value, &mut text);
            let back = parse_text(ty, &text).map_err(|e| TestCaseError::fail(e.to_string()))?;
            prop_assert_eq!(&back, &value, "{}", text);
            let mut column = Column::new(ty.physical());
            push_value(ty, &value, &mut column, "c").expect("a valid value");
            prop_assert_eq!(&read_value(ty, &column, 0), &value);
            let batch = Batch { columns: vec![column], rows: 1 };
            prop_assert!(check_batch(&schema(ty, false), &batch).is_ok());
        }
    }

    #[test]
    fn any_text_is_read_or_refused(s in "\\PC{0,40}") {
        for ty in [
            DataType::Bool, DataType::Int2, DataType::Float4, DataType::Numeric(None),
            DataType::Numeric(Some((5, 2))), DataType::Char(3), DataType::Bytea, DataType::Uuid,
            DataType::Date, DataType::Time, DataType::Timestamptz, DataType::Json,
        ] {
            let _ = parse_text(ty, &s);
        }
    }

    #[test]
    fn texts_like_numbers_and_dates_are_read_or_refused(s in "[-+0-9.:eE TZbcBC/]{0,30}") {
        for ty in [
            DataType::Float8, DataType::Numeric(None), DataType::Numeric(Some((5, 2))),
            DataType::Date, DataType::Time, DataType::Timestamp, DataType::Timestamptz,
        ] {
            let _ = parse_text(ty, &s);
        }
    }
}
