//! The runtime of a sample.

use crate::{Error, ErrorKind};
use bertha_datapath_caladan::Config;

/// Address of the server.
pub(crate) const ADDRESS: &str = "10.77.0.2:7";

/// Returns the settings of a runtime, whose address is the address of both ends.
pub(crate) fn config(threads: u16) -> Config {
    Config { threads, ..Config::new("10.77.0.2/24") }
}

pub(crate) fn failed(error: bertha_core::Error) -> Error {
    Error::while_doing(ErrorKind::Bertha, "running over Caladan")(error)
}
