//! Which bytes does RocksDB hold for a row and for an index entry?
//!
//! A row's value is its columns after the key, back to back: integers and times big-endian with the
//! sign bit flipped in the type's width, `char(n)` of UUID length as it is, other text behind a
//! length of two bytes. Fixed-width columns thus sort as their values do and are copied into index
//! keys unchanged.

use onlap::{Batch, DataType, Row, Value, Vector};

use crate::generate::TableShape;

/// Bytes of a key column of a row: a bigserial.
const KEY_BYTES: usize = 8;

/// How a column lies in a row's value.
#[derive(Clone, Copy)]
enum Width {
    Int(usize),
    Fixed(usize),
    Variable,
}

/// Encodes one row after the other, keeping the encoded columns for index keys.
pub(super) struct RowCodec {
    widths: Vec<Width>,
    key: [u8; 1 + KEY_BYTES],
    value: Vec<u8>,
    /// Where each column but the first lies in `value`.
    ends: Vec<(usize, usize)>,
    entry: Vec<u8>,
}

/// The first byte of the entries of secondary index `number`.
pub(super) fn index_id(number: usize) -> u8 {
    u8::try_from(number + 1).expect("workloads have few indexes")
}

/// Appends an integer so that bytes sort as numbers do.
pub(super) fn put_int(out: &mut Vec<u8>, value: i64, bytes: usize) {
    let sortable = (value as u64) ^ (1 << (bytes * 8 - 1));
    out.extend_from_slice(&sortable.to_be_bytes()[8 - bytes..]);
}

impl RowCodec {
    pub fn new(shape: &TableShape) -> RowCodec {
        let width = |ty: &DataType| match ty {
            DataType::Int2 => Width::Int(2),
            DataType::Int4 | DataType::Date => Width::Int(4),
            DataType::Char(n) => Width::Fixed(*n as usize),
            DataType::Text | DataType::Varchar(_) => Width::Variable,
            _ => Width::Int(8),
        };
        RowCodec {
            widths: shape.columns[1..].iter().map(|(_, ty)| width(ty)).collect(),
            key: [0; 1 + KEY_BYTES],
            value: Vec::new(),
            ends: Vec::new(),
            entry: Vec::new(),
        }
    }

    /// Bytes of an integer column.
    pub fn int_bytes(&self, column: usize) -> usize {
        match self.widths[column - 1] {
            Width::Int(bytes) => bytes,
            _ => KEY_BYTES,
        }
    }

    /// Takes row `i` of a batch, with the given key.
    pub fn encode_batch_row(&mut self, key: i64, batch: &Batch, i: usize) {
        self.begin(key);
        for (column, width) in batch.columns[1..].iter().zip(self.widths.clone()) {
            match &column.data {
                Vector::Int(v) => self.int(width, v[i]),
                Vector::Bytes(v) => self.bytes(width, v.get(i)),
                _ => unreachable!("workloads have integer and text columns only"),
            }
        }
    }

    /// Takes a row, with the given key.
    pub fn encode_row(&mut self, key: i64, row: &Row) {
        self.begin(key);
        for (value, width) in row[1..].iter().zip(self.widths.clone()) {
            match value {
                Value::Int(v) | Value::Timestamp(v) => self.int(width, *v),
                Value::Text(v) => self.bytes(width, v.as_bytes()),
                _ => unreachable!("workloads have integer, time and text columns only"),
            }
        }
    }

    /// Takes a stored row: its key without the first byte, and its value.
    pub fn load(&mut self, key: &[u8], value: &[u8]) {
        self.key[1..].copy_from_slice(key);
        self.value.clear();
        self.value.extend_from_slice(value);
        self.ends.clear();
        let mut at = 0;
        for width in &self.widths {
            let len = match *width {
                Width::Int(n) | Width::Fixed(n) => n,
                Width::Variable => 2 + usize::from(u16::from_be_bytes([value[at], value[at + 1]])),
            };
            self.ends.push((at, at + len));
            at += len;
        }
    }

    /// Adds one to an integer column of the row.
    pub fn increment(&mut self, column: usize) {
        let (from, to) = self.ends[column - 1];
        // Adding to the sortable form is adding to the number.
        for byte in self.value[from..to].iter_mut().rev() {
            *byte = byte.wrapping_add(1);
            if *byte != 0 {
                return;
            }
        }
    }

    /// Key of the row.
    pub fn key(&self) -> &[u8] {
        &self.key
    }

    /// Value of the row.
    pub fn value(&self) -> &[u8] {
        &self.value
    }

    /// Key of the row's entry in an index over the given columns.
    pub fn entry(&mut self, id: u8, columns: &[usize]) -> &[u8] {
        self.entry.clear();
        self.entry.push(id);
        for column in columns {
            let (from, to) = self.ends[column - 1];
            self.entry.extend_from_slice(&self.value[from..to]);
        }
        self.entry.extend_from_slice(&self.key[1..]);
        &self.entry
    }

    fn begin(&mut self, key: i64) {
        self.key[1..].copy_from_slice(&((key as u64) ^ (1 << 63)).to_be_bytes());
        self.value.clear();
        self.ends.clear();
    }

    fn int(&mut self, width: Width, value: i64) {
        let Width::Int(bytes) = width else { unreachable!("the column's type is an integer's") };
        let from = self.value.len();
        put_int(&mut self.value, value, bytes);
        self.ends.push((from, self.value.len()));
    }

    fn bytes(&mut self, width: Width, value: &[u8]) {
        let from = self.value.len();
        match width {
            Width::Fixed(n) => {
                self.value.extend_from_slice(value);
                self.value.resize(from + n, b' ');
            }
            _ => {
                let len = u16::try_from(value.len()).expect("workloads' texts are short");
                self.value.extend_from_slice(&len.to_be_bytes());
                self.value.extend_from_slice(value);
            }
        }
        self.ends.push((from, self.value.len()));
    }
}
