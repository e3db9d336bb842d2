//! The way from a descriptor set to the methods of its services, and to the types that they reach.

use super::collect::{Enum, Types, full_name};
use super::parts;
use super::{Field, Kind, Message, Method, Number, Presence, Schema, Unsuitable};
use prost::Message as _;
use prost_types::field_descriptor_proto::{Label, Type};
use prost_types::{
    DescriptorProto, FieldDescriptorProto, FileDescriptorProto, FileDescriptorSet, OneofDescriptorProto,
};
use std::collections::{BTreeMap, HashMap, HashSet};
use std::ops::RangeInclusive;

/// The numbers that fields may have.
const NUMBERS: RangeInclusive<i32> = 1..=(1 << 29) - 1;

/// The numbers that protobuf keeps for itself.
const KEPT: RangeInclusive<i32> = 19_000..=19_999;

type Parts = (Vec<Method>, Vec<Message>, Vec<Enum>);

pub(super) fn read(descriptors: &[u8]) -> Result<Parts, Unsuitable> {
    if descriptors.len() > Schema::LONGEST {
        return Err(Unsuitable::Long(descriptors.len()));
    }
    parts::check(descriptors)?;
    let set = FileDescriptorSet::decode(descriptors).map_err(Unsuitable::Malformed)?;
    let types = Types::of(&set.file)?;
    let methods = methods(&set.file, &types)?;
    let reached = reached(&methods, &types)?;
    let mut enums = BTreeMap::new();
    let places: BTreeMap<_, _> = reached.keys().enumerate().map(|(place, name)| (*name, place)).collect();
    let messages = reached.iter().map(|(name, descriptor)| {
        let mut fields_of = HashMap::new();
        for choice in descriptor.field.iter().filter_map(|field| field.oneof_index) {
            *fields_of.entry(choice).or_default() += 1;
        }
        let reader = Reader { types: &types, places: &places, name, descriptor, fields_of };
        reader.message(&mut enums)
    });
    let messages = messages.collect::<Result<_, _>>()?;
    Ok((methods, messages, enums.into_values().collect()))
}

fn methods(files: &[FileDescriptorProto], types: &Types<'_>) -> Result<Vec<Method>, Unsuitable> {
    let mut methods = Vec::new();
    let mut services = HashSet::new();
    for file in files {
        for service in &file.service {
            let name = full_name(file.package(), service.name())?;
            if types.has(&name) || !services.insert(name.clone()) {
                return Err(Unsuitable::Twice(name));
            }
            for method in &service.method {
                let full = full_name(&name, method.name())?;
                methods.push(Method {
                    service: name.clone(),
                    name: method.name().into(),
                    request: types.message(method.input_type(), &full)?.0.into(),
                    response: types.message(method.output_type(), &full)?.0.into(),
                    streams_requests: method.client_streaming(),
                    streams_responses: method.server_streaming(),
                });
            }
        }
    }
    methods.sort_unstable_by(|one, other| (&one.service, &one.name).cmp(&(&other.service, &other.name)));
    let same =
        methods.windows(2).find(|pair| pair[0].service == pair[1].service && pair[0].name == pair[1].name);
    match same {
        Some(pair) => Err(Unsuitable::Twice(format!("{}.{}", pair[0].service, pair[0].name))),
        None if methods.is_empty() => Err(Unsuitable::Empty),
        None if methods.len() > Schema::METHODS => Err(Unsuitable::Many),
        None => Ok(methods),
    }
}

/// Returns the messages that the methods reach, by their names.
fn reached<'t>(
    methods: &[Method],
    types: &'t Types<'_>,
) -> Result<BTreeMap<&'t str, &'t DescriptorProto>, Unsuitable> {
    let mut reached = BTreeMap::new();
    let mut fields = 0;
    let mut waiting = Vec::new();
    for method in methods {
        for name in [&method.request, &method.response] {
            waiting.push(types.message(&format!(".{name}"), &method.name)?);
        }
    }
    while let Some((name, descriptor)) = waiting.pop() {
        if reached.insert(name, descriptor).is_some() {
            continue;
        }
        fields += descriptor.field.len();
        if reached.len() > Schema::MESSAGES || fields > Schema::FIELDS {
            return Err(Unsuitable::Many);
        }
        for field in descriptor.field.iter().filter(|field| field.r#type == Some(Type::Message as i32)) {
            waiting.push(types.message(field.type_name(), &full_name(name, field.name())?)?);
        }
    }
    Ok(reached)
}

/// A message that is read.
struct Reader<'t> {
    types: &'t Types<'t>,
    places: &'t BTreeMap<&'t str, usize>,
    name: &'t str,
    descriptor: &'t DescriptorProto,
    /// Number of fields of each choice.
    fields_of: HashMap<i32, usize>,
}

