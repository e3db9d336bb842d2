//! The types of a descriptor set by their full names.

use super::{Schema, Unsuitable};
use prost_types::{DescriptorProto, EnumDescriptorProto, EnumValueDescriptorProto, FileDescriptorProto};
use std::collections::{HashMap, HashSet};

/// The types that the files of a set define.
#[derive(Debug, Default)]
pub(super) struct Types<'a> {
    messages: HashMap<String, Found<&'a DescriptorProto>>,
    enums: HashMap<String, Found<&'a EnumDescriptorProto>>,
}

#[derive(Debug, Clone, Copy)]
struct Found<D> {
    descriptor: D,
    is_proto3: bool,
}

impl<D: Copy> Found<D> {
    fn of_proto3(&self, name: &str) -> Result<D, Unsuitable> {
        if self.is_proto3 { Ok(self.descriptor) } else { Err(Unsuitable::NotProto3(name.into())) }
    }
}

/// An enumeration.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Enum {
    pub(super) name: String,
    pub(super) values: Vec<(i32, String)>,
}

impl<'a> Types<'a> {
    pub(super) fn of(files: &'a [FileDescriptorProto]) -> Result<Self, Unsuitable> {
        let mut types = Self::default();
        for file in files {
            let package = file.package();
            let is_proto3 = file.syntax() == "proto3";
            types.add_messages(package, &file.message_type, is_proto3)?;
            types.add_enums(package, &file.enum_type, is_proto3)?;
        }
        Ok(types)
    }

    fn add_messages(
        &mut self,
        scope: &str,
        messages: &'a [DescriptorProto],
        is_proto3: bool,
    ) -> Result<(), Unsuitable> {
        for descriptor in messages {
            let name = full_name(scope, descriptor.name())?;
            self.add_messages(&name, &descriptor.nested_type, is_proto3)?;
            self.add_enums(&name, &descriptor.enum_type, is_proto3)?;
            let found = Found { descriptor, is_proto3 };
            if self.enums.contains_key(&name) || self.messages.insert(name.clone(), found).is_some() {
                return Err(Unsuitable::Twice(name));
            }
        }
        Ok(())
    }

    fn add_enums(
        &mut self,
        scope: &str,
        enums: &'a [EnumDescriptorProto],
        is_proto3: bool,
    ) -> Result<(), Unsuitable> {
        for descriptor in enums {
            let name = full_name(scope, descriptor.name())?;
            let found = Found { descriptor, is_proto3 };
            if self.messages.contains_key(&name) || self.enums.insert(name.clone(), found).is_some() {
                return Err(Unsuitable::Twice(name));
            }
        }
        Ok(())
    }

    /// Returns true if a type has this full name.
    pub(super) fn has(&self, name: &str) -> bool {
        self.messages.contains_key(name) || self.enums.contains_key(name)
    }

    /// Returns the message that a field or method names.
    pub(super) fn message(
        &self,
        reference: &str,
        by: &str,
    ) -> Result<(&str, &'a DescriptorProto), Unsuitable> {
        let name = resolved(reference, by)?;
        let found = self.messages.get_key_value(name).ok_or_else(|| missing(name, by))?;
        Ok((found.0.as_str(), found.1.of_proto3(name)?))
    }

    /// Returns the enumeration that a field names.
    pub(super) fn enumeration(
        &self,
        reference: &str,
        by: &str,
    ) -> Result<(&str, &'a EnumDescriptorProto), Unsuitable> {
        let name = resolved(reference, by)?;
        let found = self.enums.get_key_value(name).ok_or_else(|| missing(name, by))?;
        Ok((found.0.as_str(), found.1.of_proto3(name)?))
    }
}

impl Enum {
    /// Reads the values of an enumeration of this name. The first is zero.
    pub(super) fn read(name: &str, descriptor: &EnumDescriptorProto) -> Result<Self, Unsuitable> {
        match descriptor.value.first().map(EnumValueDescriptorProto::number) {
            None => return Err(Unsuitable::Incomplete(format!("`{name}`"))),
            Some(0) => {}
            Some(_) => return Err(Unsuitable::NotProto3(name.into())),
        }
        if descriptor.value.len() > Schema::VALUES {
            return Err(Unsuitable::Many);
        }
        let mut names = HashSet::new();
        let read = |value: &EnumValueDescriptorProto| {
            let full = full_name(name, value.name())?;
            if names.insert(value.name().to_owned()) {
                Ok((value.number(), value.name().to_owned()))
            } else {
                Err(Unsuitable::Twice(full))
            }
        };
        Ok(Self { name: name.into(), values: descriptor.value.iter().map(read).collect::<Result<_, _>>()? })
    }
}

/// Number of letters of the longest full name.
const LONGEST_NAME: usize = 255;

/// Returns a name behind the name around it.
pub(super) fn full_name(scope: &str, name: &str) -> Result<String, Unsuitable> {
    // A package has dots, and may be empty.
    scope.split('.').filter(|_| !scope.is_empty()).try_for_each(|part| checked(part, scope).map(drop))?;
    let name = checked(name, scope)?;
    let full = if scope.is_empty() { name.into() } else { format!("{scope}.{name}") };
    if full.len() > LONGEST_NAME { Err(Unsuitable::Name(shown(&full))) } else { Ok(full) }
}

/// Checks that a name is an identifier.
pub(super) fn checked<'n>(name: &'n str, scope: &str) -> Result<&'n str, Unsuitable> {
    let is_identifier = name.starts_with(|first: char| first.is_ascii_alphabetic() || first == '_')
        && name.chars().all(|letter| letter.is_ascii_alphanumeric() || letter == '_');
    if is_identifier {
        Ok(name)
    } else {
        Err(Unsuitable::Incomplete(format!("a part of `{}`", shown(scope))))
    }
}

/// Returns the beginning of a name that may be any text.
fn shown(name: &str) -> String {
    name.chars().take(LONGEST_NAME).flat_map(char::escape_debug).collect()
}

/// Returns a full name, which compilers write with a dot in front.
fn resolved<'n>(reference: &'n str, by: &str) -> Result<&'n str, Unsuitable> {
    reference.strip_prefix('.').ok_or_else(|| Unsuitable::Incomplete(format!("`{by}`")))
}

fn missing(name: &str, by: &str) -> Unsuitable {
    Unsuitable::Missing { name: shown(name), by: by.into() }
}
