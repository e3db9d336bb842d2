//! The conformance suites: the promises in the documentation of [`Connection`] and [`Datapath`], as checks.
//!
//! An author of a Chunnel or a datapath runs the suite in a test:
//!
//! | suite | subject |
//! |---|---|
//! | [`chunnel()`] | a Chunnel, with the calls that it must pass on |
//! | [`datapath()`] | a datapath, with its addresses and its listener |
//! | [`connection()`] | any pair of connected ends |
//! | [`base_connection()`] | the connections of a datapath |
//! | [`ends()`] | connections that lose nothing, and whose ends notify each other |
//! | [`bytes()`] | connections of bytes, whose chunks have no bounds |
//! | [`byte_stream`] | tokio's `AsyncRead` and `AsyncWrite` |
//! | `stores`, with the feature `stores` | the stores through which any number of ends agree |
//!
//! Each check is a generic async function for any executor, which panics when a promise is broken, and also
//! when nothing happens for [`TIMEOUT`] on the connection's own clock. The suites run all checks that hold for
//! every implementation. Checks that hold for some implementations (a peer that learns of a close, an address
//! that is forgotten) are called by name.
//!
//! The link between the ends must lose nothing at the pace of the checks: at most 256 short messages are on
//! their way. `send` may wait when four or more messages were not received. Tests of repairing Chunnels cover
//! faulty links.
//!
//! # Example
//!
//! The test of a Chunnel `Mine`, whose two ends meet in a simulated network. The crate of the Chunnel has
//! `bertha-conformance`, `bertha-datapath-sim`, `bertha-negotiation` and `futures-util` as development dependencies.
//!
//! ```
//! use bertha_conformance::{Bufs, Recorder};
//! use bertha_core::{Buf, Carries, Chunnel, ConnectContext, Connection, Error, Identity, forward, make_stack};
//! use bertha_datapath_sim::{Sim, SimDatapath};
//! use bertha_negotiation::Negotiate;
//!
//! #[derive(Debug, Identity)]
//! struct Mine;
//!
//! impl<Inner: Carries<Buf, Self>> Chunnel<Inner> for Mine {
//!     type Connection = MineConnection<Inner>;
//!
//!     async fn connect_wrap(&self, inner: Inner, _: ConnectContext<'_, Inner>) -> Result<Self::Connection, Error> {
//!         Ok(MineConnection { inner })
//!     }
//! }
//!
//! struct MineConnection<Inner> {
//!     inner: Inner,
//! }
//!
//! impl<Inner: Carries<Buf, Mine>> Connection for MineConnection<Inner> {
//!     type Data = Buf;
//!     type Base = Inner::Base;
//!
//!     forward!(self.inner => base, mtu, send, recv, send_batch, recv_batch, drain, close);
//! }
//!
//! const SERVER: [u8; 4] = [10, 0, 0, 2];
//!
//! /// Connects two ends, with the suite's layers directly below the Chunnel.
//! async fn connected(
//!     client: &SimDatapath,
//!     server: &SimDatapath,
//!     below: [Recorder; 2],
//! ) -> (impl Connection<Data = Buf>, impl Connection<Data = Buf>) {
//!     let [below_client, below_server] = below;
//!     let mut incoming = make_stack!(Mine, below_server).listen(server.clone(), (SERVER, 0)).await.unwrap();
//!     let stack = make_stack!(Mine, below_client);
//!     let connecting = stack.connect(client.clone(), incoming.local_addr());
//!     let (connection, accepted) = futures_util::join!(connecting.into_future(), incoming.next_or_refusal());
//!     // The address stays in use, as the address of a server does.
//!     std::mem::forget(incoming);
//!     (connection.unwrap(), accepted.unwrap().unwrap())
//! }
//!
//! // With `#[test]` in a crate of its own.
//! fn mine_keeps_every_promise() {
//!     let mut sim = Sim::new(1);
//!     let (client, server) = (sim.network().host([10, 0, 0, 1]), sim.network().host(SERVER));
//!     sim.run(bertha_conformance::chunnel(async |below| connected(&client, &server, below).await, &Bufs));
//! }
//! # mine_keeps_every_promise();
//! ```

#![forbid(unsafe_code)]
// Checks panic to fail, as the tests that call them do.
#![allow(clippy::unwrap_used)]

mod addresses;
mod bases;
mod bursts;
pub mod byte_stream;
mod bytes;
mod cancellation;
mod closing;
mod concurrency;
mod delivery;
mod ending;
mod listening;
mod messages;
mod oversize;
mod passing_on;
mod recorder;
mod serving;
mod site;
#[cfg(feature = "stores")]
pub mod stores;
mod timeout;

pub use addresses::*;
pub use bases::*;
pub use bursts::*;
pub use bytes::*;
pub use cancellation::*;
pub use closing::*;
pub use concurrency::*;
pub use delivery::*;
pub use ending::*;
pub use listening::*;
pub use messages::{Bufs, Messages};
pub use oversize::*;
pub use passing_on::*;
pub use recorder::{Recorder, RecorderConnection};
pub use site::Site;
pub use timeout::TIMEOUT;

use bertha_core::{Connection, Datapath};

