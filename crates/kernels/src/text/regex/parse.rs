//! How is an expression read?

use super::lex::{Bounds, Lexer, PARENTHESES, QUANTIFIER, REFERENCE, Refusal, Token};
use super::tree::{
    Ast, GROUPS, Kind, LONGER, MESSY, MIXED, REFERS, SHORTER, Tree, combine, preference, repeat, up,
};
use super::{Flags, Syntax, deeper};

/// An expression that was read.
pub struct Parsed {
    /// Its parts.
    pub tree: Tree,
    /// The number of its groups.
    pub groups: usize,
    /// With the options in it.
    pub flags: Flags,
}

/// How deep parentheses may be nested, and parts of a tree may lie.
const MAX_DEPTH: usize = 250;
const MAX_TREE: usize = 600;
/// The most states of a whole and all its parts, which may have programs of their own.
const MAX_STATES: usize = 1_000_000;
/// The most characters of an expression.
const MAX_LENGTH: usize = 100_000;
const TOO_COMPLEX: Refusal = "regular expression is too complex";

/// Reads an expression.
///
/// # Errors
/// Why it is none.
pub fn parse(pattern: &str, flags: Flags) -> Result<Parsed, Refusal> {
    if pattern.len() > MAX_LENGTH {
        return Err(TOO_COMPLEX);
    }
    let lexer = Lexer::new(pattern, flags)?;
    let mut parser =
        Parser { lexer, next: None, closed: vec![None], looking: 0, depth: 0, kept: 0 };
    let tree = parser.either(false)?;
    let (groups, flags) = (parser.lexer.groups, parser.lexer.flags);
    Ok(Parsed { tree, groups, flags })
}

struct Parser {
    lexer: Lexer,
    next: Option<Token>,
    /// What each group that is closed describes.
    closed: Vec<Option<Ast>>,
    /// In how many lookarounds this is.
    looking: usize,
    depth: usize,
    /// States of what groups describe.
    kept: usize,
}

/// What an atom is before it is known how many times it may come.
enum Atom {
    /// A place between characters, of which there are no times.
    Place(Ast),
    /// A back reference as it stands, which counts its times itself.
    Reference(Tree),
    Tree(Tree),
}

impl Parser {
    fn peek(&mut self) -> Result<&Token, Refusal> {
        if self.next.is_none() {
            self.next = Some(self.lexer.next()?);
        }
        Ok(self.next.as_ref().expect("it was read"))
    }

    fn take(&mut self) -> Result<Token, Refusal> {
        self.peek()?;
        Ok(self.next.take().expect("it was read"))
    }

    /// Branches up to the end, or to the parenthesis that was opened.
    fn either(&mut self, open: bool) -> Result<Tree, Refusal> {
        self.depth += 1;
        if self.depth > MAX_DEPTH {
            return Err(TOO_COMPLEX);
        }
        let tree = deeper(|| self.branches(open))?;
        self.depth -= 1;
        let sizes = tree.sizes;
        if sizes.depth > MAX_TREE || sizes.all > MAX_STATES {
            return Err(TOO_COMPLEX);
        }
        Ok(tree)
    }

    fn branches(&mut self, open: bool) -> Result<Tree, Refusal> {
        let mut branches = vec![self.branch(open)?];
        while *self.peek()? == Token::Or {
            self.take()?;
            branches.push(self.branch(open)?);
        }
        match self.take()? {
            Token::Close if open => {}
            Token::End if !open => {}
            _ => return Err(PARENTHESES),
        }
        if branches.len() == 1 {
            return Ok(branches.remove(0));
        }
        let flags = branches.iter().fold(LONGER, |all, branch| all | up(all | branch.flags));
        if flags & MESSY == 0 {
            let parts = branches.iter().map(Tree::ast).collect();
            return Ok(Tree::new(Kind::Plain(Ast::Alt(parts)), flags));
        }
        Ok(Tree::new(Kind::Either(branches), flags))
    }

    /// Atoms one after the other. Those that are plain lie together before the next one that is not.
    fn branch(&mut self, open: bool) -> Result<Tree, Refusal> {
        let mut messy: Vec<(Tree, Tree, u8)> = Vec::new();
        let (mut plain, mut flags) = (Vec::new(), 0);
        loop {
            let closes = open || self.lexer.flags.syntax != Syntax::Extended;
            match self.peek()? {
                Token::Or | Token::End => break,
                // In POSIX's extended expressions a parenthesis that closes nothing is a character.
                Token::Close if closes => break,
                _ => {}
            }
            let (atom, refers) = match self.atom()? {
                Atom::Place(ast) => {
                    plain.push(ast);
                    continue;
                }
                Atom::Reference(tree) => (tree, true),
                Atom::Tree(tree) => (tree, false),
            };
            let bounds = self.times()?;
            if bounds.most == Some(0) {
                continue;
            }
            let prefers = bounds.longer.map_or(0, |longer| if longer { LONGER } else { SHORTER });
            let all = flags | prefers | atom.flags;
            if up(all) & MESSY == 0 {
                plain.push(repeat(atom.ast(), bounds.least, bounds.most));
                flags = all;
                continue;
            }
            if messy.len() == MAX_TREE {
                return Err(TOO_COMPLEX);
            }
            let before = plain_tree(std::mem::take(&mut plain), flags);
            flags = 0;
            let whole = combine(prefers, atom.flags);
            let many = if refers { refer } else { times };
            messy.push((before, many(atom, &bounds, prefers), whole));
        }
        let rest = plain_tree(plain, flags);
        Ok(messy.into_iter().rev().fold(rest, |rest, (before, atom, whole)| {
            let flags = whole | combine(whole, rest.flags);
            concat(before, concat_with(atom, rest, flags))
        }))
    }

