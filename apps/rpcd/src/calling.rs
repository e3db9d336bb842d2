//! The way of a call from its caller to a server, and of the outcome back.
//!
//! `run` takes what a party says. `caller` begins the calls and leads them through the engines, `delivery` gives them to servers, and `server`
//! takes outcomes. `elsewhere` leads calls of which a server never heard to another, and `end` ends the calls of a party that goes.

pub(crate) mod attached;
pub(crate) mod caller;
pub(crate) mod delivery;
pub(crate) mod elsewhere;
pub(crate) mod end;
pub(crate) mod run;
pub(crate) mod server;
