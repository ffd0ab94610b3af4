//! What depends on what an extension has?
//!
//! Texts are gone through once for all that it has.

use std::collections::{HashMap, HashSet};

use onlap::{DerivedSchema, TableSchema};
use onlap_pg::bound::Part;

use super::Object;
use super::uses::{Edge, Uses};
use crate::catalog::aggregates::Aggregate;
use crate::catalog::{extensions, oids};
use crate::ddl::gist;
use crate::ddl::kept::{self, Wanted};
use crate::error::Result;
use crate::formulas;
use crate::query::named_in;
use crate::view::View;

/// What names something of the extensions of a database.
#[derive(Default)]
pub struct Members {
    /// By what it names.
    users: HashMap<u32, Vec<(Object, u32)>>,
    /// What cannot be bound any more: it may name what its texts have a word of.
    unknown: Vec<(Object, u32, Vec<String>)>,
}

impl Members {
    /// As the statement sees it.
    ///
    /// # Errors
    /// The transaction has ended; `57014`.
    pub fn of(uses: &Uses<'_>) -> Result<Members> {
        let mut found = Members::default();
        let wanted = Wanted { may: &|_, _| true, is: &extensions::is_member };
        for used in kept::users(uses.view, &wanted)? {
            match &used.oids[..] {
                [] => {
                    let texts = used.unbound.into_iter().map(|(text, _)| text).collect();
                    found.unknown.push((used.user, used.order, texts));
                }
                oids => oids.iter().for_each(|oid| found.add(*oid, &used.user, used.order)),
            }
        }
        for (_, table) in uses.tables() {
            found.add_table(uses.view, &table.schema());
        }
        let view = uses.view;
        for of in view.objects.functions().of_database(&view.database) {
            let parts = of.aggregate.iter().flat_map(Aggregate::functions);
            for oid in parts.filter(|oid| extensions::is_member(*oid)) {
                found.add(oid, &Object::Function(of.oid), of.oid);
            }
        }
        Ok(found)
    }

    fn add(&mut self, oid: u32, user: &Object, order: u32) {
        self.users.entry(oid).or_default().push((user.clone(), order));
    }

    /// Indexes and generated columns of a table.
    fn add_table(&mut self, view: &View, table: &TableSchema) {
        let used = |program: &str| {
            let made = formulas::made(program).ok();
            made.map(|made| {
                let tree = Part::Query(made.tree.1);
                let mut found = named_in(&made.tree.0, tree, &extensions::is_member);
                let class = made.class.map(onlap_kernels::gin::Class::oid);
                found.extend(class.filter(|oid| extensions::is_member(*oid)));
                found
            })
        };
        let of_derived = |derived: &DerivedSchema| used(&derived.program).unwrap_or_default();
        for index in &table.indexes {
            let ids = index.key.iter().map(|part| part.column).chain(index.filter);
            let object = Object::Index(table.id, index.name.clone());
            for oid in ids.filter_map(|id| table.derived(id)).flat_map(of_derived) {
                // It is younger than its table.
                self.add(oid, &object, oids::of_table(table.id) + 1);
            }
            for oid in gist::needed(view, table, index) {
                self.add(oid, &object, oids::of_table(table.id) + 1);
            }
        }
        for generated in &table.generated {
            let object = Object::Column(table.id, generated.column);
            for oid in used(&generated.program).unwrap_or_default() {
                self.add(oid, &object, oids::of_table(table.id));
            }
        }
    }

    /// What an extension has, and what may name something of it: only the words of a text that cannot be bound tell.
    pub fn of_extension(&self, name: &str) -> Vec<Edge> {
        let Some(extension) = onlap_pg::catalog::extensions::named(name) else { return Vec::new() };
        let types = extension.types().filter(|ty| !ty.is_array).map(|ty| ty.oid);
        let all = types.chain(self.users.keys().copied().filter(|oid| extension.has(*oid)));
        let member = |oid| {
            // As hstore's type has a function for subscripts that was made last, all of its uses come from the type.
            let is_first = oid == onlap_pg::catalog::oids::HSTORE;
            Edge::silent(Object::Member(oid), if is_first { u32::MAX } else { oid })
        };
        let names: HashSet<&str> = extension
            .procs()
            .map(|proc| &*proc.name)
            .chain(extension.types().map(|ty| &*ty.name))
            .collect();
        let is_word = |c: char| c.is_alphanumeric() || c == '_';
        let may = |text: &String| {
            text.split(|c| !is_word(c)).any(|word| names.contains(&*word.to_lowercase()))
        };
        let unknown = self.unknown.iter().filter(|(.., texts)| texts.iter().any(may));
        let unknown = unknown.map(|(object, order, _)| Edge::to(object.clone(), *order));
        all.map(member).chain(unknown).collect()
    }

    /// What names something of an extension.
    pub fn of_member(&self, oid: u32) -> Vec<Edge> {
        let users = self.users.get(&oid).into_iter().flatten();
        let mut found: Vec<Edge> =
            users.map(|(object, order)| Edge::to(object.clone(), *order)).collect();
        let ty = crate::query::catalog().get_type(oid);
        if let Some(ty) = ty.filter(|ty| !ty.is_array && ty.array != 0) {
            found.push(Edge::silent(Object::Member(ty.array), 0));
        }
        found
    }
}

/// Fails where an extension is not there any more.
///
/// # Errors
/// `42704`
pub fn must_be(view: &crate::view::View, name: &str) -> Result<extensions::Created> {
    let missing = || {
        let text = format!("extension \"{name}\" does not exist");
        crate::error::SqlError::new(crate::error::state::NO_OBJECT, text)
    };
    extensions::named(view, name).ok_or_else(missing)
}
