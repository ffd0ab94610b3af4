//! What do functions of text search give?
//!
//! A tsvector is the words of a document with their places ([`vector`]), a tsquery words that are joined by operators
//! ([`query`]). A configuration ([`config`]) says how a text becomes the one or the other: which words are in it ([`tokens`]),
//! and what each is looked for as ([`english`]). Where none is named, the session says which one counts.
//!
//! Thread safety: pure functions.

mod config;
mod edit;
mod english;
mod make;
mod matches;
pub(crate) mod query;
mod rank;
mod read;
mod spots;
#[cfg(test)]
mod tests;
mod tokens;
pub(crate) mod vector;
pub(crate) mod words;

use onlap_pg::{Error, Oid, Result};

use crate::misc::growth::Growth;
use crate::series::{Rows, SeriesEntry};
use crate::text::compare::{bools, six};
use crate::{
    Bool, Bytes, Char, Cx, Datum, Entry, Float4, Int4, Kernel, OidTy, Text, four, none, one, three,
    two,
};

use make::{Way, query as made_query, vector as made_vector, vector_of_json};
use matches::{Vector, holds};
use query::{Join, Node, Query};

pub use config::{configuration, configuration_name};
pub(crate) use query::recv as recv_query;

/// get_current_ts_config
const CURRENT: Oid = 3759;

/// The configuration that counts where none is named.
fn current(cx: &Cx<'_>) -> Result<Oid> {
    match cx.session.call(CURRENT, &[])? {
        Datum::Oid(oid) => Ok(oid),
        other => unreachable!("{other:?} is what get_current_ts_config gives"),
    }
}

/// Reads the text of a query.
///
/// # Errors
/// `42601`, `22023`, `54000`, `54001`, `53200`, `57014`
pub(crate) fn parse_query(text: &str, cx: &Cx<'_>) -> Result<Vec<u8>> {
    cx.worked(text.len())?;
    read::standard(text, &mut read::as_it_is, cx)
}

/// Writes a query.
pub(crate) fn print_query(bytes: &[u8], out: &mut String) {
    Query::load(bytes).print(out);
}

/// Functions.
pub const ENTRIES: &[&[Entry]] =
    &[OF_VECTORS, OF_QUERIES, OF_TEXTS, MATCHES, RANKS, VECTORS_COMPARED, QUERIES_COMPARED];

const OF_VECTORS: &[Entry] = &[
    ("strip(tsvector)", |_| one::<Bytes, Bytes>(|of, _| edit::strip(of))),
    ("length(tsvector)", |_| one::<Bytes, Int4>(|of, _| Ok(vector::count(of) as i32))),
    ("setweight(tsvector,char)", |_| {
        two::<Bytes, Char, Bytes>(|of, letter, _| edit::set_weight(of, letter, None))
    }),
    ("setweight(tsvector,char,_text)", |_| {
        three::<Bytes, Char, Bytes, Bytes>(|of, letter, words, cx| {
            cx.worked(of.len() + words.len())?;
            edit::set_weight(of, letter, Some(words))
        })
    }),
    ("tsvector_concat(tsvector,tsvector)", |_| {
        two::<Bytes, Bytes, Bytes>(|a, b, cx| {
            cx.room(a.len() + b.len())?;
            edit::concat(a, b)
        })
    }),
    ("ts_delete(tsvector,text)", |_| {
        two::<Bytes, Text, Bytes>(|of, word, _| edit::without(of, word))
    }),
    ("ts_delete(tsvector,_text)", |_| {
        two::<Bytes, Bytes, Bytes>(|of, words, cx| {
            cx.worked(of.len() + words.len())?;
            edit::without_all(of, words)
        })
    }),
    ("ts_filter(tsvector,_char)", |_| {
        two::<Bytes, Bytes, Bytes>(|of, weights, cx| {
            cx.worked(of.len() + weights.len())?;
            edit::filter(of, weights)
        })
    }),
    ("tsvector_to_array(tsvector)", |_| one::<Bytes, Bytes>(|of, _| edit::to_array(of))),
    ("array_to_tsvector(_text)", |_| {
        one::<Bytes, Bytes>(|of, cx| {
            cx.worked(of.len())?;
            edit::of_array(of)
        })
    }),
    ("tsvector_cmp(tsvector,tsvector)", |_| {
        two::<Bytes, Bytes, Int4>(|a, b, _| Ok(vector::compare(a, b)))
    }),
];

