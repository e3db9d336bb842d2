//! Taking an application.

use crate::calling::attached::{Attached, send};
use crate::calling::end::end;
use crate::doors::lobby::Visitor;
use crate::parties::link::Link;
use crate::parties::reserved_names;
use crate::state::State;
use bertha_core::{Error, ErrorKind};
use bertha_datapath_shm::{Shm, ShmConnection, Users};
use bertha_managed::attach::{Answer, Hello};
use bertha_runtime::tokio::Credentials;
use bertha_runtime::tokio::descriptors::refuse;
use rustix::net::sockopt::set_socket_send_buffer_size;
use std::io;
use std::os::unix::net::UnixStream as StdStream;
use std::sync::Arc;
use std::time::Duration;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::UnixStream;
use tokio::time::timeout;

/// Time that an application has to say what it wants.
const SAID: Duration = Duration::from_secs(5);

/// The reason of an application that is heard no more.
const GIVEN_UP: &str = "the daemon has many newcomers, and this one said nothing for longest";

/// Hears what an application wants, and makes the party that it is, or refuses it with the reason.
pub(crate) async fn hear(
    socket: &mut UnixStream,
    visitor: Visitor,
    state: &State,
) -> Result<Arc<Link>, Error> {
    refuse(&*socket)?;
    let prepared = tokio::select! {
        prepared = timeout(SAID, prepare(socket, &visitor, state)) => prepared,
        () = visitor.given_up() => Ok(Err(Error::new(ErrorKind::Exhausted, GIVEN_UP))),
    };
    match prepared {
        Ok(Ok(link)) => Ok(link),
        Ok(Err(reason)) => {
            tell_in_time(socket, &reason).await;
            Err(reason)
        }
        Err(_) => Err(Error::new(ErrorKind::TimedOut, "an application said nothing")),
    }
}

/// Takes an application, whose party this is.
pub(crate) async fn share(link: Arc<Link>, mut socket: UnixStream, state: &State) -> Result<Attached, Error> {
    let ends = StdStream::pair().map_err(|error| {
        Error::new(ErrorKind::Io, format!("the daemon has no room for an application: {error}"))
    });
    if let Err(reason) = &ends {
        tell_in_time(&mut socket, reason).await;
    }
    let connected = async { connect(socket, ends?, state).await };
    match connected.await {
        Ok((socket, queue)) => Ok(Attached { link, socket, queue }),
        Err(error) => {
            // A server may have been given calls, and has heard of none.
            end(&link, state, "the server has gone", false);
            Err(error)
        }
    }
}

async fn prepare(socket: &mut UnixStream, visitor: &Visitor, state: &State) -> Result<Arc<Link>, Error> {
    let peer = Credentials::of_peer(&*socket)?;
    if !state.users.contain(peer.user) {
        return Err(refused(format!("the daemon takes no applications of user {}", peer.user)));
    }
    let mut header = [0; Hello::HEADER];
    socket.read_exact(&mut header).await?;
    let mut rest = vec![0; Hello::rest(&header).map_err(refused)?];
    socket.read_exact(&mut rest).await?;
    visitor.leave();
    let mut hello = Hello::read(&header, &rest).map_err(refused)?;
    drop(rest);
    reserved_names::check(&hello)?;
    let typed = state.typed(std::mem::take(&mut hello.descriptors)).await?;
    let link = Link::application(hello, typed, state.heap, state.services.common())?;
    state.services.add(&link).map_err(refused)?;
    Ok(link)
}

/// Passes the socket of the queue on, and shares the queue's memory. Both sockets wake this thread from now on, and not the one that took the
/// application.
async fn connect(
    socket: UnixStream,
    (ours, theirs): (StdStream, StdStream),
    state: &State,
) -> Result<(UnixStream, ShmConnection), Error> {
    let socket = UnixStream::from_std(socket.into_std()?)?;
    // The least that the kernel has, which is room for few answers.
    set_socket_send_buffer_size(&socket, 1).map_err(io::Error::from)?;
    send(&socket, Answer::Taken, Some(std::os::fd::AsFd::as_fd(&theirs))).await?;
    drop(theirs);
    // The user was checked; the socket is of this process.
    let queue = Shm::new().users(Users::Any).waiting(state.waiting).take(ours).await?;
    Ok((socket, queue))
}

/// Tells an application why it is not taken, which may be gone, or not read.
async fn tell_in_time(socket: &mut UnixStream, reason: &Error) {
    let _told = timeout(SAID, tell(socket, &reason.to_string())).await;
}

async fn tell(socket: &mut UnixStream, reason: &str) -> io::Result<()> {
    let mut end = reason.len().min(Answer::LONGEST);
    while !reason.is_char_boundary(end) {
        end -= 1;
    }
    let text = &reason.as_bytes()[..end];
    send(socket, Answer::Refused { text: text.len() as u32 }, None).await?;
    socket.write_all(text).await?;
    socket.shutdown().await
}

fn refused(reason: impl ToString) -> Error {
    Error::new(ErrorKind::Refused, reason.to_string())
}
