//! What do the names in a view stand for?
//!
//! They are bound once, when the view is made: in the text that is kept, a table or view is written as
//! `"onlap object"."OID"` in front of the name that the view's text gives it, or as `"onlap object"."OID".name` where it
//! gives none (`"onlap object"."OID" AS name` in older texts); and which columns it had is kept with it, by number and name
//! ([`Use`]). Another name of a table, column or schema, or another table of the old name, then changes
//! nothing of what the view reads.

use onlap::{Table, TableSchema};
use onlap_pg::ast::{Mention, QueryId, Said, Span, Statement, Tree};
use onlap_pg::grammar::{self, Tokens};
use serde_json::{Value as Json, json};

use super::frozen::{Edit, edited};
use super::names::quote;
use super::objects::{Kind, Object};
use super::{Name, oids};
use crate::error::Result;
use crate::source::strings;
use crate::view::View;

/// The schema under which bound names stand; in a statement of a client it is an ordinary name.
const SCHEMA: &str = "onlap object";

/// A table or view that a view reads.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Use {
    /// Its OID.
    pub oid: u32,
    /// The engine's form of its name then, where it is looked for first.
    pub name: String,
    /// Ids and names of its columns then, those of a view counted from 0; none of a view in texts of older releases, which have
    /// the names of now.
    pub columns: Vec<(u32, String)>,
    /// Numbers (from 1) of those that the view reads.
    pub reads: Vec<u32>,
}

impl Use {
    /// A table.
    pub fn of_table(table: &Table) -> Use {
        Use::of_schema(&table.schema())
    }

    /// A table of this form.
    pub fn of_schema(schema: &TableSchema) -> Use {
        let columns = schema.columns.iter().map(|c| (c.id.0, c.name.clone())).collect();
        let (oid, name) = (oids::of_table(schema.id), schema.name.clone());
        Use { oid, name, columns, reads: Vec::new() }
    }

    /// A view.
    pub fn of_view(engine: &str, object: &Object) -> Use {
        let oid = oids::of_object(object.number);
        Use { oid, name: engine.into(), columns: columns_of_view(&object.body), reads: Vec::new() }
    }

    /// As it is kept.
    pub fn body(&self) -> Json {
        let columns: Vec<Json> = self.columns.iter().map(|(id, name)| json!([id, name])).collect();
        json!({ "oid": self.oid, "name": self.name, "columns": columns, "reads": self.reads })
    }

    fn read(body: &Json) -> Option<Use> {
        let number = |json: &Json| u32::try_from(json.as_u64()?).ok();
        let columns = body["columns"].as_array().into_iter().flatten();
        let column = |c: &Json| Some((number(&c[0])?, c[1].as_str()?.to_string()));
        Some(Use {
            oid: number(&body["oid"])?,
            name: body["name"].as_str()?.to_string(),
            columns: columns.map(column).collect::<Option<_>>()?,
            reads: body["reads"].as_array().into_iter().flatten().filter_map(number).collect(),
        })
    }
}

/// Numbers and names of a view's columns.
fn columns_of_view(body: &Json) -> Vec<(u32, String)> {
    let columns = body["columns"].as_array().into_iter().flatten();
    let names = columns.filter_map(|column| column["name"].as_str().map(str::to_string));
    (0..).zip(names).collect()
}

/// What reads a view by the names of now, by these from now on, where a body is of an older release; `None` where nothing changes.
pub fn with_columns(body: &Json, oid: u32, view: &Json) -> Option<Json> {
    let mut all = uses(body);
    let used = all.iter_mut().find(|used| used.oid == oid && used.columns.is_empty())?;
    used.columns = columns_of_view(view);
    let mut body = body.clone();
    body["uses"] = all.iter().map(Use::body).collect();
    Some(body)
}

/// What a view reads.
pub fn uses(body: &Json) -> Vec<Use> {
    body["uses"].as_array().into_iter().flatten().filter_map(Use::read).collect()
}

/// One of them.
pub fn use_of(body: &Json, oid: u32) -> Option<Use> {
    uses(body).into_iter().find(|used| used.oid == oid)
}

/// How a text names what has an OID, by a name of now.
pub fn named(oid: u32, name: &str) -> String {
    format!("\"{SCHEMA}\".\"{oid}\".{}", quote(name))
}

