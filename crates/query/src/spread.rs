//! How is a function called that takes anything, with VARIADIC and an array?
//!
//! With the array's elements as its last arguments, row by row, since each row's array may have another number of them. NULL
//! in the place of the array makes NULL; only format() then has no more arguments.
//!
//! Thread safety: a kernel is shared and read only.

use std::collections::HashMap;
use std::sync::Arc;

use arrow_array::{Array as _, ArrayRef, new_empty_array, new_null_array};
use arrow_schema::DataType;
use onlap_kernels::array::Array;
use onlap_kernels::{Col, Cx, Datum, Kernel, Make, Repr, Types, find};
use onlap_pg::{Oid, Result, TypeRef};

use crate::compile::{Compiler, unsupported};
use crate::effects::Effect;
use crate::node::{Call, Node, arrow};

struct Spread {
    make: Make,
    types: Types,
    element: (Oid, Repr),
    /// Whether a NULL in the place of the array is no arguments.
    takes_null: bool,
    ty: DataType,
}

impl Kernel for Spread {
    fn eval(&self, args: &[Col], rows: usize, cx: &mut Cx<'_>) -> Result<ArrayRef> {
        let (last, fixed) = args.split_last().expect("the array is an argument");
        let mut kernels: HashMap<usize, Box<dyn Kernel>> = HashMap::new();
        let mut out = Vec::with_capacity(rows);
        for row in 0..rows {
            cx.go_on()?;
            let bytes = Datum::at(&last.array, Repr::Bytes, last.at(row));
            let elements: Vec<Datum<'_>> = match &bytes {
                Datum::Bytes(bytes) => Array::load(bytes, self.element.1).iter().collect(),
                _ if self.takes_null => Vec::new(),
                _ => {
                    out.push(new_null_array(&self.ty, 1));
                    continue;
                }
            };
            let mut columns: Vec<Col> =
                fixed.iter().map(|col| Col::constant(col.array.slice(col.at(row), 1))).collect();
            for element in &elements {
                columns.push(Col::constant(Datum::column(self.element.1, [element].into_iter())?));
            }
            let kernel = kernels.entry(elements.len()).or_insert_with(|| {
                let mut types = self.types.clone();
                types.args.truncate(fixed.len());
                types.args.resize(columns.len(), TypeRef::new(self.element.0));
                (self.make)(&types)
            });
            out.push(kernel.eval(&columns, 1, cx)?);
        }
        let parts: Vec<&dyn arrow_array::Array> = out.iter().map(|array| &**array).collect();
        match parts.is_empty() {
            true => Ok(new_empty_array(&self.ty)),
            false => arrow_select::concat::concat(&parts).map_err(arrow),
        }
    }
}

impl Compiler<'_> {
    /// The call of a function whose last argument is an array of what it takes.
    ///
    /// # Errors
    /// `0A000`: it has no kernel.
    pub fn spread_call(
        &mut self,
        proc: Oid,
        args: Vec<Node>,
        types: Vec<TypeRef>,
        result: TypeRef,
    ) -> Result<Node> {
        let catalog = Arc::clone(&self.env.catalog);
        let row = catalog.proc(proc).expect("the resolver has found it");
        let Some(make) = find(proc) else {
            let shown = onlap_kernels::signature(&catalog, row);
            return Err(unsupported(format!("function {shown}")));
        };
        let array = types.last().expect("the array is an argument").oid;
        let element = self.element(array)?;
        let element = (element, self.repr(element)?);
        let ty = self.arrow(result.oid)?;
        let takes_null = row.name == "format";
        let types = Types { args: types, result, catalog };
        let kernel = Box::new(Spread { make, types, element, takes_null, ty: ty.clone() });
        Ok(Node::Call(Call { kernel, args, effect: Effect::None, ty }))
    }
}
