//! Options by which a running program is watched: metrics for Prometheus, and the list of its connections.

mod callers;
mod endpoint;
mod hosts;
mod pages;

use bertha_core::{Error, ErrorKind};
use bertha_observe::Observer;
pub use bertha_observe::prometheus::Value;
use bertha_observe::prometheus::{Collector, ReadMetric};
use endpoint::Endpoint;
use hosts::Hosts;
use prometheus::Registry;
use std::net::SocketAddr;

/// The option by which a program tells its metrics.
#[derive(Debug, Clone, clap::Args)]
pub struct Metrics {
    /// Serves metrics for Prometheus by HTTP at this address, to everybody who reaches it
    #[arg(long, value_name = "ADDRESS")]
    metrics: Option<SocketAddr>,
    /// A name of this host by which metrics may be asked for, besides its addresses and localhost. May be given several times
    #[arg(long, value_name = "NAME", requires = "metrics")]
    metrics_name: Vec<String>,
}

/// The options by which a program with connections is watched.
#[derive(Debug, Clone, clap::Args)]
pub struct Watching {
    #[command(flatten)]
    metrics: Metrics,
    /// Shows the connections to `bertha top` of this user
    #[arg(long)]
    observe: bool,
}

/// A program that is watched, until the value is dropped.
#[must_use = "a dropped value ends the watching"]
#[derive(Debug)]
pub struct Watched {
    endpoint: Option<(Registry, Endpoint)>,
    _observer: Option<Observer>,
}

impl Watching {
    /// Begins to watch the program, which has no connection yet, and says where.
    ///
    /// # Errors
    /// Errors of listening at the address of the metrics, and errors of [`bertha_observe::observe`].
    pub fn begin(self, program: &str) -> Result<Watched, Error> {
        let observer = self.observe.then(|| bertha_observe::observe(program)).transpose()?;
        let registry = Registry::new();
        registry.register(Box::new(Collector::new())).map_err(refused)?;
        Ok(Watched { endpoint: self.metrics.open(program, registry)?, _observer: observer })
    }
}

impl Metrics {
    /// Begins to tell the metrics that the program adds, and none of connections, and says where.
    ///
    /// # Errors
    /// Errors of listening at the address.
    pub fn begin(self, program: &str) -> Result<Watched, Error> {
        Ok(Watched { endpoint: self.open(program, Registry::new())?, _observer: None })
    }

    fn open(self, program: &str, registry: Registry) -> Result<Option<(Registry, Endpoint)>, Error> {
        let Some(address) = self.metrics else { return Ok(None) };
        let endpoint = Endpoint::open(address, registry.clone(), Hosts::new(self.metrics_name))?;
        crate::say(format!("{program}: metrics at http://{}/metrics", endpoint.address()));
        Ok(Some((registry, endpoint)))
    }
}

impl Watched {
    /// Returns the address of the metrics, with the port that the system chose.
    pub fn metrics(&self) -> Option<SocketAddr> {
        self.endpoint.as_ref().map(|(_, endpoint)| endpoint.address())
    }

    /// Adds a counter of the program. `read` is called when Prometheus asks.
    ///
    /// # Errors
    /// [`ErrorKind::Invalid`] if the name is used already or can't be one.
    pub fn counter(
        &self,
        name: &str,
        help: &str,
        read: impl Fn() -> u64 + Send + Sync + 'static,
    ) -> Result<(), Error> {
        self.add(|| ReadMetric::counter(name, help, read))
    }

    /// Adds a counter with a series for each value of `label`.
    ///
    /// # Errors
    /// Errors of [`counter`](Self::counter).
    pub fn counters(
        &self,
        name: &str,
        help: &str,
        label: &str,
        read: impl Fn() -> Vec<(&'static str, u64)> + Send + Sync + 'static,
    ) -> Result<(), Error> {
        self.add(|| ReadMetric::counters(name, help, label, read))
    }

    /// Adds a number of the program that may rise and fall.
    ///
    /// # Errors
    /// Errors of [`counter`](Self::counter).
    pub fn gauge(
        &self,
        name: &str,
        help: &str,
        read: impl Fn() -> u64 + Send + Sync + 'static,
    ) -> Result<(), Error> {
        self.add(|| ReadMetric::gauge(name, help, read))
    }

    /// Adds a counter or a histogram with a series for each set of values of `labels`, in their order.
    ///
    /// # Errors
    /// Errors of [`counter`](Self::counter).
    pub fn labelled(
        &self,
        name: &str,
        help: &str,
        labels: &[&str],
        read: impl Fn() -> Vec<(Vec<String>, Value)> + Send + Sync + 'static,
    ) -> Result<(), Error> {
        self.add(|| ReadMetric::labelled(name, help, labels, read))
    }

    fn add(&self, metric: impl FnOnce() -> Result<ReadMetric, prometheus::Error>) -> Result<(), Error> {
        match &self.endpoint {
            None => Ok(()),
            Some((registry, _)) => {
                metric().and_then(|metric| registry.register(Box::new(metric))).map_err(refused)
            }
        }
    }
}

fn refused(error: prometheus::Error) -> Error {
    Error::new(ErrorKind::Invalid, format!("a metric is refused: {error}"))
}
