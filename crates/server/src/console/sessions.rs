//! Who has logged in to the console?
//!
//! A session is a token of 256 random bits, of which only the hash is kept: a look at this table gives no session,
//! and finding one takes the same time for all that are none. It ends by itself after an idle time, and after a day's
//! work in any case.
//!
//! The table is bounded (I7): where it is full, the session that was idle for longest goes. Safe to share.

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use onlap_base::clock::{Clock as _, SystemClock};
use onlap_sql::Secret;
use parking_lot::Mutex;
use ring::digest;
use ring::rand::{SecureRandom as _, SystemRandom};

#[cfg(test)]
mod tests;

/// How long a session lasts.
pub(crate) const LASTS: Duration = Duration::from_secs(12 * 3600);
/// How long it lasts without a request: the page asks every few seconds while it is looked at.
const IDLE: Duration = Duration::from_secs(1800);
/// Sessions at most, of some 300 bytes each.
const MOST: usize = 64;
const TOKEN_BYTES: usize = 32;

/// A session.
#[derive(Debug)]
pub(crate) struct Held {
    /// Whose it is.
    pub(crate) role: String,
    /// What it was proved by.
    pub(crate) proved: Secret,
    begun_ns: u64,
    used_ns: AtomicU64,
}

impl Held {
    fn is_over(&self, now_ns: u64) -> bool {
        let since = |then: u64| Duration::from_nanos(now_ns.saturating_sub(then));
        since(self.begun_ns) > LASTS || since(self.used_ns.load(Ordering::Relaxed)) > IDLE
    }
}

/// All sessions, by the hashes of their tokens.
#[derive(Debug, Default)]
pub(crate) struct Sessions(Mutex<HashMap<[u8; 32], Arc<Held>>>);

impl Sessions {
    /// Begins one; its token.
    pub(crate) fn begin(&self, role: &str, proved: Secret) -> String {
        self.begin_at(role, proved, SystemClock.monotonic_ns())
    }

    fn begin_at(&self, role: &str, proved: Secret, now_ns: u64) -> String {
        let mut token = [0; TOKEN_BYTES];
        SystemRandom::new().fill(&mut token).expect("the operating system has random numbers");
        let token = URL_SAFE_NO_PAD.encode(token);
        let used_ns = AtomicU64::new(now_ns);
        let held = Arc::new(Held { role: role.to_string(), proved, begun_ns: now_ns, used_ns });
        let mut all = self.0.lock();
        all.retain(|_, held| !held.is_over(now_ns));
        if all.len() >= MOST {
            let idle = all.iter().min_by_key(|(_, held)| held.used_ns.load(Ordering::Relaxed));
            let oldest = idle.map(|(key, _)| *key);
            oldest.iter().for_each(|key| drop(all.remove(key)));
        }
        all.insert(hash(&token), held);
        token
    }

    /// The session of a token, which is used now.
    pub(crate) fn find(&self, token: &str) -> Option<Arc<Held>> {
        self.find_at(token, SystemClock.monotonic_ns())
    }

    fn find_at(&self, token: &str, now_ns: u64) -> Option<Arc<Held>> {
        let mut all = self.0.lock();
        let key = hash(token);
        let held = Arc::clone(all.get(&key)?);
        if held.is_over(now_ns) {
            all.remove(&key);
            return None;
        }
        held.used_ns.store(now_ns, Ordering::Relaxed);
        Some(held)
    }

    /// Ends one.
    pub(crate) fn end(&self, token: &str) {
        self.0.lock().remove(&hash(token));
    }
}

fn hash(token: &str) -> [u8; 32] {
    let digest = digest::digest(&digest::SHA256, token.as_bytes());
    digest.as_ref().try_into().expect("a digest of 256 bits")
}
