//! What does resolution answer, in the short form of `onlap_testkit::resolution`?

use std::collections::HashMap;

use onlap_pg::catalog::{Catalog, Kind, ProcKind, Type};
use onlap_pg::resolve::{self, Call, Called, Context, Conversion, Form, Step};
use onlap_pg::{Error, Oid, TypeRef};
use onlap_testkit::resolution::{Case, Construct, MADE, Operand, TYPES};

/// The files of facts, in the order of their queries.
pub const FACTS: [&str; 6] = [
    include_str!("../../src/catalog/data/pg_type.tsv"),
    include_str!("../../src/catalog/data/pg_range.tsv"),
    include_str!("../../src/catalog/data/pg_operator.tsv"),
    include_str!("../../src/catalog/data/pg_proc.tsv"),
    include_str!("../../src/catalog/data/pg_cast.tsv"),
    include_str!("../../src/catalog/data/pg_aggregate.tsv"),
];

/// By what differences are counted.
pub fn kind(case: &Case) -> String {
    match case {
        Case::Operator(name, of) => format!("operator {name} of {}", of.len()),
        Case::AnyOf(name, ..) => format!("{name} ANY"),
        Case::Function(name, of) => format!("function {name} of {}", of.len()),
        Case::Named(name, names, _) => format!("function {name} with {names:?}"),
        Case::Variadic(name, of) => format!("function {name} of {} with VARIADIC", of.len()),
        Case::Explicit(_, to) => format!("cast to {to}"),
        Case::Assignment(_, to) => format!("assignment to {to}"),
        Case::Common(construct, _) => format!("{construct:?}"),
        Case::In(_, list) => format!("IN of {}", list.len()),
    }
}

fn has_parameter(case: &Case) -> bool {
    match case {
        Case::Operator(_, of)
        | Case::Function(_, of)
        | Case::Named(_, _, of)
        | Case::Variadic(_, of)
        | Case::Common(_, of) => of.contains(&Operand::Parameter),
        Case::AnyOf(_, left, right) => [left, right].contains(&&Operand::Parameter),
        Case::Explicit(of, _) | Case::Assignment(of, _) => *of == Operand::Parameter,
        Case::In(left, of) => *left == Operand::Parameter || of.contains(&Operand::Parameter),
    }
}

pub struct Resolver {
    catalog: Catalog,
    types: HashMap<&'static str, TypeRef>,
}

type Answer = Result<String, Error>;

impl Resolver {
    pub fn new() -> Resolver {
        let catalog = catalog();
        let types = TYPES.iter().map(|name| (*name, type_of(&catalog, name))).collect();
        Resolver { catalog, types }
    }

    pub fn answer(&self, case: &Case) -> String {
        self.resolve(case).unwrap_or_else(|e| format!("E{}", e.state))
    }

    /// Message and hint of a refusal.
    pub fn words(&self, case: &Case) -> Option<(String, String)> {
        self.resolve(case).err().map(|e| (e.message, e.hint.unwrap_or_default().into()))
    }

    /// A parameter must have got a type.
    fn resolve(&self, case: &Case) -> Answer {
        let found = self.resolve_open(case)?;
        let tree = !matches!(case, Case::Common(Construct::Union | Construct::Values, _));
        if tree && has_parameter(case) && !found.contains('$') {
            return Err(Error::new("42P18", "could not determine data type of parameter $1"));
        }
        Ok(found)
    }

    fn resolve_open(&self, case: &Case) -> Answer {
        match case {
            Case::Operator(name, of) => {
                let (right, left) = of.split_last().expect("an operand");
                let left = left.first().map(|left| self.operand(*left));
                let found = resolve::operator(&self.catalog, name, left, self.operand(*right))?;
                let tree =
                    format!("o{}:{}({})", found.operator, found.result, list(&found.operands));
                Ok(shown(&self.catalog, TypeRef::new(found.result), &tree))
            }
            Case::AnyOf(name, left, right) => {
                let (left, right) = (self.operand(*left), self.operand(*right));
                let found = resolve::any_operator(&self.catalog, name, left, right)?;
                Ok(format!("16 s{}({})", found.operator, list(&found.operands)))
            }
            Case::Function(name, of) => self.function(name, of, Form::default()),
            Case::Named(name, last, of) => {
                let mut names = vec![None; of.len() - last.len()];
                names.extend(last.iter().map(|name| Some(name.as_str())));
                self.function(name, of, Form { names: &names, ..Form::default() })
            }
            Case::Variadic(name, of) => {
                self.function(name, of, Form { variadic: true, ..Form::default() })
            }
            Case::Explicit(of, to) => {
                let (of, to) = (self.operand(*of), self.types[to]);
                let found = resolve::convert(&self.catalog, of, to, Context::Explicit)?;
                let found =
                    found.ok_or_else(|| resolve::cast_error(&self.catalog, of.ty.oid, to.oid))?;
                Ok(shown(&self.catalog, found.ty, &tree(&found)))
            }
            Case::Assignment(of, name) => {
                let (of, to) = (self.operand(*of), self.types[name]);
                let column = format!("c{}", TYPES.iter().position(|t| t == name).expect("listed"));
                let found = resolve::convert(&self.catalog, of, to, Context::Assignment)?;
                let found = found.ok_or_else(|| {
                    resolve::assignment_error(&self.catalog, &column, of.ty.oid, to.oid)
                })?;
                Ok(tree(&found))
            }
            Case::Common(construct, of) => self.common(*construct, of),
            Case::In(left, list) => {
                let items: Vec<_> = list.iter().map(|o| self.operand(*o)).collect();
                let left = self.operand(*left);
                let found = resolve::in_list(&self.catalog, "=", left, &items, &[])?;
                Ok(match (&found.array, &found.each[..]) {
                    (Some((_, _, call)), []) => format!("16 s{}", call.operator),
                    (None, [one]) => format!("16 o{}:{}", one.operator, one.result),
                    _ => "16 BOOLEXPR".into(),
                })
            }
        }
    }

