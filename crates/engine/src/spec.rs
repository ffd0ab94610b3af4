//! How does a program describe a table or an index it wants?
//!
//! Names become ids and every limit is checked here, at the edge; nothing below sees an invalid
//! schema.

use std::collections::HashSet;
use std::time::Duration;

use onlap_base::{ColumnId, Error, ErrorKind, IndexId, Result, TableId, limits};
use onlap_format::{
    ColumnSchema, DataType, Excludes, Identity, IndexSchema, Judged, KeyPart, KeysKept, TableSchema,
};

mod changes;
mod constraints;
mod derived;
mod generated;
mod sequence;

pub(crate) use changes::TableChange;
pub use changes::{Conversion, Convert, TableChanges};
use constraints::RulesSpec;
pub use constraints::{CheckSpec, ForeignKeySpec};
pub(crate) use constraints::{DefaultSpec, build_check, build_default};
use derived::KeyName;
pub use derived::{DerivedSpec, IndexPart};
pub use generated::GeneratedSpec;
pub use sequence::SequenceSpec;

/// A table to create.
#[derive(Clone, Debug)]
pub struct TableSpec {
    name: String,
    columns: Vec<ColumnSpec>,
    primary_key: Vec<String>,
    primary_name: Option<String>,
    primary_include: Vec<String>,
    indexes: Vec<IndexSpec>,
    rules: RulesSpec,
    generated: Vec<GeneratedSpec>,
    history_us: u64,
    blind: bool,
}

#[derive(Clone, Debug)]
struct ColumnSpec {
    name: String,
    ty: DataType,
    nullable: bool,
    identity: Identity,
}

/// An index to create.
#[derive(Clone, Debug)]
pub struct IndexSpec {
    name: String,
    key: Vec<(KeyName, bool)>,
    include: Vec<String>,
    filter: Option<DerivedSpec>,
    multi_entry: bool,
    unique: bool,
    judged: Option<Judged>,
    fences_only: bool,
    keys: KeysKept,
}

impl TableSpec {
    /// A table without columns yet.
    pub fn new(name: impl Into<String>) -> TableSpec {
        TableSpec {
            name: name.into(),
            columns: Vec::new(),
            primary_key: Vec::new(),
            primary_name: None,
            primary_include: Vec::new(),
            indexes: Vec::new(),
            rules: RulesSpec::default(),
            generated: Vec::new(),
            history_us: 0,
            blind: false,
        }
    }
    fn push(
        mut self,
        name: impl Into<String>,
        ty: DataType,
        nullable: bool,
        identity: Identity,
    ) -> TableSpec {
        self.columns.push(ColumnSpec { name: name.into(), ty, nullable, identity });
        self
    }
    /// Adds a column that refuses NULL.
    #[must_use]
    pub fn column(self, name: impl Into<String>, ty: DataType) -> TableSpec {
        self.push(name, ty, false, Identity::None)
    }
    /// Adds a column that takes NULL.
    #[must_use]
    pub fn nullable_column(self, name: impl Into<String>, ty: DataType) -> TableSpec {
        self.push(name, ty, true, Identity::None)
    }
    /// Adds an int8 column that is filled from a counter where an inserted row has NULL (bigserial).
    #[must_use]
    pub fn serial(self, name: impl Into<String>) -> TableSpec {
        self.push(name, DataType::Int8, false, Identity::ByDefault)
    }
    /// Adds an int8 column that is always filled from a counter: a value of the caller's is refused
    /// (generated always as identity).
    #[must_use]
    pub fn identity_always(self, name: impl Into<String>) -> TableSpec {
        self.push(name, DataType::Int8, false, Identity::Always)
    }
    /// Names the columns of the primary key; they refuse NULL.
    #[must_use]
    pub fn primary_key<S: Into<String>>(mut self, columns: impl IntoIterator<Item = S>) -> Self {
        self.primary_key = columns.into_iter().map(Into::into).collect();
        self
    }
    /// Names the index of the primary key; without, it is the table's name and `_pkey`.
    #[must_use]
    pub fn primary_key_name(mut self, name: impl Into<String>) -> Self {
        self.primary_name = Some(name.into());
        self
    }
    /// Stores further columns next to the primary key.
    #[must_use]
    pub fn primary_key_include<S: Into<String>>(
        mut self,
        columns: impl IntoIterator<Item = S>,
    ) -> Self {
        self.primary_include = columns.into_iter().map(Into::into).collect();
        self
    }
    /// Adds a secondary index.
    #[must_use]
    pub fn index(mut self, index: IndexSpec) -> TableSpec {
        self.indexes.push(index);
        self
    }
    /// Keeps what the table held for so long: [`crate::Database::snapshot_as_of`].
    #[must_use]
    pub fn history(mut self, length: Duration) -> TableSpec {
        self.history_us = u64::try_from(length.as_micros()).unwrap_or(u64::MAX);
        self
    }

