//! `bertha tcp`: Linux's TCP under a congestion control of this program or of an agent.

use crate::output;
use bertha::ccp::{Choice, Limits};
use bertha::{Error, ErrorKind};
use bertha_ccp_tcp::TcpControl;
use bertha_program::Termination;
use clap::{Args, value_parser};
use std::time::Duration;

/// Time between two looks at the number of flows.
const LOOK: Duration = Duration::from_secs(1);

/// Puts flows of Linux's TCP under a congestion control, such as one of an agent: registers it with the kernel until SIGINT
/// or SIGTERM comes. It needs root. Any program then chooses it by the option TCP_CONGESTION of a socket, and all programs do with
/// `sysctl net.ipv4.tcp_congestion_control=NAME`. The kernel controls its flows as Reno does when this program has ended.
#[derive(Debug, Args)]
pub(crate) struct Tcp {
    /// The control of the flows: newreno, cubic, bbr, agent, agent:ALGORITHM, agent:PATH or agent:ALGORITHM@PATH.
    #[arg(long, value_name = "CONTROL", default_value = "agent")]
    congestion: Choice,
    /// The name of the control in the kernel: at most 15 letters, digits, `_` and `-`.
    #[arg(long, value_name = "NAME", default_value = "bertha_ccp", value_parser = name)]
    name: String,
    /// The largest window of a flow, in bytes.
    #[arg(long, value_name = "BYTES", default_value = "67108864", value_parser = value_parser!(u64).range(1..))]
    max_window: u64,
    /// The highest rate of a flow, in bytes per second. Without it, only the window bounds the rate.
    #[arg(long, value_name = "BYTES", value_parser = value_parser!(u64).range(1..))]
    max_rate: Option<u64>,
}

impl Tcp {
    pub(crate) async fn execute(self, termination: &Termination) -> Result<(), Error> {
        let Self { congestion, name, max_window, max_rate } = self;
        let limits = Limits { window: max_window, rate: max_rate.unwrap_or(u64::MAX) };
        let control = TcpControl::register(&name, congestion.open()?, limits)?;
        output::line(format!("{name}: flows of TCP that choose it are controlled by {congestion}"))?;
        termination.serve(show(&control)).await
    }
}

fn name(text: &str) -> Result<String, Error> {
    TcpControl::check_name(text).map(|()| text.to_owned())
}

/// Prints the number of flows when it has changed.
async fn show(control: &TcpControl) -> Result<(), Error> {
    let mut shown = 0;
    while control.is_registered() {
        let flows = control.statistics().flows;
        if flows != shown {
            output::line(format!("flows: {flows}"))?;
            shown = flows;
        }
        tokio::time::sleep(LOOK).await;
    }
    Err(Error::new(ErrorKind::Io, "the registration has ended; the log has the reason"))
}
