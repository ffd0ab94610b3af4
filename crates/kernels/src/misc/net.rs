//! How does a network address lie in a column, how is it written, and which comes first?
//!
//! | bytes | what |
//! |---|---|
//! | 1 | 4 or 6 |
//! | 1 | bits of the netmask |
//! | 4 or 16 | the address, the first byte first |
//!
//! inet and cidr have the same form. macaddr and macaddr8 are their 6 and 8 bytes, which are their keys.
//! Thread safety: plain data.

use std::fmt::Write as _;
use std::net::Ipv6Addr;

use onlap_pg::value::left_over;
use onlap_pg::{Error, Result};

/// An address with its netmask.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Address {
    pub(crate) v6: bool,
    pub(crate) bits: u8,
    /// Of version 4 the first four.
    pub(crate) bytes: [u8; 16],
}

impl Address {
    /// From its form.
    ///
    /// # Panics
    /// The bytes are no address's.
    pub(crate) fn load(form: &[u8]) -> Address {
        let mut bytes = [0; 16];
        bytes[..form.len() - 2].copy_from_slice(&form[2..]);
        Address { v6: form[0] == 6, bits: form[1], bytes }
    }

    /// Its form.
    pub(crate) fn store(&self) -> Vec<u8> {
        let mut out = vec![if self.v6 { 6 } else { 4 }, self.bits];
        out.extend_from_slice(self.address());
        out
    }

    /// The bytes of the address.
    pub(crate) fn address(&self) -> &[u8] {
        &self.bytes[..self.width()]
    }

    /// How many they are.
    pub(crate) fn width(&self) -> usize {
        if self.v6 { 16 } else { 4 }
    }

    /// The bits of the longest netmask.
    pub(crate) fn max_bits(&self) -> u8 {
        if self.v6 { 128 } else { 32 }
    }

    /// The address with the bits outside of a mask made zeros.
    pub(crate) fn masked(&self, bits: u8) -> Address {
        self.map(|at, byte| byte & mask(bits, at))
    }

    /// Another address, byte by byte.
    pub(crate) fn map(&self, f: impl Fn(usize, u8) -> u8) -> Address {
        let mut out = *self;
        for at in 0..self.width() {
            out.bytes[at] = f(at, self.bytes[at]);
        }
        out
    }

    /// inet_in and cidr_in.
    pub(crate) fn parse(text: &str, cidr: bool) -> Result<Address> {
        let name = if cidr { "cidr" } else { "inet" };
        let bad = || {
            let message = format!("invalid input syntax for type {name}: \"{text}\"");
            Error::new("22P02", message)
        };
        let found = match text.contains(':') {
            true => version_6(text),
            false => version_4(text, cidr),
        };
        let found = found.ok_or_else(bad)?;
        if cidr && found.masked(found.bits) != found {
            let message = format!("invalid cidr value: \"{text}\"");
            return Err(Error::new("22P02", message).detail("Value has bits set to right of mask."));
        }
        Ok(found)
    }

    /// inet_out, or with the bits always cidr_out.
    pub(crate) fn print(&self, with_bits: bool) -> String {
        let mut out = self.host();
        if with_bits || self.bits != self.max_bits() {
            write!(out, "/{}", self.bits).expect("a String takes all");
        }
        out
    }

    /// The address alone.
    pub(crate) fn host(&self) -> String {
        if self.v6 {
            return groups_6(&self.bytes, 8, 2);
        }
        let [a, b, c, d, ..] = self.bytes;
        format!("{a}.{b}.{c}.{d}")
    }

    /// A network without the bytes that its mask leaves out.
    pub(crate) fn abbreviated(&self) -> String {
        let bits = self.bits;
        if self.v6 {
            let groups = usize::from(bits).div_ceil(16).max(2);
            let text = match bits {
                0 => "::".to_owned(),
                _ => groups_6(&self.bytes, groups, 1),
            };
            return format!("{text}/{bits}");
        }
        let count = usize::from(bits).div_ceil(8).max(1);
        let bytes: Vec<String> = self.bytes[..count].iter().map(u8::to_string).collect();
        format!("{}/{bits}", bytes.join("."))
    }

    /// inet_send and cidr_send.
    pub(crate) fn send(&self, cidr: bool, out: &mut Vec<u8>) {
        out.extend([if self.v6 { 3 } else { 2 }, self.bits, u8::from(cidr), self.width() as u8]);
        out.extend_from_slice(self.address());
    }

    /// inet_recv and cidr_recv.
    pub(crate) fn recv(message: &[u8], cidr: bool) -> Result<Address> {
        let name = if cidr { "cidr" } else { "inet" };
        let bad = |what: &str| Error::new("22P03", format!("{what} in external \"{name}\" value"));
        let [family, bits, _, length, rest @ ..] = message else {
            return Err(Error::new("08P01", "insufficient data left in message"));
        };
        let v6 = match family {
            2 => false,
            3 => true,
            _ => return Err(bad("invalid address family")),
        };
        let mut found = Address { v6, bits: *bits, bytes: [0; 16] };
        if *bits > found.max_bits() {
            return Err(bad("invalid bits"));
        }
        if usize::from(*length) != found.width() {
            return Err(bad("invalid length"));
        }
        if rest.len() < found.width() {
            return Err(Error::new("08P01", "insufficient data left in message"));
        }
        if rest.len() > found.width() {
            return Err(left_over());
        }
        found.bytes[..rest.len()].copy_from_slice(rest);
        if cidr && found.masked(*bits) != found {
            return Err(Error::new("22P03", "invalid external \"cidr\" value")
                .detail("Value has bits set to right of mask."));
        }
        Ok(found)
    }
}

