//! The messages, as services work with them. They have the fields of `proto/hotel.proto`, by whose numbers tonic sends them.

use serde::{Deserialize, Serialize};

/// A place on earth, in degrees.
#[derive(Clone, PartialEq, prost::Message)]
pub struct Place {
    /// Degrees to the north.
    #[prost(double, tag = "1")]
    pub latitude: f64,
    /// Degrees to the east.
    #[prost(double, tag = "2")]
    pub longitude: f64,
}

/// A stay in one of several hotels. Days are written as 2026-05-31.
#[derive(Clone, PartialEq, prost::Message)]
pub struct Stay {
    /// The hotels, by their names in requests.
    #[prost(string, repeated, tag = "1")]
    pub hotels: Vec<String>,
    /// First day.
    #[prost(string, tag = "2")]
    pub from: String,
    /// Last day.
    #[prost(string, tag = "3")]
    pub until: String,
}

/// A search near a place.
#[derive(Clone, PartialEq, prost::Message)]
pub struct Query {
    /// Degrees to the north.
    #[prost(double, tag = "1")]
    pub latitude: f64,
    /// Degrees to the east.
    #[prost(double, tag = "2")]
    pub longitude: f64,
    /// First day.
    #[prost(string, tag = "3")]
    pub from: String,
    /// Last day.
    #[prost(string, tag = "4")]
    pub until: String,
}

/// A request for descriptions.
#[derive(Clone, PartialEq, prost::Message)]
pub struct Names {
    /// The hotels, by their names in requests.
    #[prost(string, repeated, tag = "1")]
    pub hotels: Vec<String>,
    /// The language of the descriptions.
    #[prost(string, tag = "2")]
    pub language: String,
}

/// Some hotels, in order.
#[derive(Clone, PartialEq, prost::Message)]
pub struct Hotels {
    /// The hotels, by their names in requests.
    #[prost(string, repeated, tag = "1")]
    pub hotels: Vec<String>,
    /// Work for this answer.
    #[prost(uint64, tag = "2")]
    pub worked_ns: u64,
    /// Calls for this answer.
    #[prost(message, repeated, tag = "3")]
    pub calls: Vec<Call>,
}

/// A call as its caller saw it.
#[derive(Clone, PartialEq, prost::Message)]
pub struct Call {
    /// Name of the service.
    #[prost(string, tag = "1")]
    pub service: String,
    /// Time from the request to the answer.
    #[prost(uint64, tag = "2")]
    pub took_ns: u64,
    /// Work of the service, and of those it called.
    #[prost(uint64, tag = "3")]
    pub worked_ns: u64,
}

/// The plans of some hotels.
#[derive(Clone, PartialEq, prost::Message)]
pub struct PlanList {
    /// The plans, in the order in which the hotels were asked for.
    #[prost(message, repeated, tag = "1")]
    pub plans: Vec<Plan>,
    /// Work for this answer.
    #[prost(uint64, tag = "2")]
    pub worked_ns: u64,
}

/// The price of a room in a season.
#[derive(Clone, PartialEq, prost::Message, Serialize, Deserialize)]
pub struct Plan {
    /// The hotel, by its name in requests.
    #[prost(string, tag = "1")]
    pub hotel: String,
    /// Name of the plan.
    #[prost(string, tag = "2")]
    pub code: String,
    /// Kind of room.
    #[prost(string, tag = "3")]
    pub room: String,
    /// Description of the room.
    #[prost(string, tag = "4")]
    pub description: String,
    /// First day of the season.
    #[prost(string, tag = "5")]
    pub from: String,
    /// Last day of the season.
    #[prost(string, tag = "6")]
    pub until: String,
    /// Price of a night.
    #[prost(uint64, tag = "7")]
    pub cents_a_night: u64,
}

/// Descriptions of some hotels.
#[derive(Clone, PartialEq, prost::Message)]
pub struct Descriptions {
    /// The descriptions, in the order in which the hotels were asked for.
    #[prost(message, repeated, tag = "1")]
    pub hotels: Vec<Description>,
    /// Work for this answer.
    #[prost(uint64, tag = "2")]
    pub worked_ns: u64,
}

/// A description of a hotel.
#[derive(Clone, PartialEq, prost::Message, Serialize, Deserialize)]
pub struct Description {
    /// The hotel, by its name in requests.
    #[prost(string, tag = "1")]
    pub hotel: String,
    /// Name of the hotel.
    #[prost(string, tag = "2")]
    pub name: String,
    /// Telephone number.
    #[prost(string, tag = "3")]
    pub phone: String,
    /// A few sentences.
    #[prost(string, tag = "4")]
    pub text: String,
    /// Street and number.
    #[prost(string, tag = "5")]
    pub street: String,
    /// City.
    #[prost(string, tag = "6")]
    pub city: String,
    /// Degrees to the north.
    #[prost(double, tag = "7")]
    pub latitude: f64,
    /// Degrees to the east.
    #[prost(double, tag = "8")]
    pub longitude: f64,
    /// Addresses of pictures.
    #[prost(string, repeated, tag = "9")]
    pub pictures: Vec<String>,
}
