//! What an application calls on its stack.

use crate::{
    Early, EarlyCache, Incoming, Link, Negotiated, Runs, Settings, Upgradable, connect, early, listen,
};
use bertha_core::{Addr, BoxStack, Chunnel, Connection, Datapath, Describe, Error};

/// A stack whose type is forgotten, for the datapath `D` and messages `T`; see [`Negotiate::boxed`].
pub type BoxedStack<D, T> = BoxStack<Link<<D as Datapath>::Connection>, T>;

/// Connecting and listening with a stack. Implemented for every stack and every single Chunnel.
pub trait Negotiate: Describe + Send + Sync {
    /// Connects to the server at `to` over `datapath`, agrees with it on a stack, and builds it.
    ///
    /// # Errors
    /// * [`Refused`](bertha_core::ErrorKind::Refused): no stack suits both ends; the text says which Chunnel and why.
    /// * [`Version`](bertha_core::ErrorKind::Version): the server speaks another version of the protocol.
    /// * [`TimedOut`](bertha_core::ErrorKind::TimedOut), [`Unreachable`](bertha_core::ErrorKind::Unreachable): there
    ///   is no server.
    /// * [`TooLarge`](bertha_core::ErrorKind::TooLarge): the offer doesn't fit into one message.
    /// * [`Invalid`](bertha_core::ErrorKind::Invalid): no alternative of the stack can hold over this datapath: a Chunnel
    ///   [needs](bertha_core::guarantee) what nothing below it guarantees, or the [floor](Settings::floor) can't be
    ///   reached. Nothing was sent.
    /// * Those of the datapath and of the Chunnels.
    fn connect<D>(
        &self,
        datapath: D,
        to: impl Into<Addr> + Send,
    ) -> impl Future<Output = Result<Negotiated<D::Out>, Error>> + Send
    where
        D: Runs<Self>,
    {
        self.connect_with(datapath, to, Settings::default())
    }

    /// As [`connect`](Self::connect), with other times and bounds.
    ///
    /// # Errors
    /// As for [`connect`](Self::connect).
    fn connect_with<D>(
        &self,
        datapath: D,
        to: impl Into<Addr> + Send,
        settings: Settings,
    ) -> impl Future<Output = Result<Negotiated<D::Out>, Error>> + Send
    where
        D: Runs<Self>,
    {
        let to = to.into();
        async move { connect::connect(self, datapath, to, settings).await }
    }

    /// Connects without waiting, over the stack that the server agreed to the last time: the first messages go out
    /// together with the offer. Without a known agreement it connects as [`connect`](Self::connect), and remembers what was
    /// agreed.
    ///
    /// The offer goes out with the first `send` or `recv`, or after a [short
    /// time](Settings::first_flight_delay). A server that decides once more as it did takes the messages; another answers as usual,
    /// and the stack is built anew and the messages sent again, so that they arrive once. See [`Early`].
    ///
    /// # Replay
    /// A server remembers for half a minute at least which first flights it took, and takes none twice. An attacker who has
    /// recorded one can send it again later, or to the server after a restart, or to another server with the same keys, and its
    /// messages are then received once more, by a connection that gets no further. A server is to take early only
    /// what does no harm then: a Chunnel that is not idempotent says `#[chunnel(no_early_data)]`, a server that takes
    /// nothing early sets [`Settings::early_data`] to false, and an application sends its other messages after
    /// [`agreed`](Early::agreed).
    ///
    /// With a shared key ([`Credentials`](crate::Credentials)) the first flight is authenticated, but not forward secret: who learns
    /// the key later can make others. With identities alone it is not tried.
    ///
    /// # Errors
    /// As for [`connect`](Self::connect). Once it is in use they come from `send` and `recv`.
    fn connect_early<D>(
        self,
        datapath: D,
        to: impl Into<Addr> + Send,
        cache: &EarlyCache,
    ) -> impl Future<Output = Result<Early<D::Out>, Error>> + Send
    where
        Self: Sized + 'static,
        D: Runs<Self, Out: Connection<Data: Clone>>,
    {
        self.connect_early_with(datapath, to, cache, Settings::default())
    }

