use onlap_base::{ColumnId, ErrorKind, limits};
use proptest::prelude::*;

mod eval;

use super::*;
use crate::value::Numeric;
use crate::wire::Reader;

fn value() -> impl Strategy<Value = Value> {
    prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::Bool),
        any::<i64>().prop_map(Value::Int),
        (-1e9..1e9f64).prop_map(Value::Float),
        (-1_000_000i128..1_000_000, 0u8..39)
            .prop_map(|(mantissa, scale)| Value::Numeric(Numeric { mantissa, scale })),
        "[a-c%_]{0,6}".prop_map(Value::Text),
        prop::collection::vec(any::<u8>(), 0..5).prop_map(Value::Bytes),
        any::<[u8; 16]>().prop_map(Value::Uuid),
        any::<i32>().prop_map(Value::Date),
        any::<i64>().prop_map(Value::Time),
        any::<i64>().prop_map(Value::Timestamp),
    ]
}

fn comparison() -> impl Strategy<Value = Comparison> {
    use Comparison::*;
    prop::sample::select(vec![
        Equal,
        NotEqual,
        Less,
        LessOrEqual,
        Greater,
        GreaterOrEqual,
        Distinct,
    ])
}

fn operation() -> impl Strategy<Value = Operation> {
    use Operation::*;
    prop::sample::select(vec![Add, Subtract, Multiply, Divide, Remainder])
}

fn function() -> impl Strategy<Value = Function> {
    use Function::*;
    prop::sample::select(vec![Length, OctetLength, Lower, Upper, Trim, Abs, Coalesce])
}

pub(super) fn any_expr() -> impl Strategy<Value = Expr> {
    let leaf = prop_oneof![
        (0u32..4).prop_map(|c| Expr::Column(ColumnId(c))),
        value().prop_map(Expr::Constant),
    ];
    leaf.prop_recursive(5, 64, 4, |inner| {
        let list = prop::collection::vec(inner.clone(), 0..4);
        let one = inner.clone().prop_map(Box::new);
        prop_oneof![
            (comparison(), one.clone(), one.clone()).prop_map(|(h, a, b)| Expr::Compare(h, a, b)),
            list.clone().prop_map(Expr::And),
            list.clone().prop_map(Expr::Or),
            one.clone().prop_map(Expr::Not),
            one.clone().prop_map(Expr::IsNull),
            (operation(), one.clone(), one.clone()).prop_map(|(h, a, b)| Expr::Arithmetic(h, a, b)),
            one.clone().prop_map(Expr::Negate),
            (one.clone(), one.clone(), one.clone()).prop_map(|(a, b, c)| Expr::Between(a, b, c)),
            (one.clone(), list.clone()).prop_map(|(e, l)| Expr::In(e, l)),
            (one, "[a-c%_]{0,4}").prop_map(|(e, p)| Expr::Like(e, p)),
            (function(), list).prop_map(|(f, l)| Expr::Call(f, l)),
        ]
    })
}

proptest! {
    #[test]
    fn an_expression_comes_back(expr in any_expr()) {
        let mut bytes = Vec::new();
        put_expr(&mut bytes, &expr);
        let mut r = Reader::new(&bytes);
        prop_assert_eq!(read_expr(&mut r).unwrap(), expr);
        prop_assert!(r.is_empty());
    }

    #[test]
    fn damaged_bytes_are_an_error(
        expr in any_expr(),
        at in any::<prop::sample::Index>(),
        byte in any::<u8>(),
        cut in any::<prop::sample::Index>(),
    ) {
        let mut bytes = Vec::new();
        put_expr(&mut bytes, &expr);
        let at = at.index(bytes.len());
        bytes[at] = byte;
        bytes.truncate(1 + cut.index(bytes.len()));
        // Whatever comes of it, it is no panic, and what is read obeys the limits.
        if let Ok(read) = read_expr(&mut Reader::new(&bytes)) {
            read.check_size().unwrap();
        }
    }
}

#[test]
fn a_formula_stands_alone() {
    let formula = Expr::Formula("{}".into(), vec![ColumnId(3), ColumnId(300)]);
    let back = |expr: &Expr| {
        let mut bytes = Vec::new();
        put_expr(&mut bytes, expr);
        read_expr(&mut Reader::new(&bytes)).map_err(|e| e.kind())
    };
    assert_eq!(back(&formula).as_ref(), Ok(&formula));
    assert_eq!(formula.columns(), [ColumnId(3), ColumnId(300)]);
    assert_eq!(back(&Expr::Not(Box::new(formula))), Err(ErrorKind::Corruption));
}

#[test]
fn depth_and_size_are_limited_on_both_ways_in() {
    let deep =
        |levels: usize| (1..levels).fold(Expr::Column(ColumnId(0)), |e, _| Expr::Not(Box::new(e)));
    let wide = |n: usize| Expr::And(vec![Expr::Constant(Value::Null); n - 1]);
    let back = |expr: &Expr| {
        let mut bytes = Vec::new();
        put_expr(&mut bytes, expr);
        read_expr(&mut Reader::new(&bytes)).map_err(|e| e.kind())
    };
    for (fits, not) in [
        (deep(limits::EXPR_DEPTH), deep(limits::EXPR_DEPTH + 1)),
        (wide(limits::EXPR_NODES), wide(limits::EXPR_NODES + 1)),
    ] {
        assert!(fits.check_size().is_ok() && back(&fits).as_ref() == Ok(&fits));
        assert_eq!(not.check_size().unwrap_err().kind(), ErrorKind::LimitExceeded);
        assert_eq!(back(&not), Err(ErrorKind::Corruption));
    }
    // A million levels in a million bytes.
    let bytes = vec![6; 1 << 20];
    assert_eq!(read_expr(&mut Reader::new(&bytes)).unwrap_err().kind(), ErrorKind::Corruption);
}
