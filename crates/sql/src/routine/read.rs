//! How does a text become a body?
//!
//! Statement by statement, by the rules of PL/pgSQL's grammar; what belongs to SQL is taken out by [`super::texts`]. Names of
//! variables are noted as they come ([`Named`]): which of them a text of SQL sees depends on where it stands.

use onlap_pg::TypeRef;
use onlap_pg::catalog::oids;
use onlap_pg::grammar::{Kind as Token, Tokens};

use super::body::{
    Act, Block, Body, Condition, Conflict, Declared, Gives, Handler, Handlers, Kind, Named, Slot,
    Statement, Target,
};
use super::conditions;
use super::words::Words;
use crate::error::{Result, SqlError, state};
use crate::view::View;

/// What a body is part of.
pub struct Around<'a> {
    /// The session.
    pub view: &'a View,
    /// Its name, which is the label of what is around the outermost block.
    pub name: &'a str,
    /// What it takes and gives.
    pub form: &'a Form,
}

/// What a routine takes and gives.
#[derive(Clone, Debug)]
pub struct Form {
    /// Its parameters: name, what it holds, mode.
    pub parameters: Vec<(String, Kind, u8)>,
    /// What a row is that it gives.
    pub row: Option<Kind>,
    /// What it gives.
    pub gives: Gives,
    /// What a trigger's function is told next to them.
    pub told: Vec<(&'static str, Kind)>,
}

impl Form {
    /// That of a block, which is given nothing.
    pub fn of_block() -> Form {
        Form { parameters: Vec::new(), row: None, gives: Gives::Nothing, told: Vec::new() }
    }
}

/// Blocks within each other.
const MAX_DEPTH: usize = 200;
/// Stack that a statement within others is read with, and pieces of it.
pub(super) const RED_ZONE: usize = 128 << 10;
pub(super) const MORE_STACK: usize = 1 << 20;

/// A body that is being read.
pub(super) struct Reader<'a> {
    pub(super) words: Words<'a>,
    pub(super) around: &'a Around<'a>,
    pub(super) slots: Vec<Declared>,
    names: Vec<Named>,
    pub(super) scope: Option<usize>,
    pub(super) sqls: usize,
    depth: usize,
    /// Whether the error under way has no place in the body.
    is_placeless: bool,
    /// Labels of blocks and loops around, and whether each is a loop.
    pub(super) labels: Vec<(Option<String>, bool)>,
}

/// Reads a body.
///
/// # Errors
/// `42601` and others of its grammar; `54001`.
pub fn read(text: &str, around: &Around<'_>) -> Result<Body> {
    let tokens = Tokens::of(text);
    let mut reader = Reader::new(&tokens, around);
    let made = reader.whole();
    let line = reader.words.line();
    // What has a place in the body says no more.
    made.map_err(|e| match reader.is_placeless && !e.has_context() {
        true => e.context(format!(
            "compilation of PL/pgSQL function \"{}\" near line {line}",
            around.name
        )),
        false => e,
    })
}

impl<'a> Reader<'a> {
    fn new(tokens: &'a Tokens<'a>, around: &'a Around<'a>) -> Reader<'a> {
        Reader {
            words: Words::new(tokens),
            around,
            slots: Vec::new(),
            names: Vec::new(),
            scope: None,
            sqls: 0,
            depth: 0,
            is_placeless: false,
            labels: Vec::new(),
        }
    }
}

