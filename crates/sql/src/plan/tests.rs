//! Do plans use the indexes that they should?

use std::sync::Arc;
use std::time::Duration;

use datafusion::physical_plan::displayable;
use onlap::{Database, Options, SyncMode};
use onlap_base::tasks::{Tasks, ThreadTasks};

use super::Known;
use crate::instance::Instance;
use crate::parse;
use crate::session::{Session, SessionInfo};
use crate::wire::{Client, CopyData, Reply};

#[derive(Default)]
struct Silent(Reply);

impl Client for Silent {
    fn reply(&mut self) -> &mut Reply {
        &mut self.0
    }
    fn send(&mut self) -> crate::Result<()> {
        self.0.bytes().clear();
        Ok(())
    }
    fn copy_data(&mut self) -> crate::Result<CopyData> {
        Ok(CopyData::Done)
    }
}

struct Fixture {
    session: Session,
    _dir: tempfile::TempDir,
}

fn fixture(statements: &str) -> Fixture {
    let dir = tempfile::tempdir().unwrap();
    let db = Database::open(dir.path(), Options::default().sync(SyncMode::Os)).unwrap();
    let instance = Instance::open(db).unwrap();
    let info = SessionInfo { user: "postgres".into(), ..SessionInfo::default() };
    let mut session = Session::new(&instance, info).unwrap();
    session.query(statements, &mut Silent::default()).unwrap();
    assert_eq!(session.status(), b'I');
    Fixture { session, _dir: dir }
}

impl Fixture {
    fn plan(&mut self, sql: &str) -> String {
        let statement = parse::one(sql).unwrap();
        self.session
            .in_view(|session, view| {
                let planner = &session.instance.planner;
                let query = planner.plan(view, statement, Vec::new(), &Known::default())?;
                let plan = planner.physical(view, &query)?;
                Ok(displayable(plan.as_ref()).indent(false).to_string())
            })
            .unwrap()
    }
}

fn tq() -> Fixture {
    let rows: Vec<String> = (0..4000).map(|i| format!("({i}, {}, 0)", i % 10)).collect();
    fixture(&format!(
        "create table tq (pk int primary key, j int not null, k int);
         create unique index tq_j on tq (j, pk desc);
         create table few (id int primary key, pk int);
         insert into few values (1, 7), (2, 9);
         insert into tq values {}",
        rows.join(",")
    ))
}

#[test]
fn the_largest_row_of_each_group_comes_from_a_loose_scan() {
    let mut tq = tq();
    let loose = "First Row per Group using tq_j on tq";
    for sql in [
        "select j, max(pk) from tq group by j",
        "select pk, j, k from tq where (j, pk) in (select j, max(pk) from tq group by j)",
        "select pk, j, k from (select *, rank() over (partition by j order by pk desc) r from tq) x \
         where r = 1",
        "select distinct on (j) pk, j, k from tq order by j, pk desc",
    ] {
        let plan = tq.plan(sql);
        assert!(plan.contains(loose), "{sql}\n{plan}");
        assert!(!plan.contains("Seq Scan"), "{sql}\n{plan}");
    }
    let last = tq.plan("select j, min(pk) from tq group by j");
    assert!(last.contains("Last Row per Group using tq_j on tq"), "{last}");
    let other = tq.plan("select j, max(k) from tq group by j");
    assert!(!other.contains("per Group"), "{other}");
}

#[test]
fn a_small_table_is_joined_by_lookups() {
    let mut tq = tq();
    for sql in [
        "select * from few f join tq t on t.pk = f.pk",
        "select * from few f left join tq t on t.pk = f.pk",
        "select * from tq t join few f on t.pk = f.pk where t.k = 0",
        "select * from few f where exists (select 1 from tq t where t.pk = f.pk)",
    ] {
        let plan = tq.plan(sql);
        assert!(plan.contains("Join using tq_pkey on tq"), "{sql}\n{plan}");
        assert!(!plan.contains("Seq Scan on tq"), "{sql}\n{plan}");
    }
    let plan = tq.plan("select * from tq a join tq b on a.pk = b.pk");
    assert!(plan.contains("HashJoinExec"), "{plan}");
}