    /// Takes blind writes: rows that come or go by their primary key without a look at the row before
    /// ([`crate::Transaction::upsert`], [`crate::Transaction::delete_blind`]). Such a table has a primary
    /// key and no other unique index, no foreign key and no child table; its other indexes store the
    /// columns of the primary key next to their own.
    #[must_use]
    pub fn blind_writes(mut self) -> TableSpec {
        self.blind = true;
        self
    }

    /// The table's name.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Defaults, checks and foreign keys, which [`crate::rules`] adds.
    pub(crate) fn rules(&self) -> &RulesSpec {
        &self.rules
    }

    /// Names of the tables that foreign keys refer to.
    pub(crate) fn parents(&self) -> impl Iterator<Item = &str> {
        self.rules.foreign_keys.iter().map(ForeignKeySpec::parent)
    }

    /// Sequences that columns take their defaults from.
    pub(crate) fn sequences(&self) -> impl Iterator<Item = &str> {
        self.rules.defaults.iter().filter_map(|(_, default)| default.sequence())
    }

    /// Checks everything and gives ids; `next_index` hands out index ids.
    pub(crate) fn build(
        &self,
        id: TableId,
        next_index: &mut dyn FnMut() -> IndexId,
    ) -> Result<TableSchema> {
        check_name("table", &self.name)?;
        if self.columns.len() > limits::COLUMNS {
            return Err(too_many("columns", self.columns.len(), limits::COLUMNS));
        }
        let mut schema = TableSchema {
            id,
            name: self.name.clone(),
            version: 1,
            columns: Vec::with_capacity(self.columns.len()),
            next_column: self.columns.len() as u32,
            history_us: self.history_us,
            blind: self.blind,
            ..TableSchema::default()
        };
        let mut names = HashSet::new();
        for (i, c) in self.columns.iter().enumerate() {
            check_name("column", &c.name)?;
            check_type(&c.name, c.ty)?;
            if !names.insert(c.name.as_str()) {
                let text = format!("table {} has two columns named {}", self.name, c.name);
                return Err(Error::new(ErrorKind::AlreadyExists, text));
            }
            let nullable = c.nullable && !self.primary_key.contains(&c.name);
            let mut column = ColumnSchema::new(ColumnId(i as u32), &c.name, c.ty, nullable);
            column.identity = c.identity;
            schema.columns.push(column);
        }
        self.generated.iter().try_for_each(|generated| generated.add(&mut schema))?;
        if !self.primary_key.is_empty() {
            let name = self.primary_name.clone();
            let name = name.unwrap_or_else(|| format!("{}_pkey", self.name));
            let mut primary = IndexSpec::new(name, self.primary_key.clone()).unique();
            primary = primary.include(self.primary_include.clone());
            primary.name.truncate(limits::NAME_BYTES);
            let mut index = primary.build(&schema, next_index)?;
            index.primary = true;
            schema.indexes.push(index);
        }
        if self.blind && (self.primary_key.is_empty() || !self.rules.foreign_keys.is_empty()) {
            let text = format!(
                "table {} takes blind writes, which needs a primary key and goes with no foreign key",
                self.name
            );
            return Err(Error::new(ErrorKind::Unsupported, text));
        }
        for spec in &self.indexes {
            spec.derive(&mut schema)?;
            let index = spec.build(&schema, next_index)?;
            schema.indexes.push(index);
        }
        Ok(schema)
    }
}

