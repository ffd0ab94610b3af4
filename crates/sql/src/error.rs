//! What does the client learn of a failure?
//!
//! SQLSTATE, message, detail, hint and position, as PostgreSQL's error message has them. Errors of the
//! engine keep their SQLSTATE; those of DataFusion's steps by their kind.
//!
//! XX000 has two makers: [`SqlError::internal`] for what PostgreSQL itself says so, and [`SqlError::defect`] for mistakes of
//! ours, of which the client learns an id alone (`docs/decisions/0100-defects-have-an-id.md`).

use std::fmt;
use std::panic::Location;
use std::sync::Arc;

use datafusion_common::DataFusionError;
use onlap_base::Defect;

use crate::catalog::Name;

mod engine;
mod rules;

/// Result of anything in this crate.
pub type Result<T, E = SqlError> = std::result::Result<T, E>;

/// SQLSTATEs that this crate gives itself.
pub mod state {
    /// syntax_error
    pub const SYNTAX: &str = "42601";
    /// feature_not_supported
    pub const UNSUPPORTED: &str = "0A000";
    /// undefined_table
    pub const NO_TABLE: &str = "42P01";
    /// invalid_table_definition
    pub const BAD_DEFINITION: &str = "42P16";
    /// undefined_column
    pub const NO_COLUMN: &str = "42703";
    /// undefined_object
    pub const NO_OBJECT: &str = "42704";
    /// undefined_function
    pub const NO_FUNCTION: &str = "42883";
    /// ambiguous_column
    pub const AMBIGUOUS: &str = "42702";
    /// duplicate_table (also indexes and sequences)
    pub const DUPLICATE_TABLE: &str = "42P07";
    /// duplicate_object
    pub const DUPLICATE_OBJECT: &str = "42710";
    /// duplicate_schema
    pub const DUPLICATE_SCHEMA: &str = "42P06";
    /// duplicate_prepared_statement
    pub const DUPLICATE_STATEMENT: &str = "42P05";
    /// duplicate_cursor
    pub const DUPLICATE_CURSOR: &str = "42P03";
    /// invalid_schema_name
    pub const NO_SCHEMA: &str = "3F000";
    /// invalid_catalog_name
    pub const NO_DATABASE: &str = "3D000";
    /// invalid_sql_statement_name
    pub const NO_STATEMENT: &str = "26000";
    /// invalid_cursor_name
    pub const NO_CURSOR: &str = "34000";
    /// in_failed_sql_transaction
    pub const FAILED_TRANSACTION: &str = "25P02";
    /// active_sql_transaction
    pub const ACTIVE_TRANSACTION: &str = "25001";
    /// no_active_sql_transaction
    pub const NO_TRANSACTION: &str = "25P01";
    /// invalid_savepoint_specification
    pub const NO_SAVEPOINT: &str = "3B001";
    /// datatype_mismatch
    pub const MISMATCH: &str = "42804";
    /// No collation follows.
    pub const NO_COLLATION: &str = "42P22";
    /// invalid_text_representation
    pub const BAD_TEXT: &str = "22P02";
    /// bad_copy_file_format
    pub const BAD_COPY: &str = "22P04";
    /// invalid_parameter_value
    pub const BAD_PARAMETER: &str = "22023";
    /// cardinality_violation
    pub const CARDINALITY: &str = "21000";
    /// protocol_violation
    pub const PROTOCOL: &str = "08P01";
    /// dependent_objects_still_exist
    pub const IN_USE: &str = "2BP01";
    /// insufficient_privilege
    pub const NO_PRIVILEGE: &str = "42501";
    /// query_canceled
    pub const CANCELLED: &str = "57014";
    /// out_of_memory
    pub const OUT_OF_MEMORY: &str = "53200";
    /// A value would be longer than any may be.
    pub const TOO_LARGE: &str = "54000";
    /// A statement has too many parts within each other.
    pub const TOO_COMPLEX: &str = "54001";
    /// disk_full
    pub const DISK_FULL: &str = "53100";
    /// insufficient_resources
    pub const OUT_OF_RESOURCES: &str = "53000";
    /// io_error
    pub const IO: &str = "58030";
}

