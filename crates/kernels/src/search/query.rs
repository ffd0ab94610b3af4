//! How does a tsquery lie in a column, and what is done with its nodes?
//!
//! As it travels: the number of nodes, then each of them, a node before what it joins and the right side before the left;
//! numbers are big-endian.
//!
//! | bytes | what |
//! |---|---|
//! | 4 | number of nodes; 0: the empty query, which is true of nothing |
//! | 1 | 1: a word |
//! | 1, 1 | of a word: its weights (8 is A, 4 B, 2 C, 1 D; 0: any); 1: it is the beginning of words |
//! | n, 1 | the word, a zero |
//! | 1, 1 | 2: an operator; 1 NOT, 2 AND, 3 OR, 4 PHRASE |
//! | 2 | of PHRASE: the distance |
//!
//! ```text
//! 'a' & !'b':*   00 00 00 04  02 02  02 01  01 00 01 62 00  01 00 00 61 00
//! ```
//!
//! Queries may be deeper than a stack: what goes down by calls does so by [`deeper`], which takes more stack.
//! Thread safety: pure functions.

use std::borrow::Cow;

use onlap_pg::value::MAX_BYTES;
use onlap_pg::{Error, Result};

use super::vector::{ALL_BYTES, Rest, WORD_BYTES};
use super::words::quote;
use crate::Cx;
use crate::misc::growth::Growth;
use crate::text::regex::deeper;

/// A word that is looked for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Word<'a> {
    pub(crate) text: Cow<'a, str>,
    /// Bits: 8 is A, 1 is D; none for any.
    pub(crate) weights: u8,
    pub(crate) prefix: bool,
}

/// What joins two nodes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Join {
    And,
    Or,
    Phrase(u16),
}

/// A node.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Node<'a> {
    Word(Word<'a>),
    /// A word that no document has, in a query that is being made.
    Stop,
    Not,
    Two(Join),
}

const WORD: u8 = 1;
const OPERATOR: u8 = 2;
const NOT: u8 = 1;
const AND: u8 = 2;
const OR: u8 = 3;
const PHRASE: u8 = 4;

/// The most bytes of all words, with a zero behind each: the last one may reach over what PostgreSQL has for their begins.
const TEXT_BYTES: usize = ALL_BYTES + WORD_BYTES + 1;

/// A query: its nodes, each behind what it joins, the left side first.
#[derive(Clone, Debug, Default)]
pub(crate) struct Query<'a> {
    pub(crate) nodes: Vec<Node<'a>>,
    /// Where the left side of a node of two sides ends: the place of its last node.
    lefts: Vec<usize>,
}