/// Runs all checks that every connection must pass, each on a new pair of connected ends that `connect`
/// makes.
///
/// `connect` must keep alive whatever the ends need, for example by leaking it or by holding on to it.
pub async fn connection<A, B, M>(connect: impl AsyncFn() -> (A, B), messages: &M)
where
    A: Connection,
    B: Connection<Data = A::Data>,
    M: Messages<A::Data>,
{
    // The futures are boxed: as a single future, the checks of a deep stack are too large for a test's
    // thread.
    macro_rules! each {
        ($($check:ident)*) => {$({
            let (a, b) = Box::pin(connect()).await;
            Box::pin($check(&a, &b, messages)).await;
            let (a, b) = Box::pin(connect()).await;
            Box::pin($check(&b, &a, messages)).await;
        })*};
    }
    each! {
        messages_arrive_both_ways
        bursts_arrive_whole
        the_limit_is_respected
        a_limit_of_zero_returns_at_once
        a_burst_is_not_waited_for
        an_empty_burst_is_sent_at_once
        sends_go_on_while_a_recv_waits
        each_message_goes_to_one_receiver
        several_senders_lose_nothing
        a_dropped_recv_loses_nothing
        a_dropped_recv_batch_loses_nothing
        a_dropped_receiver_leaves_its_message_to_another
        a_dropped_send_is_whole_or_nothing
        an_oversize_message_fails_alone
        an_error_in_a_burst_keeps_the_rest
        close_wakes_who_waits
        calls_after_close_fail
    }
}

/// Runs all checks of the ends of connections that lose no message, and whose ends notify each other: a clean
/// end differs from a cut end. Each check runs on a new pair of connected ends that `connect` makes.
pub async fn ends<A, B, M>(connect: impl AsyncFn() -> (A, B), messages: &M)
where
    A: Connection,
    B: Connection<Data = A::Data>,
    M: Messages<A::Data>,
{
    // The futures are boxed for the reason that `connection` has.
    let (a, b) = Box::pin(connect()).await;
    Box::pin(the_peer_hears_of_a_close(&a, &b, messages)).await;
    let (a, b) = Box::pin(connect()).await;
    Box::pin(the_peer_hears_of_a_close(&b, &a, messages)).await;
    let (a, b) = Box::pin(connect()).await;
    Box::pin(a_dropped_end_is_cut_at_the_peer(a, &b, messages)).await;
    let (a, b) = Box::pin(connect()).await;
    Box::pin(a_dropped_end_is_cut_at_the_peer(b, &a, messages)).await;
    let (a, b) = Box::pin(connect()).await;
    Box::pin(a_close_succeeds_once_all_has_arrived(&a, b, messages)).await;
    let (a, b) = Box::pin(connect()).await;
    Box::pin(a_close_succeeds_once_all_has_arrived(&b, a, messages)).await;
}

/// Runs all checks that every Chunnel must pass: the checks of every [`connection()`], and of the calls that
/// it must pass on.
///
/// `connect` makes a pair of connected ends with the given layers directly below the Chunnel: the first layer
/// at the first end, the second at the second.
///
/// The example of [the crate](crate) has a whole test.
pub async fn chunnel<A, B, M>(connect: impl AsyncFn([Recorder; 2]) -> (A, B), messages: &M)
where
    A: Connection,
    B: Connection<Data = A::Data>,
    M: Messages<A::Data>,
{
    connection(async || connect([Recorder::new(), Recorder::new()]).await, messages).await;
    macro_rules! each {
        ($($check:ident)*) => {$({
            let [below_a, below_b] = [Recorder::new(), Recorder::new()];
            let (a, b) = Box::pin(connect([below_a.clone(), below_b.clone()])).await;
            Box::pin($check(&a, &b, [&below_a, &below_b], messages)).await;
            let [below_a, below_b] = [Recorder::new(), Recorder::new()];
            let (a, b) = Box::pin(connect([below_a.clone(), below_b.clone()])).await;
            Box::pin($check(&b, &a, [&below_b, &below_a], messages)).await;
        })*};
    }
    each! {
        messages_go_through_the_layer_below
        a_drain_reaches_the_layer_below
        a_burst_reaches_the_layer_below
        a_burst_is_received_from_the_layer_below
        a_close_reaches_the_layer_below
    }
}

/// Runs all checks that every datapath must pass.
pub async fn datapath<S: Datapath, C: Datapath>(site: &Site<'_, S, C>) {
    many_clients_are_served(site).await;
    a_burst_before_accept_is_kept(site).await;
    a_dropped_accept_loses_no_client(site).await;
    a_flooded_connection_leaves_the_others_alone(site).await;
    a_client_that_vanishes_ends_nothing(site).await;
    addresses_agree(site).await;
    addresses_of_no_kind_are_invalid(site).await;
    connection(async || site.connected().await, &Bufs).await;
    base_connection(async || site.connected().await).await;
}

/// Runs all checks of the properties that only base connections have.
pub async fn base_connection<A, B>(connect: impl AsyncFn() -> (A, B))
where
    A: Connection<Data = bertha_core::Buf>,
    B: Connection<Data = bertha_core::Buf>,
{
    let (a, b) = connect().await;
    every_length_arrives(&a, &b).await;
    let (a, b) = connect().await;
    buffers_have_the_reserved_headroom(&a, &b).await;
}
