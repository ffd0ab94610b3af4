use std::ops::Range;
use std::sync::Arc;

use onlap_base::{ColumnId, ErrorKind};

use super::*;
use crate::batch::{Batch, Column, NullMask, Vector};
use crate::changes::{ChangeOp, LoggedChange, Scalar};
use crate::types::Physical;

fn ints(values: &[i64]) -> Column {
    Column { data: Vector::Int(values.to_vec()), nulls: None }
}

fn sample_rows(n: usize) -> Batch {
    let mut text = Column::new(Physical::Bytes);
    let mut mask = NullMask::none(0);
    if let Vector::Bytes(v) = &mut text.data {
        for i in 0..n {
            v.push(if i % 3 == 1 { b"" } else { b"row" });
            mask.push(i % 3 == 1);
        }
    }
    text.nulls = Some(mask);
    let wide = Vector::Wide((0..n).map(|i| i as i128 - 2).collect());
    let numeric =
        Vector::Numeric((0..n).map(|i| -(i as i128)).collect(), (0..n).map(|i| i as u8).collect());
    let columns = vec![
        ints(&(0..n).map(|i| 1000 + i as i64 * 3).collect::<Vec<_>>()),
        text,
        Column { data: wide, nulls: None },
        Column { data: numeric, nulls: None },
    ];
    Batch { columns, rows: n }
}

fn group(durable: LogPosition) -> Option<GroupPart> {
    Some(GroupPart { durable, unix_us: 1_700_000_000_000_000 })
}

/// A log file with one commit per entry of `durable`, and the positions of its records.
fn file(header: FileHeader, durable: &[LogPosition]) -> (Vec<u8>, Vec<LogPosition>) {
    let mut bytes = header.encode().to_vec();
    let mut positions = vec![];
    for (i, durable) in durable.iter().enumerate() {
        let mut body = CommitBody::new();
        body.push(TableId(1), 1, &sample_rows(5), &[]);
        let at = LogPosition::new(header.file, bytes.len() as u64);
        positions.push(at);
        body.append_to(&mut bytes, at, header.csn + 1 + i as u64, &[i as u64 * 5], group(*durable));
    }
    positions.push(LogPosition::new(header.file, bytes.len() as u64));
    (bytes, positions)
}

fn first(file: u64) -> FileHeader {
    header(file, LogPosition::START, LogPosition::START, 0)
}

/// With stamps that follow from the numbers.
fn header(file: u64, previous_end: LogPosition, durable: LogPosition, csn: Csn) -> FileHeader {
    let previous_stamp = if previous_end.file() > 0 { 100 + previous_end.file() } else { 0 };
    FileHeader { file, previous_end, durable, csn, stamp: 100 + file, previous_stamp }
}

type Files = Vec<(u64, Vec<u8>)>;

fn run(files: &Files, oldest: u64) -> Result<(Vec<Csn>, ReplayEnd)> {
    run_begun(files, oldest, None)
}

fn run_begun(files: &Files, oldest: u64, begun: Option<LogBegun>) -> Result<(Vec<Csn>, ReplayEnd)> {
    let file = |(n, bytes): &(u64, Vec<u8>)| LogFile {
        number: *n,
        name: format!("{n:08}.log"),
        bytes: bytes.len() as u64,
    };
    let names: Vec<LogFile> = files.iter().map(file).collect();
    let mut seen = vec![];
    let end = replay(
        &names,
        oldest,
        begun,
        &mut |number, max, bytes| {
            let file =
                &files.iter().find(|(n, _)| *n == number).expect("asked for what is there").1;
            *bytes = file[..file.len().min(max)].to_vec();
            Ok(())
        },
        &mut |r| {
            seen.push(r.record.csn);
            Ok(())
        },
    )?;
    Ok((seen, end))
}

