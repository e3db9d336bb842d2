//! A `oneof`: all its fields have places of their own, and a number tells which of them is present.

use crate::code::{MAY_BE_UNUSED, block, docs, function, indented};
use crate::field::Field;
use crate::names;
use crate::shape::Kind;
use crate::source::Scope;
use bertha_schemas::Told;
use prost_types::DescriptorProto;

/// A `oneof` of a message.
#[derive(Debug)]
pub(crate) struct Choice<'f> {
    /// The name in the schema.
    pub(crate) described: &'f str,
    pub(crate) identifier: String,
    /// The place of the number.
    pub(crate) at: u32,
    pub(crate) fields: Vec<&'f Field<'f>>,
    comment: Option<&'f str>,
}

impl<'f> Choice<'f> {
    /// Returns the choice to which a field belongs, if it is the first one there.
    pub(crate) fn begun_by(
        first: &Field<'_>,
        fields: &'f [Field<'f>],
        scope: &Scope<'f>,
        message: &'f DescriptorProto,
    ) -> Option<Self> {
        let (Told::Choice(at), index) = (first.told, first.described.oneof_index() as usize) else {
            return None;
        };
        let fields: Vec<_> = fields.iter().filter(|field| field.told == first.told).collect();
        let described = message.oneof_decl.get(index)?.name();
        let (identifier, comment) = (names::identifier(described), scope.part(8, index, described).comment());
        let choice = Self { described, identifier, at, fields, comment };
        (choice.fields.first()?.at == first.at).then_some(choice)
    }

    /// Returns the methods of the choice, whose enumeration lies in a module, and of its fields.
    pub(crate) fn methods(&self, module: &str) -> Vec<String> {
        let (of, described) = (names::type_name(self.described), self.described);
        let clear = function(
            &format!("Makes all fields of `{described}` absent."),
            &format!("clear_{}(&mut self)", names::snake(described)),
            &format!("self.{} = 0;", self.identifier),
        );
        let of_fields = self.fields.iter().flat_map(|field| self.of_field(field));
        [self.getter(&format!("{module}::{of}")), clear].into_iter().chain(of_fields).collect()
    }

    fn getter(&self, of: &str) -> String {
        let arms = self.fields.iter().map(|field| {
            let (variant, lending) = (names::variant(field.described.name()), field.lending());
            let read = match field.shape.kind {
                Kind::Message => format!("{lending}.map({of}::{variant})"),
                _ => format!("Some({of}::{variant}({lending}))"),
            };
            format!("{} => {read},\n", field.described.number())
        });
        let arms: String = arms.chain(["_ => None,\n".into()]).collect();
        let body = format!("match self.{} {{\n{}}}", self.identifier, indented(&arms));
        let docs = docs(self.comment, &format!("Returns the field of `{}` that is present.", self.described));
        let returned = format!("Option<{of}{}>", self.lifetime("<'_>"));
        block(&format!("{docs}pub fn {}(&self) -> {returned}", self.identifier), &[body])
    }

    fn of_field(&self, field: &Field<'_>) -> Vec<String> {
        let (choice, number) = (format!("self.{}", self.identifier), field.described.number());
        let (is_absent, make_present) = (format!("{choice} != {number}"), format!("{choice} = {number};"));
        if field.shape.kind != Kind::Message {
            return vec![field.changer(Some((is_absent, make_present)))];
        }
        let (identifier, name, described) = (&field.identifier, field.name(), field.described.name());
        let path = field.shape.lent.trim_start_matches('&');
        let set = function(
            &format!("Sets `{described}`."),
            &format!("set_{name}(&mut self, {identifier}: heap::Box<{path}>)"),
            &format!("{make_present}\nself.{identifier} = Some({identifier});"),
        );
        let change = function(
            &format!("Returns `{described}`, to be changed, if it is present."),
            &format!("{name}_mut(&mut self) -> Option<&mut {path}>"),
            &format!("if {is_absent} {{ None }} else {{ self.{identifier}.as_deref_mut() }}"),
        );
        vec![set, change]
    }

    /// Returns the enumeration of references to the fields. They are fields as the enumeration's module sees them.
    pub(crate) fn enumeration(&self, scope: &Scope<'_>) -> String {
        let variants = self.fields.iter().map(|field| {
            let docs = docs(field.comment, &format!("The field `{}`.", field.described.name()));
            let lent = field.shape.lent.replacen('&', "&'a ", 1);
            format!("{docs}{}({lent}),\n", names::variant(field.described.name()))
        });
        let docs = format!("/// The field of `{}.{}` that is present.\n", scope.name, self.described);
        let head = format!("pub enum {}{}", names::type_name(self.described), self.lifetime("<'a>"));
        block(&format!("{docs}{MAY_BE_UNUSED}#[derive(Debug, Clone, Copy)]\n{head}"), &[variants.collect()])
    }

    /// Returns the lifetime if a field is lent by a reference.
    fn lifetime(&self, lifetime: &'static str) -> &'static str {
        let is_lent = self.fields.iter().any(|field| field.shape.kind != Kind::Number);
        if is_lent { lifetime } else { "" }
    }
}
