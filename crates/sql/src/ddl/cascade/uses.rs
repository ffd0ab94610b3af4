//! What depends on something?
//!
//! One step of the way: what uses an object itself, with its place among objects.

use std::cell::OnceCell;
use std::collections::HashMap;
use std::sync::Arc;

use onlap::{ColumnDefault, ColumnId, IndexSchema, Table, TableId, TableSchema};

use super::Object;
use super::carried::Carried;
use super::members::Members;
use super::texts::{self, Texts};
use crate::catalog::aggregates::Aggregate;
use crate::catalog::functions::Function;
use crate::catalog::made_types::What;
use crate::catalog::{Kind, Name, called, extensions, oids};
use crate::columns::Types;
use crate::ddl::kept::Used;
use crate::ddl::{function, kin, materialized, policy, rule, sequence, trigger, view as views};
use crate::error::Result;
use crate::formulas;
use crate::view::View;

/// A step to something that depends on what was met.
pub struct Edge {
    /// What depends.
    pub object: Object,
    /// Its place: what was made later has a greater one.
    pub order: u32,
    /// Whether it goes without a word.
    pub silent: bool,
}

impl Edge {
    /// To something that is told.
    pub fn to(object: Object, order: u32) -> Edge {
        Edge { object, order, silent: false }
    }

    /// To something that goes without a word.
    pub fn silent(object: Object, order: u32) -> Edge {
        Edge { object, order, silent: true }
    }
}

impl From<Used> for Edge {
    fn from(used: Used) -> Edge {
        Edge::to(used.user, used.order)
    }
}

/// What is looked at for what depends on something.
pub struct Uses<'a> {
    /// What the statement sees.
    pub view: &'a View,
    tables: Vec<(Name, Table)>,
    by_id: HashMap<TableId, usize>,
    views: HashMap<u32, String>,
    members: OnceCell<Members>,
    carried: OnceCell<Carried>,
    texts: Texts,
    /// Columns by the OIDs of their types.
    columns: OnceCell<HashMap<u32, Vec<(TableId, ColumnId)>>>,
}

