use super::*;

fn of(text: &str) -> Counts {
    let file = SourceFile { path: "crates/base/src/a.rs".into(), text: text.into() };
    count(&[file]).unwrap().remove("base").unwrap()
}

#[test]
fn functions_are_measured_wherever_they_stand() {
    let long = format!("fn f() {{\n{}}}\n", "let a = 1;\n".repeat(LINES_MAX));
    let text = format!("mod inner {{\nimpl A {{\n{long}}}\n}}\ntrait B {{\n{long}}}\n{long}");
    let counts = of(&text);
    assert_eq!(counts.long.len(), 3, "{counts:?}");
    assert!(counts.long[0].contains("a.rs:3: `f` has 72 lines"), "{counts:?}");
    let wide = "fn g(a: u8, b: u8, c: u8, d: u8, e: u8, f: u8, g: u8, h: u8) {}";
    assert_eq!(of(wide).wide.len(), 1);
}

#[test]
fn assertions_count_and_tests_do_not() {
    let text = "const _: () = assert!(1 < 2);\nfn f() {\n    debug_assert_eq!(1, 1);\n}\n\
        #[cfg(test)]\nmod tests {\n    fn g() {\n        assert!(true);\n    }\n}\n";
    let counts = of(text);
    assert_eq!((counts.asserts, counts.lines), (2, 4));
}

#[test]
fn what_does_not_parse_is_named() {
    let file = SourceFile { path: "crates/base/src/a.rs".into(), text: "fn fn".into() };
    assert!(count(&[file]).unwrap_err()[0].starts_with("crates/base/src/a.rs:1:"));
}
