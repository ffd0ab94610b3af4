//! Which kinds of objects are listed, by which command?
//!
//! A row of [`FAMILIES`] for each of psql's commands; some commands are another's with a letter that narrows it.

/// How a kind of objects is listed.
pub(super) struct Family {
    /// The command.
    command: &'static str,
    /// What is shown.
    pub columns: &'static str,
    /// What is shown with a `+` as well.
    pub more: &'static str,
    /// Where it is found.
    pub from: &'static str,
    /// What of that is meant; empty for all.
    pub only: &'static str,
    /// What holds for objects that are not the system's.
    pub own: &'static str,
    /// Columns that a pattern is about: the schema's, which may be empty, and the object's.
    pub named: (&'static str, &'static str),
    /// In which order.
    pub order: &'static str,
}

/// The family of a command; `None` where there is none.
pub(super) fn find(command: &str) -> Option<&'static Family> {
    FAMILIES.iter().copied().flatten().find(|family| family.command == command)
}

/// All commands, for completion.
pub(in crate::shell) fn commands() -> impl Iterator<Item = &'static str> {
    FAMILIES.iter().copied().flatten().map(|family| family.command)
}

const OWN: &str = "n.nspname NOT IN ('pg_catalog', 'information_schema', 'pg_toast')";

const fn family(
    command: &'static str,
    columns: &'static str,
    from: &'static str,
    named: (&'static str, &'static str),
) -> Family {
    Family { command, columns, more: "", from, only: "", own: "", named, order: "1, 2" }
}

const fn of_schemas(
    command: &'static str,
    columns: &'static str,
    from: &'static str,
    name: &'static str,
) -> Family {
    Family { own: OWN, ..family(command, columns, from, ("n.nspname", name)) }
}

const fn relations(command: &'static str, only: &'static str) -> Family {
    let columns = "n.nspname AS \"Schema\", c.relname AS \"Name\", CASE c.relkind WHEN 'r' THEN 'table' \
        WHEN 'p' THEN 'partitioned table' WHEN 'v' THEN 'view' WHEN 'm' THEN 'materialized view' \
        WHEN 'S' THEN 'sequence' WHEN 'i' THEN 'index' WHEN 'I' THEN 'partitioned index' \
        WHEN 'f' THEN 'foreign table' ELSE 'other' END AS \"Type\", \
        pg_catalog.pg_get_userbyid(c.relowner) AS \"Owner\"";
    let from = "pg_catalog.pg_class c JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace";
    let more = ", CASE WHEN c.relkind IN ('r', 'm', 'i') \
        THEN pg_catalog.pg_size_pretty(pg_catalog.pg_total_relation_size(c.oid)) END AS \"Size\", \
        pg_catalog.obj_description(c.oid, 'pg_class') AS \"Description\"";
    Family { only, more, ..of_schemas(command, columns, from, "c.relname") }
}

const fn functions(command: &'static str, only: &'static str) -> Family {
    let columns = "n.nspname AS \"Schema\", p.proname AS \"Name\", \
        pg_catalog.pg_get_function_result(p.oid) AS \"Result\", \
        pg_catalog.pg_get_function_arguments(p.oid) AS \"Arguments\", \
        CASE p.prokind WHEN 'a' THEN 'agg' WHEN 'w' THEN 'window' WHEN 'p' THEN 'proc' \
        ELSE CASE WHEN p.prorettype = 'pg_catalog.trigger'::pg_catalog.regtype THEN 'trigger' \
        ELSE 'func' END END AS \"Type\"";
    let more = ", CASE p.provolatile WHEN 'i' THEN 'immutable' WHEN 's' THEN 'stable' \
        ELSE 'volatile' END AS \"Volatility\", pg_catalog.pg_get_userbyid(p.proowner) AS \"Owner\", \
        l.lanname AS \"Language\", pg_catalog.obj_description(p.oid, 'pg_proc') AS \"Description\"";
    let from = "pg_catalog.pg_proc p JOIN pg_catalog.pg_namespace n ON n.oid = p.pronamespace \
        LEFT JOIN pg_catalog.pg_language l ON l.oid = p.prolang";
    Family { only, more, order: "1, 2, 4", ..of_schemas(command, columns, from, "p.proname") }
}

