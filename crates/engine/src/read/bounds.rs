//! Which entries of an index does a reader ask for, and what of each row?
//!
//! [`KeyRange`] and [`Scan`] are what users write: values and names. They are resolved once per read
//! against a schema, into key bytes ([`KeyBounds`]) and column positions, and every mistake is an
//! error here, at the edge. Nothing below sees a name or a value.
//!
//! Thread safety: plain data.

use std::ops::Range;

use onlap_base::{Error, ErrorKind, Result, RowId};
use onlap_format::key::KeyDef;
use onlap_format::{DataType, IndexSchema, TableSchema, Value};
use onlap_storage::{Direction, KeyBounds};

#[cfg(test)]
mod tests;

/// One end of a range: values of the leading key columns, and whether keys that begin with them
/// belong to the range.
type End = Option<(Vec<Value>, bool)>;

/// An interval of an index, in the order of the index: on a descending column, `from(5)` goes on to
/// 4. A bound names all or the leading columns of the key and stands for every key that begins with
/// them: `eq([a])` on an index over (a, b) takes every b in, `after([a])` leaves all of them out.
///
/// NULL is a value here: `eq([Value::Null])` finds the rows whose column is NULL. NULL sorts last
/// (first on a descending column).
#[derive(Clone, Debug, Default, PartialEq)]
pub struct KeyRange {
    lower: End,
    upper: End,
}

fn values<V: Into<Value>>(values: impl IntoIterator<Item = V>) -> Vec<Value> {
    values.into_iter().map(Into::into).collect()
}

impl KeyRange {
    /// Every entry.
    pub fn all() -> KeyRange {
        KeyRange::default()
    }
    /// The keys that begin with these values.
    pub fn eq<V: Into<Value>>(key: impl IntoIterator<Item = V>) -> KeyRange {
        let key = values(key);
        KeyRange { lower: Some((key.clone(), true)), upper: Some((key, true)) }
    }
    /// The keys that begin with these values, and all behind them.
    pub fn from<V: Into<Value>>(key: impl IntoIterator<Item = V>) -> KeyRange {
        KeyRange { lower: Some((values(key), true)), upper: None }
    }
    /// The keys behind those that begin with these values.
    pub fn after<V: Into<Value>>(key: impl IntoIterator<Item = V>) -> KeyRange {
        KeyRange { lower: Some((values(key), false)), upper: None }
    }
    /// The keys up to those that begin with these values, which belong to the range.
    pub fn to<V: Into<Value>>(key: impl IntoIterator<Item = V>) -> KeyRange {
        KeyRange { lower: None, upper: Some((values(key), true)) }
    }
    /// The keys before those that begin with these values.
    pub fn before<V: Into<Value>>(key: impl IntoIterator<Item = V>) -> KeyRange {
        KeyRange { lower: None, upper: Some((values(key), false)) }
    }
    /// Both ends belong to the range. To leave one out, see [`KeyRange::and`].
    pub fn between<V: Into<Value>, W: Into<Value>>(
        from: impl IntoIterator<Item = V>,
        to: impl IntoIterator<Item = W>,
    ) -> KeyRange {
        KeyRange { lower: Some((values(from), true)), upper: Some((values(to), true)) }
    }
    /// Takes from `other` the ends that this range leaves open: `after([1]).and(before([9]))`.
    #[must_use]
    pub fn and(self, other: KeyRange) -> KeyRange {
        KeyRange { lower: self.lower.or(other.lower), upper: self.upper.or(other.upper) }
    }

    /// Key bytes of both ends.
    ///
    /// # Errors
    /// More values than key columns, a value of another type than its column's, a number that the
    /// column cannot hold, text with a zero byte.
    pub(crate) fn bounds(
        &self,
        schema: &TableSchema,
        index: &IndexSchema,
        def: &KeyDef,
    ) -> Result<KeyBounds> {
        if let (Some((lower, true)), Some((upper, true))) = (&self.lower, &self.upper)
            && lower == upper
        {
            return Ok(KeyBounds::prefix(&encode_key(schema, index, def, lower)?));
        }
        let encode = |end: &End| {
            let bytes = end.as_ref().map(|(key, inclusive)| {
                Ok::<_, Error>((encode_key(schema, index, def, key)?, *inclusive))
            });
            bytes.transpose()
        };
        Ok(KeyBounds { lower: encode(&self.lower)?, upper: encode(&self.upper)? })
    }
}

