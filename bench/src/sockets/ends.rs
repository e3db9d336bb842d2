//! The ends of measurements that no common program makes, over the standard library's sockets.

use super::load::load;
use super::peers::{AskOptions, ServeOptions, Work};
use crate::harness::Recorder;
use crate::{Error, ErrorKind};
use std::io::{self, Read, Write};
use std::net::{Ipv4Addr, TcpListener, TcpStream};
use std::time::{Duration, Instant};

/// Number of bytes of a request and of its reply.
const MESSAGE: usize = 64;

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
        Work::Memcached => println!("{}", load(port, count)?),
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

fn connect(port: u16) -> Result<TcpStream, Error> {
    let stream = TcpStream::connect((Ipv4Addr::LOCALHOST, port)).map_err(socket("connecting"))?;
    stream.set_nodelay(true).map_err(socket("connecting"))?;
    stream.set_read_timeout(Some(Duration::from_secs(60))).map_err(socket("connecting"))?;
    Ok(stream)
}

fn socket(doing: &'static str) -> impl FnOnce(io::Error) -> Error {
    Error::while_doing(ErrorKind::Socket, doing)
}
