//! How do strings over few letters become few bits, when many end in a run of one letter?
//!
//! Digits, hexadecimal, base64, identifiers and padded fields use a small part of the 256 bytes. An
//! alphabet of at most 128 letters gives each a code of 1 to 7 bits; a run of one letter at the end
//! (or the beginning) of the strings is taken off first and kept as (letter, length). Measured on
//! the insert benchmark's text (15 bytes, of which 6 are random base64 and 9 one letter): 6.3 bytes
//! a value, where a symbol table needs 8 and is slower to make.
//!
//! | part | bytes |
//! |---|---|
//! | flags | 1: code width (1 to 7) in bits 0 to 2; 8 runs at the end; 16 runs at the beginning |
//! | alphabet | 32: bit `b % 8` of byte `b / 8` is set where byte b is a letter; codes ascend |
//! | places | of what is left of the strings, in letters: lengths and anchors |
//! | runs | with a run flag: integer streams of letters (byte values) and lengths (at most 255) |
//! | codes | packed |

use std::ops::Range;

use onlap_base::{Error, Result};

use super::super::int::{self, IntView};
use super::super::{Effort, bits};
use super::places::{self, Places};
use crate::batch::BytesVec;
use crate::wire::Reader;

const WIDTH_MASK: u8 = 7;
const RUN_AT_END: u8 = 8;
const RUN_AT_START: u8 = 16;

/// Longest run that is taken off; the rest of a longer one stays. Bounds what damage can blow up.
const RUN_MAX: usize = 255;
/// Strings looked at to choose a direction.
const SAMPLE: usize = 64;

/// What the encoder found out, and the size it leads to.
pub(super) struct Plan {
    flags: u8,
    alphabet: [u64; 4],
    width: u32,
    lengths: Vec<i64>,
    runs: Vec<i64>,
    run_letters: Vec<i64>,
    /// Bytes that [`Plan::put`] appends, within a few.
    pub(super) size: usize,
}

/// Length of the run that ends a string.
#[inline]
fn run_at_end(s: &[u8]) -> usize {
    let Some(last) = s.last() else { return 0 };
    let broadcast = u64::from(*last) * 0x0101_0101_0101_0101;
    let mut rest = &s[..s.len() - 1];
    let mut run = 1;
    while run < RUN_MAX {
        match rest.last_chunk::<8>() {
            Some(word) => {
                let differing = u64::from_le_bytes(*word) ^ broadcast;
                let same = differing.leading_zeros() as usize / 8;
                run += same;
                if same < 8 {
                    break;
                }
                rest = &rest[..rest.len() - 8];
            }
            None => {
                run += rest.iter().rev().take_while(|b| *b == last).count();
                break;
            }
        }
    }
    run.min(RUN_MAX)
}

/// Length of the run that begins a string.
#[inline]
fn run_at_start(s: &[u8]) -> usize {
    let Some(first) = s.first() else { return 0 };
    s.iter().take(RUN_MAX).take_while(|b| *b == first).count()
}

/// A plan, where the strings have at most 128 letters.
pub(super) fn plan(values: &BytesVec, range: Range<usize>) -> Option<Plan> {
    let sample = || range.clone().take(SAMPLE).map(|i| values.get(i));
    let at_end: usize = sample().map(run_at_end).sum();
    let at_start: usize = sample().map(run_at_start).sum();
    // A run costs its length and its letter, about a byte and a half.
    let flags = match range.len().min(SAMPLE) * 5 / 2 {
        worth if at_end < worth && at_start < worth => 0,
        _ if at_end >= at_start => RUN_AT_END,
        _ => RUN_AT_START,
    };
    let mut seen = [0u8; 256];
    let mut plan = Plan {
        flags,
        alphabet: [0; 4],
        width: 0,
        lengths: Vec::with_capacity(range.len()),
        runs: Vec::new(),
        run_letters: Vec::new(),
        size: 0,
    };
    if flags != 0 {
        plan.runs.reserve(range.len());
        plan.run_letters.reserve(range.len());
    }
    let mut total = 0;
    for i in range {
        let s = values.get(i);
        let (head, run) = split(flags, s);
        if flags != 0 {
            plan.runs.push(run as i64);
            // An empty string repeats the letter before it, so that it widens nothing.
            let before = plan.run_letters.last().copied().unwrap_or(0);
            let letter = if flags == RUN_AT_END { s.last() } else { s.first() };
            plan.run_letters.push(letter.map_or(before, |b| i64::from(*b)));
        }
        head.iter().for_each(|b| seen[*b as usize] = 1);
        plan.lengths.push(head.len() as i64);
        total += head.len();
    }
    for (b, seen) in seen.iter().enumerate() {
        plan.alphabet[b / 64] |= u64::from(*seen) << (b % 64);
    }
    let letters: u32 = plan.alphabet.iter().map(|w| w.count_ones()).sum();
    if letters > 128 {
        return None;
    }
    plan.width = bits::width_of(u64::from(letters.saturating_sub(1))).max(1);
    plan.flags |= plan.width as u8;
    let width_of = |v: &[i64]| {
        let (min, max) = v.iter().fold((i64::MAX, 0), |(a, b), v| (a.min(*v), b.max(*v)));
        bits::width_of(max.saturating_sub(min).max(0) as u64) as usize
    };
    let rows = plan.lengths.len();
    let per_row = width_of(&plan.lengths) + width_of(&plan.runs) + width_of(&plan.run_letters);
    plan.size = 33 + total * plan.width as usize / 8 + rows * per_row / 8 + rows / 16 + 12;
    Some(plan)
}

