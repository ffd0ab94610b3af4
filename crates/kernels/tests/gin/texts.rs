//! Texts by their trigrams.

use onlap_kernels::gin::Class;

use super::ours::Ours;
use super::{Condition, Draw, Tally, number};

const TEXT: u32 = 25;
/// Parts of texts: few letters, both cases, signs between words, what is not of ASCII.
const PARTS: [&str; 16] =
    ["a", "b", "ab", "Ba", "A", "B", " ", "-", "1", "abc", "ä", "Ä", "日", "%", "_", "\\"];

fn condition(operator: u32) -> Condition {
    Condition { class: Class::Trigrams, operator, types: (TEXT, TEXT) }
}

#[test]
fn equal_texts_have_equal_trigrams() {
    let (ours, mut draw) = (Ours::new(), Draw::of_test());
    let mut tally = Tally::default();
    for _ in 0..2000 {
        let (value, with) = (draw.text(&PARTS, 2), draw.text(&PARTS, 2));
        condition(98).ask(&ours, &value, &with, &mut tally);
        condition(98).ask(&ours, &value, &value, &mut tally);
    }
    assert!(tally.held > 2000 && tally.met < tally.asked * 9 / 10);
}

/// The trigrams of a text word by word, as pg_trgm's documentation has them.
fn by_words(text: &str) -> Vec<Vec<u8>> {
    let words = text.as_bytes().split(|byte| !byte.is_ascii_alphanumeric());
    let padded = words
        .filter(|word| !word.is_empty())
        .map(|word| [b"  ", &*word.to_ascii_lowercase(), b" "].concat());
    let mut all: Vec<Vec<u8>> =
        padded.flat_map(|word| word.windows(3).map(<[u8]>::to_vec).collect::<Vec<_>>()).collect();
    all.sort_unstable();
    all.dedup();
    all
}

#[test]
fn trigrams_are_those_of_the_words() {
    let (ours, mut draw) = (Ours::new(), Draw::of_test());
    let letters: Vec<String> = (0..=255_u8).map(|byte| char::from(byte).to_string()).collect();
    let letters: Vec<&str> = letters.iter().map(String::as_str).collect();
    for n in 0..3000 {
        let text = if n % 2 == 0 { draw.text(&PARTS, 12) } else { draw.text(&letters, 40) };
        let value = ours.read(TEXT, &text);
        let keys = Class::Trigrams.keys(TEXT, &value, &ours.cx()).expect("there is room");
        assert!(keys.is_rising(), "they need no sorting");
        let keys: Vec<Vec<u8>> = keys.iter().map(<[u8]>::to_vec).collect();
        assert_eq!(keys, by_words(&text), "{text:?}");
    }
}

#[test]
fn patterns_of_like() {
    let (ours, mut draw) = (Ours::new(), Draw::of_test());
    let signs = ["%", "_", "%", "\\%", "\\_", "\\\\", "\\a", "\\ä", "\\"];
    for operator in [1209, 1627] {
        let mut tally = Tally::default();
        for _ in 0..number("ONLAP_CASES", 15_000) {
            let value = draw.text(&PARTS, 8);
            let mut pattern = String::new();
            // A pattern is made of pieces of the value, so that it is often true.
            let letters: Vec<char> = value.chars().collect();
            for _ in 0..draw.below(4) {
                if draw.below(2) == 0 || letters.is_empty() {
                    pattern += draw.one(&signs);
                } else {
                    let from = draw.below(letters.len());
                    let to = from + draw.below(letters.len() - from + 1);
                    let piece: String = letters[from..to].iter().collect();
                    pattern += &piece.replace('\\', "\\\\").replace('%', "\\%").replace('_', "\\_");
                }
                pattern += draw.one(&["%", "%", ""]);
            }
            condition(operator).ask(&ours, &value, &pattern, &mut tally);
        }
        assert!(tally.held * 20 > tally.asked, "too few are true: {}", tally.held);
        assert!(tally.met < tally.asked * 92 / 100, "too much is met: {}", tally.met);
    }
}

