//! Does the program of `docs/tutorials/embedded.md` run, and is it the one that the page shows?

#![allow(clippy::disallowed_methods, reason = "tests stand outside the simulation")]

#[allow(dead_code, reason = "its main is for the example")]
#[path = "../examples/tutorial.rs"]
mod tutorial;

const PROGRAM: &str = include_str!("../examples/tutorial.rs");
const PAGE: &str = "../../docs/tutorials/embedded.md";

#[test]
fn the_tutorials_program_runs() -> onlap::Result<()> {
    let dir = tempfile::tempdir()?;
    tutorial::run(&dir.path().join("shop"))
}

#[test]
fn the_page_shows_the_program() {
    let page = std::fs::read_to_string(PAGE).expect("the page is in the repository");
    let lines = |text: &str| text.lines().map(|line| line.trim().to_owned()).collect::<Vec<_>>();
    let program = lines(PROGRAM);
    let blocks: Vec<&str> = page.split("```rust\n").skip(1).collect();
    assert!(blocks.len() >= 5, "the page has its program in parts");
    for block in blocks {
        let block = block.split("```").next().unwrap_or_default();
        let shown = lines(block);
        let is_there = program.windows(shown.len()).any(|part| part == shown);
        assert!(is_there, "the program lacks:\n{block}");
    }
}
