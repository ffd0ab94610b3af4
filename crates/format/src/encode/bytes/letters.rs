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
//! | alphabet | 1: number of letters less 1; then the letters in ascending order, code 0 first |
//! | places | of what is left of the strings, in letters: lengths and anchors |
//! | runs | with a run flag: integer streams of letters (byte values), then of lengths (at most 255) |
//! | codes | packed |

mod unpack;

use std::ops::Range;

use onlap_base::{Error, Result};

use self::unpack::{SPREAD, join, put_run, spread, translate_in_steps};
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
const SAMPLE: usize = 16;
/// Most letters: codes of 7 bits.
const LETTERS_MAX: usize = 128;
/// Fewer codes than this do not pay for finding the gaps.
const TRANSLATE_MIN: usize = 256;

/// What the encoder found out, and the size it leads to.
pub(super) struct Plan {
    flags: u8,
    /// Letters in ascending order.
    alphabet: Vec<u8>,
    width: u32,
    /// What is left of the strings, one after the other, and the length of each.
    heads: Vec<u8>,
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
    let rows = range.len();
    let runs = if flags == 0 { 0 } else { rows };
    let mut plan = Plan {
        flags,
        alphabet: Vec::new(),
        width: 0,
        heads: Vec::new(),
        lengths: Vec::with_capacity(rows),
        runs: Vec::with_capacity(runs),
        run_letters: Vec::with_capacity(runs),
        size: 0,
    };
    plan.take_apart(values, range);
    let mut seen = [0u8; 256];
    plan.heads.iter().for_each(|b| seen[usize::from(*b)] = 1);
    plan.alphabet.extend((0..=255u8).filter(|b| seen[usize::from(*b)] == 1));
    if plan.alphabet.len() > LETTERS_MAX {
        return None;
    }
    plan.width = bits::width_of((plan.alphabet.len() as u64).saturating_sub(1)).max(1);
    plan.flags |= plan.width as u8;
    let width_of = |v: &[i64]| {
        let (min, max) = v.iter().fold((i64::MAX, 0), |(a, b), v| (a.min(*v), b.max(*v)));
        bits::width_of(max.saturating_sub(min).max(0) as u64) as usize
    };
    let per_row = width_of(&plan.lengths) + width_of(&plan.runs) + width_of(&plan.run_letters);
    let codes = plan.heads.len() * plan.width as usize / 8;
    plan.size = 14 + plan.alphabet.len() + codes + rows * per_row / 8 + rows / 16;
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
    /// Splits the strings into heads and runs.
    fn take_apart(&mut self, values: &BytesVec, range: Range<usize>) {
        let bytes = (values.offsets[range.end] - values.offsets[range.start]) as usize;
        // Eight bytes are copied at a time where they are there, so leave room for them.
        self.heads.resize(bytes + 8, 0);
        let mut at = 0;
        let mut letter = 0;
        for i in range {
            let s = values.get(i);
            let (head, run) = split(self.flags, s);
            if self.flags != 0 {
                // An empty string repeats the letter before it, so that it widens nothing.
                let end = if self.flags == RUN_AT_END { s.last() } else { s.first() };
                letter = end.map_or(letter, |b| i64::from(*b));
                self.run_letters.push(letter);
                self.runs.push(run as i64);
            }
            self.lengths.push(head.len() as i64);
            let target = &mut self.heads[at..];
            match s.first_chunk::<8>() {
                Some(eight) if self.flags != RUN_AT_START && head.len() <= 8 => {
                    target[..8].copy_from_slice(eight);
                }
                _ => target[..head.len()].copy_from_slice(head),
            }
            at += head.len();
        }
        self.heads.truncate(at);
    }

