//! The shim's functions. Functions that return an int return 0 or more, or a negative errno.

use super::*;

macro_rules! declare {
    ($($(#[$doc:meta])* fn $name:ident($($argument:ident: $type:ty),*) -> $result:ty;)*) => {
        unsafe extern "C" {
            $($(#[$doc])* pub fn $name($($argument: $type),*) -> $result;)*
        }
    };
}

with_functions!(declare);
