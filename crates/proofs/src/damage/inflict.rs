//! How are files damaged?

use onlap_base::names::FileKind;
use onlap_base::rng::Rng;
use onlap_vfs::MemFs;

use super::{files, read, write};

/// What was done.
pub(super) struct Damage {
    pub(super) what: String,
    kind: FileKind,
    /// A bit or a byte.
    pub(super) small: bool,
}

impl Damage {
    pub(super) fn of_log(&self) -> bool {
        matches!(self.kind, FileKind::Log(_))
    }

    pub(super) fn file_kind(&self) -> &'static str {
        match self.kind {
            FileKind::Log(_) => "of logs",
            FileKind::Manifest(_) => "of manifests",
            FileKind::Segment(_) => "of segments",
            FileKind::Run(_) => "of runs",
            FileKind::Marks(_) => "of mark runs",
            _ => "of CURRENT",
        }
    }
}

/// Damages one file; `None` where the lots say what cannot be done to it.
pub(super) fn inflict(
    disk: &MemFs,
    rng: &mut Rng,
    conceal: impl Fn(&str, &[u8], &mut Vec<u8>),
) -> Option<Damage> {
    let files = files(disk);
    // Kinds first: there are many runs and one CURRENT.
    let kinds: [fn(&FileKind) -> bool; 6] = [
        |k| matches!(k, FileKind::Log(_)),
        |k| matches!(k, FileKind::Manifest(_)),
        |k| matches!(k, FileKind::Segment(_)),
        |k| matches!(k, FileKind::Run(_)),
        |k| matches!(k, FileKind::Marks(_)),
        |k| matches!(k, FileKind::Current),
    ];
    let wanted = *rng.pick(&kinds);
    let of_kind: Vec<_> = files.iter().filter(|(_, kind)| wanted(kind)).collect();
    if of_kind.is_empty() {
        return None;
    }
    let (name, kind) = *rng.pick(&of_kind);
    let intact = read(disk, name);
    let mut bytes = intact.clone();
    let way = rng.below(8);
    let what = if way == 7 {
        let (other, _) = *rng.pick(&of_kind);
        bytes = read(disk, other);
        write(disk, other, &intact);
        format!("exchanged with {other}")
    } else {
        change(way, &mut bytes, rng)?
    };
    if bytes == intact {
        return None;
    }
    conceal(name, &intact, &mut bytes);
    write(disk, name, &bytes);
    let what = format!("{name} of {} bytes, {what}", intact.len());
    Some(Damage { what, kind: *kind, small: way < 3 })
}

fn change(way: u64, bytes: &mut Vec<u8>, rng: &mut Rng) -> Option<String> {
    if bytes.is_empty() {
        return None;
    }
    // The ends of files hold headers and footers; logs are mostly zeros.
    let used = bytes.iter().rposition(|b| *b != 0).map_or(1, |last| last + 1);
    let at = match rng.below(4) {
        0 => rng.index(used.min(64)),
        1 => used - 1 - rng.index(used.min(200)),
        _ => rng.index(used),
    };
    Some(match way {
        0 | 1 => {
            bytes[at] ^= 1 << rng.below(8);
            format!("a bit flipped at {at}")
        }
        2 => {
            bytes[at] = rng.next_u32() as u8;
            format!("a byte changed at {at}")
        }
        3 => zeros(bytes, at, 512),
        4 => zeros(bytes, at, 4096),
        5 => {
            bytes.truncate(at);
            format!("cut to {at}")
        }
        _ => {
            let size = *rng.pick(&[512, 4096]);
            let blocks = used / size;
            if blocks < 2 {
                return None;
            }
            let (a, b) = (rng.index(blocks), rng.index(blocks));
            for i in 0..size {
                bytes.swap(a * size + i, b * size + i);
            }
            format!("blocks {a} and {b} of {size} bytes exchanged")
        }
    })
}

fn zeros(bytes: &mut [u8], at: usize, size: usize) -> String {
    let from = at / size * size;
    let to = (from + size).min(bytes.len());
    bytes[from..to].fill(0);
    format!("zeros from {from} to {to}")
}