impl IndexSpec {
    /// An index over the named columns, ascending.
    pub fn new<S: Into<String>>(
        name: impl Into<String>,
        columns: impl IntoIterator<Item = S>,
    ) -> IndexSpec {
        IndexSpec {
            name: name.into(),
            key: columns.into_iter().map(|c| (KeyName::Column(c.into()), false)).collect(),
            include: Vec::new(),
            filter: None,
            multi_entry: false,
            unique: false,
            judged: None,
            fences_only: false,
            keys: KeysKept::Full,
        }
    }
    /// The same under another name.
    #[must_use]
    pub fn named(mut self, name: impl Into<String>) -> IndexSpec {
        self.name = name.into();
        self
    }
    /// Refuses two live rows with equal keys (rows with a NULL in the key never clash).
    #[must_use]
    pub fn unique(mut self) -> IndexSpec {
        self.unique = true;
        self
    }
    /// Refuses two live rows with equal keys when it is judged, by a look at the rows: rows may have equal keys
    /// until then, or NULL may be equal to NULL. Instead of [`IndexSpec::unique`]; no foreign key can refer to it.
    #[must_use]
    pub fn judged(mut self, judged: Judged) -> IndexSpec {
        self.judged = Some(judged);
        self
    }
    /// For ascending columns that are not looked up by equality, such as the time of an event, which
    /// only the user knows: where keys arrive in order, files keep one key per thousand rows and no
    /// entries, and reads find the rest in the rows. Where they do not, the index is an ordinary one.
    /// Not for unique indexes.
    #[must_use]
    pub fn fences_only(mut self) -> IndexSpec {
        self.fences_only = true;
        self
    }
    /// How much of their keys files keep. Where the first column is a long text, bytea or uuid whose first part
    /// nearly always tells keys apart, as with random identifiers, the rest of the keys is most of
    /// what the index takes, and is read off the rows when it is needed. That costs a read of the row for each
    /// entry of which more is wanted than the row id, so it is not for indexes that others read instead of rows. An index that
    /// is unique, partial, of expressions or with included columns has whole keys whatever is said here, and so
    /// has one that a foreign key of the table reads.
    #[must_use]
    pub fn keys(mut self, keys: KeysKept) -> IndexSpec {
        self.keys = keys;
        self
    }
    /// Sorts a key column descending, NULL first.
    #[must_use]
    pub fn descending(mut self, column: &str) -> IndexSpec {
        let is_it = |name: &KeyName| matches!(name, KeyName::Column(c) if c == column);
        self.key.iter_mut().filter(|(name, _)| is_it(name)).for_each(|(_, d)| *d = true);
        self
    }
    /// Stores further columns next to the key, so that reads of them need no row.
    #[must_use]
    pub fn include<S: Into<String>>(mut self, columns: impl IntoIterator<Item = S>) -> IndexSpec {
        self.include = columns.into_iter().map(Into::into).collect();
        self
    }
    /// The index's name.
    pub fn name(&self) -> &str {
        &self.name
    }
    /// Whether equal keys are refused by a look at the rows.
    pub(crate) fn is_judged(&self) -> bool {
        self.judged.is_some()
    }

