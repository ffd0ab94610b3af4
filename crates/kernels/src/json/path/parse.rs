//! How is a text of jsonpath read?
//!
//! By descent, with a limit on depth. Where `@` and `last` may stand is checked on the way.
//! Thread safety: pure functions.

use onlap_pg::value::numeric::Numeric;
use onlap_pg::{Error, Result, worked};

use super::lex::{Token, tokens, wrong};
use super::tree::{Expr, Head, Method, Operator, Path, Pattern, Step};
use crate::json::form::too_deep;

/// How deep expressions may be nested.
const MAX_DEPTH: usize = 200;

/// jsonpath_in.
pub(crate) fn parse(text: &str) -> Result<Path> {
    let tokens = tokens(text)?;
    if tokens.len() == 1 {
        let message = format!("invalid input syntax for type jsonpath: \"{text}\"");
        return Err(Error::new("22P02", message));
    }
    let mut parser = Parser { text, tokens, at: 0, depth: 0, in_filter: 0, in_subscript: 0 };
    let strict = parser.take_word("strict");
    if !strict {
        parser.take_word("lax");
    }
    let expr = parser.condition()?;
    match parser.peek() {
        Token::End => Ok(Path { strict, expr }),
        _ => Err(parser.wrong()),
    }
}

struct Parser<'a> {
    text: &'a str,
    tokens: Vec<(Token, usize, usize)>,
    at: usize,
    depth: usize,
    in_filter: usize,
    in_subscript: usize,
}

