//! Which constraints does a table have, and what are they called?

use datafusion::sql::sqlparser::ast::{
    CheckConstraint, ColumnOption, ConstraintCharacteristics, DeferrableInitial, Expr as Ast,
    ForeignKeyConstraint, IndexColumn, NullsDistinctOption, ReferentialAction, TableConstraint,
};
use onlap::{Action, DataType, Expr, ForeignKeySpec, TableSchema};

use super::checks;
use super::columns::Declared;
use super::naming::{self, choose};
use crate::catalog::Name;
use crate::catalog::names::{fold, parts};
use crate::error::{Result, SqlError, state};
use crate::rights::Action as Act;
use crate::rights::ask::{numbers, of_table};
use crate::view::View;

/// A constraint of a table.
#[derive(Clone, Debug)]
pub enum Constraint {
    /// PRIMARY KEY: name and columns.
    Primary(String, Vec<String>),
    /// UNIQUE: name and columns.
    Unique(String, Vec<String>),
    /// CHECK.
    Check(String, Expr<String>),
    /// FOREIGN KEY.
    Foreign(ForeignKeySpec),
}

/// Collects the constraints of a table and names them.
pub struct Collector<'a> {
    view: &'a View,
    table: &'a Name,
    columns: Vec<(String, DataType)>,
    /// Names of constraints that are there.
    names: Vec<String>,
    /// What was collected.
    pub all: Vec<Constraint>,
}

impl<'a> Collector<'a> {
    /// For a new table with these columns.
    pub fn new(view: &'a View, table: &'a Name, columns: Vec<(String, DataType)>) -> Collector<'a> {
        Collector { view, table, columns, names: Vec::new(), all: Vec::new() }
    }

    /// For a table that is there.
    pub fn of_table(view: &'a View, table: &'a Name, schema: &TableSchema) -> Collector<'a> {
        let columns = schema.columns.iter().map(|c| (c.name.clone(), c.ty)).collect();
        let checks = schema.checks.iter().map(|c| c.name.clone());
        let keys = schema.foreign_keys.iter().map(|k| k.name.clone());
        let indexes = schema.indexes.iter().map(|i| i.name.clone());
        let names = checks.chain(keys).chain(indexes).collect();
        Collector { view, table, columns, names, all: Vec::new() }
    }

    fn name(&mut self, given: Option<String>, columns: &str, label: &str) -> Result<String> {
        let relation = label != "check" && label != "fkey";
        let is_taken = |name: &str| {
            let other = Name::new(&self.table.schema, name);
            self.names.iter().any(|n| n == name)
                || name == self.table.name
                || relation && !matches!(naming::find(self.view, &other), Ok(None))
        };
        let name = match given {
            Some(name) if self.names.contains(&name) => {
                let table = &self.table.name;
                let text = format!("constraint \"{name}\" for relation \"{table}\" already exists");
                return Err(SqlError::new(state::DUPLICATE_OBJECT, text));
            }
            Some(name) if is_taken(&name) => return Err(naming::taken(&name)),
            Some(name) => name,
            None => choose(&self.table.name, columns, label, &is_taken),
        };
        self.names.push(name.clone());
        Ok(name)
    }

    fn check_columns(&self, columns: &[String]) -> Result<()> {
        let missing = columns.iter().find(|c| !self.columns.iter().any(|(n, _)| n == *c));
        match missing {
            Some(column) => {
                let text = format!("column \"{column}\" named in key does not exist");
                Err(SqlError::new(state::NO_COLUMN, text))
            }
            None => Ok(()),
        }
    }

    /// The constraints of a column.
    ///
    /// # Errors
    /// As [`Collector::constraint`].
    pub fn column(&mut self, column: &Declared<'_>) -> Result<()> {
        let own = || vec![column.name.clone()];
        for (name, option) in &column.constraints {
            match option {
                ColumnOption::PrimaryKey(key) => {
                    deferred(key.characteristics.as_ref())?;
                    self.primary(name.clone(), own())?;
                }
                ColumnOption::Unique(key) => {
                    deferred(key.characteristics.as_ref())?;
                    self.unique(name.clone(), own(), &key.nulls_distinct)?;
                }
                ColumnOption::Check(check) => {
                    self.check(name.clone(), check, Some(&column.name))?
                }
                ColumnOption::ForeignKey(key) => self.foreign(name.clone(), key, own())?,
                _ => {}
            }
        }
        Ok(())
    }

    /// A constraint of the table.
    ///
    /// # Errors
    /// Unknown columns, taken names, what Onlap does not do.
    pub fn constraint(&mut self, constraint: &TableConstraint) -> Result<()> {
        match constraint {
            TableConstraint::PrimaryKey(key) => {
                deferred(key.characteristics.as_ref())?;
                self.primary(key.name.as_ref().map(fold), plain(&key.columns)?)
            }
            TableConstraint::Unique(key) => {
                deferred(key.characteristics.as_ref())?;
                let columns = plain(&key.columns)?;
                self.unique(key.name.as_ref().map(fold), columns, &key.nulls_distinct)
            }
            TableConstraint::Check(check) => self.check(check.name.as_ref().map(fold), check, None),
            TableConstraint::ForeignKey(key) => {
                let columns = key.columns.iter().map(fold).collect();
                self.foreign(key.name.as_ref().map(fold), key, columns)
            }
            other => Err(SqlError::unsupported(format!("{other}"))),
        }
    }

    fn primary(&mut self, name: Option<String>, columns: Vec<String>) -> Result<()> {
        if self.all.iter().any(|c| matches!(c, Constraint::Primary(..))) {
            let text =
                format!("multiple primary keys for table \"{}\" are not allowed", self.table.name);
            return Err(SqlError::new("42P16", text));
        }
        self.check_columns(&columns)?;
        let name = self.name(name, "", "pkey")?;
        self.all.push(Constraint::Primary(name, columns));
        Ok(())
    }

    fn unique(
        &mut self,
        name: Option<String>,
        columns: Vec<String>,
        nulls: &NullsDistinctOption,
    ) -> Result<()> {
        if *nulls == NullsDistinctOption::NotDistinct {
            return Err(SqlError::unsupported("UNIQUE NULLS NOT DISTINCT"));
        }
        self.check_columns(&columns)?;
        let name = self.name(name, &columns.join("_"), "key")?;
        self.all.push(Constraint::Unique(name, columns));
        Ok(())
    }

    fn check(
        &mut self,
        name: Option<String>,
        check: &CheckConstraint,
        column: Option<&str>,
    ) -> Result<()> {
        let known = self.columns.clone();
        let find = |name: &str| known.iter().find(|(n, _)| n == name).map(|(_, ty)| *ty);
        let condition = checks::condition(&check.expr, &find)?;
        let used = checks::columns_of(&condition);
        let one = match (column, &used[..]) {
            (Some(column), _) => column.to_string(),
            (None, [one]) => one.clone(),
            _ => String::new(),
        };
        let name = self.name(name, &one, "check")?;
        self.all.push(Constraint::Check(name, condition));
        Ok(())
    }

    fn foreign(
        &mut self,
        name: Option<String>,
        key: &ForeignKeyConstraint,
        columns: Vec<String>,
    ) -> Result<()> {
        deferred(key.characteristics.as_ref())?;
        self.check_columns(&columns)?;
        let parent = parts(&key.foreign_table)?;
        let own = parent.last() == Some(&self.table.name)
            && parent.len().checked_sub(2).is_none_or(|i| parent[i] == self.table.schema);
        let parent = match self.view.table(&parent) {
            Ok((_, table)) => {
                self.must_refer(&table.schema(), key)?;
                table.name()
            }
            Err(_) if own => self.table.engine(&self.view.database),
            Err(e) => return Err(e),
        };
        let name = self.name(name, &columns.join("_"), "fkey")?;
        let mut spec = ForeignKeySpec::new(name, columns, parent)
            .on_delete(action(key.on_delete.as_ref())?)
            .on_update(action(key.on_update.as_ref())?);
        if !key.referred_columns.is_empty() {
            spec = spec.parent_columns(key.referred_columns.iter().map(fold));
        }
        self.all.push(Constraint::Foreign(spec));
        Ok(())
    }
}

