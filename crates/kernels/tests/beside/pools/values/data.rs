//! Values for functions of arrays, rows and json that the general ones do not test well.

use onlap_pg::Oid;
use onlap_pg::catalog::{Catalog, Proc};

const INT4S: &[&str] = &[
    "{}",
    "{1}",
    "{1,2,3}",
    "{3,NULL,1,2,1}",
    "{NULL}",
    "[0:1]={1,2}",
    "[-2:0]={1,1,1}",
    "{{1,2},{3,4}}",
    "{{1,2,3}}",
    "[2:3][-1:0]={{1,2},{3,NULL}}",
    "{{{1},{2}},{{3},{4}}}",
    "{2147483647,-2147483648}",
    "[2147483646:2147483646]={7}",
    "[-2147483648:-2147483648]={7}",
];

const TEXTS: &[&str] = &[
    "{}",
    "{a}",
    "{a,b,c}",
    "{b,NULL,\"NULL\",\"\"}",
    "{\"a b\",\"c,d\",\"e\\\"f\",\"g\\\\h\"}",
    "{{a,b},{c,d}}",
    "[5:6]={x,y}",
    "{NULL,NULL}",
    "{äö,日本}",
    "{1,2,a}",
];

/// Texts that are no arrays, or barely.
const BAD_ARRAYS: &[&str] = &[
    "",
    "1",
    "{",
    "}",
    "{1",
    "{1,}",
    "{,1}",
    "{1,,2}",
    "{1}}",
    "{1} x",
    " { 1 , 2 } ",
    "{{1},2}",
    "{1,{2}}",
    "{{1},{2,3}}",
    "{{},{}}",
    "{{}}",
    "{ }",
    "{\"1\"}",
    "{\"1\"2}",
    "{1\"2\"}",
    "{\\1}",
    "{1\\",
    "{null}",
    "{n\\ull}",
    "[1]={1}",
    "[1:1]={1}",
    "[1:2]={1}",
    "[2:1]={1}",
    "[]={1}",
    "[1:]={1}",
    "[1:1]{1}",
    "[1:1]=1",
    "[1:1",
    "[-2147483648:2147483647]={1}",
    "[1:2147483647]={1}",
    "[0:0][0:0][0:0][0:0][0:0][0:0][0:0]={1}",
    "{{{{{{{1}}}}}}}",
    "{{{{{{1}}}}}}",
    " [1:1] [1:1] = {{1}}",
    "[-+1:2]={1,2}",
    "[1:1]={{1}}",
    "{a b , \"c\" }",
    "{x\\ }",
    "{{1},{2}",
    "{{{1}},{2}}",
    "{{2},{{1}}}",
    "{{2,3},{{1},{4}}}",
    "{{{1},{4}},{2,3}}",
    "{{1},{{2}},{3}}",
    "{{{{1}}},{{2}}}",
    "{{{1}},{{{2}}}}",
    "{{{1}},{2},{3}}",
    "{{{1}},{{2}},{3}}",
    "[2147483647:2147483647]={1}",
];

const NUMERICS: &[&str] =
    &["{}", "{1,1.0,1.00}", "{NaN,Infinity,-Infinity}", "{{0.5},{NULL}}", "{2,1}"];

const VECTORS: &[&str] = &["", "1", "1 2 3", "0 0", "3 2"];

/// Values of json; each is one of jsonb, too.
const JSONS: &[&str] = &[
    "null",
    "true",
    "1.50",
    "\"a\"",
    "\"\"",
    "[]",
    "{}",
    "[1, 2, 3]",
    "[\"a\", \"b\", null, 1, true, [1, [2]], {\"a\": 1}]",
    "{\"a\": 1, \"b\": [1, 2, {\"c\": null}], \"aa\": {\"b\": {\"c\": \"x\\n\\u00e9\"}}}",
    "{\"a\": null, \"a\": {\"b\": 2}, \"\": \"e\"}",
    " { \"b\" : [ ] , \"a\" : { } } ",
    "[[1, 2], [3, null], []]",
    "{\"1\": [10, 20], \"a\": [{\"b\": 1}, {\"b\": 2}]}",
    "1e3",
    "-0.0",
    "{\"a\": \"\\ud83d\\ude00 \\\"q\\\"\", \"k\\\"y\": 1e-5}",
    "[1, 1.0, \"1\"]",
    "12345678901234567890.5",
    "40000",
    "3000000000",
];

