//! The settings of a datapath, as a structure that serde reads: from TOML, and from environment variables,
//! which take precedence. The datapaths over DPDK and over Caladan use it.
//!
//! ```
//! # #[derive(serde::Deserialize, Default, Debug, PartialEq)]
//! #[serde(default)]
//! struct Config {
//!     mtu: u16,
//!     routers: Vec<std::net::IpAddr>,
//! }
//!
//! let mut environment = [("EXAMPLE_MTU", "9000"), ("EXAMPLE_ROUTERS", "10.0.0.1, fd00::1")].into_iter();
//! # let environment: std::collections::HashMap<_, _> = environment.by_ref().collect();
//! let variables = bertha_runtime::settings::Variables::new("example", "EXAMPLE", |name| environment.get(name).map(|it| (*it).to_owned()));
//! let mut config: Config = variables.file()?;
//! variables.replace(&mut config.mtu, "MTU")?;
//! variables.replace_list(&mut config.routers, "ROUTERS", ',')?;
//! assert_eq!((config.mtu, config.routers.len()), (9000, 2));
//! # Ok::<(), bertha_core::Error>(())
//! ```

mod file;
mod variables;

pub use file::{from_file, from_toml};
pub use variables::Variables;

use bertha_core::{Error, ErrorKind};

#[cold]
fn failure(datapath: &'static str, kind: ErrorKind, what: String) -> Error {
    Error::new(kind, what).at(datapath)
}
