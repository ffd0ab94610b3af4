//! What is a kernel, and how is one made for a call?

use std::sync::Arc;

use arrow_array::{Array, ArrayRef};
use onlap_pg::catalog::Catalog;
use onlap_pg::{Result, TypeRef};

use crate::Cx;

/// An argument: a column, or one value for all rows.
#[derive(Clone, Debug)]
pub struct Col {
    /// The values; a single one if it is constant.
    pub array: ArrayRef,
    /// Whether it has one value for all rows.
    pub is_const: bool,
}

impl Col {
    /// A column.
    pub fn new(array: ArrayRef) -> Col {
        Col { array, is_const: false }
    }

    /// One value for all rows.
    pub fn constant(array: ArrayRef) -> Col {
        assert_eq!(array.len(), 1, "a constant is one value");
        Col { array, is_const: true }
    }

    /// Where a row's value is in the array.
    #[inline]
    pub fn at(&self, row: usize) -> usize {
        if self.is_const { 0 } else { row }
    }

    /// Whether a row is NULL.
    #[inline]
    pub fn is_null(&self, row: usize) -> bool {
        self.array.is_null(self.at(row))
    }
}

/// A function over columns.
pub trait Kernel: Send + Sync {
    /// The results of so many rows. Rows that a kernel must not look at are not among them.
    ///
    /// # Errors
    /// The first error of a row; `54000`, `53200`, `57014`.
    fn eval(&self, args: &[Col], rows: usize, cx: &mut Cx<'_>) -> Result<ArrayRef>;
}

/// The types of a call, polymorphic ones resolved.
#[derive(Clone, Debug)]
pub struct Types {
    /// The arguments'.
    pub args: Vec<TypeRef>,
    /// The result's.
    pub result: TypeRef,
    /// Where types are found.
    pub catalog: Arc<Catalog>,
}

/// Makes the kernel of a call.
pub type Make = fn(&Types) -> Box<dyn Kernel>;

/// A function's signature, as `name(type,type)` with the catalog's names, and how its kernel is made.
pub type Entry = (&'static str, Make);
