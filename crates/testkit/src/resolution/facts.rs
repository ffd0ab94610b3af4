//! Which rows of PostgreSQL's catalogs are the facts that resolution follows?
//!
//! Each file has a query whose rows, values separated by tabs, are its lines. They are numbers and names, no
//! written texts: no descriptions, no bodies of functions in SQL. Rows whose OIDs are given while a PostgreSQL is
//! built or a cluster is made (from 10,000 on: the information schema, rows of system tables as types) are left
//! out, except casts, which others name by their types.

use crate::postgres::Postgres;

/// Names of files and their queries.
pub const FILES: [(&str, &str); 6] = [
    (
        "pg_type",
        "select oid, typname, typlen, typbyval, typtype, typcategory, typispreferred, typisdefined, typdelim, \
         typrelid, typsubscript::oid, typelem, typarray, typinput::oid, typoutput::oid, typreceive::oid, \
         typsend::oid, typmodin::oid, typmodout::oid, typanalyze::oid, typalign, typstorage, typnotnull, \
         typbasetype, typtypmod, typndims, typcollation from pg_type where oid < 10000 order by oid",
    ),
    (
        "pg_range",
        "select rngtypid, rngsubtype, rngmultitypid, rngcollation, rngsubopc, rngcanonical::oid, \
         rngsubdiff::oid from pg_range order by rngtypid",
    ),
    (
        "pg_operator",
        "select oid, oprname, oprkind, oprcanmerge, oprcanhash, oprleft, oprright, oprresult, oprcom, oprnegate, \
         oprcode::oid, oprrest::oid, oprjoin::oid from pg_operator where oid < 10000 order by oid",
    ),
    (
        "pg_proc",
        "select oid, proname, prolang, procost, prorows, provariadic, prosupport::oid, prokind, prosecdef, \
         proleakproof, proisstrict, proretset, provolatile, proparallel, pronargs, pronargdefaults, prorettype, \
         proargtypes, proallargtypes, proargmodes, proargnames, pg_get_expr(proargdefaults, 0), \
         case when prolang in (12, 13) then prosrc end, proacl from pg_proc where oid < 10000 order by oid",
    ),
    (
        "pg_cast",
        "select castsource, casttarget, castfunc, castcontext, castmethod, oid from pg_cast \
         where oid < 12000 order by 1, 2",
    ),
    (
        "pg_aggregate",
        "select aggfnoid::oid, aggkind, aggnumdirectargs, aggtransfn::oid, aggfinalfn::oid, aggcombinefn::oid, \
         aggserialfn::oid, aggdeserialfn::oid, aggmtransfn::oid, aggminvtransfn::oid, aggmfinalfn::oid, \
         aggfinalextra, aggmfinalextra, aggfinalmodify, aggmfinalmodify, aggsortop, aggtranstype, aggtransspace, \
         aggmtranstype, aggmtransspace, agginitval, aggminitval from pg_aggregate \
         where aggfnoid::oid < 10000 order by 1",
    ),
];

/// The text of a file: lines of values with tabs between, an absent value is `\N`.
///
/// # Panics
/// The query fails.
pub fn text(postgres: &Postgres, query: &str) -> String {
    let mut psql = postgres.psql();
    psql.args([
        "-q",
        "-A",
        "-t",
        "-F",
        "\t",
        "-P",
        "null=\\N",
        "-v",
        "ON_ERROR_STOP=1",
        "-c",
        query,
    ]);
    let output = psql.output().expect("psql runs");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).expect("PostgreSQL sends UTF-8")
}

/// Names of all operators.
pub const OPERATORS: &str =
    "select distinct oprname collate \"C\" from pg_operator where oid < 10000 order by 1";

/// Names of functions and types, each with the numbers of arguments that it is asked with. Functions that want
/// what SQL cannot give (internal) are left out. Three arguments, where several functions could be meant.
pub const FUNCTIONS: &str = "with f as (select proname, pronargs - pronargdefaults low, \
     case when provariadic <> 0 then 9 else pronargs end high, 2281 = any(proargtypes) hidden, \
     (proargtypes::oid[] && array[2283, 2277, 2776, 3500, 3831, 4537, 5077, 5078, 5079, 5080, 4538]::oid[])::int poly \
     from pg_proc where oid < 10000), \
   g as (select proname, n, count(*) c, max(poly) p from f, generate_series(0, 3) n \
     where n between low and high and not hidden group by 1, 2 \
     having n < 3 or count(*) > 1 or max(poly) = 1 \
     union select typname, 1, 1, 0 from pg_type where oid < 10000) \
   select proname collate \"C\", string_agg(distinct n::text, ',') from g group by 1 order by 1";

/// Functions with defaults or a variadic parameter, their parameters' names behind them and whether they are
/// variadic.
pub const PARAMETERS: &str = "select distinct proname collate \"C\", provariadic <> 0, \
   array_to_string(proargnames[1:pronargs], ',') from pg_proc where oid < 10000 \
   and (pronargdefaults > 0 and proargnames is not null or provariadic <> 0 and prokind = 'f') order by 1, 2, 3";

/// Names, whether variadic, and parameters, from the rows of [`PARAMETERS`].
///
/// # Panics
/// They are none.
pub fn parameter_names(rows: &str) -> Vec<(String, bool, Vec<String>)> {
    let row = |line: &str| {
        let values: Vec<&str> = line.split('\t').collect();
        let names = values[2].split(',').filter(|name| !matches!(*name, "" | "\\N"));
        (values[0].to_owned(), values[1] == "t", names.map(str::to_owned).collect())
    };
    rows.lines().map(row).collect()
}

/// Names with numbers of arguments, from the rows of [`FUNCTIONS`].
///
/// # Panics
/// They are none.
pub fn function_names(rows: &str) -> Vec<(String, Vec<usize>)> {
    let row = |line: &str| {
        let (name, numbers) = line.split_once('\t').expect("two values");
        (name.to_owned(), numbers.split(',').map(|n| n.parse().expect("a number")).collect())
    };
    rows.lines().map(row).collect()
}
