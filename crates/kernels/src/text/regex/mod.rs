//! Which part of a text does a regular expression describe?
//!
//! PostgreSQL's regular expressions do not ask which alternative comes first, but how long what is found is: of all that
//! begins as early as possible the longest or the shortest is taken, and then, from the left, what each part of the expression
//! has of it. So an expression is parsed to a tree that says which parts prefer what ([`parse`]), every part is a set of
//! states that are followed at once ([`program`], [`run`]), and what groups have is found by asking, part by part, where
//! it may end ([`dissect`]). An expression without lookaround and back references is also given to `regex-automata`, which
//! says faster whether, where from and up to where it is found ([`fast`]).
//!
//! Nothing here is exponential but back references; steps are counted, and a statement that is not wanted ends. Expressions
//! are limited in states, nesting and parts (`2201B`, as PostgreSQL does).

mod bracket;
mod class;
mod dissect;
mod fast;
mod lex;
mod parse;
mod program;
mod run;
mod set;
mod tree;

use std::cell::{Cell, OnceCell};

use onlap_pg::{Error, Result};

use crate::Cx;
use fast::Fast;
pub use lex::set_option;
use program::Program;
pub(crate) use set::Set;
pub(crate) use tree::Ast;
use tree::Tree;

/// Options of an expression.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Flags {
    /// Which language it is written in.
    pub syntax: Syntax,
    /// Whether letters of ASCII stand for both cases.
    pub any_case: bool,
    /// Whether blanks and comments are left out.
    pub expanded: bool,
    /// Whether `.` and brackets with `^` leave out the end of a line.
    pub stops_at_lines: bool,
    /// Whether `^` and `$` are also found at lines.
    pub anchors_at_lines: bool,
}

/// A language of expressions.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Syntax {
    /// What `~` takes.
    Advanced,
    /// POSIX's extended ones.
    Extended,
    /// POSIX's basic ones.
    Basic,
    /// Every character stands for itself.
    Literal,
}

impl Flags {
    /// Those of `~`.
    pub const PLAIN: Flags = Flags {
        syntax: Syntax::Advanced,
        any_case: false,
        expanded: false,
        stops_at_lines: false,
        anchors_at_lines: false,
    };
}

/// Where a part is, in bytes.
pub type Span = (usize, usize);

/// From this many bytes or searches on the other machine is worth its making.
const LONG: usize = 256;
const OFTEN: u32 = 8;

/// Goes a level deeper, on more stack where little of it is left.
pub(crate) fn deeper<T>(f: impl FnOnce() -> T) -> T {
    const LEFT: usize = 64 << 10;
    const MORE: usize = 1 << 20;
    stacker::maybe_grow(LEFT, MORE, f)
}

/// An expression.
pub struct Regex {
    tree: Tree,
    program: Program,
    groups: usize,
    flags: Flags,
    searches: Cell<u32>,
    fast: OnceCell<Option<Fast>>,
}

impl Regex {
    /// Reads an expression.
    ///
    /// # Errors
    /// `2201B`
    pub fn new(pattern: &str, flags: Flags) -> Result<Regex> {
        let refused = |why: &str| Error::new("2201B", format!("invalid regular expression: {why}"));
        let parsed = parse::parse(pattern, flags).map_err(refused)?;
        let program = Program::new(&parsed.tree.ast()).map_err(refused)?;
        Ok(Regex {
            tree: parsed.tree,
            program,
            groups: parsed.groups,
            flags: parsed.flags,
            searches: Cell::new(0),
            fast: OnceCell::new(),
        })
    }

    /// The number of its groups.
    pub fn groups(&self) -> usize {
        self.groups
    }

    /// Which texts it describes, back references taken for their groups' expressions.
    pub(crate) fn ast(&self) -> Ast {
        self.tree.ast()
    }

    /// About as many bytes as it takes, with the programs of its parts.
    pub fn size(&self) -> usize {
        const STATE: usize = 64;
        self.tree.sizes.all.saturating_mul(STATE)
    }

    fn fast(&self, text: &str) -> Option<&Fast> {
        self.searches.set(self.searches.get().saturating_add(1));
        if self.searches.get() < OFTEN && text.len() < LONG {
            return None;
        }
        self.fast.get_or_init(|| Fast::new(&self.tree)).as_ref()
    }

