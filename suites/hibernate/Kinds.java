import jakarta.persistence.AttributeConverter;
import jakarta.persistence.CollectionTable;
import jakarta.persistence.Column;
import jakarta.persistence.Convert;
import jakarta.persistence.ElementCollection;
import jakarta.persistence.Embeddable;
import jakarta.persistence.Embedded;
import jakarta.persistence.Entity;
import jakarta.persistence.EnumType;
import jakarta.persistence.Enumerated;
import jakarta.persistence.FetchType;
import jakarta.persistence.GeneratedValue;
import jakarta.persistence.GenerationType;
import jakarta.persistence.Id;
import jakarta.persistence.Index;
import jakarta.persistence.MapKeyColumn;
import jakarta.persistence.OrderColumn;
import jakarta.persistence.SequenceGenerator;
import jakarta.persistence.Table;
import jakarta.persistence.UniqueConstraint;
import jakarta.persistence.Version;
import java.math.BigDecimal;
import java.math.BigInteger;
import java.net.InetAddress;
import java.net.URL;
import java.time.Duration;
import java.time.Instant;
import java.time.LocalDate;
import java.time.LocalDateTime;
import java.time.LocalTime;
import java.time.OffsetDateTime;
import java.time.Year;
import java.time.ZoneId;
import java.time.ZonedDateTime;
import java.util.ArrayList;
import java.util.Currency;
import java.util.HashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Set;
import java.util.TreeSet;
import java.util.UUID;
import org.hibernate.annotations.Array;
import org.hibernate.annotations.Check;
import org.hibernate.annotations.ColumnDefault;
import org.hibernate.annotations.Comment;
import org.hibernate.annotations.Formula;
import org.hibernate.annotations.Generated;
import org.hibernate.annotations.GeneratedColumn;
import org.hibernate.annotations.JdbcTypeCode;
import org.hibernate.annotations.TimeZoneStorage;
import org.hibernate.annotations.TimeZoneStorageType;
import org.hibernate.generator.EventType;
import org.hibernate.type.NumericBooleanConverter;
import org.hibernate.type.SqlTypes;
import org.hibernate.type.YesNoConverter;

/** An entity with a column of every kind that Hibernate makes at PostgreSQL. */
@Entity
@Table(
    name = "kinds",
    indexes = {@Index(name = "kinds_day", columnList = "day desc, whole"), @Index(name = "kinds_text", columnList = "text")},
    uniqueConstraints = @UniqueConstraint(name = "kinds_once", columnNames = {"big", "small"}))
@Check(name = "kinds_whole", constraints = "whole > -100")
@Comment("all kinds")
class Kinds {
    enum Mood { SAD, HAPPY }

    enum Size { SMALL, LARGE }

    @Embeddable
    static class Place {
        String street;
        @Column(length = 10) String zip;
        @Enumerated(EnumType.STRING) Size extent;

        Place() {}

        Place(String street, String zip, Size size) {
            this.street = street;
            this.zip = zip;
            this.extent = size;
        }

        @Override public String toString() {
            return "Place(" + street + ", " + zip + ", " + extent + ")";
        }
    }

    @Embeddable
    static class Sheet {
        String title;
        @Column(length = 10) String code;
        @Enumerated(EnumType.STRING) Size format;

        Sheet() {}

        Sheet(String title, String code, Size size) {
            this.title = title;
            this.code = code;
            this.format = size;
        }

        @Override public String toString() {
            return "Sheet(" + title + ", " + code + ", " + format + ")";
        }
    }

    static class Celsius implements AttributeConverter<Double, Integer> {
        @Override public Integer convertToDatabaseColumn(Double value) {
            return value == null ? null : (int) Math.round(value * 10);
        }

        @Override public Double convertToEntityAttribute(Integer value) {
            return value == null ? null : value / 10.0;
        }
    }

    @Id
    @GeneratedValue(strategy = GenerationType.SEQUENCE, generator = "kinds_ids")
    @SequenceGenerator(name = "kinds_ids", sequenceName = "kinds_ids", initialValue = 10, allocationSize = 5)
    Long id;

