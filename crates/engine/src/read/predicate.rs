//! Which rows is a statement about, as indexes can tell?
//!
//! A [`Predicate`] is a tree of index ranges. [`super::sets`] makes a set of rows of it; here it is
//! held against a single row. Both judge by key bytes, so they agree on NULLs, descending columns and
//! bounds of leading columns.
//!
//! Thread safety: plain data.

use onlap_base::{Error, ErrorKind, Result, limits};
use onlap_format::{IndexSchema, TableSchema, Value};

use super::KeyRange;
use super::bounds::index_by_name;
use crate::table::key_def;

/// A condition on rows that indexes alone decide.
///
/// It is true or false of every row, for NULL is a value in ranges as in [`KeyRange`]: NOT of a range
/// takes the rows in whose column is NULL, unless the range has them. `Predicate::Index` on no range
/// is true of no row. Of an index with several entries of a row ([`crate::IndexSpec::entries`]) a range names the
/// rows that have an entry in it, each once: all those with any entry where the range is everything.
///
/// ```
/// use onlap::{Database, DataType, IndexSpec, KeyRange, Options, Predicate, TableSpec, Value};
/// let dir = tempfile::tempdir().unwrap();
/// let db = Database::open(dir.path(), Options::default())?;
/// let table = db.create_table(
///     TableSpec::new("t").column("id", DataType::Int8).column("a", DataType::Int4)
///         .primary_key(["id"]).index(IndexSpec::new("xa", ["a"])),
/// )?;
/// table.insert_many((0..100).map(|i| [Value::Int(i), Value::Int(i % 10)]))?;
/// // a in (3, 4) and not id < 50
/// let wanted = Predicate::any_of("xa", [3, 4].map(|a| KeyRange::eq([Value::Int(a)])))
///     .and(!Predicate::index("t_pkey", KeyRange::before([Value::Int(50)])));
/// let snapshot = db.snapshot()?;
/// let rows = snapshot.row_set(&table, &wanted)?;
/// assert_eq!(rows.len(), 10);
/// let ids = snapshot.fetch_set(&table, &rows, Some(&["id"]))?;
/// assert_eq!(ids.value(0, 0), Value::Int(53));
/// # Ok::<(), onlap::Error>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
pub enum Predicate {
    /// Every row.
    All,
    /// Rows whose key, or one of whose keys, lies in any of some ranges of an index.
    Index {
        /// Name of the index.
        name: String,
        /// Ranges in any order; they may overlap.
        ranges: Vec<KeyRange>,
    },
    /// Rows of which all of these are true; every row where there are none.
    And(Vec<Predicate>),
    /// Rows of which any of these is true; no row where there are none.
    Or(Vec<Predicate>),
    /// Rows of which this is not true.
    Not(Box<Predicate>),
}

impl Predicate {
    /// The rows in a range of an index.
    pub fn index(name: impl Into<String>, range: KeyRange) -> Predicate {
        Predicate::Index { name: name.into(), ranges: vec![range] }
    }

    /// The rows in any of some ranges of an index: `a in (1, 2, 3)`.
    pub fn any_of(
        name: impl Into<String>,
        ranges: impl IntoIterator<Item = KeyRange>,
    ) -> Predicate {
        Predicate::Index { name: name.into(), ranges: ranges.into_iter().collect() }
    }

    /// The rows of which both are true.
    #[must_use]
    pub fn and(self, other: Predicate) -> Predicate {
        match self {
            Predicate::And(mut all) => {
                all.push(other);
                Predicate::And(all)
            }
            one => Predicate::And(vec![one, other]),
        }
    }

    /// The rows of which either is true.
    #[must_use]
    pub fn or(self, other: Predicate) -> Predicate {
        match self {
            Predicate::Or(mut all) => {
                all.push(other);
                Predicate::Or(all)
            }
            one => Predicate::Or(vec![one, other]),
        }
    }

