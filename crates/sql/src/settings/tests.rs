//! Are settings read, layered, told and written as they should be?

use std::sync::Arc;

use super::*;

fn settings() -> Settings {
    Settings::new(&Configuration::default().defaults())
}

#[test]
fn the_registry_is_sound() {
    for (i, s) in SETTINGS.iter().enumerate() {
        assert_eq!(s.id as usize, i);
        let value = s.parse(s.default).expect(s.name);
        let shown = value::show(s.kind, &value);
        assert_eq!(s.parse(&shown).expect(s.name), value, "{} is shown as {shown}", s.name);
        assert!(s.text.ends_with('.') && !s.category.is_empty(), "{}", s.name);
        let same = |o: &&Setting| o.name.eq_ignore_ascii_case(s.name);
        assert_eq!(SETTINGS.iter().filter(same).count(), 1, "{}", s.name);
    }
}

#[test]
fn values_are_shown_as_postgresql_shows_them() {
    let mut s = settings();
    let cases = [
        ("statement_timeout", "90s", "90s"),
        ("statement_timeout", "60000", "1min"),
        ("statement_timeout", "1.5s", "1500ms"),
        ("statement_timeout", "1.23456min", "74s"),
        ("statement_timeout", "100us", "0"),
        ("statement_timeout", " 1500us ", "2ms"),
        ("work_mem", "0x1000", "4MB"),
        ("work_mem", "010000", "4MB"),
        ("work_mem", "1e4", "10000kB"),
        ("random_page_cost", "1e2", "100"),
        ("random_page_cost", "1.23456789", "1.23457"),
        ("jit_above_cost", "1e10", "1e+10"),
        ("cpu_operator_cost", "0.00001", "1e-05"),
        ("client_min_messages", "debug", "debug2"),
        ("backslash_quote", "1", "on"),
        ("application_name", "é\tx", "???x"),
        ("work_mem", "65536", "64MB"),
        ("work_mem", "1GB", "1GB"),
        ("work_mem", "100", "100kB"),
        ("standard_conforming_strings", "t", "on"),
        ("fast_path", "OFF", "off"),
        ("datestyle", "german", "German, DMY"),
        ("DateStyle", "ISO", "ISO, DMY"),
        ("DateStyle", "mdy, German", "German, MDY"),
        ("DateStyle", "postgresql,ymd", "Postgres, YMD"),
        ("DateStyle", "noneuropean", "Postgres, MDY"),
        ("DateStyle", "", "Postgres, MDY"),
        ("client_encoding", "'utf-8'", "UTF8"),
        ("timezone", "europe/berlin", "Europe/Berlin"),
        ("TimeZone", "2", "<+02>-02"),
        ("TimeZone", "-1.51", "<-01:30:36>+01:30:36"),
        ("TimeZone", "0x10", "<+16>-16"),
        ("TimeZone", "INTERVAL '-3:30'", "<-03:30>+03:30"),
        ("TimeZone", "-03:30", "-03:30"),
        ("TimeZone", "foo3", "FOO3"),
        ("TimeZone", "cst7cdt,m4.1.0,m10.5.0", "CST7CDT,M4.1.0,M10.5.0"),
        ("synchronous_commit", "false", "off"),
        ("client_min_messages", "WARNING", "warning"),
        ("default_transaction_isolation", "REPEATABLE READ", "repeatable read"),
        ("extra_float_digits", "3", "3"),
        ("my.own", "Hello", "Hello"),
    ];
    for (name, given, shown) in cases {
        s.set(name, given, false).expect(name);
        assert_eq!(s.show(name).expect(name), shown, "{name} = {given}");
    }
}

