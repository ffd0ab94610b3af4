//! Arrays and rows: how are they made, and how are their parts taken?

use std::sync::Arc;

use arrow_array::{ArrayRef, BooleanArray};
use onlap_kernels::array::record::build_named;
use onlap_kernels::array::{Array, Builder, Dim, Record};
use onlap_kernels::{Col, Datum, Made, Repr, repr};
use onlap_pg::catalog::{Catalog, oids};
use onlap_pg::{Error, Oid, Result};

use crate::env::Env;
use crate::node::{Node, Rows, Spread};

/// ARRAY[…]
pub struct ArrayOf {
    /// The elements, or arrays of one dimension less.
    pub values: Vec<Node>,
    /// Whether they are arrays.
    pub nested: bool,
    /// The type of elements.
    pub element: Oid,
    /// Their representation.
    pub repr: Repr,
}

impl ArrayOf {
    /// What is calculated for the same rows.
    pub fn children(&self) -> Vec<&Node> {
        self.values.iter().collect()
    }

    /// An array per row.
    pub fn eval(&self, rows: &Rows<'_>, env: &Env) -> Result<Col> {
        let values: Vec<Col> =
            self.values.iter().map(|v| v.eval(rows, env)).collect::<Result<_>>()?;
        let once = values.iter().all(|value| value.is_const);
        let count = if once { 1 } else { rows.count };
        let mut out = Made::new(count, &env.cx());
        let outer = if self.nested { Repr::Bytes } else { self.repr };
        for row in 0..count {
            let datums: Vec<Datum<'_>> =
                values.iter().map(|v| Datum::at(&v.array, outer, v.at(row))).collect();
            let bytes =
                if self.nested { nest(&datums, self.repr)? } else { flat(&datums, self.repr)? };
            out.push(Datum::bytes(bytes), &env.cx())?;
        }
        Ok(Col { array: out.column(Repr::Bytes)?, is_const: once })
    }
}