    fn operand(&self, operand: Operand) -> resolve::Operand {
        match operand {
            Operand::Column(name) => resolve::Operand::typed(self.types[name]),
            Operand::Unknown => resolve::Operand::literal(),
            Operand::Parameter => resolve::Operand::parameter(),
            Operand::Record => resolve::Operand::typed(TypeRef::new(2249)),
        }
    }

    fn function(&self, name: &str, of: &[Operand], form: Form<'_>) -> Answer {
        let operands: Vec<_> = of.iter().map(|o| self.operand(*o)).collect();
        let call = match resolve::function(&self.catalog, name, &operands, form)? {
            Called::Cast(cast) if cast.ty.oid == 705 => {
                let open = if cast.steps.is_empty() {
                    operands[0]
                } else {
                    resolve::Operand::typed(cast.ty)
                };
                let text = resolve::to_text(&self.catalog, open)?;
                return Ok(shown(&self.catalog, text.ty, &tree(&text)));
            }
            Called::Cast(cast) => return Ok(shown(&self.catalog, cast.ty, &tree(&cast))),
            Called::Function(call) => call,
        };
        if call.result == 705 {
            resolve::to_text(&self.catalog, resolve::Operand::typed(TypeRef::new(705)))?;
        }
        let named = form.names.iter().filter(|name| name.is_some()).count();
        Ok(shown(&self.catalog, TypeRef::new(call.result), &self.call(&call, named)))
    }

    fn call(&self, call: &Call, named: usize) -> String {
        let plain = call.arguments.len() - call.collected.map_or(0, |c| c.count);
        let mut arguments: Vec<String> = call.arguments[..plain].iter().map(tree).collect();
        let first = plain - named.min(plain);
        for (argument, place) in arguments.iter_mut().zip(&call.places).skip(first) {
            *argument = format!("{place}={argument}");
        }
        let mut variadic = if call.whole { "*" } else { "" };
        if let Some(collected) = call.collected {
            arguments.push(format!("y{}({})", collected.array, list(&call.arguments[plain..])));
            variadic = "*";
        }
        let mark = match call.kind {
            ProcKind::Aggregate => 'g',
            ProcKind::Window => 'w',
            _ => 'f',
        };
        format!("{mark}{}{variadic}:{}({})", call.proc, call.result, arguments.join(","))
    }

    fn common(&self, construct: Construct, of: &[Operand]) -> Answer {
        let operands: Vec<_> = of.iter().map(|o| self.operand(*o)).collect();
        let catalog = &self.catalog;
        let (name, mark) = match construct {
            Construct::Union => return self.union(&operands),
            Construct::Values => ("VALUES", 'v'),
            Construct::Case => ("CASE", 'q'),
            Construct::Coalesce => ("COALESCE", 'l'),
            Construct::Greatest => ("GREATEST", 'm'),
            Construct::Array => ("ARRAY", 'y'),
        };
        // What ELSE gives counts first.
        let mut ordered = operands.clone();
        if construct == Construct::Case {
            ordered.rotate_right(1);
        }
        let types: Vec<Oid> = ordered.iter().map(|o| o.ty.oid).collect();
        let common = resolve::common_type(catalog, &types, name)?;
        let array = match construct {
            Construct::Array => Some(resolve::array_type(catalog, &types, common)?),
            _ => None,
        };
        let mut converted = Vec::new();
        for (at, operand) in ordered.iter().enumerate() {
            let name = match (construct, at) {
                (Construct::Case, 0) => "CASE/ELSE",
                (Construct::Case, _) => "CASE/WHEN",
                _ => name,
            };
            converted.push(resolve::to_common(catalog, *operand, common, name)?);
        }
        let typed: Vec<TypeRef> = converted.iter().map(|c| c.ty).collect();
        let modifier = resolve::common_modifier(&typed, common);
        if let Some(array) = array {
            let tree = format!("y{array}({})", list(&converted));
            return Ok(shown(&self.catalog, TypeRef { oid: array, modifier }, &tree));
        }
        let result = TypeRef { oid: common, modifier };
        if construct == Construct::Values {
            return Ok(shown(&self.catalog, result, ""));
        }
        Ok(shown(&self.catalog, result, &format!("{mark}{common}({})", list(&converted))))
    }

