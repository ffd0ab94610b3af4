//! Are scripts read as psql reads them?

use super::{Item, Part, Quoting, Script};

/// Statements and commands of a text, variables in angle brackets.
fn read(text: &str) -> Vec<String> {
    let shown = |parts: &[Part]| -> String {
        let part = |part: &Part| match part {
            Part::Text(text) => text.clone(),
            Part::Variable { name, quoting: Quoting::Plain } => format!("<{name}>"),
            Part::Variable { name, quoting } => format!("<{quoting:?} {name}>"),
        };
        parts.iter().map(part).collect()
    };
    let mut script = Script::new(text);
    let mut items = Vec::new();
    while let Some(item) = script.next_item() {
        items.push(match item {
            Item::Statement(statement) => {
                let end =
                    statement.end.map_or(String::new(), |command| format!(" \\{}", command.name));
                format!("{}:{}{end}", statement.line, shown(&statement.parts).trim())
            }
            Item::Command(command) => {
                let arguments: Vec<String> = command.arguments.iter().map(|a| shown(a)).collect();
                format!("\\{} {}", command.name, arguments.join("|"))
            }
        });
    }
    items
}

#[test]
fn a_semicolon_ends_a_statement_outside_of_quotes() {
    assert_eq!(read("select 1; select 2"), ["1:select 1", "1:select 2"]);
    assert_eq!(read("select ';', \";\";"), ["1:select ';', \";\""]);
    assert_eq!(read("select E'\\';';\nselect '\\';"), ["1:select E'\\';'", "2:select '\\'"]);
    assert_eq!(read("select $a$;$$;$a$; select $1;"), ["1:select $a$;$$;$a$", "1:select $1"]);
    assert_eq!(read("-- a; b\n\nselect /* ; /* ; */ */ 3;"), ["3:select /* ; /* ; */ */ 3"]);
    assert_eq!(read("create rule r as (a; b);;"), ["1:create rule r as (a; b)"]);
    let body = "create function f() begin atomic select case when a then b end; end";
    assert_eq!(read(&format!("{body}; x;")), [&format!("1:{body}"), "1:x"]);
}

#[test]
fn commands_and_variables() {
    assert_eq!(read("select 1 as a \\gset p_\nb;"), ["1:select 1 as a \\gset", "2:b"]);
    assert_eq!(read("\\set x :dir '/a b'\n\\d t\n"), ["\\set x|<dir>|/a b", "\\d t"]);
    assert_eq!(
        read("a :b ::c :'d' :\"e\" x[1:2];"),
        ["1:a <b> ::c <Literal d> <Identifier e> x[1<2>]"]
    );
    assert_eq!(read("begin \\; select 1;"), ["1:begin ; select 1"]);
    assert_eq!(read("a b \\r c\nd;"), ["\\r c", "2:d"]);
}

#[test]
fn data_of_copy_is_read_where_it_is_wanted() {
    let mut script = Script::new("copy t from stdin;\n1\n2\n\\.\nselect 1;");
    script.next_item();
    assert_eq!(script.data(), Some("1\n2\n"));
    script.skip_data();
    let Some(Item::Statement(next)) = script.next_item() else { panic!("there is one more") };
    assert_eq!(next.line, 5);
}

#[test]
fn an_order_counts_outside_of_parentheses() {
    let ordered = |text| match Script::new(text).next_item() {
        Some(Item::Statement(statement)) => statement.ordered,
        other => panic!("{other:?}"),
    };
    assert!(ordered("select a from t Order By a;"));
    assert!(!ordered("select sum(a) over (order by b), 'order by' from t;"));
}
