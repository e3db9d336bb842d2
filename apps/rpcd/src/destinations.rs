//! The destinations of calls: the server of a service on this machine, or a route to servers of others.
//!
//! A `route` leads to one server, and a `route_list` to several. `route_ends` has the parties at the ends, among which `balance` chooses.

mod balance;
pub(crate) mod peer_addr;
pub(crate) mod route;
mod route_ends;
pub(crate) mod route_list;
pub(crate) mod services;
