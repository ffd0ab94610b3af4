//! How does one GROUP BY have several sets of groups?
//!
//! GROUPING SETS, ROLLUP and CUBE become copies of each row, one per set, in which what the set leaves out is NULL, with the
//! number of the set as one more key. An empty set has a group where there are no rows, too.
//!
//! Thread safety: as the compiler; steps run on any thread.

use std::sync::Arc;

use arrow_array::{ArrayRef, Int32Array, RecordBatch, new_null_array};
use arrow_schema::{DataType, SchemaRef};
use datafusion_execution::TaskContext;
use datafusion_physical_plan::ExecutionPlan;
use futures::{StreamExt, TryStreamExt};
use onlap_pg::Result;
use onlap_pg::bound::{Expr, GroupSet, Query};

use crate::aggregates::MakeStates;
use crate::columns::schema_of;
use crate::compile::{Compiler, unsupported};
use crate::env::Env;
use crate::group_parts::Parts;
use crate::node::{Node, arrow};
use crate::step::{Step, stream_of};

type Plan = Arc<dyn ExecutionPlan>;

impl Compiler<'_> {
    /// A copy of each row per set, in which what the set leaves out is NULL, and the number of the set.
    pub fn copies(
        &self,
        plan: Plan,
        parts: &Parts,
        sets: &[Vec<u32>],
        query: &Query,
    ) -> Result<Plan> {
        let mut types: Vec<DataType> = parts.input.iter().map(|(_, ty)| ty.clone()).collect();
        types.push(DataType::Int32);
        let schema = schema_of(&types);
        // Columns of a reference: its key, the first value where that is another, direct arguments.
        let direct = self.direct_of_groups(parts, query)?;
        let columns: Vec<(u32, Vec<usize>)> = query
            .groups
            .iter()
            .zip(&parts.keys)
            .map(|(item, key)| {
                let own = matches!(*parts.input[*key].0, Node::Key(..)).then_some(key + 1);
                let of_item = direct.iter().filter(|(reference, _)| *reference == item.reference);
                let of_item = of_item.map(|(_, at)| *at);
                (item.reference, [*key].into_iter().chain(own).chain(of_item).collect())
            })
            .collect();
        let sets: Arc<Vec<Vec<u32>>> = Arc::new(sets.to_vec());
        let out = Arc::clone(&schema);
        let run = move |inputs: Vec<Plan>, context: Arc<TaskContext>| {
            let (sets, columns) = (Arc::clone(&sets), columns.clone());
            let schema = Arc::clone(&out);
            let input = inputs[0].execute(0, context)?;
            let copies = input.map_ok(move |batch| {
                let made: Vec<_> = (0..sets.len())
                    .map(|set| copy_of(&batch, set, &sets[set], &columns, &schema))
                    .collect();
                futures::stream::iter(made)
            });
            Ok(stream_of(Arc::clone(&out), copies.try_flatten()))
        };
        Ok(Step::make("Grouping Sets", "", vec![plan], schema, Arc::new(run)))
    }

    /// Direct arguments that are grouped by, and their columns: what a set leaves out is NULL there, too.
    fn direct_of_groups(&self, parts: &Parts, query: &Query) -> Result<Vec<(u32, usize)>> {
        let mut found = Vec::new();
        for (id, at) in &parts.direct {
            let mut items = query.groups.iter();
            if let Some(item) = items.find(|i| self.bound.same(self.target_of(query, i).value, *id))
            {
                found.push((item.reference, *at));
                continue;
            }
            let mut is_of_row = false;
            self.bound.visit(*id, 0, &mut |part, inside| {
                is_of_row |= matches!(self.bound.expr(part), Expr::Var { up, .. } if *up == inside);
                true
            });
            if is_of_row {
                return Err(unsupported("an expression of a grouping set as a direct argument"));
            }
        }
        Ok(found)
    }

    /// Gives the rows of the empty sets where there are no rows at all.
    pub fn never_empty(&self, plan: Plan, parts: &Parts, sets: Vec<usize>) -> Result<Plan> {
        let schema = plan.schema();
        let states: Vec<MakeStates> =
            parts.calls.iter().map(|(states, ..)| Arc::clone(states)).collect();
        let (keys, env) = (parts.keys.len(), Arc::clone(&self.env));
        let out = Arc::clone(&schema);
        let run = move |inputs: Vec<Plan>, context: Arc<TaskContext>| {
            let (states, env, sets) = (states.clone(), Arc::clone(&env), sets.clone());
            let (schema, mut rows) = (Arc::clone(&out), 0);
            let input = inputs[0].execute(0, context)?;
            let input = input.map_ok(Some).chain(futures::stream::once(async { Ok(None) }));
            let batches = input.try_filter_map(move |batch| {
                let made = match batch {
                    Some(batch) => {
                        rows += batch.num_rows();
                        Ok(Some(batch))
                    }
                    None if rows > 0 => Ok(None),
                    None => {
                        let made = empty_rows(&states, keys, &sets, &schema, &env);
                        made.map(Some).map_err(crate::error::external)
                    }
                };
                futures::future::ready(made)
            });
            Ok(stream_of(Arc::clone(&out), batches))
        };
        Ok(Step::make("Empty Group", "", vec![plan], schema, Arc::new(run)))
    }
}

