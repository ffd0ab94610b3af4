-- Rows of catalogs that are the same in every database: psql -X -At -f rows.sql > rows.txt, on PostgreSQL 15.
\echo '# pg_am: oid amname amhandler amtype'
COPY (SELECT oid, amname, amhandler::oid, amtype FROM pg_catalog.pg_am x WHERE true ORDER BY 1) TO STDOUT;
\echo '# pg_cast: oid castsource casttarget castfunc castcontext castmethod'
COPY (SELECT oid, castsource, casttarget, castfunc, castcontext, castmethod FROM pg_catalog.pg_cast x WHERE true ORDER BY 1) TO STDOUT;
\echo '# pg_collation: oid collname collnamespace collowner collprovider collisdeterministic collencoding collcollate collctype colliculocale collversion'
COPY (SELECT oid, collname, collnamespace, collowner, collprovider, collisdeterministic, collencoding, collcollate, collctype, colliculocale, collversion FROM pg_catalog.pg_collation x WHERE collname IN ('default','C','POSIX','ucs_basic') ORDER BY 1) TO STDOUT;
\echo '# pg_language: oid lanname lanowner lanispl lanpltrusted lanplcallfoid laninline lanvalidator lanacl'
COPY (SELECT oid, lanname, lanowner, lanispl, lanpltrusted, lanplcallfoid, laninline, lanvalidator, NULL FROM pg_catalog.pg_language x WHERE true ORDER BY 1) TO STDOUT;
\echo '# pg_opclass: oid opcmethod opcname opcnamespace opcowner opcfamily opcintype opcdefault opckeytype'
COPY (SELECT oid, opcmethod, opcname, opcnamespace, opcowner, opcfamily, opcintype, opcdefault, opckeytype FROM pg_catalog.pg_opclass x WHERE (opcmethod IN (403, 2742) OR opcmethod = 783 AND opcname IN ('inet_ops', 'range_ops', 'multirange_ops')) AND oid < 16384 ORDER BY 1) TO STDOUT;
\echo '# pg_opfamily: oid opfmethod opfname opfnamespace opfowner'
COPY (SELECT oid, opfmethod, opfname, opfnamespace, opfowner FROM pg_catalog.pg_opfamily x WHERE (opfmethod IN (403, 2742) OR opfmethod = 783 AND opfname IN ('network_ops', 'range_ops', 'multirange_ops')) AND oid < 16384 ORDER BY 1) TO STDOUT;
\echo '# pg_range: rngtypid rngsubtype rngmultitypid rngcollation rngsubopc rngcanonical rngsubdiff'
COPY (SELECT rngtypid, rngsubtype, rngmultitypid, rngcollation, rngsubopc, rngcanonical::oid, rngsubdiff::oid FROM pg_catalog.pg_range x WHERE true ORDER BY 1) TO STDOUT;
\echo '# pg_tablespace: oid spcname spcowner spcacl spcoptions'
COPY (SELECT oid, spcname, spcowner, NULL, spcoptions FROM pg_catalog.pg_tablespace x WHERE true ORDER BY 1) TO STDOUT;
\echo '# pg_type: oid typname typnamespace typowner typlen typbyval typtype typcategory typispreferred typisdefined typdelim typrelid typsubscript typelem typarray typinput typoutput typreceive typsend typmodin typmodout typanalyze typalign typstorage typnotnull typbasetype typtypmod typndims typcollation typdefaultbin typdefault typacl'
COPY (SELECT oid, typname, typnamespace, typowner, typlen, typbyval, typtype, typcategory, typispreferred, typisdefined, typdelim, typrelid, typsubscript::oid, typelem, typarray, typinput::oid, typoutput::oid, typreceive::oid, typsend::oid, typmodin::oid, typmodout::oid, typanalyze::oid, typalign, typstorage, typnotnull, typbasetype, typtypmod, typndims, typcollation, NULL, typdefault, NULL FROM pg_catalog.pg_type x WHERE oid < 10000 AND typrelid = 0 AND NOT EXISTS (SELECT FROM pg_type e WHERE e.oid = x.typelem AND e.typrelid <> 0) ORDER BY 1) TO STDOUT;
