//! How do the values of a column become values of another type?
//!
//! Every segment is written again, with the same row ids, commits and other columns; the new values
//! lie in a new column, so that nothing that knows the old one can mistake them. A value that cannot
//! be converted is an error, unless its row is dead: what only older snapshots see reads NULL then.
//!
//! Thread safety: the caller holds the commit lock, and keeps compactions of the table away.

use std::sync::Arc;

use onlap_base::{ColumnId, Csn, Result, RowId, limits};
use onlap_format::manifest::{Edit, SegmentMeta};
use onlap_format::{Batch, Column, DataType, Physical, TableSchema, Value, convert};
use onlap_storage::Direction;
use onlap_storage::marks::ChangeScratch;
use onlap_storage::segment::{Segment, SegmentScan, SegmentSpec, SegmentWriter};
use onlap_storage::version::SegmentEntry;
use onlap_storage::written::Purpose;

use super::plan::Plan;
use crate::database::Shared;
use crate::spec::Convert;
use crate::table::TableView;

/// A value as one of another type, by way of its text where the types have nothing in common.
pub(crate) fn cast(value: &Value, from: DataType, to: DataType, column: &str) -> Result<Value> {
    if *value == Value::Null {
        return Ok(Value::Null);
    }
    if let (Value::Bool(b), DataType::Int2 | DataType::Int4 | DataType::Int8) = (value, to) {
        return Ok(Value::Int(i64::from(*b)));
    }
    let mut one = Column::new(to.physical());
    if convert::push_value(to, value, &mut one, column).is_ok() {
        return Ok(convert::read_value(to, &one, 0));
    }
    let mut text = String::new();
    convert::format_text(from, value, &mut text);
    convert::parse_text(to, &text)
}

/// Writes all segments of a view anew for a plan that converts columns. `edits` name what is written,
/// also when not all of it could be.
pub(super) fn rewrite(
    shared: &Shared,
    view: &TableView,
    plan: &Plan,
    edits: &mut Vec<Edit>,
) -> Result<Vec<Arc<Segment>>> {
    let mut segments = Vec::new();
    for entry in &view.version.segments {
        shared.check_writable()?;
        let meta = rewrite_segment(shared, view, plan, entry)?;
        segments.push((entry.meta.file, meta.file));
        edits.push(Edit::AddSegment(view.schema.id, meta));
    }
    shared.storage.sync_dir()?;
    let open = |(_, file): &(_, _)| Segment::open(&shared.storage, *file, None).map(Arc::new);
    let opened = segments.iter().map(open).collect();
    // Rows never overlap: the old ones go first.
    let removed = segments.iter().map(|(old, _)| Edit::RemoveSegment(view.schema.id, *old));
    edits.splice(0..0, removed);
    opened
}

/// One column of a rewritten segment.
struct Output {
    from: ColumnId,
    to: ColumnId,
    form: Physical,
    /// Types before and after, and the name, where values change.
    cast: Option<(DataType, DataType, String)>,
    /// What calculates them, if not their texts do.
    by: Option<Arc<dyn Convert>>,
}

fn outputs(schema: &TableSchema, plan: &Plan, segment: &Segment) -> Vec<Output> {
    let mut out = Vec::new();
    for column in &plan.schema.columns {
        let form = column.ty.physical();
        if let Some((from, to)) = plan.convert.iter().find(|c| c.1 == column.id).copied() {
            let at = schema.position(from).expect("a column that was there is converted");
            let cast = Some((schema.columns[at].ty, column.ty, column.name.clone()));
            let by = plan.conversions.iter().find(|c| c.0 == to).map(|c| Arc::clone(&c.1.by));
            out.push(Output { from, to, form, cast, by });
        } else if segment.footer().position(column.id).is_some() {
            out.push(Output { from: column.id, to: column.id, form, cast: None, by: None });
        }
    }
    out
}