/// A failure as the client sees it.
#[derive(Clone, PartialEq, Eq)]
pub struct SqlError(Box<Parts>);

#[derive(Clone, PartialEq, Eq)]
struct Parts {
    state: &'static str,
    message: String,
    detail: Option<String>,
    hint: Option<String>,
    position: Option<usize>,
    context: Option<String>,
    about: Option<About>,
    key: Option<Key>,
    row: Option<FailingRow>,
    excluded: Option<Box<Excluded>>,
    unserved: bool,
    /// A SQLSTATE that a routine gave it.
    own_state: Option<Box<str>>,
    /// The text within a routine that it is about, and the place in it.
    inner: Option<(String, usize)>,
    /// What the log is to have of it, and the client not.
    defect: Option<Arc<Defect>>,
    raised: Raised,
}

/// Where in the program's sources an error was made: it is no part of what the error says.
#[derive(Clone, Copy)]
struct Raised {
    at: &'static Location<'static>,
    /// PostgreSQL's routine, where programs ask for it.
    routine: Option<&'static str>,
}

impl PartialEq for Raised {
    fn eq(&self, _: &Raised) -> bool {
        true
    }
}

impl Eq for Raised {}

impl Raised {
    /// The fields of the protocol: file, line, and what stands for PostgreSQL's routine, the module.
    fn fields(self) -> [(u8, String); 3] {
        let file = self.at.file();
        let path = file.rsplit_once("src/").map_or(file, |(_, path)| path);
        let module = path.trim_end_matches(".rs").trim_end_matches("/mod").replace('/', "::");
        let routine = self.routine.map_or(module, str::to_string);
        [(b'F', path.to_string()), (b'L', self.at.line().to_string()), (b'R', routine)]
    }
}

/// A row that a rule of its table refused.
#[derive(Clone, PartialEq, Eq)]
struct FailingRow {
    /// The table, as the engine names it.
    table: String,
    /// Its columns and values as the engine prints what is kept.
    columns: Vec<(String, Option<String>)>,
    /// The tables that the statement writes to, with the columns that it says values for; once it is known.
    written: Option<Vec<Written>>,
}

/// Two rows that an exclusion constraint refuses.
#[derive(Clone, PartialEq, Eq)]
pub struct Excluded {
    /// The table, the parts of the constraint, and both rows, as the engine says them.
    pub subject: onlap::Subject,
    /// Whether the constraint was to come, so that neither row did.
    pub new: bool,
}

/// A table's key, and numbers of its columns.
pub type Written = (crate::rights::Key, Vec<u32>);

/// Whose values the detail shows, and what stands there for those who may not read them.
#[derive(Clone, PartialEq, Eq)]
struct Key {
    /// The engine's form of the table's name.
    table: String,
    columns: Vec<String>,
    /// As the engine has them.
    values: Vec<String>,
    without: Option<String>,
}

/// What an error is about, for programs.
#[derive(Clone, PartialEq, Eq)]
struct About {
    schema: String,
    table: Option<String>,
    column: Option<String>,
    datatype: Option<String>,
    constraint: Option<String>,
}

