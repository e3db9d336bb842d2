//! Decoding within bounds: whatever leads to a value within a value is passed on in [`Nested`].

use super::{DEPTH, Exceeded};
use serde::de::{
    DeserializeSeed, Deserializer, EnumAccess, Error, IgnoredAny, MapAccess, SeqAccess, VariantAccess,
    Visitor,
};
#[cfg(any(feature = "bincode", feature = "postcard"))]
use std::cell::Cell;
use std::fmt;
use std::marker::PhantomData;

/// The bound of the elements of a message.
pub(in crate::serialize) trait Bound: Copy {
    /// True for a format in which each element takes a byte, and nothing that a message announces is believed.
    const DESCRIBES_ITSELF: bool;

    /// Counts the elements of a sequence or map, all at once. Returns false if there are too many.
    fn count(self, announced: Option<usize>) -> bool;
}

/// The elements that the sequences and maps of a message may still have.
#[cfg(any(feature = "bincode", feature = "postcard"))]
#[derive(Debug)]
pub(in crate::serialize) struct Elements(Cell<usize>);

#[cfg(any(feature = "bincode", feature = "postcard"))]
impl Elements {
    /// Makes the bounds of a message of this many bytes.
    #[inline(always)]
    pub(in crate::serialize) fn of_bytes(length: usize) -> Self {
        Self(Cell::new(length.saturating_add(super::EMPTY_ELEMENTS)))
    }
}

#[cfg(any(feature = "bincode", feature = "postcard"))]
impl Bound for &Elements {
    const DESCRIBES_ITSELF: bool = false;

    // Both codecs tell the number.
    #[inline(always)]
    fn count(self, announced: Option<usize>) -> bool {
        let Elements(left) = self;
        match announced.and_then(|announced| left.get().checked_sub(announced)) {
            Some(rest) => {
                left.set(rest);
                true
            }
            None => false,
        }
    }
}

/// The bound of formats that describe themselves: elements end where the bytes do, and memory is taken for each that has come.
#[cfg(any(feature = "cbor", feature = "messagepack", feature = "json"))]
#[derive(Debug, Clone, Copy)]
pub(in crate::serialize) struct Bytes;

#[cfg(any(feature = "cbor", feature = "messagepack", feature = "json"))]
impl Bound for Bytes {
    const DESCRIBES_ITSELF: bool = true;

    #[inline(always)]
    fn count(self, _: Option<usize>) -> bool {
        true
    }
}

/// A deserializer, visitor, access or seed at a level of a message: all of them lead to values within values.
#[derive(Debug)]
pub(in crate::serialize) struct Nested<B, I> {
    inner: I,
    level: Level<B>,
}

impl<B, T> Nested<B, PhantomData<T>> {
    /// Returns the seed of a whole message.
    #[inline(always)]
    pub(in crate::serialize) fn message(elements: B) -> Self {
        Level { below: DEPTH, elements }.around(PhantomData)
    }
}

/// A place in a message.
#[derive(Debug, Clone, Copy)]
struct Level<B> {
    /// The levels that may be below it.
    below: u8,
    elements: B,
}

impl<B> Level<B> {
    #[inline(always)]
    fn around<I>(self, inner: I) -> Nested<B, I> {
        Nested { inner, level: self }
    }
}

impl<B: Bound> Level<B> {
    /// Returns the level of a value within this value.
    #[inline(always)]
    fn deeper<E: Error>(self) -> Result<Self, E> {
        match self.below.checked_sub(1) {
            Some(below) => Ok(Self { below, ..self }),
            None => Err(exceeded(Exceeded::Depth)),
        }
    }

    #[inline(always)]
    fn count<E: Error>(self, announced: Option<usize>) -> Result<(), E> {
        if self.elements.count(announced) { Ok(()) } else { Err(exceeded(Exceeded::Elements)) }
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
                self.inner.$method($($name,)* level.around(Values::<_, false>(visitor)))
            }
        )*
    };
}

