//! How do transactions begin and end?

use std::sync::Arc;

use onlap::{TableId, TableSchema};
use onlap_base::stop;
use onlap_pg::value::Settings as ValueSettings;
use onlap_pg::value::datetime::{Zone, find_zone};

use super::Session;
use super::block::Block;
use super::exclusion;
use super::modes::Modes;
use crate::catalog::{Kind, Objects, names, oids};
use crate::columns::Types;
use crate::error::{Excluded, Result, SqlError, Written, state};
use crate::functions::set_config::Asked;
use crate::query::{secured, session as values};
use crate::rights::ask::{database_oid, numbers, of_table};
use crate::rights::{Action, Judge, Key};
use crate::settings::{self, Id};
use crate::types::Style;
use crate::view::{SearchPath, View};
use crate::wire::Client;

impl Session {
    /// The transaction, begun if there is none.
    pub(super) fn block(&mut self) -> Result<&mut Block> {
        if self.block.is_none() {
            let modes = self.default_modes();
            self.begin_block(modes, false)?;
        }
        Ok(self.block.as_mut().expect("was just begun"))
    }

    /// Begins a transaction.
    pub(super) fn new_block(&self, modes: Modes) -> Result<Block> {
        Block::begin(&self.instance, modes, &self.cancel, &self.between)
    }

    /// Ends the transaction that no BEGIN began.
    pub(super) fn end_implicit(&mut self, client: &mut dyn Client) -> Result<()> {
        self.take_over();
        match &self.block {
            Some(block) if !block.explicit => {}
            _ => return Ok(()),
        }
        self.fire_deferred(client)?;
        self.end_portals(self.commits());
        self.do_on_commit()?;
        let block = self.block.take().expect("was just seen");
        if block.failed {
            self.end_settings(false);
            self.temporary.ended(false);
            block.rollback(&self.instance);
            return Ok(());
        }
        self.end_settings(true);
        self.commit_block(block)
    }

    /// Makes the calls of triggers that have waited for the end of the transaction, which is undone where one fails, and judges
    /// what has waited where the catalog was changed.
    ///
    /// # Errors
    /// Those of the functions; what was judged is broken.
    pub(super) fn fire_deferred(&mut self, client: &mut dyn Client) -> Result<()> {
        // What is judged tells names and values as the transaction's own catalog has them, as long as there is one.
        let is_due = |block: &Block| {
            !block.failed && (block.scope.deferred().is_due() || block.changed_catalog)
        };
        if !self.block.as_ref().is_some_and(is_due) {
            return Ok(());
        }
        let made = self.together(|session| {
            if session.block()?.explicit {
                // COMMIT is a statement of its own: its time begins now, and it looks at the present.
                session.limit_time();
            }
            session.block()?.scope.look_at(None);
            let stop = Arc::clone(session.block()?.scope.stop());
            let _stop = stop::within(&stop);
            session.begin_within()?;
            let view = session.view()?;
            let mut made = view.scope.deferred().run(&view, true);
            if made.is_ok() && session.block()?.changed_catalog {
                made = view.scope.tx()?.set_all_constraints(false).map_err(SqlError::from);
            }
            session.take_over();
            made.map_err(|e| session.with_values_to_see(session.whole(e)))
        });
        let told = self.hand_on(client);
        if let Err(e) = made.and(told) {
            self.end_portals(false);
            self.end_settings(false);
            self.temporary.ended(false);
            if let Some(block) = self.block.take() {
                block.rollback(&self.instance);
            }
            return Err(e);
        }
        Ok(())
    }

    /// Commits what the transaction did.
    fn commit_block(&mut self, block: Block) -> Result<()> {
        let ended = block.commit(&self.instance, self.key().pid);
        self.temporary.ended(ended.is_ok());
        ended.map_err(|e| self.with_values_to_see(e))
    }

