//! A datapath of messages over a datapath of bytes.

use super::framed::framed;
use super::{FramedConnection, LengthFormat, LengthFramed};
use bertha_core::{Addr, Base, Chunk, Connection, Datapath, Error, Listener, Properties};

/// A datapath of messages over any datapath of bytes, so that whole stacks are negotiated over it;
/// [`LengthFramed::over`] makes it.
///
/// Its connections keep the promises of the connections of bytes below. The peer may use such a datapath, or
/// a datapath that frames messages itself.
#[derive(Debug, Clone)]
pub struct LengthFramedDatapath<D> {
    bytes: D,
    format: LengthFormat,
}

impl LengthFramed {
    /// Makes a datapath of messages with these lengths over the datapath `bytes`.
    ///
    /// ```
    /// # use bertha_chunnels::LengthFramed;
    /// # use bertha_core::{Addr, Chunk, Connection, Datapath, Error};
    /// # async fn example(bytes: impl Datapath<Chunk>, to: Addr) -> Result<(), Error> {
    /// // For instance over `UnixStream::new().bytes()`; or `stack.connect(messages, to)`.
    /// let messages = LengthFramed::new().largest(1 << 20).over(bytes);
    /// let connection = messages.connect(to).await?;
    /// # let _ = connection.recv().await?;
    /// # Ok(())
    /// # }
    /// ```
    pub fn over<D: Datapath<Chunk>>(self, bytes: D) -> LengthFramedDatapath<D> {
        LengthFramedDatapath { bytes, format: self.format }
    }
}

impl<D: Datapath<Chunk>> Datapath for LengthFramedDatapath<D> {
    type Connection = FramedConnection<D::Connection, LengthFormat>;
    type Listener = LengthFramedListener<D::Listener>;

    async fn connect(&self, to: Addr) -> Result<Self::Connection, Error> {
        Ok(framed(self.bytes.connect(to).await?, self.format))
    }

    async fn listen(&self, on: Addr) -> Result<Self::Listener, Error> {
        Ok(LengthFramedListener { bytes: self.bytes.listen(on).await?, format: self.format })
    }

    fn runtime(&self) -> Option<<<D::Connection as Connection>::Base as Base>::Runtime> {
        self.bytes.runtime()
    }
}

/// The listener of [`LengthFramedDatapath`].
#[derive(Debug)]
pub struct LengthFramedListener<L> {
    bytes: L,
    format: LengthFormat,
}

impl<L: Listener<Chunk>> Listener for LengthFramedListener<L> {
    type Connection = FramedConnection<L::Connection, LengthFormat>;

    async fn accept(&self) -> Result<Self::Connection, Error> {
        Ok(framed(self.bytes.accept().await?, self.format))
    }

    fn local_addr(&self) -> Addr {
        self.bytes.local_addr()
    }

    fn properties(&self) -> Option<Properties> {
        self.bytes.properties()
    }

    fn capacity(&self) -> Option<usize> {
        self.bytes.capacity()
    }
}
