//! What is on disk stays: bytes of each form, and that they are read again as they were written.

use std::cmp::Ordering;

use onlap::{Column, Value, convert};
use onlap_kernels::{Datum, compare, input, repr};
use onlap_pg::TypeRef;

use super::*;

fn of(name: &str, modifier: i32) -> ColumnType {
    let oid = names::by_name(name).unwrap_or_else(|| panic!("{name}"));
    let ty = ColumnType::of(crate::query::catalog(), PgType { oid, modifier });
    ty.unwrap_or_else(|| panic!("no column has {name}"))
}

fn read(ty: ColumnType, text: &str) -> Datum<'static> {
    let catalog = crate::query::catalog();
    let ty = TypeRef { oid: ty.pg.oid, modifier: ty.pg.modifier };
    with_cx(catalog, |cx| input(cx, ty, text)).unwrap_or_else(|e| panic!("{text}: {e}"))
}

fn kept_bytes(ty: ColumnType, text: &str) -> Vec<u8> {
    match encode(crate::query::catalog(), ty, &read(ty, text)).expect("it can be kept") {
        Value::Bytes(bytes) => bytes,
        Value::Text(text) => text.into_bytes(),
        other => panic!("{other:?}"),
    }
}

/// The modifier of numeric(p, s).
fn digits(precision: i32, scale: i32) -> i32 {
    (precision << 16 | scale & 0x7ff) + 4
}

#[test]
fn bytes_of_each_form() {
    let hex = |bytes: &[u8]| bytes.iter().map(|b| format!("{b:02x}")).collect::<String>();
    let long = digits(40, 1);
    let cases = [
        ("interval", -1, "1 mon", "8000000000000000000002 5b7f3d4000 80000001 80000000"),
        ("interval", -1, "-00:00:00.000001", "7fffffffffffffffffffffffffffffff 80000000 80000000"),
        ("timetz", -1, "01:00:00+01", "8000000000000000 7ffff1f0"),
        ("varbit", -1, "101", "a00000 00000003"),
        ("varbit", -1, "000000001", "00ff800000 00000009"),
        ("numeric", long, "12.5", "03 8000 000d 1389 0000"),
        ("numeric", long, "-12.5", "01 7fff fff2 ec76 ffff"),
        ("numeric", long, "0", "02"),
        ("numeric", long, "NaN", "05"),
        ("int2[]", -1, "{7,NULL}", "018007 02 00 01 80000002 80000001"),
        ("text[]", -1, "[0:1]={a,\"\"}", "01610000 010000 00 01 80000002 80000000"),
        ("int8[]", -1, "{}", "0000"),
        ("jsonb", -1, "{\"b\":1.0, \"a\":[ ]}", "7b2261223a205b5d2c202262223a20312e307d"),
        (
            "float8[]",
            -1,
            "{1}",
            "00000001 00000000 000002bd 00000001 00000001 00000008 3ff0000000000000",
        ),
        ("inet", -1, "10.0.0.1/8", "02080004 0a000001"),
        ("int4range", -1, "[1,3)", "01 018000000100 018000000300"),
        ("int4range", -1, "empty", "00"),
        ("tsrange", -1, "(-infinity,)", "01 01000000000000000001 02"),
        ("int4multirange", -1, "{(,3)}", "01 00 018000000300 00"),
        ("datemultirange", -1, "{}", "00"),
        ("numrange", -1, "[1.0,)", "12 0000000a 0001000000000001 0001"),
        ("int8range", -1, "[-1,5)", "01 017fffffffffffffff00 01800000000000000500"),
        ("daterange", -1, "[2000-01-01,2000-01-02]", "01 018000000000 018000000200"),
        ("tstzrange", -1, "[,2000-01-01 00:00:00.000001+00]", "01 00 01800000000000000101"),
        ("tsmultirange", -1, "{}", "00"),
        (
            "nummultirange",
            -1,
            "{[1,2)}",
            "00000001 0000001d 02 0000000a 00010000000000000001 0000000a 00010000000000000002",
        ),
    ];
    for (name, modifier, text, expected) in cases {
        assert_eq!(
            hex(&kept_bytes(of(name, modifier), text)),
            expected.replace(' ', ""),
            "{name} {text}"
        );
    }
}

