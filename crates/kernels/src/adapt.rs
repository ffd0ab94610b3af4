//! How does a function of Rust become a kernel?
//!
//! By a loop over rows: rows with a NULL in an argument that is not asked for NULLs give NULL, for the others the
//! function is called. `two::<Int4, Int4, Int4>(|a, b, _| …)` is the kernel of a function of two int4 that gives an int4.
//!
//! What is to be fast over plain numbers, arithmetic and comparison above all, is made by [`hot`] instead.

mod hot;

pub use hot::{Of, Plain, check1, check2, map1, map2, test_texts, test2};

use arrow_array::ArrayRef;
use onlap_pg::Result;

use crate::{Asking, Col, Cx, Kernel, Ty};

/// After so many rows a loop asks whether it is still wanted.
pub(crate) const LOOK_EVERY: usize = 1024;

/// The results of a loop over rows. There is room for them: what a function has not asked for itself is asked for here.
pub(crate) struct Results<R: Ty> {
    builder: R::Builder,
    memory: Asking,
}

impl<R: Ty> Results<R> {
    /// None yet, of a number of rows.
    pub(crate) fn new(rows: usize, cx: &Cx<'_>) -> Results<R> {
        Results { builder: R::builder(rows), memory: Asking::new(cx) }
    }

    /// Adds a result.
    ///
    /// # Errors
    /// `54000`: they are too large together for one column; `53200`.
    #[inline]
    pub(crate) fn push(&mut self, value: R::Owned, cx: &Cx<'_>) -> Result<()> {
        R::push(&mut self.builder, value)?;
        self.memory.hold(R::held(&self.builder), cx)
    }

    /// Adds NULL.
    #[inline]
    pub(crate) fn push_null(&mut self) {
        R::push_null(&mut self.builder);
    }

    /// The column.
    pub(crate) fn finish(self) -> ArrayRef {
        R::finish(self.builder)
    }
}

/// Runs a loop over rows that may be NULL: `skip` says which, `value` gives the others.
#[inline]
fn run<R: Ty>(
    rows: usize,
    cx: &mut Cx<'_>,
    skip: impl Fn(usize) -> bool,
    mut value: impl FnMut(usize, &mut Cx<'_>) -> Result<R::Owned>,
) -> Result<ArrayRef> {
    let mut out = Results::<R>::new(rows, cx);
    for row in 0..rows {
        if row % LOOK_EVERY == 0 {
            cx.go_on()?;
        }
        if skip(row) {
            out.push_null();
        } else {
            let value = value(row, cx)?;
            out.push(value, cx)?;
        }
    }
    Ok(out.finish())
}

/// Whether an argument's NULL makes NULL of a row.
#[inline]
fn skips<A: Ty>(col: &Col) -> bool {
    !A::NULLS && col.array.null_count() > 0
}

macro_rules! adapters {
    ($($(#[$doc:meta])* $name:ident $holder:ident ($($arg:ident $at:tt),*);)*) => {
        $(struct $holder<$($arg: Ty,)* R: Ty> {
            f: for<'x, 'c> fn($($arg::Value<'x>,)* &mut Cx<'c>) -> Result<R::Owned>,
        }

        impl<$($arg: Ty,)* R: Ty> Kernel for $holder<$($arg,)* R> {
            #[allow(non_snake_case, unused_variables)]
            fn eval(&self, args: &[Col], rows: usize, cx: &mut Cx<'_>) -> Result<ArrayRef> {
                $(let $arg = ($arg::column(&args[$at].array), &args[$at], skips::<$arg>(&args[$at]));)*
                run::<R>(
                    rows,
                    cx,
                    |_row| false $(|| ($arg.2 && $arg.1.is_null(_row)))*,
                    |_row, cx| (self.f)($($arg::get(&$arg.0, $arg.1.at(_row)),)* cx),
                )
            }
        }

        $(#[$doc])*
        pub fn $name<$($arg: Ty,)* R: Ty>(
            f: for<'x, 'c> fn($($arg::Value<'x>,)* &mut Cx<'c>) -> Result<R::Owned>,
        ) -> Box<dyn Kernel> {
            Box::new($holder::<$($arg,)* R> { f })
        })*
    };
}

adapters! {
    /// A kernel without arguments.
    none Zero ();
    /// A kernel of one argument.
    one One (A 0);
    /// A kernel of two arguments.
    two Two (A 0, B 1);
    /// A kernel of three arguments.
    three Three (A 0, B 1, C 2);
    /// A kernel of four arguments.
    four Four (A 0, B 1, C 2, D 3);
}

struct Each<F>(F);

impl<F> Kernel for Each<F>
where
    F: Fn(&[Col], usize, &mut Cx<'_>) -> Result<ArrayRef> + Send + Sync,
{
    fn eval(&self, args: &[Col], rows: usize, cx: &mut Cx<'_>) -> Result<ArrayRef> {
        (self.0)(args, rows, cx)
    }
}

/// A kernel that is a function of whole columns.
pub fn each<F>(f: F) -> Box<dyn Kernel>
where
    F: Fn(&[Col], usize, &mut Cx<'_>) -> Result<ArrayRef> + Send + Sync + 'static,
{
    Box::new(Each(f))
}
