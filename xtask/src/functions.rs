//! Which functions are too long, which take too much, and how much does the code assert?
//!
//! Of production code: files of tests and examples, and what stands under `#[cfg(test)]`, are left out. A function
//! counts from its `fn` to its closing brace. Pure.

use std::collections::BTreeMap;

use syn::spanned::Spanned as _;
use syn::visit::{self, Visit};

use crate::SourceFile;
use crate::sources::is_test;

/// Longer functions have more than one job.
pub(crate) const LINES_MAX: usize = 70;
/// More parameters want a type of their own.
pub(crate) const PARAMETERS_MAX: usize = 7;

/// What was counted of one crate.
#[derive(Debug, Default)]
pub(crate) struct Counts {
    /// Lines of production code.
    pub(crate) lines: usize,
    /// `assert!`, `debug_assert!` and their like.
    pub(crate) asserts: usize,
    /// Functions of more than [`LINES_MAX`] lines, each with its place.
    pub(crate) long: Vec<String>,
    /// Functions of more than [`PARAMETERS_MAX`] parameters, each with its place.
    pub(crate) wide: Vec<String>,
}

/// Counts by crate; files that do not parse are findings.
pub(crate) fn count(files: &[SourceFile]) -> Result<BTreeMap<String, Counts>, Vec<String>> {
    let mut counts: BTreeMap<String, Counts> = BTreeMap::new();
    let mut findings = Vec::new();
    for file in files.iter().filter(|f| f.path.ends_with(".rs") && !is_test(&f.path)) {
        let Some(name) = crate_of(&file.path) else { continue };
        match syn::parse_file(&file.text) {
            Ok(parsed) => {
                let counts = counts.entry(name.to_owned()).or_default();
                counts.lines += file.text.lines().count();
                Counter { path: &file.path, counts }.visit_file(&parsed);
            }
            Err(e) => findings.push(format!("{}:{}: {e}", file.path, e.span().start().line)),
        }
    }
    if findings.is_empty() { Ok(counts) } else { Err(findings) }
}

/// `base` for `crates/base/src/lib.rs`.
pub(crate) fn crate_of(path: &str) -> Option<&str> {
    let (first, rest) = path.split_once('/')?;
    match first {
        "crates" => rest.split_once('/').map(|(name, _)| name),
        "xtask" => Some(first),
        _ => None,
    }
}

struct Counter<'a> {
    path: &'a str,
    counts: &'a mut Counts,
}

impl Counter<'_> {
    fn function(&mut self, signature: &syn::Signature, end: proc_macro2::LineColumn) {
        let begin = signature.fn_token.span().start().line;
        let lines = end.line - begin + 1;
        let parameters = signature.inputs.len();
        let place = format!("{}:{begin}: `{}`", self.path, signature.ident);
        if lines > LINES_MAX {
            self.counts.long.push(format!("{place} has {lines} lines, at most {LINES_MAX}"));
        }
        if parameters > PARAMETERS_MAX {
            let text = format!("{place} has {parameters} parameters, at most {PARAMETERS_MAX}");
            self.counts.wide.push(text);
        }
    }
}

fn for_tests(attributes: &[syn::Attribute]) -> bool {
    attributes.iter().any(|attribute| {
        let is_cfg = attribute.path().is_ident("cfg");
        is_cfg && attribute.parse_args::<syn::Path>().is_ok_and(|path| path.is_ident("test"))
    })
}

impl<'ast> Visit<'ast> for Counter<'_> {
    fn visit_item_mod(&mut self, module: &'ast syn::ItemMod) {
        if !for_tests(&module.attrs) {
            visit::visit_item_mod(self, module);
        } else if module.content.is_some() {
            let span = module.span();
            self.counts.lines -= span.end().line - span.start().line + 1;
        }
    }

    fn visit_item_fn(&mut self, function: &'ast syn::ItemFn) {
        if !for_tests(&function.attrs) {
            self.function(&function.sig, function.block.span().end());
            visit::visit_item_fn(self, function);
        }
    }

    fn visit_impl_item_fn(&mut self, function: &'ast syn::ImplItemFn) {
        if !for_tests(&function.attrs) {
            self.function(&function.sig, function.block.span().end());
            visit::visit_impl_item_fn(self, function);
        }
    }

    fn visit_trait_item_fn(&mut self, function: &'ast syn::TraitItemFn) {
        self.function(&function.sig, function.span().end());
        visit::visit_trait_item_fn(self, function);
    }

    fn visit_macro(&mut self, called: &'ast syn::Macro) {
        const ASSERTS: [&str; 6] = [
            "assert",
            "assert_eq",
            "assert_ne",
            "debug_assert",
            "debug_assert_eq",
            "debug_assert_ne",
        ];
        if ASSERTS.iter().any(|name| called.path.is_ident(name)) {
            self.counts.asserts += 1;
        }
    }
}

#[cfg(test)]
mod tests;
