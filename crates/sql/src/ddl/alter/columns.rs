//! Which steps do actions on columns take?

use onlap::{TableChanges, Value, convert};
use onlap_pg::ast::{ColumnChange, NewColumn, SequenceOption};
use onlap_pg::bound::Part;
use serde_json::json;

use super::actions::Actions;
use super::retype::Goal;
use super::steps::{Filled, Step};
use crate::catalog::{Kind, Name, column_types, oids};
use crate::ddl::change::notice;
use crate::ddl::columns::{Declared, Default, OwnSequence, collation, declared, default_of};
use crate::ddl::constraints::{Collector, Constraint};
use crate::ddl::generated::{self, Generating};
use crate::ddl::materialized;
use crate::ddl::types::type_of_column;
use crate::ddl::{defaults, sequence, table};
use crate::error::{Result, SqlError, state};
use crate::parse;
use crate::query::{Bound, Names};
use crate::wire::Client;

impl<'a> Actions<'a> {
    pub(super) fn add_column(
        &mut self,
        column: &'a NewColumn,
        skip: bool,
        client: &mut dyn Client,
    ) -> Result<()> {
        generated::check_rules(self.view, self.source, &self.name.name, column)?;
        let column = declared(self.view, self.source, (&self.name.name, column))?;
        let name = column.name.clone();
        let is_new = |of: &Declared<'_>| of.name == name;
        if self.schema.position_by_name(&name).is_some() || self.new.iter().any(is_new) {
            let table = &self.name.name;
            let text = format!("column \"{name}\" of relation \"{table}\" already exists");
            if skip {
                notice(client, "42701", format!("{text}, skipping"));
                return Ok(());
            }
            return Err(SqlError::new("42701", text));
        }
        self.add_declared(column)
    }

    /// Adds a column that was declared. Its constraints are left to [`Actions::finish`].
    pub(super) fn add_declared(&mut self, declared: Declared<'a>) -> Result<()> {
        let column = &declared;
        let name = column.name.clone();
        let fills = !self.is_empty()? && self.differs_by_row(column)?;
        let value = if fills { None } else { self.value_of_rows(column)? };
        let computed = matches!(column.default, Default::Computed(_));
        let mut changes = TableChanges::new().add_column(&name, column.ty.engine, value);
        if computed {
            changes = changes.drop_default(&name);
        }
        let of = (&*self.schema, &self.types);
        let generating = Generating::added(self.view, self.source, &self.name.name, of, column);
        let generated = generating.spec(column).map_err(|e| self.of_new_columns(e))?;
        if let Some(generated) = generated {
            changes = changes.generate(generated);
        }
        if column.not_null && column.sequence.is_none() && !fills {
            changes = changes.set_not_null(&name);
        }
        self.steps.push(Step::Changes(changes));
        if let Some(body) = column_types::body(column.ty, column.collation) {
            self.steps.push(Step::Note(Kind::ColumnType, name.clone(), Some(body)));
        }
        self.default_steps(column, fills)?;
        self.new.push(declared);
        Ok(())
    }

    /// The constraints of new columns, when all of these are known: a check may read one that is written behind it. Keys come
    /// first, as in PostgreSQL.
    pub(super) fn finish(mut self) -> Result<Vec<Step>> {
        let new = std::mem::take(&mut self.new);
        if new.is_empty() {
            return Ok(self.steps);
        }
        let known = self.schema.columns.iter().map(|c| c.name.clone());
        let known = known.zip(self.types.iter().copied());
        let columns = known.chain(new.iter().map(|column| (column.name.clone(), column.ty)));
        let names = |is: &dyn Fn(&Declared<'_>) -> bool| {
            new.iter().filter(|column| is(column)).map(|column| column.name.clone()).collect()
        };
        let computed = names(&|column| column.has_computed_default());
        let (view, source) = (self.view, self.source);
        let mut collector = Collector::new(view, source, self.name, columns.collect(), computed);
        collector.knows(&self.schema);
        collector.generated = names(&|column| column.generated.is_some());
        new.iter().try_for_each(|column| collector.column(column))?;
        let mut all = std::mem::take(&mut collector.all);
        all.sort_by_key(|of| !matches!(of, Constraint::Primary(_) | Constraint::Unique(_)));
        all.into_iter().try_for_each(|of| self.add_built(of))?;
        Ok(self.steps)
    }

