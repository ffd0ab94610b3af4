//! How are millions of answers kept in a text that one can commit?
//!
//! First a line per distinct answer, of which the first character says how many characters it shares with the line
//! before (`0` none, `1` one, and so on through ASCII); behind them lines of the numbers of these, in the order of the cases, a run of
//! one number written once with its length: `3*17 0*2 5`. Pure.

use std::collections::HashMap;
use std::fmt::Write;
use std::rc::Rc;

/// Runs on one line.
const RUNS: usize = 32;
/// The most that an answer shares with the one before: up to `z`.
const SHARED: usize = (b'z' - b'0') as usize;

/// Collects answers.
#[derive(Debug, Default)]
pub struct Builder {
    numbers: HashMap<String, usize>,
    answers: Vec<String>,
    runs: Vec<(usize, usize)>,
}

impl Builder {
    /// The next answer.
    pub fn push(&mut self, answer: String) {
        let next = self.answers.len();
        let number = *self.numbers.entry(answer).or_insert_with_key(|answer| {
            self.answers.push(answer.clone());
            next
        });
        match self.runs.last_mut() {
            Some((last, count)) if *last == number => *count += 1,
            _ => self.runs.push((number, 1)),
        }
    }

    /// The text.
    pub fn text(&self) -> String {
        let (mut text, mut before) = (String::new(), "");
        for answer in &self.answers {
            let pairs = before.bytes().zip(answer.bytes());
            let shared = pairs.take_while(|(a, b)| a == b).count().min(SHARED);
            text.push(char::from(b'0' + shared as u8));
            text.push_str(&answer[shared..]);
            text.push('\n');
            before = answer;
        }
        text.push('\n');
        for line in self.runs.chunks(RUNS) {
            for (i, (number, count)) in line.iter().enumerate() {
                let space = if i == 0 { "" } else { " " };
                let _ = match count {
                    1 => write!(text, "{space}{number}"),
                    _ => write!(text, "{space}{number}*{count}"),
                };
            }
            text.push('\n');
        }
        text
    }
}

/// The answers of a text in order.
///
/// # Panics
/// It is no such text.
pub fn answers(text: &str) -> impl Iterator<Item = Rc<str>> {
    let (lines, runs) = text.split_once("\n\n").expect("answers and their numbers");
    let mut answers: Vec<Rc<str>> = Vec::new();
    for line in lines.lines() {
        let shared = usize::from(line.as_bytes()[0] - b'0');
        let before = answers.last().map_or("", |answer| &answer[..shared]);
        answers.push(format!("{before}{}", &line[1..]).into());
    }
    runs.split_whitespace().flat_map(move |run| {
        let (number, count) = run.split_once('*').unwrap_or((run, "1"));
        let number: usize = number.parse().expect("a number");
        std::iter::repeat_n(answers[number].clone(), count.parse().expect("a count"))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn answers_come_back_in_order() {
        let given =
            ["E42883", "16 o96:16(_,_)", "16 o96:16(_,_)", "16 o98:16(_,_)", "E42883", "", ""];
        let mut builder = Builder::default();
        given.iter().for_each(|answer| builder.push((*answer).to_owned()));
        let text = builder.text();
        assert_eq!(text, "0E42883\n016 o96:16(_,_)\n58:16(_,_)\n0\n\n0 1*2 2 0 3*2\n");
        assert!(answers(&text).map(|answer| answer.to_string()).eq(given));
    }
}
