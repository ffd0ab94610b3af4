//! How are UNION, INTERSECT and EXCEPT carried out?
//!
//! The queries run one after another, in their order. UNION groups their rows by key; INTERSECT and EXCEPT count, per key,
//! the rows of either side, and give as many copies as the counts say. What is shown of equal rows is the first. The
//! columns of each side are converted to the types that the binder chose.
//!
//! Thread safety: a stream belongs to one thread.

use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::types::Int64Type;
use arrow_array::{ArrayRef, BooleanArray, RecordBatch, UInt32Array};
use arrow_schema::{DataType, SchemaRef};
use datafusion_common::DataFusionError;
use datafusion_execution::TaskContext;
use datafusion_physical_plan::ExecutionPlan;
use datafusion_physical_plan::limit::GlobalLimitExec;
use futures::{StreamExt, TryStreamExt};
use onlap_kernels::aggregate::{Aggregate, State, fold};
use onlap_kernels::{Bool, Datum, Int8};
use onlap_pg::ast::SetKind;
use onlap_pg::bound::{EntryKind, Expr, Query, QueryId, SetNode};
use onlap_pg::catalog::oids;
use onlap_pg::resolve::{self, Operand};
use onlap_pg::{Oid, Result, TypeRef};

use crate::build::{Rel, visible};
use crate::columns::{column, schema_of};
use crate::compile::{Compiler, unsupported};
use crate::error::external;
use crate::group_parts::Parts;
use crate::layout::Layout;
use crate::node::{Node, arrow};
use crate::series::BATCH_ROWS;
use crate::step::{Step, stream_of};

type Plan = Arc<dyn ExecutionPlan>;

