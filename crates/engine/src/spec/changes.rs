//! How does a program describe what is to change about a table?

use std::sync::Arc;

use onlap_base::{ColumnId, Result};
use onlap_format::{Column, DataType, Value};

use super::{GeneratedSpec, IndexSpec};
use crate::locks::RowLock;

/// Changes of a table, made in their order and all at once.
///
/// ```
/// use onlap::{Database, DataType, Options, TableChanges, TableSpec, Value};
/// let dir = tempfile::tempdir().unwrap();
/// let db = Database::open(dir.path(), Options::default())?;
/// let people = db.create_table(TableSpec::new("people").column("name", DataType::Varchar(20)))?;
/// people.insert(&[Value::Text("Ada".into())])?;
/// db.alter_table(
///     "people",
///     &TableChanges::new()
///         .add_column("country", DataType::Text, Some(Value::Text("?".into())))
///         .set_not_null("country")
///         .set_type("name", DataType::Text),
/// )?;
/// let rows = db.snapshot()?.scan(&people, onlap::Scan::all())?.rows()?;
/// assert_eq!(rows, [[Value::Text("Ada".into()), Value::Text("?".into())]]);
/// # Ok::<(), onlap::Error>(())
/// ```
#[derive(Clone, Debug, Default)]
pub struct TableChanges(pub(crate) Vec<TableChange>);

/// Calculates the values of a column that gets another type.
pub trait Convert: Send + Sync {
    /// The new values of rows of which `inputs` are the columns that are read, in the order in which they were named: of the
    /// new type's physical form, one per row.
    ///
    /// # Errors
    /// What is wrong with the values of some row.
    fn convert(&self, inputs: &[Column], rows: usize) -> Result<Column>;
}

/// How a column that gets another type gets its values.
#[derive(Clone)]
pub struct Conversion {
    /// The columns that it reads.
    pub reads: Vec<String>,
    /// Whether it makes NULL of NULL alone.
    pub strict: bool,
    /// What calculates the values.
    pub by: Arc<dyn Convert>,
}

impl std::fmt::Debug for Conversion {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Conversion").field("reads", &self.reads).finish_non_exhaustive()
    }
}

/// One change.
#[derive(Clone, Debug)]
pub(crate) enum TableChange {
    AddColumn {
        name: String,
        ty: DataType,
        default: Option<Value>,
    },
    DropColumn {
        name: String,
        cascade: bool,
    },
    RenameColumn {
        name: String,
        to: String,
    },
    SetType {
        name: String,
        ty: DataType,
        by: Option<Conversion>,
    },
    SetNullable {
        name: String,
        nullable: bool,
    },
    SetDefault {
        name: String,
        default: Option<Value>,
    },
    SetDefaultSequence {
        name: String,
        sequence: String,
    },
    /// A column that was added with the same changes.
    Generate(GeneratedSpec),
    DropExpression {
        name: String,
    },
    MakePrimary {
        index: String,
    },
    MakeSecondary {
        index: String,
    },
    RenameConstraint {
        name: String,
        to: String,
    },
    RenameIndex {
        name: String,
        to: String,
    },
    Rename {
        to: String,
    },
    /// Derived columns that an index is going to need.
    Derive {
        index: Box<IndexSpec>,
    },
    /// Derived columns that no index needs.
    ForgetDerived,
    DropIndex {
        name: String,
    },
    RenameDerived {
        id: ColumnId,
        to: String,
    },
}

