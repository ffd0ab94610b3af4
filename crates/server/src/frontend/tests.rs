//! Are messages read, and nonsense refused?

use onlap_base::rng::Rng;

use super::*;

#[test]
fn messages_are_read_from_their_bytes() {
    assert_eq!(message(b'Q', b"select 1\0"), Ok(Message::Query("select 1")));
    let parse = Message::Parse { name: "s", sql: "q", types: vec![23, 0] };
    assert_eq!(message(b'P', b"s\0q\0\0\x02\0\0\0\x17\0\0\0\0"), Ok(parse));
    let bind = b"p\0s\0\0\x01\0\x01\0\x02\0\0\0\x01x\xff\xff\xff\xff\0\0";
    let expected = Bind {
        portal: "p",
        statement: "s",
        formats: vec![1],
        values: vec![Some(b"x"), None],
        result_formats: vec![],
    };
    assert_eq!(message(b'B', bind), Ok(Message::Bind(expected)));
    assert_eq!(message(b'E', b"\0\0\0\0\x05"), Ok(Message::Execute("", 5)));
    assert_eq!(message(b'E', b"\0\xff\xff\xff\xff"), Ok(Message::Execute("", 0)));
    assert_eq!(message(b'D', b"Sx\0"), Ok(Message::Describe(Target::Statement, "x")));
}

#[test]
fn what_is_no_message_is_an_error() {
    let state = |kind, body: &'static [u8]| message(kind, body).expect_err("wrong").state();
    assert_eq!(state(b'Q', b"no end"), "08P01");
    assert_eq!(state(b'Q', b"a\0b\0"), "08P01");
    assert_eq!(state(b'Q', b"\xff\0"), "22021");
    assert_eq!(state(b'z', b""), "08P01");
    assert_eq!(state(b'D', b"Zx\0"), "08P01");
    assert_eq!(state(b'P', b"\0\0\xff\xff"), "08P01", "a count without its values");
    assert_eq!(state(b'B', b"\0\0\0\0\0\x01\x80\0\0\0\0\0"), "08P01", "a negative length");
    assert_eq!(state(b'B', b"\0\0\0\x02\0\0\0\0\0\0\0\0"), "08P01", "more formats than values");
}

#[test]
fn no_bytes_panic() {
    let mut rng = Rng::new(5);
    for _ in 0..200_000 {
        let kind = b"QPBDECHSdcfpFXz"[rng.below(15) as usize];
        let body: Vec<u8> =
            (0..rng.below(24)).map(|_| b"\0\0\0\x01\x02\xffSPa"[rng.below(9) as usize]).collect();
        let _ = message(kind, &body);
    }
}
