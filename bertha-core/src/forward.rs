//! Methods of a connection that only pass the call on.

/// Forwards methods of [`Connection`](crate::Connection) to the connection below: `forward!(self.inner => base, mtu, drain, close)` within
/// an `impl Connection`.
///
/// Each method returns the future from below, which costs nothing. A required method that is neither written nor named is an error of the
/// compiler, as without the macro. The place may be several fields away, `self.shared.inner`. The methods are `base`, `mtu`, `send`, `recv`,
/// `send_batch`, `recv_batch`, `drain` and `close`.
///
/// A Chunnel that holds messages back writes `drain` and `close` itself. A Chunnel that writes `send` does not forward `send_batch`, since a
/// forwarded burst would not go through that `send`; nor does a Chunnel that writes `recv` forward `recv_batch`.
///
/// ```
/// use bertha_core::{Buf, Connection, Error, forward};
/// use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
///
/// struct Counted<Inner> {
///     inner: Inner,
///     sent: AtomicU64,
/// }
///
/// impl<Inner: Connection<Data = Buf>> Connection for Counted<Inner> {
///     type Data = Buf;
///     type Base = Inner::Base;
///
///     forward!(self.inner => base, mtu, recv, recv_batch, drain, close);
///
///     fn send(&self, message: Buf) -> impl Future<Output = Result<(), Error>> + Send {
///         self.sent.fetch_add(1, Relaxed);
///         self.inner.send(message)
///     }
/// }
/// ```
///
/// A required method that was forgotten is missed:
///
/// ```compile_fail,E0046
/// # use bertha_core::{Buf, Connection, Error, forward};
/// # struct Same<Inner> { inner: Inner }
/// impl<Inner: Connection> Connection for Same<Inner> {
///     type Data = Inner::Data;
///     type Base = Inner::Base;
///
///     // Not `drain`.
///     forward!(self.inner => base, mtu, send, recv, send_batch, recv_batch, close);
/// }
/// ```
#[macro_export]
macro_rules! forward {
    ($self:ident $(. $field:tt)+ => $($method:ident),+ $(,)?) => {
        $crate::forward!(@each [$self $(. $field)+] $($method)+);
    };
    // `self` and the place go together, in one token tree: each method repeats it.
    (@each $place:tt $($method:ident)+) => {
        $($crate::forward!(@$method $place);)+
    };
    (@base [$self:ident $($place:tt)+]) => {
        #[inline]
        fn base(&$self) -> &Self::Base {
            $self $($place)+ .base()
        }
    };
    (@mtu [$self:ident $($place:tt)+]) => {
        #[inline]
        fn mtu(&$self) -> usize {
            $self $($place)+ .mtu()
        }
    };
    (@send [$self:ident $($place:tt)+]) => {
        #[inline]
        fn send(
            &$self,
            message: Self::Data,
        ) -> impl ::core::future::Future<Output = ::core::result::Result<(), $crate::Error>> + Send {
            $self $($place)+ .send(message)
        }
    };
    (@recv [$self:ident $($place:tt)+]) => {
        #[inline]
        fn recv(
            &$self,
        ) -> impl ::core::future::Future<Output = ::core::result::Result<Self::Data, $crate::Error>> + Send {
            $self $($place)+ .recv()
        }
    };
    (@send_batch [$self:ident $($place:tt)+]) => {
        #[inline]
        fn send_batch(
            &$self,
            messages: impl ::core::iter::Iterator<Item = Self::Data> + Send,
        ) -> impl ::core::future::Future<Output = ::core::result::Result<(), $crate::Error>> + Send {
            $self $($place)+ .send_batch(messages)
        }
    };
    (@recv_batch [$self:ident $($place:tt)+]) => {
        #[inline]
        fn recv_batch(
            &$self,
            into: &mut (impl ::core::iter::Extend<Self::Data> + Send),
            limit: usize,
        ) -> impl ::core::future::Future<Output = ::core::result::Result<usize, $crate::Error>> + Send {
            $self $($place)+ .recv_batch(into, limit)
        }
    };
    (@drain [$self:ident $($place:tt)+]) => {
        #[inline]
        fn drain(
            &$self,
        ) -> impl ::core::future::Future<Output = ::core::result::Result<(), $crate::Error>> + Send {
            $self $($place)+ .drain()
        }
    };
    (@close [$self:ident $($place:tt)+]) => {
        #[inline]
        fn close(
            &$self,
        ) -> impl ::core::future::Future<Output = ::core::result::Result<(), $crate::Error>> + Send {
            $self $($place)+ .close()
        }
    };
    (@$other:ident $place:tt) => {
        ::core::compile_error!(::core::concat!(
            "a connection does not forward `",
            ::core::stringify!($other),
            "`; expected any of `base`, `mtu`, `send`, `recv`, `send_batch`, `recv_batch`, `drain`, `close`"
        ));
    };
}
