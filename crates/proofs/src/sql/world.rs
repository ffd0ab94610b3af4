//! Which tables are there, with which rows?
//!
//! A [`World`] is drawn from a seed: settings, a few tables that share names of columns, few rows with values that meet, NULLs
//! and edges. Each table has a key `id`. It stays as it is: statements that change rows are rolled back.

use onlap_base::Rng;
use onlap_pg::Oid;

use super::values;

/// What a column of a table may be: its name, its type in SQL, the type's OID. A column of jsonb is one of json to queries
/// so far, and is not drawn.
const COLUMNS: &[(&str, &str, Oid)] = &[
    ("a", "int", 23),
    ("a", "bigint", 20),
    ("b", "text", 25),
    ("b", "varchar(8)", 1043),
    ("c", "numeric(12,2)", 1700),
    ("d", "date", 1082),
    ("e", "smallint", 21),
    ("f", "double precision", 701),
    ("g", "bigint", 20),
    ("h", "boolean", 16),
    ("k", "json", 114),
    ("m", "numeric", 1700),
    ("n", "int", 23),
    ("o", "char(5)", 1042),
    ("p", "timestamp", 1114),
    ("q", "timestamptz", 1184),
    ("r", "real", 700),
    ("t", "time", 1083),
    ("u", "uuid", 2950),
    ("v", "varchar(8)", 1043),
    ("x", "bytea", 17),
];

/// Settings that values depend on.
const SETTINGS: &[&str] = &[
    "set timezone = 'Europe/Berlin'",
    "set timezone = 'America/New_York'",
    "set timezone = 'Asia/Kolkata'",
    "set datestyle = 'German'",
    "set datestyle = 'SQL, DMY'",
    "set datestyle = 'Postgres, MDY'",
    "set intervalstyle = 'iso_8601'",
    "set intervalstyle = 'sql_standard'",
    "set intervalstyle = 'postgres_verbose'",
    "set bytea_output = 'escape'",
    "set extra_float_digits = 0",
];

/// A column.
#[derive(Clone, Debug)]
pub struct Column {
    /// Its name.
    pub name: &'static str,
    /// Its type in SQL, with what else is said of it.
    definition: String,
    /// The type.
    pub ty: Oid,
}

/// A table with its rows.
#[derive(Clone, Debug)]
pub struct Table {
    /// Its name.
    pub name: String,
    /// Its columns; the first is `id`.
    pub columns: Vec<Column>,
    /// Values of the rows as literals.
    pub rows: Vec<Vec<String>>,
    /// Columns that are unique.
    pub unique: Vec<&'static str>,
    more: Vec<String>,
}

/// Tables and settings.
#[derive(Clone, Debug)]
pub struct World {
    /// The tables.
    pub tables: Vec<Table>,
    /// Statements that set something.
    pub settings: Vec<String>,
}

impl World {
    /// Draws one.
    pub fn draw(rng: &mut Rng) -> World {
        let tables = (1..=4).map(|number| Table::draw(rng, number)).collect();
        let mut settings = Vec::new();
        if rng.chance(0.3) {
            settings.push(rng.pick(SETTINGS).to_string());
        }
        World { tables, settings }
    }

    /// What makes it anew where another one may be.
    pub fn script(&self) -> Vec<String> {
        let mut script = self.clear();
        script.extend(self.tables.iter().flat_map(Table::script));
        script.extend(self.settings.iter().cloned());
        script
    }

    fn clear(&self) -> Vec<String> {
        let names: Vec<&str> = self.tables.iter().map(|table| table.name.as_str()).collect();
        let reset =
            ["timezone", "datestyle", "intervalstyle", "bytea_output", "extra_float_digits"];
        let mut script = vec![format!("drop table if exists {}", names.join(", "))];
        script.extend(reset.map(|name| format!("reset {name}")));
        script
    }

    /// The same with those tables alone that a text names.
    pub fn named_in(&self, text: &str) -> World {
        let words: Vec<&str> = text.split(|c: char| !c.is_alphanumeric() && c != '_').collect();
        let mut world = self.clone();
        world.tables.retain(|table| words.contains(&table.name.as_str()));
        world
    }
}

impl Table {
    fn draw(rng: &mut Rng, number: usize) -> Table {
        let name = format!("t{number}");
        let id = Column { name: "id", definition: "int primary key".into(), ty: 23 };
        let mut table = Table {
            name,
            columns: vec![id],
            rows: Vec::new(),
            unique: Vec::new(),
            more: Vec::new(),
        };
        for _ in 0..3 + rng.index(4) {
            let (name, written, ty) = *rng.pick(COLUMNS);
            if table.columns.iter().any(|column| column.name == name) {
                continue;
            }
            let (mut definition, is_key) = (written.to_string(), ![114, 3802].contains(&ty));
            match rng.below(10) {
                0 => definition += " not null",
                1 if is_key => {
                    definition += " unique";
                    table.unique.push(name);
                }
                2 if ty == 23 => definition += " default 7",
                3 if is_key => {
                    table.more.push(format!("create index on {} ({name})", table.name));
                }
                _ => {}
            }
            table.columns.push(Column { name, definition, ty });
        }
        let rows = if rng.chance(0.05) { 0 } else { 1 + rng.index(9) };
        for id in 0..rows {
            let row = table.row(rng, id);
            table.rows.push(row);
        }
        table
    }

    /// A row. What has to be unique counts up or is NULL, or there is none.
    fn row(&self, rng: &mut Rng, id: usize) -> Vec<String> {
        let columns = self.columns.iter().map(|column| {
            let unique = self.unique.contains(&column.name);
            match (column.name, column.ty) {
                ("id", _) => id.to_string(),
                (_, 20 | 21 | 23) if unique => id.to_string(),
                _ if unique => "null".into(),
                _ if !column.definition.ends_with("not null") && rng.chance(0.2) => "null".into(),
                (_, ty) => self.value(rng, ty),
            }
        });
        columns.collect()
    }

    fn value(&self, rng: &mut Rng, ty: Oid) -> String {
        loop {
            let text = values::text(rng, ty).unwrap_or_default();
            // What columns keep less of than expressions have.
            let odd = [
                "-0",
                "1e-20",
                "12345678901234567890.5",
                "Infinity",
                "-Infinity",
                "5874897-12-31",
                "1e400",
            ];
            let odd =
                odd.contains(&text.as_str()) || text.contains("BC") || text.starts_with("294276");
            if !odd && text.chars().count() <= if [1042, 1043].contains(&ty) { 5 } else { 99 } {
                return format!("'{}'", text.replace('\'', "''"));
            }
        }
    }

    /// What makes it, with its rows.
    pub fn script(&self) -> Vec<String> {
        let columns: Vec<String> =
            self.columns.iter().map(|c| format!("{} {}", c.name, c.definition)).collect();
        let mut script = vec![format!("create table {} ({})", self.name, columns.join(", "))];
        script.extend(self.more.iter().cloned());
        if !self.rows.is_empty() {
            let rows: Vec<String> =
                self.rows.iter().map(|row| format!("({})", row.join(", "))).collect();
            script.push(format!("insert into {} values {}", self.name, rows.join(", ")));
        }
        script
    }
}
