//! How does an aggregate of ours work among steps that are not?
//!
//! Each call is a function of its own to the library, whose states are an [`Aggregate`]'s. DISTINCT and ORDER BY within a call
//! are done here: rows of a group are kept, sorted by their keys and given to the aggregate when the group ends.

use std::cmp::Ordering;
use std::fmt;
use std::hash::{Hash, Hasher};
use std::sync::Arc;

use arrow_array::{Array, ArrayRef, BooleanArray, new_null_array};
use arrow_schema::{DataType, Field, FieldRef, SortOptions};
use datafusion_common::{DataFusionError, Result, ScalarValue};
use datafusion_expr::function::{AccumulatorArgs, StateFieldsArgs};
use datafusion_expr::{
    Accumulator, AggregateUDFImpl, EmitTo, GroupsAccumulator, Signature, Volatility,
};
use onlap_kernels::Col;
use onlap_kernels::aggregate::Aggregate;
use parking_lot::Mutex;

use crate::env::Env;
use crate::error::external;
use crate::keys::compare_sorted;
use crate::node::arrow;

/// Makes the states of a call.
pub type MakeStates = Arc<dyn Fn() -> Box<dyn Aggregate> + Send + Sync>;

/// A call of an aggregate.
pub struct Called {
    /// A name that no other call has.
    pub name: String,
    /// Its states.
    pub make: MakeStates,
    /// The Arrow type of its result.
    pub ty: DataType,
    /// The statement's.
    pub env: Arc<Env>,
    signature: Signature,
}

impl Called {
    /// A call.
    pub fn new(name: String, make: MakeStates, ty: DataType, env: Arc<Env>) -> Called {
        Called { name, make, ty, env, signature: Signature::variadic_any(Volatility::Volatile) }
    }

    fn states(&self) -> States {
        States { states: (self.make)(), env: Arc::clone(&self.env), groups: 0 }
    }
}

impl fmt::Debug for Called {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.name)
    }
}

impl PartialEq for Called {
    fn eq(&self, other: &Called) -> bool {
        self.name == other.name
    }
}

impl Eq for Called {}

impl Hash for Called {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.name.hash(state);
    }
}

impl AggregateUDFImpl for Called {
    fn name(&self) -> &str {
        &self.name
    }
    fn signature(&self) -> &Signature {
        &self.signature
    }
    fn return_type(&self, _: &[DataType]) -> Result<DataType> {
        Ok(self.ty.clone())
    }
    fn accumulator(&self, _: AccumulatorArgs<'_>) -> Result<Box<dyn Accumulator>> {
        let mut states = self.states();
        states.grow(1);
        Ok(Box::new(One(Mutex::new(states))))
    }
    fn state_fields(&self, args: StateFieldsArgs<'_>) -> Result<Vec<FieldRef>> {
        Ok(vec![Arc::new(Field::new(format!("{}[state]", args.name), DataType::Binary, true))])
    }
    fn groups_accumulator_supported(&self, _: AccumulatorArgs<'_>) -> bool {
        true
    }
    fn create_groups_accumulator(
        &self,
        _: AccumulatorArgs<'_>,
    ) -> Result<Box<dyn GroupsAccumulator>> {
        Ok(Box::new(self.states()))
    }
}

/// The states of a call.
struct States {
    states: Box<dyn Aggregate>,
    env: Arc<Env>,
    groups: usize,
}

impl States {
    fn grow(&mut self, groups: usize) {
        self.groups = self.groups.max(groups);
        self.states.grow(self.groups);
    }

    fn taken(&self, emit: EmitTo) -> usize {
        match emit {
            EmitTo::All => self.groups,
            EmitTo::First(n) => n,
        }
    }

    fn forget(&mut self, groups: usize) {
        self.states.forget(groups);
        self.groups -= groups;
    }
}

