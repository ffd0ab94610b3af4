//! Where do the rows of an entry of FROM come from?

use std::sync::Arc;

use arrow_array::{ArrayRef, BooleanArray, RecordBatch, UInt32Array, new_null_array};
use arrow_schema::DataType;
use datafusion_common::DataFusionError;
use datafusion_execution::TaskContext;
use datafusion_physical_plan::ExecutionPlan;
use futures::{StreamExt, TryStreamExt};
use onlap_kernels::Datum;
use onlap_pg::ast::JoinKind;
use onlap_pg::bound::{EntryKind, Expr, ExprId, JoinTree, ModifyKind, Part as BoundPart};
use onlap_pg::catalog::oids;
use onlap_pg::{Oid, Result, TypeRef};

use crate::build::Rel;
use crate::columns::schema_of;
use crate::compile::{Compiler, Lateral, slots, unsupported};
use crate::env::{
    COMMANDS, CTID, ENDED, Env, FROZEN, Facts, ROW_ID, Read, Restriction, RestrictionKind,
    TABLE_OID, VERSION, Wanted,
};
use crate::error::external;
use crate::estimates::OF_A_QUERY;
use crate::joins::Part;
use crate::keyed::SHARE_OF_KEYS;
use crate::layout::{Layout, PRESENT, Var};
use crate::node::{Node, Rows, Slots, Spread, arrow};
use crate::step::{Step, stream_of};
use crate::within::Told;

type Plan = Arc<dyn ExecutionPlan>;

/// How many rows a list of values finds, about, where nothing is known of it.
const SOME_VALUES: f64 = 50.0;

