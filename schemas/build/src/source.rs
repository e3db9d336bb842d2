//! The files of a schema, and what is known of their parts.

use crate::{Error, code, names};
use bertha_schemas::{Plan, Schema};
use prost::Message as _;
use prost_types::{FileDescriptorProto, FileDescriptorSet};
use std::collections::{HashMap, HashSet};
use std::path::{Path, PathBuf};

/// The files of a schema, and what is known of their parts.
#[derive(Debug)]
pub(crate) struct Source {
    pub(crate) set: FileDescriptorSet,
    pub(crate) plan: Plan,
    /// The paths of the files that were read.
    pub(crate) paths: Vec<PathBuf>,
    schema: Schema,
    /// The comments, by the file and the place in it.
    comments: HashMap<(String, Vec<i32>), String>,
}

impl Source {
    /// Compiles the files, and checks that they are a schema.
    pub(crate) fn read(protos: &[impl AsRef<Path>], includes: &[impl AsRef<Path>]) -> Result<Self, Error> {
        let mut compiler = protox::Compiler::new(includes).map_err(Error::Protobuf)?;
        compiler.include_imports(true).include_source_info(true);
        compiler.open_files(protos).map_err(Error::Protobuf)?;
        let paths = compiler.files().filter_map(|file| file.path().map(Path::to_owned)).collect();
        let mut set = compiler.file_descriptor_set();
        let comments = take_comments(&mut set);
        let schema = Schema::read(&set.encode_to_vec()).map_err(|reason| {
            let files = set.file.iter().map(FileDescriptorProto::name).collect::<Vec<_>>().join(", ");
            Error::Unsuitable { files, reason }
        })?;
        Ok(Self { plan: Plan::new(&schema), set, paths, schema, comments })
    }

    /// Returns true if a method reaches the enumeration of this full name.
    pub(crate) fn has_enum(&self, name: &str) -> bool {
        let (lines, begin) = (self.schema.lines(), format!("enum {name} "));
        lines.get(lines.partition_point(|line| *line < begin)).is_some_and(|line| line.starts_with(&begin))
    }

    /// Returns the path to a type, as code of a module writes it.
    pub(crate) fn path(&self, from: &[String], reference: &str) -> String {
        let full = reference.trim_start_matches('.');
        let (scope, name) = full.rsplit_once('.').unwrap_or(("", full));
        names::path(from, &modules(scope), &names::type_name(name))
    }
}

/// Moves the comments out of the files, so that neither they nor places count in a descriptor set.
fn take_comments(set: &mut FileDescriptorSet) -> HashMap<(String, Vec<i32>), String> {
    let mut comments = HashMap::new();
    for file in &mut set.file {
        for location in file.source_code_info.take().unwrap_or_default().location {
            if let Some(comment) = location.leading_comments.or(location.trailing_comments) {
                comments.insert((file.name().to_owned(), location.path), comment);
            }
        }
    }
    comments
}

/// Returns the modules of what a package or a message has in it.
fn modules(scope: &str) -> Vec<String> {
    scope.split('.').filter(|part| !part.is_empty()).map(names::module).collect()
}

/// A package in a file, or a message, enumeration or service: the place of its parts.
#[derive(Debug, Clone)]
pub(crate) struct Scope<'s> {
    pub(crate) source: &'s Source,
    /// The name of the file.
    pub(crate) file: &'s str,
    /// The full name.
    pub(crate) name: String,
    /// The module of what is in here.
    pub(crate) modules: Vec<String>,
    place: Vec<i32>,
}

impl<'s> Scope<'s> {
    pub(crate) fn of(source: &'s Source, file: &'s FileDescriptorProto) -> Self {
        let (name, modules) = (file.package().into(), modules(file.package()));
        Self { source, file: file.name(), name, modules, place: Vec::new() }
    }

    /// Returns the scope of a part. The field of this number of the scope's descriptor has it, at this index.
    pub(crate) fn part(&self, field: i32, index: usize, name: &str) -> Self {
        let name = format!("{}.{name}", self.name).trim_start_matches('.').to_owned();
        let place = [self.place.as_slice(), &[field, index as i32]].concat();
        Self { modules: modules(&name), name, place, ..*self }
    }

    /// Returns the module in which the scope itself is defined.
    pub(crate) fn outside(&self) -> &[String] {
        self.modules.split_last().map_or(&[], |(_, outside)| outside)
    }

    /// Returns the comment on what is defined here.
    pub(crate) fn comment(&self) -> Option<&'s str> {
        self.source.comments.get(&(self.file.to_owned(), self.place.clone())).map(String::as_str)
    }

    /// Returns the documentation of what is defined here.
    pub(crate) fn docs(&self, kind: &str) -> String {
        code::docs(self.comment(), &format!("The {kind} `{}`.", self.name))
    }

    /// Fails if two parts have one name.
    pub(crate) fn check<'n>(&self, names: impl IntoIterator<Item = &'n str>) -> Result<(), Error> {
        let mut seen = HashSet::new();
        match names.into_iter().find(|name| !seen.insert(*name)) {
            None => Ok(()),
            Some(name) => Err(Error::Clash {
                file: self.file.into(),
                scope: self.name.clone(),
                name: name.trim_start_matches("r#").into(),
            }),
        }
    }

    /// Returns a block of the scope's items, and fails if two of them have one name.
    pub(crate) fn block(&self, head: &str, items: &[String]) -> Result<String, Error> {
        self.check(items.iter().filter_map(|item| code::defined(item)))?;
        Ok(code::block(head, items))
    }
}
