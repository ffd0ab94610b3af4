use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::time::Duration;

use onlap_base::limits::{SAMPLES_BYTES, SAMPLES_KEPT};
use onlap_base::memory::Memory;
use onlap_base::names::FileKind;
use onlap_base::rng::Rng;
use onlap_base::tasks::{SimTasks, Tasks as _, ThreadTasks};
use onlap_format::samples::{SLOT_BYTES, SLOTS, Sample, offset};
use onlap_format::{DataType, Value};
use onlap_storage::StorageContext;
use onlap_vfs::{Access, Fs as _, MemFs};

use super::store::{Store, check, read};
use crate::{CheckOptions, Database, Options, TableSpec};

fn context(fs: &MemFs) -> Arc<StorageContext> {
    fs.create_dir_all(&PathBuf::from("/db")).unwrap();
    let (memory, tasks) = (Arc::new(Memory::new(64 << 20)), Arc::new(ThreadTasks::new()));
    StorageContext::new(Arc::new(fs.clone()), "/db".into(), memory, tasks)
}

fn sample(n: u64) -> Sample {
    Sample { at_us: n as i64, commits: n, ..Sample::default() }
}

fn numbers(storage: &StorageContext) -> Vec<u64> {
    read(storage).unwrap().iter().map(|sample| sample.commits).collect()
}

fn file(n: u64) -> PathBuf {
    PathBuf::from("/db").join(FileKind::Samples(n).name())
}

#[test]
fn a_day_is_kept_in_bounded_files() {
    let fs = MemFs::new();
    let storage = context(&fs);
    let mut rng = Rng::new(7);
    let mut store = Store::open(&storage).unwrap();
    for n in 0..40_000 {
        if rng.chance(0.001) {
            store = Store::open(&storage).unwrap();
        }
        store.append(&sample(n)).unwrap();
        if n % 500 == 0 {
            assert!(fs.used_bytes() <= SAMPLES_BYTES, "{} bytes", fs.used_bytes());
            let kept = numbers(&storage);
            let first = (n + 1).saturating_sub(SAMPLES_KEPT as u64);
            assert_eq!(kept, (first..=n).collect::<Vec<_>>());
        }
    }
    assert_eq!(check(&storage).unwrap(), Vec::<String>::new());
}

#[test]
fn times_that_go_back_change_nothing() {
    let fs = MemFs::new();
    let storage = context(&fs);
    let mut store = Store::open(&storage).unwrap();
    let times = (0..30_000i64).map(|n| if n % 1000 < 500 { n } else { -n * 1_000_000 });
    let times: Vec<i64> = times.collect();
    for at_us in &times {
        store.append(&Sample { at_us: *at_us, ..Sample::default() }).unwrap();
    }
    assert!(fs.used_bytes() <= SAMPLES_BYTES);
    let kept: Vec<i64> = read(&storage).unwrap().iter().map(|sample| sample.at_us).collect();
    assert_eq!(kept, times[times.len() - SAMPLES_KEPT..]);
}

#[test]
fn a_torn_sample_is_dropped() {
    let fs = MemFs::new();
    let storage = context(&fs);
    let mut store = Store::open(&storage).unwrap();
    (0..10).for_each(|n| store.append(&sample(n)).unwrap());
    let bytes = fs.open(&file(1), Access::ReadWrite).unwrap();
    for cut in 1..SLOT_BYTES as u64 {
        bytes.set_len(offset(9) + cut).unwrap();
        assert_eq!(numbers(&storage), (0..9).collect::<Vec<_>>());
        Store::open(&storage).unwrap().append(&sample(9)).unwrap();
        assert_eq!(numbers(&storage), (0..10).collect::<Vec<_>>());
        assert_eq!(bytes.len().unwrap(), offset(10));
    }
    // What a crash took from the middle is given up, and is no damage.
    bytes.write_at(&[0; 100], offset(4)).unwrap();
    Store::open(&storage).unwrap().append(&sample(10)).unwrap();
    assert_eq!(numbers(&storage), [0, 1, 2, 3, 5, 6, 7, 8, 9, 10]);
    let mut store = Store::open(&storage).unwrap();
    (11..SLOTS as u64 + 20).for_each(|n| store.append(&sample(n)).unwrap());
    assert_eq!(check(&storage).unwrap(), Vec::<String>::new());
    // In a full file it is damage.
    bytes.write_at(&[1], offset(5) + 30).unwrap();
    let found = check(&storage).unwrap();
    assert!(found.len() == 1 && found[0].contains("samples-00000001, offset 1456"), "{found:?}");
    assert!(!numbers(&storage).contains(&5) && numbers(&storage).contains(&6));
    // A file that did not get its header makes way for the next.
    fs.open(&file(2), Access::ReadWrite).unwrap().set_len(7).unwrap();
    Store::open(&storage).unwrap().append(&sample(77)).unwrap();
    assert_eq!(numbers(&storage).last(), Some(&77));
    assert_eq!((fs.exists(&file(2)).unwrap(), fs.exists(&file(3)).unwrap()), (false, true));
}

