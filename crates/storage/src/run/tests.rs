use std::collections::BTreeSet;

use onlap_base::names::FileKind;
use onlap_base::{FileId, Rng};
use onlap_format::affine::PIECES_MAX;
use onlap_format::key::{ColumnStats, Entries, KeyColumn, Packing};
use onlap_format::{Batch, BytesVec, Column, DataType, Vector};

use super::*;
use crate::context::StorageContext;
use crate::entry::{EntryBatch, EntryCursor};
use crate::testing::{damage, disk, memory};
use crate::written::Purpose;

mod forms;
mod stories;

/// Entries of an index in order, straight from the rows.
struct Model {
    shape: Arc<IndexShape>,
    /// Key columns, then INCLUDE columns, in entry order.
    columns: Vec<Column>,
    keys: BytesVec,
    row_ids: Vec<RowId>,
}

fn shape(key: &[(DataType, bool)], include: &[Physical], unique: bool) -> Arc<IndexShape> {
    let columns = key.iter().map(|(ty, descending)| KeyColumn { ty: *ty, descending: *descending });
    Arc::new(IndexShape {
        table: TableId(1),
        index: IndexId(2),
        key: KeyDef::new(columns.collect()),
        include: include.iter().enumerate().map(|(i, f)| (ColumnId(50 + i as u32), *f)).collect(),
        unique,
        multi_entry: false,
    })
}

/// A column of few or many distinct values.
fn column(rng: &mut Rng, form: Physical, n: usize, distinct: u64, nulls: f64) -> Column {
    let mut column = Column::new(form);
    let long = rng.chance(0.3);
    for _ in 0..n {
        if rng.chance(nulls) {
            column.push_null();
            continue;
        }
        let v = rng.below(distinct);
        match &mut column.data {
            Vector::Int(data) => data.push(v as i64),
            Vector::Wide(data) => data.push((v as i128 * 0x1234_5678_9abc_def1) << 40),
            Vector::Numeric(..) => unreachable!("not asked for"),
            Vector::Bytes(data) if long => data.push(format!("{v:0>24}").as_bytes()),
            Vector::Bytes(data) => data.push(format!("{v:x}").as_bytes()),
        }
        column.pushed();
    }
    column
}

impl Model {
    fn new(shape: Arc<IndexShape>, columns: Vec<Column>, row_ids: Vec<RowId>) -> Model {
        let n = row_ids.len();
        let key: Vec<&Column> = columns[..shape.key.columns.len()].iter().collect();
        let bytes = |i: usize| {
            let mut out = Vec::new();
            shape.key.encode_row(&key, i, &mut out);
            out
        };
        let mut order: Vec<(Vec<u8>, RowId, u32)> =
            (0..n).map(|i| (bytes(i), row_ids[i], i as u32)).collect();
        order.sort();
        let positions: Vec<u32> = order.iter().map(|o| o.2).collect();
        let sorted = |c: &Column| {
            let mut out = Column::new(c.data.physical());
            out.extend_selected(c, &positions);
            out
        };
        let mut keys = BytesVec::default();
        order.iter().for_each(|o| keys.push(&o.0));
        let columns = columns.iter().map(sorted).collect();
        Model { columns, keys, row_ids: order.iter().map(|o| o.1).collect(), shape }
    }

    fn random(rng: &mut Rng, shape: Arc<IndexShape>, n: usize, nulls: f64) -> Model {
        let mut columns = Vec::new();
        for c in &shape.key.columns {
            let distinct = match c.ty {
                DataType::Bool => 2,
                DataType::Int2 | DataType::Int4 => *rng.pick(&[2, 50, 30_000]),
                _ => *rng.pick(&[2, 50, 1 << 40]),
            };
            columns.push(column(rng, c.ty.physical(), n, distinct, nulls));
        }
        for (_, form) in &shape.include {
            columns.push(column(rng, *form, n, 1000, 0.1));
        }
        let mut rows = BTreeSet::new();
        while rows.len() < n {
            rows.insert(500 + rng.below(n as u64 * 3));
        }
        Model::new(shape, columns, rows.into_iter().collect())
    }

    fn len(&self) -> usize {
        self.row_ids.len()
    }

    fn entries(&self) -> (Arc<Packing>, Entries) {
        let key: Vec<&Column> = self.columns[..self.shape.key.columns.len()].iter().collect();
        let stats: Vec<ColumnStats> = key
            .iter()
            .zip(&self.shape.key.columns)
            .map(|(c, k)| {
                let mut stats = ColumnStats::new(k.ty);
                stats.observe(c, 0..c.len());
                stats
            })
            .collect();
        let packing = Arc::new(Packing::fit(&self.shape.key, &stats));
        let include = Batch::new(self.shape.include_forms());
        let mut entries = Entries::new(packing.new_keys(), include);
        assert!(packing.pack(&key, 0..self.len(), &mut entries.keys));
        entries.row_ids = self.row_ids.clone();
        entries.include.columns = self.columns[key.len()..].to_vec();
        entries.include.rows = self.len();
        (packing, entries)
    }

