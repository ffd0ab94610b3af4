//! What does a table look like after its changes, and what is to be done for it?
//!
//! A [`Plan`] is worked out from the schema alone: the new schema, and whether rows have to be looked
//! at, converted, or sorted anew. It touches no row.
//!
//! Pure.

use std::collections::BTreeSet;
use std::sync::Arc;

use onlap_base::{ColumnId, Error, ErrorKind, IndexId, Result, limits};
use onlap_format::{
    Column, ColumnDefault, ColumnSchema, DataType, Row, TableSchema, Value, convert,
};

use crate::rules::{FindSequence, References};
use crate::spec::{
    Conversion, Convert, DefaultSpec, TableChange, build_default, check_name, check_type, too_many,
};

/// What values of a column are calculated of.
#[derive(Clone)]
pub(crate) struct Reads {
    /// The columns, as they were.
    pub columns: Vec<ColumnId>,
    /// What calculates them.
    pub by: Arc<dyn Convert>,
}

impl std::fmt::Debug for Reads {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Reads").field("columns", &self.columns).finish_non_exhaustive()
    }
}

impl Reads {
    /// The value for one row; `places` are those of the columns in it, with their types.
    pub(crate) fn value(
        &self,
        row: &Row,
        places: &[(usize, DataType)],
        ty: DataType,
    ) -> Result<Value> {
        let input = |(at, ty): &(usize, DataType)| {
            let mut column = Column::new(ty.physical());
            convert::push_value(*ty, &row[*at], &mut column, "")?;
            Ok(column)
        };
        let inputs = places.iter().map(input).collect::<Result<Vec<Column>>>()?;
        assert_eq!(inputs.len(), self.columns.len(), "a conversion gets what it reads");
        let made = self.by.convert(&inputs, 1)?;
        assert_eq!(made.len(), 1, "a conversion gives a value for the row");
        Ok(convert::read_value(ty, &made, 0))
    }
}

/// What a change of a table takes.
#[derive(Debug)]
pub(crate) struct Plan {
    pub schema: TableSchema,
    /// Columns came, went or changed their type: no memtable may outlive the change.
    pub columns: bool,
    /// Columns in which no row may have NULL.
    pub not_null: BTreeSet<ColumnId>,
    /// Columns whose values are rewritten, with the column that takes their place.
    pub convert: Vec<(ColumnId, ColumnId)>,
    /// What calculates those values, by the column that takes the place; others take another form by way of their texts.
    pub conversions: Vec<(ColumnId, Reads)>,
    /// Indexes that are built anew, under another id.
    pub rebuild: BTreeSet<IndexId>,
    /// Whether rows that are there are replaced, so that new columns are calculated of them.
    pub generates: bool,
    /// Columns from this id on are new.
    first_new: u32,
}

impl Plan {
    /// `taken`: ids of columns below were given before, and perhaps taken back.
    pub(crate) fn new(
        schema: &TableSchema,
        taken: u32,
        changes: &[TableChange],
        references: &References,
        sequences: &FindSequence<'_>,
    ) -> Result<Plan> {
        let first_new = schema.next_column.max(taken);
        let mut plan = Plan {
            schema: TableSchema { next_column: first_new, ..schema.clone() },
            columns: false,
            not_null: BTreeSet::new(),
            convert: Vec::new(),
            conversions: Vec::new(),
            rebuild: BTreeSet::new(),
            generates: false,
            first_new,
        };
        for change in changes {
            plan.add(change, references, sequences)?;
        }
        plan.schema.version += 1;
        Ok(plan)
    }

