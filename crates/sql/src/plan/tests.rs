//! Do plans use the indexes that they should?

use datafusion::physical_plan::displayable;
use onlap::{Database, Options, SyncMode};

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
                let plan = planner.physical(&query, &view.scope)?;
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
