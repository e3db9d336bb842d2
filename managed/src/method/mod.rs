//! Services and their methods as types.
#![allow(unsafe_code)]

mod macros;

use crate::layout::{Layout, type_of};
use bertha_core::{Error, ErrorKind};
use bertha_schemas::{Plan, Schema, Type};

/// A service that an application calls or serves, with its schema. [`service!`](crate::service!) implements it without `unsafe`.
///
/// # Safety
/// The types of each [`Method`] of the service are laid out as the plan of the [schema](Self::descriptors) says, and hold nothing that
/// another process could not have written: numbers, and what `bertha_datapath_shm::heap` offers. Of methods among the
/// [types](Self::types) nothing is promised: attaching checks them.
pub unsafe trait Service: Send + Sync + 'static {
    /// The full name of the service.
    const NAME: &'static str;

    /// Returns the schema, as a descriptor set of protobuf. It is always the same.
    fn descriptors() -> &'static [u8];

    /// Returns the types of methods, which attaching compares with the schema.
    fn types() -> &'static [Typed] {
        &[]
    }
}

/// A method of a service.
///
/// # Safety
/// The number is that of the method in the schema of the service, and the types are those of its request and its response, unless the
/// method is among the [types](Service::types) of the service.
pub unsafe trait Method {
    /// The service.
    type Service: Service;

    /// The message that the method takes.
    type Request: Send + Sync + 'static;

    /// The message that the method returns.
    type Response: Send + Sync + 'static;

    /// The name of the method.
    const NAME: &'static str;

    /// The place of the method among [those](bertha_schemas::Schema::methods) of the service's schema.
    const NUMBER: u32;
}

/// The name, the place and the types of a method, to be compared with the schema.
#[derive(Debug, Clone, Copy)]
pub struct Typed {
    name: &'static str,
    number: u32,
    request: Type,
    response: Type,
}

impl Typed {
    /// Returns the types of a method.
    pub const fn of<M: Method>() -> Self
    where
        M::Request: Layout,
        M::Response: Layout,
    {
        let (request, response) = (type_of::<M::Request>(), type_of::<M::Response>());
        Self { name: M::NAME, number: M::NUMBER, request, response }
    }

    /// Returns what is wrong with the method, if something is.
    fn fault(&self, service: &str, schema: &Schema, plan: &Plan) -> Option<String> {
        let Self { name, number, request, response } = *self;
        let method = schema.methods().get(number as usize);
        let Some(method) = method.filter(|method| method.name == name && method.service == service) else {
            return Some(format!("method {number} of the schema is not {service}.{name}"));
        };
        [(&method.request, request), (&method.response, response)].into_iter().find_map(|(message, of)| {
            let id = plan.message(message)?;
            let misfit = plan.check(id, of).err()?;
            Some(format!("the type of {message} is not as the schema says: {misfit}"))
        })
    }
}

/// Compares the types of a service's methods with its schema.
///
/// # Errors
/// [`Invalid`](ErrorKind::Invalid) with the first that does not suit. A schema that is none is the daemon's to refuse.
pub(crate) fn check<S: Service>() -> Result<(), Error> {
    let types = S::types();
    if types.is_empty() {
        return Ok(());
    }
    let schema =
        Schema::read(S::descriptors()).map_err(|fault| Error::new(ErrorKind::Invalid, fault.to_string()))?;
    let plan = Plan::new(&schema);
    let fault = types.iter().find_map(|typed| typed.fault(S::NAME, &schema, &plan));
    fault.map_or(Ok(()), |fault| Err(Error::new(ErrorKind::Invalid, fault)))
}
