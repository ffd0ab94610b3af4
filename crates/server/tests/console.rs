//! Who may ask the console, for what, and what does a browser make of it?

#![allow(clippy::disallowed_methods, reason = "a client has the world's clocks and sockets")]

#[path = "console/browser.rs"]
mod browser;
#[path = "console/client.rs"]
mod client;
mod common;
#[path = "console/page.rs"]
mod page;

use std::time::{Duration, Instant};

use client::{Http, http_config, tls_config};
use common::{Running, start, start_with};
use onlap_server::Config;
use onlap_sql::scram;
use serde_json::json;

fn with_password(config: Config) -> Running {
    start_with(config, |instance| {
        instance.set_password("postgres", &scram::stored_form("secret")).expect("a password");
    })
}

fn sql(running: &Running, statements: &[&str]) {
    let mut wire = running.session();
    for statement in statements {
        let answers = wire.query(statement);
        let error = answers.iter().find(|a| a.kind == b'E');
        assert!(error.is_none(), "{statement}: {}", error.map_or(String::new(), |e| e.field(b'M')));
    }
}

/// A role's password, where sessions over the wire are no longer trusted.
fn role_with_password(running: &Running, name: &str) {
    sql(running, &[&format!("create role {name} login")]);
    running.instance.set_password(name, &scram::stored_form("secret")).expect("a password");
}

#[test]
fn the_page_comes_whole_and_from_here_alone() {
    let running = start(http_config());
    let said = Http::new(&running).get("/");
    assert_eq!((said.status, said.header("content-type")), (200, "text/html; charset=utf-8"));
    assert!(said.body.len() < 300 << 10, "{} bytes", said.body.len());
    let policy = said.header("content-security-policy");
    for part in [
        "default-src 'none'",
        "frame-ancestors 'none'",
        "script-src 'sha256-",
        "style-src 'sha256-",
    ] {
        assert!(policy.contains(part), "{policy}");
    }
    assert!(!policy.contains("unsafe"), "{policy}");
    assert_eq!(said.header("x-content-type-options"), "nosniff");
    // Nothing of the page is fetched, and nothing in it is a handler or makes HTML of a text.
    for word in [
        "src=\"",
        "@import",
        "url(",
        "innerHTML",
        "outerHTML",
        "insertAdjacentHTML",
        "document.write",
        "eval(",
        "onclick=\"",
        "onload=\"",
        "style=\"",
    ] {
        assert!(!said.body.contains(word), "{word}");
    }
    // The only addresses are names of SVG's elements.
    let addresses = said.body.split("://").skip(1);
    let foreign: Vec<&str> = addresses.filter(|a| !a.starts_with("www.w3.org/2000/svg")).collect();
    assert!(foreign.iter().all(|a| a.starts_with('.')), "{foreign:?}");
    assert!(!said.body.contains("/*style*/") && !said.body.contains("/*script*/"));
}

#[test]
fn statements_run_as_the_role_and_change_nothing() {
    let running = start(http_config());
    sql(
        &running,
        &[
            "create table t (id bigint primary key, a text)",
            "insert into t values (1, 'one'), (2, null), (3, '')",
            "create table secret (a int)",
            "create role guest login",
            "grant select on t to guest",
        ],
    );
    let mut guest = Http::new(&running);
    assert_eq!(guest.log_in_trusted("guest").status, 200);
    let said = guest.query("select id, a from t order by id");
    let result = &said.json()["results"][0];
    assert_eq!(result["rows"], json!([["1", "one"], ["2", null], ["3", ""]]));
    assert_eq!(result["columns"], json!([{"name": "id", "type": 20}, {"name": "a", "type": 25}]));
    assert_eq!((&result["cut"], &result["tag"]), (&json!(false), &json!("SELECT 3")));
    for (statement, state) in [
        ("select * from secret", "42501"),
        ("insert into t values (9, '')", "25006"),
        ("delete from t", "25006"),
        ("commit; delete from t", "25006"),
        ("set default_transaction_read_only = off", "25006"),
        ("select set_config('transaction_read_only', 'off', false)", "25001"),
        ("set role postgres", "25006"),
        ("copy t to '/tmp/onlap-never-there'", "25006"),
        ("backup to '/tmp/onlap-never-there'", "25006"),
        ("create table u (a int)", "25006"),
        ("select rolpassword from pg_authid", "42501"),
        ("selec", "42601"),
    ] {
        let said = guest.query(statement);
        assert_eq!(
            said.json()["results"][0]["error"]["state"],
            state,
            "{statement}: {}",
            said.body
        );
    }
    // A role sees its own statements alone.
    let said = guest.query(
        "select count(*) from onlap_stat.statements where query like 'insert into t%' or query like 'create table secret%'",
    );
    assert_eq!(said.json()["results"][0]["rows"], json!([["0"]]));
    // What is found is told, and where.
    let error = &guest.query("select nothing from t").json()["results"][0]["error"];
    assert_eq!((&error["state"], &error["position"]), (&json!("42703"), &json!("8")));
    // A role that may no longer log in, or connect, is no longer served.
    sql(&running, &["alter role guest nologin"]);
    assert!(guest.query("select 1").json()["results"][0]["error"].is_object());
}

