use super::*;
use onlap_base::rng::Rng;
use onlap_format::{Batch, Column, Physical, Vector};

/// Entries in memory, handed out in batches of uneven size.
struct Listed {
    entries: Vec<(Vec<u8>, RowId)>,
    at: usize,
    most: usize,
}

impl EntryCursor for Listed {
    fn next(&mut self, max: usize, out: &mut EntryBatch) -> Result<bool> {
        out.reset(&[Physical::Int]);
        let end = (self.at + max.min(self.most)).min(self.entries.len());
        let Vector::Int(column) = &mut out.columns.columns[0].data else { unreachable!() };
        for (key, row) in &self.entries[self.at..end] {
            out.keys.push(key);
            out.row_ids.push(*row);
            column.push(*row as i64 * 3);
        }
        out.columns.rows = out.row_ids.len();
        self.at = end;
        Ok(!out.is_empty())
    }
}

fn drain(mut merge: Merge, rng: &mut Rng) -> EntryBatch {
    let (mut all, mut batch) = (EntryBatch::default(), EntryBatch::default());
    all.reset(&[Physical::Int]);
    loop {
        let max = 1 + rng.below(40) as usize;
        let more = merge.next(max, &mut batch).unwrap();
        assert_eq!(more, !batch.is_empty());
        assert!(batch.len() <= max);
        all.extend_range(&batch, 0..batch.len());
        if !more {
            assert!(!merge.next(5, &mut batch).unwrap(), "the end stays the end");
            return all;
        }
    }
}

/// Keys of few and many distinct values, shorter and longer than the prefix.
fn key(rng: &mut Rng, kinds: u64) -> Vec<u8> {
    let n = rng.below(kinds);
    let mut key = vec![b'k'; (n % 3 * 11) as usize];
    key.extend_from_slice(&(n as u32).to_be_bytes());
    if n.is_multiple_of(5) {
        key.push(0);
    }
    key
}

#[test]
fn merging_gives_what_sorting_gives_in_both_directions() {
    for seed in 0..60 {
        let mut rng = Rng::new(seed);
        let sources = 1 + rng.below(22) as usize;
        let kinds = [3, 50, 100_000][seed as usize % 3];
        let mut lists = vec![Vec::new(); sources];
        let mut all = Vec::new();
        for row in 0..rng.below(3000) {
            let entry = (key(&mut rng, kinds), row);
            // Low sources get far more than high ones, as bottom runs do.
            let at = (rng.below(sources as u64 * sources as u64) as f64).sqrt() as usize;
            lists[sources - 1 - at].push(entry.clone());
            all.push(entry);
        }
        for direction in [Direction::Forward, Direction::Backward] {
            let backward = direction == Direction::Backward;
            let sort = |list: &mut Vec<(Vec<u8>, RowId)>| {
                list.sort();
                if backward {
                    list.reverse();
                }
            };
            let cursors = lists.iter().cloned().map(|mut entries| {
                sort(&mut entries);
                let most = 1 + rng.below(200) as usize;
                Box::new(Listed { entries, at: 0, most }) as Box<dyn EntryCursor>
            });
            let cursors: Vec<_> = cursors.collect();
            let merge = Merge::new(cursors, direction, true, 16);
            let got = drain(merge, &mut rng);
            sort(&mut all);
            let keys: Vec<&[u8]> = all.iter().map(|e| e.0.as_slice()).collect();
            assert_eq!(got.keys.iter().collect::<Vec<_>>(), keys, "seed {seed}");
            let rows: Vec<RowId> = all.iter().map(|e| e.1).collect();
            assert_eq!(got.row_ids, rows, "seed {seed}");
            let tripled = rows.iter().map(|r| *r as i64 * 3).collect();
            let column = Column { data: Vector::Int(tripled), nulls: None };
            assert_eq!(got.columns, Batch { columns: vec![column], rows: rows.len() });
        }
    }
}

#[test]
fn key_bytes_are_left_out_where_nobody_asks() {
    let list = |rows: &[RowId]| {
        let entries = rows.iter().map(|&r| (r.to_be_bytes().to_vec(), r)).collect();
        Box::new(Listed { entries, at: 0, most: 3 }) as Box<dyn EntryCursor>
    };
    let cursors = vec![list(&[1, 4, 5, 6, 9]), list(&[]), list(&[2, 3, 7, 8])];
    let mut merge = Merge::new(cursors, Direction::Forward, false, 4);
    let mut batch = EntryBatch::default();
    assert!(merge.next(7, &mut batch).unwrap());
    assert_eq!(batch.row_ids, [1, 2, 3, 4, 5, 6, 7]);
    assert!(batch.keys.is_empty());
    assert!(merge.next(7, &mut batch).unwrap());
    assert_eq!(batch.row_ids, [8, 9]);
}
