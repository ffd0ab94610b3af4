//! How is the text of a tsquery read?
//!
//! Three ways: with operators ([`standard`]), as people type it into a search field ([`typed`]), and as words alone ([`plain`]).
//! What is between operators is handed to a function that adds nodes for it: the words as they are, or what dictionaries make
//! of them. Thread safety: pure functions.

use onlap_base::limits;
use onlap_pg::{Error, Result};

use super::query::{Join, Node, Query, Word, most_nodes, too_large};
use super::vector::{ALL_BYTES, WORD_BYTES};
use super::words::{Of, Words, is_operator, is_space};
use crate::Cx;
use crate::json::form::too_deep;
use crate::misc::growth::Growth;

/// Operators that wait for their right side, between two parentheses.
const WAITING: usize = limits::QUERY_WAITING;
/// Parentheses in each other.
const LEVELS: u32 = limits::QUERY_NESTING;

/// Nodes in the making, each behind what it joins.
#[derive(Debug)]
pub(super) struct Nodes<'t> {
    text: &'t str,
    all: Vec<Node<'static>>,
    /// Bytes of all words.
    sum: usize,
    growth: Growth,
}

/// Bytes of a node in the making: it is in a list that has grown to up to twice what is in it, and in one without words that no
/// document has; next to these are the ends of left sides, and what waits to be joined.
const NODE_BYTES: usize = 3 * size_of::<Node<'static>>() + 4 * size_of::<usize>();

impl Nodes<'_> {
    /// Adds a node.
    ///
    /// # Errors
    /// `54000`, `53200`, `57014`
    pub(super) fn push(&mut self, node: Node<'static>, cx: &Cx<'_>) -> Result<()> {
        // As PostgreSQL, which counts words that no document has, too.
        if self.all.len() >= most_nodes(self.sum) {
            return Err(too_large());
        }
        cx.worked(size_of::<Node<'_>>())?;
        self.growth.memory(cx, (self.all.len() + 1) * NODE_BYTES + self.sum)?;
        self.all.push(node);
        Ok(())
    }

    /// Adds a word.
    ///
    /// # Errors
    /// As [`Nodes::push`].
    pub(super) fn word(
        &mut self,
        word: &str,
        weights: u8,
        prefix: bool,
        cx: &Cx<'_>,
    ) -> Result<()> {
        if word.len() >= WORD_BYTES {
            let text = format!("word is too long in tsquery: \"{}\"", self.text);
            return Err(Error::new("54000", text));
        }
        if self.sum >= ALL_BYTES {
            let text = format!("value is too big in tsquery: \"{}\"", self.text);
            return Err(Error::new("54000", text));
        }
        self.sum += word.len() + 1;
        let text = word.to_string().into();
        self.push(Node::Word(Word { text, weights, prefix }), cx)
    }
}

/// What adds nodes for a word: its text, weights, and whether it is the beginning of words.
pub(super) type Add<'f> = &'f mut dyn FnMut(&mut Nodes<'_>, &str, u8, bool, &Cx<'_>) -> Result<()>;

/// A word as it is.
///
/// # Errors
/// `54000`, `53200`, `57014`
pub(super) fn as_it_is(
    nodes: &mut Nodes<'_>,
    word: &str,
    weights: u8,
    prefix: bool,
    cx: &Cx<'_>,
) -> Result<()> {
    nodes.word(word, weights, prefix, cx)
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Operator {
    Not,
    Two(Join),
}

impl Operator {
    /// What binds closer is larger.
    fn closeness(self) -> u8 {
        match self {
            Operator::Two(Join::Or) => 1,
            Operator::Two(Join::And) => 2,
            Operator::Two(Join::Phrase(_)) => 3,
            Operator::Not => 4,
        }
    }

    fn node(self) -> Node<'static> {
        match self {
            Operator::Not => Node::Not,
            Operator::Two(join) => Node::Two(join),
        }
    }
}

#[derive(Debug)]
enum Token {
    End,
    Word(String, u8, bool),
    Operator(Operator),
    Open,
    Close,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Wanted {
    FirstOperand,
    Operand,
    Operator,
}

struct Reader<'t> {
    words: Words<'t>,
    wanted: Wanted,
    open: u32,
}

/// A query with operators.
///
/// # Errors
/// `42601`, `22023`, `54000`, `54001`, `53200`, `57014`, those of adding
pub(super) fn standard(text: &str, add: Add<'_>, cx: &Cx<'_>) -> Result<Vec<u8>> {
    let words = Words::new(text, Of::Query);
    let mut reader = Reader { words, wanted: Wanted::FirstOperand, open: 0 };
    joined(text, &mut || reader.standard(), add, cx)
}

