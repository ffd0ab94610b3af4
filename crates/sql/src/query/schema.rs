//! What do the names of relations stand for, as a statement's view finds them?

use std::cell::{Cell, RefCell};
use std::collections::HashMap;
use std::iter::repeat;
use std::rc::Rc;
use std::sync::Arc;

use onlap_pg::bind::{Column, Relation, Schema};
use onlap_pg::catalog::Catalog;
use onlap_pg::{Error, Oid, Result, TypeRef};
use serde_json::Value as Json;

use super::family::Family;
use super::tables::Known;
use super::transition::Transition;
use super::views::{Others, of_sql};
use super::{catalogs, row_types, sequences};
use crate::catalog::made_types::Made;
use crate::catalog::{Kind, Name, bound, extensions, oids};
use crate::columns::ColumnType;
use crate::error::SqlError;
use crate::plan::TableHandle;
use crate::system::definitions;
use crate::types::PgType;
use crate::view::{self, INFORMATION_SCHEMA, ONLAP_STAT, PG_CATALOG, View};

/// The relations of a statement.
#[derive(Clone)]
pub struct Names<'a> {
    pub(super) view: &'a View,
    pub(super) found: Rc<Found>,
    /// What is kept of the view whose text is bound.
    pub(super) body: Option<&'a Json>,
    /// Whether texts are bound to be printed, and no rows are read.
    pub(super) printing: bool,
}

/// What was found, also by the texts of views.
pub struct Found {
    pub(super) known: RefCell<Known>,
    pub(super) others: RefCell<Others>,
    /// Types, with those of the rows of what was found.
    pub(super) catalog: Arc<Catalog>,
    /// Views whose texts are being bound, the outermost first.
    pub(super) within: RefCell<Vec<Oid>>,
    /// Tables whose policies are being bound, the outermost first.
    pub(super) secured: RefCell<Vec<Oid>>,
    /// How often policies of a table were asked for.
    pub(super) policies: Cell<usize>,
    /// Why what a view reads may not be read.
    pub(super) refused: RefCell<Option<SqlError>>,
    /// Relations by the types of their rows.
    rows: RefCell<HashMap<Oid, Arc<Relation>>>,
    /// Whether a name stands for what this way does not carry out.
    other: Cell<bool>,
}

impl<'a> Names<'a> {
    /// What reads literals as the session does.
    pub fn reader(&self) -> super::Reader {
        super::Reader::new(self.view)
    }

