//! How does a comparison look as one picture?
//!
//! Bars of the first rate of the first step, an engine each, drawn to scale from zero. Colours and letters fit light
//! and dark pages. Pure.

use std::fmt::Write as _;

use onlap_base::{Error, ErrorKind, Result};

use super::comparison::{Comparison, Entry, metrics, steps_of};
use crate::units;

const WIDTH: f64 = 720.0;
/// Where bars begin, and how long the longest one is; its number stands behind it.
const LEFT: f64 = 150.0;
const LONGEST: f64 = 460.0;
const TOP: f64 = 40.0;
const LINE: f64 = 30.0;
const BAR: f64 = 20.0;
const FOOT: f64 = 26.0;

/// Colours with a contrast of 3 and more on white and on black: the first engine, and the others.
const FIRST: &str = "#2f81f7";
const OTHERS: &str = "#848d97";

/// Figures that are rates, the first that a step has.
const RATES: [&str; 4] = ["inserts/s", "queries/s", "transactions/s", "rows scanned/s"];

/// The picture of a report, under a title.
///
/// # Errors
/// `InvalidInput` where no step has a rate.
pub fn picture(comparison: &Comparison, title: &str) -> Result<String> {
    let entries = comparison.entries()?;
    let Some((step, name, values)) = first_rate(&entries) else {
        return Err(Error::new(ErrorKind::InvalidInput, "no step of the report has a rate"));
    };
    let longest = values.iter().map(|v| v.1).fold(0.0, f64::max);
    let height = TOP + LINE * values.len() as f64 + FOOT;
    let mut out = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {WIDTH} {height}\" width=\"{WIDTH}\" \
         height=\"{height}\" role=\"img\" font-family=\"sans-serif\" font-size=\"14\">\n\
         <title>{}</title>\n<text x=\"0\" y=\"18\" font-weight=\"bold\" fill=\"{OTHERS}\">{}</text>\n",
        escaped(title),
        escaped(title)
    );
    for (i, (engine, value)) in values.iter().enumerate() {
        let y = TOP + LINE * i as f64;
        let length = (LONGEST * value / longest).max(1.0);
        let colour = if i == 0 { FIRST } else { OTHERS };
        let middle = y + BAR * 0.75;
        let _ = writeln!(
            out,
            "<text x=\"{:.0}\" y=\"{middle:.0}\" text-anchor=\"end\" fill=\"{colour}\">{}</text>\n\
             <rect x=\"{LEFT:.0}\" y=\"{y:.0}\" width=\"{length:.1}\" height=\"{BAR:.0}\" fill=\"{colour}\"/>\n\
             <text x=\"{:.1}\" y=\"{middle:.0}\" fill=\"{colour}\">{}</text>",
            LEFT - 8.0,
            escaped(engine),
            LEFT + length + 8.0,
            units::grouped(value.round() as u64)
        );
    }
    let _ = writeln!(
        out,
        "<text x=\"{LEFT:.0}\" y=\"{:.0}\" font-size=\"12\" fill=\"{OTHERS}\">{}, step {}</text>\n</svg>",
        height - 8.0,
        escaped(name),
        escaped(step)
    );
    Ok(out)
}

/// The first step with a rate, that rate, and each engine's.
fn first_rate<'a>(
    entries: &'a [Entry<'_>],
) -> Option<(&'a str, &'static str, Vec<(&'a str, f64)>)> {
    for step in steps_of(entries.iter()) {
        for metric in metrics().iter().filter(|m| RATES.contains(&m.name)) {
            let of = |e: &'a Entry<'_>| Some((e.engine, e.spread(step, metric.of)?.median));
            let values: Vec<(&str, f64)> = entries.iter().filter_map(of).collect();
            if values.iter().any(|v| v.1 > 0.0) {
                return Some((step, metric.name, values));
            }
        }
    }
    None
}

fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;")
}

#[cfg(test)]
mod tests;
