//! Which texts did sessions ask before, and what do they mean?
//!
//! A text that comes again is neither parsed nor bound again, whichever session sends it: what it means depends on the
//! database, on the role, on the schemas that are looked at, on the types that a client gives its parameters and on
//! settings that choose who carries it out, all of which are part of its key, and on the catalog. When that changes all is
//! forgotten. A transaction that has changed the catalog itself neither asks nor tells.
//!
//! A text is kept when it comes for the second time: statements with literals in them are mostly never seen again. What is
//! kept has its part of the room for long texts; where there is none, nothing is kept.
//!
//! Thread safety: a lock, held for as long as it takes to look a text up.

use std::collections::HashMap;
use std::hash::{BuildHasher, RandomState};
use std::sync::{Arc, OnceLock};

use parking_lot::Mutex;

use super::Session;
use super::prepare::Prepared;
use crate::error::SqlError;
use crate::parse::{self, Body};
use crate::plan::room::Kept;
use crate::settings::Id;

/// Longer texts are not kept.
const LONGEST: usize = 4 << 10;
/// Bytes of all that is kept.
const MOST_BYTES: u64 = 4 << 20;
/// Bytes of a text's trees for each of its own, and of a short one's.
const TREE_BYTES: u64 = 100;
const LEAST_BYTES: u64 = 4 << 10;
/// Texts of which it is known that they came once.
const ONCE: usize = 4096;

/// What texts mean.
#[derive(Debug, Default)]
pub struct Texts(Mutex<Known>);

#[derive(Debug, Default)]
struct Known {
    /// The version of the catalog that it counts for.
    version: u64,
    texts: HashMap<String, Text>,
    bytes: u64,
    /// How often texts were asked for.
    asked: u64,
    /// Hashes of texts that came once, each at the place that it has in the list.
    once: Vec<u64>,
    hasher: RandomState,
}

#[derive(Debug)]
struct Text {
    prepared: Arc<Prepared>,
    bytes: u64,
    /// When it was asked for last.
    used: u64,
    _kept: Kept,
}

impl Known {
    fn at(&mut self, version: u64) {
        if self.version != version {
            self.texts.clear();
            (self.version, self.bytes) = (version, 0);
        }
    }

    /// Whether a text has come before, as far as that is known.
    fn came(&mut self, key: &str) -> bool {
        let hash = self.hasher.hash_one(key);
        self.once.resize(ONCE, 0);
        let place = &mut self.once[hash as usize % ONCE];
        std::mem::replace(place, hash) == hash
    }

    fn make_room(&mut self, bytes: u64) {
        while self.bytes + bytes > MOST_BYTES {
            let oldest = self.texts.iter().min_by_key(|(_, text)| text.used);
            let Some(oldest) = oldest.map(|(key, _)| key.clone()) else { return };
            if let Some(text) = self.texts.remove(&oldest) {
                self.bytes -= text.bytes;
            }
        }
    }
}

/// A text with all that its meaning depends on.
pub struct TextKey {
    key: String,
    version: u64,
    length: usize,
}

/// The state of a notice that a name is cut off.
pub(super) const CUT_NAME: &str = "42622";

/// The texts by which most transactions begin and end.
const CONTROLS: [&str; 6] = ["BEGIN", "COMMIT", "ROLLBACK", "begin", "commit", "rollback"];

/// What a text means that begins or ends a transaction, as most clients write it: that depends on nothing.
pub(super) fn control(sql: &str) -> Option<Arc<Prepared>> {
    static KNOWN: OnceLock<[Option<Arc<Prepared>>; CONTROLS.len()]> = OnceLock::new();
    let at = CONTROLS.iter().position(|text| *text == sql)?;
    let known = KNOWN.get_or_init(|| {
        CONTROLS.map(|text| {
            let parsed = parse::statements(text).ok()?.pop()?;
            Some(Arc::new(Prepared::simple(parsed)))
        })
    });
    known[at].clone()
}

impl Session {
    /// Notes that names of a text are cut off, which the client is to be told of; whether there are any.
    pub(super) fn tell_cut_names(&self, sql: &str) -> bool {
        let cut = parse::cut_names(sql);
        for (name, kept) in &cut {
            let text = format!("identifier \"{name}\" will be truncated to \"{kept}\"");
            self.between.warn(SqlError::new(CUT_NAME, text));
        }
        !cut.is_empty()
    }

    /// A text's key; none for one that is long, or in a transaction that knows another catalog, or has failed. `types` are
    /// those that Parse gives to parameters; a simple query has none, and never describes its columns.
    pub(super) fn text_key(&self, sql: &str, types: Option<&[u32]>) -> Option<TextKey> {
        let other = |block: &super::block::Block| {
            block.failed || block.changed_catalog || !block.pending.is_empty()
        };
        if sql.len() > LONGEST || self.block.as_ref().is_some_and(other) {
            return None;
        }
        let path = self.settings.text(Id::SearchPath);
        let ways = self.uses_fast_path();
        let (role, database) = (self.roles.current, &self.database);
        // Names may stand for relations that others do not see.
        let own = self.temporary.is_made.then_some((self.key().pid, self.temporary.version));
        let secured = self.settings.flag(Id::RowSecurity);
        let key =
            format!("{role} {database:?} {path:?} {own:?} {ways:?} {secured} {types:?} {sql}");
        Some(TextKey { key, version: self.instance.catalog_version(), length: sql.len() })
    }

    /// What a text means, if it came before.
    pub(super) fn known_text(&self, key: Option<&TextKey>) -> Option<Arc<Prepared>> {
        let key = key?;
        let mut known = self.instance.texts.0.lock();
        known.at(key.version);
        known.asked += 1;
        let asked = known.asked;
        let text = known.texts.get_mut(&key.key)?;
        text.used = asked;
        Some(Arc::clone(&text.prepared))
    }

    /// Keeps what a text means, if it is a query that comes again.
    pub(super) fn keep_text(&self, key: Option<TextKey>, prepared: &Arc<Prepared>) {
        let Some(key) = key else { return };
        let is_query = prepared.parsed.as_ref().is_some_and(|parsed| parsed.body == Body::Query);
        if !is_query {
            return;
        }
        let bytes = key.length as u64 * TREE_BYTES + LEAST_BYTES;
        let mut known = self.instance.texts.0.lock();
        known.at(key.version);
        if !known.came(&key.key) || known.texts.contains_key(&key.key) {
            return;
        }
        known.make_room(bytes);
        if let Ok(kept) = self.instance.runner.room().keep(bytes) {
            let used = known.asked;
            known.bytes += bytes;
            let prepared = Arc::clone(prepared);
            known.texts.insert(key.key, Text { prepared, bytes, used, _kept: kept });
        }
    }
}
