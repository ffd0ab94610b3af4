//! Which operators, functions and conversions are in a tree that PostgreSQL printed?
//!
//! Reads PostgreSQL's text of nodes and writes the first target's expression in one short line, such as
//! `o96:16(_,f481:20(_))`: operator 96, result type 16, of a column and of function 481 of a column. Pure.

use std::fmt::Write;

use crate::nodes::Part;

/// The expression of the first target in short; `name` gives the number under which a type is known.
///
/// # Panics
/// The text is no tree, or has a node whose parts are not known here.
pub fn short(tree: &str, name: &dyn Fn(u32) -> u32) -> String {
    let root = Part::read(tree);
    let targets = root.field("targetList").expect("a query has targets");
    let Some(Part::List(targets)) = targets.first() else { return String::new() };
    let Some(expression) = targets.first().and_then(|t| t.node("expr")) else {
        return String::new();
    };
    let mut out = String::new();
    Writer { out: &mut out, name }.node(expression);
    out
}

struct Writer<'a> {
    out: &'a mut String,
    name: &'a dyn Fn(u32) -> u32,
}

impl Writer<'_> {
    fn node(&mut self, part: &Part) {
        let Part::Node(kind, _) = part else { return self.out.push('_') };
        match kind.as_str() {
            "VAR" | "CASETESTEXPR" => self.out.push('_'),
            "CONST" => self.constant(part),
            "PARAM" => self.typed("$", part, "paramtype", ""),
            "RELABELTYPE" => self.call("r", part, "resulttype", "resulttypmod", "arg"),
            "COERCEVIAIO" => self.call("i", part, "resulttype", "", "arg"),
            "COERCETODOMAIN" => self.call("d", part, "resulttype", "", "arg"),
            "CONVERTROWTYPEEXPR" => self.call("c", part, "resulttype", "", "arg"),
            "ARRAYCOERCEEXPR" => {
                self.out.push('a');
                self.out.push('[');
                self.node(part.node("elemexpr").expect("an element's conversion"));
                self.call("]", part, "resulttype", "resulttypmod", "arg");
            }
            "FUNCEXPR" => self.of(part, 'f', "funcid", "funcresulttype", "funcvariadic"),
            "OPEXPR" => self.of(part, 'o', "opno", "opresulttype", ""),
            "SCALARARRAYOPEXPR" => self.of(part, 's', "opno", "", ""),
            "AGGREF" => self.of(part, 'g', "aggfnoid", "aggtype", "aggvariadic"),
            "WINDOWFUNC" => self.of(part, 'w', "winfnoid", "wintype", ""),
            "ARRAYEXPR" => self.call("y", part, "array_typeid", "", "elements"),
            "COALESCEEXPR" => self.call("l", part, "coalescetype", "", "args"),
            "MINMAXEXPR" => self.call("m", part, "minmaxtype", "", "args"),
            "CASEEXPR" => {
                self.typed("q", part, "casetype", "");
                self.out.push('(');
                self.node(part.node("defresult").expect("CASE has ELSE here"));
                for when in part.list("args") {
                    self.out.push(',');
                    self.node(when.node("result").expect("WHEN has a result"));
                }
                self.out.push(')');
            }
            "NAMEDARGEXPR" => {
                let _ = write!(self.out, "{}=", part.word("argnumber"));
                self.node(part.node("arg").expect("a named argument"));
            }
            "TARGETENTRY" => self.node(part.node("expr").expect("a target has an expression")),
            "BOOLEXPR" | "FIELDSELECT" | "ROWEXPR" => self.out.push_str(kind),
            other => panic!("the tree has a node {other}"),
        }
    }

    fn constant(&mut self, part: &Part) {
        self.typed("k", part, "consttype", "consttypmod");
        let Some([_, Part::Word(open), bytes @ ..]) = part.field("constvalue") else { return };
        if open == "[" && matches!(part.word("consttype"), "23" | "16") {
            let byte = |part: &Part| match part {
                Part::Word(word) => word.parse::<i16>().map_or(0, |byte| byte as u8),
                _ => 0,
            };
            let value: Vec<u8> = bytes.iter().take(4).map(byte).collect();
            let value = i32::from_le_bytes(value.try_into().expect("a datum has eight bytes"));
            let _ = write!(self.out, "={value}");
        }
    }

    fn typed(&mut self, mark: &str, part: &Part, of: &str, modifier: &str) {
        let oid = part.word(of).parse().map_or(0, |oid| (self.name)(oid));
        let _ = write!(self.out, "{mark}{oid}");
        let modifier = part.word(modifier);
        if !matches!(modifier, "" | "-1") {
            let _ = write!(self.out, "/{modifier}");
        }
    }

    fn call(&mut self, mark: &str, part: &Part, of: &str, modifier: &str, inside: &str) {
        self.typed(mark, part, of, modifier);
        self.out.push('(');
        match part.node(inside) {
            Some(one) => self.node(one),
            None => self.several(part.list(inside)),
        }
        self.out.push(')');
    }

    fn of(&mut self, part: &Part, mark: char, oid: &str, result: &str, variadic: &str) {
        let _ = write!(self.out, "{mark}{}", part.word(oid));
        if part.word(variadic) == "true" {
            self.out.push('*');
        }
        if !result.is_empty() {
            self.typed(":", part, result, "");
        }
        self.out.push('(');
        self.several(part.list("aggdirectargs"));
        self.several(part.list("args"));
        self.out.push(')');
    }

    fn several(&mut self, parts: &[Part]) {
        for (i, part) in parts.iter().enumerate() {
            if i > 0 {
                self.out.push(',');
            }
            self.node(part);
        }
    }
}