#[test]
fn a_commit_comes_back() {
    let mut body = CommitBody::new();
    let marks = [
        LoggedMark { row: 900, successor: Some(4) },
        LoggedMark { row: 7, successor: None },
        LoggedMark { row: 8, successor: Some(0) },
    ];
    body.push(TableId(3), 2, &sample_rows(70), &marks);
    body.push(TableId(9), 1, &Batch::default(), &marks[1..2]);
    let at = LogPosition::new(5, HEADER_BYTES as u64);
    let mut bytes = first(5).encode().to_vec();
    body.append_to(&mut bytes, at, 77, &[100, 200], group(at));
    assert_eq!(bytes.len(), HEADER_BYTES + body.record_bytes(true));
    put_note(&mut bytes, at.forward(body.record_bytes(true)), 77, group(at).unwrap());
    bytes.resize(bytes.len() + 100, 0);
    let mut reader = LogReader::new("5.log", &first(5), &bytes, None);
    let record = reader.next_record().unwrap().unwrap();
    assert_eq!((record.csn, record.group, record.position), (77, group(at), at));
    let RecordBody::Commit(commit) = record.body else { panic!("a commit") };
    assert_eq!(commit.tables[0].rows, sample_rows(70));
    assert_eq!(commit.tables[0].marks, marks);
    assert_eq!((commit.tables[0].table, commit.tables[0].base), (TableId(3), 100));
    assert_eq!((commit.tables[1].base, &commit.tables[1].marks[..]), (200, &marks[1..2]));
    assert_eq!(reader.next_record().unwrap().unwrap().body, RecordBody::Note);
    assert!(reader.next_record().unwrap().is_none() && !reader.is_torn());
}

fn sample_changes() -> Vec<LoggedChange> {
    let change =
        |op, rows: &[Range<RowId>]| LoggedChange { column: ColumnId(7), op, rows: rows.to_vec() };
    vec![
        change(ChangeOp::Set(Scalar::Null), &[9..10]),
        change(ChangeOp::Add(Scalar::Int(-3)), &[5..7, 1 << 40..(1 << 40) + 20_000_000]),
        change(ChangeOp::Set(Scalar::Wide(Box::new(i128::MIN))), &[7..8, 2..3]),
        change(ChangeOp::Set(Scalar::Numeric(Box::new((12, 5)))), &[7..8]),
        change(ChangeOp::Set(Scalar::Bytes(Arc::new(b"abc".to_vec()))), &[1..2]),
    ]
}

#[test]
fn column_changes_come_back_with_their_tables() {
    let mut body = CommitBody::new();
    body.push(TableId(3), 2, &sample_rows(3), &[]);
    body.push(TableId(4), 1, &Batch::default(), &[]);
    body.push_changes([&[][..], &sample_changes()[..]].into_iter());
    let at = LogPosition::new(5, HEADER_BYTES as u64);
    let mut bytes = first(5).encode().to_vec();
    body.append_to(&mut bytes, at, 12, &[100, 200], None);
    let record = LogReader::new("5.log", &first(5), &bytes, None).next_record().unwrap();
    let RecordBody::Commit(commit) = record.unwrap().body else { panic!("a commit") };
    assert_eq!(commit.tables[0].rows, sample_rows(3));
    assert!(commit.tables[0].changes.is_empty());
    assert_eq!(commit.tables[1].changes, sample_changes());
}

#[test]
fn relogged_rows_come_back() {
    for row_ids in [None, Some(vec![40, 42, 43, 50, 51])] {
        let table = RelogTable {
            table: TableId(3),
            schema: 4,
            first_row: 40,
            row_ids,
            commits: vec![(43, 9), (52, 12)],
            rows: sample_rows(5),
            marks: vec![
                RelogMark { row: 41, csn: 11, successor: Some(50) },
                RelogMark { row: 3, csn: 10, successor: None },
            ],
            changes: vec![(10, sample_changes()), (12, sample_changes())],
        };
        let body = RelogBody::new(&table);
        let at = LogPosition::new(5, HEADER_BYTES as u64);
        let mut bytes = first(5).encode().to_vec();
        body.append_to(&mut bytes, at, 12);
        assert_eq!(bytes.len(), HEADER_BYTES + body.record_bytes());
        let record = LogReader::new("5.log", &first(5), &bytes, None).next_record().unwrap();
        assert_eq!(record.unwrap().body, RecordBody::Relog(table));
    }
}

#[test]
fn rows_come_back_at_every_count() {
    for n in [1, 11, 12, 63, 100, 4095, 4096, 4097, 9000] {
        let mut body = CommitBody::new();
        body.push(TableId(3), 2, &sample_rows(n), &[]);
        let mut bytes = first(5).encode().to_vec();
        body.append_to(&mut bytes, LogPosition::new(5, HEADER_BYTES as u64), 1, &[0], None);
        let record = LogReader::new("5.log", &first(5), &bytes, None).next_record().unwrap();
        let RecordBody::Commit(commit) = record.unwrap().body else { panic!("a commit") };
        let (mut want, mut got) = (sample_rows(n), commit.tables[0].rows.clone());
        // A mask without a NULL is as good as none.
        for column in want.columns.iter_mut().chain(&mut got.columns) {
            column.nulls.take_if(|mask| mask.count() == 0);
        }
        assert_eq!(got, want, "{n} rows");
    }
}