const INDEXES: Family = Family {
    only: "c.relkind IN ('i', 'I')",
    more: ", pg_catalog.pg_size_pretty(pg_catalog.pg_relation_size(c.oid)) AS \"Size\"",
    order: "1, 2, 3",
    ..of_schemas(
        "di",
        "n.nspname AS \"Schema\", t.relname AS \"Table\", c.relname AS \"Name\", \
         pg_catalog.pg_get_indexdef(i.indexrelid) AS \"Definition\"",
        "pg_catalog.pg_index i JOIN pg_catalog.pg_class c ON c.oid = i.indexrelid \
         JOIN pg_catalog.pg_class t ON t.oid = i.indrelid \
         JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace",
        "c.relname",
    )
};

const ROLES: Family = Family {
    own: "rolname NOT LIKE 'pg\\_%'",
    ..family(
        "du",
        "rolname AS \"Role\", rolsuper AS \"Superuser\", rolcreaterole AS \"Makes roles\", \
         rolcreatedb AS \"Makes databases\", rolcanlogin AS \"Login\", \
         ARRAY(SELECT b.rolname FROM pg_catalog.pg_auth_members m JOIN pg_catalog.pg_roles b \
         ON b.oid = m.roleid WHERE m.member = r.oid ORDER BY 1) AS \"Member of\"",
        "pg_catalog.pg_roles r",
        ("", "rolname"),
    )
};

const PRIVILEGES: Family = of_schemas(
    "dp",
    "n.nspname AS \"Schema\", c.relname AS \"Name\", CASE c.relkind WHEN 'r' THEN 'table' \
     WHEN 'v' THEN 'view' WHEN 'm' THEN 'materialized view' WHEN 'S' THEN 'sequence' \
     ELSE 'partitioned table' END AS \"Type\", c.relacl::text AS \"Privileges\", \
     ARRAY(SELECT a.attname || ': ' || a.attacl::text FROM pg_catalog.pg_attribute a \
     WHERE a.attrelid = c.oid AND NOT a.attisdropped AND a.attacl IS NOT NULL ORDER BY a.attnum) \
     AS \"Of columns\", ARRAY(SELECT p.polname::text FROM pg_catalog.pg_policy p \
     WHERE p.polrelid = c.oid ORDER BY 1) AS \"Policies\"",
    "pg_catalog.pg_class c JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace \
     AND c.relkind IN ('r', 'v', 'm', 'S', 'p')",
    "c.relname",
);

const fn types(command: &'static str, only: &'static str) -> Family {
    let columns = "n.nspname AS \"Schema\", pg_catalog.format_type(t.oid, NULL) AS \"Name\", \
        CASE t.typtype WHEN 'e' THEN 'enum' WHEN 'd' THEN 'domain' WHEN 'c' THEN 'composite' \
        WHEN 'r' THEN 'range' WHEN 'm' THEN 'multirange' WHEN 'p' THEN 'pseudo' ELSE 'base' END \
        AS \"Kind\", ARRAY(SELECT e.enumlabel::text FROM pg_catalog.pg_enum e \
        WHERE e.enumtypid = t.oid ORDER BY e.enumsortorder) AS \"Labels\"";
    let from = "pg_catalog.pg_type t JOIN pg_catalog.pg_namespace n ON n.oid = t.typnamespace";
    let more = ", pg_catalog.pg_get_userbyid(t.typowner) AS \"Owner\", \
        pg_catalog.obj_description(t.oid, 'pg_type') AS \"Description\"";
    Family { only, more, ..of_schemas(command, columns, from, "t.typname") }
}

const TYPES: &str = "t.typelem = 0 AND (t.typrelid = 0 OR (SELECT c.relkind = 'c' \
    FROM pg_catalog.pg_class c WHERE c.oid = t.typrelid))";

const DOMAINS: Family = of_schemas(
    "dD",
    "n.nspname AS \"Schema\", t.typname AS \"Name\", \
     pg_catalog.format_type(t.typbasetype, t.typtypmod) AS \"Type\", \
     CASE WHEN t.typnotnull THEN 'not null' ELSE '' END AS \"Nullable\", t.typdefault AS \"Default\", \
     ARRAY(SELECT pg_catalog.pg_get_constraintdef(r.oid) FROM pg_catalog.pg_constraint r \
     WHERE r.contypid = t.oid ORDER BY 1) AS \"Checks\"",
    "pg_catalog.pg_type t JOIN pg_catalog.pg_namespace n ON n.oid = t.typnamespace \
     AND t.typtype = 'd'",
    "t.typname",
);

