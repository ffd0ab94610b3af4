//! Readers that do not move while writers go on, and ranges in both directions:
//! `cargo run -p onlap --example snapshots`.

use onlap::{DataType, Database, IndexSpec, KeyRange, Options, Result, Scan, TableSpec, Value};

fn main() -> Result<()> {
    let dir = tempfile::tempdir()?;
    let db = Database::open(dir.path(), Options::default())?;
    let players = db.create_table(
        TableSpec::new("players")
            .column("name", DataType::Text)
            .column("points", DataType::Int4)
            .primary_key(["name"])
            .index(IndexSpec::new("by_points", ["points"]).include(["name"])),
    )?;
    let names = ["ann", "ben", "cleo", "dan", "eve", "finn"];
    players.insert_many(
        names.iter().zip([10, 40, 20, 60, 30, 50]).map(|(n, p)| [text(n), Value::Int(p)]),
    )?;

    // A snapshot sees the commits up to its number and no other, for as long as it is held.
    let before = db.snapshot()?;
    players.update(&[text("ann")], &[("points", Value::Int(99))])?;
    players.delete(&[text("dan")])?;
    let after = db.snapshot()?;
    for (when, snapshot) in [("before", &before), ("after", &after)] {
        let scan = Scan::all().columns(["name", "points"]).reverse().limit(3);
        let best = snapshot.index_scan(&players, "by_points", KeyRange::all(), scan)?;
        println!("{when} (commit {}): {:?}", snapshot.csn(), best.rows()?);
    }

    // Row ids of a range, then the rows themselves, each block read once.
    let range = KeyRange::between([Value::Int(20)], [Value::Int(50)]);
    let ids = after.index_row_ids(&players, "by_points", range)?;
    let rows = after.fetch(&players, &ids, None)?;
    (0..rows.len()).for_each(|i| println!("row {}: {:?}", rows.row_ids[i], rows.row(i)));
    drop((before, after));
    db.close()
}

fn text(s: &str) -> Value {
    Value::Text(s.into())
}