impl SqlError {
    /// A failure with a SQLSTATE of five characters.
    #[track_caller]
    pub fn new(state: &'static str, message: impl Into<String>) -> SqlError {
        SqlError(Box::new(Parts {
            state,
            message: message.into(),
            detail: None,
            hint: None,
            position: None,
            context: None,
            about: None,
            key: None,
            row: None,
            excluded: None,
            unserved: false,
            own_state: None,
            inner: None,
            defect: None,
            raised: Raised { at: Location::caller(), routine: None },
        }))
    }
    /// `XX000` in PostgreSQL's own words: what it reports so, and a client may read.
    #[track_caller]
    pub fn internal(message: impl Into<String>) -> SqlError {
        SqlError::new("XX000", message)
    }
    /// `XX000` for a mistake of ours. The text is for the log.
    #[track_caller]
    pub fn defect(text: impl Into<String>) -> SqlError {
        SqlError::of_defect(Defect::new(text))
    }
    /// The same of one that is known.
    #[track_caller]
    pub fn of_defect(defect: Arc<Defect>) -> SqlError {
        let mut made = SqlError::internal(defect.sentence());
        made.0.defect = Some(defect);
        made
    }
    /// What is known of it, if it is a mistake of ours. Nothing of that is in [`SqlError::fields`].
    pub fn as_defect(&self) -> Option<&Arc<Defect>> {
        self.0.defect.as_ref()
    }
    /// Whether SQLSTATE, sentence, detail and hint are all that it has.
    pub(crate) fn is_plain(&self) -> bool {
        let Parts { position, context, about, key, row, unserved, own_state, inner, .. } = &*self.0;
        let is_own = *unserved || self.0.raised.routine.is_some();
        let is_bare = context.is_none() && about.is_none() && key.is_none() && row.is_none();
        !is_own && is_bare && position.is_none() && own_state.is_none() && inner.is_none()
    }
    /// The same of a statement behind `before` characters, which its place counts too.
    #[must_use]
    pub fn after(mut self, before: usize) -> SqlError {
        self.0.position = self.0.position.map(|position| position + before);
        self
    }
    /// Where in the statement, in characters from 1.
    pub fn position(&self) -> Option<usize> {
        self.0.position
    }
    /// The same with another sentence.
    #[must_use]
    pub fn with_message(mut self, text: String) -> SqlError {
        self.0.message = text;
        self
    }
    /// The same with another place in the statement, where it has one.
    #[must_use]
    pub fn moved(mut self, to: impl FnOnce(usize) -> usize) -> SqlError {
        self.0.position = self.0.position.map(to);
        self
    }
    /// Of rows that are there and break a rule that is to come.
    pub fn of_rows(e: onlap::Error) -> SqlError {
        rules::of_rows(e)
    }

    /// The engine's refusal of a change in a transaction that only reads, as PostgreSQL words it of a command.
    #[must_use]
    pub fn in_read_only(self, command: impl FnOnce() -> String) -> SqlError {
        // Other refusals of writes, of a database that failed, have this state as well.
        match self.0.state == "25006" && self.0.message == "the transaction was begun read-only" {
            true => {
                let text = format!("cannot execute {} in a read-only transaction", command());
                SqlError::new("25006", text)
            }
            false => self,
        }
    }

    /// Of rows that are all written anew: keys that are there twice are no index's, which could not be made so.
    #[must_use]
    pub fn of_all_rows(mut self) -> SqlError {
        if self.state() != "23505" {
            return self;
        }
        if let Some((_, name)) = self.0.message.split_once(" constraint ") {
            self.0.message = format!("could not create unique index {name}");
        }
        let detail = self.0.detail.take();
        self.0.detail = detail.map(|text| text.replace(") already exists.", ") is duplicated."));
        self
    }

