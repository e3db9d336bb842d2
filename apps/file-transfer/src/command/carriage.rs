//! The datapath and the transport that carry files.

#[cfg(feature = "quic")]
use super::transport::Transport;
use bertha::ccp::Choice;
use bertha::chunnels::Fault;
use bertha::kernel::{Tcp, Unix};
use bertha::prelude::*;
use bertha::{ErrorKind, Settings};
use bertha_file_transfer::stack::{
    encrypted_over_datagrams, encrypted_over_streams, over_datagrams, over_streams, reliable,
};
use bertha_file_transfer::{Error, Message};
use bertha_program::tls::Encryption;
use bertha_program::values::positive_seconds;
use clap::{Args, ValueEnum};
use std::time::Duration;

/// The datapath, and its settings.
#[derive(Clone, Debug, Args)]
pub(super) struct Carriage {
    /// The transport below; both ends must choose the same transport
    #[arg(long, value_enum, default_value_t)]
    datapath: Bottom,
    /// Length of a packet over UDP, in bytes; more than 1,400 are fragmented on most paths
    #[arg(long, value_name = "BYTES", default_value_t = 1352, value_parser = clap::value_parser!(u16).range(256..=60_000))]
    packet: u16,
    /// Time after which a silent peer is given up, in seconds, also while connecting
    #[arg(long, default_value = "10", value_name = "SECONDS", value_parser = positive_seconds)]
    timeout: Duration,
    /// How fast this end sends over udp and unix: newreno, cubic, bbr, or an agent: agent, agent:ALGORITHM,
    /// agent:SOCKET or agent:ALGORITHM@SOCKET. Each end chooses its own
    #[arg(long, value_name = "CONTROL", default_value = "bbr")]
    congestion: Choice,
    #[cfg(feature = "quic")]
    #[command(flatten)]
    transport: Transport,
    #[command(flatten)]
    faults: Faults,
}

/// Options that imitate a bad network.
#[derive(Clone, Copy, Debug, Args)]
#[command(next_help_heading = "A bad network, for trying things out (over udp and unix)")]
struct Faults {
    /// Loses this share of the packets that this end sends
    #[arg(long, default_value_t = 0.0, value_name = "SHARE", value_parser = share)]
    lose: f64,
    /// Delays packets by this time, in milliseconds
    #[arg(long, default_value_t = 0, value_name = "MILLISECONDS")]
    delay: u64,
    /// The seed of the losses
    #[arg(long, value_name = "SEED", default_value_t = 1)]
    seed: u64,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
enum Bottom {
    /// UDP; Chunnels order, split and repeat messages
    #[default]
    Udp,
    /// TCP, which orders, splits and repeats by itself
    Tcp,
    /// Datagrams between processes of a machine
    Unix,
}

/// A task for which the options choose the stack and the datapath.
pub(super) trait Task: Send {
    /// Returns true if the task accepts connections.
    fn is_server(&self) -> bool;

