//! What do decoders make of bytes that nobody wrote?
//!
//! The corpus is the golden files of every format and some texts. An execution changes a few bytes of one,
//! cuts it, or lays a part over another, gives it a checksum that fits most of the time, so that decoders see
//! what lies behind it, decodes it and reads everything that came of it. An error is right, and so is any
//! value; a panic is not (I8). A seed is 100,000 executions.

use std::ops::Range;
use std::sync::{Arc, OnceLock};

use onlap_base::rng::Rng;
use onlap_format::affine::Affine;
use onlap_format::block::Block;
use onlap_format::changes::ChangeBlock;
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

use crate::{Counts, Verdict};

const EXECUTIONS: u64 = 100_000;
/// Rows that are asked for, beyond what any golden file has.
const ALL: Range<u64> = 0..100_000;

/// What a decoder is given first, and the decoder.
struct Target {
    name: &'static str,
    golden: &'static [u8],
    decode: fn(&[u8]),
}

/// Column 2 is compared with column 3, and is one of columns 3 and 4.
const EXPRESSION: &[u8] = b"\x04\x02\x03\x00\x01\x02\x01\x03\x0b\x02\x01\x02\x01\x03\x01\x04";

macro_rules! golden {
    ($name:literal) => {
        include_bytes!(concat!("../../format/tests/golden/", $name, ".bin"))
    };
}

const TARGETS: [Target; 27] = [
    Target { name: "block", golden: golden!("block"), decode: block },
    Target { name: "block", golden: golden!("block-blobs"), decode: block },
    Target { name: "segment footer", golden: golden!("segment-footer"), decode: segment_footer },
    Target { name: "trailer", golden: golden!("segment-trailer"), decode: trailer },
    Target { name: "trailer", golden: golden!("segment-trailer-2"), decode: trailer },
    Target { name: "run block", golden: golden!("run-block-flat"), decode: flat_run_block },
    Target { name: "run block", golden: golden!("run-block-grouped"), decode: grouped_run_block },
    Target { name: "run block", golden: golden!("run-block-bytes"), decode: bytes_run_block },
    Target { name: "run block", golden: golden!("run-block-wide"), decode: wide_run_block },
    Target { name: "run footer", golden: golden!("run-footer"), decode: run_footer },
    Target { name: "run footer", golden: golden!("run-footer-affine"), decode: run_footer },
    Target { name: "run footer", golden: golden!("run-footer-fences"), decode: run_footer },
    Target { name: "affine", golden: golden!("run-footer-affine"), decode: affine },
    Target { name: "filter", golden: golden!("filter"), decode: filter },
    Target { name: "mark block", golden: golden!("mark-block"), decode: mark_block },
    Target { name: "dead block", golden: golden!("dead-block"), decode: dead_block },
    Target { name: "mark footer", golden: golden!("mark-footer"), decode: mark_footer },
    Target { name: "mark footer", golden: golden!("mark-footer-1"), decode: mark_footer },
    Target { name: "change block", golden: golden!("change-block"), decode: change_block },
    Target { name: "log", golden: golden!("log"), decode: log },
    Target { name: "log", golden: golden!("log-1"), decode: log },
    Target { name: "manifest", golden: golden!("manifest"), decode: load_manifest },
    Target { name: "manifest", golden: golden!("manifest-1"), decode: load_manifest },
    Target { name: "manifest", golden: golden!("manifest-ends"), decode: load_manifest },
    Target { name: "manifest", golden: golden!("manifest-adopted"), decode: load_manifest },
    Target { name: "expression", golden: EXPRESSION, decode: expression },
    Target {
        name: "text",
        golden:
            b"-1.5e3 2024-02-29 23:59:60.123456+02:30 {\"a\":[1,null]} \\xdeadbeef a0eebc99-9c0b",
        decode: texts,
    },
];