/// A query as people type it: quotes around phrases, OR, and a dash for NOT.
///
/// # Errors
/// As [`standard`].
pub(super) fn typed(text: &str, add: Add<'_>, cx: &Cx<'_>) -> Result<Vec<u8>> {
    let words = Words::new(text, Of::Typed);
    let mut reader = Reader { words, wanted: Wanted::FirstOperand, open: 0 };
    joined(text, &mut || reader.typed(), add, cx)
}

/// The words of a text.
///
/// # Errors
/// As [`standard`].
pub(super) fn plain(text: &str, add: Add<'_>, cx: &Cx<'_>) -> Result<Vec<u8>> {
    let mut is_read = text.is_empty();
    let mut token = || {
        let token = if is_read { Token::End } else { Token::Word(text.to_string(), 0, false) };
        is_read = true;
        Ok(Some(token))
    };
    joined(text, &mut token, add, cx)
}

/// Puts tokens in order. `None` is one that is missing: a word that no document has.
fn joined(
    text: &str,
    next: &mut dyn FnMut() -> Result<Option<Token>>,
    add: Add<'_>,
    cx: &Cx<'_>,
) -> Result<Vec<u8>> {
    // One word may be all of it.
    cx.room(text.len())?;
    let mut nodes = Nodes { text, all: Vec::new(), sum: 0, growth: Growth::new() };
    let mut waiting: Vec<Vec<Operator>> = vec![Vec::new()];
    loop {
        let Some(token) = next()? else {
            nodes.push(Node::Stop, cx)?;
            break;
        };
        let own = waiting.last_mut().expect("there is one more than open parentheses");
        match token {
            Token::End => break,
            Token::Word(word, weights, prefix) => {
                cx.worked(word.len())?;
                add(&mut nodes, &word, weights, prefix, cx)?;
            }
            Token::Operator(operator) => {
                release(own, operator, &mut nodes, cx)?;
                if own.len() == WAITING {
                    return Err(Error::internal("tsquery stack too small"));
                }
                own.push(operator);
            }
            Token::Open => waiting.push(Vec::new()),
            Token::Close => {
                let own = waiting.pop().expect("it was opened");
                own.into_iter().rev().try_for_each(|last| nodes.push(last.node(), cx))?;
            }
        }
    }
    let own = waiting.pop().expect("parentheses are closed");
    own.into_iter().rev().try_for_each(|last| nodes.push(last.node(), cx))?;
    Query::new(nodes.all)?.without_stops().store()
}

/// Adds what binds at least as close as the operator that comes.
fn release(
    waiting: &mut Vec<Operator>,
    next: Operator,
    nodes: &mut Nodes<'_>,
    cx: &Cx<'_>,
) -> Result<()> {
    while let Some(last) = waiting.last() {
        let stays = match next {
            Operator::Not => next.closeness() >= last.closeness(),
            _ => next.closeness() > last.closeness(),
        };
        if stays {
            break;
        }
        nodes.push(last.node(), cx)?;
        waiting.pop();
    }
    Ok(())
}