impl Compiler<'_> {
    /// UNION, INTERSECT, EXCEPT.
    ///
    /// # Errors
    /// `0A000` for what has no kernel or no step; errors of constants.
    pub fn set_query(&mut self, id: QueryId) -> Result<Rel> {
        let bound = self.bound;
        let query = bound.query(id);
        let node = query.set.as_ref().expect("it is made of queries");
        self.ask_for_all_parts(query);
        let rel = self.set_node(query, node)?;
        self.frame().layout = self.set_layout(query, &rel.types);
        self.finish(id, rel.plan)
    }

    /// The targets name the columns of the first query; here they are those of the result.
    fn set_layout(&self, query: &Query, types: &[TypeRef]) -> Layout {
        let mut layout = Layout::default();
        for (target, ty) in visible(query).zip(types) {
            let at = layout.add_hidden(*ty);
            if let Expr::Var { entry, column, .. } = self.bound.expr(target.value) {
                layout.vars.insert((*entry, *column), at);
            }
        }
        if types.is_empty() {
            layout.add_hidden(TypeRef::new(oids::BOOL));
        }
        layout
    }

    /// The rows of a query, or of two.
    ///
    /// # Errors
    /// `0A000` for what has no kernel or no step; errors of constants.
    pub fn set_node(&mut self, query: &Query, node: &SetNode) -> Result<Rel> {
        stacker::maybe_grow(128 << 10, 2 << 20, || match node {
            SetNode::Entry(entry) => match &query.entries[entry - 1].kind {
                EntryKind::Query(inner) => self.told_query(*inner, self.told_part(*inner), None),
                _ => unreachable!("a set is made of queries"),
            },
            SetNode::Both { kind: SetKind::Union, all, types, .. } => {
                let mut parts = Vec::new();
                self.union_parts(query, node, *all, types, &mut parts)?;
                let plan = append(parts, &self.arrows(types)?);
                let plan = if *all { plan } else { self.distinct_columns(query, plan, types)? };
                Ok(Rel { plan, types: types.clone() })
            }
            SetNode::Both { kind, all, left, right, types, .. } => {
                let sides = [left, right].map(|side| {
                    let rel = self.set_node(query, side)?;
                    self.as_types(rel, types)
                });
                let [left, right] = sides;
                self.counted(query, left?, right?, *kind, *all, types)
            }
        })
    }

    /// The queries of a UNION, those of UNIONs within that do not matter by themselves included.
    fn union_parts(
        &mut self,
        query: &Query,
        node: &SetNode,
        keeps_all: bool,
        types: &[TypeRef],
        parts: &mut Vec<Plan>,
    ) -> Result<()> {
        let SetNode::Both { left, right, .. } = node else {
            unreachable!("only unions are taken apart")
        };
        for side in [left, right] {
            let same = match &**side {
                SetNode::Both { kind: SetKind::Union, all, types: own, .. } => {
                    let oids =
                        |types: &[TypeRef]| types.iter().map(|ty| ty.oid).collect::<Vec<_>>();
                    (*all || !keeps_all) && oids(own) == oids(types)
                }
                _ => false,
            };
            if same {
                let next = || self.union_parts(query, side, keeps_all, types, parts);
                stacker::maybe_grow(128 << 10, 2 << 20, next)?;
                continue;
            }
            let rel = self.set_node(query, side)?;
            parts.push(self.as_types(rel, types)?);
        }
        Ok(())
    }

    fn arrows(&self, types: &[TypeRef]) -> Result<Vec<DataType>> {
        match types.is_empty() {
            true => Ok(vec![DataType::Boolean]),
            false => types.iter().map(|ty| self.arrow(ty.oid)).collect(),
        }
    }

    /// Rows whose columns are converted.
    ///
    /// # Errors
    /// `0A000`: a conversion has no kernel.
    pub fn as_types(&mut self, rel: Rel, types: &[TypeRef]) -> Result<Plan> {
        if rel.types.iter().zip(types).all(|(own, wanted)| own.oid == wanted.oid) {
            return Ok(rel.plan);
        }
        let mut exprs = Vec::with_capacity(types.len());
        for (at, (own, wanted)) in rel.types.iter().zip(types).enumerate() {
            let node = self.conversion(Node::Column(at), *own, wanted.oid)?;
            exprs.push(self.physical(node, *wanted)?);
        }
        self.project(rel.plan, exprs)
    }

    fn conversion(&self, node: Node, own: TypeRef, wanted: Oid) -> Result<Node> {
        if own.oid == wanted {
            return Ok(node);
        }
        if own.oid == oids::UNKNOWN {
            return Ok(Node::ViaText(Box::new(node), own.oid, wanted));
        }
        let operand = Operand::typed(own);
        let found = resolve::to_common(&self.env.catalog, operand, wanted, "UNION")?;
        self.stepped(node, own, &found.steps)
    }

    fn stepped(&self, mut node: Node, own: TypeRef, steps: &[resolve::Step]) -> Result<Node> {
        let mut from = own;
        for step in steps {
            let (made, ty) = match step {
                resolve::Step::Relabel(ty) => (self.of_same_bits(node, from.oid, ty.oid)?, *ty),
                resolve::Step::Text(oid) => {
                    (Node::ViaText(Box::new(node), from.oid, *oid), TypeRef::new(*oid))
                }
                resolve::Step::Function { function, result, modifier, explicit } => {
                    let (mut args, mut types) = (vec![node], vec![from]);
                    if let Some(modifier) = modifier {
                        args.push(self.constant(oids::INT4, &Datum::Int4(*modifier))?);
                        types.push(TypeRef::new(oids::INT4));
                    }
                    if let Some(explicit) = explicit {
                        args.push(self.constant(oids::BOOL, &Datum::Bool(*explicit))?);
                        types.push(TypeRef::new(oids::BOOL));
                    }
                    let ty = TypeRef { oid: *result, modifier: modifier.unwrap_or(-1) };
                    (self.called_as(*function, args, types, ty)?, ty)
                }
                resolve::Step::Elements(steps, ty) => {
                    let (of, to) = (self.element(from.oid)?, self.element(ty.oid)?);
                    let each = self.stepped(Node::Column(0), TypeRef::new(of), steps)?;
                    let (from, to) = (self.repr(of)?, (to, self.repr(to)?));
                    let elements = crate::containers::Elements { array: node, each, from, to };
                    (Node::Elements(Box::new(elements)), *ty)
                }
                resolve::Step::Domain(_)
                | resolve::Step::Read(_)
                | resolve::Step::Assume(_)
                | resolve::Step::Fields(_) => {
                    return Err(unsupported("this conversion"));
                }
            };
            (node, from) = (made, ty);
        }
        Ok(node)
    }

    /// Rows of which each comes once.
    fn distinct_columns(&mut self, query: &Query, plan: Plan, types: &[TypeRef]) -> Result<Plan> {
        if types.is_empty() {
            return Ok(Arc::new(GlobalLimitExec::new(plan, 0, Some(1))));
        }
        let mut parts = Parts::default();
        let mut found = Vec::with_capacity(types.len());
        for (at, ty) in types.iter().enumerate() {
            found.push(self.keyed(&mut parts, Node::Column(at), Node::Column(at), *ty)?);
        }
        let (plan, _) = self.grouped(plan, &parts, None, query)?;
        let keys = parts.keys.len();
        self.project(plan, found.iter().map(|place| column(place.at(keys))).collect())
    }

    /// INTERSECT and EXCEPT.
    fn counted(
        &mut self,
        query: &Query,
        left: Plan,
        right: Plan,
        kind: SetKind,
        all: bool,
        types: &[TypeRef],
    ) -> Result<Rel> {
        if types.is_empty() {
            // A batch has a column that is NULL in the place of none.
            let none = [TypeRef::new(oids::BOOL)];
            let made = self.counted(query, left, right, kind, all, &none)?;
            return Ok(Rel { types: Vec::new(), ..made });
        }
        let mut arrows = self.arrows(types)?;
        let out = schema_of(&arrows);
        arrows.push(DataType::Boolean);
        let sides = [(left, false), (right, true)].map(|(plan, is_right)| {
            let mut exprs: Vec<_> = (0..types.len()).map(column).collect();
            let side = self.constant(oids::BOOL, &Datum::Bool(is_right))?;
            exprs.push(self.physical(side, TypeRef::new(oids::BOOL))?);
            self.project(plan, exprs)
        });
        let [left, right] = sides;
        let plan = append(vec![left?, right?], &arrows);
        let mut parts = Parts::default();
        let mut found = Vec::with_capacity(types.len());
        for (at, ty) in types.iter().enumerate() {
            found.push(self.keyed(&mut parts, Node::Column(at), Node::Column(at), *ty)?);
        }
        let side = parts.add(Node::Column(types.len()), DataType::Boolean);
        let copies = parts.calls.len();
        parts.calls.push((Arc::new(move || counts(kind, all)), vec![side], None, DataType::Int64));
        let (plan, _) = self.grouped(plan, &parts, None, query)?;
        let keys = parts.keys.len();
        let at: Vec<usize> = found.iter().map(|place| place.at(keys)).collect();
        let plan = repeated(plan, at, keys + copies, out);
        Ok(Rel { plan, types: types.to_vec() })
    }
}