impl<'a> Query<'a> {
    /// A query of nodes.
    ///
    /// # Errors
    /// `XX000`: they are none.
    pub(crate) fn new(nodes: Vec<Node<'a>>) -> Result<Query<'a>> {
        let mut lefts = vec![0; nodes.len()];
        let mut open: Vec<usize> = Vec::new();
        let missing = || Error::internal("malformed tsquery: operand not found");
        for (at, node) in nodes.iter().enumerate() {
            match node {
                Node::Word(_) | Node::Stop => {}
                Node::Not => {
                    open.pop().ok_or_else(missing)?;
                }
                Node::Two(_) => {
                    open.pop().ok_or_else(missing)?;
                    lefts[at] = open.pop().ok_or_else(missing)?;
                }
            }
            open.push(at);
        }
        if open.len() > 1 {
            return Err(Error::internal("malformed tsquery: extra nodes"));
        }
        Ok(Query { nodes, lefts })
    }

    /// The value that bytes are.
    ///
    /// # Panics
    /// They are none.
    pub(crate) fn load(bytes: &'a [u8]) -> Query<'a> {
        let nodes = read(bytes, |_| Ok(())).expect("it is a value");
        Query::new(nodes).expect("its nodes are a query")
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.nodes.is_empty()
    }

    /// The place of the node that is over all others.
    pub(crate) fn top(&self) -> Option<usize> {
        self.nodes.len().checked_sub(1)
    }

    /// The places of the left and the right side of a node of two sides; the right one is that of a NOT, too.
    pub(crate) fn sides(&self, at: usize) -> (usize, usize) {
        (self.lefts[at], at - 1)
    }

    /// The words of it, in the order in which they travel.
    pub(crate) fn words(&self) -> impl Iterator<Item = (usize, &Word<'a>)> {
        self.nodes.iter().enumerate().rev().filter_map(|(at, node)| match node {
            Node::Word(word) => Some((at, word)),
            _ => None,
        })
    }

    /// As it lies in a column.
    ///
    /// # Errors
    /// `54000`
    pub(crate) fn store(&self) -> Result<Vec<u8>> {
        store(&self.nodes)
    }

    /// Writes it.
    pub(crate) fn print(&self, out: &mut String) {
        if let Some(top) = self.top() {
            self.print_node(top, 0, false, out);
        }
    }

    fn print_node(&self, at: usize, above: u8, right_of_phrase: bool, out: &mut String) {
        let (own, join) = match &self.nodes[at] {
            Node::Word(word) => return print_word(word, out),
            Node::Stop => return,
            Node::Not => {
                out.push('!');
                return deeper(|| self.print_node(at - 1, 4, false, out));
            }
            Node::Two(Join::Or) => (1, " | ".to_string()),
            Node::Two(Join::And) => (2, " & ".to_string()),
            Node::Two(Join::Phrase(1)) => (3, " <-> ".to_string()),
            Node::Two(Join::Phrase(distance)) => (3, format!(" <{distance}> ")),
        };
        let parentheses = own < above || own == 3 && right_of_phrase;
        out.push_str(if parentheses { "( " } else { "" });
        let (left, right) = self.sides(at);
        deeper(|| self.print_node(left, own, false, out));
        out.push_str(&join);
        deeper(|| self.print_node(right, own, own == 3, out));
        out.push_str(if parentheses { " )" } else { "" });
    }

    /// The query without words that no document has; PHRASE reaches over them.
    pub(crate) fn without_stops(self) -> Query<'a> {
        if !self.nodes.contains(&Node::Stop) {
            return self;
        }
        let mut out: Vec<Node<'a>> = Vec::with_capacity(self.nodes.len());
        // Of each side: whether there is anything of it, and what distances to its left and right grow by. The two are equal
        // where there is nothing.
        let mut sides: Vec<(bool, u16, u16)> = Vec::new();
        for node in self.nodes {
            let side = match node {
                Node::Word(_) => {
                    out.push(node);
                    (true, 0, 0)
                }
                Node::Stop => (false, 0, 0),
                Node::Not => {
                    let side = sides.pop().expect("NOT has a side");
                    if side.0 {
                        out.push(Node::Not);
                    }
                    side
                }
                Node::Two(join) => {
                    let right = sides.pop().expect("there is a right side");
                    let left = sides.pop().expect("there is a left side");
                    joined(join, left, right, &mut out)
                }
            };
            sides.push(side);
        }
        Query::new(out).expect("what is left is a query")
    }

    /// What an index is asked for: nothing under NOT, and nothing of what is true without any word. `None` if nothing is left.
    pub(crate) fn without_nots(self) -> Option<Query<'a>> {
        let mut out: Vec<Node<'a>> = Vec::with_capacity(self.nodes.len());
        // Where each side begins, and whether there is anything of it.
        let mut sides: Vec<(usize, bool)> = Vec::new();
        for node in self.nodes {
            let side = match node {
                Node::Word(_) | Node::Stop => {
                    out.push(node);
                    (out.len() - 1, true)
                }
                Node::Not => {
                    let (begin, _) = sides.pop().expect("NOT has a side");
                    out.truncate(begin);
                    (begin, false)
                }
                Node::Two(join) => {
                    let (_, right) = sides.pop().expect("there is a right side");
                    let (begin, left) = sides.pop().expect("there is a left side");
                    match (left && right, join) {
                        (true, _) => out.push(node),
                        (false, Join::Or) => out.truncate(begin),
                        (false, _) => {}
                    }
                    (begin, if join == Join::Or { left && right } else { left || right })
                }
            };
            sides.push(side);
        }
        let is_left = sides.pop().is_some_and(|(_, is_left)| is_left);
        is_left.then(|| Query::new(out).expect("what is left is a query"))
    }
}

type Side = (bool, u16, u16);

