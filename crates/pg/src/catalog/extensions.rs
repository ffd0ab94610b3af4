//! Which extensions can a database create, and what do they bring?
//!
//! What an extension has is in a file that was taken from a PostgreSQL 15 with the extension created, in the form of the other
//! facts; each line begins with its kind. OIDs are given here, a thousand to each extension, and never change: columns keep
//! those of their types. All of it is found by OID in each [`Catalog`]; by name only what the database has created.

use super::facts::Row;
use super::{Catalog, Proc, Type, built_in};
use crate::Oid;

/// The first OID of extensions; those of sequences come before, those of other objects behind.
const FIRST: Oid = 1_090_000_000;
/// How many each extension has.
const EACH: Oid = 1000;

/// An extension that can be created.
#[derive(Debug)]
pub struct Extension {
    /// Its name.
    pub name: &'static str,
    /// The version that is created.
    pub version: &'static str,
    /// Versions that PostgreSQL has scripts for, up to that.
    pub versions: &'static [&'static str],
    /// What it says of itself.
    pub comment: &'static str,
    /// Whether it is not for superusers alone.
    pub trusted: bool,
    /// What it has.
    text: &'static str,
}

/// Extensions that can be created. Their places give their OIDs: a new one comes at the end.
pub static ALL: [Extension; 7] = [
    Extension {
        name: "hstore",
        version: "1.8",
        versions: &["1.4", "1.5", "1.6", "1.7", "1.8"],
        comment: "data type for storing sets of (key, value) pairs",
        trusted: true,
        text: include_str!("data/extensions/hstore.tsv"),
    },
    Extension {
        name: "citext",
        version: "1.6",
        versions: &["1.4", "1.5", "1.6"],
        comment: "data type for case-insensitive character strings",
        trusted: true,
        text: include_str!("data/extensions/citext.tsv"),
    },
    Extension {
        name: "pgcrypto",
        version: "1.3",
        versions: &["1.3"],
        comment: "cryptographic functions",
        trusted: true,
        text: include_str!("data/extensions/pgcrypto.tsv"),
    },
    Extension {
        name: "uuid-ossp",
        version: "1.1",
        versions: &["1.1"],
        comment: "generate universally unique identifiers (UUIDs)",
        trusted: true,
        text: include_str!("data/extensions/uuid-ossp.tsv"),
    },
    Extension {
        name: "pg_trgm",
        version: "1.6",
        versions: &["1.3", "1.4", "1.5", "1.6"],
        comment: "text similarity measurement and index searching based on trigrams",
        trusted: true,
        text: include_str!("data/extensions/pg_trgm.tsv"),
    },
    Extension {
        name: "pg_stat_statements",
        version: "1.10",
        versions: &["1.4", "1.5", "1.6", "1.7", "1.8", "1.9", "1.10"],
        comment: "track planning and execution statistics of all SQL statements executed",
        trusted: false,
        text: include_str!("data/extensions/pg_stat_statements.tsv"),
    },
    // Its operators `<->` and the types of its keys are left out: there are no distances, and its indexes have keys like others.
    Extension {
        name: "btree_gist",
        version: "1.7",
        versions: &["1.2", "1.3", "1.4", "1.5", "1.6", "1.7"],
        comment: "support for indexing common datatypes in GiST",
        trusted: true,
        text: include_str!("data/extensions/btree_gist.tsv"),
    },
];

/// What every database has beyond PostgreSQL, and no catalog lists: functions of the schema that has its name.
pub static OWN: Extension = Extension {
    name: "onlap",
    version: "1.0",
    versions: &[],
    comment: "advice of the database",
    trusted: false,
    text: include_str!("data/extensions/onlap.tsv"),
};
/// Its place, behind those of all extensions to come.
const OWN_PLACE: Oid = 999;

/// What a line of an extension's file is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Part {
    /// As in [`super::Table::Type`].
    Type,
    /// As in [`super::Table::Operator`].
    Operator,
    /// As in [`super::Table::Proc`].
    Proc,
    /// As in [`super::Table::Cast`].
    Cast,
    /// As in [`super::Table::Aggregate`].
    Aggregate,
    /// oid, opcmethod, opcname, opcfamily, opcintype, opcdefault, opckeytype
    Class,
    /// oid, opfmethod, opfname
    Family,
}