impl Reader<'_> {
    fn error(&self, what: &str) -> Error {
        Error::new("42601", format!("{what} in tsquery: \"{}\"", self.words.text))
    }

    /// Skips a character.
    fn skip(&mut self) {
        let c = self.words.text[self.words.at..].chars().next();
        self.words.at += c.map_or(0, char::len_utf8);
    }

    fn operator(&mut self, operator: Operator) -> Result<Option<Token>> {
        self.wanted = Wanted::Operand;
        Ok(Some(Token::Operator(operator)))
    }

    fn standard(&mut self) -> Result<Option<Token>> {
        loop {
            let next = self.words.peek();
            if next.is_some_and(is_space) {
                self.words.at += 1;
                continue;
            }
            if self.wanted != Wanted::Operator {
                return self.operand(next);
            }
            match next {
                Some(byte @ (b'&' | b'|')) => {
                    self.words.at += 1;
                    let join = if byte == b'&' { Join::And } else { Join::Or };
                    return self.operator(Operator::Two(join));
                }
                Some(b'<') => match self.distance()? {
                    Some(distance) => return self.operator(Operator::Two(Join::Phrase(distance))),
                    None => return Err(self.error("syntax error")),
                },
                Some(b')') if self.open > 0 => {
                    self.words.at += 1;
                    self.open -= 1;
                    return Ok(Some(Token::Close));
                }
                None if self.open == 0 => return Ok(Some(Token::End)),
                _ => return Err(self.error("syntax error")),
            }
        }
    }

    fn operand(&mut self, next: Option<u8>) -> Result<Option<Token>> {
        match next {
            Some(b'!') => {
                self.words.at += 1;
                self.operator(Operator::Not)
            }
            Some(b'(') => {
                self.words.at += 1;
                self.wanted = Wanted::Operand;
                self.open += 1;
                if self.open > LEVELS {
                    return Err(too_deep());
                }
                Ok(Some(Token::Open))
            }
            Some(b':') => Err(self.error("syntax error")),
            _ => match self.words.next()? {
                Some(word) => {
                    let (weights, prefix) = self.modifiers();
                    self.wanted = Wanted::Operator;
                    Ok(Some(Token::Word(word, weights, prefix)))
                }
                None if self.wanted == Wanted::FirstOperand => Ok(Some(Token::End)),
                None => Err(self.error("no operand")),
            },
        }
    }

    /// Weights and a star behind a colon.
    fn modifiers(&mut self) -> (u8, bool) {
        let (mut weights, mut prefix) = (0, false);
        if self.words.peek() != Some(b':') {
            return (0, false);
        }
        self.words.at += 1;
        while let Some(byte) = self.words.peek() {
            match (byte, super::vector::weight_of(byte)) {
                (b'*', _) => prefix = true,
                (_, Some(weight)) => weights |= 1 << weight,
                _ => break,
            }
            self.words.at += 1;
        }
        (weights, prefix)
    }

    /// `<->` or `<3>`, behind which something must stand.
    fn distance(&mut self) -> Result<Option<u16>> {
        let rest = &self.words.text.as_bytes()[self.words.at + 1..];
        let digits = rest.iter().take_while(|byte| byte.is_ascii_digit()).count();
        let (distance, length) = match rest.first() {
            Some(b'-') => (1, 1),
            _ if digits > 0 => {
                let add = |sum: u64, byte: &u8| {
                    sum.saturating_mul(10).saturating_add(u64::from(byte - b'0'))
                };
                (rest[..digits].iter().fold(0, add), digits)
            }
            _ => return Ok(None),
        };
        if distance > FARTHEST {
            return Err(too_far());
        }
        if rest.get(length) != Some(&b'>') || rest.len() == length + 1 {
            return Ok(None);
        }
        self.words.at += length + 2;
        Ok(Some(distance as u16))
    }

    fn typed(&mut self) -> Result<Option<Token>> {
        loop {
            let next = self.words.peek();
            match (next, self.wanted) {
                (Some(byte), _) if is_space(byte) => self.words.at += 1,
                (None, Wanted::Operator) => return Ok(Some(Token::End)),
                (Some(b'"'), Wanted::Operator) => {
                    return self.operator(Operator::Two(Join::And));
                }
                (Some(_), Wanted::Operator) => {
                    let join = if self.is_or() { Join::Or } else { Join::And };
                    self.words.at += if join == Join::Or { 2 } else { 0 };
                    return self.operator(Operator::Two(join));
                }
                (Some(b'-'), _) => {
                    self.words.at += 1;
                    return self.operator(Operator::Not);
                }
                (Some(b'"'), _) => {
                    let rest = &self.words.text[self.words.at + 1..];
                    let length = rest.find('"').unwrap_or(rest.len());
                    self.words.at += 1 + (length + 1).min(rest.len());
                    self.wanted = Wanted::Operator;
                    return Ok(Some(Token::Word(rest[..length].to_string(), 0, false)));
                }
                (Some(byte), _) if is_operator(byte) => {
                    self.skip();
                    self.wanted = Wanted::Operand;
                }
                _ => {
                    let Some(word) = self.words.next()? else {
                        let is_first = self.wanted == Wanted::FirstOperand;
                        // Something has to be behind an operator.
                        return Ok(is_first.then_some(Token::End));
                    };
                    self.wanted = Wanted::Operator;
                    return Ok(Some(Token::Word(word, 0, false)));
                }
            }
        }
    }

    /// Whether OR is here as a word of its own, with anything behind it.
    fn is_or(&self) -> bool {
        let rest = &self.words.text[self.words.at..];
        let Some((word, behind)) = rest.split_at_checked(2) else { return false };
        let of_word = |c: char| matches!(c, '-' | '_') || c.is_ascii_alphanumeric();
        let mut behind = behind.chars();
        if !word.eq_ignore_ascii_case("or") || behind.next().is_none_or(of_word) {
            return false;
        }
        behind.any(|c| !(c.is_ascii() && is_space(c as u8)))
    }
}

/// The largest distance of a phrase.
pub(super) const FARTHEST: u64 = 1 << 14;

pub(super) fn too_far() -> Error {
    let text = format!(
        "distance in phrase operator must be an integer value between zero and {FARTHEST} inclusive"
    );
    Error::new("22023", text)
}
