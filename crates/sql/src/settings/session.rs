//! What is set in a session?
//!
//! Three layers: what the session began with, what SET changed, what SET LOCAL changed until the end of
//! the transaction. The layers are maps that are shared and copied when they change, so that a place to
//! go back to (a savepoint, the transaction's begin) costs two counters. Names with a dot that nobody
//! knows may be set by anyone, as in PostgreSQL.
//!
//! Thread safety: belongs to its session; a clone is a snapshot of it.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use super::configuration::{Configuration, Origin, flag, int, text};
use super::registry::{Id, SETTINGS};
use super::value::{self, Value};
use super::{Context, Setting, check, find, is_mode};
use crate::error::{Result, SqlError};

/// A setting that is known, or a name with a dot.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Key {
    Known(Id),
    Custom(String),
}

type Layer = Arc<BTreeMap<Key, Value>>;

/// Names with a dot that a session may set at most, and bytes of what it sets, so that they cannot fill memory.
const CUSTOM: usize = 1000;
const CUSTOM_BYTES: usize = 1 << 20;
/// Bytes of one value.
const VALUE_BYTES: usize = 64 << 10;
/// Bytes that a transaction's places to go back to may keep, and how many settings are too few to count.
const MARKED_BYTES: usize = 4 << 20;
const FEW: usize = 16;

/// A session's settings.
#[derive(Clone, Debug)]
pub struct Settings {
    pub(super) base: Arc<Configuration>,
    client: Layer,
    session: Layer,
    local: Layer,
    /// What SET had changed when the transaction began.
    begun: Option<Layer>,
    /// Whether a place to go back to has the layers as they are: the next change copies them.
    marked: bool,
    /// Bytes of such copies in the transaction.
    marked_bytes: usize,
    /// Values of all layers together, by id.
    values: Arc<Vec<Value>>,
    /// What those of them mean that SQL values depend on, once a statement has asked.
    read: Arc<OnceLock<onlap_pg::value::Settings>>,
    /// A hash of the search path.
    path: u64,
    /// The values when the client was told of them last; `None` before the first time.
    told: Option<Arc<Vec<Value>>>,
}

/// A place to go back to.
#[derive(Clone, Debug)]
pub struct Mark {
    session: Layer,
    local: Layer,
}

impl Settings {
    /// What a session begins with.
    pub fn new(base: &Arc<Configuration>) -> Settings {
        let mut settings = Settings {
            base: Arc::clone(base),
            client: Layer::default(),
            session: Layer::default(),
            local: Layer::default(),
            begun: None,
            marked: false,
            marked_bytes: 0,
            values: Arc::default(),
            read: Arc::default(),
            path: 0,
            told: None,
        };
        settings.refresh();
        settings
    }
    /// Whether nothing was set that is not set here.
    pub fn is(&self, other: &Settings) -> bool {
        Arc::ptr_eq(&self.values, &other.values)
            && Arc::ptr_eq(&self.session, &other.session)
            && Arc::ptr_eq(&self.local, &other.local)
    }

    /// Goes on with what another has told the client.
    pub fn keep_reported(&mut self, of: Settings) {
        self.told = of.told;
    }

