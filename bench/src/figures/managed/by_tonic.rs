//! The applications by tonic.

use super::ANSWER;
use super::customers::{Customers, counted};
use crate::Error;
use crate::rpc::{Load, Method, Sample, call, connected, serve_by_tonic};
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

#[derive(Clone, PartialEq, prost::Message)]
pub(super) struct Question {
    #[prost(bytes = "vec", tag = "1")]
    pub(super) payload: Vec<u8>,
    #[prost(string, tag = "2")]
    pub(super) customer: String,
}

#[derive(Clone, PartialEq, prost::Message)]
struct Answer {
    #[prost(bytes = "vec", tag = "1")]
    payload: Vec<u8>,
}

/// Answers calls, and says its address in a line.
///
/// # Errors
/// Errors of the socket.
#[allow(clippy::print_stdout, reason = "another process reads it")]
pub(super) async fn serve() -> Result<(), Error> {
    let eight_bytes = Method(|_: Question| Answer { payload: vec![7; ANSWER] });
    serve_by_tonic(eight_bytes, |addr| println!("ready at {addr}")).await
}

/// Makes the calls of a load.
///
/// # Errors
/// Errors of the connection, and the first call that fails.
pub(super) async fn ask(server: SocketAddr, customers: Customers, load: Load) -> Result<Sample, Error> {
    let channel = connected(&format!("http://{server}")).await?;
    let number = Arc::new(AtomicU64::new(0));
    load.run(move |payload| {
        let (customer, is_refused) = customers.of(number.fetch_add(1, Relaxed));
        let channel = channel.clone();
        async move {
            let length = payload.len();
            let question = Question { payload, customer: customer.to_owned() };
            match call::<_, Answer>(channel, question).await {
                Ok(answer) if answer.payload.len() == ANSWER => Ok(counted(length, false, is_refused)),
                Ok(_) => Ok(0),
                Err(error) if is_denied(&error) => Ok(counted(length, true, is_refused)),
                Err(error) => Err(error),
            }
        }
    })
    .await
}

fn is_denied(error: &Error) -> bool {
    let status = std::error::Error::source(error).and_then(|cause| cause.downcast_ref::<tonic::Status>());
    status.is_some_and(|status| status.code() == tonic::Code::PermissionDenied)
}
