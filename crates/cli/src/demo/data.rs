//! Where do the demo's rows come from?
//!
//! Five compressed CSV files, inside the binary by the feature `demo-data`, else read from the
//! source tree or a folder that the user names. This module knows the files' columns and how a
//! missing value is written; it knows nothing of databases.

use std::path::PathBuf;

use onlap::{Batch, Column, DataType, Result, TableSpec, Value, Vector, convert};
use onlap_base::{Error, ErrorKind};

/// A file and its columns: name and type as the table has them, in the file's order.
pub struct Source {
    /// File and table name.
    pub name: &'static str,
    /// Columns of the file.
    pub columns: &'static [(&'static str, DataType)],
    /// Primary key; empty for a table whose key is a counter named `id`.
    pub key: &'static [&'static str],
}

const INT2: DataType = DataType::Int2;
const INT4: DataType = DataType::Int4;
const TEXT: DataType = DataType::Text;
const REAL: DataType = DataType::Float8;
const TIME: DataType = DataType::Timestamptz;

/// Flights, the table that grows.
pub const FLIGHTS: Source = Source {
    name: "flights",
    columns: &[
        ("year", INT2),
        ("month", INT2),
        ("day", INT2),
        ("dep_time", INT2),
        ("sched_dep_time", INT2),
        ("dep_delay", INT2),
        ("arr_time", INT2),
        ("sched_arr_time", INT2),
        ("arr_delay", INT2),
        ("carrier", TEXT),
        ("flight", INT4),
        ("tailnum", TEXT),
        ("origin", TEXT),
        ("dest", TEXT),
        ("air_time", INT2),
        ("distance", INT4),
        ("hour", INT2),
        ("minute", INT2),
        ("time_hour", TIME),
    ],
    key: &[],
};

/// The tables next to it.
pub const OTHERS: [Source; 4] = [
    Source { name: "airlines", columns: &[("carrier", TEXT), ("name", TEXT)], key: &["carrier"] },
    Source {
        name: "airports",
        columns: &[
            ("faa", TEXT),
            ("name", TEXT),
            ("lat", REAL),
            ("lon", REAL),
            ("alt", INT4),
            ("tz", INT2),
            ("dst", TEXT),
            ("tzone", TEXT),
        ],
        key: &["faa"],
    },
    Source {
        name: "planes",
        columns: &[
            ("tailnum", TEXT),
            ("year", INT2),
            ("type", TEXT),
            ("manufacturer", TEXT),
            ("model", TEXT),
            ("engines", INT2),
            ("seats", INT2),
            ("speed", INT2),
            ("engine", TEXT),
        ],
        key: &["tailnum"],
    },
    Source {
        name: "weather",
        columns: &[
            ("origin", TEXT),
            ("year", INT2),
            ("month", INT2),
            ("day", INT2),
            ("hour", INT2),
            ("temp", REAL),
            ("dewp", REAL),
            ("humid", REAL),
            ("wind_dir", REAL),
            ("wind_speed", REAL),
            ("wind_gust", REAL),
            ("precip", REAL),
            ("pressure", REAL),
            ("visib", REAL),
            ("time_hour", TIME),
        ],
        key: &[],
    },
];

impl Source {
    /// The table for the file, without secondary indexes. A table without a key of its own gets a
    /// counter column `id` in front.
    pub fn table(&self, name: &str) -> TableSpec {
        let mut spec = TableSpec::new(name);
        if self.key.is_empty() {
            spec = spec.serial("id").primary_key(["id"]);
        }
        for (column, ty) in self.columns {
            spec = spec.nullable_column(*column, *ty);
        }
        if self.key.is_empty() { spec } else { spec.primary_key(self.key.iter().copied()) }
    }

    /// An empty batch of the file's columns, without the counter.
    fn batch(&self) -> Batch {
        Batch::new(self.columns.iter().map(|(_, ty)| ty.physical()))
    }
}

#[cfg(feature = "demo-data")]
fn embedded(name: &str) -> Option<&'static [u8]> {
    Some(match name {
        "flights" => include_bytes!("../../data/flights.csv.zst"),
        "airlines" => include_bytes!("../../data/airlines.csv.zst"),
        "airports" => include_bytes!("../../data/airports.csv.zst"),
        "planes" => include_bytes!("../../data/planes.csv.zst"),
        "weather" => include_bytes!("../../data/weather.csv.zst"),
        _ => return None,
    })
}

