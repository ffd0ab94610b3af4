//! Are scripts carried out by both systems as psql does, and would a wrong answer be seen?

#![allow(clippy::disallowed_methods, reason = "tests stand outside the simulation")]

use onlap_proofs::regression::judge::Verdict;
use onlap_proofs::regression::report::Report;
use onlap_proofs::regression::run_files;
use onlap_proofs::served::can_run;

/// What others read.
const SETUP: &str = "
    create table numbers (n int, word text);
    \\getenv dir PG_ABS_SRCDIR
    \\set filename :dir '/data/numbers.data'
    copy numbers from :'filename';
";

/// Answers that are the same, errors too.
const ALIKE: &str = "
    -- nothing; here
    select n, word from numbers order by n;
    select max(n) as most from numbers \\gset
    select :most + 1, :'most';
    create table more (n int primary key);
    copy more from stdin;
1
2
\\.
    copy nothing from stdin;
    insert into more values (2);
    begin;
    select 1 / 0;
    select 1;
    rollback;
    \\if :{?nothing}
    select 'not asked' from nothing;
    \\else
    select $$a;b$$ \\; select 'last';
    \\endif
    \\d more
    explain select * from more;
";

/// Answers that differ: the two are told apart by what they are called.
const FAULTS: &str = "
    select version() like '%Onlap%';
    select n from numbers order by case when version() like '%Onlap%' then n else -n end;
    select n / (case when version() like '%Onlap%' then 0 else 1 end) from numbers;
    select n / (case when version() like '%Onlap%' then 1 else 0 end) from numbers;
    select case when version() like '%Onlap%' then (1 / (n - n))::text else ('a' || n)::int::text end from numbers;
    begin;
    select n / (case when version() like '%Onlap%' then 0 else 1 end) from numbers;
    insert into numbers values (9);
    rollback;
";

/// Carries a script of ours out after the setup; nothing where a server is missing.
fn run(script: &str) -> Option<Report> {
    if !can_run(true) {
        return None;
    }
    let dir = tempfile::tempdir().expect("a temporary directory");
    let write = |name: &str, text: &str| {
        std::fs::write(dir.path().join(name), text).expect("the directory is writable");
    };
    std::fs::create_dir(dir.path().join("data")).expect("the directory is writable");
    write("data/numbers.data", "1\tone\n2\ttwo\n3\t\\N\n");
    write("test_setup.sql", SETUP);
    write("ours.sql", script);
    Some(run_files(dir.path(), &["ours", "not_there"]).expect("both servers start"))
}

#[test]
fn what_is_alike_is_found_to_be() {
    let Some(report) = run(ALIKE) else { return };
    let different: Vec<_> = report
        .judged
        .iter()
        .filter(|one| {
            let alike = [Verdict::Same, Verdict::SameError, Verdict::Explained];
            !alike.contains(&one.verdict)
        })
        .collect();
    assert!(different.is_empty(), "{different:#?}");
    let figures = report.figures();
    assert_eq!((figures.answered, figures.same, figures.refused), (8, 8, 4), "{}", report.text());
    assert_eq!(figures.explains, (1, 1));
    assert_eq!(report.missing, ["not_there"]);
}

#[test]
fn a_wrong_answer_is_found() {
    let Some(report) = run(FAULTS) else { return };
    let verdicts: Vec<Verdict> = report.judged.iter().map(|one| one.verdict).collect();
    use Verdict::*;
    let expected =
        [OtherRows, OtherOrder, Refused, Accepted, OtherError, Same, Refused, Refused, Same];
    assert_eq!(verdicts, expected, "{}", report.text());
    let figures = report.figures();
    assert_eq!((figures.same, figures.other_rows, figures.accepted), (2, 2, 1));
    // What an aborted transaction refuses comes from what aborted it.
    assert_eq!(report.judged[7].root.as_deref(), Some("22012 division by zero"));
}
