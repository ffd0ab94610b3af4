//! Decoding on tasks changes who does the work, never what a scan gives.

use onlap_base::{SimTasks, Tasks};

use super::read_ahead::{ROWS, background, simulated};
use super::*;

/// A scan of [`projection`] whose tasks decode.
fn scan_of(case: &Case, range: Range<RowId>, direction: Direction) -> SegmentScan {
    let (ids, forms) = (projection().0, projection().1);
    let wanted = ids.into_iter().zip(forms.columns.iter().map(|c| c.data.physical()));
    let decode = DecodeAhead::new(&wanted.collect::<Vec<_>>());
    SegmentScan::new(&case.segment, range, direction).decode_ahead(&decode)
}

fn wait_for_tasks(tasks: &SimTasks, case: &Case) {
    while Arc::strong_count(&case.segment) > 1 {
        tasks.yield_now();
    }
    assert_eq!(background(case), 0);
}

#[test]
fn decoded_rows_are_those_of_the_blocks() {
    // Without room to read ahead, with room for some buffers, and for all of them.
    for (seed, limit) in [(11, 1 << 20), (12, 40 << 20), (13, 1 << 30)] {
        let (tasks, case) = simulated(seed, limit);
        for range in [0..RowId::MAX, 1234..1000 + ROWS as RowId - 777] {
            for direction in [Direction::Forward, Direction::Backward] {
                let plain = case.scan(range.clone(), direction);
                for cached in [false, true] {
                    if !cached {
                        case.context.cache.clear();
                    }
                    let decoded = case.rows_of(scan_of(&case, range.clone(), direction));
                    assert_eq!(plain.1.len(), decoded.1.len());
                    assert!(plain == decoded, "{seed}, {direction:?}, cached: {cached}");
                    wait_for_tasks(&tasks, &case);
                }
            }
        }
    }
}

#[test]
fn parts_of_decoded_blocks_are_what_they_were() {
    let (_tasks, case) = simulated(14, 1 << 30);
    let mut scan = scan_of(&case, 0..RowId::MAX, Direction::Forward);
    let (wanted, mut out) = projection();
    let mut decoded = 0;
    while let Some(mut found) = scan.next_block().unwrap() {
        decoded += usize::from(found.decoded.is_some());
        let rows = found.rows.len();
        let first = (found.block.row_id(0) - 1000) as u32;
        let (_, mut parts) = projection();
        scan.append(&mut found, 0..rows / 3, &wanted, &mut parts).unwrap();
        scan.append(&mut found, rows / 3..rows, &wanted, &mut parts).unwrap();
        same(&parts, &case.expected(&(first..first + rows as u32).collect::<Vec<_>>()));
        let picks: Vec<u32> = (0..rows as u32).rev().step_by(3).collect();
        out.truncate(0);
        out.columns.iter_mut().for_each(|c| c.nulls = None);
        scan.append_selected(&found, &picks, &wanted, &mut out).unwrap();
        same(&out, &case.expected(&picks.iter().map(|i| first + i).collect::<Vec<_>>()));
    }
    assert!(decoded > 20, "{decoded} blocks");
}

#[test]
fn a_dropped_scan_leaves_no_buffer() {
    for (seed, cached) in (20..28).zip([true, false].into_iter().cycle()) {
        let (tasks, case) = simulated(seed, 1 << 30);
        if cached {
            case.scan(0..RowId::MAX, Direction::Forward);
        }
        let mut scan = scan_of(&case, 0..RowId::MAX, Direction::Forward);
        let (wanted, mut out) = projection();
        for _ in 0..scan.blocks_left() / 2 {
            assert!(scan.next(&wanted, &mut out, &mut Vec::new()).unwrap());
        }
        assert!(background(&case) > 0, "tasks decode ahead");
        drop(scan);
        wait_for_tasks(&tasks, &case);
    }
}

#[test]
fn a_scan_of_a_few_cached_blocks_starts_no_task() {
    let (tasks, case) = simulated(15, 1 << 30);
    case.scan(0..RowId::MAX, Direction::Forward);
    wait_for_tasks(&tasks, &case);
    let before = tasks.steps();
    let blocks = case.segment.footer().blocks.iter();
    let few = blocks.take_while(|b| b.offset < SPAN_BYTES as u64 / 2).count();
    let mut scan = scan_of(&case, 0..RowId::MAX, Direction::Forward);
    for _ in 0..few {
        scan.next_block().unwrap().expect("more blocks");
    }
    assert_eq!(tasks.steps(), before);
}

#[test]
fn damage_in_a_block_decoded_ahead_has_its_place() {
    let (_tasks, case) = simulated(16, 1 << 30);
    let entries = &case.segment.footer().blocks;
    let name = FileKind::Segment(case.segment.id()).name();
    let bad = entries.len() / 2;
    damage(&case.context, &name, entries[bad].offset + 100);
    let segment = Arc::new(Segment::open(&case.context, case.segment.id(), None).unwrap());
    let damaged = Case { segment, ..case };
    let mut scan = scan_of(&damaged, 0..RowId::MAX, Direction::Forward);
    let (wanted, mut out) = projection();
    for _ in 0..bad {
        assert!(scan.next(&wanted, &mut out, &mut Vec::new()).unwrap());
    }
    let error = scan.next(&wanted, &mut out, &mut Vec::new()).expect_err("the damaged block");
    let place = error.place().expect("damage has a place");
    let offset = damaged.segment.footer().blocks[bad].offset;
    assert_eq!((place.file.as_str(), place.offset), (name.as_str(), offset));
}
