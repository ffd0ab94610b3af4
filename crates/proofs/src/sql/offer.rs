//! What does Onlap offer?
//!
//! Every function, operator, cast and aggregate that its catalogs have and its kernels carry out, so that what is added is
//! drawn without anything being written here. Left out are those whose answers differ by nature: volatile ones, those that
//! ask the session, the time or the server; and those of types that have no values in [`values`].

use std::collections::HashMap;

use onlap_kernels::{find, find_aggregate, find_series, misc};
use onlap_pg::Oid;
use onlap_pg::catalog::{CastMethod, Catalog, Proc, ProcKind, Row, Table, Volatility, oids, rows};

use super::values;

/// How it is called.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Kind {
    /// `f(a, b)`
    Function,
    /// `a + b`
    Operator,
    /// `- a`
    Prefix,
    /// `a::type`
    Cast,
    /// `sum(a)`
    Aggregate,
    /// `percentile_cont(a) within group (order by b)`; the number of arguments before.
    Ordered(usize),
    /// `rank() over (…)`
    Window,
    /// A set.
    Series,
}

/// Something to call.
#[derive(Clone, Debug)]
pub struct Call {
    /// How.
    pub kind: Kind,
    /// Its name; a cast's has none.
    pub name: &'static str,
    /// Declared types of arguments.
    pub arguments: Vec<Oid>,
    /// How many of the last may be left out.
    pub defaults: usize,
    /// What the last one collects, or 0.
    pub variadic: Oid,
    /// The declared type.
    pub result: Oid,
}

/// Everything.
#[derive(Debug)]
pub struct Offer {
    /// PostgreSQL's catalog.
    pub catalog: Catalog,
    /// All of it.
    pub calls: Vec<Call>,
    by_result: HashMap<(bool, Oid), Vec<usize>>,
    by_kind: HashMap<Kind, Vec<usize>>,
}

/// Types that stand for others: of elements, of arrays.
const ELEMENTS: [Oid; 4] = [2283, 2776, 5077, 5079];
const ARRAYS: [Oid; 2] = [2277, 5078];
/// "any"
const ANY: Oid = 2276;

/// They tell the time, or what a server is.
const OWN: [&str; 11] = [
    "now",
    "transaction_timestamp",
    "statement_timestamp",
    "version",
    "txid_",
    "pg_",
    "inet_client",
    "inet_server",
    "current_",
    "to_reg",
    "row_security",
];

impl Offer {
    /// Reads the catalogs.
    pub fn new() -> Offer {
        let catalog = Catalog::new();
        let mut calls: Vec<Call> =
            catalog.procs().iter().filter_map(|p| of_proc(&catalog, p)).collect();
        let oid = |row: Row| row.number::<Oid>(0);
        calls.extend(rows(Table::Operator).map(oid).filter_map(|oid| of_operator(&catalog, oid)));
        let pairs = rows(Table::Cast).map(|row| (row.number(0), row.number(1)));
        calls.extend(pairs.filter_map(|(source, target)| of_cast(&catalog, source, target)));
        calls.extend(texts());
        let mut calls: Vec<Call> =
            calls.into_iter().flat_map(|call| of_ranges(&catalog, call)).collect();
        calls.retain(is_drawn);
        let mut offer =
            Offer { catalog, calls, by_result: HashMap::new(), by_kind: HashMap::new() };
        for (at, call) in offer.calls.iter().enumerate() {
            let aggregate = matches!(call.kind, Kind::Aggregate | Kind::Ordered(_));
            if aggregate
                || matches!(call.kind, Kind::Function | Kind::Operator | Kind::Prefix | Kind::Cast)
            {
                offer.by_result.entry((aggregate, call.result)).or_default().push(at);
            }
            let kind = if aggregate { Kind::Aggregate } else { call.kind };
            offer.by_kind.entry(kind).or_default().push(at);
        }
        offer
    }

    /// What gives a type, aggregates or others.
    pub fn giving(&self, ty: Oid, aggregates: bool) -> Vec<usize> {
        let mut open: Vec<Oid> = vec![ty];
        open.extend(ELEMENTS);
        if self.catalog.element(ty).is_some() {
            open.extend(ARRAYS);
        }
        let found = open.iter().filter_map(|result| self.by_result.get(&(aggregates, *result)));
        found.flatten().copied().collect()
    }

    /// All of a kind.
    pub fn of_kind(&self, kind: Kind) -> &[usize] {
        self.by_kind.get(&kind).map_or(&[], Vec::as_slice)
    }

    /// The type that elements have where a call gives a type, if that says it.
    pub fn element_for(&self, call: &Call, result: Oid) -> Option<Oid> {
        match call.result {
            open if ELEMENTS.contains(&open) => Some(result),
            open if ARRAYS.contains(&open) => self.catalog.element(result),
            _ => None,
        }
    }

