//! A call that has arrived, as C answers it.

use crate::code::Code;
use crate::failure::Failure;
use crate::outlet::Outlet;
use crate::readiness::{Bit, Readiness};
use crate::source::{Filling, Source};
use crate::wait::{Limit, spawn};
use bertha::Buf;
use bertha_named::ArrivedCall;
use parking_lot::Mutex;
use std::sync::Arc;
use tokio_util::sync::CancellationToken;

/// A call that has arrived.
#[derive(Debug)]
pub(crate) struct Arrived {
    released: CancellationToken,
    readiness: Arc<Readiness>,
    pub(crate) call: Arc<ArrivedCall>,
    /// The place of its method in the list of the service.
    pub(crate) method: usize,
    outlet: Outlet,
    /// The further requests, once they were asked for.
    requests: Mutex<Option<Arc<Source<Buf>>>>,
}

impl Arrived {
    pub(crate) fn new(call: ArrivedCall, method: usize) -> Arc<Self> {
        let (released, readiness) = (CancellationToken::new(), Arc::<Readiness>::default());
        let outlet = Outlet::new(released.clone(), readiness.clone());
        let call = Arc::new(call);
        Arc::new(Self { released, readiness, call, method, outlet, requests: Mutex::default() })
    }

    /// Waits for a further request.
    ///
    /// # Errors
    /// [`Failure::END`] behind the last; failures of the call; [`Failure::LATE`].
    pub(crate) fn receive(&self, limit: Limit) -> Result<Buf, Failure> {
        let requests = {
            let mut requests = self.requests.lock();
            match &*requests {
                Some(requests) => requests.clone(),
                None => {
                    let call = self.call.clone();
                    let source =
                        Source::begin(&self.released, &self.readiness, |filling| fetch(call, filling))?;
                    requests.insert(Arc::new(source)).clone()
                }
            }
        };
        requests.next(limit)
    }

    /// Sends a response of a stream.
    ///
    /// # Errors
    /// [`Failure::END`] if nobody waits for it; [`Failure::LATE`].
    pub(crate) fn send(&self, response: Vec<u8>, limit: Limit) -> Result<(), Failure> {
        let call = self.call.clone();
        self.outlet.send(limit, self.call.respond(response), async move { call.room().await })
    }

    /// Shows a cancellation in the descriptor.
    ///
    /// # Errors
    /// [`BERTHA_EXHAUSTED`](Code::BERTHA_EXHAUSTED) if there is no runtime.
    pub(crate) fn watch(&self) -> Result<(), Failure> {
        let (call, readiness) = (self.call.clone(), self.readiness.clone());
        spawn(self.released.clone(), async move {
            call.cancelled().await;
            readiness.set(Bit::Done);
        })
    }

    pub(crate) fn readiness(&self) -> &Arc<Readiness> {
        &self.readiness
    }

    /// Ends what waits for the call.
    pub(crate) fn release(&self) {
        self.released.cancel();
        self.readiness.close();
    }
}

/// Lets the client send its further requests, and takes them.
async fn fetch(call: Arc<ArrivedCall>, filling: Filling<Buf>) -> Failure {
    let Some(mut requests) = call.requests().await else { return Failure::END };
    loop {
        filling.has_room().await;
        match requests.next().await {
            Some(Ok(request)) => match Buf::from_owner(request) {
                Ok(request) => filling.push(request),
                Err(_) => return Failure::new(Code::BERTHA_TOO_LARGE, "a request is too long for a buffer"),
            },
            Some(Err(failure)) => return failure.into(),
            None => return Failure::END,
        }
    }
}