/// The netmask's byte at a place.
pub(crate) fn mask(bits: u8, at: usize) -> u8 {
    match usize::from(bits).saturating_sub(at * 8) {
        0 => 0,
        left @ 1..8 => !(0xff >> left),
        _ => 0xff,
    }
}

/// The key: the version, the bits of the network, how many they are, the whole address.
pub(crate) fn key(form: &[u8], out: &mut Vec<u8>) {
    let address = Address::load(form);
    out.push(form[0]);
    out.extend_from_slice(address.masked(address.bits).address());
    out.push(address.bits);
    out.extend_from_slice(address.address());
}

/// Bits after a slash.
fn bits_of(text: &str, most: u8) -> Option<u8> {
    let digits = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    // Of version 6 no zero stands before another digit.
    let plain = digits && (most == 32 || text.len() == 1 || !text.starts_with('0'));
    plain.then(|| text.parse().ok()).flatten().filter(|bits| *bits <= most)
}

/// Numbers with dots between; of a cidr the last may be left out, and hexadecimal digits after 0x are taken.
fn version_4(text: &str, cidr: bool) -> Option<Address> {
    let (address, bits) = match text.split_once('/') {
        Some((address, bits)) => (address, Some(bits_of(bits, 32)?)),
        None => (text, None),
    };
    let mut bytes = [0; 16];
    let hexadecimal = address.strip_prefix("0x").or_else(|| address.strip_prefix("0X"));
    let count = match hexadecimal {
        Some(digits) if cidr => {
            let count = digits.len().div_ceil(2);
            let good = !digits.is_empty() && count <= 4;
            if !good || !digits.bytes().all(|byte| byte.is_ascii_hexdigit()) {
                return None;
            }
            for (at, byte) in digits.bytes().enumerate() {
                let digit = char::from(byte).to_digit(16)? as u8;
                bytes[at / 2] |= if at % 2 == 0 { digit << 4 } else { digit };
            }
            count
        }
        _ => {
            let mut count = 0;
            for part in address.split('.') {
                let digits = !part.is_empty() && part.bytes().all(|byte| byte.is_ascii_digit());
                if count == 4 || !digits || part.len() > 20 {
                    return None;
                }
                bytes[count] = part.parse::<u64>().ok().and_then(|v| u8::try_from(v).ok())?;
                count += 1;
            }
            count
        }
    };
    if !cidr && count < 4 && bits.is_none() {
        return None;
    }
    let bits = match bits {
        Some(bits) => bits,
        None if count == 4 => 32,
        None => class_bits(bytes[0]).max(count as u8 * 8),
    };
    // Without a class the bits cannot name more than was written.
    if !cidr && usize::from(bits) > count * 8 {
        return None;
    }
    Some(Address { v6: false, bits, bytes })
}

/// The netmask that a network has by its first byte.
fn class_bits(first: u8) -> u8 {
    match first {
        240.. => 32,
        224..240 => 8,
        192..224 => 24,
        128..192 => 16,
        _ => 8,
    }
}

fn version_6(text: &str) -> Option<Address> {
    let (address, bits) = match text.split_once('/') {
        Some((address, bits)) => (address, bits_of(bits, 128)?),
        None => (text, 128),
    };
    let parsed: Ipv6Addr = address.parse().ok()?;
    Some(Address { v6: true, bits, bytes: parsed.octets() })
}

/// The first groups of four digits, the longest stretch of at least this number of zeros left out, and the last two as
/// version 4 where the address is one of those mapped into version 6.
fn groups_6(bytes: &[u8; 16], count: usize, least: usize) -> String {
    let pairs = bytes.chunks_exact(2).take(count);
    let groups: Vec<u16> = pairs.map(|pair| u16::from_be_bytes([pair[0], pair[1]])).collect();
    let (mut best, mut run) = ((0, 0), (0, 0));
    for (at, group) in groups.iter().enumerate() {
        run = match (*group, run.1) {
            (0, 0) => (at, 1),
            (0, length) => (run.0, length + 1),
            _ => (0, 0),
        };
        if run.1 > best.1 {
            best = run;
        }
    }
    let zeros = if best.1 >= least { best.0..best.0 + best.1 } else { count..count };
    let mapped = count == 8
        && zeros.start == 0
        && match zeros.len() {
            7 => groups[7] > 1,
            6 => true,
            5 => groups[5] == 0xffff,
            _ => false,
        };
    let mut out = String::new();
    for (at, group) in groups.iter().enumerate() {
        if zeros.contains(&at) {
            if at == zeros.start {
                out.push(':');
            }
            continue;
        }
        if at > 0 {
            out.push(':');
        }
        if at == 6 && mapped {
            let [.., a, b, c, d] = *bytes;
            write!(out, "{a}.{b}.{c}.{d}").expect("a String takes all");
            return out;
        }
        write!(out, "{group:x}").expect("a String takes all");
    }
    if zeros.end == count && !zeros.is_empty() {
        out.push(':');
    }
    out
}
