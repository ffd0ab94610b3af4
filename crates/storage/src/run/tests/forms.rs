//! Forms of runs, real files, filters and damage.

use onlap_base::{ErrorKind, Part};
use onlap_vfs::{Fault, FaultFs, Fs, MemFs, Operation};

use super::*;
use crate::testing::on;

fn serial(n: usize, keys: impl Fn(usize) -> i64, rows: impl Fn(usize) -> RowId) -> Model {
    let column = Column { data: Vector::Int((0..n).map(keys).collect()), nulls: None };
    let shape = shape(&[(DataType::Int8, false)], &[], true);
    Model::new(shape, vec![column], (0..n).map(rows).collect())
}

#[test]
fn keys_that_arrive_in_stretches_become_pieces() {
    let mut rng = Rng::new(1);
    // One client; many clients of 100 rows each; a gap; duplicates.
    let one = serial(40_000, |i| 5 + i as i64, |i| i as u64);
    let many =
        serial(40_000, |i| ((i / 100) ^ 5) as i64 * 100 + (i % 100) as i64, |i| 9 + i as u64);
    let gap = serial(
        5_000,
        |i| i as i64 + if i > 700 { 1 << 50 } else { 0 },
        |i| 3 * (i as u64 / 100) + i as u64,
    );
    let twice = serial(60, |i| (i % 30) as i64 - 20, |i| i as u64);
    let one_entry = serial(1, |_| -7, |_| 3);
    let extremes = serial(2, |i| if i == 0 { i64::MIN } else { i64::MAX }, |i| i as u64);
    let cases =
        [(one, 800), (many, 6000), (gap, 1500), (twice, 800), (one_entry, 800), (extremes, 800)];
    for (model, bytes_max) in cases {
        let context = memory(32 << 20);
        let run = model.write(&context, &mut rng, 1000, 1 << 25);
        assert!(run.files().iter().all(|f| f.form() == "affine"));
        let bytes: u64 = run.files().iter().map(|f| f.bytes()).sum();
        assert!(bytes < bytes_max, "{bytes} bytes for {} entries", model.len());
        check(run, &model, &mut rng);
    }
}

#[test]
fn pieces_that_do_not_pay_are_turned_back_into_entries() {
    let mut rng = Rng::new(2);
    let random: Vec<i64> = (0..20_000).map(|_| rng.range(-1000..1 << 40)).collect();
    let scattered = serial(20_000, |i| random[i], |i| i as u64);
    let late = serial(20_000, |i| if i < 9000 { i as i64 } else { random[i] + 9000 }, |i| i as u64);
    for model in [scattered, late] {
        let context = memory(32 << 20);
        let run = model.write(&context, &mut rng, 1000, 20_000);
        assert!(run.files().iter().all(|f| f.form() == "explicit") && run.files().len() > 1);
        check(run, &model, &mut rng);
    }
    let nulls = Model::random(&mut rng, shape(&[(DataType::Int4, false)], &[], false), 3000, 0.01);
    let run = nulls.write(&memory(32 << 20), &mut rng, 1000, 1 << 25);
    check(run, &nulls, &mut rng);
}

#[test]
fn too_many_pieces_for_one_file_make_two() {
    let mut rng = Rng::new(3);
    let n = (PIECES_MAX + 1000) * 25;
    let model = serial(n, |i| (i / 25 * 26 + i % 25) as i64, |i| i as u64);
    let run = model.write(&memory(64 << 20), &mut rng, 1000, 1 << 25);
    assert_eq!(run.files().iter().map(|f| f.form()).collect::<Vec<_>>(), ["affine", "affine"]);
    let run = Arc::new(run);
    let key = |v: i64| run.shape().key.encode_values(&[onlap_format::Value::Int(v)]).unwrap();
    for i in [0, 24, 25, n / 2, n - 1] {
        let mut found = Vec::new();
        run.probe(&key((i / 25 * 26 + i % 25) as i64), &mut found).unwrap();
        assert_eq!(found, [i as u64]);
    }
}

#[test]
fn fences_only_names_stretches_of_rows() {
    let model = serial(10_000, |i| i as i64 / 3, |i| 100 + 2 * i as u64);
    let context = memory(32 << 20);
    let (packing, entries) = model.entries();
    let rows = 100..100 + 2 * 10_000;
    let spec = RunSpec { fences_only: true, rows, ..model.spec(packing) };
    let mut writer = RunWriter::new(&context, spec);
    writer.push(&entries).unwrap();
    let metas = writer.finish().unwrap();
    assert!(metas[0].bytes < 1000);
    let file = Arc::new(RunFile::open(&context, &model.shape, metas[0].file, 0).unwrap());
    assert_eq!((file.form(), file.entries()), ("fences-only", 10_000));
    let run = Arc::new(Run::new(model.shape.clone(), vec![file], None));
    let mut rng = Rng::new(4);
    for _ in 0..300 {
        let bounds = model.bounds(&mut rng);
        let stretches = run.stretches(&bounds).unwrap();
        let inside = |row: &RowId| stretches.iter().any(|s| s.contains(row));
        let wanted = model.wanted(&bounds, None);
        assert!(wanted.iter().all(|i| inside(&model.row_ids[*i as usize])));
        let rows: u64 = stretches.iter().map(|s| s.end - s.start).sum();
        assert!(rows <= 2 * (wanted.len() as u64 + 2 * 1024), "{rows} for {}", wanted.len());
    }
    let mut cursor = run.cursor(KeyBounds::all(), Direction::Forward, EntryWants::default());
    let refused = cursor.next(1, &mut EntryBatch::default()).unwrap_err();
    assert_eq!(refused.kind(), ErrorKind::Unsupported);
}

