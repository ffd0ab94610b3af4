//! Which types do the rows of relations have that no statement has named?
//!
//! A value says which types its fields have, and may come out of a function that gives any row. A catalog that lives as long as
//! a bound statement looks here when it meets such a type; what it knows of the transaction counts as long as that lasts.
//!
//! Thread safety: any thread may look. The transaction is locked meanwhile, so who holds it looks in a catalog without this.

use std::sync::{Arc, Weak};

use onlap_pg::Oid;
use onlap_pg::catalog::{Catalog, Finder, Kind as TypeKind, Type};

use crate::catalog::names::quote;
use crate::catalog::{Kind, Name, Objects, oids};
use crate::instance::Instance;
use crate::scope::Scope;
use crate::system::definitions;
use crate::view::{PG_CATALOG, SearchPath, View};

struct Relations {
    /// Weak, for the instance keeps bound statements, and these keep their catalogs.
    instance: Weak<Instance>,
    scope: Weak<Scope>,
    objects: Arc<Objects>,
    database: String,
    path: SearchPath,
}

/// Finds types of rows as a statement of this view sees them.
pub fn finder(view: &View) -> Arc<Finder> {
    let relations = Relations {
        instance: Arc::downgrade(&view.instance),
        scope: Arc::downgrade(&view.scope),
        objects: Arc::clone(&view.objects),
        database: view.database.clone(),
        path: view.search_path.clone(),
    };
    Arc::new(move |oid| relations.find(oid))
}

/// The types that databases made, which looks for those of rows, too.
pub fn catalog(view: &View) -> Arc<Catalog> {
    let made = view.objects.made_types().catalog();
    Arc::new(Catalog::clone(made).finding(finder(view)))
}

/// The type of a relation's rows and that of arrays of them.
pub fn of(path: &SearchPath, row: Oid, name: &Name) -> [Type; 2] {
    let mut ty = Type::made(row, &name.name, TypeKind::Composite, b'C', row + 1);
    let seen = name.schema == PG_CATALOG || path.schemas.contains(&name.schema);
    ty.shown = match seen {
        true => quote(&name.name).into(),
        false => format!("{}.{}", quote(&name.schema), quote(&name.name)).into(),
    };
    let array = Type::array_of(&ty);
    [ty, array]
}

impl Relations {
    fn find(&self, oid: Oid) -> Option<[Type; 2]> {
        if !oids::is_of_rows(oid) {
            return None;
        }
        // That of arrays of it is the next.
        let row = oid & !1;
        let name = self.table(row).or_else(|| self.other(row))?;
        Some(of(&self.path, row, &name))
    }

    fn table(&self, row: Oid) -> Option<Name> {
        let of = |table: &onlap::Table| oids::of_row(oids::of_table(table.schema().id));
        let scope = self.scope.upgrade();
        let tables = match scope.as_ref().and_then(|scope| scope.tx().ok()) {
            Some(tx) => tx.tables(),
            None => self.instance.upgrade()?.db.tables(),
        };
        let table = tables.into_iter().find(|table| of(table) == row)?;
        let (database, name) = Name::of_engine(&table.name());
        (database == self.database).then_some(name)
    }

    /// A view or a relation of the system.
    fn other(&self, row: Oid) -> Option<Name> {
        let mut views = self.objects.of_kind(Kind::View);
        let is_it = |number| oids::of_row(oids::of_object(number)) == row;
        if let Some((engine, _)) = views.find(|(_, object)| is_it(object.number)) {
            let (database, name) = Name::of_engine(engine);
            return (database == self.database).then_some(name);
        }
        let mut system = definitions::all().iter();
        let found = system.find(|of| oids::of_row(of.oid) == row)?;
        Some(Name::new(found.schema, found.name))
    }
}
