//! What does CREATE FUNCTION say?

use onlap_pg::ast::{
    CreateFunction, Expr, FunctionOption, Literal, Parameter as Said, ParameterMode, SetStatement,
    SetTo, TypeName,
};
use onlap_pg::bind;
use onlap_pg::catalog::{Kind, oids};

use crate::catalog::functions::{Function, Parameter};
use crate::catalog::{Name, frozen};
use crate::error::{Result, SqlError, state};
use crate::query::{Names, Reader, routine_catalog, sql_error};
use crate::routine::{TRIGGER, VOID, is_polymorphic};
use crate::session::Session;
use crate::settings;
use crate::source::Source;
use crate::types::PgType;
use crate::view::View;

/// What is wrong with a function.
const INVALID: &str = "42P13";

fn invalid<T>(text: impl Into<String>) -> Result<T> {
    Err(SqlError::new(INVALID, text))
}

/// The type of a name.
///
/// # Errors
/// `42704`: there is none.
pub fn type_of(view: &View, source: Source<'_>, ty: &TypeName) -> Result<u32> {
    let names = Names::new(view);
    let one = TypeName { set: false, ..ty.clone() };
    let found = bind::type_named(source.tree, &one, &names, names.catalog());
    Ok(found.map_err(|e| sql_error(&e, source.text))?.oid)
}

/// Where a body stands in the text of a statement, in characters; `None` where it is written otherwise.
pub fn body_at(source: Source<'_>, body: &str) -> Option<usize> {
    let at = source.text.find(body).filter(|_| !body.is_empty())?;
    Some(source.text[..at].chars().count())
}

/// The letter of a mode.
pub fn letter(mode: ParameterMode) -> u8 {
    match mode {
        ParameterMode::In => b'i',
        ParameterMode::Out => b'o',
        ParameterMode::InOut => b'b',
        ParameterMode::Variadic => b'v',
        ParameterMode::Table => b't',
    }
}

/// What options say, each once.
#[derive(Default)]
pub struct Options<'a> {
    pub language: Option<&'a str>,
    pub body: Option<&'a [Box<str>]>,
    pub volatility: Option<char>,
    pub strict: Option<bool>,
    pub definer: Option<bool>,
    pub leakproof: Option<bool>,
    pub parallel: Option<&'a str>,
    pub cost: Option<&'a str>,
    pub rows: Option<&'a str>,
    pub settings: Vec<&'a FunctionOption>,
}