    /// Why there is no such column, where it may be one that the same statement adds.
    fn of_new_columns(&self, e: SqlError) -> SqlError {
        match e.state() == state::NO_COLUMN && !self.steps.is_empty() {
            true => {
                SqlError::unsupported("a generated column that reads what the same statement adds")
                    .hint("Add it by a statement of its own.")
            }
            false => e,
        }
    }

    fn is_empty(&self) -> Result<bool> {
        Ok(self.view.scope.tx()?.count(self.table)? == 0)
    }

    /// Whether rows that are there get values of their own in a new column.
    fn differs_by_row(&self, column: &Declared<'_>) -> Result<bool> {
        if column.sequence.is_some() {
            return Ok(true);
        }
        match &column.default {
            Default::Sequence(_) => Ok(true),
            Default::Constant(..) => Ok(false),
            Default::Computed(sql) => self.calls_volatile(sql),
            Default::None => match defaults::of_domain(self.view, column.ty.pg) {
                Some(sql) => self.calls_volatile(&sql),
                None => Ok(false),
            },
        }
    }

    /// Whether a default calls a function that may give each row another value, be it of the database.
    fn calls_volatile(&self, sql: &str) -> Result<bool> {
        let text = format!("SELECT ({sql})");
        let bound = Bound::kept_alone(self.view, &text, parse::depth_of(&text))?;
        let (tree, query) = bound.tree();
        Ok(tree.calls_volatile(Part::Query(query), Names::new(self.view).catalog()))
    }

    /// What rows that are there get in a new column, all of them the same.
    fn value_of_rows(&self, column: &Declared<'_>) -> Result<Option<Value>> {
        match &column.default {
            Default::Constant(value, _) => Ok(Some(value.clone())),
            Default::Computed(sql) => {
                if self.is_empty()? {
                    return Ok(None);
                }
                let one = defaults::columns(self.view, &[(column.ty, sql)], 1)?;
                Ok(Some(convert::read_value(column.ty.engine, &one[0], 0)))
            }
            _ => match defaults::of_domain(self.view, column.ty.pg) {
                Some(_) if self.is_empty()? => Ok(None),
                Some(sql) => {
                    let one = defaults::columns(self.view, &[(column.ty, &sql)], 1)?;
                    Ok(Some(convert::read_value(column.ty.engine, &one[0], 0)))
                }
                None => Ok(None),
            },
        }
    }

    /// Defaults that the engine sets by another change, or does not know.
    fn default_steps(&mut self, column: &Declared<'_>, fills: bool) -> Result<()> {
        let name = column.name.clone();
        let fill = |values: Filled| Step::Fill(name.clone(), values);
        let note = defaults::note(&column.default);
        self.steps.extend(note.map(|body| Step::Note(Kind::Default, name.clone(), Some(body))));
        match &column.default {
            Default::Sequence(sequence) => {
                let changes = TableChanges::new().set_default_sequence(&name, sequence);
                self.steps.push(Step::Changes(changes));
                self.steps.extend(fills.then(|| fill(Filled::BySequence)));
            }
            Default::Computed(sql) => {
                let by = || Filled::ByExpression(column.ty, sql.clone());
                self.steps.extend(fills.then(|| fill(by())));
            }
            _ => {
                let sql = defaults::of_domain(self.view, column.ty.pg).filter(|_| fills);
                let by = sql.map(|sql| fill(Filled::ByExpression(column.ty, sql)));
                self.steps.extend(by.filter(|_| column.sequence.is_none()));
            }
        }
        if fills && column.not_null && column.sequence.is_none() {
            self.steps.push(Step::Changes(TableChanges::new().set_not_null(&name)));
        }
        if let Some(own) = &column.sequence {
            let sequence = table::sequence_name(self.view, self.name, column)?;
            let spec = own.options.spec(&sequence, None)?;
            self.steps.push(Step::AddSequence(spec, name.clone()));
            self.steps.extend(fills.then(|| fill(Filled::BySequence)));
            let changes = TableChanges::new().set_not_null(&name);
            self.steps.push(Step::Changes(changes));
            self.steps.push(Step::Own(sequence, name.clone()));
            if let Some(always) = own.identity {
                let body = json!({ "always": always });
                self.steps.push(Step::Note(Kind::Identity, name, Some(body)));
            }
        }
        Ok(())
    }

