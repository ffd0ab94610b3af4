import jakarta.persistence.LockModeType;
import jakarta.persistence.PersistenceConfiguration;
import java.math.BigDecimal;
import java.sql.Connection;
import java.sql.DriverManager;
import java.sql.ResultSet;
import java.sql.Statement;
import java.time.LocalDate;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import java.util.function.Function;
import org.hibernate.Hibernate;
import org.hibernate.Session;
import org.hibernate.SessionFactory;
import org.hibernate.StatelessSession;
import org.hibernate.jpa.HibernatePersistenceConfiguration;

/** Hibernate: schema actions, values of all types, units of work, locks, batches; queries are in {@link Queries}. */
public final class Check {
    private Check() {}

    static final String URL = "jdbc:postgresql://" + System.getenv("PGHOST") + ":" + System.getenv("PGPORT") + "/" + System.getenv("PGDATABASE");

    static SessionFactory factory(String action, Map<String, ?> more, Class<?>... entities) {
        PersistenceConfiguration configuration = new HibernatePersistenceConfiguration("check")
            .managedClasses(entities)
            .property("jakarta.persistence.jdbc.url", URL)
            .property("jakarta.persistence.jdbc.user", System.getenv("PGUSER"))
            .property("hibernate.hbm2ddl.auto", action)
            .property("jakarta.persistence.create-database-schemas", "true")
            .property("hibernate.hbm2ddl.halt_on_error", "true")
            .property("hibernate.jdbc.batch_size", "20")
            .property("hibernate.order_inserts", "true")
            .property("hibernate.order_updates", "true")
            .property("hibernate.jdbc.time_zone", "UTC")
            .property("hibernate.query.hql.json_functions_enabled", "true")
            .property("hibernate.query.hql.xml_functions_enabled", "true")
            .property("hibernate.hikari.maximumPoolSize", "4")
            .property("hibernate.hikari.minimumIdle", "1");
        more.forEach(configuration::property);
        return configuration.createEntityManagerFactory().unwrap(SessionFactory.class);
    }

    static SessionFactory factory;

    /** A check in a session and a transaction of its own, which is kept. */
    static void kept(String name, Function<Session, ?> work) {
        Checks.check(name, () -> factory.fromTransaction(work));
    }

    /** As above, but undone. */
    static void undone(String name, Work work) {
        Checks.check(name, () -> {
            try (Session session = factory.openSession()) {
                session.beginTransaction();
                Object found = work.run(session);
                session.flush();
                session.getTransaction().rollback();
                return found;
            }
        });
    }

    interface Work {
        Object run(Session session) throws Exception;
    }

    public static void main(String[] arguments) throws Exception {
        schema();
        kinds();
        people();
        Queries.run();
        locks();
        batches();
        errors();
        Checks.check("drop", () -> {
            factory.getSchemaManager().dropMappedObjects(true);
            return rows("select relname, relkind from pg_class where relnamespace in ('public'::regnamespace) order by 1");
        });
        factory.close();
    }

    // -- the schema