impl<'a> Options<'a> {
    /// Reads them.
    ///
    /// # Errors
    /// `42601`: one is said twice; `42P13`: a procedure has none such.
    pub fn of(
        source: Source<'_>,
        said: &'a [(FunctionOption, u32)],
        procedure: bool,
    ) -> Result<Options<'a>> {
        let mut made = Options::default();
        for (option, place) in said {
            let at = source.text.get(..*place as usize).map_or(0, |text| text.chars().count()) + 1;
            let of_functions = !matches!(
                option,
                FunctionOption::Language(_)
                    | FunctionOption::As(_)
                    | FunctionOption::Definer(_)
                    | FunctionOption::Set(_)
                    | FunctionOption::Reset(_)
            );
            if procedure && of_functions {
                let text = "invalid attribute in procedure definition";
                return Err(SqlError::new(INVALID, text).at(at));
            }
            let twice = match option {
                FunctionOption::Language(name) => made.language.replace(name).is_some(),
                FunctionOption::As(parts) => made.body.replace(parts).is_some(),
                FunctionOption::Volatility(letter) => made.volatility.replace(*letter).is_some(),
                FunctionOption::Strict(strict) => made.strict.replace(*strict).is_some(),
                FunctionOption::Definer(definer) => made.definer.replace(*definer).is_some(),
                FunctionOption::Leakproof(proof) => made.leakproof.replace(*proof).is_some(),
                FunctionOption::Parallel(word) => made.parallel.replace(word).is_some(),
                FunctionOption::Cost(number) => made.cost.replace(number).is_some(),
                FunctionOption::Rows(number) => made.rows.replace(number).is_some(),
                FunctionOption::Set(_) | FunctionOption::Reset(_) => {
                    made.settings.push(option);
                    false
                }
                FunctionOption::Other(what) => return Err(SqlError::unsupported(*what)),
            };
            if twice {
                let text = "conflicting or redundant options";
                return Err(SqlError::new(state::SYNTAX, text).at(at));
            }
        }
        Ok(made)
    }

    /// Changes a function by them.
    ///
    /// # Errors
    /// A value that is none.
    pub fn apply(&self, session: &Session, view: &View, function: &mut Function) -> Result<()> {
        function.volatility = self.volatility.unwrap_or(function.volatility);
        function.strict = self.strict.unwrap_or(function.strict);
        function.definer = self.definer.unwrap_or(function.definer);
        if let Some(proof) = self.leakproof {
            if proof && !view.judge.is_superuser() {
                let text = "only superuser can define a leakproof function";
                return Err(SqlError::new(state::NO_PRIVILEGE, text));
            }
            function.leakproof = proof;
        }
        if let Some(word) = self.parallel {
            function.parallel = match word {
                "safe" => 's',
                "restricted" => 'r',
                "unsafe" => 'u',
                _ => {
                    let text = "parameter \"parallel\" must be SAFE, RESTRICTED, or UNSAFE";
                    return Err(SqlError::new(state::SYNTAX, text));
                }
            };
        }
        let number = |text: &str, what: &str| match text.parse::<f64>() {
            Ok(number) if number > 0.0 => Ok(number),
            _ => {
                let text = format!("{what} must be positive");
                Err(SqlError::new(state::BAD_PARAMETER, text))
            }
        };
        if let Some(text) = self.cost {
            function.cost = number(text, "COST")?;
        }
        if let Some(text) = self.rows {
            function.rows = number(text, "ROWS")?;
            if !function.set {
                let text = "ROWS is not applicable when function does not return a set";
                return Err(SqlError::new(state::BAD_PARAMETER, text));
            }
        }
        for option in &self.settings {
            set(session, function, option)?;
        }
        Ok(())
    }
}

/// SET and RESET.
fn set(session: &Session, function: &mut Function, option: &FunctionOption) -> Result<()> {
    let settings = &mut function.settings;
    let without = |settings: &mut Vec<(String, String)>, name: &str| {
        settings.retain(|(known, _)| !known.eq_ignore_ascii_case(name));
    };
    match option {
        FunctionOption::Reset(None) => settings.clear(),
        FunctionOption::Reset(Some(name)) => without(settings, name),
        FunctionOption::Set(SetStatement::Setting(_, name, to)) => {
            let text = match to {
                SetTo::Values(values) => settings::joined(name, values)?,
                SetTo::Current => settings::kept_of_shown(name, session.settings.show(name)?),
                SetTo::Default => {
                    without(settings, name);
                    return Ok(());
                }
            };
            session.settings.clone().set(name, &text, true)?;
            without(settings, name);
            // As PostgreSQL writes it.
            let name = settings::find(name).map_or(&**name, |setting| setting.name);
            settings.push((name.to_string(), text));
        }
        _ => return Err(SqlError::unsupported("this SET of a function")),
    }
    Ok(())
}

