//! Is a text a canonical UUID, and which?
//!
//! Canonical means 36 characters, lower-case, with four hyphens: then the text's byte order is the
//! order of the 128 bits. Pure functions.

/// Length of the canonical form.
pub(crate) const LEN: usize = 36;

const ONES: u64 = 0x0101_0101_0101_0101;

/// Eight lower-case hex digits as 32 bits; the second value has a bit set where one is not.
#[inline]
fn eight(chars: u64) -> (u64, u64) {
    let letter = chars >> 6 & ONES;
    let nibble = (chars & (ONES * 0x0f)) + letter * 9;
    // The character that this nibble should have come from; nibbles stay below 16 + 9, so no byte
    // carries into the next.
    let back = nibble + ONES * 0x30 + letter * (0x61 - 0x3a);
    let wrong = (chars ^ back) | (nibble & (ONES * 0xf0)) | letter_digit(nibble, letter);
    let pairs = (nibble << 4 | nibble >> 8) & 0x00ff_00ff_00ff_00ff;
    let quads = (pairs | pairs >> 8) & 0x0000_ffff_0000_ffff;
    let packed = (quads | quads >> 16) & 0xffff_ffff;
    (u64::from((packed as u32).swap_bytes()), wrong)
}

/// Non-zero where a letter stands for less than 10, or a digit for 10 and more.
#[inline]
fn letter_digit(nibble: u64, letter: u64) -> u64 {
    let ten_up = (nibble + ONES * (0x80 - 10)) >> 7 & ONES;
    ten_up ^ letter
}

/// The identifier, where `text` is a canonical UUID.
#[inline]
pub(crate) fn parse(text: &[u8]) -> Option<u128> {
    let text: &[u8; LEN] = text.try_into().ok()?;
    let eight_at = |i: usize| -> u64 {
        u64::from_le_bytes(text[i..i + 8].try_into().expect("eight of 36 bytes"))
    };
    let four_at = |i: usize| -> u64 {
        u64::from(u32::from_le_bytes(text[i..i + 4].try_into().expect("four of 36 bytes")))
    };
    let (a, wa) = eight(eight_at(0));
    let (b, wb) = eight(four_at(9) | four_at(14) << 32);
    let (c, wc) = eight(four_at(19) | four_at(24) << 32);
    let (d, wd) = eight(eight_at(28));
    let t = text;
    let hyphens = (t[8] ^ b'-') | (t[13] ^ b'-') | (t[18] ^ b'-') | (t[23] ^ b'-');
    if wa | wb | wc | wd | u64::from(hyphens) != 0 {
        return None;
    }
    Some(u128::from(a) << 96 | u128::from(b) << 64 | u128::from(c) << 32 | u128::from(d))
}

/// Eight lower-case hex digits of 32 bits, the first in the lowest byte.
#[inline]
fn digits(v: u32) -> u64 {
    let mut spread = u64::from(v.swap_bytes());
    spread = (spread | spread << 16) & 0x0000_ffff_0000_ffff;
    spread = (spread | spread << 8) & 0x00ff_00ff_00ff_00ff;
    let nibble = (spread >> 4 | spread << 8) & (ONES * 0x0f);
    let letter = (nibble + ONES * 6) >> 4 & ONES;
    nibble + ONES * 0x30 + letter * 0x27
}

/// The canonical form.
#[inline]
pub(crate) fn format(id: u128) -> [u8; LEN] {
    let mut out = [b'-'; LEN];
    let part = |shift: u32| digits((id >> shift) as u32).to_le_bytes();
    let (b, c) = (part(64), part(32));
    out[0..8].copy_from_slice(&part(96));
    out[9..13].copy_from_slice(&b[..4]);
    out[14..18].copy_from_slice(&b[4..]);
    out[19..23].copy_from_slice(&c[..4]);
    out[24..28].copy_from_slice(&c[4..]);
    out[28..36].copy_from_slice(&part(0));
    out
}
