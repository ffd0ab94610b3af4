//! CREATE, ALTER and DROP SEQUENCE.

use onlap::{DataType, ErrorKind, Sequence, SequenceSchema, SequenceSpec, convert};
use onlap_pg::ast::{AlterSequence, CreateSequence, SequenceOption};
use serde_json::json;

use super::alter::check_free;
use super::change::notice;
use super::naming;
use super::table::at_name;
use super::temporary::{self, Place};
use super::types::sequence_type;
use crate::catalog::{Kind, Name, oids};
use crate::error::{Result, SqlError, state};
use crate::rights::ask::{sequence_key, table_key};
use crate::rights::{Action, Class, Key};
use crate::session::Session;
use crate::source::{Source, strings};
use crate::types::names;
use crate::view::{OF_OTHERS, View};
use crate::wire::Client;

/// What a statement says of a sequence; `None` where it says nothing.
#[derive(Clone, Debug, Default)]
pub struct Options {
    /// The type whose range it has.
    pub ty: Option<DataType>,
    increment: Option<i64>,
    min: Option<Option<i64>>,
    max: Option<Option<i64>>,
    start: Option<i64>,
    restart: Option<Option<i64>>,
    cache: Option<i64>,
    cycle: Option<bool>,
    /// `SEQUENCE NAME` of an identity column.
    pub name: Option<Vec<String>>,
    /// `OWNED BY`; `None` inside for NONE.
    owned_by: Option<Option<Vec<String>>>,
}

impl Options {
    /// Nothing but the type.
    pub fn of_type(ty: DataType) -> Options {
        Options { ty: Some(ty), ..Options::default() }
    }

    /// Those of another sequence, of a type.
    pub fn like(of: &Sequence, ty: DataType) -> Options {
        let schema = of.schema();
        Options {
            ty: Some(ty),
            increment: Some(schema.increment),
            min: Some(Some(schema.min)),
            max: Some(Some(schema.max)),
            start: Some(schema.start),
            cache: Some(schema.cache.into()),
            cycle: Some(schema.cycle),
            ..Options::default()
        }
    }

    /// What options say.
    ///
    /// # Errors
    /// `42601`: one that comes twice; `22023`: a number that is none; a type that no sequence has.
    pub fn of(all: &[SequenceOption]) -> Result<Options> {
        fn once<T>(slot: &mut Option<T>, value: T) -> Result<()> {
            match slot.replace(value) {
                Some(_) => Err(SqlError::new(state::SYNTAX, "conflicting or redundant options")),
                None => Ok(()),
            }
        }
        let mut options = Options::default();
        for option in all {
            match option {
                SequenceOption::Type(ty) => {
                    let ty = sequence_type(ty).ok_or_else(|| {
                        let text = "sequence type must be smallint, integer, or bigint";
                        SqlError::new(state::BAD_PARAMETER, text)
                    })?;
                    once(&mut options.ty, ty)?;
                }
                SequenceOption::Increment(n) => once(&mut options.increment, number(n)?)?,
                SequenceOption::Min(n) => {
                    once(&mut options.min, n.as_deref().map(number).transpose()?)?;
                }
                SequenceOption::Max(n) => {
                    once(&mut options.max, n.as_deref().map(number).transpose()?)?;
                }
                SequenceOption::Start(n) => once(&mut options.start, number(n)?)?,
                SequenceOption::Restart(n) => {
                    once(&mut options.restart, n.as_deref().map(number).transpose()?)?;
                }
                SequenceOption::Cache(n) => once(&mut options.cache, number(n)?)?,
                SequenceOption::Cycle(cycle) => once(&mut options.cycle, *cycle)?,
                SequenceOption::Name(name) => once(&mut options.name, strings(name))?,
                SequenceOption::OwnedBy(name) => {
                    let is_none = matches!(&name[..], [name] if &**name == "none");
                    once(&mut options.owned_by, (!is_none).then(|| strings(name)))?;
                }
                SequenceOption::Generated(_) | SequenceOption::Logged(_) => {}
            }
        }
        Ok(options)
    }

