//! Clients and servers of generated types.

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
use bertha_managed::application::{Attach, Lent};
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

/// Types that are laid out as they say, and not as the schema of the service says.
mod unsuitable {
    use bertha_managed::heap::{String, Vec};

    #[repr(C, align(8))]
    pub(super) struct Named {
        _number: u64,
        name: String,
    }
    bertha_managed::layout!(Named: 24 { 0 _number: u64, 8 name: String });

    #[repr(C, align(8))]
    pub(super) struct Found {
        names: Vec<Named>,
        _further: [u64; 2],
    }
    bertha_managed::layout!(Found: 32 { 0 names: Vec<Named>, 16 _further: [u64; 2] });
}

/// Attaches as a client of a service whose method has these types, where no daemon is. Returns why not.
macro_rules! refusal {
    ($number:literal $called:literal $request:ty => $response:ty) => {{
        struct Service;
        struct Called;
        bertha_managed::service! {
            Service: "hotel.Hotels", generated::hotels::DESCRIPTORS;
            Called: $number $called $request => $response;
        }
        let attach = Attach::new("/nowhere", "test").within(Duration::ZERO);
        let [client, server] = [
            attach.client::<Service>("hotels").await.map(drop).unwrap_err(),
            attach.server::<Service>("hotels").await.map(drop).unwrap_err(),
        ];
        assert_eq!(client.to_string(), server.to_string());
        client.to_string()
    }};
}

#[tokio::test]
async fn types_that_do_not_suit_the_schema_are_refused_before_there_is_a_message() {
    let right = refusal!(1 "Nearby" NearbyRequest => NearbyResponse);
    assert!(right.contains("/nowhere"), "{right}");
    let size = refusal!(1 "Nearby" unsuitable::Named => NearbyResponse);
    assert!(size.contains("the type of hotel.NearbyRequest is not as the schema says"), "{size}");
    let deep = refusal!(1 "Nearby" NearbyRequest => unsuitable::Found);
    assert!(deep.contains("the type of hotel.NearbyResponse is not as the schema says"), "{deep}");
    let other = refusal!(0 "Nearby" NearbyRequest => NearbyResponse);
    assert!(other.contains("method 0 of the schema is not hotel.Hotels.Nearby"), "{other}");
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
