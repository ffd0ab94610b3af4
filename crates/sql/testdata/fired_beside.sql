CREATE TABLE par (id int PRIMARY KEY)
CREATE TABLE ch (id int PRIMARY KEY, p int REFERENCES par ON DELETE CASCADE)
CREATE TABLE ch2 (p int REFERENCES par)
CREATE TABLE w (a int)
INSERT INTO par VALUES (1), (2), (3)
INSERT INTO ch VALUES (1, 1), (2, 2)
CREATE FUNCTION again() RETURNS trigger LANGUAGE plpgsql AS $$begin delete from par where id = new.a; insert into par values (new.a); insert into ch values (10 + new.a, new.a); return null; end$$
CREATE TRIGGER t AFTER INSERT ON w FOR EACH ROW EXECUTE FUNCTION again()
INSERT INTO w VALUES (1)
SELECT * FROM ch ORDER BY id
DROP TRIGGER t ON w
INSERT INTO ch2 VALUES (3)
CREATE FUNCTION broken() RETURNS trigger LANGUAGE plpgsql AS $$begin delete from par where id = 3; delete from ch2 where p = 3; return null; end$$
CREATE TRIGGER t AFTER INSERT ON w FOR EACH ROW EXECUTE FUNCTION broken()
INSERT INTO w VALUES (2)
SELECT count(*) FROM ch2
DROP TRIGGER t ON w
CREATE FUNCTION caught() RETURNS int LANGUAGE plpgsql AS $$begin insert into ch2 values (77); return 1; exception when foreign_key_violation then return -1; end$$
INSERT INTO w SELECT caught()
SELECT a FROM w ORDER BY a
CREATE FUNCTION counted() RETURNS trigger LANGUAGE plpgsql AS $$begin delete from par where id = 2; new.a := (select count(*) from ch); return new; end$$
CREATE TRIGGER t BEFORE INSERT ON w FOR EACH ROW EXECUTE FUNCTION counted()
INSERT INTO w VALUES (0) RETURNING a
DROP TRIGGER t ON w
CREATE TABLE u (id int PRIMARY KEY, x int, upd int DEFAULT 0)
INSERT INTO u VALUES (1, 1), (2, 2)
CREATE FUNCTION stamped() RETURNS trigger LANGUAGE plpgsql AS $$begin new.upd := 99; return new; end$$
CREATE TRIGGER t BEFORE UPDATE ON u FOR EACH ROW EXECUTE FUNCTION stamped()
UPDATE u SET x = 5 WHERE id = 1 RETURNING *
UPDATE u SET x = 6 WHERE id = 1 RETURNING u, u.x
SELECT * FROM u ORDER BY id
CREATE VIEW uv AS SELECT * FROM u WHERE upd < 50 WITH CHECK OPTION
UPDATE uv SET x = 7 WHERE id = 2
SELECT * FROM u ORDER BY id
DROP TRIGGER t ON u
CREATE TABLE u2 (id int PRIMARY KEY, x int)
INSERT INTO u2 VALUES (1, 1), (2, 2)
CREATE FUNCTION others() RETURNS trigger LANGUAGE plpgsql AS $$begin if old.id = 1 then update u2 set x = x + 100 where id = 2; end if; return new; end$$
CREATE TRIGGER t BEFORE UPDATE ON u2 FOR EACH ROW EXECUTE FUNCTION others()
UPDATE u2 SET x = x + 1
SELECT id, x FROM u2 ORDER BY id
DROP TRIGGER t ON u2
CREATE FUNCTION itself() RETURNS trigger LANGUAGE plpgsql AS $$begin update u2 set x = -1 where id = old.id; return old; end$$
CREATE TRIGGER t BEFORE DELETE ON u2 FOR EACH ROW EXECUTE FUNCTION itself()
DELETE FROM u2 WHERE id = 1
SELECT id, x FROM u2 ORDER BY id
DROP TRIGGER t ON u2
CREATE TABLE d (id int PRIMARY KEY, a int)
CREATE TABLE q (a int, b int) PARTITION BY LIST (a)
CREATE TABLE q1 PARTITION OF q FOR VALUES IN (1)
CREATE TABLE q2 PARTITION OF q FOR VALUES IN (2)
CREATE FUNCTION moves() RETURNS trigger LANGUAGE plpgsql AS $$begin new.a := 2; return new; end$$
CREATE TRIGGER t BEFORE INSERT ON q FOR EACH ROW EXECUTE FUNCTION moves()
CREATE FUNCTION tried(c text) RETURNS text LANGUAGE plpgsql AS $$begin execute 'insert into q values (1, 1) ' || c; return 'done'; exception when feature_not_supported then return 'refused'; end$$
SELECT tried(''), tried('on conflict do nothing')
SELECT * FROM q
CREATE FUNCTION turned() RETURNS void LANGUAGE plpgsql SECURITY DEFINER AS $$begin set local role none; end$$
SELECT turned()
CREATE FUNCTION noted() RETURNS void LANGUAGE plpgsql SECURITY DEFINER AS $$begin perform set_config('app.user', 'bob', false); end$$
SELECT noted()
SELECT current_setting('app.user', true)
BEGIN READ ONLY
SAVEPOINT a
SET TRANSACTION READ WRITE
ROLLBACK