    /// A sequence of these options, `before` where it is there already.
    ///
    /// # Errors
    /// `22023`: they do not go together.
    pub fn spec(&self, engine: &str, before: Option<&Sequence>) -> Result<SequenceSpec> {
        let stood = before.map(|sequence| sequence.standing().0);
        let before = before.map(Sequence::schema);
        let increment = self.increment.or(before.as_ref().map(|b| b.increment)).unwrap_or(1);
        let (low, high) = convert::int_range(self.ty.unwrap_or(DataType::Int8));
        let rising = increment >= 0;
        let usual_min = if rising { 1 } else { low };
        let usual_max = if rising { high } else { -1 };
        // Another type moves the ends of the one before, and keeps others.
        let types = [DataType::Int2, DataType::Int4, DataType::Int8].map(convert::int_range);
        let is_end = |value: i64| types.iter().any(|(low, high)| value == *low || value == *high);
        let kept = |value: i64| self.ty.is_none() || !is_end(value);
        let before_of = |of: fn(&SequenceSchema) -> i64| before.as_ref().map(of);
        let min = match self.min {
            Some(min) => min.unwrap_or(usual_min),
            None => match before_of(|b| b.min) {
                Some(min) if kept(min) => min,
                Some(_) => low,
                None => usual_min,
            },
        };
        let max = match self.max {
            Some(max) => max.unwrap_or(usual_max),
            None => match before_of(|b| b.max) {
                Some(max) if kept(max) => max,
                Some(_) => high,
                None => usual_max,
            },
        };
        let first = if rising { min } else { max };
        let start = self.start.or(before.as_ref().map(|b| b.start)).unwrap_or(first);
        let bad = |text: String| Err(SqlError::new(state::BAD_PARAMETER, text));
        if increment == 0 {
            return bad("INCREMENT must not be zero".into());
        }
        if min < low || max > high {
            let (what, value) = if min < low { ("MINVALUE", min) } else { ("MAXVALUE", max) };
            let ty = names::of_engine(self.ty.unwrap_or(DataType::Int8));
            return bad(format!("{what} ({value}) is out of range for sequence data type {ty}"));
        }
        if min >= max {
            return bad(format!("MINVALUE ({min}) must be less than MAXVALUE ({max})"));
        }
        if start < min {
            return bad(format!("START value ({start}) cannot be less than MINVALUE ({min})"));
        }
        if start > max {
            return bad(format!("START value ({start}) cannot be greater than MAXVALUE ({max})"));
        }
        let last = match self.restart {
            Some(value) => value.unwrap_or(start),
            None => stood.unwrap_or(start),
        };
        if last < min {
            return bad(format!("RESTART value ({last}) cannot be less than MINVALUE ({min})"));
        }
        if last > max {
            return bad(format!("RESTART value ({last}) cannot be greater than MAXVALUE ({max})"));
        }
        let cache = self.cache.or(before.as_ref().map(|b| b.cache.into())).unwrap_or(1);
        let Some(cache) = u32::try_from(cache).ok().filter(|c| *c > 0) else {
            return bad(format!("CACHE ({cache}) must be greater than zero"));
        };
        let cycle = self.cycle.or(before.as_ref().map(|b| b.cycle)).unwrap_or(false);
        let spec = SequenceSpec::new(engine).start(start).increment(increment).min(min).max(max);
        let spec = spec.cache(cache);
        Ok(if cycle { spec.cycle() } else { spec })
    }
}

fn number(text: &str) -> Result<i64> {
    text.parse().map_err(|_| {
        let text = format!("invalid input syntax for type bigint: \"{text}\"");
        SqlError::new(state::BAD_TEXT, text)
    })
}

impl Session {
    /// A sequence that was made belongs to a role: its maker, or the owner of the table that it is for.
    pub(crate) fn own_sequence(&mut self, view: &View, engine: &str, owner: u32) -> Result<()> {
        let id = self.current()?.scope.tx()?.sequence(engine)?.schema().id;
        let schema = Name::of_engine(engine).1.schema;
        let schema = view.schema_key(&schema).unwrap_or(Key::of(0));
        self.own_as(view, owner, Class::Sequence, Key::of(oids::of_sequence(id.0)), schema)
    }

    /// Makes a sequence, which goes away when the transaction rolls back.
    pub(crate) fn make_sequence(&mut self, spec: &SequenceSpec) -> Result<()> {
        self.current()?.scope.tx()?.create_sequence(spec)?;
        self.catalog_changed()
    }
}

/// Drops a sequence that belonged to something, unless that was done or something else needs it.
///
/// # Errors
/// Those of the engine.
pub fn drop_unused(session: &mut Session, view: &View, name: &str) -> Result<()> {
    let id = view.scope.tx()?.sequence(name).ok().map(|sequence| sequence.schema().id);
    if let Some(id) = id {
        session.forget_rights(view, sequence_key(id))?;
    }
    match view.scope.tx()?.drop_sequence(name) {
        Err(e) if matches!(e.kind(), ErrorKind::UnknownSequence | ErrorKind::InUse) => Ok(()),
        done => Ok(done?),
    }
}

