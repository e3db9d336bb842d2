//! `kvstore`: a sharded key-value store that YCSB clients can load.

mod command;

use bertha_program::{exit, log};
use clap::Parser;
use command::Arguments;
use std::process::ExitCode;

fn main() -> ExitCode {
    log::to_stderr();
    exit::logged(Arguments::parse().execute())
}
