//! At which place would a row stand among those of a group?
//!
//! rank, dense_rank, percent_rank and cume_dist WITHIN GROUP: the row is that of the direct arguments. Rows are counted as they
//! come, so none are kept; dense_rank counts equal ones once and is given rows that [`Collected`] has made distinct.

use std::cmp::Ordering;
use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::{ArrayRef, BinaryArray, Float64Array, Int64Array};
use arrow_schema::SortOptions;
use onlap_kernels::aggregate::Aggregate;
use onlap_kernels::{Col, Cx};
use onlap_pg::bound::Aggregate as Call;
use onlap_pg::{Result, TypeRef};

use crate::aggregates::{Collected, MakeStates, Within};
use crate::compile::{Compiler, unsupported};
use crate::group_parts::Parts;
use crate::keys::compare_sorted;

#[derive(Clone, Copy, PartialEq)]
enum Asked {
    Rank,
    DenseRank,
    PercentRank,
    CumeDist,
}

/// What is known of a group.
#[derive(Clone, Copy, Default)]
struct Counts {
    rows: u64,
    /// Those that come before the row that is asked about.
    before: u64,
    equal: u64,
}

/// The columns of its arguments are the keys of the row that is asked about, then as many of those that are there.
struct Place {
    asked: Asked,
    order: Vec<SortOptions>,
    groups: Vec<Counts>,
}

impl Place {
    fn compare(&self, args: &[Col], row: usize) -> Ordering {
        let (asked, there) = args.split_at(self.order.len());
        let orders = asked.iter().zip(there).zip(&self.order).map(|((asked, there), how)| {
            compare_sorted(&there.array, there.at(row), &asked.array, asked.at(row), *how)
        });
        orders.into_iter().find(|order| order.is_ne()).unwrap_or(Ordering::Equal)
    }
}

impl Aggregate for Place {
    fn grow(&mut self, groups: usize) {
        self.groups.resize(groups.max(self.groups.len()), Counts::default());
    }

    fn update(&mut self, args: &[Col], groups: &[usize], cx: &mut Cx<'_>) -> Result<()> {
        cx.go_on()?;
        let args = &args[..2 * self.order.len()];
        for (row, group) in groups.iter().enumerate() {
            let order = self.compare(args, row);
            let counts = &mut self.groups[*group];
            counts.rows += 1;
            counts.before += u64::from(order.is_lt());
            counts.equal += u64::from(order.is_eq());
        }
        Ok(())
    }

    fn finish(&self, groups: usize, _: &mut Cx<'_>) -> Result<ArrayRef> {
        let counts = self.groups[..groups].iter();
        let share =
            |part: u64, whole: u64| if whole == 0 { 0.0 } else { part as f64 / whole as f64 };
        Ok(match self.asked {
            Asked::Rank | Asked::DenseRank => {
                Arc::new(Int64Array::from_iter_values(counts.map(|c| c.before as i64 + 1)))
            }
            Asked::PercentRank => {
                Arc::new(Float64Array::from_iter_values(counts.map(|c| share(c.before, c.rows))))
            }
            Asked::CumeDist => {
                let place = |c: &Counts| share(c.before + c.equal + 1, c.rows + 1);
                Arc::new(Float64Array::from_iter_values(counts.map(place)))
            }
        })
    }

    fn save(&self, groups: usize) -> ArrayRef {
        let bytes = |c: &Counts| [c.rows, c.before, c.equal].map(u64::to_le_bytes).concat();
        Arc::new(BinaryArray::from_iter_values(self.groups[..groups].iter().map(bytes)))
    }

    fn merge(&mut self, saved: &ArrayRef, groups: &[usize], _: &mut Cx<'_>) -> Result<()> {
        let saved = saved.as_binary::<i32>();
        for (row, group) in groups.iter().enumerate() {
            let (words, _) = saved.value(row).as_chunks::<8>();
            let counts = &mut self.groups[*group];
            counts.rows += u64::from_le_bytes(words[0]);
            counts.before += u64::from_le_bytes(words[1]);
            counts.equal += u64::from_le_bytes(words[2]);
        }
        Ok(())
    }

    fn forget(&mut self, groups: usize) {
        self.groups.drain(..groups);
    }

    fn size(&self) -> usize {
        self.groups.capacity() * size_of::<Counts>()
    }
}

impl Compiler<'_> {
    /// A call of an aggregate of a hypothetical row.
    ///
    /// # Errors
    /// `0A000`: there is none of this name, or no values of a type.
    pub fn hypothetical(
        &mut self,
        call: &Call,
        parts: &mut Parts,
    ) -> Result<(MakeStates, Vec<usize>)> {
        let row = self.env.catalog.proc(call.proc).expect("the resolver has found it");
        let asked = match &*row.name {
            "rank" => Asked::Rank,
            "dense_rank" => Asked::DenseRank,
            "percent_rank" => Asked::PercentRank,
            "cume_dist" => Asked::CumeDist,
            _ => {
                let shown = onlap_kernels::signature(&self.env.catalog, row);
                return Err(unsupported(format!("aggregate {shown}")));
            }
        };
        let (mut at, mut order) = (Vec::new(), Vec::new());
        for id in &call.direct {
            let ty: TypeRef = self.bound.ty(*id);
            let node = self.node(*id)?;
            let node = self.where_counted(node, ty, call.filter)?;
            let (key, ty) = self.key_node(node, ty)?;
            let column = parts.add(key, ty);
            parts.direct.push((*id, column));
            at.push(column);
        }
        for item in &call.order {
            let (column, how) = self.within_order(call, item, parts)?;
            at.push(column);
            order.push(how);
        }
        let args = at.len();
        let keys = order.clone();
        let make: MakeStates = Arc::new(move || {
            Box::new(Place { asked, order: keys.clone(), groups: Vec::new() }) as Box<dyn Aggregate>
        });
        if asked != Asked::DenseRank {
            return Ok((make, at));
        }
        at.extend_from_within(args - order.len()..);
        let within = Within { args, order, distinct: true };
        let collected: MakeStates =
            Arc::new(move || Box::new(Collected::new(Arc::clone(&make), within.clone())));
        Ok((collected, at))
    }
}
