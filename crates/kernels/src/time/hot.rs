//! How are columns of dates and timestamps compared without a look at each row's NULL?

use arrow_array::cast::AsArray;
use arrow_array::types::ArrowPrimitiveType;
use arrow_array::{Array, BooleanArray};
use arrow_buffer::{BooleanBuffer, NullBuffer};

use crate::{Col, Kernel, each};

/// Where results are NULL: where an argument is.
fn nulls(args: &[Col], rows: usize) -> Option<NullBuffer> {
    args.iter().fold(None, |all, arg| {
        let own = match arg.is_const {
            true => (arg.array.null_count() > 0).then(|| NullBuffer::new_null(rows)),
            false => arg.array.nulls().map(|nulls| nulls.slice(0, rows)),
        };
        NullBuffer::union(all.as_ref(), own.as_ref())
    })
}

/// A comparison of two columns of numbers.
pub fn compare<T: ArrowPrimitiveType>(
    test: impl Fn(T::Native, T::Native) -> bool + Send + Sync + 'static,
) -> Box<dyn Kernel> {
    each(move |args, rows, cx| {
        cx.go_on()?;
        let (a, b) = (args[0].array.as_primitive::<T>(), args[1].array.as_primitive::<T>());
        let (x, y) = (a.values(), b.values());
        let bits = match (args[0].is_const, args[1].is_const) {
            (false, false) => {
                let (x, y) = (&x[..rows], &y[..rows]);
                BooleanBuffer::collect_bool(rows, |row| test(x[row], y[row]))
            }
            (false, true) => {
                let (x, y) = (&x[..rows], y[0]);
                BooleanBuffer::collect_bool(rows, |row| test(x[row], y))
            }
            (true, false) => {
                let (x, y) = (x[0], &y[..rows]);
                BooleanBuffer::collect_bool(rows, |row| test(x, y[row]))
            }
            (true, true) => {
                let same = test(x[0], y[0]);
                BooleanBuffer::collect_bool(rows, |_| same)
            }
        };
        Ok(std::sync::Arc::new(BooleanArray::new(bits, nulls(args, rows))))
    })
}
