//! Where is the database?
//!
//! A URL of a server, or a directory, which is opened in this process and served to no other client.

use std::io::{self, Read, Write};
use std::net::TcpStream;
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::sync::Arc;

use onlap_server::Server;
use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::pki_types::pem::PemObject as _;
use rustls::pki_types::{CertificateDer, ServerName, UnixTime};
use rustls::{
    ClientConfig, ClientConnection, DigitallySignedStruct, RootCertStore, SignatureScheme,
};

use super::client::LOOK;

/// The server's port where none is given.
const PORT: u16 = 5652;

/// A stream of bytes to the server and back.
pub type Stream = Box<dyn Duplex>;

/// What can be read and written.
pub trait Duplex: Read + Write {}
impl<T: Read + Write> Duplex for T {}

/// Where the database is, and who we are there.
pub struct Target {
    /// The role.
    pub user: String,
    /// Its password, where it is known.
    pub password: Option<String>,
    /// The database's name.
    pub database: String,
    place: Place,
}

enum Place {
    Address { host: String, port: u16, tls: TlsMode },
    Inside(Arc<Server>),
}

/// How much TLS is wanted.
#[derive(Clone, Debug, PartialEq, Eq)]
enum TlsMode {
    Disable,
    /// Where the server has it.
    Prefer,
    Require,
    /// And its certificate is signed by one of these.
    Verify(String),
}

impl Target {
    /// Reads a URL: `postgres://user:password@host:port/database?sslmode=require`; every part may be
    /// missing.
    ///
    /// # Errors
    /// It is none, with the reason.
    pub fn parse(url: &str) -> Result<Target, String> {
        let rest = url
            .strip_prefix("postgres://")
            .or_else(|| url.strip_prefix("postgresql://"))
            .ok_or("a URL begins with postgres://")?;
        let (rest, query) = rest.split_once('?').unwrap_or((rest, ""));
        let (authority, database) = rest.split_once('/').unwrap_or((rest, ""));
        let (login, address) = authority.rsplit_once('@').unwrap_or(("", authority));
        let (user, password) = match login.split_once(':') {
            Some((user, password)) => (user, Some(decoded(password)?)),
            None => (login, None),
        };
        let (host, port) = address_of(address)?;
        let mut tls = TlsMode::Prefer;
        let mut roots = None;
        for pair in query.split('&').filter(|p| !p.is_empty()) {
            let (name, value) = pair.split_once('=').unwrap_or((pair, ""));
            match (name, value) {
                ("sslmode", "disable") => tls = TlsMode::Disable,
                ("sslmode", "prefer" | "allow") => tls = TlsMode::Prefer,
                ("sslmode", "require") => tls = TlsMode::Require,
                ("sslmode", "verify-full" | "verify-ca") => tls = TlsMode::Verify(String::new()),
                ("sslrootcert", file) => roots = Some(decoded(file)?),
                _ => {
                    return Err(format!(
                        "'{pair}' is not known; there are sslmode and sslrootcert"
                    ));
                }
            }
        }
        if let TlsMode::Verify(_) = tls {
            let file = roots.ok_or("to verify the server needs sslrootcert=FILE")?;
            tls = TlsMode::Verify(file);
        }
        let or = |text: String, other: &str| if text.is_empty() { other.to_string() } else { text };
        let user = or(decoded(user)?, "postgres");
        Ok(Target {
            database: or(decoded(database)?, "postgres"),
            user,
            password,
            place: Place::Address { host, port, tls },
        })
    }
    /// A server of this process.
    pub fn inside(server: Arc<Server>) -> Target {
        let postgres = || "postgres".to_string();
        Target {
            user: postgres(),
            password: None,
            database: postgres(),
            place: Place::Inside(server),
        }
    }
    /// A new connection, encrypted where that is wanted.
    ///
    /// # Errors
    /// No server is there.
    pub fn connect(&self) -> io::Result<Stream> {
        match &self.place {
            Place::Inside(server) => {
                let (ours, theirs) = UnixStream::pair()?;
                ours.set_read_timeout(Some(LOOK))?;
                server.attach(theirs);
                Ok(Box::new(ours))
            }
            Place::Address { host, port, tls } => {
                let socket = TcpStream::connect((host.as_str(), *port))?;
                socket.set_nodelay(true)?;
                encrypted(socket, host, tls)
            }
        }
    }
}

impl std::fmt::Display for Target {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match &self.place {
            Place::Inside(_) => write!(f, "this process"),
            Place::Address { host, port, .. } => write!(f, "{host}:{port}"),
        }
    }
}

