//! A hotel, whose rooms are found by five services, each a process with one thread: after the application of Figure 3.8 of the thesis, which
//! is the hotel of DeathStarBench.
//!
//! ```text
//! people --HTTP--> front --> search --> geo
//!                    |          '-----> rate ----> memcached
//!                    '-----> profile ------------> memcached
//! ```
//!
//! Calls are one after another. Each answer says how long services have worked for it, so that the front end tells of each call how much
//! of its time is work, and how much the call itself costs. memcached's time is work, as in the thesis; the facts behind the cache are
//! made by a seed.
//!
//! | part | its purpose |
//! |---|---|
//! | [`services`] | the four services that are called, and the traits of their work and of calls |
//! | [`works`] | the work of each service |
//! | [`messages`] | requests and answers |
//! | `by_daemon` | calls through the daemons of hosts |
//! | `by_tonic` | calls by gRPC |
//! | [`times`] | work, and the rest |
//! | `service`, `way`, `managed` | the traits of a service, of ways of calls, and of what daemons know |
//! | `serve` | a process of a service |
//! | [`load`] | searches |

mod by_daemon;
mod by_tonic;
mod data;
mod http;
pub mod load;
mod managed;
mod memcached;
pub mod messages;
mod serve;
mod service;
pub mod services;
mod summary;
pub mod times;
mod way;
pub mod works;

pub use data::{CITY, Data, HOTELS};
pub use memcached::Memcached;
pub use serve::{Role, ServeOptions};
pub use summary::{Shares, Summary};
