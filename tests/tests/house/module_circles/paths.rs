//! The modules that each module uses: by private imports, and by paths in its code.

use crate::module_circles::names::{Meaning, Names};
use crate::module_circles::tree::{Tree, is_test};
use proc_macro2::{TokenStream, TokenTree};
use std::collections::BTreeSet;
use syn::visit::{self, Visit};
use syn::{ImplItemFn, ItemFn, ItemUse, Macro, Path};

/// Returns for each module the other modules whose items it uses.
pub(crate) fn uses(tree: &Tree) -> Vec<BTreeSet<usize>> {
    let names = Names::of(tree);
    let modules = tree.modules.iter().enumerate();
    modules
        .map(|(number, module)| {
            let mut found = Paths::default();
            module.items.iter().for_each(|item| found.visit_item(item));
            let imported = &names.scope(number).imported;
            let meanings = imported.iter().chain(&found.paths).filter_map(|path| names.resolve(number, path));
            // A module that is named by itself is used by the paths through it.
            let owners = meanings.filter_map(|meaning| match meaning {
                Meaning::Item(owner) => Some(owner),
                Meaning::Module(_) => None,
            });
            owners.filter(|owner| *owner != number).collect()
        })
        .collect()
}

#[derive(Default)]
struct Paths {
    paths: Vec<Vec<String>>,
}

impl<'a> Visit<'a> for Paths {
    fn visit_path(&mut self, path: &'a Path) {
        if path.leading_colon.is_none() {
            self.paths.push(path.segments.iter().map(|segment| segment.ident.to_string()).collect());
        }
        visit::visit_path(self, path);
    }

    fn visit_macro(&mut self, invocation: &'a Macro) {
        self.visit_path(&invocation.path);
        self.scan(invocation.tokens.clone());
    }

    // Imports are known, and re-exports count where they are used.
    fn visit_item_use(&mut self, _: &'a ItemUse) {}

    fn visit_item_fn(&mut self, function: &'a ItemFn) {
        if !is_test(&function.attrs) {
            visit::visit_item_fn(self, function);
        }
    }

    fn visit_impl_item_fn(&mut self, function: &'a ImplItemFn) {
        if !is_test(&function.attrs) {
            visit::visit_impl_item_fn(self, function);
        }
    }
}

impl Paths {
    /// Paths among the tokens of a macro: names with `::` between them.
    fn scan(&mut self, tokens: TokenStream) {
        let (mut path, mut colons) = (Vec::new(), 0);
        for token in tokens {
            match token {
                TokenTree::Punct(punct) if punct.as_char() == ':' => colons += 1,
                TokenTree::Ident(name) => {
                    if colons != 2 {
                        self.paths.push(std::mem::take(&mut path));
                    }
                    path.push(name.to_string());
                    colons = 0;
                }
                other => {
                    self.paths.push(std::mem::take(&mut path));
                    colons = 0;
                    if let TokenTree::Group(group) = other {
                        self.scan(group.stream());
                    }
                }
            }
        }
        self.paths.push(path);
    }
}
