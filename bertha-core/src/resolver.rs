//! A way from names to addresses.

use crate::{Addr, BoxFuture, Error, Name};
use std::sync::Arc;

/// The most addresses of one name that are used; further ones are ignored.
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
    /// The addresses of `name` in order of preference, at most [`MAX_ADDRESSES`] of them. Cancellation-safe. The caller sets
    /// a time-out.
    ///
    /// # Errors
    /// * [`Invalid`](crate::ErrorKind::Invalid): no name of this resolver reads so.
    /// * [`Unreachable`](crate::ErrorKind::Unreachable): the name has no address, or its registry does not answer.
    fn resolve<'a>(&'a self, name: &'a Name) -> BoxFuture<'a, Result<Vec<Addr>, Error>>;
}

impl<R: Resolver + ?Sized> Resolver for Arc<R> {
    fn resolve<'a>(&'a self, name: &'a Name) -> BoxFuture<'a, Result<Vec<Addr>, Error>> {
        (**self).resolve(name)
    }
}
