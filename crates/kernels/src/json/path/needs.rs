//! Which keys has every document of which a path is true?
//!
//! Only what must be so: names of pairs that a path goes through, and scalars that it compares something with. What may come out of
//! NOT, out of arithmetic, or out of methods needs nothing. Items that a path finds are parts of the document up to the first
//! method, and lie where its names lead; of `*` and `**` it is not known where that is.

use super::parse;
use super::tree::{Expr, Head, Operator, Step};
use crate::gin::documents::{self, Path};
use crate::gin::{Class, Tree};
use crate::json::form::{Encoder, Node, node};

/// What a path in its text needs of a document: `@@` if it is to be true, else `@?`.
pub(crate) fn needs(text: &str, class: Class, truth: bool) -> Tree {
    // It is an error of the rows that it is held against.
    let Ok(path) = parse::parse(text) else { return Tree::All };
    let asking = Asking { class };
    match (truth, path.expr.is_predicate()) {
        (true, true) => asking.predicate(&path.expr, None),
        // A condition gives an item, whatever it is.
        (false, true) => Tree::All,
        (_, false) => asking.found(&path.expr, None),
    }
}

/// Where items are that a path has found.
#[derive(Clone)]
struct Place {
    /// What is needed for them to be found.
    tree: Tree,
    /// The names that lead to them, where they are known.
    path: Option<Path>,
    /// Whether they are parts of the document.
    own: bool,
}

struct Asking {
    class: Class,
}

impl Asking {
    fn place(&self, expr: &Expr, current: Option<&Place>) -> Option<Place> {
        let mut at = match &expr.head {
            Head::Root => Place { tree: Tree::All, path: Some(Path::TOP), own: true },
            Head::Current => current?.clone(),
            _ => return None,
        };
        for step in &expr.steps {
            match step {
                Step::Key(name) if at.own => {
                    at.path = at.path.map(|path| path.step(name));
                    if self.class == Class::Documents {
                        at.tree = Tree::and([at.tree, documents::key(name)]);
                    }
                }
                Step::AnyKey | Step::Any(..) => at.path = None,
                // An array and its elements have one path.
                Step::AnyElement | Step::Elements(_) => {}
                Step::Filter(condition) => {
                    let needed = self.predicate(condition, Some(&at));
                    at.tree = Tree::and([at.tree, needed]);
                }
                Step::Key(_) | Step::Method(_) | Step::DateTime(_) => {
                    (at.own, at.path) = (false, None);
                }
            }
        }
        Some(at)
    }

    /// What is needed for a path to find anything.
    fn found(&self, expr: &Expr, current: Option<&Place>) -> Tree {
        self.place(expr, current).map_or(Tree::All, |place| place.tree)
    }

    /// What is needed for a condition to be true.
    fn predicate(&self, expr: &Expr, current: Option<&Place>) -> Tree {
        if !expr.steps.is_empty() {
            return Tree::All;
        }
        match &expr.head {
            Head::Binary(Operator::And, a, b) => {
                Tree::and([self.predicate(a, current), self.predicate(b, current)])
            }
            Head::Binary(Operator::Or, a, b) => {
                Tree::or([self.predicate(a, current), self.predicate(b, current)])
            }
            // Nothing is compared with nothing.
            Head::Binary(operator, a, b) if operator.priority() == 2 => {
                let both = Tree::and([self.found(a, current), self.found(b, current)]);
                match operator {
                    Operator::Equal => {
                        let equal = [self.equals(a, b, current), self.equals(b, a, current)];
                        Tree::and([both].into_iter().chain(equal))
                    }
                    _ => both,
                }
            }
            Head::Exists(path) | Head::LikeRegex(path, _) => self.found(path, current),
            _ => Tree::All,
        }
    }

    /// What is needed for something that a path finds to equal a scalar.
    fn equals(&self, path: &Expr, with: &Expr, current: Option<&Place>) -> Tree {
        let Some(scalar) = scalar(with) else { return Tree::All };
        match self.place(path, current) {
            Some(Place { own: true, path, .. }) => match (self.class, path) {
                (Class::Paths, Some(path)) => path.key(&node(&scalar)),
                (Class::Documents, _) => documents::scalar(&node(&scalar)),
                _ => Tree::All,
            },
            _ => Tree::All,
        }
    }
}

/// The scalar that an expression is.
fn scalar(expr: &Expr) -> Option<Vec<u8>> {
    if !expr.steps.is_empty() {
        return None;
    }
    let mut out = Encoder::new();
    let made = match &expr.head {
        Head::Null => out.null(),
        Head::Bool(value) => out.bool(*value),
        Head::Number(number) => out.number(number),
        Head::Text(text) => out.text(text),
        Head::Sign(negative, of) => match (&of.head, of.steps.is_empty()) {
            (Head::Number(number), true) if *negative => out.number(&number.negate()),
            (Head::Number(number), true) => out.number(number),
            _ => return None,
        },
        _ => return None,
    };
    made.ok()?;
    let out = out.finish();
    // What is no scalar is not made here.
    (!matches!(node(&out), Node::Array(_) | Node::Object(_))).then_some(out)
}
