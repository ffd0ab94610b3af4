//! Which hash do PostgreSQL's hash functions give?
//!
//! Bob Jenkins' lookup3 (2006, public domain) over the bytes of a value, with PostgreSQL's start and without alignment.

use onlap_pg::Oid;
use onlap_pg::catalog::Catalog;
use onlap_pg::value::interval::Interval as Span;
use onlap_pg::value::numeric::Numeric;

use crate::misc::lsn;
use crate::{
    Bytes, Char, Datum, Entry, Float4, Float8, Int2, Int4, Int8, Interval, Num, OidTy, one, two,
};

/// Hash functions of numbers, and those with a seed.
macro_rules! hashes {
    ($($name:literal $plain:literal $seeded:literal $ty:ident $hash:expr;)*) => { &[$(
        (concat!($plain, "(", $name, ")"), |_| one::<$ty, Int4>(|a, _| Ok($hash(&a, 0) as i32))),
        (concat!($seeded, "(", $name, ",int8)"), |_| two::<$ty, Int8, Int8>(|a, seed, _| Ok($hash(&a, seed as u64) as i64))),
    )*] };
}

/// Hash functions.
pub const ENTRIES: &[Entry] = hashes! {
    "int2" "hashint2" "hashint2extended" Int2 |a: &i16, seed| word(i32::from(*a) as u32, seed);
    "int4" "hashint4" "hashint4extended" Int4 |a: &i32, seed| word(*a as u32, seed);
    "int8" "hashint8" "hashint8extended" Int8 long;
    "oid" "hashoid" "hashoidextended" OidTy |a: &u32, seed| word(*a, seed);
    "char" "hashchar" "hashcharextended" Char |a: &u8, seed| word(i32::from(*a as i8) as u32, seed);
    "float4" "hashfloat4" "hashfloat4extended" Float4 |a: &f32, seed| float(f64::from(*a), seed);
    "float8" "hashfloat8" "hashfloat8extended" Float8 |a: &f64, seed| float(*a, seed);
    "numeric" "hash_numeric" "hash_numeric_extended" Num numeric;
    "pg_lsn" "pg_lsn_hash" "pg_lsn_hash_extended" Bytes
        |a: &[u8], seed| long(&(lsn::load(a) as i64), seed);
    "interval" "interval_hash" "interval_hash_extended" Interval
        |a: &Span, seed| long(&(a.key() as i64), seed);
};

/// What PostgreSQL starts the hashes with that divide rows among partitions.
const PARTITION_SEED: u64 = 0x7a5b_2236_7996_dcfd;

/// Whether rows can be divided by the hash of values of a type. That of an enum is of an OID, which is another everywhere.
pub fn divides(catalog: &Catalog, oid: Oid) -> bool {
    let plain = [16, 17, 18, 19, 20, 21, 23, 25, 26, 700, 701, 1042, 1043, 1082, 1083, 1114, 1184];
    let base = catalog.base_type(oid);
    plain.contains(&base) || matches!(base, 1186 | 1700 | 2950 | 3220)
}

/// The hash by which rows are divided among partitions, of one value; `None` of NULL.
pub fn of_value(catalog: &Catalog, oid: Oid, value: &Datum<'_>) -> Option<u64> {
    of(catalog, oid, value, PARTITION_SEED)
}

/// The hash of one value, with a seed; `None` of NULL. Without a seed its low half is that of 32 bits.
pub(crate) fn of(catalog: &Catalog, oid: Oid, value: &Datum<'_>, seed: u64) -> Option<u64> {
    Some(match (catalog.base_type(oid), value) {
        (_, Datum::Null) => return None,
        (_, Datum::Bool(v)) => word(u32::from(*v), seed),
        (_, Datum::Char(v)) => word(i32::from(*v as i8) as u32, seed),
        (_, Datum::Int2(v)) => word(i32::from(*v) as u32, seed),
        (_, Datum::Int4(v)) => word(*v as u32, seed),
        (_, Datum::Int8(v)) => long(v, seed),
        (_, Datum::Oid(v)) => word(*v, seed),
        (_, Datum::Float4(v)) => float(f64::from(*v), seed),
        (_, Datum::Float8(v)) => float(*v, seed),
        (1042, Datum::Text(v)) => bytes(onlap_pg::value::chars::key(v).as_bytes(), seed),
        (_, Datum::Text(v)) => bytes(v.as_bytes(), seed),
        (1700, Datum::Bytes(v)) => numeric(&Numeric::load(v), seed),
        (3220, Datum::Bytes(v)) => long(&(lsn::load(v) as i64), seed),
        (1186, Datum::Bytes(v)) => long(&(Span::recv(v).ok()?.key() as i64), seed),
        (_, Datum::Bytes(v)) => bytes(v, seed),
    })
}