    static void schema() {
        Checks.check("first update", () -> boot("update"));
        Checks.check("columns", () -> rows("select table_schema, table_name, column_name, data_type, udt_name, is_nullable, column_default, character_maximum_length, numeric_precision, numeric_scale,"
            + " datetime_precision, is_identity, is_generated, generation_expression from information_schema.columns where table_schema in ('public', 'other') order by 1, 2, 3"));
        Checks.check("constraints", () -> rows("select conrelid::regclass::text, conname, contype, pg_get_constraintdef(oid) from pg_constraint where connamespace in ('public'::regnamespace, 'other'::regnamespace) order by 1, 2"));
        Checks.check("indexes", () -> rows("select tablename, indexname, indexdef from pg_indexes where schemaname in ('public', 'other') order by 1, 2"));
        Checks.check("sequences", () -> rows("select sequencename, start_value, increment_by, data_type from pg_sequences where schemaname in ('public', 'other') order by 1"));
        Checks.check("views", () -> rows("select table_name, is_updatable from information_schema.views where table_schema = 'public'"));
        Checks.check("validate", () -> boot("validate"));
        Checks.check("update again", () -> boot("update"));
        Checks.check("validate again", () -> boot("validate"));
        Checks.check("update of an older schema", () -> {
            run("alter table kinds drop column text; alter table orders drop column updated; drop table passport; drop index kinds_day; alter table friends drop constraint " + rows("select conname from pg_constraint where conrelid = 'friends'::regclass and contype = 'f' order by 1").get(0));
            return boot("update");
        });
        Checks.check("validate the updated", () -> boot("validate"));
        Checks.check("error of validate", () -> {
            run("alter table payment rename column amount to price");
            return boot("validate");
        });
        Checks.check("rename back", () -> run("alter table payment rename column price to amount"));
        for (Class<?> entity : List.of(Typed.class, Letter.class, Large.class)) {
            Checks.check("create " + entity.getSimpleName(), () -> {
                // Without a pool, which would close a connection at the first 0A000; Hibernate itself goes on past a statement that fails.
                String single = "org.hibernate.engine.jdbc.connections.internal.DriverManagerConnectionProvider";
                factory("create", Map.of("hibernate.hbm2ddl.halt_on_error", "false", "hibernate.connection.provider_class", single), entity).close();
                return rows("select attname, format_type(atttypid, atttypmod) from pg_attribute where attrelid = '" + entity.getSimpleName() + "'::regclass and attnum > 0 order by 1");
            });
        }
        Checks.check("created types", () -> rows("select typname, typtype, array(select enumlabel from pg_enum e where e.enumtypid = t.oid order by enumsortorder) from pg_type t where typtype in ('c', 'e') and typname in ('named', 'mood', 'pair_type') order by 1"));
        Checks.check("created casts", () -> rows("select castsource::regtype, casttarget::regtype, castcontext, castmethod from pg_cast where oid >= 16384 order by 1, 2"));
        List<Class<?>> all = new ArrayList<>(List.of(Shop.ENTITIES));
        all.addAll(List.of(Typed.class, Letter.class, Large.class));
        factory = factory("none", Map.of(), all.toArray(Class<?>[]::new));
    }

    static String boot(String action) {
        factory(action, Map.of(), Shop.ENTITIES).close();
        return "done";
    }

    static List<String> rows(String sql) throws Exception {
        try (Connection c = DriverManager.getConnection(URL, System.getenv("PGUSER"), null); Statement s = c.createStatement(); ResultSet r = s.executeQuery(sql)) {
            List<String> found = new ArrayList<>();
            while (r.next()) {
                List<String> row = new ArrayList<>();
                for (int i = 1; i <= r.getMetaData().getColumnCount(); i++) {
                    row.add(String.valueOf(r.getString(i)));
                }
                found.add(String.join(" ", row));
            }
            return found;
        }
    }

    static Object run(String sql) throws Exception {
        try (Connection c = DriverManager.getConnection(URL, System.getenv("PGUSER"), null); Statement s = c.createStatement()) {
            s.execute(sql);
            return "done";
        }
    }

    // -- values

