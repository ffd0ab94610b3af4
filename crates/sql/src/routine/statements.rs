//! Statements that begin with a word of PL/pgSQL, and statements of SQL.

use onlap_pg::TypeRef;
use onlap_pg::catalog::oids;
use onlap_pg::grammar::Kind as Token;

use super::body::{Act, Gives, Into, Item, Kind, Loop, LoopKind, Query, Sql, Statement, Target};
use super::read::Reader;
use super::texts::EXPR;
use crate::error::{Result, SqlError, state};

fn refuse<T>(text: impl std::convert::Into<String>) -> Result<T> {
    Err(SqlError::new(state::SYNTAX, text))
}

impl Reader<'_> {
    /// A statement that begins with this word; `None` if it is none of PL/pgSQL's.
    pub(super) fn worded(&mut self, word: &str) -> Result<Option<Act>> {
        let act = match word {
            "if" => self.branches()?,
            "case" => self.case()?,
            "exit" | "continue" => self.leave()?,
            "return" => self.give_back()?,
            "raise" => self.raise()?,
            "assert" => {
                self.words.advance();
                let condition = self.expr_to(&[",", ";"])?;
                let message = match self.words.accept_char(',') {
                    true => Some(self.expr_until(";")?),
                    false => None,
                };
                Act::Assert(condition, message)
            }
            "execute" => self.execute()?,
            "perform" => self.perform()?,
            "get" => self.diagnostics()?,
            "null" => {
                self.words.advance();
                Act::Nothing
            }
            "open" => self.open()?,
            "fetch" => self.fetch()?,
            "move" => self.move_on()?,
            "close" => {
                self.words.advance();
                Act::Close(self.cursor_variable()?)
            }
            "commit" | "rollback" => {
                return Err(SqlError::unsupported("the end of a transaction in PL/pgSQL"));
            }
            "do" => return Err(SqlError::unsupported("DO in PL/pgSQL")),
            "call" => {
                let start = self.words.start();
                self.words.advance();
                let (_, end) = self.pass(&[";"], false)?;
                let text = self.words.text(start, end).to_string();
                Act::Call(self.whole_statement(text)?)
            }
            _ => return Ok(None),
        };
        self.words.expect_char(';')?;
        Ok(Some(act))
    }

    fn branches(&mut self) -> Result<Act> {
        self.words.advance();
        let mut arms = vec![self.arm()?];
        while self.words.accept("elsif") || self.words.accept("elseif") {
            arms.push(self.arm()?);
        }
        let otherwise = match self.words.accept("else") {
            true => self.statements()?,
            false => Vec::new(),
        };
        self.words.expect("end")?;
        self.words.expect("if")?;
        Ok(Act::If(arms, otherwise))
    }

    fn arm(&mut self) -> Result<(Sql, Vec<Statement>)> {
        let condition = self.expr_until("then")?;
        self.words.expect("then")?;
        Ok((condition, self.statements()?))
    }

    fn case(&mut self) -> Result<Act> {
        self.words.advance();
        let before = self.scope;
        let value = match self.words.is("when") {
            true => None,
            false => {
                let value = self.expr_until("when")?;
                let name = format!("__Case__Variable_{}__", self.slots.len());
                let line = self.words.line();
                let kind = Kind::Scalar(TypeRef::new(oids::TEXT));
                Some((self.declare(&name, kind, line), value))
            }
        };
        let mut arms = Vec::new();
        while self.words.accept("when") {
            let condition = match &value {
                None => self.expr_until("then")?,
                Some((slot, _)) => {
                    let (start, end) = self.pass(&["then"], true)?;
                    let list = self.words.text(start, end).to_string();
                    let name = &self.slots[*slot].name;
                    let shown = format!("\"{name}\" IN ({list})");
                    self.expression(shown)?
                }
            };
            self.words.expect("then")?;
            arms.push((condition, self.statements()?));
        }
        if arms.is_empty() {
            return Err(self.words.unexpected());
        }
        let otherwise = match self.words.accept("else") {
            true => Some(self.statements()?),
            false => None,
        };
        self.words.expect("end")?;
        self.words.expect("case")?;
        self.scope = before;
        Ok(Act::Case(value, arms, otherwise))
    }

    fn leave(&mut self) -> Result<Act> {
        let exit = self.words.is("exit");
        self.words.advance();
        let label = match self.words.is("when") || !self.words.is_name(0) {
            true => None,
            false => Some(self.words.name()?),
        };
        let when = match self.words.accept("when") {
            true => Some(self.expr_until(";")?),
            false => None,
        };
        match &label {
            None if !self.labels.iter().any(|(_, is_loop)| *is_loop) => {
                return refuse(match exit {
                    true => "EXIT cannot be used outside a loop, unless it has a label",
                    false => "CONTINUE cannot be used outside a loop",
                });
            }
            None => {}
            Some(label) => {
                match self.labels.iter().rfind(|(known, _)| known.as_ref() == Some(label)) {
                    None => {
                        return refuse(format!(
                            "there is no label \"{label}\" attached to any block or loop enclosing this statement"
                        ));
                    }
                    Some((_, false)) if !exit => {
                        return refuse(format!(
                            "block label \"{label}\" cannot be used in CONTINUE"
                        ));
                    }
                    Some(_) => {}
                }
            }
        }
        Ok(Act::Leave { exit, label, when })
    }

    fn give_back(&mut self) -> Result<Act> {
        self.words.advance();
        if self.words.accept("next") {
            return self.give_next();
        }
        if self.words.accept("query") {
            return self.give_rows();
        }
        let refuse = |text: &str| Err(SqlError::new(state::MISMATCH, text));
        let ends = self.words.kind() == Token::Char(';');
        match &self.around.form.gives {
            Gives::Value { set: false, .. } | Gives::Trigger => {
                Ok(Act::Return(Some(self.expr_until(";")?)))
            }
            _ if ends => Ok(Act::Return(None)),
            gives if gives.is_set() => {
                let text = "RETURN cannot have a parameter in function returning set";
                let e = SqlError::new(state::MISMATCH, text);
                Err(e.hint("Use RETURN NEXT or RETURN QUERY."))
            }
            Gives::Procedure => refuse("RETURN cannot have a parameter in a procedure"),
            Gives::Results { .. } => {
                refuse("RETURN cannot have a parameter in function with OUT parameters")
            }
            _ => refuse("RETURN cannot have a parameter in function returning void"),
        }
    }

    fn give_next(&mut self) -> Result<Act> {
        let refuse = |text: &str| Err(SqlError::new(state::MISMATCH, text));
        match &self.around.form.gives {
            Gives::Results { set: true, .. } => match self.words.kind() == Token::Char(';') {
                true => Ok(Act::ReturnNext(None)),
                false => {
                    refuse("RETURN NEXT cannot have a parameter in function with OUT parameters")
                }
            },
            Gives::Value { set: true, .. } => Ok(Act::ReturnNext(Some(self.expr_until(";")?))),
            _ => refuse("cannot use RETURN NEXT in a non-SETOF function"),
        }
    }

    fn give_rows(&mut self) -> Result<Act> {
        if !self.around.form.gives.is_set() {
            let text = "cannot use RETURN QUERY in a non-SETOF function";
            return Err(SqlError::new(state::MISMATCH, text));
        }
        if self.words.accept("execute") {
            return Ok(Act::ReturnQuery(self.dynamic(&[";"])?));
        }
        let (start, end) = self.pass(&[";"], false)?;
        let text = self.words.text(start, end).to_string();
        Ok(Act::ReturnQuery(Query::Fixed(self.whole_statement(text)?)))
    }

    fn execute(&mut self) -> Result<Act> {
        self.words.advance();
        let text = self.expr_to(&["into", "using", ";"])?;
        let (mut into, mut values) = (None, Vec::new());
        loop {
            if self.words.accept("into") {
                if into.is_some() {
                    return Err(self.words.unexpected());
                }
                into = Some(self.into()?);
            } else if self.words.accept("using") {
                if !values.is_empty() {
                    return Err(self.words.unexpected());
                }
                loop {
                    values.push(self.expr_to(&[",", "into", ";"])?);
                    if !self.words.accept_char(',') {
                        break;
                    }
                }
            } else {
                break;
            }
        }
        Ok(Act::Execute(Query::Dynamic(text, values), into))
    }

    fn perform(&mut self) -> Result<Act> {
        self.words.advance();
        let (start, end) = self.pass(&[";"], false)?;
        let text = format!("{EXPR}{}", self.words.text(start, end));
        Ok(Act::Perform(self.whole_statement(text)?))
    }

    /// INTO, behind the word.
    pub(super) fn into(&mut self) -> Result<Into> {
        let strict = self.words.accept("strict");
        let targets = self.targets()?;
        Ok(Into { strict, targets })
    }

    /// Variables with commas between them; one that holds rows stands alone.
    pub(super) fn targets(&mut self) -> Result<Vec<Target>> {
        let mut targets: Vec<Target> = Vec::new();
        loop {
            let Some(target) = self.target_or_none()? else {
                return Err(self.no_variable());
            };
            self.check_assignable(&target)?;
            let is_row =
                target.field.is_none() && !matches!(self.slots[target.slot].kind, Kind::Scalar(_));
            if is_row && !targets.is_empty() {
                let name = &self.slots[target.slot].name;
                return refuse(format!("\"{name}\" is not a scalar variable"));
            }
            if is_row && self.words.kind() == Token::Char(',') {
                return refuse("record variable cannot be part of multiple-item INTO list");
            }
            targets.push(target);
            if !self.words.accept_char(',') {
                return Ok(targets);
            }
        }
    }

    /// A statement of SQL up to the semicolon, without its INTO.
    pub(super) fn sql_statement(&mut self) -> Result<Act> {
        let start = self.words.start();
        let first = self.words.word().unwrap_or_default().to_string();
        let mut text = String::new();
        let (mut from, mut into, mut before) = (start, None, String::new());
        loop {
            match self.words.kind() {
                Token::Char(';') => break,
                Token::End => return Err(self.words.unexpected()),
                Token::Bad => return Err(self.words.unexpected()),
                _ => {}
            }
            let is_into = self.words.is("into")
                && !matches!(before.as_str(), "insert" | "merge")
                && first != "import"
                && first != "upsert"
                && first != "create";
            before = self.words.word().unwrap_or_default().to_string();
            if !is_into {
                self.words.advance();
                continue;
            }
            if into.is_some() {
                return refuse("INTO specified more than once");
            }
            let at = self.words.start();
            self.words.advance();
            into = Some(self.into()?);
            text.push_str(self.words.text(from, at));
            let end = self.words.last_end();
            text.extend(std::iter::repeat_n(' ', self.words.text(at, end).chars().count()));
            from = end;
        }
        text.push_str(self.words.text(from, self.words.last_end()));
        let sql = self.whole_statement(text)?;
        self.words.expect_char(';')?;
        Ok(Act::Execute(Query::Fixed(sql), into))
    }

    /// LOOP, WHILE, FOR, FOREACH.
    pub(super) fn loops(&mut self, label: Option<String>) -> Result<Act> {
        let before = self.enter(label.clone().unwrap_or_default());
        let word = self.words.value();
        let kind = match word.as_str() {
            "loop" => LoopKind::Ever,
            "while" => LoopKind::While(self.expr_until("loop")?),
            "foreach" => self.foreach()?,
            _ => self.for_loop()?,
        };
        if word != "loop" {
            self.words.expect("loop")?;
        }
        self.labels.push((label.clone(), true));
        let body = self.statements()?;
        self.labels.pop();
        self.words.expect("end")?;
        self.words.expect("loop")?;
        self.end_label(label.as_deref())?;
        self.words.expect_char(';')?;
        self.scope = before;
        Ok(Act::Loop(Box::new(Loop { label, kind, body })))
    }

    fn foreach(&mut self) -> Result<LoopKind> {
        let mut targets = self.targets()?;
        let target = match targets.len() {
            1 => targets.remove(0),
            _ => return Err(SqlError::unsupported("FOREACH with several variables")),
        };
        let slice = match self.words.accept("slice") {
            true => match self.words.kind() {
                Token::Int(n) => {
                    self.words.advance();
                    n
                }
                _ => return Err(self.words.unexpected()),
            },
            false => 0,
        };
        self.words.expect("in")?;
        self.words.expect("array")?;
        Ok(LoopKind::Items(target, slice, self.expr_until("loop")?))
    }

    fn for_loop(&mut self) -> Result<LoopKind> {
        let (from, line) = (self.words.at(), self.words.line());
        let known = match self.target_or_none()? {
            Some(_) => {
                self.words.back_to(from);
                Some(self.targets()?)
            }
            None => None,
        };
        let name = match known {
            Some(_) => {
                let end = self.words.at();
                self.words.back_to(from);
                let name = self.words.value();
                self.words.back_to(end);
                name
            }
            None => self.words.name()?,
        };
        self.words.expect("in")?;
        if self.words.accept("execute") {
            let targets = rows_of(known)?;
            return Ok(LoopKind::Rows(targets, self.dynamic(&["loop"])?));
        }
        if let Some(cursor) = self.cursor_or_none()? {
            return self.over_cursor((&name, line), known, cursor);
        }
        let begin = self.words.at();
        let reverse = self.words.accept("reverse");
        let (start, end) = self.pass(&["..", "loop"], true)?;
        if self.words.kind() != Token::DotDot {
            self.words.back_to(begin);
            let (start, end) = self.pass(&["loop"], false)?;
            let text = self.words.text(start, end).to_string();
            let targets = rows_of(known)?;
            let sql = self.whole_statement(text)?;
            return Ok(LoopKind::Rows(targets, Query::Fixed(sql)));
        }
        let shown = self.words.text(start, end).to_string();
        let from = self.expression(shown)?;
        self.words.advance();
        let to = self.expr_to(&["by", "loop"])?;
        let by = match self.words.accept("by") {
            true => Some(self.expr_until("loop")?),
            false => None,
        };
        let slot = self.declare(&name, Kind::Scalar(TypeRef::new(oids::INT4)), line);
        Ok(LoopKind::Range { slot, reverse, from, to, by })
    }

    fn diagnostics(&mut self) -> Result<Act> {
        self.words.advance();
        let stacked = self.words.accept("stacked");
        if !stacked {
            self.words.accept("current");
        }
        self.words.expect("diagnostics")?;
        let mut items = Vec::new();
        loop {
            let Some(target) = self.target_or_none()? else {
                return Err(self.no_variable());
            };
            self.check_assignable(&target)?;
            if self.words.kind() == Token::ColonEquals {
                self.words.advance();
            } else {
                self.words.expect_char('=')?;
            }
            let name = self.words.name()?;
            let Some((_, item)) = ITEMS.iter().find(|(known, _)| *known == name) else {
                return refuse("unrecognized GET DIAGNOSTICS item");
            };
            let current = matches!(item, Item::RowCount | Item::Context);
            let allowed = if stacked { *item != Item::RowCount } else { current };
            if !allowed {
                let (name, which) =
                    (name.to_uppercase(), if stacked { "STACKED" } else { "CURRENT" });
                return refuse(format!(
                    "diagnostics item {name} is not allowed in GET {which} DIAGNOSTICS"
                ));
            }
            items.push((target, *item));
            if !self.words.accept_char(',') {
                return Ok(Act::Diagnostics(stacked, items));
            }
        }
    }
}

/// Variables that take rows.
fn rows_of(known: Option<Vec<Target>>) -> Result<Vec<Target>> {
    let text =
        "loop variable of loop over rows must be a record variable or list of scalar variables";
    known.ok_or_else(|| SqlError::new(state::SYNTAX, text))
}

const ITEMS: &[(&str, Item)] = &[
    ("row_count", Item::RowCount),
    ("pg_context", Item::Context),
    ("pg_exception_context", Item::ErrorContext),
    ("pg_exception_detail", Item::Detail),
    ("pg_exception_hint", Item::Hint),
    ("returned_sqlstate", Item::State),
    ("column_name", Item::Column),
    ("constraint_name", Item::Constraint),
    ("pg_datatype_name", Item::DataType),
    ("message_text", Item::Message),
    ("table_name", Item::Table),
    ("schema_name", Item::Schema),
];
