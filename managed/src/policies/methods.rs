//! The methods of calls, by the numbers that stand in them.

use crate::Unsuitable;
use bertha_chunnels::rpc;
use bertha_schemas::{MessageId, Plan, Schema};
use std::collections::HashMap;

/// The methods of a service, by the numbers that stand in calls, and what they take.
#[derive(Debug, Clone)]
pub(super) struct Methods {
    /// The places of the methods in the schema.
    places: HashMap<u32, u32>,
    /// The requests of the methods, by their places.
    requests: Vec<Option<MessageId>>,
    /// The place of methods that are not in the schema, if they may be called.
    others: Option<u32>,
}

/// The place that stands for all methods which are not in the schema.
const OTHER: u32 = u32::MAX;

impl Methods {
    /// Finds the methods of a service by the names that `#[bertha::service]` and gRPC give them: `Hotels.nearby` and
    /// `hotel.Hotels/Nearby`.
    pub(super) fn of(schema: &Schema, plan: &Plan, service: &str) -> Result<Self, Unsuitable> {
        let requests = schema.methods().iter().map(|method| plan.message(&method.request)).collect();
        let mut methods = Self { places: HashMap::new(), requests, others: None };
        let short = service.rsplit('.').next().unwrap_or(service);
        for (place, method) in (0..).zip(schema.methods()).filter(|(_, method)| method.service == service) {
            methods.name(&format!("{short}.{}", snake_case(&method.name)), place)?;
            methods.name(&format!("{service}/{}", method.name), place)?;
        }
        if methods.places.is_empty() {
            return Err(Unsuitable::new(format!("the schema has no service {service} with methods")));
        }
        Ok(methods)
    }

    /// Gives a method another name, by which calls name it.
    pub(super) fn name(&mut self, name: &str, place: u32) -> Result<(), Unsuitable> {
        let before = self.places.insert(rpc::Method::id_of(name), place);
        if before.is_none_or(|before| before == place) {
            Ok(())
        } else {
            Err(Unsuitable::new(format!("the method {name} has the number of another method")))
        }
    }

    /// Lets methods be called that are not in the schema.
    pub(super) fn let_others(&mut self) {
        self.others = Some(OTHER);
    }

    /// Returns the place of the method with this number, if it may be called.
    #[inline]
    pub(super) fn place(&self, number: u32) -> Option<u32> {
        self.places.get(&number).copied().or(self.others)
    }

    /// Returns what the method at a place takes.
    pub(super) fn request(&self, place: u32) -> Option<MessageId> {
        self.requests.get(place as usize).copied().flatten()
    }
}

/// Returns the name of a method as a function of Rust has it.
fn snake_case(name: &str) -> String {
    let mut snake = String::new();
    let mut before = None;
    for letter in name.chars() {
        if letter.is_uppercase() && before.is_some_and(|before: char| before != '_' && !before.is_uppercase())
        {
            snake.push('_');
        }
        snake.extend(letter.to_lowercase());
        before = Some(letter);
    }
    snake
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::described::binding;

    #[test]
    fn methods_have_the_names_of_traits_and_of_grpc() {
        let binding = binding();
        let mut methods = Methods::of(&binding.schema, &binding.plan, "hotel.Hotel").unwrap();
        let place = |methods: &Methods, name| methods.place(rpc::Method::new(name).id());
        for (name, expected) in [
            ("Hotel.ping", Some(0)),
            ("hotel.Hotel/Reserve", Some(1)),
            ("Hotel.reserve", Some(1)),
            ("reserve", None),
        ] {
            assert_eq!(place(&methods, name), expected, "{name}");
        }
        methods.name("reserve", 1).unwrap();
        assert_eq!(place(&methods, "reserve"), Some(1));
        let twice = methods.name("Hotel.ping", 1).unwrap_err().to_string();
        assert_eq!(twice, "the method Hotel.ping has the number of another method");
        methods.let_others();
        assert_eq!((place(&methods, "no method"), methods.request(OTHER)), (Some(OTHER), None));
        let none = Methods::of(&binding.schema, &binding.plan, "Hotel").unwrap_err().to_string();
        assert_eq!(none, "the schema has no service Hotel with methods");
    }

    #[test]
    fn names_become_those_of_functions() {
        let names = ["Nearby", "GetRates", "getRates", "GetHTTPStatus", "v2_Get", "already_snake"];
        let snake = names.map(snake_case);
        assert_eq!(snake, ["nearby", "get_rates", "get_rates", "get_httpstatus", "v2_get", "already_snake"]);
    }
}
