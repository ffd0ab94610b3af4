//! What do functions of pg_trgm give?
//!
//! Two texts are as similar as many of their trigrams are the same ([`crate::gin`] says which a text has). The similarity of a text
//! with a part of another one is the greatest that it has with trigrams of the other that follow each other; in the strict
//! form these are whole words.

use onlap_pg::value::float;
use onlap_pg::{Error, Oid, Result};

use crate::array::Builder;
use crate::gin::Similarity;
use crate::gin::trigrams::{Trigram, ascending, in_order, of, share};
use crate::{Bool, Bytes, Cx, Datum, Entry, Float4, Kernel, Repr, Text, none, one, two};

use Similarity::{StrictWord, Whole, Word};

/// Functions.
pub const ENTRIES: &[Entry] = &[
    ("set_limit(float4)", |_| one::<Float4, Float4>(set_limit)),
    ("show_limit()", |_| none::<Float4>(|cx| Ok(threshold(Whole, cx)? as f32))),
    ("show_trgm(text)", |_| one::<Text, Bytes>(|text, cx| shown(text, cx))),
    ("similarity(text,text)", |_| two::<Text, Text, Float4>(|a, b, cx| whole(a, b, cx))),
    ("similarity_dist(text,text)", |_| {
        two::<Text, Text, Float4>(|a, b, cx| Ok(distance(whole(a, b, cx)?)))
    }),
    ("similarity_op(text,text)", |_| {
        two::<Text, Text, Bool>(|a, b, cx| reaches(whole(a, b, cx)?, Whole, cx))
    }),
    ("word_similarity(text,text)", |_| words::<false>(false)),
    ("word_similarity_op(text,text)", |_| tests::<false, false>()),
    ("word_similarity_commutator_op(text,text)", |_| tests::<false, true>()),
    ("word_similarity_dist_op(text,text)", |_| words::<false>(true)),
    ("word_similarity_dist_commutator_op(text,text)", |_| turned::<false>()),
    ("strict_word_similarity(text,text)", |_| words::<true>(false)),
    ("strict_word_similarity_op(text,text)", |_| tests::<true, false>()),
    ("strict_word_similarity_commutator_op(text,text)", |_| tests::<true, true>()),
    ("strict_word_similarity_dist_op(text,text)", |_| words::<true>(true)),
    ("strict_word_similarity_dist_commutator_op(text,text)", |_| turned::<true>()),
];

/// current_setting(text, bool)
const CURRENT_SETTING: Oid = 3294;
/// set_config
const SET_CONFIG: Oid = 2078;

fn setting(of: Similarity) -> &'static str {
    match of {
        Whole => "pg_trgm.similarity_threshold",
        Word => "pg_trgm.word_similarity_threshold",
        StrictWord => "pg_trgm.strict_word_similarity_threshold",
    }
}

/// From which similarity on operators are true.
///
/// # Errors
/// Those of the session.
pub(crate) fn threshold(of: Similarity, cx: &Cx<'_>) -> Result<f64> {
    let asked = [Datum::text(setting(of)), Datum::Bool(true)];
    let Datum::Text(text) = cx.session.call(CURRENT_SETTING, &asked)? else {
        return Err(Error::defect(format!("{} has no value", setting(of))));
    };
    float::parse8(&text)
}

fn reaches(similarity: f32, of: Similarity, cx: &Cx<'_>) -> Result<bool> {
    Ok(f64::from(similarity) >= threshold(of, cx)?)
}

fn set_limit(limit: f32, cx: &mut Cx<'_>) -> Result<f32> {
    let text = float::print4(limit, 1);
    let asked = [Datum::text(setting(Whole)), Datum::text(text), Datum::Bool(false)];
    cx.session.call(SET_CONFIG, &asked)?;
    Ok(limit)
}

fn shown(text: &str, cx: &Cx<'_>) -> Result<Vec<u8>> {
    cx.room(text.len().saturating_mul(10))?;
    let mut out = Builder::new(Repr::Text);
    for trigram in of(text)? {
        cx.worked(1)?;
        out.push(&Datum::text(String::from_utf8_lossy(&trigram)))?;
    }
    Ok(out.finish())
}

/// As PostgreSQL has it, which subtracts as float8.
fn distance(similarity: f32) -> f32 {
    (1.0 - f64::from(similarity)) as f32
}

/// The similarity of two texts.
fn whole(a: &str, b: &str, cx: &Cx<'_>) -> Result<f32> {
    cx.room(a.len().saturating_add(b.len()).saturating_mul(6))?;
    let (a, b) = (of(a)?, of(b)?);
    if a.is_empty() || b.is_empty() {
        return Ok(0.0);
    }
    let (mut left, mut right, mut common) = (0, 0, 0);
    while let (Some(x), Some(y)) = (a.get(left), b.get(right)) {
        cx.worked(1)?;
        common += usize::from(x == y);
        let (next_left, next_right) = (x <= y, y <= x);
        left += usize::from(next_left);
        right += usize::from(next_right);
    }
    Ok(share(common, a.len(), b.len()))
}

/// A kernel of the similarity of the first text with a part of the second, or of their distance.
fn words<const STRICT: bool>(far: bool) -> Box<dyn Kernel> {
    match far {
        false => two::<Text, Text, Float4>(|a, b, cx| part(a, b, STRICT, cx)),
        true => two::<Text, Text, Float4>(|a, b, cx| Ok(distance(part(a, b, STRICT, cx)?))),
    }
}

