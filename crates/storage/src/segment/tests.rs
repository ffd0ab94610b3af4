use onlap_base::{ErrorKind, Rng, TableId};
use onlap_format::zone::ZoneProbe;
use onlap_format::{BytesVec, DataType, NullMask, Physical, Value, Vector};

use super::ahead::SPAN_BYTES;
use super::*;
use crate::entry::Direction;
use crate::testing::{damage, disk, memory};
use crate::written::Purpose;

mod blobs;
mod decode_ahead;
mod read_ahead;

const COLUMNS: [(ColumnId, Physical); 4] = [
    (ColumnId(1), Physical::Int),
    (ColumnId(2), Physical::Bytes),
    (ColumnId(5), Physical::Wide),
    (ColumnId(7), Physical::Int),
];

fn spec(row_ids: Range<RowId>, block_rows: usize) -> SegmentSpec {
    SegmentSpec {
        table: TableId(3),
        schema_version: 9,
        columns: COLUMNS.to_vec(),
        row_ids,
        folded_csn: 11,
        compress: block_rows % 2 == 1,
        block_rows,
        purpose: Purpose::Segment,
        cache: true,
    }
}

/// Rows of all forms, some NULL; the first column rises.
fn rows(rng: &mut Rng, n: usize, text_max: u64) -> Batch {
    let mut batch = Batch::new(COLUMNS.iter().map(|(_, form)| *form));
    let mut texts = BytesVec::default();
    let mut nulls = NullMask::none(0);
    let (mut rising, mut wide, mut any) = (Vec::new(), Vec::new(), Vec::new());
    for i in 0..n {
        rising.push(i as i64 * 3 + rng.below(3) as i64);
        let null = rng.below(5) == 0;
        nulls.push(null);
        let len = if null { 0 } else { rng.below(text_max) };
        texts.push(&(0..len).map(|_| b'a' + rng.below(6) as u8).collect::<Vec<_>>());
        wide.push((rng.next_u64() as i128) << 64 | rng.next_u64() as i128);
        any.push(rng.below(1000) as i64 - 500);
    }
    batch.columns[0].data = Vector::Int(rising);
    batch.columns[1] = Column { data: Vector::Bytes(texts), nulls: Some(nulls) };
    batch.columns[2].data = Vector::Wide(wide);
    batch.columns[3].data = Vector::Int(any);
    batch.rows = n;
    batch
}

/// Row ids with gaps as compaction leaves them.
fn ids(rng: &mut Rng, first: RowId, n: usize, gap: u64) -> Vec<RowId> {
    let mut next = first;
    (0..n)
        .map(|_| {
            next += 1 + if gap > 0 && rng.below(4) == 0 { rng.below(gap) } else { 0 };
            next - 1
        })
        .collect()
}

struct Case {
    context: Arc<StorageContext>,
    segment: Arc<Segment>,
    batch: Batch,
    ids: Vec<RowId>,
}

fn written(context: Arc<StorageContext>, seed: u64, n: usize, block_rows: usize, gap: u64) -> Case {
    let mut rng = Rng::new(seed);
    let batch = rows(&mut rng, n, 30);
    let ids = ids(&mut rng, 1000, n, gap);
    let end = ids.last().map_or(1000, |id| id + 1) + 5;
    let mut writer = SegmentWriter::create(&context, spec(1000..end, block_rows)).unwrap();
    let mut at = 0;
    while at < n {
        let take = (1 + rng.below(2 * block_rows as u64 + 300) as usize).min(n - at);
        let mut part = Batch::new(COLUMNS.iter().map(|(_, form)| *form));
        part.extend_range(&batch, at..at + take);
        writer.push(&part, &ids[at..at + take]).unwrap();
        writer.push_commits(&[(ids[at + take - 1] + 1, 20 + at as u64)]);
        at += take;
    }
    let meta = writer.finish().unwrap();
    let segment = Arc::new(Segment::open(&context, meta.file, None).unwrap());
    assert_eq!((meta.bytes, meta.count), (segment.bytes(), n as u64));
    assert_eq!(context.written.report().segments, meta.bytes);
    assert_eq!(segment.row_ids(), 1000..end);
    Case { context, segment, batch, ids }
}

fn projection() -> (Vec<ColumnId>, Batch) {
    let ids = vec![ColumnId(7), ColumnId(2), ColumnId(4), ColumnId(1)];
    let forms = [Physical::Int, Physical::Bytes, Physical::Wide, Physical::Int];
    (ids, Batch::new(forms))
}