/// Plans one after another.
fn append(plans: Vec<Plan>, types: &[DataType]) -> Plan {
    let schema = schema_of(types);
    let out = Arc::clone(&schema);
    let run = move |inputs: Vec<Plan>, context: Arc<TaskContext>| {
        let schema = Arc::clone(&out);
        let streams = futures::stream::iter(inputs);
        let streams = streams.map(move |input| input.execute(0, Arc::clone(&context)));
        let batches = streams.try_flatten().and_then(move |batch| {
            let columns = batch.columns().to_vec();
            let made = RecordBatch::try_new(Arc::clone(&schema), columns);
            futures::future::ready(made.map_err(DataFusionError::from))
        });
        Ok(stream_of(Arc::clone(&out), batches))
    };
    Step::make("Append", "", plans, schema, Arc::new(run))
}

/// How many rows of either side are equal.
#[derive(Default)]
struct Counts([i64; 2]);

impl State for Counts {
    fn save(&self, out: &mut Vec<u8>) {
        self.0.iter().for_each(|count| out.extend(count.to_le_bytes()));
    }

    fn load(bytes: &[u8]) -> Counts {
        let (left, right) = bytes.split_at(8);
        let number = |bytes: &[u8]| i64::from_le_bytes(bytes.try_into().expect("two numbers"));
        Counts([number(left), number(right)])
    }

