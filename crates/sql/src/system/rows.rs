//! How do values become the rows of a system table?

/// One value.
#[derive(Clone, Debug, Default, PartialEq)]
pub enum Datum {
    /// NULL
    #[default]
    Null,
    /// bool
    Bool(bool),
    /// integers, OIDs, microseconds of a time
    Int(i64),
    /// float4, float8
    Float(f64),
    /// text, name, "char"
    Text(String),
    /// arrays of integers
    Ints(Vec<i64>),
    /// arrays of texts
    Texts(Vec<String>),
}

impl From<bool> for Datum {
    fn from(v: bool) -> Datum {
        Datum::Bool(v)
    }
}
impl From<i64> for Datum {
    fn from(v: i64) -> Datum {
        Datum::Int(v)
    }
}
impl From<i32> for Datum {
    fn from(v: i32) -> Datum {
        Datum::Int(v.into())
    }
}
impl From<u32> for Datum {
    fn from(v: u32) -> Datum {
        Datum::Int(v.into())
    }
}
impl From<usize> for Datum {
    fn from(v: usize) -> Datum {
        Datum::Int(v as i64)
    }
}
impl From<f64> for Datum {
    fn from(v: f64) -> Datum {
        Datum::Float(v)
    }
}
impl From<&str> for Datum {
    fn from(v: &str) -> Datum {
        Datum::Text(v.to_string())
    }
}
impl From<String> for Datum {
    fn from(v: String) -> Datum {
        Datum::Text(v)
    }
}
impl From<&String> for Datum {
    fn from(v: &String) -> Datum {
        Datum::Text(v.clone())
    }
}
impl<T: Into<Datum>> From<Option<T>> for Datum {
    fn from(v: Option<T>) -> Datum {
        v.map_or(Datum::Null, Into::into)
    }
}
impl From<Vec<i64>> for Datum {
    fn from(v: Vec<i64>) -> Datum {
        Datum::Ints(v)
    }
}
impl From<Vec<String>> for Datum {
    fn from(v: Vec<String>) -> Datum {
        Datum::Texts(v)
    }
}

impl Datum {
    /// As an integer; texts of digits too.
    pub fn int(&self) -> Option<i64> {
        match self {
            Datum::Int(v) => Some(*v),
            Datum::Text(s) => s.parse().ok(),
            _ => None,
        }
    }

    /// As text; empty for NULL.
    pub fn text(&self) -> String {
        let list = |items: Vec<String>| format!("{{{}}}", items.join(","));
        match self {
            Datum::Null => String::new(),
            Datum::Bool(b) => if *b { "t" } else { "f" }.to_string(),
            Datum::Int(v) => v.to_string(),
            Datum::Float(f) => f.to_string(),
            Datum::Text(s) => s.clone(),
            Datum::Ints(items) => list(items.iter().map(ToString::to_string).collect()),
            Datum::Texts(items) => list(items.clone()),
        }
    }
}

/// Values in the order of their columns.
#[macro_export]
macro_rules! row {
    ($($value:expr),* $(,)?) => { vec![$($crate::system::rows::Datum::from($value)),*] };
}

/// Rows of some columns; the other columns of the table are NULL.
#[derive(Debug, Default)]
pub struct Rows {
    columns: Vec<&'static str>,
    rows: Vec<Vec<Datum>>,
}

impl Rows {
    /// No rows yet; columns by name, separated by blanks.
    pub fn of(columns: &'static str) -> Rows {
        Rows { columns: columns.split_whitespace().collect(), rows: Vec::new() }
    }

    /// The same with columns that are listed.
    pub fn named(columns: Vec<&'static str>) -> Rows {
        Rows { columns, rows: Vec::new() }
    }

    /// Adds a row.
    pub fn push(&mut self, row: Vec<Datum>) {
        debug_assert_eq!(row.len(), self.columns.len(), "{:?}", self.columns);
        self.rows.push(row);
    }

    /// The values of a column; NULLs where the table has one that is not given here.
    pub fn column(&self, name: &str) -> impl Iterator<Item = &Datum> {
        let at = self.columns.iter().position(|column| *column == name);
        self.rows.iter().map(move |row| at.and_then(|at| row.get(at)).unwrap_or(&Datum::Null))
    }

    /// One value, as [`Rows::column`] gives it.
    pub fn value(&self, row: usize, name: &str) -> Option<&Datum> {
        let row = self.rows.get(row)?;
        let at = self.columns.iter().position(|column| *column == name);
        Some(at.and_then(|at| row.get(at)).unwrap_or(&Datum::Null))
    }

    /// How many there are.
    pub fn len(&self) -> usize {
        self.rows.len()
    }
}