    fn atom(&mut self) -> Result<Atom, Refusal> {
        let plain = |ast| Ok(Atom::Tree(Tree::new(Kind::Plain(ast), 0)));
        match self.take()? {
            Token::Set(set) => plain(Ast::Set(set)),
            Token::Bracket => {
                let set = self.lexer.bracket()?;
                plain(Ast::Set(set))
            }
            Token::Place(place) => Ok(Atom::Place(Ast::Place(place))),
            Token::Look { ahead, wanted } => {
                self.looking += 1;
                let what = Box::new(self.either(true)?.ast());
                self.looking -= 1;
                Ok(Atom::Place(Ast::Look { ahead, wanted, what }))
            }
            Token::Open { group } if group && self.looking == 0 => self.group(),
            Token::Open { .. } => Ok(Atom::Tree(self.either(true)?)),
            Token::Reference(group) => {
                let like = self.closed.get(group).cloned().flatten();
                let like = like.filter(|_| self.looking == 0).ok_or(REFERENCE)?;
                self.kept += like.size();
                if self.kept > MAX_STATES {
                    return Err(TOO_COMPLEX);
                }
                let kind = Kind::Reference { group, least: 1, most: Some(1), like };
                Ok(Atom::Reference(Tree::new(kind, REFERS)))
            }
            Token::Close => plain(Ast::Set(super::set::Set::one(u32::from(')'), false))),
            Token::Count { .. } | Token::Brace => Err(QUANTIFIER),
            Token::Or | Token::End => unreachable!("a branch ends before them"),
        }
    }

    fn group(&mut self) -> Result<Atom, Refusal> {
        self.lexer.groups += 1;
        let number = self.lexer.groups;
        self.closed.push(None);
        let mut tree = self.either(true)?;
        if tree.group.is_some() {
            let flags = tree.flags;
            tree = Tree::new(Kind::Wrap(Box::new(tree)), flags);
        }
        tree.group = Some(number);
        tree.flags |= GROUPS;
        self.kept += tree.sizes.own;
        if self.kept > MAX_STATES {
            return Err(TOO_COMPLEX);
        }
        // Where a reference stands, what the group asked of its own place does not count.
        self.closed[number] = Some(tree.ast().without_places());
        Ok(Atom::Tree(tree))
    }

    /// How many times an atom comes.
    fn times(&mut self) -> Result<Bounds, Refusal> {
        let bounds = match self.peek()? {
            Token::Count { least, most, longer } => {
                Bounds { least: *least, most: *most, longer: Some(*longer) }
            }
            Token::Brace => {
                self.take()?;
                return self.lexer.bounds();
            }
            _ => return Ok(Bounds { least: 1, most: Some(1), longer: None }),
        };
        self.take()?;
        Ok(bounds)
    }
}

fn plain_tree(mut parts: Vec<Ast>, flags: u8) -> Tree {
    let ast = match parts.len() {
        0 => Ast::Empty,
        1 => parts.remove(0),
        _ => Ast::Cat(parts),
    };
    Tree::new(Kind::Plain(ast), flags)
}

/// One after the other, without what was never written.
fn concat_with(a: Tree, b: Tree, flags: u8) -> Tree {
    if b.is_vacuous() {
        return a;
    }
    if a.is_vacuous() {
        return b;
    }
    Tree::new(Kind::Concat(Box::new(a), Box::new(b)), flags)
}

fn concat(a: Tree, b: Tree) -> Tree {
    let flags = a.flags | combine(a.flags, b.flags);
    concat_with(a, b, flags)
}

/// A back reference that comes so many times.
fn refer(atom: Tree, bounds: &Bounds, prefers: u8) -> Tree {
    let flags = atom.flags | combine(prefers, atom.flags);
    let Kind::Reference { group, like, .. } = atom.kind else {
        unreachable!("it is a back reference")
    };
    let Bounds { least, most, .. } = *bounds;
    Tree::new(Kind::Reference { group, least, most, like }, flags)
}

/// An atom that comes so many times.
fn times(atom: Tree, bounds: &Bounds, prefers: u8) -> Tree {
    let flags = combine(prefers, atom.flags);
    let Bounds { least, most, .. } = *bounds;
    let own = atom.flags & (LONGER | SHORTER | MIXED);
    if (least, most) == (1, Some(1)) && (prefers == 0 || own == 0 || prefers == own) {
        return atom;
    }
    if atom.flags & (GROUPS | REFERS) == 0 {
        return Tree::new(Kind::Plain(repeat(atom.ast(), least, most)), flags);
    }
    if least > 0 && atom.flags & REFERS == 0 {
        // Groups have what the last time gave them; the times before it are not looked into.
        let before = repeat(atom.ast(), least - 1, most.map(|most| most - 1));
        let before = Tree::new(Kind::Plain(before), preference(flags));
        return Tree::new(Kind::Concat(Box::new(before), Box::new(atom)), flags);
    }
    Tree::new(Kind::Iterate { what: Box::new(atom), least, most }, flags)
}
