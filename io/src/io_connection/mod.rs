//! A reader and writer as the base of a stack.

mod base;
mod connection;
mod outgoing;

pub use base::IoBase;
pub use connection::IoConnection;
use tokio::io::{AsyncRead, AsyncWrite};

/// Makes a connection of bytes over `stream`: the base of a stack, for a pipe, a serial line, an SSH channel
/// or the stream of another library.
///
/// ```
/// use bertha_core::{Connection, Error};
/// # async fn example() -> Result<(), Error> {
/// let (here, there) = tokio::io::duplex(1024);
/// let here = bertha_io::from_stream(here);
/// here.send(bertha_core::Chunk::copy_of(b"hello")?).await?;
/// # let _ = there;
/// # Ok(())
/// # }
/// ```
pub fn from_stream<T: AsyncRead + AsyncWrite + Send + 'static>(stream: T) -> IoConnection<T> {
    IoConnection::new(stream)
}
