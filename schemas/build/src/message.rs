//! A message: a structure of C.

use crate::choice::Choice;
use crate::code::{MAY_BE_UNUSED, block, function, indented};
use crate::field::Field;
use crate::source::Scope;
use crate::{Error, names};
use bertha_schemas::Told;
use prost_types::DescriptorProto;

/// A message that a method reaches.
#[derive(Debug)]
pub(crate) struct Message<'s> {
    scope: &'s Scope<'s>,
    described: &'s DescriptorProto,
    name: String,
    /// The fields by their numbers.
    fields: Vec<Field<'s>>,
    /// Number of bytes.
    size: usize,
}

/// A part of the structure: its name, its type, its place, its size, and the expression of its default.
struct Part(String, String, usize, usize, String);

impl<'s> Message<'s> {
    /// Reads the message that the scope is. Returns `None` if no method reaches it.
    pub(crate) fn read(scope: &'s Scope<'s>, described: &'s DescriptorProto) -> Option<Self> {
        let size = scope.source.plan.size(scope.source.plan.message(&scope.name)?);
        let fields = Field::all(scope, scope.outside(), described);
        Some(Self { scope, described, name: names::type_name(described.name()), fields, size })
    }

    pub(crate) fn code(&self) -> Result<String, Error> {
        let parts = self.parts();
        self.scope.check(parts.iter().map(|Part(name, ..)| name.as_str()))?;
        let items = [self.structure(&parts), self.methods(&parts)?, self.debug(), self.layout(&parts)];
        Ok(items.join("\n"))
    }

    /// Returns the enumerations of the choices, for the module of what is in the message.
    pub(crate) fn enumerations(&self) -> Vec<String> {
        let fields = Field::all(self.scope, &self.scope.modules, self.described);
        let choices = fields.iter().filter_map(|first| self.choice(first, &fields));
        choices.map(|choice| choice.enumeration(self.scope)).collect()
    }

    fn choice<'f>(&'f self, first: &Field<'_>, fields: &'f [Field<'f>]) -> Option<Choice<'f>> {
        Choice::begun_by(first, fields, self.scope, self.described)
    }

    /// Returns the parts of the structure in their order.
    fn parts(&self) -> Vec<Part> {
        let bits = self.fields.iter().filter(|field| matches!(field.told, Told::Bit(_))).count();
        let words = bits.div_ceil(u64::BITS as usize);
        let mut parts = Vec::new();
        if words > 0 {
            let (of, default) = (format!("[u64; {words}]"), format!("[0; {words}]"));
            parts.push(Part("_present".into(), of, 0, 8 * words, default));
        }
        for choice in self.fields.iter().filter_map(|first| self.choice(first, &self.fields)) {
            parts.push(Part(choice.identifier, "u32".into(), choice.at as usize, 4, "0".into()));
        }
        for Field { identifier, at, shape, .. } in &self.fields {
            parts.push(Part(
                identifier.clone(),
                shape.stored.clone(),
                *at,
                shape.size,
                shape.default.clone(),
            ));
        }
        padded(parts, self.size)
    }

    fn structure(&self, parts: &[Part]) -> String {
        let parts = parts.iter().map(|Part(name, of, ..)| format!("{name}: {of},\n")).collect();
        let docs = self.scope.docs("message");
        block(&format!("{docs}#[repr(C, align(8))]\npub struct {}", self.name), &[parts])
    }

    fn methods(&self, parts: &[Part]) -> Result<String, Error> {
        let of_values = self.values().flat_map(|(_, _, methods)| methods);
        let methods: Vec<_> = [new_in(parts)].into_iter().chain(of_values).collect();
        self.scope.block(&format!("{MAY_BE_UNUSED}impl {}", self.name), &methods)
    }

    fn debug(&self) -> String {
        let shown: String = self
            .values()
            .map(|(name, getter, _)| format!("\n    .field(\"{name}\", &self.{getter}())"))
            .collect();
        let end = if shown.is_empty() { ".finish()" } else { "\n    .finish()" };
        let body = format!("f.debug_struct(\"{}\"){shown}{end}", self.name);
        let signature = "fn fmt(&self, f: &mut ::core::fmt::Formatter<'_>) -> ::core::fmt::Result";
        block(&format!("impl ::core::fmt::Debug for {}", self.name), &[block(signature, &[body])])
    }

    /// Returns the fields and choices, a choice in place of its first field: the name in the schema, the getter, and all methods.
    fn values(&self) -> impl Iterator<Item = (&str, String, Vec<String>)> {
        self.fields.iter().filter_map(|field| match (field.told, self.choice(field, &self.fields)) {
            (_, Some(choice)) => {
                let methods = choice.methods(&names::module(self.described.name()));
                Some((choice.described, choice.identifier, methods))
            }
            (Told::Choice(_), None) => None,
            _ => Some((field.described.name(), field.identifier.clone(), field.methods())),
        })
    }

    /// Returns the statement of how the structure lies in memory, which the compiler checks.
    fn layout(&self, parts: &[Part]) -> String {
        let Self { name, size, .. } = self;
        let parts: String =
            parts.iter().map(|Part(part, of, at, ..)| format!("{at} {part}: {of},\n")).collect();
        format!("::bertha_managed::layout!({name}: {size} {{\n{}}});\n", indented(&parts))
    }
}

/// Adds parts in place of bytes without a value, since the whole structure is read by others.
fn padded(parts: Vec<Part>, size: usize) -> Vec<Part> {
    let mut padded = Vec::new();
    let mut end = 0;
    let mut pad = |padded: &mut Vec<Part>, to: usize, next: usize| {
        if let bytes @ 1.. = to - end {
            let (name, of) = (format!("_padding_{end}"), format!("[u8; {bytes}]"));
            padded.push(Part(name, of, end, bytes, format!("[0; {bytes}]")));
        }
        end = next;
    };
    for part in parts {
        pad(&mut padded, part.2, part.2 + part.3);
        padded.push(part);
    }
    pad(&mut padded, size, size);
    padded
}

fn new_in(parts: &[Part]) -> String {
    let heap = if parts.iter().any(|part| part.4.ends_with("(heap)")) { "heap" } else { "_" };
    let values: String =
        parts.iter().map(|Part(name, .., default)| format!("{name}: {default},\n")).collect();
    function(
        "Creates a message without values, which takes no room in the heap.",
        &format!("new_in({heap}: &heap::Heap) -> Self"),
        &format!("Self {{\n{}}}", indented(&values)),
    )
}