#[test]
fn answers_have_limits() {
    let running = start(http_config());
    let mut http = Http::new(&running);
    http.log_in_trusted("postgres");
    let some = http.send(
        "/api/query",
        &json!({"statements": [{"sql": "select generate_series(1, 100)", "rows": 10}]}),
    );
    let result = &some.json()["results"][0];
    assert_eq!((result["rows"].as_array().map(Vec::len), &result["cut"]), (Some(10), &json!(true)));
    let rows = http.query("select i from generate_series(1, 1000000) i");
    let result = &rows.json()["results"][0];
    assert_eq!(
        (result["rows"].as_array().map(Vec::len), &result["cut"]),
        (Some(10_000), &json!(true))
    );
    for statement in [
        "select repeat('x', 1000) from generate_series(1, 100000)",
        "select repeat('<', 5000000)",
        "select repeat(chr(1), 1000000) from generate_series(1, 3)",
    ] {
        let said = http.query(statement);
        assert!(said.body.len() < (2 << 20) + 1000, "{statement}: {} bytes", said.body.len());
        assert_eq!(said.json()["results"][0]["cut"], true, "{statement}");
    }
    let begun = Instant::now();
    let slow = http.query("select pg_sleep(60)");
    assert_eq!(slow.json()["results"][0]["error"]["state"], "57014", "{}", slow.body);
    assert!(begun.elapsed() < Duration::from_secs(20));
    for (body, status) in [
        (json!({}), 400),
        (json!({"statements": []}), 400),
        (json!({"statements": vec![json!({"sql": "select 1"}); 17]}), 400),
        (json!({"statements": [{"sql": "x".repeat(40_000)}]}), 413),
    ] {
        assert_eq!(http.send("/api/query", &body).status, status);
    }
    for statement in [
        json!(1),
        json!({"sql": 1}),
        json!({"sql": "select 1", "values": [1]}),
        json!({"sql": "select $1", "values": []}),
    ] {
        let said = http.send("/api/query", &json!({"statements": [statement]}));
        assert_eq!(said.json()["results"][0]["error"]["state"], "08P01", "{}", said.body);
    }
    let said = http.send(
        "/api/query",
        &json!({"statements": [{"sql": "select $1::int + 1", "values": ["41"]}]}),
    );
    assert_eq!(said.json()["results"][0]["rows"], json!([["42"]]));
}

#[test]
fn some_statements_run_at_a_time_and_monitors_are_answered_meanwhile() {
    let running = start(http_config());
    let mut http = Http::new(&running);
    http.log_in_trusted("postgres");
    let cookie = http.cookie.clone();
    std::thread::scope(|scope| {
        let busy: Vec<_> = (0..30)
            .map(|_| {
                let (running, cookie) = (&running, cookie.clone());
                scope.spawn(move || {
                    let mut http = Http::new(running);
                    http.cookie = cookie;
                    http.query("select pg_sleep(1)").status
                })
            })
            .collect();
        std::thread::sleep(Duration::from_millis(300));
        let begun = Instant::now();
        assert_eq!(Http::new(&running).get("/healthz").body, "ok\n");
        assert!(begun.elapsed() < Duration::from_millis(600), "{:?}", begun.elapsed());
        let all: Vec<u16> = busy.into_iter().map(|t| t.join().expect("it ends")).collect();
        let count = |status: u16| all.iter().filter(|s| **s == status).count();
        assert!(count(200) >= 4 && count(503) >= 10 && count(200) + count(503) == 30, "{all:?}");
    });
    assert_eq!(http.query("select 1").status, 200);
}