/// Decodes changed bytes, many times.
///
/// # Errors
/// Never: a panic is the finding.
pub fn run(seed: u64) -> Verdict {
    let mut rng = Rng::new(seed);
    let mut counts = Counts::default();
    let mut bytes = Vec::new();
    for _ in 0..EXECUTIONS {
        let target = rng.pick(&TARGETS);
        bytes.clear();
        bytes.extend_from_slice(target.golden);
        mutate(&mut bytes, &mut rng);
        if rng.chance(0.8) {
            fit_checksum(&mut bytes);
        }
        (target.decode)(&bytes);
        counts.add("executions", 1);
        counts.add(target.name, 1);
    }
    Ok(counts)
}

fn mutate(bytes: &mut Vec<u8>, rng: &mut Rng) {
    for _ in 0..1 + rng.below(4) {
        if bytes.is_empty() {
            return;
        }
        let at = rng.index(bytes.len());
        match rng.below(12) {
            0..4 => bytes[at] ^= 1 << rng.below(8),
            4 => bytes[at] = rng.next_u32() as u8,
            5 => bytes[at] = *rng.pick(&[0, 1, 0x7f, 0x80, 0xff]),
            6 => {
                // A number of some size at its edge.
                let width = *rng.pick(&[2, 4, 8]);
                let value = *rng.pick(&[0, 1, u64::MAX, i64::MAX as u64, 1 << 32, 1 << 16]);
                let end = (at + width).min(bytes.len());
                bytes[at..end].copy_from_slice(&value.to_le_bytes()[..end - at]);
            }
            7 => bytes.truncate(at),
            8 => {
                let more = rng.index(20);
                bytes.extend((0..more).map(|i| (i * 37) as u8));
            }
            9 => {
                let (from, len) = (rng.index(bytes.len()), 1 + rng.index(16));
                let part = bytes[from..(from + len).min(bytes.len())].to_vec();
                let end = (at + part.len()).min(bytes.len());
                bytes[at..end].copy_from_slice(&part[..end - at]);
            }
            10 => drop(bytes.remove(at)),
            _ => bytes.insert(at, rng.next_u32() as u8),
        }
    }
}

/// Blocks begin with the checksum of the rest.
fn fit_checksum(bytes: &mut [u8]) {
    if bytes.len() > 4 {
        let sum = crc32c::crc32c(&bytes[4..]);
        bytes[..4].copy_from_slice(&sum.to_le_bytes());
    }
}

fn block(bytes: &[u8]) {
    let Ok(block) = Block::parse(bytes) else { return };
    let mut ids = Vec::new();
    block.row_ids(0..block.rows(), &mut ids);
    for k in 0..block.columns() {
        let Ok(view) = block.column(k) else { continue };
        let mut column = Column::new(view.physical());
        let _ = view.append_to(0..block.rows(), &mut column);
    }
}

fn segment_footer(bytes: &[u8]) {
    if let Ok(footer) = SegmentFooter::parse(bytes) {
        let _ = (footer.heap_bytes(), footer.block_of(7));
    }
}

fn trailer(bytes: &[u8]) {
    for kind in [Kind::Segment, Kind::Run, Kind::Marks] {
        if let Ok(trailer) = parse_trailer(kind, bytes) {
            let _ = trailer.check(bytes);
        }
    }
}

fn def(types: &[DataType]) -> KeyDef {
    let column = |(i, ty): (usize, &DataType)| KeyColumn { ty: *ty, descending: i == 1 };
    KeyDef::new(types.iter().enumerate().map(column).collect())
}

/// The golden files of run blocks hold their packing first; its length follows from the intact file.
fn run_block(bytes: &[u8], types: &[DataType], golden: &[u8], split: &OnceLock<usize>) {
    let def = def(types);
    let split = *split.get_or_init(|| packing_bytes(&def, golden));
    if bytes.len() < split {
        return;
    }
    let packing = Packing::decode(&def, &bytes[..split]);
    let intact = Packing::decode(&def, &golden[..split]);
    for packing in [packing, intact].into_iter().flatten().map(Arc::new) {
        let mut rest = bytes[split..].to_vec();
        fit_checksum(&mut rest);
        let Ok(block) = RunBlock::parse(rest.into(), &packing) else { continue };
        let mut entries = Entries::new(packing.new_keys(), Batch::new([Physical::Int]));
        let _ = block.entries(0..block.len(), &mut entries);
        let mut ids = Vec::new();
        let _ = block.row_ids(0..block.len(), &mut ids);
    }
}

