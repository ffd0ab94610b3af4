//! What does PostgreSQL answer?

use std::io::Write;
use std::process::Stdio;

use onlap_testkit::postgres::Postgres;

use crate::case::Case;

const ANSWER: &str = "
create function answer(e text, settings text) returns text language plpgsql as $$
declare r text; s text; m text; d text; one text;
begin
  foreach one in array string_to_array(settings, ';') loop
    perform set_config(split_part(one, '=', 1), split_part(one, '=', 2), false);
  end loop;
  execute 'select (' || e || ')::text' into r;
  return '= ' || coalesce(r, 'NULL');
exception when others then
  get stacked diagnostics s = returned_sqlstate, m = message_text, d = pg_exception_detail;
  return '! ' || s || ' ' || m || case when d = '' then '' else ' | ' || d end;
end $$;
create table q(n serial, e text, s text);
";

/// The answers to cases, in their order; all in one statement.
pub fn answers(postgres: &Postgres, cases: &[Case]) -> Vec<String> {
    let mut script = format!("{ANSWER} copy q(e, s) from stdin;\n");
    for case in cases {
        script.push_str(&escape(&case.expression()));
        script.push('\t');
        script.push_str(&escape(&case.settings_text()));
        script.push('\n');
    }
    script
        .push_str("\\.\ncopy (select answer(e, s) from q order by n) to stdout;\ndrop table q;\n");
    script.push_str("drop function answer(text, text);\n");
    let out = run(postgres, &script);
    let answers: Vec<String> = out.lines().map(unescape).collect();
    assert_eq!(answers.len(), cases.len(), "an answer to each case");
    answers
}

/// What a script writes.
pub fn run(postgres: &Postgres, script: &str) -> String {
    let mut psql = postgres.psql();
    psql.args(["-q", "-A", "-t", "-v", "ON_ERROR_STOP=1", "-f", "-"]);
    psql.stdin(Stdio::piped()).stdout(Stdio::piped());
    let mut child = psql.spawn().expect("psql is installed");
    let mut input = child.stdin.take().expect("it was asked for");
    input.write_all(script.as_bytes()).expect("psql reads");
    drop(input);
    let output = child.wait_with_output().expect("psql ends");
    assert!(output.status.success(), "psql failed");
    String::from_utf8(output.stdout).expect("UTF-8")
}

/// A text as COPY takes it.
pub fn escape(text: &str) -> String {
    text.replace('\\', "\\\\").replace('\t', "\\t").replace('\n', "\\n").replace('\r', "\\r")
}

/// A text that COPY wrote.
pub fn unescape(text: &str) -> String {
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