    /// An error without the values of a key that the role may not read, as in PostgreSQL.
    pub(crate) fn with_values_to_see(&self, error: SqlError) -> SqlError {
        if let Some((table, columns, written)) = error.failing_row() {
            let told = self.failing_row(table, columns, written);
            return error.with_row_told(told);
        }
        if let Some(excluded) = error.excluded() {
            let told = self.excluded_rows(excluded);
            return error.with_excluded_told(told);
        }
        match error.shows() {
            Some((table, columns)) if !self.may_read(table, columns) => error.without_values(),
            Some((table, _)) => match self.known_table(table) {
                Some((schema, objects)) => error.with_values(|column, value| {
                    let derived = || {
                        let at = schema.derived.iter().position(|d| d.column.name == column)?;
                        Some(schema.columns.len() + at)
                    };
                    let at = schema.position_by_name(column).or_else(derived)?;
                    Types::of(&objects, &schema).print_kept(at, value, &self.value_settings())
                }),
                None => error,
            },
            None => error,
        }
    }

    /// The settings that values depend on.
    fn value_settings(&self) -> ValueSettings {
        values::settings_of(&|name| self.settings.show(name).unwrap_or_default(), 0)
    }

    /// What of two rows that an exclusion constraint refuses the role may read, in PostgreSQL's words.
    fn excluded_rows(&self, of: &Excluded) -> String {
        let keys = || {
            let (schema, objects) = self.known_table(&of.subject.table)?;
            let settings = self.value_settings();
            let printer = exclusion::Printer { schema: &schema, objects: &objects, settings };
            if !self.may_read(&of.subject.table, &printer.read(&of.subject.key)) {
                return None;
            }
            let row = printer.key(&of.subject.key, &of.subject.row)?;
            Some((row, printer.key(&of.subject.key, &of.subject.other_row)?))
        };
        match (keys(), of.new) {
            (Some((row, other)), false) => {
                format!("Key {row} conflicts with existing key {other}.")
            }
            (Some((row, other)), true) => format!("Key {row} conflicts with key {other}."),
            (None, false) => "Key conflicts with existing key.".into(),
            (None, true) => "Key conflicts exist.".into(),
        }
    }

    /// What of a row that was refused the role may read, in PostgreSQL's words. What the statement itself says it may see; the row of a
    /// partition is one of the table that the statement names.
    fn failing_row(
        &self,
        table: &str,
        columns: &[(String, Option<String>)],
        written: &[Written],
    ) -> Option<String> {
        let (schema, objects) = self.known_table(table)?;
        let mut above = objects.families().all_above(schema.id);
        above.retain(|id| objects.families().divided(*id).is_some());
        let is_named = |id: &TableId| {
            let key = Key::of(oids::of_table(*id));
            written.iter().any(|(of, _)| *of == key)
        };
        let named = above.into_iter().find(is_named);
        let named = named.and_then(|id| self.schema_of(id)).unwrap_or_else(|| Arc::clone(&schema));
        let judge = self.judge_of(&objects);
        if secured::is_active(&objects, &judge, oids::of_table(named.id)) {
            return None;
        }
        let own = Key::of(oids::of_table(named.id));
        let is_written = |at: usize| {
            let number = named.columns[at].id.0 + 1;
            written.iter().any(|(of, numbers)| *of == own && numbers.contains(&number))
        };
        let may = |places: &[usize]| {
            let of = numbers(&named, places.iter().copied());
            judge.may(&of_table(Action::Read, &named, of))
        };
        let (types, settings) = (Types::of(&objects, &schema), self.value_settings());
        let shown = |at: &usize| {
            let name = &named.columns[*at].name;
            let (name, value) = columns.iter().find(|(own, _)| own == name)?;
            let Some(value) = value else { return Some("null".to_owned()) };
            Some(types.print_shown(schema.position_by_name(name)?, value, &settings))
        };
        let all: Vec<usize> = (0..named.columns.len()).collect();
        let is_whole = may(&all);
        let seen: Vec<usize> =
            all.into_iter().filter(|at| is_whole || is_written(*at) || may(&[*at])).collect();
        let values = seen.iter().map(shown).collect::<Option<Vec<String>>>()?.join(", ");
        match is_whole {
            true => Some(format!("Failing row contains ({values}).")),
            false if seen.is_empty() => None,
            false => {
                let names = seen.iter().map(|at| &*named.columns[*at].name);
                let names = names.collect::<Vec<_>>().join(", ");
                Some(format!("Failing row contains ({names}) = ({values})."))
            }
        }
    }