const OF_QUERIES: &[Entry] = &[
    ("tsquery_and(tsquery,tsquery)", |_| joins::<0>()),
    ("tsquery_or(tsquery,tsquery)", |_| joins::<1>()),
    ("tsquery_phrase(tsquery,tsquery)", |_| joins::<2>()),
    ("tsquery_phrase(tsquery,tsquery,int4)", |_| {
        three::<Bytes, Bytes, Int4, Bytes>(|a, b, distance, cx| {
            let distance = u64::try_from(distance).ok().filter(|most| *most <= read::FARTHEST);
            joined(a, b, Join::Phrase(distance.ok_or_else(read::too_far)? as u16), cx)
        })
    }),
    ("tsquery_not(tsquery)", |_| {
        one::<Bytes, Bytes>(|of, cx| {
            cx.room(of.len().saturating_mul(16))?;
            let mut nodes = Query::load(of).nodes;
            if !nodes.is_empty() {
                nodes.push(Node::Not);
            }
            query::store(&nodes)
        })
    }),
    ("numnode(tsquery)", |_| one::<Bytes, Int4>(|of, _| Ok(Query::load(of).nodes.len() as i32))),
    ("querytree(tsquery)", |_| {
        one::<Bytes, Text>(|of, _| {
            let query = Query::load(of);
            let mut out = String::new();
            if !query.is_empty() {
                match query.without_nots() {
                    Some(query) => query.print(&mut out),
                    None => out.push('T'),
                }
            }
            Ok(out)
        })
    }),
    ("tsq_mcontains(tsquery,tsquery)", |_| two::<Bytes, Bytes, Bool>(|a, b, _| Ok(contains(a, b)))),
    ("tsq_mcontained(tsquery,tsquery)", |_| {
        two::<Bytes, Bytes, Bool>(|a, b, _| Ok(contains(b, a)))
    }),
    ("tsquery_cmp(tsquery,tsquery)", |_| {
        two::<Bytes, Bytes, Int4>(|a, b, _| Ok(of_query(a).cmp(&of_query(b)) as i32))
    }),
];

const OF_TEXTS: &[Entry] = &[
    ("get_current_ts_config()", |_| none::<OidTy>(|cx| current(cx))),
    ("to_tsvector(regconfig,text)", |_| {
        two::<OidTy, Text, Bytes>(|config, text, cx| made_vector(config, text, cx))
    }),
    ("to_tsvector(text)", |_| one::<Text, Bytes>(|text, cx| made_vector(current(cx)?, text, cx))),
    ("to_tsvector(regconfig,jsonb)", |_| {
        two::<OidTy, Bytes, Bytes>(|config, document, cx| vector_of_json(config, document, cx))
    }),
    ("to_tsvector(jsonb)", |_| {
        one::<Bytes, Bytes>(|document, cx| vector_of_json(current(cx)?, document, cx))
    }),
    ("to_tsquery(regconfig,text)", |_| named::<0>()),
    ("to_tsquery(text)", |_| unnamed::<0>()),
    ("plainto_tsquery(regconfig,text)", |_| named::<1>()),
    ("plainto_tsquery(text)", |_| unnamed::<1>()),
    ("phraseto_tsquery(regconfig,text)", |_| named::<2>()),
    ("phraseto_tsquery(text)", |_| unnamed::<2>()),
    ("websearch_to_tsquery(regconfig,text)", |_| named::<3>()),
    ("websearch_to_tsquery(text)", |_| unnamed::<3>()),
];

