//! What do functions of network and hardware addresses give?
//!
//! Thread safety: pure functions.

use std::cmp::Ordering;

use onlap_pg::{Error, Result};

use super::net::{self, Address, mask};
use crate::aggregate::AggregateEntry;
use crate::array::extreme;
use crate::{Bool, Bytes, Entry, Int4, Int8, Kernel, Text, one, two};

/// Aggregates.
pub(super) const AGGREGATES: &[AggregateEntry] = &[
    ("max(inet)", |types| extreme(types, Ordering::Greater)),
    ("min(inet)", |types| extreme(types, Ordering::Less)),
];

/// Functions.
pub(super) const ENTRIES: &[Entry] = &[
    ("network_eq(inet,inet)", |_| two::<Bytes, Bytes, Bool>(|a, b, _| Ok(order(a, b).is_eq()))),
    ("network_ne(inet,inet)", |_| two::<Bytes, Bytes, Bool>(|a, b, _| Ok(order(a, b).is_ne()))),
    ("network_lt(inet,inet)", |_| two::<Bytes, Bytes, Bool>(|a, b, _| Ok(order(a, b).is_lt()))),
    ("network_le(inet,inet)", |_| two::<Bytes, Bytes, Bool>(|a, b, _| Ok(order(a, b).is_le()))),
    ("network_gt(inet,inet)", |_| two::<Bytes, Bytes, Bool>(|a, b, _| Ok(order(a, b).is_gt()))),
    ("network_ge(inet,inet)", |_| two::<Bytes, Bytes, Bool>(|a, b, _| Ok(order(a, b).is_ge()))),
    ("network_sub(inet,inet)", |_| {
        two::<Bytes, Bytes, Bool>(|a, b, _| Ok(within(load(a), load(b), true)))
    }),
    ("network_subeq(inet,inet)", |_| {
        two::<Bytes, Bytes, Bool>(|a, b, _| Ok(within(load(a), load(b), false)))
    }),
    ("network_sup(inet,inet)", |_| {
        two::<Bytes, Bytes, Bool>(|a, b, _| Ok(within(load(b), load(a), true)))
    }),
    ("network_supeq(inet,inet)", |_| {
        two::<Bytes, Bytes, Bool>(|a, b, _| Ok(within(load(b), load(a), false)))
    }),
    ("network_overlap(inet,inet)", |_| {
        two::<Bytes, Bytes, Bool>(|a, b, _| {
            let (a, b) = (load(a), load(b));
            Ok(within(a, b, false) || within(b, a, false))
        })
    }),
    ("inet_same_family(inet,inet)", |_| {
        two::<Bytes, Bytes, Bool>(|a, b, _| Ok(load(a).v6 == load(b).v6))
    }),
    ("family(inet)", |_| one::<Bytes, Int4>(|a, _| Ok(if load(a).v6 { 6 } else { 4 }))),
    ("masklen(inet)", |_| one::<Bytes, Int4>(|a, _| Ok(load(a).bits.into()))),
    ("host(inet)", |_| one::<Bytes, Text>(|a, _| Ok(load(a).host()))),
    ("text(inet)", |_| one::<Bytes, Text>(|a, _| Ok(load(a).print(true)))),
    ("abbrev(inet)", |_| one::<Bytes, Text>(|a, _| Ok(load(a).print(false)))),
    ("abbrev(cidr)", |_| one::<Bytes, Text>(|a, _| Ok(load(a).abbreviated()))),
    ("network(inet)", |_| changed(|a| a.masked(a.bits))),
    ("cidr(inet)", |_| changed(|a| a.masked(a.bits))),
    ("netmask(inet)", |_| {
        changed(|a| Address { bits: a.max_bits(), ..a.map(|at, _| mask(a.bits, at)) })
    }),
    ("hostmask(inet)", |_| {
        changed(|a| Address { bits: a.max_bits(), ..a.map(|at, _| !mask(a.bits, at)) })
    }),
    ("broadcast(inet)", |_| changed(|a| a.map(|at, byte| byte | !mask(a.bits, at)))),
    ("inetnot(inet)", |_| changed(|a| a.map(|_, byte| !byte))),
    ("inetand(inet,inet)", |_| {
        two::<Bytes, Bytes, Bytes>(|a, b, _| combined(load(a), load(b), "AND", |x, y| x & y))
    }),
    ("inetor(inet,inet)", |_| {
        two::<Bytes, Bytes, Bytes>(|a, b, _| combined(load(a), load(b), "OR", |x, y| x | y))
    }),
    ("inetpl(inet,int8)", |_| two::<Bytes, Int8, Bytes>(|a, b, _| moved(load(a), b.into()))),
    ("int8pl_inet(int8,inet)", |_| two::<Int8, Bytes, Bytes>(|a, b, _| moved(load(b), a.into()))),
    ("inetmi_int8(inet,int8)", |_| {
        two::<Bytes, Int8, Bytes>(|a, b, _| moved(load(a), b.wrapping_neg().into()))
    }),
    ("inetmi(inet,inet)", |_| two::<Bytes, Bytes, Int8>(|a, b, _| distance(load(a), load(b)))),
    ("set_masklen(inet,int4)", |_| {
        two::<Bytes, Int4, Bytes>(|a, bits, _| Ok(with_bits(load(a), bits)?.store()))
    }),
    ("set_masklen(cidr,int4)", |_| {
        two::<Bytes, Int4, Bytes>(|a, bits, _| {
            let address = with_bits(load(a), bits)?;
            Ok(address.masked(address.bits).store())
        })
    }),
    ("inet_merge(inet,inet)", |_| two::<Bytes, Bytes, Bytes>(|a, b, _| merged(load(a), load(b)))),
    ("macaddr_eq(macaddr,macaddr)", |_| two::<Bytes, Bytes, Bool>(|a, b, _| Ok(a == b))),
    ("macaddr_ne(macaddr,macaddr)", |_| two::<Bytes, Bytes, Bool>(|a, b, _| Ok(a != b))),
    ("macaddr_lt(macaddr,macaddr)", |_| two::<Bytes, Bytes, Bool>(|a, b, _| Ok(a < b))),
    ("macaddr_le(macaddr,macaddr)", |_| two::<Bytes, Bytes, Bool>(|a, b, _| Ok(a <= b))),
    ("macaddr_gt(macaddr,macaddr)", |_| two::<Bytes, Bytes, Bool>(|a, b, _| Ok(a > b))),
    ("macaddr_ge(macaddr,macaddr)", |_| two::<Bytes, Bytes, Bool>(|a, b, _| Ok(a >= b))),
    ("macaddr_not(macaddr)", |_| one::<Bytes, Bytes>(|a, _| Ok(inverted(a)))),
    ("macaddr_and(macaddr,macaddr)", |_| both(|x, y| x & y)),
    ("macaddr_or(macaddr,macaddr)", |_| both(|x, y| x | y)),
    ("trunc(macaddr)", |_| one::<Bytes, Bytes>(|a, _| Ok(maker(a)))),
    ("macaddr8(macaddr)", |_| {
        one::<Bytes, Bytes>(|a, _| Ok([&a[..3], &[0xff, 0xfe], &a[3..]].concat()))
    }),
    ("macaddr8_eq(macaddr8,macaddr8)", |_| two::<Bytes, Bytes, Bool>(|a, b, _| Ok(a == b))),
    ("macaddr8_ne(macaddr8,macaddr8)", |_| two::<Bytes, Bytes, Bool>(|a, b, _| Ok(a != b))),
    ("macaddr8_lt(macaddr8,macaddr8)", |_| two::<Bytes, Bytes, Bool>(|a, b, _| Ok(a < b))),
    ("macaddr8_le(macaddr8,macaddr8)", |_| two::<Bytes, Bytes, Bool>(|a, b, _| Ok(a <= b))),
    ("macaddr8_gt(macaddr8,macaddr8)", |_| two::<Bytes, Bytes, Bool>(|a, b, _| Ok(a > b))),
    ("macaddr8_ge(macaddr8,macaddr8)", |_| two::<Bytes, Bytes, Bool>(|a, b, _| Ok(a >= b))),
    ("macaddr8_not(macaddr8)", |_| one::<Bytes, Bytes>(|a, _| Ok(inverted(a)))),
    ("macaddr8_and(macaddr8,macaddr8)", |_| both(|x, y| x & y)),
    ("macaddr8_or(macaddr8,macaddr8)", |_| both(|x, y| x | y)),
    ("trunc(macaddr8)", |_| one::<Bytes, Bytes>(|a, _| Ok(maker(a)))),
    ("macaddr8_set7bit(macaddr8)", |_| {
        one::<Bytes, Bytes>(|a, _| {
            let mut out = a.to_vec();
            out[0] |= 2;
            Ok(out)
        })
    }),
    ("macaddr(macaddr8)", |_| {
        one::<Bytes, Bytes>(|a, _| match a {
            [x, y, z, 0xff, 0xfe, rest @ ..] => Ok([&[*x, *y, *z], rest].concat()),
            _ => {
                let message = "macaddr8 data out of range to convert to macaddr";
                let hint = "Only addresses that have FF and FE as values in the 4th and 5th bytes from the left, for example xx:xx:xx:ff:fe:xx:xx:xx, are eligible to be converted from macaddr8 to macaddr.";
                Err(Error::new("22003", message).hint(hint))
            }
        })
    }),
];

