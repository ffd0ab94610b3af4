//! What does PostgreSQL give in a session?

use std::io::Write;
use std::process::Stdio;

use onlap_testkit::postgres::Postgres;

const ANSWER: &str = "
create or replace function answer(e text) returns text language plpgsql as $$
declare r text; s text; m text;
begin
  execute 'select case when num_nulls(v) = 1 then ''= NULL'' else format(''= %s'', v) end
    from (select ' || e || ' as v offset 0) q' into r;
  return coalesce(r, 'nothing');
exception when others then
  get stacked diagnostics s = returned_sqlstate, m = message_text;
  return '! ' || s || ' ' || m;
end $$;
create temp table q(n serial, e text);
";

/// The time of the transaction, and the answers to expressions, in their order.
pub fn answers(postgres: &Postgres, session: &[&str; 3], asked: &[String]) -> (i64, Vec<String>) {
    let [zone, dates, intervals] = session;
    let mut script = format!(
        "set timezone = '{zone}'; set datestyle = '{dates}'; set intervalstyle = '{intervals}';
         {ANSWER} copy q(e) from stdin;\n"
    );
    for text in asked {
        let text = text.replace('\\', "\\\\").replace('\t', "\\t").replace('\n', "\\n");
        script.push_str(&text);
        script.push('\n');
    }
    script.push_str(
        "\\.\nbegin;
         select ((extract(epoch from now()) - 946684800) * 1000000)::int8;
         copy (select answer(e) from q order by n) to stdout;
         commit;\n",
    );
    let mut lines = run(postgres, script);
    let now = lines.remove(0).parse().expect("a number");
    (now, lines)
}

/// The lines that a script writes.
pub fn run(postgres: &Postgres, script: String) -> Vec<String> {
    let mut psql = postgres.psql();
    psql.args(["-q", "-A", "-t", "-v", "ON_ERROR_STOP=1", "-f", "-"]);
    psql.stdin(Stdio::piped()).stdout(Stdio::piped());
    let mut child = psql.spawn().expect("psql is installed");
    let mut input = child.stdin.take().expect("it was asked for");
    // It reads to the end before it writes much.
    input.write_all(script.as_bytes()).expect("psql reads");
    drop(input);
    let output = child.wait_with_output().expect("psql ends");
    assert!(output.status.success(), "psql failed");
    let out = String::from_utf8(output.stdout).expect("UTF-8");
    let plain = |line: &str| line.replace("\\t", "\t").replace("\\n", "\n").replace("\\\\", "\\");
    out.lines().map(plain).collect()
}
