//! An editor without an engine, and a table to work on.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use onlap_base::{ColumnId, Csn, IndexId, Result, RowId, TableId};
use onlap_format::key::{ColumnStats, Entries, Packing};
use onlap_format::manifest::{Edit, RunFileMeta, RunMeta};
use onlap_format::marks::Mark;
use onlap_format::{
    Batch, Column, ColumnSchema, DataType, IndexSchema, KeyPart, Physical, TableSchema, Vector,
};

use super::Editor;
use crate::context::StorageContext;
use crate::entry::{Direction, EntryBatch, EntryWants, KeyBounds};
use crate::marks::{MarkRunSpec, MarkRunWriter};
use crate::run::{IndexShape, RunSpec, RunWriter};
use crate::segment::{SegmentSpec, SegmentWriter};
use crate::testing::memory;
use crate::version::{TableVersion, Versions};
use crate::written::Purpose;

pub(crate) const TABLE: TableId = TableId(1);
pub(crate) const INDEX: IndexId = IndexId(1);

/// A database with the table (a int8, b text) and an index on a that includes b where asked.
pub(crate) struct Bare {
    pub versions: Versions,
    pub context: Arc<StorageContext>,
    pub horizon: AtomicU64,
    pub stop: AtomicBool,
}

impl Editor for Bare {
    fn context(&self) -> &Arc<StorageContext> {
        &self.context
    }
    fn version(&self, table: TableId) -> Option<Arc<TableVersion>> {
        self.versions.table(table)
    }
    fn commit(&self, edits: &[Edit]) -> Result<()> {
        self.versions.commit(edits, |_| ())
    }
    fn horizon(&self, _table: TableId) -> Csn {
        self.horizon.load(Ordering::Relaxed)
    }
    fn is_stopping(&self) -> bool {
        self.stop.load(Ordering::Relaxed)
    }
}

pub(crate) fn schema(include: bool) -> TableSchema {
    let column =
        |id: u32, name: &str, ty: DataType| ColumnSchema::new(ColumnId(id), name, ty, true);
    let index = IndexSchema {
        id: INDEX,
        name: "i".into(),
        key: vec![KeyPart { column: ColumnId(1), descending: false }],
        include: if include { vec![ColumnId(2)] } else { vec![] },
        unique: false,
        primary: false,
        judged: None,
        fences_only: false,
        since: 0,
        filter: None,
        multi_entry: false,
        keys: onlap_format::KeysKept::Full,
        only_since: false,
        ready: true,
    };
    TableSchema {
        id: TABLE,
        name: "t".into(),
        version: 1,
        columns: vec![column(1, "a", DataType::Int8), column(2, "b", DataType::Text)],
        indexes: vec![index],
        next_column: 3,
        ..TableSchema::default()
    }
}

/// The row with this id.
pub(crate) fn rows(ids: impl Iterator<Item = RowId>) -> Batch {
    let mut batch = Batch::new([Physical::Int, Physical::Bytes]);
    for id in ids {
        if let Vector::Int(v) = &mut batch.columns[0].data {
            v.push(key_of(id));
        }
        if let Column { data: Vector::Bytes(v), .. } = &mut batch.columns[1] {
            v.push(format!("row {id}").as_bytes());
        }
        batch.rows += 1;
    }
    batch
}

/// Keys that do not rise with the row ids, some of them equal.
pub(crate) fn key_of(row: RowId) -> i64 {
    (row.wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 48) as i64 - 1000
}

impl Bare {
    pub(crate) fn new(include: bool) -> Bare {
        let context = memory(64 << 20);
        let versions = Versions::create(&context).expect("an empty directory");
        let bare = Bare { versions, context, horizon: 0.into(), stop: false.into() };
        bare.commit(&[Edit::CreateTable(schema(include))]).expect("a new table");
        bare
    }

    /// Opens the same files again, with nothing in memory.
    pub(crate) fn reopen(self) -> (Bare, Arc<StorageContext>) {
        let old = &self.context;
        let fresh = memory(64 << 20);
        let (fs, tasks) = (Arc::clone(&old.fs), Arc::clone(&old.tasks));
        let context = StorageContext::new(fs, old.dir.clone(), Arc::clone(&fresh.memory), tasks);
        let versions = Versions::open(&context).expect("a database");
        let horizon = self.horizon(TABLE);
        let bare = Bare {
            versions,
            context: Arc::clone(&context),
            horizon: horizon.into(),
            stop: false.into(),
        };
        (bare, context)
    }

    pub(crate) fn table(&self) -> Arc<TableVersion> {
        self.version(TABLE).expect("the table is there")
    }