    /// A row that the statement is about was changed by another transaction.
    pub fn concurrent_update() -> SqlError {
        SqlError::new("40001", "could not serialize access due to concurrent update")
    }
    /// With the routine of PostgreSQL that says so: drivers know some errors by it.
    #[must_use]
    pub fn routine(mut self, name: &'static str) -> SqlError {
        self.0.raised.routine = Some(name);
        self
    }
    /// Something that Onlap does not do.
    #[track_caller]
    pub fn unsupported(what: impl fmt::Display) -> SqlError {
        SqlError::new(state::UNSUPPORTED, format!("{what} is not supported"))
    }
    /// Says that the way which was tried does not do it, though another may.
    #[must_use]
    pub fn unserved(mut self) -> SqlError {
        self.0.unserved = true;
        self
    }
    /// Whether it says only that the way which was tried does not do it.
    pub fn is_unserved(&self) -> bool {
        self.0.unserved
    }
    /// Says more about what is wrong.
    #[must_use]
    pub fn detail(mut self, text: impl Into<String>) -> SqlError {
        self.0.detail = Some(text.into());
        self
    }
    /// Says what to do.
    #[must_use]
    pub fn hint(mut self, text: impl Into<String>) -> SqlError {
        self.0.hint = Some(text.into());
        self
    }
    /// Says where in the statement, in characters from 1.
    #[must_use]
    pub fn at(mut self, position: usize) -> SqlError {
        self.0.position = Some(position);
        self
    }
    /// The same without a place, for what is wrong in another text than the statement's.
    #[must_use]
    pub fn nowhere(mut self) -> SqlError {
        self.0.position = None;
        self
    }
    /// Says what was under way: the line of a COPY.
    #[must_use]
    pub fn context(mut self, text: impl Into<String>) -> SqlError {
        self.0.context = Some(text.into());
        self
    }
    /// Says one thing more that was under way, around those that were said before.
    #[must_use]
    pub fn around(mut self, text: &str) -> SqlError {
        let context = self.0.context.get_or_insert_default();
        if !context.is_empty() {
            context.push('\n');
        }
        context.push_str(text);
        self
    }
    /// With what was said around it since, where the other one is the same further out.
    #[must_use]
    pub(crate) fn further_out(mut self, outer: &SqlError) -> SqlError {
        let own = self.0.context.as_deref().unwrap_or_default();
        if let Some(all) = outer.0.context.as_ref().filter(|all| all.starts_with(own)) {
            self.0.context = Some(all.clone());
        }
        self
    }
    /// Whether it says what was under way.
    pub fn has_context(&self) -> bool {
        self.0.context.is_some()
    }
    /// Its place is in a text within a routine, that begins this number of characters further on. Without a place nothing changes.
    #[must_use]
    pub fn within_text(mut self, text: &str, further: i64) -> SqlError {
        if let Some(at) = self.0.position.take() {
            let at = usize::try_from(at as i64 + further).unwrap_or(1).max(1);
            self.0.inner = Some((text.to_string(), at));
        }
        self
    }
    /// Whether its place is in a text within a routine.
    pub fn is_within_text(&self) -> bool {
        self.0.inner.is_some()
    }
    /// With a SQLSTATE that a routine gives it.
    #[must_use]
    pub fn with_state(mut self, state: &str) -> SqlError {
        self.0.own_state = Some(state.into());
        self
    }
    /// The SQLSTATE that the client sees.
    pub fn sqlstate(&self) -> &str {
        self.0.own_state.as_deref().unwrap_or(self.0.state)
    }
    /// Says what it is about, as a routine does, by the letters of the protocol's fields.
    #[must_use]
    pub fn about_fields(mut self, fields: &[(u8, String)]) -> SqlError {
        let of = |letter| {
            let found = fields.iter().find(|(known, _)| *known == letter);
            found.map(|(_, text)| text.clone())
        };
        self.0.about = Some(About {
            schema: of(b's').unwrap_or_default(),
            table: of(b't'),
            column: of(b'c'),
            datatype: of(b'd'),
            constraint: of(b'n'),
        });
        self
    }
    /// Says which type of a database it is about, and which constraint of it.
    #[must_use]
    pub fn about_type(mut self, schema: &str, name: &str, constraint: Option<&str>) -> SqlError {
        self.0.about = Some(About {
            schema: schema.into(),
            table: None,
            column: None,
            datatype: Some(name.into()),
            constraint: constraint.map(String::from),
        });
        self
    }
    /// Says which constraint of a table it is about.
    #[must_use]
    pub fn about_constraint(mut self, table: Name, constraint: &str) -> SqlError {
        self.0.about = Some(About {
            schema: table.schema,
            table: Some(table.name),
            column: None,
            datatype: None,
            constraint: Some(constraint.to_string()),
        });
        self
    }