    /// What the statement sees.
    pub fn view(&self) -> &'a View {
        self.view
    }

    /// None are known yet.
    pub fn new(view: &'a View) -> Names<'a> {
        let found = Found {
            known: RefCell::default(),
            others: RefCell::default(),
            catalog: Arc::new(
                view.objects.made_types().seen_from(view).finding(row_types::finder(view)),
            ),
            within: RefCell::default(),
            secured: RefCell::default(),
            policies: Cell::new(0),
            refused: RefCell::default(),
            rows: RefCell::default(),
            other: Cell::new(false),
        };
        Names { view, found: Rc::new(found), body: None, printing: false }
    }

    /// The types that a statement of these names can have.
    pub fn catalog(&self) -> &Catalog {
        &self.found.catalog
    }

    /// The same, for those that keep it.
    pub fn shared_catalog(&self) -> &Arc<Catalog> {
        &self.found.catalog
    }

    /// Whether a name stands for what goes the other way.
    pub fn is_other(&self) -> bool {
        self.found.other.get()
    }

    /// What was found: tables of the engine, other relations, types.
    pub fn into_parts(self) -> (Known, Others, Arc<Catalog>) {
        let catalog = Arc::clone(&self.found.catalog);
        (self.found.known.take(), self.found.others.take(), catalog)
    }

    pub(super) fn others(&self) -> Error {
        self.found.other.set(true);
        Error::unserved("not of this class")
    }

    /// The type of a relation's rows, which is in the catalog from now on.
    pub(super) fn row_of(&self, relation: Oid, name: &Name) -> Oid {
        let row = oids::of_row(relation);
        if !self.found.catalog.has_named(row) {
            add_row(self.view, &self.found.catalog, row, name);
        }
        row
    }

    /// Lets the catalog have the type of a relation's rows, which is known by its OID.
    ///
    /// # Errors
    /// The transaction has ended.
    pub fn name_row(&self, row: Oid) -> Result<()> {
        if !oids::is_of_rows(row) || self.found.rows.borrow().contains_key(&row) {
            return Ok(());
        }
        let tables = self.view.tables().map_err(|e| of_sql(&e))?;
        let of = |table: &onlap::Table| oids::of_row(oids::of_table(table.schema().id));
        if let Some((name, table)) = tables.into_iter().find(|(_, table)| of(table) == row) {
            self.table(&name, table)?;
            return Ok(());
        }
        let mut views = self.view.objects.of_kind(Kind::View);
        let of =
            |object: &crate::catalog::objects::Object| oids::of_row(oids::of_object(object.number));
        if let Some((engine, object)) = views.find(|(_, object)| of(object) == row) {
            self.view_relation(&Name::of_engine(engine).1, object)?;
        }
        Ok(())
    }

    /// The same of a table whose rows a function takes. The statement reads nothing of it, and waits for nothing.
    fn name_row_taken(&self, row: Oid) -> Result<()> {
        if !oids::is_of_rows(row) || self.found.rows.borrow().contains_key(&row) {
            return Ok(());
        }
        let tables = self.view.tables().map_err(|e| of_sql(&e))?;
        let of = |table: &onlap::Table| oids::of_row(oids::of_table(table.schema().id));
        let Some((name, table)) = tables.into_iter().find(|(_, table)| of(table) == row) else {
            return self.name_row(row);
        };
        let handle = TableHandle::new(self.view, table);
        handle.types.must_be_known(&handle.schema).map_err(|e| of_sql(&e))?;
        let row = self.row_of(oids::of_table(handle.schema.id), &name);
        self.note_row(&Arc::new(relation(&handle, row, self.catalog())));
        Ok(())
    }

    /// Remembers what the type of a relation's rows consists of.
    pub(super) fn note_row(&self, relation: &Arc<Relation>) {
        let mut rows = self.found.rows.borrow_mut();
        rows.entry(relation.row).or_insert_with(|| Arc::clone(relation));
    }

    /// A table or view of the system by its name; `None` where a schema says otherwise.
    fn system(&self, name: &[String]) -> Option<Arc<Relation>> {
        if let Some((created, definition)) = extensions::view_named(self.view, name) {
            let name = Name::new(&created.schema, definition.name);
            return Some(self.system_relation(&definition, &name));
        }
        let definition = match name {
            [schema, name] => definitions::find(schema, name),
            [database, schema, name] if *database == self.view.database => {
                definitions::find(schema, name)
            }
            [name] => definitions::find(PG_CATALOG, name),
            _ => None,
        }?;
        let name = Name::new(definition.schema, definition.name);
        Some(self.system_relation(&definition, &name))
    }

    fn system_relation(
        &self,
        definition: &Arc<definitions::Definition>,
        name: &Name,
    ) -> Arc<Relation> {
        self.row_of(definition.oid, name);
        let relation = Arc::new(catalogs::relation(definition));
        self.note_row(&relation);
        let mut others = self.found.others.borrow_mut();
        others.system.insert(definition.oid, Arc::clone(definition));
        relation
    }

    fn table(&self, name: &Name, table: onlap::Table) -> Result<Arc<Relation>> {
        let handle = TableHandle::new(self.view, table);
        handle.types.must_be_known(&handle.schema).map_err(|e| of_sql(&e))?;
        let oid = oids::of_table(handle.schema.id);
        let row = self.row_of(oid, name);
        let relation = Arc::new(relation(&handle, row, self.catalog()));
        self.note_row(&relation);
        let family = Family::of(self.view, &handle).map_err(|e| of_sql(&e))?;
        self.found.known.borrow_mut().add(oid, handle, family);
        Ok(relation)
    }

    /// A table of the rows that a statement has changed.
    fn transition(&self, of: &Transition) -> Arc<Relation> {
        let handle = &of.rows.table;
        let oid = oids::of_table(handle.schema.id);
        let row = self.row_of(oid, &Name::of_engine(&handle.schema.name).1);
        let own = Arc::new(relation(handle, row, self.catalog()));
        self.note_row(&own);
        self.found.others.borrow_mut().transitions.insert(of.oid);
        let name = of.name.as_str().into();
        let own = Relation::clone(&own);
        Arc::new(Relation { oid: of.oid, name, kind: b'e', key: Vec::new(), ..own })
    }

    /// A sequence, which is a relation of one row.
    fn sequence(&self, parts: &[String]) -> Result<Option<Arc<Relation>>> {
        let found = self.view.sequence(parts).map_err(|e| of_sql(&e))?;
        let Some((name, sequence)) = found else { return Ok(None) };
        let oid = oids::of_sequence(sequence.schema().id.0);
        let relation = Arc::new(sequences::relation(oid, self.row_of(oid, &name), &name.name));
        self.note_row(&relation);
        let mut others = self.found.others.borrow_mut();
        others.sequences.insert(oid, sequence.name().to_string());
        Ok(Some(relation))
    }

    /// The arrays of a type that the database made, by the name that PostgreSQL gives them.
    fn made_array(&self, parts: &[String]) -> Option<Oid> {
        let (last, before) = parts.split_last()?;
        let element = last.strip_prefix('_')?.to_string();
        let parts: Vec<String> = before.iter().cloned().chain([element]).collect();
        self.view.objects.made_types().named(self.view, &parts).map(|made| made.array)
    }

    /// A composite type, which has the name of a relation.
    fn composite_named(&self, name: &[String]) -> Option<Arc<Relation>> {
        let made = self.view.objects.made_types().named(self.view, name)?;
        composite(made, self.catalog()).map(Arc::new)
    }

    fn found(&self, found: view::Relation) -> Result<Option<Arc<Relation>>> {
        match found {
            view::Relation::Table(name, table) => self.table(&name, table).map(Some),
            view::Relation::View(name) => {
                let object = self.view.objects.get(Kind::View, &name.engine(&self.view.database));
                object.map(|object| self.view_relation(&name, object)).transpose()
            }
        }
    }

    /// What a view's text reads: with the columns, and under the names, that it had when the view was made.
    fn of_view(&self, body: &Json, name: &[String]) -> Result<Option<Arc<Relation>>> {
        let Some(used) = bound::oid_of(name).and_then(|oid| bound::use_of(body, oid)) else {
            return Ok(None);
        };
        let failed = |e: crate::error::SqlError| of_sql(&e);
        match bound::find(self.view, &used).map_err(failed)? {
            Some(bound::Found::View(name, object)) => {
                let now = self.view_relation(&name, object)?;
                if used.columns.is_empty() {
                    return Ok(Some(now));
                }
                let mut then = (*now).clone();
                let names = used.columns.iter().map(|(_, name)| Some(name.as_str()));
                for (column, name) in then.columns.iter_mut().zip(names.chain(repeat(None))) {
                    match name {
                        Some(name) => column.name = name.into(),
                        // It came after what reads it.
                        None => column.dropped = true,
                    }
                }
                Ok(Some(Arc::new(then)))
            }
            Some(bound::Found::Table(table)) => {
                let name = Name::of_engine(&table.name()).1;
                if self.view.is_other_temporary(&name.schema) && !self.printing {
                    return Err(Error::new("0A000", view::OF_OTHERS));
                }
                let schema = table.schema();
                let now = self.table(&name, table)?;
                let mut then = (*now).clone();
                for (column, now) in then.columns.iter_mut().zip(&schema.columns) {
                    match used.columns.iter().find(|(id, _)| *id == now.id.0) {
                        Some((_, name)) => column.name = name.as_str().into(),
                        // It came after the view.
                        None => column.dropped = true,
                    }
                }
                Ok(Some(Arc::new(then)))
            }
            None => Ok(None),
        }
    }
}

