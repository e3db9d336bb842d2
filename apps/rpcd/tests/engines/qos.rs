//! Small calls before large ones, of all applications of a machine.

use crate::hotel::{Hotel, Reserve, Response, Running, request, serve};
use bertha_chunnels::rpc::FailureKind;
use bertha_managed::application::Client;
use bertha_managed::engines::built_in;
use bertha_managed::heap::String;
use bertha_rpcd::Change;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::mpsc::{UnboundedReceiver, unbounded_channel};
use tokio::task::JoinHandle;

/// Less than a call holds others, so that a call that waits so long fails.
const SOON: Duration = Duration::from_secs(6);
const HOLDS: &str = "hold=10000";

/// Number of bytes of a large request, of which five are on their way at once if there are no small calls.
const LARGE: usize = 100_000;

/// A daemon with two services, which have the engine.
struct Two {
    daemon: Running,
    /// The nights of the requests that the hotel gets, in order.
    at_hotel: UnboundedReceiver<i32>,
}

impl Two {
    async fn start() -> Self {
        let daemon = Running::start();
        let (got, at_hotel) = unbounded_channel();
        let mut server = daemon.server().await;
        tokio::spawn(async move {
            while let Ok(mut call) = server.next().await {
                let nights = call.request::<Reserve>().unwrap().nights;
                got.send(nights).unwrap();
                let response = Response { room: String::new_in(call.heap()), price: 100 * nights };
                call.respond::<Reserve>(response).await.unwrap();
            }
        });
        let _serving = serve(daemon.attach().server("inn").await.unwrap());
        for service in ["hotel", "inn"] {
            let kind = built_in().into_iter().find(|kind| kind.name() == "qos").unwrap();
            let change = Change::Add { name: "qos".into(), kind, settings: HOLDS.parse().unwrap() };
            daemon.operator.change(service, &change).unwrap();
        }
        Self { daemon, at_hotel }
    }

    /// Makes calls to the inn, with a small request and a large one, which are on their way until their tasks are aborted.
    async fn calls_to_the_inn(&self) -> [JoinHandle<()>; 2] {
        let client: Arc<Client<Hotel>> = Arc::new(self.daemon.attach().client("inn").await.unwrap());
        let calls = [1, LARGE].map(|bytes| {
            let client = Arc::clone(&client);
            tokio::spawn(async move {
                let asked = request(&client.heap(), "slow", 1, &[&"x".repeat(bytes)]);
                assert!(client.call::<Reserve>(asked, None).await.is_err());
            })
        });
        // A call of the application that comes behind them.
        tokio::task::yield_now().await;
        assert_eq!(reserve(&client, 2, 1).await, Ok(200));
        calls
    }
}

/// Reserves a room for a number of nights, by a request of about so many bytes. Returns the price, or the kind of the failure.
async fn reserve(client: &Client<Hotel>, nights: i32, bytes: usize) -> Result<i32, FailureKind> {
    let asked = request(&client.heap(), "ada", nights, &[&"x".repeat(bytes)]);
    let response = client.call::<Reserve>(asked, Some(SOON)).await.map_err(|failure| failure.kind())?;
    Ok(response.price)
}

/// Begins calls with large requests, for one night, two and so on.
async fn large_calls(client: &Arc<Client<Hotel>>) -> Vec<JoinHandle<Result<i32, FailureKind>>> {
    let mut calls = Vec::new();
    for nights in 1..=5 {
        let client = Arc::clone(client);
        calls.push(tokio::spawn(async move { reserve(&client, nights, LARGE).await }));
        // Each puts its request into the queue before the next.
        tokio::task::yield_now().await;
    }
    calls
}

#[tokio::test]
async fn large_requests_of_an_application_wait_for_small_calls_of_another() {
    let mut two = Two::start().await;
    let [small, _large] = two.calls_to_the_inn().await;
    let client = Arc::new(two.daemon.client().await);
    let large = large_calls(&client).await;
    assert_eq!(reserve(&client, 9, 1).await, Ok(900));
    assert_eq!(two.at_hotel.try_recv(), Ok(9), "it goes before those that came first");
    assert!(two.at_hotel.try_recv().is_err());
    small.abort();
    for (nights, call) in (1..).zip(large) {
        assert_eq!(call.await.unwrap(), Ok(100 * nights));
        assert_eq!(two.at_hotel.recv().await, Some(nights));
    }
}

#[tokio::test]
async fn an_engine_that_goes_delivers_all_that_it_held_in_order() {
    let mut two = Two::start().await;
    let inn = two.calls_to_the_inn().await;
    let client = Arc::new(two.daemon.client().await);
    let large = large_calls(&client).await;
    assert_eq!(reserve(&client, 9, 1).await, Ok(900));
    let kind = built_in().into_iter().find(|kind| kind.name() == "qos").unwrap();
    two.daemon.operator.change("hotel", &Change::Upgrade { name: "qos".into(), kind }).unwrap();
    assert_eq!(reserve(&client, 8, 1).await, Ok(800));
    two.daemon.operator.change("hotel", &Change::Remove { name: "qos".into() }).unwrap();
    for call in large {
        call.await.unwrap().unwrap();
    }
    two.at_hotel.close();
    let mut got = Vec::new();
    while let Some(nights) = two.at_hotel.recv().await {
        got.push(nights);
    }
    assert_eq!(got, [9, 8, 1, 2, 3, 4, 5]);
    assert!(inn.iter().all(|call| !call.is_finished()));
}
