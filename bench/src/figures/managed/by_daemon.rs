//! The applications at the daemons of their hosts.

pub(super) use super::bench::calls::Client;
use super::bench::calls::{Handler, Server};
use super::bench::{Answer, Question};
use super::customers::{Customers, counted};
use super::{ANSWER, SERVICE};
use crate::rpc::{Load, Sample};
use crate::{Error, ErrorKind};
use bertha_managed::application::{Attach, Lent};
use bertha_managed::heap::Heap;
use bertha_managed::{Failure, FailureKind};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

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
/// Errors of the attachment.
#[allow(clippy::print_stdout, reason = "another process reads it")]
pub(super) async fn serve(socket: &Path, service: &str) -> Result<(), Error> {
    let server = Attach::new(socket, "server").server(service).await.map_err(failed)?;
    println!("ready");
    match server.serve(Server(EightBytes)).await {}
}

/// Makes the calls of a load.
///
/// # Errors
/// Errors of the attachment, and the first call that fails.
pub(super) async fn ask(socket: &Path, customers: Customers, load: Load) -> Result<Sample, Error> {
    let client = Arc::new((client(socket, "client").await?, AtomicU64::new(0)));
    load.run(move |payload| {
        let client = Arc::clone(&client);
        async move {
            let (client, number) = &*client;
            let (customer, is_refused) = customers.of(number.fetch_add(1, Relaxed));
            match question(client, &payload, customer).await {
                Ok(bytes) => Ok(counted(bytes, false, is_refused)),
                Err(failure) if failure.kind() == FailureKind::Denied => {
                    Ok(counted(payload.len(), true, is_refused))
                }
                Err(failure) => Err(calling(failure)),
            }
        }
    })
    .await
}

/// Attaches an application that asks, under this name.
pub(super) async fn client(socket: &Path, name: &str) -> Result<Client, Error> {
    client_of(SERVICE, socket, name).await
}

/// Attaches an application that asks a service.
pub(super) async fn client_of(service: &str, socket: &Path, name: &str) -> Result<Client, Error> {
    Ok(Client::new(Attach::new(socket, name).client(service).await.map_err(failed)?))
}

/// Makes a call. Returns the number of bytes of the payload if the answer is right, as a load counts them.
pub(super) async fn call(client: &Client, payload: &[u8]) -> Result<usize, Error> {
    question(client, payload, "alice").await.map_err(calling)
}

async fn question(client: &Client, payload: &[u8], customer: &str) -> Result<usize, Failure> {
    let mut question = Question::new_in(&client.heap());
    question.payload_mut().extend_from_slice(payload);
    question.customer_mut().push_str(customer);
    let answer = client.ask(question).await?;
    Ok(if answer.payload().len() == ANSWER { payload.len() } else { 0 })
}

fn calling(failure: Failure) -> Error {
    Error::while_doing(ErrorKind::Bertha, "calling")(failure)
}

pub(super) fn failed(error: bertha_core::Error) -> Error {
    Error::while_doing(ErrorKind::Bertha, "calling through a daemon")(error)
}
