//! Words of documents, and queries.

use onlap_kernels::gin::Class;

use super::ours::Ours;
use super::{Condition, Draw, Tally, number};

const TSVECTOR: u32 = 3614;
const TSQUERY: u32 = 3615;
const WORDS: [&str; 8] = ["a", "ab", "abc", "b", "ba", "c", "ä", "zz"];

fn vector(draw: &mut Draw) -> String {
    let weights = ["", "A", "B", "C"];
    let long = "ab".repeat(100);
    let word = |draw: &mut Draw| {
        let word = if draw.below(20) == 0 { long.clone() } else { draw.one(&WORDS).to_string() };
        match draw.below(6) {
            0 => word,
            _ => format!("{word}:{}{}", 1 + draw.below(6), draw.one(&weights)),
        }
    };
    (0..draw.below(6)).map(|_| word(draw)).collect::<Vec<_>>().join(" ")
}

fn query(draw: &mut Draw, depth: usize) -> String {
    if depth == 0 || draw.below(3) == 0 {
        let long = "ab".repeat(draw.below(80));
        let word = if draw.below(12) == 0 { format!("a{long}") } else { draw.one(&WORDS).into() };
        return word + draw.one(&["", "", ":*", ":A", ":*B"]);
    }
    match draw.below(6) {
        0 => format!("!({})", query(draw, depth - 1)),
        other => {
            let join = ["&", "&", "|", "<->", "<2>"][other - 1];
            format!("({}) {join} ({})", query(draw, depth - 1), query(draw, depth - 1))
        }
    }
}

#[test]
fn what_meets_a_query_has_its_words() {
    let (ours, mut draw) = (Ours::new(), Draw::of_test());
    let condition = Condition { class: Class::Words, operator: 3636, types: (TSVECTOR, TSQUERY) };
    let mut tally = Tally::default();
    for _ in 0..number("ONLAP_CASES", 8000) {
        let value = vector(&mut draw);
        let depth = draw.below(4);
        let with = query(&mut draw, depth);
        condition.ask(&ours, &value, &with, &mut tally);
    }
    assert!(tally.held * 8 > tally.asked, "too few are true: {}", tally.held);
    assert!(tally.met < tally.asked * 2 / 3, "too much is met: {}", tally.met);
    assert!(tally.open < tally.asked / 3, "too much needs nothing: {}", tally.open);
}