const OPERATORS: Family = Family {
    order: "1, 2, 3, 4",
    ..of_schemas(
        "do",
        "n.nspname AS \"Schema\", o.oprname AS \"Name\", \
         CASE WHEN o.oprkind = 'l' THEN NULL ELSE pg_catalog.format_type(o.oprleft, NULL) END AS \"Left\", \
         pg_catalog.format_type(o.oprright, NULL) AS \"Right\", \
         pg_catalog.format_type(o.oprresult, NULL) AS \"Result\"",
        "pg_catalog.pg_operator o JOIN pg_catalog.pg_namespace n ON n.oid = o.oprnamespace",
        "o.oprname",
    )
};

const CASTS: Family = family(
    "dC",
    "pg_catalog.format_type(castsource, NULL) AS \"From\", \
     pg_catalog.format_type(casttarget, NULL) AS \"To\", \
     CASE castcontext WHEN 'e' THEN 'no' WHEN 'a' THEN 'in assignments' ELSE 'yes' END AS \"Implicit\"",
    "pg_catalog.pg_cast",
    ("", "pg_catalog.format_type(castsource, NULL)"),
);

const DESCRIPTIONS: Family = of_schemas(
    "dd",
    "n.nspname AS \"Schema\", c.conname AS \"Name\", 'constraint' AS \"Kind\", \
     d.description AS \"Description\"",
    "pg_catalog.pg_constraint c JOIN pg_catalog.pg_namespace n ON n.oid = c.connamespace \
     JOIN pg_catalog.pg_description d ON d.objoid = c.oid \
     AND d.classoid = 'pg_catalog.pg_constraint'::pg_catalog.regclass",
    "c.conname",
);

const OPERATOR_CLASSES: Family = family(
    "dAc",
    "am.amname AS \"Method\", pg_catalog.format_type(c.opcintype, NULL) AS \"Type\", \
     c.opcname AS \"Class\", c.opcdefault AS \"Default\"",
    "pg_catalog.pg_opclass c JOIN pg_catalog.pg_am am ON am.oid = c.opcmethod",
    ("", "am.amname"),
);

const OPERATOR_FAMILIES: Family = family(
    "dAf",
    "am.amname AS \"Method\", f.opfname AS \"Family\"",
    "pg_catalog.pg_opfamily f JOIN pg_catalog.pg_am am ON am.oid = f.opfmethod",
    ("", "am.amname"),
);

const FAMILY_OPERATORS: Family = family(
    "dAo",
    "am.amname AS \"Method\", f.opfname AS \"Family\", o.oprname AS \"Operator\", \
     pg_catalog.format_type(a.amoplefttype, NULL) AS \"Left\", \
     pg_catalog.format_type(a.amoprighttype, NULL) AS \"Right\", a.amopstrategy AS \"Strategy\"",
    "pg_catalog.pg_amop a JOIN pg_catalog.pg_opfamily f ON f.oid = a.amopfamily \
     JOIN pg_catalog.pg_am am ON am.oid = f.opfmethod \
     JOIN pg_catalog.pg_operator o ON o.oid = a.amopopr",
    ("", "am.amname"),
);

const FAMILY_FUNCTIONS: Family = family(
    "dAp",
    "am.amname AS \"Method\", f.opfname AS \"Family\", a.amproc::text AS \"Function\", \
     pg_catalog.format_type(a.amproclefttype, NULL) AS \"Left\", a.amprocnum AS \"Number\"",
    "pg_catalog.pg_amproc a JOIN pg_catalog.pg_opfamily f ON f.oid = a.amprocfamily \
     JOIN pg_catalog.pg_am am ON am.oid = f.opfmethod",
    ("", "am.amname"),
);

const TEXT_SEARCH: [Family; 4] = [
    of_schemas(
        "dF",
        "n.nspname AS \"Schema\", c.cfgname AS \"Configuration\"",
        "pg_catalog.pg_ts_config c JOIN pg_catalog.pg_namespace n ON n.oid = c.cfgnamespace",
        "c.cfgname",
    ),
    of_schemas(
        "dFd",
        "n.nspname AS \"Schema\", d.dictname AS \"Dictionary\"",
        "pg_catalog.pg_ts_dict d JOIN pg_catalog.pg_namespace n ON n.oid = d.dictnamespace",
        "d.dictname",
    ),
    of_schemas(
        "dFp",
        "n.nspname AS \"Schema\", p.prsname AS \"Parser\"",
        "pg_catalog.pg_ts_parser p JOIN pg_catalog.pg_namespace n ON n.oid = p.prsnamespace",
        "p.prsname",
    ),
    of_schemas(
        "dFt",
        "n.nspname AS \"Schema\", t.tmplname AS \"Template\"",
        "pg_catalog.pg_ts_template t JOIN pg_catalog.pg_namespace n ON n.oid = t.tmplnamespace",
        "t.tmplname",
    ),
];