fn load(form: &[u8]) -> Address {
    Address::load(form)
}

fn order(a: &[u8], b: &[u8]) -> Ordering {
    let (mut left, mut right) = (Vec::new(), Vec::new());
    net::key(a, &mut left);
    net::key(b, &mut right);
    left.cmp(&right)
}

/// Whether a network is inside of another, or strictly so.
fn within(inner: Address, outer: Address, strictly: bool) -> bool {
    let narrower = if strictly { inner.bits > outer.bits } else { inner.bits >= outer.bits };
    inner.v6 == outer.v6
        && narrower
        && inner.masked(outer.bits).bytes == outer.masked(outer.bits).bytes
}

/// A kernel that makes an address of one.
fn changed(f: fn(Address) -> Address) -> Box<dyn Kernel> {
    crate::each(move |cols, rows, cx| {
        use crate::Ty;
        use arrow_array::Array as _;
        let column = Bytes::column(&cols[0].array);
        let mut out = Bytes::builder(rows);
        for row in 0..rows {
            if row % 1024 == 0 {
                cx.go_on()?;
            }
            let at = cols[0].at(row);
            if column.is_null(at) {
                Bytes::push_null(&mut out);
            } else {
                Bytes::push(&mut out, f(load(column.value(at))).store())?;
            }
        }
        Ok(Bytes::finish(out))
    })
}

