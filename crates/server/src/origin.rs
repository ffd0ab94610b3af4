//! Where does a connection come from, and which one goes when there are too many?
//!
//! Connections that have not proved who they are have a limit for all and one for each [`Origin`]. Beyond it the
//! oldest goes, of the origin that has the most: a client that talks is done within some milliseconds, one that
//! is silent grows old. Pure.

use std::collections::HashMap;
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

/// Which connection goes, as its place in a list from the oldest to the newest; `None` where all may stay. The
/// newest is the one that may be too much.
pub fn victim(oldest_first: &[Origin], limits: Limits) -> Option<usize> {
    let newest = oldest_first.last()?;
    let of = |origin: &Origin| oldest_first.iter().filter(|o| *o == origin).count();
    if of(newest) > limits.each {
        return oldest_first.iter().position(|o| o == newest);
    }
    if oldest_first.len() <= limits.all {
        return None;
    }
    let mut counts: HashMap<Origin, usize> = HashMap::new();
    oldest_first.iter().for_each(|origin| *counts.entry(*origin).or_default() += 1);
    let most = counts.values().copied().max()?;
    oldest_first.iter().position(|origin| counts[origin] == most)
}