impl GroupsAccumulator for States {
    fn update_batch(
        &mut self,
        values: &[ArrayRef],
        groups: &[usize],
        filter: Option<&BooleanArray>,
        total: usize,
    ) -> Result<()> {
        self.grow(total);
        let (columns, kept): (Vec<ArrayRef>, Vec<usize>) = match filter {
            None => (values.to_vec(), groups.to_vec()),
            Some(filter) => {
                let kept = |array: &ArrayRef| arrow_select::filter::filter(array, filter);
                let columns = values.iter().map(kept).collect::<std::result::Result<_, _>>()?;
                let is_kept = |row: &usize| filter.is_valid(*row) && filter.value(*row);
                let rows = (0..groups.len()).filter(is_kept);
                (columns, rows.map(|row| groups[row]).collect())
            }
        };
        let columns: Vec<Col> = columns.into_iter().map(Col::new).collect();
        let env = Arc::clone(&self.env);
        self.states.update(&columns, &kept, &mut env.cx()).map_err(external)
    }

    fn evaluate(&mut self, emit: EmitTo) -> Result<ArrayRef> {
        let (groups, env) = (self.taken(emit), Arc::clone(&self.env));
        let made = self.states.finish(groups, &mut env.cx()).map_err(external)?;
        self.forget(groups);
        Ok(made)
    }

    fn state(&mut self, emit: EmitTo) -> Result<Vec<ArrayRef>> {
        let groups = self.taken(emit);
        let saved = self.states.save(groups);
        self.forget(groups);
        Ok(vec![saved])
    }

    fn merge_batch(&mut self, values: &[ArrayRef], groups: &[usize], total: usize) -> Result<()> {
        self.grow(total);
        let env = Arc::clone(&self.env);
        self.states.merge(&values[0], groups, &mut env.cx()).map_err(external)
    }

    fn convert_to_state(&self, _: &[ArrayRef], _: Option<&BooleanArray>) -> Result<Vec<ArrayRef>> {
        Err(DataFusionError::NotImplemented("states of single rows".into()))
    }

    fn size(&self) -> usize {
        self.states.size()
    }
}

/// The state of all rows together.
struct One(Mutex<States>);

impl fmt::Debug for One {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("One")
    }
}

impl Accumulator for One {
    fn update_batch(&mut self, values: &[ArrayRef]) -> Result<()> {
        let rows = values.first().map_or(0, |array| array.len());
        let columns: Vec<Col> = values.iter().cloned().map(Col::new).collect();
        let states = self.0.get_mut();
        let env = Arc::clone(&states.env);
        states.states.update(&columns, &vec![0; rows], &mut env.cx()).map_err(external)
    }
    fn evaluate(&mut self) -> Result<ScalarValue> {
        let states = self.0.get_mut();
        let env = Arc::clone(&states.env);
        let made = states.states.finish(1, &mut env.cx()).map_err(external)?;
        ScalarValue::try_from_array(&made, 0)
    }
    fn size(&self) -> usize {
        self.0.lock().states.size()
    }
    fn state(&mut self) -> Result<Vec<ScalarValue>> {
        let saved = self.0.get_mut().states.save(1);
        Ok(vec![ScalarValue::try_from_array(&saved, 0)?])
    }
    fn merge_batch(&mut self, values: &[ArrayRef]) -> Result<()> {
        let rows = values[0].len();
        let states = self.0.get_mut();
        let env = Arc::clone(&states.env);
        states.states.merge(&values[0], &vec![0; rows], &mut env.cx()).map_err(external)
    }
}

/// The first value of a group: the payload of what it is grouped by.
pub struct First {
    /// Batches whose rows are kept, and of each group which.
    kept: Vec<ArrayRef>,
    at: Vec<Option<(usize, usize)>>,
    ty: DataType,
}

impl First {
    /// Of values of a type.
    pub fn new(ty: DataType) -> First {
        First { kept: Vec::new(), at: Vec::new(), ty }
    }
}

impl Aggregate for First {
    fn grow(&mut self, groups: usize) {
        self.at.resize(groups.max(self.at.len()), None);
    }

    fn update(
        &mut self,
        args: &[Col],
        groups: &[usize],
        _: &mut onlap_kernels::Cx<'_>,
    ) -> onlap_pg::Result<()> {
        let (mut rows, number) = (Vec::new(), self.kept.len());
        for (row, group) in groups.iter().enumerate() {
            if self.at[*group].is_none() {
                self.at[*group] = Some((number, rows.len()));
                rows.push(args[0].at(row) as u32);
            }
        }
        if !rows.is_empty() {
            let rows = arrow_array::UInt32Array::from(rows);
            let taken = arrow_select::take::take(&args[0].array, &rows, None);
            self.kept.push(taken.map_err(arrow)?);
        }
        Ok(())
    }

