//! How does a person look at the server?
//!
//! One page, which is in the binary ([`page`]), and four addresses that it asks: `/api/session`, `/api/login`
//! ([`login`]), `/api/logout`, `/api/query` ([`query`]). What the page shows are rows of statements that look, run as
//! the role that logged in, with that role's rights and no other way to data.
//!
//! Who may ask, in this order; each step refuses by itself:
//!
//! 1. Beyond loopback the console is off until a role has a password, and other machines need TLS. `--insecure` lifts
//!    both, as it does for sessions.
//! 2. The host that was asked for is an address, `localhost`, or proved by a certificate: a name that another
//!    site pointed at this machine (DNS rebinding) is none of these.
//! 3. What is more than a look at the page comes by POST as JSON, with a header that other sites cannot send without
//!    asking first, and with the origin of this very page.
//! 4. A cookie that scripts cannot read and other sites cannot send names a session ([`sessions`]), which lasts as long as
//!    the password that it was proved by.
//!
//! Nothing panics on bytes from outside (I8).

use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;
use std::time::Duration;

use onlap_sql::Secret;
use serde_json::{Value, json};

use crate::connection::Peer;
use crate::http::answer::{Answer, Kind};
use crate::http::request::Request;
use crate::origin::Origin;
use crate::server::Shared;
use crate::stream::Raw;

mod collect;
mod gone;
mod login;
pub(crate) mod page;
mod query;
mod sessions;

use login::Exchanges;
use sessions::{Held, Sessions};

/// The header that only scripts of the page's own origin can send, and its value.
const MARK: (&str, &str) = ("x-onlap", "console");
/// The role that exists from the first start.
const FIRST_ROLE: &str = "postgres";

/// What all requests share.
#[derive(Debug)]
pub(crate) struct Console {
    sessions: Sessions,
    exchanges: Exchanges,
    /// Whether other machines reach it.
    is_exposed: bool,
    /// Cookies know no ports, so their names do.
    port: u16,
    /// Queries under way.
    queries: query::Queries,
}

impl Console {
    /// At these addresses; a login has to be over in `login_time`.
    pub(crate) fn at(addresses: &[SocketAddr], login_time: Duration) -> Console {
        Console {
            sessions: Sessions::default(),
            exchanges: Exchanges::new(login_time),
            is_exposed: addresses.iter().any(|a| !a.ip().is_loopback()),
            port: addresses.first().map_or(0, SocketAddr::port),
            queries: query::queries(),
        }
    }

    fn cookie_name(&self, is_encrypted: bool) -> String {
        let prefix = if is_encrypted { "__Host-" } else { "" };
        format!("{prefix}onlap-{}", self.port)
    }
}

/// Who asks.
pub(crate) struct Caller {
    /// Its address.
    pub(crate) peer: SocketAddr,
    /// Whether it speaks TLS.
    pub(crate) is_encrypted: bool,
    /// Its socket, for who breaks all connections.
    pub(crate) handle: Raw,
}

impl Caller {
    fn peer(&self) -> Peer {
        Peer::Ip(self.peer.ip(), self.peer.port())
    }
    fn origin(&self) -> Origin {
        self.peer().into()
    }
    fn is_trusted(&self, shared: &Shared) -> bool {
        self.peer().is_local() || shared.config.insecure
    }
}

/// Answers a request.
pub(crate) fn answer(shared: &Arc<Shared>, request: &Request<'_>, caller: &Caller) -> Answer {
    const PATHS: [&str; 6] =
        ["/", "/api/session", "/api/login", "/api/proof", "/api/logout", "/api/query"];
    if !PATHS.contains(&request.path) {
        return Answer::text("404 Not Found", "there are /, /healthz and /metrics\n");
    }
    if let Err(refused) = may_come(shared, request, caller) {
        return refused;
    }
    match (request.method, request.path) {
        ("GET", "/") => Answer::new("200 OK", Kind::Page, page::text()),
        ("GET", "/api/session") => session(shared, request, caller),
        ("POST", "/api/login" | "/api/proof" | "/api/logout" | "/api/query") => {
            post(shared, request, caller)
        }
        _ => Answer::text("405 Method Not Allowed", "the page is got, and the rest is posted\n"),
    }
}

