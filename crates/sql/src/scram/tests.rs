//! Are verifiers those of the RFC and of PostgreSQL?

use super::*;

/// The exchange of RFC 7677, section 3: user "user", password "pencil".
#[test]
fn the_exchange_of_the_rfc() {
    let salt = STANDARD.decode("W22ZaJ0SNY7soEsUEjb6gQ==").expect("base64");
    let message = b"n=user,r=rOprNGfwEbeRWgbNEkqO,\
        r=rOprNGfwEbeRWgbNEkqO%hvYDpWUa2RaTCAfuxFIlj)hNlF$k0,s=W22ZaJ0SNY7soEsUEjb6gQ==,i=4096,\
        c=biws,r=rOprNGfwEbeRWgbNEkqO%hvYDpWUa2RaTCAfuxFIlj)hNlF$k0";
    let (proof, signature) = client_proof("pencil", &salt, 4096, message);
    assert_eq!(STANDARD.encode(proof), "dHzbZapWIk4jUhN+Ute9ytag9zjfMHgsqmmiz7AndVQ=");
    assert_eq!(STANDARD.encode(signature), "6rriTRBi23WpRR/wtup+mMhUZUn/dB5nLTJRsjl95G4=");
    let verifier = Verifier::with_salt("pencil", &salt, 4096);
    assert!(verifier.accepts(&proof, message));
    assert_eq!(verifier.server_signature(message), signature);
    let (wrong, _) = client_proof("pencils", &salt, 4096, message);
    assert!(!verifier.accepts(&wrong, message) && !verifier.accepts(&Hash::default(), message));
}

#[test]
fn a_verifier_survives_its_text_and_passwords_are_told_from_verifiers() {
    let verifier = Verifier::new("Grüße");
    assert!(verifier.iterations >= 15_000);
    let text = verifier.to_string();
    assert_eq!(Verifier::parse(&text), Some(verifier));
    assert_eq!(stored_form(&text), text, "a verifier is taken as it is");
    assert_ne!(stored_form("x"), stored_form("x"), "salts differ");
    for bad in ["", "x", "SCRAM-SHA-256$0:AAAA$AAAA:AAAA", "SCRAM-SHA-256$1:$$", &text[..40]] {
        assert_eq!(Verifier::parse(bad), None, "{bad}");
    }
    // The two ways of writing ü and the ligature are one password after SASLprep.
    let again = |password: &str| Verifier::with_salt(password, b"salt", 1);
    assert_eq!(again("u\u{308}\u{fb01}"), again("\u{fc}fi"));
}

#[test]
fn unknown_roles_look_the_same_at_every_try() {
    let (a, b) = (mock_verifier(&[1; 32], "a"), mock_verifier(&[1; 32], "b"));
    assert_eq!(a, mock_verifier(&[1; 32], "a"));
    assert!(a.salt != b.salt && a.salt.len() == SALT_BYTES && a.iterations == ITERATIONS);
}