    static void kinds() throws Exception {
        kept("persist kinds", s -> {
            try {
                for (int n = 1; n <= 6; n++) {
                    s.persist(Kinds.full(n));
                }
                Kinds empty = new Kinds();
                s.persist(empty);
                s.flush();
                return List.of(empty.id, String.valueOf(empty.twice), empty.made != null);
            } catch (Exception trouble) {
                throw new IllegalStateException(trouble);
            }
        });
        Checks.check("stored", () -> rows("select to_jsonb(k) - 'made' from kinds k order by id"));
        for (var field : Kinds.class.getDeclaredFields()) {
            if (!field.getName().equals("made")) {
                undone("value " + field.getName(), s -> {
                    List<Object> found = new ArrayList<>();
                    for (Kinds each : s.createSelectionQuery("from Kinds where id < 13 or whole is null order by id", Kinds.class).getResultList()) {
                        Hibernate.initialize(field.get(each));
                        found.add(field.get(each));
                    }
                    return found;
                });
                if (field.getName().equals("sheet") || field.getName().equals("prices")) {
                    continue;
                }
                undone("equal " + field.getName(), s -> {
                    Kinds first = s.find(Kinds.class, 10L);
                    Object value = field.get(first);
                    if (value instanceof java.util.Collection<?> many && !field.isAnnotationPresent(org.hibernate.annotations.JdbcTypeCode.class) && field.isAnnotationPresent(jakarta.persistence.ElementCollection.class)) {
                        return s.createSelectionQuery("select k.id from Kinds k where :v member of k." + field.getName() + " order by 1", Long.class).setParameter("v", many.iterator().next()).getResultList();
                    }
                    return s.createSelectionQuery("select k.id from Kinds k where k." + field.getName() + " = :v order by 1", Long.class).setParameter("v", value).getResultList();
                });
            }
        }
        kept("change all", s -> {
            Kinds k = s.find(Kinds.class, 10L);
            k.whole = 77;
            k.json.put("more", List.of());
            k.words = new String[0];
            k.documents.remove(0);
            k.tags.remove("all");
            k.places.add(1, new Kinds.Place("Between", null, null));
            k.prices.put("net", new BigDecimal("9.00"));
            s.flush();
            return List.of(k.version, k.twice, k.tags, k.places);
        });
        kept("what changed", s -> {
            Kinds k = s.find(Kinds.class, 10L);
            return Checks.plain(List.of(k.whole, k.twice, k.next, k.json, k.words, k.documents, k.tags, k.places, k.prices));
        });
        kept("persist typed", s -> {
            for (int n = 1; n < 4; n++) {
                Typed typed = new Typed();
                typed.named = n % 2 == 0 ? Typed.Named.two : Typed.Named.one;
                typed.mood = Kinds.Mood.HAPPY;
                typed.pair = n == 3 ? null : new Typed.Pair(n, "it's \"q\", \\ " + n);
                typed.pairs = new Typed.Pair[] {new Typed.Pair(n, null), null};
                s.persist(typed);
            }
            return "done";
        });
        kept("typed", s -> s.createSelectionQuery("from Typed order by id", Typed.class).getResultStream().map(t -> java.util.Arrays.asList(t.named, t.mood, t.pair, t.pairs)).toList());
        kept("persist a letter", s -> {
            Letter letter = new Letter();
            letter.id = 1L;
            letter.body = "<a><b>1</b></a>";
            s.persist(letter);
            return "done";
        });
        kept("letter", s -> s.find(Letter.class, 1L).body);
        kept("persist large objects", s -> {
            Large large = new Large();
            large.id = 1L;
            large.text = "x".repeat(5000);
            large.bytes = new byte[70_000];
            s.persist(large);
            return "done";
        });
        kept("large objects", s -> {
            Large large = s.find(Large.class, 1L);
            return List.of(large.text.length(), large.bytes.length);
        });
        kept("merge", s -> {
            Kinds k = s.find(Kinds.class, 11L);
            s.detach(k);
            k.name = "merged";
            return s.merge(k).name;
        });
        kept("remove", s -> {
            s.remove(s.find(Kinds.class, 15L));
            s.flush();
            return s.createSelectionQuery("select count(*) from Kinds", Long.class).getSingleResult();
        });
    }

    // -- relations