    fn add(
        &mut self,
        change: &TableChange,
        references: &References,
        sequences: &FindSequence<'_>,
    ) -> Result<()> {
        match change {
            TableChange::AddColumn { name, ty, default } => {
                self.add_column(name, *ty, default.as_ref())
            }
            TableChange::DropColumn { name, cascade } => {
                self.drop_column(name, *cascade, references)
            }
            TableChange::RenameColumn { name, to } => {
                check_name("column", to)?;
                let at = self.column(name)?;
                self.check_free(to)?;
                self.schema.columns[at].name = to.clone();
                Ok(())
            }
            TableChange::SetType { name, ty, by } => {
                self.set_type(name, *ty, by.as_ref(), references)
            }
            TableChange::SetNullable { name, nullable } => self.set_nullable(name, *nullable),
            TableChange::SetDefault { name, default } => {
                let at = self.column(name)?;
                let default = default.as_ref();
                self.schema.columns[at].default =
                    default.map(|v| constant(&self.schema.columns[at], v)).transpose()?;
                Ok(())
            }
            TableChange::SetDefaultSequence { name, sequence } => {
                let at = self.column(name)?;
                let default = DefaultSpec::Sequence(sequence.clone());
                let column = &mut self.schema.columns[at];
                column.default = Some(build_default(column, &default, sequences)?);
                Ok(())
            }
            TableChange::MakePrimary { index } => self.make_primary(index),
            TableChange::MakeSecondary { index } => {
                if self.schema.blind {
                    let text = format!("table {} takes blind writes by its key", self.schema.name);
                    return Err(Error::new(ErrorKind::Unsupported, text));
                }
                let found = self.schema.indexes.iter_mut().find(|i| i.name == *index && i.primary);
                found.ok_or_else(|| unknown_index(index))?.primary = false;
                Ok(())
            }
            TableChange::RenameConstraint { name, to } => self.rename_constraint(name, to),
            TableChange::RenameIndex { name, to } => {
                check_name("index", to)?;
                if self.schema.index_by_name(to).is_some() {
                    return Err(exists(&self.schema, "an index", to));
                }
                let is_rule = self.schema.index_by_name(name).is_some_and(|i| i.is_rule());
                if is_rule && self.has_rule(to) {
                    return Err(exists(&self.schema, "a constraint", to));
                }
                let index = self.schema.indexes.iter_mut().find(|i| i.name == *name);
                index.ok_or_else(|| unknown_index(name))?.name = to.clone();
                Ok(())
            }
            TableChange::Rename { to } => {
                check_name("table", to)?;
                self.schema.name = to.clone();
                Ok(())
            }
            derived => self.change_derived(derived, references),
        }
    }

    /// Changes of what indexes and generated columns calculate.
    fn change_derived(&mut self, change: &TableChange, references: &References) -> Result<()> {
        match change {
            TableChange::Derive { index } => self.columns |= index.derive(&mut self.schema)?,
            TableChange::ForgetDerived => self.columns |= self.schema.forget_unused_derived(),
            TableChange::DropIndex { name } => {
                let index = super::droppable_index(references, &self.schema, name)?;
                self.schema.indexes.retain(|i| i.id != index);
                self.columns |= self.schema.forget_unused_derived();
            }
            TableChange::RenameDerived { id, to } => {
                let derived = self.schema.derived.iter_mut().find(|d| d.column.id == *id);
                derived.into_iter().for_each(|d| d.column.name.clone_from(to));
            }
            TableChange::Generate(generated) => {
                let at = self.column(&generated.column)?;
                if self.schema.columns[at].id.0 < self.first_new {
                    let text = format!("column {} is not new", generated.column);
                    return Err(Error::new(ErrorKind::Unsupported, text));
                }
                self.generates = true;
                generated.add(&mut self.schema)?;
            }
            TableChange::DropExpression { name } => {
                let id = self.schema.columns[self.column(name)?].id;
                self.schema.generated.retain(|of| of.column != id);
                self.columns = true;
            }
            other => unreachable!("{other:?} is made above"),
        }
        Ok(())
    }

    fn make_primary(&mut self, name: &str) -> Result<()> {
        if let Some(primary) = self.schema.primary() {
            let text = format!("table {} has the primary key {}", self.schema.name, primary.name);
            return Err(Error::new(ErrorKind::AlreadyExists, text));
        }
        let index = self.schema.indexes.iter_mut().find(|i| i.name == name);
        let index = index.ok_or_else(|| unknown_index(name))?;
        if !index.unique {
            let text = format!("{name} is not a unique index, so it is no primary key");
            return Err(Error::new(ErrorKind::Unsupported, text));
        }
        index.primary = true;
        let key: Vec<ColumnId> = index.key.iter().map(|k| k.column).collect();
        for column in self.schema.columns.iter_mut().filter(|c| key.contains(&c.id)) {
            if std::mem::replace(&mut column.nullable, false) {
                self.not_null.insert(column.id);
            }
        }
        Ok(())
    }