impl<'a> Uses<'a> {
    /// As the statement sees it.
    ///
    /// # Errors
    /// The transaction has ended.
    pub fn of(view: &'a View) -> Result<Uses<'a>> {
        let tables = view.tables()?;
        let places = tables.iter().enumerate().map(|(at, (_, table))| (table.schema().id, at));
        let by_id = places.collect();
        let own = view.objects.of_kind(Kind::View);
        let own = own.filter(|(engine, _)| Name::of_engine(engine).0 == view.database);
        let views = own.map(|(engine, of)| (oids::of_object(of.number), engine.to_string()));
        let (members, columns, carried) = (OnceCell::new(), OnceCell::new(), OnceCell::new());
        let (views, texts) = (views.collect(), Texts::default());
        Ok(Uses { view, by_id, views, tables, members, carried, texts, columns })
    }

    /// A table and its name.
    pub fn of_table(&self, id: TableId) -> Option<&(Name, Table)> {
        self.by_id.get(&id).map(|at| &self.tables[*at])
    }

    /// A table's name.
    pub fn name(&self, id: TableId) -> Option<&Name> {
        self.of_table(id).map(|(name, _)| name)
    }

    /// The table of an OID.
    pub fn table(&self, oid: u32) -> Option<TableId> {
        let id = TableId(oid.checked_sub(oids::of_table(TableId(0)))? / 2);
        self.by_id.contains_key(&id).then_some(id)
    }

    /// The engine's form of a view's name.
    pub fn view_name(&self, oid: u32) -> Option<&String> {
        self.views.get(&oid)
    }

    /// All tables of the database.
    pub fn tables(&self) -> impl Iterator<Item = (&Name, &Table)> {
        self.tables.iter().map(|(name, table)| (name, table))
    }

    /// The columns of a foreign key.
    pub fn key(&self, table: TableId, name: &str) -> Vec<ColumnId> {
        let schema = self.of_table(table).map(|(_, table)| table.schema());
        let keys = schema.iter().flat_map(|schema| &schema.foreign_keys);
        let mut own = keys.filter(|key| key.name == name);
        own.next().map(|key| key.columns.to_vec()).unwrap_or_default()
    }

    /// The columns of an index, and those that it calculates from; of an exclusion constraint those alone that are its elements.
    pub fn index(&self, table: TableId, name: &str) -> Vec<ColumnId> {
        let schema = self.of_table(table).map(|(_, table)| table.schema());
        let index = schema.as_ref().and_then(|of| of.index_by_name(name));
        let (Some(index), Some(schema)) = (index, &schema) else { return Vec::new() };
        if index.excludes().is_some() {
            return elements_of(schema, index).0;
        }
        let own = index.key.iter().map(|part| part.column).chain(index.filter);
        let reads = |id: ColumnId| schema.derived(id).map_or(vec![id], |of| of.reads.clone());
        own.flat_map(reads).collect()
    }

    /// Whether an index is that of an exclusion constraint.
    pub fn is_exclusion(&self, table: TableId, name: &str) -> bool {
        let schema = self.of_table(table).map(|(_, table)| table.schema());
        let index = schema.as_ref().and_then(|of| of.index_by_name(name));
        index.is_some_and(|index| index.excludes().is_some())
    }

    /// The columns that a condition of a table reads.
    pub fn check(&self, table: TableId, name: &str) -> Vec<ColumnId> {
        let schema = self.of_table(table).map(|(_, table)| table.schema());
        let check = schema.iter().flat_map(|schema| &schema.checks).find(|of| of.name == name);
        check.map(|check| check.expr.columns()).unwrap_or_default()
    }

    /// What depends on an object itself.
    ///
    /// # Errors
    /// The transaction has ended; `57014`.
    pub fn of_object(&self, object: &Object) -> Result<Vec<Edge>> {
        Ok(match object {
            Object::Schema(name) => self.of_schema(name)?,
            Object::Extension(name) => self.members()?.of_extension(name),
            Object::Member(oid) => {
                let mut found = self.members()?.of_member(*oid);
                found.extend(self.of_type(*oid, (&|_| false, 0))?);
                found
            }
            Object::Table(id) => self.of_relation(oids::of_table(*id), Some(*id))?,
            Object::View(oid) => self.of_relation(*oid, None)?,
            Object::Sequence(engine) => self.of_sequence(engine)?,
            Object::Column(table, column) => self.of_column(*table, *column)?,
            Object::Function(oid) => match self.view.objects.functions().by_oid(*oid) {
                Some(function) => self.of_function(function)?,
                None => Vec::new(),
            },
            Object::Type(oid) => {
                let Some(made) = self.view.objects.made_types().get(*oid) else {
                    return Ok(Vec::new());
                };
                let mut found = self.of_type(*oid, (&|_| true, texts::DEAR))?;
                found.push(Edge::silent(Object::Part(made.array), 0));
                found
            }
            Object::Part(oid) => self.of_part(*oid)?,
            Object::Index(..)
            | Object::Default(..)
            | Object::Key(..)
            | Object::Rule(..)
            | Object::Trigger(..)
            | Object::Policy(..)
            | Object::Field(..)
            | Object::Check(..)
            | Object::Constraint(..) => Vec::new(),
        })
    }

    fn carried(&self) -> &Carried {
        self.carried.get_or_init(|| Carried::of(self.tables().map(|(_, table)| table.schema())))
    }

    fn members(&self) -> Result<&Members> {
        if let Some(found) = self.members.get() {
            return Ok(found);
        }
        let found = Members::of(self)?;
        Ok(self.members.get_or_init(|| found))
    }

    /// All that is in a schema.
    fn of_schema(&self, schema: &str) -> Result<Vec<Edge>> {
        let view = self.view;
        let mut found = Vec::new();
        let own = |engine: &str| {
            let (database, name) = Name::of_engine(engine);
            database == view.database && name.schema == schema
        };
        for (_, table) in self.tables().filter(|(name, _)| name.schema == schema) {
            let id = table.schema().id;
            found.push(Edge::to(Object::Table(id), oids::of_table(id)));
        }
        for (oid, _) in self.views.iter().filter(|(_, engine)| own(engine)) {
            found.push(Edge::to(Object::View(*oid), *oid));
        }
        let sequences = view.scope.tx()?.sequences();
        for sequence in sequences.iter().filter(|sequence| own(sequence.name())) {
            let engine = sequence.name().to_string();
            found.push(Edge::to(Object::Sequence(engine), 0));
        }
        let functions = view.objects.functions().of_database(&view.database);
        for function in functions.filter(|of| of.name.schema == schema) {
            found.push(Edge::to(Object::Function(function.oid), function.oid));
        }
        let types = view.objects.made_types().of_database(&view.database);
        for made in types.filter(|made| made.name.schema == schema) {
            found.push(Edge::to(Object::Type(made.oid), made.oid));
        }
        for created in extensions::all(view).filter(|created| created.schema == schema) {
            found.push(Edge::to(Object::Extension(created.extension.name), created.oid));
        }
        Ok(found)
    }

    /// What reads a table or view, has rules that name it, keys that refer to it, or stands below it.
    fn of_relation(&self, oid: u32, table: Option<TableId>) -> Result<Vec<Edge>> {
        let view = self.view;
        let mut found = self.readers(views::users(view, oid))?;
        for rule in rule::users(view, oid) {
            let object = Object::Rule(rule.relation, rule.name.to_string());
            found.push(Edge::to(object, oids::of_object(rule.object.number)));
        }
        for policy in policy::users(view, oid) {
            let object = Object::Policy(policy.relation, policy.name.to_string());
            found.push(Edge::to(object, policy.oid()));
        }
        let row = oids::of_row(oid);
        found.push(Edge::silent(Object::Part(row), 0));
        let Some(id) = table else { return Ok(found) };
        let families = view.objects.families();
        for below in families.below(id) {
            let object = Object::Table(*below);
            let order = oids::of_table(*below);
            found.push(match families.bound(*below) {
                Some(_) => Edge::silent(object, order),
                None => Edge::to(object, order),
            });
        }
        for (_, other) in self.tables() {
            let schema = other.schema();
            let keys = schema.foreign_keys.iter().filter(|key| key.parent == id);
            let order = oids::of_table(schema.id);
            found.extend(keys.map(|k| Edge::to(Object::Key(schema.id, k.name.clone()), order)));
        }
        let owned = sequence::owned_by(view, id, None).into_iter();
        found.extend(owned.map(|engine| Edge::silent(Object::Sequence(engine), 0)));
        Ok(found)
    }

    fn readers(&self, engines: Vec<String>) -> Result<Vec<Edge>> {
        let here = |engine: &String| Name::of_engine(engine).0 == self.view.database;
        let edge = |engine: String| {
            let object = super::relation(self.view, &engine)?;
            let order = match &object {
                Object::View(oid) => *oid,
                Object::Table(id) => oids::of_table(*id),
                _ => 0,
            };
            Ok(Edge::to(object, order))
        };
        engines.into_iter().filter(here).map(edge).collect()
    }

    /// Columns that a sequence fills.
    fn of_sequence(&self, engine: &str) -> Result<Vec<Edge>> {
        let Ok(sequence) = self.view.scope.tx()?.sequence(engine) else { return Ok(Vec::new()) };
        let id = sequence.schema().id;
        let mut found = Vec::new();
        for (_, table) in self.tables() {
            let schema = table.schema();
            let is = Some(ColumnDefault::NextVal(id));
            for column in schema.columns.iter().filter(|column| column.default == is) {
                let object = Object::Default(schema.id, column.id);
                found.push(Edge::to(object, oids::of_table(schema.id)));
            }
        }
        Ok(found)
    }

    fn of_column(&self, table: TableId, column: ColumnId) -> Result<Vec<Edge>> {
        let view = self.view;
        let Some((_, of)) = self.of_table(table) else { return Ok(Vec::new()) };
        let (schema, oid) = (of.schema(), oids::of_table(table));
        let mut found = self.readers(views::users_of_column(view, oid, column.0 + 1))?;
        for rule in rule::users_of_column(view, oid, column.0 + 1) {
            let object = Object::Rule(rule.relation, rule.name.to_string());
            found.push(Edge::to(object, oids::of_object(rule.object.number)));
        }
        for policy in policy::users_of_column(view, oid, column.0 + 1) {
            let object = Object::Policy(policy.relation, policy.name.to_string());
            found.push(Edge::to(object, policy.oid()));
        }
        for trigger in trigger::of_column(view, &schema, column) {
            found.push(Edge::to(Object::Trigger(trigger.relation, trigger.name), trigger.oid));
        }
        for generated in schema.generated_from(column) {
            found.push(Edge::to(Object::Column(table, generated), oid));
        }
        found.extend(self.of_keys(&schema, column));
        found.extend(of_exclusions(&schema, column));
        let owned = sequence::owned_by(view, table, Some(column)).into_iter();
        found.extend(owned.map(|engine| Edge::silent(Object::Sequence(engine), 0)));
        Ok(found)
    }

    /// Foreign keys that refer to a column of a table.
    fn of_keys(&self, schema: &TableSchema, column: ColumnId) -> Vec<Edge> {
        let has = |columns: &[ColumnId]| columns.contains(&column);
        let own =
            schema.indexes.iter().filter(|index| index.key.iter().any(|k| k.column == column));
        let own: Vec<_> = own.map(|index| index.id).collect();
        let mut found = Vec::new();
        for (_, other) in self.tables() {
            let other = other.schema();
            for key in other.foreign_keys.iter().filter(|key| own.contains(&key.parent_index)) {
                if other.id != schema.id || !has(&key.columns) {
                    let object = Object::Key(other.id, key.name.clone());
                    found.push(Edge::to(object, oids::of_table(other.id)));
                }
            }
        }
        found
    }

    fn of_function(&self, of: &Function) -> Result<Vec<Edge>> {
        let may = |text: &str, is_expr: bool| called::calls(text, is_expr, of);
        let mut found = self.texts.naming(self.view, of.oid, (&may, texts::DEAR))?;
        found.extend(self.carried().of_oid(of.oid));
        let all = self.view.objects.functions().of_database(&self.view.database);
        let uses = |other: &&Arc<Function>| {
            other.aggregate.iter().flat_map(Aggregate::functions).any(|oid| oid == of.oid)
        };
        let aggregates = all.filter(uses);
        found.extend(aggregates.map(|of| Edge::to(Object::Function(of.oid), of.oid)));
        Ok(found)
    }

    /// What uses the type of a relation's rows, or a type of arrays.
    fn of_part(&self, oid: u32) -> Result<Vec<Edge>> {
        if self.view.objects.made_types().get(oid).is_some() {
            return self.of_type(oid, (&|_| true, texts::DEAR));
        }
        let relations = self.tables().map(|(name, table)| {
            let row = oids::of_row(oids::of_table(table.schema().id));
            (row, name.name.clone())
        });
        let views = self.views.iter().map(|(oid, engine)| {
            let name = Name::of_engine(engine).1.name;
            (oids::of_row(*oid), name)
        });
        let own = relations.chain(views).find(|(row, _)| *row == oid || *row + 1 == oid);
        let Some((row, name)) = own else { return Ok(Vec::new()) };
        // A text has a value of it where it says its name, or gives one to a function.
        let functions = function::with_types(self.view, &[oid]);
        let may =
            |text: &str| says(text, &name) || functions.iter().any(|of| says(text, &of.name.name));
        let mut found = self.of_type(oid, (&may, 1))?;
        if row == oid {
            found.push(Edge::silent(Object::Part(oid + 1), 0));
        }
        Ok(found)
    }

    /// Columns of a type; those of materialized views go by what their queries name.
    fn columns_with(&self, oid: u32) -> &[(TableId, ColumnId)] {
        let all = self.columns.get_or_init(|| {
            let mut all: HashMap<u32, Vec<(TableId, ColumnId)>> = HashMap::new();
            for (_, table) in self.tables().filter(|(_, of)| !materialized::is(self.view, of)) {
                let schema = table.schema();
                let types = Types::of(&self.view.objects, &schema);
                // Behind the columns are those that indexes calculate.
                for (column, ty) in schema.columns.iter().zip(types.iter()) {
                    all.entry(ty.pg.oid).or_default().push((schema.id, column.id));
                }
            }
            all
        });
        all.get(&oid).map_or(&[], |found| found.as_slice())
    }

    /// What has a type; which texts are gone through, since these may name it.
    fn of_type(&self, oid: u32, (may, price): (&dyn Fn(&str) -> bool, u32)) -> Result<Vec<Edge>> {
        let view = self.view;
        let mut found = Vec::new();
        for (table, column) in self.columns_with(oid) {
            // A table does not stay without what it divides its rows by.
            let object = match kin::divides_by(view, self.of_table(*table), *column) {
                true => Object::Table(*table),
                false => Object::Column(*table, *column),
            };
            found.push(Edge::to(object, oids::of_table(*table)));
        }
        for other in view.objects.made_types().of_database(&view.database) {
            match &other.what {
                What::Domain(domain) if domain.base.oid == oid => {
                    found.push(Edge::to(Object::Type(other.oid), other.oid));
                }
                What::Composite(of) => {
                    let fields = of.fields.iter().filter(|(_, ty)| ty.oid == oid);
                    let field = |name: &String| Object::Field(other.oid, name.clone());
                    found.extend(fields.map(|(name, _)| Edge::to(field(name), of.relation)));
                }
                What::Domain(_) | What::Enum(_) => {}
            }
        }
        let functions = function::with_types(view, &[oid]).into_iter();
        found.extend(functions.map(|of| Edge::to(Object::Function(of.oid), of.oid)));
        found.extend(self.texts.naming(view, oid, (&|text, _| may(text), price))?);
        found.extend(self.carried().of_oid(oid));
        Ok(found)
    }
}

/// Whether a text may have a name in it; quotes in names are written twice.
fn says(text: &str, name: &str) -> bool {
    name.contains('"') || text.contains(name)
}

/// The columns that an exclusion constraint has as elements, with which it goes, and those that its expressions and its WHERE read.
fn elements_of(schema: &TableSchema, index: &IndexSchema) -> (Vec<ColumnId>, Vec<ColumnId>) {
    let (mut own, mut read) = (index.include.clone(), Vec::new());
    for id in index.key.iter().map(|part| part.column).chain(index.filter) {
        let Some(derived) = schema.derived(id) else {
            own.push(id);
            continue;
        };
        let span = formulas::program_of(derived).ok().and_then(|program| program.span);
        let into = if span.is_some_and(|of| of.whole) { &mut own } else { &mut read };
        into.extend(&derived.reads);
    }
    (own, read)
}

/// Exclusion constraints that read a column which is none of their elements: as in PostgreSQL, they do not go with it without
/// a word.
fn of_exclusions(schema: &TableSchema, column: ColumnId) -> Vec<Edge> {
    let depends = |index: &&IndexSchema| {
        let (own, read) = elements_of(schema, index);
        read.contains(&column) && !own.contains(&column)
    };
    let all = schema.indexes.iter().filter(|index| index.excludes().is_some());
    let edge = |index: &IndexSchema| {
        let object = Object::Index(schema.id, index.name.clone());
        Edge::to(object, oids::of_index_constraint(index.id))
    };
    all.filter(depends).map(edge).collect()
}
