//! Stand-ins for the functions of DPDK where it is missing: each function fails.

#![allow(clippy::missing_safety_doc, reason = "these do nothing")]

use super::*;

/// The result of a function that finds nothing.
trait Nothing {
    const NOTHING: Self;
}

/// `-ENODEV`, as the shim would return it.
impl Nothing for c_int {
    const NOTHING: Self = -19;
}

impl Nothing for () {
    const NOTHING: Self = ();
}

impl Nothing for usize {
    const NOTHING: Self = 0;
}

impl Nothing for c_uint {
    const NOTHING: Self = 0;
}

impl Nothing for u16 {
    const NOTHING: Self = 0;
}

impl Nothing for *mut Mbuf {
    const NOTHING: Self = std::ptr::null_mut();
}

impl Nothing for *const c_char {
    const NOTHING: Self = c"no DPDK".as_ptr();
}

macro_rules! stand_in {
    ($($(#[$doc:meta])* fn $name:ident($($argument:ident: $type:ty),*) -> $result:ty;)*) => {
        $($(#[$doc])* pub unsafe fn $name($(_: $type),*) -> $result { <$result>::NOTHING })*
    };
}

with_functions!(stand_in);
