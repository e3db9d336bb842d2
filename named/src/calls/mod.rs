//! Calls over any datapath, with any stack, whose methods, requests and responses are known at run time only.
//!
//! [`Calling`] makes an [`AnyCaller`], and [`Serving`] an [`AnyServer`]: both put `Rpc` on top of a [`Stack`](crate::Stack) of text.
//! Requests and responses are bytes here. Their format has a [name](crate::CallFormat), which the two ends compare.

mod arrived;
mod caller;
mod calling;
mod forwarding;
mod method;
mod pass_through;
mod requests;
mod responses;
mod server;
mod serving;

pub use arrived::ArrivedCall;
pub use caller::{AnyCall, AnyCaller};
pub use calling::Calling;
pub use method::method;
pub use requests::{RequestSender, RequestsToSend, requests};
pub use responses::AnyResponses;
pub use server::{AnyServer, ServerEnd};
pub use serving::Serving;

use crate::Options;
use bertha::{Error, ErrorKind};

/// Refuses options with which there are no calls.
///
/// # Errors
/// [`Invalid`](ErrorKind::Invalid).
fn check(options: &Options) -> Result<(), Error> {
    if options.is_upgradable {
        let what = "a connection for calls does not change its stack: leave out the option upgradable";
        return Err(Error::new(ErrorKind::Invalid, what));
    }
    Ok(())
}
