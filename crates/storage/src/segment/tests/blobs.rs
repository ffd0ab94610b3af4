//! Long values lie apart: a reader that wants them reads each once, and no other pays.

use onlap_base::limits::{BLOCK_BLOB_BYTES, BLOCK_BYTES, INLINE_VALUE_BYTES, VALUE_BYTES};

use super::*;

const EDGE: usize = INLINE_VALUE_BYTES;

/// Rows whose strings have these lengths in turn, a fifth of them NULL; half of them random bytes.
fn long_rows(seed: u64, n: usize, lens: &[usize]) -> Batch {
    let mut rng = Rng::new(seed);
    let mut batch = rows(&mut rng, n, 1);
    let (mut texts, mut nulls) = (BytesVec::default(), NullMask::none(0));
    for i in 0..n {
        let null = rng.below(5) == 0;
        let len = if null { 0 } else { lens[i % lens.len()] };
        let (random, same) = (rng.below(2) == 0, rng.next_u64() as u8);
        let byte = |rng: &mut Rng| if random { rng.next_u64() as u8 } else { same };
        texts.push(&(0..len).map(|_| byte(&mut rng)).collect::<Vec<_>>());
        nulls.push(null);
    }
    batch.columns[1] = Column { data: Vector::Bytes(texts), nulls: Some(nulls) };
    batch
}

/// A segment of these rows, pushed in parts, with its cache empty.
fn case(context: Arc<StorageContext>, batch: Batch, gap: u64, block_rows: usize) -> Case {
    let mut rng = Rng::new(3);
    let ids = ids(&mut rng, 1000, batch.rows, gap);
    let end = ids.last().map_or(1000, |id| id + 1) + 5;
    let mut writer = SegmentWriter::create(&context, spec(1000..end, block_rows)).unwrap();
    let mut at = 0;
    while at < batch.rows {
        let take = (1 + rng.below(700) as usize).min(batch.rows - at);
        let mut part = Batch::new(COLUMNS.iter().map(|(_, form)| *form));
        part.extend_range(&batch, at..at + take);
        writer.push(&part, &ids[at..at + take]).unwrap();
        at += take;
    }
    let meta = writer.finish().unwrap();
    assert_eq!(context.memory.used(Part::Background), 0, "a writer gives back what it took");
    let segment = Arc::new(Segment::open(&context, meta.file, None).unwrap());
    assert_eq!((meta.bytes, meta.count), (segment.bytes(), batch.rows as u64));
    context.cache.clear();
    Case { context, segment, batch, ids }
}

fn read_bytes(context: &StorageContext) -> u64 {
    context.fs.counters().now().read_bytes
}

#[test]
fn long_values_read_as_they_were_written() {
    let mixes: [&[usize]; 6] = [
        &[0, 5, EDGE - 1, EDGE, EDGE + 1, 3000, 20_000],
        &[EDGE + 1],
        &[1, 2, 3, 4, 5, 6, 7, 8, 9, 50_000],
        &[100, EDGE],
        &[9000, 0, 0, 7000, 2500],
        &[300_000, 10],
    ];
    for (seed, lens) in (0..).zip(mixes) {
        let mut rng = Rng::new(seed);
        let n = if seed == 5 { 40 } else { 900 };
        let block_rows = [4096, 64, 7][seed as usize % 3];
        let batch = long_rows(seed, n, lens);
        let case = case(memory(64 << 20), batch, seed % 2 * 9, block_rows);
        check(&case, &mut rng);
        assert!(case.context.memory.used(Part::Cache) <= case.context.cache.capacity());
        let context = case.context.clone();
        drop(case);
        assert_eq!(context.cache.blocks(), 0, "a closed segment leaves nothing in the cache");
        assert_eq!(context.memory.used(Part::Cache), 0);
    }
}

#[test]
fn the_longest_values_read_as_they_were_written() {
    let (_dir, context) = disk(64 << 20);
    let batch = long_rows(4, 4, &[VALUE_BYTES, VALUE_BYTES - 1]);
    let case = case(context, batch, 0, 4096);
    let blocks = &case.segment.footer().blocks;
    assert!(blocks.len() >= 2 && blocks.iter().all(|b| b.len < 1000));
    let (batch, _) = case.scan(0..RowId::MAX, Direction::Forward);
    same(&batch, &case.expected(&[0, 1, 2, 3]));
    assert!(case.context.cache.blocks() <= blocks.len(), "such values are not cached");
    assert!(case.context.memory.used(Part::Cache) < 100_000);
}

