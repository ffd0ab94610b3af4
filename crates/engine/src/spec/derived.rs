//! How does a program describe what an index calculates of its rows?
//!
//! A key part or a filter that is no column of the table is a *derived column* ([`DerivedSchema`]): the table
//! has it from before the index is built until no index has need of it. Two indexes that calculate the same
//! share one.

use onlap_base::{ColumnId, Error, ErrorKind, Result, limits};
use onlap_format::{ColumnSchema, DERIVED_FIRST, DataType, DerivedSchema, TableSchema};

use super::{IndexSpec, check_type, too_many};

/// What is calculated of each row, for an index.
#[derive(Clone, Debug, PartialEq)]
pub struct DerivedSpec {
    /// What it is called in messages: how it is written.
    pub name: String,
    /// Its type.
    pub ty: DataType,
    /// Names of the columns that the program reads, in its order.
    pub reads: Vec<String>,
    /// What to calculate, for [`crate::Formulas`].
    pub program: String,
}

/// A part of an index's key.
#[derive(Clone, Debug)]
pub enum IndexPart {
    /// A column of the table.
    Column(String),
    /// What is calculated of each row.
    Derived(DerivedSpec),
}

/// A part of a key, as a spec names it.
#[derive(Clone, Debug)]
pub(super) enum KeyName {
    Column(String),
    Derived(DerivedSpec),
}

impl IndexSpec {
    /// Adds a part to the end of the key.
    #[must_use]
    pub fn part(mut self, part: IndexPart, descending: bool) -> IndexSpec {
        let name = match part {
            IndexPart::Column(name) => KeyName::Column(name),
            IndexPart::Derived(of) => KeyName::Derived(of),
        };
        self.key.push((name, descending));
        self
    }

    /// Gives a row an entry for each key of a list, as many as it has or none, instead of one: the value of `lists`, of
    /// type bytea, is a packed list ([`crate::entries`]). Keys are found by [`crate::Predicate`], whose ranges name rows that
    /// have an entry in them. Such an index has nothing else in its key, includes nothing, and keeps no keys apart.
    ///
    /// ```
    /// use onlap::{DataType, DerivedSpec, IndexSpec};
    /// let words = DerivedSpec {
    ///     name: "words of the title".into(),
    ///     ty: DataType::Bytea,
    ///     reads: vec!["title".into()],
    ///     program: "words".into(),
    /// };
    /// let index = IndexSpec::new("by_word", [] as [&str; 0]).entries(words);
    /// assert_eq!(index.name(), "by_word");
    /// ```
    #[must_use]
    pub fn entries(mut self, lists: DerivedSpec) -> IndexSpec {
        self.key.push((KeyName::Derived(lists), false));
        self.multi_entry = true;
        self
    }

    /// What an index with several entries of a row is not.
    pub(super) fn check_multi_entry(&self) -> Result<()> {
        let wrong = |text: String| Err(Error::new(ErrorKind::InvalidInput, text));
        let [(KeyName::Derived(lists), false)] = &self.key[..] else {
            return wrong(format!(
                "index {}: an index with several entries of a row has nothing else in its key",
                self.name
            ));
        };
        if lists.ty != DataType::Bytea {
            return wrong(format!("index {}: lists of keys are bytea", self.name));
        }
        if self.unique || self.judged.is_some() || self.fences_only || !self.include.is_empty() {
            return wrong(format!(
                "index {}: an index with several entries of a row cannot be unique or fences-only, and includes \
                 no columns",
                self.name
            ));
        }
        Ok(())
    }

    /// Gives entries only to rows for which a condition, of type bool, is true. Parts of the key that are
    /// calculated are calculated for these rows alone.
    #[must_use]
    pub fn only_where(mut self, condition: DerivedSpec) -> IndexSpec {
        self.filter = Some(condition);
        self
    }

    /// Whether anything is calculated for it.
    pub(crate) fn derives(&self) -> bool {
        self.filter.is_some()
            || self.key.iter().any(|(name, _)| matches!(name, KeyName::Derived(_)))
    }

