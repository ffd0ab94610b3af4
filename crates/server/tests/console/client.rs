//! A client of the console that says what a browser says, or something else.

use std::io::{Read, Write};
use std::net::TcpStream;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use onlap_server::{Config, TlsFiles};
use onlap_sql::scram;
use rustls::pki_types::CertificateDer;
use rustls::pki_types::pem::PemObject as _;
use serde_json::{Value, json};

use crate::common::{Running, config};

/// A configuration with a console at a free port.
pub fn http_config() -> Config {
    Config { http: Some("127.0.0.1:0".to_string()), ..config() }
}

fn data(name: &str) -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/data").join(name)
}

/// The same with TLS.
pub fn tls_config() -> Config {
    let files = TlsFiles { certificate: data("certificate.pem"), key: data("key.pem") };
    Config { tls: Some(files), ..http_config() }
}

/// An answer.
#[derive(Debug)]
pub struct Said {
    pub status: u16,
    pub head: String,
    pub body: String,
}

impl Said {
    /// A header's value, empty where there is none.
    pub fn header(&self, name: &str) -> &str {
        let mut lines = self.head.lines().filter_map(|line| line.split_once(": "));
        lines.find_map(|(n, v)| n.eq_ignore_ascii_case(name).then_some(v)).unwrap_or_default()
    }
    /// The body.
    pub fn json(&self) -> Value {
        serde_json::from_str(&self.body).unwrap_or_else(|e| panic!("{e}: {}", self.body))
    }
}

/// A client; one connection for each request.
pub struct Http {
    pub host: String,
    pub cookie: String,
    tls: Option<Arc<rustls::ClientConfig>>,
}

impl Http {
    /// Of a server's console.
    pub fn new(running: &Running) -> Http {
        let port = running.server.http_address().expect("an address").port();
        Http { host: format!("127.0.0.1:{port}"), cookie: String::new(), tls: None }
    }
    /// The same with TLS.
    pub fn encrypted(running: &Running) -> Http {
        let mut roots = rustls::RootCertStore::empty();
        let certificate = CertificateDer::from_pem_file(data("certificate.pem")).expect("PEM");
        roots.add(certificate).expect("a certificate");
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let config = rustls::ClientConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()
            .expect("versions")
            .with_root_certificates(roots)
            .with_no_client_auth();
        Http { tls: Some(Arc::new(config)), ..Http::new(running) }
    }

