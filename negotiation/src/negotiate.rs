//! The methods that an application calls on its stack.

use crate::handshake::{Requirements, check_possible};
use crate::{Connect, Link, Listen, Runs, Upgradable};
use bertha_core::guarantee::Set;
use bertha_core::{BoxStack, Chunnel, Connection, Datapath, Describe, Destination, Error, Properties};

/// A stack whose type is forgotten, for the datapath `D` and messages `T`; see [`Negotiate::boxed`].
pub type BoxedStack<D, T> = BoxStack<Link<<D as Datapath>::Connection>, T>;

/// Connecting and listening with a stack. Implemented for every stack and every single Chunnel.
pub trait Negotiate: Describe + Send + Sync {
    /// Connects to the server at `to` over `datapath`, agrees with it on a stack, and builds it.
    ///
    /// `to` is an address, or a name such as `"example.org:80"`, which is [resolved](Connect::resolver) first; see
    /// [`Destination`].
    ///
    /// ```no_run
    /// # use bertha_core::{Addr, Connection, Error};
    /// # use bertha_negotiation::{EarlyCache, Negotiate, Runs, Settings};
    /// # async fn example<S, D>(stack: S, datapath: D, server: Addr, cache: EarlyCache) -> Result<(), Error>
    /// # where S: Negotiate + Clone + 'static, D: Runs<S, Out: Connection<Data: Clone>> + Clone {
    /// let plain = stack.connect(datapath.clone(), server.clone()).await?;
    /// let patient = stack.connect(datapath.clone(), server.clone()).settings(Settings::default()).await?;
    /// let early = stack.connect(datapath, server).early(&cache).await?;
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// Its errors stand with [`Connect`].
    fn connect<D: Runs<Self>>(
        &self,
        datapath: D,
        to: impl Into<Destination>,
    ) -> Connect<'_, Self, D, D::Out> {
        Connect::new(self, datapath, to.into())
    }

    /// Listens at `on` over `datapath`. Each client gets the stack on which it and this server agree.
    ///
    /// `on` is an address, also as text: `"127.0.0.1:0"`, `"unix:/run/store.sock"`; or the name of this host with a port, `"localhost:80"`, of which
    /// the first address is taken at which it can listen.
    ///
    /// Its errors stand with [`Listen`].
    fn listen<D>(self, datapath: D, on: impl Into<Destination>) -> Listen<Self, D>
    where
        Self: Sized + 'static,
        D: Runs<Self>,
    {
        Listen::new(self, datapath, on.into())
    }

    /// Lets connections of this stack change to other alternatives of its `select!`s while they are in use; see
    /// [`Negotiated::upgrade`](crate::Negotiated::upgrade). Both ends have to. It costs a connection a task, and a few instructions per message.
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

    /// Checks that an alternative of this stack guarantees `floor`, and has what it needs below it, over a datapath with these properties. Connecting and
    /// listening check that, too, with the [floor](crate::Settings::floor) of their settings; this is for programs that know the stack before there is
    /// an address.
    ///
    /// ```
    /// use bertha_core::guarantee::{Reliable, Set};
    /// use bertha_core::{Properties, make_stack};
    /// use bertha_negotiation::Negotiate;
    ///
    /// let (stack, floor) = (make_stack!(), Set::of::<Reliable>());
    /// assert!(stack.check_over(Properties::STREAM, floor).is_ok());
    /// assert!(stack.check_over(Properties::DATAGRAM, floor).is_err());
    /// ```
    ///
    /// # Errors
    /// [`Invalid`](bertha_core::ErrorKind::Invalid) with what is missing.
    fn check_over(&self, properties: Properties, floor: Set) -> Result<(), Error> {
        check_possible(&self.nodes(), Requirements::new(floor, properties))
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
