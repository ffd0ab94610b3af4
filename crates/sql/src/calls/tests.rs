use std::sync::Arc;

use super::*;

fn text(sql: &str) -> String {
    Fingerprint::of(sql).text.to_string()
}

fn same(a: &str, b: &str) -> bool {
    Fingerprint::of(a).hash == Fingerprint::of(b).hash
}

#[test]
fn literals_are_no_part_of_a_statement() {
    assert_eq!(
        text("select  a from t\n where b = 7 and c='x'"),
        "select a from t where b = $1 and c=$2"
    );
    assert_eq!(text("select $2, 'x' -- why"), "select $2, $3");
    assert!(same("select a from t where b = 7", "SELECT a FROM t  WHERE b='y'"));
    assert!(same("select a from t where b = 7", "select a from t where b = $1"));
    assert!(!same("select a from t where b = 7", "select a from t where c = 7"));
    assert!(!same("select \"A\" from t", "select a from t"));
    assert_eq!(text("create role r password 'secret'"), "create role r password $1");
}

#[test]
fn lists_of_any_length_are_one_statement() {
    assert_eq!(text("insert into t values (1, 'a'), (-2, 'b')"), "insert into t values (...)");
    assert!(same("insert into t values (1, 2)", "insert into t values (3, 4), (5, 6), (7, 8)"));
    assert!(same("select 1 from t where a in (1)", "select 1 from t where a in (1, 2, 3)"));
    assert!(!same("select 1 from t where a in (1, b)", "select 1 from t where a in (1, 2)"));
    assert!(same("insert into t values (1)", "insert into t values (null), (default), (true)"));
    let many = |n| format!("insert into t values {}(1, 'x')", "(1, 'xyz'), ".repeat(n));
    assert!(same(&many(1), &many(10)));
    // Wherever a long text is cut.
    (0..12).for_each(|blanks| {
        assert!(same(&many(1), &format!("{}{}", " ".repeat(blanks), many(10_000))))
    });
    assert_eq!(values_end("insert into t(a) values(1)"), 23);
    assert_eq!(text("insert into t values (1, f(2))"), "insert into t values ($1, f($2))");
}

#[test]
fn a_long_text_is_cut() {
    let long = format!("select {}1", "aaaaaaaaa + ".repeat(5000));
    let fingerprint = Fingerprint::of(&long);
    assert!(fingerprint.text.len() <= TEXT_BYTES);
    assert!(fingerprint.text.starts_with("select aaaaaaaaa + "));
}

#[test]
fn quantiles_are_near() {
    let calls = Calls::default();
    let statement = Arc::new(Fingerprint::of("select 1"));
    for us in 1..=1000 {
        calls.add(
            &statement,
            10,
            "d",
            &Call { rows: 2, ns: us * 1000, native: us % 2 == 0, ..Call::default() },
        );
    }
    let [called] = &calls.all()[..] else { panic!("one statement") };
    assert_eq!((called.calls, called.rows, called.native), (1000, 2000, 500));
    assert_eq!((called.min_ns, called.max_ns), (1000, 1_000_000));
    assert_eq!(called.total_ns, 1000 * 1001 / 2 * 1000);
    // Of 1 to n it is the root of (n² - 1) / 12.
    let deviation = ((1000.0f64 * 1000.0 - 1.0) / 12.0).sqrt() * 1000.0;
    assert!((called.deviation_ns() / deviation - 1.0).abs() < 1e-9, "{}", called.deviation_ns());
    let near = |ns: u64, wanted: f64| (ns as f64 / wanted - 1.0).abs() < 0.12;
    assert!(near(called.quantile_ns(0.5), 500_000.0), "{}", called.quantile_ns(0.5));
    assert!(near(called.quantile_ns(0.99), 990_000.0), "{}", called.quantile_ns(0.99));
}

#[test]
fn the_least_called_go_first() {
    let calls = Calls::default();
    let call = Call { rows: 1, ns: 5000, ..Call::default() };
    let often = Arc::new(Fingerprint::of("select often"));
    (0..3).for_each(|_| calls.add(&often, 10, "d", &call));
    for i in 0..MOST * 2 {
        calls.add(&Arc::new(Fingerprint::of(&format!("select a{i}"))), 10, "d", &call);
    }
    let all = calls.all();
    assert!(all.len() <= MOST && all.len() > MOST / 2, "{}", all.len());
    assert!(all.iter().any(|called| *called.fingerprint.text == *"select often"));
    // Whose statement it is makes a difference.
    calls.add(&often, 11, "d", &call);
    assert_eq!(calls.all().iter().filter(|c| c.fingerprint.hash == often.hash).count(), 2);
}

#[test]
fn what_is_forgotten_is_counted_anew() {
    let calls = Calls::default();
    let [one, two] = ["select 1", "select a"].map(|text| Arc::new(Fingerprint::of(text)));
    let call = Call { ns: 5, indexes: vec![IndexId(3)], temp_bytes: 7, ..Call::default() };
    calls.add(&one, 10, "d", &call);
    calls.add(&two, 10, "d", &call);
    calls.add(&two, 10, "d", &Call { indexes: vec![IndexId(4), IndexId(3)], ..call });
    calls.forget(|called| called.fingerprint.hash == one.hash);
    let [left] = &calls.all()[..] else { panic!("one statement") };
    assert_eq!((left.calls, left.temp_bytes), (2, 14));
    assert_eq!(left.indexes, [IndexId(3), IndexId(4)]);
    calls.begin_anew();
    assert!(calls.all().is_empty());
}

#[test]
fn an_index_has_the_median_of_the_statements_that_read_by_it() {
    let calls = Calls::default();
    let [fast, slow] = ["select 1", "select a"].map(|text| Arc::new(Fingerprint::of(text)));
    let call = |us: u64, ids: &[u32]| {
        let indexes = ids.iter().map(|id| IndexId(*id)).collect();
        Call { ns: us * 1000, indexes, ..Call::default() }
    };
    (0..10).for_each(|_| calls.add(&fast, 10, "d", &call(100, &[1, 2])));
    (0..30).for_each(|_| calls.add(&slow, 10, "d", &call(9000, &[2])));
    let medians = calls.medians();
    let near = |id: u32, us: f64| (medians[&IndexId(id)] as f64 / (us * 1e3) - 1.0).abs() < 0.12;
    assert!(near(1, 100.0) && near(2, 9000.0), "{medians:?}");
    assert_eq!((medians.len(), calls.counted()), (2, 40));
    calls.begin_anew();
    assert_eq!((calls.medians().len(), calls.counted()), (0, 40));
}
