//! A file transfer within a single runtime of Caladan.

use super::bertha::{Ends, within_one_runtime};
use super::{Setup, unrepaired};
use crate::Error;
use crate::caladan::{ADDRESS, config, failed};
use crate::harness::{ETHERNET, runtime};
use bertha_core::Addr;
use bertha_datapath_caladan::{Bridged, Caladan, run as run_over_caladan};
use clap::{Args, ValueEnum};

#[derive(Clone, Copy, Debug, Args)]
pub(crate) struct Options {
    #[arg(long)]
    how: How,
    #[arg(long, default_value_t = 10_000_000)]
    bytes: usize,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
enum How {
    /// Datagrams through a Chunnel that does nothing.
    Nothing,
    /// The whole transport.
    Whole,
    /// The whole transport on tokio, with Caladan beside it.
    Bridged,
}

pub(crate) fn run(options: Options) -> Result<f64, Error> {
    let at: Addr = ADDRESS.parse().map_err(failed)?;
    let setup = Setup { connections: 1, bytes: options.bytes, datagram: ETHERNET };
    let ends = Ends { server: Caladan::new(), client: Caladan::new(), at: at.clone() };
    match options.how {
        How::Nothing => {
            run_over_caladan(&config(1), unrepaired::within_one_runtime(ends, setup)).map_err(failed)?
        }
        How::Whole => run_over_caladan(&config(1), within_one_runtime(ends, setup)).map_err(failed)?,
        How::Bridged => {
            let bridged = Bridged::over(Caladan::new(), &config(2));
            let ends = Ends { server: bridged.clone(), client: bridged, at };
            runtime()?.block_on(within_one_runtime(ends, setup))
        }
    }
}
