//! How does an array lie in a column?
//!
//! | bytes | what |
//! |---|---|
//! | 1 | number of dimensions: 0 for an empty array (1 for an empty vector), at most 6 |
//! | 1 | 1 if there are NULLs among the elements, else 0 |
//! | 8 each | per dimension its length and its lower bound, 32 bits each, little-endian |
//! | (n + 7) / 8 | only with NULLs: a bit per element, the lowest first, set for NULL |
//! | n widths | elements of fixed width ([`super::packed`]); NULLs are zeros |
//! | 4 n, … | other elements: where each ends, 32 bits, little-endian, counted from the first; then the elements |
//!
//! Elements lie in row-major order. Their type is not here: the array's type says it. An element of a one-dimensional array
//! and of any other is found in the same constant time.
//!
//! ```
//! use onlap_kernels::{Datum, Repr, array::Builder};
//! let mut builder = Builder::new(Repr::Int2);
//! builder.push(&Datum::Int2(7)).unwrap();
//! builder.push(&Datum::Null).unwrap();
//! assert_eq!(builder.finish(), [1, 1, 2, 0, 0, 0, 1, 0, 0, 0, 0b10, 7, 0, 0, 0]);
//! ```
//!
//! Thread safety: plain data.

use onlap_pg::value::MAX_BYTES;
use onlap_pg::{Error, Result, worked};

use super::packed::{self, u32_at};
use crate::{Datum, Repr};

/// The most dimensions of an array: PostgreSQL's MAXDIM.
pub const MAX_DIMENSIONS: usize = 6;

/// The most elements of an array: PostgreSQL's MaxArraySize, pointers in the largest value.
pub const MAX_ITEMS: usize = MAX_BYTES / 8;

/// What an element counts for beside its bytes, where loops over them say how much they have done.
pub(crate) const ELEMENT: usize = 8;

/// A dimension.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Dim {
    /// How many elements or arrays of the next dimension it has.
    pub length: i32,
    /// The subscript of the first.
    pub lower: i32,
}

impl Dim {
    /// One that counts from 1.
    pub fn new(length: usize) -> Dim {
        Dim { length: length as i32, lower: 1 }
    }

    /// The subscript of the last.
    pub fn upper(self) -> i32 {
        self.lower.wrapping_add(self.length).wrapping_sub(1)
    }
}

/// "array size exceeds the maximum allowed".
pub(crate) fn too_large() -> Error {
    Error::new("54000", format!("array size exceeds the maximum allowed ({MAX_ITEMS})"))
}

/// How many elements dimensions have together: ArrayGetNItems and ArrayCheckBounds.
///
/// # Errors
/// `54000`: too many, or an upper bound that does not fit 32 bits.
pub(crate) fn count(dims: &[Dim]) -> Result<usize> {
    let mut all = 1_usize;
    for dim in dims {
        let length = usize::try_from(dim.length).map_err(|_| too_large())?;
        all = all.saturating_mul(length);
    }
    if all > MAX_ITEMS {
        return Err(too_large());
    }
    for dim in dims {
        if dim.lower.checked_add(dim.length).is_none() {
            let message = format!("array lower bound is too large: {}", dim.lower);
            return Err(Error::new("54000", message));
        }
    }
    Ok(if dims.is_empty() { 0 } else { all })
}

/// An array as it lies in a column.
#[derive(Clone, Copy, Debug)]
pub struct Array<'a> {
    repr: Repr,
    width: Option<usize>,
    len: usize,
    dims: &'a [u8],
    nulls: &'a [u8],
    ends: &'a [u8],
    data: &'a [u8],
}

impl<'a> Array<'a> {
    /// Reads the form of an array whose elements have a representation.
    ///
    /// # Panics
    /// The bytes are none that a [`Builder`] made for this representation.
    pub fn load(bytes: &'a [u8], repr: Repr) -> Array<'a> {
        let (dims, rest) = bytes[2..].split_at(usize::from(bytes[0]) * 8);
        let mut len = usize::from(!dims.is_empty());
        for dim in dims.chunks_exact(8) {
            len *= u32_at(dim, 0) as usize;
        }
        let (nulls, rest) = rest.split_at(if bytes[1] == 0 { 0 } else { len.div_ceil(8) });
        let width = packed::width(repr);
        let (ends, data) = rest.split_at(if width.is_some() { 0 } else { len * 4 });
        Array { repr, width, len, dims, nulls, ends, data }
    }

    /// How many elements it has.
    pub fn len(&self) -> usize {
        self.len
    }

    /// Whether it has none.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// How elements are represented.
    pub fn repr(&self) -> Repr {
        self.repr
    }

    /// How many dimensions it has.
    pub fn ndims(&self) -> usize {
        self.dims.len() / 8
    }

    /// A dimension, the outermost is 0.
    pub fn dim(&self, at: usize) -> Dim {
        let length = u32_at(self.dims, at * 8) as i32;
        Dim { length, lower: u32_at(self.dims, at * 8 + 4) as i32 }
    }

    /// The dimensions.
    pub fn dims(&self) -> Vec<Dim> {
        (0..self.ndims()).map(|at| self.dim(at)).collect()
    }

    /// Whether there are NULLs.
    pub fn has_nulls(&self) -> bool {
        !self.nulls.is_empty()
    }

    /// Whether an element is NULL.
    #[inline]
    pub fn is_null(&self, at: usize) -> bool {
        self.nulls.get(at / 8).is_some_and(|bits| bits >> (at % 8) & 1 == 1)
    }

    /// An element by its position in the whole, from 0.
    ///
    /// # Panics
    /// There is none.
    #[inline]
    pub fn get(&self, at: usize) -> Datum<'a> {
        assert!(at < self.len, "an element is inside of its array");
        if self.is_null(at) {
            return Datum::Null;
        }
        let bytes = match self.width {
            Some(width) => &self.data[at * width..(at + 1) * width],
            None => {
                let start = if at == 0 { 0 } else { u32_at(self.ends, at * 4 - 4) };
                &self.data[start as usize..u32_at(self.ends, at * 4) as usize]
            }
        };
        packed::get(self.repr, bytes)
    }

