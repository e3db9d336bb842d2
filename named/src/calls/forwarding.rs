//! The service that hands its calls on.

use super::ArrivedCall;
use super::arrived::{Outcome, Step};
use super::pass_through::PassThrough;
use bertha::rpc::{Failure, Reply, Request, Service};
use futures_util::stream::{Stream, empty, unfold};
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
        let (call, steps, outcome) = ArrivedCall::new(&request);
        if self.calls.send(call).await.is_err() {
            return Err(Failure::new("the service has ended"));
        }
        let mut call = Answering { steps, outcome: Some(outcome), known: None };
        while let Some(next) = call.next().await {
            match next {
                Next::Step(Step::Requests(taken)) => {
                    // The program that asked may have given up.
                    let _ = taken.send(request.requests(&PassThrough));
                }
                Next::Step(Step::Response(first)) => {
                    return Ok(Reply::Several(Box::pin(responses(first, call))));
                }
                Next::Outcome(Outcome::Response(response)) => return Ok(Reply::One(response)),
                Next::Outcome(Outcome::End) => return Ok(Reply::Several(Box::pin(empty()))),
                Next::Outcome(Outcome::Failure(failure)) => return Err(failure),
            }
        }
        Err(unanswered())
    }

    fn encode(&self, response: &Vec<u8>, into: &mut [u8]) -> Result<Option<usize>, Failure> {
        bertha::rpc::Encode::encode(&response[..], into)
    }
}

/// A call that is being answered.
struct Answering {
    steps: Receiver<Step>,
    /// Present while there is no outcome.
    outcome: Option<oneshot::Receiver<Outcome>>,
    /// The outcome, until the steps before it were taken.
    known: Option<Outcome>,
}

enum Next {
    Step(Step),
    Outcome(Outcome),
}

impl Answering {
    /// Waits for the next step, or for the outcome behind the last; `None` behind the outcome.
    async fn next(&mut self) -> Option<Next> {
        if let Some(outcome) = &mut self.outcome {
            let outcome = tokio::select! {
                biased;
                Some(step) = self.steps.recv() => return Some(Next::Step(step)),
                outcome = outcome => outcome,
            };
            self.known = Some(outcome.unwrap_or_else(|_| Outcome::Failure(unanswered())));
            self.outcome = None;
            self.steps.close();
        }
        match self.steps.try_recv() {
            Ok(step) => Some(Next::Step(step)),
            Err(_) => self.known.take().map(Next::Outcome),
        }
    }
}

/// The responses of a stream up to its end.
fn responses(first: Vec<u8>, call: Answering) -> impl Stream<Item = Result<Vec<u8>, Failure>> + Send {
    unfold((Some(first), call), |(first, mut call)| async move {
        if let Some(first) = first {
            return Some((Ok(first), (None, call)));
        }
        loop {
            let response = match call.next().await? {
                // Requests are granted up to the first response.
                Next::Step(Step::Requests(_)) => continue,
                Next::Step(Step::Response(response)) => Ok(response),
                Next::Outcome(Outcome::End) => return None,
                // The last response, with the end.
                Next::Outcome(Outcome::Response(response)) => Ok(response),
                Next::Outcome(Outcome::Failure(failure)) => Err(failure),
            };
            return Some((response, (None, call)));
        }
    })
}

/// The failure of a call that the program let go without an answer.
#[cold]
fn unanswered() -> Failure {
    Failure::new("the service has dropped the call without an answer")
}