#[test]
fn a_limit_reads_the_index_in_order() {
    let mut tq = tq();
    let plan = tq.plan("select pk + 1 from tq order by pk desc limit 5");
    assert!(plan.contains("Index Scan Backward using tq_pkey on tq, limit 5"), "{plan}");
    assert!(!plan.contains("SortExec"), "{plan}");
}

#[test]
fn large_sorts_may_spill() {
    let mut tq = tq();
    let few = tq.plan("select * from few order by pk limit 10");
    assert!(few.contains("TopK(fetch=10)"), "{few}");
    let many = tq.plan("select * from few order by pk limit 3 offset 100000");
    assert!(!many.contains("TopK") && many.contains("fetch=100003"), "{many}");
}

/// An answer, or its SQLSTATE.
#[derive(Default)]
struct Told(Silent, String);

impl Client for Told {
    fn reply(&mut self) -> &mut Reply {
        self.0.reply()
    }
    fn send(&mut self) -> crate::Result<()> {
        self.1.push_str(&String::from_utf8_lossy(self.0.reply().bytes()));
        self.0.send()
    }
    fn copy_data(&mut self) -> crate::Result<CopyData> {
        Ok(CopyData::Done)
    }
}

fn told(session: &mut Session, sql: &str) -> String {
    let mut client = Told::default();
    session.query(sql, &mut client).unwrap();
    client.send().unwrap();
    client.1
}

#[test]
fn a_query_without_memory_beside_others_begins_anew() {
    let dir = tempfile::tempdir().unwrap();
    let options = Options { memory_limit: Some(32 << 20), ..Options::default().sync(SyncMode::Os) };
    let instance = Instance::open(Database::open(dir.path(), options).unwrap()).unwrap();
    let session = || {
        let info = SessionInfo { user: "postgres".into(), ..SessionInfo::default() };
        Session::new(&instance, info).unwrap()
    };
    let (mut first, mut second) = (session(), session());
    told(&mut first, "create table big (k int, b text)");
    for part in 0..10 {
        let rows = format!(
            "select g, repeat('x', 1000) from generate_series({}, {}) g",
            part * 1000,
            part * 1000 + 999
        );
        told(&mut first, &format!("insert into big {rows}"));
    }
    // Queries have 16 MiB together, and each of these takes some 10 of them.
    let open = told(
        &mut first,
        "begin; declare c cursor for select x.b, y.b from big x join big y on x.k = y.k; fetch 1 from c",
    );
    assert!(open.contains("FETCH 1"), "{open}");
    let ending = ThreadTasks.spawn(
        "cursor",
        Box::new(move || {
            ThreadTasks.sleep(Duration::from_millis(500));
            assert!(told(&mut first, "commit").contains("COMMIT"));
        }),
    );
    let sql = "select count(*), max(x.b || y.b) from big x join big y on x.k = y.k";
    let answer = told(&mut second, sql);
    ending.join().unwrap();
    assert!(answer.contains("SELECT 1"), "{answer}");
    // Alone it has the room, and one with a limit of its own does not ask for more.
    let confined = told(
        &mut second,
        "set query_memory_limit = '2MB'; select count(*), max(x.b || y.b) from big x join big y on x.k = y.k",
    );
    assert!(confined.contains("53200"), "{confined}");
}

#[test]
fn long_texts_wait_for_room_or_are_refused() {
    let mut tq = tq();
    let room = Arc::clone(tq.session.instance.planner.room());
    let list = |n: usize| vec!["7"; n].join(",");
    let sql = format!("select count(*) from few where pk in ({})", list(20_000));
    let all = room.begin(None, room.total()).unwrap();
    told(&mut tq.session, "set statement_timeout = '200ms'");
    assert!(told(&mut tq.session, &sql).contains("57014"), "it waits");
    let joined = "select count(*) from few x join few y on x.pk = y.pk + 1";
    assert!(told(&mut tq.session, joined).contains("57014"), "a plan waits too");
    assert!(
        told(&mut tq.session, "select id from few where id = 1").contains("SELECT 1"),
        "no plan"
    );
    told(&mut tq.session, "reset statement_timeout");
    drop(all);
    assert!(told(&mut tq.session, &sql).contains("SELECT 1"));
    let bytes = super::texts::expected_bytes(&sql);
    assert!(room.check(bytes).is_ok() && room.check(u64::MAX / 2).is_err());
}