/// Key bytes of the leading columns of an index.
pub(crate) fn encode_key(
    schema: &TableSchema,
    index: &IndexSchema,
    def: &KeyDef,
    key: &[Value],
) -> Result<Vec<u8>> {
    if key.len() > def.columns.len() {
        let text = format!(
            "index {} has {} key column{}; {} values were given",
            index.name,
            def.columns.len(),
            if def.columns.len() == 1 { "" } else { "s" },
            key.len()
        );
        return Err(Error::new(ErrorKind::InvalidInput, text));
    }
    // The text of a zero byte would look like the end of the column.
    let zero = |v: &Value| matches!(v, Value::Text(s) if s.contains('\0'));
    if let Some(i) = key.iter().position(zero) {
        let text = format!(
            "index {}, column {}: text holds a zero byte",
            index.name,
            name_of(schema, index, i)
        );
        return Err(Error::new(ErrorKind::InvalidText, text));
    }
    def.encode_values(key).map_err(|e| explain(schema, index, def, key, e))
}

fn name_of<'a>(schema: &'a TableSchema, index: &IndexSchema, i: usize) -> &'a str {
    let at = schema.position(index.key[i].column).expect("an index names columns of its table");
    &schema.column_at(at).name
}

/// Names index, column and both types in an error of the encoder, which knows none of them.
#[cold]
fn explain(
    schema: &TableSchema,
    index: &IndexSchema,
    def: &KeyDef,
    key: &[Value],
    error: Error,
) -> Error {
    for (i, value) in key.iter().enumerate() {
        let ty = def.columns[i].ty;
        let one = KeyDef::new(vec![def.columns[i]]);
        let Err(e) = one.encode_values(std::slice::from_ref(value)) else { continue };
        let column = name_of(schema, index, i);
        let text = match e.kind() {
            ErrorKind::WrongType => format!(
                "index {}, column {column}: the column is {ty}, the value given is {}",
                index.name,
                kind_of(value)
            ),
            _ => format!("index {}, column {column}: {}", index.name, e.message()),
        };
        return Error::new(e.kind(), text);
    }
    error
}

/// What a value is, in the words of SQL.
fn kind_of(value: &Value) -> &'static str {
    match value {
        Value::Null => "NULL",
        Value::Bool(_) => "bool",
        Value::Int(_) => "an integer",
        Value::Float(_) => "a float",
        Value::Numeric(_) => "numeric",
        Value::Text(_) => "text",
        Value::Bytes(_) => "bytea",
        Value::Uuid(_) => "uuid",
        Value::Date(_) => "date",
        Value::Time(_) => "time",
        Value::Timestamp(_) => "timestamp",
    }
}

/// What a scan returns, and in which order.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Scan {
    columns: Option<Vec<String>>,
    reverse: bool,
    limit: Option<usize>,
    rows: Option<Range<RowId>>,
}

impl Scan {
    /// All columns of all rows, forward: table scans by row id, index scans by key, rows with equal
    /// keys by row id.
    pub fn all() -> Scan {
        Scan::default()
    }
    /// Returns these columns, in this order. An index scan whose columns lie in the index never
    /// touches rows.
    #[must_use]
    pub fn columns<S: Into<String>>(mut self, names: impl IntoIterator<Item = S>) -> Scan {
        self.columns = Some(names.into_iter().map(Into::into).collect());
        self
    }
    /// Turns the order round.
    #[must_use]
    pub fn reverse(mut self) -> Scan {
        self.reverse = !self.reverse;
        self
    }
    /// Ends after this many rows.
    #[must_use]
    pub fn limit(mut self, rows: usize) -> Scan {
        self.limit = Some(rows);
        self
    }

    /// A table scan of the rows with ids in this range only: ids rise in the order of commits.
    #[must_use]
    pub fn row_ids(mut self, rows: Range<RowId>) -> Scan {
        self.rows = Some(rows);
        self
    }