    fn has_rule(&self, name: &str) -> bool {
        let mut checks = self.schema.checks.iter().map(|check| &check.name);
        checks.any(|n| n == name) || self.schema.foreign_keys.iter().any(|key| key.name == name)
    }

    fn rename_constraint(&mut self, name: &str, to: &str) -> Result<()> {
        check_name("constraint", to)?;
        if self.schema.index_by_name(to).is_some_and(|index| index.is_rule()) {
            return Err(exists(&self.schema, "a constraint", to));
        }
        let schema = &mut self.schema;
        let checks = schema.checks.iter_mut().map(|c| &mut c.name);
        let mut names: Vec<_> =
            checks.chain(schema.foreign_keys.iter_mut().map(|k| &mut k.name)).collect();
        if names.iter().any(|n| *n == to) {
            return Err(exists(&self.schema, "a constraint", to));
        }
        match names.iter_mut().find(|n| **n == name) {
            Some(found) => {
                **found = to.to_string();
                Ok(())
            }
            None => {
                let table = &self.schema.name;
                let text = format!("table {table} has no check or foreign key named {name}");
                Err(Error::new(ErrorKind::UnknownConstraint, text))
            }
        }
    }

    fn column(&self, name: &str) -> Result<usize> {
        self.schema.position_by_name(name).ok_or_else(|| {
            let text = format!("table {} has no column {name}", self.schema.name);
            Error::new(ErrorKind::UnknownColumn, text)
        })
    }

    fn check_free(&self, name: &str) -> Result<()> {
        match self.schema.position_by_name(name) {
            Some(_) => Err(exists(&self.schema, "a column", name)),
            None => Ok(()),
        }
    }

    fn take_id(&mut self) -> ColumnId {
        self.schema.next_column += 1;
        ColumnId(self.schema.next_column - 1)
    }

    fn add_column(&mut self, name: &str, ty: DataType, default: Option<&Value>) -> Result<()> {
        check_name("column", name)?;
        check_type(name, ty)?;
        self.check_free(name)?;
        let n = self.schema.columns.len() + 1;
        if n > limits::COLUMNS {
            return Err(too_many("columns", n, limits::COLUMNS));
        }
        let mut column = ColumnSchema::new(self.take_id(), name, ty, true);
        column.default = default.map(|v| constant(&column, v)).transpose()?;
        column.missing = match &column.default {
            Some(ColumnDefault::Constant(value)) if *value != Value::Null => Some(value.clone()),
            _ => None,
        };
        self.schema.columns.push(column);
        self.columns = true;
        Ok(())
    }

    fn drop_column(&mut self, name: &str, cascade: bool, references: &References) -> Result<()> {
        let at = self.column(name)?;
        let id = self.schema.columns[at].id;
        let schema = &self.schema;
        let in_primary = schema.primary().is_some_and(|p| p.key.iter().any(|k| k.column == id));
        if in_primary || (!cascade && self.user_of(id).is_some()) {
            let user = self.user_of(id).unwrap_or_default();
            return Err(in_use(&self.schema, name, &user));
        }
        if schema.generated_from(id).next().is_some() {
            return Err(in_use(&self.schema, name, "a generated column"));
        }
        let with = self.indexes_with(id);
        for index in &with {
            references.check_index_droppable(&self.schema, *index)?;
        }
        self.schema.indexes.retain(|i| !with.contains(&i.id));
        self.schema.forget_unused_derived();
        self.schema.checks.retain(|c| !c.expr.columns().contains(&id));
        self.schema.foreign_keys.retain(|f| !f.columns.contains(&id));
        self.schema.generated.retain(|of| of.column != id);
        self.schema.columns.remove(at);
        self.not_null.remove(&id);
        self.convert.retain(|c| c.1 != id);
        self.conversions.retain(|c| c.0 != id);
        self.columns = true;
        Ok(())
    }

    /// Indexes that have a column, or calculate with it.
    fn indexes_with(&self, column: ColumnId) -> Vec<IndexId> {
        let schema = &self.schema;
        let with = schema
            .indexes
            .iter()
            .filter(|i| has_column(i, column) || schema.columns_of(i).contains(&column));
        with.map(|i| i.id).collect()
    }

