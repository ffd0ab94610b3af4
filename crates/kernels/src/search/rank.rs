//! How well does a document meet a query?
//!
//! ts_rank sums what each word of the query weighs, or for AND and PHRASE how near words are to each other; ts_rank_cd looks for
//! covers ([`super::spots`]): the shortest stretches of the document of which the query is true. Calculated in the widths that
//! PostgreSQL calculates in, so that results are equal in each bit. Thread safety: pure functions.

use onlap_base::limits;
use onlap_pg::{Error, Result};

use super::matches::meant;
use super::query::{self, Join, Node, Query, Word};
use super::spots::{Meaning, Spot, Stretch, cover, spots};
use super::vector::{self, Entry, LAST, entries, position, weight};
use crate::array::Array;
use crate::misc::growth::Growth;
use crate::{Cx, Datum, Repr};

/// Of D, C, B and A.
pub(super) type Weights = [f32; 4];
pub(super) const WEIGHTS: Weights = [0.1, 0.2, 0.4, 1.0];

/// Bits of a method: by what the result is divided.
const LOG_LENGTH: i32 = 1;
const LENGTH: i32 = 2;
const DISTANCE: i32 = 4;
const WORDS: i32 = 8;
const LOG_WORDS: i32 = 16;
const ITSELF: i32 = 32;

/// The weights of an array; a negative one is the usual one.
///
/// # Errors
/// `2202E`, `22004`, `22023`
pub(super) fn weights(array: &[u8]) -> Result<Weights> {
    let array = Array::load(array, Repr::Float4);
    if array.ndims() != 1 {
        return Err(Error::new("2202E", "array of weight must be one-dimensional"));
    }
    if array.len() < WEIGHTS.len() {
        return Err(Error::new("2202E", "array of weight is too short"));
    }
    if array.has_nulls() {
        return Err(Error::new("22004", "array of weight must not contain nulls"));
    }
    let mut weights = WEIGHTS;
    for (weight, value) in weights.iter_mut().zip(array.iter()) {
        let Datum::Float4(value) = value else { unreachable!("it has no NULL") };
        *weight = if value >= 0.0 { value } else { *weight };
        if *weight > 1.0 {
            return Err(Error::new("22023", "weight out of range"));
        }
    }
    Ok(weights)
}

/// The words of a query by their texts, each once.
fn sorted<'q, 'a>(query: &'q Query<'a>) -> Vec<&'q Word<'a>> {
    let mut words: Vec<&Word<'_>> = query.words().map(|(_, word)| word).collect();
    words.sort_by(|a, b| a.text.cmp(&b.text));
    words.dedup_by(|a, b| a.text == b.text);
    words
}

/// The places of a document, words without any counted once.
fn length(entries: &[Entry<'_>]) -> usize {
    entries.iter().map(|entry| entry.len().max(1)).sum()
}

/// Asks for what the words of a document and the nodes of a query take.
fn read_room(vector: &[u8], query: &[u8], cx: &Cx<'_>) -> Result<()> {
    let words = vector::count(vector) as usize * size_of::<Entry<'_>>();
    // The nodes, where their left sides end, the list of open ones; words by their texts, and of each the last it means.
    let of_node = size_of::<Node<'_>>() + 3 * size_of::<usize>() + size_of::<Entry<'_>>();
    let nodes = query::count(query) as usize * of_node;
    Growth::new().memory(cx, words + nodes)?;
    cx.worked(vector.len() + query.len())
}

/// ts_rank
///
/// # Errors
/// `53200`, `57014`
pub(super) fn rank(
    weights: &Weights,
    vector: &[u8],
    query: &[u8],
    method: i32,
    cx: &Cx<'_>,
) -> Result<f32> {
    read_room(vector, query, cx)?;
    let (entries, query) = (entries(vector), Query::load(query));
    let Some(top) = query.top().filter(|_| !entries.is_empty()) else { return Ok(0.0) };
    let is_near = matches!(&query.nodes[top], Node::Two(Join::And | Join::Phrase(_)));
    let words = sorted(&query);
    let mut result = match is_near && words.len() > 1 {
        true => near(weights, &entries, &words, cx)?,
        false => any(weights, &entries, &words, cx)?,
    };
    if result < 0.0 {
        result = 1e-20;
    }
    let count = entries.len();
    let by_log = |result: f32, count: usize| {
        (f64::from(result) / (((count + 1) as f64).ln() / 2_f64.ln())) as f32
    };
    if method & LOG_LENGTH != 0 {
        result = by_log(result, length(&entries));
    }
    if method & LENGTH != 0 {
        result /= length(&entries) as f32;
    }
    if method & WORDS != 0 {
        result /= count as f32;
    }
    if method & LOG_WORDS != 0 {
        result = by_log(result, count);
    }
    if method & ITSELF != 0 {
        result /= result + 1.0;
    }
    Ok(result)
}

/// What each word that is there weighs.
fn any(weights: &Weights, entries: &[Entry<'_>], words: &[&Word<'_>], cx: &Cx<'_>) -> Result<f32> {
    let mut result = 0_f32;
    for word in words {
        cx.worked(word.text.len())?;
        for entry in meant(entries, word) {
            cx.worked(entry.len().max(1))?;
            let (mut sum, mut most, mut at_most) = (0_f32, -1_f32, 0);
            for (at, place) in places(entry, 0).enumerate() {
                let own = weights[usize::from(weight(place))];
                sum += own / ((at + 1) * (at + 1)) as f32;
                if own > most {
                    (most, at_most) = (own, at);
                }
            }
            let of_word = most + sum - most / ((at_most + 1) * (at_most + 1)) as f32;
            // The sum of 1 / n² of all n.
            result = (f64::from(result) + f64::from(of_word) / 1.644_934_066_85) as f32;
        }
    }
    Ok(match words.len() {
        0 => result,
        count => result / count as f32,
    })
}

/// The places of a word; one without any has this one.
fn places<'a>(entry: &Entry<'a>, otherwise: u16) -> impl Iterator<Item = u16> + use<'a> {
    entry.places().chain((!entry.has_places()).then_some(otherwise))
}