    /// As [`connect_early`](Self::connect_early), with other times and bounds.
    ///
    /// # Errors
    /// As for [`connect_early`](Self::connect_early).
    fn connect_early_with<D>(
        self,
        datapath: D,
        to: impl Into<Addr> + Send,
        cache: &EarlyCache,
        settings: Settings,
    ) -> impl Future<Output = Result<Early<D::Out>, Error>> + Send
    where
        Self: Sized + 'static,
        D: Runs<Self, Out: Connection<Data: Clone>>,
    {
        early::connect_early(self, datapath, to.into(), cache, settings)
    }

    /// Listens at `on` over `datapath`. Each client gets the stack that it and this server agree on.
    ///
    /// # Errors
    /// [`Invalid`](bertha_core::ErrorKind::Invalid) if no alternative of the stack can hold over this datapath, as far as
    /// that is known [before a client is there](bertha_core::Listener::properties); else each client gets that error.
    /// Those of the datapath, if the address can't be used.
    fn listen<D>(
        self,
        datapath: D,
        on: impl Into<Addr> + Send,
    ) -> impl Future<Output = Result<Incoming<Self, D>, Error>> + Send
    where
        Self: Sized + 'static,
        D: Runs<Self>,
    {
        self.listen_with(datapath, on, Settings::default())
    }

    /// As [`listen`](Self::listen), with other times and bounds.
    ///
    /// # Errors
    /// As for [`listen`](Self::listen).
    fn listen_with<D>(
        self,
        datapath: D,
        on: impl Into<Addr> + Send,
        settings: Settings,
    ) -> impl Future<Output = Result<Incoming<Self, D>, Error>> + Send
    where
        Self: Sized + 'static,
        D: Runs<Self>,
    {
        listen::listen(self, datapath, on.into(), settings)
    }

    /// Lets connections of this stack change to other alternatives of its `select!`s while they are in use; see
    /// [`Negotiated::upgrade`]. Both ends have to. It costs a connection a task, and a few instructions per message.
    ///
    /// ```no_run
    /// # use bertha_core::{Addr, Buf, Chunnel, Connection, Datapath, Error, make_stack, select};
    /// # use bertha_negotiation::{Link, Negotiate, Pick};
    /// # async fn example<D: Datapath, A, B>(datapath: D, server: Addr, fast: A, careful: B) -> Result<(), Error>
    /// # where
    /// #     A: Chunnel<Link<D::Connection>, Connection: Connection<Data = Buf, Base = <D::Connection as Connection>::Base>> + 'static,
    /// #     B: Chunnel<Link<D::Connection>, Connection = A::Connection> + 'static,
    /// # {
    /// let stack = make_stack!(select!(fast, careful)).upgradable();
    /// let connection = stack.connect(datapath, server).await?;
    /// // ... and while messages flow:
    /// let agreement = connection.upgrade(Pick::alternative(1)).await?;
    /// # let _ = agreement;
    /// # Ok(())
    /// # }
    /// ```
    fn upgradable(self) -> Upgradable<Self>
    where
        Self: Sized + 'static,
    {
        Upgradable::new(self)
    }

    /// Forgets the stack's type, so that stacks of different types can take each other's place at run time.
    ///
    /// `datapath` only says for which datapath.
    fn boxed<D, T>(self, _datapath: &D) -> BoxedStack<D, T>
    where
        D: Datapath,
        T: Send + 'static,
        Self: Sized
            + Chunnel<
                Link<D::Connection>,
                Connection: Connection<Data = T, Base = <D::Connection as Connection>::Base>,
            > + 'static,
    {
        BoxStack::new(self)
    }
}

impl<S: Describe + Send + Sync + ?Sized> Negotiate for S {}