    /// What the client wants from the start; RESET comes back to it.
    ///
    /// # Errors
    /// As [`Settings::set`].
    pub fn start_with(&mut self, name: &str, text: &str) -> Result<()> {
        let text = &*self.completed(name, text);
        let (key, value) = changeable(name, text, self.flag(Id::IsSuperuser))?;
        if matches!(&key, Key::Known(id) if is_mode(*id)) {
            // They are the transaction's: what new ones have, other settings say.
            let text = format!("parameter \"{name}\" cannot be set before a transaction begins");
            return Err(SqlError::new("55P02", text));
        }
        Arc::make_mut(&mut self.client).insert(key, value);
        self.refresh();
        Ok(())
    }
    /// What the catalog says that the session begins with. Its role is not asked: the right to set it was checked when it was
    /// stored. A value that the setting no longer takes is left out.
    pub fn begin_with(&mut self, name: &str, text: &str) {
        let text = &*self.completed(name, text);
        if let Ok((key, value)) = changeable(name, text, true)
            && !matches!(&key, Key::Known(id) if is_mode(*id))
        {
            Arc::make_mut(&mut self.client).insert(key, value);
            self.refresh();
        }
    }
    /// A value with the parts of the current one that it leaves out.
    fn completed<'a>(&self, name: &str, text: &'a str) -> Cow<'a, str> {
        match find(name) {
            Ok(setting) if setting.id == Id::DateStyle => {
                match check::date_style_after(self.text(Id::DateStyle), text) {
                    Ok(whole) => Cow::Owned(whole),
                    // The check says what is wrong.
                    Err(_) => Cow::Borrowed(text),
                }
            }
            _ => Cow::Borrowed(text),
        }
    }
    /// SET, or SET LOCAL, or set_config().
    ///
    /// # Errors
    /// No such setting (42704), no such value (22023), not now (55P02), not by this role (42501).
    pub fn set(&mut self, name: &str, text: &str, local: bool) -> Result<()> {
        let text = &*self.completed(name, text);
        let (key, value) = changeable(name, text, self.flag(Id::IsSuperuser))?;
        self.fits(&key, text)?;
        self.begin()?;
        self.know(&key);
        if local {
            Arc::make_mut(&mut self.local).insert(key, value);
        } else {
            Arc::make_mut(&mut self.local).remove(&key);
            Arc::make_mut(&mut self.session).insert(key, value);
        }
        self.refresh();
        Ok(())
    }
    /// RESET, or SET TO DEFAULT.
    ///
    /// # Errors
    /// No such setting (42704), not now (55P02), not by this role (42501).
    pub fn reset(&mut self, name: &str) -> Result<()> {
        let key = key(name)?;
        if let Key::Known(id) = key {
            check_context(id.setting(), self.flag(Id::IsSuperuser))?;
        }
        self.fits(&key, "")?;
        self.begin()?;
        self.know(&key);
        Arc::make_mut(&mut self.local).remove(&key);
        Arc::make_mut(&mut self.session).remove(&key);
        self.refresh();
        Ok(())
    }
    /// RESET ALL, and a part of DISCARD ALL.
    pub fn reset_all(&mut self) {
        self.remember();
        self.local = Layer::default();
        self.session = Layer::default();
        self.refresh();
    }
    /// Says what is so: a setting that the session decides. It outlives a rollback.
    pub fn put(&mut self, id: Id, value: Value) {
        let key = Key::Known(id);
        for layer in [&mut self.local, &mut self.session].into_iter().chain(&mut self.begun) {
            if layer.contains_key(&key) {
                Arc::make_mut(layer).remove(&key);
            }
        }
        Arc::make_mut(&mut self.client).insert(key, value);
        self.refresh();
    }

    /// The transaction's changes stay, but for those of SET LOCAL.
    pub fn commit(&mut self) {
        (self.marked, self.marked_bytes) = (false, 0);
        if self.begun.take().is_some() {
            self.local = Layer::default();
            self.refresh();
        }
    }
    /// Everything is as it was when the transaction began.
    pub fn rollback(&mut self) {
        (self.marked, self.marked_bytes) = (false, 0);
        if let Some(session) = self.begun.take() {
            self.session = session;
            self.local = Layer::default();
            self.refresh();
        }
    }
    /// A place to go back to inside the transaction.
    pub fn mark(&mut self) -> Mark {
        self.marked = true;
        Mark { session: Arc::clone(&self.session), local: Arc::clone(&self.local) }
    }
    /// Goes back to it.
    pub fn back_to(&mut self, mark: &Mark) {
        self.marked = true;
        self.session = Arc::clone(&mark.session);
        self.local = Arc::clone(&mark.local);
        self.refresh();
    }

    /// Lets settings that were SET LOCAL for a while be what they were; one that SET or RESET have changed meanwhile stays, as in
    /// PostgreSQL.
    pub fn give_back<'n>(&mut self, names: impl Iterator<Item = &'n str>, mark: &Mark) {
        for key in names.filter_map(|name| key(name).ok()) {
            if !self.local.contains_key(&key) {
                continue;
            }
            match mark.local.get(&key) {
                Some(value) => Arc::make_mut(&mut self.local).insert(key, value.clone()),
                None => Arc::make_mut(&mut self.local).remove(&key),
            };
            self.refresh();
        }
    }

    /// SHOW.
    ///
    /// # Errors
    /// No such setting (42704).
    pub fn show(&self, name: &str) -> Result<String> {
        match key(name)? {
            Key::Known(id) => Ok(self.show_id(id)),
            custom => self.custom(&custom).map(str::to_string).ok_or_else(|| {
                let text = format!("unrecognized configuration parameter \"{name}\"");
                SqlError::new(crate::error::state::NO_OBJECT, text)
            }),
        }
    }
    /// A value as SHOW gives it.
    pub fn show_id(&self, id: Id) -> String {
        value::show(id.setting().kind, self.value(id))
    }
    /// A value.
    pub fn value(&self, id: Id) -> &Value {
        &self.values[id as usize]
    }
    /// A text.
    pub fn text(&self, id: Id) -> &str {
        text(self.value(id))
    }
    /// A number in the setting's unit.
    pub fn int(&self, id: Id) -> i64 {
        int(self.value(id))
    }
    /// On or off.
    pub fn flag(&self, id: Id) -> bool {
        flag(self.value(id))
    }
    /// A time in milliseconds; `None` for 0, which stands for any time.
    pub fn time(&self, id: Id) -> Option<Duration> {
        u64::try_from(self.int(id)).ok().filter(|ms| *ms > 0).map(Duration::from_millis)
    }
    /// What the client is to be told now: names and values.
    pub fn take_reported(&mut self) -> Vec<(&'static str, String)> {
        let told = self.told.replace(Arc::clone(&self.values));
        // After most statements they are the same.
        if told.as_ref().is_some_and(|told| Arc::ptr_eq(told, &self.values)) {
            return Vec::new();
        }
        let is_new = |setting: &&Setting| {
            let at = setting.id as usize;
            setting.reported && told.as_ref().is_none_or(|told| told[at] != self.values[at])
        };
        SETTINGS.iter().filter(is_new).map(|s| (s.name, self.show_id(s.id))).collect()
    }
    /// Where a value comes from.
    pub fn origin(&self, id: Id) -> Origin {
        let key = Key::Known(id);
        if self.local.contains_key(&key) || self.session.contains_key(&key) {
            Origin::Session
        } else if self.client.contains_key(&key) {
            Origin::Client
        } else {
            self.base.origin(id).clone()
        }
    }
    /// What RESET would bring.
    pub(super) fn reset_value(&self, id: Id) -> &Value {
        self.client.get(&Key::Known(id)).unwrap_or_else(|| self.base.value(id))
    }

    /// A name with a dot that was set once is known to the session from then on, as in PostgreSQL, even where its transaction is
    /// rolled back: it is empty.
    fn know(&mut self, key: &Key) {
        if matches!(key, Key::Custom(_)) && !self.client.contains_key(key) {
            // Of very many names one that has no value now is forgotten.
            let is_empty = |(key, value): &(&Key, &Value)| {
                let has = |layer: &Layer| layer.contains_key(key);
                matches!(key, Key::Custom(_))
                    && text(value).is_empty()
                    && ![&self.session, &self.local].into_iter().any(has)
            };
            if self.client.len() >= 2 * CUSTOM
                && let Some(empty) = self.client.iter().find(is_empty).map(|(key, _)| key.clone())
            {
                Arc::make_mut(&mut self.client).remove(&empty);
            }
            Arc::make_mut(&mut self.client).insert(key.clone(), Value::Text(String::new()));
        }
    }

    fn custom(&self, key: &Key) -> Option<&str> {
        let layers = [&self.local, &self.session, &self.client];
        layers.into_iter().find_map(|layer| layer.get(key)).map(text)
    }
    fn remember(&mut self) {
        if self.begun.is_none() {
            self.begun = Some(Arc::clone(&self.session));
        }
    }
    /// Begins a change, which a place to go back to may have to outlive.
    fn begin(&mut self) -> Result<()> {
        self.remember();
        if !std::mem::take(&mut self.marked) || self.session.len() + self.local.len() <= FEW {
            return Ok(());
        }
        self.marked_bytes += bytes_of(&self.session) + bytes_of(&self.local);
        match self.marked_bytes > MARKED_BYTES {
            true => Err(SqlError::new("54000", "too many settings between savepoints")),
            false => Ok(()),
        }
    }
    /// Fails for a value that is too long, or one too many.
    fn fits(&self, key: &Key, text: &str) -> Result<()> {
        if text.len() > VALUE_BYTES {
            return Err(too_long());
        }
        if !matches!(key, Key::Custom(_)) {
            return Ok(());
        }
        let layers = [&self.client, &self.session, &self.local];
        let bytes = layers.into_iter().map(bytes_of).sum::<usize>() + text.len();
        match self.session.len() + self.local.len() >= CUSTOM || bytes > CUSTOM_BYTES {
            true => Err(SqlError::new("54000", "too many settings of the session's own")),
            false => Ok(()),
        }
    }
    fn refresh(&mut self) {
        let mut values: Vec<Value> =
            SETTINGS.iter().map(|s| self.base.value(s.id).clone()).collect();
        for layer in [&self.client, &self.session, &self.local] {
            for (key, value) in layer.iter() {
                if let Key::Known(id) = key {
                    values[*id as usize] = value.clone();
                }
            }
        }
        let mut path = DefaultHasher::new();
        text(&values[Id::SearchPath as usize]).hash(&mut path);
        self.path = path.finish();
        self.values = Arc::new(values);
        self.read = Arc::default();
    }

    /// What keeps the meaning of those that SQL values depend on; another one after each change.
    pub fn read_by(&self) -> Arc<OnceLock<onlap_pg::value::Settings>> {
        Arc::clone(&self.read)
    }

    /// A hash of the search path.
    pub fn path(&self) -> u64 {
        self.path
    }
}

