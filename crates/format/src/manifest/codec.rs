//! How does an edit lie in its record?
//!
//! One byte of kind, then the fields in the order of [`Edit`]'s declaration: ids, counts, row ids
//! and CSNs as varints; ranges as start and length; serial values as signed varints; keys and names
//! as byte strings behind their length; options as a flag byte before the value.
//!
//! What was written before its commit has kinds of its own, 40 to 42, which end in the bases and the
//! CSN: of the segment, of each file of the run, of marked rows and successors.
//!
//! A timeline (kind 51) is the CSN up to which points go, the number of points, and per point the
//! differences of CSN (varint) and time (signed varint) to the point before, to zeros at first.
//!
//! Kinds 60 and 61 are 21 and 22 of a table that takes blind writes; 62 is its resolved row id. Kinds 63 and
//! 64 are 21 and 22 of a table with derived columns, which follow.
//!
//! Kinds 80 and 81 are 21 and 22 of a table of whose rules there is more to say, which follows them behind
//! flags (1 blind writes, 2 derived columns, 4 generated columns), and then the derived and the generated columns.
//!
//! Kind 28 says where a sequence stands by its last value; kind 26, by the next one, is all that older files have.
//!
//! Kind 70 is the newest log file that was begun: number (varint), stamp (8 bytes), length (varint).
//!
//! Schemas of tables and sequences lie as [`schema`] says. Kinds 1 and 2 are what version 1 of the
//! format had for kinds 21 and 22, without rules; they are read, never written.

use std::ops::Range;

use onlap_base::{ColumnId, Csn, FileId, IndexId, Result, SequenceId, TableId};

use super::edit::{Adopted, Edit, MarkRunMeta, RunFileMeta, RunMeta, SegmentMeta, WrittenTotals};
use crate::log::LogBegun;
use crate::marks::MarkShift;
use crate::schema::TableSchema;
use crate::wire::{Reader, put_bytes, put_signed, put_varint};
use schema::{
    Rules, put_derived, put_generated, put_more_rules, put_sequence, put_table, read_derived,
    read_flags, read_generated, read_more_rules, read_sequence, read_table_schema, with_its_lists,
};

mod schema;

const ADOPT_SEGMENT: u8 = 40;
const ADOPT_RUN: u8 = 41;
const ADOPT_MARKS: u8 = 42;
const HISTORY_FLOOR: u8 = 50;
const TIMELINE: u8 = 51;
const CREATE_BLIND: u8 = 60;
const CHANGE_BLIND: u8 = 61;
const RESOLVED: u8 = 62;
const CREATE_DERIVED: u8 = 63;
const CHANGE_DERIVED: u8 = 64;
const LOG_BEGUN: u8 = 70;
const CREATE_RULED: u8 = 80;
const CHANGE_RULED: u8 = 81;

