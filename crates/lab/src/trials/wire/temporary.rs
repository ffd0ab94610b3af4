//! What does a temporary table cost that a session makes, fills and drops?
//!
//! CREATE TEMPORARY TABLE, an INSERT of 100 rows and DROP TABLE, each a statement of its own. Onlap's server and PostgreSQL's run
//! at once; each round runs on one, then on the other, and medians are compared.

use std::time::Instant;

use onlap::SyncMode;
use onlap_base::Result;

use super::{BOTH, Memory, start};
use crate::figures::{Better, Figure};
use crate::report::median;
use crate::trials::{Stage, figure};
use crate::wire::of_client;

/// Rounds of each server.
const ROUNDS: usize = 300;
/// Rounds before the first that counts.
const WARM: usize = 20;
const ROOMY: u64 = 1 << 30;

/// Milliseconds of a temporary table's life.
pub(in super::super) fn temporary(stage: &Stage<'_>) -> Result<Vec<Figure>> {
    let mut servers = Vec::new();
    for kind in BOTH {
        let server = start(stage, kind, "temporary", Memory::roomy(ROOMY), SyncMode::Os)?;
        let client = server.connect()?;
        servers.push((server, client));
    }
    let mut took = [Vec::new(), Vec::new()];
    for round in 0..WARM + ROUNDS {
        stage.check()?;
        for (at, (_, client)) in servers.iter_mut().enumerate() {
            let began = Instant::now();
            for sql in [
                "CREATE TEMPORARY TABLE short (id int, name text, price numeric)",
                "INSERT INTO short SELECT i, 'name ' || i, i * 1.5 FROM generate_series(1, 100) i",
                "DROP TABLE short",
            ] {
                client.batch_execute(sql).map_err(|e| of_client(&e))?;
            }
            if round >= WARM {
                took[at].push(began.elapsed().as_secs_f64() * 1000.0);
            }
        }
    }
    for (server, client) in servers {
        drop(client);
        server.stop()?;
    }
    let [ours, theirs] = took.map(|mut of| median(&mut of));
    let note = format!("PostgreSQL: {theirs:.2} ms");
    let work = "a new temporary table, 100 rows, drop";
    Ok(vec![figure(work, ours, (2.0, 0.5), Better::Lower, "ms").noting(note)])
}