/// Texts that are no json, or only as far as nothing is made of it.
const BAD_JSONS: &[&str] = &[
    "",
    "nul",
    "[1",
    "{\"a\"}",
    "{\"a\":1,}",
    "[1,]",
    "{1:2}",
    "01",
    "1.",
    "-",
    "1e",
    "\"a",
    "\"\\x\"",
    "\"\\u00\"",
    "[1 2]",
    "{\"a\":1 \"b\"}",
    "tru e",
    "1 1",
    "'a'",
    "{\"a\":\"\\u0000\"}",
    "\"\\ud800\"",
    "\"\\udc00x\"",
    "[}",
    "\"\t\"",
];

const PATHS: &[&str] = &[
    "{}",
    "{a}",
    "{b}",
    "{a,b}",
    "{aa,b,c}",
    "{0}",
    "{-1}",
    "{1}",
    "{b,0}",
    "{b,2,c}",
    "{5}",
    "{-5}",
    "{a,0,b}",
    "{1,1}",
    "{NULL}",
    "{a,NULL}",
    "{x,y}",
    "{\" 1\"}",
    "{{a,b},{c,d}}",
];

const ADDRESSES: &[&str] = &[
    "192.168.1.5",
    "192.168.1.0/24",
    "192.168.1.5/24",
    "10.0.0.0/8",
    "0.0.0.0/0",
    "255.255.255.255",
    "::1",
    "::/0",
    "2001:db8::/32",
    "2001:db8:0:0:1::5/64",
    "::ffff:1.2.3.4",
    "ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff",
    "1:0:0:2::3",
    "127.0.0.1/32",
    "fe80::1/10",
    "10.1.2.3/30",
    "::10.2.3.4",
    "1::",
    "192.168.0.255/31",
];

/// Texts that are addresses, and some that are none.
const ADDRESS_TEXTS: &[&str] = &[
    "1.2.3.4",
    "1.2.3.4/33",
    "1.2.3",
    "1.2.3/16",
    "10",
    "10/8",
    "172.16",
    "192.168.1",
    "1.2.3.4.5",
    "256.1.1.1",
    "1.2.3.04",
    "1.2.3.4/",
    "1.2.3.4/08",
    "::1/129",
    "1::2::3",
    ":::",
    "0x0a0b",
    "0x0a0b0c0d/24",
    "192.168/24",
    "1.2.3.4/24",
    "224.1",
    "1:0:2::/48",
    "1:0:0:2::/64",
    "0:1::/32",
    "1::/17",
    "::1:0:0:0:0/100",
    "abc",
    "",
    " 1.2.3.4",
    "1.2.3.4 ",
    "::ffff:1.2.3.4/96",
    "12345::",
    "1:2:3:4:5:6:7:8",
    "1:2:3:4:5:6:7",
    "1:2:3:4:5:6:7::",
    "192.168.100.128/25",
];

const MACS: &[&str] =
    &["08:00:2b:01:02:03", "ff:ff:ff:ff:ff:ff", "00:00:00:00:00:00", "7f:80:00:ff:fe:01"];

const MAC8S: &[&str] = &[
    "08:00:2b:01:02:03:04:05",
    "ff:ff:ff:ff:ff:ff:ff:ff",
    "00:00:00:00:00:00:00:00",
    "08:00:2b:ff:fe:01:02:03",
];

/// Texts of hardware addresses, and some that are none.
const MAC_TEXTS: &[&str] = &[
    "08:00:2b:01:02:03",
    "08-00-2b-01-02-03",
    "08002b:010203",
    "08002b-010203",
    "0800.2b01.0203",
    "0800-2b01-0203",
    "08002b010203",
    "8:0:2B:1:2:3",
    "08:00:2b:01:02",
    "08:00:2b:01:02:03:04",
    "08:00:2b:01:02:0g",
    "",
    " 08:00:2b:01:02:03 ",
    "100:00:2b:01:02:03",
    "08:00:2b:01:02:03:04:05",
    "08002b:0102030405",
    "0800.2b01.0203.0405",
    "08002b01:02030405",
    "0800:2b01:0203",
    "08:00-2b:01:02:03",
    "08002b01020304",
    "08:00:2b:01:02:03 x",
];

