//! Do columns, blocks and segment footers still read and write what earlier releases did?

mod golden_files;

use onlap_base::rng::Rng;
use onlap_base::{ColumnId, TableId};
use onlap_format::blob::FrameWriter;
use onlap_format::block::{Block, BlockEncoder, RowIds};
use onlap_format::convert::order_f64;
use onlap_format::encode::{ColumnView, Effort, encode_column};
use onlap_format::frame::{self, Kind};
use onlap_format::key::{KeyColumn, KeyDef};
use onlap_format::segment::{BlockEntry, CommitMap, SEGMENT_VERSION, SegmentFooter};
use onlap_format::zone::Zone;
use onlap_format::{Batch, BytesVec, Column, DataType, Numeric, Physical, Value, Vector};

const ROWS: usize = 100;

fn ints(f: impl FnMut(i64) -> i64) -> Column {
    Column { data: Vector::Int((0..ROWS as i64).map(f).collect()), nulls: None }
}

fn wides(f: impl FnMut(i128) -> i128) -> Column {
    Column { data: Vector::Wide((0..ROWS as i128).map(f).collect()), nulls: None }
}

fn strings(mut f: impl FnMut(usize) -> String) -> Column {
    let mut v = BytesVec::default();
    (0..ROWS).for_each(|i| v.push(f(i).as_bytes()));
    Column { data: Vector::Bytes(v), nulls: None }
}

/// One column for every way of encoding.
fn columns() -> Vec<Column> {
    let rng = &mut Rng::new(2026);
    let mut random = || rng.next_u64();
    let uuid = |v: u64, w: u64| (i128::from(v) << 64 | i128::from(w)) & !(0xF << 76) | 4 << 76;
    let mut columns = vec![
        ints(|_| -7),
        ints(|i| 1000 + 3 * i),
        ints(|i| 1_700_000_000_000_000 + i / 30 * 1_000_000),
        ints(|_| (random() % 5000) as i64),
        ints(|i| [1 << 50, -(1 << 40), 12_345_678_901][i as usize % 3]),
        ints(|_| random() as i64),
        ints(|i| order_f64((i * 77 % 5000 - 900) as f64 / 100.0)),
        wides(|i| i * 7 - 300),
        wides(|i| (1 << 90) + i),
        wides(|_| uuid(random(), random())),
        wides(|i| if i % 2 == 0 { i128::MAX } else { -(1 << 100) }),
        strings(|_| "always".into()),
        strings(|i| format!("{:0>1$}", i * i, i % 7)),
        strings(|i| ["north", "east", "south", "west", ""][i * 7 % 5].into()),
        strings(|i| format!("Key{:x}{}", random() % 4096, "z".repeat(i % 9))),
        strings(|i| format!("{}{:?}", char::from(b'!' + (i % 90) as u8), random())),
        strings(|_| format!("{:08x}-0f0e-4d0c-8b0a-{:012x}", random() as u32, random() >> 16)),
    ];
    let mantissas = (0..ROWS as i128).map(|i| i * 101).collect();
    let scales = (0..ROWS).map(|i| (i % 3) as u8).collect();
    columns.push(Column { data: Vector::Numeric(mantissas, scales), nulls: None });
    // Every third column once more, with NULLs.
    for k in (0..columns.len()).step_by(3) {
        let mut holed = Column::new(columns[k].data.physical());
        for i in 0..ROWS {
            if i % 10 == k % 10 {
                holed.push_null();
            } else {
                holed.extend_range(&columns[k], i..i + 1);
            }
        }
        columns.push(holed);
    }
    let mut absent = Column::new(Physical::Int);
    (0..ROWS).for_each(|_| absent.push_null());
    columns.push(absent);
    columns
}

fn decoded(view: ColumnView<'_>) -> Column {
    let mut column = Column::new(view.physical());
    view.append_to(0..view.rows(), &mut column).expect("a golden column decodes");
    column
}

#[test]
fn encoded_columns() {
    let mut bytes = Vec::new();
    let mut ends = Vec::new();
    for effort in [Effort::Fast, Effort::Small] {
        for column in columns() {
            encode_column(&column, 0..ROWS, effort, &mut bytes);
            ends.push(bytes.len());
        }
    }
    golden_files::check("columns.bin", &bytes);
    let mut start = 0;
    for (column, end) in columns().iter().chain(&columns()).zip(ends) {
        let view = ColumnView::parse(&bytes[start..end], ROWS).expect("a golden column parses");
        assert_eq!(&decoded(view), column);
        start = end;
    }
}

