//! The way from a descriptor set to the methods of its services, and to the types that they reach.

use super::collect::{Enum, Types, checked, full_name};
use super::{Field, Kind, Message, Method, Number, Presence, Schema, Unsuitable};
use prost::Message as _;
use prost_types::field_descriptor_proto::{Label, Type};
use prost_types::{DescriptorProto, FieldDescriptorProto, FileDescriptorProto, FileDescriptorSet};
use std::collections::{BTreeMap, HashSet};

/// Largest number of a field.
const LAST: i32 = (1 << 29) - 1;

type Parts = (Vec<Method>, Vec<Message>, Vec<Enum>);

pub(super) fn read(descriptors: &[u8]) -> Result<Parts, Unsuitable> {
    if descriptors.len() > Schema::LONGEST {
        return Err(Unsuitable::Long(descriptors.len()));
    }
    let set = FileDescriptorSet::decode(descriptors).map_err(Unsuitable::Malformed)?;
    let types = Types::of(&set.file)?;
    let methods = methods(&set.file, &types)?;
    let reached = reached(&methods, &types)?;
    let mut enums = BTreeMap::new();
    let places: BTreeMap<_, _> = reached.keys().enumerate().map(|(place, name)| (*name, place)).collect();
    let messages = reached.iter().map(|(name, descriptor)| {
        let reader = Reader { types: &types, places: &places, name, descriptor };
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
            if !services.insert(name.clone()) {
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
}

impl Reader<'_> {
    /// Reads the message, and adds the enumerations of its fields.
    fn message(&self, enums: &mut BTreeMap<String, Enum>) -> Result<Message, Unsuitable> {
        let Self { name, descriptor, .. } = self;
        let choices =
            descriptor.oneof_decl.iter().map(|choice| checked(choice.name(), name).map(str::to_owned));
        let mut choices = choices.collect::<Result<Vec<_>, _>>()?;
        let fields = descriptor.field.iter().map(|field| self.field(field, choices.len(), enums));
        let mut fields = fields.collect::<Result<Vec<_>, _>>()?;
        fields.sort_unstable_by_key(|field| field.number);
        self.check_unique(&fields)?;
        // Compilers add a choice for each `optional` field, behind all others.
        let used = fields.iter().filter_map(|field| match field.presence {
            Presence::Choice(choice) => Some(choice + 1),
            _ => None,
        });
        choices.truncate(used.max().unwrap_or_default());
        Ok(Message { name: (*name).into(), fields, choices })
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
        choices: usize,
        enums: &mut BTreeMap<String, Enum>,
    ) -> Result<Field, Unsuitable> {
        let full = full_name(self.name, field.name())?;
        let number = match field.number() {
            number @ 1..=LAST => number as u32,
            number => return Err(Unsuitable::Number { field: full, number }),
        };
        let kind = self.kind(field, &full, enums)?;
        let presence = presence(field, &kind, choices, &full)?;
        Ok(Field { number, name: field.name().into(), kind, presence })
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
}

fn presence(
    field: &FieldDescriptorProto,
    kind: &Kind,
    choices: usize,
    full: &str,
) -> Result<Presence, Unsuitable> {
    let label = field.label.and_then(|label| Label::try_from(label).ok());
    match (label, field.oneof_index) {
        (Some(Label::Repeated), None) => {
            let is_number = matches!(kind, Kind::Number(_) | Kind::Enum(_));
            let is_packed = field.options.as_ref().and_then(|options| options.packed).unwrap_or(true);
            Ok(Presence::Repeated { is_packed: is_number && is_packed })
        }
        (Some(Label::Required), _) => Err(Unsuitable::NotProto3(full.into())),
        (Some(Label::Optional), Some(_)) if field.proto3_optional() => Ok(match kind {
            // Its address tells it.
            Kind::Message(_) => Presence::Implicit,
            _ => Presence::Optional,
        }),
        (Some(Label::Optional), Some(choice)) => match usize::try_from(choice) {
            Ok(choice) if choice < choices => Ok(Presence::Choice(choice)),
            _ => Err(Unsuitable::Incomplete(format!("`{full}`"))),
        },
        (Some(Label::Optional), None) => Ok(Presence::Implicit),
        _ => Err(Unsuitable::Incomplete(format!("`{full}`"))),
    }
}
