//! The order of keys against the order of values.

use std::cmp::Ordering;

use onlap_base::rng::Rng;

use super::{ColumnStats, Entries, KeyColumn, KeyDef, KeyForm, Packing, sort_permutation};
use crate::batch::{Batch, BytesVec, Column};
use crate::convert::{compare_values, push_value, read_value};
use crate::types::DataType;
use crate::value::{Numeric, Value};

const TYPES: [DataType; 19] = [
    DataType::Bool,
    DataType::Int2,
    DataType::Int4,
    DataType::Int8,
    DataType::Float4,
    DataType::Float8,
    DataType::Numeric(None),
    DataType::Numeric(Some((10, 2))),
    DataType::Numeric(Some((38, 0))),
    DataType::Text,
    DataType::Varchar(20),
    DataType::Char(36),
    DataType::Bytea,
    DataType::Uuid,
    DataType::Date,
    DataType::Time,
    DataType::Timestamp,
    DataType::Timestamptz,
    DataType::Folded,
];

/// Which values a column takes.
#[derive(Clone, Copy, PartialEq)]
enum Spread {
    /// The type's ends and all kinds of special values.
    Wild,
    /// Few and close together.
    Narrow,
}

fn float(rng: &mut Rng, spread: Spread) -> f64 {
    let special = [
        0.0,
        -0.0,
        1.5,
        -1.5,
        f64::NAN,
        -f64::NAN,
        f64::INFINITY,
        f64::NEG_INFINITY,
        f64::MIN_POSITIVE,
    ];
    match spread {
        Spread::Wild if rng.chance(0.5) => *rng.pick(&special),
        Spread::Wild => f64::from(f32::from_bits(rng.next_u32())),
        Spread::Narrow => rng.range(-20..20) as f64 / 4.0,
    }
}

fn int(rng: &mut Rng, spread: Spread, low: i64, high: i64) -> i64 {
    match (spread, rng.below(6)) {
        (Spread::Narrow, _) => 10 * rng.range(-5..30),
        (_, 0) => low,
        (_, 1) => high,
        (_, 2) => rng.range(-3..3),
        _ => (rng.next_u64() as i64).clamp(low, high),
    }
}

fn numeric(rng: &mut Rng, spread: Spread, fixed: bool) -> Numeric {
    let largest = if fixed { 99_999_999 } else { 10i128.pow(38) - 1 };
    if spread == Spread::Narrow {
        return Numeric { mantissa: i128::from(rng.range(-300..300)), scale: rng.below(3) as u8 };
    }
    match rng.below(6) {
        0 => Numeric::NAN,
        1 if !fixed => *rng.pick(&[Numeric::INFINITY, Numeric::NEGATIVE_INFINITY]),
        1 | 2 => Numeric { mantissa: if rng.chance(0.5) { largest } else { -largest }, scale: 0 },
        3 => Numeric { mantissa: 0, scale: rng.below(3) as u8 },
        _ if fixed => Numeric { mantissa: i128::from(rng.range(-900..900)), scale: 2 },
        _ => {
            let digits = rng.below(38) as u32;
            let m = (u128::from(rng.next_u64()) << 62 | u128::from(rng.next_u64())) as i128
                % 10i128.pow(digits + 1);
            let scale = rng.below(39) as u8;
            Numeric { mantissa: if rng.chance(0.5) { m } else { -m }, scale }
        }
    }
}

fn text(rng: &mut Rng, spread: Spread) -> String {
    let letters = ["a", "b", "A", " ", "\t", "é", "\u{1}", "z", "\u{10ffff}"];
    let most = if spread == Spread::Narrow { 4 } else { 9 };
    let n = rng.index(most);
    (0..n).map(|_| *rng.pick(&letters)).collect()
}

fn uuid_text(rng: &mut Rng) -> String {
    let h = format!("{:016x}{:016x}", rng.below(4) << 60 | rng.below(3), rng.next_u64());
    format!("{}-{}-{}-{}-{}", &h[..8], &h[8..12], &h[12..16], &h[16..20], &h[20..])
}