    @Version int version;
    UUID key;
    Boolean flag;
    @Convert(converter = YesNoConverter.class) Boolean yes;
    @Convert(converter = NumericBooleanConverter.class) Boolean number;
    Byte tiny;
    Short small;
    Integer whole;
    Long big;
    BigInteger huge;
    @Column(precision = 19, scale = 4) BigDecimal decimal;
    Float real;
    Double wide;
    Character letter;
    @Column(length = 30, nullable = false) @ColumnDefault("'none'") String name = "none";
    @Comment("any text") @Column(columnDefinition = "text") String text;
    @Column(length = 100_000) String longText;
    @JdbcTypeCode(SqlTypes.LONG32VARCHAR) String longest;
    @JdbcTypeCode(SqlTypes.CHAR) @Column(length = 5) String padded;
    byte[] bytes;
    @JdbcTypeCode(SqlTypes.LONG32VARBINARY) byte[] longBytes;
    LocalDate day;
    LocalTime clock;
    LocalDateTime moment;
    @Column(precision = 3) LocalDateTime millis;
    Instant instant;
    OffsetDateTime shifted;
    @TimeZoneStorage(TimeZoneStorageType.COLUMN) ZonedDateTime zoned;
    Duration span;
    @JdbcTypeCode(SqlTypes.INTERVAL_SECOND) Duration interval;
    Year year;
    ZoneId zone;
    Locale locale;
    Currency currency;
    URL url;
    Class<?> type;
    InetAddress address;
    Mood mood;
    @Enumerated(EnumType.STRING) Size size;
    @JdbcTypeCode(SqlTypes.JSON) Map<String, Object> json;
    @JdbcTypeCode(SqlTypes.JSON) Sheet sheet;
    @JdbcTypeCode(SqlTypes.JSON) List<Map<String, Object>> documents;
    @Embedded Place place;
    @Array(length = 20) int[] ints;
    String[] words;
    List<Long> longs;
    @JdbcTypeCode(SqlTypes.ARRAY) Set<UUID> keys;
    Mood[] moods;
    LocalDate[] days;
    @Convert(converter = Celsius.class) Double heat;
    @GeneratedColumn("whole * 2") Integer twice;
    @Generated(event = EventType.INSERT) @ColumnDefault("now()") @Column(insertable = false) Instant made;
    @Formula("coalesce(whole, 0) + 1") Integer next;

    @ElementCollection(fetch = FetchType.LAZY) @CollectionTable(name = "kinds_tags") @Column(name = "tag", length = 20)
    Set<String> tags = new TreeSet<>();

    @ElementCollection @OrderColumn(name = "position") List<Place> places = new ArrayList<>();
    @ElementCollection @MapKeyColumn(name = "label") Map<String, BigDecimal> prices = new HashMap<>();

    static Kinds full(int n) throws Exception {
        Kinds k = new Kinds();
        k.key = new UUID(0, n);
        k.flag = n % 2 == 0;
        k.yes = true;
        k.number = false;
        k.tiny = (byte) -n;
        k.small = (short) (n * 3);
        k.whole = n;
        k.big = Long.MAX_VALUE - n;
        k.huge = new BigInteger("12345678901234567890123456789").add(BigInteger.valueOf(n));
        k.decimal = new BigDecimal("12345.6789").add(BigDecimal.valueOf(n));
        k.real = 0.25f * n;
        k.wide = 1.5e-7 * n;
        k.letter = 'ß';
        k.name = "name " + n;
        k.text = "Zoë\n'q' \\ " + n;
        k.longText = "l".repeat(5000);
        k.longest = "longest " + n;
        k.padded = "ab";
        k.bytes = new byte[] {0, (byte) 255, '\''};
        k.longBytes = new byte[3000];
        k.day = LocalDate.of(2024, 2, 29).plusDays(n);
        k.clock = LocalTime.of(23, 59, 58);
        k.moment = LocalDateTime.of(2024, 3, 10, 2, 30, 0, 123_456_000);
        k.millis = LocalDateTime.of(1999, 12, 31, 23, 59, 59, 999_000_000);
        k.instant = Instant.parse("2024-03-10T08:30:00.123456Z").plusSeconds(3600L * n);
        k.shifted = OffsetDateTime.parse("2024-03-10T08:30:00+05:00");
        k.zoned = ZonedDateTime.parse("2024-03-10T08:30:00-06:00");
        k.span = Duration.ofSeconds(90, 5_000);
        k.interval = Duration.ofHours(30).plusMillis(250);
        k.year = Year.of(2024);
        k.zone = ZoneId.of("America/Chicago");
        k.locale = Locale.CANADA_FRENCH;
        k.currency = Currency.getInstance("EUR");
        k.url = new URL("http://localhost/a?b=c");
        k.type = String.class;
        k.address = InetAddress.getByName("10.1.2.3");
        k.mood = n % 2 == 0 ? Mood.HAPPY : Mood.SAD;
        k.size = Size.LARGE;
        k.json = new HashMap<>(Map.of("n", n, "list", List.of(1, 2, "x"), "deep", Map.of("a", true)));
        k.sheet = new Sheet("J", "12345", Size.SMALL);
        k.documents = new ArrayList<>(List.of(Map.of("a", 1), Map.of("b", List.of(true))));
        k.place = new Place("Main", "99999", Size.SMALL);
        k.ints = new int[] {1, n, -3};
        k.words = new String[] {"a", "b c", null, "q\""};
        k.longs = List.of(1L, (long) n);
        k.keys = Set.of(new UUID(1, n));
        k.moods = new Mood[] {Mood.HAPPY, Mood.SAD};
        k.days = new LocalDate[] {LocalDate.of(2024, 1, 1), null};
        k.heat = 36.6;
        k.tags = new TreeSet<>(Set.of("all", "t" + n % 3));
        k.places = new ArrayList<>(List.of(new Place("First", "1", Size.LARGE), new Place("Second", "2", null)));
        k.prices = new HashMap<>(Map.of("net", new BigDecimal("1.50"), "gross", new BigDecimal("1.79")));
        return k;
    }
}