/// Appends an edit.
pub(super) fn put_edit(out: &mut Vec<u8>, edit: &Edit) {
    match edit {
        Edit::CreateTable(schema) if schema.has_more_rules() => {
            put_ruled(out, CREATE_RULED, schema);
        }
        Edit::ChangeTable(schema) if schema.has_more_rules() => {
            put_ruled(out, CHANGE_RULED, schema);
        }
        Edit::CreateTable(schema) => {
            put_kind_schema(out, [21, CREATE_BLIND, CREATE_DERIVED], schema);
        }
        Edit::ChangeTable(schema) => {
            put_kind_schema(out, [22, CHANGE_BLIND, CHANGE_DERIVED], schema);
        }
        Edit::DropTable(table) => put_numbers(out, 3, &[table.0.into()]),
        Edit::AddSegment(table, s) => {
            let kind = if s.adopted.is_some() { ADOPT_SEGMENT } else { 4 };
            put_numbers(out, kind, &[table.0.into(), s.file.0, s.bytes]);
            put_range(out, &s.rows);
            [s.count, s.schema.into(), s.folded_csn].iter().for_each(|v| put_varint(out, *v));
            if let Some(Adopted { base, csn }) = s.adopted {
                [base, csn].iter().for_each(|v| put_varint(out, *v));
            }
        }
        Edit::RemoveSegment(table, file) => put_numbers(out, 5, &[table.0.into(), file.0]),
        Edit::AddRun(table, index, run) => {
            let adopted = run.files.iter().any(|f| f.base > 0);
            let kind = if adopted { ADOPT_RUN } else { 6 };
            put_numbers(out, kind, &[table.0.into(), index.0.into()]);
            put_run(out, run);
            if adopted {
                run.files.iter().for_each(|f| put_varint(out, f.base));
            }
        }
        Edit::ExtendRun(table, index, run, files) => {
            put_numbers(out, 7, &[table.0.into(), index.0.into(), *run]);
            put_files(out, files);
        }
        Edit::TrimRun(table, index, run, key) => {
            put_numbers(out, 8, &[table.0.into(), index.0.into(), *run]);
            put_bytes(out, key);
        }
        Edit::RemoveRun(table, index, run) => {
            put_numbers(out, 9, &[table.0.into(), index.0.into(), *run]);
        }
        Edit::FinishRun(table, index, run) => {
            put_numbers(out, 10, &[table.0.into(), index.0.into(), *run]);
        }
        Edit::AddMarks(table, m) => {
            let kind = if m.adopted.is_some() { ADOPT_MARKS } else { 11 };
            put_numbers(out, kind, &[table.0.into(), m.file.0, m.bytes]);
            put_range(out, &m.rows);
            put_range(out, &m.csns);
            put_varint(out, m.marks);
            put_varint(out, m.level.into());
            if let Some(MarkShift { rows, successors, csn }) = m.adopted {
                [rows, successors, csn].iter().for_each(|v| put_varint(out, *v));
            }
        }
        Edit::RemoveMarks(table, file) => put_numbers(out, 12, &[table.0.into(), file.0]),
        Edit::Flushed(table, rows, csn) => put_numbers(out, 13, &[table.0.into(), *rows, *csn]),
        Edit::Serial(table, column, next) => {
            put_numbers(out, 14, &[table.0.into(), column.0.into()]);
            put_signed(out, *next);
        }
        Edit::NextIds { file, table, index } => {
            put_numbers(out, 15, &[*file, (*table).into(), (*index).into()]);
        }
        Edit::LogOldest(number) => put_numbers(out, 16, &[*number]),
        Edit::LogBegun(LogBegun { file, stamp, bytes }) => {
            put_numbers(out, LOG_BEGUN, &[*file]);
            out.extend_from_slice(&stamp.to_le_bytes());
            put_varint(out, *bytes);
        }
        Edit::Csn(csn) => put_numbers(out, 17, &[*csn]),
        Edit::Written(w) => {
            put_numbers(out, 18, &[w.log, w.segments, w.compaction, w.marks, w.manifest]);
        }
        Edit::WrittenIndex(index, flushed, merged) => {
            put_numbers(out, 19, &[index.0.into(), *flushed, *merged]);
        }
        Edit::JoinMerge(table, index, run, group) => {
            put_numbers(out, 20, &[table.0.into(), index.0.into(), *run, *group]);
        }
        Edit::CreateSequence(sequence) => {
            out.push(23);
            put_sequence(out, sequence);
        }
        Edit::ChangeSequence(sequence) => {
            out.push(24);
            put_sequence(out, sequence);
        }
        Edit::DropSequence(id) => put_numbers(out, 25, &[id.0.into()]),
        Edit::SequenceNext(id, next) => {
            put_numbers(out, 26, &[id.0.into()]);
            out.push(u8::from(next.is_some()));
            next.iter().for_each(|v| put_signed(out, *v));
        }
        Edit::SequenceTaken(id, last) => {
            put_numbers(out, 28, &[id.0.into()]);
            put_signed(out, *last);
        }
        Edit::NextSequence(next) => put_numbers(out, 27, &[(*next).into()]),
        Edit::HistoryFloor(table, csn) => {
            put_numbers(out, HISTORY_FLOOR, &[table.0.into(), *csn]);
        }
        Edit::Resolved(table, row) => put_numbers(out, RESOLVED, &[table.0.into(), *row]),
        Edit::Timeline(upto, points) => {
            put_numbers(out, TIMELINE, &[*upto, points.len() as u64]);
            let mut before = (0, 0);
            for &(csn, time) in points {
                put_varint(out, csn.wrapping_sub(before.0));
                put_signed(out, time.wrapping_sub(before.1));
                before = (csn, time);
            }
        }
    }
}

