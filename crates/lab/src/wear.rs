//! How worn is a drive, and how long will it last at a rate of writes?
//!
//! Reads what `nvme smart-log` and `smartctl --all` print, as text or JSON. NVMe counts data in units of 1000
//! blocks of 512 bytes, SATA drives count blocks of 512 bytes. A drive's `percentage used` says which part of
//! the endurance it is rated for is gone, so that both together tell what is left.

use onlap_base::{Error, ErrorKind, Result};
use serde::Serialize;
use serde_json::Value;

use crate::report::{Comparison, text_table};

#[cfg(test)]
mod tests;

/// Bytes of a unit of NVMe's counter and of SATA's.
const NVME_UNIT: u64 = 512_000;
const SATA_UNIT: u64 = 512;

const TB: f64 = 1e12;
const TIB: f64 = (1u64 << 40) as f64;
const SECONDS_PER_YEAR: f64 = 365.25 * 86_400.0;

/// What a drive says of itself.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Wear {
    /// The counter as it stands.
    pub units_written: u64,
    /// Bytes of each unit.
    pub unit_bytes: u64,
    /// Bytes written.
    pub bytes_written: u64,
    /// The same in powers of ten.
    pub tb_written: f64,
    /// The same in powers of two.
    pub tib_written: f64,
    /// Bytes of the drive.
    pub capacity_bytes: Option<u64>,
    /// How often the whole drive was written.
    pub full_device_writes: Option<f64>,
    /// Share of the rated endurance that is gone; may be above 100.
    pub percentage_used: Option<f64>,
    /// Raw value of SATA's attribute: erases of a block on average.
    pub wear_leveling_count: Option<u64>,
    /// Bytes that the drive is rated for, as both say together.
    pub rated_bytes: Option<f64>,
}

/// How long a drive lasts at a rate.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Life {
    /// Whose rate.
    pub of: String,
    /// Bytes per second.
    pub bytes_per_second: f64,
    /// Years until the rated endurance is gone; 0 where it is.
    pub years_left: Option<f64>,
    /// Full-device writes per day.
    pub device_writes_per_day: Option<f64>,
}

/// Reads what one of the programs printed. `capacity` is for drives that do not tell theirs.
pub fn read(text: &str, capacity: Option<u64>) -> Result<Wear> {
    let found = match serde_json::from_str::<Value>(text) {
        Ok(json) => of_json(&json),
        Err(_) => of_text(text),
    };
    let none = || {
        let text = "neither Data Units Written nor Total_LBAs_Written is in it; it takes what \
                    nvme smart-log and smartctl --all print, as text or JSON";
        Error::new(ErrorKind::InvalidInput, text)
    };
    let mut wear = found.ok_or_else(none)?;
    wear.capacity_bytes = capacity.or(wear.capacity_bytes).filter(|n| *n > 0);
    let overflow = || Error::new(ErrorKind::InvalidInput, "the drive's counter is out of range");
    wear.bytes_written = wear.units_written.checked_mul(wear.unit_bytes).ok_or_else(overflow)?;
    let bytes = wear.bytes_written as f64;
    (wear.tb_written, wear.tib_written) = (bytes / TB, bytes / TIB);
    wear.full_device_writes = wear.capacity_bytes.map(|n| bytes / n as f64);
    wear.rated_bytes = wear.percentage_used.filter(|p| *p > 0.0).map(|p| bytes / p * 100.0);
    Ok(wear)
}

fn nvme(units: u64, used: Option<f64>) -> Wear {
    let (unit_bytes, percentage_used) = (NVME_UNIT, used);
    Wear { units_written: units, unit_bytes, percentage_used, ..Wear::default() }
}

fn sata(units: u64, wear_leveling_count: Option<u64>) -> Wear {
    let unit_bytes = SATA_UNIT;
    Wear { units_written: units, unit_bytes, wear_leveling_count, ..Wear::default() }
}

fn of_json(json: &Value) -> Option<Wear> {
    let capacity = [json.pointer("/user_capacity/bytes"), json.get("nvme_total_capacity")];
    let capacity = capacity.into_iter().flatten().find_map(Value::as_u64);
    let log = json.get("nvme_smart_health_information_log").unwrap_or(json);
    let number = |names: &[&str]| names.iter().find_map(|name| numeric(log.get(name)?));
    let mut wear = match number(&["data_units_written", "Data Units Written"]) {
        Some(units) => nvme(units, number(&["percentage_used", "percent_used"]).map(|n| n as f64)),
        None => {
            let table = json.pointer("/ata_smart_attributes/table")?.as_array()?;
            let raw = |name: &str| {
                let of = |row: &&Value| row.get("name").and_then(Value::as_str) == Some(name);
                table.iter().find(of)?.pointer("/raw/value")?.as_u64()
            };
            sata(raw("Total_LBAs_Written")?, raw("Wear_Leveling_Count"))
        }
    };
    wear.capacity_bytes = capacity;
    Some(wear)
}

/// A number, or one in a text, as newer programs print large ones.
fn numeric(value: &Value) -> Option<u64> {
    value.as_u64().or_else(|| value.as_str().and_then(first_number))
}

