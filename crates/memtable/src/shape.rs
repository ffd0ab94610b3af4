//! What does a memtable know of its table?
//!
//! Positions instead of ids, resolved once: which columns an index is made of, in which order and
//! direction. It knows nothing of rows. Immutable, shared freely.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use onlap_base::IndexId;
use onlap_base::clock::with_cpu_ns;
use onlap_format::key::{KeyColumn, KeyDef};
use onlap_format::{Batch, Column, DataType, Physical, TableSchema, Vector};

use super::chunk::{Pick, gather, pick};

/// A table's columns and indexes by position.
#[derive(Debug)]
pub struct Shape {
    /// The schema.
    pub schema: Arc<TableSchema>,
    /// Forms of the columns, derived ones included.
    pub forms: Vec<Physical>,
    /// In the order of the schema.
    pub indexes: Vec<IndexShape>,
    /// Columns that some index holds.
    pub indexed: Vec<usize>,
    /// Columns whose values are lists of keys of an index.
    pub lists: Vec<usize>,
}

/// One column of a key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Field {
    /// Position in the table.
    pub column: usize,
    /// Its type.
    pub ty: DataType,
    /// Whether larger values come first.
    pub descending: bool,
}

/// One index.
#[derive(Debug)]
pub struct IndexShape {
    /// The index.
    pub id: IndexId,
    /// Its key.
    pub def: KeyDef,
    /// Columns of the key.
    pub fields: Vec<Field>,
    /// Positions of INCLUDE columns in the table.
    pub include: Vec<usize>,
    /// Position of the column that is true in rows that have entries, where not all have.
    pub filter: Option<usize>,
    /// Whether the one column of the key has lists of keys, and a row an entry for each of them. Where a row has none
    /// because of a filter, its list is NULL.
    pub multi_entry: bool,
    /// Whether a key stands for one row.
    pub unique: bool,
    /// Processor time that its orders took in this memtable, in nanoseconds.
    pub(crate) sorted_ns: AtomicU64,
}

impl IndexShape {
    /// Runs what makes an order of the index, and notes what it took.
    pub(crate) fn sorting<T>(&self, sort: impl FnOnce() -> T) -> T {
        let (made, ns) = with_cpu_ns(sort);
        self.sorted_ns.fetch_add(ns, Relaxed);
        made
    }

    /// Whether a row has an entry.
    #[inline]
    pub(crate) fn has(&self, rows: &Batch, i: usize) -> bool {
        self.filter.is_none_or(|column| is_true(&rows.columns[column], i))
    }

    /// The rows of a batch that have entries, rising; `None` where all have.
    pub(crate) fn members(&self, rows: &Batch) -> Option<Vec<Pick>> {
        let column = &rows.columns[self.filter?];
        let members: Vec<Pick> =
            (0..rows.rows).filter(|&i| is_true(column, i)).map(|i| pick(0, i)).collect();
        (members.len() < rows.rows).then_some(members)
    }

    /// The key columns of some rows of several batches; others are left empty.
    pub(crate) fn keys_of(&self, batches: &[&Batch], forms: &[Physical], picks: &[Pick]) -> Batch {
        let mut keys = Batch::new(forms.iter().copied());
        for field in &self.fields {
            // A column may stand in a key once.
            gather(batches, field.column, picks, &mut keys.columns[field.column]);
        }
        keys.rows = picks.len();
        keys
    }
}

/// Whether a boolean column is true in a row.
fn is_true(column: &Column, i: usize) -> bool {
    matches!(&column.data, Vector::Int(v) if v[i] != 0) && !column.is_null(i)
}

impl Shape {
    /// The shape of a table whose indexes name its columns.
    pub fn new(schema: Arc<TableSchema>) -> Shape {
        let at = |id| schema.position(id).expect("an index names columns of its table");
        let indexes = schema.indexes.iter().map(|index| {
            let field = |part: &onlap_format::KeyPart| {
                let column = at(part.column);
                let ty = schema.column_at(column).ty;
                Field { column, ty, descending: part.descending }
            };
            let fields: Vec<Field> = index.key.iter().map(field).collect();
            let columns =
                fields.iter().map(|f| KeyColumn { ty: f.ty, descending: f.descending }).collect();
            IndexShape {
                id: index.id,
                def: KeyDef { columns },
                fields,
                include: index.include.iter().map(|&c| at(c)).collect(),
                filter: schema.filter_position(index),
                multi_entry: index.multi_entry,
                unique: index.unique,
                sorted_ns: AtomicU64::new(0),
            }
        });
        let indexes: Vec<IndexShape> = indexes.collect();
        let held = |i: &IndexShape| {
            let key = i.fields.iter().map(|f| f.column);
            key.chain(i.include.iter().copied()).chain(i.filter).collect::<Vec<_>>()
        };
        let indexed: BTreeSet<usize> = indexes.iter().flat_map(held).collect();
        let indexed = indexed.into_iter().collect();
        let lists = indexes.iter().filter(|i| i.multi_entry).map(|i| i.fields[0].column);
        let lists: BTreeSet<usize> = lists.collect();
        let lists = lists.into_iter().collect();
        let forms = schema.all_columns().map(|c| c.ty.physical()).collect();
        Shape { schema, forms, indexes, indexed, lists }
    }

    /// Position of an index.
    ///
    /// # Panics
    /// When the table has no such index: callers take ids from the same schema.
    pub fn index(&self, id: IndexId) -> usize {
        self.indexes
            .iter()
            .position(|i| i.id == id)
            .expect("indexes are named by the schema the memtable was made with")
    }
}
