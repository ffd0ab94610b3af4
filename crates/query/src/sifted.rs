//! Which rows does a query give of one table, where keys leave few of them and nothing else is to be done?
//!
//! A query of one table whose conditions say something of keys, with targets that are calculated row by row, or with nothing
//! but `count(*)`. Its rows are found by the keys, its conditions are asked of them, and that is all: to make steps for it, and
//! to run them, takes several times as long. What has an order, groups, queries within or rows of other tables is for
//! steps.
//!
//! Knows nothing of indexes and of how rows are read. Thread safety: belongs to the thread that carries the query out.

use std::sync::Arc;

use arrow_array::{ArrayRef, RecordBatch, RecordBatchOptions, UInt32Array};
use arrow_schema::SchemaRef;
use onlap_pg::bound::{Aggregate, Bound, EntryKind, Expr, ExprId, JoinTree, Query, QueryId};
use onlap_pg::{Oid, Result};

use crate::columns::schema_of;
use crate::compile::{Compiler, Frame};
use crate::env::{Env, Keyed, Read, Restriction, Tables};
use crate::node::{Node, Rows, Spread, arrow, truth};

/// `count(*)`
const COUNT: Oid = 2803;

/// A query that needs no steps.
pub struct Sifted {
    /// What is read.
    pub table: Read,
    /// Its columns that are read, by their numbers.
    pub columns: Vec<i32>,
    /// How columns of wanted rows are restricted.
    pub restrictions: Vec<Restriction>,
    /// What is so of the keys of all wanted rows.
    pub keyed: Vec<Keyed>,
    /// Derived columns, by number, that are true in all wanted rows.
    pub implied: Vec<i32>,
    condition: Node,
    gives: Gives,
    env: Arc<Env>,
}

/// What it gives.
enum Gives {
    /// The number of rows, in each of this many columns.
    Count(usize),
    /// Values of each row.
    Values(Vec<Node>, SchemaRef),
}

impl Sifted {
    /// A query that needs no steps; `None` for any other.
    ///
    /// # Errors
    /// `0A000` for what has no kernel; errors of constants.
    pub fn of(
        bound: &Bound,
        query: QueryId,
        tables: &dyn Tables,
        env: &Arc<Env>,
    ) -> Result<Option<Sifted>> {
        let Some((entry, filter)) = of_one_table(bound, query) else { return Ok(None) };
        let of = &bound.query(query).entries[entry - 1];
        let EntryKind::Relation { oid, inherited, sample: None, .. } = of.kind else {
            return Ok(None);
        };
        let table = Read { relation: oid, inherited };
        let facts = tables.facts(table);
        if facts.several || facts.derived.iter().all(|derived| derived.class.is_none()) {
            return Ok(None);
        }
        let (env_of, frames) = (Arc::clone(env), vec![Frame::new(query, None)]);
        let mut compiler = Compiler { bound, env: env_of, tables, carried: None, frames };
        let mut conditions = Vec::new();
        each_of(bound, filter, &mut conditions);
        let mut keyed = Vec::new();
        for id in &conditions {
            keyed.extend(compiler.said_of_keys(entry, *id, &facts)?);
        }
        let columns = compiler.used(entry);
        // The row as a whole, and the system's columns.
        let has_others = columns.first().is_some_and(|column| *column <= 0);
        if keyed.is_empty() || has_others || compiler.is_query_volatile(query) {
            return Ok(None);
        }
        let mut restrictions = Vec::new();
        for id in &conditions {
            restrictions.extend(compiler.restriction(entry, *id, &facts)?);
        }
        let implied = compiler.implied(entry, &conditions, &facts)?;
        for column in &columns {
            let ty = of.types[*column as usize - 1];
            compiler.frame().layout.add_var((entry, *column), ty);
        }
        let Some(gives) = gives(&mut compiler, bound.query(query))? else { return Ok(None) };
        compiler.cheapest_first(&mut conditions);
        let condition = compiler.conjunction(&conditions)?;
        let env = Arc::clone(env);
        Ok(Some(Sifted { table, columns, restrictions, keyed, implied, condition, gives, env }))
    }

    /// Whether it gives the number of rows, and in how many columns.
    pub fn counts(&self) -> Option<usize> {
        match &self.gives {
            Gives::Count(columns) => Some(*columns),
            Gives::Values(..) => None,
        }
    }

