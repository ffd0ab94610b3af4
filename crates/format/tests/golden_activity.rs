//! Do files of counters lie on disk as they did?

mod golden_files;

use onlap_base::{IndexId, TableId};
use onlap_format::activity::{self, Of, RECORD_BYTES, Record, VALUES};

fn records() -> Vec<Record> {
    let values = |first: u64| std::array::from_fn(|at| first + at as u64);
    let mut index = [0; VALUES];
    index[..4].copy_from_slice(&[u64::MAX, 9, 8, 7]);
    vec![
        Record { of: Of::Table(TableId(3)), values: values(1_000) },
        Record { of: Of::Index(IndexId(4)), values: index },
        Record { of: Of::Table(TableId(u32::MAX)), values: values(1 << 50) },
    ]
}

#[test]
fn file_of_counters() {
    let file = activity::encode(&records());
    golden_files::check("activity.bin", &file);
    assert_eq!(activity::decode(&file).unwrap(), records());
    assert_eq!(activity::decode(&activity::encode(&[])).unwrap(), []);
}

#[test]
fn every_damaged_byte_and_every_cut_is_noticed() {
    let whole = activity::encode(&records());
    for at in 0..whole.len() {
        let mut file = whole.clone();
        file[at] ^= 0x10;
        activity::decode(&file).unwrap_err();
        activity::decode(&whole[..at]).unwrap_err();
    }
}

/// A file with its sum as it should be.
fn summed(mut body: Vec<u8>) -> Vec<u8> {
    let sum = crc32c::crc32c(&body).to_le_bytes();
    body.extend_from_slice(&sum);
    body
}

#[test]
fn what_is_of_another_form_is_none_of_ours() {
    let whole = activity::encode(&records());
    let body = &whole[..whole.len() - 4];
    let changed = |at: usize, byte: u8| {
        let mut body = body.to_vec();
        body[at] = byte;
        activity::decode(&summed(body))
    };
    assert_eq!(changed(8, 2).unwrap(), [], "a newer release's says nothing");
    for (at, byte) in [(8, 0), (10, 120), (12, 4), (12, 2), (16, 3), (0, b'o')] {
        changed(at, byte).unwrap_err();
    }
    activity::decode(&summed(body[..body.len() - RECORD_BYTES / 2].to_vec())).unwrap_err();
}
