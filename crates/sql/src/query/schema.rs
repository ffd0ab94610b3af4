//! What do the names of relations stand for, as a statement's view finds them?

use std::cell::{Cell, RefCell};
use std::sync::Arc;

use onlap_pg::bind::{Column, Relation, Schema};
use onlap_pg::{Error, Oid, Result, TypeRef};

use super::tables::Known;
use crate::catalog::oids;
use crate::plan::TableHandle;
use crate::types::PgType;
use crate::view::{self, INFORMATION_SCHEMA, PG_CATALOG, View};

/// The relations of a statement.
pub struct Names<'a> {
    view: &'a View,
    known: RefCell<Known>,
    /// Whether a name stands for what is not a table of the engine.
    other: Cell<bool>,
}

/// record
const RECORD: Oid = 2249;

impl<'a> Names<'a> {
    /// None are known yet.
    pub fn new(view: &'a View) -> Names<'a> {
        Names { view, known: RefCell::default(), other: Cell::new(false) }
    }

    /// Whether a name stands for what is not a table of the engine.
    pub fn is_other(&self) -> bool {
        self.other.get()
    }

    /// The tables that were named.
    pub fn into_known(self) -> Known {
        self.known.into_inner()
    }

    fn others(&self) -> Error {
        self.other.set(true);
        Error::new("0A000", "not a table of the engine")
    }
}

impl Schema for Names<'_> {
    fn relation(&self, name: &[Box<str>]) -> Result<Option<Arc<Relation>>> {
        let parts: Vec<String> = name.iter().map(|part| part.to_string()).collect();
        let last = parts.last().map_or("", String::as_str);
        let is_system = match &parts[..] {
            [.., schema, _] => schema == PG_CATALOG || schema == INFORMATION_SCHEMA,
            _ => crate::system::table(self.view, PG_CATALOG, last).is_some(),
        };
        if is_system {
            return Err(self.others());
        }
        let found = self.view.find(&parts).map_err(|e| {
            self.other.set(true);
            Error::new("0A000", e.message())
        })?;
        match found {
            Some(view::Relation::Table(_, table)) => {
                let handle = TableHandle { schema: table.schema(), table };
                let relation = Arc::new(relation(&handle));
                self.known.borrow_mut().add(relation.oid, handle);
                Ok(Some(relation))
            }
            // A view; or nothing, which the other way says with the words of the schema.
            _ => Err(self.others()),
        }
    }

    fn composite(&self, _: Oid) -> Option<Arc<Relation>> {
        None
    }

    fn constraint(&self, relation: Oid, name: &str) -> Option<Oid> {
        let known = self.known.borrow();
        let mut unique = known.schema(relation)?.indexes.iter().filter(|index| index.unique);
        unique.find(|index| index.name == name).map(|index| oids::of_index_constraint(index.id))
    }

    fn is_schema(&self, name: &str) -> bool {
        // The functions there are the planner's.
        if name == INFORMATION_SCHEMA {
            self.other.set(true);
        }
        self.view.has_schema(name)
    }

    fn is_database(&self, name: &str) -> bool {
        name == self.view.database
    }
}

fn relation(handle: &TableHandle) -> Relation {
    let schema = &handle.schema;
    let column = |column: &onlap::ColumnSchema| {
        let ty = PgType::of_engine(column.ty);
        Column {
            name: column.name.as_str().into(),
            ty: TypeRef { oid: ty.oid, modifier: ty.modifier },
            dropped: false,
        }
    };
    let key = schema.indexes.iter().find(|index| index.primary).map(|index| {
        let columns = index.key.iter().filter_map(|part| schema.position(part.column));
        columns.map(|at| at as i32 + 1).collect()
    });
    Relation {
        oid: oids::of_table(schema.id),
        row: RECORD,
        name: crate::rights::ask::shown(schema).into(),
        kind: b'r',
        columns: schema.columns.iter().map(column).collect(),
        key: key.unwrap_or_default(),
    }
}
