use super::*;
use crate::MemFs;

fn kinds(results: Vec<Result<()>>) -> Vec<Option<ErrorKind>> {
    results.into_iter().map(|result| result.err().map(|e| e.kind())).collect()
}

#[test]
fn the_nth_operation_fails_once() {
    let fs = FaultFs::new(Arc::new(MemFs::new()));
    let file = fs.create(Path::new("a"), Access::ReadWrite).unwrap();
    fs.fail(Fault::on(Operation::Write).after(2).with(ErrorKind::DiskFull));
    let results = (0..5).map(|i| file.write_at(b"x", i)).collect();
    assert_eq!(kinds(results), [None, None, Some(ErrorKind::DiskFull), None, None]);
    assert_eq!(&*file.read_at(0, 5).unwrap(), b"xx\0xx");
    assert_eq!((fs.operations(), fs.struck()), (7, 1));
}

#[test]
fn a_lasting_fault_lasts_until_healed() {
    let fs = FaultFs::new(Arc::new(MemFs::new()));
    let file = fs.create(Path::new("a"), Access::ReadWrite).unwrap();
    fs.fail(Fault::on(Operation::Sync).after(1).for_ever());
    let results = (0..4).map(|_| file.sync_data()).collect();
    assert_eq!(
        kinds(results),
        [None, Some(ErrorKind::Io), Some(ErrorKind::Io), Some(ErrorKind::Io)]
    );
    fs.heal();
    file.sync_all().unwrap();
}

#[test]
fn only_matching_names_count() {
    let fs = FaultFs::new(Arc::new(MemFs::new()));
    fs.fail(Fault::any().named(".log").after(1));
    let other = fs.create(Path::new("1.seg"), Access::ReadWrite).unwrap();
    other.write_at(b"x", 0).unwrap();
    let log = fs.create(Path::new("1.log"), Access::ReadWrite).unwrap();
    other.sync_all().unwrap();
    let error = log.write_at(b"x", 0).unwrap_err();
    assert!(error.message().contains("1.log") && error.message().contains("Write"), "{error}");
    log.write_at(b"x", 0).unwrap();
}

#[test]
fn a_torn_write_lands_half() {
    let fs = FaultFs::new(Arc::new(MemFs::new()));
    let file = fs.create(Path::new("a"), Access::ReadWrite).unwrap();
    fs.fail(Fault::on(Operation::Write).torn());
    assert!(file.write_at(b"12345678", 0).is_err());
    assert_eq!(file.len().unwrap(), 4);
    assert_eq!(&*file.read_at(0, 4).unwrap(), b"1234");
}

/// The way the faults are meant to be used: count once, then fail each operation in turn.
#[test]
fn every_operation_of_a_scenario_can_fail() {
    let scenario = |fs: &FaultFs| -> Result<()> {
        let (dir, tmp, name) = (Path::new("/d"), Path::new("/d/x.tmp"), Path::new("/d/x"));
        fs.create_dir_all(dir)?;
        let _lock = fs.lock(Path::new("/d/LOCK"))?;
        let file = fs.create(tmp, Access::ReadWrite)?;
        file.allocate(100)?;
        file.write_at(b"abc", 0)?;
        file.sync_data()?;
        fs.rename(tmp, name)?;
        fs.sync_dir(dir)?;
        fs.open(name, Access::Read)?.read_at(0, 3)?;
        fs.list(dir)?;
        fs.remove(name)
    };
    let fs = FaultFs::new(Arc::new(MemFs::new()));
    scenario(&fs).unwrap();
    let operations = fs.operations();
    assert_eq!(operations, 12);
    for n in 0..operations {
        let fs = FaultFs::new(Arc::new(MemFs::new()));
        fs.fail(Fault::any().after(n));
        assert!(scenario(&fs).is_err(), "operation {n}");
        assert_eq!((fs.operations(), fs.struck()), (n + 1, 1), "nothing follows the failure");
    }
}

#[test]
fn a_lie_does_nothing_and_says_so_to_nobody() {
    let disk = MemFs::new();
    let fs = FaultFs::new(Arc::new(disk.clone()));
    let file = fs.create(Path::new("a"), Access::ReadWrite).unwrap();
    file.sync_all().unwrap();
    fs.sync_dir(Path::new(".")).unwrap();
    file.write_at(b"old", 0).unwrap();
    fs.fail(Fault::on(Operation::Sync).lying());
    fs.fail(Fault::on(Operation::Remove).lying());
    file.sync_data().unwrap();
    fs.remove(Path::new("a")).unwrap();
    assert_eq!(fs.struck(), 2);
    assert!(disk.exists(Path::new("a")).unwrap());
    assert_eq!(disk.crash(1, 0.0).used_bytes(), 0, "the sync was none");
}

#[test]
fn a_short_read_is_a_file_that_ends() {
    let fs = FaultFs::new(Arc::new(MemFs::new()));
    let file = fs.create(Path::new("a"), Access::ReadWrite).unwrap();
    file.write_at(b"12345678", 0).unwrap();
    fs.fail(Fault::on(Operation::Read).short());
    let e = file.read_at(2, 4).unwrap_err();
    assert_eq!(e.kind(), ErrorKind::Corruption);
    let place = e.place().expect("damage has a place");
    assert_eq!((place.file.as_str(), place.offset), ("a", 2));
    assert_eq!(&*file.read_at(2, 4).unwrap(), b"3456");
}

#[test]
fn a_watcher_sees_each_operation_before_it_happens() {
    let disk = MemFs::new();
    let fs = FaultFs::new(Arc::new(disk.clone()));
    let seen: Arc<Mutex<Vec<(Operation, bool)>>> = Arc::default();
    let (below, notes) = (disk.clone(), Arc::clone(&seen));
    fs.watch(Arc::new(move |operation, path: &Path| {
        notes.lock().push((operation, below.exists(path).unwrap()));
    }));
    fs.create(Path::new("a"), Access::ReadWrite).unwrap().write_at(b"x", 0).unwrap();
    fs.remove(Path::new("a")).unwrap();
    let expected =
        [(Operation::Create, false), (Operation::Write, true), (Operation::Remove, true)];
    assert_eq!(*seen.lock(), expected);
}