impl Reader<'_> {
    /// The parameters of a routine that has no body of this language, and the last name that is seen.
    pub(super) fn parameters_alone(around: &Around<'_>) -> (Body, Option<usize>) {
        let tokens = Tokens::of("");
        let mut reader = Reader::new(&tokens, around);
        let (parameters, row, told) = reader.given();
        let found = reader.declare("", Kind::Scalar(TypeRef::new(oids::BOOL)), 0);
        let root = Block { label: None, declared: Vec::new(), body: Vec::new(), handlers: None };
        let (slots, names) = (std::mem::take(&mut reader.slots), std::mem::take(&mut reader.names));
        let gives = around.form.gives.clone();
        let conflict = Conflict::Error;
        let body = Body { slots, names, found, root, parameters, row, gives, told, conflict };
        (body, reader.scope)
    }

    /// What a routine is given.
    fn given(&mut self) -> (Vec<(Slot, u8)>, Option<Slot>, Vec<Slot>) {
        self.enter(self.around.name.to_string());
        let form = self.around.form;
        let mut parameters = Vec::with_capacity(form.parameters.len());
        for (at, (name, kind, mode)) in form.parameters.iter().enumerate() {
            let slot = self.declare(&format!("${}", at + 1), kind.clone(), 0);
            if !name.is_empty() {
                self.slots[slot].name = name.clone();
                self.name(name, Some(slot));
            }
            parameters.push((slot, *mode));
        }
        let row = form.row.clone().map(|kind| self.declare("", kind, 0));
        let mut told = Vec::with_capacity(form.told.len());
        for (name, kind) in &form.told {
            told.push(self.declare(name, kind.clone(), 0));
        }
        (parameters, row, told)
    }

    fn whole(&mut self) -> Result<Body> {
        let (parameters, row, told) = self.given();
        let found = self.declare("found", Kind::Scalar(TypeRef::new(oids::BOOL)), 0);
        let conflict = self.options()?;
        let label = self.label()?;
        let root = self.block(label)?;
        self.words.accept_char(';');
        if self.words.kind() != Token::End {
            return Err(self.words.unexpected());
        }
        let (slots, names) = (std::mem::take(&mut self.slots), std::mem::take(&mut self.names));
        let gives = self.around.form.gives.clone();
        Ok(Body { slots, names, found, root, parameters, row, gives, told, conflict })
    }

    /// An error that has no place in the body.
    pub(super) fn placeless<T>(&mut self, made: Result<T>) -> Result<T> {
        self.is_placeless |= made.is_err();
        made
    }

    /// All names so far.
    pub(super) fn names(&self) -> &[Named] {
        &self.names
    }

    /// The variable of a name.
    pub(super) fn variable(&self, name: &str) -> Option<Slot> {
        find(&self.names, self.scope, &[name.to_string()]).map(|found| found.0)
    }

    /// Whether the block under way has declared a name.
    pub(super) fn is_declared_here(&self, name: &str) -> bool {
        let mut at = self.scope;
        while let Some(named) = at.map(|at| &self.names[at]) {
            match named.slot {
                None => return false,
                Some(_) if named.name == name => return true,
                Some(_) => at = named.before,
            }
        }
        false
    }

    /// A label's level of names begins.
    pub(super) fn enter(&mut self, label: String) -> Option<usize> {
        let before = self.scope;
        self.name(&label, None);
        before
    }

    pub(super) fn name(&mut self, name: &str, slot: Option<Slot>) {
        self.names.push(Named { before: self.scope, name: name.to_string(), slot });
        self.scope = Some(self.names.len() - 1);
    }

    /// A variable with its name.
    pub(super) fn declare(&mut self, name: &str, kind: Kind, line: usize) -> Slot {
        let slot = self.slots.len();
        self.slots.push(Declared {
            name: name.to_string(),
            kind,
            constant: false,
            not_null: false,
            default: None,
            cursor: None,
            line,
        });
        self.name(name, Some(slot));
        slot
    }

    /// Runs a rule within others.
    pub(super) fn deeper<T>(&mut self, rule: impl FnOnce(&mut Self) -> Result<T>) -> Result<T> {
        if self.depth >= MAX_DEPTH {
            return Err(crate::deep::too_deep());
        }
        self.depth += 1;
        let made = stacker::maybe_grow(RED_ZONE, MORE_STACK, || rule(self));
        self.depth -= 1;
        made
    }

    /// `<<label>>`
    pub(super) fn label(&mut self) -> Result<Option<String>> {
        if !self.words.accept_operator("<<") {
            return Ok(None);
        }
        let name = self.words.name()?;
        match self.words.accept_operator(">>") {
            true => Ok(Some(name)),
            false => Err(self.words.unexpected()),
        }
    }

    /// The label behind END.
    pub(super) fn end_label(&mut self, label: Option<&str>) -> Result<()> {
        if !self.words.is_name(0) {
            return Ok(());
        }
        let said = self.words.name()?;
        let refuse = |text: String| Err(SqlError::new(state::SYNTAX, text));
        match label {
            None => refuse(format!("end label \"{said}\" specified for unlabeled block")),
            Some(label) if *label != said => {
                refuse(format!("end label \"{said}\" differs from block's label \"{label}\""))
            }
            Some(_) => Ok(()),
        }
    }

    /// `DECLARE … BEGIN … END`, with the semicolon left.
    pub(super) fn block(&mut self, label: Option<String>) -> Result<Block> {
        let before = self.enter(label.clone().unwrap_or_default());
        let first = self.slots.len();
        while self.words.accept("declare") {
            self.declarations()?;
        }
        let declared = (first..self.slots.len()).collect();
        self.words.expect("begin")?;
        self.labels.push((label.clone(), false));
        let body = self.statements()?;
        let handlers = match self.words.accept("exception") {
            true => Some(self.handlers()?),
            false => None,
        };
        self.labels.pop();
        self.words.expect("end")?;
        self.end_label(label.as_deref())?;
        self.scope = before;
        Ok(Block { label, declared, body, handlers })
    }

    fn handlers(&mut self) -> Result<Handlers> {
        let before = self.enter(String::new());
        let text = || Kind::Scalar(TypeRef::new(oids::TEXT));
        let line = self.words.line();
        let (state, message) =
            (self.declare("sqlstate", text(), line), self.declare("sqlerrm", text(), line));
        for slot in [state, message] {
            self.slots[slot].constant = true;
        }
        let mut all = Vec::new();
        while self.words.accept("when") {
            let mut states = Vec::new();
            loop {
                self.condition(&mut states)?;
                if !self.words.accept("or") {
                    break;
                }
            }
            self.words.expect("then")?;
            all.push(Handler { states, body: self.statements()? });
        }
        if all.is_empty() {
            return Err(self.words.unexpected());
        }
        self.scope = before;
        Ok(Handlers { state, message, all })
    }

    fn condition(&mut self, states: &mut Vec<Condition>) -> Result<()> {
        let name = self.words.name()?;
        match name.as_str() {
            "sqlstate" => states.push(Condition::State(self.sqlstate()?)),
            "others" => states.push(Condition::Others),
            name => {
                let before = states.len();
                states.extend(conditions::states(name).map(|s| Condition::State(s.into())));
                if states.len() == before {
                    return self.placeless(Err(no_condition(name)));
                }
            }
        }
        Ok(())
    }

    /// A SQLSTATE as a literal.
    pub(super) fn sqlstate(&mut self) -> Result<String> {
        let text = self.words.literal()?;
        match conditions::is_state(&text) {
            true => Ok(text),
            false => Err(SqlError::new(state::SYNTAX, "invalid SQLSTATE code")),
        }
    }

    /// Statements up to a word that ends them.
    pub(super) fn statements(&mut self) -> Result<Vec<Statement>> {
        let mut all = Vec::new();
        loop {
            match self.words.word() {
                Some("end" | "exception" | "else" | "elsif" | "elseif" | "when") => break,
                _ if self.words.kind() == Token::End => break,
                _ => all.push(self.deeper(Self::statement)?),
            }
        }
        Ok(all)
    }

    fn statement(&mut self) -> Result<Statement> {
        let label = self.label()?;
        let line = self.words.line();
        let is_assigned =
            matches!(self.words.ahead(1), Token::ColonEquals | Token::Char('=' | '.' | '['));
        let word = self.words.word().filter(|_| !is_assigned);
        let act = match word {
            Some("declare" | "begin") => {
                let block = self.block(label)?;
                self.words.expect_char(';')?;
                Act::Block(block)
            }
            Some("loop" | "while" | "for" | "foreach") => self.loops(label)?,
            _ if label.is_some() => return Err(self.words.unexpected()),
            Some(word) => match self.worded(word)? {
                Some(act) => act,
                None => self.other()?,
            },
            None => self.other()?,
        };
        Ok(Statement { line, act })
    }

    /// An assignment, or a statement of SQL.
    fn other(&mut self) -> Result<Act> {
        let (from, start) = (self.words.at(), self.words.start());
        if let Some(target) = self.target_or_none()? {
            let assigns =
                self.words.kind() == Token::ColonEquals || self.words.kind() == Token::Char('=');
            if !assigns && self.words.kind() == Token::Char('[') {
                return self.element(target, start);
            }
            if assigns {
                self.check_assignable(&target)?;
                self.words.advance();
                let value = self.assigned(start)?;
                self.words.expect_char(';')?;
                return Ok(Act::Assign(target, value));
            }
            return Err(self.words.unexpected());
        }
        self.words.back_to(from);
        if matches!(self.words.ahead(1), Token::ColonEquals | Token::Char('=' | '[')) {
            return Err(self.no_variable());
        }
        if self.words.word().is_none() {
            return Err(self.words.unexpected());
        }
        self.sql_statement()
    }

    /// An assignment to an element of an array, from its first subscript on.
    fn element(&mut self, target: Target, start: usize) -> Result<Act> {
        self.check_assignable(&target)?;
        let mut subscripts = Vec::new();
        while self.words.accept_char('[') {
            subscripts.push(self.expr_to(&[":", "]"])?);
            if self.words.kind() == Token::Char(':') {
                return Err(SqlError::unsupported("an assignment to a slice of a variable"));
            }
            self.words.expect_char(']')?;
        }
        if self.words.kind() == Token::Char('.') {
            return Err(SqlError::unsupported("an assignment to a field of an element"));
        }
        if self.words.kind() == Token::ColonEquals {
            self.words.advance();
        } else {
            self.words.expect_char('=')?;
        }
        let value = self.assigned(start)?;
        self.words.expect_char(';')?;
        Ok(Act::AssignElement(target, subscripts, value))
    }

    /// A variable, or a field of one; the place stays where it is none.
    pub(super) fn target_or_none(&mut self) -> Result<Option<Target>> {
        if !matches!(self.words.kind(), Token::Name | Token::Word(_) | Token::Param(_)) {
            return Ok(None);
        }
        let from = self.words.at();
        let mut path = vec![self.words.value()];
        while self.words.kind() == Token::Char('.')
            && matches!(self.words.ahead(1), Token::Name | Token::Word(_))
        {
            self.words.advance();
            path.push(self.words.value());
        }
        let Some((slot, rest)) = find(&self.names, self.scope, &path) else {
            self.words.back_to(from);
            return Ok(None);
        };
        let field = match (&self.slots[slot].kind, &path[rest..]) {
            (_, []) => None,
            (Kind::Scalar(_), _) => {
                self.words.back_to(from);
                return Ok(None);
            }
            (_, [field]) => Some(field.clone()),
            _ => return Err(SqlError::unsupported("an assignment to a field of a field")),
        };
        Ok(Some(Target { slot, field }))
    }

    /// What comes next is no variable, though it may be the name of one: `$n` is, too.
    pub(super) fn no_variable(&mut self) -> SqlError {
        match self.words.is_name(0) || matches!(self.words.kind(), Token::Param(_)) {
            true => {
                let name = self.words.value();
                SqlError::new(state::SYNTAX, format!("\"{name}\" is not a known variable"))
            }
            false => self.words.unexpected(),
        }
    }

    pub(super) fn check_assignable(&self, target: &Target) -> Result<()> {
        let slot = &self.slots[target.slot];
        if !slot.constant {
            return Ok(());
        }
        let text = format!("variable \"{}\" is declared CONSTANT", slot.name);
        Err(SqlError::new("22005", text))
    }
}

/// The variable that a name means from a place, and how many of its parts name it; the others are fields.
pub fn find(names: &[Named], scope: Option<usize>, path: &[String]) -> Option<(Slot, usize)> {
    let mut at = scope;
    // Names of the level under way, to look at again where its label is the first part.
    let mut level = scope;
    while let Some(n) = at {
        let named = &names[n];
        match named.slot {
            Some(slot) if named.name == path[0] => return Some((slot, 1)),
            Some(_) => {}
            None => {
                if named.name == path[0] && path.len() > 1 && !named.name.is_empty() {
                    let mut inner = level;
                    while let Some(m) = inner.filter(|m| *m != n) {
                        if names[m].name == path[1]
                            && let Some(slot) = names[m].slot
                        {
                            return Some((slot, 2));
                        }
                        inner = names[m].before;
                    }
                    return None;
                }
                level = named.before;
            }
        }
        at = named.before;
    }
    None
}

/// There is no such condition.
pub fn no_condition(name: &str) -> SqlError {
    SqlError::new(state::NO_OBJECT, format!("unrecognized exception condition \"{name}\""))
}
