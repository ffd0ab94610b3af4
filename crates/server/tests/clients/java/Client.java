import java.math.BigDecimal;
import java.sql.BatchUpdateException;
import java.sql.Connection;
import java.sql.DatabaseMetaData;
import java.sql.DriverManager;
import java.sql.PreparedStatement;
import java.sql.ResultSet;
import java.sql.ResultSetMetaData;
import java.sql.SQLException;
import java.sql.Statement;
import java.sql.Timestamp;
import java.time.LocalDate;
import java.time.OffsetDateTime;
import java.util.Arrays;
import java.util.Properties;
import java.util.UUID;
import org.postgresql.PGConnection;
import org.postgresql.util.PSQLException;
import org.postgresql.util.ServerErrorMessage;

/** What pgjdbc sends and reads. Prints one line per result, the same at every server. */
public class Client {
    static void show(String what, ResultSet rows) throws SQLException {
        ResultSetMetaData meta = rows.getMetaData();
        StringBuilder head = new StringBuilder(what);
        for (int i = 1; i <= meta.getColumnCount(); i++) {
            head.append(" ").append(meta.getColumnLabel(i)).append(":").append(meta.getColumnTypeName(i));
        }
        System.out.println(head);
        while (rows.next()) {
            StringBuilder line = new StringBuilder();
            for (int i = 1; i <= meta.getColumnCount(); i++) {
                line.append(i == 1 ? "  " : " | ").append(rows.getString(i));
            }
            System.out.println(line);
        }
        rows.close();
    }

    static void failed(SQLException error) {
        ServerErrorMessage m = error instanceof PSQLException p ? p.getServerErrorMessage() : null;
        String about = m == null ? "" : m.getTable() + " " + m.getColumn() + " " + m.getConstraint();
        System.out.println("error " + error.getSQLState() + " " + about);
    }

    public static void main(String[] args) throws Exception {
        Properties properties = new Properties();
        properties.setProperty("user", "postgres");
        properties.setProperty("prepareThreshold", "3");
        String url = args[0];
        try (Connection c = DriverManager.getConnection(url, properties)) {
            System.out.println(c.getMetaData().getDatabaseProductName() + " "
                + c.getMetaData().getDatabaseMajorVersion());
            types(c);
            batches(c);
            keys(c);
            portals(c);
            errors(c);
            levels(c);
            metadata(c);
        }
    }

    static void types(Connection c) throws SQLException {
        try (Statement s = c.createStatement()) {
            s.execute("create table item (id serial primary key, label text not null,"
                + " price numeric(10,2), made date, seen timestamptz, at timestamp, ok boolean,"
                + " ratio float8, raw bytea, key uuid, small int2, big int8, code varchar(5))");
        }
        String insert = "insert into item (label, price, made, seen, at, ok, ratio, raw, key, small,"
            + " big, code) values (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)";
        // From the third time on the statement is a named one, and values travel in binary.
        try (PreparedStatement p = c.prepareStatement(insert)) {
            for (int i = 0; i < 6; i++) {
                p.setString(1, "label " + i);
                p.setBigDecimal(2, new BigDecimal("12.5" + i));
                p.setObject(3, LocalDate.of(2024, 2, 20 + i));
                p.setObject(4, OffsetDateTime.parse("2024-02-29T12:30:00.25Z").plusHours(i));
                p.setTimestamp(5, Timestamp.valueOf("1999-12-31 23:59:59"));
                p.setBoolean(6, i % 2 == 0);
                p.setDouble(7, 0.1 * i);
                p.setBytes(8, new byte[] {0, (byte) 255, '\'', (byte) i});
                p.setObject(9, new UUID(i, i));
                p.setShort(10, (short) -i);
                p.setLong(11, 1L << (40 + i));
                p.setString(12, null);
                System.out.println("inserted " + p.executeUpdate());
            }
        }
        try (PreparedStatement p = c.prepareStatement("select * from item where id = ?")) {
            for (int i = 1; i <= 6; i++) {
                p.setInt(1, i);
                ResultSet rows = p.executeQuery();
                rows.next();
                System.out.println(rows.getBigDecimal("price") + " " + rows.getObject("made", LocalDate.class)
                    + " " + rows.getObject("seen", OffsetDateTime.class) + " " + rows.getTimestamp("at")
                    + " " + rows.getBoolean("ok") + " " + rows.getDouble("ratio")
                    + " " + Arrays.toString(rows.getBytes("raw")) + " " + rows.getObject("key")
                    + " " + rows.getShort("small") + " " + rows.getLong("big") + " " + rows.getString("code")
                    + " " + rows.wasNull());
            }
        }
        try (PreparedStatement p = c.prepareStatement("select label from item where id = any(?) order by id")) {
            p.setArray(1, c.createArrayOf("int4", new Integer[] {1, 3}));
            show("array", p.executeQuery());
        }
    }

