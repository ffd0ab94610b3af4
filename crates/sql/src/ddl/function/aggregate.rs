//! CREATE AGGREGATE: what of a definition makes which aggregate?

use onlap_pg::ast::{
    CreateAggregate, DefinitionItem, DefinitionValue, Lasting, ParameterMode, Path, TypeName,
};
use onlap_pg::catalog::{
    Kind as TypeKind, MadeAggregate, Proc, ProcKind, oids, procedure_signature,
};
use onlap_pg::resolve::{self, Called, Form, Operand};
use onlap_pg::{Oid, TypeRef};

use super::said::{letter, type_of};
use super::{exists, hold, must_replace, temporary};
use crate::catalog::aggregates::Aggregate;
use crate::catalog::extensions;
use crate::catalog::functions::{Function, Parameter, shown_type};
use crate::catalog::{Kind, Name};
use crate::error::{Result, SqlError, state};
use crate::query::{Names, Reader, sql_error};
use crate::rights::{Action, Need};
use crate::routine::is_polymorphic;
use crate::session::Session;
use crate::source::{Source, strings};
use crate::types::PgType;
use crate::view::View;
use crate::wire::Client;

/// What is wrong with a definition.
const INVALID: &str = "42P13";

fn invalid<T>(text: impl Into<String>) -> Result<T> {
    Err(SqlError::new(INVALID, text))
}

/// What a definition says, the last where it says something twice.
#[derive(Default)]
struct Said<'a> {
    transition: Option<Path>,
    finish: Option<Path>,
    combine: Option<Path>,
    state: Option<TypeName>,
    base: Option<TypeName>,
    initial: Option<String>,
    extra: bool,
    modify: Option<char>,
    space: i32,
    parallel: Option<String>,
    hypothetical: bool,
    /// What is known and not served.
    unserved: Option<&'static str>,
    unknown: Vec<&'a DefinitionItem>,
}

fn nothing(item: &DefinitionItem, wanted: &str) -> SqlError {
    SqlError::new(state::SYNTAX, format!("{} requires {wanted}", item.name))
}

fn path_of(item: &DefinitionItem) -> Result<Path> {
    match &item.value {
        Some(DefinitionValue::Type(ty)) => Ok(ty.name.clone()),
        Some(DefinitionValue::Operator(path)) => Ok(path.clone()),
        Some(DefinitionValue::Word(word)) => Ok([word.clone()].into()),
        Some(DefinitionValue::Number(_)) => {
            let text = format!("argument of {} must be a name", item.name);
            Err(SqlError::new(state::SYNTAX, text))
        }
        None => Err(nothing(item, "a parameter")),
    }
}

fn type_in(item: &DefinitionItem) -> Result<TypeName> {
    match &item.value {
        Some(DefinitionValue::Type(ty)) => Ok(ty.clone()),
        Some(DefinitionValue::Word(word)) => Ok(TypeName {
            name: [word.clone()].into(),
            modifiers: [].into(),
            bounds: [].into(),
            set: false,
            place: onlap_pg::ast::NOWHERE,
        }),
        Some(_) => {
            let text = format!("argument of {} must be a type name", item.name);
            Err(SqlError::new(state::SYNTAX, text))
        }
        None => Err(nothing(item, "a parameter")),
    }
}

fn text_of(item: &DefinitionItem) -> Result<String> {
    match &item.value {
        Some(DefinitionValue::Type(ty)) => {
            Ok(format!("{}{}", strings(&ty.name).join("."), "[]".repeat(ty.bounds.len())))
        }
        Some(DefinitionValue::Operator(path)) => Ok(strings(path).join(".")),
        Some(DefinitionValue::Word(text) | DefinitionValue::Number(text)) => Ok(text.to_string()),
        None => Err(nothing(item, "a parameter")),
    }
}

fn flag_of(item: &DefinitionItem) -> Result<bool> {
    let Some(value) = &item.value else { return Ok(true) };
    let said = match value {
        DefinitionValue::Number(digits) => match &**digits {
            "0" => Some(false),
            "1" => Some(true),
            _ => None,
        },
        _ => match text_of(item)?.to_lowercase().as_str() {
            "true" | "on" => Some(true),
            "false" | "off" => Some(false),
            _ => None,
        },
    };
    said.ok_or_else(|| nothing(item, "a Boolean value"))
}

fn modify_of(item: &DefinitionItem) -> Result<char> {
    match text_of(item)?.as_str() {
        "read_only" => Ok('r'),
        "shareable" => Ok('s'),
        "read_write" => Ok('w'),
        _ => {
            let text =
                format!("parameter \"{}\" must be READ_ONLY, SHAREABLE, or READ_WRITE", item.name);
            Err(SqlError::new(state::SYNTAX, text))
        }
    }
}

