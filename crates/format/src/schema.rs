//! What does the catalog say of a table?
//!
//! Plain descriptions, as the manifest stores them. Checks (names unique, limits, key types) are the
//! engine's, at the edge.

use onlap_base::{ColumnId, IndexId, TableId};

use crate::types::DataType;

/// A column.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ColumnSchema {
    /// Never reused within the table.
    pub id: ColumnId,
    /// Name, unique within the table.
    pub name: String,
    /// Type.
    pub ty: DataType,
    /// Whether NULL is allowed.
    pub nullable: bool,
    /// Whether the engine fills a counter value in where an inserted row has NULL (bigserial).
    pub serial: bool,
}

/// One part of an index key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct KeyPart {
    /// The column.
    pub column: ColumnId,
    /// Descending: larger first, and NULL first.
    pub descending: bool,
}

/// An index; the primary key is one too.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct IndexSchema {
    /// Unique within the database.
    pub id: IndexId,
    /// Name, unique within the table.
    pub name: String,
    /// Key columns.
    pub key: Vec<KeyPart>,
    /// INCLUDE columns: stored, not ordered.
    pub include: Vec<ColumnId>,
    /// Whether no two live rows may have equal keys (rows with a NULL in the key never clash).
    pub unique: bool,
    /// Whether this is the primary key (unique, no NULL).
    pub primary: bool,
    /// Whether runs may hold fences only, because keys hardly ever fall as row ids rise and are not
    /// looked up by equality. Never of a unique index.
    pub fences_only: bool,
}

/// A table.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TableSchema {
    /// Storage id.
    pub id: TableId,
    /// Name, unique within the database.
    pub name: String,
    /// Grows with every change of the schema; files carry it.
    pub version: u32,
    /// Columns in declaration order.
    pub columns: Vec<ColumnSchema>,
    /// Indexes in creation order, the primary key first where there is one.
    pub indexes: Vec<IndexSchema>,
    /// Next free column id.
    pub next_column: u32,
}

impl TableSchema {
    /// Position of a column by id.
    pub fn position(&self, id: ColumnId) -> Option<usize> {
        self.columns.iter().position(|c| c.id == id)
    }
    /// Position of a column by name.
    pub fn position_by_name(&self, name: &str) -> Option<usize> {
        self.columns.iter().position(|c| c.name == name)
    }
    /// An index by id.
    pub fn index(&self, id: IndexId) -> Option<&IndexSchema> {
        self.indexes.iter().find(|i| i.id == id)
    }
    /// An index by name.
    pub fn index_by_name(&self, name: &str) -> Option<&IndexSchema> {
        self.indexes.iter().find(|i| i.name == name)
    }
    /// The primary key.
    pub fn primary(&self) -> Option<&IndexSchema> {
        self.indexes.iter().find(|i| i.primary)
    }
}