impl Reader<'_> {
    /// Reads the message, and adds the enumerations of its fields.
    fn message(&self, enums: &mut BTreeMap<String, Enum>) -> Result<Message, Unsuitable> {
        let Self { name, descriptor, .. } = self;
        if !descriptor.extension_range.is_empty() {
            return Err(Unsuitable::NotProto3((*name).into()));
        }
        let fields = descriptor.field.iter().map(|field| self.field(field, enums));
        let mut fields = fields.collect::<Result<Vec<_>, _>>()?;
        fields.sort_unstable_by_key(|field| field.number);
        self.check_unique(&fields)?;
        let choices = self.choices(&mut fields)?;
        Ok(Message { name: (*name).into(), fields, choices })
    }

    /// Returns the names of the choices in the order of their first fields, and gives the fields their new places. So neither the order in
    /// which a descriptor has choices nor one without fields makes a difference.
    fn choices(&self, fields: &mut [Field]) -> Result<Vec<String>, Unsuitable> {
        let mut names: HashSet<_> = fields.iter().map(|field| field.name.clone()).collect();
        let mut places = HashMap::new();
        let mut choices = Vec::new();
        for field in fields {
            let Presence::Choice(choice) = &mut field.presence else { continue };
            let place = *places.entry(*choice).or_insert(choices.len());
            if place == choices.len() {
                let name = self.descriptor.oneof_decl.get(*choice).map_or("", OneofDescriptorProto::name);
                let full = full_name(self.name, name)?;
                if !names.insert(name.to_owned()) {
                    return Err(Unsuitable::Twice(full));
                }
                choices.push(name.to_owned());
            }
            *choice = place;
        }
        Ok(choices)
    }

    fn check_unique(&self, fields: &[Field]) -> Result<(), Unsuitable> {
        if let Some(pair) = fields.windows(2).find(|pair| pair[0].number == pair[1].number) {
            let field = format!("{}.{}", self.name, pair[1].name);
            return Err(Unsuitable::Number { field, number: pair[1].number as i32 });
        }
        let mut names = HashSet::new();
        match fields.iter().find(|field| !names.insert(&field.name)) {
            Some(field) => Err(Unsuitable::Twice(format!("{}.{}", self.name, field.name))),
            None => Ok(()),
        }
    }

    fn field(
        &self,
        field: &FieldDescriptorProto,
        enums: &mut BTreeMap<String, Enum>,
    ) -> Result<Field, Unsuitable> {
        let full = full_name(self.name, field.name())?;
        if field.extendee.is_some() || field.default_value.is_some() {
            return Err(Unsuitable::NotProto3(full));
        }
        let number = field.number();
        if !NUMBERS.contains(&number) || KEPT.contains(&number) || self.is_reserved(number) {
            return Err(Unsuitable::Number { field: full, number });
        }
        let kind = self.kind(field, &full, enums)?;
        let presence = self.presence(field, &kind, &full)?;
        Ok(Field { number: number as u32, name: field.name().into(), kind, presence })
    }

    fn is_reserved(&self, number: i32) -> bool {
        self.descriptor.reserved_range.iter().any(|range| (range.start()..range.end()).contains(&number))
    }

    fn kind(
        &self,
        field: &FieldDescriptorProto,
        full: &str,
        enums: &mut BTreeMap<String, Enum>,
    ) -> Result<Kind, Unsuitable> {
        let incomplete = || Unsuitable::Incomplete(format!("`{full}`"));
        let described =
            field.r#type.and_then(|described| Type::try_from(described).ok()).ok_or_else(incomplete)?;
        Ok(match described {
            Type::String => Kind::Text,
            Type::Bytes => Kind::Bytes,
            Type::Group => return Err(Unsuitable::NotProto3(full.into())),
            Type::Message => {
                let (name, _) = self.types.message(field.type_name(), full)?;
                Kind::Message(*self.places.get(name).ok_or_else(incomplete)?)
            }
            Type::Enum => {
                let (name, descriptor) = self.types.enumeration(field.type_name(), full)?;
                if !enums.contains_key(name) {
                    enums.insert(name.into(), Enum::read(name, descriptor)?);
                }
                Kind::Enum(name.into())
            }
            Type::Bool => Kind::Number(Number::Bool),
            Type::Int32 => Kind::Number(Number::Int32),
            Type::Int64 => Kind::Number(Number::Int64),
            Type::Uint32 => Kind::Number(Number::Uint32),
            Type::Uint64 => Kind::Number(Number::Uint64),
            Type::Sint32 => Kind::Number(Number::Sint32),
            Type::Sint64 => Kind::Number(Number::Sint64),
            Type::Fixed32 => Kind::Number(Number::Fixed32),
            Type::Fixed64 => Kind::Number(Number::Fixed64),
            Type::Sfixed32 => Kind::Number(Number::Sfixed32),
            Type::Sfixed64 => Kind::Number(Number::Sfixed64),
            Type::Float => Kind::Number(Number::Float),
            Type::Double => Kind::Number(Number::Double),
        })
    }

    fn presence(
        &self,
        field: &FieldDescriptorProto,
        kind: &Kind,
        full: &str,
    ) -> Result<Presence, Unsuitable> {
        let label = field.label.and_then(|label| Label::try_from(label).ok());
        let choice = field.oneof_index.map(|choice| self.choice(choice));
        match (label, choice) {
            (Some(Label::Required), _) => Err(Unsuitable::NotProto3(full.into())),
            (Some(Label::Repeated), None) if !field.proto3_optional() => {
                let is_number = matches!(kind, Kind::Number(_) | Kind::Enum(_));
                let is_packed = field.options.as_ref().and_then(|options| options.packed).unwrap_or(true);
                Ok(Presence::Repeated { is_packed: is_number && is_packed })
            }
            // Compilers add a choice for each such field alone.
            (Some(Label::Optional), Some(Some((_, 1)))) if field.proto3_optional() => Ok(match kind {
                // Its address tells it.
                Kind::Message(_) => Presence::Implicit,
                _ => Presence::Optional,
            }),
            (Some(Label::Optional), Some(Some((choice, _)))) if !field.proto3_optional() => {
                Ok(Presence::Choice(choice))
            }
            (Some(Label::Optional), None) if !field.proto3_optional() => Ok(Presence::Implicit),
            _ => Err(Unsuitable::Incomplete(format!("`{full}`"))),
        }
    }

    /// Returns the place of a choice and the number of its fields, if there is such a choice.
    fn choice(&self, choice: i32) -> Option<(usize, usize)> {
        let place = usize::try_from(choice).ok().filter(|place| *place < self.descriptor.oneof_decl.len())?;
        Some((place, *self.fields_of.get(&choice)?))
    }
}