#[test]
fn a_closed_tab_ends_its_statements() {
    for is_encrypted in [false, true] {
        let running = start(if is_encrypted { tls_config() } else { http_config() });
        let mut http = match is_encrypted {
            true => Http::encrypted(&running),
            false => Http::new(&running),
        };
        assert_eq!(http.log_in_trusted("postgres").status, 200);
        let mut wire = running.session();
        let mut sleeping = || {
            let rows = wire.query(
                "select count(*) from pg_stat_activity where query = 'select pg_sleep(9)' and state = 'active'",
            );
            rows.iter().find(|a| a.kind == b'D').expect("a row").values().remove(0)
        };
        let mut wait_for = |wanted: &str| {
            let begun = Instant::now();
            while sleeping() != wanted {
                assert!(begun.elapsed() < Duration::from_secs(5), "never {wanted}");
                std::thread::sleep(Duration::from_millis(10));
            }
            begun.elapsed()
        };
        let statements = vec![json!({"sql": "select pg_sleep(9)"}); 2];
        let tab = http.begin("/api/query", &json!({"statements": statements}));
        wait_for("1");
        drop(tab);
        let took = wait_for("0");
        assert!(took < Duration::from_secs(2), "{took:?}");
        // Neither does the other one begin.
        std::thread::sleep(Duration::from_millis(100));
        assert!(wait_for("0") < Duration::from_secs(1));
        // Who waits gets the answer.
        assert_eq!(http.query("select 1").json()["results"][0]["rows"], json!([["1"]]));
    }
}

#[test]
fn requests_of_other_sites_are_refused() {
    let running = start(http_config());
    let mut http = Http::new(&running);
    assert_eq!(http.log_in_trusted("postgres").status, 200);
    let body = json!({"statements": [{"sql": "select 1"}]}).to_string();
    assert_eq!(http.post_with("/api/query", &body, &[]).status, 200);
    let own = format!("http://{}", http.host);
    for (changed, why) in [
        (("Origin", "http://evil.example"), "origin"),
        (("Origin", "null"), "origin"),
        (("Origin", ""), "origin"),
        (("Origin", &*format!("https://{}", http.host)), "origin"),
        (("Origin", &*format!("{own}.evil.example")), "origin"),
        (("X-Onlap", ""), "x-onlap"),
        (("X-Onlap", "no"), "x-onlap"),
        (("Content-Type", "text/plain"), "json"),
        (("Content-Type", "application/x-www-form-urlencoded"), "json"),
        (("Sec-Fetch-Site", "cross-site"), "site"),
        (("Sec-Fetch-Site", "same-site"), "site"),
    ] {
        let said = http.post_with("/api/query", &body, &[changed]);
        assert_eq!(said.status, 403, "{changed:?}");
        assert!(said.body.contains(why), "{changed:?}: {}", said.body);
        let login =
            http.post_with("/api/login", &json!({"role": "postgres"}).to_string(), &[changed]);
        assert_eq!((login.status, login.header("set-cookie")), (403, ""), "{changed:?}");
    }
    assert_eq!(
        http.post_with("/api/query", &body, &[("Sec-Fetch-Site", "same-origin")]).status,
        200
    );
    // No other site is allowed in by a preflight.
    let preflight = http.raw(&format!(
        "OPTIONS /api/query HTTP/1.1\r\nHost: {}\r\nOrigin: http://evil.example\r\n\r\n",
        http.host
    ));
    assert_eq!((preflight.status, preflight.header("access-control-allow-origin")), (405, ""));
    assert_eq!(http.get("/api/query").status, 405);
}

