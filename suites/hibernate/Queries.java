import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

import jakarta.persistence.criteria.JoinType;
import java.math.BigDecimal;
import java.time.LocalDate;
import org.hibernate.query.Order;
import org.hibernate.query.Page;
import org.hibernate.query.SelectionQuery;
import org.hibernate.query.criteria.HibernateCriteriaBuilder;
import org.hibernate.query.criteria.JpaCriteriaQuery;
import org.hibernate.query.criteria.JpaRoot;

/** Queries in Hibernate's language, by criteria and in SQL, over what {@link Check} stored. */
final class Queries {
    private Queries() {}

    static void run() {
        SELECTIONS.forEach(Queries::select);
        parameters();
        mutations();
        criteria();
        natives();
    }

    private static void select(String name, String hql) {
        Check.undone("hql " + name, s -> {
            List<Object[]> rows = s.createSelectionQuery(hql, Object[].class).getResultList();
            // The order of a union belongs to its last part.
            return name.startsWith("set") ? rows.stream().map(Checks::plain).sorted().toList() : rows;
        });
    }

    private static final Map<String, String> SELECTIONS = new LinkedHashMap<>();

    private static void hql(String name, String... texts) {
        for (int i = 0; i < texts.length; i++) {
            SELECTIONS.put(texts.length == 1 ? name : name + " " + (i + 1), texts[i]);
        }
    }