    /// An index, check or foreign key of the table that has a column.
    fn user_of(&self, column: ColumnId) -> Option<String> {
        let schema = &self.schema;
        let with = self.indexes_with(column);
        let index = schema.indexes.iter().find(|i| with.contains(&i.id));
        let index = index.map(|i| format!("index {}", i.name));
        index.or_else(|| self.constraint_of(column))
    }

    fn constraint_of(&self, column: ColumnId) -> Option<String> {
        let check = self.schema.checks.iter().find(|c| c.expr.columns().contains(&column));
        let check = check.map(|c| format!("check {}", c.name));
        check.or_else(|| self.key_of(column))
    }

    /// What needs a column as it is. What is calculated from a text, and judged of it, stays where the text may only be
    /// longer.
    fn keeps_type(&self, column: &ColumnSchema, ty: DataType, other: bool) -> Option<String> {
        match !other && gets_longer(column.ty, ty) && self.schema.generated(column.id).is_none() {
            true => self.key_of(column.id),
            false => self.constraint_of(column.id).or_else(|| self.reader_of(column.id)),
        }
    }

    fn key_of(&self, column: ColumnId) -> Option<String> {
        let key = self.schema.foreign_keys.iter().find(|f| f.columns.contains(&column));
        key.map(|k| format!("foreign key {}", k.name))
    }

    /// Fails where something keeps a column from having another type, or `other` values.
    fn may_change(&self, old: &ColumnSchema, ty: DataType, other: bool) -> Result<()> {
        let name = &old.name;
        let in_key = |p: &onlap_format::IndexSchema| p.key.iter().any(|k| k.column == old.id);
        if self.schema.blind && self.schema.primary().is_some_and(in_key) {
            let text = format!("column {name} is of the key of a table with blind writes");
            return Err(Error::new(ErrorKind::Unsupported, text));
        }
        if old.is_serial() {
            let text = format!("column {name} is filled by a counter and stays {}", old.ty);
            return Err(Error::new(ErrorKind::Unsupported, text));
        }
        if let Some(user) = self.keeps_type(old, ty, other) {
            return Err(in_use(&self.schema, name, &user));
        }
        Ok(())
    }

    /// What a conversion reads, of the columns that there were before all changes.
    fn reads_of(&self, by: &Conversion, old: &ColumnSchema) -> Result<Reads> {
        let known = |name: &String| {
            let at = self.column(name)?;
            let id = self.schema.columns[at].id;
            let first = self.convert.iter().find(|c| c.1 == id).map_or(id, |c| c.0);
            if first.0 >= self.first_new {
                let text = format!("column {} is calculated of a new column {name}", old.name);
                return Err(Error::new(ErrorKind::Unsupported, text));
            }
            Ok(first)
        };
        let columns = by.reads.iter().map(known).collect::<Result<_>>()?;
        Ok(Reads { columns, by: Arc::clone(&by.by) })
    }

    fn set_type(
        &mut self,
        name: &str,
        ty: DataType,
        by: Option<&Conversion>,
        references: &References,
    ) -> Result<()> {
        check_type(name, ty)?;
        let at = self.column(name)?;
        let old = self.schema.columns[at].clone();
        let by = by.map(|by| self.reads_of(by, &old)).transpose()?;
        if old.ty == ty && by.is_none() {
            return Ok(());
        }
        self.may_change(&old, ty, by.is_some())?;
        let mut column = old.clone();
        column.ty = ty;
        if let Some(ColumnDefault::Constant(value)) = &old.default {
            let value = super::convert::cast(value, old.ty, ty, name)?;
            column.default = Some(constant(&column, &value)?);
        }
        let is_new = old.id.0 >= self.first_new;
        if is_new {
            column.missing = match &column.default {
                Some(ColumnDefault::Constant(value)) if old.missing.is_some() => {
                    Some(value.clone())
                }
                _ => None,
            };
        }
        let in_place = by.is_none() && (is_new || is_lossless(old.ty, ty));
        if !in_place {
            column.id = self.take_id();
            column.missing = None;
            // What was converted once is converted from its first form.
            let first = self.convert.iter().find(|c| c.1 == old.id).map_or(old.id, |c| c.0);
            self.convert.retain(|c| c.1 != old.id);
            self.conversions.retain(|c| c.0 != old.id);
            self.convert.push((first, column.id));
            self.conversions.extend(by.map(|by| (column.id, by)));
            if self.not_null.remove(&old.id) || !old.nullable {
                self.not_null.insert(column.id);
            }
        }
        for index in self.schema.indexes.iter_mut().filter(|i| has_column(i, old.id)) {
            let in_key = index.key.iter().any(|k| k.column == old.id);
            if in_key && !ty.is_ordered() {
                let text = format!("index {} has column {name}; {ty} has no order", index.name);
                return Err(Error::new(ErrorKind::WrongType, text));
            }
            if !in_place || in_key && !same_keys(old.ty, ty) {
                self.rebuild.insert(index.id);
            }
            let keys = index.key.iter_mut().map(|k| &mut k.column);
            let all = keys.chain(&mut index.include).filter(|c| **c == old.id);
            all.for_each(|c| *c = column.id);
        }
        for &index in &self.rebuild {
            if self.schema.index(index).is_some() {
                references.check_index_droppable(&self.schema, index)?;
            }
        }
        self.schema.columns[at] = column;
        self.columns = true;
        Ok(())
    }

