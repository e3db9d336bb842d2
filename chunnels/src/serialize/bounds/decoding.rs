//! Decoding within bounds: whatever leads to a value within a value is passed on in [`Nested`].

use super::{DEPTH, EMPTY_ELEMENTS, Exceeded};
use serde::de::{
    DeserializeSeed, Deserializer, EnumAccess, Error, MapAccess, SeqAccess, VariantAccess, Visitor,
};
use std::cell::Cell;
use std::fmt;
use std::marker::PhantomData;

/// The elements that the sequences and maps of a message may still have.
#[derive(Debug)]
pub(in crate::serialize) struct Elements(Cell<usize>);

impl Elements {
    /// Makes the bounds of a message of this many bytes.
    #[inline(always)]
    pub(in crate::serialize) fn of_bytes(length: usize) -> Self {
        Self(Cell::new(length.saturating_add(EMPTY_ELEMENTS)))
    }
}

/// A deserializer, visitor, access or seed at a level of a message: all of them lead to values within values.
#[derive(Debug)]
pub(in crate::serialize) struct Nested<'m, I> {
    inner: I,
    level: Level<'m>,
}

impl<'m, T> Nested<'m, PhantomData<T>> {
    /// Returns the seed of a whole message.
    #[inline(always)]
    pub(in crate::serialize) fn message(elements: &'m Elements) -> Self {
        Level { below: DEPTH, elements }.around(PhantomData)
    }
}

/// A place in a message.
#[derive(Debug, Clone, Copy)]
struct Level<'m> {
    /// The levels that may be below it.
    below: u8,
    elements: &'m Elements,
}

impl<'m> Level<'m> {
    #[inline(always)]
    fn around<I>(self, inner: I) -> Nested<'m, I> {
        Nested { inner, level: self }
    }

    /// Returns the level of a value within this value.
    #[inline(always)]
    fn deeper<E: Error>(self) -> Result<Self, E> {
        match self.below.checked_sub(1) {
            Some(below) => Ok(Self { below, ..self }),
            None => Err(exceeded(Exceeded::Depth)),
        }
    }

    /// Counts the elements of a sequence or map, all at once. Both codecs tell their number.
    #[inline(always)]
    fn count<E: Error>(self, announced: Option<usize>) -> Result<(), E> {
        let Elements(left) = self.elements;
        match announced.and_then(|announced| left.get().checked_sub(announced)) {
            Some(rest) => left.set(rest),
            None => return Err(exceeded(Exceeded::Elements)),
        }
        Ok(())
    }
}

// Out of line, so that the functions which may fail stay short enough to be inlined.
#[cold]
#[inline(never)]
fn exceeded<E: Error>(bound: Exceeded) -> E {
    E::custom(bound)
}

/// Passes methods for values without values in them on as they are.
macro_rules! plain {
    ($($method:ident)*) => {
        $(
            #[inline(always)]
            fn $method<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Self::Error> {
                self.inner.$method(visitor)
            }
        )*
    };
}

/// Passes methods for values that hold values on one level deeper, with the visitor in [`Nested`].
macro_rules! nesting {
    ($($method:ident($($name:ident: $argument:ty),*))*) => {
        $(
            #[inline(always)]
            fn $method<V: Visitor<'de>>(self, $($name: $argument,)* visitor: V) -> Result<V::Value, Self::Error> {
                let level = self.level.deeper()?;
                self.inner.$method($($name,)* level.around(visitor))
            }
        )*
    };
}

impl<'de, D: Deserializer<'de>> Deserializer<'de> for Nested<'_, D> {
    type Error = D::Error;

    plain! {
        deserialize_bool
        deserialize_i8 deserialize_i16 deserialize_i32 deserialize_i64 deserialize_i128
        deserialize_u8 deserialize_u16 deserialize_u32 deserialize_u64 deserialize_u128
        deserialize_f32 deserialize_f64 deserialize_char
        deserialize_str deserialize_string deserialize_bytes deserialize_byte_buf
        deserialize_unit deserialize_identifier
    }