fn packing_bytes(def: &KeyDef, golden: &[u8]) -> usize {
    let found = (1..golden.len()).find(|&split| {
        let Ok(packing) = Packing::decode(def, &golden[..split]) else { return false };
        let rest: Arc<[u8]> = golden[split..].into();
        RunBlock::parse(rest, &Arc::new(packing)).is_ok()
    });
    found.expect("a golden file is a packing and a block")
}

fn flat_run_block(bytes: &[u8]) {
    static SPLIT: OnceLock<usize> = OnceLock::new();
    run_block(bytes, &[DataType::Int4, DataType::Int4], golden!("run-block-flat"), &SPLIT);
}

fn grouped_run_block(bytes: &[u8]) {
    static SPLIT: OnceLock<usize> = OnceLock::new();
    run_block(bytes, &[DataType::Int8], golden!("run-block-grouped"), &SPLIT);
}

fn bytes_run_block(bytes: &[u8]) {
    static SPLIT: OnceLock<usize> = OnceLock::new();
    run_block(bytes, &[DataType::Text], golden!("run-block-bytes"), &SPLIT);
}

fn wide_run_block(bytes: &[u8]) {
    static SPLIT: OnceLock<usize> = OnceLock::new();
    run_block(bytes, &[DataType::Char(36); 3], golden!("run-block-wide"), &SPLIT);
}

fn run_footer(bytes: &[u8]) {
    if let Ok(mut footer) = RunFooter::parse(&def(&[DataType::Int4]), bytes) {
        let _ = (footer.heap_bytes(), footer.entries(), footer.shift(1 << 40));
    }
}

fn affine(bytes: &[u8]) {
    if let Ok(affine) = Affine::parse(bytes) {
        let (mut keys, mut ids) = (Vec::new(), Vec::new());
        affine.entries(0..affine.len().min(ALL.end), &mut keys, &mut ids);
        let _ = affine.lower_bound(7);
    }
}

fn filter(bytes: &[u8]) {
    if let Ok(filter) = Filter::parse(bytes) {
        let _ = (filter.contains(1), filter.contains(u64::MAX));
    }
}

fn mark_block(bytes: &[u8]) {
    if let Ok(block) = MarkBlock::parse(bytes) {
        let _ = block.marks(0..block.len(), &mut Vec::new());
    }
}

fn dead_block(bytes: &[u8]) {
    if let Ok(dead) = parse_dead_block(bytes) {
        let _ = dead.len();
    }
}

fn mark_footer(bytes: &[u8]) {
    if let Ok(footer) = MarkFooter::parse(bytes) {
        let _ = (footer.mark_count(), footer.dead_count(), footer.heap_bytes());
    }
}

fn change_block(bytes: &[u8]) {
    for form in [Physical::Int, Physical::Bytes, Physical::Wide] {
        if let Ok(block) = ChangeBlock::parse(bytes, form) {
            let _ = block.read(ALL, &mut Vec::new());
            let _ = block.unpack();
        }
    }
}

fn log(bytes: &[u8]) {
    let Ok(Some(header)) = FileHeader::parse(3, bytes) else { return };
    let mut reader = LogReader::new("00000003.log", &header, bytes, None);
    while let Ok(Some(_)) = reader.next_record() {}
}

fn load_manifest(bytes: &[u8]) {
    let _ = manifest::load("manifest-00000004", 4, bytes);
}

fn expression(bytes: &[u8]) {
    let _ = read_expr(&mut Reader::new(bytes));
}

fn texts(bytes: &[u8]) {
    let text = String::from_utf8_lossy(bytes);
    use DataType::{
        Bool, Bytea, Date, Float8, Int4, Json, Numeric, Text, Time, Timestamp, Timestamptz, Uuid,
    };
    for ty in [
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
    ] {
        let _ = convert::parse_text(ty, &text);
        for word in text.split(' ') {
            let _ = convert::parse_text(ty, word);
        }
    }
}
