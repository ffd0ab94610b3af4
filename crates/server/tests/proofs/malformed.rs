//! Messages that no client would send: none stops the server, or disturbs who sent none.
//!
//! Valid messages are damaged: bits flipped, cut, grown, counts and lengths replaced, several run
//! together. A session that they leave in doubt is ended or goes on; a neighbour's answers stay right.

use std::io::{ErrorKind, Read as _, Write as _};
use std::net::Shutdown;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use onlap_base::rng::Rng;
use onlap_server::Config;
use onlap_testkit::record::{self, Counts};

use crate::common::{Running, config, framed, kinds, start};
use crate::number;

/// Messages of a test run.
const MESSAGES: u64 = 100_000;
/// Clients that send them at the same time.
const SENDERS: u64 = 8;
/// Messages sent before anybody looks at the answers.
const BURST: u64 = 40;
/// What a session that goes on asks behind them: its answer says that all before it were read.
const MARKER: &[u8] = b"all-was-read";
/// After so much silence a message is taken to have swallowed the question.
const QUIET: Duration = Duration::from_millis(40);
/// A server that has not ended a session that its client ended hangs.
const PATIENCE: Duration = Duration::from_secs(60);

/// A message as a client may send it.
fn valid(rng: &mut Rng) -> (u8, Vec<u8>) {
    let statements: [&[u8]; 9] = [
        b"select 1",
        b"select * from t where id = 3",
        b"insert into t values (7) on conflict do nothing",
        b"begin",
        b"rollback",
        b"copy t from stdin",
        b"copy t to stdout (format binary)",
        b"declare c cursor for select * from t",
        b"set timezone = 'UTC'",
    ];
    let sql = *rng.pick(&statements);
    match rng.below(12) {
        0..=2 => (b'Q', [sql, b"\0"].concat()),
        3 => (b'P', [b"s\0", sql, b"\0\0\x01\0\0\0\x14"].concat()),
        4 => (b'P', b"s\0select * from t where id = $1\0\0\x01\0\0\0\x14".to_vec()),
        5 => (b'B', b"p\0s\0\0\x01\0\x01\0\x01\0\0\0\x08\0\0\0\0\0\0\0\x03\0\x01\0\x01".to_vec()),
        6 => (b'B', b"\0s\0\0\0\0\x01\0\0\0\x013\0\0".to_vec()),
        7 => (b'E', b"p\0\0\0\0\x02".to_vec()),
        8 => (*rng.pick(b"DC"), b"Ss\0".to_vec()),
        9 => (*rng.pick(b"DC"), b"Pp\0".to_vec()),
        10 => (*rng.pick(b"dcfHS"), b"1\tx\n".to_vec()),
        _ => (b'p', b"SCRAM-SHA-256\0\0\0\0\x05n,,n=".to_vec()),
    }
}

/// The same, damaged.
fn damaged(rng: &mut Rng) -> Vec<u8> {
    let (kind, mut body) = valid(rng);
    match rng.below(8) {
        0 => body.truncate(rng.index(body.len() + 1)),
        1 => body.extend((0..rng.below(60)).map(|_| rng.below(256) as u8)),
        2 | 3 => {
            for _ in 0..1 + rng.below(4) {
                let at = rng.index(body.len());
                body[at] ^= 1 << rng.below(8);
            }
        }
        4 => {
            let at = rng.index(body.len());
            let to = (at + 4).min(body.len());
            body[at..to].fill(*rng.pick(&[0xff, 0x7f, 0x80, 0]));
        }
        5 => body = (0..rng.below(200)).map(|_| rng.below(256) as u8).collect(),
        6 => {
            // Text that is deep, long or no text.
            let deep = ["(", "select (", "not ", "-", "[", "'", "$1::", "a."];
            let text = rng.pick(&deep).repeat(1 + rng.index(400));
            body = [text.as_bytes(), b"\0"].concat();
        }
        _ => {}
    }
    let kind = if rng.chance(0.05) { rng.below(256) as u8 } else { kind };
    let mut bytes = framed(kind, &body);
    if rng.chance(0.03) {
        // A length that is not the message's.
        let at = 1 + rng.index(4);
        bytes[at] ^= 1 << rng.below(8);
    }
    bytes
}