fn rewrite_segment(
    shared: &Shared,
    view: &TableView,
    plan: &Plan,
    entry: &SegmentEntry,
) -> Result<SegmentMeta> {
    let footer = entry.segment.footer();
    let outputs = outputs(&view.schema, plan, &entry.segment);
    let spec = SegmentSpec {
        table: view.schema.id,
        schema_version: plan.schema.version,
        columns: outputs.iter().map(|o| (o.to, o.form)).collect(),
        row_ids: entry.meta.rows.clone(),
        folded_csn: footer.folded_csn,
        compress: false,
        block_rows: limits::BLOCK_ROWS_MAX,
        purpose: Purpose::Compaction,
        cache: true,
    };
    let projection: Vec<ColumnId> = outputs.iter().map(|o| o.from).collect();
    let form = |o: &Output| o.cast.as_ref().map_or(o.form, |(from, ..)| from.physical());
    let mut batch = Batch::new(outputs.iter().map(form));
    let mut ids = Vec::new();
    let mut writer = SegmentWriter::create(&shared.storage, spec)?;
    let mut scan = SegmentScan::new(&entry.segment, entry.segment.row_ids(), Direction::Forward);
    let mut scratch = ChangeScratch::default();
    while scan.next(&projection, &mut batch, &mut ids)? {
        // The new column begins without changes; the others keep theirs next to the segment.
        let converted = outputs.iter().zip(&mut batch.columns).filter(|(o, _)| o.cast.is_some());
        for (output, column) in converted {
            let (from, version) = (output.from, &view.version);
            version.lay_changes(from, Csn::MAX, &ids, column, 0, false, &mut scratch)?;
        }
        let column = |(output, column): (&Output, &Column)| match &output.cast {
            None => Ok(column.clone()),
            Some((from, to, name)) => match &output.by {
                Some(by) => calculated(view, column, &ids, *to, &**by),
                None => cast_column(view, column, &ids, *from, *to, name),
            },
        };
        let columns = outputs.iter().zip(&batch.columns).map(column);
        let columns = columns.collect::<Result<Vec<Column>>>()?;
        writer.push(&Batch { columns, rows: ids.len() }, &ids)?;
    }
    writer.push_commits(&footer.commits.iter().collect::<Vec<_>>());
    writer.finish()
}

/// The values that a conversion makes of a column.
fn calculated(
    view: &TableView,
    column: &Column,
    rows: &[RowId],
    to: DataType,
    by: &dyn Convert,
) -> Result<Column> {
    assert_eq!(column.len(), rows.len(), "a value for each row");
    if let Ok(made) = by.convert(std::slice::from_ref(column), rows.len()) {
        assert_eq!(made.len(), rows.len(), "a conversion gives a value for each row");
        return Ok(made);
    }
    // Only what lives may end the change.
    let mut out = Column::new(to.physical());
    for (i, &row) in rows.iter().enumerate() {
        let mut one = Column::new(column.data.physical());
        one.extend_range(column, i..i + 1);
        match by.convert(&[one], 1) {
            Ok(made) => {
                assert_eq!(made.len(), 1, "a conversion gives a value for the row");
                out.extend_range(&made, 0..1);
            }
            Err(_) if view.mark_of(row)?.is_some() => out.push_null(),
            Err(e) => return Err(e),
        }
    }
    assert_eq!(out.len(), rows.len(), "a value for each row");
    Ok(out)
}

fn cast_column(
    view: &TableView,
    column: &Column,
    rows: &[RowId],
    from: DataType,
    to: DataType,
    name: &str,
) -> Result<Column> {
    let mut out = Column::new(to.physical());
    for (i, &row) in rows.iter().enumerate() {
        let value = convert::read_value(from, column, i);
        let pushed = cast(&value, from, to, name)
            .and_then(|value| convert::push_value(to, &value, &mut out, name));
        match pushed {
            Err(_) if view.mark_of(row)?.is_some() => out.push_null(),
            pushed => pushed?,
        }
    }
    Ok(out)
}
