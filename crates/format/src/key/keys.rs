//! How do many packed keys lie in memory?
//!
//! [`Keys`] is a vector of fixed-width integers (or of key bytes, for keys that do not fit) whose
//! order is the index's order. Which bits mean what is known to [`super::Packing`] alone: keys of
//! different packings must never be compared. Plain data, safe to share.

use std::cmp::Ordering;
use std::ops::Range;

use crate::batch::BytesVec;

/// Width of packed keys.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum KeyForm {
    /// Up to 64 bits
    Word,
    /// Up to 128 bits
    Narrow,
    /// Up to 256 bits
    Wide4,
    /// Up to 512 bits
    Wide8,
    /// Key bytes
    Bytes,
}

/// A fixed-width key: an integer whose fields are or-ed in at bit offsets from the low end.
pub(crate) trait PackedKey: Copy + Ord + Send + Sync + 'static {
    /// Capacity in bits.
    const BITS: u32;
    /// All bits 0.
    const ZERO: Self;
    /// Ors in a field. One of no bits, whose value is 0, may lie at the very end, behind the last bit.
    fn put(&mut self, offset: u32, value: u128);
    /// Ors in a field of at most 64 bits.
    fn put64(&mut self, offset: u32, value: u64);
    /// The 128 bits from `offset` upwards.
    fn get(&self, offset: u32) -> u128;
    /// The 64 bits from `offset` upwards.
    fn get64(&self, offset: u32) -> u64;
    /// Adds 2^offset; `false` when that overflows the capacity.
    fn increment(&mut self, offset: u32) -> bool;
    /// Ors in the bits in which two keys differ.
    fn or_difference(&mut self, a: &Self, b: &Self);
    /// Place of the highest set bit; 0 without any.
    fn highest_bit(&self) -> u32 {
        let word = (0..Self::BITS / 64).rev().map(|w| (w, self.get64(w * 64))).find(|w| w.1 != 0);
        word.map_or(0, |(w, word)| w * 64 + 63 - word.leading_zeros())
    }
}

impl PackedKey for u64 {
    const BITS: u32 = 64;
    const ZERO: u64 = 0;
    #[inline]
    fn put(&mut self, offset: u32, value: u128) {
        *self |= (value as u64).wrapping_shl(offset);
    }
    #[inline]
    fn put64(&mut self, offset: u32, value: u64) {
        *self |= value.wrapping_shl(offset);
    }
    #[inline]
    fn get(&self, offset: u32) -> u128 {
        u128::from(self.get64(offset))
    }
    #[inline]
    fn get64(&self, offset: u32) -> u64 {
        if offset < 64 { *self >> offset } else { 0 }
    }
    fn increment(&mut self, offset: u32) -> bool {
        let Some(one) = 1u64.checked_shl(offset) else { return false };
        let (sum, over) = self.overflowing_add(one);
        *self = sum;
        !over
    }
    fn or_difference(&mut self, a: &u64, b: &u64) {
        *self |= a ^ b;
    }
}

impl PackedKey for u128 {
    const BITS: u32 = 128;
    const ZERO: u128 = 0;
    #[inline]
    fn put(&mut self, offset: u32, value: u128) {
        *self |= value.wrapping_shl(offset);
    }
    #[inline]
    fn put64(&mut self, offset: u32, value: u64) {
        *self |= u128::from(value).wrapping_shl(offset);
    }
    #[inline]
    fn get(&self, offset: u32) -> u128 {
        if offset < 128 { *self >> offset } else { 0 }
    }
    #[inline]
    fn get64(&self, offset: u32) -> u64 {
        self.get(offset) as u64
    }
    fn increment(&mut self, offset: u32) -> bool {
        let Some(one) = 1u128.checked_shl(offset) else { return false };
        let (sum, over) = self.overflowing_add(one);
        *self = sum;
        !over
    }
    fn or_difference(&mut self, a: &u128, b: &u128) {
        *self |= a ^ b;
    }
}

/// Most significant word first, so that the derived order of arrays is the integer's order.
impl<const N: usize> PackedKey for [u64; N] {
    const BITS: u32 = 64 * N as u32;
    const ZERO: [u64; N] = [0; N];
    #[inline]
    fn put(&mut self, offset: u32, value: u128) {
        self.put64(offset, value as u64);
        if value >> 64 != 0 {
            self.put64(offset + 64, (value >> 64) as u64);
        }
    }
    #[inline]
    fn put64(&mut self, offset: u32, value: u64) {
        if offset >= Self::BITS {
            // A field without bits, behind the last one.
            debug_assert_eq!(value, 0);
            return;
        }
        let (word, shift) = (N - 1 - (offset / 64) as usize, offset % 64);
        self[word] |= value << shift;
        if shift > 0 && word > 0 {
            self[word - 1] |= value >> (64 - shift);
        }
    }
    #[inline]
    fn get(&self, offset: u32) -> u128 {
        u128::from(self.get64(offset)) | u128::from(self.get64(offset + 64)) << 64
    }
    #[inline]
    fn get64(&self, offset: u32) -> u64 {
        let (low, shift) = ((offset / 64) as usize, offset % 64);
        if low >= N {
            return 0;
        }
        let word = N - 1 - low;
        let mut value = self[word] >> shift;
        if shift > 0 && word > 0 {
            value |= self[word - 1] << (64 - shift);
        }
        value
    }
    fn increment(&mut self, offset: u32) -> bool {
        let low = (offset / 64) as usize;
        if low >= N {
            return false;
        }
        let mut one = 1u64 << (offset % 64);
        for word in self[..N - low].iter_mut().rev() {
            let (sum, over) = word.overflowing_add(one);
            *word = sum;
            if !over {
                return true;
            }
            one = 1;
        }
        false
    }
    fn or_difference(&mut self, a: &[u64; N], b: &[u64; N]) {
        for i in 0..N {
            self[i] |= a[i] ^ b[i];
        }
    }
}

