//! How do longer texts become fewer bytes and stay readable one by one?
//!
//! FSST (Boncz, Neumann, Leis: "FSST: Fast Random Access String Compression", VLDB 2020): up to 255
//! symbols of 1 to 8 bytes get one-byte codes, code 255 escapes one literal byte. Making a table
//! takes most of a millisecond, so an encoder keeps one from block to block ([`Table`]) and makes a
//! new one when it no longer fits; each stream carries its table and explains itself.
//!
//! | part | bytes |
//! |---|---|
//! | symbols | 1: how many |
//! | lengths | 1 per symbol, 1 to 8 |
//! | bytes | the symbols' bytes one after the other |
//! | places | of the strings, in codes: lengths and anchors |
//! | codes | |

use std::fmt;
use std::ops::Range;

use fsst::Compressor;
use onlap_base::{Error, Result};

use super::places::{self, Places};
use crate::batch::BytesVec;
use crate::wire::Reader;

const ESCAPE: u8 = 255;

/// Fewer bytes than this cannot pay for a table.
const BYTES_MIN: usize = 4096;
/// Most blocks that pass between two attempts where a table did not help.
const WAIT_MAX: u32 = 255;

/// The table that an encoder carries from block to block.
#[derive(Default)]
pub(super) struct Table {
    compressor: Option<Compressor>,
    /// Encoded bytes per 1024 when the table was new.
    ratio: usize,
    /// Blocks to leave out, and how many were left out last time.
    wait: u32,
    waited: u32,
}

impl fmt::Debug for Table {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Table").field("ratio", &self.ratio).field("wait", &self.wait).finish()
    }
}

impl Table {
    /// Appends the strings as codes where that takes clearly less than `size` bytes.
    pub(super) fn put_if_smaller(
        &mut self,
        values: &BytesVec,
        range: Range<usize>,
        size: usize,
        head: u8,
        out: &mut Vec<u8>,
    ) -> bool {
        let raw = (values.offsets[range.end] - values.offsets[range.start]) as usize;
        if raw < BYTES_MIN {
            return false;
        }
        if self.wait > 0 {
            self.wait -= 1;
            return false;
        }
        let fresh = self.compressor.is_none();
        let compressor = self.compressor.get_or_insert_with(|| {
            Compressor::train(&range.clone().map(|i| values.get(i)).collect())
        });
        let start = out.len();
        out.push(head);
        put_table(compressor, out);
        let mut codes = Vec::with_capacity(raw);
        let lengths: Vec<i64> = range
            .map(|i| {
                let before = codes.len();
                codes.extend_from_slice(&compressor.compress(values.get(i)));
                (codes.len() - before) as i64
            })
            .collect();
        places::put(&lengths, out);
        out.extend_from_slice(&codes);
        let taken = out.len() - start;
        let ratio = taken * 1024 / raw;
        if fresh {
            self.ratio = ratio;
        }
        if taken < size - size / 16 {
            self.waited = 0;
            if ratio > self.ratio + self.ratio / 8 {
                self.compressor = None;
            }
            return true;
        }
        out.truncate(start);
        self.compressor = None;
        if fresh {
            self.waited = (self.waited * 2 + 1).min(WAIT_MAX);
            self.wait = self.waited;
        }
        false
    }
}

fn put_table(compressor: &Compressor, out: &mut Vec<u8>) {
    out.push(compressor.n_symbols() as u8);
    out.extend_from_slice(compressor.symbol_lengths());
    for (symbol, len) in compressor.symbol_table().iter().zip(compressor.symbol_lengths()) {
        out.extend_from_slice(&symbol.to_u64().to_le_bytes()[..usize::from(*len)]);
    }
}

/// An encoded stream, parsed.
#[derive(Clone, Copy, Debug)]
pub(super) struct SymbolsView<'a> {
    lengths: &'a [u8],
    symbols: &'a [u8],
    places: Places<'a>,
    codes: &'a [u8],
}

/// Symbols by code: eight bytes, of which the first `lengths[code]` count.
struct Symbols {
    bytes: [[u8; 8]; 256],
    lengths: [u8; 256],
}

impl<'a> SymbolsView<'a> {
    pub(super) fn parse(r: &mut Reader<'a>, len: usize) -> Result<SymbolsView<'a>> {
        let count = usize::from(r.u8()?);
        let lengths = r.take(count)?;
        if count > 255 || lengths.iter().any(|n| !(1..=8).contains(n)) {
            return Err(r.damaged("a symbol table with impossible lengths"));
        }
        let symbols = r.take(lengths.iter().map(|n| usize::from(*n)).sum())?;
        let places = Places::parse(r, len)?;
        let codes = r.take(places.total())?;
        Ok(SymbolsView { lengths, symbols, places, codes })
    }

    fn symbols(&self) -> Symbols {
        // Codes past the table, which only damage has, stand for nothing.
        let mut symbols = Symbols { bytes: [[0; 8]; 256], lengths: [0; 256] };
        let mut rest = self.symbols;
        for (code, n) in self.lengths.iter().enumerate() {
            let (bytes, tail) = rest.split_at(usize::from(*n));
            symbols.bytes[code][..bytes.len()].copy_from_slice(bytes);
            symbols.lengths[code] = *n;
            rest = tail;
        }
        symbols
    }

    /// Appends string `i`. The table is walked once per call: some 200 ns.
    pub(super) fn get_into(&self, i: usize, out: &mut Vec<u8>) {
        if let Some(codes) = self.codes.get(self.places.range(i)) {
            self.symbols().expand(codes, out);
        }
    }

    pub(super) fn append_to(&self, range: Range<usize>, out: &mut BytesVec) -> Result<()> {
        let damaged = || Error::damaged("strings reach past the end of their column");
        let (start, lengths) = self.places.lengths(range).ok_or_else(damaged)?;
        let total = lengths.iter().sum::<i64>() as usize;
        super::room_for(out, total.saturating_mul(8))?;
        let symbols = self.symbols();
        let mut rest = &self.codes[start..start + total];
        for n in lengths {
            let (codes, tail) = rest.split_at(n as usize);
            rest = tail;
            symbols.expand(codes, &mut out.data);
            out.offsets.push(out.data.len() as u32);
        }
        Ok(())
    }
}

impl Symbols {
    /// Appends what the codes stand for.
    fn expand(&self, codes: &[u8], out: &mut Vec<u8>) {
        let mut at = out.len();
        // Every code writes eight bytes and keeps as many as its symbol has.
        out.resize(at + codes.len() * 8, 0);
        let mut codes = codes.iter();
        while let Some(&code) = codes.next() {
            if code == ESCAPE {
                out[at] = codes.next().copied().unwrap_or(0);
                at += 1;
            } else {
                out[at..at + 8].copy_from_slice(&self.bytes[usize::from(code)]);
                at += usize::from(self.lengths[usize::from(code)]);
            }
        }
        out.truncate(at);
    }
}