const JSON_PATHS: &[&str] = &[
    "$",
    "$.a",
    "$.a.b",
    "$.b[*]",
    "$[*]",
    "$[0]",
    "$[last]",
    "$[0 to 1]",
    "$[1, 0]",
    "$[last - 1 to last]",
    "$.*",
    "$.**",
    "$.**{1}",
    "$.**{1 to 2}",
    "$.**{last}",
    "$.**{2 to last}",
    "$.**.b",
    "$.**[*]",
    "strict $.a",
    "strict $[*]",
    "strict $.a.b",
    "strict $.**.b",
    "strict $[5]",
    "strict $.*",
    "lax $.b[2].c",
    "$ ? (@ > 1)",
    "$[*] ? (@ > 1)",
    "$[*] ? (@ == $x)",
    "$.a ? (@.b == 2)",
    "$.a[*] ? (@.b >= 1 && @.b < 2)",
    "$ ? (exists(@.a))",
    "$ ? (!exists(@.a))",
    "strict $[*] ? (exists(@.a ? (@ == 1)))",
    "$[*] ? ((@ > 1) is unknown)",
    "$ ? (@.a == null || @.b[0] == 1)",
    "$[*] ? (@ starts with \"a\")",
    "$[*] ? (@ starts with $y)",
    "$[*].type()",
    "$.type()",
    "$.size()",
    "strict $.size()",
    "$.b.size()",
    "$[*].double()",
    "$.double()",
    "$.abs()",
    "-$[0]",
    "+$[*]",
    "$[0] + 1",
    "$[*] + 1",
    "1 + 2 * 3 - 4 / 8",
    "$.b[0] * 2.5",
    "$[0] / 0",
    "$ % 2",
    "-1.5.abs()",
    "(-1.5).abs()",
    "$.floor()",
    "$.ceiling()",
    "$.keyvalue()",
    "$.keyvalue().key",
    "$ == 1",
    "$.a == 1",
    "$.a > 0 && $.a < 2",
    "$[*] == 1",
    "!($.a == 1)",
    "($.a == 1) is unknown",
    "exists($.a)",
    "$.a != null",
    "$x",
    "$y + 1",
    "$missing",
    "$.\"a\"",
    "$.\"\\u0061\"",
    "$.a.true",
    "$.null",
    "last",
    "@",
    "$.",
    "$[",
    "$[]",
    "",
    "$ ? (1)",
    "1 == 1 == 1",
    "(1 == 1).type()",
    "(1 == 1) + 1",
    "$.a b",
    "1a",
    "01",
    ".5 + 1.",
    "1e3",
    "\"abc",
    "$.datum()",
    "$[\"a\"]",
    "$[1.7]",
    "$[1 to 0]",
    "$[-1]",
    "strict $[-1]",
    "$ /* c */ . a",
    "$.a.*",
    "$.a[*].b",
    "$.A",
    "STRICT $",
    "$.\"\"",
    "true",
    "null",
    "\"x\"",
    "$ ? (@.a.b == 2).a",
    "$ ? (@ == \"a\").type()",
    "1 * (2 + 3) * 4",
    "1 - (2 - 3)",
    "-(1 + 2)",
    "- - 1",
    "(1 + 2).type()",
    "$.a[0].b.c ? (@ == 1 || @ == 2 && @ == 3)",
    "$[*] ? (@ == true)",
    "$[*] ? (@ < \"b\")",
];

/// Texts of values for an argument, if the general ones do not do.
pub fn pool(_: &Catalog, proc: &Proc, at: usize, oid: Oid) -> Option<&'static [&'static str]> {
    if let Some(pool) = of_function(&proc.name, at, oid) {
        return Some(pool);
    }
    Some(match oid {
        1007 => INT4S,
        1009 | 1015 => TEXTS,
        1231 => NUMERICS,
        1005 => &["{}", "{1,2}", "{NULL,-1}"],
        1016 => &["{}", "{9223372036854775807}", "{1,NULL}"],
        1022 => &["{}", "{0,-0,NaN}", "{NULL,1.5}", "{1,2,3.25}"],
        1000 => &["{}", "{t,f,NULL}"],
        4072 => JSON_PATHS,
        114 | 3802 => JSONS,
        142 => &[
            "<a/>",
            "",
            "text",
            "<?xml version='1.0'?><a/>",
            "<?xml version='1.1' standalone='no'?>\n<b/>",
        ],
        869 => ADDRESSES,
        650 => {
            &["192.168.1.0/24", "10.0.0.0/8", "1.2.3.4/32", "::/0", "2001:db8::/32", "0.0.0.0/0"]
        }
        829 => MACS,
        3220 => &["0/0", "0/16B3748", "1/0", "FFFFFFFF/FFFFFFFF", "12ab/ffffffff", "0/A"],
        774 => MAC8S,
        22 => VECTORS,
        30 => VECTORS,
        _ => return None,
    })
}

