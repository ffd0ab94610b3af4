//! Which keys does an index of gin have of a value, and which keys does a condition ask for?
//!
//! An operator class ([`Class`]) makes **keys** of a value: byte strings of 1 to 128 bytes, in any order, perhaps several times.
//! A condition with a value that is known is a [`Question`]; what it needs of the keys of a row is a [`Tree`]. The tree is
//! *necessary*: where the condition is true of a value, the tree is met by the value's keys. It need not be sufficient: the plan that
//! finds rows by keys judges the condition itself on them. So a key may be a hash, but a tree may never ask for too much.
//!
//! Conditions are strict, so a NULL has no keys. Keys are kept in files: what is made of a value never changes (tests have
//! the bytes). Knows nothing of indexes and of rows. Thread safety: pure functions.

mod arrays;
pub(crate) mod documents;
mod expressions;
mod lexemes;
mod tree;
pub(crate) mod trigrams;

use md5::{Digest as _, Md5};
use onlap_pg::catalog::Catalog;
use onlap_pg::catalog::oids::{SIMILAR, STRICTLY_WORD_SIMILAR, TRIGRAM_OPS, WORD_SIMILAR};
use onlap_pg::{Oid, Result};

use crate::{Cx, Datum};
pub use tree::Tree;

/// Keys that are longer are hashed.
const KEPT_BYTES: usize = 125;

/// An operator class of gin.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Class {
    /// array_ops
    Arrays,
    /// jsonb_ops
    Documents,
    /// jsonb_path_ops
    Paths,
    /// gin_trgm_ops of pg_trgm
    Trigrams,
    /// tsvector_ops
    Words,
}

/// What a condition asks of a value by another one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Question {
    /// `@>`
    Contains,
    /// `<@`
    IsContained,
    /// `&&`
    Overlaps,
    /// `=`
    Equals,
    /// `?`
    HasKey,
    /// `?|`
    HasAnyKey,
    /// `?&`
    HasAllKeys,
    /// `@?`
    HasPath,
    /// `@@`
    MeetsPath,
    /// `@@` of a tsvector
    Matches,
    /// LIKE; ILIKE asks for no more.
    IsLike,
    /// `~`, where case counts, or `~*`.
    IsDescribed {
        /// Whether letters stand for both cases.
        any_case: bool,
    },
    /// `%`, `%>` and `%>>`: by which kind of similarity.
    IsSimilar(Similarity),
}

/// A kind of similarity of texts; each has its threshold.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Similarity {
    /// Of whole texts.
    Whole,
    /// Of a text with a part of another one.
    Word,
    /// Of a text with words of another one.
    StrictWord,
}

impl Class {
    /// The class of an operator class's OID.
    pub fn of(oid: Oid) -> Option<Class> {
        Some(match oid {
            10064 => Class::Arrays,
            10090 => Class::Documents,
            10091 => Class::Paths,
            TRIGRAM_OPS => Class::Trigrams,
            10073 => Class::Words,
            _ => return None,
        })
    }

    /// Its OID.
    pub fn oid(self) -> Oid {
        match self {
            Class::Arrays => 10064,
            Class::Documents => 10090,
            Class::Paths => 10091,
            Class::Trigrams => TRIGRAM_OPS,
            Class::Words => 10073,
        }
    }

    /// What an operator asks of its left side, if indexes of the class answer it.
    pub fn question(self, operator: Oid) -> Option<Question> {
        Some(match (self, operator) {
            (Class::Arrays, 2750) => Question::Overlaps,
            (Class::Arrays, 2751) | (Class::Documents | Class::Paths, 3246) => Question::Contains,
            (Class::Arrays, 2752) => Question::IsContained,
            (Class::Arrays, 1070) | (Class::Trigrams, 98) => Question::Equals,
            (Class::Documents, 3247) => Question::HasKey,
            (Class::Documents, 3248) => Question::HasAnyKey,
            (Class::Documents, 3249) => Question::HasAllKeys,
            (Class::Documents | Class::Paths, 4012) => Question::HasPath,
            (Class::Documents | Class::Paths, 4013) => Question::MeetsPath,
            // @@ and @@@
            (Class::Words, 3636 | 3660) => Question::Matches,
            (Class::Trigrams, 1209 | 1627) => Question::IsLike,
            (Class::Trigrams, 641) => Question::IsDescribed { any_case: false },
            (Class::Trigrams, 1228) => Question::IsDescribed { any_case: true },
            (Class::Trigrams, SIMILAR) => Question::IsSimilar(Similarity::Whole),
            (Class::Trigrams, WORD_SIMILAR) => Question::IsSimilar(Similarity::Word),
            (Class::Trigrams, STRICTLY_WORD_SIMILAR) => Question::IsSimilar(Similarity::StrictWord),
            _ => return None,
        })
    }

    /// The keys of a value of a type, which is the index's.
    ///
    /// # Errors
    /// `53200`
    ///
    /// # Panics
    /// The value is not of the type's representation.
    pub fn keys(self, ty: Oid, value: &Datum<'_>, cx: &Cx<'_>) -> Result<Keys> {
        let mut keys = Keys::new();
        match (self, value) {
            (_, Datum::Null) => {}
            (Class::Arrays, Datum::Bytes(bytes)) => {
                // A key is not much longer than its element; a number of two bytes has four.
                cx.room(bytes.len().saturating_mul(4))?;
                arrays::keys(cx.catalog, ty, bytes, &mut keys);
            }
            (Class::Documents, Datum::Bytes(bytes)) => {
                cx.room(bytes.len().saturating_mul(4))?;
                documents::keys(bytes, &mut keys);
            }
            (Class::Paths, Datum::Bytes(bytes)) => {
                cx.room(bytes.len().saturating_mul(12))?;
                documents::paths(bytes, documents::Path::TOP, &mut keys);
            }
            (Class::Trigrams, Datum::Text(text)) => {
                cx.room(text.len().saturating_mul(6))?;
                keys.fill(&trigrams::of(text)?);
            }
            (Class::Words, Datum::Bytes(bytes)) => {
                cx.room(bytes.len().saturating_mul(3))?;
                lexemes::keys(bytes, &mut keys);
            }
            (class, value) => unreachable!("{value:?} is no value for {class:?}"),
        }
        Ok(keys)
    }

