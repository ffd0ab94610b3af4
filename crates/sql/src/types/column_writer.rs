//! How are the values of one column of the engine written into the rows of an answer?
//!
//! The form is looked up once per column and batch; the common ones, whole numbers and texts, are copied from
//! where they lie. All others go through [`Cell`], which the test below compares with them.

use onlap::{BytesVec, Column, DataType, Vector};

use super::{Cell, PgType, Style, oid};
use crate::wire::RowWriter;

/// Writes the values of one column.
pub struct ColumnWriter<'a> {
    ty: PgType,
    engine: DataType,
    column: &'a Column,
    way: Way<'a>,
}

enum Way<'a> {
    /// Whole numbers in binary form of this number of bytes.
    Binary(&'a [i64], usize),
    /// Whole numbers as digits.
    Digits(&'a [i64]),
    /// Bytes as they lie.
    Bytes(&'a BytesVec),
    /// Everything else, in text form.
    Text,
    /// Everything else, in binary form.
    Other,
}

impl<'a> ColumnWriter<'a> {
    /// For values of the type `ty` that the engine keeps as `engine`.
    pub fn new(ty: PgType, engine: DataType, column: &'a Column, binary: bool) -> ColumnWriter<'a> {
        let whole = matches!(engine, DataType::Int2 | DataType::Int4 | DataType::Int8);
        let way = match (&column.data, binary) {
            (Vector::Int(values), true) if whole && ty.oid != oid::BOOL => match ty.oid {
                oid::INT2 => Way::Binary(values, 2),
                oid::INT8 => Way::Binary(values, 8),
                _ => Way::Binary(values, 4),
            },
            (Vector::Int(values), false) if whole && ty.oid != oid::BOOL => Way::Digits(values),
            // The engine takes valid UTF-8 only.
            (Vector::Bytes(values), _)
                if (engine != DataType::Bytea || binary)
                    && !matches!(ty.oid, oid::BPCHAR | oid::UUID | oid::JSONB) =>
            {
                Way::Bytes(values)
            }
            (_, true) => Way::Other,
            (_, false) => Way::Text,
        };
        ColumnWriter { ty, engine, column, way }
    }

    /// Writes the value of a row.
    #[inline]
    pub fn write(&self, row: usize, style: &Style, out: &mut RowWriter<'_>) {
        if self.column.is_null(row) {
            return out.null();
        }
        match self.way {
            Way::Binary(values, size) => out.bytes(&values[row].to_be_bytes()[8 - size..]),
            Way::Digits(values) => out.bytes(itoa::Buffer::new().format(values[row]).as_bytes()),
            Way::Bytes(values) => out.bytes(values.get(row)),
            Way::Text => out.value(|out| self.cell(row).write_text(self.ty, style, out)),
            Way::Other => out.value(|out| self.cell(row).write_binary(self.ty, out)),
        }
    }

    fn cell(&self, row: usize) -> Cell<'a> {
        Cell::of_column(self.engine, self.column, row)
    }
}

#[cfg(test)]
mod tests {
    use onlap::NullMask;

    use super::*;
    use crate::wire::Reply;

    /// The types and forms that are copied, and some that are not, NULL among them.
    #[test]
    fn values_are_written_as_their_cells_are() {
        let types = [
            oid::BOOL,
            oid::INT2,
            oid::INT4,
            oid::INT8,
            oid::TEXT,
            oid::VARCHAR,
            oid::BPCHAR,
            oid::BYTEA,
            oid::UUID,
            oid::JSON,
            oid::JSONB,
            oid::OID,
        ];
        let ints = [0, 1, -1, 32_767, i64::from(i32::MIN)];
        let texts: [&[u8]; 5] =
            [b"", b"a", "ä ö".as_bytes(), b"00000000-0000-0000-0000-00000000000a", b"{\"a\": 1}"];
        let mut bytes = BytesVec::default();
        bytes.extend(texts.into_iter());
        let mut written = 0;
        for (engine, data) in [
            (DataType::Int2, Vector::Int(ints.to_vec())),
            (DataType::Int4, Vector::Int(ints.to_vec())),
            (DataType::Int8, Vector::Int(ints.to_vec())),
            (DataType::Date, Vector::Int(ints.to_vec())),
            (DataType::Text, Vector::Bytes(bytes.clone())),
            (DataType::Bytea, Vector::Bytes(bytes)),
        ] {
            let mut nulls = NullMask::none(0);
            (0..5).for_each(|row| nulls.push(row == 3));
            for nulls in [None, Some(nulls)] {
                let column = Column { data: data.clone(), nulls };
                for (ty, binary) in types.iter().flat_map(|&oid| [(oid, true), (oid, false)]) {
                    let ty = PgType { oid: ty, modifier: if ty == oid::BPCHAR { 9 } else { -1 } };
                    same(ty, engine, &column, binary);
                    written += 1;
                }
            }
        }
        assert_eq!(written, 6 * 2 * 24);
    }

    fn same(ty: PgType, engine: DataType, column: &Column, binary: bool) {
        let style = Style::default();
        for row in 0..5 {
            let (mut by_cell, mut by_column) = (Reply::default(), Reply::default());
            let mut out = by_cell.data_row(1);
            match Cell::of_column(engine, column, row) {
                Cell::Null => out.null(),
                cell if binary => out.value(|out| cell.write_binary(ty, out)),
                cell => out.value(|out| cell.write_text(ty, &style, out)),
            }
            let mut out = by_column.data_row(1);
            ColumnWriter::new(ty, engine, column, binary).write(row, &style, &mut out);
            assert_eq!(
                by_cell.bytes(),
                by_column.bytes(),
                "{ty:?} of {engine:?}, row {row}, {binary}"
            );
        }
    }
}
