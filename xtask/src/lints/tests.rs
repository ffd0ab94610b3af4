use super::*;

const WORKSPACE: &str = "[workspace.lints.rust]\nunsafe_code = \"forbid\"\nmissing_docs = \"warn\"\n\n\
    [workspace.lints.clippy]\n# Why.\nall = \"warn\"\n";
const INHERITS: &str = "[lints]\nworkspace = true\n";

fn found(manifests: &[(&str, &str)]) -> Vec<String> {
    let file = |(path, text): &(&str, &str)| SourceFile {
        path: (*path).to_owned(),
        text: (*text).to_owned(),
    };
    check(&manifests.iter().map(file).collect::<Vec<_>>())
}

#[test]
fn crates_inherit_the_ban_or_copy_the_rest() {
    let own = "[lints.rust]\nmissing_docs = \"warn\"\n[lints.clippy]\nall = \"warn\"\n";
    let good = [
        ("Cargo.toml", WORKSPACE),
        ("crates/base/Cargo.toml", INHERITS),
        ("crates/cli/Cargo.toml", own),
        ("crates/server/tests/clients/tokio/Cargo.toml", "[package]\n"),
    ];
    assert!(found(&good).is_empty(), "{:?}", found(&good));
}

#[test]
fn a_crate_without_the_ban_is_named() {
    let text = found(&[("Cargo.toml", WORKSPACE), ("crates/base/Cargo.toml", "[package]\n")]);
    assert!(text[0].contains("crates/base/Cargo.toml"), "{text:?}");
    let text = found(&[("Cargo.toml", "[workspace.lints.rust]\n")]);
    assert!(text[0].contains("unsafe_code"), "{text:?}");
}

#[test]
fn a_copy_that_lacks_a_lint_is_named() {
    let own = "[lints.rust]\nmissing_docs = \"warn\"\n";
    let text = found(&[("Cargo.toml", WORKSPACE), ("crates/lab/Cargo.toml", own)]);
    assert!(text.len() == 1 && text[0].contains("[lints.clippy]"), "{text:?}");
}