    /// Whether it is found anywhere.
    ///
    /// # Errors
    /// `57014`; `54000`
    pub fn is_in(&self, text: &str, cx: &Cx<'_>) -> Result<bool> {
        if let Some(fast) = self.fast(text) {
            return Ok(fast.is_in(text));
        }
        if self.tree.has_back_references() {
            return Ok(self.find(text, 0, cx)?.is_some());
        }
        Ok(run::first(&self.program, text, 0, cx)?.is_some())
    }

    /// The first place from an offset on, with what its groups have: the whole comes first.
    ///
    /// # Errors
    /// `57014`; `54000`
    pub fn find(&self, text: &str, from: usize, cx: &Cx<'_>) -> Result<Option<Vec<Option<Span>>>> {
        let mut found = vec![None; self.groups + 1];
        if self.tree.has_back_references() {
            let whole = self.find_with_references(text, from, &mut found, cx)?;
            found[0] = whole;
            return Ok(whole.map(|_| found));
        }
        let Some(whole) = self.find_whole(text, from, cx)? else { return Ok(None) };
        if self.groups > 0 {
            dissect::Dissect::new(text, self.flags.any_case, cx)
                .fill(&self.tree, whole, &mut found)?;
        }
        found[0] = Some(whole);
        Ok(Some(found))
    }

    /// The first place from an offset on.
    fn find_whole(&self, text: &str, from: usize, cx: &Cx<'_>) -> Result<Option<Span>> {
        let short = self.tree.is_short();
        let fast = self.fast(text);
        let begin = match fast {
            Some(fast) => fast.begin(text, from),
            None => run::first(&self.program, text, from, cx)?,
        };
        cx.worked(begin.unwrap_or(text.len()) - from)?;
        let Some(begin) = begin else { return Ok(None) };
        if let Some(end) = fast.and_then(|fast| fast.end(text, begin, short)) {
            cx.worked(end - begin)?;
            return Ok(Some((begin, end)));
        }
        let end = match short {
            true => run::shortest(&self.program, text, begin, cx)?,
            false => run::longest(&self.program, text, begin, cx)?,
        };
        Ok(end.map(|end| (begin, end)))
    }

    /// Back references are no part of the program: what it finds may turn out not to be meant.
    fn find_with_references(
        &self,
        text: &str,
        from: usize,
        found: &mut [Option<Span>],
        cx: &Cx<'_>,
    ) -> Result<Option<Span>> {
        let dissect = dissect::Dissect::new(text, self.flags.any_case, cx);
        let mut at = from;
        let mut close: Option<usize> = None;
        while let Some(begin) = run::first(&self.program, text, at, cx)? {
            if close.is_none_or(|close| begin > close) {
                // Where nothing was meant up to one end, PostgreSQL does not begin at the end of the text any more.
                if close.is_some_and(|close| after(text, close) >= text.len()) {
                    break;
                }
                close = Some(self.nearest_end(text, begin, cx)?);
            }
            let mut ends = run::ends(&self.program, text, begin, text.len(), cx)?;
            if !self.tree.is_short() {
                ends.reverse();
            }
            for end in ends {
                if dissect.try_fill(&self.tree, (begin, end), found)? {
                    return Ok(Some((begin, end)));
                }
            }
            if begin == text.len() {
                break;
            }
            at = after(text, begin);
        }
        Ok(None)
    }

    /// Where the first place ends that the program finds and that begins at an offset or before that end.
    fn nearest_end(&self, text: &str, begin: usize, cx: &Cx<'_>) -> Result<usize> {
        let end_from = |begin: usize| run::shortest(&self.program, text, begin, cx);
        let mut nearest = end_from(begin)?.unwrap_or(text.len());
        let mut at = after(text, begin);
        while at <= nearest
            && let Some(begin) = run::first(&self.program, text, at, cx)?
            && begin <= nearest
        {
            nearest = nearest.min(end_from(begin)?.unwrap_or(nearest));
            at = after(text, begin);
        }
        Ok(nearest)
    }
}

/// The place behind the character at a place; beyond the text there is one more.
fn after(text: &str, at: usize) -> usize {
    at + text[at..].chars().next().map_or(1, char::len_utf8)
}
