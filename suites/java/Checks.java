import java.lang.reflect.Array;
import java.math.BigDecimal;
import java.sql.SQLException;
import java.util.ArrayList;
import java.util.Collection;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.concurrent.Callable;
import org.hibernate.exception.ConstraintViolationException;

/** Prints one line per check, {@code name: result}, the same wherever values are the same. */
final class Checks {
    private Checks() {}

    static String plain(Object value) {
        if (value == null) {
            return "null";
        }
        if (value instanceof String text) {
            return "'" + text.replace("\\", "\\\\").replace("\n", "\\n") + "'";
        }
        if (value instanceof BigDecimal number) {
            return number.toPlainString();
        }
        if (value instanceof Map<?, ?> map) {
            Map<String, String> sorted = new TreeMap<>();
            map.forEach((key, each) -> sorted.put(plain(key), plain(each)));
            return sorted.toString();
        }
        if (value instanceof Collection<?> many) {
            List<String> texts = new ArrayList<>();
            many.forEach(each -> texts.add(plain(each)));
            return texts.toString();
        }
        if (value.getClass().isArray()) {
            List<String> texts = new ArrayList<>();
            for (int i = 0; i < Array.getLength(value); i++) {
                texts.add(plain(Array.get(value, i)));
            }
            return texts.toString();
        }
        return value.toString();
    }

    static void show(String name, Object value) {
        System.out.println(name + ": " + plain(value));
    }

    /** The class of what was thrown, and SQLSTATE and constraint, however deep they are wrapped. */
    static String told(Throwable error) {
        String state = "no SQLSTATE";
        String constraint = "";
        for (Throwable each = error; each != null; each = each.getCause()) {
            if (each instanceof ConstraintViolationException violated && violated.getConstraintName() != null) {
                constraint = " " + violated.getConstraintName();
            }
            if (each instanceof SQLException sql && sql.getSQLState() != null) {
                state = sql.getSQLState();
            }
        }
        return error.getClass().getSimpleName() + " " + state + constraint;
    }

    /** Shows what a function gives, or what it threw. */
    static boolean check(String name, Callable<?> function) {
        try {
            show(name, function.call());
            return true;
        } catch (Throwable error) {
            System.out.println(name + ": error " + told(error));
            System.err.println(name + ":");
            error.printStackTrace();
            return false;
        }
    }
}
