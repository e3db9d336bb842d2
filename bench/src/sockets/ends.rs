//! The ends of measurements that no common program makes, over the standard library's sockets.

use super::load::load;
use super::peers::{AskOptions, ServeOptions, Work};
use super::server::processor_time_of;
use crate::harness::Recorder;
use crate::{Error, ErrorKind};
use std::io::{self, Read, Write};
use std::net::{Ipv4Addr, TcpListener, TcpStream};
use std::time::{Duration, Instant};

/// Number of bytes of a request and of its reply, where no option tells another.
const MESSAGE: usize = 64;

/// Serves one connection after another, until it is killed.
///
/// # Errors
/// Errors of the sockets.
pub(crate) fn serve(options: ServeOptions) -> Result<(), Error> {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, options.port)).map_err(socket("listening"))?;
    for stream in listener.incoming() {
        let mut stream = stream.map_err(socket("accepting"))?;
        stream.set_nodelay(true).map_err(socket("accepting"))?;
        // A client that has gone is no failure of the server.
        let _gone = match (options.takes, options.every) {
            (Some(bytes), Some(every)) => take(&mut stream, bytes, every),
            _ => echo(&mut stream),
        };
    }
    Ok(())
}

fn echo(stream: &mut TcpStream) -> io::Result<()> {
    let mut buffer = [0; 64 << 10];
    loop {
        match stream.read(&mut buffer)? {
            0 => return Ok(()),
            count => stream.write_all(&buffer[..count])?,
        }
    }
}

/// Takes messages, and behind each `every` of them tells the nanoseconds of processor time that this process has had.
fn take(stream: &mut TcpStream, bytes: usize, every: u32) -> io::Result<()> {
    let mut message = vec![0; bytes];
    loop {
        for _ in 0..every {
            stream.read_exact(&mut message)?;
        }
        stream.write_all(&spent().map_err(io::Error::other)?.to_le_bytes())?;
    }
}

/// Returns the nanoseconds of processor time that this process has had.
fn spent() -> Result<u64, Error> {
    // The conversion is exact for five hundred years.
    processor_time_of(std::process::id()).map(|time| time.as_nanos() as u64)
}

/// Does the work of an end that asks.
///
/// # Errors
/// Errors of the sockets.
#[allow(clippy::print_stdout, reason = "the measuring process reads it")]
pub(crate) fn ask(options: AskOptions) -> Result<(), Error> {
    let AskOptions { work, port, count, bytes } = options;
    match work {
        Work::Ask => println!("{}", median(port, count, bytes)?),
        Work::Send => {
            let (per_second, processor_us) = send(port, count, bytes)?;
            println!("{per_second} {processor_us}");
        }
        Work::Connect => println!("{}", connections(port, count)?),
        Work::Memcached => println!("{}", load(port, count)?),
        Work::Idle => {
            let mut stream = connect(port)?;
            for _ in 0..count {
                round_trip(&mut stream)?;
            }
            // It waits in its socket, where nothing comes before it is killed.
            stream.set_read_timeout(None).map_err(socket("waiting"))?;
            stream.read_exact(&mut [0]).map_err(socket("waiting"))?;
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

fn median(port: u16, count: u32, bytes: usize) -> Result<f64, Error> {
    let mut stream = connect(port)?;
    let (message, mut reply) = (vec![7; bytes], vec![0; bytes]);
    let mut times = Recorder::new()?;
    for at in 0..count {
        let begun = Instant::now();
        exchange(&mut stream, &message, &mut reply)?;
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

/// Sends two rounds of messages, of which the first warms up and lets the connection move. Returns the messages of the second per second,
/// and the microseconds of processor time that both ends had for each.
fn send(port: u16, count: u32, bytes: usize) -> Result<(f64, f64), Error> {
    let mut stream = connect(port)?;
    let message = vec![7; bytes];
    let mut round = || {
        let (begun, own) = (Instant::now(), spent()?);
        for _ in 0..count {
            stream.write_all(&message).map_err(socket("sending"))?;
        }
        let mut of_server = [0; 8];
        stream.read_exact(&mut of_server).map_err(socket("waiting for a reply"))?;
        Ok::<_, Error>((begun.elapsed(), spent()? - own, u64::from_le_bytes(of_server)))
    };
    let (_, _, server_before) = round()?;
    let (took, own, server) = round()?;
    let processor_us = (own + server.saturating_sub(server_before)) as f64 / 1e3;
    Ok((f64::from(count) / took.as_secs_f64(), processor_us / f64::from(count)))
}

fn round_trip(stream: &mut TcpStream) -> Result<(), Error> {
    exchange(stream, &[7; MESSAGE], &mut [0; MESSAGE])
}

fn exchange(stream: &mut TcpStream, message: &[u8], reply: &mut [u8]) -> Result<(), Error> {
    stream.write_all(message).map_err(socket("asking"))?;
    stream.read_exact(reply).map_err(socket("waiting for a reply"))
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