    static void people() {
        kept("persist people", s -> {
            Person boss = person(new Employee(), "Ada", null, 1980);
            ((Employee) boss).pay = new BigDecimal("100.00");
            ((Employee) boss).team = "A";
            s.persist(boss);
            for (String name : List.of("Bea", "Cyd")) {
                Employee employee = (Employee) person(new Employee(), name, boss, 1990);
                employee.pay = new BigDecimal(name.equals("Bea") ? "70.50" : "60.25");
                employee.team = name.equals("Bea") ? "A" : "B";
                employee.friends.add(boss);
                s.persist(employee);
            }
            s.persist(person(new Person(), "Eve", null, 2000));
            Customer dan = (Customer) person(new Customer(), "Dan", null, 1970);
            dan.credit = new BigDecimal("10.00");
            s.persist(dan);
            List<Item> items = new ArrayList<>();
            for (int n = 0; n < 4; n++) {
                Tag tag = new Tag();
                tag.name = "tag" + n;
                tag.rank = n;
                s.persist(tag);
                Item item = new Item();
                item.name = "item" + n;
                item.price = BigDecimal.valueOf(125 * (n + 1), 2);
                item.tags.add(tag);
                s.persist(item);
                items.add(item);
            }
            for (int n = 1; n <= 5; n++) {
                Purchase order = new Purchase();
                order.customer = dan;
                order.day = LocalDate.of(2024, 1, n);
                order.done = n % 2 == 0;
                dan.orders.add(order);
                s.persist(order);
                for (int m = 0; m < n && m < 4; m++) {
                    Line line = new Line();
                    line.order = order;
                    line.item = items.get(m);
                    line.pieces = n * 10 + m;
                    order.lines.add(line);
                }
                Payment payment = n % 2 == 0 ? new Card() : new Transfer();
                payment.amount = new BigDecimal(n + ".10");
                payment.order = order;
                s.persist(payment);
            }
            for (int n = 1; n < 4; n++) {
                Circle circle = new Circle();
                circle.color = "red";
                circle.radius = n;
                s.persist(circle);
                Square square = new Square();
                square.color = n == 1 ? "red" : "blue";
                square.side = n;
                s.persist(square);
                Rate rate = new Rate();
                rate.currency = "EUR";
                rate.day = LocalDate.of(2024, 1, n);
                rate.value = BigDecimal.valueOf(1_000_000 + n, 6);
                s.persist(rate);
                Counter counter = new Counter();
                counter.value = n;
                s.persist(counter);
                Note note = new Note();
                note.person = boss;
                note.body = "n".repeat(n - 1);
                s.persist(note);
            }
            Passport passport = new Passport();
            passport.person = boss;
            passport.number = "P1";
            s.persist(passport);
            s.flush();
            return List.of(boss.id, dan.id, passport.id, dan.orders.get(0).id);
        });
        kept("graph", s -> s.createSelectionQuery("from Person order by name", Person.class).getResultStream()
            .map(p -> p + " " + p.staff + " " + p.friends + " " + p.version + (p instanceof Customer c ? " " + c.orders.size() : "")).toList());
        kept("natural id", s -> String.valueOf(s.bySimpleNaturalId(Person.class).load("Bea")));
        kept("find many", s -> s.findMultiple(Person.class, List.of(3, 1, 99)).stream().map(String::valueOf).toList());
        kept("entity graph", s -> {
            Purchase order = s.find(s.createEntityGraph(Purchase.class, "whole"), s.createSelectionQuery("select min(id) from Purchase", Long.class).getSingleResult());
            return List.of(Hibernate.isInitialized(order.lines), order.customer.name, order.lines.size());
        });
        kept("filter", s -> {
            s.enableFilter("since").setParameter("day", LocalDate.of(2024, 1, 4));
            return s.createSelectionQuery("select o.day from Purchase o order by 1", LocalDate.class).getResultList();
        });
        kept("orphans", s -> {
            Purchase order = s.createSelectionQuery("from Purchase where day = {d '2024-01-05'}", Purchase.class).getSingleResult();
            order.lines.removeIf(line -> line.pieces == 50);
            s.flush();
            return List.of(order.lines.size(), order.version, s.createSelectionQuery("select count(*) from Line", Long.class).getSingleResult());
        });
        kept("soft delete", s -> {
            Item item = s.createSelectionQuery("from Item where name = 'item3'", Item.class).getSingleResult();
            item.tags.clear();
            s.flush();
            s.remove(s.find(Tag.class, "tag3"));
            s.flush();
            return List.of(s.createSelectionQuery("select count(*) from Tag", Long.class).getSingleResult(), s.createNativeQuery("select count(*) from tag", Long.class).getSingleResult());
        });
        kept("view", s -> s.createSelectionQuery("select day from OpenPurchase order by day", LocalDate.class).getResultList());
    }

    static Person person(Person person, String name, Person boss, int year) {
        person.name = name;
        person.boss = boss;
        person.born = LocalDate.of(year, 2, 3);
        return person;
    }

    // -- locks

