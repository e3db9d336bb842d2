//! Stand-ins for the functions of Caladan where it is missing: each function fails.

#![allow(clippy::missing_safety_doc, reason = "these do nothing")]

use super::*;

/// The result of a function that finds nothing.
trait Nothing {
    const NOTHING: Self;
}

/// `-ENODEV`, as Caladan would return it.
impl Nothing for c_int {
    const NOTHING: Self = -19;
}

impl Nothing for isize {
    const NOTHING: Self = -19;
}

impl Nothing for () {
    const NOTHING: Self = ();
}

impl Nothing for bool {
    const NOTHING: Self = false;
}

impl Nothing for u64 {
    const NOTHING: Self = 0;
}

impl Nothing for c_uint {
    const NOTHING: Self = 0;
}

impl Nothing for *mut c_void {
    const NOTHING: Self = std::ptr::null_mut();
}

macro_rules! stand_in {
    ($($(#[$doc:meta])* fn $name:ident($($argument:ident: $type:ty),*) -> $result:ty;)*) => {
        $($(#[$doc])* pub unsafe fn $name($(_: $type),*) -> $result { <$result>::NOTHING })*
    };
}

with_functions!(stand_in);