/// Spans of exclusion constraints: the lower end with its zeros doubled, two zeros, the upper end.
#[test]
fn bytes_of_spans() {
    let hex = |bytes: &[u8]| bytes.iter().map(|b| format!("{b:02x}")).collect::<String>();
    let cases = [
        ("int4range", "[1,3)", "01 80 00ff00ff 01 00ff 0000 01 80000003 00"),
        ("int4range", "(,)", "00ff 0000 02"),
        ("int8range", "[-1,5)", "01 7fffffffffffffff 00ff 0000 01 8000000000000005 00"),
        ("daterange", "[2000-01-02,)", "01 80 00ff00ff 01 00ff 0000 02"),
        (
            "tsrange",
            "(2000-01-01,2000-01-01 00:00:00.000001]",
            "01 80 00ff00ff00ff00ff00ff00ff00ff 01 0000 01 8000000000000001 01",
        ),
        (
            "numrange",
            "(-1.5,2.50]",
            "01 01 7fff fffd ec76 ffff 01 0000 01 03 8000 0003 1389 0000 01",
        ),
        ("numrange", "[0,2)", "01 02 00ff 0000 01 03 8000 0003 0000 00"),
        ("inet", "10.1.2.3/8", "02 0a 00ff00ff00ff 00ff 0000 02 0affffff 01"),
        ("inet", "10.1.2.3", "02 0a010203 00ff 0000 02 0a010203 01"),
        ("cidr", "::/0", &format!("03 {} 00ff 0000 03 {} 01", "00ff".repeat(16), "ff".repeat(16))),
    ];
    for (name, text, expected) in cases {
        let ty = of(name, -1);
        let made = span(crate::query::catalog(), ty, &read(ty, text)).expect("it has one");
        assert_eq!(hex(&made.expect("it has points")), expected.replace(' ', ""), "{name} {text}");
    }
    let ty = of("tsrange", -1);
    for text in ["empty", "(2000-01-01,2000-01-01]"] {
        assert_eq!(span(crate::query::catalog(), ty, &read(ty, text)).expect("a range"), None);
    }
}

#[test]
fn what_is_kept_is_read_again_and_sorts() {
    let catalog = crate::query::catalog();
    let long = digits(50, 3);
    let cases: &[(&str, i32, &[&str])] = &[
        (
            "interval",
            -1,
            &["1 mon", "30 days", "720:00:00", "-1 year 3 days", "0", "178000000 years"],
        ),
        ("timetz", -1, &["00:00+00", "01:00+01", "24:00-15:59", "00:00:00.000001+15:59"]),
        ("varbit", -1, &["", "0", "1", "10", "100000001", "1000000000000000", "000000000"]),
        (
            "numeric",
            long,
            &[
                "-1e40", "-10000.5", "-1", "-0.001", "0", "0.001", "0.01", "1", "9999", "10000",
                "NaN",
            ],
        ),
        ("numeric", digits(5, -3), &["-12000", "0", "1000", "99999000"]),
        ("numeric", digits(3, 7), &["0.0000123", "-0.0000001"]),
        (
            "int4[]",
            -1,
            &["{}", "{1}", "{1,2}", "{NULL}", "{1,NULL}", "{{1},{2}}", "[0:0]={1}", "{-5}"],
        ),
        ("text[]", -1, &["{a}", "{a,b}", "{ab}", "{\"\"}", "{NULL,x}"]),
        ("uuid[]", -1, &["{00000000-0000-0000-0000-000000000007}"]),
        ("timestamp[]", -1, &["{2024-02-29 12:00,-infinity,infinity}", "{2024-02-28}"]),
        ("bool[]", -1, &["{t,f,NULL}", "{f}"]),
        ("numeric[]", -1, &["{1.0,1.00}", "{NaN}"]),
        ("jsonb", -1, &["null", "[1, 1.0]", "{\"a\": \"\\u0041\"}"]),
        ("jsonb[]", -1, &["{null,\"{}\"}"]),
        ("name", -1, &["a", "b"]),
        ("oid", -1, &["0", "4294967295"]),
        ("char", -1, &["a", "\\377", ""]),
        ("money", -1, &["-1.00", "12"]),
        ("bpchar", -1, &["a ", "a"]),
        ("macaddr", -1, &["08:00:2b:01:02:03"]),
        ("int4range", -1, &["empty", "(,)", "[1,2]", "[1,)", "(,-5)", "[2,2]", "[1,9]"]),
        ("int8range", -1, &["empty", "[-9223372036854775808,9223372036854775807)", "(,)"]),
        (
            "tsrange",
            -1,
            &["(2000-01-01,infinity]", "[2000-01-01,infinity)", "[2000-01-01,)", "(,1999-01-01]"],
        ),
        ("daterange", -1, &["[-infinity,infinity]", "[-infinity,infinity)", "(,2000-01-01)"]),
        ("int4multirange", -1, &["{}", "{(,)}", "{[1,2]}", "{[1,2],[5,)}", "{[1,2],[4,)}"]),
        ("tstzmultirange", -1, &["{}", "{(,2000-01-01)}", "{(,2000-01-01]}"]),
        ("numrange", -1, &["empty", "[1.0,1.00]", "(,NaN)"]),
        ("nummultirange", -1, &["{}", "{[1.0,2),(2,3]}"]),
        ("int4range[]", -1, &["{empty,NULL,\"[1,2]\"}", "{}"]),
    ];
    for (name, modifier, texts) in cases {
        let ty = of(name, *modifier);
        let values: Vec<Datum<'_>> = texts.iter().map(|text| read(ty, text)).collect();
        let mut kept = Column::new(ty.engine.physical());
        for value in &values {
            let value = encode(catalog, ty, value).expect("it can be kept");
            convert::push_value(ty.engine, &value, &mut kept, "c").expect("the engine takes it");
        }
        let again = decode::column(catalog, ty, &kept).expect("it can be read");
        let own = repr(catalog, ty.pg.oid).expect("it has values");
        for (row, value) in values.iter().enumerate() {
            assert_eq!(Datum::at(&again, own, row), *value, "{name} {}", texts[row]);
        }
        let values: Vec<_> = texts.iter().zip(&values).collect();
        for (a, x) in values.iter().filter(|_| ty.is_ordered()) {
            for (b, y) in &values {
                let is = |value| encode(catalog, ty, value).expect("it can be kept");
                let kept = convert::compare_values(ty.engine, &is(x), &is(y));
                assert_eq!(kept, compare(catalog, ty.pg.oid, x, y), "{name}: {a} and {b}");
            }
        }
    }
}

