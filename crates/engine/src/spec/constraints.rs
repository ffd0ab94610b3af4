//! How does a program describe defaults, checks and foreign keys?
//!
//! As for the rest of a table, names become ids and everything is checked here; nothing below sees a
//! default of the wrong type, a condition that makes no sense, or a foreign key without its index.

use onlap_base::{ColumnId, Error, ErrorKind, ForeignKeyId, Result, SequenceId, limits};
use onlap_format::{
    Action, CheckSchema, Column, ColumnDefault, ColumnSchema, DataType, Expr, ForeignKeySchema,
    IndexSchema, TableSchema, Time, Value, convert,
};

use super::{TableSpec, check_name, too_many};

/// What a table was asked to hold besides columns and indexes.
#[derive(Clone, Debug, Default)]
pub(crate) struct RulesSpec {
    pub defaults: Vec<(String, DefaultSpec)>,
    pub checks: Vec<CheckSpec>,
    pub foreign_keys: Vec<ForeignKeySpec>,
}

/// A default by name.
#[derive(Clone, Debug)]
pub(crate) enum DefaultSpec {
    Constant(Value),
    Sequence(String),
}

impl DefaultSpec {
    pub(crate) fn sequence(&self) -> Option<&str> {
        match self {
            DefaultSpec::Sequence(name) => Some(name),
            DefaultSpec::Constant(_) => None,
        }
    }
}

/// A condition on each row of a table, to create.
#[derive(Clone, Debug)]
pub struct CheckSpec {
    name: String,
    condition: Expr<String>,
    unproven: bool,
    own: bool,
}

impl CheckSpec {
    /// A condition; rows for which it is false are refused, those for which it is NULL are not.
    pub fn new(name: impl Into<String>, condition: Expr<String>) -> CheckSpec {
        CheckSpec { name: name.into(), condition, unproven: false, own: false }
    }
    /// Leaves the rows that are there alone (NOT VALID).
    #[must_use]
    pub fn unproven(mut self, unproven: bool) -> CheckSpec {
        self.unproven = unproven;
        self
    }
    /// Is of this table alone (NO INHERIT).
    #[must_use]
    pub fn own(mut self, own: bool) -> CheckSpec {
        self.own = own;
        self
    }
    /// Its name.
    pub fn name(&self) -> &str {
        &self.name
    }
    /// Whether it is of its table alone.
    pub fn is_own(&self) -> bool {
        self.own
    }
    /// Its condition.
    pub fn condition(&self) -> &Expr<String> {
        &self.condition
    }

    /// Checks the condition against a table's columns.
    pub(crate) fn build(&self, table: &TableSchema) -> Result<CheckSchema> {
        let check = build_check(table, &self.name, &self.condition)?;
        Ok(CheckSchema { unproven: self.unproven, own: self.own, ..check })
    }
}

/// A foreign key to create: columns whose values, where none is NULL, a row of another table has.
#[derive(Clone, Debug)]
pub struct ForeignKeySpec {
    name: String,
    columns: Vec<String>,
    parent: String,
    parent_columns: Vec<String>,
    on_delete: Action,
    on_update: Action,
    set_columns: Vec<String>,
    full: bool,
    time: Time,
    unproven: bool,
}

impl TableSpec {
    /// Gives a column a value for inserts that leave it out. An explicit NULL stays NULL.
    #[must_use]
    pub fn default(mut self, column: impl Into<String>, value: Value) -> TableSpec {
        self.rules.defaults.push((column.into(), DefaultSpec::Constant(value)));
        self
    }
    /// Lets inserts that leave a column out take the next value of a sequence.
    #[must_use]
    pub fn default_sequence(
        mut self,
        column: impl Into<String>,
        sequence: impl Into<String>,
    ) -> TableSpec {
        self.rules.defaults.push((column.into(), DefaultSpec::Sequence(sequence.into())));
        self
    }
    /// Adds a condition on each row; rows for which it is false are refused, those for which it is
    /// NULL are not.
    #[must_use]
    pub fn check(mut self, name: impl Into<String>, condition: Expr<String>) -> TableSpec {
        self.rules.checks.push(CheckSpec::new(name, condition));
        self
    }
    /// Adds a condition on each row, of which more is to be said.
    #[must_use]
    pub fn check_spec(mut self, check: CheckSpec) -> TableSpec {
        self.rules.checks.push(check);
        self
    }
    /// Adds a foreign key.
    #[must_use]
    pub fn foreign_key(mut self, key: ForeignKeySpec) -> TableSpec {
        self.rules.foreign_keys.push(key);
        self
    }
}