const FOREIGN: [Family; 4] = [
    family(
        "des",
        "srvname AS \"Server\", pg_catalog.pg_get_userbyid(srvowner) AS \"Owner\"",
        "pg_catalog.pg_foreign_server",
        ("", "srvname"),
    ),
    of_schemas(
        "det",
        "n.nspname AS \"Schema\", c.relname AS \"Table\", s.srvname AS \"Server\"",
        "pg_catalog.pg_foreign_table t JOIN pg_catalog.pg_class c ON c.oid = t.ftrelid \
         JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace \
         JOIN pg_catalog.pg_foreign_server s ON s.oid = t.ftserver",
        "c.relname",
    ),
    family(
        "deu",
        "srvname AS \"Server\", usename AS \"User\"",
        "pg_catalog.pg_user_mappings",
        ("", "srvname"),
    ),
    family(
        "dew",
        "fdwname AS \"Wrapper\", pg_catalog.pg_get_userbyid(fdwowner) AS \"Owner\"",
        "pg_catalog.pg_foreign_data_wrapper",
        ("", "fdwname"),
    ),
];

const SHARED: [Family; 8] = [
    Family {
        own: "nspname NOT LIKE 'pg\\_%' AND nspname <> 'information_schema'",
        more: ", nspacl::text AS \"Privileges\", \
               pg_catalog.obj_description(oid, 'pg_namespace') AS \"Description\"",
        ..family(
            "dn",
            "nspname AS \"Schema\", pg_catalog.pg_get_userbyid(nspowner) AS \"Owner\"",
            "pg_catalog.pg_namespace",
            ("", "nspname"),
        )
    },
    Family {
        more: ", pg_catalog.pg_size_pretty(pg_catalog.pg_database_size(oid)) AS \"Size\"",
        ..family(
            "l",
            "datname AS \"Database\", pg_catalog.pg_get_userbyid(datdba) AS \"Owner\", \
             pg_catalog.pg_encoding_to_char(encoding) AS \"Encoding\", datcollate AS \"Collation\", \
             datacl::text AS \"Privileges\"",
            "pg_catalog.pg_database",
            ("", "datname"),
        )
    },
    family(
        "dx",
        "e.extname AS \"Extension\", e.extversion AS \"Version\", n.nspname AS \"Schema\", \
         pg_catalog.obj_description(e.oid, 'pg_extension') AS \"Description\"",
        "pg_catalog.pg_extension e JOIN pg_catalog.pg_namespace n ON n.oid = e.extnamespace",
        ("n.nspname", "e.extname"),
    ),
    family(
        "db",
        "spcname AS \"Tablespace\", pg_catalog.pg_get_userbyid(spcowner) AS \"Owner\"",
        "pg_catalog.pg_tablespace",
        ("", "spcname"),
    ),
    family(
        "dL",
        "lanname AS \"Language\", lanpltrusted AS \"Trusted\"",
        "pg_catalog.pg_language",
        ("", "lanname"),
    ),
    family(
        "dA",
        "amname AS \"Method\", CASE amtype WHEN 'i' THEN 'index' ELSE 'table' END AS \"Type\"",
        "pg_catalog.pg_am",
        ("", "amname"),
    ),
    family(
        "dconfig",
        "name AS \"Setting\", pg_catalog.current_setting(name) AS \"Value\"",
        "pg_catalog.pg_settings",
        ("", "name"),
    ),
    family(
        "drds",
        "r.rolname AS \"Role\", d.datname AS \"Database\", s.setconfig AS \"Settings\"",
        "pg_catalog.pg_db_role_setting s LEFT JOIN pg_catalog.pg_roles r ON r.oid = s.setrole \
         LEFT JOIN pg_catalog.pg_database d ON d.oid = s.setdatabase",
        ("", "r.rolname"),
    ),
];