impl Part {
    fn word(self) -> &'static str {
        match self {
            Part::Type => "type",
            Part::Operator => "operator",
            Part::Proc => "proc",
            Part::Cast => "cast",
            Part::Aggregate => "aggregate",
            Part::Class => "opclass",
            Part::Family => "opfamily",
        }
    }
}

impl Extension {
    /// Its rows of a kind.
    pub fn rows(&self, part: Part) -> impl Iterator<Item = Row> {
        self.text.lines().filter_map(move |line| {
            let (kind, rest) = line.split_once('\t')?;
            (kind == part.word()).then(|| Row::of(rest))
        })
    }

    /// Whether an OID is that of something of it.
    pub fn has(&self, oid: Oid) -> bool {
        of(oid).is_some_and(|extension| std::ptr::eq(extension, self))
    }

    /// Its functions.
    pub fn procs(&'static self) -> impl Iterator<Item = &'static Proc> {
        built_in().procs.iter().filter(|proc| self.has(proc.oid))
    }

    /// Its types, those of arrays too.
    pub fn types(&'static self) -> impl Iterator<Item = &'static Type> {
        built_in().types.iter().filter(|ty| self.has(ty.oid))
    }
}

/// One by its name.
pub fn named(name: &str) -> Option<&'static Extension> {
    ALL.iter().find(|extension| extension.name == name)
}

/// The extension that has something of this OID.
pub fn of(oid: Oid) -> Option<&'static Extension> {
    match oid.checked_sub(FIRST)? / EACH {
        OWN_PLACE => Some(&OWN),
        place => ALL.get(place as usize),
    }
}

/// The rows of a kind of all of them.
pub fn all_rows(part: Part) -> impl Iterator<Item = Row> {
    ALL.iter().chain([&OWN]).flat_map(move |extension| extension.rows(part))
}

/// An extension that a database has created.
#[derive(Clone, Debug)]
pub struct Created {
    /// Which.
    pub extension: &'static Extension,
    /// The schema that its names are in.
    pub schema: String,
    /// Whether that is among those in which names alone are looked up.
    pub seen: bool,
}

impl Catalog {
    /// The same with extensions of a database.
    #[must_use]
    pub fn with_extensions(mut self, created: Vec<Created>) -> Catalog {
        self.created = created.into();
        self
    }

    /// PostgreSQL's own and all extensions, for texts of which it is known that they were bound before.
    pub fn of_all() -> Catalog {
        let created = |extension| Created { extension, schema: String::new(), seen: true };
        Catalog::new().with_extensions(ALL.iter().chain([&OWN]).map(created).collect())
    }

    /// The same with types and functions of a database, which are found by their names alone.
    pub fn of_all_and(types: Vec<super::Type>, procs: Vec<super::Proc>) -> Catalog {
        let path = procs.iter().filter_map(|proc| Some(proc.made.as_ref()?.schema.clone()));
        let path = path.take(1).collect();
        let all = Catalog { created: Catalog::of_all().created, ..Catalog::with(types) };
        all.with_procs(procs.into(), path)
    }

    /// The created extension that something belongs to.
    pub fn created(&self, oid: Oid) -> Option<&Created> {
        let extension = of(oid)?;
        self.created.iter().find(|created| std::ptr::eq(created.extension, extension))
    }

    /// Whether something is PostgreSQL's own or of a created extension.
    pub(super) fn has(&self, oid: Oid) -> bool {
        of(oid).is_none() || self.created(oid).is_some()
    }

    /// Whether its name alone means it.
    pub(super) fn sees(&self, oid: Oid) -> bool {
        of(oid).is_none() || self.created(oid).is_some_and(|created| created.seen)
    }

    /// A type as messages write it: with its schema where its name alone would not mean it.
    pub(super) fn in_schema<'a>(&self, ty: &'a Type) -> std::borrow::Cow<'a, str> {
        match self.created(ty.oid) {
            Some(created) if !created.seen => {
                format!("{}.{}", crate::print::name(&created.schema), ty.shown).into()
            }
            _ => (&*ty.shown).into(),
        }
    }
}
