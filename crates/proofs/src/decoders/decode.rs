//! The decoders: each takes bytes, reads all that came of them, and says whether it took them for whole.

use std::ops::Range;
use std::sync::{Arc, OnceLock};

use onlap_format::affine::Affine;
use onlap_format::blob::FrameRef;
use onlap_format::block::Block;
use onlap_format::changes::ChangeBlock;
use onlap_format::encode::ColumnView;
use onlap_format::expr::read_expr;
use onlap_format::filter::Filter;
use onlap_format::frame::{Kind, parse_trailer};
use onlap_format::key::{Entries, KeyColumn, KeyDef, Packing};
use onlap_format::log::{FileHeader, LogReader};
use onlap_format::marks::{MarkBlock, MarkFooter, parse_dead_block};
use onlap_format::run::RunFooter;
use onlap_format::run_block::RunBlock;
use onlap_format::segment::SegmentFooter;
use onlap_format::wire::Reader;
use onlap_format::{Batch, Column, DataType, Physical, convert, manifest};

use super::golden;
use super::seal::{Seal, number};

/// Rows that are asked for, beyond what any file of the corpus has.
const ALL: Range<u64> = 0..100_000;

pub(super) fn block(bytes: &[u8]) -> bool {
    let Ok(block) = Block::parse(bytes) else { return false };
    let mut ids = Vec::new();
    block.row_ids(0..block.rows(), &mut ids);
    for k in 0..block.columns() {
        let Ok(view) = block.column(k) else { continue };
        read_column(&view);
        if let Some(blobs) = block.blobs(k) {
            let _ = (0..blobs.frames()).map(|frame| u64::from(blobs.frame(frame).len)).max();
        }
    }
    true
}

fn read_column(view: &ColumnView<'_>) {
    let mut column = Column::new(view.physical());
    let _ = view.append_to(0..view.rows(), &mut column);
}

/// The number of rows, two bytes, comes first.
pub(super) fn column(bytes: &[u8]) -> bool {
    let Some((rows, rest)) = bytes.split_first_chunk::<2>() else { return false };
    let rows = usize::from(u16::from_le_bytes(*rows)) % 5000;
    let Ok(view) = ColumnView::parse(rest, rows) else { return false };
    read_column(&view);
    true
}

/// A frame of the place that it says it has.
pub(super) fn blob_frame(bytes: &[u8]) -> bool {
    let Some(head) = bytes.get(6..20) else { return false };
    let four = |at: usize| u32::from_le_bytes(head[at..at + 4].try_into().expect("four bytes"));
    let frame = FrameRef {
        offset: 0,
        len: bytes.len() as u32,
        values_len: four(10) as usize % (1 << 20),
        column: usize::from(u16::from_le_bytes([head[0], head[1]])),
        row_id: u64::from(four(6)) << 32 | u64::from(four(2)),
    };
    frame.open(bytes).is_ok()
}

pub(super) fn segment_footer(bytes: &[u8]) -> bool {
    let Ok(footer) = SegmentFooter::parse(bytes) else { return false };
    let _ = (footer.heap_bytes(), footer.block_of(7));
    true
}

pub(super) fn trailer(bytes: &[u8]) -> bool {
    let mut taken = false;
    for kind in [Kind::Segment, Kind::Run, Kind::Marks] {
        if let Ok(trailer) = parse_trailer(kind, bytes) {
            let _ = (trailer.check(bytes), trailer.check_header(1));
            taken = true;
        }
    }
    taken
}

fn def(types: &[DataType]) -> KeyDef {
    let column = |(i, ty): (usize, &DataType)| KeyColumn { ty: *ty, descending: i == 1 };
    KeyDef::new(types.iter().enumerate().map(column).collect())
}

/// Files of run blocks hold their packing first; its length follows from the golden file. The block's
/// checksum is made to fit.
fn run_block(bytes: &[u8], types: &[DataType], golden: &[u8], split: &OnceLock<usize>) -> bool {
    let def = def(types);
    let split = *split.get_or_init(|| packing_bytes(&def, golden));
    if bytes.len() < split {
        return false;
    }
    let mut rest = bytes[split..].to_vec();
    Seal::Back.fit(&mut rest);
    let rest: Arc<[u8]> = rest.into();
    let packing = Packing::decode(&def, &bytes[..split]);
    let intact = Packing::decode(&def, &golden[..split]);
    let mut taken = false;
    for packing in [packing, intact].into_iter().flatten().map(Arc::new) {
        let Ok(block) = RunBlock::parse(Arc::clone(&rest), &packing) else { continue };
        taken = true;
        let mut entries = Entries::new(packing.new_keys(), Batch::new([Physical::Int]));
        let _ = block.entries(0..block.len(), &mut entries);
        let mut ids = Vec::new();
        let _ = block.row_ids(0..block.len(), &mut ids);
    }
    taken
}

fn packing_bytes(def: &KeyDef, golden: &[u8]) -> usize {
    let found = (1..golden.len()).find(|&split| {
        let Ok(packing) = Packing::decode(def, &golden[..split]) else { return false };
        let rest: Arc<[u8]> = golden[split..].into();
        RunBlock::parse(rest, &Arc::new(packing)).is_ok()
    });
    found.expect("a golden file is a packing and a block")
}

