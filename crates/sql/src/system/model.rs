//! Which relations are there, and what are they called?
//!
//! One list of everything that has an OID and a name in a schema: tables, indexes, sequences, views, and
//! the tables of the system. System tables and functions of catalogs are answered from it.

use std::collections::HashMap;
use std::sync::Arc;

use onlap::{IndexSchema, SequenceSchema, TableSchema};

use super::definitions::{self, Definition};
use crate::catalog::names::{TEMPORARY, quote, temporary};
use crate::catalog::{Kind, Name, extensions, oids};
use crate::error::Result;
use crate::types::PgType;
use crate::view::{INFORMATION_SCHEMA, ONLAP_STAT, PG_CATALOG, View};

/// Something that pg_class has a row of.
#[derive(Clone, Debug)]
pub struct Relation {
    /// Its OID.
    pub oid: u32,
    /// Its schema and name.
    pub name: Name,
    /// What it is.
    pub what: What,
    /// Whether it is a partitioned table, or an index of one.
    pub divided: bool,
    /// Whether it is a materialized view.
    pub materialized: bool,
}

/// What a relation is.
#[derive(Clone, Debug)]
pub enum What {
    /// A table of the engine.
    Table(Arc<TableSchema>),
    /// An index of a table, by its position there.
    Index(Arc<TableSchema>, usize),
    /// A sequence.
    Sequence(SequenceSchema),
    /// A view.
    View,
    /// A composite type: its OID, its owner, its fields.
    Composite(u32, u32, Vec<(String, PgType)>),
    /// A table of the system.
    System(Arc<Definition>),
}

impl Relation {
    /// One that is no table.
    fn plain(oid: u32, name: Name, what: What) -> Relation {
        Relation { oid, name, what, divided: false, materialized: false }
    }

    /// pg_class.relkind.
    pub fn kind(&self) -> &'static str {
        match &self.what {
            What::Table(_) if self.divided => "p",
            What::Table(_) if self.materialized => "m",
            What::Table(_) => "r",
            What::Index(..) if self.divided => "I",
            What::Index(..) => "i",
            What::Sequence(_) => "S",
            What::View => "v",
            What::Composite(..) => "c",
            What::System(definition) if definition.is_view => "v",
            What::System(_) => "r",
        }
    }

    /// The table of the engine.
    pub fn table(&self) -> Option<&Arc<TableSchema>> {
        match &self.what {
            What::Table(table) => Some(table),
            _ => None,
        }
    }

    /// The index and its table.
    pub fn index(&self) -> Option<(&Arc<TableSchema>, &IndexSchema)> {
        match &self.what {
            What::Index(table, at) => Some((table, &table.indexes[*at])),
            _ => None,
        }
    }
}

/// Everything that a statement can name.
#[derive(Debug)]
pub struct Model {
    /// All relations; those of the system last.
    pub relations: Vec<Relation>,
    /// Schemas with their OIDs, by name.
    pub schemas: Vec<(u32, String, String)>,
    /// Roles with their OIDs.
    pub roles: Vec<(u32, String)>,
    /// Schemas in the order in which names are looked up.
    path: Vec<String>,
    /// The schema of the session's temporary objects, if it has one.
    temporary: Option<String>,
    database: String,
    by_oid: HashMap<u32, usize>,
}

impl Model {
    /// What there is, as the transaction sees it.
    ///
    /// # Errors
    /// The transaction has ended.
    pub fn of(view: &View) -> Result<Model> {
        let mut relations = Vec::new();
        for (name, table) in view.tables()? {
            let schema = table.schema();
            let divided = view.objects.families().divided(schema.id).is_some();
            for (i, index) in schema.indexes.iter().enumerate() {
                let name = Name::new(&name.schema, index_name(&schema, index));
                let what = What::Index(Arc::clone(&schema), i);
                let oid = oids::of_index(index.id);
                relations.push(Relation { oid, name, what, divided, materialized: false });
            }
            let oid = oids::of_table(schema.id);
            let materialized = view.judge.rights().materialized(oid).is_some();
            let what = What::Table(schema);
            relations.push(Relation { oid, name, what, divided, materialized });
        }
        for sequence in view.scope.tx()?.sequences() {
            let schema = sequence.schema();
            let (database, name) = Name::of_engine(&schema.name);
            if database == view.database {
                let oid = oids::of_sequence(schema.id.0);
                relations.push(Relation::plain(oid, name, What::Sequence(schema)));
            }
        }
        for (engine, object) in view.objects.of_kind(Kind::View) {
            let (database, name) = Name::of_engine(engine);
            if database == view.database {
                let oid = oids::of_object(object.number);
                relations.push(Relation::plain(oid, name, What::View));
            }
        }
        for made in view.objects.made_types().of_database(&view.database) {
            if let Some(of) = made.composite() {
                let what = What::Composite(made.oid, made.owner, of.fields.clone());
                let (oid, name) = (of.relation, made.name.clone());
                relations.push(Relation::plain(oid, name, what));
            }
        }
        relations.sort_by(|a, b| a.name.cmp(&b.name));
        // Schema onlap_stat is found by its name alone: tools would take it for one of the user's, and dump it.
        let listed = definitions::all().iter().filter(|of| of.schema != ONLAP_STAT);
        relations.extend(listed.map(|definition| {
            let name = Name::new(definition.schema, definition.name);
            Relation::plain(definition.oid, name, What::System(Arc::clone(definition)))
        }));
        for created in extensions::all(view) {
            let views = definitions::of_extensions(created.extension.name);
            relations.extend(views.map(|definition| {
                let name = Name::new(&created.schema, definition.name);
                Relation::plain(definition.oid, name, What::System(Arc::clone(definition)))
            }));
        }
        let by_oid = relations.iter().enumerate().map(|(i, r)| (r.oid, i)).collect();
        let roles = view.judge.rights().roles().into_iter();
        let roles = roles.map(|role| (role.oid, role.name.clone())).collect();
        Ok(Model {
            relations,
            schemas: schemas(view),
            roles,
            // Names are looked for where the role may look, as those of statements are.
            path: view.whole_path().into_iter().filter(|of| view.may_look_in(of)).collect(),
            temporary: view.temporary.then(|| temporary(view.pid)),
            database: view.database.clone(),
            by_oid,
        })
    }

