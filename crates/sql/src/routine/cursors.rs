//! Cursors of PL/pgSQL: how they are read, and what they do.
//!
//! A variable of type refcursor holds the name of a cursor of the session ([`crate::session`]), which the client finds by it
//! until the transaction ends, and other routines do. All rows of its query are read when it is opened: so they are what they
//! were then, as in PostgreSQL.

use onlap_kernels::Datum;
use onlap_pg::TypeRef;
use onlap_pg::ast::Way;
use onlap_pg::catalog::oids;
use onlap_pg::grammar::Kind as Token;

use super::body::{Act, Cursor, Direction, Kind, Loop, LoopKind, Query, Slot, Sql, Target};
use super::machine::Machine;
use super::read::Reader;
use super::run::Flow;
use super::values::{Held, Shape, of_batch};
use crate::error::{Result, SqlError, state};
use crate::session::answer::Chunk;

/// refcursor
const REFCURSOR: u32 = 1790;

fn refuse<T>(text: impl Into<String>) -> Result<T> {
    Err(SqlError::new(state::SYNTAX, text))
}

impl Reader<'_> {
    /// `[[NO] SCROLL] CURSOR [(parameters)] FOR query`, behind the name.
    pub(super) fn cursor(&mut self, name: &str, line: usize) -> Result<()> {
        let scroll = self.scroll()?;
        self.words.expect("cursor")?;
        // Its parameters are seen by its query alone.
        let before = self.enter(String::new());
        let mut parameters = Vec::new();
        if self.words.accept_char('(') {
            loop {
                let line = self.words.line();
                let name = self.words.name()?;
                if self.is_declared_here(&name) {
                    return Err(self.words.unexpected());
                }
                let kind = self.kind()?;
                parameters.push(self.declare(&name, kind, line));
                if !self.words.accept_char(',') {
                    break;
                }
            }
            self.words.expect_char(')')?;
        }
        if !self.words.accept("is") {
            self.words.expect("for")?;
        }
        let (start, end) = self.pass(&[";"], false)?;
        let text = self.words.text(start, end).to_string();
        let query = self.whole_statement(text)?;
        self.scope = before;
        let literal = format!("'{}'", name.replace('\'', "''"));
        let first = self.expression(literal)?;
        let slot = self.declare(name, Kind::Scalar(TypeRef::new(REFCURSOR)), line);
        self.slots[slot].default = Some(first);
        self.slots[slot].cursor = Some(Box::new(Cursor { query, parameters, scroll }));
        Ok(())
    }

    /// `[NO] SCROLL`
    fn scroll(&mut self) -> Result<Option<bool>> {
        if self.words.accept("no") {
            self.words.expect("scroll")?;
            return Ok(Some(false));
        }
        Ok(self.words.accept("scroll").then_some(true))
    }

    /// The variable of a cursor.
    pub(super) fn cursor_variable(&mut self) -> Result<Slot> {
        let Some(target) = self.target_or_none()? else {
            return Err(self.no_variable());
        };
        let declared = &self.slots[target.slot];
        let refuse = |text: String| Err(SqlError::new(state::MISMATCH, text));
        match (&declared.kind, &target.field) {
            (Kind::Scalar(ty), None) if ty.oid == REFCURSOR => Ok(target.slot),
            (Kind::Scalar(_), None) => {
                let name = &declared.name;
                refuse(format!("variable \"{name}\" must be of type cursor or refcursor"))
            }
            _ => refuse("cursor variable must be a simple variable".into()),
        }
    }

    /// The variable of a cursor, if one comes next.
    pub(super) fn cursor_or_none(&mut self) -> Result<Option<Slot>> {
        let from = self.words.at();
        let target = self.target_or_none()?;
        let found = target.filter(|target| target.field.is_none()).filter(|target| {
            matches!(&self.slots[target.slot].kind, Kind::Scalar(ty) if ty.oid == REFCURSOR)
        });
        if found.is_none() {
            self.words.back_to(from);
        }
        Ok(found.map(|target| target.slot))
    }

    /// OPEN, at this word.
    pub(super) fn open(&mut self) -> Result<Act> {
        self.words.advance();
        let slot = self.cursor_variable()?;
        if self.slots[slot].cursor.is_some() {
            return Ok(Act::Open(slot, self.values_of_cursor(slot)?));
        }
        let scroll = self.scroll()?;
        if !self.words.accept("for") {
            let near = self.words.unexpected();
            let text = near.message().replacen("syntax error", "syntax error, expected \"FOR\"", 1);
            return refuse(text);
        }
        if self.words.accept("execute") {
            let query = self.dynamic(&[";"])?;
            return Ok(Act::OpenFor(slot, scroll, query));
        }
        let (start, end) = self.pass(&[";"], false)?;
        let text = self.words.text(start, end).to_string();
        let sql = self.whole_statement(text)?;
        Ok(Act::OpenFor(slot, scroll, Query::Fixed(sql)))
    }

    /// The values of the parameters of a cursor.
    fn values_of_cursor(&mut self, slot: Slot) -> Result<Vec<(Slot, Sql)>> {
        let name = self.slots[slot].name.clone();
        let parameters = match &self.slots[slot].cursor {
            Some(cursor) => cursor.parameters.clone(),
            None => Vec::new(),
        };
        let is_open = self.words.kind() == Token::Char('(');
        match (parameters.is_empty(), is_open) {
            (true, false) => return Ok(Vec::new()),
            (true, true) => return refuse(format!("cursor \"{name}\" has no arguments")),
            (false, false) => return refuse(format!("cursor \"{name}\" has arguments")),
            (false, true) => self.words.advance(),
        }
        let mut values: Vec<(Slot, Sql)> = Vec::with_capacity(parameters.len());
        for at in 0..parameters.len() {
            let is_named = self.words.is_name(0) && self.words.ahead(1) == Token::ColonEquals;
            let parameter = match is_named {
                false => parameters[at],
                true => {
                    let said = self.words.name()?;
                    self.words.advance();
                    let found = parameters.iter().find(|one| self.slots[**one].name == said);
                    let Some(found) = found else {
                        let text = format!("cursor \"{name}\" has no argument named \"{said}\"");
                        return refuse(text);
                    };
                    *found
                }
            };
            if values.iter().any(|(known, _)| *known == parameter) {
                let of = &self.slots[parameter].name;
                let text = format!(
                    "value for parameter \"{of}\" of cursor \"{name}\" specified more than once"
                );
                return refuse(text);
            }
            values.push((parameter, self.expr_to(&[",", ")"])?));
            let ends = self.words.kind() == Token::Char(')');
            match (ends, at + 1 == parameters.len()) {
                (true, false) => {
                    return refuse(format!("not enough arguments for cursor \"{name}\""));
                }
                (false, true) => {
                    return refuse(format!("too many arguments for cursor \"{name}\""));
                }
                _ => self.words.advance(),
            }
        }
        Ok(values)
    }

    /// FETCH, at this word.
    pub(super) fn fetch(&mut self) -> Result<Act> {
        self.words.advance();
        let (direction, several) = self.direction()?;
        let slot = self.cursor_variable()?;
        self.words.expect("into")?;
        let into = self.target_of_fetch()?;
        match several {
            true => {
                let text = "FETCH statement cannot return multiple rows";
                Err(SqlError::new(state::UNSUPPORTED, text))
            }
            false => Ok(Act::Fetch(slot, direction, Some(into))),
        }
    }

    fn target_of_fetch(&mut self) -> Result<super::body::Into> {
        let targets = self.targets()?;
        Ok(super::body::Into { strict: false, targets })
    }

    /// MOVE, at this word.
    pub(super) fn move_on(&mut self) -> Result<Act> {
        self.words.advance();
        let (direction, _) = self.direction()?;
        Ok(Act::Fetch(self.cursor_variable()?, direction, None))
    }

    /// Which row, and whether it may be several; with FROM or IN.
    fn direction(&mut self) -> Result<(Direction, bool)> {
        let word = self.words.word().unwrap_or_default().to_string();
        let plain = match word.as_str() {
            "next" => Some((Direction::Forward(Some(1)), false)),
            "prior" => Some((Direction::Backward(Some(1)), false)),
            "first" => Some((Direction::Absolute(1), false)),
            "last" => Some((Direction::Absolute(-1), false)),
            "all" => Some((Direction::Forward(None), true)),
            _ => None,
        };
        if let Some(plain) = plain {
            self.words.advance();
            self.skip_from_or_in()?;
            return Ok(plain);
        }
        match word.as_str() {
            "absolute" | "relative" => {
                self.words.advance();
                let number = self.expr_to(&["in", "from"])?;
                self.words.advance();
                Ok(match word == "absolute" {
                    true => (Direction::AbsoluteOf(number), false),
                    false => (Direction::RelativeOf(number), false),
                })
            }
            "forward" | "backward" => {
                self.words.advance();
                let forward = word == "forward";
                let all = |count| match forward {
                    true => Direction::Forward(count),
                    false => Direction::Backward(count),
                };
                if self.words.accept("from") || self.words.accept("in") {
                    return Ok((all(Some(1)), false));
                }
                if self.words.accept("all") {
                    self.skip_from_or_in()?;
                    return Ok((all(None), true));
                }
                let count = self.expr_to(&["in", "from"])?;
                self.words.advance();
                Ok(match forward {
                    true => (Direction::ForwardBy(count), true),
                    false => (Direction::BackwardBy(count), true),
                })
            }
            "from" | "in" => {
                self.words.advance();
                Ok((Direction::Forward(Some(1)), false))
            }
            _ => {
                let from = self.words.at();
                let is_variable = self.target_or_none()?.is_some();
                self.words.back_to(from);
                if is_variable || self.words.is_name(0) {
                    return Ok((Direction::Forward(Some(1)), false));
                }
                let count = self.expr_to(&["in", "from"])?;
                self.words.advance();
                Ok((Direction::ForwardBy(count), true))
            }
        }
    }

    fn skip_from_or_in(&mut self) -> Result<()> {
        match self.words.accept("from") || self.words.accept("in") {
            true => Ok(()),
            false => {
                let near = self.words.unexpected();
                refuse(near.message().replacen("syntax error", "expected FROM or IN", 1))
            }
        }
    }

    /// FOR over a cursor, behind its variable.
    pub(super) fn over_cursor(
        &mut self,
        (name, line): (&str, usize),
        known: Option<Vec<Target>>,
        cursor: Slot,
    ) -> Result<LoopKind> {
        if known.is_some_and(|targets| targets.len() > 1) {
            return refuse("cursor FOR loop must have only one target variable");
        }
        if self.slots[cursor].cursor.is_none() {
            return refuse("cursor FOR loop must use a bound cursor variable");
        }
        let values = self.values_of_cursor(cursor)?;
        let record = self.declare(name, Kind::Record, line);
        Ok(LoopKind::Cursor(record, cursor, values))
    }
}

