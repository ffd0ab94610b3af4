"""SQLAlchemy's core and ORM, and Alembic, with psycopg 3."""

import argparse
import datetime as dt
import decimal
import enum
import os
import re
import uuid
from pathlib import Path

import sqlalchemy as sa
from alembic import command
from alembic.autogenerate import compare_metadata, produce_migrations, render_python_code
from alembic.config import Config
from alembic.migration import MigrationContext
from sqlalchemy import orm
from sqlalchemy.dialects import postgresql as pg
from sqlalchemy.ext.hybrid import hybrid_property

from checks import check, section, show

URL = f"postgresql+psycopg://postgres@{os.environ['PGHOST']}:{os.environ['PGPORT']}/{os.environ['PGDATABASE']}"
engine = sa.create_engine(URL)
NAMES = {"ix": "ix_%(column_0_label)s", "uq": "uq_%(table_name)s_%(column_0_name)s", "ck": "ck_%(table_name)s_%(constraint_name)s",
         "fk": "fk_%(table_name)s_%(column_0_name)s_%(referred_table_name)s", "pk": "pk_%(table_name)s"}


class Base(orm.DeclarativeBase):
    metadata = sa.MetaData(naming_convention=NAMES)


class Mood(enum.Enum):
    sad = "s"
    happy = "h"


class Kinds(Base):
    __tablename__ = "kinds"
    id: orm.Mapped[int] = orm.mapped_column(sa.Identity(start=10), primary_key=True)
    big = sa.Column(sa.BigInteger)
    small = sa.Column(sa.SmallInteger)
    boolean = sa.Column(sa.Boolean, server_default=sa.true())
    date = sa.Column(sa.Date)
    moment = sa.Column(sa.DateTime)
    zoned = sa.Column(sa.DateTime(timezone=True), server_default=sa.func.now())
    time = sa.Column(sa.Time)
    interval = sa.Column(sa.Interval)
    double = sa.Column(sa.Double)
    real = sa.Column(sa.REAL)
    numeric = sa.Column(sa.Numeric(12, 4))
    binary = sa.Column(sa.LargeBinary)
    text = sa.Column(sa.Text, comment="any text")
    varchar = sa.Column(sa.String(30), nullable=False, server_default="none")
    char = sa.Column(sa.CHAR(3))
    uuid = sa.Column(sa.Uuid)
    json = sa.Column(sa.JSON)
    jsonb = sa.Column(pg.JSONB)
    mood = sa.Column(sa.Enum(Mood))
    words = sa.Column(pg.ARRAY(sa.Text))
    grid = sa.Column(pg.ARRAY(sa.Integer, dimensions=2))
    inet = sa.Column(pg.INET)
    cidr = sa.Column(pg.CIDR)
    mac = sa.Column(pg.MACADDR)
    bits = sa.Column(pg.BIT(4))
    money = sa.Column(pg.MONEY)
    store = sa.Column(pg.HSTORE)
    ints = sa.Column(pg.INT4RANGE)
    dates = sa.Column(pg.DATERANGE)
    total = sa.Column(sa.Integer, sa.Computed("small * 2", persisted=True))
    __table_args__ = (
        sa.CheckConstraint("small > -100", name="small"), sa.Index("ix_low", sa.func.lower(text)), sa.Index("ix_some", date.desc(), postgresql_where=boolean),
        sa.Index("ix_jsonb", "jsonb", postgresql_using="gin"), sa.Index("ix_words", "words", postgresql_using="gin"), sa.Index("ix_with", "big", postgresql_include=["small"]),
        sa.UniqueConstraint("varchar", "char", deferrable=True, initially="DEFERRED"), {"comment": "all kinds"},
    )


friends = sa.Table("friends", Base.metadata, sa.Column("a", sa.ForeignKey("people.id", ondelete="CASCADE"), primary_key=True), sa.Column("b", sa.ForeignKey("people.id"), primary_key=True))


