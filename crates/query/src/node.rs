//! What is an expression when it is calculated?
//!
//! A [`Node`] is calculated over the rows of a batch at once. Everything is decided before: columns are positions, functions
//! are kernels, conversions are calls. What may be reached only by some rows (the later arms of AND, OR, CASE, COALESCE) is
//! calculated for these rows alone, since it may fail for the others.

use std::sync::Arc;

use arrow_array::{Array, ArrayRef, BooleanArray, UInt32Array, new_empty_array};
use arrow_schema::{ArrowError, DataType};
use onlap_kernels::{Col, Datum, Kernel, Made};
use onlap_pg::{Error, Oid, Result};
use parking_lot::Mutex;

use crate::apply::SubQuery;
use crate::containers::{ArrayOf, FieldOf, RowOf};
use crate::effects::Effect;
use crate::env::{Env, bytes_of};
use crate::membership::AnyOf;
use crate::picked::take;
use crate::subscripts::{Part, Store, StoreJson};

/// The rows that an expression is calculated for.
#[derive(Clone, Copy, Debug)]
pub struct Rows<'a> {
    /// The columns, each with a value per row.
    pub columns: &'a [ArrayRef],
    /// How many rows.
    pub count: usize,
}

/// Values of an outer query, which a subquery sees; one row.
pub type Slots = Arc<Mutex<Vec<ArrayRef>>>;

/// An expression that only some rows may reach, and the columns that it uses.
pub struct Arm {
    /// The expression.
    pub node: Node,
    /// Columns by position.
    pub used: Vec<usize>,
}

/// A call of a kernel.
pub struct Call {
    /// The function.
    pub kernel: Box<dyn Kernel>,
    /// Its arguments.
    pub args: Vec<Node>,
    /// What it does, in addition to giving a value.
    pub effect: Effect,
    /// The Arrow type of its result.
    pub ty: DataType,
}

/// An expression.
pub enum Node {
    /// A column of the batch.
    Column(usize),
    /// One value.
    Const(ArrayRef),
    /// A value of an outer query.
    Outer(Slots, usize),
    /// A function.
    Call(Call),
    /// AND.
    And(Vec<Arm>),
    /// Conditions of rows: true where all of them are; false in place of NULL.
    All(Vec<Arm>),
    /// OR.
    Or(Vec<Arm>),
    /// NOT.
    Not(Box<Node>),
    /// CASE: conditions with values, and the value otherwise.
    Case(Vec<(Arm, Arm)>, Box<Arm>, DataType),
    /// COALESCE.
    Coalesce(Vec<Arm>, DataType),
    /// A value that the body finds as one more column.
    With {
        /// The column's position.
        at: usize,
        /// The value.
        value: Box<Node>,
        /// What uses it.
        body: Box<Node>,
    },
    /// IS NULL; IS NOT NULL where the flag is set.
    NullTest(Box<Node>, bool),
    /// IS TRUE (`Some(true)`), IS FALSE, IS UNKNOWN; the opposite where the flag is set.
    BoolTest(Box<Node>, Option<bool>, bool),
    /// IS NULL of a row's fields; IS NOT NULL where the flag is set.
    RowTest(Box<Node>, bool),
    /// IS DISTINCT FROM, by the function of `=`.
    Distinct(Box<Call>),
    /// NULLIF, by the function of `=`.
    NullIf(Box<Call>),
    /// GREATEST and LEAST of values whose keys are compared.
    Greatest(Vec<Node>, crate::logic::Which),
    /// `op ANY (array)`, or ALL.
    AnyOf(Box<AnyOf>),
    /// By the text: from a type to a type.
    ViaText(Box<Node>, Oid, Oid),
    /// The key of a value of this type.
    Key(Box<Node>, Oid),
    /// The value that a table has for an int4, from 0.
    Pick(Box<Node>, ArrayRef),
    /// An integer of any width as one of 64 bits.
    Wide(Box<Node>),
    /// An int4 as an oid with the same bits, or the other way.
    SameBits(Box<Node>),
    /// An expression whose columns lie elsewhere: the position of each column of the batch.
    Moved(Box<Node>, Vec<usize>),
    /// Each element of an array is converted.
    Elements(Box<crate::containers::Elements>),
    /// ARRAY[…]
    Array(Box<ArrayOf>),
    /// ROW(…)
    Row(Box<RowOf>),
    /// A field of a row.
    Field(Box<FieldOf>),
    /// Parts of an array.
    Part(Box<Part>),
    /// An array of which a part is written to.
    Store(Box<Store>),
    /// A jsonb value of which a part is written to.
    StoreJson(Box<StoreJson>),
    /// A row of which fields are written to.
    StoreFields(Box<crate::fields::StoreFields>),
    /// A value that must keep to the conditions of a domain.
    Domain(Box<Node>, Oid),
    /// Rows in their order: the kind of comparison, and per column `<` and `=` with both sides.
    RowCompare(Box<crate::logic::RowCompare>),
    /// A query.
    Query(Box<SubQuery>),
}

