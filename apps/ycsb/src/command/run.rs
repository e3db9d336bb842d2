//! The subcommand `ycsb run`.

use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::Arc;

use bertha::chunnels::{Checksum, ClientShard, KernelShard, ServerShard, ShardMap};
use bertha::prelude::*;
use bertha::{Addr, DefaultDatapath, Settings};
use bertha_kvstore::{Message, Messages, shard_addrs, shard_map};
use bertha_plot::{Scale, latency_by_load};
use bertha_program::tls::ClientOptions;
use bertha_program::{Termination, say};
use bertha_ycsb::connect::{Sharding, connect};
use bertha_ycsb::driver::{Counter, Driver, Plan, Port};
use bertha_ycsb::generator::InsertSequence;
use bertha_ycsb::outstanding::Limits;
use bertha_ycsb::parameters::Parameters;
use bertha_ycsb::progress::watch;
use bertha_ycsb::properties::Properties;
use bertha_ycsb::report::{Measured, Report, Table};
use bertha_ycsb::schedule::{Arrivals, Pace};

use super::Failure;

#[derive(Debug, clap::Args)]
pub(crate) struct Run {
    /// A property file, such as workloads/workloadb. Later files replace properties of earlier ones.
    #[arg(short = 'P', value_name = "FILE", required = true)]
    files: Vec<PathBuf>,
    /// A property that replaces a property of the files.
    #[arg(short = 'p', value_name = "NAME=VALUE")]
    properties: Vec<String>,
    /// The address that the store listens at.
    #[arg(long, value_name = "ADDRESS")]
    server: SocketAddr,
    /// Number of shards of the store, on the ports that follow its own.
    #[arg(long, value_name = "COUNT", default_value_t = 1, value_parser = clap::value_parser!(u16).range(1..=1024))]
    shards: u16,
    /// A shard of the store that is elsewhere; repeat it in the order of the shards.
    #[arg(long, value_name = "ADDRESS", conflicts_with = "shards")]
    shard: Vec<SocketAddr>,
    /// The place where requests are routed to shards.
    #[arg(long, value_enum, default_value_t = Sharding::Either)]
    sharding: Sharding,
    #[command(flatten)]
    encryption: ClientOptions,
    /// Number of connections to the store, each driven by a task of its own.
    #[arg(long, value_name = "CONNECTIONS", default_value_t = 4, value_parser = clap::value_parser!(u16).range(1..=4096))]
    connections: u16,
    /// Offered loads in operations per second, with a run for each; without any, the property `target`, or
    /// else a closed loop.
    #[arg(long, value_name = "RATE", value_delimiter = ',', value_parser = rate)]
    rate: Vec<f64>,
    /// Spaces operations as independent users would, instead of evenly.
    #[arg(long)]
    poisson: bool,
    /// Number of operations in flight per connection in a closed loop.
    #[arg(long, value_name = "COUNT", default_value_t = 1, value_parser = clap::value_parser!(u16).range(1..))]
    in_flight: u16,
    /// Maximum number of operations in flight per connection in an open loop.
    #[arg(long, value_name = "COUNT", default_value_t = 256, value_parser = clap::value_parser!(u16).range(1..))]
    window: u16,
    /// Ends a run for all connections once any connection has sent its last request.
    #[arg(long)]
    stop_together: bool,
    /// Runs on the existing records.
    #[arg(long)]
    skip_load: bool,
    /// Seed of all random choices.
    #[arg(long, value_name = "SEED", default_value_t = 1)]
    seed: u64,
    /// Name of this report in plots.
    #[arg(long, value_name = "NAME")]
    label: Option<String>,
    /// Writes the report to this file, in JSON.
    #[arg(long, value_name = "FILE")]
    json: Option<PathBuf>,
    /// Draws latency against offered load into this SVG file.
    #[arg(long, value_name = "FILE")]
    plot: Option<PathBuf>,
}

fn rate(text: &str) -> Result<f64, String> {
    match text.parse() {
        Ok(rate) if f64::is_finite(rate) && rate > 0.0 => Ok(rate),
        _ => Err("expected operations per second, above 0".into()),
    }
}

impl Run {
    pub(crate) fn execute(self, termination: Termination) -> Result<(), Failure> {
        bertha::run(async move { termination.work(self.connect_and_measure()).await })?
    }

    async fn connect_and_measure(self) -> Result<(), Failure> {
        let parameters = self.parameters()?;
        let map = self.map()?;
        let client = ClientShard::new(map.clone());
        let server = ServerShard::new(map.clone());
        let kernel = KernelShard::new(map);
        let messages = Messages::new();
        let settings = Settings::default();
        // Each combination is a type of its own, and no bound can say that a type parameter runs over both of
        // two lower parts.
        macro_rules! over {
            ($settings:expr, $($lower:expr),+) => {
                match self.sharding {
                    Sharding::Client => self.over(make_stack!(client, $($lower),+), $settings, &parameters).await,
                    Sharding::Server => self.over(make_stack!(server, $($lower),+), $settings, &parameters).await,
                    Sharding::Kernel => self.over(make_stack!(kernel, $($lower),+), $settings, &parameters).await,
                    Sharding::Either => {
                        let routing = select!(client, kernel, server);
                        self.over(make_stack!(routing, $($lower),+), $settings, &parameters).await
                    }
                }
            };
        }
        match self.encryption.encryption(self.server.ip())? {
            None => over!(settings, messages, Checksum::new()),
            Some(encryption) => over!(encryption.settings(settings), messages, encryption.wire()),
        }
    }

