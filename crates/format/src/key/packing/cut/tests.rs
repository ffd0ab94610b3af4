//! Cut keys against whole ones: order, bounds and both forms.

use onlap_base::rng::Rng;

use super::{cut_key, cut_len};
use crate::batch::{Column, Vector};
use crate::key::{ColumnStats, KeyBound, KeyColumn, KeyDef, Keys, Packing, uuid_text};
use crate::types::DataType;
use crate::value::Value;

fn def(first: DataType, descending: bool) -> KeyDef {
    KeyDef::new(vec![
        KeyColumn { ty: first, descending },
        KeyColumn { ty: DataType::Int4, descending: false },
    ])
}

/// Key bytes of values that share much, so that cuts fall everywhere.
fn random_key(def: &KeyDef, rng: &mut Rng, uuids: bool) -> Vec<u8> {
    let letters = |rng: &mut Rng| -> Vec<u8> {
        (0..rng.below(16)).map(|_| [b'a', b'b', 1, 255][rng.below(4) as usize]).collect()
    };
    let first = match def.columns[0].ty {
        _ if !uuids && rng.chance(0.1) => Value::Null,
        DataType::Uuid => {
            let n = u128::from(rng.next_u64() & 0x0101) << 80 | u128::from(rng.next_u64() & 3);
            Value::Uuid(n.to_be_bytes())
        }
        DataType::Bytea => {
            Value::Bytes(letters(rng).into_iter().map(|b| if b == 1 { 0 } else { b }).collect())
        }
        _ if uuids => {
            let n = u128::from(rng.next_u64() & 0x0f0f) << 84 | u128::from(rng.next_u64() & 3);
            Value::Text(String::from_utf8(uuid_text::format(n).to_vec()).unwrap())
        }
        _ => {
            let text: Vec<u8> = letters(rng).into_iter().filter(|b| *b < 128).collect();
            Value::Text(String::from_utf8(text).unwrap())
        }
    };
    def.encode_values(&[first, Value::Int(rng.below(3) as i64)]).unwrap()
}

fn whole(def: &KeyDef, keys: &[Vec<u8>]) -> Keys {
    let mut out = Packing::bytes(def).new_keys();
    let Keys::Bytes(bytes) = &mut out else { unreachable!() };
    keys.iter().for_each(|key| bytes.push(key));
    out
}

#[test]
fn a_cut_keeps_the_order_and_tells_where_bounds_lie() {
    let mut rng = Rng::new(7);
    for (ty, uuids) in [
        (DataType::Uuid, false),
        (DataType::Bytea, false),
        (DataType::Text, false),
        (DataType::Text, true),
    ] {
        for descending in [false, true] {
            let def = def(ty, descending);
            let len = cut_len(&def).unwrap();
            let mut keys: Vec<_> = (0..400).map(|_| random_key(&def, &mut rng, uuids)).collect();
            keys.sort_unstable();
            let bytes = Packing::bytes(&def);
            let from = whole(&def, &keys);
            for dense in [false, true].into_iter().take(1 + usize::from(uuids)) {
                let cut = Packing::cut(&def, dense).unwrap();
                let mut out = cut.new_keys();
                assert!(cut.repack(&bytes, &from, 0..keys.len(), &mut out).unwrap());
                assert!(out.is_sorted(), "{ty} {descending} {dense}");
                for (i, key) in keys.iter().enumerate() {
                    let mut kept = Vec::new();
                    cut.key_bytes(&out, i, &mut kept).unwrap();
                    assert_eq!(kept, cut_key(key, len), "{ty} {descending} {dense}");
                }
                check_bounds(&def, &cut, &keys, &out, &mut rng);
            }
        }
    }
}

fn check_bounds(def: &KeyDef, cut: &Packing, keys: &[Vec<u8>], out: &Keys, rng: &mut Rng) {
    let len = cut_len(def).unwrap();
    let start = |bound: &KeyBound| cut.lower_bound(out, 0..keys.len(), bound).unwrap();
    for _ in 0..300 {
        let key = &keys[rng.below(keys.len() as u64) as usize];
        // A cut key tells whole keys apart as it tells cut ones.
        let trim = cut_key(key, len);
        let at = start(&cut.bound(trim, false));
        assert_eq!(at, keys.partition_point(|k| &k[..] < trim));
        let columns = rng.below(3) as usize;
        let end: usize = (0..columns)
            .scan(0, |end, c| {
                *end += def.column_len(c, &key[*end..]);
                Some(*end)
            })
            .last()
            .unwrap_or(0);
        let prefix = &key[..end];
        let (low, high) = (start(&cut.bound(prefix, false)), start(&cut.bound(prefix, true)));
        let first = keys.partition_point(|k| &k[..] < prefix);
        let last = keys.partition_point(|k| &k[..] < prefix || k.starts_with(prefix));
        assert!(low <= first && last <= high, "a bound lets in what belongs");
        let same = |i: &usize| cut_key(&keys[*i], len) == cut_key(prefix, len);
        match prefix.len() <= len {
            true => assert_eq!((low, high), (first, last), "short prefixes are exact"),
            false => assert!((low..first).chain(last..high).all(|i| same(&i))),
        }
    }
}