class Person(Base):
    __tablename__ = "people"
    id: orm.Mapped[int] = orm.mapped_column(primary_key=True)
    name: orm.Mapped[str] = orm.mapped_column(sa.String(40), unique=True)
    kind: orm.Mapped[str] = orm.mapped_column(sa.String(10), server_default="person")
    boss_id: orm.Mapped[int | None] = orm.mapped_column(sa.ForeignKey("people.id", deferrable=True, initially="DEFERRED"), index=True)
    version: orm.Mapped[int] = orm.mapped_column()
    boss = orm.relationship("Person", remote_side=[id], back_populates="staff")
    staff = orm.relationship("Person", back_populates="boss", order_by="Person.id")
    friends = orm.relationship("Person", secondary=friends, primaryjoin=id == friends.c.a, secondaryjoin=id == friends.c.b, order_by="Person.id")
    notes = orm.relationship("Note", back_populates="person", cascade="all, delete-orphan", order_by="Note.id")
    count = orm.column_property(sa.literal(0))
    __mapper_args__ = {"polymorphic_on": kind, "polymorphic_identity": "person", "version_id_col": version}

    @hybrid_property
    def shout(self):
        return self.name.upper()

    @shout.inplace.expression
    @classmethod
    def _shout(cls):
        return sa.func.upper(cls.name)


class Coder(Person):
    __tablename__ = "coders"
    id: orm.Mapped[int] = orm.mapped_column(sa.ForeignKey("people.id"), primary_key=True)
    language: orm.Mapped[str]
    __mapper_args__ = {"polymorphic_identity": "coder"}


class Note(Base):
    __tablename__ = "notes"
    __table_args__ = {"schema": "other"}
    id: orm.Mapped[uuid.UUID] = orm.mapped_column(primary_key=True, server_default=sa.text("gen_random_uuid()"))
    person_id: orm.Mapped[int] = orm.mapped_column(sa.ForeignKey("people.id", ondelete="CASCADE", onupdate="CASCADE"))
    body: orm.Mapped[str]
    person = orm.relationship(Person, back_populates="notes")


sequence = sa.Sequence("numbers", start=5, increment=3, metadata=Base.metadata)

# -- Alembic: upgrade by what autogenerate writes, compare, and back

Path("versions").mkdir()
Path("env.py").write_text("""
from alembic import context
connection = context.config.attributes["connection"]
context.configure(connection=connection, target_metadata=context.config.attributes["metadata"], include_schemas=True, compare_type=True, compare_server_default=True)
with context.begin_transaction():
    context.run_migrations()
""")
Path("script.py.mako").write_text('''"""${message}"""
from alembic import op
import sqlalchemy as sa
from sqlalchemy import Text
from sqlalchemy.dialects import postgresql
revision = ${repr(up_revision)}
down_revision = ${repr(down_revision)}

def upgrade():
    ${upgrades if upgrades else "pass"}

def downgrade():
    ${downgrades if downgrades else "pass"}
''')
config = Config(cmd_opts=argparse.Namespace(quiet=True), stdout=open(os.devnull, "w"))
config.set_main_option("script_location", ".")
config.attributes["metadata"] = Base.metadata

with engine.begin() as connection:
    connection.execute(sa.text("CREATE SCHEMA other"))
    connection.execute(sa.text("CREATE EXTENSION IF NOT EXISTS hstore"))


def alembic(function, *arguments, metadata=Base.metadata, **options):
    with engine.begin() as connection:
        config.attributes |= {"connection": connection, "metadata": metadata}
        function(config, *arguments, **options)


def difference(metadata=Base.metadata):
    with engine.connect() as connection:
        context = MigrationContext.configure(connection, opts={"include_schemas": True, "compare_type": True, "compare_server_default": True, "target_metadata": metadata})
        found = [re.sub(" object at 0x[0-9a-f]+| at 0x[0-9a-f]+", "", str(each)) for each in compare_metadata(context, metadata)]
        return [each for each in found if "alembic_version" not in each]


