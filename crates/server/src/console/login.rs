//! Does the person at the page know the role's password?
//!
//! The exchange of [`crate::auth`], SCRAM-SHA-256, in two requests: the page sends its first message, gets the server's,
//! and sends its proof. The password stays in the browser; unknown roles go through the same steps, and wrong
//! passwords make later logins wait, all as for sessions ([`crate::logins`]). As long as no role ever had a password
//! every user of this machine is let in, as there.
//!
//! Exchanges that have begun are bounded (I7), for all and for each address; where one more comes the oldest goes.

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Duration;

use onlap_base::clock::{Clock as _, SystemClock};
use onlap_sql::scram::{Verifier, mock_verifier};
use onlap_sql::{Secret, Session};
use parking_lot::Mutex;
use serde_json::{Value, json};

use super::sessions::LASTS;
use super::{Caller, cookie, query, refused};
use crate::auth::{Exchange, PLAIN, Verdict};
use crate::connection::nonce;
use crate::http::answer::{Answer, Kind};
use crate::origin::Origin;
use crate::server::Shared;
use crate::turns::Turns;

/// Exchanges at most, of some 500 bytes each.
const MOST: usize = 512;
/// Of one address.
const MOST_EACH: usize = 32;

/// Verdicts at a time, of all and of one address: they may wait after wrong passwords, and those who have logged in
/// need threads meanwhile.
const VERDICTS: usize = 8;
const VERDICTS_EACH: usize = 2;

/// An exchange that waits for its proof.
#[derive(Debug)]
struct Begun {
    id: String,
    from: Origin,
    until_ns: u64,
    role: String,
    /// What the role had when it began; `None` for one that cannot log in.
    secret: Option<Secret>,
    exchange: Exchange,
}

/// Exchanges that have begun.
#[derive(Debug)]
pub(crate) struct Exchanges {
    time: Duration,
    /// Verdicts on their way, which may wait.
    verdicts: Turns<Origin>,
    all: Mutex<VecDeque<Begun>>,
}

impl Exchanges {
    /// None yet; each has so long.
    pub(crate) fn new(time: Duration) -> Exchanges {
        Exchanges { time, verdicts: Turns::new(VERDICTS, VERDICTS_EACH), all: Mutex::default() }
    }

    fn put(&self, begun: Begun) {
        let mut all = self.all.lock();
        let now = SystemClock.monotonic_ns();
        all.retain(|other| other.until_ns > now);
        if all.iter().filter(|other| other.from == begun.from).count() >= MOST_EACH {
            let oldest = all.iter().position(|other| other.from == begun.from);
            oldest.iter().for_each(|at| drop(all.remove(*at)));
        } else if all.len() >= MOST {
            all.pop_front();
        }
        all.push_back(begun);
    }

    /// Takes one out: a proof is looked at once.
    fn take(&self, id: &str) -> Option<Begun> {
        let mut all = self.all.lock();
        let at = all.iter().position(|begun| begun.id == id)?;
        let now = SystemClock.monotonic_ns();
        all.remove(at).filter(|begun| begun.until_ns > now)
    }
}

/// The first request: a role, and the client's first message.
pub(super) fn begin(shared: &Arc<Shared>, body: &Value, caller: &Caller) -> Answer {
    let Some(role) = body["role"].as_str() else {
        return refused("400 Bad Request", "there is no role");
    };
    let secret = shared.instance.secret(role);
    if secret == Secret::Trusted && caller.is_trusted(shared) {
        return let_in(shared, role, secret, caller, json!({}));
    }
    let Some(first) = body["first"].as_str() else {
        return refused("400 Bad Request", "there is no first message");
    };
    let verifier = match &secret {
        Secret::Verifier(text) => Verifier::parse(text),
        Secret::Trusted | Secret::Unknown => None,
    };
    let secret = verifier.is_some().then_some(secret);
    let verifier = verifier.unwrap_or_else(|| mock_verifier(&shared.instance.mock_key(), role));
    let exchange = match Exchange::begin(PLAIN, first.as_bytes(), verifier, None, &nonce()) {
        Ok(exchange) => exchange,
        Err(e) => return refused("400 Bad Request", &e.to_string()),
    };
    let exchanges = &shared.console.exchanges;
    let id = nonce();
    let answer = json!({ "id": id, "first": exchange.answer() });
    exchanges.put(Begun {
        id,
        from: caller.origin(),
        until_ns: SystemClock.monotonic_ns() + exchanges.time.as_nanos() as u64,
        role: role.to_string(),
        secret,
        exchange,
    });
    Answer::new("200 OK", Kind::Json, answer.to_string())
}

/// The second: the client's proof.
pub(super) fn end(shared: &Arc<Shared>, body: &Value, caller: &Caller) -> Answer {
    let (Some(id), Some(last)) = (body["id"].as_str(), body["last"].as_str()) else {
        return refused("400 Bad Request", "there is no proof");
    };
    let from = caller.origin();
    let Some(_turn) = shared.console.exchanges.verdicts.take(from) else {
        let busy = "too many logins are under way: try again in a moment";
        return refused("503 Service Unavailable", busy).with("Retry-After", "2");
    };
    let Some(begun) = shared.console.exchanges.take(id).filter(|begun| begun.from == from) else {
        return refused("401 Unauthorized", "the login took too long: try again");
    };
    let role = begun.role;
    let verdict = match begun.exchange.end(last.as_bytes()) {
        Ok(verdict) => verdict,
        Err(e) => return refused("400 Bad Request", &e.to_string()),
    };
    let wait = shared.logins.wait(&role, from, SystemClock.monotonic_ns());
    if !wait.is_zero() {
        shared.tasks.sleep(wait);
    }
    match (verdict, begun.secret) {
        (Verdict::Accepted(proof), Some(secret)) => {
            shared.logins.succeeded(&role, from);
            let_in(shared, &role, secret, caller, json!({ "last": proof }))
        }
        _ => {
            shared.logins.failed(&role, from, SystemClock.monotonic_ns());
            let peer = caller.peer;
            shared.log.info(format_args!("console: wrong password for {role:?} from {peer}"));
            let text = format!("password authentication failed for user \"{role}\"");
            refused("401 Unauthorized", &text)
        }
    }
}

/// Begins a session, of a role that may connect.
fn let_in(
    shared: &Arc<Shared>,
    role: &str,
    proved: Secret,
    caller: &Caller,
    mut body: Value,
) -> Answer {
    let info = query::info(role, super::FIRST_ROLE, caller);
    if let Err(e) = Session::new(&shared.instance, info) {
        return refused("403 Forbidden", &e.to_string());
    }
    let token = shared.console.sessions.begin(role, proved);
    shared.log.info(format_args!("console: {role:?} logged in from {}", caller.peer));
    body["role"] = role.into();
    let cookie = cookie(shared, caller, &token, LASTS.as_secs());
    Answer::new("200 OK", Kind::Json, body.to_string()).with("Set-Cookie", &cookie)
}
