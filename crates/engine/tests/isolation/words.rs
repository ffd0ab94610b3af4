//! What does a step say? Its words, one after the other.

use onlap::{Isolation, Row, RowLock, TableSchema, Value};

/// The words of a step that are not read yet.
pub struct Words(std::iter::Peekable<std::vec::IntoIter<String>>);

impl Words {
    pub fn of(text: &str) -> Words {
        let mut spaced = String::new();
        for c in text.chars() {
            match c {
                '(' | ')' | ',' | '%' | '+' => spaced.extend([' ', c, ' ']),
                _ => spaced.push(c),
            }
        }
        let words: Vec<String> = spaced.split_whitespace().map(str::to_owned).collect();
        Words(words.into_iter().peekable())
    }

    pub fn next(&mut self) -> String {
        self.0.next().expect("one more word")
    }

    /// Reads `word` if it comes next.
    pub fn take(&mut self, word: &str) -> bool {
        self.0.next_if(|w| w == word).is_some()
    }

    pub fn expect(&mut self, word: &str) {
        assert!(self.take(word), "{word} comes next, not {:?}", self.0.peek());
    }

    pub fn number(&mut self) -> i64 {
        let word = self.next();
        word.parse().unwrap_or_else(|_| panic!("{word} is no number"))
    }

    pub fn value(&mut self) -> Value {
        if self.take("null") { Value::Null } else { Value::Int(self.number()) }
    }

    pub fn end(&mut self) {
        assert_eq!(self.0.next(), None, "the step ends");
    }

    pub fn level(&mut self) -> Option<Isolation> {
        if self.take("read") {
            self.expect("committed");
            return Some(Isolation::ReadCommitted);
        }
        if self.take("repeatable") {
            self.expect("read");
            return Some(Isolation::RepeatableRead);
        }
        self.take("serializable").then_some(Isolation::Serializable)
    }

    /// What follows `for`.
    pub fn lock(&mut self) -> RowLock {
        match self.next().as_str() {
            "update" => RowLock::Update,
            "share" => RowLock::Share,
            "key" => {
                self.expect("share");
                RowLock::KeyShare
            }
            "no" => {
                self.expect("key");
                self.expect("update");
                RowLock::NoKeyUpdate
            }
            other => panic!("unknown lock {other}"),
        }
    }

    /// Conditions after `where`, if that comes next.
    pub fn condition(&mut self, schema: &TableSchema) -> Condition {
        let mut tests = Vec::new();
        if self.take("where") {
            loop {
                tests.push(self.test(schema));
                if !self.take("and") {
                    break;
                }
            }
        }
        Condition(tests)
    }

    fn test(&mut self, schema: &TableSchema) -> Test {
        let column = position(schema, &self.next());
        let is = match self.next().as_str() {
            "=" => Is::Equal(vec![self.number()]),
            "<" => Is::Within(i64::MIN, self.number() - 1),
            "<=" => Is::Within(i64::MIN, self.number()),
            ">" => Is::Within(self.number() + 1, i64::MAX),
            ">=" => Is::Within(self.number(), i64::MAX),
            "in" => {
                self.expect("(");
                let mut values = vec![self.number()];
                while self.take(",") {
                    values.push(self.number());
                }
                self.expect(")");
                Is::Equal(values)
            }
            "%" => {
                let by = self.number();
                self.expect("=");
                Is::Rest(by, self.number())
            }
            other => panic!("unknown operator {other}"),
        };
        Test { column, is }
    }

    /// `column = value`, `column = column + value`, parted by commas.
    pub fn changes(&mut self, schema: &TableSchema) -> Vec<Change> {
        let mut changes = Vec::new();
        loop {
            let column = position(schema, &self.next());
            self.expect("=");
            let from =
                self.0.peek().and_then(|w| schema.columns.iter().position(|c| c.name == **w));
            let to = if let Some(from) = from {
                self.next();
                self.expect("+");
                To::Sum(from, self.number())
            } else {
                To::Value(self.value())
            };
            changes.push(Change { column, to });
            if !self.take(",") {
                return changes;
            }
        }
    }
}

pub fn position(schema: &TableSchema, name: &str) -> usize {
    schema.position_by_name(name).unwrap_or_else(|| panic!("no column {name}"))
}

/// All of these hold.
#[derive(Clone)]
pub struct Condition(pub Vec<Test>);

#[derive(Clone)]
pub struct Test {
    pub column: usize,
    pub is: Is,
}

#[derive(Clone)]
pub enum Is {
    /// One of these.
    Equal(Vec<i64>),
    /// From, to.
    Within(i64, i64),
    /// Divided by, leaves.
    Rest(i64, i64),
}

impl Condition {
    pub fn holds(&self, row: &Row) -> bool {
        self.0.iter().all(|test| match (&row[test.column], &test.is) {
            (Value::Int(v), Is::Equal(values)) => values.contains(v),
            (Value::Int(v), Is::Within(from, to)) => (from..=to).contains(&v),
            (Value::Int(v), Is::Rest(by, rest)) => v % by == *rest,
            _ => false,
        })
    }

    /// The primary key that it asks for, if it does nothing else.
    pub fn key(&self) -> Option<i64> {
        match &self.0[..] {
            [Test { column: 0, is: Is::Equal(values) }] if values.len() == 1 => Some(values[0]),
            _ => None,
        }
    }
}

/// What an update does to a column.
pub struct Change {
    pub column: usize,
    to: To,
}

enum To {
    Value(Value),
    Sum(usize, i64),
}

impl Change {
    /// The same for all rows.
    pub fn constant(&self) -> Option<&Value> {
        match &self.to {
            To::Value(value) => Some(value),
            To::Sum(..) => None,
        }
    }

    pub fn of(&self, row: &Row) -> Value {
        match &self.to {
            To::Value(value) => value.clone(),
            To::Sum(column, more) => match row[*column] {
                Value::Int(v) => Value::Int(v + more),
                _ => Value::Null,
            },
        }
    }
}
