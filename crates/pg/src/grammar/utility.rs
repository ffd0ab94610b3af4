//! Transactions, and statements about upkeep.

use onlap_base::LockMode;

use super::define::object;
use super::keyword::Keyword;
use super::parser::Parser;
use super::token::Kind;
use crate::Result;
use crate::ast::{
    Discard, Do, LockTable, Name, Path, Reindex, Setting, Statement, Transaction, Utility, Vacuum,
};

/// A statement as the tree has it.
pub(super) fn utility(utility: Utility) -> Result<Statement> {
    Ok(Statement::Utility(Box::new(utility)))
}

fn transaction(transaction: Transaction) -> Result<Statement> {
    utility(Utility::Transaction(transaction))
}

impl Parser<'_> {
    /// A statement that neither reads nor changes rows by itself; none of another kind.
    pub(super) fn defining(&mut self, word: Keyword) -> Result<Option<Statement>> {
        use Keyword as K;
        let made = match word {
            K::Create => self.create(),
            K::Alter => self.alter(),
            K::Drop => self.drop(),
            K::Truncate => self.truncate(),
            K::Comment => self.comment(),
            K::Grant => self.grant(),
            K::Revoke => self.revoke(),
            K::Reassign => self.reassign(),
            K::Begin | K::Start | K::Commit | K::End | K::Rollback | K::Abort => {
                self.transaction(word)
            }
            K::Savepoint | K::Release => self.transaction(word),
            K::Set => self.set(),
            K::Show => self.show(),
            K::Reset => self.reset(),
            K::Declare => self.declare(),
            K::Fetch | K::Move => self.fetch(),
            K::Close => self.close(),
            K::Prepare => self.prepare(),
            K::Execute => self.execute(),
            K::Deallocate => self.deallocate(),
            K::Explain => self.explain(),
            K::Copy => self.copy(),
            K::Vacuum => self.vacuum(),
            K::Analyze | K::Analyse => self.analyze(),
            K::Reindex => self.reindex(),
            K::Cluster => self.cluster(),
            K::Refresh => self.refresh(),
            K::Lock => self.lock(),
            K::Checkpoint => {
                self.advance();
                utility(Utility::Checkpoint)
            }
            K::Discard => self.discard(),
            K::Listen | K::Unlisten | K::Notify => self.notification(word),
            K::Do => self.do_block(),
            K::Call => self.call_statement(),
            K::Check if self.ahead(1) == Kind::Word(K::Table) => {
                self.advance();
                self.advance();
                let name = self.relation_name()?;
                utility(Utility::CheckTable(name))
            }
            _ => return Ok(None),
        };
        made.map(Some)
    }

    /// DO: a body and a language, in any order.
    fn do_block(&mut self) -> Result<Statement> {
        self.advance();
        let (mut language, mut body) = (None, None);
        loop {
            let place = self.place();
            let twice = match self.kind() {
                Kind::Text => body.replace(self.text()?).is_some(),
                Kind::Word(Keyword::Language) => {
                    self.advance();
                    let name = match self.kind() {
                        Kind::Text => self.text()?,
                        _ => self.label()?,
                    };
                    language.replace(name).is_some()
                }
                _ => break,
            };
            if twice {
                return Err(self.refuse("conflicting or redundant options", place));
            }
        }
        match body {
            Some(body) => utility(Utility::Do(Do { language, body })),
            None if language.is_none() => Err(self.unexpected()),
            None => Err(crate::Error::new("42601", "no inline code specified")),
        }
    }

    /// `BACKUP TO`, which is Onlap's own, if it comes next.
    pub(super) fn backup(&mut self) -> Result<Option<Statement>> {
        let token = self.token();
        let is_backup = token.kind == Kind::Name
            && self.ahead(1) == Kind::Word(Keyword::To)
            && &*self.value(token) == "backup";
        if !is_backup {
            return Ok(None);
        }
        self.advance();
        self.advance();
        let dir = self.text()?;
        utility(Utility::Backup(dir)).map(Some)
    }

    /// BEGIN, COMMIT and their like.
    fn transaction(&mut self, word: Keyword) -> Result<Statement> {
        use Keyword as K;
        self.advance();
        match word {
            K::Begin => {
                self.work();
                let modes = self.modes(false)?;
                transaction(Transaction::Begin(false, modes))
            }
            K::Start => {
                self.expect_word(K::Transaction)?;
                let modes = self.modes(false)?;
                transaction(Transaction::Begin(true, modes))
            }
            K::Commit if self.accept_word(K::Prepared) => {
                let id = self.text()?;
                transaction(Transaction::CommitPrepared(id))
            }
            K::Commit | K::End => {
                self.work();
                let chain = self.chain()?;
                transaction(Transaction::Commit(chain))
            }
            K::Rollback if self.accept_word(K::Prepared) => {
                let id = self.text()?;
                transaction(Transaction::RollbackPrepared(id))
            }
            K::Rollback | K::Abort => {
                self.work();
                if word == K::Rollback && self.accept_word(K::To) {
                    let name = self.savepoint()?;
                    return transaction(Transaction::RollbackTo(name));
                }
                let chain = self.chain()?;
                transaction(Transaction::Rollback(chain))
            }
            K::Savepoint => {
                let name = self.column_name()?;
                transaction(Transaction::Savepoint(name))
            }
            _ => {
                let name = self.savepoint()?;
                transaction(Transaction::Release(name))
            }
        }
    }

    fn work(&mut self) {
        if !self.accept_word(Keyword::Work) {
            self.accept_word(Keyword::Transaction);
        }
    }

    /// AND CHAIN (true) or AND NO CHAIN.
    fn chain(&mut self) -> Result<bool> {
        if !self.accept_word(Keyword::And) {
            return Ok(false);
        }
        let no = self.accept_word(Keyword::No);
        self.expect_word(Keyword::Chain)?;
        Ok(!no)
    }

    /// A savepoint's name, with or without the word; the word may be the name.
    fn savepoint(&mut self) -> Result<Name> {
        let is_word = self.at_word(Keyword::Savepoint)
            && !matches!(self.ahead(1), Kind::End | Kind::Char(';'));
        if is_word {
            self.advance();
        }
        self.column_name()
    }

    /// Tables with columns, if there are any.
    fn vacuumed(&mut self) -> Result<Vec<(Path, Vec<Name>)>> {
        let mut tables = Vec::new();
        if !Parser::is_column_name(self.kind()) {
            return Ok(tables);
        }
        loop {
            let name = self.relation_name()?;
            tables.push((name, self.names_if_parens()?));
            if !self.accept_char(',') {
                return Ok(tables);
            }
        }
    }

    fn vacuum(&mut self) -> Result<Statement> {
        use Keyword as K;
        self.advance();
        let options = match self.at_char('(') {
            true => self.utility_options()?,
            false => {
                let mut options: Vec<Setting> = Vec::new();
                for word in [K::Full, K::Freeze, K::Verbose] {
                    let option = self.plain_option(word.word());
                    if self.accept_word(word) {
                        options.push(option);
                    }
                }
                let option = self.plain_option("analyze");
                if self.accept_word(K::Analyze) || self.accept_word(K::Analyse) {
                    options.push(option);
                }
                options
            }
        };
        let tables = self.vacuumed()?;
        utility(Utility::Vacuum(Vacuum { vacuum: true, options, tables }))
    }

    fn analyze(&mut self) -> Result<Statement> {
        self.advance();
        let mut options = Vec::new();
        if self.at_char('(') {
            options = self.utility_options()?;
        } else {
            let option = self.plain_option("verbose");
            if self.accept_word(Keyword::Verbose) {
                options.push(option);
            }
        }
        let tables = self.vacuumed()?;
        utility(Utility::Vacuum(Vacuum { vacuum: false, options, tables }))
    }

    fn reindex(&mut self) -> Result<Statement> {
        use Keyword as K;
        self.advance();
        if self.at_char('(') {
            self.utility_options()?;
        }
        let Kind::Word(word) = self.kind() else { return Err(self.unexpected()) };
        if !matches!(word, K::Index | K::Table | K::Schema | K::System | K::Database) {
            return Err(self.unexpected());
        }
        self.advance();
        self.accept_word(K::Concurrently);
        let of = match word {
            K::Index => Reindex::Index(self.relation_name()?),
            K::Table => Reindex::Table(self.relation_name()?),
            K::Schema => Reindex::Schema(self.column_name()?),
            K::Database => Reindex::Database(self.column_name()?),
            _ => Reindex::System(self.column_name()?),
        };
        utility(Utility::Reindex(of))
    }

    fn cluster(&mut self) -> Result<Statement> {
        use Keyword as K;
        self.advance();
        let options = self.at_char('(');
        if options {
            self.utility_options()?;
        } else {
            self.accept_word(K::Verbose);
        }
        if options || Parser::is_column_name(self.kind()) {
            let is_one = Parser::is_column_name(self.kind());
            let name = self.relation_name()?;
            if !options && is_one && name.len() == 1 && self.accept_word(K::On) {
                self.relation_name()?;
            } else if self.accept_word(K::Using) {
                self.column_name()?;
            }
        }
        utility(Utility::Cluster)
    }

    fn lock(&mut self) -> Result<Statement> {
        use Keyword as K;
        self.advance();
        self.accept_word(K::Table);
        let tables = self.relations()?;
        let mut mode = LockMode::AccessExclusive;
        if self.accept_word(K::In) {
            mode = self.table_lock()?;
            self.expect_word(K::Mode)?;
        }
        let nowait = self.accept_word(K::Nowait);
        utility(Utility::Lock(LockTable { tables, mode, nowait }))
    }

    fn table_lock(&mut self) -> Result<LockMode> {
        use Keyword as K;
        Ok(match self.kind() {
            Kind::Word(K::Access) => {
                self.advance();
                match self.accept_word(K::Share) {
                    true => LockMode::AccessShare,
                    false => {
                        self.expect_word(K::Exclusive)?;
                        LockMode::AccessExclusive
                    }
                }
            }
            Kind::Word(K::Row) => {
                self.advance();
                match self.accept_word(K::Share) {
                    true => LockMode::RowShare,
                    false => {
                        self.expect_word(K::Exclusive)?;
                        LockMode::RowExclusive
                    }
                }
            }
            Kind::Word(K::Share) => {
                self.advance();
                let mode = match self.kind() {
                    Kind::Word(K::Update) => LockMode::ShareUpdateExclusive,
                    Kind::Word(K::Row) => LockMode::ShareRowExclusive,
                    _ => return Ok(LockMode::Share),
                };
                self.advance();
                self.expect_word(K::Exclusive)?;
                mode
            }
            _ => {
                self.expect_word(K::Exclusive)?;
                LockMode::Exclusive
            }
        })
    }

    fn discard(&mut self) -> Result<Statement> {
        use Keyword as K;
        self.advance();
        let what = match self.kind() {
            Kind::Word(K::All) => Discard::All,
            Kind::Word(K::Plans) => Discard::Plans,
            Kind::Word(K::Sequences) => Discard::Sequences,
            Kind::Word(K::Temp | K::Temporary) => Discard::Temporary,
            _ => return Err(self.unexpected()),
        };
        self.advance();
        utility(Utility::Discard(what))
    }

    pub(super) fn notification(&mut self, word: Keyword) -> Result<Statement> {
        self.advance();
        if word == Keyword::Unlisten && self.accept_char('*') {
            return utility(Utility::Unlisten(None));
        }
        let name = self.column_name()?;
        match word {
            Keyword::Listen => utility(Utility::Listen(name)),
            Keyword::Unlisten => utility(Utility::Unlisten(Some(name))),
            _ => {
                let payload = self.accept_char(',').then(|| self.text()).transpose()?;
                utility(Utility::Notify(name, payload))
            }
        }
    }

    /// REASSIGN OWNED BY … TO.
    fn reassign(&mut self) -> Result<Statement> {
        self.advance();
        self.expect_word(Keyword::Owned)?;
        self.expect_word(Keyword::By)?;
        let from = self.roles()?;
        self.expect_word(Keyword::To)?;
        let to = self.role()?;
        object(crate::ast::Object::Reassign(from, to))
    }
}
