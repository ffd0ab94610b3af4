//! Which aggregates and windows are drawn?
//!
//! Those whose answers do not hang on the order in which rows happen to come: what gathers values is given an order by their
//! texts, and what counts rows of a window is drawn only where a key makes their order total.

use onlap_pg::Oid;

use super::expr::{UNORDERED, named};
use super::maker::{Maker, other, value};
use super::offer::{Call, Kind};
use super::tree::{Sort, Tree};
use super::values;

const BOOL: Oid = 16;

/// Aggregates that show the order of their rows.
const GATHERING: [&str; 4] = ["array_agg", "string_agg", "json", "xmlagg"];

/// Window functions that give the same to all peers.
const OF_PEERS: [&str; 4] = ["rank", "dense_rank", "percent_rank", "cume_dist"];

impl Maker<'_> {
    /// An aggregate in a grouped query, a window function where one may stand, else a call.
    pub fn aggregate_or_window(&mut self, ty: Oid, depth: u32) -> Tree {
        let (grouped, windows) = match self.scopes.last() {
            Some(scope) => (scope.groups.is_some(), scope.windows),
            None => (false, false),
        };
        let made = match (grouped, windows) {
            (true, true) if self.rng.chance(0.2) => self.window(ty),
            (true, _) => self.aggregate(ty, depth),
            (false, true) => self.window(ty),
            (false, false) => None,
        };
        made.unwrap_or_else(|| self.leaf(ty))
    }

    /// An aggregate that gives a type.
    pub fn aggregate(&mut self, ty: Oid, depth: u32) -> Option<Tree> {
        let found = self.offer.giving(ty, true);
        if found.is_empty() {
            return None;
        }
        let call = self.offer.calls[*self.rng.pick(&found)].clone();
        self.aggregate_of(&call, ty, depth)
    }

    /// A call of an aggregate. Within, every column is in sight, and no aggregate.
    pub fn aggregate_of(&mut self, call: &Call, ty: Oid, depth: u32) -> Option<Tree> {
        let scope = self.scopes.last_mut()?;
        let (groups, windows) = (scope.groups.take(), std::mem::take(&mut scope.windows));
        let made = match call.kind {
            Kind::Ordered(direct) => self.ordered(call, ty, direct),
            _ => self.plain_aggregate(call, ty, depth),
        };
        let scope = self.scope();
        (scope.groups, scope.windows) = (groups, windows);
        made
    }

    fn plain_aggregate(&mut self, call: &Call, ty: Oid, depth: u32) -> Option<Tree> {
        let gathers = GATHERING.iter().any(|name| call.name.starts_with(name))
            || call.name.starts_with("jsonb");
        let name = named(call.name);
        if call.arguments.is_empty() {
            return Some(value(ty, &format!("{name}(*)"), []).maybe(self.filter(depth)));
        }
        let (arguments, _) = self.arguments(call, ty, if gathers { 0 } else { depth })?;
        let distinct = self.rng.chance(0.15) && !call.name.contains("object");
        let tree = value(ty, &format!("{name}("), []);
        if !gathers {
            let distinct = distinct.then(|| other("distinct ", []));
            let least = arguments.len();
            let tree = tree.maybe(distinct).list(arguments, ", ", least).word(")");
            return Some(tree.maybe(self.filter(depth)));
        }
        let by: Vec<String> = arguments.iter().map(|a| format!("({})::text", a.text())).collect();
        let order = if distinct { String::new() } else { format!(" order by {}", by.join(", ")) };
        let mut within = other(if distinct { "distinct " } else { "" }, []);
        let least = arguments.len();
        within = within.list(arguments, ", ", least).word(order);
        Some(tree.fixed(within).word(")").maybe(self.filter(depth)))
    }

    fn filter(&mut self, depth: u32) -> Option<Tree> {
        self.rng.chance(0.2).then(|| other(" filter (where {})", [self.expr(BOOL, depth.min(1))]))
    }

    /// `f(direct) within group (order by …)`
    fn ordered(&mut self, call: &Call, ty: Oid, direct: usize) -> Option<Tree> {
        let element = self.offer.element_for(call, ty).unwrap_or(23);
        let name = named(call.name);
        let hypothetical = call.variadic != 0;
        let mut before = Vec::new();
        for declared in call.arguments.iter().take(direct) {
            before.push(self.offer.filled(*declared, element, element)?);
        }
        let by: Oid = match call.arguments.last() {
            Some(last) if !hypothetical => self.offer.filled(*last, element, element)?,
            _ => element,
        };
        if hypothetical {
            before = vec![by];
        }
        if UNORDERED.contains(&by) || !values::is_drawn(by) {
            return None;
        }
        let before: Vec<Tree> = before
            .into_iter()
            .map(|of| match of {
                701 => Tree::leaf(Sort::Value(701), "0.5::float8"),
                of => Tree::leaf(Sort::Value(of), values::literal(self.rng, of)),
            })
            .collect();
        let by = self.expr(by, 1);
        let way = self.one(&["", " desc"]);
        let tree = value(ty, &format!("{name}("), [])
            .list(before, ", ", direct.min(1))
            .word(") within group (order by ");
        Some(tree.one(by).word(format!("{way})")))
    }

    /// A window function, or an aggregate over a window.
    fn window(&mut self, ty: Oid) -> Option<Tree> {
        let scope = self.scopes.last_mut()?;
        let key = if scope.groups.is_some() { None } else { scope.key() };
        scope.windows = false;
        let made = match self.rng.chance(0.5) {
            true => self.window_function(ty, key.is_some()),
            false => self.window_aggregate(ty),
        };
        let made = made.and_then(|(tree, peers)| {
            let over = self.over(key, peers)?;
            Some(Tree::of(Sort::Value(ty), "{} over ({})", [tree, over]))
        });
        self.scope().windows = true;
        made
    }

    /// A call, and whether peers get the same.
    fn window_function(&mut self, ty: Oid, keyed: bool) -> Option<(Tree, bool)> {
        let all = self.offer.of_kind(Kind::Window).to_vec();
        let calls: Vec<Call> = all.into_iter().map(|at| self.offer.calls[at].clone()).collect();
        let fits = |call: &&Call| {
            let result = self.offer.element_for(call, ty).unwrap_or(call.result);
            result == ty && (keyed || OF_PEERS.contains(&call.name))
        };
        let calls: Vec<Call> = calls.iter().filter(fits).cloned().collect();
        if calls.is_empty() {
            return None;
        }
        let call = self.rng.pick(&calls).clone();
        let (arguments, _) = self.arguments(&call, ty, 1)?;
        let least = arguments.len();
        let name = named(call.name);
        let tree =
            Tree::of(Sort::Other, &format!("{name}("), []).list(arguments, ", ", least).word(")");
        Some((tree, OF_PEERS.contains(&call.name)))
    }

    fn window_aggregate(&mut self, ty: Oid) -> Option<(Tree, bool)> {
        let found = self.offer.giving(ty, true);
        let found: Vec<usize> = found
            .into_iter()
            .filter(|at| self.offer.calls[*at].kind == Kind::Aggregate)
            .filter(|at| !GATHERING.iter().any(|name| self.offer.calls[*at].name.starts_with(name)))
            .collect();
        if found.is_empty() {
            return None;
        }
        let call = self.offer.calls[*self.rng.pick(&found)].clone();
        let name = named(call.name);
        let tree = Tree::of(Sort::Other, &format!("{name}("), []);
        if call.arguments.is_empty() {
            return Some((tree.word("*)"), true));
        }
        let (arguments, _) = self.arguments(&call, ty, 1)?;
        let least = arguments.len();
        Some((tree.list(arguments, ", ", least).word(")"), true))
    }

    /// Partition, order and frame. Rows are counted only where a key orders them.
    fn over(&mut self, key: Option<Vec<String>>, peers: bool) -> Option<Tree> {
        let partition = self.rng.chance(0.5).then(|| {
            let ty = self.ordered_type();
            other("partition by {} ", [self.expr(ty, 1)])
        });
        let over = other("", []).maybe(partition);
        let (ty, way) =
            (self.ordered_type(), self.one(&["", " desc", " nulls first", " desc nulls last"]));
        let by = self.expr(ty, 1).text();
        let Some(key) = key else {
            // Peers get the same with these frames.
            if !peers {
                return None;
            }
            let frame = self.one(&[
                "",
                "",
                " range between current row and unbounded following",
                " groups between 1 preceding and 1 following",
                " groups between unbounded preceding and 1 following exclude group",
            ]);
            return Some(over.fixed(Tree::leaf(Sort::Other, format!("order by {by}{way}{frame}"))));
        };
        let frame = self.frame();
        let order = format!("order by {by}{way}, {}", key.join(", "));
        let order = if peers && self.rng.chance(0.2) { String::new() } else { order };
        let frame = if order.is_empty() { String::new() } else { frame };
        Some(over.fixed(Tree::leaf(Sort::Other, order)).maybe(Some(Tree::leaf(Sort::Other, frame))))
    }

    fn frame(&mut self) -> String {
        let mode = self.one(&["rows", "rows", "groups"]);
        let from = self.one(&[
            "unbounded preceding",
            "2 preceding",
            "1 preceding",
            "current row",
            "1 following",
        ]);
        let to = self.one(&[
            "1 preceding",
            "current row",
            "1 following",
            "3 following",
            "unbounded following",
        ]);
        let without = self.one(&[
            "",
            "",
            "",
            " exclude current row",
            " exclude ties",
            " exclude group",
            " exclude no others",
        ]);
        match self.rng.chance(0.4) {
            true => String::new(),
            false => format!(" {mode} between {from} and {to}{without}"),
        }
    }

    /// A type that has an order.
    pub fn ordered_type(&mut self) -> Oid {
        match self.type_in_sight() {
            ty if UNORDERED.contains(&ty) => 23,
            ty => ty,
        }
    }
}