    /// A table, which may be one of the transaction's own, and the catalog with what the transaction changed.
    fn known_table(&self, table: &str) -> Option<(Arc<TableSchema>, Arc<Objects>)> {
        let objects = self.instance.objects();
        let objects = match &self.block {
            Some(block) if !block.pending.is_empty() => Arc::new(objects.with(&block.pending)),
            _ => objects,
        };
        let own = self.block.as_ref().and_then(|block| block.scope.tx().ok()?.table(table).ok());
        let found = own.or_else(|| self.instance.db.table(table).ok())?;
        Some((found.schema(), objects))
    }

    /// What a table is like, by its id.
    fn schema_of(&self, id: TableId) -> Option<Arc<TableSchema>> {
        let tables = match &self.block {
            Some(block) => block.scope.tx().ok()?.tables(),
            None => self.instance.db.tables(),
        };
        tables.iter().map(onlap::Table::schema).find(|schema| schema.id == id)
    }

    /// What the session's role may do.
    fn judge_of(&self, objects: &Objects) -> Judge {
        let database = database_oid(objects, &self.database);
        Judge::new(objects.rights(), self.roles.current, database)
    }

    /// Whether the role may read columns of a table, which may be one of the transaction's own.
    fn may_read(&self, table: &str, columns: &[String]) -> bool {
        let Some((schema, objects)) = self.known_table(table) else { return false };
        // As in PostgreSQL, a role for which policies count is not told values of rows that they may hide.
        let judge = self.judge_of(&objects);
        if secured::is_active(&objects, &judge, oids::of_table(schema.id)) {
            return false;
        }
        // As in PostgreSQL, a value that an index calculated is for who may read all columns; the index may be gone again.
        let is_derived = |name: &String| schema.position_by_name(name).is_none();
        let places = match columns.iter().any(is_derived) {
            true => Some((0..schema.columns.len()).collect()),
            false => columns.iter().map(|name| schema.position_by_name(name)).collect(),
        };
        let Some(places): Option<Vec<usize>> = places else { return false };
        judge.may(&of_table(Action::Read, &schema, numbers(&schema, places)))
    }

    /// Whether the transaction is one that ends well.
    fn commits(&self) -> bool {
        self.block.as_ref().is_none_or(|block| !block.failed)
    }