#[test]
fn what_is_wrong_is_said() {
    let mut s = settings();
    let mut state = |name: &str, text: &str| {
        let error = s.set(name, text, false).expect_err(name);
        (error.state(), format!("{error:?}"))
    };
    let (unknown, text) = state("statment_timeout", "1");
    assert!(unknown == "42704" && text.contains("Did you mean \"statement_timeout\"?"), "{text}");
    assert_eq!(state("server_version", "16").0, "55P02");
    assert_eq!(state("max_connections", "1").0, "55P02");
    for (name, bad) in [
        ("statement_timeout", "5 parsecs"),
        ("statement_timeout", "-5"),
        ("statement_timeout", "99999999999999999999"),
        ("statement_timeout", "1e300"),
        ("fast_path", "maybe"),
        ("fast_path", "o"),
        ("fast_path", ""),
        ("TimeZone", "Atlantis"),
        ("TimeZone", "-é:00"),
        ("client_encoding", "EBCDIC"),
        ("bytea_output", "octal"),
        ("TimeZone", "168"),
        ("TimeZone", "nan"),
        ("TimeZone", "foo"),
        ("TimeZone", "local"),
        ("TimeZone", " UTC"),
        ("TimeZone", ""),
        ("TimeZone", "INTERVAL '1 day'"),
        ("DateStyle", "yesterday"),
        ("DateStyle", "iso, sql"),
        ("DateStyle", "iso,"),
    ] {
        assert_eq!(state(name, bad).0, "22023", "{name} = {bad}");
    }
    assert_eq!(settings().show("my.own").expect_err("not set").state(), "42704");
    assert_eq!(s.set("9.x", "1", false).expect_err("no name").state(), "42602");
}

#[test]
fn transactions_undo_what_they_set() {
    let mut s = settings();
    s.start_with("application_name", "app").expect("set");
    s.set("lock_timeout", "1s", false).expect("set");
    s.commit();
    // SET LOCAL ends with the transaction, SET stays.
    s.set("lock_timeout", "2s", false).expect("set");
    s.set("lock_timeout", "3s", true).expect("set");
    assert_eq!(s.int(Id::LockTimeout), 3000);
    s.commit();
    assert_eq!(s.int(Id::LockTimeout), 2000);
    // A rollback undoes both, to a savepoint or to the begin.
    s.set("lock_timeout", "4s", false).expect("set");
    let mark = s.mark();
    s.set("lock_timeout", "5s", true).expect("set");
    s.set("my.own", "x", false).expect("set");
    s.put(Id::IsSuperuser, Value::Flag(false));
    s.back_to(&mark);
    // A name with a dot stays known, as in PostgreSQL.
    let own = s.show("my.own").expect("it was set once");
    assert_eq!((s.int(Id::LockTimeout), &*own), (4000, ""));
    s.rollback();
    assert_eq!((s.int(Id::LockTimeout), s.flag(Id::IsSuperuser)), (2000, false));
    s.reset("lock_timeout").expect("reset");
    s.set("application_name", "other", false).expect("set");
    s.commit();
    assert_eq!(s.time(Id::LockTimeout), None);
    s.reset_all();
    assert_eq!(s.text(Id::ApplicationName), "app");
}

#[test]
fn what_a_session_sets_is_bounded() {
    let mut s = settings();
    let error = |set: Result<()>| set.expect_err("refused").state();
    let long = "x".repeat(60_000);
    assert_eq!(error(s.set("application_name", &"x".repeat(70_000), false)), "54000");
    for i in 0..10 {
        s.set(&format!("a.b{i}"), &long, false).expect("there is room");
    }
    let refused = (10..100).find_map(|i| s.set(&format!("a.b{i}"), &long, false).err());
    assert_eq!(refused.expect("there is none left").state(), "54000");
    s.rollback();
    // Each place to go back to keeps what was set, as long as it is little.
    for i in 0..900 {
        s.set(&format!("a.b{i}"), "x", false).expect("there is room");
    }
    let mut marked = (0..1000).map(|i| {
        let _mark = s.mark();
        s.set(&format!("a.b{}", i % 900), "y", true)
    });
    assert_eq!(error(marked.find(Result::is_err).expect("refused")), "54000");
    drop(marked);
    s.rollback();
    for _ in 0..100_000 {
        let _mark = s.mark();
        s.set("lock_timeout", "1s", true).expect("a few are not counted");
    }
}

