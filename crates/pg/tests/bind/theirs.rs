//! The tree that PostgreSQL printed, with the fields that are compared.

use std::fmt::Write;

use onlap_testkit::nodes::Part;

/// What is compared of each node; others have no part in what a statement means.
const FIELDS: &[(&str, &str)] = &[
    (
        "QUERY",
        "commandType resultRelation hasAggs hasWindowFuncs hasTargetSRFs hasSubLinks \
         hasDistinctOn hasRecursive hasModifyingCTE hasForUpdate cteList rtable jointree targetList \
         override onConflict returningList groupClause groupDistinct groupingSets havingQual \
         windowClause distinctClause sortClause limitOffset limitCount limitOption rowMarks \
         setOperations constraintDeps",
    ),
    (
        "COMMONTABLEEXPR",
        "ctename aliascolnames ctematerialized ctequery cterecursive cterefcount ctecolnames \
         ctecoltypes ctecoltypmods",
    ),
    (
        "RANGETBLENTRY",
        "alias eref rtekind relid relkind tablesample subquery jointype joinmergedcols \
         joinaliasvars joinleftcols joinrightcols join_using_alias functions funcordinality \
         values_lists ctename ctelevelsup self_reference coltypes coltypmods lateral inh inFromCl",
    ),
    ("ALIAS", "aliasname colnames"),
    ("RANGETBLFUNCTION", "funcexpr funccolcount funccolnames funccoltypes funccoltypmods"),
    ("TABLESAMPLECLAUSE", "tsmhandler args repeatable"),
    ("FROMEXPR", "fromlist quals"),
    ("JOINEXPR", "jointype isNatural larg rarg usingClause quals rtindex"),
    ("RANGETBLREF", "rtindex"),
    ("TARGETENTRY", "expr resno resname ressortgroupref resjunk"),
    ("SORTGROUPCLAUSE", "tleSortGroupRef eqop sortop nulls_first"),
    ("GROUPINGSET", "kind content"),
    (
        "WINDOWCLAUSE",
        "name refname partitionClause orderClause frameOptions startOffset endOffset \
         startInRangeFunc endInRangeFunc inRangeAsc inRangeNullsFirst winref copiedOrder",
    ),
    ("SETOPERATIONSTMT", "op all larg rarg colTypes colTypmods groupClauses"),
    ("ROWMARKCLAUSE", "rti strength waitPolicy pushedDown"),
    (
        "ONCONFLICTEXPR",
        "action arbiterElems arbiterWhere constraint onConflictSet onConflictWhere exclRelIndex",
    ),
    ("INFERENCEELEM", "expr infercollid inferopclass"),
    ("VAR", "varno varattno vartype vartypmod varcollid varlevelsup"),
    ("CONST", "consttype consttypmod constcollid constisnull constvalue"),
    ("PARAM", "paramkind paramid paramtype paramtypmod paramcollid"),
    (
        "AGGREF",
        "aggfnoid aggtype aggcollid inputcollid aggargtypes aggdirectargs args aggorder aggdistinct aggfilter aggstar \
         aggvariadic aggkind agglevelsup",
    ),
    ("GROUPINGFUNC", "args refs agglevelsup"),
    ("WINDOWFUNC", "winfnoid wintype wincollid inputcollid args aggfilter winref winstar winagg"),
    (
        "SUBSCRIPTINGREF",
        "refcontainertype refelemtype refrestype reftypmod refcollid refupperindexpr reflowerindexpr \
         refexpr refassgnexpr",
    ),
    ("FUNCEXPR", "funcid funcresulttype funcretset funcvariadic funccollid inputcollid args"),
    ("NAMEDARGEXPR", "arg argnumber"),
    ("OPEXPR", "opno opfuncid opresulttype opretset opcollid inputcollid args"),
    ("DISTINCTEXPR", "opno opfuncid opresulttype opretset opcollid inputcollid args"),
    ("NULLIFEXPR", "opno opfuncid opresulttype opretset opcollid inputcollid args"),
    ("SCALARARRAYOPEXPR", "opno opfuncid useOr inputcollid args"),
    ("BOOLEXPR", "boolop args"),
    ("SUBLINK", "subLinkType testexpr operName subselect"),
    ("FIELDSELECT", "arg fieldnum resulttype resulttypmod resultcollid"),
    ("FIELDSTORE", "arg newvals fieldnums resulttype"),
    ("RELABELTYPE", "arg resulttype resulttypmod resultcollid"),
    ("COERCEVIAIO", "arg resulttype resultcollid"),
    ("ARRAYCOERCEEXPR", "arg elemexpr resulttype resulttypmod resultcollid"),
    ("CONVERTROWTYPEEXPR", "arg resulttype"),
    ("COLLATEEXPR", "arg collOid"),
    ("CASEEXPR", "casetype casecollid arg args defresult"),
    ("CASEWHEN", "expr result"),
    ("CASETESTEXPR", "typeId typeMod collation"),
    ("ARRAYEXPR", "array_typeid array_collid element_typeid elements multidims"),
    ("ROWEXPR", "args row_typeid colnames"),
    ("ROWCOMPAREEXPR", "rctype opnos inputcollids largs rargs"),
    ("COALESCEEXPR", "coalescetype coalescecollid args"),
    ("MINMAXEXPR", "minmaxtype minmaxcollid inputcollid op args"),
    ("SQLVALUEFUNCTION", "op type typmod"),
    ("XMLEXPR", "op name named_args arg_names args xmloption type typmod"),
    ("NULLTEST", "arg nulltesttype argisrow"),
    ("BOOLEANTEST", "arg booltesttype"),
    ("COERCETODOMAIN", "arg resulttype resulttypmod resultcollid"),
    ("SETTODEFAULT", "typeId typeMod collation"),
    ("CURRENTOFEXPR", "cvarno cursor_name"),
];

