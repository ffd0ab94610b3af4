use super::*;

const CODE: &str = "fn f() {\n    assert!(true);\n}\n// nobody\n";

fn files(ratchets: &str) -> Vec<SourceFile> {
    let file = |path: &str, text: &str| SourceFile { path: path.into(), text: text.into() };
    vec![file("crates/base/src/a.rs", CODE), file(PATH, ratchets)]
}

#[test]
fn what_is_worse_than_noted_is_found() {
    assert!(check(&files("asserts\tbase\t250\nwords\tbase\t1\n")).is_empty());
    let found = check(&files("asserts\tbase\t300\nwords\tbase\t1\n"));
    assert!(found[0].starts_with("base: 250 asserts, 300"), "{found:?}");
    let found = check(&files("asserts\tbase\t250\n"));
    assert!(found[1].contains("a.rs:4: `nobody`"), "{found:?}");
    assert!(check(&files("words base 1"))[0].contains("between tabs"));
}

#[test]
fn only_what_is_better_is_noted() {
    let page = page(&files("asserts\tbase\t300\nwords\tbase\t7\n")).unwrap();
    assert_eq!(page, "asserts\tbase\t300\nwords\tbase\t1\n");
}
