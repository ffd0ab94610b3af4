//! What has changed between two reports?
//!
//! A figure has changed when the spreads of its runs do not overlap and the medians differ by more than
//! noise alone does; where one side has a single run, its spread is taken as [`NOISE`] around it.

use onlap_base::Result;

use super::comparison::{Comparison, Spread, metrics};
use super::text_table;
use crate::figures::Better;

/// Share by which a single run may differ from the next.
const NOISE: f64 = 0.10;
/// Share of a difference that is never a change.
const LEAST: f64 = 0.03;

/// What came of a figure.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Change {
    /// Within noise.
    None,
    /// To the good side.
    Better,
    /// To the other.
    Worse,
}

/// Judges a figure before and after.
pub fn judge(before: &Spread, after: &Spread, runs: (usize, usize), better: Better) -> Change {
    let widen = |s: &Spread, runs: usize| match runs {
        0 | 1 => (s.least * (1.0 - NOISE), s.most * (1.0 + NOISE)),
        _ => (s.least, s.most),
    };
    let ((low_a, high_a), (low_b, high_b)) = (widen(before, runs.0), widen(after, runs.1));
    let apart = high_a < low_b || high_b < low_a;
    let difference = (after.median - before.median).abs();
    if !apart || difference <= before.median.abs() * LEAST {
        return Change::None;
    }
    match (after.median > before.median) == (better == Better::Higher) {
        true => Change::Better,
        false => Change::Worse,
    }
}

/// A table of all figures that both have, and whether one has become worse.
pub fn compare(before: &Comparison, after: &Comparison) -> Result<(String, bool)> {
    let (old, new) = (before.entries()?, after.entries()?);
    let header = ["engine", "step", "figure", "before", "after", "ratio", ""];
    let mut rows = vec![header.map(str::to_owned).to_vec()];
    let mut worse = false;
    for entry in &new {
        let same = old.iter().find(|o| o.engine == entry.engine && o.case == entry.case);
        let Some(same) = same else { continue };
        for step in &entry.steps {
            for metric in metrics() {
                let a = same.spread(&step.step, metric.of);
                let b = entry.spread(&step.step, metric.of);
                let Some((a, b)) = a.zip(b) else { continue };
                let runs = (same.runs.len(), entry.runs.len());
                let change = judge(&a, &b, runs, metric.better);
                worse |= change == Change::Worse;
                let engine = [entry.engine, &entry.case].join(" ");
                rows.push(vec![
                    engine.trim().to_owned(),
                    step.step.clone(),
                    metric.name.to_owned(),
                    number(a.median),
                    number(b.median),
                    if a.median > 0.0 { format!("{:.3}", b.median / a.median) } else { "-".into() },
                    match change {
                        Change::None => "no change",
                        Change::Better => "better",
                        Change::Worse => "worse",
                    }
                    .to_owned(),
                ]);
            }
        }
    }
    let text = match rows.len() {
        1 => "the reports have no engine, case and step in common\n".to_owned(),
        _ => text_table(&rows),
    };
    Ok((text, worse))
}

fn number(value: f64) -> String {
    if value >= 1000.0 { format!("{value:.0}") } else { format!("{value:.3}") }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn spread(least: f64, median: f64, most: f64) -> Spread {
        Spread { median, least, most }
    }

    #[test]
    fn noise_is_no_change() {
        let (a, b) = (spread(90.0, 100.0, 110.0), spread(100.0, 112.0, 120.0));
        assert_eq!(judge(&a, &b, (3, 3), Better::Higher), Change::None);
        let close = spread(101.0, 102.0, 103.0);
        let tight = spread(99.9, 100.0, 100.1);
        assert_eq!(judge(&tight, &close, (3, 3), Better::Higher), Change::None, "2 percent");
    }

    #[test]
    fn a_planted_change_is_found() {
        let (a, b) = (spread(95.0, 100.0, 105.0), spread(70.0, 75.0, 80.0));
        assert_eq!(judge(&a, &b, (3, 3), Better::Higher), Change::Worse);
        assert_eq!(judge(&a, &b, (3, 3), Better::Lower), Change::Better);
        // Single runs need a larger step.
        let (a, b) = (spread(100.0, 100.0, 100.0), spread(85.0, 85.0, 85.0));
        assert_eq!(judge(&a, &b, (1, 1), Better::Higher), Change::None);
        let b = spread(60.0, 60.0, 60.0);
        assert_eq!(judge(&a, &b, (1, 1), Better::Higher), Change::Worse);
    }
}
