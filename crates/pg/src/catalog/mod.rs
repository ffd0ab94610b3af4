//! Which types, operators, casts, functions and aggregates does PostgreSQL 15 have?
//!
//! The facts are files that `xtask catalog` took from a running PostgreSQL ([`facts`]): every row, also of what
//! Onlap has no kernel for, because resolving over a part of them silently picks another overload. They are
//! parsed once, in some milliseconds, into sorted tables of about a megabyte ([`load`]). A [`Catalog`] is
//! these and the types that a database has made itself; those of rows come as their relations are named ([`named`]).
//!
//! What [`extensions`] bring is part of the facts, and found by name where it was created.
//!
//! Invariants: an OID of the facts is below 10,000, except those of extensions and of the one function outside of pg_catalog;
//! one of a made type is not; every array type of a type with one is there. Thread safety: what was found stays; types of rows may be added.

pub mod extensions;
mod facts;
mod load;
mod named;
mod others;
mod procs;
mod rows;
mod shown;

use std::sync::{Arc, OnceLock};

use crate::Oid;

pub use facts::{Row, Table, rows};
pub use others::Finder;
pub use procs::Noted;
pub use rows::{
    Aggregate, Cast, CastContext, CastMethod, Kind, Label, MadeAggregate, MadeParameter, MadeProc,
    Operator, Proc, ProcKind, Type, Volatility,
};
pub use shown::{operator_signature, procedure_signature};

/// OIDs that rules of PostgreSQL name.
pub mod oids {
    use crate::Oid;

    /// bool
    pub const BOOL: Oid = 16;
    /// int8
    pub const INT8: Oid = 20;
    /// int2
    pub const INT2: Oid = 21;
    /// int2vector
    pub const INT2VECTOR: Oid = 22;
    /// int4
    pub const INT4: Oid = 23;
    /// oid
    pub const OID: Oid = 26;
    /// tid
    pub const TID: Oid = 27;
    /// xid
    pub const XID: Oid = 28;
    /// cid
    pub const CID: Oid = 29;
    /// text
    pub const TEXT: Oid = 25;
    /// oidvector
    pub const OIDVECTOR: Oid = 30;
    /// A literal or a parameter whose type is still open.
    pub const UNKNOWN: Oid = 705;
    /// text[]
    pub const TEXT_ARRAY: Oid = 1009;
    /// interval
    pub const INTERVAL: Oid = 1186;
    /// hstore, where it was created
    pub const HSTORE: Oid = 1_090_000_001;
    /// citext, where it was created
    pub const CITEXT: Oid = 1_090_001_001;
    /// `%` of pg_trgm, where it was created
    pub const SIMILAR: Oid = 1_090_004_006;
    /// `%>` of pg_trgm
    pub const WORD_SIMILAR: Oid = 1_090_004_010;
    /// `%>>` of pg_trgm
    pub const STRICTLY_WORD_SIMILAR: Oid = 1_090_004_068;
    /// gin_trgm_ops of pg_trgm
    pub const TRIGRAM_OPS: Oid = 1_090_004_052;
    /// record
    pub const RECORD: Oid = 2249;
    /// `void`
    pub const VOID: Oid = 2278;
    /// "any"
    pub const ANY: Oid = 2276;
    /// anyarray
    pub const ANYARRAY: Oid = 2277;
    /// anyelement
    pub const ANYELEMENT: Oid = 2283;
    /// record[]
    pub const RECORD_ARRAY: Oid = 2287;
    /// anynonarray
    pub const ANYNONARRAY: Oid = 2776;
    /// anyenum
    pub const ANYENUM: Oid = 3500;
    /// anyrange
    pub const ANYRANGE: Oid = 3831;
    /// anymultirange
    pub const ANYMULTIRANGE: Oid = 4537;
    /// anycompatiblemultirange
    pub const ANYCOMPATIBLEMULTIRANGE: Oid = 4538;
    /// anycompatible
    pub const ANYCOMPATIBLE: Oid = 5077;
    /// anycompatiblearray
    pub const ANYCOMPATIBLEARRAY: Oid = 5078;
    /// anycompatiblenonarray
    pub const ANYCOMPATIBLENONARRAY: Oid = 5079;
    /// anycompatiblerange
    pub const ANYCOMPATIBLERANGE: Oid = 5080;
}

