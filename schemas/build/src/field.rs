//! A field, and the methods that read and change it.

use crate::code::{block, docs, function, indented};
use crate::names;
use crate::shape::{Kind, Shape};
use crate::source::Scope;
use bertha_schemas::Told;
use prost_types::{DescriptorProto, FieldDescriptorProto};

/// A field of a message.
#[derive(Debug)]
pub(crate) struct Field<'s> {
    pub(crate) described: &'s FieldDescriptorProto,
    pub(crate) identifier: String,
    pub(crate) comment: Option<&'s str>,
    /// The place in the structure, in bytes.
    pub(crate) at: usize,
    pub(crate) told: Told,
    pub(crate) shape: Shape,
}

/// The condition under which a field is absent, and the statement that makes it present.
pub(crate) type Presence = (String, String);

impl<'s> Field<'s> {
    /// Reads the fields of the message that the scope is, by their numbers, as code of the module `from` sees them.
    pub(crate) fn all(scope: &Scope<'s>, from: &[String], message: &'s DescriptorProto) -> Vec<Self> {
        let (plan, id) = (&scope.source.plan, scope.source.plan.message(&scope.name));
        let read = |(index, described): (usize, &'s FieldDescriptorProto)| {
            let (identifier, number) = (names::identifier(described.name()), described.number() as u32);
            let (at, told) = (plan.field(id?, number)?, plan.told(id?, number)?);
            let shape = Shape::of(described, told, scope.source.path(from, described.type_name()));
            let comment = scope.part(2, index, described.name()).comment();
            Some(Self { described, identifier, comment, at, told, shape })
        };
        let mut fields: Vec<_> = message.field.iter().enumerate().filter_map(read).collect();
        fields.sort_unstable_by_key(|field| field.described.number());
        fields
    }

    /// Returns the expression that reads the field; of a message, an `Option`.
    pub(crate) fn lending(&self) -> String {
        let identifier = &self.identifier;
        match self.shape.kind {
            Kind::Number => format!("self.{identifier}"),
            Kind::Row => format!("&self.{identifier}"),
            Kind::Message => format!("self.{identifier}.as_deref()"),
        }
    }

    /// Returns the methods of a field that belongs to no `oneof`.
    pub(crate) fn methods(&self) -> Vec<String> {
        let (lent, lending) = (&self.shape.lent, self.lending());
        let optional = format!("Option<{lent}>");
        let Told::Bit(bit) = self.told else {
            let returned = if self.shape.kind == Kind::Message { &optional } else { lent };
            return vec![self.getter(returned, lending), self.changer(None)];
        };
        let (word, mask) =
            (format!("self._present[{}]", bit / u64::BITS), format!("1 << {}", bit % u64::BITS));
        let is_absent = format!("{word} & ({mask}) == 0");
        let getter = self.getter(&optional, format!("if {is_absent} {{ None }} else {{ Some({lending}) }}"));
        let clear = function(
            &format!("Makes `{}` absent.", self.described.name()),
            &format!("clear_{}(&mut self)", self.name()),
            &format!("{word} &= !({mask});"),
        );
        vec![getter, self.changer(Some((is_absent, format!("{word} |= {mask};")))), clear]
    }

    fn getter(&self, returned: &str, body: String) -> String {
        let docs = docs(self.comment, &format!("Returns `{}`.", self.described.name()));
        block(&format!("{docs}pub fn {}(&self) -> {returned}", self.identifier), &[body])
    }

    /// Returns the method that sets a number, or lends another field to be changed.
    pub(crate) fn changer(&self, presence: Option<Presence>) -> String {
        let (Self { identifier, shape, .. }, name) = (self, self.name());
        let (described, stored) = (self.described.name(), &shape.stored);
        let lent = format!("{name}_mut(&mut self) -> &mut {stored}");
        let docs = format!("Returns `{described}`, to be changed.");
        match (shape.kind, presence) {
            (Kind::Number, presence) => {
                let first = presence.map_or_else(String::new, |(_, make_present)| make_present + "\n");
                let signature = format!("set_{name}(&mut self, {identifier}: {stored})");
                let body = format!("{first}self.{identifier} = {identifier};");
                function(&format!("Sets `{described}`."), &signature, &body)
            }
            (_, None) => function(&docs, &lent, &format!("&mut self.{identifier}")),
            (_, Some((is_absent, make_present))) => {
                let docs = format!("{docs} It is present from now on, and empty if it was absent.");
                let emptied = indented(&format!("{make_present}\nself.{identifier}.clear();"));
                function(&docs, &lent, &format!("if {is_absent} {{\n{emptied}}}\n&mut self.{identifier}"))
            }
        }
    }

    /// Returns the name of which names of methods are made.
    pub(crate) fn name(&self) -> String {
        names::snake(self.described.name())
    }
}