/// Two sides of which words were left out.
fn joined(join: Join, left: Side, right: Side, out: &mut Vec<Node<'_>>) -> Side {
    let distance = match join {
        Join::Phrase(distance) => distance,
        _ => 0,
    };
    let sum = |all: [u16; 3]| all.into_iter().fold(0, u16::saturating_add);
    match (left.0, right.0, join) {
        (true, true, Join::Phrase(distance)) => {
            out.push(Node::Two(Join::Phrase(sum([distance, left.2, right.1]))));
            (true, left.1, right.2)
        }
        (true, true, _) => {
            out.push(Node::Two(join));
            (true, 0, 0)
        }
        (false, false, Join::Phrase(_)) => {
            let all = sum([left.1, distance, right.1]);
            (false, all, all)
        }
        (false, false, _) => {
            let most = left.1.max(right.1);
            (false, most, most)
        }
        (false, true, Join::Phrase(_)) => (true, sum([left.1, distance, right.1]), right.2),
        (true, false, Join::Phrase(_)) => (true, left.1, sum([left.2, distance, right.2])),
        (false, true, _) => right,
        (true, false, _) => left,
    }
}

fn print_word(word: &Word<'_>, out: &mut String) {
    quote(&word.text, out);
    if word.weights == 0 && !word.prefix {
        return;
    }
    out.push(':');
    out.push_str(if word.prefix { "*" } else { "" });
    for (bit, letter) in [(8, 'A'), (4, 'B'), (2, 'C'), (1, 'D')] {
        if word.weights & bit != 0 {
            out.push(letter);
        }
    }
}

/// Nodes, each behind what it joins, as they lie in a column.
///
/// # Errors
/// `54000`
pub(crate) fn store(nodes: &[Node<'_>]) -> Result<Vec<u8>> {
    let texts = nodes.iter().map(|node| match node {
        Node::Word(word) => word.text.len() + 1,
        _ => 0,
    });
    let texts: usize = texts.sum();
    // What is kept can be read again.
    if texts > TEXT_BYTES || nodes.len() > most_nodes(texts) {
        return Err(too_large());
    }
    let mut out = Vec::with_capacity(4 + nodes.len() * 4 + texts);
    out.extend((nodes.len() as u32).to_be_bytes());
    for node in nodes.iter().rev() {
        match node {
            Node::Word(word) => {
                out.extend([WORD, word.weights, u8::from(word.prefix)]);
                out.extend_from_slice(word.text.as_bytes());
                out.push(0);
            }
            Node::Stop => unreachable!("words that no document has were left out"),
            Node::Not => out.extend([OPERATOR, NOT]),
            Node::Two(Join::And) => out.extend([OPERATOR, AND]),
            Node::Two(Join::Or) => out.extend([OPERATOR, OR]),
            Node::Two(Join::Phrase(distance)) => {
                out.extend([OPERATOR, PHRASE]);
                out.extend(distance.to_be_bytes());
            }
        }
    }
    Ok(out)
}

/// How many nodes a value has.
///
/// # Panics
/// The bytes are no value.
pub(crate) fn count(bytes: &[u8]) -> u32 {
    Rest(bytes).u32().expect("a value has a count")
}

/// How many nodes of a query may be in the making, where their words have this number of bytes.
pub(super) fn most_nodes(texts: usize) -> usize {
    (MAX_BYTES - 8 - texts) / 12
}

pub(super) fn too_large() -> Error {
    Error::new("54000", "tsquery is too large")
}

/// The nodes that bytes are, each behind what it joins.
fn read(bytes: &[u8], mut look: impl FnMut(usize) -> Result<()>) -> Result<Vec<Node<'_>>> {
    let short = || Error::new("08P01", "insufficient data left in message");
    let mut rest = Rest(bytes);
    let count = rest.u32().ok_or_else(short)? as usize;
    if count > MAX_BYTES / 12 {
        return Err(Error::internal("invalid size of tsquery"));
    }
    // A node has two bytes at least.
    let mut nodes = Vec::with_capacity(count.min(bytes.len() / 2));
    let mut sum = 0;
    for at in 0..count {
        look(at)?;
        nodes.push(match rest.u8().ok_or_else(short)? {
            WORD => {
                let weights = rest.u8().ok_or_else(short)?;
                let prefix = rest.u8().ok_or_else(short)? != 0;
                let text = rest.text().ok_or_else(short)??;
                if weights > 15 {
                    return Err(Error::internal("invalid tsquery: invalid weight bitmap"));
                }
                if text.len() > WORD_BYTES {
                    return Err(Error::internal("invalid tsquery: operand too long"));
                }
                sum += text.len() + 1;
                if sum > TEXT_BYTES {
                    let text = "invalid tsquery: total operand length exceeded";
                    return Err(Error::internal(text));
                }
                Node::Word(Word { text: text.into(), weights, prefix })
            }
            OPERATOR => {
                let operator = rest.u8().ok_or_else(short)?;
                if !(NOT..=PHRASE).contains(&operator) {
                    let text =
                        format!("invalid tsquery: unrecognized operator type {}", operator as i8);
                    return Err(Error::internal(text));
                }
                if at + 1 == count {
                    return Err(Error::internal("invalid pointer to right operand"));
                }
                match operator {
                    NOT => Node::Not,
                    AND => Node::Two(Join::And),
                    OR => Node::Two(Join::Or),
                    _ => Node::Two(Join::Phrase(rest.u16().ok_or_else(short)?)),
                }
            }
            other => {
                let text = format!("unrecognized tsquery node type: {}", other as i8);
                return Err(Error::internal(text));
            }
        });
    }
    if !rest.0.is_empty() {
        return Err(Error::new("22P03", "incorrect binary data format"));
    }
    nodes.reverse();
    Ok(nodes)
}

