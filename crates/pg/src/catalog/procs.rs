//! Which functions does a name mean?
//!
//! PostgreSQL's own, and those that a database made. The latter have schemas: a name alone means those of the schemas of a path,
//! and where two take the same arguments, that of the schema that comes first.

use std::sync::{Arc, Mutex, PoisonError};

use super::{Catalog, Proc, built_in, extensions};
use crate::Oid;
use crate::ast::Name;

/// Where the system's functions are.
const SYSTEM: &str = "pg_catalog";
/// What stands before a name that means the system's functions alone.
const SYSTEM_PREFIX: &str = "pg_catalog.";

/// Functions that a statement calls are noted up to this number: further ones keep the names that they were called by.
const NOTED: usize = 10_000;

/// What names alone of functions meant where a statement called them.
#[derive(Clone, Debug, Default)]
pub struct Noted(Arc<Mutex<Vec<(Name, Oid)>>>);

impl Noted {
    /// What a name meant; several where arguments differ.
    pub fn of(&self, name: &str) -> Vec<Oid> {
        let all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        all.iter().filter(|(known, _)| **known == *name).map(|(_, proc)| *proc).collect()
    }
}

impl Catalog {
    /// The same with functions of a database, and the schemas in which names alone are looked up.
    #[must_use]
    pub fn with_procs(mut self, procs: Arc<[Proc]>, path: Vec<String>) -> Catalog {
        debug_assert!(procs.is_sorted_by_key(|proc| proc.oid));
        (self.procs, self.path) = (procs, path.into());
        self
    }

    /// A function, aggregate or procedure by its OID.
    pub fn proc(&self, oid: Oid) -> Option<&Proc> {
        let facts = &built_in().procs;
        match facts.binary_search_by_key(&oid, |p| p.oid) {
            Ok(at) => Some(&facts[at]),
            Err(_) => {
                let at = self.procs.binary_search_by_key(&oid, |p| p.oid).ok()?;
                Some(&self.procs[at])
            }
        }
    }

    /// All functions, aggregates and procedures of PostgreSQL; those of extensions are not among them.
    pub fn procs(&self) -> &'static [Proc] {
        let all = &built_in().procs;
        &all[..all.partition_point(|proc| extensions::of(proc.oid).is_none())]
    }

    /// Functions, aggregates and procedures of PostgreSQL by a name.
    pub fn system_procs<'a>(
        &self,
        name: &'a str,
    ) -> impl Iterator<Item = &'static Proc> + Clone + use<'a> {
        facts_named(name).filter(|proc| extensions::of(proc.oid).is_none())
    }

    /// Those of extensions that a name means, which may be one with a schema.
    fn of_extensions<'a>(
        &'a self,
        name: &'a str,
    ) -> impl Iterator<Item = &'static Proc> + Clone + use<'a> {
        let plain = facts_named(name)
            .filter(|proc| extensions::of(proc.oid).is_some() && self.sees(proc.oid));
        let with_schema = self.created.iter().filter_map(move |created| {
            let rest = name.strip_prefix(created.schema.as_str())?.strip_prefix('.')?;
            Some((created.extension, rest))
        });
        let with_schema = with_schema
            .flat_map(|(extension, rest)| facts_named(rest).filter(|proc| extension.has(proc.oid)));
        plain.chain(with_schema)
    }

    /// The same, which notes what calls mean by names alone that others than the system have, too.
    #[must_use]
    pub fn noting(self, noted: Noted) -> Catalog {
        Catalog { noted: Some(noted), ..self }
    }

    /// Notes what a call means by a name alone.
    pub(crate) fn note(&self, name: &Name, proc: Oid) {
        let Some(noted) = &self.noted else { return };
        if self.procs.is_empty() && self.created.is_empty() {
            return;
        }
        let mut all = noted.0.lock().unwrap_or_else(PoisonError::into_inner);
        if all.len() < NOTED && !all.iter().any(|known| known.0 == *name && known.1 == proc) {
            all.push((name.clone(), proc));
        }
    }

    /// The name by which only what is the system's own is found, also where others have it.
    pub fn name_of_system(&self, name: &Name) -> Name {
        let others = self.procs.iter().any(|proc| proc.name == **name);
        match others || self.of_extensions(name).next().is_some() {
            true => format!("{SYSTEM_PREFIX}{name}").into(),
            false => name.clone(),
        }
    }

    /// Functions, aggregates and procedures of a name, also of one with a schema.
    pub fn procs_named<'a>(&'a self, name: &'a str) -> impl Iterator<Item = &'a Proc> + Clone {
        let is = move |proc: &&Proc| {
            let Some(made) = &proc.made else { return false };
            proc.name == name && self.path.contains(&made.schema) || made.qualified == name
        };
        let (own, name, others): (&'a [Proc], _, _) = match name.strip_prefix(SYSTEM_PREFIX) {
            Some(name) => (&[], name, None),
            None => (&self.procs, name, Some(self.of_extensions(name))),
        };
        let system = self.system_procs(name).chain(others.into_iter().flatten());
        system.map(|proc| -> &'a Proc { proc }).chain(own.iter().filter(is))
    }

    /// Those of a name that can be called with this number of arguments in order.
    pub fn procs_with<'a>(&'a self, name: &'a str, count: usize) -> impl Iterator<Item = &'a Proc> {
        self.procs_named(name).filter(move |p| {
            let wanted = p.arguments.len();
            (p.variadic != 0 && wanted <= count) || (wanted - p.defaults..=wanted).contains(&count)
        })
    }

    /// Whether the name of a function, with its arguments, means it without its schema.
    pub fn is_seen(&self, proc: &Proc) -> bool {
        let rank = self.rank(proc);
        let others = || self.procs_named(&proc.name).filter(|of| of.arguments == proc.arguments);
        rank > 0 && self.sees(proc.oid) && others().all(|of| self.rank(of) >= rank)
    }

    /// The place of a function's schema among those in which names are looked up.
    pub fn rank(&self, proc: &Proc) -> usize {
        let created = self.created(proc.oid);
        let schema = match (&proc.made, created) {
            (Some(made), _) => &made.schema,
            (None, Some(created)) => &created.schema,
            (None, None) => SYSTEM,
        };
        match self.path.iter().position(|known| known == schema) {
            Some(at) => at + 1,
            // Where no path is known, what is the system's comes first.
            None if created.is_some() => usize::MAX,
            None => 0,
        }
    }
}

/// Functions of the facts by a name.
fn facts_named(name: &str) -> impl Iterator<Item = &'static Proc> + Clone + use<'_> {
    let facts = built_in();
    let of = |at: &u16| &facts.procs[usize::from(*at)];
    let first = facts.procs_by_name.partition_point(|at| *of(at).name < *name);
    facts.procs_by_name[first..].iter().map(of).take_while(move |p| p.name == name)
}
