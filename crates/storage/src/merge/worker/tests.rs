use std::sync::atomic::Ordering;

use onlap_base::rng::Rng;
use onlap_format::manifest::Edit;

use super::*;
use crate::editor::double::{Bare, INDEX, TABLE, key_of};
use crate::merge::policy::{self, Calm, PolicyOptions};
use crate::merge::{shapes, work};

/// Files of 4 KB and blocks of 500 bytes, one slice per call.
fn tiny() -> MergeOptions {
    MergeOptions { slices: 1, file_bytes: 4000, block_bytes: 500 }
}

fn all_runs(bare: &Bare, reason: Reason) -> Choice {
    let version = bare.table();
    let runs = &version.indexes[0].runs;
    let output = runs.iter().find_map(|r| r.meta.group);
    let inputs: Vec<u64> =
        runs.iter().map(|r| r.meta.id).filter(|id| Some(*id) != output).collect();
    Choice { reason, inputs, output, bytes: 0 }
}

fn run_files(bare: &Bare) -> usize {
    let names = bare.context.fs.list(&bare.context.dir).unwrap();
    names.iter().filter(|n| n.ends_with(".run")).count()
}

fn live_files(bare: &Bare) -> usize {
    bare.table().indexes[0].runs.iter().map(|r| r.files.len()).sum()
}

/// Merges all runs to the end; after every slice the index reads as before. The number of slices.
fn merge_all(bare: &Bare, reason: Reason, options: &MergeOptions) -> usize {
    let before = bare.read_index();
    let mut slices = 1;
    loop {
        let choice = all_runs(bare, reason);
        match merge(bare, TABLE, INDEX, &choice, options).unwrap() {
            Outcome::Paused => slices += 1,
            Outcome::Finished => break,
            Outcome::Outdated => panic!("no other task works here"),
        }
        assert_eq!(bare.read_index(), before);
        bare.versions.files().sweep().unwrap();
        assert_eq!(run_files(bare), live_files(bare), "nothing is left behind");
    }
    let version = bare.table();
    let runs = &version.indexes[0].runs;
    assert_eq!((runs.len(), runs[0].meta.group), (1, None));
    bare.versions.files().sweep().unwrap();
    assert_eq!(run_files(bare), live_files(bare));
    slices
}

#[test]
fn random_keys_merge_slice_by_slice() {
    for include in [false, true] {
        let bare = Bare::new(include);
        for i in 0..5 {
            bare.add_run(i * 4000..(i + 1) * 4000 - i * 10, 4000);
        }
        let before = bare.read_index();
        let slices = merge_all(&bare, Reason::Full, &tiny());
        assert!(slices > 5, "{slices} slices");
        assert_eq!(bare.read_index(), before);
        let meta = bare.table().indexes[0].runs[0].meta.clone();
        assert_eq!((meta.rows, meta.level), (0..19_960, 1));
    }
}

#[test]
fn a_reopen_goes_on_where_the_last_slice_ended() {
    let mut bare = Bare::new(true);
    for i in 0..4 {
        bare.add_run(i * 5000..(i + 1) * 5000, 4000);
    }
    let before = bare.read_index();
    for _ in 0..3 {
        let choice = all_runs(&bare, Reason::Full);
        assert_eq!(merge(&bare, TABLE, INDEX, &choice, &tiny()).unwrap(), Outcome::Paused);
    }
    let options = PolicyOptions::default();
    let version = bare.table();
    let left =
        policy::debt_bytes(&shapes(&version, &version.indexes[0], 0, &options).unwrap(), &options);
    drop(version);
    bare = bare.reopen().0;
    assert_eq!(bare.read_index(), before);
    assert_eq!(run_files(&bare), live_files(&bare));
    let mut slices = 0;
    while let Some((choice, _)) = work(&bare, TABLE, INDEX, &options, &tiny()).unwrap() {
        assert_eq!(choice.reason, Reason::UnderWay);
        assert!(choice.bytes <= left);
        slices += 1;
    }
    assert!(slices > 3);
    assert_eq!(bare.table().indexes[0].runs.len(), 1);
    assert_eq!(bare.read_index(), before);
}

