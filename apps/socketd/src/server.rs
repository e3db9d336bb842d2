//! The daemon's socket, and its visitors.

use crate::hello::{self, Hello};
use crate::identity::Identity;
use crate::list::List;
use crate::message;
use crate::pairing::Waiting;
use crate::stack::Engine;
use bertha_core::Error;
use bertha_datapath_shm::{Users, sealed_memory};
use bertha_runtime::tokio::Credentials;
use bertha_runtime::tokio::SocketFile;
use bertha_runtime::tokio::descriptors::{close_aside, raise_limit};
use bertha_sockets_machine::Layout;
use bertha_sockets_machine::protocol::Answer;
use rustix::net::{AddressFamily, SocketFlags, SocketType, listen, socket_with};
use std::cell::RefCell;
use std::collections::VecDeque;
use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::net::UnixListener as StdListener;
use std::path::Path;
use std::rc::Rc;
use std::time::{Duration, Instant};
use tokio::net::{UnixListener, UnixStream};
use tokio::task::{AbortHandle, LocalSet, spawn_local};
use tokio::time::{interval, sleep, timeout};

/// The time that a visitor has for its first message, which it sends with its connection.
const SAID: Duration = Duration::from_secs(1);

/// The visitors that have said nothing, at most. A newcomer takes the place of the oldest.
const SILENT: usize = 256;

/// The visitors that wait to be accepted.
const BACKLOG: i32 = 1024;

/// The time between looks at ends whose time is up.
const SWEEP: Duration = Duration::from_millis(500);

/// An end that waits for its other end.
#[derive(Debug)]
struct Visitor {
    socket: UnixStream,
    owner: Credentials,
}

#[derive(Debug)]
struct State {
    layout: Layout,
    waiting: Waiting<Visitor>,
    list: List,
}

/// The daemon.
#[derive(Debug)]
pub(crate) struct Server {
    listener: UnixListener,
    state: Rc<RefCell<State>>,
    engine: Rc<Engine>,
    _file: SocketFile,
}

impl Server {
    /// Listens at a path.
    pub(crate) fn listen(path: &Path, layout: Layout) -> io::Result<Self> {
        raise_limit();
        let flags = SocketFlags::CLOEXEC | SocketFlags::NONBLOCK;
        let socket = socket_with(AddressFamily::UNIX, SocketType::STREAM, flags, None)?;
        let file = SocketFile::bind(&socket, path)?;
        listen(&socket, BACKLOG)?;
        let listener = UnixListener::from_std(StdListener::from(socket))?;
        let state = State { layout, waiting: Waiting::default(), list: List::new(layout) };
        Ok(Self { listener, state: Rc::new(RefCell::new(state)), engine: Engine::new()?, _file: file })
    }

    /// Serves visitors for ever.
    pub(crate) async fn serve(self) -> Result<(), Error> {
        LocalSet::new().run_until(self.serve_locally()).await
    }

    async fn serve_locally(self) -> Result<(), Error> {
        let mut sweeps = interval(SWEEP);
        let mut silent = VecDeque::new();
        loop {
            tokio::select! {
                accepted = self.listener.accept() => match accepted {
                    Ok((visitor, _)) => self.welcome(visitor, &mut silent),
                    Err(error) => {
                        tracing::warn!(%error, "no visitor can be accepted");
                        // A lack of descriptors: the visitor that has been silent longest leaves one.
                        silent.pop_front().iter().for_each(AbortHandle::abort);
                        sleep(Duration::from_millis(10)).await;
                    }
                },
                _ = sweeps.tick() => self.state.borrow_mut().sweep(),
            }
        }
    }

    fn welcome(&self, visitor: UnixStream, silent: &mut VecDeque<AbortHandle>) {
        silent.retain(|visitor: &AbortHandle| !visitor.is_finished());
        if silent.len() >= SILENT {
            silent.pop_front().iter().for_each(AbortHandle::abort);
        }
        let (state, engine) = (self.state.clone(), self.engine.clone());
        let task = spawn_local(async move {
            match timeout(SAID, hello::receive(&visitor)).await {
                Ok(Ok(Hello::Pair(socket))) => {
                    let identity = Identity::of(&socket);
                    // It is the visitor's socket, whose last close may wait.
                    close_aside(socket);
                    match (identity, Credentials::of_peer(&visitor)) {
                        (Ok(identity), Ok(owner)) => {
                            state.borrow_mut().pair(identity, Visitor { socket: visitor, owner });
                        }
                        _ => tell(&visitor, Answer::Refused, None),
                    }
                }
                Ok(Ok(Hello::Carry(wish, socket))) => engine.serve(&visitor, wish, socket).await,
                Ok(Ok(Hello::List)) => {
                    if let Ok(owner) = Credentials::of_peer(&visitor) {
                        let mut lines = state.borrow_mut().list.lines(owner.user);
                        lines.push_str(&engine.lines(owner.user));
                        let _ = timeout(SAID, write_all(&visitor, lines.as_bytes())).await;
                    }
                }
                _ => tracing::debug!("a visitor said nothing that is known"),
            }
        });
        silent.push_back(task.abort_handle());
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

impl State {
    fn pair(&mut self, identity: Identity, newcomer: Visitor) {
        let Some(other) = self.waiting.take_other(identity) else {
            if let Some(gone) = self.waiting.add(identity, newcomer, Instant::now()) {
                self.list.refused(identity, gone.owner, "too many wait");
                tell(&gone.socket, Answer::Refused, None);
            }
            return;
        };
        if !Users::Only(vec![other.owner.user]).contain(newcomer.owner.user) {
            for (identity, end) in [(identity.other(), other), (identity, newcomer)] {
                self.list.refused(identity, end.owner, "the other end is of another user");
                tell(&end.socket, Answer::Refused, None);
            }
            return;
        }
        let memory = match sealed_memory(self.layout.memory_bytes()) {
            Ok(memory) => memory,
            Err(error) => {
                tracing::warn!(%error, "there is no memory for a connection");
                for end in [other, newcomer] {
                    tell(&end.socket, Answer::Refused, None);
                }
                return;
            }
        };
        let bytes = self.layout.ring_bytes() as u64;
        tell(&other.socket, Answer::Client(bytes), Some(&memory));
        tell(&newcomer.socket, Answer::Server(bytes), Some(&memory));
        self.list.paired(identity.other(), [other.owner, newcomer.owner], memory);
    }

    fn sweep(&mut self) {
        while let Some((identity, end)) = self.waiting.expired(Instant::now()) {
            self.list.refused(identity, end.owner, "the other end has not asked");
            tell(&end.socket, Answer::Refused, None);
        }
        self.list.sweep();
    }
}

/// Answers a visitor, which has gone if it can't take the answer.
fn tell(visitor: &UnixStream, answer: Answer, memory: Option<&OwnedFd>) {
    if let Err(error) = message::send(visitor, &answer.encode(), memory.map(AsFd::as_fd)) {
        tracing::debug!(%error, "a visitor has no answer");
    }
}
