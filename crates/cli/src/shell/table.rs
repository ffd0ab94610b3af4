//! How does an answer look?

use std::fmt::Write as _;

use unicode_width::UnicodeWidthStr as _;

/// An answer with rows.
#[derive(Debug, Default)]
pub struct Table {
    /// Names of columns, and whether they are numbers.
    pub columns: Vec<(String, bool)>,
    /// Values as text; `None` for NULL.
    pub rows: Vec<Vec<Option<String>>>,
}

/// OIDs of numbers, which stand at the right.
const NUMBERS: [u32; 8] = [20, 21, 23, 26, 28, 700, 701, 1700];

impl Table {
    /// With the columns of a RowDescription.
    pub fn new(body: &[u8]) -> Table {
        let mut columns = Vec::new();
        let mut rest = body.get(2..).unwrap_or_default();
        while let Some(end) = rest.iter().position(|b| *b == 0) {
            let name = String::from_utf8_lossy(&rest[..end]).into_owned();
            let Some(fixed) = rest.get(end + 1..end + 19) else { break };
            let oid = u32::from_be_bytes(fixed[6..10].try_into().expect("four bytes"));
            columns.push((name, NUMBERS.contains(&oid)));
            rest = &rest[end + 19..];
        }
        Table { columns, rows: Vec::new() }
    }
    /// The values of a DataRow.
    pub fn values(body: &[u8]) -> Vec<Option<String>> {
        let mut values = Vec::new();
        let mut rest = body.get(2..).unwrap_or_default();
        while let Some((length, after)) = rest.split_first_chunk::<4>() {
            let length = i32::from_be_bytes(*length);
            let Some(bytes) = after.get(..length.max(0) as usize) else { break };
            values.push((length >= 0).then(|| String::from_utf8_lossy(bytes).into_owned()));
            rest = &after[bytes.len()..];
        }
        values
    }

    /// In a box.
    pub fn boxed(&self) -> String {
        let cells = |values: &[Option<String>]| -> Vec<Vec<String>> {
            values.iter().map(|v| lines(v.as_deref())).collect()
        };
        let head: Vec<Option<String>> = self.columns.iter().map(|(n, _)| Some(n.clone())).collect();
        let head = cells(&head);
        let rows: Vec<Vec<Vec<String>>> = self.rows.iter().map(|row| cells(row)).collect();
        let mut widths = vec![0; self.columns.len()];
        for row in std::iter::once(&head).chain(&rows) {
            for (width, cell) in widths.iter_mut().zip(row) {
                *width = cell.iter().map(|l| l.width()).fold(*width, usize::max);
            }
        }
        let rule = |left: &str, middle: &str, right: &str| {
            let bars: Vec<String> = widths.iter().map(|w| "─".repeat(w + 2)).collect();
            format!("{left}{}{right}\n", bars.join(middle))
        };
        let mut out = rule("┌", "┬", "┐");
        self.push(&mut out, &head, &widths, true);
        out.push_str(&rule("├", "┼", "┤"));
        rows.iter().for_each(|row| self.push(&mut out, row, &widths, false));
        out.push_str(&rule("└", "┴", "┘"));
        let _ = writeln!(out, "{}", counted(self.rows.len()));
        out
    }
    fn push(&self, out: &mut String, row: &[Vec<String>], widths: &[usize], head: bool) {
        let height = row.iter().map(Vec::len).max().unwrap_or(1);
        for line in 0..height {
            for (i, width) in widths.iter().enumerate() {
                let text = row.get(i).and_then(|cell| cell.get(line)).map_or("", String::as_str);
                let space = " ".repeat(width - text.width().min(*width));
                let right = self.columns[i].1 && !head;
                let _ = match right {
                    true => write!(out, "│ {space}{text} "),
                    false => write!(out, "│ {text}{space} "),
                };
            }
            out.push_str("│\n");
        }
    }
    /// One value per line.
    pub fn expanded(&self) -> String {
        let width = self.columns.iter().map(|(name, _)| name.width()).max().unwrap_or(0);
        let mut out = String::new();
        for (i, row) in self.rows.iter().enumerate() {
            let _ = writeln!(out, "─[ {} ]{}", i + 1, "─".repeat(width));
            for ((name, _), value) in self.columns.iter().zip(row) {
                let space = " ".repeat(width - name.width());
                for (j, line) in lines(value.as_deref()).iter().enumerate() {
                    let _ = match j {
                        0 => writeln!(out, "{name}{space} │ {line}"),
                        _ => writeln!(out, "{} │ {line}", " ".repeat(width)),
                    };
                }
            }
        }
        let _ = writeln!(out, "{}", counted(self.rows.len()));
        out
    }
    /// For programs: values with tabs between them, one row per line.
    pub fn plain(row: &[Option<String>]) -> String {
        let value = |v: &Option<String>| match v {
            Some(text) => text.replace('\\', "\\\\").replace('\t', "\\t").replace('\n', "\\n"),
            None => String::new(),
        };
        row.iter().map(value).collect::<Vec<_>>().join("\t")
    }
}

/// A value's lines; control characters would move the cursor.
fn lines(value: Option<&str>) -> Vec<String> {
    let clean = |line: &str| {
        line.chars().map(|c| if c == '\t' { ' ' } else { c }).filter(|c| !c.is_control()).collect()
    };
    match value {
        None => vec!["∅".to_string()],
        Some("") => vec![String::new()],
        Some(text) => text.lines().map(clean).collect(),
    }
}

fn counted(rows: usize) -> String {
    match rows {
        1 => "(1 row)".to_string(),
        n => format!("({n} rows)"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn boxes_fit_what_is_in_them() {
        let table = Table {
            columns: vec![("id".into(), true), ("name".into(), false)],
            rows: vec![
                vec![Some("1".into()), Some("grün\nblau".into())],
                vec![Some("22".into()), None],
            ],
        };
        let expected = "\
┌────┬──────┐
│ id │ name │
├────┼──────┤
│  1 │ grün │
│    │ blau │
│ 22 │ ∅    │
└────┴──────┘
(2 rows)
";
        assert_eq!(table.boxed(), expected);
        assert!(table.expanded().starts_with("─[ 1 ]────\nid   │ 1\nname │ grün\n     │ blau\n"));
        assert_eq!(Table::plain(&table.rows[0]), "1\tgrün\\nblau");
        assert!(
            Table::new(b"\0\x01x\0").columns.is_empty()
                && Table::values(b"\0\x01\0\0\0\x09").is_empty()
        );
    }
}
