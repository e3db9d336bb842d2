//! Bursts that are checked while the connection below gives them.

use crate::ChecksumConnection;
use bertha_core::{Buf, Connection};

/// Checks and opens the messages that the connection below pushes into it, and pushes the sound messages on.
pub(crate) struct Verified<'a, Inner, Into> {
    connection: &'a ChecksumConnection<Inner>,
    into: &'a mut Into,
    count: usize,
}

impl<'a, Inner, Into> Verified<'a, Inner, Into> {
    pub(crate) fn new(connection: &'a ChecksumConnection<Inner>, into: &'a mut Into) -> Self {
        Self { connection, into, count: 0 }
    }

    /// Returns the number of messages that were pushed on.
    pub(crate) fn count(&self) -> usize {
        self.count
    }
}

impl<Inner, Into> Extend<Buf> for Verified<'_, Inner, Into>
where
    Inner: Connection<Data = Buf>,
    Into: Extend<Buf>,
{
    #[inline]
    fn extend<Bufs: IntoIterator<Item = Buf>>(&mut self, received: Bufs) {
        let opened = received.into_iter().filter_map(|message| self.connection.open(message));
        self.into.extend(opened.inspect(|_| self.count += 1));
    }
}
