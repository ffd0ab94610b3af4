//! Our bound tree in the words in which PostgreSQL prints its own.

mod exprs;

use std::fmt::{Display, Write};

use onlap_pg::ast::{Exclude, FrameUnit, JoinKind, LockStrength, LockWait, Overriding, SetKind};
use onlap_pg::bound::{
    Bound, Cte, CteKind, Entry, EntryKind, ExprId, Frame, FrameEdge, GroupSet, JoinTree, Lock,
    ModifyKind, OnConflict, Query, QueryId, SetNode, SortItem, Target, Window,
};
use onlap_pg::catalog::Catalog;

/// A tree as it is compared.
pub fn shown(bound: &Bound, query: QueryId, catalog: &Catalog) -> String {
    let mut writer = Writer { bound, catalog, out: String::new() };
    writer.query(query);
    writer.out
}

struct Writer<'a> {
    bound: &'a Bound,
    catalog: &'a Catalog,
    out: String,
}

impl Writer<'_> {
    fn node(&mut self, kind: &str, inside: impl FnOnce(&mut Self)) {
        let _ = write!(self.out, "{{{kind}");
        inside(self);
        self.out.push('}');
    }

    fn word(&mut self, field: &str, value: impl Display) {
        let _ = write!(self.out, " :{field} {value}");
    }

    fn name(&mut self, field: &str, value: Option<&str>) {
        self.word(field, value.unwrap_or("<>"));
    }

    fn field(&mut self, field: &str, inside: impl FnOnce(&mut Self)) {
        let _ = write!(self.out, " :{field} ");
        inside(self);
    }

    fn option(&mut self, field: &str, value: Option<ExprId>) {
        self.field(field, |w| match value {
            Some(value) => w.expr(value),
            None => w.out.push_str("<>"),
        });
    }

    fn list<T>(&mut self, field: &str, all: &[T], mut each: impl FnMut(&mut Self, &T)) {
        self.field(field, |w| w.items(all, &mut each));
    }

    fn items<T>(&mut self, all: &[T], each: &mut impl FnMut(&mut Self, &T)) {
        if all.is_empty() {
            return self.out.push_str("<>");
        }
        self.out.push('(');
        for (at, one) in all.iter().enumerate() {
            if at > 0 {
                self.out.push(' ');
            }
            each(self, one);
        }
        self.out.push(')');
    }

    fn exprs(&mut self, field: &str, all: &[ExprId]) {
        self.list(field, all, |w, id| w.expr(*id));
    }

    fn numbers<T: Display>(&mut self, field: &str, mark: &str, all: impl IntoIterator<Item = T>) {
        let mut all = all.into_iter().peekable();
        if all.peek().is_none() {
            return self.word(field, "<>");
        }
        let mut text = format!("({mark}");
        for one in all {
            let _ = write!(text, " {one}");
        }
        self.word(field, text + ")");
    }

    fn names<'n>(&mut self, field: &str, all: impl IntoIterator<Item = &'n Box<str>>) {
        let all: Vec<&str> = all.into_iter().map(|name| &**name).collect();
        match all.is_empty() {
            true => self.word(field, "<>"),
            false => self.word(field, format!("({})", all.join(" "))),
        }
    }

    fn query(&mut self, id: QueryId) {
        let bound = self.bound;
        let query = bound.query(id);
        self.node("QUERY", |w| w.query_fields(query));
    }

    fn query_fields(&mut self, query: &Query) {
        let modify = query.modify.as_deref();
        let command = modify.map_or(1, |modify| match modify.kind {
            ModifyKind::Update => 2,
            ModifyKind::Insert => 3,
            ModifyKind::Delete => 4,
            ModifyKind::Merge => 5,
        });
        self.word("commandType", command);
        self.word("resultRelation", modify.map_or(0, |modify| modify.entry));
        self.word("hasAggs", query.has_aggregates);
        self.word("hasWindowFuncs", query.has_windows);
        self.word("hasTargetSRFs", query.has_sets);
        self.word("hasSubLinks", query.has_subqueries);
        self.word("hasDistinctOn", query.distinct_on);
        self.word("hasRecursive", query.recursive);
        self.word("hasModifyingCTE", query.changes_within);
        self.word("hasForUpdate", query.locks.iter().any(|lock| !lock.pushed_down));
        self.list("cteList", &query.ctes, Self::cte);
        self.list("rtable", &query.entries, Self::entry);
        self.field("jointree", |w| {
            w.node("FROMEXPR", |w| {
                w.list("fromlist", &query.from, Self::tree);
                w.option("quals", query.filter);
            });
        });
        self.list("targetList", &query.targets, Self::target);
        self.word(
            "override",
            match modify.and_then(|modify| modify.overriding) {
                None => 0,
                Some(Overriding::User) => 1,
                Some(Overriding::System) => 2,
            },
        );
        self.field("onConflict", |w| match modify.and_then(|modify| modify.conflict.as_ref()) {
            Some(conflict) => w.node("ONCONFLICTEXPR", |w| w.conflict(conflict)),
            None => w.out.push_str("<>"),
        });
        self.list("returningList", modify.map_or(&[], |m| &m.returning[..]), Self::target);
        self.list("groupClause", &query.groups, Self::sort);
        self.word("groupDistinct", query.groups_distinct);
        self.list("groupingSets", &query.sets, Self::set);
        self.option("havingQual", query.having);
        let windows: Vec<(usize, &Window)> = query.windows.iter().enumerate().collect();
        self.list("windowClause", &windows, |w, (at, window)| w.window(*at + 1, window));
        self.list("distinctClause", &query.distinct, Self::sort);
        self.list("sortClause", &query.order, Self::sort);
        self.option("limitOffset", query.offset);
        self.option("limitCount", query.limit);
        self.word("limitOption", u8::from(query.ties));
        self.list("rowMarks", &query.locks, Self::lock);
        self.field("setOperations", |w| match &query.set {
            Some(node) => w.set_node(node),
            None => w.out.push_str("<>"),
        });
        self.word("constraintDeps", query.depends_on_keys);
    }

    fn lock(&mut self, lock: &Lock) {
        self.node("ROWMARKCLAUSE", |w| {
            w.word("rti", lock.entry);
            w.word(
                "strength",
                match lock.strength {
                    LockStrength::KeyShare => 1,
                    LockStrength::Share => 2,
                    LockStrength::NoKeyUpdate => 3,
                    LockStrength::Update => 4,
                },
            );
            w.word(
                "waitPolicy",
                match lock.wait {
                    LockWait::Block => 0,
                    LockWait::Skip => 1,
                    LockWait::Error => 2,
                },
            );
            w.word("pushedDown", lock.pushed_down);
        });
    }

    fn conflict(&mut self, conflict: &OnConflict) {
        self.word("action", if conflict.update { 2 } else { 1 });
        self.list("arbiterElems", &conflict.elements, |w, element| {
            w.node("INFERENCEELEM", |w| {
                w.field("expr", |w| w.expr(element.value));
                w.word("infercollid", element.collation);
                w.word("inferopclass", element.class);
            });
        });
        self.option("arbiterWhere", conflict.index_filter);
        self.word("constraint", conflict.constraint);
        self.list("onConflictSet", &conflict.set, Self::target);
        self.option("onConflictWhere", conflict.filter);
        self.word("exclRelIndex", conflict.excluded);
    }

    fn cte(&mut self, cte: &Cte) {
        self.node("COMMONTABLEEXPR", |w| {
            w.word("ctename", &cte.name);
            w.names("aliascolnames", &cte.aliases);
            w.word(
                "ctematerialized",
                match cte.kind {
                    CteKind::Default => 0,
                    CteKind::Materialized => 1,
                    CteKind::Inline => 2,
                },
            );
            w.field("ctequery", |w| w.query(cte.query));
            w.word("cterecursive", cte.recursive);
            w.word("cterefcount", cte.references);
            w.names("ctecolnames", &cte.names);
            w.numbers("ctecoltypes", "o", cte.types.iter().map(|ty| ty.oid));
            w.numbers("ctecoltypmods", "i", cte.types.iter().map(|ty| ty.modifier));
        });
    }

    fn entry(&mut self, entry: &Entry) {
        self.node("RANGETBLENTRY", |w| {
            w.name("alias", entry.alias.as_ref().map(|alias| &*alias.0));
            w.field("eref", |w| {
                w.node("ALIAS", |w| {
                    w.word("aliasname", &entry.name);
                    w.names("colnames", &entry.names);
                });
            });
            let inherited = w.entry_kind(entry);
            w.word("lateral", entry.lateral);
            w.word("inh", inherited);
            w.word("inFromCl", entry.in_from);
        });
    }

    /// What an entry is; says whether tables below it count.
    fn entry_kind(&mut self, entry: &Entry) -> bool {
        match &entry.kind {
            EntryKind::Relation { oid, kind, inherited, sample, own: _ } => {
                self.word("rtekind", 0);
                self.word("relid", oid);
                self.word("relkind", char::from(*kind));
                self.field("tablesample", |w| match sample {
                    Some(sample) => w.node("TABLESAMPLECLAUSE", |w| {
                        w.word("tsmhandler", sample.0);
                        w.exprs("args", &sample.1);
                        w.option("repeatable", sample.2);
                    }),
                    None => w.out.push_str("<>"),
                });
                return *inherited;
            }
            EntryKind::Query(query) => {
                self.word("rtekind", 1);
                self.field("subquery", |w| w.query(*query));
            }
            EntryKind::Join { kind, merged, columns, left, right, using } => {
                self.word("rtekind", 2);
                self.word("jointype", join_type(*kind));
                self.word("joinmergedcols", merged);
                self.exprs("joinaliasvars", columns);
                self.numbers("joinleftcols", "i", left);
                self.numbers("joinrightcols", "i", right);
                self.field("join_using_alias", |w| match using {
                    Some((name, columns)) => w.node("ALIAS", |w| {
                        w.word("aliasname", name);
                        w.names("colnames", columns);
                    }),
                    None => w.out.push_str("<>"),
                });
            }
            EntryKind::Functions { calls, ordinality } => {
                self.word("rtekind", 3);
                self.list("functions", calls, |w, function| {
                    w.node("RANGETBLFUNCTION", |w| {
                        w.field("funcexpr", |w| w.expr(function.call));
                        w.word("funccolcount", function.columns);
                        let defined = &function.defined;
                        w.names("funccolnames", defined.iter().map(|of| &of.0));
                        w.numbers("funccoltypes", "o", defined.iter().map(|of| of.1.oid));
                        w.numbers("funccoltypmods", "i", defined.iter().map(|of| of.1.modifier));
                    });
                });
                self.word("funcordinality", ordinality);
            }
            EntryKind::Values(rows) => {
                self.word("rtekind", 5);
                self.list("values_lists", rows, |w, row| w.items(row, &mut |w, id| w.expr(*id)));
                self.types(entry);
            }
            EntryKind::Cte { name, up, own } => {
                self.word("rtekind", 6);
                self.word("ctename", name);
                self.word("ctelevelsup", up);
                self.word("self_reference", own);
                self.types(entry);
            }
        }
        false
    }

    fn types(&mut self, entry: &Entry) {
        self.numbers("coltypes", "o", entry.types.iter().map(|ty| ty.oid));
        self.numbers("coltypmods", "i", entry.types.iter().map(|ty| ty.modifier));
    }

    fn tree(&mut self, tree: &JoinTree) {
        match tree {
            JoinTree::Entry(entry) => self.node("RANGETBLREF", |w| w.word("rtindex", entry)),
            JoinTree::Join(join) => self.node("JOINEXPR", |w| {
                w.word("jointype", join_type(join.kind));
                w.word("isNatural", join.natural);
                w.field("larg", |w| w.tree(&join.left));
                w.field("rarg", |w| w.tree(&join.right));
                w.names("usingClause", &join.using);
                w.option("quals", join.condition);
                w.word("rtindex", join.entry);
            }),
        }
    }

    fn target(&mut self, target: &Target) {
        self.node("TARGETENTRY", |w| {
            w.field("expr", |w| w.expr(target.value));
            w.word("resno", target.number);
            w.name("resname", target.name.as_deref());
            w.word("ressortgroupref", target.reference);
            w.word("resjunk", target.hidden);
        });
    }

    fn sort(&mut self, item: &SortItem) {
        self.node("SORTGROUPCLAUSE", |w| {
            w.word("tleSortGroupRef", item.reference);
            w.word("eqop", item.equal);
            w.word("sortop", item.less);
            w.word("nulls_first", item.nulls_first);
        });
    }

    fn set(&mut self, set: &GroupSet) {
        self.node("GROUPINGSET", |w| {
            let (kind, parts) = match set {
                GroupSet::Empty => (0, &[][..]),
                GroupSet::Simple(references) => {
                    w.word("kind", 1);
                    return w.numbers("content", "i", references);
                }
                GroupSet::Rollup(parts) => (2, &parts[..]),
                GroupSet::Cube(parts) => (3, &parts[..]),
                GroupSet::Sets(parts) => (4, &parts[..]),
            };
            w.word("kind", kind);
            w.list("content", parts, Self::set);
        });
    }

    fn window(&mut self, number: usize, window: &Window) {
        let frame = &window.frame;
        let distance = |edge| match edge {
            FrameEdge::Before(distance) | FrameEdge::After(distance) => Some(distance),
            _ => None,
        };
        self.node("WINDOWCLAUSE", |w| {
            w.name("name", window.name.as_deref());
            w.name("refname", window.base.as_deref());
            w.list("partitionClause", &window.partition, Self::sort);
            w.list("orderClause", &window.order, Self::sort);
            w.word("frameOptions", frame_options(frame));
            w.option("startOffset", distance(frame.from));
            w.option("endOffset", distance(frame.to));
            w.word("startInRangeFunc", frame.in_range[0]);
            w.word("endInRangeFunc", frame.in_range[1]);
            w.word("inRangeAsc", frame.ascending);
            w.word("inRangeNullsFirst", frame.nulls_first);
            w.word("winref", number);
            w.word("copiedOrder", window.copied_order);
        });
    }

    fn set_node(&mut self, node: &SetNode) {
        match node {
            SetNode::Entry(entry) => self.node("RANGETBLREF", |w| w.word("rtindex", entry)),
            SetNode::Both { kind, all, left, right, types, groups } => {
                self.node("SETOPERATIONSTMT", |w| {
                    w.word(
                        "op",
                        match kind {
                            SetKind::Union => 1,
                            SetKind::Intersect => 2,
                            SetKind::Except => 3,
                        },
                    );
                    w.word("all", all);
                    w.field("larg", |w| w.set_node(left));
                    w.field("rarg", |w| w.set_node(right));
                    w.numbers("colTypes", "o", types.iter().map(|ty| ty.oid));
                    w.numbers("colTypmods", "i", types.iter().map(|ty| ty.modifier));
                    w.list("groupClauses", groups, Self::sort);
                });
            }
        }
    }
}

fn join_type(kind: JoinKind) -> u8 {
    match kind {
        JoinKind::Inner => 0,
        JoinKind::Left => 1,
        JoinKind::Full => 2,
        JoinKind::Right => 3,
    }
}

fn frame_options(frame: &Frame) -> u32 {
    let unit = match frame.unit {
        FrameUnit::Range => 2,
        FrameUnit::Rows => 4,
        FrameUnit::Groups => 8,
    };
    let edge = |edge| match edge {
        FrameEdge::First => 0x20,
        FrameEdge::Last => 0x80,
        FrameEdge::Current => 0x200,
        FrameEdge::Before(_) => 0x800,
        FrameEdge::After(_) => 0x2000,
    };
    let exclude = match frame.exclude {
        None => 0,
        Some(Exclude::Current) => 0x8000,
        Some(Exclude::Group) => 0x10000,
        Some(Exclude::Ties) => 0x20000,
    };
    let written = u32::from(frame.written) | u32::from(frame.between) << 4;
    written | unit | edge(frame.from) | edge(frame.to) << 1 | exclude
}
