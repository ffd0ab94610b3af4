//! Are answers found through indexes right?
//!
//! Each is compared with what a scan of the whole table finds, at one snapshot. The scan works on
//! columns: it reads every row.

use onlap::{BytesVec, Column, KeyRange, Result, Scan, Snapshot, Table, Value, Vector};
use onlap_lab::units;

/// An answer by index next to the one by scan.
pub struct Answer {
    /// In words.
    pub question: &'static str,
    /// Found through an index.
    pub by_index: String,
    /// Found by reading every row.
    pub by_scan: String,
}

impl Answer {
    /// Whether both ways found the same.
    pub fn agrees(&self) -> bool {
        self.by_index == self.by_scan
    }
}

/// The longest departure delays in minutes, from the end of the index on them.
pub fn worst_delays(snapshot: &Snapshot, flights: &Table, n: usize) -> Result<Vec<i64>> {
    let scan = Scan::all().columns(["dep_delay"]).reverse().limit(n);
    let range = KeyRange::to([Value::Int(i64::from(i16::MAX))]);
    let rows = snapshot.index_scan(flights, "by_delay", range, scan)?.rows()?;
    let minutes = rows.into_iter().flatten().filter_map(|value| match value {
        Value::Int(minutes) => Some(minutes),
        _ => None,
    });
    Ok(minutes.collect())
}

/// What the scan finds.
#[derive(Default)]
struct Scanned {
    rows: u64,
    united: u64,
    to_lax: u64,
    id_sum: u128,
    worst: Option<i64>,
}

fn scan_all(snapshot: &Snapshot, flights: &Table) -> Result<Scanned> {
    let mut found = Scanned::default();
    let columns = ["carrier", "origin", "dest", "dep_delay", "id"];
    for batch in snapshot.scan(flights, Scan::all().columns(columns))? {
        let batch = batch?;
        let [carrier, origin, dest, delay, id] = &batch.columns.columns[..] else {
            unreachable!("a scan hands out the columns it was asked for");
        };
        for row in 0..batch.len() {
            found.rows += 1;
            if is(carrier, row, b"UA") {
                found.united += 1;
                found.id_sum += int(id, row).unwrap_or(0) as u128;
            }
            found.to_lax += u64::from(is(origin, row, b"JFK") && is(dest, row, b"LAX"));
            found.worst = found.worst.max(int(delay, row));
        }
    }
    Ok(found)
}

fn is(column: &Column, row: usize, text: &[u8]) -> bool {
    let equal = |v: &BytesVec| v.get(row) == text;
    matches!(&column.data, Vector::Bytes(v) if equal(v)) && !column.is_null(row)
}

fn int(column: &Column, row: usize) -> Option<i64> {
    match &column.data {
        Vector::Int(v) if !column.is_null(row) => Some(v[row]),
        _ => None,
    }
}

/// Sum of the ids of United's flights: rows found through the index, then fetched.
fn id_sum_by_index(snapshot: &Snapshot, flights: &Table) -> Result<u128> {
    let united = KeyRange::eq([Value::Text("UA".into())]);
    let rows = snapshot.index_row_ids(flights, "by_carrier", united)?;
    let mut sum = 0;
    // In pieces, so that memory does not grow with the answer.
    for piece in rows.chunks(10_000) {
        let fetched = snapshot.fetch(flights, piece, Some(&["id"]))?;
        let ids = &fetched.columns.columns[0];
        sum +=
            (0..fetched.len()).filter_map(|row| int(ids, row)).map(|id| id as u128).sum::<u128>();
    }
    Ok(sum)
}

/// Asks every question both ways.
pub fn check(snapshot: &Snapshot, flights: &Table) -> Result<Vec<Answer>> {
    let scanned = scan_all(snapshot, flights)?;
    let text = |s: &str| Value::Text(s.into());
    let united = snapshot.index_count(flights, "by_carrier", KeyRange::eq([text("UA")]))?;
    let route = KeyRange::eq([text("JFK"), text("LAX")]);
    let to_lax = snapshot.index_count(flights, "by_route", route)?;
    let minutes = |m: Option<i64>| m.map_or_else(|| "none".into(), |m| m.to_string());
    let worst = worst_delays(snapshot, flights, 1)?.first().copied();
    let answer = |question, by_index, by_scan| Answer { question, by_index, by_scan };
    Ok(vec![
        answer("rows", units::grouped(snapshot.count(flights)?), units::grouped(scanned.rows)),
        answer("flights of United", units::grouped(united), units::grouped(scanned.united)),
        answer(
            "sum of their ids, rows fetched",
            id_sum_by_index(snapshot, flights)?.to_string(),
            scanned.id_sum.to_string(),
        ),
        answer("flights from JFK to LAX", units::grouped(to_lax), units::grouped(scanned.to_lax)),
        answer("longest departure delay, minutes", minutes(worst), minutes(scanned.worst)),
    ])
}
