//! A session without a network: what the tests of this crate talk to.

#![allow(clippy::disallowed_methods, reason = "tests stand outside the simulation")]

use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use onlap::{Database, Options, SyncMode};
use onlap_sql::{Client, CopyData, Instance, Reply, Result, Session, SessionInfo};
use onlap_testkit::simple::Outcome;

/// Rows, each as a line.
#[allow(dead_code, reason = "not every file of tests needs it")]
pub fn texts(rows: &[Vec<Option<String>>]) -> Vec<String> {
    let text = |value: &Option<String>| value.clone().unwrap_or_else(|| "NULL".into());
    rows.iter().map(|row| row.iter().map(text).collect::<Vec<_>>().join("|")).collect()
}

/// A database in a temporary directory.
pub struct Fixture {
    /// What sessions share.
    pub instance: Arc<Instance>,
    /// Whether nothing else may hold it when this goes.
    sole: bool,
    _dir: Option<tempfile::TempDir>,
}

impl Fixture {
    /// An empty database; small memtables where asked for.
    #[allow(dead_code, reason = "not every file of tests needs it")]
    pub fn new(tiny: bool) -> Fixture {
        Fixture::with(tiny, 256 << 20)
    }

    /// The same, with a limit of memory, in bytes.
    #[allow(dead_code, reason = "not every file of tests needs it")]
    pub fn with(tiny: bool, memory: u64) -> Fixture {
        let dir = tempfile::tempdir().expect("a temporary directory");
        let mut options = Options::default().sync(SyncMode::Os).memory_limit(memory);
        if tiny {
            options.tuning.memtable_bytes = Some(16 << 10);
        }
        let db = Database::open(dir.path(), options).expect("an empty database opens");
        let instance = Instance::open(db).expect("an empty catalog");
        Fixture { instance, sole: true, _dir: Some(dir) }
    }

    /// The database of a directory, which stays when this goes.
    #[allow(dead_code, reason = "not every file of tests needs it")]
    pub fn at(dir: &Path) -> Fixture {
        let db = Database::open(dir, Options::default().sync(SyncMode::Os)).expect("it opens");
        let instance = Instance::open(db).expect("its catalog opens");
        Fixture { instance, sole: true, _dir: None }
    }

    /// A database that was opened elsewhere.
    #[allow(dead_code, reason = "not every file of tests needs it")]
    pub fn of(instance: Arc<Instance>) -> Fixture {
        Fixture { instance, sole: false, _dir: None }
    }

    /// A session of postgres.
    pub fn session(&self) -> Talk {
        self.session_of("postgres")
    }

    /// A session of a role.
    pub fn session_of(&self, role: &str) -> Talk {
        self.session_in(role, "postgres")
    }

    /// A session of a role in a database.
    pub fn session_in(&self, role: &str, database: &str) -> Talk {
        let (user, database) = (role.to_string(), database.to_string());
        let info = SessionInfo { user, database, ..SessionInfo::default() };
        let session = Session::new(&self.instance, info).expect("the role may connect");
        Talk { session, client: Memory::default() }
    }
}

impl Drop for Fixture {
    /// Where sessions are gone, what holds the instance still, such as a statement that it keeps, holds it for good, and its
    /// database could not be opened again.
    fn drop(&mut self) {
        let began = Instant::now();
        let is_alone = self.sole && self.instance.session_count() == 0;
        let is_held = || Arc::strong_count(&self.instance) > 1 && !std::thread::panicking();
        while is_alone && is_held() {
            assert!(began.elapsed() < GONE, "something holds the instance that is no session");
            std::thread::sleep(Duration::from_millis(5));
        }
    }
}

/// How long threads of the instance may take to let it go.
const GONE: Duration = Duration::from_secs(20);

/// A client that keeps what it is sent.
#[derive(Default)]
pub struct Memory {
    reply: Reply,
    sent: Vec<u8>,
    /// What COPY FROM STDIN reads.
    pub input: Vec<Vec<u8>>,
}

impl Client for Memory {
    fn reply(&mut self) -> &mut Reply {
        &mut self.reply
    }
    fn send(&mut self) -> Result<()> {
        self.sent.append(self.reply.bytes());
        Ok(())
    }
    fn copy_data(&mut self) -> Result<CopyData> {
        self.send()?;
        match self.input.is_empty() {
            true => Ok(CopyData::Done),
            false => Ok(CopyData::Piece(self.input.remove(0))),
        }
    }
}

/// A session and its client.
pub struct Talk {
    /// The session.
    pub session: Session,
    /// The client.
    pub client: Memory,
}

impl Talk {
    /// Runs a simple query.
    pub fn run(&mut self, sql: &str) -> Outcome {
        self.session.query(sql, &mut self.client).expect("the client is here");
        self.outcome()
    }

    /// What was sent since the last time.
    pub fn outcome(&mut self) -> Outcome {
        self.client.send().expect("the client is here");
        Outcome::decode(&std::mem::take(&mut self.client.sent))
    }

    /// The rows of queries, each as a line.
    #[allow(dead_code, reason = "not every file of tests needs it")]
    pub fn lines(&mut self, queries: &[&str]) -> Vec<String> {
        queries.iter().flat_map(|sql| texts(&self.rows(sql))).collect()
    }

    /// Runs statements that have to succeed, and returns the rows of the last.
    pub fn rows(&mut self, sql: &str) -> Vec<Vec<Option<String>>> {
        let outcome = self.run(sql);
        assert_eq!(outcome.error, None, "{sql}");
        outcome.rows
    }
}
