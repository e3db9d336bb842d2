//! The tasks of an attached application.

use crate::attach::{Attached, send};
use crate::link::Link;
use crate::state::State;
use crate::{caller, server};
use bertha_core::{Buf, Connection, Error, ErrorKind};
use bertha_datapath_shm::ShmConnection;
use bertha_managed::Descriptor;
use bertha_managed::attach::{Answer, Grow, Role};
use bertha_managed::heap::Region;
use std::future::pending;
use std::io;
use std::sync::Arc;
use tokio::io::Interest;
use tokio::net::UnixStream;
use tokio::time::sleep_until;

/// Number of descriptors that are taken in a turn.
const TURN: usize = 64;

/// Serves an application until it goes, or breaks the protocol. Then its calls end.
pub(crate) async fn run(attached: &Attached, state: &State) -> Result<(), Error> {
    let Attached { link, socket, queue } = attached;
    let ended = tokio::select! {
        ended = receive(link, queue, state) => ended,
        ended = tell(link, queue, socket) => ended,
        ended = grow(link, socket) => ended,
    };
    state.services.remove(link);
    caller::end_all(link);
    server::end_all(link, state.now());
    ended
}

/// Takes the application's descriptors, and does what is due.
async fn receive(link: &Arc<Link>, queue: &ShmConnection, state: &State) -> Result<(), Error> {
    let (mut received, mut descriptors) = (Vec::<Buf>::with_capacity(TURN), Vec::with_capacity(TURN));
    loop {
        link.is_heard().await;
        let due = link.caller.lock().open.chain.due();
        tokio::select! {
            count = queue.recv_batch(&mut received, TURN) => count.map(drop)?,
            () = link.changed.notified() => {}
            () = async {
                match due {
                    Some(due) => sleep_until(state.instant(due)).await,
                    None => pending().await,
                }
            } => {}
        }
        for bytes in received.drain(..) {
            descriptors.push(read(&bytes)?);
        }
        match link.role {
            Role::Caller => caller::take(link, &descriptors, state.now(), &state.services),
            Role::Server => server::take(link, &descriptors, state.now()),
        }
        .map_err(|breach| broken(breach.0))?;
        descriptors.clear();
    }
}

/// Tells the application what it has to hear: of regions first, then of what lies in them.
async fn tell(link: &Link, queue: &ShmConnection, socket: &UnixStream) -> Result<(), Error> {
    let mut descriptors = Vec::new();
    loop {
        let news = link.news(&mut descriptors).await;
        for region in &news.regions {
            send(socket, Answer::Lent { bytes: region.bytes() as u64 }, Some(region.file())).await?;
        }
        if !news.regions.is_empty() {
            queue.send(bytes_of(Descriptor::Grown { bytes: news.granted as u64 })?).await?;
        }
        let mut failed = None;
        let messages = descriptors.drain(..).map_while(|descriptor| match bytes_of(descriptor) {
            Ok(bytes) => Some(bytes),
            Err(error) => {
                failed = Some(error);
                None
            }
        });
        queue.send_batch(messages).await?;
        failed.map_or(Ok(()), Err)?;
    }
}

/// Grants memory for the send heap.
async fn grow(link: &Link, socket: &UnixStream) -> Result<(), Error> {
    loop {
        let bytes = read_exact(socket).await?;
        let region = usize::try_from(Grow::read(bytes).bytes).ok().and_then(|bytes| granted(link, bytes));
        match region {
            Some(region) => {
                send(socket, Answer::Granted { bytes: region.bytes() as u64 }, Some(region.file())).await?;
            }
            None => send(socket, Answer::Full, None).await?,
        }
    }
}

/// Reads the next message of the application.
async fn read_exact(socket: &UnixStream) -> io::Result<[u8; Grow::SIZE]> {
    let (mut bytes, mut read) = ([0; Grow::SIZE], 0);
    while read < bytes.len() {
        match socket.async_io(Interest::READABLE, || socket.try_read(&mut bytes[read..])).await? {
            0 => return Err(io::ErrorKind::UnexpectedEof.into()),
            more => read += more,
        }
    }
    Ok(bytes)
}

fn granted(link: &Link, bytes: usize) -> Option<Region> {
    let region = Region::writable(bytes).ok()?;
    match link.sent.write().add(&region) {
        Ok(()) => Some(region),
        Err(error) => {
            tracing::debug!(%error, application = link.application, "a heap does not grow");
            None
        }
    }
}

fn read(bytes: &[u8]) -> Result<Descriptor, Error> {
    let read = bytes.try_into().ok().and_then(|bytes| Descriptor::read(bytes).ok());
    read.ok_or_else(|| broken("its queue has what is no descriptor"))
}

fn bytes_of(descriptor: Descriptor) -> Result<Buf, Error> {
    Buf::copy_of(&descriptor.to_bytes(), 0)
}

#[cold]
fn broken(what: &str) -> Error {
    Error::new(ErrorKind::Malformed, format!("the application does not follow the protocol: {what}"))
}
