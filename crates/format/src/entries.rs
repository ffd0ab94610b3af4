//! How do the keys of one row lie in a value, for an index that has several entries of a row?
//!
//! A *packed list*: the keys of a row, each 1 to [`KEY_BYTES`] bytes, rising, each once, one behind the other as byte
//! strings behind their lengths (LEB128, see [`crate::wire`]). An empty list, or NULL in its place, is a row without
//! entries. Lists are values of a derived column; the log and memtables have them, segments do not.
//!
//! | size | field |
//! |---|---|
//! | 1 or 2 | length of the key, 1 to 128 |
//! | length | the key |
//!
//! Who makes lists puts a hash in the place of longer keys. [`Entries::read`] looks at a list as a whole before
//! anyone walks it; [`walk`] never reads past it whatever its bytes are (I8). Pure functions.
//!
//! ```
//! use onlap_format::entries::{Entries, pack};
//! let list = pack(&mut vec!["b", "abc", "b"])?;
//! assert_eq!(list, b"\x03abc\x01b");
//! assert!(Entries::read(&list)?.eq([&b"abc"[..], b"b"]));
//! assert!(Entries::read(b"\x01b\x01a").is_err() && Entries::read(b"\x02b").is_err());
//! # Ok::<(), onlap_base::Error>(())
//! ```

use onlap_base::limits::{ENTRIES, VALUE_BYTES};
use onlap_base::{Error, ErrorKind, Result};

pub use onlap_base::limits::ENTRY_BYTES as KEY_BYTES;

use crate::batch::{Column, Vector};
use crate::wire::{put_bytes, varint_len};

#[cfg(test)]
mod tests;

/// Lengths up to this take one byte.
const ONE_BYTE: u8 = 0x7f;

const _: () = assert!(KEY_BYTES == ONE_BYTE as usize + 1, "one length alone takes two bytes");

/// A packed list of keys, which come in any order and any number of times.
///
/// # Errors
/// `InvalidInput` for a key of no bytes or of more than [`KEY_BYTES`]; `LimitExceeded` for more keys, or bytes of
/// keys, than a row may have.
pub fn pack<K: AsRef<[u8]> + Ord>(keys: &mut Vec<K>) -> Result<Vec<u8>> {
    keys.sort_unstable();
    keys.dedup();
    pack_rising(keys.iter().map(AsRef::as_ref))
}

/// A packed list of keys that rise, each once: who gives others makes what is no list.
///
/// # Errors
/// As [`pack`].
pub fn pack_rising<'a>(keys: impl ExactSizeIterator<Item = &'a [u8]> + Clone) -> Result<Vec<u8>> {
    let (count, mut bytes) = (keys.len(), 0);
    for key in keys.clone() {
        if !(1..=KEY_BYTES).contains(&key.len()) {
            let text = format!("a key of {} bytes; 1 to {KEY_BYTES} fit", key.len());
            return Err(Error::new(ErrorKind::InvalidInput, text));
        }
        bytes += varint_len(key.len() as u64) + key.len();
    }
    check_size(count, bytes)?;
    let mut list = Vec::with_capacity(bytes);
    keys.for_each(|key| put_bytes(&mut list, key));
    debug_assert_eq!(list.len(), bytes);
    Ok(list)
}

fn check_size(keys: usize, bytes: usize) -> Result<()> {
    if keys > ENTRIES || bytes > VALUE_BYTES {
        let text = format!(
            "a row has {keys} index entries of {bytes} bytes; at most {ENTRIES} of {VALUE_BYTES} bytes fit"
        );
        return Err(Error::new(ErrorKind::LimitExceeded, text));
    }
    Ok(())
}

/// The keys of a list, rising.
#[derive(Clone, Debug)]
pub struct Entries<'a> {
    list: &'a [u8],
    at: usize,
}

impl<'a> Entries<'a> {
    /// The keys of a list that is one.
    ///
    /// # Errors
    /// `Corruption` for bytes that are no packed list; `LimitExceeded` for a list that is too long.
    pub fn read(list: &'a [u8]) -> Result<Entries<'a>> {
        let (mut at, mut count) = (0, 0);
        let mut before: &[u8] = &[];
        while at < list.len() {
            let Some((key, next)) = entry(list, at) else {
                return Err(Error::corruption(
                    "",
                    at as u64,
                    "a list of keys that ends inside one",
                ));
            };
            if key <= before {
                return Err(Error::corruption("", at as u64, "keys of a list that do not rise"));
            }
            (before, at, count) = (key, next, count + 1);
        }
        check_size(count, list.len())?;
        Ok(walk(list))
    }

    /// Where the next key begins in the list.
    pub fn position(&self) -> usize {
        self.at
    }
}

impl<'a> Iterator for Entries<'a> {
    type Item = &'a [u8];

    #[inline]
    fn next(&mut self) -> Option<&'a [u8]> {
        let (key, next) = entry(self.list, self.at)?;
        self.at = next;
        Some(key)
    }
}

/// The keys of a list that was looked at as it came in. Of other bytes it gives what looks like keys up to where
/// nothing does.
pub fn walk(list: &[u8]) -> Entries<'_> {
    Entries { list, at: 0 }
}

/// The key that begins at a place of bytes, and where the next one does; `None` where there is none.
#[inline]
pub fn entry(bytes: &[u8], at: usize) -> Option<(&[u8], usize)> {
    let len = *bytes.get(at)?;
    let (len, start) = match len {
        1..=ONE_BYTE => (usize::from(len), at + 1),
        // The only length of two bytes.
        0x80 if bytes.get(at + 1) == Some(&1) => (KEY_BYTES, at + 2),
        _ => return None,
    };
    let key = bytes.get(start..start + len)?;
    Some((key, start + len))
}

/// Refuses a column of which a value is no list.
///
/// # Errors
/// As [`Entries::read`], and `WrongType` for a column that holds no bytes.
pub fn check_lists(column: &Column) -> Result<()> {
    let Vector::Bytes(lists) = &column.data else {
        return Err(Error::new(ErrorKind::WrongType, "lists of keys are bytes"));
    };
    let mut all = (0..column.len()).filter(|row| !column.is_null(*row));
    all.try_for_each(|row| Entries::read(lists.get(row)).map(drop))
}

/// The number of keys in some rows of a column of lists.
pub fn count(column: &Column, rows: std::ops::Range<usize>) -> u64 {
    let Vector::Bytes(lists) = &column.data else { return 0 };
    let of = |row: usize| if column.is_null(row) { 0 } else { walk(lists.get(row)).count() as u64 };
    rows.map(of).sum()
}
