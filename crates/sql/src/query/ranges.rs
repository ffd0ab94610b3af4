//! Which parts of a table or of an index does a scan read, one after the other?
//!
//! What conditions leave: a range of the index that answers most of them, or one range for each value of a list, in the order
//! of the values. A list that is long compared with the table is not looked up: reading all rows once costs less.

use onlap::{DataType, IndexSchema, KeyRange, Numeric, TableSchema, Value};
use onlap_kernels::{Comparer, Datum};
use onlap_pg::Result;
use onlap_pg::catalog::Catalog;
use onlap_pg::value::numeric::{Class, Numeric as PgNumeric};
use onlap_query::{Order, Restriction, RestrictionKind};

use super::stored::stored;
use crate::columns::{self, ColumnType, Form};
use crate::plan::TableHandle;
use crate::plan::access::{
    Access, Bound, BoundOp, Choice, best_of, choice_of, is_usable, prefix_of,
};

/// Up to this number of values each is looked up, however small the table is.
const FEW: usize = 64;
/// Rows that are read in the time of one lookup.
const ROWS_OF_LOOKUP: u64 = 8;

/// What a value restricts a column to.
#[derive(Debug)]
enum Restricted {
    /// A value of the engine's.
    To(Value),
    /// It is NULL: no row is compared with it.
    Nothing,
    /// The engine has no such value: no row equals it.
    Unlike,
    /// The engine does not order the column's values.
    Anything,
}

/// How a scan goes; that depends on the columns alone.
#[derive(Debug, Default)]
pub struct Way {
    /// By which index.
    pub index: Option<String>,
    /// From its last key to its first.
    pub reverse: bool,
    /// Whether rows come in the order that is wanted.
    pub ordered: bool,
    /// NULLs of the part of the key that decides are read by themselves: before the others (true) or after them.
    pub nulls: Option<bool>,
    /// Whether it leads to one row at most.
    pub one_row: bool,
    /// Positions of derived columns that are true in all wanted rows.
    pub implied: Vec<usize>,
}

/// How a scan goes. What makes fewest rows wins; among indexes that do the same, one that has the order.
pub fn way(
    schema: &TableSchema,
    restrictions: &[Restriction],
    order: &[Order],
    implied: &[i32],
) -> Way {
    let implied: Vec<usize> = implied.iter().map(|number| *number as usize - 1).collect();
    let bounds: Vec<Bound> = restrictions
        .iter()
        .map(|r| Bound { column: position(r), op: op_of(r.kind), value: Value::Null })
        .collect();
    let plain = best_of(schema, &bounds, &implied);
    if !order.is_empty() {
        let lists = |choice: &Choice| {
            choice.used.iter().any(|at| restrictions[*at].kind == RestrictionKind::OneOf)
        };
        let usable = |index: &&IndexSchema| is_usable(schema, index, &implied);
        for index in schema.indexes.iter().filter(usable) {
            let choice = choice_of(schema, index, &bounds);
            let is_best = match (&choice, &plain) {
                (None, None) => true,
                (Some(choice), Some((_, best))) => choice.score == best.score && !lists(choice),
                _ => false,
            };
            let equal = choice.as_ref().map_or(0, |choice| choice.equal);
            let one = choice.as_ref().is_some_and(Choice::is_one_row);
            let bounded = choice.as_ref().is_some_and(|choice| choice.score.2 > 0);
            let way = match one {
                true => Some((false, None)),
                false => follows(schema, index, (equal, bounded), order),
            };
            if is_best && let Some((reverse, nulls)) = way {
                let index = Some(index.name.clone());
                return Way { index, reverse, ordered: true, nulls, one_row: one, implied };
            }
        }
    }
    let one_row = plain.as_ref().is_some_and(|(_, choice)| choice.is_one_row());
    let index = plain.map(|(index, _)| index.name.clone());
    Way { index, one_row, implied, ..Way::default() }
}

/// Whether the keys of an index behind its first columns, each of which has one value, are in this order: whether they are when they
/// are read backward, and whether NULLs of the first of them have to be read by themselves, before the others (true) or after them.
/// Where a range bounds that one (`bounded`), no NULL is in it.
fn follows(
    schema: &TableSchema,
    index: &IndexSchema,
    (equal, bounded): (usize, bool),
    order: &[Order],
) -> Option<(bool, Option<bool>)> {
    let keys = index.key.get(equal..).filter(|keys| keys.len() >= order.len())?;
    let reverse = keys.first()?.descending != order.first()?.descending;
    let mut nulls = None;
    for (at, (key, wanted)) in keys.iter().zip(order).enumerate() {
        let column = schema.position(key.column)?;
        if column != wanted.column as usize - 1 || (key.descending != reverse) != wanted.descending
        {
            return None;
        }
        // NULL is after all values, from whichever end they are read.
        let stands = wanted.nulls_first == wanted.descending;
        let has_nulls = schema.column_at(column).nullable && !(at == 0 && bounded);
        match (stands || !has_nulls, at) {
            (true, _) => {}
            (false, 0) => nulls = Some(wanted.nulls_first),
            (false, _) => return None,
        }
    }
    Some((reverse, nulls))
}

