//! Do files of samples lie on disk as they did?

mod golden_files;

use onlap_format::samples::{self, Sample, Slot, VALUES};

fn sample(n: u64) -> Sample {
    Sample {
        at_us: 1_700_000_000_000_000 + n as i64 * 10_000_000,
        span_us: 10_000_000,
        commits: 100 + n,
        rows: 200,
        statements: 300,
        entries_read: 400,
        rows_read: 500,
        blocks_read: 600,
        written: 700,
        p50_ns: 800,
        p99_ns: 900,
        longest_ns: 1000,
        stalled_us: [1, 2, 3, 4, 5],
        stalls: 6,
        merge_debt: 7,
        merge_debt_limit: 8,
        snapshot_debt: 9,
        history_debt: 10,
        memory: [11, 12, 13, 14, 15, 16],
        memory_limit: 17,
        disk: [18, 19, 20, 21, 22],
        written_ever: u64::MAX,
    }
}

fn file() -> (Vec<Slot>, Vec<u8>) {
    let slots = vec![Slot::Sample(sample(1)), Slot::Gap, Slot::Sample(sample(2))];
    let mut file = samples::header();
    slots.iter().for_each(|slot| samples::put(slot, &mut file));
    (slots, file)
}

#[test]
fn file_of_samples() {
    let (slots, file) = file();
    golden_files::check("samples.bin", &file);
    assert!(samples::check_header(&file).unwrap());
    let read: Vec<_> = samples::slots(&file).collect();
    assert_eq!(read, slots.into_iter().map(Some).collect::<Vec<_>>());
    let values = sample(3).values();
    let distinct: std::collections::BTreeSet<u64> = values.into_iter().collect();
    assert_eq!(distinct.len(), VALUES, "each field has its own place");
}

#[test]
fn every_damaged_byte_is_noticed() {
    let (slots, whole) = file();
    for at in 0..whole.len() {
        let mut file = whole.clone();
        file[at] ^= 0x10;
        if at < samples::HEADER_BYTES {
            samples::check_header(&file).unwrap_err();
            continue;
        }
        let damaged = (at - samples::HEADER_BYTES) / samples::SLOT_BYTES;
        for (n, slot) in samples::slots(&file).enumerate() {
            assert_eq!(slot, (n != damaged).then_some(slots[n]), "byte {at}, slot {n}");
        }
    }
    for len in 0..whole.len() {
        let cut = &whole[..len];
        assert_eq!(samples::check_header(cut).is_ok(), len >= samples::HEADER_BYTES);
        let left = len.saturating_sub(samples::HEADER_BYTES) / samples::SLOT_BYTES;
        assert_eq!(samples::slots(cut).count(), left);
    }
}

#[test]
fn a_newer_file_is_left_alone() {
    let (_, mut file) = file();
    file[8] = 2;
    let sum = crc32c::crc32c(&file[..12]).to_le_bytes();
    file[12..16].copy_from_slice(&sum);
    assert!(!samples::check_header(&file).unwrap());
}