impl<'a> Said<'a> {
    fn of(items: &'a [DefinitionItem]) -> Result<Said<'a>> {
        let mut said = Said::default();
        for item in items {
            match &*item.name {
                "sfunc" | "sfunc1" => said.transition = Some(path_of(item)?),
                "finalfunc" => said.finish = Some(path_of(item)?),
                "combinefunc" => said.combine = Some(path_of(item)?),
                "stype" | "stype1" => said.state = Some(type_in(item)?),
                "basetype" => said.base = Some(type_in(item)?),
                "initcond" | "initcond1" => said.initial = Some(text_of(item)?),
                "finalfunc_extra" => said.extra = flag_of(item)?,
                "finalfunc_modify" => said.modify = Some(modify_of(item)?),
                "sspace" => {
                    let number = text_of(item)?.parse();
                    said.space = number.map_err(|_| nothing(item, "an integer value"))?;
                }
                "parallel" => said.parallel = Some(text_of(item)?),
                "hypothetical" => said.hypothetical = flag_of(item)?,
                "serialfunc" | "deserialfunc" => {
                    said.unserved = Some("states of aggregates as bytes");
                }
                "msfunc" | "minvfunc" | "mfinalfunc" | "mfinalfunc_extra" | "mfinalfunc_modify"
                | "mstype" | "msspace" | "minitcond" => {
                    said.unserved = Some("the moving mode of aggregates");
                }
                "sortop" => said.unserved = Some("SORTOP of aggregates"),
                _ => said.unknown.push(item),
            }
        }
        Ok(said)
    }
}

/// CREATE AGGREGATE.
///
/// # Errors
/// `42723`: there is one already; what of it is wrong.
pub fn create(
    session: &mut Session,
    view: &View,
    source: Source<'_>,
    create: &CreateAggregate,
    client: &mut dyn Client,
) -> Result<&'static str> {
    let place = temporary::place(session, view, &strings(&create.name), Lasting::Permanent)?;
    let (view, name) = (&place.view, place.name.clone());
    let mut function = function(view, source, create, name, client)?;
    let arguments = function.arguments();
    let known = view.objects.functions().get(&view.database, &function.name, &arguments);
    if known.is_none() && extensions::proc_at(view, &function.name, &arguments).is_some() {
        return Err(exists(&function.name.name));
    }
    if let Some(known) = known {
        must_replace(view, create.replace, known, &function)?;
        function.oid = known.oid;
    }
    let (key, is_new) = (function.key(), known.is_none());
    session.catalog_changed()?;
    hold(view, &key)?;
    // What it is made of is there until it is.
    let parts: Vec<u32> = function.aggregate.iter().flat_map(Aggregate::functions).collect();
    for part in parts.into_iter().filter_map(|oid| view.objects.functions().by_oid(oid)) {
        hold(view, &part.key())?;
    }
    session.put(Kind::Function, &key, Some(function.body()))?;
    if is_new {
        let number = session.number_of(Kind::Function, &key)?;
        let oid = crate::catalog::oids::of_object(number);
        session.own(view, function.class(), oid, &function.name.schema)?;
    }
    Ok("CREATE AGGREGATE")
}

fn function(
    view: &View,
    source: Source<'_>,
    create: &CreateAggregate,
    name: Name,
    client: &mut dyn Client,
) -> Result<Function> {
    let said = Said::of(&create.items)?;
    for item in &said.unknown {
        let text = format!("aggregate attribute \"{}\" not recognized", item.name);
        client.reply().notice("WARNING", &SqlError::new(state::SYNTAX, text));
    }
    let Some(state) = &said.state else { return invalid("aggregate stype must be specified") };
    let Some(transition) = &said.transition else {
        return invalid("aggregate sfunc must be specified");
    };
    if create.ordered || said.hypothetical {
        return Err(SqlError::unsupported("an aggregate of ordered sets"));
    }
    if let Some(what) = said.unserved {
        return Err(SqlError::unsupported(what));
    }
    let parameters = parameters(view, source, create, &said)?;
    let state = type_of(view, source, state)?;
    check_state(view, state, said.initial.as_deref())?;
    let parallel = match said.parallel.as_deref() {
        None | Some("unsafe") => 'u',
        Some("safe") => 's',
        Some("restricted") => 'r',
        Some(_) => {
            let text = "parameter \"parallel\" must be SAFE, RESTRICTED, or UNSAFE";
            return Err(SqlError::new(state::SYNTAX, text));
        }
    };
    let making = Making { view, said: &said, parameters: &parameters, state };
    let (aggregate, result) = making.made(transition)?;
    Ok(Function {
        oid: 0,
        database: view.database.clone(),
        name,
        procedure: false,
        language: "internal".into(),
        source: "aggregate_dummy".into(),
        parameters,
        result,
        set: false,
        volatility: 'i',
        strict: false,
        definer: false,
        leakproof: false,
        parallel,
        cost: 1.0,
        rows: 0.0,
        settings: Vec::new(),
        aggregate: Some(aggregate),
    })
}