fn of_text(text: &str) -> Option<Wear> {
    let after = |name: &str| {
        text.lines().find_map(|line| {
            let (key, value) = line.split_once(':')?;
            let key = key.trim().replace('_', " ");
            key.eq_ignore_ascii_case(name).then_some(value)
        })
    };
    // An attribute's raw value is the tenth column.
    let raw = |name: &str| {
        let line = text.lines().find(|line| line.split_whitespace().nth(1) == Some(name))?;
        first_number(line.split_whitespace().nth(9)?)
    };
    let capacity = ["User Capacity", "Total NVM Capacity", "Namespace 1 Size/Capacity"]
        .into_iter()
        .find_map(after);
    let mut wear = match after("Data Units Written") {
        Some(units) => nvme(
            first_number(units)?,
            after("percentage used").and_then(first_number).map(|n| n as f64),
        ),
        None => sata(raw("Total_LBAs_Written")?, raw("Wear_Leveling_Count")),
    };
    wear.capacity_bytes = capacity.and_then(first_number);
    Some(wear)
}

/// The first number of a text, thousands separated or not.
fn first_number(text: &str) -> Option<u64> {
    let from = text.find(|c: char| c.is_ascii_digit())?;
    let is_number = |c: char| c.is_ascii_digit() || c == ',' || c == '\'' || c == '\u{a0}';
    let rest = &text[from..];
    let end = rest.find(|c| !is_number(c)).unwrap_or(rest.len());
    let digits: String = rest[..end].chars().filter(char::is_ascii_digit).collect();
    digits.parse().ok()
}

impl Wear {
    /// How long it lasts at a rate.
    pub fn life(&self, of: &str, bytes_per_second: f64) -> Life {
        let left = self.rated_bytes.map(|rated| (rated - self.bytes_written as f64).max(0.0));
        let rate = Some(bytes_per_second).filter(|rate| *rate > 0.0);
        Life {
            of: of.to_owned(),
            bytes_per_second,
            years_left: left.zip(rate).map(|(left, rate)| left / rate / SECONDS_PER_YEAR),
            device_writes_per_day: self
                .capacity_bytes
                .map(|n| bytes_per_second * 86_400.0 / n as f64),
        }
    }

    /// For people, with the formulas.
    pub fn text(&self, name: &str, lives: &[Life]) -> String {
        use std::fmt::Write as _;
        let mut out = format!(
            "{name}: {:.1} TB = {:.1} TiB written = {} units x {} bytes\n",
            self.tb_written,
            self.tib_written,
            crate::units::grouped(self.units_written),
            crate::units::grouped(self.unit_bytes),
        );
        if let Some((writes, capacity)) = self.full_device_writes.zip(self.capacity_bytes) {
            let _ = writeln!(
                out,
                "  {} full-device writes = bytes written / {} bytes",
                crate::units::grouped(writes.round() as u64),
                crate::units::grouped(capacity)
            );
        }
        if let Some(used) = self.percentage_used {
            let _ = writeln!(out, "  percentage used {used:.0} of what the drive is rated for");
        }
        if let Some(count) = self.wear_leveling_count {
            let _ = writeln!(out, "  Wear_Leveling_Count {}", crate::units::grouped(count));
        }
        if let Some(rated) = self.rated_bytes {
            let _ = writeln!(
                out,
                "  rated for {:.1} TB = bytes written / percentage used x 100",
                rated / TB
            );
        }
        if !lives.is_empty() {
            let header = ["  at the rate of", "MB/s", "years left", "device writes/day"];
            let mut rows = vec![header.map(str::to_owned).to_vec()];
            let digits = |v: Option<f64>| v.map_or_else(|| "-".to_owned(), |v| format!("{v:.2}"));
            rows.extend(lives.iter().map(|life| {
                vec![
                    format!("  {}", life.of),
                    format!("{:.2}", life.bytes_per_second / 1e6),
                    digits(life.years_left),
                    digits(life.device_writes_per_day),
                ]
            }));
            out.push_str(&text_table(&rows));
            out.push_str("  years left = (rated bytes - bytes written) / rate\n");
        }
        out
    }
}

/// The rates at which the engines of a report wrote to their device, by step.
pub fn rates(report: &Comparison) -> Result<Vec<(String, f64)>> {
    let mut found = Vec::new();
    for entry in report.entries()? {
        for step in &entry.steps {
            let bytes = match (step.device, step.device_written_bytes_per_insert) {
                (Some(device), _) => device.write_bytes as f64,
                (None, Some(per_row)) => per_row * step.rows as f64,
                (None, None) => continue,
            };
            if step.seconds > 0.0 && bytes > 0.0 {
                let of = format!("{} {} {}", entry.engine, step.step, entry.case);
                found.push((of.trim().to_owned(), bytes / step.seconds));
            }
        }
    }
    match found.is_empty() {
        true => Err(Error::new(ErrorKind::InvalidInput, "the report has no writes of a device")),
        false => Ok(found),
    }
}