/// Numbers that have no digits, among others, and what they are as keys.
#[test]
fn numbers_without_digits() {
    let numbers = [
        Numeric { mantissa: 150, scale: 2 },
        Numeric::INFINITY,
        Numeric::NEGATIVE_INFINITY,
        Numeric::NAN,
        Numeric { mantissa: 0, scale: 0 },
    ];
    let (mantissas, scales) = numbers.iter().map(|n| (n.mantissa, n.scale)).unzip();
    let column = Column { data: Vector::Numeric(mantissas, scales), nulls: None };
    let mut bytes = Vec::new();
    encode_column(&column, 0..numbers.len(), Effort::Small, &mut bytes);
    let view = ColumnView::parse(&bytes, numbers.len()).expect("a golden column parses");
    assert_eq!(decoded(view), column);
    for descending in [false, true] {
        let def = KeyDef::new(vec![KeyColumn { ty: DataType::Numeric(None), descending }]);
        for number in numbers {
            let key = def.encode_values(&[Value::Numeric(number)]).expect("a number has a key");
            bytes.extend(key);
        }
    }
    golden_files::check("infinite-numbers.bin", &bytes);
}

/// Which symbols a table has is the trainer's choice, so these bytes were written by hand: two
/// symbols, "onlap" and "-", and three strings of codes, one of which escapes an "x".
#[test]
fn symbols_by_hand() {
    let bytes = [
        &[3, 5, 2, 5, 1][..],
        b"onlap-",
        &[0x02, 2, 0b11_00_11, 9], // lengths 4, 1, 4: width 2 above 1; nine codes
        &[0, 1, 255, b'x', 1, 0, 1, 0, 1],
    ]
    .concat();
    let view = ColumnView::parse(&bytes, 3).expect("the column parses");
    let mut expected = BytesVec::default();
    [&b"onlap-x"[..], b"-", b"onlap-onlap-"].iter().for_each(|s| expected.push(s));
    assert_eq!(decoded(view).data, Vector::Bytes(expected));
}

#[test]
fn segment_file() {
    // Version 1 is version 2 in a segment that has no blobs.
    segment_file_of(1, "segment-trailer.bin");
    segment_file_of(SEGMENT_VERSION, "segment-trailer-2.bin");
}

fn segment_file_of(version: u16, trailer: &str) {
    let batch = Batch { columns: columns(), rows: ROWS };
    let mut file = Vec::new();
    frame::put_header(Kind::Segment, version, &mut file);
    let mut encoder = BlockEncoder::new(batch.columns.len(), false);
    let mut packer = BlockEncoder::new(batch.columns.len(), true);
    let listed: Vec<u64> = (0..50).map(|i| 2000 + i * i).collect();
    let mut blocks = Vec::new();
    let mut zones = vec![Vec::new(); batch.columns.len()];
    for k in 0..2 {
        let offset = file.len();
        let rows = k * 50..(k + 1) * 50;
        let (encoder, ids) = match k {
            0 => (&mut encoder, RowIds::Dense(1000)),
            _ => (&mut packer, RowIds::List(&listed)),
        };
        encoder.encode(&batch, rows.clone(), ids, &mut file);
        blocks.push(BlockEntry {
            offset: offset as u64,
            len: (file.len() - offset) as u32,
            rows: 50,
            first_row_id: 1000 * (k as u64 + 1),
        });
        for (zones, column) in zones.iter_mut().zip(&batch.columns) {
            zones.push(Zone::of(column, rows.clone()));
        }
    }
    // The compressor's bytes are its own; everything before and after them is pinned.
    golden_files::check("block.bin", &file[16..16 + blocks[0].len as usize]);
    let described =
        batch.columns.iter().zip(0..).map(|(c, id)| (ColumnId(id * 2), c.data.physical()));
    let footer = SegmentFooter::new(
        TableId(12),
        3,
        described.collect(),
        990..5000,
        77,
        vec![blocks[0], BlockEntry { len: 5000, ..blocks[1] }],
        &zones,
        CommitMap::new(&[(1020, 70), (1050, 71), (3000, 75), (5000, 90)]),
    );
    let mut bytes = Vec::new();
    footer.encode(&mut bytes);
    golden_files::check("segment-footer.bin", &bytes);
    let offset = file.len() as u64;
    frame::put_footer(Kind::Segment, version, &bytes, offset, &mut file);
    golden_files::check(trailer, &frame_ends(&file, blocks[1], bytes.len()));
    read_back(&file, &blocks, &batch, &footer);
}

