//! Which functions does the session answer?
//!
//! Those that ask who the user is, what settings are, what the catalogs of the database have, what a role may do, and
//! sequences. A kernel here passes values on to [`crate::Session::call`]: once for all rows if the arguments are constants and
//! the answer may not change within a statement. Thread safety: as the session's.

use std::sync::{Arc, OnceLock};

use onlap_pg::catalog::extensions::{ALL, OWN};
use onlap_pg::catalog::{Catalog, Proc, Volatility};
use onlap_pg::{Oid, Result};

use super::rows::representation;
use super::words;
use crate::array::{Array, Record};
use crate::series::{Rows, Series, SeriesEntry};
use crate::{Col, Cx, Datum, Entry, Kernel, Made, Repr, Types, each, signature};

macro_rules! asked {
    ($($signature:literal,)*) => {
        /// Functions.
        pub(super) const ENTRIES: &[Entry] = &[$(($signature, |types| ask($signature, types))),*];
    };
}

/// After this number of rows a loop asks whether it is still wanted.
const LOOK_EVERY: usize = 256;

/// Whether the session answers a function.
pub fn asks_session(catalog: &Catalog, function: Oid) -> bool {
    static ASKED: OnceLock<Vec<Oid>> = OnceLock::new();
    let asked = ASKED.get_or_init(|| {
        let mut oids: Vec<Oid> = ENTRIES.iter().map(|entry| row(catalog, entry.0).oid).collect();
        oids.sort_unstable();
        oids
    });
    asked.binary_search(&function).is_ok()
}

/// The row of pg_proc that a signature names, or one of an extension.
fn row(catalog: &Catalog, wanted: &str) -> &'static Proc {
    let name = wanted.split('(').next().unwrap_or(wanted);
    let of_extensions = ALL.iter().chain([&OWN]).flat_map(|of| of.procs());
    let of_extensions = of_extensions.filter(|proc| proc.name == name);
    let mut found = catalog.system_procs(name).chain(of_extensions);
    found.find(|proc| signature(catalog, proc) == wanted).expect("it is a row of pg_proc")
}

fn ask(wanted: &'static str, types: &Types) -> Box<dyn Kernel> {
    let proc = row(&types.catalog, wanted);
    let args: Result<Vec<Repr>> =
        types.args.iter().map(|arg| representation(types, arg.oid)).collect();
    let result = representation(types, types.result.oid);
    each(move |cols: &[Col], rows, cx| {
        let (reprs, result) = (args.as_ref().map_err(Clone::clone)?, result.clone()?);
        let answer = |row: usize, cx: &mut crate::Cx<'_>| {
            if proc.strict && cols.iter().any(|col| col.is_null(row)) {
                return Ok(Datum::Null);
            }
            let both = cols.iter().zip(reprs);
            let values: Vec<Datum<'_>> =
                both.map(|(col, repr)| Datum::at(&col.array, *repr, col.at(row))).collect();
            cx.session.call(proc.oid, &values)
        };
        let once = proc.volatility != Volatility::Volatile && cols.iter().all(|col| col.is_const);
        let mut out = Made::new(rows, cx);
        for row in 0..rows {
            if row % LOOK_EVERY == 0 {
                cx.go_on()?;
            }
            let same = out.last().filter(|_| once).cloned();
            let value = match same {
                Some(same) => same,
                None => answer(row, cx)?,
            };
            out.push(value, cx)?;
        }
        out.column(result)
    })
}

/// Functions that give sets: the session makes an array of rows.
pub(super) const SERIES: &[SeriesEntry] = &[
    words::SERIES[0],
    ("aclexplode(_aclitem)", |types| exploded(types, "aclexplode(_aclitem)")),
    ("advise()", |types| exploded(types, "advise()")),
    ("changes(regclass,int8)", |types| exploded(types, "changes(regclass,int8)")),
    ("pg_listening_channels()", channels),
    ("pg_ls_archive_statusdir()", |types| exploded(types, "pg_ls_archive_statusdir()")),
    ("pg_ls_tmpdir()", |types| exploded(types, "pg_ls_tmpdir()")),
    ("pg_ls_tmpdir(oid)", |types| exploded(types, "pg_ls_tmpdir(oid)")),
    ("pg_ls_waldir()", |types| exploded(types, "pg_ls_waldir()")),
    ("pg_partition_ancestors(regclass)", ancestors),
    ("pg_partition_tree(regclass)", tree),
    ("pg_stat_statements(bool)", |types| exploded(types, "pg_stat_statements(bool)")),
];