fn parameters(
    view: &View,
    source: Source<'_>,
    create: &CreateAggregate,
    said: &Said<'_>,
) -> Result<Vec<Parameter>> {
    let plain = |ty| Parameter { name: String::new(), ty, mode: b'i', default: None };
    let Some(all) = &create.parameters else {
        let Some(base) = &said.base else {
            return invalid("aggregate input type must be specified");
        };
        let is_any = matches!(&*base.name, [one] if one.eq_ignore_ascii_case("any"));
        return match is_any && base.bounds.is_empty() {
            true => Ok(Vec::new()),
            false => Ok(vec![plain(type_of(view, source, base)?)]),
        };
    };
    if said.base.is_some() {
        return invalid("basetype is redundant with aggregate input type specification");
    }
    let mut made: Vec<Parameter> = Vec::with_capacity(all.len());
    for parameter in all {
        if parameter.ty.set {
            return invalid("aggregates cannot accept set arguments");
        }
        let ty = type_of(view, source, &parameter.ty)?;
        let (mode, name) = (letter(parameter.mode), parameter.name.as_deref().unwrap_or_default());
        if made.last().is_some_and(|last| last.mode == b'v') {
            return invalid("VARIADIC parameter must be the last input parameter");
        }
        let is_array = view.objects.made_types().catalog().element(ty).is_some()
            || matches!(ty, oids::ANYARRAY | oids::ANYCOMPATIBLEARRAY);
        if parameter.mode == ParameterMode::Variadic && !is_array {
            return match ty {
                oids::ANY => Err(SqlError::unsupported("an aggregate of VARIADIC \"any\"")),
                _ => invalid("VARIADIC parameter must be an array"),
            };
        }
        if !name.is_empty() && made.iter().any(|known| known.name == name) {
            return invalid(format!("parameter name \"{name}\" used more than once"));
        }
        made.push(Parameter { name: name.to_string(), mode, ..plain(ty) });
    }
    match made.len() > 99 {
        true => Err(SqlError::new("54023", "aggregates cannot have more than 99 arguments")),
        false => Ok(made),
    }
}

/// Fails where states cannot have a type, or cannot begin so.
fn check_state(view: &View, ty: u32, initial: Option<&str>) -> Result<()> {
    let catalog = view.objects.made_types().catalog();
    let is_pseudo = catalog.get_type(ty).is_some_and(|ty| ty.kind == TypeKind::Pseudo);
    if !is_pseudo {
        return match initial {
            Some(text) => Reader::new(view).fixed_text(PgType::new(ty), text).map(|_| ()),
            None => Ok(()),
        };
    }
    if is_polymorphic(ty) {
        return Ok(());
    }
    let shown = catalog.shown(ty);
    match shown == "internal" && view.judge.is_superuser() {
        true => Err(SqlError::unsupported("an aggregate with states of type internal")),
        false => invalid(format!("aggregate transition data type cannot be {shown}")),
    }
}

/// What functions are looked up for.
struct Making<'a> {
    view: &'a View,
    said: &'a Said<'a>,
    parameters: &'a [Parameter],
    state: u32,
}

/// A function that was found.
struct Found {
    oid: u32,
    result: u32,
    strict: bool,
}