impl<'de, B: Bound, D: Deserializer<'de>> Deserializer<'de> for Nested<B, D> {
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
        self.inner.deserialize_seq(level.around(Values::<_, true>(visitor)))
    }

    #[inline(always)]
    fn deserialize_map<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Self::Error> {
        let level = self.level.deeper()?;
        self.inner.deserialize_map(level.around(Values::<_, true>(visitor)))
    }

    #[inline(always)]
    fn is_human_readable(&self) -> bool {
        self.inner.is_human_readable()
    }
}

/// The visitor of a type that holds values. It counts the elements of a sequence or map whose length is in the message.
struct Values<V, const COUNTED: bool>(V);

/// Passes the methods of visitors for values without values in them on as they are.
macro_rules! plain_values {
    ($($method:ident($value:ty))*) => {
        $(
            #[inline(always)]
            fn $method<E: Error>(self, value: $value) -> Result<V::Value, E> {
                self.inner.0.$method(value)
            }
        )*
    };
}

impl<'de, B: Bound, V: Visitor<'de>, const COUNTED: bool> Visitor<'de> for Nested<B, Values<V, COUNTED>> {
    type Value = V::Value;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.inner.0.expecting(f)
    }

    // Formats that describe themselves call them where they ask nobody for the type.
    plain_values! {
        visit_bool(bool)
        visit_i8(i8) visit_i16(i16) visit_i32(i32) visit_i64(i64) visit_i128(i128)
        visit_u8(u8) visit_u16(u16) visit_u32(u32) visit_u64(u64) visit_u128(u128)
        visit_f32(f32) visit_f64(f64) visit_char(char)
        visit_str(&str) visit_borrowed_str(&'de str) visit_string(String)
        visit_bytes(&[u8]) visit_borrowed_bytes(&'de [u8]) visit_byte_buf(Vec<u8>)
    }

    #[inline(always)]
    fn visit_unit<E: Error>(self) -> Result<V::Value, E> {
        self.inner.0.visit_unit()
    }

    #[inline(always)]
    fn visit_none<E: Error>(self) -> Result<V::Value, E> {
        self.inner.0.visit_none()
    }

    #[inline(always)]
    fn visit_some<D: Deserializer<'de>>(self, deserializer: D) -> Result<V::Value, D::Error> {
        self.inner.0.visit_some(self.level.around(deserializer))
    }

    #[inline(always)]
    fn visit_newtype_struct<D: Deserializer<'de>>(self, deserializer: D) -> Result<V::Value, D::Error> {
        self.inner.0.visit_newtype_struct(self.level.around(deserializer))
    }

    #[inline(always)]
    fn visit_seq<A: SeqAccess<'de>>(self, elements: A) -> Result<V::Value, A::Error> {
        if COUNTED {
            self.level.count(elements.size_hint())?;
        }
        if !B::DESCRIBES_ITSELF {
            return self.inner.0.visit_seq(self.level.around(elements));
        }
        let mut elements = Ending::new(elements);
        let value = self.inner.0.visit_seq(self.level.around(&mut elements))?;
        elements.ended(|left| Ok(self.level.around(left).next_element::<IgnoredAny>()?.is_none()))?;
        Ok(value)
    }

    #[inline(always)]
    fn visit_map<A: MapAccess<'de>>(self, entries: A) -> Result<V::Value, A::Error> {
        if COUNTED {
            self.level.count(entries.size_hint())?;
        }
        if !B::DESCRIBES_ITSELF {
            return self.inner.0.visit_map(self.level.around(entries));
        }
        let mut entries = Ending::new(entries);
        let value = self.inner.0.visit_map(self.level.around(&mut entries))?;
        entries.ended(|left| Ok(self.level.around(left).next_key::<IgnoredAny>()?.is_none()))?;
        Ok(value)
    }

    #[inline(always)]
    fn visit_enum<A: EnumAccess<'de>>(self, variants: A) -> Result<V::Value, A::Error> {
        self.inner.0.visit_enum(self.level.around(variants))
    }
}

