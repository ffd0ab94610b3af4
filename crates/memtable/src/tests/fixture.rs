//! Tables and sizes that the tests share.

use std::sync::Arc;

use onlap_base::rng::Rng;
use onlap_base::{ColumnId, IndexId, TableId};
use onlap_format::{
    Batch, Column, ColumnSchema, DataType, IndexSchema, KeyPart, Numeric, TableSchema, Vector,
};

use crate::Tuning;

/// Columns of one type each, named by their position.
pub(crate) fn schema(types: &[DataType], indexes: &[(&[i32], &[usize], bool)]) -> Arc<TableSchema> {
    let column = |(i, &ty): (usize, &DataType)| {
        ColumnSchema::new(ColumnId(i as u32), format!("c{i}"), ty, true)
    };
    // A negative position, less one, is a descending column.
    let part = |&at: &i32| KeyPart {
        column: ColumnId(if at < 0 { -at - 1 } else { at } as u32),
        descending: at < 0,
    };
    let index = |(i, (key, include, unique)): (usize, &(&[i32], &[usize], bool))| IndexSchema {
        id: IndexId(i as u32 + 10),
        name: format!("i{i}"),
        key: key.iter().map(part).collect(),
        include: include.iter().map(|&c| ColumnId(c as u32)).collect(),
        unique: *unique,
        primary: false,
        judged: None,
        fences_only: false,
        since: 0,
        filter: None,
        multi_entry: false,
        keys: onlap_format::KeysKept::Full,
        only_since: false,
        ready: true,
    };
    Arc::new(TableSchema {
        id: TableId(1),
        name: "t".into(),
        version: 1,
        columns: types.iter().enumerate().map(column).collect(),
        indexes: indexes.iter().enumerate().map(index).collect(),
        next_column: types.len() as u32,
        ..TableSchema::default()
    })
}

/// Sizes that take every path with a few hundred rows.
pub(crate) fn tiny() -> Tuning {
    Tuning {
        piece_rows: 8,
        tail_rows: 2,
        chunk_rows: 32,
        chunk_bytes: 4096,
        fan_in: 2,
        span_rows: 256,
        flush_rows: 50,
    }
}

/// A value of the column's type out of few, so that keys tie; NULL now and then.
pub(crate) fn push_random(ty: DataType, rng: &mut Rng, column: &mut Column) {
    if rng.chance(0.1) {
        column.push_null();
        return;
    }
    let small = rng.below(12) as i64;
    match &mut column.data {
        Vector::Int(v) if matches!(ty, DataType::Float8) => {
            v.push(*rng.pick(&[-1, 0, 1, i64::MIN / 2, i64::MAX / 2, -7, small]));
        }
        Vector::Int(v) if matches!(ty, DataType::Bool) => v.push(small & 1),
        Vector::Int(v) if matches!(ty, DataType::Int2) => v.push(small - 5),
        Vector::Int(v) if matches!(ty, DataType::Int4) => v.push(small * 1000 - 3),
        Vector::Int(v) => v.push(*rng.pick(&[i64::MIN, i64::MAX, small, -small, small << 40])),
        Vector::Wide(v) => {
            let any = i128::from(rng.next_u64()) << 64;
            let small = i128::from(small);
            v.push(*rng.pick(&[i128::MIN, i128::MAX, small, small << 100, any]));
        }
        Vector::Numeric(m, s) => {
            let (mantissa, scale) = *rng.pick(&[
                (10, 1),
                (1, 0),
                (100, 2),
                (-15, 1),
                (-150, 2),
                (0, 3),
                (small as i128 * 1_000_000_007, 5),
                (99_999_999_999_999_999_999_999_999_999_999_999_999, 0),
                (99_999_999_999_999_999_999_999_999_999_999_999_998, 0),
                (-1, 38),
                (0, Numeric::NAN_SCALE),
                (1, Numeric::INFINITE_SCALE),
                (-1, Numeric::INFINITE_SCALE),
            ]);
            m.push(mantissa);
            s.push(scale);
        }
        Vector::Bytes(v) if ty == DataType::Bytea => {
            let len = rng.index(4);
            let bytes: Vec<u8> = (0..len).map(|_| *rng.pick(&[0, 1, 255])).collect();
            v.push(&bytes);
        }
        Vector::Bytes(v) => {
            let heads = ["", "a", "ab", "abc", "common prefix of many ", "b"];
            let tails = ["", "", "x", "y", "0123456789012345678901", "0123456789012345678902"];
            v.push(format!("{}{}", rng.pick(&heads), rng.pick(&tails)).as_bytes());
        }
    }
    column.pushed();
}

/// Random rows of a table; column 0 counts from `next` where given.
pub(crate) fn random_rows(
    schema: &TableSchema,
    rng: &mut Rng,
    count: usize,
    next: Option<&mut i64>,
) -> Batch {
    let mut batch = Batch::new(schema.columns.iter().map(|c| c.ty.physical()));
    let mut counter = next;
    for _ in 0..count {
        for (i, column) in batch.columns.iter_mut().enumerate() {
            match (&mut counter, i, &mut column.data) {
                (Some(next), 0, Vector::Int(v)) => {
                    **next += 1;
                    v.push(**next);
                    column.pushed();
                }
                _ => push_random(schema.columns[i].ty, rng, column),
            }
        }
    }
    batch.rows = count;
    batch
}
