//! Is something wrong that no client is told?
//!
//! Looks at the database's numbers from time to time, and logs what its operator should know: writers
//! that were held back, writes that are refused, background work that failed, figures that could not be kept, connections that
//! were dropped for others.

use std::sync::Arc;
use std::time::Duration;

use onlap_base::clock::{Clock as _, SystemClock};

use crate::metrics;
use crate::server::Shared;

/// Between two looks.
const INTERVAL: Duration = Duration::from_secs(10);
/// Delay of writers in an interval that is worth a line: a tenth of one writer's time.
const DELAY_US: u64 = INTERVAL.as_micros() as u64 / 10;

/// Looks until the server stops.
pub(crate) fn run(shared: &Arc<Shared>) {
    let (mut delayed_us, mut error, mut dropped, mut samples) = (0, None, 0, None);
    while !stopped(shared) {
        let Ok(stats) = shared.instance.database().stats_without_keys() else { return };
        let delay = stats.delayed_us.saturating_sub(delayed_us);
        if delay > DELAY_US {
            let (ms, debt) = (delay / 1000, stats.merge_debt_bytes >> 20);
            let text = format!("writers were held back for {ms} ms, merges owe {debt} MiB");
            shared.log.warn(text);
        }
        delayed_us = stats.delayed_us;
        let all = shared.connections.counts().dropped;
        if all > dropped {
            shared.log.warn(format_args!(
                "{} connections were dropped before they had proved who they are: too many came, see max_unauthenticated_connections",
                all - dropped
            ));
        }
        dropped = all;
        let now = metrics::failure(&stats);
        if let Some(text) = now.as_ref().filter(|_| now != error) {
            shared.log.error(text);
        }
        error = now;
        let now = stats.samples_error.map(|e| e.to_string());
        if let Some(text) = now.as_ref().filter(|_| now != samples) {
            shared.log.warn(format_args!("figures for onlap_stat.history are not kept: {text}"));
        }
        samples = now;
    }
}

/// Waits for the next look; true where there is none.
fn stopped(shared: &Shared) -> bool {
    let end = SystemClock.monotonic_ns() + INTERVAL.as_nanos() as u64;
    loop {
        let seen = shared.connections.changed().epoch();
        let left = end.saturating_sub(SystemClock.monotonic_ns());
        if shared.connections.is_stopping() || left == 0 {
            return shared.connections.is_stopping();
        }
        shared.connections.changed().wait(seen, Some(Duration::from_nanos(left)));
    }
}
