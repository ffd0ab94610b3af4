use onlap_base::ColumnId;
use onlap_format::manifest::MarkRunMeta;
use onlap_format::marks::{Mark, MarkShift};
use onlap_format::{Batch, Physical, Value};

use super::*;
use crate::compact;
use crate::editor::Editor;
use crate::editor::double::{Bare, INDEX, TABLE, key_of, rows};
use crate::marks::{MarkRunSpec, MarkRunWriter};
use crate::segment::{SegmentSpec, SegmentWriter};
use crate::written::Purpose;

const COLUMNS: [ColumnId; 2] = [ColumnId(1), ColumnId(2)];

/// Rows that a transaction has: every fifth from 600 on is missing, so that both kinds of blocks are
/// there.
fn ordinals() -> Vec<RowId> {
    (0..1000).filter(|i| *i < 600 || i % 5 > 0).collect()
}

/// The transaction's files: two segments, two runs.
fn write(bare: &Bare) -> PrivateFiles {
    let mut private = PrivateFiles::default();
    for part in [0..500, 500..1000] {
        let spec = SegmentSpec {
            table: TABLE,
            schema_version: 1,
            columns: vec![(COLUMNS[0], Physical::Int), (COLUMNS[1], Physical::Bytes)],
            row_ids: part.clone(),
            folded_csn: 0,
            compress: false,
            block_rows: 100,
            purpose: Purpose::Segment,
            cache: false,
        };
        let ids: Vec<RowId> = ordinals().into_iter().filter(|i| part.contains(i)).collect();
        let mut writer = SegmentWriter::create(&bare.context, spec).unwrap();
        writer.push(&rows(ids.iter().copied()), &ids).unwrap();
        private.segments.push(writer.finish().unwrap());
        let keys = ids.iter().map(|r| (key_of(*r), *r)).collect();
        let files = bare.write_files(part.clone(), keys, 3000);
        let id = files[0].file.0;
        let run = RunMeta { id, level: 0, rows: part, files, trim: None, group: None };
        private.runs.push((INDEX, run));
    }
    private
}

/// Everything that a version says of the transaction's rows, which begin at `base`.
fn look(bare: &Bare, version: &TableVersion, base: RowId) {
    assert_eq!(version.flushed_rows, base + 1000);
    let all: Vec<RowId> = (base..base + 1000).collect();
    let (mut out, mut found) = (Batch::new([Physical::Int, Physical::Bytes]), Vec::new());
    version.read_rows(&all, &COLUMNS, &mut out, &mut found).unwrap();
    assert_eq!(found, ordinals().iter().map(|i| base + i).collect::<Vec<_>>());
    assert_eq!(out, rows(ordinals().into_iter()));
    for ordinal in [0, 1, 499, 500, 601, 604, 999] {
        let key = bare.shape().key.encode_values(&[Value::Int(key_of(ordinal))]).unwrap();
        let newest = ordinals().into_iter().rfind(|i| key_of(*i) == key_of(ordinal)).unwrap();
        let found = version.newest_with_key(INDEX, &key, RowId::MAX, &mut 0).unwrap();
        assert_eq!(found, Some(base + newest));
        assert!(version.segment_of(base + ordinal).unwrap().meta.rows.contains(&(base + ordinal)));
    }
    assert!(version.has_gaps_at(base + 600));
    let runs = &version.index(INDEX).unwrap().runs;
    assert!(runs.iter().any(|r| r.run.files()[0].rows().start == base));
}

#[test]
fn files_are_read_under_provisional_ids_and_then_under_their_own() {
    let bare = Bare::new(true);
    bare.add_segment(0..70);
    bare.add_run(0..70, 1 << 20);
    let before = bare.read_index();
    let schema = bare.table().schema.clone();
    let private = write(&bare);
    let files = bare.versions.files();
    let seen = TableVersion::private(files, &schema, &private, None).unwrap();
    look(&bare, &seen, PROVISIONAL_BASE);
    let again = TableVersion::private(files, &schema, &private, Some(&seen)).unwrap();
    assert!(Arc::ptr_eq(&seen.segments[1].segment, &again.segments[1].segment));

    let adopted: Vec<Edit> =
        private.edits(TABLE, 70, 33).chain([Edit::Flushed(TABLE, 1070, 33)]).collect();
    bare.commit(&adopted).unwrap();
    // Blocks that the transaction left in the cache are not taken for those of the table.
    look(&bare, &bare.table(), 70);
    look(&bare, &seen, PROVISIONAL_BASE);
    drop((seen, again));
    look(&bare, &bare.table(), 70);

    let (bare, context) = bare.reopen();
    look(&bare, &bare.table(), 70);
    let entries = bare.read_index();
    assert_eq!(entries.len(), before.len() + ordinals().len());
    let table = bare.table();
    let commits = &table.segments[1].segment.footer().commits;
    assert_eq!(
        (commits.csn_of(70), commits.csn_of(569), commits.csn_of(570)),
        (Some(33), Some(33), None)
    );
    for file in private.files() {
        assert!(context.fs.exists(&context.dir.join(file.name())).unwrap());
    }
}

