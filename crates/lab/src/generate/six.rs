//! Which rows does the workload of six UUID indexes insert?

use onlap::{Batch, BytesVec, Column, DataType, Row, Value, Vector};
use onlap_base::rng::Rng;

use super::{Generator, IndexShape, TableShape};

/// Bytes of a UUID in text form.
const UUID_BYTES: usize = 36;

pub(super) static SHAPE: TableShape = TableShape {
    name: "data_uuid",
    columns: &[
        ("id", DataType::Int8),
        ("a", DataType::Char(36)),
        ("b", DataType::Char(36)),
        ("c", DataType::Char(36)),
        ("status", DataType::Int4),
    ],
    gives_keys: false,
    indexes: &[
        IndexShape { name: "ab", columns: &[1, 2] },
        IndexShape { name: "ba", columns: &[2, 1] },
        IndexShape { name: "ca", columns: &[3, 1] },
        IndexShape { name: "cb", columns: &[3, 2] },
        IndexShape { name: "acb", columns: &[1, 3, 2] },
        IndexShape { name: "bca", columns: &[2, 3, 1] },
    ],
};

/// Rows of three random version-4 UUIDs (workload `six`).
pub struct Six {
    rng: Rng,
}

impl Six {
    /// The generator of one client.
    pub fn new(seed: u64, client: usize) -> Six {
        Six { rng: super::client_rng(seed, client) }
    }

    #[inline]
    fn uuid(&mut self) -> [u8; UUID_BYTES] {
        let high = (self.rng.next_u64() & !0xF000) | 0x4000;
        let low = (self.rng.next_u64() & !(3 << 62)) | (1 << 63);
        let (a, b) = (hex(high), hex(low));
        let mut text = [b'-'; UUID_BYTES];
        text[..8].copy_from_slice(&a[..8]);
        text[9..13].copy_from_slice(&a[8..12]);
        text[14..18].copy_from_slice(&a[12..]);
        text[19..23].copy_from_slice(&b[..4]);
        text[24..].copy_from_slice(&b[4..]);
        text
    }
}

/// Sixteen lower-case hexadecimal digits, eight at a time: digits are spread to bytes and letters
/// shifted up where a digit is above nine.
#[inline]
fn hex(n: u64) -> [u8; 16] {
    let half = |n: u32| {
        let mut x = u64::from(n);
        x = ((x << 16) | x) & 0x0000_FFFF_0000_FFFF;
        x = ((x << 8) | x) & 0x00FF_00FF_00FF_00FF;
        x = ((x << 4) | x) & 0x0F0F_0F0F_0F0F_0F0F;
        let above_nine = ((x + 0x0606_0606_0606_0606) >> 4) & 0x0101_0101_0101_0101;
        let letters = above_nine * u64::from(b'a' - b'0' - 10);
        (x + 0x3030_3030_3030_3030 + letters).to_be_bytes()
    };
    let mut out = [0; 16];
    out[..8].copy_from_slice(&half((n >> 32) as u32));
    out[8..].copy_from_slice(&half(n as u32));
    out
}

impl Generator for Six {
    fn batch(&mut self, rows: usize, _now_us: i64) -> Batch {
        let mut columns: [BytesVec; 3] = Default::default();
        for column in &mut columns {
            column.offsets.reserve(rows);
            column.data.reserve(rows * UUID_BYTES);
        }
        for _ in 0..rows {
            for column in &mut columns {
                column.push(&self.uuid());
            }
        }
        let mut out = vec![super::null_key(rows)];
        out.extend(columns.map(|c| Column { data: Vector::Bytes(c), nulls: None }));
        out.push(Column { data: Vector::Int(vec![0; rows]), nulls: None });
        Batch { columns: out, rows }
    }

    fn rows(&mut self, rows: usize, _now_us: i64, out: &mut Vec<Row>) {
        let blank = || {
            let mut row = vec![Value::Null; SHAPE.columns.len()];
            row[1..4].fill_with(|| Value::Text(String::with_capacity(UUID_BYTES)));
            row[4] = Value::Int(0);
            row
        };
        out.resize_with(rows, blank);
        for row in out {
            row[0] = Value::Null;
            for value in &mut row[1..4] {
                if let Value::Text(text) = value {
                    text.clear();
                    let drawn = self.uuid();
                    text.push_str(std::str::from_utf8(&drawn).expect("digits are ASCII"));
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    #[test]
    fn hexadecimal_digits() {
        assert_eq!(&super::hex(0x0123_4567_89AB_CDEF), b"0123456789abcdef");
        assert_eq!(&super::hex(0), b"0000000000000000");
        assert_eq!(&super::hex(u64::MAX), b"ffffffffffffffff");
    }
}
