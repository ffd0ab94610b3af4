//! The program of `docs/tutorials/embedded.md`: `cargo run -p onlap --example tutorial`.

use std::path::Path;

use onlap::{DataType, Database, IndexSpec, KeyRange, Options, Result, Scan, TableSpec, Value};

fn main() -> Result<()> {
    run(tempfile::tempdir()?.path())
}

/// All of it, in a new directory.
pub fn run(dir: &Path) -> Result<()> {
    let db = Database::open(dir, Options::default())?;
    let orders = db.create_table(
        TableSpec::new("orders")
            .serial("id")
            .column("customer", DataType::Text)
            .column("cents", DataType::Int8)
            .primary_key(["id"])
            .index(IndexSpec::new("by_customer", ["customer", "cents"])),
    )?;

    for (customer, cents) in [("ada", 1250), ("grace", 300), ("ada", 9900)] {
        orders.insert(&[Value::Null, Value::Text(customer.into()), Value::Int(cents)])?;
    }

    let mut tx = db.begin()?;
    tx.update(&orders, &[Value::Int(2)], &[("cents", Value::Int(350))])?;
    tx.delete(&orders, &[Value::Int(1)])?;
    tx.commit()?;

    let snapshot = db.snapshot()?;
    let ada = KeyRange::eq([Value::Text("ada".into())]);
    let scan = Scan::all().columns(["customer", "cents"]);
    let rows = snapshot.index_scan(&orders, "by_customer", ada, scan)?.rows()?;
    assert_eq!(rows, [[Value::Text("ada".into()), Value::Int(9900)]]);
    assert_eq!(snapshot.count(&orders)?, 2);

    db.close()
}