    /// What a question with a value of a type needs.
    ///
    /// # Errors
    /// Those of asking the session for its thresholds.
    ///
    /// # Panics
    /// The value is not of the type's representation.
    pub fn asked(
        self,
        question: Question,
        ty: Oid,
        value: &Datum<'_>,
        cx: &Cx<'_>,
    ) -> Result<Tree> {
        let tree = match (self, question, value) {
            // Nothing is true of NULL.
            (_, _, Datum::Null) => Tree::None,
            (Class::Arrays, question, Datum::Bytes(bytes)) => {
                arrays::asked(cx.catalog, question, ty, bytes)
            }
            (Class::Documents, Question::Contains, Datum::Bytes(bytes)) => {
                let mut keys = Keys::new();
                documents::keys(bytes, &mut keys);
                Tree::all_of(&keys)
            }
            (Class::Paths, Question::Contains, Datum::Bytes(bytes)) => {
                let mut keys = Keys::new();
                documents::paths(bytes, documents::Path::TOP, &mut keys);
                Tree::all_of(&keys)
            }
            (Class::Documents, Question::HasKey, Datum::Text(key)) => documents::key(key),
            (Class::Documents, Question::HasAnyKey, Datum::Bytes(list)) => {
                Tree::or(documents::listed(list))
            }
            (Class::Documents, Question::HasAllKeys, Datum::Bytes(list)) => {
                Tree::and(documents::listed(list))
            }
            (class, Question::HasPath | Question::MeetsPath, Datum::Text(path)) => {
                crate::json::path::needs(path, class, question == Question::MeetsPath)
            }
            (Class::Trigrams, question, Datum::Text(text)) => match question {
                Question::Equals => Tree::all_of(&trigrams::literal(text.as_bytes(), true, true)),
                Question::IsLike => trigrams::like(text),
                Question::IsDescribed { any_case } => expressions::needs(text, any_case),
                Question::IsSimilar(by) => {
                    trigrams::similar(text, crate::extension::trigram::threshold(by, cx)?)?
                }
                _ => Tree::All,
            },
            (Class::Words, Question::Matches, Datum::Bytes(query)) => lexemes::asked(query),
            // What is not known here is judged on the rows.
            _ => Tree::All,
        };
        Ok(tree.within_limits())
    }
}

/// The keys of a value: one behind the other, and where each ends.
#[derive(Clone, Debug, Default)]
pub struct Keys {
    bytes: Vec<u8>,
    ends: Vec<u32>,
    /// Whether they are known to rise, each once.
    rising: bool,
}

impl Keys {
    /// None yet.
    pub fn new() -> Keys {
        Keys::default()
    }

    /// Has these keys, which rise, and no others.
    fn fill<const N: usize>(&mut self, all: &[[u8; N]]) {
        const { assert!(N > 0 && N <= KEPT_BYTES, "a key that is kept as it is") };
        debug_assert!(self.is_empty() && all.is_sorted_by(|a, b| a < b), "they rise");
        self.bytes.extend_from_slice(all.as_flattened());
        let end = |n: usize| u32::try_from(n * N).expect("values are smaller");
        self.ends.extend((1..=all.len()).map(end));
        self.rising = true;
    }

    /// Whether they are known to rise, each once.
    pub fn is_rising(&self) -> bool {
        self.rising
    }

    /// Adds a key; one that is too long is hashed.
    pub(crate) fn push(&mut self, key: &[u8]) {
        self.bytes.extend_from_slice(key);
        self.end(key.len());
    }

    /// Adds the key that `make` appends.
    pub(crate) fn make(&mut self, make: impl FnOnce(&mut Vec<u8>)) {
        let before = self.bytes.len();
        make(&mut self.bytes);
        self.end(self.bytes.len() - before);
    }

    /// The last bytes become a key.
    fn end(&mut self, length: usize) {
        debug_assert!(length > 0, "a key has bytes");
        if length > KEPT_BYTES {
            let begin = self.bytes.len() - length;
            let hash = Md5::digest(&self.bytes[begin..]);
            self.bytes.truncate(begin + 1);
            // No key that is kept begins so.
            self.bytes[begin] |= HASHED;
            self.bytes.extend_from_slice(&hash);
        }
        self.rising = false;
        self.ends.push(u32::try_from(self.bytes.len()).expect("values are smaller"));
    }

    /// How many there are.
    pub fn len(&self) -> usize {
        self.ends.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.ends.is_empty()
    }

    /// Each of them.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = &[u8]> + Clone {
        (0..self.ends.len()).map(|at| {
            let begin = if at == 0 { 0 } else { self.ends[at - 1] as usize };
            &self.bytes[begin..self.ends[at] as usize]
        })
    }
}

/// What the first byte of a hashed key has in addition to what it would be.
pub(crate) const HASHED: u8 = 0x80;

/// The elements of an array type, for the keys of its values.
pub(crate) fn element(catalog: &Catalog, ty: Oid) -> Option<(Oid, crate::Repr)> {
    let element = catalog.base_element(ty)?;
    Some((element, crate::repr(catalog, element)?))
}