#[test]
fn names_of_others_are_no_host() {
    let running = start(http_config());
    let http = Http::new(&running);
    for host in [
        "evil.example",
        "evil.example:9187",
        "localhost.evil.example",
        "127.0.0.1.evil.example",
        "",
        "[evil]",
        "a@127.0.0.1",
    ] {
        for path in ["/", "/api/session"] {
            let said = http.raw(&format!("GET {path} HTTP/1.1\r\nHost: {host}\r\n\r\n"));
            assert_eq!(said.status, 421, "{host} {path}");
        }
    }
    assert_eq!(http.raw("GET / HTTP/1.1\r\n\r\n").status, 421);
    assert_eq!(
        http.raw("GET / HTTP/1.1\r\nHost: localhost\r\nHost: evil.example\r\n\r\n").status,
        421
    );
    for host in ["localhost", "LOCALHOST:1", "127.0.0.1:80", "[::1]:80", "192.168.1.7"] {
        assert_eq!(
            http.raw(&format!("GET / HTTP/1.1\r\nHost: {host}\r\n\r\n")).status,
            200,
            "{host}"
        );
    }
    // Monitors ask by any name.
    assert_eq!(http.raw("GET /healthz HTTP/1.1\r\nHost: db.example\r\n\r\n").status, 200);
}

#[test]
fn a_password_is_proved_and_not_sent() {
    let running = with_password(http_config());
    let mut http = Http::new(&running);
    assert_eq!(http.get("/api/session").json()["role"], json!(null));
    assert_eq!(http.query("select 1").status, 401);
    assert_eq!(
        http.send("/api/login", &json!({"role": "postgres"})).status,
        400,
        "no trust any more"
    );
    let said = http.log_in("postgres", "secret");
    assert_eq!(said.status, 200, "{}", said.body);
    let cookie = said.header("set-cookie");
    for part in ["HttpOnly", "SameSite=Strict", "Path=/", "Max-Age=43200"] {
        assert!(cookie.contains(part), "{cookie}");
    }
    assert!(!cookie.contains("Secure") && !cookie.contains("Domain"), "{cookie}");
    assert_eq!(
        http.query("select current_user").json()["results"][0]["rows"],
        json!([["postgres"]])
    );
    assert_eq!(http.get("/api/session").json()["role"], "postgres");
    // Logged out, the cookie is worth nothing.
    let before = http.cookie.clone();
    assert_eq!(http.send("/api/logout", &json!({})).status, 200);
    http.cookie = before;
    assert_eq!(http.query("select 1").status, 401);
    for cookie in ["", "onlap-1=x", "x"] {
        http.cookie = cookie.to_string();
        assert_eq!(http.query("select 1").status, 401, "{cookie:?}");
    }
}

#[test]
fn wrong_passwords_and_unknown_roles_are_refused_alike() {
    let running = with_password(http_config());
    let mut errors = Vec::new();
    for role in ["postgres", "unknown"] {
        let mut http = Http::new(&running);
        let said = http.log_in(role, "Secret");
        assert_eq!((said.status, said.header("set-cookie")), (401, ""));
        errors.push(said.body.replace(role, "ROLE"));
    }
    assert_eq!(errors[0], errors[1]);
    let begun = Instant::now();
    for _ in 0..4 {
        assert_eq!(Http::new(&running).log_in("postgres", "Secret").status, 401);
    }
    // 50, 100, 200 and 400 ms.
    assert!(begun.elapsed() > Duration::from_millis(600), "{:?}", begun.elapsed());
    // A proof counts once, for its own exchange.
    let http = Http::new(&running);
    for body in
        [json!({}), json!({"id": "x", "last": "c=biws,r=x,p=AAAA"}), json!({"id": 1, "last": 2})]
    {
        let status = http.send("/api/proof", &body).status;
        assert!(status == 400 || status == 401, "{body}");
    }
    for first in [
        "",
        "n",
        "n,,n=,r=",
        "p=tls-server-end-point,,n=,r=x",
        "n,a=postgres,n=,r=x",
        "y,,\u{1},r=x",
    ] {
        let said = http.send("/api/login", &json!({"role": "postgres", "first": first}));
        assert_eq!(said.status, 400, "{first:?}: {}", said.body);
    }
}

