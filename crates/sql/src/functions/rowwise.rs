//! How is a function of PostgreSQL written that is asked row by row?
//!
//! [`Rowwise`] turns a closure over [`Datum`]s into a function of the planner. NULL in gives NULL out,
//! unless the closure asks for NULLs.

use std::fmt;
use std::hash::{Hash, Hasher};
use std::sync::Arc;

use datafusion::arrow::array::{Array, ArrayRef};
use datafusion::arrow::datatypes::{DataType, FieldRef};
use datafusion::common::{Result, ScalarValue};
use datafusion::logical_expr::{
    ColumnarValue, Expr, ReturnFieldArgs, ScalarFunctionArgs, ScalarUDF, ScalarUDFImpl, Signature,
    TypeSignature, Volatility,
};

use crate::plan::guard;
use crate::plan::scan::external;
use crate::system::rows::{Datum, array};
use crate::types::{PgType, oid};

/// What a function makes of one row's arguments.
pub type Call = dyn Fn(&[Datum]) -> crate::error::Result<Datum> + Send + Sync;

/// What a function makes of one row's arguments when it also depends on the first one's type.
pub type CallByType = dyn Fn(u32, &[Datum]) -> crate::error::Result<Datum> + Send + Sync;

/// Which type a function gives.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Gives {
    /// Always this one.
    Type(u32),
    /// Text: the name of its argument's type.
    TypeName,
    /// Text that stands for a value of this type.
    Printed(u32),
}

/// A function that is asked row by row.
pub struct Rowwise {
    name: String,
    signature: Signature,
    gives: Gives,
    strict: bool,
    call: Arc<Call>,
    by_type: Option<Arc<CallByType>>,
}

impl Rowwise {
    /// A function whose value for NULL is NULL.
    pub fn strict(
        name: &str,
        gives: u32,
        call: impl Fn(&[Datum]) -> crate::error::Result<Datum> + Send + Sync + 'static,
    ) -> Rowwise {
        let kinds = vec![TypeSignature::VariadicAny, TypeSignature::Nullary];
        Rowwise {
            name: name.to_string(),
            signature: Signature::one_of(kinds, Volatility::Stable),
            gives: Gives::Type(gives),
            strict: true,
            call: Arc::new(call),
            by_type: None,
        }
    }

    /// A function that asks for the OID of its first argument's type.
    #[must_use]
    pub fn by_type(
        mut self,
        call: impl Fn(u32, &[Datum]) -> crate::error::Result<Datum> + Send + Sync + 'static,
    ) -> Rowwise {
        self.by_type = Some(Arc::new(call));
        self
    }

    /// With another rule for its type.
    #[must_use]
    pub fn gives(mut self, gives: Gives) -> Rowwise {
        self.gives = gives;
        self
    }

    /// A function that is asked about NULLs too.
    #[must_use]
    pub fn with_nulls(mut self) -> Rowwise {
        self.strict = false;
        self
    }

    /// A function that gives another value at every call.
    #[must_use]
    pub fn volatile(mut self) -> Rowwise {
        self.signature.volatility = Volatility::Volatile;
        self
    }

    /// As the planner has it.
    pub fn udf(self) -> Arc<ScalarUDF> {
        Arc::new(ScalarUDF::new_from_impl(self))
    }
}

impl fmt::Debug for Rowwise {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.name)
    }
}
impl PartialEq for Rowwise {
    fn eq(&self, other: &Rowwise) -> bool {
        self.name == other.name && self.gives == other.gives
    }
}
impl Eq for Rowwise {}
impl Hash for Rowwise {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.name.hash(state);
    }
}

impl ScalarUDFImpl for Rowwise {
    fn schema_name(&self, args: &[Expr]) -> Result<String> {
        Ok(crate::functions::names::short(self.name(), args))
    }
    fn name(&self) -> &str {
        &self.name
    }
    fn signature(&self) -> &Signature {
        &self.signature
    }
    fn return_type(&self, _: &[DataType]) -> Result<DataType> {
        guard::go_on()?;
        let text = || DataType::Utf8;
        Ok(match self.gives {
            Gives::Type(oid) => PgType::new(oid).arrow().unwrap_or_else(text),
            Gives::TypeName | Gives::Printed(_) => text(),
        })
    }
    fn return_field_from_args(&self, _: ReturnFieldArgs<'_>) -> Result<FieldRef> {
        Ok(match self.gives {
            Gives::Type(oid) => Arc::new(PgType::new(oid).field(&self.name, true)),
            Gives::TypeName => Arc::new(PgType::new(oid::TEXT).field(&self.name, true)),
            Gives::Printed(oid) => {
                let field = PgType::new(oid).field(&self.name, true);
                Arc::new(field.with_data_type(DataType::Utf8))
            }
        })
    }
    fn invoke_with_args(&self, args: ScalarFunctionArgs) -> Result<ColumnarValue> {
        let all_constant = args.args.iter().all(|a| matches!(a, ColumnarValue::Scalar(_)));
        let volatile = self.signature.volatility == Volatility::Volatile;
        let n = if all_constant && !volatile { 1 } else { args.number_rows };
        let mut columns: Vec<ArrayRef> = Vec::with_capacity(args.args.len());
        for argument in &args.args {
            columns.push(argument.to_array(n)?);
        }
        let type_name = match (self.gives, args.arg_fields.first()) {
            (Gives::TypeName, Some(field)) => {
                Some(crate::types::names::format_type(PgType::of_field(field)))
            }
            _ => None,
        };
        let first = args.arg_fields.first().map_or(oid::UNKNOWN, |f| PgType::of_field(f).oid);
        let call = |arguments: &[Datum]| match &self.by_type {
            Some(call) => call(first, arguments),
            None => (self.call)(arguments),
        };
        let mut values = Vec::with_capacity(n);
        for row in 0..n {
            let arguments: Vec<Datum> =
                columns.iter().map(|c| Datum::of_array(c.as_ref(), row)).collect();
            values.push(match &type_name {
                Some(name) => Datum::from(name),
                None if self.strict && arguments.contains(&Datum::Null) => Datum::Null,
                None => call(&arguments).map_err(external)?,
            });
        }
        let made = array(args.return_field.data_type(), n, |row| values.get(row));
        if all_constant && !volatile && made.len() == 1 {
            return Ok(ColumnarValue::Scalar(ScalarValue::try_from_array(&made, 0)?));
        }
        Ok(ColumnarValue::Array(made))
    }
}