impl Compiler<'_> {
    /// A single row without columns that matter.
    pub fn one_row(&mut self) -> Result<Part> {
        let array: ArrayRef = Arc::new(BooleanArray::from(vec![true]));
        let mut layout = Layout::default();
        layout.add_hidden(TypeRef::new(oids::BOOL));
        Ok(Part { plan: given("Result", vec![array])?, layout, rows: 1.0 })
    }

    /// The columns of an entry that the query uses, by number; 0 is the whole row.
    pub fn used(&self, entry: usize) -> Vec<i32> {
        let id = self.frames.last().expect("a query is being made").query;
        let query = self.bound.query(id);
        let mut used = Vec::new();
        let mut see = |id: ExprId, inside: u32| {
            if let Expr::Var { entry: of, column, up } = self.bound.expr(id)
                && *up == inside
            {
                self.use_column(*of, *column, entry, &mut used);
            }
            true
        };
        for part in self.bound.parts(id) {
            let is_unused = matches!(part, BoundPart::Expr(id) if self.is_unused(query, id));
            if !is_unused {
                self.bound.visit_part(part, 0, &mut see);
            }
        }
        used.sort_unstable();
        used.dedup();
        used
    }

    /// Adds a column of the entry that a column, perhaps of a join, stands for.
    fn use_column(&self, of: usize, column: i32, entry: usize, used: &mut Vec<i32>) {
        if of == entry {
            used.push(column);
            return;
        }
        let query = self.bound.query(self.frames.last().expect("a query is being made").query);
        let EntryKind::Join { columns, .. } = &query.entries[of - 1].kind else { return };
        let meant: Vec<ExprId> = match column {
            0 => columns.clone(),
            _ => columns.get(column as usize - 1).copied().into_iter().collect(),
        };
        for id in meant {
            self.bound.visit(id, 0, &mut |id, inside| {
                if let Expr::Var { entry: of, column, up } = self.bound.expr(id)
                    && *up == inside
                {
                    self.use_column(*of, *column, entry, used);
                }
                true
            });
        }
    }

    /// An entry, of which rows come that meet its guards; every wanted row meets the conditions, which are asked above it.
    pub fn entry(&mut self, entry: usize, conditions: &[ExprId]) -> Result<Part> {
        let bound = self.bound;
        let guards = &bound.query(self.frame().query).entries[entry - 1].guards;
        if guards.is_empty() {
            return self.unguarded(entry, conditions);
        }
        // Both say which rows an index need not give; only the guards are asked here.
        let asked = [&guards[..], conditions].concat();
        let part = self.unguarded(entry, &asked)?;
        self.guarded(part, guards)
    }

    fn unguarded(&mut self, entry: usize, conditions: &[ExprId]) -> Result<Part> {
        let bound = self.bound;
        let query = bound.query(self.frame().query);
        let of = &query.entries[entry - 1];
        let mut used = self.used(entry);
        if self.changes_view(entry)? {
            used.extend(1..=of.types.len() as i32);
            used.sort_unstable();
            used.dedup();
        }
        if used.contains(&0) {
            let there = |column: &i32| of.types[*column as usize - 1].oid != 0;
            used.retain(|column| *column < 0);
            used.extend((1..=of.types.len() as i32).filter(there));
            let part = self.rows_of(entry, &used, conditions)?;
            return self.marked(part, entry);
        }
        self.rows_of(entry, &used, conditions)
    }

    /// The rows of an entry, with some of its columns.
    fn rows_of(&mut self, entry: usize, used: &[i32], conditions: &[ExprId]) -> Result<Part> {
        let bound = self.bound;
        let of = &bound.query(self.frame().query).entries[entry - 1];
        let whole = |rel: Rel, rows: f64| {
            let mut layout = Layout::default();
            for (n, ty) in rel.types.iter().enumerate() {
                layout.add_var((entry, n as i32 + 1), *ty);
            }
            if rel.types.is_empty() {
                layout.add_hidden(TypeRef::new(oids::BOOL));
            }
            Part { plan: rel.plan, layout, rows }
        };
        match &of.kind {
            EntryKind::Relation { sample: Some(_), .. } => Err(unsupported("TABLESAMPLE")),
            EntryKind::Relation { oid, inherited, .. } => match self.tables.view(*oid)? {
                Some(view) => {
                    let told = self.told(entry, used, conditions)?;
                    let mut inner = Compiler {
                        bound: &view.0,
                        env: Arc::clone(&self.env),
                        tables: self.tables,
                        carried: None,
                        frames: Vec::new(),
                    };
                    let (lock, rows) = (self.lock_within(entry)?, inner.rows_of_query(view.1));
                    Ok(whole(inner.told_query(view.1, told, lock)?, rows))
                }
                None => {
                    let read = Read { relation: *oid, inherited: *inherited };
                    self.table(entry, read, used, conditions)
                }
            },
            EntryKind::Query(query) => {
                let rows = self.rows_of_query(*query);
                let told = self.told(entry, used, conditions)?;
                // The locks of a statement's own queries are theirs already.
                let of_view = self.frame().lock.is_some();
                let lock = if of_view { self.lock_within(entry)? } else { None };
                Ok(whole(self.told_query(*query, told, lock)?, rows))
            }
            EntryKind::Cte { name, up, own } => {
                let told = self.told(entry, used, conditions)?;
                let rows = self.rows_of_cte(name, *up);
                Ok(whole(self.cte(name, (*up, *own), told)?, rows))
            }
            EntryKind::Values(rows) => Ok(whole(self.values(rows, &of.types)?, rows.len() as f64)),
            EntryKind::Functions { calls, ordinality } => {
                let rel = self.functions(entry, calls, *ordinality)?;
                Ok(whole(rel, OF_A_QUERY))
            }
            EntryKind::Join { .. } => unreachable!("joins are not items"),
        }
    }

    /// With a column that says that there is a row.
    fn marked(&mut self, part: Part, entry: usize) -> Result<Part> {
        self.with_column(part, (entry, PRESENT), oids::BOOL, &Datum::Bool(true))
    }

    /// With a column that is the same in all rows.
    fn with_column(
        &mut self,
        part: Part,
        var: Var,
        ty: Oid,
        value: &Datum<'static>,
    ) -> Result<Part> {
        let Part { plan, layout, rows } = part;
        let before = std::mem::replace(&mut self.frame().layout, layout);
        let value = self.constant(ty, value);
        let made = value.and_then(|value| self.extend(plan, vec![(value, TypeRef::new(ty))]));
        let mut layout = std::mem::replace(&mut self.frame().layout, before);
        let (plan, at) = made?;
        layout.vars.insert(var, at[0]);
        Ok(Part { plan, layout, rows })
    }

    fn table(
        &mut self,
        entry: usize,
        read: Read,
        used: &[i32],
        conditions: &[ExprId],
    ) -> Result<Part> {
        let bound = self.bound;
        let of = &bound.query(self.frame().query).entries[entry - 1];
        let system = used.iter().filter(|column| **column < 0).count();
        let (system, used) = used.split_at(system);
        let facts = self.tables.facts(read);
        let mut restrictions = self.given(entry);
        let mut wanted = crate::ordered::Sought::new(self.frame().wanted.clone());
        for restriction in &restrictions {
            wanted.narrow(Some(restriction), &facts);
        }
        for id in conditions {
            let restriction = self.restriction(entry, *id, &facts)?;
            wanted.narrow(restriction.as_ref(), &facts);
            restrictions.extend(restriction);
        }
        let mut keyed = Vec::new();
        for id in conditions {
            keyed.extend(self.said_of_keys(entry, *id, &facts)?);
        }
        let rows = facts.rows * SHARE_OF_KEYS.powi(keyed.len().min(2) as i32);
        let rows = restricted(rows, &restrictions, &facts);
        let mut layout = Layout::default();
        for column in used {
            layout.add_var((entry, *column), of.types[*column as usize - 1]);
        }
        let mut columns = used.to_vec();
        let names_relation = system.contains(&TABLE_OID);
        if facts.several && names_relation {
            columns.push(TABLE_OID);
            layout.add_var((entry, TABLE_OID), TypeRef::new(oids::OID));
        }
        if system.contains(&VERSION) && !facts.frozen {
            columns.push(VERSION);
            layout.add_var((entry, VERSION), TypeRef::new(oids::XID));
        }
        if system.contains(&CTID) {
            columns.push(CTID);
            layout.add_var((entry, CTID), TypeRef::new(oids::TID));
        }
        if self.changes(entry) || self.locks_rows_of(entry) {
            columns.push(ROW_ID);
            layout.add_var((entry, ROW_ID), TypeRef::new(oids::INT8));
        }
        let implied = self.implied(entry, conditions, &facts)?;
        let wanted = Wanted { implied, keyed, ..wanted.end(facts.rows) };
        let scanned = self.tables.scan(read, &columns, restrictions, &wanted)?;
        self.frame().sorted |= scanned.ordered;
        let plan = scanned.plan;
        if columns.is_empty() {
            layout.add_hidden(TypeRef::new(oids::BOOL));
        }
        let mut part = Part { plan, layout, rows: rows.max(1.0) };
        if names_relation && !facts.several {
            let oid = Datum::Oid(read.relation);
            part = self.with_column(part, (entry, TABLE_OID), oids::OID, &oid)?;
        }
        self.with_constants(part, entry, system, facts.frozen)
    }

    /// With the system's columns that are the same in all rows; `frozen`: their version is, too.
    fn with_constants(
        &mut self,
        mut part: Part,
        entry: usize,
        system: &[i32],
        frozen: bool,
    ) -> Result<Part> {
        for column in system {
            let (ty, value) = match *column {
                VERSION if frozen => (oids::XID, FROZEN),
                ENDED => (oids::XID, 0),
                column if COMMANDS.contains(&column) => (oids::CID, 0),
                _ => continue,
            };
            part = self.with_column(part, (entry, *column), ty, &Datum::Oid(value))?;
        }
        Ok(part)
    }

    /// Whether UPDATE or DELETE change the rows of an entry.
    fn changes(&self, entry: usize) -> bool {
        let query = self.bound.query(self.frames.last().expect("a query is being made").query);
        let modify = query.modify.as_deref();
        modify.is_some_and(|m| m.entry == entry && m.kind != ModifyKind::Insert)
    }

    /// The same of a view, whose whole rows as they were are wanted.
    pub fn changes_view(&self, entry: usize) -> Result<bool> {
        let query = self.bound.query(self.frames.last().expect("a query is being made").query);
        match query.entries[entry - 1].kind {
            EntryKind::Relation { oid, .. } if self.changes(entry) => {
                Ok(self.tables.view(oid)?.is_some())
            }
            _ => Ok(false),
        }
    }

    /// The rows of a query that WITH names, some levels up; `own` where it is the one that reads itself.
    fn cte(&mut self, name: &str, (up, own): (u32, bool), told: Told) -> Result<Rel> {
        let definer = self.frames.len() - 1 - up as usize;
        if own {
            return Ok(self.working(name, definer));
        }
        let query = self.bound.query(self.frames[definer].query);
        let cte = query.ctes.iter().find(|cte| &*cte.name == name);
        let cte = cte.expect("the binder has found it");
        let tail = self.frames.split_off(definer + 1);
        let made = self.cte_rows(cte, told);
        self.frames.extend(tail);
        let (rel, outer) = made?;
        self.depend_on(definer, &outer);
        Ok(rel)
    }

    /// A step whose right side is run for the values of each row of the left.
    pub fn lateral_join(
        &mut self,
        left: Part,
        tree: &JoinTree,
        kind: JoinKind,
        conditions: &[ExprId],
    ) -> Result<Part> {
        if !matches!(kind, JoinKind::Inner | JoinKind::Left) {
            return Err(unsupported("this kind of lateral join"));
        }
        // The conditions are part of what is looked up, where the right side is a table.
        let asked_within = matches!(tree, JoinTree::Entry(_));
        let slots = slots();
        let lateral =
            Lateral { layout: left.layout.clone(), slots: Arc::clone(&slots), wanted: Vec::new() };
        self.frame().lateral.push(lateral);
        let right = match asked_within {
            true => self.lateral_tree(tree, conditions),
            false => self.lateral_tree(tree, &[]),
        };
        let lateral = self.frame().lateral.pop().expect("it was pushed");
        let right = right?;
        let layout = left.layout.clone().beside(&right.layout);
        let left_over = if asked_within { &[] } else { conditions };
        let condition = self.condition_over(left_over, &layout)?;
        let types: Vec<DataType> = [&left.plan, &right.plan]
            .iter()
            .flat_map(|plan| {
                plan.schema().fields().iter().map(|f| f.data_type().clone()).collect::<Vec<_>>()
            })
            .collect();
        let schema = schema_of(&types);
        let work = Arc::new(LateralRun {
            right: right.plan,
            slots,
            wanted: lateral.wanted,
            condition,
            keeps: kind == JoinKind::Left,
            env: Arc::clone(&self.env),
            schema: Arc::clone(&schema),
        });
        let out = Arc::clone(&schema);
        let run = move |inputs: Vec<Plan>, context: Arc<TaskContext>| {
            let input = inputs[0].execute(0, context)?;
            let work = Arc::clone(&work);
            let batches = input.map(move |batch| {
                let made = batch.and_then(|batch| work.join(&batch).map_err(external));
                made.map(|batches| {
                    futures::stream::iter(batches.into_iter().map(Ok::<_, DataFusionError>))
                })
            });
            Ok(stream_of(Arc::clone(&out), batches.try_flatten()))
        };
        let rows = left.rows * right.rows.min(10.0);
        let plan = Step::make("Nested Loop", "", vec![left.plan], schema, Arc::new(run));
        Ok(Part { plan, layout, rows })
    }
}

