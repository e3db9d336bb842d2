//! The macros that generated code calls. What they write is `unsafe`, and stands in for its own proof, so that a crate which forbids
//! `unsafe_code` may call them: the compiler looks for it in code of the crate itself.

/// States that a structure is a [`Layout`](crate::layout::Layout), with its size, the place of each field, and the field's type.
///
/// The compiler checks all of it: a field that is left out, one of another type or at another place, bytes between fields, and a type that is
/// no `Layout`, are errors. The order of the fields makes no difference.
///
/// ```
/// #![forbid(unsafe_code)]
/// use bertha_managed::heap;
///
/// #[repr(C, align(8))]
/// struct Reservation {
///     customer: heap::String,
///     nights: i32,
///     _padding: [u8; 4],
/// }
///
/// bertha_managed::layout!(Reservation: 24 { 0 customer: heap::String, 16 nights: i32, 20 _padding: [u8; 4] });
/// ```
///
/// A place that is wrong, a field that is left out, one of another type, bytes without a value, and a type that is no layout:
/// ```compile_fail,E0080
/// #[repr(C, align(8))]
/// struct Pair(u32, u32);
/// bertha_managed::layout!(Pair: 8 { 4 0: u32, 0 1: u32 });
/// ```
/// ```compile_fail,E0027
/// #[repr(C, align(8))]
/// struct Pair(u32, u32);
/// bertha_managed::layout!(Pair: 8 { 0 0: [u32; 2] });
/// ```
/// ```compile_fail,E0308
/// #[repr(C, align(8))]
/// struct Text(bertha_managed::heap::Vec<u8>);
/// bertha_managed::layout!(Text: 16 { 0 0: bertha_managed::heap::String });
/// ```
/// ```compile_fail,E0080
/// #[repr(C, align(8))]
/// struct Gap(u32);
/// bertha_managed::layout!(Gap: 8 { 0 0: u32 });
/// ```
/// ```compile_fail,E0277
/// #[repr(C, align(8))]
/// struct Cell(std::sync::atomic::AtomicU64);
/// bertha_managed::layout!(Cell: 8 { 0 0: std::sync::atomic::AtomicU64 });
/// ```
#[macro_export]
macro_rules! layout {
    ($message:ident: $size:literal { $($at:literal $field:tt: $of:ty),* $(,)? }) => {
        // SAFETY: the assertions below hold, or nothing is compiled: the fields are all there are, have these types, which are layouts,
        // lie at these places, and fill the structure. So its shape is that of its fields, and it has neither bytes without a value nor
        // interior mutability, as they have none.
        unsafe impl $crate::layout::Layout for $message {
            fn shape() -> $crate::layout::Shape {
                const PARTS: &[$crate::layout::Part] =
                    &[$($crate::layout::part::<$of>(::core::stringify!($field), $at)),*];
                $crate::layout::Shape::Structure($size, PARTS)
            }
        }

        const _: () = {
            ::core::assert!(::core::mem::size_of::<$message>() == $size);
            ::core::assert!(::core::mem::align_of::<$message>() == 8);
            $(::core::assert!(::core::mem::offset_of!($message, $field) == $at);)*
            // Fields do not overlap, so those of this size in all leave no byte out.
            ::core::assert!($size == 0 $(+ ::core::mem::size_of::<$of>())*);
        };

        const _: fn(&$message) = |message| {
            // All fields are named.
            let $message { $($field: _),* } = message;
            // A pointer has the very type: a reference could become one to what its type dereferences to.
            $(
                let field = ::core::ptr::from_ref(&message.$field);
                let _: *const $of = field;
            )*
            let _ = message;
        };
    };
}

/// States that a structure around an `i32` is a [`Layout`](crate::layout::Layout), as an enumeration of a schema is.
///
/// ```
/// #![forbid(unsafe_code)]
/// #[repr(transparent)]
/// struct Kind(pub i32);
///
/// bertha_managed::enumeration!(Kind);
/// ```
///
/// A structure of another number, or around more than one:
/// ```compile_fail,E0308
/// #[repr(transparent)]
/// struct Kind(std::num::NonZero<i32>);
/// bertha_managed::enumeration!(Kind);
/// ```
/// ```compile_fail,E0023
/// struct Kind(i32, ());
/// bertha_managed::enumeration!(Kind);
/// ```
#[macro_export]
macro_rules! enumeration {
    ($enumeration:ident) => {
        // SAFETY: below is checked that the structure is around an `i32` alone, and has its size, so it is one in memory.
        unsafe impl $crate::layout::Layout for $enumeration {
            fn shape() -> $crate::layout::Shape {
                $crate::layout::Shape::Numbers(::core::mem::size_of::<i32>())
            }
        }

        const _: () =
            ::core::assert!(::core::mem::size_of::<$enumeration>() == ::core::mem::size_of::<i32>());

        const _: fn(&$enumeration) = |enumeration| {
            let $enumeration(_) = enumeration;
            let number = ::core::ptr::from_ref(&enumeration.0);
            let _: *const i32 = number;
        };
    };
}
