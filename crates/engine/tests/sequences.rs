//! Who gets which number of a sequence, from many threads and across crashes?

#![allow(clippy::disallowed_methods, reason = "tests stand outside the simulation")]

use std::collections::HashSet;
use std::sync::Arc;

use onlap::{Database, ErrorKind, Options, Sequence, SequenceSpec, SyncMode};
use onlap_base::rng::Rng;
use onlap_testkit::for_seeds;
use onlap_vfs::{Fault, FaultFs, Fs, MemFs};

fn options(fs: Arc<dyn Fs>) -> Options {
    let mut options = Options::default().sync(SyncMode::Os).memory_limit(32 << 20);
    options.tuning.log_file_bytes = 64 << 10;
    options.fs = fs;
    options
}

fn open(disk: &MemFs) -> Database {
    Database::open("/db", options(Arc::new(disk.clone()))).unwrap()
}

fn take(sequence: &Sequence, n: usize) -> Vec<i64> {
    (0..n).map(|_| sequence.next_value().unwrap()).collect()
}

#[test]
fn values_come_once_and_in_order() {
    let disk = MemFs::new();
    let db = open(&disk);
    let s =
        db.create_sequence(SequenceSpec::new("s").start(5).increment(-2).min(-1).max(9)).unwrap();
    assert_eq!(s.current(), None);
    assert_eq!(take(&s, 4), [5, 3, 1, -1]);
    assert_eq!(
        (s.next_value().unwrap_err().kind(), s.current()),
        (ErrorKind::SequenceExhausted, Some(-1))
    );
    s.set_value(7, true).unwrap();
    assert_eq!(take(&s, 1), [5]);
    s.set_value(7, false).unwrap();
    assert_eq!((s.current(), s.standing()), (None, (7, false)));
    assert_eq!(take(&s, 1), [7]);
    assert_eq!(s.set_value(10, false).unwrap_err().kind(), ErrorKind::OutOfRange);

    let round = db.create_sequence(SequenceSpec::new("round").min(1).max(3).cycle()).unwrap();
    assert_eq!(take(&round, 7), [1, 2, 3, 1, 2, 3, 1]);
    // Closing skips nothing.
    db.close().unwrap();
    assert_eq!(round.next_value().unwrap_err().kind(), ErrorKind::Closed);
    drop((s, round));
    let db = open(&disk);
    assert_eq!(take(&db.sequence("round").unwrap(), 2), [2, 3]);
    assert_eq!(take(&db.sequence("s").unwrap(), 2), [5, 3]);
}

#[test]
fn a_sequence_changes_and_goes_on() {
    let disk = MemFs::new();
    let db = open(&disk);
    let s = db.create_sequence(SequenceSpec::new("s")).unwrap();
    assert_eq!(take(&s, 3), [1, 2, 3]);
    let refused = |spec: SequenceSpec| db.change_sequence(spec).err().unwrap().kind();
    assert_eq!(refused(SequenceSpec::new("s").max(2)), ErrorKind::OutOfRange);
    assert_eq!(refused(SequenceSpec::new("t")), ErrorKind::UnknownSequence);
    assert_eq!(take(&s, 1), [4]);
    db.change_sequence(SequenceSpec::new("s").increment(10).max(20).cycle()).unwrap();
    assert_eq!(take(&s, 3), [14, 1, 11]);
    drop(s);
    db.close().unwrap();
    let db = open(&disk);
    assert_eq!(take(&db.sequence("s").unwrap(), 2), [1, 11]);
    assert_eq!(db.sequence("s").unwrap().standing(), (11, true));
}

