//! Random statements over the test's schema: joins of all kinds, queries in all places, grouping, windows, set operations,
//! WITH, LATERAL, parameters, changes of rows; some with a mistake.

use onlap_base::rng::Rng;

/// What kind of value an expression gives; mistakes aside.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Ty {
    Int,
    Num,
    Text,
    Bool,
    Date,
    Json,
    Ints,
}

use Ty::{Bool, Date, Int, Ints, Json, Num, Text};

type Columns = Vec<(String, Ty)>;

const TABLES: &[(&str, &[(&str, Ty)])] = &[
    ("t1", &[("id", Int), ("a", Int), ("b", Text), ("c", Num), ("d", Date)]),
    ("t2", &[("id", Int), ("t1_id", Int), ("name", Text), ("score", Num)]),
    ("t3", &[("k1", Int), ("k2", Text), ("v", Int)]),
    (
        "types",
        &[
            ("i2", Int),
            ("i4", Int),
            ("i8", Int),
            ("f8", Num),
            ("n", Num),
            ("n2", Num),
            ("t", Text),
            ("v", Text),
            ("c", Text),
            ("b", Bool),
            ("d", Date),
            ("ts", Date),
            ("jb", Json),
            ("ia", Ints),
            ("pi", Int),
            ("st", Text),
        ],
    ),
    ("emp", &[("name", Text), ("dept", Text), ("salary", Num), ("hired", Date), ("id", Int)]),
    ("dropped", &[("a", Int), ("b", Text), ("c", Int)]),
    ("parent", &[("id", Int), ("v", Text)]),
    ("v1", &[("id", Int), ("a1", Int), ("b", Text)]),
    ("s2.t1", &[("id", Int), ("z", Text)]),
    ("uniq", &[("a", Int), ("b", Int), ("c", Text)]),
];

/// A name of FROM and its columns.
#[derive(Clone)]
struct Item {
    name: String,
    columns: Columns,
}

struct Maker<'a> {
    rng: &'a mut Rng,
    /// What is seen, the innermost query last.
    scopes: Vec<Vec<Item>>,
    ctes: Vec<Item>,
    names: usize,
    /// How likely a mistake is at each place.
    mistakes: f64,
    /// Whether aggregates may stand here.
    aggregates: bool,
    parameters: bool,
}

/// A statement.
pub fn statement(rng: &mut Rng) -> String {
    let mistakes = if rng.chance(0.4) { 0.03 } else { 0.0 };
    let parameters = rng.chance(0.1);
    let mut maker = Maker {
        rng,
        scopes: Vec::new(),
        ctes: Vec::new(),
        names: 0,
        mistakes,
        aggregates: false,
        parameters,
    };
    match maker.rng.below(10) {
        0 => maker.insert(),
        1 => maker.update(),
        2 => maker.delete(),
        _ => {
            let types = maker.types();
            maker.query(&types, 3)
        }
    }
}