    /// The elements in order.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = Datum<'a>> + use<'a> {
        let array = *self;
        (0..self.len).map(move |at| array.get(at))
    }
}

/// Collects elements.
#[derive(Clone, Debug)]
pub struct Builder {
    fixed: Option<usize>,
    len: usize,
    nulls: Vec<u8>,
    ends: Vec<u8>,
    data: Vec<u8>,
}

impl Builder {
    /// For elements of a representation.
    pub fn new(repr: Repr) -> Builder {
        let fixed = packed::width(repr);
        Builder { fixed, len: 0, nulls: Vec::new(), ends: Vec::new(), data: Vec::new() }
    }

    /// Adds an element.
    ///
    /// # Errors
    /// `54000`: there are more than an array may have, or they are too large together.
    pub fn push(&mut self, value: &Datum<'_>) -> Result<()> {
        worked(ELEMENT.saturating_add(value.size()))?;
        let more = self.fixed.unwrap_or_else(|| value.size().saturating_add(4));
        if self.len >= MAX_ITEMS || self.size().saturating_add(more) > MAX_BYTES {
            return Err(too_large());
        }
        if value.is_null() {
            self.nulls.resize(self.len / 8 + 1, 0);
            self.nulls[self.len / 8] |= 1 << (self.len % 8);
            self.data.resize(self.data.len() + self.fixed.unwrap_or(0), 0);
        } else {
            packed::put(value, &mut self.data);
        }
        if self.fixed.is_none() {
            self.ends.extend_from_slice(&(self.data.len() as u32).to_le_bytes());
        }
        self.len += 1;
        Ok(())
    }

    /// Adds all elements of an array.
    ///
    /// # Errors
    /// As [`Builder::push`].
    pub fn extend(&mut self, array: &Array<'_>) -> Result<()> {
        array.iter().try_for_each(|value| self.push(&value))
    }

    /// How many elements it has.
    pub fn len(&self) -> usize {
        self.len
    }

    /// Whether it has none.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// The bytes that it has taken.
    pub fn size(&self) -> usize {
        self.data.len() + self.ends.len() + self.nulls.len()
    }

    /// A one-dimensional array that counts from 1; without elements an empty one.
    pub fn finish(self) -> Vec<u8> {
        let dims = [Dim::new(self.len)];
        self.finish_as(&dims)
    }

    /// An array of these dimensions; one without elements has none.
    ///
    /// # Panics
    /// The dimensions are of another number of elements.
    pub fn finish_as(self, dims: &[Dim]) -> Vec<u8> {
        let dims = if self.len == 0 { &[] } else { dims };
        self.written(dims)
    }

    /// An int2vector or oidvector: one dimension that counts from 0, without elements too.
    pub fn finish_vector(self) -> Vec<u8> {
        let dims = [Dim { length: self.len as i32, lower: 0 }];
        self.written(&dims)
    }

    fn written(mut self, dims: &[Dim]) -> Vec<u8> {
        let mut all = usize::from(!dims.is_empty());
        dims.iter().for_each(|dim| all *= dim.length as usize);
        assert_eq!(all, self.len, "dimensions are those of the elements");
        let mut out = Vec::with_capacity(2 + dims.len() * 8 + self.len.div_ceil(8) + self.size());
        out.push(dims.len() as u8);
        out.push(u8::from(!self.nulls.is_empty()));
        for dim in dims {
            out.extend_from_slice(&dim.length.to_le_bytes());
            out.extend_from_slice(&dim.lower.to_le_bytes());
        }
        if !self.nulls.is_empty() {
            self.nulls.resize(self.len.div_ceil(8), 0);
            out.extend_from_slice(&self.nulls);
        }
        out.extend_from_slice(&self.ends);
        out.extend_from_slice(&self.data);
        out
    }
}