impl Making<'_> {
    /// The aggregate and the type of its result.
    fn made(&self, transition: &Path) -> Result<(Aggregate, u32)> {
        let said = self.said;
        let given: Vec<u32> = self.parameters.iter().map(|of| of.ty).collect();
        self.check_polymorphic(self.state, "cannot determine transition data type")?;
        let with_given: Vec<u32> = [self.state].into_iter().chain(given.iter().copied()).collect();
        let step = self.function(transition, &with_given)?;
        if step.result != self.state {
            return Err(self.other_result("transition", transition));
        }
        if step.strict && said.initial.is_none() {
            let suits = given.first().is_some_and(|ty| self.is_same(*ty, self.state));
            if !suits {
                return invalid(
                    "must not omit initial value when transition function is strict and \
                     transition type is not compatible with input type",
                );
            }
        }
        let (mut finish, mut result) = (0, self.state);
        if let Some(path) = &said.finish {
            let args = if said.extra { &with_given[..] } else { &with_given[..1] };
            let found = self.function(path, args)?;
            if said.extra && found.strict {
                let text = "final function with extra arguments must not be declared STRICT";
                return invalid(text);
            }
            (finish, result) = (found.oid, found.result);
        }
        let mut combine = 0;
        if let Some(path) = &said.combine {
            let found = self.function(path, &[self.state, self.state])?;
            if found.result != self.state {
                return Err(self.other_result("combine", path));
            }
            combine = found.oid;
        }
        self.check_polymorphic(result, "cannot determine result data type")?;
        let made = MadeAggregate {
            transition: step.oid,
            state: self.state,
            finish,
            finish_extra: said.extra,
            combine,
            initial: said.initial.clone(),
        };
        let modify = said.modify.unwrap_or('r');
        Ok((Aggregate { made, modify, space: said.space }, result))
    }

    fn other_result(&self, what: &str, path: &Path) -> SqlError {
        let (name, shown) = (strings(path).join("."), shown_type(self.view, self.state));
        let text = format!("return type of {what} function {name} is not {shown}");
        SqlError::new("42804", text)
    }

    /// Whether values of a type are values of another as they are.
    fn is_same(&self, from: Oid, to: Oid) -> bool {
        let names = Names::new(self.view);
        resolve::is_same(names.catalog(), from, to)
    }

    /// A type that stands for others has to be said by an argument.
    fn check_polymorphic(&self, ty: u32, text: &str) -> Result<()> {
        let is_said = self.parameters.iter().any(|of| resolve::says(of.ty, ty));
        if !is_polymorphic(ty) || is_said {
            return Ok(());
        }
        let shown = shown_type(self.view, ty);
        let of = match shown.starts_with("anycompatible") {
            true => {
                "anycompatible, anycompatiblearray, anycompatiblenonarray, anycompatiblerange, or \
                 anycompatiblemultirange"
            }
            false => "anyelement, anyarray, anynonarray, anyenum, anyrange, or anymultirange",
        };
        let detail = format!("A result of type {shown} requires at least one input of type {of}.");
        Err(SqlError::new(INVALID, text).detail(detail))
    }

    /// The function of a name for arguments of types, which have to be its own as they are.
    fn function(&self, path: &Path, given: &[u32]) -> Result<Found> {
        let names = Names::new(self.view);
        let catalog = names.catalog();
        let parts = strings(path);
        let name = parts.join(".");
        let signature = |types: &[u32]| {
            let types: Vec<_> = types.iter().map(|oid| (None, *oid)).collect();
            procedure_signature(catalog, &name, &types)
        };
        let set = |types: &[u32]| {
            SqlError::new("42804", format!("function {} returns a set", signature(types)))
        };
        let missing =
            || SqlError::new("42883", format!("function {} does not exist", signature(given)));
        if let [schema, _] = &parts[..]
            && !self.view.has_schema(schema)
        {
            return Err(SqlError::new(
                state::NO_SCHEMA,
                format!("schema \"{schema}\" does not exist"),
            ));
        }
        // One that takes these types as they are needs nothing else, also where they stand for others.
        let exact = catalog.procs_named(&name).filter(|proc| *proc.arguments == *given);
        if let Some(proc) = exact.min_by_key(|proc| catalog.rank(proc)) {
            return match proc.kind {
                ProcKind::Function if proc.retset => Err(set(given)),
                ProcKind::Function => self.found(proc, proc.result),
                _ => Err(missing()),
            };
        }
        let operands: Vec<Operand> =
            given.iter().map(|oid| Operand::typed(TypeRef::new(*oid))).collect();
        let call = match resolve::function(catalog, &name, &operands, Form::default()) {
            Ok(Called::Function(call)) if call.kind == ProcKind::Function => call,
            Ok(_) => return Err(missing()),
            Err(e) if matches!(e.state, "42883" | "42725" | "42809") => return Err(missing()),
            Err(e) => return Err(sql_error(&e, "")),
        };
        if call.retset {
            return Err(set(given));
        }
        let proc = catalog.proc(call.proc).ok_or_else(missing)?;
        if call.collected.is_some() || !call.defaults.is_empty() || proc.variadic == oids::ANY {
            let text = "an aggregate of a function that collects arguments or has defaults";
            return Err(SqlError::unsupported(text));
        }
        let declared = &proc.arguments;
        let fits = |(from, to): (&u32, &u32)| is_polymorphic(*to) || self.is_same(*from, *to);
        if !given.iter().zip(declared).all(fits) {
            let text = format!("function {} requires run-time type coercion", signature(declared));
            return Err(SqlError::new("42804", text));
        }
        self.found(proc, call.result)
    }

    /// A function that the role may call.
    fn found(&self, proc: &Proc, result: u32) -> Result<Found> {
        if let Some(made) = self.view.objects.functions().by_oid(proc.oid) {
            let name = made.name.name.as_str();
            self.view.must(&[Need::new(Action::Call, made.class(), made.rights(), name)])?;
        }
        Ok(Found { oid: proc.oid, result, strict: proc.strict })
    }
}
