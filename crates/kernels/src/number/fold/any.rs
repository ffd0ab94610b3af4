//! How many rows are there?

use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::{Array, ArrayRef, Int64Array};
use onlap_pg::Result;

use crate::aggregate::{Aggregate, AggregateEntry};
use crate::{Col, Cx};

/// count(*) and count(value).
pub const ENTRIES: &[AggregateEntry] =
    &[("count()", |_| Box::new(Count::default())), ("count(any)", |_| Box::new(Count::default()))];

/// Rows per group; with an argument those in which it is not NULL.
#[derive(Default)]
struct Count {
    counts: Vec<i64>,
}

impl Aggregate for Count {
    fn grow(&mut self, groups: usize) {
        self.counts.resize(groups.max(self.counts.len()), 0);
    }

    fn update(&mut self, args: &[Col], groups: &[usize], cx: &mut Cx<'_>) -> Result<()> {
        cx.go_on()?;
        match args.first().filter(|col| col.array.null_count() > 0) {
            None => groups.iter().for_each(|group| self.counts[*group] += 1),
            Some(col) => {
                for (row, group) in groups.iter().enumerate() {
                    self.counts[*group] += i64::from(!col.is_null(row));
                }
            }
        }
        Ok(())
    }

    fn finish(&self, groups: usize, _: &mut Cx<'_>) -> Result<ArrayRef> {
        Ok(Arc::new(Int64Array::from(self.counts[..groups].to_vec())))
    }

    fn save(&self, groups: usize) -> ArrayRef {
        super::save(&self.counts[..groups], |count, out| out.extend(count.to_le_bytes()))
    }

    fn merge(&mut self, saved: &ArrayRef, groups: &[usize], _: &mut Cx<'_>) -> Result<()> {
        let saved = saved.as_binary::<i32>();
        for (row, group) in groups.iter().enumerate() {
            let [count] = super::words(saved.value(row));
            self.counts[*group] += i64::from_le_bytes(count);
        }
        Ok(())
    }

    fn forget(&mut self, groups: usize) {
        self.counts.drain(..groups);
    }

    fn size(&self) -> usize {
        self.counts.capacity() * size_of::<i64>()
    }
}
