//! In which order do a workload's keys arrive at each index?

use std::collections::BTreeMap;

use onlap::{DataType, Value, convert};
use onlap_base::pattern::{Pattern, WINDOW_KEYS};

use super::{IndexShape, Workload};

/// Rows that are looked at: the first window is complete, and then half of a second one.
const ROWS: usize = WINDOW_KEYS as usize * 3 / 2;

/// Rows of a statement, which share its time.
const STATEMENT_ROWS: usize = 50;

/// The insert benchmark's code of the key and of the first `indexes` secondary indexes, with one client.
pub fn patterns(workload: Workload, indexes: usize) -> BTreeMap<String, String> {
    let shape = workload.shape();
    let key = [0];
    let named =
        shape.indexes[..indexes].iter().map(|IndexShape { name, columns }| (*name, *columns));
    let all: Vec<(&str, &[usize])> = std::iter::once(("pk", &key[..])).chain(named).collect();
    let mut seen: Vec<Pattern<Vec<Part>>> = all.iter().map(|_| Pattern::new()).collect();
    let mut generator = workload.generator(0, 0);
    for statement in 0..ROWS / STATEMENT_ROWS {
        let batch = generator.batch(STATEMENT_ROWS, statement as i64 * 1_000_000);
        for row in 0..STATEMENT_ROWS {
            let nth = (statement * STATEMENT_ROWS + row) as u64;
            for ((_, columns), pattern) in all.iter().zip(&mut seen) {
                let part = |c: &usize| match c {
                    0 => Part::Int(workload.key(nth)),
                    c => {
                        let ty: DataType = shape.columns[*c].1;
                        part_of(&convert::read_value(ty, &batch.columns[*c], row))
                    }
                };
                pattern.observe(&columns.iter().map(part).collect());
            }
        }
    }
    all.iter()
        .zip(&seen)
        .map(|((name, _), p)| ((*name).to_owned(), p.report().to_string()))
        .collect()
}

/// A value in the order of its index.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord)]
enum Part {
    Int(i64),
    Text(String),
}

fn part_of(value: &Value) -> Part {
    match value {
        Value::Int(n) | Value::Timestamp(n) => Part::Int(*n),
        Value::Text(text) => Part::Text(text.clone()),
        other => Part::Text(format!("{other:?}")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_insert_benchmark_has_the_published_patterns() {
        let found = patterns(Workload::Ibench, 3);
        assert_eq!(found["pk"], "(nAsc:1, nRHS:1)");
        for index in ["marketsegment", "registersegment", "pdc"] {
            assert_eq!(found[index], "(inf)", "{index}");
        }
    }
}