#[test]
fn intervals_sort_with_ties() {
    let ty = of("interval", -1);
    let order = |a, b| kept_bytes(ty, a).cmp(&kept_bytes(ty, b));
    assert_eq!(order("29 days", "1 mon"), Ordering::Less);
    assert_eq!(order("1 mon", "31 days"), Ordering::Less);
    assert_ne!(order("1 mon", "30 days"), Ordering::Equal);
}

#[test]
fn bytes_that_nobody_wrote_are_an_error() {
    let catalog = crate::query::catalog();
    let types = [
        of("interval", -1),
        of("timetz", -1),
        of("varbit", -1),
        of("numeric", digits(40, 1)),
        of("text[]", -1),
        of("uuid[]", -1),
        of("numeric[]", -1),
        of("inet", -1),
        of("jsonb", -1),
        of("int8range", -1),
        of("tsmultirange", -1),
        of("numrange", -1),
    ];
    for ty in types {
        let text = match names::format_type(ty.pg).as_str() {
            "interval" => "1 mon 2 days",
            "time with time zone" => "12:00+02",
            "bit varying" => "1010000011",
            "text[]" => "{a,b}",
            "uuid[]" => "{00000000-0000-0000-0000-000000000007}",
            "numeric[]" => "{1.5}",
            "inet" => "::1",
            "jsonb" => "{\"a\": 1}",
            "int8range" => "[1,7)",
            "tsmultirange" => "{(,2000-01-01],(2000-01-02,2000-01-03)}",
            "numrange" => "[1.5,)",
            _ => "-12.5",
        };
        let good = kept_bytes(ty, text);
        for at in 0..good.len() {
            for byte in [0, 1, 2, 0x7f, 0x80, 0xff] {
                let mut bad = good.clone();
                bad[at] = byte;
                for bytes in [&bad[..], &bad[..at]] {
                    let mut column = Column::new(ty.engine.physical());
                    if let onlap::Vector::Bytes(all) = &mut column.data {
                        all.push(bytes);
                    }
                    column.pushed();
                    // What it is does not count, only that it is a value or an error.
                    let _ = decode::column(catalog, ty, &column);
                }
            }
        }
        assert!(
            decode::column(catalog, ty, &{
                let mut column = Column::new(ty.engine.physical());
                if let onlap::Vector::Bytes(all) = &mut column.data {
                    all.push(&[0xff, 0xfe]);
                }
                column.pushed();
                column
            })
            .is_err()
        );
    }
}