#[test]
fn a_compaction_leaves_the_base_behind_and_keeps_the_commit() {
    let bare = Bare::new(false);
    let private = write(&bare);
    let adopted = private.edits(TABLE, 70, 33).chain([Edit::Flushed(TABLE, 1070, 33)]);
    bare.commit(&adopted.collect::<Vec<_>>()).unwrap();
    bare.add_marks(70..470, 40);
    bare.horizon.store(50, std::sync::atomic::Ordering::Relaxed);
    let candidate = compact::choose(&bare.table(), 50, 0.2, 0.2).unwrap().unwrap();
    assert_eq!(candidate.dead, 400);
    assert!(compact::compact(&bare, TABLE, &candidate).unwrap());
    let version = bare.version(TABLE).unwrap();
    let segment = &version.segments[0];
    assert_eq!((segment.meta.adopted, segment.meta.count), (None, 100));
    assert_eq!(segment.segment.footer().commits.csn_of(480), Some(33));
    let (mut out, mut found) = (Batch::new([Physical::Int, Physical::Bytes]), Vec::new());
    version.read_rows(&[480, 669, 671], &COLUMNS, &mut out, &mut found).unwrap();
    assert_eq!((found, out), (vec![480, 669, 671], rows([410, 599, 601].into_iter())));
}

#[test]
fn marks_written_before_their_commit() {
    let bare = Bare::new(false);
    bare.add_segment(0..2000);
    let mark = |row, successor| Mark { row, csn: 0, successor };
    let write = |marks: &[Mark]| {
        let range = marks[0].row..marks[marks.len() - 1].row + 1;
        let spec = MarkRunSpec { table: TABLE, rows: range, csns: 0..1 };
        let mut writer = MarkRunWriter::create(&bare.context, spec).unwrap();
        writer.push(marks).unwrap();
        writer.finish().unwrap()
    };
    // Of rows of the table, replaced by rows of the transaction; and of rows of the transaction.
    let old = write(&[mark(3, Some(0)), mark(900, None), mark(1999, Some(7))]);
    let own = write(&(0..3000).step_by(3).map(|i| mark(i, None)).collect::<Vec<_>>());
    let adopt = |meta: &MarkRunMeta, rows: RowId| {
        let shift = MarkShift { rows, successors: 2000, csn: 444 };
        let place = meta.rows.start + rows..meta.rows.end + rows;
        let meta =
            MarkRunMeta { rows: place, csns: 444..445, adopted: Some(shift), ..meta.clone() };
        Edit::AddMarks(TABLE, meta)
    };
    bare.commit(&[adopt(&old, 0), adopt(&own, 2000), Edit::Flushed(TABLE, 5000, 444)]).unwrap();
    let check = |bare: &Bare| {
        let version = bare.table();
        let mark_of = |row| version.mark_of(row).unwrap();
        assert_eq!(mark_of(3), Some((444, Some(2000))));
        assert_eq!((mark_of(900), mark_of(901)), (Some((444, None)), None));
        assert_eq!(mark_of(1999), Some((444, Some(2007))));
        assert_eq!(
            (mark_of(2000), mark_of(2001), mark_of(4997)),
            (Some((444, None)), None, Some((444, None)))
        );
        assert_eq!(version.dead_rows(0..5000, 443).unwrap(), []);
        let dead = version.dead_rows(0..5000, 444).unwrap();
        assert_eq!((dead.len(), dead[2], dead[3], dead[1002]), (1003, 1999, 2000, 4997));
        let asked: Vec<RowId> = (1990..2100).collect();
        let mut keep = vec![true; asked.len()];
        version.drop_dead(&asked, 444, &mut keep).unwrap();
        assert_eq!(keep.iter().filter(|k| !**k).count(), 35);
    };
    check(&bare);
    check(&bare.reopen().0);
}