impl Maker<'_> {
    fn one(&mut self, of: &[&str]) -> String {
        (*self.rng.pick(of)).to_string()
    }

    fn types(&mut self) -> Vec<Ty> {
        let count = 1 + self.rng.below(4);
        (0..count).map(|_| *self.rng.pick(&[Int, Int, Num, Text, Text, Bool, Date, Ints])).collect()
    }

    fn name(&mut self) -> String {
        self.names += 1;
        // Some names are given twice.
        match self.rng.chance(self.mistakes) {
            true => "x1".into(),
            false => format!("x{}", self.names),
        }
    }

    /// A query that gives columns of these types, named c1, c2, …
    fn query(&mut self, types: &[Ty], depth: u32) -> String {
        let ctes = self.ctes.len();
        let with =
            if depth > 0 && self.rng.chance(0.15) { self.with(depth) } else { String::new() };
        let set = depth > 0 && self.rng.chance(0.15);
        let mut text = match set {
            true => self.set_operation(types, depth - 1),
            false => self.select(types, depth),
        };
        if set && self.rng.chance(0.5) {
            text = format!("{text} order by {}", 1 + self.rng.index(types.len()));
        }
        self.ctes.truncate(ctes);
        with + &text
    }

    fn with(&mut self, depth: u32) -> String {
        let types = self.types();
        let name = format!("w{}", self.names);
        self.names += 1;
        let columns: Columns =
            types.iter().enumerate().map(|(at, ty)| (format!("c{}", at + 1), *ty)).collect();
        let item = Item { name: name.clone(), columns };
        let scopes = std::mem::take(&mut self.scopes);
        let text = if self.rng.chance(0.3) {
            let first = self.query(&types, depth - 1);
            self.ctes.push(item);
            let second = self.select(&types, depth - 1);
            let all = self.one(&["", "all"]);
            format!("with recursive {name} as ({first} union {all} ({second}))")
        } else {
            let text = self.query(&types, depth - 1);
            self.ctes.push(item);
            format!("with {name} as ({text})")
        };
        self.scopes = scopes;
        text + " "
    }

    fn set_operation(&mut self, types: &[Ty], depth: u32) -> String {
        let kind = self.one(&["union", "union all", "intersect", "except", "except all"]);
        let left = self.part(types, depth);
        let types = match self.rng.chance(self.mistakes) {
            true => self.types(),
            false => types.to_vec(),
        };
        let right = self.part(&types, depth);
        format!("({left}) {kind} ({right})")
    }

    fn part(&mut self, types: &[Ty], depth: u32) -> String {
        match self.rng.below(4) {
            0 => {
                let row: Vec<String> = types.iter().map(|ty| self.literal(*ty)).collect();
                format!("values ({})", row.join(", "))
            }
            _ => self.query(types, depth),
        }
    }

    fn select(&mut self, types: &[Ty], depth: u32) -> String {
        let aggregates = self.aggregates;
        self.scopes.push(Vec::new());
        let mut text = String::new();
        let from = match self.rng.below(8) {
            0 => String::new(),
            _ => format!(" from {}", self.from(depth)),
        };
        let grouped = self.rng.chance(0.3);
        self.aggregates = false;
        let groups: Vec<String> = match grouped {
            true => (0..1 + self.rng.below(2)).map(|_| self.group_value(depth)).collect(),
            false => Vec::new(),
        };
        let filter = match self.rng.chance(0.5) {
            true => format!(" where {}", self.expr(Bool, depth)),
            false => String::new(),
        };
        self.aggregates = grouped;
        let mut targets = Vec::new();
        for (at, ty) in types.iter().enumerate() {
            let value = match grouped && self.rng.chance(0.5) {
                true => self.aggregate(*ty, depth),
                false if grouped => groups.first().cloned().unwrap_or_default(),
                false if self.rng.chance(0.1) => self.window(*ty, depth),
                false => self.expr(*ty, depth),
            };
            let value = if grouped { self.cast(value, *ty) } else { value };
            targets.push(format!("{value} as c{}", at + 1));
        }
        let distinct = match self.rng.below(12) {
            0 => "distinct ",
            _ => "",
        };
        text += &format!("select {distinct}{}{from}{filter}", targets.join(", "));
        if grouped {
            text += &self.group_by(&groups);
            if self.rng.chance(0.2) {
                text += &format!(" having {}", self.aggregate(Bool, depth));
            }
        }
        text += &self.tail(types.len(), grouped, depth);
        self.aggregates = aggregates;
        self.scopes.pop();
        text
    }

    fn group_value(&mut self, depth: u32) -> String {
        let ty = *self.rng.pick(&[Int, Text, Num]);
        match self.column(ty) {
            Some(column) => column,
            None => self.expr(ty, depth.min(1)),
        }
    }

    fn group_by(&mut self, groups: &[String]) -> String {
        let all = groups.join(", ");
        match self.rng.below(8) {
            0 => format!(" group by rollup ({all})"),
            1 => format!(" group by cube ({all})"),
            2 => format!(" group by grouping sets (({all}), {}, ())", groups[0]),
            3 => format!(" group by grouping sets (({all}))"),
            4 => " group by 1".into(),
            _ => format!(" group by {all}"),
        }
    }

    fn tail(&mut self, columns: usize, grouped: bool, depth: u32) -> String {
        let mut text = String::new();
        if self.rng.chance(0.3) {
            let by = match self.rng.below(3) {
                0 => format!("{}", 1 + self.rng.index(columns)),
                1 => format!("c{}", 1 + self.rng.index(columns)),
                _ if grouped => "count(*)".into(),
                _ => self.expr(Int, depth.min(1)),
            };
            let how = self.one(&["", " desc", " nulls first", " desc nulls last", " using <"]);
            text += &format!(" order by {by}{how}");
        }
        if self.rng.chance(0.15) {
            let limit = self.one(&["1", "'2'", "all", "(select 3)", "1 + 1", "2.5"]);
            text += &format!(" limit {limit}");
        }
        if self.rng.chance(0.05) {
            text += " offset 2";
        }
        if self.rng.chance(0.05) {
            text +=
                &self.one(&[" for update", " for share nowait", " for no key update skip locked"]);
        }
        text
    }

    fn from(&mut self, depth: u32) -> String {
        let count = 1 + self.rng.below(2);
        let items: Vec<String> = (0..count).map(|_| self.joined(depth)).collect();
        items.join(", ")
    }

    fn joined(&mut self, depth: u32) -> String {
        let mut text = self.item(depth);
        while self.rng.chance(0.35) {
            let kind = self.one(&["join", "left join", "right join", "full join", "inner join"]);
            match self.rng.below(6) {
                0 => {
                    let right = self.item(depth);
                    text = format!("{text} cross join {right}");
                }
                1 => {
                    let right = self.item(0);
                    text = format!("{text} natural {kind} {right}");
                }
                2 => {
                    let right = self.item(0);
                    let alias = self.one(&["", "", " as u"]);
                    text = format!("{text} {kind} {right} using (id){alias}");
                }
                _ => {
                    let right = self.item(depth);
                    let on = self.expr(Bool, depth.min(1));
                    text = format!("{text} {kind} {right} on {on}");
                }
            }
        }
        text
    }

    fn item(&mut self, depth: u32) -> String {
        let name = self.name();
        let (text, columns) = match self.rng.below(10) {
            0 if depth > 0 => {
                let types = self.types();
                let lateral = self.rng.chance(0.4);
                let outer = match lateral {
                    true => None,
                    false => self.scopes.pop(),
                };
                let query = self.query(&types, depth - 1);
                self.scopes.extend(outer);
                let columns =
                    types.iter().enumerate().map(|(at, ty)| (format!("c{}", at + 1), *ty));
                (format!("{}({query})", if lateral { "lateral " } else { "" }), columns.collect())
            }
            1 => {
                let bound = self.expr(Int, 0);
                let text = format!("generate_series(1, {bound})");
                (text, vec![(name.clone(), Int)])
            }
            2 => {
                let rows = format!(
                    "(values ({}, {}), (null, 'q'))",
                    self.literal(Int),
                    self.literal(Text)
                );
                (rows, vec![("column1".to_string(), Int), ("column2".to_string(), Text)])
            }
            3 if !self.ctes.is_empty() => {
                let item = self.rng.pick(&self.ctes).clone();
                (item.name, item.columns)
            }
            _ => {
                let (table, columns) = *self.rng.pick(TABLES);
                (table.to_string(), columns.iter().map(|(n, ty)| (n.to_string(), *ty)).collect())
            }
        };
        let item = Item { name: name.clone(), columns };
        self.scopes.last_mut().expect("a query is made").push(item);
        format!("{text} {name}")
    }

    /// A column of this type that is seen.
    fn column(&mut self, ty: Ty) -> Option<String> {
        if self.rng.chance(self.mistakes) {
            let wrong = ["nope", "x1.nope", "id", "x9.a", "t1.a", "nam", "c", "x2.idd"];
            return Some(self.one(&wrong));
        }
        let up = match self.rng.chance(0.8) {
            true => self.scopes.len().checked_sub(1)?,
            false => self.rng.index(self.scopes.len().max(1)),
        };
        let scope = self.scopes.get(up)?;
        let all: Vec<(String, String)> = scope
            .iter()
            .flat_map(|item| item.columns.iter().map(move |c| (item.name.clone(), c)))
            .filter(|(_, column)| column.1 == ty)
            .map(|(item, column)| (item, column.0.clone()))
            .collect();
        if all.is_empty() {
            return None;
        }
        let (item, column) = self.rng.pick(&all).clone();
        Some(if self.rng.chance(0.1) { column } else { format!("{item}.{column}") })
    }

    fn literal(&mut self, ty: Ty) -> String {
        let ty = if self.rng.chance(self.mistakes) { Date } else { ty };
        let of: &[&str] = match ty {
            Int => &["1", "-5", "'7'", "null", "12345678901", "3::smallint"],
            Num => &["1.5", "2", "'3.25'", "1e3", "null::numeric(5,2)", "0.5::float4"],
            Text => &["'abc'", "'x'::text", "'y'::varchar(3)", "null", "'z'::char(2)", "name 'n'"],
            Bool => &["true", "false", "null", "'t'::bool"],
            Date => &["date '2020-01-01'", "now()", "current_date", "timestamp '2020-01-01 10:00'"],
            Json => &["'{}'::jsonb", "jsonb '[1]'"],
            Ints => &["array[1, 2]", "'{1,2}'::int[]", "array[]::bigint[]"],
        };
        self.one(of)
    }

    fn cast(&mut self, value: String, ty: Ty) -> String {
        let to = match ty {
            Int => "int",
            Num => "numeric",
            Text => "text",
            Bool => "text",
            Date => "text",
            Json => "jsonb",
            Ints => "text",
        };
        if self.rng.chance(0.7) {
            format!("({value})::text")
        } else {
            format!("({value})::text::{to}")
        }
    }

    fn expr(&mut self, ty: Ty, depth: u32) -> String {
        if self.rng.chance(self.mistakes) {
            let other = *self.rng.pick(&[Int, Text, Date, Bool, Json]);
            return self.expr(other, depth);
        }
        if self.parameters && self.rng.chance(0.1) {
            return format!("${}", 1 + self.rng.below(3));
        }
        if depth == 0 || self.rng.chance(0.3) {
            let column = self.column(ty);
            return match column {
                Some(column) if self.rng.chance(0.8) => column,
                _ => self.literal(ty),
            };
        }
        let depth = depth - 1;
        match self.rng.below(8) {
            0 => {
                let query = self.query(&[ty], depth);
                format!("({query})")
            }
            1 => {
                let (a, b) = (self.expr(Bool, depth), self.expr(ty, depth));
                let c = self.expr(ty, depth);
                format!("case when {a} then {b} else {c} end")
            }
            2 => {
                let function = self.one(&["coalesce", "greatest", "least", "nullif"]);
                let (a, b) = (self.expr(ty, depth), self.expr(ty, depth));
                format!("{function}({a}, {b})")
            }
            _ => self.of_type(ty, depth),
        }
    }

    fn of_type(&mut self, ty: Ty, depth: u32) -> String {
        match ty {
            Int => match self.rng.below(4) {
                0 => format!("length({})", self.expr(Text, depth)),
                1 => format!("({})[1]", self.expr(Ints, depth)),
                2 => format!("abs({})", self.expr(Int, depth)),
                _ => self.infix(&["+", "-", "*", "/", "%", "&"], Int, Int, depth),
            },
            Num => match self.rng.below(3) {
                0 => format!("round({}, 2)", self.expr(Num, depth)),
                1 => self.infix(&["+", "*"], Num, Int, depth),
                _ => self.infix(&["+", "-", "*", "/"], Num, Num, depth),
            },
            Text => match self.rng.below(5) {
                0 => format!("lower({})", self.expr(Text, depth)),
                1 => format!("({})::text", self.expr(Int, depth)),
                2 => format!("concat({}, {})", self.expr(Int, depth), self.expr(Text, depth)),
                3 => format!("({} ->> 'a')", self.expr(Json, depth)),
                _ => self.infix(&["||"], Text, Text, depth),
            },
            Bool => self.condition(depth),
            Date => match self.rng.below(2) {
                0 => format!("date_trunc('day', {})", self.expr(Date, depth)),
                _ => format!("({} + interval '1 day')", self.expr(Date, depth)),
            },
            Json => format!("({} -> 'a')", self.expr(Json, depth)),
            Ints => match self.rng.below(3) {
                0 => format!("array[{}, {}]", self.expr(Int, depth), self.expr(Int, depth)),
                1 => format!("array({})", self.query(&[Int], depth)),
                _ => self.infix(&["||"], Ints, Int, depth),
            },
        }
    }

    fn infix(&mut self, of: &[&str], left: Ty, right: Ty, depth: u32) -> String {
        let operator = self.one(of);
        let (a, b) = (self.expr(left, depth), self.expr(right, depth));
        format!("({a} {operator} {b})")
    }

    fn condition(&mut self, depth: u32) -> String {
        let ty = *self.rng.pick(&[Int, Num, Text, Date]);
        match self.rng.below(12) {
            0 => format!("exists ({})", self.query(&[Int], depth)),
            1 => format!("({} in ({}))", self.expr(ty, depth), self.query(&[ty], depth)),
            2 => {
                let (a, b) = (self.expr(ty, depth), self.expr(ty, depth));
                let (c, not) = (self.literal(ty), self.one(&["", "not "]));
                format!("({a} {not}in ({b}, {c}))")
            }
            3 => format!(
                "({} between {} and {})",
                self.expr(ty, depth),
                self.expr(ty, depth),
                self.literal(ty)
            ),
            4 => {
                let is = self.one(&["is null", "is not null", "is distinct from 1"]);
                format!("({} {is})", self.expr(Int, depth))
            }
            5 => format!("({} like {})", self.expr(Text, depth), self.expr(Text, depth)),
            6 => format!("(not {})", self.expr(Bool, depth)),
            7 => self.infix(&["and", "or"], Bool, Bool, depth),
            8 => format!("({} = any ({}))", self.expr(Int, depth), self.expr(Ints, depth)),
            9 => {
                let (a, b) = (self.expr(ty, depth), self.expr(Int, depth));
                let query = self.query(&[ty, Int], depth);
                let operator = self.one(&["=", "in", "<", "<>"]);
                format!("(({a}, {b}) {operator} ({query}))")
            }
            _ => self.infix(&["=", "<", ">", "<=", "<>", ">="], ty, ty, depth),
        }
    }

    fn aggregate(&mut self, ty: Ty, depth: u32) -> String {
        let nested = std::mem::replace(&mut self.aggregates, false);
        let filter = match self.rng.chance(0.15) {
            true => format!(" filter (where {})", self.expr(Bool, depth.min(1))),
            false => String::new(),
        };
        let depth = depth.min(2);
        let text = match ty {
            Int => match self.rng.below(4) {
                0 => "count(*)".into(),
                1 => format!("count(distinct {})", self.expr(Text, depth)),
                2 => format!("sum({})", self.expr(Int, depth)),
                _ => format!("max({})", self.expr(Int, depth)),
            },
            Num => match self.rng.below(2) {
                0 => format!("avg({})", self.expr(Num, depth)),
                _ => format!(
                    "percentile_cont(0.5) within group (order by {})",
                    self.expr(Num, depth)
                ),
            },
            Text => match self.rng.below(3) {
                0 => format!("min({})", self.expr(Text, depth)),
                _ => {
                    let (value, by) = (self.expr(Text, depth), self.expr(Int, depth));
                    format!("string_agg({value}, ',' order by {by} desc)")
                }
            },
            Bool => format!("bool_and({})", self.expr(Bool, depth)),
            Date => format!("max({})", self.expr(Date, depth)),
            Json => format!("jsonb_agg({})", self.expr(Int, depth)),
            Ints => format!("array_agg({})", self.expr(Int, depth)),
        };
        self.aggregates = nested;
        text + &filter
    }

    fn window(&mut self, ty: Ty, depth: u32) -> String {
        let call = match ty {
            Int => self.one(&["rank()", "row_number()", "count(*)", "ntile(3)"]),
            _ => match self.rng.below(2) {
                0 => format!("lag({})", self.expr(ty, depth.min(1))),
                _ => format!("first_value({})", self.expr(ty, depth.min(1))),
            },
        };
        let mut inside = String::new();
        if self.rng.chance(0.5) {
            inside += &format!("partition by {} ", self.expr(Text, depth.min(1)));
        }
        if self.rng.chance(0.7) {
            inside += &format!("order by {} ", self.expr(Int, depth.min(1)));
            if self.rng.chance(0.4) {
                inside += &self.one(&[
                    "rows 1 preceding",
                    "rows between 1 preceding and unbounded following exclude ties",
                    "range between current row and unbounded following",
                    "groups between 1 preceding and 2 following",
                ]);
            }
        }
        format!("{call} over ({inside})")
    }

    fn insert(&mut self) -> String {
        let (table, columns) = *self.rng.pick(TABLES);
        let some: Vec<(&str, Ty)> =
            columns.iter().copied().filter(|_| self.rng.chance(0.6)).collect();
        let (types, names): (Vec<Ty>, Vec<&str>) = match some.is_empty() {
            true => (columns.iter().map(|c| c.1).collect(), Vec::new()),
            false => (some.iter().map(|c| c.1).collect(), some.iter().map(|c| c.0).collect()),
        };
        let list = match names.is_empty() {
            true => String::new(),
            false => format!(" ({})", names.join(", ")),
        };
        let source = match self.rng.below(3) {
            0 => self.query(&types, 2),
            rows => {
                let row = |m: &mut Self| {
                    let values: Vec<String> = types
                        .iter()
                        .map(|ty| if m.rng.chance(0.1) { "default".into() } else { m.expr(*ty, 1) })
                        .collect();
                    format!("({})", values.join(", "))
                };
                let rows: Vec<String> = (0..rows).map(|_| row(self)).collect();
                format!("values {}", rows.join(", "))
            }
        };
        let conflict = match self.rng.below(4) {
            0 => " on conflict do nothing".to_string(),
            1 if names.len() > 1 => {
                let (key, set) = (names[0], names[1]);
                format!(" on conflict ({key}) do update set {set} = excluded.{set}")
            }
            _ => String::new(),
        };
        format!("insert into {table} as me{list} {source}{conflict}{}", self.returning(columns))
    }

    fn returning(&mut self, columns: &[(&str, Ty)]) -> String {
        match self.rng.below(4) {
            0 => " returning *".into(),
            1 => {
                let item = Item {
                    name: "me".into(),
                    columns: columns.iter().map(|(n, ty)| (n.to_string(), *ty)).collect(),
                };
                self.scopes.push(vec![item]);
                let text = format!(" returning {}, me.{}", self.expr(Int, 2), columns[0].0);
                self.scopes.pop();
                text
            }
            _ => String::new(),
        }
    }

    fn update(&mut self) -> String {
        let (table, columns) = *self.rng.pick(TABLES);
        let item = Item {
            name: "me".into(),
            columns: columns.iter().map(|(n, ty)| (n.to_string(), *ty)).collect(),
        };
        self.scopes.push(vec![item]);
        let from = match self.rng.chance(0.3) {
            true => format!(" from {}", self.joined(1)),
            false => String::new(),
        };
        let at = self.rng.index(columns.len());
        let (name, ty) = columns[at];
        let set = match columns.get(at + 1) {
            Some((second, other)) if self.rng.chance(0.4) => {
                let source = match self.rng.below(2) {
                    0 => self.query(&[ty, *other], 2),
                    _ => format!("{}, {}", self.expr(ty, 1), self.expr(*other, 1)),
                };
                format!("({name}, {second}) = ({source})")
            }
            _ if self.rng.chance(0.1) => format!("{name} = default"),
            _ => format!("{name} = {}", self.expr(ty, 2)),
        };
        let filter = match self.rng.chance(0.7) {
            true => format!(" where {}", self.expr(Bool, 2)),
            false => String::new(),
        };
        self.scopes.pop();
        format!("update {table} me set {set}{from}{filter}{}", self.returning(columns))
    }

    fn delete(&mut self) -> String {
        let (table, columns) = *self.rng.pick(TABLES);
        let item = Item {
            name: "me".into(),
            columns: columns.iter().map(|(n, ty)| (n.to_string(), *ty)).collect(),
        };
        self.scopes.push(vec![item]);
        let using = match self.rng.chance(0.4) {
            true => format!(" using {}", self.joined(1)),
            false => String::new(),
        };
        let filter = format!(" where {}", self.expr(Bool, 2));
        self.scopes.pop();
        format!("delete from {table} me{using}{filter}{}", self.returning(columns))
    }
}
