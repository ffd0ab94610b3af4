//! Values for functions of texts and bytes that the general ones do not test well.

mod patterns;

use onlap_pg::Oid;
use onlap_pg::catalog::{Catalog, Proc};

const PATTERNS: &[&str] = &[
    "", "%", "_", "a%", "%c", "a_c", "A_C", "%b%", "%a%b\\_%", "\\", "%\\", "abc\\", "%_%", "__",
    "ä%", "%日%語", "%%c", "ab%_", "\\%", "tEs%", "%s_", "a%_c%",
];
const SUBJECTS: &[&str] =
    &["", "a", "abc", "ABC def", "äöü ß", "日本語", "%", "a%b_c", "\\", "aabbcc", "tEsT", "abcabc"];
const BYTES: &[&str] =
    &["", "\\x00", "\\xdeadbeef", "\\x616263", "abc", "a%b\\\\c", "\\x61e4", "abcabc"];
const BYTE_PATTERNS: &[&str] =
    &["", "%", "_", "a%", "%c", "a_c", "%\\\\", "a\\\\", "_b%", "\\x61ff"];
const CODES: &[&str] = &["hex", "base64", "escape", "HEX", "nonsense", ""];
const ENCODED: &[&str] = &[
    "",
    "YWJj",
    "YWI=",
    "YQ==",
    "YQ=",
    "YQ",
    "YW Jj\n",
    "=",
    "Y===",
    "YWJ=YQ==",
    "616263",
    "61 62",
    "6",
    "6g",
    "a\\001\\\\b",
    "\\12",
    "\\400",
    "\\",
    "ä",
    "YWJjZGVmZ2hpamtsbW5vcHFyc3R1dnd4eXo=",
];
const LONG_BYTES: &[&str] = &[
    "",
    "\\x00",
    "a",
    "ab",
    "abc",
    "a\\\\b",
    "\\xff80",
    "The quick brown fox jumps over the lazy dog, and then again, and once more, till it is 76 wide.",
];
const ENCODINGS: &[&str] = &["UTF8", "utf-8", "Latin1", "iso-8859-1", "SQL_ASCII", "nonsense"];
const ENCODED_BYTES: &[&str] = &[
    "",
    "abc",
    "\\xc3a4",
    "\\xe4",
    "\\xe697a5",
    "\\xe697",
    "\\x6100",
    "\\xff",
    "\\xf5808080",
    "\\xc0af",
];
const FORMS: &[&str] = &["NFC", "nfd", "NFKC", "NFKD", "NFX"];
const COMPOSED: &[&str] = &["", "abc", "äöü", "a\u{308}", "ﬁ", "Å", "한글", "\u{1e9b}\u{323}", "½"];
const ESCAPES: &[&str] = &[
    "",
    "abc",
    "\\0061",
    "\\u00e4x",
    "\\+01f600",
    "\\U0001F600",
    "\\d83d\\de00",
    "\\d83d",
    "\\de00",
    "\\d83dx",
    "\\\\",
    "\\0000",
    "\\U00110000",
    "\\zz",
    "\\006",
    "a\\u0",
];
const TEMPLATES: &[&str] = &[
    "",
    "plain",
    "%s",
    "%I",
    "%L",
    "%%",
    "%",
    "<%s>%",
    "%5s|",
    "%-5s|",
    "%1$s %1$L",
    "%2$s",
    "%0$s",
    "%x",
    "%1$",
    "%*s",
    "%*1$s",
    "%-*s|",
    "%99999999999s",
    "%5",
    "%1$*1$s",
    "%1$-4s|",
    "%s%s",
];
const NAMES: &[&str] = &[
    "",
    "abc",
    "Abc",
    "a b",
    "select",
    "between",
    "1a",
    "a$b",
    "ä",
    "a\"b",
    "it's",
    "back\\slash",
    "_x9",
];
const NUMBERS: &[&str] = &["0", "1", "2", "3", "-1", "-2", "5", "10", "2147483647", "-2147483648"];
const SPLITTERS: &[&str] = &["", "a", ",", "b", "bc", "ab", " "];
const LISTS: &[&str] = &["", "a", "a,b,,c", ",", "abcabc", "aaa", "x y z", "ä,ö"];
const PARTS: &[&str] = &["", "a", "b", "bc", "c", "本", "語", "ü", "abcd", " "];
const BITS: &[&str] = &[
    "",
    "0",
    "1",
    "101",
    "b0101",
    "11110000",
    "x8F",
    "111100001",
    "x80000000",
    "1010101010101010",
    "00000000000000000000000000000000000000001",
    "X8000000000000001",
    "101010101010101010101010101010101010101010101010101010101010101010101",
];
const LENGTHS: &[&str] = &["-1", "4", "5", "7", "9", "67"];
const SMALL: &[&str] = &["0", "1", "-1", "2", "5", "8", "31", "100", "-2147483648", "536870911"];
const CHARACTERS: &[&str] =
    &["65", "0", "-1", "228", "26085", "128512", "55296", "1114111", "1114112", "2147483647"];

