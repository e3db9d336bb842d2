//! The ends of measurements that no common program makes: processes of this program, over the standard library's sockets.

use super::ways::Way;
use crate::harness::Recorder;
use crate::{Error, ErrorKind};
use std::io::{Read, Write};
use std::net::{Ipv4Addr, TcpListener, TcpStream};
use std::path::PathBuf;
use std::process::Command;
use std::time::{Duration, Instant};

/// Number of bytes of a request and of its reply.
const MESSAGE: usize = 64;

#[derive(Clone, Copy, Debug, clap::Args)]
pub(crate) struct ServeOptions {
    port: u16,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum Work {
    /// One connection, which waits for each reply: prints the median in microseconds
    Ask,
    /// Connections of one request each: prints their number per second
    Connect,
    /// GET and SET of memcached by 50 connections: prints their number per second
    Memcached,
    /// A connection with so many requests, which is then unused until the process is killed
    Idle,
    /// So many requests, for the instruction counter: prints nothing
    Calls,
}

#[derive(Clone, Copy, Debug, clap::Args)]
pub(crate) struct AskOptions {
    work: Work,
    port: u16,
    count: u32,
}

/// Returns the path of this program.
///
/// # Errors
/// [`ErrorKind::Core`] if the system does not tell.
pub(super) fn this_program() -> Result<PathBuf, Error> {
    std::env::current_exe().map_err(Error::while_doing(ErrorKind::Core, "finding the running program"))
}

/// Returns the command of an end that serves.
pub(super) fn serving(way: Way, port: u16) -> Result<Command, Error> {
    let mut command = way.command(this_program()?)?;
    command.args(["sockets-serve", &port.to_string()]);
    Ok(command)
}

/// Returns the command of an end that asks.
pub(super) fn asking(way: Way, work: Work, port: u16, count: u32) -> Result<Command, Error> {
    let mut command = way.command(this_program()?)?;
    command.arg("sockets-ask").args(words(work, port));
    command.arg(count.to_string());
    Ok(command)
}

/// Returns the words before the number of requests.
pub(super) fn words(work: Work, port: u16) -> [String; 2] {
    let value = clap::ValueEnum::to_possible_value(&work);
    [value.map(|it| it.get_name().to_owned()).unwrap_or_default(), port.to_string()]
}

/// Runs an end that asks, and returns the number it prints.
pub(super) fn answer(mut command: Command) -> Result<f64, Error> {
    let output = command.output().map_err(Error::while_doing(ErrorKind::Core, "starting an end"))?;
    let number = String::from_utf8_lossy(&output.stdout).trim().parse();
    number.map_err(|_| super::failed("an end", &output))
}

/// Serves an echo to one connection after another, until it is killed.
///
/// # Errors
/// Errors of the sockets.
pub(crate) fn serve(options: ServeOptions) -> Result<(), Error> {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, options.port)).map_err(socket("listening"))?;
    let mut buffer = [0; 64 << 10];
    for stream in listener.incoming() {
        let mut stream = stream.map_err(socket("accepting"))?;
        stream.set_nodelay(true).map_err(socket("accepting"))?;
        // A client that has gone is no failure of the server.
        while let Ok(count @ 1..) = stream.read(&mut buffer) {
            if stream.write_all(&buffer[..count]).is_err() {
                break;
            }
        }
    }
    Ok(())
}

/// Does the work of an end that asks.
///
/// # Errors
/// Errors of the sockets.
#[allow(clippy::print_stdout, reason = "the measuring process reads it")]
pub(crate) fn ask(options: AskOptions) -> Result<(), Error> {
    let AskOptions { work, port, count } = options;
    match work {
        Work::Ask => println!("{}", median(port, count)?),
        Work::Connect => println!("{}", connections(port, count)?),
        Work::Memcached => println!("{}", super::memcached::load(port, count)?),
        Work::Idle => {
            let mut stream = connect(port)?;
            for _ in 0..count {
                round_trip(&mut stream)?;
            }
            loop {
                std::thread::park();
            }
        }
        Work::Calls => {
            let mut stream = connect(port)?;
            for _ in 0..count {
                round_trip(&mut stream)?;
            }
        }
    }
    Ok(())
}

fn median(port: u16, count: u32) -> Result<f64, Error> {
    let mut stream = connect(port)?;
    let mut times = Recorder::new()?;
    for at in 0..count {
        let begun = Instant::now();
        round_trip(&mut stream)?;
        // The first tenth warms up, and lets the connection move.
        if at >= count / 10 {
            times.record(begun.elapsed());
        }
    }
    Ok(times.summary().p50_us)
}

fn connections(port: u16, count: u32) -> Result<f64, Error> {
    let begun = Instant::now();
    for _ in 0..count {
        round_trip(&mut connect(port)?)?;
    }
    Ok(f64::from(count) / begun.elapsed().as_secs_f64())
}

fn round_trip(stream: &mut TcpStream) -> Result<(), Error> {
    let mut reply = [0; MESSAGE];
    stream.write_all(&[7; MESSAGE]).map_err(socket("asking"))?;
    stream.read_exact(&mut reply).map_err(socket("waiting for a reply"))
}

pub(super) fn connect(port: u16) -> Result<TcpStream, Error> {
    let stream = TcpStream::connect((Ipv4Addr::LOCALHOST, port)).map_err(socket("connecting"))?;
    stream.set_nodelay(true).map_err(socket("connecting"))?;
    stream.set_read_timeout(Some(Duration::from_secs(60))).map_err(socket("connecting"))?;
    Ok(stream)
}

pub(super) fn socket(doing: &'static str) -> impl FnOnce(std::io::Error) -> Error {
    Error::while_doing(ErrorKind::Socket, doing)
}