impl Collector<'_> {
    /// Fails unless the role may refer to the parent's columns: those that are named, or its primary key.
    fn must_refer(&self, parent: &TableSchema, key: &ForeignKeyConstraint) -> Result<()> {
        let named = key.referred_columns.iter();
        let mut places: Vec<usize> =
            named.filter_map(|name| parent.position_by_name(&fold(name))).collect();
        if key.referred_columns.is_empty() {
            let primary = parent.primary().into_iter().flat_map(|index| &index.key);
            places = primary.filter_map(|part| parent.position(part.column)).collect();
        }
        self.view.must(&[of_table(Act::Refer, parent, numbers(parent, places))])
    }
}

/// Constraints are judged with each statement.
fn deferred(characteristics: Option<&ConstraintCharacteristics>) -> Result<()> {
    match characteristics {
        Some(c)
            if c.deferrable == Some(true) || c.initially == Some(DeferrableInitial::Deferred) =>
        {
            Err(SqlError::unsupported("a deferrable constraint"))
        }
        _ => Ok(()),
    }
}

fn action(action: Option<&ReferentialAction>) -> Result<Action> {
    match action {
        // Judged with the statement either way, for no constraint is deferred.
        None | Some(ReferentialAction::NoAction | ReferentialAction::Restrict) => {
            Ok(Action::Restrict)
        }
        Some(ReferentialAction::Cascade) => Ok(Action::Cascade),
        Some(ReferentialAction::SetNull) => Ok(Action::SetNull),
        Some(ReferentialAction::SetDefault) => {
            Err(SqlError::unsupported("SET DEFAULT of a foreign key"))
        }
    }
}

/// Columns of a key: names and nothing else.
pub fn plain(columns: &[IndexColumn]) -> Result<Vec<String>> {
    let name = |column: &IndexColumn| match &column.column.expr {
        Ast::Identifier(ident) => Ok(fold(ident)),
        other => Err(SqlError::new(state::SYNTAX, format!("{other} is no column"))),
    };
    columns.iter().map(name).collect()
}
