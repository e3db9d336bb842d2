//! The messages of the hotel in `proto/reservation.proto`, as prost has them.

use prost::Message;

/// Number of hotels in a response, as in DeathStarBench.
const OFFERS: usize = 5;

#[derive(Clone, PartialEq, Message)]
pub(super) struct Request {
    #[prost(string, tag = "1")]
    customer: String,
    #[prost(string, tag = "2")]
    arrival: String,
    #[prost(string, tag = "3")]
    departure: String,
    #[prost(double, tag = "4")]
    latitude: f64,
    #[prost(double, tag = "5")]
    longitude: f64,
    #[prost(int32, tag = "6")]
    rooms: i32,
}

#[derive(Clone, PartialEq, Message)]
pub(super) struct Response {
    #[prost(message, repeated, tag = "1")]
    offers: Vec<Offer>,
}

#[derive(Clone, PartialEq, Message)]
struct Offer {
    #[prost(string, tag = "1")]
    id: String,
    #[prost(string, tag = "2")]
    name: String,
    #[prost(string, tag = "3")]
    phone: String,
    #[prost(string, tag = "4")]
    description: String,
    #[prost(message, optional, tag = "5")]
    address: Option<Address>,
    #[prost(double, repeated, tag = "6")]
    rates: Vec<f64>,
    #[prost(bool, tag = "7")]
    has_breakfast: bool,
}

#[derive(Clone, PartialEq, Message)]
struct Address {
    #[prost(string, tag = "1")]
    street: String,
    #[prost(string, tag = "2")]
    city: String,
    #[prost(string, tag = "3")]
    country: String,
    #[prost(string, tag = "4")]
    postal_code: String,
    #[prost(float, tag = "5")]
    latitude: f32,
    #[prost(float, tag = "6")]
    longitude: f32,
}

/// Returns a request of a customer.
pub(super) fn request() -> Request {
    Request {
        customer: "Cornell_204".into(),
        arrival: "2015-04-09".into(),
        departure: "2015-04-11".into(),
        latitude: 38.0235,
        longitude: -122.095,
        rooms: 2,
    }
}

/// Returns a response with some hotels.
pub(super) fn response() -> Response {
    let offer = |number: usize| Offer {
        id: number.to_string(),
        name: format!("Hotel number {number}"),
        phone: format!("(415) 284-40{number:02}"),
        description: "A quiet house from 1911 near the old town, with a garden and rooms for families."
            .into(),
        address: Some(Address {
            street: "Market Street 73".into(),
            city: "San Francisco".into(),
            country: "United States".into(),
            postal_code: "94103".into(),
            latitude: 37.7867,
            longitude: -122.4112,
        }),
        rates: vec![109.0, 123.17, 109.0, 123.17],
        has_breakfast: number.is_multiple_of(2),
    };
    Response { offers: (0..OFFERS).map(offer).collect() }
}
