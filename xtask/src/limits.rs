//! Is `docs/limits.md` what `onlap_base::limits` says?
//!
//! The page is generated; the check compares it byte for byte. Pure.

use std::fmt::Write as _;

use onlap_base::limits::LIMITS;

use crate::SourceFile;

pub(crate) const PATH: &str = "docs/limits.md";

pub(crate) fn check(files: &[SourceFile]) -> Vec<String> {
    match files.iter().find(|file| file.path == PATH) {
        Some(file) if file.text == page() => Vec::new(),
        _ => vec![format!("{PATH} is out of date: run `cargo run -p xtask -- limits`")],
    }
}

/// The whole page.
pub(crate) fn page() -> String {
    let mut page = "# Limits\n\n\
        Generated from `crates/base/src/limits.rs`, where each limit has its full derivation; write\n\
        it anew with `cargo run -p xtask -- limits`. A statement that would break a limit is refused\n\
        with a typed error before anything of it is logged.\n\n\
        | what | limit | why |\n|---|---|---|\n"
        .to_owned();
    for limit in LIMITS {
        let value = amount(limit.value, limit.unit);
        writeln!(page, "| {} | {value} | {} |", limit.name, limit.why)
            .expect("writing to a string cannot fail");
    }
    page
}

/// `16 MiB`, `1,600 columns`.
fn amount(value: u64, unit: &str) -> String {
    if unit == "bytes" {
        for (size, name) in [(1 << 30, "GiB"), (1 << 20, "MiB"), (1 << 10, "KiB")] {
            if value >= size && value.is_multiple_of(size) {
                return format!("{} {name}", thousands(value / size));
            }
        }
    }
    format!("{} {unit}", thousands(value))
}

fn thousands(value: u64) -> String {
    let digits = value.to_string();
    let mut out = String::new();
    for (i, digit) in digits.chars().enumerate() {
        if i > 0 && (digits.len() - i).is_multiple_of(3) {
            out.push(',');
        }
        out.push(digit);
    }
    out
}

#[cfg(test)]
mod tests;
