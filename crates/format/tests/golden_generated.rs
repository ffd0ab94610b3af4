//! Does the manifest still read and write which columns are generated, as earlier releases did?

mod golden_files;

use onlap_base::{ColumnId, TableId};
use onlap_format::manifest::{Edit, encode_header, encode_record, load};
use onlap_format::{
    ColumnSchema, DERIVED_FIRST, DataType, DerivedSchema, GeneratedSchema, TableSchema,
};

const T: TableId = TableId(1);

fn generated(column: u32, reads: &[u32]) -> GeneratedSchema {
    let reads = reads.iter().map(|id| ColumnId(*id)).collect();
    GeneratedSchema { column: ColumnId(column), reads, program: format!("program {column}") }
}

/// Columns 2 and 300 follow from others; 4 was dropped.
fn schema() -> TableSchema {
    let column = |(id, ty)| ColumnSchema::new(ColumnId(id), format!("c{id}"), ty, true);
    let types = [DataType::Int4, DataType::Text, DataType::Int8, DataType::Bool];
    TableSchema {
        id: T,
        name: "t".into(),
        version: 3,
        columns: [1, 2, 3, 300].into_iter().zip(types).map(column).collect(),
        next_column: 301,
        generated: vec![generated(2, &[3, 1]), generated(300, &[])],
        ..TableSchema::default()
    }
}

fn file(number: u64, records: &[Vec<Edit>]) -> Vec<u8> {
    let mut bytes = encode_header(number).to_vec();
    for edits in records {
        bytes.extend(encode_record(number, bytes.len() as u64, edits));
    }
    bytes
}

#[test]
fn generating_tables() {
    let mut changed = TableSchema { version: 4, ..schema() };
    changed.generated.remove(1);
    // An index may calculate a column of one that is generated.
    let column = ColumnSchema::new(ColumnId(DERIVED_FIRST), "d", DataType::Int4, true);
    let (reads, program) = (vec![ColumnId(2)], "program d".into());
    changed.derived.push(DerivedSchema { column, reads, program, only_if: None, lists: false });
    changed.next_derived = 1;
    let records = [vec![Edit::CreateTable(schema())], vec![Edit::ChangeTable(changed.clone())]];
    let whole = file(4, &records);
    golden_files::check("manifest-generated.bin", &whole);
    let of = |bytes: &[u8]| load("manifest-00000004", 4, bytes).unwrap().state;
    assert_eq!(of(&file(4, &records[..1])).tables[&T].schema, schema());
    let state = of(&whole);
    assert_eq!(state.tables[&T].schema, changed);
    let snapshot = file(5, &[state.to_edits()]);
    assert_eq!(load("manifest-00000005", 5, &snapshot).unwrap().state, state);
}

#[test]
fn columns_that_cannot_be_generated_are_refused() {
    for wrong in [
        vec![generated(4, &[1])],
        vec![generated(2, &[4])],
        vec![generated(2, &[2])],
        vec![generated(2, &[1]), generated(2, &[3])],
        vec![generated(2, &[1]), generated(300, &[2])],
        vec![generated(2, &[300]), generated(300, &[1])],
    ] {
        let wrong = TableSchema { generated: wrong, ..schema() };
        let bytes = file(4, &[vec![Edit::CreateTable(wrong.clone())]]);
        assert!(load("manifest-00000004", 4, &bytes).is_err(), "{:?}", wrong.generated);
    }
}
