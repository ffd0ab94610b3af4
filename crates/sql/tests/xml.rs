//! Is xml what it is in PostgreSQL, as a type and by its expressions?
//!
//! Scripts run here and in a private PostgreSQL 15 (a Debian package). Where PostgreSQL's library tells of several faults of a
//! text, the detail here has the first of them.

#![allow(clippy::disallowed_methods, reason = "tests stand outside the simulation")]

#[path = "support/compared.rs"]
mod compared;
mod support;

use onlap_testkit::simple::Outcome;
use support::Fixture;

#[test]
fn texts_are_well_formed_where_they_are_in_postgresql() {
    compared::compare(include_str!("../testdata/xml/shapes.sql"));
}

#[test]
fn texts_with_several_faults_are_refused() {
    let script = include_str!("../testdata/xml/many_faults.sql");
    let shown = |outcome: &Outcome| format!("{:?} {:?}", outcome.error, outcome.rows);
    let differ = compared::differences(script.lines(), "", shown);
    assert!(differ.is_empty(), "{}", differ.join("\n"));
}

#[test]
fn expressions_and_casts_are_as_in_postgresql() {
    compared::compare(include_str!("../testdata/xml/values.sql"));
}

#[test]
fn columns_domains_and_routines_are_as_in_postgresql() {
    compared::compare(include_str!("../testdata/xml/tables.sql"));
}

/// Statements that PostgreSQL carries out and that are refused here.
const UNSERVED: &str = r#"
select '<!DOCTYPE a [<!ENTITY e "x">]><a>&e;</a>'::xml
select '<!DOCTYPE a [<!ELEMENT a ANY>]><a/>'::xml
select xml_is_well_formed('<!DOCTYPE a [<!ENTITY e "x">]><a/>')
select xpath('//a', '<a/>')
select xpath_exists('//a', '<a/>')
select xmlexists('//a' passing by value '<a/>')
select * from xmltable('/a' passing '<a/>' columns x text)
select table_to_xml('t', true, true, '')
select query_to_xml('select 1', true, true, '')
create index on xs (a)
"#;

#[test]
fn what_is_not_served_says_so() {
    let fixture = Fixture::new(false);
    let mut talk = fixture.session();
    talk.rows("create table t (a int); create table xs (a xml[])");
    for statement in UNSERVED.lines().filter(|line| !line.is_empty()) {
        let error = talk.run(statement).error.unwrap_or_else(|| panic!("{statement} is refused"));
        assert_eq!(error.0, "0A000", "{statement} {}", error.1);
    }
}

#[test]
fn hostile_texts_are_refused_soon() {
    let fixture = Fixture::new(false);
    let mut talk = fixture.session();
    let deep = |n: usize| format!("repeat('<a>', {n}) || repeat('</a>', {n})");
    let mut state = |value: &str| {
        let outcome = talk.run(&format!("select length(xmlparse(content {value})::text)"));
        outcome.error.map(|error| error.0)
    };
    assert_eq!(state(&deep(256)), None);
    assert_eq!(state(&deep(257)).as_deref(), Some("2200N"));
    assert_eq!(state(&deep(1_000_000)).as_deref(), Some("2200N"));
    assert_eq!(state("repeat('<', 1000000)").as_deref(), Some("2200N"));
    assert_eq!(
        state(
            "'<a ' || (select string_agg('b' || i || '=\"\"', ' ') from generate_series(1, 200000) i) || '/>'"
        ),
        None
    );
    assert_eq!(state("repeat('x', 4 << 20)"), None);
    assert_eq!(state("'<a>' || repeat('<b/>&amp;', 1 << 18) || '</a>'"), None);
    assert_eq!(state("'<!--' || repeat('x', 10000001) || '-->'").as_deref(), Some("2200N"));
    assert_eq!(state("'<a b=\"' || repeat('x', 10000001) || '\"/>'").as_deref(), Some("2200N"));
    assert_eq!(state("'<' || repeat('x', 50001) || '/>'").as_deref(), Some("2200N"));
    let laughs = r#"'<!DOCTYPE a [<!ENTITY a "ha"><!ENTITY b "&a;&a;&a;"><!ENTITY c "&b;&b;&b;">]><a>&c;</a>'"#;
    assert_eq!(state(laughs).as_deref(), Some("0A000"));
}
