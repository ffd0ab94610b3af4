//! How do PostgreSQL's input functions walk over a text?

/// C's isspace in the C locale.
pub(crate) fn is_space(b: u8) -> bool {
    matches!(b, b' ' | b'\t' | b'\n' | 0x0b | 0x0c | b'\r')
}

/// Without white space at both ends.
pub(crate) fn trim(text: &str) -> &str {
    text.trim_matches(|c: char| c.is_ascii() && is_space(c as u8))
}

/// Without white space at its beginning.
pub(crate) fn trim_start(text: &str) -> &str {
    text.trim_start_matches(|c: char| c.is_ascii() && is_space(c as u8))
}

/// Whether nothing but white space is left.
pub(crate) fn is_blank(text: &str) -> bool {
    text.bytes().all(is_space)
}

/// The rest of a text that begins with a word, whatever its case.
pub(crate) fn strip_word<'a>(text: &'a str, word: &str) -> Option<&'a str> {
    let head = text.as_bytes().get(..word.len())?;
    head.eq_ignore_ascii_case(word.as_bytes()).then(|| &text[word.len()..])
}
