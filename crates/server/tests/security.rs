//! Who gets in, and who does not?

#![allow(clippy::disallowed_methods, reason = "a client has the world's clocks and sockets")]

mod common;

use std::io::{Read, Write};
use std::net::TcpStream;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, Instant};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use common::{Answer, Running, Wire, config, kinds, start, start_with};
use onlap_server::{Config, Level, Log, Server, TlsFiles};
use onlap_sql::scram;
use rustls::pki_types::CertificateDer;
use rustls::pki_types::pem::PemObject as _;

/// Connections that say nothing, and how long a client may wait beside them: half of those tried. The figure aimed at
/// is 50 ms, but a machine that runs tests has other things to do.
const SILENT: usize = 2000;
const WAIT: Duration = Duration::from_secs(1);

fn data(name: &str) -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/data").join(name)
}

fn tls_config() -> Config {
    let files = TlsFiles { certificate: data("certificate.pem"), key: data("key.pem") };
    Config { tls: Some(files), ..config() }
}

fn with_password(config: Config) -> Running {
    start_with(config, |instance| {
        instance.set_password("postgres", &scram::stored_form("secret")).expect("a password");
    })
}

fn encrypted(running: &Running) -> Wire<impl Read + Write + use<>> {
    let mut wire = running.connect();
    wire.raw(&[0, 0, 0, 8, 4, 210, 22, 47]);
    let mut answer = [0];
    wire.socket.read_exact(&mut answer).expect("an answer");
    assert_eq!(&answer, b"S");
    let mut roots = rustls::RootCertStore::empty();
    let certificate = CertificateDer::from_pem_file(data("certificate.pem")).expect("PEM");
    roots.add(certificate).expect("a certificate");
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let client = rustls::ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .expect("versions")
        .with_root_certificates(roots)
        .with_no_client_auth();
    let name = "localhost".try_into().expect("a name");
    let tls = rustls::ClientConnection::new(Arc::new(client), name).expect("a client");
    Wire { socket: rustls::StreamOwned::new(tls, wire.socket), buffer: Vec::new() }
}

/// What a client mixes in for its mechanism.
struct Way<'a> {
    mechanism: &'a str,
    flag: &'a str,
    hash: &'a [u8],
}

const PLAIN: Way<'_> = Way { mechanism: "SCRAM-SHA-256", flag: "n", hash: b"" };

/// Goes through the exchange; what the server says at its end, and the mechanisms that it offered.
fn log_in<S: Read + Write>(
    wire: &mut Wire<S>,
    user: &str,
    password: &str,
    way: &Way<'_>,
) -> (Answer, Vec<String>) {
    wire.startup(&[("user", user)]);
    let offer = wire.next().expect("an offer");
    assert_eq!((offer.kind, &offer.body[..4]), (b'R', &[0, 0, 0, 10][..]));
    let names = offer.body[4..].split(|b| *b == 0).filter(|n| !n.is_empty());
    let offered = names.map(|n| String::from_utf8_lossy(n).into_owned()).collect();
    let first = format!("{},,n=,r=nonce", way.flag);
    let length = (first.len() as u32).to_be_bytes();
    wire.send(b'p', &[way.mechanism.as_bytes(), b"\0", &length, first.as_bytes()].concat());
    let answer = wire.next().expect("an answer");
    if answer.kind == b'E' {
        return (answer, offered);
    }
    let said = String::from_utf8(answer.body[4..].to_vec()).expect("text");
    let part = |name: &str| {
        said.split(',').find_map(|p| p.strip_prefix(name)).expect("a part").to_string()
    };
    let rounds: u32 = part("i=").parse().expect("a number");
    assert!(rounds >= 15_000);
    let salt = STANDARD.decode(part("s=")).expect("base64");
    let bound = [format!("{},,", way.flag).as_bytes(), way.hash].concat();
    let unproved = format!("c={},r={}", STANDARD.encode(bound), part("r="));
    let message = format!("n=,r=nonce,{said},{unproved}");
    let (proof, signature) = scram::client_proof(password, &salt, rounds, message.as_bytes());
    wire.send(b'p', format!("{unproved},p={}", STANDARD.encode(proof)).as_bytes());
    let last = wire.next().expect("a verdict");
    if last.kind == b'R' {
        assert_eq!(last.body[4..], *format!("v={}", STANDARD.encode(signature)).as_bytes());
    }
    (last, offered)
}

