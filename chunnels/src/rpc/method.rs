//! The name of a function that a server offers.

use std::fmt;

/// A method of a service: its name, and whether a call may be repeated.
///
/// ```
/// use bertha_chunnels::rpc::Method;
/// const GREET: Method = Method::new("Greeter.greet").idempotent();
/// ```
///
/// A hash of the name, of 32 bits, stands in front of each call.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct Method {
    id: u32,
    name: &'static str,
    is_idempotent: bool,
    has_requests: bool,
    has_responses: bool,
}

impl Method {
    /// Returns a method of this name, which may not be repeated.
    pub const fn new(name: &'static str) -> Self {
        Self { id: Self::id_of(name), name, is_idempotent: false, has_requests: false, has_responses: false }
    }

    /// Returns a method whose name the program learns when it runs, as a binding for another language does. Only the hash of the name is
    /// kept: calls are the same, and a [description](crate::rpc::Reflection) or a trace of the method has no name.
    ///
    /// A server that describes itself registers its methods once, and can afford `Method::new(String::leak(name))`.
    pub const fn named(name: &str) -> Self {
        let id = Self::id_of(name);
        Self { id, name: "", is_idempotent: false, has_requests: false, has_responses: false }
    }

    /// Returns the method as idempotent: a call that runs twice has the effect of a call that runs once. Only such a call is repeated if it may have run.
    #[must_use]
    pub const fn idempotent(self) -> Self {
        Self { is_idempotent: true, ..self }
    }

    /// Returns the method as a method with a stream of requests, for descriptions: calls do not depend on it.
    #[must_use]
    pub const fn with_requests(self) -> Self {
        Self { has_requests: true, ..self }
    }

    /// Returns the method as a method with a stream of responses, for descriptions: calls do not depend on it.
    #[must_use]
    pub const fn with_responses(self) -> Self {
        Self { has_responses: true, ..self }
    }

    /// Returns the number that stands for a name.
    pub const fn id_of(name: &str) -> u32 {
        fnv(name.as_bytes())
    }

    /// Returns the number that stands for the name.
    pub const fn id(self) -> u32 {
        self.id
    }

    /// Returns the name; none for a method that was made by [`named`](Self::named).
    pub const fn name(self) -> &'static str {
        self.name
    }

    /// Returns true if a call may be repeated although it may have run.
    pub const fn is_idempotent(self) -> bool {
        self.is_idempotent
    }

    /// Returns true for a method with a stream of requests.
    pub const fn has_requests(self) -> bool {
        self.has_requests
    }

    /// Returns true for a method with a stream of responses.
    pub const fn has_responses(self) -> bool {
        self.has_responses
    }
}

/// FNV-1a, which a constant can be made of. Names come from programs and not from peers.
const fn fnv(bytes: &[u8]) -> u32 {
    let mut hash = 0x811c_9dc5_u32;
    let mut at = 0;
    while at < bytes.len() {
        hash = (hash ^ bytes[at] as u32).wrapping_mul(0x0100_0193);
        at += 1;
    }
    hash
}

impl fmt::Debug for Method {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.name {
            "" => write!(f, "{:#010x}", self.id),
            name => f.write_str(name),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_have_the_hashes_of_fnv() {
        assert_eq!(fnv(b""), 0x811c_9dc5);
        assert_eq!(Method::new("foobar").id(), 0xbf9c_f968);
        assert_eq!(Method::named("foobar").id(), Method::new("foobar").id());
        assert_eq!(format!("{:?} {:?}", Method::named("foobar"), Method::new("foobar")), "0xbf9cf968 foobar");
        assert!(Method::new("a").idempotent().is_idempotent() && !Method::new("a").is_idempotent());
    }
}