/// Reads an edit.
pub(super) fn read_edit(r: &mut Reader<'_>) -> Result<Edit> {
    Ok(match r.u8()? {
        1 => Edit::CreateTable(read_plain_table(r, Rules::Absent)?),
        2 => Edit::ChangeTable(read_plain_table(r, Rules::Absent)?),
        3 => Edit::DropTable(read_table(r)?),
        4 => Edit::AddSegment(read_table(r)?, read_segment(r)?),
        5 => Edit::RemoveSegment(read_table(r)?, FileId(r.varint()?)),
        6 => Edit::AddRun(read_table(r)?, read_index(r)?, read_run(r)?),
        7 => Edit::ExtendRun(read_table(r)?, read_index(r)?, r.varint()?, read_files(r)?),
        8 => Edit::TrimRun(read_table(r)?, read_index(r)?, r.varint()?, r.bytes()?.to_vec()),
        9 => Edit::RemoveRun(read_table(r)?, read_index(r)?, r.varint()?),
        10 => Edit::FinishRun(read_table(r)?, read_index(r)?, r.varint()?),
        11 => Edit::AddMarks(read_table(r)?, read_marks(r)?),
        12 => Edit::RemoveMarks(read_table(r)?, FileId(r.varint()?)),
        13 => Edit::Flushed(read_table(r)?, r.varint()?, r.varint()?),
        14 => Edit::Serial(read_table(r)?, ColumnId(r.varint32()?), r.signed()?),
        15 => Edit::NextIds { file: r.varint()?, table: r.varint32()?, index: r.varint32()? },
        16 => Edit::LogOldest(r.varint()?),
        LOG_BEGUN => {
            let file = r.varint()?;
            Edit::LogBegun(LogBegun { file, stamp: r.u64()?, bytes: r.varint()? })
        }
        17 => Edit::Csn(r.varint()?),
        18 => Edit::Written(WrittenTotals {
            log: r.varint()?,
            segments: r.varint()?,
            compaction: r.varint()?,
            marks: r.varint()?,
            manifest: r.varint()?,
        }),
        19 => Edit::WrittenIndex(read_index(r)?, r.varint()?, r.varint()?),
        20 => Edit::JoinMerge(read_table(r)?, read_index(r)?, r.varint()?, r.varint()?),
        21 => Edit::CreateTable(read_plain_table(r, Rules::Present)?),
        22 => Edit::ChangeTable(read_plain_table(r, Rules::Present)?),
        23 => Edit::CreateSequence(read_sequence(r)?),
        24 => Edit::ChangeSequence(read_sequence(r)?),
        25 => Edit::DropSequence(SequenceId(r.varint32()?)),
        26 => {
            let id = SequenceId(r.varint32()?);
            Edit::SequenceNext(id, if r.flag()? { Some(r.signed()?) } else { None })
        }
        27 => Edit::NextSequence(r.varint32()?),
        28 => Edit::SequenceTaken(SequenceId(r.varint32()?), r.signed()?),
        CREATE_BLIND => Edit::CreateTable(read_blind_table(r)?),
        CHANGE_BLIND => Edit::ChangeTable(read_blind_table(r)?),
        CREATE_RULED => Edit::CreateTable(read_ruled(r)?),
        CHANGE_RULED => Edit::ChangeTable(read_ruled(r)?),
        CREATE_DERIVED => Edit::CreateTable(read_deriving_table(r)?),
        CHANGE_DERIVED => Edit::ChangeTable(read_deriving_table(r)?),
        RESOLVED => Edit::Resolved(read_table(r)?, r.varint()?),
        HISTORY_FLOOR => Edit::HistoryFloor(read_table(r)?, r.varint()?),
        TIMELINE => {
            let upto = r.varint()?;
            let n = r.count(2)?;
            let mut points: Vec<(Csn, i64)> = Vec::with_capacity(n);
            for _ in 0..n {
                let (csn, time) = points.last().copied().unwrap_or_default();
                points.push((csn.wrapping_add(r.varint()?), time.wrapping_add(r.signed()?)));
            }
            Edit::Timeline(upto, points)
        }
        ADOPT_SEGMENT => {
            let (table, segment) = (read_table(r)?, read_segment(r)?);
            let adopted = Some(Adopted { base: r.varint()?, csn: r.varint()? });
            Edit::AddSegment(table, SegmentMeta { adopted, ..segment })
        }
        ADOPT_RUN => {
            let (table, index, mut run) = (read_table(r)?, read_index(r)?, read_run(r)?);
            for file in &mut run.files {
                file.base = r.varint()?;
            }
            Edit::AddRun(table, index, run)
        }
        ADOPT_MARKS => {
            let (table, marks) = (read_table(r)?, read_marks(r)?);
            let (rows, successors, csn) = (r.varint()?, r.varint()?, r.varint()?);
            let adopted = Some(MarkShift { rows, successors, csn });
            Edit::AddMarks(table, MarkRunMeta { adopted, ..marks })
        }
        _ => return Err(r.error("an unknown kind of manifest edit")),
    })
}

fn put_numbers(out: &mut Vec<u8>, kind: u8, numbers: &[u64]) {
    out.push(kind);
    numbers.iter().for_each(|v| put_varint(out, *v));
}

/// The kinds of a plain table, one with blind writes, one with derived columns.
fn put_kind_schema(out: &mut Vec<u8>, kinds: [u8; 3], schema: &TableSchema) {
    let derives = schema.next_derived > 0;
    assert!(!(schema.blind && derives), "a table with blind writes has no derived columns");
    out.push(kinds[if derives { 2 } else { usize::from(schema.blind) }]);
    put_table(out, schema);
    if derives {
        put_derived(out, schema);
    }
}