/// Texts of values for an argument, if the general ones do not do.
pub fn pool(_: &Catalog, proc: &Proc, at: usize, oid: Oid) -> Option<&'static [&'static str]> {
    if let Some(pool) = patterns::pool(proc, at, oid) {
        return Some(pool);
    }
    let name = &*proc.name;
    let is_text = matches!(oid, 25 | 1042 | 19);
    if name.ends_with("like") && oid == 17 {
        return Some(if at == 0 { BYTES } else { BYTE_PATTERNS });
    }
    if name.ends_with("like") && !name.starts_with("regexp") && is_text {
        return Some(if at == 1 { PATTERNS } else { SUBJECTS });
    }
    if matches!(oid, 1560 | 1562) {
        return Some(BITS);
    }
    Some(match (name, at, oid) {
        ("parse_ident", 0, _) => &[
            "",
            "a",
            "A.b",
            " \"A b\" . c ",
            "a.",
            ".a",
            "\"\"",
            "\"a",
            "\"a\"\"b\"",
            "a b",
            "1a",
            "ä.é$1",
            "a . b . c",
            "x.\"y\".z!",
        ],
        ("bit" | "varbit", 1, 23) => &["-1", "0", "1", "4", "9", "33", "70"],
        ("bitshiftleft" | "bitshiftright", 1, _) => {
            &["0", "1", "-1", "3", "8", "-9", "17", "100", "-2147483648", "2147483647"]
        }
        ("like_escape", 0, 25) => PATTERNS,
        ("like_escape", 1, 25) => &["", "\\", "#", "_", "ab", "ä", "%"],
        ("like_escape", 0, 17) => BYTE_PATTERNS,
        ("like_escape", 1, 17) => &["", "\\\\", "#", "ab", "%"],
        ("encode", 0, _) => LONG_BYTES,
        ("encode", 1, _) | ("decode", 1, _) => CODES,
        ("decode", 0, _) => ENCODED,
        ("convert_from" | "convert" | "length", 0, 17) => ENCODED_BYTES,
        ("convert_from" | "convert" | "convert_to" | "length", _, 19) => ENCODINGS,
        ("normalize" | "is_normalized", 0, _) => COMPOSED,
        ("normalize" | "is_normalized", 1, _) => FORMS,
        ("unistr", _, _) => ESCAPES,
        ("format", 0, _) => TEMPLATES,
        ("quote_ident" | "quote_literal" | "quote_nullable", _, 25) => NAMES,
        ("split_part", 0, _) => LISTS,
        ("split_part", 1, _) => SPLITTERS,
        ("split_part", 2, _) => NUMBERS,
        ("position" | "strpos" | "starts_with", 0, 25) => SUBJECTS,
        ("position" | "strpos" | "starts_with", 1, 25) => PARTS,
        ("replace" | "translate", 0, _) => SUBJECTS,
        ("replace" | "translate", _, _) => PARTS,
        ("btrim" | "ltrim" | "rtrim", 1, 25) => &["", "a", "abc", " ", "ü ß", "语語日"],
        ("btrim" | "ltrim" | "rtrim", _, 17) => BYTES,
        ("lpad" | "rpad", 1, _) => SMALL,
        ("lpad" | "rpad", 2, _) => &["", "x", "xy", "日本", " "],
        ("repeat", 1, _) => &["0", "1", "-1", "3", "2147483647"],
        // A byte that is no character PostgreSQL would give as it is, outside of the encoding.
        ("bpchar", 0, 18) => &["a", "Z", ""],
        ("bpchar" | "varchar", 1, 23) => LENGTHS,
        ("chr", 0, _) => CHARACTERS,
        ("overlay" | "substring" | "substr", 2.., 23) => NUMBERS,
        ("get_bit", 1, _) | ("set_bit", 1, _) | ("get_byte" | "set_byte", 1, _) => {
            &["0", "1", "-1", "7", "15", "24", "100"]
        }
        ("set_bit", 2, _) => &["0", "1", "2", "-1"],
        ("initcap", 0, _) => &["", "hello wORLD", "a1b c", "äbc", "x-y_z", "o'neil"],
        _ => return None,
    })
}
