//! How is a password proved without sending it?
//!
//! What the database keeps of a password for SCRAM-SHA-256 (RFC 5802, RFC 7677), in PostgreSQL's text:
//! `SCRAM-SHA-256$ITERATIONS:SALT$STORED_KEY:SERVER_KEY`. Hashing only: who says what when is the
//! server's. The password cannot be computed from a verifier but by trying passwords, which the
//! iterations make slow.

use std::borrow::Cow;
use std::fmt;
use std::num::NonZeroU32;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use ring::rand::{SecureRandom as _, SystemRandom};
use ring::{digest, hmac, pbkdf2};

#[cfg(test)]
mod tests;

/// Rounds of hashing of a new verifier: about 5 ms for the client at each connection. RFC 7677 asks for
/// 15,000 where nothing else counts, PostgreSQL 15 takes 4,096.
pub const ITERATIONS: u32 = 15_000;
/// Most rounds of a verifier that came from elsewhere: each client has to carry them out.
pub const ITERATIONS_MAX: u32 = 100_000_000;
/// Bytes of a new salt, as PostgreSQL's.
pub const SALT_BYTES: usize = 16;

const NAME: &str = "SCRAM-SHA-256";

/// A digest.
pub type Hash = [u8; 32];

/// What the server keeps of a password.
#[derive(Clone, PartialEq, Eq)]
pub struct Verifier {
    /// Rounds of hashing.
    pub iterations: u32,
    /// Makes equal passwords different.
    pub salt: Vec<u8>,
    /// Tells whether a client knows the password.
    pub stored_key: Hash,
    /// Proves to the client that the server knows the verifier.
    pub server_key: Hash,
}

impl Verifier {
    /// A verifier of a password, with a salt drawn for it.
    pub fn new(password: &str) -> Verifier {
        let mut salt = [0; SALT_BYTES];
        SystemRandom::new().fill(&mut salt).expect("the operating system has random numbers");
        Verifier::with_salt(password, &salt, ITERATIONS)
    }
    /// A verifier of a password with a given salt and number of rounds, at least 1.
    pub fn with_salt(password: &str, salt: &[u8], iterations: u32) -> Verifier {
        let salted = salted_password(password, salt, iterations);
        Verifier {
            iterations,
            salt: salt.to_vec(),
            stored_key: sha256(&client_key(&salted)),
            server_key: server_key(&salted),
        }
    }
    /// Reads PostgreSQL's text; `None` where it is not one.
    pub fn parse(text: &str) -> Option<Verifier> {
        let mut parts = text.split('$');
        let (NAME, Some(how), Some(keys), None) =
            (parts.next()?, parts.next(), parts.next(), parts.next())
        else {
            return None;
        };
        let (iterations, salt) = how.split_once(':')?;
        let (stored, server) = keys.split_once(':')?;
        let hash = |text: &str| Hash::try_from(STANDARD.decode(text).ok()?).ok();
        let iterations = iterations.parse().ok()?;
        let verifier = Verifier {
            iterations,
            salt: STANDARD.decode(salt).ok()?,
            stored_key: hash(stored)?,
            server_key: hash(server)?,
        };
        let sound = (1..=ITERATIONS_MAX).contains(&iterations) && !verifier.salt.is_empty();
        sound.then_some(verifier)
    }
    /// Whether a client that sent this proof over `auth_message` knows the password.
    pub fn accepts(&self, proof: &Hash, auth_message: &[u8]) -> bool {
        let signature = sign(&self.stored_key, auth_message);
        let mut key = *proof;
        key.iter_mut().zip(signature).for_each(|(k, s)| *k ^= s);
        // Compares in constant time.
        let (found, expected) = (sha256(&key), self.stored_key);
        found.iter().zip(expected).fold(0, |all, (a, b)| all | (a ^ b)) == 0
    }
    /// The server's own proof.
    pub fn server_signature(&self, auth_message: &[u8]) -> Hash {
        sign(&self.server_key, auth_message)
    }
}

impl fmt::Display for Verifier {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let text = |bytes: &[u8]| STANDARD.encode(bytes);
        let (salt, stored) = (text(&self.salt), text(&self.stored_key));
        write!(f, "{NAME}${}:{salt}${stored}:{}", self.iterations, text(&self.server_key))
    }
}

impl fmt::Debug for Verifier {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Verifier({} iterations)", self.iterations)
    }
}

/// What a role keeps of the password given in `ALTER ROLE … PASSWORD`: a verifier made of it, or the
/// text itself where it is a verifier already (dumps of roles have those).
pub fn stored_form(password: &str) -> String {
    match Verifier::parse(password) {
        Some(verifier) => verifier.to_string(),
        None => Verifier::new(password).to_string(),
    }
}

/// The verifier of a role that does not exist: made of a secret and the name, so that it is the same at
/// every try and matches no password.
pub fn mock_verifier(secret: &Hash, role: &str) -> Verifier {
    let salt = sign(secret, role.as_bytes());
    let stored_key = sign(&salt, b"stored");
    Verifier {
        iterations: ITERATIONS,
        salt: salt[..SALT_BYTES].to_vec(),
        stored_key,
        server_key: sign(&salt, b"server"),
    }
}

/// What a client proves its password with: its proof, and the signature it expects of the server.
pub fn client_proof(
    password: &str,
    salt: &[u8],
    iterations: u32,
    auth_message: &[u8],
) -> (Hash, Hash) {
    let salted = salted_password(password, salt, iterations);
    let mut proof = client_key(&salted);
    let signature = sign(&sha256(&proof), auth_message);
    proof.iter_mut().zip(signature).for_each(|(p, s)| *p ^= s);
    (proof, sign(&server_key(&salted), auth_message))
}

/// A password after SASLprep, or as it is where that refuses it, as PostgreSQL does.
fn prepared(password: &str) -> Cow<'_, str> {
    match password.is_ascii() {
        true => Cow::Borrowed(password),
        false => stringprep::saslprep(password).unwrap_or(Cow::Borrowed(password)),
    }
}

fn salted_password(password: &str, salt: &[u8], iterations: u32) -> Hash {
    let mut salted = Hash::default();
    let rounds = NonZeroU32::new(iterations.max(1)).expect("at least 1");
    let password = prepared(password);
    pbkdf2::derive(pbkdf2::PBKDF2_HMAC_SHA256, rounds, salt, password.as_bytes(), &mut salted);
    salted
}

fn client_key(salted: &Hash) -> Hash {
    sign(salted, b"Client Key")
}

fn server_key(salted: &Hash) -> Hash {
    sign(salted, b"Server Key")
}

fn sign(key: &[u8], message: &[u8]) -> Hash {
    let tag = hmac::sign(&hmac::Key::new(hmac::HMAC_SHA256, key), message);
    tag.as_ref().try_into().expect("SHA-256 has 32 bytes")
}

fn sha256(bytes: &[u8]) -> Hash {
    let hash = digest::digest(&digest::SHA256, bytes);
    hash.as_ref().try_into().expect("SHA-256 has 32 bytes")
}
