//! `Debug` for types of which some fields are worth showing.

/// Implements [`Debug`](std::fmt::Debug) for a type of which some fields are worth showing.
///
/// The output omits all other fields, such as locks, keys and closures, and ends with `..`. The bounds of a
/// type parameter are names of traits, joined by `+`.
///
/// ```
/// use bertha_core::debug_fields;
/// use std::fmt::Debug;
///
/// struct Counted<Inner> {
///     inner: Inner,
///     sent: u64,
///     on_send: fn(),
/// }
///
/// debug_fields!(Counted<Inner: Debug> { inner, sent });
///
/// let counted = Counted { inner: "below", sent: 3, on_send: || {} };
/// assert_eq!(format!("{counted:?}"), r#"Counted { inner: "below", sent: 3, .. }"#);
/// ```
#[macro_export]
macro_rules! debug_fields {
    (
        $name:ident $(< $($parameter:ident $(: $bound:ident $(+ $further:ident)*)?),+ >)?
        { $($field:ident),* $(,)? }
    ) => {
        impl $(< $($parameter $(: $bound $(+ $further)*)?),+ >)? ::core::fmt::Debug
            for $name $(< $($parameter),+ >)?
        {
            fn fmt(&self, f: &mut ::core::fmt::Formatter<'_>) -> ::core::fmt::Result {
                f.debug_struct(::core::stringify!($name))
                    $(.field(::core::stringify!($field), &self.$field))*
                    .finish_non_exhaustive()
            }
        }
    };
}
