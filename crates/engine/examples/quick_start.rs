//! A table, a few rows, a question: `cargo run -p onlap --example quick_start`.

use onlap::{DataType, Database, IndexSpec, KeyRange, Options, Result, Scan, TableSpec, Value};

fn main() -> Result<()> {
    let dir = tempfile::tempdir()?;
    let db = Database::open(dir.path(), Options::default())?;
    let orders = db.create_table(
        TableSpec::new("orders")
            .serial("id")
            .column("customer", DataType::Text)
            .column("cents", DataType::Int8)
            .nullable_column("note", DataType::Text)
            .primary_key(["id"])
            .index(IndexSpec::new("by_customer", ["customer", "cents"]).descending("cents")),
    )?;

    // One commit each; NULL in a serial column takes the next number.
    for (customer, cents) in [("ada", 1250), ("bo", 300), ("ada", 9900), ("cy", 4100)] {
        orders.insert(&[
            Value::Null,
            Value::Text(customer.into()),
            Value::Int(cents),
            Value::Null,
        ])?;
    }

    // Several changes, one commit.
    let mut tx = db.begin()?;
    tx.update(&orders, &[Value::Int(2)], &[("note", Value::Text("call back".into()))])?;
    tx.delete(&orders, &[Value::Int(4)])?;
    tx.commit()?;

    // What has ada ordered, dearest first? The index holds both columns, so no row is read.
    let ada = KeyRange::eq([Value::Text("ada".into())]);
    let scan = Scan::all().columns(["customer", "cents"]);
    for row in db.snapshot()?.index_scan(&orders, "by_customer", ada, scan)?.rows()? {
        println!("{row:?}");
    }
    println!("order 2: {:?}", db.snapshot()?.get(&orders, &[Value::Int(2)], None)?);
    db.close()
}