    /// Whether it needs derived columns that a table does not have.
    pub(crate) fn derives_new(&self, schema: &TableSchema) -> bool {
        let mut copy = schema.clone();
        self.derives() && !matches!(self.derive(&mut copy), Ok(false))
    }

    /// Adds the derived columns that are missing; says whether there were any.
    pub(crate) fn derive(&self, schema: &mut TableSchema) -> Result<bool> {
        if self.derives() && schema.blind {
            let text = format!(
                "index {}: table {} takes blind writes, which know no partial indexes and none on \
                 expressions",
                self.name, schema.name
            );
            return Err(Error::new(ErrorKind::Unsupported, text));
        }
        let before = schema.derived.len();
        if let Some(filter) = &self.filter {
            if filter.ty != DataType::Bool {
                let text = format!("index {}: a condition is bool", self.name);
                return Err(Error::new(ErrorKind::WrongType, text));
            }
            self.add(schema, filter, None, false)?;
        }
        let only_if = self.filter_id(schema);
        for (name, _) in &self.key {
            if let KeyName::Derived(of) = name {
                self.add(schema, of, only_if, self.multi_entry)?;
            }
        }
        Ok(schema.derived.len() > before)
    }

    fn filter_id(&self, schema: &TableSchema) -> Option<ColumnId> {
        let filter = self.filter.as_ref()?;
        find(schema, filter, None, false).map(|found| found.column.id)
    }

    /// A derived column that the table has by now.
    pub(super) fn derived_column<'a>(
        &self,
        schema: &'a TableSchema,
        of: &DerivedSpec,
    ) -> Result<&'a ColumnSchema> {
        let is_filter = self.filter.as_ref() == Some(of);
        let found = find(schema, of, self.filter_id(schema), self.multi_entry);
        let found = found.or_else(|| find(schema, of, None, false).filter(|_| is_filter));
        found.map(|found| &found.column).ok_or_else(|| {
            let text = format!("index {}: {} is not calculated", self.name, of.name);
            Error::new(ErrorKind::UnknownColumn, text)
        })
    }

    fn add(
        &self,
        schema: &mut TableSchema,
        of: &DerivedSpec,
        only_if: Option<ColumnId>,
        lists: bool,
    ) -> Result<()> {
        if find(schema, of, only_if, lists).is_some() {
            return Ok(());
        }
        check_type(&of.name, of.ty)?;
        if schema.derived.len() >= limits::COLUMNS {
            return Err(too_many(
                "expressions in indexes",
                schema.derived.len() + 1,
                limits::COLUMNS,
            ));
        }
        let reads = of.reads.iter().map(|name| {
            let at = schema.position_by_name(name).ok_or_else(|| {
                let text =
                    format!("index {}: table {} has no column {name}", self.name, schema.name);
                Error::new(ErrorKind::UnknownColumn, text)
            })?;
            Ok(schema.columns[at].id)
        });
        let reads = reads.collect::<Result<_>>()?;
        assert!(schema.next_derived < DERIVED_FIRST, "ids of derived columns do not run over");
        let id = ColumnId(DERIVED_FIRST + schema.next_derived);
        assert!(schema.derived(id).is_none(), "an id is given once");
        schema.next_derived += 1;
        let column = ColumnSchema::new(id, &of.name, of.ty, true);
        let program = of.program.clone();
        schema.derived.push(DerivedSchema { column, reads, program, only_if, lists });
        Ok(())
    }
}

fn find<'a>(
    schema: &'a TableSchema,
    of: &DerivedSpec,
    only_if: Option<ColumnId>,
    lists: bool,
) -> Option<&'a DerivedSchema> {
    let is_it = |d: &&DerivedSchema| {
        d.program == of.program && d.column.ty == of.ty && d.only_if == only_if && d.lists == lists
    };
    schema.derived.iter().find(is_it)
}
