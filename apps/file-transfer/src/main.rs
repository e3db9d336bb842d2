//! The program `file-transfer`: it sends files, checks them, and continues where a broken connection left
//! off.

mod command;

use bertha_program::{exit, log};
use clap::Parser;
use command::Arguments;
use std::process::ExitCode;

fn main() -> ExitCode {
    log::to_stderr();
    exit::logged(Arguments::parse().execute())
}