/// A renamed sequence and the one that it was share what they hand out, also where the transaction rolls back.
#[test]
fn renamed_sequences_hand_out_one_row_of_values() {
    let disk = MemFs::new();
    let db = open(&disk);
    let s = db.create_sequence(SequenceSpec::new("s").increment(3)).unwrap();
    assert_eq!(take(&s, 1), [1]);
    let mut tx = db.begin().unwrap();
    let undone = tx.rename_sequence("s", "r").unwrap();
    assert_eq!((take(&undone, 1), take(&s, 1), take(&undone, 1)), (vec![4], vec![7], vec![10]));
    let names = (undone.name(), undone.schema().name, undone.origin());
    assert_eq!(names, ("r", "r".to_owned(), s.origin()));
    tx.rollback();
    assert_eq!(undone.next_value().unwrap_err().kind(), ErrorKind::UnknownSequence);
    assert_eq!(take(&s, 1), [13]);

    let mut tx = db.begin().unwrap();
    let r = tx.rename_sequence("s", "r").unwrap();
    assert_eq!((take(&s, 1), take(&r, 1)), (vec![16], vec![19]));
    tx.commit().unwrap();
    assert_eq!(s.next_value().unwrap_err().kind(), ErrorKind::UnknownSequence);
    assert_eq!(take(&r, 2), [22, 25]);
    assert!(db.sequence("s").is_err());
    // One with another description begins there, and is refused where values were taken meanwhile.
    let by = |step| SequenceSpec::new("r").increment(step);
    let mut tx = db.begin().unwrap();
    let changed = tx.replace_sequence(&by(10), None).unwrap();
    assert_eq!(take(&changed, 2), [35, 45]);
    assert_eq!(take(&r, 1), [28]);
    assert_eq!(tx.commit().unwrap_err().kind(), ErrorKind::Conflict);
    // Also behind a second change, or another name, of the same transaction.
    for renames in [false, true] {
        let mut tx = db.begin().unwrap();
        tx.replace_sequence(&by(10), None).unwrap();
        match renames {
            true => tx.rename_sequence("r", "q").unwrap(),
            false => tx.replace_sequence(&by(20), None).unwrap(),
        };
        take(&r, 1);
        assert_eq!(tx.commit().unwrap_err().kind(), ErrorKind::Conflict, "{renames}");
    }
    assert_eq!(take(&r, 1), [37]);
    let mut tx = db.begin().unwrap();
    tx.replace_sequence(&by(10), None).unwrap();
    tx.commit().unwrap();
    drop((s, r, changed, undone));
    db.close().unwrap();
    let db = open(&disk);
    let r = db.sequence("r").unwrap();
    assert_eq!((r.standing(), take(&r, 1)), ((37, true), vec![47]));
    r.set_value(5, false).unwrap();
    assert_eq!((r.standing(), r.current()), ((5, false), None));
}

#[test]
fn names_and_descriptions_are_checked() {
    let db = open(&MemFs::new());
    let refused = |spec: SequenceSpec| db.create_sequence(spec).err().unwrap().kind();
    assert_eq!(refused(SequenceSpec::new("")), ErrorKind::InvalidInput);
    assert_eq!(refused(SequenceSpec::new("s").increment(0)), ErrorKind::InvalidInput);
    assert_eq!(refused(SequenceSpec::new("s").start(0)), ErrorKind::InvalidInput);
    assert_eq!(refused(SequenceSpec::new("s").cache(0)), ErrorKind::InvalidInput);
    let s = db.create_sequence(SequenceSpec::new("s")).unwrap();
    assert_eq!(refused(SequenceSpec::new("s")), ErrorKind::AlreadyExists);
    assert_eq!(s.next_value(), Ok(1));
    db.drop_sequence("s").unwrap();
    assert_eq!(s.next_value().unwrap_err().kind(), ErrorKind::UnknownSequence);
    assert_eq!(db.drop_sequence("s").unwrap_err().kind(), ErrorKind::UnknownSequence);
    // The new one is another.
    assert_eq!(db.create_sequence(SequenceSpec::new("s")).unwrap().next_value(), Ok(1));
}

#[test]
fn threads_share_a_sequence() {
    const THREADS: usize = 4;
    const EACH: usize = 5000;
    let db = open(&MemFs::new());
    let s = db.create_sequence(SequenceSpec::new("s")).unwrap();
    let threads: Vec<_> = (0..THREADS)
        .map(|_| {
            let s = s.clone();
            std::thread::spawn(move || take(&s, EACH))
        })
        .collect();
    let mut seen = HashSet::new();
    for thread in threads {
        let values = thread.join().unwrap();
        assert!(values.windows(2).all(|w| w[0] < w[1]));
        assert!(values.iter().all(|v| seen.insert(*v)));
    }
    assert_eq!(seen.into_iter().max(), Some((THREADS * EACH) as i64));
}

/// The power goes at a random file operation, again and again, in the mode that syncs no commits:
/// whatever was handed out is never handed out again.
#[test]
fn no_value_comes_twice_across_power_cuts() {
    for_seeds("sequences", 150, |mut rng| {
        let mut disk = MemFs::new();
        let mut seen = HashSet::new();
        let db = open(&disk);
        db.create_sequence(SequenceSpec::new("s").cache(1 + rng.below(300) as u32)).unwrap();
        drop(db);
        for _ in 0..6 {
            let fs = FaultFs::new(Arc::new(disk.clone()));
            let fault = Fault::any().after(rng.below(60)).for_ever();
            fs.fail(if rng.chance(0.5) { fault.torn() } else { fault });
            let _ = live(&fs, &mut rng, &mut seen);
            disk = disk.crash(rng.next_u64(), [0.0, 0.5, 1.0][rng.index(3)]);
        }
    });
}

fn live(fs: &FaultFs, rng: &mut Rng, seen: &mut HashSet<i64>) -> onlap::Result<()> {
    let db = Database::open("/db", options(Arc::new(fs.clone())))?;
    let s = db.sequence("s")?;
    for _ in 0..rng.below(3000) {
        let v = s.next_value()?;
        assert!(seen.insert(v), "{v} comes again");
    }
    if rng.chance(0.3) { db.close() } else { Ok(()) }
}