#[test]
fn real_files_are_split_by_size_and_read_ahead() {
    let mut rng = Rng::new(5);
    let key = [(DataType::Int4, false), (DataType::Int8, false)];
    let model = Model::random(&mut rng, shape(&key, &[], false), 200_000, 0.0);
    let (_dir, context) = disk(64 << 20);
    let run = model.write(&context, &mut rng, 16 << 10, 300_000);
    assert!(run.files().len() >= 2);
    assert!(run.files().iter().all(|f| f.bytes() < 340_000));
    let run = Arc::new(run);
    assert!(context.cache.blocks() > 0, "what was written is in the cache while there is room");
    context.cache.clear();
    let reads = || context.fs.counters().now().reads;
    let before = reads();
    let mut scan = RunScan::new(&run, KeyBounds::all());
    let mut out = Entries::new(Packing::bytes(&model.shape.key).new_keys(), Batch::default());
    while scan.next(&mut out).unwrap().is_some() {}
    let bytes: u64 = run.files().iter().map(|f| f.bytes()).sum();
    assert!(reads() - before <= bytes / (200 << 10) + run.files().len() as u64 + 1);
    assert_eq!(context.cache.blocks(), 0, "merges leave the cache alone");
    let before = reads();
    let mut cursor = run.cursor(KeyBounds::all(), Direction::Backward, EntryWants::default());
    let forms: [Physical; 0] = [];
    assert_eq!(collect(&mut cursor, &forms, &mut rng).len(), model.len());
    assert!(reads() - before <= bytes / (200 << 10) + 2 * run.files().len() as u64 + 4);
    drop(cursor);
    drop(scan);
    let run = Arc::into_inner(run).expect("no other owner has the run");
    check(run, &model, &mut rng);
    assert_eq!(context.cache.blocks(), 0, "a closed file's blocks leave the cache");
    assert_eq!(context.memory.used(Part::Cache), 0);
}

#[test]
fn many_threads_read_one_run_through_a_small_cache() {
    let mut rng = Rng::new(11);
    let key = [(DataType::Int4, false), (DataType::Int8, true)];
    let model = Arc::new(Model::random(&mut rng, shape(&key, &[], true), 60_000, 0.0));
    let (_dir, context) = disk(16 << 20);
    let run = Arc::new(model.write(&context, &mut rng, 16 << 10, 1 << 25));
    context.cache.clear();
    let threads: Vec<_> = (0..6)
        .map(|seed| {
            let (model, run) = (model.clone(), run.clone());
            let body = move || {
                let mut rng = Rng::new(100 + seed);
                for _ in 0..2000 {
                    let i = rng.index(model.len());
                    let mut found = Vec::new();
                    run.probe(model.keys.get(i), &mut found).unwrap();
                    assert!(found.contains(&model.row_ids[i]));
                }
                let wants = EntryWants { keys: true, ..EntryWants::default() };
                let mut cursor = run.cursor(KeyBounds::all(), Direction::Forward, wants);
                assert_eq!(collect(&mut cursor, &[], &mut rng).row_ids, model.row_ids);
            };
            context.tasks.spawn("reader", Box::new(body))
        })
        .collect();
    threads.into_iter().for_each(|t| t.join().expect("no reader fails"));
    assert!(context.memory.used(Part::Cache) <= context.cache.capacity());
}

#[test]
fn a_failed_write_leaves_no_file_and_no_charge() {
    let mut rng = Rng::new(12);
    let key = [(DataType::Int4, false), (DataType::Int8, true)];
    let model = Model::random(&mut rng, shape(&key, &[], true), 20_000, 0.0);
    let (packing, entries) = model.entries();
    for operation in [Operation::Create, Operation::Write, Operation::Sync] {
        for n in 0..3 {
            let fs = Arc::new(FaultFs::new(Arc::new(MemFs::new())));
            let context = on(fs.clone(), 32 << 20);
            fs.fail(Fault::on(operation).after(n).with(ErrorKind::DiskFull));
            let spec = model.spec(packing.clone());
            let spec = RunSpec { block_bytes: 1000, file_bytes: 5000, ..spec };
            let mut writer = RunWriter::new(&context, spec);
            let result = writer.push(&entries).and_then(|()| writer.finish());
            let error = result.expect_err("the operation was planned to fail");
            assert_eq!(error.kind(), ErrorKind::DiskFull);
            // Files that were finished before are their caller's.
            assert!(fs.list(&context.dir).unwrap().len() as u64 <= n);
            assert_eq!(context.memory.used(Part::Background), 0);
        }
    }
}

