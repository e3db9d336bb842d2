//! The sixteen digits and the table of their equality.
//!
//! It is a table, since without specialisation an impl can't say "and any other digit".

use super::{False, Same, True};

macro_rules! digits {
    ($($digit:ident)*) => {
        $(
            #[doc = concat!("The hexadecimal digit in `", stringify!($digit), "`.")]
            #[derive(Debug)]
            pub enum $digit {}
        )*
    };
}

/// Makes each digit in front of `|` unequal to the digits behind it, and equal to itself.
macro_rules! equality {
    ($($before:ident)* | $digit:ident $($after:ident)*) => {
        impl Same<$digit> for $digit {
            type Is = True;
        }
        $(impl Same<$before> for $digit {
            type Is = False;
        })*
        $(impl Same<$after> for $digit {
            type Is = False;
        })*
        equality!($($before)* $digit | $($after)*);
    };
    ($($before:ident)* |) => {};
}

digits!(D0 D1 D2 D3 D4 D5 D6 D7 D8 D9 DA DB DC DD DE DF);
equality!(| D0 D1 D2 D3 D4 D5 D6 D7 D8 D9 DA DB DC DD DE DF);
