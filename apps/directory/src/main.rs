//! `bertha-directory`: the directory of a machine, which tells services of the same machine about each other.

mod command;

use bertha_program::{exit, log};
use clap::Parser;
use command::Arguments;
use std::process::ExitCode;

#[tokio::main(flavor = "current_thread")]
async fn main() -> ExitCode {
    log::to_stderr();
    exit::printed("bertha-directory", Arguments::parse().execute().await)
}