    /// COMMIT: what its tag says.
    pub(super) fn commit(&mut self, client: &mut dyn Client) -> Result<&'static str> {
        self.warn_without_block(client);
        self.take_over();
        self.fire_deferred(client)?;
        self.end_portals(self.commits());
        self.do_on_commit()?;
        let Some(block) = self.block.take() else { return Ok("COMMIT") };
        if block.failed {
            self.end_settings(false);
            self.temporary.ended(false);
            block.rollback(&self.instance);
            return Ok("ROLLBACK");
        }
        self.end_settings(true);
        self.commit_block(block)?;
        Ok("COMMIT")
    }

    fn warn_without_block(&self, client: &mut dyn Client) {
        if self.block.as_ref().is_none_or(|block| !block.explicit) {
            let text = "there is no transaction in progress";
            self.tell_warning(&SqlError::new(state::NO_TRANSACTION, text), client);
        }
    }

    /// Tells the client a warning, unless it wants none.
    pub(crate) fn tell_warning(&self, warning: &SqlError, client: &mut dyn Client) {
        if self.settings.text(Id::ClientMinMessages) != "error" {
            client.reply().notice("WARNING", warning);
        }
    }

    /// ROLLBACK.
    pub(super) fn rollback(&mut self, client: &mut dyn Client) {
        self.warn_without_block(client);
        self.end_portals(false);
        self.end_settings(false);
        self.temporary.ended(false);
        if let Some(block) = self.block.take() {
            block.rollback(&self.instance);
        }
    }

    /// What a statement sees, and the statement's begin.
    pub(crate) fn view(&mut self) -> Result<View> {
        self.take_asked();
        let (roles, database, pid) = (self.roles, self.database.clone(), self.key().pid);
        let confined = self.kept_in();
        let instance = Arc::clone(&self.instance);
        let (asked, prepared) = (Arc::clone(&self.asked), Arc::clone(&self.listed));
        let transitions = Arc::clone(&self.transitions);
        self.reclaim_cursors();
        let cursors = self.portals.values().filter_map(|portal| portal.listed.clone()).collect();
        if self.within {
            self.lend_cursors();
        }
        let path = self.settings.text(Id::SearchPath).to_string();
        let made = self.temporary.is_made;
        let (settings, taken) = (Arc::new(self.settings.clone()), Arc::clone(&self.taken));
        let block = self.block()?;
        taken.lock().own = match block.changed_catalog {
            true => Some(block.scope.tx()?.sequences()),
            false => None,
        };
        let changed = (!block.pending.is_empty()).then(|| Arc::new(block.pending.clone()));
        let objects = match &changed {
            None => instance.objects(),
            Some(changed) => Arc::new(instance.objects().with(changed)),
        };
        let rights = objects.rights();
        let user = rights.name_of(roles.current);
        let temporary = made && {
            let schema = format!("{database}/{}", names::temporary(pid));
            objects.get(Kind::Schema, &schema).is_some()
        };
        let mut view = View {
            lent: 0,
            search_path: search_path(&path, &user, pid, temporary),
            temporary,
            judge: Judge::new(rights, roles.current, database_oid(&objects, &database)),
            session_user: rights.name_of(roles.session),
            session_role: roles.session,
            confined,
            scope: Arc::clone(&block.scope),
            objects,
            changed,
            database,
            user,
            pid,
            began_us: block.scope.began_us(),
            noted: Default::default(),
            taken,
            asked,
            prepared,
            cursors,
            transitions,
            supposed: Arc::from([]),
            noted_scans: None,
            setting_rows: {
                let settings = Arc::clone(&settings);
                Arc::new(move || settings.rows())
            },
            path_hash: settings.path(),
            read_settings: settings.read_by(),
            settings: Arc::new(move |name| settings.show(name).ok()),
            instance,
        };
        if view.objects.functions().has_any(&view.database) {
            self.lend();
            self.lend_cursors();
        }
        view.lent = view.scope.lent().version();
        Ok(view)
    }

    /// Looks something up outside of a statement that runs.
    pub(crate) fn in_view<T>(
        &mut self,
        f: impl FnOnce(&mut Session, &View) -> Result<T>,
    ) -> Result<T> {
        let view = self.view()?;
        f(self, &view)
    }

    /// Does what set_config() asked for.
    pub(super) fn take_asked(&mut self) {
        self.take_over();
        let asked = Arc::clone(&self.asked);
        self.carry_out(&asked);
    }

    /// Does what functions of a statement have asked for until now.
    pub(crate) fn carry_out(&mut self, asked: &Asked) {
        let asked = std::mem::take(&mut *asked.lock());
        for (name, value, local) in asked {
            // What is no setting, or no value of it, was told to the function's caller as set.
            let _ = match (name.as_str(), settings::mode(&name)) {
                ("role" | "session_authorization", _) => self.set_asked_role(&name, &value, local),
                (_, Some(mode)) => self.set_mode(mode, Some(&value)),
                _ => self.settings.set(&name, &value, local),
            };
        }
    }

    fn set_asked_role(&mut self, name: &str, value: &str, local: bool) -> Result<()> {
        let objects = self.instance.objects();
        let database = database_oid(&objects, &self.database);
        let judge = Judge::new(objects.rights(), self.roles.current, database);
        let role = Some(value).filter(|role| *role != "none");
        match name {
            "role" => self.set_role(&judge, role, local),
            _ => self.set_authorization(&judge, role, local),
        }
    }

    /// How values are printed.
    pub(crate) fn style(&self) -> Style {
        let zone = self.settings.text(Id::TimeZone);
        let zone = (zone != "UTC").then(|| find_zone(zone)).flatten();
        Style { zone: zone.filter(|zone| *zone != Zone::UTC) }
    }
}

/// The schemas of a setting, where `$user` is the one of the role's name, and `pg_temp` the one of the session's
/// temporary objects. That is looked at first where it is not named and there is one.
fn search_path(text: &str, user: &str, pid: i32, temporary: bool) -> SearchPath {
    // A check was asked whether it is a list.
    let parts = settings::names(text).unwrap_or_default();
    let named = parts.iter().filter(|part| !part.is_empty()).map(|part| match &**part {
        "$user" => user.to_string(),
        names::TEMPORARY => names::temporary(pid),
        part => part.to_string(),
    });
    let mut schemas: Vec<String> = named.collect();
    let is_first = temporary && !schemas.contains(&names::temporary(pid));
    if is_first {
        schemas.insert(0, names::temporary(pid));
    }
    SearchPath { schemas, is_temporary_first: is_first }
}