/// Stack that the next level of an expression needs, and pieces of it.
const RED_ZONE: usize = 96 << 10;
const MORE_STACK: usize = 1 << 20;

impl Node {
    /// The values of rows.
    ///
    /// # Errors
    /// The first error that a row meets.
    pub fn eval(&self, rows: &Rows<'_>, env: &Env) -> Result<Col> {
        stacker::maybe_grow(RED_ZONE, MORE_STACK, || self.eval_here(rows, env))
    }

    fn eval_here(&self, rows: &Rows<'_>, env: &Env) -> Result<Col> {
        Ok(match self {
            Node::Column(at) => Col::new(Arc::clone(&rows.columns[*at])),
            Node::Const(value) => Col::constant(Arc::clone(value)),
            Node::Outer(slots, at) => Col::constant(Arc::clone(&slots.lock()[*at])),
            Node::Call(call) => call.eval(rows, env)?,
            Node::And(arms) => crate::logic::connected(arms, false, rows, env)?,
            Node::Or(arms) => crate::logic::connected(arms, true, rows, env)?,
            Node::All(arms) => crate::logic::all_of(arms, rows, env)?,
            Node::Not(value) => crate::logic::not(&value.eval(rows, env)?),
            Node::Case(arms, otherwise, ty) => crate::logic::case(arms, otherwise, ty, rows, env)?,
            Node::Coalesce(arms, ty) => crate::logic::coalesce(arms, ty, rows, env)?,
            Node::With { at, value, body } => {
                let value = value.eval(rows, env)?.spread(rows.count, env)?;
                let mut columns = rows.columns.to_vec();
                columns.resize(*at, Arc::clone(&value));
                columns.push(value);
                body.eval(&Rows { columns: &columns, count: rows.count }, env)?
            }
            Node::NullTest(value, not) => crate::logic::null_test(&value.eval(rows, env)?, *not),
            Node::BoolTest(value, is, not) => {
                crate::logic::bool_test(&value.eval(rows, env)?, *is, *not)
            }
            Node::RowTest(value, not) => crate::containers::row_test(&value.eval(rows, env)?, *not),
            Node::Distinct(call) => crate::logic::distinct(call, rows, env)?,
            Node::NullIf(call) => crate::logic::null_if(call, rows, env)?,
            Node::Greatest(values, which) => crate::logic::greatest(values, *which, rows, env)?,
            Node::AnyOf(any) => any.eval(rows, env)?,
            Node::ViaText(value, from, to) => via_text(&value.eval(rows, env)?, *from, *to, env)?,
            Node::Key(value, ty) => {
                let value = value.eval(rows, env)?;
                let array = crate::keys::keys(env, *ty, &value.array)?;
                Col { array, is_const: value.is_const }
            }
            Node::Pick(value, table) => {
                let at = value.eval(rows, env)?.spread(rows.count, env)?;
                Col::new(arrow_select::take::take(table, &at, None).map_err(arrow)?)
            }
            Node::Wide(value) => {
                let value = value.eval(rows, env)?;
                Col { array: crate::keys::wide(&value.array), is_const: value.is_const }
            }
            Node::SameBits(value) => {
                let value = value.eval(rows, env)?;
                Col { array: crate::keys::same_bits(&value.array), is_const: value.is_const }
            }
            Node::Moved(value, at) => {
                let most = at.last().map_or(0, |most| most + 1);
                let none: ArrayRef = Arc::new(BooleanArray::new_null(rows.count));
                let mut columns: Vec<ArrayRef> = vec![none; most];
                for (column, at) in rows.columns.iter().zip(at) {
                    columns[*at] = Arc::clone(column);
                }
                value.eval(&Rows { columns: &columns, count: rows.count }, env)?
            }
            Node::Elements(elements) => elements.eval(rows, env)?,
            Node::Array(array) => array.eval(rows, env)?,
            Node::Row(row) => row.eval(rows, env)?,
            Node::Field(field) => field.eval(rows, env)?,
            Node::Part(part) => part.eval(rows, env)?,
            Node::Store(store) => store.eval(rows, env)?,
            Node::StoreJson(store) => store.eval(rows, env)?,
            Node::StoreFields(store) => store.eval(rows, env)?,
            Node::Domain(value, oid) => crate::fields::domain(value, *oid, rows, env)?,
            Node::RowCompare(compare) => compare.eval(rows, env)?,
            Node::Query(query) => query.eval(rows, env)?,
        })
    }