#[test]
fn the_right_password_lets_in() {
    let running = with_password(config());
    let mut wire = running.connect();
    let (verdict, offered) = log_in(&mut wire, "postgres", "secret", &PLAIN);
    assert_eq!((verdict.kind, offered), (b'R', vec!["SCRAM-SHA-256".to_string()]));
    assert_eq!(wire.next().map(|a| a.body), Some(vec![0; 4]));
    wire.until(b'Z');
    assert_eq!(kinds(&wire.query("select 1")), "TDCZ");
}

#[test]
fn wrong_passwords_and_unknown_roles_are_refused_alike() {
    let running = with_password(config());
    let mut errors = Vec::new();
    for user in ["postgres", "nobody"] {
        let mut wire = running.connect();
        let (verdict, _) = log_in(&mut wire, user, "Secret", &PLAIN);
        assert_eq!((verdict.kind, verdict.field(b'C').as_str()), (b'E', "28P01"));
        errors.push(verdict.field(b'M').replace(user, "USER"));
        assert!(wire.is_ended());
    }
    assert_eq!(errors[0], errors[1]);
    assert!(running.logged("password authentication failed") == 2);
    // Other answers than a proof end the connection.
    for (kind, body) in [(b'Q', &b"select 1\0"[..]), (b'p', b"x"), (b'p', b"MD5\0\0\0\0\0")] {
        let mut wire = running.connect();
        wire.startup(&[("user", "postgres")]);
        wire.next().expect("an offer");
        wire.send(kind, body);
        wire.expect_error("FATAL", "08P01");
    }
}

#[test]
fn a_salt_is_the_same_at_every_try() {
    let running = with_password(config());
    let salt = |user: &str| {
        let mut wire = running.connect();
        wire.startup(&[("user", user)]);
        wire.next().expect("an offer");
        wire.send(b'p', b"SCRAM-SHA-256\0\0\0\0\x0bn,,n=,r=abc");
        let said = String::from_utf8(wire.next().expect("an answer").body).expect("text");
        said.split(',').nth(1).expect("a salt").to_string()
    };
    assert_eq!(salt("nobody"), salt("nobody"));
    assert_eq!(salt("postgres"), salt("postgres"));
    assert_ne!(salt("nobody"), salt("somebody"));
}

#[test]
fn encrypted_sessions_work_and_bind_passwords_to_the_certificate() {
    let running = with_password(tls_config());
    let certificate = CertificateDer::from_pem_file(data("certificate.pem")).expect("PEM");
    let hash = ring::digest::digest(&ring::digest::SHA256, &certificate);
    let plus = "SCRAM-SHA-256-PLUS";
    let bound = Way { mechanism: plus, flag: "p=tls-server-end-point", hash: hash.as_ref() };
    for way in [&PLAIN, &bound] {
        let mut wire = encrypted(&running);
        let (verdict, offered) = log_in(&mut wire, "postgres", "secret", way);
        assert_eq!((verdict.kind, offered[0].as_str()), (b'R', plus));
        wire.until(b'Z');
        assert_eq!(kinds(&wire.query("select 1")), "TDCZ");
    }
    // Somebody else's certificate, or an offer that was taken away on the way.
    let other = Way { hash: &[0; 32], ..bound };
    let downgraded = Way { flag: "y", ..PLAIN };
    for way in [&other, &downgraded] {
        let mut wire = encrypted(&running);
        let (verdict, _) = log_in(&mut wire, "postgres", "secret", way);
        assert_eq!((verdict.kind, verdict.field(b'C').as_str()), (b'E', "28000"));
    }
}