fn value(rng: &mut Rng, ty: DataType, spread: Spread) -> Value {
    match ty {
        DataType::Bool => Value::Bool(rng.chance(0.5)),
        DataType::Int2 => Value::Int(int(rng, spread, i16::MIN.into(), i16::MAX.into())),
        DataType::Int4 => Value::Int(int(rng, spread, i32::MIN.into(), i32::MAX.into())),
        DataType::Int8 => Value::Int(int(rng, spread, i64::MIN, i64::MAX)),
        DataType::Float4 => Value::Float(f64::from(float(rng, spread) as f32)),
        DataType::Float8 => Value::Float(float(rng, spread)),
        DataType::Numeric(p) => Value::Numeric(numeric(rng, spread, p.is_some())),
        DataType::Text if spread == Spread::Wild && rng.chance(0.2) => {
            Value::Text(text(rng, spread).repeat(3))
        }
        DataType::Text | DataType::Varchar(_) | DataType::Folded => Value::Text(text(rng, spread)),
        DataType::Char(_) if spread == Spread::Narrow => Value::Text(uuid_text(rng)),
        DataType::Char(_) => Value::Text(text(rng, spread)),
        DataType::Bytea => {
            Value::Bytes((0..rng.index(5)).map(|_| *rng.pick(&[0, 1, 255])).collect())
        }
        DataType::Uuid => {
            let high = if spread == Spread::Wild { rng.next_u64() } else { rng.below(3) << 62 };
            Value::Uuid((u128::from(high) << 64 | u128::from(rng.below(4))).to_be_bytes())
        }
        DataType::Date => Value::Date(int(rng, spread, -2_440_588, 2_145_042_541) as i32),
        DataType::Time => Value::Time(int(rng, spread, 0, 86_400_000_000).max(0)),
        DataType::Timestamp | DataType::Timestamptz => Value::Timestamp(int(
            rng,
            spread,
            -210_866_803_200_000_000,
            9_223_371_331_200_000_000 / 2,
        )),
        DataType::Json => unreachable!("not a key type"),
    }
}

struct Case {
    def: KeyDef,
    columns: Vec<Column>,
    rows: Vec<Vec<Value>>,
    keys: BytesVec,
}

fn case(rng: &mut Rng, types: &[DataType], spread: Spread, n: usize) -> Case {
    let columns: Vec<KeyColumn> =
        types.iter().map(|&ty| KeyColumn { ty, descending: rng.chance(0.5) }).collect();
    let def = KeyDef::new(columns);
    let mut columns = Vec::new();
    for ty in types {
        let nulls = rng.chance(0.5);
        let mut column = Column::new(ty.physical());
        for _ in 0..n {
            if nulls && rng.chance(0.2) {
                column.push_null();
            } else {
                push_value(*ty, &value(rng, *ty, spread), &mut column, "c").unwrap();
            }
        }
        columns.push(column);
    }
    let row = |i: usize| {
        types.iter().zip(&columns).map(|(ty, c)| read_value(*ty, c, i)).collect::<Vec<_>>()
    };
    let rows = (0..n).map(row).collect();
    let refs: Vec<&Column> = columns.iter().collect();
    let (mut keys, mut key) = (BytesVec::default(), Vec::new());
    for i in 0..n {
        key.clear();
        def.encode_row(&refs, i, &mut key);
        keys.push(&key);
    }
    Case { def, columns, rows, keys }
}

fn packing_of(case: &Case, rows: std::ops::Range<usize>) -> Packing {
    let stats = |(k, c): (&KeyColumn, &Column)| {
        // In two parts, merged.
        let (mut a, mut b) = (ColumnStats::new(k.ty), ColumnStats::new(k.ty));
        let middle = rows.start + rows.len() / 3;
        a.observe(c, rows.start..middle);
        b.observe(c, middle..rows.end);
        a.merge(&b);
        a
    };
    let stats: Vec<ColumnStats> = case.def.columns.iter().zip(&case.columns).map(stats).collect();
    Packing::fit(&case.def, &stats)
}