fn expression(draw: &mut Draw, depth: usize) -> String {
    let mut out = String::new();
    for _ in 0..1 + draw.below(4) {
        let atom = match draw.below(14) {
            0..=4 => draw.one(&["a", "b", "ab", "B", "1", "ä", "abc", " "]).to_string(),
            5 => draw
                .one(&[".", "[ab]", "[^a]", "[a-c1]", "\\w", "\\s", "\\d", "[[:alpha:]]"])
                .into(),
            6 => draw.one(&["^", "$", "\\m", "\\M", "\\y", "\\A", "\\Z"]).into(),
            7 => draw.one(&["(?=a)", "(?!b)", "(?<=a)", "(?<!b)"]).into(),
            8 if depth > 0 => format!("({})\\1", draw.one(&["a", "ab", "a|b"])),
            _ if depth > 0 => {
                let (a, b) = (expression(draw, depth - 1), expression(draw, depth - 1));
                format!("({a}|{b})")
            }
            _ => draw.one(&["abc", "bca", "aab"]).into(),
        };
        out += &atom;
        if !atom.starts_with(['^', '$', '\\']) && !atom.contains("(?") && !atom.contains("\\1") {
            out += draw.one(&["", "", "", "*", "+", "?", "{2}", "{1,3}", "{3,}", "*?", "{0}"]);
        }
    }
    out
}

#[test]
fn regular_expressions() {
    let (ours, mut draw) = (Ours::new(), Draw::of_test());
    let parts = ["a", "b", "ab", "abc", "B", "aab", " ", "1", "ä", "-"];
    for operator in [641, 1228] {
        let mut tally = Tally::default();
        for _ in 0..number("ONLAP_CASES", 15_000) {
            let value = draw.text(&parts, 8);
            let pattern = match draw.below(20) {
                0 => format!("(?i){}", expression(&mut draw, 2)),
                1 => format!("***={}", draw.text(&parts, 3)),
                _ => expression(&mut draw, 2),
            };
            condition(operator).ask(&ours, &value, &pattern, &mut tally);
        }
        assert!(tally.held * 20 > tally.asked, "too few are true: {}", tally.held);
        assert!(tally.met < tally.asked * 95 / 100, "too much is met: {}", tally.met);
    }
}

#[test]
fn expressions_ask_for_what_they_need() {
    let ours = Ours::new();
    let count = |pattern: &str| condition(641).tree(&ours, &ours.read(TEXT, pattern)).count();
    assert_eq!(count("foobar"), 4);
    assert_eq!(count("foo.*bar"), 2);
    assert_eq!(count("(foo|bar)baz"), 8);
    assert_eq!(count("foo[0-9]"), 20);
    assert_eq!(count("(abc)+"), 1);
    assert_eq!(count("(abcd){2}"), 4);
    assert_eq!(count("a.c"), 0);
    assert_eq!(count("foo|."), 0);
    assert_eq!(count("(abc)?def"), 5);
    assert_eq!(count("a b"), 1);
}

#[test]
fn similar_texts_share_trigrams() {
    let mut draw = Draw::of_test();
    for threshold in ["0", "0.1", "0.3", "0.5", "0.6", "0.7", "0.9", "1"] {
        let ours = Ours::with(threshold);
        for operator in [1_090_004_006, 1_090_004_010, 1_090_004_068] {
            let mut tally = Tally::default();
            for _ in 0..number("ONLAP_CASES", 4000) {
                let (value, with) = (draw.text(&PARTS, 6), draw.text(&PARTS, 6));
                condition(operator).ask(&ours, &value, &with, &mut tally);
                condition(operator).ask(&ours, &value, &value, &mut tally);
            }
            assert!(tally.held * 4 > tally.asked, "too few are true: {}", tally.held);
            let is_open = threshold != "0" && tally.met > tally.asked * 19 / 20;
            assert!(!is_open, "{threshold}: too much is met: {}", tally.met);
        }
    }
}