    /// Whether it needs a value of a query around the one that it is part of.
    pub fn asks_outside(&self) -> bool {
        matches!(self, Node::Outer(..)) || self.children().into_iter().any(Node::asks_outside)
    }

    /// The children that are calculated for the same rows or fewer.
    pub fn children(&self) -> Vec<&Node> {
        match self {
            Node::Column(_) | Node::Const(_) | Node::Outer(..) => Vec::new(),
            Node::Call(call) => call.args.iter().collect(),
            Node::And(arms) | Node::Or(arms) | Node::All(arms) | Node::Coalesce(arms, _) => {
                arms.iter().map(|arm| &arm.node).collect()
            }
            Node::Not(one)
            | Node::NullTest(one, _)
            | Node::BoolTest(one, ..)
            | Node::RowTest(one, _)
            | Node::Key(one, _)
            | Node::Wide(one)
            | Node::SameBits(one)
            | Node::Pick(one, _)
            | Node::Moved(one, _)
            | Node::Domain(one, _)
            | Node::ViaText(one, ..) => vec![one],
            Node::Case(arms, otherwise, _) => {
                let arms = arms.iter().flat_map(|(when, then)| [&when.node, &then.node]);
                arms.chain([&otherwise.node]).collect()
            }
            Node::With { value, body, .. } => vec![value, body],
            Node::Distinct(call) | Node::NullIf(call) => call.args.iter().collect(),
            Node::AnyOf(any) => any.call.args.iter().collect(),
            Node::Greatest(values, ..) => values.iter().collect(),
            Node::Elements(elements) => elements.children(),
            Node::Array(array) => array.children(),
            Node::Row(row) => row.children(),
            Node::Field(field) => vec![&field.row],
            Node::Part(part) => part.children(),
            Node::Store(store) => store.children(),
            Node::StoreJson(store) => store.children(),
            Node::StoreFields(store) => store.children(),
            Node::RowCompare(compare) => compare.children(),
            Node::Query(query) => query.children(),
        }
    }

    /// The columns that it uses, by position, sorted.
    pub fn columns(&self) -> Vec<usize> {
        let (mut open, mut used) = (vec![self], Vec::new());
        while let Some(node) = open.pop() {
            if let Node::Column(at) = node {
                used.push(*at);
            }
            open.extend(node.children());
        }
        used.sort_unstable();
        used.dedup();
        used
    }

    /// Whether functions make values of any length for it.
    pub fn makes_long(&self) -> bool {
        let own = matches!(self, Node::Call(call) if matches!(call.ty, DataType::Utf8 | DataType::Binary));
        own || self.children().iter().any(|one| one.makes_long())
    }

    /// Whether calculating it once more gives the same and does nothing.
    pub fn is_repeatable(&self) -> bool {
        let own = !matches!(self, Node::Call(call) if call.effect != Effect::None);
        own && !matches!(self, Node::Query(_))
            && self.children().iter().all(|one| one.is_repeatable())
    }

