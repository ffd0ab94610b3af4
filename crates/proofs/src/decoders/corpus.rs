//! Whole encodings of every format: which there are, and where they come from.
//!
//! `onlap-proofs corpus` writes the golden files of `onlap-format`, some encodings made by hand, and parts of the
//! files of a small database into `tests/__fuzz__/DECODER/corpus`. Files that are there under other names,
//! as those that a fuzzer found, stay.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

use onlap::DataType;
use onlap_base::names::FileKind;
use onlap_base::rng::Rng;
use onlap_format::affine::AffineBuilder;
use onlap_format::encode::{Effort, encode_column};
use onlap_format::frame::{Kind, TRAILER_BYTES, parse_trailer, put_footer};
use onlap_format::marks::MarkFooter;
use onlap_format::segment::SegmentFooter;
use onlap_format::{Column, block, convert};
use onlap_vfs::{Access, Fs};

use super::{golden, names};
use crate::{damage, record};

/// Longest file that is taken out of a database.
const BYTES_MAX: usize = 6000;
/// Column 2 is compared with column 3, and is one of columns 3 and 4.
const EXPRESSION: &[u8] = b"\x04\x02\x03\x00\x01\x02\x01\x03\x0b\x02\x01\x02\x01\x03\x01\x04";
const TEXT: &[u8] =
    b"-1.5e3 2024-02-29 23:59:60.123456+02:30 {\"a\":[1,null]} \\xdeadbeef a0eebc99-9c0b";

/// The committed files by decoder.
pub(super) struct Corpus(BTreeMap<&'static str, Vec<Vec<u8>>>);

fn folder(root: &Path, name: &str) -> PathBuf {
    root.join("crates/proofs/tests/__fuzz__").join(name).join("corpus")
}

impl Corpus {
    /// What is in the repository.
    pub(super) fn get() -> Result<&'static Corpus, String> {
        static CORPUS: OnceLock<Result<Corpus, String>> = OnceLock::new();
        CORPUS.get_or_init(|| Corpus::read(&record::root())).as_ref().map_err(String::clone)
    }

    fn read(root: &Path) -> Result<Corpus, String> {
        let mut all = BTreeMap::new();
        for name in names() {
            let folder = folder(root, name);
            let told = |e: std::io::Error| format!("{}: {e}", folder.display());
            let entries = std::fs::read_dir(&folder).map_err(told)?;
            let mut paths: Vec<PathBuf> =
                entries.map(|e| e.map(|e| e.path())).collect::<Result<_, _>>().map_err(told)?;
            paths.sort();
            let files: Vec<Vec<u8>> =
                paths.iter().map(std::fs::read).collect::<Result<_, _>>().map_err(told)?;
            if files.is_empty() {
                return Err(format!("{} is empty", folder.display()));
            }
            all.insert(name, files);
        }
        Ok(Corpus(all))
    }

    /// Those of one decoder, at least one.
    pub(super) fn of(&self, name: &str) -> &[Vec<u8>] {
        &self.0[name]
    }
}

