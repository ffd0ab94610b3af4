//! Ranges and multiranges for functions of them.

use onlap_pg::Oid;
use onlap_pg::catalog::{Catalog, Proc, oids};

const INTS: &[&str] = &[
    "empty",
    "(,)",
    "[1,5]",
    "[1,5)",
    "(1,5)",
    "[5,9)",
    "[6,9)",
    "(,1)",
    "(,1]",
    "[5,)",
    "[2,3)",
    "[3,3]",
    "[-7,100]",
    "(4,5)",
    "[2147483646,2147483647)",
    "[-2147483648,0)",
];
const NUMERICS: &[&str] = &[
    "empty",
    "(,)",
    "[1,5]",
    "[1.0,5.00)",
    "(1,5)",
    "(1.00,5]",
    "[5,9)",
    "(5,9]",
    "(,1)",
    "(,1.0]",
    "[NaN,NaN]",
    "[1,NaN)",
    "[-Infinity,Infinity]",
    "(Infinity,)",
    "[2.5,2.5]",
    "(0,1e-20)",
];
/// Ranges that are of dates and of timestamps alike, and others.
macro_rules! of_moments {
    ($($other:literal,)*) => {
        &[
            "empty",
            "(,)",
            "[2000-01-01,2000-01-02)",
            "[2000-01-01,2000-01-02]",
            "(2000-01-02,infinity)",
            "[2000-01-02,infinity]",
            "[-infinity,2000-01-01]",
            "[infinity,infinity]",
            $($other,)*
        ]
    };
}

const TIMES: &[&str] = of_moments![
    "(-infinity,2000-01-01)",
    "(infinity,)",
    "(,-infinity]",
    "[1999-12-31 23:59:59.999999,2024-02-29 12:34:56.5]",
];
const DATES: &[&str] = of_moments![
    "(-infinity,1999-12-31)",
    "[2000-01-03,5874897-12-31)",
    "(0044-03-15 BC,2000-01-01)",
];
const INT_LISTS: &[&str] = &[
    "{}",
    "{(,)}",
    "{[1,5]}",
    "{[1,3),[5,9)}",
    "{(,0),[2,4),[7,)}",
    "{[1,2),[3,4),[5,6),[7,8)}",
    "{[2,3),[4,5),[6,7)}",
    "{[6,9)}",
    "{[-7,-1),[100,200)}",
    "{(,-5)}",
    "{[2147483640,)}",
];
const NUMERIC_LISTS: &[&str] = &[
    "{}",
    "{(,)}",
    "{[1,2),(2,3]}",
    "{[1.0,2.00],(3,5)}",
    "{(,0),[2,4),[7,NaN]}",
    "{[0,1),[5,9)}",
    "{[-Infinity,1],[Infinity,Infinity]}",
    "{(1,1.5),(1.5,2)}",
];
const TIME_LISTS: &[&str] = &[
    "{}",
    "{(,)}",
    "{[2000-01-01,2000-01-02),[2000-01-03,infinity)}",
    "{[-infinity,2000-01-01],(2024-02-29,)}",
    "{(2000-01-02,2000-01-03)}",
    "{[infinity,infinity]}",
];

/// The range types that a polymorphic function is called with: element, range, multirange.
const KINDS: [(Oid, Oid, Oid); 4] =
    [(23, 3904, 4451), (1700, 3906, 4532), (1082, 3912, 4535), (1114, 3908, 4533)];

/// The types of functions of any ranges.
pub fn instances(_: &Catalog, proc: &Proc) -> Option<Vec<(Vec<Oid>, Oid)>> {
    let is_any = |oid: &Oid| matches!(*oid, oids::ANYRANGE | oids::ANYMULTIRANGE);
    if !proc.arguments.iter().any(is_any) {
        return None;
    }
    let instance = |(element, range, multirange): (Oid, Oid, Oid)| {
        let own = |oid: Oid| match oid {
            oids::ANYRANGE => range,
            oids::ANYMULTIRANGE => multirange,
            oids::ANYELEMENT => element,
            other => other,
        };
        super::with_types(proc, own)
    };
    Some(KINDS.into_iter().map(instance).collect())
}

/// Texts of values for an argument.
pub fn pool(_: &Catalog, proc: &Proc, at: usize, oid: Oid) -> Option<&'static [&'static str]> {
    Some(match oid {
        25 if at == 2 && proc.name.ends_with("range") => {
            &["[]", "[)", "(]", "()", "", "[", "[ )", ")["]
        }
        3904 | 3926 => INTS,
        3906 => NUMERICS,
        3908 | 3910 => TIMES,
        3912 => DATES,
        4451 | 4536 => INT_LISTS,
        4532 => NUMERIC_LISTS,
        4533..=4535 => TIME_LISTS,
        3905 | 3927 => &[
            "{}",
            "{empty}",
            "{\"[1,2]\",\"[3,5)\",\"[-1,0)\"}",
            "{NULL}",
            "{{\"[1,2]\"}}",
            "{\"(5,9)\",\"(,5]\"}",
        ],
        3907 => &["{}", "{empty,\"[1.0,2)\",\"[1,2.0]\"}", "{\"(2,3)\",\"(1,2)\"}"],
        3909 | 3911 | 3913 => {
            &["{}", "{\"[2000-01-01,2000-01-02]\",\"[2000-01-03,infinity)\"}", "{NULL}"]
        }
        _ => return None,
    })
}
