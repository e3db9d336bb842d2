//! The names in each module, and the modules that define them.

use crate::module_circles::tree::Tree;
use std::collections::HashMap;
use syn::{Item, UseTree};

/// The names of all modules.
pub(crate) struct Names {
    scopes: Vec<Scope>,
}

/// The names that a module has.
#[derive(Default)]
pub(crate) struct Scope {
    parent: Option<usize>,
    entries: HashMap<String, Entry>,
    /// The modules, by their paths, from which all names are imported.
    globs: Vec<Vec<String>>,
    /// The paths of private imports.
    pub(crate) imported: Vec<Vec<String>>,
}

#[derive(Clone)]
enum Entry {
    Module(usize),
    Item,
    Import(Vec<String>),
}

/// The meaning of a path.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Meaning {
    Module(usize),
    /// An item in this module.
    Item(usize),
}

impl Names {
    pub(crate) fn of(tree: &Tree) -> Self {
        let mut scopes: Vec<Scope> = Vec::new();
        for (number, module) in tree.modules.iter().enumerate() {
            let mut scope = Scope { parent: module.parent, ..Scope::default() };
            module.items.iter().for_each(|item| scope.add(item));
            scopes.push(scope);
            if let Some(parent) = module.parent {
                scopes[parent].entries.insert(module.name.clone(), Entry::Module(number));
            }
        }
        Self { scopes }
    }

    pub(crate) fn scope(&self, module: usize) -> &Scope {
        &self.scopes[module]
    }

    /// Returns the meaning of a path in a module, or `None` if it leads out of the crate.
    pub(crate) fn resolve(&self, module: usize, path: &[String]) -> Option<Meaning> {
        self.follow(module, path, 0)
    }

    fn follow(&self, module: usize, path: &[String], depth: usize) -> Option<Meaning> {
        // Imports that lead to each other, as globs may, end here.
        if depth > 16 {
            return None;
        }
        let (mut at, mut rest) = (module, path);
        loop {
            match rest.first()?.as_str() {
                "crate" => at = 0,
                "self" => {}
                "super" => at = self.scopes[at].parent?,
                _ => break,
            }
            rest = &rest[1..];
            if rest.is_empty() {
                return Some(Meaning::Module(at));
            }
        }
        for (number, name) in rest.iter().enumerate() {
            match self.look_up(at, name, depth)? {
                Meaning::Module(inner) => at = inner,
                Meaning::Item(owner) => return Some(Meaning::Item(owner)),
            }
            if number + 1 == rest.len() {
                return Some(Meaning::Module(at));
            }
        }
        None
    }

    fn look_up(&self, module: usize, name: &str, depth: usize) -> Option<Meaning> {
        match self.scopes[module].entries.get(name) {
            Some(Entry::Module(inner)) => Some(Meaning::Module(*inner)),
            Some(Entry::Item) => Some(Meaning::Item(module)),
            Some(Entry::Import(path)) => self.follow(module, path, depth + 1),
            None => self.scopes[module].globs.iter().find_map(|glob| {
                match self.follow(module, glob, depth + 1)? {
                    Meaning::Module(other) if other != module => self.look_up(other, name, depth + 1),
                    _ => None,
                }
            }),
        }
    }
}

impl Scope {
    fn add(&mut self, item: &Item) {
        let name = match item {
            Item::Const(it) => &it.ident,
            Item::Enum(it) => &it.ident,
            Item::Fn(it) => &it.sig.ident,
            Item::Static(it) => &it.ident,
            Item::Struct(it) => &it.ident,
            Item::Trait(it) => &it.ident,
            Item::Type(it) => &it.ident,
            Item::Union(it) => &it.ident,
            Item::Macro(it) => match &it.ident {
                Some(name) => name,
                None => return,
            },
            Item::Use(it) => {
                let is_private = matches!(it.vis, syn::Visibility::Inherited);
                return self.import(&it.tree, &mut Vec::new(), is_private);
            }
            _ => return,
        };
        self.entries.insert(name.to_string(), Entry::Item);
    }

    fn import(&mut self, tree: &UseTree, path: &mut Vec<String>, is_private: bool) {
        let (name, target) = match tree {
            UseTree::Path(inner) => {
                path.push(inner.ident.to_string());
                self.import(&inner.tree, path, is_private);
                path.pop();
                return;
            }
            UseTree::Group(group) => {
                return group.items.iter().for_each(|inner| self.import(inner, path, is_private));
            }
            UseTree::Glob(_) => return self.globs.push(path.clone()),
            UseTree::Name(inner) if inner.ident == "self" => {
                (path.last().cloned().unwrap_or_default(), path.clone())
            }
            UseTree::Name(inner) => {
                (inner.ident.to_string(), [&path[..], &[inner.ident.to_string()]].concat())
            }
            UseTree::Rename(inner) => {
                (inner.rename.to_string(), [&path[..], &[inner.ident.to_string()]].concat())
            }
        };
        if is_private {
            self.imported.push(target.clone());
        }
        // An import of the same name as its path, such as of an external crate, leads nowhere.
        if target != [name.clone()] {
            self.entries.entry(name).or_insert(Entry::Import(target));
        }
    }
}
