CREATE EXTENSION pgcrypto
CREATE EXTENSION "uuid-ossp"
SELECT digest('abc', 'md5'), digest('abc', 'SHA1'), digest('abc', 'sha224'), digest('abc'::bytea, 'sha256')
SELECT digest('abc', 'sha384'), digest('', 'sha512'), encode(digest('é', 'sha1'), 'hex')
SELECT digest('a', 'sha-256'), digest('a', 'SHA-1'), digest('a', 'sha2-512')
SELECT digest('a', 'foo')
SELECT digest('a', NULL), digest(NULL::text, 'md5')
SELECT hmac('data', 'key', 'md5'), hmac('data', 'key', 'sha1'), hmac('data', repeat('k', 200), 'sha256'), hmac('data'::bytea, 'key'::bytea, 'sha512'), hmac('', '', 'sha384')
SELECT hmac('data', 'key', 'nosuch')
SELECT length(gen_random_bytes(1)), length(gen_random_bytes(33)), length(gen_random_bytes(1024)), gen_random_bytes(16) = gen_random_bytes(16)
SELECT gen_random_bytes(0)
SELECT gen_random_bytes(1025)
SELECT length(gen_random_uuid()::text), substr(gen_random_uuid()::text, 15, 1), gen_random_uuid() = gen_random_uuid(), substr(public.gen_random_uuid()::text, 15, 1)
SELECT uuid_nil(), uuid_ns_dns(), uuid_ns_url(), uuid_ns_oid(), uuid_ns_x500()
SELECT uuid_generate_v3(uuid_ns_url(), 'http://www.postgresql.org'), uuid_generate_v5(uuid_ns_dns(), 'example.org'), uuid_generate_v5(uuid_nil(), '')
SELECT substr(uuid_generate_v1()::text, 15, 1), substr(uuid_generate_v1mc()::text, 15, 1), substr(uuid_generate_v4()::text, 15, 1), uuid_generate_v1() = uuid_generate_v1(), uuid_generate_v4() = uuid_generate_v4()
SELECT substr(uuid_generate_v1()::text, 16, 3) = substr(uuid_generate_v1mc()::text, 16, 3)
CREATE TABLE t (id uuid PRIMARY KEY DEFAULT uuid_generate_v4(), n int)
INSERT INTO t (n) SELECT * FROM generate_series(1, 10)
SELECT count(DISTINCT id) FROM t
SELECT pg_get_expr(adbin, adrelid) FROM pg_attrdef WHERE adrelid = 't'::regclass
DROP EXTENSION "uuid-ossp"
DROP EXTENSION "uuid-ossp" CASCADE
INSERT INTO t (n) VALUES (1)
