use super::*;

const DOCUMENT_TEXT: &str = "\
Words.

| crate | answers the question | may depend on |
|---|---|---|
| `base` | names? | std |
| `vfs` | disks? | base |
| `engine` | rows? | vfs, base |
| `testkit` | models? | base |

| crate | unrelated |
|---|---|
| `other` | x |
";

fn files(document: &str, manifests: &[(&str, &str)]) -> Vec<SourceFile> {
    let file = |path: &str, text: &str| SourceFile { path: path.to_owned(), text: text.to_owned() };
    let mut files = vec![file(DOCUMENT, document)];
    let all = [("base", ""), ("vfs", ""), ("engine", ""), ("testkit", "")];
    for (name, nothing) in all {
        let given = manifests.iter().find(|(given, _)| *given == name);
        let text = given.map_or(nothing, |(_, text)| *text);
        files.push(file(&format!("crates/{name}/Cargo.toml"), text));
    }
    files
}

#[test]
fn allowed_arrows_pass() {
    let engine = "[package]\nname = \"onlap\"\n[dependencies]\nonlap-base.workspace = true\n\
        onlap-vfs = { path = \"../vfs\" }\nroaring = \"0.12\"\n[dev-dependencies]\nonlap-testkit = \"1\"\n";
    assert_eq!(check(&files(DOCUMENT_TEXT, &[("engine", engine)])), Vec::<String>::new());
}

#[test]
fn an_arrow_that_points_up_is_found() {
    let upward = "[dependencies]\nonlap.workspace = true\n";
    let found = check(&files(DOCUMENT_TEXT, &[("vfs", upward)]));
    assert_eq!(found, ["crates/vfs/Cargo.toml: `vfs` must not depend on `engine`"]);
    let for_tests = "[dev-dependencies]\nonlap.workspace = true\n";
    assert_eq!(check(&files(DOCUMENT_TEXT, &[("vfs", for_tests)])).len(), 1);
}

#[test]
fn table_and_folders_must_agree() {
    let mut some = files(DOCUMENT_TEXT, &[]);
    some.retain(|file| !file.path.contains("vfs"));
    some.push(SourceFile { path: "crates/sql/Cargo.toml".to_owned(), text: String::new() });
    let found = check(&some);
    assert!(found.iter().any(|finding| finding.contains("lacks crate `sql`")), "{found:?}");
    assert!(found.iter().any(|finding| finding.contains("no crate `vfs`")), "{found:?}");
    assert_eq!(check(&[]), ["ARCHITECTURE.md is missing"]);
}

#[test]
fn a_circle_in_the_table_is_found() {
    let circular = DOCUMENT_TEXT.replace("| disks? | base |", "| disks? | engine |");
    let found = check(&files(&circular, &[]));
    assert_eq!(found.len(), 1);
    assert!(found[0].contains("engine") && found[0].contains("vfs"), "{found:?}");
}
