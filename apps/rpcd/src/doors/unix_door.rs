//! A Unix socket at which parties come in.

use crate::admission::not_taken_counts::Door;
use crate::admission::refusals::NotTaken;
use crate::doors::lobby::{Lobby, Visitor};
use bertha_core::Error;
use bertha_program::cannot_listen;
use bertha_runtime::tokio::{Credentials, SocketFile};
use rustix::net::{AddressFamily, SocketFlags, SocketType, socket_with};
use std::convert::Infallible;
use std::fs::{File, Permissions, set_permissions};
use std::os::unix::fs::PermissionsExt;
use std::os::unix::net::UnixListener as StdListener;
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};
use tokio::net::{UnixListener, UnixStream};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::task::JoinSet;
use tokio::time::sleep;

/// Number of parties that wait in the kernel to be taken.
const BACKLOG: i32 = 1024;

/// Time after a failure of the system to accept.
const PAUSE: Duration = Duration::from_millis(20);

/// Time in which the descriptor of a connection that is given up is there again.
const SOON: Duration = Duration::from_millis(1);

/// A Unix socket, whose file goes with it.
#[derive(Debug)]
pub(crate) struct UnixDoor {
    door: Door,
    socket: UnixListener,
    lobby: Lobby,
    _file: SocketFile,
}

impl UnixDoor {
    /// Listens at a path, which all users may open whom its folder lets in, or those alone whom the mask of this process leaves. So many
    /// connections may have said nothing yet.
    pub(crate) fn bind(door: Door, path: &Path, is_for_others: bool, waiting: usize) -> Result<Self, Error> {
        let bound = || {
            let flags = SocketFlags::CLOEXEC | SocketFlags::NONBLOCK;
            let socket = socket_with(AddressFamily::UNIX, SocketType::STREAM, flags, None)?;
            let file = SocketFile::bind(&socket, path)?;
            if is_for_others {
                // The folder's rights decide which users come here, and not the process's mask.
                set_permissions(path, Permissions::from_mode(0o666))?;
            }
            rustix::net::listen(&socket, BACKLOG)?;
            let socket = UnixListener::from_std(StdListener::from(socket))?;
            Ok(Self { door, socket, lobby: Lobby::new(waiting), _file: file })
        };
        bound().map_err(|error| cannot_listen(path.display(), error))
    }

    /// Takes connections, of which so many have a place at once. Others wait in the kernel.
    ///
    /// Where the system gives no descriptor, the one that has waited longest to say something gives its own, and one is kept spare.
    pub(crate) async fn take<F>(
        &self,
        most: usize,
        not_taken: &NotTaken,
        serve: impl Fn(UnixStream, Visitor, OwnedSemaphorePermit) -> F,
    ) -> Infallible
    where
        F: Future<Output = ()> + Send + 'static,
    {
        let Self { door, socket, lobby, .. } = self;
        let (mut tasks, places) = (JoinSet::new(), Arc::new(Semaphore::new(most)));
        let mut spare = spare();
        loop {
            while tasks.try_join_next().is_some() {}
            // The semaphore is never closed.
            let Ok(place) = Arc::clone(&places).acquire_owned().await else { continue };
            lobby.has_room().await;
            match socket.accept().await {
                Ok((socket, _)) => {
                    spare = spare.or_else(self::spare);
                    // One that has gone is none.
                    let Ok(Credentials { user, .. }) = Credentials::of_peer(&socket) else { continue };
                    let (visitor, instead_of) = lobby.enter(user);
                    if let Some(user) = instead_of {
                        not_taken.given_up(*door, &format_args!("user {user}"));
                    }
                    tasks.spawn(serve(socket, visitor, place));
                }
                Err(error) => {
                    not_taken.unaccepted(*door, &error);
                    match lobby.give_up(Instant::now()) {
                        Some(user) => {
                            not_taken.given_up(*door, &format_args!("user {user}"));
                            sleep(SOON).await;
                        }
                        // The next has the spare one.
                        None if spare.take().is_some() => {}
                        None => sleep(PAUSE).await,
                    }
                }
            }
        }
    }
}

/// Returns a descriptor for nothing.
fn spare() -> Option<File> {
    File::open("/dev/null").ok()
}