def changed():
    """The models as they are later: every kind of change that autogenerate detects."""
    later = sa.MetaData(naming_convention=NAMES)
    for table in Base.metadata.tables.values():
        table.to_metadata(later)
    kinds, people, notes = later.tables["kinds"], later.tables["people"], later.tables["other.notes"]
    kinds.append_column(sa.Column("new", sa.Numeric(6, 1), nullable=False, server_default="0.5", comment="a new one"))
    kinds.append_column(sa.Column("tags", pg.ARRAY(sa.String(9)), server_default="{}"))
    kinds.append_column(sa.Column("owner", sa.Uuid, sa.ForeignKey("owners.key", name="owned", onupdate="CASCADE", ondelete="SET NULL", deferrable=True, initially="DEFERRED")))
    kinds.append_constraint(sa.UniqueConstraint("big", "small", name="both", postgresql_nulls_not_distinct=True))
    kinds.c.text.nullable, kinds.c.text.comment, kinds.c.text.server_default = False, "another", sa.DefaultClause("none")
    # A column that gets shorter comes last: that one does in any case.
    later.tables["coders"].c.language.type = sa.String(50)
    kinds.c.zoned.server_default = None
    kinds.c.boolean.server_default = sa.DefaultClause(sa.false())
    kinds.comment = "all kinds, later"
    kinds.indexes -= {index for index in kinds.indexes if index.name in ("ix_low", "ix_some")}
    sa.Index("ix_low", sa.func.upper(kinds.c.text))
    sa.Index("ix_more", kinds.c.moment, kinds.c.time.desc().nulls_last(), unique=True, postgresql_where=kinds.c.big > 5, postgresql_include=["small"])
    sa.Index("ix_like", kinds.c.varchar, postgresql_ops={"varchar": "varchar_pattern_ops"})
    sa.Index("ix_name", people.c.name, postgresql_using="hash")
    notes.constraints -= {key for key in notes.constraints if isinstance(key, sa.ForeignKeyConstraint)}
    notes.append_constraint(sa.ForeignKeyConstraint(["person_id"], ["people.id"], name="of_person"))
    sa.Table("owners", later, sa.Column("key", sa.Uuid, primary_key=True, server_default=sa.text("gen_random_uuid()")), sa.Column("size", sa.Enum("small", "large", name="sizes"), server_default="small"),
             sa.Column("n", sa.BigInteger, sa.Identity(always=True, start=7, increment=2)), sa.Column("twice", sa.BigInteger, sa.Computed("length(name) * 2")), sa.Column("name", sa.Text, unique=True), sa.CheckConstraint("length(name) > 1", name="long"))
    later.remove(later.tables["friends"])
    return later


check("the first revision", lambda: alembic(command.revision, "first", autogenerate=True, rev_id="1"))
text = next(Path("versions").glob("1_*.py"))
show("its operations", [line.strip().split("(")[0] for line in text.read_text().splitlines() if line.strip().startswith("op.")])
# Alembic writes no CREATE SEQUENCE.
text.write_text(text.read_text().replace("def upgrade():\n", 'def upgrade():\n    op.execute("CREATE SEQUENCE numbers START 5 INCREMENT 3")\n'))
check("upgrade", lambda: alembic(command.upgrade, "head"))
check("no difference", difference)
later = changed()
check("differences of changed models", lambda: sorted(difference(later)))
check("the second revision", lambda: alembic(command.revision, "changed", autogenerate=True, rev_id="later", metadata=later))
second = next(Path("versions").glob("later_*.py"))
show("its text", second.read_text())
check("upgrade to what changed", lambda: alembic(command.upgrade, "head", metadata=later))
check("no difference of changed models", lambda: difference(later))
check("nothing to be done", lambda: alembic(command.check, metadata=later))
check("differences of earlier models", lambda: sorted(difference()))
check("downgrade of what changed", lambda: (alembic(command.downgrade, "1", metadata=later), second.unlink(), sa.Enum(name="sizes").drop(engine))[1:])
check("no difference after it", difference)
check("current revision", lambda: (alembic(command.stamp, "base"), alembic(command.stamp, "1")))
Path("versions/2_more.py").write_text('''
from alembic import op
import sqlalchemy as sa
revision, down_revision = "2", "1"

def upgrade():
    op.add_column("people", sa.Column("email", sa.String(50), nullable=True))
    op.create_index("ix_email", "people", ["email"], unique=True, postgresql_where=sa.text("email IS NOT NULL"))
    op.alter_column("people", "name", type_=sa.String(80), existing_type=sa.String(40))
    op.alter_column("kinds", "varchar", new_column_name="words_of", server_default=None)
    op.alter_column("kinds", "text", nullable=False, server_default="x")
    op.execute("UPDATE people SET email = name")
    op.drop_constraint("ck_kinds_small", "kinds")
    op.create_check_constraint("positive", "kinds", "small > 0")
    op.create_unique_constraint("once", "notes", ["body"], schema="other")
    op.rename_table("friends", "friendships")
    op.create_table_comment("people", "those who are there")
    op.execute("ALTER TYPE mood ADD VALUE 'calm'")

def downgrade():
    op.drop_table_comment("people")
    op.rename_table("friendships", "friends")
    op.drop_constraint("once", "notes", schema="other")
    op.drop_constraint("ck_kinds_positive", "kinds")
    op.create_check_constraint("small", "kinds", "small > -100")
    op.alter_column("kinds", "text", nullable=True, server_default=None)
    op.alter_column("kinds", "words_of", new_column_name="varchar", server_default="none")
    op.alter_column("people", "name", type_=sa.String(40), existing_type=sa.String(80))
    op.drop_index("ix_email", "people")
    op.drop_column("people", "email")
''')
check("upgrade 2", lambda: alembic(command.upgrade, "head"))
check("differences", lambda: sorted(each.split(",")[0] for each in difference()))
check("downgrade 2", lambda: alembic(command.downgrade, "1"))
check("no difference again", difference)
check("current", lambda: alembic(command.current))

