"""Models with every type of field and constraint; VERSION 2 and 3 alter some of them."""

import os
import uuid

from django.contrib.auth.models import User
from django.contrib.postgres import fields as pg
from django.contrib.postgres.indexes import BTreeIndex, GinIndex, HashIndex
from django.db import models
from django.db.models import F, Q
from django.db.models.functions import Lower, Now, Upper

VERSION = int(os.environ.get("VERSION", "3"))
SECOND = VERSION >= 2


class Every(models.Model):
    big = models.BigIntegerField(default=0)
    binary = models.BinaryField(default=b"\x00\xff")
    boolean = models.BooleanField(default=True)
    char = models.CharField(max_length=40 if SECOND else 20, db_index=True)
    date = models.DateField(null=True)
    datetime = models.DateTimeField(null=True)
    decimal = models.DecimalField(max_digits=14 if SECOND else 10, decimal_places=3, default=0)
    duration = models.DurationField(null=True)
    email = models.EmailField(blank=True)
    file = models.FileField(blank=True)
    filepath = models.FilePathField(path="/", blank=True)
    float = models.FloatField(default=0)
    ip = models.GenericIPAddressField(null=True)
    integer = models.IntegerField(default=0, db_comment="a whole number")
    json = models.JSONField(default=dict)
    positive_big = models.PositiveBigIntegerField(default=0)
    positive = models.PositiveIntegerField(default=0)
    positive_small = models.PositiveSmallIntegerField(default=0)
    slug = models.SlugField(blank=True)
    small = models.SmallIntegerField(default=0)
    text = models.TextField(blank=True)
    time = models.TimeField(null=True)
    url = models.URLField(blank=True)
    uuid = models.UUIDField(null=True)
    words = pg.ArrayField(models.CharField(max_length=10), default=list)
    grid = pg.ArrayField(pg.ArrayField(models.IntegerField()), default=list)
    store = pg.HStoreField(null=True)
    integers = pg.IntegerRangeField(null=True)
    bigs = pg.BigIntegerRangeField(null=True)
    decimals = pg.DecimalRangeField(null=True)
    dates = pg.DateRangeField(null=True)
    datetimes = pg.DateTimeRangeField(null=True)
    stamped = models.DateTimeField(db_default=Now())
    shout = models.GeneratedField(expression=Upper("email"), output_field=models.CharField(max_length=40), db_persist=True)
    if SECOND:
        added = models.CharField(max_length=5, default="new")
        nickname = models.TextField(null=True)

    class Meta:
        indexes = [
            GinIndex(fields=["words"], name="every_words"),
            GinIndex(fields=["json"], name="every_json", opclasses=["jsonb_path_ops"]),
            models.Index(fields=["-date", "integer"], name="every_date"),
            models.Index(Lower("slug"), name="every_lower"),
            models.Index(fields=["integer"], name="every_positive", condition=Q(integer__gt=0)),
            models.Index(fields=["small"], name="every_covering", include=["big"]),
            BTreeIndex(fields=["float"], name="every_btree", fillfactor=80),
            HashIndex(fields=["text"], name="every_hash"),
        ]


class Author(models.Model):
    id = models.UUIDField(primary_key=True, default=uuid.uuid4)
    name = models.CharField(max_length=50, unique=True)
    born = models.DateField(null=True)
    user = models.OneToOneField(User, models.SET_NULL, null=True)

    class Meta:
        ordering = ["name"]


class Tag(models.Model):
    name = models.SlugField(unique=True, db_collation="C")


class Book(models.Model):
    title = models.CharField(max_length=100)
    author = models.ForeignKey(Author, models.CASCADE, related_name="books")
    editor = models.ForeignKey(Author, models.PROTECT, null=True, related_name="edited", db_index=not SECOND)
    tags = models.ManyToManyField(Tag, through="Tagging")
    pages = models.IntegerField(default=0)
    price = models.DecimalField(max_digits=8, decimal_places=2, null=True)
    published = models.DateField(null=True)
    place = models.IntegerField(default=0)
    isbn = models.CharField(max_length=13, null=True)
    sold = models.BooleanField(default=False)

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["author", "title"], name="book_once"),
            models.UniqueConstraint(fields=["place"], name="book_place", deferrable=models.Deferrable.DEFERRED),
            models.UniqueConstraint(fields=["isbn"], name="book_isbn", condition=Q(sold=False)),
            models.UniqueConstraint(Lower("title"), F("author"), name="book_lower"),
            models.UniqueConstraint(fields=["isbn", "published"], name="book_nulls", nulls_distinct=False, include=["pages"]),
            models.CheckConstraint(condition=Q(pages__gte=0) & (Q(price__isnull=True) | Q(price__gt=0)), name="book_check"),
        ]
        if SECOND:
            indexes = [models.Index(fields=["published", "-pages"], name="book_published")]


class Tagging(models.Model):
    book = models.ForeignKey(Book, models.CASCADE)
    tag = models.ForeignKey(Tag, models.RESTRICT)
    at = models.DateTimeField(auto_now_add=True)
    note = models.TextField(blank=True, db_default="none")

    class Meta:
        unique_together = [("book", "tag")]


class Animal(models.Model):
    name = models.CharField(max_length=20)


class Dog(Animal):
    breed = models.CharField(max_length=20)


class Widened(models.Model):
    """A column that an index's expression reads gets longer."""

    name = models.CharField(max_length=40 if VERSION >= 3 else 20)

    class Meta:
        indexes = [models.Index(Lower("name"), name="widened_lower")]
