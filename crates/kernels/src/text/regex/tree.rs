//! What is an expression made of?
//!
//! An [`Ast`] says which texts are described. A [`Tree`] says besides what its parts prefer, so that groups get what
//! PostgreSQL gives them: parts without groups and back references are left whole, for how a text is shared out within them
//! is of no interest.

use std::cell::OnceCell;

use super::deeper;
use super::program::Program;
use super::set::Set;

/// What is true or false between two characters.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Place {
    /// `^` and `\A`: before everything.
    Start,
    /// `$` and `\Z`: behind everything.
    End,
    /// `^` where lines count.
    LineStart,
    /// `$` where lines count.
    LineEnd,
    /// `\m`
    WordStart,
    /// `\M`
    WordEnd,
    /// `\y`
    WordEdge,
    /// `\Y`
    NoWordEdge,
}

/// Which texts are described.
#[derive(Clone, Debug, PartialEq)]
pub enum Ast {
    /// The one without characters.
    Empty,
    /// A character.
    Set(Set),
    /// None, but only at some places.
    Place(Place),
    /// None, but only where this is found ahead or behind, or is not.
    Look { ahead: bool, wanted: bool, what: Box<Ast> },
    /// One after the other.
    Cat(Vec<Ast>),
    /// One of them.
    Alt(Vec<Ast>),
    /// So many times; without an end if there is no last number.
    Repeat(Box<Ast>, u32, Option<u32>),
}

/// What a part prefers and has in it.
pub const LONGER: u8 = 1;
/// Shorter texts are preferred.
pub const SHORTER: u8 = 2;
/// Its parts differ in what they prefer.
pub const MIXED: u8 = 4;
/// It has groups.
pub const GROUPS: u8 = 8;
/// It has back references.
pub const REFERS: u8 = 16;
const LOCAL: u8 = LONGER | SHORTER;
/// What makes it interesting how a text is shared out within a part.
pub const MESSY: u8 = MIXED | GROUPS | REFERS;

/// What a whole knows of its parts' flags.
pub fn up(flags: u8) -> u8 {
    let mixed = if flags & LOCAL == LOCAL { MIXED } else { 0 };
    flags & !LOCAL | mixed
}

/// The flags of two parts one after the other: the first preference counts.
pub fn combine(first: u8, second: u8) -> u8 {
    let preference = if first & LOCAL != 0 { first & LOCAL } else { second & LOCAL };
    up(first | second) | preference
}

/// What a preference is of a part's flags.
pub fn preference(flags: u8) -> u8 {
    flags & LOCAL
}

/// A part.
#[derive(Debug)]
pub struct Tree {
    /// What it is.
    pub kind: Kind,
    /// What it prefers and has in it.
    pub flags: u8,
    /// The group that it is.
    pub group: Option<usize>,
    /// How large it is.
    pub sizes: Sizes,
    program: OnceCell<Program>,
}

/// What a part is.
#[derive(Debug)]
pub enum Kind {
    /// Nothing to look into.
    Plain(Ast),
    /// What a group has, so many times; and what that may be.
    Reference { group: usize, least: u32, most: Option<u32>, like: Ast },
    /// One after the other.
    Concat(Box<Tree>, Box<Tree>),
    /// One of them.
    Either(Vec<Tree>),
    /// So many times.
    Iterate { what: Box<Tree>, least: u32, most: Option<u32> },
    /// A group of a group alone.
    Wrap(Box<Tree>),
}

impl Tree {
    /// A part.
    pub fn new(kind: Kind, flags: u8) -> Tree {
        let sizes = Sizes::of(&kind);
        Tree { kind, flags, group: None, sizes, program: OnceCell::new() }
    }

    /// Whether shorter texts are preferred.
    pub fn is_short(&self) -> bool {
        self.flags & SHORTER != 0
    }

    /// Whether what is described is not all that counts.
    pub fn has_back_references(&self) -> bool {
        self.flags & REFERS != 0
    }

    /// Whether it is the text without characters, as it was never written.
    pub fn is_vacuous(&self) -> bool {
        matches!(self.kind, Kind::Plain(Ast::Empty)) && self.group.is_none() && self.flags == 0
    }

