//! The layouts of what heaps offer.

use super::{Layout, Shape, type_of};
use crate::heap::{Box, String, Vec};

// SAFETY: text of a heap is a reference to bytes that are UTF-8, as the shape says.
unsafe impl Layout for String {
    fn shape() -> Shape {
        Shape::Text
    }
}

// SAFETY: a vector is a reference to values in a row.
unsafe impl<T: Layout> Layout for Vec<T> {
    fn shape() -> Shape {
        Shape::Row(type_of::<T>())
    }
}

// SAFETY: a box is the address of its value, which is never zero, so that zero is the option without one.
unsafe impl<T: Layout> Layout for Option<Box<T>> {
    fn shape() -> Shape {
        Shape::Address(type_of::<T>())
    }
}
