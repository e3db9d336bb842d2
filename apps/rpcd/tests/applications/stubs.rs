//! Clients and servers of generated types.
#![allow(unsafe_code)]

/// The types of the package `hotel`, as the generator's tests have them.
#[allow(unreachable_pub, reason = "a library of these types exports them")]
pub(crate) mod generated {
    include!("../../../../schemas/build/tests/generated/hotel.rs");

    /// The types of the package `hotel.place`.
    pub mod place {
        include!("../../../../schemas/build/tests/generated/hotel.place.rs");
    }
}

use crate::hotel::Running;
use bertha_managed::application::Lent;
use bertha_managed::heap::Heap;
use bertha_managed::{Failure, FailureKind};
use generated::hotels::{Client, Handler, Server};
use generated::{Booking, NearbyRequest, NearbyResponse};
use std::time::Duration;

/// Hotels, of which those of the chain `closed` fail, and those of the chain `slow` never answer.
struct Hotels;

impl Handler for Hotels {
    async fn nearby(&self, request: Lent<NearbyRequest>, heap: &Heap) -> Result<NearbyResponse, Failure> {
        match request.chain() {
            Some("closed") => Err(Failure::new("the season is over")),
            Some("slow") => std::future::pending().await,
            chain => {
                let mut response = NearbyResponse::new_in(heap);
                let mut found = generated::Hotel::new_in(heap);
                found.name_mut().push_str(chain.unwrap_or("any"));
                response.hotels_mut().push(found);
                Ok(response)
            }
        }
    }

    async fn book(&self, _: Lent<Booking>, heap: &Heap) -> Result<Booking, Failure> {
        Ok(Booking::new_in(heap))
    }
}

#[tokio::test]
async fn a_call_that_its_caller_gives_up_leaves_its_place_at_the_server() {
    let daemon = Running::start();
    let server = daemon.attach().server("hotels").await.unwrap();
    let serving = tokio::spawn(server.serve(Server(Hotels)));
    let client = Client::new(daemon.attach().client("hotels").await.unwrap());
    let nearby = async |chain: &str| {
        let mut request = NearbyRequest::new_in(&client.heap());
        request.chain_mut().push_str(chain);
        client.nearby(request).await.map(drop)
    };
    // More than a server works on at once. They end together, when the time of all has passed.
    let slow = futures_util::future::join_all((0..1100).map(|_| nearby("slow")));
    assert!(tokio::time::timeout(Duration::from_secs(3), slow).await.is_err());
    tokio::time::timeout(Duration::from_secs(20), nearby("inn")).await.unwrap().unwrap();
    serving.abort();
}

#[tokio::test]
async fn a_client_calls_the_handler_of_a_server() {
    let daemon = Running::start();
    let server = daemon.attach().server("hotels").await.unwrap();
    let serving = tokio::spawn(server.serve(Server(Hotels)));
    let attach = || async { Client::new(daemon.attach().client("hotels").await.unwrap()) };
    let client = attach().await;
    let nearby = async |client: &Client, chain: &str| {
        let mut request = NearbyRequest::new_in(&client.heap());
        request.chain_mut().push_str(chain);
        let response = client.nearby(request).await?;
        Ok::<_, Failure>(response.hotels()[0].name().to_owned())
    };
    assert_eq!(nearby(&client, "inns").await.unwrap(), "inns");
    client.book(Booking::new_in(&client.heap())).await.unwrap();
    let failure = nearby(&client, "closed").await.unwrap_err();
    assert_eq!((failure.kind(), failure.text()), (FailureKind::Failed, "the season is over"));
    let hurried = attach().await.deadline(Duration::from_millis(200));
    let failure = nearby(&hurried, "slow").await.unwrap_err();
    assert_eq!(failure.kind(), FailureKind::TimedOut);
    assert_eq!(nearby(&hurried, "inns").await.unwrap(), "inns");
    serving.abort();
    // The call of the handler that never answers is dropped with the others.
    let failure = nearby(&client, "inns").await.unwrap_err();
    assert_eq!(failure.kind(), FailureKind::Unavailable);
}
