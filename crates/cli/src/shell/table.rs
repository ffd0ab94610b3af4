//! How does an answer look?

use std::fmt::Write as _;

use unicode_width::UnicodeWidthStr as _;

/// An answer with rows.
#[derive(Debug, Default)]
pub struct Table {
    /// Names of columns, and whether they are numbers.
    pub columns: Vec<(String, bool)>,
    /// Which of them have truth values.
    truths: Vec<bool>,
    /// Rows that were shown as JSON or CSV.
    shown: usize,
    /// Values as text; `None` for NULL.
    pub rows: Vec<Vec<Option<String>>>,
}

/// How answers are shown.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Shape {
    /// In boxes for people, with tabs for programs.
    #[default]
    Usual,
    /// An array of objects.
    Json,
    /// With a line of names, quoted as RFC 4180 says.
    Csv,
}

/// The OID of truth values.
const BOOL: u32 = 16;

/// OIDs of numbers, which stand at the right.
const NUMBERS: [u32; 8] = [20, 21, 23, 26, 28, 700, 701, 1700];

impl Table {
    /// With the columns of a RowDescription.
    pub fn new(body: &[u8]) -> Table {
        let (mut columns, mut truths) = (Vec::new(), Vec::new());
        let mut rest = body.get(2..).unwrap_or_default();
        while let Some(end) = rest.iter().position(|b| *b == 0) {
            let name = String::from_utf8_lossy(&rest[..end]).into_owned();
            let Some(fixed) = rest.get(end + 1..end + 19) else { break };
            let oid = u32::from_be_bytes(fixed[6..10].try_into().expect("four bytes"));
            columns.push((name, NUMBERS.contains(&oid)));
            truths.push(oid == BOOL);
            rest = &rest[end + 19..];
        }
        Table { columns, truths, ..Table::default() }
    }

    /// The next row in a form for programs, with what stands before it.
    pub fn next(&mut self, shape: Shape, row: &[Option<String>]) -> String {
        let is_first = self.shown == 0;
        self.shown += 1;
        match shape {
            Shape::Usual => format!("{}\n", Table::plain(row)),
            Shape::Json => {
                let before = if is_first { "[\n  " } else { ",\n  " };
                format!("{before}{}", self.object(row))
            }
            Shape::Csv => {
                let head = if is_first { self.head() } else { String::new() };
                let cells = row.iter().map(|value| match value {
                    // An empty text is told from NULL as COPY tells it.
                    Some(text) if text.is_empty() => "\"\"".to_string(),
                    Some(text) => cell(text),
                    None => String::new(),
                });
                format!("{head}{}\n", cells.collect::<Vec<_>>().join(","))
            }
        }
    }

    /// What stands behind the last row.
    pub fn end(&self, shape: Shape) -> String {
        match (shape, self.shown) {
            (Shape::Usual, _) => String::new(),
            (Shape::Json, 0) => "[]\n".to_string(),
            (Shape::Json, _) => "\n]\n".to_string(),
            (Shape::Csv, 0) => self.head(),
            (Shape::Csv, _) => String::new(),
        }
    }

    fn head(&self) -> String {
        let names = self.columns.iter().map(|(name, _)| cell(name));
        format!("{}\n", names.collect::<Vec<_>>().join(","))
    }

    /// A row as JSON: numbers and truth values as such where JSON has them, all else as texts.
    fn object(&self, row: &[Option<String>]) -> String {
        use serde_json::Value;
        let value = |at: usize, text: &Option<String>| {
            let Some(text) = text else { return "null".to_string() };
            let is_number = self.columns.get(at).is_some_and(|column| column.1);
            match (is_number, self.truths.get(at), text.as_str()) {
                (_, Some(true), "t") => "true".to_string(),
                (_, Some(true), "f") => "false".to_string(),
                // As it was written: a double has not all digits of a numeric.
                (true, ..) if serde_json::from_str::<serde_json::Number>(text).is_ok() => {
                    text.clone()
                }
                _ => Value::from(text.as_str()).to_string(),
            }
        };
        let fields = self.columns.iter().zip(row).enumerate().map(|(at, ((name, _), text))| {
            format!("{}: {}", Value::from(name.as_str()), value(at, text))
        });
        format!("{{{}}}", fields.collect::<Vec<_>>().join(", "))
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
        let names: Vec<String> =
            self.columns.iter().map(|(name, _)| lines(Some(name)).join(" ")).collect();
        let width = names.iter().map(|name| name.width()).max().unwrap_or(0);
        let mut out = String::new();
        for (i, row) in self.rows.iter().enumerate() {
            let _ = writeln!(out, "─[ {} ]{}", i + 1, "─".repeat(width));
            for (name, value) in names.iter().zip(row) {
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

/// A value of CSV.
fn cell(text: &str) -> String {
    // As COPY does it: `\.` alone would end the data.
    match text.contains(['"', ',', '\n', '\r']) || text == "\\." {
        true => format!("\"{}\"", text.replace('"', "\"\"")),
        false => text.to_string(),
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
            ..Table::default()
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
        let mut table = table;
        table.truths = vec![false, false];
        let rows = std::mem::take(&mut table.rows);
        let shown = |shape| {
            let mut table = Table { columns: table.columns.clone(), ..Table::default() };
            let rows: String = rows.iter().map(|row| table.next(shape, row)).collect();
            rows + &table.end(shape)
        };
        assert_eq!(shown(Shape::Csv), "id,name\n1,\"grün\nblau\"\n22,\n");
        let json = shown(Shape::Json);
        assert_eq!(
            json,
            "[\n  {\"id\": 1, \"name\": \"grün\\nblau\"},\n  {\"id\": 22, \"name\": null}\n]\n"
        );
        assert_eq!(table.end(Shape::Json), "[]\n");
        assert_eq!(table.end(Shape::Csv), "id,name\n");
        // What would act on a terminal, or end the data, does neither.
        let (esc, end) = ("a\u{1b}[2Jb".to_string(), "\\.".to_string());
        assert_eq!(cell(&end), "\"\\.\"");
        let columns = vec![(esc.clone(), false), ("\u{9b}x\ny".to_string(), false)];
        let rows = vec![vec![Some(esc), Some("\u{7}".to_string())]];
        let odd_names = Table { columns, rows, ..Table::default() };
        for shown in [odd_names.boxed(), odd_names.expanded()] {
            assert!(!shown.contains(['\u{1b}', '\u{9b}', '\u{7}']), "{shown}");
        }
        let odd = vec![Some("NaN".to_string()), Some("<a \"b\", c>".to_string())];
        assert_eq!(table.object(&odd), r#"{"id": "NaN", "name": "<a \"b\", c>"}"#);
        assert!(
            Table::new(b"\0\x01x\0").columns.is_empty()
                && Table::values(b"\0\x01\0\0\0\x09").is_empty()
        );
    }
}
