//! The program `bertha-bench hotel`: Figures 3.8 and B.1 to B.4 of the seed, the hotel of `apps/microservice`, whose five services call each
//! other through daemons, by tonic, or by tonic through an Envoy beside each service. All processes share a single core.
//!
//! | part | its purpose |
//! |---|---|
//! | [`rows`] | the rows, their budgets and the drawings |
//! | [`hosts`] | the processes of each host |

mod hosts;
mod rows;

use crate::harness::runtime;
use crate::{Error, ErrorKind};
use bertha_microservice::hotel::ServeOptions;

pub(crate) use rows::run;

/// Is a service of the hotel until the process is killed.
///
/// # Errors
/// Errors of the service.
pub(crate) fn serve(options: ServeOptions) -> Result<(), Error> {
    let served = runtime()?.block_on(options.serve());
    served.map_err(Error::while_doing(ErrorKind::Bertha, "being a service of the hotel"))
}