    fn map(&self) -> Result<ShardMap, Failure> {
        let shards =
            if self.shard.is_empty() { shard_addrs(self.server, self.shards)? } else { self.shard.clone() };
        Ok(shard_map(shards.into_iter().map(Addr::from))?)
    }

    /// Connects with `stack`, measures and reports.
    async fn over<S>(&self, stack: S, settings: Settings, parameters: &Parameters) -> Result<(), Failure>
    where
        S: Negotiate,
        DefaultDatapath: Runs<S, Out: Connection<Data = Message>>,
    {
        let mut ports = Vec::new();
        let mut negotiated = Vec::new();
        for _ in 0..self.connections {
            let port = connect(&stack, self.server.into(), settings.clone()).await?;
            negotiated.push(port.negotiated());
            ports.push(port);
        }
        tracing::info!(connections = self.connections, "connected to the store");
        let mut driver = Driver::new(ports);
        let (load, runs) = self.measure(&mut driver, parameters).await;
        driver.close().await;
        let report = Report {
            label: self.label.clone().unwrap_or_else(|| format!("{:?} sharding", self.sharding)),
            workload: self.files.last().map_or(String::new(), |file| file.display().to_string()),
            connections: negotiated,
            load,
            runs,
        };
        self.publish(&report)?;
        match report.shortcoming(parameters.insert_count) {
            Some(shortcoming) => Err(shortcoming.into()),
            None => Ok(()),
        }
    }

    fn parameters(&self) -> Result<Parameters, Failure> {
        let mut properties = Properties::default();
        self.files.iter().try_for_each(|file| properties.read_file(file))?;
        self.properties.iter().try_for_each(|assignment| properties.set(assignment))?;
        let (parameters, warnings) = Parameters::new(&properties)?;
        warnings.iter().for_each(|warning| tracing::warn!("{warning}"));
        if parameters.operations == 0 && parameters.max_time.is_none() {
            return Err("the run has no end: set operationcount or maxexecutiontime above 0".into());
        }
        Ok(parameters)
    }

    async fn measure<P: Port>(
        &self,
        driver: &mut Driver<P>,
        parameters: &Parameters,
    ) -> (Option<Measured>, Vec<Measured>) {
        let counter = Counter::default();
        let paces = self.paces(parameters);
        let load = if self.skip_load {
            None
        } else {
            let plan = self.plan(Pace::Closed { in_flight: self.window.into() }, parameters);
            let phase = driver.load(parameters, &plan, &counter);
            Some(Measured::new(None, &watch("load", Some(parameters.insert_count), &counter, phase).await))
        };
        let sequence = Arc::new(InsertSequence::new(parameters.records));
        let total = (parameters.operations > 0).then_some(parameters.operations);
        let mut runs = Vec::new();
        for pace in paces {
            let plan = self.plan(pace, parameters);
            let phase = driver.run(parameters, &sequence, &plan, &counter);
            let offered = match pace {
                Pace::Open { rate, .. } => Some(rate),
                Pace::Closed { .. } => None,
            };
            runs.push(Measured::new(offered, &watch("run", total, &counter, phase).await));
        }
        (load, runs)
    }

    fn paces(&self, parameters: &Parameters) -> Vec<Pace> {
        let arrivals = if self.poisson { Arrivals::Poisson } else { Arrivals::Constant };
        let rates: Vec<f64> =
            if self.rate.is_empty() { parameters.target.into_iter().collect() } else { self.rate.clone() };
        if rates.is_empty() {
            return vec![Pace::Closed { in_flight: self.in_flight.into() }];
        }
        rates.into_iter().map(|rate| Pace::Open { rate, arrivals }).collect()
    }

    fn plan(&self, pace: Pace, parameters: &Parameters) -> Plan {
        Plan {
            pace,
            limits: Limits { window: self.window.max(self.in_flight).into(), ..Limits::default() },
            max_time: parameters.max_time,
            stop_together: self.stop_together,
            seed: self.seed,
        }
    }

    fn publish(&self, report: &Report) -> Result<(), Failure> {
        say(Table(report).to_string().trim_end());
        if let Some(path) = &self.json {
            report.write(path)?;
        }
        if let Some(path) = &self.plot {
            let drawn = latency_by_load(&[report.line()], Scale::Logarithmic)?;
            super::plot::write(path, &drawn)?;
        }
        Ok(())
    }
}