    /// Runs the task over this stack and this datapath.
    fn run<S, D>(
        self,
        stack: S,
        datapath: D,
        settings: Settings,
    ) -> impl Future<Output = Result<(), Error>> + Send
    where
        S: Negotiate + 'static,
        D: Runs<S, Out: Connection<Data = Message>> + Clone;
}

impl Carriage {
    pub(super) async fn carry(self, task: impl Task, encryption: Option<Encryption>) -> Result<(), Error> {
        let timeout = self.timeout;
        let mut settings = Settings::default().idle_timeout(timeout);
        // A receiver waits as long as usual for newcomers, which may be far away.
        if !task.is_server() {
            settings.handshake_timeout = timeout;
        }
        // No packet exceeds a datagram of Unix sockets, and none is fragmented there.
        let packet = if self.datapath == Bottom::Unix { 60_000 } else { usize::from(self.packet) };
        // The datapath is the kernel's, or a DPDK port if the program is built so.
        let udp = bertha::datapath();
        if let Some(encryption) = encryption {
            return self.encrypted(task, &encryption, packet, settings).await;
        }
        #[cfg(feature = "quic")]
        if self.transport.is_by_quic() {
            let faults = self.faults.get();
            if self.datapath == Bottom::Tcp {
                let what = "--transport is for datagrams; use --datapath udp or unix";
                return Err(bertha::Error::new(ErrorKind::Invalid, what).into());
            }
            let quic = self.transport.quic(self.packet, timeout, task.is_server())?;
            return match self.datapath {
                Bottom::Unix => {
                    task.run(quic.over(&Unix::new(), packet, faults), Unix::new(), settings).await
                }
                _ => task.run(quic.over(&udp, packet, faults), udp, settings).await,
            };
        }
        let reliable = reliable(packet, timeout).with(self.congestion.open()?);
        let sound = over_datagrams(packet, make_stack!(reliable.clone()));
        let Some(faults) = self.faults.get() else {
            return match self.datapath {
                Bottom::Udp => task.run(sound, udp, settings).await,
                Bottom::Unix => task.run(sound, Unix::new(), settings).await,
                Bottom::Tcp => task.run(over_streams(), Tcp::new(), settings).await,
            };
        };
        let faulty = over_datagrams(packet, make_stack!(reliable, faults));
        match self.datapath {
            Bottom::Udp => task.run(faulty, udp, settings).await,
            Bottom::Unix => task.run(faulty, Unix::new(), settings).await,
            Bottom::Tcp => {
                let what = "--lose and --delay are for datagrams; use --datapath udp or unix";
                Err(bertha::Error::new(ErrorKind::Invalid, what).into())
            }
        }
    }
}

/// Runs the task over TLS above this transport, or, unless encryption is required, over TLS or the plain stack.
macro_rules! over_datagrams_encrypted {
    ($task:expr, $encryption:expr, $packet:expr, $transport:expr, $datapath:expr, $settings:expr) => {{
        let encrypted = encrypted_over_datagrams($encryption.tls(), $transport);
        match $encryption.is_required() {
            true => $task.run(encrypted, $datapath, $settings).await,
            false => {
                let either = make_stack!(select!(encrypted, over_datagrams($packet, $transport)));
                $task.run(either, $datapath, $settings).await
            }
        }
    }};
}

impl Carriage {
    async fn encrypted(
        self,
        task: impl Task,
        encryption: &Encryption,
        packet: usize,
        settings: Settings,
    ) -> Result<(), Error> {
        let settings = encryption.settings(settings);
        let control = self.congestion.open()?;
        let reliable = || reliable(packet, self.timeout).with(control.clone());
        match (self.datapath, self.faults.get()) {
            (Bottom::Tcp, Some(_)) => {
                let what = "--lose and --delay are for datagrams; use --datapath udp or unix";
                Err(bertha::Error::new(ErrorKind::Invalid, what).into())
            }
            (Bottom::Tcp, None) => {
                let encrypted = encrypted_over_streams(encryption.tls());
                match encryption.is_required() {
                    true => task.run(encrypted, Tcp::new(), settings).await,
                    false => {
                        task.run(make_stack!(select!(encrypted, over_streams())), Tcp::new(), settings).await
                    }
                }
            }
            (Bottom::Udp, None) => {
                over_datagrams_encrypted!(
                    task,
                    encryption,
                    packet,
                    make_stack!(reliable()),
                    bertha::datapath(),
                    settings
                )
            }
            (Bottom::Udp, Some(faults)) => {
                over_datagrams_encrypted!(
                    task,
                    encryption,
                    packet,
                    make_stack!(reliable(), faults),
                    bertha::datapath(),
                    settings
                )
            }
            (Bottom::Unix, None) => {
                over_datagrams_encrypted!(
                    task,
                    encryption,
                    packet,
                    make_stack!(reliable()),
                    Unix::new(),
                    settings
                )
            }
            (Bottom::Unix, Some(faults)) => {
                over_datagrams_encrypted!(
                    task,
                    encryption,
                    packet,
                    make_stack!(reliable(), faults),
                    Unix::new(),
                    settings
                )
            }
        }
    }
}

impl Faults {
    fn get(self) -> Option<Fault> {
        let any = self.lose > 0.0 || self.delay > 0;
        any.then(|| Fault::new(self.seed).loss(self.lose).delay(Duration::from_millis(self.delay)))
    }
}

fn share(text: &str) -> Result<f64, String> {
    match text.parse() {
        Ok(share) if (0.0..1.0).contains(&share) => Ok(share),
        _ => Err("a share is a number from 0 to less than 1".into()),
    }
}
