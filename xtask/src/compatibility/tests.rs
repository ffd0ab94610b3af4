//! Scripts and pages, small ones.

use super::*;

fn file(path: &str, text: &str) -> SourceFile {
    SourceFile { path: path.into(), text: text.into() }
}

const SCRIPT: &str = "crates/sql/testdata/a.slt";

#[test]
fn records_say_how_features_stand() {
    let text = "# feature: SELECT | DISTINCT ON\nquery I\nselect 1\n----\n1\n\n\
        # ignored: INDEX | CONCURRENTLY\nskipif postgresql\nstatement ok\ncreate index\n\n\
        # feature: SELECT | INTO\n# why it is so\nstatement error 0A000\nselect into\n";
    let page =
        page(&[file(SCRIPT, text), file(PATH, &format!("Prose.\n{BEGIN}old\n{END}More.\n"))]);
    let expected = format!(
        "Prose.\n{BEGIN}| statement | supported | accepted and ignored | error |\n|---|---|---|---|\n\
         | SELECT | DISTINCT ON |  | INTO |\n| INDEX |  | CONCURRENTLY |  |\n{END}More.\n"
    );
    assert_eq!(page.as_deref(), Ok(expected.as_str()));
    assert_eq!(check(&[file(SCRIPT, text), file(PATH, &expected)]), Vec::<String>::new());
}

#[test]
fn a_stale_table_is_found() {
    let text = "# feature: SELECT | joins\nstatement ok\nselect 1\n";
    let stale = file(PATH, &format!("{BEGIN}{END}"));
    assert_eq!(check(&[file(SCRIPT, text), stale]).len(), 1);
}

#[test]
fn comments_that_prove_nothing_are_found() {
    for text in [
        "# feature: SELECT | joins\n\nstatement ok\nselect 1\n",
        "# feature: joins\nstatement ok\nselect 1\n",
        "# ignored: INDEX | x\nstatement error\ncreate index\n",
    ] {
        let place = file(PATH, &format!("{BEGIN}{END}"));
        let found = page(&[file(SCRIPT, text), place]).expect_err("nothing is proved");
        assert_eq!(found.len(), 1, "{text}");
    }
}
