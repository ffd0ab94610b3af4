//! What are the columns between steps called?
//!
//! By their positions alone: steps find columns by number, and the library between them wants names. Each statement needs the
//! same few again, so those of common positions and types are made once for the process.
//!
//! Thread safety: what is made once is read only.

use std::sync::{Arc, LazyLock};

use arrow_schema::{DataType, Field, FieldRef, Schema, SchemaRef};
use datafusion_physical_expr::PhysicalExpr;
use datafusion_physical_expr::expressions::Column;

/// Positions whose columns are made once: few statements have wider rows, and 32 for each of [`COMMON`] take 60 KiB.
const FIRST: usize = 32;

/// Types whose columns are made once.
const COMMON: [DataType; 9] = [
    DataType::Boolean,
    DataType::Int16,
    DataType::Int32,
    DataType::Int64,
    DataType::UInt32,
    DataType::Float32,
    DataType::Float64,
    DataType::Utf8,
    DataType::Binary,
];

static FIELDS: LazyLock<Vec<Vec<FieldRef>>> = LazyLock::new(|| {
    let of_type = |ty: &DataType| (0..FIRST).map(|at| made(at, ty)).collect();
    COMMON.iter().map(of_type).collect()
});

static COLUMNS: LazyLock<Vec<Arc<dyn PhysicalExpr>>> =
    LazyLock::new(|| (0..FIRST).map(reference).collect());

fn made(at: usize, ty: &DataType) -> FieldRef {
    Arc::new(Field::new(format!("c{at}"), ty.clone(), true))
}

fn reference(at: usize) -> Arc<dyn PhysicalExpr> {
    Arc::new(Column::new(&format!("c{at}"), at))
}

/// The column at a position, of a type.
pub fn field(at: usize, ty: &DataType) -> FieldRef {
    let common = COMMON.iter().position(|known| known == ty).filter(|_| at < FIRST);
    match common {
        Some(known) => Arc::clone(&FIELDS[known][at]),
        None => made(at, ty),
    }
}

/// Columns without names of these types.
pub fn schema_of(types: &[DataType]) -> SchemaRef {
    let field = |(at, ty): (usize, &DataType)| field(at, ty);
    Arc::new(Schema::new(types.iter().enumerate().map(field).collect::<Vec<FieldRef>>()))
}

/// A column by its position.
pub fn column(at: usize) -> Arc<dyn PhysicalExpr> {
    match COLUMNS.get(at) {
        Some(known) => Arc::clone(known),
        None => reference(at),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_are_called_by_their_positions_however_many_there_are() {
        let list = DataType::FixedSizeBinary(16);
        for ty in COMMON.iter().chain([&list]) {
            for at in [0, 1, FIRST - 1, FIRST, 1000] {
                let field = field(at, ty);
                assert_eq!((field.name(), field.data_type()), (&format!("c{at}"), ty));
                assert!(field.is_nullable());
            }
        }
        for at in [0, FIRST - 1, FIRST, 1000] {
            assert!(column(at).eq(&reference(at)));
            assert!(!column(at).eq(&reference(at + 1)));
        }
    }
}
