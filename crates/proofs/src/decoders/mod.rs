//! What do decoders make of bytes that nobody wrote?
//!
//! The corpus are whole encodings of every format, committed in `tests/__fuzz__`: golden files, and what
//! [`corpus`] takes out of a database. An execution changes a few bytes of one, cuts it, or lays a part
//! over another, makes its checksums fit most of the time (see [`seal`]), so that decoders see what lies behind
//! them, decodes it and reads everything that came of it. An error is right, and so is any value, except for one
//! that was taken in spite of its checksum; a panic is not, nor is a decoder that does not end (I8). A seed is
//! 100,000 executions.
//!
//! `tests/fuzz.rs` gives the same decoders to bolero, whose engines change bytes by what they see of the
//! code; whatever it finds joins the corpus.

pub mod corpus;
mod decode;
mod seal;

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{self, RecvTimeoutError};
use std::thread;
use std::time::{Duration, Instant};

use onlap_base::rng::Rng;

use crate::{Counts, Verdict, text_of};
use corpus::Corpus;
use seal::Seal;

const EXECUTIONS: u64 = 100_000;
/// An execution takes microseconds: one that takes longer than this does not end.
const ENDLESS: Duration = Duration::from_secs(10);

macro_rules! golden {
    ($name:literal) => {
        include_bytes!(concat!("../../../format/tests/golden/", $name, ".bin"))
    };
}
use golden;

/// A decoder.
#[derive(Clone, Copy)]
struct Target {
    /// Of its corpus.
    folder: &'static str,
    /// As it is counted.
    name: &'static str,
    seal: Seal,
    /// Says whether the bytes were taken for whole.
    decode: fn(&[u8]) -> bool,
}

const fn target(
    folder: &'static str,
    name: &'static str,
    seal: Seal,
    decode: fn(&[u8]) -> bool,
) -> Target {
    Target { folder, name, seal, decode }
}

const TARGETS: [Target; 20] = [
    target("block", "block", Seal::Front, decode::block),
    target("column", "column", Seal::None, decode::column),
    target("blob_frame", "blob frame", Seal::Front, decode::blob_frame),
    target("segment_footer", "segment footer", Seal::None, decode::segment_footer),
    target("trailer", "trailer", Seal::None, decode::trailer),
    target("run_block_flat", "run block", Seal::None, decode::flat_run_block),
    target("run_block_grouped", "run block", Seal::None, decode::grouped_run_block),
    target("run_block_bytes", "run block", Seal::None, decode::bytes_run_block),
    target("run_block_wide", "run block", Seal::None, decode::wide_run_block),
    target("run_footer", "run footer", Seal::None, decode::run_footer),
    target("affine", "affine", Seal::None, decode::affine),
    target("filter", "filter", Seal::Back, decode::filter),
    target("mark_block", "mark block", Seal::Front, decode::mark_block),
    target("dead_block", "dead block", Seal::Back, decode::dead_block),
    target("mark_footer", "mark footer", Seal::None, decode::mark_footer),
    target("change_block", "change block", Seal::Front, decode::change_block),
    target("log", "log", Seal::Log, decode::log),
    target("manifest", "manifest", Seal::Manifest, decode::load_manifest),
    target("expression", "expression", Seal::None, decode::expression),
    target("text", "text", Seal::None, decode::texts),
];

/// Names of the decoders, as folders of the corpus.
pub fn names() -> impl Iterator<Item = &'static str> {
    TARGETS.iter().map(|target| target.folder)
}

/// A fault of a decoder, in controls.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DecoderFault {
    /// Reads where a byte says, wherever that is.
    TrustsALength,
    /// Takes bytes that do not fit their checksum.
    IgnoresTheChecksum,
    /// Goes round for ever where a byte says so.
    NeverEnds,
}

/// Decodes changed bytes, many times.
///
/// # Errors
/// The bytes of which a decoder panicked, or that it took in spite of their checksum.
pub fn run(seed: u64) -> Verdict {
    watch(&TARGETS, seed)
}

/// The same with a decoder that has a fault.
///
/// # Errors
/// As [`run`].
pub fn run_with(fault: DecoderFault, seed: u64) -> Verdict {
    let decode = match fault {
        DecoderFault::TrustsALength => decode::trusting,
        DecoderFault::IgnoresTheChecksum => decode::without_checksum,
        DecoderFault::NeverEnds => decode::endless,
    };
    watch(&[target("block", "planted", Seal::Front, decode)], seed)
}

