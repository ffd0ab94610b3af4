import jakarta.persistence.CascadeType;
import jakarta.persistence.Column;
import jakarta.persistence.DiscriminatorColumn;
import jakarta.persistence.DiscriminatorValue;
import jakarta.persistence.Embeddable;
import jakarta.persistence.EmbeddedId;
import jakarta.persistence.Entity;
import jakarta.persistence.FetchType;
import jakarta.persistence.GeneratedValue;
import jakarta.persistence.GenerationType;
import jakarta.persistence.Id;
import jakarta.persistence.IdClass;
import jakarta.persistence.Inheritance;
import jakarta.persistence.InheritanceType;
import jakarta.persistence.JoinColumn;
import jakarta.persistence.JoinTable;
import jakarta.persistence.ManyToMany;
import jakarta.persistence.ManyToOne;
import jakarta.persistence.MapsId;
import jakarta.persistence.NamedAttributeNode;
import jakarta.persistence.NamedEntityGraph;
import jakarta.persistence.NamedQuery;
import jakarta.persistence.OneToMany;
import jakarta.persistence.OneToOne;
import jakarta.persistence.OrderBy;
import jakarta.persistence.Table;
import jakarta.persistence.TableGenerator;
import jakarta.persistence.Version;
import java.io.Serializable;
import java.math.BigDecimal;
import java.time.Instant;
import java.time.LocalDate;
import java.util.ArrayList;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Objects;
import java.util.Set;
import java.util.UUID;
import org.hibernate.annotations.CreationTimestamp;
import org.hibernate.annotations.Filter;
import org.hibernate.annotations.FilterDef;
import org.hibernate.annotations.NaturalId;
import org.hibernate.annotations.OnDelete;
import org.hibernate.annotations.OnDeleteAction;
import org.hibernate.annotations.ParamDef;
import org.hibernate.annotations.SQLRestriction;
import org.hibernate.annotations.SoftDelete;
import org.hibernate.annotations.UpdateTimestamp;
import org.hibernate.annotations.View;

/** Entities that refer to each other in each way. */
final class Shop {
    private Shop() {}

    static final Class<?>[] ENTITIES = {
        Kinds.class, Person.class, Customer.class, Employee.class, Payment.class, Card.class, Transfer.class, Shape.class, Circle.class, Square.class, Item.class,
        Purchase.class, Line.class, Rate.class, Passport.class, Counter.class, Note.class, Tag.class, OpenPurchase.class,
    };
}

/** Joined. */
@Entity
@Inheritance(strategy = InheritanceType.JOINED)
@NamedQuery(name = "by name", query = "from Person p where p.name = :name")
class Person {
    @Id @GeneratedValue(strategy = GenerationType.IDENTITY) Integer id;
    @NaturalId @Column(length = 40, nullable = false, unique = true) String name;
    LocalDate born;
    @ManyToOne(fetch = FetchType.LAZY) @JoinColumn(name = "boss_id") Person boss;
    @OneToMany(mappedBy = "boss") @OrderBy("name") List<Person> staff = new ArrayList<>();
    @ManyToMany @JoinTable(name = "friends", joinColumns = @JoinColumn(name = "a"), inverseJoinColumns = @JoinColumn(name = "b"))
    Set<Person> friends = new LinkedHashSet<>();
    @Version long version;

    @Override public String toString() {
        return getClass().getSimpleName() + "(" + name + ")";
    }
}

@Entity
class Customer extends Person {
    BigDecimal credit;
    @OneToMany(mappedBy = "customer", cascade = CascadeType.ALL, orphanRemoval = true) @OrderBy("id") List<Purchase> orders = new ArrayList<>();
}

@Entity
class Employee extends Person {
    @Column(precision = 10, scale = 2) BigDecimal pay;
    String team;
}