fn copy_of(
    batch: &RecordBatch,
    number: usize,
    set: &[u32],
    columns: &[(u32, Vec<usize>)],
    schema: &SchemaRef,
) -> datafusion_common::Result<RecordBatch> {
    let mut copied = batch.columns().to_vec();
    for (_, at) in columns.iter().filter(|(reference, _)| !set.contains(reference)) {
        for at in at {
            copied[*at] = new_null_array(copied[*at].data_type(), batch.num_rows());
        }
    }
    let numbers = Int32Array::from_value(number as i32, batch.num_rows());
    copied.push(Arc::new(numbers) as ArrayRef);
    Ok(RecordBatch::try_new(Arc::clone(schema), copied)?)
}

/// The rows of groups without rows, one per set.
fn empty_rows(
    states: &[MakeStates],
    keys: usize,
    sets: &[usize],
    schema: &SchemaRef,
    env: &Env,
) -> Result<RecordBatch> {
    let mut columns: Vec<ArrayRef> = Vec::new();
    for field in &schema.fields()[..keys] {
        columns.push(new_null_array(field.data_type(), sets.len()));
    }
    columns.push(Arc::new(Int32Array::from_iter_values(sets.iter().map(|set| *set as i32))));
    for states in states {
        let mut states = states();
        states.grow(sets.len());
        columns.push(states.finish(sets.len(), &mut env.cx())?);
    }
    RecordBatch::try_new(Arc::clone(schema), columns).map_err(arrow)
}

/// The most sets of a GROUP BY: PostgreSQL's limit.
const MAX_SETS: usize = 4096;

/// The sets of references of GROUPING SETS, ROLLUP and CUBE; `None` where there are none.
pub fn expand(sets: &[GroupSet], query: &Query) -> Option<Vec<Vec<u32>>> {
    if sets.is_empty() {
        return None;
    }
    let mut all: Vec<Vec<u32>> = vec![Vec::new()];
    for set in sets {
        let one = expand_one(set);
        all = all
            .iter()
            .flat_map(|first| one.iter().map(move |second| [&first[..], &second[..]].concat()))
            .take(MAX_SETS)
            .collect();
    }
    for set in &mut all {
        set.sort_unstable();
        set.dedup();
    }
    if query.groups_distinct {
        all.sort();
        all.dedup();
    }
    Some(all)
}

fn expand_one(set: &GroupSet) -> Vec<Vec<u32>> {
    let parts = |sets: &[GroupSet]| -> Vec<Vec<u32>> {
        sets.iter().map(|set| expand_one(set).concat()).collect()
    };
    match set {
        GroupSet::Empty => vec![Vec::new()],
        GroupSet::Simple(references) => vec![references.clone()],
        GroupSet::Rollup(sets) => {
            let parts = parts(sets);
            (0..=parts.len()).rev().map(|n| parts[..n].concat()).collect()
        }
        GroupSet::Cube(sets) => {
            let parts = parts(sets);
            let chosen = |mask: usize| {
                let part =
                    |n: usize| if mask >> n & 1 == 1 { parts[n].clone() } else { Vec::new() };
                (0..parts.len()).flat_map(part).collect()
            };
            (0..1_usize << parts.len().min(12)).rev().map(chosen).collect()
        }
        GroupSet::Sets(sets) => sets.iter().flat_map(expand_one).collect(),
    }
}
