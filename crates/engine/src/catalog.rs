//! Which tables are there?
//!
//! Names and ids of the tables of an open database. What a table *is* stands in its
//! [`TableState`]; what survives a restart stands in the manifest, which is changed first.
//!
//! Thread safety: reads take a short shared lock; schema changes are serialised by the database.

use std::collections::BTreeMap;
use std::sync::Arc;

use onlap_base::TableId;
use parking_lot::RwLock;

use crate::table::TableState;

/// The tables of a database.
#[derive(Debug, Default)]
pub(crate) struct Catalog {
    tables: RwLock<Tables>,
}

#[derive(Debug, Default)]
struct Tables {
    by_name: BTreeMap<String, TableId>,
    by_id: BTreeMap<TableId, Arc<TableState>>,
}

impl Catalog {
    pub(crate) fn insert(&self, name: String, state: Arc<TableState>) {
        let mut tables = self.tables.write();
        tables.by_name.insert(name, state.id);
        tables.by_id.insert(state.id, state);
    }

    pub(crate) fn remove(&self, name: &str) {
        let mut tables = self.tables.write();
        if let Some(id) = tables.by_name.remove(name) {
            tables.by_id.remove(&id);
        }
    }

    pub(crate) fn rename(&self, from: &str, to: &str) {
        let mut tables = self.tables.write();
        if let Some(id) = tables.by_name.remove(from) {
            tables.by_name.insert(to.to_owned(), id);
        }
    }

    /// Gives tables other names, all at once: one may take the name of another.
    pub(crate) fn rename_all(&self, names: &[(String, String)]) {
        let mut tables = self.tables.write();
        let taken: Vec<_> = names.iter().map(|(from, _)| tables.by_name.remove(from)).collect();
        for (id, (_, to)) in taken.into_iter().zip(names) {
            tables.by_name.extend(id.map(|id| (to.clone(), id)));
        }
    }

    pub(crate) fn by_name(&self, name: &str) -> Option<Arc<TableState>> {
        let tables = self.tables.read();
        tables.by_name.get(name).and_then(|id| tables.by_id.get(id)).cloned()
    }

    pub(crate) fn by_id(&self, id: TableId) -> Option<Arc<TableState>> {
        self.tables.read().by_id.get(&id).cloned()
    }

    /// All tables, by id.
    pub(crate) fn all(&self) -> Vec<Arc<TableState>> {
        self.tables.read().by_id.values().cloned().collect()
    }

    /// Names with tables, by name.
    pub(crate) fn named(&self) -> Vec<(String, Arc<TableState>)> {
        let tables = self.tables.read();
        let named = tables.by_name.iter();
        named.filter_map(|(n, id)| Some((n.clone(), tables.by_id.get(id)?.clone()))).collect()
    }
}
