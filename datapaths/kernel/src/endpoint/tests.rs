//! Futures that come, wait, are woken late or are dropped at any time: no message may wait while a future
//! waits for it.

use super::*;
use crate::async_socket::Left;
use proptest::prelude::*;
use std::collections::VecDeque;
use std::future::{Pending, pending};
use std::pin::Pin;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::{Context, Wake, Waker};
use tokio::io::{Interest, Ready};

/// A socket and its reactor in memory: edge-triggered, and with room for a single waker, as tokio's.
#[derive(Default)]
struct Fake(Mutex<Datagrams>);

#[derive(Default)]
struct Datagrams {
    datagrams: VecDeque<(usize, u8)>,
    ready: bool,
    registered: Option<Waker>,
}

impl Fake {
    fn arrive(&self, from: usize, number: u8) {
        let waker = {
            let mut state = self.0.lock();
            state.datagrams.push_back((from, number));
            state.ready = true;
            state.registered.take()
        };
        waker.into_iter().for_each(Waker::wake);
    }
}

impl AsyncSocket for Fake {
    fn ready(&self, _: Interest) -> impl Future<Output = io::Result<Ready>> + Send {
        let never: Pending<_> = pending();
        never
    }

    fn poll_readable(&self, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        let mut state = self.0.lock();
        if state.ready {
            return Poll::Ready(Ok(()));
        }
        state.registered = Some(cx.waker().clone());
        Poll::Pending
    }

    fn try_io<T>(&self, _: Interest, operation: impl FnOnce() -> io::Result<T>) -> io::Result<T> {
        if !self.0.lock().ready {
            return Err(io::ErrorKind::WouldBlock.into());
        }
        operation().inspect_err(|_| self.0.lock().ready = false)
    }

    fn take_error(&self) -> io::Result<Option<io::Error>> {
        Ok(None)
    }
}

impl ReceivingSocket for Fake {
    type Peer = usize;
    type Socket = Self;

    fn socket(&self) -> &Self {
        self
    }

    fn receive(&self, request: Request, mut deliver: impl FnMut(&usize, usize, Buf)) -> io::Result<Received> {
        let take = || {
            let mut state = self.0.lock();
            let count = request.width.min(state.datagrams.len());
            let taken: Vec<_> = state.datagrams.drain(..count).collect();
            if taken.is_empty() {
                return Err(io::ErrorKind::WouldBlock.into());
            }
            let left = if taken.len() < request.width && (taken.len() > 1 || request.others_wait) {
                Left::Nothing
            } else {
                Left::Unknown
            };
            Ok((taken, left))
        };
        let taken = self.attempt(request.eager, take)?;
        for (from, number) in &taken {
            deliver(from, 1, Buf::copy_of(&[*number], 0).unwrap());
        }
        Ok(Received { buffers: taken.len(), oversize: 0 })
    }
}

/// A waker that records that its future has to be polled.
struct Woken(AtomicBool);

impl Wake for Woken {
    fn wake(self: Arc<Self>) {
        self.0.store(true, Ordering::Relaxed);
    }
}

struct Task<'a> {
    connection: usize,
    future: Pin<Box<dyn Future<Output = Vec<u8>> + 'a>>,
    woken: Arc<Woken>,
}

impl Task<'_> {
    /// Polls the future if it was woken. Returns the received message if the future is done.
    fn run(&mut self) -> Option<Vec<u8>> {
        if !self.woken.0.swap(false, Ordering::Relaxed) {
            return None;
        }
        let waker = Waker::from(self.woken.clone());
        match self.future.as_mut().poll(&mut Context::from_waker(&waker)) {
            Poll::Ready(received) => Some(received),
            Poll::Pending => None,
        }
    }
}

fn receiver<'a>(endpoint: &'a Endpoint<Fake>, connection: usize, limit: usize) -> Task<'a> {
    let future = Box::pin(async move {
        let mut received = Vec::new();
        endpoint.recv_batch(connection, &mut received, limit).await.unwrap();
        received.iter().map(|message| message[0]).collect()
    });
    Task { connection, future, woken: Arc::new(Woken(AtomicBool::new(true))) }
}