    pub(super) fn alter_column(
        &mut self,
        name: &str,
        change: &ColumnChange,
        client: &mut dyn Client,
    ) -> Result<()> {
        if matches!(change, ColumnChange::Storage) && name.bytes().all(|b| b.is_ascii_digit()) {
            return Ok(());
        }
        let at = self.position(name)?;
        if self.schema.is_generated(at) {
            self.refuse_generated(name, change)?;
        }
        let changes = TableChanges::new();
        let changes = match change {
            ColumnChange::Storage => return Ok(()),
            ColumnChange::SetDefault(said) => {
                let ty = self.types[at];
                // It has no place, as in PostgreSQL.
                let default = default_of(self.view, self.source, said, (name, ty));
                let default = default.map_err(SqlError::nowhere)?;
                self.set_default(at, default);
                return Ok(());
            }
            ColumnChange::DropDefault => {
                self.set_default(at, Default::None);
                return Ok(());
            }
            ColumnChange::AddIdentity(always, options) => {
                return self.add_identity(at, *always, options);
            }
            ColumnChange::SetIdentity(options) => return self.set_identity(at, options),
            ColumnChange::DropIdentity(skip) => {
                if !self.is_identity(at, *skip, client)? {
                    return Ok(());
                }
                self.steps.push(Step::Note(Kind::Identity, name.to_string(), None));
                changes.drop_default(name)
            }
            ColumnChange::DropExpression(skip) => {
                return self.drop_expression(at, *skip, client);
            }
            ColumnChange::SetNotNull => changes.set_not_null(name),
            ColumnChange::DropNotNull => {
                self.must_not_be_in_key(at)?;
                changes.drop_not_null(name)
            }
            ColumnChange::Type(to, order, using) => {
                let (ty, _) = type_of_column(self.view, self.source, (name, to))?;
                let catalog = self.view.objects.made_types().catalog();
                let order = order.as_ref().map(|order| collation(catalog, order, ty.pg.oid));
                let order = order.transpose()?.flatten();
                let using = using.as_ref().map(|said| (said.expr, said.span));
                return self.retype(at, Goal { ty, collation: order, using });
            }
        };
        self.steps.push(Step::Changes(changes));
        Ok(())
    }

    fn must_not_be_in_key(&self, at: usize) -> Result<()> {
        let column = &self.schema.columns[at];
        let primary = self.schema.indexes.iter().find(|index| index.is_primary());
        match primary.is_some_and(|p| p.key.iter().any(|k| k.column == column.id)) {
            true => {
                let text = format!("column \"{}\" is in a primary key", column.name);
                Err(SqlError::new(state::BAD_DEFINITION, text))
            }
            false => Ok(()),
        }
    }

    /// DROP EXPRESSION: the column is one like others from now on.
    fn drop_expression(&mut self, at: usize, skip: bool, client: &mut dyn Client) -> Result<()> {
        let name = &self.schema.columns[at].name;
        if self.schema.is_generated(at) {
            self.steps.push(Step::Changes(TableChanges::new().drop_expression(name)));
            return Ok(());
        }
        let table = &self.name.name;
        let text =
            format!("column \"{name}\" of relation \"{table}\" is not a stored generated column");
        if !skip {
            return Err(SqlError::new("55000", text));
        }
        notice(client, "00000", format!("{text}, skipping"));
        Ok(())
    }