    /// Appends the stream that was planned.
    pub(super) fn put(&self, out: &mut Vec<u8>) {
        // No letters at all, where all strings are runs, count as one.
        let alphabet = if self.alphabet.is_empty() { &[0] } else { self.alphabet.as_slice() };
        out.extend([self.flags, (alphabet.len() - 1) as u8]);
        out.extend_from_slice(alphabet);
        places::put(&self.lengths, out);
        if self.flags & (RUN_AT_END | RUN_AT_START) != 0 {
            int::encode(&self.run_letters, Effort::Fast, out);
            int::encode(&self.runs, Effort::Fast, out);
        }
        let mut code = [0u8; 256];
        for (k, letter) in alphabet.iter().enumerate() {
            code[usize::from(*letter)] = k as u8;
        }
        put_codes(self.heads.iter().map(|b| code[usize::from(*b)]).collect(), self.width, out);
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
    alphabet: &'a [u8],
    places: Places<'a>,
    runs: Option<(IntView<'a>, IntView<'a>)>,
    codes: &'a [u8],
}

impl<'a> LettersView<'a> {
    #[inline]
    pub(super) fn parse(r: &mut Reader<'a>, len: usize) -> Result<LettersView<'a>> {
        let flags = r.u8()?;
        let width = u32::from(flags & WIDTH_MASK);
        let run = flags & !WIDTH_MASK;
        if width == 0 || !matches!(run, 0 | RUN_AT_END | RUN_AT_START) {
            return Err(r.damaged(format!("unknown flags {flags} of packed letters")));
        }
        let letters = usize::from(r.u8()?) + 1;
        if letters > LETTERS_MAX {
            return Err(r.damaged(format!("an alphabet of {letters} letters")));
        }
        let alphabet = r.take(letters)?;
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

    /// Appends the letters `range` of all strings together.
    fn append_letters(&self, range: Range<usize>, out: &mut Vec<u8>) {
        let start = out.len();
        let many = range.len() >= TRANSLATE_MIN;
        let padded = range.len().next_multiple_of(if many { SPREAD } else { 8 });
        out.resize(start + padded, 0);
        let codes = &mut out[start..];
        spread(self.codes, self.width, range.start, codes);
        if !(many && translate_in_steps(self.alphabet, codes)) {
            let mut letters = [0; LETTERS_MAX];
            letters[..self.alphabet.len()].copy_from_slice(self.alphabet);
            codes.iter_mut().for_each(|code| *code = letters[usize::from(*code & 127)]);
        }
        out.truncate(start + range.len());
    }

    /// Appends string `i`.
    pub(super) fn get_into(&self, i: usize, out: &mut Vec<u8>) {
        let range = self.places.range(i);
        if range.end > self.places.total() {
            return;
        }
        match self.runs {
            None => self.append_letters(range, out),
            Some((run_letters, runs)) => {
                let (letter, run) = (run_letters.get(i) as u8, run_of(runs.get(i)));
                if self.flags & RUN_AT_START != 0 {
                    put_run(run, letter, out);
                    self.append_letters(range, out);
                } else {
                    self.append_letters(range, out);
                    put_run(run, letter, out);
                }
            }
        }
    }

    /// Appends the strings of a range.
    pub(super) fn append_to(&self, range: Range<usize>, out: &mut BytesVec) -> Result<()> {
        let (start, mut lengths) = self.places.lengths(range.clone()).ok_or_else(damaged)?;
        let total = lengths.iter().sum::<i64>() as usize;
        let Some((run_letters, run_lengths)) = self.runs else {
            super::room_for(out, total)?;
            self.append_letters(start..start + total, &mut out.data);
            super::append_ends(&lengths, out);
            return Ok(());
        };
        let mut heads = Vec::new();
        self.append_letters(start..start + total, &mut heads);
        let (mut letters, mut runs) = (Vec::new(), Vec::new());
        run_letters.append_to(range.clone(), &mut letters);
        run_lengths.append_to(range, &mut runs);
        runs.iter_mut().for_each(|n| *n = run_of(*n) as i64);
        let run_total = runs.iter().sum::<i64>() as usize;
        super::room_for(out, total + run_total)?;
        let join = if self.flags & RUN_AT_START != 0 { join::<true> } else { join::<false> };
        join(heads, &lengths, &letters, &runs, total + run_total, &mut out.data);
        lengths.iter_mut().zip(&runs).for_each(|(n, run)| *n += run);
        super::append_ends(&lengths, out);
        Ok(())
    }
}

/// A run's length; damage cannot make it longer than the encoder would.
#[inline]
fn run_of(v: i64) -> usize {
    v.clamp(0, RUN_MAX as i64) as usize
}

fn damaged() -> Error {
    Error::damaged("strings reach past the end of their column")
}

#[cfg(test)]
mod tests;