#[derive(Debug, Clone)]
enum Event {
    Arrive(usize),
    Start(usize, usize),
    Run(usize),
    Drop(usize),
}

const CONNECTIONS: usize = 3;

fn events() -> impl Strategy<Value = Vec<Event>> {
    let event = prop_oneof![
        3 => (0..CONNECTIONS).prop_map(Event::Arrive),
        2 => (0..CONNECTIONS, 1usize..4).prop_map(|(connection, limit)| Event::Start(connection, limit)),
        4 => any::<usize>().prop_map(Event::Run),
        1 => any::<usize>().prop_map(Event::Drop),
    ];
    proptest::collection::vec(event, 0..120)
}

fn waiting() -> impl Strategy<Value = Waiting> {
    prop_oneof![Just(Waiting::Park), Just(Waiting::Spin)]
}

/// Returns an endpoint whose connections 0, 1, ... belong to the peers with these numbers.
fn endpoint(waiting: Waiting) -> Arc<Endpoint<Fake>> {
    let limits = Limits { backlog: CONNECTIONS, queue: 1000, shared: usize::MAX };
    let endpoint = Endpoint::listening(Arc::new(Fake::default()), limits, waiting);
    let mut accept = Task {
        connection: 0,
        future: Box::pin(async {
            for peer in 0..CONNECTIONS {
                endpoint.socket().arrive(peer, 0);
                assert_eq!(endpoint.accept().await.unwrap(), (peer, peer));
                endpoint.recv(peer).await.unwrap();
            }
            Vec::new()
        }),
        woken: Arc::new(Woken(AtomicBool::new(true))),
    };
    while accept.run().is_none() {}
    drop(accept);
    endpoint
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2000))]

    #[test]
    fn nobody_waits_for_what_is_there(events in events(), waiting in waiting()) {
        let endpoint = endpoint(waiting);
        let mut tasks: Vec<Task<'_>> = Vec::new();
        let mut sent: [Vec<u8>; CONNECTIONS] = Default::default();
        let mut received: [Vec<u8>; CONNECTIONS] = Default::default();
        for event in events {
            match event {
                Event::Arrive(connection) => {
                    let number = sent[connection].len() as u8;
                    sent[connection].push(number);
                    endpoint.socket().arrive(connection, number);
                }
                Event::Start(connection, limit) => tasks.push(receiver(&endpoint, connection, limit)),
                Event::Run(number) if !tasks.is_empty() => {
                    let number = number % tasks.len();
                    if let Some(numbers) = tasks[number].run() {
                        received[tasks[number].connection].extend(numbers);
                        tasks.swap_remove(number);
                    }
                }
                Event::Drop(number) if !tasks.is_empty() => drop(tasks.swap_remove(number % tasks.len())),
                Event::Run(_) | Event::Drop(_) => {}
            }
        }
        // Every woken task runs. A spinning task is woken each time, so the number of rounds is limited.
        for _ in 0..200 {
            tasks.retain_mut(|task| match task.run() {
                Some(numbers) => {
                    received[task.connection].extend(numbers);
                    false
                }
                None => true,
            });
        }
        for connection in 0..CONNECTIONS {
            let waits = tasks.iter().any(|task| task.connection == connection);
            let all = received[connection] == sent[connection];
            prop_assert!(all || !waits, "connection {} waits: {:?}", connection, received[connection]);
            // No dropped future holds messages back, and the messages are in order.
            prop_assert!(sent[connection].starts_with(&received[connection]));
        }
        // Messages that no future waited for are still there.
        drop(tasks);
        for connection in 0..CONNECTIONS {
            while received[connection].len() < sent[connection].len() {
                let mut task = receiver(&endpoint, connection, 1000);
                let numbers = task.run();
                prop_assert!(numbers.is_some(), "lost on connection {}", connection);
                received[connection].extend(numbers.unwrap());
            }
            prop_assert_eq!(&received[connection], &sent[connection]);
        }
    }
}