/// Runs a seed in a thread of its own, which is left behind when one of its executions does not end.
fn watch(targets: &[Target], seed: u64) -> Verdict {
    let targets = targets.to_vec();
    let tried = Arc::new(AtomicU64::new(0));
    let (tell, told) = mpsc::channel();
    let counter = Arc::clone(&tried);
    thread::spawn(move || tell.send(run_on(&targets, seed, &counter)));
    let (mut last, mut since) = (0, Instant::now());
    loop {
        match told.recv_timeout(ENDLESS / 10) {
            Ok(verdict) => return verdict,
            Err(RecvTimeoutError::Disconnected) => return Err("the rig itself panicked".to_owned()),
            Err(RecvTimeoutError::Timeout) => {}
        }
        let now = tried.load(Ordering::Relaxed);
        if now != last {
            (last, since) = (now, Instant::now());
        } else if since.elapsed() > ENDLESS {
            return Err(format!("execution {now} has not ended after {} s", ENDLESS.as_secs()));
        }
    }
}

fn run_on(targets: &[Target], seed: u64, tried: &AtomicU64) -> Verdict {
    let corpus = Corpus::get()?;
    let mut rng = Rng::new(seed);
    let mut counts = Counts::default();
    for _ in 0..EXECUTIONS {
        let target = rng.pick(targets);
        let mut bytes = rng.pick(corpus.of(target.folder)).clone();
        mutate(&mut bytes, &mut rng);
        if rng.chance(0.8) {
            target.seal.fit(&mut bytes);
        }
        tried.fetch_add(1, Ordering::Relaxed);
        let taken = target.execute(&bytes)?;
        counts.add("executions", 1);
        counts.add("taken", u64::from(taken));
        counts.add(target.name, 1);
    }
    Ok(counts)
}

/// Gives a decoder some bytes in three ways: as they are, with checksums that fit, and laid over a file of
/// its corpus, whose place the first three bytes say.
///
/// # Errors
/// As [`run`].
pub fn execute(folder: &str, bytes: &[u8]) -> Result<(), String> {
    let target = of_folder(folder)?;
    target.execute(bytes)?;
    let mut sealed = bytes.to_vec();
    target.seal.fit(&mut sealed);
    target.execute(&sealed)?;
    if let [file, low, high, over @ ..] = bytes {
        let files = Corpus::get()?.of(folder);
        let mut bytes = files[usize::from(*file) % files.len()].clone();
        let at = usize::from(u16::from_le_bytes([*low, *high])) % bytes.len().max(1);
        for (to, from) in bytes[at..].iter_mut().zip(over) {
            *to = *from;
        }
        target.seal.fit(&mut bytes);
        target.execute(&bytes)?;
    }
    Ok(())
}

fn of_folder(folder: &str) -> Result<&'static Target, String> {
    let target = TARGETS.iter().find(|target| target.folder == folder);
    target.ok_or_else(|| format!("no decoder is called {folder}"))
}

/// Whether a decoder takes any file of its corpus for whole.
///
/// # Errors
/// The corpus cannot be read; those of [`run`].
pub fn takes_any(folder: &str) -> Result<bool, String> {
    let target = of_folder(folder)?;
    let mut taken = false;
    for bytes in Corpus::get()?.of(folder) {
        taken |= target.execute(bytes)?;
    }
    Ok(taken)
}

impl Target {
    /// Whether the bytes were taken for whole.
    fn execute(&self, bytes: &[u8]) -> Result<bool, String> {
        let told = |what: &str| {
            let hex: String = bytes.iter().map(|byte| format!("{byte:02x}")).collect();
            format!("{}: {what}, of {} bytes: {hex}", self.folder, bytes.len())
        };
        let taken = catch_unwind(AssertUnwindSafe(|| (self.decode)(bytes)));
        let taken = taken.map_err(|panic| told(&format!("panic: {}", text_of(&*panic))))?;
        if taken && self.seal.fits(bytes) == Some(false) {
            return Err(told("taken in spite of its checksum"));
        }
        Ok(taken)
    }
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
