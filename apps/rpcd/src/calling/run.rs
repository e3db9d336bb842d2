//! The tasks of a party.

use crate::calling::attached::{Attached, send};
use crate::calling::caller::Breach;
use crate::calling::end::end;
use crate::calling::{caller, server};
use crate::messages::outbox::{Told, bytes_of};
use crate::messages::rows::way::{Way, Whole};
use crate::parties::link::Link;
use crate::state::State;
use bertha_core::{Buf, Connection, Error, ErrorKind};
use bertha_managed::Descriptor;
use bertha_managed::attach::{Answer, Grow, Role};
use bertha_managed::heap::Region;
use std::io;
use std::pin::pin;
use std::sync::Arc;
use tokio::io::Interest;
use tokio::net::UnixStream;
use tokio::task::yield_now;

/// Number of descriptors that are taken in a turn.
const TURN: usize = 64;

/// Serves an application until it goes, or breaks the protocol. Then its calls end.
pub(crate) async fn run(attached: &Attached, state: &State) -> Result<(), Error> {
    let Attached { link, socket, queue } = attached;
    let ended = tokio::select! {
        ended = receive(link, queue, state) => ended,
        ended = tell(link, queue, &Whole, Some(socket)) => ended,
        ended = grow(link, socket) => ended,
        () = link.is_detached() => Err(unsuited()),
    };
    end(link, state, "the server has gone", true);
    ended
}

/// Exchanges messages with another daemon until it goes, or breaks the protocol. Then its calls end.
pub(crate) async fn run_daemon<C: Connection<Data = Buf>, W: Way<C>>(
    link: &Arc<Link>,
    connection: &C,
    way: &W,
    state: &State,
) -> Result<(), Error> {
    link.takes_rows(W::TAKES_ROWS);
    let ended = tokio::select! {
        ended = receive(link, connection, state) => ended,
        ended = tell(link, connection, way, None) => ended,
        () = link.is_detached() => match link.role {
            Role::Caller => Err(unsuited()),
            // Calls go elsewhere.
            Role::Server => Ok(()),
        },
    };
    end(link, state, "the connection to the daemon of the server has ended", true);
    ended
}

/// Takes the party's descriptors, and does what is due.
async fn receive(link: &Arc<Link>, queue: &impl Connection<Data = Buf>, state: &State) -> Result<(), Error> {
    let (mut received, mut descriptors) = (Vec::<Buf>::with_capacity(TURN), Vec::with_capacity(TURN));
    loop {
        link.is_heard().await;
        let due = link.caller.lock().open.chain.due();
        tokio::select! {
            count = queue.recv_batch(&mut received, TURN) => count.map(drop)?,
            // An engine tells this one when a call ends, whose caller hears of it first.
            () = link.changed.told() => yield_now().await,
            () = state.until(due) => {}
        }
        for bytes in received.drain(..) {
            descriptors.push(link.read(bytes).ok_or_else(|| broken("its queue has what is no descriptor"))?);
        }
        take(link, &descriptors, state).await.map_err(|breach| broken(breach.0))?;
        if descriptors.len() == TURN {
            // It has more to say, and so may others.
            yield_now().await;
        }
        descriptors.clear();
    }
}

/// Takes descriptors, and lets other applications come in between where they take long.
async fn take(link: &Arc<Link>, mut descriptors: &[Descriptor], state: &State) -> Result<(), Breach> {
    match link.role {
        Role::Caller => {
            caller::take(link, descriptors, state.now())?;
            while !caller::carry_on(link, state) {
                yield_now().await;
            }
        }
        Role::Server => loop {
            descriptors = server::take(link, descriptors, state)?;
            if descriptors.is_empty() {
                break;
            }
            yield_now().await;
        },
    }
    Ok(())
}

/// Tells the party what it has to hear: of regions first, then of what lies in them. Only an application has them, and the socket for them.
async fn tell<C: Connection<Data = Buf>>(
    link: &Link,
    queue: &C,
    way: &impl Way<C>,
    socket: Option<&UnixStream>,
) -> Result<(), Error> {
    let mut descriptors = Vec::new();
    let mut late = pin!(link.has_waited());
    loop {
        tokio::select! {
            () = link.has_news() => {}
            () = &mut late => late.set(link.has_waited()),
        }
        let news = link.news(&mut descriptors);
        if let Some(socket) = socket {
            let mut granted = news.granted - news.regions.iter().map(Region::bytes).sum::<usize>();
            for region in &news.regions {
                granted += region.bytes();
                send(socket, Answer::Lent { bytes: region.bytes() as u64 }, Some(region.file())).await?;
                // The application takes a region when it hears of it, and the next is sent when it has.
                let grown = Descriptor::Grown { bytes: granted as u64 };
                queue.send(bytes_of(grown, queue.base())?).await?;
            }
        }
        say(link, queue, way, descriptors.drain(..)).await?;
    }
}

/// Sends messages in their order: those without rows in bursts.
async fn say<C: Connection<Data = Buf>>(
    link: &Link,
    queue: &C,
    way: &impl Way<C>,
    mut descriptors: impl Iterator<Item = Descriptor> + Send,
) -> Result<(), Error> {
    loop {
        let mut next = Ok(None);
        let burst =
            descriptors.by_ref().map_while(|descriptor| match link.told_of(descriptor, queue.base()) {
                Ok(Told::Whole(bytes)) => Some(bytes),
                Ok(Told::InParts(message)) => {
                    next = Ok(Some(message));
                    None
                }
                Err(error) => {
                    next = Err(error);
                    None
                }
            });
        queue.send_batch(burst.fuse()).await?;
        match next? {
            Some(message) => way.send(queue, message).await?,
            None => return Ok(()),
        }
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
    match link.grow(&region) {
        Ok(()) => Some(region),
        Err(error) => {
            tracing::debug!(%error, application = &*link.application, "a heap does not grow");
            None
        }
    }
}

#[cold]
fn unsuited() -> Error {
    Error::new(ErrorKind::Refused, "a policy on the service does not suit the caller's schema")
}

#[cold]
fn broken(what: &str) -> Error {
    Error::new(ErrorKind::Malformed, format!("the application does not follow the protocol: {what}"))
}