fn too_long() -> SqlError {
    SqlError::new("54000", "the value of a setting is too long")
}

fn bytes_of(layer: &Layer) -> usize {
    let value = |value: &Value| if let Value::Text(text) = value { text.len() } else { 0 };
    let name = |key: &Key| if let Key::Custom(name) = key { name.len() } else { 0 };
    layer.iter().map(|(k, v)| size_of::<(Key, Value)>() + name(k) + value(v)).sum()
}

fn key(name: &str) -> Result<Key> {
    match find(name) {
        Ok(setting) => Ok(Key::Known(setting.id)),
        Err(_) if is_custom(name) => Ok(Key::Custom(name.to_ascii_lowercase())),
        Err(e) => Err(e),
    }
}

/// Fails for a value that a setting cannot have in a session of this role.
///
/// # Errors
/// As [`Settings::set`].
pub fn may_be(name: &str, text: &str, superuser: bool) -> Result<()> {
    let _ = match find(name) {
        Ok(_) => changeable(name, text, superuser)?,
        Err(_) => (key(name)?, Value::Text(String::new())),
    };
    match text.len() > VALUE_BYTES {
        true => Err(too_long()),
        false => Ok(()),
    }
}

/// A value of a setting that sessions may change.
///
/// # Errors
/// It has no such value.
pub fn checked(name: &str, text: &str) -> Result<Value> {
    changeable(name, text, true).map(|(_, value)| value)
}