impl Case {
    /// The projection of these rows, straight from the model.
    fn expected(&self, positions: &[u32]) -> Batch {
        let (_, mut out) = projection();
        for (to, from) in [(0, 3), (1, 1), (3, 0)] {
            out.columns[to].extend_selected(&self.batch.columns[from], positions);
        }
        positions.iter().for_each(|_| out.columns[2].push_null());
        out.rows = positions.len();
        out
    }

    fn scan(&self, range: Range<RowId>, direction: Direction) -> (Batch, Vec<RowId>) {
        self.rows_of(SegmentScan::new(&self.segment, range, direction))
    }

    fn rows_of(&self, mut scan: SegmentScan) -> (Batch, Vec<RowId>) {
        let (wanted, mut out) = projection();
        let (_, mut all) = projection();
        let (mut ids, mut all_ids) = (Vec::new(), Vec::new());
        while scan.next(&wanted, &mut out, &mut ids).unwrap() {
            assert!(out.rows > 0 && out.rows == ids.len());
            all.extend_range(&out, 0..out.rows);
            all_ids.extend_from_slice(&ids);
        }
        (all, all_ids)
    }
}

fn same(a: &Batch, b: &Batch) {
    assert_eq!(a.rows, b.rows);
    for (x, y) in a.columns.iter().zip(&b.columns) {
        assert_eq!(x.data, y.data);
        assert!((0..a.rows).all(|i| x.is_null(i) == y.is_null(i)));
    }
}

fn check(case: &Case, rng: &mut Rng) {
    for _ in 0..20 {
        let span = case.segment.row_ids();
        let (a, b) = (rng.below(span.end + 100), rng.below(span.end + 100));
        let range = a.min(b)..a.max(b);
        let inside = |id: &RowId| range.contains(id);
        let mut positions: Vec<u32> =
            (0..case.ids.len() as u32).filter(|i| inside(&case.ids[*i as usize])).collect();
        let (batch, ids) = case.scan(range.clone(), Direction::Forward);
        same(&batch, &case.expected(&positions));
        assert!(ids.iter().eq(positions.iter().map(|i| &case.ids[*i as usize])));
        positions.reverse();
        let (batch, ids) = case.scan(range.clone(), Direction::Backward);
        same(&batch, &case.expected(&positions));
        assert!(ids.iter().eq(positions.iter().map(|i| &case.ids[*i as usize])));
    }
    for share in [1, 3, 50] {
        let span = case.segment.row_ids();
        let asked: Vec<RowId> =
            (span.start - 10..span.end + 10).filter(|_| rng.below(share) == 0).collect();
        let (wanted, mut out) = projection();
        let mut found = Vec::new();
        case.segment.read_rows(&asked, &wanted, &mut out, &mut found).unwrap();
        let positions: Vec<u32> = (0..case.ids.len() as u32)
            .filter(|i| asked.binary_search(&case.ids[*i as usize]).is_ok())
            .collect();
        same(&out, &case.expected(&positions));
        assert!(found.iter().eq(positions.iter().map(|i| &case.ids[*i as usize])));
    }
}

#[test]
fn rows_read_as_they_were_written() {
    for seed in 0..12 {
        let mut rng = Rng::new(1000 + seed);
        let n = [0, 1, 63, 64, 65, 1000, 5000, 20_000][seed as usize % 8];
        let block_rows = [1, 7, 64, 300, 4096][rng.below(5) as usize];
        let n = if block_rows == 1 { n.min(500) } else { n };
        let gap = [0, 3, 40][rng.below(3) as usize];
        let case = written(memory(16 << 20), seed, n, block_rows, gap);
        check(&case, &mut rng);
        case.context.cache.clear();
    }
}

#[test]
fn a_real_file_reads_the_same() {
    let (_dir, context) = disk(64 << 20);
    let case = written(context, 77, 30_000, 4096, 0);
    check(&case, &mut Rng::new(5));
    let footer = case.segment.footer();
    assert!(footer.blocks.iter().all(|b| b.len <= 18 << 10), "blocks are closed by size");
    assert_eq!((footer.table, footer.schema_version, footer.folded_csn), (TableId(3), 9, 11));
    assert!(footer.commits.csn_of(1000).is_some());
}

