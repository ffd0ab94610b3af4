//! Which expressions are drawn?
//!
//! Each is drawn for a type: a column, a literal, something from the offer that gives the type, or a construct of the grammar
//! with parts of the types it needs.

use onlap_pg::Oid;

use super::maker::{Maker, other, value};
use super::offer::{Call, Kind};
use super::tree::{Sort, Tree};
use super::values;

const BOOL: Oid = 16;
const INT: Oid = 23;
const TEXT: Oid = 25;

/// Tests of a truth.
const TRUTHS: [&str; 5] = ["is true", "is not true", "is false", "is unknown", "is not unknown"];

/// Types without an order.
pub const UNORDERED: [Oid; 5] = [114, 4072, 199, 142, 143];

impl Maker<'_> {
    /// An expression of a type.
    pub fn expr(&mut self, ty: Oid, depth: u32) -> Tree {
        if depth == 0 {
            return self.leaf(ty);
        }
        match self.rng.below(20) {
            0..=2 => self.leaf(ty),
            3 | 4 => self.construct(ty, depth - 1),
            5 => self.scalar_query(ty, depth - 1),
            6 if self.offer.catalog.element(ty).is_some() => self.array(ty, depth - 1),
            6..=9 if ty == BOOL => self.condition(depth - 1),
            10 | 11 => self.aggregate_or_window(ty, depth - 1),
            _ => self.called(ty, depth - 1),
        }
    }

    /// A column or a literal.
    pub fn leaf(&mut self, ty: Oid) -> Tree {
        if self.rng.chance(0.65)
            && let Some(column) = self.column(ty)
        {
            return column;
        }
        // Another type that is converted without a word.
        let near = match ty {
            20 => 23,
            23 => 21,
            25 => 1043,
            701 => 23,
            1700 => 20,
            1114 => 1082,
            _ => ty,
        };
        if self.rng.chance(0.2)
            && let Some(column) = self.column(near)
        {
            return column;
        }
        Tree::leaf(Sort::Value(ty), values::literal(self.rng, ty))
    }

    /// An expression over something that is offered, each as likely, and its type.
    pub fn any_call(&mut self, depth: u32) -> (Tree, Oid) {
        loop {
            let at = self.rng.index(self.offer.calls.len());
            let call = self.offer.calls[at].clone();
            if !matches!(call.kind, Kind::Function | Kind::Operator | Kind::Prefix | Kind::Cast) {
                continue;
            }
            let wanted = self.common_type();
            let element = self.offer.element_for(&call, wanted).unwrap_or(wanted);
            let Some(result) = self.offer.filled(call.result, element, TEXT) else { continue };
            if let Some(tree) = self.call(&call, result, depth) {
                return (tree, result);
            }
        }
    }

    /// Something from the offer that gives a type.
    fn called(&mut self, ty: Oid, depth: u32) -> Tree {
        let found = self.offer.giving(ty, false);
        if !found.is_empty() {
            let at = *self.rng.pick(&found);
            let call = self.offer.calls[at].clone();
            if let Some(tree) = self.call(&call, ty, depth) {
                return tree;
            }
        }
        self.leaf(ty)
    }

    /// Arguments of a call that gives a type; the second value tells whether the last is an array that was written VARIADIC.
    pub fn arguments(&mut self, call: &Call, result: Oid, depth: u32) -> Option<(Vec<Tree>, bool)> {
        let element = match self.offer.element_for(call, result) {
            Some(element) => element,
            None => self.type_in_sight(),
        };
        let mut declared = call.arguments.clone();
        declared.truncate(declared.len() - self.rng.index(call.defaults + 1));
        let mut spread = false;
        if call.variadic != 0 && declared.len() == call.arguments.len() {
            let last = declared.pop().expect("what collects is an argument");
            match call.variadic != 2276 && self.rng.chance(0.2) {
                true => {
                    declared.push(last);
                    spread = true;
                }
                false => {
                    let least = usize::from(call.variadic != 2276);
                    for _ in 0..least + self.rng.index(3) {
                        declared.push(call.variadic);
                    }
                }
            }
        }
        let mut made = Vec::new();
        for ty in declared {
            let any = self.common_type();
            let ty = self.offer.filled(ty, element, any)?;
            if !values::is_drawn(ty) {
                return None;
            }
            made.push(self.expr(ty, depth));
        }
        Some((made, spread))
    }

    fn call(&mut self, call: &Call, result: Oid, depth: u32) -> Option<Tree> {
        let (mut arguments, spread) = self.arguments(call, result, depth)?;
        let tree = match call.kind {
            Kind::Operator => {
                let right = arguments.pop()?;
                value(result, &format!("({{}} {} {{}})", call.name), [arguments.pop()?, right])
            }
            Kind::Prefix => value(result, &format!("({} {{}})", call.name), [arguments.pop()?]),
            Kind::Cast => {
                let narrow =
                    if self.rng.chance(0.15) { values::narrow(self.rng, result) } else { None };
                let to = narrow.map_or_else(|| values::name(result), str::to_string);
                let form = if self.rng.chance(0.3) {
                    format!("cast({{}} as {to})")
                } else {
                    format!("({{}})::{to}")
                };
                value(result, &form, [arguments.pop()?])
            }
            _ => {
                if spread {
                    let last = arguments.pop()?;
                    arguments.push(other("variadic {}", [last]));
                }
                let name = named(call.name);
                let tree = Tree::of(Sort::Value(result), &format!("{name}("), []);
                let least = arguments.len();
                tree.list(arguments, ", ", least).word(")")
            }
        };
        Some(tree)
    }

    /// What the grammar has for every type.
    fn construct(&mut self, ty: Oid, depth: u32) -> Tree {
        match self.rng.below(6) {
            0 => {
                let (when, then, otherwise) =
                    (self.expr(BOOL, depth), self.expr(ty, depth), self.expr(ty, depth));
                value(ty, "case when {} then {}", [when, then])
                    .maybe(Some(other(" else {}", [otherwise])))
                    .word(" end")
            }
            1 => {
                let by = self.type_in_sight();
                let of = self.expr(by, depth);
                let parts = [of, self.expr(by, 0), self.expr(ty, depth), self.expr(ty, 0)];
                value(ty, "case {} when {} then {} else {} end", parts)
            }
            2 | 3 => {
                let name = if UNORDERED.contains(&ty) {
                    "coalesce("
                } else {
                    self.one(&["coalesce(", "greatest(", "least("])
                };
                let items: Vec<Tree> =
                    (0..1 + self.rng.index(3)).map(|_| self.expr(ty, depth)).collect();
                value(ty, name, []).list(items, ", ", 1).word(")")
            }
            4 => {
                let parts = [self.expr(ty, depth), self.expr(ty, 0)];
                value(ty, "nullif({}, {})", parts)
            }
            _ => {
                // A subscript.
                let Some(array) = self.offer.catalog.array_of(ty).filter(|a| values::is_drawn(*a))
                else {
                    return self.leaf(ty);
                };
                let parts = [self.expr(array, depth), self.expr(INT, 0)];
                value(ty, "({})[{}]", parts)
            }
        }
    }

    fn array(&mut self, ty: Oid, depth: u32) -> Tree {
        let element = self.offer.catalog.element(ty).expect("it is an array");
        match self.rng.below(4) {
            0 => {
                let parts = [self.expr(ty, depth), self.expr(INT, 0), self.expr(INT, 0)];
                value(ty, "({})[{}:{}]", parts)
            }
            1 if !UNORDERED.contains(&element) => {
                let query = self.column_query(element, depth);
                value(ty, "array(select c1 from ({}) s(c1) order by c1)", [query])
            }
            _ => {
                let items = (0..self.rng.index(4)).map(|_| self.expr(element, depth)).collect();
                let close = format!("]::{}", values::name(ty));
                value(ty, "array[", []).list(items, ", ", 0).word(close)
            }
        }
    }

    /// A condition.
    pub fn condition(&mut self, depth: u32) -> Tree {
        let ty = self.type_in_sight();
        match self.rng.below(14) {
            0 | 1 => {
                let word = self.one(&[" and ", " or "]);
                let items = (0..2 + self.rng.index(2)).map(|_| self.expr(BOOL, depth)).collect();
                value(BOOL, "(", []).list(items, word, 1).word(")")
            }
            2 => value(BOOL, "(not {})", [self.expr(BOOL, depth)]),
            3 => {
                let word = self.one(&["is null", "is not null", "isnull"]);
                value(BOOL, &format!("({{}} {word})"), [self.expr(ty, depth)])
            }
            4 => {
                let word = self.one(&TRUTHS);
                value(BOOL, &format!("({{}} {word})"), [self.expr(BOOL, depth)])
            }
            5 => {
                let word = self.one(&["is distinct from", "is not distinct from"]);
                let parts = [self.expr(ty, depth), self.expr(ty, depth)];
                value(BOOL, &format!("({{}} {word} {{}})"), parts)
            }
            6 => {
                let word = self.one(&["between", "not between", "between symmetric"]);
                let parts = [self.expr(ty, depth), self.expr(ty, 0), self.expr(ty, 0)];
                value(BOOL, &format!("({{}} {word} {{}} and {{}})"), parts)
            }
            7 => {
                let word = self.one(&["in", "not in"]);
                let items = (0..1 + self.rng.index(4)).map(|_| self.expr(ty, 0)).collect();
                value(BOOL, &format!("({{}} {word} ("), [self.expr(ty, depth)])
                    .list(items, ", ", 1)
                    .word("))")
            }
            8 => {
                let (sign, word) = (self.sign(), self.one(&["any", "all", "some"]));
                let Some(array) = self.offer.catalog.array_of(ty).filter(|a| values::is_drawn(*a))
                else {
                    return self.leaf(BOOL);
                };
                let parts = [self.expr(ty, depth), self.expr(array, depth)];
                value(BOOL, &format!("({{}} {sign} {word} ({{}}))"), parts)
            }
            9 => {
                let word = self.one(&["like", "not like", "ilike", "similar to"]);
                let parts = [self.expr(TEXT, depth), self.expr(TEXT, 0)];
                value(BOOL, &format!("({{}} {word} {{}})"), parts)
            }
            10 => {
                let sign = self.sign();
                let second = self.type_in_sight();
                let parts = [
                    self.expr(ty, depth),
                    self.expr(second, 0),
                    self.expr(ty, 0),
                    self.expr(second, 0),
                ];
                value(BOOL, &format!("(({{}}, {{}}) {sign} ({{}}, {{}}))"), parts)
            }
            11 => {
                let parts = [self.expr(ty, depth), self.expr(ty, 0)];
                let sign = self.sign();
                value(BOOL, &format!("({{}} {sign} {{}})"), parts)
            }
            _ => self.query_condition(ty, depth),
        }
    }

    fn sign(&mut self) -> &'static str {
        self.one(&["=", "=", "<>", "<", "<=", ">", ">="])
    }

    /// EXISTS, IN, ANY and ALL.
    fn query_condition(&mut self, ty: Oid, depth: u32) -> Tree {
        match self.rng.below(4) {
            0 => {
                let word = self.one(&["exists", "not exists"]);
                let query = self.column_query(ty, depth);
                value(BOOL, &format!("({word} ({{}}))"), [query])
            }
            1 => {
                let word = self.one(&["in", "not in"]);
                let parts = [self.expr(ty, depth), self.column_query(ty, depth)];
                value(BOOL, &format!("({{}} {word} ({{}}))"), parts)
            }
            2 => {
                let second = self.type_in_sight();
                let word = self.one(&["in", "not in"]);
                let first = [self.expr(ty, depth), self.expr(second, 0)];
                let query = self.query_of(&[ty, second], depth);
                value(
                    BOOL,
                    &format!("(({{}}, {{}}) {word} ({{}}))"),
                    first.into_iter().chain([query]),
                )
            }
            _ => {
                let (sign, word) = (self.sign(), self.one(&["any", "all"]));
                let parts = [self.expr(ty, depth), self.column_query(ty, depth)];
                value(BOOL, &format!("({{}} {sign} {word} ({{}}))"), parts)
            }
        }
    }

    /// A query of one row as a value.
    fn scalar_query(&mut self, ty: Oid, depth: u32) -> Tree {
        if UNORDERED.contains(&ty) || depth == 0 {
            return self.leaf(ty);
        }
        let query = self.column_query(ty, depth);
        match self.rng.below(4) {
            // More than one row is an error.
            0 => value(ty, "({})", [query]),
            _ => value(ty, "(select c1 from ({}) s(c1) order by c1 limit 1)", [query]),
        }
    }

    fn column_query(&mut self, ty: Oid, depth: u32) -> Tree {
        self.query_of(&[ty], depth.saturating_sub(1))
    }
}

/// A name of a function as it is called: some are words of the grammar.
pub fn named(name: &str) -> String {
    let words = [
        "overlay",
        "position",
        "substring",
        "trim",
        "char",
        "bit",
        "interval",
        "time",
        "timestamp",
        "numeric",
        "normalize",
        "overlaps",
    ];
    match words.contains(&name) || name.contains(char::is_uppercase) {
        true => format!("pg_catalog.\"{name}\""),
        false => name.to_string(),
    }
}
