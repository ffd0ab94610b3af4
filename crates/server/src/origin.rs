//! Where does a connection come from, and which one goes when there are too many?
//!
//! Connections that have not proved who they are have a limit for all and one for each [`Origin`]. Beyond it the
//! oldest goes, of the origin that has the most: a client that talks is done within some milliseconds, one that
//! is silent grows old. Pure.

use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::net::IpAddr;

use crate::connection::Peer;

#[cfg(test)]
mod tests;

/// What counts as one address: an IPv4 address, or the 64 leading bits of an IPv6 address, which is what one
/// machine can choose from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Origin {
    /// This process.
    Inside,
    /// An IPv4 address.
    V4(u32),
    /// A network of IPv6 addresses.
    V6(u64),
}

impl Origin {
    /// Where an address belongs.
    pub fn of(address: IpAddr) -> Origin {
        match address.to_canonical() {
            IpAddr::V4(address) => Origin::V4(address.to_bits()),
            IpAddr::V6(address) => Origin::V6((address.to_bits() >> 64) as u64),
        }
    }
}

impl From<Peer> for Origin {
    fn from(peer: Peer) -> Origin {
        match peer {
            Peer::Ip(address, _) => Origin::of(address),
            Peer::Inside => Origin::Inside,
        }
    }
}

/// How many may be there.
#[derive(Clone, Copy, Debug)]
pub struct Limits {
    /// All together.
    pub all: usize,
    /// Of one origin.
    pub each: usize,
}

/// How many connections there are of each origin.
#[derive(Debug, Default)]
pub struct Crowd {
    counts: HashMap<Origin, usize>,
    all: usize,
}

impl Crowd {
    /// One more.
    pub fn enter(&mut self, origin: Origin) {
        *self.counts.entry(origin).or_default() += 1;
        self.all += 1;
    }

    /// One less.
    pub fn leave(&mut self, origin: Origin) {
        if let Entry::Occupied(mut count) = self.counts.entry(origin) {
            self.all -= 1;
            *count.get_mut() -= 1;
            if *count.get() == 0 {
                count.remove();
            }
        }
    }

    /// Of which origin the oldest has to go, now that one more has come; `None` where all may stay.
    pub fn victim(&self, newest: Origin, limits: Limits) -> Option<Origin> {
        let of = |origin: &Origin| self.counts.get(origin).copied().unwrap_or(0);
        if of(&newest) > limits.each {
            return Some(newest);
        }
        if self.all <= limits.all {
            return None;
        }
        self.counts.iter().max_by_key(|(_, count)| **count).map(|(origin, _)| *origin)
    }
}
