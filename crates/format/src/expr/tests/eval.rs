//! Does a condition come to what PostgreSQL says? Every expectation here was derived from its rules.

use super::*;
use crate::batch::Batch;
use crate::convert::{parse_text, push_value};
use crate::schema::{ColumnSchema, TableSchema};
use crate::types::DataType;

fn schema() -> TableSchema {
    let types = [
        ("a", DataType::Int4),
        ("b", DataType::Int8),
        ("n", DataType::Numeric(Some((10, 2)))),
        ("m", DataType::Numeric(None)),
        ("t", DataType::Text),
        ("c", DataType::Char(4)),
        ("f", DataType::Float8),
        ("d", DataType::Date),
        ("s", DataType::Timestamp),
        ("x", DataType::Bool),
        ("y", DataType::Bytea),
        ("g", DataType::Float4),
        ("i", DataType::Int2),
    ];
    let column = |(i, (name, ty)): (usize, &(&str, DataType))| {
        ColumnSchema::new(ColumnId(i as u32 + 5), *name, *ty, true)
    };
    let columns = types.iter().enumerate().map(column).collect();
    TableSchema { name: "t".into(), columns, ..TableSchema::default() }
}

fn col(name: &str) -> Expr<String> {
    Expr::column(name)
}

fn int(v: i64) -> Value {
    Value::Int(v)
}

fn text(s: &str) -> Value {
    Value::Text(s.into())
}

fn bound(expr: &Expr<String>) -> Result<Condition> {
    let schema = schema();
    let by_name =
        &mut |name: &String| Ok(schema.columns[schema.position_by_name(name).unwrap()].id);
    expr.with_columns(by_name)?.bind(&schema)
}

/// What a condition comes to where columns have these values, given as text; the others are NULL.
/// Rows as values and rows of a batch must agree.
fn try_with(row: &[(&str, &str)], expr: Expr<String>) -> Result<Option<bool>> {
    let schema = schema();
    let mut values = vec![Value::Null; schema.columns.len()];
    for (name, value) in row {
        let at = schema.position_by_name(name).unwrap();
        values[at] = parse_text(schema.columns[at].ty, value).unwrap();
    }
    let mut batch = Batch::new(schema.columns.iter().map(|c| c.ty.physical()));
    for ((c, column), value) in schema.columns.iter().zip(&mut batch.columns).zip(&mut values) {
        push_value(c.ty, value, column, &c.name).unwrap();
        *value = crate::convert::read_value(c.ty, column, 0);
    }
    batch.rows = 1;
    let condition = bound(&expr)?;
    let result = condition.evaluate(values.as_slice());
    assert_eq!(result, condition.evaluate(&BatchRow { schema: &schema, batch: &batch, row: 0 }));
    let first_false = condition.first_false(&schema, &batch, 0..1);
    assert_eq!(first_false, result.clone().map(|r| (r == Some(false)).then_some(0)));
    result
}

fn with(row: &[(&str, &str)], expr: Expr<String>) -> Option<bool> {
    try_with(row, expr).unwrap()
}

fn failure(row: &[(&str, &str)], expr: Expr<String>) -> ErrorKind {
    try_with(row, expr).unwrap_err().kind()
}

#[test]
fn three_values() {
    let (t, f, n) =
        (Expr::from(Value::Bool(true)), Expr::from(Value::Bool(false)), Expr::from(Value::Null));
    let table = [
        (&t, &t, Some(true), Some(true)),
        (&t, &f, Some(false), Some(true)),
        (&t, &n, None, Some(true)),
        (&f, &f, Some(false), Some(false)),
        (&f, &n, Some(false), None),
        (&n, &n, None, None),
    ];
    for (a, b, and, or) in table {
        for (a, b) in [(a, b), (b, a)] {
            assert_eq!(with(&[], a.clone().and(b.clone())), and, "{a:?} and {b:?}");
            assert_eq!(with(&[], a.clone().or(b.clone())), or, "{a:?} or {b:?}");
        }
    }
    assert_eq!(with(&[], n.clone().negated()), None);
    assert_eq!(with(&[], t.clone().negated()), Some(false));
    assert_eq!(with(&[], n.is_null()), Some(true));
    assert_eq!(with(&[("a", "1")], col("a").is_not_null()), Some(true));
    assert_eq!(with(&[], col("a").equal(int(1))), None);
    assert_eq!(with(&[], col("a").equal(col("a"))), None);
    assert_eq!(with(&[], col("a").distinct(col("b"))), Some(false));
    assert_eq!(with(&[("a", "1")], col("a").distinct(col("b"))), Some(true));
    assert_eq!(with(&[("x", "t")], col("x")), Some(true));
}

