//! An enumeration: an open number with names.

use crate::code::{MAY_BE_UNUSED, function, indented};
use crate::source::Scope;
use crate::{Error, names};
use prost_types::EnumDescriptorProto;
use std::collections::HashSet;

/// Returns the code of the enumeration that the scope is.
pub(crate) fn code(scope: &Scope<'_>, described: &EnumDescriptorProto) -> Result<String, Error> {
    let name = names::type_name(described.name());
    let prefix = prefix(described);
    let mut numbers = HashSet::new();
    let (mut items, mut arms) = (Vec::new(), String::new());
    for (index, value) in described.value.iter().enumerate() {
        let (number, described) = (value.number(), value.name());
        let name = &names::upper(described)[prefix..];
        let docs = scope.part(2, index, described).docs("value");
        items.push(format!("{docs}pub const {name}: Self = Self({number});\n"));
        // The first of several names of a number is its name.
        if numbers.insert(number) {
            arms += &format!("Self::{name} => \"{described}\",\n");
        }
    }
    items.push(function(
        "Returns the name of the number in the schema, if it has a name.",
        "name(self) -> Option<&'static str>",
        &format!("Some(match self {{\n{}    _ => return None,\n}})", indented(&arms)),
    ));
    let implementation = scope.block(&format!("{MAY_BE_UNUSED}impl {name}"), &items)?;
    let docs = scope.docs("enumeration");
    Ok(format!(
        "{docs}#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
#[repr(transparent)]
pub struct {name}(pub i32);

::bertha_managed::enumeration!({name});

{implementation}
impl ::core::fmt::Debug for {name} {{
    fn fmt(&self, f: &mut ::core::fmt::Formatter<'_>) -> ::core::fmt::Result {{
        match self.name() {{
            Some(name) => f.write_str(name),
            None => write!(f, \"{name}({{}})\", self.0),
        }}
    }}
}}
"
    ))
}

/// Returns the length of the enumeration's name in front of all its values, if it stands there.
fn prefix(described: &EnumDescriptorProto) -> usize {
    let prefix = names::upper(described.name()) + "_";
    let has_prefix = |name: &str| {
        let name = names::upper(name);
        name.strip_prefix(&prefix)
            .is_some_and(|rest| rest.starts_with(|first: char| first.is_ascii_alphabetic()))
    };
    if described.value.iter().all(|value| has_prefix(value.name())) { prefix.len() } else { 0 }
}
