//! The service that hands its calls on.

use super::ArrivedCall;
use super::arrived::{Outcome, Step};
use super::pass_through::PassThrough;
use bertha::rpc::{Failure, Reply, Request, Service};
use futures_util::stream::{Stream, unfold};
use tokio::sync::mpsc::{Receiver, Sender};
use tokio::sync::oneshot;

/// Puts calls into a queue, and answers them as those that take them say.
#[derive(Debug)]
pub(super) struct Forwarding {
    /// A call waits for room up to its deadline, as one of the calls that its connection allows.
    pub(super) calls: Sender<ArrivedCall>,
}

impl Service for Forwarding {
    type Response = Vec<u8>;

    async fn call(&self, request: Request<'_>) -> Result<Reply<'_, Vec<u8>>, Failure> {
        let (call, mut steps, outcome) = ArrivedCall::new(&request);
        if self.calls.send(call).await.is_err() {
            return Err(Failure::new("the service has ended"));
        }
        loop {
            match steps.recv().await {
                Some(Step::Requests(taken)) => {
                    // The program that asked may have given up.
                    let _ = taken.send(request.requests(&PassThrough));
                }
                Some(Step::Response(first)) => {
                    return Ok(Reply::Several(Box::pin(responses(first, steps, outcome))));
                }
                None => return one(outcome).await,
            }
        }
    }

    fn encode(&self, response: &Vec<u8>, into: &mut [u8]) -> Result<Option<usize>, Failure> {
        bertha::rpc::Encode::encode(&response[..], into)
    }
}

/// Returns the outcome of a call that has begun no stream.
async fn one(outcome: oneshot::Receiver<Outcome>) -> Result<Reply<'static, Vec<u8>>, Failure> {
    match outcome.await {
        Ok(Outcome::Response(response)) => Ok(Reply::One(response)),
        Ok(Outcome::End) => Ok(Reply::Several(Box::pin(futures_util::stream::empty()))),
        Ok(Outcome::Failure(failure)) => Err(failure),
        Err(_) => Err(unanswered()),
    }
}

/// The responses of a stream up to its end.
fn responses(
    first: Vec<u8>,
    steps: Receiver<Step>,
    outcome: oneshot::Receiver<Outcome>,
) -> impl Stream<Item = Result<Vec<u8>, Failure>> + Send {
    unfold((Some(first), steps, Some(outcome)), |(first, mut steps, outcome)| async move {
        if let Some(first) = first {
            return Some((Ok(first), (None, steps, outcome)));
        }
        loop {
            match steps.recv().await {
                Some(Step::Response(response)) => return Some((Ok(response), (None, steps, outcome))),
                // The requests are granted with the call, whose reply has begun.
                Some(Step::Requests(_)) => {}
                None => break,
            }
        }
        match outcome?.await {
            Ok(Outcome::End) => None,
            // The last response, with the end.
            Ok(Outcome::Response(response)) => Some((Ok(response), (None, steps, None))),
            Ok(Outcome::Failure(failure)) => Some((Err(failure), (None, steps, None))),
            Err(_) => Some((Err(unanswered()), (None, steps, None))),
        }
    })
}

/// The failure of a call that the program let go without an answer.
#[cold]
fn unanswered() -> Failure {
    Failure::new("the service has dropped the call without an answer")
}