    fn merge(&mut self, other: Counts) -> Result<()> {
        self.0[0] += other.0[0];
        self.0[1] += other.0[1];
        Ok(())
    }
}

/// How many copies of a row an operation leaves, by the side of each.
fn counts(kind: SetKind, all: bool) -> Box<dyn Aggregate> {
    let step = |counts: &mut Counts, is_right: bool, _: &mut onlap_kernels::Cx<'_>| {
        counts.0[usize::from(is_right)] += 1;
        Ok(())
    };
    match (kind, all) {
        (SetKind::Except, true) => fold::<Counts, Bool, Int8>(step, |counts, _| {
            Ok(Some((counts.0[0] - counts.0[1]).max(0)))
        }),
        (SetKind::Except, false) => fold::<Counts, Bool, Int8>(step, |counts, _| {
            Ok(Some(i64::from(counts.0[0] > 0 && counts.0[1] == 0)))
        }),
        (_, true) => {
            fold::<Counts, Bool, Int8>(step, |counts, _| Ok(Some(counts.0[0].min(counts.0[1]))))
        }
        (_, false) => fold::<Counts, Bool, Int8>(step, |counts, _| {
            Ok(Some(i64::from(counts.0[0] > 0 && counts.0[1] > 0)))
        }),
    }
}

/// Each row as often as a column of it says.
fn repeated(plan: Plan, at: Vec<usize>, copies: usize, schema: SchemaRef) -> Plan {
    let out = Arc::clone(&schema);
    let run = move |inputs: Vec<Plan>, context: Arc<TaskContext>| {
        let (at, schema) = (at.clone(), Arc::clone(&out));
        let input = inputs[0].execute(0, context)?;
        let batches = input.map_ok(move |batch| {
            let (at, schema) = (at.clone(), Arc::clone(&schema));
            let left = (0, batch.column(copies).as_primitive::<Int64Type>().values().to_vec());
            futures::stream::try_unfold(left, move |mut left| {
                let made = some_of(&batch, &at, &schema, &mut left).map_err(external);
                futures::future::ready(made.map(|made| made.map(|made| (made, left))))
            })
        });
        Ok(stream_of(Arc::clone(&out), batches.try_flatten()))
    };
    Step::make("Set Operation", "", vec![plan], schema, Arc::new(run))
}

/// The next copies of rows, from a row on; `left` has how many of each are still to come.
fn some_of(
    batch: &RecordBatch,
    at: &[usize],
    schema: &SchemaRef,
    left: &mut (usize, Vec<i64>),
) -> Result<Option<RecordBatch>> {
    let (row, copies) = left;
    let mut rows: Vec<u32> = Vec::new();
    while *row < copies.len() && rows.len() < BATCH_ROWS {
        let room = (BATCH_ROWS - rows.len()) as i64;
        let now = copies[*row].min(room);
        rows.extend(std::iter::repeat_n(*row as u32, now as usize));
        copies[*row] -= now;
        *row += usize::from(copies[*row] == 0);
    }
    if rows.is_empty() {
        return Ok(None);
    }
    let rows = UInt32Array::from(rows);
    let take = |at: &usize| arrow_select::take::take(batch.column(*at), &rows, None).map_err(arrow);
    let columns: Vec<ArrayRef> = at.iter().map(take).collect::<Result<_>>()?;
    RecordBatch::try_new(Arc::clone(schema), columns).map(Some).map_err(arrow)
}

/// The rows of a batch for which a flag is set.
///
/// # Errors
/// The values are too large together.
pub fn kept(batch: &RecordBatch, keeps: Vec<bool>) -> Result<RecordBatch> {
    let keeps = BooleanArray::from(keeps);
    arrow_select::filter::filter_record_batch(batch, &keeps).map_err(arrow)
}