#[test]
fn entries_of_dead_rows_are_dropped() {
    let bare = Bare::new(true);
    for i in 0..3 {
        bare.add_run(i * 3000..(i + 1) * 3000, 4000);
    }
    bare.add_marks((0..9000).filter(|r| r % 5 == 0), 100);
    bare.add_marks((0..9000).filter(|r| r % 5 == 1), 200);
    bare.horizon.store(150, Ordering::Relaxed);
    let choice = all_runs(&bare, Reason::Full);
    let options = MergeOptions { slices: 1000, ..tiny() };
    assert_eq!(merge(&bare, TABLE, INDEX, &choice, &options).unwrap(), Outcome::Finished);
    let rows: Vec<RowId> = bare.read_index().iter().map(|e| e.1).collect();
    assert_eq!(rows.len(), 7200);
    assert!(rows.iter().all(|r| r % 5 != 0));

    // What is left is counted, and merged away when enough of it is dead.
    let version = bare.table();
    let count = |horizon| {
        let shapes =
            shapes(&version, &version.indexes[0], horizon, &PolicyOptions::default()).unwrap();
        shapes[0].dead
    };
    assert_eq!((count(150), count(200)), (0, 1800));
    assert_eq!(count(150), 0, "counted anew for another horizon");
    bare.horizon.store(200, Ordering::Relaxed);
    let done = work(&bare, TABLE, INDEX, &PolicyOptions::default(), &options).unwrap().unwrap();
    assert_eq!((done.0.reason, done.1), (Reason::Dead, Outcome::Finished));
    assert_eq!(bare.read_index().len(), 5400);
    assert_eq!(work(&bare, TABLE, INDEX, &PolicyOptions::default(), &options).unwrap(), None);
}

#[test]
fn a_run_of_dead_rows_goes_without_a_trace() {
    let bare = Bare::new(false);
    bare.add_run(0..500, 4000);
    bare.add_marks(0..500, 10);
    bare.horizon.store(10, Ordering::Relaxed);
    work(&bare, TABLE, INDEX, &PolicyOptions::default(), &tiny()).unwrap().unwrap();
    assert!(bare.table().indexes[0].runs.is_empty());
}

#[test]
fn one_key_with_more_entries_than_a_file_takes_stays_in_one_slice() {
    let bare = Bare::new(false);
    for i in 0..3u64 {
        let rows = i * 20_000..(i + 1) * 20_000;
        let key = |r: RowId| if r.is_multiple_of(10) { r as i64 } else { 7 };
        bare.add_run_of(rows.clone(), rows.map(|r| (key(r), r)).collect(), 4000);
    }
    let before = bare.read_index();
    let slices = merge_all(&bare, Reason::Quiet, &tiny());
    assert!(slices > 1);
    assert_eq!(bare.read_index(), before);
    // Equal keys are in row-id order within the run.
    let sorted: Vec<RowId> = before.iter().map(|e| e.1).collect();
    let wants = crate::entry::EntryWants { keys: true, ..Default::default() };
    let run = Arc::clone(&bare.table().indexes[0].runs[0].run);
    let mut cursor = run.cursor(crate::KeyBounds::all(), crate::Direction::Forward, wants);
    let (mut rows, mut batch) = (vec![], crate::EntryBatch::default());
    while crate::EntryCursor::next(&mut cursor, 5000, &mut batch).unwrap() {
        rows.extend_from_slice(&batch.row_ids);
    }
    assert_eq!(rows, sorted);
}

