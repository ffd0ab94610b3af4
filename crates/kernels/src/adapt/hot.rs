//! How does a function of plain numbers become a kernel that is a tight loop?
//!
//! A function is called for every row, those with NULL too, whose numbers are any: it must be cheap and total. One that can
//! fail says so in its second result; only if some row failed are the rows looked through for the first that is not NULL,
//! and its error is made. NULLs are those of both sides, joined as bits. A constant side stands in a register.

use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::types::{
    ArrowPrimitiveType, Float32Type, Float64Type, Int16Type, Int32Type, Int64Type, UInt8Type,
    UInt32Type,
};
use arrow_array::{Array, ArrayRef, BooleanArray, PrimitiveArray, StringArray, new_null_array};
use arrow_buffer::{BooleanBuffer, Buffer, NullBuffer, ScalarBuffer};
use arrow_schema::DataType;
use onlap_pg::{Error, Result};

use super::LOOK_EVERY;
use crate::{
    Char, Col, Cx, Date, Float4, Float8, Int2, Int4, Int8, Kernel, OidTy, Time, Timestamp, Ty,
};

/// A type whose values lie in a column as plain numbers.
pub trait Plain: Ty {
    /// As Arrow has it.
    type Arrow: ArrowPrimitiveType;
}

macro_rules! plain {
    ($($ty:ident $arrow:ident),*) => { $(impl Plain for $ty { type Arrow = $arrow; })* };
}

plain!(Int2 Int16Type, Int4 Int32Type, Int8 Int64Type, OidTy UInt32Type, Char UInt8Type);
plain!(Float4 Float32Type, Float8 Float64Type, Date Int32Type, Timestamp Int64Type, Time Int64Type);

/// The number of a type.
pub type Of<T> = <<T as Plain>::Arrow as ArrowPrimitiveType>::Native;

/// An argument: numbers, one number for all rows, or NULL for all.
enum Side<'a, N> {
    Column(&'a [N]),
    Same(N),
    Null,
}

fn side<T: Plain>(col: &Col) -> Side<'_, Of<T>> {
    let array: &PrimitiveArray<T::Arrow> = col.array.as_primitive();
    match col.is_const {
        false => Side::Column(array.values()),
        true if array.is_null(0) => Side::Null,
        true => Side::Same(array.value(0)),
    }
}

/// The NULLs of a column; a constant has none here.
fn nulls(col: &Col) -> Option<&NullBuffer> {
    if col.is_const { None } else { col.array.nulls() }
}

/// What collects results of rows, in stretches between which the statement may end.
trait Sink {
    fn take(&mut self, results: impl ExactSizeIterator<Item = Self::Item>);
    type Item;
}

/// Results that may fail: numbers, and whether any failed.
struct Numbers<N> {
    out: Vec<N>,
    failed: bool,
}

impl<N> Sink for Numbers<N> {
    type Item = (N, bool);
    #[inline(always)]
    fn take(&mut self, results: impl ExactSizeIterator<Item = (N, bool)>) {
        let mut failed = false;
        self.out.extend(results.map(|(value, bad)| {
            failed |= bad;
            value
        }));
        self.failed |= failed;
    }
}

/// Bits, whole words in each stretch but the last.
struct Bits {
    out: Vec<u64>,
}

impl Sink for Bits {
    type Item = bool;
    #[inline(always)]
    fn take(&mut self, mut results: impl ExactSizeIterator<Item = bool>) {
        while results.len() > 0 {
            let mut word = 0;
            for (at, bit) in results.by_ref().take(64).enumerate() {
                word |= u64::from(bit) << at;
            }
            self.out.push(word);
        }
    }
}

#[inline(always)]
fn fill1<A: Copy, S: Sink>(
    a: &[A],
    cx: &Cx<'_>,
    sink: &mut S,
    f: impl Fn(A) -> S::Item,
) -> Result<()> {
    for a in a.chunks(LOOK_EVERY) {
        cx.go_on()?;
        sink.take(a.iter().map(|a| f(*a)));
    }
    Ok(())
}

/// Calls a function of two sides for all rows; `false` if one side is NULL for all.
#[inline(always)]
fn fill2<A: Copy, B: Copy, S: Sink>(
    sides: (Side<'_, A>, Side<'_, B>),
    rows: usize,
    cx: &Cx<'_>,
    sink: &mut S,
    f: impl Fn(A, B) -> S::Item,
) -> Result<bool> {
    match sides {
        (Side::Null, _) | (_, Side::Null) => return Ok(false),
        (Side::Column(a), Side::Same(b)) => fill1(&a[..rows], cx, sink, |a| f(a, b))?,
        (Side::Same(a), Side::Column(b)) => fill1(&b[..rows], cx, sink, |b| f(a, b))?,
        (Side::Same(a), Side::Same(b)) => sink.take((0..rows).map(|_| f(a, b))),
        (Side::Column(a), Side::Column(b)) => {
            let stretches = a[..rows].chunks(LOOK_EVERY).zip(b[..rows].chunks(LOOK_EVERY));
            for (a, b) in stretches {
                cx.go_on()?;
                sink.take(a.iter().zip(b).map(|(a, b)| f(*a, *b)));
            }
        }
    }
    Ok(true)
}