/// The function that a statement makes.
///
/// # Errors
/// What of it is wrong.
pub fn function(
    session: &Session,
    view: &View,
    source: Source<'_>,
    create: &CreateFunction,
    name: Name,
) -> Result<Function> {
    let options = Options::of(source, &create.options, create.procedure)?;
    let Some(body) = options.body else {
        return invalid("no function body specified");
    };
    let language = options.language.map(str::to_lowercase);
    let Some(language) = language else { return invalid("no language specified") };
    match language.as_str() {
        "sql" | "plpgsql" => {}
        "c" | "internal" => {
            if !view.judge.is_superuser() {
                let text = format!("permission denied for language {language}");
                return Err(SqlError::new(state::NO_PRIVILEGE, text));
            }
            return Err(SqlError::unsupported(format!("a function in language {language}")));
        }
        _ => {
            let text = format!("language \"{language}\" does not exist");
            return Err(SqlError::new(state::NO_OBJECT, text));
        }
    }
    let [body] = body else {
        return invalid(format!("only one AS item needed for language \"{language}\""));
    };
    let parameters = parameters(view, source, create, &language)?;
    let (result, set) = result(view, source, create, (&parameters, &language))?;
    let mut function = Function {
        oid: 0,
        database: view.database.clone(),
        name,
        procedure: create.procedure,
        language,
        source: body.to_string(),
        parameters,
        result,
        set,
        volatility: 'v',
        strict: false,
        definer: false,
        leakproof: false,
        parallel: 'u',
        cost: 100.0,
        rows: if set { 1000.0 } else { 0.0 },
        settings: Vec::new(),
        aggregate: None,
    };
    options.apply(session, view, &mut function)?;
    Ok(function)
}

fn parameters(
    view: &View,
    source: Source<'_>,
    create: &CreateFunction,
    language: &str,
) -> Result<Vec<Parameter>> {
    let mut made: Vec<Parameter> = Vec::with_capacity(create.parameters.len());
    let mut has_variadic = false;
    let mut has_default = false;
    if create.parameters.len() > 100 {
        let what = if create.procedure { "procedures" } else { "functions" };
        return Err(SqlError::new("54023", format!("{what} cannot have more than 100 arguments")));
    }
    for said in &create.parameters {
        if said.ty.set {
            let what = if create.procedure { "procedures" } else { "functions" };
            return invalid(format!("{what} cannot accept set arguments"));
        }
        let ty = type_of(view, source, &said.ty)?;
        let mode = letter(said.mode);
        let is_given = matches!(mode, b'i' | b'b' | b'v');
        check_type(view, ty, (create, language), is_given)?;
        if is_given && has_variadic {
            return invalid("VARIADIC parameter must be the last input parameter");
        }
        if mode == b'v' {
            has_variadic = true;
            let is_array = routine_catalog(view).element(ty).is_some()
                || matches!(ty, oids::ANYARRAY | oids::ANYCOMPATIBLEARRAY);
            if !is_array {
                return invalid("VARIADIC parameter must be an array");
            }
        }
        let name = said.name.as_deref().unwrap_or_default();
        let clashes = |known: &Parameter| {
            let apart = |a: u8, b: u8| matches!(a, b'i' | b'v') && matches!(b, b'o' | b't');
            known.name == name
                && !(apart(known.mode, mode) && mode == b'o'
                    || apart(mode, known.mode) && known.mode == b'o')
        };
        if !name.is_empty() && made.iter().any(clashes) {
            return invalid(format!("parameter name \"{name}\" used more than once"));
        }
        let default = default(view, source, said, (ty, is_given))?;
        if has_default && is_given && default.is_none() && mode != b'v' {
            let text = "input parameters after one with a default value must also have defaults";
            return invalid(text);
        }
        has_default |= default.is_some();
        made.push(Parameter { name: name.to_string(), ty, mode, default });
    }
    Ok(made)
}

fn default(
    view: &View,
    source: Source<'_>,
    said: &Said,
    (ty, is_given): (u32, bool),
) -> Result<Option<String>> {
    let Some(default) = &said.default else { return Ok(None) };
    if !is_given {
        return invalid("only input parameters can have default values");
    }
    let names = Names::new(view);
    let wanted = onlap_pg::TypeRef::new(ty);
    let mut edits = Vec::new();
    if !is_polymorphic(ty) {
        let name = said.name.as_deref().unwrap_or_default();
        let of = (name, wanted);
        let bound = bind::default(source.tree, default.expr, of, &names, names.catalog());
        let (bound, _) = bound.map_err(|e| sql_error(&e, source.text))?;
        edits = frozen::literals(view, &bound, source.text);
    }
    if let Expr::Literal(Literal::Text(text)) = source.tree.expr(default.expr) {
        let shown = names.catalog().shown(ty);
        let fixed = match frozen::depends(names.catalog(), ty) {
            true => Reader::new(view).fixed_text(PgType::new(ty), text)?,
            false => text.to_string(),
        };
        return Ok(Some(format!("'{}'::{shown}", fixed.replace('\'', "''"))));
    }
    let text = frozen::edited(source.text, default.span, edits);
    Ok(Some(crate::catalog::called::qualified(view, &text, true)))
}