/// The bound name of what has an OID.
pub fn path(oid: u32) -> [onlap_pg::ast::Name; 2] {
    [SCHEMA.into(), oid.to_string().into()]
}

/// The OID that a bound name says.
pub fn oid_of(parts: &[String]) -> Option<u32> {
    match parts {
        [schema, oid] | [schema, oid, _] if schema == SCHEMA => oid.parse().ok(),
        _ => None,
    }
}

/// What a [`Use`] is now.
pub enum Found<'a> {
    /// A table.
    Table(Table),
    /// A view.
    View(Name, &'a Object),
}

/// Finds what a view reads, whatever it is called now; `None` where it is gone.
///
/// # Errors
/// The transaction has ended.
pub fn find<'a>(view: &'a View, used: &Use) -> Result<Option<Found<'a>>> {
    let tx = view.scope.tx()?;
    let is = |table: &Table| oids::of_table(table.schema().id) == used.oid;
    if let Some(table) = tx.table(&used.name).ok().filter(is) {
        return Ok(Some(Found::Table(table)));
    }
    let mut views = view.objects.of_kind(Kind::View);
    if let Some((engine, object)) = views.find(|(_, o)| oids::of_object(o.number) == used.oid) {
        return Ok(Some(Found::View(Name::of_engine(engine).1, object)));
    }
    Ok(tx.tables().into_iter().find(is).map(Found::Table))
}

/// Keeps what is read from going and from getting another name until the transaction ends.
///
/// # Errors
/// `40001`: it did meanwhile, and the statement begins anew; those of waits for locks.
pub fn keep<'a>(view: &View, uses: impl IntoIterator<Item = &'a Use>) -> Result<()> {
    for used in uses {
        view.scope.tx()?.share_name(&used.name)?;
        let newest = view.newest_objects();
        let seen = newest.get(Kind::View, &used.name);
        let is_there = match view.scope.tx()?.table(&used.name) {
            Ok(table) => oids::of_table(table.schema().id) == used.oid,
            Err(_) => seen.is_some_and(|object| oids::of_object(object.number) == used.oid),
        };
        if !is_there {
            return Err(crate::ddl::anew(view));
        }
    }
    Ok(())
}

/// A query as it was written.
#[derive(Clone, Copy)]
pub struct Written<'a> {
    /// The tree that it is in.
    pub tree: &'a Tree,
    /// Its number.
    pub query: QueryId,
    /// The tree's text.
    pub text: &'a str,
}

/// A text that changes at places that are known by their bytes.
struct Edits<'a> {
    text: &'a str,
    tokens: Tokens<'a>,
    /// What stands in the place of what.
    all: Vec<Edit>,
}