    /// Sends bytes, and reads to the end; `None` where no answer comes.
    pub fn try_raw(&self, bytes: &[u8]) -> Option<Said> {
        let socket = TcpStream::connect(&self.host).expect("the server listens");
        socket.set_read_timeout(Some(Duration::from_secs(60))).expect("a timeout");
        let mut told = Vec::new();
        match &self.tls {
            None => talk(socket, bytes, &mut told),
            Some(config) => {
                talk(rustls::StreamOwned::new(encrypted(config), socket), bytes, &mut told);
            }
        }
        let told = String::from_utf8(told).expect("text");
        let (head, body) = told.split_once("\r\n\r\n")?;
        let status = head.split(' ').nth(1)?.parse().ok()?;
        Some(Said { status, head: head.to_string(), body: body.to_string() })
    }
    /// The same, and an answer comes.
    pub fn raw(&self, text: &str) -> Said {
        self.try_raw(text.as_bytes()).unwrap_or_else(|| panic!("no answer to {text:.200}"))
    }
    /// GET.
    pub fn get(&self, path: &str) -> Said {
        let Http { host, cookie, .. } = self;
        self.raw(&format!("GET {path} HTTP/1.1\r\nHost: {host}\r\nCookie: {cookie}\r\n\r\n"))
    }
    /// POST as the page does it, with some headers changed; an empty value leaves one out.
    pub fn post_with(&self, path: &str, body: &str, changed: &[(&str, &str)]) -> Said {
        self.raw(&self.request(path, body, changed))
    }
    /// POST as the page does it, whose answer is not waited for: the connection, which ends when it is dropped.
    pub fn begin(&self, path: &str, body: &Value) -> TcpStream {
        let mut socket = TcpStream::connect(&self.host).expect("the server listens");
        let text = self.request(path, &body.to_string(), &[]);
        match &self.tls {
            None => socket.write_all(text.as_bytes()).expect("is taken"),
            Some(config) => {
                let mut tls = encrypted(config);
                let mut stream = rustls::Stream::new(&mut tls, &mut socket);
                stream.write_all(text.as_bytes()).and_then(|()| stream.flush()).expect("is taken");
            }
        }
        socket
    }
    fn request(&self, path: &str, body: &str, changed: &[(&str, &str)]) -> String {
        let scheme = if self.tls.is_some() { "https" } else { "http" };
        let origin = format!("{scheme}://{}", self.host);
        let mut headers = vec![
            ("Host", &*self.host),
            ("Origin", &*origin),
            ("X-Onlap", "console"),
            ("Content-Type", "application/json"),
            ("Cookie", &*self.cookie),
        ];
        for (name, value) in changed {
            headers.retain(|(n, _)| n != name);
            headers.push((name, value));
        }
        let length = body.len();
        let mut text = format!("POST {path} HTTP/1.1\r\nContent-Length: {length}\r\n");
        for (name, value) in headers.iter().filter(|(_, value)| !value.is_empty()) {
            text.push_str(&format!("{name}: {value}\r\n"));
        }
        format!("{text}\r\n{body}")
    }
    /// POST as the page does it.
    pub fn send(&self, path: &str, body: &Value) -> Said {
        self.post_with(path, &body.to_string(), &[])
    }
    /// Runs a statement.
    pub fn query(&self, sql: &str) -> Said {
        self.send("/api/query", &json!({"statements": [{"sql": sql}]}))
    }

    /// Logs in without a password.
    pub fn log_in_trusted(&mut self, role: &str) -> Said {
        let said = self.send("/api/login", &json!({"role": role}));
        self.keep(&said);
        said
    }
    /// Logs in.
    pub fn log_in(&mut self, role: &str, password: &str) -> Said {
        let begun = self.send("/api/login", &json!({"role": role, "first": "n,,n=,r=nonce"}));
        assert_eq!(begun.status, 200, "{}", begun.body);
        let begun = begun.json();
        let told = begun["first"].as_str().expect("a message").to_string();
        let part = |name: &str| {
            told.split(',').find_map(|p| p.strip_prefix(name)).expect("a part").to_string()
        };
        let salt = STANDARD.decode(part("s=")).expect("base64");
        let rounds = part("i=").parse().expect("a number");
        let unproved = format!("c=biws,r={}", part("r="));
        let message = format!("n=,r=nonce,{told},{unproved}");
        let (proof, signature) = scram::client_proof(password, &salt, rounds, message.as_bytes());
        let last = format!("{unproved},p={}", STANDARD.encode(proof));
        let said = self.send("/api/proof", &json!({"id": begun["id"], "last": last}));
        if said.status == 200 {
            assert_eq!(said.json()["last"], format!("v={}", STANDARD.encode(signature)));
            // A proof counts once.
            let again = self.send("/api/proof", &json!({"id": begun["id"], "last": last}));
            assert_eq!(again.status, 401);
        }
        self.keep(&said);
        said
    }
    fn keep(&mut self, said: &Said) {
        if let Some(cookie) = said.header("set-cookie").split(';').next().filter(|c| !c.is_empty())
        {
            self.cookie = cookie.to_string();
        }
    }
}

fn encrypted(config: &Arc<rustls::ClientConfig>) -> rustls::ClientConnection {
    let name = "localhost".try_into().expect("a name");
    rustls::ClientConnection::new(Arc::clone(config), name).expect("TLS")
}

fn talk(mut socket: impl Read + Write, bytes: &[u8], told: &mut Vec<u8>) {
    // The server may refuse before it has read all, and end the connection.
    let _ = socket.write_all(bytes).and_then(|()| socket.flush());
    let _ = socket.read_to_end(told);
}