fn flat(values: &[Datum<'_>], repr: Repr) -> Result<Vec<u8>> {
    let mut builder = Builder::new(repr);
    for value in values {
        builder.push(value)?;
    }
    Ok(builder.finish())
}

/// Fails where the rows of a query are no arrays of one shape.
fn must_gather(values: &[Datum<'_>], repr: Repr) -> Result<()> {
    let mut known: Option<Vec<Dim>> = None;
    for value in values {
        let Datum::Bytes(bytes) = value else {
            return Err(Error::new("22004", "cannot accumulate null arrays"));
        };
        let dims = Array::load(bytes, repr).dims();
        let refused = match &known {
            Some(known) if *known != dims => "cannot accumulate arrays of different dimensionality",
            _ if dims.is_empty() => "cannot accumulate empty arrays",
            _ => {
                known = Some(dims);
                continue;
            }
        };
        return Err(Error::new("2202E", refused));
    }
    Ok(())
}

/// Arrays of the same form as one of one more dimension.
fn nest(values: &[Datum<'_>], repr: Repr) -> Result<Vec<u8>> {
    let differs = || {
        let text = "multidimensional arrays must have array expressions with matching dimensions";
        Error::new("2202E", text)
    };
    let mut builder = Builder::new(repr);
    let mut inner: Option<Vec<Dim>> = None;
    let mut count = 0;
    for value in values {
        // NULL counts as an array without elements.
        let dims = match value {
            Datum::Bytes(bytes) => {
                let array = Array::load(bytes, repr);
                builder.extend(&array)?;
                array.dims()
            }
            _ => Vec::new(),
        };
        count += 1;
        match &inner {
            None => inner = Some(dims),
            Some(known) if *known == dims => {}
            Some(_) => return Err(differs()),
        }
    }
    let inner = inner.unwrap_or_default();
    if inner.is_empty() {
        return Ok(Builder::new(repr).finish());
    }
    if inner.len() >= 6 {
        let text = format!(
            "number of array dimensions ({}) exceeds the maximum allowed (6)",
            inner.len() + 1
        );
        return Err(Error::new("54000", text));
    }
    let dims: Vec<Dim> = [Dim::new(count)].into_iter().chain(inner).collect();
    Ok(builder.finish_as(&dims))
}

/// The values of a column as one array, of one row; arrays become one of one more dimension.
pub fn array_of_column(
    column: &ArrayRef,
    own: Repr,
    element: Oid,
    nested: bool,
    env: &Env,
) -> Result<ArrayRef> {
    let values: Vec<Datum<'_>> = (0..column.len()).map(|row| Datum::at(column, own, row)).collect();
    env.cx().room(values.iter().map(|value| value.size() + 8).sum())?;
    let bytes = if nested {
        let inner = env.catalog.base_element(element).expect("an array has elements");
        let inner = repr(&env.catalog, inner).expect("its values were made");
        must_gather(&values, inner)?;
        nest(&values, inner)?
    } else {
        flat(&values, own)?
    };
    Datum::column(Repr::Bytes, [Datum::bytes(bytes)].iter())
}

/// ROW(…)
pub struct RowOf {
    /// The fields.
    pub values: Vec<Node>,
    /// Their types.
    pub types: Vec<Oid>,
    /// Their representations.
    pub reprs: Vec<Repr>,
    /// The names of its fields; none where they are f1, f2 and so on.
    pub names: Vec<Box<str>>,
}

impl RowOf {
    /// What is calculated for the same rows.
    pub fn children(&self) -> Vec<&Node> {
        self.values.iter().collect()
    }

    /// A record per row.
    pub fn eval(&self, rows: &Rows<'_>, env: &Env) -> Result<Col> {
        let values: Vec<Col> =
            self.values.iter().map(|v| v.eval(rows, env)).collect::<Result<_>>()?;
        let names: Vec<&str> = self.names.iter().map(|name| &**name).collect();
        let once = !values.is_empty() && values.iter().all(|value| value.is_const);
        let count = if once { 1 } else { rows.count };
        let mut out = Made::new(count, &env.cx());
        for row in 0..count {
            let fields: Vec<(Oid, Datum<'_>)> = values
                .iter()
                .zip(self.types.iter().zip(&self.reprs))
                .map(|(v, (oid, repr))| (*oid, Datum::at(&v.array, *repr, v.at(row))))
                .collect();
            out.push(Datum::bytes(build_named(&names, &fields)?), &env.cx())?;
        }
        Ok(Col { array: out.column(Repr::Bytes)?, is_const: once })
    }
}

/// A field of a row.
pub struct FieldOf {
    /// The row.
    pub row: Node,
    /// Which, from 1.
    pub field: i32,
    /// The types of the row and of the field.
    pub of: (Oid, Oid),
    /// The field's representation.
    pub repr: Repr,
}

impl FieldOf {
    /// A value per row.
    pub fn eval(&self, rows: &Rows<'_>, env: &Env) -> Result<Col> {
        let value = self.row.eval(rows, env)?;
        let at = usize::try_from(self.field - 1).expect("fields count from 1");
        let field = |row: usize| match Datum::at(&value.array, Repr::Bytes, row) {
            Datum::Bytes(bytes) => {
                let record = Record::load(&bytes);
                if at >= record.len() {
                    return Ok(Datum::Null);
                }
                let wanted = (self.of.0, self.of.1, self.repr);
                must_be(&env.catalog, (at, record.type_of(at)), wanted)?;
                Ok(record.get(at, self.repr).into_owned())
            }
            _ => Ok(Datum::Null),
        };
        let mut out = Made::new(value.array.len(), &env.cx());
        for row in 0..value.array.len() {
            out.push(field(row)?, &env.cx())?;
        }
        Ok(Col { array: out.column(self.repr)?, is_const: value.is_const })
    }
}

/// Fails where a row of before a change of its type has a field, counted from 0, that cannot be read as what it is now: the
/// types of the row and of the field, and its representation.
pub fn must_be(
    catalog: &Catalog,
    (at, given): (usize, Oid),
    (row, wanted, own): (Oid, Oid, Repr),
) -> Result<()> {
    let is_row = |oid| oid == oids::RECORD || catalog.is_composite(oid);
    let alike = || {
        let same = catalog.base_type(given) == catalog.base_type(wanted);
        same || own != Repr::Bytes || is_row(given) && is_row(wanted)
    };
    if given == wanted || repr(catalog, given) == Some(own) && alike() {
        return Ok(());
    }
    let text = format!("attribute {} of type {} has wrong type", at + 1, catalog.shown(row));
    let (has, expects) = (catalog.shown(given), catalog.shown(wanted));
    let detail = format!("Table has type {has}, but query expects {expects}.");
    Err(Error::new("42804", text).detail(detail))
}

/// IS NULL of a row: all fields are; IS NOT NULL: none is.
pub fn row_test(value: &Col, not: bool) -> Col {
    let test = |row: usize| match Datum::at(&value.array, Repr::Bytes, row) {
        Datum::Bytes(bytes) => {
            let record = Record::load(&bytes);
            (0..record.len()).all(|at| record.is_null(at) != not)
        }
        _ => !not,
    };
    let tested = (0..value.array.len()).map(|row| Some(test(row)));
    Col { array: Arc::new(tested.collect::<BooleanArray>()), is_const: value.is_const }
}

/// Each element of an array converted.
pub struct Elements {
    /// The array.
    pub array: Node,
    /// How an element, which is the only column, is converted.
    pub each: Node,
    /// The representation of elements.
    pub from: Repr,
    /// The type and representation of the results.
    pub to: (Oid, Repr),
}

impl Elements {
    /// What is calculated for the same rows.
    pub fn children(&self) -> Vec<&Node> {
        vec![&self.array]
    }

    /// An array per row.
    pub fn eval(&self, rows: &Rows<'_>, env: &Env) -> Result<Col> {
        let value = self.array.eval(rows, env)?;
        let mut out = Made::new(value.array.len(), &env.cx());
        for row in 0..value.array.len() {
            let Datum::Bytes(bytes) = Datum::at(&value.array, Repr::Bytes, row) else {
                out.push(Datum::Null, &env.cx())?;
                continue;
            };
            let array = Array::load(&bytes, self.from);
            let elements: Vec<Datum<'_>> = array.iter().collect();
            let count = elements.len();
            let columns = [Datum::column(self.from, elements.iter())?];
            let made =
                self.each.eval(&Rows { columns: &columns, count }, env)?.spread(count, env)?;
            let mut builder = Builder::new(self.to.1);
            for at in 0..count {
                builder.push(&Datum::at(&made, self.to.1, at))?;
            }
            out.push(Datum::bytes(builder.finish_as(&array.dims())), &env.cx())?;
        }
        Ok(Col { array: out.column(Repr::Bytes)?, is_const: value.is_const })
    }
}
