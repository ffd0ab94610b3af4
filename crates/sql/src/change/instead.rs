//! How are rows of a view changed that has triggers in the place of that?
//!
//! The steps give whole rows of the view as they were, and what they are to become; the triggers are called for one row after
//! the other. What they give back is what RETURNING is calculated of, and counts as a row; a row that they give nothing for does not.

use std::sync::Arc;

use arrow_array::{ArrayRef, BooleanArray, RecordBatch};
use arrow_select::filter::filter_record_batch;
use datafusion_common::DataFusionError;
use onlap_kernels::{Datum, Repr, repr};
use onlap_pg::bound::{Modify, ModifyKind, QueryId};
use onlap_query::{Change, Source};

use super::fires::{Event, Of, Values};
use super::returning::{Returned, check_given_back};
use super::shared::Shared;
use super::{Done, Run, places};
use crate::catalog::Name;
use crate::error::{Result, SqlError};
use crate::query::sql_error;
use crate::query::views::Bodied;

/// What a part does to rows of a view.
struct Instead<'a> {
    run: &'a Run<'a>,
    /// Its triggers.
    of: Arc<Of>,
    event: Event,
    /// The types of the view's columns, as values have them.
    reprs: Vec<Repr>,
}

impl Run<'_> {
    /// A part that triggers of a view stand in the place of.
    pub(super) fn instead(&self, part: QueryId, shared: &Shared, viewed: &Bodied) -> Result<Done> {
        let query = self.bound.tree().0.query(part);
        let modify = query.modify.as_deref().expect("the part changes rows");
        must_not_conflict(modify)?;
        let relation = &viewed.relation;
        let event = match modify.kind {
            ModifyKind::Insert => Event::Insert,
            ModifyKind::Update => Event::Update,
            ModifyKind::Delete => Event::Delete,
            ModifyKind::Merge => return Err(SqlError::unsupported("MERGE into a view")),
        };
        if self.blind {
            return Err(SqlError::unsupported("UPSERT INTO a view"));
        }
        let names: Vec<&str> = relation.columns.iter().map(|column| &*column.name).collect();
        let name = Name::new(&viewed.schema, &*relation.name);
        let of = Arc::new(Of::of_view(self.view, relation.oid, name, &names)?);
        let catalog = self.bound.catalog();
        let unserved = || SqlError::unsupported("a column of this type in a view that is changed");
        let repr = |ty| repr(catalog, ty).ok_or_else(unserved);
        let reprs = relation.columns.iter().map(|column| repr(column.ty.oid));
        let reprs = reprs.collect::<Result<Vec<_>>>()?;
        let set: Vec<String> = match modify.kind {
            ModifyKind::Update => places(&query.targets).map(|at| names[at].to_string()).collect(),
            _ => Vec::new(),
        };
        of.before_statement((self.view, &shared.due), event, &set)?;
        let instead = Instead { run: self, of, event, reprs };
        let done = instead.rows(part, shared)?;
        instead.of.after_statement((self.view, &shared.due), event, &set)?;
        Ok(done)
    }
}

/// A view has no keys that rows could conflict by.
fn must_not_conflict(modify: &Modify) -> Result<()> {
    match &modify.conflict {
        Some(conflict) if conflict.update || !conflict.elements.is_empty() => {
            let text = "there is no unique or exclusion constraint matching the ON CONFLICT \
                        specification";
            Err(SqlError::new("42P10", text))
        }
        _ => Ok(()),
    }
}

impl Instead<'_> {
    fn rows(&self, part: QueryId, shared: &Shared) -> Result<Done> {
        let view = self.run.view;
        let changing = self.run.bound.change(view, &shared.course, part, self.run.text)?;
        let change = &changing.change;
        let batches = changing.run(view)?.all()?;
        let mut returned = Returned::charged(batches.another());
        let (mut count, mut before) = (0, 0);
        for batch in &batches {
            let (mut kept, mut rows) = (Vec::with_capacity(batch.num_rows()), Vec::new());
            for at in 0..batch.num_rows() {
                view.scope.go_on()?;
                let made =
                    self.of.instead(view, self.event, self.row(change, batch, at, before))?;
                if let (Some(made), true) = (&made, self.event != Event::Delete) {
                    let (one, found) = (std::slice::from_ref(made), batch.slice(at, 1));
                    let source = |source| self.source(source, one, &found);
                    check_given_back(self.modify(part), change, 1, source)?;
                }
                kept.push(made.is_some());
                rows.extend(made);
            }
            before += batch.num_rows();
            count += rows.len() as u64;
            let batch = filter_record_batch(batch, &BooleanArray::from(kept));
            let batch = batch.map_err(DataFusionError::from)?;
            let source = |source| self.source(source, &rows, &batch);
            returned.add(change.returning.as_ref(), rows.len(), source)?;
        }
        let tag = match self.event {
            Event::Insert => "INSERT 0",
            Event::Update => "UPDATE",
            _ => "DELETE",
        };
        Ok(Done { tag, rows: count, returned })
    }

    fn modify(&self, part: QueryId) -> &Modify {
        let query = self.run.bound.tree().0.query(part);
        query.modify.as_deref().expect("the part changes rows")
    }

    /// A row of the steps as it was, and as it is to be; `before` rows came in other batches.
    fn row(
        &self,
        change: &Change,
        batch: &RecordBatch,
        at: usize,
        before: usize,
    ) -> (Option<Values>, Option<Values>) {
        let value =
            |place: usize, repr: Repr| Datum::at(batch.column(place), repr, at).into_owned();
        let old = (self.event != Event::Insert).then(|| -> Values {
            self.reprs.iter().enumerate().map(|(place, repr)| value(place, *repr)).collect()
        });
        if self.event == Event::Delete {
            return (old, None);
        }
        let mut new = old.clone().unwrap_or_else(|| vec![Datum::Null; self.reprs.len()]);
        for (number, place) in &change.written {
            // A view's columns have no defaults.
            let is_default = change.defaults.contains(&(before + at, *number));
            new[number - 1] = match place {
                Some(place) if !is_default => value(*place, self.reprs[number - 1]),
                _ => Datum::Null,
            };
        }
        (old, Some(new))
    }

    fn source(&self, source: Source, rows: &[Values], batch: &RecordBatch) -> Result<ArrayRef> {
        match source {
            Source::Found(place) => Ok(Arc::clone(batch.column(place))),
            Source::Row(number) => {
                let values = rows.iter().map(|row| &row[number - 1]);
                Datum::column(self.reprs[number - 1], values).map_err(|e| sql_error(&e, ""))
            }
            _ => Err(SqlError::unsupported("system columns of a view that is changed")),
        }
    }
}
