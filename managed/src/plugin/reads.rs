//! The fields that an engine of a library reads.

use crate::{Binding, FailureKind, Kind, Message, Refusal, Unsuitable};
use bertha_plugin::abi::MOST_VALUES;
use bertha_schemas::{Path, Value};
use std::sync::Arc;

/// The fields of each method's requests that an engine reads.
#[derive(Debug)]
pub(super) struct Reads(Vec<Fields>);

/// The fields of a method's requests.
#[derive(Debug, Default)]
struct Fields {
    paths: Vec<Path>,
    /// The places of these paths among all that the engine named: some of them are of other methods alone.
    places: Vec<u32>,
}

/// Maximum number of paths of a method.
const MOST: usize = 64;

impl Reads {
    /// Finds the paths that an engine of a kind names for each method, by the method's number, with spaces between them.
    pub(super) fn find(
        kind: &str,
        binding: &Binding,
        mut of_method: impl FnMut(u32) -> Result<String, Unsuitable>,
    ) -> Result<Self, Unsuitable> {
        let Binding { schema, plan, .. } = binding;
        let (mut methods, mut missing, mut found) = (Vec::new(), Vec::new(), Vec::new());
        for (number, method) in (0..).zip(schema.methods()) {
            let named = of_method(number)?;
            let mut fields = Fields::default();
            for (place, path) in (0..).zip(named.split_whitespace()) {
                match Path::find(schema, plan, &method.request, path) {
                    Some(field) => {
                        fields.paths.push(field);
                        fields.places.push(place);
                        found.push(path.to_owned());
                    }
                    None => missing.push(path.to_owned()),
                }
            }
            if named.split_whitespace().count() > MOST {
                return Err(Unsuitable::new(format!(
                    "the engine {kind} reads more than {MOST} fields of a method"
                )));
            }
            methods.push(fields);
        }
        match missing.into_iter().find(|path| !found.contains(path)) {
            Some(path) => Err(Unsuitable::new(format!(
                "the engine {kind} reads a field {path}, and no method takes a request with a value there"
            ))),
            None => Ok(Self(methods)),
        }
    }

    /// Returns the paths of a method.
    pub(super) fn paths(&self, method: u32) -> &[Path] {
        self.0.get(method as usize).map_or(&[], |fields| &fields.paths)
    }

    /// Visits the values of a request until one is what is asked for, each with the place of its path.
    pub(super) fn any(&self, message: &Message, mut is_asked_for: impl FnMut(u32, Value<'_>) -> bool) {
        let fields = self.0.get(message.method as usize);
        if let (Kind::Request, Some(Fields { paths, places }), Some(content)) =
            (&message.kind, fields, &message.content)
        {
            let mut each = paths.iter().zip(places);
            each.any(|(path, place)| path.any(content, message.at, |value| is_asked_for(*place, value)));
        }
    }

    /// Returns the reason why an engine can't be shown a message.
    pub(super) fn refusal(&self, message: &Message) -> Option<Refusal> {
        let paths = self.paths(message.method).len();
        if message.kind != Kind::Request || paths == 0 {
            return None;
        }
        let Some(content) = &message.content else {
            let reason = Arc::from("there is no copy of the request for an engine that reads it");
            return Some(Refusal { kind: FailureKind::Malformed, reason });
        };
        // A value takes a byte at least.
        if content.used().saturating_mul(paths) <= MOST_VALUES {
            return None;
        }
        let mut count = 0;
        self.any(message, |_, _| {
            count += 1;
            count > MOST_VALUES
        });
        let reason =
            || Arc::from("the fields of the request that an engine reads have more than 4,096 values");
        (count > MOST_VALUES).then(|| Refusal { kind: FailureKind::TooLarge, reason: reason() })
    }
}
