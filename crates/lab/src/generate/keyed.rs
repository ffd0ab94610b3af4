//! Which rows have keys in random order?
//!
//! Point reads by a key that rises with the row id need one read, by other keys two; this workload
//! has the other keys. They are a permutation of the 63-bit integers, so that the n-th key is known
//! and never comes twice.

use onlap::{Batch, Column, DataType, Row, Value, Vector};

use super::{Generator, TableShape};

pub(super) static SHAPE: TableShape = TableShape {
    name: "keyed",
    columns: &[("id", DataType::Int8), ("v", DataType::Int8)],
    gives_keys: true,
    indexes: &[],
};

/// Clients are this far apart in the permutation.
const CLIENT_ROWS: u64 = 1 << 40;

/// Rows with a given key and a counter.
pub struct Keyed {
    next: u64,
}

impl Keyed {
    /// The generator of one client.
    pub fn new(seed: u64, client: usize) -> Keyed {
        Keyed { next: seed + client as u64 * CLIENT_ROWS }
    }
}

/// The n-th key: bijective on 63 bits, as each of its steps is.
pub(super) fn key(n: u64) -> i64 {
    const MASK: u64 = (1 << 63) - 1;
    let mut x = n & MASK;
    for odd in [0x1E37_79B9_7F4A_7C15, 0x3F58_476D_1CE4_E5B9] {
        x = x.wrapping_mul(odd) & MASK;
        x ^= x >> 32;
    }
    x as i64
}

impl Generator for Keyed {
    fn batch(&mut self, rows: usize, _now_us: i64) -> Batch {
        let numbers = self.next..self.next + rows as u64;
        self.next = numbers.end;
        let int = |v: Vec<i64>| Column { data: Vector::Int(v), nulls: None };
        let keys = numbers.clone().map(key).collect();
        Batch { columns: vec![int(keys), int(numbers.map(|n| n as i64).collect())], rows }
    }

    fn rows(&mut self, rows: usize, _now_us: i64, out: &mut Vec<Row>) {
        out.clear();
        let numbers = self.next..self.next + rows as u64;
        self.next = numbers.end;
        out.extend(numbers.map(|n| vec![Value::Int(key(n)), Value::Int(n as i64)]));
    }
}

#[cfg(test)]
mod tests {
    #[test]
    fn keys_do_not_repeat_and_are_in_no_order() {
        let keys: Vec<i64> = (0..100_000).map(super::key).collect();
        let mut sorted = keys.clone();
        sorted.sort_unstable();
        sorted.dedup();
        assert_eq!(sorted.len(), keys.len());
        assert!(sorted[0] >= 0);
        let rising = keys.windows(2).filter(|w| w[0] < w[1]).count();
        assert!((45_000..55_000).contains(&rising), "{rising}");
    }
}
