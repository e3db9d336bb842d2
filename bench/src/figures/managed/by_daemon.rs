//! The applications at the daemons of their hosts.

use super::bench::calls::{Client, Handler, Server};
use super::bench::{Answer, Question};
use super::{ANSWER, SERVICE};
use crate::rpc::{Load, Sample};
use crate::{Error, ErrorKind};
use bertha_managed::Failure;
use bertha_managed::application::{Attach, Lent};
use bertha_managed::heap::Heap;
use std::path::Path;
use std::sync::Arc;

struct EightBytes;

impl Handler for EightBytes {
    async fn ask(&self, _question: Lent<Question>, heap: &Heap) -> Result<Answer, Failure> {
        let mut answer = Answer::new_in(heap);
        answer.payload_mut().extend_from_slice(&[7; ANSWER]);
        Ok(answer)
    }
}

/// Answers calls, and says so by a line.
///
/// # Errors
/// Errors of the attachment, which ends with the daemon.
#[allow(clippy::print_stdout, reason = "another process reads it")]
pub(super) async fn serve(socket: &Path) -> Result<(), Error> {
    let server = Attach::new(socket, "server").server(SERVICE).await.map_err(failed)?;
    println!("ready");
    Err(failed(server.serve(Server(EightBytes)).await))
}

/// Makes the calls of a load.
///
/// # Errors
/// Errors of the attachment, and the first call that fails.
pub(super) async fn ask(socket: &Path, load: Load) -> Result<Sample, Error> {
    let attached = Attach::new(socket, "client").client(SERVICE).await.map_err(failed)?;
    let client = Arc::new(Client::new(attached));
    load.run(move |payload| {
        let client = Arc::clone(&client);
        async move {
            let mut question = Question::new_in(client.heap());
            question.payload_mut().extend_from_slice(&payload);
            question.customer_mut().push_str("alice");
            let answer =
                client.ask(question).await.map_err(Error::while_doing(ErrorKind::Bertha, "calling"))?;
            // A load counts the bytes that came back.
            Ok(if answer.payload().len() == ANSWER { payload.len() } else { 0 })
        }
    })
    .await
}

fn failed(error: bertha_core::Error) -> Error {
    Error::while_doing(ErrorKind::Bertha, "calling through a daemon")(error)
}