    /// Whether it is true of a whole row, whose values are in the order of the schema's columns.
    ///
    /// # Errors
    /// As [`crate::Snapshot::row_set`]; a row that is none of this table; [`ErrorKind::Unsupported`] for indexes that
    /// are partial or have expressions.
    pub fn matches(&self, schema: &TableSchema, row: &[Value]) -> Result<bool> {
        self.check_depth()?;
        if row.len() != schema.columns.len() {
            let text = format!(
                "table {} has {} columns; a row of {} values was given",
                schema.name,
                schema.columns.len(),
                row.len()
            );
            return Err(Error::new(ErrorKind::InvalidInput, text));
        }
        self.holds(schema, row)
    }

    fn holds(&self, schema: &TableSchema, row: &[Value]) -> Result<bool> {
        match self {
            Predicate::All => Ok(true),
            Predicate::Not(of) => Ok(!of.holds(schema, row)?),
            Predicate::Index { name, ranges } => {
                let index = index_by_name(schema, name)?;
                let key = key_of(schema, index, row)?;
                let def = key_def(schema, index);
                for range in ranges {
                    if range.bounds(schema, index, &def)?.contains(&key) {
                        return Ok(true);
                    }
                }
                Ok(false)
            }
            // What is wrong with any part is an error whatever the other parts say.
            Predicate::And(parts) => {
                parts.iter().try_fold(true, |all, part| Ok(all & part.holds(schema, row)?))
            }
            Predicate::Or(parts) => {
                parts.iter().try_fold(false, |any, part| Ok(any | part.holds(schema, row)?))
            }
        }
    }

    /// Whether it is true of all rows but those in some ranges, so that rows which no range names
    /// belong to it.
    pub(crate) fn is_open(&self) -> bool {
        match self {
            Predicate::All => true,
            Predicate::Index { .. } => false,
            Predicate::Not(of) => !of.is_open(),
            Predicate::And(parts) => parts.iter().all(Predicate::is_open),
            Predicate::Or(parts) => parts.iter().any(Predicate::is_open),
        }
    }

    /// Calls `f` with every range.
    pub(crate) fn each_range(
        &self,
        f: &mut dyn FnMut(&str, &KeyRange) -> Result<()>,
    ) -> Result<()> {
        match self {
            Predicate::All => Ok(()),
            Predicate::Index { name, ranges } => ranges.iter().try_for_each(|r| f(name, r)),
            Predicate::Not(of) => of.each_range(f),
            Predicate::And(parts) | Predicate::Or(parts) => {
                parts.iter().try_for_each(|part| part.each_range(f))
            }
        }
    }

    /// Refuses a tree so deep that walking it could exhaust the stack, without recursion.
    pub(crate) fn check_depth(&self) -> Result<()> {
        let mut open = vec![(self, 1)];
        while let Some((part, depth)) = open.pop() {
            if depth > limits::EXPR_DEPTH {
                let text = format!("a predicate is more than {} levels deep", limits::EXPR_DEPTH);
                return Err(Error::new(ErrorKind::LimitExceeded, text));
            }
            match part {
                Predicate::All | Predicate::Index { .. } => {}
                Predicate::Not(of) => open.push((of, depth + 1)),
                Predicate::And(parts) | Predicate::Or(parts) => {
                    open.extend(parts.iter().map(|part| (part, depth + 1)));
                }
            }
        }
        Ok(())
    }
}

impl std::ops::Not for Predicate {
    type Output = Predicate;

    fn not(self) -> Predicate {
        Predicate::Not(Box::new(self))
    }
}

/// Key bytes of a row.
fn key_of(schema: &TableSchema, index: &IndexSchema, row: &[Value]) -> Result<Vec<u8>> {
    let own = |part: &onlap_format::KeyPart| schema.derived(part.column).is_none();
    if index.filter.is_some() || !index.key.iter().all(own) {
        let text = format!(
            "index {} has what is calculated of rows, and a row alone does not tell it",
            index.name
        );
        return Err(Error::new(ErrorKind::Unsupported, text));
    }
    let value = |part: &onlap_format::KeyPart| {
        let at = schema.position(part.column).expect("an index names columns of its table");
        row[at].clone()
    };
    let key: Vec<Value> = index.key.iter().map(value).collect();
    key_def(schema, index).encode_values(&key)
}
