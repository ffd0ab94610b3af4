//! Run files, mark files and filters as this release writes them.

use std::sync::Arc;

use onlap_base::{ColumnId, IndexId, TableId};
use onlap_format::affine::AffineBuilder;
use onlap_format::changes::{
    Change, ChangeBlock, ChangeBlockEntry, ChangeBounds, ChangeOp, Scalar, encode_change_block,
};
use onlap_format::filter::{Filter, key_hash};
use onlap_format::key::{ColumnStats, Entries, KeyColumn, KeyDef, KeyForm, Packing};
use onlap_format::marks::{
    Mark, MarkBlock, MarkBlockEntry, MarkFooter, encode_dead_block, encode_mark_block,
    parse_dead_block,
};
use onlap_format::run::{FenceEntry, Fences, KeyStats, RunFooter, RunForm};
use onlap_format::run_block::{RunBlock, encode_run_block};
use onlap_format::{Batch, BytesVec, Column, DataType, Physical, Vector};

mod golden_files;

fn def(types: &[DataType]) -> KeyDef {
    let column = |(i, ty): (usize, &DataType)| KeyColumn { ty: *ty, descending: i == 1 };
    KeyDef::new(types.iter().enumerate().map(column).collect())
}

fn ints(f: impl Fn(i64) -> i64, n: i64) -> Column {
    Column { data: Vector::Int((0..n).map(f).collect()), nulls: None }
}

fn texts(f: impl Fn(i64) -> String, n: i64) -> Column {
    let mut v = BytesVec::default();
    (0..n).for_each(|i| v.push(f(i).as_bytes()));
    Column { data: Vector::Bytes(v), nulls: None }
}

fn uuid(i: i64) -> String {
    let h = format!("{:016x}", (i as u64 + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15));
    format!("{}-{}-4{}-8{}-{}", &h[..8], &h[8..12], &h[..3], &h[3..6], &h[4..])
}

fn entries(types: &[DataType], columns: &[Column]) -> (Arc<Packing>, Entries) {
    let def = def(types);
    let n = columns[0].len();
    let stats = |(ty, c): (&DataType, &Column)| {
        let mut s = ColumnStats::new(*ty);
        s.observe(c, 0..n);
        s
    };
    let stats: Vec<ColumnStats> = types.iter().zip(columns).map(stats).collect();
    let packing = Arc::new(Packing::fit(&def, &stats));
    let refs: Vec<&Column> = columns.iter().collect();
    let mut entries = Entries::new(packing.new_keys(), Batch::default());
    assert!(packing.pack(&refs, 0..n, &mut entries.keys));
    entries.row_ids = (0..n as u64).map(|i| 1000 + i).collect();
    entries.include = Batch { columns: vec![ints(|i| i * i, n as i64)], rows: n };
    (packing, entries.sorted())
}

#[test]
fn run_blocks() {
    use DataType::{Char, Int4, Int8, Text};
    let n = 150;
    let mix = |i: i64| i * 7919 % 1009;
    for (name, form, types, columns) in [
        (
            "run-block-flat",
            KeyForm::Word,
            &[Int4, Int4][..],
            vec![ints(mix, n), ints(|i| i % 7, n)],
        ),
        ("run-block-grouped", KeyForm::Word, &[Int8], vec![ints(|i| (i % 3) << 50, n)]),
        (
            "run-block-wide",
            KeyForm::Wide8,
            &[Char(36), Char(36), Char(36)],
            vec![texts(uuid, n), texts(|i| uuid(i * 3), n), texts(|i| uuid(i / 2), n)],
        ),
        (
            "run-block-bytes",
            KeyForm::Bytes,
            &[Text],
            vec![texts(|i| format!("a text of some length, {}", mix(i) / 4), n)],
        ),
    ] {
        let (packing, entries) = entries(types, &columns);
        assert_eq!(packing.form(), form);
        let mut packed = Vec::new();
        packing.encode(&mut packed);
        let mut bytes = Vec::new();
        let taken = encode_run_block(&packing, &entries, 0..n as usize, 16_384, &mut bytes);
        assert_eq!(taken, n as usize);
        let block = RunBlock::parse(bytes.clone().into(), &packing).expect("a block");
        let forms = [onlap_format::Physical::Int];
        let mut got = Entries::new(packing.new_keys(), Batch::new(forms));
        block.entries(0..taken, &mut got).expect("entries");
        assert_eq!(got, entries);
        packed.extend_from_slice(&bytes);
        golden_files::check(&format!("{name}.bin"), &packed);
    }
}

#[test]
fn run_footers() {
    let (packing, entries) = entries(&[DataType::Int4], &[ints(|i| i * 2, 500)]);
    let def = packing.def().clone();
    let mut stats = KeyStats::new(&def);
    stats.observe(&packing, &entries.keys, 0..500).expect("stats");
    let mut keys = BytesVec::default();
    packing.all_key_bytes(&entries.keys, 0..500, &mut keys).expect("keys");
    let mut fences = Fences::default();
    for at in (0..500usize).step_by(100) {
        let last = (at > 0).then(|| keys.get(at - 1));
        let offset = 16 + 10 * at as u64;
        let entry = FenceEntry { first_row: 1000 + at as u64, offset, len: 1000, entries: 100 };
        fences.push(last, keys.get(at), entry);
    }
    let mut affine = AffineBuilder::new(10);
    (0..500).for_each(|i| assert!(affine.push(i + i / 100 * 50, 7 + i as u64)));
    for (name, form, filter) in [
        (
            "run-footer",
            RunForm::Explicit { packing: packing.clone(), fences: fences.clone() },
            Some((5016, 1032)),
        ),
        ("run-footer-affine", RunForm::Affine(affine.finish()), None),
        ("run-footer-fences", RunForm::FencesOnly(fences), None),
    ] {
        let footer = RunFooter {
            table: TableId(1),
            index: IndexId(2),
            schema_version: 3,
            rows: 1000..1500,
            filter,
            form,
            stats: stats.clone(),
        };
        let mut bytes = Vec::new();
        footer.encode(&mut bytes);
        assert_eq!(RunFooter::parse(&def, &bytes).expect("a footer"), footer);
        golden_files::check(&format!("{name}.bin"), &bytes);
    }
}

