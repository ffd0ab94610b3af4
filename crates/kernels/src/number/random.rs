//! Which numbers come by chance?

use onlap_pg::value::float;
use onlap_pg::{Error, Result};

use crate::{Cx, Datum, Entry, Float8, Text, none, one};

/// random and setseed.
pub const ENTRIES: &[Entry] = &[
    ("random()", |_| none::<Float8>(|cx| Ok(unit(cx.session.drawn())))),
    ("setseed(float8)", |_| one::<Float8, Text>(setseed)),
];

/// A float from 0 to below 1, of 52 bits as in PostgreSQL.
fn unit(bits: u64) -> f64 {
    (bits >> 12) as f64 / (1_u64 << 52) as f64
}

/// The OID of setseed, which the session carries out.
const SETSEED: u32 = 1599;

fn setseed(seed: f64, cx: &mut Cx<'_>) -> Result<String> {
    if !(-1.0..=1.0).contains(&seed) {
        let shown = float::print8(seed, -9);
        let message = format!("setseed parameter {shown} is out of allowed range [-1,1]");
        return Err(Error::new("22023", message));
    }
    cx.session.call(SETSEED, &[Datum::Float8(seed)])?;
    Ok(String::new())
}