fn read_plain_table(r: &mut Reader<'_>, rules: Rules) -> Result<TableSchema> {
    let schema = read_table_schema(r, rules)?;
    with_its_lists(r, schema)
}

fn read_deriving_table(r: &mut Reader<'_>) -> Result<TableSchema> {
    let mut schema = read_table_schema(r, Rules::Present)?;
    read_derived(r, &mut schema)?;
    with_its_lists(r, schema)
}

fn read_blind_table(r: &mut Reader<'_>) -> Result<TableSchema> {
    Ok(TableSchema { blind: true, ..read_plain_table(r, Rules::Present)? })
}

fn put_ruled(out: &mut Vec<u8>, kind: u8, schema: &TableSchema) {
    let derives = schema.next_derived > 0;
    out.push(kind);
    put_table(out, schema);
    let generates = !schema.generated.is_empty();
    out.push(u8::from(schema.blind) | u8::from(derives) << 1 | u8::from(generates) << 2);
    put_more_rules(out, schema);
    if derives {
        put_derived(out, schema);
    }
    if generates {
        put_generated(out, schema);
    }
}

fn read_ruled(r: &mut Reader<'_>) -> Result<TableSchema> {
    let schema = read_table_schema(r, Rules::Present)?;
    let [blind, derives, generates] = read_flags(r)?;
    let mut schema = TableSchema { blind, ..schema };
    read_more_rules(r, &mut schema)?;
    if derives {
        read_derived(r, &mut schema)?;
    }
    if generates {
        read_generated(r, &mut schema)?;
    }
    with_its_lists(r, schema)
}

fn put_range(out: &mut Vec<u8>, range: &Range<u64>) {
    put_varint(out, range.start);
    put_varint(out, range.end.saturating_sub(range.start));
}

fn read_range(r: &mut Reader<'_>) -> Result<Range<u64>> {
    let start = r.varint()?;
    let end = start.checked_add(r.varint()?);
    Ok(start..end.ok_or_else(|| r.error("a range that ends above 64 bits"))?)
}

fn read_table(r: &mut Reader<'_>) -> Result<TableId> {
    Ok(TableId(r.varint32()?))
}

fn read_index(r: &mut Reader<'_>) -> Result<IndexId> {
    Ok(IndexId(r.varint32()?))
}

fn read_segment(r: &mut Reader<'_>) -> Result<SegmentMeta> {
    Ok(SegmentMeta {
        file: FileId(r.varint()?),
        bytes: r.varint()?,
        rows: read_range(r)?,
        count: r.varint()?,
        schema: r.varint32()?,
        folded_csn: r.varint()?,
        adopted: None,
    })
}

fn read_marks(r: &mut Reader<'_>) -> Result<MarkRunMeta> {
    Ok(MarkRunMeta {
        file: FileId(r.varint()?),
        bytes: r.varint()?,
        rows: read_range(r)?,
        csns: read_range(r)?,
        marks: r.varint()?,
        level: r.varint32()?,
        adopted: None,
    })
}

fn put_run(out: &mut Vec<u8>, run: &RunMeta) {
    put_varint(out, run.id);
    put_varint(out, run.level.into());
    put_range(out, &run.rows);
    out.push(u8::from(run.trim.is_some()));
    if let Some(trim) = &run.trim {
        put_bytes(out, trim);
    }
    out.push(u8::from(run.group.is_some()));
    if let Some(group) = run.group {
        put_varint(out, group);
    }
    put_files(out, &run.files);
}

fn read_run(r: &mut Reader<'_>) -> Result<RunMeta> {
    let (id, level, rows) = (r.varint()?, r.varint32()?, read_range(r)?);
    let trim = if r.flag()? { Some(r.bytes()?.to_vec()) } else { None };
    let group = if r.flag()? { Some(r.varint()?) } else { None };
    Ok(RunMeta { id, level, rows, files: read_files(r)?, trim, group })
}

fn put_files(out: &mut Vec<u8>, files: &[RunFileMeta]) {
    put_varint(out, files.len() as u64);
    for f in files {
        [f.file.0, f.bytes, f.entries].iter().for_each(|v| put_varint(out, *v));
        put_bytes(out, &f.first_key);
        put_bytes(out, &f.last_key);
    }
}

fn read_files(r: &mut Reader<'_>) -> Result<Vec<RunFileMeta>> {
    let n = r.count(5)?;
    let mut files = Vec::with_capacity(n);
    for _ in 0..n {
        files.push(RunFileMeta {
            file: FileId(r.varint()?),
            bytes: r.varint()?,
            entries: r.varint()?,
            first_key: r.bytes()?.to_vec(),
            last_key: r.bytes()?.to_vec(),
            base: 0,
        });
    }
    Ok(files)
}