fn position(restriction: &Restriction) -> usize {
    restriction.column as usize - 1
}

/// The parts that have all wanted rows.
///
/// # Errors
/// Those of the queries that give values.
pub fn parts(table: &TableHandle, restrictions: &[Restriction], way: &Way) -> Result<Vec<Access>> {
    let schema = &table.schema;
    let (lists, single): (Vec<_>, Vec<_>) =
        restrictions.iter().partition(|r| r.kind == RestrictionKind::OneOf);
    let mut bounds = Vec::with_capacity(single.len() + 1);
    for restriction in single {
        let column = position(restriction);
        for value in (restriction.values)()? {
            match restricted(&value, table.types.catalog(), table.types[column]) {
                Restricted::To(value) => {
                    bounds.push(Bound { column, op: op_of(restriction.kind), value });
                }
                Restricted::Nothing => return Ok(Vec::new()),
                Restricted::Unlike if restriction.kind == RestrictionKind::Equal => {
                    return Ok(Vec::new());
                }
                Restricted::Unlike | Restricted::Anything => {}
            }
        }
    }
    if way.ordered {
        return Ok(in_order(schema, &bounds, way));
    }
    let plain = best_of(schema, &bounds, &way.implied);
    let score = plain.as_ref().map(|(_, choice)| choice.score).unwrap_or_default();
    for list in lists {
        let column = position(list);
        bounds.push(Bound { column, op: BoundOp::Equal, value: Value::Null });
        let is_better =
            |choice: &Choice| choice.used.contains(&(bounds.len() - 1)) && choice.score > score;
        let is_used =
            best_of(schema, &bounds, &way.implied).is_some_and(|(_, choice)| is_better(&choice));
        if is_used {
            let values = values_of(list, table.types.catalog(), table.types[column])?;
            let most = table.table.approximate_rows();
            if values.len() <= FEW || values.len() as u64 * ROWS_OF_LOOKUP < most {
                return Ok(each(schema, bounds, values, &way.implied));
            }
        }
        bounds.pop();
    }
    Ok(vec![match plain {
        Some((index, choice)) => {
            Access::Index { name: index.name.clone(), range: choice.range, reverse: false }
        }
        None => Access::Table,
    }])
}

/// The range of the index whose order is wanted; two where NULLs are read by themselves.
fn in_order(schema: &TableSchema, bounds: &[Bound], way: &Way) -> Vec<Access> {
    let index = way.index.as_ref().and_then(|name| schema.index_by_name(name));
    let Some(index) = index else { return Vec::new() };
    let choice = choice_of(schema, index, bounds).unwrap_or_default();
    let part = |range| Access::Index { name: index.name.clone(), range, reverse: way.reverse };
    let Some(first) = way.nulls else { return vec![part(choice.range)] };
    let prefix = prefix_of(schema, index, bounds);
    let null: Vec<Value> = prefix.iter().cloned().chain([Value::Null]).collect();
    // NULL is last in a part of the key that rises, and first in one that falls.
    let values = match index.key.get(prefix.len()).is_some_and(|key| key.descending) {
        false => KeyRange::before(null.clone()),
        true => KeyRange::after(null.clone()),
    };
    let others = match prefix.is_empty() {
        true => values,
        false => values.and(KeyRange::eq(prefix)),
    };
    let (nulls, others) = (part(KeyRange::eq(null)), part(others));
    if first { vec![nulls, others] } else { vec![others, nulls] }
}

/// A range for each value of the last bound.
fn each(
    schema: &TableSchema,
    mut bounds: Vec<Bound>,
    values: Vec<Value>,
    implied: &[usize],
) -> Vec<Access> {
    let mut parts = Vec::with_capacity(values.len());
    for value in values {
        if let Some(last) = bounds.last_mut() {
            last.value = value;
        }
        if let Some((index, Choice { range, .. })) = best_of(schema, &bounds, implied) {
            parts.push(Access::Index { name: index.name.clone(), range, reverse: false });
        }
    }
    parts
}

