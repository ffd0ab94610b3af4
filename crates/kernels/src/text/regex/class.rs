//! Which characters have the names that stand in brackets?
//!
//! As collation C has it, where only ASCII has letters.

use super::set::Set;

/// The ranges of a class.
pub fn named(name: &str, any_case: bool) -> Option<&'static [(u32, u32)]> {
    const ALPHA: &[(u32, u32)] = &[(65, 90), (97, 122)];
    Some(match name {
        "alnum" => &[(48, 57), (65, 90), (97, 122)],
        "alpha" => ALPHA,
        "ascii" => &[(0, 127)],
        "blank" => &[(9, 9), (32, 32)],
        "cntrl" => &[(0, 31), (127, 127)],
        "digit" => &[(48, 57)],
        "graph" => &[(33, 126)],
        "lower" | "upper" if any_case => ALPHA,
        "lower" => &[(97, 122)],
        "print" => &[(32, 126)],
        "punct" => &[(33, 47), (58, 64), (91, 96), (123, 126)],
        "space" => &[(9, 13), (32, 32)],
        "upper" => &[(65, 90)],
        "word" => &[(48, 57), (65, 90), (95, 95), (97, 122)],
        "xdigit" => &[(48, 57), (65, 70), (97, 102)],
        _ => return None,
    })
}

/// The class that a letter behind a backslash names; a capital means all others.
pub fn escaped(letter: char) -> Option<Set> {
    let name = match letter.to_ascii_lowercase() {
        'd' => "digit",
        's' => "space",
        'w' => "word",
        _ => return None,
    };
    let set = Set::of(named(name, false)?.to_vec());
    Some(if letter.is_ascii_uppercase() { set.complement() } else { set })
}

/// The character that a name of POSIX means, or that stands for itself.
pub fn element(name: &str) -> Option<u32> {
    let mut chars = name.chars();
    if let (Some(c), None) = (chars.next(), chars.next()) {
        return Some(u32::from(c));
    }
    NAMES.iter().find(|(known, _)| *known == name).map(|(_, c)| u32::from(*c))
}

const NAMES: &[(&str, u8)] = &[
    ("NUL", 0),
    ("SOH", 1),
    ("STX", 2),
    ("ETX", 3),
    ("EOT", 4),
    ("ENQ", 5),
    ("ACK", 6),
    ("BEL", 7),
    ("alert", 7),
    ("BS", 8),
    ("backspace", 8),
    ("HT", 9),
    ("tab", 9),
    ("LF", 10),
    ("newline", 10),
    ("VT", 11),
    ("vertical-tab", 11),
    ("FF", 12),
    ("form-feed", 12),
    ("CR", 13),
    ("carriage-return", 13),
    ("SO", 14),
    ("SI", 15),
    ("DLE", 16),
    ("DC1", 17),
    ("DC2", 18),
    ("DC3", 19),
    ("DC4", 20),
    ("NAK", 21),
    ("SYN", 22),
    ("ETB", 23),
    ("CAN", 24),
    ("EM", 25),
    ("SUB", 26),
    ("ESC", 27),
    ("IS4", 28),
    ("FS", 28),
    ("IS3", 29),
    ("GS", 29),
    ("IS2", 30),
    ("RS", 30),
    ("IS1", 31),
    ("US", 31),
    ("space", b' '),
    ("exclamation-mark", b'!'),
    ("quotation-mark", b'"'),
    ("number-sign", b'#'),
    ("dollar-sign", b'$'),
    ("percent-sign", b'%'),
    ("ampersand", b'&'),
    ("apostrophe", b'\''),
    ("left-parenthesis", b'('),
    ("right-parenthesis", b')'),
    ("asterisk", b'*'),
    ("plus-sign", b'+'),
    ("comma", b','),
    ("hyphen", b'-'),
    ("hyphen-minus", b'-'),
    ("period", b'.'),
    ("full-stop", b'.'),
    ("slash", b'/'),
    ("solidus", b'/'),
    ("zero", b'0'),
    ("one", b'1'),
    ("two", b'2'),
    ("three", b'3'),
    ("four", b'4'),
    ("five", b'5'),
    ("six", b'6'),
    ("seven", b'7'),
    ("eight", b'8'),
    ("nine", b'9'),
    ("colon", b':'),
    ("semicolon", b';'),
    ("less-than-sign", b'<'),
    ("equals-sign", b'='),
    ("greater-than-sign", b'>'),
    ("question-mark", b'?'),
    ("commercial-at", b'@'),
    ("left-square-bracket", b'['),
    ("backslash", b'\\'),
    ("reverse-solidus", b'\\'),
    ("right-square-bracket", b']'),
    ("circumflex", b'^'),
    ("circumflex-accent", b'^'),
    ("underscore", b'_'),
    ("low-line", b'_'),
    ("grave-accent", b'`'),
    ("left-brace", b'{'),
    ("left-curly-bracket", b'{'),
    ("vertical-line", b'|'),
    ("right-brace", b'}'),
    ("right-curly-bracket", b'}'),
    ("tilde", b'~'),
    ("DEL", 127),
];
