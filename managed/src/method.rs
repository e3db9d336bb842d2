//! Services and their methods as types.
#![allow(unsafe_code)]

use crate::layout::Typed;

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
