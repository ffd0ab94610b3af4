use super::*;

fn findings(path: &str, text: &str) -> Vec<String> {
    let file = |path: &str, text: &str| SourceFile { path: path.to_owned(), text: text.to_owned() };
    let code = "impl Log {\n    fn append(&self) {}\n}\n";
    let files = [file("crates/engine/src/log.rs", code), file(path, text)];
    let paths = [
        "README.md",
        "docs",
        "docs/limits.md",
        "docs/decisions",
        "crates",
        "crates/engine",
        "crates/engine/src",
        "crates/engine/src/log.rs",
        "Cargo.toml",
        ".ci",
        ".ci/run",
    ];
    check(&files, &paths.map(str::to_owned))
}

#[test]
fn what_exists_passes() {
    let text = "See `docs/limits.md`, [limits](docs/limits.md#top), [up](../README.md) no, `.ci/run`,\n\
        `crates/engine/src/log.rs::Log::append()`, `Cargo.toml`, <https://x.y>, [w](https://x.y/z.md),\n\
        `docs/decisions/NNNN.md`, `a/b`, `1/2`, `cargo test`, `crates/*/src`, [here](#anchor).\n\
        ```\ndocs/nowhere.md `docs/nowhere.md`\n```\n";
    assert_eq!(findings("docs/x.md", text), Vec::<String>::new());
}

#[test]
fn what_is_gone_is_found() {
    let text = "fine\n`docs/gone.md` and `gone.toml`\n[x](gone.md)\n\
        `crates/engine/src/log.rs::Log::write`\n`crates/engine/src/lo.rs`\n";
    assert_eq!(
        findings("README.md", text),
        [
            "README.md:2: no file `docs/gone.md`",
            "README.md:2: no file `gone.toml`",
            "README.md:3: no file `gone.md`",
            "README.md:4: `crates/engine/src/log.rs` has no write",
            "README.md:5: no file `crates/engine/src/lo.rs`",
        ]
    );
    assert_eq!(findings("docs/x.md", "[up](../../README.md)").len(), 1);
}
