//! Expressions in PostgreSQL's words.

use std::fmt::Write;

use onlap_pg::ast::{Is, SqlValue, XmlOp};
use onlap_pg::bound::{Expr, ExprId, Literal, Op, SubKind, collation_named};
use onlap_pg::catalog::ProcKind;

use super::Writer;

impl Writer<'_> {
    pub(super) fn expr(&mut self, id: ExprId) {
        let bound = self.bound;
        let ty = bound.ty(id);
        match bound.expr(id) {
            Expr::Var { entry, column, up } => self.node("VAR", |w| {
                w.word("varno", entry);
                w.word("varattno", column);
                w.word("vartype", ty.oid);
                w.word("vartypmod", ty.modifier);
                w.own("varcollid", id);
                w.word("varlevelsup", up);
            }),
            Expr::Literal(literal) => self.node("CONST", |w| {
                w.word("consttype", ty.oid);
                w.word("consttypmod", ty.modifier);
                w.own("constcollid", id);
                w.word("constisnull", *literal == Literal::Null);
                w.word("constvalue", value(literal, ty.oid));
            }),
            Expr::Param(number) => self.param(0, *number as usize, id),
            Expr::SubColumn(number) => self.param(2, *number, id),
            Expr::RowColumn(query, column) => self.param(3, query << 16 | column, id),
            Expr::Call(call) => self.node("FUNCEXPR", |w| {
                w.word("funcid", call.proc);
                w.word("funcresulttype", ty.oid);
                w.word("funcretset", call.set);
                w.word("funcvariadic", call.variadic);
                w.own("funccollid", id);
                w.input(id);
                w.list("args", &call.args, |w, (name, arg)| match name {
                    Some(number) => w.node("NAMEDARGEXPR", |w| {
                        w.field("arg", |w| w.expr(*arg));
                        w.word("argnumber", number);
                    }),
                    None => w.expr(*arg),
                });
            }),
            Expr::Op(op) => self.op("OPEXPR", op, id),
            Expr::Distinct(op) => self.op("DISTINCTEXPR", op, id),
            Expr::NullIf(op) => self.op("NULLIFEXPR", op, id),
            Expr::ArrayOp(op, all) => self.node("SCALARARRAYOPEXPR", |w| {
                w.word("opno", op.operator);
                w.word("opfuncid", op.proc);
                w.word("useOr", !all);
                w.input(id);
                w.exprs("args", &op.args);
            }),
            Expr::And(all) => self.boolean("and", all),
            Expr::Or(all) => self.boolean("or", all),
            Expr::Not(one) => self.boolean("not", &[*one]),
            Expr::Aggregate(_) | Expr::WindowCall(_) | Expr::Grouping(..) => self.call(id),
            Expr::SubQuery(sub) => self.node("SUBLINK", |w| {
                let (kind, name) = match &sub.kind {
                    SubKind::Exists => (0, None),
                    SubKind::All(name) => (1, Some(name)),
                    SubKind::Any(name) => (2, Some(name)),
                    SubKind::Row(name) => (3, Some(name)),
                    SubKind::Value => (4, None),
                    SubKind::Several(_) => (5, None),
                    SubKind::Array => (6, None),
                };
                w.word("subLinkType", kind);
                w.option("testexpr", sub.test);
                w.names("operName", name);
                w.field("subselect", |w| w.query(sub.query));
            }),
            _ => self.value(id),
        }
    }

    /// The collation of an expression.
    fn own(&mut self, field: &str, id: ExprId) {
        self.word(field, self.bound.collation(id).unwrap_or(0));
    }

    /// The collation of what an expression is of.
    fn input(&mut self, id: ExprId) {
        self.word("inputcollid", self.bound.input_collation(id).unwrap_or(0));
    }

    fn param(&mut self, kind: u8, number: usize, id: ExprId) {
        let ty = self.bound.ty(id);
        self.node("PARAM", |w| {
            w.word("paramkind", kind);
            w.word("paramid", number);
            w.word("paramtype", ty.oid);
            w.word("paramtypmod", ty.modifier);
            w.own("paramcollid", id);
        });
    }

    fn op(&mut self, kind: &str, op: &Op, id: ExprId) {
        let of = self.catalog.operator(op.operator).map_or(0, |operator| operator.result);
        let ty = match (kind, of) {
            // Of NULLIF the comparison's type is printed.
            ("NULLIFEXPR", _) => self.bound.ty(op.args[0]).oid,
            _ => self.bound.ty(id).oid,
        };
        self.node(kind, |w| {
            w.word("opno", op.operator);
            w.word("opfuncid", op.proc);
            w.word("opresulttype", ty);
            w.word("opretset", op.set);
            w.own("opcollid", id);
            w.input(id);
            w.exprs("args", &op.args);
        });
    }

    fn boolean(&mut self, name: &str, all: &[ExprId]) {
        self.node("BOOLEXPR", |w| {
            w.word("boolop", name);
            w.exprs("args", all);
        });
    }

    fn call(&mut self, id: ExprId) {
        let bound = self.bound;
        let ty = bound.ty(id);
        match bound.expr(id) {
            Expr::Aggregate(call) => self.node("AGGREF", |w| {
                w.word("aggfnoid", call.proc);
                w.word("aggtype", ty.oid);
                w.own("aggcollid", id);
                w.input(id);
                w.numbers("aggargtypes", "o", &call.types);
                w.exprs("aggdirectargs", &call.direct);
                w.list("args", &call.args, Self::target);
                w.list("aggorder", &call.order, Self::sort);
                w.list("aggdistinct", &call.distinct, Self::sort);
                w.option("aggfilter", call.filter);
                w.word("aggstar", call.star);
                w.word("aggvariadic", call.variadic);
                w.word("aggkind", char::from(call.kind));
                w.word("agglevelsup", call.up);
            }),
            Expr::WindowCall(call) => self.node("WINDOWFUNC", |w| {
                w.word("winfnoid", call.proc);
                w.word("wintype", ty.oid);
                w.own("wincollid", id);
                w.input(id);
                w.exprs("args", &call.args);
                w.option("aggfilter", call.filter);
                w.word("winref", call.window);
                w.word("winstar", call.star);
                w.word("winagg", call.kind == ProcKind::Aggregate);
            }),
            Expr::Grouping(args, references, up) => self.node("GROUPINGFUNC", |w| {
                w.exprs("args", args);
                w.numbers("refs", "i", references);
                w.word("agglevelsup", up);
            }),
            _ => {}
        }
    }

    fn value(&mut self, id: ExprId) {
        let bound = self.bound;
        let ty = bound.ty(id);
        match bound.expr(id) {
            Expr::Field(row, number) => self.node("FIELDSELECT", |w| {
                w.field("arg", |w| w.expr(*row));
                w.word("fieldnum", number);
                w.word("resulttype", ty.oid);
                w.word("resulttypmod", ty.modifier);
                w.own("resultcollid", id);
            }),
            Expr::StoreFields(row, values, numbers) => self.node("FIELDSTORE", |w| {
                w.field("arg", |w| w.expr(*row));
                w.exprs("newvals", values);
                w.numbers("fieldnums", "i", numbers);
                w.word("resulttype", ty.oid);
            }),
            Expr::Relabel(arg) => self.converted("RELABELTYPE", *arg, id, true),
            Expr::ViaText(arg) => self.converted("COERCEVIAIO", *arg, id, false),
            Expr::ConvertRow(arg) => self.converted("CONVERTROWTYPEEXPR", *arg, id, false),
            Expr::Domain(arg) => self.converted("COERCETODOMAIN", *arg, id, true),
            Expr::Elements(arg, each) => self.node("ARRAYCOERCEEXPR", |w| {
                w.field("arg", |w| w.expr(*arg));
                w.field("elemexpr", |w| w.expr(*each));
                w.word("resulttype", ty.oid);
                w.word("resulttypmod", ty.modifier);
                w.own("resultcollid", id);
            }),
            Expr::Placeholder => self.node("CASETESTEXPR", |w| {
                w.word("typeId", ty.oid);
                w.word("typeMod", ty.modifier);
                w.own("collation", id);
            }),
            Expr::Default => self.node("SETTODEFAULT", |w| {
                w.word("typeId", ty.oid);
                w.word("typeMod", ty.modifier);
                w.own("collation", id);
            }),
            Expr::Collate(arg, name) => self.node("COLLATEEXPR", |w| {
                w.field("arg", |w| w.expr(*arg));
                w.word("collOid", collation_named(name).unwrap_or(0));
            }),
            Expr::CurrentOf(entry, name) => self.node("CURRENTOFEXPR", |w| {
                w.word("cvarno", entry);
                w.word("cursor_name", name);
            }),
            _ => self.construct(id),
        }
    }

    fn converted(&mut self, kind: &str, arg: ExprId, id: ExprId, modifier: bool) {
        let ty = self.bound.ty(id);
        self.node(kind, |w| {
            w.field("arg", |w| w.expr(arg));
            w.word("resulttype", ty.oid);
            if modifier {
                w.word("resulttypmod", ty.modifier);
            }
            if kind != "CONVERTROWTYPEEXPR" {
                w.own("resultcollid", id);
            }
        });
    }

    fn construct(&mut self, id: ExprId) {
        let bound = self.bound;
        let ty = bound.ty(id);
        match bound.expr(id) {
            Expr::Case(operand, arms, otherwise) => self.node("CASEEXPR", |w| {
                w.word("casetype", ty.oid);
                w.own("casecollid", id);
                w.option("arg", *operand);
                w.list("args", arms, |w, arm| {
                    w.node("CASEWHEN", |w| {
                        w.field("expr", |w| w.expr(arm.0));
                        w.field("result", |w| w.expr(arm.1));
                    });
                });
                w.field("defresult", |w| w.expr(*otherwise));
            }),
            Expr::Array(elements, nested) => self.node("ARRAYEXPR", |w| {
                w.word("array_typeid", ty.oid);
                w.own("array_collid", id);
                w.word("element_typeid", w.catalog.element(ty.oid).unwrap_or(0));
                w.exprs("elements", elements);
                w.word("multidims", nested);
            }),
            Expr::Row(fields, names) => self.node("ROWEXPR", |w| {
                w.exprs("args", fields);
                w.word("row_typeid", ty.oid);
                let named = ty.oid == 2249;
                w.names("colnames", names.iter().filter(|_| named));
            }),
            _ => self.test(id),
        }
    }

    fn test(&mut self, id: ExprId) {
        let bound = self.bound;
        let ty = bound.ty(id);
        match bound.expr(id) {
            Expr::RowCompare(order, operators, left, right) => self.node("ROWCOMPAREEXPR", |w| {
                w.word("rctype", *order as u8);
                w.numbers("opnos", "o", operators);
                w.numbers("inputcollids", "o", bound.row_collations(id).unwrap_or_default());
                w.exprs("largs", left);
                w.exprs("rargs", right);
            }),
            Expr::Coalesce(all) => self.node("COALESCEEXPR", |w| {
                w.word("coalescetype", ty.oid);
                w.own("coalescecollid", id);
                w.exprs("args", all);
            }),
            Expr::Greatest(all, least) => self.node("MINMAXEXPR", |w| {
                w.word("minmaxtype", ty.oid);
                w.own("minmaxcollid", id);
                w.input(id);
                w.word("op", u8::from(*least));
                w.exprs("args", all);
            }),
            Expr::SqlValue(value, precision) => self.node("SQLVALUEFUNCTION", |w| {
                w.word("op", sql_value(*value, precision.is_some()));
                w.word("type", ty.oid);
                w.word("typmod", ty.modifier);
            }),
            Expr::Xml(xml) => self.node("XMLEXPR", |w| {
                let (named, args) = xml.args.split_at(xml.names.len());
                w.word("op", xml.op as u8);
                w.name("name", xml.name.as_deref());
                w.exprs("named_args", named);
                w.names("arg_names", &xml.names);
                w.exprs("args", args);
                let is_content = matches!(xml.op, XmlOp::Parse | XmlOp::Serialize) && !xml.document;
                w.word("xmloption", u8::from(is_content));
                let is_text = xml.op == XmlOp::Serialize;
                w.word("type", if is_text { ty.oid } else { 142 });
                w.word("typmod", if is_text { ty.modifier } else { -1 });
            }),
            Expr::NullTest(test) => self.node("NULLTEST", |w| {
                w.field("arg", |w| w.expr(test.value));
                w.word("nulltesttype", u8::from(test.not));
                w.word("argisrow", test.row);
            }),
            Expr::BoolTest(value, is, not) => self.node("BOOLEANTEST", |w| {
                w.field("arg", |w| w.expr(*value));
                let base = match is {
                    Is::True => 0,
                    Is::False => 2,
                    _ => 4,
                };
                w.word("booltesttype", base + u8::from(*not));
            }),
            Expr::Subscript(part) => self.node("SUBSCRIPTINGREF", |w| {
                w.word("refcontainertype", part.container_type);
                w.word("refelemtype", part.element);
                w.word("refrestype", ty.oid);
                w.word("reftypmod", ty.modifier);
                w.own("refcollid", id);
                let each = |w: &mut Self, id: &Option<ExprId>| match id {
                    Some(id) => w.expr(*id),
                    None => w.out.push_str("<>"),
                };
                w.list("refupperindexpr", &part.upper, each);
                w.list("reflowerindexpr", &part.lower, each);
                w.field("refexpr", |w| w.expr(part.container));
                w.option("refassgnexpr", part.assigned);
            }),
            other => {
                let _ = write!(self.out, "{{? {other:?}}}");
            }
        }
    }
}