#[test]
fn fields_are_cut_as_their_bytes_are() {
    let mut rng = Rng::new(8);
    for (ty, descending) in [
        (DataType::Uuid, false),
        (DataType::Uuid, true),
        (DataType::Text, false),
        (DataType::Text, true),
    ] {
        let def = KeyDef::new(vec![KeyColumn { ty, descending }]);
        let ids: Vec<u128> = (0..100)
            .map(|_| u128::from(rng.next_u64()) << 64 | u128::from(rng.next_u64()))
            .collect();
        let data = match ty {
            DataType::Uuid => Vector::Wide(ids.iter().map(|id| (id ^ 1 << 127) as i128).collect()),
            _ => {
                let mut column = Column::new(ty.physical());
                let Vector::Bytes(texts) = &mut column.data else { unreachable!() };
                ids.iter().for_each(|id| texts.push(&uuid_text::format(*id)));
                column.data
            }
        };
        let column = Column { data, nulls: None };
        let mut stats = ColumnStats::new(ty);
        stats.observe(&column, 0..100);
        let full = Packing::fit(&def, &[stats]);
        let cut = full.to_cut().unwrap();
        assert_eq!(cut.bits(), 48, "a marker and 40 bits");
        let (mut keys, mut of_fields) = (full.new_keys(), cut.new_keys());
        assert!(full.pack(&[&column], 0..100, &mut keys));
        assert!(cut.repack(&full, &keys, 0..100, &mut of_fields).unwrap());
        let mut of_rows = cut.new_keys();
        assert!(cut.pack(&[&column], 0..100, &mut of_rows));
        assert_eq!(of_fields, of_rows);
        assert!(cut.unpack(&of_rows, 0..1, &mut cut.new_columns()).is_err());
        // The other form has the same bytes.
        let plain = Packing::cut(&def, false).unwrap();
        let union = Packing::union(&[&cut, &plain]);
        assert_eq!(union, plain);
        let mut moved = union.new_keys();
        assert!(union.repack(&cut, &of_rows, 0..100, &mut moved).unwrap());
        for i in 0..100 {
            let (mut a, mut b) = (Vec::new(), Vec::new());
            cut.key_bytes(&of_rows, i, &mut a).unwrap();
            plain.key_bytes(&moved, i, &mut b).unwrap();
            assert_eq!(a, b);
        }
    }
}

#[test]
fn what_is_no_uuid_does_not_fit_the_dense_form() {
    let def = KeyDef::new(vec![KeyColumn { ty: DataType::Text, descending: false }]);
    let cut = Packing::cut(&def, true).unwrap();
    for text in ["", "0a1b2c3d", "0a1b2c3d-11", "0A1b2c3d-1111", "0a1b2c3dx1111", "0a1b2c3d--111"] {
        let key = def.encode_values(&[Value::Text(text.into())]).unwrap();
        let fits =
            cut.repack(&Packing::bytes(&def), &whole(&def, &[key]), 0..1, &mut cut.new_keys());
        assert_eq!(fits.unwrap(), text == "0a1b2c3d-11", "{text}");
    }
    let ints = KeyDef::new(vec![KeyColumn { ty: DataType::Int8, descending: false }]);
    assert!(Packing::cut(&ints, false).is_none());
    let mut bytes = Vec::new();
    cut.encode(&mut bytes);
    assert_eq!(bytes, [6, 1]);
    assert_eq!(Packing::decode(&def, &bytes).unwrap(), cut);
    assert!(Packing::decode(&ints, &[6, 1]).is_err() && Packing::decode(&ints, &[5, 1]).is_err());
    assert!(Packing::decode(&def, &[5, 1, 0]).is_err() && Packing::decode(&def, &[7, 1]).is_err());
}