/// There is no such cursor.
fn no_cursor(name: &str) -> SqlError {
    SqlError::new(state::NO_CURSOR, format!("cursor \"{name}\" does not exist"))
}

impl Machine<'_, '_> {
    /// The name that the variable of a cursor holds.
    fn cursor_name(&self, slot: Slot) -> Option<String> {
        match &self.held[slot] {
            Held::Value(_, Datum::Text(text)) => Some(text.to_string()),
            _ => None,
        }
    }

    fn cursor_named(&self, slot: Slot) -> Result<String> {
        self.cursor_name(slot).ok_or_else(|| {
            let name = &self.body.slots[slot].name;
            SqlError::new("22004", format!("cursor variable \"{name}\" is null"))
        })
    }

    fn name_cursor(&mut self, slot: Slot, name: Option<&str>) -> Result<()> {
        let value = name.map_or(Datum::Null, |name| Datum::text(name.to_string()));
        self.put(slot, Held::Value(TypeRef::new(REFCURSOR), value))
    }

    /// OPEN … FOR.
    pub(super) fn open_for(
        &mut self,
        slot: Slot,
        scroll: Option<bool>,
        query: &Query,
    ) -> Result<()> {
        self.must_be_free(slot)?;
        let opened = self.rows_for_cursor(query)?;
        self.opened(slot, scroll, opened)
    }

