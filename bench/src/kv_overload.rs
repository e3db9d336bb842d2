//! The key-value store under more load than it can take.
//!
//! The client has to offer twice what the store answers, on as many cores. So its requests are encoded beforehand, and
//! it only counts replies; see `encoded`.

use crate::cores;
use crate::encoded::{Encoded, requests};
use crate::flood::Flood;
use crate::workload::{Phase, Workload};
use crate::{Error, ErrorKind};
use bertha::Addr;
use bertha::chunnels::Serialize;
use bertha::prelude::*;
use bertha_kvstore::{Message, Options, Server};
use std::time::Duration;
use tokio::runtime::Builder;

/// Requests on the way while the peak is measured: enough that the store always has work.
const OUTSTANDING: u64 = 512;

/// What is run.
#[derive(Clone, Copy, Debug)]
pub struct Setup {
    /// How long each load lasts.
    pub seconds: f64,
    /// How much of its peak the store is offered.
    pub overload: f64,
    /// What is asked for.
    pub workload: Workload,
}

/// What came out, all in requests per second.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Sample {
    /// Answered while a fixed number of requests was on the way.
    pub peak: f64,
    /// Sent under overload.
    pub offered: f64,
    /// Answered under overload.
    pub answered: f64,
}

/// Measures the peak of a store of one shard and then overloads it, the store on one core and its client on another.
///
/// # Errors
/// [`ErrorKind::Core`] with fewer than two usable cores, [`ErrorKind::Bertha`] when a connection fails.
pub fn across_cores(setup: &Setup) -> Result<Sample, Error> {
    let usable = cores::usable()?;
    let Some((&client_core, &[server_core, ..])) = usable.split_last() else {
        return Err(Error::new(ErrorKind::Core, "the store and its client need two cores"));
    };
    // Its threads inherit the core.
    let server = cores::run_on(server_core, || {
        Server::start(Options::default()).map_err(Error::while_doing(ErrorKind::Bertha, "starting the store"))
    })?;
    let sample = cores::run_on(client_core, || {
        let runtime = Builder::new_current_thread().enable_all().build();
        let runtime = runtime.map_err(Error::while_doing(ErrorKind::Core, "building a tokio runtime"))?;
        runtime.block_on(measure(setup, &server.map().shards()[0]))
    });
    server.stop().map_err(Error::while_doing(ErrorKind::Bertha, "stopping the store"))?;
    sample
}

async fn measure(setup: &Setup, shard: &Addr) -> Result<Sample, Error> {
    let stack = make_stack!(Encoded::like(&Serialize::<Message>::new()));
    let connection = stack.connect(bertha::datapath(), shard.clone()).await;
    let connection = connection.map_err(Error::while_doing(ErrorKind::Bertha, "connecting"))?;
    let flood = Flood::new(&connection);
    let duration = Duration::from_secs_f64(setup.seconds);

    flood.closed(&requests(&setup.workload, Phase::Load)?, OUTSTANDING, duration / 4).await?;
    let requests = requests(&setup.workload, Phase::Mix)?;
    let peak = flood.closed(&requests, OUTSTANDING, duration).await?.per_second();
    let (offered, answered) = flood.open(&requests, setup.overload * peak, duration).await?;
    connection.close().await.map_err(Error::while_doing(ErrorKind::Bertha, "closing"))?;
    Ok(Sample { peak, offered, answered })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_overloaded_store_still_answers() {
        let workload = Workload { records: 50, ..Workload::default() };
        match across_cores(&Setup { seconds: 0.05, overload: 2.0, workload }) {
            Err(error) if cores::usable().unwrap().len() < 2 => assert_eq!(error.kind(), ErrorKind::Core),
            sample => {
                let sample = sample.unwrap();
                assert!(sample.peak > 0.0 && sample.offered > 0.0 && sample.answered > 0.0, "{sample:?}");
            }
        }
    }
}
