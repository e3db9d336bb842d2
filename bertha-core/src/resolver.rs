//! A way from names to addresses.

use crate::{Addr, BoxFuture, Error, Name};
use std::sync::Arc;

/// Maximum number of addresses of one name that are used; further addresses are ignored.
pub const MAX_ADDRESSES: usize = 64;

/// Turns names into addresses: a list, the domain name system, a registry of services.
///
/// ```
/// use bertha_core::{Addr, BoxFuture, Error, ErrorKind, Name, Resolver};
///
/// /// Knows this machine alone.
/// struct Loopback;
///
/// impl Resolver for Loopback {
///     fn resolve<'a>(&'a self, name: &'a Name) -> BoxFuture<'a, Result<Vec<Addr>, Error>> {
///         Box::pin(async move {
///             let port = name.port().ok_or_else(|| Error::new(ErrorKind::Invalid, "a port is missing"))?;
///             Ok(vec![Addr::from(([127, 0, 0, 1], port))])
///         })
///     }
/// }
/// ```
pub trait Resolver: Send + Sync {
    /// Returns the addresses of `name` in order of preference, at most [`MAX_ADDRESSES`]. Cancellation-safe.
    /// The caller sets a time-out.
    ///
    /// # Errors
    /// * [`Invalid`](crate::ErrorKind::Invalid): the text is no name that this resolver understands.
    /// * [`Unreachable`](crate::ErrorKind::Unreachable): the name has no address, or its registry does not answer.
    fn resolve<'a>(&'a self, name: &'a Name) -> BoxFuture<'a, Result<Vec<Addr>, Error>>;
}

impl<R: Resolver + ?Sized> Resolver for Arc<R> {
    fn resolve<'a>(&'a self, name: &'a Name) -> BoxFuture<'a, Result<Vec<Addr>, Error>> {
        (**self).resolve(name)
    }
}
