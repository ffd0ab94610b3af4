//! What are columns called that the planner's library makes for calls?
//!
//! By the call's text, it thinks: but it asks for the type and the name of each call at every level of a chain, and the
//! text of each level holds those below.

use std::hash::{DefaultHasher, Hash, Hasher};

use datafusion::logical_expr::Expr;

/// A call's name: its text, or where there are calls among its arguments a number for what they are.
pub fn short(name: &str, args: &[Expr]) -> String {
    let is_leaf = |arg: &Expr| matches!(arg, Expr::Column(_) | Expr::Literal(..));
    if args.iter().all(is_leaf) {
        let args: Vec<String> = args.iter().map(|arg| arg.schema_name().to_string()).collect();
        return format!("{name}({})", args.join(","));
    }
    let mut hasher = DefaultHasher::new();
    args.hash(&mut hasher);
    format!("{name}(#{:016x})", hasher.finish())
}