/// Steps 1 and 2.
fn may_come(shared: &Shared, request: &Request<'_>, caller: &Caller) -> Result<(), Answer> {
    let no = |text: &'static str| Answer::text("403 Forbidden", text);
    if !shared.config.insecure {
        if shared.console.is_exposed && !shared.instance.has_passwords() {
            return Err(no(
                "The console is off: other machines reach this address, and no role has a password. \
                 ALTER ROLE postgres PASSWORD '...' switches it on.\n",
            ));
        }
        if !caller.peer().is_local() && !caller.is_encrypted {
            return Err(no("The console is served to other machines over TLS alone.\n"));
        }
    }
    let host = request.header("host").unwrap_or_default();
    if !caller.is_encrypted && !is_ours(host) {
        let text =
            "Ask for the console by an address or localhost: this name may be another site's.\n";
        return Err(Answer::text("421 Misdirected Request", text));
    }
    Ok(())
}

/// Whether a host, with its port, is an address or this machine.
fn is_ours(host: &str) -> bool {
    let name = match host.strip_prefix('[').and_then(|rest| rest.split_once(']')) {
        Some((address, _)) => address,
        None => host.split(':').next().unwrap_or_default(),
    };
    name.eq_ignore_ascii_case("localhost") || name.parse::<IpAddr>().is_ok()
}

/// Steps 3 and 4.
fn post(shared: &Arc<Shared>, request: &Request<'_>, caller: &Caller) -> Answer {
    if let Err(why) = is_of_the_page(request, caller) {
        return refused("403 Forbidden", why);
    }
    let Ok(body) = serde_json::from_slice::<Value>(request.body) else {
        return refused("400 Bad Request", "the body is not JSON");
    };
    match request.path {
        "/api/login" => return login::begin(shared, &body, caller),
        "/api/proof" => return login::end(shared, &body, caller),
        _ => {}
    }
    let Some((token, held)) = held(shared, request, caller) else {
        return refused("401 Unauthorized", "there is no session, or it is over");
    };
    match request.path {
        "/api/logout" => {
            shared.console.sessions.end(token);
            let gone = cookie(shared, caller, "", 0);
            Answer::new("200 OK", Kind::Json, "{}").with("Set-Cookie", &gone)
        }
        _ => query::answer(shared, &held, &body, caller),
    }
}

fn is_of_the_page(request: &Request<'_>, caller: &Caller) -> Result<(), &'static str> {
    let json = request.header("content-type").unwrap_or_default();
    if !json.split(';').next().unwrap_or_default().trim().eq_ignore_ascii_case("application/json") {
        return Err("the body is to be application/json");
    }
    if request.header(MARK.0) != Some(MARK.1) {
        return Err("the header x-onlap is missing");
    }
    let host = request.header("host").unwrap_or_default();
    let scheme = if caller.is_encrypted { "https" } else { "http" };
    let own = format!("{scheme}://{host}");
    if !request.header("origin").is_some_and(|origin| origin.eq_ignore_ascii_case(&own)) {
        return Err("the origin is another");
    }
    match request.header("sec-fetch-site") {
        None if request.has("sec-fetch-site") => Err("the request is of another site"),
        Some(site) if site != "same-origin" => Err("the request is of another site"),
        _ => Ok(()),
    }
}

/// The session that a request names, if what it was proved by still holds.
fn held<'a>(
    shared: &Shared,
    request: &Request<'a>,
    caller: &Caller,
) -> Option<(&'a str, Arc<Held>)> {
    let token = request.cookie(&shared.console.cookie_name(caller.is_encrypted))?;
    let held = shared.console.sessions.find(token)?;
    let now = shared.instance.secret(&held.role);
    let still = match now {
        Secret::Trusted => held.proved == Secret::Trusted && caller.is_trusted(shared),
        Secret::Verifier(_) => held.proved == now,
        Secret::Unknown => false,
    };
    if !still {
        shared.console.sessions.end(token);
        return None;
    }
    Some((token, held))
}

/// What the page asks first.
fn session(shared: &Arc<Shared>, request: &Request<'_>, caller: &Caller) -> Answer {
    let held = held(shared, request, caller);
    let is_trusting = !shared.instance.has_passwords() && caller.is_trusted(shared);
    let body = json!({
        "role": held.as_ref().map(|(_, held)| &held.role),
        "trusts": is_trusting,
        "first_role": FIRST_ROLE,
        "version": env!("CARGO_PKG_VERSION"),
    });
    Answer::new("200 OK", Kind::Json, body.to_string())
}

fn cookie(shared: &Shared, caller: &Caller, token: &str, seconds: u64) -> String {
    let name = shared.console.cookie_name(caller.is_encrypted);
    let secure = if caller.is_encrypted { "; Secure" } else { "" };
    format!("{name}={token}; Path=/; Max-Age={seconds}; HttpOnly; SameSite=Strict{secure}")
}

fn refused(status: &'static str, why: &str) -> Answer {
    Answer::new(status, Kind::Json, json!({ "error": { "message": why } }).to_string())
}
