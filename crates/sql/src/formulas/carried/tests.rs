//! Is what tables keep read for ever?

use arrow_array::{ArrayRef, BooleanArray, Float64Array, Int32Array};
use onlap_kernels::Repr;

use super::*;
use crate::formulas::{Program, made};

/// A partial index's condition over an enum, as this release first wrote it: `st < 'b' and f(n)`.
const KEPT: &str = r#"{"call":false,"carried":{"functions":[{"arguments":[23],"oid":20010,"result":16,"sql":"(\"$1\" > 3)","strict":true}],"types":[{"array":20001,"labels":[[20003,"1.5"]],"oid":20000}]},"columns":[[0,"st",20000,-1],[4,"n",23,-1]],"filter":true,"name":"expr","sql":"((st < '20003'::\"20000\") AND \"20010\"(n))","table":"t","type":[16,-1]}"#;

#[test]
fn kept_programs_are_read_and_calculated() {
    let program = Program::read(KEPT).expect("a release wrote it");
    assert_eq!(program.body().to_string(), KEPT);
    let made = made(KEPT).expect("it is bound");
    let columns: [ArrayRef; 2] = [
        Arc::new(Float64Array::from(vec![1.0, 1.25, 1.5, 2.0, 1.0])),
        Arc::new(Int32Array::from(vec![Some(4), Some(3), Some(9), Some(9), None])),
    ];
    let values = made.formula.values(&columns, 5, &made.env).expect("they are calculated");
    let wanted: ArrayRef =
        Arc::new(BooleanArray::from(vec![Some(true), Some(false), Some(false), Some(false), None]));
    let read = |of: &ArrayRef| -> Vec<Datum<'static>> {
        (0..5).map(|row| Datum::at(of, Repr::Bool, row).into_owned()).collect()
    };
    assert_eq!(read(&values), read(&wanted));
}

#[test]
fn what_no_release_wrote_is_none() {
    let bodies = [
        json!({ "types": [], "functions": [{}] }),
        json!({ "types": [{ "oid": 20000, "array": 20001, "labels": [[1, "nan"]] }], "functions": [] }),
        json!({ "types": [{ "oid": -1, "array": 20001, "labels": [] }], "functions": [] }),
        json!({ "functions": [] }),
    ];
    for body in bodies {
        assert_eq!(Carried::read(&body), None, "{body}");
    }
}