fn bools(bits: Bits, rows: usize, nulls: Option<NullBuffer>) -> ArrayRef {
    let bits = BooleanBuffer::new(Buffer::from_vec(bits.out), 0, rows);
    Arc::new(BooleanArray::new(bits, nulls))
}

fn numbers<R: Plain>(out: Vec<Of<R>>, nulls: Option<NullBuffer>) -> ArrayRef {
    Arc::new(PrimitiveArray::<R::Arrow>::new(ScalarBuffer::from(out), nulls))
}

struct Check1<A: Plain, R: Plain, F> {
    f: F,
    fail: fn(Of<A>) -> Error,
    result: std::marker::PhantomData<fn() -> R>,
}

impl<A: Plain, R: Plain, F> Kernel for Check1<A, R, F>
where
    F: Fn(Of<A>) -> (Of<R>, bool) + Send + Sync,
{
    fn eval(&self, args: &[Col], rows: usize, cx: &mut Cx<'_>) -> Result<ArrayRef> {
        let mut sink = Numbers { out: Vec::with_capacity(rows), failed: false };
        match side::<A>(&args[0]) {
            Side::Null => return Ok(new_null_array(&R::Arrow::DATA_TYPE, rows)),
            Side::Column(a) => fill1(&a[..rows], cx, &mut sink, &self.f)?,
            Side::Same(a) => sink.take((0..rows).map(|_| (self.f)(a))),
        }
        if sink.failed {
            let array: &PrimitiveArray<A::Arrow> = args[0].array.as_primitive();
            for row in (0..rows).filter(|row| !args[0].is_null(*row)) {
                let a = array.value(args[0].at(row));
                if (self.f)(a).1 {
                    return Err((self.fail)(a));
                }
            }
        }
        Ok(numbers::<R>(sink.out, nulls(&args[0]).cloned()))
    }
}

struct Check2<A: Plain, B: Plain, R: Plain, F> {
    f: F,
    fail: fn(Of<A>, Of<B>) -> Error,
    result: std::marker::PhantomData<fn() -> R>,
}

impl<A: Plain, B: Plain, R: Plain, F> Kernel for Check2<A, B, R, F>
where
    F: Fn(Of<A>, Of<B>) -> (Of<R>, bool) + Send + Sync,
{
    fn eval(&self, args: &[Col], rows: usize, cx: &mut Cx<'_>) -> Result<ArrayRef> {
        let mut sink = Numbers { out: Vec::with_capacity(rows), failed: false };
        let sides = (side::<A>(&args[0]), side::<B>(&args[1]));
        if !fill2(sides, rows, cx, &mut sink, &self.f)? {
            return Ok(new_null_array(&R::Arrow::DATA_TYPE, rows));
        }
        let nulls = NullBuffer::union(nulls(&args[0]), nulls(&args[1]));
        if sink.failed {
            let a: &PrimitiveArray<A::Arrow> = args[0].array.as_primitive();
            let b: &PrimitiveArray<B::Arrow> = args[1].array.as_primitive();
            for row in (0..rows).filter(|row| nulls.as_ref().is_none_or(|n| n.is_valid(*row))) {
                let (a, b) = (a.value(args[0].at(row)), b.value(args[1].at(row)));
                if (self.f)(a, b).1 {
                    return Err((self.fail)(a, b));
                }
            }
        }
        Ok(numbers::<R>(sink.out, nulls))
    }
}

/// A kernel of one number, tight; the function says whether it failed, `fail` how.
pub fn check1<A: Plain, R: Plain, F>(f: F, fail: fn(Of<A>) -> Error) -> Box<dyn Kernel>
where
    F: Fn(Of<A>) -> (Of<R>, bool) + Send + Sync + 'static,
{
    Box::new(Check1::<A, R, F> { f, fail, result: std::marker::PhantomData })
}