    /// A table's form as it would be with this index, which is not made: what a plan may be made with, and nothing be read by.
    /// Indexes so supposed have the ids from the last one down.
    ///
    /// # Errors
    /// As [`crate::Database::create_index`].
    pub fn suppose(&self, schema: &TableSchema) -> Result<TableSchema> {
        let mut supposed = schema.clone();
        self.derive(&mut supposed)?;
        let id = IndexId(u32::MAX - schema.indexes.len() as u32);
        let index = self.build(&supposed, &mut || id)?;
        supposed.indexes.push(index);
        Ok(supposed)
    }

    /// Checks the index against a table's columns and existing indexes.
    pub(crate) fn build(
        &self,
        schema: &TableSchema,
        next_index: &mut dyn FnMut() -> IndexId,
    ) -> Result<IndexSchema> {
        check_name("index", &self.name)?;
        if schema.index_by_name(&self.name).is_some() {
            let text = format!("table {} has an index named {} already", schema.name, self.name);
            return Err(Error::new(ErrorKind::AlreadyExists, text));
        }
        if schema.indexes.len() >= limits::INDEXES {
            return Err(too_many("indexes", schema.indexes.len() + 1, limits::INDEXES));
        }
        if self.key.is_empty() {
            let text = format!("index {} names no columns", self.name);
            return Err(Error::new(ErrorKind::InvalidInput, text));
        }
        if self.key.len() + self.include.len() > limits::KEY_COLUMNS {
            let n = self.key.len() + self.include.len();
            return Err(too_many("columns in an index", n, limits::KEY_COLUMNS));
        }
        let find = |name: &str| {
            schema.columns.iter().find(|c| c.name == name).ok_or_else(|| {
                let text =
                    format!("index {}: table {} has no column {name}", self.name, schema.name);
                Error::new(ErrorKind::UnknownColumn, text)
            })
        };
        self.check_kind()?;
        let key = self.key_parts(schema, &find)?;
        self.check_spans(schema, &key)?;
        let mut seen: HashSet<ColumnId> = key.iter().map(|part| part.column).collect();
        let mut include = Vec::new();
        for name in &self.include {
            let column = find(name)?;
            if !seen.insert(column.id) {
                return Err(self.named_twice(name));
            }
            include.push(column.id);
        }
        let filter = self.filter.as_ref().map(|of| self.derived_column(schema, of));
        let filter = filter.transpose()?.map(|column| column.id);
        if schema.blind && schema.primary().is_some() {
            self.complete_blind(schema, &key, &mut include)?;
        }
        Ok(IndexSchema {
            id: next_index(),
            name: self.name.clone(),
            key,
            include,
            filter,
            multi_entry: self.multi_entry,
            unique: self.unique,
            primary: false,
            judged: self.judged,
            fences_only: self.fences_only,
            since: 0,
            keys: if self.judged.is_some() { KeysKept::Full } else { self.keys },
            only_since: false,
            ready: true,
        })
    }

    /// Refuses what excludes each other.
    fn check_kind(&self) -> Result<()> {
        if self.unique && self.judged.is_some() {
            let text = format!("index {}: keys are kept apart or looked at, not both", self.name);
            return Err(Error::new(ErrorKind::InvalidInput, text));
        }
        if self.multi_entry {
            self.check_multi_entry()?;
        }
        if self.fences_only && (self.unique || self.judged.is_some() || self.derives()) {
            let text = format!(
                "index {}: an index that is unique, partial or of expressions cannot be fences-only",
                self.name
            );
            return Err(Error::new(ErrorKind::InvalidInput, text));
        }
        Ok(())
    }

    /// Spans are the last part of a key, calculated, and lie in their order.
    fn check_spans(&self, schema: &TableSchema, key: &[KeyPart]) -> Result<()> {
        let excludes = self.judged.and_then(|judged| judged.excludes);
        let (Some(Excludes::Overlapping), Some(last)) = (excludes, key.last()) else {
            return Ok(());
        };
        let derived = schema.derived(last.column);
        match derived.is_some_and(|of| of.column.ty == DataType::Bytea) && !last.descending {
            true => Ok(()),
            false => {
                let text = format!("index {}: spans are calculated, and rise", self.name);
                Err(Error::new(ErrorKind::InvalidInput, text))
            }
        }
    }

