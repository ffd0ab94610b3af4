//! Is there a machine that says faster where an expression is found?
//!
//! `regex-automata` prefers the first alternative, but where a text is found first does not depend on that, and an automaton
//! that follows all alternatives says where it ends.

use std::cell::RefCell;

use regex_automata::hybrid::dfa::{Cache, DFA};
use regex_automata::nfa::thompson;
use regex_automata::{Anchored, Input, MatchKind, meta};
use regex_syntax::hir::{Class, ClassUnicode, ClassUnicodeRange, Hir, Look, Repetition};

use super::set::Set;
use super::tree::{Ast, Place, Tree};

/// The most bytes of a machine.
const MAX_BYTES: usize = 4 << 20;

/// What finds an expression.
pub struct Fast {
    begins: meta::Regex,
    ends: Option<(DFA, RefCell<Cache>)>,
}

impl Fast {
    /// `None` if it has what these machines do not know, or is too large for them.
    pub fn new(tree: &Tree) -> Option<Fast> {
        if tree.has_back_references() {
            return None;
        }
        let hir = hir(&tree.ast())?;
        let config = meta::Config::new().nfa_size_limit(Some(MAX_BYTES));
        let begins = meta::Builder::new().configure(config).build_from_hir(&hir).ok()?;
        let ends = ends(&hir).map(|dfa| {
            let cache = RefCell::new(dfa.create_cache());
            (dfa, cache)
        });
        Some(Fast { begins, ends })
    }

    /// Whether it is found anywhere.
    pub fn is_in(&self, text: &str) -> bool {
        self.begins.is_match(text)
    }

    /// The first place from an offset on.
    pub fn begin(&self, text: &str, from: usize) -> Option<usize> {
        self.begins.search(&Input::new(text).range(from..)).map(|found| found.start())
    }

    /// Where it ends that begins there; `None` if the machine gives up.
    pub fn end(&self, text: &str, begin: usize, short: bool) -> Option<usize> {
        let (dfa, cache) = self.ends.as_ref()?;
        let input = Input::new(text).range(begin..).anchored(Anchored::Yes).earliest(short);
        let found = dfa.try_search_fwd(&mut cache.borrow_mut(), &input).ok()?;
        found.map(|half| half.offset())
    }
}

fn ends(hir: &Hir) -> Option<DFA> {
    let config = thompson::Config::new().nfa_size_limit(Some(MAX_BYTES));
    let nfa = thompson::Compiler::new().configure(config).build_from_hir(hir).ok()?;
    let config = DFA::config().match_kind(MatchKind::All).cache_capacity(MAX_BYTES);
    DFA::builder().configure(config.skip_cache_capacity_check(true)).build_from_nfa(nfa).ok()
}

fn hir(ast: &Ast) -> Option<Hir> {
    Some(match ast {
        Ast::Empty => Hir::empty(),
        Ast::Set(set) => class(set),
        Ast::Place(place) => Hir::look(match place {
            Place::Start => Look::Start,
            Place::End => Look::End,
            Place::LineStart => Look::StartLF,
            Place::LineEnd => Look::EndLF,
            Place::WordStart => Look::WordStartAscii,
            Place::WordEnd => Look::WordEndAscii,
            Place::WordEdge => Look::WordAscii,
            // It would be found between the bytes of a character.
            Place::NoWordEdge => return None,
        }),
        Ast::Look { .. } => return None,
        Ast::Cat(parts) => Hir::concat(parts.iter().map(hir).collect::<Option<_>>()?),
        Ast::Alt(parts) => Hir::alternation(parts.iter().map(hir).collect::<Option<_>>()?),
        Ast::Repeat(what, min, max) => Hir::repetition(Repetition {
            min: *min,
            max: *max,
            greedy: true,
            sub: Box::new(hir(what)?),
        }),
    })
}

fn class(set: &Set) -> Hir {
    // Surrogates are no characters.
    const SURROGATES: std::ops::Range<u32> = 0xd800..0xe000;
    let ranges = set.ranges().iter().filter_map(|(from, to)| {
        let from = if SURROGATES.contains(from) { 0xe000 } else { *from };
        let to = if SURROGATES.contains(to) { 0xd7ff } else { (*to).min(u32::from(char::MAX)) };
        Some(ClassUnicodeRange::new(char::from_u32(from)?, char::from_u32(to)?))
    });
    Hir::class(Class::Unicode(ClassUnicode::new(
        ranges.filter(|range| range.start() <= range.end()),
    )))
}
