//! What a client of the graph does, and how often.

use onlap_base::Result;
use onlap_base::rng::Rng;

use super::shape::{Graph, data};
use super::{Act, Actor, Dialect, Session, now};
use crate::wire::Arg;

/// Which published mix of operations.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Mix {
    Y2013,
    Y2017,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Operation {
    AddLink,
    DeleteLink,
    UpdateLink,
    CountLink,
    GetLink,
    GetLinkList,
    GetNode,
    AddNode,
    UpdateNode,
    DeleteNode,
}

use Operation::*;

/// Hundredths of a percent of each mix.
const MIXES: [(Operation, u64, u64); 10] = [
    (AddLink, 899, 535),
    (DeleteLink, 299, 98),
    (UpdateLink, 801, 476),
    (CountLink, 489, 428),
    (GetLink, 53, 1215),
    (GetLinkList, 5071, 2257),
    (GetNode, 1293, 4399),
    (AddNode, 257, 261),
    (UpdateNode, 737, 306),
    (DeleteNode, 101, 25),
];

/// All of them.
pub(super) fn operations() -> [Operation; 10] {
    MIXES.map(|(operation, ..)| operation)
}

impl Operation {
    pub(super) fn name(self) -> &'static str {
        match self {
            AddLink => "addlink",
            DeleteLink => "deletelink",
            UpdateLink => "updatelink",
            CountLink => "countlink",
            GetLink => "getlink",
            GetLinkList => "getlinklist",
            GetNode => "getnode",
            AddNode => "addnode",
            UpdateNode => "updatenode",
            DeleteNode => "deletenode",
        }
    }
}

impl Mix {
    fn share(self, entry: &(Operation, u64, u64)) -> u64 {
        if self == Mix::Y2013 { entry.1 } else { entry.2 }
    }

    fn draw(self, rng: &mut Rng) -> Operation {
        let total: u64 = MIXES.iter().map(|entry| self.share(entry)).sum();
        let mut left = rng.below(total);
        for entry in &MIXES {
            let share = self.share(entry);
            if left < share {
                return entry.0;
            }
            left -= share;
        }
        GetLinkList
    }

    /// Median bytes of the data of links and nodes.
    fn bytes(self) -> (usize, usize) {
        if self == Mix::Y2013 { (8, 128) } else { (23, 168) }
    }
}

/// Skew of the popularity, and the share that has nothing to do with the number of links.
const READS: (f64, f64) = (0.8, 0.995);
const WRITES: (f64, f64) = (0.741, 0.95);
const NODE_READS: (f64, f64) = (0.625, 1.0);
const NODE_UPDATES: (f64, f64) = (0.606, 1.0);
/// Share of lists that go into history, and the chance to ask for no further link at once.
const HISTORY: f64 = 0.003;
const MULTIGET: f64 = 0.382;
const MULTIGET_MAX: usize = 128;
const LIST_LIMIT: i64 = 10_000;

/// What a client asks for: everything about it but the time of day.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Request {
    /// Adds a link or shows it again, in a transaction with its count.
    PutLink {
        operation: Operation,
        link: Link,
        data: String,
    },
    DeleteLink(Link),
    CountLink {
        id: u64,
        kind: i64,
    },
    /// Links of one node and type to these ends.
    GetLinks {
        id1: u64,
        kind: i64,
        ends: Vec<u64>,
    },
    /// Links of a node up to a number of seconds ago.
    List {
        id1: u64,
        kind: i64,
        ago: u64,
    },
    GetNode {
        id: u64,
    },
    AddNode {
        data: String,
    },
    UpdateNode {
        id: u64,
        data: String,
    },
    DeleteNode {
        id: u64,
    },
}

/// Key of a link.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Link {
    pub id1: u64,
    pub kind: i64,
    pub id2: u64,
}

impl Link {
    /// In the order of the primary key.
    fn key(self) -> [Arg<'static>; 3] {
        [Arg::Int(self.kind), Arg::Int(self.id1 as i64), Arg::Int(self.id2 as i64)]
    }
}

impl Request {
    pub(super) fn operation(&self) -> Operation {
        match self {
            Request::PutLink { operation, .. } => *operation,
            Request::DeleteLink(_) => DeleteLink,
            Request::CountLink { .. } => CountLink,
            Request::GetLinks { .. } => GetLink,
            Request::List { .. } => GetLinkList,
            Request::GetNode { .. } => GetNode,
            Request::AddNode { .. } => AddNode,
            Request::UpdateNode { .. } => UpdateNode,
            Request::DeleteNode { .. } => DeleteNode,
        }
    }

