//! Which words are the grammar's own?
//!
//! Thread safety: pure functions.

use onlap_pg::Result;
use onlap_pg::grammar::{Class, Keyword};

use crate::series::{Rows, SeriesEntry};
use crate::{Cx, Datum};

/// Functions that give sets.
pub(super) const SERIES: &[SeriesEntry] = &[("pg_get_keywords()", |_| {
    Box::new(|_: &[Datum<'_>], _: &mut Cx<'_>| -> Result<Rows> {
        Ok(Box::new(Keyword::ALL.iter().map(|word| Ok(row(*word)))))
    })
})];

fn row(word: Keyword) -> Vec<Datum<'static>> {
    let (code, may) = match word.class() {
        Class::Free => (b'U', "unreserved"),
        Class::Column => (b'C', "unreserved (cannot be function or type name)"),
        Class::Call => (b'T', "reserved (can be function or type name)"),
        Class::Reserved => (b'R', "reserved"),
    };
    let bare = word.is_bare_label();
    vec![
        Datum::text(word.word()),
        Datum::Char(code),
        Datum::Bool(bare),
        Datum::text(may),
        Datum::text(if bare { "can be bare label" } else { "requires AS" }),
    ]
}
