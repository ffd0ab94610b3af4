SELECT rngtypid::regtype, rngsubtype::regtype, rngmultitypid::regtype, rngcollation, rngsubopc, rngcanonical, rngsubdiff FROM pg_range ORDER BY rngtypid
SELECT typname, typtype, typcategory, typlen, typarray::regtype, typinput, typsend FROM pg_type WHERE typtype IN ('r', 'm') ORDER BY typname
SELECT t.typname, t.oid, t.typarray, t.oid::regtype::text AS regtype, r.rngsubtype AS subtype_oid FROM pg_type t JOIN pg_range r ON t.oid = r.rngtypid WHERE t.oid = 'int4range'::regtype
SELECT t.typname, t.oid, t.typarray, t.oid::regtype::text AS regtype, r.rngtypid AS range_oid, r.rngsubtype AS subtype_oid FROM pg_type t JOIN pg_range r ON t.oid = r.rngmultitypid WHERE t.oid = 'int4multirange'::regtype
SELECT rngtypid, pg_range.rngsubtype, pg_type.typarray FROM pg_range JOIN pg_type ON pg_type.oid = rngtypid ORDER BY 1
SELECT format_type(3904, -1), format_type(3905, -1), format_type(4451, -1), 'int4range[]'::regtype, to_regtype('nummultirange')
SELECT opcname FROM pg_opclass WHERE opcintype IN (3831, 4537) AND opcmethod = 403 ORDER BY opcname, opcmethod
CREATE TYPE floatrange AS RANGE (subtype = float8)
