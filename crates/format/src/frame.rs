//! How does an immutable file say what it is, and where its footer lies?
//!
//! Segments and runs begin with a header and end with a footer and a trailer; a reader opens a file
//! by its last [`TRAILER_BYTES`] bytes. Nothing here knows what a footer says. Versions newer than
//! this release are refused by name.
//!
//! | header, offset | bytes | what |
//! |---|---|---|
//! | 0 | 5 | `Onlap` |
//! | 5 | 3 | the kind: `seg`, `run`, `mrk` |
//! | 8 | 2 | format version of the kind |
//! | 10 | 6 | zero |
//!
//! | trailer, offset | bytes | what |
//! |---|---|---|
//! | 0 | 8 | offset of the footer in the file |
//! | 8 | 8 | length of the footer |
//! | 16 | 4 | CRC-32C of the footer |
//! | 20 | 4 | CRC-32C of the trailer's first 20 bytes and the header |
//! | 24 | 8 | the header's first 8 bytes again |
//!
//! ```
//! use onlap_format::frame::{self, Kind};
//! let mut file = Vec::new();
//! frame::put_header(Kind::Segment, 1, &mut file);
//! assert_eq!(file, *b"Onlapseg\x01\0\0\0\0\0\0\0");
//! file.extend(b"blocks");
//! frame::put_footer(Kind::Segment, 1, b"footer", 22, &mut file);
//! let trailer = frame::parse_trailer(Kind::Segment, &file[file.len() - frame::TRAILER_BYTES..])?;
//! assert_eq!((trailer.offset, trailer.len), (22, 6));
//! trailer.check(&file[22..28])?;
//! assert_eq!(frame::check_header(Kind::Segment, 1, &file)?, 1);
//! # Ok::<(), onlap_base::Error>(())
//! ```

use onlap_base::{Error, ErrorKind, Result};

use crate::wire::Reader;

/// Bytes of the header.
pub const HEADER_BYTES: usize = 16;
/// Bytes of the trailer.
pub const TRAILER_BYTES: usize = 32;

/// What a file holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// Rows.
    Segment,
    /// Index entries.
    Run,
    /// Marks.
    Marks,
}

impl Kind {
    fn magic(self) -> [u8; 8] {
        match self {
            Kind::Segment => *b"Onlapseg",
            Kind::Run => *b"Onlaprun",
            Kind::Marks => *b"Onlapmrk",
        }
    }
}

fn header(kind: Kind, version: u16) -> [u8; HEADER_BYTES] {
    let mut header = [0; HEADER_BYTES];
    header[..8].copy_from_slice(&kind.magic());
    header[8..10].copy_from_slice(&version.to_le_bytes());
    header
}

/// Appends the header.
pub fn put_header(kind: Kind, version: u16, out: &mut Vec<u8>) {
    out.extend_from_slice(&header(kind, version));
}

/// Checks a header against the newest version this release reads, and returns its version.
pub fn check_header(kind: Kind, newest: u16, bytes: &[u8]) -> Result<u16> {
    let mut r = Reader::new(bytes);
    let magic = r.array::<8>()?;
    if magic != kind.magic() {
        return Err(Error::corruption("", 0, format!("this is no {kind:?} file")));
    }
    let version = r.u16()?;
    if version > newest {
        return Err(Error::new(
            ErrorKind::NewerFormat,
            format!("{kind:?} format version {version}; this release reads up to {newest}"),
        ));
    }
    Ok(version)
}

/// Appends a footer that begins at `offset` in the file, and the trailer.
pub fn put_footer(kind: Kind, version: u16, footer: &[u8], offset: u64, out: &mut Vec<u8>) {
    out.extend_from_slice(footer);
    let start = out.len();
    out.extend_from_slice(&offset.to_le_bytes());
    out.extend_from_slice(&(footer.len() as u64).to_le_bytes());
    out.extend_from_slice(&crc32c::crc32c(footer).to_le_bytes());
    let sum = crc32c::crc32c_append(crc32c::crc32c(&out[start..]), &header(kind, version));
    out.extend_from_slice(&sum.to_le_bytes());
    out.extend_from_slice(&kind.magic());
}

/// Where the footer lies.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Trailer {
    /// Offset in the file.
    pub offset: u64,
    /// Bytes.
    pub len: u64,
    /// CRC-32C.
    pub sum: u32,
    /// CRC-32C of the trailer's first 20 bytes and the header.
    own_sum: u32,
    start: [u8; 20],
    kind: Kind,
}

/// Parses the last [`TRAILER_BYTES`] bytes of a file.
pub fn parse_trailer(kind: Kind, bytes: &[u8]) -> Result<Trailer> {
    let mut r = Reader::new(bytes);
    let start = r.array::<20>()?;
    let own_sum = r.u32()?;
    if r.array::<8>()? != kind.magic() {
        return Err(Error::damaged(format!("a {kind:?} file does not end as one")));
    }
    let mut r = Reader::new(&start);
    Ok(Trailer { offset: r.u64()?, len: r.u64()?, sum: r.u32()?, own_sum, start, kind })
}

impl Trailer {
    /// Checks the trailer against the version that the header states.
    pub fn check_header(&self, version: u16) -> Result<()> {
        let sum = crc32c::crc32c(&self.start);
        if crc32c::crc32c_append(sum, &header(self.kind, version)) != self.own_sum {
            return Err(Error::damaged("the trailer does not fit the header"));
        }
        Ok(())
    }

    /// Checks the footer's bytes.
    pub fn check(&self, footer: &[u8]) -> Result<()> {
        let found = crc32c::crc32c(footer);
        if footer.len() as u64 != self.len || found != self.sum {
            return Err(Error::corruption(
                "",
                self.offset,
                format!("footer checksum {found:08x}, expected {:08x}", self.sum),
            ));
        }
        Ok(())
    }
}
