//! A service: its schema, and a type for each of its methods.

use crate::Error;
use crate::code::{MAY_BE_UNUSED, indented};
use crate::names;
use crate::source::Scope;
use crate::stubs;
use bertha_schemas::Schema;
use prost::Message as _;
use prost_types::{MethodDescriptorProto, ServiceDescriptorProto};

/// Returns the code of the service that the scope is, and the descriptor set that it includes from a file of this name.
pub(crate) fn code(
    scope: &Scope<'_>,
    described: &ServiceDescriptorProto,
    file: &str,
) -> Result<(String, Vec<u8>), Error> {
    // The hash of its schema does not depend on services beside it.
    let unsuitable = |reason| Error::Unsuitable { files: scope.file.into(), reason };
    let descriptors = Schema::alone(&scope.source.set.encode_to_vec(), &scope.name).map_err(unsuitable)?;
    let schema = Schema::read(&descriptors).map_err(unsuitable)?;
    let mut items = vec![format!(
        "/// The descriptor set, of which `Schema::read` makes the schema of the service.\n\
         pub const DESCRIPTORS: &[u8] = include_bytes!(\"{file}\");\n"
    )];
    items.push(
        "/// The service, as a type.\n\
         #[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]\n\
         pub struct Service;\n"
            .into(),
    );
    let mut stated = String::new();
    for (index, method) in described.method.iter().enumerate() {
        let number = schema.methods().iter().position(|other| other.name == method.name());
        items.push(method_type(scope, index, method));
        stated += &statement(scope, method, number.unwrap_or_default());
    }
    let stated = indented(&format!("Service: \"{}\", DESCRIPTORS;\n{stated}", scope.name));
    items.push(format!("::bertha_managed::service! {{\n{stated}}}\n"));
    items.extend(stubs::items(scope, described));
    let head = format!("{}{MAY_BE_UNUSED}pub mod {}", scope.docs("service"), names::module(described.name()));
    Ok((scope.block(&head, &items)?, descriptors))
}

/// Returns the type of a method.
fn method_type(scope: &Scope<'_>, index: usize, method: &MethodDescriptorProto) -> String {
    let (name, described) = (names::type_name(method.name()), method.name());
    let docs = scope.part(2, index, described).docs("method");
    format!("{docs}#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]\npub struct {name};\n")
}

/// Returns the line that states what a method is in the schema.
fn statement(scope: &Scope<'_>, method: &MethodDescriptorProto, number: usize) -> String {
    let (name, described) = (names::type_name(method.name()), method.name());
    let path = |reference| scope.source.path(&scope.modules, reference);
    let (request, response) = (path(method.input_type()), path(method.output_type()));
    format!("{name}: {number} \"{described}\" {request} => {response};\n")
}
