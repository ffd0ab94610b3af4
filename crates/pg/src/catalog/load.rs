//! How do the files of facts become tables to search in?

use std::borrow::Cow;
use std::collections::HashMap;

use super::extensions::{Part, all_rows};
use super::facts::{Row, Table, rows};
use super::rows::{
    Aggregate, Cast, CastContext, CastMethod, Kind, Operator, Proc, ProcKind, Type, Volatility,
};
use super::{Facts, shown};
use crate::Oid;

/// typsubscript of arrays.
const ARRAY_SUBSCRIPTS: Oid = 6179;
/// information_schema._pg_expandarray
const EXPANDARRAY: Oid = 13_200;

pub(super) fn facts() -> Facts {
    let types = types();
    let operators = rows(Table::Operator).chain(all_rows(Part::Operator));
    let operators: Vec<Operator> = operators.map(|row| operator(&row)).collect();
    let mut procs: Vec<Proc> = rows(Table::Proc).map(|row| proc(&row)).collect();
    procs.push(expandarray());
    procs.extend(all_rows(Part::Proc).map(|row| proc(&row)));
    let casts = rows(Table::Cast).chain(all_rows(Part::Cast));
    let mut casts: Vec<Cast> = casts.map(|row| cast(&row)).collect();
    casts.sort_by_key(|cast| (cast.source, cast.target));
    let aggregates = rows(Table::Aggregate).chain(all_rows(Part::Aggregate));
    Facts {
        types_by_name: by_name(types.len(), |at| &types[at].name),
        operators_by_name: by_name(operators.len(), |at| operators[at].name),
        procs_by_name: by_name(procs.len(), |at| &procs[at].name),
        types,
        operators,
        procs,
        casts,
        aggregates: aggregates.map(|row| aggregate(&row)).collect(),
    }
}

/// Positions in the order of names, those of one name in order.
fn by_name<'a>(count: usize, name: impl Fn(usize) -> &'a str) -> Vec<u16> {
    let mut positions: Vec<u16> =
        (0..count).map(|at| u16::try_from(at).expect("fewer than 65,536 rows")).collect();
    positions.sort_by_key(|at| (name(usize::from(*at)), *at));
    positions
}

fn types() -> Vec<Type> {
    let mut ranges: HashMap<Oid, Oid> = HashMap::new();
    for row in rows(Table::Range) {
        ranges.insert(row.number(0), row.number(1));
        ranges.insert(row.number(2), row.number(0));
    }
    let mut types: Vec<Type> = rows(Table::Type)
        .chain(all_rows(Part::Type))
        .map(|row| Type { range: ranges.get(&row.number(0)).copied().unwrap_or(0), ..plain(&row) })
        .collect();
    let plain: HashMap<Oid, Cow<'static, str>> =
        types.iter().map(|t| (t.oid, shown::of(&t.name))).collect();
    for found in &mut types {
        // Rows of some system tables are here, their arrays are not.
        if !plain.contains_key(&found.array) {
            found.array = 0;
        }
        // Vectors are arrays by their subscripts alone; they keep their name.
        let vector = matches!(found.oid, super::oids::INT2VECTOR | super::oids::OIDVECTOR);
        found.shown = match found.is_array && !vector {
            true => Cow::Owned(format!("{}[]", plain[&found.element])),
            false => plain[&found.oid].clone(),
        };
    }
    types
}

fn plain(row: &Row) -> Type {
    Type {
        oid: row.number(0),
        name: Cow::Borrowed(row.text(1)),
        shown: Cow::Borrowed(""),
        kind: match row.letter(4) {
            b'c' => Kind::Composite,
            b'd' => Kind::Domain,
            b'e' => Kind::Enum,
            b'p' => Kind::Pseudo,
            b'r' => Kind::Range,
            b'm' => Kind::Multirange,
            _ => Kind::Base,
        },
        category: row.letter(5),
        preferred: row.flag(6),
        is_array: row.number::<Oid>(10) == ARRAY_SUBSCRIPTS && row.number::<Oid>(11) != 0,
        element: row.number(11),
        array: row.number(12),
        base: row.number(23),
        base_modifier: row.number(24),
        collation: row.number(26),
        range: 0,
        input: row.number(13),
        length: row.number(2),
        labels: Vec::new(),
        fields: Vec::new(),
    }
}

fn operator(row: &Row) -> Operator {
    Operator {
        oid: row.number(0),
        name: row.text(1),
        can_merge: row.flag(3),
        can_hash: row.flag(4),
        left: row.number(5),
        right: row.number(6),
        result: row.number(7),
        commutator: row.number(8),
        negator: row.number(9),
        proc: row.number(10),
    }
}

fn proc(row: &Row) -> Proc {
    let arguments = row.text(17).split_whitespace();
    Proc {
        oid: row.number(0),
        name: row.text(1).into(),
        variadic: row.number(5),
        kind: match row.letter(7) {
            b'a' => ProcKind::Aggregate,
            b'w' => ProcKind::Window,
            b'p' => ProcKind::Procedure,
            _ => ProcKind::Function,
        },
        strict: row.flag(10),
        retset: row.flag(11),
        volatility: match row.letter(12) {
            b'i' => Volatility::Immutable,
            b's' => Volatility::Stable,
            _ => Volatility::Volatile,
        },
        cost: (row.number::<f64>(3) * 100.0) as u32,
        defaults: row.number(15),
        result: row.number(16),
        arguments: arguments.map(|oid| oid.parse().expect("an OID")).collect(),
        all_types: row.text(18),
        modes: row.text(19),
        names: row.text(20),
        default_texts: row.text(21),
        made: None,
    }
}

/// The one function outside of pg_catalog that clients call. PostgreSQL numbers it anew in each release; its name here has
/// the schema in it, so that it is found by that alone.
fn expandarray() -> Proc {
    Proc {
        oid: EXPANDARRAY,
        name: "information_schema._pg_expandarray".into(),
        variadic: 0,
        kind: ProcKind::Function,
        strict: true,
        retset: true,
        volatility: Volatility::Immutable,
        cost: 10_000,
        defaults: 0,
        result: super::oids::RECORD,
        arguments: Box::new([super::oids::ANYARRAY]),
        all_types: "{2277,2283,23}",
        modes: "{i,o,o}",
        names: "{\"\",x,n}",
        default_texts: "\\N",
        made: None,
    }
}

fn cast(row: &Row) -> Cast {
    Cast {
        source: row.number(0),
        target: row.number(1),
        function: row.number(2),
        context: match row.letter(3) {
            b'i' => CastContext::Implicit,
            b'a' => CastContext::Assignment,
            _ => CastContext::Explicit,
        },
        method: match row.letter(4) {
            b'f' => CastMethod::Function,
            b'i' => CastMethod::Io,
            _ => CastMethod::Binary,
        },
    }
}

fn aggregate(row: &Row) -> Aggregate {
    Aggregate { proc: row.number(0), kind: row.letter(1), direct: row.number(2) }
}
