use super::*;

fn found(text: &str) -> Vec<(usize, &'static str)> {
    of_text(text).into_iter().map(|(line, word, _)| (line, word)).collect()
}

#[test]
fn words_and_phrases_are_found_over_line_breaks() {
    assert_eq!(
        found("/// Nobody waits,\n/// but\n/// for one.\n"),
        [(1, "nobody"), (2, "but for")]
    );
    assert_eq!(found("//! so many"), [(1, "so many")]);
}

#[test]
fn other_words_and_identifiers_are_left_alone() {
    assert!(found("besides, nobody_waits(); but, for one; so, many").is_empty());
}
