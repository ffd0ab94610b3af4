//! An array of which a part is written to: what does it become?
//!
//! The whole is made anew, with the part in it; of NULL as of an empty array. Thread safety: pure functions.

use onlap_kernels::array::{Array, empty, null_subscript, store_element, store_slice};
use onlap_kernels::{Col, Datum, Repr, repr};
use onlap_pg::{Oid, Result};

use crate::env::Env;
use crate::node::{Node, Rows};

/// An array with another part.
pub struct Store {
    /// The array.
    pub container: Node,
    /// Upper bounds, or indexes.
    pub upper: Vec<Option<Node>>,
    /// Lower bounds; none where it is an element that is written.
    pub lower: Vec<Option<Node>>,
    /// The type of elements.
    pub element: Oid,
    /// What the part becomes.
    pub value: Node,
}

impl Store {
    /// What is calculated for the same rows.
    pub fn children(&self) -> Vec<&Node> {
        let bounds = self.upper.iter().chain(&self.lower).flatten();
        [&self.container, &self.value].into_iter().chain(bounds).collect()
    }

    /// An array per row.
    pub fn eval(&self, rows: &Rows<'_>, env: &Env) -> Result<Col> {
        let (container, value) = (self.container.eval(rows, env)?, self.value.eval(rows, env)?);
        let values = |nodes: &[Option<Node>]| {
            let value = |node: &Option<Node>| node.as_ref().map(|n| n.eval(rows, env)).transpose();
            nodes.iter().map(value).collect::<Result<Vec<_>>>()
        };
        let (upper, lower) = (values(&self.upper)?, values(&self.lower)?);
        let own = repr(&env.catalog, self.element).expect("its values were made");
        let of_value = if self.lower.is_empty() { own } else { Repr::Bytes };
        let mut out = Vec::with_capacity(rows.count);
        for row in 0..rows.count {
            let held = Datum::at(&container.array, Repr::Bytes, container.at(row));
            let array = match &held {
                Datum::Bytes(bytes) => Some(Array::load(bytes, own)),
                _ => None,
            };
            let value = Datum::at(&value.array, of_value, value.at(row));
            let bytes = match self.lower.is_empty() {
                true => {
                    let at: Vec<_> =
                        upper.iter().map(|col| col.as_ref().and_then(|c| index(c, row))).collect();
                    store_element(array.as_ref(), own, &at, &value)?
                }
                false => {
                    let bounds = bounds(&lower, &upper, row)?;
                    match &value {
                        Datum::Bytes(bytes) => {
                            let source = Array::load(bytes, own);
                            store_slice(array.as_ref(), own, &bounds, &source)?
                        }
                        // What is NULL changes nothing.
                        _ => match &held {
                            Datum::Bytes(bytes) => bytes.to_vec(),
                            _ => empty(),
                        },
                    }
                }
            };
            env.cx().room(bytes.len())?;
            out.push(Datum::bytes(bytes));
        }
        Ok(Col::new(Datum::column(Repr::Bytes, out.iter())?))
    }
}

/// The bounds of a row; one that is left open is none.
fn bounds(
    lower: &[Option<Col>],
    upper: &[Option<Col>],
    row: usize,
) -> Result<Vec<(Option<i32>, Option<i32>)>> {
    let one = |col: &Option<Col>| match col {
        Some(col) => index(col, row).map(Some).ok_or_else(null_subscript),
        None => Ok(None),
    };
    lower.iter().zip(upper).map(|(lower, upper)| Ok((one(lower)?, one(upper)?))).collect()
}

fn index(col: &Col, row: usize) -> Option<i32> {
    match Datum::at(&col.array, Repr::Int4, col.at(row)) {
        Datum::Int4(at) => Some(at),
        _ => None,
    }
}
