import java.io.BufferedOutputStream;
import java.io.DataOutputStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.sql.Connection;
import java.sql.DriverManager;
import java.sql.PreparedStatement;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.CyclicBarrier;

/**
 * Sends drawn requests of a social graph over JDBC, as the published benchmark does: a connection that commits by
 * itself for reads, one that does not for changes.
 *
 * Arguments: URL, directory, clients, seconds to warm up, seconds to measure. The directory has a file "N.requests" per
 * client; each line is an operation and its values, separated by tabs. What was measured goes to "N.times": per request
 * its place among the operations (1 byte), when it began after the first measured moment, and how long it took (8 bytes
 * each, nanoseconds). Clients that reach the end of their file begin it again.
 */
public class Linkbench {
    static final int TRIES_MAX = 100;
    static final Set<String> RETRY = Set.of("40001", "40P01", "55P03", "23505");
    static final String LINK = " WHERE link_type = ? AND id1 = ? AND id2 = ?";
    static final String COLUMNS =
            "SELECT id1, id2, link_type, visibility, data, time, version FROM linktable WHERE id1 = ? AND link_type = ?";

    final Connection reads;
    final Connection changes;
    final Map<String, PreparedStatement> prepared = new HashMap<>();

    Linkbench(String url) throws SQLException {
        reads = DriverManager.getConnection(url);
        changes = DriverManager.getConnection(url);
        changes.setAutoCommit(false);
    }

    PreparedStatement statement(Connection connection, String sql) throws SQLException {
        PreparedStatement statement = prepared.get(sql);
        if (statement == null) {
            statement = connection.prepareStatement(sql);
            prepared.put(sql, statement);
        }
        return statement;
    }

    static int now() {
        return (int) (System.currentTimeMillis() / 1000);
    }

    /** Reads all values of all rows, as an application does. */
    static void read(PreparedStatement statement) throws SQLException {
        try (ResultSet rows = statement.executeQuery()) {
            int columns = rows.getMetaData().getColumnCount();
            while (rows.next()) {
                for (int i = 1; i <= columns; i++) {
                    rows.getObject(i);
                }
            }
        }
    }

    /** Sets whole numbers from a parameter on. */
    static void set(PreparedStatement statement, int from, long... values) throws SQLException {
        for (long value : values) {
            statement.setLong(from++, value);
        }
    }

    /** Whether the link is visible: 0 or 1; -1 where there is none. Locks it. */
    int lock(long kind, long from, long to) throws SQLException {
        PreparedStatement lock = statement(changes, "SELECT visibility FROM linktable" + LINK + " FOR UPDATE");
        set(lock, 1, kind, from, to);
        try (ResultSet rows = lock.executeQuery()) {
            return rows.next() ? rows.getInt(1) : -1;
        }
    }

    void count(long id, long kind, int by) throws SQLException {
        PreparedStatement count = statement(changes,
                "INSERT INTO counttable (id, link_type, count, time, version) VALUES (?, ?, ?, ?, 0) "
                        + "ON CONFLICT ON CONSTRAINT counttable_pkey DO UPDATE SET count = public.counttable.count + ?, "
                        + "version = public.counttable.version + 1, time = excluded.time");
        set(count, 1, id, kind);
        count.setInt(3, by);
        count.setLong(4, now());
        count.setInt(5, by);
        count.executeUpdate();
    }

    void putLink(long from, long kind, long to, String data) throws SQLException {
        int visible = lock(kind, from, to);
        PreparedStatement put;
        if (visible < 0) {
            put = statement(changes, "INSERT INTO linktable (id1, id2, link_type, visibility, data, time, version) "
                    + "VALUES (?, ?, ?, 1, ?, ?, 0)");
            set(put, 1, from, to, kind);
            put.setString(4, data);
            put.setLong(5, now());
        } else {
            put = statement(changes,
                    "UPDATE linktable SET visibility = 1, data = ?, time = ?, version = version + 1" + LINK);
            put.setString(1, data);
            set(put, 2, now(), kind, from, to);
        }
        put.executeUpdate();
        if (visible != 1) {
            count(from, kind, 1);
        }
        changes.commit();
    }

    void deleteLink(long from, long kind, long to) throws SQLException {
        if (lock(kind, from, to) == 1) {
            PreparedStatement hide = statement(changes, "UPDATE linktable SET visibility = 0" + LINK);
            set(hide, 1, kind, from, to);
            hide.executeUpdate();
            count(from, kind, -1);
        }
        changes.commit();
    }

    void links(long from, long kind, String[] ends) throws SQLException {
        String places = "?" + ", ?".repeat(ends.length - 1);
        PreparedStatement links = statement(reads, COLUMNS + " AND id2 IN (" + places + ")");
        set(links, 1, from, kind);
        for (int i = 0; i < ends.length; i++) {
            links.setLong(3 + i, Long.parseLong(ends[i]));
        }
        read(links);
    }