/// Puts a sequence of this description in the place of one, which begins with a value or goes on where
/// that is.
///
/// # Errors
/// Those of the engine.
pub fn replace(
    session: &mut Session,
    view: &View,
    old: &Sequence,
    spec: &SequenceSpec,
    next: Option<i64>,
) -> Result<()> {
    view.scope.tx()?.hold_sequence(old)?;
    let new = view.scope.tx()?.replace_sequence(spec, next)?;
    session.catalog_changed()?;
    let key = |s: &Sequence| oids::of_sequence(s.schema().id.0).to_string();
    let (before, after) = (key(old), key(&new));
    if let Some(object) = view.objects.get(Kind::Privileges, &before) {
        session.put(Kind::Privileges, &before, None)?;
        session.put(Kind::Privileges, &after, Some(object.body.clone()))?;
    }
    Ok(())
}

/// ALTER SEQUENCE … RENAME TO and SET SCHEMA: one of the other name takes its place, and what belongs to it.
///
/// # Errors
/// The name is taken; the role may make nothing in the schema; `0A000`: it belongs to a table that stays.
pub fn rename(
    session: &mut Session,
    view: &View,
    (name, old): (&Name, &Sequence),
    to: &Name,
) -> Result<()> {
    let engine = name.engine(&view.database);
    let owner = view.objects.get(Kind::Owned, &engine);
    if let (Some(owner), true) = (owner, to.schema != name.schema) {
        let id = owner.body["table"].as_u64();
        let tables = view.tables()?;
        let table = tables.iter().find(|(_, table)| Some(table.schema().id.0.into()) == id);
        let table = table.map_or("", |(name, _)| &name.name);
        let detail = format!("Sequence \"{}\" is linked to table \"{table}\".", name.name);
        let text = "cannot move an owned sequence into another schema";
        return Err(SqlError::new(state::UNSUPPORTED, text).detail(detail));
    }
    if to.schema != name.schema {
        if !view.has_schema(&to.schema) {
            return Err(crate::view::no_schema(&to.schema));
        }
        temporary::check_move(&name.schema, &to.schema)?;
    }
    view.must_create_in(&to.schema)?;
    check_free(view, to, to.schema == name.schema)?;
    moved(session, view, old, &to.engine(&view.database))
}

/// Gives a sequence another name of the engine, with all that belongs to it.
///
/// # Errors
/// Those of the engine.
pub fn moved(session: &mut Session, view: &View, old: &Sequence, made: &str) -> Result<()> {
    let engine = old.name().to_string();
    let before = oids::of_sequence(old.schema().id.0);
    view.scope.tx()?.hold_sequence(old)?;
    let new = view.scope.tx()?.rename_sequence(&engine, made)?;
    session.catalog_changed()?;
    let after = oids::of_sequence(new.schema().id.0);
    let moves = [
        (Kind::Privileges, before.to_string(), after.to_string()),
        (Kind::Comment, format!("{before}:0"), format!("{after}:0")),
        (Kind::Owned, engine, made.to_string()),
    ];
    for (kind, from, to) in moves {
        if let Some(object) = view.objects.get(kind, &from) {
            session.put(kind, &from, None)?;
            session.put(kind, &to, Some(object.body.clone()))?;
        }
    }
    Ok(())
}

/// CREATE SEQUENCE.
///
/// # Errors
/// The name is taken; options that do not go together.
pub fn create(
    session: &mut Session,
    view: &View,
    source: Source<'_>,
    create: &CreateSequence,
    client: &mut dyn Client,
) -> Result<&'static str> {
    let options = Options::of(&create.options)?;
    let place = temporary::place_of_relation(session, view, &strings(&create.name), create.lasting)
        .map_err(|e| at_name(source, e, create.place))?;
    let Place { view, name } = &place;
    if let Err(e) = naming::check_free(view, name) {
        if create.skip && e.state() == state::DUPLICATE_TABLE {
            notice(client, state::DUPLICATE_TABLE, format!("{}, skipping", e.message()));
            return Ok("CREATE SEQUENCE");
        }
        return Err(e);
    }
    let engine = name.engine(&view.database);
    session.make_sequence(&options.spec(&engine, None)?)?;
    session.own_sequence(view, &engine, view.judge.role)?;
    own(session, view, &engine, &options)?;
    Ok("CREATE SEQUENCE")
}

