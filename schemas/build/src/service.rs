//! A service: its schema, and a type for each of its methods.

use crate::Error;
use crate::code::MAY_BE_UNUSED;
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
    items.push(service_type(&scope.name));
    for (index, method) in described.method.iter().enumerate() {
        let number = schema.methods().iter().position(|other| other.name == method.name());
        items.push(item(scope, index, method, number.unwrap_or_default()));
    }
    items.extend(stubs::items(scope, described));
    let head = format!("{}{MAY_BE_UNUSED}pub mod {}", scope.docs("service"), names::module(described.name()));
    Ok((scope.block(&head, &items)?, descriptors))
}

/// Permission for a promise that the assertions about structures keep.
const UNSAFE: &str =
    "#[allow(unsafe_code, reason = \"the layout of each structure is asserted where it is defined\")]";

/// Returns the type of the service.
fn service_type(name: &str) -> String {
    format!(
        "/// The service, as a type.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Service;

// SAFETY: structures are laid out as their assertions say, and consist of numbers and of what heaps offer.
{UNSAFE}
unsafe impl ::bertha_managed::Service for Service {{
    const NAME: &'static str = \"{name}\";

    fn descriptors() -> &'static [u8] {{
        DESCRIPTORS
    }}
}}
"
    )
}

/// Returns the type of a method.
fn item(scope: &Scope<'_>, index: usize, method: &MethodDescriptorProto, number: usize) -> String {
    let (name, described) = (names::type_name(method.name()), method.name());
    let docs = scope.part(2, index, described).docs("method");
    let path = |reference| scope.source.path(&scope.modules, reference);
    let (request, response) = (path(method.input_type()), path(method.output_type()));
    format!(
        "{docs}#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct {name};

// SAFETY: the number and the types are those of the method in the schema.
{UNSAFE}
unsafe impl ::bertha_managed::Method for {name} {{
    type Service = Service;
    type Request = {request};
    type Response = {response};

    const NAME: &'static str = \"{described}\";
    const NUMBER: u32 = {number};
}}
"
    )
}