#[test]
fn guesses_keep_no_one_out_who_is_in() {
    let running = with_password(http_config());
    let mut http = Http::new(&running);
    assert_eq!(http.log_in("postgres", "secret").status, 200);
    for _ in 0..5 {
        assert_eq!(Http::new(&running).log_in("postgres", "Secret").status, 401);
    }
    std::thread::scope(|scope| {
        let guess = || Http::new(&running).log_in("postgres", "Secret").status;
        let all: Vec<_> = (0..10).map(|_| scope.spawn(guess)).collect();
        std::thread::sleep(Duration::from_millis(100));
        assert_eq!(http.query("select 1").status, 200);
        let all: Vec<u16> = all.into_iter().map(|t| t.join().expect("it ends")).collect();
        let count = |status: u16| all.iter().filter(|s| **s == status).count();
        // Two wait at a time.
        assert!(count(401) >= 2 && count(503) >= 4 && count(401) + count(503) == 10, "{all:?}");
    });
}

#[test]
fn a_session_lasts_as_long_as_what_proved_it() {
    let running = start(http_config());
    let mut trusted = Http::new(&running);
    trusted.log_in_trusted("postgres");
    assert_eq!(trusted.query("select 1").status, 200);
    role_with_password(&running, "anna");
    assert_eq!(trusted.query("select 1").status, 401, "trust has ended");
    let mut http = Http::new(&running);
    assert_eq!(http.log_in("anna", "secret").status, 200);
    assert_eq!(http.query("select 1").status, 200);
    running.instance.set_password("anna", &scram::stored_form("other")).expect("a password");
    assert_eq!(http.query("select 1").status, 401, "the password is another");
}

#[test]
fn beyond_loopback_it_is_off_until_there_is_a_password() {
    let open = || Config { http: Some("0.0.0.0:0".to_string()), ..http_config() };
    let running = start(open());
    let said = Http::new(&running).get("/");
    assert_eq!(said.status, 403);
    assert!(said.body.contains("password"), "{}", said.body);
    assert_eq!(Http::new(&running).get("/api/session").status, 403);
    assert_eq!(Http::new(&running).get("/healthz").status, 200);
    running.instance.set_password("postgres", &scram::stored_form("secret")).expect("a password");
    assert_eq!(Http::new(&running).get("/").status, 200);
    let running = start(Config { insecure: true, ..open() });
    assert_eq!(Http::new(&running).get("/").status, 200);
}

#[test]
fn under_tls_the_cookie_is_secure() {
    let running = with_password(client::tls_config());
    let mut http = Http::encrypted(&running);
    assert_eq!(http.get("/").status, 200);
    let said = http.log_in("postgres", "secret");
    assert_eq!(said.status, 200, "{}", said.body);
    let cookie = said.header("set-cookie");
    assert!(cookie.starts_with("__Host-onlap-") && cookie.contains("; Secure"), "{cookie}");
    assert_eq!(http.query("select 1").status, 200);
    assert_eq!(http.get("/healthz").body, "ok\n");
    // The same port goes on without TLS for this machine, with sessions of its own.
    let mut plain = Http::new(&running);
    assert_eq!(plain.get("/healthz").body, "ok\n");
    plain.cookie.clone_from(&http.cookie);
    assert_eq!(plain.query("select 1").status, 401);
}

#[test]
fn names_and_values_come_as_they_are() {
    let running = start(http_config());
    let name = "\"<img src=x onerror=alert(1)>\"\"'\\\u{2028}\"";
    sql(
        &running,
        &[
            &format!("create table {name} (id bigint primary key, \"</script><b>\" text)"),
            &format!(
                "insert into {name} values (1, '</script><script>alert(1)</script>\u{1}\"\\')"
            ),
        ],
    );
    let mut http = Http::new(&running);
    http.log_in_trusted("postgres");
    let said = http.query(&format!("select * from {name}"));
    assert_eq!(said.header("content-type"), "application/json");
    let result = &said.json()["results"][0];
    assert_eq!(result["columns"][1]["name"], "</script><b>");
    assert_eq!(result["rows"][0][1], "</script><script>alert(1)</script>\u{1}\"\\");
    let said = http.query("select table_name from onlap_stat.tables");
    assert_eq!(
        said.json()["results"][0]["rows"][0][0],
        "<img src=x onerror=alert(1)>\"'\\\u{2028}"
    );
}

