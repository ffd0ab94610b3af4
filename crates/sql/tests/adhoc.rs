#![allow(clippy::disallowed_methods, reason = "ad hoc")]
mod support;
use onlap_testkit::postgres::Postgres;
use onlap_testkit::simple::SimpleClient;
use support::Fixture;
#[test]
fn adhoc() {
    let script = std::fs::read_to_string("/tmp/adhoc.sql").unwrap();
    let postgres = Postgres::start();
    let mut client = SimpleClient::connect(postgres.port(), "postgres", "postgres").unwrap();
    let fixture = Fixture::new(false);
    let mut talk = fixture.session();
    for statement in script.lines().filter(|l| !l.trim().is_empty() && !l.starts_with("--")) {
        let ours = talk.run(statement);
        let theirs = client.run(statement).unwrap();
        let show = |o: &onlap_testkit::simple::Outcome| {
            format!("{:?} {:?} {:?} {:?}", o.tags, o.error, o.detail, o.rows)
        };
        let (a, b) = (show(&ours), show(&theirs));
        println!("{} {statement}\n   O {a}\n   P {b}", if a == b { "=" } else { "#" });
    }
}