/// Sends a burst and reads whatever comes; whether the session goes on.
fn burst(wire: &mut std::net::TcpStream, rng: &mut Rng, messages: u64) -> bool {
    let mut bytes: Vec<u8> = (0..messages).flat_map(|_| damaged(rng)).collect();
    let goes_on = rng.chance(0.5);
    if goes_on {
        bytes.extend(framed(b'S', b""));
        bytes.extend(framed(b'Q', &[b"select '", MARKER, b"'\0"].concat()));
    }
    let reader = wire.try_clone().expect("a second handle");
    // What is sent and what comes back may both be more than the sockets hold.
    let reading = thread::spawn(move || read_all(reader, goes_on));
    let sent = wire.write_all(&bytes).is_ok();
    if !goes_on {
        let _ = wire.shutdown(Shutdown::Write);
    }
    reading.join().expect("the reader ends") && sent
}

/// Reads until the marker or silence where the session goes on, else to its end; whether it is there still.
fn read_all(mut wire: std::net::TcpStream, goes_on: bool) -> bool {
    wire.set_read_timeout(Some(if goes_on { QUIET } else { PATIENCE })).expect("a timeout");
    let mut piece = [0; 1 << 14];
    let mut tail = Vec::new();
    loop {
        match wire.read(&mut piece) {
            Ok(0) => return false,
            Ok(n) => {
                tail.extend_from_slice(&piece[..n]);
                if goes_on && tail.windows(MARKER.len()).any(|w| w == MARKER) {
                    return true;
                }
                tail.drain(..tail.len().saturating_sub(MARKER.len()));
            }
            Err(e) if matches!(e.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut) => {
                assert!(goes_on, "the server does not end a session that its client has ended");
                return true;
            }
            Err(_) => return false,
        }
    }
}

fn send_all(running: &Running, seed: u64, messages: u64) {
    let mut rng = Rng::new(seed);
    let mut left = messages;
    while left > 0 {
        // Some come before anybody said who they are.
        let wire = if rng.chance(0.1) { running.connect() } else { running.session() };
        let mut socket = wire.socket;
        loop {
            let n = left.min(BURST);
            left -= n;
            if !burst(&mut socket, &mut rng, n) || left == 0 {
                break;
            }
        }
        let _ = socket.shutdown(Shutdown::Both);
    }
}

#[test]
fn malformed_messages_harm_nobody_else() {
    let (seed, messages) = (number("ONLAP_SEED", 1), number("ONLAP_MESSAGES", MESSAGES));
    let began = Instant::now();
    println!("{messages} messages, seed {seed}");
    let limits = Config { authentication_timeout: Duration::from_millis(500), ..config() };
    let running = start(limits);
    let mut neighbour = running.session();
    neighbour.query("create table t (id bigint primary key)");
    neighbour.query("create table calm (id bigint primary key, n int)");
    let done = AtomicBool::new(false);
    thread::scope(|scope| {
        let senders: Vec<_> = (0..SENDERS)
            .map(|n| {
                scope.spawn({
                    let running = &running;
                    move || send_all(running, seed * SENDERS + n, messages / SENDERS)
                })
            })
            .collect();
        let calm = scope.spawn(|| {
            let mut n = 0;
            while !done.load(Ordering::Relaxed) {
                n += 1;
                let sql = format!("insert into calm values ({n}, {})", n * 2);
                assert_eq!(kinds(&neighbour.query(&sql)), "CZ");
                let found = neighbour.query(&format!("select n from calm where id = {n}"));
                let row = found.iter().find(|a| a.kind == b'D').expect("its row");
                assert!(row.body.ends_with((n * 2).to_string().as_bytes()), "{row:?}");
            }
            n
        });
        let ended: Vec<_> = senders.into_iter().map(|s| s.join()).collect();
        done.store(true, Ordering::Relaxed);
        assert!(calm.join().expect("a neighbour is not disturbed") > 0);
        assert!(ended.iter().all(Result::is_ok), "the server takes connections all the time");
    });
    assert_eq!(running.server.counts().panics, 0);
    assert_eq!(kinds(&running.session().query("select count(*) from calm")), "TDCZ");
    running.server.stop().expect("nothing hangs");
    let mut counts = Counts::default();
    counts.add("malformed messages", messages);
    record::note("messages", seed, &counts, began.elapsed());
}