impl<'a> Edits<'a> {
    fn new(text: &'a str) -> Edits<'a> {
        Edits { text, tokens: Tokens::of(text), all: Vec::new() }
    }

    /// The token that begins at a place.
    fn token_at(&self, place: u32) -> usize {
        self.tokens.all.partition_point(|token| token.start < place)
    }

    fn start(&self, token: usize) -> usize {
        self.tokens.all.get(token).map_or(self.text.len(), |token| token.start as usize)
    }

    fn end(&self, token: usize) -> usize {
        self.tokens.all.get(token).map_or(self.text.len(), |token| token.end as usize)
    }

    /// The first and the last token of a name of some parts, which have dots between them.
    fn name(&self, place: u32, parts: usize) -> (usize, usize) {
        let first = self.token_at(place);
        (first, first + 2 * parts.saturating_sub(1))
    }

    fn replace(&mut self, from: usize, to: usize, text: String) {
        self.all.push((from, to, text));
    }

    /// The changed text of a part.
    fn made(self, span: Span) -> String {
        edited(self.text, span, self.all)
    }
}

/// What a name stands for; `None` for one of the system or of nothing.
type Resolve<'a> = dyn FnMut(&[String]) -> Option<Use> + 'a;

/// The text of a query with its names bound, and other edits made.
pub fn bind(
    written: Written<'_>,
    span: Span,
    edits: Vec<Edit>,
    resolve: &mut Resolve<'_>,
) -> (String, Vec<Use>) {
    let mut binding = Binding::new((written.text, edits), resolve);
    written.tree.mentions(written.query, &mut |mention| binding.see(mention));
    binding.made(span)
}

/// The text of a statement that changes rows, likewise.
pub fn bind_statement(
    (tree, statement): (&Tree, &Statement),
    text: (&str, Vec<Edit>),
    span: Span,
    resolve: &mut Resolve<'_>,
) -> (String, Vec<Use>) {
    let mut binding = Binding::new(text, resolve);
    tree.mentions_of(statement, &mut |mention| binding.see(mention));
    binding.made(span)
}

/// The text of an expression likewise.
pub fn bind_expr(
    tree: &Tree,
    text: (&str, Vec<Edit>),
    said: Said,
    resolve: &mut Resolve<'_>,
) -> (String, Vec<Use>) {
    let mut binding = Binding::new(text, resolve);
    tree.mentions_in(said.expr, &mut |mention| binding.see(mention));
    binding.made(said.span)
}

/// A text whose names are being bound.
struct Binding<'t, 'r> {
    edits: Edits<'t>,
    found: Vec<Use>,
    resolve: &'r mut Resolve<'r>,
}

impl<'t, 'r> Binding<'t, 'r> {
    fn new((text, all): (&'t str, Vec<Edit>), resolve: &'r mut Resolve<'_>) -> Binding<'t, 'r> {
        Binding { edits: Edits { all, ..Edits::new(text) }, found: Vec::new(), resolve }
    }

    fn made(self, span: Span) -> (String, Vec<Use>) {
        (self.edits.made(span), self.found)
    }

    fn see(&mut self, mention: Mention<'_>) {
        let edits = &mut self.edits;
        match mention {
            Mention::Relation(relation) => {
                let said = strings(&relation.name);
                if oid_of(&said).is_some() {
                    return;
                }
                let Some(used) = (self.resolve)(&said) else { return };
                let (first, last) = edits.name(relation.place, relation.name.len());
                let bound = match (&relation.alias, said.last()) {
                    (None, Some(name)) => named(used.oid, name),
                    _ => format!("\"{SCHEMA}\".\"{}\"", used.oid),
                };
                edits.replace(edits.start(first), edits.end(last), bound);
                if !self.found.iter().any(|known| known.oid == used.oid) {
                    self.found.push(used);
                }
            }
            // A column's table has no schema any more.
            Mention::Column(path, place) if path.len() > 2 => {
                let (first, last) = edits.name(place, path.len());
                edits.replace(edits.start(first), edits.start(last - 2), String::new());
            }
            Mention::Star(path, place) if path.len() > 1 => {
                let (first, last) = edits.name(place, path.len());
                edits.replace(edits.start(first), edits.start(last), String::new());
            }
            Mention::Column(..) | Mention::Star(..) => {}
        }
    }
}

/// The text of an expression over OLD and NEW, in which a column of both has another name; `None` where it may be named as a
/// field of a whole row.
pub fn renamed_in_rows(text: &str, from: &str, to: &str) -> Option<String> {
    const SELECT: &str = "SELECT ";
    let whole = format!("{SELECT}{text}");
    let tree = grammar::parse(&whole).ok()?;
    let expr = tree.only_target()?;
    let (mut edits, mut is_clear) = (Edits::new(&whole), true);
    tree.mentions_in(expr, &mut |mention| {
        let Mention::Column(path, place) = mention else { return };
        match &path[..] {
            [_, column] if **column == *from => {
                let (_, last) = edits.name(place, 2);
                edits.replace(edits.start(last), edits.end(last), quote(to));
            }
            [_] => is_clear = false,
            _ => {}
        }
    });
    let span =
        Span { start: u32::try_from(SELECT.len()).ok()?, end: u32::try_from(whole.len()).ok()? };
    is_clear.then(|| edits.made(span))
}

/// The one query of a text that is kept: its tree, its number, its place.
pub fn query_of(text: &str) -> Option<(Tree, QueryId, Span)> {
    let tree = grammar::parse(text).ok()?;
    let [one] = &tree.statements[..] else { return None };
    let Statement::Query(query) = one.statement else { return None };
    let span = Span { start: one.start, end: one.end };
    Some((tree, query, span))
}

#[cfg(test)]
mod tests;