impl Parser<'_> {
    fn peek(&self) -> &Token {
        &self.tokens[self.at].0
    }

    fn next(&mut self) -> Token {
        let token = self.tokens[self.at].0.clone();
        if self.at + 1 < self.tokens.len() {
            self.at += 1;
        }
        token
    }

    /// "syntax error" at what comes next. PostgreSQL shows what ended a name, and the last quote of a string.
    fn wrong(&self) -> Error {
        let (token, start, end) = &self.tokens[self.at];
        let whole = &self.text[*start..*end];
        let shown = match token {
            Token::Name(_) | Token::Text(_) | Token::Variable(_) if whole.ends_with('"') => "\"",
            Token::Name(_) | Token::Variable(_) => {
                let rest = &self.text[*end..];
                &rest
                    [..rest.len() - rest.trim_start_matches([' ', '\t', '\n', '\r', '\u{c}']).len()]
            }
            _ => whole,
        };
        wrong("syntax error", shown)
    }

    fn is_sign(&self, sign: &str) -> bool {
        matches!(self.peek(), Token::Sign(found) if *found == sign)
    }

    fn take_sign(&mut self, sign: &str) -> bool {
        let found = self.is_sign(sign);
        if found {
            self.next();
        }
        found
    }

    fn sign(&mut self, sign: &str) -> Result<()> {
        if self.take_sign(sign) { Ok(()) } else { Err(self.wrong()) }
    }

    fn is_word(&self, word: &str) -> bool {
        matches!(self.peek(), Token::Name(found) if found.eq_ignore_ascii_case(word))
    }

    fn take_word(&mut self, word: &str) -> bool {
        let found = self.is_word(word);
        if found {
            self.next();
        }
        found
    }

    fn word(&mut self, word: &str) -> Result<()> {
        if self.take_word(word) { Ok(()) } else { Err(self.wrong()) }
    }

    fn deeper<T>(&mut self, read: impl FnOnce(&mut Self) -> Result<T>) -> Result<T> {
        if self.depth >= MAX_DEPTH {
            return Err(too_deep());
        }
        self.depth += 1;
        let read = read(self);
        self.depth -= 1;
        read
    }

    /// An expression or a condition.
    fn condition(&mut self) -> Result<Expr> {
        self.deeper(|parser| {
            parser.chain("||", Operator::Or, |parser| {
                parser.chain("&&", Operator::And, Parser::comparison)
            })
        })
    }

    fn chain(
        &mut self,
        sign: &str,
        operator: Operator,
        read: impl Fn(&mut Self) -> Result<Expr>,
    ) -> Result<Expr> {
        let mut left = read(self)?;
        let mut length = 0;
        while self.is_sign(sign) {
            length += 1;
            if !left.is_predicate() {
                return Err(self.wrong());
            }
            if length >= MAX_DEPTH {
                return Err(too_deep());
            }
            self.next();
            let right = read(self)?;
            if !right.is_predicate() {
                return Err(self.wrong());
            }
            left = Expr::of(Head::Binary(operator, Box::new(left), Box::new(right)));
        }
        Ok(left)
    }

    fn comparison(&mut self) -> Result<Expr> {
        if self.take_sign("!") {
            let inner = match self.is_word("exists") {
                true => self.exists()?,
                false => {
                    self.sign("(")?;
                    let inner = self.condition()?;
                    if !inner.is_predicate() {
                        return Err(self.wrong());
                    }
                    self.sign(")")?;
                    inner
                }
            };
            return Ok(Expr::of(Head::Not(Box::new(inner))));
        }
        let left = self.sum()?;
        let operator = match self.peek() {
            Token::Sign("==") => Operator::Equal,
            Token::Sign("!=") => Operator::NotEqual,
            Token::Sign("<") => Operator::Less,
            Token::Sign("<=") => Operator::LessOrEqual,
            Token::Sign(">") => Operator::Greater,
            Token::Sign(">=") => Operator::GreaterOrEqual,
            _ if self.is_word("starts") => Operator::StartsWith,
            _ if self.is_word("like_regex") => return self.like_regex(left),
            _ => return Ok(left),
        };
        if left.is_predicate() {
            return Err(self.wrong());
        }
        self.next();
        let right = if operator == Operator::StartsWith {
            self.word("with")?;
            match self.next() {
                Token::Text(text) => Expr::of(Head::Text(text)),
                Token::Variable(name) => Expr::of(Head::Variable(name)),
                _ => {
                    self.at = self.at.saturating_sub(1);
                    return Err(self.wrong());
                }
            }
        } else {
            self.sum()?
        };
        if right.is_predicate() {
            return Err(self.wrong());
        }
        Ok(Expr::of(Head::Binary(operator, Box::new(left), Box::new(right))))
    }

    fn like_regex(&mut self, left: Expr) -> Result<Expr> {
        if left.is_predicate() {
            return Err(self.wrong());
        }
        self.next();
        let Token::Text(pattern) = self.peek().clone() else { return Err(self.wrong()) };
        self.next();
        let mut flags = String::new();
        if self.take_word("flag") {
            let Token::Text(given) = self.peek().clone() else { return Err(self.wrong()) };
            self.next();
            if let Some(flag) = given.chars().find(|c| !"isxmq".contains(*c)) {
                let detail =
                    format!("Unrecognized flag character \"{flag}\" in LIKE_REGEX predicate.");
                let message = "invalid input syntax for type jsonpath";
                return Err(Error::new("42601", message).detail(detail));
            }
            flags = "ismxq".chars().filter(|c| given.contains(*c)).collect();
        }
        Ok(Expr::of(Head::LikeRegex(Box::new(left), Pattern::new(pattern, flags)?)))
    }

    fn exists(&mut self) -> Result<Expr> {
        self.word("exists")?;
        self.sign("(")?;
        let inner = self.deeper(Parser::sum)?;
        if inner.is_predicate() {
            return Err(self.wrong());
        }
        self.sign(")")?;
        Ok(Expr::of(Head::Exists(Box::new(inner))))
    }

    fn sum(&mut self) -> Result<Expr> {
        let operators = [("+", Operator::Add), ("-", Operator::Subtract)];
        self.arithmetic(&operators, |parser| {
            let operators =
                [("*", Operator::Multiply), ("/", Operator::Divide), ("%", Operator::Modulo)];
            parser.arithmetic(&operators, Parser::signed)
        })
    }

    fn arithmetic(
        &mut self,
        operators: &[(&str, Operator)],
        read: impl Fn(&mut Self) -> Result<Expr>,
    ) -> Result<Expr> {
        let mut left = read(self)?;
        let mut length = 0;
        while let Some((_, operator)) = operators.iter().find(|found| self.is_sign(found.0)) {
            length += 1;
            if left.is_predicate() {
                return Err(self.wrong());
            }
            if length >= MAX_DEPTH {
                return Err(too_deep());
            }
            self.next();
            let right = read(self)?;
            if right.is_predicate() {
                return Err(self.wrong());
            }
            left = Expr::of(Head::Binary(*operator, Box::new(left), Box::new(right)));
        }
        Ok(left)
    }

    fn signed(&mut self) -> Result<Expr> {
        let negative = self.is_sign("-");
        if !negative && !self.is_sign("+") {
            return self.accessed();
        }
        self.next();
        let inner = self.deeper(Parser::signed)?;
        if inner.is_predicate() {
            return Err(self.wrong());
        }
        match (&inner.head, inner.steps.is_empty()) {
            (Head::Number(number), true) if negative => Ok(Expr::of(Head::Number(number.negate()))),
            (Head::Number(_), true) => Ok(inner),
            _ => Ok(Expr::of(Head::Sign(negative, Box::new(inner)))),
        }
    }

    /// What an expression begins with, and its steps.
    fn accessed(&mut self) -> Result<Expr> {
        let mut expr = self.primary()?;
        while let Some(step) = self.step()? {
            worked(8)?;
            expr.steps.push(step);
        }
        Ok(expr)
    }

    fn primary(&mut self) -> Result<Expr> {
        if self.take_sign("(") {
            let inner = self.condition()?;
            self.sign(")")?;
            if inner.is_predicate() && self.take_word("is") {
                self.word("unknown")?;
                return Ok(Expr::of(Head::IsUnknown(Box::new(inner))));
            }
            return Ok(inner);
        }
        if self.is_word("exists") {
            return self.exists();
        }
        let head = match self.peek().clone() {
            Token::Text(text) => Head::Text(text),
            Token::Variable(name) => Head::Variable(name),
            Token::Int(digits) | Token::Number(digits) => Head::Number(Numeric::parse(&digits)?),
            Token::Root => Head::Root,
            Token::Sign("@") if self.in_filter == 0 => {
                return Err(Error::new("42601", "@ is not allowed in root expressions"));
            }
            Token::Sign("@") => Head::Current,
            Token::Name(name) => match name.as_str() {
                "null" => Head::Null,
                "true" => Head::Bool(true),
                "false" => Head::Bool(false),
                last if last.eq_ignore_ascii_case("last") => {
                    if self.in_subscript == 0 {
                        let message = "LAST is allowed only in array subscripts";
                        return Err(Error::new("42601", message));
                    }
                    Head::Last
                }
                _ => return Err(self.wrong()),
            },
            _ => return Err(self.wrong()),
        };
        self.next();
        Ok(Expr::of(head))
    }

    fn step(&mut self) -> Result<Option<Step>> {
        if self.take_sign("[") {
            return self.elements().map(Some);
        }
        if self.take_sign("?") {
            self.sign("(")?;
            self.in_filter += 1;
            let filter = self.condition()?;
            self.in_filter -= 1;
            if !filter.is_predicate() {
                return Err(self.wrong());
            }
            self.sign(")")?;
            return Ok(Some(Step::Filter(Box::new(filter))));
        }
        if !self.take_sign(".") {
            return Ok(None);
        }
        if self.take_sign("*") {
            return Ok(Some(Step::AnyKey));
        }
        if self.take_sign("**") {
            return self.levels().map(Some);
        }
        match self.peek().clone() {
            Token::Text(key) => {
                self.next();
                Ok(Some(Step::Key(key)))
            }
            Token::Name(name) => {
                self.next();
                if self.is_sign("(") {
                    return self.method(&name).map(Some);
                }
                Ok(Some(Step::Key(name)))
            }
            _ => Err(self.wrong()),
        }
    }

    fn method(&mut self, name: &str) -> Result<Step> {
        let methods = [
            Method::Type,
            Method::Size,
            Method::Abs,
            Method::Floor,
            Method::Ceiling,
            Method::Double,
            Method::KeyValue,
        ];
        let found = methods.into_iter().find(|method| name.eq_ignore_ascii_case(method.name()));
        let Some(method) = found else {
            return match name.eq_ignore_ascii_case("datetime") {
                true => self.date_time(),
                false => Err(self.wrong()),
            };
        };
        self.sign("(")?;
        self.sign(")")?;
        Ok(Step::Method(method))
    }

    fn date_time(&mut self) -> Result<Step> {
        self.sign("(")?;
        let template = match self.peek().clone() {
            Token::Text(template) => {
                self.next();
                Some(template)
            }
            _ => None,
        };
        self.sign(")")?;
        Ok(Step::DateTime(template))
    }

    fn elements(&mut self) -> Result<Step> {
        if self.take_sign("*") {
            self.sign("]")?;
            return Ok(Step::AnyElement);
        }
        self.in_subscript += 1;
        let mut found = Vec::new();
        loop {
            let from = self.deeper(Parser::sum)?;
            if from.is_predicate() {
                return Err(self.wrong());
            }
            let to = match self.take_word("to") {
                true => Some(self.deeper(Parser::sum)?),
                false => None,
            };
            found.push((from, to));
            if !self.take_sign(",") {
                break;
            }
        }
        self.in_subscript -= 1;
        self.sign("]")?;
        Ok(Step::Elements(found))
    }

    /// What may follow `**`.
    fn levels(&mut self) -> Result<Step> {
        if !self.take_sign("{") {
            return Ok(Step::Any(0, u32::MAX));
        }
        let first = self.level()?;
        let last = if self.take_word("to") { self.level()? } else { first };
        self.sign("}")?;
        Ok(Step::Any(first, last))
    }

    fn level(&mut self) -> Result<u32> {
        if self.take_word("last") {
            return Ok(u32::MAX);
        }
        match self.peek().clone() {
            Token::Int(digits) => {
                self.next();
                onlap_pg::value::int::parse_int4(&digits).map(|level| level as u32)
            }
            _ => Err(self.wrong()),
        }
    }
}