    /// A declared type with the type of elements put in; `any` is the type for `"any"`.
    pub fn filled(&self, declared: Oid, element: Oid, any: Oid) -> Option<Oid> {
        match declared {
            ANY => Some(any),
            open if ELEMENTS.contains(&open) => Some(element),
            open if ARRAYS.contains(&open) => self.catalog.array_of(element),
            other => Some(other),
        }
    }
}

impl Default for Offer {
    fn default() -> Offer {
        Offer::new()
    }
}

fn is_open(ty: Oid) -> bool {
    ty == ANY || ELEMENTS.contains(&ty) || ARRAYS.contains(&ty)
}

fn is_drawn(call: &Call) -> bool {
    let known = |ty: &Oid| is_open(*ty) || values::is_drawn(*ty);
    if cuts(call) {
        return false;
    }
    call.arguments.iter().all(known) && (known(&call.result) || call.kind == Kind::Series)
}

/// Whether it cuts values to a modifier, which the grammar writes as `varchar(8)`. As a call it takes modifiers that only PostgreSQL
/// itself makes, and PostgreSQL shows those that it can leave out as the column's.
fn cuts(call: &Call) -> bool {
    let names = [
        "bit",
        "bpchar",
        "interval",
        "numeric",
        "time",
        "timestamp",
        "timestamptz",
        "timetz",
        "varbit",
        "varchar",
    ];
    names.contains(&call.name)
        && call.arguments.get(1) == Some(&23)
        && call.arguments.first() == Some(&call.result)
}

fn of_proc(catalog: &Catalog, proc: &Proc) -> Option<Call> {
    let own = OWN.iter().any(|word| proc.name.starts_with(word));
    // Of one argument it counts from today.
    let from_today = proc.name == "age" && proc.arguments.len() == 1;
    if proc.volatility == Volatility::Volatile
        || own
        || from_today
        || misc::asks_session(catalog, proc.oid)
    {
        return None;
    }
    let kind = match proc.kind {
        ProcKind::Function if proc.retset => find_series(proc.oid).map(|_| Kind::Series)?,
        ProcKind::Function => find(proc.oid).map(|_| Kind::Function)?,
        ProcKind::Aggregate => {
            find_aggregate(proc.oid)?;
            match catalog.aggregate(proc.oid) {
                Some(found) if found.kind != b'n' => Kind::Ordered(found.direct),
                _ => Kind::Aggregate,
            }
        }
        ProcKind::Window => Kind::Window,
        ProcKind::Procedure => return None,
    };
    // Databases make functions whose names are owned; none is offered.
    let std::borrow::Cow::Borrowed(name) = proc.name else { return None };
    Some(Call {
        kind,
        name,
        arguments: proc.arguments.to_vec(),
        defaults: proc.defaults,
        variadic: proc.variadic,
        result: proc.result,
    })
}

fn of_operator(catalog: &Catalog, oid: Oid) -> Option<Call> {
    let found = catalog.operator(oid)?;
    find(found.proc)?;
    let (kind, arguments) = match found.left {
        0 => (Kind::Prefix, vec![found.right]),
        left => (Kind::Operator, vec![left, found.right]),
    };
    Some(Call { kind, name: found.name, arguments, defaults: 0, variadic: 0, result: found.result })
}

fn of_cast(catalog: &Catalog, source: Oid, target: Oid) -> Option<Call> {
    let found = catalog.cast(source, target)?;
    if found.method == CastMethod::Function {
        find(found.function)?;
    }
    Some(cast(source, target))
}

/// A call with each type of ranges in the place of any range and any multirange.
fn of_ranges(catalog: &Catalog, call: Call) -> Vec<Call> {
    let is_any = |oid: &Oid| matches!(*oid, oids::ANYRANGE | oids::ANYMULTIRANGE);
    if !call.arguments.iter().chain([&call.result]).any(is_any) {
        return vec![call];
    }
    let ranges = values::types().filter_map(|range| {
        let (element, multirange) = (catalog.range_element(range)?, catalog.multirange_of(range)?);
        let own = |oid: Oid| match oid {
            oids::ANYRANGE => range,
            oids::ANYMULTIRANGE => multirange,
            oids::ANYELEMENT => element,
            other => other,
        };
        let arguments = call.arguments.iter().map(|oid| own(*oid)).collect();
        Some(Call { arguments, result: own(call.result), ..call.clone() })
    });
    ranges.collect()
}

fn cast(source: Oid, target: Oid) -> Call {
    Call {
        kind: Kind::Cast,
        name: "",
        arguments: vec![source],
        defaults: 0,
        variadic: 0,
        result: target,
    }
}

/// Casts from and to text.
fn texts() -> Vec<Call> {
    let text = 25;
    values::types()
        .filter(|ty| *ty != text)
        .flat_map(|ty| [cast(ty, text), cast(text, ty)])
        .collect()
}