const WAYS: [Way; 4] = [Way::Standard, Way::All, Way::Phrase, Way::Typed];

fn named<const WAY: usize>() -> Box<dyn Kernel> {
    two::<OidTy, Text, Bytes>(|config, text, cx| made_query(config, text, WAYS[WAY], cx))
}

fn unnamed<const WAY: usize>() -> Box<dyn Kernel> {
    one::<Text, Bytes>(|text, cx| made_query(current(cx)?, text, WAYS[WAY], cx))
}

const MATCHES: &[Entry] = &[
    ("ts_match_vq(tsvector,tsquery)", |_| {
        two::<Bytes, Bytes, Bool>(|vector, query, cx| meets(vector, query, cx))
    }),
    ("ts_match_qv(tsquery,tsvector)", |_| {
        two::<Bytes, Bytes, Bool>(|query, vector, cx| meets(vector, query, cx))
    }),
    ("ts_match_tt(text,text)", |_| {
        two::<Text, Text, Bool>(|text, words, cx| {
            let config = current(cx)?;
            let vector = made_vector(config, text, cx)?;
            meets(&vector, &made_query(config, words, Way::All, cx)?, cx)
        })
    }),
    ("ts_match_tq(text,tsquery)", |_| {
        two::<Text, Bytes, Bool>(|text, query, cx| {
            meets(&made_vector(current(cx)?, text, cx)?, query, cx)
        })
    }),
];

const RANKS: &[Entry] = &[
    ("ts_rank(tsvector,tsquery)", |_| {
        two::<Bytes, Bytes, Float4>(|v, q, cx| rank::rank(&rank::WEIGHTS, v, q, 0, cx))
    }),
    ("ts_rank(tsvector,tsquery,int4)", |_| {
        three::<Bytes, Bytes, Int4, Float4>(|v, q, method, cx| {
            rank::rank(&rank::WEIGHTS, v, q, method, cx)
        })
    }),
    ("ts_rank(_float4,tsvector,tsquery)", |_| {
        three::<Bytes, Bytes, Bytes, Float4>(|w, v, q, cx| {
            rank::rank(&rank::weights(w)?, v, q, 0, cx)
        })
    }),
    ("ts_rank(_float4,tsvector,tsquery,int4)", |_| {
        four::<Bytes, Bytes, Bytes, Int4, Float4>(|w, v, q, method, cx| {
            rank::rank(&rank::weights(w)?, v, q, method, cx)
        })
    }),
    ("ts_rank_cd(tsvector,tsquery)", |_| {
        two::<Bytes, Bytes, Float4>(|v, q, cx| rank::cover_density(&rank::WEIGHTS, v, q, 0, cx))
    }),
    ("ts_rank_cd(tsvector,tsquery,int4)", |_| {
        three::<Bytes, Bytes, Int4, Float4>(|v, q, method, cx| {
            rank::cover_density(&rank::WEIGHTS, v, q, method, cx)
        })
    }),
    ("ts_rank_cd(_float4,tsvector,tsquery)", |_| {
        three::<Bytes, Bytes, Bytes, Float4>(|w, v, q, cx| {
            rank::cover_density(&rank::weights(w)?, v, q, 0, cx)
        })
    }),
    ("ts_rank_cd(_float4,tsvector,tsquery,int4)", |_| {
        four::<Bytes, Bytes, Bytes, Int4, Float4>(|w, v, q, method, cx| {
            rank::cover_density(&rank::weights(w)?, v, q, method, cx)
        })
    }),
];

const VECTORS_COMPARED: &[Entry] = six!(Bytes, Bytes, of_vector; "tsvector_eq(tsvector,tsvector)"
        "tsvector_ne(tsvector,tsvector)" "tsvector_lt(tsvector,tsvector)"
        "tsvector_le(tsvector,tsvector)" "tsvector_gt(tsvector,tsvector)"
        "tsvector_ge(tsvector,tsvector)");

