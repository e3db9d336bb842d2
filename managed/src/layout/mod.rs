//! How types of messages lie in memory, and the macros by which generated code states it without `unsafe` of its own.
//!
//! A message is read where the daemon has laid it, so its type has to be as the plan of the schema says. Two steps prove it. At
//! compile time [`layout!`](crate::layout!) asks the compiler for the size of a structure and the place of each field, and takes only fields whose types
//! are [`Layout`] themselves. When an application attaches, the shapes of the types of all methods that [`service!`](crate::service!) has are
//! compared with the schema, and a type that does not suit is refused before there is a message.
#![allow(unsafe_code)]

#[cfg(all(target_pointer_width = "64", target_endian = "little"))]
mod heaps;
mod macros;

use crate::method::{Method, Service};
use bertha_core::{Error, ErrorKind};
pub use bertha_schemas::{Part, Shape};
use bertha_schemas::{Plan, Schema, Type};

/// A type of which messages consist.
///
/// # Safety
/// The shape tells all of each value of the type: it has no bytes without a value and no interior mutability, and a value of this shape
/// that another process has written is one of the type.
pub unsafe trait Layout: Sized + Send + Sync + 'static {
    /// Returns the shape of the values.
    fn shape() -> Shape;
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

/// Returns the description of a type.
const fn type_of<T: Layout>() -> Type {
    Type::of::<T>(T::shape)
}

/// Returns the part of a structure that is a field of a type, for [`layout!`](crate::layout!).
pub const fn part<T: Layout>(name: &'static str, at: usize) -> Part {
    Part { name, at, of: type_of::<T>() }
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

macro_rules! numbers {
    ($($number:ty),*) => {
        $(
            // SAFETY: a number has all bit patterns, and no others bytes.
            unsafe impl Layout for $number {
                fn shape() -> Shape {
                    Shape::Numbers(size_of::<Self>())
                }
            }

            // SAFETY: numbers stand next to each other.
            unsafe impl<const COUNT: usize> Layout for [$number; COUNT] {
                fn shape() -> Shape {
                    Shape::Numbers(size_of::<Self>())
                }
            }
        )*
    };
}

numbers!(u8, i32, u32, i64, u64, f32, f64);

// SAFETY: a bool is a byte that is zero or one.
unsafe impl Layout for bool {
    fn shape() -> Shape {
        Shape::Bool
    }
}
