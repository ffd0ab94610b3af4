use super::*;

#[test]
fn names_and_numbers_find_the_same_rows() {
    let catalog = Catalog::new();
    for found in catalog.types() {
        assert_eq!(catalog.get_type(found.oid).map(|t| &t.name), Some(&found.name));
        assert_eq!(catalog.type_named(&found.name).map(|t| t.oid), Some(found.oid));
        if let Some(array) = catalog.array_of(found.oid) {
            assert_eq!(catalog.element(array), Some(found.oid));
        }
    }
    for proc in catalog.procs() {
        assert!(catalog.procs_named(&proc.name).any(|p| p.oid == proc.oid));
        assert!(proc.defaults <= proc.arguments.len());
    }
    assert_eq!(catalog.operators_named("=").filter(|o| o.left == 23).count(), 3);
    assert_eq!(catalog.operator_exact("=", 23, 23).map(|o| o.oid), Some(96));
    assert_eq!(catalog.procs_with("jsonb_set", 3).count(), 1);
    assert_eq!(catalog.procs_with("jsonb_set", 5).count(), 0);
    assert!(catalog.aggregate(2803).is_some_and(|a| a.kind == b'n'));
}

#[test]
fn types_of_a_database_are_found_beside_postgresqls() {
    let mood = Type::made(20_000, "mood", Kind::Enum, b'E', 20_001);
    let array = Type::array_of(&mood);
    let mut inner = Type::made(20_002, "short", Kind::Domain, b'S', 0);
    (inner.base, inner.base_modifier) = (1043, 9);
    let mut outer = Type::made(20_003, "shorter", Kind::Domain, b'S', 0);
    outer.base = 20_002;
    let catalog = Catalog::with(vec![outer, array, mood, inner]);
    assert_eq!(catalog.base(20_003, -1), (1043, 9));
    assert_eq!(catalog.element(20_001), Some(20_000));
    assert_eq!(catalog.shown(20_001), "mood[]");
    assert_eq!(catalog.type_named("mood").map(|t| t.oid), Some(20_000));
    assert!(Catalog::new().get_type(20_000).is_none());
}

#[test]
fn types_are_written_as_format_type_does() {
    let catalog = Catalog::new();
    let of = |oid| catalog.shown(oid);
    assert_eq!(of(1185), "timestamp with time zone[]");
    assert_eq!(of(18), "\"char\"");
    assert_eq!(of(22), "int2vector");
    assert_eq!(of(1006), "int2vector[]");
    assert_eq!(of(600), "point");
}

#[test]
fn what_extensions_have_is_found_by_name_where_they_were_created() {
    use super::extensions::{self, Created};

    for extension in &extensions::ALL {
        assert!(extension.procs().all(|proc| extensions::of(proc.oid).is_some()));
        assert!(extensions::named(extension.name).is_some());
    }
    let plain = Catalog::new();
    assert!(plain.type_named("citext").is_none());
    assert!(plain.procs_named("akeys").next().is_none());
    assert_eq!(plain.operators_named("->").filter(|o| o.left == oids::HSTORE).count(), 0);
    assert_eq!(plain.get_type(oids::CITEXT).map(|t| t.category), Some(b'S'));
    let created = |name: &str, schema: &str, seen| Created {
        extension: extensions::named(name).expect("it is there"),
        schema: schema.into(),
        seen,
    };
    let catalog = Catalog::new()
        .with_extensions(vec![created("citext", "public", true), created("hstore", "s", false)]);
    assert_eq!(catalog.type_named("citext").map(|t| t.oid), Some(oids::CITEXT));
    assert!(catalog.type_named("hstore").is_none());
    assert_eq!(catalog.shown(oids::HSTORE), "s.hstore");
    assert!(catalog.procs_named("akeys").next().is_none());
    assert_eq!(catalog.procs_named("s.akeys").count(), 1);
    assert_eq!(catalog.operators_named("->").filter(|o| o.left == oids::HSTORE).count(), 2);
    assert_eq!(catalog.procs_named("replace").count(), 2);
    assert!(catalog.cast(oids::CITEXT, oids::TEXT).is_some());
}