    fn spec(&self, packing: Arc<Packing>) -> RunSpec {
        let (shape, n) = (self.shape.clone(), self.len() as u64);
        RunSpec::new(shape, 1, 0..1 << 40, packing, n, Purpose::Index(IndexId(2)))
    }

    /// Writes all entries, in pieces of any size.
    fn write(
        &self,
        context: &Arc<StorageContext>,
        rng: &mut Rng,
        blocks: usize,
        files: u64,
    ) -> Run {
        let (packing, entries) = self.entries();
        let spec = RunSpec { block_bytes: blocks, file_bytes: files, ..self.spec(packing.clone()) };
        let mut writer = RunWriter::new(context, spec);
        let (mut at, mut metas) = (0, Vec::new());
        let piece = *rng.pick(&[10, 1000, 100_000]);
        while at < self.len() {
            let end = self.len().min(at + 1 + rng.index(piece));
            let mut part = Entries::new(packing.new_keys(), Batch::new(self.shape.include_forms()));
            part.extend_range(&entries, at..end);
            writer.push(&part).unwrap();
            metas.extend(writer.take_finished());
            at = end;
        }
        metas.extend(writer.finish().unwrap());
        assert_eq!(metas.iter().map(|m| m.entries).sum::<u64>(), self.len() as u64);
        let bytes: u64 = metas.iter().map(|m| m.bytes).sum();
        assert_eq!(context.written.report().total(), bytes);
        assert!(metas.windows(2).all(|w| w[0].last_key <= w[1].first_key));
        let open = |id: FileId| Arc::new(RunFile::open(context, &self.shape, id, 0).unwrap());
        Run::new(self.shape.clone(), metas.iter().map(|m| open(m.file)).collect(), None)
    }

    /// A whole key, or its first columns.
    fn some_key(&self, rng: &mut Rng) -> Vec<u8> {
        let mut key =
            if self.len() == 0 { vec![] } else { self.keys.get(rng.index(self.len())).to_vec() };
        if rng.chance(0.5) {
            let mut values = self.shape.key.decode(&key).unwrap();
            values.truncate(rng.index(values.len() + 1));
            key = self.shape.key.encode_values(&values).unwrap();
        }
        if rng.chance(0.2) && !key.is_empty() {
            let i = rng.index(key.len());
            key[i] = key[i].wrapping_add(1);
        }
        key
    }

    fn bounds(&self, rng: &mut Rng) -> KeyBounds {
        match rng.below(4) {
            0 => KeyBounds::prefix(&self.some_key(rng)),
            1 => KeyBounds::all(),
            _ => {
                let mut side = |p| rng.chance(p).then(|| (self.some_key(rng), rng.chance(0.5)));
                KeyBounds { lower: side(0.8), upper: side(0.8) }
            }
        }
    }

    fn wanted(&self, bounds: &KeyBounds, trim: Option<&[u8]>) -> Vec<u32> {
        let inside = |key: &[u8]| bounds.contains(key) && trim.is_none_or(|t| key >= t);
        (0..self.len() as u32).filter(|i| inside(self.keys.get(*i as usize))).collect()
    }

    fn expected(&self, positions: &[u32], wants: &EntryWants) -> EntryBatch {
        let mut out = EntryBatch::default();
        out.reset(&self.shape.forms(wants));
        let keys = self.shape.key.columns.len();
        let sources = wants.key_columns.iter().copied();
        let sources = sources.chain(wants.include.iter().map(|i| keys + i));
        for (to, from) in out.columns.columns.iter_mut().zip(sources) {
            to.extend_selected(&self.columns[from], positions);
        }
        out.columns.rows = positions.len();
        for i in positions {
            out.row_ids.push(self.row_ids[*i as usize]);
            if wants.keys {
                out.keys.push(self.keys.get(*i as usize));
            }
        }
        out
    }
}

fn same(a: &EntryBatch, b: &EntryBatch) {
    assert_eq!((&a.keys, &a.row_ids, a.columns.rows), (&b.keys, &b.row_ids, b.columns.rows));
    for (x, y) in a.columns.columns.iter().zip(&b.columns.columns) {
        assert_eq!(x.data, y.data);
        assert!((0..a.len()).all(|i| x.is_null(i) == y.is_null(i)));
    }
}

fn collect(cursor: &mut dyn EntryCursor, forms: &[Physical], rng: &mut Rng) -> EntryBatch {
    let mut all = EntryBatch::default();
    all.reset(forms);
    let mut batch = EntryBatch::default();
    let max = *rng.pick(&[1, 7, 100, 10_000]);
    while cursor.next(max, &mut batch).unwrap() {
        assert!(!batch.is_empty() && batch.len() <= max);
        all.extend_range(&batch, 0..batch.len());
    }
    assert!(batch.is_empty() && !cursor.next(max, &mut batch).unwrap());
    all
}