    fn finish(&self, groups: usize, _: &mut onlap_kernels::Cx<'_>) -> onlap_pg::Result<ArrayRef> {
        // The group of no rows has none that is its first.
        let none = new_null_array(&self.ty, 1);
        let rows = self.kept.iter().map(|array| &**array);
        let arrays: Vec<&dyn Array> = std::iter::once(&*none as &dyn Array).chain(rows).collect();
        let found = self.at[..groups].iter();
        let at: Vec<(usize, usize)> =
            found.map(|at| at.map_or((0, 0), |(batch, row)| (batch + 1, row))).collect();
        arrow_select::interleave::interleave(&arrays, &at).map_err(arrow)
    }

    fn save(&self, groups: usize) -> ArrayRef {
        let mut bytes = Vec::with_capacity(groups);
        for (number, row) in self.at[..groups].iter().flatten() {
            let mut out = Vec::new();
            crate::saved::save(&[Arc::clone(&self.kept[*number])], &[*row], &mut out);
            bytes.push(out);
        }
        Arc::new(arrow_array::BinaryArray::from_iter_values(bytes))
    }

    fn merge(
        &mut self,
        saved: &ArrayRef,
        groups: &[usize],
        _: &mut onlap_kernels::Cx<'_>,
    ) -> onlap_pg::Result<()> {
        let saved = arrow_array::cast::AsArray::as_binary::<i32>(saved);
        for (row, group) in groups.iter().enumerate() {
            if self.at[*group].is_none() {
                self.at[*group] = Some((self.kept.len(), 0));
                self.kept.push(crate::saved::load(saved.value(row)).remove(0));
            }
        }
        Ok(())
    }

    fn forget(&mut self, groups: usize) {
        self.at.drain(..groups);
        if self.at.is_empty() {
            self.kept.clear();
        }
    }

    fn size(&self) -> usize {
        let kept: usize = self.kept.iter().map(|array| array.get_array_memory_size()).sum();
        kept + self.at.capacity() * size_of::<Option<(usize, usize)>>()
    }
}

/// How the rows of a call are ordered, and which are left out.
#[derive(Clone, Debug, Default)]
pub struct Within {
    /// How many columns are arguments; keys follow.
    pub args: usize,
    /// The order of the keys.
    pub order: Vec<SortOptions>,
    /// Whether rows with equal keys count once.
    pub distinct: bool,
}

/// An aggregate whose rows are ordered, or distinct.
pub struct Collected {
    /// The aggregate.
    pub inner: MakeStates,
    /// How.
    pub within: Within,
    batches: Vec<Vec<ArrayRef>>,
    rows: Vec<Vec<(u32, u32)>>,
    bytes: usize,
}

impl Collected {
    /// Without rows.
    pub fn new(inner: MakeStates, within: Within) -> Collected {
        Collected { inner, within, batches: Vec::new(), rows: Vec::new(), bytes: 0 }
    }

    fn compare(&self, a: (u32, u32), b: (u32, u32)) -> Ordering {
        for (n, how) in self.within.order.iter().enumerate() {
            let (left, right) = (
                &self.batches[a.0 as usize][self.within.args + n],
                &self.batches[b.0 as usize][self.within.args + n],
            );
            let order = compare_sorted(left, a.1 as usize, right, b.1 as usize, *how);
            if order.is_ne() {
                return order;
            }
        }
        Ordering::Equal
    }

    /// The rows of a group in their order.
    fn ordered(&self, group: usize) -> Vec<(u32, u32)> {
        let mut rows = self.rows[group].clone();
        rows.sort_by(|a, b| self.compare(*a, *b));
        if self.within.distinct {
            rows.dedup_by(|a, b| self.compare(*a, *b).is_eq());
        }
        rows
    }
}

impl Aggregate for Collected {
    fn grow(&mut self, groups: usize) {
        self.rows.resize_with(groups.max(self.rows.len()), Vec::new);
    }