# -- reflection

inspector = sa.inspect(engine)
for table, schema in (("kinds", None), ("people", None), ("coders", None), ("friends", None), ("notes", "other")):
    for what in ("columns", "pk_constraint", "foreign_keys", "indexes", "unique_constraints", "check_constraints", "table_comment"):
        value = lambda: getattr(inspector, f"get_{what}")(table, schema=schema)
        if what == "columns":
            check(f"reflected {table} {what}", lambda: [{key: repr(part) for key, part in column.items()} for column in value()])
        elif what in ("pk_constraint", "table_comment"):
            check(f"reflected {table} {what}", value)
        else:
            check(f"reflected {table} {what}", lambda: sorted(map(str, value())))
check("reflected names", lambda: (sorted(inspector.get_table_names()), inspector.get_view_names(), sorted(inspector.get_schema_names()), sorted(inspector.get_sequence_names()), inspector.get_materialized_view_names()))
check("reflected enums", lambda: inspector.get_enums())
check("has table", lambda: (inspector.has_table("kinds"), inspector.has_table("none"), inspector.has_sequence("numbers"), inspector.has_index("kinds", "ix_low"), inspector.has_schema("other")))
check("sorted tables", lambda: [(table, sorted(keys)) for table, keys in inspector.get_sorted_table_and_fkc_names()])


def reflected():
    metadata = sa.MetaData()
    metadata.reflect(engine)
    return sorted((table.name, len(table.columns), len(table.constraints), len(table.indexes)) for table in metadata.tables.values())


check("reflected metadata", reflected)
check("multi reflection", lambda: {str(key): len(found) for key, found in sorted(inspector.get_multi_columns(kind=sa.engine.reflection.ObjectKind.ANY).items())})
with engine.begin() as connection, section("views"):
    connection.execute(sa.text("CREATE VIEW seen AS SELECT id, name FROM people WHERE boss_id IS NULL"))
    connection.execute(sa.text("CREATE MATERIALIZED VIEW kept AS SELECT count(*) AS n FROM people"))
    connection.execute(sa.text("CREATE DOMAIN positive AS int CONSTRAINT above CHECK (VALUE > 0)"))
inspector = sa.inspect(engine)
check("view names", lambda: (inspector.get_view_names(), inspector.get_materialized_view_names(), inspector.get_view_definition("seen"), [c["name"] for c in inspector.get_columns("kept")]))
check("domains", lambda: inspector.get_domains())

# -- values

kinds = Kinds.__table__
FULL = dict(
    big=2**63 - 1, small=-7, boolean=False, date=dt.date(2024, 2, 29), moment=dt.datetime(2024, 3, 10, 8, 30, 0, 123456), zoned=dt.datetime(2024, 3, 10, 8, 30, tzinfo=dt.timezone.utc),
    time=dt.time(23, 59, 59, 999999), interval=dt.timedelta(days=3, seconds=-5), double=1.5e-7, real=0.25, numeric=decimal.Decimal("12345678.1234"), binary=b"\x00\xff'", text="Zoë\n'q'", varchar="v", char="ab",
    uuid=uuid.UUID(int=7), json={"a": [1, None]}, jsonb={"k": {"n": [1, 2, 3]}, "s": "x"}, mood=Mood.happy, words=["a", "b c", None, 'q"'], grid=[[1, 2], [3, 4]], inet="10.0.0.1/8", cidr="10.0.0.0/8",
    mac="08:00:2b:01:02:03", bits="1010", money="$12.50", store={"a": "b", "n": None}, ints=pg.Range(1, 5), dates=pg.Range(dt.date(2024, 1, 1), None),
)


