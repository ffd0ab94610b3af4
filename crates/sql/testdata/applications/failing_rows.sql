CREATE TABLE f (id int PRIMARY KEY, name varchar(80) NOT NULL, n numeric(6,2) CHECK (n > 0), at date, tags text[], ok boolean, doc jsonb)
INSERT INTO f (id, name, n) VALUES (1, NULL, 2.5)
INSERT INTO f (id, n, at, tags, ok, doc) VALUES (1, 2, '2024-02-29', '{a,"b c",NULL}', true, '{"k": 1}')
INSERT INTO f VALUES (1, 'a name', -1, NULL, '{}', false, '[1, 2]')
INSERT INTO f (id, name) VALUES (2, repeat('long ', 16)), (3, NULL)
INSERT INTO f (id, name, n) VALUES (2, repeat('grün', 18) || 'er', 0)
INSERT INTO f SELECT g, CASE WHEN g < 4 THEN 'n' || g END, g FROM generate_series(1, 5) g
INSERT INTO f VALUES (1, 'one', 1, '2024-01-01', '{x}', true, '{}'), (2, 'two', 2)
UPDATE f SET name = NULL WHERE id = 2
UPDATE f SET name = NULL WHERE id = 9
UPDATE f SET n = -n WHERE id = 1
UPDATE f SET n = -n, name = 'other'
INSERT INTO f (id, name, n) VALUES (1, 'x', 3) ON CONFLICT (id) DO UPDATE SET n = -5
INSERT INTO f (name, n) VALUES ('no key', 1)
SELECT id, name, n FROM f ORDER BY id
