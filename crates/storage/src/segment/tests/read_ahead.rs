//! Reading ahead changes when bytes are read, never what a scan gives.

use std::path::PathBuf;

use onlap_base::{Memory, SimTasks, Tasks};
use onlap_vfs::{Access, Fs, MemFs};

use super::*;

pub(super) const ROWS: usize = 300_000;

/// A segment of several spans in a simulation.
pub(super) fn simulated(seed: u64, limit: u64) -> (SimTasks, Case) {
    let tasks = SimTasks::new(seed);
    let (fs, dir) = (MemFs::new(), PathBuf::from("/db"));
    fs.create_dir_all(&dir).unwrap();
    let memory = Arc::new(Memory::new(limit));
    let context = StorageContext::new(Arc::new(fs), dir, memory, Arc::new(tasks.clone()));
    let case = written(context, seed, ROWS, 4096, 0);
    assert!(case.segment.bytes() > 6 * SPAN_BYTES as u64);
    case.context.cache.clear();
    (tasks, case)
}

pub(super) fn background(case: &Case) -> u64 {
    case.context.memory.used(Part::Background)
}

#[test]
fn a_scan_gives_the_same_with_and_without_reading_ahead() {
    for (seed, limit) in [(1, 16 << 20), (2, 64 << 20), (3, 1 << 30)] {
        let (_tasks, case) = simulated(seed, limit);
        for direction in [Direction::Forward, Direction::Backward] {
            case.context.cache.clear();
            let ahead = case.scan(0..RowId::MAX, direction);
            assert_eq!(background(&case), 0);
            case.context.cache.clear();
            let room = case.context.memory.limit(Part::Background);
            let _all = case.context.memory.charge(Part::Background, room);
            let alone = case.scan(0..RowId::MAX, direction);
            assert_eq!(background(&case), room, "nothing is read without room for it");
            assert_eq!(ahead.1.len(), ROWS);
            assert!(ahead == alone, "seed {seed}, {direction:?}");
        }
    }
}

#[test]
fn a_scan_dropped_half_way_leaves_nothing() {
    for seed in 0..8 {
        let (tasks, case) = simulated(seed, 64 << 20);
        let mut scan = SegmentScan::new(&case.segment, 0..RowId::MAX, Direction::Forward);
        for _ in 0..scan.blocks_left() / 3 {
            scan.next_block().unwrap().expect("more blocks");
        }
        assert!(background(&case) > 0, "it reads ahead");
        assert!(background(&case) <= 5 * SPAN_BYTES as u64);
        drop(scan);
        while background(&case) > 0 {
            tasks.yield_now();
        }
        // The tasks have let go of the segment too, or do so as they end.
        while Arc::strong_count(&case.segment) > 1 {
            tasks.yield_now();
        }
    }
}

#[test]
fn a_scan_of_a_few_blocks_starts_no_task() {
    let (tasks, case) = simulated(4, 64 << 20);
    let before = tasks.steps();
    let mut scan = SegmentScan::new(&case.segment, 0..RowId::MAX, Direction::Forward);
    for _ in 0..5 {
        scan.next_block().unwrap().expect("more blocks");
    }
    assert_eq!(tasks.steps(), before);
}

#[test]
fn damage_ahead_is_reported_where_the_scan_comes_to_it() {
    let (_tasks, case) = simulated(5, 64 << 20);
    let entries = &case.segment.footer().blocks;
    let name = FileKind::Segment(case.segment.id()).name();
    let bad = entries.len() * 2 / 3;
    damage(&case.context, &name, entries[bad].offset + 100);
    // The open segment still reads the old file.
    let segment = Arc::new(Segment::open(&case.context, case.segment.id(), None).unwrap());
    for direction in [Direction::Forward, Direction::Backward] {
        let mut scan = SegmentScan::new(&segment, 0..RowId::MAX, direction);
        let good = match direction {
            Direction::Forward => bad,
            Direction::Backward => entries.len() - bad - 1,
        };
        for _ in 0..good {
            scan.next_block().unwrap().expect("a good block");
        }
        let error = scan.next_block().err().expect("the damaged block");
        assert_eq!(error.kind(), ErrorKind::Corruption);
        let place = error.place().expect("damage has a place");
        assert_eq!((place.file.as_str(), place.offset), (name.as_str(), entries[bad].offset));
    }
}

#[test]
fn a_file_that_ends_early_is_an_error_in_its_place() {
    let (tasks, case) = simulated(6, 64 << 20);
    let entries = &case.segment.footer().blocks;
    let name = FileKind::Segment(case.segment.id()).name();
    let cut = entries[entries.len() / 2].offset;
    let path = case.context.dir.join(&name);
    case.context.fs.open(&path, Access::ReadWrite).unwrap().set_len(cut).unwrap();
    let mut scan = SegmentScan::new(&case.segment, 0..RowId::MAX, Direction::Forward);
    let mut good = 0;
    let error = loop {
        match scan.next_block() {
            Ok(found) => good += found.map(|_| 1).expect("no end before the error"),
            Err(e) => break e,
        }
    };
    assert!(good > 0 && good <= entries.len() / 2);
    assert_eq!(error.kind(), ErrorKind::Corruption);
    let place = error.place().expect("damage has a place");
    assert_eq!((place.file.as_str(), place.offset), (name.as_str(), entries[good].offset));
    drop(scan);
    while background(&case) > 0 {
        tasks.yield_now();
    }
}

#[test]
fn the_scan_of_the_next_segment_reads_ahead_at_once() {
    let (_tasks, case) = simulated(7, 64 << 20);
    for direction in [Direction::Forward, Direction::Backward] {
        case.context.cache.clear();
        let mut scan = SegmentScan::new(&case.segment, 0..RowId::MAX, direction);
        while !scan.is_read_out() {
            scan.next_block().unwrap().expect("the last span is left");
        }
        assert!(scan.blocks_left() > 0);
        case.context.cache.clear();
        let before = background(&case);
        let mut next = SegmentScan::new(&case.segment, 0..RowId::MAX, direction);
        next.follow(&scan);
        assert!(background(&case) > before);
        let blocks = next.blocks_left();
        let found = std::iter::from_fn(|| next.next_block().unwrap());
        let numbers: Vec<usize> = found.map(|b| b.number).collect();
        let expected = 0..blocks;
        match direction {
            Direction::Forward => assert!(numbers.into_iter().eq(expected)),
            Direction::Backward => assert!(numbers.into_iter().eq(expected.rev())),
        }
    }
}