/// The elements of a value, which knows after its last element that it has ended. A tuple asks for as many elements as it has, and not every
/// format sees that there are more, and would take them for what follows.
struct Ending<A> {
    inner: A,
    has_ended: bool,
}

impl<A> Ending<A> {
    #[inline(always)]
    fn new(inner: A) -> Self {
        Self { inner, has_ended: false }
    }

    /// Fails if elements are left, which `has_none` finds out.
    #[inline(always)]
    fn ended<E: Error>(self, has_none: impl FnOnce(A) -> Result<bool, E>) -> Result<(), E> {
        if self.has_ended || has_none(self.inner)? { Ok(()) } else { Err(left_over()) }
    }
}

#[cold]
#[inline(never)]
fn left_over<E: Error>() -> E {
    E::custom("there are more elements than the type has")
}

impl<'de, A: SeqAccess<'de>> SeqAccess<'de> for Ending<A> {
    type Error = A::Error;

    #[inline(always)]
    fn next_element_seed<S: DeserializeSeed<'de>>(&mut self, seed: S) -> Result<Option<S::Value>, A::Error> {
        let element = self.inner.next_element_seed(seed)?;
        self.has_ended = element.is_none();
        Ok(element)
    }
}

impl<'de, A: MapAccess<'de>> MapAccess<'de> for Ending<A> {
    type Error = A::Error;

    #[inline(always)]
    fn next_key_seed<S: DeserializeSeed<'de>>(&mut self, seed: S) -> Result<Option<S::Value>, A::Error> {
        let key = self.inner.next_key_seed(seed)?;
        self.has_ended = key.is_none();
        Ok(key)
    }

    #[inline(always)]
    fn next_value_seed<S: DeserializeSeed<'de>>(&mut self, seed: S) -> Result<S::Value, A::Error> {
        self.inner.next_value_seed(seed)
    }
}

impl<'de, B: Bound, A: SeqAccess<'de>> SeqAccess<'de> for Nested<B, A> {
    type Error = A::Error;

    #[inline(always)]
    fn next_element_seed<S: DeserializeSeed<'de>>(&mut self, seed: S) -> Result<Option<S::Value>, A::Error> {
        self.inner.next_element_seed(self.level.around(seed))
    }

    #[inline(always)]
    fn size_hint(&self) -> Option<usize> {
        if B::DESCRIBES_ITSELF { None } else { self.inner.size_hint() }
    }
}

impl<'de, B: Bound, A: MapAccess<'de>> MapAccess<'de> for Nested<B, A> {
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
        if B::DESCRIBES_ITSELF { None } else { self.inner.size_hint() }
    }
}

impl<'de, B: Bound, A: EnumAccess<'de>> EnumAccess<'de> for Nested<B, A> {
    type Error = A::Error;
    type Variant = Nested<B, A::Variant>;

    #[inline(always)]
    fn variant_seed<S: DeserializeSeed<'de>>(self, seed: S) -> Result<(S::Value, Self::Variant), A::Error> {
        let (name, content) = self.inner.variant_seed(seed)?;
        Ok((name, self.level.around(content)))
    }
}

impl<'de, B: Bound, A: VariantAccess<'de>> VariantAccess<'de> for Nested<B, A> {
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
        self.inner.tuple_variant(length, self.level.around(Values::<_, false>(visitor)))
    }

    #[inline(always)]
    fn struct_variant<V: Visitor<'de>>(
        self,
        fields: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, A::Error> {
        self.inner.struct_variant(fields, self.level.around(Values::<_, false>(visitor)))
    }
}

/// A value within a value.
impl<'de, B: Bound, S: DeserializeSeed<'de>> DeserializeSeed<'de> for Nested<B, S> {
    type Value = S::Value;

    #[inline(always)]
    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<S::Value, D::Error> {
        self.inner.deserialize(self.level.around(deserializer))
    }
}