    /// Leaves out the temporary relations of other sessions.
    pub fn relations_of_others_go(&mut self, view: &View) {
        self.relations.retain(|relation| !view.is_other_temporary(&relation.name.schema));
        let numbered = self.relations.iter().enumerate();
        self.by_oid = numbered.map(|(at, relation)| (relation.oid, at)).collect();
    }

    /// A relation by OID.
    pub fn relation(&self, oid: u32) -> Option<&Relation> {
        self.by_oid.get(&oid).map(|at| &self.relations[*at])
    }

    /// A schema's OID; 0 where there is none.
    pub fn schema_oid(&self, schema: &str) -> u32 {
        self.schemas.iter().find(|s| s.1 == schema).map_or(0, |s| s.0)
    }

    /// Whether a relation is found by its name alone.
    pub fn is_visible(&self, relation: &Relation) -> bool {
        let found = self.find(std::slice::from_ref(&relation.name.name));
        found.is_some_and(|found| found.oid == relation.oid)
    }

    /// A relation by the parts of its name.
    pub fn find(&self, parts: &[String]) -> Option<&Relation> {
        let at = |schema: &str, name: &str| {
            self.relations.iter().find(|r| r.name.name == name && r.name.schema == schema)
        };
        let meant = |schema: &String| match &self.temporary {
            Some(own) if schema == TEMPORARY => own.clone(),
            _ => schema.clone(),
        };
        match parts {
            [name] => self.path.iter().find_map(|schema| at(schema, name)),
            [schema, name] => at(&meant(schema), name),
            [database, schema, name] if *database == self.database => at(&meant(schema), name),
            _ => None,
        }
    }

    /// A relation's name as regclass prints it.
    pub fn display(&self, relation: &Relation) -> String {
        let name = quote(&relation.name.name);
        match self.is_visible(relation) {
            true => name,
            false => format!("{}.{name}", quote(&relation.name.schema)),
        }
    }

    /// A sequence's relation.
    pub fn sequence(&self, id: onlap::SequenceId) -> Option<&Relation> {
        self.relation(oids::of_sequence(id.0))
    }
}

/// Schemas: OID, name, owner.
fn schemas(view: &View) -> Vec<(u32, String, String)> {
    let rights = view.judge.rights();
    let owner = |name: &str| {
        let key = view.schema_key(name);
        key.map_or_else(String::new, |key| rights.name_of(rights.owner(key)))
    };
    let mut schemas = vec![
        (oids::PG_CATALOG, PG_CATALOG.to_string(), owner(PG_CATALOG)),
        (oids::PUBLIC, "public".to_string(), owner("public")),
        (oids::INFORMATION_SCHEMA, INFORMATION_SCHEMA.to_string(), owner(INFORMATION_SCHEMA)),
    ];
    for (name, object) in view.objects.of_kind(Kind::Schema) {
        if let Some((database, schema)) = name.split_once('/')
            && database == view.database
        {
            schemas.push((oids::of_object(object.number), schema.to_string(), owner(schema)));
        }
    }
    schemas
}

/// An index's name: the engine makes that of a primary key from the table's whole name.
pub fn index_name(table: &TableSchema, index: &IndexSchema) -> String {
    match index.is_primary() && index.name.starts_with(&table.name) {
        true => Name::of_engine(&index.name).1.name,
        false => index.name.clone(),
    }
}