fn compare_rows(def: &KeyDef, a: &[Value], b: &[Value]) -> Ordering {
    def.columns.iter().zip(a.iter().zip(b)).fold(Ordering::Equal, |order, (k, (x, y))| {
        let one = match (*x == Value::Null, *y == Value::Null) {
            (false, false) => compare_values(k.ty, x, y),
            (x, y) => x.cmp(&y),
        };
        order.then(if k.descending { one.reverse() } else { one })
    })
}

fn each_case(seed: u64, n: usize, mut check: impl FnMut(&mut Rng, &Case)) {
    let mut rng = Rng::new(seed);
    for spread in [Spread::Wild, Spread::Narrow] {
        for ty in TYPES {
            for _ in 0..3 {
                let case = case(&mut rng, &[ty], spread, n);
                check(&mut rng, &case);
            }
        }
        for _ in 0..60 {
            let types: Vec<DataType> = (0..2 + rng.index(3)).map(|_| *rng.pick(&TYPES)).collect();
            let case = case(&mut rng, &types, spread, n);
            check(&mut rng, &case);
        }
    }
}

#[test]
fn key_bytes_sort_as_values_do() {
    each_case(1, 60, |_, case| {
        for (i, a) in case.rows.iter().enumerate() {
            assert_eq!(case.def.encode_values(a).unwrap(), case.keys.get(i), "{a:?}");
            for (j, b) in case.rows.iter().enumerate() {
                let bytes = case.keys.get(i).cmp(case.keys.get(j));
                assert_eq!(bytes, compare_rows(&case.def, a, b), "{:?}: {a:?} {b:?}", case.def);
            }
        }
    });
}

#[test]
fn prefixes_of_columns_are_prefixes_of_bytes_and_nothing_else_is() {
    each_case(2, 40, |rng, case| {
        for (i, row) in case.rows.iter().enumerate() {
            let len = rng.index(row.len() + 1);
            let prefix = case.def.encode_values(&row[..len]).unwrap();
            assert!(case.keys.get(i).starts_with(&prefix));
            for (other, key) in case.rows.iter().zip(case.keys.iter()) {
                let same = compare_rows(&case.def, &row[..len], &other[..len]).is_eq();
                assert_eq!(key.starts_with(&prefix), same, "{row:?} {other:?}");
            }
        }
    });
}

#[test]
fn keys_decode_to_equal_values() {
    each_case(3, 40, |_, case| {
        for (row, key) in case.rows.iter().zip(case.keys.iter()) {
            let values = case.def.decode(key).unwrap();
            assert_eq!(case.def.encode_values(&values).unwrap(), key);
            assert!(compare_rows(&case.def, row, &values).is_eq());
            let exact = case.def.columns.iter().all(|k| !k.ty.key_is_lossy());
            assert!(!exact || values == *row, "{row:?} {values:?}");
            for (c, k) in case.def.columns.iter().enumerate() {
                let mut column = vec![Column::new(k.ty.physical())];
                let alone = KeyDef::new(vec![*k]);
                let key = alone.encode_values(&values[c..=c]).unwrap();
                alone.decode_into(&key, &mut column).unwrap();
                let read = read_value(k.ty, &column[0], 0);
                assert!(compare_rows(&alone, &[read], &values[c..=c]).is_eq());
                assert_eq!(alone.column_len(0, &key), key.len());
            }
        }
    });
}

#[test]
fn packed_keys_sort_as_key_bytes_do() {
    let mut forms = std::collections::HashSet::new();
    each_case(4, 60, |rng, case| {
        let n = case.rows.len();
        let packing = packing_of(case, 0..n);
        forms.insert(packing.form());
        let refs: Vec<&Column> = case.columns.iter().collect();
        let mut keys = packing.new_keys();
        assert!(packing.pack(&refs, 0..n, &mut keys), "{:?}", case.def);
        for i in 0..n {
            for j in 0..n {
                let expected = case.keys.get(i).cmp(case.keys.get(j));
                assert_eq!(keys.compare(i, &keys, j), expected, "{packing:?}");
            }
        }
        let mut bytes = BytesVec::default();
        packing.all_key_bytes(&keys, 0..n, &mut bytes).unwrap();
        assert_eq!(bytes, case.keys, "{packing:?}");
        let mut one = Vec::new();
        let i = rng.index(n);
        packing.key_bytes(&keys, i, &mut one).unwrap();
        assert_eq!(one, case.keys.get(i));
        check_codec_and_repack(case, &packing, &keys);
    });
    assert_eq!(forms.len(), 5, "every form was met");
}