    /// OPEN of a variable that is a cursor of a query.
    pub(super) fn open_bound(&mut self, slot: Slot, values: &[(Slot, Sql)]) -> Result<()> {
        self.must_be_free(slot)?;
        for (parameter, sql) in values {
            let (ty, value) = self.value(sql)?;
            self.assign(&Target { slot: *parameter, field: None }, ty, value)?;
        }
        let body = self.body;
        let cursor = body.slots[slot].cursor.as_ref();
        let cursor = cursor.ok_or_else(|| SqlError::defect("the variable is no cursor"))?;
        let opened = self.rows_of_cursor(&cursor.query)?;
        self.opened(slot, cursor.scroll, opened)
    }

    fn must_be_free(&mut self, slot: Slot) -> Result<()> {
        match self.cursor_name(slot) {
            Some(name) if self.host.has_cursor(&name) => {
                let text = format!("cursor \"{name}\" already in use");
                Err(SqlError::new(state::DUPLICATE_CURSOR, text))
            }
            _ => Ok(()),
        }
    }

    fn opened(
        &mut self,
        slot: Slot,
        scroll: Option<bool>,
        opened: super::machine::ForCursor,
    ) -> Result<()> {
        let known = self.cursor_name(slot);
        let name = self.host.open_cursor(known.clone(), scroll, opened)?;
        match known {
            Some(_) => Ok(()),
            None => self.name_cursor(slot, Some(&name)),
        }
    }