/// Holds cursors, scans and probes of a run against the model.
fn check(run: Run, model: &Model, rng: &mut Rng) {
    let trim = rng.chance(0.3).then(|| model.some_key(rng));
    let files = run.files().to_vec();
    let run = Arc::new(Run::new(run.shape().clone(), files, trim.clone()));
    let trim = trim.as_deref();
    for _ in 0..30 {
        let bounds = model.bounds(rng);
        let mut wants = EntryWants { keys: rng.chance(0.5), ..EntryWants::default() };
        let some = |rng: &mut Rng, n: usize| (0..n).filter(|_| rng.chance(0.5)).collect();
        wants.key_columns = some(rng, model.shape.key.columns.len());
        wants.include = some(rng, model.shape.include.len());
        let forms = model.shape.forms(&wants);
        let mut positions = model.wanted(&bounds, trim);
        let mut forward = run.cursor(bounds.clone(), Direction::Forward, wants.clone());
        same(&collect(&mut forward, &forms, rng), &model.expected(&positions, &wants));
        positions.reverse();
        let mut backward = run.cursor(bounds, Direction::Backward, wants.clone());
        same(&collect(&mut backward, &forms, rng), &model.expected(&positions, &wants));
    }
    for _ in 0..5 {
        let bounds = model.bounds(rng);
        check_scan(&run, model, &bounds, &model.wanted(&bounds, trim));
    }
    for _ in 0..200 {
        let mut key = model.some_key(rng);
        if rng.chance(0.1) {
            key.push(b'x');
        }
        let mut found = vec![7];
        run.probe(&key, &mut found).unwrap();
        let whole = |i: &usize| model.keys.get(*i) == key && trim.is_none_or(|t| &key[..] >= t);
        let expected = (0..model.len()).filter(whole).map(|i| model.row_ids[i]);
        if model.shape.key.decode(&key).is_ok_and(|v| v.len() == model.shape.key.columns.len()) {
            assert!(found[1..].iter().copied().eq(expected));
        }
    }
}

fn check_scan(run: &Arc<Run>, model: &Model, bounds: &KeyBounds, positions: &[u32]) {
    let mut scan = RunScan::new(run, bounds.clone());
    let keys = model.shape.key.columns.len();
    let mut out = Entries::new(Packing::bytes(&model.shape.key).new_keys(), Batch::default());
    let (mut got, mut bytes) = (EntryBatch::default(), BytesVec::default());
    got.reset(&model.shape.include_forms());
    while let Some(packing) = scan.next(&mut out).unwrap() {
        assert!(!out.is_empty() && out.keys.len() == out.len() && out.include.rows == out.len());
        packing.all_key_bytes(&out.keys, 0..out.len(), &mut bytes).unwrap();
        got.row_ids.extend_from_slice(&out.row_ids);
        got.columns.extend_range(&out.include, 0..out.len());
    }
    got.keys = bytes;
    let wants = EntryWants {
        keys: true,
        key_columns: vec![],
        include: (0..model.columns.len() - keys).collect(),
        ..EntryWants::default()
    };
    same(&got, &model.expected(positions, &wants));
}

#[test]
fn explicit_runs_answer_as_the_model() {
    let kinds: [(&[(DataType, bool)], &[Physical]); 6] = [
        (&[(DataType::Int4, false), (DataType::Int4, true), (DataType::Int8, false)], &[]),
        (&[(DataType::Text, false)], &[]),
        (&[(DataType::Uuid, false), (DataType::Bool, true)], &[Physical::Int]),
        (&[(DataType::Timestamp, true)], &[Physical::Bytes, Physical::Wide]),
        (
            &[(DataType::Text, true), (DataType::Int2, false), (DataType::Text, false)],
            &[Physical::Int],
        ),
        (&[(DataType::Int8, false)], &[Physical::Int]),
    ];
    for seed in 0..36 {
        let mut rng = Rng::new(seed);
        let (key, include) = kinds[seed as usize % kinds.len()];
        let n = *rng.pick(&[0, 1, 30, 3000, 12_000]);
        let nulls = *rng.pick(&[0.0, 0.2]);
        let unique = rng.chance(0.4);
        let model = Model::random(&mut rng, shape(key, include, unique), n, nulls);
        let context = memory(32 << 20);
        let (blocks, files) = (*rng.pick(&[200, 1000, 16 << 10]), *rng.pick(&[3000, 1 << 25]));
        let run = model.write(&context, &mut rng, blocks, files);
        assert!(run.files().iter().all(|f| f.form() == "explicit"));
        check(run, &model, &mut rng);
    }
}