const QUERIES_COMPARED: &[Entry] = six!(Bytes, Bytes, of_query; "tsquery_eq(tsquery,tsquery)"
        "tsquery_ne(tsquery,tsquery)" "tsquery_lt(tsquery,tsquery)" "tsquery_le(tsquery,tsquery)"
        "tsquery_gt(tsquery,tsquery)" "tsquery_ge(tsquery,tsquery)");

/// Functions that give sets.
pub const SERIES: &[SeriesEntry] = &[
    ("unnest(tsvector)", |_| Box::new(edit::rows)),
    ("ts_parse(text,text)", |_| Box::new(parsed)),
    ("ts_parse(oid,text)", |_| Box::new(parsed)),
];

/// The parser "default".
const PARSER: Oid = 3722;

/// ts_parse
fn parsed(args: &[Datum<'_>], cx: &mut Cx<'_>) -> Result<Rows> {
    cx.worked(args.iter().map(Datum::size).sum())?;
    let Datum::Text(text) = &args[1] else { return Ok(Box::new(std::iter::empty())) };
    match &args[0] {
        Datum::Oid(PARSER) => {}
        Datum::Text(name) if matches!(&**name, "default" | "pg_catalog.default") => {}
        Datum::Oid(oid) => {
            let text = format!("cache lookup failed for text search parser {oid}");
            return Err(Error::internal(text));
        }
        Datum::Text(name) => {
            let text = format!("text search parser \"{name}\" does not exist");
            return Err(Error::new("42704", text));
        }
        _ => return Ok(Box::new(std::iter::empty())),
    }
    cx.room(text.len().saturating_mul(64))?;
    let mut tokens = tokens::Tokens::new(text);
    let mut all = Vec::new();
    while let Some((kind, begin, end)) = tokens.next()? {
        all.push(vec![Datum::Int4(kind as i32), Datum::text(&text[begin..end])]);
    }
    Ok(Box::new(all.into_iter().map(Ok)))
}

/// Bytes that sort as values do.
fn of_vector(bytes: &[u8]) -> Vec<u8> {
    let mut out = Vec::new();
    vector::key(bytes, &mut out);
    out
}

fn of_query(bytes: &[u8]) -> Vec<u8> {
    let mut out = Vec::new();
    query::key(bytes, &mut out);
    out
}

fn meets(vector: &[u8], query: &[u8], cx: &Cx<'_>) -> Result<bool> {
    cx.worked(vector.len())?;
    let entries = vector::entries(vector);
    holds(&Query::load(query), &Vector(&entries), &mut Growth::new(), cx)
}

fn joins<const JOIN: usize>() -> Box<dyn Kernel> {
    two::<Bytes, Bytes, Bytes>(|a, b, cx| {
        joined(a, b, [Join::And, Join::Or, Join::Phrase(1)][JOIN], cx)
    })
}

/// Two queries as one; the empty one changes nothing.
fn joined(a: &[u8], b: &[u8], join: Join, cx: &Cx<'_>) -> Result<Vec<u8>> {
    cx.room((a.len() + b.len()).saturating_mul(16))?;
    let (left, right) = (Query::load(a), Query::load(b));
    if left.is_empty() {
        return Ok(b.to_vec());
    }
    if right.is_empty() {
        return Ok(a.to_vec());
    }
    let mut nodes = left.nodes;
    nodes.extend(right.nodes);
    nodes.push(Node::Two(join));
    query::store(&nodes)
}

/// Whether all words of a query are in another.
fn contains(whole: &[u8], part: &[u8]) -> bool {
    let (whole, part) = (Query::load(whole), Query::load(part));
    let known: std::collections::HashSet<&str> =
        whole.words().map(|(_, word)| &*word.text).collect();
    part.words().all(|(_, word)| known.contains(&*word.text))
}
