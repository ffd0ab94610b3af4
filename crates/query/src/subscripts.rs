//! Which part of an array do subscripts name, and what does a container become of which a part is written to?
//!
//! Thread safety: pure functions.

use onlap_kernels::array::{
    Array, element, empty, null_subscript, slice, store_element, store_slice,
};
use onlap_kernels::json::store_part;
use onlap_kernels::{Col, Datum, Made, Repr, repr};
use onlap_pg::{Oid, Result};

use crate::env::Env;
use crate::node::{Node, Rows};

/// The bytes of a name, the zero at its end included.
const NAME_BYTES: i32 = 64;

/// Indexes, or bounds of a slice.
pub struct Subscripts {
    /// Upper bounds, or indexes.
    pub upper: Vec<Option<Node>>,
    /// Lower bounds; none where it is an element.
    pub lower: Vec<Option<Node>>,
}

/// Their values.
struct Found {
    upper: Vec<Option<Col>>,
    lower: Vec<Option<Col>>,
}

/// Bounds of a slice in each dimension; `None` is one that is left open.
type Bounds = Vec<(Option<i32>, Option<i32>)>;

impl Subscripts {
    fn children(&self) -> impl Iterator<Item = &Node> {
        self.upper.iter().chain(&self.lower).flatten()
    }

    fn is_element(&self) -> bool {
        self.lower.is_empty()
    }

    fn eval(&self, rows: &Rows<'_>, env: &Env) -> Result<Found> {
        let values = |nodes: &[Option<Node>]| {
            let value = |node: &Option<Node>| node.as_ref().map(|n| n.eval(rows, env)).transpose();
            nodes.iter().map(value).collect::<Result<Vec<_>>>()
        };
        Ok(Found { upper: values(&self.upper)?, lower: values(&self.lower)? })
    }
}

impl Found {
    /// The indexes of a row; one that is NULL is none.
    fn indexes(&self, row: usize) -> Vec<Option<i32>> {
        self.upper.iter().map(|col| col.as_ref().and_then(|col| index(col, row))).collect()
    }

    /// The bounds of a row; none where one is NULL.
    fn bounds(&self, row: usize) -> Option<Bounds> {
        let one = |col: &Option<Col>| match col {
            Some(col) => index(col, row).map(Some),
            None => Some(None),
        };
        self.lower.iter().zip(&self.upper).map(|(low, up)| Some((one(low)?, one(up)?))).collect()
    }
}

/// An index; `None` for NULL.
fn index(col: &Col, row: usize) -> Option<i32> {
    match Datum::at(&col.array, Repr::Int4, col.at(row)) {
        Datum::Int4(at) => Some(at),
        _ => None,
    }
}

/// Parts of an array, or letters of a name.
pub struct Part {
    /// The array or the name.
    pub container: Node,
    /// The representation of names, or of arrays.
    pub of: Repr,
    /// Which part.
    pub subscripts: Subscripts,
    /// The type of elements.
    pub element: Oid,
    /// The representation of the result.
    pub repr: Repr,
}

impl Part {
    /// What is calculated for the same rows.
    pub fn children(&self) -> Vec<&Node> {
        [&self.container].into_iter().chain(self.subscripts.children()).collect()
    }

    /// A part per row.
    pub fn eval(&self, rows: &Rows<'_>, env: &Env) -> Result<Col> {
        let container = self.container.eval(rows, env)?;
        let found = self.subscripts.eval(rows, env)?;
        let own = repr(&env.catalog, self.element).expect("its values were made");
        let mut out = Made::new(rows.count, &env.cx());
        for row in 0..rows.count {
            let array = Datum::at(&container.array, self.of, container.at(row));
            let known = || found.indexes(row).into_iter().collect::<Option<Vec<_>>>();
            let bytes = match &array {
                Datum::Bytes(bytes) => bytes,
                value => {
                    out.push(letter(value, known()), &env.cx())?;
                    continue;
                }
            };
            let array = Array::load(bytes, own);
            let part = match self.subscripts.is_element() {
                true => known().map(|at| element(&array, &at).into_owned()),
                false => {
                    found.bounds(row).map(|b| slice(&array, &b)).transpose()?.map(Datum::bytes)
                }
            };
            out.push(part.unwrap_or(Datum::Null), &env.cx())?;
        }
        Ok(Col::new(out.column(self.repr)?))
    }
}

