//! Does any text or any bytes make a reader panic?

use onlap_base::Rng;
use onlap_pg::value::bits;
use onlap_pg::value::numeric::Numeric;

use crate::case::Case;

#[test]
fn readers_take_any_text_and_any_bytes() {
    let mut rng = Rng::new(21);
    let types = [
        "bool",
        "int2",
        "int4",
        "int8",
        "oid",
        "float4",
        "float8",
        "numeric",
        "uuid",
        "date",
        "timestamp",
        "timestamptz",
        "time",
        "interval",
        "bytea",
        "varbit",
        "bit(5)",
    ];
    let (mut read, mut refused) = (0, 0);
    for _ in 0..20_000 {
        let length = rng.below(24) as usize;
        let bytes: Vec<u8> = (0..length).map(|_| rng.next_u64() as u8 & 0x7f).collect();
        let bytes: Vec<u8> = match rng.below(2) {
            0 => bytes,
            _ => bytes
                .iter()
                .map(|b| b"0123456789+-.eE: \\x{},\"NaNinf"[usize::from(*b) % 29])
                .collect(),
        };
        let text =
            String::from_utf8_lossy(&bytes).into_owned() + if length == 7 { "é" } else { "" };
        for kind in types {
            match Case::new(kind, "", &[&text]).ours().starts_with('=') {
                true => read += 1,
                false => refused += 1,
            }
        }
        if let Ok(value) = bits::recv(&bytes, -1, bits::Kind::Varying) {
            assert_eq!(bits::recv(&value, -1, bits::Kind::Varying), Ok(value));
        }
        if let Ok(value) = Numeric::recv(&bytes, -1) {
            assert_eq!(
                Numeric::recv(&value.send(), -1).map(|v| v.to_string()),
                Ok(value.to_string())
            );
        }
    }
    assert!(read > 1000 && refused > 1000, "{read} read, {refused} refused");
}
