//! Does the client know the role's password?
//!
//! The server's side of SCRAM-SHA-256 (RFC 5802, RFC 7677; PostgreSQL documentation, chapter 55.3):
//!
//! 1. The server offers mechanisms: with the hash of its certificate mixed in (`-PLUS`) under TLS, and
//!    without.
//! 2. The client names itself and a nonce; the server adds its own, and says salt and iterations.
//! 3. The client proves that it knows the password, over all that was said before; the server proves
//!    that it knows the verifier.
//!
//! A role that does not exist goes through the same steps and fails at the last one, with the same
//! error: nobody learns which roles there are.
//!
//! Pure but for the nonce, which the caller draws: knows neither sockets nor messages.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use onlap_sql::SqlError;
use onlap_sql::scram::{Hash, Verifier};

use crate::frontend::violation;

#[cfg(test)]
mod tests;

/// Without the certificate.
pub const PLAIN: &str = "SCRAM-SHA-256";
/// With the certificate's hash mixed in.
pub const PLUS: &str = "SCRAM-SHA-256-PLUS";
/// The only way of mixing it in.
const BINDING: &str = "tls-server-end-point";

/// An exchange after the client's first message.
#[derive(Debug)]
pub struct Exchange {
    verifier: Verifier,
    /// What the client's last message has to begin with: the header of its first one, and the
    /// certificate's hash where it is mixed in.
    bound: Vec<u8>,
    nonce: String,
    first_bare: String,
    /// What the server answered.
    server_first: String,
}

/// How an exchange ended.
#[derive(Debug, PartialEq, Eq)]
pub enum Verdict {
    /// The client knows the password; the server's proof.
    Accepted(String),
    /// It does not.
    Refused,
}

impl Exchange {
    /// Takes the client's first message, of a mechanism. `binding`: the certificate's hash, where the
    /// mechanism with it was offered. `nonce`: printable and without comma.
    ///
    /// # Errors
    /// The client breaks the rules, or somebody between us took an offer away.
    pub fn begin(
        mechanism: &str,
        data: &[u8],
        verifier: Verifier,
        binding: Option<&[u8]>,
        nonce: &str,
    ) -> Result<Exchange, SqlError> {
        let text = std::str::from_utf8(data).map_err(|_| malformed("it is not UTF-8"))?;
        let mut parts = text.splitn(3, ',');
        let (flag, authzid, bare) = (parts.next(), parts.next(), parts.next());
        let (Some(flag), Some(authzid), Some(bare)) = (flag, authzid, bare) else {
            return Err(malformed("it is cut short"));
        };
        if !authzid.is_empty() {
            return Err(SqlError::unsupported("a SASL authorization identity"));
        }
        let header = format!("{flag},,");
        let bound = match (flag, mechanism, binding) {
            ("n", PLAIN, _) | ("y", PLAIN, None) => header.into_bytes(),
            ("y", PLAIN, Some(_)) => {
                let text = "SCRAM channel binding negotiation error: the client thinks that this \
                            server cannot bind passwords to its certificate, but it offered to";
                return Err(SqlError::new("28000", text));
            }
            (_, PLUS, Some(hash)) if flag.strip_prefix("p=") == Some(BINDING) => {
                [header.as_bytes(), hash].concat()
            }
            (_, PLAIN | PLUS, _) => return Err(malformed("its channel binding is another")),
            _ => return Err(violation("client selected an invalid SASL authentication mechanism")),
        };
        // The name that the client gives here is ignored: the start-up message had it.
        let nonce_of_client = attributes(bare)
            .find_map(|(name, value)| (name == "r").then_some(value))
            .filter(|nonce| !nonce.is_empty() && nonce.bytes().all(|b| b.is_ascii_graphic()));
        let Some(nonce_of_client) = nonce_of_client.filter(|_| bare.starts_with("n=")) else {
            return Err(malformed("it has no name or nonce"));
        };
        let nonce = format!("{nonce_of_client}{nonce}");
        let salt = STANDARD.encode(&verifier.salt);
        let server_first = format!("r={nonce},s={salt},i={}", verifier.iterations);
        Ok(Exchange { verifier, bound, nonce, first_bare: bare.to_string(), server_first })
    }
    /// What the server answers to the client's first message.
    pub fn answer(&self) -> &str {
        &self.server_first
    }
    /// Takes the client's last message.
    ///
    /// # Errors
    /// The client breaks the rules.
    pub fn end(self, data: &[u8]) -> Result<Verdict, SqlError> {
        let text = std::str::from_utf8(data).map_err(|_| malformed("it is not UTF-8"))?;
        let (unproved, proof) =
            text.rsplit_once(",p=").ok_or_else(|| malformed("it has no proof"))?;
        let mut given = attributes(unproved);
        let (Some(("c", bound)), Some(("r", nonce))) = (given.next(), given.next()) else {
            return Err(malformed("its attributes are others"));
        };
        if STANDARD.decode(bound).ok().as_deref() != Some(&self.bound) {
            return Err(SqlError::new("28000", "SCRAM channel binding check failed"));
        }
        if nonce != self.nonce {
            return Err(violation("invalid SCRAM response: nonce does not match"));
        }
        let proof = STANDARD.decode(proof).ok().and_then(|p| Hash::try_from(p).ok());
        let proof = proof.ok_or_else(|| malformed("its proof has another length"))?;
        let message = format!("{},{},{unproved}", self.first_bare, self.server_first);
        Ok(match self.verifier.accepts(&proof, message.as_bytes()) {
            true => {
                let signature = self.verifier.server_signature(message.as_bytes());
                Verdict::Accepted(format!("v={}", STANDARD.encode(signature)))
            }
            false => Verdict::Refused,
        })
    }
}

fn attributes(text: &str) -> impl Iterator<Item = (&str, &str)> {
    text.split(',').filter_map(|pair| pair.split_once('='))
}

fn malformed(why: &str) -> SqlError {
    violation("malformed SCRAM message").detail(format!("The message cannot be used: {why}."))
}
