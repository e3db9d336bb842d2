//! The compiler's advice for a connection that an application wants to clone.
//!
//! Without an implementation of `Clone` the compiler takes `clone` for a misspelt `close`, and suggests it.

/// Implemented by no connection: the bound of the implementations of `Clone`, which only exist for their message.
#[diagnostic::on_unimplemented(
    message = "a connection is shared, and not cloned: put it into an `Arc`",
    label = "share the connection by `Arc::new(connection)`, and clone the `Arc`",
    note = "all calls of a connection take `&self`, so tasks can send and receive at the same time"
)]
#[doc(hidden)]
pub trait ClonedConnection {
    fn cloned(&self) -> Self;
}

/// Makes the compiler give this advice for a type of connections.
macro_rules! uncloned {
    ($connection:ident<$stack:ident $(: $bound:path)?>) => {
        #[doc(hidden)]
        impl<$stack $(: $bound)?> Clone for $connection<$stack>
        where
            Self: $crate::uncloned::ClonedConnection,
        {
            fn clone(&self) -> Self {
                $crate::uncloned::ClonedConnection::cloned(self)
            }
        }
    };
}
pub(crate) use uncloned;
