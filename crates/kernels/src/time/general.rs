//! How does C's `%g` write a number, which errors show?

/// Six significant digits, without zeros at the end, to a width filled with zeros.
pub fn general(value: f64, width: usize) -> String {
    if value.is_nan() {
        return format!("{:>width$}", "NaN");
    }
    if value.is_infinite() {
        return format!("{:>width$}", if value < 0.0 { "-Infinity" } else { "Infinity" });
    }
    let scientific = format!("{value:.5e}");
    let (digits, exponent) = scientific.split_once('e').expect("it has an exponent");
    let exponent: i32 = exponent.parse().expect("a number");
    let trimmed = |text: &str| match text.contains('.') {
        true => text.trim_end_matches('0').trim_end_matches('.').to_owned(),
        false => text.to_owned(),
    };
    let text = if (-4..6).contains(&exponent) {
        trimmed(&format!("{value:.*}", (5 - exponent) as usize))
    } else {
        let sign = if exponent < 0 { '-' } else { '+' };
        format!("{}e{sign}{:02}", trimmed(digits), exponent.abs())
    };
    match text.strip_prefix('-') {
        Some(size) => format!("-{size:0>width$}", width = width.saturating_sub(1)),
        None => format!("{text:0>width$}"),
    }
}
