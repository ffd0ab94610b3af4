import jakarta.persistence.Embeddable;
import jakarta.persistence.Entity;
import jakarta.persistence.GeneratedValue;
import jakarta.persistence.GenerationType;
import jakarta.persistence.Id;
import jakarta.persistence.Lob;
import org.hibernate.annotations.JdbcTypeCode;
import org.hibernate.annotations.Struct;
import org.hibernate.type.SqlTypes;

/** Columns of types that Hibernate creates. Its update of a schema drops them, so they stand apart. */
@Entity
class Typed {
    enum Named { one, two }

    @Embeddable
    @Struct(name = "pair_type")
    static class Pair {
        int first;
        String second;

        Pair() {}

        Pair(int first, String second) {
            this.first = first;
            this.second = second;
        }

        @Override public String toString() {
            return "Pair(" + first + ", " + second + ")";
        }
    }

    @Id @GeneratedValue(strategy = GenerationType.IDENTITY) Long id;
    @JdbcTypeCode(SqlTypes.NAMED_ENUM) Named named;
    @JdbcTypeCode(SqlTypes.NAMED_ORDINAL_ENUM) Kinds.Mood mood;
    Pair pair;
    Pair[] pairs;
}

/** A document of XML, and large objects, which PostgreSQL keeps apart from the row. */
@Entity
class Letter {
    @Id Long id;
    @JdbcTypeCode(SqlTypes.SQLXML) String body;
}

@Entity
class Large {
    @Id Long id;
    @Lob String text;
    @Lob byte[] bytes;
}