/// What is left of a string, and the length of its run.
#[inline]
fn split(flags: u8, s: &[u8]) -> (&[u8], usize) {
    if flags & RUN_AT_END != 0 {
        let run = run_at_end(s);
        (&s[..s.len() - run], run)
    } else if flags & RUN_AT_START != 0 {
        let run = run_at_start(s);
        (&s[run..], run)
    } else {
        (s, 0)
    }
}

impl Plan {
    /// Appends the stream that was planned, for the same strings.
    pub(super) fn put(&self, values: &BytesVec, range: Range<usize>, out: &mut Vec<u8>) {
        out.push(self.flags);
        self.alphabet.iter().for_each(|w| out.extend_from_slice(&w.to_le_bytes()));
        places::put(&self.lengths, out);
        if self.flags & (RUN_AT_END | RUN_AT_START) != 0 {
            int::encode(&self.run_letters, Effort::Small, out);
            int::encode(&self.runs, Effort::Fast, out);
        }
        let mut code = [0u8; 256];
        let mut next = 0u8;
        for (b, code) in code.iter_mut().enumerate() {
            *code = next;
            next = next.wrapping_add((self.alphabet[b / 64] >> (b % 64) & 1) as u8);
        }
        let mut codes = Vec::with_capacity(self.lengths.iter().sum::<i64>() as usize + 8);
        for i in range {
            codes.extend(split(self.flags, values.get(i)).0.iter().map(|b| code[*b as usize]));
        }
        put_codes(codes, self.width, out);
    }
}

/// Packs codes eight at a time: pairs, pairs of pairs, then all eight.
fn put_codes(mut codes: Vec<u8>, width: u32, out: &mut Vec<u8>) {
    let end = out.len() + bits::packed_len(codes.len(), width);
    codes.resize(codes.len().next_multiple_of(8), 0);
    for eight in codes.as_chunks::<8>().0 {
        let mut x = u64::from_le_bytes(*eight);
        x = x & 0x00FF_00FF_00FF_00FF | (x & 0xFF00_FF00_FF00_FF00) >> (8 - width);
        x = x & 0x0000_FFFF_0000_FFFF | (x & 0xFFFF_0000_FFFF_0000) >> (16 - 2 * width);
        x = x & 0x0000_0000_FFFF_FFFF | (x & 0xFFFF_FFFF_0000_0000) >> (32 - 4 * width);
        out.extend_from_slice(&x.to_le_bytes()[..width as usize]);
    }
    out.truncate(end);
}

/// An encoded stream, parsed.
#[derive(Clone, Copy, Debug)]
pub(super) struct LettersView<'a> {
    flags: u8,
    width: u32,
    alphabet: &'a [u8; 32],
    places: Places<'a>,
    runs: Option<(IntView<'a>, IntView<'a>)>,
    codes: &'a [u8],
}