def round_trip(name):
    with engine.begin() as connection:
        connection.execute(sa.delete(kinds))
        connection.execute(sa.insert(kinds).values({name: FULL[name]}))
        return connection.execute(sa.select(kinds.c[name])).scalar_one()


for name in FULL:
    check(f"round trip {name}", lambda: round_trip(name))


def core(name, *statements):
    """Each check has a transaction of its own, which is undone."""
    def run():
        found = []
        with engine.connect() as connection:
            for statement in statements:
                result = connection.execute(statement)
                found.append([tuple(row) for row in result] if result.returns_rows else result.rowcount)
            connection.rollback()
        return found
    check(f"core {name}", run)


with engine.begin() as connection:
    connection.execute(sa.delete(kinds))
    connection.execute(sa.insert(kinds), [dict(id=n, big=n * 10, small=n, varchar=f"v{n}", char="abc", text=f"Text {n % 3}", date=dt.date(2024, 1, n), numeric=decimal.Decimal(n) / 4, jsonb={"n": n, "l": list(range(n)), "o": {"x": n % 2 == 0}},
                                             words=[f"w{n % 4}", "all"], mood=Mood.sad if n % 2 else Mood.happy, ints=pg.Range(n, n + 3), zoned=dt.datetime(2024, 1, n, tzinfo=dt.timezone.utc), moment=dt.datetime(2024, 1, n, n), interval=dt.timedelta(hours=n)) for n in range(1, 13)])
k = kinds.c
up = k.id
upsert = pg.insert(kinds).values(id=1, varchar="again", small=50)
tree = sa.select(sa.literal(1).label("n")).cte("tree", recursive=True)
tree = tree.union_all(sa.select(tree.c.n + 1).where(tree.c.n < 5))
gone = sa.delete(kinds).where(k.small > 10).returning(k.id).cte("gone")
one = sa.select(sa.func.max(k.big)).scalar_subquery()
lateral = sa.select(sa.func.unnest(k.words).label("w")).lateral("l")
values = sa.values(sa.column("a", sa.Integer), sa.column("b", sa.Text), name="v").data([(1, "x"), (2, "y")])
core("insertmanyvalues", sa.insert(kinds).values([dict(varchar=f"m{n}", small=n) for n in range(20, 23)]).returning(k.varchar, k.total))
core("returning", sa.update(kinds).where(k.id < 3).values(small=k.small + 1).returning(k.id, k.small, k.total), sa.delete(kinds).where(k.id == 4).returning(k.varchar))
core("on conflict", upsert.on_conflict_do_update(index_elements=[k.id], set_=dict(small=upsert.excluded.small), where=k.small < 10).returning(k.id, k.small, k.varchar))
core("on conflict do nothing", upsert.on_conflict_do_nothing())
core("cte", sa.select(tree.c.n).order_by(tree.c.n), sa.select(gone.c.id).order_by(gone.c.id))
core("update from", sa.update(kinds).values(text=values.c.b).where(k.id == values.c.a).returning(k.id, k.text), sa.select(values).order_by(values.c.a))
core("window", sa.select(k.id, sa.func.row_number().over(partition_by=k.text, order_by=k.id.desc()), sa.func.sum(k.big).over(order_by=k.id, rows=(-1, 1)), sa.func.lag(k.id, 1).over(order_by=k.id), sa.func.avg(k.small).over(range_=(None, 0), order_by=k.id)).order_by(k.id))
core("json", sa.select(k.jsonb["n"].as_integer(), k.jsonb["o"]["x"], k.jsonb[("o", "x")].astext, k.json["a"]).where(k.jsonb["n"].as_integer() > 10).order_by(up), sa.select(up).where(k.jsonb.contains({"n": 3})), sa.select(up).where(k.jsonb.has_key("n") & k.jsonb.has_all(pg.array(["o", "l"]))).order_by(up).limit(2),
     sa.select(k.jsonb.path_exists(sa.cast("$.l[*] ? (@ > 9)", pg.JSONPATH))).order_by(up), sa.select(sa.func.jsonb_path_query_array(k.jsonb, sa.cast("$.l[1 to 2]", pg.JSONPATH))).order_by(up).limit(4), sa.select(k.jsonb - "l", k.jsonb.concat({"z": 1})).where(up == 2))