    static {
        hql("join", "select o.day, c.name, i.name, l.pieces from Purchase o join o.customer c left join o.lines l left join l.item i order by o.day, i.name",
            "select p.name, b.name from Person p left join Person b on b = p.boss and b.name > 'A' order by p.name", "select p.name, f.name from Person p join p.friends f order by 1, 2",
            "select p.name, l.n from Person p left join lateral (select count(*) as n from p.staff s) l order by 1", "select a.name, b.name from Item a cross join Tag b order by 1, 2");
        hql("group", "select e.team, count(*), sum(e.pay), avg(e.pay), min(e.name), max(e.born) from Employee e group by e.team having count(*) > 0 order by e.team",
            "select e.team, e.name, sum(e.pay) from Employee e group by rollup(e.team, e.name) order by 1 nulls last, 2 nulls last", "select count(distinct e.team), count(*) filter (where e.pay > 65) from Employee e",
            "select every(p.born > {d '1900-01-01'}), any(p.name = 'Ada') from Person p", "select listagg(p.name, ', ') within group (order by p.name desc) from Person p",
            "select percentile_cont(0.5) within group (order by e.pay), percentile_disc(0.5) within group (order by e.pay), mode() within group (order by e.team) from Employee e",
            "select stddev_pop(e.pay), var_samp(e.pay), covar_pop(e.pay, e.pay), corr(e.pay, e.pay) from Employee e where false");
        hql("where", "select p.name from Person p where p.name like 'A%' or p.name ilike 'b%' escape '!' or p.name in ('Cyd', 'x') order by 1", "select p.name from Person p where p.born between {d '1975-01-01'} and {d '1995-01-01'} and p.boss is not null order by 1",
            "select p.name from Person p where exists (from Person s where s.boss = p) or p.staff is empty and p.id > 4 order by 1", "select p.name from Person p where size(p.staff) > 1", "select p.name from Person p where (p.name, p.version) in (('Ada', 0), ('Eve', 1))",
            "select o.day from Purchase o where o.id = any (select l.order.id from Line l where l.pieces > 30) order by 1", "select p.name from Person p where p.name = all (select q.name from Person q where q.id = p.id) order by 1", "select p.name from Person p where p.id is distinct from 1 order by 1",
            "select p.name from Person p where regexp_like(p.name, '^[ab]', 'i') order by 1", "select p.name from Person p where not (p.name > 'B' and coalesce(p.boss.id, 0) = 0) order by 1", "select e.name from Employee e where e.pay > (select avg(x.pay) from Employee x) order by 1");
        hql("case", "select p.name, case when p.born < {d '1985-01-01'} then 'old' when p.boss is null then 'free' else 'young' end, nullif(p.name, 'Ada'), coalesce(p.boss.name, 'none'), ifnull(p.boss.id, 0) from Person p order by p.name",
            "select case p.name when 'Ada' then 1 else 2 end, greatest(p.id, 2), least(p.id, 2) from Person p order by p.id");
        hql("inheritance", "select type(p), p.name, treat(p as Employee).pay from Person p order by p.name", "select p.amount, type(p) from Payment p where type(p) = Card order by 1", "select s.color, type(s), s.id > 0 from Shape s order by 1, 2, s.id",
            "select p.name from Person p where treat(p as Employee).team = 'A' order by 1", "select treat(s as Circle).radius from Shape s where s.color = 'red' order by 1");
        hql("set", "select p.name from Person p where p.id < 3 union select i.name from Item i order by 1", "select p.id from Person p intersect select p.id from Employee p order by 1", "select p.id from Person p except select e.id from Employee e order by 1",
            "select p.name from Person p where p.id = 1 union all (select q.name from Person q order by q.name desc limit 2)");
        hql("with", "with young as (select p.id as id, p.name as name from Person p where p.born > {d '1985-01-01'}) select y.name from young y order by 1",
            "with tree as (select p.id as id, p.name as name, 0 as depth from Person p where p.boss is null union all select c.id as id, c.name as name, t.depth + 1 as depth from Person c join tree t on c.boss.id = t.id) search depth first by name set place select t.name, t.depth from tree t order by t.place",
            "with tree as (select p.id as id, p.boss.id as up from Person p where p.id = 2 union all select c.id as id, c.boss.id as up from Person c join tree t on c.id = t.up) cycle id set looped to true default false select t.id, t.looped from tree t order by 1",
            "with m as materialized (select count(*) as n from Person p) select x.n from m x");
        hql("window", "select e.name, row_number() over (order by e.pay), rank() over (partition by e.team order by e.pay desc), sum(e.pay) over (order by e.name rows between 1 preceding and current row), lag(e.name) over (order by e.name), ntile(2) over (order by e.name) from Employee e order by 1",
            "select e.name, first_value(e.name) over (order by e.pay groups between unbounded preceding and current row exclude ties), dense_rank() over (order by e.pay), cume_dist() over (order by e.pay) from Employee e order by 1");
        hql("limit", "select p.name from Person p order by p.name limit 2 offset 1", "select p.name from Person p order by p.name fetch first 2 rows only", "select e.team from Employee e order by e.team fetch first 1 rows with ties", "select p.name from Person p order by p.name desc nulls first offset 3 rows",
            "select p.name from Person p where p.id in (select q.id from Person q order by q.name limit 2) order by 1");
        hql("text", "select upper(p.name), lower(p.name), length(p.name), concat(p.name, '-', p.id), p.name || '!', substring(p.name, 2, 1), left(p.name, 1), right(p.name, 1), locate('a', p.name), position('d' in p.name), trim(both 'A' from p.name), lpad(p.name, 5, '*'), pad(p.name with 5 trailing '.'), replace(p.name, 'a', 'o'), repeat(p.name, 2), overlay(p.name placing 'xx' from 2 for 1), character_length(p.name), octet_length(p.name), ascii(p.name), chr(65), bit_length(p.name), str(p.id), cast(p.id as String) from Person p order by 1");
        hql("numbers", "select abs(-e.pay), sign(-e.pay), floor(e.pay), ceiling(e.pay), round(e.pay, 1), truncate(e.pay, 1), mod(e.id, 2), e.id % 2, power(e.pay, 2), sqrt(e.pay), exp(0), ln(1), log10(100), e.pay / 3, e.pay * e.pay - 1, 7 / 2, 7 / 2.0, pi, sin(0), atan2(0, 1), degrees(0), bitand(6, 3), bitor(6, 3), bitxor(6, 3) from Employee e order by e.id",
            "select cast(e.pay as Integer), cast(e.pay as String), cast('12' as Long), cast('1.5' as Double), cast('2024-01-02' as LocalDate), cast('true' as Boolean), cast(1 as Boolean) from Employee e order by e.id");
        hql("moments", "select year(o.day), month(o.day), day(o.day), extract(day of week from o.day), extract(week from o.day), extract(quarter from o.day), extract(day of year from o.day), extract(epoch from o.day), format(o.day as 'yyyy-MM-dd EEE'), o.day + 3 day, o.day - 1 month, (o.day - {d '2023-12-01'}) by day, truncate(o.day, month), o.day > local date from Purchase o order by o.day",
            "select k.instant + 90 minute, (k.instant - {ts '2024-01-01 00:00:00'}) by hour, extract(hour from k.moment), extract(second from k.moment), truncate(k.moment, hour), extract(date from k.moment), extract(time from k.moment), k.clock, k.span by second, k.instant + k.span from Kinds k where k.whole < 4 order by k.id",
            "select local datetime > {ts '2024-01-01 00:00:00'}, offset datetime is not null, instant is not null, local time is not null, current_date is not null, current_timestamp is not null");
        hql("arrays", "select array_length(k.ints), k.ints[1], array_contains(k.ints, 1), array_position(k.words, 'b c'), array_append(k.ints, 9), array_prepend(0, k.ints), array_concat(k.ints, k.ints), array_slice(k.ints, 1, 2), array_remove(k.ints, 1), array_replace(k.ints, 1, 5), array_to_string(k.words, ';', 'null'), array_trim(k.ints, 1), array_set(k.ints, 2, 8), array_fill(1, 3), array_overlaps(k.ints, array(1, 9)), array_includes(k.ints, array(1)), array_intersects(k.ints, array(7)), array_positions(k.ints, -3), k.ints is not null from Kinds k where k.id > 10 and k.whole < 5 order by k.id",
            "select array_agg(e.name) within group (order by e.name) from Employee e", "select k.id, u from Kinds k join lateral unnest(k.longs) u where k.id > 10 order by 1, 2", "select g from generate_series(1, 10, 3) g order by 1", "select k.id from Kinds k where array_contains(k.longs, cast(5 as Long))",
            "select g from generate_series({d '2024-01-01'}, {d '2024-03-01'}, 31 day) g");
        hql("json", "select json_value(k.json, '$.n' returning Integer), json_query(k.json, '$.list'), json_exists(k.json, '$.deep.a'), json_value(k.json, '$.list[2]') from Kinds k where k.id > 10 and k.whole is not null order by k.id",
            "select json_object('a': k.id, 'b': k.name null on null), json_array(k.id, k.name, null), json_set(k.json, '$.n', 5), json_remove(k.json, '$.list'), json_insert(k.json, '$.new', 1), json_replace(k.json, '$.n', 2), json_mergepatch(k.json, '{\"n\": null}') from Kinds k where k.id > 10 and k.whole is not null order by k.id",
            "select json_arrayagg(e.name order by e.name), json_objectagg(e.name: e.pay) from Employee e", "select k.sheet.title, k.sheet.code from Kinds k where k.sheet.format is not null order by k.id", "select k.id from Kinds k where k.sheet.title = 'J' order by 1");
        hql("json table", "select k.id, t.nr, t.v from Kinds k join lateral json_table(k.json, '$.list[*]' columns(nr for ordinality, v String path '$')) t where k.id in (12, 13) order by 1, 2");
        hql("xml", "select xmlelement(name a, xmlattributes(k.id as b), k.name) from Kinds k where k.id = 12", "select xmlagg(xmlelement(name n, e.name) order by e.name) from Employee e");
        hql("struct", "select k.pair.first, k.pair.second from Typed k where k.pair.first > 1 order by 1", "select k.id from Typed k where k.pair.second like 'it%' order by 1");
        hql("enums", "select k.mood, k.named, count(*) from Typed k group by k.mood, k.named order by k.named nulls first", "select k.id from Typed k where k.named = two and k.mood = HAPPY order by 1", "select ordinal(k.mood), string(k.size) from Kinds k where k.id = 11");
        hql("collections", "select k.id, t from Kinds k join k.tags t order by 1, 2", "select index(p), p.street from Kinds k join k.places p where k.id = 12 order by 1", "select key(p), value(p) from Kinds k join k.prices p where k.id = 12 order by 1", "select k.id from Kinds k where 't1' member of k.tags order by 1",
            "select k.id, size(k.places), (select max(index(p)) from k.places p) from Kinds k order by 1", "select k.prices['net'] from Kinds k where k.id = 12", "select k.places[0].street from Kinds k where k.id = 12");
        hql("identity", "select id(p), version(p) from Person p order by 1", "select l.id.order, l.pieces from Line l where l.order.day = {d '2024-01-02'} order by 2");
        hql("sql", "select sql('? || ?', p.name, 'x'), function('md5', p.name) from Person p order by 1");
    }

