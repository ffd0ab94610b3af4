//! Which types did databases make themselves?
//!
//! A row of the catalog for each. Of an enum it has the labels in their order. A label's place is a number; one that comes
//! between two others gets a number between theirs, so that what columns keep never changes. It is kept as a text: a number of
//! JSON may be read as its neighbour. Of domains and composite types see [`kinds`]. Thread safety: read only.

use std::borrow::Cow;
use std::sync::Arc;

use onlap_pg::TypeRef;
use onlap_pg::catalog::{Catalog, Kind as TypeKind, Type};
use serde_json::Value as Json;

use super::names::quote;
use super::objects::Object;
use super::{Name, extensions, oids};
use crate::types::PgType;
use crate::view::View;

mod kinds;
#[cfg(test)]
mod tests;

pub use kinds::{Check, Composite, Domain, What};

/// A label of an enum.
#[derive(Clone, Debug, PartialEq)]
pub struct Label {
    /// What it is.
    pub text: String,
    /// Its place.
    pub order: f64,
    /// Its OID.
    pub oid: u32,
}

/// A type of a database.
#[derive(Clone, Debug, PartialEq)]
pub struct Made {
    /// Its OID.
    pub oid: u32,
    /// That of its arrays.
    pub array: u32,
    /// Its database.
    pub database: String,
    /// Its name there.
    pub name: Name,
    /// The role that owns it.
    pub owner: u32,
    /// What it is.
    pub what: What,
}

impl Made {
    fn read(engine: &str, object: &Object) -> Option<Made> {
        let number = |json: &Json| u32::try_from(json.as_u64()?).ok();
        let of_number = |number: u32| (number < oids::OBJECTS).then(|| oids::of_object(number));
        let (database, name) = Name::of_engine(engine);
        Some(Made {
            oid: of_number(object.number)?,
            array: of_number(number(&object.body["array"])?)?,
            database,
            name,
            owner: number(&object.body["owner"])?,
            what: What::read(&object.body)?,
        })
    }

    /// As it is kept.
    pub fn body(&self) -> Json {
        let mut body = self.what.body();
        // Numbers of objects, from which OIDs follow.
        body["array"] = (self.array - oids::of_object(0)).into();
        body["owner"] = self.owner.into();
        body
    }

    /// The labels of an enum; none of another type.
    pub fn labels(&self) -> &[Label] {
        match &self.what {
            What::Enum(labels) => labels,
            _ => &[],
        }
    }

    /// The domain that it is.
    pub fn domain(&self) -> Option<&Domain> {
        match &self.what {
            What::Domain(domain) => Some(domain),
            _ => None,
        }
    }

    /// The composite type that it is.
    pub fn composite(&self) -> Option<&Composite> {
        match &self.what {
            What::Composite(composite) => Some(composite),
            _ => None,
        }
    }

    /// Its name, with the schema where that is said.
    pub fn shown(&self, qualified: bool) -> String {
        let name = quote(&self.name.name);
        if qualified { format!("{}.{name}", quote(&self.name.schema)) } else { name }
    }

    /// The name by which SQL that is kept, or that is run by itself, means it or its array in each search path.
    pub fn written(&self, oid: u32) -> String {
        self.of_oid(self.shown(true), oid)
    }

    fn of_oid(&self, name: String, oid: u32) -> String {
        if oid == self.array { format!("{name}[]") } else { name }
    }

    /// PostgreSQL's types, it and its array.
    pub fn catalog(&self) -> Catalog {
        Catalog::with(Vec::from(self.types(self.shown(true), false)))
    }

    /// It and its array, as statements know them; by no name where none may find it.
    fn types(&self, shown: String, is_seen: bool) -> [Type; 2] {
        let name = if is_seen { self.name.name.as_str() } else { "" };
        let (kind, category) = match &self.what {
            What::Enum(_) => (TypeKind::Enum, b'E'),
            What::Domain(domain) => (TypeKind::Domain, domain.category),
            What::Composite(_) => (TypeKind::Composite, b'C'),
        };
        let mut ty = Type::made(self.oid, name, kind, category, self.array);
        ty.shown = shown.into();
        self.what.describe(&mut ty);
        let mut array = Type::array_of(&ty);
        if !is_seen {
            array.name = Cow::Borrowed("");
        }
        [ty, array]
    }
}

