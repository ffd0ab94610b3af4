//! How long does a login wait after wrong passwords?
//!
//! Each failure of a role from an address ([`Origin`]) doubles the wait of the next verdict there, from 50 ms up to
//! a limit. The wait is for verdicts, right ones too, and those of logins at the same time come one after the
//! other: to guess on several connections gains little. No wait is longer than the limit, and other addresses do
//! not wait, so guessing keeps no other client out. A right password, or a quiet time, ends it.
//!
//! The table is bounded (I7): where it is full, the entry that was quiet for longest goes. Safe to share.

use std::collections::HashMap;
use std::time::Duration;

use parking_lot::Mutex;

use crate::origin::Origin;

#[cfg(test)]
mod tests;

/// The wait after the first failure.
const FIRST: Duration = Duration::from_millis(50);
/// Failures are forgotten after so long.
const QUIET: Duration = Duration::from_secs(600);
/// Entries at most, of some 150 bytes each.
const ENTRIES: usize = 4096;
/// Bytes of a role's name that count: as long as names may be.
const NAME_BYTES: usize = onlap_base::limits::NAME_BYTES;

/// Roles whose logins failed.
#[derive(Debug)]
pub struct Logins {
    longest: Duration,
    failures: Mutex<HashMap<(String, Origin), Failures>>,
}

#[derive(Debug)]
struct Failures {
    count: u32,
    /// When the next verdict may come, and when the last one did, on the monotonic clock.
    free_ns: u64,
    last_ns: u64,
}

impl Logins {
    /// None yet; no wait is longer than `longest`.
    pub fn new(longest: Duration) -> Logins {
        Logins { longest, failures: Mutex::default() }
    }

    /// How long a verdict has to wait that is asked for now.
    pub fn wait(&self, role: &str, from: Origin, now_ns: u64) -> Duration {
        let mut all = self.failures.lock();
        let Some(failures) = all.get_mut(&key(role, from)) else { return Duration::ZERO };
        let turn = failures.free_ns.max(now_ns);
        failures.free_ns = turn + nanos(self.after(failures.count));
        Duration::from_nanos(turn - now_ns).min(self.longest)
    }

    /// A password was wrong.
    pub fn failed(&self, role: &str, from: Origin, now_ns: u64) {
        let mut all = self.failures.lock();
        let key = key(role, from);
        if all.len() >= ENTRIES && !all.contains_key(&key) {
            forget(&mut all, now_ns);
        }
        let failures =
            all.entry(key).or_insert(Failures { count: 0, free_ns: now_ns, last_ns: now_ns });
        if is_quiet(failures, now_ns) {
            failures.count = 0;
        }
        failures.count += 1;
        failures.last_ns = now_ns;
        failures.free_ns = failures.free_ns.max(now_ns + nanos(self.after(failures.count)));
    }

    /// A password was right.
    pub fn succeeded(&self, role: &str, from: Origin) {
        self.failures.lock().remove(&key(role, from));
    }

    /// The wait after a number of failures.
    fn after(&self, count: u32) -> Duration {
        FIRST.saturating_mul(1 << (count.clamp(1, 16) - 1)).min(self.longest)
    }
}

fn key(role: &str, from: Origin) -> (String, Origin) {
    (role[..role.floor_char_boundary(NAME_BYTES)].to_string(), from)
}

fn nanos(time: Duration) -> u64 {
    time.as_nanos() as u64
}

fn is_quiet(failures: &Failures, now_ns: u64) -> bool {
    now_ns.saturating_sub(failures.last_ns) > nanos(QUIET)
}

/// Makes room for another entry.
fn forget(all: &mut HashMap<(String, Origin), Failures>, now_ns: u64) {
    all.retain(|_, failures| !is_quiet(failures, now_ns));
    if all.len() < ENTRIES {
        return;
    }
    let oldest = all.iter().min_by_key(|(_, failures)| failures.last_ns);
    if let Some(key) = oldest.map(|(key, _)| key.clone()) {
        all.remove(&key);
    }
}
