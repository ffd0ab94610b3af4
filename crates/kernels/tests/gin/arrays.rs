//! Arrays.

use onlap_kernels::gin::{Class, Tree};

use super::ours::Ours;
use super::{Condition, Draw, Tally, number};

/// `&&`, `@>`, `<@`, `=`
const OPERATORS: [u32; 4] = [2750, 2751, 2752, 1070];

/// Types of arrays with elements that are often equal, some in different words.
const TYPES: [(u32, &[&str]); 9] = [
    (1007, &["1", "2", "3", "4", "NULL", "-1"]),
    (1009, &["a", "A", "ä", "\"\"", "\"NULL\"", "NULL", "\"a b\"", "b"]),
    (1231, &["1", "1.0", "1.00", "-0", "0", "NaN", "1e3", "1000", "NULL"]),
    (1022, &["1", "0", "-0", "NaN", "1e300", "NULL"]),
    (1021, &["1", "0", "-0", "NaN", "NULL"]),
    (1014, &["a", "\"a \"", "\"a  \"", "b", "NULL"]),
    (1187, &["\"1 day\"", "\"24 hours\"", "\"1 month\"", "\"30 days\"", "NULL"]),
    (1270, &["\"10:00+00\"", "\"11:00+01\"", "NULL"]),
    (3807, &["\"1\"", "\"1.0\"", "\"{}\"", "\"[]\"", "NULL"]),
];

fn array(draw: &mut Draw, of: &[&str]) -> String {
    let some = |draw: &mut Draw, count: usize| {
        (0..count).map(|_| draw.one(of)).collect::<Vec<_>>().join(",")
    };
    match draw.below(10) {
        0 => "{}".into(),
        1 => format!("{{{{{}}},{{{}}}}}", some(draw, 2), some(draw, 2)),
        2 => {
            let count = 1 + draw.below(2);
            format!("[3:{}]={{{}}}", 2 + count, some(draw, count))
        }
        _ => {
            let count = 1 + draw.below(4);
            format!("{{{}}}", some(draw, count))
        }
    }
}

#[test]
fn keys_are_enough() {
    let (ours, mut draw) = (Ours::new(), Draw::of_test());
    let cases = number("ONLAP_CASES", 4000);
    for (ty, elements) in TYPES {
        for operator in OPERATORS {
            let condition = Condition { class: Class::Arrays, operator, types: (ty, ty) };
            let mut tally = Tally::default();
            for _ in 0..cases / 9 {
                let (value, with) = (array(&mut draw, elements), array(&mut draw, elements));
                condition.ask(&ours, &value, &with, &mut tally);
            }
            assert!(tally.held * 100 > tally.asked, "{ty} {operator}: too few are true");
            let is_open = tally.open * 3 > tally.asked && operator != 2751;
            assert!(!is_open && tally.met < tally.asked, "{ty} {operator}: nothing is asked for");
        }
    }
}

#[test]
fn many_elements_are_asked_for() {
    let ours = Ours::new();
    let list = |from: u32, to: u32| {
        let all: Vec<String> = (from..to).map(|n| n.to_string()).collect();
        format!("{{{}}}", all.join(","))
    };
    for (operator, with, wanted) in
        [(2751, list(0, 500), true), (2750, list(90, 800), true), (2750, list(101, 3000), true)]
    {
        let condition = Condition { class: Class::Arrays, operator, types: (1007, 1007) };
        let mut tally = Tally::default();
        condition.ask(&ours, &list(0, 1000), &with, &mut tally);
        assert_eq!(tally.held == 1, wanted, "{operator}");
    }
}

#[test]
fn long_elements_are_hashed() {
    let ours = Ours::new();
    let long = |end: &str| format!("{{{}{end}}}", "x".repeat(500));
    let condition = Condition { class: Class::Arrays, operator: 2751, types: (1009, 1009) };
    let mut tally = Tally::default();
    condition.ask(&ours, &long("a"), &long("a"), &mut tally);
    assert_eq!((tally.held, tally.met), (1, 1));
    condition.ask(&ours, &long("a"), &long("b"), &mut tally);
    assert_eq!((tally.held, tally.met), (1, 1));
}

#[test]
fn what_no_array_has_is_nothing() {
    let ours = Ours::new();
    let tree = |operator, with: &str| {
        let condition = Condition { class: Class::Arrays, operator, types: (1007, 1007) };
        condition.tree(&ours, &ours.read(1007, with))
    };
    assert_eq!(tree(2751, "{1,NULL}"), Tree::None);
    assert_eq!(tree(2751, "{}"), Tree::All);
    assert_eq!(tree(2750, "{}"), Tree::None);
    assert_eq!(tree(2750, "{NULL}"), Tree::None);
    assert_eq!(tree(2752, "{}"), tree(1070, "{}"));
}