#[test]
fn a_point_lookup_reads_one_block() {
    let mut rng = Rng::new(6);
    let model = Model::random(&mut rng, shape(&[(DataType::Uuid, false)], &[], true), 50_000, 0.0);
    let context = memory(64 << 20);
    let run = model.write(&context, &mut rng, 16 << 10, 1 << 25);
    run.probe(model.keys.get(9), &mut Vec::new()).unwrap();
    context.cache.clear();
    let (misses, reads) = (context.cache.misses(), context.fs.counters().now().reads);
    let mut found = Vec::new();
    run.probe(model.keys.get(20_000), &mut found).unwrap();
    assert!(found.contains(&model.row_ids[20_000]));
    assert_eq!(context.cache.misses() - misses, 1);
    assert!(context.fs.counters().now().reads - reads <= 1);
}

#[test]
fn filters_answer_for_absent_keys() {
    let mut rng = Rng::new(7);
    let n = 40_000;
    let wide: Vec<i128> =
        (0..n).map(|_| (rng.next_u64() as i128) << 64 | rng.next_u64() as i128).collect();
    let column = Column { data: Vector::Wide(wide), nulls: None };
    let shape = shape(&[(DataType::Uuid, false)], &[], true);
    let model = Model::new(shape, vec![column], (0..n).collect());
    let context = memory(64 << 20);
    let run = model.write(&context, &mut rng, 16 << 10, 1 << 25);
    let before = context.memory.used(Part::Resident);
    let (mut found, misses) = (Vec::new(), context.cache.misses());
    for _ in 0..10_000 {
        let value = onlap_format::Value::Uuid(std::array::from_fn(|_| rng.next_u64() as u8));
        run.probe(&run.shape().key.encode_values(&[value]).unwrap(), &mut found).unwrap();
    }
    assert!(found.is_empty());
    let filter = context.memory.used(Part::Resident) - before;
    assert!((2 * n..3 * n).contains(&filter), "{filter} bytes of filter for {n} keys");
    let counts = run.files()[0].filter_counts();
    assert_eq!(counts.probes, 10_000);
    assert_eq!(counts.probes - counts.answered, counts.false_positives);
    assert!(counts.false_positives < 40, "{counts:?}");
    assert!(context.cache.misses() - misses <= counts.false_positives);
    for i in 0..n as usize {
        found.clear();
        run.probe(model.keys.get(i), &mut found).unwrap();
        assert_eq!(found, [model.row_ids[i]]);
    }
}

#[test]
fn planted_damage_is_found_and_placed() {
    let mut rng = Rng::new(8);
    let key = [(DataType::Int4, false), (DataType::Text, false)];
    let model = Model::random(&mut rng, shape(&key, &[Physical::Int], true), 4000, 0.1);
    let context = memory(32 << 20);
    let run = model.write(&context, &mut rng, 2000, 1 << 25);
    let (id, bytes) = (run.files()[0].id(), run.files()[0].bytes());
    let name = FileKind::Run(id).name();
    let some = model.keys.get(100).to_vec();
    for _ in 0..400 {
        let offset = 16 + rng.below(bytes - 16);
        damage(&context, &name, offset);
        let error = RunFile::open(&context, &model.shape, id, 0)
            .and_then(|file| {
                let run = Arc::new(Run::new(model.shape.clone(), vec![Arc::new(file)], None));
                run.probe(&some, &mut Vec::new())?;
                let wants = EntryWants {
                    keys: true,
                    key_columns: vec![0],
                    include: vec![0],
                    ..EntryWants::default()
                };
                let mut cursor = run.cursor(KeyBounds::all(), Direction::Forward, wants);
                let mut out = EntryBatch::default();
                while cursor.next(1000, &mut out)? {}
                Ok(())
            })
            .expect_err("every byte counts");
        assert!(matches!(error.kind(), ErrorKind::Corruption | ErrorKind::NewerFormat));
        assert_eq!(error.place().expect("damage has a place").file, name);
        damage(&context, &name, offset);
    }
}

#[test]
fn a_file_of_another_index_is_refused() {
    let mut rng = Rng::new(9);
    let model = Model::random(&mut rng, shape(&[(DataType::Int4, false)], &[], false), 100, 0.0);
    let context = memory(32 << 20);
    let run = model.write(&context, &mut rng, 2000, 1 << 25);
    let mut other = (*model.shape).clone();
    other.index = IndexId(3);
    let error = RunFile::open(&context, &other, run.files()[0].id(), 0).err().expect("refused");
    assert_eq!(error.kind(), ErrorKind::Corruption);
}
