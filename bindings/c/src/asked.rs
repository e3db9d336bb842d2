//! A call that was made, whose responses a task of the process receives.

use crate::code::Code;
use crate::connecting::Client;
use crate::failure::Failure;
use crate::outlet::Outlet;
use crate::readiness::Readiness;
use crate::source::{Filling, Source};
use crate::wait::Limit;
use bertha::Buf;
use bertha::rpc::{self, Answer, FailureKind, Metadata};
use bertha_named::{AnyCall, AnyCaller, RequestSender, requests};
use parking_lot::Mutex;
use std::fmt;
use std::sync::{Arc, OnceLock};
use std::time::{Duration, Instant};
use tokio::time::timeout;
use tokio_util::sync::CancellationToken;

/// The streams of a call.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct Streams {
    pub(crate) requests: bool,
    pub(crate) responses: bool,
}

/// The metadata of the answer, once the call is over.
type Trailers = OnceLock<Metadata>;

/// A call under way.
pub(crate) struct Asked {
    released: CancellationToken,
    readiness: Arc<Readiness>,
    pub(crate) responses: Source<Buf>,
    trailers: Arc<Trailers>,
    outlet: Outlet,
    /// Present until the stream of requests ends.
    requests: Mutex<Option<RequestSender>>,
}

impl Asked {
    /// Makes the call, which is cancelled when its handle is released.
    ///
    /// # Errors
    /// [`BERTHA_EXHAUSTED`](Code::BERTHA_EXHAUSTED) if there is no runtime.
    pub(crate) fn begin(
        client: Arc<Client>,
        mut call: AnyCall,
        streams: Streams,
    ) -> Result<Arc<Self>, Failure> {
        let (released, readiness) = (CancellationToken::new(), Arc::<Readiness>::default());
        let (sender, stream) = requests();
        let sender = streams.requests.then_some(sender);
        call.requests = streams.requests.then_some(stream);
        let trailers = Arc::<Trailers>::default();
        let told = trailers.clone();
        let responses = Source::begin(&released, &readiness, |filling| {
            ask(client, call, streams.responses, filling, told)
        })?;
        let outlet = Outlet::new(released.clone(), readiness.clone());
        Ok(Arc::new(Self { released, readiness, responses, trailers, outlet, requests: Mutex::new(sender) }))
    }

    /// Returns the metadata that has come with the end of the call.
    ///
    /// # Errors
    /// [`BERTHA_WOULD_BLOCK`](Code::BERTHA_WOULD_BLOCK) before its end.
    pub(crate) fn trailers(&self) -> Result<&Metadata, Failure> {
        let early = || Failure::new(Code::BERTHA_WOULD_BLOCK, "the metadata comes with the end of the call");
        self.trailers.get().ok_or_else(early)
    }

    /// Sends a further request.
    ///
    /// # Errors
    /// [`Failure::END`] if no request is wanted; [`BERTHA_INVALID`](Code::BERTHA_INVALID) without a stream of them.
    pub(crate) fn send(&self, request: Vec<u8>, limit: Limit) -> Result<(), Failure> {
        let Some(sender) = self.requests.lock().clone() else {
            let text = "the call was made without further requests, or has ended them";
            return Err(Failure::new(Code::BERTHA_INVALID, text));
        };
        let waiting = sender.clone();
        self.outlet.send(limit, sender.send(request), async move { waiting.room().await })
    }

    /// Ends the stream of requests.
    pub(crate) fn end(&self) {
        self.requests.lock().take();
    }

    pub(crate) fn readiness(&self) -> &Arc<Readiness> {
        &self.readiness
    }

    /// Cancels the call, unless it is over.
    pub(crate) fn release(&self) {
        self.end();
        self.released.cancel();
        self.readiness.close();
    }
}

/// Receives the response to a call, or a stream of them.
async fn ask(
    client: Arc<Client>,
    call: AnyCall,
    is_stream: bool,
    filling: Filling<Buf>,
    trailers: Arc<Trailers>,
) -> Failure {
    let received = if is_stream {
        ask_for_stream(&client, call, &filling, &trailers).await
    } else {
        ask_once(&client, call, &filling, &trailers).await
    };
    // A call that has not reached the service has none.
    trailers.get_or_init(Metadata::new);
    received.err().unwrap_or(Failure::END)
}

async fn ask_once(
    client: &Client,
    mut call: AnyCall,
    filling: &Filling<Buf>,
    trailers: &Trailers,
) -> Result<(), Failure> {
    let caller = caller(client, &mut call).await?;
    let answer = caller.ask(call).await.map_err(|failure| failed(&failure, trailers))?;
    trailers.get_or_init(|| answer.trailers);
    filling.push(answer.response);
    Ok(())
}

async fn ask_for_stream(
    client: &Client,
    mut call: AnyCall,
    filling: &Filling<Buf>,
    trailers: &Trailers,
) -> Result<(), Failure> {
    let caller = caller(client, &mut call).await?;
    let mut responses = caller.open(call).await.map_err(|failure| failed(&failure, trailers))?;
    loop {
        filling.has_room().await;
        let Some(response) = responses.next().await else {
            trailers.get_or_init(|| responses.trailers().clone());
            return Ok(());
        };
        filling.push(response.map_err(|failure| failed(&failure, trailers))?);
    }
}

/// Keeps what came with the failure of a call.
fn failed(failure: &rpc::Failure, trailers: &Trailers) -> Failure {
    trailers.get_or_init(|| failure.trailers().clone());
    failure.clone().into()
}

/// Makes a call with one response.
///
/// # Errors
/// Errors of connecting, and failures of the call.
pub(crate) async fn answer(client: &Client, mut call: AnyCall) -> Result<Answer, Failure> {
    let caller = caller(client, &mut call).await?;
    Ok(caller.ask(call).await?)
}

/// Returns the caller once it is there, and takes the wait for it off the deadline of the call.
///
/// # Errors
/// Errors of connecting; [`BERTHA_CALL_TIMED_OUT`](Code::BERTHA_CALL_TIMED_OUT).
async fn caller(client: &Client, call: &mut AnyCall) -> Result<Arc<dyn AnyCaller>, Failure> {
    let Some(deadline) = call.deadline else { return client.made().await };
    let begin = Instant::now();
    let Ok(caller) = timeout(deadline, client.made()).await else {
        let late = rpc::Failure::of(FailureKind::TimedOut, "the connection was not made before the deadline");
        return Err(late.before_running().into());
    };
    call.deadline = Some(deadline.saturating_sub(begin.elapsed()).max(Duration::from_millis(1)));
    caller
}

impl fmt::Debug for Asked {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Asked").finish_non_exhaustive()
    }
}