impl ForeignKeySpec {
    /// A foreign key from columns of the child to the primary key of the parent, which may be the
    /// same table.
    pub fn new<S: Into<String>>(
        name: impl Into<String>,
        columns: impl IntoIterator<Item = S>,
        parent: impl Into<String>,
    ) -> ForeignKeySpec {
        ForeignKeySpec {
            name: name.into(),
            columns: columns.into_iter().map(Into::into).collect(),
            parent: parent.into(),
            parent_columns: Vec::new(),
            on_delete: Action::NoAction,
            on_update: Action::NoAction,
            set_columns: Vec::new(),
            full: false,
            time: Time::Statement,
            unproven: false,
        }
    }
    /// Which of the columns the action on delete sets; all without.
    #[must_use]
    pub fn set_columns<S: Into<String>>(
        mut self,
        columns: impl IntoIterator<Item = S>,
    ) -> ForeignKeySpec {
        self.set_columns = columns.into_iter().map(Into::into).collect();
        self
    }
    /// Refuses a key of which a part is NULL and another is not.
    #[must_use]
    pub fn full(mut self, full: bool) -> ForeignKeySpec {
        self.full = full;
        self
    }
    /// When it is judged.
    #[must_use]
    pub fn time(mut self, time: Time) -> ForeignKeySpec {
        self.time = time;
        self
    }
    /// Leaves the rows that are there alone (NOT VALID).
    #[must_use]
    pub fn unproven(mut self, unproven: bool) -> ForeignKeySpec {
        self.unproven = unproven;
        self
    }
    /// The parent's columns, of which a unique index has to be there, in the order of the child's.
    #[must_use]
    pub fn parent_columns<S: Into<String>>(
        mut self,
        columns: impl IntoIterator<Item = S>,
    ) -> ForeignKeySpec {
        self.parent_columns = columns.into_iter().map(Into::into).collect();
        self
    }
    /// What becomes of children whose parent is deleted.
    #[must_use]
    pub fn on_delete(mut self, action: Action) -> ForeignKeySpec {
        self.on_delete = action;
        self
    }
    /// What becomes of children whose parent's key changes.
    #[must_use]
    pub fn on_update(mut self, action: Action) -> ForeignKeySpec {
        self.on_update = action;
        self
    }
    /// The foreign key's name.
    pub fn name(&self) -> &str {
        &self.name
    }
    /// The parent's name.
    pub fn parent(&self) -> &str {
        &self.parent
    }

    /// Finds columns and the parent's index.
    pub(crate) fn build(
        &self,
        child: &TableSchema,
        parent: &TableSchema,
    ) -> Result<ForeignKeySchema> {
        check_constraint_name(child, &self.name)?;
        if let Some(blind) = [child, parent].iter().find(|t| t.blind) {
            let text = format!("table {} takes blind writes, which ask no other table", blind.name);
            return Err(Error::new(ErrorKind::Unsupported, format!("{}: {text}", self.name)));
        }
        if child.foreign_keys.len() >= limits::FOREIGN_KEYS {
            let n = child.foreign_keys.len() + 1;
            return Err(too_many("foreign keys", n, limits::FOREIGN_KEYS));
        }
        let columns = self.ids(child, &self.columns)?;
        let index = if self.parent_columns.is_empty() {
            let primary = parent.primary();
            primary.ok_or_else(|| self.bad(format!("table {} has no primary key", parent.name)))?
        } else {
            let wanted = self.ids(parent, &self.parent_columns)?;
            self.unique_index(parent, &wanted)?
        };
        if index.key.len() != columns.len() {
            return Err(self.bad(format!(
                "{} columns refer to the {} of {}",
                columns.len(),
                index.key.len(),
                index.name
            )));
        }
        let ordered = self.in_order_of(parent, index, &columns)?;
        for (part, &column) in index.key.iter().zip(&ordered) {
            let theirs = column_of(parent, part.column);
            let ours = column_of(child, column);
            if !refers(ours.ty, theirs.ty) {
                let text = format!(
                    "foreign key {}: column {} is {}, {} of {} is {}",
                    self.name, ours.name, ours.ty, theirs.name, parent.name, theirs.ty
                );
                return Err(Error::new(ErrorKind::WrongType, text));
            }
        }
        let set_columns = match self.set_columns.is_empty() {
            true => Vec::new(),
            false => self.ids(child, &self.set_columns)?,
        };
        if let Some(other) = set_columns.iter().find(|column| !ordered.contains(column)) {
            let other = &column_of(child, *other).name;
            return Err(self.bad(format!("column {other} is to be set and is not of the key")));
        }
        Ok(ForeignKeySchema {
            id: ForeignKeyId(child.next_foreign_key),
            name: self.name.clone(),
            columns: ordered,
            parent: parent.id,
            parent_index: index.id,
            on_delete: self.on_delete,
            on_update: self.on_update,
            set_columns,
            full: self.full,
            time: self.time,
            unproven: self.unproven,
        })
    }

    fn ids(&self, table: &TableSchema, names: &[String]) -> Result<Vec<ColumnId>> {
        let mut ids = Vec::with_capacity(names.len());
        for name in names {
            let at = table.position_by_name(name).ok_or_else(|| no_column(table, name))?;
            let id = table.columns[at].id;
            if ids.contains(&id) {
                return Err(self.bad(format!("column {name} is named twice")));
            }
            ids.push(id);
        }
        if ids.is_empty() {
            return Err(self.bad("no columns are named".into()));
        }
        Ok(ids)
    }

