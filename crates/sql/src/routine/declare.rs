//! DECLARE, and RAISE.

use onlap_pg::grammar::Kind as Token;

use super::body::{Act, Conflict, Kind, Level, Raise, RaiseOption};
use super::conditions;
use super::read::{Reader, find, no_condition};
use super::types;
use crate::error::{Result, SqlError, state};

impl Reader<'_> {
    /// `#variable_conflict` and other options before the outermost block.
    pub(super) fn options(&mut self) -> Result<Conflict> {
        let mut conflict = Conflict::default();
        while self.words.accept_operator("#") {
            if self.words.accept("variable_conflict") {
                conflict = match self.words.word() {
                    Some("error") => Conflict::Error,
                    Some("use_variable") => Conflict::Variable,
                    Some("use_column") => Conflict::Column,
                    _ => return Err(self.words.unexpected()),
                };
                self.words.advance();
            } else if self.words.accept("print_strict_params") {
                match self.words.word() {
                    Some("off") => self.words.advance(),
                    Some("on") => return Err(SqlError::unsupported("#print_strict_params on")),
                    _ => return Err(self.words.unexpected()),
                }
            } else if self.words.is("option") {
                return Err(SqlError::unsupported("#option in PL/pgSQL"));
            } else {
                return Err(self.words.unexpected());
            }
        }
        Ok(conflict)
    }

    /// Declarations up to BEGIN.
    pub(super) fn declarations(&mut self) -> Result<()> {
        while !self.words.is("begin") && !self.words.is("declare") {
            self.declaration()?;
            self.words.expect_char(';')?;
        }
        Ok(())
    }

    fn declaration(&mut self) -> Result<()> {
        let line = self.words.line();
        let name = self.words.name()?;
        if self.is_declared_here(&name) {
            let text = format!("duplicate declaration at or near \"{name}\"");
            return Err(SqlError::new(state::SYNTAX, text));
        }
        if self.words.accept("alias") {
            return self.alias(&name);
        }
        if matches!(self.words.word(), Some("cursor" | "scroll" | "no")) {
            return self.cursor(&name, line);
        }
        let constant = self.words.accept("constant");
        let kind = self.kind()?;
        if self.words.accept("collate") {
            self.words.name()?;
        }
        let not_null = self.words.accept("not");
        if not_null {
            self.words.expect("null")?;
        }
        let assigned = matches!(self.words.kind(), Token::ColonEquals | Token::Char('='));
        let default = match assigned || self.words.is("default") {
            true => {
                self.words.advance();
                Some(self.expr_until(";")?)
            }
            false => None,
        };
        if not_null && default.is_none() {
            let text = format!(
                "variable \"{name}\" must have a default value, since it's declared NOT NULL"
            );
            return Err(SqlError::new("22004", text));
        }
        let slot = self.declare(&name, kind, line);
        let declared = &mut self.slots[slot];
        (declared.constant, declared.not_null, declared.default) = (constant, not_null, default);
        Ok(())
    }

    fn alias(&mut self, name: &str) -> Result<()> {
        self.words.expect("for")?;
        let said = match self.words.kind() {
            Token::Param(n) => {
                self.words.advance();
                format!("${n}")
            }
            _ => self.words.name()?,
        };
        match self.variable(&said) {
            Some(slot) => {
                self.name(name, Some(slot));
                Ok(())
            }
            None => {
                let text = format!("variable \"{said}\" does not exist");
                Err(SqlError::new(state::NO_COLUMN, text))
            }
        }
    }

    /// The type of a variable.
    pub(super) fn kind(&mut self) -> Result<Kind> {
        let from = self.words.at();
        if let Some(kind) = self.kind_like()? {
            return Ok(kind);
        }
        self.words.back_to(from);
        let start = self.words.start();
        let mut open = 0_usize;
        loop {
            let ends = matches!(self.words.word(), Some("not" | "default" | "collate" | "into"))
                || matches!(
                    self.words.kind(),
                    Token::ColonEquals | Token::Char('=' | ';' | ',' | ')')
                );
            match self.words.kind() {
                Token::End | Token::Bad => return Err(self.words.unexpected()),
                Token::Char('(') => open += 1,
                Token::Char(')') if open > 0 => {
                    open -= 1;
                    self.words.advance();
                    continue;
                }
                _ if ends && open == 0 => break,
                _ => {}
            }
            self.words.advance();
        }
        let text = self.words.text(start, self.words.last_end());
        if self.words.start() == start {
            return Err(SqlError::new(state::SYNTAX, "missing data type declaration"));
        }
        types::named(self.around.view, text)
    }

    /// `variable%TYPE`, `table.column%TYPE`, `table%ROWTYPE`.
    fn kind_like(&mut self) -> Result<Option<Kind>> {
        if !self.words.is_name(0) {
            return Ok(None);
        }
        let mut path = vec![self.words.value()];
        while self.words.accept_char('.') {
            path.push(self.words.value());
        }
        if self.words.kind() != Token::Char('%') {
            return Ok(None);
        }
        self.words.advance();
        if self.words.accept("rowtype") {
            let row = types::row_of(self.around.view, &path).map(Some);
            return self.placeless(row);
        }
        if !self.words.accept("type") {
            return Err(self.words.unexpected());
        }
        if let Some((slot, rest)) = find(self.names(), self.scope, &path) {
            let kind = &self.slots[slot].kind;
            match (kind, &path[rest..]) {
                (kind, []) => return Ok(Some(kind.clone())),
                (Kind::Row(_, fields), [field]) => {
                    let found = fields.iter().find(|(name, _)| name == field);
                    if let Some((_, ty)) = found {
                        return types::kind_of(self.around.view, *ty).map(Some);
                    }
                }
                _ => {}
            }
        }
        types::column_of(self.around.view, &path)?.map(Some).ok_or_else(|| {
            let text = format!("{}%TYPE", path.join("."));
            SqlError::new(state::SYNTAX, "syntax error at or near \"%\"")
                .context(format!("invalid type name \"{text}\""))
        })
    }

    /// RAISE.
    pub(super) fn raise(&mut self) -> Result<Act> {
        self.words.advance();
        let mut raise = Raise {
            level: Level::Exception,
            condition: None,
            format: None,
            values: Vec::new(),
            options: Vec::new(),
        };
        if self.words.kind() == Token::Char(';') {
            return Ok(Act::Raise(Box::new(raise)));
        }
        let level = match self.words.word() {
            Some("debug") => Some(Level::Debug),
            Some("log") => Some(Level::Log),
            Some("info") => Some(Level::Info),
            Some("notice") => Some(Level::Notice),
            Some("warning") => Some(Level::Warning),
            Some("exception") => Some(Level::Exception),
            _ => None,
        };
        if let Some(level) = level {
            raise.level = level;
            self.words.advance();
        }
        if self.words.kind() == Token::Text {
            let format = self.words.value();
            while self.words.accept_char(',') {
                raise.values.push(self.expr_to(&[",", "using", ";"])?);
            }
            self.placeless(check_format(&format, raise.values.len()))?;
            raise.format = Some(format);
        } else if !self.words.is("using") {
            raise.condition = Some(self.raised_condition()?);
        }
        if self.words.accept("using") {
            loop {
                raise.options.push((self.raise_option()?, self.option_value()?));
                if !self.words.accept_char(',') {
                    break;
                }
            }
        }
        Ok(Act::Raise(Box::new(raise)))
    }

    /// The SQLSTATE of a condition, and its name if that was said.
    fn raised_condition(&mut self) -> Result<(String, Option<String>)> {
        if self.words.is("sqlstate") {
            self.words.advance();
            return Ok((self.sqlstate()?, None));
        }
        let name = self.words.name()?;
        let known = conditions::states(&name).next().map(String::from);
        match known {
            Some(known) => Ok((known, Some(name))),
            None => self.placeless(Err(no_condition(&name))),
        }
    }

    fn raise_option(&mut self) -> Result<RaiseOption> {
        let option = match self.words.word() {
            Some("errcode") => RaiseOption::State,
            Some("message") => RaiseOption::Message,
            Some("detail") => RaiseOption::Detail,
            Some("hint") => RaiseOption::Hint,
            Some("column") => RaiseOption::Column,
            Some("constraint") => RaiseOption::Constraint,
            Some("datatype") => RaiseOption::DataType,
            Some("table") => RaiseOption::Table,
            Some("schema") => RaiseOption::Schema,
            _ => {
                let near = self.words.unexpected();
                let text = near.message().replacen(
                    "syntax error",
                    "unrecognized RAISE statement option",
                    1,
                );
                return Err(SqlError::new(state::SYNTAX, text));
            }
        };
        self.words.advance();
        Ok(option)
    }

    fn option_value(&mut self) -> Result<super::body::Sql> {
        if self.words.kind() != Token::ColonEquals && self.words.kind() != Token::Char('=') {
            return Err(SqlError::new(state::SYNTAX, "syntax error, expected \"=\""));
        }
        self.words.advance();
        self.expr_to(&[",", ";"])
    }
}

fn check_format(format: &str, values: usize) -> Result<()> {
    let (mut wanted, mut rest) = (0, format.chars().peekable());
    while let Some(c) = rest.next() {
        if c == '%' && rest.next_if_eq(&'%').is_none() {
            wanted += 1;
        }
    }
    let refuse = |text: &str| Err(SqlError::new(state::SYNTAX, text));
    match wanted.cmp(&values) {
        std::cmp::Ordering::Less => refuse("too many parameters specified for RAISE"),
        std::cmp::Ordering::Greater => refuse("too few parameters specified for RAISE"),
        std::cmp::Ordering::Equal => Ok(()),
    }
}
