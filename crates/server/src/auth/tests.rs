//! Do exchanges end as they should?

use onlap_sql::scram;

use super::*;

const SALT: &[u8] = b"0123456789abcdef";

fn begin(mechanism: &str, flag: &str, binding: Option<&[u8]>) -> Result<Exchange, SqlError> {
    let verifier = Verifier::with_salt("secret", SALT, 5);
    let first = format!("{flag},,n=,r=client");
    Exchange::begin(mechanism, first.as_bytes(), verifier, binding, "server")
}

/// The client's last message for a password, with the header and hash that it believes in.
fn last(exchange: &Exchange, password: &str, bound: &[u8]) -> (String, String) {
    let unproved = format!("c={},r=clientserver", STANDARD.encode(bound));
    let message = format!("n=,r=client,{},{unproved}", exchange.answer());
    let (proof, signature) = scram::client_proof(password, SALT, 5, message.as_bytes());
    let last = format!("{unproved},p={}", STANDARD.encode(proof));
    (last, format!("v={}", STANDARD.encode(signature)))
}

#[test]
fn the_right_password_is_accepted_and_no_other() {
    for (mechanism, flag, hash) in [
        (PLAIN, "n", None),
        (PLAIN, "y", None),
        (PLUS, "p=tls-server-end-point", Some(&b"hash"[..])),
    ] {
        let bound = [format!("{flag},,").as_bytes(), hash.unwrap_or_default()].concat();
        let exchange = begin(mechanism, flag, hash).expect("begins");
        assert_eq!(exchange.answer(), "r=clientserver,s=MDEyMzQ1Njc4OWFiY2RlZg==,i=5");
        let (message, proof) = last(&exchange, "secret", &bound);
        assert_eq!(exchange.end(message.as_bytes()), Ok(Verdict::Accepted(proof)));
        let exchange = begin(mechanism, flag, hash).expect("begins");
        let (message, _) = last(&exchange, "Secret", &bound);
        assert_eq!(exchange.end(message.as_bytes()), Ok(Verdict::Refused));
    }
}

#[test]
fn who_stands_between_is_noticed() {
    let hash = Some(&b"hash"[..]);
    let state = |r: Result<Exchange, SqlError>| r.expect_err("refused").state();
    assert_eq!(state(begin(PLAIN, "y", hash)), "28000", "the offer was taken away");
    assert_eq!(state(begin(PLUS, "n", hash)), "08P01");
    assert_eq!(state(begin(PLUS, "p=tls-unique", hash)), "08P01");
    assert_eq!(state(begin(PLUS, "p=tls-server-end-point", None)), "08P01");
    assert_eq!(state(begin("SCRAM-SHA-1", "n", None)), "08P01");
    let exchange = begin(PLUS, "p=tls-server-end-point", hash).expect("begins");
    let (message, _) = last(&exchange, "secret", b"p=tls-server-end-point,,other");
    assert_eq!(exchange.end(message.as_bytes()).expect_err("bound").state(), "28000");
}

#[test]
fn nonsense_is_an_error() {
    for first in
        ["", "n", "n,,", "n,,r=x", "n,,n=,r=", "n,a=x,n=,r=x", "n,,n=,r=a b", "n,,m=x,n=,r=x"]
    {
        let verifier = Verifier::with_salt("secret", SALT, 5);
        assert!(Exchange::begin(PLAIN, first.as_bytes(), verifier, None, "s").is_err(), "{first}");
    }
    for last in ["", "c=biws,r=clientserver", "c=biws,r=client,p=AAAA", "r=x,c=biws,p=", ",p=AAAA"]
    {
        let exchange = begin(PLAIN, "n", None).expect("begins");
        assert!(exchange.end(last.as_bytes()).is_err(), "{last}");
    }
    assert!(begin(PLAIN, "n", None).expect("begins").end(b"\xff").is_err());
}