#[test]
fn rows_without_columns_are_a_number_with_a_limit() {
    let record = |rows| {
        let mut body = CommitBody::new();
        body.push(TableId(3), 2, &Batch { columns: Vec::new(), rows }, &[]);
        let mut bytes = first(5).encode().to_vec();
        body.append_to(&mut bytes, LogPosition::new(5, HEADER_BYTES as u64), 1, &[0], None);
        LogReader::new("5.log", &first(5), &bytes, None).next_record()
    };
    for n in [1, 12, 1 << 20, onlap_base::limits::LOG_RECORD_BYTES] {
        let RecordBody::Commit(commit) = record(n).unwrap().unwrap().body else {
            panic!("a commit")
        };
        let got = &commit.tables[0].rows;
        assert_eq!((got.rows, got.columns.len()), (n, 0));
    }
    assert!(record(onlap_base::limits::LOG_RECORD_BYTES + 1).is_err());
}

#[test]
fn any_torn_last_record_is_cut() {
    let start = LogPosition::new(1, HEADER_BYTES as u64);
    let (bytes, at) = file(first(1), &[LogPosition::START, start]);
    for cut in at[1].offset() as usize..bytes.len() {
        let mut torn = bytes.clone();
        torn[cut] ^= 0x40;
        let (seen, end) = run(&vec![(1, torn)], 1).unwrap();
        assert_eq!((seen, end.end, end.csn), (vec![1], at[1], 1), "byte {cut}");
        let mut short = bytes.clone();
        short.truncate(cut);
        assert_eq!(run(&vec![(1, short)], 1).unwrap().0, vec![1]);
    }
}

#[test]
fn a_hole_in_what_was_never_synced_is_a_torn_tail() {
    let (mut bytes, at) = file(first(1), &[LogPosition::START; 3]);
    bytes[at[1].offset() as usize + 30] ^= 1;
    let (seen, end) = run(&vec![(1, bytes)], 1).unwrap();
    assert_eq!((seen, end.end), (vec![1], at[1]));
}

#[test]
fn a_hole_in_what_was_durable_is_damage() {
    let (clean, at) = file(first(1), &[LogPosition::START; 3]);
    let (mut bytes, _) = file(first(1), &[LogPosition::START, LogPosition::START, at[2]]);
    assert_eq!(clean.len(), bytes.len());
    bytes[at[1].offset() as usize + 60] ^= 1;
    let e = run(&vec![(1, bytes)], 1).unwrap_err();
    assert_eq!(e.kind(), ErrorKind::Corruption);
    let place = e.place().unwrap();
    assert_eq!((place.file.as_str(), place.offset), ("00000001.log", at[1].offset()));
}

#[test]
fn a_recycled_file_shows_nothing_of_its_previous_life() {
    let (old, _) = file(first(1), &[LogPosition::START; 20]);
    let (mut new, at) = file(first(9), &[LogPosition::START; 2]);
    new.extend_from_slice(&old[new.len()..]);
    assert_eq!(new.len(), old.len());
    let (seen, end) = run(&vec![(9, new.clone())], 9).unwrap();
    assert_eq!((seen, end.end), (vec![1, 2], at[2]));
    // Renamed and not begun: void, whatever it holds.
    let (seen, end) = run(&vec![(9, new), (12, old)], 9).unwrap();
    assert_eq!((seen, end.live, end.void), (vec![1, 2], vec![9], vec![12]));
}

#[test]
fn record_bytes_inside_a_value_are_no_record() {
    let (inner, _) = file(first(1), &[LogPosition::new(1, 4000)]);
    let mut rows = Batch::new([Physical::Bytes]);
    if let Vector::Bytes(v) = &mut rows.columns[0].data {
        v.push(&inner);
    }
    rows.rows = 1;
    let mut body = CommitBody::new();
    body.push(TableId(1), 1, &rows, &[]);
    let mut bytes = first(1).encode().to_vec();
    body.append_to(
        &mut bytes,
        LogPosition::new(1, HEADER_BYTES as u64),
        1,
        &[0],
        group(LogPosition::START),
    );
    bytes[HEADER_BYTES] ^= 1;
    assert_eq!(run(&vec![(1, bytes)], 1).unwrap().0, Vec::<Csn>::new());
}