#[test]
fn crashes_take_samples_of_the_newest_file_alone() {
    for seed in 0..200 {
        let mut fs = MemFs::new();
        let mut rng = Rng::new(seed);
        let mut next = 0;
        for _ in 0..4 {
            let storage = context(&fs);
            let mut store = Store::open(&storage).unwrap();
            for _ in 0..1 + rng.index(2000) {
                store.append(&sample(next)).unwrap();
                next += 1;
            }
            let kept = numbers(&storage);
            assert!(kept.is_sorted() && kept.last() == Some(&(next - 1)));
            assert_eq!(check(&storage).unwrap(), Vec::<String>::new(), "seed {seed}");
            let durable = kept.len().saturating_sub(store.slot);
            fs = fs.crash(rng.next_u64(), 0.5);
            let left = numbers(&context(&fs));
            assert_eq!(left[..durable], kept[..durable], "seed {seed}");
            assert!(left.is_sorted() && left.last() < Some(&next), "seed {seed}");
        }
    }
}

fn options(fs: &MemFs, tasks: &SimTasks) -> Options {
    let mut options = Options::default().memory_limit(32 << 20);
    options.fs = Arc::new(fs.clone());
    options.clock = Arc::new(tasks.clone());
    options.tasks = Arc::new(tasks.clone());
    options
}

/// Three samples of a database, of which the second has this number of commits.
fn three(db: &Database, tasks: &SimTasks, commits: i64, first: i64) {
    let statements = Arc::new(AtomicU64::new(5));
    let counted = Arc::clone(&statements);
    db.keep_samples(Box::new(move || counted.load(Relaxed)));
    // There is one task, however often it is asked for.
    db.keep_samples(Box::new(|| 1000));
    tasks.sleep(Duration::from_secs(11));
    let table = db.table("t").unwrap();
    for n in 0..commits {
        table.insert(&[Value::Int(first + n)]).unwrap();
    }
    statements.fetch_add(7, Relaxed);
    tasks.sleep(Duration::from_secs(20));
}

#[test]
fn a_database_keeps_what_it_did_over_restarts() {
    let (fs, tasks) = (MemFs::new(), SimTasks::new(3));
    let open = || Database::open("/db", options(&fs, &tasks)).unwrap();
    let db = open();
    db.create_table(TableSpec::new("t").column("id", DataType::Int8).primary_key(["id"])).unwrap();
    let of = |db: &Database, first: usize| {
        let samples = db.samples().unwrap();
        assert_eq!(samples.len(), first + 3);
        assert!(db.stats().unwrap().samples_error.is_none());
        samples[first..].to_vec()
    };
    three(&db, &tasks, 40, 0);
    let before = of(&db, 0);
    assert_eq!(before.iter().map(|s| s.commits).collect::<Vec<_>>(), [0, 40, 0]);
    assert_eq!(before.iter().map(|s| s.rows).collect::<Vec<_>>(), [0, 40, 0]);
    assert_eq!(before.iter().map(|s| s.statements).collect::<Vec<_>>(), [0, 7, 0]);
    assert!(before.iter().all(|s| s.span_us.abs_diff(10_000_000) < 1_000_000), "{before:?}");
    assert!(before[1].p50_ns <= before[1].p99_ns && before[1].p99_ns <= before[1].longest_ns);
    assert!(before[1].written > 0 && before[1].disk[3] > 0);
    assert_eq!(before[2].longest_ns, 0);
    let stats = db.stats().unwrap();
    // What a sample takes itself is in the next one.
    assert_eq!(before[2].written_ever + SLOT_BYTES as u64, stats.written.total());
    let bytes = fs.open(&file(1), Access::Read).unwrap().len().unwrap();
    assert_eq!((stats.written.samples, stats.samples_bytes), (bytes, bytes));
    assert_eq!(stats.written_before.samples, 0);
    db.close().unwrap();

    let db = open();
    three(&db, &tasks, 3, 1000);
    assert_eq!(of(&db, 3).iter().map(|s| s.rows).collect::<Vec<_>>(), [0, 3, 0]);
    assert_eq!(db.samples().unwrap()[..3], before);
    let stats = db.stats().unwrap();
    assert_eq!((stats.written_before.samples, stats.written.samples), (bytes, stats.samples_bytes));
    assert_eq!(stats.samples_bytes, bytes + 3 * SLOT_BYTES as u64);
    db.close().unwrap();
    let checked = crate::check("/db", &CheckOptions { options: options(&fs, &tasks) }).unwrap();
    assert_eq!(checked.findings, []);
}

#[test]
fn a_full_disk_refuses_a_sample_and_nothing_else() {
    let (fs, tasks) = (MemFs::new(), SimTasks::new(4));
    let db = Database::open("/db", options(&fs, &tasks)).unwrap();
    db.create_table(TableSpec::new("t").column("id", DataType::Int8).primary_key(["id"])).unwrap();
    db.keep_samples(Box::new(|| 0));
    // The name is taken by a directory: the file cannot be made.
    fs.create_dir_all(&file(1)).unwrap();
    tasks.sleep(Duration::from_secs(15));
    let stats = db.stats().unwrap();
    assert!(stats.samples_error.is_some() && stats.background_error.is_none());
    db.table("t").unwrap().insert(&[Value::Int(1)]).unwrap();
    fs.remove_dir(&file(1)).unwrap();
    tasks.sleep(Duration::from_secs(10));
    assert!(db.stats().unwrap().samples_error.is_none());
    assert_eq!(db.samples().unwrap().len(), 1);
    db.close().unwrap();
}
