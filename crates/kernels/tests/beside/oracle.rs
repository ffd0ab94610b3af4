//! What does PostgreSQL give?

use std::process::Stdio;

use onlap_testkit::postgres::Postgres;

use crate::Case;

const ANSWER: &str = "
create function answer(e text) returns text language plpgsql as $$
declare r text; s text; m text;
begin
  -- As the output function writes it; a cast to text writes some types otherwise.
  execute 'select case when num_nulls(v) = 1 then ''= NULL'' else format(''= %s'', v) end
    from (select ' || e || ' as v offset 0) q' into r;
  return r;
exception when others then
  get stacked diagnostics s = returned_sqlstate, m = message_text;
  return '! ' || s || ' ' || m;
end $$;
set timezone = 'UTC';
create table q(n serial, e text);
";

/// The answers to cases, in their order; all in one statement.
pub fn answers(postgres: &Postgres, cases: &[Case]) -> Vec<String> {
    let mut script = format!("{ANSWER} copy q(e) from stdin;\n");
    for case in cases {
        script.push_str(&escape(&case.text));
        script.push('\n');
    }
    script.push_str("\\.\ncopy (select answer(e) from q order by n) to stdout;\n");
    // A file, since psql writes while it reads.
    let file = postgres.folder().join("answers.sql");
    std::fs::write(&file, script).expect("the folder takes a file");
    let mut psql = postgres.psql();
    psql.args(["-q", "-A", "-t", "-v", "ON_ERROR_STOP=1", "-f"]).arg(&file);
    let output = psql.stdin(Stdio::null()).output().expect("psql runs");
    assert!(output.status.success(), "psql failed");
    let out = String::from_utf8(output.stdout).expect("UTF-8");
    let answers: Vec<String> = out.lines().map(unescape).collect();
    assert_eq!(answers.len(), cases.len(), "an answer to each case");
    answers
}

/// Whether two answers mean the same.
pub fn same(ours: &str, theirs: &str) -> bool {
    ours == theirs
}

/// A text as COPY takes it.
fn escape(text: &str) -> String {
    text.replace('\\', "\\\\").replace('\t', "\\t").replace('\n', "\\n").replace('\r', "\\r")
}

/// A text that COPY wrote.
fn unescape(text: &str) -> String {
    let mut out = String::new();
    let mut chars = text.chars();
    while let Some(c) = chars.next() {
        match (c, if c == '\\' { chars.next() } else { None }) {
            ('\\', Some('t')) => out.push('\t'),
            ('\\', Some('n')) => out.push('\n'),
            ('\\', Some('r')) => out.push('\r'),
            ('\\', Some('v')) => out.push('\u{b}'),
            ('\\', Some('f')) => out.push('\u{c}'),
            ('\\', Some('b')) => out.push('\u{8}'),
            ('\\', Some(other)) => out.push(other),
            (other, _) => out.push(other),
        }
    }
    out
}