impl TableChanges {
    /// None yet.
    pub fn new() -> TableChanges {
        TableChanges::default()
    }
    fn push(mut self, change: TableChange) -> TableChanges {
        self.0.push(change);
        self
    }
    /// Names of tables and sequences that are to be locked before a table with this name is changed: those
    /// that it gives up and takes, those that it relies on.
    pub(crate) fn names<'a>(&'a self, table: &'a str) -> Vec<(&'a str, RowLock)> {
        let mut names = Vec::new();
        for change in &self.0 {
            match change {
                TableChange::Rename { to } => {
                    names.extend([(table, RowLock::Update), (to, RowLock::Update)]);
                }
                TableChange::SetDefaultSequence { sequence, .. } => {
                    names.push((sequence, RowLock::KeyShare));
                }
                _ => {}
            }
        }
        names
    }
    /// Whether nothing gets more than another name.
    pub(crate) fn only_names(&self) -> bool {
        let renames = |change: &TableChange| {
            matches!(
                change,
                TableChange::RenameColumn { .. }
                    | TableChange::RenameConstraint { .. }
                    | TableChange::RenameIndex { .. }
                    | TableChange::Rename { .. }
                    | TableChange::RenameDerived { .. }
            )
        };
        self.0.iter().all(renames)
    }
    /// Whether a column gets another type.
    pub fn sets_types(&self) -> bool {
        self.0.iter().any(|c| matches!(c, TableChange::SetType { .. }))
    }
    /// Whether a generated column comes, which a transaction calculates of the rows that are there.
    pub fn generates(&self) -> bool {
        self.0.iter().any(|c| matches!(c, TableChange::Generate(_)))
    }
    /// These changes, and others after them.
    #[must_use]
    pub fn and(mut self, others: TableChanges) -> TableChanges {
        self.0.extend(others.0);
        self
    }
    /// Adds a column at the end that takes NULL. Rows that are there read the default, or NULL without
    /// one; none is rewritten.
    #[must_use]
    pub fn add_column(self, name: impl Into<String>, ty: DataType, default: Option<Value>) -> Self {
        self.push(TableChange::AddColumn { name: name.into(), ty, default })
    }
    /// Drops a column that no index, check or foreign key has.
    #[must_use]
    pub fn drop_column(self, name: impl Into<String>) -> Self {
        self.push(TableChange::DropColumn { name: name.into(), cascade: false })
    }
    /// Drops a column with all indexes, checks and foreign keys of the table that have it.
    #[must_use]
    pub fn drop_column_cascade(self, name: impl Into<String>) -> Self {
        self.push(TableChange::DropColumn { name: name.into(), cascade: true })
    }
    /// Gives a column another name.
    #[must_use]
    pub fn rename_column(self, name: impl Into<String>, to: impl Into<String>) -> Self {
        self.push(TableChange::RenameColumn { name: name.into(), to: to.into() })
    }
    /// Gives a column another type. Where every value is one of the new type in the same form (a larger
    /// integer type, a longer varchar, text), no row is rewritten; otherwise all are, while writers
    /// wait, by way of their text. Indexes over the column are built anew where their keys change.
    #[must_use]
    pub fn set_type(self, name: impl Into<String>, ty: DataType) -> Self {
        self.push(TableChange::SetType { name: name.into(), ty, by: None })
    }
    /// Gives a column another type, and each row a value that is calculated of columns as they were before all changes. All rows
    /// are rewritten, also where the type stays the same. A default has to be dropped before, and set again for the new type.
    /// Outside of a transaction a conversion reads the column itself and is strict.
    #[must_use]
    pub fn convert(self, name: impl Into<String>, ty: DataType, by: Conversion) -> Self {
        self.push(TableChange::SetType { name: name.into(), ty, by: Some(by) })
    }
    /// Whether values of a column are calculated of whole rows, which a transaction does.
    pub fn converts_rows(&self) -> bool {
        self.0.iter().any(|change| match change {
            TableChange::SetType { name, by: Some(by), .. } => {
                !by.strict || by.reads != [name.as_str()]
            }
            _ => false,
        })
    }
    /// Refuses NULL in a column; there must be none.
    #[must_use]
    pub fn set_not_null(self, name: impl Into<String>) -> Self {
        self.push(TableChange::SetNullable { name: name.into(), nullable: false })
    }
    /// Allows NULL in a column.
    #[must_use]
    pub fn drop_not_null(self, name: impl Into<String>) -> Self {
        self.push(TableChange::SetNullable { name: name.into(), nullable: true })
    }
    /// Gives later inserts a value for a column that they leave out.
    #[must_use]
    pub fn set_default(self, name: impl Into<String>, value: Value) -> Self {
        self.push(TableChange::SetDefault { name: name.into(), default: Some(value) })
    }
    /// Lets later inserts that leave a column out take the next value of a sequence.
    #[must_use]
    pub fn set_default_sequence(
        self,
        name: impl Into<String>,
        sequence: impl Into<String>,
    ) -> Self {
        let (name, sequence) = (name.into(), sequence.into());
        self.push(TableChange::SetDefaultSequence { name, sequence })
    }
    /// Has a column calculated that the same changes add, in rows that are there too: all of them are replaced. In
    /// transactions alone.
    #[must_use]
    pub fn generate(self, generated: GeneratedSpec) -> Self {
        self.push(TableChange::Generate(generated))
    }
    /// Has a generated column keep what it has, and be a column like others from now on.
    #[must_use]
    pub fn drop_expression(self, name: impl Into<String>) -> Self {
        self.push(TableChange::DropExpression { name: name.into() })
    }
    /// Makes a unique index the primary key of a table that has none; its columns refuse NULL from now
    /// on, and there must be none.
    #[must_use]
    pub fn make_primary(self, index: impl Into<String>) -> Self {
        self.push(TableChange::MakePrimary { index: index.into() })
    }
    /// Makes the primary key a unique index like others, which may be dropped; its columns go on
    /// refusing NULL.
    #[must_use]
    pub fn make_secondary(self, index: impl Into<String>) -> Self {
        self.push(TableChange::MakeSecondary { index: index.into() })
    }
    /// Gives a check or a foreign key another name.
    #[must_use]
    pub fn rename_constraint(self, name: impl Into<String>, to: impl Into<String>) -> Self {
        self.push(TableChange::RenameConstraint { name: name.into(), to: to.into() })
    }
    /// Takes a column's default away.
    #[must_use]
    pub fn drop_default(self, name: impl Into<String>) -> Self {
        self.push(TableChange::SetDefault { name: name.into(), default: None })
    }
    /// Gives an index another name.
    #[must_use]
    pub fn rename_index(self, name: impl Into<String>, to: impl Into<String>) -> Self {
        self.push(TableChange::RenameIndex { name: name.into(), to: to.into() })
    }
    /// Says anew what a derived column is called in messages.
    #[must_use]
    pub fn rename_derived(self, id: ColumnId, to: impl Into<String>) -> Self {
        self.push(TableChange::RenameDerived { id, to: to.into() })
    }
    /// Gives the table another name.
    #[must_use]
    pub fn rename(self, to: impl Into<String>) -> Self {
        self.push(TableChange::Rename { to: to.into() })
    }
}