/// Notes whose sequence it is, where the options say so.
fn own(session: &mut Session, view: &View, engine: &str, options: &Options) -> Result<()> {
    let Some(owner) = &options.owned_by else { return Ok(()) };
    let body = match owner {
        None => None,
        Some(parts) => {
            let (column, table) = parts.split_last().expect("a name has a part");
            if table.is_empty() {
                let text = "invalid OWNED BY option";
                let hint = "Specify OWNED BY table.column or OWNED BY NONE.";
                return Err(SqlError::new(state::SYNTAX, text).hint(hint));
            }
            let (name, table) = view.table(table)?;
            let schema = table.schema();
            let sequence = view.scope.tx()?.sequence(engine)?.schema().id;
            let rights = session.rights_now()?;
            if rights.owner(sequence_key(sequence)) != rights.owner(table_key(&schema)) {
                let text = "sequence must have same owner as table it is linked to";
                return Err(SqlError::new("55000", text));
            }
            if Name::of_engine(engine).1.schema != name.schema {
                let text = "sequence must be in same schema as table it is linked to";
                return Err(SqlError::new("55000", text));
            }
            let at = schema.position_by_name(column).ok_or_else(|| {
                let table = &name.name;
                let text = format!("column \"{column}\" of relation \"{table}\" does not exist");
                SqlError::new(state::NO_COLUMN, text)
            })?;
            Some(json!({ "table": schema.id.0, "column": schema.columns[at].id.0 }))
        }
    };
    session.put(Kind::Owned, engine, body)
}

/// A sequence by name.
///
/// # Errors
/// There is none; `0A000`: it is a temporary one of another session.
pub fn find(view: &View, parts: &[String]) -> Result<(Name, Sequence)> {
    match view.sequence(parts)? {
        Some((name, _)) if view.is_other_temporary(&name.schema) => {
            Err(SqlError::new(state::UNSUPPORTED, OF_OTHERS))
        }
        Some(found) => Ok(found),
        None if view.find(parts)?.is_some() => {
            let text = format!("\"{}\" is not a sequence", parts.join("."));
            Err(SqlError::new("42809", text))
        }
        None => Err(crate::view::no_table(parts)),
    }
}

/// ALTER SEQUENCE with options of sequences.
///
/// # Errors
/// There is none; options that do not go together.
pub fn alter(
    session: &mut Session,
    view: &View,
    alter: &AlterSequence,
    client: &mut dyn Client,
) -> Result<&'static str> {
    let (name, sequence) = match find(view, &strings(&alter.name)) {
        Err(e) if alter.skip && e.state() == state::NO_TABLE => {
            notice(client, "00000", format!("{}, skipping", e.message()));
            return Ok("ALTER SEQUENCE");
        }
        found => found?,
    };
    view.must_own(Action::Alter, &name, naming::Relation::Sequence)?;
    change(session, view, &sequence, &Options::of(&alter.options)?)?;
    Ok("ALTER SEQUENCE")
}

/// Gives a sequence what options say.
///
/// # Errors
/// Options that do not go together.
pub fn change(
    session: &mut Session,
    view: &View,
    sequence: &Sequence,
    options: &Options,
) -> Result<()> {
    let engine = sequence.name().to_string();
    let only_owner = Options { owned_by: None, ..options.clone() }.says_nothing();
    if !only_owner || options.restart.is_some() {
        let spec = options.spec(&engine, Some(sequence))?;
        let start = options.start.unwrap_or(sequence.schema().start);
        let next = options.restart.map(|restart| restart.unwrap_or(start));
        replace(session, view, sequence, &spec, next)?;
    }
    own(session, view, &engine, options)
}

impl Options {
    fn says_nothing(&self) -> bool {
        self.ty.is_none()
            && self.increment.is_none()
            && self.min.is_none()
            && self.max.is_none()
            && self.start.is_none()
            && self.cache.is_none()
            && self.cycle.is_none()
    }
}

/// The column that a sequence belongs to.
pub fn owner(view: &View, engine: &str) -> Option<(onlap::TableId, onlap::ColumnId)> {
    let owned = view.objects.get(Kind::Owned, engine)?;
    let number = |word: &str| owned.body[word].as_u64().and_then(|id| u32::try_from(id).ok());
    Some((onlap::TableId(number("table")?), onlap::ColumnId(number("column")?)))
}

/// Sequences that a column owns.
pub fn owned_by(
    view: &View,
    table: onlap::TableId,
    column: Option<onlap::ColumnId>,
) -> Vec<String> {
    let owned = view.objects.of_kind(Kind::Owned).filter(|(_, object)| {
        let is = |word: &str, id: u64| object.body[word].as_u64() == Some(id);
        is("table", table.0.into()) && column.is_none_or(|c| is("column", c.0.into()))
    });
    owned.map(|(name, _)| name.to_string()).collect()
}