    private static void parameters() {
        Check.undone("parameters", s -> s.createSelectionQuery("select p.name from Person p where p.name in :names or p.born > :day or p.boss = :boss order by 1", String.class)
            .setParameterList("names", List.of("Ada", "Dan")).setParameter("day", LocalDate.of(1999, 1, 1)).setParameter("boss", s.getReference(Person.class, 1)).getResultList());
        Check.undone("a null parameter", s -> s.createSelectionQuery("select p.name from Person p where :n is null or p.name = :n order by 1", String.class).setParameter("n", null, String.class).getResultList());
        Check.undone("named query", s -> s.createNamedSelectionQuery("by name", Person.class).setParameter("name", "Bea").getSingleResult());
        Check.undone("many parameters", s -> s.createSelectionQuery("select count(*) from Person p where p.id in :ids", Long.class).setParameterList("ids", java.util.stream.IntStream.range(0, 3000).boxed().toList()).getSingleResult());
        Check.undone("pages", s -> {
            List<Object> found = new ArrayList<>();
            SelectionQuery<String> names = s.createSelectionQuery("select p.name from Person p order by p.name", String.class);
            for (int n = 0; n < 3; n++) {
                found.add(names.setPage(Page.page(2, n)).getResultList());
            }
            found.add(names.setFirstResult(1).setMaxResults(3).getResultList());
            found.add(names.getResultCount());
            return found;
        });
        Check.undone("pages by key", s -> {
            var query = s.createSelectionQuery("from Person", Person.class);
            var first = query.getKeyedResultList(Page.first(2).keyedBy(Order.asc(Person.class, "name")));
            var second = query.getKeyedResultList(first.getNextPage());
            return List.of(first.getResultList(), second.getResultList());
        });
        Check.undone("tuples", s -> s.createSelectionQuery("select p.name as n, p.id as i from Person p order by p.id", jakarta.persistence.Tuple.class).getResultList().stream().map(t -> t.get("n") + "=" + t.get("i")).toList());
    }

