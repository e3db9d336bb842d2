//! A server that routes to two remote shards: decoding every message for its key, or reading the key where it is.
//!
//! The router has a core to itself, and what it spends is its thread's processor time. Client and shards share the other
//! core. Both routers speak the same with the same client and the same shards; they differ in one pass, applied or not.
//!
//! What a router can do shows only while it is busy. So its neighbours cost as little as they can: the client's requests
//! are encoded beforehand, shards send each request back as it came, and neither looks into a message. Requests and replies
//! alike are messages of the key-value store, of 132 bytes as in the thesis. [`line()`] has the same router under a load
//! that does not wait for replies, and gives latencies.

mod figure;
mod service;

use crate::encoded::{Encoded, requests};
use crate::flood::Flood;
use crate::workload::{Phase, Workload};
use crate::{Error, ErrorKind};
use bertha::chunnels::shard::KeyAt;
use bertha::chunnels::{Serialize, ServerShard};
use bertha::prelude::*;
use bertha_kvstore::Message;
use std::time::Duration;

pub use figure::{Line, draw, line};
pub use service::Routing;

/// The codec: the key is the first field of a [`Message`], behind the eight bytes of its length.
type Wire = KeyAt<8>;

/// What is run.
#[derive(Clone, Copy, Debug)]
pub struct Setup {
    /// Requests on the way at any time.
    pub outstanding: u64,
    /// How long requests are sent.
    pub seconds: f64,
    /// What they look like.
    pub workload: Workload,
}

/// What came out.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Sample {
    /// Requests, each with its reply, that the router passes on per second of processor time.
    pub requests_per_cpu_second: f64,
    /// Requests answered per second.
    pub requests_per_second: f64,
    /// The share of the time in which the router had work.
    pub busy: f64,
}

/// Has requests routed to shards that echo them.
///
/// # Errors
/// [`ErrorKind::Core`] with fewer than two usable cores, [`ErrorKind::Bertha`] when a connection fails,
/// [`ErrorKind::Stalled`] when nothing comes back.
pub fn across_cores(setup: &Setup, routing: Routing) -> Result<Sample, Error> {
    service::run(routing, async |service| {
        // The same, whichever way the router does it.
        let layers = make_stack!(ServerShard::new(service.map.clone()), Serialize::<Message, Wire>::new());
        let stack = make_stack!(Encoded::like(&layers));
        let connection = stack.connect(bertha::datapath(), service.router).await;
        let connection =
            connection.map_err(Error::while_doing(ErrorKind::Bertha, "connecting to the router"))?;
        let (flood, requests) = (Flood::new(&connection), requests(&setup.workload, Phase::Mix)?);
        let duration = Duration::from_secs_f64(setup.seconds);

        flood.closed(&requests, setup.outstanding, duration / 4).await?;
        let before = service.cpu_time().await?;
        let answered = flood.closed(&requests, setup.outstanding, duration).await?;
        let spent = service.cpu_time().await?.saturating_sub(before);
        connection.close().await.map_err(Error::while_doing(ErrorKind::Bertha, "closing"))?;
        if answered.replies == 0 {
            return Err(Error::new(ErrorKind::Stalled, "nothing came back through the router"));
        }
        Ok(Sample {
            requests_per_cpu_second: answered.replies as f64 / spent.as_secs_f64(),
            requests_per_second: answered.per_second(),
            busy: spent.as_secs_f64() / answered.elapsed.as_secs_f64(),
        })
    })
}