/// A catalog with a type of a number and a text, as OID 20,000.
fn with_pair() -> Catalog {
    use onlap_pg::catalog::{Kind, Type};
    let mut pair = Type::made(20_000, "pair", Kind::Composite, b'C', 20_001);
    pair.fields = vec![("a".into(), TypeRef::new(23)), ("b".into(), TypeRef::new(25))];
    let array = Type::array_of(&pair);
    Catalog::with(vec![pair, array])
}

fn pair(a: Datum<'static>, b: Datum<'static>) -> Vec<u8> {
    let fields = [(23, a), (25, b)];
    onlap_kernels::array::record::build_named(&["a", "b"], &fields).expect("a row of two fields")
}

/// A kept value, read again; `None` where no release wrote it.
fn read_again(catalog: &Catalog, ty: ColumnType, bytes: &[u8]) -> Option<Vec<u8>> {
    let mut column = Column::new(ty.engine.physical());
    let value = Value::Bytes(bytes.to_vec());
    convert::push_value(ty.engine, &value, &mut column, "c").expect("it is bytes");
    let made = decode::column(catalog, ty, &column).ok()?;
    match Datum::at(&made, Repr::Bytes, 0) {
        Datum::Bytes(bytes) => Some(bytes.into_owned()),
        other => panic!("{other:?}"),
    }
}

#[test]
fn bytes_of_rows() {
    let catalog = with_pair();
    let row = ColumnType::of(&catalog, PgType::new(20_000)).expect("columns have it");
    let value = pair(Datum::Int4(7), Datum::text("x"));
    let kept = encode(&catalog, row, &Datum::bytes(value.clone())).expect("it can be kept");
    let bytes = [1, 2, 0, 3, 7, 0, 0, 0, 0, 0, 0, 0, 6, 1, 0, 0, 0, b'x'];
    assert_eq!(kept, Value::Bytes(bytes.to_vec()));
    assert_eq!(read_again(&catalog, row, &bytes), Some(value));
    // A field that the type got after the row was kept.
    let short = [1, 1, 0, 3, 7, 0, 0, 0, 0, 0, 0, 0];
    assert_eq!(read_again(&catalog, row, &short), Some(pair(Datum::Int4(7), Datum::Null)));
    for end in 0..bytes.len() {
        let shorter = read_again(&catalog, row, &bytes[..end]);
        assert_eq!(shorter, None, "{end}");
    }
    assert_eq!(read_again(&catalog, row, &[2, 0, 0]), None);
    assert_eq!(read_again(&catalog, row, &[1, 3, 0, 0, 0, 0]), None);
    assert!(!row.is_ordered());
}

#[test]
fn bytes_of_arrays_of_rows() {
    use onlap_kernels::array::Builder;
    let catalog = with_pair();
    let list = ColumnType::of(&catalog, PgType::new(20_001)).expect("columns have it");
    let mut builder = Builder::new(Repr::Bytes);
    builder.push(&Datum::bytes(pair(Datum::Null, Datum::Null))).expect("it is small");
    builder.push(&Datum::Null).expect("it is small");
    let value = builder.finish();
    let kept = encode(&catalog, list, &Datum::bytes(value.clone())).expect("it can be kept");
    let bytes = [1, 1, 0, 2, 0, 0, 0, 1, 0, 0, 0, 7, 5, 0, 0, 0, 1, 2, 0, 0, 0, 0];
    assert_eq!(kept, Value::Bytes(bytes.to_vec()));
    assert_eq!(read_again(&catalog, list, &bytes), Some(value));
    for end in 0..bytes.len() {
        assert_eq!(read_again(&catalog, list, &bytes[..end]), None, "{end}");
    }
}

#[test]
fn domains_are_kept_as_what_they_are_over() {
    use onlap_pg::catalog::{Kind, Type};
    let domain = |oid: u32, base: u32, base_modifier: i32| Type {
        base,
        base_modifier,
        ..Type::made(oid, "d", Kind::Domain, b'N', 0)
    };
    let (whole, long) = (domain(20_000, 23, -1), domain(20_002, 1700, digits(40, 1)));
    let catalog = Catalog::with(vec![whole, long]);
    let of = |oid| ColumnType::of(&catalog, PgType::new(oid)).expect("columns have it");
    assert_eq!((of(20_000).engine, of(20_000).form), (DataType::Int4, Form::Named));
    assert!(of(20_000).is_domain() && of(20_000).is_ordered() && !of(20_000).is_native());
    assert_eq!((of(20_002).engine, of(20_002).form), (DataType::Bytea, Form::Numeric));
    assert!(of(20_002).is_ordered() && of(20_000).is_same_below(ColumnType::own(DataType::Int4)));
}