fn check_codec_and_repack(case: &Case, packing: &Packing, keys: &super::Keys) {
    let n = case.rows.len();
    let mut encoded = Vec::new();
    packing.encode(&mut encoded);
    assert_eq!(Packing::decode(&case.def, &encoded).unwrap(), *packing);
    let plain = Packing::bytes(&case.def);
    let (mut bytes, mut back) = (plain.new_keys(), packing.new_keys());
    assert!(plain.repack(packing, keys, 0..n, &mut bytes).unwrap());
    assert_eq!(bytes, super::Keys::Bytes(case.keys.clone()));
    assert!(packing.repack(&plain, &bytes, 0..n, &mut back).unwrap());
    assert_eq!(back, *keys);
    // A packing of half the rows takes those, and all rows only where they fit.
    let half = packing_of(case, 0..n / 2);
    let mut some = half.new_keys();
    assert!(half.repack(packing, keys, 0..n / 2, &mut some).unwrap());
    let all = half.repack(packing, keys, 0..n, &mut some).unwrap();
    assert_eq!(some.len(), if all { n / 2 + n } else { n / 2 });
    let mut bytes = BytesVec::default();
    half.all_key_bytes(&some, some.len() - n / 2..some.len(), &mut bytes).unwrap();
    let first = if all { n - n / 2 } else { 0 };
    assert!((0..n / 2).all(|i| bytes.get(i) == case.keys.get(first + i)));
}

#[test]
fn bounds_find_what_comparing_bytes_finds() {
    each_case(5, 50, |rng, case| {
        let n = case.rows.len();
        let packing = packing_of(case, 0..n / 2);
        let refs: Vec<&Column> = case.columns.iter().collect();
        let mut keys = packing.new_keys();
        assert!(packing.pack(&refs, 0..n / 2, &mut keys));
        let mut sorted = packing.new_keys();
        sorted.extend_selected(&keys, &sort_permutation(&keys));
        let mut bytes = BytesVec::default();
        packing.all_key_bytes(&sorted, 0..n / 2, &mut bytes).unwrap();
        // Prefixes of rows that the packing has never seen, too.
        for key in case.keys.iter() {
            let mut prefix = key;
            if rng.chance(0.5) {
                let columns = 1 + rng.index(case.def.columns.len());
                let ends = (0..columns).fold(0, |at, c| at + case.def.column_len(c, &key[at..]));
                prefix = &key[..ends];
            } else if rng.chance(0.3) {
                prefix = &key[..rng.index(key.len() + 1)];
            }
            for after in [false, true] {
                let expected = bytes
                    .iter()
                    .position(|k| k >= prefix && !(after && k.starts_with(prefix)))
                    .unwrap_or(n / 2);
                let bound = packing.bound(prefix, after);
                let found = packing.lower_bound(&sorted, 0..n / 2, &bound).unwrap();
                assert_eq!(found, expected, "{packing:?} {prefix:x?} {bound:?}");
            }
        }
    });
}

#[test]
fn sorting_is_stable_for_every_form_and_size() {
    let mut rng = Rng::new(6);
    for n in [0, 1, 2, 100, 2047, 5000] {
        for types in [
            &[DataType::Bool][..],
            &[DataType::Int2, DataType::Int2],
            &[DataType::Int8],
            &[DataType::Int8, DataType::Int4],
            &[DataType::Uuid, DataType::Int8],
            &[DataType::Uuid, DataType::Uuid, DataType::Int2],
            &[DataType::Text, DataType::Numeric(None)],
        ] {
            let spread = if rng.chance(0.5) { Spread::Wild } else { Spread::Narrow };
            let case = case(&mut rng, types, spread, n);
            let packing = packing_of(&case, 0..n);
            let refs: Vec<&Column> = case.columns.iter().collect();
            let mut keys = packing.new_keys();
            assert!(packing.pack(&refs, 0..n, &mut keys));
            let mut expected: Vec<u32> = (0..n as u32).collect();
            expected.sort_by_key(|&i| case.keys.get(i as usize));
            assert_eq!(sort_permutation(&keys), expected, "{:?}", packing.form());
            let entries = Entries {
                keys,
                row_ids: (0..n as u64).collect(),
                include: Batch { columns: Vec::new(), rows: n },
            };
            let sorted = entries.sorted();
            assert!(sorted.is_sorted());
            // Sorting again, and sorting sorted pieces, changes nothing.
            assert_eq!(sorted.sorted(), sorted);
            let identity: Vec<u32> = (0..n as u32).collect();
            assert_eq!(sort_permutation(&sorted.keys), identity);
        }
    }
}

