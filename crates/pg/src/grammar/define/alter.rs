//! ALTER TABLE, INDEX, SEQUENCE and VIEW.

use super::super::keyword::Keyword;
use super::super::parser::Parser;
use super::super::token::Kind;
use crate::Result;
use crate::ast::{
    AlterSequence, AlterTable, ColumnChange, Detach, Relation, RelationKind, RowSecurity, Said,
    SequenceOption, Statement, TableChange,
};

impl Parser<'_> {
    /// ALTER, at the word that says of what.
    pub(super) fn alter_relation(&mut self) -> Result<Statement> {
        use Keyword as K;
        let kind = match self.advance().kind {
            Kind::Word(K::Table) => RelationKind::Table,
            Kind::Word(K::Index) => RelationKind::Index,
            Kind::Word(K::Sequence) => RelationKind::Sequence,
            Kind::Word(K::View) => RelationKind::View,
            _ => {
                self.expect_word(K::View)?;
                RelationKind::MaterializedView
            }
        };
        // ALL IN TABLESPACE
        let moves = !matches!(kind, RelationKind::Sequence | RelationKind::View);
        if moves && self.at_word(K::All) {
            return self.other(K::Alter);
        }
        let skip = self.if_exists();
        let table = match kind {
            RelationKind::Table => self.relation()?,
            _ => {
                let place = self.place();
                let name = self.relation_name()?;
                Relation { name, only: false, alias: None, place }
            }
        };
        if kind == RelationKind::Sequence && self.at_sequence_option() {
            let options = self.sequence_options()?;
            let alter = AlterSequence { skip, name: table.name, options };
            return Ok(Statement::AlterSequence(Box::new(alter)));
        }
        let actions = match self.named_change(kind, skip)? {
            Some(change) => vec![change],
            None => {
                let mut actions = vec![self.table_change()?];
                while self.accept_char(',') {
                    actions.push(self.table_change()?);
                }
                actions
            }
        };
        Ok(Statement::AlterTable(Box::new(AlterTable { kind, skip, table, actions })))
    }

    /// A change that stands alone, if one is there: of the name, of the schema, of partitions.
    fn named_change(&mut self, kind: RelationKind, skip: bool) -> Result<Option<TableChange>> {
        use Keyword as K;
        let next = self.ahead(1);
        let change = match self.kind() {
            Kind::Name if kind == RelationKind::Index && self.accept_name("invisible") => {
                TableChange::Visible(false)
            }
            Kind::Name if kind == RelationKind::Index && self.accept_name("visible") => {
                TableChange::Visible(true)
            }
            Kind::Word(K::Rename) => {
                self.advance();
                self.rename(kind)?
            }
            Kind::Word(K::Set) if next == Kind::Word(K::Schema) && kind != RelationKind::Index => {
                self.advance();
                self.advance();
                TableChange::Schema(self.column_name()?)
            }
            Kind::Word(K::Attach) if matches!(kind, RelationKind::Table | RelationKind::Index) => {
                self.partition_change(kind)?
            }
            Kind::Word(K::Detach) if kind == RelationKind::Table => self.partition_change(kind)?,
            Kind::Word(K::Depends | K::No)
                if !skip
                    && matches!(kind, RelationKind::Index | RelationKind::MaterializedView)
                    && (self.at_word(K::Depends) || next == Kind::Word(K::Depends)) =>
            {
                self.accept_word(K::No);
                self.advance();
                self.expect_word(K::On)?;
                self.expect_word(K::Extension)?;
                self.column_name()?;
                TableChange::Storage("DEPENDS ON EXTENSION".into())
            }
            _ => return Ok(None),
        };
        Ok(Some(change))
    }

    fn rename(&mut self, kind: RelationKind) -> Result<TableChange> {
        use Keyword as K;
        if self.accept_word(K::To) {
            return self.column_name().map(TableChange::Rename);
        }
        if matches!(kind, RelationKind::Index | RelationKind::Sequence) {
            return Err(self.unexpected());
        }
        if kind == RelationKind::Table && self.accept_word(K::Constraint) {
            let from = self.column_name()?;
            self.expect_word(K::To)?;
            return Ok(TableChange::RenameConstraint(from, self.column_name()?));
        }
        self.accept_word(K::Column);
        let from = self.column_name()?;
        self.expect_word(K::To)?;
        Ok(TableChange::RenameColumn(from, self.column_name()?))
    }

    fn partition_change(&mut self, kind: RelationKind) -> Result<TableChange> {
        use Keyword as K;
        let attach = self.advance().kind == Kind::Word(K::Attach);
        self.expect_word(K::Partition)?;
        let partition = self.relation_name()?;
        if attach {
            let bound = match kind {
                RelationKind::Table => Some(self.partition_bound()?),
                _ => None,
            };
            return Ok(TableChange::Attach(partition, bound));
        }
        let how = if self.accept_word(K::Concurrently) {
            Detach::Concurrently
        } else if self.accept_word(K::Finalize) {
            Detach::Finalize
        } else {
            Detach::Plain
        };
        Ok(TableChange::Detach(partition, how))
    }

    fn table_change(&mut self) -> Result<TableChange> {
        use Keyword as K;
        let Kind::Word(word) = self.kind() else { return Err(self.unexpected()) };
        match word {
            K::Add => {
                self.advance();
                self.add_part()
            }
            K::Alter => {
                self.advance();
                self.alter_part()
            }
            K::Drop => {
                self.advance();
                let constraint = self.accept_word(K::Constraint);
                if !constraint {
                    self.accept_word(K::Column);
                }
                let skip = self.if_exists();
                let name = self.column_name()?;
                let cascade = self.cascade();
                Ok(match constraint {
                    true => TableChange::DropConstraint(skip, name, cascade),
                    false => TableChange::DropColumn(skip, name, cascade),
                })
            }
            K::Validate => {
                self.advance();
                self.expect_word(K::Constraint)?;
                Ok(TableChange::Validate(self.column_name()?))
            }
            K::Owner => {
                self.advance();
                self.expect_word(K::To)?;
                Ok(TableChange::Owner(self.role()?))
            }
            K::Reset => {
                self.advance();
                Ok(TableChange::Settings(self.settings()?, true))
            }
            K::Inherit => {
                self.advance();
                Ok(TableChange::Inherit(self.relation_name()?))
            }
            K::No if self.ahead(1) == Kind::Word(K::Inherit) => {
                self.advance();
                self.advance();
                Ok(TableChange::NoInherit(self.relation_name()?))
            }
            K::Set if self.ahead(1) == Kind::Char('(') => {
                self.advance();
                Ok(TableChange::Settings(self.settings()?, false))
            }
            K::Enable | K::Disable if self.at_rule_state() => self.rule_state(),
            K::Enable | K::Disable | K::Force => self.row_security(word),
            K::No if self.ahead(1) == Kind::Word(K::Force) => self.row_security(word),
            _ => {
                let ((kept, words), span) = self.spanned(|p| p.minor_change(word))?;
                let text = span.of(self.tokens.text).split_whitespace().take(words);
                let text = text.collect::<Vec<_>>().join(" ").to_ascii_uppercase();
                Ok(match kept {
                    true => TableChange::Storage(text.into()),
                    false => TableChange::Other(text.into()),
                })
            }
        }
    }

    /// A change of what means little here: whether it is one of storage or triggers, and how many words name it.
    fn minor_change(&mut self, word: Keyword) -> Result<(bool, usize)> {
        use Keyword as K;
        self.advance();
        match word {
            K::Set => self.set_storage().map(|()| (true, 2)),
            K::Cluster => {
                self.expect_word(K::On)?;
                self.column_name()?;
                Ok((true, 2))
            }
            K::Replica => {
                self.expect_word(K::Identity)?;
                if self.accept_word(K::Using) {
                    self.expect_word(K::Index)?;
                    self.column_name()?;
                } else if !self.accept_word(K::Nothing) && !self.accept_word(K::Full) {
                    self.expect_word(K::Default)?;
                }
                Ok((true, 2))
            }
            K::No => Err(self.unexpected()),
            K::Not => {
                self.expect_word(K::Of)?;
                Ok((true, 2))
            }
            K::Of => self.any_name().map(|_| (false, 1)),
            K::Options => {
                self.expect_char('(')?;
                while !self.accept_char(')') {
                    if matches!(self.kind(), Kind::End | Kind::Bad | Kind::Char(';')) {
                        return Err(self.unexpected());
                    }
                    self.advance();
                }
                Ok((false, 1))
            }
            _ => Err(self.unexpected_before()),
        }
    }

    /// SET of storage, behind SET.
    fn set_storage(&mut self) -> Result<()> {
        use Keyword as K;
        match self.kind() {
            Kind::Word(K::Logged | K::Unlogged) => {
                self.advance();
                Ok(())
            }
            Kind::Word(K::Without) => {
                self.advance();
                match self.accept_word(K::Cluster) {
                    true => Ok(()),
                    false => self.expect_word(K::Oids),
                }
            }
            Kind::Word(K::Tablespace) => {
                self.advance();
                self.column_name().map(|_| ())
            }
            Kind::Word(K::Access) => {
                self.advance();
                self.expect_word(K::Method)?;
                self.column_name().map(|_| ())
            }
            _ => Err(self.unexpected()),
        }
    }

    /// ENABLE, DISABLE, FORCE and NO FORCE ROW LEVEL SECURITY, at the first word.
    fn row_security(&mut self, word: Keyword) -> Result<TableChange> {
        use Keyword as K;
        self.advance();
        if word == K::No {
            self.expect_word(K::Force)?;
        }
        for word in [K::Row, K::Level, K::Security] {
            self.expect_word(word)?;
        }
        Ok(TableChange::RowSecurity(match word {
            K::Enable | K::Disable => RowSecurity::Enabled(word == K::Enable),
            _ => RowSecurity::Forced(word == K::Force),
        }))
    }

    /// ADD, behind this word.
    fn add_part(&mut self) -> Result<TableChange> {
        if self.at_constraint() {
            return Ok(TableChange::AddConstraint(Box::new(self.table_constraint()?)));
        }
        self.accept_word(Keyword::Column);
        let skip = self.if_not_exists()?;
        Ok(TableChange::AddColumn(skip, Box::new(self.new_column()?)))
    }

    /// ALTER of a column or a constraint, behind this word.
    fn alter_part(&mut self) -> Result<TableChange> {
        use Keyword as K;
        if self.accept_word(K::Constraint) {
            let name = self.column_name()?;
            return Ok(TableChange::AlterConstraint(name, self.altered_judgement()?));
        }
        self.accept_word(K::Column);
        let token = self.token();
        if matches!(token.kind, Kind::Int(_)) {
            self.advance();
            self.expect_word(K::Set)?;
            self.expect_word(K::Statistics)?;
            self.signed_int()?;
            let name = self.value(token);
            return Ok(TableChange::Column(name, Box::new(ColumnChange::Storage)));
        }
        let name = self.column_name()?;
        let change = self.column_change()?;
        Ok(TableChange::Column(name, Box::new(change)))
    }

    fn column_change(&mut self) -> Result<ColumnChange> {
        use Keyword as K;
        match self.kind() {
            Kind::Word(K::Set) if self.begins_identity_change() => self.identity_changes(),
            Kind::Word(K::Restart) => self.identity_changes(),
            Kind::Word(K::Set) => {
                self.advance();
                self.set_column()
            }
            Kind::Word(K::Reset) => {
                self.advance();
                self.settings()?;
                Ok(ColumnChange::Storage)
            }
            Kind::Word(K::Drop) => {
                self.advance();
                self.drop_of_column()
            }
            Kind::Word(K::Add) => {
                self.advance();
                self.expect_word(K::Generated)?;
                let always = self.always()?;
                self.expect_word(K::As)?;
                self.expect_word(K::Identity)?;
                let options = match self.at_char('(') {
                    true => self.sequence_options_in_parens()?,
                    false => Vec::new(),
                };
                Ok(ColumnChange::AddIdentity(always, options))
            }
            Kind::Word(K::Type) => {
                self.advance();
                self.column_type()
            }
            _ => Err(self.unexpected()),
        }
    }

    /// Whether SET is of an identity column.
    fn begins_identity_change(&self) -> bool {
        use Keyword as K;
        match self.ahead(1) {
            Kind::Word(K::Generated | K::No) => true,
            Kind::Word(word) => self.is_sequence_option(word, self.ahead(2)),
            _ => false,
        }
    }

    fn identity_changes(&mut self) -> Result<ColumnChange> {
        use Keyword as K;
        let mut options = Vec::new();
        loop {
            match self.kind() {
                Kind::Word(K::Restart) => options.push(self.sequence_option()?),
                Kind::Word(K::Set) => {
                    self.advance();
                    if self.accept_word(K::Generated) {
                        options.push(SequenceOption::Generated(self.always()?));
                    } else {
                        options.push(self.identity_option()?);
                    }
                }
                _ => return Ok(ColumnChange::SetIdentity(options)),
            }
        }
    }

    /// An option of an identity column's sequence, behind SET.
    fn identity_option(&mut self) -> Result<SequenceOption> {
        let place = self.place();
        let option = self.sequence_option()?;
        let word = match option {
            SequenceOption::Type(_) => "as",
            SequenceOption::Restart(_) => "restart",
            SequenceOption::OwnedBy(_) => "owned_by",
            _ => return Ok(option),
        };
        Err(self.refuse(format!("sequence option \"{word}\" not supported here"), place))
    }

    /// SET of a column, behind SET.
    fn set_column(&mut self) -> Result<ColumnChange> {
        use Keyword as K;
        match self.kind() {
            Kind::Char('(') => {
                self.settings()?;
                Ok(ColumnChange::Storage)
            }
            Kind::Word(K::Default) => {
                self.advance();
                let (expr, span) = self.spanned(Self::expr)?;
                Ok(ColumnChange::SetDefault(Said { expr, span }))
            }
            Kind::Word(K::Not) => {
                self.advance();
                self.expect_word(K::Null)?;
                Ok(ColumnChange::SetNotNull)
            }
            Kind::Word(K::Statistics) => {
                self.advance();
                self.signed_int()?;
                Ok(ColumnChange::Storage)
            }
            Kind::Word(K::Storage) => {
                self.advance();
                self.column_name()?;
                Ok(ColumnChange::Storage)
            }
            Kind::Word(K::Compression) => {
                self.advance();
                if !self.accept_word(K::Default) {
                    self.column_name()?;
                }
                Ok(ColumnChange::Storage)
            }
            Kind::Word(K::Data) => {
                self.advance();
                self.expect_word(K::Type)?;
                self.column_type()
            }
            _ => Err(self.unexpected()),
        }
    }

    /// DROP of something of a column, behind DROP.
    fn drop_of_column(&mut self) -> Result<ColumnChange> {
        use Keyword as K;
        if self.accept_word(K::Default) {
            return Ok(ColumnChange::DropDefault);
        }
        if self.accept_word(K::Not) {
            self.expect_word(K::Null)?;
            return Ok(ColumnChange::DropNotNull);
        }
        if self.accept_word(K::Expression) {
            return Ok(ColumnChange::DropExpression(self.if_exists_alone()?));
        }
        self.expect_word(K::Identity)?;
        Ok(ColumnChange::DropIdentity(self.if_exists_alone()?))
    }

    /// TYPE, behind this word.
    fn column_type(&mut self) -> Result<ColumnChange> {
        let ty = Box::new(self.type_name()?);
        let collation = match self.accept_word(Keyword::Collate) {
            true => Some(self.any_name()?),
            false => None,
        };
        let using = match self.accept_word(Keyword::Using) {
            true => {
                let (expr, span) = self.spanned(Self::expr)?;
                Some(Said { expr, span })
            }
            false => None,
        };
        Ok(ColumnChange::Type(ty, collation, using))
    }
}
