//! `bertha-bundler send`: the box at the senders' site.

mod counts;
mod forwarder;
mod line;
mod routes;

use crate::failure::at;
use crate::key;
use crate::prefix::Prefix;
use crate::printer::Printer;
use bertha_bundle::{Bundle, Priorities, Scheduling, Sendbox};
use bertha_ccp::{BundleControl, Choice};
use bertha_core::{Error, ErrorKind};
use bertha_program::values::positive_seconds;
use bertha_program::{Termination, escaped};
use clap::{Args, ValueEnum};
use forwarder::Forwarder;
use routes::Routes;
use std::net::{SocketAddr, UdpSocket};
use std::path::PathBuf;
use std::time::Duration;

/// The box at the senders' site. It makes a TUN device, takes the packets that are routed to it, and gives them back to the system in the
/// order and at the rate that it chooses. Prints the routes that the device needs, or sets them itself. Runs until
/// SIGINT or SIGTERM comes; packets then take their former route.
#[derive(Debug, Args)]
pub(crate) struct Sending {
    /// The name of the device.
    #[arg(long, value_name = "NAME", default_value = "bundle0")]
    device: String,
    /// Destinations of the bundle, whose routes and rules the box sets and removes; may be repeated.
    #[arg(long = "route", value_name = "PREFIX")]
    routes: Vec<Prefix>,
    /// The UDP address at which the box hears the receivebox.
    #[arg(long, value_name = "ADDRESS")]
    listen: SocketAddr,
    /// The key that both boxes share, in 16 hexadecimal digits.
    #[arg(long, value_name = "FILE")]
    key_file: PathBuf,
    /// The control of the rate: agent:copa, agent:nimbus, or any other algorithm of an agent; newreno, cubic or bbr.
    #[arg(long, value_name = "CONTROL", default_value = "agent:copa")]
    congestion: Choice,
    /// The order in which packets leave.
    #[arg(long, value_enum, value_name = "NAME", default_value_t = Order::Sfq)]
    scheduling: Order,
    /// A port that goes first with `--scheduling priority`, in place of code points; may be repeated, the highest class first.
    #[arg(long = "first", value_name = "PORT")]
    first: Vec<u16>,
    /// The largest number of bytes that wait: room for one packet at least.
    #[arg(long, value_name = "BYTES", default_value = "4194304", value_parser = clap::value_parser!(u64).range(65_536..))]
    buffer: u64,
    /// Time between two lines of statistics, in seconds.
    #[arg(long, value_name = "SECONDS", default_value = "1", value_parser = positive_seconds)]
    interval: Duration,
    /// Prints no statistics.
    #[arg(long, conflicts_with = "interval")]
    quiet: bool,
}

/// The name of an order.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Order {
    /// In the order of arrival.
    Fifo,
    /// Flows take turns (stochastic fair queueing).
    Sfq,
    /// The highest class first: by differentiated services code points, or by the ports of `--first`.
    Priority,
}

impl Sending {
    pub(crate) fn execute(self, termination: &Termination) -> Result<(), Error> {
        let scheduling = self.scheduling()?;
        let bundle = Bundle { scheduling, buffer: self.buffer, key: key::read(&self.key_file)? };
        let algorithm = self.congestion.open_or(BundleControl::UNLIMITED)?;
        let device = bertha_interface_sys::tun(&self.device)
            .map_err(|error| at(error, format!("making the device `{}`", escaped(&self.device))))?;
        let mtu = bertha_interface_sys::mtu(&self.device)?;
        let socket = UdpSocket::bind(self.listen)
            .and_then(|socket| socket.set_nonblocking(true).map(|()| socket))
            .map_err(|error| at(error, format!("hearing the receivebox at {}", self.listen)))?;
        let address = socket.local_addr()?;
        let printer = Printer::start((!self.quiet).then_some(self.interval))?;
        let routes = Routes::new(&self.device, self.routes);
        routes.advise(|line| printer.print(line));
        let _set_until_the_end = routes.set(termination)?;
        printer.print(format!("{} at {address}: {}", self.device, self.congestion));
        let control = BundleControl::new(&algorithm, u64::from(mtu));
        Forwarder::new(device, socket, Sendbox::new(bundle), control, printer).run(termination)
    }

    fn scheduling(&self) -> Result<Scheduling, Error> {
        if !self.first.is_empty() && self.scheduling != Order::Priority {
            return Err(Error::new(ErrorKind::Invalid, "`--first` needs `--scheduling priority`"));
        }
        Ok(match self.scheduling {
            Order::Fifo => Scheduling::Fifo,
            Order::Sfq => Scheduling::FairAmongFlows,
            Order::Priority if self.first.is_empty() => Scheduling::Priority(Priorities::CodePoints),
            Order::Priority => Scheduling::Priority(Priorities::Ports(self.first.clone())),
        })
    }
}