/** In a single table. */
@Entity
@Inheritance(strategy = InheritanceType.SINGLE_TABLE)
@DiscriminatorColumn(name = "kind", length = 10)
class Payment {
    @Id @GeneratedValue(strategy = GenerationType.SEQUENCE) Long id;
    @Column(precision = 12, scale = 2) BigDecimal amount;
    @ManyToOne @OnDelete(action = OnDeleteAction.CASCADE) Purchase order;
}

@Entity
@DiscriminatorValue("card")
class Card extends Payment {
    String digits;
}

@Entity
@DiscriminatorValue("transfer")
class Transfer extends Payment {
    String iban;
}

/** A table per class. */
@Entity
@Inheritance(strategy = InheritanceType.TABLE_PER_CLASS)
class Shape {
    @Id @GeneratedValue(strategy = GenerationType.SEQUENCE) Long id;
    String color;
}

@Entity
class Circle extends Shape {
    double radius;
}

@Entity
class Square extends Shape {
    double side;
}

@Entity
class Item {
    @Id @GeneratedValue(strategy = GenerationType.UUID) UUID id;
    @Column(unique = true) String name;
    BigDecimal price;
    @ManyToMany @OrderBy("name") List<Tag> tags = new ArrayList<>();
}

@Entity
@Table(name = "orders")
@NamedEntityGraph(name = "whole", attributeNodes = {@NamedAttributeNode("lines"), @NamedAttributeNode("customer")})
@FilterDef(name = "since", parameters = @ParamDef(name = "day", type = LocalDate.class))
@Filter(name = "since", condition = "day >= :day")
class Purchase {
    @Id @GeneratedValue Long id;
    @ManyToOne(optional = false, fetch = FetchType.LAZY) Customer customer;
    @Column(nullable = false) LocalDate day;
    boolean done;
    @OneToMany(mappedBy = "order", cascade = CascadeType.ALL, orphanRemoval = true) @OrderBy("pieces") Set<Line> lines = new LinkedHashSet<>();
    @CreationTimestamp Instant created;
    @UpdateTimestamp Instant updated;
    @Version Integer version;
}

@Embeddable
class LineId implements Serializable {
    Long order;
    UUID item;

    @Override public boolean equals(Object other) {
        return other instanceof LineId that && Objects.equals(order, that.order) && Objects.equals(item, that.item);
    }

    @Override public int hashCode() {
        return Objects.hash(order, item);
    }
}

@Entity
class Line {
    @EmbeddedId LineId id = new LineId();
    @ManyToOne @MapsId("order") Purchase order;
    @ManyToOne @MapsId("item") Item item;
    int pieces;
}

class RateId implements Serializable {
    String currency;
    LocalDate day;

    @Override public boolean equals(Object other) {
        return other instanceof RateId that && currency.equals(that.currency) && day.equals(that.day);
    }

    @Override public int hashCode() {
        return Objects.hash(currency, day);
    }
}

@Entity
@IdClass(RateId.class)
class Rate {
    @Id @Column(length = 3) String currency;
    @Id LocalDate day;
    @Column(precision = 18, scale = 6) BigDecimal value;
}

@Entity
class Passport {
    @Id Integer id;
    @OneToOne @MapsId Person person;
    String number;
}

@Entity
class Counter {
    @Id @GeneratedValue(strategy = GenerationType.TABLE, generator = "counters") @TableGenerator(name = "counters", table = "counters", allocationSize = 3) Long id;
    long value;
}

@Entity
@Table(schema = "other")
@SQLRestriction("length(body) > 0")
class Note {
    @Id @GeneratedValue(strategy = GenerationType.IDENTITY) Long id;
    @ManyToOne Person person;
    String body;
}

@Entity
@SoftDelete
class Tag {
    @Id String name;
    int rank;
}

@Entity
@Table(name = "unfinished")
@View(query = "select id, customer_id, day from orders where not done")
class OpenPurchase {
    @Id Long id;
    @Column(name = "customer_id") Integer customer;
    LocalDate day;
}