    private static void mutations() {
        String[][] all = {
            {"update", "update Purchase o set o.done = true, o.day = o.day + 1 day where o.day < {d '2024-01-03'}", "select o.day, o.done from Purchase o order by 1, 2"},
            {"versioned update", "update versioned Purchase o set o.done = false where o.id > 0", "select o.version from Purchase o order by o.id"},
            {"update by a subquery", "update Item i set i.price = (select max(x.price) from Item x) where i.name in (select y.name from Item y where y.price < 2)", "select i.name, i.price from Item i order by 1"},
            {"update of a joined class", "update Employee e set e.pay = e.pay + 1, e.born = {d '1991-01-01'} where e.team = 'A'", "select e.name, e.pay, e.born from Employee e order by 1"},
            {"delete", "delete from Line l where l.pieces > 30", "select count(*) from Line l"},
            {"delete of a joined class", "delete from Employee e where e.name = 'Cyd' and not exists (from Person p where p.boss = e)", "select p.name from Person p order by 1"},
            {"delete of a table per class", "delete from Shape s where s.color = 'red'", "select count(*) from Shape s"},
            {"insert select", "insert into Rate (currency, day, value) select 'NOK', r.day, r.value * 2 from Rate r", "select r.currency, r.value from Rate r order by 1, 2"},
            {"insert values", "insert into Rate (currency, day, value) values ('SEK', {d '2024-01-01'}, 1), ('DKK', {d '2024-01-01'}, 2)", "select r.currency from Rate r order by 1"},
            {"insert of a joined class", "insert into Employee (name, pay, version) values ('Fay', 5, 0), ('Guy', 6, 0)", "select e.name, e.pay from Employee e order by 1"},
            {"insert with a sequence", "insert into Circle (color, radius) select 'copy', c.radius from Circle c", "select c.color, c.radius from Circle c order by 1, 2"},
            {"on conflict do nothing", "insert into Rate (currency, day, value) values ('EUR', {d '2024-01-01'}, 5) on conflict do nothing", "select r.value from Rate r order by r.day"},
            {"on conflict do update", "insert into Rate (currency, day, value) values ('EUR', {d '2024-01-01'}, 5), ('CHF', {d '2024-01-01'}, 6) on conflict (currency, day) do update set value = excluded.value + 1 where value < 3", "select r.value from Rate r order by r.currency, r.day"},
        };
        for (String[] each : all) {
            Check.undone("mutation " + each[0], s -> {
                int changed = s.createMutationQuery(each[1]).executeUpdate();
                return List.of(changed, s.createSelectionQuery(each[2], Object[].class).getResultList());
            });
        }
    }