#[test]
fn hostile_bytes_end_their_connection_alone() {
    let running = start(http_config());
    let http = Http::new(&running);
    let deep = format!("{{\"statements\":{}", "[".repeat(20_000));
    for text in [
        "\r\n\r\n".to_string(),
        "GET\r\n\r\n".to_string(),
        "GET / HTTP/9.9\r\n\r\n".to_string(),
        "\u{16}\u{3}\u{1}\0\u{5}hello".to_string(),
        "\u{16}\u{3}\u{1}\u{7f}\u{7f}".to_string() + &"a".repeat(40_000),
        format!("GET / HTTP/1.1\r\nCookie: {}\r\n\r\n", "a=b;".repeat(1500)),
        format!("GET /{} HTTP/1.1\r\n\r\n", "a".repeat(9000)),
        "POST /api/query HTTP/1.1\r\nContent-Length: 99999999999999999999\r\n\r\n".to_string(),
        "POST /api/query HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n".to_string(),
    ] {
        let status = http.try_raw(text.as_bytes()).map(|said| said.status);
        assert!(
            status.is_none_or(|status| (400..=505).contains(&status)),
            "{status:?}: {text:.60}"
        );
    }
    let mut http = Http::new(&running);
    http.log_in_trusted("postgres");
    for body in [
        deep.as_str(),
        "",
        "null",
        "[]",
        "\"x\"",
        "{\"statements\":1}",
        "{\"statements\":[null]}",
        "\u{0}",
    ] {
        let said = http.post_with("/api/query", body, &[]);
        assert!(said.status == 400 || said.json()["results"][0]["error"].is_object(), "{body:.40}");
    }
    assert_eq!(running.server.counts().panics, 0);
    assert_eq!(http.query("select 1").status, 200);
}

/// Clients that send nothing more, one byte at a time, or do not read, have no thread for long.
#[test]
fn slow_clients_keep_no_one_out() {
    use std::io::Write as _;
    let running = start(http_config());
    let mut http = Http::new(&running);
    http.log_in_trusted("postgres");
    let open = |bytes: &[u8]| {
        let mut socket = std::net::TcpStream::connect(&http.host).expect("it listens");
        socket.write_all(bytes).expect("it takes it");
        socket
    };
    let half = b"POST /api/query HTTP/1.1\r\nContent-Length: 1000\r\n\r\nhalf";
    let _slow: Vec<_> = (0..100).map(|_| open(half)).collect();
    let _silent: Vec<_> = (0..100).map(|_| open(b"")).collect();
    let begun = Instant::now();
    assert_eq!(http.query("select 1").status, 200);
    assert_eq!(http.get("/healthz").body, "ok\n");
    // With a thread each they would take four times the two seconds that they may be slow for.
    assert!(begun.elapsed() < Duration::from_secs(3), "{:?}", begun.elapsed());
}

#[test]
fn the_end_of_the_server_ends_statements_of_the_page() {
    let running = start(Config { shutdown_timeout: Duration::from_millis(200), ..http_config() });
    let mut http = Http::new(&running);
    http.log_in_trusted("postgres");
    std::thread::scope(|scope| {
        let asks = scope.spawn(|| {
            let said = http.query("select pg_sleep(9)");
            said.json()["results"][0]["error"]["state"].clone()
        });
        std::thread::sleep(Duration::from_millis(300));
        let begun = Instant::now();
        running.server.stop().expect("it stops");
        assert!(begun.elapsed() < Duration::from_secs(4), "{:?}", begun.elapsed());
        assert_eq!(asks.join().expect("it ends"), "57014");
    });
}
