//! Is a key free when a commit that was refused for another table's sake is tried again?

use std::sync::Arc;

use onlap_base::ErrorKind;
use onlap_format::{Batch, Column, DataType, Value, Vector};
use onlap_vfs::MemFs;
use roaring::RoaringTreemap;

use super::{claims, look_up};
use crate::commit::TableWrite;
use crate::database::Database;
use crate::options::{Options, SyncMode};
use crate::spec::TableSpec;

/// What was found at the first try is forgotten at the second, at which other keys have rows: one with a smaller
/// key than what was found before is still seen to be taken.
#[test]
fn a_second_look_forgets_what_the_first_found() {
    let mut options = Options::default().sync(SyncMode::Os).memory_limit(64 << 20);
    options.fs = Arc::new(MemFs::new());
    let db = Database::open("/db", options).unwrap();
    let spec = TableSpec::new("t").column("id", DataType::Int8).primary_key(["id"]);
    let table = db.create_table(spec).unwrap();
    table.insert_many([[Value::Int(7)], [Value::Int(100)]]).unwrap();
    db.flush().unwrap();
    let schema = table.schema();
    // In no order, so that each key is looked up.
    let rows =
        Batch { columns: vec![Column { data: Vector::Int(vec![3, 7, 5]), nulls: None }], rows: 3 };
    let mut write = TableWrite {
        state: Arc::clone(&table.state),
        unique: claims(&schema, &rows, None).unwrap(),
        schema,
        rows,
        marks: Vec::new(),
        changes: Vec::new(),
        kept: Vec::new(),
        blind: RoaringTreemap::new(),
        gone: Vec::new(),
    };
    look_up(&mut write).unwrap();
    assert!(table.delete(&[Value::Int(7)]).unwrap());
    table.insert_many([[Value::Int(3)]]).unwrap();
    db.flush().unwrap();
    let admitted = db.shared().commits().commit(db.shared(), vec![write], None);
    assert_eq!(admitted.expect_err("there is a row 3").kind(), ErrorKind::DuplicateKey);
    assert_eq!(db.snapshot().unwrap().count(&table).unwrap(), 2);
}