    fn update(
        &mut self,
        args: &[Col],
        groups: &[usize],
        _: &mut onlap_kernels::Cx<'_>,
    ) -> onlap_pg::Result<()> {
        let number = self.batches.len() as u32;
        for (row, group) in groups.iter().enumerate() {
            self.rows[*group].push((number, row as u32));
        }
        let columns: Vec<ArrayRef> = args.iter().map(|col| Arc::clone(&col.array)).collect();
        // A column may be argument and key.
        let others = |at: usize| columns[..at].iter();
        let is_new = |at: usize| !others(at).any(|other| Arc::ptr_eq(other, &columns[at]));
        let new = (0..columns.len()).filter(|at| is_new(*at));
        self.bytes += new.map(|at| columns[at].get_array_memory_size()).sum::<usize>();
        self.bytes += groups.len() * size_of::<(u32, u32)>();
        self.batches.push(columns);
        Ok(())
    }

    fn finish(&self, groups: usize, cx: &mut onlap_kernels::Cx<'_>) -> onlap_pg::Result<ArrayRef> {
        let mut inner = (self.inner)();
        inner.grow(groups);
        for group in 0..groups {
            cx.go_on()?;
            let rows = self.ordered(group);
            if rows.is_empty() {
                continue;
            }
            // Of many batches a group has rows of few.
            let mut batches: Vec<u32> = rows.iter().map(|(batch, _)| *batch).collect();
            batches.sort_unstable();
            batches.dedup();
            let place = |batch: &u32| batches.partition_point(|of| of < batch);
            let at: Vec<(usize, usize)> =
                rows.iter().map(|(batch, row)| (place(batch), *row as usize)).collect();
            let mut args = Vec::with_capacity(self.within.args);
            for column in 0..self.within.args {
                let of = |batch: &u32| -> &dyn Array { &*self.batches[*batch as usize][column] };
                let arrays: Vec<&dyn Array> = batches.iter().map(of).collect();
                let array = arrow_select::interleave::interleave(&arrays, &at);
                args.push(Col::new(array.map_err(arrow)?));
            }
            inner.update(&args, &vec![group; at.len()], cx)?;
        }
        inner.finish(groups, cx)
    }

    fn save(&self, groups: usize) -> ArrayRef {
        let mut saved = Vec::with_capacity(groups);
        for rows in &self.rows[..groups] {
            let mut out = Vec::new();
            for (batch, row) in rows {
                crate::saved::save(&self.batches[*batch as usize], &[*row as usize], &mut out);
            }
            saved.push(out);
        }
        Arc::new(arrow_array::BinaryArray::from_iter_values(saved))
    }

    fn merge(
        &mut self,
        saved: &ArrayRef,
        groups: &[usize],
        cx: &mut onlap_kernels::Cx<'_>,
    ) -> onlap_pg::Result<()> {
        let saved = arrow_array::cast::AsArray::as_binary::<i32>(saved);
        let (mut columns, mut of): (Vec<Vec<ArrayRef>>, Vec<usize>) = (Vec::new(), Vec::new());
        for (row, group) in groups.iter().enumerate() {
            for values in crate::saved::load_rows(saved.value(row)) {
                columns.resize_with(values.len(), Vec::new);
                columns.iter_mut().zip(values).for_each(|(column, value)| column.push(value));
                of.push(*group);
            }
        }
        if of.is_empty() {
            return Ok(());
        }
        // Together they take far less than one by one.
        let together = |column: Vec<ArrayRef>| {
            let rows: Vec<&dyn Array> = column.iter().map(|value| &**value).collect();
            arrow_select::concat::concat(&rows).map(Col::new).map_err(arrow)
        };
        let columns = columns.into_iter().map(together).collect::<onlap_pg::Result<Vec<Col>>>()?;
        self.update(&columns, &of, cx)
    }

    fn forget(&mut self, groups: usize) {
        self.rows.drain(..groups);
        if self.rows.is_empty() {
            self.batches.clear();
            self.bytes = 0;
        }
    }

    fn size(&self) -> usize {
        self.bytes + self.rows.capacity() * size_of::<Vec<(u32, u32)>>()
    }
}