/// The session gives an array of OIDs.
fn ancestors(types: &Types) -> Box<dyn Series> {
    let proc = row(&types.catalog, "pg_partition_ancestors(regclass)").oid;
    Box::new(move |args: &[Datum<'_>], cx: &mut Cx<'_>| -> Result<Rows> {
        let numbers = numbers_of(proc, args, cx)?;
        Ok(Box::new(numbers.into_iter().map(|oid| Ok(vec![Datum::Oid(oid as u32)]))))
    })
}

/// The session gives an array of texts.
fn channels(types: &Types) -> Box<dyn Series> {
    let proc = row(&types.catalog, "pg_listening_channels()").oid;
    Box::new(move |args: &[Datum<'_>], cx: &mut Cx<'_>| -> Result<Rows> {
        let Datum::Bytes(all) = cx.session.call(proc, args)? else {
            return Ok(Box::new(std::iter::empty()));
        };
        let all: Vec<Datum<'static>> =
            Array::load(&all, Repr::Text).iter().map(Datum::into_owned).collect();
        Ok(Box::new(all.into_iter().map(|channel| Ok(vec![channel]))))
    })
}

/// The session gives an array of numbers, four of each row: the OID, that of the table above or 0, 1 of a leaf, the level.
fn tree(types: &Types) -> Box<dyn Series> {
    let proc = row(&types.catalog, "pg_partition_tree(regclass)").oid;
    Box::new(move |args: &[Datum<'_>], cx: &mut Cx<'_>| -> Result<Rows> {
        let numbers = numbers_of(proc, args, cx)?;
        let (rows, _) = numbers.as_chunks::<4>();
        let made: Vec<Vec<Datum<'static>>> = rows
            .iter()
            .map(|[oid, above, leaf, level]| {
                let above = if *above == 0 { Datum::Null } else { Datum::Oid(*above as u32) };
                vec![
                    Datum::Oid(*oid as u32),
                    above,
                    Datum::Bool(*leaf != 0),
                    Datum::Int4(*level as i32),
                ]
            })
            .collect();
        Ok(Box::new(made.into_iter().map(Ok)))
    })
}

fn numbers_of(proc: Oid, args: &[Datum<'_>], cx: &mut Cx<'_>) -> Result<Vec<i64>> {
    if args.iter().any(Datum::is_null) {
        return Ok(Vec::new());
    }
    let Datum::Bytes(all) = cx.session.call(proc, args)? else { return Ok(Vec::new()) };
    let number = |value: Datum<'_>| match value {
        Datum::Int8(number) => number,
        _ => 0,
    };
    Ok(Array::load(&all, Repr::Int8).iter().map(number).collect())
}

/// The session gives an array of row values.
fn exploded(types: &Types, wanted: &str) -> Box<dyn Series> {
    let proc = row(&types.catalog, wanted);
    let (proc, strict) = (proc.oid, proc.strict);
    let catalog = Arc::clone(&types.catalog);
    Box::new(move |args: &[Datum<'_>], cx: &mut Cx<'_>| -> Result<Rows> {
        if strict && args.iter().any(Datum::is_null) {
            return Ok(Box::new(std::iter::empty()));
        }
        let Datum::Bytes(rows) = cx.session.call(proc, args)? else {
            return Ok(Box::new(std::iter::empty()));
        };
        let (rows, catalog) = (rows.into_owned(), Arc::clone(&catalog));
        let count = Array::load(&rows, Repr::Bytes).len();
        Ok(Box::new((0..count).map(move |at| {
            let Datum::Bytes(row) = Array::load(&rows, Repr::Bytes).get(at) else {
                unreachable!("no row of it is NULL")
            };
            let fields = Record::load(&row).fields(&catalog);
            Ok(fields.into_iter().map(|(_, value)| value.into_owned()).collect())
        })))
    })
}

asked! {
    "acldefault(char,oid)",
    "age(xid)",
    "col_description(oid,int4)",
    "current_database()",
    "current_schema()",
    "current_schemas(bool)",
    "current_setting(text)",
    "current_setting(text,bool)",
    "current_user()",
    "currval(regclass)",
    "format_type(oid,int4)",
    "getdatabaseencoding()",
    "has_any_column_privilege(name,oid,text)",
    "has_any_column_privilege(name,text,text)",
    "has_any_column_privilege(oid,oid,text)",
    "has_any_column_privilege(oid,text)",
    "has_any_column_privilege(oid,text,text)",
    "has_any_column_privilege(text,text)",
    "has_column_privilege(name,oid,int2,text)",
    "has_column_privilege(name,oid,text,text)",
    "has_column_privilege(name,text,int2,text)",
    "has_column_privilege(name,text,text,text)",
    "has_column_privilege(oid,int2,text)",
    "has_column_privilege(oid,oid,int2,text)",
    "has_column_privilege(oid,oid,text,text)",
    "has_column_privilege(oid,text,int2,text)",
    "has_column_privilege(oid,text,text)",
    "has_column_privilege(oid,text,text,text)",
    "has_column_privilege(text,int2,text)",
    "has_column_privilege(text,text,text)",
    "has_database_privilege(name,oid,text)",
    "has_database_privilege(name,text,text)",
    "has_database_privilege(oid,oid,text)",
    "has_database_privilege(oid,text)",
    "has_database_privilege(oid,text,text)",
    "has_database_privilege(text,text)",
    "has_foreign_data_wrapper_privilege(name,oid,text)",
    "has_foreign_data_wrapper_privilege(name,text,text)",
    "has_foreign_data_wrapper_privilege(oid,oid,text)",
    "has_foreign_data_wrapper_privilege(oid,text)",
    "has_foreign_data_wrapper_privilege(oid,text,text)",
    "has_foreign_data_wrapper_privilege(text,text)",
    "has_function_privilege(name,oid,text)",
    "has_function_privilege(name,text,text)",
    "has_function_privilege(oid,oid,text)",
    "has_function_privilege(oid,text)",
    "has_function_privilege(oid,text,text)",
    "has_function_privilege(text,text)",
    "has_language_privilege(name,oid,text)",
    "has_language_privilege(name,text,text)",
    "has_language_privilege(oid,oid,text)",
    "has_language_privilege(oid,text)",
    "has_language_privilege(oid,text,text)",
    "has_language_privilege(text,text)",
    "has_parameter_privilege(name,text,text)",
    "has_parameter_privilege(oid,text,text)",
    "has_parameter_privilege(text,text)",
    "has_schema_privilege(name,oid,text)",
    "has_schema_privilege(name,text,text)",
    "has_schema_privilege(oid,oid,text)",
    "has_schema_privilege(oid,text)",
    "has_schema_privilege(oid,text,text)",
    "has_schema_privilege(text,text)",
    "has_sequence_privilege(name,oid,text)",
    "has_sequence_privilege(name,text,text)",
    "has_sequence_privilege(oid,oid,text)",
    "has_sequence_privilege(oid,text)",
    "has_sequence_privilege(oid,text,text)",
    "has_sequence_privilege(text,text)",
    "has_server_privilege(name,oid,text)",
    "has_server_privilege(name,text,text)",
    "has_server_privilege(oid,oid,text)",
    "has_server_privilege(oid,text)",
    "has_server_privilege(oid,text,text)",
    "has_server_privilege(text,text)",
    "has_table_privilege(name,oid,text)",
    "has_table_privilege(name,text,text)",
    "has_table_privilege(oid,oid,text)",
    "has_table_privilege(oid,text)",
    "has_table_privilege(oid,text,text)",
    "has_table_privilege(text,text)",
    "has_tablespace_privilege(name,oid,text)",
    "has_tablespace_privilege(name,text,text)",
    "has_tablespace_privilege(oid,oid,text)",
    "has_tablespace_privilege(oid,text)",
    "has_tablespace_privilege(oid,text,text)",
    "has_tablespace_privilege(text,text)",
    "has_type_privilege(name,oid,text)",
    "has_type_privilege(name,text,text)",
    "has_type_privilege(oid,oid,text)",
    "has_type_privilege(oid,text)",
    "has_type_privilege(oid,text,text)",
    "has_type_privilege(text,text)",
    "inet_client_addr()",
    "inet_client_port()",
    "inet_server_addr()",
    "inet_server_port()",
    "lastval()",
    "makeaclitem(oid,oid,text,bool)",
    "mxid_age(xid)",
    "nextval(regclass)",
    "obj_description(oid)",
    "obj_description(oid,name)",
    "oidvectortypes(oidvector)",
    "pg_advisory_lock(int4,int4)",
    "pg_advisory_lock(int8)",
    "pg_advisory_lock_shared(int4,int4)",
    "pg_advisory_lock_shared(int8)",
    "pg_advisory_unlock(int4,int4)",
    "pg_advisory_unlock(int8)",
    "pg_advisory_unlock_all()",
    "pg_advisory_unlock_shared(int4,int4)",
    "pg_advisory_unlock_shared(int8)",
    "pg_advisory_xact_lock(int4,int4)",
    "pg_advisory_xact_lock(int8)",
    "pg_advisory_xact_lock_shared(int4,int4)",
    "pg_advisory_xact_lock_shared(int8)",
    "pg_backend_pid()",
    "pg_blocking_pids(int4)",
    "pg_cancel_backend(int4)",
    "pg_client_encoding()",
    "pg_collation_is_visible(oid)",
    "pg_column_is_updatable(regclass,int2,bool)",
    "pg_conf_load_time()",
    "pg_control_system()",
    "pg_conversion_is_visible(oid)",
    "pg_current_wal_flush_lsn()",
    "pg_current_wal_insert_lsn()",
    "pg_current_wal_lsn()",
    "pg_current_xact_id()",
    "pg_database_size(name)",
    "pg_database_size(oid)",
    "pg_function_is_visible(oid)",
    "pg_get_constraintdef(oid)",
    "pg_get_constraintdef(oid,bool)",
    "pg_get_expr(pg_node_tree,oid)",
    "pg_get_expr(pg_node_tree,oid,bool)",
    "pg_get_function_arguments(oid)",
    "pg_get_function_identity_arguments(oid)",
    "pg_get_function_result(oid)",
    "pg_get_function_sqlbody(oid)",
    "pg_get_functiondef(oid)",
    "pg_get_indexdef(oid)",
    "pg_export_snapshot()",
    "pg_get_indexdef(oid,int4,bool)",
    "pg_get_partition_constraintdef(oid)",
    "pg_get_partkeydef(oid)",
    "pg_get_ruledef(oid)",
    "pg_get_ruledef(oid,bool)",
    "pg_get_serial_sequence(text,text)",
    "pg_get_statisticsobjdef(oid)",
    "pg_get_statisticsobjdef_columns(oid)",
    "pg_get_triggerdef(oid)",
    "pg_get_triggerdef(oid,bool)",
    "pg_get_userbyid(oid)",
    "pg_get_viewdef(oid)",
    "pg_get_viewdef(oid,bool)",
    "pg_get_viewdef(oid,int4)",
    "pg_get_viewdef(text)",
    "pg_get_viewdef(text,bool)",
    "pg_has_role(name,name,text)",
    "pg_has_role(name,oid,text)",
    "pg_has_role(name,text)",
    "pg_has_role(oid,name,text)",
    "pg_has_role(oid,oid,text)",
    "pg_has_role(oid,text)",
    "pg_indexes_size(regclass)",
    "pg_is_in_recovery()",
    "pg_is_other_temp_schema(oid)",
    "pg_is_wal_replay_paused()",
    "pg_last_wal_receive_lsn()",
    "pg_last_wal_replay_lsn()",
    "pg_last_xact_replay_timestamp()",
    "pg_my_temp_schema()",
    "pg_notification_queue_usage()",
    "pg_notify(text,text)",
    "pg_opclass_is_visible(oid)",
    "pg_operator_is_visible(oid)",
    "pg_opfamily_is_visible(oid)",
    "pg_partition_root(regclass)",
    "pg_postmaster_start_time()",
    "pg_relation_is_publishable(regclass)",
    "pg_relation_is_updatable(regclass,bool)",
    "pg_relation_size(regclass)",
    "pg_relation_size(regclass,text)",
    "pg_sequence_last_value(regclass)",
    "pg_stat_clear_snapshot()",
    "pg_stat_force_next_flush()",
    "pg_stat_get_analyze_count(oid)",
    "pg_stat_get_autoanalyze_count(oid)",
    "pg_stat_get_autovacuum_count(oid)",
    "pg_stat_get_blocks_fetched(oid)",
    "pg_stat_get_blocks_hit(oid)",
    "pg_stat_get_db_blocks_fetched(oid)",
    "pg_stat_get_db_blocks_hit(oid)",
    "pg_stat_get_db_conflict_all(oid)",
    "pg_stat_get_db_deadlocks(oid)",
    "pg_stat_get_db_numbackends(oid)",
    "pg_stat_get_db_sessions(oid)",
    "pg_stat_get_db_sessions_abandoned(oid)",
    "pg_stat_get_db_sessions_fatal(oid)",
    "pg_stat_get_db_sessions_killed(oid)",
    "pg_stat_get_db_stat_reset_time(oid)",
    "pg_stat_get_db_temp_bytes(oid)",
    "pg_stat_get_db_temp_files(oid)",
    "pg_stat_get_db_tuples_deleted(oid)",
    "pg_stat_get_db_tuples_fetched(oid)",
    "pg_stat_get_db_tuples_inserted(oid)",
    "pg_stat_get_db_tuples_returned(oid)",
    "pg_stat_get_db_tuples_updated(oid)",
    "pg_stat_get_db_xact_commit(oid)",
    "pg_stat_get_db_xact_rollback(oid)",
    "pg_stat_get_dead_tuples(oid)",
    "pg_stat_get_ins_since_vacuum(oid)",
    "pg_stat_get_last_analyze_time(oid)",
    "pg_stat_get_last_autoanalyze_time(oid)",
    "pg_stat_get_last_autovacuum_time(oid)",
    "pg_stat_get_last_vacuum_time(oid)",
    "pg_stat_get_live_tuples(oid)",
    "pg_stat_get_mod_since_analyze(oid)",
    "pg_stat_get_numscans(oid)",
    "pg_stat_get_tuples_deleted(oid)",
    "pg_stat_get_tuples_fetched(oid)",
    "pg_stat_get_tuples_hot_updated(oid)",
    "pg_stat_get_tuples_inserted(oid)",
    "pg_stat_get_tuples_returned(oid)",
    "pg_stat_get_tuples_updated(oid)",
    "pg_stat_get_vacuum_count(oid)",
    "pg_stat_get_xact_tuples_deleted(oid)",
    "pg_stat_get_xact_tuples_hot_updated(oid)",
    "pg_stat_get_xact_tuples_inserted(oid)",
    "pg_stat_get_xact_tuples_updated(oid)",
    "pg_stat_reset()",
    "pg_stat_reset_single_table_counters(oid)",
    "pg_stat_statements_info()",
    "pg_stat_statements_reset(oid,oid,int8)",
    "pg_statistics_obj_is_visible(oid)",
    "pg_table_is_visible(oid)",
    "pg_table_size(regclass)",
    "pg_tablespace_location(oid)",
    "pg_terminate_backend(int4,int8)",
    "pg_total_relation_size(regclass)",
    "pg_trigger_depth()",
    "pg_try_advisory_lock(int4,int4)",
    "pg_try_advisory_lock(int8)",
    "pg_try_advisory_lock_shared(int4,int4)",
    "pg_try_advisory_lock_shared(int8)",
    "pg_try_advisory_xact_lock(int4,int4)",
    "pg_try_advisory_xact_lock(int8)",
    "pg_try_advisory_xact_lock_shared(int4,int4)",
    "pg_try_advisory_xact_lock_shared(int8)",
    "pg_ts_config_is_visible(oid)",
    "pg_ts_dict_is_visible(oid)",
    "pg_ts_parser_is_visible(oid)",
    "pg_ts_template_is_visible(oid)",
    "pg_type_is_visible(oid)",
    "regclass(text)",
    "row_security_active(oid)",
    "row_security_active(text)",
    "session_user()",
    "set_config(text,text,bool)",
    "setval(regclass,int8)",
    "setval(regclass,int8,bool)",
    "shobj_description(oid,name)",
    "to_regclass(text)",
    "to_regcollation(text)",
    "to_regnamespace(text)",
    "to_regoper(text)",
    "to_regoperator(text)",
    "to_regproc(text)",
    "to_regprocedure(text)",
    "to_regrole(text)",
    "to_regtype(text)",
    "txid_current()",
    "version()",
}
