//! Chunnels that repeat messages until they arrive and deliver them in order. These Chunnels hold messages
//! back, and so have something to drain.

use bertha_core::{Base, Buf, Carries, Chunnel, ConnectContext, Connection, Error, Identity, Runtime};
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};
use std::time::Duration;

const PAUSE: Duration = Duration::from_millis(3);
/// Maximum number of messages that the sender may have on the way.
const WINDOW: usize = 32;

macro_rules! reliable_chunnels {
    ($($name:ident = $byte:literal),*) => {$(
        #[derive(Debug, Clone, Identity)]
        pub(crate) struct $name;

        impl<Inner: Carries<Buf, Self>> Chunnel<Inner> for $name {
            type Connection = Reliable<Inner>;

            async fn connect_wrap(&self, inner: Inner, _: ConnectContext<'_, Inner>) -> Result<Self::Connection, Error> {
                Ok(Reliable::new(inner, $byte))
            }
        }
    )*};
}

reliable_chunnels!(Early = b'E', Late = b'L');

pub(crate) struct Reliable<Inner: Connection<Data = Buf>> {
    shared: Arc<Shared<Inner>>,
    _repeating: <<Inner::Base as Base>::Runtime as Runtime>::Task,
}

struct Shared<Inner> {
    inner: Inner,
    byte: u8,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    next: u32,
    unseen: BTreeMap<u32, Vec<u8>>,
    expected: u32,
    early: BTreeMap<u32, Vec<u8>>,
}

impl<Inner: Connection<Data = Buf>> Reliable<Inner> {
    fn new(inner: Inner, byte: u8) -> Self {
        let runtime = inner.base().runtime().clone();
        let shared = Arc::new(Shared { inner, byte, state: Mutex::default() });
        let repeated = Arc::downgrade(&shared);
        let tasks = runtime.clone();
        let repeating = tasks.spawn(async move {
            loop {
                runtime.sleep_until(runtime.now() + PAUSE).await;
                let Some(shared) = repeated.upgrade() else { return };
                let unseen: Vec<_> =
                    shared.state.lock().unwrap().unseen.iter().map(|(at, it)| (*at, it.clone())).collect();
                for (number, message) in unseen {
                    let _ = shared.transmit(b'd', number, &message).await;
                }
            }
        });
        Self { shared, _repeating: repeating }
    }
}

impl<Inner: Connection<Data = Buf>> Shared<Inner> {
    async fn transmit(&self, kind: u8, number: u32, message: &[u8]) -> Result<(), Error> {
        let bytes = [&[self.byte, kind], &number.to_le_bytes()[..], message].concat();
        self.inner.send(Buf::copy_of(&bytes, 16)?).await
    }

    async fn pause(&self) {
        let runtime = self.inner.base().runtime();
        runtime.sleep_until(runtime.now() + PAUSE).await;
    }
}

impl<Inner: Connection<Data = Buf>> Connection for Reliable<Inner> {
    type Data = Buf;
    type Base = Inner::Base;

    fn base(&self) -> &Inner::Base {
        self.shared.inner.base()
    }

    async fn send(&self, message: Buf) -> Result<(), Error> {
        while self.shared.state.lock().unwrap().unseen.len() >= WINDOW {
            self.shared.pause().await;
        }
        let number = {
            let mut state = self.shared.state.lock().unwrap();
            let number = state.next;
            state.next += 1;
            state.unseen.insert(number, message.to_vec());
            number
        };
        // From here on the layer repeats the message, so a failure or a cancellation does not matter.
        let _ = self.shared.transmit(b'd', number, &message).await;
        Ok(())
    }

    async fn recv(&self) -> Result<Buf, Error> {
        loop {
            let next = {
                let mut state = self.shared.state.lock().unwrap();
                let expected = state.expected;
                state.early.remove(&expected).inspect(|_| state.expected += 1)
            };
            if let Some(message) = next {
                return Buf::copy_of(&message, 0);
            }
            let message = self.shared.inner.recv().await?;
            let Some((&[byte, kind, a, b, c, d], rest)) = message.split_first_chunk() else { continue };
            let number = u32::from_le_bytes([a, b, c, d]);
            if byte != self.shared.byte {
                continue;
            }
            if kind == b'a' {
                self.shared.state.lock().unwrap().unseen.remove(&number);
                continue;
            }
            {
                let mut state = self.shared.state.lock().unwrap();
                if number >= state.expected {
                    state.early.insert(number, rest.to_vec());
                }
            }
            let _ = self.shared.transmit(b'a', number, &[]).await;
        }
    }

    async fn drain(&self) -> Result<(), Error> {
        while !self.shared.state.lock().unwrap().unseen.is_empty() {
            self.shared.pause().await;
        }
        self.shared.inner.drain().await
    }

    async fn close(&self) -> Result<(), Error> {
        self.shared.inner.close().await
    }
}
