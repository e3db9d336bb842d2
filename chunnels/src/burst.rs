//! Bursts through layers that encode and decode message by message.

#[cfg(any(
    feature = "at-most-once",
    feature = "checksum",
    feature = "compress",
    feature = "noise",
    feature = "rpc",
    feature = "total-order"
))]
use bertha_core::{Connection, Error};

#[cfg(any(
    feature = "at-most-once",
    feature = "checksum",
    feature = "compress",
    feature = "noise",
    feature = "rpc",
    feature = "total-order"
))]
/// Sends a burst of encoded messages, up to the first message that has no encoding. Its error is returned
/// once the messages before it are sent.
pub(crate) async fn send_encoded<C: Connection, T>(
    inner: &C,
    messages: impl Iterator<Item = T> + Send,
    mut encode: impl FnMut(T) -> Result<C::Data, Error> + Send,
) -> Result<(), Error> {
    let mut failed = Ok(());
    let encoded = messages.map_while(|message| match encode(message) {
        Ok(encoded) => Some(encoded),
        Err(error) => {
            failed = Err(error);
            None
        }
    });
    inner.send_batch(encoded).await?;
    failed
}

#[cfg(any(
    feature = "at-most-once",
    feature = "checksum",
    feature = "compress",
    feature = "fragment",
    feature = "noise",
    feature = "rpc",
    feature = "serialize"
))]
/// Decodes the messages of a burst, and drops those that `decode` refuses.
pub(crate) struct Decoded<'a, Into, Decode> {
    pub(crate) into: &'a mut Into,
    pub(crate) decode: Decode,
    /// The number of messages that were not dropped.
    pub(crate) count: usize,
}

#[cfg(any(
    feature = "at-most-once",
    feature = "checksum",
    feature = "compress",
    feature = "fragment",
    feature = "noise",
    feature = "rpc",
    feature = "serialize"
))]
impl<Into, Decode, T, M> Extend<T> for Decoded<'_, Into, Decode>
where
    Into: Extend<M>,
    Decode: FnMut(T) -> Option<M>,
{
    fn extend<I: IntoIterator<Item = T>>(&mut self, messages: I) {
        let Self { into, decode, count } = self;
        into.extend(messages.into_iter().filter_map(|message| {
            let decoded = decode(message);
            *count += usize::from(decoded.is_some());
            decoded
        }));
    }
}