fn sql_value(value: SqlValue, precise: bool) -> u8 {
    let precise = u8::from(precise);
    match value {
        SqlValue::CurrentDate => 0,
        SqlValue::CurrentTime => 1 + precise,
        SqlValue::CurrentTimestamp => 3 + precise,
        SqlValue::LocalTime => 5 + precise,
        SqlValue::LocalTimestamp => 7 + precise,
        SqlValue::CurrentRole => 9,
        SqlValue::CurrentUser => 10,
        SqlValue::User => 11,
        SqlValue::SessionUser => 12,
        SqlValue::CurrentCatalog => 13,
        SqlValue::CurrentSchema => 14,
    }
}

/// The value of a constant of a type that is compared.
fn value(literal: &Literal, ty: u32) -> String {
    match (literal, ty) {
        (Literal::Null, _) => "<>".into(),
        (Literal::Int(value), 16 | 20 | 21 | 23) => value.to_string(),
        (Literal::Int8(value), 16 | 20 | 21 | 23) => value.to_string(),
        (Literal::Bool(value), 16) => u8::from(*value).to_string(),
        (Literal::Text(text), 20 | 21 | 23) => text.trim().to_string(),
        (Literal::Text(text), 16) => match &*text.to_lowercase() {
            "t" | "true" | "yes" | "on" | "1" | "y" => "1".into(),
            _ => "0".into(),
        },
        (Literal::Text(text), 25 | 1043) => text.to_string(),
        _ => "?".into(),
    }
}
