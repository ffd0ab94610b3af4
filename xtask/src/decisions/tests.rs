use super::*;

fn found(index: &str, pages: &[(&str, &str)]) -> Vec<String> {
    let file = |path: String, text: &str| SourceFile { path, text: text.to_owned() };
    let mut files = vec![file(INDEX.to_owned(), index)];
    files.extend(pages.iter().map(|(name, text)| file(format!("{FOLDER}{name}"), text)));
    check(&files)
}

#[test]
fn every_page_stands_once() {
    let pages = [
        ("0001-a.md", "# 0001: One\n\nStatus: accepted\n"),
        ("0002-b.md", "# 0002: Two\n\nStatus: replaced by 0001\n"),
    ];
    let index = "* [0001](0001-a.md): One\n* [0002](0002-b.md): Two (replaced)\n";
    assert!(found(index, &pages).is_empty());
    assert_eq!(found("* [0001](0001-a.md): One\n", &pages).len(), 1);
    assert_eq!(found(&format!("{index}{index}"), &pages).len(), 2);
}

#[test]
fn a_line_that_is_no_page_and_a_page_without_status_are_named() {
    assert_eq!(found("* [0009](0009-x.md): Gone\n", &[]).len(), 1);
    let text = found("", &[("0001-a.md", "# 0001: One\n\nStatus: perhaps\n")]);
    assert!(text[0].contains("status"), "{text:?}");
}
