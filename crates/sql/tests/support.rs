//! A session without a network: what the tests of this crate talk to.

use std::sync::Arc;

use onlap::{Database, Options, SyncMode};
use onlap_sql::{Client, CopyData, Instance, Reply, Result, Session, SessionInfo};

/// A database in a temporary directory.
pub struct Fixture {
    /// What sessions share.
    pub instance: Arc<Instance>,
    _dir: Option<tempfile::TempDir>,
}

impl Fixture {
    /// An empty database; small memtables where asked for.
    pub fn new(tiny: bool) -> Fixture {
        Fixture::with(tiny, 256 << 20)
    }

    /// The same, and it may take so many bytes of memory.
    pub fn with(tiny: bool, memory: u64) -> Fixture {
        let dir = tempfile::tempdir().expect("a temporary directory");
        let mut options = Options::default().sync(SyncMode::Os).memory_limit(memory);
        if tiny {
            options.tuning.memtable_bytes = Some(16 << 10);
        }
        let db = Database::open(dir.path(), options).expect("an empty database opens");
        Fixture { instance: Instance::open(db).expect("an empty catalog"), _dir: Some(dir) }
    }

    /// A database that was opened elsewhere.
    #[allow(dead_code, reason = "not every file of tests needs it")]
    pub fn of(instance: Arc<Instance>) -> Fixture {
        Fixture { instance, _dir: None }
    }

    /// A session of postgres.
    pub fn session(&self) -> Talk {
        self.session_of("postgres")
    }

    /// A session of a role.
    pub fn session_of(&self, role: &str) -> Talk {
        let (user, database) = (role.to_string(), "postgres".to_string());
        let info = SessionInfo { user, database, ..SessionInfo::default() };
        let session = Session::new(&self.instance, info).expect("the role may connect");
        Talk { session, client: Memory::default() }
    }
}

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

/// What a statement gave.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Outcome {
    /// Names and OIDs of columns.
    pub columns: Vec<(String, u32)>,
    /// Values as text.
    pub rows: Vec<Vec<Option<String>>>,
    /// Tags.
    pub tags: Vec<String>,
    /// SQLSTATE and message.
    pub error: Option<(String, String)>,
    /// Notices: SQLSTATE and message.
    pub notices: Vec<(String, String)>,
    /// What COPY TO STDOUT sent.
    pub copied: Vec<u8>,
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
        decode(&std::mem::take(&mut self.client.sent))
    }

    /// Runs statements that have to succeed, and returns the rows of the last.
    pub fn rows(&mut self, sql: &str) -> Vec<Vec<Option<String>>> {
        let outcome = self.run(sql);
        assert_eq!(outcome.error, None, "{sql}");
        outcome.rows
    }
}

fn decode(mut bytes: &[u8]) -> Outcome {
    let mut outcome = Outcome::default();
    while let [kind, a, b, c, d, rest @ ..] = bytes {
        let length = u32::from_be_bytes([*a, *b, *c, *d]) as usize - 4;
        let (body, rest) = rest.split_at(length);
        match kind {
            b'T' => {
                outcome.columns.clear();
                outcome.rows.clear();
                let mut at = &body[2..];
                while let Some(end) = at.iter().position(|b| *b == 0) {
                    let name = String::from_utf8_lossy(&at[..end]).into_owned();
                    let fixed = &at[end + 1..end + 19];
                    let oid = u32::from_be_bytes(fixed[6..10].try_into().expect("four bytes"));
                    outcome.columns.push((name, oid));
                    at = &at[end + 19..];
                }
            }
            b'D' => outcome.rows.push(values(&body[2..])),
            b'C' => outcome.tags.push(text(&body[..body.len() - 1])),
            b'E' => outcome.error = Some(fields(body)),
            b'N' => outcome.notices.push(fields(body)),
            b'd' => outcome.copied.extend_from_slice(body),
            _ => {}
        }
        bytes = rest;
    }
    outcome
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

fn values(mut body: &[u8]) -> Vec<Option<String>> {
    let mut values = Vec::new();
    while let [a, b, c, d, rest @ ..] = body {
        let length = i32::from_be_bytes([*a, *b, *c, *d]);
        let taken = usize::try_from(length).unwrap_or(0);
        values.push((length >= 0).then(|| text(&rest[..taken])));
        body = &rest[taken..];
    }
    values
}

fn fields(body: &[u8]) -> (String, String) {
    let of = |kind: u8| {
        let field = body.split(|b| *b == 0).find(|f| f.first() == Some(&kind));
        field.map_or(String::new(), |f| text(&f[1..]))
    };
    (of(b'C'), of(b'M'))
}