    /// Says which table it is about.
    #[must_use]
    pub fn about_table(mut self, schema: &str, table: &str) -> SqlError {
        self.0.about = Some(About {
            schema: schema.into(),
            table: Some(table.into()),
            column: None,
            datatype: None,
            constraint: None,
        });
        self
    }
    /// Says which column of a table it is about.
    #[must_use]
    pub fn about_column(mut self, schema: &str, table: &str, column: &str) -> SqlError {
        self.0.about = Some(About {
            schema: schema.into(),
            table: Some(table.into()),
            column: Some(column.into()),
            datatype: None,
            constraint: None,
        });
        self
    }
    /// The SQLSTATE.
    pub fn state(&self) -> &'static str {
        self.0.state
    }
    /// The table and the columns of it whose values the detail shows: the engine knows no rights, so that who answers
    /// a client asks whether it may read them.
    pub fn shows(&self) -> Option<(&str, &[String])> {
        self.0.key.as_ref().map(|key| (key.table.as_str(), &key.columns[..]))
    }
    /// The same with values of the key as PostgreSQL prints them, where `print` knows how.
    #[must_use]
    pub fn with_values(mut self, print: impl Fn(&str, &str) -> Option<String>) -> SqlError {
        if let (Some(key), Some(detail)) = (&self.0.key, &mut self.0.detail) {
            let known = key.columns.iter().zip(&key.values);
            let printed: Vec<String> =
                known.map(|(c, value)| print(c, value).unwrap_or_else(|| value.clone())).collect();
            let (old, new) = (key.values.join(", "), printed.join(", "));
            *detail = detail.replacen(&format!(")=({old})"), &format!(")=({new})"), 1);
        }
        self
    }
    /// The same without these values.
    #[must_use]
    pub fn without_values(mut self) -> SqlError {
        if let Some(key) = self.0.key.take() {
            self.0.detail = key.without;
        }
        self
    }
    /// Of a row of a table, that was refused.
    #[must_use]
    pub fn of_row(mut self, schema: &onlap::TableSchema, row: &onlap::Row) -> SqlError {
        let columns = onlap::convert::row_texts(schema, |at| row[at].clone());
        self.0.row = Some(FailingRow { table: schema.name.clone(), columns, written: None });
        self
    }
    /// The table of the row that was refused, with its columns and values as the engine prints what is kept, and what the
    /// statement writes.
    #[expect(clippy::type_complexity, reason = "a table, its row, what is written")]
    pub fn failing_row(&self) -> Option<(&str, &[(String, Option<String>)], &[Written])> {
        let row = self.0.row.as_ref()?;
        Some((&row.table, &row.columns, row.written.as_deref().unwrap_or_default()))
    }
    /// Of a statement that needs this, of which the innermost counts.
    #[must_use]
    pub fn of_statement(mut self, needs: &[crate::rights::Need]) -> SqlError {
        use crate::rights::Action::{Insert, Update};
        if let Some(row) = self.0.row.as_mut().filter(|row| row.written.is_none()) {
            let writes = needs.iter().filter(|need| matches!(need.action, Insert | Update));
            row.written = Some(writes.map(|need| (need.key, need.columns.clone())).collect());
        }
        self
    }
    /// The same with this detail, and the row forgotten.
    #[must_use]
    pub fn with_row_told(mut self, detail: Option<String>) -> SqlError {
        self.0.row = None;
        self.0.detail = self.0.detail.or(detail);
        self
    }
    /// The rows that an exclusion constraint refuses.
    pub fn excluded(&self) -> Option<&Excluded> {
        self.0.excluded.as_deref()
    }
    /// The same with this detail, and the rows forgotten.
    #[must_use]
    pub fn with_excluded_told(mut self, detail: String) -> SqlError {
        self.0.excluded = None;
        self.0.detail = Some(detail);
        self
    }
    /// Bytes of all that it says.
    pub fn text_bytes(&self) -> usize {
        let more = [&self.0.detail, &self.0.hint, &self.0.context];
        self.0.message.len() + more.into_iter().flatten().map(String::len).sum::<usize>()
    }
    /// The sentence.
    pub fn message(&self) -> &str {
        &self.0.message
    }
    /// The fields of an ErrorResponse: type and text, severity left to the caller.
    pub fn fields(&self) -> Vec<(u8, String)> {
        let mut fields = vec![(b'C', self.sqlstate().to_string()), (b'M', self.0.message.clone())];
        fields.extend(self.0.detail.iter().map(|t| (b'D', t.clone())));
        fields.extend(self.0.hint.iter().map(|t| (b'H', t.clone())));
        fields.extend(self.0.position.iter().map(|p| (b'P', p.to_string())));
        if let Some((text, place)) = &self.0.inner {
            fields.push((b'p', place.to_string()));
            fields.push((b'q', text.clone()));
        }
        fields.extend(self.0.context.iter().map(|t| (b'W', t.clone())));
        if let Some(about) = &self.0.about {
            if !about.schema.is_empty() {
                fields.push((b's', about.schema.clone()));
            }
            fields.extend(about.table.iter().map(|t| (b't', t.clone())));
            fields.extend(about.column.iter().map(|c| (b'c', c.clone())));
            fields.extend(about.datatype.iter().map(|t| (b'd', t.clone())));
            fields.extend(about.constraint.iter().map(|c| (b'n', c.clone())));
        }
        fields.extend(self.0.raised.fields());
        fields
    }
}