/// A lateral join at work.
struct LateralRun {
    right: Plan,
    slots: Slots,
    /// The columns of the left that the right side uses, in the order of slots.
    wanted: Vec<usize>,
    condition: Option<Node>,
    /// Whether rows of the left without any of the right stay.
    keeps: bool,
    env: Arc<Env>,
    schema: arrow_schema::SchemaRef,
}

impl LateralRun {
    fn join(&self, left: &RecordBatch) -> Result<Vec<RecordBatch>> {
        let mut out = Vec::new();
        for row in 0..left.num_rows() {
            *self.slots.lock() =
                self.wanted.iter().map(|at| left.column(*at).slice(row, 1)).collect();
            let batches = crate::apply::run(&self.right, &self.env, usize::MAX)?;
            let mut found = false;
            for batch in batches.iter().filter(|batch| batch.num_rows() > 0) {
                let mut columns = Vec::with_capacity(self.schema.fields().len());
                for column in left.columns() {
                    let one = onlap_kernels::Col::constant(column.slice(row, 1));
                    columns.push(one.spread(batch.num_rows(), &self.env)?);
                }
                columns.extend(batch.columns().iter().cloned());
                let joined = self.met(columns, batch.num_rows())?;
                found |= joined.num_rows() > 0;
                out.push(joined);
            }
            if !found && self.keeps {
                let mut columns: Vec<ArrayRef> =
                    left.columns().iter().map(|column| column.slice(row, 1)).collect();
                for field in &self.schema.fields()[columns.len()..] {
                    columns.push(new_null_array(field.data_type(), 1));
                }
                let batch = RecordBatch::try_new(Arc::clone(&self.schema), columns);
                out.push(batch.map_err(arrow)?);
            }
        }
        Ok(out)
    }

