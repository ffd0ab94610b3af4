//! Does the log still read and write what earlier releases did?

mod golden_files;

use std::sync::Arc;

use onlap_base::{ColumnId, TableId};
use onlap_format::changes::{ChangeOp, LoggedChange, Scalar};
use onlap_format::log::{
    CommitBody, FileHeader, GroupPart, HEADER_BYTES, LogPosition, LogReader, LoggedMark,
    RecordBody, RelogBody, RelogMark, RelogTable, put_note,
};
use onlap_format::{Batch, Column, Physical, Vector};

fn rows(n: i64) -> Batch {
    let mut text = Column::new(Physical::Bytes);
    for i in 0..n {
        if i % 4 == 3 {
            text.push_null();
        } else {
            if let Vector::Bytes(v) = &mut text.data {
                v.push(format!("row {i}").as_bytes());
            }
            text.pushed();
        }
    }
    let ints = Vector::Int((0..n).map(|i| i * 7 - 3).collect());
    let wide = Vector::Wide((0..n).map(|i| i128::from(i) << 70).collect());
    let columns =
        vec![Column { data: ints, nulls: None }, text, Column { data: wide, nulls: None }];
    Batch { columns, rows: n as usize }
}

fn changes() -> Vec<LoggedChange> {
    let change = |column, op, rows| LoggedChange { column: ColumnId(column), op, rows };
    vec![
        change(2, ChangeOp::Add(Scalar::Int(1)), vec![3..4, 9..1000]),
        change(3, ChangeOp::Set(Scalar::Bytes(Arc::new(b"later".to_vec()))), vec![3..4]),
    ]
}

/// What the records of an older version are, whose header has no stamps.
fn csns(name: &str) -> Vec<u64> {
    let bytes = golden_files::read(name);
    let header = FileHeader::parse(3, &bytes).unwrap().expect("a header");
    assert_eq!((header.csn, header.stamp, header.bytes()), (40, 0, 48));
    let mut reader = LogReader::new("00000003.log", &header, &bytes, None);
    let mut csns = vec![];
    while let Some(record) = reader.next_record().unwrap() {
        csns.push(record.csn);
    }
    csns
}

#[test]
fn log_file() {
    let header = FileHeader {
        file: 3,
        previous_end: LogPosition::new(2, 1000),
        durable: LogPosition::new(2, 900),
        csn: 40,
        stamp: 0x0123_4567_89AB_CDEF,
        previous_stamp: 0xFEDC_BA98_7654_3210,
    };
    let mut bytes = header.encode().to_vec();
    let at = |bytes: &Vec<u8>| LogPosition::new(3, bytes.len() as u64);
    let group = GroupPart { durable: header.durable, unix_us: 1_763_700_000_000_000 };
    let mut body = CommitBody::new();
    let marks =
        [LoggedMark { row: 17, successor: Some(1) }, LoggedMark { row: 5, successor: None }];
    body.push(TableId(1), 2, &rows(5), &marks);
    body.push(TableId(4), 1, &Batch::default(), &marks[1..]);
    let position = at(&bytes);
    body.append_to(&mut bytes, position, 41, &[100, 60], Some(group));
    let mut many = CommitBody::new();
    many.push(TableId(1), 2, &rows(40), &[]);
    let position = at(&bytes);
    many.append_to(&mut bytes, position, 42, &[105], None);
    let relog = RelogTable {
        table: TableId(9),
        schema: 1,
        first_row: 10,
        row_ids: Some(vec![10, 12, 13, 20, 21]),
        commits: vec![(13, 7), (22, 31)],
        rows: rows(5),
        marks: vec![RelogMark { row: 11, csn: 30, successor: Some(20) }],
        changes: vec![(31, changes())],
    };
    let position = at(&bytes);
    RelogBody::new(&relog).append_to(&mut bytes, position, 42);
    let mut changing = CommitBody::new();
    changing.push(TableId(1), 2, &rows(1), &[]);
    changing.push(TableId(4), 1, &Batch::default(), &[]);
    changing.push_changes([&[][..], &changes()[..]].into_iter());
    let position = at(&bytes);
    changing.append_to(&mut bytes, position, 43, &[145, 60], None);
    let position = at(&bytes);
    put_note(&mut bytes, position, 42, GroupPart { durable: position, ..group });

    golden_files::check("log.bin", &bytes);
    assert_eq!(FileHeader::parse(3, &bytes).unwrap(), Some(header));
    assert_eq!(csns("log-1.bin"), [41, 42, 42, 42]);
    assert_eq!(csns("log-2.bin"), [41, 42, 42, 43, 42]);
    let mut reader = LogReader::new("00000003.log", &header, &bytes[..], None);
    let mut records = vec![];
    while let Some(record) = reader.next_record().unwrap() {
        records.push(record);
    }
    assert_eq!(records[0].position.offset(), HEADER_BYTES as u64);
    assert_eq!(records.iter().map(|r| r.csn).collect::<Vec<_>>(), [41, 42, 42, 43, 42]);
    assert_eq!(records[2].body, RecordBody::Relog(relog));
    assert_eq!(records[4].group.unwrap().durable, position);
    let RecordBody::Commit(commit) = &records[3].body else { panic!("a commit") };
    assert_eq!(commit.tables[1].changes, changes());
    let RecordBody::Commit(commit) = &records[0].body else { panic!("a commit") };
    assert_eq!((&commit.tables[0].rows, &commit.tables[0].marks[..]), (&rows(5), &marks[..]));
    let RecordBody::Commit(commit) = &records[1].body else { panic!("a commit") };
    assert_eq!(commit.tables[0].rows, rows(40));
}