#[test]
fn clients_are_told_once_and_of_changes() {
    let mut s = settings();
    let first = s.take_reported();
    for name in ["server_version", "TimeZone", "integer_datetimes", "standard_conforming_strings"] {
        assert!(first.iter().any(|(n, _)| *n == name), "{name}");
    }
    assert!(s.take_reported().is_empty());
    s.set("timezone", "Asia/Tokyo", true).expect("set");
    s.set("lock_timeout", "1", true).expect("set");
    assert_eq!(s.take_reported(), [("TimeZone", "Asia/Tokyo".to_string())]);
    s.rollback();
    assert_eq!(s.take_reported(), [("TimeZone", "UTC".to_string())]);
}

#[test]
fn later_sources_win_and_origins_are_kept() {
    let mut c = Configuration::default();
    let file = "listen = [\"127.0.0.1:1\", \"127.0.0.1:2\"]\nlock_timeout = \"2s\"\nhttp = \"x\"\ninsecure = true\n";
    c.read_file("f.toml", file).expect("a file");
    let variable = |name: &str| (name == "ONLAP_HTTP").then(|| "y".to_string());
    c.read_environment(variable).expect("an environment");
    c.set_flag(Id::MemoryLimit, "1GiB").expect("a flag");
    assert_eq!((c.text(Id::Listen), c.text(Id::Http)), ("127.0.0.1:1,127.0.0.1:2", "y"));
    assert!(c.flag(Id::Insecure) && c.int(Id::MemoryLimit) == 1 << 30);
    let printed = c.print();
    for line in ["http = \"y\" ", "memory_limit = \"1GB\" ", "lock_timeout = \"2s\" "] {
        assert!(printed.contains(line), "{line} is not in\n{printed}");
    }
    assert!(printed.contains("# ONLAP_HTTP") && printed.contains("# --memory-limit"));
    let s = Settings::new(&Arc::new(c.clone()));
    assert_eq!(s.show("lock_timeout").as_deref(), Ok("2s"));
    let row = s.rows().into_iter().find(|r| r.name == "lock_timeout").expect("a row");
    assert_eq!(
        (row.setting.as_str(), row.unit, row.source),
        ("2000", Some("ms"), "configuration file")
    );
    let wrong =
        |text: &str| format!("{:?}", c.clone().read_file("f.toml", text).expect_err("wrong"));
    assert!(wrong("lissen = 1").contains("Did you mean \"listen\"?"));
    assert!(wrong("[server]\nlisten = 1").contains("without tables"));
    assert!(wrong("fast_path = {}").contains("without tables"));
    assert!(wrong("server_version = \"1\"").contains("55P02"));
    assert!(wrong("= 1").contains("f.toml"));
}

#[test]
fn the_commented_file_is_one_that_can_be_read() {
    let uncommented: String = (default_file().lines())
        .filter_map(|line| line.strip_prefix("# ").filter(|l| l.contains(" = ")))
        .map(|line| format!("{line}\n"))
        .collect();
    let mut c = Configuration::default();
    c.read_file("default", &uncommented).expect("it can be read");
    assert!(c.origin(Id::Jit) != &Origin::Default);
    for s in SETTINGS {
        assert_eq!(c.value(s.id), &s.default_value(), "{}", s.name);
    }
}

/// `ONLAP_BLESS=1 cargo test -p onlap-sql settings` writes it anew.
#[test]
#[allow(clippy::disallowed_methods, reason = "reads the repository, not a database")]
fn the_page_is_generated() {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/settings.md");
    if std::env::var_os("ONLAP_BLESS").is_some() {
        std::fs::write(path, page()).expect("the page is written");
    }
    let found = std::fs::read_to_string(path).unwrap_or_default();
    assert!(found == page(), "docs/settings.md is not what the registry gives");
}