/// A tree in the form that is compared.
pub fn shown(tree: &str) -> String {
    let mut out = String::new();
    show(&Part::read(tree), &mut out);
    out
}

fn show(part: &Part, out: &mut String) {
    match part {
        Part::Word(word) => out.push_str(word.trim_matches('"')),
        Part::List(parts) => {
            out.push('(');
            for (at, part) in parts.iter().enumerate() {
                if at > 0 {
                    out.push(' ');
                }
                show(part, out);
            }
            out.push(')');
        }
        Part::Node(kind, fields) => {
            let known = FIELDS.iter().find(|(name, _)| name == kind);
            let Some((_, wanted)) = known else {
                let _ = write!(out, "{{{kind} ?}}");
                return;
            };
            let _ = write!(out, "{{{kind}");
            for (field, value) in fields {
                if wanted.split_ascii_whitespace().any(|name| name == field) {
                    show_field(part, kind, field, value, out);
                }
            }
            out.push('}');
        }
    }
}

fn show_field(node: &Part, kind: &str, field: &str, value: &[Part], out: &mut String) {
    let _ = write!(out, " :{field} ");
    match (kind, field) {
        // Which keys are depended on is their server's; whether there are any is compared.
        ("QUERY", "constraintDeps") => {
            let none = matches!(value.first(), Some(Part::Word(word)) if word == "<>");
            out.push_str(if none { "false" } else { "true" });
        }
        // Of an alias its name is compared: names of columns are those of what it stands for.
        ("RANGETBLENTRY", "alias") => match node.node("alias") {
            Some(alias) => out.push_str(alias.word("aliasname")),
            None => out.push_str("<>"),
        },
        ("CONST", "constvalue") => out.push_str(&constant(node, value)),
        _ => match value.first() {
            Some(first) => show(first, out),
            None => out.push_str("<>"),
        },
    }
}

/// The value of a constant of a type that is compared: numbers, booleans and texts.
fn constant(node: &Part, value: &[Part]) -> String {
    let byte = |part: &Part| match part {
        Part::Word(word) => word.parse::<i16>().map(|byte| byte as u8).ok(),
        _ => None,
    };
    let bytes: Vec<u8> = value.iter().skip(2).filter_map(byte).collect();
    let number = || bytes.get(..8).map(|of| i64::from_le_bytes(of.try_into().expect("eight")));
    match node.word("consttype") {
        _ if node.word("constisnull") == "true" => "<>".into(),
        "16" | "20" | "21" | "23" => number().map_or("?".into(), |number| number.to_string()),
        "25" | "1043" => match bytes.get(4..) {
            Some(text) => String::from_utf8_lossy(text).into_owned(),
            None => "?".into(),
        },
        _ => "?".into(),
    }
}