#[cfg(not(feature = "demo-data"))]
fn embedded(_: &str) -> Option<&'static [u8]> {
    None
}

fn compressed(name: &str, folder: Option<&PathBuf>) -> Result<Vec<u8>> {
    if folder.is_none()
        && let Some(bytes) = embedded(name)
    {
        return Ok(bytes.to_vec());
    }
    let built_from = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("data");
    let path = folder.unwrap_or(&built_from).join(format!("{name}.csv.zst"));
    std::fs::read(&path).map_err(|e| {
        let text = format!(
            "cannot read the demo's data {} ({e}): build with the feature demo-data, or name the \
             folder with --data",
            path.display()
        );
        Error::new(ErrorKind::NotFound, text)
    })
}

/// Reads a file piece by piece and hands over batches of at most `rows` rows.
pub fn read(
    source: &Source,
    folder: Option<&PathBuf>,
    rows: usize,
    mut each: impl FnMut(Batch) -> Result<()>,
) -> Result<()> {
    let bytes = compressed(source.name, folder)?;
    let bad = |e: &dyn std::fmt::Display| {
        Error::new(ErrorKind::InvalidText, format!("{}.csv: {e}", source.name))
    };
    let decoder = zstd::stream::read::Decoder::new(&bytes[..]).map_err(|e| bad(&e))?;
    let mut reader = csv::ReaderBuilder::new().from_reader(decoder);
    let mut record = csv::ByteRecord::new();
    let mut batch = source.batch();
    let mut times = TimeCache::default();
    while reader.read_byte_record(&mut record).map_err(|e| bad(&e))? {
        if record.len() != source.columns.len() {
            return Err(bad(&format!("a line with {} fields", record.len())));
        }
        for ((field, (name, ty)), column) in
            record.iter().zip(source.columns).zip(&mut batch.columns)
        {
            push(field, *ty, column, &mut times).map_err(|e| bad(&format!("{name}: {e}")))?;
        }
        batch.rows += 1;
        if batch.rows == rows {
            each(std::mem::replace(&mut batch, source.batch()))?;
        }
    }
    if batch.rows > 0 { each(batch) } else { Ok(()) }
}

/// The last time of day that was read: hours come in long stretches.
#[derive(Default)]
struct TimeCache {
    text: Vec<u8>,
    value: i64,
}

fn push(field: &[u8], ty: DataType, column: &mut Column, times: &mut TimeCache) -> Result<()> {
    if field.is_empty() || field == b"NA" {
        column.push_null();
        return Ok(());
    }
    match (&mut column.data, ty) {
        (Vector::Bytes(v), _) => v.push(field),
        (Vector::Int(v), DataType::Int2 | DataType::Int4) => v.push(int(field)?),
        (Vector::Int(v), DataType::Timestamptz) => {
            if times.text != field {
                let text = String::from_utf8_lossy(field);
                if let Value::Timestamp(us) = convert::parse_text(ty, &text)? {
                    (times.text, times.value) = (field.to_vec(), us);
                }
            }
            v.push(times.value);
        }
        _ => {
            let value = convert::parse_text(ty, &String::from_utf8_lossy(field))?;
            return convert::push_value(ty, &value, column, "");
        }
    }
    column.pushed();
    Ok(())
}

fn int(field: &[u8]) -> Result<i64> {
    let text = std::str::from_utf8(field).unwrap_or("");
    text.parse().map_err(|_| {
        Error::new(ErrorKind::InvalidText, format!("'{}' is no integer", field.escape_ascii()))
    })
}

/// A batch for the table: the counter's NULLs in front where the table has one.
pub fn with_counter(source: &Source, rows: &Batch, range: std::ops::Range<usize>) -> Batch {
    let mut out = Batch::new([]);
    if source.key.is_empty() {
        let mut id = Column::new(DataType::Int8.physical());
        range.clone().for_each(|_| id.push_null());
        out.columns.push(id);
    }
    for column in &rows.columns {
        let mut part = Column::new(column.data.physical());
        part.extend_range(column, range.clone());
        out.columns.push(part);
    }
    out.rows = range.len();
    out
}
