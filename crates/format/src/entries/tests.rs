use onlap_base::rng::Rng;

use super::*;
use crate::types::Physical;

fn read(list: &[u8]) -> Result<Vec<Vec<u8>>> {
    Ok(Entries::read(list)?.map(<[u8]>::to_vec).collect())
}

#[test]
fn what_is_packed_is_read() {
    let mut rng = Rng::new(1);
    for _ in 0..500 {
        let some = rng.below(40);
        let key = |rng: &mut Rng| {
            let len = 1 + rng.below(KEY_BYTES as u64) as usize;
            (0..len).map(|_| rng.below(3) as u8).collect::<Vec<u8>>()
        };
        let mut keys: Vec<Vec<u8>> = (0..some).map(|_| key(&mut rng)).collect();
        let again = keys.first().cloned();
        keys.extend(again);
        let list = pack(&mut keys).unwrap();
        assert!(keys.is_sorted_by(|a, b| a < b));
        assert_eq!(read(&list).unwrap(), keys);
        assert_eq!(walk(&list).count(), keys.len());
        let mut column = Column::new(Physical::Bytes);
        if let Vector::Bytes(lists) = &mut column.data {
            lists.push(&list);
            lists.push(b"");
        }
        column.push_null();
        assert_eq!(count(&column, 0..3), keys.len() as u64);
        check_lists(&column).unwrap();
    }
}

#[test]
fn lengths_at_the_edge() {
    for len in [1, KEY_BYTES - 1, KEY_BYTES] {
        let mut keys = vec![vec![7; len]];
        let list = pack(&mut keys).unwrap();
        assert_eq!(list.len(), len + 1 + usize::from(len == KEY_BYTES));
        assert_eq!(read(&list).unwrap(), keys);
    }
    for len in [0, KEY_BYTES + 1] {
        assert_eq!(pack(&mut vec![vec![7; len]]).unwrap_err().kind(), ErrorKind::InvalidInput);
    }
}

#[test]
fn too_many_keys_are_refused() {
    let mut keys: Vec<[u8; 3]> = (0..ENTRIES as u32 + 1)
        .map(|i| i.to_be_bytes()[1..].try_into().expect("three bytes"))
        .collect();
    assert_eq!(pack(&mut keys).unwrap_err().kind(), ErrorKind::LimitExceeded);
    keys.pop();
    let mut list = pack(&mut keys).unwrap();
    assert_eq!(read(&list).unwrap().len(), ENTRIES);
    // One more key behind the largest.
    list.extend([4, 0xff, 0xff, 0xff, 0xff]);
    assert_eq!(Entries::read(&list).unwrap_err().kind(), ErrorKind::LimitExceeded);
    let mut keys: Vec<[u8; KEY_BYTES]> = (0..VALUE_BYTES / KEY_BYTES)
        .map(|i| {
            let mut key = [0; KEY_BYTES];
            key[..8].copy_from_slice(&(i as u64).to_be_bytes());
            key
        })
        .collect();
    assert_eq!(pack(&mut keys).unwrap_err().kind(), ErrorKind::LimitExceeded);
}

#[test]
fn other_bytes_are_no_lists() {
    let wrong: [&[u8]; 8] = [
        b"\x00",
        b"\x01",
        b"\x02a",
        b"\x01b\x01a",
        b"\x01a\x01a",
        b"\x80\x02",
        b"\x81\x01aa",
        b"\x80\x00",
    ];
    for list in wrong {
        assert_eq!(Entries::read(list).unwrap_err().kind(), ErrorKind::Corruption, "{list:?}");
    }
    let mut rng = Rng::new(2);
    for _ in 0..2000 {
        let bytes: Vec<u8> = (0..rng.below(60)).map(|_| rng.below(140) as u8).collect();
        if let Ok(keys) = Entries::read(&bytes) {
            let mut keys: Vec<Vec<u8>> = keys.map(<[u8]>::to_vec).collect();
            assert_eq!(pack(&mut keys).unwrap(), bytes, "one list for each set of keys");
        }
        assert!(walk(&bytes).map(|key| key.len() + 1).sum::<usize>() <= bytes.len());
        assert!((0..70).all(|at| entry(&bytes, at).is_none_or(|(_, next)| next <= bytes.len())));
    }
}