impl<'a> LettersView<'a> {
    pub(super) fn parse(r: &mut Reader<'a>, len: usize) -> Result<LettersView<'a>> {
        let flags = r.u8()?;
        let width = u32::from(flags & WIDTH_MASK);
        let run = flags & !WIDTH_MASK;
        if width == 0 || !matches!(run, 0 | RUN_AT_END | RUN_AT_START) {
            return Err(r.damaged(format!("unknown flags {flags} of packed letters")));
        }
        let alphabet = r.take(32)?.first_chunk().expect("took 32 bytes");
        let places = Places::parse(r, len)?;
        let runs = match run {
            0 => None,
            _ => Some((IntView::parse(r, len)?, IntView::parse(r, len)?)),
        };
        if places.total() > r.remaining().saturating_mul(8) {
            return Err(r.damaged("more letters than bits"));
        }
        let codes = r.take(bits::packed_len(places.total(), width))?;
        Ok(LettersView { flags, width, alphabet, places, runs, codes })
    }

    /// The letter of each code; damaged codes without a letter stand for 0.
    fn letters(&self) -> [u8; 128] {
        let mut letters = [0; 128];
        let mut next = 0;
        for (at, byte) in self.alphabet.iter().enumerate() {
            let mut byte = *byte;
            while byte != 0 && next < 128 {
                letters[next] = (at * 8) as u8 + byte.trailing_zeros() as u8;
                next += 1;
                byte &= byte - 1;
            }
        }
        letters
    }

    /// Appends the letters `range` of all strings together, eight at a time.
    fn append_letters(&self, range: Range<usize>, letters: &[u8; 128], out: &mut Vec<u8>) {
        let w = self.width;
        let one = bits::mask_of(w) * 0x0001_0001_0001_0001;
        let two = bits::mask_of(2 * w) * 0x0000_0001_0000_0001;
        let four = bits::mask_of(4 * w);
        let end = out.len() + range.len();
        out.reserve(range.len().next_multiple_of(8));
        for first in range.step_by(8) {
            // Eight codes of at most 7 bits begin within a byte and end within eight.
            let bit = first * w as usize;
            let mut x = word_at(self.codes, bit / 8) >> (bit % 8);
            x = x & four | x >> (4 * w) << 32 & four << 32;
            x = x & two | x << (16 - 2 * w) & two << 16;
            x = x & one | x << (8 - w) & one << 8;
            let eight = x.to_le_bytes().map(|code| letters[usize::from(code & 127)]);
            out.extend_from_slice(&eight);
        }
        out.truncate(end);
    }

    /// Appends string `i`.
    pub(super) fn get_into(&self, i: usize, out: &mut Vec<u8>) {
        let range = self.places.range(i);
        if range.end > self.places.total() {
            return;
        }
        let letters = self.letters();
        match self.runs {
            None => self.append_letters(range, &letters, out),
            Some((run_letters, runs)) => {
                let (letter, run) = (run_letters.get(i) as u8, run_of(runs.get(i)));
                if self.flags & RUN_AT_START != 0 {
                    out.resize(out.len() + run, letter);
                    self.append_letters(range, &letters, out);
                } else {
                    self.append_letters(range, &letters, out);
                    out.resize(out.len() + run, letter);
                }
            }
        }
    }

    /// Appends the strings of a range, each handed to `push`.
    pub(super) fn append_to(&self, range: Range<usize>, out: &mut BytesVec) -> Result<()> {
        let (start, lengths) = self.places.lengths(range.clone()).ok_or_else(damaged)?;
        let total = lengths.iter().sum::<i64>() as usize;
        let mut heads = Vec::with_capacity(total + 8);
        self.append_letters(start..start + total, &self.letters(), &mut heads);
        let (mut letters, mut runs) = (Vec::new(), Vec::new());
        if let Some((run_letters, run_lengths)) = self.runs {
            run_letters.append_to(range.clone(), &mut letters);
            run_lengths.append_to(range.clone(), &mut runs);
        }
        let run_total: usize = runs.iter().map(|n| run_of(*n)).sum();
        super::room_for(out, total + run_total)?;
        let BytesVec { offsets, data } = out;
        offsets.reserve(range.len());
        let mut rest = heads.as_slice();
        for k in 0..range.len() {
            let (head, tail) = rest.split_at(lengths[k] as usize);
            rest = tail;
            if self.flags & RUN_AT_START != 0 {
                data.resize(data.len() + run_of(runs[k]), letters[k] as u8);
            }
            data.extend_from_slice(head);
            if self.flags & RUN_AT_END != 0 {
                data.resize(data.len() + run_of(runs[k]), letters[k] as u8);
            }
            offsets.push(data.len() as u32);
        }
        Ok(())
    }
}

/// A run's length; damage cannot make it longer than the encoder would.
#[inline]
fn run_of(v: i64) -> usize {
    v.clamp(0, RUN_MAX as i64) as usize
}

/// Eight bytes from `at`, with zeros after the end.
#[inline]
fn word_at(bytes: &[u8], at: usize) -> u64 {
    let rest = bytes.get(at..).unwrap_or(&[]);
    match rest.first_chunk::<8>() {
        Some(word) => u64::from_le_bytes(*word),
        None => {
            let mut word = [0; 8];
            word[..rest.len()].copy_from_slice(rest);
            u64::from_le_bytes(word)
        }
    }
}

fn damaged() -> Error {
    Error::damaged("strings reach past the end of their column")
}
