//! Are values of arrays, json, paths and addresses read and written as PostgreSQL does it, as text and in binary?

use onlap_kernels::{Datum, TypeRef, input, output, recv, send};
use onlap_pg::Oid;
use onlap_testkit::postgres::Postgres;

use crate::oracle::answers;
use crate::ours::Ours;

/// A type, the names of it and of its send function, texts.
type Form = (Oid, &'static str, &'static str, &'static [&'static str]);

const FORMS: &[Form] = &[
    (
        1007,
        "int4[]",
        "array_send",
        &[
            "{}",
            "{1,NULL,3}",
            "[2:3][0:0]={{1},{2}}",
            " { 1 , 2 } ",
            "{{1},{2,3}}",
            "[1:1]={1,2}",
            "{1",
            "{1}x",
        ],
    ),
    (
        1009,
        "text[]",
        "array_send",
        &[
            "{a,\"b c\",\"\",NULL,\"NULL\"}",
            "{\"a\\\"b\",\"c\\\\d\",e\\,f}",
            "{äö, x y }",
            "{a\\ }",
        ],
    ),
    (1231, "numeric[]", "array_send", &["{1.50,NaN,-Infinity}", "{{1},{NULL}}"]),
    (1185, "timestamptz[]", "array_send", &["{\"2024-02-29 12:00:00+01\",infinity}"]),
    (3807, "jsonb[]", "array_send", &["{\"{\\\"a\\\": 1}\",null,\"[1,2]\"}"]),
    (22, "int2vector", "int2vectorsend", &["", "1 2 3", " 4  5 ", "40000", "x"]),
    (30, "oidvector", "oidvectorsend", &["", "1 2 3", "4294967295", "-1"]),
    (
        3904,
        "int4range",
        "range_send",
        &[
            "empty",
            " EMPTY ",
            "emptyx",
            "empty x",
            "",
            " ",
            "[",
            "(",
            "x",
            "[1",
            "[1,",
            "[1,2",
            "[1,2]",
            "(1,2)",
            "[1,2)",
            "(1,2]",
            " [ 1 , 2 ] ",
            "[1,2]x",
            "[1,2] ",
            "[1,2,3]",
            "[1]",
            "[,]",
            "(,)",
            "[,5)",
            "[5,]",
            "[a,2]",
            "[2,1]",
            "(1,1)",
            "[1,1)",
            "[1,1]",
            "(2147483647,]",
            "[1,2147483647]",
            "[\"1\",2]",
            "[\"1\"\"\",2]",
            "[\\1,2]",
            "[1,\\",
            "[\",2]",
            "(1,(2]",
            "[[1,2]",
            "[1,2]]",
            "]1,2[",
            "[99999999999,]",
            "[1,\"\")",
            "empt",
        ],
    ),
    (
        3926,
        "int8range",
        "range_send",
        &["(9223372036854775807,)", "[1,9223372036854775807]", "(-5,7)"],
    ),
    (
        3906,
        "numrange",
        "range_send",
        &[
            "[1.50,2.0]",
            "(1,1]",
            "[1.0,1]",
            "(NaN,)",
            "[NaN,NaN]",
            "[Infinity,NaN)",
            "(,-Infinity)",
            "[1.5,1.4]",
        ],
    ),
    (
        3908,
        "tsrange",
        "range_send",
        &[
            "[2024-02-29 12:00, infinity]",
            "[\"2024-02-29 12:00:00.5\",)",
            "(-infinity,infinity)",
            "[2024-13-01,]",
        ],
    ),
    (3910, "tstzrange", "range_send", &["[2024-02-29 12:00+01,2024-02-29 12:00-01)"]),
    (
        3912,
        "daterange",
        "range_send",
        &[
            "(2024-02-28,2024-03-01]",
            "[infinity,]",
            "(5874897-12-31,)",
            "[,5874897-12-31]",
            "(-infinity,infinity]",
        ],
    ),
    (
        4451,
        "int4multirange",
        "multirange_send",
        &[
            "",
            "{",
            "{}",
            " { } ",
            "{}x",
            "{} ",
            "{,}",
            "{[1,2]}",
            "{[1,2],[3,4]}",
            "{[1,2], empty ,(5,9)}",
            "{empty}",
            "{empty,}",
            "{,empty}",
            "{EMPTY, empty}",
            "{[1,2],}",
            "{[1,2]",
            "{[1,2",
            "{[1,2]]}",
            "{[1,2] [3,4]}",
            "{1}",
            "[1,2]",
            "{[5,6],[1,2],[2,3]}",
            "{[\"1\",2]}",
            "{[\"1\"\"\",2]}",
            "{[\\1,2]}",
            "{[\\ 1,2]}",
            "{[1\\],2]}",
            "{[\"1\\\"\",2]}",
            "{[a,2]}",
            "{[2,1]}",
            "{[1,2]}}",
            "{(,)}",
            "{[,1],[3,]}",
            "{[1,2147483647]}",
            "{emptyx}",
            "{é}",
        ],
    ),
    (
        4532,
        "nummultirange",
        "multirange_send",
        &["{[1.0,2),[2.00,3)}", "{(1,2),(2,3)}", "{[1,2],[1.0,2.0]}", "{[1.00,5],(3,5.0]}"],
    ),
    (4534, "tstzmultirange", "multirange_send", &["{[2024-02-29 12:00,2024-03-01)}"]),
    (
        4535,
        "datemultirange",
        "multirange_send",
        &["{[2024-02-29,2024-02-29],(2024-02-29,2024-03-05)}"],
    ),
    (3905, "int4range[]", "array_send", &["{\"[1,2]\",NULL,empty}", "{[1,2]}"]),
    (
        142,
        "xml",
        "xml_send",
        &[
            "<a b='1'>&lt;<c/></a>",
            "<?xml version=\"1.0\"?>\n<a/>",
            "<?xml version='1.1'?><a/>",
            "",
            "é",
        ],
    ),
    (114, "json", "json_send", &[" {\"b\" : 1, \"a\":[1,2 ]} ", "\"\\u0000\"", "nul", "[1,]"]),
    (
        3802,
        "jsonb",
        "jsonb_send",
        &[
            "{\"bb\":1,\"a\":[true,null,\"\\u00e9\\n\\u0001\\\"\"],\"bb\":2.50}",
            "1e400",
            "-0",
            "1E-5",
            "\"\\ud83d\\ude00\"",
            "\"\\u0000\"",
            "\"\\ud83d\"",
            "{\"\":{\"\":[]}}",
            "[[],{}]",
            "{\"a\":}",
            "1e1000000",
        ],
    ),
    (
        4072,
        "jsonpath",
        "jsonpath_send",
        &[
            "$.a.\"b c\"[*]?(@.x==1&&@.y!=\"q\\\"\"||!(@.z>2.50))",
            "strict $.**{2 to last}.a[0,1 to last-1].type()",
            "(1+2)*3-4/5%6",
            "1+2*3",
            "-(1+2)",
            "-1.5.abs()",
            "(-1.5).abs()",
            "- - 1",
            "$ ? (@ starts with \"a\")",
            "$ ? (@ like_regex \"^a\" flag \"qi\")",
            "$ ? (@ like_regex \"^a\" flag \"z\")",
            "$ ? ((@ == 1) is unknown)",
            "$ ? (exists(@.a))",
            "$x.y",
            "$\"x y\".z",
            "($.a + 1).type()",
            "($.a == 1).type()",
            "$.a + $.b - ($.c - $.d)",
            "$.a == 1",
            "$.**{last}",
            "$.**{1}",
            "$.**{last to 2}",
            "$.\"a\\u0041\\x42\\u{43}\"",
            "$.a\\t",
            "lax 1e3",
            ".5",
            "true",
            "\"x\"",
            "$.a.to.null.is",
            "$.a b",
            "$.a \"b\"",
            "$.a 1",
            "$.a b c",
            "$[1",
            "$.1",
            "@",
            "last",
            "",
            "   ",
            "/* x",
            "$ ? (@.a[last] > 0)",
            "$[last ? (@ > 1)]",
            "$.keyvalue().value",
            "#",
            "$^",
            "1 == 2 || 3 == 4 && 5 == 6",
            "(1 == 2 || 3 == 4) && 5 == 6",
            "!(1 == 2)",
            "!exists($.a)",
            "$.size().abs().floor().ceiling().double()",
        ],
    ),
    (
        869,
        "inet",
        "inet_send",
        &["1.2.3.4", "1.2.3.4/24", "::1", "2001:db8::ffff:0:0/64", "::ffff:1.2.3.4", "1.2.3", "x"],
    ),
    (650, "cidr", "cidr_send", &["10", "10.1/16", "::/0", "2001:db8::/32", "1.2.3.4/24"]),
    (829, "macaddr", "macaddr_send", &["08:00:2b:01:02:03", "0800.2b01.0203", "8:0", "g"]),
    (
        3220,
        "pg_lsn",
        "pg_lsn_send",
        &[
            "0/0",
            "16/b374D848",
            "FFFFFFFF/FFFFFFFF",
            "123456789/0",
            "G/0",
            "-0/12",
            " 0/1",
            "0/1 ",
            "/1",
            "1/",
            "0/ABCDE/0",
            "+1/1",
        ],
    ),
    (774, "macaddr8", "macaddr8_send", &["08:00:2b:01:02:03", "08:00:2b:01:02:03:04:05", "g"]),
];

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// The text and the message of what a text is.
fn ours(all: &Ours, oid: Oid, text: &str) -> [String; 2] {
    let value = match input(&mut all.cx(), TypeRef::new(oid), text) {
        Ok(value) => value,
        Err(e) => {
            let refused = format!("! {} {}", e.state, e.message);
            return [refused.clone(), refused];
        }
    };
    let mut sent = Vec::new();
    send(&mut all.cx(), oid, &value, &mut sent).expect("it is sent");
    let received = recv(&mut all.cx(), TypeRef::new(oid), &sent);
    let received =
        received.unwrap_or_else(|e| panic!("{text} as {}: {e}", String::from_utf8_lossy(&sent)));
    assert_eq!(all.shown(oid, &received), all.shown(oid, &value), "{text}: sent and received");
    [all.shown(oid, &value), hex(&sent)]
}