/// How near words are to each other; negative if there are no two.
fn near(weights: &Weights, entries: &[Entry<'_>], words: &[&Word<'_>], cx: &Cx<'_>) -> Result<f32> {
    let mut result = -1_f32;
    // Of each word so far that means any the last of these. A word without places is at the end.
    let mut known: Vec<Entry<'_>> = Vec::new();
    for word in words {
        cx.worked(word.text.len())?;
        let mut own = None;
        for entry in meant(entries, word) {
            for other_entry in &known {
                cx.worked(entry.len().max(1) * other_entry.len().max(1))?;
                let have_places = entry.has_places() && other_entry.has_places();
                for place in places(entry, LAST) {
                    for other in places(other_entry, LAST) {
                        let distance = position(place).abs_diff(position(other));
                        if distance == 0 && have_places {
                            continue;
                        }
                        let distance = if distance == 0 { LAST + 1 } else { distance };
                        let of = |place: u16| weights[usize::from(weight(place))];
                        let product = of(place) * of(other) * nearness(distance);
                        let step = f64::from(product).sqrt() as f32;
                        result = match result < 0.0 {
                            true => step,
                            false => {
                                (1.0 - (1.0 - f64::from(result)) * (1.0 - f64::from(step))) as f32
                            }
                        };
                    }
                }
            }
            own = Some(*entry);
        }
        known.extend(own);
    }
    Ok(result)
}

/// What a distance weighs.
fn nearness(distance: u16) -> f32 {
    if distance > 100 {
        return 1e-30;
    }
    let power = (f64::from(f32::from(distance)) / 1.5 - 2.0).exp();
    (1.0 / (1.005 + 0.05 * power)) as f32
}

/// ts_rank_cd
///
/// # Errors
/// `54000`, `53200`, `57014`
pub(super) fn cover_density(
    weights: &Weights,
    vector: &[u8],
    query: &[u8],
    method: i32,
    cx: &Cx<'_>,
) -> Result<f32> {
    if query::count(query) as usize > limits::RANKED_NODES {
        return Err(Error::new("54000", "invalid memory alloc request size"));
    }
    read_room(vector, query, cx)?;
    let (entries, query) = (entries(vector), Query::load(query));
    let meaning = Meaning::new(&entries, &query, cx)?;
    let spots = spots(&entries, &meaning, cx)?;
    if spots.is_empty() {
        return Ok(0.0);
    }
    let costs = weights.map(|weight| 1.0 / f64::from(weight));
    let (mut result, mut distances, mut before) = (0_f64, 0_f64, 0_f64);
    let (mut count, mut from) = (0, 0);
    let mut stretch = Stretch::new(&meaning, &query, cx)?;
    let mut growth = Growth::new();
    while let Some((first, last)) = cover(&spots, &mut from, &query, &mut stretch, &mut growth, cx)?
    {
        let covered = &spots[first..=last];
        cx.worked(covered.len())?;
        let cost = |spot: &Spot| costs[usize::from(weight(spot.place))];
        let sum = covered.iter().fold(0_f64, |sum, spot| sum + cost(spot));
        let own = covered.len() as f64 / sum;
        let at = |spot: usize| i32::from(position(spots[spot].place));
        let between = (last - first) as i32;
        let mut noise = at(last) - at(first) - between;
        if noise < 0 {
            noise = between / 2;
        }
        result += own / f64::from(1 + noise);
        let middle = f64::from(at(last) + at(first)) / 2.0;
        if count > 0 && middle > before {
            distances += 1.0 / (middle - before);
        }
        before = middle;
        count += 1;
    }
    let words = entries.len() as f64;
    if method & LOG_LENGTH != 0 {
        result /= ((length(&entries) + 1) as f64).ln();
    }
    if method & LENGTH != 0 {
        result /= length(&entries) as f64;
    }
    if method & DISTANCE != 0 && count > 0 && distances > 0.0 {
        result /= f64::from(count) / distances;
    }
    if method & WORDS != 0 {
        result /= words;
    }
    if method & LOG_WORDS != 0 {
        result /= (words + 1.0).ln() / 2_f64.ln();
    }
    if method & ITSELF != 0 {
        result /= result + 1.0;
    }
    Ok(result as f32)
}