core("array", sa.select(up).where(k.words.contains(["w1"])).order_by(up), sa.select(up).where(k.words.overlap(["w2", "zz"])).order_by(up), sa.select(k.words[1], k.words[1:1], sa.func.array_length(k.words, 1), sa.func.cardinality(k.words)).where(up == 1), sa.select(up).where(sa.any_(k.words) == "w3").order_by(up),
     sa.select(sa.func.array_agg(pg.aggregate_order_by(k.varchar, up.desc())).filter(up < 4)), sa.select(pg.array([1, 2]) + pg.array([3])), sa.select(sa.func.array_append(k.words, "z")).where(up == 1))
core("range", sa.select(up).where(k.ints.contains(4)).order_by(up), sa.select(up).where(k.ints.overlaps(pg.Range(1, 2))), sa.select(k.ints * pg.Range(2, 9, bounds="[]")).where(up < 4).order_by(up))
core("aggregates", sa.select(k.text, sa.func.count(), sa.func.sum(k.numeric), sa.func.string_agg(k.varchar, pg.aggregate_order_by(sa.literal(","), k.varchar))).group_by(k.text).having(sa.func.count() > 2).order_by(k.text), sa.select(sa.func.percentile_cont(0.5).within_group(k.numeric), sa.func.mode().within_group(k.text.desc())),
     sa.select(k.text, k.mood, sa.func.count()).group_by(sa.func.grouping_sets(sa.tuple_(k.text), sa.tuple_(k.mood))).order_by(k.text, k.mood), sa.select(k.text, sa.func.sum(k.small)).group_by(sa.func.rollup(k.text)).order_by(k.text))
core("lateral", sa.select(up, lateral.c.w).join(lateral, sa.true()).where(up < 3).order_by(up, lateral.c.w), sa.select(sa.func.generate_series(1, 3).alias("g").column), sa.select(sa.func.json_each_text(sa.cast({"a": 1}, sa.JSON)).table_valued("key", "value")), sa.select(sa.func.unnest(pg.array(["a", "b"])).table_valued("v", with_ordinality="o").render_derived()))
core("sets", sa.union(sa.select(up).where(up < 3), sa.select(up).where(up < 4)).order_by("id"), sa.except_(sa.select(up), sa.select(up).where(up > 2)).order_by("id"), sa.intersect_all(sa.select(k.text), sa.select(sa.literal("Text 1"))))
core("operators", sa.select(up).where(k.varchar.ilike("V1%") & k.varchar.notin_(["v11"]) | k.varchar.regexp_match("^v[23]$")).order_by(up), sa.select(k.varchar.regexp_replace("v", "w"), k.varchar + "x", k.text.collate("C"), sa.cast(k.numeric, sa.Integer), sa.extract("dow", k.date), sa.func.date_trunc("month", k.date), sa.func.to_char(k.date, "YYYY Mon")).where(up == 3),
     sa.select(up).where(sa.tuple_(k.id, k.varchar).in_([(1, "v1"), (2, "no")])), sa.select(sa.case((k.small > 5, "many"), else_="few"), sa.func.coalesce(k.char, "-"), k.small.is_distinct_from(None), sa.between(k.small, 1, 3), k.small % 3, k.small.op("&")(1), -k.small, k.interval * 2, k.moment - k.interval).where(up == 6),
     sa.select(up).where(k.mood == Mood.happy).order_by(k.mood, up.desc()).limit(2).offset(1), sa.select(up).where(up > one / 11).order_by(up), sa.select(k.text).distinct(k.text).order_by(k.text, up), sa.select(sa.exists().where(up == 99)), sa.select(up).order_by(k.real.nulls_first(), up).fetch(2), sa.select(up).where(up == sa.func.any(pg.array([1, 2]))).order_by(up),
     sa.select(up).where(k.date.between(dt.date(2024, 1, 2), dt.date(2024, 1, 3))).order_by(up), sa.select(sa.func.timezone("America/Chicago", k.zoned)).where(up == 1), sa.select(up).tablesample(100).limit(0) if hasattr(sa.Select, "tablesample") else sa.select(up).limit(0))
