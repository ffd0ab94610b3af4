//! CREATE TABLE AS and SELECT INTO.

use onlap::TableSpec;
use onlap_pg::ast::{CreateTableAs, Kept, Lasting, QueryId, Span};

use super::columns::Declared;
use super::storage;
use super::table::{Making, at_name, is_free, refuse_kept, with_options};
use super::temporary::{self, Place};
use super::view::{CHOOSE_COLLATION, no_pseudo_type};
use crate::change;
use crate::columns::ColumnType;
use crate::error::{Result, SqlError, state};
use crate::parse::{self, Body};
use crate::plan::TableHandle;
use crate::query::Bound;
use crate::session::{Parameter, Session};
use crate::source::{Source, no_parameters, strings};
use crate::view::View;
use crate::wire::Client;

/// Makes a table of a query's columns and rows; the tag.
///
/// # Errors
/// Those of the query; a column of a type that tables do not have.
pub fn create_table_as(
    session: &mut Session,
    view: &View,
    source: Source<'_>,
    create: &CreateTableAs,
    values: &[Parameter],
    client: &mut dyn Client,
) -> Result<String> {
    if create.materialized {
        return super::materialized::create(session, view, source, create, client);
    }
    refuse_kept(&create.kept)?;
    let executed;
    let (text, values) = match create.query {
        Some(_) => (source.alone(create.span), values),
        None => {
            let text;
            (text, executed) = query_of_execute(session, view, source, create)?;
            (text, &*executed)
        }
    };
    let made = Made {
        name: strings(&create.name),
        place: create.place,
        lasting: create.lasting,
        skip: create.skip,
        columns: strings(&create.columns),
        kept: &create.kept,
        no_data: create.no_data,
        executed: create.query.is_none(),
        text,
        values,
    };
    made.run(session, view, source, client)
}

/// The query of the prepared statement that CREATE TABLE AS executes, and the values of its parameters.
fn query_of_execute(
    session: &Session,
    view: &View,
    source: Source<'_>,
    create: &CreateTableAs,
) -> Result<(String, Vec<Parameter>)> {
    let mut all = parse::statements(create.span.of(source.written))?;
    let parsed = all.pop();
    let Some((parsed, execute)) = parsed.as_ref().and_then(|it| Some((it, it.execute()?))) else {
        return Err(SqlError::defect("CREATE TABLE AS has no query and no EXECUTE"));
    };
    let executed = session.executed(view, parsed.source(&parsed.text), execute);
    let (prepared, values) = executed.map_err(|e| source.within(create.span, e))?;
    match &prepared.parsed {
        Some(of) if of.body == Body::Query => Ok((of.bindable().into_owned(), values)),
        _ => Err(SqlError::new("42809", "prepared statement is not a SELECT")),
    }
}

/// SELECT INTO; the tag.
///
/// # Errors
/// As [`create_table_as`].
pub fn select_into(
    session: &mut Session,
    view: &View,
    source: Source<'_>,
    query: QueryId,
    values: &[Parameter],
    client: &mut dyn Client,
) -> Result<String> {
    let into = source.tree.into_of(query).expect("it makes a table");
    let text = without_into(source, into.span);
    let lasting = match (into.temporary, into.unlogged) {
        (true, _) => Lasting::Temporary,
        (_, true) => Lasting::Unlogged,
        _ => Lasting::Permanent,
    };
    let made = Made {
        name: strings(&into.name),
        place: into.place,
        lasting,
        skip: false,
        columns: Vec::new(),
        kept: &Kept::default(),
        no_data: false,
        executed: false,
        text,
        values,
    };
    made.run(session, view, source, client)
}

/// The query of SELECT INTO, with blanks in the place of INTO and its table.
pub fn without_into(source: Source<'_>, into: Span) -> String {
    let mut text = source.text.to_string();
    let blanks = " ".repeat(source.of(into).chars().count());
    text.replace_range(into.start as usize..into.end as usize, &blanks);
    text
}

