"""A Django project: two rounds of migrations, and what the ORM can ask."""

import datetime as dt
import io
import os
import subprocess
import sys
import threading
import uuid
from decimal import Decimal
from pathlib import Path

from checks import check, section, show

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), os.getcwd()]
for folder in map(Path, ("written", "written_texts")):
    folder.mkdir()
    (folder / "__init__.py").touch()


def manage(version, *arguments):
    done = subprocess.run([sys.executable, HERE / "manage.py", *arguments], env=os.environ | {"VERSION": version},
                          stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    if done.returncode:
        print(done.stdout, file=sys.stderr)
        # The rest of a trace says where in the library.
        return done.returncode, next(line for line in reversed(done.stdout.splitlines()) if "Error" in line)
    return done.returncode, done.stdout


EXTENSIONS = """
from django.contrib.postgres.operations import CITextExtension, CryptoExtension, HStoreExtension, TrigramExtension
from django.db import migrations

class Migration(migrations.Migration):
    initial = True
    operations = [HStoreExtension(), TrigramExtension(), CITextExtension(), CryptoExtension()]
"""
Path("written/0001_initial.py").write_text(EXTENSIONS)

show("an application with texts to search", [manage("1", *words) for words in (["makemigrations", "texts"], ["migrate", "texts", "--verbosity", "1"])])
for version in ("1", "2", "3"):
    show(f"makemigrations {version}", manage(version, "makemigrations", "shop", "--name", f"round{version}")[0])
    show(f"migrate {version}", [manage(version, "migrate", app, "--verbosity", "1") for app in ("auth", "contenttypes", "admin", "sessions", "sites", "shop")])
    show(f"nothing is left {version}", manage(version, "makemigrations", "--check", "--dry-run"))

os.environ["DJANGO_SETTINGS_MODULE"] = "settings"
import django

django.setup()

from django.contrib.auth import authenticate
from django.contrib.auth.models import Group, Permission, User
from django.contrib.postgres import aggregates as pga
from django.core.cache import cache
from django.core.management import call_command
from django.db import DatabaseError, connection, transaction
from django.db.backends.postgresql.psycopg_any import DateRange, NumericRange
from django.db.models import (
    Avg, Case, CharField, Count, Exists, F, FilteredRelation, IntegerField, Max, Min, OuterRef, Prefetch, ProtectedError, Q,
    RestrictedError, StdDev, Subquery, Sum, Value, Variance, When, Window,
)
from django.db.models import functions as fn
from django.test import Client

from texts.models import Document
from shop.models import Animal, Author, Book, Dog, Every, Tag, Tagging

UTC = dt.timezone.utc
A, B, C = (uuid.UUID(int=n) for n in (1, 2, 3))


def command(*arguments, **options):
    out = io.StringIO()
    call_command(*arguments, stdout=out, **options)
    return out.getvalue()


def names(query, field="pk"):
    return list(query.order_by("pk").values_list(field, flat=True))


def raises(name, function):
    """What fails is undone alone."""
    def run():
        with transaction.atomic():
            return function()
    check(name, run)


# -- the values of every type

FULL = dict(
    big=2**63 - 1, binary=b"\x00\x01\xff", boolean=False, char="Zoë \U0001f600", date=dt.date(2024, 2, 29),
    datetime=dt.datetime(2024, 3, 10, 8, 30, 0, 123456, UTC), decimal=Decimal("12345.678"),
    duration=dt.timedelta(days=3, hours=-5, microseconds=7), email="a@example.org", file="a/b.txt", filepath="/etc/hosts",
    float=1.5e-7, ip="2001:db8::1", integer=-2147483648, json={"a": [1, 2, {"b": None}], "ü": "x", "n": 1.5, "t": True},
    positive_big=5, positive=6, positive_small=7, slug="a-b", small=-32768, text="line\nline\t'quoted'", time=dt.time(23, 59, 59, 999999),
    url="https://example.org/", uuid=A, words=["a", "b c", 'd"'], grid=[[1, 2], [3, 4]], store={"k": "v", "n": None},
    integers=NumericRange(1, 5), bigs=NumericRange(None, 9), decimals=NumericRange(Decimal("1.5"), Decimal("2.5")),
    dates=DateRange(dt.date(2024, 1, 1), dt.date(2024, 2, 1)), datetimes=None,
)


def write_and_read():
    made = Every.objects.create(**FULL)
    read = Every.objects.get(pk=made.pk)
    return {field: getattr(read, field) if field != "binary" else bytes(read.binary) for field in FULL}, read.shout, read.added


check("every type", write_and_read)
check("every default", lambda: Every.objects.create(char="plain").refresh_from_db())
check("db_default", lambda: Every.objects.get(char="plain").stamped is not None)
check("bulk_create", lambda: len(Every.objects.bulk_create(
    [Every(char=f"row {n}", email=f"row {n}", integer=n, small=n % 7, float=n / 4, date=dt.date(2024, 1, 1) + dt.timedelta(n), words=[f"w{n % 3}", "all"],
           datetime=dt.datetime(2024, 1, 1, tzinfo=UTC) + dt.timedelta(hours=n * 7), json={"n": n, "list": [n, n + 1], "deep": {"x": str(n)}},
           integers=NumericRange(n, n + 10), text="Some Text" if n % 2 else "100%_\\", decimal=Decimal(n) / 8, store={"n": str(n)},
           duration=dt.timedelta(minutes=n), time=dt.time(n % 24, 5), ip=f"10.0.0.{n}", uuid=uuid.UUID(int=n)) for n in range(1, 51)])))

# -- lookups

LOOKUPS = dict(
    exact=Q(char__exact="row 7"), iexact=Q(char__iexact="ROW 7"), contains=Q(text__contains="%_\\"), icontains=Q(text__icontains="some t"),
    startswith=Q(char__startswith="row 1"), istartswith=Q(char__istartswith="ROW 2"), endswith=Q(char__endswith="9"), iendswith=Q(char__iendswith="W 9"),
    regex=Q(char__regex=r"^row [1-3]$"), iregex=Q(char__iregex=r"^ROW \d0$"), isin=Q(integer__in=[1, 2, 99]), gt=Q(integer__gt=47), gte=Q(integer__gte=49),
    lt=Q(integer__lt=3), lte=Q(integer__lte=2), between=Q(integer__range=(5, 7)), isnull=Q(date__isnull=True), date=Q(datetime__date=dt.date(2024, 1, 3)),
    year=Q(date__year=2024, integer__lt=4), iso_year=Q(date__iso_year=2024, integer__lt=3), month=Q(datetime__month=1, integer__gt=40),
    day=Q(datetime__day=2), week=Q(date__week=2), weekday=Q(datetime__week_day=1), iso_weekday=Q(date__iso_week_day=7), quarter=Q(date__quarter=1, small=3),
    hour=Q(datetime__hour=3), hour_of_time=Q(time__hour__gte=22), minute=Q(time__minute=5, integer__lt=5), second=Q(time__second=0, integer__lt=3),
    time=Q(datetime__time=dt.time(1, 0)), f=Q(integer=F("small")), arithmetic=Q(integer__gt=F("small") * 7 + 1), decimal=Q(decimal=Decimal("0.125")),
    negated=~Q(text="Some Text") & Q(integer__lt=9), either=Q(integer=3) | Q(char="row 4"), either_alone=Q(integer=3) ^ Q(small=3),
    uuid=Q(uuid__in=[uuid.UUID(int=4)]), duration=Q(duration__lt=dt.timedelta(minutes=3)), ip=Q(ip__startswith="10.0.0.2"), ip_equal=Q(ip="10.0.0.2"),
    json_key=Q(json__n=5), json_path=Q(json__list__0=5), json_deep=Q(json__deep__x="6"), json_contains=Q(json__contains={"deep": {"x": "7"}}),
    json_contained=Q(json__contained_by={"n": 1, "list": [1, 2], "deep": {"x": "1"}, "more": 1}), json_has=Q(json__has_key="a"), json_any=Q(json__has_any_keys=["a", "zz"]),
    json_all=Q(json__has_keys=["n", "list"], integer__lt=3), json_null=Q(json__a__isnull=True, integer__lt=3), json_gt=Q(json__n__gt=48),
    json_icontains=Q(json__deep__x__icontains="4", integer__gt=40), json_in=Q(json__n__in=[1, 2]), json_none=Q(json__a__2__b=None),
    array=Q(words=["w1", "all"], integer__lt=5), array_contains=Q(words__contains=["w2"], integer__lt=7), array_overlap=Q(words__overlap=["a", "zz"]),
    array_contained=Q(words__contained_by=["w0", "all", "x"], integer__lt=7), array_len=Q(words__len=3), array_index=Q(words__0="w0", integer__lt=7),
    array_slice=Q(words__0_1=["w0"], integer__lt=7), nested=Q(grid__0__1=2), hstore_key=Q(store__n="5"), hstore_contains=Q(store__contains={"n": "6"}),
    hstore_has=Q(store__has_key="k"), hstore_keys=Q(store__keys=["n"], integer__lt=3), hstore_values=Q(store__values__contains=["8"]),
    range_contains=Q(integers__contains=55), range_overlap=Q(integers__overlap=NumericRange(1, 3)), range_before=Q(integers__fully_lt=(13, 14)),
    range_starts=Q(integers__startswith=4), range_empty=Q(integers__isempty=True), range_adjacent=Q(integers__adjacent_to=(60, 61)),
    trigram=Q(char__trigram_similar="row 11"), trigram_word=Q(char__trigram_word_similar="row 12"), unaccent_free=Q(char__contains="ë"),
    shout=Q(shout="ROW 8"), dates=Q(dates__contains=dt.date(2024, 1, 15)),
)
for name, condition in LOOKUPS.items():
    raises(f"lookup {name}", lambda: names(Every.objects.filter(condition), "char"))

# -- functions

FUNCTIONS = dict(
    text=[fn.Lower("char"), fn.Upper("char"), fn.Length("char"), fn.Left("char", 3), fn.Right("char", 2), fn.Substr("char", 2, 3), fn.Concat("char", Value("-"), "text", output_field=CharField()),
          fn.LPad("char", 8, Value("*")), fn.RPad("char", 8), fn.Trim(Value("  x ")), fn.LTrim(Value(" x")), fn.RTrim(Value("x ")), fn.Repeat("char", 2), fn.Replace("char", Value("row"), Value("r")),
          fn.Reverse("char"), fn.StrIndex("char", Value("w")), fn.Chr("integer"), fn.Ord("char"), fn.MD5("char"), fn.SHA256("char"), fn.SHA1("char"), fn.SHA512("char")],
    number=[fn.Abs("integer"), fn.Ceil("float"), fn.Floor("float"), fn.Round("float"), fn.Round("decimal", precision=1), fn.Mod("integer", 3), fn.Power("integer", 2), fn.Sqrt("integer"), fn.Ln("integer"),
            fn.Log(10, "integer"), fn.Exp("float"), fn.Sign("integer"), fn.Sin("float"), fn.Cos("float"), fn.Tan("float"), fn.ATan2("float", 1.0), fn.Degrees("float"), fn.Radians("float"), fn.Pi()],
    compared=[fn.Coalesce("email", Value("none")), fn.NullIf("small", 1), fn.Greatest("integer", "integer"), fn.Least("integer", Value(5)), fn.Cast("integer", CharField()), fn.Cast("char", CharField(max_length=3)),
              fn.Collate("char", "C")],
    moment=[fn.TruncYear("datetime"), fn.TruncQuarter("date"), fn.TruncMonth("datetime"), fn.TruncWeek("datetime"), fn.TruncDay("datetime"), fn.TruncHour("datetime"), fn.TruncMinute("datetime"),
            fn.TruncSecond("time"), fn.TruncDate("datetime"), fn.TruncTime("datetime"), fn.ExtractYear("datetime"), fn.ExtractIsoYear("date"), fn.ExtractWeekDay("datetime"),
            fn.ExtractQuarter("datetime"), fn.ExtractSecond("time"), fn.ExtractDay("duration")],
    json=[F("json__n"), F("json__deep__x"), fn.JSONObject(a="integer", b=fn.Lower("char")), fn.Cast("json", CharField()), fn.JSONArray("integer", Value("x"))],
    pieces=[F("words__0"), F("words__0_1"), Case(When(integer__gt=10, then=Value("many")), When(integer=1, then=Value("one")), default=Value("few"), output_field=CharField())],
)
for kind, expressions in FUNCTIONS.items():
    for expression in expressions:
        label = type(expression).__name__ + (f" {expression.name}" if isinstance(expression, F) else "")
        raises(f"function {kind} {label}", lambda: names(Every.objects.filter(integer__in=[1, 9, 10]).annotate(value=expression), "value"))

# -- aggregates, windows

AGGREGATES = dict(
    count=Count("small", distinct=True), sum=Sum("integer"), avg=Avg("integer"), max=Max("char"), min=Min("date"), std=StdDev("integer"), std_sample=StdDev("integer", sample=True),
    variance=Variance("float"), filtered=Count("pk", filter=Q(integer__gt=10)), default=Sum("integer", filter=Q(integer__gt=99), default=0), total=Sum(F("integer") * F("decimal")),
    duration=Sum("duration"), array=pga.ArrayAgg("char", ordering="-char", filter=Q(integer__lte=3)), distinct=pga.ArrayAgg("small", distinct=True), string=pga.StringAgg("char", ",", ordering="char", filter=Q(integer__lte=4)),
    json=pga.JSONBAgg("json__n", ordering="integer", filter=Q(integer__lte=3)), all=pga.BoolAnd("boolean"), any=pga.BoolOr("boolean"), bits=pga.BitAnd("integer"), bits_or=pga.BitOr("small"), xor=pga.BitXor("small"),
    corr=pga.Corr("integer", "float"), slope=pga.RegrSlope("float", "integer"), regr=pga.RegrCount("float", "integer"),
)
for name, aggregate in AGGREGATES.items():
    raises(f"aggregate {name}", lambda: Every.objects.filter(integer__gt=0).aggregate(value=aggregate))
raises("group by", lambda: list(Every.objects.filter(integer__gt=0).values("small").annotate(n=Count("pk"), s=Sum("integer")).filter(n__gt=7).order_by("-small")))
raises("group by month", lambda: list(Every.objects.filter(integer__gt=0).annotate(m=fn.TruncMonth("datetime")).values("m").annotate(n=Count("*")).order_by("m")))
raises("dates", lambda: list(Every.objects.dates("date", "month")))
raises("datetimes", lambda: list(Every.objects.filter(integer__lt=4).datetimes("datetime", "day")))

OVER = dict(partition_by="small", order_by="integer")
WINDOWS = dict(
    row_number=fn.RowNumber(), rank=fn.Rank(), dense_rank=fn.DenseRank(), percent=fn.PercentRank(), cume=fn.CumeDist(), ntile=fn.Ntile(3), lag=fn.Lag("integer", 2, -1), lead=fn.Lead("char"),
    first=fn.FirstValue("integer"), last=fn.LastValue("integer"), nth=fn.NthValue("integer", 2), sum=Sum("integer"), avg=Avg("float"),
)
for name, function in WINDOWS.items():
    raises(f"window {name}", lambda: names(Every.objects.filter(integer__range=(1, 20)).annotate(value=Window(function, **OVER)), "value"))
raises("window filtered", lambda: names(Every.objects.filter(integer__gt=0).annotate(value=Window(fn.RowNumber(), **OVER)).filter(value=1), "char"))

# -- relations

with section("rows of relations"):
    user = User.objects.create_user("anna", "anna@example.org", "secret")
    for key, name in ((A, "Anna"), (B, "Bert"), (C, "Carl")):
        Author.objects.create(pk=key, name=name, born=dt.date(1950 + key.int, 1, 1), user=user if key == A else None)
    tags = {name: Tag.objects.create(name=name) for name in ("red", "green", "blue")}
    for n in range(12):
        book = Book.objects.create(title=f"Book {n}", author_id=(A, B)[n % 2], editor_id=C if n % 3 == 0 else None, pages=n * 10, price=Decimal(n + 1) * Decimal("1.25"),
                                   published=dt.date(2000 + n, n + 1, 1), place=n, isbn=f"isbn{n}")
        for tag in list(tags.values())[: n % 4]:
            Tagging.objects.create(book=book, tag=tag)

QUERIES = dict(
    select_related=lambda: [(b.author.name, b.editor and b.editor.name, b.author.user and b.author.user.username) for b in Book.objects.select_related("author__user", "editor").order_by("pk")],
    prefetch_related=lambda: [(a.name, [b.title for b in a.books.all()], [b.title for b in a.edited.all()]) for a in Author.objects.prefetch_related("edited", Prefetch("books", Book.objects.filter(pages__gt=60).order_by("-pk")))],
    many_to_many=lambda: [(b.title, sorted(t.name for t in b.tags.all())) for b in Book.objects.prefetch_related("tags").order_by("pk")],
    through=lambda: names(Book.objects.filter(tags__name="blue", author__name="Bert").distinct(), "title"),
    excluded=lambda: names(Book.objects.exclude(tags__name="red"), "title"),
    annotated=lambda: list(Author.objects.annotate(n=Count("books", distinct=True), pages=Sum("books__pages"), last=Max("books__published")).values_list("name", "n", "pages", "last")),
    subquery=lambda: list(Author.objects.annotate(newest=Subquery(Book.objects.filter(author=OuterRef("pk")).order_by("-published").values("title")[:1])).values_list("name", "newest")),
    exists=lambda: list(Author.objects.filter(Exists(Book.objects.filter(author=OuterRef("pk"), pages__gt=100))).values_list("name", flat=True)),
    not_exists=lambda: list(Author.objects.filter(~Exists(Book.objects.filter(author=OuterRef("pk")))).values_list("name", flat=True)),
    array_subquery=lambda: list(Author.objects.annotate(t=pgx.ArraySubquery(Book.objects.filter(author=OuterRef("pk")).order_by("pk").values("title"))).values_list("t", flat=True)),
    in_subquery=lambda: names(Book.objects.filter(author__in=Author.objects.filter(name__startswith="A")), "title"),
    filtered_relation=lambda: list(Author.objects.annotate(long=FilteredRelation("books", condition=Q(books__pages__gt=70))).filter(long__isnull=False).values_list("name", "long__title").order_by("long__pk")),
    union=lambda: list(Book.objects.filter(pages=10).values_list("title").union(Book.objects.filter(pages=20).values_list("title")).order_by("title")),
    intersection=lambda: list(Book.objects.filter(pages__lt=40).values_list("pages").intersection(Book.objects.filter(pages__gt=10).values_list("pages")).order_by("pages")),
    difference=lambda: list(Book.objects.filter(pages__lt=40).values_list("pages").difference(Book.objects.filter(pages__gt=10).values_list("pages")).order_by("pages")),
    distinct_on=lambda: list(Book.objects.order_by("author__name", "-pages").distinct("author__name").values_list("author__name", "title")),
    nulls_last=lambda: list(Book.objects.order_by(F("editor__name").asc(nulls_last=True), "-pk").values_list("pk", flat=True)),
    slices=lambda: list(Book.objects.order_by("-pages")[2:5].values_list("title", flat=True)),
    only=lambda: [b.title for b in Book.objects.only("title").order_by("pk")[:2]],
    raw=lambda: [a.name for a in Author.objects.raw("SELECT * FROM shop_author WHERE name > %s ORDER BY name", ["B"])],
    earliest=lambda: (Book.objects.earliest("published").title, Book.objects.latest("published").title, Book.objects.in_bulk([1, 2]).keys()),
    iterator=lambda: [len([e.pk for e in Every.objects.order_by("pk").iterator(chunk_size=7)]), sum(b.pages for b in Book.objects.iterator(chunk_size=2))],
    explain=lambda: bool(Book.objects.filter(pages=10).explain()),
    count=lambda: (Book.objects.count(), Book.objects.filter(pages=1).exists(), Book.objects.contains(Book.objects.first())),
    arithmetic=lambda: list(Book.objects.annotate(each=F("price") / (F("pages") + 1), later=F("published") + dt.timedelta(days=3)).order_by("pk").values_list("each", "later")[:4]),
    permissions=lambda: (Permission.objects.count(), list(Permission.objects.filter(content_type__app_label="shop", codename__startswith="add").order_by("codename").values_list("name", flat=True))),
)
from django.contrib.postgres import expressions as pgx

for name, query in QUERIES.items():
    raises(f"query {name}", query)

# -- changes

CHANGES = dict(
    update=lambda: (Book.objects.filter(pages__gt=90).update(pages=F("pages") + 1, title=fn.Concat("title", Value("!"))), names(Book.objects.filter(pages__gt=90), "title")),
    update_subquery=lambda: (Book.objects.filter(author__name="Anna").update(price=Subquery(Book.objects.aggregate and Book.objects.filter(pk=OuterRef("pk")).values("pages")[:1]) + 1), names(Book.objects, "price")),
    bulk_update=lambda: (Book.objects.bulk_update([Book(pk=b.pk, pages=b.pages + 5, isbn=None) for b in Book.objects.filter(pages__lt=20)], ["pages", "isbn"]), names(Book.objects, "pages")),
    ignore_conflicts=lambda: (len(Tag.objects.bulk_create([Tag(name="red"), Tag(name="white")], ignore_conflicts=True)), names(Tag.objects, "name")),
    update_conflicts=lambda: [(t.pk, t.name) for t in Tag.objects.bulk_create([Tag(name="red"), Tag(name="black")], update_conflicts=True, unique_fields=["name"], update_fields=["name"])],
    update_or_create=lambda: [Author.objects.update_or_create(name="Anna", defaults={"born": dt.date(1999, 9, 9)})[1], Author.objects.update_or_create(name="Dora", defaults={"born": None})[1]],
    get_or_create=lambda: [Tag.objects.get_or_create(name=name)[1] for name in ("red", "violet")],
    set=lambda: (Book.objects.get(pk=5).tags.set(Tag.objects.filter(name__in=["red", "violet"])), sorted(t.name for t in Book.objects.get(pk=5).tags.all())),
    inheritance=lambda: (Dog.objects.create(name="Rex", breed="mutt").pk, Animal.objects.get(dog__breed="mutt").dog.name, Dog.objects.filter(name="Rex").update(name="Max", breed="x"), Dog.objects.get().delete()),
    delete=lambda: (Book.objects.filter(pk__in=[1, 2]).delete(), Tagging.objects.count()),
    cascade=lambda: Author.objects.get(name="Bert").delete(),
    save_pk=lambda: (Tag(pk=100, name="hundred").save(), Tag.objects.get(pk=100).name),
    generated=lambda: (Every.objects.filter(integer=3).update(email="changed"), Every.objects.get(integer=3).shout),
)
for name, change in CHANGES.items():
    raises(f"change {name}", change)

# -- errors

with section("rows of errors"):
    Author.objects.get_or_create(pk=A, defaults={"name": "Anna"})
    Book.objects.create(title="Kept", author_id=A, editor_id=C, place=900, isbn="kept")
ERRORS = dict(
    unique=lambda: Tag.objects.create(name="red"),
    unique_together=lambda: Book.objects.create(title="Kept", author_id=A, place=901),
    unique_expression=lambda: Book.objects.create(title="KEPT", author_id=A, place=902),
    unique_partial=lambda: Book.objects.create(title="k2", author_id=A, place=903, isbn="kept"),
    check=lambda: Book.objects.create(title="k3", author_id=A, pages=-1, place=904),
    not_null=lambda: Book.objects.create(title=None, author_id=A, place=905),
    too_long=lambda: Tag.objects.create(name="x" * 51),
    out_of_range=lambda: Every.objects.create(char="x", integer=2**31),
    numeric_range=lambda: Every.objects.create(char="x", decimal=Decimal("1e12")),
    positive=lambda: Every.objects.create(char="x", positive=-1),
    protect=lambda: Author.objects.get(pk=C).delete(),
    no_table=lambda: connection.cursor().execute("SELECT * FROM nowhere"),
    zero=lambda: Every.objects.annotate(z=F("integer") / 0).first(),
    zero_byte=lambda: Tag.objects.create(name="a\x00b"),
    none_there=lambda: Tag.objects.get(name="none"),
)
for name, fails in ERRORS.items():
    raises(f"error {name}", fails)


def deferred(place):
    with transaction.atomic():
        Book.objects.create(title=f"d{place}", author_id=A, place=900, isbn=f"d{place}")
        Book.objects.filter(title="Kept").update(place=place)


check("deferred unique passes", lambda: (deferred(910), Book.objects.filter(title="Kept").update(place=911)))
check("error of a deferred unique key", lambda: (deferred(900)))


def no_parent():
    with transaction.atomic():
        Book.objects.create(title="orphan", author_id=uuid.UUID(int=99), place=920, isbn="orphan")


check("error of a deferred foreign key", no_parent)

# -- transactions


def nested():
    with transaction.atomic():
        Tag.objects.create(name="outer")
        try:
            with transaction.atomic():
                Tag.objects.create(name="inner")
                Tag.objects.create(name="outer")
        except DatabaseError:
            pass
        transaction.on_commit(lambda: seen.append("committed"))
        point = transaction.savepoint()
        Tag.objects.create(name="gone")
        transaction.savepoint_rollback(point)
    return names(Tag.objects.filter(name__in=["outer", "inner", "gone"]), "name"), seen


seen = []
check("nested transactions", nested)


def broken():
    with transaction.atomic():
        try:
            Tag.objects.create(name="outer")
        except DatabaseError:
            Tag.objects.count()


check("error of a failed transaction", broken)


def locked():
    found = []

    def other():
        with transaction.atomic():
            found.append(names(Tag.objects.select_for_update(skip_locked=True).filter(name__in=["red", "green"]), "name"))
        try:
            with transaction.atomic():
                list(Tag.objects.select_for_update(nowait=True).filter(name="red"))
        except DatabaseError as error:
            found.append(getattr(error.__cause__, "sqlstate", None))
        connection.close()

    with transaction.atomic():
        list(Tag.objects.select_for_update(no_key=True).filter(name="red"))
        list(Book.objects.select_related("author").select_for_update(of=("self",)).filter(pk=3))
        thread = threading.Thread(target=other)
        thread.start()
        thread.join()
    return found


check("select_for_update", locked)

# -- commands


def dump_and_load():
    first = command("dumpdata", "shop", "--indent", "1", "--exclude", "shop.tagging", "--exclude", "shop.every")
    with open("dumped.json", "w") as file:
        file.write(first)
    Tagging.objects.all().delete()
    Book.objects.all().delete()
    Author.objects.all().delete()
    Tag.objects.all().delete()
    command("loaddata", "dumped.json")
    second = command("dumpdata", "shop", "--indent", "1", "--exclude", "shop.tagging", "--exclude", "shop.every")
    return first == second, len(first)


check("dumpdata and loaddata", dump_and_load)
check("after loaddata", lambda: Tag.objects.create(name="next").pk > 0)
for table in ("shop_every", "shop_book", "shop_author", "auth_user", "shop_dog"):
    check(f"inspectdb {table}", lambda: command("inspectdb", table))
    with connection.cursor() as cursor, section(f"introspection {table}"):
        # Types of extensions have numbers of their database.
        found = sorted(connection.introspection.get_table_description(cursor, table))
        show(f"columns {table}", [column._replace(type_code=min(column.type_code, 16384)) for column in found])
        for name, found in sorted(connection.introspection.get_constraints(cursor, table).items()):
            show(f"constraint {table} {name}", found)
        show(f"sequences {table}", connection.introspection.get_sequences(cursor, table))
        show(f"relations {table}", sorted(connection.introspection.get_relations(cursor, table).items()))
        show(f"primary key {table}", connection.introspection.get_primary_key_columns(cursor, table))
check("tables", lambda: sorted(connection.introspection.table_names(include_views=True)))
check("createcachetable", lambda: command("createcachetable"))
check("cache", lambda: (cache.set("k", {"a": 1}), cache.get("k"), cache.add("k", 2), cache.incr("n") if cache.set("n", 1) else None, cache.get_many(["k", "n"]), cache.delete("k"), cache.get("k"), cache.clear()))
check("sqlsequencereset", lambda: len(command("sqlsequencereset", "shop").splitlines()))
check("check", lambda: command("check", databases=["default"]))


def admin():
    User.objects.create_superuser("root", "root@example.org", "secret")
    client = Client(SERVER_NAME="localhost")
    logged = client.login(username="root", password="secret")
    return logged, client.session.get("_auth_user_id") is not None, authenticate(username="anna", password="wrong")


check("sessions and authentication", admin)
check("groups", lambda: (Group.objects.create(name="g").permissions.add(*Permission.objects.all()[:3]), User.objects.get(username="anna").groups.add(Group.objects.get()),
                         len(User.objects.get(username="anna").get_all_permissions())))
check("a schema editor", lambda: connection.schema_editor().sql_create_table)
check("clearsessions", lambda: command("clearsessions"))

from django.contrib.postgres.search import SearchQuery, SearchRank, SearchVector, TrigramSimilarity

raises("trigram similarity", lambda: [(name, round(s, 4)) for name, s in Every.objects.filter(integer__lt=4).annotate(s=TrigramSimilarity("char", "row 1")).order_by("-s", "pk").values_list("char", "s")])
with section("rows of documents"):
    Document.objects.create(body="The quick brown fox jumps over the lazy dog")
    Document.objects.create(body="A database of jumping foxes")
raises("search", lambda: names(Document.objects.filter(body__search="jump"), "pk"))
raises("search rank", lambda: list(Document.objects.annotate(r=SearchRank(SearchVector("body"), SearchQuery("fox"))).order_by("-r", "pk").values_list("pk", "r")))
raises("search vector", lambda: (Document.objects.update(vector=SearchVector("body", config="english")), names(Document.objects.filter(vector=SearchQuery("fox & lazy", search_type="raw", config="english")), "pk")))
check("flush", lambda: (command("flush", interactive=False), User.objects.count(), Tag.objects.create(name="one").pk))
show("migrate back", manage("3", "migrate", "shop", "0001", "--verbosity", "1"))
show("migrate to nothing", manage("3", "migrate", "shop", "zero", "--verbosity", "1"))