/// Keys of one packing.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Keys {
    /// [`KeyForm::Word`]
    Word(Vec<u64>),
    /// [`KeyForm::Narrow`]
    Narrow(Vec<u128>),
    /// [`KeyForm::Wide4`], most significant word first
    Wide4(Vec<[u64; 4]>),
    /// [`KeyForm::Wide8`], most significant word first
    Wide8(Vec<[u64; 8]>),
    /// [`KeyForm::Bytes`]: key bytes
    Bytes(BytesVec),
}

/// Runs one expression on the vector inside, whatever its width.
macro_rules! each_form {
    ($keys:expr, $v:ident => $body:expr, $b:ident => $bytes:expr) => {
        match $keys {
            Keys::Word($v) => $body,
            Keys::Narrow($v) => $body,
            Keys::Wide4($v) => $body,
            Keys::Wide8($v) => $body,
            Keys::Bytes($b) => $bytes,
        }
    };
}

/// Runs one expression on two vectors of the same form.
macro_rules! both_forms {
    ($a:expr, $b:expr, ($x:ident, $y:ident) => $body:expr, $bytes:expr) => {
        match ($a, $b) {
            (Keys::Word($x), Keys::Word($y)) => $body,
            (Keys::Narrow($x), Keys::Narrow($y)) => $body,
            (Keys::Wide4($x), Keys::Wide4($y)) => $body,
            (Keys::Wide8($x), Keys::Wide8($y)) => $body,
            (Keys::Bytes($x), Keys::Bytes($y)) => $bytes,
            _ => panic!("keys of different packings are never mixed"),
        }
    };
}

impl Keys {
    /// No keys.
    pub fn new(form: KeyForm) -> Keys {
        match form {
            KeyForm::Word => Keys::Word(Vec::new()),
            KeyForm::Narrow => Keys::Narrow(Vec::new()),
            KeyForm::Wide4 => Keys::Wide4(Vec::new()),
            KeyForm::Wide8 => Keys::Wide8(Vec::new()),
            KeyForm::Bytes => Keys::Bytes(BytesVec::default()),
        }
    }
    /// The form.
    pub fn form(&self) -> KeyForm {
        match self {
            Keys::Word(_) => KeyForm::Word,
            Keys::Narrow(_) => KeyForm::Narrow,
            Keys::Wide4(_) => KeyForm::Wide4,
            Keys::Wide8(_) => KeyForm::Wide8,
            Keys::Bytes(_) => KeyForm::Bytes,
        }
    }
    /// Number of keys.
    pub fn len(&self) -> usize {
        each_form!(self, v => v.len(), b => b.len())
    }
    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
    /// Removes all keys and keeps the memory.
    pub fn clear(&mut self) {
        each_form!(self, v => v.clear(), b => b.clear());
    }
    /// Keeps the first `n` keys.
    pub fn truncate(&mut self, n: usize) {
        each_form!(self, v => v.truncate(n), b => b.truncate(n.min(b.len())));
    }
    /// Appends keys `range` of a vector of the same packing.
    pub fn extend_range(&mut self, other: &Keys, range: Range<usize>) {
        both_forms!(self, other, (a, b) => a.extend_from_slice(&b[range]), a.extend_range(b, range));
    }
    /// Appends one key of a vector of the same packing.
    #[inline]
    pub fn push_from(&mut self, other: &Keys, i: usize) {
        both_forms!(self, other, (a, b) => a.push(b[i]), a.push(b.get(i)));
    }
    /// Appends the keys at these positions of a vector of the same packing.
    pub fn extend_selected(&mut self, other: &Keys, positions: &[u32]) {
        both_forms!(self, other,
            (a, b) => a.extend(positions.iter().map(|&i| b[i as usize])),
            positions.iter().for_each(|&i| a.push(b.get(i as usize))));
    }
    /// Compares key `i` with key `j` of a vector of the same packing.
    #[inline]
    pub fn compare(&self, i: usize, other: &Keys, j: usize) -> Ordering {
        both_forms!(self, other, (a, b) => a[i].cmp(&b[j]), a.get(i).cmp(b.get(j)))
    }
    /// Whether the keys do not fall.
    pub fn is_sorted(&self) -> bool {
        each_form!(self, v => v.is_sorted(), b => (1..b.len()).all(|i| b.get(i - 1) <= b.get(i)))
    }
    /// Heap bytes in use, by capacity.
    pub fn heap_bytes(&self) -> usize {
        each_form!(self, v => std::mem::size_of_val(v.as_slice()) / v.len().max(1) * v.capacity(),
            b => b.offsets.capacity() * 4 + b.data.capacity())
    }
}

pub(crate) use each_form;
