//! Which index does a scan read, and in which range?
//!
//! A pure choice from the filters that the planner hands down: an equality on each of the first columns
//! of an index, then at most one range. A unique index with its whole key wins; then more columns with
//! equality; then a range. Filters are judged again above the scan, so a range may be wider than they are.

use datafusion::common::ScalarValue;
use datafusion::logical_expr::{BinaryExpr, Expr, Operator};
use onlap::{DataType, IndexSchema, KeyRange, TableSchema, Value};

use crate::assign;
use crate::types::Cell;

/// How rows are reached.
#[derive(Clone, Debug, PartialEq)]
pub enum Access {
    /// All rows in the order of their ids.
    Table,
    /// A range of an index.
    Index {
        /// The index's name.
        name: String,
        /// The part of it.
        range: KeyRange,
        /// From the last key to the first.
        reverse: bool,
    },
}

/// A condition on one column that an index can use.
#[derive(Clone, Debug, PartialEq)]
pub struct Bound {
    /// Position of the column in the table.
    pub column: usize,
    /// What it is compared with.
    pub op: BoundOp,
    /// The other side, in the column's type.
    pub value: Value,
}

/// How a column is compared.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BoundOp {
    /// `=`
    Equal,
    /// `<`
    Less,
    /// `<=`
    LessOrEqual,
    /// `>`
    Greater,
    /// `>=`
    GreaterOrEqual,
}

/// The conditions among filters that an index can use.
pub fn bounds_of(schema: &TableSchema, filters: &[Expr]) -> Vec<Bound> {
    let mut bounds = Vec::new();
    filters.iter().for_each(|f| collect(schema, f, &mut bounds));
    bounds
}

/// Whether an index may use anything of a filter.
pub fn is_usable(schema: &TableSchema, filter: &Expr) -> bool {
    !bounds_of(schema, std::slice::from_ref(filter)).is_empty()
}

fn collect(schema: &TableSchema, filter: &Expr, out: &mut Vec<Bound>) {
    match filter {
        Expr::BinaryExpr(BinaryExpr { left, op: Operator::And, right }) => {
            collect(schema, left, out);
            collect(schema, right, out);
        }
        Expr::BinaryExpr(BinaryExpr { left, op, right }) => {
            let (Some(op), Some(turned)) = (bound_op(*op), bound_op(op.swap().unwrap_or(*op)))
            else {
                return;
            };
            out.extend(bound(schema, left, op, right));
            out.extend(bound(schema, right, turned, left));
        }
        Expr::Between(b) if !b.negated => {
            out.extend(bound(schema, &b.expr, BoundOp::GreaterOrEqual, &b.low));
            out.extend(bound(schema, &b.expr, BoundOp::LessOrEqual, &b.high));
        }
        _ => {}
    }
}

fn bound_op(op: Operator) -> Option<BoundOp> {
    Some(match op {
        Operator::Eq => BoundOp::Equal,
        Operator::Lt => BoundOp::Less,
        Operator::LtEq => BoundOp::LessOrEqual,
        Operator::Gt => BoundOp::Greater,
        Operator::GtEq => BoundOp::GreaterOrEqual,
        _ => return None,
    })
}

fn bound(schema: &TableSchema, column: &Expr, op: BoundOp, value: &Expr) -> Option<Bound> {
    let name = match column {
        Expr::Column(c) => &c.name,
        _ => return None,
    };
    let column = schema.position_by_name(name)?;
    let Expr::Literal(scalar, _) = value else { return None };
    let value = exact(scalar, schema.columns[column].ty)?;
    Some(Bound { column, op, value })
}

/// A literal as a value of a column's type, if that is the same value.
fn exact(scalar: &ScalarValue, ty: DataType) -> Option<Value> {
    let array = scalar.to_array().ok()?;
    let cell = Cell::of_array(&array, 0);
    // Text means what it says only where the planner compared texts, in the order that the index has.
    let comparable = match (&cell, ty) {
        (Cell::Null, _) => false,
        (Cell::Text(s), DataType::Char(_)) => !s.ends_with(' '),
        (Cell::Text(_), ty) => {
            matches!(ty, DataType::Text | DataType::Varchar(_) | DataType::Uuid)
        }
        (Cell::Numeric(_) | Cell::Float(_), ty) => {
            !matches!(ty, DataType::Int2 | DataType::Int4 | DataType::Int8 | DataType::Numeric(_))
                || is_whole(&cell)
        }
        _ => true,
    };
    if !comparable {
        return None;
    }
    assign::assign(cell, ty).ok()
}

