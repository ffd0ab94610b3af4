//! What only one kind of server can be asked, in its own words: background work, bytes, sizes.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use onlap_base::Result;

use crate::engine::{ROWS, Written};
use crate::wire::{Cell, Kind, Server, Session, number};

/// How long background work may take.
const SETTLE_MAX: Duration = Duration::from_secs(600);

/// Waits until a server has no background work, as far as it tells.
pub(crate) fn settle(server: &Server, tables: &[&str]) -> Result<()> {
    let mut session = server.session()?;
    let began = Instant::now();
    match server.kind() {
        Kind::Onlap => {
            session.run("CHECKPOINT")?;
            let mut last = (Instant::now(), 0);
            while last.0.elapsed() < Duration::from_secs(1) && began.elapsed() < SETTLE_MAX {
                let written = server.counter("onlap_written_bytes_total{purpose=\"all\"}")?;
                if written != last.1 {
                    last = (Instant::now(), written);
                }
                std::thread::sleep(Duration::from_millis(100));
            }
        }
        Kind::Postgres | Kind::OtherPostgres => {
            for table in tables {
                session.run(&format!("VACUUM ANALYZE {table}"))?;
            }
            session.run("CHECKPOINT")?;
        }
        Kind::Innodb | Kind::InnodbChangeBuffer | Kind::InnodbCompressed => {
            session.run("SET GLOBAL innodb_max_dirty_pages_pct = 0")?;
            session.run("SET GLOBAL innodb_max_dirty_pages_pct_lwm = 0")?;
            let dirty = "SELECT VARIABLE_VALUE FROM information_schema.GLOBAL_STATUS WHERE \
                         VARIABLE_NAME = 'INNODB_BUFFER_POOL_PAGES_DIRTY'";
            wait_for(began, || Ok(number(&mut *session, dirty, &[])? < 10))?;
            session.run("SET GLOBAL innodb_max_dirty_pages_pct_lwm = 60")?;
            session.run("SET GLOBAL innodb_max_dirty_pages_pct = 80")?;
            analyze(&mut *session, tables)?;
        }
        Kind::Myrocks | Kind::MyrocksZstd => {
            session.run("SET GLOBAL rocksdb_force_flush_memtable_now = 1")?;
            let pending = "SELECT CAST(COALESCE(SUM(VALUE), 0) AS SIGNED) FROM \
                           information_schema.ROCKSDB_CFSTATS WHERE STAT_TYPE IN \
                           ('COMPACTION_PENDING', 'MEM_TABLE_FLUSH_PENDING', \
                           'NUM_IMMUTABLE_MEM_TABLE')";
            let mut quiet = 0;
            wait_for(began, || {
                quiet = if number(&mut *session, pending, &[])? == 0 { quiet + 1 } else { 0 };
                Ok(quiet >= 5)
            })?;
            analyze(&mut *session, tables)?;
        }
        Kind::OtherMysql => analyze(&mut *session, tables)?,
        Kind::Sqlite => {
            session.run("PRAGMA wal_checkpoint(TRUNCATE)")?;
            session.run("ANALYZE")?;
        }
    }
    Ok(())
}

fn analyze(session: &mut dyn Session, tables: &[&str]) -> Result<()> {
    tables.iter().try_for_each(|table| session.run(&format!("ANALYZE TABLE {table}")))
}

fn wait_for(began: Instant, mut done: impl FnMut() -> Result<bool>) -> Result<()> {
    while began.elapsed() < SETTLE_MAX && !done()? {
        std::thread::sleep(Duration::from_millis(100));
    }
    Ok(())
}

/// Bytes that a server wrote, by purpose, where it tells.
pub(crate) fn written(server: &Server) -> Result<Written> {
    match server.kind() {
        Kind::Onlap => Ok(written_on(&server.metrics()?)),
        _ => Ok(Written::default()),
    }
}

/// The same of a page of counters.
fn written_on(page: &str) -> Written {
    let of = |purpose: &str| {
        let name = format!("onlap_written_bytes_total{{purpose=\"{purpose}\"}}");
        let value = page.lines().find_map(|line| line.strip_prefix(&name)?.trim().parse().ok());
        value.unwrap_or(0u64)
    };
    let mut indexes = BTreeMap::new();
    for line in page.lines() {
        let Some(rest) = line.strip_prefix("onlap_index_written_bytes_total{") else { continue };
        // Its own tables have names that no user's has.
        if rest.starts_with("table=\"onlap_") {
            continue;
        }
        let name = rest.split("index=\"").nth(1).and_then(|rest| rest.split('"').next());
        let value = rest.rsplit(' ').next().and_then(|n| n.parse::<u64>().ok());
        if let Some((name, value)) = name.zip(value) {
            *indexes.entry(name.to_owned()).or_default() += value;
        }
    }
    Written {
        log: Some(of("log")),
        rows: Some(of("segments") + of("compaction")),
        indexes,
        total: Some(of("all")),
    }
}