/// A kernel of the distance of a part of the first text from the second.
fn turned<const STRICT: bool>() -> Box<dyn Kernel> {
    two::<Text, Text, Float4>(|a, b, cx| Ok(distance(part(b, a, STRICT, cx)?)))
}

/// A kernel of whether a similarity reaches its threshold; `TURNED` where the part is one of the first text.
fn tests<const STRICT: bool, const TURNED: bool>() -> Box<dyn Kernel> {
    two::<Text, Text, Bool>(|a, b, cx| {
        let (of, within) = if TURNED { (b, a) } else { (a, b) };
        reaches(part(of, within, STRICT, cx)?, if STRICT { StrictWord } else { Word }, cx)
    })
}

/// Trigrams of two texts, told apart by numbers.
struct Numbered {
    /// Those of the text in which a part is looked for, in the order of their places.
    within: Vec<usize>,
    /// By number, whether the other text has it.
    wanted: Vec<bool>,
    /// How many the other text has.
    count: usize,
}

impl Numbered {
    fn new(of: &[Trigram], within: &[Trigram], cx: &Cx<'_>) -> Result<Numbered> {
        let all = ascending(of.iter().chain(within));
        let number = |trigram: &Trigram| -> Result<usize> {
            cx.worked(16)?;
            Ok(all.binary_search(trigram).expect("it is one of all trigrams"))
        };
        let mut wanted = vec![false; all.len()];
        for trigram in of {
            wanted[number(trigram)?] = true;
        }
        let count = wanted.iter().filter(|wanted| **wanted).count();
        let within = within.iter().map(number).collect::<Result<_>>()?;
        Ok(Numbered { within, wanted, count })
    }
}

/// The similarity of a text with a part of another one.
fn part(of: &str, within: &str, strict: bool, cx: &Cx<'_>) -> Result<f32> {
    cx.room(of.len().saturating_add(within.len()).saturating_mul(24))?;
    let (own, _) = in_order(of)?;
    let (theirs, begins) = in_order(within)?;
    let bounds = strict.then(|| Bounds::new(&begins, theirs.len()));
    let mut search = Search::new(Numbered::new(&own, &theirs, cx)?, bounds);
    for at in 0..theirs.len() {
        cx.worked(1)?;
        search.step(at, cx)?;
    }
    Ok(search.best)
}

/// Where words begin and end.
struct Bounds {
    first: Vec<bool>,
    last: Vec<bool>,
}

impl Bounds {
    fn new(begins: &[usize], count: usize) -> Bounds {
        let (mut first, mut last) = (vec![false; count], vec![false; count]);
        for (word, begin) in begins.iter().enumerate() {
            first[*begin] = true;
            last[begins.get(word + 1).copied().unwrap_or(count) - 1] = true;
        }
        Bounds { first, last }
    }
}

/// A part that grows on its right side, and is cut on its left side where that makes it more similar.
struct Search {
    of: Numbered,
    bounds: Option<Bounds>,
    /// By number, the last place in the part.
    last: Vec<Option<usize>>,
    /// Where the part begins, once there is one.
    lower: Option<usize>,
    /// Different trigrams of the part.
    different: usize,
    /// How many of these are wanted.
    common: usize,
    best: f32,
}

impl Search {
    fn new(of: Numbered, bounds: Option<Bounds>) -> Search {
        let last = vec![None; of.wanted.len()];
        // Words count whole, from the first on; else what comes before the first that is wanted is no part.
        let lower = bounds.is_some().then_some(0);
        Search { of, bounds, last, lower, different: 0, common: 0, best: 0.0 }
    }

    fn step(&mut self, at: usize, cx: &Cx<'_>) -> Result<()> {
        let number = self.of.within[at];
        let wanted = self.of.wanted[number];
        if self.lower.is_some() || wanted {
            if self.last[number].is_none() {
                self.different += 1;
                self.common += usize::from(wanted);
            }
            self.last[number] = Some(at);
        }
        let may_end = self.bounds.as_ref().map_or(wanted, |bounds| bounds.last[at]);
        if !may_end {
            return Ok(());
        }
        let lower = *self.lower.get_or_insert_with(|| {
            self.different = 1;
            at
        });
        self.cut(lower, at, cx)
    }

    /// Finds the begin with which the part up to a place is most similar.
    fn cut(&mut self, before: usize, upper: usize, cx: &Cx<'_>) -> Result<()> {
        let count = self.of.count;
        let mut now = share(self.common, count, self.different);
        let (mut common, mut different) = (self.common, self.different);
        let mut lower = before;
        for at in before..=upper {
            cx.worked(1)?;
            if self.bounds.as_ref().is_none_or(|bounds| bounds.first[at]) {
                let tried = share(common, count, different);
                if tried > now {
                    (now, lower) = (tried, at);
                    (self.common, self.different) = (common, different);
                }
            }
            let number = self.of.within[at];
            if self.last[number] == Some(at) {
                different -= 1;
                common -= usize::from(self.of.wanted[number]);
            }
        }
        self.best = self.best.max(now);
        self.lower = Some(lower);
        for at in before..lower {
            cx.worked(1)?;
            let number = self.of.within[at];
            if self.last[number] == Some(at) {
                self.last[number] = None;
            }
        }
        Ok(())
    }
}
