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

/// States that a type is a [`Service`](crate::Service) of this name and schema, and that others are its [methods](crate::Method), with their
/// places in the schema, their names, and the types of their requests and responses, which are [layouts](crate::layout::Layout).
///
/// Attaching compares the types with the schema, and fails for those that do not suit, before there is a message.
///
/// ```
/// #![forbid(unsafe_code)]
/// use bertha_managed::heap;
///
/// #[repr(C, align(8))]
/// struct Name {
///     name: heap::String,
/// }
/// bertha_managed::layout!(Name: 16 { 0 name: heap::String });
///
/// # const DESCRIPTORS: &[u8] = &[];
/// struct Greeter;
/// struct Greet;
/// bertha_managed::service! {
///     Greeter: "greetings.Greeter", DESCRIPTORS;
///     Greet: 0 "Greet" Name => Name;
/// }
/// ```
///
/// A type that is no layout is no request:
/// ```compile_fail,E0277
/// struct Greeter;
/// struct Greet;
/// bertha_managed::service! {
///     Greeter: "greetings.Greeter", &[];
///     Greet: 0 "Greet" String => u32;
/// }
/// ```
#[macro_export]
macro_rules! service {
    (
        $service:ident: $name:literal, $descriptors:expr;
        $($method:ident: $number:literal $called:literal $request:ty => $response:ty;)*
    ) => {
        // SAFETY: the types of these methods are compared with the schema by each that attaches, and other methods promise theirs. The schema
        // is a constant.
        unsafe impl $crate::Service for $service {
            const NAME: &'static str = $name;

            fn descriptors() -> &'static [u8] {
                const { $descriptors }
            }

            fn types() -> &'static [$crate::Typed] {
                const TYPES: &[$crate::Typed] = &[$($crate::Typed::of::<$method>()),*];
                TYPES
            }
        }

        $(
            // SAFETY: the service has the method among its types, which are compared with the schema, as the name and the place are.
            unsafe impl $crate::Method for $method {
                type Service = $service;
                type Request = $request;
                type Response = $response;

                const NAME: &'static str = $called;
                const NUMBER: u32 = $number;
            }
        )*
    };
}