/// Encodings by decoder and name of the file.
type Files = BTreeMap<(&'static str, String), Vec<u8>>;

/// Writes the corpus into a repository; how many files, and how many bytes.
///
/// # Errors
/// What the operating system or the engine says.
pub fn write(root: &Path) -> Result<(usize, usize), String> {
    let mut files = golden_files();
    by_hand(&mut files);
    of_a_database(&mut files).map_err(|e| e.to_string())?;
    for ((name, file), bytes) in &files {
        let folder = folder(root, name);
        let written = std::fs::create_dir_all(&folder)
            .and_then(|()| std::fs::write(folder.join(file), bytes));
        written.map_err(|e| format!("{}: {e}", folder.display()))?;
    }
    Ok((files.len(), files.values().map(Vec::len).sum()))
}

fn golden_files() -> Files {
    let all: [(&'static str, &str, &[u8]); 28] = [
        ("block", "block", golden!("block")),
        ("block", "block-blobs", golden!("block-blobs")),
        ("segment_footer", "segment-footer", golden!("segment-footer")),
        ("trailer", "segment-trailer", golden!("segment-trailer")),
        ("trailer", "segment-trailer-2", golden!("segment-trailer-2")),
        ("run_block_flat", "run-block-flat", golden!("run-block-flat")),
        ("run_block_grouped", "run-block-grouped", golden!("run-block-grouped")),
        ("run_block_bytes", "run-block-bytes", golden!("run-block-bytes")),
        ("run_block_wide", "run-block-wide", golden!("run-block-wide")),
        ("run_footer", "run-footer", golden!("run-footer")),
        ("run_footer", "run-footer-affine", golden!("run-footer-affine")),
        ("run_footer", "run-footer-cut", golden!("run-footer-cut")),
        ("run_footer", "run-footer-fences", golden!("run-footer-fences")),
        ("filter", "filter", golden!("filter")),
        ("mark_block", "mark-block", golden!("mark-block")),
        ("dead_block", "dead-block", golden!("dead-block")),
        ("mark_footer", "mark-footer", golden!("mark-footer")),
        ("mark_footer", "mark-footer-1", golden!("mark-footer-1")),
        ("change_block", "change-block", golden!("change-block")),
        ("log", "log", golden!("log")),
        ("log", "log-1", golden!("log-1")),
        ("manifest", "manifest", golden!("manifest")),
        ("manifest", "manifest-1", golden!("manifest-1")),
        ("manifest", "manifest-ends", golden!("manifest-ends")),
        ("manifest", "manifest-adopted", golden!("manifest-adopted")),
        ("manifest", "manifest-blind", golden!("manifest-blind")),
        ("manifest", "manifest-history", golden!("manifest-history")),
        ("expression", "expression", EXPRESSION),
    ];
    let named =
        |(name, file, bytes): (_, &str, &[u8])| ((name, format!("{file}.bin")), bytes.to_vec());
    all.into_iter().map(named).collect()
}

fn by_hand(files: &mut Files) {
    let mut affine = AffineBuilder::new(10);
    for (key, row) in [(5, 7), (6, 8), (7, 9), (100, 20), (101, 21), (4000, 1 << 33)] {
        affine.push(key, row);
    }
    let mut bytes = Vec::new();
    affine.finish().encode(&mut bytes);
    files.insert(("affine", "pieces.bin".into()), bytes);
    files.insert(("text", "words.bin".into()), TEXT.to_vec());
    for (kind, word) in [(Kind::Segment, "segment"), (Kind::Run, "run"), (Kind::Marks, "marks")] {
        let mut bytes = Vec::new();
        put_footer(kind, 1, b"a footer", 4096, &mut bytes);
        let trailer = bytes.split_off(bytes.len() - TRAILER_BYTES);
        files.insert(("trailer", format!("{word}.bin")), trailer);
    }
    for (ty, texts) in [
        (DataType::Int8, ["1", "-7", "9000000000", "40"]),
        (DataType::Numeric(None), ["1.50", "-7", "0.000001", "1e30"]),
        (DataType::Text, ["some words", "some other words", "", "more words and more words"]),
        (
            DataType::Uuid,
            [
                "a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11",
                "00000000-0000-0000-0000-000000000000",
                "a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a12",
                "ffffffff-ffff-ffff-ffff-ffffffffffff",
            ],
        ),
    ] {
        let mut column = Column::new(ty.physical());
        for i in 0..200 {
            if i % 11 == 3 {
                column.push_null();
                continue;
            }
            let value = convert::parse_text(ty, texts[i * i % 4]).expect("a text of its type");
            convert::push_value(ty, &value, &mut column, "a column").expect("a value of its type");
        }
        for (effort, word) in [(Effort::Fast, "fast"), (Effort::Small, "small")] {
            let mut bytes = 200_u16.to_le_bytes().to_vec();
            encode_column(&column, 0..200, effort, &mut bytes);
            files.insert(("column", format!("{}-{word}.bin", name_of(ty))), bytes);
        }
    }
}

fn name_of(ty: DataType) -> &'static str {
    match ty {
        DataType::Int8 => "int",
        DataType::Numeric(_) => "numeric",
        DataType::Text => "text",
        _ => "wide",
    }
}

fn of_a_database(files: &mut Files) -> onlap::Result<()> {
    let disk = damage::example(&mut Rng::new(3));
    let dir = Path::new(damage::DIR);
    let mut of_kind: BTreeMap<&'static str, usize> = BTreeMap::new();
    let mut names = disk.list(dir)?;
    names.sort();
    for name in names {
        let Some(kind) = FileKind::parse(&name) else { continue };
        let file = disk.open(&dir.join(&name), Access::Read)?;
        let bytes = file.read_at(0, file.len()? as usize)?.into_vec();
        let mut put = |name: &'static str, bytes: &[u8]| {
            let n = of_kind.entry(name).or_default();
            if *n < 2 && bytes.len() <= BYTES_MAX {
                *n += 1;
                files.insert((name, format!("database-{n}.bin")), bytes.to_vec());
            }
        };
        match kind {
            FileKind::Log(_) => put("log", without_zeros(&bytes)),
            FileKind::Manifest(_) => put("manifest", without_zeros(&bytes)),
            FileKind::Segment(_) => segment(&bytes, &mut put)?,
            FileKind::Run(_) => put("run_footer", footer(Kind::Run, &bytes)?),
            FileKind::Marks(_) => marks(&bytes, &mut put)?,
            _ => {}
        }
    }
    Ok(())
}

