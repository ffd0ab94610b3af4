//! Does the scanner take what it should, and nothing else?

use super::{Literal, scan};

/// Long enough to be scanned.
fn padded(text: &str) -> String {
    format!("{text}{}", " ".repeat(super::LEAST))
}

#[test]
fn literals_are_read_as_the_parser_reads_them() {
    let text = padded(
        "Insert INTO s.\"T\" (a, \"B\") values (1, 'x'), (-2.50, 'it''s ''q'''),\n (NULL, '') , (true, 'ü');",
    );
    let found = scan(&text).unwrap();
    assert_eq!(found.table, ["s", "T"]);
    assert_eq!(found.columns, ["a", "B"]);
    assert_eq!(found.width, 2);
    let expected = [
        Literal::Number("1"),
        Literal::Text("x".into()),
        Literal::Number("-2.50"),
        Literal::Text("it's 'q'".into()),
        Literal::Null,
        Literal::Text("".into()),
        Literal::Bool(true),
        Literal::Text("ü".into()),
    ];
    assert_eq!(found.cells, expected);
}

#[test]
fn what_is_more_than_literals_is_left_to_the_parser() {
    for text in [
        "insert into t values (1 + 1)",
        "insert into t values (1), (2, 3)",
        "insert into t values ($1)",
        "insert into t values (default)",
        "insert into t values (E'a\\n')",
        "insert into t values (1e5)",
        "insert into t values (1.)",
        "insert into t values (.5)",
        "insert into t values (- 1)",
        "insert into t values ('a'::text)",
        "insert into t values ('a' 'b')",
        "insert into t values ('a)",
        "insert into t values (1) returning id",
        "insert into t values (1) on conflict do nothing",
        "insert into t values (1); select 1",
        "insert into t values (1) -- comment",
        "insert into t as x values (1)",
        "insert into t select 1",
        "insert into tä values (1)",
        "insert into t values (x'ff')",
        "insert into t values (1",
        "",
    ] {
        assert_eq!(scan(&padded(text)), None, "{text}");
    }
    assert_eq!(scan("insert into t values (1)"), None, "short texts are the parser's");
}