#[test]
fn lists_and_ranges_with_null() {
    let one = [("a", "1")];
    assert_eq!(with(&one, col("a").one_of([int(2), int(1)])), Some(true));
    assert_eq!(with(&one, col("a").one_of([int(2), Value::Null])), None);
    assert_eq!(with(&one, col("a").one_of([int(2)])), Some(false));
    assert_eq!(with(&one, Expr::In(Box::new(col("a")), vec![])), Some(false));
    assert_eq!(with(&one, col("a").between(int(1), int(1))), Some(true));
    assert_eq!(with(&one, col("a").between(int(2), int(1))), Some(false));
    assert_eq!(with(&one, col("a").between(int(0), Value::Null)), None);
    assert_eq!(with(&one, col("a").between(int(2), Value::Null)), Some(false));
}

#[test]
fn a_part_guards_those_behind_it() {
    let guarded =
        col("a").not_equal(int(0)).and(Expr::from(int(10)).divided_by(col("a")).greater(int(1)));
    assert_eq!(with(&[("a", "0")], guarded.clone()), Some(false));
    assert_eq!(with(&[("a", "5")], guarded), Some(true));
    let open = Expr::from(int(10)).divided_by(col("a")).greater(int(1));
    assert_eq!(failure(&[("a", "0")], open), ErrorKind::DivisionByZero);
}

#[test]
fn integers_end_where_their_type_does() {
    let max4 = [("a", "2147483647"), ("b", "1"), ("i", "32767")];
    assert_eq!(failure(&max4, col("a").plus(int(1)).greater(int(0))), ErrorKind::OutOfRange);
    assert_eq!(with(&max4, col("a").plus(col("b")).equal(int(1 << 31))), Some(true));
    assert_eq!(with(&max4, col("i").plus(int(1)).equal(int(32768))), Some(true));
    assert_eq!(failure(&max4, col("i").plus(col("i")).greater(int(0))), ErrorKind::OutOfRange);
    let min8 = [("b", "-9223372036854775808")];
    assert_eq!(failure(&min8, col("b").minus_sign().less(int(0))), ErrorKind::OutOfRange);
    assert_eq!(failure(&min8, col("b").abs().less(int(0))), ErrorKind::OutOfRange);
    assert_eq!(failure(&min8, col("b").divided_by(int(-1)).less(int(0))), ErrorKind::OutOfRange);
    assert_eq!(with(&min8, col("b").remainder(int(-1)).equal(int(0))), Some(true));
    let minus7 = [("a", "-7")];
    assert_eq!(with(&minus7, col("a").divided_by(int(2)).equal(int(-3))), Some(true));
    assert_eq!(with(&minus7, col("a").remainder(int(2)).equal(int(-1))), Some(true));
    assert_eq!(with(&minus7, col("a").abs().equal(int(7))), Some(true));
}