impl Schema for Names<'_> {
    fn relation(&self, name: &[Box<str>]) -> Result<Option<Arc<Relation>>> {
        let parts: Vec<String> = name.iter().map(|part| part.to_string()).collect();
        if let ([name], None) = (&parts[..], self.body)
            && let Some(of) = self.view.transitions.iter().find(|of| of.name == *name)
        {
            return Ok(Some(self.transition(of)));
        }
        if self.body.is_none()
            && let Some(found) = self.view.find_before_system(&parts).map_err(|e| of_sql(&e))?
        {
            return self.found(found);
        }
        // As in PostgreSQL, pg_catalog comes before the search path.
        if let Some(found) = self.system(&parts) {
            return Ok(Some(found));
        }
        if let Some(body) = self.body {
            return self.of_view(body, &parts);
        }
        Ok(match self.view.find(&parts).map_err(|e| of_sql(&e))? {
            Some(found) => self.found(found)?,
            None if let Some(found) = self.sequence(&parts)? => Some(found),
            None if self.composite_named(&parts).is_some() => self.composite_named(&parts),
            None => match &parts[..] {
                [name] => {
                    let known = |schema: &&str| matches!(*schema, INFORMATION_SCHEMA | ONLAP_STAT);
                    let mut path = self.view.path().filter(known);
                    path.find_map(|schema| self.system(&[schema.to_string(), name.clone()]))
                }
                _ => None,
            },
        })
    }

    fn row_type(&self, name: &[Box<str>]) -> Result<Option<Oid>> {
        let parts: Vec<String> = name.iter().map(|part| part.to_string()).collect();
        // What a text named that is kept, a reader may not be able to look for.
        if let Some(made) = self.view.objects.made_types().named(self.view, &parts) {
            if let ([.., schema, _], None) = (&parts[..], self.body) {
                self.view.must_look_in(schema).map_err(|e| of_sql(&e))?;
            }
            return Ok(Some(made.oid));
        }
        if let Some(array) = self.made_array(&parts) {
            if let ([.., schema, _], None) = (&parts[..], self.body) {
                self.view.must_look_in(schema).map_err(|e| of_sql(&e))?;
            }
            return Ok(Some(array));
        }
        if let Some(ty) = extensions::type_named(self.view, &parts, self.body.is_some()) {
            if let ([.., schema, _], None) = (&parts[..], self.body) {
                self.view.must_look_in(schema).map_err(|e| of_sql(&e))?;
            }
            return Ok(Some(ty.oid));
        }
        // A view's text names types as they are found now: only what it reads is bound.
        let names = Names { body: None, ..self.clone() };
        Ok(names.relation(name)?.map(|relation| relation.row))
    }

    fn composite(&self, row: Oid) -> Option<Arc<Relation>> {
        if let Some(found) = self.found.rows.borrow().get(&row) {
            return Some(Arc::clone(found));
        }
        let Some(made) = self.view.objects.made_types().get(row).filter(|made| made.oid == row)
        else {
            // What a value or a variable has the type of, no text need have named.
            self.name_row_taken(row).ok()?;
            return self.found.rows.borrow().get(&row).cloned();
        };
        let relation = Arc::new(composite(made, self.catalog())?);
        self.note_row(&relation);
        Some(relation)
    }

    fn constraint(&self, relation: Oid, name: &str) -> Option<Oid> {
        let known = self.found.known.borrow();
        let schema = known.schema(relation)?;
        // A constraint is of whole columns, unless it is an exclusion.
        let plain = |index: &&onlap::IndexSchema| {
            let own = |id| schema.derived(id).is_none();
            index.excludes().is_some()
                || index.filter.is_none() && index.key.iter().all(|part| own(part.column))
        };
        let mut unique = schema.indexes.iter().filter(|index| index.is_rule()).filter(plain);
        unique.find(|index| index.name == name).map(|index| oids::of_index_constraint(index.id))
    }

    fn is_schema(&self, name: &str) -> bool {
        self.view.has_schema(name)
    }

    fn meant(&self, schema: &onlap_pg::ast::Name) -> onlap_pg::ast::Name {
        (*self.view.meant(schema)).into()
    }

    fn name_type(&self, oid: Oid) -> Result<()> {
        self.name_row(oid)?;
        // Its array.
        self.name_row(oid.wrapping_sub(1))
    }

    fn name_taken(&self, oid: Oid) -> Result<()> {
        self.name_row_taken(oid)
    }

    fn is_database(&self, name: &str) -> bool {
        name == self.view.database
    }
}

