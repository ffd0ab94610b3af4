use super::*;
use crate::Result;

const INT4: Oid = 23;
const INT8: Oid = 20;
const VOID: Oid = 2278;

fn of(oid: Oid) -> Operand {
    Operand::typed(TypeRef::new(oid))
}

fn call(name: &str, operands: &[Operand], names: &[Option<&str>], variadic: bool) -> Result<Call> {
    let form = Form { names, variadic, ..Form::default() };
    match function(&Catalog::new(), name, operands, form)? {
        Called::Function(call) => Ok(call),
        Called::Cast(_) => panic!("{name} is a cast"),
    }
}

#[test]
fn a_parameter_takes_the_other_sides_type() {
    let found = operator(&Catalog::new(), "=", Some(of(INT8)), Operand::parameter()).unwrap();
    assert_eq!(found.operands[1].steps, [Step::Assume(INT8)]);
    let found = operator(&Catalog::new(), "+", Some(Operand::parameter()), Operand::parameter());
    assert_eq!(found.unwrap_err().state, "42725");
}

#[test]
fn defaults_and_names_fill_parameters() {
    let catalog = Catalog::new();
    let found = call("make_interval", &[of(INT4)], &[Some("days")], false).unwrap();
    assert_eq!((found.places, found.defaults), (vec![3], vec![0, 1, 2, 4, 5, 6]));
    let found = call("jsonb_set", &[of(3802), Operand::literal(), of(3802)], &[], false).unwrap();
    assert_eq!(found.defaults, [3]);
    let twice = call("make_interval", &[of(INT4), of(INT4)], &[Some("days"), Some("days")], false);
    assert_eq!(twice.unwrap_err().message, "argument name \"days\" used more than once");
    let after = call("make_interval", &[of(INT4), of(INT4)], &[Some("days"), None], false);
    assert_eq!(after.unwrap_err().state, "42601");
    let none = call("make_interval", &[of(INT4)], &[Some("day")], false).unwrap_err();
    assert_eq!(none.message, "function make_interval(day => integer) does not exist");
    assert!(catalog.proc(3464).is_some_and(|p| p.defaults == 7 && p.name == "make_interval"));
}

#[test]
fn variadic_arguments_are_collected_or_given_whole() {
    let several = call("jsonb_extract_path", &[of(3802), of(25), Operand::literal()], &[], false);
    assert_eq!(several.unwrap().collected, Some(Collected { count: 2, array: 1009 }));
    let whole = call("jsonb_extract_path", &[of(3802), of(1009)], &[], true).unwrap();
    assert_eq!((whole.collected, whole.places), (None, vec![0, 1]));
    let of_any = call("concat", &[of(INT4), of(25)], &[], false).unwrap();
    assert_eq!((of_any.collected, of_any.result), (None, 25));
    let scalar = call("concat", &[of(INT4)], &[], true).unwrap_err();
    assert_eq!(scalar.message, "VARIADIC argument must be an array");
}

#[test]
fn errors_have_postgresqls_words() {
    let catalog = Catalog::new();
    let none = operator(&catalog, "+", Some(of(16)), of(1114)).unwrap_err();
    assert_eq!(
        (none.state, none.message.as_str()),
        ("42883", "operator does not exist: boolean + timestamp without time zone")
    );
    assert!(
        none.hint.is_some_and(|hint| hint.starts_with("No operator matches the given name and"))
    );
    let common = common_type(&catalog, &[INT4, 25], "UNION").unwrap_err();
    assert_eq!(common.message, "UNION types integer and text cannot be matched");
    assert_eq!(cast_error(&catalog, 16, 1082).message, "cannot cast type boolean to date");
}

#[test]
fn a_literal_alone_is_text_and_modifiers_must_agree() {
    let catalog = Catalog::new();
    assert_eq!(common_type(&catalog, &[oids::UNKNOWN, oids::UNKNOWN], "CASE"), Ok(oids::TEXT));
    let (five, six) = (TypeRef { oid: 1043, modifier: 9 }, TypeRef { oid: 1043, modifier: 10 });
    assert_eq!(common_modifier(&[five, five], 1043), 9);
    assert_eq!(common_modifier(&[five, six], 1043), -1);
    let written = convert(&catalog, of(INT4), five, Context::Explicit).unwrap().unwrap();
    assert_eq!(written.steps.len(), 2);
    assert_eq!(convert(&catalog, of(INT4), five, Context::Implicit), Ok(None));
}

#[test]
fn what_stands_around_a_call_must_suit_it() {
    let state = |name: &str, form: Form<'_>| {
        function(&Catalog::new(), name, &[of(INT4)], form).err().map(|e| e.message)
    };
    let over = Form { over: true, ..Form::default() };
    let group = Form { within_group: true, ..Form::default() };
    assert_eq!(state("sum", over), None);
    assert_eq!(state("ntile", over), None);
    assert_eq!(
        state("ntile", Form::default()).as_deref(),
        Some("window function ntile requires an OVER clause")
    );
    assert!(state("abs", over).is_some_and(|text| text.starts_with("OVER specified, but abs is")));
    assert!(state("sum", group).is_some_and(|text| text.starts_with("sum is not an ordered-set")));
    assert_eq!(state("mode", group), None);
}

#[test]
fn a_record_becomes_a_composite_type_only_where_its_fields_are_known() {
    use crate::catalog::{Kind, Type};
    let catalog = Catalog::with(vec![Type::made(20_000, "pair", Kind::Composite, b'C', 0)]);
    let record = of(oids::RECORD);
    let written = Operand { origin: Origin::Row, ..record };
    let to = TypeRef::new(20_000);
    let found = convert(&catalog, written, to, Context::Implicit).unwrap().unwrap();
    assert_eq!(found.steps, [Step::Fields(20_000)]);
    let refused = convert(&catalog, record, to, Context::Explicit).unwrap_err();
    assert_eq!(refused.message, "cannot cast type record to pair");
    let back = convert(&catalog, of(20_000), record.ty, Context::Implicit).unwrap().unwrap();
    assert_eq!(back.steps, []);
}

#[test]
fn arrays_of_arrays_have_a_dimension_more() {
    let catalog = Catalog::new();
    assert_eq!(array_type(&catalog, &[INT4, INT4], INT4), Ok(1007));
    assert_eq!(array_type(&catalog, &[1007, 1007], 1007), Ok(1007));
    assert_eq!(array_type(&catalog, &[VOID], VOID).unwrap_err().state, "42704");
}