    static void locks() throws Exception {
        for (LockModeType mode : List.of(LockModeType.PESSIMISTIC_READ, LockModeType.PESSIMISTIC_WRITE, LockModeType.PESSIMISTIC_FORCE_INCREMENT, LockModeType.OPTIMISTIC, LockModeType.OPTIMISTIC_FORCE_INCREMENT)) {
            kept("lock " + mode, s -> {
                Purchase order = s.createSelectionQuery("from Purchase where day = {d '2024-01-01'}", Purchase.class).getSingleResult();
                s.lock(order, mode);
                s.flush();
                return order.version;
            });
            kept("query with " + mode, s -> s.createSelectionQuery("select p from Person p left join fetch p.boss where p.name = 'Bea'", Person.class).setLockMode(mode).getSingleResult().boss.name);
        }
        String locked = "from Purchase o where o.day <= {d '2024-01-03'} order by o.day";
        try (Session holder = factory.openSession()) {
            holder.beginTransaction();
            holder.createSelectionQuery(locked, Purchase.class).setMaxResults(1).setLockMode(LockModeType.PESSIMISTIC_WRITE).getResultList();
            undone("skip locked", s -> s.createSelectionQuery(locked, Purchase.class).setLockMode(LockModeType.PESSIMISTIC_WRITE).setHint("jakarta.persistence.lock.timeout", -2).getResultList().stream().map(o -> o.day).toList());
            undone("error nowait", s -> s.createSelectionQuery(locked, Purchase.class).setLockMode(LockModeType.PESSIMISTIC_WRITE).setHint("jakarta.persistence.lock.timeout", 0).getResultList().size());
            undone("error lock timeout", s -> {
                Purchase order = s.createSelectionQuery("from Purchase where day = {d '2024-01-01'}", Purchase.class).getSingleResult();
                s.lock(order, LockModeType.PESSIMISTIC_WRITE, jakarta.persistence.Timeout.milliseconds(100));
                return order.day;
            });
            undone("error statement timeout", s -> s.createNativeMutationQuery("update orders set done = true where day = '2024-01-01'").setTimeout(1).executeUpdate());
            holder.getTransaction().rollback();
        }
        Checks.check("error deadlock", Check::deadlock);
        Checks.check("error stale", () -> {
            try (Session one = factory.openSession()) {
                one.beginTransaction();
                Person p = one.bySimpleNaturalId(Person.class).load("Eve");
                factory.inTransaction(two -> two.bySimpleNaturalId(Person.class).load("Eve").born = LocalDate.of(2001, 1, 1));
                p.born = LocalDate.of(2002, 1, 1);
                try {
                    one.getTransaction().commit();
                } catch (RuntimeException stale) {
                    throw stale;
                }
                return "kept";
            }
        });
        Checks.check("error serialization", () -> {
            try (Session one = factory.openSession(); Session two = factory.openSession()) {
                for (Session s : List.of(one, two)) {
                    s.doWork(c -> c.setTransactionIsolation(Connection.TRANSACTION_SERIALIZABLE));
                    s.beginTransaction();
                    s.createNativeQuery("select sum(value) from counter", BigDecimal.class).getSingleResult();
                    s.createNativeMutationQuery("insert into counter (id, value) values (" + (s == one ? 1001 : 1002) + ", 1)").executeUpdate();
                }
                one.getTransaction().commit();
                two.getTransaction().commit();
                return "both";
            }
        });
    }

    static Object deadlock() throws Exception {
        try (Session one = factory.openSession(); Session two = factory.openSession()) {
            for (Session s : List.of(one, two)) {
                s.beginTransaction();
            }
            one.createMutationQuery("update Rate set value = 2 where day = {d '2024-01-01'}").executeUpdate();
            two.createMutationQuery("update Rate set value = 2 where day = {d '2024-01-02'}").executeUpdate();
            var other = CompletableFuture.supplyAsync(() -> {
                int changed = two.createMutationQuery("update Rate set value = 3 where day = {d '2024-01-01'}").executeUpdate();
                two.getTransaction().rollback();
                return changed;
            });
            RuntimeException first = null;
            try {
                Thread.sleep(200);
                one.createMutationQuery("update Rate set value = 3 where day = {d '2024-01-02'}").executeUpdate();
            } catch (RuntimeException error) {
                first = error;
            }
            one.getTransaction().rollback();
            try {
                other.get(20, TimeUnit.SECONDS);
            } catch (java.util.concurrent.ExecutionException error) {
                first = (RuntimeException) error.getCause();
            }
            if (first == null) {
                return "none";
            }
            throw first;
        }
    }

    // -- batches