/// A kernel of two numbers, tight; the function says whether it failed, `fail` how.
pub fn check2<A: Plain, B: Plain, R: Plain, F>(
    f: F,
    fail: fn(Of<A>, Of<B>) -> Error,
) -> Box<dyn Kernel>
where
    F: Fn(Of<A>, Of<B>) -> (Of<R>, bool) + Send + Sync + 'static,
{
    Box::new(Check2::<A, B, R, F> { f, fail, result: std::marker::PhantomData })
}

/// A kernel of one number that never fails, tight.
pub fn map1<A: Plain, R: Plain, F>(f: F) -> Box<dyn Kernel>
where
    F: Fn(Of<A>) -> Of<R> + Send + Sync + 'static,
{
    check1::<A, R, _>(move |a| (f(a), false), |_| unreachable!("it has a result for every number"))
}

/// A kernel of two numbers that never fails, tight.
pub fn map2<A: Plain, B: Plain, R: Plain, F>(f: F) -> Box<dyn Kernel>
where
    F: Fn(Of<A>, Of<B>) -> Of<R> + Send + Sync + 'static,
{
    check2::<A, B, R, _>(
        move |a, b| (f(a, b), false),
        |_, _| unreachable!("it has a result for all numbers"),
    )
}

struct Test2<A: Plain, B: Plain, F> {
    f: F,
    arguments: std::marker::PhantomData<fn(A, B)>,
}

impl<A: Plain, B: Plain, F> Kernel for Test2<A, B, F>
where
    F: Fn(Of<A>, Of<B>) -> bool + Send + Sync,
{
    fn eval(&self, args: &[Col], rows: usize, cx: &mut Cx<'_>) -> Result<ArrayRef> {
        let mut sink = Bits { out: Vec::with_capacity(rows.div_ceil(64)) };
        let sides = (side::<A>(&args[0]), side::<B>(&args[1]));
        if !fill2(sides, rows, cx, &mut sink, &self.f)? {
            return Ok(new_null_array(&DataType::Boolean, rows));
        }
        let nulls = NullBuffer::union(nulls(&args[0]), nulls(&args[1]));
        Ok(bools(sink, rows, nulls))
    }
}

/// A kernel that compares two numbers, tight.
pub fn test2<A: Plain, B: Plain, F>(f: F) -> Box<dyn Kernel>
where
    F: Fn(Of<A>, Of<B>) -> bool + Send + Sync + 'static,
{
    Box::new(Test2::<A, B, F> { f, arguments: std::marker::PhantomData })
}

struct TestTexts<F>(F);

/// The texts of a column one after the other.
fn texts(array: &StringArray, from: usize, to: usize) -> impl ExactSizeIterator<Item = &[u8]> {
    let (bytes, offsets) = (array.value_data(), array.value_offsets());
    offsets[from..=to].windows(2).map(|ends| &bytes[ends[0] as usize..ends[1] as usize])
}

impl<F> Kernel for TestTexts<F>
where
    F: for<'a> Fn(&'a [u8], &'a [u8]) -> bool + Send + Sync,
{
    fn eval(&self, args: &[Col], rows: usize, cx: &mut Cx<'_>) -> Result<ArrayRef> {
        let (a, b): (&StringArray, &StringArray) =
            (args[0].array.as_string(), args[1].array.as_string());
        if args.iter().any(|col| col.is_const && col.is_null(0)) {
            return Ok(new_null_array(&DataType::Boolean, rows));
        }
        let mut sink = Bits { out: Vec::with_capacity(rows.div_ceil(64)) };
        for from in (0..rows).step_by(LOOK_EVERY) {
            cx.go_on()?;
            let to = rows.min(from + LOOK_EVERY);
            match (args[0].is_const, args[1].is_const) {
                (false, false) => {
                    sink.take(
                        texts(a, from, to).zip(texts(b, from, to)).map(|(a, b)| (self.0)(a, b)),
                    );
                }
                (false, true) => {
                    let b = b.value(0).as_bytes();
                    sink.take(texts(a, from, to).map(|a| (self.0)(a, b)));
                }
                (true, false) => {
                    let a = a.value(0).as_bytes();
                    sink.take(texts(b, from, to).map(|b| (self.0)(a, b)));
                }
                (true, true) => {
                    let same = (self.0)(a.value(0).as_bytes(), b.value(0).as_bytes());
                    sink.take((from..to).map(|_| same));
                }
            }
        }
        let nulls = NullBuffer::union(nulls(&args[0]), nulls(&args[1]));
        Ok(bools(sink, rows, nulls))
    }
}

/// A kernel that compares the bytes of two texts, tight.
pub fn test_texts<F>(f: F) -> Box<dyn Kernel>
where
    F: for<'a> Fn(&'a [u8], &'a [u8]) -> bool + Send + Sync + 'static,
{
    Box::new(TestTexts(f))
}