#[test]
fn values_are_written_as_postgresql_does() {
    let (postgres, all) = (Postgres::start(), Ours::new());
    let (mut queries, mut mine) = (Vec::new(), Vec::new());
    for (oid, name, sender, texts) in FORMS {
        for text in *texts {
            let literal = format!("'{}'::{name}", text.replace('\'', "''"));
            queries.push(format!("select format('%s', {literal})"));
            queries.push(format!("select encode({sender}({literal}), 'hex')"));
            mine.extend(ours(&all, *oid, text));
        }
    }
    for ((query, theirs), mine) in queries.iter().zip(answers(&postgres, &queries)).zip(&mine) {
        assert_eq!(*mine, theirs, "{query}");
    }
}

/// Numbers by chance, from a seed (splitmix64).
struct Draw(u64);

impl Draw {
    fn below(&mut self, bound: usize) -> usize {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        ((z ^ (z >> 31)) % bound as u64) as usize
    }
}

/// A text or message with parts changed, doubled or taken out.
fn damaged(bytes: &[u8], draw: &mut Draw) -> Vec<u8> {
    let mut out = bytes.to_vec();
    for _ in 0..=draw.below(3) {
        let at = draw.below(out.len() + 1);
        match draw.below(4) {
            0 if at < out.len() => out[at] = draw.below(256) as u8,
            1 if at < out.len() => {
                out.remove(at);
            }
            2 => out.insert(at, b"{}[]\",:\\ 019.*$@?()-"[draw.below(20)]),
            _ => out.truncate(at),
        }
    }
    out
}