/// A byte of a name: they are counted from 0, and those behind its end are zeros.
fn letter(name: &Datum<'_>, at: Option<Vec<i32>>) -> Datum<'static> {
    match (name, at.as_deref()) {
        (Datum::Text(name), Some([at @ 0..NAME_BYTES])) => {
            Datum::Char(name.as_bytes().get(*at as usize).copied().unwrap_or(0))
        }
        _ => Datum::Null,
    }
}

/// An array with another part: the whole is made anew, with the part in it; of NULL as of an empty array.
pub struct Store {
    /// The array.
    pub container: Node,
    /// Which part.
    pub subscripts: Subscripts,
    /// The type of elements.
    pub element: Oid,
    /// What the part becomes.
    pub value: Node,
}

impl Store {
    /// What is calculated for the same rows.
    pub fn children(&self) -> Vec<&Node> {
        [&self.container, &self.value].into_iter().chain(self.subscripts.children()).collect()
    }

    /// An array per row.
    pub fn eval(&self, rows: &Rows<'_>, env: &Env) -> Result<Col> {
        let (container, value) = (self.container.eval(rows, env)?, self.value.eval(rows, env)?);
        let found = self.subscripts.eval(rows, env)?;
        let own = repr(&env.catalog, self.element).expect("its values were made");
        let of_value = if self.subscripts.is_element() { own } else { Repr::Bytes };
        let cx = env.cx();
        let mut out = Made::new(rows.count, &env.cx());
        for row in 0..rows.count {
            let held = Datum::at(&container.array, Repr::Bytes, container.at(row));
            let array = match &held {
                Datum::Bytes(bytes) => Some(Array::load(bytes, own)),
                _ => None,
            };
            let value = Datum::at(&value.array, of_value, value.at(row));
            let bytes = if self.subscripts.is_element() {
                store_element(array.as_ref(), own, &found.indexes(row), &value, &cx)?
            } else {
                let bounds = found.bounds(row).ok_or_else(null_subscript)?;
                match (&value, &held) {
                    (Datum::Bytes(bytes), _) => {
                        let source = Array::load(bytes, own);
                        store_slice(array.as_ref(), own, &bounds, &source, &cx)?
                    }
                    // What is NULL changes nothing.
                    (_, Datum::Bytes(bytes)) => bytes.to_vec(),
                    _ => empty(),
                }
            };
            out.push(Datum::bytes(bytes), &env.cx())?;
        }
        Ok(Col::new(out.column(Repr::Bytes)?))
    }
}

/// A jsonb value with another part, made anew as well.
pub struct StoreJson {
    /// The value.
    pub container: Node,
    /// The way to the part: keys, and indexes as texts.
    pub steps: Vec<Node>,
    /// Whether the first step is an index: then what is NULL counts as an array.
    pub from_index: bool,
    /// What the part becomes.
    pub value: Node,
}

impl StoreJson {
    /// What is calculated for the same rows.
    pub fn children(&self) -> Vec<&Node> {
        [&self.container, &self.value].into_iter().chain(&self.steps).collect()
    }

    /// A jsonb value per row.
    pub fn eval(&self, rows: &Rows<'_>, env: &Env) -> Result<Col> {
        let (container, value) = (self.container.eval(rows, env)?, self.value.eval(rows, env)?);
        let steps =
            self.steps.iter().map(|step| step.eval(rows, env)).collect::<Result<Vec<_>>>()?;
        let cx = env.cx();
        let mut out = Made::new(rows.count, &env.cx());
        for row in 0..rows.count {
            let held = Datum::at(&container.array, Repr::Bytes, container.at(row));
            let new = Datum::at(&value.array, Repr::Bytes, value.at(row));
            let path: Vec<Option<String>> = steps.iter().map(|step| text(step, row)).collect();
            let made = store_part(bytes(&held), &path, self.from_index, bytes(&new), &cx)?;
            out.push(Datum::bytes(made), &env.cx())?;
        }
        Ok(Col::new(out.column(Repr::Bytes)?))
    }
}

/// A step of a path; `None` for NULL.
fn text(col: &Col, row: usize) -> Option<String> {
    match Datum::at(&col.array, Repr::Text, col.at(row)) {
        Datum::Text(text) => Some(text.into_owned()),
        _ => None,
    }
}

fn bytes<'a>(value: &'a Datum<'_>) -> Option<&'a [u8]> {
    match value {
        Datum::Bytes(bytes) => Some(bytes),
        _ => None,
    }
}