#[test]
fn decimals_keep_their_digits() {
    let num = |s: &str| parse_text(DataType::Numeric(None), s).unwrap();
    let row = [("n", "12345678.25"), ("m", "0.1"), ("a", "3")];
    assert_eq!(with(&row, col("m").plus(num("0.2")).equal(num("0.3"))), Some(true));
    assert_eq!(with(&row, col("n").times(col("m")).equal(num("1234567.825"))), Some(true));
    assert_eq!(with(&row, col("n").remainder(int(1)).equal(num("0.25"))), Some(true));
    assert_eq!(with(&row, col("n").greater(col("a"))), Some(true));
    // What PostgreSQL prints for 1::numeric / 3, 2.0 / 3 and 1000000 / 7.
    let thirds = Expr::from(num("1")).divided_by(col("a"));
    assert_eq!(with(&row, thirds.equal(num("0.33333333333333333333"))), Some(true));
    let two = Expr::from(num("2.0")).divided_by(col("a"));
    assert_eq!(with(&row, two.equal(num("0.66666666666666666667"))), Some(true));
    let million = Expr::from(num("1000000")).divided_by(num("7"));
    assert_eq!(with(&row, million.equal(num("142857.142857142857"))), Some(true));
    let large = num("99999999999999999999999999999999999999");
    assert_eq!(
        failure(&row, Expr::from(large.clone()).plus(int(1)).greater(int(0))),
        ErrorKind::OutOfRange
    );
    assert_eq!(
        failure(&row, Expr::from(large.clone()).times(large).greater(int(0))),
        ErrorKind::OutOfRange
    );
    assert_eq!(
        failure(&row, col("n").divided_by(num("0.00")).less(int(0))),
        ErrorKind::DivisionByZero
    );
    let nan = [("m", "NaN")];
    assert_eq!(with(&nan, col("m").divided_by(int(0)).equal(num("NaN"))), Some(true));
    assert_eq!(with(&nan, col("m").greater(int(i64::MAX))), Some(true));
}

#[test]
fn floats_are_ordered_and_limited() {
    let row = [("f", "-0"), ("m", "0.5"), ("g", "0.1")];
    assert_eq!(with(&row, col("f").equal(int(0))), Some(true));
    assert_eq!(with(&row, col("f").less(col("m"))), Some(true));
    // As float8, the float4 next to 0.1 is not 0.1.
    assert_eq!(with(&row, col("g").equal(Value::Float(0.1))), Some(false));
    assert_eq!(with(&[("f", "NaN")], col("f").greater(Value::Float(f64::INFINITY))), Some(true));
    assert_eq!(with(&[("f", "NaN")], col("f").equal(Value::Float(f64::NAN))), Some(true));
    let big = [("f", "1e300"), ("g", "3e38")];
    assert_eq!(failure(&big, col("f").times(col("f")).greater(int(0))), ErrorKind::OutOfRange);
    assert_eq!(failure(&big, col("g").plus(col("g")).greater(int(0))), ErrorKind::OutOfRange);
    assert_eq!(
        failure(&big, col("f").divided_by(int(0)).greater(int(0))),
        ErrorKind::DivisionByZero
    );
    assert_eq!(with(&big, col("f").abs().greater(int(7))), Some(true));
}

#[test]
fn texts() {
    let row = [("t", "Grün"), ("c", "ab"), ("y", "\\x0102")];
    assert_eq!(with(&row, col("t").length().equal(int(4))), Some(true));
    assert_eq!(with(&row, col("t").octet_length().equal(int(5))), Some(true));
    assert_eq!(with(&row, col("y").length().equal(int(2))), Some(true));
    assert_eq!(with(&row, col("t").lower().equal(text("grün"))), Some(true));
    assert_eq!(with(&row, col("t").upper().equal(text("GRüN"))), Some(true));
    assert_eq!(with(&[("t", "  a b ")], col("t").trim().equal(text("a b"))), Some(true));
    assert_eq!(with(&row, col("t").is_null().or(col("t").not_equal(text("")))), Some(true));
    // Blanks at the end of char do not count, but in patterns.
    assert_eq!(with(&row, col("c").equal(text("ab"))), Some(true));
    assert_eq!(with(&row, col("c").equal(text("ab      "))), Some(true));
    assert_eq!(with(&row, col("c").length().equal(int(2))), Some(true));
    assert_eq!(with(&row, col("c").like("ab")), Some(false));
    assert_eq!(with(&row, col("c").like("ab%")), Some(true));
    assert_eq!(with(&[("c", "ab"), ("t", "ab ")], col("c").equal(col("t"))), Some(false));
    assert_eq!(with(&[], col("t").or_else(text("x")).equal(text("x"))), Some(true));
}

