//! A list of values that a field may have, or may not.

use crate::{Binding, Burst, Engine, EngineKind, Kind, Message, Parts, Refusal, Settings, Unsuitable};
use bertha_chunnels::rpc::FailureKind;
use bertha_schemas::{Path, PrivateMemory, Value};
use std::collections::HashSet;
use std::time::Duration;

/// `acl`: refuses requests by the value of a field.
///
/// - `field`: the path of the field from the request, such as `customer.name`. Methods whose requests lack it pass.
/// - `deny`: values with commas between them. A request with one of them is refused.
/// - `allow`: the same; a request without a value, or with a value that is not one of them, is refused.
///
/// There is one list. Text is compared byte for byte, and so are bytes with the list's UTF-8; whole numbers and `true` or `false` are
/// compared by their decimal notation; a list with a value that the field never has is refused. Of a field that repeats, each value counts.
#[derive(Debug, Clone, Copy)]
pub struct Acl;

/// The version of the state: a line each for the field, the kind of list, and each value.
const VERSION: u32 = 1;

impl EngineKind for Acl {
    fn name(&self) -> &str {
        "acl"
    }

    fn make(&self, mut settings: Settings, binding: &Binding) -> Result<Box<dyn Engine>, Unsuitable> {
        let field: String = settings
            .take("field")?
            .ok_or_else(|| Unsuitable::new("acl lacks a field, as in field=customer.name deny=eve"))?;
        let list = List::taken(&mut settings)?
            .ok_or_else(|| Unsuitable::new("acl lacks a list: deny=a,b or allow=a,b"))?;
        settings.finish()?;
        Ok(Box::new(AccessControl::new(field, list, binding)?))
    }

    fn restore(&self, parts: &mut Parts, binding: &Binding) -> Result<Box<dyn Engine>, Unsuitable> {
        let state = std::str::from_utf8(&parts.state).ok().filter(|_| parts.version == VERSION);
        let mut lines = state.into_iter().flat_map(str::lines);
        let (Some(field), Some(kind)) = (lines.next(), lines.next()) else {
            return Err(Unsuitable::new(format!(
                "state of acl of version {} is not understood",
                parts.version
            )));
        };
        let list = List::of(kind == "allow", lines.map(Into::into));
        Ok(Box::new(AccessControl::new(field.to_owned(), list, binding)?))
    }
}

#[derive(Debug)]
struct List {
    /// True if the values are those that may pass.
    is_of_permitted: bool,
    values: HashSet<String>,
    /// The values that are whole numbers, so that a call's number needs no text.
    numbers: HashSet<i128>,
}

impl List {
    fn of(is_of_permitted: bool, values: impl IntoIterator<Item = String>) -> Self {
        let values: HashSet<_> = values.into_iter().collect();
        // A number in another notation names nothing.
        let number = |value: &String| value.parse().ok().filter(|number: &i128| number.to_string() == *value);
        let numbers = values.iter().filter_map(number).collect();
        Self { is_of_permitted, values, numbers }
    }

    fn taken(settings: &mut Settings) -> Result<Option<Self>, Unsuitable> {
        match (settings.take_list("deny"), settings.take_list("allow")) {
            (Some(_), Some(_)) => Err(Unsuitable::new("acl takes one list: deny or allow")),
            (Some(denied), None) => Ok(Some(Self::of(false, denied))),
            (None, Some(allowed)) => Ok(Some(Self::of(true, allowed))),
            (None, None) => Ok(None),
        }
    }

    /// Checks that each value can be one of the field, in the request of some method.
    fn check(&self, field: &str, paths: &[Option<Path>]) -> Result<(), Unsuitable> {
        if paths.is_empty() {
            return Ok(());
        }
        let can_be = |value: &String| paths.iter().flatten().any(|path| path.can_be(value));
        // The least of several, so that the same list is refused for the same value.
        match self.values.iter().filter(|value| !can_be(value)).min() {
            Some(value) => {
                Err(Unsuitable::new(format!("the field {field} has no text, and is never {value}")))
            }
            None => Ok(()),
        }
    }

    fn permits(&self, field: &Path, request: &PrivateMemory, at: u64) -> bool {
        if self.is_of_permitted {
            let mut has_value = false;
            let has_other = field.any(request, at, |value| {
                has_value = true;
                !self.contains(value)
            });
            has_value && !has_other
        } else {
            !field.any(request, at, |value| self.contains(value))
        }
    }

    fn contains(&self, value: Value<'_>) -> bool {
        match value {
            Value::Text(text) => self.values.contains(text),
            Value::Bytes(bytes) => std::str::from_utf8(bytes).is_ok_and(|text| self.values.contains(text)),
            Value::Signed(number) => self.numbers.contains(&number.into()),
            Value::Unsigned(number) => self.numbers.contains(&number.into()),
            Value::Bool(value) => self.values.contains(if value { "true" } else { "false" }),
            _ => false,
        }
    }
}

#[derive(Debug)]
struct AccessControl {
    field: String,
    /// The field by the method, if its request has it.
    paths: Vec<Option<Path>>,
    list: List,
    refusal: Refusal,
}

impl AccessControl {
    fn new(field: String, list: List, binding: &Binding) -> Result<Self, Unsuitable> {
        let Binding { schema, plan, .. } = binding;
        let methods = schema.methods().iter();
        let paths: Vec<_> = methods.map(|method| Path::find(schema, plan, &method.request, &field)).collect();
        let mut found = paths.iter().flatten().peekable();
        // Without methods, the schema is not known.
        if found.peek().is_none() && !paths.is_empty() {
            return Err(Unsuitable::new(format!(
                "no method takes a request with a field {field} of a value"
            )));
        }
        if found.any(Path::is_float) {
            return Err(Unsuitable::new(format!("the field {field} has fractions, which no list can name")));
        }
        list.check(&field, &paths)?;
        let reason = format!("the value of {field} is not permitted").into();
        Ok(Self { field, paths, list, refusal: Refusal { kind: FailureKind::Denied, reason } })
    }

    fn permits(&self, message: &Message) -> bool {
        let path = self.paths.get(message.method as usize).and_then(Option::as_ref);
        match (&message.kind, path, &message.content) {
            (Kind::Request, Some(field), Some(request)) => self.list.permits(field, request, message.at),
            // What can't be read does not pass.
            (Kind::Request, Some(_), None) => false,
            _ => true,
        }
    }
}

impl Engine for AccessControl {
    fn requests(&mut self, burst: &mut Burst, _: Duration) {
        burst.refuse_if(|message| (!self.permits(message)).then(|| self.refusal.clone()));
    }

    fn responses(&mut self, _: &mut Burst, _: Duration) {}

    fn reads(&self, method: u32) -> &[Path] {
        self.paths.get(method as usize).map_or(&[], Option::as_slice)
    }

    fn configure(&mut self, mut settings: Settings) -> Result<(), Unsuitable> {
        let list = List::taken(&mut settings)?;
        settings.finish()?;
        if let Some(list) = list {
            list.check(&self.field, &self.paths)?;
            self.list = list;
        }
        Ok(())
    }

    fn take_apart(self: Box<Self>) -> Parts {
        let kind = if self.list.is_of_permitted { "allow" } else { "deny" };
        let mut state = format!("{}\n{kind}\n", self.field);
        for value in &self.list.values {
            state.push_str(value);
            state.push('\n');
        }
        Parts { version: VERSION, state: state.into(), ..Parts::default() }
    }
}