/// All of them.
#[derive(Clone, Debug, Default)]
pub struct MadeTypes {
    all: Vec<Made>,
    catalog: Arc<Catalog>,
}

impl MadeTypes {
    /// What rows of the catalog say; the name of a row that no release wrote otherwise.
    pub fn of<'a>(rows: impl Iterator<Item = (&'a str, &'a Object)>) -> Result<MadeTypes, String> {
        let read = |(name, object)| Made::read(name, object).ok_or_else(|| name.to_string());
        let mut all = rows.map(read).collect::<Result<Vec<Made>, String>>()?;
        let shown = |made: &Made| made.shown(made.name.schema != "public");
        let types = |all: &[Made]| {
            let types = all.iter().flat_map(|made| made.types(shown(made), false));
            Catalog::with(types.collect())
        };
        let mut catalog = types(&all);
        if all.iter().any(|made| made.domain().is_some()) {
            // The categories of domains are those of what they are over, which may be made types, too.
            all.iter_mut().for_each(|made| made.what.complete(&catalog));
            catalog = types(&all);
        }
        Ok(MadeTypes { catalog: Arc::new(catalog), all })
    }

    /// PostgreSQL's types and these, by their OIDs.
    pub fn catalog(&self) -> &Arc<Catalog> {
        &self.catalog
    }

    /// The same as a statement finds and writes them.
    pub fn seen_from(&self, view: &View) -> Catalog {
        let others = |catalog| {
            let catalog = extensions::added_to(catalog, view);
            view.objects.functions().added_to(catalog, view).noting(view.noted.clone())
        };
        if self.all.is_empty() {
            return others(Catalog::new());
        }
        let all = self.all.iter().filter(|made| made.database == view.database);
        let types = all.flat_map(|made| {
            let is_seen = self.is_seen(view, made);
            made.types(made.shown(!is_seen), is_seen)
        });
        others(Catalog::with(types.collect()))
    }

    /// Whether its name alone means a type: no other of the search path has it, and none of the system.
    pub fn is_seen(&self, view: &View, made: &Made) -> bool {
        let found = self.named(view, std::slice::from_ref(&made.name.name));
        found.is_some_and(|found| found.oid == made.oid)
            && crate::query::catalog().type_named(&made.name.name).is_none()
    }

    /// The name of one of these types or of its arrays, as a view shows it, also of those of extensions where the search path
    /// has not their schema; `None` of other types.
    pub fn shown_to(&self, view: &View, oid: u32) -> Option<String> {
        let Some(made) = self.get(oid) else { return extensions::shown_to(view, oid) };
        Some(made.of_oid(made.shown(!self.is_seen(view, made)), oid))
    }

    /// The name of a type in SQL that is kept, or that is run by itself.
    pub fn written(&self, ty: PgType) -> String {
        match self.get(ty.oid) {
            Some(made) => made.written(ty.oid),
            None => self.catalog.shown_with(TypeRef { oid: ty.oid, modifier: ty.modifier }),
        }
    }

    /// Those of a database.
    pub fn of_database<'a>(&'a self, database: &'a str) -> impl Iterator<Item = &'a Made> {
        self.all.iter().filter(move |made| made.database == database)
    }

    /// One by its OID, or by that of its arrays.
    pub fn get(&self, oid: u32) -> Option<&Made> {
        self.all.iter().find(|made| made.oid == oid || made.array == oid)
    }

    /// A composite type by its OID.
    pub fn composite(&self, oid: u32) -> Option<&Composite> {
        self.get(oid).filter(|made| made.oid == oid)?.composite()
    }

    /// A domain by its OID.
    pub fn domain(&self, oid: u32) -> Option<&Domain> {
        self.get(oid).filter(|made| made.oid == oid)?.domain()
    }

    /// One by its name, in the schema that is named or the first of the path that has it.
    pub fn named(&self, view: &View, parts: &[String]) -> Option<&Made> {
        let is = |made: &&Made, schema: &str, name: &str| {
            made.database == view.database && made.name.schema == schema && made.name.name == name
        };
        match parts {
            [name] => view
                .path()
                .filter(|schema| view.may_look_in(schema))
                .find_map(|schema| self.all.iter().find(|made| is(made, schema, name))),
            [.., schema, name] => self.all.iter().find(|made| is(made, schema, name)),
            [] => None,
        }
    }
}
