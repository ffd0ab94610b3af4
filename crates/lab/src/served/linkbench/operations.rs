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
enum Operation {
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

impl Operation {
    fn name(self) -> &'static str {
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

impl<'a> Client<'a> {
    pub(super) fn new(graph: &'a Graph, mix: Mix, dialect: Dialect) -> Client<'a> {
        Client { graph, mix, dialect }
    }

    fn pick(&self, rng: &mut Rng, (skew, uncorrelated): (f64, f64)) -> u64 {
        self.graph.pick(rng, skew, uncorrelated)
    }

    /// A link of the load, where the node has one.
    fn link_of(&self, rng: &mut Rng, id1: u64) -> (i64, u64) {
        match self.graph.degree(id1) {
            0 => self.graph.new_link(rng),
            degree => self.graph.link(id1, rng.below(degree)),
        }
    }

    /// Adds to the count of a node's links.
    fn count(&self, session: &mut dyn Session, id: u64, link_type: i64, by: i64) -> Result<()> {
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
        let (id, link_type, by, time) =
            (Arg::Int(id as i64), Arg::Int(link_type), Arg::Int(by), Arg::Int(now()));
        session.execute(sql, &[id, link_type, by, time]).map(drop)
    }

    /// Adds a link or shows it again, in a transaction with its count.
    fn put_link(
        &self,
        session: &mut dyn Session,
        rng: &mut Rng,
        id1: u64,
        (link_type, id2): (i64, u64),
    ) -> Result<()> {
        let data = data(rng, self.mix.bytes().0, 0.3);
        let (kind, from, to) = (Arg::Int(link_type), Arg::Int(id1 as i64), Arg::Int(id2 as i64));
        session.run("BEGIN")?;
        let mut visible = None;
        session.query(LOCK, &[kind, from, to], &mut |row| visible = Some(row[0].int()))?;
        let (text, time) = (Arg::Text(&data), Arg::Int(now()));
        match visible {
            None => session.execute(INSERT, &[from, to, kind, text, time])?,
            Some(_) => session.execute(UPDATE, &[text, time, kind, from, to])?,
        };
        if visible != Some(1) {
            self.count(session, id1, link_type, 1)?;
        }
        session.run("COMMIT")
    }

    fn delete_link(&self, session: &mut dyn Session, rng: &mut Rng) -> Result<()> {
        let id1 = self.pick(rng, WRITES);
        let (link_type, id2) = self.link_of(rng, id1);
        let key = [Arg::Int(link_type), Arg::Int(id1 as i64), Arg::Int(id2 as i64)];
        session.run("BEGIN")?;
        let mut visible = None;
        session.query(LOCK, &key, &mut |row| visible = Some(row[0].int()))?;
        if visible == Some(1) {
            session.execute(HIDE, &key)?;
            self.count(session, id1, link_type, -1)?;
        }
        session.run("COMMIT")
    }

    fn get_link(&self, session: &mut dyn Session, rng: &mut Rng) -> Result<()> {
        let id1 = self.pick(rng, READS);
        let (link_type, first) = self.link_of(rng, id1);
        let mut ends = vec![Arg::Int(id1 as i64), Arg::Int(link_type), Arg::Int(first as i64)];
        while ends.len() < MULTIGET_MAX + 2 && !rng.chance(MULTIGET) {
            ends.push(Arg::Int(self.link_of(rng, id1).1 as i64));
        }
        let places = vec!["?"; ends.len() - 2].join(", ");
        let sql = format!(
            "SELECT id1, id2, link_type, visibility, data, time, version FROM linktable \
             WHERE id1 = ? AND link_type = ? AND id2 IN ({places})"
        );
        session.query(&sql, &ends, &mut |_| {}).map(drop)
    }

    fn list(&self, session: &mut dyn Session, rng: &mut Rng) -> Result<()> {
        let id1 = self.pick(rng, READS);
        let (link_type, _) = self.link_of(rng, id1);
        let until = match rng.chance(HISTORY) {
            true => now() - rng.below(60) as i64,
            false => now(),
        };
        let values = [id1 as i64, link_type, 0, until, LIST_LIMIT, 0].map(Arg::Int);
        session.query(LIST, &values, &mut |_| {}).map(drop)
    }

    fn node(&self, operation: Operation, session: &mut dyn Session, rng: &mut Rng) -> Result<()> {
        let data = |rng: &mut Rng| data(rng, self.mix.bytes().1, 0.6);
        const TYPE: Arg<'static> = Arg::Int(2048);
        match operation {
            AddNode => {
                let data = data(rng);
                let sql = "INSERT INTO nodetable (type, version, time, data) VALUES (?, 1, ?, ?)";
                session.execute(sql, &[TYPE, Arg::Int(now()), Arg::Text(&data)])
            }
            UpdateNode => {
                let (id, data) = (self.pick(rng, NODE_UPDATES), data(rng));
                let sql = "UPDATE nodetable SET version = version + 1, time = ?, data = ? \
                           WHERE id = ? AND type = ?";
                let id = Arg::Int(id as i64);
                session.execute(sql, &[Arg::Int(now()), Arg::Text(&data), id, TYPE])
            }
            DeleteNode => {
                let sql = "DELETE FROM nodetable WHERE id = ? AND type = ?";
                session.execute(sql, &[Arg::Int(self.graph.any(rng) as i64), TYPE])
            }
            _ => {
                let id = Arg::Int(self.pick(rng, NODE_READS) as i64);
                let sql =
                    "SELECT id, type, version, time, data FROM nodetable WHERE id = ? AND type = ?";
                session.query(sql, &[id, TYPE], &mut |_| {})
            }
        }
        .map(drop)
    }
}

impl Actor for Client<'_> {
    fn act(&mut self, session: &mut dyn Session, rng: &mut Rng) -> Result<Option<Act>> {
        let operation = self.mix.draw(rng);
        match operation {
            AddLink => {
                let id1 = self.pick(rng, WRITES);
                let link = self.graph.new_link(rng);
                self.put_link(session, rng, id1, link)?;
            }
            UpdateLink => {
                let id1 = self.pick(rng, WRITES);
                let link = self.link_of(rng, id1);
                self.put_link(session, rng, id1, link)?;
            }
            DeleteLink => self.delete_link(session, rng)?,
            CountLink => {
                let id = self.pick(rng, READS);
                let (link_type, _) = self.link_of(rng, id);
                let sql = "SELECT count FROM counttable WHERE id = ? AND link_type = ?";
                let key = [Arg::Int(id as i64), Arg::Int(link_type)];
                session.query(sql, &key, &mut |_| {})?;
            }
            GetLink => self.get_link(session, rng)?,
            GetLinkList => self.list(session, rng)?,
            _ => self.node(operation, session, rng)?,
        }
        Ok(Some(Act::of(operation.name())))
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