fn is_whole(cell: &Cell<'_>) -> bool {
    match cell {
        Cell::Numeric(n) => !n.is_nan() && n.rescale(0).is_some_and(|w| w.compare(n).is_eq()),
        Cell::Float(f) => f.fract() == 0.0,
        _ => true,
    }
}

/// The best way to the rows that meet all bounds.
pub fn choose(schema: &TableSchema, bounds: &[Bound]) -> Access {
    match best(schema, bounds) {
        Some((index, choice)) => {
            Access::Index { name: index.name.clone(), range: choice.range, reverse: false }
        }
        None => Access::Table,
    }
}

/// The index that is best for some bounds.
pub fn best<'a>(schema: &'a TableSchema, bounds: &[Bound]) -> Option<(&'a IndexSchema, Choice)> {
    let ready = schema.indexes.iter().filter(|index| index.ready);
    let choices = ready.filter_map(|index| Some((index, range_of(schema, index, bounds)?)));
    choices.max_by_key(|(_, choice)| choice.score)
}

/// How good an index is: whole unique key, columns with equality, a range.
pub type Score = (bool, usize, bool);

/// What an index does for some bounds.
#[derive(Clone, Debug, Default)]
pub struct Choice {
    /// Compared between indexes.
    pub score: Score,
    /// The rows in it meet the bounds of [`Choice::used`], and no others do.
    pub range: KeyRange,
    /// Positions of the bounds that the range stands for.
    pub used: Vec<usize>,
    /// So many columns of the key have one value.
    pub equal: usize,
}

impl Choice {
    /// Whether the whole key of a unique index is given.
    pub fn is_one_row(&self) -> bool {
        self.score.0
    }
}

/// The range of an index that bounds leave, if they say anything of its first column.
pub fn range_of(schema: &TableSchema, index: &IndexSchema, bounds: &[Bound]) -> Option<Choice> {
    let position = |i: usize| schema.position(index.key[i].column);
    let (mut prefix, mut used): (Vec<Value>, Vec<usize>) = (Vec::new(), Vec::new());
    while prefix.len() < index.key.len() {
        let column = position(prefix.len())?;
        let is_equal = |b: &Bound| b.column == column && b.op == BoundOp::Equal;
        let Some(at) = bounds.iter().position(is_equal) else { break };
        prefix.push(bounds[at].value.clone());
        used.push(at);
    }
    let equal = prefix.len();
    if equal == index.key.len() {
        let range = KeyRange::eq(prefix);
        return Some(Choice { score: (index.unique, equal, false), range, used, equal });
    }
    let (column, descending) = (position(equal)?, index.key[equal].descending);
    let with = |value: &Value| {
        let mut key = prefix.clone();
        key.push(value.clone());
        key
    };
    let mut range = KeyRange::all();
    let (mut lower, mut upper) = (false, false);
    for (i, bound) in bounds.iter().enumerate().filter(|(_, b)| b.column == column) {
        let taken = match bound.op {
            BoundOp::Equal => continue,
            BoundOp::Less | BoundOp::LessOrEqual => &mut upper,
            BoundOp::Greater | BoundOp::GreaterOrEqual => &mut lower,
        };
        // A second bound on the same side is judged on the rows.
        if std::mem::replace(taken, true) {
            continue;
        }
        used.push(i);
        let key = with(&bound.value);
        range = range.and(match (bound.op, descending) {
            (BoundOp::Less, false) | (BoundOp::Greater, true) => KeyRange::before(key),
            (BoundOp::LessOrEqual, false) | (BoundOp::GreaterOrEqual, true) => KeyRange::to(key),
            (BoundOp::Greater, false) | (BoundOp::Less, true) => KeyRange::after(key),
            _ => KeyRange::from(key),
        });
    }
    let found = lower || upper;
    if found {
        // NULL is in no comparison; it sorts last, and first in a descending column.
        let null = with(&Value::Null);
        range = range.and(match descending {
            false => KeyRange::before(null),
            true => KeyRange::after(null),
        });
    }
    if equal > 0 {
        range = range.and(KeyRange::eq(prefix));
    }
    (equal > 0 || found).then_some(Choice { score: (false, equal, found), range, used, equal })
}
