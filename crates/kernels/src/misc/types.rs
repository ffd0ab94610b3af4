//! Which functions say something of the types or the number of their arguments?
//!
//! Thread safety: pure functions.

use std::sync::Arc;

use arrow_array::{Int32Array, UInt32Array};

use crate::{Col, Entry, Kernel, each};

/// Functions.
pub(super) const ENTRIES: &[Entry] = &[
    ("pg_typeof(any)", |types| {
        let oid = types.args[0].oid;
        each(move |_: &[Col], rows, _| Ok(Arc::new(UInt32Array::from(vec![oid; rows]))))
    }),
    ("num_nulls(any)", |_| counted(true)),
    ("num_nonnulls(any)", |_| counted(false)),
];

/// How many arguments are NULL, or are not.
fn counted(nulls: bool) -> Box<dyn Kernel> {
    each(move |cols: &[Col], rows, cx| {
        cx.go_on()?;
        let count = |row: usize| cols.iter().filter(|col| col.is_null(row) == nulls).count() as i32;
        Ok(Arc::new((0..rows).map(count).collect::<Int32Array>()))
    })
}
