//! Do the catalogs list the functions, operators, casts, aggregates and types that PostgreSQL 15 lists?
//!
//! Scripts are compared with a private PostgreSQL 15 (a Debian package), row by row. What a cluster makes when it begins (OIDs
//! from 10,000 on) is left out.

#![allow(clippy::disallowed_methods, reason = "tests stand outside the simulation")]

#[path = "support/compared.rs"]
mod compared;
mod support;

#[test]
fn functions_are_listed_as_in_postgresql() {
    compared::compare(
        "
select oid, proname, pronamespace, proowner, prolang, procost, prorows, provariadic, prosupport from pg_proc where oid < 10000 order by oid
select oid, prokind, prosecdef, proleakproof, proisstrict, proretset, provolatile, proparallel, pronargs, pronargdefaults, prorettype from pg_proc where oid < 10000 order by oid
select oid, proargtypes, proallargtypes, proargmodes, proargnames, proconfig, proacl from pg_proc where oid < 10000 order by oid
select objoid, classoid, objsubid, privtype, initprivs from pg_init_privs where classoid = 'pg_proc'::regclass order by 1
select oid, prosrc from pg_proc where prolang <> 14 and oid < 10000 order by oid
select oid, pg_get_function_arguments(oid) from pg_proc where oid < 10000 order by oid
select oid, pg_get_function_identity_arguments(oid), pg_get_function_result(oid) from pg_proc where oid < 10000 order by oid
select count(*) from pg_proc where proname = 'lower'
select 'lower(text)'::regprocedure, proname, prosrc from pg_proc where oid = 'lower(text)'::regprocedure
select p.proname, o.oprname from pg_operator o join pg_proc p on p.oid = o.oprcode where o.oid < 10000 order by o.oid
",
    );
}

#[test]
fn other_tables_are_listed_as_in_postgresql() {
    compared::compare(
        "
select oid, oprname, oprkind, oprcanmerge, oprcanhash, oprleft, oprright, oprresult, oprcom, oprnegate, oprcode, oprrest, oprjoin from pg_operator where oid < 10000 order by oid
select castsource, casttarget, castfunc, castcontext, castmethod from pg_cast where oid < 12000 order by 1, 2
select aggfnoid, aggkind, aggnumdirectargs, aggtransfn, aggfinalfn, aggcombinefn, aggsortop, aggtranstype, agginitval from pg_aggregate order by aggfnoid::oid
",
    );
}

#[test]
fn who_may_call_what_is_told_as_in_postgresql() {
    let mut script =
        String::from("create role watcher\ncreate role plain\ngrant pg_monitor to watcher\n");
    for role in ["watcher", "plain", "postgres"] {
        script += &format!(
            "select oid from pg_proc where oid < 10000 and not has_function_privilege('{role}', oid, 'execute') order by oid\n"
        );
    }
    compared::compare(&script);
}
