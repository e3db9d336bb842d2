//! Latency against offered load, for both ways to route: the thesis's Figure 3.10.

use super::Wire;
use super::service::{self, Routing, Service};
use crate::encoded::{Encoded, requests};
use crate::flood::Flood;
use crate::workload::{Phase, Workload};
use crate::{Error, ErrorKind};
use bertha::chunnels::{Serialize, ServerShard};
use bertha::prelude::*;
use bertha::{Base, Buf};
use bertha_kvstore::Message;
use bertha_ycsb::measure::Tally;
use bertha_ycsb::outstanding::{Finished, Outcome};
use bertha_ycsb::plot::{Scale, latency_by_load};
use bertha_ycsb::report::{Measured, Negotiated, Report, Row};
use bertha_ycsb::workload::Kind;
use std::path::Path;
use std::time::{Duration, Instant};
use tokio::time::timeout;

/// The runs of one way to route.
pub type Line = Report;

/// A request without a reply for so long is lost.
const PATIENCE: Duration = Duration::from_millis(50);

/// Measures how long requests take while the router is offered `rate` others per second.
///
/// One connection floods the router in an open loop, whatever comes back; another has one request on the way at any time,
/// whose round trips are the latencies. Both belong to one thread, together with the shards.
///
/// # Errors
/// As [`across_cores`](super::across_cores).
pub fn line(routing: Routing, workload: &Workload, rate: f64, seconds: f64) -> Result<Line, Error> {
    service::run(routing, async |service| measure(service, routing, workload, rate, seconds).await)
}

async fn measure(
    service: &Service,
    routing: Routing,
    workload: &Workload,
    rate: f64,
    seconds: f64,
) -> Result<Line, Error> {
    let layers = make_stack!(ServerShard::new(service.map.clone()), Serialize::<Message, Wire>::new());
    let stack = make_stack!(Encoded::like(&layers));
    let connecting =
        |error: bertha::Error| Error::new(ErrorKind::Bertha, "connecting to the router").because(error);
    let flooded = stack.connect(bertha::datapath(), service.router).await.map_err(connecting)?;
    let probed = stack.connect(bertha::datapath(), service.router).await.map_err(connecting)?;
    let requests = requests(workload, Phase::Mix)?;
    let (flood, duration) = (Flood::new(&flooded), Duration::from_secs_f64(seconds));

    // Until queues are as long as they get at this load.
    flood.open(&requests, rate, duration / 4).await?;
    let mut tally = Tally::default();
    let flooding = flood.open(&requests, rate, duration);
    let (offered, answered) = tokio::select! {
        rates = flooding => rates?,
        failed = probe(&probed, &requests, &mut tally) => return Err(failed),
    };
    let run = Measured {
        offered: Some(offered),
        throughput: answered,
        seconds,
        total: Row::new(&tally),
        kinds: Vec::new(),
        overdue: 0,
        retransmissions: 0,
        ignored: 0,
        errors: Vec::new(),
    };
    let label = match routing {
        Routing::Decoding => "decoding every message",
        Routing::Raw => "on raw bytes",
    };
    let agreed = Negotiated { stack: layers.explain().to_string(), reason: String::new() };
    Ok(Report {
        label: label.into(),
        workload: "updates of 132 bytes".into(),
        connections: vec![agreed],
        load: None,
        runs: vec![run],
    })
}

/// Has one request on the way at a time, until it is dropped or fails.
async fn probe(connection: &impl Connection<Data = Buf>, requests: &[Vec<u8>], tally: &mut Tally) -> Error {
    for request in requests.iter().cycle() {
        match timeout(PATIENCE, round_trip(connection, request)).await {
            Ok(Ok(latency)) => tally.record(&finished(latency, Outcome::Completed)),
            Ok(Err(error)) => return Error::while_doing(ErrorKind::Bertha, "probing the router")(error),
            Err(_) => tally.record(&finished(PATIENCE, Outcome::GivenUp)),
        }
    }
    Error::new(ErrorKind::Stalled, "there is nothing to ask for")
}

/// Sends a request and waits until it comes back. Late echoes of earlier ones differ from it, and are passed over.
async fn round_trip(
    connection: &impl Connection<Data = Buf>,
    request: &[u8],
) -> Result<Duration, bertha::Error> {
    let mut message = connection.base().buffer(request.len())?;
    message.copy_from_slice(request);
    let sent = Instant::now();
    connection.send(message).await?;
    while *connection.recv().await? != *request {}
    Ok(sent.elapsed())
}

fn finished(latency: Duration, outcome: Outcome) -> Finished {
    Finished { kind: Kind::Update, inserts: None, latency, outcome }
}

/// Draws the lines into an SVG file.
///
/// # Errors
/// [`ErrorKind::Report`] when the file can't be written.
pub fn draw(lines: &[Line], file: &Path) -> Result<(), Error> {
    std::fs::write(file, latency_by_load(lines, Scale::Logarithmic))
        .map_err(Error::while_doing(ErrorKind::Report, "writing the figure"))
}
