//! Which checksums lie in an encoding, so that changed bytes are let in behind them?

/// Where a format keeps its checksums.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Seal {
    /// None of its own.
    None,
    /// The first four bytes, of the rest.
    Front,
    /// The last four bytes, of the rest.
    Back,
    /// As `onlap_format::log` says.
    Log,
    /// As `onlap_format::manifest` says.
    Manifest,
}

/// Of a log file's header and of a record's frame.
const LOG_HEADER: usize = 48;
const LOG_FRAME: usize = 24;
/// The same of the manifest.
const MANIFEST_HEADER: usize = 24;
const MANIFEST_FRAME: usize = 12;

fn put(bytes: &mut [u8], at: usize, sum: u32) {
    bytes[at..at + 4].copy_from_slice(&sum.to_le_bytes());
}

fn word(bytes: &[u8], at: usize) -> usize {
    u32::from_le_bytes(bytes[at..at + 4].try_into().expect("four bytes")) as usize
}

/// The number in a file's header: that of its name, below 2^32.
pub(super) fn number(bytes: &[u8]) -> u64 {
    bytes.get(16..20).map_or(0, |bytes| word(bytes, 0) as u64)
}

impl Seal {
    /// Whether the checksum over all of the bytes fits, where there is one.
    pub(super) fn fits(self, bytes: &[u8]) -> Option<bool> {
        let (sum, rest) = match self {
            Seal::Front => bytes.split_first_chunk::<4>()?,
            Seal::Back => bytes.split_last_chunk::<4>().map(|(rest, sum)| (sum, rest))?,
            _ => return None,
        };
        Some(crc32c::crc32c(rest) == u32::from_le_bytes(*sum))
    }

    /// Makes all checksums fit; lengths of records are cut to what is there.
    pub(super) fn fit(self, bytes: &mut [u8]) {
        match self {
            Seal::Front if bytes.len() > 4 => put(bytes, 0, crc32c::crc32c(&bytes[4..])),
            Seal::Back if bytes.len() > 4 => {
                let end = bytes.len() - 4;
                put(bytes, end, crc32c::crc32c(&bytes[..end]));
            }
            Seal::Log => fit_log(bytes),
            Seal::Manifest => fit_manifest(bytes),
            _ => {}
        }
    }
}

fn fit_log(bytes: &mut [u8]) {
    if bytes.len() < LOG_HEADER {
        return;
    }
    put(bytes, 12, crc32c::crc32c(&bytes[16..LOG_HEADER]));
    let (number, mut at) = (number(bytes), LOG_HEADER);
    while bytes.len() - at > LOG_FRAME && (1..=4).contains(&bytes[at + 12]) {
        let group = if bytes[at + 13] & 1 == 1 { 16 } else { 0 };
        let bases = usize::from(u16::from_le_bytes([bytes[at + 14], bytes[at + 15]]));
        let frame = LOG_FRAME + group + 12 * bases;
        if bytes.len() - at < frame {
            return;
        }
        let body = word(bytes, at + 4).min(bytes.len() - at - frame);
        put(bytes, at + 4, body as u32);
        put(bytes, at + 8, crc32c::crc32c(&bytes[at + frame..at + frame + body]));
        let position = (number << 32 | at as u64).to_le_bytes();
        let sum = crc32c::crc32c_append(crc32c::crc32c(&position), &bytes[at + 4..at + frame]);
        put(bytes, at, sum);
        at += frame + body;
    }
}

fn fit_manifest(bytes: &mut [u8]) {
    if bytes.len() < MANIFEST_HEADER {
        return;
    }
    put(bytes, 12, crc32c::crc32c(&bytes[16..MANIFEST_HEADER]));
    let (number, mut at) = (number(bytes), MANIFEST_HEADER);
    while bytes.len() - at > MANIFEST_FRAME && word(bytes, at + 4) > 0 {
        let start = at + MANIFEST_FRAME;
        let body = word(bytes, at + 4).min(bytes.len() - start);
        put(bytes, at + 4, body as u32);
        put(bytes, at + 8, crc32c::crc32c(&bytes[start..start + body]));
        let place = [number.to_le_bytes(), (at as u64).to_le_bytes()].concat();
        let sum = crc32c::crc32c_append(crc32c::crc32c(&place), &bytes[at + 4..start]);
        put(bytes, at, sum);
        at = start + body;
    }
}