    nesting! {
        deserialize_any()
        deserialize_ignored_any()
        deserialize_option()
        deserialize_newtype_struct(name: &'static str)
        deserialize_tuple(length: usize)
        deserialize_tuple_struct(name: &'static str, length: usize)
        deserialize_struct(name: &'static str, fields: &'static [&'static str])
        deserialize_enum(name: &'static str, variants: &'static [&'static str])
    }

    #[inline(always)]
    fn deserialize_unit_struct<V: Visitor<'de>>(
        self,
        name: &'static str,
        visitor: V,
    ) -> Result<V::Value, Self::Error> {
        self.inner.deserialize_unit_struct(name, visitor)
    }

    #[inline(always)]
    fn deserialize_seq<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Self::Error> {
        let level = self.level.deeper()?;
        self.inner.deserialize_seq(level.around(Counted(visitor)))
    }

    #[inline(always)]
    fn deserialize_map<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Self::Error> {
        let level = self.level.deeper()?;
        self.inner.deserialize_map(level.around(Counted(visitor)))
    }

    #[inline(always)]
    fn is_human_readable(&self) -> bool {
        self.inner.is_human_readable()
    }
}

/// The visitor of a type that holds values. The methods for plain values are left out: neither codec calls them there.
impl<'de, V: Visitor<'de>> Visitor<'de> for Nested<'_, V> {
    type Value = V::Value;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.inner.expecting(f)
    }

    #[inline(always)]
    fn visit_none<E: Error>(self) -> Result<V::Value, E> {
        self.inner.visit_none()
    }

    #[inline(always)]
    fn visit_some<D: Deserializer<'de>>(self, deserializer: D) -> Result<V::Value, D::Error> {
        self.inner.visit_some(self.level.around(deserializer))
    }

    #[inline(always)]
    fn visit_newtype_struct<D: Deserializer<'de>>(self, deserializer: D) -> Result<V::Value, D::Error> {
        self.inner.visit_newtype_struct(self.level.around(deserializer))
    }

    #[inline(always)]
    fn visit_seq<A: SeqAccess<'de>>(self, elements: A) -> Result<V::Value, A::Error> {
        self.inner.visit_seq(self.level.around(elements))
    }

    #[inline(always)]
    fn visit_enum<A: EnumAccess<'de>>(self, variants: A) -> Result<V::Value, A::Error> {
        self.inner.visit_enum(self.level.around(variants))
    }
}

/// The visitor of a sequence or map whose length is in the message.
struct Counted<V>(V);

impl<'de, V: Visitor<'de>> Visitor<'de> for Nested<'_, Counted<V>> {
    type Value = V::Value;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.inner.0.expecting(f)
    }

    #[inline(always)]
    fn visit_seq<A: SeqAccess<'de>>(self, elements: A) -> Result<V::Value, A::Error> {
        self.level.count(elements.size_hint())?;
        self.inner.0.visit_seq(self.level.around(elements))
    }

    #[inline(always)]
    fn visit_map<A: MapAccess<'de>>(self, entries: A) -> Result<V::Value, A::Error> {
        self.level.count(entries.size_hint())?;
        self.inner.0.visit_map(self.level.around(entries))
    }
}

impl<'de, A: SeqAccess<'de>> SeqAccess<'de> for Nested<'_, A> {
    type Error = A::Error;

    #[inline(always)]
    fn next_element_seed<S: DeserializeSeed<'de>>(&mut self, seed: S) -> Result<Option<S::Value>, A::Error> {
        self.inner.next_element_seed(self.level.around(seed))
    }

    #[inline(always)]
    fn size_hint(&self) -> Option<usize> {
        self.inner.size_hint()
    }
}

impl<'de, A: MapAccess<'de>> MapAccess<'de> for Nested<'_, A> {
    type Error = A::Error;

    #[inline(always)]
    fn next_key_seed<S: DeserializeSeed<'de>>(&mut self, seed: S) -> Result<Option<S::Value>, A::Error> {
        self.inner.next_key_seed(self.level.around(seed))
    }

    #[inline(always)]
    fn next_value_seed<S: DeserializeSeed<'de>>(&mut self, seed: S) -> Result<S::Value, A::Error> {
        self.inner.next_value_seed(self.level.around(seed))
    }

    #[inline(always)]
    fn size_hint(&self) -> Option<usize> {
        self.inner.size_hint()
    }
}

impl<'de, 'b, A: EnumAccess<'de>> EnumAccess<'de> for Nested<'b, A> {
    type Error = A::Error;
    type Variant = Nested<'b, A::Variant>;

    #[inline(always)]
    fn variant_seed<S: DeserializeSeed<'de>>(self, seed: S) -> Result<(S::Value, Self::Variant), A::Error> {
        let (name, content) = self.inner.variant_seed(seed)?;
        Ok((name, self.level.around(content)))
    }
}

impl<'de, A: VariantAccess<'de>> VariantAccess<'de> for Nested<'_, A> {
    type Error = A::Error;

    #[inline(always)]
    fn unit_variant(self) -> Result<(), A::Error> {
        self.inner.unit_variant()
    }

    #[inline(always)]
    fn newtype_variant_seed<S: DeserializeSeed<'de>>(self, seed: S) -> Result<S::Value, A::Error> {
        self.inner.newtype_variant_seed(self.level.around(seed))
    }

    #[inline(always)]
    fn tuple_variant<V: Visitor<'de>>(self, length: usize, visitor: V) -> Result<V::Value, A::Error> {
        self.inner.tuple_variant(length, self.level.around(visitor))
    }

    #[inline(always)]
    fn struct_variant<V: Visitor<'de>>(
        self,
        fields: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, A::Error> {
        self.inner.struct_variant(fields, self.level.around(visitor))
    }
}

/// A value within a value.
impl<'de, S: DeserializeSeed<'de>> DeserializeSeed<'de> for Nested<'_, S> {
    type Value = S::Value;

    #[inline(always)]
    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<S::Value, D::Error> {
        self.inner.deserialize(self.level.around(deserializer))
    }
}
