//! The macro by which generated code states which methods a service has. As the macros of [`layout`](crate::layout), it writes `unsafe` that a crate
//! which forbids `unsafe_code` may call.

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
