//! What do kernels give in a session?

use std::sync::Arc;

use arrow_array::ArrayRef;
use onlap_kernels::{
    Col, Cx, Datum, TypeRef, Types, find, find_aggregate, find_series, input, output, repr,
};
use onlap_pg::catalog::Catalog;
use onlap_pg::value::datetime::find_zone;
use onlap_pg::value::{DateOrder, DateStyle, IntervalStyle, Settings};
use onlap_pg::{Oid, Result};

use crate::Case;
use crate::session::Quiet;

/// A value's text, `None` for NULL; or its error.
type Answer = Result<Option<String>>;

/// As the oracle answers: `= text`, or `! SQLSTATE message`.
pub fn shown(answer: Answer) -> String {
    match answer {
        Ok(Some(text)) => format!("= {text}"),
        Ok(None) => "= NULL".into(),
        Err(e) => format!("! {} {}", e.state, e.message),
    }
}

/// Calls kernels.
pub struct Ours {
    catalog: Arc<Catalog>,
    settings: Settings,
    clock: Quiet,
}

impl Ours {
    pub fn new([zone, dates, intervals]: &[&str; 3], now: i64) -> Ours {
        let (style, order) = dates.split_once(", ").expect("style and order");
        let settings = Settings {
            zone: find_zone(zone).expect("a zone"),
            date_style: match style {
                "ISO" => DateStyle::Iso,
                "SQL" => DateStyle::Sql,
                "German" => DateStyle::German,
                _ => DateStyle::Postgres,
            },
            date_order: match order {
                "DMY" => DateOrder::Dmy,
                "YMD" => DateOrder::Ymd,
                _ => DateOrder::Mdy,
            },
            interval_style: match *intervals {
                "iso_8601" => IntervalStyle::Iso8601,
                "sql_standard" => IntervalStyle::SqlStandard,
                "postgres_verbose" => IntervalStyle::PostgresVerbose,
                _ => IntervalStyle::Postgres,
            },
            now,
            ..Settings::default()
        };
        Ours { catalog: Arc::new(Catalog::new()), settings, clock: Quiet::at(now) }
    }

    pub fn cx(&self) -> Cx<'_> {
        Cx { catalog: &self.catalog, settings: &self.settings, session: &self.clock }
    }

    /// The function of a signature.
    pub fn function(&self, wanted: &str) -> Oid {
        let procs = self.catalog.procs().iter();
        let mut procs = procs.filter(|p| onlap_kernels::signature(&self.catalog, p) == wanted);
        procs.next().expect("a row of pg_proc").oid
    }

    pub fn call(&self, case: &Case) -> String {
        shown(self.try_call(case))
    }

    fn try_call(&self, case: &Case) -> Answer {
        let types = self.types(case.args.iter().map(|(oid, _)| *oid), case.result);
        let mut args = Vec::new();
        for (oid, text) in &case.args {
            let values = [self.value(*oid, text.as_deref())?];
            args.push(Col::constant(self.column(*oid, &values)?));
        }
        let kernel = find(case.proc).expect("it has a kernel")(&types);
        let array = kernel.eval(&args, 1, &mut self.cx())?;
        self.text(case.result, &array, 0)
    }

    fn types(&self, args: impl Iterator<Item = Oid>, result: Oid) -> Types {
        Types {
            args: args.map(TypeRef::new).collect(),
            result: TypeRef::new(result),
            catalog: Arc::clone(&self.catalog),
        }
    }

    pub fn value(&self, oid: Oid, text: Option<&str>) -> Result<Datum<'static>> {
        text.map_or(Ok(Datum::Null), |text| input(&mut self.cx(), TypeRef::new(oid), text))
    }

    pub fn column(&self, oid: Oid, values: &[Datum<'static>]) -> Result<ArrayRef> {
        Datum::column(repr(&self.catalog, oid).expect("it has values"), values.iter())
    }

    pub fn text(&self, oid: Oid, array: &ArrayRef, row: usize) -> Answer {
        let value = Datum::at(array, repr(&self.catalog, oid).expect("it has values"), row);
        self.written(oid, &value)
    }

    pub fn written(&self, oid: Oid, value: &Datum<'_>) -> Answer {
        let mut text = String::new();
        if value.is_null() {
            return Ok(None);
        }
        output(&mut self.cx(), oid, value, &mut text)?;
        Ok(Some(text))
    }

    /// The value of a text by a type with a modifier, written.
    pub fn read(&self, ty: TypeRef, text: &str) -> Answer {
        let value = input(&mut self.cx(), ty, text)?;
        self.written(ty.oid, &value)
    }

    /// An aggregate of rows in groups, in parts that are merged.
    pub fn aggregate(
        &self,
        wanted: &str,
        oid: Oid,
        parts: &[Vec<(usize, Option<String>)>],
        groups: usize,
    ) -> Vec<String> {
        let proc = self.function(wanted);
        let types = self.types([oid].into_iter(), oid);
        let make = find_aggregate(proc).expect("an aggregate");
        let mut whole = make(&types);
        whole.grow(groups);
        let every: Vec<usize> = (0..groups).collect();
        let mut run = || -> Result<Vec<String>> {
            for part in parts {
                let mut own = make(&types);
                own.grow(groups);
                let values: Result<Vec<Datum<'static>>> =
                    part.iter().map(|(_, text)| self.value(oid, text.as_deref())).collect();
                let numbers: Vec<usize> = part.iter().map(|(group, _)| *group).collect();
                let column = Col::new(self.column(oid, &values?)?);
                own.update(&[column], &numbers, &mut self.cx())?;
                whole.merge(&own.save(groups), &every, &mut self.cx())?;
            }
            let result = whole.finish(groups, &mut self.cx())?;
            Ok(every.iter().map(|row| shown(self.text(oid, &result, *row))).collect())
        };
        run().unwrap_or_else(|e| vec![shown(Err(e))])
    }

    /// The first rows of a set.
    pub fn series(
        &self,
        wanted: &str,
        args: &[(Oid, &str)],
        result: Oid,
        most: usize,
    ) -> Vec<String> {
        let types = self.types(args.iter().map(|(oid, _)| *oid), result);
        let run = || -> Result<Vec<String>> {
            let values: Result<Vec<Datum<'static>>> =
                args.iter().map(|(oid, text)| self.value(*oid, Some(text))).collect();
            let make = find_series(self.function(wanted)).expect("a series");
            let rows = make(&types).start(&values?, &mut self.cx())?;
            rows.take(most).map(|row| Ok(shown(self.written(result, &row?[0])))).collect()
        };
        run().unwrap_or_else(|e| vec![shown(Err(e))])
    }
}