#[test]
fn bytes_in_front_of_the_handshake_end_the_connection() {
    let running = start(tls_config());
    let mut wire = running.connect();
    wire.raw(&[0, 0, 0, 8, 4, 210, 22, 47, 0, 0, 0, 9]);
    wire.expect_error("FATAL", "08P01");
    // Not TLS at all.
    let mut wire = running.connect();
    wire.raw(&[0, 0, 0, 8, 4, 210, 22, 47]);
    let mut answer = [0];
    wire.socket.read_exact(&mut answer).expect("an answer");
    wire.raw(b"GET / HTTP/1.1\r\n\r\n");
    let mut rest = Vec::new();
    // A TLS alert at most.
    let _ = wire.socket.read_to_end(&mut rest);
    assert!(rest.len() < 16 && running.logged("TLS handshake") == 1);
}

#[test]
fn other_machines_are_served_only_with_tls_and_a_password() {
    let refused = |config: Config, password: bool| {
        let dir = tempfile::tempdir().expect("a temporary directory");
        let db = onlap::Database::open(dir.path(), onlap::Options::default()).expect("new");
        let instance = onlap_sql::Instance::open(db).expect("an instance");
        if password {
            instance.set_password("postgres", &scram::stored_form("x")).expect("a password");
        }
        let log = Log::to(Level::Error, Arc::new(|_| ()));
        match Server::start(instance, config, log) {
            Ok(server) => {
                server.stop().expect("a clean end");
                None
            }
            Err(e) => Some(e.message().to_string()),
        }
    };
    let everywhere = |config: Config| Config { listen: vec!["0.0.0.0:0".to_string()], ..config };
    let text = refused(everywhere(config()), false).expect("refused");
    assert!(text.contains("needs TLS and a password"), "{text}");
    assert!(refused(everywhere(config()), true).is_some_and(|t| t.ends_with("needs TLS")));
    assert!(refused(everywhere(tls_config()), false).is_some_and(|t| t.ends_with("a password")));
    assert_eq!(refused(everywhere(tls_config()), true), None);
    assert_eq!(refused(everywhere(Config { insecure: true, ..config() }), false), None);
    let missing = TlsFiles { certificate: data("none.pem"), key: data("key.pem") };
    assert!(refused(Config { tls: Some(missing), ..config() }, false).is_some());
}

/// Lets this process have this number of files; the server is part of it.
fn raise_file_limit(files: u64) {
    use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
    let now = getrlimit(Resource::Nofile);
    let lowest = |limit: Option<u64>| limit.map(|n| n.max(files));
    let wanted = Rlimit { current: lowest(now.current), maximum: lowest(now.maximum) };
    setrlimit(Resource::Nofile, wanted)
        .or_else(|_| setrlimit(Resource::Nofile, Rlimit { current: now.maximum, ..now }))
        .expect("a limit may be raised up to its own");
}

/// Connections that say this and then nothing.
fn crowd(running: &Running, count: usize, words: &[u8]) -> Vec<TcpStream> {
    let open = || {
        let mut socket = TcpStream::connect(running.address()).expect("the server listens");
        // The server may have dropped it for the next one.
        let _ = socket.write_all(words);
        socket
    };
    (0..count).map(|_| open()).collect()
}

/// Waits for a session of the superuser: that of the middle, and the longest.
fn waits_beside(running: &Running, words: &[u8]) -> (Duration, Duration) {
    let crowd = crowd(running, SILENT, words);
    let mut waits = Vec::new();
    for _ in 0..11 {
        let began = Instant::now();
        let mut wire = running.connect();
        log_in(&mut wire, "postgres", "secret", &PLAIN);
        wire.until(b'Z');
        waits.push(began.elapsed());
        assert_eq!(kinds(&wire.query("select 1")), "TDCZ");
    }
    drop(crowd);
    waits.sort();
    (waits[5], waits[10])
}

fn threads() -> usize {
    std::fs::read_dir("/proc/self/task").map_or(0, Iterator::count)
}

