//! The echo in Rust, over stacks that are boxed, as a program has them that learns its stack at run time.

use super::{BYTES, STACK, address};
use crate::{Error, ErrorKind};
use bertha::kernel::Udp;
use bertha::prelude::*;
use bertha::shm::Shm;
use bertha::{Addr, Base, Buf, Datapath};
use bertha_named::{Keys, Side, Stack};
use std::pin::pin;
use std::task::{Context, Poll, Waker};
use tokio::runtime::Builder;

/// Echoes messages, `count` at a time.
///
/// # Errors
/// Errors of the connections.
pub(super) fn echo(datapath: &str, count: usize, rounds: u64) -> Result<(), Error> {
    // The runtime is that of the library for C.
    let runtime = Builder::new_multi_thread()
        .enable_all()
        .build()
        .map_err(Error::while_doing(ErrorKind::Core, "building a tokio runtime"))?;
    let (address, _folder) = address(datapath)?;
    let echoes = async {
        match datapath {
            "udp" => over(Udp::new(), &address, count, rounds).await,
            _ => over(Shm::new(), &address, count, rounds).await,
        }
    };
    // A budget of tokio would end after so many polls, since the echoes never give the thread back.
    runtime
        .block_on(tokio::task::unconstrained(echoes))
        .map_err(Error::while_doing(ErrorKind::Bertha, "echoing in Rust"))
}

async fn over<D: Datapath + Clone>(
    datapath: D,
    address: &str,
    count: usize,
    rounds: u64,
) -> Result<(), bertha::Error> {
    let text: Stack = STACK.parse().map_err(bertha::Error::from)?;
    let keys = Keys::default();
    let mut incoming =
        text.build_on(&datapath, &keys, Side::Server)?.listen(datapath.clone(), address).await?;
    let at: Addr = incoming.local_addr();
    let stack = text.build_on(&datapath, &keys, Side::Client { host: "localhost" })?;
    let (client, server) = tokio::join!(stack.connect(datapath, at), incoming.next_or_refusal());
    let (client, Some(server)) = (client?, server.transpose()?) else { return Ok(()) };
    for _ in 0..rounds {
        if count == 1 {
            one(&client, &server)?;
        } else {
            many(&client, &server, count)?;
        }
    }
    Ok(())
}

fn message(connection: &impl Connection<Data = Buf>) -> Result<Buf, bertha::Error> {
    let mut message = connection.base().buffer(BYTES)?;
    message.copy_from_slice(&[7; BYTES]);
    Ok(message)
}

/// Sends a message and its echo.
fn one(
    client: &impl Connection<Data = Buf>,
    server: &impl Connection<Data = Buf>,
) -> Result<(), bertha::Error> {
    let mut place = [0; BYTES];
    polled(client.send(message(client)?))?;
    place.copy_from_slice(&polled(server.recv())?);
    let mut answer = server.base().buffer(BYTES)?;
    answer.copy_from_slice(&place);
    polled(server.send(answer))?;
    place.copy_from_slice(&polled(client.recv())?);
    Ok(())
}

/// Sends a burst and its echo, without copies.
fn many(
    client: &impl Connection<Data = Buf>,
    server: &impl Connection<Data = Buf>,
    count: usize,
) -> Result<(), bertha::Error> {
    let mut burst = Vec::with_capacity(count);
    for _ in 0..count {
        burst.push(message(client)?);
    }
    polled(client.send_batch(burst.drain(..)))?;
    while burst.len() < count {
        polled(server.recv_batch(&mut burst, count))?;
    }
    polled(server.send_batch(burst.drain(..)))?;
    while burst.len() < count {
        polled(client.recv_batch(&mut burst, count))?;
    }
    Ok(())
}

/// Polls a future until it is ready.
fn polled<F: Future>(future: F) -> F::Output {
    let mut future = pin!(future);
    loop {
        if let Poll::Ready(outcome) = future.as_mut().poll(&mut Context::from_waker(Waker::noop())) {
            return outcome;
        }
        // Threads of the runtime have their turn, also under a counter, which runs one thread at a time.
        std::thread::yield_now();
    }
}
