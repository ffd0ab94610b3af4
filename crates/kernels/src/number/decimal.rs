//! How does a kernel get numerics without memory for their digits?
//!
//! Most are `Small` in their column; only others become a `Numeric`. `Dec` is the marker for adapters of rows,
//! `arithmetic` and `test` are loops over columns.

use std::sync::Arc;

use arrow_array::builder::BinaryBuilder;
use arrow_array::cast::AsArray;
use arrow_array::{Array, ArrayRef, BinaryArray, BooleanArray, new_null_array};
use arrow_buffer::{BooleanBuffer, Buffer, NullBuffer, OffsetBuffer, ScalarBuffer};
use arrow_schema::DataType;
use onlap_pg::value::numeric::{Numeric, Small};
use onlap_pg::{Error, Result};

use crate::adapt::LOOK_EVERY;
use crate::{Bytes, Col, Cx, Kernel, Ty, each};

/// A numeric of a column.
#[derive(Clone, Copy, Debug)]
pub enum Decimal<'a> {
    /// Of few digits.
    Small(Small),
    /// In its form in a column.
    Large(&'a [u8]),
}

impl<'a> Decimal<'a> {
    /// From its form in a column.
    #[inline]
    pub fn load(bytes: &'a [u8]) -> Decimal<'a> {
        Small::load(bytes).map_or(Decimal::Large(bytes), Decimal::Small)
    }

    /// With its digits.
    pub fn numeric(self) -> Numeric {
        match self {
            Decimal::Small(small) => small.into(),
            Decimal::Large(bytes) => Numeric::load(bytes),
        }
    }

    /// The value of few digits that a function of such gives, or what another gives of any.
    #[inline]
    pub fn map(
        self,
        fast: impl Fn(Small) -> Option<Small>,
        slow: impl Fn(&Numeric) -> Result<Numeric>,
    ) -> Result<Made> {
        if let Decimal::Small(small) = self
            && let Some(result) = fast(small)
        {
            return Ok(Made::Small(result));
        }
        slow(&self.numeric()).map(Made::Large)
    }
}

/// A numeric that a kernel made.
#[derive(Clone, Debug)]
pub enum Made {
    /// Of few digits.
    Small(Small),
    /// Of any.
    Large(Numeric),
}

impl Made {
    /// A mantissa of at most 20 digits with decimals.
    pub fn of(mantissa: i128, scale: u8) -> Made {
        Made::Small(Small::new(mantissa, scale).expect("it has few digits"))
    }

    /// With its digits.
    pub fn numeric(self) -> Numeric {
        match self {
            Made::Small(small) => small.into(),
            Made::Large(numeric) => numeric,
        }
    }
}

/// numeric, as a kernel that is to be fast gets it.
#[derive(Debug)]
pub struct Dec;

fn too_large() -> Error {
    Error::new("54000", "values of a batch are too large together")
}

impl Ty for Dec {
    type Column<'a> = &'a BinaryArray;
    type Value<'a> = Decimal<'a>;
    type Owned = Made;
    type Builder = BinaryBuilder;
    fn column(array: &ArrayRef) -> &BinaryArray {
        array.as_binary()
    }
    #[inline]
    fn get<'a>(column: &Self::Column<'a>, row: usize) -> Decimal<'a> {
        Decimal::load(column.value(row))
    }
    fn builder(rows: usize) -> BinaryBuilder {
        BinaryBuilder::with_capacity(rows, rows * 9)
    }
    fn push(builder: &mut BinaryBuilder, value: Made) -> Result<()> {
        let mut bytes = Vec::with_capacity(17);
        match value {
            Made::Small(small) => small.store(&mut bytes),
            Made::Large(numeric) => numeric.store(&mut bytes),
        }
        Bytes::push(builder, bytes)
    }
    fn push_null(builder: &mut BinaryBuilder) {
        builder.append_null();
    }
    fn finish(mut builder: BinaryBuilder) -> ArrayRef {
        Arc::new(builder.finish())
    }
}

/// A column of numerics that grows.
pub struct Column {
    bytes: Vec<u8>,
    ends: Vec<i32>,
}

impl Column {
    /// With room for so many rows of few digits.
    pub fn new(rows: usize) -> Column {
        let mut ends = Vec::with_capacity(rows + 1);
        ends.push(0);
        Column { bytes: Vec::with_capacity(rows * 9), ends }
    }

    /// Adds a row that is NULL.
    #[inline]
    pub fn null(&mut self) {
        self.ends.push(self.bytes.len() as i32);
    }

    /// Adds a value of few digits.
    #[inline]
    pub fn small(&mut self, value: Small) -> Result<()> {
        value.store(&mut self.bytes);
        self.end()
    }

    /// Adds any value.
    pub fn large(&mut self, value: &Numeric) -> Result<()> {
        value.store(&mut self.bytes);
        self.end()
    }

    #[inline]
    fn end(&mut self) -> Result<()> {
        self.ends.push(i32::try_from(self.bytes.len()).map_err(|_| too_large())?);
        Ok(())
    }