fn address_of(text: &str) -> Result<(String, u16), String> {
    let (host, port) = match text.rsplit_once(':') {
        Some((host, port)) if !port.contains(']') => (host, Some(port)),
        _ => (text, None),
    };
    let port = match port {
        Some(port) => port.parse().map_err(|_| format!("'{port}' is no port"))?,
        None => PORT,
    };
    let host = decoded(host.trim_start_matches('[').trim_end_matches(']'))?;
    Ok((if host.is_empty() { "127.0.0.1".to_string() } else { host }, port))
}

/// Text in which `%41` stands for `A`.
fn decoded(text: &str) -> Result<String, String> {
    let (mut bytes, mut rest) = (Vec::new(), text.as_bytes());
    while let Some((&byte, after)) = rest.split_first() {
        rest = after;
        if byte != b'%' {
            bytes.push(byte);
            continue;
        }
        let digits = after.get(..2).and_then(|d| std::str::from_utf8(d).ok());
        let code = digits.and_then(|d| u8::from_str_radix(d, 16).ok());
        bytes.push(code.ok_or_else(|| format!("'{text}' has a % without two digits"))?);
        rest = &after[2..];
    }
    String::from_utf8(bytes).map_err(|_| format!("'{text}' is not UTF-8"))
}

fn encrypted(mut socket: TcpStream, host: &str, mode: &TlsMode) -> io::Result<Stream> {
    if *mode == TlsMode::Disable {
        socket.set_read_timeout(Some(LOOK))?;
        return Ok(Box::new(socket));
    }
    socket.write_all(&[0, 0, 0, 8, 4, 210, 22, 47])?;
    let mut answer = [0];
    socket.read_exact(&mut answer)?;
    match (answer[0], mode) {
        (b'S', _) => {}
        (b'N', TlsMode::Prefer) => {
            socket.set_read_timeout(Some(LOOK))?;
            return Ok(Box::new(socket));
        }
        (b'N', _) => return Err(io::Error::other("the server does not offer TLS")),
        _ => return Err(io::Error::other("the server is none of PostgreSQL's kind")),
    }
    let name = ServerName::try_from(host.to_string()).map_err(io::Error::other)?;
    let mut tls =
        ClientConnection::new(Arc::new(tls_config(mode)?), name).map_err(io::Error::other)?;
    while tls.is_handshaking() {
        tls.complete_io(&mut socket)?;
    }
    socket.set_read_timeout(Some(LOOK))?;
    Ok(Box::new(rustls::StreamOwned::new(tls, socket)))
}

fn tls_config(mode: &TlsMode) -> io::Result<ClientConfig> {
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let config = ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .map_err(io::Error::other)?;
    let config = match mode {
        TlsMode::Verify(file) => {
            let mut roots = RootCertStore::empty();
            let certificates = CertificateDer::pem_file_iter(Path::new(file))
                .and_then(Iterator::collect::<Result<Vec<_>, _>>)
                .map_err(|e| io::Error::other(format!("cannot use {file}: {e}")))?;
            roots.add_parsable_certificates(certificates);
            config.with_root_certificates(roots)
        }
        _ => config.dangerous().with_custom_certificate_verifier(Arc::new(AnyServer)),
    };
    Ok(config.with_no_client_auth())
}

/// Takes every certificate, as sslmode=require means it: others cannot listen, but another machine could stand
/// in for the server.
#[derive(Debug)]
struct AnyServer;

impl ServerCertVerifier for AnyServer {
    fn verify_server_cert(
        &self,
        _: &CertificateDer<'_>,
        _: &[CertificateDer<'_>],
        _: &ServerName<'_>,
        _: &[u8],
        _: UnixTime,
    ) -> Result<ServerCertVerified, rustls::Error> {
        Ok(ServerCertVerified::assertion())
    }
    fn verify_tls12_signature(
        &self,
        _: &[u8],
        _: &CertificateDer<'_>,
        _: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        Ok(HandshakeSignatureValid::assertion())
    }
    fn verify_tls13_signature(
        &self,
        _: &[u8],
        _: &CertificateDer<'_>,
        _: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        Ok(HandshakeSignatureValid::assertion())
    }
    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        rustls::crypto::ring::default_provider()
            .signature_verification_algorithms
            .supported_schemes()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn urls_are_read() {
        let t = Target::parse("postgres://u%40x:p%3A@[::1]:6000/d?sslmode=require").expect("a URL");
        assert_eq!((t.user.as_str(), t.database.as_str()), ("u@x", "d"));
        assert_eq!((t.password.as_deref(), t.to_string().as_str()), (Some("p:"), "::1:6000"));
        let t = Target::parse("postgresql://").expect("a URL");
        assert_eq!((t.user.as_str(), t.to_string().as_str()), ("postgres", "127.0.0.1:5652"));
        for bad in [
            "http://x",
            "postgres://x:y",
            "postgres://%zz",
            "postgres://h?a=b",
            "postgres://h?sslmode=verify-full",
        ] {
            assert!(Target::parse(bad).is_err(), "{bad}");
        }
    }
}