core("locks", sa.select(up).where(up == 1).with_for_update(skip_locked=True), sa.select(up).where(up == 1).with_for_update(nowait=True, of=kinds), sa.select(up).where(up == 1).with_for_update(read=True), sa.select(up).where(up == 1).with_for_update(key_share=True))
core("sequence", sa.select(sequence.next_value()), sa.select(sa.func.currval("numbers")))


def executemany():
    with engine.connect() as connection:
        made = connection.execute(sa.insert(kinds).returning(k.id, k.varchar, sort_by_parameter_order=True), [dict(varchar=f"e{n}") for n in range(2500)]).all()
        rowcount = connection.execute(sa.update(kinds).where(k.id == sa.bindparam("i")).values(small=sa.bindparam("s")), [dict(i=n, s=n + 1) for n in range(1, 6)]).rowcount
        connection.rollback()
        return len(made), made[0][1], made[-1][1], rowcount


check("executemany", executemany)


def streamed():
    with engine.connect().execution_options(stream_results=True, max_row_buffer=5) as connection:
        result = connection.execute(sa.select(up).order_by(up))
        return [len(part) for part in result.partitions(5)]


check("streamed", streamed)


def isolation(level):
    with engine.connect().execution_options(isolation_level=level) as connection:
        return connection.get_isolation_level(), connection.execute(sa.text("SELECT 1")).scalar()


for level in ("SERIALIZABLE", "REPEATABLE READ", "READ COMMITTED", "AUTOCOMMIT"):
    check(f"isolation {level}", lambda: isolation(level))

# -- ORM

Session = orm.sessionmaker(engine)
with Session.begin() as session, section("people"):
    boss = Person(name="Bea", notes=[Note(body="first"), Note(body="second")])
    session.add_all([boss, Person(name="Carl", boss=boss, friends=[boss]), Coder(name="Dora", boss=boss, language="Rust", notes=[Note(body="third")]), Coder(name="Emil", language="C")])


def orm_check(name, function):
    def run():
        with Session() as session:
            return function(session)
    check(name if name.startswith("error") else f"orm {name}", run)


def described(people):
    return [(type(p).__name__, p.name, p.boss and p.boss.name, [s.name for s in p.staff], sorted(n.body for n in p.notes), [f.name for f in p.friends], getattr(p, "language", None)) for p in people]


for loading in (orm.lazyload, orm.joinedload, orm.selectinload, orm.subqueryload):
    options = [loading(getattr(Person, name)) for name in ("boss", "staff", "notes", "friends")]
    orm_check(f"loading {loading.__name__}", lambda s: described(s.scalars(sa.select(Person).options(*options).order_by(Person.id)).unique()))
orm_check("polymorphic", lambda s: described(s.scalars(sa.select(orm.with_polymorphic(Person, [Coder])).order_by("id").where(Person.id > 0)).unique().all()[:0]) or [c.language for c in s.scalars(sa.select(Coder).order_by(Coder.name))])
orm_check("selectin polymorphic", lambda s: described(s.scalars(sa.select(Person).options(orm.selectin_polymorphic(Person, [Coder])).order_by(Person.name))))
orm_check("joins", lambda s: [tuple(row) for row in s.execute(sa.select(Person.name, sa.func.count(Note.id)).outerjoin(Person.notes).group_by(Person.name).order_by(Person.name))])
orm_check("any and has", lambda s: (s.scalars(sa.select(Person.name).where(Person.notes.any(Note.body == "third"))).all(), s.scalars(sa.select(Person.name).where(Person.boss.has(name="Bea")).order_by(Person.name)).all()))
orm_check("hybrid", lambda s: s.scalars(sa.select(Person.shout).where(Person.shout == "BEA")).all())
orm_check("contains_eager", lambda s: [(p.name, len(p.notes)) for p in s.scalars(sa.select(Person).join(Person.notes).options(orm.contains_eager(Person.notes)).where(Note.body != "first").order_by(Person.name)).unique()])
orm_check("get", lambda s: (s.get(Person, 1).name, s.get(Coder, 1), s.get(Person, 99)))
orm_check("yield_per", lambda s: [p.name for p in s.scalars(sa.select(Person).order_by(Person.id).execution_options(yield_per=2))])


