//! How does a network address lie in a column, and which comes first?
//!
//! | bytes | what |
//! |---|---|
//! | 1 | 4 or 6 |
//! | 1 | bits of the netmask |
//! | 4 or 16 | the address, the first byte first |
//!
//! inet and cidr have the same form. macaddr and macaddr8 are their 6 and 8 bytes, which are their keys.
//! Thread safety: plain data.

/// The key: the version, the bits of the network, how many they are, the whole address.
pub(crate) fn key(bytes: &[u8], out: &mut Vec<u8>) {
    let [version, bits, address @ ..] = bytes else { unreachable!("an address has a version") };
    out.push(*version);
    let masked = address.iter().enumerate().map(|(at, byte)| byte & mask(*bits, at));
    out.extend(masked);
    out.push(*bits);
    out.extend_from_slice(address);
}

/// The netmask's byte at a place.
pub(crate) fn mask(bits: u8, at: usize) -> u8 {
    match usize::from(bits).saturating_sub(at * 8) {
        0 => 0,
        left @ 1..8 => !(0xff >> left),
        _ => 0xff,
    }
}