#[test]
fn the_chain_follows_the_headers() {
    let (one, at1) = file(first(1), &[LogPosition::START; 2]);
    let second = header(2, at1[2], at1[2], 2);
    let (two, at2) = file(second, &[at1[2]; 2]);
    let files = vec![(1, one.clone()), (2, two.clone())];
    let (seen, end) = run(&files, 1).unwrap();
    assert_eq!((seen, end.end, end.csn), (vec![1, 2, 3, 4], at2[2], 4));

    // The older file was cut; the rest stands alone. If it is still needed, that is damage.
    assert_eq!(run(&vec![(2, two.clone())], 2).unwrap().0, vec![3, 4]);
    assert_eq!(run(&vec![(2, two.clone())], 1).unwrap_err().kind(), ErrorKind::Corruption);

    // File 2 says file 1 was durable to its end.
    let mut torn = one.clone();
    torn[at1[1].offset() as usize] ^= 1;
    let e = run(&vec![(1, torn), (2, two.clone())], 1).unwrap_err();
    assert_eq!(e.place().unwrap().offset, at1[1].offset());

    // A recovery cut file 1 behind its first record and went on in file 3: file 2 is void.
    let third = header(3, at1[1], at1[1], 1);
    let (three, _) = file(third, &[at1[1]]);
    let (seen, end) = run(&vec![(1, one), (2, two), (3, three)], 1).unwrap();
    assert_eq!((seen, end.void), (vec![1, 2], vec![2]));
}

#[test]
fn a_torn_older_file_cuts_the_files_behind_it() {
    let (mut one, at1) = file(first(1), &[LogPosition::START; 2]);
    let start = LogPosition::START;
    let second = header(2, at1[2], start, 2);
    let (two, at2) = file(second, &[start; 2]);
    one[at1[1].offset() as usize + 1] ^= 1;
    let (seen, end) = run(&vec![(1, one.clone()), (2, two)], 1).unwrap();
    assert_eq!((seen, end.end, end.void), (vec![1], at1[1], vec![2]));
    // Unless a record there knows better.
    let (two, _) = file(second, &[start, at2[1]]);
    assert_eq!(run(&vec![(1, one), (2, two)], 1).unwrap_err().kind(), ErrorKind::Corruption);
}

#[test]
fn a_file_without_header_ends_the_log() {
    let (one, at1) = file(first(1), &[LogPosition::START; 2]);
    let start = LogPosition::START;
    let third = header(3, LogPosition::new(2, 500), start, 9);
    let (three, _) = file(third, &[start]);
    let files = vec![(1, one.clone()), (2, vec![0; 900]), (3, three)];
    let (seen, end) = run(&files, 1).unwrap();
    assert_eq!((seen, end.end, end.void), (vec![1, 2], at1[2], vec![2, 3]));
    let third = FileHeader { durable: LogPosition::new(2, 500), ..third };
    let (three, _) = file(third, &[start]);
    assert!(run(&vec![(1, one), (2, vec![0; 900]), (3, three)], 1).is_err());
}

#[test]
fn a_file_whose_name_was_lost_ends_the_log() {
    let (one, at1) = file(first(1), &[LogPosition::START; 2]);
    let start = LogPosition::START;
    let third = header(3, LogPosition::new(2, 500), start, 9);
    let (three, at3) = file(third, &[start; 2]);
    let (seen, end) = run(&vec![(1, one.clone()), (3, three.clone())], 1).unwrap();
    assert_eq!((seen, end.end, end.void), (vec![1, 2], at1[2], vec![3]));
    // Also where nothing is left before it.
    let (seen, end) = run(&vec![(3, three)], 2).unwrap();
    assert_eq!((seen, end.end, end.void), (vec![], start, vec![3]));
    // Nor does it matter that files which are not needed were durable.
    let before = FileHeader { previous_end: LogPosition::new(2, 500), ..third };
    let (mut three, _) = file(before, &[LogPosition::new(2, 500)]);
    three[..HEADER_BYTES].fill(0);
    let (seen, end) = run(&vec![(3, three)], 3).unwrap();
    assert_eq!((seen, end.end, end.void), (vec![], start, vec![3]));
    // Unless the header or a record behind it says that it was durable.
    let known = FileHeader { durable: LogPosition::new(2, 500), ..third };
    let (three, _) = file(known, &[start]);
    let e = run(&vec![(1, one.clone()), (3, three)], 1).unwrap_err();
    assert!(e.message().contains("is missing"), "{e}");
    assert_eq!(e.place().unwrap().file, "00000002.log");
    let (three, _) = file(third, &[start, at3[1]]);
    let e = run(&vec![(1, one), (3, three)], 1).unwrap_err();
    assert_eq!(e.kind(), ErrorKind::Corruption, "{e}");
}

