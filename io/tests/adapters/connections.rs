//! Connections as `Stream`, `Sink` and services, over pairs in memory.

use bertha_core::{Chunk, Connection, Error, ErrorKind};
use bertha_datapath_sim::{PairConnection, pair_of};
use bertha_io::{ByteStream, Messages, Requests, answer};
use bertha_runtime::tokio::TokioRuntime;
use futures_util::{AsyncReadExt, AsyncWriteExt, SinkExt, StreamExt, poll};
use std::convert::Infallible;
use std::pin::pin;
use std::task::{Context, Poll};
use tower_service::Service;

fn pair<T: Send + 'static>() -> (PairConnection<TokioRuntime, T>, PairConnection<TokioRuntime, T>) {
    pair_of(TokioRuntime)
}

#[tokio::test]
async fn messages_go_through_the_sink_and_come_from_the_stream() {
    let (here, there) = pair::<u32>();
    let (mut here, mut there) = (Messages::new(here), Messages::new(there));
    for number in 0..100 {
        here.feed(number).await.unwrap();
    }
    here.close().await.unwrap();
    here.close().await.unwrap();
    for number in 0..100 {
        assert_eq!(there.next().await.unwrap().unwrap(), number);
    }
    for _ in 0..2 {
        assert!(there.next().await.is_none());
    }
    assert_eq!(here.send(1).await.unwrap_err().kind(), ErrorKind::Closed);
}

#[tokio::test]
async fn a_dropped_next_loses_nothing() {
    let (here, there) = pair::<u32>();
    let mut there = Messages::new(there);
    assert!(poll!(pin!(there.next())).is_pending());
    here.send(7).await.unwrap();
    assert_eq!(there.next().await.unwrap().unwrap(), 7);
}

#[tokio::test]
async fn streams_of_futures_read_write_and_end() {
    let (here, there) = pair::<Chunk>();
    let (mut here, mut there) = (ByteStream::new(here), ByteStream::new(there));
    here.write_all(b"hello").await.unwrap();
    AsyncWriteExt::close(&mut here).await.unwrap();
    let mut all = Vec::new();
    there.read_to_end(&mut all).await.unwrap();
    assert_eq!(all, b"hello");
    there.write_all(b"bye").await.unwrap();
    there.flush().await.unwrap();
    let mut room = [0; 3];
    here.read_exact(&mut room).await.unwrap();
    assert_eq!(&room, b"bye");
}

/// A service that doubles numbers.
struct Double;

impl Service<u32> for Double {
    type Response = u32;
    type Error = Infallible;
    type Future = std::future::Ready<Result<u32, Infallible>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), Infallible>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, number: u32) -> Self::Future {
        std::future::ready(Ok(2 * number))
    }
}

#[tokio::test]
async fn requests_are_answered_in_turn_until_the_client_closes() {
    let (here, there) = pair::<u32>();
    let server = tokio::spawn(async move { answer(&there, Double).await });
    let mut client = Requests::new(here);
    let calls: Vec<_> = (0..50).map(|number| tokio::spawn(client.clone().call(number))).collect();
    for (number, call) in (0..).zip(calls) {
        assert_eq!(call.await.unwrap().unwrap(), 2 * number);
    }
    assert_eq!(client.call(21).await.unwrap(), 42);
    drop(client);
    server.await.unwrap().unwrap();
}

/// A connection that has ended with an error of a kind which otherwise concerns one message.
struct Broken(PairConnection<TokioRuntime, u32>);

impl Connection for Broken {
    type Data = u32;
    type Base = <PairConnection<TokioRuntime, u32> as Connection>::Base;

    fn base(&self) -> &Self::Base {
        self.0.base()
    }

    fn send(&self, message: u32) -> impl Future<Output = Result<(), Error>> + Send {
        self.0.send(message)
    }

    async fn recv(&self) -> Result<u32, Error> {
        Err(Error::new(ErrorKind::Malformed, "the stream can't be read").ending_connection())
    }

    fn drain(&self) -> impl Future<Output = Result<(), Error>> + Send {
        self.0.drain()
    }

    fn close(&self) -> impl Future<Output = Result<(), Error>> + Send {
        self.0.close()
    }
}

#[tokio::test]
async fn a_connection_that_has_ended_is_answered_no_more() {
    let (here, there) = pair::<u32>();
    let error = answer(&Broken(there), Double).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Malformed, "{error}");
    let mut messages = Messages::new(Broken(here));
    assert!(messages.next().await.unwrap().is_err());
    assert!(messages.next().await.is_none());
}

#[tokio::test]
async fn the_reply_of_a_call_that_was_given_up_is_nobody_elses() {
    let (here, there) = pair::<u32>();
    let mut client = Requests::new(here);
    // The request is sent, and the call is dropped while it waits.
    assert!(poll!(pin!(client.call(1))).is_pending());
    let other = tokio::spawn(client.call(2));
    let server = tokio::spawn(async move { answer(&there, Double).await });
    assert_eq!(other.await.unwrap().unwrap(), 4);
    drop(client);
    server.await.unwrap().unwrap();
}

#[tokio::test]
async fn a_request_given_up_while_it_is_sent_fails_those_behind_it() {
    let (here, there) = pair::<u32>();
    let mut client = Requests::new(here);
    // The pair holds this number of messages, and lets the next message wait.
    let mut given_up = 0;
    while there_is_room(&mut client, given_up) {
        given_up += 1;
        assert!(given_up < 10_000);
        // A task of tokio may poll only a limited number of locks in a row.
        tokio::task::yield_now().await;
    }
    let error = client.call(0).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Reset, "{error}");
    drop(there);
}

/// Returns true if the connection takes a request whose call is then dropped.
fn there_is_room(client: &mut Requests<PairConnection<TokioRuntime, u32>>, number: u32) -> bool {
    let mut call = pin!(client.call(number));
    match call.as_mut().poll(&mut Context::from_waker(std::task::Waker::noop())) {
        Poll::Pending => true,
        Poll::Ready(done) => {
            assert_eq!(done.unwrap_err().kind(), ErrorKind::Reset);
            false
        }
    }
}
