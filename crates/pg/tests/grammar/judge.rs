//! What does PostgreSQL make of a text?

use onlap_testkit::described::Describer;
use onlap_testkit::postgres::Postgres;

/// What the statements are about.
const SCHEMA: &str = "
create schema s1;
create type pair as (f1 int, f2 int);
create table t (a int primary key, b int, c int, d int, x text, y text, z text, p bool, q bool, j jsonb, n int[],
    ts timestamp);
create unique index on t (a, (b + 1));
create table s1.t (a int, b int, n int[]);
create table s1.u (a int);
";

/// The tree, or SQLSTATE and message.
pub type Analysed = Result<String, (String, String)>;

/// Makes what the statements are about.
pub fn prepare(postgres: &Postgres) {
    lines(postgres, SCHEMA);
}

/// What a script writes.
pub fn lines(postgres: &Postgres, script: &str) -> Vec<String> {
    let mut psql = postgres.psql();
    psql.args(["-q", "-A", "-t", "-v", "ON_ERROR_STOP=1", "-c", script]);
    let output = psql.output().expect("psql is installed");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).expect("UTF-8").lines().map(str::to_string).collect()
}

/// The trees after analysis, without places and without how a call was written.
pub fn analysed(postgres: &Postgres, texts: &[String]) -> Vec<Analysed> {
    let mut describer = Describer::connect(postgres.port()).expect("it listens");
    let all = describer.describe(texts).expect("it answers");
    all.into_iter()
        .map(|d| match d.error {
            Some(error) => Err((error.state, error.message)),
            None => Ok(stripped(&d.tree)),
        })
        .collect()
}

fn stripped(tree: &str) -> String {
    const LEFT_OUT: &[&str] = &[
        ":location",
        ":stmt_location",
        ":stmt_len",
        ":funcformat",
        ":coerceformat",
        ":relabelformat",
        ":row_format",
    ];
    let mut words = tree.split_ascii_whitespace();
    let mut kept = Vec::new();
    while let Some(word) = words.next() {
        match LEFT_OUT.contains(&word) {
            // A bracket may close behind the number.
            true => {
                let number = |c: char| c == '-' || c.is_ascii_digit();
                kept.extend(words.next().map(|n| n.trim_start_matches(number)));
            }
            false => kept.push(word),
        }
    }
    kept.join(" ")
}
