//! A connection as a stream of messages and a sink for them.

use bertha_core::{Connection, Error, ErrorKind};
use futures_core::Stream;
use futures_sink::Sink;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};
use tokio_util::sync::ReusableBoxFuture;

/// Any connection as `Stream` and `Sink` (of the crates `futures-core` and `futures-sink`) of its messages.
///
/// The stream ends once the peer has closed, or after the error that has ended the connection; an error that
/// concerns one message is an item of its own. The sink holds at most one message, which a flush sends;
/// closing it closes the connection.
///
/// ```
/// use bertha_io::Messages;
/// use futures_util::{SinkExt, StreamExt};
/// # async fn example(connection: impl bertha_core::Connection<Data = String>) -> Result<(), bertha_core::Error> {
/// let mut messages = Messages::new(connection);
/// messages.send("hello".to_owned()).await?;
/// while let Some(message) = messages.next().await {
///     println!("{}", message?);
/// }
/// # Ok(())
/// # }
/// ```
pub struct Messages<C: Connection> {
    connection: Arc<C>,
    receiving: Call<C::Data>,
    sending: Call<()>,
    closing: Call<()>,
    has_ended: bool,
    is_closed: bool,
}

/// A pending call of the connection, kept between polls since it holds the waker.
struct Call<T> {
    future: ReusableBoxFuture<'static, Result<T, Error>>,
    is_under_way: bool,
}

impl<T: 'static> Call<T> {
    /// Makes a place for calls.
    fn new(example: impl Future<Output = Result<T, Error>> + Send + 'static) -> Self {
        Self { future: ReusableBoxFuture::new(example), is_under_way: false }
    }

    fn begin(&mut self, call: impl Future<Output = Result<T, Error>> + Send + 'static) {
        self.future.set(call);
        self.is_under_way = true;
    }

    /// Polls the call. Ready with `None` if no call is under way.
    fn poll(&mut self, cx: &mut Context<'_>) -> Poll<Option<Result<T, Error>>> {
        if !self.is_under_way {
            return Poll::Ready(None);
        }
        let done = ready!(self.future.poll(cx));
        self.is_under_way = false;
        Poll::Ready(Some(done))
    }
}

impl<C: Connection> Messages<C> {
    /// Makes a stream and sink of the messages of this connection.
    pub fn new(connection: C) -> Self {
        let connection = Arc::new(connection);
        Self {
            receiving: Call::new(recv(connection.clone())),
            sending: Call::new(close(connection.clone())),
            closing: Call::new(close(connection.clone())),
            connection,
            has_ended: false,
            is_closed: false,
        }
    }

    /// Returns the connection. Messages that are received from it directly are missing in the stream.
    pub fn connection(&self) -> &Arc<C> {
        &self.connection
    }

    fn poll_sent(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), Error>> {
        Poll::Ready(ready!(self.sending.poll(cx)).unwrap_or(Ok(())))
    }
}

async fn recv<C: Connection>(connection: Arc<C>) -> Result<C::Data, Error> {
    connection.recv().await
}

async fn send<C: Connection>(connection: Arc<C>, message: C::Data) -> Result<(), Error> {
    connection.send(message).await
}

async fn close<C: Connection>(connection: Arc<C>) -> Result<(), Error> {
    connection.close().await
}

impl<C: Connection> Stream for Messages<C> {
    type Item = Result<C::Data, Error>;

    fn poll_next(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        let this = &mut *self;
        if this.has_ended {
            return Poll::Ready(None);
        }
        if !this.receiving.is_under_way {
            this.receiving.begin(recv(this.connection.clone()));
        }
        let received = ready!(this.receiving.poll(cx));
        if let Some(Err(error)) = &received {
            this.has_ended = error.ends_connection();
            if error.kind() == ErrorKind::Closed {
                return Poll::Ready(None);
            }
        }
        Poll::Ready(received)
    }
}

impl<C: Connection> Sink<C::Data> for Messages<C> {
    type Error = Error;

    fn poll_ready(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Result<(), Error>> {
        self.poll_sent(cx)
    }

    fn start_send(mut self: Pin<&mut Self>, message: C::Data) -> Result<(), Error> {
        let connection = self.connection.clone();
        self.sending.begin(send(connection, message));
        Ok(())
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Result<(), Error>> {
        self.poll_sent(cx)
    }

    fn poll_close(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Result<(), Error>> {
        ready!(self.poll_sent(cx))?;
        let this = &mut *self;
        if this.is_closed {
            return Poll::Ready(Ok(()));
        }
        if !this.closing.is_under_way {
            this.closing.begin(close(this.connection.clone()));
        }
        let closed = ready!(this.closing.poll(cx));
        this.is_closed = true;
        Poll::Ready(closed.unwrap_or(Ok(())))
    }
}

bertha_core::debug_fields!(Messages<C: Connection> {});