    pub(super) fn row_range(&self) -> Range<RowId> {
        self.rows.clone().unwrap_or(0..RowId::MAX)
    }
    pub(super) fn direction(&self) -> Direction {
        if self.reverse { Direction::Backward } else { Direction::Forward }
    }
    pub(crate) fn row_limit(&self) -> usize {
        self.limit.unwrap_or(usize::MAX)
    }
    /// Positions of the columns to return.
    pub(crate) fn projection(&self, schema: &TableSchema) -> Result<Vec<usize>> {
        match &self.columns {
            Some(names) => projection(schema, names),
            None => Ok((0..schema.columns.len()).collect()),
        }
    }
}

/// Positions of named columns.
pub(crate) fn projection<S: AsRef<str>>(schema: &TableSchema, names: &[S]) -> Result<Vec<usize>> {
    let find = |name: &str| {
        schema.position_by_name(name).ok_or_else(|| {
            let text = format!("table {} has no column {name}", schema.name);
            Error::new(ErrorKind::UnknownColumn, text)
        })
    };
    names.iter().map(|n| find(n.as_ref())).collect()
}

/// The index of a name.
pub(crate) fn index_by_name<'a>(schema: &'a TableSchema, name: &str) -> Result<&'a IndexSchema> {
    let found = schema.index_by_name(name);
    found.filter(|i| i.ready).ok_or_else(|| match found {
        Some(index) if index.only_since => {
            let text = format!(
                "index {name} of table {} was built after this snapshot, and columns of it had been \
                 changed in place; read without it, or begin anew",
                schema.name
            );
            Error::new(ErrorKind::SnapshotTooOld, text)
        }
        _ => {
            let text = format!("table {} has no index {name}", schema.name);
            Error::new(ErrorKind::UnknownIndex, text)
        }
    })
}

/// The index of a name, in which a row has one entry at most: what gives rows in the order of an index, or one for a
/// key, gives each of them once.
pub(crate) fn ordered_index<'a>(schema: &'a TableSchema, name: &str) -> Result<&'a IndexSchema> {
    let index = index_by_name(schema, name)?;
    if index.multi_entry {
        let text = format!(
            "index {name} of table {} has several entries of a row and gives them no order; use a predicate",
            schema.name
        );
        return Err(Error::new(ErrorKind::Unsupported, text));
    }
    Ok(index)
}

/// Where an index scan finds the wanted columns inside the entries.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Covered {
    /// Positions in the key, each once.
    pub key_columns: Vec<usize>,
    /// Positions in the INCLUDE list, each once.
    pub include: Vec<usize>,
    /// Per wanted column its place in the entries' columns: `key_columns`, then `include`.
    pub places: Vec<usize>,
}

/// How the entries of an index stand in for the wanted columns (positions in the table); `None`
/// where the rows have to be read.
pub(crate) fn covered(
    schema: &TableSchema,
    index: &IndexSchema,
    columns: &[usize],
) -> Option<Covered> {
    let mut out = Covered::default();
    let mut found = Vec::with_capacity(columns.len());
    for &c in columns {
        let column = &schema.columns[c];
        let in_key = || index.key.iter().position(|k| k.column == column.id);
        if let Some(at) = in_key().filter(|_| !column.ty.key_is_lossy()) {
            found.push((true, note(&mut out.key_columns, at)));
        } else {
            let at = index.include.iter().position(|i| *i == column.id)?;
            found.push((false, note(&mut out.include, at)));
        }
    }
    let keys = out.key_columns.len();
    out.places = found.into_iter().map(|(key, at)| if key { at } else { keys + at }).collect();
    Some(out)
}

/// Position of `item` in the list, where it is put unless it is there.
fn note(list: &mut Vec<usize>, item: usize) -> usize {
    list.iter().position(|x| *x == item).unwrap_or_else(|| {
        list.push(item);
        list.len() - 1
    })
}

/// Types of the columns at these positions.
pub(crate) fn types_of(schema: &TableSchema, columns: &[usize]) -> Vec<DataType> {
    columns.iter().map(|&c| schema.columns[c].ty).collect()
}
