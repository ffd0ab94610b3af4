//! Which tables refer to a table?
//!
//! The schema of a child names its parent; here the parent finds its children. Built anew when a
//! foreign key comes or goes.
//!
//! Thread safety: read without a lock; replaced by schema changes, one at a time.

use std::collections::HashMap;
use std::sync::Arc;

use arc_swap::ArcSwap;
use onlap_base::{Error, ErrorKind, IndexId, Result, TableId};
use onlap_format::{ForeignKeySchema, TableSchema};
use parking_lot::Mutex;

use crate::catalog::Catalog;

/// A foreign key, as its parent sees it.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Reference {
    pub child: TableId,
    pub key: ForeignKeySchema,
}

type ByParent = HashMap<TableId, Arc<[Reference]>>;

/// All foreign keys of a database, by parent.
#[derive(Default)]
pub(crate) struct References {
    by_parent: ArcSwap<ByParent>,
    /// Foreign keys that are being added.
    coming: Mutex<Vec<Reference>>,
}

/// A foreign key that is being added, until this is dropped.
pub(crate) struct Announced<'a> {
    references: &'a References,
    catalog: &'a Catalog,
    reference: Reference,
}

impl Drop for Announced<'_> {
    fn drop(&mut self) {
        self.references.coming.lock().retain(|r| *r != self.reference);
        self.references.rebuild(self.catalog);
    }
}

impl References {
    /// These, and those that are being added, for somebody who sees others than everybody does.
    pub(crate) fn with_coming(&self, mut all: Vec<Reference>) -> References {
        all.extend(self.coming.lock().iter().cloned());
        References { by_parent: ArcSwap::from_pointee(by_parent(all)), ..References::default() }
    }

    /// The foreign keys that refer to a table.
    pub(crate) fn to(&self, parent: TableId) -> Option<Arc<[Reference]>> {
        self.by_parent.load().get(&parent).cloned()
    }

    /// Lets the parent look for children by a foreign key that is not there yet.
    pub(crate) fn announce<'a>(
        &'a self,
        catalog: &'a Catalog,
        reference: Reference,
    ) -> Announced<'a> {
        self.coming.lock().push(reference.clone());
        self.rebuild(catalog);
        Announced { references: self, catalog, reference }
    }

    /// Reads the schemas of all tables.
    pub(crate) fn rebuild(&self, catalog: &Catalog) {
        // Held to the end, so that the newest schemas are read last.
        let coming = self.coming.lock();
        let mut all = Vec::new();
        for table in catalog.all() {
            let of = |key: &ForeignKeySchema| Reference { child: table.id, key: key.clone() };
            all.extend(table.schema().foreign_keys.iter().map(of));
        }
        all.extend(coming.iter().cloned());
        self.by_parent.store(Arc::new(by_parent(all)));
    }

    /// Refuses that a table goes while others refer to it.
    pub(crate) fn check_droppable(&self, table: &TableSchema) -> Result<()> {
        let others = self.to(table.id);
        let other = others.iter().flat_map(|r| r.iter()).find(|r| r.child != table.id);
        match other {
            Some(reference) => Err(in_use(&format!("table {}", table.name), reference)),
            None => Ok(()),
        }
    }

    /// Refuses that a unique index goes that a foreign key relies on.
    pub(crate) fn check_index_droppable(&self, table: &TableSchema, index: IndexId) -> Result<()> {
        let others = self.to(table.id);
        let user = others.iter().flat_map(|r| r.iter()).find(|r| r.key.parent_index == index);
        match user {
            Some(reference) => {
                let name = table.index(index).map_or("", |i| i.name.as_str());
                Err(in_use(&format!("index {name} of table {}", table.name), reference))
            }
            None => Ok(()),
        }
    }
}

fn by_parent(all: Vec<Reference>) -> ByParent {
    let mut by_parent: HashMap<TableId, Vec<Reference>> = HashMap::new();
    for reference in all {
        by_parent.entry(reference.key.parent).or_default().push(reference);
    }
    by_parent.into_iter().map(|(id, r)| (id, r.into())).collect()
}

fn in_use(what: &str, reference: &Reference) -> Error {
    let text = format!("foreign key {} refers to {what}; drop that first", reference.key.name);
    Error::new(ErrorKind::InUse, text)
}
