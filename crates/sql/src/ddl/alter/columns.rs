//! Which steps do actions on columns take?

use datafusion::sql::sqlparser::ast::{AlterColumnOperation, AlterTableOperation, Expr};
use onlap::{DataType, TableChanges, Value, convert};
use serde_json::json;

use super::actions::{Actions, operation};
use super::steps::Step;
use crate::catalog::names::fold;
use crate::catalog::{Kind, Name, oids};
use crate::ddl::change::notice;
use crate::ddl::columns::{Declared, Default, declared, default_of};
use crate::ddl::constraints::Collector;
use crate::ddl::types::column_type;
use crate::ddl::{defaults, sequence, table};
use crate::error::{Result, SqlError, state};
use crate::wire::Client;
use crate::words::Words;

/// Functions that give every row another value.
const VOLATILE: &[&str] = &["random", "uuid", "nextval", "clock_timestamp", "timeofday"];

impl Actions<'_> {
    pub(super) fn add_column(&mut self, text: &str, client: &mut dyn Client) -> Result<()> {
        let AlterTableOperation::AddColumn { column_def, if_not_exists, .. } = operation(text)?
        else {
            return Err(SqlError::unsupported(format!("ALTER TABLE … {text}")));
        };
        let column = declared(self.view, &column_def)?;
        let name = column.name.clone();
        if self.schema.position_by_name(&name).is_some() {
            let table = &self.name.name;
            let text = format!("column \"{name}\" of relation \"{table}\" already exists");
            if if_not_exists {
                notice(client, "42701", format!("{text}, skipping"));
                return Ok(());
            }
            return Err(SqlError::new("42701", text));
        }
        let value = self.value_of_rows(&column)?;
        let computed = matches!(column.default, Default::Computed(_));
        let mut changes = TableChanges::new().add_column(&name, column.ty, value);
        if computed {
            changes = changes.drop_default(&name);
        }
        if column.not_null && column.sequence.is_none() {
            changes = changes.set_not_null(&name);
        }
        self.steps.push(Step::Changes(changes));
        self.default_steps(&column)?;
        let mut columns: Vec<_> =
            self.schema.columns.iter().map(|c| (c.name.clone(), c.ty)).collect();
        columns.push((name, column.ty));
        let mut collector = Collector::new(self.view, self.name, columns);
        collector.column(&column)?;
        let all = std::mem::take(&mut collector.all);
        all.into_iter().try_for_each(|c| self.add_built(c))
    }

    fn is_empty(&self) -> Result<bool> {
        Ok(self.view.scope.tx()?.count(self.table)? == 0)
    }

    /// What rows that are there get in a new column.
    fn value_of_rows(&self, column: &Declared<'_>) -> Result<Option<Value>> {
        let refuse = |what: &str| {
            Err(SqlError::unsupported(format!("adding a column {what} to a table with rows"))
                .hint("Add the column without it, set its values, and add the rest then."))
        };
        if column.sequence.is_some() || matches!(column.default, Default::Sequence(_)) {
            return if self.is_empty()? { Ok(None) } else { refuse("with a sequence") };
        }
        match &column.default {
            Default::Constant(value) => Ok(Some(value.clone())),
            Default::Computed(sql) => {
                if self.is_empty()? {
                    return Ok(None);
                }
                let lower = sql.to_lowercase();
                if VOLATILE.iter().any(|word| lower.contains(word)) {
                    return refuse("with a default that differs by row");
                }
                let one = defaults::columns(self.view, &[(column.ty, sql)], 1)?;
                Ok(Some(convert::read_value(column.ty, &one[0], 0)))
            }
            _ => Ok(None),
        }
    }

    /// Defaults that the engine sets by another change, or does not know.
    fn default_steps(&mut self, column: &Declared<'_>) -> Result<()> {
        let name = column.name.clone();
        match &column.default {
            Default::Sequence(sequence) => {
                let changes = TableChanges::new().set_default_sequence(&name, sequence);
                self.steps.push(Step::Changes(changes));
            }
            Default::Computed(sql) => {
                let body = json!({ "sql": sql });
                self.steps.push(Step::Note(Kind::Default, name.clone(), Some(body)));
            }
            _ => {}
        }
        if let Some(own) = &column.sequence {
            let sequence = table::sequence_name(self.view, self.name, column)?;
            let spec = own.options.spec(&sequence, None)?;
            self.steps.push(Step::AddSequence(spec, name.clone()));
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

    pub(super) fn alter_column(&mut self, words: &mut Words<'_>, text: &str) -> Result<()> {
        if words.begins(&["constraint"]) {
            return Err(SqlError::unsupported("ALTER CONSTRAINT"));
        }
        words.accept(&["column"]);
        let name = words.ident()?;
        let at = self.position(&name)?;
        let ignored = [["set", "statistics"], ["set", "storage"], ["set", "compression"]];
        if ignored.iter().any(|w| words.begins(w)) {
            return Ok(());
        }
        if words.accept(&["add", "generated"]) {
            return self.add_identity(words, at);
        }
        if words.accept(&["drop", "identity"]) {
            self.steps.push(Step::Note(Kind::Identity, name.clone(), None));
            self.steps.push(Step::Changes(TableChanges::new().drop_default(name)));
            return Ok(());
        }
        if words.accept(&["set", "generated"]) {
            let always = words.accept(&["always"]);
            let body = json!({ "always": always });
            self.steps.push(Step::Note(Kind::Identity, name, Some(body)));
            return Ok(());
        }
        if words.accept(&["set", "default"]) || words.begins(&["drop", "default"]) {
            return self.alter_default(text, at);
        }
        match operation(text)? {
            AlterTableOperation::AlterColumn { op, .. } => self.alter_by(at, op),
            other => Err(SqlError::unsupported(format!("ALTER TABLE … {other}"))),
        }
    }

    /// ALTER COLUMN ADD GENERATED: the column is filled by a sequence of its own from now on.
    fn add_identity(&mut self, words: &mut Words<'_>, at: usize) -> Result<()> {
        let always = words.accept(&["always"]);
        if !always {
            words.expect(&["by", "default"])?;
        }
        words.expect(&["as", "identity"])?;
        let mut options = sequence::Options::parenthesized(words)?;
        words.end()?;
        let column = &self.schema.columns[at];
        if column.nullable {
            let text = format!(
                "column \"{}\" of relation \"{}\" must be declared NOT NULL before identity can be \
                 added",
                column.name, self.name.name
            );
            return Err(SqlError::new("55000", text));
        }
        options.ty.get_or_insert(column.ty);
        let declared = Declared {
            name: column.name.clone(),
            ty: column.ty,
            not_null: true,
            default: Default::None,
            sequence: Some(crate::ddl::columns::OwnSequence { options, identity: Some(always) }),
            constraints: Vec::new(),
        };
        self.default_steps(&declared)
    }

    fn alter_default(&mut self, text: &str, at: usize) -> Result<()> {
        let AlterTableOperation::AlterColumn { op, .. } = operation(text)? else {
            return Err(SqlError::unsupported(format!("ALTER TABLE … {text}")));
        };
        let column = &self.schema.columns[at];
        let (name, ty) = (column.name.clone(), column.ty);
        let default = match op {
            AlterColumnOperation::SetDefault { value } => default_of(self.view, &value, ty)?,
            _ => Default::None,
        };
        let changes = TableChanges::new();
        let mut note = None;
        let changes = match default {
            Default::None => changes.drop_default(&name),
            Default::Constant(value) => changes.set_default(&name, value),
            Default::Sequence(sequence) => changes.set_default_sequence(&name, sequence),
            Default::Computed(sql) => {
                note = Some(json!({ "sql": sql }));
                changes.drop_default(&name)
            }
        };
        let known = defaults::expression(self.view, self.schema.id, column.id).is_some();
        self.steps.push(Step::Changes(changes));
        if known || note.is_some() {
            self.steps.push(Step::Note(Kind::Default, name, note));
        }
        Ok(())
    }

    fn alter_by(&mut self, at: usize, op: AlterColumnOperation) -> Result<()> {
        let column = &self.schema.columns[at];
        let (name, changes) = (column.name.clone(), TableChanges::new());
        let changes = match op {
            AlterColumnOperation::SetNotNull => changes.set_not_null(&name),
            AlterColumnOperation::DropNotNull => {
                if self
                    .schema
                    .primary()
                    .is_some_and(|p| p.key.iter().any(|k| k.column == column.id))
                {
                    let text = format!("column \"{name}\" is in a primary key");
                    return Err(SqlError::new("42P16", text));
                }
                changes.drop_not_null(&name)
            }
            AlterColumnOperation::SetDataType { data_type, using, .. } => {
                let (ty, _) = column_type(&data_type)?;
                if !using.as_ref().is_none_or(|e| is_plain_cast(e, &name, ty)) {
                    return Err(SqlError::unsupported("ALTER COLUMN TYPE with this USING")
                        .hint("Add a column of the new type, UPDATE it, and drop the old one."));
                }
                let (table, number) = (oids::of_table(self.schema.id), column.id.0 + 1);
                let readers = crate::ddl::view::users_of_column(self.view, table, number);
                if let Some(reader) = readers.first() {
                    let text = "cannot alter type of a column used by a view or rule";
                    let reader = Name::of_engine(reader).1.name;
                    let detail = format!("view {reader} depends on column \"{name}\"");
                    return Err(SqlError::new(state::UNSUPPORTED, text).detail(detail));
                }
                changes.set_type(&name, ty)
            }
            other => return Err(SqlError::unsupported(format!("ALTER COLUMN … {other}"))),
        };
        self.steps.push(Step::Changes(changes));
        Ok(())
    }
}

/// Whether an expression is the column itself, cast to the new type.
fn is_plain_cast(expr: &Expr, column: &str, ty: DataType) -> bool {
    match expr {
        Expr::Identifier(ident) => fold(ident) == column,
        Expr::Nested(inner) => is_plain_cast(inner, column, ty),
        Expr::Cast { expr, data_type, .. } => {
            column_type(data_type).is_ok_and(|(to, _)| to == ty) && is_plain_cast(expr, column, ty)
        }
        _ => false,
    }
}