fn combined(a: Address, b: Address, name: &str, f: fn(u8, u8) -> u8) -> Result<Vec<u8>> {
    if a.v6 != b.v6 {
        let message = format!("cannot {name} inet values of different sizes");
        return Err(Error::new("22023", message));
    }
    let out = a.map(|at, byte| f(byte, b.bytes[at]));
    Ok(Address { bits: a.bits.max(b.bits), ..out }.store())
}

fn number(address: &Address) -> u128 {
    address.address().iter().fold(0, |sum, byte| sum << 8 | u128::from(*byte))
}

fn out_of_range() -> Error {
    Error::new("22003", "result is out of range")
}

fn moved(address: Address, by: i128) -> Result<Vec<u8>> {
    let most = if address.v6 { u128::MAX } else { u128::from(u32::MAX) };
    let sum = number(&address).checked_add_signed(by).filter(|sum| *sum <= most);
    let bytes = sum.ok_or_else(out_of_range)?.to_be_bytes();
    let width = address.width();
    Ok(address.map(|at, _| bytes[16 - width + at]).store())
}

fn distance(a: Address, b: Address) -> Result<i64> {
    if a.v6 != b.v6 {
        let message = "cannot subtract inet values of different sizes";
        return Err(Error::new("22023", message));
    }
    // Of version 6 modulo 2^128, as PostgreSQL has it.
    let far = number(&a).wrapping_sub(number(&b)) as i128;
    i64::try_from(far).map_err(|_| out_of_range())
}

fn with_bits(address: Address, bits: i32) -> Result<Address> {
    let bits = if bits == -1 { i32::from(address.max_bits()) } else { bits };
    match u8::try_from(bits) {
        Ok(bits) if bits <= address.max_bits() => Ok(Address { bits, ..address }),
        _ => Err(Error::new("22023", format!("invalid mask length: {bits}"))),
    }
}

fn merged(a: Address, b: Address) -> Result<Vec<u8>> {
    if a.v6 != b.v6 {
        let message = "cannot merge addresses from different families";
        return Err(Error::new("22023", message));
    }
    let mut bits = a.bits.min(b.bits);
    while a.masked(bits).bytes != b.masked(bits).bytes {
        bits -= 1;
    }
    Ok(Address { bits, ..a.masked(bits) }.store())
}

fn inverted(bytes: &[u8]) -> Vec<u8> {
    bytes.iter().map(|byte| !byte).collect()
}

/// The manufacturer's three bytes alone.
fn maker(bytes: &[u8]) -> Vec<u8> {
    bytes.iter().enumerate().map(|(at, byte)| if at < 3 { *byte } else { 0 }).collect()
}

fn both(f: fn(u8, u8) -> u8) -> Box<dyn Kernel> {
    crate::each(move |cols, rows, cx| {
        use crate::Ty;
        let (left, right) = (Bytes::column(&cols[0].array), Bytes::column(&cols[1].array));
        let mut out = Bytes::builder(rows);
        for row in 0..rows {
            if row % 1024 == 0 {
                cx.go_on()?;
            }
            if cols[0].is_null(row) || cols[1].is_null(row) {
                Bytes::push_null(&mut out);
                continue;
            }
            let (a, b) = (left.value(cols[0].at(row)), right.value(cols[1].at(row)));
            Bytes::push(&mut out, a.iter().zip(b).map(|(x, y)| f(*x, *y)).collect())?;
        }
        Ok(Bytes::finish(out))
    })
}