/// The first few KB of a file, without space that nothing was written to.
fn without_zeros(bytes: &[u8]) -> &[u8] {
    let end = bytes.iter().rposition(|b| *b != 0).map_or(0, |last| last + 1);
    &bytes[..end.min(BYTES_MAX)]
}

fn footer(kind: Kind, file: &[u8]) -> onlap::Result<&[u8]> {
    let trailer = parse_trailer(kind, &file[file.len() - TRAILER_BYTES..])?;
    Ok(part(file, trailer.offset, trailer.len))
}

fn part(file: &[u8], offset: u64, len: u64) -> &[u8] {
    &file[offset as usize..(offset + len) as usize]
}

type Put<'a> = &'a mut dyn FnMut(&'static str, &[u8]);

fn segment(file: &[u8], put: Put<'_>) -> onlap::Result<()> {
    let bytes = footer(Kind::Segment, file)?;
    put("segment_footer", bytes);
    for entry in &SegmentFooter::parse(bytes)?.blocks {
        let bytes = part(file, entry.offset, u64::from(entry.len));
        let parsed = block::Block::parse(bytes)?;
        put("block", bytes);
        for blobs in (0..parsed.columns()).filter_map(|k| parsed.blobs(k)) {
            for frame in (0..blobs.frames()).map(|at| blobs.frame(at)) {
                put("blob_frame", part(file, frame.offset, u64::from(frame.len)));
            }
        }
    }
    Ok(())
}

fn marks(file: &[u8], put: Put<'_>) -> onlap::Result<()> {
    let bytes = footer(Kind::Marks, file)?;
    put("mark_footer", bytes);
    let footer = MarkFooter::parse(bytes)?;
    for entry in &footer.marks {
        put("mark_block", part(file, entry.offset, u64::from(entry.len)));
    }
    for entry in &footer.dead {
        put("dead_block", part(file, entry.offset, u64::from(entry.len)));
    }
    for entry in &footer.changes {
        put("change_block", part(file, entry.offset, u64::from(entry.len)));
    }
    Ok(())
}
