//! CREATE TABLE.

use super::super::keyword::Keyword;
use super::super::parser::Parser;
use super::super::token::Kind;
use super::object;
use crate::ast::{
    ColumnRule, CreateTable, CreateTableAs, Kept, Lasting, Name, NewColumn, Object, OnCommit,
    PartitionBound, PartitionBy, PartitionElement, Path, Said, Statement, TableElement, TableKind,
};
use crate::{Error, Result};

impl Parser<'_> {
    /// CREATE TABLE, behind these words.
    pub(super) fn create_table(&mut self, lasting: Lasting) -> Result<Statement> {
        use Keyword as K;
        let skip = self.if_not_exists()?;
        let place = self.place();
        let name = self.relation_name()?;
        let names_columns = self.at_char('(')
            && Parser::is_column_name(self.ahead(1))
            && matches!(self.ahead(2), Kind::Char(',' | ')'));
        let defines = matches!(self.kind(), Kind::Char('(') | Kind::Word(K::Of | K::Partition));
        if names_columns || !defines {
            let columns = self.names_if_parens()?;
            return self.create_as(lasting, skip, (name, place), columns);
        }
        let mut create = CreateTable {
            lasting,
            skip,
            name,
            place,
            kind: TableKind::Plain,
            elements: Vec::new(),
            inherits: Vec::new(),
            partition_by: None,
            kept: Kept::default(),
        };
        if self.accept_word(K::Of) {
            create.kind = TableKind::Of(self.any_name()?);
            create.elements = self.typed_elements()?;
        } else if self.accept_word(K::Partition) {
            self.expect_word(K::Of)?;
            let parent = self.relation_name()?;
            create.elements = self.typed_elements()?;
            create.kind = TableKind::PartitionOf(parent, self.partition_bound()?);
        } else {
            create.elements = self.elements()?;
            if self.accept_word(K::Inherits) {
                self.expect_char('(')?;
                create.inherits = self.relation_names()?;
                self.expect_char(')')?;
            }
        }
        create.partition_by = self.partition_spec()?;
        create.kept = self.kept(true)?;
        Ok(Statement::CreateTable(Box::new(create)))
    }

    /// CREATE TABLE AS, behind the name and the columns.
    fn create_as(
        &mut self,
        lasting: Lasting,
        skip: bool,
        (name, place): (Path, u32),
        columns: Vec<Name>,
    ) -> Result<Statement> {
        use Keyword as K;
        let kept = self.kept(true)?;
        self.expect_word(K::As)?;
        let mut query = None;
        let (_, span) = self.spanned(|p| {
            if p.accept_word(K::Execute) {
                p.column_name()?;
                if p.at_char('(') {
                    p.exprs_in_parens()?;
                }
                return Ok(());
            }
            query = Some(p.query()?);
            Ok(())
        })?;
        let no_data = self.no_data()?;
        let materialized = false;
        Ok(Statement::CreateTableAs(Box::new(CreateTableAs {
            lasting,
            skip,
            materialized,
            name,
            place,
            columns,
            kept,
            query,
            span,
            no_data,
        })))
    }

    /// CREATE MATERIALIZED VIEW, behind these words.
    pub(super) fn create_materialized(&mut self, lasting: Lasting) -> Result<Statement> {
        let skip = self.if_not_exists()?;
        let place = self.place();
        let name = self.relation_name()?;
        let columns = self.names_if_parens()?;
        let kept = self.kept(false)?;
        self.expect_word(Keyword::As)?;
        let (query, span) = self.spanned(Self::query)?;
        let no_data = self.no_data()?;
        Ok(Statement::CreateTableAs(Box::new(CreateTableAs {
            lasting,
            skip,
            materialized: true,
            name,
            place,
            columns,
            kept,
            query: Some(query),
            span,
            no_data,
        })))
    }

    /// REFRESH MATERIALIZED VIEW.
    pub(in super::super) fn refresh(&mut self) -> Result<Statement> {
        self.advance();
        self.expect_word(Keyword::Materialized)?;
        self.expect_word(Keyword::View)?;
        let concurrently = self.accept_word(Keyword::Concurrently);
        let name = self.relation_name()?;
        let no_data = self.no_data()?;
        object(Object::Refresh { concurrently, name, no_data })
    }

    /// WITH DATA (false) or WITH NO DATA.
    pub(in super::super) fn no_data(&mut self) -> Result<bool> {
        if !self.accept_word(Keyword::With) {
            return Ok(false);
        }
        let no = self.accept_word(Keyword::No);
        self.expect_word(Keyword::Data)?;
        Ok(no)
    }

    fn elements(&mut self) -> Result<Vec<TableElement>> {
        self.expect_char('(')?;
        let mut elements = Vec::new();
        if self.accept_char(')') {
            return Ok(elements);
        }
        loop {
            elements.push(if self.at_constraint() {
                TableElement::Constraint(self.table_constraint()?)
            } else if self.accept_word(Keyword::Like) {
                self.like_table()?
            } else {
                TableElement::Column(self.new_column()?)
            });
            if !self.accept_char(',') {
                break;
            }
        }
        self.expect_char(')')?;
        Ok(elements)
    }

    /// What is said of the columns of a type or of another table.
    fn typed_elements(&mut self) -> Result<Vec<TableElement>> {
        let mut elements = Vec::new();
        if !self.accept_char('(') {
            return Ok(elements);
        }
        loop {
            if self.at_constraint() {
                elements.push(TableElement::Constraint(self.table_constraint()?));
            } else {
                let place = self.place();
                let name = self.column_name()?;
                if self.accept_word(Keyword::With) {
                    self.expect_word(Keyword::Options)?;
                }
                let rules = self.column_rules()?;
                let column = NewColumn { name, ty: None, compression: None, rules, place };
                elements.push(TableElement::Column(column));
            }
            if !self.accept_char(',') {
                break;
            }
        }
        self.expect_char(')')?;
        Ok(elements)
    }

    /// LIKE, behind this word.
    fn like_table(&mut self) -> Result<TableElement> {
        use Keyword as K;
        let table = self.relation_name()?;
        let mut options = Vec::new();
        loop {
            let including = match self.kind() {
                Kind::Word(K::Including) => true,
                Kind::Word(K::Excluding) => false,
                _ => return Ok(TableElement::Like(table, options)),
            };
            self.advance();
            match self.kind() {
                Kind::Word(
                    word @ (K::Comments
                    | K::Compression
                    | K::Constraints
                    | K::Defaults
                    | K::Identity
                    | K::Generated
                    | K::Indexes
                    | K::Statistics
                    | K::Storage
                    | K::All),
                ) => {
                    self.advance();
                    options.push((including, word.word().into()));
                }
                _ => return Err(self.unexpected()),
            }
        }
    }

    /// A column's declaration.
    pub(super) fn new_column(&mut self) -> Result<NewColumn> {
        use Keyword as K;
        let place = self.place();
        let name = self.column_name()?;
        let ty = Some(self.type_name()?);
        let mut compression = None;
        if self.accept_word(K::Compression) {
            compression = Some(match self.accept_word(K::Default) {
                true => "default".into(),
                false => self.column_name()?,
            });
        }
        if self.at_word(K::Options) {
            self.generic_options()?;
        }
        let rules = self.column_rules()?;
        Ok(NewColumn { name, ty, compression, rules, place })
    }

    /// `OPTIONS (a 'b')`
    fn generic_options(&mut self) -> Result<()> {
        self.advance();
        self.expect_char('(')?;
        loop {
            self.label()?;
            self.text()?;
            if !self.accept_char(',') {
                break;
            }
        }
        self.expect_char(')')
    }

    /// PARTITION BY, if it is there.
    fn partition_spec(&mut self) -> Result<Option<PartitionBy>> {
        use Keyword as K;
        let place = self.place();
        if !self.accept_word(K::Partition) {
            return Ok(None);
        }
        self.expect_word(K::By)?;
        let strategy = self.column_name()?;
        self.expect_char('(')?;
        let mut elements = vec![self.partition_element()?];
        while self.accept_char(',') {
            elements.push(self.partition_element()?);
        }
        self.expect_char(')')?;
        Ok(Some(PartitionBy { strategy, elements, place }))
    }

    fn partition_element(&mut self) -> Result<PartitionElement> {
        let place = self.place();
        let (mut column, mut said) = (None, None);
        if self.accept_char('(') {
            let (expr, span) = self.spanned(Self::expr)?;
            self.expect_char(')')?;
            said = Some(Said { expr, span });
        } else if Parser::is_column_name(self.kind())
            && !matches!(self.ahead(1), Kind::Char('(' | '.'))
        {
            column = Some(self.column_name()?);
        } else {
            let (expr, span) = self.spanned(Self::windowless_call)?;
            said = Some(Said { expr, span });
        }
        let collation = match self.accept_word(Keyword::Collate) {
            true => Some(self.any_name()?),
            false => None,
        };
        let class = match Parser::is_column_name(self.kind()) {
            true => Some(self.any_name()?),
            false => None,
        };
        Ok(PartitionElement { column, said, collation, class, place })
    }

    /// Which rows a partition has.
    pub(super) fn partition_bound(&mut self) -> Result<PartitionBound> {
        use Keyword as K;
        if self.accept_word(K::Default) {
            return Ok(PartitionBound::Default);
        }
        self.expect_word(K::For)?;
        self.expect_word(K::Values)?;
        if self.accept_word(K::With) {
            return self.hash_bound();
        }
        if self.accept_word(K::In) {
            return Ok(PartitionBound::List(self.bound_values()?));
        }
        self.expect_word(K::From)?;
        let from = self.bound_values()?;
        self.expect_word(K::To)?;
        Ok(PartitionBound::Range(from, self.bound_values()?))
    }

    fn bound_values(&mut self) -> Result<Vec<Said>> {
        self.expect_char('(')?;
        let mut values = Vec::new();
        loop {
            let (expr, span) = self.spanned(Self::expr)?;
            values.push(Said { expr, span });
            if !self.accept_char(',') {
                break;
            }
        }
        self.expect_char(')')?;
        Ok(values)
    }

    /// `(modulus 4, remainder 1)`
    fn hash_bound(&mut self) -> Result<PartitionBound> {
        self.expect_char('(')?;
        let mut said: Vec<(Name, u32, i32)> = Vec::new();
        loop {
            let place = self.place();
            said.push((self.word_name()?, place, self.int()?));
            if !self.accept_char(',') {
                break;
            }
        }
        self.expect_char(')')?;
        for (i, (name, place, _)) in said.iter().enumerate() {
            if !matches!(&**name, "modulus" | "remainder") {
                let text = format!("unrecognized hash partition bound specification \"{name}\"");
                return Err(self.refuse(text, *place));
            }
            if said[..i].iter().any(|(other, ..)| other == name) {
                let text = format!("{name} for hash partition provided more than once");
                return Err(Error::new("42710", text).at(*place));
            }
        }
        let of = |name: &str| {
            let found = said.iter().find(|(said, ..)| &**said == name).map(|(_, _, n)| *n);
            found.ok_or_else(|| {
                let text = format!("{name} for hash partition must be specified");
                Error::new("42601", text)
            })
        };
        Ok(PartitionBound::Hash(of("modulus")?, of("remainder")?))
    }

    /// How a table's rows are kept; ON COMMIT only of a table.
    pub(super) fn kept(&mut self, table: bool) -> Result<Kept> {
        use Keyword as K;
        let mut kept = Kept::default();
        if self.accept_word(K::Using) {
            kept.method = Some(self.column_name()?);
        }
        if self.accept_word(K::With) {
            kept.settings = self.settings()?;
        } else if table && self.accept_word(K::Without) {
            self.expect_word(K::Oids)?;
        }
        if table && self.accept_word(K::On) {
            self.expect_word(K::Commit)?;
            kept.on_commit = Some(if self.accept_word(K::Drop) {
                OnCommit::Drop
            } else if self.accept_word(K::Delete) {
                self.expect_word(K::Rows)?;
                OnCommit::DeleteRows
            } else {
                self.expect_word(K::Preserve)?;
                self.expect_word(K::Rows)?;
                OnCommit::PreserveRows
            });
        }
        if self.accept_word(K::Tablespace) {
            kept.tablespace = Some(self.column_name()?);
        }
        Ok(kept)
    }

    /// GENERATED, behind this word.
    pub(super) fn generated(&mut self) -> Result<ColumnRule> {
        use Keyword as K;
        let place = self.place();
        let always = self.always()?;
        self.expect_word(K::As)?;
        if self.accept_word(K::Identity) {
            let options = match self.at_char('(') {
                true => self.sequence_options_in_parens()?,
                false => Vec::new(),
            };
            return Ok(ColumnRule::Identity(always, options));
        }
        let said = self.said_in_parens()?;
        self.expect_word(K::Stored)?;
        if !always {
            let text = "for a generated column, GENERATED ALWAYS must be specified";
            return Err(self.refuse(text, place));
        }
        Ok(ColumnRule::Generated(said))
    }

    /// ALWAYS (true) or BY DEFAULT.
    pub(super) fn always(&mut self) -> Result<bool> {
        if self.accept_word(Keyword::Always) {
            return Ok(true);
        }
        self.expect_word(Keyword::By)?;
        self.expect_word(Keyword::Default)?;
        Ok(false)
    }
}