    /// The next one of a client.
    pub(super) fn draw(graph: &Graph, mix: Mix, rng: &mut Rng) -> Request {
        let operation = mix.draw(rng);
        let pick = |rng: &mut Rng, (skew, uncorrelated)| graph.pick(rng, skew, uncorrelated);
        let (of_link, of_node) = mix.bytes();
        match operation {
            AddLink => {
                let id1 = pick(rng, WRITES);
                let (kind, id2) = graph.new_link(rng);
                let link = Link { id1, kind, id2 };
                Request::PutLink { operation, link, data: data(rng, of_link, 0.3) }
            }
            UpdateLink => {
                let link = link_of(graph, rng, WRITES);
                Request::PutLink { operation, link, data: data(rng, of_link, 0.3) }
            }
            DeleteLink => Request::DeleteLink(link_of(graph, rng, WRITES)),
            CountLink => {
                let Link { id1: id, kind, .. } = link_of(graph, rng, READS);
                Request::CountLink { id, kind }
            }
            GetLink => {
                let Link { id1, kind, id2 } = link_of(graph, rng, READS);
                let mut ends = vec![id2];
                while ends.len() < MULTIGET_MAX && !rng.chance(MULTIGET) {
                    ends.push(other_link(graph, rng, id1).1);
                }
                Request::GetLinks { id1, kind, ends }
            }
            GetLinkList => {
                let Link { id1, kind, .. } = link_of(graph, rng, READS);
                let ago = if rng.chance(HISTORY) { rng.below(60) } else { 0 };
                Request::List { id1, kind, ago }
            }
            GetNode => Request::GetNode { id: pick(rng, NODE_READS) },
            AddNode => Request::AddNode { data: data(rng, of_node, 0.6) },
            UpdateNode => {
                let id = pick(rng, NODE_UPDATES);
                Request::UpdateNode { id, data: data(rng, of_node, 0.6) }
            }
            DeleteNode => Request::DeleteNode { id: graph.any(rng) },
        }
    }
}

/// A link of the load, where the node has one.
fn link_of(graph: &Graph, rng: &mut Rng, (skew, uncorrelated): (f64, f64)) -> Link {
    let id1 = graph.pick(rng, skew, uncorrelated);
    let (kind, id2) = other_link(graph, rng, id1);
    Link { id1, kind, id2 }
}

fn other_link(graph: &Graph, rng: &mut Rng, id1: u64) -> (i64, u64) {
    match graph.degree(id1) {
        0 => graph.new_link(rng),
        degree => graph.link(id1, rng.below(degree)),
    }
}

/// One client.
pub(super) struct Client<'a> {
    graph: &'a Graph,
    mix: Mix,
    dialect: Dialect,
}

const LOCK: &str =
    "SELECT visibility FROM linktable WHERE link_type = ? AND id1 = ? AND id2 = ? FOR UPDATE";
const INSERT: &str = "INSERT INTO linktable (id1, id2, link_type, visibility, data, time, version) \
                      VALUES (?, ?, ?, 1, ?, ?, 0)";
const UPDATE: &str = "UPDATE linktable SET visibility = 1, data = ?, time = ?, version = version + 1 \
                      WHERE link_type = ? AND id1 = ? AND id2 = ?";
const HIDE: &str =
    "UPDATE linktable SET visibility = 0 WHERE link_type = ? AND id1 = ? AND id2 = ?";
const LIST: &str = "SELECT id1, id2, link_type, visibility, data, time, version FROM linktable \
                    WHERE id1 = ? AND link_type = ? AND time >= ? AND time <= ? AND visibility = 1 \
                    ORDER BY time DESC LIMIT ? OFFSET ?";
const COUNT: &str = "SELECT count FROM counttable WHERE id = ? AND link_type = ?";
const LINKS: &str = "SELECT id1, id2, link_type, visibility, data, time, version FROM linktable \
                     WHERE id1 = ? AND link_type = ? AND id2 IN";
const NODE: &str = "SELECT id, type, version, time, data FROM nodetable WHERE id = ? AND type = ?";
const ADD_NODE: &str = "INSERT INTO nodetable (type, version, time, data) VALUES (?, 1, ?, ?)";
const UPDATE_NODE: &str = "UPDATE nodetable SET version = version + 1, time = ?, data = ? \
                           WHERE id = ? AND type = ?";
const DELETE_NODE: &str = "DELETE FROM nodetable WHERE id = ? AND type = ?";