    /// What is calculated from a column, or calculates it.
    fn reader_of(&self, column: ColumnId) -> Option<String> {
        let read = self.schema.derived.iter().find(|d| d.reads.contains(&column));
        let read = read.map(|d| format!("the expression {} of an index", d.column.name));
        let generates = self.schema.generated(column).is_some()
            || self.schema.generated_from(column).next().is_some();
        read.or(generates.then(|| "a generated column".to_owned()))
    }

    fn set_nullable(&mut self, name: &str, nullable: bool) -> Result<()> {
        let at = self.column(name)?;
        let column = &self.schema.columns[at];
        let in_key = |k: &onlap_format::KeyPart| k.column == column.id;
        let primary = self.schema.primary().is_some_and(|p| p.key.iter().any(in_key));
        if nullable && (primary || column.is_serial()) {
            let text = format!("column {name} is of the primary key or filled by a counter");
            return Err(Error::new(ErrorKind::Unsupported, text));
        }
        if nullable {
            self.not_null.remove(&column.id);
        } else if column.nullable {
            self.not_null.insert(column.id);
        }
        self.schema.columns[at].nullable = nullable;
        Ok(())
    }
}

fn has_column(index: &onlap_format::IndexSchema, column: ColumnId) -> bool {
    index.key.iter().any(|k| k.column == column) || index.include.contains(&column)
}

fn constant(column: &ColumnSchema, value: &Value) -> Result<ColumnDefault> {
    let none = |_: &str| unreachable!("a constant names no sequence");
    build_default(column, &DefaultSpec::Constant(value.clone()), &none)
}

/// Whether every value of the old type is one of the new type in the same physical form.
fn is_lossless(from: DataType, to: DataType) -> bool {
    use DataType::{Int2, Int4, Int8, Json, Numeric, Text, Varchar};
    match (from, to) {
        (Int2, Int4 | Int8) | (Int4, Int8) | (Varchar(_) | Json, Text) => true,
        (Varchar(a), Varchar(b)) => a <= b,
        (Numeric(Some((p, s))), Numeric(Some((q, t)))) => p <= q && s == t,
        _ => false,
    }
}

/// Whether texts keep to the other type as they are, and it is a text with a length.
fn gets_longer(from: DataType, to: DataType) -> bool {
    matches!((from, to), (DataType::Varchar(a), DataType::Varchar(b)) if a <= b)
}

/// Whether keys of both types are the same bytes.
fn same_keys(from: DataType, to: DataType) -> bool {
    use DataType::{Numeric, Text, Varchar};
    matches!((from, to), (Varchar(_), Varchar(_) | Text) | (Numeric(_), Numeric(_)))
}

fn exists(schema: &TableSchema, what: &str, name: &str) -> Error {
    let text = format!("table {} has {what} named {name} already", schema.name);
    Error::new(ErrorKind::AlreadyExists, text)
}

fn unknown_index(name: &str) -> Error {
    Error::new(ErrorKind::UnknownIndex, format!("there is no index named {name}"))
}

fn in_use(schema: &TableSchema, column: &str, user: &str) -> Error {
    let text = format!("{user} of table {} has column {column}; drop that first", schema.name);
    Error::new(ErrorKind::InUse, text)
}
