//! How are the rows of a family read and locked?
//!
//! A step above the scans of its members: those that constants leave when the plan is made, and of these, when it is run, those
//! that all values leave that are known then. Members are opened together, as the parts of one table are, so that they see the
//! same, whatever the statement does meanwhile.

use std::collections::VecDeque;
use std::sync::Arc;

use datafusion_common::Result as Run;
use datafusion_execution::{SendableRecordBatchStream, TaskContext};
use datafusion_physical_plan::ExecutionPlan;
use futures::StreamExt;
use onlap_base::limits::STATEMENT_RELATIONS;
use onlap_pg::Result;
use onlap_pg::ast::{LockStrength, LockWait};
use onlap_query::{Restriction, Scanned, Step, Wanted, external as of_query, stream_of};

use super::family::{Family, too_many, unpacked};
use super::locking;
use super::tables::Asked;
use super::views::of_sql;
use crate::plan::scan::{external, scope_of};
use crate::scope::Scope;

/// Members that are opened together.
const OPENED: usize = 64;

/// A step that reads the members of a family.
///
/// # Errors
/// Those of constants; `54001`.
pub fn scan(family: &Arc<Family>, asked: &Asked<'_>) -> Result<Scanned> {
    let types = family.members[0].table.types.clone();
    let members = family.left(&types, asked.restrictions, false)?;
    if members.len() > STATEMENT_RELATIONS {
        return Err(of_sql(&too_many()));
    }
    let table = |at: usize| family.members[at].table.clone();
    if let [one] = members[..] {
        return Ok(asked.of_table(table(one), Some((one, &family.members[one]))));
    }
    let unordered = Wanted::default();
    let each = Asked { wanted: &unordered, ..*asked };
    let scans = members.iter().map(|at| {
        let scanned = each.of_table(table(*at), Some((*at, &family.members[*at])));
        scanned.plan
    });
    let scans: Vec<Arc<dyn ExecutionPlan>> = scans.collect();
    let later = |r: &Restriction| !r.is_constant && !r.runs;
    let asks = asked.restrictions.iter().any(later);
    let restrictions: Arc<[Restriction]> = asked.restrictions.into();
    let (family, schema) = (Arc::clone(family), Arc::clone(asked.schema));
    let run = move |inputs: Vec<Arc<dyn ExecutionPlan>>, context: Arc<TaskContext>| {
        let left = match asks {
            true => Some(family.left(&types, &restrictions, true).map_err(of_query)?),
            false => None,
        };
        let is_left = |at: &usize| left.as_ref().is_none_or(|left| left.contains(at));
        let waiting = inputs.into_iter().zip(&members).filter(|(_, at)| is_left(at));
        let waiting = waiting.map(|(input, _)| input).collect();
        let mut reading = Reading { waiting, opened: VecDeque::new(), context };
        reading.open()?;
        let stream = futures::stream::try_unfold(reading, |mut reading| async move {
            Ok(reading.next().await?.map(|batch| (batch, reading)))
        });
        Ok(stream_of(Arc::clone(&schema), stream))
    };
    let name = if scans.is_empty() { "Result" } else { "Append" };
    let plan = Step::make(name, "", scans, Arc::clone(asked.schema), Arc::new(run));
    Ok(Scanned { plan, ordered: false })
}

/// Members that are being read.
struct Reading {
    waiting: VecDeque<Arc<dyn ExecutionPlan>>,
    opened: VecDeque<SendableRecordBatchStream>,
    context: Arc<TaskContext>,
}

impl Reading {
    fn open(&mut self) -> Run<()> {
        for plan in self.waiting.drain(..self.waiting.len().min(OPENED)) {
            self.opened.push_back(plan.execute(0, Arc::clone(&self.context))?);
        }
        Ok(())
    }

    async fn next(&mut self) -> Run<Option<arrow_array::RecordBatch>> {
        loop {
            if self.opened.is_empty() {
                scope_of(&self.context)?.plan_goes_on().map_err(external)?;
                self.open()?;
            }
            let Some(first) = self.opened.front_mut() else { return Ok(None) };
            match first.next().await.transpose()? {
                Some(batch) => return Ok(Some(batch)),
                None => drop(self.opened.pop_front()),
            }
        }
    }
}

/// Locks rows of members, as [`locking::lock`] does those of one table.
///
/// # Errors
/// As [`locking::lock`].
pub fn lock(
    scope: &Scope,
    family: &Family,
    ids: &[i64],
    strength: LockStrength,
    wait: LockWait,
) -> crate::error::Result<Vec<bool>> {
    let mut of_member: Vec<(usize, Vec<usize>, Vec<i64>)> = Vec::new();
    for (at, id) in ids.iter().enumerate() {
        let (member, row) = unpacked(*id as u64);
        match of_member.iter_mut().find(|(known, ..)| *known == member) {
            Some((_, places, rows)) => {
                places.push(at);
                rows.push(row as i64);
            }
            None => of_member.push((member, vec![at], vec![row as i64])),
        }
    }
    let mut locked = vec![false; ids.len()];
    for (member, places, rows) in of_member {
        let table = &family.members[member].table.table;
        let answers = locking::lock(scope, table, &rows, strength, wait)?;
        places.into_iter().zip(answers).for_each(|(at, answer)| locked[at] = answer);
    }
    Ok(locked)
}
