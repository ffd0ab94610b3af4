//! What do functions of pgcrypto give?
//!
//! Digests, with and without a key, and random bytes. Encryption, passwords and PGP have no kernels.

use md5::Md5;
use onlap_pg::{Error, Result};
use sha2::{Sha224, Sha256, Sha384, Sha512};

use crate::text::codes::digest;
use crate::{Bytes, Cx, Entry, Int4, Text, one, three, two};

/// Functions.
pub const ENTRIES: &[Entry] = &[
    ("digest(text,text)", |_| {
        two::<Text, Text, Bytes>(|data, name, cx| Hash::of(name)?.digest(data.as_bytes(), cx))
    }),
    ("digest(bytea,text)", |_| {
        two::<Bytes, Text, Bytes>(|data, name, cx| Hash::of(name)?.digest(data, cx))
    }),
    ("hmac(text,text,text)", |_| {
        three::<Text, Text, Text, Bytes>(|data, key, name, cx| {
            keyed(data.as_bytes(), key.as_bytes(), name, cx)
        })
    }),
    ("hmac(bytea,bytea,text)", |_| three::<Bytes, Bytes, Text, Bytes>(keyed)),
    ("gen_random_bytes(int4)", |_| one::<Int4, Bytes>(random_bytes)),
];

/// Functions that give a digest.
#[derive(Clone, Copy)]
enum Hash {
    Md5,
    Sha1,
    Sha224,
    Sha256,
    Sha384,
    Sha512,
}

/// What PostgreSQL's library has besides.
const OTHERS: [&str; 16] = [
    "rmd160",
    "ripemd",
    "ripemd160",
    "sm3",
    "md5-sha1",
    "sha512-224",
    "sha512-256",
    "sha-512/224",
    "sha-512/256",
    "sha3-224",
    "sha3-256",
    "sha3-384",
    "sha3-512",
    "blake2b512",
    "blake2s256",
    "whirlpool",
];

impl Hash {
    fn of(name: &str) -> Result<Hash> {
        let name = name.to_ascii_lowercase();
        Ok(match name.as_str() {
            "md5" => Hash::Md5,
            "sha1" | "sha-1" | "ssl3-sha1" => Hash::Sha1,
            "sha224" | "sha-224" | "sha2-224" => Hash::Sha224,
            "sha256" | "sha-256" | "sha2-256" => Hash::Sha256,
            "sha384" | "sha-384" | "sha2-384" => Hash::Sha384,
            "sha512" | "sha-512" | "sha2-512" => Hash::Sha512,
            other if OTHERS.contains(&other) => {
                return Err(Error::unserved(format!("the digest {other} is not supported")));
            }
            other => {
                let text = format!("Cannot use \"{other}\": No such hash algorithm");
                return Err(Error::new("22023", text));
            }
        })
    }

    fn digest(self, data: &[u8], cx: &Cx<'_>) -> Result<Vec<u8>> {
        match self {
            Hash::Md5 => digest::<Md5>(data, cx),
            Hash::Sha1 => {
                use ring::digest::{Context, SHA1_FOR_LEGACY_USE_ONLY};
                let mut digest = Context::new(&SHA1_FOR_LEGACY_USE_ONLY);
                cx.pieces(data, |piece| digest.update(piece))?;
                Ok(digest.finish().as_ref().into())
            }
            Hash::Sha224 => digest::<Sha224>(data, cx),
            Hash::Sha256 => digest::<Sha256>(data, cx),
            Hash::Sha384 => digest::<Sha384>(data, cx),
            Hash::Sha512 => digest::<Sha512>(data, cx),
        }
    }

    /// Bytes that it takes in one step.
    fn block(self) -> usize {
        if matches!(self, Hash::Sha384 | Hash::Sha512) { 128 } else { 64 }
    }
}

/// HMAC, as RFC 2104 has it.
fn keyed(data: &[u8], key: &[u8], name: &str, cx: &mut Cx<'_>) -> Result<Vec<u8>> {
    let hash = Hash::of(name)?;
    cx.room(data.len())?;
    let mut block = if key.len() > hash.block() { hash.digest(key, cx)? } else { key.to_vec() };
    block.resize(hash.block(), 0);
    let with = |mask: u8, data: &[u8]| {
        let mut all: Vec<u8> = block.iter().map(|byte| byte ^ mask).collect();
        all.extend_from_slice(data);
        hash.digest(&all, cx)
    };
    with(0x5c, &with(0x36, data)?)
}

fn random_bytes(count: i32, cx: &mut Cx<'_>) -> Result<Vec<u8>> {
    let count = usize::try_from(count).ok().filter(|count| (1..=1024).contains(count));
    let count = count.ok_or_else(|| Error::new("39000", "Length not in range"))?;
    let mut out = Vec::with_capacity(count + 7);
    while out.len() < count {
        out.extend(cx.session.random().to_le_bytes());
    }
    out.truncate(count);
    Ok(out)
}