/// Three files that the manifest knows, and what it says.
fn three() -> (Files, LogBegun) {
    let (one, at1) = file(first(1), &[LogPosition::START; 2]);
    let (two, at2) = file(header(2, at1[2], LogPosition::START, 2), &[LogPosition::START; 2]);
    let (three, at3) = file(header(3, at2[2], LogPosition::START, 4), &[LogPosition::START; 2]);
    let begun = LogBegun { file: 3, stamp: 103, bytes: at3[2].offset() };
    (vec![(1, one), (2, two), (3, three)], begun)
}

/// Nothing in the files says that anything was durable, as in mode `os`: the manifest does.
#[test]
fn files_that_the_manifest_knows_are_needed() {
    let (files, begun) = three();
    assert_eq!(run_begun(&files, 1, Some(begun)).unwrap().0, [1, 2, 3, 4, 5, 6]);
    // Older than what is needed it says nothing.
    assert_eq!(run_begun(&vec![], 4, Some(begun)).unwrap().0, Vec::<Csn>::new());
    for at in 0..3 {
        let name = format!("{:08}.log", at + 1);
        let named = |files: Files| {
            let e = run_begun(&files, 1, Some(begun)).unwrap_err();
            assert_eq!(e.place().unwrap().file, name, "{e}");
        };
        let mut without = files.clone();
        without.remove(at);
        named(without);
        for bytes in [vec![], vec![0; files[at].1.len()], files[(at + 1) % 3].1.clone()] {
            let mut emptied = files.clone();
            emptied[at].1 = bytes;
            named(emptied);
        }
        let parsed = FileHeader::parse(at as u64 + 1, &files[at].1).unwrap().unwrap();
        let mut foreign = files.clone();
        let other = FileHeader { stamp: 7, ..parsed }.encode();
        foreign[at].1[..HEADER_BYTES].copy_from_slice(&other);
        named(foreign);
        let mut cut = files.clone();
        cut[at].1.pop();
        named(cut);
    }
}

#[test]
fn a_file_behind_the_newest_goes_on_from_it_or_is_foreign() {
    let (mut files, begun) = three();
    let end = LogPosition::new(3, begun.bytes);
    let next = header(4, end, LogPosition::START, 6);
    files.push((4, next.encode().to_vec()));
    assert_eq!(run_begun(&files, 1, Some(begun)).unwrap().1.live, [1, 2, 3, 4]);
    let apart = header(4, LogPosition::START, LogPosition::START, 0);
    let around = FileHeader { previous_end: LogPosition::new(2, 400), previous_stamp: 102, ..next };
    for foreign in [FileHeader { previous_stamp: 9, ..next }, apart, around] {
        files[3].1 = foreign.encode().to_vec();
        let e = run_begun(&files, 1, Some(begun)).unwrap_err();
        assert_eq!(e.place().unwrap().file, "00000004.log", "{e}");
    }
    // Begun and lost with its header: no commit relied on it.
    files[3].1 = vec![0; 500];
    assert_eq!(run_begun(&files, 1, Some(begun)).unwrap().1.void, [4]);
}

#[test]
fn a_newer_format_is_refused_by_name() {
    let mut bytes = first(1).encode();
    bytes[8] = 4;
    let e = FileHeader::parse(1, &bytes).unwrap_err();
    assert_eq!(e.kind(), ErrorKind::NewerFormat);
    assert!(e.message().contains("format 4"));
}

#[test]
fn damaged_bodies_never_panic() {
    // The checksum would catch these; the decoders must hold without it.
    let mut body = CommitBody::new();
    let marks = [LoggedMark { row: 3, successor: Some(8) }];
    body.push(TableId(1), 1, &sample_rows(9), &marks);
    body.push(TableId(2), 1, &sample_rows(20), &[]);
    let mut full = vec![];
    body.append_to(&mut full, LogPosition::new(1, HEADER_BYTES as u64), 1, &[0, 0], None);
    let frame = full.len() - body.body_bytes();
    for i in frame..full.len() {
        for bit in 0..8 {
            let mut bytes = full.clone();
            bytes[i] ^= 1 << bit;
            let crc = crc32c::crc32c(&bytes[frame..]);
            bytes[8..12].copy_from_slice(&crc.to_le_bytes());
            let head = frame_crc(LogPosition::new(1, HEADER_BYTES as u64), &bytes[4..frame]);
            bytes[..4].copy_from_slice(&head.to_le_bytes());
            let mut file = first(1).encode().to_vec();
            file.extend_from_slice(&bytes);
            let _ = LogReader::new("1.log", &first(1), &file, None).next_record();
        }
    }
}
