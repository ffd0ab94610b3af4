//! Which rows does the insert benchmark insert?

use onlap::{Batch, BytesVec, Column, DataType, Row, Value, Vector};
use onlap_base::rng::Rng;

use super::{Generator, IndexShape, TableShape};

/// Cash registers are drawn from 0 to one below this.
pub const CASH_REGISTERS: u32 = 1_000;
/// Products are drawn from 0 to one below this.
pub const PRODUCTS: u32 = 10_000;
/// Customers are drawn from 0 to one below this.
pub const CUSTOMERS: u32 = 100_000;
/// Prices are drawn from 0 to one below this.
pub const PRICES: u32 = 500;

/// Shortest and longest `data`.
const DATA_BYTES: std::ops::RangeInclusive<usize> = 10..=20;

const BASE64: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

pub(super) static SHAPE: TableShape = TableShape {
    name: "purchases",
    columns: &[
        ("transactionid", DataType::Int8),
        ("dateandtime", DataType::Timestamp),
        ("cashregisterid", DataType::Int4),
        ("customerid", DataType::Int4),
        ("productid", DataType::Int4),
        ("price", DataType::Int4),
        ("data", DataType::Varchar(4000)),
    ],
    gives_keys: false,
    indexes: &[
        IndexShape { name: "marketsegment", columns: &[4, 3, 5] },
        IndexShape { name: "registersegment", columns: &[2, 3, 5] },
        IndexShape { name: "pdc", columns: &[5, 1, 3] },
    ],
};

/// The insert benchmark's rows (workload `ibench`).
pub struct Ibench {
    rng: Rng,
}

/// What is drawn for one row.
struct Draw {
    cash_register: i64,
    customer: i64,
    product: i64,
    price: i64,
    data: [u8; *DATA_BYTES.end()],
    data_bytes: usize,
}

impl Ibench {
    /// The generator of one client.
    pub fn new(seed: u64, client: usize) -> Ibench {
        Ibench { rng: super::client_rng(seed, client) }
    }

    /// Two draws of 64 bits make the numbers and lengths, one the text. A range is taken from the
    /// top of a draw; what is left of the draw below serves the next one, with a bias below 2^-24.
    #[inline]
    fn draw(&mut self) -> Draw {
        let mut bits = self.rng.next_u64();
        let mut below = |n: u32| {
            let product = u128::from(bits) * u128::from(n);
            bits = product as u64;
            (product >> 64) as i64
        };
        let (customer, product, price) = (below(CUSTOMERS), below(PRODUCTS), below(PRICES));
        let mut bits = self.rng.next_u64();
        let mut below = |n: u32| {
            let product = u128::from(bits) * u128::from(n);
            bits = product as u64;
            (product >> 64) as usize
        };
        let cash_register = below(CASH_REGISTERS) as i64;
        let letter = b'a' + below(26) as u8;
        let spread = (DATA_BYTES.end() - DATA_BYTES.start() + 1) as u32;
        let data_bytes = DATA_BYTES.start() + below(spread);
        let mut data = [letter; *DATA_BYTES.end()];
        let mut random = self.rng.next_u64();
        // Three eighths, rounded to the nearest.
        let random_bytes = (data_bytes * 3 + 4) / 8;
        for byte in &mut data[..random_bytes] {
            *byte = BASE64[(random & 63) as usize];
            random >>= 6;
        }
        Draw { cash_register, customer, product, price, data, data_bytes }
    }
}

impl Generator for Ibench {
    fn batch(&mut self, rows: usize, now_us: i64) -> Batch {
        let ints = || Vec::with_capacity(rows);
        let (mut cash, mut customer, mut product, mut price) = (ints(), ints(), ints(), ints());
        let mut data = BytesVec::default();
        data.offsets.reserve(rows);
        data.data.reserve(rows * DATA_BYTES.end());
        for _ in 0..rows {
            let draw = self.draw();
            cash.push(draw.cash_register);
            customer.push(draw.customer);
            product.push(draw.product);
            price.push(draw.price);
            data.push(&draw.data[..draw.data_bytes]);
        }
        let int = |v: Vec<i64>| Column { data: Vector::Int(v), nulls: None };
        let columns = vec![
            super::null_key(rows),
            int(vec![second(now_us); rows]),
            int(cash),
            int(customer),
            int(product),
            int(price),
            Column { data: Vector::Bytes(data), nulls: None },
        ];
        Batch { columns, rows }
    }

    fn rows(&mut self, rows: usize, now_us: i64, out: &mut Vec<Row>) {
        let blank = || {
            let mut row = vec![Value::Null; SHAPE.columns.len()];
            row[6] = Value::Text(String::with_capacity(*DATA_BYTES.end()));
            row
        };
        out.resize_with(rows, blank);
        for row in out {
            let draw = self.draw();
            row[0] = Value::Null;
            row[1] = Value::Timestamp(second(now_us));
            row[2] = Value::Int(draw.cash_register);
            row[3] = Value::Int(draw.customer);
            row[4] = Value::Int(draw.product);
            row[5] = Value::Int(draw.price);
            if let Value::Text(text) = &mut row[6] {
                text.clear();
                let drawn = &draw.data[..draw.data_bytes];
                text.push_str(std::str::from_utf8(drawn).expect("base64 and letters are ASCII"));
            }
        }
    }
}

/// Times have a resolution of one second.
fn second(now_us: i64) -> i64 {
    now_us - now_us.rem_euclid(1_000_000)
}
