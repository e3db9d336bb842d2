//! Settings that are made in one expression.

/// Gives a struct of settings a method for each of its fields, which returns the settings with another value.
///
/// ```
/// use bertha_core::setters;
///
/// #[derive(Default)]
/// #[non_exhaustive]
/// pub struct Settings {
///     /// Number of clients at once.
///     pub clients: usize,
///     /// Bytes of a message.
///     pub message: usize,
/// }
///
/// setters!(Settings { clients: usize, message: usize });
///
/// let settings = Settings::default().clients(10);
/// assert_eq!((settings.clients, settings.message), (10, 0));
/// ```
#[macro_export]
macro_rules! setters {
    ($name:ident { $($field:ident: $type:ty),+ $(,)? }) => {
        impl $name {
            $(
                #[doc = ::core::concat!(
                    "Returns the settings with another [`", ::core::stringify!($field), "`](field@Self::",
                    ::core::stringify!($field), ")."
                )]
                #[must_use]
                pub fn $field(mut self, $field: $type) -> Self {
                    self.$field = $field;
                    self
                }
            )+
        }
    };
}