def change(session):
    dora = session.scalars(sa.select(Coder).where(Coder.name == "Dora")).one()
    dora.language, dora.notes, dora.name = "Go", [Note(body="fourth")], "Dorothy"
    session.flush()
    with session.begin_nested() as point:
        session.add(Person(name="Nested"))
        session.flush()
        point.rollback()
    session.delete(session.scalars(sa.select(Person).where(Person.name == "Emil")).one())
    session.commit()
    return described(session.scalars(sa.select(Person).order_by(Person.id))), session.scalars(sa.select(Note.body).order_by(Note.body)).all(), dora.version


orm_check("unit of work", change)


def stale(session):
    with Session.begin() as other:
        person = session.get(Person, 1)
        other.get(Person, 1).name = "Bee"
        other.flush()
    person.name = "Late"
    session.flush()


orm_check("error of a stale row", stale)
orm_check("bulk", lambda s: (sorted(s.scalars(sa.insert(Person).returning(Person.name), [dict(name=f"b{n}", version=1) for n in range(3)])), s.execute(sa.update(Person).where(Person.name.like("b%")).values(name=Person.name + "!")).rowcount, s.execute(sa.delete(Person).where(Person.name.like("b%!")).execution_options(synchronize_session="fetch")).rowcount,
                             [p.name for p in s.scalars(pg.insert(Person).values(name="Bee", version=1).on_conflict_do_update(index_elements=["name"], set_=dict(version=9)).returning(Person), execution_options={"populate_existing": True})]))

# -- errors

ERRORS = dict(
    unique=sa.insert(Person.__table__).values(name="Bee", version=1), not_null=sa.insert(Person.__table__).values(version=1), foreign_key=sa.insert(Note.__table__).values(person_id=99, body="x"), check=sa.insert(kinds).values(small=-500),
    too_long=sa.insert(kinds).values(varchar="x" * 31), enum=sa.text("SELECT 'angry'::mood"), syntax=sa.text("SELEC 1"), no_table=sa.text("SELECT * FROM nowhere"), no_column=sa.text("SELECT nothing FROM kinds"), zero=sa.text("SELECT 1/0"), cast=sa.text("SELECT 'x'::int"),
    range=sa.text("SELECT 2147483647 + 1"), generated=sa.text("UPDATE kinds SET total = 1"), always=sa.insert(kinds).values(id=1), deferred=sa.insert(kinds).values(varchar="v1", char="abc"), timeout=sa.text("SET statement_timeout = 50; SELECT pg_sleep(2)"), date=sa.text("SELECT '2024-02-30'::date"),
)


def failing(statement):
    with engine.begin() as connection:
        connection.execute(statement)


for name, statement in ERRORS.items():
    check(f"error {name}", lambda: failing(statement))


def pooled():
    pool = sa.create_engine(URL, pool_size=2, max_overflow=0, pool_pre_ping=True)
    with pool.connect() as a, pool.connect() as b:
        pids = [c.execute(sa.text("SELECT pg_backend_pid()")).scalar() for c in (a, b)]
    with engine.connect() as killer:
        ended = [killer.execute(sa.text("SELECT pg_terminate_backend(:p)"), {"p": pid}).scalar() for pid in pids]
    with pool.connect() as again:
        new = again.execute(sa.text("SELECT pg_backend_pid()")).scalar() not in pids
    pool.dispose()
    return ended, new


check("a pool whose sessions were ended", pooled)
with engine.begin() as connection, section("no views"):
    connection.execute(sa.text("DROP VIEW seen; DROP MATERIALIZED VIEW kept; DROP DOMAIN positive"))
check("downgrade", lambda: alembic(command.downgrade, "base"))
check("what is left", lambda: sorted(sa.inspect(engine).get_table_names()))
check("drop all", lambda: Base.metadata.drop_all(engine))
check("create all", lambda: Base.metadata.create_all(engine))
check("drop all again", lambda: Base.metadata.drop_all(engine))