/// Bytes that the rows of each table and every index take now, where the server tells.
pub(crate) fn sizes(server: &Server, tables: &[&str]) -> Result<BTreeMap<String, u64>> {
    let mut sizes = BTreeMap::new();
    let outcome = server.session()?.query(&sizes_sql(server.kind(), tables), &[], &mut |row| {
        let Cell::Text(name) = &row[0] else { return };
        let name = match tables {
            [one] if one == name => ROWS,
            _ => name,
        };
        *sizes.entry(name.to_owned()).or_default() += row[1].int() as u64;
    });
    match (outcome, server.kind()) {
        // Somebody else's server may keep these to itself.
        (Err(_), Kind::OtherPostgres | Kind::OtherMysql) => Ok(BTreeMap::new()),
        (outcome, _) => outcome.map(|_| sizes),
    }
}

/// Names of tables and their indexes, and their bytes.
fn sizes_sql(kind: Kind, tables: &[&str]) -> String {
    let list = tables.iter().map(|t| format!("'{t}'")).collect::<Vec<_>>().join(", ");
    match kind {
        Kind::Onlap | Kind::Postgres | Kind::OtherPostgres => format!(
            "SELECT relname::text, pg_relation_size(oid) FROM pg_class WHERE relname IN ({list}) \
             UNION ALL SELECT c.relname::text, pg_relation_size(c.oid) FROM pg_class c \
             JOIN pg_index i ON i.indexrelid = c.oid JOIN pg_class t ON t.oid = i.indrelid \
             WHERE t.relname IN ({list})"
        ),
        Kind::Innodb | Kind::InnodbChangeBuffer | Kind::InnodbCompressed | Kind::OtherMysql => {
            // Pages as ANALYZE found them; those of compressed tables have half of the size.
            let page = if kind == Kind::InnodbCompressed { "8192" } else { "16384" };
            format!(
                "SELECT IF(index_name IN ('PRIMARY', 'GEN_CLUST_INDEX'), table_name, index_name), \
                 CAST(stat_value * {page} AS SIGNED) FROM mysql.innodb_index_stats WHERE \
                 stat_name = 'size' AND database_name = DATABASE() AND table_name IN ({list})"
            )
        }
        // Before compression; there are no others.
        Kind::Myrocks | Kind::MyrocksZstd => format!(
            "SELECT IF(d.INDEX_NAME = 'PRIMARY', d.TABLE_NAME, d.INDEX_NAME), \
             CAST(SUM(m.DATA_SIZE) AS SIGNED) FROM information_schema.ROCKSDB_INDEX_FILE_MAP m \
             JOIN information_schema.ROCKSDB_DDL d ON d.INDEX_NUMBER = m.INDEX_NUMBER \
             WHERE d.TABLE_NAME IN ({list}) GROUP BY 1"
        ),
        Kind::Sqlite => format!(
            "SELECT s.name, CAST(sum(s.pgsize) AS integer) FROM dbstat s \
             JOIN sqlite_schema o ON o.name = s.name WHERE o.tbl_name IN ({list}) GROUP BY 1"
        ),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counters_are_split_by_index() {
        let page = "onlap_written_bytes_total{purpose=\"log\"} 10\n\
                    onlap_written_bytes_total{purpose=\"segments\"} 3\n\
                    onlap_written_bytes_total{purpose=\"compaction\"} 4\n\
                    onlap_written_bytes_total{purpose=\"all\"} 40\n\
                    onlap_index_written_bytes_total{table=\"t\",index=\"a b\"} 20\n\
                    onlap_index_written_bytes_total{table=\"u\",index=\"a b\"} 2\n\
                    onlap_index_written_bytes_total{table=\"onlap_x\",index=\"x\"} 9\n";
        let written = written_on(page);
        assert_eq!((written.log, written.rows, written.total), (Some(10), Some(7), Some(40)));
        assert_eq!(written.indexes, [("a b".to_owned(), 22)].into());
    }
}
