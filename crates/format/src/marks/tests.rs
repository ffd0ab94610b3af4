//! Blocks and footers of mark runs.

use onlap_base::rng::Rng;
use onlap_base::{ColumnId, ErrorKind, TableId};
use roaring::RoaringBitmap;

use super::{
    Mark, MarkBlock, MarkBlockEntry, MarkFooter, encode_dead_block, encode_mark_block,
    parse_dead_block,
};
use crate::changes::{ChangeBlockEntry, ChangeBounds};

fn random_marks(rng: &mut Rng, n: usize) -> Vec<Mark> {
    let mut row = rng.below(1 << 40);
    (0..n)
        .map(|_| {
            row += 1 + rng.below(100);
            let successor = rng.chance(0.3).then(|| row + rng.below(1000));
            Mark { row, csn: rng.below(1 << 20), successor }
        })
        .collect()
}

#[test]
fn blocks_give_back_their_marks() {
    let mut rng = Rng::new(5);
    for n in [1, 2, 100, 4096] {
        let marks = random_marks(&mut rng, n);
        let mut bytes = Vec::new();
        encode_mark_block(&marks, &mut bytes);
        let block = MarkBlock::parse(&bytes).unwrap();
        let mut got = Vec::new();
        block.marks(0..n, &mut got).unwrap();
        assert_eq!(got, marks);
        for mark in &marks {
            assert_eq!(block.get(mark.row).unwrap(), Some(*mark));
            let next = block.get(mark.row + 1).unwrap();
            assert_eq!(next, marks.iter().find(|m| m.row == mark.row + 1).copied());
        }
    }
}

#[test]
fn dead_blocks_give_back_their_rows_and_refuse_damage() {
    let mut rng = Rng::new(6);
    let rows: RoaringBitmap = (0..5000).map(|_| rng.below(1 << 16) as u32).collect();
    let mut bytes = Vec::new();
    encode_dead_block(&rows, &mut bytes);
    assert_eq!(parse_dead_block(&bytes).unwrap(), rows);
    for _ in 0..500 {
        let mut bad = bytes.clone();
        bad[rng.index(bytes.len())] ^= 1 << rng.below(8);
        assert_eq!(parse_dead_block(&bad).unwrap_err().kind(), ErrorKind::Corruption);
    }
}

#[test]
fn footers_round_trip_and_find_blocks() {
    let block = |offset, first, count| MarkBlockEntry { offset, len: 100, first, count };
    let changes = |column, offset, first, end| ChangeBlockEntry {
        column: ColumnId(column),
        offset,
        len: 90,
        first,
        end,
        count: 4,
    };
    let bounds = |added, set| ChangeBounds { added, set };
    let footer = MarkFooter {
        table: TableId(3),
        rows: 100..1_000_000,
        csns: 5..900,
        marks: vec![block(16, 100, 50), block(116, 5000, 3)],
        dead: vec![block(216, 0, 9), block(316, 7, 65_536)],
        changes: vec![
            changes(2, 416, 100, 4000),
            changes(2, 516, 4000, 5000),
            changes(5, 616, 0, 9),
        ],
        change_csns: 6..8,
        bounds: vec![(ColumnId(2), bounds(3, None)), (ColumnId(5), bounds(0, Some((-4, 9))))],
    };
    let mut bytes = Vec::new();
    footer.encode(&mut bytes);
    assert_eq!(MarkFooter::parse(&bytes).unwrap(), footer);
    assert_eq!(footer.block_of(99), None);
    assert_eq!(footer.block_of(4999), Some(0));
    assert_eq!(footer.dead_block_of(7 << 16), Some(1));
    assert_eq!(footer.dead_block_of(6 << 16), None);
    assert_eq!(footer.change_blocks(ColumnId(2), &(3999..4001)), 0..2);
    assert_eq!(footer.change_blocks(ColumnId(2), &(5000..6000)), 2..2);
    assert_eq!(footer.change_blocks(ColumnId(5), &(0..1)), 2..3);
    assert_eq!(footer.change_blocks(ColumnId(4), &(0..9)).len(), 0);
    let mut rng = Rng::new(1);
    for _ in 0..20_000 {
        let mut bad = bytes.clone();
        bad[rng.index(bytes.len())] ^= 1 << rng.below(8);
        bad.truncate(rng.index(bytes.len() * 4));
        let _ = MarkFooter::parse(&bad);
    }
}