/// Reads the binary form. Other than PostgreSQL, it takes the empty query, which it sends.
///
/// # Errors
/// `08P01`, `22021`, `22P03`, `XX000`, `53200`, `57014`
pub(crate) fn recv(bytes: &[u8], cx: &Cx<'_>) -> Result<Vec<u8>> {
    let mut growth = Growth::new();
    let nodes = read(bytes, |at| {
        cx.worked(size_of::<Node<'_>>())?;
        growth.memory(cx, at * 2 * size_of::<Node<'_>>())
    })?;
    Query::new(nodes)?.store()
}

/// Appends bytes that sort as values do: by the number of nodes, the bytes of their words, and then node by node, operators
/// first, words by a sum of their bytes. Weights do not count, and whether a word is the beginning of others.
pub(crate) fn key(bytes: &[u8], out: &mut Vec<u8>) {
    let query = Query::load(bytes);
    let texts: usize = query.words().map(|(_, word)| word.text.len() + 1).sum();
    out.extend((query.nodes.len() as u32).to_be_bytes());
    out.extend((texts as u32).to_be_bytes());
    // What is still to be written: a node, or the distance of one whose sides were.
    let mut open: Vec<(usize, bool)> = query.top().map(|top| (top, false)).into_iter().collect();
    while let Some((at, is_behind)) = open.pop() {
        match &query.nodes[at] {
            Node::Word(word) => {
                out.push(1);
                out.extend((!(sum(word.text.as_bytes()) ^ 1 << 31)).to_be_bytes());
                out.extend_from_slice(word.text.as_bytes());
                out.push(0);
            }
            Node::Stop => unreachable!("a value has no such node"),
            Node::Two(Join::Phrase(distance)) if is_behind => {
                out.extend((!distance).to_be_bytes());
            }
            Node::Not => {
                out.extend([0, PHRASE - NOT]);
                open.push((at - 1, false));
            }
            Node::Two(join) => {
                let operator = match join {
                    Join::And => AND,
                    Join::Or => OR,
                    Join::Phrase(_) => PHRASE,
                };
                out.extend([0, PHRASE - operator]);
                let (left, right) = query.sides(at);
                if operator == PHRASE {
                    open.push((at, true));
                }
                open.extend([(left, false), (right, false)]);
            }
        }
    }
}

/// The sum of a word's bytes that PostgreSQL orders words of queries by: the table of CRC-32, used from its other end.
fn sum(bytes: &[u8]) -> u32 {
    const TABLE: [u32; 256] = {
        let mut table = [0; 256];
        let mut at = 0;
        while at < 256 {
            let mut value = at as u32;
            let mut bit = 0;
            while bit < 8 {
                value = if value & 1 == 1 { 0xedb8_8320 ^ value >> 1 } else { value >> 1 };
                bit += 1;
            }
            table[at] = value;
            at += 1;
        }
        table
    };
    let step = |sum: u32, byte: &u8| TABLE[((sum >> 24) as u8 ^ byte) as usize] ^ sum << 8;
    !bytes.iter().fold(u32::MAX, step)
}
