//! What does a PostgreSQL 15 say of types, operators, functions and casts?
//!
//! Starts a private one and writes the facts that `crates/pg` resolves by, and the answers that its tests compare
//! themselves with. Not a check: it needs PostgreSQL 15, and a test of `onlap-pg` says when the files are old.

use std::path::Path;
use std::process::ExitCode;

use onlap_testkit::postgres::{NEEDED, Postgres};
use onlap_testkit::resolution::{self, Case, Judge, facts, table};

/// Where the facts are.
const FACTS: &str = "crates/pg/src/catalog/data";
/// Where the answers are.
const ANSWERS: &str = "crates/pg/tests/resolve";
/// Cases described before their answers are shortened.
const TOGETHER: usize = 20_000;

/// Writes the facts, and all answers or those of the given names.
pub(crate) fn write(root: &Path, only: &[&str]) -> ExitCode {
    if !onlap_testkit::programs::are_there(&NEEDED) {
        return ExitCode::FAILURE;
    }
    match write_all(root, only) {
        Ok(()) => ExitCode::SUCCESS,
        Err(e) => {
            eprintln!("cannot write the catalog: {e}");
            ExitCode::FAILURE
        }
    }
}

fn write_all(root: &Path, only: &[&str]) -> std::io::Result<()> {
    let postgres = Postgres::start();
    std::fs::create_dir_all(root.join(FACTS))?;
    for (name, query) in facts::FILES {
        let path = root.join(FACTS).join(format!("{name}.tsv"));
        std::fs::write(path, facts::text(&postgres, query))?;
    }
    facts::text(&postgres, &Judge::setup());
    let oids = facts::text(&postgres, &Judge::oids());
    let oids: Vec<u32> = oids.lines().map(|oid| oid.parse().expect("an OID")).collect();
    let mut judge = Judge::new(postgres.port(), &oids)?;
    let names = facts::text(&postgres, facts::OPERATORS);
    let names: Vec<String> = names.lines().map(str::to_owned).collect();
    std::fs::create_dir_all(root.join(ANSWERS))?;
    let functions = facts::text(&postgres, facts::FUNCTIONS);
    std::fs::write(root.join(ANSWERS).join("names.tsv"), &functions)?;
    let parameters = facts::text(&postgres, facts::PARAMETERS);
    std::fs::write(root.join(ANSWERS).join("parameters.tsv"), &parameters)?;
    let mut functions = resolution::functions(&facts::function_names(&functions));
    functions.extend(resolution::named(&facts::parameter_names(&parameters)));
    for (name, cases) in [
        ("operators", resolution::operators(&names)),
        ("functions", functions),
        ("casts", resolution::casts()),
        ("common", resolution::common()),
    ] {
        if !only.is_empty() && !only.contains(&name) {
            continue;
        }
        let text = answers(&mut judge, &cases)?;
        println!("{name}: {} cases, {} bytes", cases.len(), text.len());
        std::fs::write(root.join(ANSWERS).join(format!("{name}.txt")), text)?;
    }
    Ok(())
}

fn answers(judge: &mut Judge, cases: &[Case]) -> std::io::Result<String> {
    let mut builder = table::Builder::default();
    for some in cases.chunks(TOGETHER) {
        let found = judge.describe(some)?;
        some.iter().zip(&found).for_each(|(case, answer)| builder.push(judge.short(case, answer)));
    }
    Ok(builder.text())
}
