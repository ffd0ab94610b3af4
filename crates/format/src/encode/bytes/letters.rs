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
const SAMPLE: usize = 16;
/// Most letters: codes of 7 bits.
const LETTERS_MAX: usize = 128;
/// Codes that are turned into letters at a time.
const SPREAD: usize = 32;
/// Most gaps of an alphabet for which adding them up beats a table.
const STEPS_MAX: usize = 8;
/// Fewer codes than this do not pay for finding the gaps.
const TRANSLATE_MIN: usize = 256;
/// Bytes that short heads and runs are written in.
const STORE: usize = 16;

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
        let runs_first = self.flags & RUN_AT_START != 0;
        join(heads, &lengths, &letters, &runs, runs_first, total + run_total, &mut out.data);
        lengths.iter_mut().zip(&runs).for_each(|(n, run)| *n += run);
        super::append_ends(&lengths, out);
        Ok(())
    }
}

/// Appends heads and runs in turn, `total` bytes in all.
fn join(
    mut heads: Vec<u8>,
    lengths: &[i64],
    letters: &[i64],
    runs: &[i64],
    runs_first: bool,
    total: usize,
    out: &mut Vec<u8>,
) {
    // Short heads and runs, which most are, take one store of a fixed size each; what it writes too
    // much, the next ones write over.
    heads.resize(heads.len() + STORE, 0);
    let start = out.len();
    out.resize(start + total + STORE, 0);
    let target = &mut out[start..];
    let (mut at, mut from) = (0, 0);
    for ((&head, &run), &letter) in lengths.iter().zip(runs).zip(letters) {
        let (head, run, letter) = (head as usize, run as usize, letter as u8);
        let (head_at, run_at) = if runs_first { (at + run, at) } else { (at, at + head) };
        if head <= STORE && run <= STORE {
            let bytes: [u8; STORE] =
                *heads[from..].first_chunk().expect("a store's bytes follow the last head");
            if runs_first {
                target[run_at..][..STORE].fill(letter);
                target[head_at..][..STORE].copy_from_slice(&bytes);
            } else {
                target[head_at..][..STORE].copy_from_slice(&bytes);
                target[run_at..][..STORE].fill(letter);
            }
        } else {
            target[head_at..][..head].copy_from_slice(&heads[from..][..head]);
            target[run_at..][..run].fill(letter);
        }
        at += head + run;
        from += head;
    }
    out.truncate(start + total);
}

/// Writes the codes from `first` on over `out`, a byte each. Codes past the end are 0.
fn spread(codes: &[u8], width: u32, first: usize, out: &mut [u8]) {
    match width {
        1 => spread_width::<1>(codes, first, out),
        2 => spread_width::<2>(codes, first, out),
        3 => spread_width::<3>(codes, first, out),
        4 => spread_width::<4>(codes, first, out),
        5 => spread_width::<5>(codes, first, out),
        6 => spread_width::<6>(codes, first, out),
        _ => spread_width::<7>(codes, first, out),
    }
}

fn spread_width<const W: usize>(codes: &[u8], first: usize, out: &mut [u8]) {
    let w = W as u32;
    let one = bits::mask_of(w) * 0x0001_0001_0001_0001;
    let two = bits::mask_of(2 * w) * 0x0000_0001_0000_0001;
    let four = bits::mask_of(4 * w);
    // Eight codes of at most 7 bits begin within a byte and end within eight.
    let (mut at, shift) = (first * W / 8, first * W % 8);
    for eight in out.as_chunks_mut::<8>().0 {
        let mut x = word_at(codes, at) >> shift;
        x = x & four | x >> (4 * w) << 32 & four << 32;
        x = x & two | x << (16 - 2 * w) & two << 16;
        x = x & one | x << (8 - w) & one << 8;
        *eight = x.to_le_bytes();
        at += W;
    }
}

/// Replaces codes, a multiple of [`SPREAD`], by their letters, where that is faster than a table:
/// where the alphabet is few stretches of neighbouring letters (that of base64 is four). Then the
/// first letter is added to all, and each gap to those behind it, many at a time. Leaves damaged
/// codes to the table.
fn translate_in_steps(alphabet: &[u8], codes: &mut [u8]) -> bool {
    // Where a gap begins, and how many letters are missing there.
    let mut steps = [(0u8, 0u8); STEPS_MAX];
    let mut count = 0;
    for pair in alphabet.windows(2) {
        if pair[0] >= pair[1] {
            return false;
        }
        if pair[1] - pair[0] > 1 {
            let Some(step) = steps.get_mut(count) else { return false };
            *step = (pair[0] + 1, pair[1] - pair[0] - 1);
            count += 1;
        }
    }
    let largest = codes.iter().fold(0, |max, code| max.max(*code));
    if usize::from(largest) >= alphabet.len() {
        return false;
    }
    for some in codes.as_chunks_mut::<SPREAD>().0 {
        some.iter_mut().for_each(|c| *c += alphabet[0]);
        for (from, gap) in &steps[..count] {
            some.iter_mut().for_each(|c| *c += if *c >= *from { *gap } else { 0 });
        }
    }
    true
}

/// Appends a run. Short ones, which most are, take one store of a fixed size.
#[inline]
fn put_run(run: usize, letter: u8, out: &mut Vec<u8>) {
    let end = out.len() + run;
    if run <= 16 {
        out.extend_from_slice(&[letter; 16]);
        out.truncate(end);
    } else {
        out.resize(end, letter);
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