/// The different values of a list in their order; what the engine cannot have equals no row's value.
fn values_of(list: &Restriction, catalog: &Catalog, ty: ColumnType) -> Result<Vec<Value>> {
    let comparer = Comparer::new(catalog, ty.pg.oid);
    let mut values = (list.values)()?;
    values.retain(|value| !value.is_null());
    values.sort_by(|a, b| comparer.compare(catalog, a, b));
    values.dedup_by(|a, b| comparer.is_same(catalog, a, b));
    let known = values.iter().filter_map(|value| match restricted(value, catalog, ty) {
        Restricted::To(value) => Some(value),
        Restricted::Nothing | Restricted::Unlike | Restricted::Anything => None,
    });
    Ok(known.collect())
}

fn op_of(kind: RestrictionKind) -> BoundOp {
    match kind {
        RestrictionKind::Equal | RestrictionKind::OneOf => BoundOp::Equal,
        RestrictionKind::Less => BoundOp::Less,
        RestrictionKind::LessOrEqual => BoundOp::LessOrEqual,
        RestrictionKind::Greater => BoundOp::Greater,
        RestrictionKind::GreaterOrEqual => BoundOp::GreaterOrEqual,
    }
}

/// What a value means for a column of a type.
fn restricted(value: &Datum<'_>, catalog: &Catalog, ty: ColumnType) -> Restricted {
    let int = match value {
        Datum::Null => return Restricted::Nothing,
        _ if !ty.is_ordered() => return Restricted::Anything,
        Datum::Int2(v) => Some(i64::from(*v)),
        Datum::Int4(v) => Some(i64::from(*v)),
        Datum::Int8(v) => Some(*v),
        _ => None,
    };
    let is_byte = matches!(value, Datum::Oid(_) | Datum::Char(_));
    let found = match ty.form {
        Form::Own | Form::Named if !is_byte => engine_value(value, int, ty.engine),
        _ => columns::encode(catalog, ty, value).ok(),
    };
    found.map_or(Restricted::Unlike, Restricted::To)
}

/// A value as one of the engine's type; `None` where the engine has none like it.
fn engine_value(value: &Datum<'_>, int: Option<i64>, ty: DataType) -> Option<Value> {
    Some(match (ty, value) {
        (DataType::Int2, _) => Value::Int(i64::from(i16::try_from(int?).ok()?)),
        (DataType::Int4, _) => Value::Int(i64::from(i32::try_from(int?).ok()?)),
        (DataType::Int8, _) => Value::Int(int?),
        (DataType::Bool, Datum::Bool(v)) => Value::Bool(*v),
        (DataType::Float4, Datum::Float4(v)) => Value::Float(f64::from(*v)),
        (DataType::Float8, Datum::Float8(v)) => Value::Float(*v),
        (DataType::Numeric(precision), Datum::Bytes(bytes)) => {
            Value::Numeric(numeric(&PgNumeric::load(bytes), precision)?)
        }
        (DataType::Text | DataType::Varchar(_) | DataType::Folded, Datum::Text(text)) => {
            Value::Text(text.as_ref().into())
        }
        (DataType::Char(_), Datum::Text(text)) => Value::Text(text.trim_end_matches(' ').into()),
        (DataType::Bytea, Datum::Bytes(bytes)) => Value::Bytes(bytes.as_ref().into()),
        (DataType::Uuid, Datum::Bytes(bytes)) => Value::Uuid(bytes.as_ref().try_into().ok()?),
        (DataType::Date | DataType::Timestamp | DataType::Timestamptz, value) => {
            return stored(value, ty).ok();
        }
        (DataType::Time, Datum::Int8(us)) => Value::Time(*us),
        _ => return None,
    })
}

/// A number that a column of this precision may have.
fn numeric(value: &PgNumeric, precision: Option<(u8, u8)>) -> Option<Numeric> {
    match value.class() {
        Class::NaN => return Some(Numeric::NAN),
        Class::Infinity if precision.is_none() => return Some(Numeric::INFINITY),
        Class::NegativeInfinity if precision.is_none() => return Some(Numeric::NEGATIVE_INFINITY),
        _ => {}
    }
    let small = value.to_small()?;
    let (mut mantissa, mut scale) = (small.mantissa(), small.scale());
    let Some((digits, most)) = precision else { return Some(Numeric { mantissa, scale }) };
    while scale > most && mantissa % 10 == 0 {
        (mantissa, scale) = (mantissa / 10, scale - 1);
    }
    let more = most.checked_sub(scale)?;
    let mantissa = mantissa.checked_mul(10_i128.checked_pow(more.into())?)?;
    let limit = 10_u128.checked_pow(digits.into())?;
    (mantissa.unsigned_abs() < limit).then_some(Numeric { mantissa, scale: most })
}