    static void batches(Connection c) throws SQLException {
        try (PreparedStatement p = c.prepareStatement("insert into item (label, small) values (?, ?)")) {
            for (int i = 0; i < 10; i++) {
                p.setString(1, "batch");
                p.setInt(2, i);
                p.addBatch();
            }
            System.out.println("batch " + Arrays.toString(p.executeBatch()));
            p.setString(1, "batch");
            p.setInt(2, 1);
            p.addBatch();
            p.setString(1, null);
            p.addBatch();
            p.executeBatch();
        } catch (BatchUpdateException e) {
            failed(e);
        }
        try (Statement s = c.createStatement()) {
            s.addBatch("update item set code = 'a' where label = 'batch'");
            s.addBatch("delete from item where small = 9");
            System.out.println("batch " + Arrays.toString(s.executeBatch()));
            show("count", s.executeQuery("select count(*), min(code), sum(small) from item where label = 'batch'"));
            System.out.println("several " + s.execute("select 1; select 2") + s.getMoreResults());
            System.out.println("empty " + s.execute("") + s.getUpdateCount());
        }
    }

    static void keys(Connection c) throws SQLException {
        String insert = "insert into item (label) values (?)";
        try (PreparedStatement p = c.prepareStatement(insert, Statement.RETURN_GENERATED_KEYS)) {
            p.setString(1, "keys");
            p.executeUpdate();
            ResultSet keys = p.getGeneratedKeys();
            keys.next();
            System.out.println("key " + (keys.getInt("id") > 6) + " " + keys.getString("label"));
        }
        try (PreparedStatement p = c.prepareStatement(insert, new String[] {"id"})) {
            for (int i = 0; i < 3; i++) {
                p.setString(1, "keys " + i);
                p.addBatch();
            }
            p.executeBatch();
            ResultSet keys = p.getGeneratedKeys();
            int count = 0;
            while (keys.next()) {
                count++;
            }
            System.out.println("keys " + count);
        }
    }

    static void portals(Connection c) throws SQLException {
        c.setAutoCommit(false);
        try (Statement s = c.createStatement()) {
            s.execute("create table row (id int primary key, word text)");
            s.execute("insert into row select n, 'word ' || n from generate_series(1, 250) n");
            s.setFetchSize(40);
            ResultSet rows = s.executeQuery("select id, word from row order by id");
            int sum = 0;
            while (rows.next()) {
                sum += rows.getInt(1);
                if (rows.getInt(1) == 45) {
                    try (Statement other = c.createStatement()) {
                        other.executeUpdate("update row set word = 'changed' where id = 200");
                    }
                }
                if (rows.getInt(1) == 200) {
                    System.out.println("as it was: " + rows.getString(2));
                }
            }
            System.out.println("fetched " + sum);
        }
        c.commit();
        c.setAutoCommit(true);
        try (Statement s = c.createStatement(ResultSet.TYPE_SCROLL_INSENSITIVE, ResultSet.CONCUR_READ_ONLY)) {
            ResultSet rows = s.executeQuery("select id from row order by id limit 5");
            rows.last();
            System.out.println("scroll " + rows.getRow() + " " + rows.getInt(1));
        }
    }

