CREATE EXTENSION hstore
CREATE EXTENSION citext
CREATE EXTENSION pgcrypto
CREATE EXTENSION "uuid-ossp"
CREATE EXTENSION pg_trgm
SELECT e.extname, p.proname, p.prokind, p.prosecdef, p.proleakproof, p.proisstrict, p.proretset, p.provolatile, p.proparallel, p.pronargs, p.pronargdefaults, p.prorettype::regtype, ARRAY(SELECT t.a::regtype::text FROM unnest(p.proargtypes::oid[]) WITH ORDINALITY AS t(a, n) ORDER BY n), p.proargmodes, p.proargnames FROM pg_proc p JOIN pg_depend d ON d.classid = 'pg_proc'::regclass AND d.objid = p.oid AND d.deptype = 'e' JOIN pg_extension e ON e.oid = d.refobjid WHERE e.extname <> 'plpgsql' ORDER BY e.extname, p.proname, p.pronargs, 13
SELECT e.extname, o.oprname, o.oprkind, o.oprcanmerge, o.oprcanhash, o.oprleft::regtype, o.oprright::regtype, o.oprresult::regtype, c.oprname, n.oprname, o.oprcode::oid::regproc::text FROM pg_operator o JOIN pg_depend d ON d.classid = 'pg_operator'::regclass AND d.objid = o.oid AND d.deptype = 'e' JOIN pg_extension e ON e.oid = d.refobjid LEFT JOIN pg_operator c ON c.oid = o.oprcom LEFT JOIN pg_operator n ON n.oid = o.oprnegate ORDER BY e.extname, o.oprname, 6, 7
SELECT e.extname, c.castsource::regtype, c.casttarget::regtype, c.castcontext, c.castmethod, p.proname FROM pg_cast c JOIN pg_depend d ON d.classid = 'pg_cast'::regclass AND d.objid = c.oid AND d.deptype = 'e' JOIN pg_extension e ON e.oid = d.refobjid LEFT JOIN pg_proc p ON p.oid = c.castfunc ORDER BY e.extname, c.castsource::regtype::text, c.casttarget::regtype::text
SELECT e.extname, t.typname, t.typlen, t.typbyval, t.typtype, t.typcategory, t.typispreferred, t.typdelim, t.typalign, t.typstorage, t.typelem::regtype, t.typinput::oid::regproc::text, t.typoutput::oid::regproc::text FROM pg_type t JOIN pg_depend d ON d.classid = 'pg_type'::regclass AND d.objid = t.oid AND d.deptype = 'e' JOIN pg_extension e ON e.oid = d.refobjid ORDER BY e.extname, t.typname
SELECT p.oid::regprocedure, a.aggkind, a.aggnumdirectargs, a.aggtranstype::regtype FROM pg_aggregate a JOIN pg_proc p ON p.oid = a.aggfnoid JOIN pg_depend d ON d.classid = 'pg_proc'::regclass AND d.objid = p.oid AND d.deptype = 'e' ORDER BY 1::text
SELECT c.opcname, m.amname, c.opcintype::regtype, c.opcdefault FROM pg_opclass c JOIN pg_am m ON m.oid = c.opcmethod JOIN pg_depend d ON d.classid = 'pg_opclass'::regclass AND d.objid = c.oid AND d.deptype = 'e' ORDER BY c.opcname, m.amname
SELECT 'left(text,int)'::regprocedure, 'substring(text,int)'::regprocedure, 'abs(int)'::regprocedure, 'version'::regproc, 'akeys'::regproc, 'pg_backend_pid'::regproc
SELECT 'hstore(text,text)'::regprocedure, 'citext_eq'::regproc::oid::regproc
CREATE SCHEMA far
ALTER EXTENSION hstore SET SCHEMA far
SELECT 'far.akeys'::regproc, 'far.hstore(text,text)'::regprocedure, 'far.each'::regproc
SELECT count(*), count(DISTINCT aggfnoid), min(aggfnoid::oid), sum(aggtranstype::int8), count(agginitval), min(agginitval) FROM pg_aggregate WHERE aggfnoid < 10000
