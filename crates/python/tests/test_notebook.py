"""What notebooks show: every name and value is escaped."""

import html.parser

import pytest

HOSTILE = "<script>alert('x')</script>\"><img src=x onerror=\"alert(1)\">&amp;"


class Tags(html.parser.HTMLParser):
    def __init__(self):
        super().__init__()
        self.tags, self.texts, self.titles = set(), [], []

    def handle_starttag(self, tag, attrs):
        self.tags.add(tag)
        assert {name for name, _ in attrs} <= {"class", "style", "title"}
        self.titles += [value for name, value in attrs if name == "title"]

    def handle_data(self, data):
        self.texts.append(data)


def parsed(text):
    tags = Tags()
    tags.feed(text)
    tags.close()
    assert tags.tags <= {"table", "thead", "tbody", "tr", "th", "td", "p", "span"}
    return tags


def test_hostile_names_and_values_are_escaped(db):
    name = '"' + HOSTILE.replace('"', '""')[:40] + '"'
    result = db.sql(f"SELECT $1::text AS {name}, $2::bytea AS b, $3::jsonb AS j, ARRAY[$1::text] AS list",
                    [HOSTILE, HOSTILE.encode(), {HOSTILE: HOSTILE}])  # fmt: skip
    found = parsed(result._repr_html_())
    assert HOSTILE in found.texts
    assert HOSTILE[:39] in "".join(found.texts)


def test_hostile_names_in_the_ledger_are_escaped(db):
    name = '"<b>' + "t'\"\"&" + '"'
    db.sql(f"CREATE TABLE {name} (a int PRIMARY KEY)")
    db.sql(f'CREATE INDEX "<i>x" ON {name} (a)')
    found = parsed(db.stats.indexes()._repr_html_())
    assert "<b>t'\"&" in found.texts
    assert "<i>x" in found.texts


def test_hostile_types_are_escaped(db):
    db.sql("CREATE TYPE \"<u>\" AS ENUM ('<s>')")
    found = parsed(db.sql("SELECT '<s>'::\"<u>\" AS x")._repr_html_())
    assert "<s>" in found.texts


@pytest.mark.parametrize(
    ("query", "wanted"),
    [
        ("SELECT generate_series(1, 3) AS a", "3 rows"),
        ("SELECT generate_series(1, 50) AS a", "20 of 50 rows"),
        ("SELECT a, repeat('x', 1000) AS b FROM generate_series(1, 50000) a", "rows of more"),
        ("CREATE TABLE t (a int)", "CREATE TABLE"),
        ("SELECT NULL AS a", "NULL"),
        ("SELECT 'infinity'::date AS a", "beyond Python"),
    ],
)
def test_what_is_shown(db, query, wanted):
    result = db.sql(query)
    shown = result._repr_html_()
    assert wanted in "".join(parsed(shown).texts)
    assert len(shown) < 20_000
    # Looking changes nothing.
    assert result._repr_html_() == shown
    assert repr(result).startswith("<onlap.Result")
