//! How deep may a statement be, and on which stack is it walked?
//!
//! A statement becomes trees: of the grammar, of the binder, of the steps that run. All are walked by recursion,
//! and by recursion they are cloned, compared, printed and freed, much of it in code that is not ours. So the depth
//! of these trees is bounded before the first of them is made: [`measure`] reads it off the tokens, which are a
//! list. What is deeper than the limits ends with `54001`, as in PostgreSQL. What is deeper than a thread's own
//! stack is sure to hold runs on a larger one ([`run`]), a mapping that lasts as long as the call and of which
//! only touched pages take memory.
//!
//! Our own walks over expressions take more stack by themselves where little is left; what cannot, the code that is not ours
//! and what frees a tree, has room for each level. Chains of AND and OR are one node, and no level; those of UNION are
//! read in a loop, and count less: their frames are small.
//!
//! Invariant: a tree of more than [`SHALLOW`] levels is owned by a [`Deep`], or lives only within a [`run`].

use std::ops::{Deref, DerefMut};
use std::sync::atomic::{AtomicUsize, Ordering};

use onlap_base::limits::{STATEMENT_CHAIN, STATEMENT_NESTING, STATEMENT_SETS, STATEMENT_TERMS};
use onlap_pg::grammar::{Keyword, Kind, Tokens};

use crate::error::{Result, SqlError, state};

#[cfg(test)]
mod tests;

/// Levels that the smallest stack of a thread, 2 MiB, holds together with what called: 16 KiB each, since what takes more
/// grows by itself. Three queries within each other.
const SHALLOW: usize = 64;
/// Stack that one level takes at most, in the steps that have the largest frames; without optimization 22 KiB were measured.
const LEVEL_BYTES: usize = if cfg!(debug_assertions) { 128 << 10 } else { 32 << 10 };
/// A level of a chain of UNION takes this part of that: its frames are the smaller ones.
const SET_SHARE: usize = 4;
/// A table that is joined, or a query of WITH, takes this number of levels: its frames are the largest.
const JOIN_LEVELS: usize = 2;
/// Queries in brackets, views, and brackets around brackets around a table, count for this number of levels: each is a plan
/// of its own.
const PLAN_LEVELS: usize = 16;
/// What the parts that do not recurse take.
const BASE_BYTES: usize = 1 << 20;

/// Levels for whose stack a process has room that keeps to a budget of its own.
static MOST_LEVELS: AtomicUsize = AtomicUsize::new(usize::MAX);
/// Memory for each of them: what [`LEVEL_BYTES`] is with optimization.
const STACK_BYTES: u64 = 32 << 10;

/// Lets the stack of a statement take a quarter of a budget: no allocator counts it, and each thread that works for
/// the statement has one.
pub fn keep_within(budget: u64) {
    let levels = usize::try_from(budget / 4 / STACK_BYTES).unwrap_or(usize::MAX);
    MOST_LEVELS.store(levels.max(SHALLOW), Ordering::Relaxed);
}

/// How deep the trees of a statement are at most.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Depth {
    /// Brackets, calls, CASE and subqueries within each other.
    nested: usize,
    /// Operators, casts, joins and words in a chain that binds from the left.
    chain: usize,
    /// Terms of AND and OR, which are no level.
    terms: usize,
    /// Queries of set operations.
    sets: usize,
}

impl Depth {
    /// As deep as a view makes what reads it: its query is one more plan.
    pub fn of_view(self) -> Depth {
        Depth { nested: self.nested + PLAN_LEVELS, ..self }
    }

    /// As deep as both, one within the other.
    pub fn plus(self, other: Depth) -> Depth {
        Depth {
            nested: self.nested + other.nested,
            chain: self.chain + other.chain,
            terms: self.terms + other.terms,
            sets: self.sets + other.sets,
        }
    }

    /// As deep as the deeper one.
    pub fn max(self, other: Depth) -> Depth {
        Depth {
            nested: self.nested.max(other.nested),
            chain: self.chain.max(other.chain),
            terms: self.terms.max(other.terms),
            sets: self.sets.max(other.sets),
        }
    }