#[test]
fn filters() {
    let mut filter = Filter::with_keys(30);
    (0..30u8).for_each(|i| filter.insert(key_hash(&[i])));
    let mut bytes = Vec::new();
    filter.encode(&mut bytes);
    assert_eq!(Filter::parse(&bytes).expect("a filter"), filter);
    golden_files::check("filter.bin", &bytes);
}

#[test]
fn mark_files() {
    let mark = |i: u64| Mark {
        row: i * 3,
        csn: 10 + i / 4,
        successor: i.is_multiple_of(2).then_some(i + 500),
    };
    let marks: Vec<Mark> = (0..100).map(mark).collect();
    let mut bytes = Vec::new();
    encode_mark_block(&marks, &mut bytes);
    let mut got = Vec::new();
    MarkBlock::parse(&bytes).expect("a block").marks(0..100, &mut got).expect("marks");
    assert_eq!(got, marks);
    golden_files::check("mark-block.bin", &bytes);

    let dead = (0..1000).map(|i| i * i % 65_536).collect();
    let mut bytes = Vec::new();
    encode_dead_block(&dead, &mut bytes);
    assert_eq!(parse_dead_block(&bytes).expect("a block"), dead);
    golden_files::check("dead-block.bin", &bytes);

    let block = |offset, first, count| MarkBlockEntry { offset, len: 400, first, count };
    let footer = MarkFooter {
        table: TableId(4),
        rows: 0..200_000,
        csns: 10..35,
        marks: vec![block(16, 0, 100)],
        dead: vec![block(416, 1, 50), block(816, 2, 60)],
        changes: vec![ChangeBlockEntry {
            column: ColumnId(2),
            offset: 1216,
            len: 80,
            first: 7,
            end: 90_000,
            count: 3,
        }],
        change_csns: 12..30,
        bounds: vec![(ColumnId(2), ChangeBounds { added: 5, set: Some((-1, 9)) })],
    };
    let mut bytes = Vec::new();
    footer.encode(&mut bytes);
    assert_eq!(MarkFooter::parse(&bytes).expect("a footer"), footer);
    golden_files::check("mark-footer.bin", &bytes);
    let old = golden_files::read("mark-footer-1.bin");
    let old = MarkFooter::parse(&old).expect("a footer of version 1");
    assert_eq!((old.mark_count(), old.dead_count(), old.change_count()), (100, 110, 0));

    let changes = [
        Change { first: 7, len: 1, csn: 12, op: ChangeOp::Set(Scalar::Int(9)) },
        Change { first: 7, len: 1, csn: 29, op: ChangeOp::Add(Scalar::Int(-5)) },
        Change { first: 80, len: 89_920, csn: 29, op: ChangeOp::Set(Scalar::Null) },
    ];
    let mut bytes = Vec::new();
    encode_change_block(Physical::Int, &changes, &mut bytes);
    let mut got = Vec::new();
    let block = ChangeBlock::parse(&bytes, Physical::Int).expect("a block");
    block.read(0..100_000, &mut got).expect("changes");
    assert_eq!(got, changes);
    golden_files::check("change-block.bin", &bytes);
}

#[test]
fn a_footer_of_cut_keys() {
    let (packing, entries) = entries(&[DataType::Char(36)], &[texts(uuid, 500)]);
    let cut = Arc::new(packing.to_cut().expect("long keys can be cut"));
    let mut keys = cut.new_keys();
    assert!(cut.repack(&packing, &entries.keys, 0..500, &mut keys).expect("keys"));
    let mut stats = KeyStats::new(cut.def());
    stats.observe(&cut, &keys, 0..500).expect("stats");
    let mut bytes = BytesVec::default();
    cut.all_key_bytes(&keys, 0..500, &mut bytes).expect("key bytes");
    let mut fences = Fences::default();
    for at in (0..500usize).step_by(100) {
        let last = (at > 0).then(|| bytes.get(at - 1));
        let offset = 16 + 10 * at as u64;
        let entry = FenceEntry { first_row: 1000 + at as u64, offset, len: 1000, entries: 100 };
        fences.push(last, bytes.get(at), entry);
    }
    let footer = RunFooter {
        table: TableId(1),
        index: IndexId(2),
        schema_version: 3,
        rows: 1000..1500,
        filter: None,
        form: RunForm::Explicit { packing: cut.clone(), fences },
        stats,
    };
    let mut encoded = Vec::new();
    footer.encode(&mut encoded);
    assert_eq!(RunFooter::parse(cut.def(), &encoded).expect("a footer"), footer);
    golden_files::check("run-footer-cut.bin", &encoded);
}