#[test]
fn rising_keys_are_not_rewritten_once_their_files_are_large() {
    let bare = Bare::new(false);
    let options = MergeOptions { file_bytes: 16_000, ..tiny() };
    let add = |start: u64, rows: u64| {
        // Not affine: the distances vary.
        let key = |r: RowId| (r * 100 + (key_of(r) as u64) % 100) as i64;
        let rows = start..start + rows;
        bare.add_run_of(rows.clone(), rows.map(|r| (key(r), r)).collect(), 16_000);
    };
    add(0, 20_000);
    add(20_000, 20_000);
    let files = live_files(&bare);
    let before = bare.read_index();
    assert_eq!(merge_all(&bare, Reason::Full, &options), 1);
    assert_eq!(live_files(&bare), files, "taken over");
    assert_eq!(bare.read_index(), before);

    // Small ones behind it become one first, which then joins it.
    for i in 0..3 {
        add(40_000 + i * 50, 50);
    }
    let choice = all_runs(&bare, Reason::Full);
    assert_eq!(merge(&bare, TABLE, INDEX, &choice, &options).unwrap(), Outcome::Finished);
    let sizes = |bare: &Bare| {
        let version = bare.table();
        version.indexes[0].runs.iter().map(|r| r.meta.entries()).collect::<Vec<_>>()
    };
    assert_eq!(sizes(&bare), [40_000, 150]);
    merge_all(&bare, Reason::Quiet, &options);
    assert_eq!((sizes(&bare), live_files(&bare)), (vec![40_150], files + 1));
}

#[test]
fn consecutive_keys_merge_into_one_affine_file() {
    let bare = Bare::new(false);
    for i in 0..4u64 {
        let rows = i * 5000..(i + 1) * 5000;
        bare.add_run_of(rows.clone(), rows.map(|r| (r as i64 + 9, r)).collect(), 4000);
    }
    let before = bare.read_index();
    assert_eq!(merge_all(&bare, Reason::Full, &tiny()), 1);
    let files = bare.table().indexes[0].runs[0].run.files().to_vec();
    assert_eq!((files.len(), files[0].form()), (1, "affine"));
    assert_eq!(bare.read_index(), before);
}

#[test]
fn a_stopped_merge_leaves_nothing() {
    let bare = Bare::new(false);
    bare.add_run(0..3000, 4000);
    bare.add_run(3000..6000, 4000);
    let files = run_files(&bare);
    bare.stop.store(true, Ordering::Relaxed);
    let choice = all_runs(&bare, Reason::Full);
    assert_eq!(merge(&bare, TABLE, INDEX, &choice, &tiny()).unwrap(), Outcome::Paused);
    assert_eq!(run_files(&bare), files);
}

#[test]
fn what_is_no_longer_there_is_outdated() {
    let bare = Bare::new(false);
    bare.add_run(0..3000, 4000);
    bare.add_run(3000..6000, 4000);
    let choice = all_runs(&bare, Reason::Full);
    let gone = Edit::RemoveRun(TABLE, INDEX, choice.inputs[1]);
    bare.commit(&[gone]).unwrap();
    assert_eq!(merge(&bare, TABLE, INDEX, &choice, &tiny()).unwrap(), Outcome::Outdated);
    let other = IndexId(99);
    assert_eq!(merge(&bare, TABLE, other, &choice, &tiny()).unwrap(), Outcome::Outdated);
    assert_eq!(work(&bare, TableId(9), INDEX, &PolicyOptions::default(), &tiny()).unwrap(), None);
}

#[test]
fn random_flushes_and_merges_never_lose_an_entry() {
    for seed in 0..6 {
        let mut rng = Rng::new(seed);
        let mut bare = Bare::new(rng.below(2) == 0);
        let policy = PolicyOptions { width: 3, floor_entries: 100, ..Default::default() };
        let mut next = 0;
        let rising = rng.below(3) == 0;
        for _ in 0..60 {
            match rng.below(10) {
                0..5 => {
                    let rows = next..next + 1 + rng.below(800);
                    next = rows.end;
                    let key = |r: RowId| if rising { r as i64 } else { key_of(r) % 500 };
                    bare.add_run_of(rows.clone(), rows.map(|r| (key(r), r)).collect(), 2000);
                }
                5 => bare = bare.reopen().0,
                _ => {
                    let before = bare.read_index();
                    let options = MergeOptions {
                        slices: 1 + rng.below(3) as usize,
                        file_bytes: 1000,
                        block_bytes: 300,
                    };
                    let calm = *rng.pick(&[Calm::Busy, Calm::Busy, Calm::Quiet, Calm::Settle]);
                    let quiet = PolicyOptions { calm, ..policy };
                    work(&bare, TABLE, INDEX, &quiet, &options).unwrap();
                    assert_eq!(bare.read_index(), before, "seed {seed}");
                }
            }
        }
        assert_eq!(bare.read_index().len() as u64, next, "seed {seed}");
    }
}