/// Header and trailer, with the offset that depends on the compressor taken out.
fn frame_ends(file: &[u8], last: BlockEntry, footer: usize) -> Vec<u8> {
    let end = (last.offset + u64::from(last.len)) as usize;
    assert_eq!(file.len(), end + footer + frame::TRAILER_BYTES);
    let trailer = &file[end + footer..];
    [&file[..frame::HEADER_BYTES], &trailer[8..20], &trailer[24..]].concat()
}

fn read_back(file: &[u8], blocks: &[BlockEntry], batch: &Batch, footer: &SegmentFooter) {
    let version = frame::check_header(Kind::Segment, SEGMENT_VERSION, file).unwrap();
    let trailer =
        frame::parse_trailer(Kind::Segment, &file[file.len() - frame::TRAILER_BYTES..]).unwrap();
    trailer.check_header(version).unwrap();
    let at = trailer.offset as usize;
    let bytes = &file[at..at + trailer.len as usize];
    trailer.check(bytes).unwrap();
    assert_eq!(&SegmentFooter::parse(bytes).unwrap(), footer);
    for (k, entry) in blocks.iter().enumerate() {
        let at = entry.offset as usize;
        let block = Block::parse(&file[at..at + entry.len as usize]).unwrap();
        assert_eq!((block.rows(), block.is_dense()), (50, k == 0));
        for (c, column) in batch.columns.iter().enumerate() {
            let mut expected = Column::new(column.data.physical());
            expected.extend_range(column, k * 50..(k + 1) * 50);
            assert_eq!(decoded(block.column(c).unwrap()), expected, "column {c}");
            assert_eq!(footer.zones(c).unwrap()[k], Zone::of(column, k * 50..(k + 1) * 50));
        }
    }
    assert_eq!(footer.commits.csn_of(1019), Some(70));
    assert_eq!(footer.commits.csn_of(1020), Some(71));
    assert_eq!(footer.commits.csn_of(5000), None);
    assert_eq!(footer.commits.end_at(69), None);
    assert_eq!(footer.commits.end_at(74), Some(1050));
    assert_eq!(footer.commits.end_at(u64::MAX), Some(5000));
}

#[test]
fn blocks_with_blobs() {
    let rng = &mut Rng::new(7);
    let mut random = |len| (0..len).map(|_| rng.next_u64() as u8).collect::<Vec<_>>();
    let mut long = Column::new(Physical::Bytes);
    for len in [3, 2048, 2049, 3000, 0, 9000, 20_000, 2500] {
        let Vector::Bytes(v) = &mut long.data else { unreachable!() };
        v.push(&random(len));
    }
    long.push_null();
    let ints = Column { data: Vector::Int((0..9).collect()), nulls: None };
    let batch = Batch { columns: vec![ints, long], rows: 9 };
    let (mut frames, mut bytes) = (FrameWriter::new(), Vec::new());
    frames.start(16);
    let mut encoder = BlockEncoder::new(2, false);
    encoder.encode_apart(&batch, 0..9, RowIds::Dense(500), &mut frames, &mut bytes);
    golden_files::check("block-blobs.bin", &bytes);
    golden_files::check("blob-frames.bin", frames.bytes());

    let block = Block::parse(&bytes).expect("a golden block parses");
    let blobs = block.blobs(1).expect("it has blobs");
    let Vector::Bytes(v) = &batch.columns[1].data else { unreachable!() };
    let found: Vec<usize> = (0..9).filter(|i| blobs.find(*i).is_some()).collect();
    assert_eq!((found, blobs.frames()), (vec![2, 3, 5, 6, 7], 3));
    for i in 0..9 {
        let Some(blob) = blobs.find(i) else { continue };
        let frame = blobs.frame(blob.frame);
        let bytes = &frames.bytes()[frame.offset as usize - 16..][..frame.len as usize];
        let values = frame.open(bytes).expect("a golden frame opens");
        assert_eq!(&values[blob.at..][..blob.len], v.get(i));
    }
}
