//! How do codes become strings again, many at a time?
//!
//! Plain loops over fixed sizes, which the compiler turns into wide instructions. Nothing here trusts
//! a code: what damage makes of it is a letter or 0, never a panic.

use super::super::super::bits;

/// Codes that are turned into letters at a time.
pub(super) const SPREAD: usize = 32;
/// Most gaps of an alphabet for which adding them up beats a table.
const STEPS_MAX: usize = 8;
/// Bytes that short heads and runs are written in.
const STORE: usize = 16;

/// Appends heads and runs in turn, `total` bytes in all.
pub(super) fn join<const RUNS_FIRST: bool>(
    mut heads: Vec<u8>,
    lengths: &[i64],
    letters: &[i64],
    runs: &[i64],
    total: usize,
    out: &mut Vec<u8>,
) {
    // Short heads and runs, which most are, take one store of a fixed size each; what it writes too
    // much, the next one writes over.
    heads.resize(heads.len() + STORE, 0);
    let start = out.len();
    out.resize(start + total + STORE, 0);
    let target = &mut out[start..];
    let (mut at, mut from) = (0, 0);
    for ((&head, &run), &letter) in lengths.iter().zip(runs).zip(letters) {
        let (head, run, letter) = (head as usize, run as usize, letter as u8);
        let (head_at, run_at) = if RUNS_FIRST { (at + run, at) } else { (at, at + head) };
        if head > STORE || run > STORE {
            target[head_at..][..head].copy_from_slice(&heads[from..][..head]);
            target[run_at..][..run].fill(letter);
        } else if RUNS_FIRST {
            target[run_at..run_at + STORE].copy_from_slice(&[letter; STORE]);
            target[head_at..head_at + STORE].copy_from_slice(&heads[from..from + STORE]);
        } else {
            target[head_at..head_at + STORE].copy_from_slice(&heads[from..from + STORE]);
            target[run_at..run_at + STORE].copy_from_slice(&[letter; STORE]);
        }
        at += head + run;
        from += head;
    }
    out.truncate(start + total);
}

/// Writes the codes from `first` on over `out`, a byte each. Codes past the end are 0.
pub(super) fn spread(codes: &[u8], width: u32, first: usize, out: &mut [u8]) {
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
pub(super) fn translate_in_steps(alphabet: &[u8], codes: &mut [u8]) -> bool {
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
pub(super) fn put_run(run: usize, letter: u8, out: &mut Vec<u8>) {
    let end = out.len() + run;
    if run <= 16 {
        out.extend_from_slice(&[letter; 16]);
        out.truncate(end);
    } else {
        out.resize(end, letter);
    }
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
