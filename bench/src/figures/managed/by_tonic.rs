//! The applications by tonic.

use super::ANSWER;
use crate::Error;
use crate::rpc::{Load, Method, Sample, call, connected, serve_by_tonic};
use std::net::SocketAddr;

#[derive(Clone, PartialEq, prost::Message)]
struct Question {
    #[prost(bytes = "vec", tag = "1")]
    payload: Vec<u8>,
    #[prost(string, tag = "2")]
    customer: String,
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
pub(super) async fn ask(server: SocketAddr, load: Load) -> Result<Sample, Error> {
    let channel = connected(&format!("http://{server}")).await?;
    load.run(move |payload| {
        let channel = channel.clone();
        async move {
            let length = payload.len();
            let question = Question { payload, customer: "alice".to_owned() };
            let answer: Answer = call(channel, question).await?;
            // A load counts the bytes that came back.
            Ok(if answer.payload.len() == ANSWER { length } else { 0 })
        }
    })
    .await
}