    /// Adds a segment of these rows, one commit per ten of them.
    pub(crate) fn add_segment(&self, rows: std::ops::Range<RowId>) {
        let spec = SegmentSpec {
            table: TABLE,
            schema_version: 1,
            columns: vec![(ColumnId(1), Physical::Int), (ColumnId(2), Physical::Bytes)],
            row_ids: rows.clone(),
            folded_csn: 0,
            compress: false,
            block_rows: 100,
            purpose: Purpose::Segment,
            cache: true,
        };
        let mut writer = SegmentWriter::create(&self.context, spec).expect("memory");
        let ids: Vec<RowId> = rows.clone().collect();
        writer.push(&self::rows(rows.clone()), &ids).expect("memory");
        let ends = (rows.start / 10 + 1..=rows.end / 10).map(|i| (i * 10, i));
        writer.push_commits(&ends.collect::<Vec<_>>());
        let meta = writer.finish().expect("memory");
        let edits = [Edit::AddSegment(TABLE, meta), Edit::Flushed(TABLE, rows.end, rows.end / 10)];
        self.commit(&edits).expect("a new segment");
    }

    /// Adds a mark run: row i died at CSN `csn`.
    pub(crate) fn add_marks(&self, rows: impl Iterator<Item = RowId>, csn: Csn) {
        let marks: Vec<Mark> = rows.map(|row| Mark { row, csn, successor: None }).collect();
        let range = marks[0].row..marks[marks.len() - 1].row + 1;
        let spec = MarkRunSpec { table: TABLE, rows: range, csns: csn..csn + 1 };
        let mut writer = MarkRunWriter::create(&self.context, spec).expect("memory");
        writer.push(&marks).expect("memory");
        let meta = writer.finish().expect("memory");
        self.commit(&[Edit::AddMarks(TABLE, meta)]).expect("a new mark run");
    }

    /// Sorted entries (key, row id) of these rows, with their text where the index includes it.
    pub(crate) fn entries(&self, mut keys: Vec<(i64, RowId)>) -> (Arc<Packing>, Entries) {
        keys.sort_unstable();
        let shape = self.shape();
        let column = Column { data: Vector::Int(keys.iter().map(|k| k.0).collect()), nulls: None };
        let mut stats = ColumnStats::new(DataType::Int8);
        stats.observe(&column, 0..keys.len());
        let packing = Arc::new(Packing::fit(&shape.key, &[stats]));
        let mut entries = Entries::new(packing.new_keys(), Batch::new(shape.include_forms()));
        assert!(packing.pack(&[&column], 0..keys.len(), &mut entries.keys));
        entries.row_ids.extend(keys.iter().map(|k| k.1));
        if !shape.include.is_empty() {
            entries.include.columns[0] = rows(keys.iter().map(|k| k.1)).columns.swap_remove(1);
        }
        entries.include.rows = keys.len();
        (packing, entries)
    }

    pub(crate) fn shape(&self) -> Arc<IndexShape> {
        Arc::clone(&self.table().indexes[0].shape)
    }

    /// Writes files with these entries.
    pub(crate) fn write_files(
        &self,
        rows: std::ops::Range<RowId>,
        keys: Vec<(i64, RowId)>,
        file_bytes: u64,
    ) -> Vec<RunFileMeta> {
        let count = keys.len() as u64;
        let (packing, entries) = self.entries(keys);
        let purpose = Purpose::Index(INDEX);
        let spec = RunSpec::new(self.shape(), 1, rows, packing, count, purpose);
        let spec = RunSpec { file_bytes, block_bytes: 500, ..spec };
        let mut writer = RunWriter::new(&self.context, spec);
        writer.push(&entries).expect("memory");
        writer.finish().expect("memory")
    }

    /// Adds a run of these rows, with keys of [`key_of`].
    pub(crate) fn add_run(&self, rows: std::ops::Range<RowId>, file_bytes: u64) -> u64 {
        self.add_run_of(rows.clone(), rows.map(|r| (key_of(r), r)).collect(), file_bytes)
    }

    /// Adds a run with these entries.
    pub(crate) fn add_run_of(
        &self,
        rows: std::ops::Range<RowId>,
        keys: Vec<(i64, RowId)>,
        file_bytes: u64,
    ) -> u64 {
        let files = self.write_files(rows.clone(), keys, file_bytes);
        let id = files[0].file.0;
        let run = RunMeta { id, level: 0, rows, files, trim: None, group: None };
        self.commit(&[Edit::AddRun(TABLE, INDEX, run)]).expect("a new run");
        id
    }

    /// All entries of the index, read through cursors: (key bytes, row id, included text), sorted.
    pub(crate) fn read_index(&self) -> Vec<(Vec<u8>, RowId, Vec<u8>)> {
        let include: Vec<usize> = (0..self.shape().include.len()).collect();
        let wants = EntryWants { keys: true, include, ..EntryWants::default() };
        let (mut cursors, all) = (vec![], KeyBounds::all());
        let version = self.table();
        version
            .cursors(INDEX, &all, Direction::Forward, &wants, RowId::MAX, &mut cursors)
            .expect("memory");
        let (mut found, mut batch) = (vec![], EntryBatch::default());
        for cursor in &mut cursors {
            while cursor.next(1000, &mut batch).expect("memory") {
                for i in 0..batch.len() {
                    let text = match batch.columns.columns.first().map(|c| &c.data) {
                        Some(Vector::Bytes(v)) => v.get(i).to_vec(),
                        _ => vec![],
                    };
                    found.push((batch.keys.get(i).to_vec(), batch.row_ids[i], text));
                }
            }
        }
        found.sort();
        found
    }
}
