//! The conformance suites: the promises in the documentation of [`Connection`] and [`Datapath`], as checks.
//!
//! Each check is a generic async function for any executor, which panics when a promise is broken, and also
//! when nothing happens for [`TIMEOUT`] on the connection's own clock. [`connection()`] and [`datapath()`]
//! run all checks that hold for every implementation. Checks that hold for some (a peer that learns of a
//! close, an address that is forgotten) are called by name. [`chunnel()`] adds the checks of calls that a
//! Chunnel must pass on.
//!
//! The link between the ends must lose nothing at the pace of the checks: at most 256 short messages are on
//! their way. `send` may wait when four or more messages were not received. Tests of repairing Chunnels cover
//! faulty links.

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
pub mod queue;
mod recorder;
mod serving;
mod site;
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
pub use messages::{Bufs, Messages, Responses};
pub use oversize::*;
pub use passing_on::*;
pub use recorder::{Recorder, RecorderConnection};
pub use site::Site;
pub use timeout::TIMEOUT;

use bertha_core::{Connection, Datapath};

/// Runs all checks that every connection must pass, each on a new pair of connected ends that `connect`
/// makes.
///
/// `connect` must keep all values alive that the ends need, for example by leaking them or by holding on to
/// them.
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

/// Runs all checks that every Chunnel must pass: the checks of every [`connection()`], and of the calls that
/// it must pass on.
///
/// `connect` makes a pair of connected ends with the given layers directly below the Chunnel: the first layer
/// at the first end, the second at the second.
///
/// ```ignore
/// conformance::chunnel(async |[a, b]| connected(make_stack!(Mine, a), make_stack!(Mine, b)).await, &Bufs).await;
/// ```
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