    /// The number that an expression gives.
    fn way_by(&mut self, sql: &Sql) -> Result<i64> {
        let (ty, value) = self.value(sql)?;
        match self.convert(value, ty, TypeRef::new(oids::INT4))? {
            Datum::Int4(value) => Ok(value.into()),
            _ => Err(SqlError::new("22004", "relative or absolute cursor position is null")),
        }
    }

    fn way(&mut self, direction: &Direction) -> Result<Way> {
        Ok(match direction {
            Direction::Forward(Some(count)) => Way::Forward(*count),
            Direction::Forward(None) => Way::ForwardAll,
            Direction::Backward(Some(count)) => Way::Backward(*count),
            Direction::Backward(None) => Way::BackwardAll,
            Direction::Absolute(number) => Way::Absolute(*number),
            Direction::ForwardBy(sql) => Way::Forward(self.way_by(sql)?),
            Direction::BackwardBy(sql) => Way::Backward(self.way_by(sql)?),
            Direction::AbsoluteOf(sql) => Way::Absolute(self.way_by(sql)?),
            Direction::RelativeOf(sql) => Way::Relative(self.way_by(sql)?),
        })
    }

    /// FETCH, or MOVE where there is nowhere for a row to go.
    pub(super) fn fetch(
        &mut self,
        slot: Slot,
        direction: &Direction,
        into: Option<&super::body::Into>,
    ) -> Result<()> {
        let name = self.cursor_named(slot)?;
        if !self.host.has_cursor(&name) {
            return Err(no_cursor(&name));
        }
        let way = self.way(direction)?;
        let count = match into {
            None => self.host.go_in_cursor(&name, (way, true))?.1,
            Some(into) => {
                let (row, count, shape) = self.row_of_cursor(&name, way)?;
                self.assign_columns(&into.targets, &shape, row)?;
                count
            }
        };
        self.rows = count as u64;
        self.set_found(count > 0);
        Ok(())
    }

    /// The first row that a cursor comes to on its way, how many there are, and their form.
    fn row_of_cursor(
        &mut self,
        name: &str,
        way: Way,
    ) -> Result<(Option<Vec<Datum<'static>>>, usize, Shape)> {
        let (chunks, count, columns) = self.host.go_in_cursor(name, (way, false))?;
        let shape: Shape = columns
            .iter()
            .map(|column| {
                let ty = TypeRef { oid: column.ty.oid, modifier: column.ty.modifier };
                (column.name.clone(), ty)
            })
            .collect();
        let catalog = std::sync::Arc::clone(self.host.catalog());
        let row = match chunks.iter().find(|chunk| chunk.len() > 0) {
            None => None,
            Some(Chunk::Bound(batch, _)) => Some(of_batch(&catalog, &shape, batch, 0)),
            Some(_) => {
                let what = "a row of a cursor that locks rows in PL/pgSQL";
                return Err(SqlError::unsupported(what));
            }
        };
        Ok((row, count, shape))
    }

    /// CLOSE.
    pub(super) fn close(&mut self, slot: Slot) -> Result<()> {
        let name = self.cursor_named(slot)?;
        match self.host.has_cursor(&name) {
            true => self.host.close_cursor(&name),
            false => Err(no_cursor(&name)),
        }
    }

    /// FOR over a cursor.
    pub(super) fn over_cursor(
        &mut self,
        of: &Loop,
        (record, slot): (Slot, Slot),
        values: &[(Slot, Sql)],
    ) -> Result<Flow> {
        let known = self.cursor_name(slot);
        self.open_bound(slot, values)?;
        let name = self.cursor_named(slot)?;
        let target = [Target { slot: record, field: None }];
        let (mut found, mut flow) = (false, Flow::Next);
        loop {
            let (row, _, shape) = self.row_of_cursor(&name, Way::Forward(1))?;
            let ends = row.is_none();
            if ends && found {
                break;
            }
            self.assign_columns(&target, &shape, row)?;
            if ends {
                break;
            }
            found = true;
            if let Some(ended) = self.round(of)? {
                flow = ended;
                break;
            }
        }
        self.host.close_cursor(&name)?;
        if known.is_none() {
            self.name_cursor(slot, None)?;
        }
        self.set_found(found);
        Ok(flow)
    }
}