    /// UNION takes its arms two by two.
    fn union(&self, operands: &[resolve::Operand]) -> Answer {
        let mut left = operands[0];
        for right in &operands[1..] {
            let common =
                resolve::common_type(&self.catalog, &[left.ty.oid, right.ty.oid], "UNION")?;
            let mut types = Vec::new();
            for arm in [left, *right] {
                types.push(resolve::to_common(&self.catalog, arm, common, "UNION")?.ty);
            }
            // An arm that must be converted loses its modifier.
            let modifier = resolve::common_modifier(&types, common);
            left = resolve::Operand::typed(TypeRef { oid: common, modifier });
        }
        let ty = if left.ty.oid == 705 { TypeRef::new(25) } else { left.ty };
        Ok(shown(&self.catalog, ty, ""))
    }
}

fn catalog() -> Catalog {
    let mut made = Vec::new();
    let postgresql = Catalog::new();
    for (name, oid, sql) in MADE {
        let over = sql.split_whitespace().nth(4).unwrap_or("");
        let mut found = match sql {
            _ if sql.contains("as enum") => Type::made(oid, name, Kind::Enum, b'E', oid + 1),
            _ if sql.contains("type") => Type::made(oid, name, Kind::Composite, b'C', oid + 1),
            _ => Type::made(oid, name, Kind::Domain, b'U', oid + 1),
        };
        if found.kind == Kind::Domain {
            let of = made.iter().find(|t: &&Type| t.name == over).cloned();
            let base = match over {
                "int4[]" => postgresql.get_type(1007).cloned(),
                "varchar(5)" => postgresql.get_type(1043).cloned(),
                over => of.or_else(|| postgresql.type_named(over).cloned()),
            };
            let base = base.expect("a domain is over a type");
            (found.base, found.category) = (base.oid, base.category);
            found.base_modifier = if over == "varchar(5)" { 9 } else { -1 };
        }
        made.push(Type::array_of(&found));
        made.push(found);
    }
    Catalog::with(made)
}

fn type_of(catalog: &Catalog, name: &str) -> TypeRef {
    let (element, array) = match name.strip_suffix("[]") {
        Some(element) => (element, true),
        None => (name, false),
    };
    let (plain, modifier) = match element {
        "numeric(10,2)" => ("numeric", (10 << 16 | 2) + 4),
        "varchar(5)" => ("varchar", 9),
        "char(3)" => ("bpchar", 7),
        "time(2)" => ("time", 2),
        "timestamp(3)" => ("timestamp", 3),
        "interval(2)" => ("interval", 0x7FFF_0002),
        "bit" => ("bit", 1),
        "bit(3)" => ("bit", 3),
        "\"char\"" => ("char", -1),
        other => (other, -1),
    };
    let found = catalog.type_named(plain).unwrap_or_else(|| panic!("a type {plain}"));
    TypeRef { oid: if array { found.array } else { found.oid }, modifier }
}

/// The protocol shows a domain as what it is over.
fn shown(catalog: &Catalog, ty: TypeRef, tree: &str) -> String {
    let (oid, modifier) = catalog.base(ty.oid, ty.modifier);
    typed(TypeRef { oid, modifier }, tree)
}

fn typed(ty: TypeRef, tree: &str) -> String {
    match ty.modifier {
        -1 => format!("{} {tree}", ty.oid),
        modifier => format!("{}/{modifier} {tree}", ty.oid),
    }
}

fn list(of: &[Conversion]) -> String {
    of.iter().map(tree).collect::<Vec<_>>().join(",")
}

fn tree(conversion: &Conversion) -> String {
    if conversion.steps.is_empty() && conversion.ty.oid == 705 {
        return "k705".into();
    }
    inside(&conversion.steps)
}

fn inside(steps: &[Step]) -> String {
    let with = |ty: &TypeRef| typed(*ty, "").trim_end().to_owned();
    let mut tree = String::from("_");
    for step in steps {
        tree = match step {
            Step::Read(ty) => format!("k{}", with(ty)),
            Step::Assume(oid) => format!("${oid}"),
            Step::Relabel(ty) => format!("r{}({tree})", with(ty)),
            Step::Function { function, result, modifier, explicit } => {
                let modifier = modifier.map_or(String::new(), |m| format!(",k23={m}"));
                let explicit = explicit.map_or(String::new(), |e| format!(",k16={}", i32::from(e)));
                format!("f{function}:{result}({tree}{modifier}{explicit})")
            }
            Step::Text(oid) => format!("i{oid}({tree})"),
            Step::Elements(element, ty) => format!("a[{}]{}({tree})", inside(element), with(ty)),
            Step::Domain(oid) => format!("d{oid}({tree})"),
            Step::Fields(_) => "ROWEXPR".into(),
        };
    }
    tree
}