    /// What may not be changed of a generated column.
    fn refuse_generated(&self, name: &str, change: &ColumnChange) -> Result<()> {
        let table = &self.name.name;
        let text = format!("column \"{name}\" of relation \"{table}\" is a generated column");
        match change {
            ColumnChange::SetDefault(_) => Err(SqlError::new(state::SYNTAX, text)),
            ColumnChange::DropDefault => Err(SqlError::new(state::SYNTAX, text)
                .hint("Use ALTER TABLE ... ALTER COLUMN ... DROP EXPRESSION instead.")),
            ColumnChange::AddIdentity(..)
                if !self.schema.columns[self.position(name)?].nullable =>
            {
                let text = format!(
                    "column \"{name}\" of relation \"{table}\" already has a default value"
                );
                Err(SqlError::new("55000", text))
            }
            ColumnChange::Type(_, _, Some(_)) => {
                let text = "cannot specify USING when altering type of generated column";
                let detail = format!("Column \"{name}\" is a generated column.");
                Err(SqlError::new("42611", text).detail(detail))
            }
            ColumnChange::Type(..) => {
                Err(SqlError::unsupported("ALTER COLUMN TYPE of a generated column")
                    .hint("Drop the column, and add it again with the other type."))
            }
            _ => Ok(()),
        }
    }

    /// Fails where what reads a column does not let it have another type.
    pub(super) fn must_be_unread(&self, at: usize) -> Result<()> {
        let column = &self.schema.columns[at];
        let (table, number) = (oids::of_table(self.schema.id), column.id.0 + 1);
        let readers = crate::ddl::view::users_of_column(self.view, table, number);
        if let Some(id) = self.schema.generated_from(column.id).next() {
            let of = self.schema.position(id).map_or("", |at| &self.schema.columns[at].name);
            let text = "cannot alter type of a column used by a generated column";
            let detail =
                format!("Column \"{}\" is used by generated column \"{of}\".", column.name);
            return Err(SqlError::new(state::UNSUPPORTED, text).detail(detail));
        }
        if let Some(trigger) =
            crate::ddl::trigger::of_column(self.view, &self.schema, column.id).first()
        {
            let text = "cannot alter type of a column used in a trigger definition";
            let relation = crate::ddl::rule::shown_relation(self.view, table)?;
            let detail = format!(
                "trigger {} on {relation} depends on column \"{}\"",
                trigger.name, column.name
            );
            return Err(SqlError::new(state::UNSUPPORTED, text).detail(detail));
        }
        let policies = crate::ddl::policy::users_of_column(self.view, table, number);
        if let Some(policy) = policies.first() {
            let text = "cannot alter type of a column used in a policy definition";
            let relation = crate::ddl::rule::shown_relation(self.view, policy.relation)?;
            let detail = format!(
                "policy {} on {relation} depends on column \"{}\"",
                policy.name, column.name
            );
            return Err(SqlError::new(state::UNSUPPORTED, text).detail(detail));
        }
        let text = "cannot alter type of a column used by a view or rule";
        let rules = crate::ddl::rule::users_of_column(self.view, table, number);
        if let (None, Some(rule)) = (readers.first(), rules.first()) {
            let relation = crate::ddl::rule::shown_relation(self.view, rule.relation)?;
            let detail =
                format!("rule {} on {relation} depends on column \"{}\"", rule.name, column.name);
            return Err(SqlError::new(state::UNSUPPORTED, text).detail(detail));
        }
        let Some(reader) = readers.first() else { return Ok(()) };
        let word = materialized::word(self.view, reader);
        let reader = Name::of_engine(reader).1.name;
        let detail =
            format!("rule _RETURN on {word} {reader} depends on column \"{}\"", column.name);
        Err(SqlError::new(state::UNSUPPORTED, text).detail(detail))
    }