    /// Which texts it describes, back references taken for their groups' expressions.
    pub fn ast(&self) -> Ast {
        deeper(|| self.ast_here())
    }

    fn ast_here(&self) -> Ast {
        match &self.kind {
            Kind::Plain(ast) => ast.clone(),
            Kind::Reference { least, most, like, .. } => repeat(like.clone(), *least, *most),
            Kind::Concat(a, b) => {
                let mut parts = vec![a.ast()];
                let mut rest = b;
                while let Kind::Concat(a, b) = &rest.kind {
                    parts.push(a.ast());
                    rest = b;
                }
                parts.push(rest.ast());
                Ast::Cat(parts)
            }
            Kind::Either(parts) => Ast::Alt(parts.iter().map(Tree::ast).collect()),
            Kind::Iterate { what, least, most } => repeat(what.ast(), *least, *most),
            Kind::Wrap(what) => what.ast(),
        }
    }

    /// Its program. The whole expression's was made, so that a part's is not too large.
    pub fn program(&self) -> &Program {
        self.program.get_or_init(|| {
            Program::new(&self.ast()).expect("a part has no more states than the whole")
        })
    }
}

/// How large a tree is.
#[derive(Clone, Copy, Debug)]
pub struct Sizes {
    /// Its states.
    pub own: usize,
    /// Those of its parts, too, each for itself.
    pub all: usize,
    /// How deep parts lie in parts.
    pub depth: usize,
}

impl Sizes {
    fn of(kind: &Kind) -> Sizes {
        let times = |size: usize, least: u32, most: Option<u32>| {
            size.saturating_mul(most.unwrap_or(least + 1) as usize)
        };
        let mut parts = Sizes { own: 0, all: 0, depth: 0 };
        let mut add = |part: &Tree| {
            parts.own = parts.own.saturating_add(part.sizes.own);
            parts.all = parts.all.saturating_add(part.sizes.all);
            parts.depth = parts.depth.max(part.sizes.depth);
        };
        match kind {
            Kind::Plain(ast) => parts.own = ast.size(),
            Kind::Reference { least, most, like, .. } => {
                parts.own = times(like.size(), *least, *most);
            }
            Kind::Concat(a, b) => {
                add(a);
                add(b);
            }
            Kind::Either(all) => all.iter().for_each(add),
            Kind::Wrap(what) => add(what),
            Kind::Iterate { what, least, most } => {
                add(what);
                parts.own = times(parts.own, *least, *most);
            }
        }
        let own = parts.own.saturating_add(1);
        Sizes { own, all: parts.all.saturating_add(own), depth: parts.depth + 1 }
    }
}

impl Ast {
    /// Without what asks for places.
    pub fn without_places(self) -> Ast {
        let all = |parts: Vec<Ast>| parts.into_iter().map(Ast::without_places).collect();
        match self {
            Ast::Place(_) | Ast::Look { .. } => Ast::Empty,
            Ast::Cat(parts) => Ast::Cat(all(parts)),
            Ast::Alt(parts) => Ast::Alt(all(parts)),
            Ast::Repeat(what, least, most) => {
                Ast::Repeat(Box::new(what.without_places()), least, most)
            }
            other => other,
        }
    }

    /// About as many states as it takes.
    pub fn size(&self) -> usize {
        match self {
            Ast::Empty | Ast::Set(_) | Ast::Place(_) => 1,
            Ast::Look { what, .. } => what.size().saturating_add(1),
            Ast::Cat(parts) | Ast::Alt(parts) => {
                parts.iter().fold(1, |all: usize, part| all.saturating_add(part.size()))
            }
            Ast::Repeat(what, least, most) => {
                what.size().saturating_add(1).saturating_mul(most.unwrap_or(least + 1) as usize)
            }
        }
    }
}

/// So many times.
pub fn repeat(what: Ast, least: u32, most: Option<u32>) -> Ast {
    if (least, most) == (1, Some(1)) { what } else { Ast::Repeat(Box::new(what), least, most) }
}