    /// Whether it is too deep to be walked at all.
    ///
    /// # Errors
    /// `54001`.
    pub fn check(self) -> Result<()> {
        let (what, limit) = match self {
            Depth { nested, .. } if nested > STATEMENT_NESTING => ("levels", STATEMENT_NESTING),
            Depth { chain, .. } if chain > STATEMENT_CHAIN => ("operators", STATEMENT_CHAIN),
            Depth { terms, .. } if terms > STATEMENT_TERMS => ("terms", STATEMENT_TERMS),
            Depth { sets, .. } if sets > STATEMENT_SETS => ("queries", STATEMENT_SETS),
            _ => return self.check_stack(),
        };
        Err(too_deep().detail(format!("It has more than {limit} {what} within each other.")))
    }

    /// Whether the process may take the stack that its trees are walked on.
    fn check_stack(self) -> Result<()> {
        let (levels, most) = (self.levels(), MOST_LEVELS.load(Ordering::Relaxed));
        match levels > most {
            true => Err(too_deep().detail(format!(
                "It has {levels} levels within each other; memory_limit leaves room for {most}."
            ))),
            false => Ok(()),
        }
    }

    /// Whether a thread's own stack is sure to hold what walks it.
    pub fn is_shallow(self) -> bool {
        self.levels() <= SHALLOW
    }

    fn levels(self) -> usize {
        self.nested + self.chain + self.sets / SET_SHARE
    }
}

/// `54001`.
pub fn too_deep() -> SqlError {
    SqlError::new(state::TOO_COMPLEX, "stack depth limit exceeded").hint(
        "Write the statement with fewer parts within each other: IN (…) or VALUES instead of a chain of \
         operators, a temporary result instead of nested queries.",
    )
}

/// One bracket that is open.
#[derive(Default)]
struct Group {
    /// Ends with END instead of a bracket.
    case: bool,
    /// In FROM or WITH, where each comma makes the tree deeper.
    from: bool,
    /// Levels that it counts for.
    levels: usize,
    /// The chain under way, and the longest one, between commas and AND, OR.
    chain: usize,
    longest: usize,
    /// Joins of the query.
    joins: usize,
    terms: usize,
    /// Words BETWEEN whose AND is to come, which is no term: it goes on with the chain.
    between: usize,
    /// Words UNION and ALL: a chain of one kind of UNION is balanced, at a change of kind there is a level.
    unions: usize,
    alls: usize,
    /// The deepest of the groups inside.
    inner: Depth,
}

impl Group {
    fn end_chain(&mut self) {
        self.longest = self.longest.max(self.chain);
        self.chain = 0;
    }

    fn depth(mut self) -> Depth {
        self.end_chain();
        let changes = 2 * self.alls.min(self.unions.saturating_sub(self.alls));
        let own = Depth {
            nested: self.levels.max(1),
            chain: self.longest + JOIN_LEVELS * self.joins + changes,
            terms: self.terms,
            sets: self.unions,
        };
        own.plus(self.inner)
    }

    fn take(&mut self, keyword: Keyword) {
        use Keyword as K;
        match keyword {
            K::And if self.between > 0 => {
                self.between -= 1;
                return;
            }
            K::Between => {
                self.between += 1;
                self.chain += 1;
                return;
            }
            K::And | K::Or => self.terms += 1,
            K::Union => {
                self.unions += 1;
                self.from = false;
            }
            K::All => self.alls += 1,
            K::Intersect | K::Except => {
                // A join of two groupings.
                self.joins += 2;
                self.from = false;
            }
            K::Join => self.joins += 1,
            K::From | K::With => self.from = true,
            K::Where | K::Select | K::Values | K::Set => self.from = false,
            K::On | K::When | K::Then | K::Else => {}
            _ => {
                self.chain += 1;
                return;
            }
        }
        self.end_chain();
    }
}

/// How deep the trees of these tokens of a text are, up to the second: never less than they will be.
pub fn measure(tokens: &Tokens<'_>, from: usize, to: usize) -> Depth {
    measure_kinds(tokens.all[from..to].iter().map(|token| match token.word() {
        Some(word) => Kind::Word(word),
        None => token.kind,
    }))
}

