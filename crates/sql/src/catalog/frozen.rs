//! What do the literals of a text mean that is kept?
//!
//! What they mean to the session that writes the text: dates, times and intervals are read by its settings and by its clock once,
//! and are kept as every session reads them. As in PostgreSQL, which keeps their values. Thread safety: pure functions.

use std::collections::BTreeMap;

use onlap_pg::TypeRef;
use onlap_pg::ast::Span;
use onlap_pg::bound::Bound;
use onlap_pg::catalog::Catalog;
use onlap_pg::grammar::{Kind, Token, Tokens};

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
    // By place: what a literal says, and the type that it is read as; none where it was looked at as one of several.
    let mut found: BTreeMap<u32, (&str, Option<TypeRef>)> = BTreeMap::new();
    let mut is_any = false;
    for (ty, said, place) in bound.texts().filter(|(ty, ..)| ty.oid != oid::UNKNOWN) {
        let Some(place) = place else { continue };
        let known = found.entry(place).or_insert((said, Some(ty)));
        known.1 = known.1.filter(|known| *known == ty);
        is_any |= depends(catalog, ty.oid);
    }
    let mut made = Vec::new();
    if !is_any {
        return made;
    }
    let tokens = Tokens::of(text);
    let reader = Reader::new(view);
    for (place, (said, ty)) in found {
        let Some(ty) = ty.filter(|ty| depends(catalog, ty.oid)) else { continue };
        let at = tokens.all.partition_point(|token| token.start < place);
        // Policies and views that the text reads have places of their own texts.
        let is_it = |token: &&Token| token.kind == Kind::Text && tokens.value(**token) == said;
        let Some(token) = tokens.all.get(at).filter(is_it) else { continue };
        let ty = PgType { oid: catalog.base_type(ty.oid), modifier: ty.modifier };
        if let Ok(fixed) = reader.fixed_text(ty, said)
            && fixed != said
        {
            let written = format!("'{}'", fixed.replace('\'', "''"));
            made.push((token.start as usize, token.end as usize, written));
        }
    }
    made
}