const OTHERS: [Family; 8] = [
    of_schemas(
        "dc",
        "n.nspname AS \"Schema\", c.conname AS \"Conversion\", c.condefault AS \"Default\"",
        "pg_catalog.pg_conversion c JOIN pg_catalog.pg_namespace n ON n.oid = c.connamespace",
        "c.conname",
    ),
    of_schemas(
        "dO",
        "n.nspname AS \"Schema\", c.collname AS \"Collation\", c.collcollate AS \"Locale\"",
        "pg_catalog.pg_collation c JOIN pg_catalog.pg_namespace n ON n.oid = c.collnamespace",
        "c.collname",
    ),
    family(
        "ddp",
        "pg_catalog.pg_get_userbyid(d.defaclrole) AS \"Owner\", n.nspname AS \"Schema\", \
         CASE d.defaclobjtype WHEN 'r' THEN 'table' WHEN 'S' THEN 'sequence' WHEN 'f' THEN 'function' \
         WHEN 'T' THEN 'type' ELSE 'schema' END AS \"Type\", d.defaclacl::text AS \"Privileges\"",
        "pg_catalog.pg_default_acl d LEFT JOIN pg_catalog.pg_namespace n ON n.oid = d.defaclnamespace",
        ("", "n.nspname"),
    ),
    family(
        "dl",
        "oid AS \"Number\", pg_catalog.pg_get_userbyid(lomowner) AS \"Owner\"",
        "pg_catalog.pg_largeobject_metadata",
        ("", "oid"),
    ),
    family(
        "dRp",
        "pubname AS \"Publication\", pg_catalog.pg_get_userbyid(pubowner) AS \"Owner\", \
         puballtables AS \"All tables\"",
        "pg_catalog.pg_publication",
        ("", "pubname"),
    ),
    family(
        "dRs",
        "subname AS \"Subscription\", pg_catalog.pg_get_userbyid(subowner) AS \"Owner\", \
         subenabled AS \"Enabled\"",
        "pg_catalog.pg_subscription",
        ("", "subname"),
    ),
    of_schemas(
        "dX",
        "n.nspname AS \"Schema\", s.stxname AS \"Statistics\", \
         pg_catalog.pg_get_statisticsobjdef(s.oid) AS \"Definition\"",
        "pg_catalog.pg_statistic_ext s JOIN pg_catalog.pg_namespace n ON n.oid = s.stxnamespace",
        "s.stxname",
    ),
    family(
        "dy",
        "evtname AS \"Trigger\", evtevent AS \"Event\", pg_catalog.pg_get_userbyid(evtowner) AS \"Owner\"",
        "pg_catalog.pg_event_trigger",
        ("", "evtname"),
    ),
];

const RELATIONS: [Family; 13] = [
    relations("d", "c.relkind IN ('r', 'p', 'v', 'm', 'S', 'f')"),
    relations("dt", "c.relkind IN ('r', 'p')"),
    relations("dv", "c.relkind = 'v'"),
    relations("dm", "c.relkind = 'm'"),
    relations("ds", "c.relkind = 'S'"),
    relations("dE", "c.relkind = 'f'"),
    relations("dP", "c.relkind IN ('p', 'I')"),
    relations("dPt", "c.relkind = 'p'"),
    relations("dPi", "c.relkind = 'I'"),
    relations("dPn", "c.relkind IN ('p', 'I')"),
    INDEXES,
    PRIVILEGES,
    DESCRIPTIONS,
];

const FUNCTIONS: [Family; 7] = [
    functions("df", ""),
    functions("da", "p.prokind = 'a'"),
    functions("dfa", "p.prokind = 'a'"),
    functions(
        "dfn",
        "p.prokind = 'f' AND p.prorettype <> 'pg_catalog.trigger'::pg_catalog.regtype",
    ),
    functions("dfp", "p.prokind = 'p'"),
    functions("dft", "p.prorettype = 'pg_catalog.trigger'::pg_catalog.regtype"),
    functions("dfw", "p.prokind = 'w'"),
];

const NAMED: [Family; 10] = [
    ROLES,
    Family { command: "dg", ..ROLES },
    types("dT", TYPES),
    DOMAINS,
    OPERATORS,
    CASTS,
    OPERATOR_CLASSES,
    OPERATOR_FAMILIES,
    FAMILY_OPERATORS,
    FAMILY_FUNCTIONS,
];

/// All families.
static FAMILIES: [&[Family]; 7] =
    [&RELATIONS, &FUNCTIONS, &NAMED, &TEXT_SEARCH, &FOREIGN, &SHARED, &OTHERS];
