//! Documents, and paths in them.

use onlap_kernels::gin::Class;

use super::ours::Ours;
use super::{Condition, Draw, Tally, number};

const JSONB: u32 = 3802;
const JSONPATH: u32 = 4072;
const NAMES: [&str; 4] = ["a", "b", "c", ""];
const SCALARS: [&str; 14] = [
    "1", "1.0", "1.00", "0", "-1", "1e2", "100", "true", "false", "null", "\"a\"", "\"b\"", "\"\"",
    "\"x y\"",
];

fn document(draw: &mut Draw, depth: usize) -> String {
    let kind = if depth == 0 { 0 } else { draw.below(5) };
    let count = draw.below(4);
    let some = |draw: &mut Draw, one: &mut dyn FnMut(&mut Draw) -> String| {
        (0..count).map(|_| one(draw)).collect::<Vec<_>>().join(",")
    };
    match kind {
        0 | 1 => draw.one(&SCALARS).into(),
        2 => format!("[{}]", some(draw, &mut |draw| document(draw, depth - 1))),
        _ => {
            let mut pair =
                |draw: &mut Draw| format!("\"{}\":{}", draw.one(&NAMES), document(draw, depth - 1));
            format!("{{{}}}", some(draw, &mut pair))
        }
    }
}

#[test]
fn what_contains_has_the_keys_of_what_it_contains() {
    let (ours, mut draw) = (Ours::new(), Draw::of_test());
    let cases = number("ONLAP_CASES", 8000);
    for class in [Class::Documents, Class::Paths] {
        let condition = Condition { class, operator: 3246, types: (JSONB, JSONB) };
        let mut tally = Tally::default();
        for _ in 0..cases {
            let value = document(&mut draw, 3);
            let depth = draw.below(3);
            let with = document(&mut draw, depth);
            condition.ask(&ours, &value, &with, &mut tally);
        }
        assert!(tally.held * 30 > tally.asked, "too few are true: {}", tally.held);
        assert!(tally.met < tally.asked / 2, "too much is met: {}", tally.met);
    }
}

#[test]
fn keys_are_found() {
    let (ours, mut draw) = (Ours::new(), Draw::of_test());
    let lists = ["{a}", "{a,b}", "{NULL}", "{}", "{x,NULL,\"\"}", "{\"x y\",c}"];
    for (operator, right) in [(3247, 25), (3248, 1009), (3249, 1009)] {
        let condition = Condition { class: Class::Documents, operator, types: (JSONB, right) };
        let mut tally = Tally::default();
        for _ in 0..number("ONLAP_CASES", 3000) {
            let value = document(&mut draw, 2);
            let with = if right == 25 {
                draw.one(&["a", "b", "", "x y", "nothing"])
            } else {
                draw.one(&lists)
            };
            condition.ask(&ours, &value, with, &mut tally);
        }
        assert!(tally.held * 10 > tally.asked, "too few are true: {}", tally.held);
        assert!(tally.met < tally.asked * 4 / 5, "too much is met: {}", tally.met);
    }
}

/// A path, with conditions in it.
fn path(draw: &mut Draw, from: &str, depth: usize) -> String {
    let mut out = from.to_string();
    for _ in 0..draw.below(4) {
        match draw.below(14) {
            0..=5 => out += &format!(".\"{}\"", draw.one(&NAMES)),
            6 => out += "[*]",
            7 => out += draw.one(&["[0]", "[last]", "[0 to 1]"]),
            8 => out += ".*",
            9 => out += draw.one(&[".**", ".**{1 to 2}", ".**{last}"]),
            10 => {
                out += draw.one(&[
                    ".size()",
                    ".type()",
                    ".keyvalue()",
                    ".keyvalue().key",
                    ".keyvalue().value",
                    ".double()",
                    ".abs()",
                ]);
            }
            _ if depth > 0 => out += &format!(" ? ({})", predicate(draw, "@", depth - 1)),
            _ => {}
        }
    }
    out
}

fn predicate(draw: &mut Draw, from: &str, depth: usize) -> String {
    let kind = if depth == 0 { draw.below(7) } else { draw.below(13) };
    let scalar = draw.one(&SCALARS);
    match kind {
        0..=2 => format!("{} == {scalar}", path(draw, from, depth)),
        3 => format!("{scalar} == {}", path(draw, from, depth)),
        4 => {
            let sign = draw.one(&["<", ">=", "!=", "<>", ">"]);
            format!("{} {sign} {scalar}", path(draw, from, depth))
        }
        5 => format!("{} starts with \"a\"", path(draw, from, depth)),
        6 => format!("{} like_regex \"^[ab]\"", path(draw, from, depth)),
        7 => format!("exists({})", path(draw, from, depth)),
        8 => format!("!({})", predicate(draw, from, depth - 1)),
        9 => format!("({}) is unknown", predicate(draw, from, depth - 1)),
        10 => format!("{} == {}", path(draw, from, depth), path(draw, "$", depth)),
        _ => {
            let sign = draw.one(&["&&", "||"]);
            let (a, b) = (predicate(draw, from, depth - 1), predicate(draw, from, depth - 1));
            format!("({a}) {sign} ({b})")
        }
    }
}

#[test]
fn what_a_path_is_true_of_has_its_keys() {
    let (ours, mut draw) = (Ours::new(), Draw::of_test());
    for class in [Class::Documents, Class::Paths] {
        for operator in [4012, 4013] {
            let condition = Condition { class, operator, types: (JSONB, JSONPATH) };
            let mut tally = Tally::default();
            for _ in 0..number("ONLAP_CASES", 8000) {
                let value = document(&mut draw, 3);
                let mode = draw.one(&["", "", "lax ", "strict "]);
                let asked = match (operator, draw.below(4)) {
                    (4012, 0) | (4013, 1..) => predicate(&mut draw, "$", 2),
                    _ => path(&mut draw, "$", 2),
                };
                condition.ask(&ours, &value, &format!("{mode}{asked}"), &mut tally);
            }
            assert!(tally.held * 20 > tally.asked, "too few are true: {}", tally.held);
            assert!(tally.met < tally.asked * 96 / 100, "too much is met: {}", tally.met);
        }
    }
}

#[test]
fn scalars_of_equal_numbers_have_one_key() {
    let ours = Ours::new();
    for class in [Class::Documents, Class::Paths] {
        for operator in [4012, 4013] {
            let condition = Condition { class, operator, types: (JSONB, JSONPATH) };
            for (value, path) in [
                ("{\"a\":1.0}", "$.a == 1"),
                ("{\"a\":[{\"b\":-1.50}]}", "$.a.b == -1.5"),
                ("[1,[2]]", "$[*] == 2.0"),
                ("\"x\"", "$ == \"x\""),
                ("{\"a\":{\"b\":[\"x\"]}}", "$.a.b == \"x\""),
            ] {
                let mut tally = Tally::default();
                condition.ask(&ours, value, path, &mut tally);
                assert_eq!(tally.held, 1, "{value} {path}");
            }
        }
    }
}
