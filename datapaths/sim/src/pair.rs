//! Two ends that are connected in memory.

use crate::network::fits;
use crate::queue::{Ending, Queue};
use bertha_core::{Addr, Base, Buf, Connection, Error, Headroom, Properties, Runtime};
use std::sync::Arc;

/// Number of messages that a direction holds before `send` waits.
const CAPACITY: usize = 1024;

/// Size of the largest message in bytes: as over UDP, so that a message that fits here fits there.
const MTU: usize = 65_507;

/// Creates two connected ends without a network in between: reliable, ordered, without copies, without an
/// allocation per message. The ends work on any executor; their [`Base`] offers `runtime` to Chunnels.
///
/// Each direction holds at most 1024 messages, of at most 65,507 bytes; then `send` waits. When an end is
/// closed or dropped, its peer still receives the messages sent before.
///
/// ```
/// # use bertha_core::{Buf, Connection};
/// # use bertha_datapath_sim::{Sim, pair};
/// let mut sim = Sim::new(1);
/// let (here, there) = pair(sim.runtime());
/// sim.run(async {
///     here.send(Buf::copy_of(b"hello", 0)?).await?;
///     assert_eq!(&*there.recv().await?, b"hello");
///     Ok::<(), bertha_core::Error>(())
/// })?;
/// # Ok::<(), bertha_core::Error>(())
/// ```
pub fn pair<R: Runtime>(runtime: R) -> (PairConnection<R>, PairConnection<R>) {
    connected(runtime, |message| fits(message.len(), MTU))
}

/// Creates two ends as [`pair`], for messages of any type and length.
pub fn pair_of<R: Runtime, T: Send + 'static>(runtime: R) -> (PairConnection<R, T>, PairConnection<R, T>) {
    connected(runtime, |_| Ok(()))
}

fn connected<R: Runtime, T>(
    runtime: R,
    fits: fn(&T) -> Result<(), Error>,
) -> (PairConnection<R, T>, PairConnection<R, T>) {
    let there = Arc::new(Queue::with_room(CAPACITY));
    let back = Arc::new(Queue::with_room(CAPACITY));
    let end = |incoming: &Arc<Queue<T>>, outgoing: &Arc<Queue<T>>| PairConnection {
        base: PairBase { runtime: runtime.clone(), headroom: Headroom::new() },
        incoming: incoming.clone(),
        outgoing: outgoing.clone(),
        fits,
    };
    (end(&back, &there), end(&there, &back))
}

/// One end of a [`pair`].
pub struct PairConnection<R, T = Buf> {
    base: PairBase<R>,
    incoming: Arc<Queue<T>>,
    outgoing: Arc<Queue<T>>,
    fits: fn(&T) -> Result<(), Error>,
}

impl<R, T> PairConnection<R, T> {
    /// Returns the number of messages that were sent here and still wait at the peer.
    pub fn unreceived(&self) -> usize {
        self.outgoing.len()
    }

    fn end(&self) {
        self.outgoing.end(Ending::CLOSED);
        drop(self.incoming.end_now(Ending::HERE));
    }
}

impl<R: Runtime, T: Send + 'static> Connection for PairConnection<R, T> {
    type Data = T;
    type Base = PairBase<R>;

    fn base(&self) -> &PairBase<R> {
        &self.base
    }

    async fn send(&self, message: T) -> Result<(), Error> {
        (self.fits)(&message)?;
        self.outgoing.push(message).await
    }

    fn recv(&self) -> impl Future<Output = Result<T, Error>> + Send {
        self.incoming.pop()
    }

    fn send_batch(
        &self,
        messages: impl Iterator<Item = T> + Send,
    ) -> impl Future<Output = Result<(), Error>> + Send {
        self.outgoing.push_all(messages.map(|message| (self.fits)(&message).map(|()| message)))
    }

    fn recv_batch(
        &self,
        into: &mut (impl Extend<T> + Send),
        limit: usize,
    ) -> impl Future<Output = Result<usize, Error>> + Send {
        self.incoming.pop_some(into, limit)
    }

    async fn drain(&self) -> Result<(), Error> {
        Ok(())
    }

    async fn close(&self) -> Result<(), Error> {
        self.end();
        Ok(())
    }
}

impl<R, T> Drop for PairConnection<R, T> {
    fn drop(&mut self) {
        self.end();
    }
}

bertha_core::debug_fields!(PairConnection < R, T > {});

/// The base of a [`PairConnection`]. Both addresses are [`Addr::Unnamed`].
#[derive(Debug)]
pub struct PairBase<R> {
    runtime: R,
    headroom: Headroom,
}

impl<R: Runtime> Base for PairBase<R> {
    type Runtime = R;

    fn runtime(&self) -> &R {
        &self.runtime
    }

    #[inline]
    fn headroom(&self) -> &Headroom {
        &self.headroom
    }

    fn mtu(&self) -> usize {
        MTU
    }

    fn local_addr(&self) -> Addr {
        Addr::Unnamed
    }

    fn peer_addr(&self) -> Addr {
        Addr::Unnamed
    }

    fn properties(&self) -> Properties {
        Properties::STREAM
    }
}
