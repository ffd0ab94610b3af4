//! Footers that come back, find blocks and commits, and never panic.

use proptest::prelude::*;

use super::*;

fn footer(blocks: u64, commits: u64) -> SegmentFooter {
    let entry = |i: u64| BlockEntry {
        offset: 16 + i * 16_000,
        len: 16_000,
        rows: 1000,
        first_row_id: 500 + i * 1100,
    };
    let zone = |i: u64| match i % 4 {
        0 => Zone { nulls: 1000, bounds: Bounds::Empty },
        n => Zone { nulls: n as u32, bounds: Bounds::Int(i as i64 - 50, i as i64 * 3) },
    };
    let text = |i: u64| {
        let max = (!i.is_multiple_of(3)).then(|| format!("q{i}").into_bytes());
        Zone { nulls: 0, bounds: Bounds::Bytes(format!("k{i}").into_bytes(), max) }
    };
    let commit = |i: u64| (500 + (i + 1) * 50, 7000 + i);
    SegmentFooter::new(
        TableId(4),
        2,
        vec![(ColumnId(0), Physical::Int), (ColumnId(7), Physical::Bytes)],
        490..500 + blocks * 1100,
        9,
        (0..blocks).map(entry).collect(),
        &[(0..blocks).map(zone).collect(), (0..blocks).map(text).collect()],
        CommitMap::new(&(0..commits).map(commit).collect::<Vec<_>>()),
    )
}

#[test]
fn footers_come_back() {
    for (blocks, commits) in [(0, 0), (1, 1), (5, 100), (300, 6000)] {
        let footer = footer(blocks, commits);
        let mut bytes = Vec::new();
        footer.encode(&mut bytes);
        let parsed = SegmentFooter::parse(&bytes).unwrap();
        assert_eq!(parsed, footer);
        for k in 0..2 {
            assert_eq!(parsed.zones(k).unwrap(), footer.zones(k).unwrap());
            assert_eq!(parsed.zones(k).unwrap().len(), blocks as usize);
        }
        assert_eq!(parsed.position(ColumnId(7)), Some(1));
        assert_eq!(parsed.position(ColumnId(1)), None);
        for id in [0, 499, 500, 1599, 1600, 1601, u64::MAX] {
            let expected = footer.blocks.iter().rposition(|b| b.first_row_id <= id);
            assert_eq!(parsed.block_of(id), expected);
        }
    }
}

#[test]
fn commits_of_equal_size_cost_next_to_nothing() {
    let boundaries: Vec<(RowId, Csn)> = (0..20_000).map(|i| ((i + 1) * 100, 5000 + i)).collect();
    let map = CommitMap::new(&boundaries);
    assert!(map.heap_bytes() < 40);
    assert!(map.iter().eq(boundaries.iter().copied()));
    for (row, csn) in [(0, 5000), (99, 5000), (100, 5001), (1_999_999, 24_999)] {
        assert_eq!(map.csn_of(row), Some(csn));
    }
    assert_eq!(map.csn_of(2_000_000), None);
    assert_eq!(map.end_at(5001), Some(200));
}

proptest! {
    #[test]
    fn damage_never_panics(
        changes in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..6),
        cut in any::<Option<prop::sample::Index>>(),
    ) {
        let mut bytes = Vec::new();
        footer(20, 50).encode(&mut bytes);
        for (at, value) in changes {
            let at = at.index(bytes.len());
            bytes[at] = value;
        }
        if let Some(cut) = cut {
            bytes.truncate(cut.index(bytes.len()));
        }
        if let Ok(parsed) = SegmentFooter::parse(&bytes) {
            for k in 0..parsed.columns.len() {
                let _ = parsed.zones(k);
            }
            parsed.block_of(700);
            parsed.commits.csn_of(700);
            parsed.commits.end_at(7003);
        }
    }
}