#[test]
fn a_cold_scan_takes_few_reads_and_leaves_the_cache_in_peace() {
    let (_dir, context) = disk(16 << 20);
    let case = written(context.clone(), 5, 400_000, 4096, 0);
    let reads = || context.fs.counters().now().reads;
    for direction in [Direction::Forward, Direction::Backward] {
        context.cache.clear();
        let before = reads();
        let (_, ids) = case.scan(0..RowId::MAX, direction);
        assert_eq!(ids.len(), 400_000);
        let expected = case.segment.bytes() / SPAN_BYTES as u64 + 12;
        assert!(reads() - before <= expected, "{} reads, expected {expected}", reads() - before);
        assert!(context.memory.used(Part::Cache) <= context.cache.capacity());
        assert_eq!(context.memory.used(Part::Background), 0, "read-ahead gives back what it took");
    }
}

#[test]
fn zones_rule_blocks_out() {
    let case = written(memory(16 << 20), 8, 20_000, 1000, 0);
    let mut scan = SegmentScan::new(&case.segment, 0..RowId::MAX, Direction::Forward);
    let all = scan.blocks_left();
    assert!(all >= 20);
    let (lower, upper) = (Value::Int(30_000), Value::Int(30_100));
    let probe = ZoneProbe::new(DataType::Int8, Some(&lower), Some(&upper)).unwrap();
    scan.prune(ColumnId(1), &probe).unwrap();
    assert!((1..=2).contains(&scan.blocks_left()));
    scan.prune(ColumnId(99), &probe).unwrap();
    let found = scan.next_block().unwrap().expect("the block with the values");
    let view = found.block.column(0).unwrap();
    assert!(found.rows.clone().any(|i| (30_000..=30_100).contains(&view.int(i))));
    scan.retain(|_| false);
    assert!(scan.next_block().unwrap().is_none());
}

#[test]
fn large_values_do_not_share_a_block() {
    let context = memory(64 << 20);
    let mut batch = Batch::new(COLUMNS.iter().map(|(_, form)| *form));
    for i in 0..40 {
        let Vector::Int(v) = &mut batch.columns[0].data else { unreachable!() };
        v.push(i);
        let Vector::Bytes(v) = &mut batch.columns[1].data else { unreachable!() };
        let mut rng = Rng::new(i as u64);
        v.push(&(0..100_000).map(|_| rng.next_u64() as u8).collect::<Vec<_>>());
        batch.columns[2].push_null();
        batch.columns[3].push_null();
        batch.rows += 1;
    }
    let mut writer = SegmentWriter::create(&context, spec(0..40, 4096)).unwrap();
    writer.push(&batch, &(0..40).collect::<Vec<_>>()).unwrap();
    let meta = writer.finish().unwrap();
    let segment = Segment::open(&context, meta.file, None).unwrap();
    assert!(segment.footer().blocks.iter().all(|b| b.len < 110_000));
    let mut out = Batch::new([Physical::Bytes]);
    segment.read_rows(&[3, 17], &[ColumnId(2)], &mut out, &mut Vec::new()).unwrap();
    let Vector::Bytes(found) = &out.columns[0].data else { unreachable!() };
    let Vector::Bytes(v) = &batch.columns[1].data else { unreachable!() };
    assert_eq!((found.get(0), found.get(1)), (v.get(3), v.get(17)));
}

#[test]
fn planted_damage_is_found_and_placed() {
    let case = written(memory(16 << 20), 3, 3000, 200, 3);
    let name = FileKind::Segment(case.segment.id()).name();
    let mut rng = Rng::new(9);
    let bytes = case.segment.bytes();
    let tail = (bytes - 40..bytes).chain(0..10);
    for offset in (0..300).map(|_| 16 + rng.below(bytes - 16)).chain(tail) {
        damage(&case.context, &name, offset);
        let read = Segment::open(&case.context, case.segment.id(), None).and_then(|segment| {
            let mut scan = SegmentScan::new(&Arc::new(segment), 0..u64::MAX, Direction::Forward);
            let (wanted, mut out) = projection();
            while scan.next(&wanted, &mut out, &mut Vec::new())? {}
            Ok(())
        });
        let error = read.expect_err("every byte counts");
        assert!(matches!(error.kind(), ErrorKind::Corruption | ErrorKind::NewerFormat));
        let place = error.place().expect("damage has a place");
        assert_eq!(place.file, name, "offset {offset}");
        assert!(place.offset <= bytes, "{} of {bytes}", place.offset);
        damage(&case.context, &name, offset);
    }
}
