//! What do the literals of a text mean that is kept?
//!
//! What they mean to the session that writes the text: dates, times and intervals are read by its settings and by its clock once,
//! and are kept as every session reads them. As in PostgreSQL, which keeps their values. Thread safety: pure functions.

use std::collections::BTreeMap;

use onlap_pg::TypeRef;
use onlap_pg::ast::Span;
use onlap_pg::bound::Bound;
use onlap_pg::catalog::Catalog;
use onlap_pg::grammar::{Kind, Tokens};

use crate::query::Reader;
use crate::types::{PgType, oid};
use crate::view::View;

/// What stands in a text in the place of what: two bytes of it, and the new text between them.
pub type Edit = (usize, usize, String);

/// A part of a text with edits, of which those elsewhere do not count. No two overlap.
pub fn edited(text: &str, span: Span, mut edits: Vec<Edit>) -> String {
    let (mut at, end) = (span.start as usize, span.end as usize);
    edits.sort_by_key(|edit| edit.0);
    let mut made = String::with_capacity(end - at);
    for (from, to, new) in edits {
        if from < at || to > end {
            continue;
        }
        made.push_str(&text[at..from]);
        made.push_str(&new);
        at = to;
    }
    made.push_str(&text[at..end]);
    made
}

/// Types that settings or the clock say the texts of.
const READ_BY_SETTINGS: [u32; 12] = [
    oid::DATE,
    oid::TIME,
    oid::TIMETZ,
    oid::TIMESTAMP,
    oid::TIMESTAMPTZ,
    oid::INTERVAL,
    // Ranges and multiranges of them.
    3908,
    3910,
    3912,
    4533,
    4534,
    4535,
];

/// Whether settings or the clock say what a text of a type means.
pub fn depends(catalog: &Catalog, ty: u32) -> bool {
    let base = catalog.base_type(ty);
    let of = catalog.element(base).map_or(base, |element| catalog.base_type(element));
    READ_BY_SETTINGS.contains(&of)
}

/// The literals of a bound text that have to be written otherwise; the text is the one that the places are of.
pub fn literals(view: &View, bound: &Bound, text: &str) -> Vec<Edit> {
    let catalog = view.objects.made_types().catalog();
    // A literal may have been looked at as one of several types.
    let mut found: BTreeMap<u32, (TypeRef, bool)> = BTreeMap::new();
    let known = bound.texts().filter(|(ty, ..)| ty.oid != oid::UNKNOWN);
    for (ty, said, place) in known.filter_map(|(ty, said, place)| Some((ty, said, place?))) {
        let of_one = found.entry(place).or_insert((ty, true));
        of_one.1 &= of_one.0 == ty && !said.is_empty();
    }
    let mut made = Vec::new();
    if found.values().all(|(ty, _)| !depends(catalog, ty.oid)) {
        return made;
    }
    let tokens = Tokens::of(text);
    let reader = Reader::new(view);
    for (place, (ty, _)) in
        found.into_iter().filter(|(_, (ty, one))| *one && depends(catalog, ty.oid))
    {
        let at = tokens.all.partition_point(|token| token.start < place);
        let Some(token) = tokens.all.get(at).filter(|token| token.kind == Kind::Text) else {
            continue;
        };
        let said = tokens.value(*token);
        let ty = PgType { oid: catalog.base_type(ty.oid), modifier: ty.modifier };
        if let Ok(fixed) = reader.fixed_text(ty, said)
            && fixed != said
        {
            made.push((
                token.start as usize,
                token.end as usize,
                format!("'{}'", fixed.replace('\'', "''")),
            ));
        }
    }
    made
}
