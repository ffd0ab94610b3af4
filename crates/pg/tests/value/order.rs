//! Do keys sort and compare as PostgreSQL does?

use std::collections::BTreeMap;

use onlap_base::Rng;
use onlap_pg::value::numeric::Numeric;
use onlap_pg::value::{bits, chars, float};
use onlap_testkit::postgres::Postgres;

use crate::oracle::{self, escape};
use crate::random::{number, text};

/// dense_rank of texts as values of a type, from 0.
fn ranks(postgres: &Postgres, type_name: &str, texts: &[String]) -> Vec<usize> {
    let rows: String = texts.iter().map(|t| escape(t) + "\n").collect();
    let script = format!(
        "create table r(n serial, t text); copy r(t) from stdin;\n{rows}\\.\n\
         select dense_rank() over (order by t::{type_name}) - 1 from r order by n; drop table r;\n"
    );
    let out = oracle::run(postgres, &script);
    out.lines().map(|line| line.parse().expect("a number")).collect()
}

/// Positions among the distinct keys.
fn positions(keys: &[Vec<u8>]) -> Vec<usize> {
    let mut order: BTreeMap<&Vec<u8>, usize> = keys.iter().map(|k| (k, 0)).collect();
    order.values_mut().enumerate().for_each(|(n, position)| *position = n);
    keys.iter().map(|k| order[k]).collect()
}

fn compare(type_name: &str, texts: &[String], key: impl Fn(&str) -> Vec<u8>) {
    let postgres = Postgres::start();
    let theirs = ranks(&postgres, type_name, texts);
    let ours = positions(&texts.iter().map(|t| key(t)).collect::<Vec<_>>());
    for ((text, theirs), ours) in texts.iter().zip(&theirs).zip(&ours) {
        assert_eq!(theirs, ours, "{type_name} {text}");
    }
    println!("{} values of {type_name} sorted", texts.len());
}

#[test]
fn numerics_sort_alike() {
    let mut rng = Rng::new(11);
    let mut texts: Vec<String> =
        (0..3000).map(|n| number(&mut rng, [2, 2, 6, 20][n % 4])).collect();
    texts.extend(
        ["1.0", "1.00", "1", "NaN", "-Infinity", "0.0", "-0", "100", "1e2"].map(String::from),
    );
    compare("numeric", &texts, |text| {
        let mut key = Vec::new();
        Numeric::parse(text).expect("a number").key(&mut key);
        key
    });
}

#[test]
fn floats_sort_alike() {
    let mut rng = Rng::new(12);
    let mut texts: Vec<String> = (0..3000).map(|n| number(&mut rng, [2, 2, 6, 9][n % 4])).collect();
    texts.extend(["-0", "0", "NaN", "-nan", "Infinity", "-Infinity", "5e-324"].map(String::from));
    compare("float8", &texts, |text| {
        let key = float::key8(float::parse8(text).expect("a number"));
        ((key as u64) ^ 1 << 63).to_be_bytes().to_vec()
    });
    texts.pop();
    compare("float4", &texts, |text| {
        let key = float::key4(float::parse4(text).expect("a number"));
        ((key as u32) ^ 1 << 31).to_be_bytes().to_vec()
    });
}

#[test]
fn padded_texts_sort_alike() {
    let mut rng = Rng::new(13);
    let letters = &["a", " ", "b", "é", "A"];
    let texts: Vec<String> = (0..1000).map(|_| text(&mut rng, letters, 4)).collect();
    compare("char(9)", &texts, |text| chars::key(text).as_bytes().to_vec());
}

#[test]
fn bit_strings_sort_alike() {
    let mut rng = Rng::new(14);
    let pieces =
        &["0", "1", "00000000", "11111111", "0101010101010101", "1000000000000000000000000"];
    let texts: Vec<String> = (0..2000).map(|_| text(&mut rng, pieces, 9)).collect();
    compare("varbit", &texts, |text| {
        let stored = bits::parse(text, -1, bits::Kind::Varying).expect("zeros and ones");
        let mut key = Vec::new();
        bits::Bits::load(&stored).key(&mut key);
        key
    });
}
