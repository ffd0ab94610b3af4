//! How is PostgreSQL's dialect read in time that its length bounds?
//!
//! The parser looks at an argument of a call as a name first, and then anew as a value: at every level, so that calls
//! within each other take twice the time for each level. [`Statements`] is the library's dialect of PostgreSQL but for
//! that: names of arguments are single words. And it counts the parser's steps, so that what else is tried twice
//! ends.

use std::any::TypeId;
use std::cell::Cell;

use datafusion::sql::sqlparser::ast::Expr;
use datafusion::sql::sqlparser::dialect::{Dialect, PostgreSqlDialect, Precedence};
use datafusion::sql::sqlparser::keywords::Keyword;
use datafusion::sql::sqlparser::parser::{Parser, ParserError};

const POSTGRES: PostgreSqlDialect = PostgreSqlDialect {};
/// An operand is read this number of times at most, on average over a text.
const TIMES: usize = 64;

thread_local! {
    /// Operands that the parser of this thread may still read.
    static LEFT: Cell<usize> = const { Cell::new(usize::MAX) };
}

/// Lets the parser of this thread read a text of this number of tokens.
pub fn begin(tokens: usize) {
    LEFT.set((tokens + TIMES).saturating_mul(TIMES));
}

/// PostgreSQL's dialect.
#[derive(Debug)]
pub struct Statements;

impl Dialect for Statements {
    fn dialect(&self) -> TypeId {
        POSTGRES.dialect()
    }
    fn parse_prefix(&self, _: &mut Parser<'_>) -> Option<Result<Expr, ParserError>> {
        let left = LEFT.get();
        LEFT.set(left.saturating_sub(1));
        (left == 0).then_some(Err(ParserError::RecursionLimitExceeded))
    }
    fn supports_named_fn_args_with_expr_name(&self) -> bool {
        false
    }
    fn identifier_quote_style(&self, identifier: &str) -> Option<char> {
        POSTGRES.identifier_quote_style(identifier)
    }
    fn is_delimited_identifier_start(&self, ch: char) -> bool {
        POSTGRES.is_delimited_identifier_start(ch)
    }
    fn is_identifier_start(&self, ch: char) -> bool {
        POSTGRES.is_identifier_start(ch)
    }
    fn is_identifier_part(&self, ch: char) -> bool {
        POSTGRES.is_identifier_part(ch)
    }
    fn supports_unicode_string_literal(&self) -> bool {
        POSTGRES.supports_unicode_string_literal()
    }
    fn is_reserved_for_identifier(&self, kw: Keyword) -> bool {
        POSTGRES.is_reserved_for_identifier(kw)
    }
    fn is_custom_operator_part(&self, ch: char) -> bool {
        POSTGRES.is_custom_operator_part(ch)
    }
    fn get_next_precedence(&self, parser: &Parser<'_>) -> Option<Result<u8, ParserError>> {
        POSTGRES.get_next_precedence(parser)
    }
    fn supports_filter_during_aggregation(&self) -> bool {
        POSTGRES.supports_filter_during_aggregation()
    }
    fn supports_group_by_expr(&self) -> bool {
        POSTGRES.supports_group_by_expr()
    }
    fn prec_value(&self, prec: Precedence) -> u8 {
        POSTGRES.prec_value(prec)
    }
    fn allow_extract_custom(&self) -> bool {
        POSTGRES.allow_extract_custom()
    }
    fn allow_extract_single_quotes(&self) -> bool {
        POSTGRES.allow_extract_single_quotes()
    }
    fn supports_create_index_with_clause(&self) -> bool {
        POSTGRES.supports_create_index_with_clause()
    }
    fn supports_explain_with_utility_options(&self) -> bool {
        POSTGRES.supports_explain_with_utility_options()
    }
    fn supports_listen_notify(&self) -> bool {
        POSTGRES.supports_listen_notify()
    }
    fn supports_factorial_operator(&self) -> bool {
        POSTGRES.supports_factorial_operator()
    }
    fn supports_bitwise_shift_operators(&self) -> bool {
        POSTGRES.supports_bitwise_shift_operators()
    }
    fn supports_comment_on(&self) -> bool {
        POSTGRES.supports_comment_on()
    }
    fn supports_load_extension(&self) -> bool {
        POSTGRES.supports_load_extension()
    }
    fn supports_named_fn_args_with_colon_operator(&self) -> bool {
        POSTGRES.supports_named_fn_args_with_colon_operator()
    }
    fn supports_empty_projections(&self) -> bool {
        POSTGRES.supports_empty_projections()
    }
    fn supports_nested_comments(&self) -> bool {
        POSTGRES.supports_nested_comments()
    }
    fn supports_string_escape_constant(&self) -> bool {
        POSTGRES.supports_string_escape_constant()
    }
    fn supports_numeric_literal_underscores(&self) -> bool {
        POSTGRES.supports_numeric_literal_underscores()
    }
    fn supports_array_typedef_with_brackets(&self) -> bool {
        POSTGRES.supports_array_typedef_with_brackets()
    }
    fn supports_geometric_types(&self) -> bool {
        POSTGRES.supports_geometric_types()
    }
    fn supports_set_names(&self) -> bool {
        POSTGRES.supports_set_names()
    }
    fn supports_alter_column_type_using(&self) -> bool {
        POSTGRES.supports_alter_column_type_using()
    }
    fn supports_notnull_operator(&self) -> bool {
        POSTGRES.supports_notnull_operator()
    }
    fn supports_interval_options(&self) -> bool {
        POSTGRES.supports_interval_options()
    }
    fn supports_insert_table_alias(&self) -> bool {
        POSTGRES.supports_insert_table_alias()
    }
    fn supports_create_table_like_parenthesized(&self) -> bool {
        POSTGRES.supports_create_table_like_parenthesized()
    }
    fn supports_select_wildcard_with_alias(&self) -> bool {
        POSTGRES.supports_select_wildcard_with_alias()
    }
    fn supports_comma_separated_trim(&self) -> bool {
        POSTGRES.supports_comma_separated_trim()
    }
    fn supports_xml_expressions(&self) -> bool {
        POSTGRES.supports_xml_expressions()
    }
    fn supports_comment_optimizer_hint(&self) -> bool {
        POSTGRES.supports_comment_optimizer_hint()
    }
}