fn changeable(name: &str, text: &str, superuser: bool) -> Result<(Key, Value)> {
    let key = key(name).map_err(|e| match name.contains('.') {
        true => bad_name(name),
        false => e,
    })?;
    let value = match &key {
        Key::Known(id) => {
            check_context(id.setting(), superuser)?;
            let value = id.setting().parse(text)?;
            id.setting().must_be_served(&value)?;
            value
        }
        Key::Custom(_) => Value::Text(text.to_string()),
    };
    Ok((key, value))
}

/// The error of a name with a dot that no setting may have.
fn bad_name(name: &str) -> SqlError {
    let text = format!("invalid configuration parameter name \"{name}\"");
    let detail = "Custom parameter names must be two or more simple identifiers separated by dots.";
    SqlError::new("42602", text).detail(detail)
}

/// Names of two parts or more, each an identifier.
fn is_custom(name: &str) -> bool {
    let is_part = |part: &str| {
        let mut characters = part.chars();
        let begins = characters.next().is_some_and(|c| c == '_' || c.is_alphabetic());
        begins && characters.all(|c| c == '_' || c == '$' || c.is_alphanumeric())
    };
    name.len() <= 200 && name.contains('.') && name.split('.').all(is_part)
}

/// Whether a setting may be changed now, and by this role.
fn check_context(setting: &Setting, superuser: bool) -> Result<()> {
    let name = setting.name;
    let text = match setting.context {
        Context::Session => return Ok(()),
        Context::Superuser if superuser => return Ok(()),
        Context::Superuser => {
            let text = format!("permission denied to set parameter \"{name}\"");
            return Err(SqlError::new(crate::error::state::NO_PRIVILEGE, text));
        }
        Context::Start => {
            format!("parameter \"{name}\" cannot be changed without restarting the server")
        }
        Context::Fixed => format!("parameter \"{name}\" cannot be changed"),
    };
    Err(SqlError::new("55P02", text))
}