    /// The parts of the key, each with an order, and none twice.
    fn key_parts<'s>(
        &self,
        schema: &'s TableSchema,
        find: &dyn Fn(&str) -> Result<&'s ColumnSchema>,
    ) -> Result<Vec<KeyPart>> {
        let mut key: Vec<KeyPart> = Vec::with_capacity(self.key.len());
        for (name, descending) in &self.key {
            let column = match name {
                KeyName::Column(name) => find(name)?,
                KeyName::Derived(of) => self.derived_column(schema, of)?,
            };
            let name = &column.name;
            if !column.ty.is_ordered() {
                let text =
                    format!("index {}: {} is {}, which has no order", self.name, name, column.ty);
                return Err(Error::new(ErrorKind::WrongType, text));
            }
            if key.iter().any(|part| part.column == column.id) {
                return Err(self.named_twice(name));
            }
            key.push(KeyPart { column: column.id, descending: *descending });
        }
        assert!(!key.is_empty(), "an index has a key");
        Ok(key)
    }

    /// An index of a table with blind writes has the columns of the primary key.
    fn complete_blind(
        &self,
        schema: &TableSchema,
        key: &[KeyPart],
        include: &mut Vec<ColumnId>,
    ) -> Result<()> {
        if self.unique || self.judged.is_some() {
            let text = format!(
                "index {}: table {} takes blind writes and can have no unique index but its primary \
                 key",
                self.name, schema.name
            );
            return Err(Error::new(ErrorKind::Unsupported, text));
        }
        for part in schema.primary().iter().flat_map(|p| &p.key) {
            let known = key.iter().any(|k| k.column == part.column);
            if !known && !include.contains(&part.column) {
                include.push(part.column);
            }
        }
        let n = key.len() + include.len();
        if n > limits::KEY_COLUMNS {
            return Err(too_many(
                "columns in an index with the primary key's",
                n,
                limits::KEY_COLUMNS,
            ));
        }
        Ok(())
    }

    fn named_twice(&self, column: &str) -> Error {
        Error::new(
            ErrorKind::Unsupported,
            format!("index {} names column {column} twice, which is not supported", self.name),
        )
    }
}

pub(crate) fn check_name(what: &str, name: &str) -> Result<()> {
    if name.is_empty() || name.contains('\0') {
        let text = format!("a {what} name must not be empty or contain a zero byte");
        return Err(Error::new(ErrorKind::InvalidInput, text));
    }
    let most = match what {
        "table" | "sequence" => limits::RELATION_NAME_BYTES,
        _ => limits::NAME_BYTES,
    };
    if name.len() > most {
        let text = format!("{what} name of {} bytes; at most {most} fit", name.len());
        return Err(Error::new(ErrorKind::TooLong, text));
    }
    Ok(())
}

/// Longest declared length of varchar and char, as in PostgreSQL.
const DECLARED_LENGTH_MAX: u32 = 10_485_760;

pub(crate) fn check_type(column: &str, ty: DataType) -> Result<()> {
    let bad = |text: String| Err(Error::new(ErrorKind::OutOfRange, text));
    match ty {
        DataType::Numeric(Some((p, s))) if p == 0 || p > 38 || s > p => bad(format!(
            "column {column}: numeric({p},{s}) needs 1 <= precision <= 38 and scale <= precision"
        )),
        DataType::Varchar(n) | DataType::Char(n) if n == 0 || n > DECLARED_LENGTH_MAX => {
            bad(format!("column {column}: length {n} is outside 1 to {DECLARED_LENGTH_MAX}"))
        }
        _ => Ok(()),
    }
}

pub(crate) fn too_many(what: &str, n: usize, limit: usize) -> Error {
    Error::new(ErrorKind::LimitExceeded, format!("{n} {what}; at most {limit} are allowed"))
}