    /// A unique index over just these columns, in any order.
    fn unique_index<'a>(
        &self,
        parent: &'a TableSchema,
        wanted: &[ColumnId],
    ) -> Result<&'a IndexSchema> {
        let fits = |i: &&IndexSchema| {
            i.unique
                && i.ready
                && i.is_complete()
                && i.key.len() == wanted.len()
                && i.key.iter().all(|p| wanted.contains(&p.column))
        };
        parent.indexes.iter().find(fits).ok_or_else(|| {
            self.bad(format!("table {} has no unique index over just these columns", parent.name))
        })
    }

    /// The child's columns in the order of the index.
    fn in_order_of(
        &self,
        parent: &TableSchema,
        index: &IndexSchema,
        columns: &[ColumnId],
    ) -> Result<Vec<ColumnId>> {
        if self.parent_columns.is_empty() {
            return Ok(columns.to_vec());
        }
        let wanted = self.ids(parent, &self.parent_columns)?;
        let ours = |column: ColumnId| wanted.iter().position(|w| *w == column).map(|i| columns[i]);
        let ordered: Option<Vec<ColumnId>> = index.key.iter().map(|p| ours(p.column)).collect();
        ordered.ok_or_else(|| self.bad("as many columns are needed on both sides".into()))
    }

    fn bad(&self, text: String) -> Error {
        Error::new(ErrorKind::InvalidInput, format!("foreign key {}: {text}", self.name))
    }
}

/// Whether values of a child's type are found in an index over the parent's without being changed.
fn refers(child: DataType, parent: DataType) -> bool {
    use DataType::{Int2, Int4, Int8, Text, Varchar};
    let is_int = |ty| matches!(ty, Int2 | Int4 | Int8);
    let is_text = |ty| matches!(ty, Text | Varchar(_));
    child == parent || is_int(child) && is_int(parent) || is_text(child) && is_text(parent)
}

fn column_of(table: &TableSchema, id: ColumnId) -> &ColumnSchema {
    &table.columns[table.position(id).expect("the column was found by name before")]
}

fn no_column(table: &TableSchema, name: &str) -> Error {
    let text = format!("table {} has no column {name}", table.name);
    Error::new(ErrorKind::UnknownColumn, text)
}

/// A default as the column stores it; `sequence` finds sequences.
pub(crate) fn build_default(
    column: &ColumnSchema,
    spec: &DefaultSpec,
    sequence: &dyn Fn(&str) -> Result<SequenceId>,
) -> Result<ColumnDefault> {
    if column.is_serial() {
        let text = format!("column {} takes its values from a counter already", column.name);
        return Err(Error::new(ErrorKind::InvalidInput, text));
    }
    match spec {
        DefaultSpec::Constant(value) => {
            let value = as_stored(column, value)?;
            Ok(ColumnDefault::Constant(value))
        }
        DefaultSpec::Sequence(name) => {
            let is_number = matches!(
                column.ty,
                DataType::Int2 | DataType::Int4 | DataType::Int8 | DataType::Numeric(_)
            );
            if !is_number {
                let text = format!("column {} is {}, no number", column.name, column.ty);
                return Err(Error::new(ErrorKind::WrongType, text));
            }
            Ok(ColumnDefault::NextVal(sequence(name)?))
        }
    }
}

/// A value as a column gives it back.
pub(crate) fn as_stored(column: &ColumnSchema, value: &Value) -> Result<Value> {
    let mut one = Column::new(column.ty.physical());
    convert::push_value(column.ty, value, &mut one, &column.name)?;
    Ok(convert::read_value(column.ty, &one, 0))
}

/// Checks a condition against a table's columns.
pub(crate) fn build_check(
    table: &TableSchema,
    name: &str,
    condition: &Expr<String>,
) -> Result<CheckSchema> {
    check_constraint_name(table, name)?;
    if table.checks.len() >= limits::CHECKS {
        return Err(too_many("checks", table.checks.len() + 1, limits::CHECKS));
    }
    condition.check_size()?;
    let expr = condition.with_columns(&mut |column: &String| {
        let at = table.position_by_name(column);
        at.map(|at| table.columns[at].id).ok_or_else(|| no_column(table, column))
    })?;
    // Who calculates a formula has judged it.
    if !matches!(expr, Expr::Formula(..)) {
        let bound = expr.bind(table);
        bound.map_err(|e| Error::new(e.kind(), format!("check {name}: {}", e.message())))?;
    }
    Ok(CheckSchema { name: name.to_owned(), expr, unproven: false, own: false })
}

fn check_constraint_name(table: &TableSchema, name: &str) -> Result<()> {
    check_name("constraint", name)?;
    let taken = table.checks.iter().any(|c| c.name == name)
        || table.foreign_keys.iter().any(|f| f.name == name)
        || table.indexes.iter().any(|i| i.is_rule() && i.name == name);
    if taken {
        let text = format!("table {} has a constraint named {name} already", table.name);
        return Err(Error::new(ErrorKind::AlreadyExists, text));
    }
    Ok(())
}
