//! The daemon's socket, and its visitors.

use crate::claims::{Claims, Visitor, tell};
use crate::hello::{self, Hello};
use crate::identity::Identity;
use crate::pairing::PLACES;
use crate::relay::Relays;
use crate::stack::Engine;
use bertha_core::Error;
use bertha_program::Crowd;
use bertha_runtime::tokio::Credentials;
use bertha_runtime::tokio::SocketFile;
use bertha_runtime::tokio::descriptors::{close_aside, raise_limit};
use bertha_sockets_machine::Layout;
use bertha_sockets_machine::protocol::Answer;
use rustix::net::{AddressFamily, SocketFlags, SocketType, listen, socket_with};
use std::cell::RefCell;
use std::fs::{Permissions, set_permissions};
use std::io;
use std::os::unix::fs::PermissionsExt;
use std::os::unix::net::UnixListener as StdListener;
use std::path::Path;
use std::rc::Rc;
use std::time::Duration;
use tokio::net::{UnixListener, UnixStream};
use tokio::task::{AbortHandle, LocalSet, spawn_local, yield_now};
use tokio::time::{interval, sleep, timeout};

/// The time that a visitor has for its first message, which it sends with its connection.
const SAID: Duration = Duration::from_secs(1);

/// The visitors that have said nothing, at most. A newcomer takes the place of one of the user who has most.
const SILENT: usize = 256;

/// The visitors that wait to be accepted.
const BACKLOG: i32 = 1024;

/// The time between looks at ends whose time is up.
const SWEEP: Duration = Duration::from_millis(500);

/// The daemon.
#[derive(Debug)]
pub(crate) struct Server {
    listener: UnixListener,
    claims: Rc<RefCell<Claims>>,
    engine: Rc<Engine>,
    relays: Rc<Relays>,
    _file: SocketFile,
}

impl Server {
    /// Listens at a path, which all users may open whom its folder lets in.
    pub(crate) fn listen(path: &Path, layout: Layout) -> io::Result<Self> {
        raise_limit();
        let flags = SocketFlags::CLOEXEC | SocketFlags::NONBLOCK;
        let socket = socket_with(AddressFamily::UNIX, SocketType::STREAM, flags, None)?;
        let file = SocketFile::bind(&socket, path)?;
        // The folder's rights decide who comes here, and not the mask of this process: visitors are told apart by their users.
        set_permissions(path, Permissions::from_mode(0o666))?;
        listen(&socket, BACKLOG)?;
        let listener = UnixListener::from_std(StdListener::from(socket))?;
        let claims = Rc::new(RefCell::new(Claims::new(layout, PLACES)));
        let (engine, relays) = (Engine::new()?, Rc::new(Relays::new()));
        Ok(Self { listener, claims, engine, relays, _file: file })
    }

    /// Serves visitors for ever.
    pub(crate) async fn serve(self) -> Result<(), Error> {
        LocalSet::new().run_until(self.serve_locally()).await
    }

    async fn serve_locally(self) -> Result<(), Error> {
        let mut sweeps = interval(SWEEP);
        let mut silent = Crowd::new(SILENT);
        loop {
            tokio::select! {
                accepted = self.listener.accept() => match accepted {
                    Ok((visitor, _)) => {
                        self.welcome(visitor, &mut silent);
                        // What it has said already is heard before many others come, for which a silent one goes.
                        yield_now().await;
                    }
                    Err(error) => {
                        tracing::warn!(%error, "no visitor can be accepted");
                        // A lack of descriptors: a visitor that has said nothing leaves one, or else an end that waits.
                        match silent.pop() {
                            Some(visitor) => visitor.abort(),
                            None => self.claims.borrow_mut().make_room(),
                        }
                        sleep(Duration::from_millis(10)).await;
                    }
                },
                _ = sweeps.tick() => self.claims.borrow_mut().sweep(),
            }
        }
    }

    fn welcome(&self, visitor: UnixStream, silent: &mut Crowd<AbortHandle>) {
        silent.retain(|visitor: &AbortHandle| !visitor.is_finished());
        let Ok(owner) = Credentials::of_peer(&visitor) else { return };
        let (claims, engine, relays) = (self.claims.clone(), self.engine.clone(), self.relays.clone());
        let task = spawn_local(async move {
            match timeout(SAID, hello::receive(&visitor)).await {
                Ok(Ok(Hello::Pair(socket))) => {
                    let identity = Identity::of(&socket);
                    // It is the visitor's socket, whose last close may wait.
                    close_aside(socket);
                    match identity {
                        Ok(identity) => {
                            claims.borrow_mut().pair(identity, Visitor { socket: visitor, owner })
                        }
                        Err(_) => {
                            tell(&visitor, Answer::Refused, None);
                        }
                    }
                }
                Ok(Ok(Hello::Carry(wish, socket))) => engine.serve(&visitor, wish, socket).await,
                Ok(Ok(Hello::Relay(socket, unread))) => relays.serve(&visitor, owner, socket, unread).await,
                Ok(Ok(Hello::List)) => {
                    let mut lines = claims.borrow_mut().lines(owner.user);
                    lines.push_str(&engine.lines(owner.user));
                    lines.push_str(&relays.lines(owner.user));
                    let _ = timeout(SAID, write_all(&visitor, lines.as_bytes())).await;
                }
                _ => tracing::debug!("a visitor said nothing that is known"),
            }
        });
        if let (_, Some(visitor)) = silent.add(owner.user, task.abort_handle()) {
            visitor.abort();
        }
    }
}

async fn write_all(visitor: &UnixStream, mut bytes: &[u8]) -> io::Result<()> {
    while !bytes.is_empty() {
        visitor.writable().await?;
        match visitor.try_write(bytes) {
            Ok(written) => bytes = &bytes[written..],
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
            Err(error) => return Err(error),
        }
    }
    Ok(())
}
