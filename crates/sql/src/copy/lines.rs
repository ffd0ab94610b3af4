//! In which line of its data did a COPY fail?
//!
//! The lines of the rows of a batch, as far as errors show them: a few bytes of each. PostgreSQL shows no more of a line than
//! its first hundred bytes. Thread safety: owned by one thread.

/// Bytes of a line or a value that an error shows.
const SHOWN: usize = 100;
/// Bytes that are kept: one more character, by which it is seen that there are more.
const KEPT: usize = SHOWN + 4;

/// Rows that belong to a batch, by line.
#[derive(Default)]
pub struct Lines {
    /// Of each row: the number of its line, and where its text ends.
    rows: Vec<(u64, usize)>,
    texts: Vec<u8>,
    /// Whether a line behind those of the rows is under way.
    is_open: bool,
}

impl Lines {
    /// A line begins to be read.
    pub fn begin(&mut self, line: &[u8]) {
        self.texts.truncate(self.rows.last().map_or(0, |row| row.1));
        self.texts.extend_from_slice(&line[..line.len().min(KEPT)]);
        self.is_open = true;
    }

    /// What was begun is no row, and nothing of it fails any more.
    pub fn leave(&mut self) {
        self.is_open = false;
    }

    /// The line under way is the next row of the batch; so is one that was not begun, and is not shown.
    pub fn end_row(&mut self, number: u64) {
        if !self.is_open {
            self.texts.truncate(self.rows.last().map_or(0, |row| row.1));
        }
        self.rows.push((number, self.texts.len()));
        self.is_open = false;
    }

    /// The number of a row's line.
    pub fn number(&self, row: usize) -> Option<u64> {
        self.rows.get(row).map(|row| row.0)
    }

    /// The line of a row as errors show it.
    pub fn text(&self, row: usize) -> Option<String> {
        let end = self.rows.get(row)?.1;
        let from = row.checked_sub(1).map_or(0, |before| self.rows[before].1);
        Some(shown(&self.texts[from..end]))
    }

    /// The line under way.
    pub fn open(&self) -> Option<String> {
        let from = self.rows.last().map_or(0, |row| row.1);
        self.is_open.then(|| shown(&self.texts[from..]))
    }

    /// There are no rows; the memory stays.
    pub fn clear(&mut self) {
        self.rows.clear();
        self.texts.clear();
        self.is_open = false;
    }
}

/// A line or a value within quotes, cut as PostgreSQL does.
pub fn shown(bytes: &[u8]) -> String {
    let text = String::from_utf8_lossy(&bytes[..bytes.len().min(KEPT)]);
    if bytes.len() <= SHOWN {
        return format!("\"{text}\"");
    }
    let end = (0..=SHOWN.min(text.len())).rev().find(|at| text.is_char_boundary(*at));
    format!("\"{}...\"", &text[..end.unwrap_or(0)])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_known_by_row_and_cut() {
        let mut lines = Lines::default();
        assert_eq!(lines.open(), None);
        lines.begin(b"a header");
        lines.leave();
        assert_eq!(lines.open(), None);
        lines.begin(b"one");
        assert_eq!(lines.open().as_deref(), Some("\"one\""));
        lines.end_row(2);
        lines.begin("\u{e4}".repeat(60).as_bytes());
        lines.end_row(4);
        lines.begin(b"");
        assert_eq!(lines.open().as_deref(), Some("\"\""));
        let cut = format!("\"{}...\"", "\u{e4}".repeat(50));
        assert_eq!((lines.number(0), lines.text(0).as_deref()), (Some(2), Some("\"one\"")));
        assert_eq!((lines.number(1), lines.text(1).as_deref()), (Some(4), Some(&*cut)));
        assert_eq!((lines.number(2), lines.text(2)), (None, None));
        assert_eq!(shown(&[b'x'; 100]).len(), 102);
        assert_eq!(shown(&[b'x'; 101]), format!("\"{}...\"", "x".repeat(100)));
        // A character of three bytes that ends behind the last place.
        let text = format!("{}\u{20ac}\u{20ac}", "x".repeat(98));
        assert_eq!(shown(text.as_bytes()), format!("\"{}...\"", "x".repeat(98)));
    }
}
