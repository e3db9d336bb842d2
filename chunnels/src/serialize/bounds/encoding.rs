//! Encoding within the depth that the other end decodes. Elements without bytes are counted there alone.

use super::{DEPTH, Exceeded};
use serde::ser::{
    Error, Serialize, SerializeMap, SerializeSeq, SerializeStruct, SerializeStructVariant, SerializeTuple,
    SerializeTupleStruct, SerializeTupleVariant, Serializer,
};
use std::fmt::Display;

/// A value at a level of a message, or the serializer for it.
#[derive(Debug)]
pub(in crate::serialize) struct NestedValue<I> {
    inner: I,
    level: Level,
}

impl<'a, T> NestedValue<&'a T> {
    /// Returns a whole message, as a value at the top level.
    #[inline(always)]
    pub(in crate::serialize) fn message(message: &'a T) -> Self {
        Level { below: DEPTH }.around(message)
    }
}

/// A place in a message.
#[derive(Debug, Clone, Copy)]
struct Level {
    /// The levels that may be below it.
    below: u8,
}

impl Level {
    #[inline(always)]
    fn around<I>(self, inner: I) -> NestedValue<I> {
        NestedValue { inner, level: self }
    }

    /// Returns the level of a value within this one.
    #[inline(always)]
    fn deeper<E: Error>(self) -> Result<Self, E> {
        match self.below.checked_sub(1) {
            Some(below) => Ok(Self { below }),
            None => Err(E::custom(Exceeded::Depth)),
        }
    }
}

/// Passes plain values on as they are.
macro_rules! plain {
    ($($method:ident($value:ty))*) => {
        $(
            #[inline(always)]
            fn $method(self, value: $value) -> Result<S::Ok, S::Error> {
                self.inner.$method(value)
            }
        )*
    };
}

/// Passes values that hold values on one level deeper.
macro_rules! nesting {
    ($($method:ident($($name:ident: $argument:ty),*) -> $compound:ident;)*) => {
        $(
            #[inline(always)]
            fn $method(self, $($name: $argument),*) -> Result<Self::$compound, S::Error> {
                let level = self.level.deeper()?;
                Ok(level.around(self.inner.$method($($name),*)?))
            }
        )*
    };
}

impl<S: Serializer> Serializer for NestedValue<S> {
    type Ok = S::Ok;
    type Error = S::Error;
    type SerializeSeq = NestedValue<S::SerializeSeq>;
    type SerializeTuple = NestedValue<S::SerializeTuple>;
    type SerializeTupleStruct = NestedValue<S::SerializeTupleStruct>;
    type SerializeTupleVariant = NestedValue<S::SerializeTupleVariant>;
    type SerializeMap = NestedValue<S::SerializeMap>;
    type SerializeStruct = NestedValue<S::SerializeStruct>;
    type SerializeStructVariant = NestedValue<S::SerializeStructVariant>;

    plain! {
        serialize_bool(bool)
        serialize_i8(i8) serialize_i16(i16) serialize_i32(i32) serialize_i64(i64) serialize_i128(i128)
        serialize_u8(u8) serialize_u16(u16) serialize_u32(u32) serialize_u64(u64) serialize_u128(u128)
        serialize_f32(f32) serialize_f64(f64) serialize_char(char)
        serialize_str(&str) serialize_bytes(&[u8]) serialize_unit_struct(&'static str)
    }

    nesting! {
        serialize_seq(length: Option<usize>) -> SerializeSeq;
        serialize_map(length: Option<usize>) -> SerializeMap;
        serialize_tuple(length: usize) -> SerializeTuple;
        serialize_tuple_struct(name: &'static str, length: usize) -> SerializeTupleStruct;
        serialize_tuple_variant(name: &'static str, index: u32, variant: &'static str, length: usize) -> SerializeTupleVariant;
        serialize_struct(name: &'static str, length: usize) -> SerializeStruct;
        serialize_struct_variant(name: &'static str, index: u32, variant: &'static str, length: usize) -> SerializeStructVariant;
    }

    #[inline(always)]
    fn serialize_none(self) -> Result<S::Ok, S::Error> {
        // A decoder counts an option before it knows whether it is empty, and an enum likewise.
        self.level.deeper()?;
        self.inner.serialize_none()
    }

    #[inline(always)]
    fn serialize_some<T: Serialize + ?Sized>(self, value: &T) -> Result<S::Ok, S::Error> {
        let level = self.level.deeper()?;
        self.inner.serialize_some(&level.around(value))
    }

    #[inline(always)]
    fn serialize_unit(self) -> Result<S::Ok, S::Error> {
        self.inner.serialize_unit()
    }

    #[inline(always)]
    fn serialize_unit_variant(
        self,
        name: &'static str,
        index: u32,
        variant: &'static str,
    ) -> Result<S::Ok, S::Error> {
        self.level.deeper()?;
        self.inner.serialize_unit_variant(name, index, variant)
    }

    #[inline(always)]
    fn serialize_newtype_struct<T: Serialize + ?Sized>(
        self,
        name: &'static str,
        value: &T,
    ) -> Result<S::Ok, S::Error> {
        let level = self.level.deeper()?;
        self.inner.serialize_newtype_struct(name, &level.around(value))
    }

    #[inline(always)]
    fn serialize_newtype_variant<T: Serialize + ?Sized>(
        self,
        name: &'static str,
        index: u32,
        variant: &'static str,
        value: &T,
    ) -> Result<S::Ok, S::Error> {
        let level = self.level.deeper()?;
        self.inner.serialize_newtype_variant(name, index, variant, &level.around(value))
    }

    #[inline(always)]
    fn collect_str<T: Display + ?Sized>(self, value: &T) -> Result<S::Ok, S::Error> {
        self.inner.collect_str(value)
    }

    #[inline(always)]
    fn is_human_readable(&self) -> bool {
        self.inner.is_human_readable()
    }
}

/// A value within a value.
impl<T: Serialize + ?Sized> Serialize for NestedValue<&T> {
    #[inline(always)]
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.inner.serialize(self.level.around(serializer))
    }
}

/// Passes the values in a compound value on, which stand at its level.
macro_rules! compound {
    ($($compound:ident { $($method:ident($($name:ident: $argument:ty)?));* })*) => {
        $(
            impl<A: $compound> $compound for NestedValue<A> {
                type Ok = A::Ok;
                type Error = A::Error;

                $(
                    #[inline(always)]
                    fn $method<T: Serialize + ?Sized>(&mut self, $($name: $argument,)? value: &T) -> Result<(), A::Error> {
                        self.inner.$method($($name,)? &self.level.around(value))
                    }
                )*

                #[inline(always)]
                fn end(self) -> Result<A::Ok, A::Error> {
                    self.inner.end()
                }
            }
        )*
    };
}

compound! {
    SerializeSeq { serialize_element() }
    SerializeTuple { serialize_element() }
    SerializeTupleStruct { serialize_field() }
    SerializeTupleVariant { serialize_field() }
    SerializeMap { serialize_key(); serialize_value() }
    SerializeStruct { serialize_field(name: &'static str) }
    SerializeStructVariant { serialize_field(name: &'static str) }
}