/// What PostgreSQL has, parsed.
#[derive(Debug)]
struct Facts {
    types: Vec<Type>,
    types_by_name: Vec<u16>,
    operators: Vec<Operator>,
    operators_by_name: Vec<u16>,
    procs: Vec<Proc>,
    procs_by_name: Vec<u16>,
    casts: Vec<Cast>,
    aggregates: Vec<Aggregate>,
}

fn built_in() -> &'static Facts {
    static FACTS: OnceLock<Facts> = OnceLock::new();
    FACTS.get_or_init(load::facts)
}

/// What a statement can name: PostgreSQL's own and the types of a database.
#[derive(Clone, Debug, Default)]
pub struct Catalog {
    /// Sorted by OID.
    made: Arc<[Type]>,
    /// Types of rows, which come when their relations are named.
    named: named::Named,
    /// Those that come when a value is met that has them.
    others: others::Others,
    /// Functions of a database, sorted by OID, and the schemas in which names alone are looked up.
    procs: Arc<[Proc]>,
    path: Arc<[String]>,
    /// Extensions of a database.
    created: Arc<[extensions::Created]>,
    /// What calls meant.
    noted: Option<Noted>,
}

impl Catalog {
    /// PostgreSQL's own alone.
    pub fn new() -> Catalog {
        Catalog::default()
    }

    /// With types that a database made: enums, domains, composites, each with its array type.
    pub fn with(mut made: Vec<Type>) -> Catalog {
        made.sort_by_key(|t| t.oid);
        Catalog { made: made.into(), ..Catalog::default() }
    }

    /// The same, which looks for types of rows that no statement has named.
    #[must_use]
    pub fn finding(self, finder: Arc<Finder>) -> Catalog {
        Catalog { others: others::Others::of(finder), ..self }
    }

    /// Adds a type that a statement has named, such as that of a table's rows; one that is there already stays.
    pub fn name_type(&self, ty: Type) {
        self.named.add(ty);
    }

    /// A type by its OID.
    pub fn get_type(&self, oid: Oid) -> Option<&Type> {
        let facts = &built_in().types;
        match facts.binary_search_by_key(&oid, |t| t.oid) {
            Ok(at) => Some(&facts[at]),
            Err(_) => match self.made.binary_search_by_key(&oid, |t| t.oid) {
                Ok(at) => Some(&self.made[at]),
                Err(_) => self.named.iter().find(|t| t.oid == oid).or_else(|| self.found(oid)),
            },
        }
    }

    /// Whether a statement has named a type of rows.
    pub fn has_named(&self, oid: Oid) -> bool {
        self.named.iter().any(|t| t.oid == oid)
    }

    fn found(&self, oid: Oid) -> Option<&Type> {
        self.others.find(oid)?.into_iter().for_each(|ty| self.named.add(ty));
        self.named.iter().find(|t| t.oid == oid)
    }

    /// A type by the name of its row in pg_type; PostgreSQL's own come first, as pg_catalog does in a path.
    pub fn type_named(&self, name: &str) -> Option<&Type> {
        let facts = built_in();
        let of = |at: &u16| &facts.types[usize::from(*at)];
        match facts.types_by_name.binary_search_by(|at| (*of(at).name).cmp(name)) {
            Ok(at) if self.sees(of(&facts.types_by_name[at]).oid) => {
                Some(of(&facts.types_by_name[at]))
            }
            _ => self.made.iter().find(|t| t.name == name),
        }
    }

    /// All types.
    pub fn types(&self) -> impl Iterator<Item = &Type> {
        let facts = built_in().types.iter().filter(|ty| self.has(ty.oid));
        facts.chain(&*self.made).chain(self.named.iter())
    }