/// Fails where a parameter or a result cannot have a type.
fn check_type(
    view: &View,
    ty: u32,
    (create, language): (&CreateFunction, &str),
    is_given: bool,
) -> Result<()> {
    let catalog = routine_catalog(view);
    let is_pseudo = catalog.get_type(ty).is_some_and(|ty| ty.kind == Kind::Pseudo);
    if !is_pseudo || is_polymorphic(ty) || ty == oids::RECORD {
        return Ok(());
    }
    if !is_given && (ty == VOID && !create.procedure || ty == TRIGGER && language == "plpgsql") {
        return Ok(());
    }
    let shown = catalog.shown(ty);
    match (language, is_given) {
        ("sql", true) => invalid(format!("SQL functions cannot have arguments of type {shown}")),
        ("sql", false) => invalid(format!("SQL functions cannot return type {shown}")),
        (_, true) => {
            let text = format!("PL/pgSQL functions cannot accept type {shown}");
            Err(SqlError::new(state::UNSUPPORTED, text))
        }
        (_, false) => {
            let text = format!("PL/pgSQL functions cannot return type {shown}");
            Err(SqlError::new(state::UNSUPPORTED, text))
        }
    }
}

/// The type of the result, and whether it is a set.
fn result(
    view: &View,
    source: Source<'_>,
    create: &CreateFunction,
    (parameters, language): (&[Parameter], &str),
) -> Result<(u32, bool)> {
    let results: Vec<&Parameter> = parameters.iter().filter(|of| of.is_result()).collect();
    let named = match results[..] {
        [] => None,
        [one] if !create.procedure => Some(one.ty),
        _ => Some(oids::RECORD),
    };
    if create.procedure {
        return Ok((named.unwrap_or(VOID), false));
    }
    if create.table {
        return Ok((named.unwrap_or(oids::RECORD), true));
    }
    let catalog = routine_catalog(view);
    let (ty, set) = match (&create.returns, named) {
        (Some(said), named) => {
            let ty = type_of(view, source, said)?;
            if let Some(named) = named
                && named != ty
            {
                let shown = catalog.shown(named);
                return invalid(format!(
                    "function result type must be {shown} because of OUT parameters"
                ));
            }
            (ty, said.set)
        }
        (None, Some(named)) => (named, false),
        (None, None) => return invalid("function result type must be specified"),
    };
    check_type(view, ty, (create, language), false)?;
    let polymorphic = parameters.iter().any(|of| of.is_given() && is_polymorphic(of.ty));
    let open = is_polymorphic(ty) || results.iter().any(|of| is_polymorphic(of.ty));
    if open && !polymorphic {
        let of = results.iter().map(|of| of.ty).find(|ty| is_polymorphic(*ty)).unwrap_or(ty);
        let shown = catalog.shown(of);
        let detail = format!(
            "A result of type {shown} requires at least one input of type anyelement, anyarray, \
             anynonarray, anyenum, anyrange, or anymultirange."
        );
        return Err(SqlError::new(INVALID, "cannot determine result data type").detail(detail));
    }
    if ty == TRIGGER && parameters.iter().any(Parameter::is_given) {
        let e = SqlError::new(INVALID, "trigger functions cannot have declared arguments");
        let hint = "The arguments of the trigger can be accessed through TG_NARGS and TG_ARGV \
                    instead.";
        return Err(e.hint(hint));
    }
    Ok((ty, set))
}
