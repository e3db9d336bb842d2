//! A stand-in for the secure Chunnels: it authenticates data by a secret that is written in this file, and
//! has the messages about the connection authenticated.

use bertha_core::replay_window::ReplayWindow;
use bertha_core::{
    Base, Buf, Carries, Chunnel, ConnectContext, Connection, Error, ErrorKind, Identity, Role, Runtime,
    Secured,
};
use futures_util::future::{Either, select};
use std::collections::VecDeque;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::pin::pin;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

/// Reports a key to the driver, once both ends have said hello.
#[derive(Debug, Clone, Default, Identity)]
#[chunnel(no_early_data, guarantees(Encrypted, Authenticated, AtMostOnce))]
pub(crate) struct Keyed {
    conduct: Conduct,
}

/// Its deviation from a correct Chunnel.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
enum Conduct {
    #[default]
    Good,
    /// It reports no key.
    Mute,
    /// The server fails instead of saying hello.
    Fails,
}

impl Keyed {
    /// Makes a Chunnel that protects data, and reports no key.
    pub(crate) fn mute() -> Self {
        Self { conduct: Conduct::Mute }
    }

    /// Makes a Chunnel whose server fails once it has heard the client.
    pub(crate) fn failing() -> Self {
        Self { conduct: Conduct::Fails }
    }
}

const HELLO: u8 = 1;
const DATA: u8 = 2;

/// Number of bytes of kind, number, and a hash under the secret.
const FRONT: usize = 1 + 8 + 8;

/// Time after which an end says hello again.
const PAUSE: Duration = Duration::from_millis(50);

/// The keys of one end.
struct Secret {
    transcript: Option<[u8; 32]>,
    is_server: bool,
}

impl Secret {
    fn hash(&self, by_server: bool, front: &[u8], body: &[u8]) -> [u8; 8] {
        let mut hasher = DefaultHasher::new();
        ("secret", self.transcript, by_server, front, body).hash(&mut hasher);
        hasher.finish().to_le_bytes()
    }

    fn control_key(&self) -> [u8; 32] {
        let mut key = [0; 32];
        for (part, byte) in key.chunks_mut(8).zip(0..) {
            part.copy_from_slice(&self.hash(false, b"control", &[byte]));
        }
        key
    }

    fn seal(&self, mut message: Buf, kind: u8, number: u64) -> Result<Buf, Error> {
        let front: Vec<u8> = [kind].into_iter().chain(number.to_le_bytes()).collect();
        let hash = self.hash(self.is_server, &front, &message);
        if message.headroom() < FRONT {
            message = Buf::copy_of(&message, FRONT + 64)?;
        }
        message.prepend(FRONT)?.copy_from_slice(&[&front[..], &hash].concat());
        Ok(message)
    }

    /// Takes the front off a message of the other end. Returns its kind and number, or `None` if the hash is
    /// wrong.
    fn open(&self, message: &mut Buf) -> Option<(u8, u64)> {
        let (front, body) = message.split_at_checked(FRONT)?;
        if front[9..] != self.hash(!self.is_server, &front[..9], body) {
            return None;
        }
        let (kind, number) = (front[0], u64::from_le_bytes(front[1..9].try_into().unwrap()));
        message.advance(FRONT).ok()?;
        Some((kind, number))
    }
}

impl<Inner: Carries<Buf, Self>> Chunnel<Inner> for Keyed {
    type Connection = KeyedConnection<Inner>;

    async fn connect_wrap(
        &self,
        inner: Inner,
        context: ConnectContext<'_, Inner>,
    ) -> Result<Self::Connection, Error> {
        inner.base().reserve(FRONT);
        let secret = Secret { transcript: context.transcript(), is_server: context.role() == Role::Server };
        let connection = KeyedConnection {
            inner,
            secret,
            sent: AtomicU64::new(0),
            received: Mutex::default(),
            early: Mutex::default(),
            conduct: self.conduct,
        };
        connection.meet().await?;
        if self.conduct != Conduct::Mute {
            context.secured(Secured::new(connection.secret.control_key()));
        }
        Ok(connection)
    }
}

pub(crate) struct KeyedConnection<Inner> {
    inner: Inner,
    secret: Secret,
    sent: AtomicU64,
    received: Mutex<ReplayWindow<8>>,
    /// Messages that came before the other end's hello.
    early: Mutex<VecDeque<Buf>>,
    conduct: Conduct,
}

impl<Inner: Connection<Data = Buf>> KeyedConnection<Inner> {
    /// Waits until the other end is there. The client says hello first.
    async fn meet(&self) -> Result<(), Error> {
        let runtime = self.inner.base().runtime();
        loop {
            if !self.secret.is_server {
                self.say_hello().await?;
            }
            let pause = pin!(runtime.sleep_until(runtime.now() + PAUSE));
            let heard = match select(pin!(self.inner.recv()), pause).await {
                Either::Left((message, _)) => self.take(message?).await?,
                Either::Right(_) => continue,
            };
            match heard {
                Heard::Hello => return Ok(()),
                Heard::Data(message) => {
                    self.early.lock().unwrap().push_back(message);
                    return Ok(());
                }
                Heard::Nothing => {}
            }
        }
    }

    async fn say_hello(&self) -> Result<(), Error> {
        self.inner.send(self.secret.seal(Buf::copy_of(b"", FRONT + 64)?, HELLO, 0)?).await
    }

    async fn take(&self, mut message: Buf) -> Result<Heard, Error> {
        match self.secret.open(&mut message) {
            Some((HELLO, _)) => {
                if self.secret.is_server && self.conduct == Conduct::Fails {
                    return Err(
                        Error::new(ErrorKind::Unauthenticated, "a key that nobody trusts").at("Keyed")
                    );
                }
                if self.secret.is_server {
                    self.say_hello().await?;
                }
                Ok(Heard::Hello)
            }
            Some((DATA, number)) if self.received.lock().unwrap().insert(number) => Ok(Heard::Data(message)),
            _ => Ok(Heard::Nothing),
        }
    }
}

enum Heard {
    Hello,
    Data(Buf),
    Nothing,
}

impl<Inner: Connection<Data = Buf>> Connection for KeyedConnection<Inner> {
    type Data = Buf;
    type Base = Inner::Base;

    fn base(&self) -> &Inner::Base {
        self.inner.base()
    }

    async fn send(&self, message: Buf) -> Result<(), Error> {
        let number = self.sent.fetch_add(1, Ordering::Relaxed);
        self.inner.send(self.secret.seal(message, DATA, number)?).await
    }

    async fn recv(&self) -> Result<Buf, Error> {
        loop {
            if let Some(message) = self.early.lock().unwrap().pop_front() {
                return Ok(message);
            }
            let message = self.inner.recv().await?;
            if let Heard::Data(message) = self.take(message).await? {
                return Ok(message);
            }
        }
    }

    fn drain(&self) -> impl Future<Output = Result<(), Error>> + Send {
        self.inner.drain()
    }

    fn close(&self) -> impl Future<Output = Result<(), Error>> + Send {
        self.inner.close()
    }
}