#[test]
fn no_text_and_no_message_panics() {
    let all = Ours::new();
    let mut draw = Draw(1);
    for (oid, _, _, texts) in FORMS {
        for text in *texts {
            let value = input(&mut all.cx(), TypeRef::new(*oid), text);
            let mut sent = Vec::new();
            if let Ok(value) = &value {
                send(&mut all.cx(), *oid, value, &mut sent).expect("it is sent");
            }
            for _ in 0..300 {
                let text = damaged(text.as_bytes(), &mut draw);
                let text = String::from_utf8_lossy(&text);
                let read = input(&mut all.cx(), TypeRef::new(*oid), &text);
                let received = recv(&mut all.cx(), TypeRef::new(*oid), &damaged(&sent, &mut draw));
                for value in [read, received].into_iter().flatten() {
                    let mut out = String::new();
                    output(&mut all.cx(), *oid, &value, &mut out).expect("it is written");
                    let mut key = Vec::new();
                    onlap_kernels::key_bytes(&all.catalog, *oid, &value, &mut key);
                }
            }
        }
    }
}

#[test]
fn nesting_ends_somewhere() {
    let all = Ours::new();
    for (oid, open, close) in
        [(114, "[", "]"), (3802, "[", "]"), (3802, "{\"a\":", "}"), (4072, "(", ")")]
    {
        let middle = if open.len() > 1 { "1" } else { "" };
        for depth in [100, 1000, 1001, 100_000] {
            let middle = if oid == 4072 { "1" } else { middle };
            let text = [&open.repeat(depth), middle, &close.repeat(depth)].concat();
            match input(&mut all.cx(), TypeRef::new(oid), &text) {
                Ok(value) => {
                    assert!(depth <= 1000, "{oid}: {depth}");
                    all.shown(oid, &value);
                    let mut key = Vec::new();
                    onlap_kernels::key_bytes(&all.catalog, oid, &value, &mut key);
                }
                Err(e) => assert_eq!(e.state, "54001", "{oid}: {depth}"),
            }
        }
    }
    // What functions make of values is limited, too.
    let mut value = input(&mut all.cx(), TypeRef::new(3802), "[]").expect("json");
    let mut depth = 1;
    let refused = loop {
        let Datum::Bytes(bytes) = &value else { unreachable!("it is jsonb") };
        let mut out = onlap_kernels::json::Encoder::new();
        out.begin_array();
        if let Err(e) = out.raw(bytes) {
            break e;
        }
        out.end().expect("it fits");
        value = Datum::bytes(out.finish());
        depth += 1;
    };
    assert_eq!((refused.state, depth), ("54001", 1000));
}
