//! Do entries follow every change of their rows?

use onlap::{Change, Database, Result, Snapshot, Table, Value};
use onlap_base::rng::Rng;
use onlap_vfs::MemFs;

use super::double::{agree, by_words, check, indexes, open, row, spec, text};

/// Changes rows in all ways, and where it may looks at them in the transaction now and then.
pub fn scribble(
    db: &Database,
    table: &Table,
    rng: &mut Rng,
    next: &mut i64,
    look: bool,
) -> Result<()> {
    let mut tx = db.begin().unwrap();
    for _ in 0..1 + rng.below(30) {
        let key = [Value::Int(1 + rng.below((*next).max(1) as u64) as i64)];
        let before = tx.savepoint();
        let done = match rng.below(9) {
            0 => tx.delete(table, &key).map(drop),
            1 => tx.update(table, &key, &[("n", Value::Int(rng.below(1000) as i64))]).map(drop),
            2 => tx.update(table, &key, &[("text", text(rng))]).map(drop),
            3 => tx.change(table, &key, &[("text", Change::Set(text(rng)))]).map(drop),
            4 => tx.change(table, &key, &[("free", Change::Add(Value::Int(1)))]).map(drop),
            5 => {
                let from = *next + 1;
                *next += 60;
                (from..=*next).try_for_each(|id| tx.insert(table, &row(id, rng)))
            }
            _ => {
                *next += 1;
                tx.insert(table, &row(*next, rng))
            }
        };
        if done.is_err() || rng.chance(0.1) {
            tx.rollback_to(&before).unwrap();
        }
    }
    if look && rng.chance(0.2) {
        agree(&mut tx, table);
    }
    if rng.chance(0.9) {
        tx.commit()?;
    }
    Ok(())
}

#[test]
fn every_change_of_rows_at_snapshots_of_every_age() {
    for seed in 0..5 {
        let disk = MemFs::new();
        let mut db = open(&disk);
        let mut table = db.create_table(spec()).unwrap();
        let (mut rng, mut next) = (Rng::new(seed), 0);
        for _ in 0..8 {
            scribble(&db, &table, &mut rng, &mut next, true).unwrap();
        }
        db.create_indexes("t", indexes()).unwrap();
        agree(&mut db.snapshot().unwrap(), &table);
        let mut kept: Vec<Snapshot> = Vec::new();
        for round in 0..30 {
            scribble(&db, &table, &mut rng, &mut next, true).unwrap();
            match round % 10 {
                1 => kept.push(db.snapshot().unwrap()),
                3 => db.flush().unwrap(),
                6 => agree(&mut db.snapshot().unwrap(), &table),
                7 => kept.iter_mut().for_each(|snapshot| agree(snapshot, &table)),
                8 => {
                    kept.clear();
                    drop(table);
                    drop(db);
                    db = open(&disk);
                    table = db.table("t").unwrap();
                    agree(&mut db.snapshot().unwrap(), &table);
                }
                _ => {}
            }
        }
        agree(&mut db.snapshot().unwrap(), &table);
        kept.clear();
        drop(table);
        db.close().unwrap();
        check(&disk);
    }
}

/// Entries of one run of the index of words, and the bytes that merges wrote for it.
fn size(db: &Database) -> (u64, u64) {
    let stats = db.stats_without_keys().unwrap();
    let index = stats.tables[0].indexes.iter().find(|i| i.name == "by_word").unwrap();
    (index.entries, index.written.merged)
}

/// Where many rows die and none come, the run is rewritten without them, and then no more.
#[test]
fn entries_of_dead_rows_go() {
    let disk = MemFs::new();
    let db = open(&disk);
    let mut rng = Rng::new(20);
    let table = db.create_table(spec().index(by_words())).unwrap();
    let rows: Vec<_> = (1..=6000).map(|id| row(id, &mut rng)).collect();
    table.insert_many(rows).unwrap();
    db.settle().unwrap();
    let (entries, _) = size(&db);
    assert!(entries > 20_000, "{entries}");
    let mut tx = db.begin().unwrap();
    for id in 1..=4000 {
        assert!(tx.delete(&table, &[Value::Int(id)]).unwrap());
    }
    tx.commit().unwrap();
    db.flush().unwrap();
    for _ in 0..2000 {
        if size(&db).0 < entries / 2 {
            break;
        }
        std::thread::sleep(std::time::Duration::from_millis(10));
    }
    let (left, _) = size(&db);
    assert!(left < entries / 2, "{left} of {entries}");
    agree(&mut db.snapshot().unwrap(), &table);
    db.settle().unwrap();
    let before = size(&db);
    (0..5).for_each(|_| db.settle().unwrap());
    assert_eq!(size(&db), before, "what was rewritten once is left alone");
    drop(table);
    db.close().unwrap();
    check(&disk);
}