    /// Of some rows, of which these are the columns that are read, those that meet the conditions.
    fn met(&self, rows: &Rows<'_>) -> Result<Vec<u32>> {
        let holds = self.condition.eval(rows, &self.env)?;
        let is_met = |row: &u32| truth(&holds, *row as usize) == Some(true);
        Ok((0..rows.count as u32).filter(is_met).collect())
    }

    /// How many of some rows meet the conditions.
    ///
    /// # Errors
    /// The first that a row meets.
    pub fn count(&self, columns: &[ArrayRef], count: usize) -> Result<u64> {
        let met = self.met(&Rows { columns, count })?;
        self.env.batch_done()?;
        Ok(met.len() as u64)
    }

    /// What it gives of some rows.
    ///
    /// # Errors
    /// The first that a row meets.
    ///
    /// # Panics
    /// It counts.
    pub fn values(&self, columns: &[ArrayRef], count: usize) -> Result<RecordBatch> {
        let Gives::Values(nodes, schema) = &self.gives else { panic!("it gives values of rows") };
        let met = self.met(&Rows { columns, count })?;
        let mut kept = columns.to_vec();
        if met.len() < count {
            let at = UInt32Array::from(met.clone());
            for column in &mut kept {
                *column = crate::picked::take(column, &at, &self.env)?;
            }
        }
        let rows = Rows { columns: &kept, count: met.len() };
        let value = |node: &Node| node.eval(&rows, &self.env)?.spread(rows.count, &self.env);
        let values = nodes.iter().map(value).collect::<Result<Vec<ArrayRef>>>()?;
        self.env.batch_done()?;
        let options = RecordBatchOptions::new().with_row_count(Some(met.len()));
        RecordBatch::try_new_with_options(Arc::clone(schema), values, &options).map_err(arrow)
    }
}

/// The entry and the condition of a query that does nothing but read rows of one table, all of which it gives or counts.
fn of_one_table(bound: &Bound, id: QueryId) -> Option<(usize, ExprId)> {
    let Query {
        ctes,
        recursive: _,
        changes_within: false,
        modify: None,
        entries,
        from,
        filter: Some(filter),
        targets,
        groups,
        groups_distinct: _,
        sets,
        having: None,
        windows,
        distinct,
        distinct_on: false,
        order,
        offset: None,
        limit: None,
        ties: false,
        locks,
        set: None,
        has_aggregates: _,
        has_windows: false,
        has_sets: false,
        has_subqueries: false,
        depends_on_keys: _,
    } = bound.query(id)
    else {
        return None;
    };
    let is_plain = ctes.is_empty()
        && groups.is_empty()
        && sets.is_empty()
        && windows.is_empty()
        && distinct.is_empty()
        && order.is_empty()
        && locks.is_empty()
        && !targets.is_empty()
        && targets.iter().all(|target| !target.hidden);
    let ([JoinTree::Entry(entry)], true) = (&from[..], is_plain) else { return None };
    // What policies ask of rows, only steps do.
    entries.get(entry - 1)?.guards.is_empty().then_some((*entry, *filter))
}

/// The conditions that a conjunction is of.
fn each_of(bound: &Bound, id: ExprId, out: &mut Vec<ExprId>) {
    match bound.expr(id) {
        Expr::And(all) => all.iter().for_each(|part| each_of(bound, *part, out)),
        _ => out.push(id),
    }
}

/// What targets give; `None` where that takes steps.
fn gives(compiler: &mut Compiler<'_>, query: &Query) -> Result<Option<Gives>> {
    let bound = compiler.bound;
    if query.has_aggregates {
        let counts = query.targets.iter().all(|target| match bound.expr(target.value) {
            Expr::Aggregate(call) => is_count(call),
            _ => false,
        });
        return Ok(counts.then_some(Gives::Count(query.targets.len())));
    }
    let (mut nodes, mut types) = (Vec::new(), Vec::new());
    for target in &query.targets {
        nodes.push(compiler.node(target.value)?);
        types.push(compiler.arrow(bound.ty(target.value).oid)?);
    }
    Ok(Some(Gives::Values(nodes, schema_of(&types))))
}

fn is_count(call: &Aggregate) -> bool {
    call.proc == COUNT && call.star && call.filter.is_none() && call.up == 0
}