/// The hash of a row's keys, of those that are not NULL.
pub fn combined(hashes: impl Iterator<Item = u64>) -> u64 {
    hashes.fold(0, |all: u64, one| {
        let add = one.wrapping_add(0x49a0_f4dd_15e5_a8e3).wrapping_add(all << 54);
        all ^ add.wrapping_add(all >> 7)
    })
}

/// An integer that has the hash of a narrower type where it fits one.
fn long(value: &i64, seed: u64) -> u64 {
    let (low, high) = (*value as u32, (*value >> 32) as u32);
    word(low ^ if *value >= 0 { high } else { !high }, seed)
}

/// Equal floats have equal hashes: one zero, one NaN.
fn float(value: f64, seed: u64) -> u64 {
    match value {
        0.0 => seed,
        _ if value.is_nan() => bytes(&f64::NAN.to_le_bytes(), seed),
        _ => bytes(&value.to_le_bytes(), seed),
    }
}

fn numeric(value: &Numeric, seed: u64) -> u64 {
    if !value.is_finite() {
        return seed;
    }
    let (digits, weight) = value.digits();
    if digits.is_empty() {
        return seed.wrapping_sub(1);
    }
    let digits: Vec<u8> = digits.iter().flat_map(|digit| digit.to_le_bytes()).collect();
    bytes(&digits, seed) ^ i64::from(weight) as u64
}

/// Three words that are stirred.
struct Words {
    a: u32,
    b: u32,
    c: u32,
}

impl Words {
    fn new(length: usize, seed: u64) -> Words {
        let start = 0x9e37_79b9_u32.wrapping_add(length as u32).wrapping_add(3_923_095);
        let mut words = Words { a: start, b: start, c: start };
        if seed != 0 {
            words.a = words.a.wrapping_add((seed >> 32) as u32);
            words.b = words.b.wrapping_add(seed as u32);
            words.mix();
        }
        words
    }

    fn mix(&mut self) {
        for turn in [[4, 6, 8], [16, 19, 4]] {
            self.a = self.a.wrapping_sub(self.c) ^ self.c.rotate_left(turn[0]);
            self.c = self.c.wrapping_add(self.b);
            self.b = self.b.wrapping_sub(self.a) ^ self.a.rotate_left(turn[1]);
            self.a = self.a.wrapping_add(self.c);
            self.c = self.c.wrapping_sub(self.b) ^ self.b.rotate_left(turn[2]);
            self.b = self.b.wrapping_add(self.a);
        }
    }

    /// The hash: its low half is that of 32 bits.
    fn finish(mut self) -> u64 {
        let Words { a, b, c } = &mut self;
        *c = (*c ^ *b).wrapping_sub(b.rotate_left(14));
        *a = (*a ^ *c).wrapping_sub(c.rotate_left(11));
        *b = (*b ^ *a).wrapping_sub(a.rotate_left(25));
        *c = (*c ^ *b).wrapping_sub(b.rotate_left(16));
        *a = (*a ^ *c).wrapping_sub(c.rotate_left(4));
        *b = (*b ^ *a).wrapping_sub(a.rotate_left(14));
        *c = (*c ^ *b).wrapping_sub(b.rotate_left(24));
        u64::from(self.b) << 32 | u64::from(self.c)
    }
}

fn word(value: u32, seed: u64) -> u64 {
    let mut words = Words::new(4, seed);
    words.a = words.a.wrapping_add(value);
    words.finish()
}

/// The hash of bytes; without a seed its low half is PostgreSQL's hash of 32 bits.
pub fn bytes(bytes: &[u8], seed: u64) -> u64 {
    let mut words = Words::new(bytes.len(), seed);
    let (whole, rest) = bytes.as_chunks::<12>();
    let part = |chunk: &[u8], at: usize| {
        let byte = |i: usize| u32::from(chunk.get(at + i).copied().unwrap_or(0));
        byte(0) | byte(1) << 8 | byte(2) << 16 | byte(3) << 24
    };
    for chunk in whole {
        words.a = words.a.wrapping_add(part(chunk, 0));
        words.b = words.b.wrapping_add(part(chunk, 4));
        words.c = words.c.wrapping_add(part(chunk, 8));
        words.mix();
    }
    words.a = words.a.wrapping_add(part(rest, 0));
    words.b = words.b.wrapping_add(part(rest, 4));
    // The lowest byte is the length's.
    words.c = words.c.wrapping_add(part(rest, 8) << 8);
    words.finish()
}