#[test]
fn patterns() {
    let like = |s: &str, pattern: &str| with(&[("t", s)], col("t").like(pattern)).unwrap();
    for (s, pattern) in [
        ("abc", "abc"),
        ("abc", "%"),
        ("", "%"),
        ("", ""),
        ("abc", "a%"),
        ("abc", "%c"),
        ("abc", "_b_"),
        ("aXbXc", "a%b%c"),
        ("aaab", "%aab"),
        ("ab%", "ab\\%"),
        ("ü", "_"),
        ("xüyüz", "%ü_"),
        ("abcabc", "%abc"),
    ] {
        assert!(like(s, pattern), "{s:?} like {pattern:?}");
    }
    for (s, pattern) in
        [("abc", "ab"), ("", "_"), ("abc", "b%"), ("abx", "ab\\%"), ("aaab", "%aac"), ("Abc", "a%")]
    {
        assert!(!like(s, pattern), "{s:?} like {pattern:?}");
    }
    assert_eq!(failure(&[], col("t").like("a\\")), ErrorKind::InvalidInput);
    // Backtracking stays within length times length.
    assert!(!like(&"a".repeat(10_000), &"%a".repeat(20).replace("%a%a", "%aa%b")));
}

#[test]
fn dates_meet_timestamps_at_midnight() {
    let row = [("d", "2024-02-29"), ("s", "2024-02-29 00:00:00")];
    assert_eq!(with(&row, col("d").equal(col("s"))), Some(true));
    assert_eq!(with(&[row[0], ("s", "2024-02-29 00:00:01")], col("d").less(col("s"))), Some(true));
    assert_eq!(with(&row, col("s").greater(col("d"))), Some(false));
    // Dates reach further than timestamps.
    let far = Expr::Constant(Value::Date(i32::MIN));
    assert_eq!(with(&row, col("s").greater(far)), Some(true));
}

#[test]
fn what_makes_no_sense_is_refused_when_bound() {
    let refused = |expr: Expr<String>| bound(&expr).unwrap_err().kind();
    assert_eq!(refused(col("a")), ErrorKind::WrongType);
    assert_eq!(refused(col("a").equal(text("1"))), ErrorKind::WrongType);
    assert_eq!(refused(col("a").and(col("x"))), ErrorKind::WrongType);
    assert_eq!(refused(col("t").plus(int(1)).equal(int(2))), ErrorKind::WrongType);
    assert_eq!(refused(col("f").remainder(int(2)).equal(int(0))), ErrorKind::WrongType);
    assert_eq!(refused(col("a").like("1%")), ErrorKind::WrongType);
    assert_eq!(refused(col("a").length().equal(int(1))), ErrorKind::WrongType);
    assert_eq!(refused(col("a").or_else(text("x")).equal(int(1))), ErrorKind::WrongType);
    assert_eq!(refused(Expr::Call(Function::Abs, vec![])), ErrorKind::InvalidInput);
    let unknown = Expr::Column(ColumnId(99)).is_null().bind(&schema());
    assert_eq!(unknown.unwrap_err().kind(), ErrorKind::UnknownColumn);
}

proptest! {
    #[test]
    fn nothing_panics(expr in any_expr(), a in any::<i32>(), t in "[a-c]{0,4}") {
        let mut schema = schema();
        schema.columns.iter_mut().enumerate().for_each(|(i, c)| c.id = ColumnId(i as u32));
        let mut row = vec![Value::Null; schema.columns.len()];
        (row[0], row[4]) = (Value::Int(a.into()), Value::Text(t));
        if let Ok(condition) = expr.bind(&schema) {
            let _ = condition.evaluate(row.as_slice());
        }
    }
}
