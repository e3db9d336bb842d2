//! Bursts, encoded and decoded message by message as the connection below asks for them.

use super::{Codec, SerializeConnection};
use bertha_core::buf::Spent;
use bertha_core::{Buf, Connection, Error};

/// Encodes messages as the connection below asks for them. Ends at the first that has no encoding, and stores the error in
/// `failed`.
pub(super) struct Encoded<'a, Inner: Connection, T, C, Messages> {
    connection: &'a SerializeConnection<Inner, T, C>,
    base: &'a Inner::Base,
    messages: Messages,
    failed: &'a mut Option<Error>,
}

impl<'a, Inner, T, C, Messages> Encoded<'a, Inner, T, C, Messages>
where
    Inner: Connection<Data = Buf>,
    T: Send + 'static,
    C: Codec<T>,
{
    pub(super) fn new(
        connection: &'a SerializeConnection<Inner, T, C>,
        messages: Messages,
        failed: &'a mut Option<Error>,
    ) -> Self {
        Self { connection, base: connection.base(), messages, failed }
    }
}

impl<Inner, T, C, Messages> Iterator for Encoded<'_, Inner, T, C, Messages>
where
    Inner: Connection<Data = Buf>,
    T: Send + 'static,
    C: Codec<T>,
    Messages: Iterator<Item = T>,
{
    type Item = Buf;

    // In line by force: a link asks for the first message of a burst at a second place, which would turn this into a call.
    #[inline(always)]
    fn next(&mut self) -> Option<Buf> {
        // Iterators may be asked again after their end.
        if self.failed.is_some() {
            return None;
        }
        // Borrowed from the option: moving it out would copy it.
        let message = self.messages.next();
        match self.connection.encode(self.base, message.as_ref()?) {
            Ok(encoded) => Some(encoded),
            Err(error) => {
                *self.failed = Some(error);
                None
            }
        }
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        (0, self.messages.size_hint().1)
    }
}

/// Decodes the messages that the connection below pushes into it, and pushes them on.
pub(super) struct Decoded<'a, Inner, T, C, Into> {
    connection: &'a SerializeConnection<Inner, T, C>,
    into: &'a mut Into,
    malformed: usize,
    spent: Spent,
}

impl<'a, Inner, T, C, Into> Decoded<'a, Inner, T, C, Into> {
    pub(super) fn new(connection: &'a SerializeConnection<Inner, T, C>, into: &'a mut Into) -> Self {
        Self { connection, into, malformed: 0, spent: Spent::new() }
    }

    /// Releases the buffers of the decoded messages. Returns how many messages since the last call were malformed.
    pub(super) fn finish_burst(&mut self) -> usize {
        self.spent.release();
        std::mem::take(&mut self.malformed)
    }
}

impl<Inner, T, C, Into> Extend<Buf> for Decoded<'_, Inner, T, C, Into>
where
    Inner: Connection<Data = Buf>,
    T: Send + 'static,
    C: Codec<T>,
    Into: Extend<T>,
{
    #[inline]
    fn extend<Bufs: IntoIterator<Item = Buf>>(&mut self, bufs: Bufs) {
        // One by one: handing an iterator on would have its state in memory between any two messages.
        for bytes in bufs {
            let (connection, encoded) = (self.connection, Some(&*bytes));
            self.into.extend(Decoding { connection, encoded, malformed: &mut self.malformed });
            self.spent.add(bytes);
        }
    }
}

/// One message, decoded when it is asked for: straight to its destination, without moves from one iterator's state to the next.
struct Decoding<'a, Inner, T, C> {
    connection: &'a SerializeConnection<Inner, T, C>,
    encoded: Option<&'a [u8]>,
    malformed: &'a mut usize,
}

impl<Inner, T, C> Iterator for Decoding<'_, Inner, T, C>
where
    Inner: Connection<Data = Buf>,
    T: Send + 'static,
    C: Codec<T>,
{
    type Item = T;

    #[inline(always)]
    fn next(&mut self) -> Option<T> {
        let decoded = self.connection.decode(self.encoded.take()?);
        if decoded.is_none() {
            *self.malformed += 1;
        }
        decoded
    }

    #[inline]
    fn size_hint(&self) -> (usize, Option<usize>) {
        (0, Some(usize::from(self.encoded.is_some())))
    }
}