fn measure_kinds(kinds: impl Iterator<Item = Kind>) -> Depth {
    use Keyword as K;
    let mut open = vec![Group::default()];
    // Whether a table is to come, and brackets were there already: the library's parser tries each of them twice.
    let (mut table, mut bare) = (false, false);
    // Whether a type's name is to come, which names a level.
    let mut cast = false;
    for kind in kinds {
        let group = open.last_mut().expect("the outermost is never closed");
        if matches!(kind, Kind::Word(K::Select | K::With | K::Values | K::Table))
            && group.levels > 0
        {
            group.levels = PLAN_LEVELS;
        }
        let begins = table;
        table = match kind {
            Kind::Char('(') => table,
            Kind::Char(',') => group.from,
            kind => matches!(kind, Kind::Word(K::From | K::Join | K::Lateral)),
        };
        match kind {
            Kind::Char('(') => {
                let levels = if begins && bare { PLAN_LEVELS } else { 1 };
                bare = true;
                open.push(Group { levels, ..Group::default() });
                continue;
            }
            // `a[1][2]` is a chain as well.
            Kind::Char('[' | '{') => {
                group.chain += 1;
                open.push(Group::default());
            }
            Kind::Word(K::Case) => open.push(Group { case: true, ..Group::default() }),
            Kind::Char(')' | ']' | '}') => close(&mut open),
            Kind::Word(K::End) if group.case => close(&mut open),
            Kind::Char(',') => {
                group.end_chain();
                group.joins += usize::from(group.from);
            }
            Kind::Word(keyword) => group.take(keyword),
            Kind::Name => group.chain += usize::from(cast),
            Kind::Int(_) | Kind::Number | Kind::Param(_) | Kind::Char('.') => {}
            Kind::Text | Kind::Bits | Kind::Hex | Kind::End => {}
            _ => group.chain += 1,
        }
        cast = kind == Kind::Typecast;
        bare = false;
    }
    while open.len() > 1 {
        close(&mut open);
    }
    open.pop().map(Group::depth).unwrap_or_default()
}

fn close(open: &mut Vec<Group>) {
    if open.len() > 1
        && let Some(closed) = open.pop()
        && let Some(outer) = open.last_mut()
    {
        outer.inner = outer.inner.max(closed.depth());
    }
}

/// Runs on a stack on which trees of this depth can be walked: this one where it is large enough.
pub fn run<T>(depth: Depth, f: impl FnOnce() -> T) -> T {
    let levels = depth.levels();
    if levels <= SHALLOW {
        return f();
    }
    let bytes = BASE_BYTES + levels * LEVEL_BYTES;
    // A stack made for this depth is good for what it calls, although some of it is in use.
    stacker::maybe_grow(bytes - BASE_BYTES / 2, bytes, f)
}

/// Something that has trees as deep as this inside: freed on a stack that is large enough.
#[derive(Debug)]
pub struct Deep<T> {
    /// There until it is taken or dropped.
    value: Option<T>,
    depth: Depth,
}

impl<T> Deep<T> {
    /// With trees of this depth.
    pub fn new(value: T, depth: Depth) -> Deep<T> {
        Deep { value: Some(value), depth }
    }

    /// How deep.
    pub fn depth(&self) -> Depth {
        self.depth
    }
}

/// Of a tree that is used within a [`run`] of what it was made from.
impl<T> From<T> for Deep<T> {
    fn from(value: T) -> Deep<T> {
        Deep::new(value, Depth::default())
    }
}

impl<T: Clone> Clone for Deep<T> {
    fn clone(&self) -> Deep<T> {
        Deep { value: run(self.depth, || self.value.clone()), depth: self.depth }
    }
}

impl<T> Deref for Deep<T> {
    type Target = T;
    fn deref(&self) -> &T {
        self.value.as_ref().expect("only into_inner takes it")
    }
}

impl<T> DerefMut for Deep<T> {
    fn deref_mut(&mut self) -> &mut T {
        self.value.as_mut().expect("only into_inner takes it")
    }
}

impl<T> Drop for Deep<T> {
    fn drop(&mut self) {
        if let Some(value) = self.value.take() {
            run(self.depth, || drop(value));
        }
    }
}