    /// An operator by its OID.
    pub fn operator(&self, oid: Oid) -> Option<&'static Operator> {
        let facts = &built_in().operators;
        facts.binary_search_by_key(&oid, |o| o.oid).ok().map(|at| &facts[at])
    }

    /// Operators of a name, prefix ones with left operand 0. Those of an extension are found whatever its schema is.
    pub fn operators_named<'a>(
        &'a self,
        name: &'a str,
    ) -> impl Iterator<Item = &'static Operator> + Clone + use<'a> {
        let facts = built_in();
        let of = |at: &u16| &facts.operators[usize::from(*at)];
        let first = facts.operators_by_name.partition_point(|at| *of(at).name < *name);
        let all = facts.operators_by_name[first..].iter().map(of);
        all.take_while(move |o| o.name == name).filter(|o| self.has(o.oid))
    }

    /// The operator of a name whose operands are declared so.
    pub fn operator_exact(&self, name: &str, left: Oid, right: Oid) -> Option<&'static Operator> {
        self.operators_named(name).find(|o| o.left == left && o.right == right)
    }

    /// The cast between two types, without looking through domains.
    pub fn cast(&self, source: Oid, target: Oid) -> Option<&'static Cast> {
        let facts = &built_in().casts;
        let found = facts.binary_search_by_key(&(source, target), |c| (c.source, c.target));
        found.ok().map(|at| &facts[at])
    }

    /// What is special about an aggregate, by the OID of its function.
    pub fn aggregate(&self, oid: Oid) -> Option<&'static Aggregate> {
        let facts = &built_in().aggregates;
        facts.binary_search_by_key(&oid, |a| a.proc).ok().map(|at| &facts[at])
    }

    /// The category and whether the type is preferred in it.
    pub fn category(&self, oid: Oid) -> (u8, bool) {
        self.get_type(oid).map_or((0, false), |t| (t.category, t.preferred))
    }

    /// The type below all domains, with the modifier that they ask for if `modifier` is none.
    pub fn base(&self, mut oid: Oid, mut modifier: i32) -> (Oid, i32) {
        while let Some(domain) = self.get_type(oid).filter(|t| t.kind == Kind::Domain) {
            (oid, modifier) = (domain.base, domain.base_modifier);
        }
        (oid, modifier)
    }

    /// The type below all domains.
    pub fn base_type(&self, oid: Oid) -> Oid {
        self.base(oid, -1).0
    }

    /// The collation of a type's values; 0 where they have none.
    pub fn collation(&self, oid: Oid) -> Oid {
        let Some(found) = self.get_type(oid) else { return 0 };
        match found.kind {
            _ if found.collation != 0 => found.collation,
            Kind::Domain => self.collation(found.base),
            _ if found.is_array && found.element != oid => self.collation(found.element),
            _ => 0,
        }
    }

    /// The type of elements, if the type is an array and no domain over one.
    pub fn element(&self, oid: Oid) -> Option<Oid> {
        self.get_type(oid).filter(|t| t.is_array).map(|t| t.element)
    }

    /// The type of elements of an array or of a domain over one.
    pub fn base_element(&self, oid: Oid) -> Option<Oid> {
        self.element(self.base_type(oid))
    }

    /// The array of a type.
    pub fn array_of(&self, oid: Oid) -> Option<Oid> {
        self.get_type(oid).map(|t| t.array).filter(|array| *array != 0)
    }

    /// What a range is of.
    pub fn range_element(&self, oid: Oid) -> Option<Oid> {
        self.get_type(oid).filter(|t| t.kind == Kind::Range).map(|t| t.range)
    }

    /// The range of which a multirange consists.
    pub fn multirange_range(&self, oid: Oid) -> Option<Oid> {
        self.get_type(oid).filter(|t| t.kind == Kind::Multirange).map(|t| t.range)
    }

    /// The multirange of a range.
    pub fn multirange_of(&self, range: Oid) -> Option<Oid> {
        self.types().find(|t| t.kind == Kind::Multirange && t.range == range).map(|t| t.oid)
    }

    /// Whether it is a composite type, or a domain over one.
    pub fn is_composite(&self, oid: Oid) -> bool {
        self.get_type(self.base_type(oid)).is_some_and(|t| t.kind == Kind::Composite)
    }

    /// Whether it is an enum.
    pub fn is_enum(&self, oid: Oid) -> bool {
        self.get_type(oid).is_some_and(|t| t.kind == Kind::Enum)
    }
}

#[cfg(test)]
mod tests;
