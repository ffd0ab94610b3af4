//! What do kernels give?

use std::sync::Arc;

use onlap_kernels::{Col, Cx, Datum, TypeRef, Types, find, input, output, repr};
use onlap_pg::Result;
use onlap_pg::catalog::Catalog;
use onlap_pg::value::Settings;

use crate::Case;
use crate::session::QUIET;

/// Calls kernels.
pub struct Ours {
    catalog: Arc<Catalog>,
    settings: Settings,
}

impl Ours {
    pub fn new() -> Ours {
        Ours { catalog: Arc::new(Catalog::new()), settings: Settings::default() }
    }

    /// As the oracle answers: `= text`, or `! SQLSTATE message`.
    pub fn answer(&self, case: &Case) -> String {
        match self.call(case) {
            Ok(Some(text)) => format!("= {text}"),
            Ok(None) => "= NULL".into(),
            Err(e) => format!("! {} {}", e.state, e.message),
        }
    }

    fn call(&self, case: &Case) -> Result<Option<String>> {
        let mut cx = Cx { catalog: &self.catalog, settings: &self.settings, session: &QUIET };
        let types = Types {
            args: case.args.iter().map(|(oid, _)| TypeRef::new(*oid)).collect(),
            result: TypeRef::new(case.result),
            catalog: Arc::clone(&self.catalog),
        };
        let mut values = Vec::new();
        for (oid, text) in &case.args {
            let value = match text {
                Some(text) => input(&mut cx, TypeRef::new(*oid), text)?,
                None => Datum::Null,
            };
            values.push((repr(&self.catalog, *oid).expect("its values were made"), value));
        }
        let kernel = find(case.proc).expect("it has a kernel")(&types);
        // As columns of two rows, and as constants: the answers must be the same.
        let mut answers = Vec::new();
        for is_const in [false, true] {
            let column = |(repr, value): &(_, Datum<'static>)| {
                let times = if is_const { 1 } else { 2 };
                let array = Datum::column(*repr, vec![value.clone(); times].iter())?;
                Ok(Col { array, is_const })
            };
            let args: Vec<Col> = values.iter().map(column).collect::<Result<_>>()?;
            let array = kernel.eval(&args, 2, &mut cx)?;
            assert_eq!(array.len(), 2, "{}: a result per row", case.text);
            let repr = repr(&self.catalog, case.result).expect("the result has values");
            let mut text = None;
            for row in 0..2 {
                text = match Datum::at(&array, repr, row) {
                    Datum::Null => None,
                    value => {
                        let mut text = String::new();
                        output(&mut cx, case.result, &value, &mut text)?;
                        Some(text)
                    }
                };
            }
            answers.push(text);
        }
        assert_eq!(answers[0], answers[1], "{}: columns and constants", case.text);
        Ok(answers.pop().flatten())
    }
}
