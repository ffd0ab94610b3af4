//! With which certificate does the server prove who it is?
//!
//! Reads certificate and key, and finds the hash that binds passwords to the certificate
//! (`tls-server-end-point`, RFC 5929): the one of the certificate's signature.

use std::path::Path;
use std::sync::Arc;

use onlap_sql::{Result, SqlError};
use ring::digest;
use rustls::ServerConfig;
use rustls::pki_types::pem::PemObject as _;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};

#[cfg(test)]
mod tests;

/// What TLS needs.
#[derive(Debug)]
pub struct Tls {
    /// For handshakes.
    pub config: Arc<ServerConfig>,
    /// What clients mix into their proof; `None` where the certificate's signature has no hash of its
    /// own (Ed25519, RSA-PSS).
    pub binding: Option<Vec<u8>>,
}

impl Tls {
    /// From files in PEM: the certificate followed by those it was signed with, and its key.
    ///
    /// # Errors
    /// A file cannot be read; it holds something else; the two do not belong together.
    pub fn load(certificate: &Path, key: &Path) -> Result<Tls> {
        let wrong = |path: &Path, why: &dyn std::fmt::Display| {
            SqlError::new("F0000", format!("cannot use {}: {why}", path.display()))
        };
        let chain = CertificateDer::pem_file_iter(certificate)
            .and_then(Iterator::collect::<Result<Vec<_>, _>>)
            .map_err(|e| wrong(certificate, &e))?;
        let Some(first) = chain.first() else {
            return Err(wrong(certificate, &"it has no certificate"));
        };
        let binding = binding(first);
        let private = PrivateKeyDer::from_pem_file(key).map_err(|e| wrong(key, &e))?;
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let config = ServerConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()
            .and_then(|c| c.with_no_client_auth().with_single_cert(chain, private))
            .map_err(|e| wrong(certificate, &e))?;
        Ok(Tls { config: Arc::new(config), binding })
    }
}

/// Object identifiers of signatures, by the hash to bind with; MD5 and SHA-1 give way to SHA-256.
const HASHES: [(&[u8], &digest::Algorithm); 9] = [
    // RSA with MD5, SHA-1, SHA-256, SHA-384, SHA-512.
    (&[0x2a, 0x86, 0x48, 0x86, 0xf7, 0x0d, 0x01, 0x01, 0x04], &digest::SHA256),
    (&[0x2a, 0x86, 0x48, 0x86, 0xf7, 0x0d, 0x01, 0x01, 0x05], &digest::SHA256),
    (&[0x2a, 0x86, 0x48, 0x86, 0xf7, 0x0d, 0x01, 0x01, 0x0b], &digest::SHA256),
    (&[0x2a, 0x86, 0x48, 0x86, 0xf7, 0x0d, 0x01, 0x01, 0x0c], &digest::SHA384),
    (&[0x2a, 0x86, 0x48, 0x86, 0xf7, 0x0d, 0x01, 0x01, 0x0d], &digest::SHA512),
    // ECDSA with SHA-1, SHA-256, SHA-384, SHA-512.
    (&[0x2a, 0x86, 0x48, 0xce, 0x3d, 0x04, 0x01], &digest::SHA256),
    (&[0x2a, 0x86, 0x48, 0xce, 0x3d, 0x04, 0x03, 0x02], &digest::SHA256),
    (&[0x2a, 0x86, 0x48, 0xce, 0x3d, 0x04, 0x03, 0x03], &digest::SHA384),
    (&[0x2a, 0x86, 0x48, 0xce, 0x3d, 0x04, 0x03, 0x04], &digest::SHA512),
];

fn binding(certificate: &[u8]) -> Option<Vec<u8>> {
    let oid = signature_oid(certificate)?;
    let (_, algorithm) = HASHES.iter().find(|(known, _)| *known == oid)?;
    Some(digest::digest(algorithm, certificate).as_ref().to_vec())
}

/// A certificate is a sequence of what was signed, the algorithm (a sequence that begins with its
/// object identifier) and the signature.
fn signature_oid(certificate: &[u8]) -> Option<&[u8]> {
    const SEQUENCE: u8 = 0x30;
    const OID: u8 = 0x06;
    let (inside, _) = element(certificate, SEQUENCE)?;
    let (_signed, rest) = element(inside, SEQUENCE)?;
    let (algorithm, _) = element(rest, SEQUENCE)?;
    element(algorithm, OID).map(|(oid, _)| oid)
}

/// The contents of a DER element of a type, and what follows it.
fn element(bytes: &[u8], kind: u8) -> Option<(&[u8], &[u8])> {
    let (&[found, length], rest) = bytes.split_first_chunk()?;
    let (length, rest) = match length {
        0..=0x7f => (usize::from(length), rest),
        0x81..=0x84 => {
            let (digits, rest) = rest.split_at_checked(usize::from(length & 0x7f))?;
            (digits.iter().fold(0, |n, d| n << 8 | usize::from(*d)), rest)
        }
        _ => return None,
    };
    (found == kind).then(|| rest.split_at_checked(length))?
}