#[test]
fn wrong_values_are_refused() {
    use onlap_base::ErrorKind::{InvalidInput, OutOfRange, WrongType};
    let kind = |ty, value: Value| {
        let def = KeyDef::new(vec![KeyColumn { ty, descending: false }]);
        def.encode_values(&[value]).unwrap_err().kind()
    };
    assert_eq!(kind(DataType::Int2, Value::Int(40_000)), OutOfRange);
    assert_eq!(kind(DataType::Int4, Value::Text("1".into())), WrongType);
    let fine = Value::Numeric(Numeric { mantissa: 1005, scale: 3 });
    assert_eq!(kind(DataType::Numeric(Some((10, 2))), fine), OutOfRange);
    let def = KeyDef::default();
    assert_eq!(def.encode_values(&[Value::Null]).unwrap_err().kind(), InvalidInput);
}

#[test]
fn damage_never_panics() {
    each_case(7, 10, |rng, case| {
        let packing = packing_of(case, 0..10);
        let mut encoded = Vec::new();
        packing.encode(&mut encoded);
        for _ in 0..100 {
            let mut key = case.keys.get(rng.index(10)).to_vec();
            if let Some(at) = key.len().checked_sub(1) {
                key[rng.index(at + 1)] ^= 1 << rng.below(8);
            }
            key.truncate(rng.index(key.len() * 4 + 1));
            let _ = case.def.decode(&key);
            let mut columns = packing.new_columns();
            let _ = case.def.decode_into(&key, &mut columns);
            let _ = case.def.first_difference(case.keys.get(0), &key);
            let _ = packing.bound(&key, true);
            let mut bad = encoded.clone();
            let at = rng.index(bad.len());
            bad[at] ^= 1 << rng.below(8);
            let Ok(packing) = Packing::decode(&case.def, &bad) else { continue };
            // Keys of any bits.
            let mut keys = packing.new_keys();
            if packing.form() == KeyForm::Bytes {
                continue;
            }
            match &mut keys {
                super::Keys::Word(v) => v.push(rng.next_u64()),
                super::Keys::Narrow(v) => {
                    v.push(u128::from(rng.next_u64()) * 0x1_0000_0001_0000_0001)
                }
                super::Keys::Wide4(v) => v.push([rng.next_u64(); 4]),
                super::Keys::Wide8(v) => v.push([rng.next_u64(); 8]),
                super::Keys::Bytes(_) => {}
            }
            let _ = packing.key_bytes(&keys, 0, &mut Vec::new());
        }
    });
}

#[test]
fn canonical_uuid_texts_and_nothing_else() {
    let mut rng = Rng::new(8);
    for _ in 0..2000 {
        let id = u128::from(rng.next_u64()) << 64 | u128::from(rng.next_u64());
        let text = super::uuid_text::format(id);
        assert_eq!(super::uuid_text::parse(&text), Some(id));
        let mut bad = text;
        let at = rng.index(36);
        bad[at] = rng.next_u64() as u8;
        let hex = |b: &u8| matches!(b, b'0'..=b'9' | b'a'..=b'f');
        let hyphen = matches!(at, 8 | 13 | 18 | 23);
        let good = if hyphen { bad[at] == b'-' } else { hex(&bad[at]) };
        assert_eq!(super::uuid_text::parse(&bad).is_some(), good, "{:?}", bad[at] as char);
    }
}