    void list(long from, long kind, long ago) throws SQLException {
        PreparedStatement list = statement(reads, COLUMNS
                + " AND time >= ? AND time <= ? AND visibility = 1 ORDER BY time DESC LIMIT ? OFFSET ?");
        set(list, 1, from, kind, 0, now() - ago);
        list.setInt(5, 10_000);
        list.setInt(6, 0);
        read(list);
    }

    void node(String operation, String[] values) throws SQLException {
        PreparedStatement node;
        switch (operation) {
            case "addnode" -> {
                node = statement(changes, "INSERT INTO nodetable (type, version, time, data) VALUES (?, 1, ?, ?)");
                node.setInt(1, 2048);
                node.setInt(2, now());
                node.setString(3, values[1]);
            }
            case "updatenode" -> {
                node = statement(changes, "UPDATE nodetable SET version = version + 1, time = ?, data = ? "
                        + "WHERE id = ? AND type = ?");
                node.setInt(1, now());
                node.setString(2, values[2]);
                node.setLong(3, Long.parseLong(values[1]));
                node.setInt(4, 2048);
            }
            default -> {
                node = statement(changes, "DELETE FROM nodetable WHERE id = ? AND type = ?");
                node.setLong(1, Long.parseLong(values[1]));
                node.setInt(2, 2048);
            }
        }
        node.executeUpdate();
        changes.commit();
    }

    void perform(String[] values) throws SQLException {
        String operation = values[0];
        switch (operation) {
            case "addnode", "updatenode", "deletenode" -> node(operation, values);
            case "getnode" -> {
                PreparedStatement node = statement(reads,
                        "SELECT id, type, version, time, data FROM nodetable WHERE id = ? AND type = ?");
                node.setLong(1, Long.parseLong(values[1]));
                node.setInt(2, 2048);
                read(node);
            }
            case "countlink" -> {
                PreparedStatement count = statement(reads,
                        "SELECT count FROM counttable WHERE id = ? AND link_type = ?");
                set(count, 1, Long.parseLong(values[1]), Long.parseLong(values[2]));
                read(count);
            }
            default -> {
                long from = Long.parseLong(values[1]);
                long kind = Long.parseLong(values[2]);
                switch (operation) {
                    case "getlink" -> links(from, kind, values[3].split(" "));
                    case "getlinklist" -> list(from, kind, Long.parseLong(values[3]));
                    case "deletelink" -> deleteLink(from, kind, Long.parseLong(values[3]));
                    case "addlink", "updatelink" -> putLink(from, kind, Long.parseLong(values[3]), values[4]);
                    default -> throw new IllegalArgumentException(operation);
                }
            }
        }
    }

    /** Performs a request, again where it met another client's. */
    void finish(String[] values) throws SQLException {
        for (int tries = 0;; tries++) {
            try {
                perform(values);
                return;
            } catch (SQLException error) {
                if (!RETRY.contains(error.getSQLState()) || tries == TRIES_MAX) {
                    throw error;
                }
                changes.rollback();
            }
        }
    }

    static void client(String[] arguments, int client, CyclicBarrier together) throws Exception {
        Path directory = Path.of(arguments[1]);
        String[][] requests = Files.readAllLines(directory.resolve(client + ".requests")).stream()
                .map(line -> line.split("\t", -1)).toArray(String[][]::new);
        List<String> names = Files.readAllLines(directory.resolve("operations"));
        Linkbench session = new Linkbench(arguments[0]);
        together.await();
        int next = 0;
        long warm = System.nanoTime() + (long) (Double.parseDouble(arguments[3]) * 1e9);
        while (System.nanoTime() < warm) {
            session.finish(requests[next++ % requests.length]);
        }
        together.await();
        long start = System.nanoTime();
        long end = start + (long) (Double.parseDouble(arguments[4]) * 1e9);
        try (DataOutputStream times = new DataOutputStream(
                new BufferedOutputStream(Files.newOutputStream(directory.resolve(client + ".times")), 1 << 20))) {
            for (long began = start; began < end;) {
                String[] request = requests[next++ % requests.length];
                session.finish(request);
                long now = System.nanoTime();
                times.writeByte(names.indexOf(request[0]));
                times.writeLong(began - start);
                times.writeLong(now - began);
                began = now;
            }
        }
        session.reads.close();
        session.changes.close();
    }

    public static void main(String[] arguments) throws Exception {
        int clients = Integer.parseInt(arguments[2]);
        CyclicBarrier together = new CyclicBarrier(clients);
        Thread[] threads = new Thread[clients];
        for (int i = 0; i < clients; i++) {
            int client = i;
            threads[i] = new Thread(() -> {
                try {
                    client(arguments, client, together);
                } catch (Exception error) {
                    error.printStackTrace();
                    // The other clients wait for this one.
                    Runtime.getRuntime().halt(1);
                }
            });
            threads[i].start();
        }
        for (Thread thread : threads) {
            thread.join();
        }
    }
}
