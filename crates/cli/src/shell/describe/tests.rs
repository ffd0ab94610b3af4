use super::*;

#[test]
fn patterns_are_psqls() {
    let of = |text: &str| patterns(text);
    let named = |name: &str| (None, format!("^({name})$"));
    assert_eq!(of("Flights"), named("flights"));
    assert_eq!(of("fl*_?"), named("fl.*_."));
    assert_eq!(of("\"A.*\"\"b\""), named("A\\.\\*\"b"));
    assert_eq!(of("a$b'("), named("a\\$b\\'\\("));
    let (schema, name) = of("S*.\"T\"");
    assert_eq!((schema.as_deref(), &*name), (Some("^(s.*)$"), "^(T)$"));
}

#[test]
fn commands_have_statements() {
    assert!(statements("no", "").is_none() && statements("dq", "").is_none());
    let one = |command: &str, name: &str| statements(command, name).map_or(0, |all| all.len());
    assert_eq!((one("d", ""), one("dt+", "x*"), one("dS", ""), one("z", "")), (1, 1, 1, 1));
    assert!(one("d", "t") > 10 && one("d+", "t") > 10 && one("d", "t*") == 1);
    // What a name is cannot end the text around it.
    let sql = statements("dt", "x'; drop table t; --").expect("a command").remove(0);
    assert!(sql.contains(r" E'^(x\\''\\;)$'"), "{sql}");
    let sql = statements("sf", "it's").expect("a command").remove(0);
    assert!(sql.contains("'it''s'"), "{sql}");
    let system = statements("df", "").expect("a command").remove(0);
    assert!(system.contains("information_schema"));
    assert!(!statements("dfS", "").expect("a command").remove(0).contains("information_schema"));
}
