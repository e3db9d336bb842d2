//! The modules of a crate, read from its sources.

use std::fs;
use std::path::{Path, PathBuf};
use syn::{Attribute, Expr, Item, Lit, Meta};

/// The modules, parents before children. The first is the crate's root.
pub(crate) struct Tree {
    pub(crate) modules: Vec<Module>,
}

pub(crate) struct Module {
    pub(crate) name: String,
    pub(crate) parent: Option<usize>,
    /// The items outside of tests and of inner modules.
    pub(crate) items: Vec<Item>,
}

/// The place of the files of a module's children.
struct Place {
    /// The folder of the file that the module is in, for `#[path]`.
    folder: PathBuf,
    /// The folder of its children's files.
    children: PathBuf,
}

impl Tree {
    pub(crate) fn read(root: &Path) -> Self {
        let folder = root.parent().unwrap().to_owned();
        let place = Place { children: folder.clone(), folder };
        let mut tree = Self { modules: Vec::new() };
        tree.add("crate".into(), None, parse(root), &place);
        tree
    }

    fn add(&mut self, name: String, parent: Option<usize>, items: Vec<Item>, place: &Place) {
        let own = self.modules.len();
        self.modules.push(Module { name, parent, items: Vec::new() });
        let mut kept = Vec::new();
        for item in items.into_iter().filter(|item| !is_test(attributes(item))) {
            let Item::Mod(module) = item else {
                kept.push(item);
                continue;
            };
            let name = module.ident.to_string();
            match module.content {
                Some((_, items)) => {
                    let children = place.children.join(&name);
                    self.add(name, Some(own), items, &Place { folder: children.clone(), children });
                }
                None => {
                    let path = file_of(&name, &module.attrs, place);
                    let folder = path.parent().unwrap().to_owned();
                    let children = if path.ends_with("mod.rs") { folder.clone() } else { folder.join(&name) };
                    self.add(name, Some(own), parse(&path), &Place { folder, children });
                }
            }
        }
        self.modules[own].items = kept;
    }

    /// Returns the modules from the root down to this module.
    pub(crate) fn line(&self, module: usize) -> Vec<usize> {
        let mut line: Vec<_> = std::iter::successors(Some(module), |at| self.modules[*at].parent).collect();
        line.reverse();
        line
    }

    /// Returns the path of a module, as in `crate::a::b`.
    pub(crate) fn path(&self, module: usize) -> String {
        let names: Vec<_> = self.line(module).into_iter().map(|at| self.modules[at].name.as_str()).collect();
        names.join("::")
    }
}

fn parse(path: &Path) -> Vec<Item> {
    let text = fs::read_to_string(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    syn::parse_file(&text).unwrap_or_else(|error| panic!("{}: {error}", path.display())).items
}

fn file_of(name: &str, attributes: &[Attribute], place: &Place) -> PathBuf {
    for attribute in attributes {
        if let Meta::NameValue(pair) = &attribute.meta
            && pair.path.is_ident("path")
            && let Expr::Lit(literal) = &pair.value
            && let Lit::Str(path) = &literal.lit
        {
            return place.folder.join(path.value());
        }
    }
    let flat = place.children.join(format!("{name}.rs"));
    if flat.exists() { flat } else { place.children.join(name).join("mod.rs") }
}

/// Returns true if the item with these attributes is there for tests alone.
pub(crate) fn is_test(attributes: &[Attribute]) -> bool {
    attributes.iter().any(|attribute| match &attribute.meta {
        Meta::List(list) if list.path.is_ident("cfg") => {
            let condition = list.tokens.to_string();
            condition == "test" || condition.starts_with("all (test")
        }
        _ => attribute.path().is_ident("test"),
    })
}

fn attributes(item: &Item) -> &[Attribute] {
    match item {
        Item::Const(it) => &it.attrs,
        Item::Enum(it) => &it.attrs,
        Item::Fn(it) => &it.attrs,
        Item::Impl(it) => &it.attrs,
        Item::Macro(it) => &it.attrs,
        Item::Mod(it) => &it.attrs,
        Item::Static(it) => &it.attrs,
        Item::Struct(it) => &it.attrs,
        Item::Trait(it) => &it.attrs,
        Item::Type(it) => &it.attrs,
        Item::Use(it) => &it.attrs,
        _ => &[],
    }
}