/// A table that a query makes.
struct Made<'a> {
    name: Vec<String>,
    /// Where the name stands.
    place: u32,
    lasting: Lasting,
    /// IF NOT EXISTS.
    skip: bool,
    /// Names of columns.
    columns: Vec<String>,
    kept: &'a Kept,
    no_data: bool,
    /// Whether EXECUTE gives the query.
    executed: bool,
    /// The query.
    text: String,
    /// Values of its parameters.
    values: &'a [Parameter],
}

impl Made<'_> {
    fn run(
        self,
        session: &mut Session,
        view: &View,
        source: Source<'_>,
        client: &mut dyn Client,
    ) -> Result<String> {
        if self.values.is_empty() {
            no_parameters(&self.text)?;
        }
        let types: Vec<_> = self.values.iter().map(|value| Some(value.ty)).collect();
        let bound = Bound::must(view, &self.text, source.depth, &types)?;
        temporary::check_on_commit(self.kept.on_commit, self.lasting == Lasting::Temporary)?;
        let place = temporary::place_of_relation(session, view, &self.name, self.lasting)
            .map_err(|e| at_name(source, e, self.place))?;
        let Place { view, name } = &place;
        if !is_free(view, name, self.skip, client)? {
            return Ok("CREATE TABLE AS".into());
        }
        view.must(bound.needs())?;
        let columns = declared_of(view, &bound, &self.columns)?;
        must_differ(&columns)?;
        let spec = TableSpec::new(name.engine(&view.database));
        let spec = with_options(spec, &self.kept.settings)?;
        let options = storage::options(storage::Of::Table, &self.kept.settings)?;
        Making { session, view, name, columns, constraints: Vec::new(), options }.run(spec)?;
        temporary::note(session, &place, self.kept.on_commit)?;
        if self.no_data {
            return Ok(if self.executed { "SELECT 0" } else { "CREATE TABLE AS" }.into());
        }
        let batches = bound.batches_with(view, self.values, &self.text)?;
        let table = view.scope.tx()?.table(&name.engine(&view.database))?;
        // The role that makes the table fills it, whatever it may do with it.
        let view = session.view()?;
        let target = TableHandle::new(&view, table);
        let n = change::fill(&view, &target, batches)?;
        session.current()?.changed = true;
        Ok(format!("SELECT {n}"))
    }
}

/// Fails where two columns have one name.
///
/// # Errors
/// `42701`
pub fn must_differ(columns: &[Declared<'_>]) -> Result<()> {
    let is_twice =
        |(at, of): &(usize, &Declared<'_>)| columns[..*at].iter().any(|b| b.name == of.name);
    match columns.iter().enumerate().find(is_twice) {
        Some((_, of)) => {
            let text = format!("column \"{}\" specified more than once", of.name);
            Err(SqlError::new("42701", text))
        }
        None => Ok(()),
    }
}

/// The columns of a query, for a table; the first ones may have other names.
///
/// # Errors
/// `42601`: too many names; a column of a type that tables do not have.
pub fn declared_of(view: &View, bound: &Bound, names: &[String]) -> Result<Vec<Declared<'static>>> {
    if let Some((at, column)) =
        bound.undetermined().and_then(|at| Some((at, bound.columns().get(at)?)))
    {
        let shown = view.objects.made_types().catalog().shown(column.ty.oid);
        let name = names.get(at).unwrap_or(&column.name);
        let text =
            format!("no collation was derived for column \"{name}\" with collatable type {shown}");
        return Err(SqlError::new(state::NO_COLLATION, text).hint(CHOOSE_COLLATION));
    }
    if names.len() > bound.columns().len() {
        return Err(SqlError::new(state::SYNTAX, "too many column names were specified"));
    }
    let column = |(at, field): (usize, &_)| {
        let crate::session::answer::AnswerColumn { name, ty, .. } = field;
        let name = names.get(at).unwrap_or(name).clone();
        no_pseudo_type(&name, *ty)?;
        let catalog = view.objects.made_types().catalog();
        let ty = ColumnType::of(catalog, *ty)
            .ok_or_else(|| SqlError::unsupported(format!("a column of the type of \"{name}\"")))?;
        let own = catalog.collation(ty.pg.oid);
        let collation = bound.collation(at).filter(|collation| *collation != own);
        Ok(Declared { collation, ..Declared::plain(name, ty) })
    };
    bound.columns().iter().enumerate().map(column).collect()
}