    static void batches() {
        int rows = System.getenv("LONG").isEmpty() ? 500 : 20_000;
        for (String rewrite : List.of("false", "true")) {
            try (SessionFactory other = factory("none", Map.of("jakarta.persistence.jdbc.url", URL + "?reWriteBatchedInserts=" + rewrite + "&prepareThreshold=2"), Shop.ENTITIES)) {
                Checks.check("batch of inserts, rewritten " + rewrite, () -> other.fromTransaction(s -> {
                    for (int n = 0; n < rows; n++) {
                        Circle circle = new Circle();
                        circle.color = "batch";
                        circle.radius = n;
                        s.persist(circle);
                        if (n % 100 == 99) {
                            s.flush();
                            s.clear();
                        }
                    }
                    return s.createSelectionQuery("select count(*), sum(radius) from Circle where color = 'batch'", Object[].class).getSingleResult();
                }));
                Checks.check("batch of updates, rewritten " + rewrite, () -> other.fromTransaction(s -> {
                    s.createSelectionQuery("from Circle where color = 'batch'", Circle.class).getResultList().forEach(c -> c.radius += 1);
                    s.flush();
                    return s.createSelectionQuery("select sum(radius) from Circle where color = 'batch'", Double.class).getSingleResult();
                }));
                Checks.check("bulk delete, rewritten " + rewrite, () -> other.fromTransaction(s -> s.createMutationQuery("delete Circle where color = 'batch'").executeUpdate()));
            }
        }
        Checks.check("stateless", () -> {
            try (StatelessSession s = factory.openStatelessSession()) {
                s.beginTransaction();
                List<Rate> rates = new ArrayList<>();
                for (int n = 1; n < 8; n++) {
                    Rate rate = new Rate();
                    rate.currency = "USD";
                    rate.day = LocalDate.of(2024, 2, n);
                    rate.value = BigDecimal.valueOf(n);
                    rates.add(rate);
                }
                s.insertMultiple(rates);
                rates.get(0).value = BigDecimal.TEN;
                s.update(rates.get(0));
                rates.get(1).value = BigDecimal.ONE;
                s.upsert(rates.get(1));
                rates.get(2).day = LocalDate.of(2025, 1, 1);
                s.upsert(rates.get(2));
                s.delete(rates.get(3));
                s.getTransaction().commit();
                return s.createSelectionQuery("select r.day, r.value from Rate r where r.currency = 'USD' order by r.day", Object[].class).getResultList();
            }
        });
        Checks.check("stream", () -> factory.fromTransaction(s -> {
            s.createNativeMutationQuery("insert into counter (id, value) select 5000 + g, g from generate_series(1, 3000) g").executeUpdate();
            try (var stream = s.createSelectionQuery("select c.value from Counter c where c.id > 5000 order by c.value", Long.class).setFetchSize(100).getResultStream()) {
                return stream.mapToLong(Long::longValue).sum();
            }
        }));
        Checks.check("scroll", () -> factory.fromTransaction(s -> {
            try (var scroll = s.createSelectionQuery("select c.value from Counter c where c.id > 5000 order by c.value", Long.class).scroll()) {
                scroll.last();
                long last = scroll.get();
                scroll.scroll(-10);
                long before = scroll.get();
                scroll.first();
                return List.of(last, before, scroll.get(), scroll.getRowNumber());
            }
        }));
    }

    // -- errors

    static void errors() {
        Map<String, Work> failing = new java.util.TreeMap<>();
        failing.put("unique", s -> {
            s.persist(person(new Person(), "Ada", null, 1999));
            return "kept";
        });
        failing.put("not null", s -> s.createNativeMutationQuery("insert into person (version) values (1)").executeUpdate());
        failing.put("foreign key", s -> s.createNativeMutationQuery("delete from person where name = 'Ada'").executeUpdate());
        failing.put("check", s -> s.createMutationQuery("update Kinds set whole = -200").executeUpdate());
        failing.put("check of an enum", s -> s.createNativeMutationQuery("update kinds set size = 'HUGE'").executeUpdate());
        failing.put("enum", s -> s.createNativeMutationQuery("update typed set named = 'three'").executeUpdate());
        failing.put("too long", s -> s.createMutationQuery("update Kinds set name = repeat('x', 31)").executeUpdate());
        failing.put("number", s -> s.createMutationQuery("update Kinds set decimal = 1e16").executeUpdate());
        failing.put("generated", s -> s.createNativeMutationQuery("update kinds set twice = 1").executeUpdate());
        failing.put("json", s -> s.createNativeMutationQuery("update kinds set json = '{'").executeUpdate());
        failing.put("zero", s -> s.createNativeQuery("select 1 / 0", Integer.class).getSingleResult());
        failing.put("no table", s -> s.createNativeQuery("select * from nowhere").getResultList());
        failing.put("syntax", s -> s.createNativeQuery("selec 1").getResultList());
        failing.put("two rows", s -> s.createSelectionQuery("select (select p.id from Person p)", Integer.class).getSingleResult());
        failing.put("aborted", s -> {
            try {
                s.createNativeQuery("select 1 / 0", Integer.class).getSingleResult();
            } catch (RuntimeException first) {
                return s.createNativeQuery("select 1", Integer.class).getSingleResult();
            }
            return "none";
        });
        failing.forEach((name, work) -> undone("error " + name, work));
        undone("after errors", s -> s.createSelectionQuery("select count(*) from Person", Long.class).getSingleResult());
    }
}
