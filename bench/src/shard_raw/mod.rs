//! A server that routes to two remote shards: decoding every message for its key, or reading the key where it is.
//!
//! The router has a core to itself, and what it spends is its thread's processor time. Client and shards share the other
//! core. Both routers speak the same with the same client and the same shards; they differ in one pass, applied or not.

mod figure;
mod service;

use crate::kv_bertha::client::Client;
use crate::latency::{Latency, Recorder};
use crate::workload::{Phase, Workload};
use crate::{Error, ErrorKind};
use bertha::chunnels::shard::KeyAt;
use bertha::prelude::*;
use bertha_kvstore::Message;
use std::time::Instant;

pub use figure::{Line, draw, line};
pub use service::Routing;

/// The codec: the key is the first field of a [`Message`], behind the eight bytes of its length.
type Wire = KeyAt<8>;

/// What is run.
#[derive(Clone, Copy, Debug)]
pub struct Setup {
    /// Requests on the way at any time.
    pub outstanding: usize,
    /// Requests that are measured.
    pub requests: u64,
    /// What they ask for.
    pub workload: Workload,
}

/// What came out.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Sample {
    /// Requests, each with its reply, that the router passes on per second of processor time.
    pub requests_per_cpu_second: f64,
    /// Requests answered per second.
    pub requests_per_second: f64,
    /// From the first sending of a request to its reply.
    pub latency: Latency,
}

/// Loads the store through the router, and measures.
///
/// # Errors
/// [`ErrorKind::Core`] with fewer than two usable cores, [`ErrorKind::Bertha`] when a connection fails,
/// [`ErrorKind::Stalled`] when the store stops answering.
pub fn across_cores(setup: &Setup, routing: Routing) -> Result<Sample, Error> {
    service::run(routing, async |service| {
        // The same, whichever way the router does it.
        let stack = make_stack!(ServerShard::new(service.map.clone()), Serialize::<Message, Wire>::new());
        let connection = stack.connect(bertha::datapath(), service.router).await;
        let connection =
            connection.map_err(Error::while_doing(ErrorKind::Bertha, "connecting to the router"))?;
        let mut client = Client::new(connection, setup.outstanding);
        let Some((_, mut script)) = setup.workload.scripts(1).pop() else {
            return Err(Error::new(ErrorKind::Probe, "the workload has no records"));
        };
        let records = script.records();
        client.run(&mut script, Phase::Load, records, &mut Recorder::new()?).await?;

        let mut latency = Recorder::new()?;
        let (cpu_before, started) = (service.cpu_time().await?, Instant::now());
        client.run(&mut script, Phase::Mix, setup.requests, &mut latency).await?;
        let (elapsed, spent) = (started.elapsed(), service.cpu_time().await?.saturating_sub(cpu_before));
        client.close().await?;
        Ok(Sample {
            requests_per_cpu_second: latency.count() as f64 / spent.as_secs_f64(),
            requests_per_second: latency.count() as f64 / elapsed.as_secs_f64(),
            latency: latency.summary(),
        })
    })
}
