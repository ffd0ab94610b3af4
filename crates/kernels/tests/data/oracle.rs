//! What does PostgreSQL say?

use onlap_testkit::postgres::Postgres;

/// A function that gives the text of what an expression gives, or SQLSTATE and message.
const ANSWER: &str = "
create function answer(e text) returns text language plpgsql as $$
declare r text; s text; m text;
begin
  execute e into r;
  return coalesce(r, 'NULL');
exception when others then
  get stacked diagnostics s = returned_sqlstate, m = message_text;
  return '! ' || s || ' ' || m;
end $$;
";

/// The one value that each query gives, or SQLSTATE and message.
pub(crate) fn answers(postgres: &Postgres, queries: &[String]) -> Vec<String> {
    let mut script = String::from(ANSWER);
    for query in queries {
        let quoted = query.replace('\'', "''");
        script.push_str(&format!("select to_json(answer('{quoted}'));\n"));
    }
    let file = postgres.folder().join("queries.sql");
    std::fs::write(&file, script).expect("a file in its folder");
    let mut psql = postgres.psql();
    psql.args(["-q", "-A", "-t", "-v", "ON_ERROR_STOP=1", "-f"]).arg(&file);
    let output = psql.output().expect("psql runs");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let text = String::from_utf8(output.stdout).expect("UTF-8");
    let answers: Vec<String> = text.lines().map(unquote).collect();
    assert_eq!(answers.len(), queries.len(), "an answer to each query");
    answers
}

/// A string of JSON that PostgreSQL wrote.
fn unquote(line: &str) -> String {
    let inside = &line[1..line.len() - 1];
    let mut out = String::new();
    let mut chars = inside.chars();
    while let Some(c) = chars.next() {
        match (c, if c == '\\' { chars.next() } else { None }) {
            ('\\', Some('n')) => out.push('\n'),
            ('\\', Some('t')) => out.push('\t'),
            ('\\', Some(other)) => out.push(other),
            (other, _) => out.push(other),
        }
    }
    out
}
