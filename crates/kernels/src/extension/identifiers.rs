//! What do functions of uuid-ossp give?
//!
//! Versions 3 and 5 are digests of a namespace and a name, version 4 is random. Version 1 is the moment with a node that is
//! random, as RFC 4122 allows (4.5): the address of no network card leaves the server.

use md5::{Digest as _, Md5};
use onlap_pg::Result;
use ring::digest::Context;

use crate::{Cx, Entry, Text, Uuid, none, two};

/// Functions.
pub const ENTRIES: &[Entry] = &[
    ("uuid_nil()", |_| none::<Uuid>(|_| Ok([0; 16]))),
    ("uuid_ns_dns()", |_| none::<Uuid>(|_| Ok(namespace(0x10)))),
    ("uuid_ns_url()", |_| none::<Uuid>(|_| Ok(namespace(0x11)))),
    ("uuid_ns_oid()", |_| none::<Uuid>(|_| Ok(namespace(0x12)))),
    ("uuid_ns_x500()", |_| none::<Uuid>(|_| Ok(namespace(0x14)))),
    ("uuid_generate_v1()", |_| none::<Uuid>(|cx| Ok(of_time(cx)))),
    ("uuid_generate_v1mc()", |_| none::<Uuid>(|cx| Ok(of_time(cx)))),
    ("uuid_generate_v3(uuid,text)", |_| {
        two::<Uuid, Text, Uuid>(|space, name, cx| {
            let mut hash = Md5::new();
            hash.update(space);
            cx.pieces(name.as_bytes(), |piece| hash.update(piece))?;
            of_digest(&hash.finalize(), 3)
        })
    }),
    ("uuid_generate_v4()", |_| none::<Uuid>(|cx| Ok(random(cx)))),
    ("uuid_generate_v5(uuid,text)", |_| {
        two::<Uuid, Text, Uuid>(|space, name, cx| {
            let mut hash = Context::new(&ring::digest::SHA1_FOR_LEGACY_USE_ONLY);
            hash.update(&space);
            cx.pieces(name.as_bytes(), |piece| hash.update(piece))?;
            of_digest(hash.finish().as_ref(), 5)
        })
    }),
];

/// Hundreds of nanoseconds from 1582-10-15 to 2000-01-01.
const GREGORIAN: i64 = 0x01b2_1dd2_1381_4000 + 946_684_800 * 10_000_000;

/// A namespace of RFC 4122: they differ in one byte.
fn namespace(which: u8) -> [u8; 16] {
    [0x6b, 0xa7, 0xb8, which, 0x9d, 0xad, 0x11, 0xd1, 0x80, 0xb4, 0, 0xc0, 0x4f, 0xd4, 0x30, 0xc8]
}

/// Bytes as a uuid of a version.
fn marked(mut bytes: [u8; 16], version: u8) -> [u8; 16] {
    bytes[6] = bytes[6] & 0x0f | version << 4;
    bytes[8] = bytes[8] & 0x3f | 0x80;
    bytes
}

fn of_digest(digest: &[u8], version: u8) -> Result<[u8; 16]> {
    let bytes = digest.first_chunk::<16>().expect("digests are longer");
    Ok(marked(*bytes, version))
}

/// A random one.
pub fn random(cx: &Cx<'_>) -> [u8; 16] {
    let (high, low) = (cx.session.random(), cx.session.random());
    marked((u128::from(high) << 64 | u128::from(low)).to_be_bytes(), 4)
}

fn of_time(cx: &Cx<'_>) -> [u8; 16] {
    let ticks = cx.session.clock().saturating_mul(10).saturating_add(GREGORIAN) as u64;
    let mut bytes = [0; 16];
    bytes[..4].copy_from_slice(&(ticks as u32).to_be_bytes());
    bytes[4..6].copy_from_slice(&((ticks >> 32) as u16).to_be_bytes());
    bytes[6..8].copy_from_slice(&((ticks >> 48) as u16).to_be_bytes());
    bytes[8..].copy_from_slice(&cx.session.random().to_be_bytes());
    // A group address is that of no card.
    bytes[10] |= 1;
    marked(bytes, 1)
}