impl<'a> Client<'a> {
    pub(super) fn new(graph: &'a Graph, mix: Mix, dialect: Dialect) -> Client<'a> {
        Client { graph, mix, dialect }
    }

    /// Adds to the count of a node's links.
    fn count(&self, session: &mut dyn Session, link: Link, by: i64) -> Result<()> {
        let sql = match self.dialect {
            Dialect::Postgres | Dialect::Sqlite => {
                "INSERT INTO counttable (id, link_type, count, time, version) VALUES (?, ?, ?, ?, 0) \
                 ON CONFLICT (id, link_type) DO UPDATE SET count = counttable.count + excluded.count, \
                 version = counttable.version + 1, time = excluded.time"
            }
            Dialect::Mysql => {
                "INSERT INTO counttable (id, link_type, count, time, version) VALUES (?, ?, ?, ?, 0) \
                 ON DUPLICATE KEY UPDATE count = count + VALUES(count), version = version + 1, \
                 time = VALUES(time)"
            }
        };
        let values = [link.id1 as i64, link.kind, by, now()].map(Arg::Int);
        session.execute(sql, &values).map(drop)
    }

    fn put_link(&self, session: &mut dyn Session, link: Link, data: &str) -> Result<()> {
        session.begin()?;
        let mut visible = None;
        let [kind, from, to] = link.key();
        session.query(LOCK, &[kind, from, to], &mut |row| visible = Some(row[0].int()))?;
        let (text, time) = (Arg::Text(data), Arg::Int(now()));
        match visible {
            None => session.execute(INSERT, &[from, to, kind, text, time])?,
            Some(_) => session.execute(UPDATE, &[text, time, kind, from, to])?,
        };
        if visible != Some(1) {
            self.count(session, link, 1)?;
        }
        session.run("COMMIT")
    }

    fn delete_link(&self, session: &mut dyn Session, link: Link) -> Result<()> {
        session.begin()?;
        let mut visible = None;
        session.query(LOCK, &link.key(), &mut |row| visible = Some(row[0].int()))?;
        if visible == Some(1) {
            session.execute(HIDE, &link.key())?;
            self.count(session, link, -1)?;
        }
        session.run("COMMIT")
    }

    fn perform(&self, session: &mut dyn Session, request: &Request) -> Result<()> {
        const TYPE: Arg<'static> = Arg::Int(2048);
        let whole = |id: u64| Arg::Int(id as i64);
        match request {
            Request::PutLink { link, data, .. } => return self.put_link(session, *link, data),
            Request::DeleteLink(link) => return self.delete_link(session, *link),
            Request::CountLink { id, kind } => {
                session.query(COUNT, &[whole(*id), Arg::Int(*kind)], &mut |_| {})
            }
            Request::GetLinks { id1, kind, ends } => {
                let places = vec!["?"; ends.len()].join(", ");
                let mut values = vec![whole(*id1), Arg::Int(*kind)];
                values.extend(ends.iter().map(|id| whole(*id)));
                session.query(&format!("{LINKS} ({places})"), &values, &mut |_| {})
            }
            Request::List { id1, kind, ago } => {
                let until = now() - *ago as i64;
                let values = [*id1 as i64, *kind, 0, until, LIST_LIMIT, 0].map(Arg::Int);
                session.query(LIST, &values, &mut |_| {})
            }
            Request::GetNode { id } => session.query(NODE, &[whole(*id), TYPE], &mut |_| {}),
            Request::AddNode { data } => {
                session.execute(ADD_NODE, &[TYPE, Arg::Int(now()), Arg::Text(data)])
            }
            Request::UpdateNode { id, data } => {
                let values = [Arg::Int(now()), Arg::Text(data), whole(*id), TYPE];
                session.execute(UPDATE_NODE, &values)
            }
            Request::DeleteNode { id } => session.execute(DELETE_NODE, &[whole(*id), TYPE]),
        }
        .map(drop)
    }
}

impl Actor for Client<'_> {
    fn act(&mut self, session: &mut dyn Session, rng: &mut Rng) -> Result<Option<Act>> {
        let request = Request::draw(self.graph, self.mix, rng);
        self.perform(session, &request)?;
        Ok(Some(Act::of(request.operation().name())))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn mixes_are_the_published_ones() {
        for mix in [Mix::Y2013, Mix::Y2017] {
            let sum: u64 = MIXES.iter().map(|entry| mix.share(entry)).sum();
            assert_eq!(sum, 10_000, "{mix:?}");
        }
        let mut rng = Rng::new(3);
        let lists = (0..10_000).filter(|_| Mix::Y2013.draw(&mut rng) == GetLinkList).count();
        assert!((4900..5250).contains(&lists), "{lists}");
    }
}