impl fmt::Display for SqlError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0.message)
    }
}

impl fmt::Debug for SqlError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.0.state, self.0.message)?;
        if let Some(defect) = &self.0.defect {
            write!(f, " [{defect}]")?;
        }
        let more = [("detail", &self.0.detail), ("hint", &self.0.hint)];
        more.iter().try_for_each(|(name, text)| match text {
            Some(text) => write!(f, "; {name}: {text}"),
            None => Ok(()),
        })
    }
}

impl std::error::Error for SqlError {}

impl From<onlap::Error> for SqlError {
    fn from(e: onlap::Error) -> SqlError {
        match e.subject() {
            Some(subject) => rules::broken(&e, subject),
            None => engine::told(&e),
        }
    }
}

impl From<DataFusionError> for SqlError {
    fn from(e: DataFusionError) -> SqlError {
        of_steps(&e)
    }
}

fn of_steps(e: &DataFusionError) -> SqlError {
    match e {
        DataFusionError::External(inner) => of_external(&**inner),
        DataFusionError::Context(_, inner) | DataFusionError::Diagnostic(_, inner) => {
            of_steps(inner)
        }
        DataFusionError::Shared(inner) => of_steps(inner),
        DataFusionError::Collection(all) if !all.is_empty() => of_steps(&all[0]),
        DataFusionError::ResourcesExhausted(text) => SqlError::new(state::OUT_OF_MEMORY, text),
        DataFusionError::ArrowError(inner, _) => of_arrow(inner),
        DataFusionError::IoError(inner) => of_io(inner),
        // What it calls not implemented was ours not to ask for.
        other => SqlError::defect(other.strip_backtrace()),
    }
}

/// An error that came through steps as it was.
fn of_external(inner: &(dyn std::error::Error + Send + Sync + 'static)) -> SqlError {
    if let Some(own) = inner.downcast_ref::<SqlError>() {
        return own.clone();
    }
    if let Some(engine) = inner.downcast_ref::<onlap::Error>() {
        return engine.clone().into();
    }
    if let Some(bound) = inner.downcast_ref::<onlap_pg::Error>() {
        return crate::query::sql_error(bound, "");
    }
    match inner.downcast_ref::<DataFusionError>() {
        Some(steps) => of_steps(steps),
        None => SqlError::defect(inner.to_string()),
    }
}

fn of_arrow(e: &arrow_schema::ArrowError) -> SqlError {
    use arrow_schema::ArrowError;
    match e {
        ArrowError::DivideByZero => SqlError::new("22012", "division by zero"),
        ArrowError::ArithmeticOverflow(_) => SqlError::new("22003", "value out of range"),
        ArrowError::ExternalError(inner) => of_external(&**inner),
        ArrowError::IoError(_, inner) => of_io(inner),
        // Values are read and cast by kernels of our own.
        other => SqlError::defect(other.to_string()),
    }
}

/// An error of a file that a query spilled to.
fn of_io(e: &std::io::Error) -> SqlError {
    use std::io::ErrorKind;
    let state = match (e.kind(), e.raw_os_error()) {
        (ErrorKind::StorageFull | ErrorKind::QuotaExceeded, _) => state::DISK_FULL,
        // ENFILE and EMFILE: too many open files, of the system or of this process.
        (_, Some(23 | 24)) => state::OUT_OF_RESOURCES,
        _ => state::IO,
    };
    SqlError::new(state, format!("a file that the query keeps rows in: {e}"))
}
