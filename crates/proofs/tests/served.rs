//! Does a server that rigs attack start, end and start again with what it had?

use onlap_proofs::served::{Served, can_run};

#[test]
fn a_killed_server_has_its_rows() {
    if !can_run(false) {
        return;
    }
    let mut served = Served::start(&["--memory-limit", "64MiB"]).unwrap();
    let mut client = served.client().unwrap();
    client.batch_execute("create table t (k int primary key); insert into t values (7)").unwrap();
    assert!(served.peak_bytes().unwrap() > 1 << 20);
    served.lives().unwrap();
    served.kill();
    assert!(served.lives().is_err());
    served.kill_and_restart().unwrap();
    let row = served.client().unwrap().query_one("select k from t", &[]).unwrap();
    assert_eq!(row.get::<_, i32>(0), 7);
}