/// Lets a catalog have the type of a relation's rows, and that of arrays of them.
pub(super) fn add_row(view: &View, catalog: &Catalog, row: Oid, name: &Name) {
    row_types::of(&view.search_path, row, name).into_iter().for_each(|ty| catalog.name_type(ty));
}

/// A composite type as the binder knows it; `None` of other types.
fn composite(made: &Made, catalog: &Catalog) -> Option<Relation> {
    let of = made.composite()?;
    let column = |(name, ty): &(String, PgType)| Column {
        name: name.as_str().into(),
        ty: TypeRef { oid: ty.oid, modifier: ty.modifier },
        collation: of.collations.get(name).copied().unwrap_or_else(|| catalog.collation(ty.oid)),
        dropped: false,
    };
    Some(Relation {
        oid: of.relation,
        row: made.oid,
        name: made.name.name.as_str().into(),
        kind: b'c',
        columns: of.fields.iter().map(column).collect(),
        key: Vec::new(),
    })
}

fn relation(handle: &TableHandle, row: Oid, catalog: &Catalog) -> Relation {
    let schema = &handle.schema;
    let column = |(at, (column, ty)): (usize, (&onlap::ColumnSchema, &ColumnType))| {
        let ty = ty.pg;
        let own = handle.types.own_collation(at);
        Column {
            name: column.name.as_str().into(),
            ty: TypeRef { oid: ty.oid, modifier: ty.modifier },
            collation: own.unwrap_or_else(|| catalog.collation(ty.oid)),
            dropped: false,
        }
    };
    let key = schema.indexes.iter().find(|index| index.primary).map(|index| {
        let columns = index.key.iter().filter_map(|part| schema.position(part.column));
        columns.map(|at| at as i32 + 1).collect()
    });
    Relation {
        oid: oids::of_table(schema.id),
        row,
        name: crate::rights::ask::shown(schema).into(),
        kind: if handle.materialized.is_some() { b'm' } else { b'r' },
        columns: schema.columns.iter().zip(handle.types.iter()).enumerate().map(column).collect(),
        key: key.unwrap_or_default(),
    }
}
