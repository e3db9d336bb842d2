//! Latency against offered load, for both ways to route: the thesis's Figure 3.10.

use super::Wire;
use super::service::{self, Routing, Service, Shards};
use crate::{Error, ErrorKind};
use bertha::prelude::*;
use bertha_kvstore::Message;
use bertha_ycsb::connect::connect;
use bertha_ycsb::driver::{Counter, Driver, Plan};
use bertha_ycsb::generator::InsertSequence;
use bertha_ycsb::outstanding::Limits;
use bertha_ycsb::parameters::Parameters;
use bertha_ycsb::plot::{Scale, latency_by_load};
use bertha_ycsb::properties::Properties;
use bertha_ycsb::report::{Measured, Report};
use bertha_ycsb::schedule::{Arrivals, Pace};
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

/// The runs of one way to route.
pub type Line = Report;

/// Connections to the router.
const CONNECTIONS: usize = 4;

/// YCSB's workload B with messages of 132 bytes, as in the thesis.
const WORKLOAD: [(&str, &str); 9] = [
    ("recordcount", "12000"),
    ("operationcount", "0"),
    ("readproportion", "0.95"),
    ("updateproportion", "0.05"),
    ("scanproportion", "0"),
    ("insertproportion", "0"),
    ("requestdistribution", "zipfian"),
    ("fieldcount", "1"),
    ("fieldlength", "100"),
];

/// Measures latency at each of these offered loads, in operations per second.
///
/// # Errors
/// As [`across_cores`](super::across_cores).
pub fn line(routing: Routing, rates: &[f64], seconds: f64) -> Result<Line, Error> {
    service::run(routing, Shards::Store, async |service| measure(service, routing, rates, seconds).await)
}

async fn measure(service: &Service, routing: Routing, rates: &[f64], seconds: f64) -> Result<Line, Error> {
    let stack = make_stack!(ServerShard::new(service.map.clone()), Serialize::<Message, Wire>::new());
    let (mut ports, mut connections) = (Vec::new(), Vec::new());
    for _ in 0..CONNECTIONS {
        let port = connect(&stack, service.router.into()).await;
        let port = port.map_err(Error::while_doing(ErrorKind::Bertha, "connecting to the router"))?;
        connections.push(port.negotiated());
        ports.push(port);
    }
    let parameters = parameters()?;
    let (mut driver, counter) = (Driver::new(ports), Counter::default());
    let plan = |pace| Plan {
        pace,
        limits: Limits::default(),
        max_time: Some(Duration::from_secs_f64(seconds)),
        stop_together: true,
        seed: 1,
    };
    let load = driver.load(&parameters, &plan(Pace::Closed { in_flight: 64 }), &counter).await;
    let sequence = Arc::new(InsertSequence::new(parameters.records));
    let mut runs = Vec::new();
    for &rate in rates {
        let plan = plan(Pace::Open { rate, arrivals: Arrivals::Constant });
        runs.push(Measured::new(Some(rate), &driver.run(&parameters, &sequence, &plan, &counter).await));
    }
    Ok(Report {
        label: match routing {
            Routing::Decoding => "decoding every message".into(),
            Routing::Raw => "on raw bytes".into(),
        },
        workload: "B".into(),
        connections,
        load: Some(Measured::new(None, &load)),
        runs,
    })
}

fn parameters() -> Result<Parameters, Error> {
    let mut properties = Properties::default();
    for (name, value) in WORKLOAD {
        let set = properties.set(&format!("{name}={value}"));
        set.map_err(Error::while_doing(ErrorKind::Probe, "setting the workload"))?;
    }
    let (parameters, _) =
        Parameters::new(&properties).map_err(Error::while_doing(ErrorKind::Probe, "reading the workload"))?;
    Ok(parameters)
}

/// Draws the lines into an SVG file.
///
/// # Errors
/// [`ErrorKind::Report`] when the file can't be written.
pub fn draw(lines: &[Line], file: &Path) -> Result<(), Error> {
    std::fs::write(file, latency_by_load(lines, Scale::Logarithmic))
        .map_err(Error::while_doing(ErrorKind::Report, "writing the figure"))
}
