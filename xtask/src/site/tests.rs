use super::*;

fn found(files: &[(&str, &str)]) -> Vec<String> {
    let file = |(path, text): &(&str, &str)| SourceFile {
        path: (*path).to_owned(),
        text: (*text).to_owned(),
    };
    check(&files.iter().map(file).collect::<Vec<_>>())
}

#[test]
fn every_page_is_listed() {
    let summary = (SUMMARY, "* [A](a.md)\n* [B](more/b.md)\n");
    assert!(
        found(&[summary, ("docs/a.md", ""), ("docs/more/b.md", ""), ("other.md", "")]).is_empty()
    );
    assert_eq!(found(&[summary, ("docs/c.md", "")]).len(), 1);
}

#[test]
fn links_stay_on_the_site() {
    let summary = (SUMMARY, "* [A](more/a.md)\n");
    let page = |text| [summary, ("docs/more/a.md", text)];
    assert!(found(&page("[b](../b.md) [c](https://c.org)")).is_empty());
    assert_eq!(found(&page("[readme](../../README.md)")).len(), 1);
}