    /// The column.
    pub fn finish(self, nulls: Option<NullBuffer>) -> ArrayRef {
        let ends = OffsetBuffer::new(ScalarBuffer::from(self.ends));
        Arc::new(BinaryArray::new(ends, Buffer::from_vec(self.bytes), nulls))
    }
}

/// Two arguments that are numerics.
struct Pair<'a> {
    columns: [&'a BinaryArray; 2],
    /// The value of a constant.
    same: [Option<Decimal<'a>>; 2],
    nulls: Option<NullBuffer>,
}

impl<'a> Pair<'a> {
    /// `None` if a constant is NULL.
    fn new(args: &'a [Col]) -> Option<Pair<'a>> {
        if args.iter().any(|col| col.is_const && col.is_null(0)) {
            return None;
        }
        let columns = [args[0].array.as_binary(), args[1].array.as_binary()];
        let same = [0, 1].map(|at| args[at].is_const.then(|| Decimal::load(columns[at].value(0))));
        let nulls = [0, 1].map(|at| if args[at].is_const { None } else { columns[at].nulls() });
        Some(Pair { columns, same, nulls: NullBuffer::union(nulls[0], nulls[1]) })
    }

    #[inline]
    fn is_null(&self, row: usize) -> bool {
        self.nulls.as_ref().is_some_and(|nulls| nulls.is_null(row))
    }

    #[inline]
    fn get(&self, row: usize) -> (Decimal<'a>, Decimal<'a>) {
        let side = |at: usize| match self.same[at] {
            Some(same) => same,
            None => Decimal::load(self.columns[at].value(row)),
        };
        (side(0), side(1))
    }
}

/// A kernel of two numerics: `fast` where both and the result have few digits, else `slow`.
pub fn arithmetic<F, G>(fast: F, slow: G) -> Box<dyn Kernel>
where
    F: Fn(Small, Small) -> Option<Small> + Send + Sync + 'static,
    G: Fn(&Numeric, &Numeric) -> Result<Numeric> + Send + Sync + 'static,
{
    each(move |args, rows, cx| {
        let Some(pair) = Pair::new(args) else {
            return Ok(new_null_array(&DataType::Binary, rows));
        };
        let mut out = Column::new(rows);
        for row in 0..rows {
            if row % LOOK_EVERY == 0 {
                cx.go_on()?;
            }
            if pair.is_null(row) {
                out.null();
                continue;
            }
            let (a, b) = pair.get(row);
            if let (Decimal::Small(a), Decimal::Small(b)) = (a, b)
                && let Some(result) = fast(a, b)
            {
                out.small(result)?;
            } else {
                out.large(&slow(&a.numeric(), &b.numeric())?)?;
            }
        }
        Ok(out.finish(pair.nulls))
    })
}

/// A kernel that compares two numerics.
pub fn test<F>(is: F) -> Box<dyn Kernel>
where
    F: Fn(std::cmp::Ordering) -> bool + Send + Sync + 'static,
{
    each(move |args, rows, cx| {
        let Some(pair) = Pair::new(args) else {
            return Ok(new_null_array(&DataType::Boolean, rows));
        };
        let mut words = Vec::with_capacity(rows.div_ceil(64));
        for from in (0..rows).step_by(64) {
            if from % LOOK_EVERY == 0 {
                cx.go_on()?;
            }
            let mut word = 0;
            for row in from..rows.min(from + 64) {
                if !pair.is_null(row) {
                    let (a, b) = pair.get(row);
                    word |= u64::from(is(compare(a, b))) << (row - from);
                }
            }
            words.push(word);
        }
        let bits = BooleanBuffer::new(Buffer::from_vec::<u64>(words), 0, rows);
        Ok(Arc::new(BooleanArray::new(bits, pair.nulls)))
    })
}

/// PostgreSQL's order.
#[inline]
pub fn compare(a: Decimal<'_>, b: Decimal<'_>) -> std::cmp::Ordering {
    match (a, b) {
        (Decimal::Small(a), Decimal::Small(b)) => a.cmp(&b),
        _ => a.numeric().cmp(&b.numeric()),
    }
}

/// A kernel that makes numerics of integers.
pub fn of_ints<A: crate::Plain>(f: fn(crate::Of<A>) -> i64) -> Box<dyn Kernel> {
    each(move |args: &[Col], rows: usize, cx: &mut Cx<'_>| {
        let array: &arrow_array::PrimitiveArray<A::Arrow> = args[0].array.as_primitive();
        let mut out = Column::new(rows);
        for row in 0..rows {
            if row % LOOK_EVERY == 0 {
                cx.go_on()?;
            }
            match args[0].is_null(row) {
                true => out.null(),
                false => out.small(Small::from(f(array.value(args[0].at(row)))))?,
            }
        }
        let nulls = match args[0].is_const {
            false => array.nulls().cloned(),
            true if array.is_null(0) => Some(NullBuffer::new_null(rows)),
            true => None,
        };
        Ok(out.finish(nulls))
    })
}