    fn no_identity(&self, at: usize) -> SqlError {
        let (table, column) = (&self.name.name, &self.schema.columns[at].name);
        let text = format!("column \"{column}\" of relation \"{table}\" is not an identity column");
        SqlError::new("55000", text)
    }

    /// Whether there is an identity to drop.
    fn is_identity(&self, at: usize, skip: bool, client: &mut dyn Client) -> Result<bool> {
        if defaults::identity(self.view, self.schema.id, self.schema.columns[at].id).is_some() {
            return Ok(true);
        }
        let error = self.no_identity(at);
        if !skip {
            return Err(error);
        }
        notice(client, "00000", format!("{}, skipping", error.message()));
        Ok(false)
    }

    /// SET GENERATED; other options are those of the identity column's sequence.
    fn set_identity(&mut self, at: usize, options: &[SequenceOption]) -> Result<()> {
        let column = &self.schema.columns[at];
        if defaults::identity(self.view, self.schema.id, column.id).is_none() {
            return Err(self.no_identity(at));
        }
        let is_of_column =
            |option: &&SequenceOption| matches!(option, SequenceOption::Generated(_));
        let rest: Vec<_> = options.iter().filter(|option| !is_of_column(option)).cloned().collect();
        let owned = sequence::owned_by(self.view, self.schema.id, Some(column.id));
        if let (false, Some(name)) = (rest.is_empty(), owned.first()) {
            let options = Box::new(sequence::Options::of(&rest)?);
            self.steps.push(Step::ChangeSequence(name.clone(), options));
        }
        for option in options {
            let SequenceOption::Generated(always) = option else { continue };
            let body = json!({ "always": always });
            self.steps.push(Step::Note(Kind::Identity, column.name.clone(), Some(body)));
        }
        Ok(())
    }

    /// ALTER COLUMN ADD GENERATED: the column is filled by a sequence of its own from now on.
    fn add_identity(&mut self, at: usize, always: bool, options: &[SequenceOption]) -> Result<()> {
        let mut options = sequence::Options::of(options)?;
        let column = &self.schema.columns[at];
        if column.nullable {
            let text = format!(
                "column \"{}\" of relation \"{}\" must be declared NOT NULL before identity can be \
                 added",
                column.name, self.name.name
            );
            return Err(SqlError::new("55000", text));
        }
        let already = |what: &str| {
            let (table, column) = (&self.name.name, &column.name);
            let text = format!("column \"{column}\" of relation \"{table}\" {what}");
            Err(SqlError::new("55000", text))
        };
        if defaults::identity(self.view, self.schema.id, column.id).is_some() {
            return already("is already an identity column");
        }
        if column.default.is_some()
            || defaults::expression(self.view, self.schema.id, column.id).is_some()
        {
            return already("already has a default value");
        }
        options.ty.get_or_insert(column.ty);
        let mut declared = Declared::plain(column.name.clone(), self.types[at]);
        declared.not_null = true;
        declared.sequence = Some(OwnSequence { options, identity: Some(always) });
        self.default_steps(&declared, false)
    }

    fn set_default(&mut self, at: usize, default: Default) {
        let column = &self.schema.columns[at];
        let name = column.name.clone();
        let changes = TableChanges::new();
        let note = defaults::note(&default);
        let changes = match default {
            Default::None => changes.drop_default(&name),
            Default::Constant(value, _) => changes.set_default(&name, value),
            Default::Sequence(sequence) => changes.set_default_sequence(&name, sequence),
            Default::Computed(_) => changes.drop_default(&name),
        };
        let key = defaults::key(self.schema.id, column.id);
        let known = self.view.objects.get(Kind::Default, &key).is_some();
        self.steps.push(Step::Changes(changes));
        if known || note.is_some() {
            self.steps.push(Step::Note(Kind::Default, name, note));
        }
    }
}