#[test]
fn silent_connections_keep_nobody_out() {
    raise_file_limit(3 * SILENT as u64);
    let running = with_password(config());
    let before = threads();
    let (wait, longest) = waits_beside(&running, b"");
    println!("beside {SILENT} silent connections a session began within {wait:?}, {longest:?}");
    assert!(wait < WAIT, "{wait:?}");
    assert!(threads() < before + SILENT / 4, "silent connections have no threads");
    let dropped = running.server.counts().dropped;
    assert!(dropped as usize >= SILENT - 512, "{dropped}");
    // Those that begin and then say nothing are the same to others.
    let startup = b"\0\0\0\x17\0\x03\0\0user\0postgres\0\0";
    for words in [&startup[..], &[0, 0, 0, 8, 4, 210, 22, 47]] {
        let (wait, longest) = waits_beside(&running, words);
        println!("beside {SILENT} that stop at {} bytes: {wait:?}, {longest:?}", words.len());
        assert!(wait < WAIT, "{wait:?}");
    }
}

#[test]
fn silent_monitors_keep_nobody_out() {
    raise_file_limit(3 * SILENT as u64);
    let running = start(Config { http: Some("127.0.0.1:0".to_string()), ..config() });
    let address = running.server.http_address().expect("an address");
    let crowd: Vec<TcpStream> =
        (0..SILENT).map(|_| TcpStream::connect(address).expect("it listens")).collect();
    let ask = || {
        let began = Instant::now();
        let mut socket = TcpStream::connect(address).expect("it listens");
        socket.write_all(b"GET /healthz HTTP/1.1\r\n\r\n").expect("sent");
        let mut answer = String::new();
        socket.read_to_string(&mut answer).expect("an answer");
        assert!(answer.starts_with("HTTP/1.1 200"), "{answer}");
        began.elapsed()
    };
    let shortest = (0..5).map(|_| ask()).min();
    assert!(shortest.is_some_and(|wait| wait < WAIT), "{shortest:?}");
    drop(crowd);
}

#[test]
fn wrong_passwords_take_longer_each_time() {
    let running = with_password(config());
    let mut took = Vec::new();
    for _ in 0..6 {
        let began = Instant::now();
        let (verdict, _) = log_in(&mut running.connect(), "postgres", "Secret", &PLAIN);
        assert_eq!(verdict.field(b'C'), "28P01");
        took.push(began.elapsed());
    }
    assert!(took[5] >= Duration::from_millis(750), "{took:?}");
    // Other roles are not concerned, and a client that knows the password is let in before long.
    let began = Instant::now();
    log_in(&mut running.connect(), "unknown", "Secret", &PLAIN);
    assert!(began.elapsed() < Duration::from_millis(750));
    let began = Instant::now();
    let (verdict, _) = log_in(&mut running.connect(), "postgres", "secret", &PLAIN);
    assert_eq!(verdict.kind, b'R');
    assert!(
        began.elapsed() < Duration::from_secs(5),
        "two seconds at most, and some for the machine"
    );
    // From then on no client waits.
    let (verdict, _) = log_in(&mut running.connect(), "postgres", "Secret", &PLAIN);
    assert_eq!(verdict.field(b'C'), "28P01");
}

#[test]
fn places_are_kept_for_superusers() {
    let sizes = Config { max_connections: 3, reserved_connections: 2, ..config() };
    let running = start(sizes);
    assert_eq!(kinds(&running.session().query("create role low login")), "CZ");
    let log_in = |user: &str| {
        let mut wire = running.connect();
        wire.startup(&[("user", user), ("database", "postgres")]);
        wire
    };
    for _ in 0..100 {
        if running.server.counts().sessions == 0 {
            break;
        }
        std::thread::sleep(Duration::from_millis(20));
    }
    let mut first = log_in("low");
    first.until(b'Z');
    let refused = log_in("low").until(b'E');
    let error = refused.last().expect("an error");
    assert_eq!(error.field(b'C'), "53300");
    assert!(error.field(b'M').starts_with("remaining connection slots are reserved"));
    log_in("postgres").until(b'Z');
}