    static void errors(Connection c) throws SQLException {
        for (String sql : new String[] {
            "insert into item (id, label) values (1, 'again')", "select * from nothing",
            "insert into item (label) values (null)", "select nothing from item", "selec 1",
            "select 1 / 0", "insert into item (label, code) values ('x', 'too long')"}) {
            try (PreparedStatement p = c.prepareStatement(sql)) {
                p.execute();
                System.out.println("no error: " + sql);
            } catch (SQLException e) {
                failed(e);
            }
        }
    }

    static void levels(Connection c) throws SQLException {
        c.setTransactionIsolation(Connection.TRANSACTION_SERIALIZABLE);
        System.out.println("level " + c.getTransactionIsolation());
        c.setTransactionIsolation(Connection.TRANSACTION_READ_COMMITTED);
        c.setAutoCommit(false);
        try (Statement s = c.createStatement()) {
            var savepoint = c.setSavepoint("here");
            s.executeUpdate("delete from row");
            c.rollback(savepoint);
            c.releaseSavepoint(savepoint);
            show("kept", s.executeQuery("select count(*) from row"));
        }
        c.rollback();
        c.setReadOnly(true);
        try (Statement s = c.createStatement()) {
            s.executeUpdate("delete from row");
        } catch (SQLException e) {
            failed(e);
        }
        c.rollback();
        c.setReadOnly(false);
        c.setAutoCommit(true);
        System.out.println("valid " + c.isValid(10) + " " + ((PGConnection) c).getPreferQueryMode());
    }

    static void metadata(Connection c) throws SQLException {
        try (Statement s = c.createStatement()) {
            s.execute("create table child (a int, b int references item (id), primary key (b, a))");
            s.execute("create index child_a on child (a desc)");
            s.execute("create view seen as select id, label from item");
        }
        DatabaseMetaData m = c.getMetaData();
        String[] kinds = {"TABLE", "VIEW"};
        columns("tables", m.getTables(null, "public", "%", kinds), "TABLE_SCHEM", "TABLE_NAME", "TABLE_TYPE");
        columns("columns", m.getColumns(null, "public", "item", "%"), "COLUMN_NAME", "DATA_TYPE", "TYPE_NAME",
            "COLUMN_SIZE", "DECIMAL_DIGITS", "NULLABLE", "ORDINAL_POSITION", "IS_AUTOINCREMENT");
        columns("imported", m.getImportedKeys(null, "public", "child"), "PKTABLE_NAME", "PKCOLUMN_NAME",
            "FKCOLUMN_NAME", "FK_NAME", "UPDATE_RULE", "DELETE_RULE");
        columns("exported", m.getExportedKeys(null, "public", "item"), "FKTABLE_NAME", "FKCOLUMN_NAME");
        columns("primary", m.getPrimaryKeys(null, "public", "item"), "TABLE_NAME", "COLUMN_NAME", "KEY_SEQ", "PK_NAME");
        columns("indexes", m.getIndexInfo(null, "public", "child", false, false), "NON_UNIQUE", "INDEX_NAME",
            "TYPE", "ORDINAL_POSITION", "COLUMN_NAME", "ASC_OR_DESC", "FILTER_CONDITION");
        columns("schemas", m.getSchemas(null, "public"), "TABLE_SCHEM");
    }

    static void columns(String what, ResultSet rows, String... names) throws SQLException {
        System.out.println(what);
        while (rows.next()) {
            StringBuilder line = new StringBuilder(" ");
            for (String name : names) {
                line.append(" ").append(rows.getString(name));
            }
            System.out.println(line);
        }
        rows.close();
    }
}