pub(super) fn flat_run_block(bytes: &[u8]) -> bool {
    static SPLIT: OnceLock<usize> = OnceLock::new();
    run_block(bytes, &[DataType::Int4, DataType::Int4], golden!("run-block-flat"), &SPLIT)
}

pub(super) fn grouped_run_block(bytes: &[u8]) -> bool {
    static SPLIT: OnceLock<usize> = OnceLock::new();
    run_block(bytes, &[DataType::Int8], golden!("run-block-grouped"), &SPLIT)
}

pub(super) fn bytes_run_block(bytes: &[u8]) -> bool {
    static SPLIT: OnceLock<usize> = OnceLock::new();
    run_block(bytes, &[DataType::Text], golden!("run-block-bytes"), &SPLIT)
}

pub(super) fn wide_run_block(bytes: &[u8]) -> bool {
    static SPLIT: OnceLock<usize> = OnceLock::new();
    run_block(bytes, &[DataType::Char(36); 3], golden!("run-block-wide"), &SPLIT)
}

pub(super) fn run_footer(bytes: &[u8]) -> bool {
    let Ok(mut footer) = RunFooter::parse(&def(&[DataType::Int4]), bytes) else { return false };
    let _ = (footer.heap_bytes(), footer.entries(), footer.shift(1 << 40));
    true
}

pub(super) fn affine(bytes: &[u8]) -> bool {
    let Ok(mut affine) = Affine::parse(bytes) else { return false };
    let (mut keys, mut ids) = (Vec::new(), Vec::new());
    affine.entries(0..affine.len().min(ALL.end), &mut keys, &mut ids);
    let _ = (affine.lower_bound(7), affine.shift(1 << 40));
    true
}

pub(super) fn filter(bytes: &[u8]) -> bool {
    let Ok(filter) = Filter::parse(bytes) else { return false };
    let _ = (filter.contains(1), filter.contains(u64::MAX));
    true
}

pub(super) fn mark_block(bytes: &[u8]) -> bool {
    let Ok(block) = MarkBlock::parse(bytes) else { return false };
    let _ = block.marks(0..block.len(), &mut Vec::new());
    true
}

pub(super) fn dead_block(bytes: &[u8]) -> bool {
    let Ok(dead) = parse_dead_block(bytes) else { return false };
    let _ = dead.iter().take(1000).count();
    true
}

pub(super) fn mark_footer(bytes: &[u8]) -> bool {
    let Ok(footer) = MarkFooter::parse(bytes) else { return false };
    let _ = (footer.mark_count(), footer.dead_count(), footer.heap_bytes());
    true
}

pub(super) fn change_block(bytes: &[u8]) -> bool {
    let mut taken = false;
    for form in [Physical::Int, Physical::Bytes, Physical::Wide, Physical::Numeric] {
        if let Ok(block) = ChangeBlock::parse(bytes, form) {
            let _ = (block.read(ALL, &mut Vec::new()), block.unpack());
            taken = true;
        }
    }
    taken
}

/// Taken for whole where a record came of it.
pub(super) fn log(bytes: &[u8]) -> bool {
    let Ok(Some(header)) = FileHeader::parse(number(bytes), bytes) else { return false };
    let mut reader = LogReader::new("a log", &header, bytes, None);
    let mut records = 0;
    while let Ok(Some(_)) = reader.next_record() {
        records += 1;
    }
    records > 0
}

pub(super) fn load_manifest(bytes: &[u8]) -> bool {
    manifest::load("a manifest", number(bytes), bytes).is_ok()
}

pub(super) fn expression(bytes: &[u8]) -> bool {
    read_expr(&mut Reader::new(bytes)).is_ok()
}

pub(super) fn texts(bytes: &[u8]) -> bool {
    use DataType::{
        Bool, Bytea, Date, Float8, Int4, Json, Numeric, Text, Time, Timestamp, Timestamptz, Uuid,
    };
    let text = String::from_utf8_lossy(bytes);
    let types = [
        Bool,
        Bytea,
        Date,
        Float8,
        Int4,
        Json,
        Numeric(None),
        Text,
        Time,
        Timestamp,
        Timestamptz,
        Uuid,
    ];
    for ty in types {
        let _ = convert::parse_text(ty, &text);
        for word in text.split(' ') {
            let _ = convert::parse_text(ty, word);
        }
    }
    true
}

/// A decoder with a fault: it believes a length.
pub(super) fn trusting(bytes: &[u8]) -> bool {
    let Some(len) = bytes.get(4..6) else { return false };
    let len = usize::from(u16::from_le_bytes([len[0], len[1]]));
    bytes[..len].is_empty()
}

/// A decoder with a fault: it makes the checksum fit instead of asking it.
pub(super) fn without_checksum(bytes: &[u8]) -> bool {
    let mut bytes = bytes.to_vec();
    Seal::Front.fit(&mut bytes);
    block(&bytes)
}

/// A decoder with a fault: it waits for an end that a byte keeps from coming.
pub(super) fn endless(bytes: &[u8]) -> bool {
    while bytes.first() == Some(&0xff) {
        std::thread::sleep(std::time::Duration::from_millis(100));
    }
    false
}