    /// As an arm that only some rows reach.
    pub fn into_arm(self) -> Arm {
        let used = self.columns();
        Arm { node: self, used }
    }
}

impl Call {
    /// The arguments' values.
    pub fn values(&self, rows: &Rows<'_>, env: &Env) -> Result<Vec<Col>> {
        self.args.iter().map(|arg| arg.eval(rows, env)).collect()
    }

    fn eval(&self, rows: &Rows<'_>, env: &Env) -> Result<Col> {
        if rows.count == 0 {
            return Ok(Col::new(new_empty_array(&self.ty)));
        }
        let args = self.values(rows, env)?;
        let once = self.effect == Effect::None && args.iter().all(|arg| arg.is_const);
        let count = if once { 1 } else { rows.count };
        let made = self.kernel.eval(&args, count, &mut env.cx())?;
        Ok(if once { Col::constant(made) } else { Col::new(made) })
    }
}

/// What columns of results are made from.
pub trait Spread {
    /// A value per row.
    ///
    /// # Errors
    /// The column would be too large; `53200`.
    fn spread(self, rows: usize, env: &Env) -> Result<ArrayRef>;
}

impl Spread for Col {
    fn spread(self, rows: usize, env: &Env) -> Result<ArrayRef> {
        if !self.is_const || rows == 1 {
            return Ok(self.array);
        }
        env.room(bytes_of(&self.array).saturating_mul(rows))?;
        let at = UInt32Array::from(vec![0; rows]);
        arrow_select::take::take(&self.array, &at, None).map_err(arrow)
    }
}

/// An error of Arrow's functions on columns of our own.
pub fn arrow(error: ArrowError) -> Error {
    match error {
        ArrowError::OffsetOverflowError(_) => {
            Error::new("54000", "values of a batch are too large together")
        }
        other => Error::defect(other.to_string()),
    }
}

impl Arm {
    /// The values of some rows, by position; all of them where that is all.
    pub fn eval_at(&self, at: &[u32], rows: &Rows<'_>, env: &Env) -> Result<Col> {
        if at.len() == rows.count {
            return self.node.eval(rows, env);
        }
        let chosen = UInt32Array::from(at.to_vec());
        let mut columns = rows.columns.to_vec();
        // Columns that the arm does not use stay as they are: their length is not looked at.
        for used in self.used.iter().filter(|used| **used < rows.columns.len()) {
            columns[*used] = take(&columns[*used], &chosen, env)?;
        }
        self.node.eval(&Rows { columns: &columns, count: at.len() }, env)
    }
}

/// The boolean of a row; `None` for NULL.
pub fn truth(col: &Col, row: usize) -> Option<bool> {
    let array: &BooleanArray = arrow_array::cast::AsArray::as_boolean(&col.array);
    let at = col.at(row);
    (!array.is_null(at)).then(|| array.value(at))
}

fn via_text(value: &Col, from: Oid, to: Oid, env: &Env) -> Result<Col> {
    let read = onlap_kernels::repr(&env.catalog, from).ok_or_else(|| unserved(env, from))?;
    let written = onlap_kernels::repr(&env.catalog, to).ok_or_else(|| unserved(env, to))?;
    let mut cx = env.cx();
    let mut out = Made::new(value.array.len(), &cx);
    let mut text = String::new();
    for row in 0..value.array.len() {
        let made = match Datum::at(&value.array, read, row) {
            Datum::Null => Datum::Null,
            datum => {
                text.clear();
                onlap_kernels::output(&mut cx, from, &datum, &mut text)?;
                onlap_kernels::input(&mut cx, onlap_pg::TypeRef::new(to), &text)?
            }
        };
        out.push(made, &cx)?;
    }
    Ok(Col { array: out.column(written)?, is_const: value.is_const })
}

/// A type of which there are no values.
pub fn unserved(env: &Env, oid: Oid) -> Error {
    Error::unserved(format!("type {} is not supported", env.catalog.shown(oid)))
}