/// Arguments that mean something to one function.
fn of_function(name: &str, at: usize, oid: Oid) -> Option<&'static [&'static str]> {
    Some(match (name, at, oid) {
        (name, 2, 3802) if name.starts_with("jsonb_path") => {
            &["{}", "{\"x\": 1, \"y\": \"a\"}", "[]"]
        }
        ("json_strip_nulls" | "jsonb_array_length", 0, _) => BAD_JSONS,
        ("family" | "abbrev", 0, _) => ADDRESS_TEXTS,
        ("trunc" | "macaddr" | "macaddr8", 0, 829 | 774) => MAC_TEXTS,
        ("cardinality", 0, 1007 | 1009) => BAD_ARRAYS,
        ("jsonb_delete", 1, 1009) => &["{}", "{a}", "{a,b,NULL}", "{{a,b},{c,d}}", "{\"\"}"],
        ("jsonb_exists_any" | "jsonb_exists_all", 1, _) => {
            &["{}", "{a}", "{a,b,NULL}", "{x,1}", "{{a,b},{c,d}}"]
        }
        ("json_object" | "jsonb_object", 0 | 1, 1009) => &[
            "{}",
            "{a,1}",
            "{a}",
            "{a,1,b,NULL}",
            "{{a,1},{b,2}}",
            "{{a,b,c}}",
            "{{{a,b}}}",
            "{NULL,1}",
            "{a,1,a,2}",
            "{\"q\\\"\",x}",
        ],
        ("jsonb_set_lax", 4, _) => {
            &["raise_exception", "use_json_null", "delete_key", "return_target", "other"]
        }
        (name, 1.., 1009) if name.starts_with("json") => PATHS,
        (name, 1.., 25) if name.starts_with("json") => &["a", "b", "aa", "", "1", "k\"y"],
        (name, 1.., 23) if name.starts_with("json") => {
            &["0", "1", "-1", "-7", "6", "2147483647", "-2147483648"]
        }
        ("set_masklen", 1, _) => &["-1", "0", "8", "24", "32", "33", "128", "129", "-2"],
        ("inetpl" | "inetmi_int8", 1, _) | ("int8pl_inet", 0, _) => &[
            "0",
            "1",
            "-1",
            "256",
            "4294967296",
            "-300000000000",
            "9223372036854775807",
            "-9223372036854775808",
        ],
        ("array_length" | "array_lower" | "array_upper", 1, 23) => &["-1", "0", "1", "2", "3", "7"],
        ("trim_array", 1, 23) => &["-1", "0", "1", "2", "3", "5"],
        ("array_fill", 1 | 2, 1007) => &[
            "{}",
            "{2}",
            "{2,3}",
            "{0}",
            "{-1}",
            "{1,NULL}",
            "{{1}}",
            "{2147483647}",
            "{100000,100000}",
            "{1,1,1,1,1,1,1}",
            "[5:6]={3,2}",
        ],
        ("array_position", 2, 23) => &["-5", "0", "1", "2", "4"],
        ("array_position" | "array_positions" | "array_remove" | "array_replace", 1 | 2, 23) => {
            &["1", "2", "7", "-1"]
        }
        ("array_append", 1, 23) | ("array_prepend", 0, 23) => &["1", "-7"],
        ("array_to_string", 1 | 2, 25) => &["", ",", ", ", "<null>", "äö"],
        ("string_to_array", 0, 25) => &["", "a,b,c", "a,,c,", ",", "xx~^~yy~^~zz", "äbö", "null"],
        ("string_to_array", 1 | 2, 25) => &["", ",", "~^~", "b", "null", "a"],
        _ => return None,
    })
}

/// The types that a polymorphic function is called with, and that of its result.
pub fn instances(catalog: &Catalog, proc: &Proc) -> Option<Vec<(Vec<Oid>, Oid)>> {
    const RECORD: Oid = 2249;
    // Rows have no literals; functions of them have a test of their own.
    if proc.arguments.contains(&RECORD) || onlap_kernels::misc::asks_session(catalog, proc.oid) {
        return Some(Vec::new());
    }
    let name = &*proc.name;
    // How a value of each kind becomes json.
    if name == "to_json" || name == "to_jsonb" {
        let kinds = [
            16, 21, 23, 20, 700, 701, 1700, 25, 1042, 19, 17, 2950, 1082, 1083, 1114, 1184, 1186,
            114, 3802, 1007, 1009, 1231, 869, 1000, 1022,
        ];
        return Some(kinds.into_iter().map(|oid| (vec![oid], proc.result)).collect());
    }
    if name.ends_with("_build_object") && !proc.arguments.is_empty() {
        let args = [
            vec![25, 23],
            vec![23, 1009, 1042, 3802],
            vec![114, 23],
            vec![1007, 16],
            vec![25],
            vec![1184, 1184, 16, 701],
        ];
        return Some(args.into_iter().map(|args| (args, proc.result)).collect());
    }
    if (name.ends_with("_build_array") || name.starts_with("num_n")) && !proc.arguments.is_empty() {
        let args = [vec![25, 23], vec![1009, 114, 3802], vec![1082], vec![701, 1700, 25, 16]];
        return Some(args.into_iter().map(|args| (args, proc.result)).collect());
    }
    None
}
