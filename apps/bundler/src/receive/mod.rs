//! `bertha-bundler receive`: the box at the receivers' site.

mod capture;
mod observer;

use crate::key;
use crate::prefix::Prefix;
use crate::printer::Printer;
use bertha_bundle::Receivebox;
use bertha_core::{Error, ErrorKind};
use bertha_program::values::positive_seconds;
use bertha_program::{Termination, escaped};
use capture::Capture;
use clap::Args;
use observer::Observer;
use std::net::{Ipv4Addr, Ipv6Addr, SocketAddr, UdpSocket};
use std::path::PathBuf;
use std::time::Duration;

/// The box at the receivers' site. It sees the packets that arrive at an interface, and acknowledges a few of them to the
/// sendbox; it neither delays nor changes a packet. Runs until SIGINT or SIGTERM comes; the sendbox then lets all packets pass.
#[derive(Debug, Args)]
pub(crate) struct Receiving {
    /// The interface at which the packets of the bundle arrive.
    #[arg(long, value_name = "NAME")]
    interface: String,
    /// Sources of the bundle's packets; may be repeated. Without it, all sources count.
    #[arg(long, value_name = "PREFIX")]
    from: Vec<Prefix>,
    /// Destinations of the bundle's packets, those that the sendbox routes; may be repeated.
    #[arg(long, value_name = "PREFIX", required = true)]
    to: Vec<Prefix>,
    /// The UDP address at which the sendbox hears this box.
    #[arg(long, value_name = "ADDRESS")]
    sendbox: SocketAddr,
    /// The key that both boxes share, in 16 hexadecimal digits.
    #[arg(long, value_name = "FILE")]
    key_file: PathBuf,
    /// Time between two lines of statistics, in seconds.
    #[arg(long, value_name = "SECONDS", default_value = "1", value_parser = positive_seconds)]
    interval: Duration,
    /// Prints no statistics.
    #[arg(long, conflicts_with = "interval")]
    quiet: bool,
}

impl Receiving {
    pub(crate) fn execute(self, termination: &Termination) -> Result<(), Error> {
        let key = key::read(&self.key_file)?;
        self.refuse_joining()?;
        let capture = Capture::open(&self.interface, self.from, self.to)?;
        let own: SocketAddr = match self.sendbox {
            SocketAddr::V4(_) => (Ipv4Addr::UNSPECIFIED, 0).into(),
            SocketAddr::V6(_) => (Ipv6Addr::UNSPECIFIED, 0).into(),
        };
        let socket = UdpSocket::bind(own)?;
        socket.set_nonblocking(true)?;
        // Messages of other senders are dropped by the system.
        socket.connect(self.sendbox)?;
        let printer = Printer::start((!self.quiet).then_some(self.interval))?;
        printer.print(format!("{}: acknowledges to {}", self.interface, self.sendbox));
        Observer::new(capture, socket, Receivebox::new(key, rand::random()), printer).run(termination)
    }

    /// # Errors
    /// [`Invalid`](ErrorKind::Invalid) if the interface joins packets, and if there is no such interface.
    fn refuse_joining(&self) -> Result<(), Error> {
        let interface = escaped(&self.interface);
        let offloads = bertha_interface_sys::joining(&self.interface).map_err(|error| {
            Error::new(ErrorKind::Invalid, format!("the interface `{interface}`: {error}"))
        })?;
        if offloads.is_empty() {
            return Ok(());
        }
        let off = offloads.join(" off ");
        let reason = format!(
            "the interface `{interface}` joins packets, which hides boundaries; turn that off by `ethtool -K {interface} {off} off`"
        );
        Err(Error::new(ErrorKind::Invalid, reason))
    }
}