#[test]
fn blocks_stay_small_and_their_values_few() {
    let case = case(memory(64 << 20), long_rows(1, 3000, &[3000, 2500, 4000]), 0, 4096);
    let blocks = &case.segment.footer().blocks;
    assert!(blocks.iter().all(|b| (b.len as usize) < BLOCK_BYTES / 4 * 5));
    let Vector::Bytes(v) = &case.batch.columns[1].data else { unreachable!() };
    let few = v.data.len() / BLOCK_BLOB_BYTES;
    assert!((few..=few + 3).contains(&blocks.len()), "{} blocks", blocks.len());
    let offsets: Vec<u64> = blocks.iter().map(|b| b.offset).collect();
    let side_by_side = blocks.windows(2).all(|b| b[0].offset + u64::from(b[0].len) == b[1].offset);
    assert!(side_by_side, "blocks are held back: {offsets:?}");
}

#[test]
fn a_scan_of_another_column_reads_no_blob() {
    let (_dir, context) = disk(64 << 20);
    let case = case(context.clone(), long_rows(6, 2000, &[5000, 10_000]), 0, 4096);
    let small: u64 = case.segment.footer().blocks.iter().map(|b| u64::from(b.len)).sum();
    assert!(case.segment.bytes() > 40 * small);
    let before = read_bytes(&context);
    let mut scan = SegmentScan::new(&case.segment, 0..RowId::MAX, Direction::Forward);
    let (mut out, mut ids, mut n) = (Batch::new([Physical::Int]), Vec::new(), 0);
    while scan.next(&[ColumnId(7)], &mut out, &mut ids).unwrap() {
        n += out.rows;
    }
    assert_eq!(n, 2000);
    let read = read_bytes(&context) - before;
    assert!(read < 2 * small + 64 * 1024, "{read} bytes for {small} of blocks");

    let (wanted, mut out) = projection();
    let before = read_bytes(&context);
    let some: Vec<RowId> = vec![1500];
    case.segment.read_rows(&some, &wanted, &mut out, &mut Vec::new()).unwrap();
    let read = read_bytes(&context) - before;
    assert!(read < 5 * BLOCK_BYTES as u64, "{read} bytes for a row");
    same(&out, &case.expected(&[500]));
}

#[test]
fn each_blob_is_read_once() {
    let (_dir, context) = disk(64 << 20);
    let case = case(context.clone(), long_rows(2, 1000, &[3000, 20_000, 40, 2100]), 0, 4096);
    for direction in [Direction::Forward, Direction::Backward] {
        context.cache.clear();
        let before = (read_bytes(&context), context.fs.counters().now().reads);
        case.scan(0..RowId::MAX, direction);
        let read = read_bytes(&context) - before.0;
        let reads = context.fs.counters().now().reads - before.1;
        let bytes = case.segment.bytes();
        let blocks = case.segment.footer().blocks.len() as u64;
        // Direct reads begin and end at pages.
        assert!(read < bytes + (2 * reads + 8) * 4096, "{read} bytes of {bytes}");
        assert!(reads <= 2 * blocks + 10, "{reads} reads for {blocks} blocks");
        assert!(context.memory.used(Part::Cache) <= context.cache.capacity());
    }
    // Small frames come out of the cache the second time, a long value out of the file.
    context.cache.clear();
    let (wanted, _) = projection();
    let fetch = |row: RowId| {
        let before = context.fs.counters().now().reads;
        let mut out = projection().1;
        case.segment.read_rows(&[row], &wanted, &mut out, &mut Vec::new()).unwrap();
        same(&out, &case.expected(&[row as u32 - 1000]));
        context.fs.counters().now().reads - before
    };
    let len = |row: RowId| {
        let Vector::Bytes(v) = &case.batch.columns[1].data else { unreachable!() };
        v.get(row as usize - 1000).len()
    };
    let small = (1000..2000).find(|r| len(*r) == 3000).expect("one is not NULL");
    let large = (1000..2000).find(|r| len(*r) == 20_000).expect("one is not NULL");
    assert_eq!((fetch(small), fetch(small), fetch(large), fetch(large)), (2, 0, 1, 1));
}

#[test]
fn damage_in_and_around_blobs_is_found_and_placed() {
    let case = case(memory(64 << 20), long_rows(8, 300, &[2500, 3, 9000, 30_000]), 3, 4096);
    let name = FileKind::Segment(case.segment.id()).name();
    let mut rng = Rng::new(9);
    let bytes = case.segment.bytes();
    for offset in (0..200).map(|_| 16 + rng.below(bytes - 16)) {
        damage(&case.context, &name, offset);
        let read = Segment::open(&case.context, case.segment.id(), None).and_then(|segment| {
            let mut scan = SegmentScan::new(&Arc::new(segment), 0..u64::MAX, Direction::Forward);
            let (wanted, mut out) = projection();
            while scan.next(&wanted, &mut out, &mut Vec::new())? {
                assert!(out.columns.iter().all(|c| c.len() == out.rows));
            }
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