    private static void criteria() {
        HibernateCriteriaBuilder b = Check.factory.getCriteriaBuilder();
        Check.undone("criteria join", s -> {
            JpaCriteriaQuery<Object[]> q = b.createQuery(Object[].class);
            JpaRoot<Purchase> o = q.from(Purchase.class);
            var l = o.join("lines", JoinType.LEFT);
            q.multiselect(o.get("day"), b.count(l), b.sum(l.<Integer>get("pieces")));
            q.where(b.and(b.like(o.join("customer").<String>get("name"), "D%"), b.isFalse(o.<Boolean>get("done"))));
            q.groupBy(o.get("day")).having(b.gt(b.count(l), 0)).orderBy(b.desc(o.get("day")));
            return s.createSelectionQuery(q).getResultList();
        });
        Check.undone("criteria subquery", s -> {
            JpaCriteriaQuery<String> q = b.createQuery(String.class);
            JpaRoot<Person> p = q.from(Person.class);
            var sub = q.subquery(Integer.class);
            var e = sub.from(Employee.class);
            sub.select(e.get("id")).where(b.greaterThan(e.<BigDecimal>get("pay"), new BigDecimal("65")));
            q.select(p.get("name")).where(b.or(p.get("id").in(sub), b.equal(b.lower(p.get("name")), "eve"))).orderBy(b.asc(p.get("name")));
            return s.createSelectionQuery(q).getResultList();
        });
        Check.undone("criteria update", s -> {
            var u = b.createCriteriaUpdate(Item.class);
            var i = u.getRoot();
            u.set(i.<BigDecimal>get("price"), b.prod(i.<BigDecimal>get("price"), new BigDecimal("2")));
            u.where(b.between(i.<String>get("name"), "item1", "item2"));
            return s.createMutationQuery(u).executeUpdate();
        });
        Check.undone("criteria delete", s -> {
            var d = b.createCriteriaDelete(Rate.class);
            d.where(b.lessThan(d.getRoot().<LocalDate>get("day"), LocalDate.of(2024, 1, 3)));
            return s.createMutationQuery(d).executeUpdate();
        });
        Check.undone("criteria window", s -> {
            JpaCriteriaQuery<Object[]> q = b.createQuery(Object[].class);
            JpaRoot<Employee> e = q.from(Employee.class);
            var window = b.createWindow().partitionBy(e.get("team")).orderBy(b.desc(e.get("pay")));
            q.multiselect(e.get("name"), b.rowNumber(window), b.sum(e.<BigDecimal>get("pay"), window)).orderBy(b.asc(e.get("name")));
            return s.createSelectionQuery(q).getResultList();
        });
    }

    private static void natives() {
        Check.undone("native entities", s -> s.createNativeQuery("select * from rate order by day, currency", Rate.class).getResultList().stream().map(r -> r.currency + r.value).toList());
        Check.undone("native scalars", s -> s.createNativeQuery("select 1, 2::int8, 'x'::varchar, 1.5::numeric, now() is not null, '2024-01-01'::date, '{1,2}'::int[], '00000000-0000-0000-0000-000000000001'::uuid, true, 'a'::char(3), 0.5::real, '\\x00'::bytea, '{\"a\":1}'::jsonb", Object[].class).getSingleResult());
        Check.undone("native parameters", s -> s.createNativeQuery("select name from person where name like :like and id < :id order by 1 limit :many", String.class).setParameter("like", "%a%").setParameter("id", 100).setParameter("many", 2).getResultList());
        Check.undone("function", s -> {
            s.createNativeMutationQuery("create function double_of(n int) returns int language sql as 'select n * 2'").executeUpdate();
            return List.of(s.createSelectionQuery("select function('double_of', p.id) from Person p order by p.id", Object[].class).getResultList().size(), s.doReturningWork(c -> {
                try (var call = c.prepareCall("{? = call double_of(?)}")) {
                    call.registerOutParameter(1, java.sql.Types.INTEGER);
                    call.setInt(2, 21);
                    call.execute();
                    return call.getInt(1);
                }
            }));
        });
        Check.undone("procedure", s -> {
            s.createNativeMutationQuery("create procedure note_it(who int, what text) language sql as 'insert into other.note (person_id, body) values (who, what)'").executeUpdate();
            var call = s.createStoredProcedureQuery("note_it");
            call.registerStoredProcedureParameter(1, Integer.class, jakarta.persistence.ParameterMode.IN).registerStoredProcedureParameter(2, String.class, jakarta.persistence.ParameterMode.IN);
            call.setParameter(1, 1).setParameter(2, "called").execute();
            return s.createNativeQuery("select body from other.note order by id", String.class).getResultList();
        });
    }
}
