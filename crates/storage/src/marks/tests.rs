use std::collections::BTreeMap;

use onlap_base::{ErrorKind, Rng, TableId};

use super::*;
use crate::testing::{damage, disk, memory};

/// Row to (CSN, successor); CSN 0 where only the death is known.
type Model = BTreeMap<RowId, (Csn, Option<RowId>)>;

fn model(rng: &mut Rng, rows: Range<RowId>, n: usize) -> Model {
    (0..n)
        .map(|_| {
            let row = rows.start + rng.below(rows.end - rows.start);
            let successor = rng.chance(0.3).then(|| row + 1 + rng.below(50));
            (row, if rng.chance(0.4) { (0, None) } else { (10 + rng.below(90), successor) })
        })
        .collect()
}

fn written(context: &Arc<StorageContext>, rows: Range<RowId>, model: &Model) -> MarkRun {
    let spec = MarkRunSpec { table: TableId(3), rows: rows.clone(), csns: 10..100 };
    let mut writer = MarkRunWriter::create(context, spec).unwrap();
    let mut dead: BTreeMap<u64, RoaringBitmap> = BTreeMap::new();
    for (row, (csn, successor)) in model {
        if *csn > 0 {
            writer.push(&[Mark { row: *row, csn: *csn, successor: *successor }]).unwrap();
        } else {
            let block = dead.entry(row / DEAD_BLOCK_ROWS).or_default();
            block.insert((row % DEAD_BLOCK_ROWS) as u32);
        }
    }
    for (number, bits) in &dead {
        writer.push_dead(*number, bits).unwrap();
    }
    let meta = writer.finish().unwrap();
    let run = MarkRun::open(context, meta.file, None).unwrap();
    assert_eq!((meta.marks, meta.bytes, meta.rows), (model.len() as u64, run.bytes(), rows));
    run
}

fn dead_at(model: &Model, row: RowId, csn: Csn) -> bool {
    model.get(&row).is_some_and(|(at, _)| *at <= csn)
}

fn check(run: &MarkRun, model: &Model, rng: &mut Rng) {
    let all = run.footer().rows.clone();
    for _ in 0..300 {
        let row = all.start.saturating_sub(3) + rng.below(all.end - all.start + 6);
        assert_eq!(run.deleted(row).unwrap(), model.get(&row).copied());
    }
    // Few rows at a time: first from blocks, then from sets of the rows that these name.
    for _ in 0..300 {
        let csn = rng.below(110);
        let mut rows: Vec<RowId> =
            (0..10).map(|_| all.start + rng.below(all.end - all.start)).collect();
        rows.sort_unstable();
        rows.dedup();
        let mut dead = vec![false; rows.len()];
        run.filter_dead(&rows, csn, &mut dead).unwrap();
        assert!(rows.iter().zip(&dead).all(|(row, dead)| *dead == dead_at(model, *row, csn)));
    }
    for round in 0..40 {
        let csn = rng.below(110);
        let share = [0.9, 0.1, 0.001][round % 3];
        let start = all.start.saturating_sub(5) + rng.below(all.end - all.start);
        let end = (start + 1 + rng.below(100_000)).min(all.end + 5);
        let rows: Vec<RowId> = (start..end).filter(|_| rng.chance(share)).collect();
        let mut dead = vec![false; rows.len()];
        run.filter_dead(&rows, csn, &mut dead).unwrap();
        assert!(rows.iter().zip(&dead).all(|(row, dead)| *dead == dead_at(model, *row, csn)));
        let mut bits = vec![0; (end - start).div_ceil(64) as usize];
        let any = run.dead_in(start..end, csn, &mut bits).unwrap();
        let bit = |row: RowId| bits[((row - start) / 64) as usize] >> ((row - start) % 64) & 1 == 1;
        assert!((start..end).all(|row| bit(row) == dead_at(model, row, csn)));
        assert_eq!(any, bits.iter().any(|w| *w != 0));
    }
}

#[test]
fn marks_answer_as_the_model() {
    for (seed, n) in [0, 1, 100, 3000, 60_000].into_iter().enumerate() {
        let mut rng = Rng::new(seed as u64);
        let rows = rng.below(200_000)..300_000;
        let model = model(&mut rng, rows.clone(), n);
        let context = memory(16 << 20);
        check(&written(&context, rows, &model), &model, &mut rng);
    }
}

#[test]
fn a_real_file_answers_the_same_and_gives_all_marks() {
    let (_dir, context) = disk(32 << 20);
    let mut rng = Rng::new(4);
    let model = model(&mut rng, 70_000..400_000, 20_000);
    let run = written(&context, 70_000..400_000, &model);
    check(&run, &model, &mut rng);
    let mut marks = Vec::new();
    (0..run.mark_blocks()).for_each(|i| run.read_marks(i, &mut marks).unwrap());
    let mut all: Model = marks.iter().map(|m| (m.row, (m.csn, m.successor))).collect();
    for i in 0..run.dead_blocks() {
        let (first, rows) = run.read_dead(i).unwrap();
        all.extend(rows.iter().map(|r| (first + u64::from(r), (0, None))));
    }
    assert_eq!(all, model);
    assert!(context.written.report().marks == run.bytes());
}

#[test]
fn planted_damage_is_found_and_placed() {
    let context = memory(16 << 20);
    let mut rng = Rng::new(4);
    let model = model(&mut rng, 0..200_000, 9_000);
    let run = written(&context, 0..200_000, &model);
    let name = FileKind::Marks(run.id()).name();
    for _ in 0..200 {
        let offset = 16 + rng.below(run.bytes() - 16);
        damage(&context, &name, offset);
        let error = MarkRun::open(&context, run.id(), None)
            .and_then(|run| run.dead_in(0..200_000, 100, &mut vec![0; 4000]))
            .expect_err("every byte counts");
        assert!(matches!(error.kind(), ErrorKind::Corruption | ErrorKind::NewerFormat));
        assert_eq!(error.place().expect("damage has a place").file, name);
        damage(&context, &name, offset);
    }
}
