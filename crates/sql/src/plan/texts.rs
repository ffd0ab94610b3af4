//! How much memory does it take to understand a statement?
//!
//! Its text becomes tokens, a tree, a plan and the steps of a plan, most of them there at the same time. Pure.

/// Texts up to this number of bytes are not counted: together with what a query takes besides they fit
/// [`super::room::QUERY_BYTES`].
const SHORT: usize = 8 << 10;
/// Bytes for each token. Lists of numbers took 700, of texts 870, arrays 1020, INSERT with functions 1140, CASE 1290
/// (the most that a server had resident beside one statement, less what it had before).
const TOKEN_BYTES: u64 = 1200;
/// Copies of the text and of the strings in it.
const COPIES: u64 = 8;

/// Bytes that a text is expected to take while it is understood; 0 for short ones.
pub fn expected_bytes(sql: &str) -> u64 {
    match sql.len() <= SHORT {
        true => 0,
        false => tokens(sql.as_bytes()) * TOKEN_BYTES + sql.len() as u64 * COPIES,
    }
}

/// About how many tokens there are: words, numbers and strings count one each, and so does each sign.
fn tokens(text: &[u8]) -> u64 {
    let (mut count, mut in_word, mut quote) = (0, false, None);
    for &byte in text {
        if let Some(open) = quote {
            if byte == open {
                quote = None;
            }
            continue;
        }
        let is_word = byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'$' | b'.' | 0x80..);
        let begins = match is_word {
            true => !in_word,
            false => !byte.is_ascii_whitespace(),
        };
        count += u64::from(begins);
        in_word = is_word;
        if matches!(byte, b'\'' | b'"') {
            quote = Some(byte);
        }
    }
    count
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tokens_are_counted_and_strings_are_one() {
        let count = |text: &str| tokens(text.as_bytes());
        assert_eq!(count("select a1, 2.5 from t"), 6);
        assert_eq!(count("x in ('a b,c', \"d e\")"), 7);
        assert_eq!(count("it''s ((("), 6);
    }

    #[test]
    fn long_lists_take_more_than_long_strings() {
        let list = format!("select 1 in ({})", vec!["1"; 40_000].join(","));
        let string = format!("select '{}'", "x".repeat(list.len()));
        assert_eq!(expected_bytes("select 1"), 0);
        // 52 MiB were measured.
        assert!((52 << 20..128 << 20).contains(&expected_bytes(&list)));
        assert!(expected_bytes(&string) < 1 << 20);
    }
}
