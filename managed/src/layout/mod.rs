//! The layout of types of messages in memory, and the macros by which generated code states it without `unsafe` of its own.
//!
//! A message is read where the daemon has laid it, so its type has to be as the plan of the schema says. Two steps prove it. At
//! compile time [`layout!`](crate::layout!) asks the compiler for the size of a structure and the place of each field, and takes only fields whose types
//! are [`Layout`] themselves. When an application attaches, the shapes of the types of all methods that [`service!`](crate::service!) has are
//! compared with the schema, and a type that does not suit is refused before there is a message.
#![allow(unsafe_code)]

#[cfg(all(target_pointer_width = "64", target_endian = "little"))]
mod heaps;
mod macros;

use bertha_schemas::Type;
pub use bertha_schemas::{Part, Shape};

/// A type of which messages consist.
///
/// # Safety
/// The shape tells all of each value of the type: it has no bytes without a value and no interior mutability, and a value of this shape
/// that another process has written is one of the type.
pub unsafe trait Layout: Sized + Send + Sync + 'static {
    /// Returns the shape of the values.
    fn shape() -> Shape;
}

/// Returns the description of a type.
pub(crate) const fn type_of<T: Layout>() -> Type {
    Type::of::<T>(T::shape)
}

/// Returns the part of a structure that is a field of a type, for [`layout!`](crate::layout!).
pub const fn part<T: Layout>(name: &'static str, at: usize) -> Part {
    Part { name, at, of: type_of::<T>() }
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