    /// The rows that meet the condition.
    fn met(&self, mut columns: Vec<ArrayRef>, count: usize) -> Result<RecordBatch> {
        if let Some(condition) = &self.condition {
            let holds = condition.eval(&Rows { columns: &columns, count }, &self.env)?;
            self.env.batch_done()?;
            let met = (0..count as u32)
                .filter(|row| crate::node::truth(&holds, *row as usize) == Some(true));
            let at = UInt32Array::from(met.collect::<Vec<_>>());
            for column in &mut columns {
                *column = arrow_select::take::take(column, &at, None).map_err(arrow)?;
            }
        }
        RecordBatch::try_new(Arc::clone(&self.schema), columns).map_err(arrow)
    }
}

/// A step that gives columns that are there.
fn given(name: &'static str, columns: Vec<ArrayRef>) -> Result<Plan> {
    let types: Vec<DataType> = columns.iter().map(|column| column.data_type().clone()).collect();
    let schema = schema_of(&types);
    let batch = RecordBatch::try_new(Arc::clone(&schema), columns).map_err(arrow)?;
    let out = Arc::clone(&schema);
    let run = move |_: Vec<Plan>, _: Arc<TaskContext>| {
        let batch = batch.clone();
        let batches = futures::stream::once(async move { Ok(batch) });
        Ok(stream_of(Arc::clone(&out), batches))
    };
    Ok(Step::make(name, "", Vec::new(), schema, Arc::new(run)))
}

/// About how many of some rows meet restrictions.
fn restricted(mut rows: f64, restrictions: &[Restriction], facts: &Facts) -> f64 {
    for restriction in restrictions {
        rows *= match restriction.kind {
            RestrictionKind::Equal if facts.unique.contains(&restriction.column) => 0.0,
            RestrictionKind::Equal => 0.01,
            RestrictionKind::OneOf => (SOME_VALUES / rows).min(0.2),
            _ => 0.4,
        };
    }
    rows
}
